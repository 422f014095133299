/*
 * sweep.c - the instantaneous stack of a thread: at time t it is the spans with start <= t < end,
 * from the outermost on by (start, longest, place in the file). The time between two borders is
 * self time of the innermost span, under the path of all of them.
 *
 *     a ████████████░░░░        path a      a;b      b        what overlaps only partly is
 *     b     ████████████        time 1-3    3-5     5-7       split, never dropped or stretched
 *
 * Spans come in that order, so a new one always is the innermost; open ones form a list. What ends
 * next: ends of nested spans only shrink inwards (`index`, a stack); a span that outlives the one
 * around it goes to a heap instead, and so does what comes after it and does not fit the stack.
 *
 *     smallest end = min(top of the stack, top of the heap)
 *
 * Spans that only nest need none of this: nest.c takes them first, and a group of spans comes here
 * that has an overlap in it.
 *
 * When a span ends that is not the innermost, those inside of it get a new path (`dirty`: from
 * which on). Their self time up to there belongs to the old one. Paths of spans that overlap in
 * great numbers are of quadratic size: past a budget they keep the ancestry of their start.
 */
#include "import/chrome/span.h"

#define BUDGET 2000000u                /* paths made anew, a thread: and 32 a record */

struct fm_chrome_live {
    uint32_t record, depth;
    uint32_t prev, next;
    fm_node node;                      /* path from here on; the span's own is that of its start */
    uint64_t self;                     /* under `node`, when that is not the start's */
};

struct sweep {
    struct fm_chrome_sweep *s;
    struct fm_chrome_pile *p;
    uint32_t used, dirty;              /* slot, 0: all paths are right */
    uint32_t free;
    int64_t now;
    uint32_t ended;                    /* record + 1: the innermost that ended just now */
    uint64_t budget;
};

static struct fm_chrome_span *record(const struct sweep *w, uint32_t slot)
{
    return &w->s->span[w->p->live[slot].record];
}

/* ------------------------------------------------------------------ paths and parts */

static void end_part(struct sweep *w, struct fm_chrome_live *o)
{
    struct fm_chrome_sweep *s = w->s;
    if (o->self == 0)
        return;
    if (!fm_grow(s->mem, (void **)&w->p->part, &w->p->part_cap, w->p->parts + 1,
                 sizeof *w->p->part)) {
        s->oom = true;
        return;
    }
    w->p->part[w->p->parts++] = (struct fm_chrome_part){o->record, o->node, o->self};
    o->self = 0;
}

/* The path of `o`, which stands inside of `outer` (0: of nothing). */
static void set_path(struct sweep *w, struct fm_chrome_live *o, uint32_t outer)
{
    struct fm_chrome_sweep *s = w->s;
    const struct fm_chrome_live *out = &w->p->live[outer];
    fm_node above = outer ? out->node : FM_NODE_ROOT;
    o->depth = outer ? out->depth + 1 : 1;
    if (o->depth > s->depth) {
        s->deep++;
        o->depth--;
        o->node = above;
        return;
    }
    o->node = fm_chrome_child(s, above, s->span[o->record].site);
}

static void clean(struct sweep *w)
{
    struct fm_chrome_live *live = w->p->live;
    for (uint32_t slot = w->dirty; slot; slot = live[slot].next) {
        if (w->budget == 0) {
            w->s->kept_ancestry++;
            break;
        }
        w->budget--;
        end_part(w, &live[slot]);
        set_path(w, &live[slot], live[slot].prev);
    }
    w->dirty = 0;
}

/* ------------------------------------------------------------------ time */

static void charge(struct sweep *w, int64_t until)
{
    struct fm_chrome_live *live = w->p->live;
    uint32_t top = live[0].prev;
    if (until == w->now)
        return;
    w->ended = 0;
    if (top) {
        if (w->dirty)
            clean(w);
        struct fm_chrome_live *o = &live[top];
        struct fm_chrome_span *r = record(w, top);
        uint64_t ns = (uint64_t)until - (uint64_t)w->now;
        if (o->node == r->node)
            r->self += ns;
        else
            o->self += ns;
    }
    w->now = until;
}

static void leave(struct sweep *w, uint32_t slot)
{
    struct fm_chrome_live *live = w->p->live, *o = &live[slot];
    if (!w->ended)
        w->ended = o->record + 1;
    end_part(w, o);
    if (w->dirty == slot)
        w->dirty = o->next;
    else if (o->next && (!w->dirty || o->record < live[w->dirty].record))
        w->dirty = o->next;
    live[o->prev].next = o->next;
    live[o->next].prev = o->prev;
    o->next = w->free;
    w->free = slot;
}

/* The open span that ends first; NULL when none is open. */
static const struct fm_chrome_ending *first_end(const struct sweep *w, bool *heap)
{
    const struct fm_chrome_pile *p = w->p;
    const struct fm_chrome_ending *a = p->index_n ? &p->index[p->index_n - 1] : NULL;
    const struct fm_chrome_ending *b = p->heap.n ? p->heap.item : NULL;
    *heap = b && (!a || fm_chrome_sooner(b, a));
    return *heap ? b : a;
}

static void advance(struct sweep *w, int64_t until)
{
    bool heap;
    const struct fm_chrome_ending *first;
    while ((first = first_end(w, &heap)) != NULL && first->end <= until) {
        uint32_t slot = first->slot;
        charge(w, first->end);
        if (heap)
            fm_chrome_heap_pop(&w->p->heap);
        else
            w->p->index_n--;
        leave(w, slot);
    }
    charge(w, until);
}

