/*
 * record.c - records other than samples, in their turn: kernel records change the machine, perf's
 * own ones events, names and build-ids.
 *
 *     u32 type, u16 misc, u16 size | body | trailer (event.c), when the event has sample_id_all
 *
 *     1 MMAP      u32 pid, tid; u64 addr, len, pgoff; char file[]
 *    10 MMAP2     u32 pid, tid; u64 addr, len, pgoff; 24 bytes { u32 maj, min; u64 ino, gen } or,
 *                 with misc bit 14, { u8 size, u8, u16, u8 build_id[20] }; u32 prot, flags;
 *                 char file[]
 *     3 COMM      u32 pid, tid; char comm[]
 *   4,7 EXIT FORK u32 pid, ppid, tid, ptid; u64 time
 *     2 LOST      u64 id, lost            13 LOST_SAMPLES  u64 lost
 *    16 NAMESPACES u32 pid, tid; u64 nr, nr x { u64 dev, ino }; mnt is the sixth
 *    17 KSYMBOL   u64 addr; u32 len; u16 type, flags (1 = unregister); char name[]
 *    19 CGROUP    u64 id; char path[]     22 CALLCHAIN_DEFERRED u64 cookie, nr, ips[nr]
 *    73 THREAD_MAP u64 nr, nr x { u64 pid, char comm[16] }
 *    78 EVENT_UPDATE u64 type (0 unit, 1 scale, 2 name), u64 id, char[] or a double
 */
#include "import/perf/session.h"

#include "util/out.h"

#define MNT_NAMESPACE 5u
#define PROT_EXEC_BIT 4u
#define MAP_HUGETLB_BIT 0x40000u
#define SIMPLEPERF_JIT_PROT 0x4000u  /* marks files with symbols of code made at run time */

static const char *const name_of_type[FM_PERF_R_KNOWN] = {
    [1] = "MMAP", "LOST", "COMM", "EXIT", "THROTTLE", "UNTHROTTLE", "FORK", "READ", "SAMPLE",
    "MMAP2", "AUX", "ITRACE_START", "LOST_SAMPLES", "SWITCH", "SWITCH_CPU_WIDE", "NAMESPACES",
    "KSYMBOL", "BPF_EVENT", "CGROUP", "TEXT_POKE", "AUX_OUTPUT_HW_ID", "CALLCHAIN_DEFERRED",
    [64] = "HEADER_ATTR", "HEADER_EVENT_TYPE", "HEADER_TRACING_DATA", "HEADER_BUILD_ID",
    "FINISHED_ROUND", "ID_INDEX", "AUXTRACE_INFO", "AUXTRACE", "AUXTRACE_ERROR", "THREAD_MAP",
    "CPU_MAP", "STAT_CONFIG", "STAT", "STAT_ROUND", "EVENT_UPDATE", "TIME_CONV",
    "HEADER_FEATURE", "COMPRESSED", "FINISHED_INIT", "COMPRESSED2", "BPF_METADATA",
    "SCHEDSTAT_CPU", "SCHEDSTAT_DOMAIN"};

static const char *const simple_name[FM_PERF_R_SIMPLE_LAST - FM_PERF_R_SIMPLE_FIRST + 1] = {
    "SIMPLE_KERNEL_SYMBOL", "SIMPLE_DSO", "SIMPLE_SYMBOL", "SIMPLE_SPLIT", "SIMPLE_SPLIT_END",
    "SIMPLE_EVENT_ID", "SIMPLE_CALLCHAIN", "SIMPLE_UNWINDING_RESULT", "SIMPLE_TRACING_DATA",
    "SIMPLE_DEBUG"};

const char *fm_perf_record_name(uint32_t type)
{
    size_t slot = fm_perf_record_slot(type);
    return slot != FM_PERF_R_KNOWN ? fm_perf_slot_name(slot) : NULL;
}

size_t fm_perf_record_slot(uint32_t type)
{
    if (type >= FM_PERF_R_SIMPLE_FIRST && type <= FM_PERF_R_SIMPLE_LAST)
        return FM_PERF_R_KNOWN + 1 + type - FM_PERF_R_SIMPLE_FIRST;
    return type < FM_PERF_R_KNOWN && name_of_type[type] != NULL ? type : FM_PERF_R_KNOWN;
}

