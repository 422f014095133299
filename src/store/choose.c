/*
 * choose.c - which events a name means.
 *
 *     auto      what the mapping prefers, see fm_store_event_default()
 *     all       every event with samples or weight-bearing stacks, except derived rows
 *     NAME      every event of that name; else of that metric ("alloc" is three events of JFR);
 *               else the first present entry of an alias ("cpu" is this event, or else that one, or
 *               those that a glob matches);
 *               else a derived event ("leak"); else every event whose name, or else metric, a glob
 *               matches
 *     A,B       each of them; a comma between slashes belongs to a name
 *
 * Events without rows are taken only when nothing of that name has rows: a recording declares more
 * than it holds.
 */
#include "store/select.h"

#include "util/error.h"
#include "util/out.h"
#include "util/pattern.h"
#include "util/text.h"

#define SHOWN_NAMES 4

struct item {
    const char *s;
    size_t n;
};

struct chooser {
    struct fm_store *store;
    struct fm_choice *choice;
    size_t events;
    bool empty;                /* events without rows count as well */
    enum fm_status status;     /* no memory for a glob */
};

static bool is(const struct fm_store *store, fm_str id, struct item want)
{
    size_t n;
    const char *s = fm_store_str(store, id, &n);
    return n == want.n && memcmp(s, want.s, n) == 0;
}

static void take(struct chooser *c, size_t i)
{
    c->choice->event[i] = 1;
    if (c->choice->first == FM_NONE || i < c->choice->first)
        c->choice->first = (uint32_t)i;
}

static bool by_text(struct chooser *c, struct item want, bool metric)
{
    bool some = false;
    for (size_t i = 0; i < c->events; i++) {
        const struct fm_event *e = fm_store_event_row(c->store, i);
        if ((e->rows > 0 || c->empty) && is(c->store, metric ? e->metric : e->name, want)) {
            take(c, i);
            some = true;
        }
    }
    return some;
}

/* The next item of a comma-joined list; false at its end. */
static bool next_item(const char **list, struct item *item)
{
    const char *s = *list;
    bool slash = false;
    while (*s == ',' || *s == ' ')
        s++;
    item->s = s;
    for (; *s != '\0' && (slash || *s != ','); s++)
        slash ^= *s == '/';
    item->n = (size_t)(s - item->s);
    while (item->n > 0 && item->s[item->n - 1] == ' ')
        item->n--;
    *list = s;
    return item->n > 0;
}

static bool by_pattern(struct chooser *c, const struct fm_pattern *pattern, bool metric)
{
    bool some = false;
    for (size_t i = 0; i < c->events; i++) {
        const struct fm_event *e = fm_store_event_row(c->store, i);
        size_t n;
        const char *s = fm_store_str(c->store, metric ? e->metric : e->name, &n);
        if ((e->rows > 0 || c->empty) && fm_pattern_match(pattern, s, n)) {
            take(c, i);
            some = true;
        }
    }
    return some;
}

/* An entry of an alias: a name, a metric or a glob. */
static bool by_entry(struct chooser *c, struct item item)
{
    struct fm_pattern *pattern;
    bool some;
    if (by_text(c, item, false) || by_text(c, item, true))
        return true;
    if (memchr(item.s, '*', item.n) == NULL && memchr(item.s, '?', item.n) == NULL)
        return false;
    c->status = fm_pattern_new(&fm_store_ctx(c->store)->mem, item.s, item.n, false, &pattern,
                               NULL);
    if (c->status != FM_OK)
        return false;
    some = by_pattern(c, pattern, false) || by_pattern(c, pattern, true);
    fm_pattern_free(pattern);
    return some;
}

static bool by_alias(struct chooser *c, struct item want)
{
    size_t n;
    const struct fm_alias *alias = fm_store_aliases(c->store, &n);
    for (size_t i = 0; i < n; i++) {
        const char *list = fm_store_str(c->store, alias[i].list, NULL);
        struct item item;
        if (!is(c->store, alias[i].name, want))
            continue;
        while (next_item(&list, &item))
            if (by_entry(c, item))
                return true;
    }
    return false;
}

static bool by_derived(struct chooser *c, struct item want)
{
    size_t n;
    const struct fm_derived_event *d = fm_store_derived_events(c->store, &n);
    for (size_t i = 0; i < n; i++) {
        struct item event;
        if (!is(c->store, d[i].name, want))
            continue;
        event.s = fm_store_str(c->store, d[i].event, &event.n);
        if (by_text(c, event, false) || by_text(c, event, true)) {
            c->choice->derived = &d[i];
            return true;
        }
    }
    return false;
}

