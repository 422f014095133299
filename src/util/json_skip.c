/*
 * json_skip.c - looking at JSON 64 bytes at a time: passing over strings and nested values, marking
 * tokens.
 *
 * Each instruction set has a function that makes the masks of one block (json_inner.h) and one that
 * finds the end of a string; the others are compiled once for each. The last bytes of a window are
 * copied into a block of blanks, so nothing behind the window is read.
 */
#include "util/json_inner.h"

#ifdef __ARM_NEON
#include <arm_neon.h>
#endif
#ifdef __SSE2__
#include <immintrin.h>
#endif

#define BLOCK 64
#define ALWAYS static inline __attribute__((always_inline))

/* One bit a byte. */
struct masks {
    uint64_t quote, slash, open, close, bracket, comma, colon, blank;
};

/* ------------------------------------------------------------------ what all variants share */

/* The bytes that backslashes stand before; one may be the first of the next block. */
static uint64_t escapes(uint64_t slash, uint64_t *carry, unsigned n)
{
    uint64_t out = *carry;
    slash &= ~*carry;
    *carry = 0;
    while (slash) {
        unsigned i = (unsigned)__builtin_ctzll(slash);
        if (i + 1 == n) {
            *carry = 1;
            break;
        }
        out |= UINT64_C(2) << i;
        slash &= ~(UINT64_C(3) << i);
    }
    return out;
}

ALWAYS uint64_t running_xor(uint64_t x)
{
    x ^= x << 1;
    x ^= x << 2;
    x ^= x << 4;
    x ^= x << 8;
    x ^= x << 16;
    x ^= x << 32;
    return x;
}

typedef void make_masks(const unsigned char *p, struct masks *m);

/* Strings of a block of n bytes: the quotes that count, and what is inside (with the opening quote,
 * without the closing one). */
ALWAYS uint64_t strings(struct masks *m, uint64_t *carry, uint64_t *escaped, unsigned n)
{
    if (FM_UNLIKELY((m->slash | *escaped) != 0)) {
        const uint64_t plain = ~escapes(m->slash, escaped, n);
        m->quote &= plain;
        m->slash &= plain;
    }
    const uint64_t inside = running_xor(m->quote) ^ *carry;
    *carry = ~(inside >> 63) + 1;
    return inside;
}

/* The brackets of one block. true: *at is the one that closes the last. */
ALWAYS bool skip_block(struct fm_json_skip *s, struct masks *m, unsigned n, unsigned *at)
{
    const uint64_t outside = ~strings(m, &s->inside, &s->escaped, n);
    const uint64_t open = m->open & outside, close = m->close & outside;
    const uint64_t closing = (uint64_t)__builtin_popcountll(close);
    if (FM_LIKELY(closing < s->depth)) {
        s->depth += (uint64_t)__builtin_popcountll(open) - closing;
        return false;
    }
    for (uint64_t b = open | close; b; b &= b - 1) {
        *at = (unsigned)__builtin_ctzll(b);
        if ((open >> *at) & 1)
            s->depth++;
        else if (s->depth <= 1)
            return true;
        else
            s->depth--;
    }
    return false;
}

/* A block of blanks with the last bytes of a window. */
ALWAYS unsigned last_block(unsigned char tail[BLOCK], const unsigned char *p,
                           const unsigned char *end)
{
    const unsigned n = (unsigned)(end - p);
    memset(tail, ' ', BLOCK);
    memcpy(tail, p, n);
    return n;
}

ALWAYS bool skip_with(struct fm_json_skip *s, const unsigned char **pp, const unsigned char *end,
                      make_masks *make)
{
    struct masks m;
    unsigned char tail[BLOCK];
    unsigned at;
    for (const unsigned char *p = *pp; p < end; p += BLOCK) {
        unsigned n = BLOCK;
        if (FM_LIKELY(end - p >= BLOCK)) {
            make(p, &m);
        } else {
            n = last_block(tail, p, end);
            make(tail, &m);
        }
        if (skip_block(s, &m, n, &at)) {
            *pp = p + at + 1;
            return true;
        }
    }
    *pp = end;
    return false;
}

