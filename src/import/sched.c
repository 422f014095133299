/*
 * sched.c - time off the CPU, in the run queue, and wake-ups: rows made of scheduler events.
 *
 *     sched_switch   prev_pid P, prev_state S     P goes off the CPU; the sample's stack is its
 *                    next_pid N                   N, which went off at t0, is back: t2
 *     sched_waking, sched_wakeup   pid P          P, which is off, is woken: t1 (the first counts)
 *
 *     offcpu   [t0, t2)  stack and CPU of P at t0, state S     every pair
 *     runq     [t1, t2)  the same, linked to the waker's row   pairs with a wake-up
 *              [t0, t2)                                        pairs of a preempted thread: S is R
 *     wakeups  t1        the same, linked to the waker's row
 *
 * Pid 0 is the idle task: left out. A recording of one process has no sample when one of its
 * threads comes back; its next sample of any event then ends the interval: an upper bound, which is
 * marked (label bounded) and counted. A recording of all threads (perf record -a; or the idle task
 * was seen) has every return, and an interval without one is then counted and left out.
 *
 * Without sched_switch the SWITCH records of --switch-events say when a thread left and came back:
 * the same rows, without stacks, their states known only when a thread was preempted.
 *
 * What the rows become is in formats/perf.yaml: classes sched/offcpu, sched/runq, sched/wakeups;
 * what queries expect of them is told in query/from.c. The rule of pairing is that of the Linux
 * scheduler's events as perf's own tools read them.
 */
#include "import/sched.h"

#include "import/import.h"

enum { OFFCPU, RUNQ, WAKEUPS };
enum { F_TIME, F_DUR, F_STACK, F_THREAD, F_COMM, F_CPU, F_STATE, F_BOUNDED, FIELDS };

static const struct fm_field field[FIELDS] = {
    [F_TIME] = {"time", FM_TYPE_TIME, NULL},       [F_DUR] = {"dur", FM_TYPE_DUR, NULL},
    [F_STACK] = {"stack", FM_TYPE_STACK, NULL},    [F_THREAD] = {"thread", FM_TYPE_THREAD, NULL},
    [F_COMM] = {"comm", FM_TYPE_STRING, NULL},     [F_CPU] = {"cpu", FM_TYPE_I64, NULL},
    [F_STATE] = {"state", FM_TYPE_STRING, NULL},   [F_BOUNDED] = {"bounded", FM_TYPE_BOOL, NULL},
};

/* The kernel's letters since 4.14, for formats whose table is not there. */
static const struct fm_trace_flag usual[] = {
    {0x01, "S"}, {0x02, "D"}, {0x04, "T"}, {0x08, "t"}, {0x10, "X"}, {0x20, "Z"}, {0x40, "P"},
    {0x80, "I"}};

void fm_sched_init(struct fm_sched *s, const struct fm_import *import)
{
    memset(s, 0, sizeof *s);
    s->mem = &import->ctx->mem;
    s->builder = import->builder;
    s->only = import->options != NULL ? import->options->events : NULL;
    fm_map_init(&s->by_tid, s->mem);
}

void fm_sched_release(struct fm_sched *s)
{
    fm_map_release(&s->by_tid);
    fm_mem_free(s->mem, s->off, s->off_cap * sizeof *s->off);
}

void fm_sched_event(struct fm_sched *s, const char *name,
                    const struct fm_trace *trace, struct fm_sched_event *event)
{
    memset(event, 0, sizeof *event);
    if (trace == NULL || !trace->sched)
        return;
    event->trace = trace;
    if (strcmp(name, "sched:sched_switch") == 0) {
        event->prev = fm_trace_find(trace, "prev_pid");
        event->next = fm_trace_find(trace, "next_pid");
        event->state = fm_trace_find(trace, "prev_state");
        if (event->prev != NULL && event->next != NULL) {
            event->role = FM_SCHED_SWITCH;
            s->switches = true;
        }
    } else if (strcmp(name, "sched:sched_waking") == 0 ||
               strcmp(name, "sched:sched_wakeup") == 0) {
        event->pid = fm_trace_find(trace, "pid");
        if (event->pid != NULL)
            event->role = FM_SCHED_WAKE;
    }
}

/* ------------------------------------------------------------------ rows */

static bool declare(struct fm_sched *s)
{
    static const char *const name[] = {"sched/offcpu", "sched/runq", "sched/wakeups"};
    if (s->declared)
        return true;
    s->declared = true;
    /* rows that are worked out are made only when somebody may want them */
    fm_binding_only(s->binding, s->only);
    for (size_t i = 0; i < FM_COUNT(name); i++) {
        s->class_id[i] = fm_class_declare(s->binding, name[i], field, FIELDS, 0, NULL);
        if (s->class_id[i] == -2)
            return false;
        s->wanted |= s->class_id[i] >= 0;
    }
    fm_binding_only(s->binding, NULL);
    return true;
}

