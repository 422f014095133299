/*
 * session.h - one import of a perf.data: what its layers share.
 *
 *     perf.c      probe, header, attributes, the order of things; directories
 *     simpleperf.c  sections and records of simpleperf
 *     feature.c   feature sections -> provenance, build-ids, event names
 *     tracing.c   names and formats of tracepoints from the tracing data
 *     stream.c    bytes -> records; compressed records -> records; rounds
 *     record.c    a record, in time order -> machine.c
 *     sample.c    a sample -> fields -> a row of the store, through formats/perf.yaml
 *     extra.c     memory and branch samples -> labels, a row a branch
 *     stat.c      counters of perf stat record, totals of threads
 *     chain.c     its call chain -> a stack
 *
 * Everything hangs on one struct fm_perf, which lives on the stack of the import.
 */
#ifndef FM_IMPORT_PERF_SESSION_H
#define FM_IMPORT_PERF_SESSION_H

#include "import/import.h"
#include "import/order.h"
#include "import/perf/block.h"
#include "import/perf/event.h"
#include "import/perf/extra.h"
#include "import/perf/machine.h"
#include "import/sched.h"
#include "import/perf/userstack.h"

/* Record types, as far as code names them. */
enum {
    FM_PERF_R_MMAP = 1, FM_PERF_R_LOST = 2, FM_PERF_R_COMM = 3, FM_PERF_R_EXIT = 4,
    FM_PERF_R_THROTTLE = 5, FM_PERF_R_UNTHROTTLE = 6, FM_PERF_R_FORK = 7, FM_PERF_R_READ = 8,
    FM_PERF_R_SAMPLE = 9, FM_PERF_R_MMAP2 = 10, FM_PERF_R_AUX = 11,
    FM_PERF_R_LOST_SAMPLES = 13, FM_PERF_R_SWITCH = 14, FM_PERF_R_SWITCH_CPU_WIDE = 15,
    FM_PERF_R_NAMESPACES = 16, FM_PERF_R_KSYMBOL = 17,
    FM_PERF_R_CGROUP = 19, FM_PERF_R_DEFERRED = 22, FM_PERF_R_USER = 64,
    FM_PERF_R_HEADER_ATTR = 64, FM_PERF_R_TRACING_DATA = 66, FM_PERF_R_BUILD_ID = 67,
    FM_PERF_R_FINISHED_ROUND = 68, FM_PERF_R_AUXTRACE_INFO = 70, FM_PERF_R_AUXTRACE = 71,
    FM_PERF_R_THREAD_MAP = 73,
    FM_PERF_R_STAT_CONFIG = 75, FM_PERF_R_STAT = 76, FM_PERF_R_STAT_ROUND = 77,
    FM_PERF_R_EVENT_UPDATE = 78, FM_PERF_R_TIME_CONV = 79,
    FM_PERF_R_HEADER_FEATURE = 80, FM_PERF_R_COMPRESSED = 81, FM_PERF_R_COMPRESSED2 = 83,
    FM_PERF_R_KNOWN = 87,
    FM_PERF_R_SIMPLEPERF = 32768, FM_PERF_R_SPLIT = 32772, FM_PERF_R_SPLIT_END = 32773,
    FM_PERF_R_SIMPLE_FIRST = 32769, FM_PERF_R_SIMPLE_LAST = 32778
};

/* Places to count records in: perf's types, all unknown ones, simpleperf's. */
#define FM_PERF_R_SLOTS (FM_PERF_R_KNOWN + 1 + FM_PERF_R_SIMPLE_LAST - FM_PERF_R_SIMPLE_FIRST + 1)

#define FM_PERF_HEADER 8u            /* u32 type, u16 misc, u16 size */
#define FM_PERF_MISC_DATA (1u << 13) /* MMAP: no code; COMM: by exec; FORK: made by perf */
#define FM_PERF_MISC_14 (1u << 14)   /* SAMPLE: exact ip; MMAP2: build-id */
#define FM_PERF_MISC_15 (1u << 15)   /* BUILD_ID: has a size */

/* A run of records: a file's data section, a pipe, data.N, or what a compressed stream holds. */
struct fm_perf_stream {
    struct fm_input *input;         /* NULL: inflated */
    struct fm_reader *reader;       /* pipes */
    bool rereadable;
    uint64_t next, end;             /* file offsets: of the next byte to read, of the end */
    uint64_t origin;                /* inflated: offset of the compressed record */
    size_t block;                   /* being filled, or SIZE_MAX */
    size_t fill, parsed;            /* bytes in it, and of those cut into records */
    uint64_t skip;                  /* bytes to pass over before the next record */
    unsigned char *gather;          /* bytes that are being collected behind a record */
    size_t gather_n, gather_cap;
    uint64_t gather_need;
    uint32_t gather_type;
    uint64_t gather_offset;
    struct fm_perf_stream *inner;   /* what its compressed records hold */
    struct fm_inflate *inflate;
    bool inflate_bad;
    unsigned char *split;           /* simpleperf: pieces of a record so far */
    size_t split_n, split_cap;
    uint64_t records;
};

