/*
 * event.h - the events of a recording: attributes, names, ids and where the fields of their
 * records lie.
 *
 *     perf_event_attr   0 u32 type, u32 size | 8 u64 config | 16 u64 period or frequency
 *                      24 u64 sample_type | 32 u64 read_format | 40 u64 flags | 48 u32, u32 bp_type
 *                      56 u64, u64 | 72 u64 branch_sample_type | 80 u64 sample_regs_user
 *                      88 u32 sample_stack_user, s32 clockid | 96 u64 sample_regs_intr
 *                     104 u32 | 108 u16 sample_max_stack ...
 *
 * An attribute of any size is read: what is missing is zero, what is newer than known is left out.
 * Layout and rules: Linux include/uapi/linux/perf_event.h as observed up to 6.18.
 */
#ifndef FM_IMPORT_PERF_EVENT_H
#define FM_IMPORT_PERF_EVENT_H

#include "util/cursor.h"
#include "util/map.h"
#include "import/sched.h"

/* sample_type, by bit */
enum {
    FM_PERF_IP = 1 << 0, FM_PERF_TID = 1 << 1, FM_PERF_TIME = 1 << 2, FM_PERF_ADDR = 1 << 3,
    FM_PERF_READ = 1 << 4, FM_PERF_CALLCHAIN = 1 << 5, FM_PERF_ID = 1 << 6, FM_PERF_CPU = 1 << 7,
    FM_PERF_PERIOD = 1 << 8, FM_PERF_STREAM_ID = 1 << 9, FM_PERF_RAW = 1 << 10,
    FM_PERF_BRANCH_STACK = 1 << 11, FM_PERF_REGS_USER = 1 << 12, FM_PERF_STACK_USER = 1 << 13,
    FM_PERF_WEIGHT = 1 << 14, FM_PERF_DATA_SRC = 1 << 15, FM_PERF_IDENTIFIER = 1 << 16,
    FM_PERF_TRANSACTION = 1 << 17, FM_PERF_REGS_INTR = 1 << 18, FM_PERF_PHYS_ADDR = 1 << 19,
    FM_PERF_AUX = 1 << 20, FM_PERF_CGROUP = 1 << 21, FM_PERF_DATA_PAGE_SIZE = 1 << 22,
    FM_PERF_CODE_PAGE_SIZE = 1 << 23, FM_PERF_WEIGHT_STRUCT = 1 << 24
};

/* read_format */
enum {
    FM_PERF_READ_ENABLED = 1, FM_PERF_READ_RUNNING = 2, FM_PERF_READ_ID = 4,
    FM_PERF_READ_GROUP = 8, FM_PERF_READ_LOST = 16
};

/* flags */
#define FM_PERF_F_INHERIT (1ull << 1)
#define FM_PERF_F_EXCLUDE_USER (1ull << 4)
#define FM_PERF_F_EXCLUDE_KERNEL (1ull << 5)
#define FM_PERF_F_EXCLUDE_HV (1ull << 6)
#define FM_PERF_F_FREQ (1ull << 10)
#define FM_PERF_F_PRECISE 15            /* shift; 2 bits */
#define FM_PERF_F_SAMPLE_ID_ALL (1ull << 18)
#define FM_PERF_F_EXCLUDE_HOST (1ull << 19)
#define FM_PERF_F_EXCLUDE_GUEST (1ull << 20)
#define FM_PERF_F_USE_CLOCKID (1ull << 25)

/* branch_sample_type */
#define FM_PERF_BRANCH_CALL_STACK (1ull << 11)
#define FM_PERF_BRANCH_HW_INDEX (1ull << 17)
#define FM_PERF_BRANCH_COUNTERS (1ull << 19)

struct fm_perf_attr {
    uint32_t type, size;
    uint64_t config, period, sample_type, read_format, flags;
    uint32_t bp_type;
    uint64_t bp_addr, bp_len, branch_type, regs_user, regs_intr;
    int32_t clockid;
    uint16_t max_stack;
    bool future;                    /* bytes beyond what is known are not zero */
};

