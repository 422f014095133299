/*
 * pivot.c - `pivot:`, the values of one column become columns.
 *
 *     kernel  stall   self            kernel  barrier  memory  stalls
 *     k1      memory     5     ->     k1            2       5       7
 *     k1      barrier    2            k2                    1       1
 *     k2      memory     1
 *
 *     pivot: {rows: [kernel], column: stall, value: self, fill: 0, share: row, total: stalls}
 *
 * One row for each value of `rows`, one column for each value of `column`, in its order. Where two
 * rows meet in a cell they are summed, when the column is one that may be (additive); else it is an
 * error. What the columns are is known when there is data: until then the schema is open.
 */
#include "query/group.h"
#include "query/plan.h"

#include "util/error.h"
#include "util/text.h"

#include <stdlib.h>

#define MAX_COLUMNS 1000             /* that data may make */

enum share { WHOLE, OF_ROW, OF_COLUMN, OF_TABLE };

struct pivot {
    const struct fm_yaml_node *at;
    size_t *row;
    size_t rows;
    size_t column, value;
    const char *total;               /* name of the column of sums, or NULL */
    enum share share;
    bool filled;
    struct fm_value fill;
};

/* ----------------------------------------------------------------- compile */

static bool compile_rows(struct fm_pipe *pipe, const struct fm_yaml_node *node,
                         struct pivot *pivot)
{
    size_t n = node->type == FM_YAML_LIST ? node->n : 1;
    bool ok = true;

    pivot->row = fm_arena_alloc(pipe->c.arena, (n + 1) * sizeof *pivot->row);
    for (size_t i = 0; pivot->row != NULL && i < n; i++)
        ok = fm_pipe_column(pipe, node->type == FM_YAML_LIST ? node->item[i] : node, 0, "'rows'",
                            &pivot->row[pivot->rows++]) && ok;
    if (ok && pivot->row != NULL && n == 0) {
        fm_yaml_error(fm_yaml_as(pipe->c.log, FM_YAML_MISSING), node, "'rows' names no column");
        return false;
    }
    return ok && pivot->row != NULL;
}

static bool compile_share(struct fm_compile *c, const struct fm_yaml_node *node,
                          struct pivot *pivot)
{
    static const char *const known[] = { "row", "column", "table" };

    for (size_t i = 0; i < FM_COUNT(known); i++) {
        if (!fm_yaml_is(node, known[i]))
            continue;
        pivot->share = (enum share)(OF_ROW + i);
        return true;
    }
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node, "'share' is row, column or table");
    return false;
}

static bool compile_fill(struct fm_compile *c, const struct fm_yaml_node *node,
                         struct pivot *pivot)
{
    struct fm_scalar s = { .at = node };
    const char *unit;

    if (node->type == FM_YAML_SCALAR) {
        if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
            return false;
        pivot->filled = true;
        if (s.unknown || (fm_scalar_number(c->q, s.text, s.n, &pivot->fill, &unit)
                          && fm_value_is_number(&pivot->fill)))
            return true;
    }
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node, "'fill' is a number");
    return false;
}

static bool compile_total(struct fm_compile *c, const struct fm_yaml_node *node,
                          struct pivot *pivot)
{
    struct fm_scalar s = { .at = node };

    if (node->type != FM_YAML_SCALAR || node->n == 0) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node,
                      "'total' is the name of the column of sums");
        return false;
    }
    if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
        return false;
    pivot->total = s.text;
    return true;
}

static bool compile_options(struct fm_pipe *pipe, const struct fm_yaml_node *node,
                            struct pivot *pivot)
{
    const struct fm_yaml_node *fill = fm_yaml_get(node, "fill");
    const struct fm_yaml_node *share = fm_yaml_get(node, "share");
    const struct fm_yaml_node *total = fm_yaml_get(node, "total");
    struct fm_compile *c = &pipe->c;
    bool ok = true;

    ok = (fill == NULL || compile_fill(c, fill, pivot)) && ok;
    ok = (share == NULL || compile_share(c, share, pivot)) && ok;
    return (total == NULL || compile_total(c, total, pivot)) && ok;
}

static bool is_number(const struct fm_schema_column *col)
{
    return col->untyped || col->type == FM_CELL_INT || col->type == FM_CELL_F64;
}

