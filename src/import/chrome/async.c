/*
 * async.c - spans that are not on the stack of a thread.
 *
 *     b n e      key (category, scope, id, and the process when the id is local): e closes the
 *                nearest open b of its name, as E does (pair.c)
 *     S T p F    key (name, scope, id): F closes S; T and p are steps, named by args.step
 *
 * Begins and ends wait as records until the end of the file and are then paired by key. Instants
 * and steps are rows at once.
 */
#include "import/chrome/chrome.h"
#include "import/chrome/span.h"

#include <stdlib.h>

enum { A_TS, A_DUR, A_THREAD, A_NAME, A_CAT, A_ID, A_UNFINISHED, A_FIELDS };
static const struct fm_field async_field[A_FIELDS] = {
    [A_TS] = {"ts", FM_TYPE_TIME, "ns"},
    [A_DUR] = {"dur", FM_TYPE_DUR, "ns"},
    [A_THREAD] = {"thread", FM_TYPE_THREAD, NULL},
    [A_NAME] = {"name", FM_TYPE_STRING, NULL},
    [A_CAT] = {"cat", FM_TYPE_STRING, NULL},
    [A_ID] = {"id", FM_TYPE_STRING, NULL},
    [A_UNFINISHED] = {"unfinished", FM_TYPE_BOOL, NULL},
};
static const struct fm_chrome_group async_group = {"async", async_field, A_FIELDS, true};

enum { N_TS, N_THREAD, N_NAME, N_CAT, N_ID, N_PH, N_FIELDS };
static const struct fm_field instant_field[N_FIELDS] = {
    [N_TS] = {"ts", FM_TYPE_TIME, "ns"},
    [N_THREAD] = {"thread", FM_TYPE_THREAD, NULL},
    [N_NAME] = {"name", FM_TYPE_STRING, NULL},
    [N_CAT] = {"cat", FM_TYPE_STRING, NULL},
    [N_ID] = {"id", FM_TYPE_STRING, NULL},
    [N_PH] = {"ph", FM_TYPE_STRING, NULL},
};
static const struct fm_chrome_group instant_group = {"async-instant", instant_field, N_FIELDS,
                                                     true};

/* One begin or end. r.site is the number of a label. */
struct record {
    struct fm_chrome_span r;
    uint32_t thread, key;
};

/* What begins say again and again. */
struct label {
    fm_str name, cat, id;
    uint32_t number;               /* of the name, as pair.c wants it */
};

struct fm_chrome_async {
    struct record *record;
    size_t records, record_cap;
    struct label *label;
    size_t labels, label_cap;
    struct fm_map label_map, key_map, name_map;
    struct fm_chrome_sweep sweep;
    size_t head_cap;
    struct fm_chrome_span *span;   /* of one key */
    size_t span_cap;
    bool old;                      /* the key is of S and F */
};

#define OLD_KEY 0x80000000u        /* bit of record.key */

static struct fm_chrome_async *asyncs(struct fm_chrome *c)
{
    struct fm_chrome_async *a = c->async;
    if (a)
        return a;
    c->async = a = fm_mem_zalloc(c->mem, sizeof *a);
    if (!a) {
        c->oom = true;
        return NULL;
    }
    fm_map_init(&a->label_map, c->mem);
    fm_map_init(&a->key_map, c->mem);
    fm_map_init(&a->name_map, c->mem);
    return a;
}

/* Equal texts, equal numbers: from 1 on; 0 for the empty one. */
static uint32_t number_of(struct fm_chrome *c, struct fm_map *map, uint64_t key)
{
    bool fresh;
    uint64_t *slot = fm_map_put(map, key, &fresh);
    if (!slot) {
        c->oom = true;
        return 0;
    }
    if (fresh)
        *slot = map->n;
    return (uint32_t)*slot;
}

static uint32_t find_label(struct fm_chrome *c, struct fm_chrome_async *a, const struct label *l)
{
    uint64_t key = fm_mix(fm_mix(fm_mix(5, l->name), l->cat), l->id);
    uint32_t n = number_of(c, &a->label_map, key);
    if (n <= a->labels)
        return n ? n - 1 : 0;
    if (!fm_grow(c->mem, (void **)&a->label, &a->label_cap, n, sizeof *a->label)) {
        c->oom = true;
        return 0;
    }
    a->label[a->labels] = *l;
    a->label[a->labels].number = l->name ? number_of(c, &a->name_map, l->name) : 0;
    return (uint32_t)a->labels++;
}

bool fm_chrome_event_id(struct fm_chrome *c, const struct fm_chrome_event *e, fm_str *id,
                        bool *local)
{
    const struct fm_json_field *f = e->field[FM_CHROME_ID], *id2 = e->field[FM_CHROME_ID2];
    struct fm_json_object o;
    *local = false;
    if (!f && id2 && id2->kind == FM_JSON_OBJECT && fm_json_object_read(&o, id2->text, id2->n)) {
        f = fm_chrome_member(&o, "global");
        if (!f) {
            f = fm_chrome_member(&o, "local");
            *local = f != NULL;
        }
    }
    if (!f || (f->kind != FM_JSON_STRING && f->kind != FM_JSON_NUMBER))
        return false;
    *id = fm_chrome_str(c, f);
    return true;
}

