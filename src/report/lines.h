/*
 * lines.h - the records that a report keeps: lines of fields, a tab between two, written by
 * fm_out_tsv().
 */
#ifndef FM_REPORT_LINES_H
#define FM_REPORT_LINES_H

#include "util/out.h"

/* Cuts the line at *at: fields are undone in place and end with a NUL; *at goes behind the line.
 * Returns the number of fields, at most `max` (what follows is left out); 0: no line is left. */
size_t fm_line_next(char **at, const char **field, size_t max);
/* Counts the fields of the line at `at`. */
size_t fm_line_fields(const char *at);
/* Writes a field: a tab before it, but for the first of a line. NULL is written as \N. */
void fm_line_put(struct fm_out *out, bool first, const char *text);
/* A field that may be null: NULL for \N. */
const char *fm_line_null(const char *field);

#endif