/* The columns that there are without data: those of `rows`. */
static bool describe(struct fm_compile *c, const struct pivot *pivot, struct fm_schema *schema)
{
    struct fm_schema_column *column =
        fm_arena_alloc(c->arena, (pivot->rows + 1) * sizeof *column);

    if (column == NULL)
        return false;
    for (size_t i = 0; i < pivot->rows && schema->n > 0; i++) {
        column[i] = schema->column[pivot->row[i]];
        column[i].key = true;
        column[i].additive = false;
    }
    schema->n = schema->n > 0 ? pivot->rows : 0;
    schema->cap = pivot->rows;
    schema->column = column;
    schema->open = true;
    return true;
}

void *fm_pivot_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    static const char *const known[] = { "rows", "column", "value", "fill", "share", "total" };
    const struct fm_yaml_node *node = step->at->value, *need[3];
    struct fm_compile *c = &pipe->c;
    struct pivot *pivot = fm_arena_alloc(c->arena, sizeof *pivot);
    bool ok;

    if (pivot == NULL)
        return NULL;
    pivot->at = node;
    if (node->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node,
                      "'pivot' takes {rows: [COLUMN …], column: COLUMN, value: COLUMN}");
        return NULL;
    }
    ok = fm_yaml_known(c->log, node, known, FM_COUNT(known), "key");
    for (size_t i = 0; i < FM_COUNT(need); i++) {
        need[i] = fm_yaml_get(node, known[i]);
        if (need[i] != NULL)
            continue;
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_MISSING), node, "'pivot' has no '%s'", known[i]);
        ok = false;
    }
    if (!ok)
        return NULL;
    ok = compile_rows(pipe, need[0], pivot);
    ok = fm_pipe_column(pipe, need[1], 0, "'column'", &pivot->column) && ok;
    ok = fm_pipe_column(pipe, need[2], 0, "'value'", &pivot->value) && ok;
    ok = compile_options(pipe, node, pivot) && ok;
    if (ok && !schema->open && !is_number(&schema->column[pivot->value])) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), need[2], "'value' is no column of numbers");
        return NULL;
    }
    return ok && describe(c, pivot, schema) ? pivot : NULL;
}

/* --------------------------------------------------------------------- run */

struct turner {
    struct fm_flow *flow;
    const struct pivot *pivot;
    const struct fm_table *t;        /* what comes in */
    struct fm_table *to;
    struct fm_lookup rows, columns;
    uint32_t *head;                  /* first row of t by new column, in order */
    size_t heads;
    uint32_t *made;                  /* by the first row of t: its new row + 1, or new column + 1 */
    struct fm_schema *schema;
};

static int compare_heads(const struct turner *x, uint32_t a, uint32_t b)
{
    return fm_table_compare(x->t, x->pivot->column, false, a, b);
}

/* Insertion by halves: there are few columns. */
static bool find_columns(struct turner *x, struct fm_error *err)
{
    const struct fm_table *t = x->t;

    x->head = fm_arena_alloc(x->flow->c->arena, (MAX_COLUMNS + 1) * sizeof *x->head);
    if (x->head == NULL)
        return false;
    for (size_t i = 0; i < t->n; i++) {
        uint32_t row = t->order[i];
        size_t lo = 0, hi = x->heads;
        if (fm_lookup_find(&x->columns, t, &x->pivot->column, row) != row)
            continue;
        if (x->heads == MAX_COLUMNS) {
            fm_yaml_error(fm_yaml_as(x->flow->c->log, FM_YAML_TYPE), x->pivot->at,
                          "'%s' has more than %d values: too many for columns",
                          t->schema->column[x->pivot->column].name, MAX_COLUMNS);
            (void)fm_error_set(err, FM_CONFIG, "%s", x->flow->c->log->first.message);
            return false;
        }
        while (lo < hi) {
            size_t mid = (lo + hi) / 2;
            if (compare_heads(x, x->head[mid], row) < 0)
                lo = mid + 1;
            else
                hi = mid;
        }
        memmove(x->head + lo + 1, x->head + lo, (x->heads - lo) * sizeof *x->head);
        x->head[lo] = row;
        x->heads++;
    }
    return true;
}

/* The text of a value; where that is taken, behind the name of its column. */
static const char *column_name(const struct turner *x, uint32_t row)
{
    const struct fm_schema_column *from = &x->t->schema->column[x->pivot->column];
    struct fm_arena *arena = x->flow->c->arena;
    const char *name = fm_cell_text(arena, x->t, row, x->pivot->column);

    if (name != NULL && fm_table_is_null(x->t, row, x->pivot->column))
        name = "(none)";
    while (name != NULL
           && (fm_schema_find(x->schema, name, strlen(name)) != FM_NONE
               || (x->pivot->total != NULL && strcmp(name, x->pivot->total) == 0)))
        name = fm_arena_printf(arena, "%s.%s", from->name, name);
    return name;
}

