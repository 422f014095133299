/*
 * aggregate.c - sum, min, max, avg, distinct, first, last, pNN and stddev of values of rows.
 *
 * The second scan of a group: rows come in the same order as in the first one, so x->row_pair tells
 * the groups of each. Nulls are skipped. Integers stay integers: sums are 128 bits wide, a
 * percentile is one of the values (nearest rank: the smallest with at least NN % of the values at
 * or below it). stddev is the population's, by Welford's update. first and last go by (ts, source,
 * row); rows without ts come into question only when no other has a value.
 */
#include "query/group.h"
#include "query/plan.h"

#include "util/error.h"

#include <math.h>
#include <stdlib.h>

struct fm_acc {
    fm_i128 sum;
    double real, mean, m2;
    uint64_t n;
    struct fm_value value;
    int64_t ts;
    bool timed;
};

struct item {
    uint32_t group;
    struct fm_value value;
};

struct fm_agg_state {
    struct fm_map values, pairs;   /* DISTINCT: value -> id; group << 32 | id */
    struct item *item;             /* PERCENTILE: all values */
    size_t items, cap;
    size_t *first;                 /* PERCENTILE: items of group g, sorted */
};

void fm_aggregate_release(struct fm_grouping *x)
{
    for (size_t a = 0; x->state != NULL && a < x->g->aggs; a++) {
        struct fm_agg_state *s = &x->state[a];
        if (s->values.mem != NULL) {
            fm_map_release(&s->values);
            fm_map_release(&s->pairs);
        }
        fm_mem_free(x->mem, s->item, s->cap * sizeof *s->item);
    }
    fm_mem_free(x->mem, x->acc, x->accs * sizeof *x->acc);
}

/* ------------------------------------------------------------------- adding */

static bool add_distinct(struct fm_grouping *x, struct fm_agg_state *s, struct fm_acc *acc,
                         uint32_t group, const struct fm_value *value)
{
    uint64_t lane, *slot;
    bool fresh;

    switch (value->type) {
    case FM_TEXT:
        lane = fm_store_str_add(x->v->store, value->text.s, value->text.n);
        if (lane == FM_NONE)
            return false;
        break;
    case FM_F64:
        lane = fm_f64_bits(value->f + 0.0);      /* -0 is 0 */
        break;
    case FM_BOOL:
        lane = value->b;
        break;
    default:
        lane = value->u;
        break;
    }
    slot = fm_map_put(&s->values, lane, &fresh);
    if (slot == NULL || s->values.n > UINT32_MAX)
        return false;
    if (fresh)
        *slot = s->values.n;
    slot = fm_map_put(&s->pairs, (uint64_t)group << 32 | (uint32_t)*slot, &fresh);
    if (slot == NULL)
        return false;
    acc->n += fresh;
    return true;
}

static bool add_item(struct fm_grouping *x, struct fm_agg_state *s, uint32_t group,
                     const struct fm_value *value)
{
    if (!fm_grow(x->mem, (void **)&s->item, &s->cap, s->items + 1, sizeof *s->item))
        return false;
    s->item[s->items++] = (struct item){ group, *value };
    return true;
}

static void add_number(struct fm_acc *acc, const struct fm_value *value)
{
    double f = value->type == FM_BOOL ? value->b : fm_value_as_f64(value);
    double delta;

    if (f != f)
        return;
    acc->n++;
    delta = f - acc->mean;
    acc->mean += delta / (double)acc->n;
    acc->m2 += delta * (f - acc->mean);
    if (value->type == FM_F64)
        acc->real += value->f;
    else if (value->type == FM_BOOL)
        acc->sum += value->b;
    else
        acc->sum += value->type == FM_I64 ? (fm_i128)value->i : (fm_i128)value->u;
}

/* Takes the value when it is earlier (later) than the one held. */
static void add_timed(struct fm_acc *acc, const struct fm_value *value, bool last, bool timed,
                      int64_t ts)
{
    bool better;

    if (acc->n == 0 || timed != acc->timed)
        better = acc->n == 0 || timed;
    else
        better = last ? ts >= acc->ts : ts < acc->ts;
    if (!better && acc->n > 0)
        return;
    acc->n = 1;
    acc->value = *value;
    acc->timed = timed;
    acc->ts = ts;
}

