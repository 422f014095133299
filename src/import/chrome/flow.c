/*
 * flow.c - flows: arrows from span to span.
 *
 *     s -> t -> … -> f      key (category, name, id); each binds to a span of its thread: the one
 *                           around it, or for f without bp "e" the next one
 *     bind_id               on X and B: flow_out begins, flow_in ends, both is a step
 *
 * A point knows its key and time; the sweep finds its span, and the span's row is filled in when
 * it is made. At the end steps and ends are linked to what comes before them in order of time and
 * place in the file.
 */
#include "import/chrome/chrome.h"
#include "import/chrome/span.h"

#include <stdlib.h>

struct point {
    int64_t ts;
    uint64_t row;                  /* UINT64_MAX: bound to nothing */
    uint32_t key, order;
    int16_t ps;
    char phase;                    /* s t f */
    bool launch;                   /* from a host call to work on a device */
};

struct fm_chrome_flow {
    struct point *point;
    size_t points, point_cap;
    struct fm_map keys;            /* hash of (category, name, id) -> number */
};

enum { FLOW_TS, FLOW_THREAD, FLOW_NAME, FLOW_CAT, FLOW_ID, FLOW_PH, FLOW_FIELDS };
static const struct fm_field flow_field[FLOW_FIELDS] = {
    [FLOW_TS] = {"ts", FM_TYPE_TIME, "ns"},
    [FLOW_THREAD] = {"thread", FM_TYPE_THREAD, NULL},
    [FLOW_NAME] = {"name", FM_TYPE_STRING, NULL},
    [FLOW_CAT] = {"cat", FM_TYPE_STRING, NULL},
    [FLOW_ID] = {"id", FM_TYPE_STRING, NULL},
    [FLOW_PH] = {"ph", FM_TYPE_STRING, NULL},
};
static const struct fm_chrome_group flow_group = {"flow", flow_field, FLOW_FIELDS, false};

static struct fm_chrome_flow *flows(struct fm_chrome *c)
{
    if (c->flow)
        return c->flow;
    c->flow = fm_mem_zalloc(c->mem, sizeof *c->flow);
    if (c->flow)
        fm_map_init(&c->flow->keys, c->mem);
    else
        c->oom = true;
    return c->flow;
}

/* UINT32_MAX: no memory. */
static uint32_t add_point(struct fm_chrome *c, const struct fm_chrome_event *e, uint64_t hash,
                          char phase)
{
    struct fm_chrome_flow *f = flows(c);
    bool fresh;
    uint64_t *key = f ? fm_map_put(&f->keys, hash, &fresh) : NULL;
    if (!key || f->points >= UINT32_MAX - 1 ||
        !fm_grow(c->mem, (void **)&f->point, &f->point_cap, f->points + 1, sizeof *f->point)) {
        c->oom = true;
        return UINT32_MAX;
    }
    if (fresh)
        *key = f->keys.n;
    f->point[f->points] = (struct point){e->ts.ns, UINT64_MAX, (uint32_t)*key,
                                         (uint32_t)f->points, (int16_t)e->ts.ps, phase, false};
    return (uint32_t)f->points++;
}

static void add_row(struct fm_chrome *c, const struct fm_chrome_event *e, fm_str name, fm_str cat,
                    fm_str id)
{
    uint64_t value[FM_CHROME_FIELDS], present[FM_CHROME_FIELDS / 64];
    uint32_t class = fm_chrome_class(c, &flow_group, cat);
    int64_t ns;
    if (class == UINT32_MAX || !fm_json_time_round(e->ts, &ns))
        return;
    value[FLOW_TS] = (uint64_t)ns;
    value[FLOW_THREAD] = fm_chrome_thread_row(c, e->thread);
    value[FLOW_NAME] = name;
    value[FLOW_CAT] = cat;
    value[FLOW_ID] = id;
    value[FLOW_PH] = fm_builder_str(c->builder, &e->phase, 1);
    present[0] = (1u << FLOW_FIELDS) - 1;
    fm_chrome_row(c, class, value, present, 0, e->offset);
}

/* unitrace: Flow_H2D_ID_RANK and CL_Flow_H2D_ID_RANK go from the call to the device; what comes
 * back is Flow_D2H_. (PyTorch's ac2g: its spans have a correlation, see formats/chrome.yaml.) */
static bool is_launch(const struct fm_json_field *cat)
{
    static const char word[] = "Flow_H2D_";
    const char *s = cat ? cat->text : "";
    size_t n = cat ? cat->n : 0, skip = n > 3 && memcmp(s, "CL_", 3) == 0 ? 3 : 0;
    return n - skip >= sizeof word - 1 && memcmp(s + skip, word, sizeof word - 1) == 0;
}

