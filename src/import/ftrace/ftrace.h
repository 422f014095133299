/*
 * ftrace.h - one import of a trace.dat: what its layers share.
 *
 *     trace_dat.c   probe, version, the order of things
 *     container.c   sections and options -> formats, names, buffers; where each CPU's pages are
 *     meta.c        formats of events, comms, symbols out of the metadata
 *     cpu.c         a CPU's pages -> events; stacks join the event before them
 *     page.c        a page -> events
 *     row.c         an event, in time order -> a row, through formats/trace-dat.yaml
 *
 * Everything hangs on one struct fm_ftrace, which lives on the stack of the import.
 */
#ifndef FM_IMPORT_FTRACE_FTRACE_H
#define FM_IMPORT_FTRACE_FTRACE_H

#include "import/ftrace/page.h"
#include "import/import.h"
#include "import/sched.h"
#include "util/map.h"

/* An event type, by the id that its records begin with. */
struct fm_ftrace_event {
    const char *system;
    size_t system_n;
    const char *text;               /* its format; borrowed from the metadata */
    size_t text_n;
    const char *name;               /* "sched:sched_switch" */
    const struct fm_trace *trace;   /* NULL until the first event, or not to be parsed */
    struct fm_sched_event sched;
    int class_id;
    bool declared;
    uint64_t wanted;
    uint64_t seen, first;           /* events, offset of the first */
};

/* A call chain that follows an event: addresses leaf first. */
struct fm_ftrace_chain {
    uint64_t *word;
    size_t n, cap;
};

/* A decoded event of one CPU, with the chains behind it. */
struct fm_ftrace_record {
    uint64_t time, offset;
    const unsigned char *data;      /* in the stream's own copy */
    size_t n;
    uint16_t id;
    uint8_t flags, preempt;
    int32_t pid;
    struct fm_ftrace_chain kernel, user;
    int64_t tgid;                   /* of the user stack; -1 unknown */
};

/* The pages of one CPU of one buffer, in blocks of several. */
struct fm_ftrace_stream {
    uint32_t buffer;
    uint32_t cpu;
    uint64_t at, end;               /* of the input: the next byte, the end */
    bool packed, begun, over;
    uint32_t chunks;                /* packed: those that are left */
    unsigned char *block;
    size_t block_n, block_at, block_cap;
    uint64_t block_offset;          /* packed: of the chunk */
    struct fm_page page;
    bool opened;
    bool ahead;                     /* next_* hold an event that was read but not taken */
    const unsigned char *next;
    size_t next_n;
    uint64_t next_time, next_offset;
    unsigned char *copy;            /* of the record's payload */
    size_t copy_cap;
    struct fm_ftrace_record record;
    bool has_record;
};

struct fm_ftrace_buffer {
    const char *name;               /* "" is the top one */
    const char *clock;              /* NULL unknown */
    uint32_t page_size;
    fm_str label;
};

struct fm_ftrace_symbol {
    uint64_t address;
    const char *name;               /* into the metadata */
    uint32_t n;
};

struct fm_ftrace {
    struct fm_ctx *ctx;
    struct fm_import *import;
    struct fm_builder *builder;
    struct fm_binding *binding;
    struct fm_input *input;
    const char *name;
    struct fm_arena arena;
    bool big, swap;
    unsigned version, long_size;
    uint32_t page_size;
    uint64_t size;                  /* of the input */
    const char *codec;              /* of fm_inflate_new(); NULL: not packed */
    bool zlib;                      /* chunks begin with the two bytes of zlib */

    struct fm_page_shape shape;
    struct fm_ftrace_event *event;
    size_t events, event_cap;
    struct fm_map by_id;            /* id -> number + 1 */
    struct fm_map comm;             /* pid -> fm_str */
    struct fm_map tgid;             /* tid -> pid + 1 */
    struct fm_map thread;           /* tid -> row + 1 */
    struct fm_map frame[3];         /* address -> frame + 1: kernel leaf, kernel caller, user */
    struct fm_ftrace_symbol *symbol;    /* by address */
    size_t symbols, symbol_cap;
    const char *printk;             /* formats of trace_printk(), as lines */
    size_t printk_n;
    fm_module kernel, unknown;      /* FM_NONE until needed */
    fm_frame *frames;               /* scratch of stacks */
    size_t frame_cap;

    struct fm_ftrace_buffer *buffer;
    size_t buffers, buffer_cap;
    struct fm_ftrace_stream *stream;
    size_t streams, stream_cap;
    size_t *heap;                   /* streams by the time of their record */

    uint16_t kernel_stack, user_stack;  /* ids; 0: not in the file */
    uint32_t kernel_at, user_at, tgid_at;   /* offsets in their payloads */
    uint32_t sched_buffer;          /* whose scheduler events are paired; FM_NONE until known */
    struct fm_sched sched;
    const char *clock;
    int64_t shift;                  /* added to all times */
    bool has_wall;
    int64_t wall;                   /* wall time - time */
    bool exact;                     /* callers are looked up at the return address */
    uint32_t mult, mult_shift;      /* ticks to ns; mult 0: times are ns */
    uint64_t mult_offset;
    uint64_t taken;                 /* bytes that parts of the file claim, see container.c */
    uint64_t done;                  /* bytes of pages, for progress */
    uint64_t dropped;               /* events that no row could be made of */

    enum fm_status status, damage;
    struct fm_error *err;
};

/* As their fellows in perf: stop for a failure of ours; count damage, the first is the error. */
bool fm_ftrace_fail(struct fm_ftrace *f, enum fm_status status);
void fm_ftrace_damage(struct fm_ftrace *f, enum fm_diag key, enum fm_status status,
                      uint64_t offset, const char *fmt, ...) FM_PRINTF(5, 6);
void fm_ftrace_note(struct fm_ftrace *f, enum fm_diag key, uint64_t offset, uint64_t n);

/* container.c: everything but the pages. */
bool fm_ftrace_container(struct fm_ftrace *f);

/* meta.c: n bytes of metadata, which live as long as the import. */
bool fm_ftrace_header_info(struct fm_ftrace *f, struct fm_cursor *c);
bool fm_ftrace_formats(struct fm_ftrace *f, struct fm_cursor *c, bool systems);
bool fm_ftrace_comms(struct fm_ftrace *f, const char *text, size_t n);
bool fm_ftrace_tgids(struct fm_ftrace *f, const char *text, size_t n);
bool fm_ftrace_kallsyms(struct fm_ftrace *f, const char *text, size_t n);
const struct fm_ftrace_symbol *fm_ftrace_symbol_at(const struct fm_ftrace *f, uint64_t address);

/* cpu.c */
/* One packed block, of at most n bytes, into the arena. false: broken, or failed. */
bool fm_ftrace_unpack(struct fm_ftrace *f, struct fm_cursor *in, size_t n, unsigned char **data,
                      size_t *got, struct fm_error *err);
/* Fills stream->record with the next event; has_record false at the end. */
bool fm_ftrace_stream_next(struct fm_ftrace *f, struct fm_ftrace_stream *stream);
void fm_ftrace_stream_release(struct fm_ftrace *f, struct fm_ftrace_stream *stream);

/* row.c */
bool fm_ftrace_record(struct fm_ftrace *f, const struct fm_ftrace_stream *stream);
void fm_ftrace_rows_finish(struct fm_ftrace *f);

#endif
