/*
 * regroup.c - `group:` of a table: rows with equal keys become one.
 *
 *     group: {by: [module, {big: "self > 1ms"}], measures: {functions: count(), most: max(self),
 *             self: sum(self), top: first(function), share: share(sum(self), selected)}}
 *
 * Keys and arguments of aggregates that are expressions become columns of the table first. It is
 * then sorted by the keys, so that a group is a run of rows; first and last go by the order that
 * the rows had before. A plain name is the sum of a column that may be summed: `self`, not `total`.
 */
#include "query/group.h"
#include "query/plan.h"

#include "util/error.h"
#include "util/text.h"

#include <math.h>

static const char *const aggregate[] = {
    "count", "sum", "min", "max", "avg", "distinct", "first", "last", "stddev", "rate", "share"
};
static const enum fm_agg_kind kind_of[] = {
    FM_AGG_COUNT, FM_AGG_SUM, FM_AGG_MIN, FM_AGG_MAX, FM_AGG_AVG, FM_AGG_DISTINCT, FM_AGG_FIRST,
    FM_AGG_LAST, FM_AGG_STDDEV
};

struct agg {
    enum fm_agg_kind kind;           /* FM_AGG_ROWS: count() */
    double percent;
    size_t col;                      /* of the widened table */
};

struct measure {
    const char *name;
    struct fm_expr *expr;            /* REF: number of an aggregate */
};

struct regroup {
    const struct fm_schema *wide;    /* the table's columns, and those of expressions */
    struct fm_expr **made;           /* of the columns behind the table's own */
    size_t mades, made_cap;
    struct fm_sort_key *key;
    size_t keys;
    struct agg *agg;
    size_t aggs, agg_cap;
    struct measure *measure;
    size_t measures;
};

struct context {
    struct fm_compile *c;
    struct regroup *g;
    struct fm_schema *wide;
    const struct fm_yaml_node *at;
};

static bool grow(struct fm_arena *arena, void **list, size_t n, size_t *cap, size_t size)
{
    void *more;

    if (n < *cap)
        return true;
    more = fm_arena_alloc(arena, (*cap * 2 + 8) * size);
    if (more == NULL)
        return false;
    if (n > 0)
        memcpy(more, *list, n * size);
    *list = more;
    *cap = *cap * 2 + 8;
    return true;
}

/* The column of an expression: of the table when it is a name, else one made for it. */
static bool column_of(struct context *x, struct fm_expr *expr, const char *name, size_t *col)
{
    struct regroup *g = x->g;
    struct fm_schema_column *to;

    if (expr->op == FM_EXPR_REF) {
        *col = x->c->operand[expr->ref]->id;
        return true;
    }
    if (!grow(x->c->arena, (void **)&g->made, g->mades, &g->made_cap, sizeof(struct fm_expr *)))
        return false;
    to = fm_schema_add(x->c->arena, x->wide);
    if (to == NULL)
        return false;
    *to = (struct fm_schema_column){ .name = name, .full = name, .unit = expr->unit,
                                     .type = fm_expr_cell(x->c, NULL, expr),
                                     .untyped = x->c->store == NULL };
    g->made[g->mades++] = expr;
    *col = x->wide->n - 1;
    return true;
}

/* -------------------------------------------------------------------- keys */

static bool compile_key(struct context *x, struct fm_pipe *pipe, const struct fm_yaml_node *node,
                        struct fm_schema *out)
{
    struct fm_compile *c = x->c;
    const char *name = NULL;
    struct fm_schema_column *to;
    struct fm_scalar s;
    struct fm_expr *expr;
    size_t col = 0;

