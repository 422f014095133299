/*
 * store.h - the columnar sample store, reader half: types, tables and column scans.
 *
 * One table of rows. Every row belongs to one event (metric: name, unit, kind). Rows lie in
 * segments of 65,536; a segment holds, for each column that has a value in it, 32 blocks of 2,048
 * rows, each narrow (constant, runs, dictionary, delta or frame-of-reference bit packing) with min
 * and max. All values are 64-bit lanes of a typed column; "no value" is a validity bit, never 0.
 *
 *     sources --+       +-- events        (what is measured)
 *               +- rows +-- threads       (who)
 *     strings --+       +-- stack tree -- frames -- modules   (where)
 *               +-- links (row -> row | stack | thread)
 *
 * Built by store/build.h, sealed by fm_builder_seal(), then immutable except for naming: symbol/
 * fills function, file and line of frames (fm_store_frame_edit) before anybody reads.
 *
 * Ids are 32-bit indexes: fm_str (0 is ""), fm_frame, fm_node (stack tree), fm_module, fm_thread.
 */
#ifndef FM_STORE_STORE_H
#define FM_STORE_STORE_H

#include "util/ctx.h"
#include "util/diag.h"
#include "util/map.h"

typedef uint32_t fm_str;
typedef uint32_t fm_frame;
typedef uint32_t fm_node;     /* APPEND id of a stack: what rows hold; see fm_store_tree_node() */
typedef uint32_t fm_module;
typedef uint32_t fm_thread;
typedef uint32_t fm_column;

#define FM_NONE UINT32_MAX
#define FM_SEGMENT_ROWS 65536u
#define FM_BLOCK_ROWS 2048u
#define FM_SEGMENT_BLOCKS (FM_SEGMENT_ROWS / FM_BLOCK_ROWS)

/* ---------------------------------------------------------------- columns */

enum fm_type {
    FM_TYPE_BOOL, FM_TYPE_I64, FM_TYPE_U64, FM_TYPE_F64, FM_TYPE_STRING, FM_TYPE_TIME,
    FM_TYPE_DUR, FM_TYPE_BYTES, FM_TYPE_ADDRESS, FM_TYPE_STACK, FM_TYPE_THREAD
};
const char *fm_type_text(enum fm_type type);
/* "bool" "i64" "u64" "f64" "string" "time" "dur" "bytes" "address" "stack" "thread" -> type */
bool fm_type_find(const char *s, enum fm_type *type);

/* Built-in columns have fixed numbers; labels follow from FM_COL_LABELS on. */
enum {
    FM_COL_TS,        /* time: ns on the source's clock */
    FM_COL_DUR,       /* dur: ns */
    FM_COL_EVENT,     /* u64: index of the event table; always present */
    FM_COL_WEIGHT,    /* u64: in the event's unit */
    FM_COL_COUNT,     /* u64: samples the row stands for; absent = 1 */
    FM_COL_VALUE,     /* counters: i64 or f64 bits, by fm_event.value_is_f64 */
    FM_COL_STACK,     /* stack: append id */
    FM_COL_THREAD,    /* thread: row of the thread table */
    FM_COL_CPU,       /* i64 */
    FM_COL_NAME,      /* string */
    FM_COL_CATEGORY,  /* string; a list is one string joined by ',' */
    FM_COL_COMM,      /* string: the thread's name at that time, as recorded */
    FM_COL_LABELS
};

struct fm_column_info {
    fm_str name;            /* "ts", "class", … without "label." */
    enum fm_type type;
    bool asked;             /* the mapping knows it, but nothing named it at import: no values */
    uint64_t rows;          /* rows with a value */
    uint64_t min, max;      /* over valid values, ordered by type (two's complement, f64) */
};

/* ----------------------------------------------------------------- tables */

struct fm_event {
    fm_str name, unit;
    fm_str metric;          /* what it measures, "alloc": several events may; else its name */
    enum fm_kind kind;
    uint64_t period;        /* sampling period or frequency setting; 0 = unknown */
    bool value_is_f64;      /* counters */
    uint32_t source;        /* first source that has it */
    fm_str prepend, append; /* the mapping's view: "comm" … comma-joined, "" = none */
    int32_t default_rank;   /* place in the mapping's default_event list, -1 = not in it */
    fm_str base_of;         /* the event that it is compared with as its base, 0 = none */
    fm_str default_as;      /* the metric or alias that stands in that list, 0 = a name */
    /* filled while rows are added: */
    uint64_t rows, samples, stacks;
    fm_u128 weight;
};

/* Another name for events: the first of the list that is present. */
struct fm_alias {
    fm_str name, list;      /* names, metrics or aliases, comma-joined */
};

