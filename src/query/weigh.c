/*
 * weigh.c - `weigh:`: what self, total and shares sum up.
 *
 *     weight     what the rows weigh by themselves        samples    the samples they stand for
 *     COLUMN or EXPR, {by: EXPR, unit: TEXT}              a number of each row, 0 for null
 *
 * An expression is evaluated when a row is read (fm_reader_weight()); in it `weight` is what the
 * steps before have made of it. Weights are whole and never negative: fractions are rounded, a row
 * with a negative value is an error. Everything summed has one unit. One that looks at stacks is
 * evaluated at its place, for all rows: edits behind it change no weight.
 */
#include "query/plan.h"

#include "util/error.h"

#include <math.h>

struct weigh_step {
    const struct fm_yaml_node *at;
    struct fm_reweigh *expr;             /* NULL: samples, or the rows' own */
    bool samples;
    const char *unit;
    uint64_t *rows;                    /* bitmap that the pipe starts with, or NULL */
};

/* The unit of the rows' own weight; NULL: logged, the events have several. */
static const char *own_unit(struct fm_pipe *pipe, const struct fm_yaml_node *at)
{
    struct fm_compile *c = &pipe->c;
    const struct fm_selection *sel = &pipe->flow->sel;
    const struct fm_event *first = NULL;

    if (c->from == FM_FROM_SPANS || c->from == FM_FROM_LAUNCHES)
        return "ns";
    for (size_t i = 0; i < fm_store_events(c->store); i++) {
        const struct fm_event *e = fm_store_event_row(c->store, i);
        if (!sel->event[i])
            continue;
        if (first != NULL && e->unit != first->unit) {
            fm_yaml_error(fm_yaml_as(c->log, FM_YAML_UNIT), at,
                          "events of different units cannot be summed: '%s' is in %s, '%s' in %s",
                          fm_store_str(c->store, first->name, NULL),
                          fm_store_str(c->store, first->unit, NULL),
                          fm_store_str(c->store, e->name, NULL),
                          fm_store_str(c->store, e->unit, NULL));
            return NULL;
        }
        first = e;
    }
    return first == NULL ? "" : fm_store_str(c->store, first->unit, NULL);
}

static bool keep_start(struct fm_pipe *pipe, struct weigh_step *w)
{
    struct fm_selection *sel = &pipe->flow->sel;

    if (fm_selection_settle(sel, NULL) != FM_OK)
        return false;
    if (sel->rows == NULL)
        return true;
    w->rows = fm_arena_alloc(pipe->c.arena, sel->row_words * sizeof *w->rows);
    if (w->rows == NULL)
        return false;
    memcpy(w->rows, sel->rows, sel->row_words * sizeof *w->rows);
    return true;
}

static bool by_expression(struct fm_pipe *pipe, const struct fm_scalar *s, struct weigh_step *w)
{
    struct fm_compile *c = &pipe->c;
    struct fm_reweigh *expr = fm_arena_alloc(c->arena, sizeof *expr);

    if (expr == NULL)
        return false;
    expr->text = s->text;
    expr->c = c;
    expr->expr = fm_compile_expr(c, FM_SCOPE_ROWS, s);
    if (expr->expr == NULL)
        return false;
    if (c->store != NULL && fm_expr_cell(c, NULL, expr->expr) == FM_CELL_TEXT) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), s->at, "'weigh' needs numbers, not texts");
        return false;
    }
    if (w->unit == NULL)
        w->unit = expr->expr->unit != NULL && expr->expr->unit[0] != '\0' ? expr->expr->unit
                                                                          : "count";
    w->expr = expr;
    return true;
}

/* weigh: NAME or EXPR; false: logged. */
static bool compile_by(struct fm_pipe *pipe, const struct fm_yaml_node *node,
                       struct weigh_step *w)
{
    struct fm_compile *c = &pipe->c;
    struct fm_scalar s;

    if (node == NULL || node->type != FM_YAML_SCALAR || node->n == 0) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), w->at,
                      "'weigh' takes weight, samples, an expression, or {by: EXPR, unit: TEXT}");
        return false;
    }
    if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
        return false;
    if (s.unknown) {
        w->unit = w->unit == NULL ? "" : w->unit;
        return true;
    }
    if (s.n == 7 && memcmp(s.text, "samples", 7) == 0) {
        w->samples = true;
        w->unit = w->unit == NULL ? "samples" : w->unit;
        return true;
    }
    if (s.n != 6 || memcmp(s.text, "weight", 6) != 0)
        return by_expression(pipe, &s, w);
    if (w->unit == NULL)
        w->unit = c->store == NULL ? "" : own_unit(pipe, node);
    return w->unit != NULL;
}

void *fm_weigh_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    static const char *const known[] = { "by", "unit" };
    struct fm_compile *c = &pipe->c;
    const struct fm_yaml_node *node = step->at->value, *unit = NULL;
    struct weigh_step *w = fm_arena_alloc(c->arena, sizeof *w);
    struct fm_scalar s;

    (void)schema;
    if (w == NULL)
        return NULL;
    w->at = node;
    if (node->type == FM_YAML_MAP) {
        if (!fm_yaml_known(c->log, node, known, FM_COUNT(known), "key"))
            return NULL;
        unit = fm_yaml_get(node, "unit");
        node = fm_yaml_get(node, "by");
    }
    if (unit != NULL) {
        if (unit->type != FM_YAML_SCALAR || unit->n == 0) {
            fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), unit, "'unit' is a text such as ns");
            return NULL;
        }
        if (!fm_scalar_get(c->q, c->arena, c->log, unit, &s))
            return NULL;
        w->unit = s.text;
    }
    if (!compile_by(pipe, node, w) || (pipe->flow != NULL && !keep_start(pipe, w)))
        return NULL;
    c->unit = w->unit;
    c->weigh = w->expr;
    return w;
}

