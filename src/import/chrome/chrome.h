/*
 * chrome.h - Chrome trace-event JSON and V8 profiles: what the files of this folder share.
 *
 *     chrome.c   probe, wraps, the document and its keys, how it ended
 *     source.c   its bytes, behind a byte order mark
 *     event.c    the fields of one event, what its phase makes of it
 *     thread.c   processes and threads: ids that are numbers or texts, names that come later
 *     class.c    classes of the mapping (phase/category), arguments that somebody wants
 *     span.c     B, E, X: collected by thread
 *     early.c    B and E paired while they are read
 *     pair.c     B and E paired at the end
 *     span_row.c rows of spans
 *     nest.c     the stack of spans that only nest
 *     sweep.c    the instantaneous stack: self time, parts, what flows bind to
 *     async.c    b n e, S T p F               flow.c   s t f, bind_id
 *     other.c    counters, instants, objects, thread states
 *     v8*.c heap*.c legacy*.c html.c          profiles, samples, stackFrames, HTML wraps
 *
 * An event is read from one contiguous range of bytes. What needs its neighbours (spans, async
 * spans, flows) is collected as small records and becomes rows at the end; all else becomes a row
 * at once. Texts of an event are borrowed until the next one.
 */
#ifndef FM_IMPORT_CHROME_CHROME_H
#define FM_IMPORT_CHROME_CHROME_H

#include "import/import.h"
#include "util/json.h"

/* ------------------------------------------------------------------ events */

/* Fields of an event that mean something. */
enum fm_chrome_field {
    FM_CHROME_NAME, FM_CHROME_CAT, FM_CHROME_PH, FM_CHROME_TS, FM_CHROME_DUR, FM_CHROME_TTS,
    FM_CHROME_TDUR, FM_CHROME_PID, FM_CHROME_TID, FM_CHROME_ARGS, FM_CHROME_ID, FM_CHROME_ID2,
    FM_CHROME_SCOPE, FM_CHROME_BIND_ID, FM_CHROME_FLOW_IN, FM_CHROME_FLOW_OUT, FM_CHROME_BP,
    FM_CHROME_S, FM_CHROME_SF, FM_CHROME_ESF, FM_CHROME_STACK, FM_CHROME_ESTACK,
    FM_CHROME_EVENT_FIELDS
};

struct fm_chrome_event {
    const struct fm_json_object *object;
    uint64_t offset;               /* of its '{' */
    char phase;
    uint32_t thread;               /* index of c->thread */
    bool has_ts, has_dur;          /* dur: from dur, else tdur; never negative */
    struct fm_json_time ts, dur;
    /* NULL: absent (or null). The last one of equal keys. */
    const struct fm_json_field *field[FM_CHROME_EVENT_FIELDS];
};

/* Which field stands at which place of an item of some shape. */
struct fm_chrome_layout {
    uint32_t shape;                /* of the scanner; 0: not used */
    uint8_t n;
    uint8_t number[FM_CHROME_EVENT_FIELDS], place[FM_CHROME_EVENT_FIELDS];
};
#define FM_CHROME_LAYOUTS 64u

/* A pid or tid: a number (or a text of digits), else a text; absent is none. */
enum fm_chrome_ident_kind { FM_CHROME_NONE, FM_CHROME_NUMBER, FM_CHROME_TEXT };
struct fm_chrome_ident {
    int64_t number;
    fm_str text;
    uint32_t kind;
};

/* ----------------------------------------------------------------- classes */

#define FM_CHROME_FIELDS 512           /* of a class: those of its group and of arguments */
#define FM_CHROME_ARGS_MAX 448         /* arguments that the mapping may name */

/* What a file declares: the class of a group is NAME, or NAME/CATEGORY. */
struct fm_chrome_group {
    const char *name;
    const struct fm_field *field;
    size_t fields;
    bool args;                     /* and those of args that the mapping names */
};

