/*
 * query_help.h - stores in a line a row, and queries as text, for the tests of the query floor.
 */
#ifndef QUERY_HELP_H
#define QUERY_HELP_H

#include "store/build.h"

/*
 * A store from lines "STACK WEIGHT [KEY=VALUE …]". STACK is frames root first, joined by ';', each
 * FUNCTION[@MODULE[@FILE:LINE]]; "-" is a row without stack. Keys: event (default "cpu" in ns;
 * "NAME:UNIT" of samples or "NAME:UNIT:KIND"), name, category, count, ts, dur, tid, thread (a
 * name), comm, cpu, kind (of the frames: "kernel"), s.LABEL (string), i.LABEL (i64), f.LABEL (f64).
 */
struct fm_store *query_store(struct fm_ctx *ctx, const char *lines);

/* The same for one row; the builder may be fed by hand before query_seal(). */
void query_row(struct fm_builder *b, const char *line, size_t n);
struct fm_store *query_seal(struct fm_builder *b);

/* Loads the query text (kept in a file of that name until the next call). */
enum fm_status query_load(struct fm_ctx *ctx, const char *text, struct fm_query **query,
                          struct fm_error *err);

/* Runs text with parameters "a=1 b=2" (split at blanks; NULL = none) and gives the output in a
 * format; messages go to query_messages(). NULL: the status is in query_status(). The text is kept
 * until the next call. */
const char *query_run(struct fm_ctx *ctx, struct fm_store *store, const char *text,
                      const char *params, const char *format);
/* With options. */
const char *query_run_with(struct fm_ctx *ctx, struct fm_store *store, const char *text,
                           const char *params, const char *format,
                           const struct fm_select_options *select);
/* On a store for each input. */
const char *query_run_stores(struct fm_ctx *ctx, struct fm_store *const *store, size_t stores,
                             const char *text, const char *params, const char *format);
const char *query_messages(void);
enum fm_status query_status(void);
const char *query_error(void);

/* A query of steps over samples: "foldmill-query: 1 …" around them. */
const char *query_of(const char *steps);

#endif
