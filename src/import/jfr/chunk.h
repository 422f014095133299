/*
 * chunk.h - a chunk of version 1.x or 2.x: its header, its events, its pools. (0.9: v0.h.)
 *
 *      0 "FLR\0", major u16, minor u16          32 i64 start, ns since 1970     (all big-endian)
 *      8 i64 size of the chunk                  40 i64 duration, ns
 *     16 i64 offset of the last checkpoint      48 i64 start, ticks
 *     24 i64 offset of the metadata event       56 i64 ticks per second
 *     64 u8 state: 0 finished, else written on  67 u8 flags: 1 compressed integers, 2 last chunk
 *     68 events: size varint, type varint, payload
 *
 * A chunk is read twice: the survey (survey.c) walks over the heads of its events, keeps what is
 * needed before any event means something (types, pools, settings), and the decoder (decode.c)
 * reads the events that the mapping takes.
 */
#ifndef FM_IMPORT_JFR_CHUNK_H
#define FM_IMPORT_JFR_CHUNK_H

#include "import/jfr/meta.h"
#include "import/jfr/pool.h"
#include "import/jfr/settings.h"

#define FM_JFR_HEADER 68u

struct fm_jfr_header {
    uint16_t major, minor;
    uint64_t size, checkpoint, metadata;
    int64_t start_ns, duration_ns, start_ticks, per_second;
    uint8_t state, flags;
};

static inline bool fm_jfr_is_wide(const struct fm_jfr_header *h)
{
    return (h->flags & 1) == 0;
}

/* What is wrong with the frame of a chunk. */
enum fm_jfr_fault {
    FM_JFR_WHOLE,
    FM_JFR_BEING_WRITTEN,       /* by the JDK: up to its last flush */
    FM_JFR_NEVER_FINISHED,      /* async-profiler was killed */
    FM_JFR_CUT,                 /* the input ends before it */
    FM_JFR_BAD_SIZE             /* the size in its header ends inside an event */
};

struct fm_jfr_span {
    uint64_t offset, size;
};

/* An event whose bytes are kept: settings and the like. */
struct fm_jfr_saved {
    uint32_t class;
    uint32_t n;                 /* bytes of the payload */
    uint64_t offset;
    const unsigned char *p;
};

struct fm_jfr_chunk {
    /* by the scan */
    uint64_t number, offset, end; /* bytes of the input that are read */
    struct fm_jfr_header h;
    enum fm_jfr_fault fault;
    uint64_t gap;               /* bytes behind `end` that belong to no chunk */
    bool has_before;            /* the chunk before it in the input */
    uint64_t before_offset, before_end;
    struct fm_jfr_header before;
    /* by the survey */
    struct fm_mem *mem;
    struct fm_arena arena;
    struct fm_jfr_clock clock;
    bool usable;                /* its metadata could be read */
    struct fm_jfr_meta meta;
    uint64_t *count, *first;    /* by class: events, offset of the first */
    uint64_t metadatas, checkpoint_events, unknown, unknown_first;
    uint64_t walked;            /* offset where the events end */
    struct fm_jfr_span *checkpoint;
    size_t checkpoints, checkpoint_cap;
    struct fm_jfr_saved *saved;
    size_t saveds, saved_cap, saved_bytes;
    struct fm_jfr_pools pools;
    struct fm_jfr_facts facts;
    struct fm_jfr_v0 *v0;       /* version 0.9: in place of types and pools; see v0.h */
    /* by the driver, between survey and decoding */
    struct fm_jfr_periods periods;
    uint32_t jvm;
    int64_t names_since;        /* from when on names of its threads hold; INT64_MIN: always */
};

/* ------------------------------------------------------------------ scanning */

/* Reads a header; false: no magic, or numbers that cannot be. */
bool fm_jfr_header_read(const unsigned char *data, size_t n, struct fm_jfr_header *h);

