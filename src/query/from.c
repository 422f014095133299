/*
 * from.c - where the rows of a query come from: samples of one event, or a view of many events.
 *
 *     from       rows                               weight by default
 *     samples    any kind, one metric               the event's
 *     spans      kinds span, async                  self_dur, ns
 *     counters   kind counter                       1 a row
 *     instants   kind instant                       1 a row
 *     offcpu     metric offcpu                      the event's
 *     runq       metric runq                        the event's
 *     wakeups    metric wakeups                     1 a row
 *     launches   rows with a launch link            dur of what was launched, ns
 *
 * A view takes all its events unless the command line names some. Rows of the metrics offcpu, runq
 * and wakeups are derived from others, and in no other view.
 *
 * How an importer delivers derived rows, here for Linux scheduling; times on the source's clock:
 *
 *     sched_waking W of thread B, by thread A at t1   (a row of its own event: thread A, A's stack)
 *     sched_switch out of B at t0, state S; into B at t2
 *
 *     event            kind     ts  dur    weight  thread  stack              link
 *     offcpu, ns       state    t0  t2-t0  dur     B       B's, at t0         WAKER -> row of W
 *     runq, ns         state    t1  t2-t1  dur     B       B's, at t0         WAKER -> row of W
 *     wakeups, count   instant  t1  -      1       B       B's, at t0         WAKER -> row of W
 *
 * The metric says what they are, the event's name may tell more ("offcpu: offcpu-time").
 * offcpu has a label `state` (S, D, R: taken off the CPU while runnable), cpu is the one it ran on.
 * A thread that was preempted waits from t0 on: its runq row has that ts, and no link. Where the
 * waker has no row, the link goes to its thread, another to its stack, or both. What is open at the
 * end of the recording, and what has no partner, is counted in the account and makes no row.
 * `samples` that a recorder summed up itself (perf's offcpu-time) are rows of kind sample with the
 * metric offcpu: their weight is the time, dur may be missing.
 *
 * A launch link goes from the row of what was launched (a kernel, a copy) to the row of the call
 * that launched it, so that one call may launch many. `launches` has a row for each of these links:
 * the stack is that of the call.
 *
 * Time of a span under another ancestry stands in rows of kind part, each linked to its span. They
 * are no spans, so the view leaves them out and adds their weight to their span's:
 *
 *     self_dur(span) = weight(span) + sum of weight(part), for every part -> span
 *
 * The sums are in a map by row, owned by the run.
 */
#include "query/query.h"
#include "query/plan.h"

#include "util/error.h"

static const char *const from_name[FM_FROMS] = {
    "samples", "spans", "counters", "instants", "offcpu", "wakeups", "runq", "launches",
    "threads", "frames", "inputs"
};

bool fm_from_find(const char *name, enum fm_from *from)
{
    for (size_t i = 0; i < FM_FROMS; i++) {
        if (strcmp(from_name[i], name) == 0) {
            *from = (enum fm_from)i;
            return true;
        }
    }
    return false;
}

const char *fm_from_text(enum fm_from from)
{
    fm_assert((size_t)from < FM_FROMS);
    return from_name[from];
}

/* offcpu, wakeups or runq: the view of the event's metric; else samples. */
static enum fm_from metric_view(const struct fm_store *store, const struct fm_event *e)
{
    const char *metric = fm_store_str(store, e->metric, NULL);

    for (enum fm_from from = FM_FROM_OFFCPU; from <= FM_FROM_RUNQ; from++) {
        if (strcmp(metric, from_name[from]) == 0)
            return from;
    }
    return FM_FROM_SAMPLES;
}

static bool in_view(const struct fm_store *store, enum fm_from from, const struct fm_event *e)
{
    enum fm_from metric = metric_view(store, e);

    switch (from) {
    case FM_FROM_SPANS:
        return metric == FM_FROM_SAMPLES
               && (e->kind == FM_KIND_SPAN || e->kind == FM_KIND_ASYNC);
    case FM_FROM_COUNTERS:
        return e->kind == FM_KIND_COUNTER;
    case FM_FROM_INSTANTS:
        return metric == FM_FROM_SAMPLES && e->kind == FM_KIND_INSTANT;
    case FM_FROM_OFFCPU:
    case FM_FROM_WAKEUPS:
    case FM_FROM_RUNQ:
        return metric == from;
    default:
        return true;
    }
}

