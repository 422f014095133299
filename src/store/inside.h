/*
 * inside.h - the store's and the builder's own structs; included by the files of this folder only.
 *
 *     builder:  stage (one block of lanes)  --full-->  fm_encode()  -->  segment directory
 *               rows set values in lanes               chunks hold the encoded blocks
 *
 *     segment --> fm_segcol (one a column with a value in it) --> 32 blocks {data, min, max}
 *
 * A builder fills a store that nobody else sees; fm_builder_seal() completes it, hands it out and
 * drops what only building needs (tree index, chain cache, intern indexes, patches, keys).
 */
#ifndef FM_STORE_INSIDE_H
#define FM_STORE_INSIDE_H

#include "store/build.h"
#include "store/encode.h"
#include "store/intern.h"
#include "store/stack.h"

/* ------------------------------------------------------------------ store */

struct fm_block {
    const unsigned char *data;  /* NULL: no row of the block has a value */
    uint64_t min, max;
};

struct fm_segcol {
    fm_column col;
    uint32_t valid;             /* rows with a value */
    uint64_t min, max;
    struct fm_block block[FM_SEGMENT_BLOCKS];
};

struct fm_segment {
    uint64_t first_row;
    uint32_t rows;
    uint32_t source;
    bool sorted;                /* by ts */
    bool timed;
    int64_t last_ts;            /* of the last timed row, while building */
    struct fm_segcol **col;     /* by column number once complete */
    size_t cols, col_cap;
};

/* The tables that sub-builders copy and join. */
struct fm_tables {
    struct fm_column_info *column;
    size_t columns, column_cap;
    struct fm_event *event;
    size_t events, event_cap;
    struct fm_alias *alias;
    size_t aliases, alias_cap;
    struct fm_derived_event *derived;
    size_t deriveds, derived_cap;
    struct fm_source *source;
    size_t sources, source_cap;
    struct fm_thread_row *thread;
    size_t threads, thread_cap;
    struct fm_module_row *module;
    size_t modules, module_cap;
    struct fm_frame_row *frame;
    size_t frames, frame_cap;
};

/* Filled on first use by a reader; the pointer is set once, atomically. */
struct fm_lazy {
    _Atomic(uint64_t *) leaf;   /* samples by leaf frame */
};

struct fm_store {
    struct fm_ctx *ctx;
    struct fm_mem *mem;
    struct fm_strings strings;
    struct fm_tables t;
    struct fm_segment *segment;
    size_t segments, segment_cap;
    struct fm_chunks blocks;    /* encoded blocks and fm_segcol */
    uint64_t rows;
    struct fm_link *link;
    size_t links, link_cap;
    struct fm_tree_node *tree;  /* pre-order; NULL until sealed */
    uint32_t *append;           /* append id -> tree node */
    size_t nodes;
    size_t appends;             /* of append: nodes, until inlined calls are expanded */
    bool left_out;              /* events that nobody asked for */
    struct fm_lazy *lazy;
};

/* ---------------------------------------------------------------- builder */

struct fm_patch {
    uint64_t row;
    uint64_t value;
    fm_column col;
};

struct fm_link_key {
    uint64_t key;
    uint64_t row;
    uint8_t kind, side;
};

/* Identity of a thread or module as it was interned; the rows themselves may be edited. */
struct fm_thread_key {
    uint32_t source, incarnation;
    int64_t pid, tid;
    fm_str text_id;
};

struct fm_builder {
    struct fm_stage stage;      /* first: fm_row_set() reaches it */
    enum fm_status status;
    struct fm_ctx *ctx;
    struct fm_mem *mem;
    struct fm_store *store;
    uint32_t source;            /* current, FM_NONE before the first */

    size_t lane_cap;            /* of stage.lane and open */
    fm_column *touched;         /* columns that have a lane */
    size_t touches, touch_cap;
    struct fm_lane *pool;       /* free lanes, by next */
    struct fm_segcol **open;    /* columns of the segment that is being filled */
    bool in_segment;
    struct fm_encoder *encoder;
    bool plain;                 /* fm_encode_plain(): for benchmarks and tests */

    struct fm_tree tree;
    struct fm_chains chains;
    struct fm_index column_ix, event_ix, thread_ix, module_ix, frame_ix;
    struct fm_thread_key *thread_key;
    size_t thread_key_cap;
    struct fm_module_row *module_key;
    size_t module_key_cap;
    struct fm_map records;      /* (kind, source, class) -> account row + 1 */
    uint64_t last_record;       /* key of the last of them, UINT64_MAX none … */
    size_t last_place;          /* … and its account row + 1 */

    struct fm_patch *patch;
    size_t patches, patch_cap;
    struct fm_link_key *key;
    size_t keys, key_cap;

    /* a sub-builder's view of its parent when it was split */
    bool sub;
    size_t base_strings;
    struct fm_tables base;      /* without frames and columns */

    /* what row accessors hand out after a failure */
    struct fm_source no_source;
    struct fm_event no_event;
    struct fm_thread_row no_thread;
    struct fm_module_row no_module;
};

