/*
 * order.c - sort and limit of result tables.
 *
 * Every result is totally ordered: by the sort keys, then by all key columns ascending; text
 * bytewise, numbers by value, paths frame by frame from the root (a prefix first), nulls last in
 * either direction. Never by id, hash or input order: two runs and two importers agree.
 *
 * Rows are sorted by a 64-bit prefix of the first key, which settles most comparisons without
 * touching the columns; equal prefixes are compared in full. Merge sort: no worst case.
 */
#include "query/group.h"

#include "util/error.h"

#include <math.h>

#include <stdlib.h>

struct item {
    uint64_t prefix;
    uint32_t row;
};

struct sorter {
    const struct fm_table *t;
    const struct fm_sort_key *key;
    size_t keys;
};

/* ------------------------------------------------------------ rank of paths */

struct child {
    const char *s;
    size_t n;
    uint32_t path;
};

static int compare_text(const char *a, size_t n, const char *b, size_t m)
{
    int order = memcmp(a, b, FM_MIN(n, m));

    return order != 0 ? order : n < m ? -1 : n > m;
}

static int compare_children(const void *a, const void *b)
{
    const struct child *x = a, *y = b;

    return compare_text(x->s, x->n, y->s, y->n);
}

/* Pre-order numbers of the path trie with children in the order of their labels. */
static bool rank_paths(struct fm_table *t)
{
    struct fm_paths *p = &t->paths;
    const struct fm_trie_node *node = p->trie.node;
    size_t n = p->trie.n, top = 0;
    uint32_t rank = 0;
    uint32_t *first = fm_mem_zalloc(t->mem, (n + 2) * sizeof *first);
    uint32_t *stack = fm_mem_alloc(t->mem, (n + 1) * sizeof *stack);
    struct child *child = fm_mem_alloc(t->mem, (n + 1) * sizeof *child);
    bool ok = first != NULL && stack != NULL && child != NULL;

    p->rank = ok ? fm_mem_alloc(t->mem, n * sizeof *p->rank) : NULL;
    ok = p->rank != NULL;
    p->ranks = ok ? n : 0;
    for (size_t i = 1; ok && i < n; i++)
        first[node[i].parent + 2]++;
    for (size_t i = 1; ok && i < n + 2; i++)
        first[i] += first[i - 1];
    for (size_t i = 1; ok && i < n; i++) {
        struct child *c = &child[first[node[i].parent + 1]++];
        c->s = fm_store_str(t->store, node[i].key, &c->n);
        c->path = (uint32_t)i;
    }
    if (ok)
        stack[top++] = 0;
    while (ok && top > 0) {
        uint32_t at = stack[--top], from = first[at], to = first[at + 1];
        p->rank[at] = rank++;
        if (to - from > 1)
            qsort(child + from, to - from, sizeof *child, compare_children);
        for (uint32_t i = to; i-- > from;)
            stack[top++] = child[i].path;
    }
    fm_assert(!ok || rank == n);
    fm_mem_free(t->mem, first, first == NULL ? 0 : (n + 2) * sizeof *first);
    fm_mem_free(t->mem, stack, stack == NULL ? 0 : (n + 1) * sizeof *stack);
    fm_mem_free(t->mem, child, child == NULL ? 0 : (n + 1) * sizeof *child);
    return ok;
}

/* --------------------------------------------------------------- comparing */

static uint32_t depth_of(const struct fm_trie_node *node, uint32_t path)
{
    uint32_t depth = 0;

    for (; path != 0; path = node[path].parent)
        depth++;
    return depth;
}

/* Without ranks: the labels where the two paths part. */
static int compare_paths(const struct fm_table *t, uint32_t a, uint32_t b)
{
    const struct fm_trie_node *node = t->paths.trie.node;
    uint32_t da = depth_of(node, a), db = depth_of(node, b), shorter = FM_MIN(da, db);
    const char *s, *r;
    size_t n, m;

    for (uint32_t d = da; d > shorter; d--)
        a = node[a].parent;
    for (uint32_t d = db; d > shorter; d--)
        b = node[b].parent;
    if (a == b)
        return da < db ? -1 : da > db;
    while (node[a].parent != node[b].parent) {
        a = node[a].parent;
        b = node[b].parent;
    }
    s = fm_store_str(t->store, node[a].key, &n);
    r = fm_store_str(t->store, node[b].key, &m);
    return compare_text(s, n, r, m);
}

