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
     * end. */
    const unsigned char *(*quote)(const unsigned char *p, const unsigned char *end);
    const unsigned char *(*bracket)(const unsigned char *p, const unsigned char *end);
    const unsigned char *(*number)(const unsigned char *p, const unsigned char *end);
};

/* ------------------------------------------------------------------ values */

/* The closing quote of a string that begins at p; NULL: not before end. */
ALWAYS const unsigned char *string_end(const unsigned char *p, const unsigned char *end,
                                       const struct ways *w, bool *escaped)
{
    *escaped = false;
    for (;;) {
        p = w->quote(p, end);
        if (FM_UNLIKELY(end - p < 2))
            return NULL;
        if (FM_LIKELY(*p == '"'))
            return p;
        *escaped = true;
        p += 2;
    }
}

/* Behind a string within a value that is passed over; NULL: nothing that may stand there. */
ALWAYS const unsigned char *pass_string(const unsigned char *p, const unsigned char *end,
                                        const struct ways *w)
{
    bool escaped;
    p = string_end(p + 1, end, w, &escaped);
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

ALWAYS void set_name(struct fm_json_field *f, const struct fm_json_step *step, uint8_t kind)
{
    f->name = step->name;
    f->key = step->key;
    f->key_n = step->key_n;
    f->kind = kind;
    f->split = false;
}

/* The way through an item, and back to where its last object was opened. */
struct way {
    const struct fm_json_step *step, *whole;
    struct fm_json_field *f, *outer, *inner;
    const unsigned char *opened;
};

/* No step fits: the object that was opened is passed over, if it may be. */
ALWAYS bool turn_back(struct way *y, struct fm_json_object *o, const unsigned char **p)
{
    if (!y->whole)
        return false;
    y->step = y->whole;
    y->whole = NULL;
    y->f = y->outer;
    y->inner = o->inner + y->f->inner;
    *p = y->opened;
    return true;
}

ALWAYS void open_object(struct way *y, const struct fm_json_step *steps, struct fm_json_object *o,
                        const unsigned char *p, const unsigned char *value)
{
    y->whole = y->step->whole ? steps + y->step->whole : NULL;
    y->opened = p;
    y->outer = y->f;
    set_name(y->f, y->step, FM_JSON_OBJECT);
    y->f->escaped = false;
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

/* Behind the number at p; NULL: not before end. */
ALWAYS const unsigned char *number_end(const unsigned char *p, const unsigned char *end,
                                       const struct ways *w)
{
    p = w->number(p, end);
    while (p < end && FM_UNLIKELY((*p | 0x20) == 'e' || *p == '+'))
        p = w->number(p + 1, end);
    return FM_LIKELY(p < end) ? p : NULL;
}

ALWAYS const unsigned char *match(struct fm_json_shapes *s, struct fm_json_object *o,
                                  const unsigned char *p, const unsigned char *end,
                                  const struct ways *w)
{
    const struct fm_json_step *const steps = s->step;
    struct way y = {.step = steps + s->first, .f = o->field, .inner = o->inner};
    const unsigned char *value, *to;
    while (FM_LIKELY(end - p >= FM_JSON_ROOM)) {
        bool escaped = false;
        while (FM_UNLIKELY(!w->equal(p, y.step))) {
        other:
            if (FM_LIKELY(y.step->other != 0)) {
                y.step = steps + y.step->other;
            } else if (!turn_back(&y, o, &p)) {
                s->missed = true;
                return NULL;
            }
        }
        value = to = p + y.step->n;
        switch (y.step->kind) {
        case FM_JSON_STRING: to = string_end(value, end, w, &escaped); break;
        case FM_JSON_NUMBER:
            if (FM_UNLIKELY(!fm_json_number_at(value)))
                goto other;
            to = number_end(value, end, w);
            break;
        case FM_JSON_TRUE:
        case FM_JSON_FALSE:
        case FM_JSON_NULL: value -= y.step->word; break;
        case FM_JSON_OBJECT:
        case FM_JSON_ARRAY:
            if (FM_UNLIKELY(*value != (y.step->kind == FM_JSON_OBJECT ? '{' : '[')))
                goto other;
            to = pass(value, end, w);
            break;
        case FM_JSON_STEP_OPEN:
            if (FM_UNLIKELY(*value != '{'))
                goto other;
            open_object(&y, steps, o, p, value);
            goto next;
        case FM_JSON_STEP_CLOSE: close_object(&y, o, to); goto next;
        case FM_JSON_STEP_END:
            o->fields = (uint32_t)(y.f - o->field);
            o->shape = s->generation * FM_JSON_STEPS + (uint32_t)(y.step - steps);
            return to;
        default: goto next;        /* the text goes on */
        }
        if (FM_UNLIKELY(!to))
            return NULL;
        set_name(y.f, y.step, y.step->kind);
        y.f->escaped = escaped;
        y.f->text = (const char *)value;
        y.f->n = (uint32_t)(to - value);
        y.f++;
    next:
        p = to;
        y.step = steps + y.step->next;
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
    static const struct ways w = {plain_equal, plain_quote, plain_bracket, plain_number};
    return match(s, o, p, end, &w);
}

/* ------------------------------------------------------------------ SSE2 and AVX2 */

#ifdef __SSE2__

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
    const __m128i v = load16(p);
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
                                                    _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'))));
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
    const __m128i v = _mm_sub_epi8(load16(p), _mm_set1_epi8('-'));
    const __m128i most = _mm_set1_epi8('9' - '-');
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(v, most), v)) ^ 0xffff;
}

