/*
 * build.h - the store, builder half: what importers call.
 *
 * One struct fm_builder collects rows of one import; fm_builder_seal() turns it into a store.
 * Errors stick: after no memory every call does nothing and fm_builder_status() tells. So loops
 * check once.
 *
 * Parallel import: fm_builder_split() gives sub-builders with their own strings, frames, tree,
 * segments and account; fill each on its own thread; fm_builder_join() absorbs them in index
 * order. The result is byte for byte what one thread would have built by doing 0, 1, 2 … in turn.
 */
#ifndef FM_STORE_BUILD_H
#define FM_STORE_BUILD_H

#include "store/store.h"

struct fm_builder;

/* What the row functions below reach without a call. The lanes belong to the builder. */
struct fm_lane {
    uint64_t value[FM_BLOCK_ROWS];
    uint64_t valid[FM_BLOCK_ROWS / 64];
    struct fm_lane *next;
};
struct fm_stage {
    struct fm_lane **lane;   /* by column; NULL: not set yet in this block */
    uint32_t lanes;          /* columns there are */
    uint32_t row;            /* rows in the block so far */
    uint64_t first_row;      /* number of its first row */
    bool open;               /* between fm_row_begin() and fm_row_end() */
};

enum fm_status fm_builder_new(struct fm_ctx *ctx, struct fm_builder **builder,
                              struct fm_error *err);
void fm_builder_free(struct fm_builder *builder);
enum fm_status fm_builder_status(const struct fm_builder *builder);
struct fm_ctx *fm_builder_ctx(const struct fm_builder *builder);

/* Sub-builder i: must be joined or freed by the caller, in any order of filling. What was made in
 * the parent before the split is there with the same ids: strings, events, columns, sources,
 * threads, modules, frames; stacks (nodes) are not. The parent may not change while sub-builders
 * are filled. NULL: no memory, and the parent has failed. */
struct fm_builder *fm_builder_split(struct fm_builder *builder, size_t i);
/* Absorbs and frees sub[0], sub[1] …; NULL entries are failures of the split. */
void fm_builder_join(struct fm_builder *builder, struct fm_builder *const *sub, size_t n);

/* ------------------------------------------------------------------ tables
 *
 * Pointers to rows are valid until the next row of that table is made. Once the builder has failed,
 * ids are FM_NONE (strings and nodes: 0), and the row of such an id is a place to write to that
 * nobody reads.
 */

/* Starts the next source; rows, threads and account that follow belong to it. */
uint32_t fm_builder_source(struct fm_builder *builder, const char *name, const char *format);
struct fm_source *fm_builder_source_row(struct fm_builder *builder); /* of the current source */
void fm_builder_provenance(struct fm_builder *builder, const char *key, const char *value,
                           size_t n);

fm_str fm_builder_str(struct fm_builder *builder, const char *s, size_t n);
const char *fm_builder_str_text(const struct fm_builder *builder, fm_str id, size_t *n);

/* Events are equal when name, metric, unit and kind are. The metric of the first form is the
 * name. */
uint32_t fm_builder_event(struct fm_builder *builder, const char *name, const char *unit,
                          enum fm_kind kind);
uint32_t fm_builder_event_metric(struct fm_builder *builder, const char *name, const char *metric,
                                 const char *unit, enum fm_kind kind);
struct fm_event *fm_builder_event_row(struct fm_builder *builder, uint32_t event);

/* Says that events were left out because nobody asked for them. */
void fm_builder_leave_out(struct fm_builder *builder);

/* Names for --event; equal ones are one. */
void fm_builder_alias(struct fm_builder *builder, const char *name, const char *list);
void fm_builder_derived_event(struct fm_builder *builder, const char *name, const char *event,
                              const char *unless, const char *key);

/* A label column; the same name twice gives the same column. A different type for a name that
 * exists gives FM_NONE. */
fm_column fm_builder_label(struct fm_builder *builder, const char *name, enum fm_type type,
                           bool asked);

fm_module fm_builder_module(struct fm_builder *builder, const struct fm_module_row *module);
struct fm_module_row *fm_builder_module_row(struct fm_builder *builder, fm_module m);

