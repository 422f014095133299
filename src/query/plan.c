/*
 * plan.c - a query compiled into pipes of steps: names, the order of steps, who needs whom.
 *
 *     let: {hits: {from: samples, steps: […]},      hits     rows
 *           up:   {from: hits, steps: […]}}         up       from hits, a table
 *     show: [up]                                    plan->pipe = hits up, plan->show = up
 *
 * A pipe is compiled when it is named first, and stands in the plan behind all that it names
 * itself. Every step is compiled before the first one runs, with the schema that the steps before
 * it leave, so all errors come at once. At load there is no store: names that may be labels pass.
 */
#include "query/plan.h"

#include "util/error.h"
#include "util/text.h"

#define MAX_NESTED 64                /* a let that needs a let that needs … */

/* ---------------------------------------------------------------- the order */

/* "where time stack …": what is there. */
static const char *steps_text(struct fm_arena *arena)
{
    const char *text = "", *name;

    for (size_t i = 0; text != NULL && (name = fm_step_name(i)) != NULL; i++)
        text = fm_arena_printf(arena, "%s%s%s", text, i > 0 ? " " : "", name);
    return text == NULL ? "" : text;
}

static void unknown_step(struct fm_compile *c, const struct fm_yaml_pair *pair)
{
    const char *known[64], *near;
    size_t n = 0;

    while (n < FM_COUNT(known) && (known[n] = fm_step_name(n)) != NULL)
        n++;
    near = fm_text_nearest(pair->key, known, n);
    fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_UNKNOWN), pair, "unknown step '%s'%s%s%s",
                      pair->key, near ? " (did you mean '" : "", near ? near : "",
                      near ? "'?)" : "");
    fm_yaml_note(c->log, "steps are: %s", steps_text(c->arena));
}

static const struct fm_yaml_pair *operator_of(struct fm_pipe *pipe,
                                              const struct fm_yaml_node *node)
{
    struct fm_compile *c = &pipe->c;
    const struct fm_yaml_pair *pair;

    if (node->type != FM_YAML_MAP || node->n == 0) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node,
                      "a step is a map such as {where: …} or {limit: 10}");
        return NULL;
    }
    pair = &node->pair[0];
    if (fm_step_find(pair->key, pipe->shape) == NULL) {
        unknown_step(c, pair);
        return NULL;
    }
    if (node->n == 1)
        return pair;
    fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_UNKNOWN), &node->pair[1],
                      "step '%s' has no option '%s' (each step has its own '-')", pair->key,
                      node->pair[1].key);
    return NULL;
}

/* The step takes what the steps before it leave. */
static bool in_place(struct fm_pipe *pipe, const struct fm_step *step)
{
    struct fm_yaml_log *log = pipe->c.log;
    const char *name = step->type->name;

    if (step->type->takes & pipe->shape)
        return true;
    if (pipe->shape == FM_SHAPE_ROWS)
        fm_yaml_error_key(fm_yaml_as(log, FM_YAML_PLACE), step->at,
                          "'%s' needs a result: 'group' or 'select' must come before it", name);
    else if (pipe->table_at == NULL)
        fm_yaml_error_key(fm_yaml_as(log, FM_YAML_PLACE), step->at,
                          "'from: %s' is a table: it has no rows for '%s'",
                          fm_from_text(pipe->c.from), name);
    else
        fm_yaml_error_key(fm_yaml_as(log, FM_YAML_PLACE), step->at,
                          "a %s result has no %s; '%s' must come before '%s' at %u:%u",
                          pipe->table_at->key, strcmp(name, "time") == 0 ? "times" : "stacks",
                          name, pipe->table_at->key, pipe->table_at->key_line,
                          pipe->table_at->key_column);
    return false;
}

/* A schema of its own for what a step leaves. */
struct fm_schema *fm_schema_copy(struct fm_arena *arena, const struct fm_schema *from)
{
    struct fm_schema *schema = fm_arena_alloc(arena, sizeof *schema);

