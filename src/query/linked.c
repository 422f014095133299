/*
 * linked.c - columns of linked rows: waker.thread, launch.path, link.dur …
 *
 *     row --link--> row | stack | thread        from: a sleep      to: what woke it
 *
 *     struct fm_link_rows   one a kind of link: the rows that have such links, ascending, each with
 *                           its links; and by block of rows the first of them, for the look-up
 *     struct fm_linked      one an operand: a value for each of these rows
 *
 * An operand is filled when the first reader needs it: links are sorted by the row they lead to, so
 * each block of the store is decoded at most once, and no row that nobody is linked to is looked
 * at. A row with several links has the value of the first that gives one: a link to a thread knows
 * its pid, one to a stack its path. Linked stacks are those of the store, without edits.
 *
 * Everything lies in the arena of the compile.
 */
#include "query/table.h"

#include <stdlib.h>

struct fm_link_rows {
    uint64_t *row;               /* [n] */
    uint32_t *at;                /* links of row[i]: link[at[i] … at[i + 1]) */
    const struct fm_link **link;
    uint32_t *first;             /* first row[i] of each block of FM_BLOCK_ROWS; one more */
    uint64_t blocks;
    size_t n, links;
};

struct fm_linked {
    const struct fm_link_rows *rows;
    uint64_t *lane;
    uint32_t *rank;              /* place of the link that gave the value, FM_NONE: none did */
};

/* ------------------------------------------------------------------- index */

struct runs {
    const struct fm_link *link, *end;      /* what is left of one kind */
};

/* Links of one kind, or all of them by (row, kind). */
static void gather(struct fm_link_rows *x, struct runs *run, size_t runs)
{
    for (;;) {
        struct runs *next = NULL;
        for (size_t k = 0; k < runs; k++) {
            if (run[k].link != run[k].end
                && (next == NULL || run[k].link->from < next->link->from))
                next = &run[k];
        }
        if (next == NULL)
            return;
        if (x->n == 0 || x->row[x->n - 1] != next->link->from) {
            x->at[x->n] = (uint32_t)x->links;
            x->row[x->n++] = next->link->from;
        }
        x->link[x->links++] = next->link++;
    }
}

static void index_blocks(struct fm_link_rows *x)
{
    size_t i = 0;

    for (uint64_t b = 0; b <= x->blocks; b++) {
        while (i < x->n && x->row[i] < b * FM_BLOCK_ROWS)
            i++;
        x->first[b] = (uint32_t)i;
    }
    x->first[x->blocks] = (uint32_t)x->n;
}

static struct fm_link_rows *link_rows(struct fm_compile *c, uint8_t via)
{
    struct runs run[FM_LINK_PARENT + 1];
    struct fm_link_rows *x;
    size_t n, all = 0, runs = 0;
    const struct fm_link *link = fm_store_links(c->store, &n);

    if (c->link_rows[via] != NULL)
        return c->link_rows[via];
    for (size_t i = 0; i < n;) {
        size_t to = i;
        while (to < n && link[to].kind == link[i].kind)
            to++;
        if (via == FM_VIA_ANY || via == FM_VIA(link[i].kind)) {
            run[runs++] = (struct runs){ link + i, link + to };
            all += to - i;
        }
        i = to;
    }
    x = fm_arena_alloc(c->arena, sizeof *x);
    if (x == NULL || all >= FM_NONE - 1)
        return NULL;
    x->blocks = fm_store_rows(c->store) / FM_BLOCK_ROWS + 1;
    x->row = fm_arena_alloc(c->arena, (all + 1) * sizeof *x->row);
    x->at = fm_arena_alloc(c->arena, (all + 2) * sizeof *x->at);
    x->link = fm_arena_alloc(c->arena, (all + 1) * sizeof *x->link);
    x->first = fm_arena_alloc(c->arena, (x->blocks + 2) * sizeof *x->first);
    if (x->row == NULL || x->at == NULL || x->link == NULL || x->first == NULL)
        return NULL;
    gather(x, run, runs);
    x->at[x->n] = (uint32_t)x->links;
    index_blocks(x);
    c->link_rows[via] = x;
    return x;
}

