/*
 * span.c - spans of threads: B, E and X are collected as small records while the file is read; at
 * its end each thread's become intervals, are swept (sweep.c) and become rows.
 *
 *     site   (name, category) -> class of the mapping, frame, number of the name
 *
 * Rows of a thread stand in order of their starts; parts follow their span.
 */
#include "import/chrome/span.h"

#include "import/chrome/chrome.h"

enum {
    X_SELF, X_TS, X_DUR, X_STACK, X_THREAD, X_NAME, X_CAT, X_UNFINISHED, X_CPU, X_FIELDS
};
static const struct fm_field x_field[X_FIELDS] = {
    [X_SELF] = {"self", FM_TYPE_U64, "ns"},
    [X_TS] = {"ts", FM_TYPE_TIME, "ns"},
    [X_DUR] = {"dur", FM_TYPE_DUR, "ns"},
    [X_STACK] = {"stack", FM_TYPE_STACK, NULL},
    [X_THREAD] = {"thread", FM_TYPE_THREAD, NULL},
    [X_NAME] = {"name", FM_TYPE_STRING, NULL},
    [X_CAT] = {"cat", FM_TYPE_STRING, NULL},
    [X_UNFINISHED] = {"unfinished", FM_TYPE_BOOL, NULL},
    [X_CPU] = {"tdur", FM_TYPE_DUR, "ns"},
};
static const struct fm_chrome_group x_group = {"X", x_field, X_FIELDS, true};

/* A sum over other events that clang writes as a span of a thread of its own. */
static const struct fm_chrome_group total_group = {"total", x_field, X_FIELDS, true};

/* A part has what a span has, but no time of its own. */
enum { PART_SELF, PART_STACK, PART_THREAD, PART_NAME, PART_CAT, PART_FIELDS };
static const struct fm_field part_field[PART_FIELDS] = {
    [PART_SELF] = {"self", FM_TYPE_U64, "ns"},
    [PART_STACK] = {"stack", FM_TYPE_STACK, NULL},
    [PART_THREAD] = {"thread", FM_TYPE_THREAD, NULL},
    [PART_NAME] = {"name", FM_TYPE_STRING, NULL},
    [PART_CAT] = {"cat", FM_TYPE_STRING, NULL},
};
static const struct fm_chrome_group part_group = {"part", part_field, PART_FIELDS, false};

#define TOTAL_CAT FM_NONE              /* in site_map: of total_group */

struct site {
    fm_str name, cat;
    uint32_t class;                /* of x_group */
    uint32_t number;               /* of the name, 0: it has none */
    fm_frame frame;
};

/* A name and category as they stand in the file, and their site. */
#define RECENT 1024u
struct recent {
    uint32_t site;                 /* + 1; 0: not used */
    uint16_t name_n, cat_n;
    char text[56];                 /* name, category */
};

struct fm_chrome_sites {
    struct recent recent[RECENT];
    struct site *site;
    size_t sites, site_cap;
    struct fm_map site_map;        /* name << 32 | category -> site */
    struct fm_map name_map;        /* name -> number */
    uint32_t names;
    fm_str unnamed;
    fm_str last_cat;               /* category of the last event, as it stood there */
    char cat[64];
    size_t cat_n;
    struct fm_chrome_sweep sweep;
    size_t head_cap;
};

/* ------------------------------------------------------------------ sites */

static struct fm_chrome_sites *sites(struct fm_chrome *c)
{
    struct fm_chrome_sites *s = c->sites;
    if (FM_LIKELY(s != NULL))
        return s;
    s = fm_mem_zalloc(c->mem, sizeof *s);
    if (!s) {
        c->oom = true;
        return NULL;
    }
    fm_map_init(&s->site_map, c->mem);
    fm_map_init(&s->name_map, c->mem);
    s->names = 1;
    s->cat_n = SIZE_MAX;
    s->unnamed = fm_builder_str(c->builder, "(unnamed)", 9);
    return c->sites = s;
}

static uint32_t name_number(struct fm_chrome *c, struct fm_chrome_sites *s, fm_str name)
{
    bool fresh;
    if (name == 0)
        return 0;
    uint64_t *slot = fm_map_put(&s->name_map, name, &fresh);
    if (!slot) {
        c->oom = true;
        return 0;
    }
    if (fresh)
        *slot = s->names++;
    return (uint32_t)*slot;
}

