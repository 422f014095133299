/*
 * sched.h - time off the CPU and in the run queue, from scheduler events.
 */
#ifndef FM_IMPORT_SCHED_H
#define FM_IMPORT_SCHED_H

#include "import/trace.h"
#include "util/map.h"

struct fm_import;
struct fm_binding;

/* What an event is to the scheduler; of an event, found once. */
enum fm_sched_role { FM_SCHED_NONE, FM_SCHED_SWITCH, FM_SCHED_WAKE };
struct fm_sched_event {
    enum fm_sched_role role;
    const struct fm_trace *trace;
    const struct fm_trace_field *prev, *next, *state;  /* pids and prev_state of a switch */
    const struct fm_trace_field *pid;                  /* of a wake-up */
};

/* A thread that is off the CPU. */
struct fm_sched_off {
    bool off, preempted, woken;
    uint64_t since;                /* ns */
    uint64_t thread, comm, stack, cpu;   /* rows, ids; UINT64_MAX: not known */
    fm_str state;                  /* "S", "D", "R+"; 0 unknown */
    uint64_t wake_time, waker;     /* the first wake-up since then, and its row */
};

struct fm_sched {
    struct fm_mem *mem;
    struct fm_builder *builder;
    struct fm_binding *binding;    /* set by the importer before the first event */
    const char *only;              /* what --event names */
    bool swap;                     /* payloads are in the other byte order */
    struct fm_map by_tid;          /* tid -> number + 1 in `off` */
    struct fm_sched_off *off;
    size_t offs, off_cap;
    int class_id[3];               /* offcpu, runq, wakeups */
    bool declared, wanted;
    bool switches;                 /* sched_switch is recorded: SWITCH records say nothing new */
    bool everywhere;               /* of all threads: the file says so, or the idle task was seen */
    uint64_t made, bounded, alone, wake_alone;
};

/* A sample, as far as it matters here; UINT64_MAX: not known. */
struct fm_sched_moment {
    uint64_t time;
    int32_t tid;
    uint64_t thread, comm, stack, cpu;
    uint64_t row, offset;          /* offset: in the input, for findings */
    const unsigned char *raw;
    size_t raw_n;
};

void fm_sched_init(struct fm_sched *s, const struct fm_import *import);
void fm_sched_release(struct fm_sched *s);
/* Whether the event tells of scheduling: fills *event. */
void fm_sched_event(struct fm_sched *s, const char *name,
                    const struct fm_trace *trace, struct fm_sched_event *event);
/* A sample in its turn, of an event with that role. false: no memory, here as below. */
bool fm_sched_sample(struct fm_sched *s, const struct fm_sched_event *event,
                     const struct fm_sched_moment *m);
/* A SWITCH record: the thread left the CPU (out), or came back. */
bool fm_sched_record(struct fm_sched *s, bool out, bool preempted,
                     const struct fm_sched_moment *m);
/* The account: what was never paired. */
void fm_sched_finish(struct fm_sched *s);

#endif