/* Interned by (module, address, kind, caller), or by all fields when function != 0. */
fm_frame fm_builder_frame(struct fm_builder *builder, const struct fm_frame_row *frame);

/* Child of `parent` (FM_NODE_ROOT for the outermost frame) with that frame. */
#define FM_NODE_ROOT 0u
fm_node fm_builder_node(struct fm_builder *builder, fm_node parent, fm_frame frame);
/* A stack from frames root first. */
fm_node fm_builder_stack(struct fm_builder *builder, const fm_frame *frame, size_t n);
fm_node fm_builder_node_parent(const struct fm_builder *builder, fm_node node);
fm_frame fm_builder_node_frame(const struct fm_builder *builder, fm_node node);

/*
 * Whole-chain cache: stands in front of resolving and interning. The key is (context, words[n]):
 * raw ips and a context that changes when they would mean something else (mapping generation of
 * the process). Compares chains, not hashes. *stack is the place for the stack: it holds FM_NONE
 * when fresh, and the caller fills it. NULL: no memory (or over 1 Gi words), resolve without.
 */
fm_node *fm_builder_chain(struct fm_builder *builder, uint64_t context, const void *words,
                          size_t n);
/*
 * The same in steps, for importers that know some events ahead which chain will come: memory far
 * away is most of what the look-up costs. The hash; its place in the table is fetched (near); some
 * events later the chain itself (nearer); the look-up. Fetching is a hint and never wrong.
 */
uint32_t fm_builder_chain_hash(uint64_t context, const void *words, size_t n);
void fm_builder_chain_near(const struct fm_builder *builder, uint32_t hash);
void fm_builder_chain_nearer(const struct fm_builder *builder, uint32_t hash);
fm_node *fm_builder_chain_hashed(struct fm_builder *builder, uint32_t hash, uint64_t context,
                                 const void *words, size_t n);

/* Threads: unique by (source, pid, tid, incarnation) or text id. */
fm_thread fm_builder_thread(struct fm_builder *builder, int64_t pid, int64_t tid,
                            uint32_t incarnation);
fm_thread fm_builder_thread_text(struct fm_builder *builder, fm_str id);
struct fm_thread_row *fm_builder_thread_row(struct fm_builder *builder, fm_thread t);
/* Names in order of `since`; an older one is inserted, an equal one replaces. */
void fm_builder_thread_name(struct fm_builder *builder, fm_thread t, int64_t since, fm_str name);

/* -------------------------------------------------------------------- rows */

/*
 * A row: begin, set columns in any order, end. Returns the row's number.
 *
 *     fm_row_begin(b, event);
 *     fm_row_set(b, FM_COL_TS, ts);
 *     row = fm_row_end(b);
 *
 * Values are 64-bit lanes: i64 as two's complement, f64 as bits, strings and stacks as ids.
 * Columns that are not set have no value. WEIGHT without a value counts 0 in sums; COUNT without
 * a value counts 1.
 */
static inline void fm_row_set(struct fm_builder *builder, fm_column col, uint64_t value);
void fm_row_set_slow(struct fm_builder *builder, fm_column col, uint64_t value);
void fm_stage_full(struct fm_builder *builder);
/* Gives up the row that was begun: as if it never was. */
void fm_row_drop(struct fm_builder *builder);

static inline void fm_row_begin(struct fm_builder *builder, uint32_t event)
{
    struct fm_stage *s = (struct fm_stage *)builder;
    fm_assert(!s->open);
    s->open = true;
    fm_row_set(builder, FM_COL_EVENT, event);
}

/* A column FM_NONE is ignored, and so is an id (string, stack, thread) FM_NONE: no value. */
static inline void fm_row_set(struct fm_builder *builder, fm_column col, uint64_t value)
{
    struct fm_stage *s = (struct fm_stage *)builder;
    struct fm_lane *lane;
    uint32_t row = s->row;

    if (FM_UNLIKELY(col >= s->lanes || (lane = s->lane[col]) == NULL)) {
        fm_row_set_slow(builder, col, value);
        return;
    }
    lane->value[row] = value;
    lane->valid[row >> 6] |= 1ull << (row & 63);
}

