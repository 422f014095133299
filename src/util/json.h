/*
 * json.h - a pull scanner for JSON: one pass over a window, no tree, no allocation.
 *
 *     fm_json_init(&j, more, user);
 *     while ((t = fm_json_next(&j)) > FM_JSON_END) …
 *
 * The bytes come from a callback, window by window; a token that reaches over the end of a window
 * is scanned again in the next one, which begins with it. Texts of tokens are borrowed until the
 * next call. Numbers are handed out as text, so that nothing is lost: fm_json_scaled() and
 * fm_json_micros() read decimals exactly.
 *
 * An array of many small objects is read an object at a time, each with a table of its members;
 * inner objects are passed over and can be read later, while the window stands:
 *
 *     case FM_JSON_ARRAY:
 *         while ((item = fm_json_item(&j, &o)) > FM_JSON_ITEM_END)
 *             do
 *                 for (i = 0; i < o.fields; i++)
 *                     switch (o.field[i].name) {
 *                     case FM_JSON_NAME('t', 's'): …
 *                     }
 *             while (fm_json_object_more(&o));
 *
 * Items that look like items before them are read along the shape that was learnt from those, and
 * carry its number (`shape`), so that what a key means need not be asked again; the members of the
 * objects in them are then known too (`split`).
 *
 * Accepted beyond the standard, since real producers write it: commas too many or missing (in
 * objects read by fm_json_item() only too many), raw control bytes and any bytes in strings,
 * unknown escapes, "+1", ".5", "5.", and bare words (NaN …), which are null.
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

/* How the input ended, once it has. */
enum fm_json_end {
    FM_JSON_COMPLETE,          /* every bracket is closed */
    FM_JSON_UNTERMINATED,      /* between two values: nothing but closing brackets is missing */
    FM_JSON_TRUNCATED          /* inside a value */
};

#define FM_JSON_DEPTH 1024u                      /* fm_json_skip() has no limit */
#define FM_JSON_TOKEN ((size_t)256 << 20)        /* bytes of one token, and of one item */

/*
 * Moves the window: drops `used` bytes and shows at least `need` of those that follow, fewer only
 * at the end of the input. false: reading failed.
 */
typedef bool fm_json_more(void *user, size_t used, size_t need, const unsigned char **data,
                          size_t *n);

/* Where the tokens of the next bytes are; inside the scanner: json_inner.h. */
#define FM_JSON_CHUNK 2048u
struct fm_json_marks {
    const unsigned char *base, *to, *end;        /* marked so far; to be marked */
    uint64_t inside, escaped;                    /* how the bytes before `to` end */
    uint32_t ends;
    uint32_t chunk;                              /* bytes to mark at once */
    uint32_t i, n;                               /* pos[i] is the next */
    uint32_t pos[FM_JSON_CHUNK + 64];            /* from base */
};

/* A member of an object. */
struct fm_json_field {
    uint64_t name;                               /* FM_JSON_NAME() of the key */
    const char *key;
    uint32_t key_n;
    uint8_t kind;                                /* STRING NUMBER TRUE FALSE NULL OBJECT ARRAY */
    bool escaped;                                /* a string: fm_json_unescape() */
    bool split;                                  /* an object: its members are known, these of */
    uint8_t inner, inner_n;                      /* fm_json_object.inner, in order */
    uint32_t n;
    const char *text;                            /* inside the quotes, for strings */
};

/* How items looked that were read before: json_shape.c. */
#define FM_JSON_STEPS 512u
#define FM_JSON_PIECE 32u
struct fm_json_step {
    unsigned char text[FM_JSON_PIECE];           /* what stands before a value; zeros behind */
    uint32_t mask;                               /* the n low bits */
    uint8_t n, kind, word;                       /* of true, false, null: n of the word */
    uint8_t paths;                               /* OPEN: ways through the object */
    uint16_t next, other, whole;                 /* distances in bytes from step[0]; 0: none */
    struct fm_json_field field;                  /* key and kind of the value */
};

