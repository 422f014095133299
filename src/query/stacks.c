/*
 * stacks.c - see stacks.h.
 *
 * Pseudo frames depend on the row, not on its stack: comm, thread, a label. For each row the
 * prepended labels lead to a node of a new trie, the frames of its stack follow, then the appended
 * labels. (node, stack) pairs that were met before are looked up, so a stack is copied once for
 * each prefix it occurs under.
 */
#include "query/stacks.h"

#include "util/error.h"

void fm_stacks_free(struct fm_selection *sel, struct fm_stacks *s)
{
    size_t tree = fm_store_tree_nodes(sel->store);

    fm_mem_free(sel->mem, s->node, s->node == NULL ? 0 : s->nodes * sizeof *s->node);
    fm_mem_free(sel->mem, s->frame, s->frame == NULL ? 0 : s->frames * sizeof *s->frame);
    fm_mem_free(sel->mem, s->of_tree, s->of_tree == NULL ? 0 : tree * sizeof *s->of_tree);
    fm_mem_free(sel->mem, s, sizeof *s);
}

static void number(const struct fm_trie *trie, struct fm_stacks *s, uint32_t *id)
{
    const struct fm_trie_node *node = trie->node;
    uint32_t n = 0, k = 0;

    id[0] = 0;
    s->node[0] = (struct fm_tree_node){ FM_NONE, 0, FM_NONE, 0 };
    for (;;) {
        if (node[n].first != 0) {
            n = node[n].first;
        } else {
            while (n != 0 && node[n].next == 0) {
                s->node[id[n]].end = k + 1;
                n = node[n].parent;
            }
            if (n == 0)
                break;
            s->node[id[n]].end = k + 1;
            n = node[n].next;
        }
        id[n] = ++k;
        s->node[k] = (struct fm_tree_node){ id[node[n].parent], 0, node[n].key,
                                            s->node[id[node[n].parent]].depth + 1 };
    }
    fm_assert(k + 1 == trie->n);
    s->node[0].end = k + 1;
}

struct fm_stacks *fm_stacks_seal(struct fm_selection *sel, const struct fm_trie *trie,
                                 const struct fm_frame_row *row, size_t rows, uint32_t *id)
{
    size_t tree = fm_store_tree_nodes(sel->store);
    struct fm_stacks *s = fm_mem_zalloc(sel->mem, sizeof *s);

    if (s == NULL)
        return NULL;
    s->nodes = trie->n;
    s->frames = rows;
    s->node = fm_mem_alloc(sel->mem, s->nodes * sizeof *s->node);
    s->frame = fm_mem_alloc(sel->mem, s->frames * sizeof *s->frame);
    s->of_tree = fm_mem_zalloc(sel->mem, tree * sizeof *s->of_tree);
    if (s->node == NULL || s->frame == NULL || s->of_tree == NULL) {
        fm_stacks_free(sel, s);
        return NULL;
    }
    number(trie, s, id);
    if (rows > 0)
        memcpy(s->frame, row, rows * sizeof *row);
    return s;
}

/* ------------------------------------------------------------ pseudo frames */

struct weaver {
    struct fm_compile *c;
    const struct fm_view *v;
    struct fm_mem *mem;
    struct fm_trie trie;
    struct fm_map woven;         /* trie node << 32 | stack node -> trie node */
    struct fm_map frame;         /* label -> pseudo frame */
    struct fm_frame_row *row;
    size_t rows, row_cap;
    uint32_t *spine;             /* frames of one stack, leaf first */
};

static uint32_t pseudo_frame(struct weaver *w, fm_str label)
{
    bool fresh;
    uint64_t *slot = label == FM_NONE ? NULL : fm_map_put(&w->frame, label, &fresh);

    if (slot == NULL)
        return FM_NONE;
    if (fresh) {
        if (!fm_grow(w->mem, (void **)&w->row, &w->row_cap, w->rows + 1, sizeof *w->row))
            return FM_NONE;
        w->row[w->rows] = (struct fm_frame_row){ .module = FM_NONE, .address = UINT64_MAX,
                                                 .kind = FM_FRAME_SYNTHETIC, .function = label };
        *slot = w->rows++;
    }
    return (uint32_t)*slot;
}

static uint32_t pseudo_child(struct weaver *w, uint32_t parent, fm_str label)
{
    uint32_t frame;

    if (label == FM_PSEUDO_SKIP)
        return parent;
    frame = pseudo_frame(w, label);
    return frame == FM_NONE ? UINT32_MAX : fm_trie_child(&w->trie, parent, frame);
}

/* The frames of a stack below `at`. */
static uint32_t copy_stack(struct weaver *w, uint32_t at, uint32_t stack)
{
    bool fresh;
    uint64_t *slot = fm_map_put(&w->woven, (uint64_t)at << 32 | stack, &fresh);
    size_t n = 0;

    if (slot == NULL)
        return UINT32_MAX;
    if (!fresh)
        return (uint32_t)*slot;
    for (uint32_t up = stack; up != 0; up = w->v->node[up].parent)
        w->spine[n++] = w->v->node[up].frame;
    while (n > 0 && at != UINT32_MAX)
        at = fm_trie_child(&w->trie, at, w->spine[--n]);
    *slot = at;
    return at;
}

