/*
 * plan.h - a query compiled: pipes of steps, and the state of a pipe while it runs.
 *
 *     struct fm_plan   the pipes of a query: lets and its own steps, each behind those it needs
 *     struct fm_pipe   a source and steps; between two steps there are rows or a table
 *     struct fm_step   one step: its type, what its compile() made, the schema that it leaves
 *     struct fm_flow   a pipe while it runs: the rows, or the table, that it has at the moment
 *
 * A step is a line in the table of step.c:
 *
 *     { NAME, takes, gives, compile, run }
 *
 * compile() gets the node of the step (step->at->value), resolves every name through &pipe->c and
 * returns an object of the arena pipe->c.arena; NULL = it has logged why not. *schema is what the
 * step finds (empty for rows) and, when compile() is done, what it leaves; pipe->c.schema is the
 * same object (NULL for rows), so it is changed last. Schemas are copied before each step: the
 * columns of a step that has been compiled never change. Without a store (pipe->c.store == NULL) it
 * is a check: names that may be labels pass.
 *
 * run() works on the flow: flow->sel and flow->view for rows, flow->table for a table. A step that
 * makes a table of rows calls fm_flow_table(); one that makes another table of a table fills it
 * behind fm_flow_like() and hands it over with fm_flow_replace(). step->schema describes it.
 * Columns that are only added come with fm_table_widen(). A gate that fails sets flow->failed.
 *
 * A step that makes columns of data (pivot) leaves an open schema at compile: names that are not
 * there pass. When it has run, flow->table.schema has the real ones, and the steps behind it are
 * compiled again before they run.
 */
#ifndef FM_QUERY_PLAN_H
#define FM_QUERY_PLAN_H

#include "query/filter.h"
#include "query/table.h"

enum fm_shape { FM_SHAPE_ROWS = 1, FM_SHAPE_TABLE = 2 };
#define FM_SHAPE_ANY (FM_SHAPE_ROWS | FM_SHAPE_TABLE)
#define FM_SHAPE_SAME 0                       /* gives: what it took */

struct fm_pipe;
struct fm_step;
struct fm_flow;

struct fm_step_type {
    const char *name;                         /* may be there twice: for rows and for tables */
    unsigned takes, gives;
    void *(*compile)(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema);
    enum fm_status (*run)(struct fm_flow *flow, const struct fm_step *step,
                          struct fm_error *err);
};

struct fm_step {
    const struct fm_step_type *type;
    const struct fm_yaml_pair *at;            /* its operator */
    void *object;                             /* of type->compile() */
    const struct fm_schema *schema;           /* what it leaves, when that is a table */
    struct fm_pipe **need;                    /* pipes that it names: see fm_pipe_need() */
    size_t needs;
};

enum fm_pipe_state { FM_PIPE_COMPILING, FM_PIPE_COMPILED };

struct fm_pipe {
    struct fm_plan *plan;
    struct fm_query *q;                       /* whose parameters and lets its steps name */
    const struct fm_yaml_pair *let;           /* NULL: the query's own steps */
    const struct fm_yaml_node *from, *list;   /* list: the steps, or NULL */
    enum fm_pipe_state state;
    struct fm_pipe *by;                       /* the pipe that named it first */
    struct fm_pipe *next;                     /* of all pipes of the plan */
    struct fm_pipe *source;                   /* `from: LET` or {use: …}; NULL: rows of an input */
    const size_t *inputs;                     /* store of each input of q; NULL: the same number */
    size_t input;                             /* the store of its rows */
    size_t users;                             /* pipes and steps that name it, and `show` */
    struct fm_compile c;
    struct fm_step *step;
    size_t steps;
    unsigned shape;                           /* what the steps so far leave */
    const struct fm_schema *schema;           /* of a table */
    const struct fm_schema *start;            /* of the table that the source is; else NULL */
    const struct fm_yaml_pair *table_at;      /* the step that made it */
    bool open;                                /* a schema on the way was: see fm_schema */
    bool failed;                              /* there were errors */
    bool broken;                              /* what comes after cannot be judged: names only */
    size_t *column;                           /* output: columns; NULL = all */
    size_t columns;
    struct fm_flow *flow;                     /* while it runs */
};

struct fm_plan {
    struct fm_ctx *ctx;
    struct fm_arena *arena;
    struct fm_yaml_log *log;
    const struct fm_select_options *select;   /* may be NULL */
    struct fm_store *const *store;
    size_t stores;                            /* 0: a check */
    struct fm_pipe **pipe;                    /* a pipe behind those that it needs */
    size_t pipes, pipe_cap;
    struct fm_pipe *first;
    struct fm_pipe **show;                    /* those whose results are printed */
    size_t shows;
    bool keep_rows;                           /* rows may be shown */
    bool ties;                                /* some limit wants to know equal rows */
    bool runs;                                /* all is compiled */
    enum fm_status status;                    /* a failure that is no message in the log */
    struct fm_error *err;
};

