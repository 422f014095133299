/*
 * scope.h - what both kinds of speedscope profiles share: the table of frames, names of threads.
 */
#ifndef FM_EXPORT_SCOPE_H
#define FM_EXPORT_SCOPE_H

#include "export/export.h"
#include "export/timeline.h"

struct fm_scope {
    struct fm_export *export;
    const struct fm_selection *sel;
    struct fm_out *out;
    struct fm_mem *mem;
    struct fm_timeline line;
    const struct fm_tree_node *tree;
    size_t nodes;
    fm_str *label;               /* by frame */
    size_t frames;
    struct fm_map index;         /* label << 32 | file -> number */
    uint64_t *entry;             /* number -> the same key */
    size_t entries, entry_cap;
    uint32_t *stack, *last;      /* numbers, of this sample and of the one before */
    size_t stack_n, stack_cap, last_n, last_cap;
    uint64_t *weight;
    size_t weights, weight_cap;
    size_t profiles, heaviest;   /* written so far; the one of most weight, */
    fm_u128 most;                /* which is this */
};

/* The number of a frame, which is given when it is met first. False: no memory. */
bool fm_scope_number(struct fm_scope *s, fm_str name, fm_str file, uint32_t *n);
/* "worker 12/13", "main" for text ids; the title where no thread is known. */
void fm_scope_name(struct fm_scope *s, fm_thread t);
/* What comes before a profile, and when it is written and its weight known. */
void fm_scope_profile(struct fm_scope *s);
void fm_scope_weigh(struct fm_scope *s, fm_u128 sum);

/*
 * evented.c: writes one profile a thread of the selected spans. *done is false, and nothing is
 * written, when they are no nested intervals whose self time is their weight, or when stacks or
 * pseudo frames were asked for that a span cannot have.
 */
enum fm_status fm_scope_spans(struct fm_scope *s, bool *done, struct fm_error *err);

#endif
