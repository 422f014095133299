/*
 * timeline.h - the selected rows in time order: what TIMELINE exporters read.
 */
#ifndef FM_EXPORT_TIMELINE_H
#define FM_EXPORT_TIMELINE_H

#include "store/select.h"
#include "util/out.h"

#define FM_TIMELINE_EXTRAS 8

struct fm_timeline_row {
    int64_t ts;               /* on the store's timeline; INT64_MIN: no time */
    uint64_t row;
    uint64_t weight;          /* by the selection's weight */
    uint32_t node;            /* of fm_selection_tree() */
    fm_thread thread;         /* FM_NONE unknown */
    uint32_t event, source;
    uint32_t texts;           /* pseudo labels: fm_timeline.text + texts * fm_timeline.texts */
    uint32_t has;             /* bit k: extra column k has a value */
    uint64_t extra[];         /* [extras] */
};

struct fm_timeline {
    struct fm_mem *mem;
    char *data;               /* rows, each `stride` bytes */
    size_t stride, rows, data_cap;
    uint32_t *order;          /* row numbers in output order */
    size_t extras;
    fm_str *text;             /* tuples of pseudo labels */
    size_t texts, tuples, text_cap; /* labels a tuple; tuples */
    size_t prepends;          /* of the labels, those above the root */
};

/*
 * Collects the selected rows, ordered by time, or by (thread, time) with `by_thread`: threads in
 * order of source, pid, tid, incarnation, or as the recording sorts processes and threads; rows
 * without a time first, in row order. `extra` columns are kept with each row. `names` NULL: no
 * pseudo frames.
 */
enum fm_status fm_timeline_make(struct fm_timeline *timeline, const struct fm_selection *sel,
                                const struct fm_names *names, const fm_column *extra,
                                size_t extras, bool by_thread, struct fm_error *err);
void fm_timeline_release(struct fm_timeline *timeline);

/* "worker 12/13", "main" for text ids, with the incarnation: what a thread is called beside others.
 * Nothing for FM_NONE. */
void fm_timeline_thread(const struct fm_store *store, fm_thread t, struct fm_out *out);

static inline const struct fm_timeline_row *fm_timeline_at(const struct fm_timeline *timeline,
                                                           size_t i)
{
    return (const struct fm_timeline_row *)(const void *)(timeline->data +
                                                          timeline->order[i] * timeline->stride);
}

#endif