struct fm_chrome_class {
    const struct fm_chrome_group *group;
    fm_str cat;
    int id;                        /* of the binding, or FM_CLASS_UNMAPPED */
    fm_str name;                   /* for the account */
    bool args;                     /* some of its arguments are wanted */
    uint64_t wanted;               /* of the group's fields, those that rules read */
};

/* ----------------------------------------------------------------- threads */

struct fm_chrome_process {
    struct fm_chrome_ident pid;
    fm_str name;
    bool named;
    int64_t order;                 /* process_sort_index */
};

struct fm_chrome_span;             /* span.h */
struct fm_chrome_begun;            /* early.c */
struct fm_chrome_closed;
struct fm_chrome_thread {
    struct fm_chrome_ident pid, tid;
    uint32_t process;              /* index of c->process */
    fm_thread row;                 /* FM_NONE: no row of the store yet */
    fm_str name;
    bool named;
    int64_t order;                 /* thread_sort_index */
    uint64_t events;               /* other than M */
    int64_t first, last;           /* ns, over its events; first > last: none */
    struct fm_chrome_span *span;   /* records in file order */
    size_t spans, span_cap;
    uint32_t places;               /* numbers of B, E, X and flows in file order */
    bool unordered;                /* B or E older than one before it */
    bool later;                    /* B and E from now on are paired at the end */
    struct fm_json_time newest;    /* of B and E */
    struct fm_chrome_begun *begun; /* B that are open */
    size_t begins, begun_cap;
    struct fm_chrome_closed *closed;   /* E that closed one already */
    size_t closes, closed_cap;
};

/* ------------------------------------------------------------- the import */

/* Something that hangs on an event until its row is made: a value of an argument, or (numbers from
 * FM_CHROME_FIELDS on) one of the span's other things. */
struct fm_chrome_arg {
    uint32_t next;                 /* older; 0: none */
    uint32_t number;               /* of arg_name, or one of these: */
    uint64_t lane;
};
enum {
    FM_CHROME_HANG_FLOW = FM_CHROME_ARGS_MAX,   /* a point of flow.c */
    FM_CHROME_HANG_PART,                        /* self time under another ancestry */
    FM_CHROME_HANG_CPU,                         /* thread time in ns */
    FM_CHROME_HANG_CLOCK,                       /* thread clock at a B or E */
    FM_CHROME_HANG_SF,                          /* id of the frame at its start … */
    FM_CHROME_HANG_ESF,                         /* … and at its end */
    FM_CHROME_HANG_STACK,                       /* the node, where the event holds the stack */
    FM_CHROME_HANG_ESTACK,
    FM_CHROME_HANG_OWN                          /* and more: a label of c->own */
};

#define FM_CHROME_OWNS 448u            /* labels of arguments that only the user names */
struct fm_chrome_own {
    const char *path;
    enum fm_type type;
    fm_column column;              /* FM_NONE: no value yet */
};

struct fm_chrome_async;            /* async.c */
struct fm_chrome_flow;             /* flow.c */
struct fm_chrome_sites;            /* span.c */
struct fm_chrome_v8;               /* v8.c */
struct fm_chrome_legacy;           /* legacy.c */
struct fm_chrome_system;           /* system.c */

struct fm_chrome {
    struct fm_import *import;
    struct fm_ctx *ctx;
    struct fm_mem *mem;
    struct fm_builder *builder;
    struct fm_binding *binding;
    struct fm_arena arena;         /* lives as long as the import */
    bool oom;

    /* chrome.c */
    struct fm_reader *reader;
    struct fm_error *err;
    enum fm_status read;           /* of the source */
    enum fm_json_end end;
    uint64_t cut_at;               /* FM_JSON_TRUNCATED: where the piece begins that is lost */
    struct fm_json_object *item;
    struct {
        uint64_t name;
        int number;
    } shape[FM_JSON_FIELDS];       /* keys that stood there last, and what they are */
    /* event.c */
    struct fm_chrome_event event;
    uint32_t shaped;               /* the shape that event.field was made for */
    struct fm_chrome_layout layout[FM_CHROME_LAYOUTS];
    /* source.c */
    uint64_t skipped;              /* bytes before the document */
    uint64_t facts;
    const char *alien;             /* another format that a key tells */
    bool profile;                  /* keys of a profile were there */
    bool clang;                    /* clang -ftime-trace */
    bool any_events;               /* an array of events was there */
    uint64_t events;               /* objects of the array, without {} */
    uint64_t phases[128];
    bool has_time;                 /* at the end: */
    int64_t first, last;           /* ns, over all events but M: the trace's ends */
    int64_t base_ns;               /* baseTimeNanoseconds */
    bool has_base;

