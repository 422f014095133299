/*
 * tables.c - from: threads, frames and inputs, tables of what is in the store.
 *
 *     threads   one row a thread             what its selected rows sum up to, and when they were
 *     frames    one row a frame              self and total of the selected rows, as any.X counts
 *     inputs    one row a source             provenance, clock, the account
 *
 * The event is chosen as for samples, and the command line's filters hold: threads without selected
 * rows are there with zeros, frames on no stack of a selected row are not. Rows without a thread
 * count in one more row of threads, so that the weights sum up.
 *
 *     frames:  self by node -> subtree sums in one reverse pass (parent < child) -> in pre-order, a
 *              frame takes the sum of a node at which it is not yet on the path
 */
#include "query/plan.h"

#include "util/error.h"
#include "util/out.h"

#include <stdio.h>
#include <time.h>

struct column {
    const char *name, *full;
    enum fm_cell_type type;
    bool key, additive, weight;        /* weight: its unit is that of the weight */
    const char *unit;
};

enum { T_SOURCE, T_PID, T_TID, T_THREAD, T_PROCESS, T_COMMAND, T_CONTAINER, T_JAVA, T_FIRST,
       T_LAST, T_ROWS, T_SAMPLES, T_WEIGHT };

static const struct column thread_column[] = {
    { "source", "source", FM_CELL_TEXT, true, false, false, "" },
    { "pid", "pid", FM_CELL_INT, true, false, false, "" },
    { "tid", "tid", FM_CELL_INT, true, false, false, "" },
    { "thread", "comm", FM_CELL_TEXT, true, false, false, "" },
    { "process", "process", FM_CELL_TEXT, false, false, false, "" },
    { "command", "command", FM_CELL_TEXT, false, false, false, "" },
    { "container", "container", FM_CELL_TEXT, false, false, false, "" },
    { "java_tid", "java_tid", FM_CELL_INT, false, false, false, "" },
    { "first", "first", FM_CELL_INT, false, false, false, "ns" },
    { "last", "last", FM_CELL_INT, false, false, false, "ns" },
    { "rows", "rows", FM_CELL_INT, false, true, false, "" },
    { "samples", "samples", FM_CELL_INT, false, true, false, "" },
    { "weight", "weight", FM_CELL_INT, false, true, true, "" }
};

enum { F_FUNCTION, F_MODULE, F_FILE, F_LINE, F_ADDRESS, F_KIND, F_RAW, F_INLINED, F_SELF, F_TOTAL,
       F_SAMPLES };

static const struct column frame_column[] = {
    { "function", "function", FM_CELL_TEXT, true, false, false, "" },
    { "module", "module", FM_CELL_TEXT, true, false, false, "" },
    { "file", "file", FM_CELL_TEXT, true, false, false, "" },
    { "line", "line", FM_CELL_INT, true, false, false, "" },
    { "address", "address", FM_CELL_ADDRESS, true, false, false, "" },
    { "kind", "kind", FM_CELL_TEXT, true, false, false, "" },
    { "raw", "raw", FM_CELL_TEXT, true, false, false, "" },
    { "inlined", "inlined", FM_CELL_BOOL, true, false, false, "" },
    { "self", "self", FM_CELL_INT, false, true, true, "" },
    { "total", "total", FM_CELL_INT, false, false, true, "" },
    { "samples", "samples", FM_CELL_INT, false, false, false, "" }
};

enum { I_FILE, I_FORMAT, I_SIZE, I_HOST, I_KERNEL, I_COMMAND, I_START, I_DURATION, I_CLOCK,
       I_EVENTS, I_IN, I_KEPT, I_DROPPED, I_REASONS };

