/*
 * perf.c - perf.data: the probe, the header, and the order in which things are read.
 *
 * A seekable file (all numbers in the writer's byte order):
 *
 *      0 u64 magic: "PERFILE2" little-endian, "2ELIFREP" big-endian, "PERFFILE" old, both
 *      8 u64 size of this header: 104, 72 (oldest, ends before the bits); 16: a pipe stream, whose
 *            records follow at once
 *     16 u64 size of an entry of the attrs section
 *     24 u64 offset, size: attrs, each { attr, u64 offset, size of its array of u64 ids }
 *     40 u64 offset, size: data
 *     56 u64 offset, size: event types, dead
 *     72 u64[4] feature bits; their table stands behind the data
 *
 * The old magic tells no byte order: the entry size does, which is an attribute's size + 16. A
 * header with data.size 0 was never finished: its recorder was killed, and the records go on to the
 * end of the file.
 *
 * A directory holds `data`, a seekable file, and data.0, data.1 ...: records from the first byte,
 * one file a thread of the recorder. All of them are read before anything is delivered.
 *
 * Attributes and features come first, because they say how to read records and what events are
 * called; in a pipe they are records like others.
 */
#include "import/perf/perf.h"

#include "import/perf/session.h"
#include "util/error.h"

#include <errno.h>
#include <stdio.h>

#define PIPE_HEADER 16u
#define OLD_HEADER 72u
#define FULL_HEADER 104u
#define BLOCKS_BUDGET ((size_t)40 << 20)
#define DIRECTORY_MAX 65536u
#define DIR_FORMAT 24u            /* feature bit */
#define DIRECTORY_GAP 64u         /* members that may be missing in a row */

struct header {
    bool big, old;
    uint64_t size, attr_size;
    uint64_t attrs, attrs_size, data, data_size;
    uint64_t feature[4];
};

bool fm_perf_fail(struct fm_perf *perf, enum fm_status status)
{
    if (perf->status == FM_OK) {
        perf->status = status != FM_OK ? status : FM_NOMEM;
        if (perf->status == FM_NOMEM)
            fm_error_nomem(perf->err);
        else
            fm_error_set(perf->err, perf->status, "%s", fm_status_text(perf->status));
    }
    return false;
}

void fm_perf_note(struct fm_perf *perf, enum fm_diag key, uint64_t offset, uint64_t n)
{
    fm_builder_diag(perf->builder, key, offset, n);
}

void fm_perf_damage(struct fm_perf *perf, enum fm_diag key, enum fm_status status,
                    uint64_t offset, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    if (key < FM_DIAGS)
        fm_perf_note(perf, key, offset, 1);
    if (perf->damage != FM_OK)
        return;
    perf->damage = status;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fm_error_at(perf->err, status, perf->name, offset, "%s", text);
}

struct fm_perf_event *fm_perf_add_event(struct fm_perf *perf, const struct fm_perf_attr *attr)
{
    struct fm_perf_event *event = fm_perf_events_add(&perf->events, attr);
    if (event == NULL) {
        fm_perf_fail(perf, FM_NOMEM);
        return NULL;
    }
    if (attr->future)
        fm_perf_note(perf, FM_DIAG_ATTR_FUTURE, FM_NO_OFFSET, 1);
    fm_perf_events_settle(&perf->events);
    perf->ordered = perf->events.timed;
    return event;
}

/* ------------------------------------------------------------------------- header */

static bool host_is_big(void)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

static bool has_magic(const unsigned char *data, size_t n, bool *big, bool *old)
{
    static const char magic[3][9] = {"PERFILE2", "2ELIFREP", "PERFFILE"};
    for (unsigned i = 0; n >= 16 && i < FM_COUNT(magic); i++) {
        if (memcmp(data, magic[i], 8) != 0)
            continue;
        *big = i == 1;
        *old = i == 2;
        return true;
    }
    return false;
}

static bool attr_size_fits(uint64_t size)
{
    return size >= FM_PERF_ATTR_MIN + 16 && size < 4096 && size % 8 == 0;
}