static void put(uint64_t *value, uint64_t *present, unsigned f, uint64_t v)
{
    if (v == UINT64_MAX)
        return;
    value[f] = v;
    *present |= UINT64_C(1) << f;
}

/* A row about a thread that was off; `waker` is the row it is linked to, or UINT64_MAX. */
static bool add(struct fm_sched *s, unsigned class, const struct fm_sched_off *off, uint64_t from,
                uint64_t to, bool bounded, uint64_t waker)
{
    uint64_t value[FIELDS], present = 0, row;
    if (s->class_id[class] < 0)
        return true;
    put(value, &present, F_TIME, from);
    if (class != WAKEUPS)
        put(value, &present, F_DUR, to - from);
    put(value, &present, F_STACK, off->stack);
    put(value, &present, F_THREAD, off->thread);
    put(value, &present, F_COMM, off->comm);
    put(value, &present, F_CPU, off->cpu);
    put(value, &present, F_STATE, off->state != 0 ? off->state : UINT64_MAX);
    if (bounded)
        put(value, &present, F_BOUNDED, 1);
    row = fm_event(s->binding, s->class_id[class], value, &present);
    if (row == UINT64_MAX)
        return fm_builder_status(s->builder) == FM_OK;
    if (waker != UINT64_MAX)
        fm_builder_link(s->builder, FM_LINK_WAKER, row, FM_LINK_ROW, waker);
    return true;
}

/* ------------------------------------------------------------------ pairing */

static struct fm_sched_off *find(struct fm_sched *s, int32_t tid)
{
    const uint64_t *place = fm_map_find(&s->by_tid, (uint32_t)tid);
    return place != NULL ? &s->off[*place] : NULL;
}

/* NULL: no memory, and failed. */
static struct fm_sched_off *get(struct fm_sched *s, int32_t tid)
{
    bool fresh;
    uint64_t *place = fm_map_put(&s->by_tid, (uint32_t)tid, &fresh);
    if (place != NULL && fresh) {
        if (!fm_grow(s->mem, (void **)&s->off, &s->off_cap, s->offs + 1, sizeof *s->off)) {
            place = NULL;
        } else {
            *place = s->offs;
            memset(&s->off[s->offs++], 0, sizeof *s->off);
        }
    }
    if (place == NULL) {
        return NULL;
    }
    return &s->off[*place];
}

static bool come_back(struct fm_sched *s, struct fm_sched_off *off, uint64_t now, bool bounded)
{
    uint64_t waker = off->woken ? off->waker : UINT64_MAX;
    off->off = false;
    if (now < off->since) {
        s->alone++;
        return true;
    }
    s->made++;
    s->bounded += bounded;
    if (!add(s, OFFCPU, off, off->since, now, bounded, waker))
        return false;
    if (off->preempted)
        return add(s, RUNQ, off, off->since, now, bounded, UINT64_MAX);
    if (!off->woken || now < off->wake_time) /* woken after its return: late records */
        return true;
    return add(s, RUNQ, off, off->wake_time, now, bounded, waker);
}

static bool go_off(struct fm_sched *s, int32_t tid, const struct fm_sched_moment *m, fm_str state,
                   bool preempted)
{
    struct fm_sched_off *off = get(s, tid);
    if (off == NULL)
        return false;
    if (off->off)
        s->alone++;       /* it came back unseen */
    *off = (struct fm_sched_off){.off = true, .preempted = preempted, .since = m->time,
                                .thread = m->thread, .comm = m->comm, .stack = m->stack,
                                .cpu = m->cpu, .state = state};
    return true;
}

/* "S", "D", "R+", "D|K": by the kernel's table; *preempted for those that could have run on. */
static fm_str state_text(struct fm_sched *s, const struct fm_trace *trace, uint64_t state,
                         bool *preempted)
{
    const struct fm_trace_flag *flag = trace->flags > 0 ? trace->flag : usual;
    size_t flags = trace->flags > 0 ? trace->flags : FM_COUNT(usual), n = 0;
    uint64_t top = 0;
    char text[FM_TRACE_FLAGS * sizeof flag->letter + 1];
    for (size_t i = 0; i < flags; i++) {
        top = FM_MAX(top, flag[i].bit);
        if (flag[i].bit == 0 || (state & flag[i].bit) != flag[i].bit)
            continue;
        if (n > 0)
            text[n++] = '|';
        for (size_t k = 0; flag[i].letter[k] != '\0'; k++)
            text[n++] = flag[i].letter[k];
    }
    *preempted = n == 0;
    if (n == 0)
        text[n++] = 'R';
    if (top < UINT64_C(1) << 62 && (state & top << 1) != 0)
        text[n++] = '+';
    return fm_builder_str(s->builder, text, n);
}