    if (schema == NULL || from == NULL)
        return schema;
    schema->open = from->open;
    if (from->n == 0)
        return schema;
    schema->column = fm_arena_alloc(arena, from->n * sizeof *schema->column);
    if (schema->column == NULL)
        return NULL;
    memcpy(schema->column, from->column, from->n * sizeof *schema->column);
    schema->n = schema->cap = from->n;
    return schema;
}

struct fm_schema_column *fm_schema_add(struct fm_arena *arena, struct fm_schema *schema)
{
    if (schema->n == schema->cap) {
        size_t cap = schema->cap * 2 + 4;
        struct fm_schema_column *list = fm_arena_alloc(arena, cap * sizeof *list);
        if (list == NULL)
            return NULL;
        if (schema->n > 0)
            memcpy(list, schema->column, schema->n * sizeof *list);
        schema->column = list;
        schema->cap = cap;
    }
    return &schema->column[schema->n++];
}

/* It needs a pipe whose columns come from data. */
static bool needs_open(const struct fm_step *step)
{
    for (size_t i = 0; i < step->needs; i++) {
        if (step->need[i]->open)
            return true;
    }
    return false;
}

static bool compile_step(struct fm_pipe *pipe, struct fm_step *step)
{
    struct fm_schema *schema = fm_schema_copy(pipe->c.arena, pipe->schema);
    bool makes = step->type->gives == FM_SHAPE_TABLE, table = pipe->shape == FM_SHAPE_TABLE;

    if (schema == NULL)
        return false;
    pipe->c.schema = table ? schema : NULL;
    step->needs = 0;
    step->object = step->type->compile(pipe, step, schema);
    if (step->object == NULL)
        pipe->broken |= makes || strcmp(step->type->name, "compute") == 0;
    if (makes) {
        pipe->shape = FM_SHAPE_TABLE;
        pipe->table_at = step->at;
        schema->open |= needs_open(step);
    }
    if (pipe->shape == FM_SHAPE_TABLE) {
        pipe->schema = schema;
        pipe->c.schema = schema;
        step->schema = schema;
        pipe->open |= schema->open;
    }
    return step->object != NULL;
}

bool fm_pipe_again(struct fm_pipe *pipe, struct fm_step *step, const struct fm_schema *schema)
{
    pipe->schema = schema;
    return compile_step(pipe, step);
}

static bool make_step(struct fm_pipe *pipe, const struct fm_yaml_node *node)
{
    const struct fm_yaml_pair *pair = operator_of(pipe, node);
    struct fm_step *step = &pipe->step[pipe->steps];

    if (pair == NULL)
        pipe->broken = true;
    if (pipe->broken)
        return false;
    step->type = fm_step_find(pair->key, pipe->shape);
    step->at = pair;
    if (!in_place(pipe, step))
        return false;
    pipe->steps++;
    return compile_step(pipe, step);
}

/* ------------------------------------------------------------------- pipes */

/* In a run: the rows that the pipe starts from, which give names and units to its steps. */
static enum fm_status open_flow(struct fm_pipe *pipe, struct fm_error *err)
{
    struct fm_compile *c = &pipe->c;
    /* 128-bit integers are in it, and an arena aligns to 8 bytes */
    struct fm_flow *flow = fm_mem_alloc(&c->ctx->mem, sizeof *flow);
    enum fm_status status;

    if (flow == NULL)
        return fm_error_nomem(err);
    *flow = (struct fm_flow){ .pipe = pipe, .c = c, .window = { INT64_MIN, INT64_MAX } };
    pipe->flow = flow;
    if (pipe->source != NULL)
        return FM_OK;
    status = fm_flow_open(flow, pipe->plan->store[pipe->input], err);
    if (status != FM_OK)
        return status;
    c->store = flow->sel.store;
    c->unit = fm_store_str(c->store, flow->sel.unit, NULL);
    c->event = fm_store_str(c->store, flow->sel.event_name, NULL);
    return fm_from_view(flow, err);
}

