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

/* Puts the selection's pseudo frames (--prepend, --append) around the stacks of its rows: every row
 * has a node of its own then (view->of_row). Nothing happens when there are none. */
enum fm_status fm_stacks_pseudo(struct fm_compile *c, struct fm_selection *sel,
                                struct fm_view *v, struct fm_error *err);

#endif
