/*
 * pred.h - names, stacks and predicates of a query: compiled once, evaluated per dictionary entry.
 *
 *     "thread", "leaf.function", "label.class"  --name.c-->       struct fm_operand
 *     where: {…}                                --predicate.c-->  struct fm_pred
 *     rows of a selection                       --rows.c-->       struct fm_reader (lanes)
 *     the stacks the rows have now              --view.c-->       struct fm_view
 *
 * Values of rows travel as 64-bit lanes of a type, as in the store. A text predicate is tried once
 * per distinct string (or thread), a frame predicate once per frame, a stack predicate once per
 * tree node; rows only look verdicts up. Truth is three-valued: FM_NO < FM_NULLISH < FM_YES, so
 * that `and` is min, `or` is max and `not` is 2 - x; at the end only FM_YES keeps a row.
 *
 * Everything here lives in the arena of the compile, and dies with it; patterns are released by
 * fm_compile_release().
 */
#ifndef FM_QUERY_PRED_H
#define FM_QUERY_PRED_H

#include "query/lang.h"
#include "store/select.h"
#include "util/pattern.h"

/* -------------------------------------------------------------- the stacks */

enum fm_attr {
    FM_ATTR_FUNCTION, FM_ATTR_MODULE, FM_ATTR_FILE, FM_ATTR_LINE, FM_ATTR_ADDRESS, FM_ATTR_KIND,
    FM_ATTR_RAW, FM_ATTR_CATEGORY
};
#define FM_ATTRS 8
bool fm_attr_find(const char *name, size_t n, enum fm_attr *attr);
const char *fm_attr_text(enum fm_attr attr);
enum fm_type fm_attr_type(enum fm_attr attr);

struct fm_compile;
struct fm_categories;

/* Where rows come from: from.c. The last three are tables from the start: tables.c. */
enum fm_from {
    FM_FROM_SAMPLES, FM_FROM_SPANS, FM_FROM_COUNTERS, FM_FROM_INSTANTS, FM_FROM_OFFCPU,
    FM_FROM_WAKEUPS, FM_FROM_RUNQ, FM_FROM_LAUNCHES, FM_FROM_THREADS, FM_FROM_FRAMES,
    FM_FROM_INPUTS
};
#define FM_FROMS 11

/* A span that a window cuts, and its self time within it. */
struct fm_cut {
    uint64_t row, self;
};

/* clip.c: spans are as they are within [from, to), ns since the start. */
struct fm_clip {
    int64_t from, to;
    struct fm_cut *cut;                /* spans of threads that cross a border, by row */
    size_t cuts;
};

/* weigh.c: what rows weigh instead of what is their own. */
struct fm_compile;
struct fm_reweigh {
    struct fm_compile *c;              /* whose operands the expression names */
    struct fm_expr *expr;
    const char *text;
    uint64_t *value;                   /* by row, when it looks at stacks: edits do not change it */
};

/* The stacks that rows have now: the store's tree, or an edit of it. Node 0 is "no frames". */
struct fm_view {
    struct fm_store *store;
    struct fm_arena *arena;
    const struct fm_tree_node *node;
    size_t nodes;
    const uint32_t *append;            /* append id -> node of the store's tree */
    const uint32_t *of_tree;           /* node of the store's tree -> node here; NULL = the same */
    const struct fm_frame_row *frame;  /* NULL = the store's */
    size_t frames;
    fm_str *label;                     /* text of each frame */
    fm_str *dso;                       /* module text, FM_NONE = none */
    fm_str kind[FM_FRAME_C1 + 1];
    uint32_t *of_row;                  /* with pseudo frames: row -> node; NULL = by its stack */
    uint64_t rows;                     /* of of_row */
    uint32_t *top;                     /* outermost frame's node; made by fm_view_top() */
    uint64_t **category;               /* fm_category_mask() of each frame, made by it */
    uint64_t generation;               /* changes with every edit */
    const struct fm_map *parts;        /* rows are spans: row -> weight of its parts; else NULL */
    const struct fm_clip *clip;        /* NULL: whole spans */
    const struct fm_reweigh *weigh;      /* NULL: what the selection says */
};

/* The store's tree, or the edited stacks of sel. FM_NOMEM is the only failure. */
enum fm_status fm_view_init(struct fm_view *v, const struct fm_selection *sel,
                            struct fm_arena *arena, struct fm_error *err);
