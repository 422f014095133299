/*
 * group.h - the working state of one `group:` run, shared by group.c (keys, pairs, groups) and
 * aggregate.c (values of rows, measures).
 */
#ifndef FM_QUERY_GROUP_H
#define FM_QUERY_GROUP_H

#include "query/table.h"

/* Tuples of key values as a trie: tuple = (shorter tuple, value). */
struct fm_tuples {
    struct fm_mem *mem;
    struct fm_map map;           /* up << 32 | value -> tuple */
    uint32_t *up, *value;
    size_t n, up_cap, value_cap;
};

/* The values of one key: ids of texts and paths as they are, numbers by a list of lanes. */
struct fm_key_values {
    enum fm_cell_type type;
    bool is_signed;
    struct fm_map map;           /* lane -> id */
    uint64_t *lane;
    size_t n, cap;
};

/* Rows with equal row keys and equal stack node. */
struct fm_pair {
    uint32_t tuple;              /* row keys; then the bucket */
    uint32_t node;
    fm_i128 weight;
    uint64_t samples, rows;
    uint32_t groups_at, groups;  /* its groups: x->list[groups_at …]; without any.X the group */
};

/* What the scan touches of a pair: kept apart and small, for the cache. */
struct fm_hot {
    uint64_t weight;
    uint32_t samples, rows;
};

struct fm_sums {
    fm_i128 self, total;
    uint64_t samples, rows;
    uint32_t bucket, frame_tuple;
};

struct fm_acc;

struct fm_grouping {
    struct fm_compile *c;
    struct fm_group *g;
    const struct fm_selection *sel;
    struct fm_view *v;
    struct fm_totals *totals;
    const struct fm_schema *schema;
    struct fm_mem *mem;
    struct fm_reader r;
    bool oom, row_keys;
    struct fm_tuples tuples, frame_tuples;
    struct fm_key_values *key;
    uint32_t *path;              /* node -> path */
    struct fm_paths *paths;      /* where they are */
    struct fm_node_paths linked; /* the same for stacks of linked rows */
    struct fm_pair *pair;
    size_t pairs, pair_cap;
    struct fm_map pair_map;
    uint32_t *of_node;           /* without row keys: node -> pair + 1, and */
    uint32_t *of_stack;          /* append id -> pair + 1 */
    size_t stacks;               /* append ids */
    struct fm_hot *hot;          /* sums of pairs while rows are scanned */
    size_t hots, hot_cap;
    uint32_t *row_pair;          /* pair of each row, in scan order */
    size_t rows, row_cap;
    uint32_t *first, *by_bucket; /* pairs of bucket b: by_bucket[first[b] … first[b + 1]) */
    struct fm_sums *group;
    size_t groups, group_cap;
    /* any.X, caller.X, callee.X */
    uint32_t *frame_key;         /* any.X: frame -> tuple of frame_tuples; [frames] = no frame */
    uint32_t *frame_at;          /* any.category: its tuples are frame_key[frame_at[f] … [f + 1]);
                                    NULL: each has one */
    uint32_t *node_key;          /* the others: node -> tuple of the innermost call: edge.c */
    uint32_t no_key;             /* tuple of no call */
    uint32_t *group_of, *stamp;  /* by frame tuple, in the bucket at hand */
    uint64_t *seen, turn;
    uint32_t *list;              /* groups of pairs */
    size_t lists, list_cap;
    struct fm_sums *sum;         /* by node */
    /* base.c */
    fm_i128 *base_of_row;        /* weight by value of the first key */
    size_t bases;
    struct fm_map base_row;      /* that value -> its place; released with it */
    uint32_t null_base;
    fm_i128 base;                /* of the group at hand */
    /* aggregate.c */
    struct fm_acc *acc;          /* [agg * groups + group] */
    size_t accs;
    struct fm_agg_state *state;  /* one an aggregate */
};

/* A tuple extended by a value; FM_NONE: no memory. Tuple 0 is empty. */
uint32_t fm_tuple(struct fm_tuples *t, uint32_t up, uint32_t value);
/* The value of key k for a frame, FM_NONE: null. */
uint32_t fm_group_attr(struct fm_grouping *x, size_t k, uint32_t frame);

/* edge.c: fills x->node_key. false: no memory. */
bool fm_edge_keys(struct fm_grouping *x);

/* base.c: the weight of each value of the first key, for share(x, group). */
enum fm_status fm_group_bases(struct fm_grouping *x, struct fm_error *err);
void fm_group_bases_release(struct fm_grouping *x);
/* Settles x->base for a row of the result, whose key cells are there. */
void fm_group_base(struct fm_grouping *x, const struct fm_table *t, uint32_t row);

/* The nearest rank of a percentile among n > 0 values, from 1: the smallest that has so many
 * percent of them at or below it. */
uint64_t fm_nearest_rank(double percent, uint64_t n);

/* Second scan: the aggregates that look at values. */
enum fm_status fm_aggregate_scan(struct fm_grouping *x, struct fm_error *err);
void fm_aggregate_release(struct fm_grouping *x);
/* Writes the measures of group g into a table row. */
void fm_group_measures(struct fm_grouping *x, struct fm_table *t, uint32_t row, size_t g);

static inline int64_t fm_clamp_i64(double f)
{
    if (!(f > -9.2233720368547758e18))
        return f != f ? 0 : INT64_MIN;
    return f >= 9.2233720368547758e18 ? INT64_MAX : (int64_t)f;
}

#endif
