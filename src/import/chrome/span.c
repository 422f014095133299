/*
 * span.c - spans of threads: B, E and X are collected as small records while the file is read.
 *
 *     site   (name, category) -> class of the mapping, frame, number of the name
 *
 * What becomes of them at its end: span_row.c.
 */
#include "import/chrome/site.h"

static const struct fm_field x_field[FM_X_FIELDS] = {
    [FM_X_SELF] = {"self", FM_TYPE_U64, "ns"},
    [FM_X_TS] = {"ts", FM_TYPE_TIME, "ns"},
    [FM_X_DUR] = {"dur", FM_TYPE_DUR, "ns"},
    [FM_X_STACK] = {"stack", FM_TYPE_STACK, NULL},
    [FM_X_THREAD] = {"thread", FM_TYPE_THREAD, NULL},
    [FM_X_NAME] = {"name", FM_TYPE_STRING, NULL},
    [FM_X_CAT] = {"cat", FM_TYPE_STRING, NULL},
    [FM_X_UNFINISHED] = {"unfinished", FM_TYPE_BOOL, NULL},
    [FM_X_CPU] = {"tdur", FM_TYPE_DUR, "ns"},
    [FM_X_SF] = {"sf", FM_TYPE_STACK, NULL},
    [FM_X_ESF] = {"esf", FM_TYPE_STACK, NULL},
};
static const struct fm_chrome_group x_group = {"X", x_field, FM_X_FIELDS, true};

/* A sum over other events that clang writes as a span of a thread of its own. */
static const struct fm_chrome_group total_group = {"total", x_field, FM_X_FIELDS, true};

#define TOTAL_CAT FM_NONE              /* in site_map: of total_group */

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

/* How rows of the site's spans are copied; equal ones are one. */
static void find_copy(struct fm_chrome *c, struct fm_chrome_sites *s, struct fm_chrome_site *site)
{
    struct fm_class_copy copy;
    uint64_t fields = FM_X_ALWAYS & ~(site->cat == 0 ? UINT64_C(1) << FM_X_CAT : 0);
    uint32_t i = 0;
    if (site->class == UINT32_MAX ||
        !fm_class_copy(c->binding, c->class[site->class].id, fields, &copy))
        return;
    site->links = copy.links;
    copy.links = false;
    while (i < s->copies && memcmp(&s->copy[i], &copy, sizeof copy) != 0)
        i++;
    if (i == FM_CHROME_COPIES)
        return;
    if (i == s->copies)
        s->copy[s->copies++] = copy;
    site->copy = i + 1;
}

/* A kernel of unitrace, "NAME[SIMD32 {4096; 1; 1} {256; 1; 1}]": its function is NAME, however it
 * was compiled and launched. */
static fm_str function_of(struct fm_chrome *c, fm_str name, fm_str cat)
{
    static const char mark[] = "[SIMD";
    size_t n, k;
    const char *text = fm_builder_str_text(c->builder, cat, &k);
    if (k != 6 || memcmp(text, "gpu_op", 6) != 0)
        return name;
    text = fm_builder_str_text(c->builder, name, &n);
    const char *at = n > 0 && text[n - 1] == ']' ? memmem(text, n, mark, sizeof mark - 1) : NULL;
    if (!at || at == text)
        return name;
    char *copy = fm_arena_strn(&c->arena, text, (size_t)(at - text));
    fm_str function = copy ? fm_builder_str(c->builder, copy, (size_t)(at - text)) : FM_NONE;
    c->oom |= function == FM_NONE;
    return c->oom ? name : function;
}

