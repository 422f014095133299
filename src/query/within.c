/*
 * within.c - `within:`, the rows that lie in one of many intervals.
 *
 *     within: {spans: LET, on: thread|process|any, outside: true, as: NAME}
 *
 *     intervals  by (key, start), overlapping ones joined:     key 1  [0,5) [9,12)   key 2  [3,7)
 *     row        (key, ts)                                     found by binary search
 *
 * LET is a pipe of rows, whose intervals are [ts, ts + dur), or a table with a key bucket(ts, w),
 * whose cells are [cell, cell + w), else with columns ts and dur. The key is the thread of the row,
 * its process, or for `any` always the same. Sorting n intervals and looking m rows up is
 * O((n + m) log n); rows of a segment whose times lie between all intervals are not read.
 *
 * A row without time, and for thread and process one without a thread, is neither inside nor
 * outside. With `as` the names NAME.start and NAME.dur tell the joined interval of a row, or with
 * `outside` the gap between two; they are searched again for each row that asks.
 */
#include "query/plan.h"

#include "util/error.h"

#include <stdlib.h>

enum on { ON_THREAD, ON_PROCESS, ON_ANY };

struct interval {
    uint64_t key;
    int64_t start, end;
};

struct within {
    struct fm_pipe *need;
    enum on on;
    bool outside;
    size_t key;                        /* of a table: the column with the thread or process */
    struct fm_intervals *as;           /* NULL: rows do not tell their interval */
};

/* What `as: NAME` names; for any thread only. Filled when the step runs, in the compile's arena. */
struct fm_intervals {
    const char *name;
    bool outside;                      /* rows tell the gap between intervals */
    struct interval *item;             /* settled */
    size_t n;
    struct fm_intervals *next;
};

struct intervals {
    struct fm_mem *mem;
    struct interval *item;
    size_t n, cap;
};

/* ----------------------------------------------------------------- compile */

static bool compile_on(struct fm_pipe *pipe, const struct fm_yaml_node *node, enum on *on)
{
    static const char *const name[] = { "thread", "process", "any" };
    struct fm_compile *c = &pipe->c;
    struct fm_scalar s = { .n = 0 };

    if (node->type == FM_YAML_SCALAR && !fm_scalar_get(c->q, c->arena, c->log, node, &s))
        return false;
    for (size_t i = 0; i < FM_COUNT(name); i++) {
        if (s.unknown || (s.n == strlen(name[i]) && memcmp(s.text, name[i], s.n) == 0)) {
            *on = (enum on)i;
            return true;
        }
    }
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node, "'on' is thread, process or any");
    return false;
}

static bool compile_outside(struct fm_pipe *pipe, const struct fm_yaml_node *node, bool *outside)
{
    struct fm_compile *c = &pipe->c;
    struct fm_scalar s = { .n = 0 };

    if (node->type == FM_YAML_SCALAR && !fm_scalar_get(c->q, c->arena, c->log, node, &s))
        return false;
    *outside = s.n == 4 && memcmp(s.text, "true", 4) == 0;
    if (*outside || s.unknown || (s.n == 5 && memcmp(s.text, "false", 5) == 0))
        return true;
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node, "'outside' is true or false");
    return false;
}

/* Steps behind this one know NAME.start and NAME.dur. */
static bool compile_as(struct fm_pipe *pipe, const struct fm_yaml_node *as, struct within *w)
{
    struct fm_compile *c = &pipe->c;
    struct fm_intervals *x;

    if (as == NULL)
        return true;
    if (as->type != FM_YAML_SCALAR || as->n == 0 || w->on != ON_ANY) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), as, "'as' is a name, and needs 'on: any'");
        return false;
    }
    x = fm_arena_alloc(c->arena, sizeof *x);
    if (x == NULL)
        return false;
    *x = (struct fm_intervals){ .name = fm_arena_strn(c->arena, as->text, as->n),
                                .outside = w->outside, .next = c->intervals };
    if (x->name == NULL)
        return false;
    w->as = c->intervals = x;
    return true;
}

