/*
 * filter.h - the command line's filters inside a running query.
 */
#ifndef FM_QUERY_FILTER_H
#define FM_QUERY_FILTER_H

#include "query/pred.h"
#include "query/query.h"

/* The time window that filters and time steps have left: ns since the start, [from, to). */
struct fm_window {
    int64_t from, to;
    const char *emptied;         /* "--comm 'x'", the filter that left no rows; or NULL */
};

/* Row filters in the order given, then hide and show. FM_CONFIG: err has the first message, all of
 * them are in c->log. */
enum fm_status fm_filters_run(struct fm_compile *c, struct fm_selection *sel, struct fm_view *v,
                              const struct fm_select_options *options, struct fm_window *window,
                              struct fm_error *err);

#endif
