/*
 * plan.c - the steps of a query compiled: order of steps, names, options.
 *
 *     rows:   where time stack …   then   group   then   table:  where sort limit
 *
 * Every step is compiled before the first one runs, with the schema that the steps before it leave,
 * so all errors come at once. At load there is no store: names that may be labels pass.
 */
#include "query/plan.h"

#include "util/text.h"

static const char *const step_name[] = {
    "where", "time", "within", "weigh", "stack", "group", "tree", "pivot", "compute", "select",
    "sort", "limit", "join", "union", "diff", "check"
};

static bool in_this_version(const char *name)
{
    static const char *const now[] = { "where", "time", "stack", "group", "compute", "sort",
                                       "limit", "check" };

    for (size_t i = 0; i < FM_COUNT(now); i++) {
        if (strcmp(now[i], name) == 0)
            return true;
    }
    return false;
}

struct maker {
    struct fm_query *q;
    struct fm_plan *plan;
    const struct fm_yaml_pair *group_at;   /* the group step, once met */
    struct fm_sort_key *key;               /* of the last sort */
    size_t keys;
    bool broken;                           /* what comes after cannot be judged: names only */
};

/* ------------------------------------------------------------- single steps */

static bool make_where(struct maker *m, struct fm_step *step)
{
    struct fm_compile *c = &m->plan->c;

    step->op = m->plan->grouped ? FM_STEP_TABLE_WHERE : FM_STEP_WHERE;
    step->p = fm_pred_compile(c, step->at->value,
                              m->plan->grouped ? FM_SCOPE_TABLE : FM_SCOPE_ROWS);
    return step->p != NULL;
}

static bool make_time(struct maker *m, struct fm_step *step)
{
    static const char *const known[] = { "range", "origin" };
    struct fm_compile *c = &m->plan->c;
    const struct fm_yaml_node *node = step->at->value, *origin = NULL;
    const struct fm_yaml_pair *clip;
    struct fm_scalar s;

    step->op = FM_STEP_TIME;
    if (node->type == FM_YAML_MAP) {
        clip = fm_yaml_find(node, "clip");
        if (clip != NULL) {
            fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_PLACE), clip,
                              "'clip' is not part of this version");
            return false;
        }
        if (!fm_yaml_known(c->log, node, known, FM_COUNT(known), "key"))
            return false;
        origin = fm_yaml_get(node, "origin");
        if (origin != NULL && !fm_yaml_is(origin, "start") && !fm_yaml_is(origin, "end")
            && !fm_yaml_is(origin, "epoch")) {
            fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), origin,
                          "'origin' is start, end or epoch");
            return false;
        }
        node = fm_yaml_get(node, "range");
    }
    if (node == NULL || node->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), step->at->value,
                      "'time' takes {range: A..B, origin: start|end|epoch}");
        return false;
    }
    if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
        return false;
    step->range = fm_range_compile(c, &s, origin == NULL ? NULL : origin->text);
    return step->range != NULL;
}

static bool make_stack(struct maker *m, struct fm_step *step)
{
    struct fm_compile *c = &m->plan->c;
    const struct fm_yaml_node *node = step->at->value;
    size_t n = node->type == FM_YAML_LIST ? node->n : 1;
    bool ok = true;

    step->op = FM_STEP_STACK;
    step->edit = fm_arena_alloc(c->arena, (n + 1) * sizeof *step->edit);
    if (step->edit == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        step->edit[step->edits] =
            fm_edit_compile(c, node->type == FM_YAML_LIST ? node->item[i] : node);
        ok = step->edit[step->edits++] != NULL && ok;
    }
    return ok;
}

static bool make_group(struct maker *m, struct fm_step *step)
{
    struct fm_compile *c = &m->plan->c;

    step->op = FM_STEP_GROUP;
    step->group = fm_group_compile(c, step->at->value, &m->plan->schema);
    m->plan->grouped = true;
    m->group_at = step->at;
    c->schema = &m->plan->schema;
    m->broken |= step->group == NULL;
    return step->group != NULL;
}

/* The column of a result that a scalar names. */
static bool column_named(struct maker *m, const struct fm_yaml_node *node, size_t skip,
                         const char *what, size_t *col)
{
    struct fm_compile *c = &m->plan->c;
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
    list = fm_operand_names(c, FM_SCOPE_TABLE, &n);
    if (list != NULL)
        fm_yaml_unknown(c->log, node, "column", s.text + skip, list, n);
    return false;
}

static bool make_sort(struct maker *m, struct fm_step *step)
{
    struct fm_compile *c = &m->plan->c;
    const struct fm_yaml_node *node = step->at->value;
    size_t n = node->type == FM_YAML_LIST ? node->n : 1;
    bool ok = true;

    step->op = FM_STEP_SORT;
    step->key = fm_arena_alloc(c->arena, (n + 1) * sizeof *step->key);
    if (step->key == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct fm_yaml_node *key = node->type == FM_YAML_LIST ? node->item[i] : node;
        bool down = key->type == FM_YAML_SCALAR && key->n > 1 && key->text[0] == '-';
        step->key[i].descending = down;
        ok = column_named(m, key, down, "a sort key", &step->key[i].col) && ok;
    }
    step->keys = n;
    m->key = step->key;
    m->keys = n;
    return ok;
}

