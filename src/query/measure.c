/*
 * measure.c - `group:` compiled: keys, measures and the aggregates they are made of.
 *
 * A measure is an expression over aggregates. self, total, samples and count() come from sums per
 * tree node; the others (sum, min, max, avg, distinct, first, last, pNN, stddev) look at the values
 * of rows in a second scan. Shares and rates are rewritten:
 *
 *     self_share      self / SELECTED            share(x, all)   x / ALL
 *     total_share     total / SELECTED           share(x, group) x / GROUP
 *     rate(x)         x / WINDOW
 *
 * so that x / 0 is null by the rules of expressions. A name inside an aggregate is a column of the
 * rows; outside it is a measure defined before.
 */
#include "query/plan.h"

#include "util/text.h"

static const char *const aggregate[] = {
    "count", "sum", "min", "max", "avg", "distinct", "first", "last", "stddev", "rate", "share"
};
static const char *const plain[] = { "self", "total", "samples", "self_share", "total_share" };

struct context {
    struct fm_compile *c;
    struct fm_group *g;
    const struct fm_yaml_node *at;
    struct fm_pipe *let;         /* of a share that is being made */
};

/* -------------------------------------------------------------------- keys */

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot == NULL || dot[1] == '\0' ? name : dot + 1;
}

static const struct {
    const char *prefix;
    enum fm_key_kind kind;
} scope[] = {
    { "any.", FM_KEY_ANY }, { "leaf.", FM_KEY_LEAF }, { "root.", FM_KEY_ROOT },
    { "caller.", FM_KEY_CALLER }, { "callee.", FM_KEY_CALLEE }
};

static bool is_frame_key(const char *text)
{
    for (size_t i = 0; i < FM_COUNT(scope); i++) {
        if (strncmp(text, scope[i].prefix, strlen(scope[i].prefix)) == 0)
            return true;
    }
    return false;
}

static bool frame_key(struct context *x, struct fm_key *key, const char *text,
                      const struct fm_yaml_node *at)
{
    const char *known[FM_ATTRS];

    for (size_t i = 0; i < FM_COUNT(scope); i++) {
        size_t n = strlen(scope[i].prefix);
        if (strncmp(text, scope[i].prefix, n) != 0)
            continue;
        key->kind = scope[i].kind;
        if (fm_attr_resolve(x->c, text + n, strlen(text + n), &key->attr))
            return true;
        for (size_t k = 0; k < FM_ATTRS; k++)
            known[k] = fm_attr_text((enum fm_attr)k);
        fm_yaml_unknown(x->c->log, at, "frame attribute", text + n, known, FM_ATTRS);
        return false;
    }
    return false;
}

static bool name_key(struct context *x, struct fm_key *key, const struct fm_yaml_node *at)
{
    struct fm_compile *c = x->c;
    struct fm_scalar s;
    uint32_t k;

    if (!fm_scalar_get(c->q, c->arena, c->log, at, &s))
        return false;
    key->full = s.unknown ? "unknown" : s.text;
    key->name = last_part(key->full);
    if (strcmp(key->full, "path") == 0) {
        key->kind = FM_KEY_PATH;
        return true;
    }
    if (is_frame_key(key->full))
        return frame_key(x, key, key->full, at);
    key->kind = FM_KEY_ROW;
    k = fm_operand_find(c, FM_SCOPE_ROWS, key->full, strlen(key->full));
    if (k == FM_NONE && !c->arena->oom) {
        size_t n, skip;
        const char *const *list = fm_operand_names(c, FM_SCOPE_ROWS, &n);
        if (fm_operand_via(key->full, strlen(key->full), &skip) != 0) {
            fm_operand_unlinked(c, at, NULL, key->full);
            return false;
        }
        if (list != NULL)
            fm_yaml_unknown(c->log, at, "column", key->full, list, n);
        fm_yaml_note(c->log, "frame keys are path, any.function, leaf.module, root.file ...");
    }
    if (k == FM_NONE)
        return false;
    key->operand = c->operand[k];
    return true;
}

