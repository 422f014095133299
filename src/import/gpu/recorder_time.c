/*
 * recorder_time.c - GPU timestamps on the CPU's clock, by pairs of both.
 *
 *     cpu        c0 ........ c1 ........ c2       between two pairs: on the line through them
 *     gpu    x   g0 ....x... g1 ........ g2       outside: on the line of the nearest two
 *
 * Arithmetic is exact, in 128 bits, and rounds down.
 */
#include "import/gpu/recorder.h"

#include <stdlib.h>

__extension__ typedef __int128 wide;

bool fm_oa_clock_add(struct fm_mem *mem, struct fm_oa_clock *clock, uint64_t cpu, uint64_t gpu)
{
    if (!fm_grow(mem, (void **)&clock->pair, &clock->cap, clock->pairs + 1, sizeof *clock->pair))
        return false;
    clock->pair[clock->pairs++] = (struct fm_oa_pair){cpu, gpu};
    return true;
}

static int by_gpu(const void *a, const void *b)
{
    const struct fm_oa_pair *x = a, *y = b;
    if (x->gpu != y->gpu)
        return x->gpu < y->gpu ? -1 : 1;
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

void fm_oa_clock_sort(struct fm_oa_clock *clock)
{
    size_t n = 0;
    if (clock->pairs > 1)
        qsort(clock->pair, clock->pairs, sizeof *clock->pair, by_gpu);
    for (size_t i = 0; i < clock->pairs; i++)
        if (n == 0 || clock->pair[i].gpu != clock->pair[n - 1].gpu)
            clock->pair[n++] = clock->pair[i];
    clock->pairs = n;
}

uint64_t fm_oa_extend(uint64_t low, unsigned bits, uint64_t near)
{
    uint64_t mask = (UINT64_C(1) << (bits & 63)) - 1, up;
    if (bits >= 64)
        return low;
    up = (low - near) & mask;
    if (up > mask / 2 && near + up >= mask + 1)
        return near + up - mask - 1;
    return near + up;
}

/* The first of the two pairs on whose line gpu lies. */
static size_t pair_of(const struct fm_oa_clock *clock, uint64_t gpu)
{
    const struct fm_oa_pair *p = clock->pair;
    size_t i = clock->last, from = 0, to = clock->pairs - 1;
    /* reports come nearly in order: mostly it is the one before, or the next */
    for (unsigned tries = 0; tries < 2 && i + 1 < clock->pairs; tries++, i++)
        if ((i == 0 || gpu >= p[i].gpu) && (i + 2 == clock->pairs || gpu < p[i + 1].gpu))
            return i;
    while (to - from > 1) {
        size_t middle = from + (to - from) / 2;
        if (gpu >= p[middle].gpu)
            from = middle;
        else
            to = middle;
    }
    return from;
}

bool fm_oa_clock_time(struct fm_oa_clock *clock, uint64_t gpu, int64_t *time)
{
    const struct fm_oa_pair *p = clock->pair;
    size_t i = clock->last;
    wide dividend, divisor, t;
    if (clock->pairs == 0 || (clock->pairs == 1 && clock->frequency == 0))
        return false;
    if (clock->pairs == 1) {
        dividend = ((wide)gpu - p[0].gpu) * 1000000000;
        divisor = clock->frequency;
        i = 0;
    } else {
        i = clock->last = pair_of(clock, gpu);
        /* of three factors of 64 bits a third would not fit: these are below 2^63 each */
        if (p[i + 1].cpu > INT64_MAX || p[i].cpu > INT64_MAX || p[i + 1].gpu > INT64_MAX ||
            gpu > INT64_MAX)
            return false;
        divisor = (wide)p[i + 1].gpu - p[i].gpu;
        dividend = ((wide)gpu - p[i].gpu) * ((wide)p[i + 1].cpu - p[i].cpu);
    }
    t = dividend / divisor;
    if (dividend % divisor != 0 && dividend < 0)
        t--;
    t += p[i].cpu;
    if (t < INT64_MIN || t > INT64_MAX)
        return false;
    *time = (int64_t)t;
    return true;
}
