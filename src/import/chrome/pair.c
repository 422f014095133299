/*
 * pair.c - from B and E to intervals, and the ends of those that nobody ended.
 *
 * E closes the nearest open B whose name matches; names match when they are equal or one of them
 * is missing. So that no E has to search, open spans are chained twice: all of them, and those of
 * a name from the latest on (head[name][0]). The nearest match of a name is the later of its
 * chain's head and that of the nameless.
 *
 *     open   B a ── B b ── B a ── B -      names  a: 3 -> 1   b: 2   (none): 4
 *
 * An E that matches nothing waits (head[name][1]): a B of the same name and time behind it makes
 * the two a span without length.
 */
#include "import/chrome/span.h"

struct fm_chrome_open {
    uint32_t record, name;
    uint32_t prev, next;           /* all open ones; 0 is the list's end */
    uint32_t same;                 /* the one before of that name */
};

struct pair {
    struct fm_chrome_sweep *s;
    struct fm_chrome_open *open;   /* [0] is the list's anchor */
    uint32_t used;
};

static uint64_t at(uint64_t found, uint64_t old)
{
    return FM_MIN(found, old);
}

static void push(struct pair *p, uint32_t record, uint32_t name)
{
    struct fm_chrome_sweep *s = p->s;
    struct fm_chrome_pile *pile = &s->pile;
    if (!fm_grow(s->mem, (void **)&pile->open, &pile->open_cap, (size_t)p->used + 1,
                 sizeof *pile->open)) {
        s->oom = true;
        return;
    }
    p->open = pile->open;
    uint32_t slot = p->used++, last = p->open[0].prev;
    p->open[slot] = (struct fm_chrome_open){record, name, last, 0, s->head[name][0]};
    p->open[last].next = slot;
    p->open[0].prev = slot;
    s->head[name][0] = slot;
}

/* Slots are given in order of opening, so the larger one is the nearer. */
static uint32_t match(const struct pair *p, uint32_t name)
{
    if (name == 0)
        return p->open[0].prev;
    uint32_t own = p->s->head[name][0], none = p->s->head[0][0];
    return FM_MAX(own, none);
}

static void close(struct pair *p, uint32_t slot, struct fm_chrome_span *e)
{
    struct fm_chrome_sweep *s = p->s;
    struct fm_chrome_open *o = &p->open[slot];
    struct fm_chrome_span *b = &s->span[o->record];
    if (o->next != 0) {
        s->not_on_top++;
        s->not_on_top_at = at(e->self, s->not_on_top_at);
    }
    b->end = e->start;
    b->flags &= (uint8_t)~FM_CHROME_OPEN;
    if (e->chain) {
        fm_assert(s->join != NULL);
        b->chain = s->join(s->user, b->chain, e->chain);
    }
    /* The head of its name's chain, or the nearest of all and so the head of its own. */
    s->head[o->name][0] = o->same;
    p->open[o->prev].next = o->next;
    p->open[o->next].prev = o->prev;
    p->used = p->open[0].prev + 1;         /* slots grow along the list */
    e->flags |= FM_CHROME_DROP;
}

static bool same_time(const struct fm_chrome_span *a, const struct fm_chrome_span *b)
{
    return a->start == b->start && a->ps == b->ps;
}

static void take_end(struct pair *p, uint32_t i)
{
    struct fm_chrome_sweep *s = p->s;
    struct fm_chrome_span *e = &s->span[i];
    uint32_t slot = match(p, e->site);
    if (slot) {
        close(p, slot, e);
        return;
    }
    /* Waits on top of others of the same name; `end` is free in E. */
    e->flags |= FM_CHROME_UNMATCHED | FM_CHROME_DROP;
    e->end = s->head[e->site][1];
    s->head[e->site][1] = i + 1;
}

static void take_begin(struct pair *p, uint32_t i)
{
    struct fm_chrome_sweep *s = p->s;
    struct fm_chrome_span *b = &s->span[i];
    uint32_t name = s->name(s->user, b->site), waits = s->head[name][1];
    if (waits && name && same_time(&s->span[waits - 1], b)) {
        struct fm_chrome_span *e = &s->span[waits - 1];
        s->head[name][1] = (uint32_t)e->end;
        e->flags &= (uint8_t)~FM_CHROME_UNMATCHED;
        b->end = b->start;
        b->flags &= (uint8_t)~FM_CHROME_OPEN;
        if (e->chain)
            b->chain = s->join(s->user, b->chain, e->chain);
        return;
    }
    push(p, i, name);
}

