/*
 * early.c - B and E that are paired while they are read.
 *
 * Most writers put B and E in order of time, and each E ends the B that was opened last. Such an E
 * needs no record of its own: its B is ended at once.
 *
 *     records  B a ── B b ── X ── B c        begun   a  b  c      E c: c is closed
 *                                                    a  b         E b …
 *
 * The first E that ends none or another B sends the thread's B and E from there on to pair.c,
 * which knows all rules. And should one come that is older than those before it, all must be put in
 * order first: what was closed early is opened again, from a log of 24 bytes an E.
 */
#include "import/chrome/chrome.h"
#include "import/chrome/span.h"

struct fm_chrome_begun {
    uint32_t record, name;
};

struct fm_chrome_closed {
    uint64_t offset;
    uint32_t record;               /* the B */
    uint32_t place;                /* of the E */
    uint32_t name;
    int16_t ps;
};

void fm_chrome_begin(struct fm_chrome *c, struct fm_chrome_thread *t, uint32_t name)
{
    if (FM_UNLIKELY(t->begins == t->begun_cap) &&
        !fm_grow(c->mem, (void **)&t->begun, &t->begun_cap, t->begins + 1, sizeof *t->begun)) {
        c->oom = true;
        return;
    }
    t->begun[t->begins++] = (struct fm_chrome_begun){(uint32_t)t->spans - 1, name};
}

bool fm_chrome_close(struct fm_chrome *c, struct fm_chrome_thread *t, uint32_t name, int64_t end,
                     int16_t ps, uint64_t offset)
{
    const struct fm_chrome_begun *b = t->begins ? &t->begun[t->begins - 1] : NULL;
    if (!b || (b->name != name && name && b->name) || t->places == UINT32_MAX) {
        t->later = true;
        return false;
    }
    if (FM_UNLIKELY(t->closes == t->closed_cap) &&
        !fm_grow(c->mem, (void **)&t->closed, &t->closed_cap, t->closes + 1, sizeof *t->closed)) {
        c->oom = true;
        return true;
    }
    struct fm_chrome_span *r = &t->span[b->record];
    r->end = end;
    r->flags = 0;
    t->closed[t->closes++] = (struct fm_chrome_closed){offset, b->record, t->places++, name, ps};
    t->begins--;
    return true;
}

static struct fm_chrome_span end_record(const struct fm_chrome_closed *e, int64_t end)
{
    return (struct fm_chrome_span){.start = end, .self = e->offset, .site = e->name,
                                   .node = e->place, .ps = e->ps, .type = FM_CHROME_E};
}

bool fm_chrome_reopen(struct fm_chrome *c, struct fm_chrome_thread *t)
{
    size_t n = t->spans + t->closes, i = t->spans;
    if (t->closes == 0)
        return true;
    if (!fm_grow(c->mem, (void **)&t->span, &t->span_cap, n, sizeof *t->span)) {
        c->oom = true;
        return false;
    }
    /* From behind, by the places in the file: records only move up. */
    t->spans = n;
    while (t->closes) {
        const struct fm_chrome_closed *e = &t->closed[t->closes - 1];
        fm_assert(n > 0 && e->record < i);
        if (t->span[i - 1].node > e->place) {
            t->span[--n] = t->span[--i];
            continue;
        }
        struct fm_chrome_span *b = &t->span[e->record];
        t->span[--n] = end_record(e, b->end);
        b->flags = FM_CHROME_OPEN;
        t->closes--;
    }
    return true;
}

void fm_chrome_records_free(struct fm_chrome *c, struct fm_chrome_thread *t)
{
    fm_mem_free(c->mem, t->span, t->span_cap * sizeof *t->span);
    fm_mem_free(c->mem, t->begun, t->begun_cap * sizeof *t->begun);
    fm_mem_free(c->mem, t->closed, t->closed_cap * sizeof *t->closed);
    t->span = NULL;
    t->begun = NULL;
    t->closed = NULL;
    t->spans = t->span_cap = t->begins = t->begun_cap = t->closes = t->closed_cap = 0;
}
