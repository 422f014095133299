/*
 * maps.c - persistent AVL trees of address ranges: see maps.h.
 *
 * Everything is made of join(left, middle, right), which links two trees of any heights around a
 * node in O(difference of heights) (Blelloch, Ferizovic and Sun, "Just Join for Parallel Ordered
 * Sets"): split and set follow from it. Recursion goes as deep as a tree is high: 1.44 log2 n.
 */
#include "import/perf/maps.h"

#define NIL 0u

void fm_perf_maps_init(struct fm_perf_maps *maps, struct fm_mem *mem)
{
    memset(maps, 0, sizeof *maps);
    maps->mem = mem;
}

void fm_perf_maps_release(struct fm_perf_maps *maps)
{
    fm_mem_free(maps->mem, maps->node, maps->cap * sizeof *maps->node);
    fm_perf_maps_init(maps, maps->mem);
}

struct fm_perf_tree fm_perf_tree_new(struct fm_perf_maps *maps)
{
    return (struct fm_perf_tree){NIL, ++maps->owners};
}

/* Both sides get a new owner: neither may change the shared nodes any more. */
struct fm_perf_tree fm_perf_tree_copy(struct fm_perf_maps *maps, struct fm_perf_tree *from)
{
    from->owner = ++maps->owners;
    return (struct fm_perf_tree){from->root, ++maps->owners};
}

/* A fresh node; NIL without memory. */
static uint32_t make(struct fm_perf_maps *maps, struct fm_perf_map_node node)
{
    if (maps->oom || maps->n >= UINT32_MAX - 1)
        return NIL;
    if (!fm_grow(maps->mem, (void **)&maps->node, &maps->cap, maps->n + 2, sizeof *maps->node)) {
        maps->oom = true;
        return NIL;
    }
    if (maps->n == 0)
        maps->node[maps->n++] = (struct fm_perf_map_node){0};
    maps->node[maps->n] = node;
    return (uint32_t)maps->n++;
}

/* The node itself when `owner` made it, else a copy that he may change. */
static uint32_t own(struct fm_perf_maps *maps, uint32_t t, uint32_t owner)
{
    if (t == NIL || maps->node[t].owner == owner)
        return t;
    struct fm_perf_map_node copy = maps->node[t];
    copy.owner = owner;
    return make(maps, copy);
}

static uint32_t height(const struct fm_perf_maps *maps, uint32_t t)
{
    return t == NIL ? 0 : maps->node[t].height;
}

/* Links left and right below node t, which the owner may change. */
static uint32_t link_node(struct fm_perf_maps *maps, uint32_t left, uint32_t t, uint32_t right)
{
    struct fm_perf_map_node *node = &maps->node[t];
    uint32_t l = height(maps, left), r = height(maps, right);
    node->left = left;
    node->right = right;
    node->height = FM_MAX(l, r) + 1;
    return t;
}

static uint32_t rotate_left(struct fm_perf_maps *maps, uint32_t t, uint32_t owner)
{
    uint32_t right = own(maps, maps->node[t].right, owner);
    if (right == NIL)
        return NIL;
    uint32_t inner = maps->node[right].left;
    link_node(maps, maps->node[t].left, t, inner);
    return link_node(maps, t, right, maps->node[right].right);
}

static uint32_t rotate_right(struct fm_perf_maps *maps, uint32_t t, uint32_t owner)
{
    uint32_t left = own(maps, maps->node[t].left, owner);
    if (left == NIL)
        return NIL;
    uint32_t inner = maps->node[left].right;
    link_node(maps, inner, t, maps->node[t].right);
    return link_node(maps, maps->node[left].left, left, t);
}

static uint32_t join(struct fm_perf_maps *maps, uint32_t left, uint32_t t, uint32_t right,
                     uint32_t owner);

/* join() when left is the higher one: goes down its right spine. */
static uint32_t join_right(struct fm_perf_maps *maps, uint32_t left, uint32_t t, uint32_t right,
                           uint32_t owner)
{
    left = own(maps, left, owner);
    if (left == NIL)
        return NIL;
    uint32_t l = maps->node[left].left;
    uint32_t joined = join(maps, maps->node[left].right, t, right, owner);
    if (joined == NIL)
        return NIL;
    if (height(maps, joined) <= height(maps, l) + 1)
        return link_node(maps, l, left, joined);
    if (height(maps, maps->node[joined].left) > height(maps, maps->node[joined].right)) {
        joined = rotate_right(maps, joined, owner);
        if (joined == NIL)
            return NIL;
    }
    link_node(maps, l, left, joined);
    return rotate_left(maps, left, owner);
}

