/*
 * limit.c - `sort:` and `limit:`, compiled and run.
 *
 *     sort: [-self, "-abs(delta.total)", function]
 *     limit: {rows: 10, rest: "(other)", per: [process], ties: include, at: 50%}
 *
 * A key that is an expression is a column for as long as the sort takes. A limit goes by the order
 * of the sort before it. A plain limit right behind a sort is part of the sort: only as many rows
 * are put in order as it leaves. What the options mean is in order.c.
 */
#include "query/plan.h"

#include "util/error.h"
#include "util/text.h"

struct sort {
    struct fm_sort_key *key;
    struct fm_expr **expr;           /* by key: of a column made for the sort, or NULL */
    size_t keys;
    const struct fm_schema *own;     /* the table's columns, and those; NULL = there are none */
};

bool fm_pipe_column(struct fm_pipe *pipe, const struct fm_yaml_node *node, size_t skip,
                    const char *what, size_t *col)
{
    struct fm_compile *c = &pipe->c;
    const char *const *list;
    struct fm_scalar s;
    uint32_t k;
    size_t n;

    if (node->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node, "%s is the name of a column", what);
        return false;
    }
    if (skip > 0 && node->n > 1 && node->text[1] == '$') {
        struct fm_yaml_node bare = *node;
        bare.text++;
        bare.n--;
        if (!fm_scalar_get(c->q, c->arena, c->log, &bare, &s))
            return false;
        skip = 0;
    } else if (!fm_scalar_get(c->q, c->arena, c->log, node, &s)) {
        return false;
    }
    *col = 0;
    if (s.unknown)
        return true;
    k = fm_schema_find(c->schema, s.text + skip, s.n - skip);
    if (k != FM_NONE) {
        *col = k;
        return true;
    }
    if (c->schema->open)
        return true;
    list = fm_operand_names(c, FM_SCOPE_TABLE, &n);
    if (list != NULL)
        fm_yaml_unknown(c->log, node, "column", s.text + skip, list, n);
    return false;
}

static bool is_expression(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strchr("()+*/%<>=`'\" ", text[i]) != NULL || (text[i] == '-' && i > 0))
            return true;
    }
    return false;
}

/* A column for an expression; *schema is made for the first. */
static bool expression_key(struct fm_pipe *pipe, const struct fm_scalar *s, struct sort *sort,
                           struct fm_schema **schema, size_t i)
{
    struct fm_compile *c = &pipe->c;
    struct fm_schema_column *col;

    sort->expr[i] = fm_compile_expr(c, FM_SCOPE_TABLE, s);
    if (sort->expr[i] == NULL)
        return false;
    if (*schema == NULL)
        *schema = fm_schema_copy(c->arena, c->schema);
    col = *schema == NULL ? NULL : fm_schema_add(c->arena, *schema);
    if (col == NULL)
        return false;
    *col = (struct fm_schema_column){ .name = "", .full = "", .unit = "",
                                      .type = fm_expr_cell(c, NULL, sort->expr[i]) };
    sort->key[i].col = (*schema)->n - 1;
    sort->own = *schema;
    return true;
}

static bool compile_key(struct fm_pipe *pipe, const struct fm_yaml_node *node, struct sort *sort,
                        struct fm_schema **schema, size_t i)
{
    struct fm_compile *c = &pipe->c;
    bool down = node->type == FM_YAML_SCALAR && node->n > 1 && node->text[0] == '-';
    struct fm_scalar s;

    sort->key[i].descending = down;
    if (node->type == FM_YAML_SCALAR && is_expression(node->text + down, node->n - down)) {
        if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
            return false;
        s.text += down;
        s.n -= down;
        if (fm_schema_find(c->schema, s.text, s.n) == FM_NONE)     /* "p99(dur)" is a column */
            return expression_key(pipe, &s, sort, schema, i);
    }
    return fm_pipe_column(pipe, node, down, "a sort key", &sort->key[i].col);
}

void *fm_sort_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    struct fm_compile *c = &pipe->c;
    const struct fm_yaml_node *node = step->at->value;
    size_t n = node->type == FM_YAML_LIST ? node->n : 1;
    struct sort *sort = fm_arena_alloc(c->arena, sizeof *sort);
    struct fm_schema *own = NULL;
    bool ok = true;

    (void)schema;
    if (sort == NULL)
        return NULL;
    sort->key = fm_arena_alloc(c->arena, (n + 1) * sizeof *sort->key);
    sort->expr = fm_arena_alloc(c->arena, (n + 1) * sizeof *sort->expr);
    if (sort->key == NULL || sort->expr == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++)
        ok = compile_key(pipe, node->type == FM_YAML_LIST ? node->item[i] : node, sort, &own, i)
             && ok;
    sort->keys = n;
    return ok ? sort : NULL;
}

/* A count of rows: a number, or all. */
static bool limit_rows(struct fm_pipe *pipe, const struct fm_yaml_node *node,
                     struct fm_limit *limit)
{
    struct fm_compile *c = &pipe->c;
    struct fm_scalar s = { .at = node };

    if (node->type == FM_YAML_SCALAR) {
        if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
            return false;
        if (s.unknown || (s.n == 3 && memcmp(s.text, "all", 3) == 0)) {
            limit->all = true;
            return true;
        }
        if (fm_text_u64(s.text, s.n, &limit->rows))
            return true;
    }
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node, "a limit is a number of rows, or all");
    return false;
}

