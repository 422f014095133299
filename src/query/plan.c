/*
 * plan.c - the steps of a query compiled: order of steps, names, options.
 *
 *     rows:   where time stack …   then   group   then   table:  where sort limit
 *
 * Every step is compiled before the first one runs, with the schema that the steps before it leave,
 * so all errors come at once. At load there is no store: names that may be labels pass.
 */
#include "query/plan.h"

#include "util/error.h"
#include "util/text.h"

/* The language has these too. */
static const char *const later_step[] = {
    "within", "weigh", "pivot", "select", "join", "union", "diff"
};

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

    for (size_t i = 0; i < FM_COUNT(later_step); i++) {
        if (strcmp(pair->key, later_step[i]) == 0) {
            fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_PLACE), pair,
                              "step '%s' is not part of this version", pair->key);
            return;
        }
    }
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
                          "'%s' needs a result: 'group' must come before it", name);
    else if (strcmp(name, "group") == 0)
        fm_yaml_error_key(fm_yaml_as(log, FM_YAML_PLACE), step->at,
                          "'group' of a group result is not part of this version");
    else
        fm_yaml_error_key(fm_yaml_as(log, FM_YAML_PLACE), step->at,
                          "a %s result has no %s; '%s' must come before '%s' at %u:%u",
                          pipe->table_at->key, strcmp(name, "time") == 0 ? "times" : "stacks",
                          name, pipe->table_at->key, pipe->table_at->key_line,
                          pipe->table_at->key_column);
    return false;
}

/* A schema of its own for what a step leaves. */
static struct fm_schema *copy_schema(struct fm_arena *arena, const struct fm_schema *from)
{
    struct fm_schema *schema = fm_arena_alloc(arena, sizeof *schema);

    if (schema == NULL || from == NULL || from->n == 0)
        return schema;
    schema->column = fm_arena_alloc(arena, from->n * sizeof *schema->column);
    if (schema->column == NULL)
        return NULL;
    memcpy(schema->column, from->column, from->n * sizeof *schema->column);
    schema->n = schema->cap = from->n;
    return schema;
}

static bool compile_step(struct fm_pipe *pipe, struct fm_step *step)
{
    struct fm_schema *schema = copy_schema(pipe->c.arena, pipe->schema);
    bool makes = step->type->gives == FM_SHAPE_TABLE, table = pipe->shape == FM_SHAPE_TABLE;

    if (schema == NULL)
        return false;
    pipe->c.schema = table ? schema : NULL;
    step->object = step->type->compile(pipe, step, schema);
    if (step->object == NULL)
        pipe->broken |= makes || strcmp(step->type->name, "compute") == 0;
    if (makes) {
        pipe->shape = FM_SHAPE_TABLE;
        pipe->table_at = step->at;
        pipe->keys = 0;
    }
    if (pipe->shape == FM_SHAPE_TABLE) {
        pipe->schema = schema;
        pipe->c.schema = schema;
        step->schema = schema;
    }
    return step->object != NULL;
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

static void make_columns(struct fm_pipe *pipe)
{
    const struct fm_yaml_node *list = pipe->q->columns;

    if (list == NULL)
        return;
    pipe->column = fm_arena_alloc(pipe->c.arena, (list->n + 1) * sizeof *pipe->column);
    for (size_t i = 0; pipe->column != NULL && i < list->n; i++) {
        if (fm_pipe_column(pipe, list->item[i], 0, "an output column",
                           &pipe->column[pipe->columns]))
            pipe->columns++;
    }
}

/* -------------------------------------------------------------------- from */

static void make_from(struct fm_pipe *pipe)
{
    static const char *const later[] = { "threads", "frames", "inputs" };
    enum fm_from known;
    const struct fm_yaml_node *from = pipe->from;
    struct fm_yaml_log *log = pipe->c.log;

    if (from == NULL)
        return;
    if (from->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(log, FM_YAML_PLACE), from,
                      "'from' that is no plain name is not part of this version");
        return;
    }
    if (fm_from_find(from->text, &known) && known < FM_FROM_THREADS) {
        pipe->c.from = known;
        return;
    }
    for (size_t i = 0; i < FM_COUNT(later); i++) {
        if (fm_yaml_is(from, later[i])) {
            fm_yaml_error(fm_yaml_as(log, FM_YAML_PLACE), from,
                          "'from: %s' is not part of this version", later[i]);
            return;
        }
    }
    fm_yaml_error(fm_yaml_as(log, FM_YAML_UNKNOWN), from,
                  "'from: %s' is unknown; it is samples, spans, counters, instants, offcpu, "
                  "wakeups, runq or launches", from->text);
}