/* Of the lowest bit; anything for 0. */
ALWAYS uint32_t plain_first(uint64_t bits)
{
    return (uint32_t)__builtin_ctzll(bits | UINT64_C(1) << 63);
}

/* The positions of the bits of `marks`, `from` being that of bit 0. Eight at a time are written,
 * some of them in vain: pos has room for a block more. */
typedef uint32_t first_bit(uint64_t bits);
ALWAYS uint32_t write_marks(uint32_t *pos, uint32_t from, uint64_t marks, first_bit *first)
{
    const unsigned n = (unsigned)__builtin_popcountll(marks);
    for (unsigned i = 0; i < n; i += 8) {
#pragma GCC unroll 8
        for (unsigned k = 0; k < 8; k++) {
            pos[i + k] = from + first(marks);
            marks &= marks - 1;
        }
    }
    return n;
}

/* What the last byte of a block was, for the first of the next. */
struct ends {
    uint64_t word, string, bracket, colon;
};

/* The marks of one block: all but what stands where the walk looks without one. */
ALWAYS uint64_t block_marks(const struct masks *k, uint64_t in, struct ends *ends, unsigned n)
{
    const uint64_t bracket = k->bracket & ~in;
    const uint64_t single = bracket | ((k->comma | k->colon) & ~in);
    const uint64_t words = ~(in | single | k->blank | k->quote);
    const uint64_t closing = k->quote & ~in;
    const uint64_t behind = closing << 1 | ends->string;
    const uint64_t colon = k->colon & behind;
    const uint64_t comma = k->comma & (behind | bracket << 1 | ends->bracket) & ~in;
    const uint64_t first = words & ~(words << 1 | ends->word) & ~(colon << 1 | ends->colon);
    ends->word = (words >> (n - 1)) & 1;
    ends->string = (closing >> (n - 1)) & 1;
    ends->bracket = (bracket >> (n - 1)) & 1;
    ends->colon = (colon >> (n - 1)) & 1;
    return (single & ~(colon | comma)) | first | k->quote | (k->slash & in);
}

ALWAYS void mark_with(struct fm_json_marks *m, make_masks *make, first_bit *first)
{
    const unsigned char *p = m->to;
    const unsigned char *to = m->end - p > (ptrdiff_t)m->chunk ? p + m->chunk : m->end;
    unsigned char tail[BLOCK];
    struct masks k;
    struct ends ends = {m->ends & 1, m->ends >> 1 & 1, m->ends >> 2 & 1, m->ends >> 3 & 1};
    uint64_t inside = m->inside, escaped = m->escaped;
    uint32_t count = 0;
    for (; p < to; p += BLOCK) {
        unsigned n = BLOCK;
        if (FM_LIKELY(to - p >= BLOCK)) {
            make(p, &k);
        } else {
            n = last_block(tail, p, to);
            make(tail, &k);
        }
        const uint64_t in = strings(&k, &inside, &escaped, n);
        count += write_marks(m->pos + count, (uint32_t)(p - m->base),
                             block_marks(&k, in, &ends, n), first);
    }
    m->to = to;
    m->chunk = FM_MIN(2 * m->chunk, FM_JSON_CHUNK);
    m->inside = inside;
    m->escaped = escaped;
    m->ends = (uint32_t)(ends.word | ends.string << 1 | ends.bracket << 2 | ends.colon << 3);
    m->i = 0;
    m->n = count;
}

/* ------------------------------------------------------------------ one byte at a time */

