/*
 * json_inner.h - what the files of the JSON scanner share: vector searches and the window.
 *
 * Bytes are looked at in blocks of 64; each question is a mask of 64 bits:
 *
 *     bytes      {"a":"x\"[y","b":[1]}
 *     quotes      1 1 1      1 1 1           those that a backslash stands before are left out
 *     inside      110011111110011 0          running xor of the quotes
 *     brackets   1                1 11       outside of strings
 *
 * One variant for each instruction set makes the masks, all share the logic behind them.
 */
#ifndef FM_UTIL_JSON_INNER_H
#define FM_UTIL_JSON_INNER_H

#include "util/json.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* A walk to the bracket that closes all those open, which may be interrupted anywhere. */
struct fm_json_skip {
    uint64_t inside;           /* all ones: within a string */
    uint64_t escaped;          /* 1: the next byte stands behind a backslash */
    uint64_t closed;           /* 1: the last byte closed a string */
    uint64_t depth;            /* 0: the first byte must open something */
    bool strict;               /* brackets must match, a string be followed by what may follow */
    uint64_t kind[FM_JSON_DEPTH / 64];           /* strict: bit d: level d is an object */
};

enum fm_json_skipped { FM_JSON_SKIP_MORE, FM_JSON_SKIP_DONE, FM_JSON_SKIP_DAMAGED };

static inline void fm_json_skip_init(struct fm_json_skip *s, bool strict)
{
    s->inside = s->escaped = s->closed = s->depth = 0;
    s->strict = strict;
}

struct fm_json_vector {
    const char *name;
    /* First quote or backslash in [p, end), or end. */
    const unsigned char *(*special)(const unsigned char *p, const unsigned char *end);
    /* DONE: *p is behind the last bracket. DAMAGED: *p is the byte that is wrong. MORE: *p is
     * end. */
    enum fm_json_skipped (*skip)(struct fm_json_skip *s, const unsigned char **p,
                                 const unsigned char *end);
    /* Line ends. */
    uint64_t (*lines)(const unsigned char *p, const unsigned char *end);
};

/* The i-th variant, the plainest first; NULL: no more, or this machine cannot run it (*known tells
 * which). The last that is not NULL is the fastest. */
const struct fm_json_vector *fm_json_vector_get(unsigned i, bool *known);
const struct fm_json_vector *fm_json_vector_best(void);

/* More bytes behind those from *start on, which move to the front. j->p moves along. false: none,
 * or j->error. */
bool fm_json_refill(struct fm_json *j, const unsigned char **start);

/* Passes over blanks and commas; false at the end of the input. */
bool fm_json_blanks(struct fm_json *j);

static inline bool fm_json_is_word(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '.' || c == '-' || c == '+';
}

/* What a bare word or number is, by its text. */
enum fm_json_token fm_json_word(const unsigned char *s, size_t n);

/* The same as .special, for strings that are mostly short. */
static inline const unsigned char *fm_json_quote(const unsigned char *p, const unsigned char *end,
                                                 const struct fm_json_vector *v)
{
#ifdef __SSE2__
    if (FM_LIKELY(end - p >= 16)) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        const int mask = _mm_movemask_epi8(_mm_or_si128(
            _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));
        if (FM_LIKELY(mask != 0))
            return p + __builtin_ctz((unsigned)mask);
        p += 16;
    }
#endif
    return v->special(p, end);
}

/* The end of a number or bare word: the first blank, bracket, quote, comma or colon, or end. */
static inline const unsigned char *fm_json_word_end(const unsigned char *p,
                                                    const unsigned char *end)
{
#ifdef __SSE2__
    const __m128i blank = _mm_set1_epi8(' ');
    while (FM_LIKELY(end - p >= 16)) {
        const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        const __m128i low = _mm_or_si128(v, blank); /* [ ] become { } */
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(low, _mm_set1_epi8('{')),
                                   _mm_cmpeq_epi8(low, _mm_set1_epi8('}')));
        hit = _mm_or_si128(hit, _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(',')),
                                             _mm_cmpeq_epi8(v, _mm_set1_epi8(':'))));
        hit = _mm_or_si128(hit, _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
                                             _mm_cmpeq_epi8(_mm_min_epu8(v, blank), v)));
        const int mask = _mm_movemask_epi8(hit);
        if (FM_LIKELY(mask != 0))
            return p + __builtin_ctz((unsigned)mask);
        p += 16;
    }
#endif
    while (p < end && *p > ' ' && *p != ',' && *p != ':' && *p != '"' && (*p | 0x20) != '{' &&
           (*p | 0x20) != '}')
        p++;
    return p;
}

#endif