const char *fm_perf_slot_name(size_t slot)
{
    return slot < FM_PERF_R_KNOWN    ? name_of_type[slot]
           : slot == FM_PERF_R_KNOWN ? "unknown"
                                     : simple_name[slot - FM_PERF_R_KNOWN - 1];
}

static bool short_body(struct fm_perf *perf, uint32_t type, size_t n)
{
    fm_perf_damage(perf, FM_DIAG_RECORD_BODY, FM_FORMAT, perf->offset,
                   "record '%s' of %zu bytes is too short", fm_perf_record_name(type), n);
    return true;
}

static bool memory(struct fm_perf *perf, bool ok)
{
    return ok || fm_perf_fail(perf, FM_NOMEM);
}

static int64_t known_time(uint64_t time)
{
    return time == 0 || time > INT64_MAX ? INT64_MIN : (int64_t)time;
}

/* Code that a JIT made before this time lies there before a record about its process changes it. */
static bool lay_jit_code(struct fm_perf *perf, int32_t pid, int32_t tid, uint64_t time)
{
    if (FM_LIKELY(perf->machine.jits.n == 0))
        return true;
    struct fm_perf_thread *thread = fm_perf_machine_thread(&perf->machine, pid, tid);
    if (thread == NULL)
        return fm_perf_fail(perf, FM_NOMEM);
    return fm_perf_jit_until(perf, thread->process, time);
}

static bool map_record(struct fm_perf *perf, struct fm_cursor *c, uint32_t type, uint16_t misc,
                       size_t n, uint64_t time)
{
    struct fm_perf_mapping map = {.mode = misc & 7};
    uint32_t prot = 0, flags = 0;
    map.pid = fm_cursor_i32(c);
    map.tid = fm_cursor_i32(c);
    map.start = fm_cursor_u64(c);
    map.length = fm_cursor_u64(c);
    map.offset = fm_cursor_u64(c);
    if (type == FM_PERF_R_MMAP2) {
        struct fm_cursor id = fm_cursor_sub(c, 24);
        if ((misc & FM_PERF_MISC_14) != 0) {
            map.build_id_n = FM_MIN(fm_cursor_u8(&id), 20);
            fm_cursor_skip(&id, 3);
            map.build_id = fm_cursor_bytes(&id, map.build_id_n);
        } else {
            map.device = (uint64_t)fm_cursor_u32(&id) << 32;
            map.device |= fm_cursor_u32(&id);
            map.inode = fm_cursor_u64(&id);
            map.inode_generation = fm_cursor_u64(&id);
        }
        prot = fm_cursor_u32(c);
        flags = fm_cursor_u32(c);
    }
    map.name = fm_cursor_text(c, fm_cursor_left(c), true, &map.name_n);
    if (!fm_cursor_ok(c) || map.name == NULL)
        return short_body(perf, type, n);
    map.code = (misc & FM_PERF_MISC_DATA) == 0 || (prot & PROT_EXEC_BIT) != 0;
    map.huge = (flags & MAP_HUGETLB_BIT) != 0;
    map.jit = prot == SIMPLEPERF_JIT_PROT;
    if (map.mode == FM_PERF_MODE_HYPERVISOR || map.mode == FM_PERF_MODE_GUEST_USER)
        return true;    /* of another machine */
    if (map.mode == FM_PERF_MODE_USER && !lay_jit_code(perf, map.pid, map.tid, time))
        return false;
    return memory(perf, fm_perf_machine_map(&perf->machine, &map)) &&
           fm_perf_jit_open(perf, &map);
}

static bool comm_record(struct fm_perf *perf, struct fm_cursor *c, uint16_t misc, size_t n,
                        uint64_t time)
{
    size_t length = 0;
    int32_t pid = fm_cursor_i32(c), tid = fm_cursor_i32(c);
    const char *comm = fm_cursor_text(c, fm_cursor_left(c), true, &length);
    if (!fm_cursor_ok(c) || comm == NULL)
        return short_body(perf, FM_PERF_R_COMM, n);
    return memory(perf, fm_perf_machine_comm(&perf->machine, pid, tid, comm, length,
                                             (misc & FM_PERF_MISC_DATA) != 0, known_time(time)));
}

