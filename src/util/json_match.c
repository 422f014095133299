/*
 * json_match.c - items that look like items before them: read along a known shape, without marks.
 *
 *     step    text before the value           the value
 *             {"ph":"                         string
 *             ","ts":                         number
 *             ,"args":                        object, opened: its members are steps
 *             {"id":                          number
 *             }                               closed
 *             }                               the end
 *
 * A step's text is compared as a whole, then only the end of the value is looked for: strings by
 * their quote, numbers by their bytes. Where shapes part, `other` is the next step to try. When the
 * members of an opened object are new, it can be passed over as a whole where `whole` says so.
 * Nothing is guessed: what fits is an item, and what the walk along marks would make of it
 * (json_walk.c); what does not fit, or is odd in any way, is left to that walk.
 *
 * One variant for each instruction set, all of them compiled from match().
 */
#include "util/json_inner.h"

#ifdef __ARM_NEON
#include <arm_neon.h>
#endif
#ifdef __SSE2__
#include <immintrin.h>
#endif

#define ALWAYS static inline __attribute__((always_inline))
#define DEEP 60u                   /* levels of a value that is passed over */

/* What an instruction set does. */
struct ways {
    /* Whether the step's text stands at p; FM_JSON_PIECE bytes are there. */
    bool (*equal)(const unsigned char *p, const struct fm_json_step *step);
    /* The first quote or backslash; bracket, quote or backslash; byte that is not of a number; or
     * end. _first: FM_JSON_PIECE bytes are there. */
    const unsigned char *(*quote_first)(const unsigned char *p, const unsigned char *end);
    const unsigned char *(*quote)(const unsigned char *p, const unsigned char *end);
    const unsigned char *(*bracket)(const unsigned char *p, const unsigned char *end);
    const unsigned char *(*number_first)(const unsigned char *p, const unsigned char *end);
};

/* ------------------------------------------------------------------ values */

/* The closing quote of a string, from its first quote or backslash on, or from end; NULL: it does
 * not end before end. */
static const unsigned char *string_end(const unsigned char *p, const unsigned char *end,
                                       const struct ways *w)
{
    while (end - p >= 2 && *p == '\\')
        p = w->quote(p + 2, end);
    return FM_LIKELY(end - p >= 2) ? p : NULL;
}

/* Behind a string within a value that is passed over; NULL: nothing that may stand there. */
ALWAYS const unsigned char *pass_string(const unsigned char *p, const unsigned char *end,
                                        const struct ways *w)
{
    p = string_end(w->quote(p + 1, end), end, w);
    if (!p)
        return NULL;
    const unsigned char *behind = ++p;
    while (behind < end && *behind <= ' ')
        behind++;
    if (behind == end || (*behind != ',' && *behind != ':' && *behind != '}' && *behind != ']'))
        return NULL;
    return p;
}

/* Whether what stands before the '{' at p shows that a key is missing there. */
ALWAYS bool key_is_missing(const unsigned char *p)
{
    while (p[-1] <= ' ')
        p--;
    return p[-1] == ',' || p[-1] == '}' || p[-1] == ']';
}

/* Behind the value whose bracket is at p; NULL: odd, or not before end. */
ALWAYS const unsigned char *pass(const unsigned char *p, const unsigned char *end,
                                 const struct ways *w)
{
    uint64_t objects = 0;
    for (unsigned depth = 0;;) {
        p = w->bracket(p, end);
        if (FM_UNLIKELY(p == end))
            return NULL;
        const bool object = (*p & 0x20) != 0; /* { } */
        switch (*p | 0x20) {
        case '"':
            p = pass_string(p, end, w);
            if (FM_UNLIKELY(!p))
                return NULL;
            continue;
        case '{':
            if (depth == DEEP || (object && depth && (objects & 1) && key_is_missing(p)))
                return NULL;
            objects = objects << 1 | object;
            depth++;
            break;
        case '}':
            if ((objects & 1) != object)
                return NULL;
            objects >>= 1;
            if (--depth == 0)
                return p + 1;
            break;
        default: return NULL;      /* a backslash outside of strings */
        }
        p++;
    }
}

/* ------------------------------------------------------------------ the item */

/* Key and kind of a step; text and n are missing. */
ALWAYS void set_key(struct fm_json_field *f, const struct fm_json_step *step)
{
    memcpy(f, &step->field, offsetof(struct fm_json_field, inner_n));
}

/* The way through an item, and back to where its last object was opened. */
struct way {
    const struct fm_json_step *step, *first, *whole;
    struct fm_json_field *f, *outer, *inner;
    const unsigned char *opened;
};

