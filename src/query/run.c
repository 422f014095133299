/*
 * run.c - a query run on a store: selection, filters, steps, result.
 *
 *     select (event, weight) -> command line's filters -> steps compiled with the store's names
 *     -> row steps and stack edits on the selection -> group -> table steps -> struct fm_result
 *
 * Denominators of shares: `all` is the weight of the selected event before any filter, `selected`
 * what is left after the row steps; rows that a root or leaf edit drops still count in it. Views of
 * many events (from.c) choose no event, and `all` is the weight of their rows.
 */
#include "query/plan.h"
#include "query/query.h"
#include "query/stacks.h"

#include "util/error.h"

struct run {
    struct fm_ctx *ctx;
    struct fm_query *q;
    struct fm_selection sel;
    struct fm_view view;
    struct fm_map parts;             /* of a view of spans */
    struct fm_plan plan;
    struct fm_window window;
    struct fm_totals totals;
    struct fm_table table;
    bool grouped, warned, failed;
};

/* ------------------------------------------------------------ the selection */

/* The event's name for the selection: the command line's, else the query's, else auto. */
static const char *event_option(struct fm_query *q, const struct fm_select_options *select,
                                const struct fm_yaml_node **at)
{
    const struct fm_yaml_node *node = fm_plan_event(q);
    struct fm_scalar s;

    *at = NULL;
    if (select != NULL && select->event != NULL)
        return select->event;
    if (node == NULL || node->type == FM_YAML_MAP)
        return NULL;
    *at = node;
    if (node->type != FM_YAML_SCALAR
        || !fm_scalar_get(q, &q->run_arena, &q->log, node, &s) || s.unknown)
        return NULL;
    if (s.n == 4 && memcmp(s.text, "auto", 4) == 0) {
        *at = NULL;
        return NULL;
    }
    return s.text;
}

static bool mixed_units(struct run *r, const struct fm_yaml_node *at)
{
    const struct fm_event *first = NULL;

    for (size_t i = 0; i < fm_store_events(r->sel.store); i++) {
        const struct fm_event *e = fm_store_event_row(r->sel.store, i);
        if (!r->sel.event[i])
            continue;
        if (first == NULL)
            first = e;
        if (e->unit == first->unit || r->sel.weigh == FM_WEIGH_SAMPLES)
            continue;
        fm_yaml_error(fm_yaml_as(&r->q->log, FM_YAML_UNIT), at,
                      "events of different units cannot be summed: '%s' in %s, '%s' in %s",
                      fm_store_str(r->sel.store, first->name, NULL),
                      fm_store_str(r->sel.store, first->unit, NULL),
                      fm_store_str(r->sel.store, e->name, NULL),
                      fm_store_str(r->sel.store, e->unit, NULL));
        fm_yaml_note(&r->q->log, "--weight samples counts samples of any event");
        return true;
    }
    return false;
}

/* Adds the events whose name passes a test, or else those whose metric does. */
static void pick_by(struct run *r, const struct fm_pred *p)
{
    bool some = false;

    for (int metric = 0; metric < 2 && !some && p->op == FM_PRED_TEST; metric++) {
        for (size_t i = 0; i < fm_store_events(r->sel.store); i++) {
            const struct fm_event *e = fm_store_event_row(r->sel.store, i);
            struct fm_value text = fm_lane_value(r->sel.store, FM_TYPE_STRING,
                                                 metric ? e->metric : e->name);
            if (fm_pred_value(p, &text) != FM_YES)
                continue;
            some = true;
            r->sel.event[i] = 1;
        }
    }
}

/* The selection takes the events that the query's pattern or list names. */
static enum fm_status pick_events(struct run *r, const struct fm_yaml_node *at,
                                  struct fm_error *err)
{
    enum fm_status status;
    struct fm_compile c = { .ctx = r->ctx, .q = r->q, .arena = &r->q->run_arena,
                            .log = &r->q->log, .store = r->sel.store, .unit = "" };
    uint32_t k = fm_operand_find(&c, FM_SCOPE_ROWS, "event", 5);
    struct fm_pred *p = k == FM_NONE ? NULL : fm_pred_column(&c, c.operand[k], at, FM_SCOPE_ROWS);
    size_t events = fm_store_events(r->sel.store), picked = 0;
    const struct fm_event *one = NULL;

