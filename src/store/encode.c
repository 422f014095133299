/*
 * encode.c - narrow block encodings; see encode.h.
 *
 *     0       1      2         3  4         6          8        10   12
 *     +-------+------+---------+--+---------+----------+--------+----+-----------+
 *     | enc   | width| validity| 0| rows u16| valid u16| aux u16| 0  | size u32  |
 *     +-------+------+---------+--+---------+----------+--------+----+-----------+
 *     16: validity: ALL nothing | BITMAP 256 bytes, LSB first | LIST u16 places, padded to 8
 *     then the `valid` values, in row order:
 *       CONST  u64 value
 *       FOR    u64 base, packed (value - base)
 *       RUNS   u64 base, u16 end[aux] padded to 8, packed aux values (value - base)
 *       DICT   u64 value[aux], packed indexes
 *       DELTA  u64 first, u64 least delta, packed (delta - least) of values 1 …
 *       RAW    u64 value[]
 *     packed: `width` bits each, LSB first, in little-endian 64-bit words, then 8 bytes of slack so
 *     that a reader may load 8 bytes at any value.
 *
 * The smallest wins; ties go to the lower number of enum fm_encoding. Packing stops at 57 bits:
 * one unaligned load then always holds a value; wider ones are RAW.
 */
#include "store/encode.h"

#if defined __x86_64__ && defined __GNUC__
#include <immintrin.h>
#endif

#define HEADER 16u
#define WIDTH_MAX 57u
#define RUNS_FEW 8u             /* runs of 8 rows and more: few runs */
#define BITMAP_BYTES (FM_BLOCK_ROWS / 8)

enum validity { VALID_ALL, VALID_BITMAP, VALID_LIST };

/* -------------------------------------------------------------- raw bytes */

static inline uint64_t load64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static inline void store64(unsigned char *p, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(p, &v, sizeof v);
}

