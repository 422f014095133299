/*
 * stackedit.c - edits of the stacks as node -> node remaps: keep, drop, root, leaf, collapse,
 * inlines, invert, depth; and the running of all edits.
 *
 * An edit reads the nodes of the view in pre-order (parent before child) and builds a new trie;
 * to[n] is the new node of old node n. Samples are never touched: of_tree is composed with the
 * remap, and the new trie is numbered in pre-order again.
 *
 *     keep, drop    to(n) = kept(n) ? child(to(parent), frame) : to(parent);  [none] when nothing
 *                   is left of a stack
 *     root P        to(n) = child(0, frame) at the outermost (innermost) match, then as before
 *     leaf P        to(n) = the node at the innermost (outermost) match above, or n
 *     collapse      direct: A A -> A; all: from the first A to the last A -> A; run: a run of
 *                   matching frames -> one frame
 *     inlines       fold: to(n) = inlined(n) ? to(parent) : child(to(parent), frame)
 *     depth N       from the root: [truncated] at depth N + 1, to(parent) below it
 *     invert, depth N from the leaf
 *                   to(n) = the frames of n from the leaf up, all or N; only for the nodes that
 *                   rows end in, found by one scan: others would cost as much and are never asked
 *
 * Edits of frames are in reframe.c, those that depend on rows in weave.c.
 *
 * Sample counts and weights never change, except that root and leaf may drop stacks without a match
 * (`missing: drop`). The new struct fm_stacks belongs to the selection.
 */
#include "query/edit.h"

#include "util/error.h"
#include "util/map.h"

/* ---------------------------------------------------------------- the trie */

uint32_t fm_restack_child(struct fm_restack *b, uint32_t parent, uint32_t frame)
{
    uint32_t n = b->oom ? 0 : fm_trie_child(&b->trie, parent, frame);

    b->oom |= n == UINT32_MAX;
    return b->oom ? 0 : n;
}

uint32_t fm_restack_row(struct fm_restack *b, const struct fm_frame_row *row)
{
    if (!fm_grow(b->mem, (void **)&b->row, &b->row_cap, b->rows + 1, sizeof *b->row)) {
        b->oom = true;
        return 0;
    }
    b->row[b->rows] = *row;
    return (uint32_t)b->rows++;
}

static uint32_t synthetic(struct fm_restack *b, const char *name, size_t n)
{
    struct fm_frame_row row = { .module = FM_NONE, .address = UINT64_MAX,
                                .kind = FM_FRAME_SYNTHETIC };

    row.function = fm_store_str_add(b->v->store, name, n);
    if (row.function == FM_NONE) {
        b->oom = true;
        return 0;
    }
    return fm_restack_row(b, &row);
}

static bool build_init(struct fm_restack *b, struct fm_compile *c, const struct fm_edit *edit,
                       const struct fm_view *v)
{
    *b = (struct fm_restack){ .c = c, .edit = edit, .v = v, .mem = &c->ctx->mem };
    b->to = fm_mem_zalloc(b->mem, v->nodes * sizeof *b->to);
    if (!fm_trie_init(&b->trie, b->mem) || b->to == NULL)
        return false;
    if (edit->p != NULL)
        b->match = fm_pred_frames(c, edit->p, v);
    return edit->p == NULL || b->match != NULL;
}

static void build_release(struct fm_restack *b)
{
    fm_trie_release(&b->trie);
    fm_mem_free(b->mem, b->to, b->to == NULL ? 0 : b->v->nodes * sizeof *b->to);
    fm_mem_free(b->mem, b->row, b->row_cap * sizeof *b->row);
}

/* The frames as they are, ids unchanged. */
static void copy_rows(struct fm_restack *b)
{
    for (size_t f = 0; f < b->v->frames && !b->oom; f++)
        fm_restack_row(b, fm_view_frame(b->v, (uint32_t)f));
}

/* ------------------------------------------------------------------- edits */

static void edit_frames(struct fm_restack *b)
{
    const struct fm_tree_node *node = b->v->node;
    bool keep = b->edit->op == FM_EDIT_KEEP;
    uint32_t none = FM_NONE;

    copy_rows(b);
    for (size_t n = 1; n < b->v->nodes; n++) {
        uint32_t up = b->to[node[n].parent];
        bool stays = (b->match[node[n].frame] != 0) == keep;
        b->to[n] = stays ? fm_restack_child(b, up, node[n].frame) : up;
    }
    /* only now: children of an emptied stack start at the root */
    for (size_t n = 1; n < b->v->nodes; n++) {
        if (b->to[n] != 0)
            continue;
        if (!b->edit->drop && none == FM_NONE)
            none = fm_restack_child(b, 0, synthetic(b, "[none]", 6));
        b->to[n] = none;
    }
}

