/*
 * table.h - result tables: made by group.c, worked on by order.c, printed by write.c.
 *
 * A table at work has narrow columns and a list of visible rows: sort and limit change the list
 * only. Cells are made (struct fm_cell) for the rows that are left when the query ends, so that a
 * result needs neither store nor query.
 */
#ifndef FM_QUERY_TABLE_H
#define FM_QUERY_TABLE_H

#include "query/pred.h"
#include "query/trie.h"
#include "util/map.h"
#include "util/out.h"

typedef __int128 fm_i128;

/* Call paths: a trie of labels; path 0 has no frames. */
struct fm_paths {
    struct fm_trie trie;
    uint32_t *rank;              /* place in the order of paths; made by the first sort */
    size_t ranks;
};

/* Paths of nodes of the store's tree, 0 = not yet: for linked stacks. */
struct fm_node_paths {
    uint32_t *path, *chain;
};

/* linked.c: the path of a stack of the store (0 = no frames), found or made; paths->trie is
 * there. false: no memory. */
bool fm_linked_path(struct fm_store *store, struct fm_arena *arena, struct fm_paths *paths,
                    struct fm_node_paths *known, fm_node stack, uint32_t *path);

/* linked.c: the path of every node of the view: of labels, so stacks that read alike are one path.
 * In the arena; paths->trie is there. NULL: no memory. */
uint32_t *fm_view_paths(const struct fm_view *v, struct fm_arena *arena, struct fm_paths *paths);

struct fm_cells {
    fm_i128 *i;                  /* INT, BOOL, ADDRESS */
    double *f;                   /* F64 */
    uint32_t *id;                /* TEXT: fm_str, PATH: path; FM_NONE = null */
    uint8_t *valid;              /* INT, F64 … */
    size_t i_cap, f_cap, id_cap, valid_cap;
};

/* What shares are of, beside "selected" and "all". */
struct fm_share_base {
    const char *of;              /* as in struct fm_schema_column */
    fm_i128 value;
    const char *unit;
};

struct fm_table {
    struct fm_mem *mem;
    struct fm_store *store;
    const struct fm_schema *schema;
    struct fm_cells *cells;      /* one a column */
    size_t columns, column_cap;
    size_t rows;                 /* rows that have cells */
    uint32_t *order;             /* the visible ones, in order */
    size_t n, order_cap;
    bool sorted;                 /* by sort keys, then by all key columns */
    struct fm_paths paths;
    uint32_t *tie;               /* by row: the same for rows that the last sort found equal */
    size_t ties;
    /* what the header says */
    const char *event, *unit, *weigh;
    const char *note;            /* lines of further text, or NULL */
    uint64_t samples;
    fm_i128 selected, all;       /* weights: denominators of shares */
    double window;               /* seconds of the rows' time range; 0 = unknown */
    uint64_t period;             /* of sampling; 0 = unknown, or several */
    struct fm_share_base *base;  /* more of them; not the table's own */
    size_t bases;
};

void fm_table_init(struct fm_table *t, struct fm_mem *mem, struct fm_store *store,
                   const struct fm_schema *schema);
void fm_table_release(struct fm_table *t);
/* A new row of nulls, visible and last; FM_NONE: no memory. */
uint32_t fm_table_add(struct fm_table *t);
/* The table has the columns of `schema` from now on: those it had, and new ones of nulls. */
bool fm_table_widen(struct fm_table *t, const struct fm_schema *schema);
void fm_table_int(struct fm_table *t, uint32_t row, size_t col, fm_i128 v);
void fm_table_f64(struct fm_table *t, uint32_t row, size_t col, double v);
void fm_table_id(struct fm_table *t, uint32_t row, size_t col, uint32_t id);
/* A value in the form of the column; what does not fit is left null. false: no memory. */
bool fm_table_put(struct fm_table *t, uint32_t row, size_t col, const struct fm_value *value);
void fm_table_null(struct fm_table *t, uint32_t row, size_t col);
bool fm_table_is_null(const struct fm_table *t, uint32_t row, size_t col);
/* Drops the rows that are not visible; the others are stored in their order. false: no memory. */
bool fm_table_compact(struct fm_table *t);
/* The visible rows, in their order. false: no memory; to is to be released all the same. */
bool fm_table_copy(struct fm_table *to, const struct fm_table *from);
/* A cell as a value of an expression (integers beyond 64 bits as f64, paths as null). */
struct fm_value fm_table_value(const struct fm_table *t, uint32_t row, size_t col);

