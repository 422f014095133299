/*
 * tracing.c - names of tracepoints, from the formats that a recording carries.
 *
 *     23 8 68 "tracing" | version\0 | u8 big-endian, u8 size of long, u32 page size
 *     "header_page\0"  u64 size, text | "header_event\0" u64 size, text
 *     u32 n, n x { u64 size, format }                       (ftrace's own)
 *     u32 systems, each { name\0, u32 n, n x { u64 size, format } } ...
 *
 * A format is text with the lines "name: sched_switch" and "ID: 314". The event's attr.config is
 * the id; its name is system:name; trace.c reads the fields.
 */
#include "import/perf/session.h"

/* What the tracing data says of its writer. */
struct tracing {
    bool big;
    unsigned long_size;
};

/* The event that a format text describes, when it was recorded: its name and fields. */
static bool take_format(struct fm_perf *perf, const struct tracing *t, const char *system,
                        size_t system_n, const char *text, size_t n)
{
    size_t name_n;
    uint64_t id;
    char *system_text = fm_arena_strn(&perf->events.arena, system, system_n);
    if (system_text == NULL)
        return fm_perf_fail(perf, FM_NOMEM);
    const char *name = fm_trace_name(text, n, &name_n, &id);
    if (name == NULL)
        return true;
    for (size_t i = 0; i < perf->events.n; i++) {
        struct fm_perf_event *event = &perf->events.event[i];
        if (event->attr.type != 2 || event->attr.config != id)
            continue;
        if (event->trace == NULL &&
            !fm_trace_parse(&perf->events.arena, system_text, text, n, t->long_size, t->big,
                                 &event->trace))
            return fm_perf_fail(perf, FM_NOMEM);
        if (event->name != NULL)
            continue;
        char *full = fm_arena_printf(&perf->events.arena, "%s:%.*s", system_text,
                                     (int)FM_MIN(name_n, 256u), name);
        if (full == NULL)
            return fm_perf_fail(perf, FM_NOMEM);
        event->name = full;
    }
    return true;
}

static void skip_text(struct fm_cursor *c)
{
    fm_cursor_skip(c, fm_cursor_u64(c));
}

bool fm_perf_tracing(struct fm_perf *perf, const unsigned char *data, size_t n, uint64_t offset)
{
    static const unsigned char magic[] = {23, 8, 68, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
    struct tracing t;
    struct fm_cursor c;
    size_t length;
    fm_cursor_init(&c, data, n, offset, false);
    const unsigned char *head = fm_cursor_bytes(&c, sizeof magic);
    if (head == NULL || memcmp(head, magic, sizeof magic) != 0) {
        fm_perf_damage(perf, FM_DIAG_FEATURE_BAD, FM_FORMAT, offset,
                       "tracing data of %zu bytes has no magic", n);
        return true;
    }
    (void)fm_cursor_text(&c, fm_cursor_left(&c), false, &length);
    t.big = fm_cursor_u8(&c) != 0;
    c.swap = t.big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    t.long_size = fm_cursor_u8(&c);
    fm_cursor_skip(&c, 4);
    for (unsigned i = 0; i < 2; i++) {
        (void)fm_cursor_text(&c, fm_cursor_left(&c), false, &length);
        skip_text(&c);
    }
    for (uint32_t i = fm_cursor_u32(&c); i > 0 && fm_cursor_ok(&c); i--)
        skip_text(&c);
    for (uint32_t s = fm_cursor_u32(&c); s > 0 && fm_cursor_ok(&c); s--) {
        size_t system_n;
        const char *system = fm_cursor_text(&c, fm_cursor_left(&c), false, &system_n);
        for (uint32_t i = fm_cursor_u32(&c); i > 0 && fm_cursor_ok(&c); i--) {
            uint64_t size = fm_cursor_u64(&c);
            struct fm_cursor text = fm_cursor_sub(&c, size);
            if (!fm_cursor_ok(&c) || system == NULL)
                break;
            size_t left = fm_cursor_left(&text);
            const char *format = (const char *)fm_cursor_bytes(&text, left);
            if (!take_format(perf, &t, system, FM_MIN(system_n, 256u), format, left))
                return false;
        }
    }
    if (!fm_cursor_ok(&c))
        fm_perf_damage(perf, FM_DIAG_FEATURE_BAD, FM_FORMAT, offset,
                       "tracing data of %zu bytes does not parse", n);
    return true;
}
