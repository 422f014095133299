/*
 * store.c - reading a sealed store: tables, tree, segments, blocks, links. Everything here is const
 * and may be called by many threads; the edits at the end belong to naming, before anybody reads.
 */
#include "store/inside.h"

struct fm_ctx *fm_store_ctx(const struct fm_store *store)
{
    return store->ctx;
}

void fm_store_free(struct fm_store *store)
{
    struct fm_mem *mem;
    uint64_t *leaf;

    if (store == NULL)
        return;
    mem = store->mem;
    leaf = atomic_load(&store->lazy->leaf);
    fm_mem_free(mem, leaf, store->t.frames * sizeof *leaf);
    fm_mem_free(mem, store->lazy, sizeof *store->lazy);
    for (size_t i = 0; i < store->segments; i++)
        fm_mem_free(mem, store->segment[i].col,
                    store->segment[i].col_cap * sizeof *store->segment[i].col);
    fm_mem_free(mem, store->segment, store->segment_cap * sizeof *store->segment);
    fm_mem_free(mem, store->link, store->link_cap * sizeof *store->link);
    fm_mem_free(mem, store->tree, store->nodes * sizeof *store->tree);
    fm_mem_free(mem, store->append, store->appends * sizeof *store->append);
    fm_chunks_release(&store->blocks);
    fm_tables_release(&store->t, mem);
    fm_strings_release(&store->strings);
    fm_mem_free(mem, store, sizeof *store);
}

/* ---------------------------------------------------------------- strings */

const char *fm_store_str(const struct fm_store *store, fm_str id, size_t *n)
{
    const struct fm_string *s = &store->strings.item[id];

    fm_assert(id < store->strings.n);
    if (n != NULL)
        *n = s->n;
    return s->p;
}

size_t fm_store_strings(const struct fm_store *store)
{
    return store->strings.n;
}

fm_str fm_store_str_find(const struct fm_store *store, const char *s, size_t n)
{
    return fm_strings_find(&store->strings, s, n);
}

fm_str fm_store_str_add(struct fm_store *store, const char *s, size_t n)
{
    return fm_strings_add(&store->strings, s, n);
}

/* ---------------------------------------------------------------- columns */

size_t fm_store_columns(const struct fm_store *store)
{
    return store->t.columns;
}

const struct fm_column_info *fm_store_column_info(const struct fm_store *store, fm_column col)
{
    fm_assert(col < store->t.columns);
    return &store->t.column[col];
}

static fm_column find_column(const struct fm_store *store, const char *name, size_t from)
{
    fm_str id = fm_strings_find(&store->strings, name, strlen(name));

    if (id == FM_NONE)
        return FM_NONE;
    for (size_t i = from; i < store->t.columns; i++) {
        if (store->t.column[i].name == id)
            return (fm_column)i;
    }
    return FM_NONE;
}

fm_column fm_store_column_find(const struct fm_store *store, const char *name)
{
    fm_column col = find_column(store, name, 0);

    if (col != FM_NONE)
        return col;
    if (strncmp(name, "label.", 6) == 0)
        return find_column(store, name + 6, FM_COL_LABELS);
    if (strncmp(name, "arg.", 4) == 0)
        return find_column(store, name + 4, FM_COL_LABELS);
    if (strncmp(name, "args.", 5) == 0)
        return find_column(store, name + 5, FM_COL_LABELS);
    return FM_NONE;
}

/* ----------------------------------------------------------------- tables */

const struct fm_event *fm_store_event_row(const struct fm_store *store, size_t i)
{
    fm_assert(i < store->t.events);
    return &store->t.event[i];
}

uint32_t fm_store_event_find(const struct fm_store *store, const char *name)
{
    fm_str id = fm_strings_find(&store->strings, name, strlen(name));

    for (size_t i = 0; id != FM_NONE && i < store->t.events; i++) {
        if (store->t.event[i].name == id)
            return (uint32_t)i;
    }
    return FM_NONE;
}

/* Whether an event bears more than another; instants have what others tell, moment by moment. */
static bool bears_more(const struct fm_event *a, const struct fm_event *b)
{
    bool instant = a->kind == FM_KIND_INSTANT;
    if (instant != (b->kind == FM_KIND_INSTANT))
        return instant ? b->stacks == 0 && a->stacks > 0 : a->stacks > 0 || b->stacks == 0;
    return a->stacks > b->stacks;
}

uint32_t fm_store_event_auto(const struct fm_store *store)
{
    const struct fm_event *e = store->t.event;
    uint32_t ranked = FM_NONE, most = FM_NONE;

    for (uint32_t i = 0; i < store->t.events; i++) {
        if (e[i].rows == 0)
            continue;
        if (e[i].default_rank >= 0 &&
            (ranked == FM_NONE || e[i].default_rank < e[ranked].default_rank))
            ranked = i;
        if (most == FM_NONE || bears_more(&e[i], &e[most]))
            most = i;
    }
    return ranked != FM_NONE ? ranked : most;
}