/* An expression over the table's columns, for a row. */
struct fm_value fm_table_eval(const struct fm_compile *c, const struct fm_table *t, uint32_t row,
                              const struct fm_expr *expr);
/* Its values for the visible rows, into a column. false: no memory. */
bool fm_table_fill(const struct fm_compile *c, struct fm_table *t, size_t col,
                   const struct fm_expr *expr);
/* The table has the first columns only, those of `schema`. */
void fm_table_narrow(struct fm_table *t, const struct fm_schema *schema);
/* The columns of `schema` are those with the numbers col[0 … schema->n); one may be there twice. */
bool fm_table_pick(struct fm_table *t, const size_t *col, const struct fm_schema *schema);

/* ------------------------------------------------------------- two tables */

/* match.c: rows of a table by the values of some columns, whatever store their texts are in. Null
 * equals null. */
struct fm_lookup {
    const struct fm_table *t;
    const size_t *col;
    size_t cols;
    struct fm_map map;           /* hash -> its first row */
    uint32_t *next;              /* the next row of that hash */
};
/* Over the visible rows of t; `col` is kept. false: no memory. fm_lookup_release() in any case,
 * and for a zeroed one. */
bool fm_lookup_init(struct fm_lookup *x, const struct fm_table *t, const size_t *col, size_t cols);
void fm_lookup_release(struct fm_lookup *x);
/* The first row with the values that `row` of table `t` has in columns `col`; FM_NONE. */
uint32_t fm_lookup_find(const struct fm_lookup *x, const struct fm_table *t, const size_t *col,
                       uint32_t row);
/* The next row with the values of a row of the index itself; FM_NONE. */
uint32_t fm_lookup_next(const struct fm_lookup *x, uint32_t row);
/* Columns of these types can have equal values. */
bool fm_cells_match(enum fm_cell_type a, enum fm_cell_type b);
/* Copies a cell to a column of the same type, or a number to one of numbers. false: no memory. */
bool fm_cell_copy(struct fm_table *to, uint32_t row, size_t col, const struct fm_table *from,
                  uint32_t from_row, size_t from_col);
/* A cell of a column of numbers as both kinds; 0 where it is null. */
struct fm_number {
    fm_i128 i;
    double f;
    bool there;
};
struct fm_number fm_table_number(const struct fm_table *t, uint32_t row, size_t col);
/* A cell as text, in the arena or the store's: "12", "main;work", "" for null. NULL: no memory. */
const char *fm_cell_text(struct fm_arena *arena, const struct fm_table *t, uint32_t row,
                         size_t col);

/* Adds something that shares are of, for the head. false: no memory, or `of` is NULL. */
bool fm_table_base(struct fm_table *t, const char *of, fm_i128 value, const char *unit,
                   struct fm_arena *arena);
/* Adds what shares of another table are of, as PREFIX.OF. false: no memory. */
bool fm_table_bases(struct fm_table *to, const struct fm_table *from, const char *prefix,
                    struct fm_arena *arena);

/* ------------------------------------------------------------------- group */

struct fm_group;

/* The parts of `group:`, which has no keys but the n of `known`. false: logged. */
bool fm_group_parts(struct fm_compile *c, const struct fm_yaml_node *node,
                    const char *const *known, size_t n, const struct fm_yaml_node **by,
                    const struct fm_yaml_node **measures);
/* Compiles `group:`; describes the result in *schema. NULL: logged. */
struct fm_group *fm_group_compile(struct fm_compile *c, const struct fm_yaml_node *node,
                                  struct fm_schema *schema);

struct fm_totals {
    fm_i128 selected, all;       /* weights: after the row steps, and before any */
    bool known;                  /* selected is settled; else the group's own rows are it */
    uint64_t samples, rows;      /* of the group: filled by it */
    double window;               /* seconds, for rate(); 0 = unknown */
    fm_i128 weight;              /* of the pipe, for shares of it: fm_flow_weigh() */
};

