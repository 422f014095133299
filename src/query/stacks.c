/*
 * stacks.c - see stacks.h.
 *
 * Pseudo frames depend on the row, not on its stack: comm, thread, a label, the stack of a linked
 * row. For each row the prepended labels lead to a node of a new trie, the frames of its stack
 * follow, then the appended labels. (node, stack) pairs that were met before are looked up, so a
 * stack is copied once for each prefix it occurs under.
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

/* ------------------------------------------------------------------ weaving */

bool fm_weaver_init(struct fm_weaver *w, struct fm_compile *c, const struct fm_view *v)
{
    uint32_t depth = 0;
    const struct fm_tree_node *tree = fm_store_tree(v->store);

    *w = (struct fm_weaver){ .c = c, .v = v, .mem = &c->ctx->mem };
    fm_map_init(&w->woven, w->mem);
    fm_map_init(&w->recorded, w->mem);
    fm_map_init(&w->frame, w->mem);
    for (size_t n = 0; n < v->nodes; n++)
        depth = FM_MAX(depth, v->node[n].depth);
    for (size_t n = 0; n < fm_store_tree_nodes(v->store); n++)
        depth = FM_MAX(depth, tree[n].depth);
    w->spine = fm_arena_alloc(c->arena, ((size_t)depth + 1) * sizeof *w->spine);
    if (w->spine == NULL || !fm_trie_init(&w->trie, w->mem)
        || !fm_grow(w->mem, (void **)&w->row, &w->row_cap, v->frames + 1, sizeof *w->row))
        return false;
    for (size_t f = 0; f < v->frames; f++)
        w->row[w->rows++] = *fm_view_frame(v, (uint32_t)f);
    return true;
}

void fm_weaver_release(struct fm_weaver *w)
{
    fm_map_release(&w->woven);
    fm_map_release(&w->recorded);
    fm_map_release(&w->frame);
    fm_trie_release(&w->trie);
    fm_mem_free(w->mem, w->row, w->row_cap * sizeof *w->row);
    fm_mem_free(w->mem, w->of_frame, w->of_frames * sizeof *w->of_frame);
}

static uint32_t add_row(struct fm_weaver *w, const struct fm_frame_row *row)
{
    if (!fm_grow(w->mem, (void **)&w->row, &w->row_cap, w->rows + 1, sizeof *w->row))
        return FM_NONE;
    w->row[w->rows] = *row;
    return (uint32_t)w->rows++;
}

uint32_t fm_weaver_label(struct fm_weaver *w, uint32_t at, fm_str label)
{
    struct fm_frame_row row = { .module = FM_NONE, .address = UINT64_MAX,
                                .kind = FM_FRAME_SYNTHETIC, .function = label };
    bool fresh;
    uint64_t *slot = label == FM_NONE ? NULL : fm_map_put(&w->frame, label, &fresh);

    if (slot == NULL)
        return UINT32_MAX;
    if (fresh) {
        uint32_t frame = add_row(w, &row);
        if (frame == FM_NONE)
            return UINT32_MAX;
        *slot = frame;
    }
    return fm_trie_child(&w->trie, at, (uint32_t)*slot);
}

uint32_t fm_weaver_stack(struct fm_weaver *w, uint32_t at, uint32_t stack)
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

/* The new frame of a frame of the store. */
static uint32_t frame_of_store(struct fm_weaver *w, fm_frame f)
{
    if (w->v->frame == NULL)
        return f;                  /* the view has the store's frames */
    if (w->of_frame == NULL) {
        size_t frames = fm_store_frames(w->v->store) + 1;
        w->of_frame = fm_mem_zalloc(w->mem, frames * sizeof *w->of_frame);
        if (w->of_frame == NULL)
            return FM_NONE;
        w->of_frames = frames;
    }
    if (w->of_frame[f] == 0) {
        uint32_t frame = add_row(w, fm_store_frame_row(w->v->store, f));
        if (frame == FM_NONE)
            return FM_NONE;
        w->of_frame[f] = frame + 1;
    }
    return w->of_frame[f] - 1;
}

