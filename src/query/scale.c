/*
 * scale.c - `normalize:` of diff: by how much the base is scaled to be of the size of the new.
 *
 *     none                 as they are
 *     total                new selected weight / base selected weight
 *     samples              new samples / base samples
 *     time                 new time range / base time range
 *     {per: sum(requests)}   the same of an expression over the rows of each table
 *
 * Only the base is ever scaled. Totals and samples are whole numbers, and so is what is scaled by
 * them, to the nearest; a scale that is not known (something by 0) is none.
 */
#include "query/group.h"
#include "query/plan.h"

#include <math.h>

enum how { NONE, TOTAL, SAMPLES, TIME, PER };

struct fm_normalize {
    enum how how;
    const struct fm_expr *base, *new;      /* PER: over the columns of each table */
    const char *text;
};

/* ----------------------------------------------------------------- compile */

static const char *const over[] = { "sum", "min", "max", "avg", "count" };

static bool resolve_name(void *user, struct fm_expr *node)
{
    struct fm_compile *c = user;

    if (node->name[0] == '$')
        return fm_compile_variable(c, node);
    node->ref = fm_operand_find(c, FM_SCOPE_TABLE, node->name, strlen(node->name));
    if (node->ref == FM_NONE)
        return false;
    node->unit = c->operand[node->ref]->unit;
    return true;
}

static bool resolve_call(void *user, struct fm_expr *node)
{
    (void)user;
    node->ref = FM_NONE;
    for (uint32_t i = 0; i < FM_COUNT(over); i++) {
        if (strcmp(node->name, over[i]) == 0 && node->args == (i < 4))
            node->ref = i;
    }
    if (node->ref == FM_NONE)
        return false;
    node->unit = node->ref < 4 ? node->arg[0]->unit : "";
    return true;
}

/* A column by itself has many values. */
static const struct fm_expr *bare_column(const struct fm_expr *e)
{
    const struct fm_expr *found = e->op == FM_EXPR_REF ? e : NULL;

    for (size_t i = 0; found == NULL && e->op != FM_EXPR_CALL && i < e->args; i++)
        found = bare_column(e->arg[i]);
    return found;
}

static const struct fm_expr *compile_side(struct fm_compile *c, const struct fm_schema *schema,
                                          const struct fm_yaml_node *node)
{
    struct fm_expr_names names = { .user = c, .name = resolve_name, .call = resolve_call };
    const struct fm_schema *own = c->schema;
    const struct fm_expr *e = NULL, *bare;
    struct fm_scalar s;

    c->schema = schema;
    names.list = fm_operand_names(c, FM_SCOPE_TABLE, &names.lists);
    if (names.list != NULL && fm_scalar_get(c->q, c->arena, c->log, node, &s))
        e = fm_expr_parse(c->arena, s.at, s.text, s.n, &names, c->log);
    c->schema = own;
    bare = e == NULL ? NULL : bare_column(e);
    if (bare == NULL)
        return e;
    fm_yaml_error_at(fm_yaml_as(c->log, FM_YAML_EXPR), node, bare->at, bare->len,
                     "'%s' has a value for each row: sum, min, max, avg or count", bare->name);
    return NULL;
}

struct fm_normalize *fm_normalize_compile(struct fm_pipe *pipe, const struct fm_pipe *other,
                                          const struct fm_yaml_node *node)
{
    static const char *const known[] = { "none", "total", "samples", "time" }, *const per[] = {
        "per"
    };
    struct fm_compile *c = &pipe->c;
    struct fm_normalize *n = fm_arena_alloc(c->arena, sizeof *n);
    const struct fm_yaml_node *expr = fm_yaml_get(node, per[0]);
    struct fm_scalar s;

    if (n == NULL || node == NULL)
        return n;
    if (expr != NULL && expr->type == FM_YAML_SCALAR) {
        if (!fm_yaml_known(c->log, node, per, 1, "key"))
            return NULL;
        n->how = PER;
        n->text = expr->text;
        n->new = compile_side(c, c->schema, expr);
        n->base = n->new == NULL ? NULL : compile_side(c, other->schema, expr);
        return n->base == NULL ? NULL : n;
    }
    if (node->type == FM_YAML_SCALAR) {
        if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
            return NULL;
        for (size_t i = 0; i < FM_COUNT(known); i++) {
            if (strcmp(s.text, known[i]) == 0)
                n->how = (enum how)i;
        }
        if (s.unknown || strcmp(s.text, known[n->how]) == 0)
            return n;
    }
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node,
                  "'normalize' is none, total, time, samples or {per: EXPRESSION}");
    return NULL;
}

