/*
 * evented.c - spans as evented profiles of speedscope: one a thread, in real time.
 *
 *     {"type": "evented", "name": "main 1/2", "unit": "nanoseconds",
 *      "startValue": first, "endValue": last,
 *      "events": [{"type": "O", "frame": 0, "at": n}, {"type": "C", "frame": 0, "at": n} ...]}
 *
 * Times count from the beginning of the store: they fit doubles, and threads share an origin.
 * Viewers demand perfect nesting, which spans need not have. At any time the open spans, by
 * (start, longest, row), are the stack; what is inside of an ended span is closed and reopened:
 *
 *     a ████████████░░░░        O a   O b   C b C a O b   C b
 *     b     ████████████         1     3          5        7
 *
 * Self time belongs to the innermost span: where that one is not selected all frames are closed.
 * A span without duration is an O and a C at one time. Starts and ends are two sorted lists (ends
 * of nested spans come in order off a stack). `shown` is the stack as written; it is brought in
 * line with `live` only before time goes on, from the lowest place that changed (`low`).
 *
 * A first pass writes nothing: it adds up the self times and compares depths. When these are not
 * what the rows say, the rows are no nested intervals, and the caller writes samples.
 *
 * Reopening costs the depth. Past a budget an ended span stays around those inside of it, as in the
 * stacks that importers give.
 */
#include "export/scope.h"

#include "util/error.h"

#define BUDGET 2000000u                 /* frames reopened, a thread: and 32 a span */
#define DUR 0                           /* the extra column of the timeline */

struct open {
    uint32_t place, frame;              /* frame FM_NONE: below the cap of depths, not shown */
    bool dead;                          /* has ended, stays around what is inside */
};

/* A thread: rows [from, from + n) of the timeline, which places count from. */
struct stream {
    struct fm_scope *s;
    size_t from, n;
    bool writing, any;                  /* an event has been written */
    bool around;                        /* `prepend` is open */
    uint32_t *end;                      /* places by end */
    uint32_t *spare;                    /* for sorting; the stack that fills `end` */
    size_t end_cap, spare_cap;
    struct open *live;
    size_t lives, live_cap;
    uint32_t *shown;                    /* frames */
    size_t shown_n, shown_cap, low;
    uint32_t prepend[FM_PSEUDO_MAX];    /* frames around all spans of the thread */
    size_t prepends;
    int64_t now;
    uint64_t budget, origin;
    fm_u128 all, sum;                   /* self time of all spans, of selected ones */
    bool odd, oom;
};

static const struct fm_timeline_row *at(const struct stream *w, uint32_t place)
{
    return fm_timeline_at(&w->s->line, w->from + place);
}

static int64_t end_of(const struct stream *w, uint32_t place)
{
    const struct fm_timeline_row *row = at(w, place);
    int64_t end;
    return fm_add_i64(row->ts, (int64_t)row->extra[DUR], &end) ? end : INT64_MAX;
}

static bool selected(const struct fm_selection *sel, const struct fm_timeline_row *row)
{
    return sel->event[row->event] &&
           (sel->rows == NULL || ((sel->rows[row->row / 64] >> (row->row % 64)) & 1));
}

/* --------------------------------------------------------------- order */

/* Outer spans before inner ones. Numbers are those of the timeline's order. */
static bool starts_before(const struct stream *w, uint32_t a, uint32_t b)
{
    const struct fm_timeline *t = &w->s->line;
    const struct fm_timeline_row *x = (const void *)(t->data + a * t->stride);
    const struct fm_timeline_row *y = (const void *)(t->data + b * t->stride);
    if (x->ts != y->ts)
        return x->ts < y->ts;
    if (x->extra[DUR] != y->extra[DUR])
        return x->extra[DUR] > y->extra[DUR];
    return a < b;
}

/* Inner spans before outer ones. */
static bool ends_before(const struct stream *w, uint32_t a, uint32_t b)
{
    int64_t x = end_of(w, a), y = end_of(w, b);
    return x != y ? x < y : a > b;
}

