/*
 * match.c - symbols meet addresses; see match.h for the rules and the picture.
 *
 * Cost: one binary search among the points for each symbol, and the hits sorted once. Memory: the
 * points, and the symbols that touch one. A file whose symbols all cover everything makes as many
 * hits as it has symbols; the painting below stays linear in points by skipping what has a name
 * (union-find), so such a file costs its own size and no more.
 */
#include "symbol/match.h"

struct fm_hit {
    struct fm_symbol symbol;
    size_t lo, hi;           /* points covered */
    uint32_t order;          /* in which it was offered */
    uint32_t length, underscores;   /* as shown; only where several symbols have one start */
};

#define NONE UINT32_MAX

/* ------------------------------------------------------------------ order */

/* Least significant byte first; bytes that are equal in all points are skipped. */
enum fm_status fm_points_sort(struct fm_mem *mem, struct fm_point *point, size_t n)
{
    struct fm_point *from = point, *to, *spare, *other;
    uint64_t all_or = 0, all_and = UINT64_MAX;
    size_t bytes, start[256];

    for (size_t i = 0; i < n; i++) {
        all_or |= point[i].address;
        all_and &= point[i].address;
    }
    if (!fm_mul_size(n, sizeof *point, &bytes))
        return FM_NOMEM;
    spare = to = fm_mem_alloc(mem, bytes);
    if (spare == NULL)
        return FM_NOMEM;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t sum = 0;
        if ((((all_or ^ all_and) >> shift) & 0xff) == 0)
            continue;
        memset(start, 0, sizeof start);
        for (size_t i = 0; i < n; i++)
            start[(from[i].address >> shift) & 0xff]++;
        for (size_t k = 0; k < 256; k++) {
            size_t count = start[k];
            start[k] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++)
            to[start[(from[i].address >> shift) & 0xff]++] = from[i];
        other = from;
        from = to;
        to = other;
    }
    if (from != point)
        memcpy(point, from, bytes);
    fm_mem_free(mem, spare, bytes);
    return FM_OK;
}

static bool is_alias(const struct fm_symbol *s)
{
    return (s->length >= 3 && memcmp(s->name, "SyS", 3) == 0) ||
           (s->length >= 10 && memcmp(s->name, "compat_SyS", 10) == 0);
}

/* True when b is a better name than a for the same start. */
static bool is_better(const struct fm_hit *a, const struct fm_hit *b)
{
    const uint8_t x = a->symbol.binding, y = b->symbol.binding;

    if ((x == FM_BIND_WEAK) != (y == FM_BIND_WEAK))
        return x == FM_BIND_WEAK;
    if ((x == FM_BIND_GLOBAL) != (y == FM_BIND_GLOBAL))
        return y == FM_BIND_GLOBAL;
    if (a->underscores != b->underscores)
        return b->underscores < a->underscores;
    if (a->length != b->length)
        return b->length > a->length;
    return is_alias(&a->symbol) && !is_alias(&b->symbol);
}

/* Innermost first, then the better name, then the earlier one: a total order. */
static bool hit_before(const struct fm_hit *a, const struct fm_hit *b)
{
    if (a->symbol.start != b->symbol.start)
        return a->symbol.start > b->symbol.start;
    if (is_better(a, b))
        return false;
    if (is_better(b, a))
        return true;
    return a->order < b->order;
}

/* Heap sort: in place, no worst case, no recursion. */
static void sift(struct fm_hit *hit, size_t root, size_t n)
{
    struct fm_hit moved = hit[root];
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= n)
            break;
        if (child + 1 < n && hit_before(&hit[child], &hit[child + 1]))
            child++;
        if (!hit_before(&moved, &hit[child]))
            break;
        hit[root] = hit[child];
        root = child;
    }
    hit[root] = moved;
}