    if (node->type == FM_YAML_MAP && node->n == 1
        && node->pair[0].value->type == FM_YAML_SCALAR) {
        name = node->pair[0].key;
        if (!fm_scalar_get(c->q, c->arena, c->log, node->pair[0].value, &s))
            return false;
        expr = fm_compile_expr(c, FM_SCOPE_TABLE, &s);
        if (expr == NULL || !column_of(x, expr, name, &col))
            return false;
    } else if (node->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node,
                      "a key is a name, or {NAME: EXPRESSION}");
        return false;
    } else if (!fm_pipe_column(pipe, node, 0, "a key", &col)) {
        return false;
    }
    to = fm_schema_add(c->arena, out);
    if (to == NULL)
        return false;
    *to = x->wide->n == 0 ? (struct fm_schema_column){ .unit = "" } : x->wide->column[col];
    if (name != NULL || to->name == NULL)
        to->name = to->full = name != NULL ? name : node->text;
    to->key = true;
    to->additive = to->amount = to->hidden = to->depth = to->indented = false;
    for (size_t i = 0; i + 1 < out->n; i++) {
        if (strcmp(out->column[i].name, to->name) != 0)
            continue;
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_DUPLICATE), node, "key '%s' is there twice",
                      to->name);
        return false;
    }
    x->g->key[x->g->keys++] = (struct fm_sort_key){ .col = col };
    return true;
}

/* -------------------------------------------------------------- aggregates */

static void complain(struct context *x, const struct fm_expr *node, const char *what)
{
    if (x->at->type == FM_YAML_SCALAR && node->at + node->len <= x->at->n)
        fm_yaml_error_at(fm_yaml_as(x->c->log, FM_YAML_EXPR), x->at, node->at, node->len,
                         "'%s' %s", node->name, what);
    else
        fm_yaml_error(fm_yaml_as(x->c->log, FM_YAML_EXPR), x->at, "'%s' %s", node->name, what);
}

static bool is_aggregate(const char *name, double *percent)
{
    for (size_t i = 0; i < FM_COUNT(aggregate); i++) {
        if (strcmp(name, aggregate[i]) == 0)
            return true;
    }
    if (name[0] != 'p' || !fm_text_f64(name + 1, strlen(name + 1), percent))
        return false;
    return *percent > 0 && *percent <= 100 && name[1] >= '0' && name[1] <= '9';
}

/* node becomes a reference to an aggregate. */
static bool to_agg(struct context *x, struct fm_expr *node, struct agg agg, const char *unit)
{
    struct regroup *g = x->g;

    if (!grow(x->c->arena, (void **)&g->agg, g->aggs, &g->agg_cap, sizeof *g->agg))
        return false;
    node->op = FM_EXPR_REF;
    node->args = 0;
    node->unit = unit;
    node->ref = (uint32_t)g->aggs;
    g->agg[g->aggs++] = agg;
    return true;
}

/* Names inside an aggregate are columns. */
static bool columns_only(struct context *x, const struct fm_expr *node)
{
    double percent;

    if (node->op == FM_EXPR_CALL && is_aggregate(node->name, &percent)) {
        complain(x, node, "cannot stand inside another aggregate");
        return false;
    }
    if (node->op == FM_EXPR_REF && node->ref == FM_NONE) {
        complain(x, node, "is no column of the table");
        return false;
    }
    for (size_t i = 0; i < node->args; i++) {
        if (!columns_only(x, node->arg[i]))
            return false;
    }
    return true;
}

static bool lower(struct context *x, struct fm_expr *node);

/* node becomes  what / kind */
static bool to_ratio(struct context *x, struct fm_expr *node, enum fm_agg_kind kind)
{
    struct fm_expr *by = fm_arena_alloc(x->c->arena, sizeof *by);
    struct fm_expr *what = node->arg[0];

    node->arg = fm_arena_alloc(x->c->arena, 2 * sizeof(struct fm_expr *));
    if (by == NULL || node->arg == NULL)
        return false;
    by->depth = 1;
    node->op = FM_EXPR_DIV;
    node->arg[0] = what;
    node->arg[1] = by;
    node->args = 2;
    node->depth = what->depth + 1;
    node->unit = "";
    return to_agg(x, by, (struct agg){ .kind = kind }, "");
}

static bool lower_share(struct context *x, struct fm_expr *node)
{
    const char *name = node->args == 2 ? node->arg[1]->name : "selected";
    bool all = name != NULL && strcmp(name, "all") == 0;

    if (node->args < 1 || node->args > 2 || name == NULL
        || (!all && strcmp(name, "selected") != 0)) {
        complain(x, node, "takes a measure and one of selected, all");
        return false;
    }
    if (!lower(x, node->arg[0]))
        return false;
    if (x->c->unit[0] != '\0' && strcmp(node->arg[0]->unit, x->c->unit) != 0) {
        complain(x, node, "is of the weight: units do not match");
        return false;
    }
    return to_ratio(x, node, all ? FM_AGG_ALL : FM_AGG_SELECTED);
}

