/*
 * plan.h - how to read the events of a type: steps over its stored fields, made from the metadata
 * and from what the mapping wants.
 *
 *     stored      startTime  sampledThread^  stackTrace^  state^  contextId       (^ = pool key)
 *     wanted          x                          x          x
 *     steps       TIME -> 0    skip 1 varint  STACK -> 2  TEXT -> 3                stop
 *
 * Structs are offered with dotted names, whether they are stored in place (heapSpace.used) or in a
 * pool (object.type, eventThread.virtual), to a depth of 3. Arrays are stepped over.
 */
#ifndef FM_IMPORT_JFR_PLAN_H
#define FM_IMPORT_JFR_PLAN_H

#include "import/jfr/resolve.h"

#define FM_JFR_NO_SLOT UINT16_MAX

enum fm_jfr_op {
    FM_JFR_OP_SKIP_VARINTS, FM_JFR_OP_SKIP, /* n varints; steps [first, first + n) of meta->skip */
    FM_JFR_OP_BOOLEAN, FM_JFR_OP_BYTE, FM_JFR_OP_FLOAT, FM_JFR_OP_DOUBLE, FM_JFR_OP_STRING,
    FM_JFR_OP_OTHER = FM_JFR_OP_STRING,     /* those behind it begin with a varint */
    FM_JFR_OP_INTEGER,                      /* char, short, int, long */
    FM_JFR_OP_NS,                           /* one whose `as` is a time or a span */
    FM_JFR_OP_TEXT, FM_JFR_OP_CLASS, FM_JFR_OP_METHOD, FM_JFR_OP_THREAD, FM_JFR_OP_STACK,
    FM_JFR_OP_STRUCT                        /* a pool key whose value is read by `sub` */
};

/* A key seen before: few keys make most of the events. */
#define FM_JFR_SEEN_FEW 8u
#define FM_JFR_SEEN_MANY 64u      /* of types with many events */
struct fm_jfr_seen {
    uint64_t key;
    uint32_t lane;
    bool has;
};

struct fm_jfr_step {
    uint8_t op, as, base, width; /* width: of an integer that is not compressed */
    bool is_unsigned;
    uint16_t slot;              /* field of the declaration */
    uint32_t class;             /* of the pool */
    uint32_t first, n;
    uint32_t mask;
    struct fm_jfr_seen *seen;   /* by key & mask; keys only */
    struct fm_jfr_plan *sub;    /* fields of the pool's value, or NULL */
};

struct fm_jfr_plan {
    struct fm_jfr_step *step;
    size_t n;
};

struct fm_jfr_reading {
    struct fm_jfr_feed *feed;
    struct fm_jfr_chunk *chunk;
    struct fm_jfr_resolver *resolver;
};

/* Declares an event class and makes its plan, in the chunk's arena. A class that no rule takes has
 * event->id FM_CLASS_UNMAPPED. false: no memory. */
bool fm_jfr_plan_make(struct fm_jfr_reading *reading, uint32_t class, struct fm_jfr_event *event,
                      struct fm_jfr_plan **plan);

/* Reads an event's payload. The cursor may reach behind the event: look where it stands. */
void fm_jfr_plan_run(struct fm_jfr_reading *reading, struct fm_jfr_plan *plan,
                     struct fm_cursor *c, struct fm_jfr_event *event);

#endif
