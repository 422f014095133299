/*
 * step.c - the table of steps, and those that are short enough to stand here.
 *
 *     NAME     takes            gives
 *     where    rows or a table  the same      time     rows             rows
 *                                             within   rows             rows
 *                                             weigh    rows             rows
 *     stack    rows             rows          group    rows             a table
 *                                             tree     rows             a table
 *                                             select   rows, a table   a table
 *                                             sort limit   the same
 *     pivot join union diff compute check     a table -> a table
 */
#include "query/plan.h"

#include "util/error.h"

/* ------------------------------------------------------------------- where */

static void *compile_where(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    (void)schema;
    return fm_pred_compile(&pipe->c, step->at->value,
                           pipe->shape == FM_SHAPE_TABLE ? FM_SCOPE_TABLE : FM_SCOPE_ROWS);
}

static enum fm_status run_where(struct fm_flow *flow, const struct fm_step *step,
                                struct fm_error *err)
{
    enum fm_status status = fm_rows_where(flow->c, &flow->sel, &flow->view, step->object, err);

    flow->totals.known = false;
    return status != FM_OK ? status : fm_flow_empty(flow, step, err);
}

static enum fm_status run_table_where(struct fm_flow *flow, const struct fm_step *step,
                                      struct fm_error *err)
{
    (void)err;
    fm_table_where(&flow->table, flow->c, step->object);
    return FM_OK;
}

/* ------------------------------------------------------------------- stack */

struct edits {
    struct fm_edit **edit;
    size_t n;
};

static void *compile_stack(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    struct fm_compile *c = &pipe->c;
    const struct fm_yaml_node *node = step->at->value;
    size_t n = node->type == FM_YAML_LIST ? node->n : 1;
    struct edits *edits = fm_arena_alloc(c->arena, sizeof *edits);
    bool ok = true;

    (void)schema;
    if (edits == NULL)
        return NULL;
    edits->edit = fm_arena_alloc(c->arena, (n + 1) * sizeof *edits->edit);
    if (edits->edit == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        edits->edit[edits->n] =
            fm_edit_compile(c, node->type == FM_YAML_LIST ? node->item[i] : node);
        ok = edits->edit[edits->n++] != NULL && ok;
    }
    return ok ? edits : NULL;
}

static enum fm_status run_stack(struct fm_flow *flow, const struct fm_step *step,
                                struct fm_error *err)
{
    const struct edits *edits = step->object;

    for (size_t i = 0; i < edits->n; i++) {
        enum fm_status status;
        uint64_t rows;
        bool dropped;
        if (fm_edit_drops(edits->edit[i]) && !flow->totals.known) {
            status = fm_rows_sum(flow->c, &flow->sel, &flow->view, &rows, err);
            if (status != FM_OK)
                return status;
            flow->totals.selected = (fm_i128)flow->sel.weight;
            flow->totals.known = true;
        }
        status = fm_edit_run(flow->c, edits->edit[i], &flow->sel, &flow->view, &dropped, err);
        if (status == FM_OK && dropped)
            status = fm_flow_empty(flow, step, err);
        if (status != FM_OK)
            return status;
    }
    return FM_OK;
}

/* ------------------------------------------------------------------- group */

static void *compile_group(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    pipe->c.pipe = pipe;
    pipe->c.step = step;
    return fm_group_compile(&pipe->c, step->at->value, schema);
}

/* The weights of the pipes that shares are of, for the measures and for the head. */
static enum fm_status weigh_lets(const struct fm_group *g, struct fm_table *t,
                                 struct fm_arena *arena, struct fm_error *err)
{
    enum fm_status status = FM_OK;

    for (size_t a = 0; a < g->aggs && status == FM_OK; a++) {
        const struct fm_pipe *let = g->agg[a].let;
        if (g->agg[a].kind != FM_AGG_LET)
            continue;
        status = fm_flow_weigh(let->flow, err);
        if (status == FM_OK && !fm_table_base(t, let->let->key, let->flow->totals.weight,
                                              let->c.unit, arena))
            status = fm_error_nomem(err);
    }
    return status;
}

