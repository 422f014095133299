/*
 * join.c - `join:`, the columns of another table beside those of this one.
 *
 *     join: {with: launchers, on: [kernel], kind: left}
 *
 *     inner   rows that both tables have, by the columns of `on`
 *     left    all rows of this table; nulls where the other has none
 *     full    those of the other table as well
 *
 * A row that meets several rows of the other table is there as often. Columns of the other table
 * that are not in `on` follow; each is known as LET.NAME, and that is its name where the bare one
 * is taken. Null equals null: rows without a thread are a group like any other.
 */
#include "query/plan.h"

#include "util/error.h"
#include "util/text.h"

#define MAX_REPEATS 10000000

enum kind { INNER, LEFT, FULL };

struct join {
    struct fm_pipe *with;
    const char *name;                /* of `with` */
    enum kind kind;
    size_t *left, *right;            /* columns of `on` in both tables */
    size_t on;
    size_t *column;                  /* of the other table: those that follow */
    size_t columns, from;            /* from: where they begin in the result */
};

/* ----------------------------------------------------------------- compile */

static bool compile_kind(struct fm_compile *c, const struct fm_yaml_node *node, struct join *join)
{
    static const char *const known[] = { "inner", "left", "full" };

    for (size_t i = 0; node != NULL && i < FM_COUNT(known); i++) {
        if (!fm_yaml_is(node, known[i]))
            continue;
        join->kind = (enum kind)i;
        return true;
    }
    if (node == NULL)
        return true;
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node, "'kind' is inner, left or full");
    return false;
}

/* The column of the other table that a scalar names. */
static bool other_column(struct fm_pipe *pipe, const struct fm_pipe *other,
                         const struct fm_yaml_node *node, size_t *col)
{
    const struct fm_schema *schema = other->schema;
    struct fm_compile *c = &pipe->c;
    const char **list = fm_arena_alloc(c->arena, (schema->n + 1) * sizeof *list);
    const char *near;
    struct fm_scalar s;
    uint32_t k;

    if (list == NULL || !fm_scalar_get(c->q, c->arena, c->log, node, &s))
        return false;
    *col = 0;
    k = s.unknown ? FM_NONE : fm_schema_find(schema, s.text, s.n);
    if (k != FM_NONE)
        *col = k;
    if (s.unknown || k != FM_NONE || schema->open)
        return true;
    for (size_t i = 0; i < schema->n; i++)
        list[i] = schema->column[i].name;
    near = fm_text_nearest(s.text, list, schema->n);
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_UNKNOWN), node, "'%s' has no column '%s'%s%s%s",
                  other->let->key, s.text, near ? " (did you mean '" : "", near ? near : "",
                  near ? "'?)" : "");
    return false;
}

bool fm_pipe_both(struct fm_pipe *pipe, const struct fm_pipe *other,
                  const struct fm_yaml_node *node, const char *what, size_t *here, size_t *there)
{
    const struct fm_schema *own = pipe->c.schema;
    const struct fm_schema_column *a, *b;
    bool ok = fm_pipe_column(pipe, node, 0, what, here);

    ok = ok && other_column(pipe, other, node, there);
    if (!ok || own->open || other->schema->open)
        return ok;
    a = &own->column[*here];
    b = &other->schema->column[*there];
    if (a->untyped || b->untyped || fm_cells_match(a->type, b->type))
        return true;
    fm_yaml_error(fm_yaml_as(pipe->c.log, FM_YAML_TYPE), node,
                  "'%s' is of different kinds in the two tables", a->name);
    return false;
}

static bool compile_on(struct fm_pipe *pipe, const struct fm_yaml_node *node, struct join *join)
{
    size_t n = node->type == FM_YAML_LIST ? node->n : 1;
    bool ok = true;

    join->left = fm_arena_alloc(pipe->c.arena, (n + 1) * sizeof *join->left);
    join->right = fm_arena_alloc(pipe->c.arena, (n + 1) * sizeof *join->right);
    if (join->left == NULL || join->right == NULL)
        return false;
    for (size_t i = 0; i < n; i++, join->on++)
        ok = fm_pipe_both(pipe, join->with, node->type == FM_YAML_LIST ? node->item[i] : node,
                          "'on'", &join->left[i], &join->right[i]) && ok;
    if (n == 0)
        fm_yaml_error(fm_yaml_as(pipe->c.log, FM_YAML_MISSING), node, "'on' names no column");
    return ok && n > 0;
}

