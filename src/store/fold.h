/*
 * fold.h - weight, samples and rows of a selection, summed by stack: one pass over the segments.
 *
 * What most queries need of the rows, and the fastest way to it: blocks are taken as they are
 * stored, without a list of rows where all are selected, and segments may be shared out to threads.
 * Sums are exact: 64 bits a stack, and wider ones beside them where those might not do.
 */
#ifndef FM_STORE_FOLD_H
#define FM_STORE_FOLD_H

#include "store/select.h"

/* 64 bits of weight, and samples << 32 | rows. */
struct fm_fold_sum {
    uint64_t weight, counts;
};

/* What might not have fitted there. */
struct fm_fold_carry {
    fm_u128 weight;
    uint64_t samples, rows;
};

struct fm_fold {
    const struct fm_selection *sel;
    size_t stacks;               /* append ids; place `stacks` is that of rows without a stack */
    struct fm_fold_sum *sum;     /* [stacks + 1] */
    struct fm_fold_carry *carry; /* [stacks + 1], or NULL: everything fits */
};

struct fm_stack_sums {
    fm_u128 weight;
    uint64_t samples, rows;
};

/* Sums the selected rows, but for those of stacks that are left out (sel->out). The weight of a row
 * is what the selection weighs. threads 0: as many as the context allows and the rows are worth.
 * fm_fold_release() in any case. */
enum fm_status fm_fold_init(struct fm_fold *fold, const struct fm_selection *sel, unsigned threads,
                            struct fm_error *err);
void fm_fold_release(struct fm_fold *fold);

/* No selected row has this stack. */
static inline bool fm_fold_empty(const struct fm_fold *fold, size_t stack)
{
    return (fold->sum[stack].counts == 0
            && (fold->carry == NULL || fold->carry[stack].rows == 0))
           || (fold->sel->out != NULL && fold->sel->out[stack] != 0);
}

static inline struct fm_stack_sums fm_fold_of(const struct fm_fold *fold, size_t stack)
{
    const struct fm_fold_sum *s = &fold->sum[stack];
    struct fm_stack_sums sums = { s->weight, s->counts >> 32, s->counts & UINT32_MAX };

    if (fold->carry != NULL) {
        sums.weight += fold->carry[stack].weight;
        sums.samples = fm_add_sat_u64(sums.samples, fold->carry[stack].samples);
        sums.rows += fold->carry[stack].rows;
    }
    return sums;
}

#endif
