/*
 * tally.c - what events, threads and sources count over their rows: rows, samples, weight, stacks,
 * first and last time. One routine, used per block while building, again after patches, and by the
 * verifier against a fresh scan.
 */
#include "store/inside.h"

static inline bool has(const struct fm_tally_lane *lane, uint32_t i)
{
    return lane->valid != NULL && ((lane->valid[i >> 6] >> (i & 63)) & 1) != 0;
}

static void tally_time(struct fm_source *source, const struct fm_tally_lane *ts, uint32_t rows)
{
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    bool any = false;

    for (uint32_t i = 0; i < rows; i++) {
        int64_t t = (int64_t)ts->value[i];
        if (!has(ts, i))
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

void fm_tally_block(const struct fm_tally *t, const struct fm_tally_lane *lane, uint32_t rows)
{
    const struct fm_tally_lane *weight = &lane[FM_TALLY_WEIGHT], *count = &lane[FM_TALLY_COUNT];
    const struct fm_tally_lane *stack = &lane[FM_TALLY_STACK], *thread = &lane[FM_TALLY_THREAD];
    uint64_t kept = 0;

    fm_assert(lane[FM_TALLY_EVENT].value != NULL);
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t id = lane[FM_TALLY_EVENT].value[i];
        uint64_t n = has(count, i) ? count->value[i] : 1;
        bool weighs = has(weight, i);
        struct fm_event *e;
        fm_assert(id < t->events);
        e = &t->event[id];
        e->rows++;
        e->samples = fm_add_sat_u64(e->samples, n);
        if (weighs) {
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
                             &source[seg->source]};
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
