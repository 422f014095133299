/*
 * iaprof_fast.c - eustall lines of fast mode: most of the bytes of such a file.
 *
 *     eustall 0x1b8 8 2 0 0 31 0 250 0 0 0 0       offset, instruction, ten counts
 *
 * Most counts are 0, and which ones are not cannot be guessed: a loop over the fields takes a wrong
 * turn at most of them. So a line is looked at as a whole, where the machine compares 16 or 32
 * bytes at a time and the line and what follows it are there:
 *
 *     text    0x1b8|8|2|0|0|31|0|250|0|0|0|0.      | TAB, . LF
 *     tabs    .....1.1.1.1.1..1.1...1.1.1.1..
 *     zeros   .........1.1....1.....1.1.1.1..      TABs before a count that is just "0"
 *
 * and only fields that are not "0" are read, four or eight digits at once. Everything else, and
 * longer lines, is read field by field.
 */
#include "import/gpu/iaprof_number.h"

#include "util/cursor.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define REASONS 10u

/* A line as read: a bit of `some` for each count that is not 0. */
struct stall {
    uint64_t offset, insn;
    uint64_t count[REASONS];
    unsigned some;
};

/* ---------------------------------------------------------- field by field */

/* "0\t0\t0\t0\t" */
#define FOUR_ZEROS 0x0930093009300930u

static const char *read_fields(struct stall *r, const char *s, const char *end)
{
    unsigned i = 0;
    if (!fm_iaprof_prefixed(&s, &r->offset) || !fm_iaprof_tab(&s) ||
        !fm_iaprof_decimal(&s, &r->insn))
        return NULL;
    r->some = 0;
    while (i < REASONS) {
        if (i + 4 < REASONS && end - s > 9 && s[0] == '\t' &&
            fm_load_u64((const unsigned char *)s + 1) == FOUR_ZEROS) {
            s += 8;
            i += 4;
            continue;
        }
        if (!fm_iaprof_tab(&s) || !fm_iaprof_decimal(&s, &r->count[i]))
            return NULL;
        r->some |= (r->count[i] != 0 ? 1u : 0u) << i;
        i++;
    }
    s += *s == '\r';
    return *s == '\n' ? s + 1 : NULL;
}

/* ------------------------------------------------------------------- whole */

#ifdef __SSE2__

#define WHOLE (64u + 8u)           /* fields are read eight bytes at a time */

/* Where LF, TAB and '0' stand in 64 bytes. */
struct marks {
    uint64_t end, tabs, zeros;
};

static inline void mark16(struct marks *m, const char *s, unsigned at)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(s + at));
#define MASK(c) ((uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(c))) << at)
    m->end |= MASK('\n');
    m->tabs |= MASK('\t');
    m->zeros |= MASK('0');
#undef MASK
}

#define EACH 0x0101010101010101u   /* times a byte: that byte eight times */

/* n characters, 1 to 8, without the bits of '0', behind as many zeros as are missing: the first of
 * the eight is the lowest byte. */
static inline uint64_t padded(const char *s, unsigned n)
{
    return (fm_load_u64((const unsigned char *)s) ^ EACH * '0') << (64 - 8 * n);
}

/* Up to four of them, as most are: half the steps. */
static inline uint32_t padded4(const char *s, unsigned n)
{
    return (fm_load_u32((const unsigned char *)s) ^ (uint32_t)EACH * '0') << (32 - 8 * n);
}

static inline bool digits(const char *s, unsigned n, uint64_t *out)
{
    uint64_t v;
    if (FM_LIKELY(n - 1 <= 3)) {
        uint32_t w = padded4(s, n);
        if (FM_UNLIKELY(((w + (uint32_t)EACH * 6) | w) & (uint32_t)EACH * 0xf0))
            return false;
        w = w * 10 + (w >> 8);
        *out = (w & 0xff) * 100 + (w >> 16 & 0xff);
        return true;
    }
    if (FM_UNLIKELY(n - 1 > 7))
        return false;
    v = padded(s, n);
    if (FM_UNLIKELY(((v + EACH * 6) | v) & EACH * 0xf0))
        return false;
    v = v * 10 + (v >> 8); /* pairs in even bytes */
    *out = ((v & 0xff000000ffu) * (100 + (1000000ull << 32)) +
            (v >> 16 & 0xff000000ffu) * (1 + (10000ull << 32))) >> 32;
    return true;
}

