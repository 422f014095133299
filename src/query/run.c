/*
 * run.c - a query run on a store: selection, filters, steps, result.
 *
 *     select (event, weight) -> steps compiled with the store's names (plan.c) -> command line's
 *     filters -> row steps and stack edits on the selection -> group -> table steps
 *     -> struct fm_result
 *
 * Denominators of shares: `all` is the weight of the selected event before any filter, `selected`
 * what is left after the row steps; rows that a root or leaf edit drops still count in it. Views of
 * many events (from.c) choose no event, and `all` is the weight of their rows.
 */
#include "query/plan.h"
#include "query/query.h"
#include "query/stacks.h"

#include "util/error.h"

/* --------------------------------------------------------------- the rows */

static enum fm_status has_rows(struct fm_flow *flow, bool *some, struct fm_error *err)
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

enum fm_status fm_flow_empty(struct fm_flow *flow, const struct fm_step *step,
                             struct fm_error *err)
{
    struct fm_yaml_node at = { .type = FM_YAML_SCALAR, .text = step->at->key };
    enum fm_status status;
    bool some;

    if (flow->warned)
        return FM_OK;
    status = has_rows(flow, &some, err);
    if (status != FM_OK || some)
        return status;
    at.line = step->at->key_line;
    at.column = step->at->key_column;
    at.n = strlen(step->at->key);
    fm_yaml_warn(fm_yaml_as(flow->c->log, FM_YAML_EMPTY), &at, "no rows are left after this '%s'",
                 step->at->key);
    flow->warned = true;
    return FM_OK;
}

/* The same of the options that choose samples, which stand in no file. */
static enum fm_status warn_when_filtered(struct fm_flow *flow, struct fm_error *err)
{
    const struct fm_select_options *select = flow->pipe->plan->select;
    enum fm_status status;
    bool some;

    if (select == NULL || select->filters == 0)
        return FM_OK;
    status = has_rows(flow, &some, err);
    if (status != FM_OK || some)
        return status;
    fm_yaml_warn(fm_yaml_as(flow->c->log, FM_YAML_EMPTY), NULL,
                 "no rows are left after the options that choose samples");
    flow->warned = true;
    return FM_OK;
}

/* --------------------------------------------------------------- the table */

static void describe(const struct fm_flow *flow, struct fm_table *t)
{
    const struct fm_selection *sel = &flow->sel;

    t->event = fm_store_str(sel->store, sel->event_name, NULL);
    t->unit = fm_store_str(sel->store, sel->unit, NULL);
    t->weigh = sel->weigh == FM_WEIGH_VALUE ? "value"
               : sel->weigh == FM_WEIGH_SAMPLES ? "samples"
               : fm_store_str(sel->store, fm_store_column_info(sel->store, sel->weigh_col)->name,
                              NULL);
    t->samples = flow->totals.samples;
    t->selected = flow->totals.selected;
    t->all = flow->totals.all;
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
    t->base = from->base;
    t->bases = from->bases;
}

void fm_flow_replace(struct fm_flow *flow, struct fm_table *t)
{
    fm_table_release(&flow->table);
    flow->table = *t;
}

/* --------------------------------------------------------------- the steps */

static enum fm_status start_rows(struct fm_flow *flow, struct fm_error *err)
{
    const struct fm_select_options *select = flow->pipe->plan->select;
    struct fm_compile *c = flow->c;
    enum fm_status status = FM_OK;
    uint64_t rows;

    if (c->from != FM_FROM_SAMPLES) {
        status = fm_rows_sum(c, &flow->sel, &flow->view, &rows, err);
        flow->sel.weight_all = flow->sel.weight;
    }
    flow->totals.all = (fm_i128)flow->sel.weight_all;
    if (status == FM_OK) {
        status = fm_filters_run(c, &flow->sel, &flow->view, select, &flow->window, err);
        c->log->file = flow->pipe->q->file;
    }
    if (status == FM_OK)
        status = warn_when_filtered(flow, err);
    return status == FM_OK ? fm_stacks_pseudo(c, &flow->sel, &flow->view, err) : status;
}

