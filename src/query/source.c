/*
 * source.c - the rows that a pipe starts from: the event it names, and what is summed.
 *
 *     --event, else `event:` of the first where step, else auto  ->  one event, or several that a
 *     pattern or a list takes and that have one unit             ->  struct fm_selection
 *
 * The where step itself is still run on the rows; the event is looked for here because it decides
 * what rows weigh. Views of many events (from.c) choose none.
 */
#include "query/plan.h"

#include "util/error.h"

/* The value of `event:` in the first where step, or NULL. */
static const struct fm_yaml_node *first_event(const struct fm_yaml_node *steps)
{
    for (size_t i = 0; steps != NULL && i < steps->n; i++) {
        const struct fm_yaml_node *where = fm_yaml_get(steps->item[i], "where");
        const struct fm_yaml_node *event = fm_yaml_get(where, "event");
        if (event != NULL)
            return event;
        if (fm_yaml_get(steps->item[i], "group") != NULL)
            return NULL;
    }
    return NULL;
}

/* The event's name for the selection: the command line's, else the query's, else auto. */
static const char *event_option(const struct fm_flow *flow, const struct fm_yaml_node **at)
{
    const struct fm_select_options *select = flow->pipe->plan->select;
    const struct fm_yaml_node *node = first_event(flow->pipe->list);
    struct fm_compile *c = flow->c;
    struct fm_scalar s;

    *at = NULL;
    if (select != NULL && select->event != NULL)
        return select->event;
    if (node == NULL || node->type == FM_YAML_MAP)
        return NULL;
    *at = node;
    if (node->type != FM_YAML_SCALAR
        || !fm_scalar_get(c->q, c->arena, c->log, node, &s) || s.unknown)
        return NULL;
    if (s.n == 4 && memcmp(s.text, "auto", 4) == 0) {
        *at = NULL;
        return NULL;
    }
    return s.text;
}

static bool mixed_units(struct fm_flow *flow, const struct fm_yaml_node *at)
{
    const struct fm_event *first = NULL;

    for (size_t i = 0; i < fm_store_events(flow->sel.store); i++) {
        const struct fm_event *e = fm_store_event_row(flow->sel.store, i);
        if (!flow->sel.event[i])
            continue;
        if (first == NULL)
            first = e;
        if (e->unit == first->unit || flow->sel.weigh == FM_WEIGH_SAMPLES)
            continue;
        fm_yaml_error(fm_yaml_as(flow->c->log, FM_YAML_UNIT), at,
                      "events of different units cannot be summed: '%s' in %s, '%s' in %s",
                      fm_store_str(flow->sel.store, first->name, NULL),
                      fm_store_str(flow->sel.store, first->unit, NULL),
                      fm_store_str(flow->sel.store, e->name, NULL),
                      fm_store_str(flow->sel.store, e->unit, NULL));
        fm_yaml_note(flow->c->log, "--weight samples counts samples of any event");
        return true;
    }
    return false;
}

/* A step weighs the rows by something else than their own weight: then any units go together. */
static bool weighs_otherwise(const struct fm_yaml_node *steps)
{
    for (size_t i = 0; steps != NULL && steps->type == FM_YAML_LIST && i < steps->n; i++) {
        const struct fm_yaml_node *by = fm_yaml_get(steps->item[i], "weigh");
        if (by != NULL && by->type == FM_YAML_MAP)
            by = fm_yaml_get(by, "by");
        if (by != NULL && !fm_yaml_is(by, "weight"))
            return true;
    }
    return false;
}

/* One part of a predicate on events at an event: tests go by its name or by its metric. */
static uint8_t verdict(const struct fm_pred *p, const struct fm_value *text)
{
    uint8_t v;

    switch (p->op) {
    case FM_PRED_CONST:
        return p->constant;
    case FM_PRED_TEST:
        return fm_pred_value(p, text);
    case FM_PRED_NOT:
        v = verdict(p->arg[0], text);
        return v == FM_YES ? FM_NO : v == FM_NO ? FM_YES : v;
    case FM_PRED_AND:
        for (size_t i = 0; i < p->args; i++) {
            if (verdict(p->arg[i], text) != FM_YES)
                return FM_NO;
        }
        return FM_YES;
    case FM_PRED_OR:
        for (size_t i = 0; i < p->args; i++) {
            if (verdict(p->arg[i], text) == FM_YES)
                return FM_YES;
        }
        return FM_NO;
    default:
        return FM_NO;
    }
}

/* Adds the events whose name passes, or else those whose metric does. */
static void pick_by(struct fm_flow *flow, const struct fm_pred *p)
{
    bool some = false;

    for (int metric = 0; metric < 2 && !some; metric++) {
        for (size_t i = 0; i < fm_store_events(flow->sel.store); i++) {
            const struct fm_event *e = fm_store_event_row(flow->sel.store, i);
            struct fm_value text = fm_lane_value(flow->sel.store, FM_TYPE_STRING,
                                                 metric ? e->metric : e->name);
            if (verdict(p, &text) != FM_YES)
                continue;
            some = true;
            flow->sel.event[i] = 1;
        }
    }
}