static inline uint32_t load16(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static inline void store16(unsigned char *p, uint32_t v)
{
    p[0] = (unsigned char)v;
    p[1] = (unsigned char)(v >> 8);
}

static inline uint32_t load32(const unsigned char *p)
{
    return load16(p) | load16(p + 2) << 16;
}

static inline unsigned bits_of(uint64_t range)
{
    return range != 0 ? 64u - (unsigned)__builtin_clzll(range) : 0;
}

static inline size_t packed_size(size_t n, unsigned width)
{
    return width != 0 ? (n * width + 63) / 64 * 8 + 8 : 0;
}

/* Whole groups of 8 values, which are `width` bytes, as many as fill words; returns how many values
 * that were. Each group is written as a word, of which the next one takes back what is too much. */
static size_t pack_groups(unsigned char *out, const uint64_t *value, size_t n, uint64_t base,
                          unsigned width)
{
    const unsigned w = width;
    size_t i;

#define VALUE(k) ((value[i + (k)] - base) << (k) * w)
    for (i = 0; i + 8 <= n / 64 * 64; i += 8, out += w)
        store64(out, (VALUE(0) | VALUE(1)) | (VALUE(2) | VALUE(3)) | (VALUE(4) | VALUE(5)) |
                         (VALUE(6) | VALUE(7)));
#undef VALUE
    return i;
}

/* The same for 9 to 16 bits: two halves of 4 values, of which the second begins within a byte when
 * the width is odd. */
static size_t pack_halves(unsigned char *out, const uint64_t *value, size_t n, uint64_t base,
                          unsigned width)
{
    const unsigned w = width;
    size_t i;

#define VALUE(k) ((value[i + (k)] - base) << (k) % 4 * w)
    for (i = 0; i + 8 <= n / 64 * 64; i += 8, out += w) {
        uint64_t low = (VALUE(0) | VALUE(1)) | (VALUE(2) | VALUE(3));
        uint64_t high = (VALUE(4) | VALUE(5)) | (VALUE(6) | VALUE(7));
        store64(out, low | (w == 16 ? 0 : high << 4 * w));
        store64(out + 8, high >> (64 - 4 * w));
    }
#undef VALUE
    return i;
}

/* Packs (value[i] - base); returns the bytes written, slack and all. */
static size_t pack(unsigned char *out, const uint64_t *value, size_t n, uint64_t base,
                   unsigned width)
{
    uint64_t acc = 0;
    unsigned used = 0;
    unsigned char *p = out;
    size_t i = 0;

    fm_assert(width <= WIDTH_MAX);
    if (width == 0)
        return 0;
    if (width <= 8) {
        i = pack_groups(out, value, n, base, width);
        p += i / 64 * width * 8;
    } else if (width <= 16) {
        i = pack_halves(out, value, n, base, width);
        p += i / 64 * width * 8;
    }
    for (; i < n; i++) {
        uint64_t v = value[i] - base;
        acc |= v << used;
        used += width;
        if (used >= 64) {
            store64(p, acc);
            p += 8;
            used -= 64;
            acc = used != 0 ? v >> (width - used) : 0;
        }
    }
    if (used != 0) {
        store64(p, acc);
        p += 8;
    }
    store64(p, 0);
    p += 8;
    fm_assert((size_t)(p - out) == packed_size(n, width));
    return (size_t)(p - out);
}

/* Whole groups of 8 values, which are `width` bytes: with the width known to the compiler, offsets
 * and shifts are constants. Returns how many values that were. */
static inline __attribute__((always_inline)) size_t unpack_groups(const unsigned char *in,
                                                                  uint64_t *out, size_t n,
                                                                  uint64_t base, unsigned width)
{
    uint64_t mask = (1ull << width) - 1;
    size_t i = 0;

#define VALUE(k) (base + (load64(in + ((k) * width >> 3)) >> ((k) * width & 7) & mask))
    for (; i + 8 <= n; i += 8, in += width) {
        out[i] = VALUE(0);
        out[i + 1] = VALUE(1);
        out[i + 2] = VALUE(2);
        out[i + 3] = VALUE(3);
        out[i + 4] = VALUE(4);
        out[i + 5] = VALUE(5);
        out[i + 6] = VALUE(6);
        out[i + 7] = VALUE(7);
    }
#undef VALUE
    return i;
}

static void unpack(const unsigned char *in, uint64_t *out, size_t n, uint64_t base, unsigned width)
{
    uint64_t mask = (1ull << width) - 1;
    size_t bit = 0, i = 0;

    fm_assert(width <= WIDTH_MAX);
    switch (width) {
    case 0:
        for (; i < n; i++)
            out[i] = base;
        return;
#define WIDTH(w)                                      \
    case w:                                           \
        i = unpack_groups(in, out, n, base, w);       \
        break
    WIDTH(1);                           /* those of ids, weights and times, mostly */
    WIDTH(2);
    WIDTH(3);
    WIDTH(4);
    WIDTH(8);
    WIDTH(9);
    WIDTH(10);
    WIDTH(11);
    WIDTH(12);
    WIDTH(13);
    WIDTH(14);
    WIDTH(15);
    WIDTH(16);
    WIDTH(17);
    WIDTH(18);
    WIDTH(19);
    WIDTH(20);
    WIDTH(21);
    WIDTH(22);
    WIDTH(23);
    WIDTH(24);
#undef WIDTH
    default:
        i = unpack_groups(in, out, n, base, width);
        break;
    }
    in += i / 8 * width;
    for (; i < n; i++, bit += width)
        out[i] = base + (load64(in + (bit >> 3)) >> (bit & 7) & mask);
}

/* --------------------------------------------------------------- encoding */

struct shape {
    uint64_t base, range;       /* least value in the order packing uses; greatest - least */
    uint64_t delta, delta_range;
    uint32_t runs;
};

/* The four accumulators of each figure are joined at the end. Values are compared as signed ones:
 * `flip` has the top bit where they are not. */
#if defined __x86_64__ && defined __GNUC__

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i least(__m256i a, __m256i b)
{
    return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b));
}

AVX2 static inline __m256i most(__m256i a, __m256i b)
{
    return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b));
}

