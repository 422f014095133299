/*
 * storerows.c - walks over the rows of a store; see storerows.h.
 */
#include "storerows.h"

#include <stdlib.h>

#define COLUMNS 8u
#define WORDS (FM_BLOCK_ROWS / 64)

static const fm_column column[COLUMNS] = {FM_COL_EVENT, FM_COL_TS, FM_COL_DUR, FM_COL_WEIGHT,
                                          FM_COL_COUNT, FM_COL_THREAD, FM_COL_STACK, FM_COL_VALUE};

bool store_rows_init(struct store_rows *rows, const struct fm_store *store)
{
    memset(rows, 0, sizeof *rows);
    rows->store = store;
    rows->buffer = calloc(COLUMNS * (FM_BLOCK_ROWS + WORDS), sizeof *rows->buffer);
    if (rows->buffer == NULL)
        return false;
    for (unsigned k = 0; k < COLUMNS; k++) {
        rows->value[k] = rows->buffer + k * (FM_BLOCK_ROWS + WORDS);
        rows->valid[k] = rows->value[k] + FM_BLOCK_ROWS;
    }
    return true;
}

static bool next_block(struct store_rows *rows)
{
    bool all;

    while (rows->segment < fm_store_segments(rows->store)) {
        uint32_t of = fm_store_segment_rows(rows->store, rows->segment);
        if (rows->block * FM_BLOCK_ROWS < of) {
            for (unsigned k = 0; k < COLUMNS; k++)
                rows->n = fm_store_block(rows->store, rows->segment, rows->block, column[k],
                                         rows->value[k], rows->valid[k], &all);
            rows->i = 0;
            rows->block++;
            return true;
        }
        rows->segment++;
        rows->block = 0;
    }
    return false;
}

static bool cell(const struct store_rows *rows, unsigned k, uint64_t *value)
{
    *value = rows->value[k][rows->i];
    return rows->valid[k][rows->i / 64] >> (rows->i % 64) & 1;
}

bool store_rows_next(struct store_rows *rows, struct store_row *row)
{
    uint64_t v;

    while (rows->i == rows->n) {
        if (!next_block(rows))
            return false;
    }
    (void)cell(rows, 0, &v);
    row->event = fm_store_event_row(rows->store, (size_t)v);
    row->timed = cell(rows, 1, &v);
    row->ts = (int64_t)v;
    row->spanned = cell(rows, 2, &v);
    row->dur = (int64_t)v;
    row->weighed = cell(rows, 3, &row->weight);
    row->count = cell(rows, 4, &v) ? v : 1;
    row->thread = cell(rows, 5, &v) ? (fm_thread)v : FM_NONE;
    row->node = cell(rows, 6, &v) ? fm_store_tree_node(rows->store, (fm_node)v) : 0;
    rows->i++;
    return true;
}

void store_rows_release(struct store_rows *rows)
{
    free(rows->buffer);
}

size_t store_row_frames(const struct fm_store *store, uint32_t node, fm_frame *frame, size_t max)
{
    const struct fm_tree_node *tree = fm_store_tree(store);
    size_t n = 0;

    for (; node != 0 && node != FM_NONE; node = tree[node].parent, n++) {
        if (n < max)
            frame[n] = tree[node].frame;
    }
    return n;
}