const struct fm_frame_row *fm_view_frame(const struct fm_view *v, uint32_t frame);
/* An attribute of a frame as a lane; false: it has none. */
bool fm_view_attr(struct fm_compile *c, const struct fm_view *v, uint32_t frame,
                  enum fm_attr attr, uint64_t *lane);
/* Node here of a node of the store's tree; FM_NONE: the row was dropped. */
static inline uint32_t fm_view_node(const struct fm_view *v, uint32_t tree)
{
    return v->of_tree == NULL ? tree : v->of_tree[tree];
}
bool fm_view_top(struct fm_view *v);   /* false: no memory */

/* Cuts the spans of the view to a window as well; FM_NOMEM is the only failure. */
enum fm_status fm_clip_make(struct fm_view *v, int64_t from, int64_t to, struct fm_error *err);
/* The self time of a span of a thread that is cut; false: it is not. */
bool fm_clip_self(const struct fm_clip *clip, uint64_t row, uint64_t *self);
/* Cuts a span; false: it lies within the window. */
bool fm_clip_span(const struct fm_clip *clip, int64_t *ts, int64_t *dur);

/* A value as a weight: rounded, 0 for null. *bad is set when it is below 0 or too large. */
uint64_t fm_weigh_value(const struct fm_value *value, bool *bad);

/* ---------------------------------------------------------------- operands */

enum fm_place {
    FM_AT_COLUMN,    /* a stored column, id = fm_column */
    FM_AT_WEIGHT,    /* what the selection weighs */
    FM_AT_SELF,      /* self time of a span, its parts included */
    FM_AT_DERIVED,   /* id = enum fm_derived */
    FM_AT_LEAF,      /* of the innermost frame, id = enum fm_attr */
    FM_AT_ROOT,      /* of the outermost frame */
    FM_AT_FRAME,     /* of the frame at hand (frame predicates) */
    FM_AT_NODE,      /* verdict of a stack predicate */
    FM_AT_MEMBER,    /* whether a list has an element: a test of another operand */
    FM_AT_PATH,      /* the whole stack, as an append id: of linked rows */
    FM_AT_INTERVAL,  /* of the interval of `within` a row lies in, id = 0: start, 1: length */
    FM_AT_TABLE,     /* column of a result table, id = its number */
    FM_AT_LATER      /* a label, known when there is a store */
};

/* By which link a row is reached: 0 = the row itself, 1 + enum fm_link_kind, or any link. */
#define FM_VIA(kind) ((uint8_t)(1 + (kind)))
#define FM_VIA_ANY FM_VIA(FM_LINK_PARENT + 1)

struct fm_pred;
struct fm_linked;
struct fm_intervals;

struct fm_operand {
    enum fm_place place;
    uint32_t id;
    enum fm_type type;
    bool untyped;               /* FM_AT_LATER: type is not known yet */
    const char *unit;
    const char *name;
    struct fm_pred *pred;       /* FM_AT_NODE, FM_AT_MEMBER */
    uint8_t via;                /* FM_VIA() of a linked row */
    struct fm_linked *linked;   /* its values: linked.c, filled by fm_reader_need() */
    const struct fm_reweigh *weigh; /* FM_AT_WEIGHT: what it was when the name was met */
    struct fm_intervals *intervals; /* FM_AT_INTERVAL: within.c */
    int slot;                   /* column of the reader it is bound to */
};

/* ------------------------------------------------------------- the schema */

/* What a cell of a table column holds. */
enum fm_cell_type {
    FM_CELL_INT, FM_CELL_F64, FM_CELL_TEXT, FM_CELL_PATH, FM_CELL_BOOL, FM_CELL_ADDRESS
};

struct fm_schema_column {
    const char *name;           /* "function" */
    const char *full;           /* "any.function" */
    const char *unit;           /* "ns", "" … */
    enum fm_cell_type type;
    bool untyped;               /* not known before a store is there */
    bool key;
    bool additive;              /* a `rest` row may sum it */
    bool amount;                /* grows with the recording: a weight, a number of samples */
    bool share;                 /* a fraction of `of` */
    const char *of;             /* "selected", "all", "parent" … */
    int64_t width;              /* > 0: cells begin intervals of so many ns: bucket(ts, w) */
    bool depth, indented;       /* of a tree: the level; text and markdown indent by it */
    bool hidden;                /* text and markdown leave it out unless it is asked for */
};