static const struct column input_column[] = {
    { "file", "source", FM_CELL_TEXT, true, false, false, "" },
    { "format", "format", FM_CELL_TEXT, false, false, false, "" },
    { "size", "size", FM_CELL_INT, false, true, false, "bytes" },
    { "host", "host", FM_CELL_TEXT, false, false, false, "" },
    { "kernel", "kernel", FM_CELL_TEXT, false, false, false, "" },
    { "command", "command", FM_CELL_TEXT, false, false, false, "" },
    { "start", "start", FM_CELL_TEXT, false, false, false, "" },
    { "duration", "duration", FM_CELL_INT, false, false, false, "ns" },
    { "clock", "clock", FM_CELL_TEXT, false, false, false, "" },
    { "events", "events", FM_CELL_TEXT, false, false, false, "" },
    { "samples_in", "samples_in", FM_CELL_INT, false, true, false, "" },
    { "samples_kept", "samples_kept", FM_CELL_INT, false, true, false, "" },
    { "dropped", "dropped", FM_CELL_INT, false, true, false, "" },
    { "reasons", "reasons", FM_CELL_TEXT, false, false, false, "" }
};

bool fm_tables_schema(struct fm_pipe *pipe)
{
    const struct fm_compile *c = &pipe->c;
    const struct column *list = c->from == FM_FROM_THREADS  ? thread_column
                                : c->from == FM_FROM_FRAMES ? frame_column : input_column;
    size_t n = c->from == FM_FROM_THREADS  ? FM_COUNT(thread_column)
               : c->from == FM_FROM_FRAMES ? FM_COUNT(frame_column) : FM_COUNT(input_column);
    struct fm_schema *schema = fm_arena_alloc(c->arena, sizeof *schema);

    if (schema == NULL)
        return false;
    schema->column = fm_arena_alloc(c->arena, n * sizeof *schema->column);
    if (schema->column == NULL)
        return false;
    schema->n = schema->cap = n;
    for (size_t i = 0; i < n; i++)
        schema->column[i] = (struct fm_schema_column){
            .name = list[i].name, .full = list[i].full, .type = list[i].type,
            .unit = list[i].weight ? c->unit : list[i].unit, .key = list[i].key,
            .additive = list[i].additive, .amount = list[i].additive
        };
    pipe->start = pipe->schema = pipe->c.schema = schema;
    pipe->shape = FM_SHAPE_TABLE;
    return true;
}

static void text(struct fm_table *t, uint32_t row, size_t col, fm_str s)
{
    if (s != 0 && s != FM_NONE)
        fm_table_id(t, row, col, s);
}

/* ----------------------------------------------------------------- threads */

struct tally {
    uint64_t rows, samples;
    fm_i128 weight;
    int64_t first, last;
    bool timed;
};

static void count_row(struct tally *tally, struct fm_reader *r, const struct fm_operand *ts,
                      uint32_t place)
{
    uint64_t lane;

    tally->rows++;
    tally->samples = fm_add_sat_u64(tally->samples, fm_reader_count(r, place));
    tally->weight += fm_reader_weight(r, place);
    if (!fm_reader_lane(r, ts, place, &lane))
        return;
    tally->first = tally->timed ? FM_MIN(tally->first, (int64_t)lane) : (int64_t)lane;
    tally->last = tally->timed ? FM_MAX(tally->last, (int64_t)lane) : (int64_t)lane;
    tally->timed = true;
}

static bool thread_row(struct fm_table *t, fm_thread thread, const struct tally *tally)
{
    uint32_t row = fm_table_add(t);

    if (row == FM_NONE)
        return false;
    if (thread != FM_NONE) {
        const struct fm_thread_row *r = fm_store_thread_row(t->store, thread);
        text(t, row, T_SOURCE, fm_store_source_row(t->store, r->source)->name);
        if (r->pid >= 0)
            fm_table_int(t, row, T_PID, r->pid);
        if (r->tid >= 0)
            fm_table_int(t, row, T_TID, r->tid);
        text(t, row, T_THREAD, fm_store_thread_name(t->store, thread, false, 0));
        text(t, row, T_PROCESS, r->process);
        text(t, row, T_COMMAND, r->command);
        text(t, row, T_CONTAINER, r->container);
        if (r->java_tid >= 0)
            fm_table_int(t, row, T_JAVA, r->java_tid);
    }
    if (tally->timed) {
        fm_table_int(t, row, T_FIRST, tally->first);
        fm_table_int(t, row, T_LAST, tally->last);
    }
    fm_table_int(t, row, T_ROWS, tally->rows);
    fm_table_int(t, row, T_SAMPLES, tally->samples);
    fm_table_int(t, row, T_WEIGHT, tally->weight);
    return true;
}