static enum fm_status run_group(struct fm_flow *flow, const struct fm_step *step,
                                struct fm_error *err)
{
    struct fm_table *t = fm_flow_table(flow, step);
    enum fm_status status = weigh_lets(step->object, t, flow->c->arena, err);

    if (status == FM_OK)
        status = fm_group_run(flow->c, step->object, &flow->sel, &flow->view, &flow->totals, t,
                              err);
    t->samples = flow->totals.samples;
    t->selected = flow->totals.selected;
    return status;
}

/* ---------------------------------------------------------- compute, check */

static void *compile_compute(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    return fm_compute_compile(&pipe->c, step->at->value, schema);
}

static enum fm_status run_compute(struct fm_flow *flow, const struct fm_step *step,
                                  struct fm_error *err)
{
    return fm_table_widen(&flow->table, step->schema)
                   && fm_compute_run(flow->c, step->object, &flow->table)
               ? FM_OK : fm_error_nomem(err);
}

static void *compile_check(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    (void)schema;
    return fm_check_compile(&pipe->c, step->at->value);
}

static enum fm_status run_check(struct fm_flow *flow, const struct fm_step *step,
                                struct fm_error *err)
{
    enum fm_status status = fm_check_run(flow->c, step->object, &flow->table, err);

    flow->failed |= status == FM_GATE;
    return status == FM_GATE ? FM_OK : status;
}

/* --------------------------------------------------------------- the table */

#define ROWS FM_SHAPE_ROWS
#define TABLE FM_SHAPE_TABLE
#define SAME FM_SHAPE_SAME

static const struct fm_step_type type[] = {
    { "where", ROWS, SAME, compile_where, run_where },
    { "where", TABLE, SAME, compile_where, run_table_where },
    { "time", ROWS, SAME, fm_time_compile, fm_time_run },
    { "within", ROWS, SAME, fm_within_compile, fm_within_run },
    { "weigh", ROWS, SAME, fm_weigh_compile, fm_weigh_run },
    { "stack", ROWS, SAME, compile_stack, run_stack },
    { "group", ROWS, TABLE, compile_group, run_group },
    { "group", TABLE, TABLE, fm_regroup_compile, fm_regroup_run },
    { "tree", ROWS, TABLE, fm_tree_compile, fm_tree_run },
    { "pivot", TABLE, TABLE, fm_pivot_compile, fm_pivot_run },
    { "join", TABLE, TABLE, fm_join_compile, fm_join_run },
    { "union", TABLE, TABLE, fm_union_compile, fm_union_run },
    { "diff", TABLE, TABLE, fm_diff_compile, fm_diff_run },
    { "compute", TABLE, SAME, compile_compute, run_compute },
    { "select", ROWS, TABLE, fm_lines_compile, fm_lines_run },
    { "select", TABLE, SAME, fm_select_compile, fm_select_run },
    { "sort", ROWS, TABLE, fm_row_sort_compile, fm_row_sort_run },
    { "sort", TABLE, SAME, fm_sort_compile, fm_sort_run },
    { "limit", ROWS, TABLE, fm_row_limit_compile, fm_row_limit_run },
    { "limit", TABLE, SAME, fm_limit_compile, fm_limit_run },
    { "check", TABLE, SAME, compile_check, run_check }
};

const struct fm_step_type *fm_step_find(const char *name, unsigned shape)
{
    const struct fm_step_type *found = NULL;

    for (size_t i = 0; i < FM_COUNT(type); i++) {
        if (strcmp(type[i].name, name) != 0)
            continue;
        if (type[i].takes & shape)
            return &type[i];
        found = &type[i];
    }
    return found;
}

const char *fm_step_name(size_t i)
{
    for (size_t k = 0; k < FM_COUNT(type); k++) {
        if (k > 0 && strcmp(type[k].name, type[k - 1].name) == 0)
            continue;
        if (i-- == 0)
            return type[k].name;
    }
    return NULL;
}