/* Reads the header at data; false when it is cut (err set). */
static bool read_header(struct fm_perf *perf, const unsigned char *data, size_t n,
                        struct header *h)
{
    struct fm_cursor c;
    memset(h, 0, sizeof *h);
    if (!has_magic(data, n, &h->big, &h->old)) {
        fm_error_at(perf->err, FM_UNKNOWN, perf->name, 0, "no perf.data magic");
        perf->status = FM_UNKNOWN;
        return false;
    }
    fm_cursor_init(&c, data, n, 0, h->big != host_is_big());
    if (h->old && n >= 24) {
        fm_cursor_skip(&c, 16);
        uint64_t size = fm_cursor_u64(&c);
        if (!attr_size_fits(size) && size != PIPE_HEADER) {
            h->big = !h->big;
            c.swap = !c.swap;
        }
        fm_cursor_init(&c, data, n, 0, c.swap);
    }
    fm_cursor_skip(&c, 8);
    h->size = fm_cursor_u64(&c);
    perf->big = h->big;
    perf->swap = perf->sched.swap = c.swap;
    perf->pipe = h->size < OLD_HEADER;
    if (perf->pipe)
        return true;
    h->attr_size = fm_cursor_u64(&c);
    h->attrs = fm_cursor_u64(&c);
    h->attrs_size = fm_cursor_u64(&c);
    h->data = fm_cursor_u64(&c);
    h->data_size = fm_cursor_u64(&c);
    fm_cursor_skip(&c, 16);
    if (!fm_cursor_ok(&c)) {
        fm_error_at(perf->err, FM_TRUNCATED, perf->name, n,
                    "header: needed %u bytes, %zu left", OLD_HEADER, n);
        perf->status = FM_TRUNCATED;
        return false;
    }
    if (h->size >= FULL_HEADER && fm_cursor_left(&c) >= 32) {
        struct fm_cursor words = c;
        for (unsigned i = 0; i < 4; i++)
            h->feature[i] = fm_cursor_u64(&c);
        /* written as longs: on a 32-bit machine of the other order the halves change places */
        if (c.swap && (h->feature[0] & 1u << 3) == 0) {
            for (unsigned i = 0; i < 4; i++) {
                h->feature[i] = fm_cursor_u32(&words);
                h->feature[i] |= (uint64_t)fm_cursor_u32(&words) << 32;
            }
            if ((h->feature[0] & 1u << 3) == 0)
                memset(h->feature, 0, sizeof h->feature);
        }
    }
    return true;
}

/* The ids of an event, which the two numbers at `field` say where: u64 each, at most as many in all
 * as the file has room for. */
static bool read_ids(struct fm_perf *perf, size_t event, uint64_t field, uint64_t offset,
                     uint64_t size, uint64_t file_size, uint64_t *budget)
{
    unsigned char buf[4096];
    if (offset > file_size || size > file_size - offset || size > *budget) {
        fm_perf_damage(perf, FM_DIAG_HEADER_FIELD, FM_FORMAT, field,
                       "ids of event %zu at %llu: needed %llu bytes, %llu left", event,
                       (unsigned long long)offset, (unsigned long long)size,
                       (unsigned long long)(offset < file_size ? file_size - offset : 0));
        return true;
    }
    *budget -= size;
    while (size >= 8) {
        size_t got, want = (size_t)FM_MIN(size, (uint64_t)sizeof buf);
        struct fm_cursor c;
        enum fm_status status =
            fm_input_read_at(perf->input, offset, buf, want, &got, perf->err);
        if (status != FM_OK)
            return fm_perf_fail(perf, status);
        if (got < 8)
            return true;
        fm_cursor_init(&c, buf, got, offset, perf->swap);
        while (fm_cursor_left(&c) >= 8)
            if (!fm_perf_events_id(&perf->events, fm_cursor_u64(&c), event))
                return fm_perf_fail(perf, FM_NOMEM);
        got -= got % 8;
        offset += got;
        size -= got;
    }
    return true;
}