/* ------------------------------------------------------------------- pipes */

/* In a run: the rows that the pipe starts from, which give names and units to its steps. */
static enum fm_status open_flow(struct fm_pipe *pipe, struct fm_error *err)
{
    struct fm_compile *c = &pipe->c;
    struct fm_flow *flow = fm_arena_alloc(c->arena, sizeof *flow);
    enum fm_status status;

    if (flow == NULL)
        return fm_error_nomem(err);
    *flow = (struct fm_flow){ .pipe = pipe, .c = c, .window = { INT64_MIN, INT64_MAX } };
    pipe->flow = flow;
    status = fm_flow_open(flow, pipe->plan->store[0], err);
    if (status != FM_OK)
        return status;
    c->store = flow->sel.store;
    c->unit = fm_store_str(c->store, flow->sel.unit, NULL);
    c->event = fm_store_str(c->store, flow->sel.event_name, NULL);
    return fm_from_view(flow, err);
}

static enum fm_status compile_pipe(struct fm_pipe *pipe, struct fm_error *err)
{
    struct fm_compile *c = &pipe->c;
    const struct fm_yaml_node *steps = pipe->list;
    bool ok = true;

    make_from(pipe);
    if (pipe->plan->stores > 0) {
        enum fm_status status = open_flow(pipe, err);
        if (status != FM_OK)
            return status;
    }
    if (steps == NULL || steps->type != FM_YAML_LIST) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_MISSING), steps != NULL ? steps : pipe->q->root,
                      "'steps' must be a list of steps");
        return FM_CONFIG;
    }
    pipe->step = fm_arena_alloc(c->arena, (steps->n + 1) * sizeof *pipe->step);
    if (pipe->step == NULL)
        return fm_error_nomem(err);
    for (size_t i = 0; i < steps->n; i++)
        ok = make_step(pipe, steps->item[i]) && ok;
    if (ok && pipe->shape != FM_SHAPE_TABLE)
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_MISSING), steps, "a query needs a 'group' step");
    else if (ok)
        make_columns(pipe);
    return FM_OK;
}

enum fm_status fm_plan_compile(struct fm_plan *plan, struct fm_query *q, struct fm_arena *arena,
                               struct fm_error *err)
{
    struct fm_pipe *pipe = fm_arena_alloc(arena, sizeof *pipe);
    enum fm_status status;

    plan->ctx = q->ctx;
    plan->arena = arena;
    plan->log = &q->log;
    plan->main = pipe;
    if (pipe == NULL)
        return fm_error_nomem(err);
    *pipe = (struct fm_pipe){ .plan = plan, .q = q, .from = q->from, .list = q->steps,
                              .shape = FM_SHAPE_ROWS };
    pipe->c = (struct fm_compile){ .ctx = q->ctx, .q = q, .arena = arena, .log = &q->log,
                                   .unit = "" };
    if (q->root == NULL || q->root->type != FM_YAML_MAP)
        return FM_CONFIG;
    status = compile_pipe(pipe, err);
    if (arena->oom || q->log.first.status == FM_NOMEM)
        return fm_error_nomem(err);
    return status == FM_OK && q->log.errors > 0 ? FM_CONFIG : status;
}

void fm_plan_release(struct fm_plan *plan)
{
    struct fm_pipe *pipe = plan->main;

    if (pipe == NULL)
        return;
    fm_compile_release(&pipe->c);
    if (pipe->flow == NULL)
        return;
    if (pipe->flow->tabled)
        fm_table_release(&pipe->flow->table);
    fm_map_release(&pipe->flow->parts);
    fm_selection_release(&pipe->flow->sel);
}