static void add_instant(struct fm_chrome *c, const struct fm_chrome_event *e,
                        const struct label *l, int64_t ns)
{
    uint64_t value[FM_CHROME_FIELDS], present[FM_CHROME_FIELDS / 64];
    uint32_t class = fm_chrome_class(c, &instant_group, l->cat);
    if (class == UINT32_MAX)
        return;
    value[N_TS] = (uint64_t)ns;
    value[N_THREAD] = fm_chrome_thread_row(c, e->thread);
    value[N_NAME] = l->name;
    value[N_CAT] = l->cat;
    value[N_ID] = l->id;
    value[N_PH] = fm_builder_str(c->builder, &e->phase, 1);
    present[0] = (1u << N_FIELDS) - 1;
    size_t args = c->args;
    uint32_t chain =
        c->class[class].args ? fm_chrome_args(c, e->field[FM_CHROME_ARGS], 0) : 0;
    fm_chrome_row(c, class, value, present, chain, e->offset);
    c->args = args;
}

static bool is_old(char phase)
{
    return phase == 'S' || phase == 'T' || phase == 'p' || phase == 'F';
}

void fm_chrome_async(struct fm_chrome *c, const struct fm_chrome_event *e)
{
    struct fm_chrome_async *a = asyncs(c);
    struct label l = {0};
    bool local;
    int64_t ns;
    if (!a || !fm_json_time_round(e->ts, &ns))
        return;
    if (!fm_chrome_event_id(c, e, &l.id, &local)) {
        fm_chrome_diag(c, FM_DIAG_CHROME_NO_ID, e->offset);
        return;
    }
    l.name = fm_chrome_str(c, e->field[FM_CHROME_NAME]);
    l.cat = fm_chrome_str(c, e->field[FM_CHROME_CAT]);
    if (e->phase == 'n' || e->phase == 'T' || e->phase == 'p') {
        add_instant(c, e, &l, ns);
        return;
    }
    fm_str scope = fm_chrome_str(c, e->field[FM_CHROME_SCOPE]);
    bool old = is_old(e->phase);
    uint64_t key = fm_mix(fm_mix(fm_mix(old ? 7 : 6, old ? l.name : l.cat), scope), l.id);
    if (local)
        key = fm_mix(key, c->thread[e->thread].process + UINT64_C(1));
    uint32_t label = find_label(c, a, &l);
    if (a->records >= OLD_KEY - 1 || !fm_grow(c->mem, (void **)&a->record, &a->record_cap,
                                              a->records + 1, sizeof *a->record)) {
        c->oom = true;
        return;
    }
    struct record *r = &a->record[a->records];
    memset(r, 0, sizeof *r);
    r->r.start = ns;
    r->r.ps = (int16_t)((int64_t)e->ts.ps - (ns != e->ts.ns) * 1000);
    r->r.self = e->offset;
    r->r.site = label;
    r->r.node = (uint32_t)a->records++;
    r->r.type = e->phase == 'b' || e->phase == 'S' ? FM_CHROME_B : FM_CHROME_E;
    r->r.flags = r->r.type == FM_CHROME_B ? FM_CHROME_OPEN : 0;
    r->r.chain = c->any_args ? fm_chrome_args(c, e->field[FM_CHROME_ARGS], 0) : 0;
    r->thread = e->thread;
    r->key = number_of(c, &a->key_map, key) | (old ? OLD_KEY : 0);
}

/* ------------------------------------------------------------------ rows */

static int by_key(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->r.start != y->r.start)
        return x->r.start < y->r.start ? -1 : 1;
    if (x->r.ps != y->r.ps)
        return x->r.ps < y->r.ps ? -1 : 1;
    return x->r.node < y->r.node ? -1 : x->r.node > y->r.node;
}

static uint32_t label_name(void *user, uint32_t site)
{
    const struct fm_chrome *c = user;
    return c->async->label[site].number;
}

static uint32_t join_chains(void *user, uint32_t older, uint32_t newer)
{
    return fm_chrome_join(user, older, newer);
}

/* No span of a key is around another: one that never ends does so with its thread or the trace. */
static int64_t end_of(const struct fm_chrome *c, const struct record *rec,
                      const struct fm_chrome_span *r)
{
    if (!(r->flags & FM_CHROME_OPEN))
        return r->end;
    int64_t last = c->unfinished == FM_CHROME_END_THREAD ? c->thread[rec->thread].last : c->last;
    return FM_MAX(last, r->start);
}

