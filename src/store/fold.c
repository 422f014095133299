/*
 * fold.c - sums by stack; see fold.h.
 *
 *     block ──► lanes ──► places ──► sum[stack of row] += weight, samples << 32 | 1
 *              raw: as they lie in the segment     all rows, or those of the selected events
 *              else decoded                        that the bitmap has
 *
 * Two ways to add, chosen block by block. While the largest values of the blocks so far cannot have
 * filled 64 bits of weight or 32 bits of samples in any one stack, rows are added without a look at
 * overflow: that is all there is in practice. Blocks beyond that are added to wide sums.
 *
 * Threads take neighbouring segments each and sum into places of their own; the sums are then added
 * up, in any order the same.
 */
#include "store/fold.h"

#include "store/inside.h"
#include "util/error.h"
#include "util/work.h"

#define THREAD_ROWS (4u << 20)   /* rows that are worth a further thread */
#define MAX_THREADS 64
#define AHEAD 16                 /* rows looked ahead: as many loads miss the cache together */

/* A column of a block. */
struct lane {
    const uint64_t *value;
    uint64_t buffer[FM_BLOCK_ROWS];
    uint64_t valid[FM_BLOCK_WORDS];
    bool all;                    /* every row has a value */
    bool same;                   /* all are value[0]; the others are not there */
    uint64_t max;
};

struct job {
    struct fm_fold *fold;
    size_t from, to;             /* segments */
    struct fm_fold_sum *sum;
    struct fm_fold_carry *carry;
    uint64_t weight_room, count_room;  /* what any sum can still take */
    struct lane event, stack, weight, count;
    uint16_t live[FM_BLOCK_ROWS];
    uint32_t n;                  /* of live */
    bool oom;
};

/* ------------------------------------------------------------------- lanes */

static void load(struct lane *l, const struct fm_store *store, size_t segment, uint32_t block,
                 fm_column col)
{
    uint64_t min;

    l->all = fm_store_block_full(store, segment, block, col);
    l->max = 0;
    if (fm_store_block_empty(store, segment, block, col, &min, &l->max)) {
        l->all = l->same = true;             /* of values that count nothing */
        l->value = l->buffer;
        l->buffer[0] = 0;
        return;
    }
    l->same = l->all && min == l->max;
    l->value = l->same ? NULL : fm_store_block_raw(store, segment, block, col);
    if (l->value != NULL)
        return;
    l->value = l->buffer;
    l->buffer[0] = min;
    if (!l->same)
        fm_store_block(store, segment, block, col, l->buffer, l->valid, &l->all);
}

/* Rows without a stack have the place behind the last one. */
static void load_stack(struct job *j, size_t segment, uint32_t block, uint32_t rows)
{
    const struct fm_store *store = j->fold->sel->store;
    struct lane *l = &j->stack;

    load(l, store, segment, block, FM_COL_STACK);
    if (l->same && l->max == 0 && !fm_store_block_full(store, segment, block, FM_COL_STACK))
        l->buffer[0] = j->fold->stacks;
    for (uint32_t i = 0; i < rows && l->same; i++)
        l->buffer[i] = l->buffer[0];
    for (uint32_t i = 0; i < rows && !l->all; i++) {
        if (((l->valid[i >> 6] >> (i & 63)) & 1) == 0)
            l->buffer[i] = j->fold->stacks;
    }
}

/* The selected rows of a block; all of them are not listed. false: none. */
static bool pick(struct job *j, size_t segment, uint32_t block, uint64_t first, uint32_t rows,
                 bool *all)
{
    const struct fm_selection *sel = j->fold->sel;
    enum fm_rows state = fm_selection_block(sel, segment, block);
    const uint8_t *want = sel->event;
    const uint64_t *event = j->event.value;
    uint32_t n = 0;

    *all = j->event.same && state == FM_ROWS_ALL;
    j->n = rows;
    if (j->event.same && !want[event[0]])
        return false;
    if (*all)
        return true;
    if (state == FM_ROWS_ALL) {
        for (uint32_t i = 0; i < rows; i++) {
            j->live[n] = (uint16_t)i;
            n += want[event[i]];
        }
    } else {
        for (uint32_t i = 0; i < rows; i++) {
            uint64_t row = first + i;
            j->live[n] = (uint16_t)i;
            n += want[event[j->event.same ? 0 : i]] & (sel->rows[row / 64] >> (row % 64) & 1);
        }
    }
    j->n = n;
    return n > 0;
}