static bool compile_steps(struct fm_pipe *pipe)
{
    const struct fm_yaml_node *steps = pipe->list;
    bool ok = true;

    if (steps == NULL && (pipe->source != NULL || pipe->shape == FM_SHAPE_TABLE))
        return true;
    if (steps == NULL || steps->type != FM_YAML_LIST) {
        fm_yaml_error(fm_yaml_as(pipe->c.log, FM_YAML_MISSING),
                      steps != NULL ? steps : pipe->let != NULL ? pipe->let->value : pipe->q->root,
                      "'steps' must be a list of steps");
        return false;
    }
    pipe->step = fm_arena_alloc(pipe->c.arena, (steps->n + 1) * sizeof *pipe->step);
    for (size_t i = 0; pipe->step != NULL && i < steps->n; i++)
        ok = make_step(pipe, steps->item[i]) && ok;
    return ok && pipe->step != NULL;
}

/* A failure that is no message ends the compile: plan->status. */
static void compile_pipe(struct fm_pipe *pipe)
{
    struct fm_plan *plan = pipe->plan;
    const struct fm_yaml_file *file = plan->log->file;
    bool ok;

    plan->log->file = pipe->q->file;
    ok = fm_pipe_from(pipe);
    if (plan->stores > 0 && plan->status == FM_OK && (ok || pipe->from == NULL))
        plan->status = open_flow(pipe, plan->err);
    if (ok && plan->status == FM_OK && pipe->source == NULL && pipe->c.from >= FM_FROM_THREADS)
        ok = fm_tables_schema(pipe);
    pipe->broken |= plan->status != FM_OK || !ok;
    if (pipe->broken || !compile_steps(pipe))
        pipe->failed = true;
    plan->log->file = file;
}

static bool add_pipe(struct fm_plan *plan, struct fm_pipe *pipe)
{
    if (plan->pipes == plan->pipe_cap) {
        size_t cap = plan->pipe_cap * 2 + 8;
        struct fm_pipe **list = fm_arena_alloc(plan->arena, cap * sizeof *list);
        if (list == NULL)
            return false;
        if (plan->pipes > 0)
            memcpy(list, plan->pipe, plan->pipes * sizeof *list);
        plan->pipe = list;
        plan->pipe_cap = cap;
    }
    plan->pipe[plan->pipes++] = pipe;
    return true;
}

struct fm_pipe *fm_pipe_make(struct fm_plan *plan, struct fm_query *q,
                             const struct fm_yaml_pair *let, struct fm_pipe *by,
                             const size_t *inputs)
{
    struct fm_pipe *pipe = fm_arena_alloc(plan->arena, sizeof *pipe);
    const struct fm_yaml_node *body = let == NULL ? q->root : let->value;

    if (pipe == NULL)
        return NULL;
    *pipe = (struct fm_pipe){ .plan = plan, .q = q, .let = let, .by = by,
                              .inputs = inputs,
                              .from = fm_yaml_get(body, "from"),
                              .list = fm_yaml_get(body, "steps"), .shape = FM_SHAPE_ROWS };
    pipe->c = (struct fm_compile){ .ctx = q->ctx, .q = q, .arena = plan->arena,
                                   .log = plan->log, .unit = "" };
    pipe->next = plan->first;
    plan->first = pipe;
    compile_pipe(pipe);
    pipe->state = FM_PIPE_COMPILED;
    return add_pipe(plan, pipe) ? pipe : NULL;
}

/* "a -> b -> a" of the pipes between one and itself. */
static const char *cycle_text(struct fm_arena *arena, const struct fm_pipe *at,
                              const struct fm_pipe *first)
{
    const char *text = first->let == NULL ? "" : first->let->key;

    for (; text != NULL; at = at->by) {
        text = fm_arena_printf(arena, "%s -> %s", at->let == NULL ? "" : at->let->key, text);
        if (at == first)
            break;
    }
    return text == NULL ? "" : text;
}

