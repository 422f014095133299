/*
 * tally.c - what events, threads and sources count over their rows: rows, samples, weight, stacks,
 * first and last time. Used per block while building, after patches, and by the verifier; the
 * latter two go row by row, so that the short cuts of the first are checked by other code.
 */
#include "store/inside.h"

static inline bool has(const struct fm_tally_lane *lane, uint32_t i)
{
    return lane->valid != NULL && ((lane->valid[i >> 6] >> (i & 63)) & 1) != 0;
}

static bool full(const struct fm_tally_lane *lane, uint32_t rows)
{
    uint32_t w = 0;

    for (; (w + 1) * 64 <= rows; w++) {
        if (lane->valid[w] != UINT64_MAX)
            return false;
    }
    return rows % 64 == 0 || lane->valid[w] == (1ull << rows % 64) - 1;
}

static void tally_time(struct fm_source *source, const struct fm_tally_lane *ts, uint32_t rows)
{
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    bool every = full(ts, rows), any = every;

    if (every && memcmp(ts->value, ts->value + 1, (rows - 1) * sizeof *ts->value) == 0) {
        lo = hi = (int64_t)ts->value[0];
        rows = 0;
    }
    for (uint32_t i = 0; i < rows; i++) {
        int64_t t = (int64_t)ts->value[i];
        if (!every && !has(ts, i))
            continue;
        lo = FM_MIN(lo, t);
        hi = FM_MAX(hi, t);
        any = true;
    }
    if (!any)
        return;
    source->first = source->has_time ? FM_MIN(source->first, lo) : lo;
    source->last = source->has_time ? FM_MAX(source->last, hi) : hi;
    source->has_time = true;
}

/* Any block, row by row. */
static uint64_t tally_rows(const struct fm_tally *t, const struct fm_tally_lane *lane,
                           uint32_t rows)
{
    const struct fm_tally_lane *weight = &lane[FM_TALLY_WEIGHT], *count = &lane[FM_TALLY_COUNT];
    const struct fm_tally_lane *stack = &lane[FM_TALLY_STACK], *thread = &lane[FM_TALLY_THREAD];
    uint64_t kept = 0;

    for (uint32_t i = 0; i < rows; i++) {
        uint64_t id = lane[FM_TALLY_EVENT].value[i];
        uint64_t n = has(count, i) ? count->value[i] : 1;
        struct fm_event *e;
        fm_assert(id < t->events);
        e = &t->event[id];
        e->rows++;
        e->samples = fm_add_sat_u64(e->samples, n);
        if (has(weight, i)) {
            e->weight += weight->value[i];
            e->stacks += has(stack, i);
        }
        if (e->kind == FM_KIND_SAMPLE)
            kept = fm_add_sat_u64(kept, n);
        if (has(thread, i) && thread->value[i] < t->threads) {
            struct fm_thread_row *r = &t->thread[thread->value[i]];
            r->samples = fm_add_sat_u64(r->samples, n);
        }
    }
    return kept;
}

static bool none_or_full(const struct fm_tally_lane *lane, uint32_t rows)
{
    return lane->value == NULL || full(lane, rows);
}

static fm_u128 sum(const uint64_t *value, uint32_t rows)
{
    fm_u128 sum = 0;

    for (uint32_t i = 0; i < rows; i++)
        sum += value[i];
    return sum;
}

static uint64_t add_sat(uint64_t a, fm_u128 b)
{
    return b > UINT64_MAX ? UINT64_MAX : fm_add_sat_u64(a, (uint64_t)b);
}

/* The usual block: one event, and each lane set in all rows or none (stacks in any). */
static bool usual(const struct fm_tally_lane *lane, uint32_t rows)
{
    const uint64_t *event = lane[FM_TALLY_EVENT].value;

    return memcmp(event, event + 1, (rows - 1) * sizeof *event) == 0 &&
           none_or_full(&lane[FM_TALLY_WEIGHT], rows) &&
           none_or_full(&lane[FM_TALLY_COUNT], rows) &&
           none_or_full(&lane[FM_TALLY_THREAD], rows);
}

static uint64_t tally_usual(const struct fm_tally *t, const struct fm_tally_lane *lane,
                            uint32_t rows)
{
    const uint64_t *weight = lane[FM_TALLY_WEIGHT].value, *count = lane[FM_TALLY_COUNT].value;
    const uint64_t *thread = lane[FM_TALLY_THREAD].value, *stack = lane[FM_TALLY_STACK].valid;
    fm_u128 samples = 0;
    struct fm_event *e = &t->event[lane[FM_TALLY_EVENT].value[0]];

    fm_assert(lane[FM_TALLY_EVENT].value[0] < t->events);
    e->rows += rows;
    if (weight != NULL) {
        e->weight += sum(weight, rows);
        for (uint32_t w = 0; stack != NULL && w * 64 < rows; w++)
            e->stacks += (uint64_t)__builtin_popcountll(stack[w]);
    }
    for (uint32_t i = 0, end; thread != NULL && i < rows; i = end) {   /* runs of a thread */
        for (end = i + 1; end < rows && thread[end] == thread[i];)
            end++;
        fm_u128 n = count != NULL ? sum(count + i, end - i) : end - i;
        samples += n;
        if (thread[i] < t->threads) {
            struct fm_thread_row *r = &t->thread[thread[i]];
            r->samples = add_sat(r->samples, n);
        }
    }
    if (thread == NULL)
        samples = count != NULL ? sum(count, rows) : rows;
    e->samples = add_sat(e->samples, samples);
    return e->kind == FM_KIND_SAMPLE ? add_sat(0, samples) : 0;
}

void fm_tally_block(const struct fm_tally *t, const struct fm_tally_lane *lane, uint32_t rows)
{
    uint64_t kept;

    fm_assert(lane[FM_TALLY_EVENT].value != NULL && rows > 0);
    kept = !t->plain && usual(lane, rows) ? tally_usual(t, lane, rows)
                                          : tally_rows(t, lane, rows);
    t->source->samples_kept = fm_add_sat_u64(t->source->samples_kept, kept);
    if (lane[FM_TALLY_TS].value != NULL)
        tally_time(t->source, &lane[FM_TALLY_TS], rows);
}

void fm_tally_store(const struct fm_store *store, struct fm_event *event,
                    struct fm_thread_row *thread, struct fm_source *source)
{
    uint64_t value[FM_TALLY_LANES][FM_BLOCK_ROWS], valid[FM_TALLY_LANES][FM_BLOCK_WORDS];
    struct fm_tally_lane lane[FM_TALLY_LANES];

    for (size_t s = 0; s < store->segments; s++) {
        const struct fm_segment *seg = &store->segment[s];
        struct fm_tally t = {event, store->t.events, thread, store->t.threads,
                             &source[seg->source], true};
        fm_assert(seg->source < store->t.sources);
        for (uint32_t k = 0; k * FM_BLOCK_ROWS < seg->rows; k++) {
            uint32_t rows = FM_MIN(seg->rows - k * FM_BLOCK_ROWS, FM_BLOCK_ROWS);
            for (size_t i = 0; i < FM_TALLY_LANES; i++) {
                const struct fm_segcol *c = fm_segment_col(seg, fm_tally_column[i]);
                bool all;
                lane[i] = (struct fm_tally_lane){NULL, NULL};
                if (c == NULL || c->block[k].data == NULL)
                    continue;
                fm_decode(c->block[k].data, value[i], valid[i], &all);
                lane[i] = (struct fm_tally_lane){value[i], valid[i]};
            }
            fm_tally_block(&t, lane, rows);
        }
    }
}
