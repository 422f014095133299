/*
 * inline.c - calls that were inlined, put into the stack tree of a sealed store.
 *
 *     node (frame F, inlined into it G, into that H)          F
 *       child                                                  └ G
 *                                                                └ H      rows and children of
 *                                                                  └ child   the node come here
 *
 * Pre-order stays: each old node moves behind what earlier ones have grown by, so one forward pass
 * over the old tree writes the new one. Append ids of rows are not touched: their map now leads to
 * the innermost frame.
 *
 *     grown[i] = sum of lengths of the chains of nodes before i      place of node i = i + grown[i]
 */
#include "store/inside.h"

fm_frame fm_store_frame_add(struct fm_store *store, const struct fm_frame_row *row)
{
    struct fm_tables *t = &store->t;

    if (t->frames >= FM_NONE - 1 ||
        !fm_grow(store->mem, (void **)&t->frame, &t->frame_cap, t->frames + 1, sizeof *t->frame))
        return FM_NONE;
    t->frame[t->frames] = *row;
    return (fm_frame)t->frames++;
}

/* What each frame grows by: a pointer to its expansion, or NULL. */
static const struct fm_expansion **by_frame(struct fm_store *s,
                                            const struct fm_expansion *expansion, size_t n,
                                            size_t *bytes)
{
    const struct fm_expansion **of;

    if (!fm_mul_size(s->t.frames, sizeof *of, bytes))
        return NULL;
    of = fm_mem_zalloc(s->mem, *bytes);
    for (size_t i = 0; of != NULL && i < n; i++) {
        fm_assert(expansion[i].frame < s->t.frames && of[expansion[i].frame] == NULL);
        fm_assert(expansion[i].first + (size_t)expansion[i].n <= s->t.frames);
        of[expansion[i].frame] = &expansion[i];
    }
    return of;
}

/* The place of each old node, and one past the last; returns the nodes of the new tree. */
static uint64_t place_nodes(const struct fm_store *s, const struct fm_expansion *const *of,
                            uint32_t *place)
{
    uint64_t at = 1;

    place[0] = 0;
    for (size_t i = 1; i < s->nodes && at < FM_NONE; i++) {
        const struct fm_expansion *e = of[s->tree[i].frame];
        place[i] = (uint32_t)at;
        at += 1 + (e != NULL ? (uint64_t)e->n : 0);
    }
    place[s->nodes] = (uint32_t)at;
    return at;
}

/* Writes the chains. inner(i) = the last node of the chain of i. */
static void write_nodes(const struct fm_store *s, const struct fm_expansion *const *of,
                        const uint32_t *place, struct fm_tree_node *tree)
{
    tree[0] = s->tree[0];
    tree[0].end = place[s->nodes];
    for (size_t i = 1; i < s->nodes; i++) {
        const struct fm_tree_node *old = &s->tree[i];
        const struct fm_expansion *e = of[old->frame];
        const uint32_t n = e != NULL ? e->n : 0;
        uint32_t parent = old->parent == 0 ? 0 : place[old->parent + 1] - 1;
        /* the parent's chain ends where its first child, the node behind it, begins */
        for (uint32_t k = 0; k <= n; k++) {
            struct fm_tree_node *node = &tree[place[i] + k];
            node->parent = parent;
            node->end = place[old->end];
            node->frame = k == 0 ? old->frame : e->first + (k - 1);
            node->depth = tree[parent].depth + 1;
            parent = place[i] + k;
        }
    }
}

bool fm_store_expand(struct fm_store *s, const struct fm_expansion *expansion, size_t n)
{
    const struct fm_expansion **of = NULL;
    struct fm_tree_node *tree = NULL;
    uint32_t *place = NULL;
    size_t of_bytes = 0, place_bytes = (s->nodes + 1) * sizeof *place, bytes;
    uint64_t nodes = 0;

    if (n == 0)
        return true;
    of = by_frame(s, expansion, n, &of_bytes);
    place = fm_mem_alloc(s->mem, place_bytes);
    if (of != NULL && place != NULL)
        nodes = place_nodes(s, of, place);
    if (nodes > 0 && nodes < FM_NONE && fm_mul_size((size_t)nodes, sizeof *tree, &bytes))
        tree = fm_mem_alloc(s->mem, bytes);
    if (tree != NULL) {
        write_nodes(s, of, place, tree);
        for (size_t i = 1; i < s->appends; i++)
            s->append[i] = place[s->append[i] + 1] - 1;
        fm_mem_free(s->mem, s->tree, s->nodes * sizeof *s->tree);
        s->tree = tree;
        s->nodes = (size_t)nodes;
    }
    fm_mem_free(s->mem, of, of_bytes);
    fm_mem_free(s->mem, place, place_bytes);
    return tree != NULL;
}