#define FM_PERF_NO_FIELD 0xffu      /* an offset: the field is not recorded */
#define FM_PERF_ATTR_MIN 64u
#define FM_PERF_ATTR_KNOWN 144u

struct fm_perf_event {
    struct fm_perf_attr attr;
    char *unit;                     /* of its values, there too; NULL: none told */
    double scale;                   /* values x scale are in that unit; 0: not told */
    char *name;                     /* owned by the table's arena; NULL until known */
    const struct fm_trace *trace;  /* of a tracepoint whose format is known, there too */
    struct fm_sched_event sched;   /* set when declared */
    int class_id;                   /* of the binding; see sample.c */
    bool declared;
    bool direct;                    /* tells of waits in RAW: see sample.c */
    uint64_t wanted;                /* fields, see sample.h */
    uint64_t fixed;                 /* fields that stand in every sample */
    uint64_t seen;                  /* samples */
    uint64_t lost_records, lost_samples;
    uint64_t group_seen;
    /* byte offsets from the start of a SAMPLE record */
    uint8_t ip, tid, time, addr, id, stream, cpu, period, body;  /* body: behind them */
    /* byte offsets from the END of any other record, or FM_PERF_NO_FIELD */
    uint8_t end_tid, end_time, end_id, end_cpu, trailer;  /* trailer: its size */
};

struct fm_perf_events {
    struct fm_arena arena;
    struct fm_perf_event *event;
    size_t n, cap;
    struct fm_map id;               /* event id -> number of the event */
    struct fm_map read;             /* (id, tid) -> last counter value */
    bool same_layout;               /* one sample_type and one sample_id_all for all */
    bool timed;                     /* some event's samples carry a time */
    /* common places of the id; FM_PERF_NO_FIELD when there is none */
    uint8_t sample_id, end_id;
};

void fm_perf_events_init(struct fm_perf_events *events, struct fm_mem *mem);
void fm_perf_events_release(struct fm_perf_events *events);

/* Reads an attribute of n bytes (as much as the file has for it); false: fewer than 64. `big`: the
 * writer was big-endian, whose bit-fields run the other way. */
bool fm_perf_attr_read(struct fm_cursor *c, size_t n, bool big, struct fm_perf_attr *attr);

/* Adds an event, or finds it when id[0] or (without ids) an equal attribute is known. NULL: no
 * memory. Ids are added by fm_perf_events_id(). */
struct fm_perf_event *fm_perf_events_add(struct fm_perf_events *events,
                                         const struct fm_perf_attr *attr);
/* id belongs to event number e; the first owner stays. false: no memory. */
bool fm_perf_events_id(struct fm_perf_events *events, uint64_t id, size_t e);
/* The event with an id, or NULL. */
struct fm_perf_event *fm_perf_events_find(const struct fm_perf_events *events, uint64_t id);
/* Called when all attributes are known, and again when more come: finds out where ids are. */
void fm_perf_events_settle(struct fm_perf_events *events);

/* The event of a SAMPLE (n bytes at p, whole record), NULL when its id is unknown; of any other
 * record: the first event when unknown. */
struct fm_perf_event *fm_perf_events_of_sample(struct fm_perf_events *events,
                                               const unsigned char *p, size_t n, bool swap);
struct fm_perf_event *fm_perf_events_of_record(struct fm_perf_events *events,
                                               const unsigned char *p, size_t n, bool swap);

/* Sets the name (copied); false: no memory. */
bool fm_perf_event_rename(struct fm_perf_events *events, struct fm_perf_event *event,
                          const char *name, size_t n);
/* The name; made from type and config, as perf prints it, when the file did not tell. NULL: no
 * memory. */
const char *fm_perf_event_name(struct fm_perf_events *events, struct fm_perf_event *event);

static inline uint64_t fm_perf_u64(const unsigned char *p, bool swap)
{
    uint64_t v = fm_load_u64(p);
    return swap ? __builtin_bswap64(v) : v;
}

static inline uint32_t fm_perf_u32(const unsigned char *p, bool swap)
{
    uint32_t v = fm_load_u32(p);
    return swap ? __builtin_bswap32(v) : v;
}

#endif
