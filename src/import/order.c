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
    order->token[order->n++] = (struct fm_token){time, place, NIL, (uint32_t)r};
    if (time > order->max)
        order->max = time;
    return FM_OK;
}

static bool before(const struct fm_order_head *a, const struct fm_order_head *b)
{
    return a->time != b->time ? a->time < b->time : a->token < b->token;
}

static void sift(struct fm_order_head *heap, size_t i, size_t n)
{
    struct fm_order_head head = heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &head))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = head;
}

/* Takes tokens out of the run on top of the heap for as long as it stays the earliest: with long
 * runs the heap is hardly touched. False: fn said stop. */
static bool take_run(struct fm_order *order, uint64_t limit, size_t n, fm_order_fn *fn, void *user)
{
    struct fm_order_head *heap = order->heap, *top = heap, *rival = NULL;
    bool going;
    if (n > 1)
        rival = n > 2 && before(&heap[2], &heap[1]) ? &heap[2] : &heap[1];
    do {
        struct fm_token *token = &order->token[top->token];
        uint64_t time = top->time;
        fm_assert(time <= limit && time == token->time);
        token->run = NIL;
        top->token = token->next;
        if (time > order->done)
            order->done = time;
        going = fn(user, time, token->place);
        if (top->token == NIL)
            break;
        top->time = order->token[top->token].time;
    } while (going && top->time <= limit && (rival == NULL || before(top, rival)));
    order->run[top->run].head = top->token;
    return going;
}

/* Closes the gaps that taken tokens left, in the array and among the runs. The earliest are taken,
 * so the runs that are left are those that dealing the rest again would make. */
static void compact(struct fm_order *order)
{
    size_t n = 0, runs = 0;
    for (size_t r = 0; r < order->runs; r++) {
        order->heap[r].run = NIL;
        if (order->run[r].head == NIL)
            continue;
        order->heap[r].run = (uint32_t)runs;    /* its new number */
        order->run[runs++] = (struct fm_order_run){order->run[r].time, NIL, NIL};
    }
    for (size_t i = 0; runs > 0 && i < order->n; i++) {
        struct fm_token token = order->token[i];
        if (token.run == NIL)
            continue;
        token.run = order->heap[token.run].run;
        token.next = NIL;
        struct fm_order_run *run = &order->run[token.run];
        if (run->head == NIL)
            run->head = (uint32_t)n;
        else
            order->token[run->tail].next = (uint32_t)n;
        run->tail = (uint32_t)n;
        order->token[n++] = token;
    }
    order->n = n;
    order->runs = runs;
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
    for (size_t r = 0; r < order->runs; r++) {
        uint32_t head = order->run[r].head;
        uint64_t time = order->token[head].time;
        if (time <= limit)
            order->heap[n++] = (struct fm_order_head){time, head, (uint32_t)r};
    }
    if (n == 0)
        return FM_OK;
    for (size_t i = n / 2; i-- > 0;)
        sift(order->heap, i, n);
    while (n > 0 && going) {
        going = take_run(order, limit, n, fn, user);
        if (order->heap[0].token == NIL || order->heap[0].time > limit)
            order->heap[0] = order->heap[--n];
        if (n > 1)
            sift(order->heap, 0, n);
    }
    if (whole != NULL)
        *whole = going;
    compact(order);
    return FM_OK;
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