static bool is_in(const size_t *list, size_t n, size_t col)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == col)
            return true;
    }
    return false;
}

/* No two rows of the table agree in the columns: all of its keys are among them. */
static bool is_unique(const struct fm_schema *schema, const size_t *col, size_t cols)
{
    for (size_t c = 0; c < schema->n; c++) {
        if (schema->column[c].key && !is_in(col, cols, c))
            return false;
    }
    return true;
}

static bool describe_column(struct fm_compile *c, const struct join *join,
                            const struct fm_schema_column *from, struct fm_schema *schema)
{
    struct fm_schema_column *col = &schema->column[schema->n];

    *col = *from;
    col->full = fm_arena_printf(c->arena, "%s.%s", join->name, from->name);
    if (col->full == NULL)
        return false;
    if (fm_schema_find(schema, from->name, strlen(from->name)) != FM_NONE)
        col->name = col->full;
    if (fm_schema_find(schema, col->full, strlen(col->full)) != FM_NONE)
        col->name = col->full = fm_arena_printf(c->arena, "%s.%s", join->name, from->full);
    if (col->share)
        col->of = fm_arena_printf(c->arena, "%s.%s", join->name, from->of);
    col->depth = col->indented = false;
    schema->n++;
    return col->full != NULL && (!col->share || col->of != NULL);
}

static bool describe(struct fm_compile *c, struct join *join, struct fm_schema *schema)
{
    const struct fm_schema *other = join->with->schema;
    bool once = is_unique(other, join->right, join->on);
    bool only = is_unique(schema, join->left, join->on);
    struct fm_schema_column *column;

    join->from = schema->n;
    schema->open |= other->open;
    join->column = fm_arena_alloc(c->arena, (other->n + 1) * sizeof *join->column);
    column = fm_arena_alloc(c->arena, (schema->n + other->n + 1) * sizeof *column);
    if (column == NULL || join->column == NULL)
        return false;
    if (schema->n > 0)
        memcpy(column, schema->column, schema->n * sizeof *column);
    /* a row that is there twice must not be summed twice */
    for (size_t i = 0; i < schema->n; i++)
        column[i].additive &= once;
    schema->column = column;
    schema->cap = schema->n + other->n + 1;
    for (size_t i = 0; i < other->n && !other->open; i++) {
        if (is_in(join->right, join->on, i))
            continue;
        join->column[join->columns++] = i;
        if (!describe_column(c, join, &other->column[i], schema))
            return false;
        column[schema->n - 1].additive &= only;
    }
    return true;
}

void *fm_join_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    static const char *const known[] = { "with", "on", "kind" };
    const struct fm_yaml_node *node = step->at->value, *with, *on;
    struct fm_compile *c = &pipe->c;
    struct join *join = fm_arena_alloc(c->arena, sizeof *join);

    if (join == NULL)
        return NULL;
    if (node->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node,
                      "'join' takes {with: LET, on: [COLUMN …], kind: inner|left|full}");
        return NULL;
    }
    if (!fm_yaml_known(c->log, node, known, FM_COUNT(known), "key"))
        return NULL;
    with = fm_yaml_get(node, "with");
    on = fm_yaml_get(node, "on");
    if (with == NULL || on == NULL) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_MISSING), node, "'join' has no '%s'",
                      with == NULL ? "with" : "on");
        return NULL;
    }
    join->with = fm_pipe_need(pipe, step, with, FM_SHAPE_TABLE, "'with'");
    if (join->with == NULL || !compile_kind(c, fm_yaml_get(node, "kind"), join))
        return NULL;
    join->name = join->with->let->key;
    return compile_on(pipe, on, join) && describe(c, join, schema) ? join : NULL;
}

/* --------------------------------------------------------------------- run */

/* A row of the result: of both tables, FM_NONE = of none. */
static bool add_row(const struct join *join, struct fm_table *to, const struct fm_table *a,
                    uint32_t x, const struct fm_table *b, uint32_t y)
{
    uint32_t row = fm_table_add(to);
    bool ok = row != FM_NONE;

    for (size_t c = 0; ok && x != FM_NONE && c < join->from; c++)
        ok = fm_cell_copy(to, row, c, a, x, c);
    for (size_t k = 0; ok && x == FM_NONE && k < join->on; k++)
        ok = fm_cell_copy(to, row, join->left[k], b, y, join->right[k]);
    for (size_t k = 0; ok && y != FM_NONE && k < join->columns; k++)
        ok = fm_cell_copy(to, row, join->from + k, b, y, join->column[k]);
    return ok;
}

