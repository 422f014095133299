/*
 * mem.c - accounted allocation, growing arrays, arenas.
 *
 * The count is kept by size, which callers give back when they free; `peak` is what benchmarks
 * report. fail_at makes the n-th allocation and every later one fail: an importer that survives
 * that for every n has no unchecked allocation.
 */
#include "util/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ARENA_BLOCK (64u * 1024)
#define HUGE_PAGE (2u * 1024 * 1024)

void fm_mem_init(struct fm_mem *mem, size_t cap)
{
    atomic_init(&mem->used, 0);
    atomic_init(&mem->peak, 0);
    atomic_init(&mem->allocations, 0);
    mem->cap = cap;
    mem->fail_at = 0;
}

/* Counts n more bytes; false when the cap or the planned failure forbids them. */
static bool take(struct fm_mem *mem, size_t n)
{
    unsigned long long nth = atomic_fetch_add_explicit(&mem->allocations, 1,
                                                       memory_order_relaxed) + 1;
    size_t used, peak;

    if (FM_UNLIKELY(mem->fail_at != 0 && nth >= mem->fail_at))
        return false;
    used = atomic_fetch_add_explicit(&mem->used, n, memory_order_relaxed) + n;
    if (FM_UNLIKELY(used < n || (mem->cap != 0 && used > mem->cap))) {
        atomic_fetch_sub_explicit(&mem->used, n, memory_order_relaxed);
        return false;
    }
    peak = atomic_load_explicit(&mem->peak, memory_order_relaxed);
    while (used > peak && !atomic_compare_exchange_weak_explicit(
                              &mem->peak, &peak, used, memory_order_relaxed,
                              memory_order_relaxed))
        ;
    return true;
}

static void give_back(struct fm_mem *mem, size_t n)
{
    size_t before = atomic_fetch_sub_explicit(&mem->used, n, memory_order_relaxed);
    fm_assert(before >= n);
    (void)before;
}

void *fm_mem_alloc(struct fm_mem *mem, size_t n)
{
    void *p;

    if (n == 0)
        n = 1;
    if (!take(mem, n))
        return NULL;
    p = malloc(n);
    if (p == NULL)
        give_back(mem, n);
    return p;
}

void *fm_mem_zalloc(struct fm_mem *mem, size_t n)
{
    void *p;

    if (n == 0)
        n = 1;
    if (!take(mem, n))
        return NULL;
    p = calloc(1, n);
    if (p == NULL)
        give_back(mem, n);
    return p;
}

void *fm_mem_realloc(struct fm_mem *mem, void *p, size_t old, size_t n)
{
    void *q;

    if (p == NULL)
        return fm_mem_alloc(mem, n);
    if (old == 0)
        old = 1;
    if (n == 0)
        n = 1;
    if (n > old && !take(mem, n - old))
        return NULL;
    q = realloc(p, n);
    if (q == NULL) {
        if (n > old)
            give_back(mem, n - old);
        return NULL;
    }
    if (n < old)
        give_back(mem, old - n);
    return q;
}

void fm_mem_free(struct fm_mem *mem, void *p, size_t n)
{
    if (p == NULL)
        return;
    free(p);
    give_back(mem, n == 0 ? 1 : n);
}

void *fm_mem_map(struct fm_mem *mem, size_t n)
{
    void *p;

    if (n == 0)
        n = 1;
    if (!take(mem, n))
        return NULL;
    p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        give_back(mem, n);
        return NULL;
    }
    if (n >= HUGE_PAGE)
        (void)madvise(p, n, MADV_HUGEPAGE); /* a hint: without it all works, slower */
    return p;
}

void fm_mem_unmap(struct fm_mem *mem, void *p, size_t n)
{
    if (p == NULL)
        return;
    munmap(p, n == 0 ? 1 : n);
    give_back(mem, n == 0 ? 1 : n);
}

void *fm_mem_big_alloc(struct fm_mem *mem, size_t n)
{
    return n >= HUGE_PAGE ? fm_mem_map(mem, n) : fm_mem_alloc(mem, n);
}

void fm_mem_big_free(struct fm_mem *mem, void *p, size_t n)
{
    if (n >= HUGE_PAGE)
        fm_mem_unmap(mem, p, n);
    else
        fm_mem_free(mem, p, n);
}