/* Rows of one event that have no later partner: allocations that are never freed. They are not
 * stored; a selection works them out (store/derive.c). */
struct fm_derived_event {
    fm_str name;            /* "leak" */
    fm_str event, unless;   /* name or metric of both sides, as in --event */
    fm_str key;             /* label that is equal in both */
};

enum fm_clock {
    FM_CLOCK_UNKNOWN, FM_CLOCK_MONOTONIC, FM_CLOCK_MONOTONIC_RAW, FM_CLOCK_REALTIME, FM_CLOCK_BOOT,
    FM_CLOCK_JFR, FM_CLOCK_GPU, FM_CLOCK_NONE,
    FM_CLOCK_PERF      /* the kernel's scheduler clock: what perf records without -k */
};
const char *fm_clock_text(enum fm_clock clock);

struct fm_provenance {
    fm_str key, value;
};

struct fm_account_row {
    enum fm_account_kind kind;  /* RECORDS or NOT_MAPPED, by class; DROPPED, by reason */
    fm_str key;
    uint64_t count;
    uint64_t first_offset;      /* FM_NO_OFFSET = none */
};

struct fm_source {
    fm_str name, format;
    uint64_t bytes, hash;
    enum fm_clock clock;
    bool has_wall;
    int64_t wall, wall_at;      /* ns since 1970, of clock value wall_at */
    int64_t shift;              /* added to ts to reach the store's timeline */
    bool has_time;
    int64_t first, last;        /* over timed rows, own clock */
    uint64_t samples_in, samples_kept;
    struct fm_provenance *provenance;
    size_t provenances, provenance_cap;
    struct fm_account_row *account;
    size_t accounts, account_cap;
    struct fm_diags diags;
};

enum fm_module_kind {
    FM_MODULE_UNKNOWN,   /* no mapping: path "[unknown]" */
    FM_MODULE_USER,      /* an ELF file: addresses are FILE OFFSETS (ip - start + pgoff) */
    FM_MODULE_KERNEL,    /* the kernel image: absolute addresses */
    FM_MODULE_KMODULE,   /* a kernel module: file offsets; `start` holds its load address */
    FM_MODULE_GUEST_KERNEL,
    FM_MODULE_VDSO,      /* addresses are offsets in the image */
    FM_MODULE_JIT,       /* anonymous or perf-PID.map code: absolute addresses of one pid */
    FM_MODULE_BPF,       /* KSYMBOL code: absolute, named by the importer */
    FM_MODULE_NAMED      /* no addresses at all: Java, Python, scripts */
};

const char *fm_module_kind_text(enum fm_module_kind kind);

struct fm_module_row {
    fm_str path;             /* as recorded: "/usr/bin/x", "[kernel.kallsyms]", "//anon" */
    fm_str build_id;         /* lower-case hex, "" unknown */
    enum fm_module_kind kind;
    int64_t pid;             /* JIT only: whose code; -1 otherwise */
    uint64_t mnt_ns;         /* mount namespace inode, 0 = the recorder's */
    uint32_t generation;     /* of a path that was replaced while recording */
    uint32_t source;
    uint64_t start, end;     /* mapped range (kernel, modules); 0 = unknown */
    uint64_t reference;      /* kernel: recorded address of its reference symbol (pgoff), 0 none */
    bool verified;           /* symbols came from a file with the same build-id */
    fm_str looked;           /* where symbols were sought, one place a line */
};

enum fm_frame_kind {
    FM_FRAME_UNKNOWN, FM_FRAME_KERNEL, FM_FRAME_USER, FM_FRAME_JIT, FM_FRAME_INTERPRETED,
    FM_FRAME_INLINED, FM_FRAME_PYTHON, FM_FRAME_JS, FM_FRAME_GUEST, FM_FRAME_GUEST_KERNEL,
    FM_FRAME_HYPERVISOR, FM_FRAME_GPU_KERNEL, FM_FRAME_GPU_SOURCE, FM_FRAME_GPU_INSTRUCTION,
    FM_FRAME_SYNTHETIC, FM_FRAME_C1
};
const char *fm_frame_kind_text(enum fm_frame_kind kind);

/* A frame is unique by (module, address, kind, caller) before naming; frames that come with names
 * are unique by all fields. */