/* The selection takes the events that the query's pattern or list names. */
static enum fm_status pick_events(struct fm_flow *flow, const struct fm_yaml_node *at,
                                  struct fm_error *err)
{
    enum fm_status status;
    struct fm_compile c = { .ctx = flow->c->ctx, .q = flow->c->q, .arena = flow->c->arena,
                            .log = flow->c->log, .store = flow->sel.store, .unit = "" };
    uint32_t k = fm_operand_find(&c, FM_SCOPE_ROWS, "event", 5);
    struct fm_pred *p = k == FM_NONE ? NULL : fm_pred_column(&c, c.operand[k], at, FM_SCOPE_ROWS);
    size_t events = fm_store_events(flow->sel.store), picked = 0;
    const struct fm_event *one = NULL;

    memset(flow->sel.event, 0, events);
    if (p != NULL && p->op != FM_PRED_OR)
        pick_by(flow, p);
    for (size_t a = 0; p != NULL && p->op == FM_PRED_OR && a < p->args; a++)
        pick_by(flow, p->arg[a]);
    for (size_t i = 0; i < events; i++) {
        picked += flow->sel.event[i];
        one = flow->sel.event[i] ? fm_store_event_row(flow->sel.store, i) : one;
    }
    fm_compile_release(&c);
    if (p == NULL)
        return c.arena->oom ? FM_NOMEM : FM_CONFIG;
    if (picked == 0 || one == NULL) {
        fm_yaml_error(fm_yaml_as(flow->c->log, FM_YAML_EVENT), at,
                      "the input has none of these events");
        return FM_CONFIG;
    }
    flow->sel.event_name = one->name;
    if (flow->sel.weigh == FM_WEIGH_VALUE)
        flow->sel.unit = one->unit;
    if (picked > 1)
        flow->sel.event_name = fm_store_str_add(flow->sel.store, "several", 7);
    if (!weighs_otherwise(flow->pipe->list) && mixed_units(flow, at))
        return FM_CONFIG;
    status = fm_selection_sum(&flow->sel, err);
    flow->sel.weight_all = flow->sel.weight;
    return status;
}

static bool is_plain_event(struct fm_flow *flow, const char *name)
{
    return strcmp(name, "all") == 0 || fm_event_known(flow->sel.store, name);
}

/* Rows of a view. A let that finds none is empty, with a warning: a join can do without it. */
static enum fm_status open_view(struct fm_flow *flow, struct fm_store *store,
                                const struct fm_select_options *options, struct fm_error *err)
{
    const struct fm_yaml_node *at = flow->pipe->from;
    enum fm_status status = fm_from_select(&flow->sel, flow->c->from, store, options, err);

    if (status != FM_UNKNOWN)
        return status;
    if (flow->pipe->let == NULL || err == NULL) {
        if (err != NULL)
            err->status = FM_CONFIG;
        return FM_CONFIG;
    }
    fm_yaml_warn(fm_yaml_as(flow->c->log, FM_YAML_EMPTY), at, "%s", err->message);
    flow->warned = true;
    fm_error_clear(err);
    return FM_OK;
}

enum fm_status fm_flow_open(struct fm_flow *flow, struct fm_store *store, struct fm_error *err)
{
    const struct fm_select_options *select = flow->pipe->plan->select;
    struct fm_select_options options = FM_INIT(options);
    const struct fm_yaml_node *at;
    enum fm_status status;
    const char *event;

    if (select != NULL)
        options = *select;
    flow->sel.store = store;
    event = event_option(flow, &at);
    options.event = event != NULL && (at == NULL || is_plain_event(flow, event)) ? event : NULL;
    /* pictures have the view of their format; paths of queries have what is asked for */
    options.prepend = options.prepend == NULL ? "none" : options.prepend;
    options.append = options.append == NULL ? "none" : options.append;
    if (flow->c->from != FM_FROM_SAMPLES && flow->c->from < FM_FROM_THREADS) {
        options.event = select == NULL ? NULL : select->event;
        return open_view(flow, store, &options, err);
    }
    status = fm_selection_init(&flow->sel, store, &options, err);
    if (status == FM_CONFIG && options.weight == NULL && weighs_otherwise(flow->pipe->list)) {
        fm_error_clear(err);           /* events of several units, perhaps */
        options.weight = "samples";
        status = fm_selection_init(&flow->sel, store, &options, err);
    }
    if (status != FM_OK || at == NULL || options.event != NULL)
        return status;
    return pick_events(flow, at, err);
}
