/*
 * stat.c - counters that are no samples: intervals of perf stat record, and the totals that perf
 * record -s writes when a thread ends.
 *
 *     75 STAT_CONFIG  u64 nr, nr x { u64 tag, value }; tag 1: milliseconds of an interval, or 0
 *     76 STAT         u64 id; u32 cpu, thread (place in the THREAD_MAP);
 *                     u64 value, enabled, running
 *     77 STAT_ROUND   u64 kind (0 interval, 1 final), u64 ns since the beginning
 *      8 READ         u32 pid, tid; u64 value, [enabled], [running], [id], [lost]
 *     78 EVENT_UPDATE unit and scale: value x scale is in that unit
 *
 * STAT values are counts since the beginning; a row is what was added in its interval, from the
 * round before to its own. Values wait for the round that ends their interval. perf writes the last
 * values once more behind the last round: rows of them only say something when they have moved.
 * Where a counter had to share its hardware, it is scaled by enabled / running, as perf does. READ
 * values are not: a thread's counter exists once a CPU, and does not run while it is on another.
 *
 * Layout: Linux tools/perf as observed in 6.1 and 6.12.
 */
#include "import/perf/session.h"

enum { NAME, TIME, DUR, VALUE, UNIT, CPU, THREAD, ENABLED, RUNNING, FIELDS };

static const struct fm_field field[FIELDS] = {
    [NAME] = {"name", FM_TYPE_STRING, NULL},   [TIME] = {"time", FM_TYPE_TIME, NULL},
    [DUR] = {"dur", FM_TYPE_DUR, "ns"},        [VALUE] = {"value", FM_TYPE_F64, NULL},
    [UNIT] = {"unit", FM_TYPE_STRING, NULL},   [CPU] = {"cpu", FM_TYPE_I64, NULL},
    [THREAD] = {"thread", FM_TYPE_THREAD, NULL}, [ENABLED] = {"enabled", FM_TYPE_DUR, "ns"},
    [RUNNING] = {"running", FM_TYPE_DUR, "ns"}};

struct fm_perf_stat_value {
    size_t event;
    uint32_t cpu, thread;
    uint64_t value, enabled, running, offset;
};

struct count {
    uint64_t value, enabled, running;
};

void fm_perf_stat_init(struct fm_perf_stat *stat, struct fm_mem *mem)
{
    memset(stat, 0, sizeof *stat);
    fm_map_init(&stat->by_key, mem);
}

void fm_perf_stat_release(struct fm_perf_stat *stat, struct fm_mem *mem)
{
    fm_map_release(&stat->by_key);
    fm_mem_free(mem, stat->pending, stat->pending_cap * sizeof *stat->pending);
    fm_mem_free(mem, stat->last, stat->last_cap * sizeof *stat->last);
    fm_mem_free(mem, stat->tid, stat->tid_cap * sizeof *stat->tid);
}

bool fm_perf_stat_thread(struct fm_perf *perf, int32_t tid)
{
    struct fm_perf_stat *stat = &perf->stat;
    if (!fm_grow(&perf->ctx->mem, (void **)&stat->tid, &stat->tid_cap, stat->tids + 1,
                 sizeof *stat->tid))
        return fm_perf_fail(perf, FM_NOMEM);
    stat->tid[stat->tids++] = tid;
    return true;
}

static void set(uint64_t *value, uint64_t *present, unsigned f, uint64_t v)
{
    value[f] = v;
    *present |= 1ull << f;
}

/* In the event's unit; `shared`: scaled up when the counter ran for a part of the time only. */
static double scaled(const struct fm_perf_event *event, const struct count *count, bool shared)
{
    double value = (double)count->value;
    if (shared && count->running > 0 && count->running < count->enabled)
        value *= (double)count->enabled / (double)count->running;
    return event->scale != 0 ? value * event->scale : value;
}