AVX2 static size_t shape_avx2(const uint64_t *v, size_t n, struct shape *s, uint64_t flip)
{
    const __m256i turn = _mm256_set1_epi64x((long long)(flip ^ 1ull << 63));
    __m256i lo = _mm256_set1_epi64x(INT64_MAX), hi = _mm256_set1_epi64x(INT64_MIN);
    __m256i dlo = lo, dhi = hi, still = _mm256_setzero_si256();
    int64_t each[5][4];
    size_t i = 1;

    for (; i + 4 <= n; i += 4) {
        __m256i now = _mm256_loadu_si256((const __m256i *)(const void *)(v + i));
        __m256i last = _mm256_loadu_si256((const __m256i *)(const void *)(v + i - 1));
        __m256i d = _mm256_sub_epi64(now, last);
        __m256i x = _mm256_xor_si256(now, turn);
        lo = least(lo, x);
        hi = most(hi, x);
        dlo = least(dlo, d);
        dhi = most(dhi, d);
        still = _mm256_sub_epi64(still, _mm256_cmpeq_epi64(d, _mm256_setzero_si256()));
    }
    _mm256_storeu_si256((__m256i *)(void *)each[0], lo);
    _mm256_storeu_si256((__m256i *)(void *)each[1], hi);
    _mm256_storeu_si256((__m256i *)(void *)each[2], dlo);
    _mm256_storeu_si256((__m256i *)(void *)each[3], dhi);
    _mm256_storeu_si256((__m256i *)(void *)each[4], still);
    s->runs += (uint32_t)(i - 1);
    for (unsigned k = 0; k < 4 && i > 1; k++) {
        uint64_t x = (uint64_t)each[0][k] ^ 1ull << 63, y = (uint64_t)each[1][k] ^ 1ull << 63;
        s->base = FM_MIN(s->base, x);
        s->range = FM_MAX(s->range, y);
        s->delta = (uint64_t)FM_MIN((int64_t)s->delta, each[2][k]);
        s->delta_range = (uint64_t)FM_MAX((int64_t)s->delta_range, each[3][k]);
        s->runs -= (uint32_t)each[4][k];
    }
    return i;
}

static bool have_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

#else

static size_t shape_avx2(const uint64_t *v, size_t n, struct shape *s, uint64_t flip)
{
    (void)v;
    (void)n;
    (void)s;
    (void)flip;
    return 1;
}

static bool have_avx2(void)
{
    return false;
}

#endif

static struct shape shape_of(const uint64_t *v, size_t n, uint64_t flip)
{
    /* base, range, delta and delta_range hold the least and greatest values until the end */
    struct shape s = {v[0] ^ flip, v[0] ^ flip, (uint64_t)INT64_MAX, (uint64_t)INT64_MIN, 1};
    size_t from = n >= 64 && have_avx2() ? shape_avx2(v, n, &s, flip) : 1;
    uint64_t lo = s.base, hi = s.range;
    int64_t dlo = (int64_t)s.delta, dhi = (int64_t)s.delta_range;
    uint32_t runs = s.runs;

    for (size_t i = from; i < n; i++) {
        uint64_t x = v[i] ^ flip;
        int64_t d = (int64_t)(v[i] - v[i - 1]);
        lo = x < lo ? x : lo;
        hi = x > hi ? x : hi;
        dlo = d < dlo ? d : dlo;
        dhi = d > dhi ? d : dhi;
        runs += d != 0;
    }
    return (struct shape){lo ^ flip, hi - lo, (uint64_t)dlo, (uint64_t)dhi - (uint64_t)dlo, runs};
}

/* Collects runs into enc->work and enc->end; gives up (0) after `limit`. */
static uint32_t collect_runs(struct fm_encoder *enc, const uint64_t *v, size_t n, size_t limit)
{
    uint32_t r = 0;

    for (size_t i = 1; i < n; i++) {
        while (i + 4 <= n && ((v[i] ^ v[i - 1]) | (v[i + 1] ^ v[i]) | (v[i + 2] ^ v[i + 1]) |
                              (v[i + 3] ^ v[i + 2])) == 0)
            i += 4;
        if (i == n)
            break;
        if (v[i] == v[i - 1])
            continue;
        if (r + 1 >= limit)
            return 0;
        enc->work[r] = v[i - 1];
        enc->end[r++] = (uint16_t)i;
    }
    enc->work[r] = v[n - 1];
    enc->end[r++] = (uint16_t)n;
    return r;
}

