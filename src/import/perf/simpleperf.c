/*
 * simpleperf.c - what Android's simpleperf writes that perf does not: its feature sections and its
 * records.
 *
 *     128 FILE       until the end: u32 size, { path\0, u32 kind (0 kernel 1 module 2 ELF 3 dex
 *                    4 JIT 5 unknown), u64 address, u32 n, n x { u64 address, u32 length, name\0 };
 *                    dex: u32 n, n x u64; ELF and module, newer: u64 offset of that address }
 *     129 META_INFO  key\0 value\0 ...; event_type_info: lines "name,type,config"
 *     132 FILE2      until the end: u32 size, a protobuf message { 1 path, 2 kind, 3 address,
 *                    4 symbol { 1 address, 2 length, 3 name }, 6 ELF { 1 offset of the address },
 *                    7 module { 1 its memory offset } }
 *
 * Records from 32768 on have a size of 32 bits (u32 type, u16 high, u16 low):
 *
 *     32769 KERNEL_SYMBOL  u32 n, the text of kallsyms
 *     32770 DSO            u64 kind, id, address; path\0
 *     32771 SYMBOL         u64 address, length, id of the DSO; name\0
 *     32772 SPLIT, 32773 SPLIT_END: a longer record in pieces (stream.c puts them together)
 *     32774 EVENT_ID       u64 n, n x { u64 number of the event, id }
 *     32775 CALLCHAIN, 32776 UNWINDING_RESULT, 32778 DEBUG: how chains were unwound; the samples
 *                          hold what came of it
 *     32777 TRACING_DATA   u32 n, tracing data
 *
 * Layouts: simpleperf's record_file_format.h and record.h as described in formats notes, checked on
 * its recordings.
 */
#include "import/perf/session.h"

#include "symbol/demangle.h"
#include "util/text.h"

enum { FILE_1 = 128, META_INFO = 129, FILE_2 = 132 };
enum { KERNEL_SYMBOL = 32769, DSO = 32770, SYMBOL = 32771, EVENT_ID = 32774, TRACING_DATA = 32777 };

#define LINKER "__dl_"          /* before the names of the linker's own functions */

/* The name as people wrote it. */
static fm_str readable(struct fm_perf *perf, const char *name, size_t n)
{
    struct fm_out out;
    fm_str id = 0;
    size_t k = sizeof LINKER - 1;
    bool linker = n > k && memcmp(name, LINKER, k) == 0;
    if (n < 2 || (!linker && memcmp(name, "_Z", 2) != 0 && memcmp(name, "_R", 2) != 0) ||
        perf->demangle == FM_DEMANGLE_RAW ||
        fm_out_init(&out, &perf->ctx->mem, NULL) != FM_OK)
        return fm_builder_str(perf->builder, name, n);
    if (linker) {
        fm_out_text(&out, "[linker]");
        name += k;
        n -= k;
    }
    if (!fm_demangle(&out, name, n, perf->demangle))
        fm_out_bytes(&out, name, n);
    if (fm_out_finish(&out, NULL) == FM_OK)
        id = fm_builder_str(perf->builder, out.buf, out.n);
    fm_out_release(&out);
    return id;
}

static struct fm_perf_names_file *file_of(struct fm_perf *perf, const char *path, size_t n,
                                          uint64_t kind, uint64_t base)
{
    struct fm_perf_names_file *file =
        fm_perf_names_file(&perf->machine.names, fm_builder_str(perf->builder, path, n));
    if (file == NULL) {
        fm_perf_fail(perf, FM_NOMEM);
        return NULL;
    }
    file->kind = kind < FM_PERF_NAMES_OTHER ? (uint8_t)kind : (uint8_t)FM_PERF_NAMES_OTHER;
    file->base = base;
    return file;
}

static bool add_symbol(struct fm_perf *perf, struct fm_perf_names_file *file, uint64_t start,
                       uint64_t length, const char *name, size_t n)
{
    return fm_perf_names_add(&perf->machine.names, file, start, length,
                             readable(perf, name, n)) ||
           fm_perf_fail(perf, FM_NOMEM);
}

/* One entry of FILE; false: the import has failed. */
static bool file_entry(struct fm_perf *perf, struct fm_cursor *c)
{
    size_t length;
    const char *path = fm_cursor_text(c, fm_cursor_left(c), false, &length);
    uint32_t kind = fm_cursor_u32(c);
    uint64_t base = fm_cursor_u64(c);
    uint32_t n = fm_cursor_u32(c);
    if (!fm_cursor_ok(c) || n > fm_cursor_left(c) / 13) {
        c->bad = true;
        return true;
    }
    struct fm_perf_names_file *file = file_of(perf, path, length, kind, base);
    if (file == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t start = fm_cursor_u64(c), size = fm_cursor_u32(c);
        const char *name = fm_cursor_text(c, fm_cursor_left(c), false, &length);
        if (!fm_cursor_ok(c))
            return true;
        if (!add_symbol(perf, file, start, size, name, length))
            return false;
    }
    if ((kind == FM_PERF_NAMES_ELF || kind == FM_PERF_NAMES_KMODULE) && fm_cursor_left(c) >= 8)
        file->base_at = fm_cursor_u64(c);
    return true;
}