bool fm_grow(struct fm_mem *mem, void **p, size_t *cap, size_t need, size_t size)
{
    size_t wanted, bytes;
    void *q;

    fm_assert(size > 0);
    if (need <= *cap)
        return true;
    wanted = *cap < 8 ? 8 : *cap;
    while (wanted < need)
        if (!fm_mul_size(wanted, 2, &wanted))
            return false;
    if (!fm_mul_size(wanted, size, &bytes))
        return false;
    q = fm_mem_realloc(mem, *p, *cap * size, bytes);
    if (q == NULL)
        return false;
    *p = q;
    *cap = wanted;
    return true;
}

/* ------------------------------------------------------------------ arenas */

struct fm_arena_block {
    struct fm_arena_block *next;
    size_t size; /* of the whole block, this header included */
};

#define BLOCK_HEAD ((sizeof(struct fm_arena_block) + 15) & ~(size_t)15)

void fm_arena_init(struct fm_arena *arena, struct fm_mem *mem)
{
    memset(arena, 0, sizeof *arena);
    arena->mem = mem;
}

void fm_arena_release(struct fm_arena *arena)
{
    struct fm_arena_block *b = arena->block, *next;

    for (; b != NULL; b = next) {
        next = b->next;
        fm_mem_free(arena->mem, b, b->size);
    }
    fm_arena_init(arena, arena->mem);
}

void fm_arena_clear(struct fm_arena *arena)
{
    struct fm_arena_block *b, *next, *keep = NULL;

    for (b = arena->block; b != NULL; b = next) {
        next = b->next;
        if (keep == NULL && b->size == ARENA_BLOCK) {
            keep = b;
            keep->next = NULL;
        } else {
            fm_mem_free(arena->mem, b, b->size);
        }
    }
    arena->block = keep;
    arena->next = keep != NULL ? (char *)keep + BLOCK_HEAD : NULL;
    arena->left = keep != NULL ? ARENA_BLOCK - BLOCK_HEAD : 0;
    arena->oom = false;
}

/* A block of its own for a large request (behind the current one, which stays in use), else a new
 * current block. */
static void *arena_more(struct fm_arena *arena, size_t n)
{
    bool own = n > ARENA_BLOCK / 4;
    size_t size = ARENA_BLOCK;
    struct fm_arena_block *b;

    if (own && !fm_add_size(n, BLOCK_HEAD, &size))
        goto fail;
    b = fm_mem_alloc(arena->mem, size);
    if (b == NULL)
        goto fail;
    b->size = size;
    if (own && arena->block != NULL) {
        b->next = arena->block->next;
        arena->block->next = b;
        return (char *)b + BLOCK_HEAD;
    }
    b->next = arena->block;
    arena->block = b;
    arena->next = (char *)b + BLOCK_HEAD + n;
    arena->left = size - BLOCK_HEAD - n;
    return (char *)b + BLOCK_HEAD;
fail:
    arena->oom = true;
    return NULL;
}

/* n bytes, not zeroed. */
static void *arena_take(struct fm_arena *arena, size_t n)
{
    void *p;

    if (arena->oom || n > SIZE_MAX - 8)
        goto fail;
    n = (n + 7) & ~(size_t)7;
    if (n > arena->left)
        return arena_more(arena, n);
    p = arena->next;
    arena->next += n;
    arena->left -= n;
    return p;
fail:
    arena->oom = true;
    return NULL;
}

void *fm_arena_alloc(struct fm_arena *arena, size_t n)
{
    void *p = arena_take(arena, n == 0 ? 1 : n);

    if (p != NULL)
        memset(p, 0, n);
    return p;
}

char *fm_arena_strn(struct fm_arena *arena, const char *s, size_t n)
{
    char *p;

    if (n == SIZE_MAX) {
        arena->oom = true;
        return NULL;
    }
    p = arena_take(arena, n + 1);
    if (p == NULL)
        return NULL;
    if (n > 0)
        memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *fm_arena_str(struct fm_arena *arena, const char *s)
{
    return fm_arena_strn(arena, s, strlen(s));
}

char *fm_arena_printf(struct fm_arena *arena, const char *fmt, ...)
{
    va_list ap;
    int n;
    char *p;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0) {
        arena->oom = true;
        return NULL;
    }
    p = arena_take(arena, (size_t)n + 1);
    if (p == NULL)
        return NULL;
    va_start(ap, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return p;
}