/* A sample whose user frames come later. */
struct fm_perf_waiting {
    uint64_t row, cookie;
    uint32_t process, prev;         /* prev: number + 1 of the one before it on its thread */
    size_t words, n;                /* its kernel part, in struct fm_perf.waiting_words */
    uint64_t offset;
};

/* A record whose turn is near, and what its chain will be looked up by: see stream.c. */
struct fm_perf_ahead {
    uint64_t place;
    uint64_t context;
    const void *chain;              /* NULL: not known */
    uint32_t hash;
};
#define FM_PERF_AHEAD 8u

/* Counters that are no samples: stat.c. */
struct fm_perf_stat_last {
    uint64_t value, enabled, running;
};
struct fm_perf_stat {
    struct fm_perf_stat_value *pending;     /* of the interval that goes on */
    size_t pendings, pending_cap;
    struct fm_map by_key;           /* event, CPU, thread -> number in `last` */
    struct fm_perf_stat_last *last;
    size_t lasts, last_cap;
    int32_t *tid;                   /* of the THREAD_MAP */
    size_t tids, tid_cap;
    bool intervals;
    uint64_t from, rounds;          /* ns: where the interval began */
    int class_id[2];                /* + 1; 0: not declared */
};

struct fm_perf {
    struct fm_ctx *ctx;
    struct fm_import *import;
    struct fm_builder *builder;
    struct fm_binding *binding;
    struct fm_input *input;         /* whose header was read */
    const char *name;               /* of the input that is being read, for messages */
    bool swap, big, pipe;
    enum fm_demangle demangle;      /* of names that the recording brings along */
    bool perf_chains;               /* chains as perf script prints them */

    struct fm_perf_events events;
    struct fm_perf_machine machine;
    struct fm_perf_blocks blocks;
    struct fm_order order;
    bool ordered;                   /* records are queued by time */
    bool hold;                      /* nothing is delivered before the end */
    uint64_t limit;                 /* of the next round */

    struct fm_arena arena;
    uint64_t features[4];
    uint64_t clock_wall, clock_at;
    bool has_clock;

    struct fm_perf_ahead ahead[FM_PERF_AHEAD];  /* a ring */
    size_t ahead_in, ahead_out;

    /* the record being delivered */
    uint64_t offset;
    struct fm_perf_ahead now;

    uint64_t *words;                /* scratch of chains */
    size_t word_cap;
    fm_frame *frame;
    size_t frame_cap;
    struct fm_perf_waiting *waiting;
    size_t waitings, waiting_cap, waiting_live;
    uint64_t *waiting_word;
    size_t waiting_words, waiting_word_cap;
    struct fm_map waiting_by_tid;
    struct fm_sched sched;
    struct fm_perf_userstack userstack;

    uint64_t samples_in;            /* those that were dropped before a mapping saw them */
    struct fm_perf_branch_class branch_class;
    struct fm_perf_stat stat;
    struct {
        uint32_t kind;              /* of AUXTRACE_INFO; 0: none */
        uint64_t bytes, truncated, partial, collisions;
    } aux;
    struct fm_map simple_dso;       /* simpleperf: id -> fm_str of a path */
    uint64_t count[FM_PERF_R_SLOTS];    /* by fm_perf_record_slot() */
    uint64_t first[FM_PERF_R_SLOTS];
    uint64_t done, total;           /* bytes, for progress */
    uint64_t ticks;

    enum fm_status status;          /* what stops the import; FM_OK while it goes on */
    enum fm_status damage;          /* the first damage that did not */
    struct fm_error *err;
};

/* Stops the import for a failure of ours: no memory, input/output, cancelled. Returns false. */
bool fm_perf_fail(struct fm_perf *perf, enum fm_status status);
/* Counts damage; the first one also becomes the import's error. */
void fm_perf_damage(struct fm_perf *perf, enum fm_diag key, enum fm_status status,
                    uint64_t offset, const char *fmt, ...) FM_PRINTF(5, 6);
void fm_perf_note(struct fm_perf *perf, enum fm_diag key, uint64_t offset, uint64_t n);

/* perf.c */
/* A new event from a header, HEADER_ATTR or EVENT_DESC; NULL without memory (and failed). */
struct fm_perf_event *fm_perf_add_event(struct fm_perf *perf, const struct fm_perf_attr *attr);

/* feature.c */
/* All feature sections of a file whose data section ends at `table`. */
bool fm_perf_features(struct fm_perf *perf, uint64_t table, uint64_t file_size);
/* One of them: n bytes of content that stand at `offset`. */
bool fm_perf_feature(struct fm_perf *perf, unsigned bit, const unsigned char *data, size_t n,
                     uint64_t offset);
