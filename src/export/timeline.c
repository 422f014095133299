/*
 * timeline.c - the selected rows in time order.
 *
 * One scan copies what exporters need of each row. Rows mostly come in time order already: only
 * when they do not is the order array sorted. Ordering by thread is a stable counting sort on top.
 * Rows are fixed-size records in one block; pseudo labels are kept once per distinct tuple.
 */
#include "export/timeline.h"

#include "util/error.h"

#include <stdlib.h>

struct collector {
    struct fm_timeline *t;
    const struct fm_selection *sel;
    struct fm_scan scan;
    struct fm_pseudo_labels pseudo;
    struct fm_map tuple_of;       /* hash -> first tuple + 1 */
    uint32_t *chain;              /* tuple -> next of the same hash, + 1 */
    size_t chain_cap;
    size_t ts, stack, weight, thread, extra[FM_TIMELINE_EXTRAS];
    bool sorted;
};

static bool find_tuple(struct collector *c, const fm_str *text, uint32_t *tuple)
{
    struct fm_timeline *t = c->t;
    uint64_t hash = t->texts, *slot;
    uint32_t i;
    size_t k;
    for (k = 0; k < t->texts; k++)
        hash = fm_mix(hash, text[k]);
    slot = fm_map_put(&c->tuple_of, hash, NULL);
    if (slot == NULL)
        return false;
    for (i = (uint32_t)*slot; i != 0; i = c->chain[i - 1]) {
        if (t->texts == 0 ||
            memcmp(t->text + (i - 1) * t->texts, text, t->texts * sizeof *text) == 0) {
            *tuple = i - 1;
            return true;
        }
    }
    if (!fm_grow(t->mem, (void **)&t->text, &t->text_cap, (t->tuples + 1) * t->texts + 1,
                 sizeof *text) ||
        !fm_grow(t->mem, (void **)&c->chain, &c->chain_cap, t->tuples + 1, sizeof *c->chain))
        return false;
    memcpy(t->text + t->tuples * t->texts, text, t->texts * sizeof *text);
    c->chain[t->tuples] = (uint32_t)*slot;
    *tuple = (uint32_t)t->tuples++;
    *slot = t->tuples;
    return true;
}

static bool valid_at(const struct collector *c, size_t slot, uint32_t place)
{
    return fm_scan_valid(&c->scan, slot, place);
}

static bool add_row(struct collector *c, uint32_t place, uint32_t node, uint32_t tuple)
{
    struct fm_timeline *t = c->t;
    const struct fm_scan *scan = &c->scan;
    struct fm_timeline_row *row, *last;
    size_t k;
    if (t->rows >= FM_NONE ||
        !fm_grow(t->mem, (void **)&t->data, &t->data_cap, t->rows + 1, t->stride))
        return false;
    row = (struct fm_timeline_row *)(void *)(t->data + t->rows * t->stride);
    row->ts = INT64_MIN;
    if (valid_at(c, c->ts, place)) {
        int64_t shift = fm_store_source_row(c->sel->store, scan->source)->shift;
        if (!fm_add_i64((int64_t)scan->value[c->ts][place], shift, &row->ts))
            row->ts = INT64_MAX;
    }
    row->row = scan->first_row + place;
    row->weight = scan->value[c->weight][place];
    row->node = node;
    row->thread = FM_NONE;
    if (valid_at(c, c->thread, place))
        row->thread = (fm_thread)scan->value[c->thread][place];
    row->event = (uint32_t)scan->event[place];
    row->source = scan->source;
    row->texts = tuple;
    row->has = 0;
    for (k = 0; k < t->extras; k++) {
        row->extra[k] = scan->value[c->extra[k]][place];
        row->has |= (uint32_t)valid_at(c, c->extra[k], place) << k;
    }
    if (t->rows > 0) {
        last = (struct fm_timeline_row *)(void *)(t->data + (t->rows - 1) * t->stride);
        c->sorted = c->sorted && last->ts <= row->ts;
    }
    t->rows++;
    return true;
}