/* Labels that were left out at import are an error, never null. */
static enum fm_status check_imported(const struct fm_compile *c, const struct fm_store *store,
                                     struct fm_error *err)
{
    for (size_t i = 0; i < c->operands; i++) {
        const struct fm_operand *o = c->operand[i];

        if (o->place == FM_AT_COLUMN && fm_store_column_info(store, o->id)->asked)
            return fm_column_not_imported(store, o->id, err);
    }
    return FM_OK;
}

static enum fm_status run_pipe(struct fm_pipe *pipe, struct fm_error *err)
{
    struct fm_flow *flow = pipe->flow;
    enum fm_status status = check_imported(flow->c, flow->sel.store, err);

    if (status == FM_OK)
        status = start_rows(flow, err);
    for (size_t i = 0; i < pipe->steps && status == FM_OK; i++)
        status = pipe->step[i].type->run(flow, &pipe->step[i], err);
    if (status == FM_OK && !flow->table.sorted)
        status = fm_table_sort(&flow->table, NULL, 0, err);
    return status;
}

/* --------------------------------------------------------------- the result */

static enum fm_status make_result(struct fm_pipe *pipe, struct fm_result **result,
                                  struct fm_error *err)
{
    struct fm_result *made = fm_result_new(&pipe->plan->ctx->mem);
    enum fm_status status;

    if (made == NULL)
        return fm_error_nomem(err);
    status = fm_result_add(made, pipe->q, &pipe->flow->table, pipe->column, pipe->columns, err);
    if (status == FM_OK)
        *result = made;
    else
        fm_result_free(made);
    return status;
}

static enum fm_status check_ready(struct fm_query *q, size_t stores, struct fm_error *err)
{
    if (q->log.errors > 0)
        return fm_error_set(err, FM_CONFIG, "query '%s' has errors", q->name);
    for (size_t i = 0; i < q->params; i++) {
        if (!q->param[i].known)
            return fm_error_set(err, FM_CONFIG, "query '%s' needs parameter '%s' (-p %s=VALUE)",
                                q->name, q->param[i].name, q->param[i].name);
    }
    if (stores != 1)
        return fm_error_set(err, FM_CONFIG, "query '%s' takes one input, not %zu", q->name,
                            stores);
    return FM_OK;
}

static enum fm_status run_plan(struct fm_plan *plan, struct fm_query *query,
                               struct fm_result **result, struct fm_error *err)
{
    enum fm_status status = fm_plan_compile(plan, query, &query->run_arena, err);

    if (status == FM_OK)
        status = run_pipe(plan->main, err);
    if (status == FM_OK)
        status = make_result(plan->main, result, err);
    return status == FM_OK && plan->main->flow->failed ? FM_GATE : status;
}

enum fm_status fm_query_run(struct fm_ctx *ctx, struct fm_query *query,
                            struct fm_store *const *store, size_t stores,
                            const struct fm_select_options *select, struct fm_result **result,
                            struct fm_error *err)
{
    struct fm_plan plan = { .select = select, .store = store, .stores = stores };
    enum fm_status status;

    (void)ctx;
    *result = NULL;
    if (query->ran) {                 /* messages of the last run go */
        fm_yaml_log_init(&query->log, &query->arena);
        query->log.file = query->file;
        fm_arena_release(&query->run_arena);
        fm_arena_init(&query->run_arena, &query->ctx->mem);
    }
    status = check_ready(query, stores, err);
    if (status != FM_OK)
        return status;
    query->ran = true;
    fm_yaml_log_init(&query->log, &query->run_arena);
    query->log.file = query->file;
    status = run_plan(&plan, query, result, err);
    fm_plan_release(&plan);
    if (query->run_arena.oom && status == FM_CONFIG)
        status = fm_error_nomem(err);
    if (status == FM_CONFIG && err != NULL && err->status == FM_OK)
        *err = query->log.first;
    return status;
}