    memset(r->sel.event, 0, events);
    if (p != NULL && p->op == FM_PRED_TEST)
        pick_by(r, p);
    for (size_t a = 0; p != NULL && p->op == FM_PRED_OR && a < p->args; a++)
        pick_by(r, p->arg[a]);
    for (size_t i = 0; i < events; i++) {
        picked += r->sel.event[i];
        one = r->sel.event[i] ? fm_store_event_row(r->sel.store, i) : one;
    }
    fm_compile_release(&c);
    if (p == NULL)
        return r->q->run_arena.oom ? FM_NOMEM : FM_CONFIG;
    if (picked == 0 || one == NULL)
        return FM_CONFIG;
    r->sel.event_name = one->name;
    if (r->sel.weigh == FM_WEIGH_VALUE)
        r->sel.unit = one->unit;
    if (picked > 1)
        r->sel.event_name = fm_store_str_add(r->sel.store, "several", 7);
    if (mixed_units(r, at))
        return FM_CONFIG;
    status = fm_selection_sum(&r->sel, err);
    r->sel.weight_all = r->sel.weight;
    return status;
}

static bool is_plain_event(struct run *r, const char *name)
{
    return strcmp(name, "all") == 0 || fm_event_known(r->sel.store, name);
}

static enum fm_status make_selection(struct run *r, struct fm_store *store,
                                     const struct fm_select_options *select,
                                     struct fm_error *err)
{
    struct fm_select_options options = FM_INIT(options);
    const struct fm_yaml_node *at;
    enum fm_status status;
    const char *event;

    if (select != NULL)
        options = *select;
    r->sel.store = store;
    event = event_option(r->q, select, &at);
    options.event = event != NULL && (at == NULL || is_plain_event(r, event)) ? event : NULL;
    /* pictures have the view of their format; paths of queries have what is asked for */
    options.prepend = options.prepend == NULL ? "none" : options.prepend;
    options.append = options.append == NULL ? "none" : options.append;
    if (fm_query_from(r->q) != FM_FROM_SAMPLES) {
        options.event = select == NULL ? NULL : select->event;
        return fm_from_select(&r->sel, fm_query_from(r->q), store, &options, err);
    }
    status = fm_selection_init(&r->sel, store, &options, err);
    if (status != FM_OK || at == NULL || options.event != NULL)
        return status;
    return pick_events(r, at, err);
}

/* ------------------------------------------------------------------- steps */

static enum fm_status has_rows(struct run *r, bool *some, struct fm_error *err)
{
    static const fm_column none[1] = { FM_COL_STACK };
    struct fm_scan scan;
    enum fm_status status = fm_scan_init(&scan, &r->sel, none, 1, err);

    if (status != FM_OK)
        return status;
    do {
        *some = fm_scan_next(&scan);
    } while (*some && scan.n == 0);
    fm_scan_release(&scan);
    return FM_OK;
}

static enum fm_status warn_when_empty(struct run *r, const struct fm_step *step,
                                      struct fm_error *err)
{
    struct fm_yaml_node at = { .type = FM_YAML_SCALAR, .text = step->at->key };
    enum fm_status status;
    bool some;

    if (r->warned)
        return FM_OK;
    status = has_rows(r, &some, err);
    if (status != FM_OK || some)
        return status;
    at.line = step->at->key_line;
    at.column = step->at->key_column;
    at.n = strlen(step->at->key);
    fm_yaml_warn(fm_yaml_as(&r->q->log, FM_YAML_EMPTY), &at, "no rows are left after this '%s'",
                 step->at->key);
    r->warned = true;
    return FM_OK;
}

/* The same of the options that choose samples, which stand in no file. */
static enum fm_status warn_when_filtered(struct run *r, const struct fm_select_options *select,
                                         struct fm_error *err)
{
    enum fm_status status;
    bool some;

    if (select == NULL || select->filters == 0)
        return FM_OK;
    status = has_rows(r, &some, err);
    if (status != FM_OK || some)
        return status;
    fm_yaml_warn(fm_yaml_as(&r->q->log, FM_YAML_EMPTY), NULL,
                 "no rows are left after the options that choose samples");
    r->warned = true;
    return FM_OK;
}

static enum fm_status run_edits(struct run *r, const struct fm_step *step, struct fm_error *err)
{
    for (size_t i = 0; i < step->edits; i++) {
        enum fm_status status;
        uint64_t rows;
        bool dropped;
        if (fm_edit_drops(step->edit[i]) && !r->totals.known) {
            status = fm_rows_sum(&r->plan.c, &r->sel, &r->view, &rows, err);
            if (status != FM_OK)
                return status;
            r->totals.selected = (fm_i128)r->sel.weight;
            r->totals.known = true;
        }
        status = fm_edit_run(&r->plan.c, step->edit[i], &r->sel, &r->view, &dropped, err);
        if (status == FM_OK && dropped)
            status = warn_when_empty(r, step, err);
        if (status != FM_OK)
            return status;
    }
    return FM_OK;
}

