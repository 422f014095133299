/*
 * json_item.c - the items of a JSON array, an object at a time, and the way out of damage.
 *
 *     [ {"name":"a","args":{…},"ts":1.5} , {…} , … ]
 *       ^ at                           ^ at + bytes
 *
 * An object is walked once; each member becomes a row of the table. When the window ends within it,
 * the window grows and the object is walked again: windows double, so no byte is walked more than
 * twice on average. Nested values are passed over (json_skip.c).
 *
 * After damage the quotes cannot be trusted. The next item is looked for at "} , {" from the wrong
 * byte on, the end of the array at "} ]" where closers of the outer levels follow (or, inside of an
 * object, more members of it). What is passed over is reported, never kept: memory stays bounded.
 */
#include "util/json_inner.h"

#define TAIL ((size_t)1 << 20)     /* looked at behind a ']' that may close the array */
#define GUESSES 64u                /* so many times in an array */

enum walked { WALK_MORE, WALK_DONE, WALK_DAMAGED };

/* ------------------------------------------------------------------ one object in memory */

static uint64_t name_of(const unsigned char *key, size_t n, const unsigned char *end)
{
    uint64_t name = 0;
    if (FM_LIKELY(n >= 7 || end - key >= 8)) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        memcpy(&name, key, 8);
        name &= (UINT64_C(1) << 8 * FM_MIN(n, (size_t)7)) - 1;
        return name | (uint64_t)FM_MIN(n, (size_t)255) << 56;
#endif
    }
    for (size_t i = 0; i < FM_MIN(n, (size_t)7); i++)
        name |= (uint64_t)key[i] << 8 * i;
    return name | (uint64_t)FM_MIN(n, (size_t)255) << 56;
}

/* The end of a string whose opening quote is at p: its closing quote, or NULL: not before end. */
static inline const unsigned char *string_end(const unsigned char *p, const unsigned char *end,
                                              const struct fm_json_vector *v, bool *escaped)
{
    *escaped = false;
    p = fm_json_quote(p + 1, end, v);
    while (FM_UNLIKELY(p < end && *p == '\\')) {
        *escaped = true;
        if (end - p < 2)
            return NULL;
        p = v->special(p + 2, end);
    }
    return p < end ? p : NULL;
}

static inline const unsigned char *blanks(const unsigned char *p, const unsigned char *end)
{
    while (p < end && *p <= ' ')
        p++;
    return p;
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
    f->name = name_of((const unsigned char *)to, n, (const unsigned char *)to + n);
}

/* The value at *pp, which moves behind it. */
static inline enum walked walk_value(const unsigned char **pp, const unsigned char *end,
                                     const struct fm_json_vector *v, struct fm_json_field *f)
{
    const unsigned char *p = *pp, *q;
    f->escaped = false;
    if (*p == '"') {
        q = string_end(p, end, v, &f->escaped);
        if (FM_UNLIKELY(!q))
            return WALK_MORE;
        f->kind = FM_JSON_STRING;
        f->text = (const char *)p + 1;
        f->n = (uint32_t)(q - p) - 1;
        *pp = q + 1;
        return WALK_DONE;
    }
    f->text = (const char *)p;
    if (*p == '{' || *p == '[') {
        struct fm_json_skip s;
        f->kind = *p == '{' ? FM_JSON_OBJECT : FM_JSON_ARRAY;
        fm_json_skip_init(&s, true);
        enum fm_json_skipped done = v->skip(&s, pp, end);
        f->n = (uint32_t)(*pp - p);
        return done == FM_JSON_SKIP_DONE   ? WALK_DONE
               : done == FM_JSON_SKIP_MORE ? WALK_MORE
                                           : WALK_DAMAGED;
    }
    q = fm_json_word_end(p, end);
    if (FM_UNLIKELY(q == end))
        return WALK_MORE;
    f->n = (uint32_t)(q - p);
    if (FM_LIKELY(*p >= '0' && *p <= '9')) {
        f->kind = FM_JSON_NUMBER;
    } else {
        enum fm_json_token t = fm_json_word(p, f->n);
        if (t == FM_JSON_ERROR)
            return WALK_DAMAGED;
        f->kind = (uint8_t)t;
    }
    *pp = q;
    return WALK_DONE;
}

