/*
 * container.c - the parts of a trace.dat, but for the pages of the ring buffers.
 *
 *     23 8 68 "tracing" | version\0 | u8 big-endian | u8 size of long | u32 page size
 *
 * Version 6 goes on with all metadata in turn, then the options, then tables of pages:
 *
 *     header info | ftrace events | event formats | u32 size, kallsyms | u32 size, printk formats |
 *     u64 size, comms | u32 CPUs | "options  \0" options |
 *     "flyrecord\0" CPUs x { u64 at, u64 size }
 *
 * and the option of a further buffer says where its own "flyrecord\0" table is. Version 7:
 *
 *     compression\0 version\0 | u64 offset of the first options
 *     section:  u16 id, u16 flags (1 packed), u32 name, u64 size | bytes
 *               packed: u32 packed size, u32 size, bytes
 *
 * whose options say where the other sections and the pages of each CPU are; the last option of a
 * list, id 0, has the offset of the next list. An option: u16 id, u32 size, bytes; in version 6 the
 * last one has no size. Source: the manual pages trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5).
 */
#include "import/ftrace/ftrace.h"

#include "util/error.h"
#include "util/text.h"

#define FIRST_WINDOW ((size_t)1 << 20)
#define WINDOW_MAX ((uint64_t)256 << 20)
#define SECTION_HEAD 16u
#define PAGE_MAX ((uint32_t)8 << 20)

enum option {
    O_DONE = 0, O_DATE = 1, O_CPUSTAT = 2, O_BUFFER = 3, O_CLOCK = 4, O_UNAME = 5, O_OFFSET = 7,
    O_VERSION = 9, O_TRACEID = 11, O_TSC2NSEC = 14, O_HEADER_INFO = 16, O_FTRACE_EVENTS = 17,
    O_EVENT_FORMATS = 18, O_KALLSYMS = 19, O_PRINTK = 20, O_CMDLINES = 21, O_TGIDS = 23
};

/* ------------------------------------------------------------------ bytes of the input */

/* No part of a true file is told twice: however often a false one names the same bytes, no more
 * than a few times its size is read. */
static bool within(struct fm_ftrace *f, uint64_t n, uint64_t offset)
{
    uint64_t limit = f->size <= UINT64_MAX / 8 ? 4 * f->size + FIRST_WINDOW : UINT64_MAX;
    if (n > limit - f->taken) {
        fm_ftrace_damage(f, FM_DIAG_HEADER_FIELD, FM_FORMAT, offset,
                         "parts of the file overlap each other many times");
        return false;
    }
    f->taken += n;
    return true;
}

/* n bytes at an offset into the arena; NULL: failed, or (with damage) there are not as many. */
static unsigned char *bytes_at(struct fm_ftrace *f, uint64_t offset, uint64_t n, const char *what)
{
    size_t got = 0;
    if (offset > f->size || n > f->size - offset) {
        fm_ftrace_damage(f, FM_DIAG_TRUNCATED, FM_TRUNCATED, FM_MIN(offset, f->size),
                         "%s: needed %llu bytes, %llu left", what, (unsigned long long)n,
                         (unsigned long long)(offset > f->size ? 0 : f->size - offset));
        return NULL;
    }
    if (!within(f, n, offset))
        return NULL;
    unsigned char *data = fm_arena_alloc(&f->arena, (size_t)n + 1);
    if (data == NULL) {
        (void)fm_ftrace_fail(f, FM_NOMEM);
        return NULL;
    }
    enum fm_status status = fm_input_read_at(f->input, offset, data, (size_t)n, &got, f->err);
    if (status == FM_OK && got == n)
        return data;
    if (status == FM_OK)
        fm_ftrace_damage(f, FM_DIAG_TRUNCATED, FM_TRUNCATED, offset, "%s ends early", what);
    else
        f->status = status;
    return NULL;
}

/* ------------------------------------------------------------------ options */

static void put_provenance(struct fm_ftrace *f, const char *key, const unsigned char *s, size_t n)
{
    size_t length = strnlen((const char *)s, n);
    while (length > 0 && s[length - 1] == '\n')
        length--;
    if (length > 0)
        fm_builder_provenance(f->builder, key, (const char *)s, length);
}

