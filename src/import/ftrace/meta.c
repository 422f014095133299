/*
 * meta.c - what the metadata of a trace.dat says: formats of events, comms, symbols.
 *
 *     header info      "header_page\0" u64 size, text | "header_event\0" u64 size, text
 *     ftrace events    u32 n, n x { u64 size, format }
 *     event formats    u32 systems, each { name\0, u32 n, n x { u64 size, format } }
 *     kallsyms         lines of /proc/kallsyms
 *     comms            lines "PID COMM"; tgids: lines "TID PID"
 *
 * Formats are only found here, by the line "ID: 314"; they are parsed when their first event comes.
 * Symbols are sorted by address once; of several at one address the last counts, as in perf.
 */
#include "import/ftrace/ftrace.h"

#include "util/text.h"

#include <stdlib.h>

#define NAME_MAX_N 256u

/* The two events that are call chains: where their addresses are. */
static void note_stacks(struct fm_ftrace *f, const struct fm_ftrace_event *event, uint16_t id)
{
    bool kernel = strcmp(event->name, "ftrace:kernel_stack") == 0;
    uint64_t at, size;
    if (!kernel && strcmp(event->name, "ftrace:user_stack") != 0)
        return;
    if (!fm_page_field(event->text, event->text_n, " caller[", &at, &size) || at > 256)
        at = 8 + f->long_size;
    if (kernel) {
        f->kernel_stack = id;
        f->kernel_at = (uint32_t)at;
        return;
    }
    f->user_stack = id;
    f->user_at = (uint32_t)at;
    if (fm_page_field(event->text, event->text_n, " tgid;", &at, &size) && at <= 256)
        f->tgid_at = (uint32_t)at;
}

static bool add_format(struct fm_ftrace *f, const char *system, size_t system_n, const char *text,
                       size_t n)
{
    size_t name_n;
    uint64_t id;
    bool fresh;
    const char *name = fm_trace_name(text, n, &name_n, &id);
    if (name == NULL || id > UINT16_MAX)
        return true;
    uint64_t *place = fm_map_put(&f->by_id, id, &fresh);
    if (place == NULL)
        return fm_ftrace_fail(f, FM_NOMEM);
    if (!fresh)
        return true;
    if (!fm_grow(&f->ctx->mem, (void **)&f->event, &f->event_cap, f->events + 1,
                 sizeof *f->event))
        return fm_ftrace_fail(f, FM_NOMEM);
    struct fm_ftrace_event *event = &f->event[f->events++];
    *place = f->events;
    *event = (struct fm_ftrace_event){
        .system = fm_arena_strn(&f->arena, system, FM_MIN(system_n, NAME_MAX_N)),
        .text = text, .text_n = n};
    event->name = fm_arena_printf(&f->arena, "%s:%.*s", event->system != NULL ? event->system : "",
                                  (int)FM_MIN(name_n, (size_t)NAME_MAX_N), name);
    if (event->system == NULL || event->name == NULL)
        return fm_ftrace_fail(f, FM_NOMEM);
    note_stacks(f, event, (uint16_t)id);
    return true;
}

static bool formats_of(struct fm_ftrace *f, struct fm_cursor *c, const char *system, size_t n)
{
    for (uint32_t i = fm_cursor_u32(c); i > 0 && fm_cursor_ok(c); i--) {
        struct fm_cursor text = fm_cursor_sub(c, fm_cursor_u64(c));
        size_t left = fm_cursor_left(&text);
        const char *format = (const char *)fm_cursor_bytes(&text, left);
        if (fm_cursor_ok(c) && !add_format(f, system, n, format, left))
            return false;
    }
    return true;
}

bool fm_ftrace_formats(struct fm_ftrace *f, struct fm_cursor *c, bool systems)
{
    if (!systems)
        return formats_of(f, c, "ftrace", 6);
    for (uint32_t s = fm_cursor_u32(c); s > 0 && fm_cursor_ok(c); s--) {
        size_t n;
        const char *system = fm_cursor_text(c, fm_cursor_left(c), false, &n);
        if (system == NULL || !fm_cursor_ok(c))
            break;
        if (!formats_of(f, c, system, n))
            return false;
    }
    return true;
}

bool fm_ftrace_header_info(struct fm_ftrace *f, struct fm_cursor *c)
{
    for (unsigned i = 0; i < 2; i++) {
        size_t n;
        uint64_t offset = fm_cursor_offset(c);
        (void)fm_cursor_text(c, fm_cursor_left(c), false, &n);
        struct fm_cursor text = fm_cursor_sub(c, fm_cursor_u64(c));
        size_t left = fm_cursor_left(&text);
        const char *s = (const char *)fm_cursor_bytes(&text, left);
        if (i == 0 && fm_cursor_ok(c) && left > 0 && !fm_page_shape_read(&f->shape, s, left))
            fm_ftrace_damage(f, FM_DIAG_HEADER_FIELD, FM_FORMAT, offset,
                             "the description of pages (%zu bytes) does not parse", left);
    }
    return true;
}

