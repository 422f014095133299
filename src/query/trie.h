/*
 * trie.h - a growing trie of (parent, key) nodes: edited stacks, and paths of labels.
 *
 * Node 0 is the root; parent < child. Children hang in a chain from their parent; a node with more
 * than FM_TRIE_CHAIN of them also has them in a hash map. Most nodes of call trees have a few
 * children, and a walk in pre-order has just touched them: measured 4 times as fast as hashing
 * every edge.
 */
#ifndef FM_QUERY_TRIE_H
#define FM_QUERY_TRIE_H

#include "util/map.h"

#define FM_TRIE_CHAIN 8

struct fm_trie_node {
    uint32_t parent, key;
    uint32_t first, next;        /* child made last, and the sibling made before; 0 = none */
    uint32_t kids;
};

struct fm_trie {
    struct fm_mem *mem;
    struct fm_trie_node *node;
    size_t n, cap;
    struct fm_map map;           /* parent << 32 | key, for parents of many */
};

bool fm_trie_init(struct fm_trie *t, struct fm_mem *mem);   /* false: no memory */
void fm_trie_release(struct fm_trie *t);                    /* also of a zeroed one */
/* The child, made when it is new; UINT32_MAX: no memory. */
uint32_t fm_trie_child(struct fm_trie *t, uint32_t parent, uint32_t key);
/* The child; UINT32_MAX: there is none. */
uint32_t fm_trie_find(const struct fm_trie *t, uint32_t parent, uint32_t key);

#endif