/* Whether [from, to) begins with "-" and a digit. (Behind a digit a slash is let pass, as the walk
 * does.) */
static bool is_negative(const unsigned char *from, const unsigned char *to)
{
    return to - from > 1 && fm_json_number_at(from) && !memchr(from, '/', (size_t)(to - from));
}

/* No step fits. A number may go on with an exponent; the object that was opened is passed over, if
 * it may be. */
static bool turn_back(struct way *y, struct fm_json_object *o, const unsigned char **p,
                      const unsigned char *end)
{
    struct fm_json_field *last = y->f - 1;
    const unsigned char *to = *p;
    if (y->f > o->field && y->f != o->inner && last->kind == FM_JSON_NUMBER &&
        (const unsigned char *)last->text + last->n == to && ((*to | 0x20) == 'e' || *to == '+')) {
        while (end - to > FM_JSON_ROOM && fm_json_exponent_byte(*to))
            to++;
        if (to == *p)
            return false;
        last->n += (uint32_t)(to - *p);
        *p = to;
        y->step = y->first;
        return true;
    }
    if (!y->whole)
        return false;
    y->step = y->first = y->whole;
    y->whole = NULL;
    y->f = y->outer;
    y->inner = o->inner + y->f->inner;
    *p = y->opened;
    return true;
}

ALWAYS void open_object(struct way *y, struct fm_json_shapes *s, struct fm_json_object *o,
                        const unsigned char *p, const unsigned char *value)
{
    y->whole = y->step->whole ? fm_json_step(s, y->step->whole) : NULL;
    y->opened = p;
    y->outer = y->f;
    y->f->text = (const char *)value;
    y->f->inner = (uint8_t)(y->inner - o->inner);
    y->f = y->inner;
}

ALWAYS void close_object(struct way *y, struct fm_json_object *o, const unsigned char *to)
{
    struct fm_json_field *f = y->outer;
    y->inner = y->f;
    y->whole = NULL;
    f->split = true;
    f->inner_n = (uint8_t)(y->inner - o->inner - f->inner);
    f->n = (uint32_t)(to - (const unsigned char *)f->text);
    y->f = f + 1;
}

ALWAYS const unsigned char *match(struct fm_json_shapes *s, struct fm_json_object *o,
                                  const unsigned char *p, const unsigned char *end,
                                  const struct ways *w)
{
    struct way y = {.f = o->field, .inner = o->inner};
    const unsigned char *value, *to;
    y.step = y.first = fm_json_step(s, s->first);
    while (FM_LIKELY(end - p >= FM_JSON_ROOM)) {
        while (FM_UNLIKELY(!w->equal(p, y.step))) {
        other:
            if (FM_LIKELY(y.step->other != 0)) {
                y.step = fm_json_step(s, y.step->other);
            } else if (!turn_back(&y, o, &p, end)) {
                s->missed = true;
                return NULL;
            }
        }
        value = p + y.step->n;
        set_key(y.f, y.step);
        if (y.step->kind == FM_JSON_STRING) {
            to = w->quote_first(value, end);
            if (FM_UNLIKELY(end - to < 2 || *to != '"')) {
                y.f->escaped = true;
                if (!(to = string_end(to, end, w)))
                    return NULL;
            }
        } else if (y.step->kind == FM_JSON_NUMBER) {
            to = w->number_first(value, end);
            if (FM_UNLIKELY((unsigned char)(*value - '0') > 9) && !is_negative(value, to))
                goto other;
        } else {
            to = value;
            switch (y.step->kind) {
            case FM_JSON_STEP_MORE: goto next;
            case FM_JSON_STEP_OPEN:
                if (FM_UNLIKELY(*value != '{'))
                    goto other;
                open_object(&y, s, o, p, value);
                goto next;
            case FM_JSON_STEP_CLOSE: close_object(&y, o, to); goto next;
            case FM_JSON_STEP_END:
                o->fields = (uint32_t)(y.f - o->field);
                o->shape = s->generation << 16 | fm_json_link(s, y.step);
                return to;
            case FM_JSON_OBJECT:
            case FM_JSON_ARRAY:
                if (FM_UNLIKELY(*value != (y.step->kind == FM_JSON_OBJECT ? '{' : '[')))
                    goto other;
                if (FM_UNLIKELY(!(to = pass(value, end, w))))
                    return NULL;
                break;
            default: value -= y.step->word; break;
            }
        }
        y.f->text = (const char *)value;
        y.f->n = (uint32_t)(to - value);
        y.f++;
    next:
        p = to;
        y.step = y.first = fm_json_step(s, y.step->next);
    }
    return NULL;
}

