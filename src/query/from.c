/*
 * from.c - where the rows of a query come from: samples of one event, or a view of many events.
 *
 *     from       kinds of events     weight by default
 *     samples    any, one metric     the event's
 *     spans      span, async         self_dur, ns
 *     counters   counter             1 a row
 *     instants   instant             1 a row
 *
 * A view takes all events of its kinds unless the command line names some. Time of a span under
 * another ancestry stands in rows of kind part, each linked to its span. They are no spans, so the
 * view leaves them out and adds their weight to their span's:
 *
 *     self_dur(span) = weight(span) + sum of weight(part), for every part -> span
 *
 * The sums are in a map by row, owned by the run.
 */
#include "query/query.h"
#include "query/plan.h"

#include "util/error.h"

static const char *const from_name[FM_FROMS] = { "samples", "spans", "counters", "instants" };

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

static bool in_view(enum fm_from from, enum fm_kind kind)
{
    switch (from) {
    case FM_FROM_SPANS:
        return kind == FM_KIND_SPAN || kind == FM_KIND_ASYNC;
    case FM_FROM_COUNTERS:
        return kind == FM_KIND_COUNTER;
    case FM_FROM_INSTANTS:
        return kind == FM_KIND_INSTANT;
    default:
        return true;
    }
}

/* Leaves the events of the view, of those chosen or of all. */
static enum fm_status keep_events(struct fm_selection *sel, enum fm_from from, const char *event,
                                  struct fm_error *err)
{
    const char *name = from_name[from];
    size_t kept = 0;

    for (size_t i = 0; i < fm_store_events(sel->store); i++) {
        const struct fm_event *e = fm_store_event_row(sel->store, i);
        sel->event[i] = (event == NULL || sel->event[i]) && e->rows > 0 && in_view(from, e->kind);
        kept += sel->event[i];
        if (sel->event[i])
            sel->event_name = e->name;
    }
    if (kept == 0 && event != NULL)
        return fm_error_set(err, FM_CONFIG, "event '%s' has no %s", event, name);
    if (kept == 0)
        return fm_error_set(err, FM_CONFIG, "the input has no %s", name);
    if (kept > 1)
        sel->event_name = fm_store_str_add(sel->store, name, strlen(name));
    return sel->event_name == FM_NONE ? fm_error_nomem(err) : FM_OK;
}

enum fm_status fm_from_select(struct fm_selection *sel, enum fm_from from,
                              struct fm_store *store, const struct fm_select_options *options,
                              struct fm_error *err)
{
    struct fm_select_options own = *options;
    const char *w = options->weight;
    bool value = w == NULL || w[0] == '\0' || strcmp(w, "value") == 0 || strcmp(w, "weight") == 0;
    enum fm_status status;

    if (value)
        own.weight = "samples";        /* any units go together */
    status = fm_selection_init(sel, store, &own, err);
    if (status == FM_OK)
        status = keep_events(sel, from, options->event, err);
    if (status != FM_OK || !value || from != FM_FROM_SPANS)
        return status;
    sel->weigh = FM_WEIGH_VALUE;
    sel->weigh_col = FM_COL_WEIGHT;
    sel->unit = fm_store_str_add(store, "ns", 2);
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

enum fm_status fm_from_parts(struct fm_store *store, struct fm_map *parts, struct fm_error *err)
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