/* Merge sort, when the list is not in order already. */
static void sort(struct stream *w, uint32_t *list, size_t n,
                 bool (*before)(const struct stream *, uint32_t, uint32_t))
{
    uint32_t *from = list, *to = w->spare, *swap;
    size_t width, i;
    for (i = 1; i < n && !before(w, list[i], list[i - 1]); i++)
        ;
    if (i >= n)
        return;
    for (width = 1; width < n; width *= 2) {
        size_t begin, out = 0;
        for (begin = 0; begin < n; begin += 2 * width) {
            size_t a = begin, mid = FM_MIN(begin + width, n);
            size_t b = mid, end = FM_MIN(begin + 2 * width, n);
            while (a < mid || b < end) {
                bool right = a == mid || (b < end && before(w, from[b], from[a]));
                to[out++] = right ? from[b++] : from[a++];
            }
        }
        swap = from;
        from = to;
        to = swap;
    }
    if (from != list)
        memcpy(list, from, n * sizeof *list);
}

/* Fills w->end; spans without duration never are open. Returns their number. */
static size_t order_ends(struct stream *w)
{
    uint32_t *stack = w->spare, i;
    size_t depth = 0, ends = 0;
    for (i = 0; i < w->n; i++) {
        while (depth > 0 && end_of(w, stack[depth - 1]) <= at(w, i)->ts)
            w->end[ends++] = stack[--depth];
        if (end_of(w, i) > at(w, i)->ts)
            stack[depth++] = i;
    }
    while (depth > 0)
        w->end[ends++] = stack[--depth];
    sort(w, w->end, ends, ends_before);
    return ends;
}

/* -------------------------------------------------------------- writing */

static void put_event(struct stream *w, char type, uint32_t frame)
{
    struct fm_out *out = w->s->out;
    if (frame == FM_NONE || !w->writing)
        return;
    fm_out_text(out, w->any ? ",{\"type\":\"" : "{\"type\":\"");
    w->any = true;
    fm_out_char(out, type);
    fm_out_text(out, "\",\"frame\":");
    fm_out_u64(out, frame);
    fm_out_text(out, ",\"at\":");
    fm_out_u64(out, (uint64_t)w->now - w->origin);
    fm_out_char(out, '}');
}

/* Brings what is written in line with the open spans, or with none of them. */
static void show(struct stream *w, bool visible)
{
    size_t want = visible ? w->lives : 0, k;
    w->low = FM_MIN(w->low, want);
    if (!fm_grow(w->s->mem, (void **)&w->shown, &w->shown_cap, want + 1, sizeof *w->shown)) {
        w->oom = true;
        return;
    }
    if (want > 0 && !w->around)
        for (k = 0; k < w->prepends; k++)
            put_event(w, 'O', w->prepend[k]);
    while (w->shown_n > w->low)
        put_event(w, 'C', w->shown[--w->shown_n]);
    for (; w->shown_n < want; w->shown_n++) {
        w->shown[w->shown_n] = w->live[w->shown_n].frame;
        put_event(w, 'O', w->shown[w->shown_n]);
    }
    if (want == 0 && w->around)
        for (k = w->prepends; k > 0; k--)
            put_event(w, 'C', w->prepend[k - 1]);
    w->around = want > 0;
    w->low = want;
}

static bool top_selected(const struct stream *w)
{
    return w->lives > 0 && selected(w->s->sel, at(w, w->live[w->lives - 1].place));
}

/* ---------------------------------------------------------------- sweep */

static void advance(struct stream *w, int64_t until)
{
    uint64_t ns = (uint64_t)until - (uint64_t)w->now;
    bool visible = top_selected(w);
    if (ns == 0)
        return;
    if (w->lives > 0)
        w->all += ns;
    if (visible)
        w->sum += ns;
    if (w->writing)
        show(w, visible);
    w->now = until;
}

static void leave(struct stream *w, uint32_t place)
{
    size_t low = 0, high = w->lives, inside;
    while (high - low > 1) {            /* places grow inwards */
        size_t mid = low + (high - low) / 2;
        if (w->live[mid].place <= place)
            low = mid;
        else
            high = mid;
    }
    inside = w->lives - low - 1;
    if (inside > w->budget) {
        w->live[low].dead = true;
        return;
    }
    w->budget -= inside;
    memmove(w->live + low, w->live + low + 1, inside * sizeof *w->live);
    w->lives--;
    w->low = FM_MIN(w->low, low);
    while (w->lives > 0 && w->live[w->lives - 1].dead) {
        w->lives--;
        w->low = FM_MIN(w->low, w->lives);
    }
}

