/*
 * celltype.c - what the columns of results hold, told by the form of their expressions.
 *
 * Columns have one type each, so that a result looks the same whatever the values: / gives a
 * number, comparisons truth, the rest follows from the arguments.
 */
#include "query/table.h"

enum fm_cell_type fm_type_cell(enum fm_type type)
{
    switch (type) {
    case FM_TYPE_STRING:
    case FM_TYPE_THREAD:
    case FM_TYPE_STACK:
        return FM_CELL_TEXT;
    case FM_TYPE_F64:
        return FM_CELL_F64;
    case FM_TYPE_BOOL:
        return FM_CELL_BOOL;
    case FM_TYPE_ADDRESS:
        return FM_CELL_ADDRESS;
    default:
        return FM_CELL_INT;
    }
}

static enum fm_cell_type const_cell(const struct fm_value *value)
{
    switch (value->type) {
    case FM_BOOL:
        return FM_CELL_BOOL;
    case FM_F64:
        return FM_CELL_F64;
    case FM_TEXT:
        return FM_CELL_TEXT;
    default:
        return FM_CELL_INT;
    }
}

static enum fm_cell_type agg_cell(const struct fm_compile *c, const struct fm_agg *agg)
{
    enum fm_cell_type cell;

    switch (agg->kind) {
    case FM_AGG_AVG:
    case FM_AGG_STDDEV:
    case FM_AGG_WINDOW:
        return FM_CELL_F64;
    case FM_AGG_SUM:
        cell = fm_expr_cell(c, NULL, agg->arg);
        return cell == FM_CELL_F64 ? cell : FM_CELL_INT;
    case FM_AGG_MIN:
    case FM_AGG_MAX:
    case FM_AGG_FIRST:
    case FM_AGG_LAST:
    case FM_AGG_PERCENTILE:
        return fm_expr_cell(c, NULL, agg->arg);
    default:
        return FM_CELL_INT;
    }
}

static enum fm_cell_type ref_cell(const struct fm_compile *c, const struct fm_group *g,
                                  const struct fm_expr *e)
{
    const struct fm_operand *o;

    if (g != NULL)
        return agg_cell(c, &g->agg[e->ref]);
    o = c->operand[e->ref];
    return o->place == FM_AT_TABLE ? c->schema->column[o->id].type : fm_type_cell(o->type);
}

enum fm_cell_type fm_expr_cell(const struct fm_compile *c, const struct fm_group *g,
                               const struct fm_expr *e)
{
    enum fm_cell_type cell = FM_CELL_INT, arg;

    switch (e->op) {
    case FM_EXPR_CONST:
        return const_cell(&e->value);
    case FM_EXPR_REF:
    case FM_EXPR_CALL:
        return ref_cell(c, g, e);
    case FM_EXPR_DIV:
        return FM_CELL_F64;
    case FM_EXPR_NOT:
    case FM_EXPR_AND:
    case FM_EXPR_OR:
    case FM_EXPR_EQ:
    case FM_EXPR_NE:
    case FM_EXPR_LT:
    case FM_EXPR_LE:
    case FM_EXPR_GT:
    case FM_EXPR_GE:
        return FM_CELL_BOOL;
    case FM_EXPR_LEN:
        return FM_CELL_INT;
    case FM_EXPR_WHEN:
        return fm_expr_cell(c, g, e->arg[0]);
    default:
        break;
    }
    for (size_t i = e->op == FM_EXPR_IF ? 1 : 0; i < e->args; i++) {
        arg = fm_expr_cell(c, g, e->arg[i]);
        if (arg == FM_CELL_TEXT || arg == FM_CELL_F64)
            return arg;
        if (e->op == FM_EXPR_IF || e->op >= FM_EXPR_MIN)
            cell = arg;
    }
    return cell;
}
