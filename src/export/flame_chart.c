/*
 * flame_chart.c - rows in time order as boxes: what ran when, one lane a thread, CPU or GPU queue.
 *
 *     spans     [ts, ts + dur), each above the innermost span of its lane that is open then
 *     samples   a stack holds until the next sample of the lane; neighbours that share frames,
 *               root first, share boxes
 *
 *           work ████████            ██████     the second half of a span that reaches out of
 *           main ███████████   ·   █████████    its parent stands above nothing
 *                ts  ts  ts  (gap)  ts  ts
 *
 * A lane's samples that are further apart than the gap leave one: the sample before it holds for
 * one usual distance (the median of all). Without times (folded stacks) rows stand in their order,
 * as wide as their weights, in one lane on a common root.
 *
 * Rows of spans and samples in one thread make two lanes. Parts, counters and instants have no
 * extent and are no boxes; rows without a time in a profile with times are counted in the subtitle.
 */
#include "export/flame.h"
#include "export/timeline.h"

#include "util/error.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define DUR 0
#define CPU 1
#define GAP 3                        /* usual distances that samples may lie apart */

struct open {
    fm_str label;
    double start;
};

/* A row and what its lane is sorted by. */
struct entry {
    uint64_t lane;                   /* thread, or CPU; UINT64_MAX: none */
    uint32_t place;
};

/* A span or sample of the lane in work. */
struct piece {
    int64_t from, to;
    uint32_t place;
};

struct charter {
    struct fm_flame *f;
    const struct fm_selection *sel;
    struct fm_mem *mem;
    struct fm_timeline line;
    const struct fm_tree_node *tree;
    fm_str *label;                   /* by frame */
    size_t frames;
    bool by_cpu;
    struct entry *entry;
    struct piece *piece;             /* of the current lane's samples or spans */
    size_t pieces;
    int64_t origin, end, gap, usual;
    uint64_t untimed;
    /* the lane in work */
    struct open *open;
    size_t opens, open_cap;
    double now;                      /* where the open boxes reach to */
    double *until;                   /* spans: end by row */
    size_t until_cap;
    fm_str *stack;
    size_t stack_n, stack_cap;
    uint32_t rows;
};

static const struct fm_timeline_row *row_at(const struct charter *c, uint32_t place)
{
    return fm_timeline_at(&c->line, place);
}

static bool has_time(const struct fm_timeline_row *row)
{
    return row->ts != INT64_MIN;
}

static bool has_dur(const struct fm_timeline_row *row)
{
    return (row->has >> DUR & 1) && (int64_t)row->extra[DUR] > 0;
}

static enum fm_kind kind_of(const struct charter *c, const struct fm_timeline_row *row)
{
    return fm_store_event_row(c->sel->store, row->event)->kind;
}

static bool is_span(const struct charter *c, const struct fm_timeline_row *row)
{
    enum fm_kind kind = kind_of(c, row);
    return (kind == FM_KIND_SPAN || kind == FM_KIND_ASYNC || kind == FM_KIND_STATE) &&
           has_dur(row);
}

static bool is_sample(const struct charter *c, const struct fm_timeline_row *row)
{
    return kind_of(c, row) == FM_KIND_SAMPLE;
}

static int64_t end_of(const struct fm_timeline_row *row)
{
    int64_t end;
    if (!has_dur(row))
        return row->ts;
    return fm_add_i64(row->ts, (int64_t)row->extra[DUR], &end) ? end : INT64_MAX;
}

/* Times of an input may be any: their distance fits 64 bits without a sign. */
static uint64_t apart(int64_t from, int64_t to)
{
    return (uint64_t)to - (uint64_t)from;
}

static double since(const struct charter *c, int64_t ts)
{
    return (double)apart(c->origin, ts);
}

/* ------------------------------------------------------------------ boxes */

static bool add_box(struct charter *c, fm_str label, uint32_t row, double from, double to)
{
    struct fm_flame_box box = {.start = from, .width = to - from, .row = row,
                               .lane = (uint32_t)c->f->lanes, .label = label};
    if (box.width <= 0)
        return true;
    if (box.width < c->f->least) {
        c->f->left_out = true;
        return true;
    }
    box.weight = (fm_u128)(box.width + 0.5);
    c->rows = FM_MAX(c->rows, row + 1);
    return fm_flame_add(c->f, &box);
}

/* Closes the open boxes from a depth on, where they reach to. */
static bool close_boxes(struct charter *c, size_t depth)
{
    while (c->opens > depth) {
        struct open *o = &c->open[--c->opens];
        if (!add_box(c, o->label, (uint32_t)c->opens, o->start, c->now))
            return false;
    }
    return true;
}

