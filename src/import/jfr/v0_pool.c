/*
 * v0_pool.c - constant pools of version 0.9: entries with the time up to which they hold, and what
 * they are for the builder; see v0.h.
 *
 * Entries are one array, sorted by pool, key and time. Each becomes an id of the builder once: a
 * string, a thread, a stack; a text that others need (a class's symbol) is kept beside it.
 */
#include "import/jfr/v0.h"

#include <stdlib.h>

enum { NEW, BUSY, HAS, HAS_NOT };  /* entry->state, entry->text_state */

#define TEXT_DEPTH 8u

/* ----------------------------------------------------------------- checkpoints */

static const char *read_pool(struct fm_jfr_v0 *v0, struct fm_cursor *c, int64_t time, bool *oom)
{
    uint32_t pool = fm_jfr_v0_pool_find(v0, fm_cursor_i32(c));
    int32_t n = fm_cursor_i32(c);
    const struct fm_jfr_v0_pool *p;
    if (!fm_cursor_ok(c))
        return "it is cut";
    if (pool == FM_JFR_V0_NONE)
        return "a pool of an unknown type";
    p = &v0->pool[pool];
    if (n < 0 || (uint32_t)n > fm_cursor_left(c))
        return "a count of entries that cannot be";
    for (; n > 0; n--) {
        struct fm_jfr_v0_entry e = {.pool = pool, .time = time, .order = v0->entries};
        e.key = (uint64_t)fm_jfr_v0_number(c, (enum fm_jfr_v0_base)p->key);
        e.p = c->p;
        fm_jfr_v0_skip_struct(v0, p->structure, c);
        if (!fm_cursor_ok(c))
            return "an entry is cut";
        e.n = (size_t)(c->p - e.p);
        if (!fm_grow(v0->mem, (void **)&v0->entry, &v0->entry_cap, v0->entries + 1,
                     sizeof *v0->entry)) {
            *oom = true;
            return NULL;
        }
        v0->entry[v0->entries++] = e;
    }
    return NULL;
}

const char *fm_jfr_v0_pools_add(struct fm_jfr_v0 *v0, const unsigned char *data, size_t n,
                                uint64_t *where, bool *oom)
{
    struct fm_cursor c = fm_jfr_cursor(data, n, 0);
    const char *why = NULL;
    int64_t time;
    fm_cursor_skip(&c, 8);
    time = fm_cursor_i64(&c);
    fm_cursor_skip(&c, 8);
    if (!fm_cursor_ok(&c))
        why = "it is cut";
    while (why == NULL && !*oom && fm_cursor_left(&c) > 0)
        why = read_pool(v0, &c, time, oom);
    *where = fm_cursor_offset(&c);
    return why;
}

