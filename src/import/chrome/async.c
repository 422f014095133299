/*
 * async.c - spans that are not on the stack of a thread.
 *
 *     b n e      key (category, scope, id, and the process when the id is local): e closes the
 *                nearest open b of its name, as E does (pair.c)
 *     S T p F    key (name, scope, id): F closes S; T and p are steps, named by args.step: T begins
 *                one that lasts to the next event, p ends one that began at the event before
 *
 *     S ──── T a ─────── T b ───── F        S ────── p a ──── p b ──── F
 *            └ a ──────┘ └ b ────┘          └ a ───┘ └ b ───┘
 *
 * Begins, steps and ends wait as records until the end of the file and are then paired by key.
 * Instants are rows at once, and a step outside of any span is one, too.
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

/* A step of a span; the name is that of the step. */
enum { S_TS, S_DUR, S_THREAD, S_NAME, S_CAT, S_ID, S_SPAN, S_UNFINISHED, S_FIELDS };
static const struct fm_field step_field[S_FIELDS] = {
    [S_TS] = {"ts", FM_TYPE_TIME, "ns"},
    [S_DUR] = {"dur", FM_TYPE_DUR, "ns"},
    [S_THREAD] = {"thread", FM_TYPE_THREAD, NULL},
    [S_NAME] = {"name", FM_TYPE_STRING, NULL},
    [S_CAT] = {"cat", FM_TYPE_STRING, NULL},
    [S_ID] = {"id", FM_TYPE_STRING, NULL},
    [S_SPAN] = {"span", FM_TYPE_STRING, NULL},
    [S_UNFINISHED] = {"unfinished", FM_TYPE_BOOL, NULL},
};
static const struct fm_chrome_group step_group = {"async-step", step_field, S_FIELDS, true};

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

/* One begin, end or step. r.site is the number of a label. */
struct record {
    struct fm_chrome_span r;
    uint32_t thread, key;
    fm_str step;
    char phase;
};
enum { STEP = FM_CHROME_FLOW_HERE };   /* r.type of T and p: there are no flows here */

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

static uint64_t put_instant(struct fm_chrome *c, const struct label *l, char phase,
                            uint32_t thread, int64_t ns, uint32_t chain, uint64_t offset)
{
    uint64_t value[FM_CHROME_FIELDS], present[FM_CHROME_FIELDS / 64];
    uint32_t class = fm_chrome_class(c, &instant_group, l->cat);
    if (class == UINT32_MAX)
        return UINT64_MAX;
    value[N_TS] = (uint64_t)ns;
    value[N_THREAD] = fm_chrome_thread_row(c, thread);
    value[N_NAME] = l->name;
    value[N_CAT] = l->cat;
    value[N_ID] = l->id;
    value[N_PH] = fm_builder_str(c->builder, &phase, 1);
    present[0] = (1u << N_FIELDS) - 1;
    return fm_chrome_row(c, class, value, present, chain, offset);
}

static void add_instant(struct fm_chrome *c, const struct fm_chrome_event *e,
                        const struct label *l, int64_t ns)
{
    uint32_t class = fm_chrome_class(c, &instant_group, l->cat);
    if (class == UINT32_MAX)
        return;
    size_t args = c->args;
    uint32_t chain =
        c->class[class].args ? fm_chrome_args(c, e->field[FM_CHROME_ARGS], 0) : 0;
    put_instant(c, l, e->phase, e->thread, ns, chain, e->offset);
    c->args = args;
}