/* --------------------------------------------------------------------- run */

struct at {
    const struct fm_compile *c;
    const struct fm_table *t;
    uint32_t row;
};

static struct fm_value get(void *user, const struct fm_expr *node)
{
    const struct at *at = user;
    struct at inner = *at;
    struct fm_value best = fm_value_null(), v;
    double sum = 0;
    size_t n = 0;

    if (node->op == FM_EXPR_REF)
        return fm_table_value(at->t, at->row, at->c->operand[node->ref]->id);
    if (node->ref == 4)
        return fm_value_i64((int64_t)at->t->n);
    for (size_t i = 0; i < at->t->n; i++) {
        inner.row = at->t->order[i];
        v = fm_expr_eval(node->arg[0], get, &inner);
        if (!fm_value_is_number(&v))
            continue;
        sum += fm_value_as_f64(&v);
        if (n == 0 || (node->ref == 1 ? fm_value_compare(&v, &best) < 0
                                      : fm_value_compare(&v, &best) > 0))
            best = v;
        n++;
    }
    if (node->ref == 1 || node->ref == 2)
        return best;
    return n == 0 ? fm_value_null() : fm_value_f64(node->ref == 0 ? sum : sum / (double)n);
}

static double number(const struct fm_compile *c, const struct fm_expr *e, const struct fm_table *t)
{
    struct at at = { c, t, 0 };
    struct fm_value v = fm_expr_eval(e, get, &at);

    return fm_value_is_number(&v) ? fm_value_as_f64(&v) : 0;
}

struct fm_scale fm_normalize_run(const struct fm_normalize *n, const struct fm_compile *c,
                                 const struct fm_table *base, const struct fm_table *new)
{
    struct fm_scale s = { .by = 1 };
    double from, to;

    switch (n->how) {
    case NONE:
        return s;
    case TOTAL:
    case SAMPLES:
        s.up = n->how == TOTAL ? new->selected : (fm_i128)new->samples;
        s.down = n->how == TOTAL ? base->selected : (fm_i128)base->samples;
        from = (double)s.down;
        to = (double)s.up;
        break;
    case TIME:
        from = base->window;
        to = new->window;
        break;
    default:
        from = number(c, n->base, base);
        to = number(c, n->new, new);
        break;
    }
    s.set = from > 0 && to > 0;
    s.by = s.set ? to / from : 1;
    return s;
}

const char *fm_normalize_text(const struct fm_normalize *n, const struct fm_scale *s,
                              struct fm_arena *arena)
{
    static const char *const what[] = { "", "the selected weight", "the number of samples",
                                        "the time range" };
    struct fm_out out;
    const char *text;

    if (n->how == NONE)
        return "as it is";
    if (!s->set)
        return "as it is: nothing to scale it by";
    if (fm_out_init(&out, arena->mem, NULL) != FM_OK)
        return NULL;
    fm_out_text(&out, "scaled by ");
    fm_out_fixed(&out, s->by, 6);
    while (out.buf[out.n - 1] == '0')
        out.n--;
    if (out.buf[out.n - 1] == '.')
        out.n--;
    fm_out_printf(&out, " to %s of new", n->how == PER ? n->text : what[n->how]);
    text = out.status == FM_OK ? fm_arena_strn(arena, out.buf, out.n) : NULL;
    fm_out_release(&out);
    return text;
}

fm_i128 fm_scale_int(const struct fm_scale *s, fm_i128 v)
{
    fm_i128 p, twice, half;

    if (!s->set)
        return v;
    if (s->down > 0 && !__builtin_mul_overflow(v, s->up, &p)
        && !__builtin_mul_overflow(p, (fm_i128)2, &twice)) {
        half = twice < 0 ? -s->down : s->down;
        return (twice + half) / (2 * s->down);
    }
    return (fm_i128)fm_clamp_i64(rint((double)v * s->by));
}
