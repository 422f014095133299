/*
 * patch.c - changes to rows whose block was encoded already.
 *
 * Patches are sorted by (row's block, column) in the order they were made; each block that one
 * touches is decoded, changed and encoded again. Afterwards ranges, order flags and the counts of
 * events, threads and sources are taken anew from the rows.
 */
#include "store/inside.h"

static int by_place(const void *a, const void *b)
{
    const struct fm_patch *x = a, *y = b;

    if (x->row / FM_BLOCK_ROWS != y->row / FM_BLOCK_ROWS)
        return x->row / FM_BLOCK_ROWS < y->row / FM_BLOCK_ROWS ? -1 : 1;
    if (x->col != y->col)
        return x->col < y->col ? -1 : 1;
    return 0;
}

static struct fm_segcol *patched_column(struct fm_builder *b, struct fm_segment *seg,
                                        fm_column col)
{
    struct fm_segcol *c = fm_segment_col(seg, col);

    if (c != NULL)
        return c;
    if (!fm_grow(b->mem, (void **)&seg->col, &seg->col_cap, seg->cols + 1, sizeof *seg->col))
        return NULL;
    c = fm_chunks_room(&b->store->blocks, sizeof *c);
    if (c == NULL)
        return NULL;
    fm_chunks_take(&b->store->blocks, sizeof *c);
    memset(c, 0, sizeof *c);
    c->col = col;
    seg->col[seg->cols++] = c;
    fm_segment_order(seg);
    return c;
}

static void range_again(struct fm_segcol *c, enum fm_type type)
{
    bool first = true;

    for (size_t k = 0; k < FM_SEGMENT_BLOCKS; k++) {
        const struct fm_block *block = &c->block[k];
        if (block->data == NULL)
            continue;
        fm_range_add(type, first, &c->min, &c->max, block->min, block->max);
        first = false;
    }
    fm_assert(!first);
}

/* Applies patch[0 .. n): all of one column and of block k of a segment; .row is a place. */
static bool patch_block(struct fm_builder *b, struct fm_segment *seg, uint32_t k,
                        const struct fm_patch *patch, size_t n, struct fm_lane *lane)
{
    fm_column col = patch[0].col;
    enum fm_type type = b->store->t.column[col].type;
    uint64_t base = patch[0].row / FM_BLOCK_ROWS * FM_BLOCK_ROWS, ids = fm_builder_ids(b, type);
    uint32_t rows = FM_MIN(seg->rows - k * FM_BLOCK_ROWS, FM_BLOCK_ROWS), before = 0;
    struct fm_segcol *c = patched_column(b, seg, col);
    unsigned char *out = c != NULL ? fm_chunks_room(&b->store->blocks, FM_ENCODED_MAX) : NULL;
    struct fm_encoded e;
    bool all;

    if (out == NULL)
        return false;
    memset(lane->valid, 0, sizeof lane->valid);
    if (c->block[k].data != NULL) {
        fm_decode(c->block[k].data, lane->value, lane->valid, &all);
        for (size_t w = 0; w < FM_BLOCK_WORDS; w++)
            before += (uint32_t)__builtin_popcountll(lane->valid[w]);
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t at = (uint32_t)(patch[i].row - base);
        fm_assert(at < rows && patch[i].col == col);
        lane->value[at] = patch[i].value;
        if (patch[i].value < ids || ids == UINT64_MAX)
            lane->valid[at >> 6] |= 1ull << (at & 63);
        else
            lane->valid[at >> 6] &= ~(1ull << (at & 63));
    }
    e.valid = 0;
    for (size_t w = 0; w < FM_BLOCK_WORDS; w++)
        e.valid += (uint32_t)__builtin_popcountll(lane->valid[w]);
    if (e.valid == 0) {
        c->block[k].data = NULL;
    } else {
        e = fm_encode(b->encoder, lane->value, lane->valid, rows, type, out);
        fm_chunks_take(&b->store->blocks, e.size);
        c->block[k] = (struct fm_block){out, e.min, e.max};
    }
    c->valid = c->valid - before + e.valid;
    if (c->valid != 0)
        range_again(c, type);
    return true;
}

/* Columns that lost their last value leave the directory. */
static void drop_empty(struct fm_segment *seg)
{
    size_t n = 0;

    for (size_t i = 0; i < seg->cols; i++) {
        if (seg->col[i]->valid != 0)
            seg->col[n++] = seg->col[i];
    }
    seg->cols = n;
}

static void order_again(struct fm_segment *seg, struct fm_lane *lane)
{
    const struct fm_segcol *c = fm_segment_col(seg, FM_COL_TS);

    seg->sorted = true;
    seg->timed = false;
    for (uint32_t k = 0; c != NULL && k * FM_BLOCK_ROWS < seg->rows; k++) {
        bool all;
        uint32_t rows;
        if (c->block[k].data == NULL)
            continue;
        rows = fm_decode(c->block[k].data, lane->value, lane->valid, &all);
        fm_segment_check_order(seg, lane, rows);
    }
}

static void count_again(struct fm_builder *b)
{
    struct fm_tables *t = &b->store->t;

    for (size_t i = 0; i < t->events; i++) {
        t->event[i].rows = t->event[i].samples = t->event[i].stacks = 0;
        t->event[i].weight = 0;
    }
    for (size_t i = 0; i < t->threads; i++)
        t->thread[i].samples = 0;
    for (size_t i = 0; i < t->sources; i++) {
        t->source[i].samples_kept = 0;
        t->source[i].has_time = false;
    }
    fm_tally_store(b->store, t->event, t->thread, t->source);
}

bool fm_seal_patches(struct fm_builder *b)
{
    struct fm_store *s = b->store;
    struct fm_lane *lane;
    bool ok = true;

    if (b->patches == 0)
        return true;
    lane = fm_mem_alloc(b->mem, sizeof *lane);
    if (lane == NULL)
        return false;
    /* a segment may be short: row -> place = segment number * 65,536 + row within it */
    for (size_t i = 0, at; i < b->patches; i++) {
        at = fm_segment_of(s, b->patch[i].row);
        b->patch[i].row += (uint64_t)at * FM_SEGMENT_ROWS - s->segment[at].first_row;
    }
    ok = fm_sort(b->mem, b->patch, b->patches, sizeof *b->patch, by_place);
    for (size_t i = 0, n; ok && i < b->patches; i += n) {
        uint64_t place = b->patch[i].row;
        struct fm_segment *seg = &s->segment[place / FM_SEGMENT_ROWS];
        for (n = 1; i + n < b->patches && by_place(&b->patch[i], &b->patch[i + n]) == 0;)
            n++;
        ok = patch_block(b, seg, (uint32_t)(place % FM_SEGMENT_ROWS / FM_BLOCK_ROWS),
                         b->patch + i, n, lane);
    }
    for (size_t i = 0; ok && i < s->segments; i++) {
        drop_empty(&s->segment[i]);
        order_again(&s->segment[i], lane);
    }
    if (ok)
        count_again(b);
    fm_mem_free(b->mem, lane, sizeof *lane);
    return ok;
}