/* Where bytes of v are no digits, and no letters a to f: in their top bits. */
#define NO_DIGIT(v, each) ((v) | (((v) & (each) * 0x7f) + (each) * (0x80 - 10)))
#define NO_LETTER(v, each) \
    ((v) | (((v) & (each) * 0x7f) + (each) * (0x80 - 7)) | \
     ~(((v) & (each) * 0x7f) + (each) * 0x7f))

/* Digits and small letters, as the tool writes them. Without the bits of '0', a letter has bit 6;
 * with those of 0x60 turned over as well, a is 1. */
static inline bool hex_digits(const char *s, unsigned n, uint64_t *out)
{
    uint64_t v, letter;
    if (FM_LIKELY(n - 1 <= 3)) {
        const uint32_t each = (uint32_t)EACH;
        uint32_t w = padded4(s, n), small = w ^ each * ('0' ^ 0x60);
        if (FM_UNLIKELY(NO_DIGIT(w, each) & NO_LETTER(small, each) & each * 0x80))
            return false;
        w = (w & each * 0x0f) + (w >> 6 & each) * 9;
        w = (w << 4 | w >> 8) & 0x00ff00ffu;
        *out = (w << 8 | w >> 16) & UINT16_MAX;
        return true;
    }
    if (FM_UNLIKELY(n - 1 > 7))
        return false;
    v = padded(s, n);
    letter = v ^ EACH * ('0' ^ 0x60);
    if (FM_UNLIKELY(NO_DIGIT(v, EACH) & NO_LETTER(letter, EACH) & EACH * 0x80))
        return false;
    v = (v & EACH * 0x0f) + (v >> 6 & EACH) * 9;
    v = (v << 4 | v >> 8) & 0x00ff00ff00ff00ffu;
    v = (v << 8 | v >> 16) & 0x0000ffff0000ffffu;
    *out = (v << 16 | v >> 32) & UINT32_MAX;
    return true;
}

/* How many bits; `wide`: the processor has an instruction for it, else it would be a call. */
static inline __attribute__((always_inline)) unsigned ones(uint64_t x, bool wide)
{
    if (wide)
        return (unsigned)__builtin_popcountll(x);
    x -= x >> 1 & EACH * 0x55;
    x = (x & EACH * 0x33) + (x >> 2 & EACH * 0x33);
    return (unsigned)(((x + (x >> 4)) & EACH * 0x0f) * EACH >> 56);
}

static inline unsigned first(uint64_t mask)
{
    return (unsigned)__builtin_ctzll(mask);
}

/* A line within 64 bytes that holds no surprise; NULL: read it field by field. */
static inline __attribute__((always_inline)) const char *
read_marked(struct stall *r, const char *s, struct marks m, bool wide)
{
    uint64_t end, tabs, some;
    unsigned at, next;
    if (FM_UNLIKELY(m.end == 0))
        return NULL;
    tabs = m.tabs & (m.end ^ (m.end - 1));
    end = m.end & (0 - m.end);
    if (FM_UNLIKELY(ones(tabs, wide) != REASONS + 1 || s[0] != '0' || s[1] != 'x'))
        return NULL;
    at = first(tabs);
    tabs &= tabs - 1;
    next = first(tabs);
    if (FM_UNLIKELY(!hex_digits(s + 2, at - 2, &r->offset) ||
                    !digits(s + at + 1, next - at - 1, &r->insn)))
        return NULL;
    r->some = 0;
    some = tabs & ~(m.zeros >> 1 & (tabs | end) >> 2);
    for (; some != 0; some &= some - 1) {
        uint64_t below = (some & (0 - some)) - 1; /* of the TAB before the field */
        unsigned i = ones(tabs & below, wide);
        at = first(some) + 1;
        if (FM_UNLIKELY(!digits(s + at, first((tabs | end) & ~(below << 1 | 1)) - at,
                                &r->count[i])))
            return NULL;
        r->some |= (r->count[i] != 0 ? 1u : 0u) << i;
    }
    return s + first(end) + 1;
}