static bool task_record(struct fm_perf *perf, struct fm_cursor *c, uint32_t type, uint16_t misc,
                        size_t n)
{
    int32_t pid = fm_cursor_i32(c), ppid = fm_cursor_i32(c);
    int32_t tid = fm_cursor_i32(c), ptid = fm_cursor_i32(c);
    uint64_t time = fm_cursor_u64(c);
    if (!fm_cursor_ok(c))
        return short_body(perf, type, n);
    if (type == FM_PERF_R_EXIT) {
        fm_perf_machine_exit(&perf->machine, pid, tid);
        return true;
    }
    if (pid != ppid && !lay_jit_code(perf, ppid, ptid, time))
        return false;
    return memory(perf, fm_perf_machine_fork(&perf->machine, pid, ppid, tid, ptid,
                                             (misc & FM_PERF_MISC_DATA) != 0, known_time(time)));
}

static bool namespaces_record(struct fm_perf *perf, struct fm_cursor *c, size_t n)
{
    int32_t pid = fm_cursor_i32(c), tid = fm_cursor_i32(c);
    uint64_t nr = fm_cursor_u64(c), inode = 0;
    if (!fm_cursor_ok(c) || nr > fm_cursor_left(c) / 16)
        return short_body(perf, FM_PERF_R_NAMESPACES, n);
    if (nr <= MNT_NAMESPACE)
        return true;
    fm_cursor_skip(c, MNT_NAMESPACE * 16 + 8);
    inode = fm_cursor_u64(c);
    return memory(perf, fm_perf_machine_namespace(&perf->machine, pid, tid, inode));
}

static bool symbol_record(struct fm_perf *perf, struct fm_cursor *c, size_t n)
{
    size_t length = 0;
    uint64_t start = fm_cursor_u64(c);
    uint32_t size = fm_cursor_u32(c);
    fm_cursor_skip(c, 2);
    bool unregister = (fm_cursor_u16(c) & 1) != 0;
    const char *name = fm_cursor_text(c, fm_cursor_left(c), true, &length);
    if (!fm_cursor_ok(c) || name == NULL)
        return short_body(perf, FM_PERF_R_KSYMBOL, n);
    return memory(perf, fm_perf_machine_symbol(&perf->machine, start, size, name, length,
                                               unregister));
}

static bool cgroup_record(struct fm_perf *perf, struct fm_cursor *c, size_t n)
{
    size_t length = 0;
    uint64_t id = fm_cursor_u64(c);
    const char *path = fm_cursor_text(c, fm_cursor_left(c), true, &length);
    if (!fm_cursor_ok(c) || path == NULL)
        return short_body(perf, FM_PERF_R_CGROUP, n);
    return memory(perf, fm_perf_machine_cgroup(&perf->machine, id, path, length));
}

static bool lost_record(struct fm_perf *perf, struct fm_perf_event *event, struct fm_cursor *c,
                        uint32_t type, size_t n)
{
    if (type == FM_PERF_R_LOST) {
        struct fm_perf_event *owner = fm_perf_events_find(&perf->events, fm_cursor_u64(c));
        event = owner != NULL ? owner : event;
    }
    uint64_t lost = fm_cursor_u64(c);
    if (!fm_cursor_ok(c))
        return short_body(perf, type, n);
    fm_perf_note(perf, type == FM_PERF_R_LOST ? FM_DIAG_LOST_RECORDS : FM_DIAG_LOST_SAMPLES,
                 perf->offset, lost);
    if (event != NULL) {
        uint64_t *sum = type == FM_PERF_R_LOST ? &event->lost_records : &event->lost_samples;
        *sum = fm_add_sat_u64(*sum, lost);
    }
    return true;
}

/* u64 offset, size, flags: data that went into the AUX area. */
static bool aux_record(struct fm_perf *perf, struct fm_cursor *c, size_t n)
{
    fm_cursor_skip(c, 16);
    uint64_t flags = fm_cursor_u64(c);
    if (!fm_cursor_ok(c))
        return short_body(perf, FM_PERF_R_AUX, n);
    fm_perf_note(perf, FM_DIAG_PART_AUX, perf->offset, 1);
    perf->aux.truncated += flags & 1;
    perf->aux.partial += flags >> 2 & 1;
    perf->aux.collisions += flags >> 3 & 1;
    return true;
}

