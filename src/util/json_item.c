/*
 * json_item.c - the items of a JSON array, an object at a time, and the way out of damage.
 *
 *     [ {"name":"a","args":{…},"ts":1.5} , {…} , … ]
 *       ^ at                           ^ at + bytes
 *
 * An object that looks like one before is matched (json_match.c), others are walked once
 * (json_walk.c). When the window ends within one, the window grows and the object is walked again:
 * windows double, so no byte is walked more than twice on average.
 *
 * After damage the quotes cannot be trusted. The next item is looked for at "} , {" from the wrong
 * byte on, the end of the array at "} ]" where closers of the outer levels follow (or, inside of an
 * object, more members of it). What is passed over is reported, never kept: memory stays bounded.
 */
#include "util/json_inner.h"

#define TAIL ((size_t)1 << 20)     /* looked at behind a ']' that may close the array */
#define GUESSES 64u                /* so many times in an array */
#define CREDIT 64                  /* of shapes, at most */
#define FIRST_CHUNK 256u           /* marked at first where the next item may need no marks */

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
        struct fm_json_levels l = {1, 1, 1, false};
        bool ended = look(j, start, *i + FM_MIN(want, TAIL) - 1) < 0;
        uint32_t pos = (uint32_t)(j->end - *start);
        fm_json_marks_start(&j->marks, *start, *start + *i, j->end);
        enum fm_json_walked done = fm_json_pass(&l, &j->marks, j->vector, &pos);
        if (done == FM_JSON_WALK_MORE) {
            if (!ended && want < TAIL)
                continue;
            pos = (uint32_t)(j->end - *start);
        }
        *i = pos;
        return done != FM_JSON_WALK_DAMAGED;
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
    j->marked = NULL;
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

/* An item longer than a window may be, passed over in pieces; j->p is its first byte. */
static enum fm_json_item pass_long(struct fm_json *j, struct fm_json_object *o)
{
    struct fm_json_levels l = {0, 0, 0, false};
    struct fm_json_marks *m = &j->marks;
    enum fm_json_walked done;
    uint32_t pos;
    fm_json_marks_start(m, j->data, j->p, j->end);
    while ((done = fm_json_pass(&l, m, j->vector, &pos)) == FM_JSON_WALK_MORE) {
        const unsigned char *end = j->p = j->end;
        if (!fm_json_refill(j, &end))
            break;
        m->base = m->to = j->data;
        m->end = j->end;
    }
    if (done != FM_JSON_WALK_MORE)
        j->p = j->data + pos;
    if (done == FM_JSON_WALK_DAMAGED)
        return lose(j, o, j->data);
    o->bytes = fm_json_offset(j, j->p) - o->at;
    o->damage = o->at + j->limit;
    j->lost = true;
    j->state = FM_JSON_TRUNCATED;
    if (done == FM_JSON_WALK_DONE)
        return FM_JSON_ITEM_LOST;
    return j->error ? FM_JSON_ITEM_ERROR : FM_JSON_ITEM_CUT;
}

/* The window ends within the item at *start, which moves with it. false: the item cannot be had,
 * *item says why. */
static bool grow(struct fm_json *j, struct fm_json_object *o, const unsigned char **start,
                 enum fm_json_item *item)
{
    j->p = *start;
    if (fm_json_refill(j, start))
        return true;
    o->fields = 0;
    o->rest = NULL;
    if (j->error == FM_JSON_LONG) {
        j->error = FM_JSON_OK;
        *item = pass_long(j, o);
        return false;
    }
    o->bytes = fm_json_offset(j, j->end) - o->at;
    j->p = j->end;
    j->state = FM_JSON_TRUNCATED;
    *item = j->error ? FM_JSON_ITEM_ERROR : FM_JSON_ITEM_CUT;
    return false;
}

/* A string, an array or a word whose first mark is behind; *pos is that mark, then behind it. */
static enum fm_json_walked walk_other(struct fm_json *j, uint32_t *pos)
{
    struct fm_json_marks *m = &j->marks;
    const unsigned char *p = m->base + *pos, *end;
    if (*p == '[') {
        struct fm_json_levels l = {1, 0, 1, false};
        return fm_json_pass(&l, m, j->vector, pos);
    }
    if (*p == '"') {
        do
            if (!fm_json_mark(m, j->vector, pos))
                return FM_JSON_WALK_MORE;
        while (m->base[*pos] == '\\');
        p = m->base + ++*pos;
        if (p == m->end)
            return FM_JSON_WALK_MORE;
        return *p == ':' ? FM_JSON_WALK_DAMAGED : FM_JSON_WALK_DONE;
    }
    end = fm_json_word_end(p, m->end);
    if (end == m->end)
        return FM_JSON_WALK_MORE;
    if (p == end)
        return FM_JSON_WALK_DAMAGED;
    for (; p < end; p++, ++*pos)
        if (!fm_json_is_word(*p))
            return FM_JSON_WALK_DAMAGED;
    return FM_JSON_WALK_DONE;
}

