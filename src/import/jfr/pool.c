/*
 * pool.c - indexes checkpoints; see pool.h.
 */
#include "import/jfr/pool.h"

#define MAX_FOLLOW 4u
#define DENSE_FIRST 1024u       /* keys below are indexes in any case */
#define DENSE_SHARE 8u          /* others, while this many keys a value would do */

bool fm_jfr_pools_init(struct fm_jfr_pools *pools, struct fm_jfr_meta *meta)
{
    memset(pools, 0, sizeof *pools);
    pools->mem = meta->mem;
    pools->meta = meta;
    pools->of = fm_arena_alloc(&meta->arena, meta->classes * sizeof *pools->of);
    pools->oom = pools->of == NULL;
    return !pools->oom;
}

void fm_jfr_pools_release(struct fm_jfr_pools *pools)
{
    if (pools->mem == NULL)
        return;
    for (size_t i = 0; i < pools->pools; i++) {
        struct fm_jfr_pool *pool = &pools->pool[i];
        fm_index_release(&pool->index);
        fm_mem_free(pools->mem, pool->dense, pool->denses * sizeof *pool->dense);
    }
    for (size_t i = 0; i < pools->blocks; i++)
        fm_mem_free(pools->mem, pools->block[i].p, pools->block[i].n);
    fm_mem_free(pools->mem, pools->pool, pools->pool_cap * sizeof *pools->pool);
    fm_mem_free(pools->mem, pools->entry, pools->entry_cap * sizeof *pools->entry);
    fm_mem_free(pools->mem, pools->block, pools->block_cap * sizeof *pools->block);
    memset(pools, 0, sizeof *pools);
}

/* The pool of a class, made when there is none; NULL: no memory. */
static struct fm_jfr_pool *pool_of(struct fm_jfr_pools *pools, uint32_t class)
{
    if (pools->of[class] == 0) {
        if (!fm_grow(pools->mem, (void **)&pools->pool, &pools->pool_cap, pools->pools + 1,
                     sizeof *pools->pool))
            return NULL;
        memset(&pools->pool[pools->pools], 0, sizeof *pools->pool);
        fm_index_init(&pools->pool[pools->pools].index, pools->mem);
        pools->of[class] = (uint32_t)++pools->pools;
    }
    return &pools->pool[pools->of[class] - 1];
}

/* Where keys are indexes from, by the first of n. HotSpot numbers stacks through a recording, and
 * writes those of a chunk in no order: there may be as many below the first as above it. */
static uint64_t base_of(uint64_t key, uint64_t n)
{
    uint64_t below = fm_mul_sat_u64(n, 2);
    return key > below ? key - below : 0;
}

/* Makes `key`, counted from the base, an index; false: it is too far away from the others, or there
 * is no memory. */
static bool make_dense(struct fm_jfr_pools *pools, struct fm_jfr_pool *pool, uint64_t key)
{
    uint32_t *dense;
    size_t n = pool->denses == 0 ? 64 : pool->denses;
    if (key < pool->denses)
        return true;
    if (key >= FM_MAX((uint64_t)DENSE_FIRST, (uint64_t)pool->n * DENSE_SHARE))
        return false;
    while (n <= key)
        n *= 2;
    dense = fm_mem_realloc(pools->mem, pool->dense, pool->denses * sizeof *dense,
                           n * sizeof *dense);
    if (dense == NULL)
        return false;
    memset(dense + pool->denses, 0, (n - pool->denses) * sizeof *dense);
    pool->dense = dense;
    pool->denses = n;
    return true;
}

static uint32_t hash_of(uint64_t key)
{
    return fm_index_fold(fm_mix(1, key)); /* keys may differ in their high bits only */
}