ALWAYS void plain_masks(const unsigned char *p, struct masks *m)
{
    memset(m, 0, sizeof *m);
    for (unsigned i = 0; i < BLOCK; i++) {
        const uint64_t bit = UINT64_C(1) << i;
        const unsigned char c = p[i], low = c | 0x20;
        m->quote |= c == '"' ? bit : 0;
        m->slash |= c == '\\' ? bit : 0;
        m->open |= low == '{' ? bit : 0;
        m->close |= low == '}' ? bit : 0;
        m->bracket |= low == '{' || low == '}' ? bit : 0;
        m->comma |= c == ',' ? bit : 0;
        m->colon |= c == ':' ? bit : 0;
        m->blank |= c <= ' ' ? bit : 0;
    }
}

static const unsigned char *plain_special(const unsigned char *p, const unsigned char *end)
{
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

static bool plain_skip(struct fm_json_skip *s, const unsigned char **p, const unsigned char *end)
{
    return skip_with(s, p, end, plain_masks);
}

static void plain_mark(struct fm_json_marks *m)
{
    mark_with(m, plain_masks, plain_first);
}

static uint64_t plain_lines(const unsigned char *p, const unsigned char *end)
{
    uint64_t n = 0;
    while (p < end)
        n += *p++ == '\n';
    return n;
}

static const struct fm_json_vector plain = {"plain", plain_special, plain_skip, plain_mark,
                                            plain_lines, fm_json_match_plain};

/* ------------------------------------------------------------------ SSE2 and AVX2 */

#ifdef __SSE2__

ALWAYS __m128i load16(const unsigned char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

ALWAYS uint64_t bits16(__m128i v, unsigned part)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(v) << (16 * part);
}

ALWAYS void sse2_masks(const unsigned char *p, struct masks *m)
{
    const __m128i blank = _mm_set1_epi8(' ');
    memset(m, 0, sizeof *m);
    for (unsigned i = 0; i < 4; i++) {
        const __m128i v = load16(p + 16 * i), low = _mm_or_si128(v, blank);
        const __m128i open = _mm_cmpeq_epi8(low, _mm_set1_epi8('{'));
        const __m128i close = _mm_cmpeq_epi8(low, _mm_set1_epi8('}'));
        const __m128i comma = _mm_cmpeq_epi8(v, _mm_set1_epi8(','));
        const __m128i colon = _mm_cmpeq_epi8(v, _mm_set1_epi8(':'));
        const __m128i blanks = _mm_cmpeq_epi8(_mm_min_epu8(v, blank), v);
        m->quote |= bits16(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')), i);
        m->slash |= bits16(_mm_cmpeq_epi8(v, _mm_set1_epi8('\\')), i);
        m->open |= bits16(open, i);
        m->close |= bits16(close, i);
        m->bracket |= bits16(_mm_or_si128(open, close), i);
        m->comma |= bits16(comma, i);
        m->colon |= bits16(colon, i);
        m->blank |= bits16(blanks, i);
    }
}

static const unsigned char *sse2_special(const unsigned char *p, const unsigned char *end)
{
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    for (; end - p >= 16; p += 16) {
        const __m128i v = load16(p);
        const int mask = _mm_movemask_epi8(
            _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)));
        if (mask)
            return p + __builtin_ctz((unsigned)mask);
    }
    return plain_special(p, end);
}

static bool sse2_skip(struct fm_json_skip *s, const unsigned char **p, const unsigned char *end)
{
    return skip_with(s, p, end, sse2_masks);
}

static void sse2_mark(struct fm_json_marks *m)
{
    mark_with(m, sse2_masks, plain_first);
}

static uint64_t sse2_lines(const unsigned char *p, const unsigned char *end)
{
    const __m128i zero = _mm_setzero_si128(), line = _mm_set1_epi8('\n');
    __m128i sum = zero;
    while (end - p >= 16) {
        /* 255 is what a byte can count to. */
        size_t steps = FM_MIN((size_t)(end - p) / 16, (size_t)255);
        __m128i n = zero;
        for (size_t i = 0; i < steps; i++, p += 16)
            n = _mm_sub_epi8(n, _mm_cmpeq_epi8(load16(p), line));
        sum = _mm_add_epi64(sum, _mm_sad_epu8(n, zero));
    }
    uint64_t part[2];
    memcpy(part, &sum, sizeof part);
    return part[0] + part[1] + plain_lines(p, end);
}