static bool is_number(enum fm_cell_type type)
{
    return type == FM_CELL_INT || type == FM_CELL_F64 || type == FM_CELL_BOOL;
}

static bool lower_call(struct context *x, struct fm_expr *node)
{
    struct agg agg = { .kind = FM_AGG_PERCENTILE };
    const char *unit;

    if (!is_aggregate(node->name, &agg.percent)) {
        complain(x, node, "must stand inside an aggregate such as sum(x)");
        return false;
    }
    if (strcmp(node->name, "share") == 0)
        return lower_share(x, node);
    if (strcmp(node->name, "count") == 0 && node->args == 0)
        return to_agg(x, node, (struct agg){ .kind = FM_AGG_ROWS }, "");
    if (node->args != 1) {
        complain(x, node, "takes one argument");
        return false;
    }
    if (strcmp(node->name, "rate") == 0) {
        unit = node->arg[0]->unit;
        if (!lower(x, node->arg[0]))
            return false;
        unit = fm_arena_printf(x->c->arena, "%s/s", node->arg[0]->unit);
        if (unit == NULL || !to_ratio(x, node, FM_AGG_WINDOW))
            return false;
        node->unit = unit;
        return true;
    }
    for (size_t i = 0; i < FM_COUNT(kind_of); i++) {
        if (strcmp(node->name, aggregate[i]) == 0)
            agg.kind = kind_of[i];
    }
    if (!columns_only(x, node->arg[0]) || !column_of(x, node->arg[0], node->name, &agg.col))
        return false;
    if ((agg.kind == FM_AGG_SUM || agg.kind == FM_AGG_AVG || agg.kind == FM_AGG_STDDEV)
        && !x->wide->column[agg.col].untyped && !is_number(x->wide->column[agg.col].type)) {
        complain(x, node, "is of numbers");
        return false;
    }
    unit = agg.kind == FM_AGG_COUNT || agg.kind == FM_AGG_DISTINCT
               ? "" : x->wide->column[agg.col].unit;
    return to_agg(x, node, agg, unit);
}

/* A name: a measure before it, or the sum of a column that may be summed. */
static bool lower_name(struct context *x, struct fm_expr *node)
{
    struct agg agg = { .kind = FM_AGG_SUM };

    for (size_t i = 0; i < x->g->measures; i++) {
        if (strcmp(node->name, x->g->measure[i].name) != 0)
            continue;
        *node = *x->g->measure[i].expr;
        return true;
    }
    if (node->ref == FM_NONE) {
        complain(x, node, "is neither a column nor a measure before this one");
        return false;
    }
    agg.col = x->c->operand[node->ref]->id;
    if (!x->wide->column[agg.col].additive) {
        complain(x, node, "cannot be summed: say how, such as max(x)");
        return false;
    }
    return to_agg(x, node, agg, x->wide->column[agg.col].unit);
}