static bool add_entry(struct fm_jfr_pools *pools, struct fm_jfr_pool *pool, uint64_t key,
                      const unsigned char *p, size_t n)
{
    if (n > UINT32_MAX || pools->entries >= UINT32_MAX - 1)
        return true;
    if (pools->entries == pools->entry_cap &&
        !fm_grow(pools->mem, (void **)&pools->entry, &pools->entry_cap, pools->entries + 1,
                 sizeof *pools->entry))
        return false;
    if (make_dense(pools, pool, key - pool->base)) {
        /* it may have been hashed while the pool was smaller */
        if (pool->dense[key - pool->base] != 0 || fm_jfr_pool_hashed(pools, pool, key) != NULL)
            return true;
        pool->dense[key - pool->base] = (uint32_t)pools->entries + 1;
    } else {
        if (fm_jfr_pool_hashed(pools, pool, key) != NULL)
            return true;
        if (!fm_index_add(&pool->index, hash_of(key), (uint32_t)pools->entries))
            return false;
    }
    pools->entry[pools->entries++] = (struct fm_jfr_entry){key, p, (uint32_t)n, FM_NONE};
    pool->n++;
    return true;
}

/* The entries of one pool; NULL when all were there, else what was wrong. */
static const char *read_pool(struct fm_jfr_pools *pools, struct fm_cursor *c)
{
    struct fm_jfr_meta *meta = pools->meta;
    uint64_t type = fm_jfr_int(c, 8), n = fm_jfr_int(c, 4);
    uint32_t class;
    const struct fm_jfr_class *info;
    struct fm_jfr_pool *pool;
    if (!fm_cursor_ok(c))
        return "it ends inside a pool";
    class = fm_jfr_meta_find(meta, type);
    if (class == FM_JFR_NO_CLASS)
        return "a pool of an unknown type";
    if (n == 0)
        return NULL;
    if (!fm_jfr_class_skippable(meta, class))
        return "a pool of a type that cannot be read";
    info = &meta->class[class];
    pool = pool_of(pools, class);
    if (pool == NULL) {
        pools->oom = true;
        return "no memory";
    }
    for (; n > 0; n--) {
        uint64_t key = fm_jfr_int(c, 8);
        const unsigned char *p = c->p;
        fm_jfr_skip_value(meta, info, c);
        if (!fm_cursor_ok(c))
            return "it ends inside a pool";
        if (pool->n == 0)
            pool->base = base_of(key, n);
        if (!add_entry(pools, pool, key, p, (size_t)(c->p - p))) {
            pools->oom = true;
            return "no memory";
        }
    }
    return NULL;
}

static void skip_head(struct fm_cursor *c)
{
    (void)fm_jfr_int(c, 4);             /* size */
    for (unsigned i = 0; i < 3; i++)
        (void)fm_jfr_int(c, 8);         /* type, startTime, duration */
}

bool fm_jfr_checkpoint_delta(const unsigned char *p, size_t n, bool wide, int64_t *delta)
{
    struct fm_cursor c = fm_jfr_cursor_of(p, n, 0, wide);
    skip_head(&c);
    *delta = (int64_t)fm_jfr_int(&c, 8);
    return fm_cursor_ok(&c);
}

void fm_jfr_pools_add(struct fm_jfr_pools *pools, unsigned char *p, size_t n,
                      struct fm_jfr_pool_fault *fault)
{
    struct fm_cursor c = fm_jfr_cursor_of(p, n, 0, pools->meta->wide);
    uint64_t count;
    fault->why = NULL;
    fault->offset = 0;
    if (!fm_grow(pools->mem, (void **)&pools->block, &pools->block_cap, pools->blocks + 1,
                 sizeof *pools->block)) {
        fm_mem_free(pools->mem, p, n);
        pools->oom = true;
        return;
    }
    pools->block[pools->blocks++] = (struct fm_jfr_block){p, n};
    skip_head(&c);
    (void)fm_jfr_int(&c, 8);
    (void)fm_cursor_u8(&c);
    count = fm_jfr_int(&c, 4);
    if (!fm_cursor_ok(&c))
        fault->why = "it ends inside its head";
    for (; count > 0 && fault->why == NULL; count--) {
        fault->offset = fm_cursor_offset(&c);
        fault->why = read_pool(pools, &c);
    }
}

struct fm_jfr_entry *fm_jfr_pool_hashed(const struct fm_jfr_pools *pools,
                                        const struct fm_jfr_pool *pool, uint64_t key)
{
    uint32_t hash = hash_of(key);
    size_t at;
    for (uint32_t i = fm_index_first(&pool->index, hash, &at); i != FM_NONE;
         i = fm_index_next(&pool->index, hash, &at))
        if (pools->entry[i].key == key)
            return &pools->entry[i];
    return NULL;
}