static bool frame_of(struct stream *w, uint32_t node, uint32_t *number)
{
    struct fm_scope *s = w->s;
    fm_frame f = s->tree[node].frame;
    *number = 0;
    return !w->writing || fm_scope_number(s, s->label[f], fm_selection_frame(s->sel, f)->file,
                                          number);
}

static void enter(struct stream *w, uint32_t place)
{
    const struct fm_timeline_row *row = at(w, place);
    struct open one = {.place = place, .frame = FM_NONE};
    uint32_t depth = w->s->tree[row->node].depth;
    if (depth > w->lives + 1)           /* inside of something that is no row */
        w->odd = true;
    if (!fm_grow(w->s->mem, (void **)&w->live, &w->live_cap, w->lives + 1, sizeof *w->live) ||
        (depth == w->lives + 1 && !frame_of(w, row->node, &one.frame))) {
        w->oom = true;
        return;
    }
    w->live[w->lives++] = one;
    if (end_of(w, place) > row->ts)
        return;
    if (w->writing && top_selected(w))
        show(w, true);
    w->lives--;
    w->low = FM_MIN(w->low, w->lives);
}

static void sweep(struct stream *w)
{
    size_t ends = order_ends(w), j = 0;
    uint32_t i = 0;
    w->lives = w->shown_n = w->low = 0;
    w->any = w->around = false;
    w->budget = BUDGET + 32 * (uint64_t)w->n;
    w->all = w->sum = 0;
    w->now = at(w, 0)->ts;
    while ((i < w->n || j < ends) && !w->oom) {
        if (i == w->n || (j < ends && end_of(w, w->end[j]) <= at(w, i)->ts)) {
            advance(w, end_of(w, w->end[j]));
            leave(w, w->end[j++]);
        } else {
            advance(w, at(w, i)->ts);
            enter(w, i++);
        }
    }
    if (w->writing && !w->oom)
        show(w, false);
}

/* -------------------------------------------------------------- threads */

/* The next thread: from, n, and the weight of its rows; parts, which have no time, are passed over.
 * False at the end. */
static bool next_thread(struct stream *w, fm_u128 *weight, fm_thread *thread)
{
    const struct fm_timeline *line = &w->s->line;
    size_t i = w->from + w->n, to;
    *weight = 0;
    if (i >= line->rows)
        return false;
    *thread = fm_timeline_at(line, i)->thread;
    for (to = i; to < line->rows && fm_timeline_at(line, to)->thread == *thread; to++)
        *weight += fm_timeline_at(line, to)->weight;
    for (; i < to; i++) {
        uint32_t event = fm_timeline_at(line, i)->event;
        if (fm_store_event_row(w->s->sel->store, event)->kind != FM_KIND_PART)
            break;
    }
    w->from = i;
    w->n = to - i;
    return true;
}

/* First and last time of the selected spans, and the frames around them; their number. */
static size_t look(struct stream *w, int64_t *first, int64_t *last)
{
    const struct fm_timeline_row *one = NULL, *row;
    size_t count = 0;
    uint32_t i;
    for (i = 0; i < w->n; i++) {
        row = at(w, i);
        if (row->ts == INT64_MIN || !(row->has & 1) || (int64_t)row->extra[DUR] < 0)
            w->odd = true;
        if (!selected(w->s->sel, row))
            continue;
        if (one == NULL)
            *first = *last = row->ts;
        else if (one->texts != row->texts)
            w->odd = true;
        one = row;
        *last = FM_MAX(*last, end_of(w, i));
        count++;
    }
    w->prepends = 0;
    for (i = 0; one != NULL && i < w->s->line.texts && w->writing; i++) {
        fm_str text = w->s->line.text[one->texts * w->s->line.texts + i];
        if (text == FM_PSEUDO_SKIP)
            continue;
        if (!fm_scope_number(w->s, text, 0, &w->prepend[w->prepends++]))
            w->oom = true;
    }
    return count;
}