    /* thread.c */
    struct fm_chrome_thread *thread;
    size_t threads, thread_cap;
    struct fm_chrome_process *process;
    size_t processes, process_cap;
    struct fm_map thread_map, process_map;
    struct fm_map fact_map;        /* hash of a fact's key -> hash of its value */
    int64_t cpus;                  /* the most of num_cpus */
    char last_ids[64];             /* raw pid and tid of the last event */
    size_t last_pid_n, last_tid_n;
    uint32_t last_thread;

    /* class.c */
    struct fm_chrome_class *class;
    size_t classes, class_cap;
    struct fm_map class_map;
    const char **arg_name;         /* "args.x.y" of the mapping, without "args." */
    size_t arg_names;
    uint64_t arg_numeric[FM_CHROME_ARGS_MAX / 64];   /* bits: "num.x.y", a whole number */
    uint64_t arg_wanted[FM_CHROME_ARGS_MAX / 64];    /* some class reads it */
    struct fm_map arg_map;         /* hash of a path -> number + 1 | INTO */
    struct {
        const char *key;           /* of a shape of the scanner, with the shape's generation */
        uint32_t generation;
        uint64_t way;              /* what arg_map says of it */
    } arg_way[FM_CHROME_LAYOUTS];
    bool any_args, all_args;       /* some class has `args`; every argument is asked for */
    struct fm_chrome_own *own;     /* labels of arguments that only the user names */
    size_t owns;
    struct fm_chrome_arg *arg;     /* values of events that wait; [0] is not used */
    size_t args, arg_cap;

    struct fm_map counter_map;     /* hash of (name, id, series) -> name of the event */
    uint64_t overlap_ns;
    int unfinished;                /* enum fm_chrome_unfinished */
    bool cpu_wanted;               /* thread times are asked for */
    bool stacks_wanted;            /* stacks at the start or end of spans are */
    char *scratch;                 /* decoded texts */
    size_t scratch_cap;

    struct fm_chrome_sites *sites;
    struct fm_chrome_async *async;
    struct fm_chrome_flow *flow;
    struct fm_chrome_v8 *v8;
    struct fm_chrome_legacy *legacy;
    struct fm_chrome_system *system;
};

/* ---- chrome.c: reads one document into c. `more` is the scanner's source of bytes. false: stop,
 * c->oom, the builder or c->err tell why. May be called again: documents merge. */
bool fm_chrome_document(struct fm_chrome *c, fm_json_more *more, void *user);
/* A fact of the document as provenance, cut to 4 KiB: `chrome.KEY`. */
void fm_chrome_fact(struct fm_chrome *c, const char *key, const char *s, size_t n);
void fm_chrome_diag(struct fm_chrome *c, enum fm_diag key, uint64_t offset);

/* ---- source.c: c->reader as a scanner's source, a byte order mark passed over. `user` is c. */
bool fm_chrome_more(void *user, size_t used, size_t need, const unsigned char **data, size_t *n);
bool fm_chrome_source_start(struct fm_chrome *c);

/* ---- event.c */
static inline struct fm_chrome_layout *fm_chrome_layout(struct fm_chrome *c, uint32_t shape)
{
    return &c->layout[shape / 8 % FM_CHROME_LAYOUTS];
}
void fm_chrome_event(struct fm_chrome *c, struct fm_json_object *object);
/* Decoded text of a field (numbers as they stand), borrowed until the next call; the interned
 * string. NULL is "". */
