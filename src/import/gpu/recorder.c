/*
 * recorder.c - what i915-perf-recorder and xe-perf-recorder write: OA reports of Intel GPUs.
 *
 *     u32 type | u16 0 | u16 size, with these 8 bytes | payload        … | record | record | …
 *
 *     version, device info, topology, correlation, then reports (type 1) with a correlation of CPU
 *     and GPU time about every second
 *
 * The file is read twice: first for all correlations, since those of circular recordings stand in
 * any order and a report's time needs the ones on both sides; then for the reports. The kernel's
 * own i915 stream has types 1 to 3 only: no frequency, no time. Layouts: the format reference of
 * Intel GPU dumps.
 */
#include "import/gpu/recorder.h"

#include "util/error.h"

#include <stdio.h>

static const char *const record_name[FM_RECORDER_RECORDS] = {
    "report", "report lost", "buffer lost", "version", "device info", "topology", "correlation",
};

/* Which record a type is; FM_RECORDER_RECORDS: unknown. */
static enum fm_recorder_record record_of(bool xe, uint32_t type)
{
    uint32_t first = xe ? 4 : 65536;
    if (type >= 1 && type <= 3)
        return (enum fm_recorder_record)(type - 1);
    if (type >= first && type < first + 4)
        return (enum fm_recorder_record)(FM_RECORDER_VERSION + (type - first));
    return FM_RECORDER_RECORDS;
}

/* --------------------------------------------------------- header records */

static void copy_text(struct fm_cursor *c, size_t max, char *to)
{
    size_t n;
    const char *s = fm_cursor_text(c, max, true, &n);
    if (s == NULL)
        n = 0;
    else
        memcpy(to, s, n);
    to[n] = '\0';
}

/* The shorter of both layouts: frequency, device, two or four numbers, format, names. */
#define DEVICE_BYTES 324u

static void read_device(struct fm_recorder *r, struct fm_cursor *c)
{
    bool engine = fm_cursor_left(c) >= 336;
    r->clock.frequency = fm_cursor_u64(c);
    r->device = fm_cursor_u32(c);
    fm_cursor_skip(c, engine ? 20 : 12);
    r->format_number = fm_cursor_u32(c);
    copy_text(c, 256, r->set);
    copy_text(c, 40, r->uuid);
    r->has_device = fm_cursor_ok(c);
    if (!r->has_device) {
        r->set[0] = r->uuid[0] = '\0';
        r->clock.frequency = 0;
    }
}

static void read_topology(struct fm_recorder *r, struct fm_cursor *c)
{
    uint64_t head[8], at, n;
    for (size_t i = 0; i < FM_COUNT(head); i++)
        head[i] = fm_cursor_u16(c);
    at = head[6];
    n = fm_mul_sat_u64(head[1], head[2]) * head[7]; /* 48 bits at most */
    if (!fm_cursor_ok(c) || at + n > fm_cursor_left(c)) {
        fm_cursor_skip(c, SIZE_MAX); /* cut */
        return;
    }
    fm_cursor_skip(c, at);
    r->eus = 0;
    for (uint64_t i = 0; i < n; i++)
        r->eus += (unsigned)__builtin_popcount(fm_cursor_u8(c));
}

/* ------------------------------------------------------------- first pass */

/* Remembers a report's timestamp: where the first one lies, and how fast they count. */
static void survey_report(struct fm_recorder *r, struct fm_cursor *c)
{
    uint64_t stamp;
    if (fm_cursor_left(c) < 16)
        return;
    fm_cursor_skip(c, 4);
    stamp = fm_cursor_u32(c);
    if (r->any)
        r->span += (stamp - r->before) & UINT32_MAX;
    r->before = stamp;
    r->any = true;
    if (r->fits < FM_COUNT(r->fit) && r->clock.pairs > 0)
        r->fit[r->fits++] =
            (struct fm_oa_pair){stamp, r->clock.pair[r->clock.pairs - 1].gpu};
}

