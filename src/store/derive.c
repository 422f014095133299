/*
 * derive.c - rows without a later partner: allocations that are never freed.
 *
 *     starts   rows of the selected events, sorted by (source, key, time, row)
 *                    a@1  a@5  b@2 | groups of equal (source, key), found through a hash table
 *     ends     read once, in any order: each closes the last start of its group before it
 *
 *     open     the last start of its group, not closed
 *     reused   an earlier start of its group, not closed: the key was taken again, so the end of it
 *              was not recorded
 *
 * Memory is 41 to 58 bytes a start and none an end: a profiler that samples allocations records the
 * frees of all.
 */
#include "store/inside.h"
#include "store/select.h"

#include "util/error.h"

enum { SCAN_KEY, SCAN_TS, SCAN_COLS };

struct start {
    uint64_t key, row;
    int64_t ts;
    uint32_t source;
    bool ended;
};

struct pairs {
    struct fm_selection *sel;
    struct fm_mem *mem;
    struct start *start;
    size_t starts, cap;
    uint64_t *slot;            /* hash << 32 | first start of the group + 1; 0: free */
    size_t mask, slots;
    uint64_t *maybe;           /* a bit for each hash that a start has: 4 a slot */
    uint64_t *rows;            /* the bitmap to be */
    size_t words;
    struct fm_pairing *p;
};

static int compare(const struct start *a, uint32_t source, uint64_t key, int64_t ts, uint64_t row)
{
    if (a->source != source)
        return a->source < source ? -1 : 1;
    if (a->key != key)
        return a->key < key ? -1 : 1;
    if (a->ts != ts)
        return a->ts < ts ? -1 : 1;
    return (a->row > row) - (a->row < row);
}

static int by_order(const void *a, const void *b)
{
    const struct start *y = b;
    return compare(a, y->source, y->key, y->ts, y->row);
}

static uint64_t hash_of(uint32_t source, uint64_t key)
{
    return fm_mix(fm_mix(0x9e3779b97f4a7c15u, key), source);
}

/* Bits by the middle of the hash: the table goes by the low bits and compares the high ones. */
static inline size_t maybe_bit(const struct pairs *w, uint64_t h)
{
    return (size_t)(h >> 20) & (4 * w->slots - 1);
}

static void keep(struct pairs *w, uint64_t row)
{
    w->rows[row / 64] |= UINT64_C(1) << (row % 64);
}

/* Rows of the selected events; one without a key has no partner and is open. */
static enum fm_status read_starts(struct pairs *w, fm_column key, struct fm_error *err)
{
    fm_column col[SCAN_COLS] = {[SCAN_KEY] = key, [SCAN_TS] = FM_COL_TS};
    struct fm_scan scan;
    enum fm_status status = fm_scan_init(&scan, w->sel, col, SCAN_COLS, err);
    if (status != FM_OK)
        return status;
    while (status == FM_OK && fm_scan_next(&scan)) {
        w->p->starts += scan.n;
        if (!fm_grow(w->mem, (void **)&w->start, &w->cap, w->starts + scan.n, sizeof *w->start))
            status = fm_error_nomem(err);
        for (uint32_t i = 0; status == FM_OK && i < scan.n; i++) {
            uint32_t place = scan.live[i];
            if (fm_scan_valid(&scan, SCAN_KEY, place))
                w->start[w->starts++] = (struct start){
                    scan.value[SCAN_KEY][place], scan.first_row + place,
                    (int64_t)scan.value[SCAN_TS][place], scan.source, false};
            else
                keep(w, scan.first_row + place);
        }
    }
    fm_scan_release(&scan);
    return status;
}

static bool index_starts(struct pairs *w)
{
    size_t n = w->starts;
    w->slots = 64;
    while (w->slots < 2 * n)
        w->slots *= 2;
    w->mask = w->slots - 1;
    w->slot = fm_mem_zalloc(w->mem, w->slots * sizeof *w->slot);
    w->maybe = fm_mem_zalloc(w->mem, w->slots / 16 * sizeof *w->maybe);
    if (w->slot == NULL || w->maybe == NULL || n >= UINT32_MAX ||
        !fm_sort(w->mem, w->start, n, sizeof *w->start, by_order))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct start *s = &w->start[i];
        uint64_t h = hash_of(s->source, s->key);
        size_t at = h & w->mask;
        if (i > 0 && s->key == s[-1].key && s->source == s[-1].source)
            continue;
        w->maybe[maybe_bit(w, h) / 64] |= UINT64_C(1) << maybe_bit(w, h) % 64;
        while (w->slot[at] != 0)
            at = (at + 1) & w->mask;
        w->slot[at] = (h >> 32) << 32 | (i + 1);
    }
    return true;
}