struct fm_frame_row {
    fm_module module;        /* FM_NONE: none */
    uint64_t address;        /* see enum fm_module_kind; UINT64_MAX: none */
    uint8_t kind;            /* enum fm_frame_kind */
    bool caller;             /* address is a return address: look up at address - 1 */
    bool inlined;
    fm_str function;         /* 0 = not named */
    fm_str raw;              /* the undemangled name; 0 = same as function */
    fm_str file;
    uint32_t line, column;   /* 0 = unknown */
    uint32_t bci;            /* Java: index of the bytecode + 1; 0 = unknown */
    fm_str signature;        /* Java: the method's descriptor, "(I[J)V"; 0 = unknown */
};

/* One name of a thread, from a time on. */
struct fm_thread_name {
    int64_t since;           /* INT64_MIN: from the beginning */
    fm_str name;
};

struct fm_thread_row {
    uint32_t source;
    int64_t pid, tid;        /* -1 unknown */
    fm_str text_id;          /* for formats whose ids are text; else 0 */
    int64_t java_tid;        /* -1 none */
    uint32_t incarnation;    /* 0, 1 … for a reused tid */
    struct fm_thread_name *name;
    size_t names, name_cap;
    fm_str process, command, container;
    fm_str process_label, thread_label; /* name and id, for pictures; 0 none */
    int64_t process_order, order;       /* as the recording wants tracks; equal ones go by id */
    fm_thread leader;        /* thread row of the process's main thread, or FM_NONE */
    uint64_t samples;        /* sum of count over its rows */
};

enum fm_link_kind { FM_LINK_LAUNCH, FM_LINK_WAKER, FM_LINK_FLOW, FM_LINK_PARENT };
const char *fm_link_kind_text(enum fm_link_kind kind);
bool fm_link_kind_find(const char *s, enum fm_link_kind *kind);
enum fm_link_target { FM_LINK_ROW, FM_LINK_STACK, FM_LINK_THREAD };
struct fm_link {
    uint8_t kind, target;
    uint64_t from;           /* row */
    uint64_t to;             /* row, stack append id or thread row, by target */
};

/* ---------------------------------------------------------------- reading */

struct fm_ctx *fm_store_ctx(const struct fm_store *store);

/* Strings: NUL-terminated, may hold any other byte. */
const char *fm_store_str(const struct fm_store *store, fm_str id, size_t *n); /* n may be NULL */
size_t fm_store_strings(const struct fm_store *store);
/* The id of a text, FM_NONE when it is not in the store. */
fm_str fm_store_str_find(const struct fm_store *store, const char *s, size_t n);
/* Adds a string to a sealed store (naming, pseudo frames). FM_NONE: no memory. Not thread-safe. */
fm_str fm_store_str_add(struct fm_store *store, const char *s, size_t n);

size_t fm_store_columns(const struct fm_store *store);
const struct fm_column_info *fm_store_column_info(const struct fm_store *store, fm_column col);
/* Built-in or label column of that name ("label.X" and "arg.X" force a label); FM_NONE. */
fm_column fm_store_column_find(const struct fm_store *store, const char *name);

const struct fm_event *fm_store_event_row(const struct fm_store *store, size_t i);
/* First event of that name (any kind), FM_NONE when absent. */
uint32_t fm_store_event_find(const struct fm_store *store, const char *name);
/* What `--event auto` takes: the present event of lowest default_rank, else the one with most
 * weight-bearing stacks, instants last (ties: table order). FM_NONE: the store is empty. */
uint32_t fm_store_event_auto(const struct fm_store *store);
/* Event i belongs to what `--event auto` takes: the one above (`first`) or another of its rank,
 * metric and unit. */
bool fm_store_event_default(const struct fm_store *store, uint32_t first, size_t i);
/* Events were left out at import because nobody asked for them. */
bool fm_store_left_out(const struct fm_store *store);
const struct fm_alias *fm_store_aliases(const struct fm_store *store, size_t *n);
const struct fm_derived_event *fm_store_derived_events(const struct fm_store *store, size_t *n);

const struct fm_source *fm_store_source_row(const struct fm_store *store, size_t i);
const struct fm_thread_row *fm_store_thread_row(const struct fm_store *store, fm_thread t);
const struct fm_module_row *fm_store_module_row(const struct fm_store *store, fm_module m);
const struct fm_frame_row *fm_store_frame_row(const struct fm_store *store, fm_frame f);
size_t fm_store_frames(const struct fm_store *store);
const struct fm_link *fm_store_links(const struct fm_store *store, size_t *n); /* by (kind, from) */
/* First link of that kind from a row, or NULL; further ones follow it in the array. */
const struct fm_link *fm_store_link_find(const struct fm_store *store, enum fm_link_kind kind,
                                         uint64_t from_row);