bool fm_store_event_default(const struct fm_store *store, uint32_t first, size_t i)
{
    const struct fm_event *a, *b = fm_store_event_row(store, i);

    if (first == FM_NONE)
        return false;
    a = fm_store_event_row(store, first);
    return first == i || (b->rows > 0 && a->metric != a->name && b->metric == a->metric &&
                          b->unit == a->unit && b->default_rank == a->default_rank);
}

bool fm_store_left_out(const struct fm_store *store)
{
    return store->left_out;
}

const struct fm_alias *fm_store_aliases(const struct fm_store *store, size_t *n)
{
    *n = store->t.aliases;
    return store->t.alias;
}

const struct fm_derived_event *fm_store_derived_events(const struct fm_store *store, size_t *n)
{
    *n = store->t.deriveds;
    return store->t.derived;
}

const struct fm_source *fm_store_source_row(const struct fm_store *store, size_t i)
{
    fm_assert(i < store->t.sources);
    return &store->t.source[i];
}

const struct fm_thread_row *fm_store_thread_row(const struct fm_store *store, fm_thread t)
{
    fm_assert(t < store->t.threads);
    return &store->t.thread[t];
}

const struct fm_module_row *fm_store_module_row(const struct fm_store *store, fm_module m)
{
    fm_assert(m < store->t.modules);
    return &store->t.module[m];
}

const struct fm_frame_row *fm_store_frame_row(const struct fm_store *store, fm_frame f)
{
    fm_assert(f < store->t.frames);
    return &store->t.frame[f];
}

size_t fm_store_frames(const struct fm_store *store)
{
    return store->t.frames;
}

fm_str fm_store_thread_name(const struct fm_store *store, fm_thread t, bool timed, int64_t ts)
{
    const struct fm_thread_row *row;
    size_t i;

    if (t >= store->t.threads)
        return 0;
    row = &store->t.thread[t];
    i = row->names;
    while (timed && i > 0 && row->name[i - 1].since > ts)
        i--;
    return i > 0 ? row->name[i - 1].name : 0;
}

bool fm_store_start(const struct fm_store *store, int64_t *start, int64_t *end)
{
    bool any = false;

    for (size_t i = 0; i < store->t.sources; i++) {
        const struct fm_source *s = &store->t.source[i];
        int64_t first, last;
        if (!s->has_time || !fm_add_i64(s->first, s->shift, &first) ||
            !fm_add_i64(s->last, s->shift, &last))
            continue;
        *start = any ? FM_MIN(*start, first) : first;
        *end = any ? FM_MAX(*end, last) : last;
        any = true;
    }
    return any;
}

/* ------------------------------------------------------------------ links */

const struct fm_link *fm_store_links(const struct fm_store *store, size_t *n)
{
    *n = store->links;
    return store->link;
}

const struct fm_link *fm_store_link_find(const struct fm_store *store, enum fm_link_kind kind,
                                         uint64_t from_row)
{
    size_t lo = 0, hi = store->links;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct fm_link *l = &store->link[mid];
        if (l->kind < kind || (l->kind == kind && l->from < from_row))
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == store->links || store->link[lo].kind != kind || store->link[lo].from != from_row)
        return NULL;
    return &store->link[lo];
}

/* ------------------------------------------------------------------- tree */

size_t fm_store_tree_nodes(const struct fm_store *store)
{
    return store->nodes;
}

const struct fm_tree_node *fm_store_tree(const struct fm_store *store)
{
    return store->tree;
}

uint32_t fm_store_tree_node(const struct fm_store *store, fm_node append_id)
{
    fm_assert(append_id < store->appends);
    return store->append[append_id];
}

size_t fm_store_append_nodes(const struct fm_store *store)
{
    return store->appends;
}

const uint32_t *fm_store_append_map(const struct fm_store *store)
{
    return store->append;
}

/* ------------------------------------------------------------------- rows */

size_t fm_store_segments(const struct fm_store *store)
{
    return store->segments;
}

uint32_t fm_store_segment_rows(const struct fm_store *store, size_t segment)
{
    fm_assert(segment < store->segments);
    return store->segment[segment].rows;
}

uint64_t fm_store_segment_first(const struct fm_store *store, size_t segment)
{
    fm_assert(segment < store->segments);
    return store->segment[segment].first_row;
}

uint32_t fm_store_segment_source(const struct fm_store *store, size_t segment)
{
    fm_assert(segment < store->segments);
    return store->segment[segment].source;
}

bool fm_store_segment_sorted(const struct fm_store *store, size_t segment)
{
    fm_assert(segment < store->segments);
    return store->segment[segment].sorted;
}

/* COUNT reads as 1 where no row has one: the range must hold that 1 as well. */
static bool range(fm_column col, bool none, bool every, uint64_t lo, uint64_t hi, uint64_t *min,
                  uint64_t *max)
{
    if (none && col != FM_COL_COUNT)
        return true;
    *min = none ? 1 : lo;
    *max = none ? 1 : hi;
    if (col == FM_COL_COUNT && !every) {
        *min = FM_MIN(*min, 1);
        *max = FM_MAX(*max, 1);
    }
    return false;
}

