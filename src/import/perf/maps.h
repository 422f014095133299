/*
 * maps.h - address ranges of many processes: a forest of persistent balanced trees.
 *
 * A tree is a root index and an owner number. A fork copies the root alone: parent and child then
 * share every node, and each copies a node the first time it changes it (nodes carry the owner that
 * made them, and only that owner may change them in place). Setting a range costs O(log n) whatever
 * it overlaps, so a million maps and a fork after each are no trouble.
 *
 *     [0x1000 ........ 0x5000) = a
 *            set [0x2000, 0x3000) = b  ->  [0x1000,0x2000) a [0x2000,0x3000) b [0x3000,0x5000) a
 *
 * Values are the caller's numbers; a piece that was cut keeps its value, so values must not depend
 * on where a piece starts (process.c keeps "file offset - address").
 */
#ifndef FM_IMPORT_PERF_MAPS_H
#define FM_IMPORT_PERF_MAPS_H

#include "util/mem.h"

struct fm_perf_map_node {
    uint64_t start, end;
    uint32_t value, left, right, owner;
    uint32_t height;
};

struct fm_perf_maps {
    struct fm_mem *mem;
    struct fm_perf_map_node *node;   /* 0 is the empty tree */
    size_t n, cap;
    uint32_t owners;
    bool oom;                        /* sticks */
};

struct fm_perf_tree {
    uint32_t root, owner;
};

void fm_perf_maps_init(struct fm_perf_maps *maps, struct fm_mem *mem);
void fm_perf_maps_release(struct fm_perf_maps *maps);

/* An empty tree; a tree with the ranges of `from`, which goes on as it was. */
struct fm_perf_tree fm_perf_tree_new(struct fm_perf_maps *maps);
struct fm_perf_tree fm_perf_tree_copy(struct fm_perf_maps *maps, struct fm_perf_tree *from);

/* [start, end) becomes `value`, or free with FM_PERF_NO_MAP; what it overlaps is cut. False: no
 * memory; the tree is unusable then. start < end. */
#define FM_PERF_NO_MAP UINT32_MAX
bool fm_perf_tree_set(struct fm_perf_maps *maps, struct fm_perf_tree *tree, uint64_t start,
                      uint64_t end, uint32_t value);
/* The value at an address, or FM_PERF_NO_MAP. */
uint32_t fm_perf_tree_find(const struct fm_perf_maps *maps, const struct fm_perf_tree *tree,
                           uint64_t address);

#endif