static int by_key(const void *a, const void *b)
{
    const struct fm_jfr_v0_entry *x = a, *y = b;
    if (x->pool != y->pool)
        return x->pool < y->pool ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

void fm_jfr_v0_pools_sort(struct fm_jfr_v0 *v0)
{
    if (v0->entries > 0)
        qsort(v0->entry, v0->entries, sizeof *v0->entry, by_key);
}

/* The entry that holds at a time: the first that is not older. Behind the last checkpoint the last
 * one holds on. */
static struct fm_jfr_v0_entry *find(const struct fm_jfr_v0 *v0, uint32_t pool, uint64_t key,
                                    int64_t time)
{
    struct fm_jfr_v0_entry want = {.pool = pool, .key = key, .time = time};
    size_t low = 0, high = v0->entries;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (by_key(&v0->entry[mid], &want) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (size_t i = 0; i < 2 && low >= i; i++) {
        struct fm_jfr_v0_entry *e = low - i < v0->entries ? &v0->entry[low - i] : NULL;
        if (e != NULL && e->pool == pool && e->key == key)
            return e;
    }
    return NULL;
}

/* A field of an entry's value, if it has it. */
static const struct fm_jfr_v0_field *entry_field(const struct fm_jfr_v0 *v0,
                                                 const struct fm_jfr_v0_entry *e,
                                                 const char *name, struct fm_cursor *at)
{
    struct fm_cursor c = fm_jfr_cursor(e->p, e->n, 0);
    return fm_jfr_v0_field_at(v0, v0->pool[e->pool].structure, c, name, at);
}

/* The entry that a field refers to. */
static struct fm_jfr_v0_entry *referred(const struct fm_jfr_v0 *v0,
                                        const struct fm_jfr_v0_field *f, struct fm_cursor *c,
                                        int64_t time)
{
    uint32_t pool = f != NULL ? fm_jfr_v0_pool_find(v0, f->content) : FM_JFR_V0_NONE;
    if (pool == FM_JFR_V0_NONE || !fm_jfr_v0_is_number((enum fm_jfr_v0_base)f->base))
        return NULL;
    return find(v0, pool, (uint64_t)fm_jfr_v0_number(c, (enum fm_jfr_v0_base)f->base), time);
}

/* ------------------------------------------------------------------------ texts */

static bool entry_text(struct fm_jfr_v0_reading *rd, struct fm_jfr_v0_entry *e, unsigned depth);

/* The text of a field, or of what it refers to, becomes that of the entry. */
static bool field_text(struct fm_jfr_v0_reading *rd, struct fm_jfr_v0_entry *e,
                       const struct fm_jfr_v0_field *f, struct fm_cursor *c, unsigned depth)
{
    struct fm_jfr_v0_entry *to;
    const char *s;
    size_t n;
    if (fm_jfr_v0_is_text((enum fm_jfr_v0_base)f->base)) {
        if (!fm_jfr_v0_read_text(c, (enum fm_jfr_v0_base)f->base, &rd->buf, &s, &n)) {
            rd->feed->oom |= rd->buf.oom;
            return false;
        }
        e->text = fm_arena_strn(rd->v0->arena, s, n);
        e->text_n = n;
        rd->feed->oom |= e->text == NULL;
        return e->text != NULL;
    }
    to = referred(rd->v0, f, c, e->time);
    if (to == NULL || !entry_text(rd, to, depth + 1))
        return false;
    e->text = to->text;
    e->text_n = to->text_n;
    return true;
}

/* A value's text: that of its field "name", else of the first field that is or leads to one. */
static bool entry_text(struct fm_jfr_v0_reading *rd, struct fm_jfr_v0_entry *e, unsigned depth)
{
    const struct fm_jfr_v0 *v0 = rd->v0;
    const struct fm_jfr_v0_field *f;
    struct fm_cursor c;
    bool has = false;
    if (e->text_state != NEW || depth > TEXT_DEPTH)
        return e->text_state == HAS;
    e->text_state = BUSY;
    f = entry_field(v0, e, "name", &c);
    if (f != NULL) {
        has = field_text(rd, e, f, &c, depth);
    } else {
        const struct fm_jfr_v0_struct *s = &v0->structure[v0->pool[e->pool].structure];
        c = fm_jfr_cursor(e->p, e->n, 0);
        for (uint32_t i = 0; i < s->fields && !has && fm_cursor_ok(&c); i++) {
            struct fm_cursor at = c;
            has = field_text(rd, e, &s->field[i], &at, depth);
            fm_jfr_v0_skip(v0, &s->field[i], &c);
        }
    }
    e->text_state = has ? HAS : HAS_NOT;
    return has;
}

/* ----------------------------------------------------------------------- frames */

static bool method_lane(struct fm_jfr_v0_reading *rd, struct fm_jfr_v0_entry *e)
{
    const struct fm_jfr_v0 *v0 = rd->v0;
    struct fm_jfr_v0_entry *class = NULL, *signature = NULL;
    struct fm_cursor c;
    const struct fm_jfr_v0_field *f = entry_field(v0, e, "class", &c);
    if (f != NULL)
        class = referred(v0, f, &c, e->time);
    if (class != NULL && !entry_text(rd, class, 0))
        class = NULL;
    f = entry_field(v0, e, "signature", &c);
    if (f != NULL)
        signature = referred(v0, f, &c, e->time);
    if (signature != NULL && entry_text(rd, signature, 0))
        e->signature = fm_builder_str(rd->feed->builder, signature->text, signature->text_n);
    if (!entry_text(rd, e, 0))
        return false;
    e->lane = fm_jfr_method_name(rd->feed, class != NULL ? class->text : "",
                                 class != NULL ? class->text_n : 0, e->text, e->text_n);
    return true;
}

static fm_frame read_frame(struct fm_jfr_v0_reading *rd, uint32_t structure, struct fm_cursor *c,
                           int64_t time)
{
    const struct fm_jfr_v0 *v0 = rd->v0;
    const struct fm_jfr_v0_struct *s = &v0->structure[structure];
    struct fm_jfr_frame frame = {.module = FM_NONE, .kind = FM_FRAME_UNKNOWN, .bci = -1};
    for (uint32_t i = 0; i < s->fields; i++) {
        const struct fm_jfr_v0_field *f = &s->field[i];
        struct fm_cursor at = *c;
        if (strcmp(f->name, "method") == 0) {
            struct fm_jfr_v0_entry *e = referred(v0, f, &at, time);
            if (e != NULL && v0->pool[e->pool].role == FM_JFR_V0_METHOD) {
                if (e->state == NEW)
                    e->state = method_lane(rd, e) ? HAS : HAS_NOT;
                frame.function = e->state == HAS ? (fm_str)e->lane : 0;
                frame.signature = e->signature;
            }
        } else if (strcmp(f->name, "type") == 0) {
            struct fm_jfr_v0_entry *e = referred(v0, f, &at, time);
            if (e != NULL && entry_text(rd, e, 0))
                frame.kind = fm_jfr_frame_kind(e->text, e->text_n);
        } else if (strcmp(f->name, "line") == 0 && f->base <= FM_JFR_V0_U8) {
            frame.line = fm_jfr_v0_number(&at, (enum fm_jfr_v0_base)f->base);
        } else if (strcmp(f->name, "bci") == 0 && f->base <= FM_JFR_V0_U8) {
            frame.bci = fm_jfr_v0_number(&at, (enum fm_jfr_v0_base)f->base);
        }
        fm_jfr_v0_skip(v0, f, c);
    }
    if (frame.function == 0)
        frame.function = fm_builder_str(rd->feed->builder, "[unknown]", 9);
    return fm_jfr_frame_add(rd->feed, &frame);
}

static bool stack_lane(struct fm_jfr_v0_reading *rd, struct fm_jfr_v0_entry *e)
{
    const struct fm_jfr_v0 *v0 = rd->v0;
    struct fm_cursor c;
    const struct fm_jfr_v0_field *f = entry_field(v0, e, "truncated", &c);
    bool truncated = f != NULL && f->base == FM_JFR_V0_BOOLEAN && fm_cursor_u8(&c) != 0;
    fm_frame *frame;
    int32_t n;
    f = entry_field(v0, e, "frames", &c);
    if (f == NULL || f->base != FM_JFR_V0_STRUCTS)
        return false;
    n = fm_cursor_i32(&c);
    if (n < 0 || (uint32_t)n > fm_cursor_left(&c))
        return false;
    frame = fm_jfr_frames(rd->feed, (size_t)n + 1);
    if (frame == NULL)
        return false;
    for (int32_t i = 0; i < n; i++)
        frame[i] = read_frame(rd, f->sub, &c, e->time);
    e->lane = n > 0 || truncated ? fm_jfr_stack(rd->feed, frame, (size_t)n, truncated)
                                 : fm_jfr_no_stack(rd->feed, FM_JFR_NO_STACK);
    return true;
}

/* ------------------------------------------------------------------------ lanes */

/* A key is the OS thread's id: one that comes again with another name is another thread. */
static bool thread_lane(struct fm_jfr_v0_reading *rd, struct fm_jfr_v0_entry *e)
{
    struct fm_jfr_thread t = {.pid = -1, .jvm = rd->chunk->jvm, .os_id = (int64_t)e->key,
                              .since = INT64_MIN};
    uint64_t h = 0;
    if (entry_text(rd, e, 0)) {
        t.os_name = e->text;
        t.os_name_n = e->text_n;
        for (size_t i = 0; i < e->text_n; i++)
            h = fm_mix(h, (unsigned char)e->text[i]);
    }
    t.reused = (uint32_t)(h ^ h >> 32);
    e->lane = fm_jfr_thread_add(rd->feed, &t);
    return true;
}

static bool of_thread_lane(struct fm_jfr_v0_reading *rd, struct fm_jfr_v0_entry *e)
{
    struct fm_cursor c;
    const struct fm_jfr_v0_field *f = entry_field(rd->v0, e, "thread", &c);
    struct fm_jfr_v0_entry *to = referred(rd->v0, f, &c, e->time);
    if (to == NULL || rd->v0->pool[to->pool].role != FM_JFR_V0_THREAD)
        return false;
    if (to->state == NEW)
        to->state = thread_lane(rd, to) ? HAS : HAS_NOT;
    e->lane = to->lane;
    return to->state == HAS;
}

static bool entry_lane(struct fm_jfr_v0_reading *rd, struct fm_jfr_v0_entry *e)
{
    switch ((enum fm_jfr_v0_role)rd->v0->pool[e->pool].role) {
    case FM_JFR_V0_THREAD:
        return thread_lane(rd, e);
    case FM_JFR_V0_OF_THREAD:
        return of_thread_lane(rd, e);
    case FM_JFR_V0_STACK:
        return stack_lane(rd, e);
    case FM_JFR_V0_METHOD:
        return method_lane(rd, e);
    case FM_JFR_V0_CLASS:
        if (!entry_text(rd, e, 0))
            return false;
        e->lane = fm_jfr_class_name(rd->feed, e->text, e->text_n);
        return true;
    case FM_JFR_V0_TEXT:
        break;
    }
    if (!entry_text(rd, e, 0))
        return false;
    e->lane = fm_builder_str(rd->feed->builder, e->text, e->text_n);
    return true;
}

static bool missing(struct fm_jfr_v0_reading *rd, enum fm_jfr_v0_role role, uint64_t key,
                    uint64_t *lane)
{
    enum fm_diag diag = role == FM_JFR_V0_STACK ? FM_DIAG_JFR_STACK
                        : role == FM_JFR_V0_THREAD || role == FM_JFR_V0_OF_THREAD
                            ? FM_DIAG_JFR_THREAD
                            : FM_DIAG_JFR_KEY;
    if (key != 0)
        fm_jfr_note(rd->feed, diag, rd->offset, 1);
    if (role == FM_JFR_V0_THREAD && key != 0) {
        struct fm_jfr_thread t = {.pid = -1, .jvm = rd->chunk->jvm, .os_id = (int64_t)key,
                                  .since = INT64_MIN};
        *lane = fm_jfr_thread_add(rd->feed, &t);
        return true;
    }
    if (role != FM_JFR_V0_STACK)
        return false;
    *lane = fm_jfr_no_stack(rd->feed, key == 0 ? FM_JFR_NO_STACK : FM_JFR_UNKNOWN_STACK);
    return true;
}

bool fm_jfr_v0_lane(struct fm_jfr_v0_reading *rd, uint32_t pool, uint64_t key, int64_t time,
                    uint64_t *lane)
{
    struct fm_jfr_v0_entry *e = find(rd->v0, pool, key, time);
    if (e != NULL && e->state == NEW) {
        e->state = BUSY;
        e->state = entry_lane(rd, e) ? HAS : HAS_NOT;
    }
    if (e == NULL || (e->state != HAS && rd->v0->pool[pool].role == FM_JFR_V0_STACK))
        return missing(rd, (enum fm_jfr_v0_role)rd->v0->pool[pool].role, key, lane);
    *lane = e->lane;
    return e->state == HAS;
}
