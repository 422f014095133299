/*
 * edge.c - keys of two frames that follow each other: caller.X and callee.X.
 *
 *     main -> a -> a -> b     the calls main->a, a->b; and a->a when recursion is shown
 *
 * The key of a node is that of the innermost call on its stack: of its own frame and the one above
 * it. Where that call is not shown, because a function calls itself or nothing calls the frame, the
 * key is that of the node above. A stack has each key once however often the call repeats, and its
 * own (self) is the one of its innermost frame; so the sum of self over all groups is the weight
 * selected, with a group of nulls for stacks without a call. A function calls itself when the two
 * frames agree in every attribute that some key asks for.
 */
#include "query/group.h"

static bool recurs(struct fm_grouping *x, uint32_t caller, uint32_t callee)
{
    for (size_t k = 0; k < x->g->keys; k++) {
        if (x->g->key[k].kind > FM_KEY_ANY
            && fm_group_attr(x, k, caller) != fm_group_attr(x, k, callee))
            return false;
    }
    return true;
}

/* The key of a call; of none with two FM_NONEs. */
static uint32_t key_of_call(struct fm_grouping *x, uint32_t caller, uint32_t callee)
{
    uint32_t t = 0;

    for (size_t k = 0; k < x->g->keys && t != FM_NONE; k++) {
        enum fm_key_kind kind = x->g->key[k].kind;
        if (kind > FM_KEY_ANY)
            t = fm_tuple(&x->frame_tuples, t,
                         fm_group_attr(x, k, kind == FM_KEY_CALLER ? caller : callee));
    }
    return t;
}

bool fm_edge_keys(struct fm_grouping *x)
{
    const struct fm_tree_node *node = x->v->node;

    x->node_key = fm_arena_alloc(x->c->arena, (x->v->nodes + 1) * sizeof *x->node_key);
    x->no_key = key_of_call(x, FM_NONE, FM_NONE);
    if (x->node_key == NULL || x->no_key == FM_NONE)
        return false;
    x->node_key[0] = x->no_key;
    for (size_t n = 1; n < x->v->nodes; n++) {
        uint32_t up = node[n].parent;
        x->node_key[n] = x->node_key[up];
        if (up == 0 || (!x->g->recursion && recurs(x, node[up].frame, node[n].frame)))
            continue;
        x->node_key[n] = key_of_call(x, node[up].frame, node[n].frame);
        if (x->node_key[n] == FM_NONE)
            return false;
    }
    return !x->oom;
}
