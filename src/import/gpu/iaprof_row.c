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
 * (fm_class_copy()); else one by one. Rows of the other classes wait until they fill a block, so
 * that blocks are of one event: a block of mixed events takes longer to store and to read.
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
    int *class = a->other_class;
    const uint64_t untimed = ((1u << FM_IAPROF_FIELDS) - 1) & ~(uint64_t)3;
    a->stall = declare(a, "stall", stall, FM_IAPROF_FIELDS);
    class[FM_IAPROF_MARK_INTERVAL] = declare(a, "interval", interval, INTERVAL_FIELDS);
    class[FM_IAPROF_MARK_METRIC] = declare(a, "metric", metric, METRIC_FIELDS);
    class[FM_IAPROF_MARK_FRAME] = declare(a, "frame", frame, FRAME_FIELDS);
    for (size_t i = 0; i < FM_IAPROF_MARKS; i++)
        if (a->stall == -2 || class[i] == -2)
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

/* What all cells of a site have in common; lanes are not asked here. */
static uint64_t site_value(const struct fm_iaprof *a, const struct fm_iaprof_site *site,
                           unsigned field)
{
    switch (field) {
    case FM_IAPROF_TIME: return (uint64_t)a->interval.start;
    case FM_IAPROF_DUR: return dur_of(&a->interval);
    case FM_IAPROF_INTERVAL: return a->interval.number;
    case FM_IAPROF_THREAD: return site->thread;
    case FM_IAPROF_COMM: return site->comm;
    case FM_IAPROF_KERNEL: return site->kernel;
    case FM_IAPROF_FILE: return site->file;
    case FM_IAPROF_ADDRESS: return site->state.address;
    default: return site->shader;
    }
}

/* The lane of a field; FM_IAPROF_LANES: none. */
static unsigned lane_of(unsigned field)
{
    switch (field) {
    case FM_IAPROF_COUNT: return FM_IAPROF_LANE_COUNT;
    case FM_IAPROF_OFFSET: return FM_IAPROF_LANE_OFFSET;
    case FM_IAPROF_STACK: return FM_IAPROF_LANE_NODE;
    case FM_IAPROF_REASON: return FM_IAPROF_LANE_REASON;
    case FM_IAPROF_INSN: return FM_IAPROF_LANE_INSN;
    default: return FM_IAPROF_LANES;
    }
}

/* Two values a store: as many are written here as anywhere. */
static void repeat(uint64_t *out, size_t n, uint64_t value)
{
    const uint64_t pair[2] = {value, value};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        memcpy(out + i, pair, sizeof pair);
        memcpy(out + i + 2, pair, sizeof pair);
    }
    for (; i < n; i++)
        out[i] = value;
}

/* The values of a field for cells [at, at + n); run *r has the first of them. */
static void fill(const struct fm_iaprof *a, size_t at, size_t n, unsigned field, size_t r,
                 uint64_t *out)
{
    const struct fm_iaprof_cells *c = &a->cells;
    unsigned lane = lane_of(field);
    if (lane < FM_IAPROF_LANES) {
        memcpy(out, c->lane[lane] + at, n * sizeof *out);
        return;
    }
    if (field <= FM_IAPROF_INTERVAL) {
        repeat(out, n, site_value(a, a->site, field)); /* the same for all */
        return;
    }
    for (size_t i = 0; i < n; r++) {
        uint64_t value = site_value(a, &a->site[c->run[r].site], field);
        size_t end = FM_MIN(c->run[r].end - at, n);
        repeat(out + i, end - i, value);
        i = end;
    }
}

static void copy_cells(struct fm_iaprof *a, const struct fm_class_copy *how)
{
    const struct fm_iaprof_cells *c = &a->cells;
    struct fm_builder *b = a->builder;
    for (size_t at = 0, r = 0; at < c->n;) {
        size_t n = FM_MIN(c->n - at, fm_rows_room(b));
        uint64_t *out = fm_rows_column(b, FM_COL_EVENT, n);
        while (c->run[r].end <= at)
            r++;
        if (out != NULL)
            repeat(out, n, how->event);
        for (size_t m = 0; m < how->moves; m++) {
            out = fm_rows_column(b, how->move[m].column, n);
            if (out != NULL)
                fill(a, at, n, how->move[m].field, r, out);
        }
        fm_rows_end(b, n);
        at += n;
    }
}