/* The first failure stays. */
static inline void fm_builder_fail(struct fm_builder *b, enum fm_status status)
{
    if (b->status == FM_OK)
        b->status = status;
}

static inline bool fm_builder_ok(const struct fm_builder *b)
{
    return FM_LIKELY(b->status == FM_OK);
}

/* ---------------------------------------------------------------- stage.c */

bool fm_stage_columns(struct fm_builder *b, size_t columns) FM_MUST_USE;
void fm_stage_release(struct fm_builder *b);
/* Gives a column that has no lane in this block one. */
void fm_row_touch(struct fm_builder *b, fm_column col);
/* Ends the block and the segment: before another source, at joins and at the seal. */
void fm_stage_finish(struct fm_builder *b);
/* Joins: puts n values of a decoded lane, from place `from` on, into the stage at the rows to come;
 * once all columns are there, fm_stage_advance() makes them rows. */
void fm_stage_put(struct fm_builder *b, fm_column col, const uint64_t *value,
                  const uint64_t *valid, uint32_t from, uint32_t n);
void fm_stage_advance(struct fm_builder *b, uint32_t n);
/* The directory of a column; NULL when no row of the segment has a value. */
struct fm_segcol *fm_segment_col(const struct fm_segment *seg, fm_column col);
void fm_segment_order(struct fm_segment *seg);
/* Clears seg->sorted when a row of the next block is older than one before it. */
void fm_segment_check_order(struct fm_segment *seg, const struct fm_lane *ts, uint32_t rows);
/* Segment of a row, by binary search. */
size_t fm_segment_of(const struct fm_store *store, uint64_t row);

/*
 * Tally of one block: what event, thread and source rows count. Used while building, after patches
 * and by the verifier, on different copies of the rows.
 */
struct fm_tally {
    struct fm_event *event;
    size_t events;
    struct fm_thread_row *thread;
    size_t threads;
    struct fm_source *source;
    bool plain;                 /* row by row, without short cuts */
};
struct fm_tally_lane {
    const uint64_t *value, *valid;   /* NULL: no row has a value */
};
enum { FM_TALLY_TS, FM_TALLY_EVENT, FM_TALLY_WEIGHT, FM_TALLY_COUNT, FM_TALLY_STACK,
       FM_TALLY_THREAD, FM_TALLY_LANES };
extern const fm_column fm_tally_column[FM_TALLY_LANES];
void fm_tally_block(const struct fm_tally *t, const struct fm_tally_lane *lane, uint32_t rows);
/* Tallies a whole store; row counts must be zero before. `source` = the first of all sources. */
void fm_tally_store(const struct fm_store *store, struct fm_event *event,
                    struct fm_thread_row *thread, struct fm_source *source);

/* --------------------------------------------------------------- tables.c */

/* The number of values of an id type (STRING, STACK, THREAD), UINT64_MAX for others. */
uint64_t fm_builder_ids(const struct fm_builder *b, enum fm_type type);
/* The current source; an unnamed one is made when there is none. */
struct fm_source *fm_builder_current(struct fm_builder *b);
void fm_builder_account(struct fm_builder *b, uint32_t source, enum fm_account_kind kind,
                        fm_str key, uint64_t offset, uint64_t n);
uint32_t fm_builder_source_add(struct fm_builder *b, fm_str name, fm_str format);
void fm_builder_provenance_add(struct fm_builder *b, struct fm_source *s, struct fm_provenance p);
/* Like fm_builder_module() and fm_builder_thread(), with the source in the key. */
fm_module fm_builder_module_key(struct fm_builder *b, const struct fm_module_row *key);
fm_thread fm_builder_thread_key(struct fm_builder *b, const struct fm_thread_key *key);
void fm_thread_row_name(struct fm_builder *b, struct fm_thread_row *t, int64_t since, fm_str name);
void fm_tables_release(struct fm_tables *t, struct fm_mem *mem);
/* Copies with `frames`, or without. On failure what there is can be released. */
bool fm_tables_copy(struct fm_tables *to, const struct fm_tables *from, struct fm_mem *mem,
                    bool frames) FM_MUST_USE;
bool fm_builder_builtin(struct fm_builder *b) FM_MUST_USE;

/* ----------------------------------------------------------------- others */

/* A store and builder without any row; NULL = no memory. */
struct fm_store *fm_store_make(struct fm_ctx *ctx);

/* links.c: joins keys, sorts. */
bool fm_seal_links(struct fm_builder *b) FM_MUST_USE;
/* patch.c: rewrites the blocks that patches touch, then counts again. */
bool fm_seal_patches(struct fm_builder *b) FM_MUST_USE;
/* clock.c */
enum fm_status fm_seal_clocks(struct fm_builder *b, const char *clock_offset,
                              struct fm_error *err);

/* sort.c: stable merge sort; false = no memory, the array is as before. */
bool fm_sort(struct fm_mem *mem, void *base, size_t n, size_t size,
             int (*compare)(const void *a, const void *b)) FM_MUST_USE;

#endif