struct fm_schema {
    struct fm_schema_column *column;
    size_t n, cap;
    bool open;                  /* more columns come when there is data: unknown names pass */
};

/* The column of that name, short or full; FM_NONE. */
uint32_t fm_schema_find(const struct fm_schema *schema, const char *name, size_t n);

/* --------------------------------------------------------------- compiling */

struct fm_pipe;
struct fm_step;

struct fm_compile {
    struct fm_ctx *ctx;
    const struct fm_query *q;          /* NULL: command-line filters, no parameters */
    struct fm_arena *arena;
    struct fm_yaml_log *log;
    struct fm_store *store;            /* NULL: checking without a store */
    const char *unit;                  /* of the weight */
    const struct fm_reweigh *weigh;      /* the weight, once a step has changed it */
    struct fm_intervals *intervals;    /* that steps `within: {as: NAME}` name, the last first */
    enum fm_from from;                 /* what rows are */
    const char *event;                 /* name of the selected event(s); NULL without a store */
    const struct fm_schema *schema;    /* names are of this table; NULL: of rows */
    struct fm_operand **operand;
    size_t operands, operand_cap;
    struct fm_pattern **pattern;
    size_t patterns, pattern_cap;
    struct fm_link_rows *link_rows[FM_VIA_ANY + 1];
    struct fm_categories *categories;  /* NULL: nothing has asked for them */
    struct fm_pipe *pipe;              /* of the step at hand, which may need other pipes */
    struct fm_step *step;
    size_t param_depth, param_nodes;   /* parameters in parameters, and what they repeat */
};

void fm_compile_release(struct fm_compile *c);
/* The pattern lives as long as the compile; false: no memory, it is freed. */
bool fm_compile_keep(struct fm_compile *c, struct fm_pattern *pattern);

/* category.c, classify.c: the attribute `category`. An attribute's name for c: loads the
 * dictionaries when it is that one (what is wrong with them is logged). */
bool fm_operand_is_list(const struct fm_operand *o);   /* a category, of a row or a frame */
bool fm_attr_resolve(struct fm_compile *c, const char *name, size_t n, enum fm_attr *attr);
bool fm_category_known(const struct fm_compile *c, const char *name, size_t n);
const char *const *fm_category_names(const struct fm_compile *c, size_t *n);
/* Bit k: the frame is in the k-th category of fm_category_names(). Bit 63 is set always. */
uint64_t fm_category_mask(struct fm_compile *c, const struct fm_view *v, uint32_t frame);
uint64_t fm_category_row(struct fm_compile *c, const struct fm_frame_row *row, fm_str label,
                         fm_str dso);
/* The categories of a mask joined by ','; FM_NONE: none (or no memory: c->arena->oom). One name. */
fm_str fm_category_list(struct fm_compile *c, uint64_t mask);
fm_str fm_category_name(struct fm_compile *c, unsigned bit);

enum fm_scope { FM_SCOPE_ROWS, FM_SCOPE_FRAMES, FM_SCOPE_TABLE };

/* Resolves a name in a scope and gives the operand's index; FM_NONE: unknown (not logged). */
uint32_t fm_operand_find(struct fm_compile *c, enum fm_scope scope, const char *name, size_t n);
/* waker.X, launch.X …: how the row is reached, *skip bytes of the name; 0: it is no such name. */
uint8_t fm_operand_via(const char *name, size_t n, size_t *skip);
/* Logs that linked rows have no such column: at a node, or at a key. */
void fm_operand_unlinked(struct fm_compile *c, const struct fm_yaml_node *at,
                         const struct fm_yaml_pair *key, const char *name);
/* Names for "did you mean": NULL-free list of *n. */
const char *const *fm_operand_names(struct fm_compile *c, enum fm_scope scope, size_t *n);
/* An expression over the scope's names; REF and stack.has() nodes hold operand indexes. */
struct fm_expr *fm_compile_expr(struct fm_compile *c, enum fm_scope scope,
                                const struct fm_scalar *s);
/* The call() half of it, for measures: resolves stack.has(). */
bool fm_compile_call(struct fm_compile *c, struct fm_expr *node);
/* Turns equality of a list and a text into membership; `at` for messages. false: logged. */
bool fm_compile_members(struct fm_compile *c, const struct fm_yaml_node *at, struct fm_expr *e);
/* A constant for "$p" nodes; false: unknown parameter. */
bool fm_compile_variable(struct fm_compile *c, struct fm_expr *node);

