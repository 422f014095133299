/*
 * index.c - growing of the hash index under the store's intern tables; see index.h.
 *
 * Tables start small and double: first touch of fresh pages is the cost, so a small import must not
 * pay for a large one. From 2 MiB on they are mapped with huge pages.
 */
#include "store/index.h"

#define FIRST_SLOTS 64u
#define MAP_BYTES ((size_t)2 << 20)

static void *table_alloc(struct fm_mem *mem, size_t n)
{
    return n >= MAP_BYTES ? fm_mem_map(mem, n) : fm_mem_zalloc(mem, n);
}

static void table_free(struct fm_mem *mem, void *p, size_t n)
{
    if (p == NULL)
        return;
    if (n >= MAP_BYTES)
        fm_mem_unmap(mem, p, n);
    else
        fm_mem_free(mem, p, n);
}

void fm_index_init(struct fm_index *ix, struct fm_mem *mem)
{
    memset(ix, 0, sizeof *ix);
    ix->mem = mem;
}

void fm_index_release(struct fm_index *ix)
{
    table_free(ix->mem, ix->slot, ix->slots * sizeof *ix->slot);
    ix->slot = NULL;
    ix->slots = ix->n = 0;
}

static bool grow(struct fm_index *ix)
{
    size_t slots = ix->slots != 0 ? ix->slots * 2 : FIRST_SLOTS;
    size_t bytes, mask = slots - 1;
    struct fm_index_slot *slot;

    fm_assert((slots & mask) == 0);
    if (!fm_mul_size(slots, sizeof *slot, &bytes))
        return false;
    slot = table_alloc(ix->mem, bytes);
    if (slot == NULL)
        return false;
    for (size_t i = 0; i < ix->slots; i++) {
        struct fm_index_slot s = ix->slot[i];
        size_t at = s.hash & mask;
        if (s.id1 == 0)
            continue;
        while (slot[at].id1 != 0)
            at = (at + 1) & mask;
        slot[at] = s;
    }
    table_free(ix->mem, ix->slot, ix->slots * sizeof *ix->slot);
    ix->slot = slot;
    ix->slots = slots;
    return true;
}

bool fm_index_add(struct fm_index *ix, uint32_t hash, uint32_t id)
{
    size_t at;

    fm_assert(id != FM_NONE);
    if ((ix->n + 1) * 8 > ix->slots * 5 && !grow(ix))
        return false;
    fm_assert(ix->n < ix->slots);
    at = hash & (ix->slots - 1);
    while (ix->slot[at].id1 != 0)
        at = (at + 1) & (ix->slots - 1);
    ix->slot[at] = (struct fm_index_slot){hash, id + 1};
    ix->n++;
    return true;
}

bool fm_index_copy(struct fm_index *to, const struct fm_index *from)
{
    size_t bytes = from->slots * sizeof *from->slot;

    fm_index_init(to, from->mem);
    if (from->slots == 0)
        return true;
    to->slot = table_alloc(to->mem, bytes);
    if (to->slot == NULL)
        return false;
    memcpy(to->slot, from->slot, bytes);
    to->slots = from->slots;
    to->n = from->n;
    fm_assert(to->n < to->slots);
    return true;
}

size_t fm_index_memory(const struct fm_index *ix)
{
    return ix->slots * sizeof *ix->slot;
}
