/*
 * flow.c - what a pipe has at the moment: the rows of a selection, or a table.
 *
 *     fm_flow_take()   another pipe's rows or table, moved or copied, so that it may be changed
 *     fm_flow_table()  rows become a table: its header says what was selected
 *
 * Copies of rows have a bitmap, edited stacks and stacks by row of their own; what the view has of
 * frames (texts) is never changed, and shared. Copies of a table have its visible rows only.
 */
#include "query/plan.h"

#include "util/error.h"

/* --------------------------------------------------------------- the rows */

enum fm_status fm_flow_has_rows(struct fm_flow *flow, bool *some, struct fm_error *err)
{
    static const fm_column none[1] = { FM_COL_STACK };
    struct fm_scan scan;
    enum fm_status status = fm_scan_init(&scan, &flow->sel, none, 1, err);

    if (status != FM_OK)
        return status;
    do {
        *some = fm_scan_next(&scan);
    } while (*some && scan.n == 0);
    fm_scan_release(&scan);
    return FM_OK;
}

void fm_flow_warn(struct fm_flow *flow, const struct fm_step *step)
{
    struct fm_yaml_node at = { .type = FM_YAML_SCALAR, .text = step->at->key,
                               .line = step->at->key_line, .column = step->at->key_column,
                               .n = strlen(step->at->key) };

    if (flow->warned)
        return;
    fm_yaml_warn(fm_yaml_as(flow->c->log, FM_YAML_EMPTY), &at, "no rows are left after this '%s'",
                 step->at->key);
    flow->warned = true;
}

enum fm_status fm_flow_empty(struct fm_flow *flow, const struct fm_step *step,
                             struct fm_error *err)
{
    enum fm_status status;
    bool some;

    if (flow->warned)
        return FM_OK;
    status = fm_flow_has_rows(flow, &some, err);
    if (status == FM_OK && !some)
        fm_flow_warn(flow, step);
    return status;
}

/* --------------------------------------------------------------- the table */

/* Seconds of the time range, or else of the recording. */
static double window_of(const struct fm_flow *flow)
{
    int64_t start = 0, end = 0, from, to;

    if (!fm_store_start(flow->sel.store, &start, &end))
        return 0;
    from = FM_MAX(flow->window.from, 0);
    to = FM_MIN(flow->window.to, end - start);
    return to > from ? (double)(to - from) / 1e9 : 0;
}

static uint64_t period_of(const struct fm_selection *sel)
{
    uint64_t period = 0;
    bool some = false;

    for (size_t i = 0; i < fm_store_events(sel->store); i++) {
        const struct fm_event *e = fm_store_event_row(sel->store, i);
        if (!sel->event[i])
            continue;
        if (some && e->period != period)
            return 0;
        period = e->period;
        some = true;
    }
    return period;
}

static void describe(struct fm_flow *flow, struct fm_table *t)
{
    const struct fm_selection *sel = &flow->sel;

    t->event = fm_store_str(sel->store, sel->event_name, NULL);
    t->unit = fm_store_str(sel->store, sel->unit, NULL);
    t->weigh = flow->view.weigh != NULL ? flow->view.weigh->text
               : sel->weigh == FM_WEIGH_VALUE ? "value"
               : sel->weigh == FM_WEIGH_SAMPLES ? "samples"
               : fm_store_str(sel->store, fm_store_column_info(sel->store, sel->weigh_col)->name,
                              NULL);
    t->samples = flow->totals.samples;
    t->selected = flow->totals.selected;
    t->all = flow->totals.all;
    t->window = flow->totals.window = window_of(flow);
    t->period = period_of(sel);
}

struct fm_table *fm_flow_table(struct fm_flow *flow, const struct fm_step *step)
{
    fm_assert(!flow->tabled);
    fm_table_init(&flow->table, &flow->c->ctx->mem, flow->sel.store, step->schema);
    describe(flow, &flow->table);
    flow->tabled = true;
    return &flow->table;
}

void fm_flow_like(const struct fm_flow *flow, const struct fm_step *step, struct fm_table *t)
{
    const struct fm_table *from = &flow->table;

    fm_table_init(t, from->mem, from->store, step->schema);
    t->event = from->event;
    t->unit = from->unit;
    t->weigh = from->weigh;
    t->note = from->note;
    t->samples = from->samples;
    t->selected = from->selected;
    t->all = from->all;
    t->window = from->window;
    t->period = from->period;
    t->base = from->base;
    t->bases = from->bases;
}

void fm_flow_replace(struct fm_flow *flow, struct fm_table *t)
{
    fm_table_release(&flow->table);
    flow->table = *t;
}

/* -------------------------------------------------------------- other pipes */

static enum fm_status copy_rows(struct fm_flow *flow, const struct fm_flow *from,
                                struct fm_error *err)
{
    const struct fm_stacks *stacks;
    enum fm_status status = fm_selection_copy(&flow->sel, &from->sel, err);

    if (status != FM_OK)
        return status;
    flow->view = from->view;          /* parts, too: the other pipe keeps them */
    if (from->view.of_row != NULL) {
        size_t bytes = (from->view.rows + 1) * sizeof *from->view.of_row;
        flow->view.of_row = fm_arena_alloc(flow->c->arena, bytes);
        if (flow->view.of_row == NULL)
            return fm_error_nomem(err);
        memcpy(flow->view.of_row, from->view.of_row, bytes);
    }
    stacks = flow->sel.stacks;
    if (stacks != NULL) {
        flow->view.node = stacks->node;
        flow->view.frame = stacks->frame;
        flow->view.of_tree = stacks->of_tree;
    }
    return FM_OK;
}

enum fm_status fm_flow_take(struct fm_flow *flow, struct fm_pipe *from, struct fm_error *err)
{
    struct fm_flow *other = from->flow;
    bool move = from->users == 1;

    flow->window = other->window;
    flow->totals = other->totals;
    flow->warned = other->warned;
    flow->woven = other->woven;
    if (other->tabled && move) {
        flow->table = other->table;
        other->tabled = false;
    } else if (other->tabled && !fm_table_copy(&flow->table, &other->table)) {
        fm_table_release(&flow->table);
        return fm_error_nomem(err);
    }
    if (from->shape == FM_SHAPE_TABLE) {
        flow->tabled = true;
        return FM_OK;
    }
    if (!move)
        return copy_rows(flow, other, err);
    flow->sel = other->sel;
    flow->view = other->view;
    memset(&other->sel, 0, sizeof other->sel);
    return FM_OK;
}

enum fm_status fm_flow_weigh(struct fm_flow *flow, struct fm_error *err)
{
    enum fm_status status;
    uint64_t rows;

    if (flow->tabled) {
        flow->totals.weight = flow->table.selected;
        return FM_OK;
    }
    status = fm_rows_sum(flow->c, &flow->sel, &flow->view, &rows, err);
    flow->totals.weight = (fm_i128)flow->sel.weight;
    return status;
}

void fm_flow_release(struct fm_flow *flow)
{
    if (flow->tabled)
        fm_table_release(&flow->table);
    fm_map_release(&flow->parts);
    fm_selection_release(&flow->sel);
    flow->tabled = false;
}