/* The pipe of a let of the same query: compiled when it is named first. */
struct fm_pipe *fm_pipe_named(struct fm_pipe *pipe, const struct fm_yaml_node *at,
                              const char *name)
{
    const struct fm_yaml_pair *let = fm_yaml_find(pipe->q->lets, name);
    struct fm_plan *plan = pipe->plan;
    struct fm_pipe *found = plan->first;
    size_t nested = 0;

    while (found != NULL && (found->let != let || found->q != pipe->q))
        found = found->next;
    if (found != NULL && found->state != FM_PIPE_COMPILING)
        return found;
    if (found != NULL) {
        fm_yaml_error(fm_yaml_as(pipe->c.log, FM_YAML_CYCLE), at, "'%s' needs itself: %s", name,
                      cycle_text(plan->arena, pipe, found));
        return NULL;
    }
    for (const struct fm_pipe *up = pipe; up != NULL; up = up->by)
        nested++;
    if (nested >= MAX_NESTED) {
        fm_yaml_error(fm_yaml_as(pipe->c.log, FM_YAML_PLACE), at,
                      "more than %d pipes that need each other", MAX_NESTED);
        return NULL;
    }
    return fm_pipe_make(plan, pipe->q, let, pipe, pipe->inputs);
}

static const char *shape_text(unsigned shape)
{
    return shape == FM_SHAPE_TABLE ? "a table" : "rows";
}

static bool add_need(struct fm_step *step, struct fm_pipe *need)
{
    struct fm_arena *arena = need->c.arena;
    struct fm_pipe **list = fm_arena_alloc(arena, (step->needs + 1) * sizeof *list);

    if (list == NULL)
        return false;
    if (step->needs > 0)
        memcpy(list, step->need, step->needs * sizeof *list);
    list[step->needs++] = need;
    step->need = list;
    return true;
}

struct fm_pipe *fm_pipe_need(struct fm_pipe *pipe, struct fm_step *step,
                             const struct fm_yaml_node *node, unsigned shapes, const char *what)
{
    struct fm_compile *c = &pipe->c;
    struct fm_pipe *need;
    struct fm_scalar s;

    if (node->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node, "%s is the name of a 'let'", what);
        return NULL;
    }
    if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
        return NULL;
    if (fm_yaml_find(pipe->q->lets, s.text) == NULL) {
        size_t n = pipe->q->lets == NULL ? 0 : pipe->q->lets->n;
        const char **list = fm_arena_alloc(c->arena, (n + 1) * sizeof *list);
        for (size_t i = 0; list != NULL && i < n; i++)
            list[i] = pipe->q->lets->pair[i].key;
        if (list != NULL)
            fm_yaml_unknown(c->log, node, "let", s.text, list, n);
        return NULL;
    }
    need = fm_pipe_named(pipe, node, s.text);
    if (need == NULL || need->broken)
        return NULL;
    if (!(need->shape & shapes)) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_PLACE), node, "%s needs %s, and '%s' is %s", what,
                      shape_text(shapes), s.text, shape_text(need->shape));
        return NULL;
    }
    need->users += pipe->plan->runs ? 0 : 1;
    return add_need(step, need) ? need : NULL;
}

/* -------------------------------------------------------------------- show */

/* The columns of `output:` that the table has, as indexes. */
bool fm_pipe_columns(struct fm_pipe *pipe)
{
    const struct fm_yaml_node *list = pipe->q->columns;
    struct fm_compile *c = &pipe->c;
    struct fm_scalar s;
    uint32_t k;

    pipe->columns = 0;
    if (list == NULL)
        return true;
    pipe->column = fm_arena_alloc(c->arena, (list->n + 1) * sizeof *pipe->column);
    for (size_t i = 0; pipe->column != NULL && i < list->n; i++) {
        if (!fm_scalar_get(c->q, c->arena, c->log, list->item[i], &s))
            return false;
        k = fm_schema_find(pipe->schema, s.text, s.n);
        if (k != FM_NONE)
            pipe->column[pipe->columns++] = k;
    }
    return pipe->column != NULL;
}

/* A name of `output: columns` is a column of some table that is shown. */
static void check_column(struct fm_plan *plan, const struct fm_yaml_node *node)
{
    struct fm_compile *c = &plan->show[0]->c;
    struct fm_scalar s;
    size_t col;

    if (node->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node,
                      "an output column is the name of a column");
        return;
    }
    if (!fm_scalar_get(c->q, c->arena, c->log, node, &s) || s.unknown)
        return;
    for (size_t i = 0; i < plan->shows; i++) {
        const struct fm_schema *schema = plan->show[i]->schema;
        if (plan->show[i]->shape == FM_SHAPE_ROWS)
            return;                    /* its columns are not printed */
        if (plan->show[i]->open || fm_schema_find(schema, s.text, s.n) != FM_NONE)
            return;
    }
    (void)fm_pipe_column(plan->show[0], node, 0, "an output column", &col);
}