static bool edit_root(struct fm_restack *b)
{
    const struct fm_tree_node *node = b->v->node;
    uint8_t *in = fm_mem_zalloc(b->mem, b->v->nodes);

    if (in == NULL)
        return false;
    copy_rows(b);
    for (size_t n = 1; n < b->v->nodes; n++) {
        uint32_t up = node[n].parent, frame = node[n].frame;
        bool match = b->match[frame] && (b->edit->innermost || !in[up]);
        in[n] = in[up] || match;
        if (match)
            b->to[n] = fm_restack_child(b, 0, frame);
        else if (in[up] || !b->edit->drop)
            b->to[n] = fm_restack_child(b, b->to[up], frame);
    }
    for (size_t n = 0; b->edit->drop && n < b->v->nodes; n++) {
        if (!in[n])
            b->to[n] = FM_NONE;
    }
    fm_mem_free(b->mem, in, b->v->nodes);
    return true;
}

static bool edit_leaf(struct fm_restack *b)
{
    const struct fm_tree_node *node = b->v->node;
    size_t bytes = b->v->nodes * sizeof(uint32_t);
    uint32_t *full = fm_mem_zalloc(b->mem, bytes);
    uint8_t *hit = fm_mem_zalloc(b->mem, b->v->nodes);
    bool ok = full != NULL && hit != NULL;

    copy_rows(b);
    for (size_t n = 1; ok && n < b->v->nodes; n++) {
        uint32_t up = node[n].parent, frame = node[n].frame;
        bool cut = hit[up] && (!b->match[frame] || !b->edit->innermost);
        hit[n] = hit[up] || b->match[frame];
        if (b->edit->innermost || !cut)
            full[n] = fm_restack_child(b, full[up], frame);
        b->to[n] = cut ? b->to[up] : full[n];
    }
    for (size_t n = 0; ok && b->edit->drop && n < b->v->nodes; n++) {
        if (!hit[n])
            b->to[n] = FM_NONE;
    }
    fm_mem_free(b->mem, full, full == NULL ? 0 : bytes);
    fm_mem_free(b->mem, hit, hit == NULL ? 0 : b->v->nodes);
    return ok;
}

/* Frames that count as the same function: (function, module); unnamed ones only themselves. */
static uint32_t *classes(struct fm_restack *b)
{
    const struct fm_view *v = b->v;
    uint32_t *class = fm_arena_alloc(b->c->arena, (v->frames + 1) * sizeof *class);
    struct fm_map map;

    fm_map_init(&map, b->mem);
    for (size_t f = 0; class != NULL && f < v->frames; f++) {
        bool named = fm_view_frame(v, (uint32_t)f)->function != 0;
        uint64_t key = named ? (uint64_t)v->label[f] << 32 | v->dso[f] : UINT64_MAX << 32 | f;
        bool fresh;
        uint64_t *slot = fm_map_put(&map, key, &fresh);
        if (slot == NULL) {
            class = NULL;
            break;
        }
        if (fresh)
            *slot = f;
        class[f] = (uint32_t)*slot;
    }
    fm_map_release(&map);
    return class;
}

static bool edit_recursion(struct fm_restack *b)
{
    const struct fm_tree_node *node = b->v->node;
    const uint32_t *class = classes(b);

    if (class == NULL)
        return false;
    copy_rows(b);
    for (size_t n = 1; n < b->v->nodes && !b->oom; n++) {
        uint32_t up = b->to[node[n].parent], frame = node[n].frame, at = up;
        bool may = b->match == NULL || b->match[frame];
        if (b->edit->collapse == FM_COLLAPSE_ALL) {
            while (may && at != 0 && class[b->trie.node[at].key] != class[frame])
                at = b->trie.node[at].parent;
        }
        if (may && at != 0 && class[b->trie.node[at].key] == class[frame])
            b->to[n] = at;
        else
            b->to[n] = fm_restack_child(b, up, frame);
    }
    return true;
}