static const struct fm_json_vector sse2 = {"sse2", sse2_special, sse2_skip, sse2_mark,
                                           sse2_lines, fm_json_match_sse2};

#define AVX2 __attribute__((target("avx2,popcnt,bmi")))
#define AVX2_INLINE static inline AVX2 __attribute__((always_inline))

AVX2_INLINE __m256i load32(const unsigned char *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

AVX2_INLINE uint64_t bits32(__m256i v, unsigned part)
{
    return (uint64_t)(unsigned)_mm256_movemask_epi8(v) << (32 * part);
}

AVX2_INLINE uint32_t avx2_first(uint64_t bits)
{
    return (uint32_t)_tzcnt_u64(bits);
}

AVX2_INLINE void avx2_masks(const unsigned char *p, struct masks *m)
{
    const __m256i blank = _mm256_set1_epi8(' ');
    memset(m, 0, sizeof *m);
    for (unsigned i = 0; i < 2; i++) {
        const __m256i v = load32(p + 32 * i), low = _mm256_or_si256(v, blank);
        const __m256i open = _mm256_cmpeq_epi8(low, _mm256_set1_epi8('{'));
        const __m256i close = _mm256_cmpeq_epi8(low, _mm256_set1_epi8('}'));
        const __m256i comma = _mm256_cmpeq_epi8(v, _mm256_set1_epi8(','));
        const __m256i colon = _mm256_cmpeq_epi8(v, _mm256_set1_epi8(':'));
        const __m256i blanks = _mm256_cmpeq_epi8(_mm256_min_epu8(v, blank), v);
        m->quote |= bits32(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('"')), i);
        m->slash |= bits32(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\')), i);
        m->open |= bits32(open, i);
        m->close |= bits32(close, i);
        m->bracket |= bits32(_mm256_or_si256(open, close), i);
        m->comma |= bits32(comma, i);
        m->colon |= bits32(colon, i);
        m->blank |= bits32(blanks, i);
    }
}

AVX2 static const unsigned char *avx2_special(const unsigned char *p, const unsigned char *end)
{
    const __m256i quote = _mm256_set1_epi8('"'), slash = _mm256_set1_epi8('\\');
    for (; end - p >= 32; p += 32) {
        const __m256i v = load32(p);
        const unsigned mask = (unsigned)_mm256_movemask_epi8(
            _mm256_or_si256(_mm256_cmpeq_epi8(v, quote), _mm256_cmpeq_epi8(v, slash)));
        if (mask)
            return p + __builtin_ctz(mask);
    }
    return sse2_special(p, end);
}

AVX2 static bool avx2_skip(struct fm_json_skip *s, const unsigned char **p,
                           const unsigned char *end)
{
    return skip_with(s, p, end, avx2_masks);
}

AVX2 static void avx2_mark(struct fm_json_marks *m)
{
    mark_with(m, avx2_masks, avx2_first);
}

AVX2 static uint64_t avx2_lines(const unsigned char *p, const unsigned char *end)
{
    const __m256i zero = _mm256_setzero_si256(), line = _mm256_set1_epi8('\n');
    __m256i sum = zero;
    while (end - p >= 32) {
        size_t steps = FM_MIN((size_t)(end - p) / 32, (size_t)255);
        __m256i n = zero;
        for (size_t i = 0; i < steps; i++, p += 32)
            n = _mm256_sub_epi8(n, _mm256_cmpeq_epi8(load32(p), line));
        sum = _mm256_add_epi64(sum, _mm256_sad_epu8(n, zero));
    }
    uint64_t part[4];
    memcpy(part, &sum, sizeof part);
    return part[0] + part[1] + part[2] + part[3] + plain_lines(p, end);
}

static const struct fm_json_vector avx2 = {"avx2", avx2_special, avx2_skip, avx2_mark,
                                           avx2_lines, fm_json_match_avx2};

static bool have_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") &&
           __builtin_cpu_supports("bmi");
}

