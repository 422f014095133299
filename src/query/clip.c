/*
 * clip.c - `time: {range: A..B, clip: true}`: spans cut at the borders of the window.
 *
 *     time     A        B
 *     outer  ██|████████|███      ts = A, dur = B - A
 *     inner    |  ████  |         as it is
 *     self     |██    ██|         of outer, anew: what it has within the window
 *
 * The stack of a thread at time t is its spans with start <= t < end, outer to inner by (start,
 * longest, row); the self time of a span is how long it is the innermost. Cutting changes no stack
 * within the window, so only spans that cross a border get a new self time, and only what the
 * thread's spans do within the window matters. It is worked out by a sweep over them: spans enter
 * in that order, so the innermost is the one that entered last and has not ended; which ends next
 * is told by a heap. What filters have left out is still on the stack.
 *
 * The self time of spans off the threads' stacks (async) and of states is their duration.
 */
#include "query/pred.h"

#include "util/error.h"

#include <stdlib.h>

struct span {
    int64_t ts, end;
    uint64_t row, self;
    fm_thread thread;
};

struct sweep {
    struct fm_clip *clip;
    struct fm_mem *mem;
    struct fm_store *store;
    struct span *span;
    size_t n, cap;
    uint8_t *wanted;             /* by thread: one of its spans crosses a border */
    size_t *open, *heap;         /* spans that entered, and those of them that have not ended */
    size_t opens, heaps;
};

/* ------------------------------------------------------------------ the rows */

static bool crosses(const struct fm_clip *clip, int64_t ts, int64_t end)
{
    return (ts < clip->from && end > clip->from) || (ts < clip->to && end > clip->to);
}

static bool add_span(struct sweep *w, const struct span *s)
{
    if (s->end <= w->clip->from || s->ts >= w->clip->to || !w->wanted[s->thread])
        return true;
    if (!fm_grow(w->mem, (void **)&w->span, &w->cap, w->n + 1, sizeof *w->span))
        return false;
    w->span[w->n++] = *s;
    return true;
}

/* First pass: threads with spans that cross; second: the spans of these. */
static enum fm_status read_spans(struct sweep *w, bool second, struct fm_error *err)
{
    static const fm_column col[] = { FM_COL_TS, FM_COL_DUR, FM_COL_THREAD };
    struct fm_selection all = { .store = w->store, .mem = w->mem };
    int64_t start = 0, end = 0;
    struct fm_scan scan;
    enum fm_status status;
    bool ok = true;

    (void)fm_store_start(w->store, &start, &end);
    all.event = fm_mem_zalloc(w->mem, fm_store_events(w->store));
    if (all.event == NULL)
        return fm_error_nomem(err);
    for (size_t i = 0; i < fm_store_events(w->store); i++)
        all.event[i] = fm_store_event_row(w->store, i)->kind == FM_KIND_SPAN;
    status = fm_scan_init(&scan, &all, col, FM_COUNT(col), err);
    while (status == FM_OK && ok && fm_scan_next(&scan)) {
        int64_t shift = fm_store_source_row(w->store, scan.source)->shift - start;
        for (uint32_t i = 0; ok && i < scan.n; i++) {
            uint32_t place = scan.live[i];
            struct span s = { .row = scan.first_row + place };
            if (!fm_scan_valid(&scan, 0, place) || !fm_scan_valid(&scan, 1, place)
                || !fm_scan_valid(&scan, 2, place))
                continue;
            s.ts = (int64_t)scan.value[0][place] + shift;
            s.thread = (fm_thread)scan.value[2][place];
            if (__builtin_add_overflow(s.ts, (int64_t)scan.value[1][place], &s.end))
                s.end = INT64_MAX;
            if (second)
                ok = add_span(w, &s);
            else if (crosses(w->clip, s.ts, s.end))
                w->wanted[s.thread] = 1;
        }
    }
    if (status == FM_OK)
        fm_scan_release(&scan);
    fm_selection_release(&all);
    return ok ? status : fm_error_nomem(err);
}

/* ----------------------------------------------------------------- the sweep */

