/*
 * event.c - attributes, layouts and ids of events: see event.h.
 *
 * A SAMPLE begins with fields of 8 bytes each, present by sample_type, in this order:
 *
 *     IDENTIFIER IP TID TIME ADDR ID STREAM_ID CPU PERIOD | READ CALLCHAIN RAW ...
 *
 * so their offsets are fixed for an event and found once. Every other record of an event with
 * sample_id_all ends with
 *
 *     TID TIME ID STREAM_ID CPU IDENTIFIER
 *
 * which is found from the end. To read either the event must be known first; its id stands at a
 * place that all events of a file share (or there is only one event).
 */
#include "import/perf/event.h"

#include "util/out.h"

#define HEADER 8u

void fm_perf_events_init(struct fm_perf_events *events, struct fm_mem *mem)
{
    memset(events, 0, sizeof *events);
    fm_arena_init(&events->arena, mem);
    fm_map_init(&events->id, mem);
    fm_map_init(&events->read, mem);
    events->sample_id = events->end_id = FM_PERF_NO_FIELD;
    events->same_layout = true;
}

void fm_perf_events_release(struct fm_perf_events *events)
{
    struct fm_mem *mem = events->arena.mem;
    fm_mem_free(mem, events->event, events->cap * sizeof *events->event);
    fm_map_release(&events->id);
    fm_map_release(&events->read);
    fm_arena_release(&events->arena);
}

/* Bit-fields of a big-endian writer start at the most significant bit of each byte. */
static uint64_t flags_of(const unsigned char *p, bool big)
{
    uint64_t flags = 0;
    for (unsigned i = 0; p != NULL && i < 8; i++) {
        unsigned byte = p[i];
        if (big) {
            byte = (byte & 0xf0) >> 4 | (byte & 0x0f) << 4;
            byte = (byte & 0xcc) >> 2 | (byte & 0x33) << 2;
            byte = (byte & 0xaa) >> 1 | (byte & 0x55) << 1;
        }
        flags |= (uint64_t)byte << (8 * i);
    }
    return flags;
}

bool fm_perf_attr_read(struct fm_cursor *c, size_t n, bool big, struct fm_perf_attr *attr)
{
    unsigned char zero[FM_PERF_ATTR_KNOWN] = {0};
    struct fm_cursor sub = fm_cursor_sub(c, n), full;
    memset(attr, 0, sizeof *attr);
    if (!fm_cursor_ok(&sub) || n < FM_PERF_ATTR_MIN)
        return false;
    struct fm_cursor peek = sub;
    attr->type = fm_cursor_u32(&peek);
    attr->size = fm_cursor_u32(&peek);
    size_t use = FM_MIN(n, (size_t)FM_PERF_ATTR_KNOWN);
    if (attr->size >= FM_PERF_ATTR_MIN)
        use = FM_MIN(use, (size_t)attr->size);
    const unsigned char *bytes = fm_cursor_bytes(&sub, use);
    memcpy(zero, bytes, use);
    for (size_t left = fm_cursor_left(&sub); left > 0 && attr->size > use; left--)
        if (fm_cursor_u8(&sub) != 0)
            attr->future = true;
    fm_cursor_init(&full, zero, sizeof zero, 0, c->swap);
    fm_cursor_skip(&full, 8);
    attr->config = fm_cursor_u64(&full);
    attr->period = fm_cursor_u64(&full);
    attr->sample_type = fm_cursor_u64(&full);
    attr->read_format = fm_cursor_u64(&full);
    attr->flags = flags_of(fm_cursor_bytes(&full, 8), big);
    fm_cursor_skip(&full, 4);
    attr->bp_type = fm_cursor_u32(&full);
    attr->bp_addr = fm_cursor_u64(&full);
    attr->bp_len = fm_cursor_u64(&full);
    attr->branch_type = fm_cursor_u64(&full);
    attr->regs_user = fm_cursor_u64(&full);
    fm_cursor_skip(&full, 4);
    attr->clockid = fm_cursor_i32(&full);
    attr->regs_intr = fm_cursor_u64(&full);
    fm_cursor_skip(&full, 4);
    attr->max_stack = fm_cursor_u16(&full);
    return true;
}

static uint8_t place(uint64_t type, uint64_t bit, uint8_t *at)
{
    uint8_t here = *at;
    if ((type & bit) == 0)
        return FM_PERF_NO_FIELD;
    *at = (uint8_t)(here + 8);
    return here;
}

static uint8_t place_from_end(uint64_t type, uint64_t bit, uint8_t *end)
{
    if ((type & bit) == 0)
        return FM_PERF_NO_FIELD;
    *end = (uint8_t)(*end + 8);
    return *end;
}