#endif

/* ------------------------------------------------------------------ NEON */

#ifdef __ARM_NEON

/* A bit a byte: weights 1 2 4 … 128 are added up within each half. */
ALWAYS uint64_t neon_bits(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d)
{
    static const uint8_t weights[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t w = vld1q_u8(weights);
    uint8x16_t ab = vpaddq_u8(vandq_u8(a, w), vandq_u8(b, w));
    uint8x16_t cd = vpaddq_u8(vandq_u8(c, w), vandq_u8(d, w));
    ab = vpaddq_u8(ab, cd);
    ab = vpaddq_u8(ab, ab);
    return vgetq_lane_u64(vreinterpretq_u64_u8(ab), 0);
}

ALWAYS uint64_t neon_equal(const uint8x16_t v[4], unsigned char c)
{
    const uint8x16_t x = vdupq_n_u8(c);
    return neon_bits(vceqq_u8(v[0], x), vceqq_u8(v[1], x), vceqq_u8(v[2], x), vceqq_u8(v[3], x));
}

ALWAYS void neon_masks(const unsigned char *p, struct masks *m)
{
    const uint8x16_t blank = vdupq_n_u8(' ');
    uint8x16_t v[4], low[4];
    for (unsigned i = 0; i < 4; i++) {
        v[i] = vld1q_u8(p + 16 * i);
        low[i] = vorrq_u8(v[i], blank);
    }
    m->quote = neon_equal(v, '"');
    m->slash = neon_equal(v, '\\');
    m->open = neon_equal(low, '{');
    m->close = neon_equal(low, '}');
    m->bracket = m->open | m->close;
    m->comma = neon_equal(v, ',');
    m->colon = neon_equal(v, ':');
    m->blank = neon_bits(vcleq_u8(v[0], blank), vcleq_u8(v[1], blank), vcleq_u8(v[2], blank),
                         vcleq_u8(v[3], blank));
}

static const unsigned char *neon_special(const unsigned char *p, const unsigned char *end)
{
    const uint8x16_t quote = vdupq_n_u8('"'), slash = vdupq_n_u8('\\');
    for (; end - p >= 16; p += 16) {
        const uint8x16_t v = vld1q_u8(p);
        if (vmaxvq_u8(vorrq_u8(vceqq_u8(v, quote), vceqq_u8(v, slash))) != 0)
            break;
    }
    return plain_special(p, end);
}

static bool neon_skip(struct fm_json_skip *s, const unsigned char **p, const unsigned char *end)
{
    return skip_with(s, p, end, neon_masks);
}

static void neon_mark(struct fm_json_marks *m)
{
    mark_with(m, neon_masks, plain_first);
}

static uint64_t neon_lines(const unsigned char *p, const unsigned char *end)
{
    const uint8x16_t line = vdupq_n_u8('\n'), one = vdupq_n_u8(1);
    uint64_t n = 0;
    for (; end - p >= 16; p += 16)
        n += vaddvq_u8(vandq_u8(vceqq_u8(vld1q_u8(p), line), one));
    return n + plain_lines(p, end);
}

static const struct fm_json_vector neon = {"neon", neon_special, neon_skip, neon_mark,
                                           neon_lines, fm_json_match_neon};

#endif

/* ------------------------------------------------------------------ which one */

const struct fm_json_vector *fm_json_vector_get(unsigned i, bool *known)
{
    *known = true;
    if (i == 0)
        return &plain;
#ifdef __SSE2__
    if (i == 1)
        return &sse2;
    if (i == 2)
        return have_avx2() ? &avx2 : NULL;
#endif
#ifdef __ARM_NEON
    if (i == 1)
        return &neon;
#endif
    *known = false;
    return NULL;
}

const struct fm_json_vector *fm_json_vector_best(void)
{
#if defined __SSE2__
    return have_avx2() ? &avx2 : &sse2;
#elif defined __ARM_NEON
    return &neon;
#else
    return &plain;
#endif
}