static const char *read_whole(struct stall *r, const char *s)
{
    struct marks m = {0, 0, 0};
    mark16(&m, s, 0);
    mark16(&m, s, 16);
    mark16(&m, s, 32);
    mark16(&m, s, 48);
    return read_marked(r, s, m, false);
}

/* The same in fewer steps, for processors that have AVX2. */
#define AVX2 __attribute__((target("avx2,popcnt,bmi")))

AVX2 static inline void mark32(struct marks *m, const char *s, unsigned at)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(s + at));
#define MASK(c) \
    ((uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(c))) << at)
    m->end |= MASK('\n');
    m->tabs |= MASK('\t');
    m->zeros |= MASK('0');
#undef MASK
}

AVX2 static const char *read_whole_avx2(struct stall *r, const char *s)
{
    struct marks m = {0, 0, 0};
    mark32(&m, s, 0);
    mark32(&m, s, 32);
    return read_marked(r, s, m, true);
}

static bool have_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") &&
           __builtin_cpu_supports("bmi");
}

#else

#define WHOLE SIZE_MAX

static const char *read_whole(struct stall *r, const char *s)
{
    (void)r;
    (void)s;
    return NULL;
}

#define read_whole_avx2 read_whole

static bool have_avx2(void)
{
    return false;
}

#endif

static inline void add_cells(struct fm_iaprof *a, const struct stall *r, uint64_t node,
                             uint64_t name)
{
    struct fm_iaprof_cells *c = &a->cells;
    uint64_t *count = c->lane[FM_IAPROF_LANE_COUNT], *offset = c->lane[FM_IAPROF_LANE_OFFSET];
    uint64_t *nodes = c->lane[FM_IAPROF_LANE_NODE], *reason = c->lane[FM_IAPROF_LANE_REASON];
    uint64_t *insn = c->lane[FM_IAPROF_LANE_INSN];
    size_t n = c->n;
    for (unsigned some = r->some; some != 0; some &= some - 1, n++) {
        unsigned i = (unsigned)__builtin_ctz(some);
        count[n] = r->count[i];
        offset[n] = r->offset;
        nodes[n] = node;
        reason[n] = a->reason[i];
        insn[n] = name;
    }
    c->n = n;
}

void fm_iaprof_fast_init(struct fm_iaprof *a)
{
    a->wide = have_avx2();
}

const char *fm_iaprof_stall(struct fm_iaprof *a, const char *line, const char *end)
{
    const char *s = line + sizeof "eustall", *next = NULL;
    struct stall r;
    uint64_t at, node, name;
    if ((size_t)(end - s) >= WHOLE)
        next = a->wide ? read_whole_avx2(&r, s) : read_whole(&r, s);
    if (next == NULL)
        next = read_fields(&r, s, end);
    if (next == NULL)
        return NULL;
    at = fm_iaprof_at(a, line);
    a->lines[FM_IAPROF_EUSTALL_LINE]++;
    a->layouts |= FM_IAPROF_FAST;
    if (FM_UNLIKELY(!a->state.known))
        fm_builder_diag(a->builder, FM_DIAG_IAPROF_KERNEL, at, 1);
    if (r.some == 0 || !fm_iaprof_begin(a, r.insn, at, &node, &name))
        return next;
    add_cells(a, &r, node, name);
    fm_iaprof_end(a);
    return next;
}
