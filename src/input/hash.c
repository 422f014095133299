/*
 * hash.c - XXH3 (64 bits) of what a reader has seen.
 *
 * The state wants 64-byte alignment, which fm_mem does not promise: it lies at the first such place
 * of a larger block.
 */
#include "input/inner.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define ALIGN 64

struct fm_hash {
    void *block;
    bool wide;                  /* by hash_avx2.c */
    XXH3_state_t state;
};

#define BLOCK (sizeof(struct fm_hash) + ALIGN)

struct fm_hash *fm_hash_new(struct fm_mem *mem)
{
    char *block = fm_mem_alloc(mem, BLOCK);
    if (block == NULL)
        return NULL;
    struct fm_hash *hash = (struct fm_hash *)(void *)(block + ALIGN - (uintptr_t)block % ALIGN);
    hash->block = block;
    hash->wide = fm_hash_have_avx2();
    XXH3_64bits_reset(&hash->state);
    return hash;
}

void fm_hash_free(struct fm_hash *hash, struct fm_mem *mem)
{
    if (hash != NULL)
        fm_mem_free(mem, hash->block, BLOCK);
}

void fm_hash_add(struct fm_hash *hash, const void *data, size_t n)
{
    if (hash->wide)
        fm_hash_add_avx2(&hash->state, data, n);
    else
        XXH3_64bits_update(&hash->state, data, n);
}

uint64_t fm_hash_get(const struct fm_hash *hash)
{
    return XXH3_64bits_digest(&hash->state);
}

uint64_t fm_hash_of(const void *data, size_t n)
{
    return XXH3_64bits(data, n);
}