/* The shape of a block with few runs, from its runs alone: most columns are of this kind. */
static struct shape shape_of_runs(const struct fm_encoder *enc, uint64_t flip)
{
    struct shape s = shape_of(enc->work, enc->runs, flip);
    int64_t dlo = (int64_t)s.delta, dhi = (int64_t)(s.delta + s.delta_range);

    dlo = FM_MIN(dlo, 0);       /* within a run */
    dhi = FM_MAX(dhi, 0);
    s.delta = (uint64_t)dlo;
    s.delta_range = (uint64_t)dhi - (uint64_t)dlo;
    return s;
}

static void range_f64(const uint64_t *v, size_t n, uint64_t *min, uint64_t *max)
{
    uint64_t lo = UINT64_MAX, hi = 0;
    bool any = false;

    *min = *max = v[0];
    for (size_t i = 0; i < n; i++) {
        uint64_t key = fm_order_key(FM_TYPE_F64, v[i]);
        if (fm_bits_nan(v[i]))
            continue;
        if (!any || key < lo)
            lo = key, *min = v[i];
        if (!any || key > hi)
            hi = key, *max = v[i];
        any = true;
    }
}

/* Indexes of v[] into enc->dict, in enc->work; 0 when it would not be smaller than `limit`. */
static uint32_t find_dict(struct fm_encoder *enc, const uint64_t *v, size_t n, size_t limit)
{
    uint32_t d = 0;

    memset(enc->slot, 0, sizeof enc->slot);
    for (size_t i = 0; i < n; i++) {
        uint32_t h = (uint32_t)(v[i] * 0x9e3779b97f4a7c15u >> 54);
        while (enc->slot[h] != 0 && enc->dict[enc->slot[h] - 1] != v[i])
            h = (h + 1) & (FM_COUNT(enc->slot) - 1);
        if (enc->slot[h] == 0) {
            if (d == FM_COUNT(enc->dict) ||
                8 * (d + 1) + packed_size(n, bits_of(d)) >= limit)
                return 0;
            enc->dict[d] = v[i];
            enc->slot[h] = (uint16_t)++d;
        }
        enc->work[i] = enc->slot[h] - 1u;
    }
    return d;
}

static size_t runs_size(const struct shape *s, unsigned width)
{
    return 8 + ((size_t)s->runs * 2 + 7) / 8 * 8 + packed_size(s->runs, width);
}

static size_t put_runs(struct fm_encoder *enc, const uint64_t *v, size_t n, const struct shape *s,
                       unsigned width, unsigned char *out)
{
    size_t r = collect_runs(enc, v, n, n), ends = ((size_t)s->runs * 2 + 7) / 8 * 8;

    fm_assert(r == s->runs);
    store64(out, s->base);
    memset(out + 8, 0, ends);
    for (size_t i = 0; i < r; i++)
        store16(out + 8 + 2 * i, enc->end[i]);
    return 8 + ends + pack(out + 8 + ends, enc->work, r, s->base, width);
}

static size_t put_dict(const struct fm_encoder *enc, size_t n, uint32_t d, unsigned char *out)
{
    for (uint32_t i = 0; i < d; i++)
        store64(out + 8 * (size_t)i, enc->dict[i]);
    return 8 * (size_t)d + pack(out + 8 * (size_t)d, enc->work, n, 0, bits_of(d - 1));
}

static size_t put_delta(struct fm_encoder *enc, const uint64_t *v, size_t n, const struct shape *s,
                        unsigned char *out)
{
    for (size_t i = 1; i < n; i++)
        enc->work[i - 1] = v[i] - v[i - 1];
    store64(out, v[0]);
    store64(out + 8, s->delta);
    return 16 + pack(out + 16, enc->work, n - 1, s->delta, bits_of(s->delta_range));
}