/* "123", "-123", "0x7f…": what strtoll() takes. */
static bool option_number(const unsigned char *s, size_t n, int64_t *value)
{
    size_t length = strnlen((const char *)s, n);
    bool minus = length > 0 && s[0] == '-';
    uint64_t v;
    s += minus;
    length -= minus;
    if (length > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
        if (!fm_text_hex((const char *)s, length, &v))
            return false;
    } else if (!fm_text_u64((const char *)s, length, &v)) {
        return false;
    }
    *value = (int64_t)(minus ? UINT64_C(0) - v : v);
    return true;
}

/* The word in brackets of "[local] global counter ...", or the word itself. */
static const char *clock_name(struct fm_ftrace *f, const char *s, size_t n)
{
    n = strnlen(s, n);
    const char *open = memchr(s, '[', n);
    const char *close = open != NULL ? memchr(open, ']', n - (size_t)(open - s)) : NULL;
    char *name = close != NULL ? fm_arena_strn(&f->arena, open + 1, (size_t)(close - open) - 1)
                               : fm_arena_strn(&f->arena, s, FM_MIN(n, (size_t)64));
    if (name == NULL)
        (void)fm_ftrace_fail(f, FM_NOMEM);
    return name;
}

/* "CPU: 0\nentries: 0\noverrun: 12\n..." of the buffer that stands before. */
static void cpu_stats(struct fm_ftrace *f, const unsigned char *s, size_t n, uint64_t offset)
{
    static const char *const lost[] = {"\noverrun: ", "\ncommit overrun: ", "\ndropped events: "};
    for (size_t i = 0; i < FM_COUNT(lost); i++) {
        const char *at = memmem(s, n, lost[i], strlen(lost[i]));
        size_t digits = 0, left;
        uint64_t v;
        if (at == NULL)
            continue;
        at += strlen(lost[i]);
        left = n - (size_t)(at - (const char *)s);
        while (digits < left && at[digits] >= '0' && at[digits] <= '9')
            digits++;
        if (fm_text_u64(at, digits, &v) && v > 0)
            fm_ftrace_note(f, FM_DIAG_LOST_RECORDS, offset, v);
    }
}

static void option_of_time(struct fm_ftrace *f, enum option id, struct fm_cursor *c)
{
    size_t n = fm_cursor_left(c);
    int64_t v;
    if (id == O_TSC2NSEC) {
        uint32_t mult = fm_cursor_u32(c), shift = fm_cursor_u32(c);
        uint64_t offset = fm_cursor_u64(c);
        if (fm_cursor_ok(c) && shift < 64) {
            f->mult = mult;
            f->mult_shift = shift;
            f->mult_offset = offset;
        }
        return;
    }
    if (!option_number(fm_cursor_bytes(c, n), n, &v))
        return;
    if (id == O_OFFSET)
        f->shift = v;
    else if (!__builtin_mul_overflow(v, INT64_C(1000), &f->wall))
        f->has_wall = true;
}

/* Those of both versions; `left` is all of the option. */
static void common_option(struct fm_ftrace *f, enum option id, struct fm_cursor left)
{
    uint64_t offset = fm_cursor_offset(&left);
    size_t n = fm_cursor_left(&left);
    struct fm_cursor c = left;
    if (id == O_DATE || id == O_OFFSET || id == O_TSC2NSEC) {
        option_of_time(f, id, &c);
        return;
    }
    const unsigned char *s = fm_cursor_bytes(&c, n);
    if (id == O_CLOCK)
        f->clock = clock_name(f, (const char *)s, n);
    else if (id == O_UNAME)
        put_provenance(f, "uname", s, n);
    else if (id == O_VERSION)
        put_provenance(f, "trace-cmd", s, n);
    else if (id == O_CPUSTAT)
        cpu_stats(f, s, n, offset);
}

static struct fm_ftrace_buffer *add_buffer(struct fm_ftrace *f, const char *name, size_t n)
{
    if (!fm_grow(&f->ctx->mem, (void **)&f->buffer, &f->buffer_cap, f->buffers + 1,
                 sizeof *f->buffer)) {
        (void)fm_ftrace_fail(f, FM_NOMEM);
        return NULL;
    }
    struct fm_ftrace_buffer *buffer = &f->buffer[f->buffers++];
    *buffer = (struct fm_ftrace_buffer){.page_size = f->page_size};
    buffer->name = fm_arena_strn(&f->arena, name, n);
    if (buffer->name == NULL) {
        (void)fm_ftrace_fail(f, FM_NOMEM);
        return NULL;
    }
    return buffer;
}