static void lay_out(struct fm_perf_event *event)
{
    uint64_t type = event->attr.sample_type;
    uint8_t at = HEADER, end = 0;
    uint8_t identifier = place(type, FM_PERF_IDENTIFIER, &at);
    event->ip = place(type, FM_PERF_IP, &at);
    event->tid = place(type, FM_PERF_TID, &at);
    event->time = place(type, FM_PERF_TIME, &at);
    event->addr = place(type, FM_PERF_ADDR, &at);
    event->id = place(type, FM_PERF_ID, &at);
    event->stream = place(type, FM_PERF_STREAM_ID, &at);
    event->cpu = place(type, FM_PERF_CPU, &at);
    event->period = place(type, FM_PERF_PERIOD, &at);
    event->body = at;
    if (identifier != FM_PERF_NO_FIELD)
        event->id = identifier;
    event->end_tid = event->end_time = event->end_id = event->end_cpu = FM_PERF_NO_FIELD;
    event->trailer = 0;
    if ((event->attr.flags & FM_PERF_F_SAMPLE_ID_ALL) == 0)
        return;
    identifier = place_from_end(type, FM_PERF_IDENTIFIER, &end);
    event->end_cpu = place_from_end(type, FM_PERF_CPU, &end);
    (void)place_from_end(type, FM_PERF_STREAM_ID, &end);
    event->end_id = place_from_end(type, FM_PERF_ID, &end);
    event->end_time = place_from_end(type, FM_PERF_TIME, &end);
    event->end_tid = place_from_end(type, FM_PERF_TID, &end);
    event->trailer = end;
    if (identifier != FM_PERF_NO_FIELD)
        event->end_id = identifier;
}

struct fm_perf_event *fm_perf_events_add(struct fm_perf_events *events,
                                         const struct fm_perf_attr *attr)
{
    if (!fm_grow(events->arena.mem, (void **)&events->event, &events->cap, events->n + 1,
                 sizeof *events->event))
        return NULL;
    struct fm_perf_event *event = &events->event[events->n++];
    memset(event, 0, sizeof *event);
    event->attr = *attr;
    lay_out(event);
    return event;
}

bool fm_perf_events_id(struct fm_perf_events *events, uint64_t id, size_t e)
{
    bool fresh;
    uint64_t *value = fm_map_put(&events->id, id, &fresh);
    if (value == NULL)
        return false;
    if (fresh)
        *value = e;
    return true;
}

struct fm_perf_event *fm_perf_events_find(const struct fm_perf_events *events, uint64_t id)
{
    const uint64_t *value = fm_map_find(&events->id, id);
    return value != NULL && *value < events->n ? &events->event[*value] : NULL;
}

void fm_perf_events_settle(struct fm_perf_events *events)
{
    uint64_t trailed = FM_PERF_F_SAMPLE_ID_ALL;
    bool first_id = true;
    events->same_layout = true;
    events->timed = false;
    events->sample_id = events->end_id = FM_PERF_NO_FIELD;
    for (size_t i = 0; i < events->n; i++) {
        const struct fm_perf_event *e = &events->event[i], *first = &events->event[0];
        events->timed |= (e->attr.sample_type & FM_PERF_TIME) != 0;
        if (e->attr.sample_type != first->attr.sample_type ||
            ((e->attr.flags ^ first->attr.flags) & trailed) != 0)
            events->same_layout = false;
        if (first_id) {
            events->sample_id = e->id;
            events->end_id = e->end_id;
            first_id = false;
        } else if (events->sample_id != e->id || events->end_id != e->end_id) {
            /* no common place: what the first event says is all there is to go by */
            if (events->sample_id != e->id && e->id != FM_PERF_NO_FIELD &&
                events->sample_id == FM_PERF_NO_FIELD)
                events->sample_id = e->id;
            if (events->end_id == FM_PERF_NO_FIELD)
                events->end_id = e->end_id;
        }
    }
}

struct fm_perf_event *fm_perf_events_of_sample(struct fm_perf_events *events,
                                               const unsigned char *p, size_t n, bool swap)
{
    if (events->n == 0)
        return NULL;
    if (events->n == 1)
        return &events->event[0];
    if (events->sample_id == FM_PERF_NO_FIELD)
        return &events->event[0];
    if (n < (size_t)events->sample_id + 8)
        return NULL;
    return fm_perf_events_find(events, fm_perf_u64(p + events->sample_id, swap));
}

struct fm_perf_event *fm_perf_events_of_record(struct fm_perf_events *events,
                                               const unsigned char *p, size_t n, bool swap)
{
    if (events->n == 0)
        return NULL;
    if (events->n == 1 || events->end_id == FM_PERF_NO_FIELD ||
        n < HEADER + (size_t)events->end_id)
        return &events->event[0];
    struct fm_perf_event *event =
        fm_perf_events_find(events, fm_perf_u64(p + n - events->end_id, swap));
    return event != NULL ? event : &events->event[0];
}