/* The place of a row in the index; FM_NONE: it has no link. */
static uint32_t find(const struct fm_link_rows *x, uint64_t row)
{
    uint64_t block = row / FM_BLOCK_ROWS;
    uint32_t lo, hi;

    if (block >= x->blocks)
        return FM_NONE;
    lo = x->first[block];
    hi = x->first[block + 1];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (x->row[mid] < row)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < x->n && x->row[lo] == row ? lo : FM_NONE;
}

bool fm_linked_lane(const struct fm_linked *linked, uint64_t row, uint64_t *lane)
{
    uint32_t i = find(linked->rows, row);

    if (i == FM_NONE || linked->rank[i] == FM_NONE)
        return false;
    *lane = linked->lane[i];
    return true;
}

/* ------------------------------------------------------------------ values */

fm_str fm_linked_label(struct fm_store *store, fm_frame frame)
{
    static const struct fm_names names = { .style = FM_NAMES_FOLDMILL };

    return fm_name_frame_row(store, fm_store_frame_row(store, frame), &names);
}

static bool frame_attr(struct fm_compile *c, fm_frame frame, enum fm_attr attr, uint64_t *lane)
{
    struct fm_store *store = c->store;
    const struct fm_frame_row *row = fm_store_frame_row(store, frame);
    const char *kind = fm_frame_kind_text((enum fm_frame_kind)row->kind);

    switch (attr) {
    case FM_ATTR_FUNCTION:
        *lane = fm_linked_label(store, frame);
        break;
    case FM_ATTR_MODULE:
        *lane = row->module == FM_NONE ? FM_NONE : fm_name_dso(store, row->module);
        break;
    case FM_ATTR_FILE:
        *lane = row->file;
        return row->file != 0;
    case FM_ATTR_LINE:
        *lane = row->line;
        return row->line != 0;
    case FM_ATTR_ADDRESS:
        *lane = row->address;
        return row->address != UINT64_MAX;
    case FM_ATTR_KIND:
        *lane = fm_store_str_add(store, kind, strlen(kind));
        break;
    case FM_ATTR_CATEGORY:
        *lane = row->module == FM_NONE ? FM_NONE : fm_name_dso(store, row->module);
        *lane = fm_category_list(c, fm_category_row(c, row, fm_linked_label(store, frame),
                                                    (fm_str)*lane));
        break;
    default:
        *lane = row->raw != 0 ? row->raw : row->function;
        return *lane != 0;
    }
    return *lane != FM_NONE;
}

static bool of_stack(struct fm_compile *c, const struct fm_operand *o, fm_node stack,
                     uint64_t *lane)
{
    const struct fm_tree_node *node = fm_store_tree(c->store);
    uint32_t at = fm_store_tree_node(c->store, stack);

    if (o->place == FM_AT_PATH || (o->place == FM_AT_COLUMN && o->id == FM_COL_STACK)) {
        *lane = stack;
        return at != 0;
    }
    if ((o->place != FM_AT_LEAF && o->place != FM_AT_ROOT) || at == 0)
        return false;
    while (o->place == FM_AT_ROOT && node[at].parent != 0)
        at = node[at].parent;
    return frame_attr(c, node[at].frame, (enum fm_attr)o->id, lane);
}

static bool of_thread(struct fm_store *store, const struct fm_operand *o, fm_thread thread,
                      uint64_t *lane)
{
    const struct fm_thread_row *t = fm_store_thread_row(store, thread);

    if (o->place == FM_AT_COLUMN && o->id == FM_COL_THREAD) {
        *lane = thread;
        return true;
    }
    if (o->place == FM_AT_COLUMN && o->id == FM_COL_COMM) {
        *lane = fm_store_thread_name(store, thread, false, 0);
        return *lane != 0;
    }
    if (o->place != FM_AT_DERIVED || o->id == FM_DERIVED_EVENT || o->id == FM_DERIVED_METRIC)
        return false;
    return fm_derived_value(store, (enum fm_derived)o->id, thread, t->source, 0, lane);
}

