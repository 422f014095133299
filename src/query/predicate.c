/*
 * predicate.c - `where:` and frame predicates: from YAML to struct fm_pred.
 *
 *     map              all of its entries           {pid: 12, comm: gl*}
 *     list             any of its elements          [malloc, calloc]
 *     any, all, not    as they say
 *     COLUMN: VALUE    a test; VALUE may be a list, or a map of is, not, any, all
 *     stack: {has, lacks, leaf, root: FRAMEPRED, path: [P, P …]}
 *     text             for rows and tables an expression, for frames {function: text}
 *
 * Values of text columns are exact, globs or /regexes/; values of numbers are "5", ">= 10ms" or
 * "1..10" (both ends included). The glob "*" alone is no condition: it holds for rows without a
 * value too, so that a parameter's default hides nothing.
 */
#include "query/pred.h"

#include "util/text.h"

#include <stdio.h>

#define MAX_PARAM_NODES 100000
#define EVENTS_TEXT 280                /* bytes of a list of events, about */

static struct fm_pred *make(struct fm_compile *c, enum fm_pred_op op, size_t args)
{
    struct fm_pred *p = fm_arena_alloc(c->arena, sizeof *p);

    if (p == NULL)
        return NULL;
    p->op = op;
    p->arg = fm_arena_alloc(c->arena, (args + 1) * sizeof(struct fm_pred *));
    return p->arg == NULL ? NULL : p;
}

static struct fm_pred *constant(struct fm_compile *c, uint8_t verdict)
{
    struct fm_pred *p = make(c, FM_PRED_CONST, 0);

    if (p != NULL)
        p->constant = verdict;
    return p;
}

bool fm_pred_always(const struct fm_pred *p)
{
    switch (p->op) {
    case FM_PRED_CONST:
        return p->constant == FM_YES;
    case FM_PRED_AND:
        for (size_t i = 0; i < p->args; i++) {
            if (!fm_pred_always(p->arg[i]))
                return false;
        }
        return true;
    case FM_PRED_OR:
        for (size_t i = 0; i < p->args; i++) {
            if (fm_pred_always(p->arg[i]))
                return true;
        }
        return false;
    default:
        return false;
    }
}

/* ------------------------------------------------------------------- tests */

/* Logs at a place within the scalar as written; at the scalar when it was substituted. */
static void complain_at(struct fm_compile *c, const struct fm_scalar *s, size_t at,
                        const char *message)
{
    if (s->text == s->at->text && s->at->n > 0)
        fm_yaml_error_at(fm_yaml_as(c->log, FM_YAML_REGEX),
                         s->at, FM_MIN(at, s->n), 1, "%s", message);
    else
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_REGEX), s->at, "%s", message);
}

static bool is_category(const struct fm_operand *o)
{
    return (o->place == FM_AT_FRAME || o->place == FM_AT_LEAF || o->place == FM_AT_ROOT)
           && o->id == FM_ATTR_CATEGORY;
}

bool fm_operand_is_list(const struct fm_operand *o)
{
    return (o->place == FM_AT_COLUMN && o->id == FM_COL_CATEGORY) || is_category(o);
}

/* A category by its name is one of some dictionary. */
static bool category_is_known(struct fm_compile *c, const struct fm_scalar *s,
                              const struct fm_pattern *pattern)
{
    const char *const *list, *near, *all = "";
    size_t n;

    if (fm_pattern_form(pattern) != FM_PATTERN_EXACT || fm_category_known(c, s->text, s->n))
        return true;
    list = fm_category_names(c, &n);
    if (n == 0)
        return false;              /* the dictionaries have been complained about */
    near = fm_text_nearest(s->text, list, n);
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_UNKNOWN), s->at, "unknown category '%s'%s%s%s",
                  s->text, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    for (size_t i = 0; i < n && all != NULL; i++)
        all = fm_arena_printf(c->arena, "%s %s", all, list[i]);
    if (all != NULL)
        fm_yaml_note(c->log, "categories are:%s", all);
    return false;
}