static bool by_glob(struct chooser *c, const struct fm_pattern *pattern)
{
    bool some;
    c->empty = false;
    some = by_pattern(c, pattern, false) || by_pattern(c, pattern, true);
    c->empty = true;
    return some || by_pattern(c, pattern, false) || by_pattern(c, pattern, true);
}

/* One name, without globs. *as: what it is when it is not the events' own name. */
static bool plain(struct chooser *c, struct item want, bool *as)
{
    for (int pass = 0; pass < 2; pass++) {
        c->empty = pass > 0;
        *as = false;
        if (by_text(c, want, false))
            return true;
        *as = true;
        if (by_text(c, want, true) || by_alias(c, want) || by_derived(c, want))
            return true;
    }
    return false;
}

static enum fm_status unknown(const struct chooser *c, struct item want, struct fm_error *err)
{
    const char *known[64], *near;
    size_t have = 0, n;
    char name[256];
    const struct fm_alias *alias = fm_store_aliases(c->store, &n);
    memcpy(name, want.s, FM_MIN(want.n, sizeof name - 1));
    name[FM_MIN(want.n, sizeof name - 1)] = '\0';
    for (size_t i = 0; i < c->events && have + 2 < FM_COUNT(known); i++) {
        const struct fm_event *e = fm_store_event_row(c->store, i);
        known[have++] = fm_store_str(c->store, e->name, NULL);
        if (e->metric != e->name)
            known[have++] = fm_store_str(c->store, e->metric, NULL);
    }
    for (size_t i = 0; i < n && have < FM_COUNT(known); i++) {
        const char *text = fm_store_str(c->store, alias[i].name, NULL);
        if (strcmp(text, name) != 0)    /* a name of events that the input has not */
            known[have++] = text;
    }
    near = fm_text_nearest(name, known, have);
    if (near != NULL)
        return fm_error_set(err, FM_CONFIG, "no event '%s' (did you mean '%s'?)", name, near);
    return fm_error_set(err, FM_CONFIG, "no event '%s'; the input has %zu, the first is '%s'", name,
                        c->events, c->events > 0 ? known[0] : "");
}

/* One item of a list, or the whole of it. FM_UNKNOWN: nothing has that name. */
static enum fm_status choose(struct chooser *c, struct item want, bool *as, struct fm_error *err)
{
    struct fm_pattern *pattern;
    enum fm_status status;
    bool some;
    if (plain(c, want, as))
        return FM_OK;
    if (c->status != FM_OK)
        return fm_error_nomem(err);
    *as = false;
    status = fm_pattern_new(&fm_store_ctx(c->store)->mem, want.s, want.n, false, &pattern, err);
    if (status != FM_OK)
        return status;
    some = by_glob(c, pattern);
    fm_pattern_free(pattern);
    return some ? FM_OK : FM_UNKNOWN;
}

/* Rows that were derived from others (times off the CPU or on run queues, wakeups, branches of
 * branch stacks): in no sum but their own. */
static bool is_derived(const struct fm_store *store, const struct fm_event *e)
{
    static const char *const metric[] = {"offcpu", "runq", "wakeups", "branches"};
    const char *s = fm_store_str(store, e->metric, NULL);
    if (e->kind != FM_KIND_STATE && e->kind != FM_KIND_INSTANT)
        return false;
    for (size_t i = 0; i < FM_COUNT(metric); i++)
        if (strcmp(s, metric[i]) == 0)
            return true;
    return false;
}

static void choose_all(struct chooser *c)
{
    for (size_t i = 0; i < c->events; i++) {
        const struct fm_event *e = fm_store_event_row(c->store, i);
        if ((e->stacks > 0 || e->kind == FM_KIND_SAMPLE) && !is_derived(c->store, e))
            take(c, i);
    }
}

static void choose_auto(struct chooser *c)
{
    uint32_t first = fm_store_event_auto(c->store);
    for (size_t i = 0; i < c->events; i++)
        if (fm_store_event_default(c->store, first, i))
            take(c, i);
    c->choice->first = first;
}

/* ----------------------------------------------------------------- names */