static size_t time_column(const struct fm_schema *schema, const char *name)
{
    uint32_t col = fm_schema_find(schema, name, strlen(name));

    if (col == FM_NONE || schema->column[col].type != FM_CELL_INT
        || strcmp(schema->column[col].unit, "ns") != 0)
        return SIZE_MAX;
    return col;
}

/* The first column of intervals, else that of times when there are durations; schema->n: neither
 * is there. */
static size_t interval_column(const struct fm_schema *schema, size_t *dur)
{
    size_t i = 0, ts = time_column(schema, "ts");

    *dur = SIZE_MAX;
    while (i < schema->n && schema->column[i].width <= 0)
        i++;
    if (i < schema->n || ts == SIZE_MAX)
        return i;
    *dur = time_column(schema, "dur");
    return *dur == SIZE_MAX ? i : ts;
}

/* The columns of a table that tell its intervals and whose they are. */
static bool table_columns(struct fm_pipe *pipe, struct within *w, const struct fm_yaml_node *at)
{
    static const char *const name[] = { "thread", "process" };
    const struct fm_schema *schema = w->need->schema;
    uint32_t key;
    size_t dur;

    if (interval_column(schema, &dur) == schema->n) {
        if (schema->open || pipe->plan->stores == 0)
            return true;
        fm_yaml_error(fm_yaml_as(pipe->c.log, FM_YAML_TYPE), at,
                      "the table '%.*s' has no intervals: no key is bucket(ts, WIDTH), and it has "
                      "no ts and dur",
                      (int)FM_MIN(at->n, (size_t)64), at->text);
        return false;
    }
    if (w->on == ON_ANY)
        return true;
    key = fm_schema_find(schema, name[w->on], strlen(name[w->on]));
    if (key == FM_NONE || schema->column[key].type != FM_CELL_TEXT) {
        fm_yaml_error(fm_yaml_as(pipe->c.log, FM_YAML_TYPE), at,
                      "the table '%.*s' has no column '%s': take 'on: any', or group by it too",
                      (int)FM_MIN(at->n, (size_t)64), at->text, name[w->on]);
        return false;
    }
    w->key = key;
    return true;
}

void *fm_within_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    static const char *const known[] = { "spans", "on", "outside", "as" };
    const struct fm_yaml_node *node = step->at->value, *spans, *on, *outside;
    struct within *w = fm_arena_alloc(pipe->c.arena, sizeof *w);

    (void)schema;
    if (w == NULL)
        return NULL;
    w->key = SIZE_MAX;
    if (node->type != FM_YAML_MAP || (spans = fm_yaml_get(node, "spans")) == NULL) {
        fm_yaml_error(fm_yaml_as(pipe->c.log, FM_YAML_TYPE), node,
                      "'within' takes {spans: LET, on: thread|process|any, outside: true, "
                      "as: NAME}");
        return NULL;
    }
    if (!fm_yaml_known(pipe->c.log, node, known, FM_COUNT(known), "key"))
        return NULL;
    on = fm_yaml_get(node, "on");
    outside = fm_yaml_get(node, "outside");
    if ((on != NULL && !compile_on(pipe, on, &w->on))
        || (outside != NULL && !compile_outside(pipe, outside, &w->outside)))
        return NULL;
    w->need = fm_pipe_need(pipe, step, spans, FM_SHAPE_ANY, "'spans'");
    if (w->need == NULL
        || (w->need->shape == FM_SHAPE_TABLE && !table_columns(pipe, w, spans)))
        return NULL;
    if (w->need->shape == FM_SHAPE_ROWS && w->on != ON_ANY && pipe->c.store != NULL
        && w->need->c.store != pipe->c.store) {
        fm_yaml_error(fm_yaml_as(pipe->c.log, FM_YAML_PLACE), spans,
                      "threads of two inputs are never the same: take 'on: any'");
        return NULL;
    }
    return compile_as(pipe, fm_yaml_get(node, "as"), w) ? w : NULL;
}