static void edit_run(struct fm_restack *b)
{
    const struct fm_tree_node *node = b->v->node;
    uint32_t as;

    copy_rows(b);
    as = synthetic(b, b->edit->as, b->edit->as_n);
    for (size_t n = 1; n < b->v->nodes; n++) {
        uint32_t up = node[n].parent, frame = node[n].frame;
        bool match = b->match[frame];
        bool inside = match && up != 0 && b->match[node[up].frame];
        b->to[n] = inside ? b->to[up] : fm_restack_child(b, b->to[up], match ? as : frame);
    }
}

/* ----------------------------------------------------- inlines, invert, depth */

static bool is_inline(const struct fm_frame_row *row)
{
    return row->inlined || row->kind == FM_FRAME_INLINED;
}

/* An inlined frame that nothing is above stays: there is no function to fold it into. */
static void edit_inlines(struct fm_restack *b)
{
    const struct fm_tree_node *node = b->v->node;

    copy_rows(b);
    for (size_t n = 1; n < b->v->nodes && !b->oom; n++) {
        uint32_t up = b->to[node[n].parent];
        bool fold = up != 0 && is_inline(&b->row[node[n].frame]);
        b->to[n] = fold ? up : fm_restack_child(b, up, node[n].frame);
    }
}

static void depth_from_root(struct fm_restack *b)
{
    const struct fm_tree_node *node = b->v->node;
    uint32_t max = b->edit->max, cut;

    copy_rows(b);
    cut = synthetic(b, "[truncated]", 11);
    for (size_t n = 1; n < b->v->nodes && !b->oom; n++) {
        uint32_t up = b->to[node[n].parent];
        if (node[n].depth <= max)
            b->to[n] = fm_restack_child(b, up, node[n].frame);
        else
            b->to[n] = node[n].depth == max + 1 ? fm_restack_child(b, up, cut) : up;
    }
}

/* The nodes that the selected rows end in: to[n] = 0, of all others FM_NONE. */
static enum fm_status mark_ends(struct fm_restack *b, const struct fm_selection *sel,
                                struct fm_view *v, struct fm_error *err)
{
    struct fm_reader r;
    enum fm_status status;

    fm_reader_init(&r, b->c, v, sel);
    fm_reader_need_stack(&r);
    status = fm_reader_start(&r, err);
    if (status != FM_OK)
        return status;
    for (size_t n = 1; n < v->nodes; n++)
        b->to[n] = FM_NONE;
    while (fm_reader_next(&r)) {
        for (uint32_t i = 0; i < r.scan.n; i++) {
            uint32_t node = fm_reader_node(&r, r.scan.live[i]);
            if (node != FM_NONE)
                b->to[node] = 0;
        }
    }
    fm_reader_release(&r);
    return FM_OK;
}

static void invert(struct fm_restack *b)
{
    const struct fm_tree_node *node = b->v->node;

    copy_rows(b);
    for (size_t n = 1; n < b->v->nodes && !b->oom; n++) {
        uint32_t at = 0;
        if (b->to[n] == FM_NONE)
            continue;
        for (size_t up = n; up != 0; up = node[up].parent)
            at = fm_restack_child(b, at, node[up].frame);
        b->to[n] = at;
    }
}

/* The last `max` frames, root first, below [truncated] when there were more. */
static bool depth_from_leaf(struct fm_restack *b)
{
    const struct fm_tree_node *node = b->v->node;
    uint32_t deepest = 0, max, cut, *frame;

    for (size_t n = 1; n < b->v->nodes; n++)
        deepest = FM_MAX(deepest, node[n].depth);
    max = FM_MIN(b->edit->max, deepest);
    frame = fm_arena_alloc(b->c->arena, ((size_t)max + 1) * sizeof *frame);
    if (frame == NULL)
        return false;
    copy_rows(b);
    cut = synthetic(b, "[truncated]", 11);
    for (size_t n = 1; n < b->v->nodes && !b->oom; n++) {
        uint32_t at = 0, up = (uint32_t)n, k = 0;
        if (b->to[n] == FM_NONE)
            continue;
        for (; up != 0 && k < max; up = node[up].parent)
            frame[k++] = node[up].frame;
        if (up != 0)
            at = fm_restack_child(b, 0, cut);
        while (k > 0)
            at = fm_restack_child(b, at, frame[--k]);
        b->to[n] = at;
    }
    return true;
}

/* ----------------------------------------------------------------- sealing */