/* --------------------------------------------------------------------- run */

uint64_t fm_weigh_value(const struct fm_value *value, bool *bad)
{
    double f;

    switch (value->type) {
    case FM_BOOL:
        return value->b;
    case FM_I64:
        *bad |= value->i < 0;
        return value->i < 0 ? 0 : (uint64_t)value->i;
    case FM_U64:
        return value->u;
    case FM_F64:
        f = round(value->f);
        *bad |= f < 0 || f >= 18446744073709551616.0;
        return !(f > 0) ? 0 : f >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)f;
    default:
        return 0;
    }
}

/* All rows of the pipe's start, before any step: what `all` is. */
static enum fm_status sum_start(struct fm_flow *flow, const struct weigh_step *w,
                                struct fm_error *err)
{
    struct fm_selection start = flow->sel;
    enum fm_status status;
    uint64_t rows;

    start.rows = w->rows;
    start.block = NULL;
    start.out = NULL;
    status = fm_rows_sum(flow->c, &start, &flow->view, &rows, err);
    flow->sel.weight_all = start.weight;
    flow->totals.all = (fm_i128)start.weight;
    return status;
}

struct trial {
    struct fm_reweigh *w;
    uint64_t *value;                   /* NULL: only whether all can be weights */
    const uint64_t *rows;              /* those that are selected now */
    bool bad;
};

static void try_row(struct trial *t, struct fm_reader *r, uint32_t place)
{
    uint64_t row = r->scan.first_row + place;
    struct fm_value value = fm_reader_eval(r, t->w->expr, place);
    bool bad = false;
    uint64_t weight = fm_weigh_value(&value, &bad);

    if (t->value != NULL)
        t->value[row] = weight;
    t->bad |= bad && (t->rows == NULL || (t->rows[row / 64] >> (row % 64) & 1));
}

static void look_at(void *user, const struct fm_expr *node)
{
    struct trial *t = user;
    const struct fm_operand *o = t->w->c->operand[node->ref];

    if (o->via == 0
        && (o->place == FM_AT_LEAF || o->place == FM_AT_ROOT || o->place == FM_AT_NODE
            || o->place == FM_AT_MEMBER))
        t->value = (uint64_t *)t;      /* to be made */
}

/* Evaluates the expression for all rows of the pipe's start. */
static enum fm_status try_rows(struct fm_flow *flow, const struct weigh_step *w,
                               struct fm_error *err)
{
    enum fm_status status = fm_selection_settle(&flow->sel, err);
    struct trial trial = { .w = w->expr, .rows = flow->sel.rows };
    struct fm_selection start = flow->sel;
    struct fm_reader r;

    if (status != FM_OK)
        return status;
    fm_expr_walk(w->expr->expr, look_at, &trial);
    if (trial.value != NULL) {
        trial.value = fm_arena_alloc(flow->c->arena,
                                     (fm_store_rows(flow->c->store) + 1) * sizeof *trial.value);
        if (trial.value == NULL)
            return fm_error_nomem(err);
    }
    if (!fm_operand_nodes(flow->c, &flow->view))
        return fm_error_nomem(err);
    start.rows = w->rows;
    start.block = NULL;
    start.out = NULL;
    fm_reader_init(&r, flow->c, &flow->view, &start);
    fm_reader_need_expr(&r, w->expr->expr);
    status = fm_reader_start(&r, err);
    while (status == FM_OK && fm_reader_next(&r)) {
        for (uint32_t i = 0; i < r.scan.n; i++)
            try_row(&trial, &r, r.scan.live[i]);
    }
    if (status == FM_OK)
        fm_reader_release(&r);
    w->expr->value = trial.value;
    if (status == FM_OK && trial.bad) {
        fm_yaml_error(fm_yaml_as(flow->c->log, FM_YAML_TYPE), w->at,
                      "'weigh' gives a negative value for some row, or one above "
                      "18446744073709551615: that is no weight");
        return FM_CONFIG;
    }
    return status;
}

enum fm_status fm_weigh_run(struct fm_flow *flow, const struct fm_step *step,
                            struct fm_error *err)
{
    const struct weigh_step *w = step->object;
    struct fm_selection *sel = &flow->sel;
    enum fm_status status = w->expr == NULL ? FM_OK : try_rows(flow, w, err);

    flow->view.weigh = w->expr;
    flow->totals.known = false;
    if (w->expr == NULL && w->samples) {
        sel->weigh = FM_WEIGH_SAMPLES;
        sel->weigh_col = FM_COL_COUNT;
    } else if (w->expr == NULL) {
        bool launches = flow->c->from == FM_FROM_LAUNCHES;
        sel->weigh = launches ? FM_WEIGH_COLUMN : FM_WEIGH_VALUE;
        sel->weigh_col = launches ? FM_COL_DUR : FM_COL_WEIGHT;
    }
    sel->unit = fm_store_str_add(sel->store, w->unit, strlen(w->unit));
    if (sel->unit == FM_NONE)
        return fm_error_nomem(err);
    return status != FM_OK ? status : sum_start(flow, w, err);
}