/* The size of packed pages is without the number of chunks before them. */
static bool add_stream(struct fm_ftrace *f, uint32_t cpu, uint64_t at, uint64_t size, bool packed)
{
    if (size == 0)
        return true;
    if (at >= f->size || size > f->size - at) {
        fm_ftrace_damage(f, FM_DIAG_TRUNCATED, FM_TRUNCATED, f->size,
                         "pages of cpu %u: needed %llu bytes at %llu, the input has %llu",
                         (unsigned)cpu, (unsigned long long)size, (unsigned long long)at,
                         (unsigned long long)f->size);
        if (at >= f->size)
            return true;
        size = f->size - at;
    }
    if (!within(f, size, at))
        return true;
    if (!fm_grow(&f->ctx->mem, (void **)&f->stream, &f->stream_cap, f->streams + 1,
                 sizeof *f->stream))
        return fm_ftrace_fail(f, FM_NOMEM);
    struct fm_ftrace_stream *stream = &f->stream[f->streams++];
    memset(stream, 0, sizeof *stream);
    stream->buffer = (uint32_t)(f->buffers - 1);
    stream->cpu = cpu;
    stream->at = at;
    stream->end = at + size + (packed ? FM_MIN(f->size - at - size, (uint64_t)4) : 0);
    stream->packed = packed;
    return true;
}

/* ------------------------------------------------------------------ version 7 */

/* A section's content, unpacked, as a cursor; false: damage or failure. */
static bool section(struct fm_ftrace *f, uint64_t at, const char *what, struct fm_cursor *out)
{
    struct fm_cursor c;
    const unsigned char *head = bytes_at(f, at, SECTION_HEAD, what);
    if (head == NULL)
        return false;
    fm_cursor_init(&c, head, SECTION_HEAD, at, f->swap);
    fm_cursor_skip(&c, 2);
    bool packed = (fm_cursor_u16(&c) & 1) != 0;
    fm_cursor_skip(&c, 4);
    uint64_t size = fm_cursor_u64(&c);
    unsigned char *data = bytes_at(f, at + SECTION_HEAD, size, what);
    if (data == NULL)
        return false;
    fm_cursor_init(out, data, (size_t)size, at + SECTION_HEAD, f->swap);
    if (!packed)
        return true;
    uint32_t in_n = fm_cursor_u32(out), n = fm_cursor_u32(out);
    struct fm_cursor in = fm_cursor_sub(out, in_n);
    struct fm_error err = {0};
    unsigned char *text = NULL;
    size_t got = 0;
    if (fm_cursor_ok(out) && fm_ftrace_unpack(f, &in, n, &text, &got, &err)) {
        fm_cursor_init(out, text, got, at + SECTION_HEAD, f->swap);
        return true;
    }
    if (f->status == FM_OK)
        fm_ftrace_damage(f, FM_DIAG_INFLATE, FM_FORMAT, at, "%s: packed data do not unpack%s%s",
                         what, err.message[0] != '\0' ? ": " : "", err.message);
    return false;
}

static bool text_section(struct fm_ftrace *f, enum option id, struct fm_cursor *c)
{
    uint64_t size = id == O_CMDLINES || id == O_TGIDS ? fm_cursor_u64(c) : fm_cursor_u32(c);
    struct fm_cursor text = fm_cursor_sub(c, size);
    size_t n = fm_cursor_left(&text);
    const char *s = (const char *)fm_cursor_bytes(&text, n);
    if (!fm_cursor_ok(c))
        return true;
    if (id == O_KALLSYMS)
        return fm_ftrace_kallsyms(f, s, n);
    if (id == O_CMDLINES)
        return fm_ftrace_comms(f, s, n);
    if (id == O_TGIDS)
        return fm_ftrace_tgids(f, s, n);
    f->printk = s;
    f->printk_n = n;
    return true;
}

static bool metadata(struct fm_ftrace *f, enum option id, struct fm_cursor *option)
{
    static const char *const name[] = {
        [O_HEADER_INFO] = "header info", [O_FTRACE_EVENTS] = "ftrace events",
        [O_EVENT_FORMATS] = "event formats", [O_KALLSYMS] = "kallsyms",
        [O_PRINTK] = "printk formats", [O_CMDLINES] = "comms", [O_TGIDS] = "thread ids"};
    uint64_t at = fm_cursor_u64(option);
    struct fm_cursor c;
    bool good;
    if (!fm_cursor_ok(option) || !section(f, at, name[id], &c))
        return f->status == FM_OK;
    if (id == O_HEADER_INFO)
        good = fm_ftrace_header_info(f, &c);
    else if (id == O_FTRACE_EVENTS || id == O_EVENT_FORMATS)
        good = fm_ftrace_formats(f, &c, id == O_EVENT_FORMATS);
    else
        good = text_section(f, id, &c);
    if (good && !fm_cursor_ok(&c))
        fm_ftrace_damage(f, FM_DIAG_FEATURE_BAD, FM_FORMAT, at, "%s: %zu bytes do not parse",
                         name[id], (size_t)(c.end - c.base));
    return good;
}