bool fm_store_segment_empty(const struct fm_store *store, size_t segment, fm_column col,
                            uint64_t *min, uint64_t *max)
{
    const struct fm_segcol *c;

    fm_assert(segment < store->segments && col < store->t.columns);
    c = fm_segment_col(&store->segment[segment], col);
    return range(col, c == NULL, c != NULL && c->valid == store->segment[segment].rows,
                 c != NULL ? c->min : 0, c != NULL ? c->max : 0, min, max);
}

bool fm_store_block_empty(const struct fm_store *store, size_t segment, uint32_t block,
                          fm_column col, uint64_t *min, uint64_t *max)
{
    const struct fm_segcol *c;
    const struct fm_block *k;

    fm_assert(segment < store->segments && col < store->t.columns);
    fm_assert(block * FM_BLOCK_ROWS < store->segment[segment].rows);
    c = fm_segment_col(&store->segment[segment], col);
    k = c != NULL && c->block[block].data != NULL ? &c->block[block] : NULL;
    return range(col, k == NULL, false, k != NULL ? k->min : 0, k != NULL ? k->max : 0, min, max);
}

bool fm_store_block_full(const struct fm_store *store, size_t segment, uint32_t block,
                         fm_column col)
{
    const struct fm_segcol *c;

    fm_assert(segment < store->segments && col < store->t.columns);
    c = fm_segment_col(&store->segment[segment], col);
    if (col == FM_COL_COUNT || c == NULL || c->block[block].data == NULL)
        return col == FM_COL_COUNT;
    return fm_encoded_full(c->block[block].data);
}

const uint64_t *fm_store_block_raw(const struct fm_store *store, size_t segment, uint32_t block,
                                   fm_column col)
{
    const struct fm_segcol *c = fm_segment_col(&store->segment[segment], col);

    return c != NULL && c->block[block].data != NULL ? fm_encoded_raw(c->block[block].data) : NULL;
}

static void set_rows(uint64_t *valid, uint32_t rows)
{
    memset(valid, 0, FM_BLOCK_WORDS * sizeof *valid);
    memset(valid, 0xff, rows / 64 * sizeof *valid);
    if (rows % 64 != 0)
        valid[rows / 64] = (1ull << rows % 64) - 1;
}

static void count_of_one(uint64_t *out, uint64_t *valid, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++) {
        if (((valid[i >> 6] >> (i & 63)) & 1) == 0)
            out[i] = 1;
    }
    set_rows(valid, rows);
}

uint32_t fm_store_block(const struct fm_store *store, size_t segment, uint32_t block,
                        fm_column col, uint64_t out[FM_BLOCK_ROWS],
                        uint64_t valid[FM_BLOCK_ROWS / 64], bool *all)
{
    const struct fm_segment *seg = &store->segment[segment];
    const struct fm_segcol *c;
    uint32_t rows;

    fm_assert(segment < store->segments && col < store->t.columns);
    fm_assert(block * FM_BLOCK_ROWS < seg->rows);
    rows = FM_MIN(seg->rows - block * FM_BLOCK_ROWS, FM_BLOCK_ROWS);
    c = fm_segment_col(seg, col);
    if (c != NULL && c->block[block].data != NULL) {
        uint32_t got = fm_decode(c->block[block].data, out, valid, all);
        fm_assert(got == rows);
        (void)got;
    } else {
        memset(out, 0, rows * sizeof *out);
        memset(valid, 0, FM_BLOCK_WORDS * sizeof *valid);
        *all = false;
    }
    if (col == FM_COL_COUNT && !*all) {
        count_of_one(out, valid, rows);
        *all = true;
    }
    return rows;
}

bool fm_store_cell(const struct fm_store *store, fm_column col, uint64_t row, uint64_t *value)
{
    uint64_t out[FM_BLOCK_ROWS], valid[FM_BLOCK_WORDS];
    size_t segment;
    uint32_t at;
    bool all;

    if (row >= store->rows)
        return false;
    segment = fm_segment_of(store, row);
    at = (uint32_t)(row - store->segment[segment].first_row);
    fm_store_block(store, segment, at / FM_BLOCK_ROWS, col, out, valid, &all);
    at %= FM_BLOCK_ROWS;
    if (((valid[at >> 6] >> (at & 63)) & 1) == 0)
        return false;
    *value = out[at];
    return true;
}

/* ----------------------------------------------------------------- naming */

struct fm_frame_row *fm_store_frame_edit(struct fm_store *store, fm_frame f)
{
    fm_assert(f < store->t.frames);
    return &store->t.frame[f];
}

struct fm_module_row *fm_store_module_edit(struct fm_store *store, fm_module m)
{
    fm_assert(m < store->t.modules);
    return &store->t.module[m];
}

struct fm_source *fm_store_source_edit(struct fm_store *store, size_t i)
{
    fm_assert(i < store->t.sources);
    return &store->t.source[i];
}
