/*
 * plan.h - the steps of a query, compiled.
 */
#ifndef FM_QUERY_PLAN_H
#define FM_QUERY_PLAN_H

#include "query/filter.h"
#include "query/table.h"

enum fm_step_op {
    FM_STEP_WHERE, FM_STEP_TIME, FM_STEP_STACK, FM_STEP_GROUP, FM_STEP_TABLE_WHERE, FM_STEP_SORT,
    FM_STEP_LIMIT, FM_STEP_COMPUTE, FM_STEP_CHECK
};

struct fm_step {
    enum fm_step_op op;
    const struct fm_yaml_pair *at;
    struct fm_pred *p;               /* WHERE, TABLE_WHERE */
    struct fm_range *range;          /* TIME */
    struct fm_edit **edit;           /* STACK */
    size_t edits;
    struct fm_group *group;          /* GROUP */
    struct fm_sort_key *key;         /* SORT; LIMIT: of the sort before it */
    size_t keys;
    struct fm_limit limit;
    struct fm_computed *computed;    /* COMPUTE */
    struct fm_check *check;          /* CHECK */
};

struct fm_plan {
    struct fm_compile c;
    struct fm_step *step;
    size_t steps;
    struct fm_schema schema;         /* of the result */
    bool grouped;
    size_t *column;                  /* output: columns; NULL = all */
    size_t columns;
};

/* Compiles the steps of q, with names of sel's store (NULL: a check without one). Messages go to
 * q->log; FM_CONFIG when there were any. fm_plan_release() in any case. */
enum fm_status fm_plan_compile(struct fm_query *q, const struct fm_selection *sel,
                               struct fm_arena *arena, struct fm_plan *plan);
void fm_plan_release(struct fm_plan *plan);

/* from.c: what the rows of a query are. */
bool fm_from_find(const char *name, enum fm_from *from);
enum fm_from fm_query_from(const struct fm_query *q);   /* samples when it says nothing known */
/* A selection of the rows of a view (not samples). FM_CONFIG: there are none. */
enum fm_status fm_from_select(struct fm_selection *sel, enum fm_from from,
                              struct fm_store *store, const struct fm_select_options *options,
                              struct fm_error *err);
/* Sums the weight of parts by the row of their span. fm_map_release() in any case. */
enum fm_status fm_from_parts(struct fm_store *store, struct fm_map *parts, struct fm_error *err);

/* The value of `event:` in the query's first where step, or NULL. */
const struct fm_yaml_node *fm_plan_event(const struct fm_query *q);

#endif
