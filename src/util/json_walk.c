/*
 * json_walk.c - the members of one JSON object, along its marks.
 *
 *     {"name":"f","ts":1.5,"args":{…}}       each member is a row of the table: key, value, kind
 *      ^    ^^^ ^^^  ^^^  ^^    ^^^   ^      marks; those of inner values are passed over
 *
 * The position of the next mark is known without looking at a byte, so the processor can work on
 * many members at once.
 */
#include "util/json_inner.h"

#define ALWAYS static inline __attribute__((always_inline))

/* What a byte at a mark is. COMMA to CLOSE may stand behind a string. */
enum { WORD, COMMA, COLON, CLOSE, QUOTE, OPEN, BLANK, WRONG };

static const uint8_t classes[256] = {
    [0 ... ' '] = BLANK, ['"'] = QUOTE, ['{'] = OPEN,   ['['] = OPEN,   ['}'] = CLOSE,
    [']'] = CLOSE,       [','] = COMMA, [':'] = COLON, ['\\'] = WRONG,
};

/* The marks in registers. */
struct steps {
    const uint32_t *i, *n;
    const unsigned char *base;
    struct fm_json_marks *m;
    const struct fm_json_vector *v;
};

ALWAYS void take_steps(struct steps *s, struct fm_json_marks *m, const struct fm_json_vector *v)
{
    s->i = m->pos + m->i;
    s->n = m->pos + m->n;
    s->base = m->base;
    s->m = m;
    s->v = v;
}

ALWAYS void give_steps(const struct steps *s)
{
    s->m->i = (uint32_t)(s->i - s->m->pos);
}

ALWAYS bool step(struct steps *s, uint32_t *pos)
{
    while (FM_UNLIKELY(s->i == s->n)) {
        if (s->m->to == s->m->end)
            return false;
        s->v->mark(s->m);
        s->i = s->m->pos;
        s->n = s->i + s->m->n;
    }
    *pos = *s->i++;
    return true;
}