/* Groups the selected rows into t (initialised by the caller). */
enum fm_status fm_group_run(struct fm_compile *c, struct fm_group *group,
                            const struct fm_selection *sel, struct fm_view *v,
                            struct fm_totals *totals, struct fm_table *t,
                            struct fm_error *err);

/* measure.c: keys and measures of a group. */
enum fm_key_kind {
    FM_KEY_ROW, FM_KEY_EXPR,                    /* of rows */
    FM_KEY_PATH, FM_KEY_LEAF, FM_KEY_ROOT,      /* of stacks, one value each */
    FM_KEY_ANY, FM_KEY_CALLER, FM_KEY_CALLEE    /* of frames, and of two that follow each other */
};

struct fm_key {
    enum fm_key_kind kind;
    const char *name, *full;
    struct fm_operand *operand;  /* ROW */
    struct fm_expr *expr;        /* EXPR */
    enum fm_attr attr;           /* from LEAF on */
};

enum fm_agg_kind {
    FM_AGG_SELF, FM_AGG_TOTAL, FM_AGG_SAMPLES, FM_AGG_ROWS,   /* by node: no second scan */
    FM_AGG_SELECTED, FM_AGG_ALL, FM_AGG_WINDOW,               /* constants of the run */
    FM_AGG_GROUP,                                             /* weight of the first key's value */
    FM_AGG_LET,                                               /* weight of another pipe */
    FM_AGG_COUNT, FM_AGG_SUM, FM_AGG_MIN, FM_AGG_MAX, FM_AGG_AVG, FM_AGG_DISTINCT, FM_AGG_FIRST,
    FM_AGG_LAST, FM_AGG_PERCENTILE, FM_AGG_STDDEV
};

struct fm_agg {
    enum fm_agg_kind kind;
    double percent;              /* PERCENTILE */
    const struct fm_expr *arg;   /* from COUNT on */
    struct fm_pipe *let;         /* LET */
};

struct fm_measure {
    const char *name;
    struct fm_expr *expr;        /* REF nodes: number of an aggregate */
};

struct fm_group {
    struct fm_key *key;
    size_t keys;
    struct fm_agg *agg;
    size_t aggs, agg_cap;
    struct fm_measure *measure;
    size_t measures, measure_cap;
    bool any;                    /* some key is any.X, caller.X or callee.X: */
    bool edges;                  /* one of the latter two */
    bool recursion;              /* edges: with those from a function to itself */
    bool bases;                  /* some aggregate is GROUP */
    bool scans;                  /* some aggregate needs the values of rows */
};

/* celltype.c: what a column of a type, or of an expression, holds. With g the REF nodes of the
 * expression are its aggregates. */
enum fm_cell_type fm_type_cell(enum fm_type type);
enum fm_cell_type fm_expr_cell(const struct fm_compile *c, const struct fm_group *g,
                               const struct fm_expr *e);

/* compute.c: columns computed from others, and gates. */
struct fm_computed;
struct fm_check;

/* `compute: {NAME: EXPR …}`: adds the columns to *schema. NULL: logged. */
struct fm_computed *fm_compute_compile(struct fm_compile *c, const struct fm_yaml_node *node,
                                       struct fm_schema *schema);
bool fm_compute_run(struct fm_compile *c, const struct fm_computed *computed, struct fm_table *t);
/* `check:` of one or several gates. NULL: logged. */
struct fm_check *fm_check_compile(struct fm_compile *c, const struct fm_yaml_node *node);
/* FM_GATE when a gate failed: messages are in c->log, the first in err. */
enum fm_status fm_check_run(struct fm_compile *c, const struct fm_check *check,
                            const struct fm_table *t, struct fm_error *err);

/* ------------------------------------------------------------------- order */

struct fm_sort_key {
    size_t col;
    bool descending;
};

/* The order of two rows by one column: nulls last, either way. */
int fm_table_compare(const struct fm_table *t, size_t col, bool descending, uint32_t a,
                     uint32_t b);