static int compare_cells(const struct fm_table *t, size_t col, uint32_t a, uint32_t b)
{
    const struct fm_cells *cells = &t->cells[col];
    const char *s, *r;
    size_t n, m;

    switch (t->schema->column[col].type) {
    case FM_CELL_TEXT:
        if (cells->id[a] == cells->id[b])
            return 0;
        s = fm_store_str(t->store, cells->id[a], &n);
        r = fm_store_str(t->store, cells->id[b], &m);
        return compare_text(s, n, r, m);
    case FM_CELL_PATH:
        if (t->paths.rank == NULL)
            return compare_paths(t, cells->id[a], cells->id[b]);
        n = t->paths.rank[cells->id[a]];
        m = t->paths.rank[cells->id[b]];
        return n < m ? -1 : n > m;
    case FM_CELL_F64:
        return cells->f[a] < cells->f[b] ? -1 : cells->f[a] > cells->f[b];
    default:
        return cells->i[a] < cells->i[b] ? -1 : cells->i[a] > cells->i[b];
    }
}

int fm_table_compare(const struct fm_table *t, size_t col, bool descending, uint32_t a,
                     uint32_t b)
{
    bool na = fm_table_is_null(t, a, col), nb = fm_table_is_null(t, b, col);
    int order;

    if (na || nb)
        return (int)na - (int)nb;
    order = compare_cells(t, col, a, b);
    return descending ? -order : order;
}

static int compare_keys(const struct fm_table *t, const struct fm_sort_key *key, size_t keys,
                        uint32_t a, uint32_t b)
{
    int order = 0;

    for (size_t k = 0; order == 0 && k < keys; k++)
        order = fm_table_compare(t, key[k].col, key[k].descending, a, b);
    return order;
}

static int compare_rows(const struct sorter *s, uint32_t a, uint32_t b)
{
    int order = compare_keys(s->t, s->key, s->keys, a, b);

    for (size_t c = 0; order == 0 && c < s->t->schema->n; c++) {
        if (s->t->schema->column[c].key)
            order = fm_table_compare(s->t, c, false, a, b);
    }
    return order;
}

int fm_table_order(const struct fm_table *t, const struct fm_sort_key *key, size_t keys,
                   uint32_t a, uint32_t b)
{
    struct sorter s = { t, key, keys };

    return compare_rows(&s, a, b);
}

static uint64_t prefix_of(const struct fm_table *t, size_t col, bool descending, uint32_t row)
{
    const struct fm_cells *cells = &t->cells[col];
    uint64_t prefix = 0;
    const char *s;
    size_t n;
    fm_i128 v;

    if (fm_table_is_null(t, row, col))
        return UINT64_MAX;
    switch (t->schema->column[col].type) {
    case FM_CELL_TEXT:
        s = fm_store_str(t->store, cells->id[row], &n);
        for (size_t i = 0; i < 8; i++)
            prefix = prefix << 8 | (i < n ? (unsigned char)s[i] : 0);
        break;
    case FM_CELL_PATH:
        prefix = t->paths.rank[cells->id[row]];
        break;
    case FM_CELL_F64:
        prefix = fm_f64_bits(cells->f[row] + 0.0); /* -0 becomes 0 */
        prefix = prefix >> 63 ? ~prefix : prefix | UINT64_C(1) << 63;
        break;
    default:
        v = cells->i[row];
        v = v < INT64_MIN ? INT64_MIN : v > INT64_MAX ? INT64_MAX : v;
        prefix = (uint64_t)(int64_t)v ^ UINT64_C(1) << 63;
        break;
    }
    return descending ? ~prefix : prefix;
}

static bool before(const struct sorter *s, const struct item *a, const struct item *b)
{
    if (a->prefix != b->prefix)
        return a->prefix < b->prefix;
    return compare_rows(s, a->row, b->row) < 0;
}

