/*
 * order.c - runs of tokens and their merge: see order.h.
 *
 * Tokens stand in one array in order of arrival and are chained into runs by index, so a run costs
 * 16 bytes however short it is and hostile input (every token a run of its own) only costs n log n.
 * Between two flushes the ends of the runs fall from run to run, which makes the search for a
 * token's run a binary one; nearly always the run used last is right.
 */
#include "import/order.h"

#define NIL UINT32_MAX

void fm_order_init(struct fm_order *order, struct fm_mem *mem)
{
    memset(order, 0, sizeof *order);
    order->mem = mem;
}

void fm_order_release(struct fm_order *order)
{
    fm_mem_free(order->mem, order->token, order->cap * sizeof *order->token);
    fm_mem_free(order->mem, order->run, order->run_cap * sizeof *order->run);
    fm_mem_free(order->mem, order->heap, order->heap_cap * sizeof *order->heap);
    fm_order_init(order, order->mem);
}

/* The first run that ends at or before `time`; order->runs when none does. */
static size_t find_run(const struct fm_order *order, uint64_t time)
{
    size_t lo = 0, hi = order->runs;
    if (hi > 0 && order->run[0].time <= time)
        return 0;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (order->run[mid].time <= time)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

enum fm_status fm_order_add(struct fm_order *order, uint64_t time, uint64_t place)
{
    if (FM_UNLIKELY(order->n >= NIL))
        return FM_LIMIT;
    if (FM_UNLIKELY(order->n == order->cap) &&
        !fm_grow(order->mem, (void **)&order->token, &order->cap, order->n + 1,
                 sizeof *order->token))
        return FM_NOMEM;
    size_t r = find_run(order, time);
    uint32_t i = (uint32_t)order->n;
    if (r == order->runs) {
        if (!fm_grow(order->mem, (void **)&order->run, &order->run_cap, order->runs + 1,
                     sizeof *order->run))
            return FM_NOMEM;
        order->run[order->runs++] = (struct fm_order_run){time, i, i};
    } else {
        struct fm_order_run *run = &order->run[r];
        order->token[run->tail].next = i;
        run->tail = i;
        run->time = time;
    }
    order->token[order->n++] = (struct fm_token){time, place, NIL};
    if (time > order->max)
        order->max = time;
    return FM_OK;
}

static bool before(const struct fm_order *order, uint32_t a, uint32_t b)
{
    const struct fm_token *x = &order->token[order->run[a].head];
    const struct fm_token *y = &order->token[order->run[b].head];
    return x->time != y->time ? x->time < y->time : order->run[a].head < order->run[b].head;
}

static void sift(struct fm_order *order, size_t i, size_t n)
{
    uint32_t *heap = order->heap;
    for (;;) {
        size_t least = i, left = 2 * i + 1, right = left + 1;
        if (left < n && before(order, heap[left], heap[least]))
            least = left;
        if (right < n && before(order, heap[right], heap[least]))
            least = right;
        if (least == i)
            return;
        uint32_t t = heap[i];
        heap[i] = heap[least];
        heap[least] = t;
        i = least;
    }
}

/* Takes tokens out of the run on top of the heap for as long as it stays the earliest: with long
 * runs the heap is hardly touched. False: fn said stop. */
static bool take_run(struct fm_order *order, uint64_t limit, size_t n, fm_order_fn *fn, void *user)
{
    uint32_t top = order->heap[0];
    struct fm_order_run *run = &order->run[top];
    uint32_t rival = NIL;
    if (n > 1)
        rival = order->heap[1];
    if (n > 2 && before(order, order->heap[2], rival))
        rival = order->heap[2];
    do {
        const struct fm_token *token = &order->token[run->head];
        uint64_t time = token->time, place = token->place;
        fm_assert(time <= limit);
        run->head = token->next;
        if (time > order->done)
            order->done = time;
        if (!fn(user, time, place))
            return false;
    } while (run->head != NIL && order->token[run->head].time <= limit &&
             (rival == NIL || before(order, top, rival)));
    return true;
}

/* Deals what is left into runs again, in order of arrival; the array shrinks in place. */
static enum fm_status compact(struct fm_order *order)
{
    size_t n = order->n;
    bool left = false;
    for (size_t r = 0; r < order->runs; r++) {
        /* taken tokens stand before their run's head: mark the others by a `next` that no token
         * has, since it is the index of the very first */
        for (uint32_t i = order->run[r].head; i != NIL; left = true) {
            uint32_t next = order->token[i].next;
            order->token[i].next = 0;
            i = next;
        }
    }
    order->n = order->runs = 0;
    for (size_t i = 0; left && i < n; i++) {
        if (order->token[i].next != 0)
            continue;
        enum fm_status status = fm_order_add(order, order->token[i].time, order->token[i].place);
        if (status != FM_OK)
            return status;
    }
    return FM_OK;
}

enum fm_status fm_order_flush(struct fm_order *order, uint64_t limit, fm_order_fn *fn, void *user,
                              bool *whole)
{
    size_t n = 0;
    bool going = true;
    if (whole != NULL)
        *whole = true;
    if (!fm_grow(order->mem, (void **)&order->heap, &order->heap_cap, order->runs + 1,
                 sizeof *order->heap))
        return FM_NOMEM;
    for (size_t r = 0; r < order->runs; r++)
        if (order->token[order->run[r].head].time <= limit)
            order->heap[n++] = (uint32_t)r;
    if (n == 0)
        return FM_OK;
    for (size_t i = n / 2 + 1; i-- > 0;)
        sift(order, i, n);
    while (n > 0 && going) {
        going = take_run(order, limit, n, fn, user);
        struct fm_order_run *run = &order->run[order->heap[0]];
        if (run->head == NIL || order->token[run->head].time > limit)
            order->heap[0] = order->heap[--n];
        sift(order, 0, n);
    }
    if (whole != NULL)
        *whole = going;
    return compact(order);
}

uint64_t fm_order_half(const struct fm_order *order)
{
    uint64_t time[65];
    size_t n = 0, step = order->n / FM_COUNT(time) + 1;
    for (size_t i = 0; i < order->n && n < FM_COUNT(time); i += step) {
        size_t k = n++;
        for (; k > 0 && time[k - 1] > order->token[i].time; k--)
            time[k] = time[k - 1];
        time[k] = order->token[i].time;
    }
    return n > 0 ? time[n / 2] : 0;
}