/* u64 section | name\0 | clock\0 | u32 page size | u32 CPUs, each { u32 cpu, u64 at, u64 size } */
static bool buffer_option(struct fm_ftrace *f, struct fm_cursor *c)
{
    uint64_t offset = fm_cursor_offset(c), at = fm_cursor_u64(c);
    size_t name_n = 0, clock_n = 0;
    const char *name = fm_cursor_text(c, fm_cursor_left(c), false, &name_n);
    const char *clock = fm_cursor_text(c, fm_cursor_left(c), false, &clock_n);
    uint32_t page = fm_cursor_u32(c), cpus = fm_cursor_u32(c);
    if (!fm_cursor_ok(c) || page < 64 || page > PAGE_MAX || cpus > fm_cursor_left(c) / 20) {
        fm_ftrace_damage(f, FM_DIAG_HEADER_FIELD, FM_FORMAT, offset,
                         "the description of a buffer makes no sense");
        return true;
    }
    if (cpus == 0)
        return true;
    struct fm_ftrace_buffer *buffer = add_buffer(f, name, name_n);
    const unsigned char *head = buffer != NULL ? bytes_at(f, at, SECTION_HEAD, "a buffer") : NULL;
    struct fm_cursor h;
    if (head == NULL)
        return f->status == FM_OK;
    fm_cursor_init(&h, head, SECTION_HEAD, at, f->swap);
    fm_cursor_skip(&h, 2);
    bool packed = (fm_cursor_u16(&h) & 1) != 0;
    buffer->page_size = page;
    buffer->clock = clock_name(f, clock, clock_n);
    for (uint32_t i = 0; i < cpus; i++) {
        uint32_t cpu = fm_cursor_u32(c);
        uint64_t from = fm_cursor_u64(c), size = fm_cursor_u64(c);
        if (!add_stream(f, cpu, from, size, packed))
            return false;
    }
    return f->status == FM_OK;
}

/* One list of options; *next is where the next one is, or 0. */
static bool option_list(struct fm_ftrace *f, uint64_t at, uint64_t *next)
{
    struct fm_cursor c;
    *next = 0;
    if (!section(f, at, "options", &c))
        return f->status == FM_OK;
    while (fm_cursor_left(&c) > 0) {
        unsigned id = fm_cursor_u16(&c);
        struct fm_cursor option = fm_cursor_sub(&c, fm_cursor_u32(&c));
        bool good = true;
        if (!fm_cursor_ok(&c))
            break;
        if (id == O_DONE) {
            *next = fm_cursor_u64(&option);
            return true;
        }
        if (id == O_BUFFER)
            good = buffer_option(f, &option);
        else if ((id >= O_HEADER_INFO && id <= O_CMDLINES) || id == O_TGIDS)
            good = metadata(f, (enum option)id, &option);
        else
            common_option(f, (enum option)id, option);
        if (!good)
            return false;
    }
    fm_ftrace_damage(f, FM_DIAG_FEATURE_BAD, FM_FORMAT, at, "options do not end in their section");
    return true;
}