/* One block of two columns: the operand's, and event or thread beside it. */
struct cells {
    struct fm_compile *c;
    struct fm_store *store;
    size_t segment;
    uint32_t block;
    bool loaded;
    fm_column col;
    uint64_t value[FM_BLOCK_ROWS], valid[FM_BLOCK_ROWS / 64];
    uint64_t event[FM_BLOCK_ROWS], event_valid[FM_BLOCK_ROWS / 64];
};

static fm_column column_of(const struct fm_operand *o)
{
    switch (o->place) {
    case FM_AT_COLUMN:
        return o->id;
    case FM_AT_DERIVED:
        return FM_COL_THREAD;
    default:
        return FM_COL_STACK;
    }
}

/* Makes the block of a row the one at hand; rows come in ascending order. */
static uint32_t load(struct cells *x, uint64_t row)
{
    uint64_t first = fm_store_segment_first(x->store, x->segment);
    uint32_t block;
    bool all;

    while (row >= first + fm_store_segment_rows(x->store, x->segment)) {
        x->loaded = false;
        first = fm_store_segment_first(x->store, ++x->segment);
    }
    block = (uint32_t)(row - first) / FM_BLOCK_ROWS;
    if (!x->loaded || block != x->block) {
        fm_store_block(x->store, x->segment, block, x->col, x->value, x->valid, &all);
        fm_store_block(x->store, x->segment, block, FM_COL_EVENT, x->event, x->event_valid, &all);
        x->block = block;
        x->loaded = true;
    }
    return (uint32_t)(row - first) % FM_BLOCK_ROWS;
}

static bool of_row(struct cells *x, const struct fm_operand *o, uint64_t row, uint64_t *lane)
{
    uint32_t place = load(x, row), source = fm_store_segment_source(x->store, x->segment);
    bool valid = (x->valid[place / 64] >> (place % 64)) & 1;
    int64_t start = 0, end;

    *lane = x->value[place];
    switch (o->place) {
    case FM_AT_DERIVED:
        return fm_derived_value(x->store, (enum fm_derived)o->id,
                                valid ? (fm_thread)*lane : FM_NONE, source,
                                (uint32_t)x->event[place], lane);
    case FM_AT_COLUMN:
        break;
    default:
        return valid && of_stack(x->c, o, (fm_node)*lane, lane);
    }
    if (!valid && o->id == FM_COL_COUNT)
        *lane = 1;
    if (!valid || o->id == FM_COL_COUNT)
        return valid || o->id == FM_COL_COUNT;
    if (o->id == FM_COL_TS) {
        (void)fm_store_start(x->store, &start, &end);
        *lane += (uint64_t)(fm_store_source_row(x->store, source)->shift - start);
    } else if (o->id == FM_COL_VALUE
               && !fm_store_event_row(x->store, x->event[place])->value_is_f64) {
        *lane = fm_f64_bits((double)(int64_t)*lane);
    }
    return true;
}

/* -------------------------------------------------------------------- fill */

struct job {
    uint64_t row;                /* where the link leads to */
    uint32_t i, rank;
};