static bool lower(struct context *x, struct fm_expr *node)
{
    if (node->op == FM_EXPR_CALL)
        return lower_call(x, node);
    if (node->op == FM_EXPR_REF)
        return lower_name(x, node);
    for (size_t i = 0; i < node->args; i++) {
        if (!lower(x, node->arg[i]))
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- measures */

static bool resolve_name(void *user, struct fm_expr *node)
{
    struct context *x = user;

    if (node->name[0] == '$')
        return fm_compile_variable(x->c, node);
    node->unit = "";
    node->ref = fm_operand_find(x->c, FM_SCOPE_TABLE, node->name, strlen(node->name));
    if (node->ref != FM_NONE)
        node->unit = x->c->operand[node->ref]->unit;
    for (size_t i = 0; i < x->g->measures; i++) {
        if (strcmp(node->name, x->g->measure[i].name) != 0)
            continue;
        node->unit = x->g->measure[i].expr->unit;
        return true;
    }
    return node->ref != FM_NONE || strcmp(node->name, "selected") == 0
           || strcmp(node->name, "all") == 0;
}

static bool resolve_call(void *user, struct fm_expr *node)
{
    double percent;

    (void)user;
    node->ref = FM_NONE;
    if (!is_aggregate(node->name, &percent))
        return false;
    if (strcmp(node->name, "count") != 0 && strcmp(node->name, "distinct") != 0
        && strcmp(node->name, "share") != 0 && node->args > 0)
        node->unit = node->arg[0]->unit;
    return true;
}

static enum fm_cell_type agg_cell(const struct context *x, const struct agg *agg)
{
    enum fm_cell_type type = x->wide->n == 0 ? FM_CELL_INT : x->wide->column[agg->col].type;

    switch (agg->kind) {
    case FM_AGG_AVG:
    case FM_AGG_STDDEV:
    case FM_AGG_WINDOW:
        return FM_CELL_F64;
    case FM_AGG_SUM:
        return type == FM_CELL_F64 ? type : FM_CELL_INT;
    case FM_AGG_MIN:
    case FM_AGG_MAX:
    case FM_AGG_FIRST:
    case FM_AGG_LAST:
    case FM_AGG_PERCENTILE:
        return type;
    default:
        return FM_CELL_INT;
    }
}

/* What a measure of several aggregates holds: truth of comparisons, else a number. */
static enum fm_cell_type expr_cell(const struct context *x, const struct fm_expr *e)
{
    bool f64 = e->op == FM_EXPR_DIV || (e->op == FM_EXPR_CONST && e->value.type == FM_F64);

    if (e->op == FM_EXPR_REF)
        return agg_cell(x, &x->g->agg[e->ref]);
    if (e->op == FM_EXPR_NOT || (e->op >= FM_EXPR_EQ && e->op <= FM_EXPR_OR))
        return FM_CELL_BOOL;
    for (size_t i = 0; i < e->args; i++)
        f64 |= expr_cell(x, e->arg[i]) == FM_CELL_F64;
    return f64 ? FM_CELL_F64 : FM_CELL_INT;
}

static bool describe(struct context *x, const struct fm_expr *e, const char *name,
                     struct fm_schema *out)
{
    struct fm_schema_column *to = fm_schema_add(x->c->arena, out);
    const struct agg *agg = e->op == FM_EXPR_REF ? &x->g->agg[e->ref] : NULL;
    const struct fm_schema_column *from;

    if (to == NULL)
        return false;
    *to = (struct fm_schema_column){ .name = name, .full = name, .type = expr_cell(x, e),
                                     .unit = e->unit == NULL ? "" : e->unit,
                                     .untyped = x->c->store == NULL };
    if (agg != NULL && (agg->kind == FM_AGG_ROWS || agg->kind == FM_AGG_COUNT))
        to->additive = true;
    if (agg != NULL && agg->kind == FM_AGG_SUM) {
        from = &x->wide->column[agg->col];
        to->additive = from->additive || agg->col >= x->c->schema->n;
        to->amount = from->amount;
        to->share = from->share;
        to->of = from->of;
    }
    if (e->op == FM_EXPR_DIV && e->arg[1]->op == FM_EXPR_REF
        && (x->g->agg[e->arg[1]->ref].kind == FM_AGG_SELECTED
            || x->g->agg[e->arg[1]->ref].kind == FM_AGG_ALL)) {
        to->share = true;
        to->of = x->g->agg[e->arg[1]->ref].kind == FM_AGG_ALL ? "all" : "selected";
    }
    return true;
}

static bool add_measure(struct context *x, const char *name, const struct fm_yaml_node *at,
                        struct fm_schema *out)
{
    struct fm_expr_names names = { .user = x, .name = resolve_name, .call = resolve_call };
    struct fm_compile *c = x->c;
    struct fm_scalar s;
    struct fm_expr *expr;

    if (at->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), at,
                      "a measure is a name or an expression");
        return false;
    }
    x->at = at;
    if (!fm_scalar_get(c->q, c->arena, c->log, at, &s))
        return false;
    if (s.unknown)
        return true;
    names.list = fm_operand_names(c, FM_SCOPE_TABLE, &names.lists);
    expr = names.list == NULL ? NULL
                              : fm_expr_parse(c->arena, at, s.text, s.n, &names, c->log);
    if (expr == NULL || !lower(x, expr))
        return false;
    name = name != NULL ? name : s.text;
    for (size_t i = 0; i < out->n; i++) {
        if (strcmp(out->column[i].name, name) != 0)
            continue;
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_DUPLICATE), at, "column '%s' is there twice",
                      name);
        return false;
    }
    x->g->measure[x->g->measures++] = (struct measure){ name, expr };
    return describe(x, expr, name, out);
}