bool fm_perf_event_rename(struct fm_perf_events *events, struct fm_perf_event *event,
                          const char *name, size_t n)
{
    char *copy = fm_arena_strn(&events->arena, name, n);
    if (copy == NULL)
        return false;
    event->name = copy;
    return true;
}

static const char *const hardware[] = {
    "cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses",
    "bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
static const char *const software[] = {
    "cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations",
    "minor-faults", "major-faults", "alignment-faults", "emulation-faults", "dummy",
    "bpf-output", "cgroup-switches"};
static const char *const cache[] = {"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch",
                                    "node"};
static const char *const cache_op[] = {"load", "store", "prefetch"};

static void write_cache(struct fm_out *out, uint64_t config)
{
    uint64_t unit = config & 0xff, op = config >> 8 & 0xff, result = config >> 16 & 0xff;
    if (unit >= FM_COUNT(cache) || op >= FM_COUNT(cache_op) || result > 1) {
        fm_out_text(out, "invalid-cache");
        return;
    }
    fm_out_text(out, cache[unit]);
    fm_out_char(out, '-');
    fm_out_text(out, cache_op[op]);
    fm_out_text(out, result == 1 ? "-misses" : op == 2 ? "es" : "s");
}

static void write_breakpoint(struct fm_out *out, const struct fm_perf_attr *attr)
{
    fm_out_text(out, "mem:0x");
    fm_out_hex(out, attr->bp_addr);
    fm_out_char(out, '/');
    fm_out_u64(out, attr->bp_len);
    fm_out_text(out, ":");
    if ((attr->bp_type & 1) != 0)
        fm_out_char(out, 'r');
    if ((attr->bp_type & 2) != 0)
        fm_out_char(out, 'w');
    if ((attr->bp_type & 4) != 0)
        fm_out_char(out, 'x');
}

static void write_base(struct fm_out *out, const struct fm_perf_attr *attr)
{
    uint32_t config = (uint32_t)attr->config;   /* hybrid machines keep a PMU in the upper half */
    if (attr->type == 0 && config < FM_COUNT(hardware))
        fm_out_text(out, hardware[config]);
    else if (attr->type == 1 && attr->config < FM_COUNT(software))
        fm_out_text(out, software[attr->config]);
    else if (attr->type == 2)
        fm_out_printf(out, "tracepoint:%llu", (unsigned long long)attr->config);
    else if (attr->type == 3)
        write_cache(out, attr->config);
    else if (attr->type == 5)
        write_breakpoint(out, attr);
    else
        fm_out_printf(out, "raw 0x%llx", (unsigned long long)attr->config);
}

static void modifier(struct fm_out *out, bool excluded, char letter, bool *colon)
{
    if (excluded)
        return;
    if (!*colon)
        fm_out_char(out, ':');
    *colon = true;
    fm_out_char(out, letter);
}

/* What perf adds: k, u, h when not all three levels are counted, p for each step of precision, H
 * and G when the choice between host and guest is not the usual one. */
static void write_modifiers(struct fm_out *out, const struct fm_perf_attr *attr)
{
    uint64_t flags = attr->flags;
    bool user = flags & FM_PERF_F_EXCLUDE_USER, kernel = flags & FM_PERF_F_EXCLUDE_KERNEL;
    bool hv = flags & FM_PERF_F_EXCLUDE_HV, host = flags & FM_PERF_F_EXCLUDE_HOST;
    bool guest = flags & FM_PERF_F_EXCLUDE_GUEST, usual = false, colon = false;
    unsigned precise = flags >> FM_PERF_F_PRECISE & 3;
    if (attr->type == 2 || attr->type == 5)
        return;
    if (user || kernel || hv) {
        modifier(out, kernel, 'k', &colon);
        modifier(out, user, 'u', &colon);
        modifier(out, hv, 'h', &colon);
        usual = true;
    }
    for (unsigned i = 0; i < precise; i++, usual = true)
        modifier(out, false, 'p', &colon);
    if (host || guest == usual) {
        modifier(out, host, 'H', &colon);
        modifier(out, guest, 'G', &colon);
    }
}

const char *fm_perf_event_name(struct fm_perf_events *events, struct fm_perf_event *event)
{
    struct fm_out out;
    if (event->name != NULL)
        return event->name;
    if (fm_out_init(&out, events->arena.mem, NULL) != FM_OK)
        return NULL;
    write_base(&out, &event->attr);
    write_modifiers(&out, &event->attr);
    if (fm_out_finish(&out, NULL) == FM_OK)
        (void)fm_perf_event_rename(events, event, out.buf, out.n);
    fm_out_release(&out);
    return event->name;
}