/* args.step; the event's own name where there is none. */
static fm_str step_name(struct fm_chrome *c, const struct fm_chrome_event *e)
{
    const struct fm_json_field *args = e->field[FM_CHROME_ARGS];
    struct fm_json_object o;
    fm_str step = 0;
    if (args && args->kind == FM_JSON_OBJECT && fm_json_object_read(&o, args->text, args->n))
        step = fm_chrome_str(c, fm_chrome_member(&o, "step"));
    return step ? step : fm_chrome_str(c, e->field[FM_CHROME_NAME]);
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
    if (e->phase == 'n') {
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
    r->phase = e->phase;
    if (e->phase == 'T' || e->phase == 'p') {
        r->r.type = STEP;
        r->step = step_name(c, e);
    } else {
        r->r.type = e->phase == 'b' || e->phase == 'S' ? FM_CHROME_B : FM_CHROME_E;
    }
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

/* The row's number; UINT64_MAX: there is none. */
static uint64_t add_span(struct fm_chrome *c, const struct record *rec,
                         const struct fm_chrome_span *r)
{
    uint64_t value[FM_CHROME_FIELDS], present[FM_CHROME_FIELDS / 64];
    const struct label *l = &c->async->label[r->site];
    uint32_t class = fm_chrome_class(c, &async_group, l->cat);
    if (class == UINT32_MAX)
        return UINT64_MAX;
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
    return fm_chrome_row(c, class, value, present, r->chain, r->self);
}

/* A step of the span whose row is `of`. */
static void add_step(struct fm_chrome *c, const struct record *rec,
                     const struct fm_chrome_span *r, uint64_t of)
{
    uint64_t value[FM_CHROME_FIELDS], present[FM_CHROME_FIELDS / 64];
    const struct label *l = &c->async->label[r->site];
    uint32_t class = fm_chrome_class(c, &step_group, l->cat);
    if (class == UINT32_MAX || of == UINT64_MAX)
        return;
    value[S_TS] = (uint64_t)r->start;
    value[S_DUR] = (uint64_t)end_of(c, rec, r) - (uint64_t)r->start;
    value[S_THREAD] = fm_chrome_thread_row(c, rec->thread);
    value[S_NAME] = rec->step;
    value[S_CAT] = l->cat;
    value[S_ID] = l->id;
    value[S_SPAN] = l->name;
    value[S_UNFINISHED] = 1;
    present[0] = (1u << S_FIELDS) - 1;
    if (!(r->flags & FM_CHROME_OPEN))
        present[0] &= ~(UINT64_C(1) << S_UNFINISHED);
    uint64_t row = fm_chrome_row(c, class, value, present, r->chain, rec->r.self);
    if (row != UINT64_MAX)
        fm_builder_link(c->builder, FM_LINK_PARENT, row, FM_LINK_ROW, of);
}

/* Times of a step: T lasts until something comes, p since something was. Its `self` becomes the
 * number of the span it belongs to. */
static void pair_step(const struct record *rec, struct fm_chrome_span *r, size_t open,
                      int64_t since)
{
    r->self = open;
    if (rec->phase == 'T') {
        r->flags = FM_CHROME_OPEN;
    } else {
        r->end = r->start;
        r->start = since;
    }
}

/* S while one is open leaves that unfinished: F closes the latest. */
static void pair_old(struct fm_chrome_sweep *s, const struct record *record)
{
    struct fm_chrome_span *open = NULL, *step = NULL;
    int64_t since = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct fm_chrome_span *r = &s->span[i];
        int64_t now = r->start;
        if (step && step->flags & FM_CHROME_OPEN) {
            step->end = now;
            step->flags = 0;
        }
        step = NULL;
        if (r->type == FM_CHROME_B) {
            open = r;
        } else if (r->type == STEP && open) {
            pair_step(&record[i], r, (size_t)(open - s->span), since);
            step = r;
        } else if (r->type == STEP) {
            r->flags = FM_CHROME_UNMATCHED;
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
        since = now;
    }
}

/* The row of one record of a key; spans keep its number for their steps. */
static void add_record(struct fm_chrome *c, const struct record *rec, struct fm_chrome_span *r)
{
    struct fm_chrome_async *a = c->async;
    if (r->type == STEP && r->flags & FM_CHROME_UNMATCHED) {
        put_instant(c, &a->label[r->site], rec->phase, rec->thread, r->start, r->chain, r->self);
    } else if (r->type == STEP) {
        add_step(c, rec, r, a->span[r->self].self);
    } else if (r->type == FM_CHROME_B) {
        uint64_t row = UINT64_MAX;
        if (r->flags & FM_CHROME_OPEN)
            fm_chrome_diag(c, FM_DIAG_CHROME_ASYNC_BEGIN, r->self);
        if (!(r->flags & FM_CHROME_OPEN) || c->unfinished != FM_CHROME_END_DROP)
            row = add_span(c, rec, r);
        r->self = row;
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
        pair_old(s, &a->record[from]);
    else
        fm_chrome_pair(s, false);
    if (s->unmatched)
        fm_builder_diag(c->builder, FM_DIAG_CHROME_ASYNC_END, s->unmatched_at, s->unmatched);
    for (size_t i = 0; i < s->n && !c->oom; i++)
        add_record(c, &a->record[s->span[i].node], &s->span[i]);
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