static bool expr_key(struct context *x, struct fm_key *key, const struct fm_yaml_node *map)
{
    struct fm_compile *c = x->c;
    struct fm_scalar s;

    if (map->n != 1 || map->pair[0].value->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), map,
                      "a key is a name, or {NAME: EXPRESSION}");
        return false;
    }
    key->kind = FM_KEY_EXPR;
    key->name = key->full = map->pair[0].key;
    if (!fm_scalar_get(c->q, c->arena, c->log, map->pair[0].value, &s))
        return false;
    key->expr = fm_compile_expr(c, FM_SCOPE_ROWS, &s);
    return key->expr != NULL;
}

static bool compile_keys(struct context *x, const struct fm_yaml_node *by)
{
    const struct fm_yaml_node *one[1] = { by };
    const struct fm_yaml_node *const *item = one;
    struct fm_group *g = x->g;
    size_t n = 1;
    bool ok = true;

    if (by->type == FM_YAML_LIST) {
        item = (const struct fm_yaml_node *const *)by->item;
        n = by->n;
    }
    g->key = fm_arena_alloc(x->c->arena, (n + 1) * sizeof *g->key);
    for (size_t i = 0; g->key != NULL && i < n; i++) {
        struct fm_key *key = &g->key[g->keys++];
        key->name = key->full = "";
        if (item[i]->type == FM_YAML_SCALAR) {
            ok = name_key(x, key, item[i]) && ok;
        } else if (item[i]->type == FM_YAML_MAP) {
            ok = expr_key(x, key, item[i]) && ok;
        } else {
            fm_yaml_error(fm_yaml_as(x->c->log, FM_YAML_TYPE), item[i],
                          "a key is a name, or {NAME: EXPRESSION}");
            ok = false;
        }
        g->any |= key->kind >= FM_KEY_ANY;
        g->edges |= key->kind > FM_KEY_ANY;
        for (size_t k = 0; k + 1 < g->keys && ok; k++) {
            if (strcmp(g->key[k].full, key->full) == 0) {
                fm_yaml_error(fm_yaml_as(x->c->log, FM_YAML_DUPLICATE), item[i],
                              "key '%s' is there twice", key->full);
                ok = false;
            }
        }
    }
    for (size_t i = 0; ok && g->edges && i < g->keys; i++) {
        if (g->key[i].kind != FM_KEY_ANY)
            continue;
        fm_yaml_error(fm_yaml_as(x->c->log, FM_YAML_PLACE), item[i],
                      "'%s' is of one frame, caller and callee are of two: not both in one group",
                      g->key[i].full);
        ok = false;
    }
    return ok && g->key != NULL;
}

/* Calls of a function by itself are shown when they are asked for. */
static bool compile_recursion(struct context *x, const struct fm_yaml_node *node)
{
    if (node == NULL)
        return true;
    x->g->recursion = fm_yaml_is(node, "show");
    if (!x->g->recursion && !fm_yaml_is(node, "hide")) {
        fm_yaml_error(fm_yaml_as(x->c->log, FM_YAML_TYPE), node, "'recursion' is show or hide");
        return false;
    }
    if (x->g->edges)
        return true;
    fm_yaml_error(fm_yaml_as(x->c->log, FM_YAML_PLACE), node,
                  "'recursion' is for groups by caller and callee");
    return false;
}

/* -------------------------------------------------------------- aggregates */

static uint32_t add_agg(struct context *x, enum fm_agg_kind kind, double percent,
                        const struct fm_expr *arg)
{
    struct fm_group *g = x->g;

    for (size_t i = 0; arg == NULL && i < g->aggs; i++) {
        if (g->agg[i].kind == kind && (kind != FM_AGG_LET || g->agg[i].let == x->let))
            return (uint32_t)i;
    }
    if (g->aggs == g->agg_cap) {
        size_t cap = g->agg_cap == 0 ? 8 : 2 * g->agg_cap;
        struct fm_agg *list = fm_arena_alloc(x->c->arena, cap * sizeof *list);
        if (list == NULL)
            return FM_NONE;
        if (g->aggs > 0)
            memcpy(list, g->agg, g->aggs * sizeof *list);
        g->agg = list;
        g->agg_cap = cap;
    }
    g->agg[g->aggs] = (struct fm_agg){ .kind = kind, .percent = percent, .arg = arg,
                                       .let = x->let };
    g->scans |= kind >= FM_AGG_COUNT;
    return (uint32_t)g->aggs++;
}