static enum fm_status fill_threads(struct fm_flow *flow, struct fm_table *t, struct fm_error *err)
{
    struct fm_operand ts = { .place = FM_AT_COLUMN, .id = FM_COL_TS, .type = FM_TYPE_TIME };
    struct fm_operand of = { .place = FM_AT_COLUMN, .id = FM_COL_THREAD, .type = FM_TYPE_THREAD };
    size_t n = fm_store_threads(t->store);
    struct tally *tally = fm_mem_zalloc(t->mem, (n + 1) * sizeof *tally);
    struct fm_reader r;
    enum fm_status status;
    bool ok = true;

    if (tally == NULL)
        return fm_error_nomem(err);
    fm_reader_init(&r, flow->c, &flow->view, &flow->sel);
    fm_reader_need_weight(&r);
    fm_reader_need(&r, &ts);
    fm_reader_need(&r, &of);
    status = fm_reader_start(&r, err);
    while (status == FM_OK && fm_reader_next(&r)) {
        for (uint32_t i = 0; i < r.scan.n; i++) {
            uint64_t lane;
            bool has = fm_reader_lane(&r, &of, r.scan.live[i], &lane);
            count_row(&tally[has ? lane : n], &r, &ts, r.scan.live[i]);
        }
    }
    if (status == FM_OK)
        fm_reader_release(&r);
    for (size_t i = 0; status == FM_OK && ok && i <= n; i++) {
        if (i < n || tally[n].rows > 0)
            ok = thread_row(t, i < n ? (fm_thread)i : FM_NONE, &tally[i]);
    }
    fm_mem_free(t->mem, tally, (n + 1) * sizeof *tally);
    return ok ? status : fm_error_nomem(err);
}

/* ------------------------------------------------------------------ frames */

struct sums {
    fm_i128 self, total;
    uint64_t samples, rows;            /* of all that have it anywhere */
    uint32_t on_path;
};

static enum fm_status sum_nodes(struct fm_flow *flow, struct sums *node, struct fm_error *err)
{
    struct fm_reader r;
    enum fm_status status;

    fm_reader_init(&r, flow->c, &flow->view, &flow->sel);
    fm_reader_need_stack(&r);
    fm_reader_need_weight(&r);
    status = fm_reader_start(&r, err);
    if (status != FM_OK)
        return status;
    while (fm_reader_next(&r)) {
        for (uint32_t i = 0; i < r.scan.n; i++) {
            uint32_t at = fm_reader_node(&r, r.scan.live[i]);
            struct sums *s;
            if (at == FM_NONE)
                continue;
            s = &node[at];
            s->self += fm_reader_weight(&r, r.scan.live[i]);
            s->samples = fm_add_sat_u64(s->samples, fm_reader_count(&r, r.scan.live[i]));
            s->rows++;
        }
    }
    fm_reader_release(&r);
    return FM_OK;
}

static void sum_frames(const struct fm_view *v, struct sums *node, struct sums *frame)
{
    const struct fm_tree_node *tree = v->node;
    uint32_t top = 0;

    for (uint32_t n = 1; n < v->nodes; n++) {
        frame[tree[n].frame].self += node[n].self;
        node[n].total = node[n].self;
    }
    for (size_t n = v->nodes; n-- > 1;) {
        struct sums *up = &node[tree[n].parent];
        up->total += node[n].total;
        up->rows += node[n].rows;
        up->samples = fm_add_sat_u64(up->samples, node[n].samples);
    }
    for (uint32_t n = 1; n < v->nodes; n++) {
        struct sums *f = &frame[tree[n].frame];
        for (; top != tree[n].parent; top = tree[top].parent)
            frame[tree[top].frame].on_path--;
        if (f->on_path++ == 0) {
            f->total += node[n].total;
            f->rows += node[n].rows;
            f->samples = fm_add_sat_u64(f->samples, node[n].samples);
        }
        top = n;
    }
}