/* --------------------------------------------------------------- intervals */

static bool add(struct intervals *x, uint64_t key, int64_t start, int64_t length)
{
    int64_t end;

    if (length <= 0)
        return true;
    if (__builtin_add_overflow(start, length, &end))
        end = INT64_MAX;
    if (!fm_grow(x->mem, (void **)&x->item, &x->cap, x->n + 1, sizeof *x->item))
        return false;
    x->item[x->n++] = (struct interval){ key, start, end };
    return true;
}

/* Threads of one process have one key: that of its main thread, or of its first. */
static uint64_t *process_keys(const struct fm_store *store, struct fm_arena *arena)
{
    size_t n = fm_store_threads(store);
    uint64_t *key = fm_arena_alloc(arena, (n + 1) * sizeof *key);
    struct fm_map seen;

    fm_map_init(&seen, &fm_store_ctx(store)->mem);
    for (size_t i = 0; key != NULL && i < n; i++) {
        const struct fm_thread_row *t = fm_store_thread_row(store, (fm_thread)i);
        bool fresh;
        uint64_t *slot;
        key[i] = t->leader != FM_NONE ? t->leader : i;
        if (t->leader != FM_NONE || t->pid < 0)
            continue;
        slot = fm_map_put(&seen, (uint64_t)t->source << 40 ^ (uint64_t)t->pid, &fresh);
        if (slot == NULL) {
            key = NULL;
            break;
        }
        if (fresh)
            *slot = i;
        key[i] = *slot;
    }
    fm_map_release(&seen);
    return key;
}

struct bound {
    const struct within *w;
    struct intervals *x;
    const uint64_t *process;           /* by thread */
    struct fm_operand ts, dur, thread, name;
    int64_t lo, hi;                    /* of all intervals */
};

static void bind(struct bound *b, struct fm_compile *c)
{
    uint8_t via = c->from == FM_FROM_LAUNCHES ? FM_VIA(FM_LINK_LAUNCH) : 0;

    b->ts = (struct fm_operand){ .place = FM_AT_COLUMN, .id = FM_COL_TS, .type = FM_TYPE_TIME,
                                 .via = via };
    b->dur = (struct fm_operand){ .place = FM_AT_COLUMN, .id = FM_COL_DUR, .type = FM_TYPE_DUR,
                                  .via = via };
    b->thread = (struct fm_operand){ .place = FM_AT_COLUMN, .id = FM_COL_THREAD,
                                     .type = FM_TYPE_THREAD, .via = via };
    b->name = (struct fm_operand){ .place = FM_AT_DERIVED, .id = FM_DERIVED_PROCESS,
                                   .type = FM_TYPE_STRING, .via = via };
}

/* The key of a row; false: it has none. */
static bool key_of(const struct bound *b, struct fm_reader *r, uint32_t place, uint64_t *key)
{
    uint64_t lane;

    *key = 0;
    if (b->w->on == ON_ANY)
        return true;
    if (b->w->key != SIZE_MAX && b->w->on == ON_PROCESS) {
        if (!fm_reader_lane(r, &b->name, place, &lane))
            return false;
        *key = lane;
        return true;
    }
    if (!fm_reader_lane(r, &b->thread, place, &lane))
        return false;
    if (b->w->key != SIZE_MAX)
        *key = fm_store_thread_name(r->v->store, (fm_thread)lane, false, 0);
    else
        *key = b->w->on == ON_PROCESS ? b->process[lane] : lane;
    return true;
}

static enum fm_status of_rows(struct bound *b, struct fm_flow *flow, struct fm_error *err)
{
    struct fm_reader r;
    enum fm_status status;
    bool ok = true;

