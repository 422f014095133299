/*
 * lines.h - tables with one line a row: lines.c makes them, limit.c sorts and cuts them.
 */
#ifndef FM_QUERY_LINES_H
#define FM_QUERY_LINES_H

#include "query/plan.h"

struct fm_lines;

/* The columns that rows of c->from are told by, into *schema. NULL: no memory. */
struct fm_lines *fm_lines_default(struct fm_compile *c, struct fm_schema *schema);
/* The column of a name, added to both when it is not there yet. FM_NONE: logged. */
uint32_t fm_lines_name(struct fm_compile *c, struct fm_lines *l, const char *name,
                       const struct fm_yaml_node *at, struct fm_schema *schema);
/* A column of an expression behind all others, which no schema has. FM_NONE: logged. */
uint32_t fm_lines_expr(struct fm_compile *c, struct fm_lines *l, const struct fm_scalar *s);

/* limit.c: what the steps behind keep of a table. */
struct fm_keep {
    const struct fm_sort_key *key;
    struct fm_expr *const *expr;     /* by key: of a column made for it; NULL: there is none */
    const struct fm_schema *own;     /* the table's columns and those */
    size_t keys;
    uint64_t rows;
};
/* What a plain limit at `step`, or a sort with one behind it, keep; false: there is none. */
bool fm_keep_ahead(const struct fm_pipe *pipe, const struct fm_step *step, struct fm_keep *cut);
/* Leaves the rows that are kept, in order. */
enum fm_status fm_keep_first(const struct fm_keep *cut, const struct fm_compile *c,
                            struct fm_table *t, struct fm_error *err);

/* The flow's rows become a table of l's columns; with `cut` only lines that it keeps need be left,
 * in any order. */
enum fm_status fm_lines_fill(struct fm_flow *flow, const struct fm_step *step,
                             const struct fm_lines *l, const struct fm_keep *cut,
                             struct fm_error *err);

#endif
