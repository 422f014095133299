/*
 * stage.c - rows on their way into segments: one block of 2,048 rows is staged in lanes, then each
 * lane is encoded and put in the directory of the current segment.
 *
 *     lane (reused)                 chunks                       directory
 *     value[2048] valid[32]  --->   encoded block, block, …      segcol.block[k] = {data,min,max}
 *
 * A lane is taken from a pool when a column gets its first value in a block, and goes back when a
 * block has none: columns cost nothing where they are not set. A segment ends after 65,536 rows,
 * when the source changes, and at the seal. Only its last block may be short.
 */
#include "store/inside.h"

const fm_column fm_tally_column[FM_TALLY_LANES] = {
    [FM_TALLY_TS] = FM_COL_TS,         [FM_TALLY_EVENT] = FM_COL_EVENT,
    [FM_TALLY_WEIGHT] = FM_COL_WEIGHT, [FM_TALLY_COUNT] = FM_COL_COUNT,
    [FM_TALLY_STACK] = FM_COL_STACK,   [FM_TALLY_THREAD] = FM_COL_THREAD,
};

/* ------------------------------------------------------------------ lanes */

bool fm_stage_columns(struct fm_builder *b, size_t columns)
{
    size_t cap = b->lane_cap, n = cap;

    if (columns > cap) {
        size_t open_cap = cap;
        if (!fm_grow(b->mem, (void **)&b->stage.lane, &n, columns, sizeof *b->stage.lane))
            return false;
        b->lane_cap = n;
        if (!fm_grow(b->mem, (void **)&b->open, &open_cap, n, sizeof *b->open)) {
            /* both arrays are freed by lane_cap: give the grown one its old size back */
            struct fm_lane **lane = fm_mem_realloc(b->mem, b->stage.lane, n * sizeof *lane,
                                                   cap * sizeof *lane);
            if (lane != NULL)
                b->stage.lane = lane;
            b->lane_cap = cap;
            return false;
        }
        fm_assert(open_cap == n);
        for (size_t i = cap; i < n; i++) {
            b->stage.lane[i] = NULL;
            b->open[i] = NULL;
        }
    }
    b->stage.lanes = (uint32_t)columns;
    return true;
}

static struct fm_lane *take_lane(struct fm_builder *b, fm_column col)
{
    struct fm_lane *lane = b->pool;

    if (col >= b->stage.lanes || !fm_builder_ok(b))
        return NULL;
    fm_assert(b->stage.lane[col] == NULL);
    if (!fm_grow(b->mem, (void **)&b->touched, &b->touch_cap, b->touches + 1,
                 sizeof *b->touched)) {
        fm_builder_fail(b, FM_NOMEM);
        return NULL;
    }
    if (lane != NULL) {
        b->pool = lane->next;
    } else {
        lane = fm_mem_alloc(b->mem, sizeof *lane);
        if (lane == NULL) {
            fm_builder_fail(b, FM_NOMEM);
            return NULL;
        }
    }
    memset(lane->valid, 0, sizeof lane->valid);
    lane->next = NULL;
    b->touched[b->touches++] = col;
    b->stage.lane[col] = lane;
    return lane;
}

void fm_row_set_slow(struct fm_builder *b, fm_column col, uint64_t value)
{
    struct fm_lane *lane = take_lane(b, col);
    uint32_t row = b->stage.row;

    fm_assert(row < FM_BLOCK_ROWS);
    if (lane == NULL)
        return;
    lane->value[row] = value;
    lane->valid[row >> 6] |= 1ull << (row & 63);
}

void fm_row_touch(struct fm_builder *b, fm_column col)
{
    (void)take_lane(b, col);
}

void fm_row_drop(struct fm_builder *b)
{
    uint32_t row = b->stage.row;

    fm_assert(b->stage.open);
    b->stage.open = false;
    for (size_t i = 0; i < b->touches; i++)
        b->stage.lane[b->touched[i]]->valid[row >> 6] &= ~(1ull << (row & 63));
}

void fm_stage_release(struct fm_builder *b)
{
    struct fm_lane *lane, *next;

    for (size_t i = 0; i < b->touches; i++)
        fm_mem_free(b->mem, b->stage.lane[b->touched[i]], sizeof *lane);
    for (lane = b->pool; lane != NULL; lane = next) {
        next = lane->next;
        fm_mem_free(b->mem, lane, sizeof *lane);
    }
    fm_mem_free(b->mem, b->stage.lane, b->lane_cap * sizeof *b->stage.lane);
    fm_mem_free(b->mem, b->open, b->lane_cap * sizeof *b->open);
    fm_mem_free(b->mem, b->touched, b->touch_cap * sizeof *b->touched);
    b->touches = 0;
    b->pool = NULL;
}

