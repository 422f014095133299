/*
 * order.h - puts records into time order without moving their bytes.
 *
 * A token is (time, place of the record). Recorders write one buffer after another, each in time
 * order, so tokens come in long sorted runs. They are dealt into runs (a token goes to the run with
 * the latest end that is not later than it, as in patience sorting) and the runs are merged: no
 * sort from scratch. n tokens in k runs cost n log k at worst, close to n when runs are long.
 *
 *     arrival     1 4 7 | 2 3 9 | 8 ...          limit = 7
 *     runs        1 4 7 9 ...
 *                 2 3 8 ...                  ->  1 2 3 4 7      (8 and 9 stay)
 *
 * Equal times come out in order of arrival.
 */
#ifndef FM_IMPORT_ORDER_H
#define FM_IMPORT_ORDER_H

#include "util/mem.h"

struct fm_token {
    uint64_t time;
    uint64_t place;     /* the importer's own: an offset, or block and offset */
    uint32_t next, run; /* in its run, and which; order.c only */
};

struct fm_order_run {
    uint64_t time;      /* of its last token */
    uint32_t head, tail;
};

struct fm_order_head {  /* a run in the heap: its first token */
    uint64_t time;
    uint32_t token, run;
};

struct fm_order {
    struct fm_mem *mem;
    struct fm_token *token;     /* in order of arrival */
    size_t n, cap;
    struct fm_order_run *run;   /* latest end first */
    size_t runs, run_cap;
    struct fm_order_head *heap; /* runs by their head, while merging */
    size_t heap_cap;
    uint64_t max;               /* latest time ever added */
    uint64_t done;              /* latest time ever taken */
};

/* Takes one token out; false stops the merge (the token counts as taken). */
typedef bool fm_order_fn(void *user, uint64_t time, uint64_t place);

void fm_order_init(struct fm_order *order, struct fm_mem *mem);
void fm_order_release(struct fm_order *order);

/* Adds a token. FM_NOMEM, or FM_LIMIT beyond 4 Gi tokens waiting. */
enum fm_status fm_order_add(struct fm_order *order, uint64_t time, uint64_t place) FM_MUST_USE;

/* Takes out, in order, every token with time <= limit. *whole (may be NULL) = fn never stopped it.
 * FM_NOMEM: nothing was taken. */
enum fm_status fm_order_flush(struct fm_order *order, uint64_t limit, fm_order_fn *fn, void *user,
                              bool *whole) FM_MUST_USE;

/* A time with about half of the waiting tokens at or before it. */
uint64_t fm_order_half(const struct fm_order *order);

#endif
