/*
 * stack.h - the stack tree while it grows, and the whole-chain cache in front of it.
 *
 *     node[0] = root; node[i] = {parent < i, frame}; children of a node in first-append order
 *
 * Nodes are interned by (parent, frame): a node knows its first child, the others are in the index.
 * Most nodes of deep stacks have one child, and cost no look at memory far away. Ids are append
 * ids: rows keep them for ever, and fm_tree_order() maps them to DFS pre-order when a store is
 * sealed.
 *
 * Chain cache: records {context, n, stack, words[n]} in segmented memory addressed by 32-bit word
 * numbers; found by hash, decided by comparing the words.
 */
#ifndef FM_STORE_STACK_H
#define FM_STORE_STACK_H

#include "store/index.h"

struct fm_tree_link {
    uint32_t parent;
    fm_frame frame;
    uint32_t first;          /* child; 0: none */
};

struct fm_tree {
    struct fm_mem *mem;
    struct fm_tree_link *node;
    size_t n, cap;
    struct fm_index index;
};

bool fm_tree_init(struct fm_tree *tree, struct fm_mem *mem) FM_MUST_USE;
void fm_tree_release(struct fm_tree *tree);
/* FM_NONE: no memory, or 2^32 - 2 nodes. */
fm_node fm_tree_add(struct fm_tree *tree, fm_node parent, fm_frame frame);
/* DFS pre-order: map[append id] = place (n entries), node[place] filled. false = no memory. */
bool fm_tree_order(const struct fm_tree *tree, uint32_t *map,
                   struct fm_tree_node *node) FM_MUST_USE;

/* Segments of 2^12, 2^13 … 2^21 words of 8 bytes, then 2^21 each; 2^30 words in all. */
#define FM_CHAIN_SEGMENTS 522

struct fm_chains {
    struct fm_mem *mem;
    uint64_t *segment[FM_CHAIN_SEGMENTS];
    uint32_t next;              /* word number of the next record */
    struct fm_index index;      /* hash -> word number of the record */
};

void fm_chains_init(struct fm_chains *chains, struct fm_mem *mem);
void fm_chains_release(struct fm_chains *chains);
/* See fm_builder_chain() and those after it. */
uint32_t fm_chains_hash(uint64_t context, const void *words, size_t n);
fm_node *fm_chains_find(struct fm_chains *chains, uint32_t hash, uint64_t context,
                        const void *words, size_t n);
void fm_chains_near(const struct fm_chains *chains, uint32_t hash);
void fm_chains_nearer(const struct fm_chains *chains, uint32_t hash);

#endif