static void show(struct fm_plan *plan, struct fm_pipe *pipe, const struct fm_yaml_node *at)
{
    if (pipe == NULL || pipe->failed)
        return;
    pipe->users++;
    if (pipe->shape != FM_SHAPE_TABLE && !plan->keep_rows && pipe->let == NULL)
        fm_yaml_error(fm_yaml_as(plan->log, FM_YAML_MISSING), at,
                      "a query needs a step that makes a table, such as 'group' or 'select'; "
                      "without one only a profile can be written");
    else if (pipe->shape != FM_SHAPE_TABLE && !plan->keep_rows)
        fm_yaml_error(fm_yaml_as(plan->log, FM_YAML_PLACE), at,
                      "'%s' is rows: only a table can be shown, or a profile written",
                      pipe->let->key);
    else
        plan->show[plan->shows++] = pipe;
}

/* The lets that `show` names, then the query's own steps. */
static bool make_shows(struct fm_plan *plan, struct fm_query *q)
{
    const struct fm_yaml_node *list = q->show;
    size_t n = list == NULL ? 0 : list->n;
    struct fm_pipe root = { .plan = plan, .q = q };

    root.c = (struct fm_compile){ .ctx = q->ctx, .q = q, .arena = plan->arena, .log = plan->log };
    plan->show = fm_arena_alloc(plan->arena, (n + 1) * sizeof *plan->show);
    for (size_t i = 0; plan->show != NULL && i < n; i++) {
        struct fm_step step = { .needs = 0 };
        show(plan, fm_pipe_need(&root, &step, list->item[i], FM_SHAPE_ANY, "'show'"),
             list->item[i]);
    }
    return plan->show != NULL;
}

/* Lets that nothing names are looked at when a file is checked. */
static void check_rest(struct fm_plan *plan, struct fm_query *q)
{
    struct fm_pipe root = { .plan = plan, .q = q };

    root.c = (struct fm_compile){ .q = q, .arena = plan->arena, .log = plan->log };
    for (size_t i = 0; q->lets != NULL && i < q->lets->n; i++)
        (void)fm_pipe_named(&root, q->lets, q->lets->pair[i].key);
}

enum fm_status fm_plan_compile(struct fm_plan *plan, struct fm_query *q, struct fm_arena *arena,
                               struct fm_error *err)
{
    plan->ctx = q->ctx;
    plan->arena = arena;
    plan->log = &q->log;
    plan->err = err;
    plan->status = FM_OK;
    if (q->root == NULL || q->root->type != FM_YAML_MAP)
        return FM_CONFIG;
    if (!make_shows(plan, q))
        return fm_error_nomem(err);
    if (q->show == NULL || q->steps != NULL || q->from != NULL)
        show(plan, fm_pipe_make(plan, q, NULL, NULL, NULL), q->steps);
    if (plan->stores == 0)
        check_rest(plan, q);
    if (arena->oom || q->log.first.status == FM_NOMEM)
        return fm_error_nomem(err);
    if (plan->status != FM_OK)
        return plan->status;
    for (size_t i = 0; q->columns != NULL && q->log.errors == 0 && i < q->columns->n; i++)
        check_column(plan, q->columns->item[i]);
    plan->runs = true;
    return q->log.errors > 0 ? FM_CONFIG : FM_OK;
}

void fm_plan_release(struct fm_plan *plan)
{
    for (struct fm_pipe *pipe = plan->first; pipe != NULL; pipe = pipe->next) {
        fm_compile_release(&pipe->c);
        if (pipe->flow == NULL)
            continue;
        fm_flow_release(pipe->flow);
        fm_mem_free(&plan->ctx->mem, pipe->flow, sizeof *pipe->flow);
    }
}