static bool add_value(struct fm_grouping *x, size_t a, uint32_t group,
                      const struct fm_value *value, bool timed, int64_t ts)
{
    struct fm_acc *acc = &x->acc[a * x->groups + group];
    struct fm_agg_state *s = &x->state[a];
    int order;

    switch (x->g->agg[a].kind) {
    case FM_AGG_COUNT:
        acc->n++;
        return true;
    case FM_AGG_MIN:
    case FM_AGG_MAX:
        order = acc->n == 0 ? 0 : fm_value_compare(value, &acc->value);
        if (acc->n == 0 || (x->g->agg[a].kind == FM_AGG_MIN ? order < 0 : order > 0))
            acc->value = *value;
        acc->n++;
        return true;
    case FM_AGG_DISTINCT:
        return add_distinct(x, s, acc, group, value);
    case FM_AGG_FIRST:
    case FM_AGG_LAST:
        add_timed(acc, value, x->g->agg[a].kind == FM_AGG_LAST, timed, ts);
        return true;
    case FM_AGG_PERCENTILE:
        return add_item(x, s, group, value);
    default:
        add_number(acc, value);
        return true;
    }
}

static bool add_row(struct fm_grouping *x, const struct fm_pair *p, uint32_t place,
                    const struct fm_operand *ts)
{
    uint64_t lane = 0;
    bool timed = fm_reader_lane(&x->r, ts, place, &lane);

    for (size_t a = 0; a < x->g->aggs; a++) {
        struct fm_value value;
        if (x->g->agg[a].kind < FM_AGG_COUNT)
            continue;
        value = fm_reader_eval(&x->r, x->g->agg[a].arg, place);
        if (value.type == FM_NULL)
            continue;
        if (!x->g->any) {
            if (!add_value(x, a, p->groups_at, &value, timed, (int64_t)lane))
                return false;
            continue;
        }
        for (uint32_t i = 0; i < p->groups; i++) {
            if (!add_value(x, a, x->list[p->groups_at + i], &value, timed, (int64_t)lane))
                return false;
        }
    }
    return true;
}

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return fm_value_compare(&x->value, &y->value);
}

static bool sort_items(struct fm_grouping *x, struct fm_agg_state *s)
{
    s->first = fm_arena_alloc(x->c->arena, (x->groups + 2) * sizeof *s->first);
    if (s->first == NULL)
        return false;
    if (s->items > 0)
        qsort(s->item, s->items, sizeof *s->item, compare_items);
    for (size_t i = 0; i < s->items; i++)
        s->first[s->item[i].group + 1]++;
    for (size_t g = 0; g < x->groups; g++)
        s->first[g + 1] += s->first[g];
    return true;
}

enum fm_status fm_aggregate_scan(struct fm_grouping *x, struct fm_error *err)
{
    struct fm_operand ts = { .place = FM_AT_COLUMN, .id = FM_COL_TS, .type = FM_TYPE_TIME };
    enum fm_status status;
    size_t row = 0;
    bool ok = true;

    if (!fm_mul_size(x->g->aggs, x->groups, &x->accs))
        return fm_error_nomem(err);
    x->acc = fm_mem_zalloc(x->mem, x->accs * sizeof *x->acc);
    x->state = fm_arena_alloc(x->c->arena, x->g->aggs * sizeof *x->state);
    if (x->acc == NULL || x->state == NULL) {
        x->accs = x->acc == NULL ? 0 : x->accs;
        return fm_error_nomem(err);
    }
    fm_reader_init(&x->r, x->c, x->v, x->sel);
    fm_reader_need(&x->r, &ts);
    for (size_t a = 0; a < x->g->aggs; a++) {
        fm_map_init(&x->state[a].values, x->mem);
        fm_map_init(&x->state[a].pairs, x->mem);
        if (x->g->agg[a].kind >= FM_AGG_COUNT)
            fm_reader_need_expr(&x->r, x->g->agg[a].arg);
    }
    status = fm_reader_start(&x->r, err);
    if (status != FM_OK)
        return status;
    while (ok && fm_reader_next(&x->r)) {
        for (uint32_t i = 0; ok && i < x->r.scan.n; i++) {
            fm_assert(row < x->rows);
            ok = add_row(x, &x->pair[x->row_pair[row++]], x->r.scan.live[i], &ts);
        }
    }
    fm_reader_release(&x->r);
    for (size_t a = 0; ok && a < x->g->aggs; a++) {
        if (x->g->agg[a].kind == FM_AGG_PERCENTILE)
            ok = sort_items(x, &x->state[a]);
    }
    return ok ? FM_OK : fm_error_nomem(err);
}