static struct fm_stacks *seal(struct fm_restack *b, struct fm_selection *sel)
{
    const struct fm_view *v = b->v;
    uint32_t *id = fm_mem_alloc(b->mem, b->trie.n * sizeof *id);
    struct fm_stacks *s = id == NULL ? NULL : fm_stacks_seal(sel, &b->trie, b->row, b->rows, id);

    for (size_t n = 0; s != NULL && v->of_row == NULL && n < fm_store_tree_nodes(sel->store);
         n++) {
        uint32_t old = fm_view_node(v, (uint32_t)n);
        uint32_t to = old == FM_NONE ? FM_NONE : b->to[old];
        s->of_tree[n] = to == FM_NONE ? FM_NONE : id[to];
    }
    for (uint64_t r = 0; s != NULL && r < v->rows; r++) {
        uint32_t to = v->of_row[r] == FM_NONE ? FM_NONE : b->to[v->of_row[r]];
        v->of_row[r] = to == FM_NONE ? FM_NONE : id[to];
    }
    fm_mem_free(b->mem, id, id == NULL ? 0 : b->trie.n * sizeof *id);
    return s;
}

static bool is_kept(void *user, struct fm_reader *r, uint32_t place)
{
    bool *dropped = user;
    bool keep = fm_reader_node(r, place) != FM_NONE;

    *dropped |= !keep;
    return keep;
}

static bool no_change(const struct fm_edit *edit)
{
    switch (edit->op) {
    case FM_EDIT_KEEP:
        return !edit->drop && fm_pred_always(edit->p);
    case FM_EDIT_DROP:
        return edit->p->op == FM_PRED_CONST && edit->p->constant == FM_NO;
    case FM_EDIT_INLINES:
        return !edit->fold;
    default:
        return edit->whole;
    }
}

/* Whether the remap is made for the nodes that rows end in only. */
static bool by_ends(const struct fm_edit *edit)
{
    return edit->op == FM_EDIT_INVERT || (edit->op == FM_EDIT_DEPTH && edit->from_leaf);
}

static bool apply(struct fm_restack *b)
{
    switch (b->edit->op) {
    case FM_EDIT_KEEP:
    case FM_EDIT_DROP:
        edit_frames(b);
        return true;
    case FM_EDIT_ROOT:
        return edit_root(b);
    case FM_EDIT_LEAF:
        return edit_leaf(b);
    case FM_EDIT_LEVEL:
        return fm_edit_level(b);
    case FM_EDIT_RENAME:
        return fm_edit_rename(b);
    case FM_EDIT_INLINES:
        edit_inlines(b);
        return true;
    case FM_EDIT_INVERT:
        invert(b);
        return true;
    case FM_EDIT_DEPTH:
        if (b->edit->from_leaf)
            return depth_from_leaf(b);
        depth_from_root(b);
        return true;
    default:
        if (b->edit->collapse != FM_COLLAPSE_RUN)
            return edit_recursion(b);
        edit_run(b);
        return true;
    }
}

/* The stacks after a remap. */
static enum fm_status remap(struct fm_compile *c, struct fm_edit *edit, struct fm_selection *sel,
                            struct fm_view *v, struct fm_error *err)
{
    struct fm_stacks *s = NULL;
    enum fm_status status = FM_OK;
    struct fm_restack b;
    bool ok = build_init(&b, c, edit, v);

    if (ok && by_ends(edit))
        status = mark_ends(&b, sel, v, err);
    if (ok && status == FM_OK && apply(&b) && !b.oom)
        s = seal(&b, sel);
    build_release(&b);
    if (status != FM_OK)
        return status;
    if (s == NULL)
        return fm_error_nomem(err);
    if (sel->stacks != NULL)
        fm_stacks_free(sel, sel->stacks);
    sel->stacks = s;
    return fm_view_init(v, sel, c->arena, err);
}

enum fm_status fm_edit_run(struct fm_compile *c, struct fm_edit *edit, struct fm_selection *sel,
                           struct fm_view *v, bool *dropped, struct fm_error *err)
{
    struct fm_reader r;
    enum fm_status status;

    *dropped = false;
    if (no_change(edit))
        return FM_OK;
    if (edit->op == FM_EDIT_PREPEND || edit->op == FM_EDIT_APPEND)
        return fm_edit_weave(c, edit, sel, v, err);
    status = remap(c, edit, sel, v, err);
    if (status != FM_OK || !edit->drop)
        return status;
    fm_reader_init(&r, c, v, sel);
    fm_reader_need_stack(&r);
    return fm_rows_keep(&r, sel, is_kept, dropped, err);
}