#define SEARCH16(name, hits, rest)                                                             \
    ALWAYS const unsigned char *name(const unsigned char *p, const unsigned char *end)         \
    {                                                                                          \
        for (; FM_LIKELY(end - p >= 16); p += 16) {                                            \
            const unsigned mask = hits(p);                                                     \
            if (FM_LIKELY(mask != 0))                                                          \
                return p + __builtin_ctz(mask);                                                \
        }                                                                                      \
        return rest(p, end);                                                                   \
    }
SEARCH16(sse2_quote, quotes16, plain_quote)
SEARCH16(sse2_bracket, brackets16, plain_bracket)
SEARCH16(sse2_number, others16, plain_number)

const unsigned char *fm_json_match_sse2(struct fm_json_shapes *s, struct fm_json_object *o,
                                        const unsigned char *p, const unsigned char *end)
{
    static const struct ways w = {sse2_equal, sse2_quote, sse2_bracket, sse2_number};
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

AVX2_INLINE const unsigned char *avx2_quote(const unsigned char *p, const unsigned char *end)
{
    for (; FM_LIKELY(end - p >= 32); p += 32) {
        const __m256i v = load32(p);
        const unsigned mask = (unsigned)_mm256_movemask_epi8(
            _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('"')),
                            _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\'))));
        if (FM_LIKELY(mask != 0))
            return p + __builtin_ctz(mask);
    }
    return sse2_quote(p, end);
}

AVX2_INLINE const unsigned char *avx2_number(const unsigned char *p, const unsigned char *end)
{
    for (; FM_LIKELY(end - p >= 32); p += 32) {
        const __m256i v = _mm256_sub_epi8(load32(p), _mm256_set1_epi8('-'));
        const __m256i most = _mm256_set1_epi8('9' - '-');
        const unsigned mask =
            ~(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(v, most), v));
        if (FM_LIKELY(mask != 0))
            return p + __builtin_ctz(mask);
    }
    return plain_number(p, end);
}

AVX2 const unsigned char *fm_json_match_avx2(struct fm_json_shapes *s, struct fm_json_object *o,
                                             const unsigned char *p, const unsigned char *end)
{
    static const struct ways w = {avx2_equal, avx2_quote, sse2_bracket, avx2_number};
    return match(s, o, p, end, &w);
}

#endif
