/*
 * index.h - open-addressing index from a 32-bit hash to 32-bit ids: the pattern under every intern
 * table of the store. The objects stay in their own table; the index only proposes ids.
 *
 *     slot = {hash, id + 1}, 0 = empty; linear probing; load below 5/8; grows by doubling
 *
 *     for (id = fm_index_first(ix, hash, &at); id != FM_NONE; id = fm_index_next(ix, hash, &at))
 *         if (equal(table[id], key))
 *             return id;
 *     ok = fm_index_add(ix, hash, new_id);
 *
 * The hash is stored, so growing never touches the objects. There is no removal.
 */
#ifndef FM_STORE_INDEX_H
#define FM_STORE_INDEX_H

#include "store/store.h"

struct fm_index_slot {
    uint32_t hash;
    uint32_t id1;
};

struct fm_index {
    struct fm_mem *mem;
    struct fm_index_slot *slot;
    size_t slots;       /* power of two, or 0 */
    size_t n;
};

void fm_index_init(struct fm_index *ix, struct fm_mem *mem);
void fm_index_release(struct fm_index *ix);
/* Adds an id that is not there yet; false = no memory, the index is as before. */
bool fm_index_add(struct fm_index *ix, uint32_t hash, uint32_t id) FM_MUST_USE;
/* A copy with the same ids; false = no memory, *to is empty. */
bool fm_index_copy(struct fm_index *to, const struct fm_index *from) FM_MUST_USE;
size_t fm_index_memory(const struct fm_index *ix);

static inline uint32_t fm_index_fold(uint64_t h)
{
    return (uint32_t)(h ^ (h >> 32));
}

static inline uint32_t fm_index_seek(const struct fm_index *ix, uint32_t hash, size_t *at)
{
    size_t i = *at, mask = ix->slots - 1;
    for (; ix->slot[i].id1 != 0; i = (i + 1) & mask) {
        if (ix->slot[i].hash == hash) {
            *at = i;
            return ix->slot[i].id1 - 1;
        }
    }
    return FM_NONE;
}

static inline uint32_t fm_index_first(const struct fm_index *ix, uint32_t hash, size_t *at)
{
    if (FM_UNLIKELY(ix->slots == 0))
        return FM_NONE;
    *at = hash & (ix->slots - 1);
    return fm_index_seek(ix, hash, at);
}

static inline uint32_t fm_index_next(const struct fm_index *ix, uint32_t hash, size_t *at)
{
    *at = (*at + 1) & (ix->slots - 1);
    return fm_index_seek(ix, hash, at);
}

#endif