/* A stack holds from here to there. */
static bool feed(struct charter *c, double from, double to)
{
    size_t same = 0;
    if (from > c->now && !close_boxes(c, 0))
        return false;
    while (same < c->opens && same < c->stack_n && c->open[same].label == c->stack[same])
        same++;
    if (!close_boxes(c, same) ||
        !fm_grow(c->mem, (void **)&c->open, &c->open_cap, c->stack_n + 1, sizeof *c->open))
        return false;
    for (; c->opens < c->stack_n; c->opens++)
        c->open[c->opens] = (struct open){c->stack[c->opens], from};
    c->now = FM_MAX(c->now, to);
    return true;
}

/* The labels of a row, root first. */
static bool make_stack(struct charter *c, const struct fm_timeline_row *row)
{
    const fm_str *text = c->line.texts > 0 ? c->line.text + row->texts * c->line.texts : NULL;
    size_t depth = c->tree[row->node].depth, k;
    uint32_t node = row->node;
    c->stack_n = 0;
    if (!fm_grow(c->mem, (void **)&c->stack, &c->stack_cap, depth + c->line.texts + 1,
                 sizeof *c->stack))
        return false;
    for (k = 0; text != NULL && k < c->line.prepends; k++) {
        if (text[k] != FM_PSEUDO_SKIP)
            c->stack[c->stack_n++] = text[k];
    }
    for (k = depth; k > 0; k--) {
        c->stack[c->stack_n + k - 1] = c->label[c->tree[node].frame];
        node = c->tree[node].parent;
    }
    c->stack_n += depth;
    for (k = c->line.prepends; text != NULL && k < c->line.texts; k++) {
        if (text[k] != FM_PSEUDO_SKIP)
            c->stack[c->stack_n++] = text[k];
    }
    return true;
}

/* ------------------------------------------------------------------ lanes */

static fm_str name_lane(struct charter *c, uint64_t lane, bool second)
{
    struct fm_store *store = c->sel->store;
    struct fm_out out;
    fm_str name = FM_NONE;
    if (fm_out_init(&out, c->mem, NULL) != FM_OK)
        return FM_NONE;
    if (lane == UINT64_MAX)
        fm_out_text(&out, c->by_cpu ? "no cpu" : "no thread");
    else if (c->by_cpu)
        fm_out_printf(&out, "cpu %" PRIu64, lane);
    else
        fm_timeline_thread(store, (fm_thread)lane, &out);
    if (second)
        fm_out_text(&out, ", samples");
    if (out.status == FM_OK)
        name = fm_store_str_add(store, out.buf, out.n);
    fm_out_release(&out);
    return name;
}

static bool end_lane(struct charter *c, uint64_t lane, bool second, size_t boxes)
{
    fm_str name;
    if (c->f->boxes == boxes)
        return true;
    name = name_lane(c, lane, second);
    return name != FM_NONE && fm_flame_add_lane(c->f, name, c->rows);
}

/* Spans by start, the longest first: each goes above those that are open. */
static bool put_spans(struct charter *c, uint64_t lane)
{
    size_t boxes = c->f->boxes, n = 0;
    c->rows = 0;
    for (size_t i = 0; i < c->pieces; i++) {
        const struct piece *piece = &c->piece[i];
        const struct fm_timeline_row *row = row_at(c, piece->place);
        double from = since(c, piece->from), to = since(c, piece->to);
        fm_str label = row->node == 0 ? fm_store_event_row(c->sel->store, row->event)->name
                                      : c->label[c->tree[row->node].frame];
        while (n > 0 && c->until[n - 1] <= from)
            n--;
        if (!fm_grow(c->mem, (void **)&c->until, &c->until_cap, n + 1, sizeof *c->until) ||
            !add_box(c, label, (uint32_t)n, from, to))
            return false;
        c->until[n++] = to;
    }
    return end_lane(c, lane, false, boxes);
}

static bool put_samples(struct charter *c, uint64_t lane, bool second)
{
    size_t boxes = c->f->boxes;
    c->rows = 0;
    c->opens = 0;
    c->now = -1;
    for (size_t i = 0; i < c->pieces; i++) {
        const struct piece *piece = &c->piece[i];
        int64_t from = piece->from, to = piece->to;
        if (to == from) {
            bool near = i + 1 < c->pieces && apart(from, piece[1].from) <= (uint64_t)c->gap;
            to = near ? piece[1].from : from + (int64_t)FM_MIN((uint64_t)c->usual,
                                                               apart(from, c->end));
        }
        if (!make_stack(c, row_at(c, piece->place)) ||
            !feed(c, since(c, from), since(c, to)))
            return false;
    }
    return close_boxes(c, 0) && end_lane(c, lane, second, boxes);
}