struct fm_json_shapes {
    uint32_t n, keys_n;                          /* steps ([0] is not used); bytes of keys */
    uint16_t first;
    uint32_t generation;                         /* times that the steps were made anew */
    int32_t credit;                              /* of items matched over items missed */
    uint32_t sleep, nap;                         /* items until it is tried again; last such time */
    bool missed;                                 /* no shape is that of the last item */
    char keys[4096];
    struct fm_json_step step[FM_JSON_STEPS];
};

struct fm_json {
    fm_json_more *more;
    void *user;
    const unsigned char *data, *p, *end;         /* the window; the next byte */
    uint64_t offset;                             /* of data in the input */
    uint64_t lines;                              /* line ends before data */
    bool last;                                   /* the window reaches the input's end */
    bool value;                                  /* a key was read: its value follows */
    uint32_t depth;
    uint64_t kind[FM_JSON_DEPTH / 64];           /* bit d: level d is an object */
    enum fm_json_error error;
    enum fm_json_end state;                      /* with FM_JSON_CUT and FM_JSON_ITEM_CUT */
    bool lost, resumed;                          /* an item of this array; the last item */
    uint32_t guesses;                            /* where it may end */
    size_t limit;                                /* FM_JSON_TOKEN */
    const struct fm_json_vector *vector;         /* how bytes are searched: json_skip.h */
    /* the token: */
    uint64_t at;                                 /* its offset in the input */
    const char *text;                            /* KEY, STRING (inside the quotes), NUMBER */
    size_t n;
    bool escaped;                                /* text holds backslashes: fm_json_unescape() */
    uint32_t commas;                             /* that stood before it */
    const unsigned char *marked;                 /* p, while marks goes on there */
    struct fm_json_marks marks;
    struct fm_json_shapes shapes;
};

void fm_json_init(struct fm_json *j, fm_json_more *more, void *user);
/* All bytes in memory. */
void fm_json_init_memory(struct fm_json *j, const void *data, size_t n);

enum fm_json_token fm_json_next(struct fm_json *j);

/* After KEY, or OBJECT, ARRAY: passes over the value (the rest of it), however deep. false: error
 * or end. */
bool fm_json_skip(struct fm_json *j, enum fm_json_token token);

/* The offset in the input of a byte in the window; the line (from 1) of an offset in the window:
 * right for errors and tokens just met. */
static inline uint64_t fm_json_offset(const struct fm_json *j, const void *p)
{
    return j->offset + (uint64_t)((const unsigned char *)p - j->data);
}
uint64_t fm_json_line(const struct fm_json *j, uint64_t offset);

/* ---- items of an array, one at a time */

/*
 * A key as a number: its first 7 bytes and its length (255 = that or more). Two keys of up to 7
 * bytes are equal just when their names are; FM_JSON_NAME_N(9, 'b', 'a', 's', …) is a longer one's,
 * which fm_json_key_is() has to confirm.
 */
#define FM_JSON_NAME(...)                                                                      \
    FM_JSON_NAME_OF_(FM_JSON_COUNT_(__VA_ARGS__, 7, 6, 5, 4, 3, 2, 1, 0), __VA_ARGS__, 0, 0,   \
                     0, 0, 0, 0, 0, 0)
#define FM_JSON_NAME_N(n, ...)                                                                 \
    FM_JSON_NAME_OF_((n) < 255 ? (n) : 255, __VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0)
#define FM_JSON_COUNT_(a, b, c, d, e, f, g, n, ...) n
#define FM_JSON_NAME_OF_(n, a, b, c, d, e, f, g, ...)                                          \
    ((uint64_t)(a) | (uint64_t)(b) << 8 | (uint64_t)(c) << 16 | (uint64_t)(d) << 24 |          \
     (uint64_t)(e) << 32 | (uint64_t)(f) << 40 | (uint64_t)(g) << 48 | (uint64_t)(n) << 56)

#define FM_JSON_FIELDS 64u                       /* in the table at once */

struct fm_json_object {
    uint64_t at, bytes;                          /* where it stands in the input */
    const char *text;                            /* bytes[]: all of it, with its brackets */
    const char *rest;                            /* where the next fields begin; NULL: none */
    uint64_t damage;                             /* LOST: offset of the byte that is wrong */
    bool resumed;                                /* the first item after LOST */
    bool passed;                                 /* `rest` has been walked to its end */
    uint32_t fields;
    uint32_t shape;                              /* 0, or: items of equal numbers have the same
                                                    keys and kinds of values in the same places */
    struct fm_json_field field[FM_JSON_FIELDS], inner[FM_JSON_FIELDS];
    uint32_t keys_n;
    char keys[512];                              /* keys that had escapes, decoded */
};