static uint32_t join_left(struct fm_perf_maps *maps, uint32_t left, uint32_t t, uint32_t right,
                          uint32_t owner)
{
    right = own(maps, right, owner);
    if (right == NIL)
        return NIL;
    uint32_t r = maps->node[right].right;
    uint32_t joined = join(maps, left, t, maps->node[right].left, owner);
    if (joined == NIL)
        return NIL;
    if (height(maps, joined) <= height(maps, r) + 1)
        return link_node(maps, joined, right, r);
    if (height(maps, maps->node[joined].right) > height(maps, maps->node[joined].left)) {
        joined = rotate_left(maps, joined, owner);
        if (joined == NIL)
            return NIL;
    }
    link_node(maps, joined, right, r);
    return rotate_right(maps, right, owner);
}

/* One tree of all of left < node t < all of right; t may be changed by the owner. */
static uint32_t join(struct fm_perf_maps *maps, uint32_t left, uint32_t t, uint32_t right,
                     uint32_t owner)
{
    uint32_t l = height(maps, left), r = height(maps, right);
    if (t == NIL)
        return NIL;
    if (l > r + 1)
        return join_right(maps, left, t, right, owner);
    if (r > l + 1)
        return join_left(maps, left, t, right, owner);
    return link_node(maps, left, t, right);
}

/* Takes the last node out of a tree: *last, and what is left. */
static uint32_t split_last(struct fm_perf_maps *maps, uint32_t t, uint32_t owner, uint32_t *last)
{
    t = own(maps, t, owner);
    *last = t;
    if (t == NIL)
        return NIL;
    uint32_t left = maps->node[t].left, right = maps->node[t].right;
    if (right == NIL)
        return left;
    uint32_t rest = split_last(maps, right, owner, last);
    return *last == NIL ? NIL : join(maps, left, t, rest, owner);
}

static uint32_t join2(struct fm_perf_maps *maps, uint32_t left, uint32_t right, uint32_t owner)
{
    uint32_t last;
    if (left == NIL)
        return right;
    left = split_last(maps, left, owner, &last);
    return join(maps, left, last, right, owner);
}

/* What lies below `at` and what from `at` on; a range across it is cut in two. */
static void split(struct fm_perf_maps *maps, uint32_t t, uint64_t at, uint32_t owner,
                  uint32_t *below, uint32_t *above)
{
    uint32_t part = NIL;
    *below = *above = NIL;
    t = own(maps, t, owner);
    if (t == NIL)
        return;
    uint32_t left = maps->node[t].left, right = maps->node[t].right;
    if (at <= maps->node[t].start) {
        split(maps, left, at, owner, below, &part);
        *above = join(maps, part, t, right, owner);
    } else if (at >= maps->node[t].end) {
        split(maps, right, at, owner, &part, above);
        *below = join(maps, left, t, part, owner);
    } else {
        struct fm_perf_map_node upper = maps->node[t];
        upper.start = at;
        maps->node[t].end = at;
        uint32_t u = make(maps, upper);
        *above = join(maps, NIL, u, right, owner);
        *below = join(maps, left, t, NIL, owner);
    }
}

bool fm_perf_tree_set(struct fm_perf_maps *maps, struct fm_perf_tree *tree, uint64_t start,
                      uint64_t end, uint32_t value)
{
    uint32_t below, rest, covered, above, owner = tree->owner;
    fm_assert(start < end);
    split(maps, tree->root, start, owner, &below, &rest);
    split(maps, rest, end, owner, &covered, &above);
    if (value == FM_PERF_NO_MAP) {
        tree->root = join2(maps, below, above, owner);
    } else {
        uint32_t t = make(maps, (struct fm_perf_map_node){.start = start, .end = end,
                                                          .value = value, .owner = owner});
        tree->root = join(maps, below, t, above, owner);
    }
    return !maps->oom;
}

uint32_t fm_perf_tree_find(const struct fm_perf_maps *maps, const struct fm_perf_tree *tree,
                           uint64_t address)
{
    for (uint32_t t = tree->root; t != NIL;) {
        const struct fm_perf_map_node *node = &maps->node[t];
        if (address < node->start)
            t = node->left;
        else if (address >= node->end)
            t = node->right;
        else
            return node->value;
    }
    return FM_PERF_NO_MAP;
}
