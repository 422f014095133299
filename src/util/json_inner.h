/*
 * json_inner.h - what the files of the JSON scanner share: vector searches and the window.
 *
 * Bytes are looked at in blocks of 64; each question is a mask of 64 bits:
 *
 *     bytes      {"a":"x\"[y", "b":[12], "c" : 3}
 *     quotes      1 1 1     1   1 1       1 1        without those behind a backslash
 *     inside      110011111100  110       110        running xor of the quotes
 *     marks      11 1 11    1   1 1 11 11 1 1 1 11   see below
 *
 * One variant for each instruction set makes the masks, all share the logic behind them. Marks are
 * written out as positions (struct fm_json_marks), each is a step of a walk over an item, which so
 * never searches for anything: brackets, commas, colons, first bytes of words outside of strings,
 * quotes, and backslashes within strings. Three are left out, since a walk finds them by looking at
 * the next byte: a colon right behind a quote, the first byte of a word right behind such a colon,
 * a comma right behind a quote or bracket. All other bytes between two marks are blank, or within a
 * string or word.
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
    uint64_t depth;
};

struct fm_json_vector {
    const char *name;
    /* First quote or backslash in [p, end), or end. */
    const unsigned char *(*special)(const unsigned char *p, const unsigned char *end);
    /* true: *p is behind the last bracket. false: *p is end. Brackets are counted, not matched. */
    bool (*skip)(struct fm_json_skip *s, const unsigned char **p, const unsigned char *end);
    /* Replaces the marks by those of [m->to, …): at least one block, at most FM_JSON_CHUNK, not
     * beyond m->end; m->to moves. */
    void (*mark)(struct fm_json_marks *m);
    /* Line ends. */
    uint64_t (*lines)(const unsigned char *p, const unsigned char *end);
    /* The item at p by the shapes that are known: fills the table, returns where the item ends.
     * NULL: s->missed, or the window is too short, or something is odd. */
    const unsigned char *(*match)(struct fm_json_shapes *s, struct fm_json_object *o,
                                  const unsigned char *p, const unsigned char *end);
};

/* The i-th variant, the plainest first; NULL: no more, or this machine cannot run it (*known tells
 * which). The last that is not NULL is the fastest. */
const struct fm_json_vector *fm_json_vector_get(unsigned i, bool *known);
const struct fm_json_vector *fm_json_vector_best(void);

/* ---- shapes (json_shape.c, json_match.c) */

/* Steps whose kind is none of a value: the text goes on; an object is opened or closed; the item's
 * end. */
enum { FM_JSON_STEP_MORE = 32, FM_JSON_STEP_OPEN, FM_JSON_STEP_CLOSE, FM_JSON_STEP_END };

#define FM_JSON_ROOM 64            /* bytes that can be read wherever a step begins */

const unsigned char *fm_json_match_plain(struct fm_json_shapes *s, struct fm_json_object *o,
                                         const unsigned char *p, const unsigned char *end);
#ifdef __SSE2__
const unsigned char *fm_json_match_sse2(struct fm_json_shapes *s, struct fm_json_object *o,
                                        const unsigned char *p, const unsigned char *end);
const unsigned char *fm_json_match_avx2(struct fm_json_shapes *s, struct fm_json_object *o,
                                        const unsigned char *p, const unsigned char *end);
#endif
#ifdef __ARM_NEON
const unsigned char *fm_json_match_neon(struct fm_json_shapes *s, struct fm_json_object *o,
                                        const unsigned char *p, const unsigned char *end);
#endif

static inline struct fm_json_step *fm_json_step(struct fm_json_shapes *s, uint16_t link)
{
    return (struct fm_json_step *)(void *)((unsigned char *)s->step + link);
}

static inline uint16_t fm_json_link(const struct fm_json_shapes *s, const struct fm_json_step *step)
{
    return (uint16_t)((const unsigned char *)step - (const unsigned char *)s->step);
}

void fm_json_shapes_init(struct fm_json_shapes *s);
/* After an item that had to be walked: its shape is learnt, when that seems to be worth it. */
void fm_json_shapes_learn(struct fm_json_shapes *s, const struct fm_json_object *o);

static inline bool fm_json_shapes_awake(const struct fm_json_shapes *s)
{
    return s->sleep == 0;
}

/* Vectors of one byte, from where no compiler makes them anew each time. */
struct fm_json_bytes {
    _Alignas(32) unsigned char quote[32];
    unsigned char slash[32], least[32], most[32];  /* of a number's bytes: the first, the rest */
};
extern const struct fm_json_bytes fm_json_bytes;

/* Whether a number that begins at p has more than its sign. */
static inline bool fm_json_number_at(const unsigned char *p)
{
    return (unsigned char)(p[0] - '0') <= 9 || (p[0] == '-' && (unsigned char)(p[1] - '0') <= 9);
}

/* What a number is made of, as long as it has no exponent (and a slash, which is let pass); what an
 * exponent is made of. */
static inline bool fm_json_number_byte(unsigned char c)
{
    return (unsigned char)(c - '-') <= '9' - '-';
}

static inline bool fm_json_exponent_byte(unsigned char c)
{
    return (fm_json_number_byte(c) && c != '/') || (c | 0x20) == 'e' || c == '+';
}

/* ---- walks along marks (json_walk.c) */

enum fm_json_walked { FM_JSON_WALK_MORE, FM_JSON_WALK_DONE, FM_JSON_WALK_DAMAGED };

/* Marks of [from, end), positions counted from base; `from` is outside of strings and words. */
static inline void fm_json_marks_start(struct fm_json_marks *m, const unsigned char *base,
                                       const unsigned char *from, const unsigned char *end)
{
    m->base = base;
    m->to = from;
    m->end = end;
    m->inside = m->escaped = m->ends = 0;
    m->chunk = FM_JSON_CHUNK;
    m->i = m->n = 0;
}

/* The next mark; false: no more before the end. */
static inline bool fm_json_mark(struct fm_json_marks *m, const struct fm_json_vector *v,
                                uint32_t *pos)
{
    while (FM_UNLIKELY(m->i == m->n)) {
        if (m->to == m->end)
            return false;
        v->mark(m);
    }
    *pos = m->pos[m->i++];
    return true;
}

/* A value with all that is in it. */
struct fm_json_levels {
    uint64_t depth;                              /* open brackets */
    uint64_t objects, known;                     /* bit 0: the innermost is an object, is known */
    bool inside;                                 /* stopped within a string */
};

/* Passes over a value's brackets, from the opening one (depth 0) or from within. DONE: *pos is
 * behind it, DAMAGED: at the byte that is wrong, MORE: may be called again, with more marks. Damage
 * is told near where it is, not where brackets happen to come out even: an unescaped quote turns
 * strings inside out, so that soon one "ends" before a letter; a bracket that is missing lets the
 * wrong one close, or an object begin where a key must stand. */
enum fm_json_walked fm_json_pass(struct fm_json_levels *l, struct fm_json_marks *m,
                                 const struct fm_json_vector *v, uint32_t *pos);

/* The members of an object whose '{' is behind: fills the table; the marks move. *pos as above. */
enum fm_json_walked fm_json_walk(struct fm_json_object *o, struct fm_json_marks *m,
                                 const struct fm_json_vector *v, uint32_t *pos);

/* ---- the window (json.c) */

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
