/*
 * storerows.h - the rows of a store one by one, for tests that compare each of them.
 */
#ifndef TESTS_STOREROWS_H
#define TESTS_STOREROWS_H

#include "store/name.h"
#include "store/select.h"

struct store_row {
    const struct fm_event *event;
    bool timed, spanned;
    int64_t ts, dur;           /* ns */
    uint64_t weight, count;
    bool weighed;
    fm_thread thread;          /* FM_NONE: none */
    uint32_t node;             /* of the tree; 0 or FM_NONE: no stack */
};

struct store_rows {
    const struct fm_store *store;
    size_t segment;
    uint32_t block, n, i;
    uint64_t *value[8], *valid[8];
    uint64_t *buffer;
};

bool store_rows_init(struct store_rows *rows, const struct fm_store *store);
bool store_rows_next(struct store_rows *rows, struct store_row *row);
void store_rows_release(struct store_rows *rows);

/* The frames of a row's stack, leaf first; returns how many there are (of at most max). */
size_t store_row_frames(const struct fm_store *store, uint32_t node, fm_frame *frame, size_t max);

#endif