/* ------------------------------------------------------------------ adding */

/* The four loops below are this one, with what is the same for all rows known to the compiler. */
static inline __attribute__((always_inline)) void add_rows(struct job *j, bool all,
                                                           bool one_weight, bool one_count)
{
    const uint64_t *stack = j->stack.value, *weight = j->weight.value, *count = j->count.value;
    struct fm_fold_sum *sum = j->sum;
    uint64_t w = weight[0], c = count[0] << 32 | 1;
    uint32_t n = j->n, last = n - 1;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t ahead = FM_MIN(k + AHEAD, last), i = all ? k : j->live[k];
        struct fm_fold_sum *s = &sum[stack[i]];
        __builtin_prefetch(&sum[stack[all ? ahead : j->live[ahead]]], 1);
        s->weight += one_weight ? w : weight[i];
        s->counts += one_count ? c : count[i] << 32 | 1;
    }
}

static void add_fast(struct job *j, bool all)
{
    if (j->count.same && !j->weight.same) {
        if (all)
            add_rows(j, true, false, true);
        else
            add_rows(j, false, false, true);
    } else if (j->count.same) {
        add_rows(j, all, true, true);
    } else {
        add_rows(j, all, j->weight.same, false);
    }
}

static void add_wide(struct job *j, bool all)
{
    for (uint32_t k = 0; k < j->n; k++) {
        uint32_t i = all ? k : j->live[k];
        uint64_t w = j->weight.value[j->weight.same ? 0 : i];
        uint64_t c = j->count.value[j->count.same ? 0 : i];
        struct fm_fold_carry *over = &j->carry[j->stack.value[i]];
        over->weight += w;
        over->samples = fm_add_sat_u64(over->samples, c);
        over->rows++;
    }
}

/* Takes what n rows of the block may add at most from the room that is left; false: too much. */
static bool take_room(struct job *j, uint32_t n)
{
    uint64_t weight, count;

    if (__builtin_mul_overflow(j->weight.max, (uint64_t)n, &weight) || weight > j->weight_room
        || __builtin_mul_overflow(FM_MAX(j->count.max, 1), (uint64_t)n, &count)
        || count > j->count_room)
        return false;
    j->weight_room -= weight;
    j->count_room -= count;
    return true;
}

static void fold_block(struct job *j, size_t segment, uint32_t block, uint64_t first, uint32_t rows)
{
    const struct fm_selection *sel = j->fold->sel;
    bool all;

    if (fm_selection_block(sel, segment, block) == FM_ROWS_NONE)
        return;
    load(&j->event, sel->store, segment, block, FM_COL_EVENT);
    if (!pick(j, segment, block, first, rows, &all))
        return;
    load_stack(j, segment, block, rows);
    load(&j->count, sel->store, segment, block, FM_COL_COUNT);
    load(&j->weight, sel->store, segment, block, sel->weigh_col);
    if (take_room(j, j->n)) {
        add_fast(j, all);
        return;
    }
    if (j->carry == NULL)
        j->carry = fm_mem_zalloc(sel->mem, (j->fold->stacks + 1) * sizeof *j->carry);
    if (j->carry == NULL)
        j->oom = true;
    else
        add_wide(j, all);
}

static void fold_job(void *user, size_t k)
{
    struct job *j = *((struct job **)user + k);
    const struct fm_store *store = j->fold->sel->store;

    for (size_t s = j->from; s < j->to && !j->oom; s++) {
        uint32_t rows = fm_store_segment_rows(store, s);
        uint64_t first = fm_store_segment_first(store, s);
        for (uint32_t at = 0; at < rows && !j->oom; at += FM_BLOCK_ROWS)
            fold_block(j, s, at / FM_BLOCK_ROWS, first + at, FM_MIN(rows - at, FM_BLOCK_ROWS));
    }
}

/* -------------------------------------------------------------------- jobs */

static void job_free(struct fm_fold *f, struct job *j)
{
    struct fm_mem *mem = f->sel->mem;
    size_t n = f->stacks + 1;

    if (j == NULL)
        return;
    fm_mem_free(mem, j->sum, j->sum == NULL ? 0 : n * sizeof *j->sum);
    fm_mem_free(mem, j->carry, j->carry == NULL ? 0 : n * sizeof *j->carry);
    fm_mem_free(mem, j, sizeof *j);
}

