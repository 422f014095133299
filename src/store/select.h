/*
 * select.h - a selection: which rows of a store, how they are weighed, and with which stacks.
 *
 * The query layer makes selections (filters, stack edits); exporters and group-by read them. It is
 * the seam between the two, which never include each other.
 *
 *     selection = store x event(s) x row bitmap x stacks left out x weight x edited stacks
 *                 x pseudo frames
 *
 * The bitmap is looked at only in blocks of which some rows are selected, so that a narrow time
 * window neither fills nor reads one for the whole store. A predicate on stacks alone leaves whole
 * stacks out: its cost is by stack, not by row.
 */
#ifndef FM_STORE_SELECT_H
#define FM_STORE_SELECT_H

#include "store/name.h"

enum fm_weigh { FM_WEIGH_VALUE, FM_WEIGH_SAMPLES, FM_WEIGH_COLUMN };

/* Edited stacks: frames by label. Made by query/stack.c; absent = the store's own tree. Nodes are
 * DFS pre-order as in struct fm_tree_node, but .frame indexes `frame` below. */
struct fm_stacks {
    struct fm_tree_node *node;
    size_t nodes;
    struct fm_frame_row *frame;
    size_t frames;
    uint32_t *of_tree;         /* node of the store -> node here; FM_NONE: the row is dropped */
};

/* A pseudo frame, or a part of one: a stored column, a derived one, or a literal text. */
struct fm_pseudo {
    fm_column col;             /* FM_NONE: derived or the literal */
    fm_str literal;
    int derived;               /* enum fm_derived, or -1 */
    fm_str missing;            /* the text where a row has no value: "[no comm]" */
    fm_str suffix;             /* added to the value's text, 0 = none */
    char letter;               /* suffix "_[i]": 'i', written only with annotations; else '\0' */
    bool optional;             /* COLUMN?: a row without a value has no such frame */
    bool joined;               /* continues the text of the one before: '[${thread} ${tid}]' */
};

/* Columns that are computed from the thread table and not stored. */
enum fm_derived {
    FM_DERIVED_PID, FM_DERIVED_TID, FM_DERIVED_PROCESS, FM_DERIVED_CONTAINER, FM_DERIVED_SOURCE,
    FM_DERIVED_EVENT, FM_DERIVED_METRIC, FM_DERIVED_COMMAND, FM_DERIVED_JAVA_TID,
    FM_DERIVED_PROCESS_LABEL, FM_DERIVED_THREAD_LABEL
};
/* "pid" "tid" "process" "container" "source" "event" "metric" "command" "java_tid"
 * "process_label" "thread_label" -> value; -1 unknown */
int fm_derived_find(const char *name);
enum fm_type fm_derived_type(enum fm_derived d);
/* The value for a row with thread t (FM_NONE unknown), of a segment's source, with an event. false:
 * no value. Strings as ids. */
bool fm_derived_value(const struct fm_store *store, enum fm_derived d, fm_thread t,
                      uint32_t source, uint32_t event, uint64_t *value);

#define FM_PSEUDO_MAX 16
#define FM_PSEUDO_SKIP (FM_NONE - 1)  /* label of an optional frame that a row has not */

/* Which events a text means: see choose.c. */
struct fm_choice {
    uint8_t *event;            /* the caller's: a flag per event of the store */
    uint32_t first;            /* the one whose view stands for all; FM_NONE: none */
    fm_str name;               /* "cpu-clock", "alloc: jdk.ObjectAllocationSample", "all" */
    const struct fm_derived_event *derived;  /* only such rows of these events, or NULL */
};
enum fm_status fm_events_choose(struct fm_store *store, const char *want, struct fm_choice *choice,
                                struct fm_error *err);
/* A name, metric, alias or derived event of the store; no globs, no lists. */
bool fm_event_known(struct fm_store *store, const char *name);