/* The places of the lane's spans or samples among entries [from, to). */
static void pick(struct charter *c, size_t from, size_t to, bool spans)
{
    c->pieces = 0;
    for (size_t i = from; i < to; i++) {
        const struct fm_timeline_row *row = row_at(c, c->entry[i].place);
        if (has_time(row) && (spans ? is_span(c, row) : is_sample(c, row)))
            c->piece[c->pieces++] = (struct piece){row->ts, end_of(row), c->entry[i].place};
    }
}

/* Of equal starts the longer span first, so that the shorter lies on it. */
static int outer_first(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to > y->to ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static bool put_lanes(struct charter *c)
{
    size_t from = 0, to;
    for (; from < c->line.rows; from = to) {
        uint64_t lane = c->entry[from].lane;
        bool both;
        for (to = from; to < c->line.rows && c->entry[to].lane == lane; to++)
            ;
        pick(c, from, to, true);
        if (c->pieces > 0)
            qsort(c->piece, c->pieces, sizeof *c->piece, outer_first);
        both = c->pieces > 0;
        if (both && !put_spans(c, lane))
            return false;
        pick(c, from, to, false);
        if (c->pieces > 0 && !put_samples(c, lane, both))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ times */

static int by_lane(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static uint64_t lane_of(const struct charter *c, const struct fm_timeline_row *row)
{
    if (c->by_cpu)
        return row->has >> CPU & 1 ? row->extra[CPU] : UINT64_MAX;
    return row->thread == FM_NONE ? UINT64_MAX : row->thread;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The median distance of samples of one lane; 1 when there is none. */
static bool find_usual(struct charter *c)
{
    size_t n = 0;
    int64_t *d = fm_mem_alloc(c->mem, c->line.rows * sizeof *d), last = 0;
    uint64_t lane = 0;
    if (d == NULL)
        return false;
    for (size_t i = 0; i < c->line.rows; i++) {
        const struct fm_timeline_row *row = row_at(c, c->entry[i].place);
        if (!has_time(row) || !is_sample(c, row))
            continue;
        if (i > 0 && lane == c->entry[i].lane && row->ts > last)
            d[n++] = (int64_t)FM_MIN(apart(last, row->ts), (uint64_t)INT64_MAX);
        lane = c->entry[i].lane;
        last = row->ts;
    }
    if (n > 0)
        qsort(d, n, sizeof *d, by_size);
    c->usual = n > 0 ? d[n / 2] : 1;
    fm_mem_free(c->mem, d, c->line.rows * sizeof *d);
    return true;
}

/* First and last time; false: no row has one. */
static bool find_range(struct charter *c)
{
    bool any = false;
    c->untimed = 0;
    for (size_t i = 0; i < c->line.rows; i++) {
        const struct fm_timeline_row *row = row_at(c, (uint32_t)i);
        if (!has_time(row)) {
            c->untimed += kind_of(c, row) == FM_KIND_SPAN || is_span(c, row) || is_sample(c, row);
            continue;
        }
        if (!is_span(c, row) && !is_sample(c, row))
            continue;
        c->origin = any ? FM_MIN(c->origin, row->ts) : row->ts;
        c->end = any ? FM_MAX(c->end, end_of(row)) : end_of(row);
        any = true;
    }
    return any;
}

/* A gap as asked, or by the samples themselves. */
static enum fm_status choose_gap(struct charter *c, struct fm_error *err)
{
    const char *text = fm_export_setting(c->f->export, "gap");
    int64_t product;
    if (!find_usual(c))
        return fm_error_nomem(err);
    c->gap = __builtin_mul_overflow(c->usual, (int64_t)GAP, &product) ? INT64_MAX : product;
    if (text != NULL && (!fm_text_time(text, strlen(text), &c->gap) || c->gap < 0))
        return fm_error_set(err, FM_CONFIG, "setting gap: '%s' is no time", text);
    c->usual = FM_MIN(c->usual, FM_MAX(c->gap, 1));
    if (!fm_add_i64(c->end, c->usual, &c->end)) /* the last sample holds, too */
        c->end = INT64_MAX;
    return FM_OK;
}

static enum fm_status chart_times(struct charter *c, struct fm_error *err)
{
    struct fm_flame *f = c->f;
    enum fm_status status;
    for (size_t i = 0; i < c->line.rows; i++)
        c->entry[i] = (struct entry){lane_of(c, row_at(c, (uint32_t)i)), (uint32_t)i};
    if (c->by_cpu)
        qsort(c->entry, c->line.rows, sizeof *c->entry, by_lane);
    status = choose_gap(c, err);
    if (status != FM_OK)
        return status;
    f->timed = true;
    f->total = since(c, c->end);
    f->whole = (fm_u128)f->total;
    status = fm_flame_scale(f, err);
    if (status == FM_OK && !put_lanes(c))
        status = fm_error_nomem(err);
    if (c->untimed > 0 && f->subtitle == NULL) {
        (void)snprintf(f->note, sizeof f->note, "%" PRIu64 " rows without a time are left out",
                       c->untimed);
        f->subtitle = f->note;
    }
    return status;
}

/* Rows in their order, as wide as their weights. */
static bool chart_order(struct charter *c)
{
    struct fm_flame_box root = {.width = c->f->total, .label = FM_NONE, .weight = c->f->whole};
    double at = 0;
    c->rows = 1;
    if (!fm_flame_add(c->f, &root))
        return false;
    for (size_t i = 0; i < c->line.rows; i++) {
        const struct fm_timeline_row *row = row_at(c, (uint32_t)i);
        if (!make_stack(c, row) || !feed(c, at, at + (double)row->weight))
            return false;
        at += (double)row->weight;
    }
    if (!close_boxes(c, 0))
        return false;
    for (size_t i = 1; i < c->f->boxes; i++)
        c->f->box[i].row++;
    return fm_flame_add_lane(c->f, FM_NONE, c->rows + (c->f->boxes > 1));
}

/* ------------------------------------------------------------------ whole */

static enum fm_status choose_lanes(struct charter *c, struct fm_error *err)
{
    const char *lanes = fm_export_setting(c->f->export, "lanes");
    c->by_cpu = lanes != NULL && strcmp(lanes, "cpu") == 0;
    if (lanes != NULL && !c->by_cpu && strcmp(lanes, "thread") != 0)
        return fm_error_set(err, FM_CONFIG, "setting lanes: '%s' is neither thread nor cpu", lanes);
    return FM_OK;
}

/* The name of a lane tells the thread, so that only lanes of CPUs, and rows without times, have
 * frames for it. */
static enum fm_status read_rows(struct charter *c, const struct fm_names *names, bool around,
                                struct fm_error *err)
{
    static const fm_column extra[] = {[DUR] = FM_COL_DUR, [CPU] = FM_COL_CPU};
    enum fm_status status = fm_timeline_make(&c->line, c->sel, around ? names : NULL, extra,
                                             FM_COUNT(extra), !around, err);
    if (status == FM_OK && c->line.rows >= FM_NONE) {
        fm_timeline_release(&c->line);
        status = fm_error_nomem(err);
    }
    return status;
}

static enum fm_status chart(struct charter *c, const struct fm_names *names, struct fm_error *err)
{
    struct fm_flame *f = c->f;
    enum fm_status status = read_rows(c, names, c->by_cpu, err);
    bool timed;
    if (status != FM_OK)
        return status;
    timed = find_range(c);
    if (!timed && !c->by_cpu) {
        fm_timeline_release(&c->line);
        status = read_rows(c, names, true, err);
        if (status != FM_OK)
            return status;
    }
    c->entry = fm_mem_alloc(c->mem, c->line.rows * sizeof *c->entry);
    c->piece = fm_mem_alloc(c->mem, c->line.rows * sizeof *c->piece);
    if (c->entry == NULL || c->piece == NULL) {
        status = fm_error_nomem(err);
    } else if (timed) {
        status = chart_times(c, err);
    } else {
        f->whole = f->export->sel->weight;
        f->total = (double)f->whole;
        status = fm_flame_scale(f, err);
        if (status == FM_OK && !(f->total > 0 ? chart_order(c) : fm_flame_add_lane(f, FM_NONE, 1)))
            status = fm_error_nomem(err);
    }
    if (status == FM_OK && f->rows == 0)
        f->rows = 1;
    fm_mem_free(c->mem, c->entry, c->line.rows * sizeof *c->entry);
    fm_mem_free(c->mem, c->piece, c->line.rows * sizeof *c->piece);
    fm_timeline_release(&c->line);
    return status;
}

enum fm_status fm_flame_chart(struct fm_flame *f, struct fm_error *err)
{
    struct charter c = {.f = f, .sel = f->export->sel, .mem = &f->export->ctx->mem, .now = 0};
    struct fm_names names = f->export->names;
    size_t nodes;
    enum fm_status status = choose_lanes(&c, err);
    names.annotate = true;               /* colours go by it */
    c.tree = fm_selection_tree(c.sel, &nodes);
    if (status == FM_OK)
        status = fm_selection_labels(c.sel, &names, &c.label, &c.frames, err);
    if (status == FM_OK)
        status = chart(&c, &names, err);
    if (c.label != NULL)
        fm_mem_free(c.mem, c.label, c.frames * sizeof *c.label);
    fm_mem_free(c.mem, c.open, c.open_cap * sizeof *c.open);
    fm_mem_free(c.mem, c.until, c.until_cap * sizeof *c.until);
    fm_mem_free(c.mem, c.stack, c.stack_cap * sizeof *c.stack);
    return status;
}