static void survey(struct fm_recorder *r, enum fm_recorder_record type, struct fm_cursor *c)
{
    uint64_t cpu, gpu;
    switch (type) {
    case FM_RECORDER_SAMPLE: survey_report(r, c); break;
    case FM_RECORDER_DEVICE:
        if (!r->has_device)
            read_device(r, c);
        break;
    case FM_RECORDER_TOPOLOGY: read_topology(r, c); break;
    case FM_RECORDER_CORRELATION:
        cpu = fm_cursor_u64(c);
        gpu = fm_cursor_u64(c);
        if (fm_cursor_ok(c))
            r->oom |= !fm_oa_clock_add(r->mem, &r->clock, cpu, gpu);
        r->late |= r->any;
        break;
    default: break;
    }
}

/* Reports of those remembered that lie between the first and the last correlation. */
static size_t inside(const struct fm_recorder *r, unsigned shift)
{
    size_t n = 0;
    for (size_t i = 0; i < r->fits; i++) {
        uint64_t full = fm_oa_extend(r->fit[i].cpu >> shift, 32 - shift, r->fit[i].gpu);
        n += full >= r->clock.pair[0].gpu && full <= r->clock.pair[r->clock.pairs - 1].gpu;
    }
    return n;
}

/* What the first pass has shown decides how reports are read. */
static void settle(struct fm_recorder *r)
{
    char text[32];
    size_t last = r->clock.pairs - 1;
    r->raw = !r->has_device;
    r->hardware = r->has_device ? fm_oa_hardware(r->device) : FM_OA_OTHER;
    r->format = r->has_device ? fm_oa_format(r->xe, r->format_number) : NULL;
    r->wide = r->format != NULL ? r->format->wide : r->xe;
    r->formula = fm_oa_formula(r->hardware, r->set);
    r->gpu = FM_NONE;
    if (r->has_device) {
        (void)snprintf(text, sizeof text, "0x%04x", r->device);
        r->gpu = fm_builder_str(r->builder, text, strlen(text));
    }
    if (r->clock.pairs == 0)
        return;
    r->anchor = r->clock.pair[0].gpu;
    r->anchored = true;
    if (r->clock.pairs > 1 && !r->late && r->any && !r->wide) {
        /* all correlations come first: the last report lies near the last of them */
        fm_oa_clock_sort(&r->clock);
        last = r->clock.pairs - 1;
        r->anchor = fm_oa_extend(r->before, 32, r->clock.pair[last].gpu) - r->span;
    }
    fm_oa_clock_sort(&r->clock);
    if (!r->wide && !r->xe && r->clock.pairs > 1)
        r->half = inside(r, 1) > inside(r, 0);
    if (r->half)
        r->anchor = r->clock.pair[0].gpu;
}

/* ------------------------------------------------------------ second pass */

static void take(struct fm_recorder *r, enum fm_recorder_record type, struct fm_cursor *c,
                 uint64_t offset)
{
    uint64_t gpu;
    if (type == FM_RECORDER_RECORDS) {
        r->unknown++;
        fm_builder_diag(r->builder, FM_DIAG_RECORD_UNKNOWN, offset, 1);
        return;
    }
    r->records[type]++;
    switch (type) {
    case FM_RECORDER_SAMPLE: fm_recorder_report(r, c->p, fm_cursor_left(c), offset); break;
    case FM_RECORDER_LOST:
        fm_builder_diag(r->builder, FM_DIAG_OA_REPORT_LOST, offset, 1);
        break;
    case FM_RECORDER_BUFFER:
        fm_builder_diag(r->builder, FM_DIAG_OA_BUFFER_LOST, offset, 1);
        break;
    case FM_RECORDER_DEVICE: fm_cursor_skip(c, DEVICE_BYTES); break;
    case FM_RECORDER_TOPOLOGY: read_topology(r, c); break;
    case FM_RECORDER_CORRELATION:
        (void)fm_cursor_u64(c);
        gpu = fm_cursor_u64(c);
        if (r->late && fm_cursor_ok(c)) {
            r->anchor = gpu;
            r->anchored = true;
        }
        break;
    default: break;
    }
    if (!fm_cursor_ok(c))
        fm_builder_diag(r->builder, FM_DIAG_RECORD_BODY, offset, 1);
}