/* A field of a protobuf message: its number, and its value or content. False at the end, and when
 * it does not parse (c->bad). */
struct field {
    uint64_t number, value;
    struct fm_cursor content;
};

static bool next_field(struct fm_cursor *c, struct field *f)
{
    if (fm_cursor_left(c) == 0)
        return false;
    uint64_t key = fm_cursor_uleb(c);
    memset(f, 0, sizeof *f);
    f->number = key >> 3;
    switch (key & 7) {
    case 0:
        f->value = fm_cursor_uleb(c);
        break;
    case 1:
        f->value = fm_cursor_u64(c);
        break;
    case 2:
        f->content = fm_cursor_sub(c, fm_cursor_uleb(c));
        break;
    case 5:
        f->value = fm_cursor_u32(c);
        break;
    default:
        c->bad = true;
    }
    return fm_cursor_ok(c);
}

static bool message_symbol(struct fm_perf *perf, struct fm_perf_names_file *file,
                           struct fm_cursor *c)
{
    struct field f;
    uint64_t start = 0, size = 0;
    const char *name = "";
    size_t n = 0;
    while (next_field(c, &f)) {
        if (f.number == 1) {
            start = f.value;
        } else if (f.number == 2) {
            size = f.value;
        } else if (f.number == 3) {
            n = fm_cursor_left(&f.content);
            name = (const char *)fm_cursor_bytes(&f.content, n);
        }
    }
    return n == 0 || add_symbol(perf, file, start, size, name, n);
}

static bool file_message(struct fm_perf *perf, struct fm_cursor *c)
{
    struct fm_cursor again = *c, inner;
    struct field f, g;
    uint64_t kind = FM_PERF_NAMES_OTHER, base = 0, base_at = 0;
    const char *path = NULL;
    size_t n = 0;
    while (next_field(c, &f)) {
        if (f.number == 1) {
            n = fm_cursor_left(&f.content);
            path = (const char *)fm_cursor_bytes(&f.content, n);
        } else if (f.number == 2) {
            kind = f.value;
        } else if (f.number == 3) {
            base = f.value;
        }
        inner = f.content;
        while ((f.number == 6 || f.number == 7) && next_field(&inner, &g))
            if (g.number == 1)
                base_at = g.value;
        c->bad |= inner.bad;
    }
    if (!fm_cursor_ok(c) || path == NULL) {
        c->bad = true;
        return true;
    }
    struct fm_perf_names_file *file = file_of(perf, path, n, kind, base);
    if (file == NULL)
        return false;
    file->base_at = base_at;
    while (next_field(&again, &f))
        if (f.number == 4 && !message_symbol(perf, file, &f.content))
            return false;
    return true;
}

/* "name,type,config": the events of that type and config are called so. */
static bool event_name(struct fm_perf *perf, const char *line, size_t n)
{
    uint64_t type, config;
    const char *second = memrchr(line, ',', n);
    const char *first = second != NULL ? memrchr(line, ',', (size_t)(second - line)) : NULL;
    if (first == NULL || first == line ||
        !fm_text_u64(first + 1, (size_t)(second - first - 1), &type) ||
        !fm_text_u64(second + 1, (size_t)(line + n - second - 1), &config))
        return true;
    for (size_t i = 0; i < perf->events.n; i++) {
        struct fm_perf_event *event = &perf->events.event[i];
        if (event->attr.type == type && event->attr.config == config &&
            !fm_perf_event_rename(&perf->events, event, line, (size_t)(first - line)))
            return fm_perf_fail(perf, FM_NOMEM);
    }
    return true;
}

static bool is(const char *s, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(s, word, n) == 0;
}

static bool meta_info(struct fm_perf *perf, struct fm_cursor *c)
{
    while (fm_cursor_left(c) > 0) {
        size_t n, length;
        char key[64];
        const char *name = fm_cursor_text(c, fm_cursor_left(c), false, &n);
        const char *value = fm_cursor_text(c, fm_cursor_left(c), false, &length);
        if (!fm_cursor_ok(c))
            return true;
        if (is(name, n, "event_type_info")) {
            for (size_t at = 0; at < length;) {
                const char *end = memchr(value + at, '\n', length - at);
                size_t line = end != NULL ? (size_t)(end - (value + at)) : length - at;
                if (!event_name(perf, value + at, line))
                    return false;
                at += line + 1;
            }
        } else if (n > 0 && n < sizeof key && length > 0) {
            memcpy(key, name, n);
            key[n] = '\0';
            for (size_t i = 0; i < n; i++)
                if (key[i] == '_')
                    key[i] = '-';
            fm_builder_provenance(perf->builder, key, value, length);
        }
    }
    return true;
}

bool fm_perf_simple_feature(struct fm_perf *perf, unsigned bit, struct fm_cursor *c)
{
    perf->machine.calls_exact = true;
    if (bit == META_INFO)
        return meta_info(perf, c);
    if (bit != FILE_1 && bit != FILE_2)
        return true;        /* how stacks were unwound, branch lists of ETM */
    while (fm_cursor_left(c) > 0) {
        struct fm_cursor entry = fm_cursor_sub(c, fm_cursor_u32(c));
        if (!fm_cursor_ok(c))
            return true;
        if (!(bit == FILE_1 ? file_entry(perf, &entry) : file_message(perf, &entry)))
            return false;
        c->bad |= entry.bad;
    }
    return true;
}