/* First start of the group; SIZE_MAX: no start has that key. */
static size_t find_group(const struct pairs *w, uint32_t source, uint64_t key)
{
    uint64_t h = hash_of(source, key);
    size_t bit = maybe_bit(w, h);
    /* most ends find no start, and nearly all of those end here: a sixteenth of the table's size */
    if ((w->maybe[bit / 64] >> bit % 64 & 1) == 0)
        return SIZE_MAX;
    for (size_t at = h & w->mask; w->slot[at] != 0; at = (at + 1) & w->mask) {
        uint32_t i = (uint32_t)w->slot[at] - 1;
        if (w->slot[at] >> 32 == h >> 32 && w->start[i].key == key &&
            w->start[i].source == source)
            return i;
    }
    return SIZE_MAX;
}

static void end_one(struct pairs *w, uint32_t source, uint64_t key, int64_t ts, uint64_t row)
{
    size_t lo = find_group(w, source, key), hi = w->starts, first = lo;
    w->p->ends++;
    if (first == SIZE_MAX) {
        w->p->ends_alone++;
        return;
    }
    if (hi - lo > 1 && (w->start[lo + 1].key != key || w->start[lo + 1].source != source))
        hi = lo + 1;           /* nearly all groups have one start */
    while (lo < hi) {          /* the first start that is not before the end */
        size_t mid = lo + (hi - lo) / 2;
        if (compare(&w->start[mid], source, key, ts, row) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == first || w->start[lo - 1].ended) {
        w->p->ends_alone++;
        return;
    }
    w->start[lo - 1].ended = true;
    w->p->ended++;
}

static enum fm_status read_ends(struct pairs *w, uint8_t *event, fm_column key,
                                struct fm_error *err)
{
    fm_column col[SCAN_COLS] = {[SCAN_KEY] = key, [SCAN_TS] = FM_COL_TS};
    struct fm_selection ends = *w->sel;
    struct fm_scan scan;
    enum fm_status status;
    ends.event = event;
    status = fm_scan_init(&scan, &ends, col, SCAN_COLS, err);
    if (status != FM_OK)
        return status;
    while (fm_scan_next(&scan)) {
        for (uint32_t i = 0; i < scan.n; i++) {
            uint32_t place = scan.live[i];
            if (fm_scan_valid(&scan, SCAN_KEY, place))
                end_one(w, scan.source, scan.value[SCAN_KEY][place],
                        (int64_t)scan.value[SCAN_TS][place], scan.first_row + place);
        }
    }
    fm_scan_release(&scan);
    return FM_OK;
}

/* Starts that are left become the selection's rows. */
static void keep_open(struct pairs *w)
{
    for (size_t i = 0; i < w->starts; i++) {
        const struct start *s = &w->start[i];
        bool last = i + 1 == w->starts || s[1].key != s->key || s[1].source != s->source;
        if (s->ended)
            continue;
        if (last)
            keep(w, s->row);
        w->p->reused += !last;
    }
    w->p->open = w->p->starts - w->p->ended - w->p->reused;
}

static enum fm_status pair(struct pairs *w, uint8_t *unless, fm_column key,
                           struct fm_error *err)
{
    enum fm_status status;
    w->words = (fm_store_rows(w->sel->store) + 63) / 64;
    w->rows = fm_mem_zalloc(w->mem, w->words * sizeof *w->rows);
    if (w->rows == NULL)
        return fm_error_nomem(err);
    status = read_starts(w, key, err);
    if (status == FM_OK && !index_starts(w))
        status = fm_error_nomem(err);
    if (status == FM_OK)
        status = read_ends(w, unless, key, err);
    if (status == FM_OK)
        keep_open(w);
    return status;
}

enum fm_status fm_derive_rows(struct fm_selection *sel, const struct fm_derived_event *derived,
                              struct fm_error *err)
{
    struct fm_store *store = sel->store;
    const char *name = fm_store_str(store, derived->key, NULL);
    const char *unless = fm_store_str(store, derived->unless, NULL);
    fm_column key = fm_store_column_find(store, name);
    size_t events = fm_store_events(store);
    struct pairs w = {.sel = sel, .mem = sel->mem, .p = &sel->pairing};
    struct fm_choice ends = {.event = fm_mem_zalloc(sel->mem, events)};
    enum fm_status status = FM_OK;

    fm_assert(sel->rows == NULL);
    if (ends.event == NULL)
        return fm_error_nomem(err);
    if (key == FM_NONE)
        status = fm_error_set(err, FM_CONFIG, "no column '%s' to pair '%s' by", name,
                              fm_store_str(store, derived->name, NULL));
    else if (fm_store_column_info(store, key)->asked)
        status = fm_column_not_imported(store, key, err);
    if (status == FM_OK && fm_event_known(store, unless))
        status = fm_events_choose(store, unless, &ends, err);
    if (status == FM_OK)
        status = pair(&w, ends.event, key, err);
    fm_mem_free(sel->mem, ends.event, events);
    fm_mem_free(sel->mem, w.start, w.cap * sizeof *w.start);
    fm_mem_free(sel->mem, w.slot, w.slots * sizeof *w.slot);
    fm_mem_free(sel->mem, w.maybe, w.slots / 16 * sizeof *w.maybe);
    if (status == FM_OK) {
        sel->rows = w.rows;
        sel->row_words = w.words;
    } else {
        fm_mem_free(sel->mem, w.rows, w.words * sizeof *w.rows);
    }
    return status;
}