/* Members from *pp on, which is inside the object, until its end or until the table is full (then
 * o->rest is set and what is left is passed over). *pp: behind the object, or the wrong byte. */
static enum walked walk(struct fm_json_object *o, const unsigned char **pp,
                        const unsigned char *end, const struct fm_json_vector *v)
{
    const unsigned char *p = *pp;
    enum walked done;
    o->fields = 0;
    o->keys_n = 0;
    o->rest = NULL;
    for (;;) {
        while (p < end && (*p <= ' ' || *p == ','))
            p++;
        if (FM_UNLIKELY(p == end))
            return WALK_MORE;
        if (*p != '"') {
            *pp = p + (*p == '}');
            return *p == '}' ? WALK_DONE : WALK_DAMAGED;
        }
        if (FM_UNLIKELY(o->fields == FM_JSON_FIELDS)) {
            struct fm_json_skip s;
            fm_json_skip_init(&s, true);
            s.depth = s.kind[0] = 1;
            o->rest = (const char *)p;
            *pp = p;
            enum fm_json_skipped skipped = v->skip(&s, pp, end);
            return skipped == FM_JSON_SKIP_DONE   ? WALK_DONE
                   : skipped == FM_JSON_SKIP_MORE ? WALK_MORE
                                                  : WALK_DAMAGED;
        }
        struct fm_json_field *f = &o->field[o->fields];
        bool escaped;
        const unsigned char *q = string_end(p, end, v, &escaped);
        if (FM_UNLIKELY(!q))
            return WALK_MORE;
        f->key = (const char *)p + 1;
        f->key_n = (uint32_t)(q - p) - 1;
        f->name = name_of(p + 1, f->key_n, end);
        if (FM_UNLIKELY(escaped))
            decode_key(o, f);
        p = blanks(q + 1, end);
        if (FM_LIKELY(p < end && *p == ':'))
            p = blanks(p + 1, end);
        else if (p < end) {
            *pp = p;
            return WALK_DAMAGED;
        }
        if (FM_UNLIKELY(p == end))
            return WALK_MORE;
        *pp = p;
        done = walk_value(pp, end, v, f);
        if (FM_UNLIKELY(done != WALK_DONE))
            return done;
        o->fields++;
        p = blanks(*pp, end);
        if (FM_UNLIKELY(p == end))
            return WALK_MORE;
        if (FM_UNLIKELY(*p != ',' && *p != '}')) {
            *pp = p;
            return WALK_DAMAGED;
        }
    }
}

bool fm_json_object_read(struct fm_json_object *o, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + n;
    o->at = 0;
    o->bytes = n;
    o->text = text;
    o->resumed = false;
    o->fields = 0;
    o->rest = NULL;
    if (n == 0 || *p != '{' || n > FM_JSON_TOKEN)
        return false;
    p++;
    return walk(o, &p, end, fm_json_vector_best()) == WALK_DONE;
}

bool fm_json_object_more(struct fm_json_object *o)
{
    if (!o->rest)
        return false;
    const unsigned char *p = (const unsigned char *)o->rest;
    const unsigned char *end = (const unsigned char *)o->text + o->bytes;
    return walk(o, &p, end, fm_json_vector_best()) == WALK_DONE;
}

/* ------------------------------------------------------------------ behind damage */

/* start[i], read when it is not there yet; -1: the input ends before it. */
static int look(struct fm_json *j, const unsigned char **start, size_t i)
{
    while ((size_t)(j->end - *start) <= i)
        if (!fm_json_refill(j, start))
            return -1;
    return (*start)[i];
}

