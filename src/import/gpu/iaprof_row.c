/*
 * iaprof_row.c - cells and marks of an iaprof interval as rows.
 *
 *     interval N-1 at T'     interval N at T       cells lie in (T', T]: time T', dur T - T'
 *          |-------- cells of N --------|          metrics are the last values before T: time T
 *
 * The first interval takes the length of the second: its cells wait for it, up to HELD of them;
 * where there is no second one, or time goes back, an interval is the instant T. Each interval is a
 * row of class "interval" with the number of its stalls, so that empty ones stay to be seen.
 *
 * Cells become rows a block at a time, column by column, where the rules only copy fields
 * (fm_class_copy()); else one by one.
 */
#include "import/gpu/iaprof.h"

#include "util/error.h"

#define HELD ((size_t)1 << 20)
#define INTERVAL_FIELDS 5
#define METRIC_FIELDS 3
#define FRAME_FIELDS 2

/* ---------------------------------------------------------------- classes */

static int declare(struct fm_iaprof *a, const char *name, const struct fm_field *field, size_t n)
{
    return fm_class_declare(a->binding, name, field, n, 0, NULL);
}

enum fm_status fm_iaprof_declare(struct fm_iaprof *a, struct fm_error *err)
{
    static const struct fm_field stall[FM_IAPROF_FIELDS] = {
        [FM_IAPROF_TIME] = {"time", FM_TYPE_TIME, "ns"},
        [FM_IAPROF_DUR] = {"dur", FM_TYPE_DUR, "ns"},
        [FM_IAPROF_INTERVAL] = {"interval", FM_TYPE_U64, NULL},
        [FM_IAPROF_STACK] = {"stack", FM_TYPE_STACK, NULL},
        [FM_IAPROF_THREAD] = {"thread", FM_TYPE_THREAD, NULL},
        [FM_IAPROF_COMM] = {"comm", FM_TYPE_STRING, NULL},
        [FM_IAPROF_COUNT] = {"count", FM_TYPE_U64, NULL},
        [FM_IAPROF_REASON] = {"reason", FM_TYPE_STRING, NULL},
        [FM_IAPROF_OFFSET] = {"offset", FM_TYPE_ADDRESS, NULL},
        [FM_IAPROF_KERNEL] = {"kernel", FM_TYPE_STRING, NULL},
        [FM_IAPROF_INSN] = {"insn", FM_TYPE_STRING, NULL},
        [FM_IAPROF_FILE] = {"file", FM_TYPE_STRING, NULL},
        [FM_IAPROF_ADDRESS] = {"address", FM_TYPE_ADDRESS, NULL},
        [FM_IAPROF_SHADER] = {"shader", FM_TYPE_STRING, NULL},
    };
    static const struct fm_field interval[INTERVAL_FIELDS] = {
        {"time", FM_TYPE_TIME, "ns"}, {"dur", FM_TYPE_DUR, "ns"}, {"end", FM_TYPE_TIME, "ns"},
        {"number", FM_TYPE_U64, NULL}, {"stalls", FM_TYPE_U64, NULL},
    };
    static const struct fm_field metric[METRIC_FIELDS] = {
        {"time", FM_TYPE_TIME, "ns"}, {"name", FM_TYPE_STRING, NULL}, {"value", FM_TYPE_U64, NULL},
    };
    static const struct fm_field frame[FRAME_FIELDS] = {
        {"time", FM_TYPE_TIME, "ns"}, {"dur", FM_TYPE_DUR, "ns"},
    };
    const uint64_t untimed = ((1u << FM_IAPROF_FIELDS) - 1) & ~(uint64_t)3;
    a->stall = declare(a, "stall", stall, FM_IAPROF_FIELDS);
    a->interval_class = declare(a, "interval", interval, INTERVAL_FIELDS);
    a->metric = declare(a, "metric", metric, METRIC_FIELDS);
    a->frame = declare(a, "frame", frame, FRAME_FIELDS);
    if (a->stall == -2 || a->interval_class == -2 || a->metric == -2 || a->frame == -2)
        return fm_error_nomem(err);
    if (a->stall < 0)
        return fm_error_set(err, FM_CONFIG, "the mapping '%s' has no rule for the class 'stall'",
                            fm_mapping_name(a->import->mapping));
    a->copies[0] = fm_class_copy(a->binding, a->stall, untimed, &a->copy[0]);
    a->copies[1] = fm_class_copy(a->binding, a->stall, untimed | 3, &a->copy[1]);
    return FM_OK;
}

/* ------------------------------------------------------------------ cells */

static uint64_t dur_of(const struct fm_iaprof_interval *i)
{
    return (uint64_t)(i->end - i->start);
}

