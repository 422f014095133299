/*
 * start.c - where a pipe starts: `from`.
 *
 *     from: samples                                      rows of the input: see from.c
 *     from: {table: samples, input: base}                of one of several
 *     from: hits                                         where the pipe of a `let` ends
 *     from: {use: top-self, with: {n: all}, input: base} where a whole query ends
 *
 * The pipes of a used query are part of the plan; only its inputs are those of the user.
 */
#include "query/plan.h"

#include "util/error.h"

/* What `from` may be, for a message. */
static void unknown_from(struct fm_pipe *pipe, const struct fm_yaml_node *at, const char *name,
                         bool with_lets)
{
    struct fm_compile *c = &pipe->c;
    size_t lets = pipe->q->lets == NULL || !with_lets ? 0 : pipe->q->lets->n, n = 0;
    const char **list = fm_arena_alloc(c->arena, (lets + FM_FROMS) * sizeof *list);

    if (list == NULL)
        return;
    for (; n < FM_FROMS; n++)
        list[n] = fm_from_text((enum fm_from)n);
    for (size_t i = 0; i < lets; i++)
        list[n++] = pipe->q->lets->pair[i].key;
    fm_yaml_unknown(c->log, at, "source", name, list, n);
}

/* The pipe goes on from where another one ends. */
static bool go_on(struct fm_pipe *pipe, struct fm_pipe *source)
{
    if (source == NULL)
        return false;
    pipe->source = source;
    source->users++;
    pipe->c.store = source->c.store;
    pipe->c.unit = source->c.unit;
    pipe->c.weigh = source->c.weigh;
    pipe->c.intervals = source->c.intervals;
    pipe->c.event = source->c.event;
    pipe->c.from = source->c.from;
    pipe->shape = source->shape;
    pipe->schema = pipe->c.schema = source->schema;
    pipe->table_at = source->table_at;
    pipe->open = source->open;
    pipe->broken |= source->broken;
    return true;
}

/* The store of an input that a scalar names, or of the only one. */
static bool input_of(struct fm_pipe *pipe, const struct fm_yaml_node *at, size_t *store)
{
    const struct fm_yaml_node *inputs = pipe->q->inputs;
    struct fm_compile *c = &pipe->c;
    struct fm_scalar s;
    const char **list;

    *store = pipe->inputs == NULL ? 0 : pipe->inputs[0];
    if (at == NULL && (inputs == NULL || inputs->n == 1))
        return true;
    if (at == NULL) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_MISSING),
                      pipe->from != NULL ? pipe->from : pipe->list,
                      "of which input? from: {table: samples, input: %s}", inputs->item[0]->text);
        return false;
    }
    if (at->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), at, "'input' is the name of an input");
        return false;
    }
    if (!fm_scalar_get(c->q, c->arena, c->log, at, &s))
        return false;
    if (s.unknown)
        return true;
    for (size_t i = 0; inputs != NULL && i < inputs->n; i++) {
        if (strcmp(inputs->item[i]->text, s.text) != 0)
            continue;
        *store = pipe->inputs == NULL ? i : pipe->inputs[i];
        return true;
    }
    list = fm_arena_alloc(c->arena, ((inputs == NULL ? 0 : inputs->n) + 1) * sizeof *list);
    for (size_t i = 0; list != NULL && inputs != NULL && i < inputs->n; i++)
        list[i] = inputs->item[i]->text;
    if (list != NULL)
        fm_yaml_unknown(c->log, at, "input", s.text, list, inputs == NULL ? 0 : inputs->n);
    return false;
}

/* The stores of the inputs of a used query: `input: NAME`, or a list of as many as it has. */
static const size_t *inputs_of(struct fm_pipe *pipe, const struct fm_query *used,
                               const struct fm_yaml_node *use, const struct fm_yaml_node *at)
{
    size_t n = used->inputs == NULL ? 1 : used->inputs->n;
    size_t given = at != NULL && at->type == FM_YAML_LIST ? at->n : 1;
    size_t *store = fm_arena_alloc(pipe->c.arena, n * sizeof *store);

    if (store == NULL)
        return NULL;
    if (given != n) {
        fm_yaml_error(fm_yaml_as(pipe->c.log, FM_YAML_TYPE), at != NULL ? at : use,
                      "query '%s' takes %zu input%s: input: [NAME …]", used->name, n,
                      n == 1 ? "" : "s");
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        const struct fm_yaml_node *one =
            at != NULL && at->type == FM_YAML_LIST ? at->item[i] : at;
        if (!input_of(pipe, one, &store[i]))
            return NULL;
    }
    return store;
}