static int by_thread(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static bool sooner(const struct sweep *w, size_t a, size_t b)
{
    return w->span[a].end < w->span[b].end;
}

static void push(struct sweep *w, size_t i)
{
    size_t at = w->heaps++;

    for (; at > 0 && sooner(w, i, w->heap[(at - 1) / 2]); at = (at - 1) / 2)
        w->heap[at] = w->heap[(at - 1) / 2];
    w->heap[at] = i;
}

static void pop(struct sweep *w)
{
    size_t last = w->heap[--w->heaps], at = 0;

    while (2 * at + 1 < w->heaps) {
        size_t child = 2 * at + 1;
        if (child + 1 < w->heaps && sooner(w, w->heap[child + 1], w->heap[child]))
            child++;
        if (!sooner(w, w->heap[child], last))
            break;
        w->heap[at] = w->heap[child];
        at = child;
    }
    w->heap[at] = last;
}

/* The time [from, until) goes to the innermost open span. */
static void charge(struct sweep *w, int64_t from, int64_t until)
{
    from = FM_MAX(from, w->clip->from);
    until = FM_MIN(until, w->clip->to);
    if (w->opens > 0 && until > from)
        w->span[w->open[w->opens - 1]].self += (uint64_t)until - (uint64_t)from;
}

/* Ends what ends up to `until`. */
static int64_t advance(struct sweep *w, int64_t now, int64_t until)
{
    while (w->heaps > 0 && w->span[w->heap[0]].end <= until) {
        int64_t end = w->span[w->heap[0]].end;
        charge(w, now, end);
        now = FM_MAX(now, end);
        pop(w);
        while (w->opens > 0 && w->span[w->open[w->opens - 1]].end <= now)
            w->opens--;
    }
    charge(w, now, until);
    return until;
}

static void sweep_thread(struct sweep *w, size_t from, size_t to)
{
    int64_t now = w->span[from].ts;

    w->opens = w->heaps = 0;
    for (size_t i = from; i < to; i++) {
        now = advance(w, now, w->span[i].ts);
        if (w->span[i].end <= now)
            continue;
        w->open[w->opens++] = i;
        push(w, i);
    }
    advance(w, now, INT64_MAX);
}

static bool sweep_all(struct sweep *w)
{
    w->open = fm_mem_alloc(w->mem, (w->n + 1) * sizeof *w->open);
    w->heap = fm_mem_alloc(w->mem, (w->n + 1) * sizeof *w->heap);
    if (w->open == NULL || w->heap == NULL)
        return false;
    if (w->n > 0)
        qsort(w->span, w->n, sizeof *w->span, by_thread);
    for (size_t i = 0; i < w->n;) {
        size_t to = i;
        while (to < w->n && w->span[to].thread == w->span[i].thread)
            to++;
        sweep_thread(w, i, to);
        i = to;
    }
    return true;
}

/* ---------------------------------------------------------------- what is cut */

static int by_row(const void *a, const void *b)
{
    const struct fm_cut *x = a, *y = b;

    return x->row < y->row ? -1 : x->row > y->row;
}

static bool keep_cuts(struct sweep *w, struct fm_arena *arena)
{
    struct fm_clip *clip = w->clip;
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++)
        n += crosses(clip, w->span[i].ts, w->span[i].end);
    clip->cut = fm_arena_alloc(arena, (n + 1) * sizeof *clip->cut);
    if (clip->cut == NULL)
        return false;
    clip->cuts = 0;
    for (size_t i = 0; i < w->n; i++) {
        if (crosses(clip, w->span[i].ts, w->span[i].end))
            clip->cut[clip->cuts++] = (struct fm_cut){ w->span[i].row, w->span[i].self };
    }
    if (n > 0)
        qsort(clip->cut, n, sizeof *clip->cut, by_row);
    return true;
}

enum fm_status fm_clip_make(struct fm_view *v, int64_t from, int64_t to, struct fm_error *err)
{
    struct fm_clip *clip = fm_arena_alloc(v->arena, sizeof *clip);
    struct sweep w = { .clip = clip, .mem = &fm_store_ctx(v->store)->mem, .store = v->store };
    size_t threads = fm_store_threads(v->store);
    enum fm_status status;

    if (clip == NULL)
        return fm_error_nomem(err);
    clip->from = v->clip == NULL ? from : FM_MAX(from, v->clip->from);
    clip->to = v->clip == NULL ? to : FM_MIN(to, v->clip->to);
    w.wanted = fm_mem_zalloc(w.mem, threads + 1);
    status = w.wanted == NULL ? fm_error_nomem(err) : read_spans(&w, false, err);
    if (status == FM_OK)
        status = read_spans(&w, true, err);
    if (status == FM_OK && (!sweep_all(&w) || !keep_cuts(&w, v->arena)))
        status = fm_error_nomem(err);
    fm_mem_free(w.mem, w.wanted, w.wanted == NULL ? 0 : threads + 1);
    fm_mem_free(w.mem, w.open, w.open == NULL ? 0 : (w.n + 1) * sizeof *w.open);
    fm_mem_free(w.mem, w.heap, w.heap == NULL ? 0 : (w.n + 1) * sizeof *w.heap);
    fm_mem_free(w.mem, w.span, w.cap * sizeof *w.span);
    if (status == FM_OK)
        v->clip = clip;
    return status;
}

bool fm_clip_self(const struct fm_clip *clip, uint64_t row, uint64_t *self)
{
    size_t lo = 0, hi = clip->cuts;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (clip->cut[mid].row < row)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == clip->cuts || clip->cut[lo].row != row)
        return false;
    *self = clip->cut[lo].self;
    return true;
}

bool fm_clip_span(const struct fm_clip *clip, int64_t *ts, int64_t *dur)
{
    int64_t end;

    if (__builtin_add_overflow(*ts, *dur, &end))
        end = INT64_MAX;
    if (*dur <= 0 || !crosses(clip, *ts, end))
        return false;
    *ts = FM_MAX(*ts, clip->from);
    *dur = FM_MIN(end, clip->to) - *ts;
    return true;
}