static bool limit_at(struct fm_pipe *pipe, const struct fm_yaml_node *node, struct fm_limit *limit)
{
    struct fm_compile *c = &pipe->c;
    const char *unit;
    struct fm_scalar s = { .at = node };

    if (node->type == FM_YAML_SCALAR) {
        if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
            return false;
        if (s.unknown || (s.n > 1 && s.text[s.n - 1] == '%'
                          && fm_text_quantity(s.text, s.n, &limit->at, &unit) && limit->at >= 0
                          && limit->at <= 1))
            return true;
    }
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node, "'at' is a percentage such as 50%%");
    return false;
}

static bool limit_per(struct fm_pipe *pipe, const struct fm_yaml_node *node, struct fm_limit *limit)
{
    size_t n = node->type == FM_YAML_LIST ? node->n : 1;
    bool ok = true;

    limit->per = fm_arena_alloc(pipe->c.arena, (n + 1) * sizeof *limit->per);
    if (limit->per == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        ok = fm_pipe_column(pipe, node->type == FM_YAML_LIST ? node->item[i] : node, 0, "'per'",
                          &limit->per[limit->pers++]) && ok;
    return ok;
}

static bool limit_option(struct fm_pipe *pipe, const struct fm_yaml_pair *pair,
                         struct fm_limit *limit)
{
    struct fm_compile *c = &pipe->c;
    struct fm_scalar s;

    if (strcmp(pair->key, "rows") == 0)
        return limit_rows(pipe, pair->value, limit);
    if (strcmp(pair->key, "at") == 0)
        return limit_at(pipe, pair->value, limit);
    if (strcmp(pair->key, "per") == 0)
        return limit_per(pipe, pair->value, limit);
    if (strcmp(pair->key, "ties") == 0) {
        limit->ties = fm_yaml_is(pair->value, "include");
        if (limit->ties || fm_yaml_is(pair->value, "cut"))
            return true;
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), pair->value, "'ties' is include or cut");
        return false;
    }
    if (pair->value->type != FM_YAML_SCALAR || pair->value->n == 0) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), pair->value,
                      "'rest' is the name of the row for the others");
        return false;
    }
    if (!fm_scalar_get(c->q, c->arena, c->log, pair->value, &s))
        return false;
    limit->rest = s.text;
    limit->rest_n = s.n;
    return true;
}

void *fm_limit_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    static const char *const known[] = { "rows", "rest", "per", "ties", "at" };
    const struct fm_yaml_node *node = step->at->value;
    struct fm_compile *c = &pipe->c;
    struct fm_limit *limit = fm_arena_alloc(c->arena, sizeof *limit);
    bool ok = true;

    (void)schema;
    if (limit == NULL)
        return NULL;
    limit->at = -1;
    if (node->type != FM_YAML_MAP)
        return limit_rows(pipe, node, limit) ? limit : NULL;
    if (!fm_yaml_known(c->log, node, known, FM_COUNT(known), "key"))
        return NULL;
    if (fm_yaml_get(node, "rows") == NULL) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_MISSING), node, "'limit' has no 'rows'");
        return NULL;
    }
    for (size_t i = 0; i < node->n; i++)
        ok = limit_option(pipe, &node->pair[i], limit) && ok;
    pipe->plan->ties |= limit->ties;
    return ok ? limit : NULL;
}

/* --------------------------------------------------------------------- run */

/* The step is there, and a limit that needs no row behind its last. */
static const struct fm_limit *plain_limit(const struct fm_pipe *pipe, const struct fm_step *step)
{
    const struct fm_limit *l;

    if (step >= pipe->step + pipe->steps || step->type->run != fm_limit_run)
        return NULL;
    l = step->object;
    return !l->all && l->at < 0 && !l->ties && l->rest == NULL && l->pers == 0
                   && l->rows < UINT32_MAX ? l : NULL;
}

static enum fm_status sort_table(struct fm_flow *flow, const struct fm_step *step,
                                 struct fm_error *err)
{
    const struct sort *sort = step->object;
    const struct fm_limit *next = plain_limit(flow->pipe, step + 1);

    if (next != NULL)
        return fm_table_top(&flow->table, sort->key, sort->keys, (size_t)next->rows, err);
    return fm_table_sort(&flow->table, sort->key, sort->keys, err);
}

enum fm_status fm_sort_run(struct fm_flow *flow, const struct fm_step *step,
                           struct fm_error *err)
{
    const struct sort *sort = step->object;
    const struct fm_schema *schema = flow->table.schema;
    struct fm_table *t = &flow->table;
    enum fm_status status;
    bool ok = sort->own == NULL || fm_table_widen(t, sort->own);

    for (size_t i = 0; ok && i < sort->keys; i++)
        ok = sort->expr[i] == NULL || fm_table_fill(flow->c, t, sort->key[i].col, sort->expr[i]);
    if (!ok)
        return fm_error_nomem(err);
    status = sort_table(flow, step, err);
    if (status == FM_OK && flow->pipe->plan->ties && !fm_table_ties(t, sort->key, sort->keys))
        status = fm_error_nomem(err);
    if (sort->own != NULL)
        fm_table_narrow(t, schema);
    return status;
}

enum fm_status fm_limit_run(struct fm_flow *flow, const struct fm_step *step,
                            struct fm_error *err)
{
    enum fm_status status = FM_OK;

    if (!flow->table.sorted)
        status = fm_table_sort(&flow->table, NULL, 0, err);
    return status == FM_OK ? fm_table_limit(&flow->table, step->object, err) : status;
}
