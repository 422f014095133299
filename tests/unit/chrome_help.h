/*
 * chrome_help.h - Chrome traces from memory, for unit tests.
 */
#ifndef FM_TESTS_UNIT_CHROME_HELP_H
#define FM_TESTS_UNIT_CHROME_HELP_H

#include "small.h"

#include "import/import.h"

/* The sealed store of a text; the import must end with status `want`. */
struct fm_store *chrome_read(struct fm_ctx *ctx, const char *s, size_t n, const char *keep,
                             enum fm_status want);
/* Folded stacks of an event, to be freed. */
char *chrome_folded(struct fm_ctx *ctx, struct fm_store *store, const char *event);
/* Count of a finding; 0: none. */
uint64_t chrome_finding(const struct fm_store *store, const char *key);
/* Rows of an event of a kind. */
uint64_t chrome_rows(const struct fm_store *store, const char *event, enum fm_kind kind);

#endif
