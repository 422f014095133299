/*
 * query.h - the query layer's inner interface: what the facade (foldmill.c) calls.
 *
 *   parse.c params.c        YAML -> struct fm_query: schema, parameters, positions     (lang.h)
 *   use.c                   queries that a query uses                                  (lang.h)
 *   plan.c start.c          pipes of steps compiled; where a pipe starts: `from`       (plan.h)
 *   run.c flow.c            pipes run; what a pipe has at the moment: rows or a table  (plan.h)
 *   step.c                  the table of steps: a new step is a line there             (plan.h)
 *   lines.c                 rows as the lines of a table: select, sort, limit of rows (lines.h)
 *   limit.c select.c union.c regroup.c tree.c pivot.c join.c diff.c within.c weigh.c time.c: steps
 *   explain.c jsonschema.c  the plan as text; the schema of query files for editors    (plan.h)
 *   source.c filter.c       the rows a pipe starts from; the command line's filters    (plan.h)
 *   operand.c predicate.c   names and predicates -> struct fm_operand, struct fm_pred  (pred.h)
 *   from.c                  views: spans, counters, instants as rows                   (plan.h)
 *   category.c classify.c   categories of frames out of dictionaries             (category.h)
 *   view.c rows.c where.c   verdicts per frame, node and dictionary entry; rows        (pred.h)
 *   editcompile.c stackedit.c reframe.c weave.c   edits of stacks: node -> node remaps (edit.h)
 *   stacks.c                new stacks for a selection; pseudo frames                  (stacks.h)
 *   measure.c group.c aggregate.c   keys, measures; self and total; values             (group.h)
 *   edge.c base.c           calls as keys; shares of the first key                     (group.h)
 *   match.c scale.c         equal rows of two tables; what the base of a diff is scaled by
 *   keep.c                  rows that a query ends with, as a selection for exporters
 *   table.c order.c compute.c celltype.c   results: sort, limit, columns, gates        (table.h)
 *   result.c write.c        finished results; text, CSV, TSV, JSON, Markdown           (table.h)
 *   layout.c                texts in the columns of a terminal                        (layout.h)
 *   trie.c                  tries of (parent, key), for stacks and paths               (trie.h)
 *
 * The language is described in man/foldmill-queries.5.
 */
#ifndef FM_QUERY_QUERY_H
#define FM_QUERY_QUERY_H

#include "store/select.h"

/* Applies the command line's filters ("time=…", "comm=…", "focus=…" …) to a selection: row filters
 * in the order given, then stack edits. FM_CONFIG for an unknown filter, column or pattern. FM_OK
 * with a message in err: no rows are left. */
enum fm_status fm_query_filter(struct fm_ctx *ctx, struct fm_selection *sel,
                               const struct fm_select_options *options, struct fm_error *err);

/* category.c: validates a dictionary of categories; the report goes to out. */
enum fm_status fm_categories_check(struct fm_ctx *ctx, const char *path, struct fm_out *out,
                                   struct fm_error *err);

/* Validates a query file without running it; the report goes to out. */
enum fm_status fm_query_check(struct fm_ctx *ctx, const char *path, struct fm_out *out,
                              struct fm_error *err);

#endif