static fm_str category(struct fm_chrome *c, struct fm_chrome_sites *s,
                       const struct fm_json_field *cat)
{
    size_t n = cat ? cat->n : 0;
    if (n == 0)
        return 0;
    if (n == s->cat_n && memcmp(cat->text, s->cat, n) == 0)
        return s->last_cat;
    fm_str str = fm_chrome_str(c, cat);
    if (n <= sizeof s->cat) {
        memcpy(s->cat, cat->text, n);
        s->cat_n = n;
        s->last_cat = str;
    }
    return str;
}

static uint32_t new_site(struct fm_chrome *c, struct fm_chrome_sites *s, fm_str name, fm_str cat)
{
    const struct fm_chrome_group *group = cat == TOTAL_CAT ? &total_group : &x_group;
    struct fm_frame_row frame = {.module = FM_NONE, .address = UINT64_MAX,
                                 .kind = FM_FRAME_UNKNOWN};
    struct site site = {.name = name ? name : s->unnamed, .cat = cat == TOTAL_CAT ? 0 : cat};
    site.number = name_number(c, s, name);
    site.class = fm_chrome_class(c, group, site.cat);
    frame.function = site.name;
    site.frame = fm_builder_frame(c->builder, &frame);
    if (site.class == UINT32_MAX || s->sites >= UINT32_MAX ||
        !fm_grow(c->mem, (void **)&s->site, &s->site_cap, s->sites + 1, sizeof *s->site)) {
        c->oom = true;
        return UINT32_MAX;
    }
    c->cpu_wanted |= c->class[site.class].wanted >> X_CPU & 1;
    s->site[s->sites] = site;
    return (uint32_t)s->sites++;
}

/* "Total X" and "Total: X", from 0 on, with an average among the arguments. */
static bool is_total(const struct fm_chrome_event *e)
{
    const struct fm_json_field *name = e->field[FM_CHROME_NAME], *args = e->field[FM_CHROME_ARGS];
    return name && name->n > 6 && memcmp(name->text, "Total", 5) == 0 && e->ts.ns == 0 && args &&
           memmem(args->text, args->n, "\"avg ms\"", 8) != NULL;
}

/* The ends of a text: names that differ do so there. */
static uint64_t ends(const char *s, size_t n)
{
    uint64_t a = 0, b = 0;
    if (n >= 8) {
        memcpy(&a, s, 8);
        memcpy(&b, s + n - 8, 8);
    } else if (n >= 4) {
        memcpy(&a, s, 4);
        memcpy(&b, s + n - 4, 4);
    } else if (n > 0) {
        a = (unsigned char)s[0] | (uint64_t)(unsigned char)s[n / 2] << 8 |
            (uint64_t)(unsigned char)s[n - 1] << 16;
    }
    return fm_mix(fm_mix(n, a), b);
}

/* The place of a name and category, whether they are the ones there or not. NULL: too long. */
static struct recent *find_recent(struct fm_chrome_sites *s, const struct fm_json_field *name,
                                  const struct fm_json_field *cat, bool *same)
{
    size_t n = name ? name->n : 0, k = cat ? cat->n : 0;
    if (n == 0 || n + k > sizeof s->recent[0].text || name->escaped || (cat && cat->escaped))
        return NULL;
    uint64_t h = ends(name->text, n);
    if (k)
        h = fm_mix(h, ends(cat->text, k));
    struct recent *r = &s->recent[h % RECENT];
    *same = r->site && r->name_n == n && r->cat_n == k && fm_chrome_same(r->text, name->text, n) &&
            (k == 0 || fm_chrome_same(r->text + n, cat->text, k));
    return r;
}

static uint32_t find_site(struct fm_chrome *c, struct fm_chrome_sites *s,
                          const struct fm_chrome_event *e)
{
    bool fresh;
    fm_str name = fm_chrome_str(c, e->field[FM_CHROME_NAME]);
    fm_str cat = category(c, s, e->field[FM_CHROME_CAT]);
    if (cat == 0 && FM_UNLIKELY(is_total(e)))
        cat = TOTAL_CAT;
    uint64_t *slot = fm_map_put(&s->site_map, (uint64_t)name << 32 | cat, &fresh);
    if (!slot) {
        c->oom = true;
        return UINT32_MAX;
    }
    if (fresh)
        *slot = new_site(c, s, name, cat);
    return (uint32_t)*slot;
}

