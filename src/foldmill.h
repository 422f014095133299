/*
 * foldmill.h - the public interface of libfoldmill, and the only installed header.
 *
 * The data path:
 *
 *     fm_import()  files, pipes or memory  ->  struct fm_store (one columnar sample store, sealed)
 *     fm_query_*() a YAML query            ->  struct fm_result (tables)
 *     fm_export()  a store                 ->  bytes (folded, speedscope, SVG ...)
 *
 * Rules that hold for every function here:
 *
 *  - Functions that can fail return enum fm_status and take `struct fm_error *err` as their last
 *    parameter. `err` may be NULL. The first failure is kept: an error that is already set is not
 *    overwritten, so call fm_error_clear() before you use one again.
 *  - Objects named `_new`/`_load`/`_run`/`fm_import` are owned by the caller and freed by `_free`
 *    (which accepts NULL). Pointers handed out by accessors are borrowed and live as long as the
 *    object that gave them, and are never changed by later calls on a sealed store.
 *  - Times are int64_t nanoseconds, byte offsets uint64_t, memory size_t.
 *  - The library never prints, exits or aborts, and holds no writable global state. A struct
 *    fm_ctx may be used by one thread at a time. The accessors of a store may be called by many;
 *    fm_export() and fm_query_run() add labels to its strings and need it to themselves.
 *  - Everything made with a context is freed before fm_ctx_free().
 *  - Option structs begin with `size`: set it with FM_INIT(), leave the rest zero for defaults.
 */
#ifndef FOLDMILL_H
#define FOLDMILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FM_API __attribute__((visibility("default")))
#else
#define FM_API
#endif

/* Zeroes an option struct and stamps its size: struct fm_import_options o = FM_INIT(o); */
#define FM_INIT(var) { .size = sizeof(var) }

/* The version of the library that runs, e.g. "0.1.0". */
FM_API const char *fm_version(void);
/* What it was built with and without, as one line: "gzip by ISA-L, without lz4". */
FM_API const char *fm_features(void);

/* ---------------------------------------------------------------- errors */

enum fm_status {
    FM_OK = 0,
    FM_NOMEM,       /* an allocation failed, or the context's memory cap was met */
    FM_IO,          /* the operating system refused: sys_errno says why */
    FM_FORMAT,      /* bytes that no writer of the format would write */
    FM_TRUNCATED,   /* the input ends inside something */
    FM_UNSUPPORTED, /* well formed, but of a kind that foldmill does not decode */
    FM_UNKNOWN,     /* no importer recognises the input, or a name is not known */
    FM_CONFIG,      /* a YAML file, an option or a parameter is wrong: exit status 2 */
    FM_LIMIT,       /* a cap of the context was met (inflated bytes, depth ...) */
    FM_CANCELLED,   /* the progress callback asked to stop */
    FM_GATE         /* a query's check failed: exit status 4 */
};

#define FM_NO_OFFSET UINT64_MAX

/* One failure, on the caller's stack. Setting one never allocates. */
struct fm_error {
    enum fm_status status;
    int sys_errno;       /* 0, or the errno of an FM_IO failure */
    uint64_t offset;     /* byte offset in source, or FM_NO_OFFSET */
    uint32_t line;       /* 1-based line of a text source, or 0 */
    uint32_t column;     /* 1-based column, or 0 */
    char source[128];    /* file name (its tail when long), or "" */
    char message[512];   /* lower case, no full stop, UTF-8 */
};

FM_API void fm_error_clear(struct fm_error *err);

/* Writes "source:line:column: error: message" or "source: offset N: message" to buf (always
 * terminated when n > 0); returns the length that would be needed, like snprintf(). */
FM_API size_t fm_error_text(const struct fm_error *err, char *buf, size_t n);

/* "truncated input", "out of memory" ...: a fixed text for a status, never NULL. */
FM_API const char *fm_status_text(enum fm_status status);

/* --------------------------------------------------------------- context */

struct fm_ctx;