static bool read_attrs(struct fm_perf *perf, const struct header *h, uint64_t file_size)
{
    unsigned char buf[4096];
    uint64_t budget = file_size, end = fm_add_sat_u64(h->attrs, h->attrs_size);
    if (!attr_size_fits(h->attr_size)) {
        fm_perf_damage(perf, FM_DIAG_HEADER_FIELD, FM_FORMAT, 16,
                       "event attributes of %llu bytes", (unsigned long long)h->attr_size);
        return true;
    }
    if (end > file_size || h->attrs_size % h->attr_size != 0)
        fm_perf_damage(perf, FM_DIAG_HEADER_FIELD, FM_FORMAT, 24,
                       "event attributes: needed %llu bytes at %llu, file has %llu",
                       (unsigned long long)h->attrs_size, (unsigned long long)h->attrs,
                       (unsigned long long)file_size);
    end = FM_MIN(end, file_size);
    for (uint64_t at = h->attrs; at < end && end - at >= h->attr_size; at += h->attr_size) {
        struct fm_perf_attr attr;
        struct fm_cursor c;
        size_t got, size = (size_t)h->attr_size;
        enum fm_status status = fm_input_read_at(perf->input, at, buf, size, &got, perf->err);
        if (status != FM_OK)
            return fm_perf_fail(perf, status);
        fm_cursor_init(&c, buf, got, at, perf->swap);
        if (got < size || !fm_perf_attr_read(&c, size - 16, perf->big, &attr))
            break;
        uint64_t ids = fm_cursor_u64(&c), ids_size = fm_cursor_u64(&c);
        struct fm_perf_event *event = fm_perf_add_event(perf, &attr);
        if (event == NULL || !read_ids(perf, (size_t)(event - perf->events.event),
                                       at + size - 16, ids, ids_size, file_size, &budget))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------------ reading */

/* Where the data section ends, and whether there are features behind it. */
static uint64_t data_end(struct fm_perf *perf, const struct header *h, uint64_t file_size,
                         bool *features)
{
    uint64_t end = fm_add_sat_u64(h->data, h->data_size);
    *features = false;
    if (h->data_size == 0 && h->data < file_size) {
        fm_perf_damage(perf, FM_DIAG_DATA_UNFINISHED, FM_TRUNCATED, 48,
                       "the recorder never wrote the size of the data: read to the end");
        return file_size;
    }
    if (end > file_size) {
        fm_perf_damage(perf, FM_DIAG_TRUNCATED, FM_TRUNCATED, file_size,
                       "data section: needed %llu bytes, %llu left",
                       (unsigned long long)h->data_size,
                       (unsigned long long)(h->data < file_size ? file_size - h->data : 0));
        return file_size;
    }
    *features = true;
    return end;
}

static bool run_file(struct fm_perf *perf, const struct header *h)
{
    struct fm_perf_stream stream;
    uint64_t file_size = 0;
    bool features;
    enum fm_status status = fm_input_seekable(perf->input, perf->err);
    if (status != FM_OK)
        return fm_perf_fail(perf, status);
    (void)fm_input_size(perf->input, &file_size);
    perf->total += file_size;
    uint64_t end = data_end(perf, h, file_size, &features);
    memcpy(perf->features, h->feature, sizeof perf->features);
    if (!read_attrs(perf, h, file_size) ||
        (features && !fm_perf_features(perf, end, file_size)))
        return false;
    fm_perf_stream_init(&stream);
    stream.input = perf->input;
    stream.rereadable = true;
    stream.next = h->data;
    stream.end = end;
    bool going = fm_perf_stream_run(perf, &stream);
    going = going && (perf->hold || fm_perf_flush(perf, UINT64_MAX));
    fm_perf_stream_release(perf, &stream);
    return going;
}

static bool run_pipe(struct fm_perf *perf, const struct header *h)
{
    struct fm_perf_stream stream;
    enum fm_status status;
    bool going;
    fm_perf_stream_init(&stream);
    stream.input = perf->input;
    if (fm_input_is_seekable(perf->input) && fm_input_size(perf->input, &stream.end)) {
        stream.rereadable = true;
        stream.next = FM_MAX(h->size, (uint64_t)PIPE_HEADER);
    } else {
        uint64_t skipped;
        stream.end = UINT64_MAX;
        status = fm_reader_open(perf->input, &stream.reader, perf->err);
        if (status == FM_OK)
            status = fm_reader_skip(stream.reader, FM_MAX(h->size, (uint64_t)PIPE_HEADER),
                                    &skipped, perf->err);
        if (status != FM_OK) {
            fm_reader_close(stream.reader);
            return fm_perf_fail(perf, status);
        }
        stream.next = skipped;
    }
    struct fm_reader *reader = stream.reader;
    going = fm_perf_stream_run(perf, &stream) && fm_perf_flush(perf, UINT64_MAX);
    fm_perf_stream_release(perf, &stream);
    fm_reader_close(reader);
    return going;
}

static bool run_header(struct fm_perf *perf)
{
    const unsigned char *data;
    struct header h;
    size_t n;
    enum fm_status status = fm_input_head(perf->input, &data, &n, perf->err);
    if (status != FM_OK)
        return fm_perf_fail(perf, status);
    if (!read_header(perf, data, n, &h))
        return false;
    return perf->pipe ? run_pipe(perf, &h) : run_file(perf, &h);
}

/* data.N: records alone. */
static bool run_member(struct fm_perf *perf, struct fm_input *member)
{
    struct fm_perf_stream stream;
    uint64_t size = 0;
    enum fm_status status = fm_input_seekable(member, perf->err);
    if (status != FM_OK)
        return fm_perf_fail(perf, status);
    (void)fm_input_size(member, &size);
    perf->total += size;
    fm_perf_stream_init(&stream);
    stream.input = member;
    stream.rereadable = true;
    stream.end = size;
    bool going = fm_perf_stream_run(perf, &stream);
    fm_perf_stream_release(perf, &stream);
    return going;
}

/* The number (1 = data.0) of the next member behind `i` that is there, 0 = none among the next
 * DIRECTORY_GAP. */
static unsigned next_member(struct fm_input *directory, unsigned i)
{
    char name[32];
    for (unsigned k = i + 1; k <= i + DIRECTORY_GAP; k++) {
        struct fm_input *member = NULL;
        struct fm_error err = {0};
        (void)snprintf(name, sizeof name, "data.%u", k - 1);
        if (fm_input_open_beside(directory, name, &member, &err) == FM_OK) {
            fm_input_free(member);
            return k;
        }
    }
    return 0;
}

static bool run_directory(struct fm_perf *perf, struct fm_input *directory)
{
    struct fm_mem *mem = &perf->ctx->mem;
    struct fm_input **member = NULL;
    size_t n = 0, cap = 0;
    bool going = true;
    char name[32];
    perf->hold = true;
    for (unsigned i = 0; going && i <= DIRECTORY_MAX; i++) {
        struct fm_error err = {0};
        if (i == 0)
            (void)snprintf(name, sizeof name, "data");
        else
            (void)snprintf(name, sizeof name, "data.%u", i - 1);
        if (!fm_grow(mem, (void **)&member, &cap, n + 1, sizeof(struct fm_input *))) {
            going = fm_perf_fail(perf, FM_NOMEM);
            break;
        }
        enum fm_status status = fm_input_open_beside(directory, name, &member[n],
                                                     i == 0 ? perf->err : &err);
        if (status != FM_OK) {
            if (i == 0 || status == FM_NOMEM)
                going = fm_perf_fail(perf, status);
            unsigned next = going ? next_member(directory, i) : 0;
            /* a recording of threads has data.0; a later one is missing when more follow */
            bool due = next != 0 || (i == 1 && (perf->features[0] >> DIR_FORMAT & 1) != 0);
            if (going && (err.sys_errno != ENOENT || due))
                fm_perf_damage(perf, FM_DIAG_DIRECTORY_FILE, status, FM_NO_OFFSET, "'%s': %s",
                               name, err.message);
            if (next == 0)
                break;
            i = next - 1;
            continue;
        }
        perf->input = member[n++];
        perf->name = fm_input_name(perf->input);
        going = i == 0 ? run_header(perf) : run_member(perf, perf->input);
    }
    perf->name = fm_input_name(directory);
    going = going && fm_perf_flush(perf, UINT64_MAX);
    for (size_t i = 0; i < n; i++)
        fm_input_free(member[i]);
    fm_mem_free(mem, member, cap * sizeof(struct fm_input *));
    return going;
}

/* What is known of the clock when all is read. */
static void set_clock(struct fm_perf *perf)
{
    struct fm_source *source = fm_builder_source_row(perf->builder);
    if (source == NULL || perf->events.n == 0)
        return;
    const struct fm_perf_attr *attr = &perf->events.event[0].attr;
    source->clock = FM_CLOCK_PERF;
    if ((attr->flags & FM_PERF_F_USE_CLOCKID) != 0) {
        source->clock = attr->clockid == 0   ? FM_CLOCK_REALTIME
                        : attr->clockid == 1 ? FM_CLOCK_MONOTONIC
                        : attr->clockid == 4 ? FM_CLOCK_MONOTONIC_RAW
                        : attr->clockid == 7 ? FM_CLOCK_BOOT
                                             : FM_CLOCK_UNKNOWN;
    }
    if (perf->has_clock) {
        source->has_wall = true;
        source->wall = (int64_t)perf->clock_wall;
        source->wall_at = (int64_t)perf->clock_at;
    }
}

static void release(struct fm_perf *perf)
{
    struct fm_mem *mem = &perf->ctx->mem;
    fm_order_release(&perf->order);
    fm_perf_blocks_release(&perf->blocks);
    fm_perf_jits_release(perf);
    fm_perf_machine_release(&perf->machine);
    fm_perf_events_release(&perf->events);
    fm_map_release(&perf->waiting_by_tid);
    fm_sched_release(&perf->sched);
    fm_map_release(&perf->simple_dso);
    fm_perf_stat_release(&perf->stat, mem);
    fm_perf_userstack_release(perf);
    fm_mem_free(mem, perf->words, perf->word_cap * sizeof *perf->words);
    fm_mem_free(mem, perf->frame, perf->frame_cap * sizeof *perf->frame);
    fm_mem_free(mem, perf->waiting, perf->waiting_cap * sizeof *perf->waiting);
    fm_mem_free(mem, perf->waiting_word, perf->waiting_word_cap * sizeof *perf->waiting_word);
    fm_binding_free(perf->binding);
}

static enum fm_status import(struct fm_import *import, struct fm_error *err)
{
    struct fm_perf perf = {.ctx = import->ctx, .import = import, .builder = import->builder,
                           .input = import->input, .name = fm_input_name(import->input)};
    struct fm_mem *mem = &import->ctx->mem;
    const struct fm_import_options *options = import->options;
    struct fm_error ignored = {0};
    perf.err = err != NULL ? err : &ignored;
    if (options != NULL && options->demangle != NULL)
        (void)fm_demangle_find(options->demangle, &perf.demangle);    /* else named by the caller */
    perf.perf_chains = options != NULL && options->callers_exact;
    fm_perf_events_init(&perf.events, mem);
    fm_perf_machine_init(&perf.machine, import->builder);
    perf.machine.jits.exact = perf.perf_chains;
    perf.machine.jits.wanted = options == NULL || !options->no_symbols;
    if (options != NULL && options->demangle != NULL)
        (void)fm_demangle_find(options->demangle, &perf.machine.jits.style);
    fm_perf_blocks_init(&perf.blocks, mem, BLOCKS_BUDGET);
    fm_order_init(&perf.order, mem);
    fm_map_init(&perf.waiting_by_tid, mem);
    fm_sched_init(&perf.sched, import);
    fm_map_init(&perf.simple_dso, mem);
    fm_perf_stat_init(&perf.stat, mem);
    fm_perf_userstack_init(&perf);
    enum fm_status status = fm_binding_new(import->mapping, import->builder,
                                           options != NULL ? options->keep : NULL, &perf.binding,
                                           perf.err);
    if (status == FM_OK) {
        perf.sched.binding = perf.binding;
        fm_binding_account(perf.binding, true);
        bool going = fm_input_is_dir(import->input) ? run_directory(&perf, import->input)
                                                    : run_header(&perf);
        (void)going;
        (void)fm_perf_stat_finish(&perf);
        fm_perf_losses(&perf);
        fm_perf_samples_finish(&perf);
        fm_perf_machine_finish(&perf.machine);
        set_clock(&perf);
        status = perf.status != FM_OK ? perf.status : perf.damage;
    }
    release(&perf);
    return status;
}

static unsigned probe(const unsigned char *data, size_t n, bool whole, struct fm_input *input)
{
    struct fm_input *member = NULL;
    struct fm_error err = {0};
    bool big, old;
    unsigned bits = 0;
    (void)whole;
    if (data != NULL)
        return has_magic(data, n, &big, &old) ? 64 : 0;
    if (fm_input_open_beside(input, "data", &member, &err) == FM_OK) {
        if (fm_input_head(member, &data, &n, &err) == FM_OK && has_magic(data, n, &big, &old))
            bits = 64;
        fm_input_free(member);
    }
    return bits;
}

const struct fm_importer fm_importer_perf = {
    .name = "perf",
    .summary = "Linux perf.data: file, pipe or directory",
    .extensions = "data,perf",
    .seek = false,
    .directory = true,
    .mapping = true,
    .probe = probe,
    .import = import,
};