/* --------------------------------------------------------------- segments */

struct fm_segcol *fm_segment_col(const struct fm_segment *seg, fm_column col)
{
    size_t lo = 0, hi = seg->cols;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (seg->col[mid]->col < col)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < seg->cols && seg->col[lo]->col == col ? seg->col[lo] : NULL;
}

/* By insertion: columns mostly come in order. */
void fm_segment_order(struct fm_segment *seg)
{
    for (size_t i = 1; i < seg->cols; i++) {
        struct fm_segcol *c = seg->col[i];
        size_t k = i;
        for (; k > 0 && seg->col[k - 1]->col > c->col; k--)
            seg->col[k] = seg->col[k - 1];
        seg->col[k] = c;
    }
}

size_t fm_segment_of(const struct fm_store *store, uint64_t row)
{
    size_t lo = 0, hi = store->segments;

    fm_assert(row < store->rows);
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (store->segment[mid].first_row <= row)
            lo = mid;
        else
            hi = mid;
    }
    fm_assert(row - store->segment[lo].first_row < store->segment[lo].rows);
    return lo;
}

static struct fm_segment *open_segment(struct fm_builder *b)
{
    struct fm_store *s = b->store;
    struct fm_segment *seg;

    if (b->in_segment)
        return &s->segment[s->segments - 1];
    (void)fm_builder_current(b);
    if (!fm_builder_ok(b))
        return NULL;
    if (!fm_grow(b->mem, (void **)&s->segment, &s->segment_cap, s->segments + 1,
                 sizeof *s->segment)) {
        fm_builder_fail(b, FM_NOMEM);
        return NULL;
    }
    seg = &s->segment[s->segments++];
    *seg = (struct fm_segment){.first_row = s->rows, .source = b->source, .sorted = true};
    b->in_segment = true;
    return seg;
}

static void close_segment(struct fm_builder *b)
{
    struct fm_segment *seg;

    if (!b->in_segment)
        return;
    seg = &b->store->segment[b->store->segments - 1];
    for (size_t i = 0; i < seg->cols; i++)
        b->open[seg->col[i]->col] = NULL;
    fm_segment_order(seg);
    b->in_segment = false;
}

static struct fm_segcol *open_column(struct fm_builder *b, struct fm_segment *seg, fm_column col)
{
    struct fm_segcol *c = b->open[col];

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
    b->open[col] = c;
    return c;
}

/* Ids that are no ids lose their value: FM_NONE is a way to say so, others are counted. */
static void check_ids(struct fm_builder *b, struct fm_lane *lane, uint32_t rows, uint64_t ids)
{
    uint64_t bits[4] = {0, 0, 0, 0}, top = 0, bad = 0;
    uint32_t n = 0;

    for (; n + 4 <= rows; n += 4) {    /* no value has a bit that none has */
        bits[0] |= lane->value[n];
        bits[1] |= lane->value[n + 1];
        bits[2] |= lane->value[n + 2];
        bits[3] |= lane->value[n + 3];
    }
    for (; n < rows; n++)
        bits[0] |= lane->value[n];
    if (FM_LIKELY((bits[0] | bits[1] | bits[2] | bits[3]) < ids))
        return;
    for (uint32_t i = 0; i < rows; i++)
        top = FM_MAX(top, lane->value[i]);
    if (FM_LIKELY(top < ids))
        return;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t bit = 1ull << (i & 63);
        if (lane->value[i] < ids || (lane->valid[i >> 6] & bit) == 0)
            continue;
        lane->valid[i >> 6] &= ~bit;
        bad += lane->value[i] != FM_NONE;
    }
    if (bad != 0)
        fm_builder_diag(b, FM_DIAG_VALUE_RANGE, FM_NO_OFFSET, bad);
}

static bool lane_any(const struct fm_lane *lane)
{
    uint64_t any = 0;

    for (size_t w = 0; w < FM_BLOCK_WORDS; w++)
        any |= lane->valid[w];
    return any != 0;
}