/* -------------------------------------------------------------- predicates */

enum { FM_NO, FM_NULLISH, FM_YES };

enum fm_pred_op {
    FM_PRED_CONST, FM_PRED_AND, FM_PRED_OR, FM_PRED_NOT, FM_PRED_TEST, FM_PRED_EXPR, FM_PRED_STACK
};

enum fm_test_kind { FM_TEST_TEXT, FM_TEST_COMPARE, FM_TEST_RANGE, FM_TEST_LATER };

struct fm_test {
    enum fm_test_kind kind;
    struct fm_pattern *pattern;
    bool list;                  /* the text is a list joined by ',': any element */
    bool base;                  /* the last component of a path may match as well */
    enum fm_expr_op op;         /* COMPARE */
    struct fm_value lo, hi;     /* COMPARE: lo; RANGE: both, null = open */
};

enum fm_stack_test {
    FM_STACK_HAS, FM_STACK_LACKS, FM_STACK_LEAF, FM_STACK_ROOT, FM_STACK_PATH
};

struct fm_pred {
    enum fm_pred_op op;
    uint8_t constant;
    struct fm_pred **arg;
    size_t args;
    struct fm_operand *operand;     /* TEST */
    struct fm_test test;
    uint8_t *memo;                  /* TEST of text: verdict + 1 by string or thread, 0 = not yet */
    size_t memos;
    struct fm_expr *expr;           /* EXPR */
    enum fm_stack_test stack;       /* STACK: arg = frame predicates */
    uint8_t *bit;                   /* STACK: verdict by node */
    uint64_t generation;            /* of the view that `bit` was made for */
};

/* Compiles; NULL when anything is wrong (logged) or memory ran out (arena->oom). */
struct fm_pred *fm_pred_compile(struct fm_compile *c, const struct fm_yaml_node *node,
                                enum fm_scope scope);
/* A test of one column against a value node (scalar, list, or map of is/not/any/all). */
struct fm_pred *fm_pred_column(struct fm_compile *c, struct fm_operand *operand,
                               const struct fm_yaml_node *node, enum fm_scope scope);
/* true when it holds for everything, whatever the store. */
bool fm_pred_always(const struct fm_pred *p);

/* Verdict of a test on a lane of its operand's type. */
uint8_t fm_pred_lane(struct fm_compile *c, struct fm_pred *p, const struct fm_view *v,
                     uint64_t lane);
uint8_t fm_pred_value(const struct fm_pred *p, const struct fm_value *value);
/* Verdict of a frame predicate on a frame. */
uint8_t fm_pred_frame(struct fm_compile *c, struct fm_pred *p, const struct fm_view *v,
                      uint32_t frame);
/* Verdicts for all frames, one byte each (1 = FM_YES), from the arena. NULL: no memory. */
uint8_t *fm_pred_frames(struct fm_compile *c, struct fm_pred *p, const struct fm_view *v);
/* Fills p->bit of every stack predicate in p, and of those in its expressions. */
bool fm_pred_nodes(struct fm_compile *c, struct fm_pred *p, const struct fm_view *v);
bool fm_operand_nodes(struct fm_compile *c, const struct fm_view *v);

/* A lane as a value of an expression; a stack is its path as text, "main;work;malloc". */
struct fm_value fm_lane_value(struct fm_store *store, enum fm_type type, uint64_t lane);

/* linked.c: columns of linked rows. Fills o->linked once; false: no memory. */
bool fm_linked_fill(struct fm_compile *c, struct fm_operand *o);
bool fm_linked_lane(const struct fm_linked *linked, uint64_t row, uint64_t *lane);
/* The text of a frame of the store, as in paths. FM_NONE: no memory. */
fm_str fm_linked_label(struct fm_store *store, fm_frame frame);

/* within.c: NAME.start and NAME.dur of a step `within: {as: NAME}`, and their values. */
struct fm_reader;
bool fm_interval_find(const struct fm_compile *c, const char *name, struct fm_operand *o);
void fm_interval_need(struct fm_reader *r, struct fm_operand *o);
bool fm_interval_lane(const struct fm_reader *r, const struct fm_operand *o, uint32_t place,
                      uint64_t *lane);

/* -------------------------------------------------------------------- rows */