/* How the rows of a derived event were found. */
struct fm_pairing {
    uint64_t starts;           /* rows of the event: allocations */
    uint64_t ended;            /* with a later partner: freed */
    uint64_t reused;           /* without one, but their key was taken again: freed unseen */
    uint64_t open;             /* what is left: starts = ended + reused + open */
    uint64_t ends;             /* rows of the other event: frees */
    uint64_t ends_alone;       /* of those, without a start before them */
};

/* What is selected of a block, events and stacks aside. */
enum fm_rows { FM_ROWS_NONE, FM_ROWS_SOME, FM_ROWS_ALL };

/* The place of a block in fm_selection.block. */
static inline size_t fm_block_place(size_t segment, uint32_t block)
{
    return segment * FM_SEGMENT_BLOCKS + block;
}

struct fm_selection {
    struct fm_store *store;
    uint8_t *event;            /* flag per event of the store */
    fm_str event_name;         /* see struct fm_choice */
    struct fm_pairing pairing; /* of a derived event */
    fm_str unit;               /* of the weight */
    enum fm_weigh weigh;
    fm_column weigh_col;
    uint64_t *rows;            /* bitmap over all rows, or NULL = all */
    uint64_t row_words;
    uint8_t *block;            /* enum fm_rows by place (fm_block_place); NULL: the bitmap counts */
    uint8_t *out;              /* by append id, last: rows without a stack; 1 = left out; or NULL */
    struct fm_stacks *stacks;  /* NULL = the store's tree */
    uint64_t *row_weight;      /* by row, in scans the column FM_COL_WEIGHT; NULL: the store's */
    uint32_t *row_node;        /* by row: its node of `stacks`, in scans the column FM_COL_STACK:
                                * none dropped; NULL: stacks->of_tree says it */
    struct fm_pseudo prepend[FM_PSEUDO_MAX], append[FM_PSEUDO_MAX];
    size_t prepends, appends;  /* parts: struct fm_pseudo_labels counts frames */
    char *letter;              /* annotation by event and part, '\0' = none */
    /* the account of the selection */
    uint64_t samples;          /* sum of count over selected rows */
    fm_u128 weight;            /* sum of weight over selected rows */
    fm_u128 weight_all;        /* of the event, before any filter */
    struct fm_mem *mem;
};

/* Takes a list of pseudo frames apart ("comm,'-',cpu" or "none"). FM_CONFIG: an unknown column, or
 * more than FM_PSEUDO_MAX. */
enum fm_status fm_pseudo_parse(struct fm_store *store, const char *list, struct fm_pseudo *pseudo,
                               size_t *n, struct fm_error *err);

/* Sets the pseudo frames of a selection whose events are chosen: lists as given, or for NULL the
 * view of the events, which is none when they disagree in more than annotations. */
enum fm_status fm_pseudo_views(struct fm_selection *sel, uint32_t first, const char *prepend,
                               const char *append, struct fm_error *err);

/* Takes options apart: event, weight, prepend, append (against the views). Row filters and stack
 * filters are applied by the query layer afterwards. */
enum fm_status fm_selection_init(struct fm_selection *sel, struct fm_store *store,
                                 const struct fm_select_options *options, struct fm_error *err);
void fm_selection_release(struct fm_selection *sel);
/* The same rows, weights and stacks, apart from the first: what is done to one leaves the other. On
 * failure (FM_NOMEM) there is nothing to release. */
enum fm_status fm_selection_copy(struct fm_selection *to, const struct fm_selection *from,
                                 struct fm_error *err);

/* Leaves the rows of the selected events that have no later partner. FM_CONFIG: the key is no
 * column, or was not imported. */
enum fm_status fm_derive_rows(struct fm_selection *sel, const struct fm_derived_event *derived,
                              struct fm_error *err);

/* The column that rows are weighed by: WEIGHT, COUNT or the asked one. A block's invalid lanes of
 * it count 0 (COUNT: 1), as fm_store_block() gives them. */
fm_column fm_selection_weight_column(const struct fm_selection *sel);

/* The tree that the selection's stacks live in, its frames, and the node of a row's stack: FM_NONE
 * when stack edits drop the row. A row without a stack is at node 0. */