static void add_span(struct fm_chrome *c, const struct record *rec, const struct fm_chrome_span *r)
{
    uint64_t value[FM_CHROME_FIELDS], present[FM_CHROME_FIELDS / 64];
    const struct label *l = &c->async->label[r->site];
    uint32_t class = fm_chrome_class(c, &async_group, l->cat);
    if (class == UINT32_MAX)
        return;
    value[A_TS] = (uint64_t)r->start;
    value[A_DUR] = (uint64_t)end_of(c, rec, r) - (uint64_t)r->start;
    value[A_THREAD] = fm_chrome_thread_row(c, rec->thread);
    value[A_NAME] = l->name;
    value[A_CAT] = l->cat;
    value[A_ID] = l->id;
    value[A_UNFINISHED] = 1;
    present[0] = (1u << A_FIELDS) - 1;
    if (!(r->flags & FM_CHROME_OPEN))
        present[0] &= ~(UINT64_C(1) << A_UNFINISHED);
    fm_chrome_row(c, class, value, present, r->chain, r->self);
}

/* S while one is open leaves that unfinished: F closes the latest. */
static void pair_old(struct fm_chrome_sweep *s)
{
    struct fm_chrome_span *open = NULL;
    for (size_t i = 0; i < s->n; i++) {
        struct fm_chrome_span *r = &s->span[i];
        if (r->type == FM_CHROME_B) {
            open = r;
        } else if (open) {
            open->end = r->start;
            open->flags = 0;
            if (r->chain)
                open->chain = s->join(s->user, open->chain, r->chain);
            open = NULL;
        } else {
            s->unmatched++;
            s->unmatched_at = FM_MIN(s->unmatched_at, r->self);
        }
    }
}

static bool finish_key(struct fm_chrome *c, size_t from, size_t to)
{
    struct fm_chrome_async *a = c->async;
    struct fm_chrome_sweep *s = &a->sweep;
    size_t n = to - from;
    if (!fm_grow(c->mem, (void **)&a->span, &a->span_cap, n, sizeof *a->span))
        return false;
    bool old = a->record[from].key & OLD_KEY;
    for (size_t i = 0; i < n; i++) {
        a->span[i] = a->record[from + i].r;
        a->span[i].node = (uint32_t)(from + i);
        if (!old && a->span[i].type == FM_CHROME_E)
            a->span[i].site = a->label[a->span[i].site].number;
    }
    fm_chrome_sweep_start(s, a->span, n);
    if (old)
        pair_old(s);
    else
        fm_chrome_pair(s, false);
    if (s->unmatched)
        fm_builder_diag(c->builder, FM_DIAG_CHROME_ASYNC_END, s->unmatched_at, s->unmatched);
    for (size_t i = 0; i < s->n; i++) {
        const struct fm_chrome_span *r = &s->span[i];
        if (r->type != FM_CHROME_B)
            continue;
        if (r->flags & FM_CHROME_OPEN)
            fm_chrome_diag(c, FM_DIAG_CHROME_ASYNC_BEGIN, r->self);
        if (!(r->flags & FM_CHROME_OPEN) || c->unfinished != FM_CHROME_END_DROP)
            add_span(c, &a->record[r->node], r);
    }
    return !s->oom && !c->oom;
}

bool fm_chrome_async_finish(struct fm_chrome *c)
{
    struct fm_chrome_async *a = c->async;
    if (!a || a->records == 0)
        return true;
    struct fm_chrome_sweep *s = &a->sweep;
    if (!fm_grow(c->mem, (void **)&s->head, &a->head_cap, a->name_map.n + 1, sizeof *s->head))
        return false;
    memset(s->head, 0, a->head_cap * sizeof *s->head);
    s->mem = c->mem;
    s->builder = c->builder;
    s->name = label_name;
    s->join = join_chains;
    s->user = c;
    qsort(a->record, a->records, sizeof *a->record, by_key);
    bool ok = true;
    for (size_t i = 0, to; i < a->records && ok; i = to) {
        for (to = i + 1; to < a->records && a->record[to].key == a->record[i].key;)
            to++;
        ok = finish_key(c, i, to);
    }
    return ok;
}

void fm_chrome_async_release(struct fm_chrome *c)
{
    struct fm_chrome_async *a = c->async;
    if (!a)
        return;
    fm_map_release(&a->label_map);
    fm_map_release(&a->key_map);
    fm_map_release(&a->name_map);
    fm_mem_free(c->mem, a->record, a->record_cap * sizeof *a->record);
    fm_mem_free(c->mem, a->label, a->label_cap * sizeof *a->label);
    fm_mem_free(c->mem, a->span, a->span_cap * sizeof *a->span);
    fm_mem_free(c->mem, a->sweep.head, a->head_cap * sizeof *a->sweep.head);
    a->sweep.mem = c->mem;
    fm_chrome_sweep_release(&a->sweep);
    fm_mem_free(c->mem, a, sizeof *a);
}
