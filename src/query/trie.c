/*
 * trie.c - see trie.h.
 */
#include "query/trie.h"

bool fm_trie_init(struct fm_trie *t, struct fm_mem *mem)
{
    *t = (struct fm_trie){ .mem = mem };
    fm_map_init(&t->map, mem);
    if (!fm_grow(mem, (void **)&t->node, &t->cap, 1, sizeof *t->node))
        return false;
    t->node[0] = (struct fm_trie_node){ .parent = UINT32_MAX, .key = UINT32_MAX };
    t->n = 1;
    return true;
}

void fm_trie_release(struct fm_trie *t)
{
    if (t->mem == NULL)
        return;
    fm_map_release(&t->map);
    fm_mem_free(t->mem, t->node, t->cap * sizeof *t->node);
    *t = (struct fm_trie){ .mem = NULL };
}

static uint64_t edge(uint32_t parent, uint32_t key)
{
    return (uint64_t)parent << 32 | key;
}

static bool hash_child(struct fm_trie *t, uint32_t child)
{
    const struct fm_trie_node *c = &t->node[child];
    uint64_t *slot = fm_map_put(&t->map, edge(c->parent, c->key), NULL);

    if (slot == NULL)
        return false;
    *slot = child;
    return true;
}

static uint32_t add(struct fm_trie *t, uint32_t parent, uint32_t key)
{
    uint32_t n = (uint32_t)t->n;

    if (t->n >= UINT32_MAX - 1
        || !fm_grow(t->mem, (void **)&t->node, &t->cap, t->n + 1, sizeof *t->node))
        return UINT32_MAX;
    t->node[n] = (struct fm_trie_node){ .parent = parent, .key = key,
                                        .next = t->node[parent].first };
    t->node[parent].first = n;
    t->n++;
    if (++t->node[parent].kids <= FM_TRIE_CHAIN)
        return n;
    if (t->node[parent].kids > FM_TRIE_CHAIN + 1)
        return hash_child(t, n) ? n : UINT32_MAX;
    for (uint32_t c = n; c != 0; c = t->node[c].next) {
        if (!hash_child(t, c))
            return UINT32_MAX;
    }
    return n;
}

uint32_t fm_trie_find(const struct fm_trie *t, uint32_t parent, uint32_t key)
{
    const uint64_t *slot;

    fm_assert(parent < t->n);
    if (t->node[parent].kids > FM_TRIE_CHAIN) {
        slot = fm_map_find(&t->map, edge(parent, key));
        return slot != NULL ? (uint32_t)*slot : UINT32_MAX;
    }
    for (uint32_t c = t->node[parent].first; c != 0; c = t->node[c].next) {
        if (t->node[c].key == key)
            return c;
    }
    return UINT32_MAX;
}

uint32_t fm_trie_child(struct fm_trie *t, uint32_t parent, uint32_t key)
{
    uint64_t *slot;

    fm_assert(parent < t->n);
    if (t->node[parent].kids > FM_TRIE_CHAIN) {
        slot = fm_map_find(&t->map, edge(parent, key));
        return slot != NULL ? (uint32_t)*slot : add(t, parent, key);
    }
    for (uint32_t c = t->node[parent].first; c != 0; c = t->node[c].next) {
        if (t->node[c].key == key)
            return c;
    }
    return add(t, parent, key);
}