/* Name of thread t at time ts (or the last one with timed == false); "" when none. */
fm_str fm_store_thread_name(const struct fm_store *store, fm_thread t, bool timed, int64_t ts);
/* Smallest ts + shift of any timed row: the `start` origin; false when nothing is timed. */
bool fm_store_start(const struct fm_store *store, int64_t *start, int64_t *end);

/*
 * The stack tree. Tree nodes are numbered in DFS pre-order: the subtree of n is
 * [n, fm_store_tree_end(n)), parent < child. Rows hold append ids; translate with
 * fm_store_tree_node(). Node 0 is the root "no frames", whose children are the outermost frames.
 */
struct fm_tree_node {
    uint32_t parent;         /* node 0: FM_NONE */
    uint32_t end;            /* one past the subtree */
    fm_frame frame;          /* node 0: FM_NONE */
    uint32_t depth;          /* node 0: 0 */
};
size_t fm_store_tree_nodes(const struct fm_store *store);
const struct fm_tree_node *fm_store_tree(const struct fm_store *store);
uint32_t fm_store_tree_node(const struct fm_store *store, fm_node append_id);
size_t fm_store_append_nodes(const struct fm_store *store);
const uint32_t *fm_store_append_map(const struct fm_store *store); /* append id -> tree node */

/*
 * Rows. A batch is rows [first, first + n) of one block (n <= FM_BLOCK_ROWS).
 */
size_t fm_store_segments(const struct fm_store *store);
uint32_t fm_store_segment_rows(const struct fm_store *store, size_t segment);
uint64_t fm_store_segment_first(const struct fm_store *store, size_t segment); /* its first row */
/* True when no row of the segment has a value in the column: skip it. Else *min, *max over its
 * values, in the order of the type (f64: NaNs left out unless there is nothing else). COUNT is
 * never empty: its range includes the 1 of rows without a value. VALUE is ranged as i64, which
 * says nothing about counters in f64. */
bool fm_store_segment_empty(const struct fm_store *store, size_t segment, fm_column col,
                            uint64_t *min, uint64_t *max);
/* The same for one block. */
bool fm_store_block_empty(const struct fm_store *store, size_t segment, uint32_t block,
                          fm_column col, uint64_t *min, uint64_t *max);
/* Every row of the block has a value (of COUNT they have). */
bool fm_store_block_full(const struct fm_store *store, size_t segment, uint32_t block,
                         fm_column col);
/* The values of a block where they lie, when every row has one and they are stored as they are;
 * else NULL. */
const uint64_t *fm_store_block_raw(const struct fm_store *store, size_t segment, uint32_t block,
                                   fm_column col);
/* Source of the rows of a segment: a segment never mixes sources. */
uint32_t fm_store_segment_source(const struct fm_store *store, size_t segment);
bool fm_store_segment_sorted(const struct fm_store *store, size_t segment); /* by ts */

/* Decodes one block: out[i] = value, valid bit i (LSB first, FM_BLOCK_ROWS / 64 words) set when the
 * row has one; invalid lanes hold 0. Returns rows of the block. *all is set true when every row is
 * valid (valid is filled all the same). COUNT gives 1 where absent. */
uint32_t fm_store_block(const struct fm_store *store, size_t segment, uint32_t block,
                        fm_column col, uint64_t out[FM_BLOCK_ROWS],
                        uint64_t valid[FM_BLOCK_ROWS / 64], bool *all);
/* One cell, for links and debugging: slow. */
bool fm_store_cell(const struct fm_store *store, fm_column col, uint64_t row, uint64_t *value);

/* ------------------------------------------------------ naming (floor 3 only) */

/* A frame to fill in: function, raw, file, line, column, kind may change. */
struct fm_frame_row *fm_store_frame_edit(struct fm_store *store, fm_frame f);
struct fm_module_row *fm_store_module_edit(struct fm_store *store, fm_module m);
struct fm_source *fm_store_source_edit(struct fm_store *store, size_t i);

/* A further frame, for calls that were inlined. FM_NONE: no memory. Pointers to frames end here. */
fm_frame fm_store_frame_add(struct fm_store *store, const struct fm_frame_row *row);
/* Every node of a frame becomes a chain: the frame, then [first, first + n), the last one being
 * what the rows of the node and its children meet. Rows keep their append ids. At most one
 * expansion a frame, and only one call a store. False: no memory. */
struct fm_expansion {
    fm_frame frame, first;
    uint32_t n;
};
bool fm_store_expand(struct fm_store *store, const struct fm_expansion *expansion,
                     size_t n) FM_MUST_USE;

/* The text of a frame as pictures and folded print it: function, or "[unknown] (dso)" and
 * "[unknown]" without module; see store/name.h for styles. */

#endif