/* Reads rows of a selection: columns that the bound operands need, block by block. */
struct fm_reader {
    struct fm_compile *c;
    struct fm_view *v;
    const struct fm_selection *sel;
    fm_column col[FM_SCAN_COLUMNS];
    size_t cols;
    bool full;                  /* more columns than a scan takes */
    int stack, thread, count, weight, self, ts, dur;
    uint32_t place;             /* row at hand, for expressions */
    int64_t shift;              /* of the block's source */
    struct fm_scan scan;
};

void fm_reader_init(struct fm_reader *r, struct fm_compile *c, struct fm_view *v,
                    const struct fm_selection *sel);
void fm_reader_need(struct fm_reader *r, struct fm_operand *operand);
void fm_reader_need_expr(struct fm_reader *r, const struct fm_expr *expr);
void fm_reader_need_pred(struct fm_reader *r, const struct fm_pred *p);
void fm_reader_need_stack(struct fm_reader *r);
void fm_reader_need_weight(struct fm_reader *r);   /* weight and count */
enum fm_status fm_reader_start(struct fm_reader *r, struct fm_error *err);
bool fm_reader_next(struct fm_reader *r);
void fm_reader_release(struct fm_reader *r);

bool fm_reader_lane(const struct fm_reader *r, const struct fm_operand *o, uint32_t place,
                    uint64_t *lane);
uint32_t fm_reader_node(const struct fm_reader *r, uint32_t place);  /* 0 without a stack */
uint64_t fm_reader_weight(const struct fm_reader *r, uint32_t place);
/* Sums by stack (store/fold.h) are the same as those of fm_reader_node() and fm_reader_weight(). */
bool fm_reader_folds(const struct fm_view *v, const struct fm_selection *sel);
uint64_t fm_reader_count(const struct fm_reader *r, uint32_t place);
struct fm_value fm_reader_value(const struct fm_reader *r, const struct fm_operand *o,
                                uint32_t place);
/* The expression for the row at `place`. */
struct fm_value fm_reader_eval(struct fm_reader *r, const struct fm_expr *expr, uint32_t place);

/* Keeps the rows of the selection for which p holds. */
enum fm_status fm_rows_where(struct fm_compile *c, struct fm_selection *sel, struct fm_view *v,
                             struct fm_pred *p, struct fm_error *err);
/* Keeps the rows for which keep(user, reader, place) is true; the caller has bound what it
 * needs. */
enum fm_status fm_rows_keep(struct fm_reader *r, struct fm_selection *sel,
                            bool (*keep)(void *user, struct fm_reader *r, uint32_t place),
                            void *user, struct fm_error *err);
/* Rows still selected, and their sums. */
enum fm_status fm_rows_sum(struct fm_compile *c, struct fm_selection *sel, struct fm_view *v,
                           uint64_t *rows, struct fm_error *err);

/* ------------------------------------------------------------------- edits */

/* stackedit.c: a chain of edits of the view's stacks. */
struct fm_edit;

/* Compiles one edit of `stack:` ({keep: P}, {root: P, at: innermost} …); NULL: logged. */
struct fm_edit *fm_edit_compile(struct fm_compile *c, const struct fm_yaml_node *node);
/* A keep or drop edit made of a predicate. */
struct fm_edit *fm_edit_frames(struct fm_compile *c, struct fm_pred *p, bool keep);
/* Runs it: replaces sel->stacks and re-makes the view. Rows that the edit drops leave the
 * selection; *dropped tells whether there were any. */
enum fm_status fm_edit_run(struct fm_compile *c, struct fm_edit *edit, struct fm_selection *sel,
                           struct fm_view *v, bool *dropped, struct fm_error *err);
bool fm_edit_drops(const struct fm_edit *edit);
const struct fm_yaml_node *fm_edit_at(const struct fm_edit *edit);

/* ------------------------------------------------------------------- times */

/* filter.c: a time range "1.5s..2s", "..10%", "-2s..", "10%/2", "@N..@M", ISO-8601. */
struct fm_range;
struct fm_range *fm_range_compile(struct fm_compile *c, const struct fm_scalar *s,
                                  const char *origin);
enum fm_status fm_range_run(struct fm_compile *c, const struct fm_range *range,
                            struct fm_selection *sel, struct fm_view *v, int64_t *from,
                            int64_t *to, struct fm_error *err);

#endif