static struct job *job_new(struct fm_fold *f, size_t from, size_t to)
{
    struct job *j = fm_mem_alloc(f->sel->mem, sizeof *j);

    if (j == NULL)
        return NULL;
    j->fold = f;
    j->from = from;
    j->to = to;
    j->carry = NULL;
    j->oom = false;
    j->weight_room = UINT64_MAX;
    j->count_room = UINT32_MAX;
    j->sum = fm_mem_zalloc(f->sel->mem, (f->stacks + 1) * sizeof *j->sum);
    if (j->sum != NULL)
        return j;
    job_free(f, j);
    return NULL;
}

/* Adds the sums of a job to those of the fold. */
static bool join(struct fm_fold *f, const struct job *j)
{
    size_t n = f->stacks + 1;

    for (size_t s = 0; s < n; s++) {
        struct fm_fold_sum *to = &f->sum[s];
        const struct fm_fold_sum *from = &j->sum[s];
        uint64_t samples = (to->counts >> 32) + (from->counts >> 32), weight;
        uint64_t rows = (to->counts & UINT32_MAX) + (from->counts & UINT32_MAX);
        bool fits = !__builtin_add_overflow(to->weight, from->weight, &weight)
                    && samples <= UINT32_MAX && rows <= UINT32_MAX;
        struct fm_fold_carry *over;
        if (fits)
            *to = (struct fm_fold_sum){ weight, samples << 32 | rows };
        if (fits && j->carry == NULL)
            continue;
        if (f->carry == NULL)
            f->carry = fm_mem_zalloc(f->sel->mem, n * sizeof *f->carry);
        if (f->carry == NULL)
            return false;
        over = &f->carry[s];
        if (!fits) {
            over->weight += from->weight;
            over->samples = fm_add_sat_u64(over->samples, from->counts >> 32);
            over->rows += from->counts & UINT32_MAX;
        }
        if (j->carry != NULL) {
            over->weight += j->carry[s].weight;
            over->samples = fm_add_sat_u64(over->samples, j->carry[s].samples);
            over->rows += j->carry[s].rows;
        }
    }
    return true;
}

static unsigned workers(const struct fm_store *store)
{
    uint64_t most = fm_store_ctx(store)->cap[FM_CAP_THREADS];

    return (unsigned)FM_MIN(most, fm_store_rows(store) / THREAD_ROWS);
}

enum fm_status fm_fold_init(struct fm_fold *f, const struct fm_selection *sel, unsigned threads,
                            struct fm_error *err)
{
    size_t segments = fm_store_segments(sel->store);
    unsigned n = threads != 0 ? threads : workers(sel->store), made = 0;
    struct job *job[MAX_THREADS];
    bool ok = true;

    n = FM_MAX(FM_MIN(n, MAX_THREADS), 1);
    *f = (struct fm_fold){ .sel = sel, .stacks = fm_store_append_nodes(sel->store) };
    for (; made < n && ok; made += ok) {
        job[made] = job_new(f, segments * made / n, segments * (made + 1) / n);
        ok = job[made] != NULL;
    }
    if (ok)
        fm_work_run(n, n, fold_job, job);
    for (unsigned k = 0; k < made && ok; k++) {
        ok = !job[k]->oom;
        if (k > 0) {
            ok = ok && join(f, job[k]);
            continue;
        }
        f->sum = job[0]->sum;
        f->carry = job[0]->carry;
        job[0]->sum = NULL;
        job[0]->carry = NULL;
    }
    for (unsigned k = 0; k < made; k++)
        job_free(f, job[k]);
    return ok ? FM_OK : fm_error_nomem(err);
}

void fm_fold_release(struct fm_fold *f)
{
    size_t n = f->stacks + 1;

    if (f->sel == NULL)
        return;
    fm_mem_free(f->sel->mem, f->sum, f->sum == NULL ? 0 : n * sizeof *f->sum);
    fm_mem_free(f->sel->mem, f->carry, f->carry == NULL ? 0 : n * sizeof *f->carry);
    *f = (struct fm_fold){ .sel = NULL };
}