const char *fm_chrome_text(struct fm_chrome *c, const struct fm_json_field *f, size_t *n);
fm_str fm_chrome_str(struct fm_chrome *c, const struct fm_json_field *f);
/* A time of microseconds: a number, also as a string. false: neither, or out of range. */
bool fm_chrome_time(const struct fm_json_field *f, struct fm_json_time *t);
/* An integer, also as a string. */
bool fm_chrome_i64(const struct fm_json_field *f, int64_t *out);
/* Whether two texts of n bytes are equal: they mostly are, and are short. */
static inline bool fm_chrome_same(const char *a, const char *b, size_t n)
{
    uint64_t x[2], y[2];
    uint32_t v[2], w[2];
    if (n >= 8 && n <= 16) {
        memcpy(&x[0], a, 8);
        memcpy(&x[1], a + n - 8, 8);
        memcpy(&y[0], b, 8);
        memcpy(&y[1], b + n - 8, 8);
        return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
    }
    if (n >= 4 && n < 8) {
        memcpy(&v[0], a, 4);
        memcpy(&v[1], a + n - 4, 4);
        memcpy(&w[0], b, 4);
        memcpy(&w[1], b + n - 4, 4);
        return ((v[0] ^ w[0]) | (v[1] ^ w[1])) == 0;
    }
    return memcmp(a, b, n) == 0;
}
/* The last field of that name; NULL: none. Looks at the fields of the table only. */
const struct fm_json_field *fm_chrome_member(const struct fm_json_object *o, const char *key);

/* ---- thread.c */
/* The thread of two fields (either may be NULL); UINT32_MAX: no memory. */
uint32_t fm_chrome_thread(struct fm_chrome *c, const struct fm_json_field *pid,
                          const struct fm_json_field *tid);
/* Its row in the store. */
fm_thread fm_chrome_thread_row(struct fm_chrome *c, uint32_t thread);
void fm_chrome_metadata(struct fm_chrome *c, const struct fm_chrome_event *e);   /* M */
/* Gives the store's rows their names: at the very end. */
void fm_chrome_name_threads(struct fm_chrome *c);
void fm_chrome_threads_release(struct fm_chrome *c);
/* Widens the time that is seen of a thread. */
static inline void fm_chrome_seen(struct fm_chrome *c, uint32_t thread, int64_t ns)
{
    struct fm_chrome_thread *t = &c->thread[thread];
    t->first = FM_MIN(t->first, ns);
    t->last = FM_MAX(t->last, ns);
}
/* The trace's ends from those of its threads. */
void fm_chrome_seen_all(struct fm_chrome *c);

/* ---- class.c */
bool fm_chrome_classes_init(struct fm_chrome *c);
void fm_chrome_classes_release(struct fm_chrome *c);
/* Index of c->class; UINT32_MAX: no memory. */
uint32_t fm_chrome_class(struct fm_chrome *c, const struct fm_chrome_group *group, fm_str cat);
/* Decodes the arguments of an event that somebody wants: a chain in c->arg, 0 when there are none.
 * `chain` is continued (0: a new one): later values win. */
uint32_t fm_chrome_args(struct fm_chrome *c, const struct fm_json_field *args, uint32_t chain);
/* Puts something before a chain; the new chain. */
uint32_t fm_chrome_hang(struct fm_chrome *c, uint32_t chain, uint32_t number, uint64_t lane);
/* Puts chain `newer` (not 0) before `older`. */
uint32_t fm_chrome_join(struct fm_chrome *c, uint32_t older, uint32_t newer);
/* Adds a row: value and present are those of the group's fields (with room for
 * FM_CHROME_FIELDS); the arguments of `chain` are put behind them. */
uint64_t fm_chrome_row(struct fm_chrome *c, uint32_t class_index, uint64_t *value,
                       uint64_t *present, uint32_t chain, uint64_t offset);

/* The links of a row that was made without fm_chrome_row(). */
void fm_chrome_links(struct fm_chrome *c, uint32_t class_index, uint64_t *value,
                     uint64_t *present, uint32_t chain, uint64_t row);