/* Leaves the events of the view, of those chosen or of all. */
static enum fm_status keep_events(struct fm_selection *sel, enum fm_from from, const char *event,
                                  struct fm_error *err)
{
    static const char *const what[FM_FROMS] = {
        [FM_FROM_OFFCPU] = "off-CPU times", [FM_FROM_RUNQ] = "times on run queues"
    };
    const char *name = what[from] != NULL ? what[from] : from_name[from];
    size_t kept = 0;

    for (size_t i = 0; i < fm_store_events(sel->store); i++) {
        const struct fm_event *e = fm_store_event_row(sel->store, i);
        sel->event[i] = (event == NULL || sel->event[i]) && e->rows > 0
                        && in_view(sel->store, from, e);
        kept += sel->event[i];
        if (sel->event[i])
            sel->event_name = e->name;
    }
    if (kept == 0 && event != NULL)
        return fm_error_set(err, FM_UNKNOWN, "event '%s' has no %s", event, name);
    if (kept == 0)
        return fm_error_set(err, FM_UNKNOWN, "the input has no %s", name);
    if (kept > 1)
        sel->event_name = fm_store_str_add(sel->store, from_name[from], strlen(from_name[from]));
    return sel->event_name == FM_NONE ? fm_error_nomem(err) : FM_OK;
}

/* Leaves the rows with a launch link to a row. */
static enum fm_status keep_launched(struct fm_selection *sel, const char *event,
                                    struct fm_error *err)
{
    size_t n;
    const struct fm_link *link = fm_store_links(sel->store, &n);
    uint64_t *rows;
    bool some = false;

    sel->row_words = (fm_store_rows(sel->store) + 63) / 64;
    rows = fm_mem_zalloc(sel->mem, sel->row_words * sizeof *rows);
    if (rows == NULL)
        return fm_error_nomem(err);
    for (size_t i = 0; i < n; i++) {
        if (link[i].kind != FM_LINK_LAUNCH || link[i].target != FM_LINK_ROW)
            continue;
        rows[link[i].from / 64] |= UINT64_C(1) << (link[i].from % 64);
        some = true;
    }
    for (size_t w = 0; w < sel->row_words && sel->rows != NULL; w++)
        rows[w] &= sel->rows[w];
    if (sel->rows != NULL)
        fm_mem_free(sel->mem, sel->rows, sel->row_words * sizeof *rows);
    sel->rows = rows;
    if (some)
        return keep_events(sel, FM_FROM_LAUNCHES, event, err);
    memset(sel->event, 0, fm_store_events(sel->store));
    return fm_error_set(err, FM_UNKNOWN, "the input has no launches");
}

/* What the rows of a view weigh by themselves: *unit is NULL for one a row. */
static enum fm_status own_weight(struct fm_selection *sel, enum fm_from from, const char **unit,
                                 struct fm_error *err)
{
    const struct fm_event *first = NULL;

    *unit = from == FM_FROM_SPANS || from == FM_FROM_LAUNCHES ? "ns" : NULL;
    for (size_t i = 0; i < fm_store_events(sel->store); i++) {
        const struct fm_event *e = fm_store_event_row(sel->store, i);
        if (!sel->event[i] || (from != FM_FROM_OFFCPU && from != FM_FROM_RUNQ))
            continue;
        if (first != NULL && e->unit != first->unit)
            return fm_error_set(err, FM_CONFIG,
                                "events of different units cannot be summed: '%s' is in %s, '%s' "
                                "in %s; choose one event, or weigh by samples",
                                fm_store_str(sel->store, first->name, NULL),
                                fm_store_str(sel->store, first->unit, NULL),
                                fm_store_str(sel->store, e->name, NULL),
                                fm_store_str(sel->store, e->unit, NULL));
        first = e;
        *unit = fm_store_str(sel->store, e->unit, NULL);
    }
    return FM_OK;
}

enum fm_status fm_from_select(struct fm_selection *sel, enum fm_from from,
                              struct fm_store *store, const struct fm_select_options *options,
                              struct fm_error *err)
{
    struct fm_select_options own = *options;
    const char *w = options->weight, *unit;
    bool value = w == NULL || w[0] == '\0' || strcmp(w, "value") == 0 || strcmp(w, "weight") == 0;
    enum fm_status status;