static uint64_t value_of(const struct fm_iaprof *a, const struct fm_iaprof_cell *c, unsigned field)
{
    const struct fm_iaprof_site *site = &a->site[c->site];
    switch (field) {
    case FM_IAPROF_TIME: return (uint64_t)a->interval.start;
    case FM_IAPROF_DUR: return dur_of(&a->interval);
    case FM_IAPROF_INTERVAL: return a->interval.number;
    case FM_IAPROF_STACK: return c->node;
    case FM_IAPROF_THREAD: return site->thread;
    case FM_IAPROF_COMM: return site->comm;
    case FM_IAPROF_COUNT: return c->count;
    case FM_IAPROF_REASON: return c->reason;
    case FM_IAPROF_OFFSET: return c->offset;
    case FM_IAPROF_KERNEL: return site->kernel;
    case FM_IAPROF_INSN: return c->insn;
    case FM_IAPROF_FILE: return site->file;
    case FM_IAPROF_ADDRESS: return site->state.address;
    default: return site->shader;
    }
}

/* The values of a field for cells [0, n). */
static void fill(const struct fm_iaprof *a, const struct fm_iaprof_cell *c, size_t n,
                 unsigned field, uint64_t *out)
{
    size_t i;
    switch (field) {
    case FM_IAPROF_STACK:
        for (i = 0; i < n; i++)
            out[i] = c[i].node;
        return;
    case FM_IAPROF_COUNT:
        for (i = 0; i < n; i++)
            out[i] = c[i].count;
        return;
    case FM_IAPROF_REASON:
        for (i = 0; i < n; i++)
            out[i] = c[i].reason;
        return;
    case FM_IAPROF_OFFSET:
        for (i = 0; i < n; i++)
            out[i] = c[i].offset;
        return;
    case FM_IAPROF_INSN:
        for (i = 0; i < n; i++)
            out[i] = c[i].insn;
        return;
    default:
        break;
    }
    for (i = 0; i < n;) { /* the same for all cells of a site */
        uint64_t value = value_of(a, &c[i], field);
        uint32_t site = c[i].site;
        for (; i < n && c[i].site == site; i++)
            out[i] = value;
    }
}

static void copy_cells(struct fm_iaprof *a, const struct fm_class_copy *how)
{
    struct fm_builder *b = a->builder;
    for (size_t at = 0; at < a->cells;) {
        const struct fm_iaprof_cell *c = a->cell + at;
        size_t n = FM_MIN(a->cells - at, fm_rows_room(b));
        uint64_t *out = fm_rows_column(b, FM_COL_EVENT, n);
        for (size_t i = 0; out != NULL && i < n; i++)
            out[i] = how->event;
        for (size_t m = 0; m < how->moves; m++) {
            out = fm_rows_column(b, how->move[m].column, n);
            if (out != NULL)
                fill(a, c, n, how->move[m].field, out);
        }
        fm_rows_end(b, n);
        at += n;
    }
}

/* Fields of ids that may not be known, and those of classic layouts or fast mode alone. */
static bool has(const struct fm_iaprof *a, const struct fm_iaprof_cell *c, unsigned field)
{
    const struct fm_iaprof_state *s = &a->site[c->site].state;
    switch (field) {
    case FM_IAPROF_TIME:
    case FM_IAPROF_DUR:
        return a->interval.timed;
    case FM_IAPROF_INTERVAL:
        return a->interval.open;
    case FM_IAPROF_THREAD:
    case FM_IAPROF_COMM:
    case FM_IAPROF_KERNEL:
    case FM_IAPROF_INSN:
    case FM_IAPROF_FILE:
    case FM_IAPROF_SHADER:
    case FM_IAPROF_REASON:
        return value_of(a, c, field) != FM_NONE;
    case FM_IAPROF_ADDRESS:
        return s->known && s->fast;
    default:
        return true;
    }
}

static void add_cells(struct fm_iaprof *a)
{
    for (size_t i = 0; i < a->cells; i++) {
        uint64_t value[FM_IAPROF_FIELDS], present = 0;
        for (unsigned f = 0; f < FM_IAPROF_FIELDS; f++) {
            value[f] = value_of(a, &a->cell[i], f);
            present |= (uint64_t)has(a, &a->cell[i], f) << f;
        }
        fm_event(a->binding, a->stall, value, &present);
    }
}

static bool plain_address(const struct fm_class_copy *how)
{
    for (size_t m = 0; m < how->moves; m++)
        if (how->move[m].field == FM_IAPROF_ADDRESS || how->move[m].field == FM_IAPROF_INTERVAL)
            return false;
    return true;
}