static struct fm_pred *text_test(struct fm_compile *c, struct fm_operand *o,
                                 const struct fm_scalar *s, bool exact)
{
    struct fm_error err = { .status = FM_OK };
    struct fm_pattern *pattern;
    struct fm_pred *p;

    if (!exact && s->n == 1 && s->text[0] == '*')
        return constant(c, FM_YES);
    if (fm_pattern_new(&c->ctx->mem, s->text, s->n, exact, &pattern, &err) != FM_OK) {
        if (err.status == FM_NOMEM)
            c->arena->oom = true;
        else
            complain_at(c, s, err.column > 0 ? err.column - 1 : 0, err.message);
        return NULL;
    }
    if (!fm_compile_keep(c, pattern))
        return NULL;
    if (is_category(o) && !category_is_known(c, s, pattern))
        return NULL;
    p = make(c, FM_PRED_TEST, 0);
    if (p == NULL)
        return NULL;
    p->operand = o;
    p->test.kind = FM_TEST_TEXT;
    p->test.pattern = pattern;
    p->test.list = fm_operand_is_list(o);
    p->test.base = (o->place == FM_AT_FRAME || o->place == FM_AT_LEAF || o->place == FM_AT_ROOT)
                   && (o->id == FM_ATTR_MODULE || o->id == FM_ATTR_FILE);
    return p;
}

static bool number(struct fm_compile *c, const struct fm_operand *o, const struct fm_scalar *s,
                   size_t from, size_t to, struct fm_value *value)
{
    const char *unit, *text = s->text;

    while (from < to && text[from] == ' ')
        from++;
    while (to > from && text[to - 1] == ' ')
        to--;
    if (!fm_scalar_number(c->q, text + from, to - from, value, &unit)) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE),
                      s->at, "'%s' needs a number, not '%.*s'", o->name,
                      (int)FM_MIN(to - from, (size_t)80), text + from);
        return false;
    }
    if (unit[0] != '\0' && o->unit[0] != '\0' && strcmp(unit, o->unit) != 0) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_UNIT),
                      s->at, "units do not match: '%s' is in %s, '%.*s' in %s", o->name,
                      o->unit, (int)FM_MIN(to - from, (size_t)80), text + from, unit);
        return false;
    }
    return true;
}

static size_t comparator(const struct fm_scalar *s, enum fm_expr_op *op)
{
    static const struct {
        const char *text;
        enum fm_expr_op op;
    } known[] = {
        { ">=", FM_EXPR_GE }, { "<=", FM_EXPR_LE }, { "==", FM_EXPR_EQ }, { "!=", FM_EXPR_NE },
        { ">", FM_EXPR_GT }, { "<", FM_EXPR_LT }
    };

    *op = FM_EXPR_EQ;
    for (size_t i = 0; i < FM_COUNT(known); i++) {
        size_t n = strlen(known[i].text);
        if (s->n > n && memcmp(s->text, known[i].text, n) == 0) {
            *op = known[i].op;
            return n;
        }
    }
    return 0;
}

static struct fm_pred *number_test(struct fm_compile *c, struct fm_operand *o,
                                   const struct fm_scalar *s)
{
    struct fm_pred *p = make(c, FM_PRED_TEST, 0);
    size_t dots = s->n, skip;
    struct fm_test *t;

    if (p == NULL)
        return NULL;
    t = &p->test;
    p->operand = o;
    for (size_t i = 0; i + 1 < s->n && dots == s->n; i++) {
        if (s->text[i] == '.' && s->text[i + 1] == '.')
            dots = i;
    }
    if (s->n == 1 && s->text[0] == '*')
        return constant(c, FM_YES);
    if (dots < s->n) {
        t->kind = FM_TEST_RANGE;
        if ((dots > 0 && !number(c, o, s, 0, dots, &t->lo))
            || (dots + 2 < s->n && !number(c, o, s, dots + 2, s->n, &t->hi)))
            return NULL;
        return p;
    }
    t->kind = FM_TEST_COMPARE;
    skip = comparator(s, &t->op);
    if (o->type == FM_TYPE_BOOL && s->n - skip == 4 && memcmp(s->text + skip, "true", 4) == 0)
        t->lo = fm_value_i64(1);
    else if (o->type == FM_TYPE_BOOL && s->n - skip == 5
             && memcmp(s->text + skip, "false", 5) == 0)
        t->lo = fm_value_i64(0);
    else if (!number(c, o, s, skip, s->n, &t->lo))
        return NULL;
    return p;
}