enum fm_cap {
    FM_CAP_MEMORY,      /* bytes that stores and buffers may hold; default: none (0) */
    FM_CAP_INFLATED,    /* bytes one compressed input may unpack to; default 64 GiB */
    FM_CAP_STACK_DEPTH, /* frames kept of one stack; default 65536 */
    FM_CAP_THREADS      /* worker threads; default: the number of online CPUs */
};

FM_API struct fm_ctx *fm_ctx_new(void);      /* NULL when out of memory */
FM_API void fm_ctx_free(struct fm_ctx *ctx);
FM_API void fm_ctx_set_cap(struct fm_ctx *ctx, enum fm_cap cap, uint64_t value);

/* Folders searched for formats/NAME.yaml and queries/NAME.yaml, in this order: the folders added
 * here, the entries of $FOLDMILL_PATH, $XDG_CONFIG_HOME/foldmill (or ~/.config/foldmill), and the
 * installed data. Each holds `formats/` and `queries/`. FM_NOMEM is the only failure. */
FM_API enum fm_status fm_ctx_add_data_dir(struct fm_ctx *ctx, const char *dir);

/* Called now and then with bytes done and bytes in all (0 = unknown); return false to cancel. */
typedef bool fm_progress_fn(void *user, uint64_t done, uint64_t total);
FM_API void fm_ctx_set_progress(struct fm_ctx *ctx, fm_progress_fn *fn, void *user);

/* Findings that do not stop an import. */
enum fm_severity {
    FM_NOTE,   /* worth knowing; exit status 0 */
    FM_LOSS,   /* the producer lost it, or a part we do not decode; exit status 0 */
    FM_DAMAGE  /* bytes could not be read as the format demands; exit status 3 */
};

/* ------------------------------------------------------ writing somewhere */

/* Where output bytes go. write() returns 0, or an errno value. */
struct fm_sink {
    int (*write)(void *user, const void *data, size_t n);
    void *user;
};

/* ---------------------------------------------------------------- import */

struct fm_store;

struct fm_import_options {
    size_t size;
    const char *format;        /* importer name, "NAME:LAYOUT" to force the layout of its records;
                                  NULL = probe the bytes */
    const char *symfs;         /* root folder for the recorded paths; NULL = "" */
    const char *buildid_dir;   /* build-id cache; NULL = $HOME/.debug */
    const char *kallsyms;      /* a kallsyms file to use for kernel frames; NULL = search */
    const char *vmlinux;       /* a vmlinux to use for kernel frames; NULL = search */
    const char *map_dir;       /* perf-PID.map, jit-PID.dump: sought there first; NULL = none */
    const char *keep;          /* labels beyond the default, "a,b" or "all"; NULL = none */
    const char *events;        /* what fm_select_options.event will name: an importer may leave the
                                * rows of other events out ("auto": what `auto` cannot take);
                                * NULL = all are wanted */
    const char *clock_offset;  /* "SRC=+1ms,SRC2=-3s": added to a source's clock; NULL = none */
    bool callers_exact;        /* look callers up at the raw return address (perf <= 6.12) */
    bool no_symbols;           /* leave frames as module and address */
    bool debuginfod;           /* ask the servers of $DEBUGINFOD_URLS for files that are missing */
    bool inlines;              /* calls that were inlined become frames (DWARF) */
    bool lines;                /* source file and line of frames (DWARF) */
    const char *demangle;      /* "short" (NULL), "full" or "raw" */
    const char *unfinished;    /* spans that never end last to the end of the span around them or
                                  the trace ("enclosing", NULL), of their thread ("thread"), or
                                  are left out ("drop") */
    const char *gpu_map;       /* a file of ADDRESS SIZE NAME lines, in hex: kernels of a GPU, for
                                  formats that tell addresses alone; NULL = none */
};

/* An input that is not a path. */
struct fm_memory {
    const void *data;
    size_t size;
    const char *name;          /* used in messages */
};

