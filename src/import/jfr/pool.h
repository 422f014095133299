/*
 * pool.h - the constant pools of a chunk: (type, key) -> bytes of the value.
 *
 *     checkpoint := size, 1, startTime, duration, delta varints, mask u8, poolCount varint,
 *                   poolCount x (type id, entryCount varints, entryCount x (key varint, value))
 *
 * The bytes of checkpoints are copied, because values are looked up in any order; each value is
 * stepped over once and decoded when somebody asks.
 */
#ifndef FM_IMPORT_JFR_POOL_H
#define FM_IMPORT_JFR_POOL_H

#include "import/jfr/meta.h"
#include "store/index.h"

struct fm_jfr_entry {
    uint64_t key;
    const unsigned char *p;
    uint32_t n;
    uint32_t cache;             /* of resolve.c; FM_NONE: not decoded yet */
};

/* Most writers number their values: keys that lie dense are indexes, others are hashed. */
struct fm_jfr_pool {
    uint32_t *dense;            /* key - base -> entry + 1 */
    uint64_t base;
    size_t denses;
    size_t n;
    struct fm_index index;      /* entries of the others */
};

struct fm_jfr_block {
    unsigned char *p;
    size_t n;
};

struct fm_jfr_pools {
    struct fm_mem *mem;
    struct fm_jfr_meta *meta;
    uint32_t *of;               /* class -> pool + 1 */
    struct fm_jfr_pool *pool;
    size_t pools, pool_cap;
    struct fm_jfr_entry *entry;
    size_t entries, entry_cap;
    struct fm_jfr_block *block;
    size_t blocks, block_cap;
    bool oom;
};

bool fm_jfr_pools_init(struct fm_jfr_pools *pools, struct fm_jfr_meta *meta);
void fm_jfr_pools_release(struct fm_jfr_pools *pools);

/* Where a checkpoint could not be read any more. */
struct fm_jfr_pool_fault {
    const char *why;            /* NULL: it was read to its end */
    uint64_t offset;            /* relative to the checkpoint */
};
/* Takes the n bytes of a checkpoint event (allocated from mem, taken over in any case). Keys that
 * are there already stay as they are: newer checkpoints come first. */
void fm_jfr_pools_add(struct fm_jfr_pools *pools, unsigned char *p, size_t n,
                      struct fm_jfr_pool_fault *fault);
/* Delta of a checkpoint's bytes: where the one before it is; false: not that many bytes. */
bool fm_jfr_checkpoint_delta(const unsigned char *p, size_t n, bool wide, int64_t *delta);

struct fm_jfr_entry *fm_jfr_pool_hashed(const struct fm_jfr_pools *pools,
                                        const struct fm_jfr_pool *pool, uint64_t key);

/* The value, or NULL. Valid until the next fm_jfr_pools_add(). */
static inline struct fm_jfr_entry *fm_jfr_pool_find(const struct fm_jfr_pools *pools,
                                                    uint32_t class, uint64_t key)
{
    const struct fm_jfr_pool *pool;
    if (class == FM_JFR_NO_CLASS || pools->of == NULL || pools->of[class] == 0)
        return NULL;
    pool = &pools->pool[pools->of[class] - 1];
    if (FM_LIKELY(key - pool->base < pool->denses && pool->dense[key - pool->base] != 0))
        return &pools->entry[pool->dense[key - pool->base] - 1];
    return fm_jfr_pool_hashed(pools, pool, key);
}

/* Calls fn for each value of a class until it returns false, in no order. */
bool fm_jfr_pool_any(const struct fm_jfr_pools *pools, uint32_t class,
                     bool (*fn)(void *user, const struct fm_jfr_entry *entry), void *user);

/* Text of a value of a text-like class: String, Symbol, and types of a single such field. */
void fm_jfr_pool_text(const struct fm_jfr_pools *pools, uint32_t class,
                      const struct fm_jfr_entry *entry, struct fm_jfr_buf *buf,
                      struct fm_jfr_text *text);
/* Text behind a string that was read: follows a key into the String pool. */
void fm_jfr_pool_follow(const struct fm_jfr_pools *pools, struct fm_jfr_buf *buf,
                        struct fm_jfr_text *text);
/* Whether values of the class are texts. */
bool fm_jfr_class_is_text(const struct fm_jfr_meta *meta, uint32_t class);

#endif