static uint32_t recent_site(struct fm_chrome *c, struct fm_chrome_sites *s,
                            const struct fm_chrome_event *e)
{
    const struct fm_json_field *name = e->field[FM_CHROME_NAME], *cat = e->field[FM_CHROME_CAT];
    bool same;
    struct recent *r = find_recent(s, name, cat, &same);
    if (r && FM_LIKELY(same))
        return r->site - 1;
    uint32_t site = find_site(c, s, e);
    /* Totals of clang are told by more than their names. */
    if (!r || site == UINT32_MAX || (name->n > 6 && memcmp(name->text, "Total", 5) == 0))
        return site;
    r->site = site + 1;
    r->name_n = (uint16_t)name->n;
    r->cat_n = (uint16_t)(cat ? cat->n : 0);
    memcpy(r->text, name->text, name->n);
    if (cat)
        memcpy(r->text + name->n, cat->text, cat->n);
    return site;
}

/* The number of the name of an E. The name of its B was seen lately. */
static uint32_t end_name(struct fm_chrome *c, struct fm_chrome_sites *s,
                         const struct fm_chrome_event *e)
{
    bool same;
    const struct recent *r =
        find_recent(s, e->field[FM_CHROME_NAME], e->field[FM_CHROME_CAT], &same);
    if (r && same)
        return s->site[r->site - 1].number;
    return name_number(c, s, fm_chrome_str(c, e->field[FM_CHROME_NAME]));
}

/* ------------------------------------------------------------------ records */

struct fm_chrome_span *fm_chrome_record(struct fm_chrome *c, uint32_t thread)
{
    struct fm_chrome_thread *t = &c->thread[thread];
    if (FM_UNLIKELY(t->spans == t->span_cap) &&
        (t->spans >= UINT32_MAX - 1 ||
         !fm_grow(c->mem, (void **)&t->span, &t->span_cap, t->spans + 1, sizeof *t->span))) {
        c->oom = true;
        return NULL;
    }
    struct fm_chrome_span *r = &t->span[t->spans];
    memset(r, 0, sizeof *r);
    r->node = (uint32_t)t->spans++;
    return r;
}

/* What hangs on the event: wanted arguments, thread time. */
static uint32_t chain_of(struct fm_chrome *c, const struct fm_chrome_event *e, bool args)
{
    uint32_t chain = 0;
    struct fm_json_time cpu;
    int64_t ns;
    const struct fm_json_field *f = e->field[e->phase == 'X' ? FM_CHROME_TDUR : FM_CHROME_TTS];
    if (args)
        chain = fm_chrome_args(c, e->field[FM_CHROME_ARGS], 0);
    if (c->cpu_wanted && fm_chrome_time(f, &cpu) && fm_json_time_round(cpu, &ns) && ns >= 0)
        chain = fm_chrome_hang(c, chain,
                               e->phase == 'X' ? FM_CHROME_HANG_CPU : FM_CHROME_HANG_CLOCK,
                               (uint64_t)ns);
    return chain;
}

static void take_duration(struct fm_chrome *c, const struct fm_chrome_event *e,
                          struct fm_chrome_span *r)
{
    struct fm_json_time end;
    if (!e->has_dur) {
        fm_chrome_diag(c, FM_DIAG_CHROME_NO_DUR, e->offset);
        r->flags = FM_CHROME_OPEN;
        return;
    }
    if (!fm_json_time_add(e->ts, e->dur, &end) || !fm_json_time_round(end, &r->end)) {
        fm_chrome_diag(c, FM_DIAG_CHROME_RANGE, e->offset);
        r->end = r->start;
    }
    fm_chrome_seen(c, e->thread, r->end);
}

static void check_order(struct fm_chrome_thread *t, const struct fm_chrome_event *e)
{
    bool older = e->ts.ns < t->newest.ns || (e->ts.ns == t->newest.ns && e->ts.ps < t->newest.ps);
    t->unordered |= older;
    if (!older)
        t->newest = e->ts;
}

void fm_chrome_span(struct fm_chrome *c, const struct fm_chrome_event *e)
{
    struct fm_chrome_sites *s = sites(c);
    int64_t start;
    if (!s || !fm_json_time_round(e->ts, &start))
        return;
    uint32_t site = e->phase == 'E' ? end_name(c, s, e) : recent_site(c, s, e);
    struct fm_chrome_span *r = site == UINT32_MAX ? NULL : fm_chrome_record(c, e->thread);
    if (!r)
        return;
    r->site = site;
    r->start = start;
    r->self = e->offset;
    r->ps = (int16_t)((int64_t)e->ts.ps - (start != e->ts.ns) * 1000);
    if (e->phase == 'X') {
        r->type = FM_CHROME_X;
        take_duration(c, e, r);
    } else {
        r->type = e->phase == 'B' ? FM_CHROME_B : FM_CHROME_E;
        r->flags = e->phase == 'B' ? FM_CHROME_OPEN : 0;
        check_order(&c->thread[e->thread], e);
    }
    bool args = e->phase == 'E' ? c->any_args : c->class[s->site[site].class].args;
    uint32_t chain = chain_of(c, e, args);
    if (e->field[FM_CHROME_BIND_ID] && e->phase != 'E')
        chain = fm_chrome_flow_span(c, e, chain);
    r->chain = chain;
}

