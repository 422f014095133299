/*
 * nest.c - spans that only nest: the common case of the sweep, without borders and a heap.
 *
 *     a ████████████████        self of a = its length - those of b and d, which stand in it
 *     b   ██████   ███ d        open: the stack a, b; an end behind that of the span around is
 *     c    ██                   an overlap, and sweep.c takes the group over from its first span
 *
 * A group is a span with nothing around it and all that begins before it ends.
 */
#include "import/chrome/span.h"

struct fm_chrome_nested {
    int64_t end;
    uint32_t record;
    fm_node node;
};

/* Groups may be given back: what was found since their first span. */
struct mark {
    size_t first, bounds;
    uint64_t deep;
};

fm_node fm_chrome_child(struct fm_chrome_sweep *s, fm_node above, uint32_t site)
{
    uint64_t key = (uint64_t)above << 32 | site;
    struct fm_chrome_known *k = &s->known[fm_mix(key, 0) % FM_CHROME_KNOWN];
    if (FM_LIKELY(k->key == key && k->node != FM_NODE_ROOT))
        return k->node;
    fm_node node = fm_builder_node(s->builder, above, s->frame(s->user, site));
    *k = (struct fm_chrome_known){key, node};
    return node;
}

/* ------------------------------------------------------------------ flows */

static void bind(struct fm_chrome_sweep *s, uint32_t point, uint32_t span)
{
    struct fm_chrome_pile *p = &s->pile;
    if (!fm_grow(s->mem, (void **)&p->bound, &p->bound_cap, p->bounds + 1, sizeof *p->bound)) {
        s->oom = true;
        return;
    }
    p->bound[p->bounds][0] = point;
    p->bound[p->bounds++][1] = span;
}

static void bind_later(struct fm_chrome_sweep *s, uint32_t point)
{
    struct fm_chrome_pile *p = &s->pile;
    if (!fm_grow(s->mem, (void **)&p->pending, &p->pending_cap, p->pendings + 1,
                 sizeof *p->pending)) {
        s->oom = true;
        return;
    }
    p->pending[p->pendings++] = point;
}

void fm_chrome_bind_next(struct fm_chrome_sweep *s, uint32_t span)
{
    struct fm_chrome_pile *p = &s->pile;
    for (; p->pendings; p->pendings--)
        bind(s, p->pending[p->pendings - 1], span);
}

bool fm_chrome_bind_flow(struct fm_chrome_sweep *s, const struct fm_chrome_span *flow,
                         uint32_t inner)
{
    if (flow->type < FM_CHROME_FLOW_HERE)
        return false;
    if (flow->type == FM_CHROME_FLOW_NEXT)
        bind_later(s, flow->site);
    else if (inner)
        bind(s, flow->site, inner - 1);
    return true;
}

/* ------------------------------------------------------------------ spans */

/* Puts span i into the stack. false: it outlives the one around it. */
static inline bool enter(struct fm_chrome_sweep *s, size_t i, size_t depth)
{
    struct fm_chrome_span *r = &s->span[i];
    struct fm_chrome_nested *open = s->pile.nested;
    uint64_t length = r->end > r->start ? (uint64_t)r->end - (uint64_t)r->start : 0;
    fm_node above = FM_NODE_ROOT;
    if (depth) {
        const struct fm_chrome_nested *outer = &open[depth - 1];
        if (FM_UNLIKELY(r->end > outer->end))
            return false;
        above = outer->node;
        s->span[outer->record].self -= length;
    }
    if (FM_LIKELY(depth < s->depth)) {
        r->node = fm_chrome_child(s, above, r->site);
    } else {
        s->deep++;
        r->node = above;
    }
    r->self = length;
    open[depth] = (struct fm_chrome_nested){r->end, (uint32_t)i, r->node};
    return true;
}

static struct mark begin_group(const struct fm_chrome_sweep *s, size_t i)
{
    return (struct mark){i, s->pile.bounds, s->deep};
}

static size_t give_back(struct fm_chrome_sweep *s, const struct mark *mark)
{
    s->pile.bounds = mark->bounds;
    s->pile.pendings = 0;          /* those from before were bound to the group's first span */
    s->deep = mark->deep;
    return mark->first;
}

size_t fm_chrome_nest(struct fm_chrome_sweep *s, size_t i, struct fm_chrome_ended *ended)
{
    struct fm_chrome_pile *p = &s->pile;
    struct mark mark = begin_group(s, i);
    size_t depth = 0;
    for (; i < s->n && !s->oom; i++) {
        const struct fm_chrome_span *r = &s->span[i];
        for (; depth && p->nested[depth - 1].end <= r->start; depth--)
            if (ended->at != p->nested[depth - 1].end || !ended->inner)
                *ended = (struct fm_chrome_ended){p->nested[depth - 1].end,
                                                  p->nested[depth - 1].record + 1};
        uint32_t inner = depth ? p->nested[depth - 1].record + 1
                         : ended->at == r->start ? ended->inner : 0;
        if (FM_UNLIKELY(fm_chrome_bind_flow(s, r, inner)))
            continue;
        fm_chrome_bind_next(s, (uint32_t)i);
        if (depth == 0)
            mark = begin_group(s, i);
        if (FM_UNLIKELY(depth == p->nested_cap) &&
            !fm_grow(s->mem, (void **)&p->nested, &p->nested_cap, depth + 1, sizeof *p->nested)) {
            s->oom = true;
            break;
        }
        if (FM_UNLIKELY(!enter(s, i, depth)))
            return give_back(s, &mark);
        if (r->end > r->start)
            depth++;
        else
            *ended = (struct fm_chrome_ended){r->start, (uint32_t)i + 1};
    }
    return i;
}

void fm_chrome_nest_release(struct fm_chrome_sweep *s)
{
    fm_mem_free(s->mem, s->pile.nested, s->pile.nested_cap * sizeof *s->pile.nested);
}