/* The same by the keys, then by all key columns ascending. */
int fm_table_order(const struct fm_table *t, const struct fm_sort_key *key, size_t keys,
                   uint32_t a, uint32_t b);
/* Sorts the visible rows by the keys, then by all key columns ascending. FM_NOMEM only. */
enum fm_status fm_table_sort(struct fm_table *t, const struct fm_sort_key *key, size_t keys,
                             struct fm_error *err);

/* Sorts and keeps only the first `rows`: for a plain limit behind a sort. */
enum fm_status fm_table_top(struct fm_table *t, const struct fm_sort_key *key, size_t keys,
                            size_t rows, struct fm_error *err);

struct fm_limit {
    bool all;                    /* no limit */
    uint64_t rows;
    double at;                   /* nearest-rank row to start from, 0..1; < 0: from the top */
    bool ties;
    const char *rest;            /* NULL: the others are left out */
    size_t rest_n;
    size_t *per;
    size_t pers;
};

enum fm_status fm_table_limit(struct fm_table *t, const struct fm_limit *limit,
                              struct fm_error *err);
/* Notes which of the rows, sorted by the keys, are equal: for `ties`. false: no memory. */
bool fm_table_ties(struct fm_table *t, const struct fm_sort_key *key, size_t keys);
void fm_table_untie(struct fm_table *t);
/* Keeps the visible rows for which p holds. */
void fm_table_where(struct fm_table *t, const struct fm_compile *c, const struct fm_pred *p);

/* ------------------------------------------------------------------ result */

enum fm_cell_form { FM_FORM_NULL, FM_FORM_INT, FM_FORM_F64, FM_FORM_TEXT, FM_FORM_PATH,
                    FM_FORM_BOOL, FM_FORM_ADDRESS };

struct fm_cell {
    enum fm_cell_form form;
    uint32_t n;                  /* TEXT: bytes; PATH: frames */
    union {
        fm_i128 i;
        double f;
        const char *text;
        const char *const *path; /* labels, root first */
    };
};

struct fm_result_column {
    const char *name, *unit, *of;
    enum fm_cell_type type;
    bool share, indented, hidden, key, additive;
};

struct fm_result_table {
    const char *name, *about, *event, *unit, *weigh, *note;
    const char *part;            /* of `show`: the let's name; "" = the query's own steps */
    uint64_t samples;
    fm_i128 selected, all;
    struct fm_share_base *base;
    size_t bases;
    struct fm_result_column *column;
    size_t columns;
    struct fm_cell *cell;        /* [row * columns + col] */
    uint32_t *indent;            /* by row, for indented columns; NULL = 0 */
    size_t rows;
    struct fm_selection *kept;   /* rows of a store, and no columns; or NULL */
    const char *separator;
    bool leaf_first;
    size_t width;                /* of text tables: columns there are, 0 = any */
};

struct fm_result {
    struct fm_mem *mem;
    struct fm_arena arena;
    struct fm_result_table *table;
    size_t tables;
    struct fm_out text;          /* of fm_result_cell() */
};

struct fm_result *fm_result_new(struct fm_mem *mem);   /* NULL: no memory */
/* Adds the visible rows of t as a table of the result; `part` is the name that `show` gives it, or
 * ""; `col` picks and orders columns (NULL: all). */
enum fm_status fm_result_add(struct fm_result *result, const struct fm_query *q, const char *part,
                             const struct fm_table *t, const size_t *col, size_t cols,
                             struct fm_error *err);
/* The same for a query that ends as rows: kept is the result's from now on, also on failure. */
enum fm_status fm_result_add_rows(struct fm_result *result, const struct fm_query *q,
                                  const char *part, struct fm_selection *kept,
                                  struct fm_error *err);
/* One figure for people: "12.3 ms", "4.0 KiB", "17". */
void fm_figure_write(fm_i128 v, const char *unit, struct fm_out *out);
/* The same of a number that is none of whole units: "1.500 us". */
void fm_quantity_write(double v, const char *unit, struct fm_out *out);
void fm_cell_write(const struct fm_result_table *t, const struct fm_cell *cell,
                   struct fm_out *out);

#endif