static int look_blanks(struct fm_json *j, const unsigned char **start, size_t *i)
{
    int c;
    while ((c = look(j, start, *i)) >= 0 && c <= ' ')
        ++*i;
    return c;
}

/* More members of an outer object at start[*i]: moves behind its end. false: none such. */
static bool look_members(struct fm_json *j, const unsigned char **start, size_t *i)
{
    int c = look_blanks(j, start, i);
    if (c != '"')
        return c < 0;
    for (size_t want = 4096;; want *= 2) {
        struct fm_json_skip s;
        bool ended = look(j, start, *i + FM_MIN(want, TAIL) - 1) < 0;
        const unsigned char *p = *start + *i;
        fm_json_skip_init(&s, true);
        s.depth = s.kind[0] = 1;
        enum fm_json_skipped done = j->vector->skip(&s, &p, j->end);
        if (done == FM_JSON_SKIP_MORE && !ended && want < TAIL)
            continue;
        *i = (size_t)(p - *start);
        return done != FM_JSON_SKIP_DAMAGED;
    }
}

/* Whether what follows j->p shows that our array ends there, not one within a damaged item: it
 * closes the outer levels. `skip`: of the array's own bracket. */
static bool closes_array(struct fm_json *j, size_t skip)
{
    const unsigned char *start = j->p;
    size_t i = skip;
    for (uint32_t level = j->depth - 1;; level--) {
        int c = look_blanks(j, &start, &i);
        if (c < 0)
            return true;
        if (level == 0)
            return c != ',' && c != ']' && c != '}';
        bool object = (j->kind[(level - 1) >> 6] >> ((level - 1) & 63)) & 1;
        if (c == ',' && object && j->guesses < GUESSES) {
            i++;
            j->guesses++;
            if (!look_members(j, &start, &i))
                return false;
        } else if (c == (object ? '}' : ']')) {
            i++;
        } else {
            return false;
        }
    }
}

/* Looks for the next item from j->p on. false: the input ended first. */
static bool find_item(struct fm_json *j)
{
    for (;;) {
        const unsigned char *start = memchr(j->p, '}', (size_t)(j->end - j->p));
        if (!start) {
            start = j->p = j->end;
            if (!fm_json_refill(j, &start))
                return false;
            continue;
        }
        size_t i = 1;
        j->p = start;
        int c = look_blanks(j, &start, &i);
        if (c == ']') {
            j->p = start + i;
            if (closes_array(j, 1))
                return true;
            continue;
        }
        bool comma = c == ',';
        while (c == ',') {
            i++;
            c = look_blanks(j, &start, &i);
        }
        j->p = start + i;
        if (comma && c == '{')
            return true;
        if (c < 0)
            return false;
    }
}

/* The item at o->at is wrong at j->p; `begin` is its first byte in the window. */
static enum fm_json_item lose(struct fm_json *j, struct fm_json_object *o,
                              const unsigned char *begin)
{
    o->fields = 0;
    o->rest = NULL;
    o->text = NULL;
    o->damage = fm_json_offset(j, j->p);
    j->lost = j->resumed = true;
    bool found = false;
    if (*j->p == '{' && o->damage > o->at) {
        /* An object where a key must stand: the brackets before it were too few. */
        const unsigned char *start = j->p;
        size_t i = 1;
        found = look_blanks(j, &start, &i) == '"';
    } else if (j->p > begin && j->p[-1] == '"') {
        /* A string that cannot end here: what it holds may be what stands between two items. */
        const unsigned char *back = j->p - 1;
        while (back > begin && back[-1] != '"')
            back--;
        j->p = back;
    }
    if (!found)
        found = find_item(j);
    o->bytes = fm_json_offset(j, j->p) - o->at;
    if (found)
        return FM_JSON_ITEM_LOST;
    if (j->error)
        return FM_JSON_ITEM_ERROR;
    j->state = FM_JSON_TRUNCATED;
    return FM_JSON_ITEM_CUT;
}

/* ------------------------------------------------------------------ items */