static int by_row(const void *a, const void *b)
{
    const struct job *x = a, *y = b;

    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return x->i != y->i ? (x->i < y->i ? -1 : 1) : x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void take(struct fm_linked *l, uint32_t i, uint32_t rank, uint64_t lane)
{
    if (rank >= l->rank[i])
        return;
    l->rank[i] = rank;
    l->lane[i] = lane;
}

/* Links to stacks and threads are settled at once, those to rows become jobs. */
static size_t sort_out(struct fm_compile *c, const struct fm_operand *o, struct fm_linked *l,
                       struct job *job)
{
    const struct fm_link_rows *x = l->rows;
    uint64_t lane;
    size_t n = 0;

    for (uint32_t i = 0; i < x->n; i++) {
        for (uint32_t k = x->at[i]; k < x->at[i + 1]; k++) {
            const struct fm_link *link = x->link[k];
            if (link->target == FM_LINK_ROW)
                job[n++] = (struct job){ link->to, i, k };
            else if (link->target == FM_LINK_STACK
                         ? of_stack(c, o, (fm_node)link->to, &lane)
                         : of_thread(c->store, o, (fm_thread)link->to, &lane))
                take(l, i, k, lane);
        }
    }
    if (n > 0)
        qsort(job, n, sizeof *job, by_row);
    return n;
}

bool fm_linked_fill(struct fm_compile *c, struct fm_operand *o)
{
    struct fm_mem *mem = &c->ctx->mem;
    struct fm_linked *l = fm_arena_alloc(c->arena, sizeof *l);
    struct cells *cells;
    struct job *job;
    size_t n;

    if (o->linked != NULL)
        return true;
    if (l == NULL || (l->rows = link_rows(c, o->via)) == NULL)
        return false;
    l->lane = fm_arena_alloc(c->arena, (l->rows->n + 1) * sizeof *l->lane);
    l->rank = fm_arena_alloc(c->arena, (l->rows->n + 1) * sizeof *l->rank);
    job = fm_mem_alloc(mem, (l->rows->links + 1) * sizeof *job);
    cells = fm_mem_zalloc(mem, sizeof *cells);
    if (l->lane != NULL && l->rank != NULL && job != NULL && cells != NULL) {
        memset(l->rank, 0xff, l->rows->n * sizeof *l->rank);
        n = sort_out(c, o, l, job);
        cells->c = c;
        cells->store = c->store;
        cells->col = column_of(o);
        for (size_t i = 0; i < n; i++) {
            uint64_t lane;
            if (of_row(cells, o, job[i].row, &lane))
                take(l, job[i].i, job[i].rank, lane);
        }
        o->linked = l;
    }
    fm_mem_free(mem, job, job == NULL ? 0 : (l->rows->links + 1) * sizeof *job);
    fm_mem_free(mem, cells, cells == NULL ? 0 : sizeof *cells);
    return o->linked != NULL;
}

/* ------------------------------------------------------------------- paths */

static bool known_init(struct fm_store *store, struct fm_arena *arena, struct fm_node_paths *known)
{
    const struct fm_tree_node *node = fm_store_tree(store);
    size_t nodes = fm_store_tree_nodes(store);
    uint32_t depth = 0;

    for (size_t n = 0; n < nodes; n++)
        depth = FM_MAX(depth, node[n].depth);
    known->path = fm_arena_alloc(arena, nodes * sizeof *known->path);
    known->chain = fm_arena_alloc(arena, ((size_t)depth + 1) * sizeof *known->chain);
    return known->path != NULL && known->chain != NULL;
}

bool fm_linked_path(struct fm_store *store, struct fm_arena *arena, struct fm_paths *paths,
                    struct fm_node_paths *known, fm_node stack, uint32_t *path)
{
    const struct fm_tree_node *node = fm_store_tree(store);
    uint32_t up = fm_store_tree_node(store, stack);
    size_t n = 0;

    if (known->path == NULL && !known_init(store, arena, known))
        return false;
    for (; known->path[up] == 0 && up != 0; up = node[up].parent)
        known->chain[n++] = up;
    *path = known->path[up];
    while (n > 0) {
        uint32_t down = known->chain[--n];
        fm_str label = fm_linked_label(store, node[down].frame);
        *path = label == FM_NONE ? UINT32_MAX : fm_trie_child(&paths->trie, *path, label);
        if (*path == UINT32_MAX)
            return false;
        known->path[down] = *path;
    }
    return true;
}

uint32_t *fm_view_paths(const struct fm_view *v, struct fm_arena *arena, struct fm_paths *paths)
{
    uint32_t *path = fm_arena_alloc(arena, (v->nodes + 1) * sizeof *path);

    for (size_t n = 1; path != NULL && n < v->nodes; n++) {
        path[n] = fm_trie_child(&paths->trie, path[v->node[n].parent],
                                v->label[v->node[n].frame]);
        if (path[n] == UINT32_MAX)
            return NULL;
    }
    return path;
}