/* ---- span.c */
void fm_chrome_span(struct fm_chrome *c, const struct fm_chrome_event *e);       /* B E X */
/* A new record of a thread; NULL: no memory. */
struct fm_chrome_span *fm_chrome_record(struct fm_chrome *c, uint32_t thread);
void fm_chrome_spans_release(struct fm_chrome *c);
/* ---- early.c: B and E are paired while they are read, as long as E ends the latest B. */
/* The record made last is a B. */
void fm_chrome_begin(struct fm_chrome *c, struct fm_chrome_thread *t, uint32_t name);
/* An E. false: it is not that simple, and from now on nothing is (t->later). */
bool fm_chrome_close(struct fm_chrome *c, struct fm_chrome_thread *t, uint32_t name, int64_t end,
                     int16_t ps, uint64_t offset);
/* Undoes it: B are open, E are records. false: no memory. */
bool fm_chrome_reopen(struct fm_chrome *c, struct fm_chrome_thread *t);
void fm_chrome_records_free(struct fm_chrome *c, struct fm_chrome_thread *t);

bool fm_chrome_spans_finish(struct fm_chrome *c);                                /* span_row.c */

/* ---- async.c */
void fm_chrome_async(struct fm_chrome *c, const struct fm_chrome_event *e);  /* b n e S T p F */
/* `id`, else id2.global, else id2.local (*local). false: none. */
bool fm_chrome_event_id(struct fm_chrome *c, const struct fm_chrome_event *e, fm_str *id,
                        bool *local);
bool fm_chrome_async_finish(struct fm_chrome *c);
void fm_chrome_async_release(struct fm_chrome *c);

/* ---- flow.c */
void fm_chrome_flow(struct fm_chrome *c, const struct fm_chrome_event *e);       /* s t f */
/* bind_id of an X or B: the span's chain with it. */
uint32_t fm_chrome_flow_span(struct fm_chrome *c, const struct fm_chrome_event *e, uint32_t chain);
/* The row of the span that a point is bound to. */
void fm_chrome_flow_bound(struct fm_chrome *c, uint64_t point, uint64_t row);
bool fm_chrome_flow_finish(struct fm_chrome *c);
void fm_chrome_flow_release(struct fm_chrome *c);

/* ---- other.c */
void fm_chrome_other(struct fm_chrome *c, const struct fm_chrome_event *e); /* C i I R N O D … */

/* ---- v8.c, legacy.c, html.c */
/* P, and I named CpuProfile. */
void fm_chrome_sample(struct fm_chrome *c, const struct fm_chrome_event *e);
/* The stack that an event names (sf) or holds (stack) becomes that of its row. */
void fm_chrome_event_stack(struct fm_chrome *c, const struct fm_chrome_event *e, uint64_t row);
/* Those of a span hang on it: `sf` and `list` are sf and stack, or esf and estack (`end`). */
uint32_t fm_chrome_hang_stack(struct fm_chrome *c, const struct fm_json_field *sf,
                              const struct fm_json_field *list, bool end, uint32_t chain);
/* Stack of such an item; FM_NONE when it is none. */
fm_node fm_chrome_hung_stack(struct fm_chrome *c, uint32_t process,
                             const struct fm_chrome_arg *item);
/* M named stackFrames: e->args holds them. */
void fm_chrome_frames(struct fm_chrome *c, const struct fm_chrome_event *e);
/* A key of the document that chrome.c does not know, its value not read yet. Returns 1: read it;
 * 0: not ours, not touched; -1: reading failed. */
int fm_chrome_key(struct fm_chrome *c, struct fm_json *json, const char *key, size_t n);
/* Rows of profiles and legacy samples; after the spans. */
bool fm_chrome_samples_finish(struct fm_chrome *c);
void fm_chrome_samples_release(struct fm_chrome *c);
/* An HTML file: c->reader stands at its start. Calls fm_chrome_document() for each trace. */
bool fm_chrome_html(struct fm_chrome *c);

#endif