bool fm_jfr_pool_any(const struct fm_jfr_pools *pools, uint32_t class,
                     bool (*fn)(void *user, const struct fm_jfr_entry *entry), void *user)
{
    const struct fm_jfr_pool *pool;
    if (class == FM_JFR_NO_CLASS || pools->of == NULL || pools->of[class] == 0)
        return true;
    pool = &pools->pool[pools->of[class] - 1];
    for (size_t i = 0; i < pool->denses; i++)
        if (pool->dense[i] != 0 && !fn(user, &pools->entry[pool->dense[i] - 1]))
            return false;
    for (size_t i = 0; i < pool->index.slots; i++)
        if (pool->index.slot[i].id1 != 0 && !fn(user, &pools->entry[pool->index.slot[i].id1 - 1]))
            return false;
    return true;
}

/* ------------------------------------------------------------------------ texts */

bool fm_jfr_class_is_text(const struct fm_jfr_meta *meta, uint32_t class)
{
    for (unsigned depth = 0; depth < MAX_FOLLOW && class != FM_JFR_NO_CLASS; depth++) {
        const struct fm_jfr_class *c = &meta->class[class];
        const struct fm_jfr_field *f;
        if (c->base != FM_JFR_STRUCT)
            return c->base == FM_JFR_STRING;
        if (!c->simple || c->fields != 1)
            return false;
        f = fm_jfr_field_at(meta, c, 0);
        if (f->array)
            return false;
        class = f->class;
    }
    return false;
}

/* Reads a value at the cursor; a key leads to another value, which is read in turn. */
static void read_text(const struct fm_jfr_pools *pools, uint32_t class, struct fm_cursor *c,
                      struct fm_jfr_buf *buf, struct fm_jfr_text *text, unsigned depth)
{
    const struct fm_jfr_meta *meta = pools->meta;
    const struct fm_jfr_class *info = &meta->class[class];
    const struct fm_jfr_field *f;
    struct fm_jfr_entry *entry;
    uint64_t key;
    text->kind = FM_JFR_TEXT_NULL;
    text->n = 0;
    if (depth >= MAX_FOLLOW)
        return;
    if (info->base == FM_JFR_STRING) {
        fm_jfr_text_read(c, buf, text);
        if (text->kind != FM_JFR_TEXT_KEY)
            return;
        class = meta->string;
        key = text->key;
    } else {
        if (info->fields != 1)
            return;
        f = fm_jfr_field_at(meta, info, 0);
        if (f->class == FM_JFR_NO_CLASS || f->array)
            return;
        class = f->class;
        if (!f->pool) {
            read_text(pools, class, c, buf, text, depth + 1);
            return;
        }
        key = fm_jfr_int(c, 8);
    }
    text->kind = FM_JFR_TEXT_NULL;
    entry = fm_jfr_pool_find(pools, class, key);
    if (entry != NULL) {
        struct fm_cursor sub = fm_jfr_cursor_of(entry->p, entry->n, 0, pools->meta->wide);
        read_text(pools, class, &sub, buf, text, depth + 1);
    }
}

void fm_jfr_pool_text(const struct fm_jfr_pools *pools, uint32_t class,
                      const struct fm_jfr_entry *entry, struct fm_jfr_buf *buf,
                      struct fm_jfr_text *text)
{
    struct fm_cursor c = fm_jfr_cursor_of(entry->p, entry->n, 0, pools->meta->wide);
    read_text(pools, class, &c, buf, text, 0);
}

void fm_jfr_pool_follow(const struct fm_jfr_pools *pools, struct fm_jfr_buf *buf,
                        struct fm_jfr_text *text)
{
    struct fm_jfr_entry *entry;
    if (text->kind != FM_JFR_TEXT_KEY)
        return;
    entry = fm_jfr_pool_find(pools, pools->meta->string, text->key);
    text->kind = FM_JFR_TEXT_NULL;
    text->n = 0;
    if (entry != NULL)
        fm_jfr_pool_text(pools, pools->meta->string, entry, buf, text);
}
