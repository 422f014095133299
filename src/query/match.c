/*
 * match.c - rows of two tables that have equal values, for join and diff.
 *
 * The tables may be of two stores, where ids of texts mean different strings: texts are compared as
 * bytes, paths label by label, numbers by value. Hashes only lead to rows that are compared then.
 */
#include "query/group.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ------------------------------------------------------------------ hashes */

static uint64_t hash_text(const struct fm_table *t, fm_str id)
{
    const char *s;
    size_t n;

    s = fm_store_str(t->store, id, &n);
    return XXH3_64bits(s, n);
}

static uint64_t hash_cell(const struct fm_table *t, uint32_t row, size_t col)
{
    const struct fm_cells *cells = &t->cells[col];
    const struct fm_trie_node *node = t->paths.trie.node;
    uint64_t h = 0;

    if (fm_table_is_null(t, row, col))
        return UINT64_C(0x9e3779b97f4a7c15);
    switch (t->schema->column[col].type) {
    case FM_CELL_TEXT:
        return hash_text(t, cells->id[row]);
    case FM_CELL_PATH:
        for (uint32_t at = cells->id[row]; at != 0; at = node[at].parent)
            h = fm_mix(h + 1, hash_text(t, node[at].key));
        return h;
    case FM_CELL_F64:
        return fm_f64_bits(cells->f[row] + 0.0);
    default:
        return fm_f64_bits((double)cells->i[row]);
    }
}

static uint64_t hash_row(const struct fm_table *t, const size_t *col, size_t cols, uint32_t row)
{
    uint64_t h = 1;

    for (size_t k = 0; k < cols; k++)
        h = fm_mix(h, hash_cell(t, row, col[k]));
    return h;
}

/* ---------------------------------------------------------------- equality */

static bool same_text(const struct fm_table *a, fm_str x, const struct fm_table *b, fm_str y)
{
    const char *s, *r;
    size_t n, m;

    if (a->store == b->store)
        return x == y;
    s = fm_store_str(a->store, x, &n);
    r = fm_store_str(b->store, y, &m);
    return n == m && memcmp(s, r, n) == 0;
}

static bool same_path(const struct fm_table *a, uint32_t x, const struct fm_table *b, uint32_t y)
{
    const struct fm_trie_node *na = a->paths.trie.node, *nb = b->paths.trie.node;

    for (; x != 0 && y != 0; x = na[x].parent, y = nb[y].parent) {
        if (!same_text(a, na[x].key, b, nb[y].key))
            return false;
    }
    return x == y;
}

static bool same_cell(const struct fm_table *a, uint32_t x, size_t xc, const struct fm_table *b,
                      uint32_t y, size_t yc)
{
    const struct fm_cells *ca = &a->cells[xc], *cb = &b->cells[yc];
    bool na = fm_table_is_null(a, x, xc), nb = fm_table_is_null(b, y, yc);

    if (na || nb)
        return na && nb;
    switch (a->schema->column[xc].type) {
    case FM_CELL_TEXT:
        return same_text(a, ca->id[x], b, cb->id[y]);
    case FM_CELL_PATH:
        return same_path(a, ca->id[x], b, cb->id[y]);
    default:
        if (ca->i != NULL && cb->i != NULL)
            return ca->i[x] == cb->i[y];
        return (ca->i != NULL ? (double)ca->i[x] : ca->f[x])
               == (cb->i != NULL ? (double)cb->i[y] : cb->f[y]);
    }
}

static bool same_row(const struct fm_lookup *x, uint32_t have, const struct fm_table *t,
                     const size_t *col, uint32_t row)
{
    for (size_t k = 0; k < x->cols; k++) {
        if (!same_cell(x->t, have, x->col[k], t, row, col[k]))
            return false;
    }
    return true;
}

bool fm_cells_match(enum fm_cell_type a, enum fm_cell_type b)
{
    bool text = a == FM_CELL_TEXT || b == FM_CELL_TEXT;
    bool path = a == FM_CELL_PATH || b == FM_CELL_PATH;

    return a == b || (!text && !path);
}

/* ------------------------------------------------------------------- index */

bool fm_lookup_init(struct fm_lookup *x, const struct fm_table *t, const size_t *col, size_t cols)
{
    *x = (struct fm_lookup){ .t = t, .col = col, .cols = cols };
    fm_map_init(&x->map, t->mem);
    if (t->rows == 0)
        return true;
    x->next = fm_mem_alloc(t->mem, t->rows * sizeof *x->next);
    if (x->next == NULL)
        return false;
    /* from the last, so that chains are in the order of the table */
    for (size_t i = t->n; i-- > 0;) {
        uint32_t row = t->order[i];
        bool fresh;
        uint64_t *slot = fm_map_put(&x->map, hash_row(t, col, cols, row), &fresh);
        if (slot == NULL)
            return false;
        x->next[row] = fresh ? FM_NONE : (uint32_t)*slot;
        *slot = row;
    }
    return true;
}

void fm_lookup_release(struct fm_lookup *x)
{
    if (x->t == NULL)
        return;
    fm_map_release(&x->map);
    fm_mem_free(x->t->mem, x->next, x->next == NULL ? 0 : x->t->rows * sizeof *x->next);
}

