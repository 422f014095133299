/*
 * tracing.c - names of tracepoints, from the formats that a recording carries.
 *
 *     23 8 68 "tracing" | version\0 | u8 big-endian, u8 size of long, u32 page size
 *     "header_page\0"  u64 size, text | "header_event\0" u64 size, text
 *     u32 n, n x { u64 size, format }                       (ftrace's own)
 *     u32 systems, each { name\0, u32 n, n x { u64 size, format } } ...
 *
 * A format is text with the lines "name: sched_switch" and "ID: 314". The event's attr.config is
 * the id; its name is system:name. The payloads of tracepoints are not decoded here.
 */
#include "import/perf/session.h"

#include "util/text.h"

/* The rest of the line that begins with `key` in a format text. */
static const char *line_value(const char *s, size_t n, const char *key, size_t *length)
{
    size_t k = strlen(key);
    for (size_t at = 0; at + k <= n;) {
        const char *end = memchr(s + at, '\n', n - at);
        size_t line = end != NULL ? (size_t)(end - (s + at)) : n - at;
        if (line > k && memcmp(s + at, key, k) == 0) {
            *length = line - k;
            return s + at + k;
        }
        at += line + 1;
    }
    return NULL;
}

static bool name_event(struct fm_perf *perf, const char *system, size_t system_n,
                       const char *text, size_t n)
{
    size_t name_n, id_n;
    uint64_t id;
    const char *name = line_value(text, n, "name: ", &name_n);
    const char *number = line_value(text, n, "ID: ", &id_n);
    if (name == NULL || number == NULL || !fm_text_u64(number, id_n, &id))
        return true;
    for (size_t i = 0; i < perf->events.n; i++) {
        struct fm_perf_event *event = &perf->events.event[i];
        if (event->attr.type != 2 || event->attr.config != id || event->name != NULL)
            continue;
        char *full = fm_arena_printf(&perf->events.arena, "%.*s:%.*s", (int)system_n, system,
                                     (int)name_n, name);
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
    bool big = fm_cursor_u8(&c) != 0;
    c.swap = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    fm_cursor_skip(&c, 5);
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
            if (!name_event(perf, system, FM_MIN(system_n, 256), format, left))
                return false;
        }
    }
    if (!fm_cursor_ok(&c))
        fm_perf_damage(perf, FM_DIAG_FEATURE_BAD, FM_FORMAT, offset,
                       "tracing data of %zu bytes does not parse", n);
    return true;
}