static void merge_sort(const struct sorter *s, struct item *item, struct item *spare, size_t n)
{
    for (size_t width = 1; width < n; width *= 2) {
        struct item *swap = spare;
        for (size_t from = 0; from < n; from += 2 * width) {
            size_t mid = FM_MIN(from + width, n), end = FM_MIN(from + 2 * width, n);
            size_t a = from, b = mid;
            for (size_t k = from; k < end; k++) {
                bool right = a == mid || (b < end && before(s, &item[b], &item[a]));
                spare[k] = right ? item[b++] : item[a++];
            }
        }
        spare = item;
        item = swap;
    }
    if (n > 0)
        s->t->order[0] = item[0].row;
    for (size_t i = 1; i < n; i++)
        s->t->order[i] = item[i].row;
}

static void fill_items(const struct sorter *s, struct item *item)
{
    const struct fm_table *t = s->t;
    size_t first = s->keys > 0 ? s->key[0].col : FM_NONE;
    bool descending = s->keys > 0 && s->key[0].descending;

    for (size_t c = 0; first == FM_NONE && c < t->schema->n; c++) {
        if (t->schema->column[c].key)
            first = c;
    }
    /* paths have no prefix before they are ranked */
    if (first != FM_NONE && t->schema->column[first].type == FM_CELL_PATH
        && t->paths.rank == NULL)
        first = FM_NONE;
    for (size_t i = 0; i < t->n; i++)
        item[i] = (struct item){ first == FM_NONE
                                     ? 0 : prefix_of(t, first, descending, t->order[i]),
                                 t->order[i] };
}

enum fm_status fm_table_sort(struct fm_table *t, const struct fm_sort_key *key, size_t keys,
                             struct fm_error *err)
{
    struct sorter s = { t, key, keys };
    struct item *item;

    if (t->n == 0)
        return FM_OK;
    if (t->paths.trie.n > 0 && t->paths.rank == NULL && !rank_paths(t))
        return fm_error_nomem(err);
    item = fm_mem_alloc(t->mem, 2 * t->n * sizeof *item);
    if (item == NULL)
        return fm_error_nomem(err);
    fill_items(&s, item);
    merge_sort(&s, item, item + t->n, t->n);
    fm_mem_free(t->mem, item, 2 * t->n * sizeof *item);
    t->sorted = true;
    return FM_OK;
}

/* Lets heap[at] sink; the last in order is on top. */
static void sink(const struct sorter *s, struct item *heap, size_t n, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        struct item swap = heap[at];
        if (child >= n)
            return;
        if (child + 1 < n && before(s, &heap[child], &heap[child + 1]))
            child++;
        if (!before(s, &heap[at], &heap[child]))
            return;
        heap[at] = heap[child];
        heap[child] = swap;
        at = child;
    }
}

enum fm_status fm_table_top(struct fm_table *t, const struct fm_sort_key *key, size_t keys,
                            size_t rows, struct fm_error *err)
{
    struct sorter s = { t, key, keys };
    size_t all = t->n;
    struct item *item;

    if (rows == 0 || rows >= all / 8)
        return fm_table_sort(t, key, keys, err);
    item = fm_mem_alloc(t->mem, all * sizeof *item);
    if (item == NULL)
        return fm_error_nomem(err);
    fill_items(&s, item);
    for (size_t i = rows / 2; i-- > 0;)
        sink(&s, item, rows, i);
    for (size_t i = rows; i < all; i++) {
        if (!before(&s, &item[i], &item[0]))
            continue;
        item[0] = item[i];
        sink(&s, item, rows, 0);
    }
    t->n = rows;
    merge_sort(&s, item, item + rows, rows);     /* 2 * rows <= all */
    fm_mem_free(t->mem, item, all * sizeof *item);
    t->sorted = true;
    return FM_OK;
}

/* ------------------------------------------------------------------- limit */

struct slice {
    uint64_t rows, met, kept;
    uint32_t like;               /* its first row: has the cells of `per` */
    uint32_t last;               /* row kept last */
    uint32_t rest;               /* row that folds the others; FM_NONE = none yet */
};

struct limiter {
    struct fm_table *t;
    const struct fm_limit *limit;
    struct slice *slice;
    size_t slices, cap;
    uint32_t *slice_of;          /* by place in the order */
};

/* A word that is equal for equal cells of a column. */
static uint64_t lane_of(const struct fm_table *t, uint32_t row, size_t col)
{
    const struct fm_cells *cells = &t->cells[col];

    if (cells->id != NULL)
        return cells->id[row];
    return cells->f != NULL ? fm_f64_bits(cells->f[row] + 0.0)
                            : fm_mix((uint64_t)(cells->i[row] >> 64), (uint64_t)cells->i[row]);
}