/*
 * Reads `n` inputs ("-" is standard input) and merges them into one sealed store. "ARCHIVE:MEMBER",
 * where no file has that name, is a member of a tar archive, packed or not.
 *
 * FM_OK: all was read (LOSS and NOTE findings may stand in the account).
 * FM_TRUNCATED, FM_FORMAT, FM_LIMIT with *store != NULL: damage was met; what could be read is in
 * the store, the account says what is missing, `err` describes the first damage.
 * Any status with *store == NULL: nothing usable.
 */
FM_API enum fm_status fm_import(struct fm_ctx *ctx, const char *const *path, size_t n,
                                const struct fm_import_options *options, struct fm_store **store,
                                struct fm_error *err);

/* The same for one input in memory; the bytes must stay until fm_import_memory() returns. */
FM_API enum fm_status fm_import_memory(struct fm_ctx *ctx, const struct fm_memory *memory,
                                       const struct fm_import_options *options,
                                       struct fm_store **store, struct fm_error *err);

/* Calls fn with the path of each file in a tar archive, as packed as it may be, in the order of the
 * archive; stops when it returns false. FM_FORMAT: it is none. Damage behind the first members is
 * no failure: what comes before it is told. */
FM_API enum fm_status fm_archive_list(struct fm_ctx *ctx, const char *path,
                                      bool (*fn)(void *user, const char *member, uint64_t size),
                                      void *user, struct fm_error *err);

FM_API void fm_store_free(struct fm_store *store);

/* ------------------------------------------------------- what a store holds */

enum fm_kind {
    FM_KIND_SAMPLE, FM_KIND_SPAN, FM_KIND_ASYNC, FM_KIND_COUNTER, FM_KIND_INSTANT, FM_KIND_STATE,
    FM_KIND_PART
};
FM_API const char *fm_kind_text(enum fm_kind kind);

struct fm_source_info {
    const char *name;          /* path as given, or the memory's name */
    const char *format;        /* importer name */
    uint64_t bytes;            /* decoded bytes read */
    const char *clock;         /* "monotonic", "realtime", "unknown" ... */
    bool has_time;             /* first and last are valid */
    int64_t first, last;       /* ns on the source's clock, over all timed rows */
    bool has_wall;             /* wall is valid */
    int64_t wall;              /* ns since 1970 of clock value `wall_at` */
    int64_t wall_at;
    uint64_t samples_in;       /* samples met in the input, counting run lengths */
    uint64_t samples_kept;     /* samples in the store; in = kept + sum of drops */
};

struct fm_event_info {
    const char *name;
    const char *metric;        /* "alloc": what several events measure; else the name */
    const char *unit;          /* "ns", "bytes", "cycles", "count" ... */
    enum fm_kind kind;
    uint64_t rows;             /* rows of this event */
    uint64_t samples;          /* sum of `count` */
    uint64_t weight_hi, weight_lo; /* sum of weight, 128 bits */
    uint64_t stacks;           /* rows that carry a stack and a weight */
    uint64_t period;           /* sampling period or frequency setting, 0 = unknown */
    bool is_default;           /* it belongs to what --event auto takes */
};

/* A row of the account: what was read, what was dropped and why, what was lost before us. */
enum fm_account_kind {
    FM_ACCOUNT_RECORDS,    /* records of a class read: key = class name */
    FM_ACCOUNT_NOT_MAPPED, /* events of a class that no mapping rule takes: key = class name */
    FM_ACCOUNT_DROPPED,    /* samples dropped: key = reason */
    FM_ACCOUNT_FINDING     /* a diagnostic: key = diagnostic key */
};
struct fm_account_info {
    enum fm_account_kind kind;
    enum fm_severity severity;
    const char *key;
    const char *text;          /* one line for people */
    uint64_t count;
    uint64_t first_offset;     /* FM_NO_OFFSET when it has none */
    uint32_t source;
};