struct fm_flow {
    struct fm_pipe *pipe;
    struct fm_compile *c;                     /* the pipe's */
    /* rows; of a table, the ones it was made of */
    struct fm_selection sel;
    struct fm_view view;
    struct fm_map parts;                      /* of a view of spans */
    struct fm_window window;
    struct fm_totals totals;
    bool woven;                               /* the stacks are the store's, and pseudo frames */
    /* a table */
    struct fm_table table;
    bool tabled;                              /* table is there */
    bool warned;                              /* that there are no rows */
    bool failed;                              /* a check did */
};

/* Compiles q: for the stores of a run, or with stores == 0 as a check. Messages go to q->log;
 * FM_CONFIG when there were any; err has what is no message. fm_plan_release() in any case. */
enum fm_status fm_plan_compile(struct fm_plan *plan, struct fm_query *q, struct fm_arena *arena,
                               struct fm_error *err);
void fm_plan_release(struct fm_plan *plan);
/* explain.c: the plan as text. */
void fm_plan_explain(const struct fm_plan *plan, struct fm_out *out);

/* For compile(): the pipe that a scalar of the step names, compiled, when it leaves rows or a table
 * as `shapes` wants; `what` for messages: "'against'". Its schema is need->schema. NULL: logged, an
 * unknown name or a cycle. It runs before the step does, once for all that need it, and its rows
 * or its table (need->flow) are left as they are. */
struct fm_pipe *fm_pipe_need(struct fm_pipe *pipe, struct fm_step *step,
                             const struct fm_yaml_node *node, unsigned shapes, const char *what);

/* The pipe of a let (NULL: the query's own steps), compiled; `by` names it. NULL: no memory. */
struct fm_pipe *fm_pipe_make(struct fm_plan *plan, struct fm_query *q,
                             const struct fm_yaml_pair *let, struct fm_pipe *by,
                             const size_t *inputs);
/* The pipe of a let of the same query: compiled when it is named first. NULL: logged. */
struct fm_pipe *fm_pipe_named(struct fm_pipe *pipe, const struct fm_yaml_node *at,
                              const char *name);
/* start.c: what the pipe starts from. false: logged, or plan->status. */
bool fm_pipe_from(struct fm_pipe *pipe);
/* In a run: compiles a step again, for the columns that the table has now. false: logged. */
bool fm_pipe_again(struct fm_pipe *pipe, struct fm_step *step, const struct fm_schema *schema);
/* The columns of `output:` that the pipe's table has. false: no memory. */
bool fm_pipe_columns(struct fm_pipe *pipe);

/* A schema of the same columns, and room in it for one more: all zero. NULL: no memory. */
struct fm_schema *fm_schema_copy(struct fm_arena *arena, const struct fm_schema *from);
struct fm_schema_column *fm_schema_add(struct fm_arena *arena, struct fm_schema *schema);

/* step.c: the type of that name that takes `shape`, else any of that name, else NULL. */
const struct fm_step_type *fm_step_find(const char *name, unsigned shape);
/* The names of the steps, each once, in the order of the table; NULL behind the last. */
const char *fm_step_name(size_t i);

/* time.c, within.c, weigh.c: steps of rows. */
void *fm_time_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema);
enum fm_status fm_time_run(struct fm_flow *flow, const struct fm_step *step,
                           struct fm_error *err);
void *fm_within_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema);
enum fm_status fm_within_run(struct fm_flow *flow, const struct fm_step *step,
                             struct fm_error *err);
void *fm_weigh_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema);
enum fm_status fm_weigh_run(struct fm_flow *flow, const struct fm_step *step,
                            struct fm_error *err);

/* lines.c limit.c: select, sort and limit of rows. */
void *fm_lines_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema);
enum fm_status fm_lines_run(struct fm_flow *flow, const struct fm_step *step,
                            struct fm_error *err);
void *fm_row_sort_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema);
enum fm_status fm_row_sort_run(struct fm_flow *flow, const struct fm_step *step,
                               struct fm_error *err);
void *fm_row_limit_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema);
enum fm_status fm_row_limit_run(struct fm_flow *flow, const struct fm_step *step,
                                struct fm_error *err);
/* limit.c: the rows that a step which makes lines of rows needs keep: see lines.h. 0: all. */
uint64_t fm_row_step_keeps(const struct fm_pipe *pipe, const struct fm_step *step);
/* limit.c: sort and limit. */
void *fm_sort_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema);
enum fm_status fm_sort_run(struct fm_flow *flow, const struct fm_step *step,
                           struct fm_error *err);
void *fm_limit_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema);
enum fm_status fm_limit_run(struct fm_flow *flow, const struct fm_step *step,
                            struct fm_error *err);
/* tree.c */
void *fm_tree_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema);
enum fm_status fm_tree_run(struct fm_flow *flow, const struct fm_step *step,
                           struct fm_error *err);
/* select.c union.c regroup.c: group of a table */
void *fm_union_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema);
enum fm_status fm_union_run(struct fm_flow *flow, const struct fm_step *step,
                            struct fm_error *err);