static size_t put_raw(const uint64_t *v, size_t n, unsigned char *out)
{
    for (size_t i = 0; i < n; i++)
        store64(out + 8 * i, v[i]);
    return 8 * n;
}

/* Writes the smallest form of n > 1 values that are not all equal. */
static size_t put_values(struct fm_encoder *enc, const uint64_t *v, size_t n,
                         const struct shape *s, unsigned char *out, unsigned char *header)
{
    unsigned width = bits_of(s->range), dwidth = bits_of(s->delta_range);
    enum fm_encoding best = FM_ENCODE_RAW;
    size_t size = 8 * n, try;
    uint32_t d = 0;

    if (dwidth <= WIDTH_MAX && (try = 16 + packed_size(n - 1, dwidth)) <= size)
        best = FM_ENCODE_DELTA, size = try;
    if (width <= WIDTH_MAX && s->runs <= n / 2 && (try = runs_size(s, width)) <= size)
        best = FM_ENCODE_RUNS, size = try;
    if (width <= WIDTH_MAX && (try = 8 + packed_size(n, width)) <= size)
        best = FM_ENCODE_FOR, size = try;
    /* Looking for a dictionary costs a hash a value: only where it could save a quarter. */
    if (size > 64 && s->runs > 1 && (best == FM_ENCODE_RAW || width > 3 || dwidth > 3))
        d = find_dict(enc, v, n, size - size / 4);
    if (d != 0) {
        best = FM_ENCODE_DICT;
        width = bits_of(d - 1);
    } else if (best == FM_ENCODE_DELTA) {
        width = dwidth;
    } else if (best == FM_ENCODE_RAW) {
        width = 64;
    }
    header[0] = (unsigned char)best;
    header[1] = (unsigned char)width;
    switch (best) {
    case FM_ENCODE_FOR:
        store64(out, s->base);
        return 8 + pack(out + 8, v, n, s->base, width);
    case FM_ENCODE_RUNS:
        store16(header + 8, s->runs);
        return put_runs(enc, v, n, s, width, out);
    case FM_ENCODE_DICT:
        store16(header + 8, d);
        return put_dict(enc, n, d, out);
    case FM_ENCODE_DELTA:
        return put_delta(enc, v, n, s, out);
    default:
        return put_raw(v, n, out);
    }
}

static uint32_t gather(const uint64_t *value, const uint64_t *valid, uint32_t rows, uint64_t *dense)
{
    uint32_t n = 0;

    for (uint32_t w = 0; w * 64 < rows; w++) {
        for (uint64_t bits = valid[w]; bits != 0; bits &= bits - 1)
            dense[n++] = value[w * 64 + (uint32_t)__builtin_ctzll(bits)];
    }
    return n;
}

static uint32_t count_valid(const uint64_t *valid, uint32_t rows)
{
    uint32_t n = 0;

    for (uint32_t w = 0; w * 64 < rows; w++)
        n += (uint32_t)__builtin_popcountll(valid[w]);
    fm_assert(n <= rows);
    return n;
}

static size_t put_validity(const uint64_t *valid, uint32_t rows, uint32_t n, unsigned char *out,
                           unsigned char *header)
{
    size_t at = 0;

    if (n == rows) {
        header[2] = VALID_ALL;
        return 0;
    }
    if ((size_t)n * 2 >= BITMAP_BYTES) {
        header[2] = VALID_BITMAP;
        for (uint32_t w = 0; w < FM_BLOCK_WORDS; w++)
            store64(out + 8 * (size_t)w, w * 64 < rows ? valid[w] : 0);
        return BITMAP_BYTES;
    }
    header[2] = VALID_LIST;
    for (uint32_t w = 0; w * 64 < rows; w++) {
        for (uint64_t bits = valid[w]; bits != 0; bits &= bits - 1, at += 2)
            store16(out + at, w * 64 + (uint32_t)__builtin_ctzll(bits));
    }
    for (; at % 8 != 0; at++)
        out[at] = 0;
    return at;
}