static bool compile_measures(struct context *x, const struct fm_yaml_node *node,
                             struct fm_schema *out)
{
    bool ok = true;

    x->g->measure = fm_arena_alloc(x->c->arena, (node->n + 1) * sizeof *x->g->measure);
    if (x->g->measure == NULL)
        return false;
    if (node->type == FM_YAML_SCALAR)
        return add_measure(x, NULL, node, out);
    for (size_t i = 0; i < node->n; i++) {
        const struct fm_yaml_node *value =
            node->type == FM_YAML_MAP ? node->pair[i].value : node->item[i];
        const char *name = node->type == FM_YAML_MAP ? node->pair[i].key : NULL;
        if (name == NULL && value->type == FM_YAML_MAP && value->n == 1) {
            name = value->pair[0].key;
            value = value->pair[0].value;
        }
        ok = add_measure(x, name, value, out) && ok;
    }
    return ok;
}

void *fm_regroup_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    static const char *const known[] = { "by", "measures" };
    const struct fm_yaml_node *node = step->at->value, *by, *measures;
    struct fm_compile *c = &pipe->c;
    struct context x = { .c = c, .g = fm_arena_alloc(c->arena, sizeof *x.g),
                         .wide = fm_schema_copy(c->arena, schema) };
    struct fm_schema out = { .n = 0 };
    bool ok = true;
    size_t n;

    if (x.g == NULL || x.wide == NULL)
        return NULL;
    if (!fm_group_parts(c, node, known, FM_COUNT(known), &by, &measures))
        return NULL;
    x.g->wide = x.wide;
    n = by->type == FM_YAML_LIST ? by->n : 1;
    x.g->key = fm_arena_alloc(c->arena, (n + 1) * sizeof *x.g->key);
    for (size_t i = 0; x.g->key != NULL && i < n; i++)
        ok = compile_key(&x, pipe, by->type == FM_YAML_LIST ? by->item[i] : by, &out) && ok;
    ok = x.g->key != NULL && compile_measures(&x, measures, &out) && ok;
    if (!ok)
        return NULL;
    *schema = out;                   /* not open, even when the columns it was made of are */
    return x.g;
}

/* --------------------------------------------------------------------- run */

struct run {
    const struct regroup *g;
    struct fm_table *in, *out;
    const struct fm_totals *totals;
    uint32_t *place;                 /* row -> its place before */
    uint32_t *sorted;                /* rows of the group at hand, by an aggregate's column */
    uint32_t *spare;
    const uint32_t *row;             /* rows of the group at hand */
    size_t n;
    struct result {
        struct fm_value value;       /* for expressions */
        fm_i128 i;                   /* of an integer */
        uint32_t row;                /* the cell is that of this row; FM_NONE: it is not */
    } *result;                       /* by aggregate */
};

static double number(const struct fm_table *t, uint32_t row, size_t col)
{
    const struct fm_cells *cells = &t->cells[col];

    return cells->f != NULL ? cells->f[row] : (double)cells->i[row];
}

/* The rows that have a value, by it: a merge sort, so that equal ones keep their order. */
static size_t sort_rows(struct run *r, size_t col)
{
    uint32_t *from = r->sorted, *to = r->spare;
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++) {
        if (!fm_table_is_null(r->in, r->row[i], col))
            from[n++] = r->row[i];
    }
    for (size_t width = 1; width < n; width *= 2) {
        uint32_t *swap = from;
        for (size_t at = 0; at < n; at += 2 * width) {
            size_t mid = FM_MIN(at + width, n), end = FM_MIN(at + 2 * width, n);
            size_t a = at, b = mid;
            for (size_t k = at; k < end; k++) {
                bool right = a == mid
                             || (b < end
                                 && fm_table_compare(r->in, col, false, from[b], from[a]) < 0);
                to[k] = right ? from[b++] : from[a++];
            }
        }
        from = to;
        to = swap;
    }
    r->sorted = from;
    r->spare = to;
    return n;
}

