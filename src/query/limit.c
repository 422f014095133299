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
#include "query/lines.h"

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

/* A limit that needs no row behind its last. */
static bool is_plain(const struct fm_limit *l)
{
    return !l->all && l->at < 0 && !l->ties && l->rest == NULL && l->pers == 0
           && l->rows < UINT32_MAX;
}

/* The step is there, and such a limit. */
static const struct fm_limit *plain_limit(const struct fm_pipe *pipe, const struct fm_step *step)
{
    if (step >= pipe->step + pipe->steps || step->type->run != fm_limit_run)
        return NULL;
    return is_plain(step->object) ? step->object : NULL;
}

bool fm_keep_ahead(const struct fm_pipe *pipe, const struct fm_step *step, struct fm_keep *cut)
{
    const struct fm_limit *limit = plain_limit(pipe, step);
    const struct sort *sort;

    *cut = (struct fm_keep){ .keys = 0 };
    if (limit == NULL && step < pipe->step + pipe->steps && step->type->run == fm_sort_run) {
        sort = step->object;
        limit = plain_limit(pipe, step + 1);
        *cut = (struct fm_keep){ .key = sort->key, .keys = sort->keys, .own = sort->own,
                                .expr = sort->own != NULL ? sort->expr : NULL };
    }
    cut->rows = limit == NULL ? 0 : limit->rows;
    return limit != NULL && limit->rows > 0;
}

/* Columns for the keys that are expressions. */
static bool add_keys(const struct fm_keep *cut, const struct fm_compile *c, struct fm_table *t)
{
    bool ok = cut->own == NULL || fm_table_widen(t, cut->own);

    for (size_t i = 0; ok && cut->expr != NULL && i < cut->keys; i++)
        ok = cut->expr[i] == NULL || fm_table_fill(c, t, cut->key[i].col, cut->expr[i]);
    return ok;
}

enum fm_status fm_keep_first(const struct fm_keep *cut, const struct fm_compile *c,
                            struct fm_table *t, struct fm_error *err)
{
    const struct fm_schema *schema = t->schema;
    enum fm_status status;

    if (!add_keys(cut, c, t))
        return fm_error_nomem(err);
    status = cut->rows > 0 ? fm_table_top(t, cut->key, cut->keys, (size_t)cut->rows, err)
                           : fm_table_sort(t, cut->key, cut->keys, err);
    if (cut->rows > 0)
        t->n = FM_MIN(t->n, (size_t)cut->rows);
    if (cut->own != NULL)
        fm_table_narrow(t, schema);
    return status;
}

static enum fm_status sort_table(struct fm_flow *flow, const struct fm_step *step,
                                 const struct sort *sort, struct fm_error *err)
{
    const struct fm_limit *next = plain_limit(flow->pipe, step + 1);

    if (next != NULL)
        return fm_table_top(&flow->table, sort->key, sort->keys, (size_t)next->rows, err);
    return fm_table_sort(&flow->table, sort->key, sort->keys, err);
}

/* Sorts the table, whose columns for the keys are there; it is left with those of `schema`. */
static enum fm_status sort_by(struct fm_flow *flow, const struct fm_step *step,
                              const struct sort *sort, const struct fm_schema *schema,
                              struct fm_error *err)
{
    struct fm_table *t = &flow->table;
    enum fm_status status = sort_table(flow, step, sort, err);

    if (status == FM_OK && flow->pipe->plan->ties && !fm_table_ties(t, sort->key, sort->keys))
        status = fm_error_nomem(err);
    if (sort->own != NULL)
        fm_table_narrow(t, schema);
    return status;
}

enum fm_status fm_sort_run(struct fm_flow *flow, const struct fm_step *step,
                           struct fm_error *err)
{
    const struct sort *sort = step->object;
    const struct fm_schema *schema = flow->table.schema;
    const struct fm_keep keys = { .key = sort->key, .keys = sort->keys, .expr = sort->expr,
                                 .own = sort->own };

    if (!add_keys(&keys, flow->c, &flow->table))
        return fm_error_nomem(err);
    return sort_by(flow, step, sort, schema, err);
}

enum fm_status fm_limit_run(struct fm_flow *flow, const struct fm_step *step,
                            struct fm_error *err)
{
    enum fm_status status = FM_OK;

    if (!flow->table.sorted)
        status = fm_table_sort(&flow->table, NULL, 0, err);
    return status == FM_OK ? fm_table_limit(&flow->table, step->object, err) : status;
}

/* ----------------------------------------------------------------- of rows */

/* `sort` and `limit` of rows: first they become a table of the columns they are told by. */
struct row_step {
    struct fm_lines *lines;
    struct sort sort;
    struct fm_limit *limit;
};