static bool to_agg(struct context *x, struct fm_expr *node, enum fm_agg_kind kind,
                   const char *unit)
{
    node->op = FM_EXPR_REF;
    node->args = 0;
    node->unit = unit;
    node->ref = add_agg(x, kind, 0, NULL);
    return node->ref != FM_NONE;
}

/* node becomes  what / kind */
static bool to_ratio(struct context *x, struct fm_expr *node, struct fm_expr *what,
                     enum fm_agg_kind kind)
{
    struct fm_expr *by = fm_arena_alloc(x->c->arena, sizeof *by);

    node->arg = fm_arena_alloc(x->c->arena, 2 * sizeof(struct fm_expr *));
    if (by == NULL || node->arg == NULL)
        return false;
    by->depth = 1;
    if (!to_agg(x, by, kind, ""))
        return false;
    node->op = FM_EXPR_DIV;
    node->arg[0] = what;
    node->arg[1] = by;
    node->args = 2;
    node->depth = what->depth + 1;
    return true;
}

static void complain(struct context *x, const struct fm_expr *node, const char *fmt,
                     const char *name)
{
    if (x->at->type == FM_YAML_SCALAR && node->at + node->len <= x->at->n)
        fm_yaml_error_at(fm_yaml_as(x->c->log, FM_YAML_EXPR), x->at, node->at, node->len,
                         "'%s' %s", name, fmt);
    else
        fm_yaml_error(fm_yaml_as(x->c->log, FM_YAML_EXPR), x->at, "'%s' %s", name, fmt);
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

/* Names inside an aggregate must be columns. */
static bool columns_only(struct context *x, const struct fm_expr *node)
{
    double percent;

    if (node->op == FM_EXPR_CALL && is_aggregate(node->name, &percent)) {
        complain(x, node, "cannot stand inside another aggregate", node->name);
        return false;
    }
    if ((node->op == FM_EXPR_REF || node->op == FM_EXPR_CALL) && node->ref == FM_NONE) {
        complain(x, node, "is no column of the rows", node->name);
        return false;
    }
    for (size_t i = 0; node->op != FM_EXPR_CALL && i < node->args; i++) {
        if (!columns_only(x, node->arg[i]))
            return false;
    }
    return true;
}

static bool lower(struct context *x, struct fm_expr *node);

static enum fm_cell_type key_cell(const struct context *x, const struct fm_key *key)
{
    if (key->kind == FM_KEY_PATH)
        return FM_CELL_PATH;
    if (key->kind == FM_KEY_EXPR)
        return fm_expr_cell(x->c, NULL, key->expr);
    if (key->kind == FM_KEY_ROW && key->operand->type == FM_TYPE_STACK)
        return FM_CELL_PATH;
    return fm_type_cell(key->kind == FM_KEY_ROW ? key->operand->type : fm_attr_type(key->attr));
}

static bool is_let(const struct fm_compile *c, const char *name)
{
    return c->pipe != NULL && fm_yaml_find(c->q->lets, name) != NULL;
}

/* The share is of the weight of another pipe. */
static bool let_base(struct context *x, const struct fm_expr *at, const char *name)
{
    struct fm_yaml_node node = *x->at;

    node.text = name;
    node.n = strlen(name);
    x->let = fm_pipe_need(x->c->pipe, x->c->step, &node, FM_SHAPE_ANY, "a share's base");
    if (x->let == NULL || x->c->store == NULL || strcmp(x->let->c.unit, x->c->unit) == 0)
        return x->let != NULL;
    complain(x, at, "has a weight of another unit", name);
    return false;
}

/* What the share is of; false: logged. */
static bool share_base(struct context *x, const struct fm_expr *at, const char *name,
                       enum fm_agg_kind *kind)
{
    if (strcmp(name, "selected") == 0) {
        *kind = FM_AGG_SELECTED;
        return true;
    }
    if (strcmp(name, "all") == 0) {
        *kind = FM_AGG_ALL;
        return true;
    }
    if (is_let(x->c, name)) {
        *kind = FM_AGG_LET;
        return let_base(x, at, name);
    }
    if (strcmp(name, "group") != 0) {
        complain(x, at, strcmp(name, "parent") == 0
                            ? "is a base that only nodes of a 'tree' have"
                            : "is no share's base (selected, all, group or a let)", name);
        return false;
    }
    *kind = FM_AGG_GROUP;
    if (x->g->keys > 0 && key_cell(x, &x->g->key[0]) == FM_CELL_PATH) {
        complain(x, at, "is the first key's value, which cannot be a path", name);
        return false;
    }
    x->g->bases = true;
    return true;
}

static bool lower_share(struct context *x, struct fm_expr *node)
{
    enum fm_agg_kind kind;
    const char *name = node->args == 2 ? node->arg[1]->name : "selected";

    if (node->args < 1 || node->args > 2 || name == NULL) {
        complain(x, node, "takes a measure and one of selected, all, group or a let",
                 node->name);
        return false;
    }
    if (!share_base(x, node->args == 2 ? node->arg[1] : node, name, &kind)
        || !lower(x, node->arg[0]))
        return false;
    if (x->c->unit[0] != '\0' && strcmp(node->arg[0]->unit, x->c->unit) != 0) {
        complain(x, node->arg[0], "is a share of the weight: units do not match", "share");
        return false;
    }
    return to_ratio(x, node, node->arg[0], kind);
}

static bool lower_call(struct context *x, struct fm_expr *node)
{
    static const enum fm_agg_kind kind[] = {
        FM_AGG_COUNT, FM_AGG_SUM, FM_AGG_MIN, FM_AGG_MAX, FM_AGG_AVG, FM_AGG_DISTINCT,
        FM_AGG_FIRST, FM_AGG_LAST, FM_AGG_STDDEV
    };
    enum fm_agg_kind k = FM_AGG_PERCENTILE;
    struct fm_expr *arg = node->args > 0 ? node->arg[0] : NULL;
    const char *unit;
    double percent = 0;

    if (!is_aggregate(node->name, &percent)) {
        complain(x, node, "must stand inside an aggregate such as sum(x)", node->name);
        return false;
    }
    if (strcmp(node->name, "share") == 0)
        return lower_share(x, node);
    if (strcmp(node->name, "count") == 0 && node->args == 0)
        return to_agg(x, node, FM_AGG_ROWS, "");
    if (node->args != 1) {
        complain(x, node, "takes one argument", node->name);
        return false;
    }
    if (strcmp(node->name, "rate") == 0) {
        if (!lower(x, arg) || !to_ratio(x, node, arg, FM_AGG_WINDOW))
            return false;
        node->unit = fm_arena_printf(x->c->arena, "%s/s", arg->unit);
        return node->unit != NULL;
    }
    if (!columns_only(x, arg))
        return false;
    for (size_t i = 0; i < FM_COUNT(kind); i++) {
        if (strcmp(node->name, aggregate[i]) == 0)
            k = kind[i];
    }
    unit = k == FM_AGG_COUNT || k == FM_AGG_DISTINCT ? "" : arg->unit;
    if (k == FM_AGG_SUM && arg->op == FM_EXPR_REF
        && x->c->operand[arg->ref]->place == FM_AT_WEIGHT)
        return to_agg(x, node, FM_AGG_TOTAL, unit);
    node->op = FM_EXPR_REF;
    node->args = 0;
    node->unit = unit;
    node->ref = add_agg(x, k, percent, arg);
    return node->ref != FM_NONE;
}

static bool lower_plain(struct context *x, struct fm_expr *node, size_t k)
{
    struct fm_expr *what;

    switch (k) {
    case 0:
        return to_agg(x, node, FM_AGG_SELF, x->c->unit);
    case 1:
        return to_agg(x, node, FM_AGG_TOTAL, x->c->unit);
    case 2:
        return to_agg(x, node, FM_AGG_SAMPLES, "");
    default:
        what = fm_arena_alloc(x->c->arena, sizeof *what);
        if (what == NULL)
            return false;
        what->depth = 1;
        node->unit = "";
        return to_agg(x, what, k == 3 ? FM_AGG_SELF : FM_AGG_TOTAL, x->c->unit)
               && to_ratio(x, node, what, FM_AGG_SELECTED);
    }
}

static void unknown_measure(struct context *x, const struct fm_expr *node)
{
    const char *near = fm_text_nearest(node->name, plain, FM_COUNT(plain));
    const char *what = "must stand inside an aggregate such as sum(x)";

    if (near != NULL)
        what = fm_arena_printf(x->c->arena, "is no measure (did you mean '%s'?)", near);
    complain(x, node, what == NULL ? "is no measure" : what, node->name);
}

static bool lower(struct context *x, struct fm_expr *node)
{
    if (node->op == FM_EXPR_CALL)
        return lower_call(x, node);
    if (node->op == FM_EXPR_REF) {
        for (size_t i = 0; i < x->g->measures; i++) {
            if (strcmp(node->name, x->g->measure[i].name) == 0) {
                *node = *x->g->measure[i].expr;
                return true;
            }
        }
        for (size_t i = 0; i < FM_COUNT(plain); i++) {
            if (strcmp(node->name, plain[i]) == 0)
                return lower_plain(x, node, i);
        }
        unknown_measure(x, node);
        return false;
    }
    for (size_t i = 0; i < node->args; i++) {
        if (!lower(x, node->arg[i]))
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- measures */

static bool resolve_name(void *user, struct fm_expr *node)
{
    static const char *const word[] = { "selected", "all", "group", "parent" };
    struct context *x = user;

    if (node->name[0] == '$')
        return fm_compile_variable(x->c, node);
    for (size_t i = 0; i < x->g->measures; i++) {
        if (strcmp(node->name, x->g->measure[i].name) == 0)
            node->unit = x->g->measure[i].expr->unit;
    }
    node->ref = FM_NONE;
    for (size_t i = 0; i < FM_COUNT(plain); i++) {
        if (strcmp(node->name, plain[i]) == 0) {
            node->unit = i < 2 ? x->c->unit : "";
            return true;
        }
    }
    node->ref = fm_operand_find(x->c, FM_SCOPE_ROWS, node->name, strlen(node->name));
    if (node->ref != FM_NONE) {
        if (node->unit == NULL || node->unit[0] == '\0')
            node->unit = x->c->operand[node->ref]->unit;
        return true;
    }
    for (size_t i = 0; i < x->g->measures; i++) {
        if (strcmp(node->name, x->g->measure[i].name) == 0)
            return true;
    }
    for (size_t i = 0; i < FM_COUNT(word); i++) {
        if (strcmp(node->name, word[i]) == 0)
            return true;
    }
    return is_let(x->c, node->name);
}

static bool resolve_call(void *user, struct fm_expr *node)
{
    struct context *x = user;
    double percent;

    node->ref = FM_NONE;
    if (!is_aggregate(node->name, &percent))
        return fm_compile_call(x->c, node);
    if (strcmp(node->name, "count") != 0 && strcmp(node->name, "distinct") != 0
        && strcmp(node->name, "share") != 0 && node->args > 0)
        node->unit = node->arg[0]->unit;
    return true;
}

static bool add_measure(struct context *x, const char *name, const struct fm_yaml_node *at)
{
    struct fm_compile *c = x->c;
    struct fm_group *g = x->g;
    struct fm_expr_names names = { .user = x, .name = resolve_name, .call = resolve_call };
    const char *list[FM_COUNT(aggregate) + FM_COUNT(plain)];
    struct fm_scalar s;
    struct fm_expr *expr;

    for (size_t i = 0; i < FM_COUNT(list); i++)
        list[i] = i < FM_COUNT(plain) ? plain[i] : aggregate[i - FM_COUNT(plain)];
    names.list = list;
    names.lists = FM_COUNT(list);
    x->at = at;
    if (!fm_scalar_get(c->q, c->arena, c->log, at, &s))
        return false;
    if (s.unknown)
        return true;
    expr = fm_expr_parse(c->arena, at, s.text, s.n, &names, c->log);
    if (expr == NULL || !fm_compile_members(c, at, expr) || !lower(x, expr))
        return false;
    if (name == NULL)
        name = s.text;
    for (size_t i = 0; i < g->measures; i++) {
        if (strcmp(g->measure[i].name, name) == 0) {
            fm_yaml_error(fm_yaml_as(c->log, FM_YAML_DUPLICATE), at, "measure '%s' is there twice",
                          name);
            return false;
        }
    }
    if (g->measures == g->measure_cap) {
        size_t cap = g->measure_cap == 0 ? 8 : 2 * g->measure_cap;
        struct fm_measure *more = fm_arena_alloc(c->arena, cap * sizeof *more);
        if (more == NULL)
            return false;
        if (g->measures > 0)
            memcpy(more, g->measure, g->measures * sizeof *more);
        g->measure = more;
        g->measure_cap = cap;
    }
    g->measure[g->measures++] = (struct fm_measure){ name, expr };
    return true;
}

static bool compile_measures(struct context *x, const struct fm_yaml_node *node)
{
    bool ok = true;

    if (node->type == FM_YAML_SCALAR)
        return add_measure(x, NULL, node);
    for (size_t i = 0; i < node->n; i++) {
        const struct fm_yaml_node *value =
            node->type == FM_YAML_MAP ? node->pair[i].value : node->item[i];
        const char *name = node->type == FM_YAML_MAP ? node->pair[i].key : NULL;
        if (name == NULL && value->type == FM_YAML_MAP && value->n == 1) {
            name = value->pair[0].key;
            value = value->pair[0].value;
        }
        if (value->type != FM_YAML_SCALAR) {
            fm_yaml_error(fm_yaml_as(x->c->log, FM_YAML_TYPE), value,
                          "a measure is a name or an expression");
            ok = false;
        } else {
            ok = add_measure(x, name, value) && ok;
        }
    }
    return ok;
}

/* ------------------------------------------------------------------ schema */

/* What a / b is a share of, NULL: of nothing. */
static const char *share_of(const struct context *x, const struct fm_expr *e)
{
    if (e->op != FM_EXPR_DIV || e->arg[1]->op != FM_EXPR_REF)
        return NULL;
    switch (x->g->agg[e->arg[1]->ref].kind) {
    case FM_AGG_SELECTED:
        return "selected";
    case FM_AGG_ALL:
        return "all";
    case FM_AGG_LET:
        return x->g->agg[e->arg[1]->ref].let->let->key;
    case FM_AGG_GROUP:
        return fm_arena_printf(x->c->arena, "group (%s)", x->g->key[0].name);
    default:
        return NULL;
    }
}

/* Rows of the store are in one group each, so that the sum over groups is that of the rows. A frame
 * of several categories is itself in several groups. */
static bool is_additive(const struct context *x, const struct fm_agg *agg)
{
    for (size_t k = 0; k < x->g->keys; k++) {
        if (x->g->key[k].kind == FM_KEY_ANY && x->g->key[k].attr == FM_ATTR_CATEGORY)
            return false;
    }
    if (agg->kind == FM_AGG_SELF)
        return true;
    return !x->g->any && (agg->kind <= FM_AGG_ROWS || agg->kind == FM_AGG_COUNT
                          || agg->kind == FM_AGG_SUM);
}

/* Sums of weights, samples, rows and values, and what is made of them by + and -. */
static bool is_amount(const struct context *x, const struct fm_expr *e)
{
    const struct fm_agg *agg = e->op == FM_EXPR_REF ? &x->g->agg[e->ref] : NULL;

    if (agg != NULL)
        return agg->kind <= FM_AGG_ALL || agg->kind == FM_AGG_COUNT || agg->kind == FM_AGG_SUM;
    return (e->op == FM_EXPR_ADD || e->op == FM_EXPR_SUB) && is_amount(x, e->arg[0])
           && is_amount(x, e->arg[1]);
}

static void describe_measure(const struct context *x, const struct fm_measure *m,
                             struct fm_schema_column *col)
{
    const struct fm_expr *e = m->expr;

    col->name = col->full = m->name;
    col->unit = e->unit == NULL ? "" : e->unit;
    col->type = fm_expr_cell(x->c, x->g, e);
    col->untyped = x->c->store == NULL;
    col->amount = is_amount(x, e);
    col->of = share_of(x, e);
    col->share = col->of != NULL;
    if (e->op == FM_EXPR_REF)
        col->additive = is_additive(x, &x->g->agg[e->ref]);
    if (!col->share)
        return;
    col->unit = "";
    /* shares of one base add up as what they are shares of */
    col->additive = x->g->agg[e->arg[1]->ref].kind != FM_AGG_GROUP
                    && e->arg[0]->op == FM_EXPR_REF
                    && is_additive(x, &x->g->agg[e->arg[0]->ref]);
}

/* ns of a bucket of the rows' own times; 0: it is none. */
static int64_t bucket_width(const struct fm_compile *c, const struct fm_expr *e)
{
    const struct fm_operand *o;
    const struct fm_value *w;

    if (e->op != FM_EXPR_BUCKET || e->args != 2 || e->arg[0]->op != FM_EXPR_REF
        || e->arg[1]->op != FM_EXPR_CONST)
        return 0;
    o = c->operand[e->arg[0]->ref];
    w = &e->arg[1]->value;
    if (o->place != FM_AT_COLUMN || o->id != FM_COL_TS)
        return 0;
    return w->type == FM_I64 ? w->i : w->type == FM_U64 && w->u <= INT64_MAX ? (int64_t)w->u : 0;
}

static bool describe(struct context *x, struct fm_schema *schema)
{
    struct fm_group *g = x->g;

    schema->n = schema->cap = g->keys + g->measures;
    schema->column = fm_arena_alloc(x->c->arena, (schema->n + 1) * sizeof *schema->column);
    if (schema->column == NULL)
        return false;
    for (size_t i = 0; i < g->keys; i++) {
        struct fm_schema_column *col = &schema->column[i];
        const struct fm_key *key = &g->key[i];
        *col = (struct fm_schema_column){ .name = key->name, .full = key->full, .unit = "",
                                          .type = key_cell(x, key), .key = true };
        if (key->kind == FM_KEY_EXPR) {
            col->unit = key->expr->unit;
            col->untyped = x->c->store == NULL;
            col->width = bucket_width(x->c, key->expr);
        } else if (key->kind == FM_KEY_ROW) {
            col->unit = key->operand->unit;
            col->untyped = key->operand->untyped;
        }
        for (size_t k = 0; k < g->keys; k++) {
            if (k != i && strcmp(g->key[k].name, key->name) == 0)
                col->name = key->full;
        }
        for (size_t k = 0; k < g->measures; k++) {
            if (strcmp(g->measure[k].name, key->name) == 0)
                col->name = key->full;
        }
    }
    for (size_t i = 0; i < g->measures; i++) {
        struct fm_schema_column *col = &schema->column[g->keys + i];
        describe_measure(x, &g->measure[i], col);
        for (size_t k = 0; k < g->keys; k++) {
            if (strcmp(schema->column[k].name, col->name) == 0) {
                fm_yaml_error(fm_yaml_as(x->c->log, FM_YAML_DUPLICATE), x->at,
                              "measure '%s' has the name of a key", col->name);
                return false;
            }
        }
    }
    return true;
}

bool fm_group_parts(struct fm_compile *c, const struct fm_yaml_node *node,
                    const char *const *known, size_t n, const struct fm_yaml_node **by,
                    const struct fm_yaml_node **measures)
{
    if (node->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node,
                      "'group' takes {by: [KEY …], measures: [MEASURE …]}");
        return false;
    }
    if (!fm_yaml_known(c->log, node, known, n, "key"))
        return false;
    *by = fm_yaml_get(node, "by");
    *measures = fm_yaml_get(node, "measures");
    if (*by != NULL && *measures != NULL)
        return true;
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_MISSING), node, "'group' has no '%s'",
                  *by == NULL ? "by" : "measures");
    return false;
}

struct fm_group *fm_group_compile(struct fm_compile *c, const struct fm_yaml_node *node,
                                  struct fm_schema *schema)
{
    static const char *const known[] = { "by", "measures", "recursion" };
    struct fm_group *g = fm_arena_alloc(c->arena, sizeof *g);
    struct context x = { .c = c, .g = g, .at = node };
    const struct fm_yaml_node *by, *measures;
    bool ok;

    if (g == NULL)
        return NULL;
    if (!fm_group_parts(c, node, known, FM_COUNT(known), &by, &measures))
        return NULL;
    ok = compile_keys(&x, by);
    ok = ok && compile_recursion(&x, fm_yaml_get(node, "recursion"));
    ok = compile_measures(&x, measures) && ok;
    return ok && describe(&x, schema) ? g : NULL;
}