static struct fm_encoded encode(struct fm_encoder *enc, const uint64_t *value,
                                const uint64_t *valid, uint32_t rows, enum fm_type type,
                                bool plain, unsigned char *out)
{
    uint32_t n = count_valid(valid, rows);
    const uint64_t *v = value;
    struct fm_encoded e = {0, n, 0, 0};
    size_t at = HEADER;

    fm_assert(rows <= FM_BLOCK_ROWS && n > 0);
    memset(out, 0, HEADER);
    if (n != rows) {
        uint32_t got = gather(value, valid, rows, enc->dense);
        fm_assert(got == n);
        (void)got;
        v = enc->dense;
    }
    at += put_validity(valid, rows, n, out + at, out);
    e.min = e.max = v[0];
    if (n == 1 || memcmp(v, v + 1, (n - 1) * sizeof *v) == 0) {
        out[0] = FM_ENCODE_CONST;
        store64(out + at, v[0]);
        at += 8;
    } else {
        bool flip = type == FM_TYPE_I64 || type == FM_TYPE_TIME || type == FM_TYPE_DUR;
        uint64_t sign = flip ? 1ull << 63 : 0;
        struct shape s;
        /* Runs first tell more about most columns, but cost a wrong turn each where there are
         * many: the shape of all values at once is found as fast. */
        enc->runs = have_avx2() ? 0 : collect_runs(enc, v, n, n / RUNS_FEW);
        s = enc->runs != 0 ? shape_of_runs(enc, sign) : shape_of(v, n, sign);
        e.min = s.base;
        e.max = s.base + s.range;
        if (type == FM_TYPE_F64)
            range_f64(v, n, &e.min, &e.max);
        if (plain) {
            out[0] = FM_ENCODE_RAW;
            out[1] = 64;
            at += put_raw(v, n, out + at);
        } else {
            at += put_values(enc, v, n, &s, out + at, out);
        }
    }
    store16(out + 4, rows);
    store16(out + 6, n);
    store16(out + 12, (uint32_t)at & 0xffff);
    store16(out + 14, (uint32_t)at >> 16);
    fm_assert(at % 8 == 0 && at <= FM_ENCODED_MAX);
    e.size = at;
    return e;
}

struct fm_encoded fm_encode(struct fm_encoder *enc, const uint64_t *value, const uint64_t *valid,
                            uint32_t rows, enum fm_type type, unsigned char *out)
{
    return encode(enc, value, valid, rows, type, false, out);
}

struct fm_encoded fm_encode_plain(struct fm_encoder *enc, const uint64_t *value,
                                  const uint64_t *valid, uint32_t rows, enum fm_type type,
                                  unsigned char *out)
{
    return encode(enc, value, valid, rows, type, true, out);
}

/* --------------------------------------------------------------- decoding */

enum fm_encoding fm_encoded_as(const unsigned char *data)
{
    return (enum fm_encoding)data[0];
}

size_t fm_encoded_size(const unsigned char *data)
{
    return load32(data + 12);
}

const uint64_t *fm_encoded_raw(const unsigned char *data)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (data[0] == FM_ENCODE_RAW && data[2] == VALID_ALL)
        return (const uint64_t *)(const void *)(data + HEADER);  /* blocks are 8-byte aligned */
#endif
    (void)data;
    return NULL;
}

bool fm_encoded_full(const unsigned char *data)
{
    return data[2] == VALID_ALL;
}

static void get_runs(const unsigned char *in, uint64_t *out, uint32_t runs, unsigned width)
{
    uint64_t base = load64(in), value[FM_BLOCK_ROWS / 2];
    const unsigned char *end = in + 8;
    uint32_t i = 0;

    fm_assert(runs <= FM_COUNT(value));
    unpack(end + ((size_t)runs * 2 + 7) / 8 * 8, value, runs, base, width);
    for (uint32_t r = 0; r < runs; r++) {
        uint32_t stop = load16(end + 2 * (size_t)r);
        uint64_t v = value[r];
        fm_assert(stop <= FM_BLOCK_ROWS);
        for (; i < stop; i++)
            out[i] = v;
    }
}