static bool is_text(const struct fm_operand *o)
{
    return o->type == FM_TYPE_STRING || o->type == FM_TYPE_STACK;
}

/* A thread is met by its name, or by its tid when the value is a number. */
static struct fm_pred *thread_test(struct fm_compile *c, struct fm_operand *o,
                                   const struct fm_scalar *s)
{
    const char *dot = strrchr(o->name, '.'), *name = "tid";
    uint64_t tid;
    uint32_t k;

    if (!fm_text_u64(s->text, s->n, &tid))
        return text_test(c, o, s, s->param != NULL && s->param->type == FM_PARAM_STRING);
    if (dot != NULL)                   /* waker.thread: waker.tid */
        name = fm_arena_printf(c->arena, "%.*s.tid", (int)(dot - o->name), o->name);
    k = name == NULL ? FM_NONE : fm_operand_find(c, FM_SCOPE_ROWS, name, strlen(name));
    return k == FM_NONE ? NULL : number_test(c, c->operand[k], s);
}

/* All selected rows are of an event that no row names: an alias (cpu), a derived one (leak). */
static bool is_selected(const struct fm_compile *c, const struct fm_scalar *s)
{
    return c->event != NULL && strncmp(c->event, s->text, s->n) == 0
           && (c->event[s->n] == '\0' || c->event[s->n] == ':');
}

/* event: auto holds always; a name of no event may be a metric, or what the selection is of; else
 * it is an error that lists what the store has. */
static struct fm_pred *event_test(struct fm_compile *c, struct fm_operand *o,
                                  const struct fm_scalar *s)
{
    struct fm_pred *p;
    const char *list = "";
    bool of_metric = false;
    size_t events, more = 0;
    char left[40] = "";

    if ((s->n == 4 && memcmp(s->text, "auto", 4) == 0)
        || (s->n == 3 && memcmp(s->text, "all", 3) == 0))
        return constant(c, FM_YES);
    p = text_test(c, o, s, false);
    if (p == NULL || c->store == NULL || p->op != FM_PRED_TEST)
        return p;
    events = fm_store_events(c->store);
    for (size_t i = 0; i < events; i++) {
        const struct fm_event *e = fm_store_event_row(c->store, i);
        char buf[32];
        size_t n, metric_n;
        const char *name = fm_store_str(c->store, e->name, &n);
        const char *metric = fm_store_str(c->store, e->metric, &metric_n);
        if (fm_pattern_match(p->test.pattern, name, n))
            return p;
        of_metric |= fm_pattern_match(p->test.pattern, metric, metric_n);
        if (e->samples == 0)
            continue;
        if (strlen(list) > EVENTS_TEXT) {
            more++;
            continue;
        }
        list = fm_arena_printf(c->arena, "%s%s%s (%s)", list, *list == '\0' ? "" : ", ", name,
                               fm_text_count((double)e->samples, buf));
        if (list == NULL)
            return NULL;
    }
    if (of_metric) {
        uint32_t k = fm_operand_find(c, FM_SCOPE_ROWS, "metric", 6);
        return k == FM_NONE ? NULL : text_test(c, c->operand[k], s, false);
    }
    if (is_selected(c, s))
        return constant(c, FM_YES);
    if (more > 0)
        snprintf(left, sizeof left, " and %zu more", more);
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_EVENT),
                  s->at, "no event '%.*s'; inputs have: %s%s", (int)FM_MIN(s->n, 100u), s->text,
                  *list == '\0' ? "no samples" : list, left);
    return NULL;
}