static uint32_t new_site(struct fm_chrome *c, struct fm_chrome_sites *s, fm_str name, fm_str cat)
{
    const struct fm_chrome_group *group = cat == TOTAL_CAT ? &total_group : &x_group;
    struct fm_frame_row frame = {.module = FM_NONE, .address = UINT64_MAX,
                                 .kind = FM_FRAME_UNKNOWN};
    struct fm_chrome_site site = {.name = name ? name : s->unnamed,
                                  .cat = cat == TOTAL_CAT ? 0 : cat};
    site.number = name_number(c, s, name);
    site.class = fm_chrome_class(c, group, site.cat);
    frame.function = function_of(c, site.name, site.cat);
    site.frame = fm_builder_frame(c->builder, &frame);
    if (site.class == UINT32_MAX || s->sites >= UINT32_MAX ||
        !fm_grow(c->mem, (void **)&s->site, &s->site_cap, s->sites + 1, sizeof *s->site)) {
        c->oom = true;
        return UINT32_MAX;
    }
    find_copy(c, s, &site);
    c->cpu_wanted |= c->class[site.class].wanted >> FM_X_CPU & 1;
    c->stacks_wanted |= (c->class[site.class].wanted >> FM_X_SF & 3) != 0;
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
static struct fm_chrome_recent *find_recent(struct fm_chrome_sites *s,
                                            const struct fm_json_field *name,
                                            const struct fm_json_field *cat, bool *same)
{
    size_t n = name ? name->n : 0, k = cat ? cat->n : 0;
    if (n == 0 || n + k > sizeof s->recent[0].text || name->escaped || (cat && cat->escaped))
        return NULL;
    uint64_t h = ends(name->text, n);
    if (k)
        h = fm_mix(h, ends(cat->text, k));
    struct fm_chrome_recent *r = &s->recent[h % FM_CHROME_RECENT];
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
    struct fm_chrome_recent *r = find_recent(s, name, cat, &same);
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
    const struct fm_chrome_recent *r =
        find_recent(s, e->field[FM_CHROME_NAME], e->field[FM_CHROME_CAT], &same);
    if (r && same)
        return s->site[r->site - 1].number;
    return name_number(c, s, fm_chrome_str(c, e->field[FM_CHROME_NAME]));
}

/* ------------------------------------------------------------------ records */

struct fm_chrome_span *fm_chrome_record(struct fm_chrome *c, uint32_t thread)
{
    struct fm_chrome_thread *t = &c->thread[thread];
    if (FM_UNLIKELY(t->spans == t->span_cap || t->places == UINT32_MAX) &&
        (t->places == UINT32_MAX ||
         !fm_grow(c->mem, (void **)&t->span, &t->span_cap, t->spans + 1, sizeof *t->span))) {
        c->oom = true;
        return NULL;
    }
    struct fm_chrome_span *r = &t->span[t->spans];
    memset(r, 0, sizeof *r);
    r->node = t->places++;
    t->spans++;
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
    if (!c->stacks_wanted)
        return chain;
    /* What an E calls its start is the end of the span. */
    chain = fm_chrome_hang_stack(c, e->field[FM_CHROME_SF], e->field[FM_CHROME_STACK],
                                 e->phase == 'E', chain);
    return fm_chrome_hang_stack(c, e->field[FM_CHROME_ESF], e->field[FM_CHROME_ESTACK], true,
                                chain);
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
    t->later |= older;
    if (!older)
        t->newest = e->ts;
}

static int16_t below_ns(const struct fm_chrome_event *e, int64_t start)
{
    return (int16_t)((int64_t)e->ts.ps - (start != e->ts.ns) * 1000);
}

static void take_end(struct fm_chrome *c, struct fm_chrome_sites *s,
                     const struct fm_chrome_event *e, int64_t end)
{
    struct fm_chrome_thread *t = &c->thread[e->thread];
    uint32_t name = end_name(c, s, e);
    check_order(t, e);
    t->later |= c->any_args || c->cpu_wanted || c->stacks_wanted;
    if (FM_LIKELY(!t->later) && fm_chrome_close(c, t, name, end, below_ns(e, end), e->offset))
        return;
    struct fm_chrome_span *r = fm_chrome_record(c, e->thread);
    if (!r)
        return;
    r->type = FM_CHROME_E;
    r->site = name;
    r->start = end;
    r->self = e->offset;
    r->ps = below_ns(e, end);
    r->chain = chain_of(c, e, c->any_args);
}

void fm_chrome_span(struct fm_chrome *c, const struct fm_chrome_event *e)
{
    struct fm_chrome_sites *s = sites(c);
    int64_t start;
    if (!s || !fm_json_time_round(e->ts, &start))
        return;
    if (e->phase == 'E') {
        take_end(c, s, e, start);
        return;
    }
    uint32_t site = recent_site(c, s, e);
    struct fm_chrome_span *r = site == UINT32_MAX ? NULL : fm_chrome_record(c, e->thread);
    if (!r)
        return;
    r->site = site;
    r->start = start;
    r->self = e->offset;
    r->ps = below_ns(e, start);
    if (e->phase == 'X') {
        r->type = FM_CHROME_X;
        take_duration(c, e, r);
    } else {
        struct fm_chrome_thread *t = &c->thread[e->thread];
        r->type = FM_CHROME_B;
        r->flags = FM_CHROME_OPEN;
        check_order(t, e);
        if (!t->later)
            fm_chrome_begin(c, t, s->site[site].number);
    }
    uint32_t chain = chain_of(c, e, c->class[s->site[site].class].args);
    if (e->field[FM_CHROME_BIND_ID])
        chain = fm_chrome_flow_span(c, e, chain);
    r->chain = chain;
}

void fm_chrome_spans_release(struct fm_chrome *c)
{
    struct fm_chrome_sites *s = c->sites;
    for (size_t i = 0; i < c->threads; i++)
        fm_chrome_records_free(c, &c->thread[i]);
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
