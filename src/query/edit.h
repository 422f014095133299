/*
 * edit.h - edits of stacks from inside.
 *
 *     editcompile.c   YAML -> struct fm_edit
 *     stackedit.c     node -> node: keep, drop, root, leaf, collapse, inlines, invert, depth
 *     reframe.c       frame -> frame: level, rename
 *     weave.c         row -> node: prepend, append
 */
#ifndef FM_QUERY_EDIT_H
#define FM_QUERY_EDIT_H

#include "query/stacks.h"

/* In the order of the names in editcompile.c. */
enum fm_edit_op {
    FM_EDIT_KEEP, FM_EDIT_DROP, FM_EDIT_ROOT, FM_EDIT_LEAF, FM_EDIT_COLLAPSE, FM_EDIT_RENAME,
    FM_EDIT_LEVEL, FM_EDIT_INLINES, FM_EDIT_PREPEND, FM_EDIT_APPEND, FM_EDIT_INVERT, FM_EDIT_DEPTH
};
enum fm_edit_collapse { FM_COLLAPSE_DIRECT, FM_COLLAPSE_ALL, FM_COLLAPSE_RUN };
enum fm_edit_level {
    FM_LEVEL_FUNCTION, FM_LEVEL_FILE, FM_LEVEL_LINE, FM_LEVEL_ADDRESS, FM_LEVEL_MODULE,
    FM_LEVEL_CATEGORY
};

/* A pseudo frame of prepend and append. */
struct fm_edit_column {
    const char *name;
    struct fm_operand *operand;   /* NULL: the expression */
    struct fm_expr *expr;
};

struct fm_edit {
    const struct fm_yaml_node *at;
    enum fm_edit_op op;
    struct fm_pred *p;            /* NULL: every frame (collapse) */
    bool innermost;               /* root, leaf */
    bool drop;                    /* stacks without a match, or with nothing left */
    enum fm_edit_collapse collapse;
    const char *as;               /* collapse: run; rename: to */
    size_t as_n;
    enum fm_edit_level level;
    bool fold;                    /* inlines */
    bool whole;                   /* invert: false, depth: all: nothing to do */
    uint32_t max;                 /* depth */
    bool from_leaf;
    struct fm_edit_column *col;   /* prepend, append */
    size_t cols;
    struct fm_operand *link;      /* they add the stack of a linked row */
};

/* An edit at work: the view it reads, and what it builds. */
struct fm_restack {
    struct fm_compile *c;
    const struct fm_edit *edit;
    const struct fm_view *v;
    struct fm_mem *mem;
    struct fm_trie trie;          /* the new stacks; keys are new frames */
    struct fm_frame_row *row;     /* the new frames */
    size_t rows, row_cap;
    uint32_t *to;                 /* old node -> new node; FM_NONE: dropped, or of no row */
    uint8_t *match;               /* by old frame */
    bool oom;
};

/* The child of a new node; 0 and b->oom: no memory. */
uint32_t fm_restack_child(struct fm_restack *b, uint32_t parent, uint32_t frame);
uint32_t fm_restack_row(struct fm_restack *b, const struct fm_frame_row *row);

/* reframe.c: false = no memory. */
bool fm_edit_level(struct fm_restack *b);
bool fm_edit_rename(struct fm_restack *b);

/* weave.c */
enum fm_status fm_edit_weave(struct fm_compile *c, const struct fm_edit *edit,
                             struct fm_selection *sel, struct fm_view *v, struct fm_error *err);

#endif