static void sum(struct run *r, const struct agg *agg, struct result *to)
{
    const struct fm_cells *cells = &r->in->cells[agg->col];
    double f = 0, square = 0, mean;
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++) {
        if (fm_table_is_null(r->in, r->row[i], agg->col))
            continue;
        n++;
        if (cells->f != NULL)
            f += cells->f[r->row[i]];
        else
            to->i += cells->i[r->row[i]];
    }
    if (n == 0)
        return;
    if (cells->f == NULL)
        f = (double)to->i;
    if (agg->kind == FM_AGG_SUM && cells->f == NULL) {
        to->value = to->i >= INT64_MIN && to->i <= INT64_MAX ? fm_value_i64((int64_t)to->i)
                                                             : fm_value_f64(f);
        return;
    }
    mean = f / (double)n;
    for (size_t i = 0; agg->kind == FM_AGG_STDDEV && i < r->n; i++) {
        double d;
        if (fm_table_is_null(r->in, r->row[i], agg->col))
            continue;
        d = number(r->in, r->row[i], agg->col) - mean;
        square += d * d;
    }
    to->value = fm_value_f64(agg->kind == FM_AGG_SUM ? f : agg->kind == FM_AGG_AVG
                             ? mean : sqrt(square / (double)n));
}

/* Of the rows with a value, the first or the last in the order that they had. */
static uint32_t end_row(const struct run *r, const struct agg *agg)
{
    uint32_t found = FM_NONE;

    for (size_t i = 0; i < r->n; i++) {
        uint32_t row = r->row[i];
        if (fm_table_is_null(r->in, row, agg->col))
            continue;
        if (found == FM_NONE || (r->place[row] < r->place[found]) == (agg->kind == FM_AGG_FIRST))
            found = row;
    }
    return found;
}

static void ordered(struct run *r, const struct agg *agg, struct result *to)
{
    size_t n = sort_rows(r, agg->col), distinct = n > 0;

    if (agg->kind == FM_AGG_DISTINCT) {
        for (size_t i = 1; i < n; i++)
            distinct += fm_table_compare(r->in, agg->col, false, r->sorted[i - 1],
                                         r->sorted[i]) != 0;
        to->i = (fm_i128)distinct;
        to->value = fm_value_u64(distinct);
    } else if (n > 0) {
        to->row = r->sorted[agg->kind == FM_AGG_MIN ? 0 : agg->kind == FM_AGG_MAX ? n - 1
                            : fm_nearest_rank(agg->percent, n) - 1];
    }
}

static void aggregate_group(struct run *r, const struct agg *agg, struct result *to)
{
    *to = (struct result){ .row = FM_NONE, .value = fm_value_null() };
    switch (agg->kind) {
    case FM_AGG_ROWS:
        to->i = (fm_i128)r->n;
        to->value = fm_value_u64(r->n);
        break;
    case FM_AGG_COUNT:
        for (size_t i = 0; i < r->n; i++)
            to->i += !fm_table_is_null(r->in, r->row[i], agg->col);
        to->value = fm_value_u64((uint64_t)to->i);
        break;
    case FM_AGG_SELECTED:
        to->value = fm_value_f64((double)r->in->selected);
        break;
    case FM_AGG_ALL:
        to->value = fm_value_f64((double)r->in->all);
        break;
    case FM_AGG_WINDOW:
        to->value = fm_value_f64(r->totals->window);
        break;
    case FM_AGG_SUM:
    case FM_AGG_AVG:
    case FM_AGG_STDDEV:
        sum(r, agg, to);
        break;
    case FM_AGG_FIRST:
    case FM_AGG_LAST:
        to->row = end_row(r, agg);
        break;
    default:
        ordered(r, agg, to);
        break;
    }
    if (to->row != FM_NONE)
        to->value = fm_table_value(r->in, to->row, agg->col);
}

static struct fm_value get(void *user, const struct fm_expr *node)
{
    const struct run *r = user;