static void sort_hits(struct fm_hit *hit, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift(hit, i, n);
    for (size_t i = n; i-- > 1;) {
        struct fm_hit last = hit[i];
        hit[i] = hit[0];
        hit[0] = last;
        sift(hit, 0, i);
    }
}

/* ------------------------------------------------------------------ life */

enum fm_status fm_match_init(struct fm_match *match, struct fm_mem *mem, struct fm_point *point,
                             size_t points)
{
    size_t bytes;

    memset(match, 0, sizeof *match);
    match->mem = mem;
    if (points >= NONE || !fm_mul_size(points, sizeof *match->near, &bytes))
        return FM_NOMEM;
    if (fm_points_sort(mem, point, points) != FM_OK)
        return FM_NOMEM;
    match->near = fm_mem_zalloc(mem, bytes);
    if (match->near == NULL)
        return FM_NOMEM;
    match->point = point;
    match->points = points;
    for (size_t i = 0; i < points; i++) {
        fm_assert(i == 0 || point[i - 1].address <= point[i].address);
        point[i].pick = NONE;
    }
    return FM_OK;
}

void fm_match_release(struct fm_match *match)
{
    if (match->mem == NULL)
        return;
    fm_mem_free(match->mem, match->near, match->points * sizeof *match->near);
    fm_mem_free(match->mem, match->hit, match->hit_cap * sizeof *match->hit);
    fm_mem_free(match->mem, match->pick, match->pick_cap * sizeof *match->pick);
    memset(match, 0, sizeof *match);
}

/* -------------------------------------------------------------- matching */

size_t fm_points_find(const struct fm_point *point, size_t n, uint64_t address)
{
    const struct fm_point *base = point;

    if (n == 0)
        return 0;
    while (n > 1) {
        size_t half = n / 2;
        base = base[half - 1].address < address ? base + half : base;
        n -= half;
    }
    return (size_t)(base - point) + (base->address < address);
}

static bool is_lower_bound(const struct fm_match *match, size_t i, uint64_t address)
{
    return (i == 0 || match->point[i - 1].address < address) &&
           (i == match->points || match->point[i].address >= address);
}

static size_t lower_bound(struct fm_match *match, uint64_t address)
{
    size_t i = match->hint;

    if (!is_lower_bound(match, i, address)) {
        if (i < match->points && is_lower_bound(match, i + 1, address))
            i++;
        else
            i = fm_points_find(match->point, match->points, address);
        match->hint = i;
    }
    return i;
}

bool fm_match_wants(const struct fm_match *match, uint64_t start, uint64_t end)
{
    size_t i = fm_points_find(match->point, match->points, start);
    return i < match->points && match->point[i].address < end;
}

static void add_hit(struct fm_match *match, const struct fm_symbol *symbol, size_t lo, size_t hi)
{
    struct fm_hit *hit;

    if (match->hits >= NONE - 1 ||
        !fm_grow(match->mem, (void **)&match->hit, &match->hit_cap, match->hits + 1,
                 sizeof *match->hit)) {
        match->oom = true;
        return;
    }
    hit = &match->hit[match->hits];
    hit->symbol = *symbol;
    hit->lo = lo;
    hit->hi = hi;
    hit->length = hit->underscores = 0;
    hit->order = (uint32_t)match->hits++;
}

/* Measures the names of symbols with one start: the hits are sorted by start already. */
static void measure(struct fm_match *match)
{
    for (size_t i = 0; i < match->hits; i++) {
        struct fm_hit *hit = &match->hit[i];
        const uint64_t start = hit->symbol.start;
        if ((i == 0 || hit[-1].symbol.start != start) &&
            (i + 1 == match->hits || hit[1].symbol.start != start))
            continue;
        hit->length = hit->symbol.length;
        while (hit->underscores < hit->length && hit->symbol.name[hit->underscores] == '_')
            hit->underscores++;
        if (match->show != NULL)
            match->show(match->show_user, hit->symbol.name, hit->symbol.length, &hit->length,
                        &hit->underscores);
    }
}