uint32_t fm_lookup_find(const struct fm_lookup *x, const struct fm_table *t, const size_t *col,
                       uint32_t row)
{
    const uint64_t *slot = fm_map_find(&x->map, hash_row(t, col, x->cols, row));
    uint32_t at = slot == NULL ? FM_NONE : (uint32_t)*slot;

    while (at != FM_NONE && !same_row(x, at, t, col, row))
        at = x->next[at];
    return at;
}

uint32_t fm_lookup_next(const struct fm_lookup *x, uint32_t row)
{
    uint32_t at = x->next[row];

    while (at != FM_NONE && !same_row(x, at, x->t, x->col, row))
        at = x->next[at];
    return at;
}

/* ------------------------------------------------------------------- cells */

static fm_str copy_text(struct fm_table *to, const struct fm_table *from, fm_str id)
{
    const char *s;
    size_t n;

    if (to->store == from->store)
        return id;
    s = fm_store_str(from->store, id, &n);
    return fm_store_str_add(to->store, s, n);
}

/* Labels from the root on; the way up is kept in `up`. */
static uint32_t copy_path(struct fm_table *to, const struct fm_table *from, uint32_t path)
{
    const struct fm_trie_node *node = from->paths.trie.node;
    uint32_t *up, at = 0;
    size_t n = 0;

    if (to->paths.trie.n == 0 && !fm_trie_init(&to->paths.trie, to->mem))
        return UINT32_MAX;
    for (uint32_t p = path; p != 0; p = node[p].parent)
        n++;
    up = fm_mem_alloc(to->mem, (n + 1) * sizeof *up);
    if (up == NULL)
        return UINT32_MAX;
    for (size_t i = 0; i < n; i++, path = node[path].parent)
        up[i] = node[path].key;
    for (size_t i = n; i-- > 0 && at != UINT32_MAX;) {
        fm_str label = copy_text(to, from, up[i]);
        at = label == FM_NONE ? UINT32_MAX : fm_trie_child(&to->paths.trie, at, label);
    }
    fm_mem_free(to->mem, up, (n + 1) * sizeof *up);
    return at;
}

bool fm_cell_copy(struct fm_table *to, uint32_t row, size_t col, const struct fm_table *from,
                  uint32_t from_row, size_t from_col)
{
    const struct fm_cells *cells = &from->cells[from_col];
    uint32_t id;

    if (fm_table_is_null(from, from_row, from_col))
        return true;
    switch (to->schema->column[col].type) {
    case FM_CELL_TEXT:
    case FM_CELL_PATH:
        fm_assert(cells->id != NULL);
        id = to->schema->column[col].type == FM_CELL_TEXT
                 ? copy_text(to, from, cells->id[from_row])
                 : copy_path(to, from, cells->id[from_row]);
        fm_table_id(to, row, col, id);
        return id != FM_NONE;
    case FM_CELL_F64:
        fm_table_f64(to, row, col,
                     cells->i != NULL ? (double)cells->i[from_row] : cells->f[from_row]);
        return true;
    default:
        fm_table_int(to, row, col, cells->i != NULL ? cells->i[from_row]
                                                    : (fm_i128)fm_clamp_i64(cells->f[from_row]));
        return true;
    }
}

struct fm_number fm_table_number(const struct fm_table *t, uint32_t row, size_t col)
{
    const struct fm_cells *cells = &t->cells[col];
    struct fm_number n = { .there = !fm_table_is_null(t, row, col) };

    if (n.there && cells->i != NULL) {
        n.i = cells->i[row];
        n.f = (double)n.i;
    } else if (n.there && cells->f != NULL) {
        n.f = cells->f[row];
        n.i = (fm_i128)fm_clamp_i64(n.f);
    }
    return n;
}

static const char *path_text(struct fm_arena *arena, const struct fm_table *t, uint32_t path)
{
    const struct fm_trie_node *node = t->paths.trie.node;
    const char *text = "";

    for (; path != 0 && text != NULL; path = node[path].parent)
        text = fm_arena_printf(arena, "%s%s%s", fm_store_str(t->store, node[path].key, NULL),
                               *text != '\0' ? ";" : "", text);
    return text;
}

const char *fm_cell_text(struct fm_arena *arena, const struct fm_table *t, uint32_t row,
                         size_t col)
{
    static const struct fm_result_table form = { .separator = ";" };
    enum fm_cell_type type = t->schema->column[col].type;
    const struct fm_cells *cells = &t->cells[col];
    struct fm_cell cell = { .form = FM_FORM_INT };
    struct fm_out out;
    const char *text;

    if (fm_table_is_null(t, row, col))
        return "";
    if (type == FM_CELL_TEXT)
        return fm_store_str(t->store, cells->id[row], NULL);
    if (type == FM_CELL_PATH)
        return path_text(arena, t, cells->id[row]);
    if (fm_out_init(&out, t->mem, NULL) != FM_OK)
        return NULL;
    if (type == FM_CELL_F64) {
        cell.form = FM_FORM_F64;
        cell.f = cells->f[row];
    } else {
        cell.form = type == FM_CELL_BOOL ? FM_FORM_BOOL
                    : type == FM_CELL_ADDRESS ? FM_FORM_ADDRESS : FM_FORM_INT;
        cell.i = cells->i[row];
    }
    fm_cell_write(&form, &cell, &out);
    text = out.status == FM_OK ? fm_arena_strn(arena, out.buf, out.n) : NULL;
    fm_out_release(&out);
    return text;
}