/* The closing quote of the string whose opening one is behind. */
ALWAYS bool string_end(struct steps *s, uint32_t *pos, bool *escaped)
{
    if (FM_UNLIKELY(!step(s, pos)))
        return false;
    *escaped = false;
    while (FM_UNLIKELY(s->base[*pos] == '\\')) {
        *escaped = true;
        if (!step(s, pos))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ what is passed over */

/* Whether what stands before the '{' at p shows that a key is missing there. */
static bool key_is_missing(const unsigned char *p, const unsigned char *base)
{
    while (p > base && p[-1] <= ' ')
        p--;
    return p > base && (p[-1] == ',' || p[-1] == '}' || p[-1] == ']');
}

ALWAYS bool may_follow(unsigned char c)
{
    return (unsigned)classes[c] - COMMA <= CLOSE - COMMA;
}

/* Whether what stands behind a string cannot stand there: p moves to it. */
static bool cannot_follow(const unsigned char **p, const unsigned char *end)
{
    while (*p < end && **p <= ' ')
        ++*p;
    return *p < end && !may_follow(**p);
}

/* The bracket at *pos. */
ALWAYS bool bracket(struct fm_json_levels *l, const struct steps *s, const unsigned char *p)
{
    const bool object = (*p | 0x20) == *p; /* { } */
    if (classes[*p] == OPEN) {
        if (object && (l->known & l->objects & 1) && key_is_missing(p, s->base))
            return false;
        l->depth++;
        l->objects = l->objects << 1 | object;
        l->known = l->known << 1 | 1;
        return true;
    }
    if (l->depth == 0 || ((l->known & 1) && (l->objects & 1) != object))
        return false;
    l->depth--;
    l->objects >>= 1;
    l->known >>= 1;
    return true;
}

ALWAYS enum fm_json_walked pass(struct fm_json_levels *l, struct steps *s, uint32_t *where)
{
    bool escaped;
    uint32_t pos = 0;
    if (FM_UNLIKELY(l->inside)) {
        l->inside = false;
        goto string;
    }
    for (;;) {
        if (FM_UNLIKELY(!step(s, &pos)))
            return FM_JSON_WALK_MORE;
        const unsigned char *p = s->base + pos;
        const unsigned class = classes[*p];
        if (class == OPEN || class == CLOSE) {
            *where = pos;
            if (FM_UNLIKELY(!bracket(l, s, p)))
                return FM_JSON_WALK_DAMAGED;
            if (l->depth == 0) {
                *where = pos + 1;
                return FM_JSON_WALK_DONE;
            }
        } else if (class == QUOTE) {
        string:
            if (FM_UNLIKELY(!string_end(s, &pos, &escaped))) {
                l->inside = true;
                return FM_JSON_WALK_MORE;
            }
            p = s->base + pos + 1;
            if (FM_UNLIKELY(p < s->m->end && !may_follow(*p) && cannot_follow(&p, s->m->end))) {
                *where = (uint32_t)(p - s->base);
                return FM_JSON_WALK_DAMAGED;
            }
        }
    }
}

enum fm_json_walked fm_json_pass(struct fm_json_levels *l, struct fm_json_marks *m,
                                 const struct fm_json_vector *v, uint32_t *pos)
{
    struct steps s;
    take_steps(&s, m, v);
    enum fm_json_walked done = pass(l, &s, pos);
    give_steps(&s);
    return done;
}

/* ------------------------------------------------------------------ members */

/* FM_JSON_NAME() of a key; `room` bytes may be read from it on. */
ALWAYS uint64_t name_of(const unsigned char *key, size_t n, size_t room)
{
    uint64_t name = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    static const uint64_t masks[8] = {0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff,
                                      0xffffffffffff, 0xffffffffffffff};
    if (FM_LIKELY(room >= 8)) {
        memcpy(&name, key, 8);
        if (FM_LIKELY(n < 8))
            return (name & masks[n]) | (uint64_t)n << 56;
        return (name & masks[7]) | (uint64_t)FM_MIN(n, (size_t)255) << 56;
    }
#endif
    for (size_t i = 0; i < FM_MIN(FM_MIN(n, room), (size_t)7); i++)
        name |= (uint64_t)key[i] << 8 * i;
    return name | (uint64_t)FM_MIN(n, (size_t)255) << 56;
}

/* A key with escapes: decoded into the object while there is room, else it stays as it is. */
static void decode_key(struct fm_json_object *o, struct fm_json_field *f)
{
    size_t n = f->key_n;
    if (n > sizeof o->keys - o->keys_n)
        return;
    char *to = o->keys + o->keys_n;
    n = fm_json_unescape(f->key, n, to);
    o->keys_n += (uint32_t)n;
    f->key = to;
    f->key_n = (uint32_t)n;
    f->name = name_of((const unsigned char *)to, n, n);
}

/* From the opening quote at *pos to the first byte of the value. */
ALWAYS enum fm_json_walked walk_key(struct fm_json_object *o, struct steps *s, uint32_t *pos,
                                    struct fm_json_field *f)
{
    const unsigned char *key = s->base + *pos + 1, *end = s->m->end, *p;
    const uint32_t from = *pos + 1;
    bool escaped;
    if (FM_UNLIKELY(!string_end(s, pos, &escaped)))
        return FM_JSON_WALK_MORE;
    f->key = (const char *)key;
    f->key_n = *pos - from;
    f->name = name_of(key, f->key_n, (size_t)(end - key));
    if (FM_UNLIKELY(escaped))
        decode_key(o, f);
    p = s->base + *pos;
    if (FM_LIKELY(end - p > 2 && p[1] == ':')) {
        if (FM_LIKELY(classes[p[2]] == WORD) || classes[p[2]] == WRONG) {
            *pos += 2; /* has no mark */
            return FM_JSON_WALK_DONE;
        }
    } else {
        if (end - p > 1 && p[1] == ',') {
            ++*pos; /* nor has this */
            return FM_JSON_WALK_DAMAGED;
        }
        if (!step(s, pos))
            return FM_JSON_WALK_MORE;
        if (s->base[*pos] != ':')
            return FM_JSON_WALK_DAMAGED;
    }
    return FM_LIKELY(step(s, pos)) ? FM_JSON_WALK_DONE : FM_JSON_WALK_MORE;
}

/* What stands behind a string or bracket that ends before *pos: *pos moves there. */
ALWAYS enum fm_json_walked walk_behind(struct steps *s, uint32_t *pos)
{
    const unsigned char *p = s->base + *pos;
    if (FM_LIKELY(p < s->m->end && *p == ','))
        return FM_JSON_WALK_DONE; /* has no mark */
    if (FM_UNLIKELY(p < s->m->end && *p == ':'))
        return FM_JSON_WALK_DAMAGED; /* nor has this */
    return FM_LIKELY(step(s, pos)) ? FM_JSON_WALK_DONE : FM_JSON_WALK_MORE;
}

/* From the first byte of the value to what stands behind it. */
ALWAYS enum fm_json_walked walk_value(struct steps *s, uint32_t *pos, struct fm_json_field *f)
{
    const uint32_t from = *pos;
    const unsigned char *p = s->base + from;
    f->escaped = f->split = false;
    if (*p == '"') {
        if (FM_UNLIKELY(!string_end(s, pos, &f->escaped)))
            return FM_JSON_WALK_MORE;
        f->kind = FM_JSON_STRING;
        f->text = (const char *)p + 1;
        f->n = *pos - from - 1;
        ++*pos;
        return walk_behind(s, pos);
    }
    f->text = (const char *)p;
    if (FM_UNLIKELY(classes[*p] != WORD)) {
        if (classes[*p] != OPEN)
            return FM_JSON_WALK_DAMAGED;
        struct fm_json_levels l = {1, *p == '{', 1, false};
        f->kind = *p == '{' ? FM_JSON_OBJECT : FM_JSON_ARRAY;
        enum fm_json_walked done = pass(&l, s, pos);
        if (FM_UNLIKELY(done != FM_JSON_WALK_DONE))
            return done;
        f->n = *pos - from;
        return walk_behind(s, pos);
    }
    if (FM_UNLIKELY(!step(s, pos)))
        return FM_JSON_WALK_MORE;
    const unsigned char *end = s->base + *pos;
    while (end[-1] <= ' ')
        end--;
    f->n = (uint32_t)(end - p);
    f->kind = FM_JSON_NUMBER;
    if (FM_UNLIKELY((unsigned char)(*p - '0') > 9)) {
        enum fm_json_token t = fm_json_word(p, f->n);
        f->kind = (uint8_t)t;
        if (t == FM_JSON_ERROR) {
            *pos = from;
            return FM_JSON_WALK_DAMAGED;
        }
    }
    return FM_JSON_WALK_DONE;
}

/* The table is full: what is left is passed over, from the quote at pos; once, or objects of many
 * members would take the square of their number. */
static enum fm_json_walked pass_rest(struct fm_json_object *o, struct steps *s, uint32_t *where)
{
    struct fm_json_levels l = {1, 1, 1, false};
    o->rest = (const char *)s->base + *where;
    if (o->passed)
        return FM_JSON_WALK_DONE;
    s->i--;
    return pass(&l, s, where);
}

ALWAYS enum fm_json_walked walk(struct fm_json_object *o, struct steps *s, uint32_t *where)
{
    enum fm_json_walked done = FM_JSON_WALK_MORE;
    struct fm_json_field *f = o->field;
    uint32_t pos = 0;
    o->keys_n = 0;
    o->rest = NULL;
    for (;;) {
        do
            if (FM_UNLIKELY(!step(s, &pos)))
                return FM_JSON_WALK_MORE;
        while (FM_UNLIKELY(s->base[pos] == ','));
        if (FM_UNLIKELY(s->base[pos] != '"'))
            break;
        if (FM_UNLIKELY(f == o->field + FM_JSON_FIELDS)) {
            o->fields = FM_JSON_FIELDS;
            *where = pos;
            return pass_rest(o, s, where);
        }
        done = walk_key(o, s, &pos, f);
        if (FM_LIKELY(done == FM_JSON_WALK_DONE))
            done = walk_value(s, &pos, f);
        if (FM_UNLIKELY(done != FM_JSON_WALK_DONE)) {
            *where = pos;
            return done;
        }
        f++;
        if (s->base[pos] != ',')
            break;
    }
    o->fields = (uint32_t)(f - o->field);
    *where = pos;
    if (FM_UNLIKELY(s->base[pos] != '}'))
        return FM_JSON_WALK_DAMAGED;
    *where = pos + 1;
    return FM_JSON_WALK_DONE;
}

enum fm_json_walked fm_json_walk(struct fm_json_object *o, struct fm_json_marks *m,
                                 const struct fm_json_vector *v, uint32_t *pos)
{
    struct steps s;
    take_steps(&s, m, v);
    enum fm_json_walked done = walk(o, &s, pos);
    give_steps(&s);
    return done;
}

/* ------------------------------------------------------------------ objects in memory */

static bool read_members(struct fm_json_object *o, const char *from)
{
    const unsigned char *text = (const unsigned char *)o->text;
    struct fm_json_marks m;
    uint32_t pos;
    fm_json_marks_start(&m, text, (const unsigned char *)from, text + o->bytes);
    return fm_json_walk(o, &m, fm_json_vector_best(), &pos) == FM_JSON_WALK_DONE;
}

bool fm_json_object_read(struct fm_json_object *o, const char *text, size_t n)
{
    o->at = 0;
    o->bytes = n;
    o->text = text;
    o->resumed = o->passed = false;
    o->fields = 0;
    o->shape = 0;
    o->rest = NULL;
    return n > 0 && text[0] == '{' && n <= FM_JSON_TOKEN && read_members(o, text + 1);
}

bool fm_json_object_more(struct fm_json_object *o)
{
    o->passed = true;
    bool more = o->rest && read_members(o, o->rest);
    o->passed = false;
    return more;
}