    bind(b, flow->c);
    fm_reader_init(&r, flow->c, &flow->view, &flow->sel);
    fm_reader_need(&r, &b->ts);
    fm_reader_need(&r, &b->dur);
    fm_reader_need(&r, &b->thread);
    status = fm_reader_start(&r, err);
    if (status != FM_OK)
        return status;
    while (ok && fm_reader_next(&r)) {
        for (uint32_t i = 0; ok && i < r.scan.n; i++) {
            uint64_t ts, dur, key;
            if (fm_reader_lane(&r, &b->ts, r.scan.live[i], &ts)
                && fm_reader_lane(&r, &b->dur, r.scan.live[i], &dur)
                && key_of(b, &r, r.scan.live[i], &key))
                ok = add(b->x, key, (int64_t)ts, (int64_t)dur);
        }
    }
    fm_reader_release(&r);
    return ok ? FM_OK : fm_error_nomem(err);
}

/* The names of a table's cells become those of the store that rows are of. */
static bool of_table(struct bound *b, const struct fm_table *t, struct fm_store *store)
{
    const struct within *w = b->w;
    size_t dur, cell = interval_column(t->schema, &dur);

    for (size_t i = 0; cell < t->schema->n && i < t->n; i++) {
        uint32_t row = t->order[i];
        struct fm_value start = fm_table_value(t, row, cell), name;
        struct fm_value length = dur == SIZE_MAX ? fm_value_i64(t->schema->column[cell].width)
                                                 : fm_table_value(t, row, dur);
        uint64_t key = 0;
        if (start.type != FM_I64 || length.type != FM_I64)
            continue;
        if (w->key != SIZE_MAX) {
            name = fm_table_value(t, row, w->key);
            if (name.type != FM_TEXT)
                continue;
            key = fm_store_str_find(store, name.text.s, name.text.n);
            if (key == FM_NONE)
                continue;
        }
        if (!add(b->x, key, start.i, length.i))
            return false;
    }
    return true;
}

