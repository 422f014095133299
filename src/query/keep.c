/*
 * keep.c - the rows that a query ends with, as a selection that exporters read without the query.
 *
 *     the query's view                          the selection
 *     weigh: EXPR, clipped spans, their parts   row_weight   what each row weighs
 *     stacks row by row (of_row)                row_node     each row's node of `stacks`
 *     pseudo frames woven around the stacks     as they were: prepend, append
 *
 * Pseudo frames are taken off again when no step has edited the stacks behind them: exporters add
 * them as they like, as annotations or not at all. Else they stay frames of the stacks. The rest of
 * the view is the selection's already: rows, stacks by node, weights by column.
 */
#include "query/plan.h"
#include "query/stacks.h"

#include "util/error.h"

void fm_kept_free(struct fm_selection *kept)
{
    struct fm_mem *mem = kept == NULL ? NULL : kept->mem;

    if (kept == NULL)
        return;
    fm_selection_release(kept);
    fm_mem_free(mem, kept, sizeof *kept);
}

/* Whether the rows weigh anything else than a column of the store. */
static bool weighs_otherwise(const struct fm_flow *flow)
{
    const struct fm_view *v = &flow->view;

    return v->weigh != NULL || v->clip != NULL
           || (v->parts != NULL && flow->sel.weigh == FM_WEIGH_VALUE);
}

/* What the selected rows weigh, by row; *own: the same as they have in the store. */
static enum fm_status read_weights(struct fm_flow *flow, uint64_t *weight, bool *own,
                                   struct fm_error *err)
{
    struct fm_reader r;
    enum fm_status status;
    size_t slot;

    *own = flow->view.weigh == NULL && flow->sel.weigh == FM_WEIGH_VALUE;
    fm_reader_init(&r, flow->c, &flow->view, &flow->sel);
    fm_reader_need_weight(&r);
    if (r.cols < FM_SCAN_COLUMNS)
        r.col[r.cols++] = FM_COL_WEIGHT;
    status = fm_reader_start(&r, err);
    if (status != FM_OK)
        return status;
    slot = fm_scan_find(&r.scan, FM_COL_WEIGHT);
    while (fm_reader_next(&r)) {
        for (uint32_t i = 0; i < r.scan.n; i++) {
            uint32_t place = r.scan.live[i];
            uint64_t w = fm_reader_weight(&r, place);

            weight[r.scan.first_row + place] = w;
            *own = *own && slot != SIZE_MAX && w == r.scan.value[slot][place];
        }
    }
    fm_reader_release(&r);
    return FM_OK;
}

static enum fm_status keep_weights(struct fm_flow *flow, struct fm_selection *kept,
                                   struct fm_error *err)
{
    size_t bytes = fm_store_rows(kept->store) * sizeof *kept->row_weight;
    uint64_t *weight = fm_mem_zalloc(kept->mem, bytes);
    enum fm_status status;
    bool own = false;

    if (weight == NULL)
        return fm_error_nomem(err);
    status = read_weights(flow, weight, &own, err);
    if (status != FM_OK || own) {
        fm_mem_free(kept->mem, weight, bytes);
        return status;
    }
    kept->row_weight = weight;
    kept->weigh = FM_WEIGH_VALUE;
    kept->weigh_col = FM_COL_WEIGHT;
    return FM_OK;
}

/* Rows that an edit drops are not selected any more. */
static void drop(struct fm_selection *kept, uint64_t row)
{
    kept->row_node[row] = 0;
    if (kept->rows != NULL)
        kept->rows[row / 64] &= ~(UINT64_C(1) << (row % 64));
}

static enum fm_status keep_nodes(const struct fm_view *v, struct fm_selection *kept,
                                 struct fm_error *err)
{
    uint64_t rows = fm_store_rows(kept->store);
    enum fm_status status;
    bool drops = false;

    for (uint64_t r = 0; r < rows && !drops; r++)
        drops = v->of_row[r] == FM_NONE;
    if (drops && !fm_selection_own_rows(kept))
        return fm_error_nomem(err);
    if (drops) {                       /* the bitmap alone is to count: see drop() */
        status = fm_selection_settle(kept, err);
        if (status != FM_OK)
            return status;
    }
    kept->row_node = fm_mem_alloc(kept->mem, rows * sizeof *kept->row_node);
    if (kept->row_node == NULL)
        return fm_error_nomem(err);
    memcpy(kept->row_node, v->of_row, rows * sizeof *kept->row_node);
    for (uint64_t r = 0; r < rows && drops; r++)
        if (kept->row_node[r] == FM_NONE)
            drop(kept, r);
    kept->prepends = kept->appends = 0;    /* they are frames now */
    return FM_OK;
}

enum fm_status fm_flow_keep(struct fm_flow *flow, struct fm_selection **kept,
                            struct fm_error *err)
{
    struct fm_selection *sel = fm_mem_alloc(&flow->c->ctx->mem, sizeof *sel);
    enum fm_status status;

    *kept = NULL;
    if (sel == NULL)
        return fm_error_nomem(err);
    status = fm_selection_copy(sel, &flow->sel, err);
    if (status != FM_OK) {
        fm_mem_free(&flow->c->ctx->mem, sel, sizeof *sel);
        return status;
    }
    if (weighs_otherwise(flow))
        status = keep_weights(flow, sel, err);
    if (status == FM_OK && flow->woven && sel->stacks != NULL) {
        fm_stacks_free(sel, sel->stacks);
        sel->stacks = NULL;
    } else if (status == FM_OK && flow->view.of_row != NULL) {
        status = keep_nodes(&flow->view, sel, err);
    }
    if (status == FM_OK)
        status = fm_selection_settle(sel, err);
    if (status == FM_OK)
        status = fm_selection_sum(sel, err);
    if (status != FM_OK)
        fm_kept_free(sel);
    else
        *kept = sel;
    return status;
}