/* Counts the E that stayed alone and takes all E out. */
static void compact(struct fm_chrome_sweep *s)
{
    size_t to = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct fm_chrome_span *r = &s->span[i];
        if (r->flags & FM_CHROME_UNMATCHED) {
            s->unmatched++;
            s->unmatched_at = at(r->self, s->unmatched_at);
        }
        if (r->type == FM_CHROME_E)
            s->head[r->site][1] = 0;
        else
            s->span[to++] = *r;
    }
    s->n = to;
}

void fm_chrome_pair(struct fm_chrome_sweep *s, bool unordered)
{
    struct pair p = {.s = s, .used = 1};
    struct fm_chrome_pile *pile = &s->pile;
    if (!fm_grow(s->mem, (void **)&pile->open, &pile->open_cap, 1, sizeof *pile->open) ||
        (unordered && !fm_chrome_sort_time(s))) {
        s->oom = true;
        return;
    }
    p.open = pile->open;
    p.open[0] = (struct fm_chrome_open){0};
    for (size_t i = 0; i < s->n && !s->oom; i++) {
        if (s->span[i].type == FM_CHROME_B && s->span[i].flags & FM_CHROME_OPEN)
            take_begin(&p, (uint32_t)i);
        else if (s->span[i].type == FM_CHROME_E)
            take_end(&p, (uint32_t)i);
    }
    for (uint32_t slot = p.open[0].next; slot; slot = p.open[slot].next)
        s->head[p.open[slot].name][0] = 0;
    compact(s);
}

void fm_chrome_pair_release(struct fm_chrome_sweep *s)
{
    fm_mem_free(s->mem, s->pile.open, s->pile.open_cap * sizeof *s->pile.open);
}

/* ------------------------------------------------------------------ unfinished ones */

static void end_one(struct fm_chrome_sweep *s, struct fm_chrome_span *r)
{
    int64_t end = s->unfinished == FM_CHROME_END_THREAD ? s->thread_last : s->trace_last;
    if (s->unfinished == FM_CHROME_END_ENCLOSING && s->pile.heap.n)
        end = s->pile.heap.item[0].end;
    s->unfinished_n++;
    s->unfinished_at = at(r->self, s->unfinished_at);
    if (s->unfinished == FM_CHROME_END_DROP) {
        s->dropped++;
        r->flags |= FM_CHROME_DROP;
    }
    r->end = FM_MAX(end, r->start);
    r->flags = (uint8_t)((r->flags & ~FM_CHROME_OPEN) | FM_CHROME_UNFINISHED);
}

static bool is_flow(const struct fm_chrome_span *r)
{
    return r->type == FM_CHROME_FLOW_HERE || r->type == FM_CHROME_FLOW_NEXT;
}

/* The heap holds finished spans that began at or before the current start and end behind it. */
static void end_open(struct fm_chrome_sweep *s)
{
    struct fm_chrome_heap *heap = &s->pile.heap;
    heap->n = 0;
    for (size_t i = 0, same; i < s->n; i = same) {
        int64_t start = s->span[i].start;
        for (same = i; same < s->n && s->span[same].start == start; same++) {
            const struct fm_chrome_span *r = &s->span[same];
            if (!(r->flags & FM_CHROME_OPEN) && !is_flow(r) && r->end > start &&
                !fm_chrome_heap_push(heap, s->mem,
                                     (struct fm_chrome_ending){r->end, (uint32_t)same, 0})) {
                s->oom = true;
                return;
            }
        }
        while (heap->n && heap->item[0].end <= start)
            fm_chrome_heap_pop(heap);
        for (size_t k = i; k < same; k++)
            if (s->span[k].flags & FM_CHROME_OPEN)
                end_one(s, &s->span[k]);
    }
}

void fm_chrome_arrange(struct fm_chrome_sweep *s)
{
    bool open = false;
    for (size_t i = 0; i < s->n; i++) {
        struct fm_chrome_span *r = &s->span[i];
        open |= r->flags & FM_CHROME_OPEN;
        if (r->flags & FM_CHROME_OPEN)
            r->end = INT64_MAX;
    }
    if (!fm_chrome_sort_span(s)) {
        s->oom = true;
        return;
    }
    if (!open)
        return;
    end_open(s);
    if (s->unfinished == FM_CHROME_END_DROP) {
        size_t to = 0;
        for (size_t i = 0; i < s->n; i++)
            if (!(s->span[i].flags & FM_CHROME_DROP))
                s->span[to++] = s->span[i];
        s->n = to;
    }
    if (!fm_chrome_sort_span(s))
        s->oom = true;
}