/* Whether keys that both tables have often make more rows than anybody reads: they multiply. */
static bool is_too_large(const struct join *join, struct fm_lookup *rows, const struct fm_table *a,
                         const struct fm_table *b)
{
    uint64_t n = 0, most = (uint64_t)a->n + b->n + MAX_REPEATS;

    for (size_t i = 0; i < a->n && n <= most; i++) {
        uint32_t y = fm_lookup_find(rows, a, join->left, a->order[i]);
        for (; y != FM_NONE && n <= most; y = fm_lookup_next(rows, y))
            n++;
    }
    return n > most;
}

static bool join_rows(const struct join *join, struct fm_table *to, const struct fm_table *a,
                      const struct fm_table *b, uint8_t *met, bool *too_large)
{
    struct fm_lookup rows;
    bool ok = fm_lookup_init(&rows, b, join->right, join->on);

    *too_large = ok && is_too_large(join, &rows, a, b);
    ok = ok && !*too_large;
    for (size_t i = 0; ok && i < a->n; i++) {
        uint32_t x = a->order[i], y = fm_lookup_find(&rows, a, join->left, x);
        if (y == FM_NONE && join->kind != INNER)
            ok = add_row(join, to, a, x, b, FM_NONE);
        for (; ok && y != FM_NONE; y = fm_lookup_next(&rows, y)) {
            met[y] = 1;
            ok = add_row(join, to, a, x, b, y);
        }
    }
    for (size_t i = 0; ok && join->kind == FULL && i < b->n; i++)
        ok = met[b->order[i]] || add_row(join, to, a, FM_NONE, b, b->order[i]);
    fm_lookup_release(&rows);
    return ok;
}

bool fm_table_base(struct fm_table *t, const char *of, fm_i128 value, const char *unit,
                   struct fm_arena *arena)
{
    /* 128-bit integers, and an arena aligns to 8 bytes */
    struct fm_share_base *list = fm_arena_alloc(arena, (t->bases + 2) * sizeof *list);

    if (list == NULL || of == NULL)
        return false;
    list = (struct fm_share_base *)(((uintptr_t)list + 15) & ~(uintptr_t)15);
    if (t->bases > 0)
        memcpy(list, t->base, t->bases * sizeof *list);
    list[t->bases++] = (struct fm_share_base){ of, value, unit };
    t->base = list;
    return true;
}

bool fm_table_bases(struct fm_table *to, const struct fm_table *from, const char *prefix,
                    struct fm_arena *arena)
{
    bool ok = fm_table_base(to, fm_arena_printf(arena, "%s.selected", prefix), from->selected,
                            from->unit, arena)
              && fm_table_base(to, fm_arena_printf(arena, "%s.all", prefix), from->all,
                               from->unit, arena);

    for (size_t i = 0; ok && i < from->bases; i++)
        ok = fm_table_base(to, fm_arena_printf(arena, "%s.%s", prefix, from->base[i].of),
                           from->base[i].value, from->base[i].unit, arena);
    return ok;
}

enum fm_status fm_join_run(struct fm_flow *flow, const struct fm_step *step, struct fm_error *err)
{
    const struct join *join = step->object;
    const struct fm_table *other = &join->with->flow->table;
    struct fm_table to;
    uint8_t *met = fm_arena_alloc(flow->c->arena, other->rows + 1);
    bool too_large = false;

    if (met == NULL)
        return fm_error_nomem(err);
    fm_flow_like(flow, step, &to);
    if (!join_rows(join, &to, &flow->table, other, met, &too_large)
        || !fm_table_bases(&to, other, join->name, flow->c->arena)) {
        fm_table_release(&to);
        if (!too_large)
            return fm_error_nomem(err);
        fm_yaml_error(fm_yaml_as(flow->c->log, FM_YAML_TYPE), step->at->value,
                      "the join makes over %d rows more than the two tables have", MAX_REPEATS);
        fm_yaml_note(flow->c->log, "both have many rows of one key: 'on' may lack a column");
        return FM_CONFIG;
    }
    fm_flow_replace(flow, &to);
    return FM_OK;
}