struct fm_module_info {
    const char *path;
    const char *build_id;      /* lower-case hex, "" when unknown */
    const char *kind;          /* "kernel", "user", "jit" ... */
    uint64_t frames;           /* unique addresses in it */
    uint64_t unresolved;       /* of those, without a name */
    uint64_t unresolved_samples; /* samples whose leaf is one of those */
    const char *looked;        /* where symbols were found or sought, one place a line */
};

struct fm_thread_info {
    int64_t pid, tid;          /* -1 = unknown */
    const char *name;          /* last name, "" when unknown */
    const char *process;       /* process name */
    uint64_t samples;
    const char *id;            /* "pid/tid" of formats whose ids may be texts, else "" */
};

FM_API size_t fm_store_sources(const struct fm_store *store);
FM_API void fm_store_source(const struct fm_store *store, size_t i, struct fm_source_info *out);
/* Provenance: "host", "kernel", "command" ... of source i, the k-th; false past the end. */
FM_API bool fm_store_provenance(const struct fm_store *store, size_t i, size_t k,
                                const char **key, const char **value);
FM_API size_t fm_store_events(const struct fm_store *store);
FM_API void fm_store_event(const struct fm_store *store, size_t i, struct fm_event_info *out);
/* Events that are worked out when they are chosen, "leak": rows of one event without a later row of
 * another that has an equal label. Their account: starts = ended + reused + open. */
struct fm_derived_info {
    const char *name, *event, *unless, *key;
    uint64_t starts, ended, reused, open;
    uint64_t ends, ends_alone;     /* rows of the other event; of those, without a start */
    uint64_t weight_hi, weight_lo; /* sum of weight over the open rows */
    const char *unit;
};
FM_API size_t fm_store_deriveds(const struct fm_store *store);
/* Works one out: reads its rows. FM_UNKNOWN: the input has none of its events. */
FM_API enum fm_status fm_store_derived(struct fm_store *store, size_t i,
                                       struct fm_derived_info *out, struct fm_error *err);
FM_API size_t fm_store_threads(const struct fm_store *store);
FM_API void fm_store_thread(const struct fm_store *store, size_t i, struct fm_thread_info *out);
FM_API size_t fm_store_modules(const struct fm_store *store);
FM_API void fm_store_module(const struct fm_store *store, size_t i, struct fm_module_info *out);
FM_API size_t fm_store_accounts(const struct fm_store *store);
FM_API void fm_store_account(const struct fm_store *store, size_t i, struct fm_account_info *out);
/* Name of column i of the rows, the built-in ones first, then labels; NULL past the end. */
FM_API const char *fm_store_column(const struct fm_store *store, size_t i);
FM_API uint64_t fm_store_rows(const struct fm_store *store);
FM_API size_t fm_store_memory(const struct fm_store *store);  /* bytes held */

/* Checks every invariant of the store (ids in range, parent below child, sums of the account).
 * FM_OK, or FM_FORMAT with the broken invariant in err: a bug of ours. */
FM_API enum fm_status fm_store_verify(const struct fm_store *store, struct fm_error *err);

/* --------------------------------------------------------------- choosing */

/* What every command that reads a profile lets its user choose. */
struct fm_select_options {
    size_t size;
    const char *event;           /* name, metric, alias, a list of them, "auto" (NULL), "all" */
    const char *weight;          /* "value" (NULL), "samples" or a column */
    const char *prepend;         /* "comm,thread", "none", or NULL = the mapping's view */
    const char *append;
    const char *const *filter;   /* "time=1s..2s", "comm=gl*", "pid=12", "focus=malloc" ..., */
    size_t filters;              /* in the order given */
};

/* ---------------------------------------------------------------- queries */

struct fm_query;
struct fm_result;

/* Loads queries from a file, or by name from the data path. `name` may be "FILE#QUERY" for one
 * document of several. FM_CONFIG: err holds the first error, fm_query_errors() all of them. */
FM_API enum fm_status fm_query_load(struct fm_ctx *ctx, const char *name, struct fm_query **query,
                                    struct fm_error *err);
