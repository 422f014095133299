/*
 * limit.c - `sort:` and `limit:`, compiled and run.
 *
 *     sort: [-self, function]
 *     limit: {rows: 10, rest: "(other)", per: [process], ties: include, at: 50%}
 *
 * A limit goes by the order of the sort before it. A plain limit right behind a sort is part of the
 * sort: only as many rows are put in order as it leaves. What the options mean is in order.c.
 */
#include "query/plan.h"

#include "util/text.h"

struct sort {
    struct fm_sort_key *key;
    size_t keys;
};

struct limit {
    struct fm_limit limit;
    struct fm_sort_key *key;         /* of the sort before it */
    size_t keys;
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

void *fm_sort_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    struct fm_compile *c = &pipe->c;
    const struct fm_yaml_node *node = step->at->value;
    size_t n = node->type == FM_YAML_LIST ? node->n : 1;
    struct sort *sort = fm_arena_alloc(c->arena, sizeof *sort);
    bool ok = true;

    (void)schema;
    if (sort == NULL)
        return NULL;
    sort->key = fm_arena_alloc(c->arena, (n + 1) * sizeof *sort->key);
    if (sort->key == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        const struct fm_yaml_node *key = node->type == FM_YAML_LIST ? node->item[i] : node;
        bool down = key->type == FM_YAML_SCALAR && key->n > 1 && key->text[0] == '-';
        sort->key[i].descending = down;
        ok = fm_pipe_column(pipe, key, down, "a sort key", &sort->key[i].col) && ok;
    }
    sort->keys = n;
    pipe->key = sort->key;
    pipe->keys = n;
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
    struct limit *limit = fm_arena_alloc(c->arena, sizeof *limit);
    bool ok = true;

    (void)schema;
    if (limit == NULL)
        return NULL;
    limit->key = pipe->key;
    limit->keys = pipe->keys;
    limit->limit.at = -1;
    if (node->type != FM_YAML_MAP)
        return limit_rows(pipe, node, &limit->limit) ? limit : NULL;
    if (!fm_yaml_known(c->log, node, known, FM_COUNT(known), "key"))
        return NULL;
    if (fm_yaml_get(node, "rows") == NULL) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_MISSING), node, "'limit' has no 'rows'");
        return NULL;
    }
    for (size_t i = 0; i < node->n; i++)
        ok = limit_option(pipe, &node->pair[i], &limit->limit) && ok;
    return ok ? limit : NULL;
}

/* --------------------------------------------------------------------- run */

/* The step is there, and a limit that needs no row behind its last. */
static const struct fm_limit *plain_limit(const struct fm_pipe *pipe, const struct fm_step *step)
{
    const struct limit *limit;

    if (step >= pipe->step + pipe->steps || step->type->run != fm_limit_run)
        return NULL;
    limit = step->object;
    return !limit->limit.all && limit->limit.at < 0 && !limit->limit.ties
                   && limit->limit.rest == NULL && limit->limit.pers == 0
                   && limit->limit.rows < UINT32_MAX
               ? &limit->limit : NULL;
}

enum fm_status fm_sort_run(struct fm_flow *flow, const struct fm_step *step,
                           struct fm_error *err)
{
    const struct sort *sort = step->object;
    const struct fm_limit *next = plain_limit(flow->pipe, step + 1);

    if (next != NULL)
        return fm_table_top(&flow->table, sort->key, sort->keys, (size_t)next->rows, err);
    return fm_table_sort(&flow->table, sort->key, sort->keys, err);
}

enum fm_status fm_limit_run(struct fm_flow *flow, const struct fm_step *step,
                            struct fm_error *err)
{
    const struct limit *limit = step->object;
    enum fm_status status = FM_OK;

    if (!flow->table.sorted)
        status = fm_table_sort(&flow->table, NULL, 0, err);
    return status != FM_OK ? status : fm_table_limit(&flow->table, &limit->limit, limit->key,
                                                     limit->keys, err);
}