/* ------------------------------------------------------------------------- records */

/* "ADDRESS TYPE NAME [MODULE]" a line; a function ends where the next line's begins. */
static bool kernel_symbols(struct fm_perf *perf, struct fm_cursor *c)
{
    static const char path[] = "[kernel.kallsyms]";
    uint32_t n = fm_cursor_u32(c);
    struct fm_cursor body = fm_cursor_sub(c, n);
    const char *text = (const char *)fm_cursor_bytes(&body, fm_cursor_left(&body));
    if (!fm_cursor_ok(c))
        return true;
    struct fm_perf_names_file *file =
        file_of(perf, path, sizeof path - 1, FM_PERF_NAMES_KERNEL, 0);
    if (file == NULL)
        return false;
    for (size_t at = 0; at < n;) {
        const char *line = text + at, *end = memchr(line, '\n', n - at);
        size_t length = end != NULL ? (size_t)(end - line) : n - at;
        const char *blank = memchr(line, ' ', length);
        uint64_t start;
        at += length + 1;
        if (blank == NULL || line + length - blank < 4 ||
            !fm_text_hex(line, (size_t)(blank - line), &start) || start == 0)
            continue;
        size_t before = file->n;
        const char *name = blank + 3;
        size_t name_n = 0, left = (size_t)(line + length - name);
        while (name_n < left && name[name_n] != '\t' && name[name_n] != ' ')
            name_n++;
        if (before > 0 && file->name[before - 1].end == UINT64_MAX &&
            file->name[before - 1].start < start)
            file->name[before - 1].end = start;
        if (!add_symbol(perf, file, start, UINT64_MAX, name, name_n))
            return false;
    }
    return true;
}

static bool dso(struct fm_perf *perf, struct fm_cursor *c)
{
    size_t n;
    uint64_t kind = fm_cursor_u64(c), id = fm_cursor_u64(c), base = fm_cursor_u64(c);
    const char *path = fm_cursor_text(c, fm_cursor_left(c), true, &n);
    if (!fm_cursor_ok(c) || path == NULL)
        return true;
    uint64_t *known = fm_map_put(&perf->simple_dso, id, NULL);
    if (known == NULL)
        return fm_perf_fail(perf, FM_NOMEM);
    *known = fm_builder_str(perf->builder, path, n);
    return file_of(perf, path, n, kind, base) != NULL;
}

static bool symbol(struct fm_perf *perf, struct fm_cursor *c)
{
    size_t n;
    uint64_t start = fm_cursor_u64(c), length = fm_cursor_u64(c), id = fm_cursor_u64(c);
    const char *name = fm_cursor_text(c, fm_cursor_left(c), true, &n);
    const uint64_t *path = fm_map_find(&perf->simple_dso, id);
    struct fm_perf_names_file *file =
        path != NULL ? fm_perf_names_of(&perf->machine.names, (fm_str)*path) : NULL;
    if (!fm_cursor_ok(c) || name == NULL || file == NULL)
        return true;
    return add_symbol(perf, file, start, length, name, n);
}

static bool event_ids(struct fm_perf *perf, struct fm_cursor *c)
{
    uint64_t n = fm_cursor_u64(c);
    if (n > fm_cursor_left(c) / 16) {
        c->bad = true;
        return true;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t number = fm_cursor_u64(c), id = fm_cursor_u64(c);
        if (number < perf->events.n &&
            !fm_perf_events_id(&perf->events, id, (size_t)number))
            return fm_perf_fail(perf, FM_NOMEM);
    }
    return true;
}

bool fm_perf_simple_record(struct fm_perf *perf, uint32_t type, const unsigned char *data,
                           size_t n, uint64_t offset)
{
    struct fm_cursor c;
    bool going = true;
    fm_cursor_init(&c, data, n, offset, perf->swap);
    switch (type) {
    case KERNEL_SYMBOL:
        going = kernel_symbols(perf, &c);
        break;
    case DSO:
        going = dso(perf, &c);
        break;
    case SYMBOL:
        going = symbol(perf, &c);
        break;
    case EVENT_ID:
        going = event_ids(perf, &c);
        break;
    case FM_PERF_R_TRACING_DATA:
    case TRACING_DATA: {
        uint32_t size = fm_cursor_u32(&c);
        const unsigned char *tracing = fm_cursor_bytes(&c, size);
        if (fm_cursor_ok(&c))
            going = fm_perf_tracing(perf, tracing, size, offset + 4);
        break;
    }
    default:
        break;
    }
    if (!fm_cursor_ok(&c))
        fm_perf_damage(perf, FM_DIAG_RECORD_BODY, FM_FORMAT, offset,
                       "record '%s' of %zu bytes is too short",
                       fm_perf_record_name(type) != NULL ? fm_perf_record_name(type) : "unknown",
                       n);
    return going;
}