static struct fm_pred *scalar_test(struct fm_compile *c, struct fm_operand *o,
                                   const struct fm_scalar *s)
{
    struct fm_pred *p;

    if (s->unknown || o->untyped || o->place == FM_AT_LATER) {
        /* a check without store: a pattern can be tried, types cannot */
        p = s->unknown ? NULL : text_test(c, o, s, false);
        if (p == NULL && !s->unknown)
            return NULL;
        p = make(c, FM_PRED_TEST, 0);
        if (p != NULL) {
            p->operand = o;
            p->test.kind = FM_TEST_LATER;
        }
        return p;
    }
    if (s->param != NULL && s->param->type == FM_PARAM_STRING && is_text(o))
        return text_test(c, o, s, true);
    if (o->place == FM_AT_DERIVED && o->id == FM_DERIVED_EVENT)
        return event_test(c, o, s);
    if (o->type == FM_TYPE_THREAD)
        return thread_test(c, o, s);
    return is_text(o) ? text_test(c, o, s, false) : number_test(c, o, s);
}

static struct fm_pred *column_map(struct fm_compile *c, struct fm_operand *o,
                                  const struct fm_yaml_node *node, enum fm_scope scope)
{
    struct fm_pred *all = make(c, FM_PRED_AND, node->n);

    for (size_t i = 0; all != NULL && i < node->n; i++) {
        const struct fm_yaml_pair *pair = &node->pair[i];
        struct fm_pred *p;
        struct fm_scalar s;
        if (strcmp(pair->key, "is") == 0) {
            if (pair->value->type != FM_YAML_SCALAR
                || (!is_text(o) && o->type != FM_TYPE_THREAD)) {
                fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), pair->value, "'is' takes one text");
                return NULL;
            }
            if (!fm_scalar_get(c->q, c->arena, c->log, pair->value, &s))
                return NULL;
            p = text_test(c, o, &s, true);
        } else if (strcmp(pair->key, "not") == 0) {
            p = make(c, FM_PRED_NOT, 1);
            if (p == NULL)
                return NULL;
            p->arg[0] = fm_pred_column(c, o, pair->value, scope);
            p->args = 1;
            if (p->arg[0] == NULL)
                return NULL;
        } else if (strcmp(pair->key, "any") == 0 && pair->value->type == FM_YAML_LIST) {
            p = fm_pred_column(c, o, pair->value, scope);
        } else if (strcmp(pair->key, "all") == 0 && pair->value->type == FM_YAML_LIST) {
            p = fm_pred_column(c, o, pair->value, scope);
            if (p != NULL && p->op == FM_PRED_OR)
                p->op = FM_PRED_AND;
        } else {
            fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_UNKNOWN),
                              pair, "'%s' is none of is, not, any, all", pair->key);
            fm_yaml_note(c->log, "text with ': ', ', ' or brackets must be quoted");
            return NULL;
        }
        if (p == NULL)
            return NULL;
        all->arg[all->args++] = p;
    }
    return all;
}

/* A parameter that is a map or a list may name others, but not in a circle (there are no more of
 * them than the query declares), and not so often that a short file becomes a huge predicate. */
static bool param_enter(struct fm_compile *c, const struct fm_scalar *s)
{
    if (c->param_depth >= c->q->params) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_CYCLE), s->at, "parameter '%s' needs itself",
                      s->param->name);
        return false;
    }
    c->param_nodes += s->param->node->weight;
    if (c->param_nodes > MAX_PARAM_NODES) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), s->at,
                      "parameters repeat more than %d values", MAX_PARAM_NODES);
        return false;
    }
    c->param_depth++;
    return true;
}

/* Values of -p have no place in the file that a message could show. */
static void param_leave(struct fm_compile *c, const struct fm_scalar *s, const struct fm_pred *p)
{
    c->param_depth--;
    if (p == NULL && c->param_depth == 0 && s->param->node->line == 0 && !c->arena->oom)
        fm_yaml_note(c->log, "in the value of parameter '%s'", s->param->name);
}