/* Where samples are counted by their weight both columns are the same: they share the block. */
static const struct fm_block *same_block(const struct fm_builder *b, fm_column col, uint32_t k,
                                         const struct fm_lane *lane, uint32_t rows)
{
    fm_column other = col == FM_COL_WEIGHT ? FM_COL_COUNT : FM_COL_WEIGHT;
    const struct fm_lane *its = b->stage.lane[other];

    if ((col != FM_COL_WEIGHT && col != FM_COL_COUNT) || its == NULL || b->open[other] == NULL ||
        b->open[other]->block[k].data == NULL ||
        memcmp(its->value, lane->value, rows * sizeof *lane->value) != 0 ||
        memcmp(its->valid, lane->valid, sizeof lane->valid) != 0)
        return NULL;
    return &b->open[other]->block[k];
}

static bool store_lane(struct fm_builder *b, struct fm_segment *seg, fm_column col,
                       const struct fm_lane *lane, uint32_t rows)
{
    enum fm_type type = b->store->t.column[col].type;
    struct fm_segcol *c = open_column(b, seg, col);
    unsigned char *out = c != NULL ? fm_chunks_room(&b->store->blocks, FM_ENCODED_MAX) : NULL;
    uint32_t k = seg->rows / FM_BLOCK_ROWS;
    const struct fm_block *same;
    struct fm_encoded e;

    if (out == NULL)
        return false;
    fm_assert(k < FM_SEGMENT_BLOCKS && seg->rows % FM_BLOCK_ROWS == 0);
    same = same_block(b, col, k, lane, rows);
    if (same != NULL) {
        c->block[k] = *same;
        fm_range_add(type, c->valid == 0, &c->min, &c->max, same->min, same->max);
        for (size_t w = 0; w < FM_BLOCK_WORDS; w++)
            c->valid += (uint64_t)__builtin_popcountll(lane->valid[w]);
        return true;
    }
    e = (b->plain ? fm_encode_plain : fm_encode)(b->encoder, lane->value, lane->valid, rows, type,
                                                 out);
    fm_chunks_take(&b->store->blocks, e.size);
    c->block[k] = (struct fm_block){out, e.min, e.max};
    fm_range_add(type, c->valid == 0, &c->min, &c->max, e.min, e.max);
    c->valid += e.valid;
    return true;
}

void fm_segment_check_order(struct fm_segment *seg, const struct fm_lane *ts, uint32_t rows)
{
    if (ts == NULL || !seg->sorted)
        return;
    if (rows % 64 == 0 && seg->timed && (int64_t)ts->value[0] == seg->last_ts &&
        memcmp(ts->value, ts->value + 1, (rows - 1) * sizeof *ts->value) == 0)
        return;                        /* all as the last one, whichever are there */
    for (uint32_t w = 0; w * 64 < rows; w++) {
        for (uint64_t bits = ts->valid[w]; bits != 0; bits &= bits - 1) {
            int64_t t = (int64_t)ts->value[w * 64 + (uint32_t)__builtin_ctzll(bits)];
            if (FM_UNLIKELY(seg->timed && t < seg->last_ts))
                seg->sorted = false;
            seg->timed = true;
            seg->last_ts = t;
        }
    }
}

static void tally_stage(struct fm_builder *b, uint32_t rows)
{
    struct fm_tables *t = &b->store->t;
    struct fm_tally tally = {t->event, t->events, t->thread, t->threads, &t->source[b->source],
                             false};
    struct fm_tally_lane lane[FM_TALLY_LANES];

    for (size_t i = 0; i < FM_TALLY_LANES; i++) {
        const struct fm_lane *l = b->stage.lane[fm_tally_column[i]];
        lane[i] = l != NULL ? (struct fm_tally_lane){l->value, l->valid}
                            : (struct fm_tally_lane){NULL, NULL};
    }
    fm_tally_block(&tally, lane, rows);
}