/* All records, once. */
static enum fm_status pass(struct fm_recorder *r, bool second, struct fm_error *err)
{
    struct fm_reader *reader = NULL;
    uint64_t count = 0, total = fm_input_raw_size(r->import->input);
    enum fm_status status = fm_reader_open(r->import->input, &reader, err);
    while (status == FM_OK && !r->oom) {
        const unsigned char *data;
        struct fm_cursor c;
        size_t n, size;
        uint32_t type;
        uint64_t offset = fm_reader_offset(reader);
        status = fm_reader_peek(reader, 8, &data, &n, err);
        if (status != FM_OK || n == 0)
            break;
        fm_cursor_init(&c, data, n, offset, false);
        type = fm_cursor_u32(&c);
        fm_cursor_skip(&c, 2);
        size = fm_cursor_u16(&c);
        if (fm_cursor_ok(&c) && size >= 8 && n < size)
            status = fm_reader_peek(reader, size, &data, &n, err);
        if (status != FM_OK)
            break;
        if (n < 8 || size < 8 || n < size) {
            status = fm_error_at(err, size < 8 && n >= 8 ? FM_FORMAT : FM_TRUNCATED,
                                 fm_input_name(r->import->input), offset,
                                 "a record is cut: needed %zu bytes, %zu left",
                                 n < 8 || size < 8 ? (size_t)8 : size, size < 8 ? size : n);
            break;
        }
        fm_cursor_init(&c, data + 8, size - 8, offset + 8, false);
        if (second)
            take(r, record_of(r->xe, type), &c, offset);
        else
            survey(r, record_of(r->xe, type), &c);
        fm_reader_consume(reader, size);
        if (++count % 1024 == 0 && !fm_ctx_tick(r->import->ctx, offset, total))
            status = fm_error_set(err, FM_CANCELLED, "cancelled");
        if (status == FM_OK && fm_builder_status(r->builder) != FM_OK)
            status = fm_builder_status(r->builder);
    }
    fm_reader_close(reader);
    return r->oom ? fm_error_nomem(err) : status;
}

static void tell(struct fm_recorder *r, const char *key, const char *value)
{
    if (value[0] != '\0')
        fm_builder_provenance(r->builder, key, value, strlen(value));
}

static void tell_number(struct fm_recorder *r, const char *key, uint64_t n)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    tell(r, key, text);
}

static void tell_all(struct fm_recorder *r)
{
    char text[16];
    if (r->has_device) {
        (void)snprintf(text, sizeof text, "0x%04x", r->device);
        tell(r, "device", text);
        tell(r, "metric set", r->set);
        tell(r, "metric set uuid", r->uuid);
        tell_number(r, "timestamp Hz", r->clock.frequency);
        tell_number(r, "EUs", r->eus);
        tell(r, "OA format", r->format != NULL ? r->format->name : "unknown");
    }
    if (r->half)
        tell(r, "timestamps", "halved");
    tell_number(r, "correlations", r->clock.pairs);
    tell_number(r, "duplicates", r->duplicates);
    for (size_t i = 0; i < FM_RECORDER_RECORDS; i++)
        if (r->records[i] > 0)
            fm_account_record(r->builder, FM_ACCOUNT_RECORDS,
                              fm_builder_str(r->builder, record_name[i], strlen(record_name[i])),
                              FM_NO_OFFSET, r->records[i]);
}