uint32_t fm_weaver_recorded(struct fm_weaver *w, uint32_t at, uint32_t tree)
{
    const struct fm_tree_node *node = fm_store_tree(w->v->store);
    bool fresh;
    uint64_t *slot = fm_map_put(&w->recorded, (uint64_t)at << 32 | tree, &fresh);
    size_t n = 0;

    if (slot == NULL)
        return UINT32_MAX;
    if (!fresh)
        return (uint32_t)*slot;
    for (uint32_t up = tree; up != 0; up = node[up].parent)
        w->spine[n++] = node[up].frame;
    while (n > 0 && at != UINT32_MAX) {
        uint32_t frame = frame_of_store(w, w->spine[--n]);
        at = frame == FM_NONE ? UINT32_MAX : fm_trie_child(&w->trie, at, frame);
    }
    *slot = at;
    return at;
}

enum fm_status fm_weaver_finish(struct fm_weaver *w, struct fm_selection *sel, struct fm_view *v,
                                uint32_t *of_row, struct fm_error *err)
{
    uint64_t rows = fm_store_rows(sel->store);
    size_t bytes = w->trie.n * sizeof(uint32_t);
    uint32_t *id = fm_mem_alloc(w->mem, bytes);
    struct fm_stacks *s =
        id == NULL ? NULL : fm_stacks_seal(sel, &w->trie, w->row, w->rows, id);

    for (uint64_t r = 0; s != NULL && r < rows; r++)
        of_row[r] = id[of_row[r]];
    fm_mem_free(w->mem, id, id == NULL ? 0 : bytes);
    if (s == NULL)
        return fm_error_nomem(err);
    if (sel->stacks != NULL)
        fm_stacks_free(sel, sel->stacks);
    sel->stacks = s;
    v->of_row = of_row;
    v->rows = rows;
    return fm_view_init(v, sel, w->c->arena, err);
}

/* ------------------------------------------------------------ pseudo frames */

static uint32_t pseudo_child(struct fm_weaver *w, uint32_t parent, fm_str label)
{
    return label == FM_PSEUDO_SKIP ? parent : fm_weaver_label(w, parent, label);
}

static uint32_t weave_row(struct fm_weaver *w, struct fm_pseudo_labels *labels,
                          const struct fm_scan *scan, uint32_t place)
{
    size_t prepends = labels->prepends;
    uint32_t at = 0, tree = 0;

    if (fm_scan_valid(scan, 0, place))
        tree = w->v->append[scan->value[0][place]];
    for (size_t k = 0; k < prepends && at != UINT32_MAX; k++)
        at = pseudo_child(w, at, fm_pseudo_label(labels, scan, k, place));
    if (at != UINT32_MAX)
        at = fm_weaver_stack(w, at, w->v->of_row != NULL
                                        ? w->v->of_row[scan->first_row + place]
                                        : fm_view_node(w->v, tree));
    for (size_t k = prepends; k < labels->n && at != UINT32_MAX; k++)
        at = pseudo_child(w, at, fm_pseudo_label(labels, scan, k, place));
    return at;
}

static enum fm_status weave(struct fm_weaver *w, const struct fm_selection *sel,
                            uint32_t *of_row, struct fm_error *err)
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
    struct fm_weaver w;
    uint32_t *of_row;
    enum fm_status status = FM_NOMEM;

    if (sel->prepends + sel->appends == 0)
        return FM_OK;
    of_row = fm_arena_alloc(c->arena, (rows + 1) * sizeof *of_row);
    if (fm_weaver_init(&w, c, v) && of_row != NULL)
        status = weave(&w, sel, of_row, err);
    else
        (void)fm_error_nomem(err);
    if (status == FM_OK)
        status = fm_weaver_finish(&w, sel, v, of_row, err);
    fm_weaver_release(&w);
    return status;
}