static bool collect(struct collector *c)
{
    fm_str text[2 * FM_PSEUDO_MAX] = {0};
    uint32_t tuple = 0, i;
    size_t k;
    while (fm_scan_next(&c->scan)) {
        for (i = 0; i < c->scan.n; i++) {
            uint32_t place = c->scan.live[i];
            uint32_t node = fm_selection_node(c->sel, valid_at(c, c->stack, place),
                                              c->scan.value[c->stack][place]);
            bool same = c->t->tuples > 0;
            if (node == FM_NONE)
                continue;
            for (k = 0; k < c->t->texts; k++) {
                fm_str label = fm_pseudo_label(&c->pseudo, &c->scan, k, place);
                same = same && label == text[k];
                text[k] = label;
            }
            if (c->pseudo.oom || (!same && !find_tuple(c, text, &tuple)) ||
                !add_row(c, place, node, tuple))
                return false;
        }
    }
    return true;
}

/* Merge sort of the order array by (ts, row number): no recursion, no state outside. */
static bool sort_by_time(struct fm_timeline *t)
{
    uint32_t *from = t->order, *to, *spare;
    size_t width, bytes = t->rows * sizeof *to;
    to = spare = fm_mem_alloc(t->mem, bytes);
    if (spare == NULL)
        return false;
    for (width = 1; width < t->rows; width *= 2) {
        size_t at, out = 0;
        uint32_t *swap = from;
        for (at = 0; at < t->rows; at += 2 * width) {
            size_t a = at, mid = FM_MIN(at + width, t->rows);
            size_t b = mid, end = FM_MIN(at + 2 * width, t->rows);
            while (a < mid || b < end) {
                const struct fm_timeline_row *x, *y;
                if (a == mid || b == end) {
                    to[out++] = from[a < mid ? a++ : b++];
                    continue;
                }
                x = (const void *)(t->data + from[a] * t->stride);
                y = (const void *)(t->data + from[b] * t->stride);
                to[out++] = y->ts < x->ts ? from[b++] : from[a++];
            }
        }
        from = to;
        to = swap;
    }
    if (from != t->order)
        memcpy(t->order, from, bytes);
    fm_mem_free(t->mem, spare, bytes);
    return true;
}

/* ----------------------------------------------------------- by thread */

struct ranked {
    uint32_t source, incarnation;
    int64_t process_order, pid, order, tid;
    fm_thread thread;
};

static int by_thread_ids(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->process_order != y->process_order)
        return x->process_order < y->process_order ? -1 : 1;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    if (x->incarnation != y->incarnation)
        return x->incarnation < y->incarnation ? -1 : 1;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

/* rank[thread] = place in the order that the recording asks for, else of ids; rows without a
 * thread come last. */
static bool rank_threads(struct fm_timeline *t, const struct fm_store *store, size_t *rank)
{
    size_t n = fm_store_threads(store), i;
    struct ranked *list = fm_mem_alloc(t->mem, n * sizeof *list);
    if (list == NULL)
        return false;
    for (i = 0; i < n; i++) {
        const struct fm_thread_row *row = fm_store_thread_row(store, (fm_thread)i);
        list[i] = (struct ranked){row->source, row->incarnation, row->process_order, row->pid,
                                  row->order, row->tid, (fm_thread)i};
    }
    qsort(list, n, sizeof *list, by_thread_ids);
    for (i = 0; i < n; i++)
        rank[list[i].thread] = i;
    fm_mem_free(t->mem, list, n * sizeof *list);
    return true;
}

static bool group_by_thread(struct fm_timeline *t, const struct fm_store *store)
{
    size_t n = fm_store_threads(store), i, bytes = t->rows * sizeof(uint32_t);
    size_t *rank = fm_mem_alloc(t->mem, n * sizeof *rank);
    size_t *start = fm_mem_zalloc(t->mem, (n + 2) * sizeof *start);
    uint32_t *order = fm_mem_alloc(t->mem, bytes);
    bool ok = rank != NULL && start != NULL && order != NULL && rank_threads(t, store, rank);
    for (i = 0; ok && i < t->rows; i++) {
        fm_thread thread = fm_timeline_at(t, i)->thread;
        start[(thread == FM_NONE ? n : rank[thread]) + 1]++;
    }
    for (i = 0; ok && i <= n; i++)
        start[i + 1] += start[i];
    for (i = 0; ok && i < t->rows; i++) {
        fm_thread thread = fm_timeline_at(t, i)->thread;
        order[start[thread == FM_NONE ? n : rank[thread]]++] = t->order[i];
    }
    if (ok)
        memcpy(t->order, order, bytes);
    fm_mem_free(t->mem, order, bytes);
    fm_mem_free(t->mem, start, (n + 2) * sizeof *start);
    fm_mem_free(t->mem, rank, n * sizeof *rank);
    return ok;
}