void *fm_regroup_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema);
enum fm_status fm_regroup_run(struct fm_flow *flow, const struct fm_step *step,
                              struct fm_error *err);
void *fm_select_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema);
enum fm_status fm_select_run(struct fm_flow *flow, const struct fm_step *step,
                             struct fm_error *err);
/* pivot.c join.c diff.c */
void *fm_pivot_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema);
enum fm_status fm_pivot_run(struct fm_flow *flow, const struct fm_step *step,
                            struct fm_error *err);
void *fm_join_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema);
enum fm_status fm_join_run(struct fm_flow *flow, const struct fm_step *step,
                           struct fm_error *err);
void *fm_diff_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema);
enum fm_status fm_diff_run(struct fm_flow *flow, const struct fm_step *step,
                           struct fm_error *err);
/* scale.c: what the base of a diff is scaled by. */
struct fm_scale {
    bool set;                                 /* else it stays as it is */
    fm_i128 up, down;                         /* exactly; down 0: not known exactly */
    double by;
};
struct fm_normalize;
/* `node` may be NULL. NULL: logged, or no memory. */
struct fm_normalize *fm_normalize_compile(struct fm_pipe *pipe, const struct fm_pipe *other,
                                          const struct fm_yaml_node *node);
struct fm_scale fm_normalize_run(const struct fm_normalize *n, const struct fm_compile *c,
                                 const struct fm_table *base, const struct fm_table *new);
/* "scaled by 1.25 to the selected weight of new". NULL: no memory. */
const char *fm_normalize_text(const struct fm_normalize *n, const struct fm_scale *s,
                              struct fm_arena *arena);
fm_i128 fm_scale_int(const struct fm_scale *s, fm_i128 v);
/* The column that a scalar names, in the pipe's table and in that of another; `what` for the
 * message. false: logged, also when the two can never be equal. */
bool fm_pipe_both(struct fm_pipe *pipe, const struct fm_pipe *other,
                  const struct fm_yaml_node *node, const char *what, size_t *here,
                  size_t *there);
/* The column of the table that a scalar names, its first `skip` bytes left out; `what` for the
 * message: "'per'". false: logged. */
bool fm_pipe_column(struct fm_pipe *pipe, const struct fm_yaml_node *node, size_t skip,
                    const char *what, size_t *col);

/* ------------------------------------------------------------------- a run */

/* The table that a step makes of rows: its header, and no rows yet. */
struct fm_table *fm_flow_table(struct fm_flow *flow, const struct fm_step *step);
/* A new table with the header of the one there is. */
void fm_flow_like(const struct fm_flow *flow, const struct fm_step *step, struct fm_table *t);
/* *t becomes the flow's table. */
void fm_flow_replace(struct fm_flow *flow, struct fm_table *t);
/* The rows or the table of another pipe, to be changed: moved when nobody else needs them. */
enum fm_status fm_flow_take(struct fm_flow *flow, struct fm_pipe *from, struct fm_error *err);
/* Settles flow->totals.weight: of the rows, or of those that a table was made of. */
enum fm_status fm_flow_weigh(struct fm_flow *flow, struct fm_error *err);
/* keep.c: the rows as a selection that says all by itself, for exporters; to be
 * freed by fm_kept_free(). */
enum fm_status fm_flow_keep(struct fm_flow *flow, struct fm_selection **kept,
                            struct fm_error *err);
void fm_kept_free(struct fm_selection *kept);
void fm_flow_release(struct fm_flow *flow);
enum fm_status fm_flow_has_rows(struct fm_flow *flow, bool *some, struct fm_error *err);
void fm_flow_warn(struct fm_flow *flow, const struct fm_step *step);
/* Warns once when a step has left no rows. */
enum fm_status fm_flow_empty(struct fm_flow *flow, const struct fm_step *step,
                             struct fm_error *err);

/* source.c: the rows that a pipe starts from, with the event that it or the command line names. */
enum fm_status fm_flow_open(struct fm_flow *flow, struct fm_store *store, struct fm_error *err);

/* tables.c: from: threads, frames and inputs. The columns; and in a run the rows. */
bool fm_tables_schema(struct fm_pipe *pipe);
enum fm_status fm_tables_fill(struct fm_flow *flow, struct fm_error *err);

/* from.c: what the rows of a query are. */
bool fm_from_find(const char *name, enum fm_from *from);
const char *fm_from_text(enum fm_from from);
/* The stacks that the rows of a selected view have, and the parts of spans: flow->view. */
enum fm_status fm_from_view(struct fm_flow *flow, struct fm_error *err);
/* A selection of the rows of a view (not samples). FM_UNKNOWN: there are none, and the selection is
 * empty. */
enum fm_status fm_from_select(struct fm_selection *sel, enum fm_from from,
                              struct fm_store *store, const struct fm_select_options *options,
                              struct fm_error *err);
#endif