/* "ALIAS: NAME, NAME": what was meant, and what was taken. */
static fm_str spelled(const struct chooser *c, struct item as)
{
    struct fm_store *store = c->store;
    struct fm_out out;
    fm_str id = FM_NONE, last = FM_NONE;
    size_t names = 0;
    if (fm_out_init(&out, &fm_store_ctx(store)->mem, NULL) != FM_OK)
        return FM_NONE;
    fm_out_bytes(&out, as.s, as.n);
    for (size_t i = 0; i < c->events; i++) {
        const struct fm_event *e = fm_store_event_row(store, i);
        size_t n;
        const char *s = fm_store_str(store, e->name, &n);
        if (!c->choice->event[i] || e->name == last)
            continue;
        last = e->name;
        if (names < SHOWN_NAMES) {
            fm_out_text(&out, names == 0 ? ": " : ", ");
            fm_out_bytes(&out, s, n);
        } else if (names == SHOWN_NAMES) {
            fm_out_text(&out, ", …");
        }
        names++;
    }
    if (fm_out_finish(&out, NULL) == FM_OK)
        id = fm_store_str_add(store, out.buf, out.n);
    fm_out_release(&out);
    return id;
}

/* The text that outputs show: the events' own name, or what was asked for when there are several,
 * or both when a metric or alias stands for them. */
static fm_str name_choice(const struct chooser *c, struct item want, bool as)
{
    struct fm_store *store = c->store;
    const struct fm_event *first;
    if (c->choice->first == FM_NONE)
        return fm_store_str_add(store, "none", 4);
    first = fm_store_event_row(store, c->choice->first);
    if (as)
        return spelled(c, want);
    for (size_t i = 0; i < c->events; i++)
        if (c->choice->event[i] && fm_store_event_row(store, i)->name != first->name)
            return fm_store_str_add(store, want.s, want.n);
    return first->name;
}

/* ------------------------------------------------------------------ whole */

static enum fm_status choose_list(struct chooser *c, const char *want, struct fm_error *err)
{
    const char *list = want;
    struct item item;
    size_t items = 0, derived = 0;
    bool as;
    while (next_item(&list, &item)) {
        enum fm_status status;
        c->choice->derived = NULL;
        status = choose(c, item, &as, err);
        if (status == FM_UNKNOWN)
            return unknown(c, item, err);
        if (status != FM_OK)
            return status;
        derived += c->choice->derived != NULL;
        items++;
    }
    if (derived > 0 && items > 1)
        return fm_error_set(err, FM_CONFIG, "'%s': a derived event stands alone", want);
    return items > 0 ? FM_OK : unknown(c, (struct item){want, strlen(want)}, err);
}

enum fm_status fm_events_choose(struct fm_store *store, const char *want, struct fm_choice *choice,
                                struct fm_error *err)
{
    struct chooser c = {store, choice, fm_store_events(store), false, FM_OK};
    struct item item = {want, want != NULL ? strlen(want) : 0};
    enum fm_status status = FM_OK;
    bool as = false;
    choice->first = FM_NONE;
    choice->derived = NULL;
    memset(choice->event, 0, c.events);
    if (item.n == 0 || strcmp(want, "auto") == 0) {
        choose_auto(&c);
        if (choice->first != FM_NONE) {
            fm_str metric = fm_store_event_row(store, choice->first)->default_as;
            as = metric != 0;
            item.s = fm_store_str(store, metric, &item.n);
        }
    } else if (strcmp(want, "all") == 0 && !by_text(&c, item, false)) {
        choose_all(&c);
    } else {
        status = choose(&c, item, &as, err);
        if (status == FM_UNKNOWN && memchr(want, ',', item.n) == NULL)
            status = unknown(&c, item, err);
        else if (status == FM_UNKNOWN)
            status = choose_list(&c, want, err);
    }
    if (status != FM_OK)
        return status;
    choice->name = name_choice(&c, item, as);
    return choice->name == FM_NONE ? fm_error_nomem(err) : FM_OK;
}

bool fm_event_known(struct fm_store *store, const char *name)
{
    struct fm_choice choice = {.event = NULL};
    struct chooser c = {store, &choice, fm_store_events(store), false, FM_OK};
    struct item item = {name, strlen(name)};
    bool as, known;
    choice.event = fm_mem_zalloc(&fm_store_ctx(store)->mem, c.events);
    if (choice.event == NULL)
        return false;
    known = plain(&c, item, &as);
    fm_mem_free(&fm_store_ctx(store)->mem, choice.event, c.events);
    return known;
}
