/*
 * json.h - a pull scanner for JSON: one pass over a window, no tree, no allocation.
 *
 *     fm_json_init(&j, more, user);
 *     while ((t = fm_json_next(&j)) > FM_JSON_END) …
 *
 * The bytes come from a callback, window by window; a token that reaches over the end of a window
 * is scanned again in the next one, which begins with it. Texts of tokens are borrowed until the
 * next call. Numbers are handed out as text, so that nothing is lost: fm_json_scaled() reads
 * decimals exactly.
 *
 * Accepted beyond the standard, since real producers write it: commas too many or missing, raw
 * control bytes and any bytes in strings, unknown escapes, "+1", ".5", "5.", and bare words
 * (NaN …), which are null.
 */
#ifndef FM_UTIL_JSON_H
#define FM_UTIL_JSON_H

#include "util/base.h"

enum fm_json_token {
    FM_JSON_ERROR = -1,        /* see fm_json.error; stays */
    FM_JSON_END,               /* of the input, outside of everything */
    FM_JSON_OBJECT, FM_JSON_OBJECT_END, FM_JSON_ARRAY, FM_JSON_ARRAY_END,
    FM_JSON_KEY, FM_JSON_STRING, FM_JSON_NUMBER, FM_JSON_TRUE, FM_JSON_FALSE, FM_JSON_NULL
};

enum fm_json_error {
    FM_JSON_OK, FM_JSON_CUT,   /* the input ends inside something */
    FM_JSON_SYNTAX, FM_JSON_DEEP, FM_JSON_LONG, FM_JSON_SOURCE /* the callback failed */
};

#define FM_JSON_DEPTH 1024u                      /* fm_json_skip() has no limit */
#define FM_JSON_TOKEN ((size_t)256 << 20)        /* bytes of one token */

/*
 * Moves the window: drops `used` bytes and shows at least `need` of those that follow, fewer only
 * at the end of the input. false: reading failed.
 */
typedef bool fm_json_more(void *user, size_t used, size_t need, const unsigned char **data,
                          size_t *n);

struct fm_json {
    fm_json_more *more;
    void *user;
    const unsigned char *data, *p, *end;         /* the window; the next byte */
    uint64_t offset;                             /* of data in the input */
    bool last;                                   /* the window reaches the input's end */
    bool value;                                  /* a key was read: its value follows */
    uint32_t depth;
    uint64_t kind[FM_JSON_DEPTH / 64];           /* bit d: level d is an object */
    enum fm_json_error error;
    /* the token: */
    uint64_t at;                                 /* its offset in the input */
    const char *text;                            /* KEY, STRING (inside the quotes), NUMBER */
    size_t n;
    bool escaped;                                /* text holds backslashes: fm_json_unescape() */
    uint32_t commas;                             /* that stood before it */
};

void fm_json_init(struct fm_json *j, fm_json_more *more, void *user);
/* All bytes in memory. */
void fm_json_init_memory(struct fm_json *j, const void *data, size_t n);

enum fm_json_token fm_json_next(struct fm_json *j);

/* After KEY, or OBJECT, ARRAY: passes over the value (the rest of it), however deep. false: error
 * or end. */
bool fm_json_skip(struct fm_json *j, enum fm_json_token token);

/* Decodes escapes of s[0..n) into to (n bytes are always enough); returns the length. Surrogate
 * pairs are joined, single ones become U+FFFD; an unknown escape stays as it is. */
size_t fm_json_unescape(const char *s, size_t n, char *to);

/* A decimal number (sign, digits, fraction, exponent) times `scale` (a power of ten), exactly,
 * rounded to an integer, halves away from zero. false: no number, or it does not fit. */
bool fm_json_scaled(const char *s, size_t n, int64_t scale, int64_t *out);

#endif