const struct fm_tree_node *fm_selection_tree(const struct fm_selection *sel, size_t *nodes);
const struct fm_frame_row *fm_selection_frame(const struct fm_selection *sel, fm_frame f);
size_t fm_selection_frames(const struct fm_selection *sel);
uint32_t fm_selection_node(const struct fm_selection *sel, bool valid, uint64_t stack);

/* The failure for a label that the mapping knows and that nothing named at import: it has no
 * values, and null would be a lie. Returns FM_CONFIG. */
enum fm_status fm_column_not_imported(const struct fm_store *store, fm_column col,
                                      struct fm_error *err);

/* Gives the selection a state by block, and a bitmap for those of which some are selected: what row
 * filters work on. */
bool fm_selection_own_rows(struct fm_selection *sel) FM_MUST_USE;
enum fm_rows fm_selection_block(const struct fm_selection *sel, size_t segment, uint32_t block);
/* The bits of rows [first, first + n) of a block; the state of the block follows. */
void fm_selection_set_block(struct fm_selection *sel, size_t segment, uint32_t block,
                            uint64_t first, uint32_t n, const uint64_t *bits);
/* fm_selection.out, made with nothing left out. false: no memory. */
bool fm_selection_own_stacks(struct fm_selection *sel) FM_MUST_USE;

/* Makes the bitmap alone say which rows of the selected events are selected: for who looks a single
 * row up. */
enum fm_status fm_selection_settle(struct fm_selection *sel, struct fm_error *err);

/* Sums samples and weight over the selected rows: call after the filters. */
enum fm_status fm_selection_sum(struct fm_selection *sel, struct fm_error *err);

/*
 * Scans selected rows block by block: decoded columns that were asked for, and the list of live
 * rows of the block.
 */
#define FM_SCAN_COLUMNS 48
struct fm_scan {
    const struct fm_selection *sel;
    fm_column col[FM_SCAN_COLUMNS];
    size_t cols;
    size_t segment;
    uint32_t block;
    uint64_t next_row;
    /* the current block: */
    uint64_t first_row;
    uint32_t n;                          /* live rows */
    uint32_t at_block;                   /* the block's number in `segment` */
    uint32_t source;
    uint16_t live[FM_BLOCK_ROWS];        /* their places in the block */
    uint64_t *value[FM_SCAN_COLUMNS];    /* [place] */
    uint64_t *valid[FM_SCAN_COLUMNS];    /* bitmaps by place */
    uint64_t *event;                     /* always there */
    uint64_t *stack;                     /* room for what stacks are left out by */
    uint64_t *buffer;
};

enum fm_status fm_scan_init(struct fm_scan *scan, const struct fm_selection *sel,
                            const fm_column *col, size_t cols, struct fm_error *err);
bool fm_scan_next(struct fm_scan *scan);    /* false at the end */
void fm_scan_release(struct fm_scan *scan);

static inline bool fm_scan_valid(const struct fm_scan *scan, size_t col, uint32_t place)
{
    return (scan->valid[col][place >> 6] >> (place & 63)) & 1;
}

/* The place of a column among those asked for, or SIZE_MAX. */
size_t fm_scan_find(const struct fm_scan *scan, fm_column col);

/*
 * Labels of pseudo frames row by row, remembered per value. Prepended ones come first.
 */
#define FM_PSEUDO_RECENT 32
struct fm_pseudo_labels {
    const struct fm_selection *sel;
    size_t n;                                   /* frames: prepends + appends */
    size_t prepends, appends;
    uint8_t first[2 * FM_PSEUDO_MAX + 1];       /* first part of a frame */
    struct fm_map joins;                        /* text << 32 | next text -> both */
    struct fm_map marks;                        /* letter << 32 | text -> text with annotation */
    bool annotate;
    size_t slot[2 * FM_PSEUDO_MAX];             /* place in the scan's columns */
    fm_str fixed[2 * FM_PSEUDO_MAX];            /* by part: literal, or text of no value */
    struct fm_map seen[2 * FM_PSEUDO_MAX];      /* value -> label */
    struct fm_pseudo_recent {                   /* the same for the last few values, by low bits */
        uint64_t value;
        fm_str label;
        bool used;
    } recent[2 * FM_PSEUDO_MAX][FM_PSEUDO_RECENT];
    bool underscore;                            /* blanks of comm to '_' */
    bool folded;                                /* fm_name_folded() is applied */
    struct fm_names names;
    bool oom;
};
/* Adds the columns that pseudo frames need to col[*cols] (at most FM_SCAN_COLUMNS in all). */
void fm_pseudo_columns(const struct fm_selection *sel, fm_column *col, size_t *cols);
/* The scan must have been opened with those columns. The release takes zeroed labels, too. */
void fm_pseudo_labels_init(struct fm_pseudo_labels *labels, const struct fm_selection *sel,
                           const struct fm_scan *scan, const struct fm_names *names);