/* A ']', or a '}' where one is missing before it. */
static enum fm_json_item close_array(struct fm_json *j, struct fm_json_object *o)
{
    const bool missing = *j->p == '}';
    j->marked = NULL;
    if ((j->lost || missing) && !closes_array(j, !missing))
        return lose(j, o, j->p);
    j->state = missing ? FM_JSON_UNTERMINATED : FM_JSON_COMPLETE;
    j->p += !missing;
    j->depth--;
    j->lost = j->resumed = false;
    return FM_JSON_ITEM_END;
}

/* The first mark of an item, commas counted; false: the input ends. */
static inline bool first_mark(struct fm_json *j, uint32_t *pos)
{
    struct fm_json_marks *m = &j->marks;
    if (FM_UNLIKELY(j->marked != j->p)) {
        fm_json_marks_start(m, j->data, j->p, j->end);
        if (fm_json_shapes_awake(&j->shapes))
            m->chunk = FIRST_CHUNK;
    }
    for (;;) {
        while (FM_LIKELY(fm_json_mark(m, j->vector, pos))) {
            if (m->base[*pos] != ',')
                return true;
            j->commas++;
        }
        const unsigned char *end = j->p = j->end;
        if (!fm_json_refill(j, &end))
            return false;
        fm_json_marks_start(m, j->data, j->data, j->end);
    }
}

/* The next item along its marks. */
static enum fm_json_item walk_item(struct fm_json *j, struct fm_json_object *o)
{
    uint32_t pos;
    j->commas = 0;
    o->bytes = 0;
    o->fields = 0;
    o->shape = 0;
    if (FM_UNLIKELY(!first_mark(j, &pos))) {
        o->at = fm_json_offset(j, j->p);
        j->state = FM_JSON_UNTERMINATED;
        return j->error ? FM_JSON_ITEM_ERROR : FM_JSON_ITEM_CUT;
    }
    struct fm_json_marks *m = &j->marks;
    const unsigned char *start = m->base + pos;
    const bool object = *start == '{';
    o->at = j->at = fm_json_offset(j, start);
    if (FM_UNLIKELY(*start == ']' || *start == '}')) {
        j->p = start;
        return close_array(j, o);
    }
    for (;;) {
        enum fm_json_item item;
        enum fm_json_walked done =
            FM_LIKELY(object) ? fm_json_walk(o, m, j->vector, &pos) : walk_other(j, &pos);
        if (FM_LIKELY(done == FM_JSON_WALK_DONE))
            break;
        if (done == FM_JSON_WALK_DAMAGED) {
            j->p = m->base + pos;
            return lose(j, o, start);
        }
        if (!grow(j, o, &start, &item))
            return item;
        fm_json_marks_start(m, j->data, start, j->end);
        fm_json_mark(m, j->vector, &pos);
    }
    j->p = j->marked = m->base + pos;
    j->resumed = false;
    o->text = (const char *)start;
    o->bytes = (uint64_t)(j->p - start);
    return object ? FM_JSON_ITEM_OBJECT : FM_JSON_ITEM_OTHER;
}

/* The next item looks like one before. */
static inline bool match(struct fm_json *j, struct fm_json_object *o)
{
    const unsigned char *p = j->p, *end = j->end;
    uint32_t commas = 0;
    while (p < end && (*p <= ' ' || *p == ','))
        commas += *p++ == ',';
    if (FM_UNLIKELY(p == end || *p != '{'))
        return false;
    end = j->vector->match(&j->shapes, o, p, end);
    if (FM_UNLIKELY(!end))
        return false;
    j->shapes.credit += j->shapes.credit < CREDIT;
    o->at = j->at = fm_json_offset(j, p);
    o->text = (const char *)p;
    o->bytes = (uint64_t)(end - p);
    j->p = end;
    j->commas = commas;
    j->resumed = false;
    return true;
}

/* Marks, and what is to be learnt from them. */
static __attribute__((noinline)) enum fm_json_item unlike(struct fm_json *j,
                                                          struct fm_json_object *o)
{
    const bool missed = j->shapes.missed;
    const enum fm_json_item item = walk_item(j, o);
    if (item == FM_JSON_ITEM_OBJECT && (missed || !fm_json_shapes_awake(&j->shapes)))
        fm_json_shapes_learn(&j->shapes, o);
    return item;
}

enum fm_json_item fm_json_item(struct fm_json *j, struct fm_json_object *o)
{
    if (FM_UNLIKELY(j->error))
        return FM_JSON_ITEM_ERROR;
    o->rest = NULL;
    o->resumed = j->resumed;
    o->passed = false;
    j->shapes.missed = false;
    if (FM_LIKELY(fm_json_shapes_awake(&j->shapes)) && FM_LIKELY(match(j, o)))
        return FM_JSON_ITEM_OBJECT;
    return unlike(j, o);
}