static bool number(struct fm_sched *s, const struct fm_trace_field *f,
                   const struct fm_sched_moment *m, uint64_t *v)
{
    return f != NULL && f->type != FM_TYPE_STRING &&
           fm_trace_value(s->builder, f, m->raw, m->raw_n, s->swap, v);
}

static bool on_switch(struct fm_sched *s, const struct fm_sched_event *event,
                      const struct fm_sched_moment *m)
{
    uint64_t prev, next, bits = 0;
    bool preempted = false;
    fm_str state = 0;
    if (!number(s, event->prev, m, &prev) || !number(s, event->next, m, &next)) {
        fm_builder_diag(s->builder, FM_DIAG_TRACE_PAYLOAD, m->offset, 1);
        return true;
    }
    struct fm_sched_off *off = next != 0 ? find(s, (int32_t)next) : NULL;
    if (off != NULL && off->off) {
        if (!come_back(s, off, m->time, false))
            return false;
    } else if (next != 0) {
        s->alone++;
    }
    if (prev == 0) {
        s->everywhere = true;
        return true;
    }
    if (number(s, event->state, m, &bits))
        state = state_text(s, event->trace, bits, &preempted);
    return go_off(s, (int32_t)prev, m, state, preempted);
}

static bool on_wake(struct fm_sched *s, const struct fm_sched_event *event,
                    const struct fm_sched_moment *m)
{
    uint64_t pid;
    if (!number(s, event->pid, m, &pid)) {
        fm_builder_diag(s->builder, FM_DIAG_TRACE_PAYLOAD, m->offset, 1);
        return true;
    }
    struct fm_sched_off *off = pid != 0 ? find(s, (int32_t)pid) : NULL;
    if (off == NULL || !off->off || off->preempted || m->time < off->since) {
        s->wake_alone++;
        return true;
    }
    if (off->woken)
        return true;               /* sched_wakeup behind sched_waking */
    off->woken = true;
    off->wake_time = m->time;
    off->waker = m->row;
    return add(s, WAKEUPS, off, m->time, m->time, false, m->row);
}

bool fm_sched_sample(struct fm_sched *s, const struct fm_sched_event *event,
                     const struct fm_sched_moment *m)
{
    if (!declare(s))
        return false;
    if (!s->wanted || m->time == UINT64_MAX)
        return true;
    if (!s->everywhere && m->tid > 0) {
        struct fm_sched_off *off = find(s, m->tid);
        if (off != NULL && off->off && !come_back(s, off, m->time, true))
            return false;
    }
    switch (event->role) {
    case FM_SCHED_SWITCH:
        return on_switch(s, event, m);
    case FM_SCHED_WAKE:
        return on_wake(s, event, m);
    default:
        return true;
    }
}

bool fm_sched_record(struct fm_sched *s, bool out, bool preempted,
                     const struct fm_sched_moment *m)
{
    if (s->switches)
        return true;
    if (!declare(s))
        return false;
    if (!s->wanted || m->time == UINT64_MAX || m->tid <= 0)
        return true;
    if (out)
        return go_off(s, m->tid, m, preempted ? fm_builder_str(s->builder, "R", 1) : 0,
                      preempted);
    struct fm_sched_off *off = find(s, m->tid);
    if (off != NULL && off->off)
        return come_back(s, off, m->time, false);
    s->alone++;
    return true;
}

void fm_sched_finish(struct fm_sched *s)
{
    uint64_t open = 0;
    if (!s->wanted)
        return;
    for (size_t i = 0; i < s->offs; i++)
        open += s->off[i].off;
    fm_builder_diag(s->builder, FM_DIAG_SCHED_PAIRS, FM_NO_OFFSET, s->made);
    fm_builder_diag(s->builder, FM_DIAG_SCHED_OPEN, FM_NO_OFFSET, open);
    fm_builder_diag(s->builder, FM_DIAG_SCHED_ALONE, FM_NO_OFFSET, s->alone);
    fm_builder_diag(s->builder, FM_DIAG_SCHED_BOUND, FM_NO_OFFSET, s->bounded);
    fm_builder_diag(s->builder, FM_DIAG_WAKE_ALONE, FM_NO_OFFSET, s->wake_alone);
}
