/*
 * trace.h - what a tracepoint's payload (RAW) holds, from the format text of its event.
 */
#ifndef FM_IMPORT_TRACE_H
#define FM_IMPORT_TRACE_H

#include "store/build.h"
#include "util/mem.h"

enum fm_trace_form {
    FM_TRACE_NUMBER,          /* 1, 2, 4 or 8 bytes */
    FM_TRACE_SIGNED,
    FM_TRACE_CHARS,           /* text of a fixed size (0: all that is left), ends at NUL */
    FM_TRACE_DYNAMIC,         /* u32: offset of a text in the payload | size << 16 */
    FM_TRACE_RELATIVE         /* the same, offset from behind the u32 */
};

struct fm_trace_field {
    const char *name;              /* "args.prev_pid": the field of the class */
    enum fm_type type;
    enum fm_trace_form form;
    uint32_t offset, size;         /* bytes in the payload */
};

/* A flag of sched_switch's prev_state and its letter, as the format's own table has them. */
struct fm_trace_flag {
    uint64_t bit;
    char letter[4];
};
#define FM_TRACE_FLAGS 16u
#define FM_TRACE_FIELDS 40u   /* with those of every sample at most 64 */

struct fm_trace {
    const struct fm_trace_field *field;
    size_t fields;
    const struct fm_trace_flag *flag;
    size_t flags;
    bool sched;                    /* of the system "sched" */
};

/* The name of the event that a format text (n bytes) describes, not terminated, and its id; NULL
 * when it does not tell both. */
const char *fm_trace_name(const char *text, size_t n, size_t *name_n, uint64_t *id);

/*
 * The fields of an event from its format text (n bytes), through libtraceevent; arrays of numbers
 * and fields past FM_TRACE_FIELDS are left out. The result lives in the arena. false: no
 * memory. *trace is NULL when the text does not parse.
 */
bool fm_trace_parse(struct fm_arena *arena, const char *system, const char *text, size_t n,
                    unsigned long_size, bool big, const struct fm_trace **trace);

/* The field "args.NAME", or NULL. */
const struct fm_trace_field *fm_trace_find(const struct fm_trace *trace,
                                           const char *name);
/* Its value as a lane; texts are interned. false: the payload of n bytes does not hold it. */
bool fm_trace_value(struct fm_builder *builder, const struct fm_trace_field *field,
                    const unsigned char *raw, size_t n, bool swap, uint64_t *value);

#endif