/* A row; value[] holds time, duration, CPU and thread as far as known. */
static bool add(struct fm_perf *perf, const char *class, int *id, struct fm_perf_event *event,
                const struct count *count, uint64_t *value, uint64_t present)
{
    const char *name = fm_perf_event_name(&perf->events, event);
    if (name == NULL)
        return fm_perf_fail(perf, FM_NOMEM);
    if (*id == 0)
        *id = fm_class_declare(perf->binding, class, field, FIELDS, 0, NULL) + 1;
    if (*id <= 0)
        return *id != -1 || fm_perf_fail(perf, FM_NOMEM);
    const char *unit = event->unit != NULL ? event->unit : "";
    set(value, &present, NAME, fm_builder_str(perf->builder, name, strlen(name)));
    set(value, &present, UNIT, fm_builder_str(perf->builder, unit, strlen(unit)));
    set(value, &present, VALUE, fm_f64_bits(scaled(event, count, id == &perf->stat.class_id[0])));
    set(value, &present, ENABLED, count->enabled);
    set(value, &present, RUNNING, count->running);
    return fm_event(perf->binding, *id - 1, value, &present) != UINT64_MAX ||
           fm_builder_status(perf->builder) == FM_OK || fm_perf_fail(perf, FM_NOMEM);
}

static bool set_thread(struct fm_perf *perf, int32_t pid, int32_t tid, uint64_t *value,
                       uint64_t *present)
{
    struct fm_perf_thread *thread = fm_perf_machine_thread(&perf->machine, pid, tid);
    if (thread == NULL || !fm_perf_machine_row(&perf->machine, thread))
        return fm_perf_fail(perf, FM_NOMEM);
    set(value, present, THREAD, thread->row);
    return true;
}

void fm_perf_stat_config(struct fm_perf *perf, struct fm_cursor *c)
{
    uint64_t n = fm_cursor_u64(c);
    for (uint64_t i = 0; i < n && fm_cursor_left(c) >= 16; i++) {
        uint64_t tag = fm_cursor_u64(c), value = fm_cursor_u64(c);
        if (tag == 1)
            perf->stat.intervals = value != 0;
    }
}

bool fm_perf_stat_value(struct fm_perf *perf, struct fm_cursor *c, uint64_t offset)
{
    struct fm_perf_stat *stat = &perf->stat;
    uint64_t id = fm_cursor_u64(c);
    struct fm_perf_stat_value v = {.cpu = fm_cursor_u32(c), .thread = fm_cursor_u32(c),
                                   .offset = offset};
    v.value = fm_cursor_u64(c);
    v.enabled = fm_cursor_u64(c);
    v.running = fm_cursor_u64(c);
    struct fm_perf_event *event = fm_perf_events_find(&perf->events, id);
    if (!fm_cursor_ok(c))
        return true;
    if (event == NULL) {
        fm_perf_note(perf, FM_DIAG_STAT_ID, offset, 1);
        return true;
    }
    v.event = (size_t)(event - perf->events.event);
    if (!fm_grow(&perf->ctx->mem, (void **)&stat->pending, &stat->pending_cap,
                 stat->pendings + 1, sizeof *stat->pending))
        return fm_perf_fail(perf, FM_NOMEM);
    stat->pending[stat->pendings++] = v;
    return true;
}

/* What was added to the counter since its last value; NULL: no memory. */
static bool since_last(struct fm_perf *perf, const struct fm_perf_stat_value *v,
                       struct count *count)
{
    struct fm_perf_stat *stat = &perf->stat;
    uint64_t key = fm_mix(fm_mix(v->event, v->cpu), v->thread);
    bool fresh;
    uint64_t *number = fm_map_put(&stat->by_key, key, &fresh);
    if (number == NULL)
        return false;
    if (fresh) {
        if (!fm_grow(&perf->ctx->mem, (void **)&stat->last, &stat->last_cap, stat->lasts + 1,
                     sizeof *stat->last))
            return false;
        memset(&stat->last[stat->lasts], 0, sizeof *stat->last);
        *number = stat->lasts++;
    }
    struct fm_perf_stat_last *last = &stat->last[*number];
    /* a value that went back was counted anew */
    count->value = v->value >= last->value ? v->value - last->value : v->value;
    count->enabled = v->enabled >= last->enabled ? v->enabled - last->enabled : v->enabled;
    count->running = v->running >= last->running ? v->running - last->running : v->running;
    *last = (struct fm_perf_stat_last){v->value, v->enabled, v->running};
    return true;
}