bool fm_match_touches(struct fm_match *match, uint64_t start, uint64_t size)
{
    const size_t lo = lower_bound(match, start);

    if (lo == match->points)
        return false;
    return match->near[lo].name == NULL || start >= match->near[lo].start ||
           match->point[lo].address - start < size;
}

void fm_match_clear(struct fm_match *match)
{
    for (size_t i = 0; i < match->points; i++) {
        memset(&match->near[i], 0, sizeof match->near[i]);
        match->point[i].pick = NONE;
    }
    match->hits = match->picks = 0;
}

void fm_match_offer(struct fm_match *match, const struct fm_symbol *symbol)
{
    size_t lo = lower_bound(match, symbol->start), hi;
    struct fm_symbol *near;
    uint64_t end;

    if (lo == match->points || symbol->length == 0)
        return;
    near = &match->near[lo];
    if (near->name == NULL || symbol->start > near->start ||
        (symbol->start == near->start && (symbol->size != 0 || near->size == 0)))
        *near = *symbol;
    if (symbol->size == 0)
        return;
    if (!fm_add_u64(symbol->start, symbol->size, &end))
        end = UINT64_MAX;
    if (match->point[lo].address >= end)
        return;
    hi = fm_points_find(match->point + lo, match->points - lo, end) + lo;
    fm_assert(hi > lo);
    add_hit(match, symbol, lo, hi);
}

/* Paths are halved on the way. */
size_t fm_points_free(uint32_t *next, size_t i)
{
    while (next[i] != i) {
        next[i] = next[next[i]];
        i = next[i];
    }
    return i;
}

static bool add_pick(struct fm_match *match, const struct fm_symbol *symbol)
{
    if (!fm_grow(match->mem, (void **)&match->pick, &match->pick_cap, match->picks + 1,
                 sizeof *match->pick)) {
        match->oom = true;
        return false;
    }
    match->pick[match->picks++] = *symbol;
    return true;
}

static void paint_hits(struct fm_match *match, uint32_t *next)
{
    for (size_t h = 0; h < match->hits; h++) {
        const struct fm_hit *hit = &match->hit[h];
        size_t i = fm_points_free(next, hit->lo);
        if (i >= hit->hi)
            continue;
        if (!add_pick(match, &hit->symbol))
            return;
        for (; i < hit->hi; i = fm_points_free(next, i)) {
            match->point[i].pick = (uint32_t)(match->picks - 1);
            next[i] = (uint32_t)i + 1;
        }
    }
}

/* Points that no sized symbol covers: the nearest symbol before them, when it has no size. */
static void paint_labels(struct fm_match *match)
{
    const struct fm_symbol *near = NULL;
    bool picked = false;

    for (size_t i = 0; i < match->points; i++) {
        struct fm_point *point = &match->point[i];
        if (match->near[i].name != NULL) {
            near = &match->near[i];
            picked = false;
        }
        if (point->pick != NONE || near == NULL || near->size != 0 ||
            point->address >= near->limit)
            continue;
        fm_assert(near->start <= point->address);
        if (!picked && !add_pick(match, near))
            return;
        picked = true;
        point->pick = (uint32_t)(match->picks - 1);
    }
}

enum fm_status fm_match_finish(struct fm_match *match)
{
    size_t bytes = (match->points + 1) * sizeof(uint32_t);
    uint32_t *next;

    if (match->oom)
        return FM_NOMEM;
    next = fm_mem_alloc(match->mem, bytes);
    if (next == NULL)
        return FM_NOMEM;
    for (size_t i = 0; i <= match->points; i++)
        next[i] = (uint32_t)i;
    sort_hits(match->hit, match->hits);
    measure(match);
    sort_hits(match->hit, match->hits);
    paint_hits(match, next);
    fm_mem_free(match->mem, next, bytes);
    paint_labels(match);
    return match->oom ? FM_NOMEM : FM_OK;
}