/* A count of rows: a number, or all. */
static bool limit_rows(struct maker *m, const struct fm_yaml_node *node, struct fm_limit *limit)
{
    struct fm_compile *c = &m->plan->c;
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

static bool limit_at(struct maker *m, const struct fm_yaml_node *node, struct fm_limit *limit)
{
    struct fm_compile *c = &m->plan->c;
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

static bool limit_per(struct maker *m, const struct fm_yaml_node *node, struct fm_limit *limit)
{
    size_t n = node->type == FM_YAML_LIST ? node->n : 1;
    bool ok = true;

    limit->per = fm_arena_alloc(m->plan->c.arena, (n + 1) * sizeof *limit->per);
    if (limit->per == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        ok = column_named(m, node->type == FM_YAML_LIST ? node->item[i] : node, 0, "'per'",
                          &limit->per[limit->pers++]) && ok;
    return ok;
}

static bool limit_option(struct maker *m, const struct fm_yaml_pair *pair, struct fm_limit *limit)
{
    struct fm_compile *c = &m->plan->c;
    struct fm_scalar s;

    if (strcmp(pair->key, "rows") == 0)
        return limit_rows(m, pair->value, limit);
    if (strcmp(pair->key, "at") == 0)
        return limit_at(m, pair->value, limit);
    if (strcmp(pair->key, "per") == 0)
        return limit_per(m, pair->value, limit);
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

static bool make_limit(struct maker *m, struct fm_step *step)
{
    static const char *const known[] = { "rows", "rest", "per", "ties", "at" };
    const struct fm_yaml_node *node = step->at->value;
    struct fm_compile *c = &m->plan->c;
    bool ok = true;

    step->op = FM_STEP_LIMIT;
    step->key = m->key;
    step->keys = m->keys;
    step->limit.at = -1;
    if (node->type != FM_YAML_MAP)
        return limit_rows(m, node, &step->limit);
    if (!fm_yaml_known(c->log, node, known, FM_COUNT(known), "key"))
        return false;
    if (fm_yaml_get(node, "rows") == NULL) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_MISSING), node, "'limit' has no 'rows'");
        return false;
    }
    for (size_t i = 0; i < node->n; i++)
        ok = limit_option(m, &node->pair[i], &step->limit) && ok;
    return ok;
}

/* ---------------------------------------------------------------- the order */

static const struct fm_yaml_pair *operator_of(struct maker *m, const struct fm_yaml_node *node)
{
    struct fm_compile *c = &m->plan->c;
    const struct fm_yaml_pair *pair;
    const char *near;

    if (node->type != FM_YAML_MAP || node->n == 0) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node,
                      "a step is a map such as {where: …} or {limit: 10}");
        return NULL;
    }
    pair = &node->pair[0];
    if (in_this_version(pair->key)) {
        if (node->n == 1)
            return pair;
        fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_UNKNOWN), &node->pair[1],
                          "step '%s' has no option '%s' (each step has its own '-')", pair->key,
                          node->pair[1].key);
        return NULL;
    }
    for (size_t i = 0; i < FM_COUNT(step_name); i++) {
        if (strcmp(pair->key, step_name[i]) == 0) {
            fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_PLACE), pair,
                              "step '%s' is not part of this version", pair->key);
            return NULL;
        }
    }
    near = fm_text_nearest(pair->key, step_name, FM_COUNT(step_name));
    fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_UNKNOWN), pair, "unknown step '%s'%s%s%s",
                      pair->key, near ? " (did you mean '" : "", near ? near : "",
                      near ? "'?)" : "");
    fm_yaml_note(c->log, "steps are: where time stack group compute sort limit check");
    return NULL;
}

static bool in_place(struct maker *m, const struct fm_yaml_pair *pair)
{
    struct fm_yaml_log *log = m->plan->c.log;
    bool rows = strcmp(pair->key, "time") == 0 || strcmp(pair->key, "stack") == 0;

    if (m->plan->grouped && (rows || strcmp(pair->key, "group") == 0)) {
        if (rows)
            fm_yaml_error_key(fm_yaml_as(log, FM_YAML_PLACE), pair,
                              "a group result has no %s; '%s' must come before 'group' at %u:%u",
                              pair->key[0] == 't' ? "times" : "stacks", pair->key,
                              m->group_at->key_line, m->group_at->key_column);
        else
            fm_yaml_error_key(fm_yaml_as(log, FM_YAML_PLACE), pair,
                              "'group' of a group result is not part of this version");
        return false;
    }
    if (!m->plan->grouped && !rows && strcmp(pair->key, "where") != 0
        && strcmp(pair->key, "group") != 0) {
        fm_yaml_error_key(fm_yaml_as(log, FM_YAML_PLACE), pair,
                          "'%s' needs a result: 'group' must come before it", pair->key);
        return false;
    }
    return true;
}