/* BUILD_ID entry, without its record header. */
bool fm_perf_build_id_entry(struct fm_perf *perf, struct fm_cursor *c, uint16_t misc, bool old);

/* simpleperf.c */
/* A feature section from 128 on. */
bool fm_perf_simple_feature(struct fm_perf *perf, unsigned bit, struct fm_cursor *c);
/* A record from 32768 on, or HEADER_TRACING_DATA with its data inside: n bytes behind the
 * header. */
bool fm_perf_simple_record(struct fm_perf *perf, uint32_t type, const unsigned char *data,
                           size_t n, uint64_t offset);

/* stat.c */
void fm_perf_stat_init(struct fm_perf_stat *stat, struct fm_mem *mem);
void fm_perf_stat_release(struct fm_perf_stat *stat, struct fm_mem *mem);
/* The next thread of a THREAD_MAP. */
bool fm_perf_stat_thread(struct fm_perf *perf, int32_t tid);
void fm_perf_stat_config(struct fm_perf *perf, struct fm_cursor *c);
bool fm_perf_stat_value(struct fm_perf *perf, struct fm_cursor *c, uint64_t offset);
bool fm_perf_stat_round(struct fm_perf *perf, struct fm_cursor *c);
bool fm_perf_stat_finish(struct fm_perf *perf);
/* A READ record of the event; time 0: unknown. */
bool fm_perf_read_total(struct fm_perf *perf, struct fm_perf_event *event, struct fm_cursor *c,
                        uint64_t time);

/* tracing.c */
bool fm_perf_tracing(struct fm_perf *perf, const unsigned char *data, size_t n, uint64_t offset);

/* stream.c */
void fm_perf_stream_init(struct fm_perf_stream *stream);
void fm_perf_stream_release(struct fm_perf *perf, struct fm_perf_stream *stream);
/* Reads a stream to its end, delivering what may be delivered. False: the import has failed. */
bool fm_perf_stream_run(struct fm_perf *perf, struct fm_perf_stream *stream);
/* Delivers everything that waits. */
bool fm_perf_flush(struct fm_perf *perf, uint64_t limit);

/* record.c */
/* A kernel record (type < 64), whole, in its turn. */
bool fm_perf_deliver(struct fm_perf *perf, const unsigned char *p, size_t n, uint64_t offset);
/* A record made by perf that needs no stream: at once. */
bool fm_perf_user_record(struct fm_perf *perf, const unsigned char *p, size_t n,
                         uint64_t offset);
/* What was lost by event, and what AUX data there are, into the source's provenance. */
void fm_perf_losses(struct fm_perf *perf);
const char *fm_perf_record_name(uint32_t type);
/* The place of a type in struct fm_perf.count; the name of a place. */
size_t fm_perf_record_slot(uint32_t type);
const char *fm_perf_slot_name(size_t slot);

/* sample.c */
bool fm_perf_sample(struct fm_perf *perf, const unsigned char *p, size_t n);
/* Finds out what the chain of the record at p will be looked up by, as far as that can be said
 * without changing anything; hints only. */
void fm_perf_sample_ahead(const struct fm_perf *perf, const unsigned char *p, size_t n,
                          struct fm_perf_ahead *ahead);
void fm_perf_samples_finish(struct fm_perf *perf);

/* chain.c */
/* The stack of a chain of n words (leaf first, with markers; host byte order); tag tells apart
 * chains that resolve differently. FM_NONE: no memory (and failed), or no frames. */
enum { FM_PERF_CHAIN = 0, FM_PERF_CHAIN_LBR = 1, FM_PERF_CHAIN_FLAT = 2 /* + mode */,
       FM_PERF_CHAIN_BRANCH = 10 /* where a branch went and came from: modes by address */ };
fm_node fm_perf_stack(struct fm_perf *perf, uint32_t process, unsigned tag, const void *words,
                      size_t n);
/* Markers are the last 4095 values. */
#define FM_PERF_MARKER (UINT64_MAX - 4094)
enum {
    FM_PERF_CONTEXT_HV = -32, FM_PERF_CONTEXT_KERNEL = -128, FM_PERF_CONTEXT_USER = -512,
    FM_PERF_CONTEXT_DEFERRED = -640, FM_PERF_CONTEXT_GUEST = -2048,
    FM_PERF_CONTEXT_GUEST_KERNEL = -2176, FM_PERF_CONTEXT_GUEST_USER = -2560
};
bool fm_perf_wait(struct fm_perf *perf, uint64_t row, int32_t tid, uint64_t cookie,
                  uint32_t process, const uint64_t *words, size_t n);
bool fm_perf_deferred(struct fm_perf *perf, int32_t tid, struct fm_cursor *c);
void fm_perf_waiting_finish(struct fm_perf *perf);

#endif