/* ------------------------------------------------------------------ make */

/* The place of a column in the list, appended when it is not there. */
static size_t want(fm_column *col, size_t *cols, fm_column need)
{
    size_t i;
    for (i = 0; i < *cols && col[i] != need; i++)
        ;
    if (i == *cols)
        col[(*cols)++] = need;
    return i;
}

static bool fill(struct collector *c, bool by_thread)
{
    struct fm_timeline *t = c->t;
    size_t i;
    if (!collect(c))
        return false;
    t->order = fm_mem_alloc(t->mem, t->rows * sizeof *t->order);
    if (t->order == NULL)
        return false;
    for (i = 0; i < t->rows; i++)
        t->order[i] = (uint32_t)i;
    if (!c->sorted && !sort_by_time(t))
        return false;
    return !by_thread || group_by_thread(t, c->sel->store);
}

enum fm_status fm_timeline_make(struct fm_timeline *timeline, const struct fm_selection *sel,
                                const struct fm_names *names, const fm_column *extra,
                                size_t extras, bool by_thread, struct fm_error *err)
{
    struct collector c;
    fm_column col[FM_SCAN_COLUMNS];
    size_t cols = 0, k;
    enum fm_status status;
    fm_assert(extras <= FM_TIMELINE_EXTRAS);
    memset(timeline, 0, sizeof *timeline);
    timeline->mem = sel->mem;
    timeline->extras = extras;
    timeline->stride = sizeof(struct fm_timeline_row) + extras * sizeof(uint64_t);
    memset(&c, 0, offsetof(struct collector, scan));
    memset(&c.pseudo, 0, sizeof c.pseudo);
    c.t = timeline;
    c.sel = sel;
    c.chain = NULL;
    c.chain_cap = 0;
    c.sorted = true;
    fm_map_init(&c.tuple_of, sel->mem);
    c.ts = want(col, &cols, FM_COL_TS);
    c.stack = want(col, &cols, FM_COL_STACK);
    c.weight = want(col, &cols, fm_selection_weight_column(sel));
    c.thread = want(col, &cols, FM_COL_THREAD);
    for (k = 0; k < extras; k++)
        c.extra[k] = want(col, &cols, extra[k]);
    if (names != NULL)
        fm_pseudo_columns(sel, col, &cols);
    status = fm_scan_init(&c.scan, sel, col, cols, err);
    if (status == FM_OK) {
        if (names != NULL)
            fm_pseudo_labels_init(&c.pseudo, sel, &c.scan, names);
        timeline->texts = c.pseudo.n;
        timeline->prepends = c.pseudo.prepends;
        if (!fill(&c, by_thread))
            status = fm_error_nomem(err);
        fm_pseudo_labels_release(&c.pseudo);
        fm_scan_release(&c.scan);
    }
    fm_map_release(&c.tuple_of);
    fm_mem_free(sel->mem, c.chain, c.chain_cap * sizeof *c.chain);
    if (status != FM_OK)
        fm_timeline_release(timeline);
    return status;
}

void fm_timeline_release(struct fm_timeline *timeline)
{
    fm_mem_free(timeline->mem, timeline->data, timeline->data_cap * timeline->stride);
    fm_mem_free(timeline->mem, timeline->text, timeline->text_cap * sizeof *timeline->text);
    if (timeline->order != NULL)
        fm_mem_free(timeline->mem, timeline->order, timeline->rows * sizeof *timeline->order);
    memset(timeline, 0, sizeof *timeline);
}

void fm_timeline_thread(const struct fm_store *store, fm_thread t, struct fm_out *out)
{
    const struct fm_thread_row *row;
    size_t from = out->n, n;
    if (t == FM_NONE)
        return;
    row = fm_store_thread_row(store, t);
    fm_name_value(store, FM_COL_THREAD, t, out);
    if (row->text_id != 0) {
        const char *id = fm_store_str(store, row->text_id, &n);
        if (n != out->n - from || memcmp(id, out->buf + from, n) != 0) {
            fm_out_char(out, ' ');
            fm_out_bytes(out, id, n);
        }
    } else if (row->pid >= 0 || row->tid >= 0) {
        fm_out_char(out, ' ');
        fm_out_i64(out, row->pid);
        fm_out_char(out, '/');
        fm_out_i64(out, row->tid);
    }
    if (row->incarnation > 0)
        fm_out_printf(out, " #%u", (unsigned)row->incarnation + 1);
}
