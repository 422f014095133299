/*
 * jfrjson.h - the right values of a recording: every event as an independent reader decoded it,
 * ../shared/data/jfr/X/expected/NAME.json.gz. See section 13 of the format's reference.
 */
#ifndef TESTS_JFRJSON_H
#define TESTS_JFRJSON_H

#include "input/input.h"

struct jx_frame {
    const char *class, *method, *descriptor, *type;
    int64_t line, bci;
};

struct jx_stack {
    bool truncated;
    struct jx_frame *frame;      /* leaf first */
    size_t frames;
};

struct jx_thread {
    const char *os, *java;       /* NULL: null */
    int64_t os_id, java_id;
    bool is_virtual;
};

/* Numbers that an event may have, by field name: see jfrjson.c. */
enum jx_number {
    JX_SAMPLES, JX_TLAB, JX_ALLOC_SIZE, JX_WEIGHT, JX_SIZE, JX_ADDRESS, JX_PERIOD, JX_TIME_SPAN,
    JX_ALLOC_TIME, JX_OBJECT_SIZE, JX_BYTES_READ, JX_BYTES_WRITTEN, JX_NUMBERS
};

#define JX_NULL SIZE_MAX         /* a null in the file */
#define JX_ABSENT (SIZE_MAX - 1) /* no such field */

struct jx_event {
    const char *type;
    int64_t start, dur;          /* ns since 1970, ns */
    bool timed, has_dur;
    size_t thread, stack;        /* places in the tables, JX_NULL, JX_ABSENT */
    const char *thread_name;     /* version 0.9 */
    const char *state, *class, *method; /* NULL: null or absent */
    bool has_class;
    uint32_t has;                /* bit per enum jx_number */
    int64_t number[JX_NUMBERS];
};

struct jx_count {
    const char *type;
    uint64_t events;
};

struct jx {
    struct jx_count *count;
    struct jx_thread *thread;
    struct jx_stack *stack;
    struct jx_event *event;
    size_t counts, threads, stacks, events, chunks;
    bool old;                    /* version 0.9 */
    char *text;                  /* all strings */
};

/* Aborts with a message when the file is not as it should be; false when it cannot be opened. */
bool jx_load(struct jx *x, struct fm_ctx *ctx, const char *path);
void jx_free(struct jx *x);

#endif