/* Columns by their names come first: those of expressions stand behind all that stay. */
static bool row_key(struct fm_pipe *pipe, const struct fm_yaml_node *node, struct row_step *rows,
                    size_t i, bool expressions, struct fm_schema *schema)
{
    struct fm_compile *c = &pipe->c;
    bool scalar = node->type == FM_YAML_SCALAR;
    bool down = scalar && node->n > 1 && node->text[0] == '-';
    bool is = scalar && is_expression(node->text + down, node->n - down);
    struct fm_yaml_node bare = *node;
    struct fm_scalar s;
    uint32_t col;

    if (is != expressions)
        return true;
    if (!scalar) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node, "a sort key is the name of a column");
        return false;
    }
    bare.text += down;
    bare.n -= down;
    if (!fm_scalar_get(c->q, c->arena, c->log, &bare, &s))
        return false;
    rows->sort.key[i].descending = down;
    if (s.unknown)
        return true;
    s.at = is ? node : s.at;
    col = is ? fm_lines_expr(c, rows->lines, &s)
             : fm_lines_name(c, rows->lines, s.text, node, schema);
    rows->sort.key[i].col = col;
    if (is && col != FM_NONE)
        rows->sort.own = schema;         /* there are more columns than those of the schema */
    return col != FM_NONE;
}

void *fm_row_sort_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    struct fm_arena *arena = pipe->c.arena;
    const struct fm_yaml_node *node = step->at->value;
    bool list = node->type == FM_YAML_LIST;
    struct row_step *rows = fm_arena_alloc(arena, sizeof *rows);
    bool ok = true;

    if (rows == NULL)
        return NULL;
    rows->lines = fm_lines_default(&pipe->c, schema);
    rows->sort.keys = list ? node->n : 1;
    rows->sort.key = fm_arena_alloc(arena, (rows->sort.keys + 1) * sizeof *rows->sort.key);
    if (rows->lines == NULL || rows->sort.key == NULL)
        return NULL;
    for (size_t i = 0; i < 2 * rows->sort.keys; i++) {
        size_t k = i % rows->sort.keys;
        ok = row_key(pipe, list ? node->item[k] : node, rows, k, i != k, schema) && ok;
    }
    return ok ? rows : NULL;
}

enum fm_status fm_row_sort_run(struct fm_flow *flow, const struct fm_step *step,
                               struct fm_error *err)
{
    const struct row_step *rows = step->object;
    const struct fm_limit *next = plain_limit(flow->pipe, step + 1);
    const struct fm_keep cut = { .key = rows->sort.key, .keys = rows->sort.keys,
                                .rows = next == NULL ? 0 : next->rows };
    enum fm_status status =
        fm_lines_fill(flow, step, rows->lines, cut.rows > 0 ? &cut : NULL, err);

    return status == FM_OK ? sort_by(flow, step, &rows->sort, step->schema, err) : status;
}

void *fm_row_limit_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    struct row_step *rows = fm_arena_alloc(pipe->c.arena, sizeof *rows);

    if (rows == NULL)
        return NULL;
    rows->lines = fm_lines_default(&pipe->c, schema);
    if (rows->lines == NULL)
        return NULL;
    pipe->c.schema = schema;             /* `per` names its columns */
    rows->limit = fm_limit_compile(pipe, step, schema);
    return rows->limit != NULL ? rows : NULL;
}

enum fm_status fm_row_limit_run(struct fm_flow *flow, const struct fm_step *step,
                                struct fm_error *err)
{
    const struct row_step *rows = step->object;
    const struct fm_keep cut = { .rows = is_plain(rows->limit) ? rows->limit->rows : 0 };
    enum fm_status status =
        fm_lines_fill(flow, step, rows->lines, cut.rows > 0 ? &cut : NULL, err);

    if (status == FM_OK)
        status = fm_table_sort(&flow->table, NULL, 0, err);
    return status == FM_OK ? fm_table_limit(&flow->table, rows->limit, err) : status;
}

uint64_t fm_row_step_keeps(const struct fm_pipe *pipe, const struct fm_step *step)
{
    const struct row_step *rows = step->object;
    const struct fm_limit *next;
    struct fm_keep cut;

    if (step->type->run == fm_lines_run)
        return fm_keep_ahead(pipe, step + 1, &cut) ? cut.rows : 0;
    if (step->type->run == fm_row_limit_run)
        return is_plain(rows->limit) ? rows->limit->rows : 0;
    next = step->type->run == fm_row_sort_run ? plain_limit(pipe, step + 1) : NULL;
    return next == NULL ? 0 : next->rows;
}