/* ------------------------------------------------------------------ one byte at a time */

ALWAYS bool plain_equal(const unsigned char *p, const struct fm_json_step *step)
{
    return memcmp(p, step->text, step->n) == 0;
}

ALWAYS const unsigned char *plain_quote(const unsigned char *p, const unsigned char *end)
{
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

ALWAYS const unsigned char *plain_bracket(const unsigned char *p, const unsigned char *end)
{
    while (p < end && *p != '"' && *p != '\\' && (*p | 0x20) != '{' && (*p | 0x20) != '}')
        p++;
    return p;
}

ALWAYS const unsigned char *plain_number(const unsigned char *p, const unsigned char *end)
{
    while (p < end && fm_json_number_byte(*p))
        p++;
    return p;
}

const unsigned char *fm_json_match_plain(struct fm_json_shapes *s, struct fm_json_object *o,
                                         const unsigned char *p, const unsigned char *end)
{
    static const struct ways w = {plain_equal, plain_quote, plain_quote, plain_bracket,
                                  plain_number};
    return match(s, o, p, end, &w);
}

/* Bytes of `hits` in blocks of `size`, the rest by `rest`. */
#define SEARCH(attributes, name, size, hits, rest)                                             \
    attributes const unsigned char *name(const unsigned char *p, const unsigned char *end)     \
    {                                                                                          \
        for (; end - p >= (size); p += (size)) {                                               \
            const uint64_t mask = hits(p);                                                     \
            if (mask != 0)                                                                     \
                return p + FIRST(mask);                                                        \
        }                                                                                      \
        return rest(p, end);                                                                   \
    }

/* ------------------------------------------------------------------ SSE2 and AVX2 */

#ifdef __SSE2__
#define FIRST(mask) __builtin_ctzll(mask)

ALWAYS __m128i load16(const void *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

ALWAYS bool sse2_equal(const unsigned char *p, const struct fm_json_step *step)
{
    const int low = _mm_movemask_epi8(_mm_cmpeq_epi8(load16(p), load16(step->text)));
    const int high = _mm_movemask_epi8(_mm_cmpeq_epi8(load16(p + 16), load16(step->text + 16)));
    return (~((unsigned)low | (unsigned)high << 16) & step->mask) == 0;
}

ALWAYS unsigned quotes16(const unsigned char *p)
{
    const __m128i v = load16(p), quote = load16(fm_json_bytes.quote);
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(
        _mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, load16(fm_json_bytes.slash))));
}

ALWAYS unsigned brackets16(const unsigned char *p)
{
    const __m128i v = _mm_or_si128(load16(p), _mm_set1_epi8(' '));
    const __m128i open = _mm_cmpeq_epi8(v, _mm_set1_epi8('{'));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(open, _mm_cmpeq_epi8(v, _mm_set1_epi8('}')))) |
           quotes16(p);
}

/* Bytes that are not of a number. */
ALWAYS unsigned others16(const unsigned char *p)
{
    const __m128i v = _mm_sub_epi8(load16(p), load16(fm_json_bytes.least));
    const __m128i least = _mm_min_epu8(v, load16(fm_json_bytes.most));
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(least, v)) ^ 0xffff;
}

SEARCH(ALWAYS, sse2_quote, 16, quotes16, plain_quote)
SEARCH(ALWAYS, sse2_bracket, 16, brackets16, plain_bracket)
SEARCH(static, sse2_quote_far, 16, quotes16, plain_quote)
SEARCH(static, sse2_number_far, 16, others16, plain_number)

ALWAYS const unsigned char *sse2_quote_first(const unsigned char *p, const unsigned char *end)
{
    const unsigned mask = quotes16(p);
    return FM_LIKELY(mask != 0) ? p + FIRST(mask) : sse2_quote_far(p + 16, end);
}

ALWAYS const unsigned char *sse2_number_first(const unsigned char *p, const unsigned char *end)
{
    const unsigned mask = others16(p);
    return FM_LIKELY(mask != 0) ? p + FIRST(mask) : sse2_number_far(p + 16, end);
}

const unsigned char *fm_json_match_sse2(struct fm_json_shapes *s, struct fm_json_object *o,
                                        const unsigned char *p, const unsigned char *end)
{
    static const struct ways w = {sse2_equal, sse2_quote_first, sse2_quote, sse2_bracket,
                                  sse2_number_first};
    return match(s, o, p, end, &w);
}

#define AVX2 __attribute__((target("avx2,popcnt,bmi")))
#define AVX2_INLINE static inline AVX2 __attribute__((always_inline))