/* Whether spans of all threads are what their rows say; some must be selected. */
static bool check(struct stream *w)
{
    fm_u128 weight;
    fm_thread thread;
    int64_t first, last;
    size_t count = 0;
    w->from = w->n = 0;
    while (!w->odd && !w->oom && next_thread(w, &weight, &thread)) {
        if (!fm_grow(w->s->mem, (void **)&w->end, &w->end_cap, w->n + 1, sizeof *w->end) ||
            !fm_grow(w->s->mem, (void **)&w->spare, &w->spare_cap, w->n + 1, sizeof *w->spare)) {
            w->oom = true;
            return false;
        }
        count += look(w, &first, &last);
        if (w->odd || w->n == 0)
            continue;
        sort(w, w->s->line.order + w->from, w->n, starts_before);
        sweep(w);
        if (w->all != weight)
            w->odd = true;
    }
    return !w->odd && !w->oom && count > 0;
}

static void put_spans(struct stream *w)
{
    struct fm_out *out = w->s->out;
    fm_u128 weight;
    fm_thread thread;
    int64_t first, last;
    w->from = w->n = 0;
    while (!w->oom && next_thread(w, &weight, &thread)) {
        if (look(w, &first, &last) == 0)
            continue;
        fm_scope_profile(w->s);
        fm_out_text(out, "{\"type\":\"evented\",\"name\":");
        fm_scope_name(w->s, thread);
        fm_out_text(out, ",\"unit\":\"nanoseconds\",\"startValue\":");
        fm_out_u64(out, (uint64_t)first - w->origin);
        fm_out_text(out, ",\"endValue\":");
        fm_out_u64(out, (uint64_t)last - w->origin);
        fm_out_text(out, ",\"events\":[");
        sweep(w);
        fm_out_text(out, "]}");
        fm_scope_weigh(w->s, w->sum);
    }
}

/* Selects all spans in ns of the store: times in any of them make the gaps in those around it.
 * False: no span is selected, or none can be shown as such. */
static bool choose(const struct fm_selection *sel, struct fm_selection *all, uint8_t *event)
{
    const struct fm_store *store = sel->store;
    size_t n = fm_store_events(store), i;
    bool any = false;
    for (i = 0; i < n; i++) {
        const struct fm_event *row = fm_store_event_row(store, i);
        bool span = row->kind == FM_KIND_SPAN || row->kind == FM_KIND_PART;
        event[i] = span && strcmp(fm_store_str(store, row->unit, NULL), "ns") == 0;
        any = any || (sel->event[i] && row->kind == FM_KIND_SPAN && event[i]);
    }
    *all = *sel;
    all->event = event;
    all->rows = NULL;
    return any && sel->weigh == FM_WEIGH_VALUE && sel->stacks == NULL && sel->appends == 0 &&
           sel->row_weight == NULL &&
           strcmp(fm_store_str(store, sel->unit, NULL), "ns") == 0;
}

enum fm_status fm_scope_spans(struct fm_scope *s, bool *done, struct fm_error *err)
{
    static const fm_column extra[] = {[DUR] = FM_COL_DUR};
    struct stream w = {.s = s};
    struct fm_selection all;
    size_t events = fm_store_events(s->sel->store);
    uint8_t *event = fm_mem_alloc(s->mem, events);
    enum fm_status status = FM_OK;
    int64_t start = 0, end;
    *done = false;
    if (event == NULL)
        return fm_error_nomem(err);
    if (choose(s->sel, &all, event)) {
        status = fm_timeline_make(&s->line, &all, &s->export->names, extra, 1, true, err);
        if (status == FM_OK) {
            if (fm_store_start(s->sel->store, &start, &end))
                w.origin = (uint64_t)start;
            *done = check(&w);
            w.writing = true;
            if (*done)
                put_spans(&w);
            if (w.oom)
                status = fm_error_nomem(err);
            fm_timeline_release(&s->line);
        }
    }
    fm_mem_free(s->mem, w.end, w.end_cap * sizeof *w.end);
    fm_mem_free(s->mem, w.spare, w.spare_cap * sizeof *w.spare);
    fm_mem_free(s->mem, w.live, w.live_cap * sizeof *w.live);
    fm_mem_free(s->mem, w.shown, w.shown_cap * sizeof *w.shown);
    fm_mem_free(s->mem, event, events);
    return status;
}