void fm_chrome_flow(struct fm_chrome *c, const struct fm_chrome_event *e)
{
    const struct fm_json_field *bp = e->field[FM_CHROME_BP];
    bool local, around = e->phase != 'f' || (bp && bp->n == 1 && bp->text[0] == 'e');
    fm_str id;
    if (!fm_chrome_event_id(c, e, &id, &local)) {
        fm_chrome_diag(c, FM_DIAG_CHROME_NO_ID, e->offset);
        return;
    }
    fm_str name = fm_chrome_str(c, e->field[FM_CHROME_NAME]);
    fm_str cat = fm_chrome_str(c, e->field[FM_CHROME_CAT]);
    uint64_t hash = fm_mix(fm_mix(fm_mix(3, cat), name), id);
    if (local)
        hash = fm_mix(hash, c->thread[e->thread].process + UINT64_C(1));
    uint32_t point = add_point(c, e, hash, e->phase);
    if (point != UINT32_MAX)
        c->flow->point[point].launch = is_launch(e->field[FM_CHROME_CAT]);
    struct fm_chrome_span *r = point == UINT32_MAX ? NULL : fm_chrome_record(c, e->thread);
    if (!r || !fm_json_time_round(e->ts, &r->start))
        return;
    r->type = around ? FM_CHROME_FLOW_HERE : FM_CHROME_FLOW_NEXT;
    r->end = around ? INT64_MIN : INT64_MAX;     /* behind, before spans of the same start */
    r->site = point;
    add_row(c, e, name, cat, id);
}

static bool is_true(const struct fm_json_field *f)
{
    return f && (f->kind == FM_JSON_TRUE || (f->kind == FM_JSON_STRING && f->n == 4) ||
                 (f->kind == FM_JSON_NUMBER && f->n == 1 && f->text[0] == '1'));
}

uint32_t fm_chrome_flow_span(struct fm_chrome *c, const struct fm_chrome_event *e, uint32_t chain)
{
    bool in = is_true(e->field[FM_CHROME_FLOW_IN]), out = is_true(e->field[FM_CHROME_FLOW_OUT]);
    if (!in && !out)
        return chain;
    uint64_t hash = fm_mix(4, fm_chrome_str(c, e->field[FM_CHROME_BIND_ID]));
    uint32_t point = add_point(c, e, hash, in && out ? 't' : in ? 'f' : 's');
    return point == UINT32_MAX ? chain : fm_chrome_hang(c, chain, FM_CHROME_HANG_FLOW, point);
}

void fm_chrome_flow_bound(struct fm_chrome *c, uint64_t point, uint64_t row)
{
    fm_assert(c->flow && point < c->flow->points);
    c->flow->point[point].row = row;
}

/* At one time beginnings come first: clocks of a device and of a cpu meet at best to the us. */
static int rank(char phase)
{
    return phase == 's' ? 0 : phase == 't' ? 1 : 2;
}

static int by_key(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    if (x->ps != y->ps)
        return x->ps < y->ps ? -1 : 1;
    if (rank(x->phase) != rank(y->phase))
        return rank(x->phase) < rank(y->phase) ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Points [from, to) of one key: each t and f is linked to the s or t before it; an end that clocks
 * put before its beginning, to the first s. */
static void link_key(struct fm_chrome *c, const struct point *from, const struct point *to)
{
    const struct point *begin = NULL, *first = from;
    while (first < to && first->phase != 's')
        first++;
    for (; from < to; from++) {
        const struct point *by = begin != NULL ? begin : first < to ? first : NULL;
        if (from->phase != 's' && by != NULL && from->row != UINT64_MAX &&
            by->row != UINT64_MAX && from->row != by->row) {
            fm_builder_link(c->builder, FM_LINK_FLOW, by->row, FM_LINK_ROW, from->row);
            if (by->launch)
                fm_builder_link(c->builder, FM_LINK_LAUNCH, from->row, FM_LINK_ROW, by->row);
        }
        if (from->phase != 'f')
            begin = from;
    }
}

bool fm_chrome_flow_finish(struct fm_chrome *c)
{
    struct fm_chrome_flow *f = c->flow;
    uint64_t lost = 0;
    size_t from = 0;
    if (!f || f->points == 0)
        return true;
    qsort(f->point, f->points, sizeof *f->point, by_key);
    for (size_t i = 0; i < f->points; i++) {
        lost += f->point[i].row == UINT64_MAX;
        if (i + 1 < f->points && f->point[i + 1].key == f->point[i].key)
            continue;
        link_key(c, &f->point[from], &f->point[i + 1]);
        from = i + 1;
    }
    if (lost)
        fm_builder_diag(c->builder, FM_DIAG_CHROME_FLOW, FM_NO_OFFSET, lost);
    return true;
}

void fm_chrome_flow_release(struct fm_chrome *c)
{
    struct fm_chrome_flow *f = c->flow;
    if (!f)
        return;
    fm_map_release(&f->keys);
    fm_mem_free(c->mem, f->point, f->point_cap * sizeof *f->point);
    fm_mem_free(c->mem, f, sizeof *f);
}