FM_API void fm_query_free(struct fm_query *query);
/* All errors of the last load or run, ready to print (several lines, with carets); "" if none. */
FM_API const char *fm_query_errors(const struct fm_query *query);
FM_API enum fm_status fm_query_set(struct fm_query *query, const char *param, const char *value,
                                   struct fm_error *err);
/* Names that the query, with its parameters as set, may read as labels, comma-joined, for
 * fm_import_options.keep. Borrowed; more names than labels. */
FM_API const char *fm_query_needs(struct fm_query *query);
/* Paths of the files that the query was read from: its own, then those of the queries it uses with
 * the parameters as set (one may be there twice); NULL past the end. Borrowed. */
FM_API const char *fm_query_source(const struct fm_query *query, size_t i);
/* Names of the inputs the query declares, NULL past the end; none = all files merge into one. */
FM_API const char *fm_query_input(const struct fm_query *query, size_t i);
/* Whether the query may end as rows, without a step that makes a table: its result has them as a
 * table without columns, for fm_result_export(), and is freed before the store. Not so at first:
 * such a run is FM_CONFIG. */
FM_API void fm_query_keep_rows(struct fm_query *query, bool keep);
/* Runs on one store per declared input (or one). FM_GATE: *result holds the tables all the same. */
FM_API enum fm_status fm_query_run(struct fm_ctx *ctx, struct fm_query *query,
                                   struct fm_store *const *store, size_t stores,
                                   const struct fm_select_options *select,
                                   struct fm_result **result, struct fm_error *err);
/* Writes how the query would run on these stores, as text: its steps, what each costs, what it
 * reads. */
FM_API enum fm_status fm_query_explain(struct fm_ctx *ctx, struct fm_query *query,
                                       struct fm_store *const *store, size_t stores,
                                       const struct fm_select_options *select,
                                       const struct fm_sink *sink, struct fm_error *err);
/* Writes the JSON Schema of query files, for editors. */
FM_API enum fm_status fm_query_schema(struct fm_ctx *ctx, const struct fm_sink *sink,
                                      struct fm_error *err);
FM_API void fm_result_free(struct fm_result *result);
FM_API size_t fm_result_tables(const struct fm_result *result);
FM_API size_t fm_result_rows(const struct fm_result *result, size_t table);
/* What the table sums: "cycles", "cpu: jdk.CPUTimeSample"; and its unit. */
FM_API const char *fm_result_event(const struct fm_result *result, size_t table);
FM_API const char *fm_result_unit(const struct fm_result *result, size_t table);
FM_API size_t fm_result_columns(const struct fm_result *result, size_t table);
FM_API const char *fm_result_column_name(const struct fm_result *result, size_t table, size_t col);
/* What the cells of a column are, and their unit: "ns", "bytes" ..., "" without one. */
enum fm_result_type {
    FM_RESULT_TEXT, FM_RESULT_PATH, FM_RESULT_INTEGER, FM_RESULT_NUMBER, FM_RESULT_SHARE,
    FM_RESULT_BOOL, FM_RESULT_ADDRESS
};
FM_API enum fm_result_type fm_result_column_type(const struct fm_result *result, size_t table,
                                                 size_t col);
FM_API const char *fm_result_column_unit(const struct fm_result *result, size_t table, size_t col);
/* One cell as CSV would print it (raw integers, no scaling), "" for null. Borrowed until the next
 * call on the same result. */
FM_API const char *fm_result_cell(struct fm_result *result, size_t table, size_t row, size_t col);
/* Text tables are to fit into so many columns of a terminal: long texts and paths are shortened in
 * the middle. 0, the default, shortens nothing. */
FM_API void fm_result_set_width(struct fm_result *result, size_t columns);
/* Writes all tables; format "text", "csv", "tsv", "json" or "markdown". */
FM_API enum fm_status fm_result_write(const struct fm_result *result, const char *format,
                                      const struct fm_sink *sink, struct fm_error *err);