struct fm_pred *fm_pred_column(struct fm_compile *c, struct fm_operand *o,
                               const struct fm_yaml_node *node, enum fm_scope scope)
{
    struct fm_pred *any;
    struct fm_scalar s;

    if (node->type == FM_YAML_MAP)
        return column_map(c, o, node, scope);
    if (node->type == FM_YAML_SCALAR) {
        if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
            return NULL;
        if (s.param != NULL && s.param->node != NULL) {
            if (!param_enter(c, &s))
                return NULL;
            any = fm_pred_column(c, o, s.param->node, scope);
            param_leave(c, &s, any);
            return any;
        }
        if (s.param != NULL && s.param->type == FM_PARAM_PRED && s.n == 4
            && memcmp(s.text, "none", 4) == 0)
            return constant(c, FM_NO);
        return scalar_test(c, o, &s);
    }
    any = make(c, FM_PRED_OR, node->n);
    for (size_t i = 0; any != NULL && i < node->n; i++) {
        any->arg[i] = fm_pred_column(c, o, node->item[i], scope);
        if (any->arg[i] == NULL)
            return NULL;
        any->args++;
    }
    return any;
}

/* -------------------------------------------------------------- structures */

static struct fm_pred *list_of(struct fm_compile *c, const struct fm_yaml_node *node,
                               enum fm_scope scope, enum fm_pred_op op)
{
    struct fm_pred *p = make(c, op, node->n);
    bool bad = p == NULL;

    for (size_t i = 0; p != NULL && i < node->n; i++) {
        p->arg[i] = fm_pred_compile(c, node->item[i], scope);
        bad |= p->arg[i] == NULL;
        p->args++;
    }
    return bad ? NULL : p;
}

static struct fm_pred *stack_one(struct fm_compile *c, const struct fm_yaml_pair *pair)
{
    static const char *const name[] = { "has", "lacks", "leaf", "root", "path" };
    struct fm_pred *p = make(c, FM_PRED_STACK, pair->value->type == FM_YAML_LIST
                                                   ? pair->value->n : 1);
    size_t k = 0;

    while (k < FM_COUNT(name) && strcmp(pair->key, name[k]) != 0)
        k++;
    if (k == FM_COUNT(name)) {
        const char *near = fm_text_nearest(pair->key, name, FM_COUNT(name));
        fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_UNKNOWN),
                          pair, "unknown stack test '%s'%s%s%s", pair->key,
                          near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
        fm_yaml_note(c->log, "stack tests are: has lacks leaf root path");
        return NULL;
    }
    if (p == NULL)
        return NULL;
    p->stack = (enum fm_stack_test)k;
    if (p->stack != FM_STACK_PATH) {
        p->arg[p->args++] = fm_pred_compile(c, pair->value, FM_SCOPE_FRAMES);
        return p->arg[0] == NULL ? NULL : p;
    }
    if (pair->value->type != FM_YAML_LIST) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE),
                      pair->value, "'path' takes a list of frame predicates");
        return NULL;
    }
    for (size_t i = 0; i < pair->value->n; i++) {
        p->arg[p->args] = fm_pred_compile(c, pair->value->item[i], FM_SCOPE_FRAMES);
        if (p->arg[p->args++] == NULL)
            return NULL;
    }
    return p;
}

static struct fm_pred *stack_test(struct fm_compile *c, const struct fm_yaml_node *node)
{
    struct fm_pred *all;

    if (node->type != FM_YAML_MAP || node->n == 0) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE),
                      node, "'stack' takes a map of has, lacks, leaf, root or path");
        return NULL;
    }
    all = make(c, FM_PRED_AND, node->n);
    for (size_t i = 0; all != NULL && i < node->n; i++) {
        all->arg[i] = stack_one(c, &node->pair[i]);
        if (all->arg[i] == NULL)
            return NULL;
        all->args++;
    }
    return all;
}