/* Finds the chunks of an input one after another. */
struct fm_jfr_scan {
    struct fm_import *import;
    struct fm_reader *reader;   /* its own */
    uint64_t at, size;          /* of the input */
    uint64_t chunks;
    struct fm_jfr_chunk last;   /* only what the scan fills in */
    enum fm_status damage;      /* the first header that leads to no chunk, in `damaged` */
    struct fm_error damaged;
};
/* *more = false: there is none any more. There must be one, best at offset 0: else FM_FORMAT,
 * FM_UNSUPPORTED. */
enum fm_status fm_jfr_scan_next(struct fm_jfr_scan *scan, struct fm_jfr_chunk *chunk, bool *more,
                                struct fm_error *err);

/* ------------------------------------------------------------------- walking */

struct fm_jfr_walk {
    struct fm_reader *reader;
    uint64_t at, end;           /* offset of the next event, end of the chunk */
    const unsigned char *p;     /* window at `at` */
    size_t n;
    bool wide;                  /* to be set: integers are not compressed */
    enum fm_status status;      /* of the input */
    struct fm_error *err;
};
struct fm_jfr_event_head {
    uint64_t offset, size, type;
    const unsigned char *p;     /* of the event */
    size_t have;                /* bytes at p, of the event or behind it */
    size_t payload;             /* offset of the payload */
};
enum fm_jfr_step_result {
    FM_JFR_EVENT, FM_JFR_END,
    FM_JFR_BAD_EVENT,           /* its size is impossible; *head tells offset and size */
    FM_JFR_INPUT                /* walk->status */
};
void fm_jfr_walk_init(struct fm_jfr_walk *walk, struct fm_reader *reader, uint64_t at,
                      uint64_t end, struct fm_error *err);
enum fm_jfr_step_result fm_jfr_walk_slow(struct fm_jfr_walk *walk,
                                         struct fm_jfr_event_head *head);

/* The next event; its bytes are valid until the next call. */
static inline enum fm_jfr_step_result fm_jfr_walk_next(struct fm_jfr_walk *walk,
                                                       struct fm_jfr_event_head *head)
{
    const unsigned char *p = walk->p;
    if (FM_UNLIKELY(walk->n < 2 * FM_JFR_VARINT_MAX || walk->wide))
        return fm_jfr_walk_slow(walk, head);
    head->size = fm_jfr_varint_at(&p);
    head->type = fm_jfr_varint_at(&p);
    head->payload = (size_t)(p - walk->p);
    if (FM_UNLIKELY(head->size >= walk->n || head->size < head->payload))
        return fm_jfr_walk_slow(walk, head);
    head->offset = walk->at;
    head->p = walk->p;
    head->have = walk->n;
    walk->at += head->size;
    walk->p += head->size;
    walk->n -= (size_t)head->size;
    return FM_JFR_EVENT;
}
/* Steps over events of known types that need not be looked at (stop[class] is false) and that lie
 * whole in the window, and counts them when `count` is not NULL (first: offset of the first). */
void fm_jfr_walk_past(struct fm_jfr_walk *walk, const struct fm_jfr_meta *meta, const bool *stop,
                      uint64_t *count, uint64_t *first);
/* Brings more of the event into the window: at most `max` bytes. false: walk->status. */
bool fm_jfr_walk_whole(struct fm_jfr_walk *walk, struct fm_jfr_event_head *head, size_t max);

/* ------------------------------------------------------------------- reading */

/* What was found by the scan is in the chunk. Findings go to the feed. FM_IO, FM_NOMEM and the
 * like; damage of the chunk is no failure. */
enum fm_status fm_jfr_survey(struct fm_jfr_chunk *chunk, struct fm_jfr_feed *feed,
                             struct fm_input *input, struct fm_error *err);
void fm_jfr_chunk_release(struct fm_jfr_chunk *chunk);

/* True when `chunk` goes on where `before` ends: parts of one recording of one JVM. */
bool fm_jfr_contiguous(const struct fm_jfr_header *before, const struct fm_jfr_header *h);

/* Reads the events of a surveyed chunk into the feed. */
enum fm_status fm_jfr_decode(struct fm_jfr_chunk *chunk, struct fm_jfr_feed *feed,
                             struct fm_input *input, struct fm_error *err);

#endif