/* AUXTRACE_INFO u32 kind ...; AUXTRACE u64 size ... */
static bool auxtrace_record(struct fm_perf *perf, struct fm_cursor *c, uint32_t type, size_t n)
{
    if (type == FM_PERF_R_AUXTRACE_INFO)
        perf->aux.kind = fm_cursor_u32(c);
    else
        perf->aux.bytes = fm_add_sat_u64(perf->aux.bytes, fm_cursor_u64(c));
    if (!fm_cursor_ok(c))
        return short_body(perf, type, n);
    if (type == FM_PERF_R_AUXTRACE)
        fm_perf_note(perf, FM_DIAG_PART_AUX, perf->offset, 1);
    return true;
}

static void provenance(struct fm_perf *perf, const char *key, struct fm_out *out)
{
    if (fm_out_finish(out, NULL) == FM_OK && out->n > 0)
        fm_builder_provenance(perf->builder, key, out->buf, out->n);
    fm_out_release(out);
}

static void losses(struct fm_perf *perf)
{
    struct fm_out out;
    bool any = false;
    if (fm_out_init(&out, &perf->ctx->mem, NULL) != FM_OK)
        return;
    for (size_t i = 0; i < perf->events.n; i++) {
        struct fm_perf_event *event = &perf->events.event[i];
        const char *name = fm_perf_event_name(&perf->events, event);
        if (name == NULL || (event->lost_records == 0 && event->lost_samples == 0))
            continue;
        fm_out_printf(&out, "%s%s: %llu samples, %llu records", any ? "; " : "", name,
                      (unsigned long long)event->lost_samples,
                      (unsigned long long)event->lost_records);
        any = true;
    }
    provenance(perf, "lost", &out);
}

void fm_perf_losses(struct fm_perf *perf)
{
    static const char *const kind[] = {"unknown", "Intel PT", "Intel BTS", "CoreSight ETM",
                                       "ARM SPE", "s390 CPU-MF", "HiSilicon PTT"};
    struct fm_out out;
    losses(perf);
    if ((perf->aux.kind == 0 && perf->aux.bytes == 0) ||
        fm_out_init(&out, &perf->ctx->mem, NULL) != FM_OK)
        return;
    fm_out_printf(&out, "%s, %llu bytes",
                  kind[perf->aux.kind < FM_COUNT(kind) ? perf->aux.kind : 0],
                  (unsigned long long)perf->aux.bytes);
    if (perf->aux.truncated + perf->aux.partial + perf->aux.collisions > 0)
        fm_out_printf(&out, ", %llu times truncated, %llu partial, %llu collisions",
                      (unsigned long long)perf->aux.truncated,
                      (unsigned long long)perf->aux.partial,
                      (unsigned long long)perf->aux.collisions);
    provenance(perf, "aux", &out);
}

/* The thread that a SWITCH record is about is the one in its trailer, for both kinds. */
static bool switch_record(struct fm_perf *perf, const struct fm_perf_event *event,
                          const unsigned char *p, size_t n, uint16_t misc)
{
    struct fm_sched_moment m = {.stack = UINT64_MAX, .cpu = UINT64_MAX, .row = UINT64_MAX,
                                .offset = perf->offset};
    bool out = (misc & FM_PERF_MISC_DATA) != 0;
    if (event == NULL || event->end_tid == FM_PERF_NO_FIELD ||
        event->end_time == FM_PERF_NO_FIELD || n < FM_PERF_HEADER + (size_t)event->trailer)
        return true;
    m.time = fm_perf_u64(p + n - event->end_time, perf->swap);
    m.tid = (int32_t)fm_perf_u32(p + n - event->end_tid + 4, perf->swap);
    if (event->end_cpu != FM_PERF_NO_FIELD)
        m.cpu = fm_perf_u32(p + n - event->end_cpu, perf->swap);
    if (out) {
        int32_t pid = (int32_t)fm_perf_u32(p + n - event->end_tid, perf->swap);
        struct fm_perf_thread *thread = fm_perf_machine_thread(&perf->machine, pid, m.tid);
        if (thread == NULL || ((thread->row == FM_NONE || thread->comm == 0) &&
                               !fm_perf_machine_row(&perf->machine, thread)))
            return fm_perf_fail(perf, FM_NOMEM);
        m.thread = thread->row;
        m.comm = thread->comm;
    }
    return fm_sched_record(&perf->sched, out, (misc & FM_PERF_MISC_14) != 0, &m) ||
           fm_perf_fail(perf, FM_NOMEM);
}