static bool make_schema(struct turner *x)
{
    static const char *const of[] = { "", "row", "column", "table" };
    const struct pivot *pivot = x->pivot;
    struct fm_arena *arena = x->flow->c->arena;
    const struct fm_schema_column *value = &x->t->schema->column[pivot->value];
    struct fm_schema *s = fm_arena_alloc(arena, sizeof *s);
    struct fm_schema_column *col;

    if (s == NULL)
        return false;
    x->schema = s;
    s->cap = pivot->rows + x->heads + 1;
    s->column = fm_arena_alloc(arena, s->cap * sizeof *s->column);
    if (s->column == NULL)
        return false;
    for (; s->n < pivot->rows; s->n++) {
        col = &s->column[s->n];
        *col = x->t->schema->column[pivot->row[s->n]];
        col->key = true;
        col->additive = false;
    }
    for (size_t i = 0; i < x->heads; i++) {
        struct fm_schema_column made = { .unit = value->unit, .type = value->type,
                                         .additive = value->additive, .amount = value->amount,
                                         .share = value->share, .of = value->of };
        if (pivot->share != WHOLE)
            made = (struct fm_schema_column){ .unit = "", .type = FM_CELL_F64, .share = true,
                                              .of = of[pivot->share] };
        made.name = made.full = column_name(x, x->head[i]);
        if (made.name == NULL)
            return false;
        s->column[s->n++] = made;
    }
    if (pivot->total != NULL)
        s->column[s->n++] = (struct fm_schema_column){
            .name = pivot->total, .full = pivot->total, .unit = value->unit, .type = value->type,
            .additive = value->additive, .amount = value->amount, .share = value->share,
            .of = value->of };
    return true;
}

static void add(struct fm_number *to, const struct fm_number *n)
{
    to->i += n->i;
    to->f += n->f;
    to->there |= n->there;
}

/* Cells as they are: those of one row of t that meet none, or are summed. */
struct cells {
    struct fm_number *at;               /* [row * heads + column] */
    uint32_t *first;                 /* first row of t by new row */
    size_t rows;
};

static bool clash(struct turner *x, uint32_t row, struct fm_error *err)
{
    const struct fm_schema_column *col = x->t->schema->column;
    struct fm_arena *arena = x->flow->c->arena;
    const char *a = fm_cell_text(arena, x->t, row, x->pivot->row[0]);
    const char *b = fm_cell_text(arena, x->t, row, x->pivot->column);

    fm_yaml_error(fm_yaml_as(x->flow->c->log, FM_YAML_TYPE), x->pivot->at,
                  "several rows have %s '%s' and %s '%s', and '%s' cannot be summed",
                  col[x->pivot->row[0]].name, a == NULL ? "" : a, col[x->pivot->column].name,
                  b == NULL ? "" : b, col[x->pivot->value].name);
    (void)fm_error_set(err, FM_CONFIG, "%s", x->flow->c->log->first.message);
    return false;
}

static bool find_rows(struct turner *x, struct cells *cells)
{
    const struct fm_table *t = x->t;

    x->made = fm_arena_alloc(x->flow->c->arena, (t->rows + 1) * sizeof *x->made);
    cells->first = fm_arena_alloc(x->flow->c->arena, (t->n + 1) * sizeof *cells->first);
    if (x->made == NULL || cells->first == NULL)
        return false;
    for (size_t i = 0; i < t->n; i++) {
        uint32_t row = t->order[i];
        uint32_t first = fm_lookup_find(&x->rows, t, x->pivot->row, row);
        if (first == row) {
            cells->first[cells->rows++] = row;
            x->made[row] = (uint32_t)cells->rows;
        }
    }
    return true;
}