/* Of an item's shape: keys of items of the same generation at the same address are equal. */
static inline uint32_t fm_json_generation(const struct fm_json_object *o)
{
    return o->shape >> 16;
}

enum fm_json_item {
    FM_JSON_ITEM_ERROR = -1,   /* the source failed (j->error) */
    FM_JSON_ITEM_CUT,          /* the input ends inside the array: j->state; TRUNCATED: at, bytes
                                  of the piece of an item that is lost */
    FM_JSON_ITEM_END,          /* the ']' was read: fm_json_next() goes on behind it; j->state
                                  UNTERMINATED: it is missing before the outer '}' */
    FM_JSON_ITEM_OBJECT,       /* at, bytes, text, the fields */
    FM_JSON_ITEM_OTHER,        /* no object but some other value: at, bytes, text */
    FM_JSON_ITEM_LOST          /* damage, or an item of more than FM_JSON_TOKEN bytes: bytes from at
                                  on were passed over, up to where an item seems to begin */
};

/* The next item of the array that fm_json_next() has opened. Texts are borrowed until the next call
 * on j. `{}` is an object without fields. */
enum fm_json_item fm_json_item(struct fm_json *j, struct fm_json_object *o);

/* An object in memory: text from '{' on, as fm_json_field gives it. false: damaged. */
bool fm_json_object_read(struct fm_json_object *o, const char *text, size_t n);

/* The next fields of an object that has more than FM_JSON_FIELDS: replaces the table. */
bool fm_json_object_more(struct fm_json_object *o);

static inline bool fm_json_key_is(const struct fm_json_field *f, const char *key, size_t n)
{
    return f->key_n == n && memcmp(f->key, key, n) == 0;
}

/* ---- values */

/* Decodes escapes of s[0..n) into to (n bytes are always enough); returns the length. Surrogate
 * pairs are joined, single ones become U+FFFD; an unknown escape stays as it is. */
size_t fm_json_unescape(const char *s, size_t n, char *to);

/* A decimal number (blanks around it, sign, digits, fraction, exponent) times `scale` (a power of
 * ten), exactly, rounded to an integer, halves away from zero. false: no number, or it does not
 * fit. */
bool fm_json_scaled(const char *s, size_t n, int64_t scale, int64_t *out);

/* ns + ps / 1000 + rest / 10^12, ps < 1000 and rest < 10^9 also when ns is negative. Sums are
 * formed before they are rounded, so that what nests in the input nests when it is rounded; writers
 * that print doubles in full need all of these digits for that (0.0004999999999999999). */
struct fm_json_time {
    int64_t ns;
    uint32_t ps, rest;
};

/* A decimal number of microseconds; what is beyond 15 places is cut off (towards zero). false: no
 * number, or it does not fit. */
bool fm_json_micros(const char *s, size_t n, struct fm_json_time *out);

static inline FM_MUST_USE bool fm_json_time_add(struct fm_json_time a, struct fm_json_time b,
                                                struct fm_json_time *sum)
{
    uint32_t rest = a.rest + b.rest, more = rest >= 1000000000;
    uint32_t ps = a.ps + b.ps + more, carry = ps >= 1000;
    sum->rest = rest - more * 1000000000;
    sum->ps = ps - carry * 1000;
    return !__builtin_add_overflow(a.ns, b.ns, &sum->ns) &&
           !__builtin_add_overflow(sum->ns, (int64_t)carry, &sum->ns);
}

/* Nanoseconds, halves away from zero. */
static inline FM_MUST_USE bool fm_json_time_round(struct fm_json_time t, int64_t *ns)
{
    bool up = t.ps > 500 || (t.ps == 500 && (t.ns >= 0 || t.rest > 0));
    return !__builtin_add_overflow(t.ns, (int64_t)up, ns);
}

#endif