static void get_dict(const unsigned char *in, uint64_t *out, size_t n, uint32_t d, unsigned width)
{
    uint64_t value[256];

    fm_assert(d <= FM_COUNT(value));
    for (uint32_t i = 0; i < d; i++)
        value[i] = load64(in + 8 * (size_t)i);
    unpack(in + 8 * (size_t)d, out, n, 0, width);
    for (size_t i = 0; i < n; i++) {
        fm_assert(out[i] < d);
        out[i] = value[out[i]];
    }
}

static void get_delta(const unsigned char *in, uint64_t *out, size_t n, unsigned width)
{
    uint64_t v = load64(in);

    unpack(in + 16, out + 1, n - 1, load64(in + 8), width);
    out[0] = v;
    for (size_t i = 1; i < n; i++) {
        v += out[i];
        out[i] = v;
    }
}

static void get_values(const unsigned char *data, const unsigned char *in, uint64_t *out, size_t n)
{
    unsigned width = data[1];
    uint64_t v;

    switch ((enum fm_encoding)data[0]) {
    case FM_ENCODE_CONST:
        v = load64(in);
        for (size_t i = 0; i < n; i++)
            out[i] = v;
        break;
    case FM_ENCODE_FOR:
        unpack(in + 8, out, n, load64(in), width);
        break;
    case FM_ENCODE_RUNS:
        get_runs(in, out, load16(data + 8), width);
        break;
    case FM_ENCODE_DICT:
        get_dict(in, out, n, load16(data + 8), width);
        break;
    case FM_ENCODE_DELTA:
        get_delta(in, out, n, width);
        break;
    case FM_ENCODE_RAW:
        for (size_t i = 0; i < n; i++)
            out[i] = load64(in + 8 * i);
        break;
    }
}

static void all_valid(uint64_t *valid, uint32_t rows)
{
    uint32_t full = rows / 64;

    memset(valid, 0xff, full * sizeof *valid);
    memset(valid + full, 0, (FM_BLOCK_WORDS - full) * sizeof *valid);
    if (rows % 64 != 0)
        valid[full] = (1ull << rows % 64) - 1;
}

/* Moves n dense values to the places whose valid bit is set. */
static void scatter(const uint64_t *dense, const uint64_t *valid, uint32_t rows, uint64_t *out)
{
    size_t k = 0;

    memset(out, 0, rows * sizeof *out);
    for (uint32_t w = 0; w * 64 < rows; w++) {
        for (uint64_t bits = valid[w]; bits != 0; bits &= bits - 1)
            out[w * 64 + (uint32_t)__builtin_ctzll(bits)] = dense[k++];
    }
}

uint32_t fm_decode(const unsigned char *data, uint64_t out[FM_BLOCK_ROWS],
                   uint64_t valid[FM_BLOCK_WORDS], bool *all)
{
    uint32_t rows = load16(data + 4), n = load16(data + 6);
    const unsigned char *in = data + HEADER;
    uint64_t dense[FM_BLOCK_ROWS];

    fm_assert(rows <= FM_BLOCK_ROWS && n <= rows && n > 0);
    *all = n == rows;
    if (data[2] == VALID_ALL) {
        all_valid(valid, rows);
        get_values(data, in, out, n);
        return rows;
    }
    if (data[2] == VALID_BITMAP) {
        for (uint32_t w = 0; w < FM_BLOCK_WORDS; w++)
            valid[w] = load64(in + 8 * (size_t)w);
        in += BITMAP_BYTES;
    } else {
        memset(valid, 0, FM_BLOCK_WORDS * sizeof *valid);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t at = load16(in + 2 * (size_t)i);
            fm_assert(at < rows);
            valid[at / 64] |= 1ull << at % 64;
        }
        in += ((size_t)n * 2 + 7) / 8 * 8;
    }
    get_values(data, in, dense, n);
    scatter(dense, valid, rows, out);
    return rows;
}
