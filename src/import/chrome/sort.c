/*
 * sort.c - order of the records of a thread.
 *
 * Writers put spans in order of their starts, or of their ends (children first): both are nearly
 * sorted. A merge sort from below that leaves alone what is in order already and merges only
 * where two runs overlap does little more than compare neighbours.
 *
 *     left   1 2 5 7 9      right  4 6 10 12
 *            └─┘ stays             merged: 5 7 9 (copied away) with 4 6; 10 12 stays
 */
#include "import/chrome/span.h"

#define RUN 16u

typedef bool after_fn(const struct fm_chrome_span *a, const struct fm_chrome_span *b);

/* Whether a comes after b; equal ones stay. */
static bool after_time(const struct fm_chrome_span *a, const struct fm_chrome_span *b)
{
    return a->start > b->start || (a->start == b->start && a->ps > b->ps);
}

static bool after_span(const struct fm_chrome_span *a, const struct fm_chrome_span *b)
{
    if (a->start != b->start)
        return a->start > b->start;
    return a->end != b->end ? a->end < b->end : a->node > b->node;
}

static inline void insert_run(struct fm_chrome_span *a, size_t n, after_fn *after)
{
    for (size_t i = 1; i < n; i++) {
        if (!after(&a[i - 1], &a[i]))
            continue;
        struct fm_chrome_span x = a[i];
        size_t k = i;
        for (; k > 0 && after(&a[k - 1], &x); k--)
            a[k] = a[k - 1];
        a[k] = x;
    }
}

/* How many of a[0..n) do not come after x. */
static inline size_t below(const struct fm_chrome_span *a, size_t n,
                           const struct fm_chrome_span *x, after_fn *after)
{
    size_t from = 0;
    while (n > 0) {
        size_t half = n / 2;
        if (after(&a[from + half], x)) {
            n = half;
        } else {
            from += half + 1;
            n -= half + 1;
        }
    }
    return from;
}

static inline bool merge(struct fm_chrome_sweep *s, struct fm_chrome_span *a, size_t middle,
                         size_t n, after_fn *after)
{
    struct fm_chrome_pile *p = &s->pile;
    if (!after(&a[middle - 1], &a[middle]))
        return true;
    size_t from = below(a, middle, &a[middle], after), left = middle - from;
    if (!fm_grow(s->mem, (void **)&p->scratch, &p->scratch_cap, left, sizeof *p->scratch))
        return false;
    memcpy(p->scratch, a + from, left * sizeof *a);
    size_t to = from, i = 0, k = middle;
    while (i < left && k < n)
        a[to++] = after(&p->scratch[i], &a[k]) ? a[k++] : p->scratch[i++];
    memcpy(a + to, p->scratch + i, (left - i) * sizeof *a);
    return true;
}

static inline bool sort(struct fm_chrome_sweep *s, after_fn *after)
{
    struct fm_chrome_span *a = s->span;
    size_t n = s->n, i = 1;
    while (i < n && !after(&a[i - 1], &a[i]))
        i++;
    if (i >= n)
        return true;
    for (i = 0; i < n; i += RUN)
        insert_run(a + i, FM_MIN(RUN, n - i), after);
    for (size_t width = RUN; width < n; width *= 2)
        for (i = 0; n - i > width; i += FM_MIN(2 * width, n - i))
            if (!merge(s, a + i, width, FM_MIN(2 * width, n - i), after))
                return false;
    return true;
}

bool fm_chrome_sort_time(struct fm_chrome_sweep *s)
{
    return sort(s, after_time);
}

bool fm_chrome_sort_span(struct fm_chrome_sweep *s)
{
    return sort(s, after_span);
}