static uint32_t weave_row(struct weaver *w, struct fm_pseudo_labels *labels,
                          const struct fm_scan *scan, uint32_t place)
{
    size_t prepends = labels->prepends;
    uint32_t at = 0, tree = 0;

    if (fm_scan_valid(scan, 0, place))
        tree = w->v->append[scan->value[0][place]];
    for (size_t k = 0; k < prepends && at != UINT32_MAX; k++)
        at = pseudo_child(w, at, fm_pseudo_label(labels, scan, k, place));
    if (at != UINT32_MAX)
        at = copy_stack(w, at, w->v->of_row != NULL
                                   ? w->v->of_row[scan->first_row + place]
                                   : fm_view_node(w->v, tree));
    for (size_t k = prepends; k < labels->n && at != UINT32_MAX; k++)
        at = pseudo_child(w, at, fm_pseudo_label(labels, scan, k, place));
    return at;
}

static bool weaver_init(struct weaver *w, struct fm_compile *c, const struct fm_view *v)
{
    uint32_t depth = 0;

    *w = (struct weaver){ .c = c, .v = v, .mem = &c->ctx->mem };
    fm_map_init(&w->woven, w->mem);
    fm_map_init(&w->frame, w->mem);
    for (size_t n = 0; n < v->nodes; n++)
        depth = FM_MAX(depth, v->node[n].depth);
    w->spine = fm_arena_alloc(c->arena, ((size_t)depth + 1) * sizeof *w->spine);
    if (w->spine == NULL || !fm_trie_init(&w->trie, w->mem)
        || !fm_grow(w->mem, (void **)&w->row, &w->row_cap, v->frames + 1, sizeof *w->row))
        return false;
    for (size_t f = 0; f < v->frames; f++)
        w->row[w->rows++] = *fm_view_frame(v, (uint32_t)f);
    return true;
}

static void weaver_release(struct weaver *w)
{
    fm_map_release(&w->woven);
    fm_map_release(&w->frame);
    fm_trie_release(&w->trie);
    fm_mem_free(w->mem, w->row, w->row_cap * sizeof *w->row);
}

static enum fm_status weave(struct weaver *w, const struct fm_selection *sel, uint32_t *of_row,
                            struct fm_error *err)
{
    static const struct fm_names names = { .style = FM_NAMES_FOLDMILL };
    fm_column col[FM_SCAN_COLUMNS] = { FM_COL_STACK };
    struct fm_pseudo_labels labels;
    struct fm_scan scan;
    size_t cols = 1;
    enum fm_status status;
    bool ok = true;

    fm_pseudo_columns(sel, col, &cols);
    status = fm_scan_init(&scan, sel, col, cols, err);
    if (status != FM_OK)
        return status;
    fm_pseudo_labels_init(&labels, sel, &scan, &names);
    while (ok && fm_scan_next(&scan)) {
        for (uint32_t i = 0; ok && i < scan.n; i++) {
            uint32_t node = weave_row(w, &labels, &scan, scan.live[i]);
            ok = node != UINT32_MAX;
            of_row[scan.first_row + scan.live[i]] = node;
        }
    }
    fm_pseudo_labels_release(&labels);
    fm_scan_release(&scan);
    return ok ? FM_OK : fm_error_nomem(err);
}

enum fm_status fm_stacks_pseudo(struct fm_compile *c, struct fm_selection *sel,
                                struct fm_view *v, struct fm_error *err)
{
    uint64_t rows = fm_store_rows(sel->store);
    struct fm_stacks *s = NULL;
    struct weaver w;
    uint32_t *of_row, *id = NULL;
    enum fm_status status = FM_NOMEM;

    if (sel->prepends + sel->appends == 0)
        return FM_OK;
    of_row = fm_arena_alloc(c->arena, (rows + 1) * sizeof *of_row);
    if (weaver_init(&w, c, v) && of_row != NULL)
        status = weave(&w, sel, of_row, err);
    if (status == FM_OK) {
        id = fm_arena_alloc(c->arena, w.trie.n * sizeof *id);
        s = id == NULL ? NULL : fm_stacks_seal(sel, &w.trie, w.row, w.rows, id);
    }
    weaver_release(&w);
    if (s == NULL)
        return fm_error_nomem(err);
    for (uint64_t r = 0; r < rows; r++)
        of_row[r] = id[of_row[r]];
    if (sel->stacks != NULL)
        fm_stacks_free(sel, sel->stacks);
    sel->stacks = s;
    v->of_row = of_row;
    v->rows = rows;
    return fm_view_init(v, sel, c->arena, err);
}