    return r->result[node->ref].value;
}

static bool write_measure(struct run *r, uint32_t row, size_t col, const struct fm_expr *e)
{
    const struct result *one = e->op == FM_EXPR_REF ? &r->result[e->ref] : NULL;
    struct fm_value value;

    if (one != NULL && one->row != FM_NONE)
        return fm_cell_copy(r->out, row, col, r->in, one->row, r->g->agg[e->ref].col);
    if (one != NULL && one->value.type != FM_NULL && one->value.type != FM_F64) {
        fm_table_int(r->out, row, col, one->i);
        return true;
    }
    if (one != NULL && r->g->agg[e->ref].kind == FM_AGG_SUM && one->value.type == FM_F64
        && r->out->schema->column[col].type == FM_CELL_INT) {
        fm_table_int(r->out, row, col, one->i);
        return true;
    }
    value = fm_expr_eval(e, get, r);
    return fm_table_put(r->out, row, col, &value);
}

static bool write_group(struct run *r)
{
    const struct regroup *g = r->g;
    uint32_t row = fm_table_add(r->out);
    bool ok = row != FM_NONE;

    for (size_t i = 0; ok && i < g->aggs; i++)
        aggregate_group(r, &g->agg[i], &r->result[i]);
    for (size_t k = 0; ok && k < g->keys; k++)
        ok = fm_cell_copy(r->out, row, k, r->in, r->row[0], g->key[k].col);
    for (size_t m = 0; ok && m < g->measures; m++)
        ok = write_measure(r, row, g->keys + m, g->measure[m].expr);
    return ok;
}

static bool same_keys(const struct run *r, uint32_t a, uint32_t b)
{
    for (size_t k = 0; k < r->g->keys; k++) {
        if (fm_table_compare(r->in, r->g->key[k].col, false, a, b) != 0)
            return false;
    }
    return true;
}

static bool run_groups(struct run *r)
{
    const uint32_t *order = r->in->order;
    size_t n = r->in->n;
    bool ok = true;

    for (size_t from = 0, to; ok && from < n; from = to) {
        for (to = from + 1; to < n && same_keys(r, order[from], order[to]); to++)
            continue;
        r->row = order + from;
        r->n = to - from;
        ok = write_group(r);
    }
    return ok;
}

enum fm_status fm_regroup_run(struct fm_flow *flow, const struct fm_step *step,
                              struct fm_error *err)
{
    const struct regroup *g = step->object;
    struct fm_table *in = &flow->table, out;
    struct run r = { .g = g, .in = in, .out = &out, .totals = &flow->totals };
    size_t made = in->schema->n, bytes = (in->rows + 1) * sizeof(uint32_t), rows = in->rows + 1;
    size_t results = (g->aggs + 1) * sizeof *r.result;
    uint32_t *a, *b;
    bool ok;

    if (!in->sorted && fm_table_sort(in, NULL, 0, err) != FM_OK)
        return FM_NOMEM;
    fm_flow_like(flow, step, &out);
    r.place = fm_mem_alloc(in->mem, bytes);
    a = r.sorted = fm_mem_alloc(in->mem, bytes);
    b = r.spare = fm_mem_alloc(in->mem, bytes);
    r.result = fm_mem_alloc(in->mem, results);
    ok = r.place != NULL && a != NULL && b != NULL && r.result != NULL
         && fm_table_widen(in, g->wide);
    for (size_t i = 0; ok && i < g->mades; i++)
        ok = fm_table_fill(flow->c, in, made + i, g->made[i]);
    for (size_t i = 0; ok && i < in->n; i++)
        r.place[in->order[i]] = (uint32_t)i;
    ok = ok && fm_table_sort(in, g->key, g->keys, err) == FM_OK && run_groups(&r);
    fm_mem_free(in->mem, r.place, rows * sizeof *r.place);
    fm_mem_free(in->mem, a, bytes);
    fm_mem_free(in->mem, b, bytes);
    fm_mem_free(in->mem, r.result, results);
    if (!ok) {
        fm_table_release(&out);
        return fm_error_nomem(err);
    }
    fm_flow_replace(flow, &out);
    return FM_OK;
}