/* A field of an event and the column it goes to. */
struct fm_move {
    fm_column column;
    uint32_t field;
};

/* fm_row_set() n times in fewer steps: move[i].column takes value[move[i].field]. */
static inline void fm_row_copy(struct fm_builder *builder, const struct fm_move *move, size_t n,
                               const uint64_t *value)
{
    const struct fm_stage *s = (const struct fm_stage *)builder;
    const struct fm_move *end = move + n;
    uint32_t row = s->row, lanes = s->lanes;
    uint64_t bit = 1ull << (row & 63);
    struct fm_lane **lane = s->lane;

    fm_assert(s->open);
    for (; move < end; move++) {
        struct fm_lane *to = move->column < lanes ? lane[move->column] : NULL;
        if (FM_UNLIKELY(to == NULL)) {
            fm_row_set_slow(builder, move->column, value[move->field]);
            lane = s->lane;
            lanes = s->lanes;
            continue;
        }
        to->value[row] = value[move->field];
        to->valid[row >> 6] |= bit;
    }
}

static inline uint64_t fm_row_end(struct fm_builder *builder)
{
    struct fm_stage *s = (struct fm_stage *)builder;
    uint64_t number = s->first_row + s->row;

    fm_assert(s->open);
    s->open = false;
    if (FM_UNLIKELY(++s->row == FM_BLOCK_ROWS))
        fm_stage_full(builder);
    return number;
}

/*
 * Many rows at once, column by column: at most fm_rows_room() of them, EVENT first.
 *
 *     value = fm_rows_column(b, FM_COL_TS, n);     n places, each of which must be written
 *     first = fm_rows_end(b, n);                   number of the first
 *
 * NULL: no memory, the builder has failed.
 */
size_t fm_rows_room(const struct fm_builder *builder);
uint64_t *fm_rows_column(struct fm_builder *builder, fm_column col, size_t n);
uint64_t fm_rows_end(struct fm_builder *builder, size_t n);

uint64_t fm_builder_rows(const struct fm_builder *builder);
/* Changes a column of a row that was ended already (span durations, self times). Rows of sealed
 * segments are kept as patches and applied at the seal. */
void fm_row_patch(struct fm_builder *builder, uint64_t row, fm_column col, uint64_t value);

/* ------------------------------------------------------------------- links */

void fm_builder_link(struct fm_builder *builder, enum fm_link_kind kind, uint64_t from,
                     enum fm_link_target target, uint64_t to);
/* Rows of one source with equal keys are joined at the seal: every `from` row to the `to` row with
 * its key (the first of equal ones). Unmatched sides are counted as FM_DIAG_LINK_UNMATCHED. */
enum fm_link_side { FM_SIDE_FROM, FM_SIDE_TO };
void fm_builder_link_key(struct fm_builder *builder, enum fm_link_kind kind,
                         enum fm_link_side side, uint64_t key, uint64_t row);

/* ----------------------------------------------------------------- account */

void fm_builder_diag(struct fm_builder *builder, enum fm_diag key, uint64_t offset, uint64_t n);
/* n samples met / dropped for a reason (also counts the finding). Kept samples count themselves:
 * every row of kind sample adds its COUNT. in = kept + dropped is checked at the seal. */
void fm_account_in(struct fm_builder *builder, uint64_t n);
void fm_account_drop(struct fm_builder *builder, enum fm_diag reason, uint64_t offset, uint64_t n);
/* A record of a class was read; NOT_MAPPED: no rule takes it. */
void fm_account_record(struct fm_builder *builder, enum fm_account_kind kind, fm_str class_name,
                       uint64_t offset, uint64_t n);

/* -------------------------------------------------------------------- seal */

/* Seals: renumbers the tree, joins links, applies patches, aligns clocks. Frees the builder in any
 * case. */
enum fm_status fm_builder_seal(struct fm_builder *builder, const char *clock_offset,
                               struct fm_store **store, struct fm_error *err);

#endif