static bool frame_row(struct fm_compile *c, struct fm_table *t, const struct fm_view *v,
                      uint32_t frame, const struct sums *sums)
{
    static const enum fm_attr attr[] = { FM_ATTR_FUNCTION, FM_ATTR_MODULE, FM_ATTR_FILE,
                                         FM_ATTR_LINE, FM_ATTR_ADDRESS, FM_ATTR_KIND,
                                         FM_ATTR_RAW };
    uint32_t row = fm_table_add(t);
    uint64_t lane;

    if (row == FM_NONE)
        return false;
    for (size_t i = 0; i < FM_COUNT(attr); i++) {
        if (!fm_view_attr(c, v, frame, attr[i], &lane))
            continue;
        if (frame_column[i].type == FM_CELL_TEXT)
            fm_table_id(t, row, i, (uint32_t)lane);
        else
            fm_table_int(t, row, i, (fm_i128)lane);
    }
    fm_table_int(t, row, F_INLINED, fm_view_frame(v, frame)->inlined);
    fm_table_int(t, row, F_SELF, sums->self);
    fm_table_int(t, row, F_TOTAL, sums->total);
    fm_table_int(t, row, F_SAMPLES, sums->samples);
    return true;
}

static enum fm_status fill_frames(struct fm_flow *flow, struct fm_table *t, struct fm_error *err)
{
    const struct fm_view *v = &flow->view;
    struct sums *node = fm_mem_zalloc(t->mem, v->nodes * sizeof *node);
    struct sums *frame = fm_mem_zalloc(t->mem, (v->frames + 1) * sizeof *frame);
    enum fm_status status = FM_NOMEM;

    if (node != NULL && frame != NULL)
        status = sum_nodes(flow, node, err);
    if (status == FM_OK)
        sum_frames(v, node, frame);
    for (size_t f = 0; status == FM_OK && f < v->frames; f++) {
        if (frame[f].rows > 0 && !frame_row(flow->c, t, v, (uint32_t)f, &frame[f]))
            status = FM_NOMEM;
    }
    fm_mem_free(t->mem, node, node == NULL ? 0 : v->nodes * sizeof *node);
    fm_mem_free(t->mem, frame, frame == NULL ? 0 : (v->frames + 1) * sizeof *frame);
    return status == FM_NOMEM ? fm_error_nomem(err) : status;
}

/* ------------------------------------------------------------------ inputs */

static fm_str fact(const struct fm_source *s, const struct fm_store *store, const char *key)
{
    for (size_t i = 0; i < s->provenances; i++) {
        if (strcmp(fm_store_str(store, s->provenance[i].key, NULL), key) == 0)
            return s->provenance[i].value;
    }
    return 0;
}

/* "2026-01-31T12:00:00.5Z" of the first row; 0: the clock is not known. */
static fm_str wall_start(struct fm_store *store, const struct fm_source *s)
{
    int64_t ns, part;
    char buf[64];
    time_t at;
    struct tm tm;
    int n;

    if (!s->has_wall || !s->has_time || __builtin_sub_overflow(s->first, s->wall_at, &ns)
        || __builtin_add_overflow(ns, s->wall, &ns))
        return 0;
    part = ns % 1000000000;
    at = (time_t)(ns / 1000000000 - (part < 0));
    part += part < 0 ? 1000000000 : 0;
    if (gmtime_r(&at, &tm) == NULL)
        return 0;
    n = snprintf(buf, sizeof buf, "%04d-%02d-%02dT%02d:%02d:%02d.%09lldZ", tm.tm_year + 1900,
                 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (long long)part);
    return fm_store_str_add(store, buf, (size_t)n);
}

/* Names of events with rows in the store's table, or reasons of drops with their counts. */
static fm_str joined(struct fm_store *store, struct fm_out *out)
{
    return out->status != FM_OK ? FM_NONE
           : out->n == 0 ? 0 : fm_store_str_add(store, out->buf, out->n);
}