/* A table of the result as a profile, to be exported and freed: one sample a row. FM_CONFIG: it has
 * no column of paths among its keys, or no whole sums that could be the weight. */
FM_API enum fm_status fm_result_profile(struct fm_ctx *ctx, const struct fm_result *result,
                                        size_t table, struct fm_store **store,
                                        struct fm_error *err);

/* ----------------------------------------------------------------- export */

struct fm_export_options;
/* Writes a table of the result with an exporter: rows of a store as they are (what the query has
 * made of their weights and stacks), any other table as by fm_result_profile(). */
FM_API enum fm_status fm_result_export(struct fm_ctx *ctx, const struct fm_result *result,
                                       size_t table, const char *name,
                                       const struct fm_export_options *options,
                                       const struct fm_sink *sink, struct fm_error *err);

struct fm_export_options {
    size_t size;
    const char *title;           /* NULL = made from the source */
    const char *names;           /* comma-joined: a style ("foldmill", "flamegraph", "jfrconv") and
                                  * what to show ("annotate", "bci", "dot", "lines", "norm",
                                  * "signatures", "simple"); NULL = "foldmill" */
    bool annotate;               /* _[k] _[j] ... suffixes */
    bool dot;                    /* Java pkg.Cls.method instead of pkg/Cls.method */
    bool simple;                 /* Java Cls.method without the package */
    bool norm;                   /* Java names without the numbers of a run */
    bool lines;                  /* method:LINE */
    const char *const *set;      /* further "key=value" settings: width, colors ... */
    size_t sets;
    const char *normalize;       /* what a base is scaled to: "total", "samples", "time" or "none";
                                  * NULL = as the function says */
};

/* Writes the selected rows with exporter `name` ("folded", "speedscope", "svg" ...). FM_OK with a
 * message in err: the filters left no rows, and the message names the one that did. */
FM_API enum fm_status fm_export(struct fm_ctx *ctx, struct fm_store *store, const char *name,
                                const struct fm_select_options *select,
                                const struct fm_export_options *options,
                                const struct fm_sink *sink, struct fm_error *err);

/* Writes what changed from `base` to `store`, of both of which the same rows are selected: as a
 * differential picture (the base scaled to the whole weight of the new profile by default), or as
 * folded stacks with both weights (the base as it is by default; scaled weights are cut to whole
 * numbers). The two may be one store. FM_CONFIG: an exporter of one profile, or events or units
 * that differ. */
FM_API enum fm_status fm_export_diff(struct fm_ctx *ctx, struct fm_store *base,
                                     struct fm_store *store, const char *name,
                                     const struct fm_select_options *select,
                                     const struct fm_export_options *options,
                                     const struct fm_sink *sink, struct fm_error *err);

/* Labels that an exporter writes and that are imported only when asked for, comma-joined, for
 * fm_import_options.keep; "" when there are none. */
FM_API const char *fm_export_needs(const char *name);

/* Events that an exporter reads beside the selected ones, comma-joined, for
 * fm_import_options.events; "" when there are none. */
FM_API const char *fm_export_events(const char *name);

/* The exporter whose extension ends `path`, or NULL. */
FM_API const char *fm_export_for_path(const char *path);

/* ---------------------------------------------------------------- catalogue */

enum fm_catalogue { FM_LIST_FORMATS, FM_LIST_QUERIES, FM_LIST_EXPORTERS };
/* Calls fn for each entry in name order; stops when it returns false. */
FM_API enum fm_status fm_list(struct fm_ctx *ctx, enum fm_catalogue what,
                              bool (*fn)(void *user, const char *name, const char *about),
                              void *user, struct fm_error *err);

/* Validates a formats/ or queries/ YAML file; `against` (or NULL) is an input whose classes show
 * which field reaches which column. The report goes to sink. FM_CONFIG when the file is wrong. */
FM_API enum fm_status fm_check(struct fm_ctx *ctx, const char *path, const char *against,
                               const struct fm_sink *sink, struct fm_error *err);

#ifdef __cplusplus
}
#endif
#endif