bool fm_perf_deliver(struct fm_perf *perf, const unsigned char *p, size_t n, uint64_t offset)
{
    struct fm_cursor c;
    struct fm_perf_event *event;
    uint64_t time = 0;
    size_t trailer = 0;
    perf->offset = offset;
    fm_cursor_init(&c, p, n, offset, perf->swap);
    uint32_t type = fm_cursor_u32(&c);
    uint16_t misc = fm_cursor_u16(&c);
    if (FM_LIKELY(type == FM_PERF_R_SAMPLE))
        return fm_perf_sample(perf, p, n);
    fm_cursor_skip(&c, 2);
    event = fm_perf_events_of_record(&perf->events, p, n, perf->swap);
    if (event != NULL && event->trailer + (size_t)FM_PERF_HEADER <= n) {
        trailer = event->trailer;
        if (event->end_time != FM_PERF_NO_FIELD)
            time = fm_perf_u64(p + n - event->end_time, perf->swap);
    }
    struct fm_cursor body = fm_cursor_sub(&c, n - FM_PERF_HEADER - trailer);
    switch (type) {
    case FM_PERF_R_MMAP:
    case FM_PERF_R_MMAP2:
        return map_record(perf, &body, type, misc, n, time);
    case FM_PERF_R_COMM:
        return comm_record(perf, &body, misc, n, time);
    case FM_PERF_R_FORK:
    case FM_PERF_R_EXIT:
        return task_record(perf, &body, type, misc, n);
    case FM_PERF_R_LOST:
    case FM_PERF_R_LOST_SAMPLES:
        return lost_record(perf, event, &body, type, n);
    case FM_PERF_R_THROTTLE:
        fm_perf_note(perf, FM_DIAG_THROTTLED, offset, 1);
        return true;
    case FM_PERF_R_AUX:
        return aux_record(perf, &body, n);
    case FM_PERF_R_SWITCH:
    case FM_PERF_R_SWITCH_CPU_WIDE:
        return switch_record(perf, event, p, n, misc);
    case FM_PERF_R_READ:
        if (!fm_perf_read_total(perf, event, &body, time))
            return false;
        return fm_cursor_ok(&body) ? true : short_body(perf, type, n);
    case FM_PERF_R_NAMESPACES:
        return namespaces_record(perf, &body, n);
    case FM_PERF_R_KSYMBOL:
        return symbol_record(perf, &body, n);
    case FM_PERF_R_CGROUP:
        return cgroup_record(perf, &body, n);
    case FM_PERF_R_DEFERRED: {
        int32_t tid = -1;
        if (event != NULL && trailer != 0 && event->end_tid != FM_PERF_NO_FIELD)
            tid = (int32_t)fm_perf_u32(p + n - event->end_tid + 4, perf->swap);
        return fm_perf_deferred(perf, tid, &body);
    }
    default:
        return true;    /* counted when it was met; nothing in it changes a sample */
    }
}

/* ------------------------------------------------------------- perf's own records */

static bool attr_record(struct fm_perf *perf, struct fm_cursor *c, size_t n)
{
    struct fm_perf_attr attr;
    struct fm_cursor peek = *c;
    fm_cursor_skip(&peek, 4);
    size_t size = fm_cursor_u32(&peek);
    if (size == 0)
        size = FM_PERF_ATTR_MIN;
    if (size > fm_cursor_left(c) || !fm_perf_attr_read(c, size, perf->big, &attr))
        return short_body(perf, FM_PERF_R_HEADER_ATTR, n);
    struct fm_perf_event *event = fm_perf_add_event(perf, &attr);
    if (event == NULL)
        return false;
    size_t number = (size_t)(event - perf->events.event);
    while (fm_cursor_left(c) >= 8)
        if (!fm_perf_events_id(&perf->events, fm_cursor_u64(c), number))
            return fm_perf_fail(perf, FM_NOMEM);
    return true;
}

static bool update_record(struct fm_perf *perf, struct fm_cursor *c, size_t n)
{
    size_t length = 0;
    uint64_t what = fm_cursor_u64(c), id = fm_cursor_u64(c);
    if (!fm_cursor_ok(c))
        return short_body(perf, FM_PERF_R_EVENT_UPDATE, n);
    struct fm_perf_event *event = fm_perf_events_find(&perf->events, id);
    if (event == NULL)
        return true;
    if (what == 1) {
        event->scale = fm_bits_f64(fm_cursor_u64(c));
        if (!(event->scale > 0 && event->scale < 1e300))
            event->scale = 0;
        return fm_cursor_ok(c) ? true : short_body(perf, FM_PERF_R_EVENT_UPDATE, n);
    }
    if (what != 0 && what != 2)
        return true;
    const char *name = fm_cursor_text(c, fm_cursor_left(c), true, &length);
    if (name == NULL || length == 0)
        return true;
    if (what == 0) {
        event->unit = fm_arena_strn(&perf->events.arena, name, length);
        return memory(perf, event->unit != NULL);
    }
    return memory(perf, fm_perf_event_rename(&perf->events, event, name, length));
}