/* ------------------------------------------------------------------ rows */

static fm_frame site_frame(void *user, uint32_t site)
{
    const struct fm_chrome *c = user;
    return c->sites->site[site].frame;
}

static uint32_t site_name(void *user, uint32_t site)
{
    const struct fm_chrome *c = user;
    return c->sites->site[site].number;
}

static uint32_t join_chains(void *user, uint32_t older, uint32_t newer)
{
    return fm_chrome_join(user, older, newer);
}

struct rows {
    struct fm_chrome *c;
    struct fm_chrome_sites *s;
    uint64_t value[FM_CHROME_FIELDS];
    uint64_t present[FM_CHROME_FIELDS / 64];
    fm_thread thread;
};

static void add_part(struct rows *w, const struct site *site, uint64_t span_row,
                     const struct fm_chrome_part *part)
{
    struct fm_chrome *c = w->c;
    uint64_t value[FM_CHROME_FIELDS], present[FM_CHROME_FIELDS / 64];
    uint32_t class = fm_chrome_class(c, &part_group, site->cat);
    if (class == UINT32_MAX)
        return;
    value[PART_SELF] = part->self;
    value[PART_STACK] = part->node;
    value[PART_THREAD] = w->thread;
    value[PART_NAME] = site->name;
    value[PART_CAT] = site->cat;
    present[0] = (1u << PART_FIELDS) - 1;
    if (site->cat == 0)
        present[0] &= ~(UINT64_C(1) << PART_CAT);
    uint64_t row = fm_chrome_row(c, class, value, present, 0, FM_NO_OFFSET);
    if (row != UINT64_MAX && span_row != UINT64_MAX)
        fm_builder_link(c->builder, FM_LINK_PARENT, row, FM_LINK_ROW, span_row);
}

/* tdur of X; of B and E the clock's difference. */
static bool cpu_time(const struct fm_chrome *c, uint32_t chain, uint64_t *ns)
{
    uint64_t end = 0;
    bool ended = false;
    for (; chain; chain = c->arg[chain].next) {
        const struct fm_chrome_arg *a = &c->arg[chain];
        if (a->number == FM_CHROME_HANG_CPU) {
            *ns = a->lane;
            return true;
        }
        if (a->number != FM_CHROME_HANG_CLOCK)
            continue;
        if (ended) {
            *ns = end > a->lane ? end - a->lane : 0;
            return true;
        }
        ended = true;
        end = a->lane;
    }
    return false;
}

static void add_span(struct rows *w, const struct fm_chrome_span *r)
{
    struct fm_chrome *c = w->c;
    const struct site *site = &w->s->site[r->site];
    uint64_t *value = w->value, has = (1u << (X_CAT + 1)) - 1;
    value[X_SELF] = r->self;
    value[X_TS] = (uint64_t)r->start;
    value[X_DUR] = (uint64_t)r->end - (uint64_t)r->start;
    value[X_STACK] = r->node;
    value[X_NAME] = site->name;
    value[X_CAT] = site->cat;
    if (site->cat == 0)
        has &= ~(UINT64_C(1) << X_CAT);
    if (r->flags & FM_CHROME_UNFINISHED) {
        value[X_UNFINISHED] = 1;
        has |= 1u << X_UNFINISHED;
    }
    if (c->cpu_wanted && cpu_time(c, r->chain, &value[X_CPU]))
        has |= 1u << X_CPU;
    w->present[0] = has;
    uint64_t row = fm_chrome_row(c, site->class, value, w->present, r->chain, FM_NO_OFFSET);
    for (uint32_t k = r->chain; k; k = c->arg[k].next) {
        if (c->arg[k].number == FM_CHROME_HANG_FLOW)
            fm_chrome_flow_bound(c, c->arg[k].lane, row);
        else if (c->arg[k].number == FM_CHROME_HANG_PART)
            add_part(w, site, row, &w->s->sweep.pile.part[c->arg[k].lane]);
    }
}

