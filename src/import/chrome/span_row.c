/*
 * span_row.c - spans of threads at the end of the file: each thread's records become intervals
 * (pair.c), are swept (nest.c, sweep.c) and become rows.
 *
 * Rows of a thread stand in order of their starts; parts follow their span. Most spans are alike:
 * the mapping copies the same fields into the same columns. Those are written column by column:
 *
 *     records   a a a a b a a …          one run: the same copies, no part, nothing that varies
 *     ts        ■ ■ ■ ■                  then the next column; links and flows of the run last
 */
#include "import/chrome/site.h"

#define RUN 256u                       /* rows at most: their records stay near */

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
    uint32_t process;              /* number of c->process */
};


static void add_part(struct rows *w, const struct fm_chrome_site *site, uint64_t span_row,
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

/* Stacks at a span's start and end, the newest of each; the bits of those that are there. */
static uint64_t set_stacks(struct rows *w, uint32_t chain)
{
    struct fm_chrome *c = w->c;
    uint64_t has = 0;
    for (; chain; chain = c->arg[chain].next) {
        const struct fm_chrome_arg *a = &c->arg[chain];
        bool end = a->number == FM_CHROME_HANG_ESF || a->number == FM_CHROME_HANG_ESTACK;
        uint32_t field = end ? FM_X_ESF : FM_X_SF;
        fm_node node = has >> field & 1 ? FM_NONE : fm_chrome_hung_stack(c, w->process, a);
        if (node == FM_NONE)
            continue;
        w->value[field] = node;
        has |= UINT64_C(1) << field;
    }
    return has;
}

/* The fields of a span. */
static void set_fields(struct rows *w, const struct fm_chrome_span *r)
{
    struct fm_chrome *c = w->c;
    const struct fm_chrome_site *site = &w->s->site[r->site];
    uint64_t *value = w->value, has = FM_X_ALWAYS;
    value[FM_X_SELF] = r->self;
    value[FM_X_TS] = (uint64_t)r->start;
    value[FM_X_DUR] = (uint64_t)r->end - (uint64_t)r->start;
    value[FM_X_STACK] = r->node;
    value[FM_X_NAME] = site->name;
    value[FM_X_CAT] = site->cat;
    if (site->cat == 0)
        has &= ~(UINT64_C(1) << FM_X_CAT);
    if (r->flags & FM_CHROME_UNFINISHED) {
        value[FM_X_UNFINISHED] = 1;
        has |= 1u << FM_X_UNFINISHED;
    }
    if (c->cpu_wanted && cpu_time(c, r->chain, &value[FM_X_CPU]))
        has |= 1u << FM_X_CPU;
    if (c->stacks_wanted)
        has |= set_stacks(w, r->chain);
    w->present[0] = has;
}

static void add_span(struct rows *w, const struct fm_chrome_span *r)
{
    struct fm_chrome *c = w->c;
    const struct fm_chrome_site *site = &w->s->site[r->site];
    set_fields(w, r);
    uint64_t row = fm_chrome_row(c, site->class, w->value, w->present, r->chain, FM_NO_OFFSET);
    for (uint32_t k = r->chain; k; k = c->arg[k].next) {
        if (c->arg[k].number == FM_CHROME_HANG_FLOW)
            fm_chrome_flow_bound(c, c->arg[k].lane, row);
        else if (c->arg[k].number == FM_CHROME_HANG_PART)
            add_part(w, site, row, &w->s->sweep.pile.part[c->arg[k].lane]);
    }
}

/* ------------------------------------------------------------------ many spans */

/* One column of the spans from r on. */
static void fill(const struct rows *w, const struct fm_chrome_span *r, size_t n, uint32_t field,
                 uint64_t *out)
{
    const struct fm_chrome_site *site = w->s->site;
    switch (field) {
    case FM_X_SELF:
        for (size_t i = 0; i < n; i++)
            out[i] = r[i].self;
        break;
    case FM_X_TS:
        for (size_t i = 0; i < n; i++)
            out[i] = (uint64_t)r[i].start;
        break;
    case FM_X_DUR:
        for (size_t i = 0; i < n; i++)
            out[i] = (uint64_t)r[i].end - (uint64_t)r[i].start;
        break;
    case FM_X_STACK:
        for (size_t i = 0; i < n; i++)
            out[i] = r[i].node;
        break;
    case FM_X_NAME:
        for (size_t i = 0; i < n; i++)
            out[i] = site[r[i].site].name;
        break;
    case FM_X_CAT:
        for (size_t i = 0; i < n; i++)
            out[i] = site[r[i].site].cat;
        break;
    default:
        fm_assert(field == FM_X_THREAD);
        for (size_t i = 0; i < n; i++)
            out[i] = w->thread;
        break;
    }
}

/* Links and flows of spans whose rows begin at `row`. */
static void join_run(struct rows *w, const struct fm_chrome_span *r, size_t n, uint64_t row)
{
    struct fm_chrome *c = w->c;
    for (size_t i = 0; i < n; i++) {
        const struct fm_chrome_site *site = &w->s->site[r[i].site];
        if (site->links) {
            set_fields(w, &r[i]);
            fm_chrome_links(c, site->class, w->value, w->present, r[i].chain, row + i);
        }
        for (uint32_t k = r[i].chain; k; k = c->arg[k].next)
            if (c->arg[k].number == FM_CHROME_HANG_FLOW)
                fm_chrome_flow_bound(c, c->arg[k].lane, row + i);
    }
}

/* How many spans from r on can be copied alike; 0: not even this one. *joins: some have links or
 * flows. */
static size_t run_of(const struct rows *w, const struct fm_chrome_span *r, size_t n, bool *joins)
{
    const struct fm_chrome *c = w->c;
    const struct fm_chrome_site *site = w->s->site;
    uint32_t copy = r->type <= FM_CHROME_B ? site[r->site].copy : 0;
    size_t i = 0;
    if (copy == 0)
        return 0;
    const struct fm_class_copy *how = &w->s->copy[copy - 1];
    bool varies = c->cpu_wanted || c->stacks_wanted || c->owns || how->all >> FM_X_FIELDS;
    uint32_t chains = 0;
    bool links = false;
    n = FM_MIN(n, FM_MIN(RUN, fm_rows_room(c->builder)));
    for (; i < n; i++) {
        if (r[i].type > FM_CHROME_B || site[r[i].site].copy != copy ||
            r[i].flags & (FM_CHROME_UNFINISHED | FM_CHROME_PARTS) || (varies && r[i].chain))
            break;
        chains |= r[i].chain;
        links |= site[r[i].site].links;
    }
    *joins = chains != 0 || links;
    return i;
}

static size_t add_run(struct rows *w, const struct fm_chrome_span *r, size_t n)
{
    struct fm_builder *b = w->c->builder;
    bool joins;
    n = run_of(w, r, n, &joins);
    if (n == 0)
        return 0;
    const struct fm_class_copy *how = &w->s->copy[w->s->site[r->site].copy - 1];
    uint64_t *event = fm_rows_column(b, FM_COL_EVENT, n);
    for (size_t i = 0; event && i < n; i++)
        event[i] = how->event;
    for (size_t m = 0; m < how->moves; m++) {
        uint64_t *out = fm_rows_column(b, how->move[m].column, n);
        if (out)
            fill(w, r, n, how->move[m].field, out);
    }
    uint64_t row = fm_rows_end(b, n);
    if (joins)
        join_run(w, r, n, row);
    return n;
}

/* ------------------------------------------------------------------ a thread */

/* Parts and flow points hang on their spans. */
static void hang(struct fm_chrome *c, struct fm_chrome_sweep *s)
{
    for (size_t i = s->pile.parts; i > 0; i--) {
        struct fm_chrome_span *r = &s->span[s->pile.part[i - 1].span];
        r->chain = fm_chrome_hang(c, r->chain, FM_CHROME_HANG_PART, i - 1);
        r->flags |= FM_CHROME_PARTS;
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
    if (t->unordered && !fm_chrome_reopen(c, t))
        return false;
    fm_chrome_sweep_start(s, t->span, t->spans);
    s->trace_last = c->last;
    s->thread_last = t->last;
    fm_chrome_pair(s, t->unordered);
    fm_chrome_arrange(s);
    fm_chrome_sweep(s);
    report(c, s);
    hang(c, s);
    w->thread = fm_chrome_thread_row(c, (uint32_t)(t - c->thread));
    w->value[FM_X_THREAD] = w->thread;
    w->process = t->process;
    for (size_t i = 0, n; i < s->n && !c->oom; i += n) {
        n = add_run(w, &s->span[i], s->n - i);
        if (n == 0 && s->span[i].type <= FM_CHROME_B)
            add_span(w, &s->span[i]);
        n = FM_MAX(n, 1);
    }
    c->args = args;
    fm_chrome_records_free(c, t);
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