static int by_key(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorts, and joins what overlaps or touches. */
static void settle(struct bound *b)
{
    struct intervals *x = b->x;
    size_t n = 0;

    b->lo = INT64_MAX;
    b->hi = INT64_MIN;
    if (x->n > 0)
        qsort(x->item, x->n, sizeof *x->item, by_key);
    for (size_t i = 0; i < x->n; i++) {
        struct interval *at = &x->item[i];
        b->lo = FM_MIN(b->lo, at->start);
        b->hi = FM_MAX(b->hi, at->end);
        if (n > 0 && x->item[n - 1].key == at->key && x->item[n - 1].end >= at->start)
            x->item[n - 1].end = FM_MAX(x->item[n - 1].end, at->end);
        else
            x->item[n++] = *at;
    }
    x->n = n;
}

/* The first interval that begins behind (key, ts). */
static size_t behind(const struct interval *item, size_t n, uint64_t key, int64_t ts)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (item[mid].key < key || (item[mid].key == key && item[mid].start <= ts))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool is_inside(const struct intervals *x, uint64_t key, int64_t ts)
{
    size_t lo = behind(x->item, x->n, key, ts);

    return lo > 0 && x->item[lo - 1].key == key && ts < x->item[lo - 1].end;
}

/* ------------------------------------------------------------------- names */

bool fm_interval_find(const struct fm_compile *c, const char *name, struct fm_operand *o)
{
    for (struct fm_intervals *x = c->intervals; x != NULL; x = x->next) {
        size_t n = strlen(x->name);
        bool dur = strncmp(name, x->name, n) == 0 && strcmp(name + n, ".dur") == 0;
        if (!dur && (strncmp(name, x->name, n) != 0 || strcmp(name + n, ".start") != 0))
            continue;
        *o = (struct fm_operand){ .place = FM_AT_INTERVAL, .id = dur, .unit = "ns",
                                  .type = dur ? FM_TYPE_DUR : FM_TYPE_TIME, .intervals = x };
        return true;
    }
    return false;
}

static struct fm_operand time_at(int slot)
{
    return (struct fm_operand){ .place = FM_AT_COLUMN, .id = FM_COL_TS, .type = FM_TYPE_TIME,
                                .slot = slot };
}

/* The gap before the first interval and behind the last has no length: null. */
bool fm_interval_lane(const struct fm_reader *r, const struct fm_operand *o, uint32_t place,
                      uint64_t *lane)
{
    const struct fm_intervals *x = o->intervals;
    struct fm_operand at = time_at(o->slot);
    int64_t start, end;
    uint64_t ts;
    size_t i;

    if (!fm_reader_lane(r, &at, place, &ts))
        return false;
    i = behind(x->item, x->n, 0, (int64_t)ts);
    if (i == 0 || (x->outside && i == x->n))
        return false;
    start = x->outside ? x->item[i - 1].end : x->item[i - 1].start;
    end = x->outside ? x->item[i].start : x->item[i - 1].end;
    if ((int64_t)ts < start || (int64_t)ts >= end)
        return false;
    *lane = o->id == 0 ? (uint64_t)start : (uint64_t)end - (uint64_t)start;
    return true;
}

void fm_interval_need(struct fm_reader *r, struct fm_operand *o)
{
    struct fm_operand at = time_at(-1);

    fm_reader_need(r, &at);
    o->slot = at.slot;
}

/* --------------------------------------------------------------------- run */

static bool keeps(void *user, struct fm_reader *r, uint32_t place)
{
    struct bound *b = user;
    uint64_t ts, key;

    if (!fm_reader_lane(r, &b->ts, place, &ts) || !key_of(b, r, place, &key))
        return false;
    return is_inside(b->x, key, (int64_t)ts) != b->w->outside;
}

/* Rows that lie before or behind all intervals go by the range of their segment. */
static enum fm_status narrow(struct bound *b, struct fm_flow *flow, struct fm_error *err)
{
    struct fm_pred p = { .op = FM_PRED_TEST };

    if (b->w->outside || b->x->n == 0)
        return FM_OK;
    p.operand = &b->ts;
    p.test.kind = FM_TEST_RANGE;
    p.test.lo = fm_value_i64(b->lo);
    p.test.hi = fm_value_i64(b->hi - 1);
    return fm_rows_where(flow->c, &flow->sel, &flow->view, &p, err);
}

static bool name_intervals(struct fm_intervals *as, const struct intervals *x,
                           struct fm_arena *arena)
{
    as->item = fm_arena_alloc(arena, (x->n + 1) * sizeof *as->item);
    if (as->item == NULL)
        return false;
    if (x->n > 0)
        memcpy(as->item, x->item, x->n * sizeof *x->item);
    as->n = x->n;
    return true;
}

enum fm_status fm_within_run(struct fm_flow *flow, const struct fm_step *step,
                             struct fm_error *err)
{
    const struct within *w = step->object;
    struct intervals x = { .mem = &flow->c->ctx->mem };
    struct bound b = { .w = w, .x = &x };
    struct fm_flow *spans = w->need->flow;
    enum fm_status status = FM_OK;
    struct fm_reader r;

    if (w->on == ON_PROCESS)
        b.process = process_keys(flow->sel.store, flow->c->arena);
    if (w->on == ON_PROCESS && b.process == NULL)
        return fm_error_nomem(err);
    if (w->need->shape == FM_SHAPE_ROWS)
        status = of_rows(&b, spans, err);
    else if (!of_table(&b, &spans->table, flow->sel.store))
        status = fm_error_nomem(err);
    if (status == FM_OK) {
        settle(&b);
        bind(&b, flow->c);
        if (w->as != NULL && !name_intervals(w->as, &x, flow->c->arena))
            status = fm_error_nomem(err);
    }
    if (status == FM_OK) {
        status = narrow(&b, flow, err);
    }
    if (status == FM_OK) {
        fm_reader_init(&r, flow->c, &flow->view, &flow->sel);
        fm_reader_need(&r, &b.ts);
        fm_reader_need(&r, &b.thread);
        fm_reader_need(&r, &b.name);
        status = fm_rows_keep(&r, &flow->sel, keeps, &b, err);
    }
    fm_mem_free(x.mem, x.item, x.cap * sizeof *x.item);
    flow->totals.known = false;
    return status != FM_OK ? status : fm_flow_empty(flow, step, err);
}