/* ------------------------------------------------------------------ reading */

static struct fm_value wide(fm_i128 v)
{
    if (v >= INT64_MIN && v <= INT64_MAX)
        return fm_value_i64((int64_t)v);
    if (v >= 0 && v <= (fm_i128)UINT64_MAX)
        return fm_value_u64((uint64_t)v);
    return fm_value_f64((double)v);
}

uint64_t fm_nearest_rank(double percent, uint64_t n)
{
    /* in billionths, as it was written: 55 / 100 * 100 is more than 55 in doubles */
    fm_u128 part = (fm_u128)llround(percent * 1e9), rank;

    rank = (part * n + (fm_u128)99999999999) / (fm_u128)100000000000;
    return rank < 1 ? 1 : rank > n ? n : (uint64_t)rank;
}

static struct fm_value percentile(const struct fm_grouping *x, size_t a, size_t g)
{
    const struct fm_agg_state *s = &x->state[a];
    size_t n = s->first[g + 1] - s->first[g], rank;

    if (n == 0)
        return fm_value_null();
    rank = (size_t)fm_nearest_rank(x->g->agg[a].percent, n);
    return s->item[s->first[g] + rank - 1].value;
}

/* An aggregate that is an integer of any size; false: it is none, or null. */
static bool exact(const struct fm_grouping *x, size_t a, size_t g, fm_i128 *out)
{
    const struct fm_sums *sums = &x->group[g];

    switch (x->g->agg[a].kind) {
    case FM_AGG_SELF:
        *out = sums->self;
        return true;
    case FM_AGG_TOTAL:
        *out = sums->total;
        return true;
    case FM_AGG_SAMPLES:
        *out = sums->samples;
        return true;
    case FM_AGG_ROWS:
        *out = sums->rows;
        return true;
    case FM_AGG_SELECTED:
        *out = x->totals->selected;
        return true;
    case FM_AGG_ALL:
        *out = x->totals->all;
        return true;
    case FM_AGG_GROUP:
        *out = x->base;
        return true;
    case FM_AGG_LET:
        *out = x->g->agg[a].let->flow->totals.weight;
        return true;
    case FM_AGG_COUNT:
    case FM_AGG_DISTINCT:
        *out = x->acc[a * x->groups + g].n;
        return true;
    case FM_AGG_SUM:
        *out = x->acc[a * x->groups + g].sum;
        return x->acc[a * x->groups + g].real == 0;
    default:
        return false;
    }
}

static struct fm_value agg_value(const struct fm_grouping *x, size_t a, size_t g)
{
    const struct fm_acc *acc;
    fm_i128 v;

    if (exact(x, a, g, &v))
        return wide(v);
    if (x->g->agg[a].kind == FM_AGG_WINDOW)
        return fm_value_f64(x->totals->window);
    if (x->g->agg[a].kind == FM_AGG_PERCENTILE)
        return percentile(x, a, g);
    acc = &x->acc[a * x->groups + g];
    if (acc->n == 0)
        return fm_value_null();
    switch (x->g->agg[a].kind) {
    case FM_AGG_SUM:
        return fm_value_f64((double)acc->sum + acc->real);
    case FM_AGG_AVG:
        return fm_value_f64(((double)acc->sum + acc->real) / (double)acc->n);
    case FM_AGG_STDDEV:
        return fm_value_f64(sqrt(acc->m2 / (double)acc->n));
    default:
        return acc->value;
    }
}

struct at {
    const struct fm_grouping *x;
    size_t group;
};

static struct fm_value get(void *user, const struct fm_expr *node)
{
    const struct at *at = user;

    return agg_value(at->x, node->ref, at->group);
}

void fm_group_measures(struct fm_grouping *x, struct fm_table *t, uint32_t row, size_t g)
{
    struct at at = { x, g };

    for (size_t m = 0; m < x->g->measures; m++) {
        const struct fm_expr *e = x->g->measure[m].expr;
        size_t col = x->g->keys + m;
        struct fm_value value;
        fm_i128 v;
        if (e->op == FM_EXPR_REF && x->schema->column[col].type == FM_CELL_INT
            && exact(x, e->ref, g, &v)) {
            fm_table_int(t, row, col, v);
            continue;
        }
        value = fm_expr_eval(e, get, &at);
        if (!fm_table_put(t, row, col, &value))
            x->c->arena->oom = true;
    }
}