/* Fields of ids that may not be known, and those of classic layouts or fast mode alone. */
static bool has(const struct fm_iaprof *a, const struct fm_iaprof_site *site, unsigned field,
                uint64_t value)
{
    switch (field) {
    case FM_IAPROF_TIME:
    case FM_IAPROF_DUR:
        return a->interval.timed;
    case FM_IAPROF_INTERVAL:
        return a->interval.open;
    case FM_IAPROF_COUNT:
    case FM_IAPROF_OFFSET:
    case FM_IAPROF_STACK:
        return true;
    case FM_IAPROF_ADDRESS:
        return site->state.known && site->state.fast;
    default:
        return value != FM_NONE;
    }
}

static void add_cells(struct fm_iaprof *a)
{
    const struct fm_iaprof_cells *c = &a->cells;
    for (size_t i = 0, r = 0; i < c->n; i++) {
        const struct fm_iaprof_site *site;
        uint64_t value[FM_IAPROF_FIELDS], present = 0;
        while (c->run[r].end <= i)
            r++;
        site = &a->site[c->run[r].site];
        for (unsigned f = 0; f < FM_IAPROF_FIELDS; f++) {
            unsigned lane = lane_of(f);
            value[f] = lane < FM_IAPROF_LANES ? c->lane[lane][i] : site_value(a, site, f);
            present |= (uint64_t)has(a, site, f, value[f]) << f;
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
    struct fm_iaprof_cells *c = &a->cells;
    unsigned timed = a->interval.timed;
    fm_u128 sum = 0;
    uint64_t in;
    if (c->n == 0)
        return;
    for (size_t i = 0; i < c->n; i++)
        sum += c->lane[FM_IAPROF_LANE_COUNT][i];
    in = sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
    fm_account_in(a->builder, in);
    a->interval.stalls = fm_add_sat_u64(a->interval.stalls, in);
    if (!a->interval.open)
        fm_builder_diag(a->builder, FM_DIAG_IAPROF_OUTSIDE, FM_NO_OFFSET, c->n);
    if (a->copies[timed] && plain_address(&a->copy[timed]))
        copy_cells(a, &a->copy[timed]);
    else
        add_cells(a);
    c->n = 0;
    c->runs = 0;
}

/* All lanes as long as the first, and as many runs. */
static bool grow_cells(struct fm_iaprof *a, size_t need)
{
    struct fm_iaprof_cells *c = &a->cells;
    size_t cap = c->cap == 0 ? FM_BLOCK_ROWS : 2 * c->cap;
    while (cap < need)
        cap *= 2;
    for (size_t i = 0; i < FM_IAPROF_LANES; i++) {
        uint64_t *lane = fm_mem_realloc(a->mem, c->lane[i], c->cap * sizeof *lane,
                                        cap * sizeof *lane);
        if (lane == NULL) {
            for (; i > 0; i--) /* what is freed has one length */
                c->lane[i - 1] = fm_mem_realloc(a->mem, c->lane[i - 1], cap * sizeof *lane,
                                                c->cap * sizeof *lane);
            return false;
        }
        c->lane[i] = lane;
    }
    c->cap = cap;
    return true;
}

bool fm_iaprof_room(struct fm_iaprof *a)
{
    struct fm_iaprof_cells *c = &a->cells;
    c->most = a->interval.first ? HELD : FM_BLOCK_ROWS;
    if (c->n + 10 > c->most) {
        a->interval.first = false;      /* too long to wait for the end of it */
        flush_cells(a);
    }
    if ((c->n + 10 > c->cap && !grow_cells(a, c->n + 10)) ||
        !fm_grow(a->mem, (void **)&c->run, &c->run_cap, c->cap, sizeof *c->run))
        a->oom = true;
    return !a->oom;
}

void fm_iaprof_cells_release(struct fm_iaprof *a)
{
    struct fm_iaprof_cells *c = &a->cells;
    for (size_t i = 0; i < FM_IAPROF_LANES; i++)
        fm_mem_free(a->mem, c->lane[i], c->cap * sizeof *c->lane[i]);
    fm_mem_free(a->mem, c->run, c->run_cap * sizeof *c->run);
}

/* -------------------------------------------------------------- intervals */

void fm_iaprof_mark(struct fm_iaprof *a, enum fm_iaprof_mark_kind kind, fm_str name,
                    uint64_t value, uint64_t offset)
{
    if (!fm_grow(a->mem, (void **)&a->mark, &a->mark_cap, a->marks + 1, sizeof *a->mark)) {
        a->oom = true;
        return;
    }
    a->mark[a->marks++] = (struct fm_iaprof_mark){.kind = kind, .name = name, .value = value,
                                                  .offset = offset};
}

static void add_mark(struct fm_iaprof *a, const struct fm_iaprof_mark *m)
{
    static const char *const name[FM_IAPROF_MARKS] = {
        [FM_IAPROF_MARK_METRIC] = "metric", [FM_IAPROF_MARK_FRAME] = "frame",
        [FM_IAPROF_MARK_INTERVAL] = "interval",
    };
    const uint64_t start = (uint64_t)m->start, end = (uint64_t)m->end;
    const uint64_t metric[METRIC_FIELDS] = {end, m->name, m->value};
    const uint64_t frame[FRAME_FIELDS] = {start, end - start};
    const uint64_t interval[INTERVAL_FIELDS] = {start, end - start, end, m->number,
                                                FM_MIN(m->value, INT64_MAX)};
    static const uint64_t untimed[FM_IAPROF_MARKS] = {
        [FM_IAPROF_MARK_METRIC] = 6, [FM_IAPROF_MARK_FRAME] = 0, [FM_IAPROF_MARK_INTERVAL] = 24,
    };
    uint64_t present = untimed[m->kind];
    int class = a->other_class[m->kind];
    if (m->timed)
        present = m->kind == FM_IAPROF_MARK_METRIC ? 7 : m->kind == FM_IAPROF_MARK_FRAME ? 3 : 31;
    fm_binding_at(a->binding, m->offset);
    if (class >= 0)
        fm_event(a->binding, class, m->kind == FM_IAPROF_MARK_METRIC  ? metric
                                    : m->kind == FM_IAPROF_MARK_FRAME ? frame
                                                                      : interval, &present);
    else if (class == FM_CLASS_UNMAPPED)
        fm_event_unmapped(a->binding, name[m->kind], m->offset);
}

static void flush_marks(struct fm_iaprof *a)
{
    for (size_t k = 0; k < a->marks; k++)
        add_mark(a, &a->mark[k]);
    a->marks = 0;
    a->marks_before = 0;
    fm_binding_at(a->binding, FM_NO_OFFSET);
}

static void end_interval(struct fm_iaprof *a)
{
    struct fm_iaprof_interval *i = &a->interval;
    flush_cells(a);
    if (i->open)
        fm_iaprof_mark(a, FM_IAPROF_MARK_INTERVAL, FM_NONE, i->stalls, FM_NO_OFFSET);
    for (; a->marks_before < a->marks; a->marks_before++) {
        struct fm_iaprof_mark *m = &a->mark[a->marks_before];
        m->timed = i->timed;
        m->number = i->number;
        m->start = i->start;
        m->end = i->end;
    }
    if (a->marks >= FM_BLOCK_ROWS)
        flush_marks(a);
    *i = (struct fm_iaprof_interval){.open = false};
    a->cells.most = 0;                  /* the next one is asked how many may wait */
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
    flush_marks(a);
}