static bool make_step(struct maker *m, const struct fm_yaml_node *node)
{
    const struct fm_yaml_pair *pair = operator_of(m, node);
    struct fm_step *step = &m->plan->step[m->plan->steps];

    if (pair == NULL)
        m->broken = true;
    if (m->broken || !in_place(m, pair))
        return false;
    step->at = pair;
    m->plan->steps++;
    if (strcmp(pair->key, "check") == 0) {
        step->op = FM_STEP_CHECK;
        step->check = fm_check_compile(&m->plan->c, pair->value);
        return step->check != NULL;
    }
    switch (pair->key[0]) {
    case 'c':
        step->op = FM_STEP_COMPUTE;
        step->computed = fm_compute_compile(&m->plan->c, pair->value, &m->plan->schema);
        m->broken |= step->computed == NULL;
        return step->computed != NULL;
    case 'w':
        return make_where(m, step);
    case 't':
        return make_time(m, step);
    case 'g':
        return make_group(m, step);
    case 'l':
        return make_limit(m, step);
    default:
        return strcmp(pair->key, "sort") == 0 ? make_sort(m, step) : make_stack(m, step);
    }
}

static void make_columns(struct maker *m)
{
    struct fm_plan *plan = m->plan;
    const struct fm_yaml_node *list = m->q->columns;

    if (list == NULL)
        return;
    plan->column = fm_arena_alloc(plan->c.arena, (list->n + 1) * sizeof *plan->column);
    for (size_t i = 0; plan->column != NULL && i < list->n; i++) {
        if (column_named(m, list->item[i], 0, "an output column", &plan->column[plan->columns]))
            plan->columns++;
    }
}

static void make_from(struct maker *m)
{
    static const char *const later[] = { "offcpu", "wakeups", "runq",
                                         "launches", "threads", "frames", "inputs" };
    const struct fm_yaml_node *from = m->q->from;
    struct fm_yaml_log *log = m->plan->c.log;
    enum fm_from known;

    m->plan->c.from = fm_query_from(m->q);
    if (from == NULL)
        return;
    if (from->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(log, FM_YAML_PLACE), from,
                      "'from' that is no plain name is not part of this version");
        return;
    }
    if (fm_from_find(from->text, &known))
        return;
    for (size_t i = 0; i < FM_COUNT(later); i++) {
        if (fm_yaml_is(from, later[i])) {
            fm_yaml_error(fm_yaml_as(log, FM_YAML_PLACE), from,
                          "'from: %s' is not part of this version", later[i]);
            return;
        }
    }
    fm_yaml_error(fm_yaml_as(log, FM_YAML_UNKNOWN), from,
                  "'from: %s' is unknown; it is samples, spans, counters or instants", from->text);
}

enum fm_status fm_plan_compile(struct fm_query *q, const struct fm_selection *sel,
                               struct fm_arena *arena, struct fm_plan *plan)
{
    struct maker m = { .q = q, .plan = plan };
    const struct fm_yaml_node *steps = q->steps;
    bool ok = true;

    *plan = (struct fm_plan){ .c = { .ctx = q->ctx, .q = q, .arena = arena, .log = &q->log,
                                     .unit = "" } };
    if (sel != NULL) {
        plan->c.store = sel->store;
        plan->c.unit = fm_store_str(sel->store, sel->unit, NULL);
        plan->c.event = fm_store_str(sel->store, sel->event_name, NULL);
    }
    if (q->root == NULL || q->root->type != FM_YAML_MAP)
        return FM_CONFIG;
    make_from(&m);
    if (steps == NULL || steps->type != FM_YAML_LIST) {
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_MISSING), steps != NULL ? steps : q->root,
                      "'steps' must be a list of steps");
        return FM_CONFIG;
    }
    plan->step = fm_arena_alloc(arena, (steps->n + 1) * sizeof *plan->step);
    if (plan->step == NULL)
        return FM_NOMEM;
    for (size_t i = 0; i < steps->n; i++)
        ok = make_step(&m, steps->item[i]) && ok;
    if (ok && !plan->grouped) {
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_MISSING), steps, "a query needs a 'group' step");
    } else if (ok) {
        make_columns(&m);
    }
    if (arena->oom || q->log.first.status == FM_NOMEM)
        return FM_NOMEM;
    return q->log.errors > 0 ? FM_CONFIG : FM_OK;
}

void fm_plan_release(struct fm_plan *plan)
{
    fm_compile_release(&plan->c);
}

const struct fm_yaml_node *fm_plan_event(const struct fm_query *q)
{
    if (q->steps == NULL || q->steps->type != FM_YAML_LIST)
        return NULL;
    for (size_t i = 0; i < q->steps->n; i++) {
        const struct fm_yaml_node *where = fm_yaml_get(q->steps->item[i], "where");
        const struct fm_yaml_node *event = fm_yaml_get(where, "event");
        if (event != NULL)
            return event;
        if (fm_yaml_get(q->steps->item[i], "group") != NULL)
            return NULL;
    }
    return NULL;
}
