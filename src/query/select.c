/*
 * select.c - `select:`, the columns of a table: which, in which order, under which names.
 *
 *     select: [function, self, {ms: self / 1000000}, {fn: module}]
 *
 * Rows and their order stay. A column by its name is moved; an expression is a column more, made
 * before the others go.
 */
#include "query/plan.h"

#include "util/error.h"

struct pick {
    size_t *col;                     /* of the table, with the made ones behind its own */
    struct fm_expr **expr;           /* of those made, in their order */
    size_t cols, exprs;
    const struct fm_schema *wide;    /* the table's columns and those made */
};

struct picker {
    struct fm_pipe *pipe;
    struct pick *pick;
    struct fm_schema *wide;
    struct fm_schema out;
};

static bool add(struct picker *p, const struct fm_yaml_node *at, const char *name, size_t col)
{
    struct fm_schema_column *to;

    for (size_t i = 0; i < p->out.n; i++) {
        if (strcmp(p->out.column[i].name, name) != 0)
            continue;
        fm_yaml_error(fm_yaml_as(p->pipe->c.log, FM_YAML_DUPLICATE), at,
                      "column '%s' is there already", name);
        return false;
    }
    to = fm_schema_add(p->pipe->c.arena, &p->out);
    if (to == NULL)
        return false;
    *to = p->wide->column[col];
    if (strcmp(to->name, name) != 0)
        to->name = to->full = name;
    to->hidden = false;
    p->pick->col[p->pick->cols++] = col;
    return true;
}

static bool add_expression(struct picker *p, const struct fm_yaml_pair *pair)
{
    struct fm_compile *c = &p->pipe->c;
    struct fm_schema_column *to;
    struct fm_scalar s;
    struct fm_expr *expr;
    uint32_t col;

    if (pair->value->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), pair->value,
                      "a column is a name or an expression");
        return false;
    }
    if (!fm_scalar_get(c->q, c->arena, c->log, pair->value, &s))
        return false;
    col = fm_schema_find(c->schema, s.text, s.n);
    if (col != FM_NONE)
        return add(p, pair->value, pair->key, col);
    expr = fm_compile_expr(c, FM_SCOPE_TABLE, &s);
    to = expr == NULL ? NULL : fm_schema_add(c->arena, p->wide);
    if (to == NULL)
        return false;
    *to = (struct fm_schema_column){ .name = pair->key, .full = pair->key, .unit = expr->unit,
                                     .type = fm_expr_cell(c, NULL, expr),
                                     .untyped = c->store == NULL };
    p->pick->expr[p->pick->exprs++] = expr;
    return add(p, pair->value, pair->key, p->wide->n - 1);
}

static bool add_name(struct picker *p, const struct fm_yaml_node *node)
{
    struct fm_compile *c = &p->pipe->c;
    struct fm_scalar s;
    size_t col;

    if (!fm_pipe_column(p->pipe, node, 0, "'select'", &col)
        || !fm_scalar_get(c->q, c->arena, c->log, node, &s))
        return false;
    if (c->schema->open && fm_schema_find(c->schema, s.text, s.n) == FM_NONE)
        return true;                 /* it comes with the data */
    if (s.unknown)
        return true;
    return add(p, node, strcmp(s.text, p->wide->column[col].full) == 0
                            ? p->wide->column[col].name : s.text, col);
}

static size_t count(const struct fm_yaml_node *node)
{
    size_t n = 0;

    for (size_t i = 0; node->type == FM_YAML_LIST && i < node->n; i++)
        n += node->item[i]->type == FM_YAML_MAP ? node->item[i]->n : 1;
    return node->type == FM_YAML_LIST ? n : node->type == FM_YAML_MAP ? node->n : 1;
}

static bool add_item(struct picker *p, const struct fm_yaml_node *node)
{
    bool ok = true;

    if (node->type != FM_YAML_MAP)
        return add_name(p, node);
    for (size_t i = 0; i < node->n; i++)
        ok = add_expression(p, &node->pair[i]) && ok;
    return ok;
}

void *fm_select_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    const struct fm_yaml_node *node = step->at->value;
    struct fm_arena *arena = pipe->c.arena;
    struct picker p = { .pipe = pipe };
    size_t n = count(node);
    bool ok = true;

    p.pick = fm_arena_alloc(arena, sizeof *p.pick);
    p.wide = fm_schema_copy(arena, schema);
    if (p.pick == NULL || p.wide == NULL)
        return NULL;
    p.pick->wide = p.wide;
    p.pick->col = fm_arena_alloc(arena, (n + 1) * sizeof *p.pick->col);
    p.pick->expr = fm_arena_alloc(arena, (n + 1) * sizeof *p.pick->expr);
    if (p.pick->col == NULL || p.pick->expr == NULL)
        return NULL;
    if (n == 0) {
        fm_yaml_error(fm_yaml_as(pipe->c.log, FM_YAML_TYPE), node,
                      "'select' takes [COLUMN, {NAME: EXPRESSION} …]");
        return NULL;
    }
    if (node->type == FM_YAML_LIST) {
        for (size_t i = 0; i < node->n; i++)
            ok = add_item(&p, node->item[i]) && ok;
    } else {
        ok = add_item(&p, node);
    }
    if (!ok)
        return NULL;
    p.out.open = schema->open;
    *schema = p.out;
    return p.pick;
}

enum fm_status fm_select_run(struct fm_flow *flow, const struct fm_step *step,
                             struct fm_error *err)
{
    const struct pick *pick = step->object;
    struct fm_table *t = &flow->table;
    size_t made = t->schema->n;
    bool ok;

    /* in the order of its keys, which may be about to go */
    if (!t->sorted && fm_table_sort(t, NULL, 0, err) != FM_OK)
        return FM_NOMEM;
    ok = fm_table_widen(t, pick->wide);
    for (size_t i = 0; ok && i < pick->exprs; i++)
        ok = fm_table_fill(flow->c, t, made + i, pick->expr[i]);
    return ok && fm_table_pick(t, pick->col, step->schema) ? FM_OK : fm_error_nomem(err);
}