static fm_str event_names(struct fm_store *store, uint32_t source, struct fm_out *out)
{
    out->n = 0;
    for (size_t i = 0; i < fm_store_events(store); i++) {
        const struct fm_event *e = fm_store_event_row(store, i);
        if (e->rows == 0 || e->source != source)
            continue;
        if (out->n > 0)
            fm_out_text(out, ", ");
        fm_out_text(out, fm_store_str(store, e->name, NULL));
    }
    return joined(store, out);
}

static fm_str drop_reasons(struct fm_store *store, const struct fm_source *s, struct fm_out *out,
                           uint64_t *dropped)
{
    out->n = 0;
    *dropped = 0;
    for (size_t i = 0; i < s->accounts; i++) {
        const struct fm_account_row *a = &s->account[i];
        if (a->kind != FM_ACCOUNT_DROPPED || a->count == 0)
            continue;
        *dropped = fm_add_sat_u64(*dropped, a->count);
        if (out->n > 0)
            fm_out_text(out, ", ");
        fm_out_text(out, fm_store_str(store, a->key, NULL));
        fm_out_printf(out, ": %llu", (unsigned long long)a->count);
    }
    return joined(store, out);
}

static bool input_row(struct fm_table *t, uint32_t source, struct fm_out *out)
{
    const struct fm_source *s = fm_store_source_row(t->store, source);
    const char *clock = fm_clock_text(s->clock);
    uint32_t row = fm_table_add(t);
    fm_str id[4];
    uint64_t dropped;

    if (row == FM_NONE)
        return false;
    id[0] = wall_start(t->store, s);
    id[1] = fm_store_str_add(t->store, clock, strlen(clock));
    id[2] = event_names(t->store, source, out);
    id[3] = drop_reasons(t->store, s, out, &dropped);
    for (size_t i = 0; i < FM_COUNT(id); i++) {
        if (id[i] == FM_NONE)
            return false;
    }
    text(t, row, I_FILE, s->name);
    text(t, row, I_FORMAT, s->format);
    fm_table_int(t, row, I_SIZE, s->bytes);
    text(t, row, I_HOST, fact(s, t->store, "host"));
    text(t, row, I_KERNEL, fact(s, t->store, "kernel"));
    text(t, row, I_COMMAND, fact(s, t->store, "command"));
    text(t, row, I_START, id[0]);
    if (s->has_time)
        fm_table_int(t, row, I_DURATION, (fm_i128)s->last - s->first);
    text(t, row, I_CLOCK, id[1]);
    text(t, row, I_EVENTS, id[2]);
    fm_table_int(t, row, I_IN, s->samples_in);
    fm_table_int(t, row, I_KEPT, s->samples_kept);
    fm_table_int(t, row, I_DROPPED, dropped);
    text(t, row, I_REASONS, id[3]);
    return true;
}

static enum fm_status fill_inputs(struct fm_table *t, struct fm_error *err)
{
    struct fm_out out;
    bool ok = true;

    if (fm_out_init(&out, t->mem, NULL) != FM_OK)
        return fm_error_nomem(err);
    for (size_t i = 0; ok && i < fm_store_sources(t->store); i++)
        ok = input_row(t, (uint32_t)i, &out);
    fm_out_release(&out);
    return ok ? FM_OK : fm_error_nomem(err);
}

enum fm_status fm_tables_fill(struct fm_flow *flow, struct fm_error *err)
{
    struct fm_step start = { .schema = flow->pipe->start };
    struct fm_table *t;
    uint64_t rows;
    enum fm_status status = fm_rows_sum(flow->c, &flow->sel, &flow->view, &rows, err);

    if (status != FM_OK)
        return status;
    flow->totals.samples = flow->sel.samples;
    flow->totals.selected = (fm_i128)flow->sel.weight;
    t = fm_flow_table(flow, &start);
    if (flow->c->from == FM_FROM_THREADS)
        return fill_threads(flow, t, err);
    return flow->c->from == FM_FROM_FRAMES ? fill_frames(flow, t, err) : fill_inputs(t, err);
}