static bool same_per(const struct limiter *l, uint32_t a, uint32_t b)
{
    for (size_t k = 0; k < l->limit->pers; k++) {
        if (fm_table_compare(l->t, l->limit->per[k], false, a, b) != 0)
            return false;
    }
    return true;
}

/* The slice of a row; cells are compared, hashes only lead to them. FM_NONE: no memory. */
static uint32_t slice_of(struct limiter *l, struct fm_map *map, uint32_t row)
{
    const struct fm_limit *limit = l->limit;
    uint64_t h = 0, *slot;
    bool fresh;

    for (size_t k = 0; k < limit->pers; k++)
        h = fm_mix(h + 1, fm_table_is_null(l->t, row, limit->per[k])
                              ? UINT64_MAX : lane_of(l->t, row, limit->per[k]));
    for (;; h++) {
        slot = fm_map_put(map, h, &fresh);
        if (slot == NULL)
            return FM_NONE;
        if (fresh)
            break;
        if (same_per(l, l->slice[*slot].like, row))
            return (uint32_t)*slot;
    }
    if (!fm_grow(l->t->mem, (void **)&l->slice, &l->cap, l->slices + 1, sizeof *l->slice))
        return FM_NONE;
    l->slice[l->slices] = (struct slice){ .like = row, .last = FM_NONE, .rest = FM_NONE };
    *slot = l->slices;
    return (uint32_t)l->slices++;
}

static bool find_slices(struct limiter *l)
{
    struct fm_map map;
    bool ok = true;

    fm_map_init(&map, l->t->mem);
    for (size_t i = 0; ok && i < l->t->n; i++) {
        l->slice_of[i] = slice_of(l, &map, l->t->order[i]);
        ok = l->slice_of[i] != FM_NONE;
        if (ok)
            l->slice[l->slice_of[i]].rows++;
    }
    fm_map_release(&map);
    return ok;
}

static bool name_rest(struct limiter *l, uint32_t row)
{
    struct fm_table *t = l->t;
    fm_str name = fm_store_str_add(t->store, l->limit->rest, l->limit->rest_n);

    if (name == FM_NONE)
        return false;
    for (size_t c = 0; c < t->schema->n; c++) {
        enum fm_cell_type type = t->schema->column[c].type;
        bool per = false;
        for (size_t k = 0; k < l->limit->pers; k++)
            per |= l->limit->per[k] == c;
        if (!t->schema->column[c].key || per || (type != FM_CELL_TEXT && type != FM_CELL_PATH))
            continue;
        if (type == FM_CELL_TEXT) {
            fm_table_id(t, row, c, name);
            return true;
        }
        fm_mem_free(t->mem, t->paths.rank, t->paths.ranks * sizeof *t->paths.rank);
        t->paths.rank = NULL;
        t->paths.ranks = 0;
        fm_table_id(t, row, c, fm_trie_child(&t->paths.trie, 0, name));
        return !fm_table_is_null(t, row, c);
    }
    return true;
}

static uint32_t new_rest(struct limiter *l, uint32_t like)
{
    struct fm_table *t = l->t;
    uint32_t row = fm_table_add(t);

    if (row == FM_NONE)
        return row;
    t->n--;                       /* placed at the end, later */
    for (size_t k = 0; k < l->limit->pers; k++) {
        struct fm_cells *cells = &t->cells[l->limit->per[k]];
        if (cells->id != NULL)
            cells->id[row] = cells->id[like];
        else
            cells->valid[row] = cells->valid[like];
        if (cells->i != NULL)
            cells->i[row] = cells->i[like];
        if (cells->f != NULL)
            cells->f[row] = cells->f[like];
    }
    return name_rest(l, row) ? row : FM_NONE;
}

/* The sum of two shares of one total: of their numerators, which are whole, so that 10 % and 5 %
 * are 15 % to the last digit. */
static double add_shares(const struct fm_table *t, const char *of, double a, double b)
{
    fm_i128 base = strcmp(of, "all") == 0 ? t->all : strcmp(of, "selected") == 0 ? t->selected : 0;
    double total = (double)base;

    if (base <= 0 || base >= (fm_i128)1 << 53)
        return a + b;
    return (rint(a * total) + rint(b * total)) / total;
}

