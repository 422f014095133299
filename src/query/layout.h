/*
 * layout.h - texts in the columns of a terminal: what may stand there, and how wide.
 */
#ifndef FM_QUERY_LAYOUT_H
#define FM_QUERY_LAYOUT_H

#include "util/out.h"

/* Appends s without what would move the cursor or turn the line around: control characters and
 * marks of direction become \x1b or \u202e, bytes that are not UTF-8 U+FFFD. */
void fm_layout_clean(struct fm_out *out, const char *s, size_t n);

/* Appends a clean text in at most `width` columns: a longer one keeps `head` of three parts of its
 * beginning and the rest of its end, with U+2026 between. */
void fm_layout_shorten(struct fm_out *out, const char *s, size_t n, size_t width, unsigned head);

/* Narrows the widest of the columns that may be narrowed, to no less than `least`, until all fit
 * into `max` columns with `gap` between them, or none can give more. */
void fm_layout_fit(size_t *width, const size_t *least, size_t n, size_t gap, size_t max);

#endif