static enum fm_status run_group(struct run *r, const struct fm_step *step, struct fm_error *err)
{
    int64_t start = 0, end = 0, from, to;

    if (fm_store_start(r->sel.store, &start, &end)) {
        from = FM_MAX(r->window.from, 0);
        to = FM_MIN(r->window.to, end - start);
        r->totals.window = to > from ? (double)(to - from) / 1e9 : 0;
    }
    fm_table_init(&r->table, &r->ctx->mem, r->sel.store, &r->plan.schema);
    r->grouped = true;
    return fm_group_run(&r->plan.c, step->group, &r->sel, &r->view, &r->totals, &r->table, err);
}

/* The step is there, and a limit that needs no row behind its last. */
static bool is_plain_limit(const struct fm_step *step, const struct fm_plan *plan)
{
    const struct fm_limit *l = &step->limit;

    return step < plan->step + plan->steps && step->op == FM_STEP_LIMIT && !l->all && l->at < 0
           && !l->ties && l->rest == NULL && l->pers == 0 && l->rows < UINT32_MAX;
}

static enum fm_status run_step(struct run *r, const struct fm_step *step, struct fm_error *err)
{
    enum fm_status status = FM_OK;

    switch (step->op) {
    case FM_STEP_WHERE:
        status = fm_rows_where(&r->plan.c, &r->sel, &r->view, step->p, err);
        r->totals.known = false;
        return status != FM_OK ? status : warn_when_empty(r, step, err);
    case FM_STEP_TIME:
        status = fm_range_run(&r->plan.c, step->range, &r->sel, &r->view, &r->window.from,
                              &r->window.to, err);
        r->totals.known = false;
        return status != FM_OK ? status : warn_when_empty(r, step, err);
    case FM_STEP_STACK:
        return run_edits(r, step, err);
    case FM_STEP_GROUP:
        return run_group(r, step, err);
    case FM_STEP_TABLE_WHERE:
        fm_table_where(&r->table, &r->plan.c, step->p);
        return FM_OK;
    case FM_STEP_SORT:
        if (is_plain_limit(step + 1, &r->plan))
            return fm_table_top(&r->table, step->key, step->keys, (size_t)step[1].limit.rows, err);
        return fm_table_sort(&r->table, step->key, step->keys, err);
    case FM_STEP_COMPUTE:
        return fm_compute_run(&r->plan.c, step->computed, &r->table) ? FM_OK
                                                                     : fm_error_nomem(err);
    case FM_STEP_CHECK:
        status = fm_check_run(&r->plan.c, step->check, &r->table, err);
        r->failed |= status == FM_GATE;
        return status == FM_GATE ? FM_OK : status;
    default:
        r->table.selected = r->totals.selected;
        r->table.all = r->totals.all;
        if (!r->table.sorted)
            status = fm_table_sort(&r->table, NULL, 0, err);
        return status != FM_OK
                   ? status : fm_table_limit(&r->table, &step->limit, step->key, step->keys, err);
    }
}

/* --------------------------------------------------------------- the result */

static enum fm_status make_result(struct run *r, struct fm_result **result, struct fm_error *err)
{
    struct fm_table *t = &r->table;
    enum fm_status status = FM_OK;
    struct fm_result *made;

    if (!t->sorted)
        status = fm_table_sort(t, NULL, 0, err);
    if (status != FM_OK)
        return status;
    t->event = fm_store_str(r->sel.store, r->sel.event_name, NULL);
    t->unit = fm_store_str(r->sel.store, r->sel.unit, NULL);
    t->weigh = r->sel.weigh == FM_WEIGH_VALUE ? "value"
               : r->sel.weigh == FM_WEIGH_SAMPLES ? "samples"
               : fm_store_str(r->sel.store,
                              fm_store_column_info(r->sel.store, r->sel.weigh_col)->name, NULL);
    t->samples = r->totals.samples;
    t->selected = r->totals.selected;
    t->all = r->totals.all;
    made = fm_result_new(&r->ctx->mem);
    if (made == NULL)
        return fm_error_nomem(err);
    status = fm_result_add(made, r->q, t, r->plan.column, r->plan.columns, err);
    if (status == FM_OK)
        *result = made;
    else
        fm_result_free(made);
    return status;
}

