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

/* The same of the options that choose samples, which stand in no file. */
static void warn_when_filtered(struct fm_flow *flow)
{
    if (flow->window.emptied == NULL)
        return;
    fm_yaml_warn(fm_yaml_as(flow->c->log, FM_YAML_EMPTY), NULL, "no rows are left after %s",
                 flow->window.emptied);
    flow->warned = true;
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
        warn_when_filtered(flow);
    flow->woven = flow->sel.stacks == NULL && flow->view.of_row == NULL;
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

/* Columns that came from data are known now: compiles the step for them. */
static enum fm_status compile_again(struct fm_flow *flow, struct fm_step *step,
                                    struct fm_error *err)
{
    const struct fm_schema *schema = flow->tabled ? flow->table.schema : NULL;

    if (fm_pipe_again(flow->pipe, step, schema))
        return FM_OK;
    return flow->c->arena->oom ? fm_error_nomem(err) : FM_CONFIG;
}

static bool needs_open(const struct fm_step *step)
{
    for (size_t i = 0; i < step->needs; i++) {
        if (step->need[i]->open)
            return true;
    }
    return false;
}

static enum fm_status run_step(struct fm_flow *flow, struct fm_step *step, bool *again,
                               struct fm_error *err)
{
    size_t rows = flow->tabled ? flow->table.n : 0;
    enum fm_status status = FM_OK;

    *again |= needs_open(step);
    if (*again)
        status = compile_again(flow, step, err);
    if (status == FM_OK)
        status = step->type->run(flow, step, err);
    flow->woven = flow->woven && strcmp(step->type->name, "stack") != 0;
    *again |= step->schema != NULL && step->schema->open;
    if (status == FM_OK && rows > 0 && flow->table.n == 0)
        fm_flow_warn(flow, step);
    return status;
}

static enum fm_status run_pipe(struct fm_pipe *pipe, struct fm_error *err)
{
    struct fm_flow *flow = pipe->flow;
    enum fm_status status = check_imported(flow->c, flow->c->store, err);
    bool again = pipe->source != NULL && pipe->source->open;

    flow->c->log->file = pipe->q->file;
    if (status == FM_OK)
        status = pipe->source != NULL ? fm_flow_take(flow, pipe->source, err)
                                      : start_rows(flow, err);
    if (status == FM_OK && pipe->source == NULL && flow->c->from >= FM_FROM_THREADS)
        status = fm_tables_fill(flow, err);
    for (size_t i = 0; i < pipe->steps && status == FM_OK; i++)
        status = run_step(flow, &pipe->step[i], &again, err);
    if (status == FM_OK && flow->tabled && !flow->table.sorted)
        status = fm_table_sort(&flow->table, NULL, 0, err);
    if (flow->tabled)
        pipe->schema = pipe->c.schema = flow->table.schema;
    return status;
}

/* --------------------------------------------------------------- the result */

static enum fm_status add_rows(struct fm_result *result, struct fm_pipe *pipe, const char *part,
                               struct fm_error *err)
{
    struct fm_selection *kept;
    enum fm_status status = fm_flow_keep(pipe->flow, &kept, err);

    return status == FM_OK ? fm_result_add_rows(result, pipe->q, part, kept, err) : status;
}

static enum fm_status make_result(const struct fm_plan *plan, struct fm_result **result,
                                  struct fm_error *err)
{
    struct fm_result *made = fm_result_new(&plan->ctx->mem);
    enum fm_status status = FM_OK;

    if (made == NULL)
        return fm_error_nomem(err);
    for (size_t i = 0; i < plan->shows && status == FM_OK; i++) {
        struct fm_pipe *pipe = plan->show[i];
        const char *part = pipe->let == NULL ? "" : pipe->let->key;
        if (pipe->shape == FM_SHAPE_ROWS) {
            status = add_rows(made, pipe, part, err);
            continue;
        }
        status = fm_pipe_columns(pipe) ? FM_OK : FM_CONFIG;
        if (status == FM_OK)
            status = fm_result_add(made, pipe->q, part, &pipe->flow->table, pipe->column,
                                   pipe->columns, err);
    }
    if (status == FM_OK)
        *result = made;
    else
        fm_result_free(made);
    return status;
}

static enum fm_status check_ready(struct fm_query *q, size_t stores, struct fm_error *err)
{
    size_t inputs;

    if (q->log.errors > 0)
        return fm_error_set(err, FM_CONFIG, "query '%s' has errors", q->name);
    for (size_t i = 0; i < q->params; i++) {
        if (!q->param[i].known)
            return fm_error_set(err, FM_CONFIG, "query '%s' needs parameter '%s' (-p %s=VALUE)",
                                q->name, q->param[i].name, q->param[i].name);
    }
    inputs = q->inputs == NULL ? 1 : q->inputs->n;
    if (stores != inputs)
        return fm_error_set(err, FM_CONFIG, "query '%s' takes %zu input%s, not %zu", q->name,
                            inputs, inputs == 1 ? "" : "s", stores);
    return FM_OK;
}

static enum fm_status run_plan(struct fm_plan *plan, struct fm_query *query,
                               struct fm_result **result, struct fm_error *err)
{
    enum fm_status status = fm_plan_compile(plan, query, &query->run_arena, err);
    bool failed = false;

    for (size_t i = 0; i < plan->pipes && status == FM_OK; i++) {
        status = run_pipe(plan->pipe[i], err);
        failed |= plan->pipe[i]->flow->failed;
    }
    plan->log->file = query->file;
    if (status == FM_OK)
        status = make_result(plan, result, err);
    return status == FM_OK && failed ? FM_GATE : status;
}

/* Messages of the last run go. */
static enum fm_status begin(struct fm_query *query, size_t stores, struct fm_error *err)
{
    enum fm_status status;

    if (query->ran) {
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
    return FM_OK;
}

static enum fm_status end(struct fm_plan *plan, struct fm_query *query, enum fm_status status,
                          struct fm_error *err)
{
    fm_plan_release(plan);
    if (query->run_arena.oom && status == FM_CONFIG)
        status = fm_error_nomem(err);
    if (status == FM_CONFIG && err != NULL && err->status == FM_OK)
        *err = query->log.first;
    return status;
}

void fm_query_keep_rows(struct fm_query *query, bool keep)
{
    query->keep_rows = keep;
}

enum fm_status fm_query_run(struct fm_ctx *ctx, struct fm_query *query,
                            struct fm_store *const *store, size_t stores,
                            const struct fm_select_options *select, struct fm_result **result,
                            struct fm_error *err)
{
    struct fm_plan plan = { .select = select, .store = store, .stores = stores,
                            .keep_rows = query->keep_rows };
    enum fm_status status;

    (void)ctx;
    *result = NULL;
    status = begin(query, stores, err);
    return status != FM_OK ? status : end(&plan, query, run_plan(&plan, query, result, err), err);
}

enum fm_status fm_query_explain(struct fm_ctx *ctx, struct fm_query *query,
                                struct fm_store *const *store, size_t stores,
                                const struct fm_select_options *select, const struct fm_sink *sink,
                                struct fm_error *err)
{
    struct fm_plan plan = { .select = select, .store = store, .stores = stores,
                            .keep_rows = true };
    enum fm_status status = begin(query, stores, err);
    struct fm_out out;

    if (status != FM_OK)
        return status;
    if (fm_out_init(&out, &ctx->mem, sink) != FM_OK)
        return fm_error_nomem(err);
    status = fm_plan_compile(&plan, query, &query->run_arena, err);
    if (status == FM_OK) {
        fm_plan_explain(&plan, &out);
        status = fm_out_finish(&out, err);
    }
    fm_out_release(&out);
    return end(&plan, query, status, err);
}