/* Encodes the staged rows as the next block. On failure they are lost; the builder has failed. */
static void flush(struct fm_builder *b)
{
    uint32_t rows = b->stage.row;
    struct fm_segment *seg = rows != 0 && fm_builder_ok(b) ? open_segment(b) : NULL;
    size_t kept = 0;

    fm_assert(!b->stage.open && rows <= FM_BLOCK_ROWS);
    if (seg != NULL) {
        for (size_t i = 0; i < b->touches; i++) {
            fm_column col = b->touched[i];
            uint64_t ids = fm_builder_ids(b, b->store->t.column[col].type);
            if (ids != UINT64_MAX)
                check_ids(b, b->stage.lane[col], rows, ids);
        }
        fm_segment_check_order(seg, b->stage.lane[FM_COL_TS], rows);
        tally_stage(b, rows);
    }
    for (size_t i = 0; i < b->touches; i++) {
        fm_column col = b->touched[i];
        struct fm_lane *lane = b->stage.lane[col];
        if (!lane_any(lane)) {
            lane->next = b->pool;
            b->pool = lane;
            b->stage.lane[col] = NULL;
            continue;
        }
        if (seg != NULL && fm_builder_ok(b) && !store_lane(b, seg, col, lane, rows))
            fm_builder_fail(b, FM_NOMEM);
        memset(lane->valid, 0, sizeof lane->valid);
        b->touched[kept++] = col;
    }
    b->touches = kept;
    b->stage.first_row += rows;
    b->stage.row = 0;
    if (seg != NULL) {
        seg->rows += rows;
        b->store->rows += rows;
        fm_assert(!fm_builder_ok(b) || b->store->rows == b->stage.first_row);
        if (seg->rows == FM_SEGMENT_ROWS)
            close_segment(b);
    }
}

void fm_stage_full(struct fm_builder *b)
{
    fm_assert(b->stage.row == FM_BLOCK_ROWS);
    flush(b);
}

void fm_stage_finish(struct fm_builder *b)
{
    flush(b);
    close_segment(b);
}

/* Moves `n` valid bits from place `from` of src to place `to` of dst (whose bits are 0 there). */
static void move_bits(uint64_t *dst, uint32_t to, const uint64_t *src, uint32_t from, uint32_t n)
{
    for (uint32_t i = 0; i < n;) {
        uint32_t f = from + i, t = to + i;
        uint32_t step = FM_MIN(64 - (f & 63), 64 - (t & 63));
        uint64_t bits;
        step = FM_MIN(step, n - i);
        bits = src[f >> 6] >> (f & 63);
        if (step < 64)
            bits &= (1ull << step) - 1;
        dst[t >> 6] |= bits << (t & 63);
        i += step;
    }
}

void fm_stage_put(struct fm_builder *b, fm_column col, const uint64_t *value,
                  const uint64_t *valid, uint32_t from, uint32_t n)
{
    uint32_t at = b->stage.row;
    struct fm_lane *lane;

    fm_assert(at + n <= FM_BLOCK_ROWS && from + n <= FM_BLOCK_ROWS);
    lane = col < b->stage.lanes && b->stage.lane[col] != NULL ? b->stage.lane[col]
                                                              : take_lane(b, col);
    if (lane == NULL)
        return;
    memcpy(lane->value + at, value + from, n * sizeof(uint64_t));
    move_bits(lane->valid, at, valid, from, n);
}

void fm_stage_advance(struct fm_builder *b, uint32_t n)
{
    fm_assert(b->stage.row + n <= FM_BLOCK_ROWS);
    b->stage.row += n;
    if (b->stage.row == FM_BLOCK_ROWS)
        fm_stage_full(b);
}

/* ------------------------------------------------------------------ many rows */

size_t fm_rows_room(const struct fm_builder *b)
{
    fm_assert(b->stage.row < FM_BLOCK_ROWS);
    return FM_BLOCK_ROWS - b->stage.row;
}

/* Sets `n` bits from bit `from` on. */
static void set_bits(uint64_t *bits, uint32_t from, uint32_t n)
{
    while (n > 0) {
        uint32_t at = from & 63, step = FM_MIN(64 - at, n);
        uint64_t ones = step == 64 ? UINT64_MAX : (1ull << step) - 1;
        bits[from >> 6] |= ones << at;
        from += step;
        n -= step;
    }
}

uint64_t *fm_rows_column(struct fm_builder *b, fm_column col, size_t n)
{
    struct fm_lane *lane;

    fm_assert(!b->stage.open && n <= fm_rows_room(b));
    lane = col < b->stage.lanes && b->stage.lane[col] != NULL ? b->stage.lane[col]
                                                              : take_lane(b, col);
    if (lane == NULL)
        return NULL;
    set_bits(lane->valid, b->stage.row, (uint32_t)n);
    return lane->value + b->stage.row;
}

uint64_t fm_rows_end(struct fm_builder *b, size_t n)
{
    uint64_t first = b->stage.first_row + b->stage.row;

    fm_stage_advance(b, (uint32_t)n);
    return first;
}