static void flush_cells(struct fm_iaprof *a)
{
    unsigned timed = a->interval.timed;
    uint64_t in = 0;
    if (a->cells == 0)
        return;
    for (size_t i = 0; i < a->cells; i++)
        in = fm_add_sat_u64(in, a->cell[i].count);
    fm_account_in(a->builder, in);
    a->interval.stalls = fm_add_sat_u64(a->interval.stalls, in);
    if (!a->interval.open)
        fm_builder_diag(a->builder, FM_DIAG_IAPROF_OUTSIDE, FM_NO_OFFSET, a->cells);
    if (a->copies[timed] && plain_address(&a->copy[timed]))
        copy_cells(a, &a->copy[timed]);
    else
        add_cells(a);
    a->cells = 0;
}

bool fm_iaprof_room(struct fm_iaprof *a)
{
    size_t most = a->interval.first ? HELD : FM_BLOCK_ROWS;
    if (FM_UNLIKELY(a->cells + FM_COUNT(a->reason) > most)) {
        a->interval.first = false;      /* too long to wait for the end of it */
        flush_cells(a);
    }
    if (FM_LIKELY(a->cells + FM_COUNT(a->reason) <= a->cell_cap))
        return true;
    if (!fm_grow(a->mem, (void **)&a->cell, &a->cell_cap,
                 FM_MAX(a->cells + FM_COUNT(a->reason), FM_BLOCK_ROWS), sizeof *a->cell))
        a->oom = true;
    return !a->oom;
}

/* -------------------------------------------------------------- intervals */

void fm_iaprof_mark(struct fm_iaprof *a, fm_str name, uint64_t value, uint64_t offset)
{
    if (!fm_grow(a->mem, (void **)&a->mark, &a->mark_cap, a->marks + 1, sizeof *a->mark)) {
        a->oom = true;
        return;
    }
    a->mark[a->marks++] = (struct fm_iaprof_mark){value, offset, name};
}

static void add_event(struct fm_iaprof *a, int class_id, const char *name, const uint64_t *value,
                      uint64_t present, uint64_t offset)
{
    fm_binding_at(a->binding, offset);
    if (class_id >= 0)
        fm_event(a->binding, class_id, value, &present);
    else if (class_id == FM_CLASS_UNMAPPED)
        fm_event_unmapped(a->binding, name, offset);
    fm_binding_at(a->binding, FM_NO_OFFSET);
}

static void flush_marks(struct fm_iaprof *a)
{
    const struct fm_iaprof_interval *i = &a->interval;
    for (size_t k = 0; k < a->marks; k++) {
        const struct fm_iaprof_mark *m = &a->mark[k];
        uint64_t metric[METRIC_FIELDS] = {(uint64_t)i->end, m->name, m->value};
        uint64_t frame[FRAME_FIELDS] = {(uint64_t)i->start, dur_of(i)};
        if (m->name != FM_NONE)
            add_event(a, a->metric, "metric", metric, i->timed ? 7 : 6, m->offset);
        else
            add_event(a, a->frame, "frame", frame, i->timed ? 3 : 0, m->offset);
    }
    a->marks = 0;
}

static void end_interval(struct fm_iaprof *a)
{
    struct fm_iaprof_interval *i = &a->interval;
    flush_cells(a);
    flush_marks(a);
    if (i->open) {
        uint64_t value[INTERVAL_FIELDS] = {(uint64_t)i->start, dur_of(i), (uint64_t)i->end,
                                           i->number, FM_MIN(i->stalls, INT64_MAX)};
        add_event(a, a->interval_class, "interval", value, i->timed ? 31 : 24, FM_NO_OFFSET);
    }
    *i = (struct fm_iaprof_interval){.open = false};
}

void fm_iaprof_interval(struct fm_iaprof *a, uint64_t number, bool timed, int64_t time,
                        uint64_t offset)
{
    int64_t apart, start;
    if (a->interval.first && timed && time > a->interval.end &&
        !__builtin_sub_overflow(time, a->interval.end, &apart) &&
        !__builtin_sub_overflow(a->interval.end, apart, &start))
        a->interval.start = start;
    end_interval(a);
    a->interval = (struct fm_iaprof_interval){.open = true, .timed = timed, .number = number,
                                              .first = timed && !a->had_time,
                                              .start = time, .end = time};
    if (!timed)
        return;
    if (a->had_time && time < a->last_time)
        fm_builder_diag(a->builder, FM_DIAG_IAPROF_TIME, offset, 1);
    else if (a->had_time)
        a->interval.start = a->last_time;
    a->had_time = true;
    a->last_time = time;
}

void fm_iaprof_no_interval(struct fm_iaprof *a)
{
    end_interval(a);
}

void fm_iaprof_finish(struct fm_iaprof *a)
{
    end_interval(a);
}