static void unknown_column(struct fm_compile *c, const struct fm_yaml_pair *pair,
                           enum fm_scope scope)
{
    static const char *const what[] = { "column", "frame attribute", "column" };
    size_t n, skip;
    const char *const *list = fm_operand_names(c, scope, &n);
    const char *near = list == NULL ? NULL : fm_text_nearest(pair->key, list, n);

    if (scope == FM_SCOPE_ROWS && fm_operand_via(pair->key, strlen(pair->key), &skip) != 0) {
        fm_operand_unlinked(c, NULL, pair, pair->key);
        return;
    }
    fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_UNKNOWN),
                      pair, "unknown %s '%s'%s%s%s", what[scope], pair->key,
                      near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    if (scope == FM_SCOPE_ROWS && c->store != NULL && near == NULL)
        fm_yaml_note(c->log, "labels are there only when the import kept them (--keep)");
    else if (scope == FM_SCOPE_FRAMES)
        fm_yaml_note(c->log, "frames have: function module file line address kind raw category; a "
                             "name with ', ' or ': ' must be quoted");
}

static struct fm_pred *pair_of(struct fm_compile *c, const struct fm_yaml_pair *pair,
                               enum fm_scope scope)
{
    struct fm_pred *p;
    uint32_t k;

    if (strcmp(pair->key, "any") == 0 || strcmp(pair->key, "all") == 0) {
        if (pair->value->type != FM_YAML_LIST) {
            fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE),
                          pair->value, "'%s' takes a list of predicates", pair->key);
            return NULL;
        }
        return list_of(c, pair->value, scope, pair->key[1] == 'n' ? FM_PRED_OR : FM_PRED_AND);
    }
    if (strcmp(pair->key, "not") == 0) {
        p = make(c, FM_PRED_NOT, 1);
        if (p == NULL)
            return NULL;
        p->arg[0] = fm_pred_compile(c, pair->value, scope);
        p->args = 1;
        return p->arg[0] == NULL ? NULL : p;
    }
    if (strcmp(pair->key, "stack") == 0 && scope == FM_SCOPE_ROWS)
        return stack_test(c, pair->value);
    k = fm_operand_find(c, scope, pair->key, strlen(pair->key));
    if (k == FM_NONE) {
        if (!c->arena->oom)
            unknown_column(c, pair, scope);
        return NULL;
    }
    return fm_pred_column(c, c->operand[k], pair->value, scope);
}

static struct fm_pred *expression(struct fm_compile *c, const struct fm_scalar *s,
                                  enum fm_scope scope)
{
    struct fm_pred *p = make(c, FM_PRED_EXPR, 0);

    if (p == NULL)
        return NULL;
    p->expr = fm_compile_expr(c, scope, s);
    return p->expr == NULL ? NULL : p;
}

struct fm_pred *fm_pred_compile(struct fm_compile *c, const struct fm_yaml_node *node,
                                enum fm_scope scope)
{
    struct fm_pred *all;
    struct fm_scalar s;
    bool bad = false;

    if (node->type == FM_YAML_LIST)
        return list_of(c, node, scope, FM_PRED_OR);
    if (node->type == FM_YAML_MAP) {
        all = make(c, FM_PRED_AND, node->n);
        for (size_t i = 0; all != NULL && i < node->n; i++) {
            all->arg[i] = pair_of(c, &node->pair[i], scope);
            bad |= all->arg[i] == NULL;
            all->args++;
        }
        return bad ? NULL : all;
    }
    if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
        return NULL;
    if (s.param != NULL && s.param->node != NULL) {
        if (!param_enter(c, &s))
            return NULL;
        all = fm_pred_compile(c, s.param->node, scope);
        param_leave(c, &s, all);
        return all;
    }
    if (!s.unknown && s.n == 4 && memcmp(s.text, "none", 4) == 0)
        return constant(c, FM_NO);
    if (scope != FM_SCOPE_FRAMES)
        return s.unknown ? constant(c, FM_YES) : expression(c, &s, scope);
    uint32_t k = fm_operand_find(c, scope, "function", 8);
    return k == FM_NONE ? NULL : scalar_test(c, c->operand[k], &s);
}