/* Rows of the values that wait; `end`: of their interval, UINT64_MAX when nothing tells. */
static bool flush(struct fm_perf *perf, uint64_t end)
{
    struct fm_perf_stat *stat = &perf->stat;
    for (size_t i = 0; i < stat->pendings; i++) {
        const struct fm_perf_stat_value *v = &stat->pending[i];
        struct fm_perf_event *event = &perf->events.event[v->event];
        struct count count = {v->value, v->enabled, v->running};
        uint64_t value[FIELDS] = {0}, present = 0;
        if (stat->intervals && !since_last(perf, v, &count))
            return fm_perf_fail(perf, FM_NOMEM);
        if (end == UINT64_MAX && stat->rounds > 0 && count.value == 0)
            continue;
        if (end != UINT64_MAX) {
            set(value, &present, TIME, stat->from);
            set(value, &present, DUR, end - stat->from);
        }
        if (v->cpu != UINT32_MAX)
            set(value, &present, CPU, v->cpu);
        if (v->thread < stat->tids && stat->tid[v->thread] > 0 &&
            !set_thread(perf, -1, stat->tid[v->thread], value, &present))
            return false;
        perf->offset = v->offset;
        if (!add(perf, "stat/counter", &stat->class_id[0], event, &count, value, present))
            return false;
    }
    stat->pendings = 0;
    return true;
}

bool fm_perf_stat_round(struct fm_perf *perf, struct fm_cursor *c)
{
    struct fm_perf_stat *stat = &perf->stat;
    fm_cursor_skip(c, 8);
    uint64_t end = fm_cursor_u64(c);
    if (!fm_cursor_ok(c))
        return true;
    bool usable = end <= INT64_MAX && end >= stat->from;
    bool going = flush(perf, usable ? end : UINT64_MAX);
    stat->rounds++;
    if (usable && stat->intervals)
        stat->from = end;
    return going;
}

bool fm_perf_stat_finish(struct fm_perf *perf)
{
    return perf->status != FM_OK || flush(perf, UINT64_MAX);
}

bool fm_perf_read_total(struct fm_perf *perf, struct fm_perf_event *event, struct fm_cursor *c,
                        uint64_t time)
{
    uint64_t value[FIELDS] = {0}, present = 0;
    int32_t pid = fm_cursor_i32(c), tid = fm_cursor_i32(c);
    struct count count = {.value = fm_cursor_u64(c)};
    if (event == NULL || (event->attr.read_format & FM_PERF_READ_GROUP) != 0)
        return true;
    if ((event->attr.read_format & FM_PERF_READ_ENABLED) != 0)
        count.enabled = fm_cursor_u64(c);
    if ((event->attr.read_format & FM_PERF_READ_RUNNING) != 0)
        count.running = fm_cursor_u64(c);
    if ((event->attr.read_format & FM_PERF_READ_ID) != 0) {
        struct fm_perf_event *owner = fm_perf_events_find(&perf->events, fm_cursor_u64(c));
        event = owner != NULL ? owner : event;
    }
    if (!fm_cursor_ok(c))
        return true;
    if (time != 0 && time <= INT64_MAX)
        set(value, &present, TIME, time);
    if (!set_thread(perf, pid, tid, value, &present))
        return false;
    return add(perf, "read/total", &perf->stat.class_id[1], event, &count, value, present);
}
