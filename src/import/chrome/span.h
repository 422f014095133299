/*
 * span.h - spans of one thread: records, pairing, order, the sweep. Inner header of chrome/; knows
 * nothing of JSON, so that tests drive it by itself.
 *
 *     records in file order ──pair──> intervals ──end unfinished──> ──sort──> ──sweep──> self, node
 */
#ifndef FM_IMPORT_CHROME_SPAN_H
#define FM_IMPORT_CHROME_SPAN_H

#include "import/chrome/heap.h"
#include "store/build.h"
#include "util/json.h"

enum fm_chrome_record {
    FM_CHROME_X, FM_CHROME_B, FM_CHROME_E,
    FM_CHROME_FLOW_HERE,           /* binds to the span around it */
    FM_CHROME_FLOW_NEXT            /* binds to the span that begins at or after it */
};
enum {
    FM_CHROME_OPEN = 1,            /* no end is known */
    FM_CHROME_UNFINISHED = 2,      /* its end was made up */
    FM_CHROME_UNMATCHED = 4,       /* E that closes nothing */
    FM_CHROME_DROP = 8,
    FM_CHROME_PARTS = 16           /* some of its time is in parts */
};

struct fm_chrome_span {
    int64_t start, end;            /* ns */
    uint64_t self;                 /* until the sweep: the event's offset in the file */
    uint32_t site;                 /* X, B: name and class; E: the name alone; flows: the point */
    uint32_t chain;                /* what hangs on it, see class.c */
    uint32_t node;                 /* until the sweep: place in the file */
    int16_t ps;                    /* X, B, E: exact start - start */
    uint8_t type, flags;
};

/* Self time under an ancestry other than that at the span's start. */
struct fm_chrome_part {
    uint32_t span;
    fm_node node;
    uint64_t self;
};

/* How spans that nobody ended end. */
enum fm_chrome_unfinished {
    FM_CHROME_END_ENCLOSING,       /* with the smallest span around their start, else the trace */
    FM_CHROME_END_THREAD,          /* with the thread's last event */
    FM_CHROME_END_DROP
};

struct fm_chrome_open;             /* pair.c, sweep.c: a span that is open */
struct fm_chrome_live;
struct fm_chrome_nested;           /* nest.c */
struct fm_chrome_pile {            /* grown as needed, kept for the next thread */
    struct fm_chrome_open *open;
    size_t open_cap;
    struct fm_chrome_live *live;
    size_t live_cap;
    struct fm_chrome_nested *nested;
    size_t nested_cap;
    struct fm_chrome_ending *index;
    size_t index_cap, index_n;
    struct fm_chrome_heap heap;
    struct fm_chrome_span *scratch;
    size_t scratch_cap;
    struct fm_chrome_part *part;
    size_t parts, part_cap;
    uint32_t (*bound)[2];          /* flow point, span */
    size_t bounds, bound_cap;
    uint32_t *pending;             /* flow points that wait for the next span */
    size_t pendings, pending_cap;
};

/* Paths that were made lately. */
#define FM_CHROME_KNOWN 1024u
struct fm_chrome_known {
    uint64_t key;                  /* node above << 32 | site */
    fm_node node;                  /* FM_NODE_ROOT: not used */
};

/* What ended last, for flows of that time when nothing is open. */
struct fm_chrome_ended {
    int64_t at;
    uint32_t inner;                /* record + 1 of the innermost; 0: nothing */
};

struct fm_chrome_sweep {
    struct fm_mem *mem;
    struct fm_builder *builder;
    /* Of a site: its frame; its name as a number, 0 for none. */
    fm_frame (*frame)(void *user, uint32_t site);
    uint32_t (*name)(void *user, uint32_t site);
    /* Puts the chain of an E before that of its B. */
    uint32_t (*join)(void *user, uint32_t older, uint32_t newer);
    void *user;
    enum fm_chrome_unfinished unfinished;
    int64_t trace_last, thread_last;
    size_t depth;                  /* frames of a stack at most */
    uint32_t names;                /* numbers that name() gives are below */
    uint32_t (*head)[2];           /* by name, all 0 between threads: see pair.c */

    struct fm_chrome_pile pile;
    struct fm_chrome_known known[FM_CHROME_KNOWN];
    struct fm_chrome_span *span;
    size_t n;
    /* found: */
    uint64_t unmatched, not_on_top, unfinished_n, overlaps, dropped, deep, kept_ancestry;
    uint64_t unmatched_at, not_on_top_at, unfinished_at, overlap_at;
    uint64_t overlap_ns;
    bool oom;
};

/* Offsets of nothing found, counts of nothing: before each thread. */
void fm_chrome_sweep_start(struct fm_chrome_sweep *s, struct fm_chrome_span *span, size_t n);
/* pair.c: B and E become intervals (records E are gone afterwards), in n. `unordered`: B and E are
 * not in order of time. */
void fm_chrome_pair(struct fm_chrome_sweep *s, bool unordered);
void fm_chrome_pair_release(struct fm_chrome_sweep *s);
/* Ends what is open; sorts by (start, longest, place in the file). */
void fm_chrome_arrange(struct fm_chrome_sweep *s);
/* sweep.c: self time and node of each, parts, what flows bind to. */
void fm_chrome_sweep(struct fm_chrome_sweep *s);
void fm_chrome_sweep_release(struct fm_chrome_sweep *s);

/* nest.c: spans from i on, as long as they only nest; where it stopped: at the first of a group
 * that does not, or behind the last. */
size_t fm_chrome_nest(struct fm_chrome_sweep *s, size_t i, struct fm_chrome_ended *ended);
void fm_chrome_nest_release(struct fm_chrome_sweep *s);
/* The path of a site's span inside of `above`. */
fm_node fm_chrome_child(struct fm_chrome_sweep *s, fm_node above, uint32_t site);
/* Binds a flow to the span that is innermost (its number + 1, 0: to none) or to the next. false:
 * it is no flow. */
bool fm_chrome_bind_flow(struct fm_chrome_sweep *s, const struct fm_chrome_span *flow,
                         uint32_t inner);
/* Span number `span` begins: flows that wait are bound to it. */
void fm_chrome_bind_next(struct fm_chrome_sweep *s, uint32_t span);

/* sort.c: stable by exact start; or by (start, longest, place). */
bool fm_chrome_sort_time(struct fm_chrome_sweep *s);
bool fm_chrome_sort_span(struct fm_chrome_sweep *s);

#endif
