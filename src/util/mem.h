/*
 * mem.h - memory: accounted allocation, growing arrays and arenas.
 *
 * All library memory comes from a struct fm_mem, which counts bytes against a cap and can be told
 * to fail the n-th allocation (tests do, for every n). Allocations from several threads are
 * allowed: the counter is atomic.
 *
 * Freeing needs the size (`fm_mem_free(mem, p, n)`), which every owner knows; that keeps the count
 * exact without a header before each block.
 */
#ifndef FM_UTIL_MEM_H
#define FM_UTIL_MEM_H

#include "util/base.h"

#include <stdatomic.h>

struct fm_mem {
    atomic_size_t used;
    atomic_size_t peak;
    size_t cap;                 /* 0 = none */
    atomic_ullong allocations;  /* made so far */
    uint64_t fail_at;           /* 0 = never; else that allocation (1-based) fails, and all after */
};

void fm_mem_init(struct fm_mem *mem, size_t cap);

/* NULL when out of memory or over the cap. Zero bytes give a valid pointer or NULL is never
 * returned for n == 0 (one byte is taken). */
void *fm_mem_alloc(struct fm_mem *mem, size_t n) FM_MUST_USE;
void *fm_mem_zalloc(struct fm_mem *mem, size_t n) FM_MUST_USE;
/* Grows or shrinks; on failure NULL and the old block stays. p may be NULL with old == 0. */
void *fm_mem_realloc(struct fm_mem *mem, void *p, size_t old, size_t n) FM_MUST_USE;
void fm_mem_free(struct fm_mem *mem, void *p, size_t n);

/* Large blocks (>= 2 MiB) that will be filled front to back: mapped with MADV_HUGEPAGE. */
void *fm_mem_map(struct fm_mem *mem, size_t n) FM_MUST_USE;
void fm_mem_unmap(struct fm_mem *mem, void *p, size_t n);
/* Either of the two kinds, by the size. */
void *fm_mem_big_alloc(struct fm_mem *mem, size_t n) FM_MUST_USE;
void fm_mem_big_free(struct fm_mem *mem, void *p, size_t n);

/*
 * Growing array: makes room for at least `need` elements of `size` bytes in *p (capacity *cap,
 * doubled). false on overflow or no memory; nothing is lost then.
 *
 *     if (!fm_grow(mem, (void **)&v->item, &v->cap, v->n + 1, sizeof *v->item)) return false;
 */
bool fm_grow(struct fm_mem *mem, void **p, size_t *cap, size_t need, size_t size) FM_MUST_USE;

/* Arena: allocations live until fm_arena_release(); blocks of 64 KiB, larger ones on their own.
 * `oom` sticks, so a loop may check once at its end. */
struct fm_arena_block;
struct fm_arena {
    struct fm_mem *mem;
    struct fm_arena_block *block;
    char *next;
    size_t left;
    bool oom;
};

void fm_arena_init(struct fm_arena *arena, struct fm_mem *mem);
void fm_arena_release(struct fm_arena *arena);
/* Empties it but keeps one block for reuse. */
void fm_arena_clear(struct fm_arena *arena);
void *fm_arena_alloc(struct fm_arena *arena, size_t n) FM_MUST_USE;   /* 8-byte aligned, zeroed */
char *fm_arena_strn(struct fm_arena *arena, const char *s, size_t n) FM_MUST_USE; /* copy + NUL */
char *fm_arena_str(struct fm_arena *arena, const char *s) FM_MUST_USE;
char *fm_arena_printf(struct fm_arena *arena, const char *fmt, ...) FM_PRINTF(2, 3) FM_MUST_USE;

#endif
