/*
 * query.h - the query layer's inner interface: what the facade (foldmill.c) calls.
 *
 *   parse.c     YAML -> struct fm_query (schema, parameters, positions)
 *   plan.c      parameters substituted, names resolved against a store -> operators
 *   predicate.c where: predicates per dictionary entry, per tree node, per row
 *   stack.c     keep drop root leaf collapse level … as node -> node remaps
 *   group.c     groups and measures; total once per sample and key by the pre-order rule
 *   table.c     result tables: sort, limit, compute; text, CSV, JSON, Markdown
 *
 * The language is described in man/foldmill-queries.5.
 */
#ifndef FM_QUERY_QUERY_H
#define FM_QUERY_QUERY_H

#include "store/select.h"

/* Applies the command line's filters ("time=…", "comm=…", "focus=…" …) to a selection: row filters
 * in the order given, then stack edits. FM_CONFIG for an unknown filter, column or pattern. */
enum fm_status fm_query_filter(struct fm_ctx *ctx, struct fm_selection *sel,
                               const struct fm_select_options *options, struct fm_error *err);

/* Validates a query file without running it; the report goes to out. */
enum fm_status fm_query_check(struct fm_ctx *ctx, const char *path, struct fm_out *out,
                              struct fm_error *err);

#endif