/* Parts and flow points hang on their spans. */
static void hang(struct fm_chrome *c, struct fm_chrome_sweep *s)
{
    for (size_t i = s->pile.parts; i > 0; i--) {
        struct fm_chrome_span *r = &s->span[s->pile.part[i - 1].span];
        r->chain = fm_chrome_hang(c, r->chain, FM_CHROME_HANG_PART, i - 1);
    }
    for (size_t i = 0; i < s->pile.bounds; i++) {
        struct fm_chrome_span *r = &s->span[s->pile.bound[i][1]];
        r->chain = fm_chrome_hang(c, r->chain, FM_CHROME_HANG_FLOW, s->pile.bound[i][0]);
    }
}

static void report(struct fm_chrome *c, const struct fm_chrome_sweep *s)
{
    struct fm_builder *b = c->builder;
    const struct {
        enum fm_diag key;
        uint64_t n, at;
    } found[] = {{FM_DIAG_CHROME_END, s->unmatched, s->unmatched_at},
                 {FM_DIAG_CHROME_NOT_TOP, s->not_on_top, s->not_on_top_at},
                 {FM_DIAG_CHROME_UNFINISHED, s->unfinished_n, s->unfinished_at},
                 {FM_DIAG_CHROME_OVERLAP, s->overlaps, s->overlap_at},
                 {FM_DIAG_CHROME_ANCESTRY, s->kept_ancestry, FM_NO_OFFSET},
                 {FM_DIAG_STACK_DEPTH, s->deep, FM_NO_OFFSET}};
    for (size_t i = 0; i < FM_COUNT(found); i++)
        if (found[i].n)
            fm_builder_diag(b, found[i].key, found[i].at, found[i].n);
    c->overlap_ns += s->overlap_ns;
}

/* All of a thread: its records are freed. */
static bool finish_thread(struct rows *w, struct fm_chrome_thread *t)
{
    struct fm_chrome *c = w->c;
    struct fm_chrome_sweep *s = &w->s->sweep;
    size_t args = c->args;
    fm_chrome_sweep_start(s, t->span, t->spans);
    s->trace_last = c->last;
    s->thread_last = t->last;
    fm_chrome_pair(s, t->unordered);
    fm_chrome_arrange(s);
    fm_chrome_sweep(s);
    report(c, s);
    hang(c, s);
    w->thread = fm_chrome_thread_row(c, (uint32_t)(t - c->thread));
    w->value[X_THREAD] = w->thread;
    for (size_t i = 0; i < s->n && !c->oom; i++)
        if (s->span[i].type <= FM_CHROME_B)
            add_span(w, &s->span[i]);
    c->args = args;
    fm_mem_free(c->mem, t->span, t->span_cap * sizeof *t->span);
    t->span = NULL;
    t->spans = t->span_cap = 0;
    return !s->oom && !c->oom && fm_builder_status(c->builder) == FM_OK;
}

bool fm_chrome_spans_finish(struct fm_chrome *c)
{
    struct fm_chrome_sites *s = c->sites;
    bool ok = true;
    if (!s)
        return true;
    struct fm_chrome_sweep *sweep = &s->sweep;
    struct rows *w = fm_arena_alloc(&c->arena, sizeof *w);
    if (!w || !fm_grow(c->mem, (void **)&sweep->head, &s->head_cap, s->names, sizeof *sweep->head))
        return false;
    memset(sweep->head, 0, s->head_cap * sizeof *sweep->head);
    sweep->mem = c->mem;
    sweep->builder = c->builder;
    sweep->frame = site_frame;
    sweep->name = site_name;
    sweep->join = join_chains;
    sweep->user = c;
    sweep->unfinished = c->unfinished;
    sweep->depth = FM_MIN(c->ctx->cap[FM_CAP_STACK_DEPTH], UINT32_MAX);
    w->c = c;
    w->s = s;
    for (size_t i = 0; i < c->threads && ok; i++)
        if (c->thread[i].spans)
            ok = finish_thread(w, &c->thread[i]);
    return ok;
}

void fm_chrome_spans_release(struct fm_chrome *c)
{
    struct fm_chrome_sites *s = c->sites;
    for (size_t i = 0; i < c->threads; i++)
        fm_mem_free(c->mem, c->thread[i].span, c->thread[i].span_cap * sizeof *c->thread[i].span);
    if (!s)
        return;
    fm_map_release(&s->site_map);
    fm_map_release(&s->name_map);
    fm_mem_free(c->mem, s->site, s->site_cap * sizeof *s->site);
    fm_mem_free(c->mem, s->sweep.head, s->head_cap * sizeof *s->sweep.head);
    s->sweep.mem = c->mem;
    fm_chrome_sweep_release(&s->sweep);
    fm_mem_free(c->mem, s, sizeof *s);
}