void fm_pseudo_labels_release(struct fm_pseudo_labels *labels);
/* Label of frame k < labels->n for the row at `place`; FM_NONE and labels->oom: no memory.
 * FM_PSEUDO_SKIP: the row has none. */
fm_str fm_pseudo_label(struct fm_pseudo_labels *labels, const struct fm_scan *scan, size_t k,
                       uint32_t place);

/*
 * Call tree: the selection with stacks merged by label: what TREE exporters draw. Pseudo frames are
 * ordinary nodes. Children of a node are in byte order of their labels; nodes in DFS pre-order.
 */
/* By what a base is multiplied to be compared: `by`, which is up / down where down is not 0. */
struct fm_scaling {
    double by;
    fm_u128 up, down;
};
struct fm_call_node {
    uint32_t parent, end, depth;
    fm_str label;
    uint8_t kind;              /* enum fm_frame_kind; SYNTHETIC for pseudo frames */
    fm_frame frame;            /* one with that label, of fm_selection_frame(); FM_NONE: pseudo */
    fm_u128 self, total;
    uint64_t self_samples, total_samples;
};
/* What a node weighs in the base of a differential, as recorded: not scaled. */
struct fm_call_base {
    fm_u128 self, total;
    uint64_t self_samples, total_samples;
};
struct fm_calltree {
    struct fm_call_node *node; /* node 0 = root, label "" */
    struct fm_call_base *base; /* by node; NULL: one profile and no differential */
    struct fm_scaling scaling; /* of the base */
    size_t nodes, cap;
    uint32_t depth;            /* deepest node's */
    struct fm_mem *mem;
};
enum fm_status fm_calltree_make(struct fm_calltree *tree, const struct fm_selection *sel,
                                const struct fm_names *names, struct fm_error *err);
void fm_calltree_release(struct fm_calltree *tree);

/* The same weights with callees below their callers: each stack the other way round, base and
 * scaling included. `from` is a tree of that selection. */
enum fm_status fm_calltree_reverse(struct fm_calltree *tree, const struct fm_calltree *from,
                                   const struct fm_selection *sel, struct fm_error *err);

/* Turns the tree of a new profile into the union of both, with what nodes weigh in the base: nodes
 * of the base alone weigh nothing and have no frame. Labels become strings of `store`, the new
 * profile's; those of the base are of `from`. On failure (FM_NOMEM) the tree is as before. */
enum fm_status fm_calltree_against(struct fm_calltree *tree, struct fm_store *store,
                                   const struct fm_calltree *base, const struct fm_store *from,
                                   struct fm_error *err);

/* By what a base is scaled: "total" and "samples" of both selections, "time" that their recordings
 * cover, or "none"; by 1 when one of the two is 0. FM_CONFIG: another text, or units that
 * differ. */
enum fm_status fm_scaling_find(struct fm_scaling *scaling, const struct fm_selection *sel,
                               const struct fm_selection *base, const char *how,
                               struct fm_error *err);

/* Labels of the selection's frames, by frame id: allocated from the context's memory, *frames
 * entries. FM_NONE for frames that no node uses. */
enum fm_status fm_selection_labels(const struct fm_selection *sel, const struct fm_names *names,
                                   fm_str **label, size_t *frames, struct fm_error *err);

#endif