/* ------------------------------------------------------------------ records */

static uint32_t new_slot(struct sweep *w)
{
    struct fm_chrome_pile *p = w->p;
    uint32_t slot = w->free;
    if (slot) {
        w->free = p->live[slot].next;
        return slot;
    }
    if (!fm_grow(w->s->mem, (void **)&p->live, &p->live_cap, (size_t)w->used + 1,
                 sizeof *p->live) ||
        !fm_grow(w->s->mem, (void **)&p->index, &p->index_cap, (size_t)w->used + 1,
                 sizeof *p->index)) {
        w->s->oom = true;
        return 0;
    }
    return w->used++;
}

static void enter(struct sweep *w, uint32_t i)
{
    struct fm_chrome_sweep *s = w->s;
    struct fm_chrome_pile *p = w->p;
    struct fm_chrome_span *r = &s->span[i];
    struct fm_chrome_live one = {.record = i};
    uint64_t offset = r->self;
    if (w->dirty)
        clean(w);
    uint32_t outer = p->live[0].prev;
    set_path(w, &one, outer);
    r->node = one.node;
    r->self = 0;
    if (r->end <= r->start) {
        w->ended = i + 1;              /* no time, never open; flows of this time are its */
        return;
    }
    uint32_t slot = new_slot(w);
    if (!slot)
        return;
    one.prev = outer;
    bool heap;
    const struct fm_chrome_ending *first = first_end(w, &heap);
    if (first && first->end < r->end) {
        s->overlaps++;
        s->overlap_at = FM_MIN(s->overlap_at, offset);
        s->overlap_ns += (uint64_t)r->end - (uint64_t)first->end;
    }
    p->live[slot] = one;
    p->live[outer].next = slot;
    p->live[0].prev = slot;
    struct fm_chrome_ending ending = {r->end, i, slot};
    if (p->index_n == 0 || r->end <= p->index[p->index_n - 1].end)
        p->index[p->index_n++] = ending;
    else if (!fm_chrome_heap_push(&p->heap, s->mem, ending))
        s->oom = true;
}

/* From the first span of a group on until nothing is open; where the next group begins. */
static size_t sweep_group(struct sweep *w, size_t i)
{
    struct fm_chrome_sweep *s = w->s;
    struct fm_chrome_live *live = w->p->live;
    bool heap;
    const struct fm_chrome_ending *last;
    w->now = s->span[i].start;
    w->ended = 0;
    for (size_t first = i; i < s->n && !s->oom; i++) {
        const struct fm_chrome_span *r = &s->span[i];
        advance(w, r->start);
        live = w->p->live;
        uint32_t top = live[0].prev;
        if (top == 0 && i > first)
            return i;
        if (fm_chrome_bind_flow(s, r, top ? live[top].record + 1 : 0))
            continue;
        fm_chrome_bind_next(s, (uint32_t)i);
        enter(w, (uint32_t)i);
    }
    while (!s->oom && (last = first_end(w, &heap)) != NULL)
        advance(w, last->end);
    return i;
}

void fm_chrome_sweep(struct fm_chrome_sweep *s)
{
    struct fm_chrome_pile *p = &s->pile;
    struct sweep w = {.s = s, .p = p, .used = 1, .budget = BUDGET + 32 * (uint64_t)s->n};
    struct fm_chrome_ended ended = {0, 0};
    p->index_n = p->heap.n = p->parts = p->bounds = p->pendings = 0;
    if (!fm_grow(s->mem, (void **)&p->live, &p->live_cap, 1, sizeof *p->live)) {
        s->oom = true;
        return;
    }
    p->live[0] = (struct fm_chrome_live){0};
    for (size_t i = 0; i < s->n && !s->oom;) {
        i = fm_chrome_nest(s, i, &ended);
        if (i < s->n && !s->oom) {
            i = sweep_group(&w, i);
            ended = (struct fm_chrome_ended){w.now, w.ended};
        }
    }
}

void fm_chrome_sweep_start(struct fm_chrome_sweep *s, struct fm_chrome_span *span, size_t n)
{
    s->span = span;
    s->n = n;
    s->unmatched = s->not_on_top = s->unfinished_n = s->overlaps = 0;
    s->dropped = s->deep = s->kept_ancestry = s->overlap_ns = 0;
    s->unmatched_at = s->not_on_top_at = s->unfinished_at = s->overlap_at = FM_NO_OFFSET;
}

void fm_chrome_sweep_release(struct fm_chrome_sweep *s)
{
    struct fm_chrome_pile *p = &s->pile;
    fm_chrome_pair_release(s);
    fm_chrome_nest_release(s);
    fm_mem_free(s->mem, p->live, p->live_cap * sizeof *p->live);
    fm_mem_free(s->mem, p->index, p->index_cap * sizeof *p->index);
    fm_mem_free(s->mem, p->heap.item, p->heap.cap * sizeof *p->heap.item);
    fm_mem_free(s->mem, p->scratch, p->scratch_cap * sizeof *p->scratch);
    fm_mem_free(s->mem, p->part, p->part_cap * sizeof *p->part);
    fm_mem_free(s->mem, p->bound, p->bound_cap * sizeof *p->bound);
    fm_mem_free(s->mem, p->pending, p->pending_cap * sizeof *p->pending);
}