/* ------------------------------------------------------------------ pairs of numbers and names */

/* The number that a line begins with; *rest is what follows the blanks behind it. */
static bool line_number(const char *s, size_t n, uint64_t *number, size_t *rest)
{
    size_t from = 0, at;
    while (from < n && (s[from] == ' ' || s[from] == '\t'))
        from++;
    for (at = from; at < n && s[at] >= '0' && s[at] <= '9';)
        at++;
    if (!fm_text_u64(s + from, at - from, number))
        return false;
    while (at < n && s[at] == ' ')
        at++;
    *rest = at;
    return true;
}

/* Calls for each line "NUMBER TEXT". */
typedef bool pair_fn(struct fm_ftrace *f, uint32_t number, const char *s, size_t n);

static bool each_pair(struct fm_ftrace *f, const char *text, size_t n, pair_fn *fn)
{
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t line = end != NULL ? (size_t)(end - (text + at)) : n - at, rest = 0;
        uint64_t number;
        line = strnlen(text + at, line);
        if (line_number(text + at, line, &number, &rest) && number <= INT32_MAX && rest < line &&
            !fn(f, (uint32_t)number, text + at + rest, line - rest))
            return false;
        at = end != NULL ? (size_t)(end - text) + 1 : n;
    }
    return true;
}

static bool add_comm(struct fm_ftrace *f, uint32_t pid, const char *s, size_t n)
{
    uint64_t *place = fm_map_put(&f->comm, pid, NULL);
    if (place == NULL)
        return fm_ftrace_fail(f, FM_NOMEM);
    *place = fm_builder_str(f->builder, s, FM_MIN(n, (size_t)NAME_MAX_N));
    return true;
}

static bool add_tgid(struct fm_ftrace *f, uint32_t tid, const char *s, size_t n)
{
    uint64_t pid;
    size_t rest;
    if (!line_number(s, n, &pid, &rest) || pid > INT32_MAX)
        return true;
    uint64_t *place = fm_map_put(&f->tgid, tid, NULL);
    if (place == NULL)
        return fm_ftrace_fail(f, FM_NOMEM);
    *place = pid + 1;
    return true;
}

bool fm_ftrace_comms(struct fm_ftrace *f, const char *text, size_t n)
{
    return each_pair(f, text, n, add_comm);
}

bool fm_ftrace_tgids(struct fm_ftrace *f, const char *text, size_t n)
{
    return each_pair(f, text, n, add_tgid);
}

/* ------------------------------------------------------------------ kernel symbols */

static int by_address(const void *a, const void *b)
{
    const struct fm_ftrace_symbol *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

/* "ffffffff81000000 T _text"; a module's name behind a tab is left out. */
static bool symbol_line(const char *s, size_t n, struct fm_ftrace_symbol *symbol)
{
    const char *space = memchr(s, ' ', n);
    size_t digits = space != NULL ? (size_t)(space - s) : 0, name_n;
    if (digits == 0 || digits + 3 >= n || s[digits + 2] != ' ' ||
        !fm_text_hex(s, digits, &symbol->address))
        return false;
    symbol->name = s + digits + 3;
    name_n = n - digits - 3;
    const char *tab = memchr(symbol->name, '\t', name_n);
    if (tab != NULL)
        name_n = (size_t)(tab - symbol->name);
    symbol->n = (uint32_t)FM_MIN(name_n, (size_t)4096);
    return symbol->n > 0 && symbol->address != 0;
}

bool fm_ftrace_kallsyms(struct fm_ftrace *f, const char *text, size_t n)
{
    n = strnlen(text, n);
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t line = end != NULL ? (size_t)(end - (text + at)) : n - at;
        if (!fm_grow(&f->ctx->mem, (void **)&f->symbol, &f->symbol_cap, f->symbols + 1,
                     sizeof *f->symbol))
            return fm_ftrace_fail(f, FM_NOMEM);
        f->symbols += symbol_line(text + at, line, &f->symbol[f->symbols]);
        at += line + 1;
    }
    if (f->symbols > 1)
        qsort(f->symbol, f->symbols, sizeof *f->symbol, by_address);
    return true;
}

const struct fm_ftrace_symbol *fm_ftrace_symbol_at(const struct fm_ftrace *f, uint64_t address)
{
    size_t lo = 0, hi = f->symbols;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (f->symbol[mid].address <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo > 0 ? &f->symbol[lo - 1] : NULL;
}
