/*
 * stacks.h - new stacks for a selection: a trie of frames sealed into struct fm_stacks, and stacks
 * with pseudo frames.
 */
#ifndef FM_QUERY_STACKS_H
#define FM_QUERY_STACKS_H

#include "query/pred.h"
#include "query/trie.h"

/* Numbers the trie in pre-order; id[n] (trie->n of them) becomes the number of trie node n. of_tree
 * is all 0: the caller fills it. Freed by the selection, or fm_stacks_free(). NULL: no memory. */
struct fm_stacks *fm_stacks_seal(struct fm_selection *sel, const struct fm_trie *trie,
                                 const struct fm_frame_row *row, size_t rows, uint32_t *id);
void fm_stacks_free(struct fm_selection *sel, struct fm_stacks *stacks);

/*
 * Weaving: new stacks row by row, out of labels and stacks that exist. Each call gives a node of
 * the new trie; UINT32_MAX: no memory. of_row[r] = node of row r, 0 for rows that are not selected.
 */
struct fm_weaver {
    struct fm_compile *c;
    const struct fm_view *v;
    struct fm_mem *mem;
    struct fm_trie trie;
    struct fm_map woven;         /* trie node << 32 | node of the view -> trie node */
    struct fm_map recorded;      /* trie node << 32 | node of the store -> trie node */
    struct fm_map frame;         /* label -> pseudo frame */
    struct fm_frame_row *row;    /* the view's frames, then those that are new */
    size_t rows, row_cap;
    uint32_t *of_frame;          /* frame of the store -> new frame + 1; made when it is needed */
    size_t of_frames;
    uint32_t *spine;             /* frames of one stack, leaf first */
};
bool fm_weaver_init(struct fm_weaver *w, struct fm_compile *c, const struct fm_view *v);
void fm_weaver_release(struct fm_weaver *w);
/* Below `at`: a pseudo frame; the frames of a node of the view; those of one of the store. */
uint32_t fm_weaver_label(struct fm_weaver *w, uint32_t at, fm_str label);
uint32_t fm_weaver_stack(struct fm_weaver *w, uint32_t at, uint32_t stack);
uint32_t fm_weaver_recorded(struct fm_weaver *w, uint32_t at, uint32_t tree);
/* The stacks of sel and v are the woven ones from now on. of_row lives in the arena of w->c. */
enum fm_status fm_weaver_finish(struct fm_weaver *w, struct fm_selection *sel, struct fm_view *v,
                                uint32_t *of_row, struct fm_error *err);

/* Puts the selection's pseudo frames (--prepend, --append) around the stacks of its rows: every row
 * has a node of its own then (view->of_row). Nothing happens when there are none. */
enum fm_status fm_stacks_pseudo(struct fm_compile *c, struct fm_selection *sel,
                                struct fm_view *v, struct fm_error *err);

#endif