static enum fm_status check_ready(struct fm_query *q, size_t stores, struct fm_error *err)
{
    if (q->log.errors > 0)
        return fm_error_set(err, FM_CONFIG, "query '%s' has errors", q->name);
    for (size_t i = 0; i < q->params; i++) {
        if (!q->param[i].known)
            return fm_error_set(err, FM_CONFIG, "query '%s' needs parameter '%s' (-p %s=VALUE)",
                                q->name, q->param[i].name, q->param[i].name);
    }
    if (stores != 1)
        return fm_error_set(err, FM_CONFIG, "query '%s' takes one input, not %zu", q->name,
                            stores);
    return FM_OK;
}

/* Labels that were left out at import are an error, never null. */
static enum fm_status check_imported(const struct fm_compile *c, const struct fm_store *store,
                                     struct fm_error *err)
{
    for (size_t i = 0; i < c->operands; i++) {
        const struct fm_operand *o = c->operand[i];

        if (o->place == FM_AT_COLUMN && fm_store_column_info(store, o->id)->asked)
            return fm_column_not_imported(store, o->id, err);
    }
    return FM_OK;
}

static enum fm_status run_all(struct run *r, const struct fm_select_options *select,
                              struct fm_result **result, struct fm_error *err)
{
    enum fm_status status = FM_OK;
    uint64_t rows;

    if (fm_query_from(r->q) == FM_FROM_SPANS) {
        r->view.parts = &r->parts;
        status = fm_from_parts(r->sel.store, &r->parts, err);
    }
    if (status == FM_OK)
        status = fm_view_init(&r->view, &r->sel, &r->q->run_arena, err);
    if (status == FM_OK) {
        status = fm_plan_compile(r->q, &r->sel, &r->q->run_arena, &r->plan);
        if (status == FM_NOMEM)
            return fm_error_nomem(err);
    }
    if (status == FM_OK)
        status = check_imported(&r->plan.c, r->sel.store, err);
    if (status == FM_OK && r->plan.c.from != FM_FROM_SAMPLES) {
        status = fm_rows_sum(&r->plan.c, &r->sel, &r->view, &rows, err);
        r->sel.weight_all = r->sel.weight;
    }
    r->totals.all = (fm_i128)r->sel.weight_all;
    if (status == FM_OK) {
        status = fm_filters_run(&r->plan.c, &r->sel, &r->view, select, &r->window, err);
        r->q->log.file = r->q->file;
    }
    if (status == FM_OK)
        status = warn_when_filtered(r, select, err);
    if (status == FM_OK)
        status = fm_stacks_pseudo(&r->plan.c, &r->sel, &r->view, err);
    for (size_t i = 0; i < r->plan.steps && status == FM_OK; i++)
        status = run_step(r, &r->plan.step[i], err);
    if (status == FM_OK)
        status = make_result(r, result, err);
    return status == FM_OK && r->failed ? FM_GATE : status;
}

enum fm_status fm_query_run(struct fm_ctx *ctx, struct fm_query *query,
                            struct fm_store *const *store, size_t stores,
                            const struct fm_select_options *select, struct fm_result **result,
                            struct fm_error *err)
{
    struct run r = { .ctx = ctx, .q = query, .window = { INT64_MIN, INT64_MAX } };
    enum fm_status status;

    *result = NULL;
    if (query->ran) {                 /* messages of the last run go */
        fm_yaml_log_init(&query->log, &query->arena);
        query->log.file = query->file;
        fm_arena_release(&query->run_arena);
        fm_arena_init(&query->run_arena, &query->ctx->mem);
    }
    status = check_ready(query, stores, err);
    if (status != FM_OK)
        return status;
    query->ran = true;
    fm_yaml_log_init(&query->log, &query->run_arena);
    query->log.file = query->file;
    status = make_selection(&r, store[0], select, err);
    if (status == FM_OK)
        status = run_all(&r, select, result, err);
    if (r.grouped)
        fm_table_release(&r.table);
    fm_plan_release(&r.plan);
    fm_map_release(&r.parts);
    fm_selection_release(&r.sel);
    if (query->run_arena.oom && status == FM_CONFIG)
        status = fm_error_nomem(err);
    if (status == FM_CONFIG && err != NULL && err->status == FM_OK)
        *err = query->log.first;
    return status;
}