static bool thread_map_record(struct fm_perf *perf, struct fm_cursor *c, size_t n)
{
    uint64_t nr = fm_cursor_u64(c);
    if (!fm_cursor_ok(c) || nr > fm_cursor_left(c) / 24)
        return short_body(perf, FM_PERF_R_THREAD_MAP, n);
    for (uint64_t i = 0; i < nr; i++) {
        size_t length = 0;
        uint64_t pid = fm_cursor_u64(c);
        const char *comm = fm_cursor_text(c, 16, true, &length);
        perf->sched.everywhere |= (int32_t)pid == -1;   /* perf record -a */
        if (comm != NULL && pid <= INT32_MAX &&
            !fm_perf_machine_name(&perf->machine, (int32_t)pid, comm, length))
            return fm_perf_fail(perf, FM_NOMEM);
        if (!fm_perf_stat_thread(perf, (int32_t)pid))
            return false;
    }
    return true;
}

static bool stat_record(struct fm_perf *perf, struct fm_cursor *c, uint32_t type, size_t n,
                        uint64_t offset)
{
    bool going = true;
    if (type == FM_PERF_R_STAT_CONFIG)
        fm_perf_stat_config(perf, c);
    else
        going = type == FM_PERF_R_STAT ? fm_perf_stat_value(perf, c, offset)
                                       : fm_perf_stat_round(perf, c);
    if (!fm_cursor_ok(c))
        (void)short_body(perf, type, n);
    return going;
}

bool fm_perf_user_record(struct fm_perf *perf, const unsigned char *p, size_t n, uint64_t offset)
{
    struct fm_cursor c;
    perf->offset = offset;
    fm_cursor_init(&c, p, n, offset, perf->swap);
    uint32_t type = fm_cursor_u32(&c);
    uint16_t misc = fm_cursor_u16(&c);
    fm_cursor_skip(&c, 2);
    switch (type) {
    case FM_PERF_R_HEADER_ATTR:
        return attr_record(perf, &c, n);
    case FM_PERF_R_EVENT_UPDATE:
        return update_record(perf, &c, n);
    case FM_PERF_R_THREAD_MAP:
        return thread_map_record(perf, &c, n);
    case FM_PERF_R_BUILD_ID:
        if (!fm_perf_build_id_entry(perf, &c, misc, false))
            return false;
        return fm_cursor_ok(&c) ? true : short_body(perf, type, n);
    case FM_PERF_R_HEADER_FEATURE: {
        uint64_t bit = fm_cursor_u64(&c);
        if (!fm_cursor_ok(&c))
            return short_body(perf, type, n);
        if (fm_cursor_left(&c) == 0)
            return true;        /* the end of the features */
        size_t left = fm_cursor_left(&c);
        uint64_t at = fm_cursor_offset(&c);
        return fm_perf_feature(perf, bit < 256 ? (unsigned)bit : 255u,
                               fm_cursor_bytes(&c, left), left, at);
    }
    case FM_PERF_R_TIME_CONV: {
        struct fm_perf_jits *jits = &perf->machine.jits;
        uint64_t shift = fm_cursor_u64(&c);
        jits->shift = (uint16_t)(shift & 63);
        jits->mult = fm_cursor_u64(&c);
        jits->zero = fm_cursor_u64(&c);
        jits->has_conversion = fm_cursor_ok(&c) && shift < 64 && jits->mult != 0;
        return fm_cursor_ok(&c) ? true : short_body(perf, type, n);
    }
    case FM_PERF_R_STAT_CONFIG:
    case FM_PERF_R_STAT:
    case FM_PERF_R_STAT_ROUND:
        return stat_record(perf, &c, type, n, offset);
    case FM_PERF_R_AUXTRACE_INFO:
    case FM_PERF_R_AUXTRACE:
        return auxtrace_record(perf, &c, type, n);
    default:
        return true;
    }
}
