/*
 * sort.c - a stable merge sort in accounted memory (the C library's qsort is neither).
 *
 * Bottom-up merges of runs of 1, 2, 4 … elements between the array and a buffer of its size; an
 * array that is in order already costs one pass and no memory.
 */
#include "store/inside.h"

static void merge(const unsigned char *a, size_t na, const unsigned char *b, size_t nb,
                  unsigned char *out, size_t size, int (*compare)(const void *, const void *))
{
    while (na > 0 && nb > 0) {
        bool left = compare(a, b) <= 0;
        memcpy(out, left ? a : b, size);
        out += size;
        if (left)
            a += size, na--;
        else
            b += size, nb--;
    }
    memcpy(out, na > 0 ? a : b, (na + nb) * size);
}

static bool in_order(const unsigned char *p, size_t n, size_t size,
                     int (*compare)(const void *, const void *))
{
    for (size_t i = 1; i < n; i++) {
        if (compare(p + (i - 1) * size, p + i * size) > 0)
            return false;
    }
    return true;
}

bool fm_sort(struct fm_mem *mem, void *base, size_t n, size_t size,
             int (*compare)(const void *a, const void *b))
{
    unsigned char *from = base, *buffer, *to;
    size_t bytes;

    fm_assert(size > 0);
    if (n < 2 || in_order(base, n, size, compare))
        return true;
    if (!fm_mul_size(n, size, &bytes) || (buffer = fm_mem_alloc(mem, bytes)) == NULL)
        return false;
    to = buffer;
    for (size_t run = 1; run < n; run *= 2) {
        unsigned char *swap = from;
        for (size_t i = 0; i < n; i += 2 * run) {
            size_t na = FM_MIN(run, n - i), nb = FM_MIN(run, n - i - na);
            merge(from + i * size, na, from + (i + na) * size, nb, to + i * size, size, compare);
        }
        from = to;
        to = swap;
    }
    if (from != base)
        memcpy(base, from, bytes);
    fm_assert(in_order(base, n, size, compare));
    fm_mem_free(mem, buffer, bytes);
    return true;
}