AVX2_INLINE __m256i load32(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

AVX2_INLINE bool avx2_equal(const unsigned char *p, const struct fm_json_step *step)
{
    const int same = _mm256_movemask_epi8(_mm256_cmpeq_epi8(load32(p), load32(step->text)));
    return (~(unsigned)same & step->mask) == 0;
}

AVX2_INLINE unsigned quotes32(const unsigned char *p)
{
    const __m256i v = load32(p), quote = load32(fm_json_bytes.quote);
    return (unsigned)_mm256_movemask_epi8(_mm256_or_si256(
        _mm256_cmpeq_epi8(v, quote), _mm256_cmpeq_epi8(v, load32(fm_json_bytes.slash))));
}

AVX2_INLINE unsigned others32(const unsigned char *p)
{
    const __m256i v = _mm256_sub_epi8(load32(p), load32(fm_json_bytes.least));
    const __m256i least = _mm256_min_epu8(v, load32(fm_json_bytes.most));
    return ~(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(least, v));
}

SEARCH(AVX2 static, avx2_quote_far, 32, quotes32, sse2_quote)

AVX2_INLINE const unsigned char *avx2_quote_first(const unsigned char *p, const unsigned char *end)
{
    const unsigned mask = quotes32(p);
    return FM_LIKELY(mask != 0) ? p + __builtin_ctz(mask) : avx2_quote_far(p + 32, end);
}

AVX2_INLINE const unsigned char *avx2_number_first(const unsigned char *p,
                                                   const unsigned char *end)
{
    const unsigned mask = others32(p);
    return FM_LIKELY(mask != 0) ? p + __builtin_ctz(mask) : sse2_number_far(p + 32, end);
}

AVX2 const unsigned char *fm_json_match_avx2(struct fm_json_shapes *s, struct fm_json_object *o,
                                             const unsigned char *p, const unsigned char *end)
{
    static const struct ways w = {avx2_equal, avx2_quote_first, sse2_quote, sse2_bracket,
                                  avx2_number_first};
    return match(s, o, p, end, &w);
}

#endif

/* ------------------------------------------------------------------ NEON */

#ifdef __ARM_NEON
#define FIRST(mask) (__builtin_ctzll(mask) / 4)

/* Four bits a byte. */
ALWAYS uint64_t nibbles(uint8x16_t v)
{
    const uint8x8_t narrow = vshrn_n_u16(vreinterpretq_u16_u8(v), 4);
    return vget_lane_u64(vreinterpret_u64_u8(narrow), 0);
}

/* Bytes behind the step's text are shifted out. */
ALWAYS bool neon_equal(const unsigned char *p, const struct fm_json_step *step)
{
    const uint64_t low = ~nibbles(vceqq_u8(vld1q_u8(p), vld1q_u8(step->text)));
    const uint64_t high = ~nibbles(vceqq_u8(vld1q_u8(p + 16), vld1q_u8(step->text + 16)));
    if (step->n <= 16)
        return low << (64 - 4 * step->n) == 0;
    return (low | high << (128 - 4 * step->n)) == 0;
}

ALWAYS uint64_t neon_quotes(const unsigned char *p)
{
    const uint8x16_t v = vld1q_u8(p);
    return nibbles(vorrq_u8(vceqq_u8(v, vdupq_n_u8('"')), vceqq_u8(v, vdupq_n_u8('\\'))));
}

ALWAYS uint64_t neon_brackets(const unsigned char *p)
{
    const uint8x16_t v = vorrq_u8(vld1q_u8(p), vdupq_n_u8(' '));
    return nibbles(vorrq_u8(vceqq_u8(v, vdupq_n_u8('{')), vceqq_u8(v, vdupq_n_u8('}')))) |
           neon_quotes(p);
}

ALWAYS uint64_t neon_others(const unsigned char *p)
{
    const uint8x16_t v = vsubq_u8(vld1q_u8(p), vdupq_n_u8('-'));
    return nibbles(vcgtq_u8(v, vdupq_n_u8('9' - '-')));
}

SEARCH(ALWAYS, neon_quote, 16, neon_quotes, plain_quote)
SEARCH(ALWAYS, neon_bracket, 16, neon_brackets, plain_bracket)
SEARCH(ALWAYS, neon_number, 16, neon_others, plain_number)

const unsigned char *fm_json_match_neon(struct fm_json_shapes *s, struct fm_json_object *o,
                                        const unsigned char *p, const unsigned char *end)
{
    static const struct ways w = {neon_equal, neon_quote, neon_quote, neon_bracket, neon_number};
    return match(s, o, p, end, &w);
}

#endif