static bool version_7(struct fm_ftrace *f, struct fm_cursor *c)
{
    size_t n = 0, version_n;
    const char *name = fm_cursor_text(c, fm_cursor_left(c), false, &n);
    (void)fm_cursor_text(c, fm_cursor_left(c), false, &version_n);
    uint64_t at = fm_cursor_u64(c), next;
    if (!fm_cursor_ok(c) || name == NULL) {
        fm_ftrace_damage(f, FM_DIAG_TRUNCATED, FM_TRUNCATED, 0, "the header is cut");
        return true;
    }
    f->zlib = n == 4 && memcmp(name, "zlib", 4) == 0;
    f->codec = f->zlib                                 ? "deflate"
               : n == 4 && memcmp(name, "zstd", 4) == 0 ? "zstd"
                                                        : NULL;
    for (; at != 0; at = next) {
        if (!option_list(f, at, &next))
            return false;
        if (next != 0 && next <= at) {
            fm_ftrace_damage(f, FM_DIAG_HEADER_FIELD, FM_FORMAT, at,
                             "the next options are at %llu, before these",
                             (unsigned long long)next);
            break;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ version 6 */

struct v6 {
    struct fm_cursor info, ftrace, systems, kallsyms, printk, comms, options, table;
    uint32_t cpus;
};

static struct fm_cursor span(const struct fm_cursor *from, const struct fm_cursor *to)
{
    struct fm_cursor c = *from;
    c.end = to->p;
    return c;
}

static void skip_formats(struct fm_cursor *c)
{
    for (uint32_t i = fm_cursor_u32(c); i > 0 && fm_cursor_ok(c); i--)
        fm_cursor_skip(c, fm_cursor_u64(c));
}

static bool has_word(struct fm_cursor *c, const char word[10])
{
    struct fm_cursor peek = *c;
    const unsigned char *s = fm_cursor_bytes(&peek, 10);
    if (s == NULL || memcmp(s, word, 10) != 0)
        return false;
    *c = peek;
    return true;
}

static void skip_options(struct fm_cursor *c)
{
    while (fm_cursor_ok(c) && fm_cursor_u16(c) != O_DONE)
        fm_cursor_skip(c, fm_cursor_u32(c));
}

/* Where everything is; false: not all of it is in the window. */
static bool v6_layout(struct fm_cursor c, struct v6 *v)
{
    struct fm_cursor from = c;
    size_t n;
    for (unsigned i = 0; i < 2; i++) {
        (void)fm_cursor_text(&c, fm_cursor_left(&c), false, &n);
        fm_cursor_skip(&c, fm_cursor_u64(&c));
    }
    v->info = span(&from, &c);
    from = c;
    skip_formats(&c);
    v->ftrace = span(&from, &c);
    from = c;
    for (uint32_t s = fm_cursor_u32(&c); s > 0 && fm_cursor_ok(&c); s--) {
        (void)fm_cursor_text(&c, fm_cursor_left(&c), false, &n);
        skip_formats(&c);
    }
    v->systems = span(&from, &c);
    v->kallsyms = fm_cursor_sub(&c, fm_cursor_u32(&c));
    v->printk = fm_cursor_sub(&c, fm_cursor_u32(&c));
    v->comms = fm_cursor_sub(&c, fm_cursor_u64(&c));
    v->cpus = fm_cursor_u32(&c);
    from = c;
    if (has_word(&c, "options  ")) {
        from = c;
        skip_options(&c);
    }
    v->options = span(&from, &c);
    v->table = c;
    return fm_cursor_ok(&c) && fm_cursor_left(&c) >= 10;
}

/* "flyrecord\0" and the places of each CPU's pages. */
static bool v6_table(struct fm_ftrace *f, struct fm_cursor *c, uint32_t cpus)
{
    uint64_t offset = fm_cursor_offset(c);
    if (!has_word(c, "flyrecord")) {
        if (has_word(c, "latency  "))
            fm_ftrace_damage(f, FM_DIAGS, FM_UNSUPPORTED, offset,
                             "the file holds the text of a latency tracer, no events");
        else
            fm_ftrace_damage(f, FM_DIAG_HEADER_FIELD, FM_FORMAT, offset,
                             "no table of pages where one must be");
        return true;
    }
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        uint64_t at = fm_cursor_u64(c), size = fm_cursor_u64(c);
        if (!fm_cursor_ok(c)) {
            fm_ftrace_damage(f, FM_DIAG_TRUNCATED, FM_TRUNCATED, offset,
                             "the table of pages is cut");
            return true;
        }
        if (!add_stream(f, cpu, at, size, false))
            return false;
    }
    return true;
}

static bool v6_buffer(struct fm_ftrace *f, struct fm_cursor *option, uint32_t cpus)
{
    uint64_t at = fm_cursor_u64(option), n;
    size_t name_n = fm_cursor_left(option);
    const char *name = (const char *)fm_cursor_bytes(option, name_n);
    struct fm_cursor c;
    if (!fm_cursor_ok(option) || add_buffer(f, name, strnlen(name, name_n)) == NULL)
        return f->status == FM_OK;
    n = FM_MIN(10 + (uint64_t)cpus * 16, at < f->size ? f->size - at : 0);
    const unsigned char *data = bytes_at(f, at, n, "a buffer's table");
    if (data == NULL)
        return f->status == FM_OK;
    fm_cursor_init(&c, data, (size_t)n, at, f->swap);
    return v6_table(f, &c, cpus);
}

static bool v6_options(struct fm_ftrace *f, struct fm_cursor *c, uint32_t cpus)
{
    while (fm_cursor_left(c) >= 2) {
        unsigned id = fm_cursor_u16(c);
        if (id == O_DONE)
            break;
        struct fm_cursor option = fm_cursor_sub(c, fm_cursor_u32(c));
        if (!fm_cursor_ok(c))
            break;
        if (id != O_BUFFER)
            common_option(f, (enum option)id, option);
        else if (!v6_buffer(f, &option, cpus))
            return false;
    }
    return f->status == FM_OK;
}

static bool v6_metadata(struct fm_ftrace *f, struct v6 *v)
{
    size_t n = fm_cursor_left(&v->kallsyms);
    if (!fm_ftrace_header_info(f, &v->info) || !fm_ftrace_formats(f, &v->ftrace, false) ||
        !fm_ftrace_formats(f, &v->systems, true) ||
        !fm_ftrace_kallsyms(f, (const char *)fm_cursor_bytes(&v->kallsyms, n), n))
        return false;
    n = fm_cursor_left(&v->comms);
    if (!fm_ftrace_comms(f, (const char *)fm_cursor_bytes(&v->comms, n), n))
        return false;
    f->printk_n = fm_cursor_left(&v->printk);
    f->printk = (const char *)fm_cursor_bytes(&v->printk, f->printk_n);
    if (add_buffer(f, "", 0) == NULL || !v6_table(f, &v->table, v->cpus))
        return false;
    return v6_options(f, &v->options, v->cpus);
}

/* The metadata's end is known only by walking them: in windows of growing size. */
static bool version_6(struct fm_ftrace *f, uint64_t at)
{
    struct v6 v;
    struct fm_cursor c;
    uint64_t left = f->size - at, window = FM_MIN(left, (uint64_t)FIRST_WINDOW);
    for (;;) {
        const unsigned char *data = bytes_at(f, at, window, "metadata");
        if (data == NULL)
            return f->status == FM_OK;
        fm_cursor_init(&c, data, (size_t)window, at, f->swap);
        bool good = v6_layout(c, &v);
        /* the table of pages follows what is walked */
        if (good && (window == left || fm_cursor_left(&v.table) >= 10 + (uint64_t)v.cpus * 16))
            return v6_metadata(f, &v);
        if (window == left || window >= WINDOW_MAX) {
            fm_ftrace_damage(f, FM_DIAG_TRUNCATED, FM_TRUNCATED, f->size,
                             "the metadata do not end in the input");
            return true;
        }
        window = window > left / 4 ? left : window * 4;
    }
}

bool fm_ftrace_container(struct fm_ftrace *f)
{
    size_t head_n = (size_t)FM_MIN(f->size, (uint64_t)4096), n;
    const unsigned char *head = bytes_at(f, 0, head_n, "header");
    struct fm_cursor c;
    uint64_t version = 0;
    if (head == NULL)
        return false;
    fm_cursor_init(&c, head, head_n, 0, false);
    fm_cursor_skip(&c, 10);
    const char *text = fm_cursor_text(&c, fm_cursor_left(&c), false, &n);
    f->big = fm_cursor_u8(&c) != 0;
    f->swap = c.swap = f->big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    f->long_size = fm_cursor_u8(&c);
    f->page_size = fm_cursor_u32(&c);
    if (!fm_cursor_ok(&c) || !fm_text_u64(text, n, &version)) {
        fm_ftrace_damage(f, FM_DIAG_TRUNCATED, FM_TRUNCATED, 0, "the header is cut");
        return true;
    }
    f->version = (unsigned)FM_MIN(version, UINT64_C(1000));
    if (version < 6 || version > 7) {
        fm_ftrace_damage(f, FM_DIAGS, FM_UNSUPPORTED, 10, "version %u of trace.dat is not known",
                         f->version);
        return true;
    }
    if (f->page_size < 64 || f->page_size > PAGE_MAX ||
        (f->long_size != 4 && f->long_size != 8)) {
        fm_ftrace_damage(f, FM_DIAG_HEADER_FIELD, FM_FORMAT, 12,
                         "pages of %u bytes and a long of %u", (unsigned)f->page_size,
                         f->long_size);
        return true;
    }
    fm_page_shape_init(&f->shape, f->big, f->long_size);
    return version == 6 ? version_6(f, fm_cursor_offset(&c)) : version_7(f, &c);
}