static double add_cells(const struct fm_table *t, size_t c, uint32_t rest, uint32_t row)
{
    const struct fm_cells *cells = &t->cells[c];
    double before = cells->valid[rest] ? cells->f[rest] : 0;

    if (t->schema->column[c].share)
        return add_shares(t, t->schema->column[c].of, before, cells->f[row]);
    return before + cells->f[row];
}

static bool fold(struct limiter *l, struct slice *s, uint32_t row)
{
    struct fm_table *t = l->t;

    if (l->limit->rest == NULL)
        return true;
    if (s->rest == FM_NONE) {
        s->rest = new_rest(l, row);
        if (s->rest == FM_NONE)
            return false;
    }
    for (size_t c = 0; c < t->schema->n; c++) {
        struct fm_cells *cells = &t->cells[c];
        if (!t->schema->column[c].additive || fm_table_is_null(t, row, c))
            continue;
        if (cells->i != NULL)
            fm_table_int(t, s->rest, c,
                         (cells->valid[s->rest] ? cells->i[s->rest] : 0) + cells->i[row]);
        else if (cells->f != NULL)
            fm_table_f64(t, s->rest, c, add_cells(t, c, s->rest, row));
    }
    return true;
}

bool fm_table_ties(struct fm_table *t, const struct fm_sort_key *key, size_t keys)
{
    uint32_t *tie = fm_mem_zalloc(t->mem, t->rows * sizeof *tie);

    if (tie == NULL)
        return false;
    for (size_t i = 1; i < t->n; i++)
        tie[t->order[i]] = tie[t->order[i - 1]]
                           + (compare_keys(t, key, keys, t->order[i - 1], t->order[i]) != 0);
    fm_table_untie(t);
    t->tie = tie;
    t->ties = t->rows;
    return true;
}

void fm_table_untie(struct fm_table *t)
{
    fm_mem_free(t->mem, t->tie, t->ties * sizeof *t->tie);
    t->tie = NULL;
    t->ties = 0;
}

static bool keeps(const struct limiter *l, const struct slice *s, uint32_t row)
{
    uint64_t skip = 0;

    if (l->limit->at >= 0)
        skip = fm_nearest_rank(100 * l->limit->at, s->rows) - 1;
    if (s->met < skip)
        return false;
    if (s->kept < l->limit->rows)
        return true;
    /* without a sort the order is that of the keys, which no two rows share */
    return l->limit->ties && s->last != FM_NONE && FM_MAX(s->last, row) < l->t->ties
           && l->t->tie[s->last] == l->t->tie[row];
}

enum fm_status fm_table_limit(struct fm_table *t, const struct fm_limit *limit,
                              struct fm_error *err)
{
    struct limiter l = { .t = t, .limit = limit };
    size_t rows = t->n, kept = 0;
    bool ok;

    if (limit->all || rows == 0)
        return FM_OK;
    for (size_t k = 0; k < limit->pers; k++)
        fm_assert(limit->per[k] < t->schema->n);
    l.slice_of = fm_mem_alloc(t->mem, rows * sizeof *l.slice_of);
    ok = l.slice_of != NULL && find_slices(&l);
    for (size_t i = 0; ok && i < rows; i++) {
        struct slice *s = &l.slice[l.slice_of[i]];
        uint32_t row = t->order[i];
        if (keeps(&l, s, row)) {
            s->kept++;
            s->last = row;
            t->order[kept++] = row;
        } else {
            ok = fold(&l, s, row);
        }
        s->met++;
    }
    for (size_t i = 0; ok && i < l.slices; i++) {
        if (l.slice[i].rest != FM_NONE)
            t->order[kept++] = l.slice[i].rest;
    }
    if (ok)
        t->n = kept;
    t->sorted = true;             /* the rest rows stay behind the others */
    fm_mem_free(t->mem, l.slice_of, l.slice_of == NULL ? 0 : rows * sizeof *l.slice_of);
    fm_mem_free(t->mem, l.slice, l.cap * sizeof *l.slice);
    return ok ? FM_OK : fm_error_nomem(err);
}