    if (value)
        own.weight = "samples";        /* any units go together */
    status = fm_selection_init(sel, store, &own, err);
    if (status == FM_OK && from == FM_FROM_LAUNCHES)
        status = keep_launched(sel, options->event, err);
    else if (status == FM_OK)
        status = keep_events(sel, from, options->event, err);
    if (status != FM_OK || !value)
        return status;
    status = own_weight(sel, from, &unit, err);
    if (status != FM_OK || unit == NULL)
        return status;
    sel->weigh = from == FM_FROM_LAUNCHES ? FM_WEIGH_COLUMN : FM_WEIGH_VALUE;
    sel->weigh_col = from == FM_FROM_LAUNCHES ? FM_COL_DUR : FM_COL_WEIGHT;
    sel->unit = fm_store_str_add(store, unit, strlen(unit));
    return sel->unit == FM_NONE ? fm_error_nomem(err) : FM_OK;
}

static enum fm_status add_parts(struct fm_map *parts, struct fm_scan *scan, struct fm_error *err)
{
    while (fm_scan_next(scan)) {
        for (uint32_t i = 0; i < scan->n; i++) {
            uint32_t place = scan->live[i];
            const struct fm_link *link;
            uint64_t *sum;
            if (!fm_scan_valid(scan, 0, place))
                continue;
            link = fm_store_link_find(scan->sel->store, FM_LINK_PARENT, scan->first_row + place);
            if (link == NULL || link->target != FM_LINK_ROW)
                continue;
            sum = fm_map_put(parts, link->to, NULL);
            if (sum == NULL)
                return fm_error_nomem(err);
            *sum = fm_add_sat_u64(*sum, scan->value[0][place]);
        }
    }
    return FM_OK;
}

static enum fm_status sum_parts(struct fm_store *store, struct fm_map *parts, struct fm_error *err)
{
    static const fm_column weight[1] = { FM_COL_WEIGHT };
    size_t events = fm_store_events(store);
    struct fm_selection sel = { .store = store, .mem = &fm_store_ctx(store)->mem };
    struct fm_scan scan;
    enum fm_status status = FM_OK;
    bool some = false;

    fm_map_init(parts, sel.mem);
    sel.event = fm_mem_zalloc(sel.mem, events);
    if (sel.event == NULL)
        return fm_error_nomem(err);
    for (size_t i = 0; i < events; i++) {
        sel.event[i] = fm_store_event_row(store, i)->kind == FM_KIND_PART;
        some |= sel.event[i];
    }
    if (some)
        status = fm_scan_init(&scan, &sel, weight, 1, err);
    if (some && status == FM_OK) {
        status = add_parts(parts, &scan, err);
        fm_scan_release(&scan);
    }
    fm_selection_release(&sel);
    return status;
}

/* Rows of launches have the stacks of the calls. */
static bool call_stacks(struct fm_compile *c, struct fm_view *v)
{
    size_t n;
    const struct fm_link *link = fm_store_links(c->store, &n);
    struct fm_operand stack = { .place = FM_AT_COLUMN, .id = FM_COL_STACK,
                                .via = FM_VIA(FM_LINK_LAUNCH) };

    v->rows = fm_store_rows(c->store);
    v->of_row = fm_arena_alloc(c->arena, (v->rows + 1) * sizeof *v->of_row);
    if (v->of_row == NULL || !fm_linked_fill(c, &stack))
        return false;
    for (size_t i = 0; i < n; i++) {
        uint64_t lane;
        if (link[i].kind == FM_LINK_LAUNCH && fm_linked_lane(stack.linked, link[i].from, &lane))
            v->of_row[link[i].from] =
                fm_view_node(v, fm_store_tree_node(c->store, (fm_node)lane));
    }
    return true;
}

enum fm_status fm_from_view(struct fm_flow *flow, struct fm_error *err)
{
    struct fm_compile *c = flow->c;
    enum fm_status status = FM_OK;

    if (c->from == FM_FROM_SPANS) {
        flow->view.parts = &flow->parts;
        status = sum_parts(c->store, &flow->parts, err);
    }
    if (status == FM_OK)
        status = fm_view_init(&flow->view, &flow->sel, c->arena, err);
    if (status == FM_OK && c->from == FM_FROM_LAUNCHES && !call_stacks(c, &flow->view))
        status = fm_error_nomem(err);
    return status;
}