static bool fill_cells(struct turner *x, struct cells *cells, struct fm_error *err)
{
    const struct fm_table *t = x->t;
    const struct pivot *pivot = x->pivot;
    uint32_t *column = fm_arena_alloc(x->flow->c->arena, (t->rows + 1) * sizeof *column);

    if (column == NULL)
        return false;
    for (size_t i = 0; i < x->heads; i++)
        column[x->head[i]] = (uint32_t)i;
    for (size_t i = 0; i < t->n; i++) {
        uint32_t row = t->order[i];
        uint32_t r = x->made[fm_lookup_find(&x->rows, t, pivot->row, row)] - 1;
        uint32_t c = column[fm_lookup_find(&x->columns, t, &pivot->column, row)];
        struct fm_number *at = &cells->at[(size_t)r * x->heads + c];
        struct fm_number n = fm_table_number(t, row, pivot->value);
        if (at->there && n.there && !t->schema->column[pivot->value].additive)
            return clash(x, row, err);
        add(at, &n);
    }
    for (size_t i = 0; pivot->filled && i < cells->rows * x->heads; i++) {
        if (cells->at[i].there)
            continue;
        cells->at[i] = (struct fm_number){ .f = fm_value_as_f64(&pivot->fill), .there = true };
        cells->at[i].i = pivot->fill.type == FM_F64 ? (fm_i128)fm_clamp_i64(pivot->fill.f)
                                                    : (fm_i128)pivot->fill.i;
    }
    return true;
}

static void put(struct fm_table *to, uint32_t row, size_t col, const struct fm_number *n)
{
    if (!n->there)
        return;
    if (to->schema->column[col].type == FM_CELL_F64)
        fm_table_f64(to, row, col, n->f);
    else
        fm_table_int(to, row, col, n->i);
}

static bool write_rows(struct turner *x, const struct cells *cells)
{
    struct fm_table *to = x->to;
    const struct pivot *pivot = x->pivot;
    struct fm_number *sum = fm_mem_zalloc(to->mem, (x->heads + 1) * sizeof *sum);
    struct fm_number all = { .there = true };
    bool ok = sum != NULL;

    for (size_t i = 0; ok && i < cells->rows * x->heads; i++) {
        add(&sum[i % x->heads], &cells->at[i]);
        add(&all, &cells->at[i]);
    }
    for (size_t r = 0; ok && r < cells->rows; r++) {
        const struct fm_number *at = &cells->at[r * x->heads];
        struct fm_number total = { .there = true };
        uint32_t row = fm_table_add(to);
        ok = row != FM_NONE;
        for (size_t k = 0; ok && k < pivot->rows; k++)
            ok = fm_cell_copy(to, row, k, x->t, cells->first[r], pivot->row[k]);
        for (size_t c = 0; ok && c < x->heads; c++)
            add(&total, &at[c]);
        for (size_t c = 0; ok && c < x->heads; c++) {
            double base = pivot->share == OF_ROW ? total.f
                          : pivot->share == OF_COLUMN ? sum[c].f : all.f;
            if (pivot->share == WHOLE)
                put(to, row, pivot->rows + c, &at[c]);
            else if (at[c].there && base != 0)
                fm_table_f64(to, row, pivot->rows + c, at[c].f / base);
        }
        if (ok && pivot->total != NULL)
            put(to, row, pivot->rows + x->heads, &total);
    }
    fm_mem_free(to->mem, sum, sum == NULL ? 0 : (x->heads + 1) * sizeof *sum);
    return ok;
}

static bool turn(struct turner *x, struct fm_error *err)
{
    struct cells cells = { .rows = 0 };
    size_t n, bytes;
    bool ok = find_columns(x, err) && make_schema(x) && find_rows(x, &cells);

    if (!ok || !fm_mul_size(cells.rows, x->heads, &n)
        || !fm_mul_size(n + 1, sizeof *cells.at, &bytes))
        return false;
    cells.at = fm_mem_zalloc(x->t->mem, bytes);
    x->to->schema = x->schema;
    ok = cells.at != NULL && fill_cells(x, &cells, err) && write_rows(x, &cells);
    fm_mem_free(x->t->mem, cells.at, cells.at == NULL ? 0 : bytes);
    return ok;
}

enum fm_status fm_pivot_run(struct fm_flow *flow, const struct fm_step *step, struct fm_error *err)
{
    const struct pivot *pivot = step->object;
    struct turner x = { .flow = flow, .pivot = pivot, .t = &flow->table };
    unsigned errors = flow->c->log->errors;
    struct fm_table to;
    bool ok;

    fm_flow_like(flow, step, &to);
    x.to = &to;
    ok = fm_lookup_init(&x.rows, x.t, pivot->row, pivot->rows)
         && fm_lookup_init(&x.columns, x.t, &pivot->column, 1) && turn(&x, err);
    fm_lookup_release(&x.rows);
    fm_lookup_release(&x.columns);
    if (ok) {
        fm_flow_replace(flow, &to);
        return FM_OK;
    }
    fm_table_release(&to);
    return flow->c->log->errors > errors ? FM_CONFIG : fm_error_nomem(err);
}