static bool needs_params(const struct fm_pipe *pipe, const struct fm_query *used,
                         const struct fm_yaml_node *use, const struct fm_yaml_node *with)
{
    bool ok = true;

    for (size_t i = 0; i < used->params; i++) {
        const struct fm_param *p = &used->param[i];
        if (p->known || fm_yaml_get(with, p->name) != NULL)
            continue;
        fm_yaml_error(fm_yaml_as(pipe->c.log, FM_YAML_MISSING), use,
                      "query '%s' needs parameter '%s': with: {%s: VALUE}", used->name, p->name,
                      p->name);
        ok = false;
    }
    return ok;
}

/* from: {use: QUERY, with: {…}, input: NAME}: goes on from its result. */
static bool from_use(struct fm_pipe *pipe, const struct fm_yaml_node *use)
{
    static const char *const known[] = { "use", "with", "input" };
    const struct fm_yaml_node *with = fm_yaml_get(pipe->from, "with");
    struct fm_compile *c = &pipe->c;
    unsigned errors = c->log->errors;
    struct fm_query *used;
    const size_t *inputs;

    if (!fm_yaml_known(c->log, pipe->from, known, FM_COUNT(known), "key"))
        return false;
    used = fm_query_use(pipe->q, c->arena, c->log, use);
    if (used == NULL) {
        if (c->log->errors == errors)
            pipe->plan->status = fm_error_nomem(pipe->plan->err);
        return false;
    }
    if (!fm_query_with(used, pipe->q, c->arena, c->log, with)
        || !needs_params(pipe, used, use, with))
        return false;
    if (used->show != NULL) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_PLACE), use,
                      "query '%s' prints what its 'show' names: there is no one result to go on "
                      "from", used->name);
        return false;
    }
    inputs = inputs_of(pipe, used, use, fm_yaml_get(pipe->from, "input"));
    return inputs != NULL && go_on(pipe, fm_pipe_make(pipe->plan, used, NULL, pipe, inputs));
}

/* from: {table: samples, input: NAME}. */
static bool from_table(struct fm_pipe *pipe, const struct fm_yaml_node *table)
{
    static const char *const known[] = { "table", "input" };
    struct fm_compile *c = &pipe->c;
    struct fm_scalar s;

    if (!fm_yaml_known(c->log, pipe->from, known, FM_COUNT(known), "key"))
        return false;
    if (table->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), table,
                      "'table' is samples, spans or another kind of rows");
        return false;
    }
    if (!fm_scalar_get(c->q, c->arena, c->log, table, &s))
        return false;
    if (!s.unknown && !fm_from_find(s.text, &c->from)) {
        unknown_from(pipe, table, s.text, false);
        return false;
    }
    return input_of(pipe, fm_yaml_get(pipe->from, "input"), &pipe->input);
}

static bool from_map(struct fm_pipe *pipe)
{
    const struct fm_yaml_node *use = fm_yaml_get(pipe->from, "use");
    const struct fm_yaml_node *table = fm_yaml_get(pipe->from, "table");

    if (use != NULL)
        return from_use(pipe, use);
    if (table != NULL)
        return from_table(pipe, table);
    fm_yaml_error(fm_yaml_as(pipe->c.log, FM_YAML_TYPE), pipe->from,
                  "'from' is a name, {table: samples, input: NAME} or "
                  "{use: QUERY, with: {…}, input: NAME}");
    return false;
}

bool fm_pipe_from(struct fm_pipe *pipe)
{
    const struct fm_yaml_node *from = pipe->from;
    struct fm_compile *c = &pipe->c;
    struct fm_scalar s;

    if (from == NULL)
        return input_of(pipe, NULL, &pipe->input);
    if (from->type != FM_YAML_SCALAR)
        return from_map(pipe);
    if (!fm_scalar_get(c->q, c->arena, c->log, from, &s))
        return false;
    if (s.unknown || fm_from_find(s.text, &c->from))
        return input_of(pipe, NULL, &pipe->input);
    if (fm_yaml_find(pipe->q->lets, s.text) != NULL)
        return go_on(pipe, fm_pipe_named(pipe, from, s.text));
    unknown_from(pipe, from, s.text, true);
    return false;
}