/* After WALK_MORE: *start moves with the window. false: the item cannot be had, *item says why. */
static bool grow(struct fm_json *j, struct fm_json_object *o, const unsigned char **start,
                 enum fm_json_item *item)
{
    j->p = *start;
    if (fm_json_refill(j, start))
        return true;
    if (j->error == FM_JSON_LONG) {
        /* Passed over in pieces. */
        struct fm_json_skip s;
        enum fm_json_skipped done;
        j->error = FM_JSON_OK;
        fm_json_skip_init(&s, true);
        while ((done = j->vector->skip(&s, &j->p, j->end)) == FM_JSON_SKIP_MORE) {
            const unsigned char *end = j->p;
            if (!fm_json_refill(j, &end))
                break;
        }
        if (done == FM_JSON_SKIP_DAMAGED) {
            *item = lose(j, o, j->data);
            return false;
        }
        o->fields = 0;
        o->rest = NULL;
        o->bytes = fm_json_offset(j, j->p) - o->at;
        o->damage = o->at + FM_JSON_TOKEN;
        j->lost = true;
        if (done == FM_JSON_SKIP_DONE) {
            *item = FM_JSON_ITEM_LOST;
            return false;
        }
    }
    o->bytes = fm_json_offset(j, j->end) - o->at;
    j->state = FM_JSON_TRUNCATED;
    *item = j->error ? FM_JSON_ITEM_ERROR : FM_JSON_ITEM_CUT;
    return false;
}

/* A value that is no object. */
static enum fm_json_item other(struct fm_json *j, struct fm_json_object *o)
{
    const unsigned char *start = j->p, *p;
    struct fm_json_field f;
    enum fm_json_item item;
    enum walked done;
    for (;;) {
        p = start;
        done = walk_value(&p, j->end, j->vector, &f);
        if (done != WALK_MORE)
            break;
        if (!grow(j, o, &start, &item))
            return item;
    }
    j->p = p;
    if (done == WALK_DAMAGED)
        return lose(j, o, start);
    j->resumed = false;
    o->text = (const char *)start;
    o->bytes = (uint64_t)(p - start);
    return FM_JSON_ITEM_OTHER;
}

enum fm_json_item fm_json_item(struct fm_json *j, struct fm_json_object *o)
{
    if (j->error)
        return FM_JSON_ITEM_ERROR;
    j->commas = 0;
    o->bytes = 0;
    o->fields = 0;
    o->rest = NULL;
    o->resumed = j->resumed;
    if (FM_UNLIKELY(!fm_json_blanks(j))) {
        o->at = fm_json_offset(j, j->p);
        j->state = FM_JSON_UNTERMINATED;
        return j->error ? FM_JSON_ITEM_ERROR : FM_JSON_ITEM_CUT;
    }
    const unsigned char *start = j->p, *p;
    o->at = j->at = fm_json_offset(j, start);
    if (FM_UNLIKELY(*start != '{')) {
        if (*start != ']' && *start != '}')
            return other(j, o);
        bool missing = *start == '}'; /* our ']' */
        if ((j->lost || missing) && !closes_array(j, !missing))
            return lose(j, o, j->p);
        j->state = missing ? FM_JSON_UNTERMINATED : FM_JSON_COMPLETE;
        j->p += !missing;
        j->depth--;
        j->lost = j->resumed = false;
        return FM_JSON_ITEM_END;
    }
    for (;;) {
        enum fm_json_item item;
        p = start + 1;
        enum walked done = walk(o, &p, j->end, j->vector);
        if (FM_LIKELY(done == WALK_DONE))
            break;
        if (done == WALK_DAMAGED) {
            j->p = p;
            return lose(j, o, start);
        }
        if (!grow(j, o, &start, &item))
            return item;
    }
    j->p = p;
    j->resumed = false;
    o->text = (const char *)start;
    o->bytes = (uint64_t)(p - start);
    return FM_JSON_ITEM_OBJECT;
}