static enum fm_status run(struct fm_recorder *r, struct fm_error *err)
{
    enum fm_status cut, status =
        fm_binding_new(r->import->mapping, r->builder, r->import->options->keep, &r->binding, err);
    if (status != FM_OK)
        return status;
    cut = pass(r, false, NULL);
    if (cut == FM_NOMEM || cut == FM_CANCELLED || cut == FM_IO)
        return fm_error_set(err, cut, "%s", fm_status_text(cut));
    settle(r);
    status = fm_recorder_declare(r, err);
    if (status == FM_OK)
        status = pass(r, true, err);
    if (r->clock.pairs == 0 || (r->clock.pairs == 1 && r->clock.frequency == 0))
        fm_builder_diag(r->builder, FM_DIAG_OA_CLOCK, FM_NO_OFFSET, 1);
    tell_all(r);
    return status;
}

static enum fm_status import_recorder(struct fm_import *import, bool xe, struct fm_error *err)
{
    struct fm_mem *mem = &import->ctx->mem;
    struct fm_recorder *r = fm_mem_alloc(mem, sizeof *r);
    enum fm_status status;
    if (r == NULL)
        return fm_error_nomem(err);
    memset(r, 0, sizeof *r);
    r->import = import;
    r->builder = import->builder;
    r->mem = mem;
    r->xe = xe;
    status = run(r, err);
    fm_binding_free(r->binding);
    fm_mem_free(mem, r->clock.pair, r->clock.cap * sizeof *r->clock.pair);
    fm_mem_free(mem, r->last.bytes, r->last.cap);
    fm_mem_free(mem, r, sizeof *r);
    return status;
}

static enum fm_status import_i915(struct fm_import *import, struct fm_error *err)
{
    return import_recorder(import, false, err);
}

static enum fm_status import_xe(struct fm_import *import, struct fm_error *err)
{
    return import_recorder(import, true, err);
}

/* ------------------------------------------------------------------ probe */

/* Records of the kernel's i915 stream from the start to the end of what is there. */
static bool is_stream(const unsigned char *data, size_t n, bool whole)
{
    struct fm_cursor c;
    size_t reports = 0;
    fm_cursor_init(&c, data, n, 0, false);
    while (fm_cursor_left(&c) >= 8) {
        uint32_t type = fm_cursor_u32(&c), zero = fm_cursor_u16(&c), size = fm_cursor_u16(&c);
        bool report = size == 72 || size == 136 || size == 200 || size == 264;
        if (zero != 0 || type < 1 || type > 3 || !(size == 8 || (type == 1 && report)))
            return false;
        reports += size != 8;
        fm_cursor_skip(&c, size - 8);
    }
    return reports > 0 && (fm_cursor_ok(&c) || !whole || reports > 1);
}

static unsigned probe_i915(const unsigned char *data, size_t n, bool whole, struct fm_input *input)
{
    (void)input;
    if (data == NULL || n < 12)
        return 0;
    if (memcmp(data, "\0\0\1\0\0\0\x10\0\1\0\0\0", 12) == 0)
        return 96;
    return is_stream(data, n, whole) ? 30 : 0;
}

static unsigned probe_xe(const unsigned char *data, size_t n, bool whole, struct fm_input *input)
{
    (void)whole;
    (void)input;
    return data != NULL && n >= 12 && memcmp(data, "\4\0\0\0\0\0\x10\0\1\0\0\0", 12) == 0 ? 96 : 0;
}

const struct fm_importer fm_importer_i915_perf_record = {
    .name = "i915-perf-record",
    .summary = "OA counters of Intel GPUs, by i915-perf-recorder",
    .extensions = "record",
    .seek = true,
    .mapping = true,
    .probe = probe_i915,
    .import = import_i915,
};

const struct fm_importer fm_importer_xe_perf_record = {
    .name = "xe-perf-record",
    .summary = "OA counters of Intel GPUs, by xe-perf-recorder",
    .extensions = "record",
    .seek = true,
    .mapping = true,
    .probe = probe_xe,
    .import = import_xe,
};
