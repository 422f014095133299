/*
 * feature.c - feature sections to provenance, build-ids and event names.
 *
 * In a file: behind the data section stands one { u64 offset, size } per set bit, ascending; in a
 * pipe: HEADER_FEATURE records. Content, as far as it is read:
 *
 *     str = u32 length, that many bytes with a NUL in them
 *
 *      1 TRACING_DATA  tracing.c            2 BUILD_ID  entries (below)
 *      3 HOSTNAME 4 OSRELEASE 5 VERSION 6 ARCH 8 CPUDESC 9 CPUID   str
 *      7 NRCPUS  u32 available, online     10 TOTAL_MEM  u64 kB
 *     11 CMDLINE u32 n, n str              12 EVENT_DESC u32 n, u32 attr_size,
 *                                             n { attr, u32 nr_ids, str name, u64 ids[] }
 *     13 CPU_TOPOLOGY u32 n, n str packages; u32 n, n str cores ...
 *     14 NUMA_TOPOLOGY u32 n, n { u32 node, u64 kB total, u64 kB free, str cpus }
 *     16 PMU_MAPPINGS u32 n, n { u32 type, str name }    17 GROUP_DESC u32 n, n { str, u32, u32 }
 *     21 SAMPLE_TIME u64 first, last       23 CLOCKID u64 resolution in ns
 *     27 COMPRESSED u32 version, type, level, ratio, mmap_len
 *     29 CLOCK_DATA u32 version, u32 clockid, u64 wall ns, u64 the same instant on clockid
 *
 * A section that does not parse is damage that costs no sample.
 */
#include "import/perf/session.h"

#include "util/error.h"
#include "util/out.h"

enum {
    TRACING_DATA = 1, BUILD_ID = 2, HOSTNAME = 3, OSRELEASE = 4, PERF_VERSION = 5, ARCH = 6,
    NRCPUS = 7, CPUDESC = 8, CPUID = 9, TOTAL_MEM = 10, CMDLINE = 11, EVENT_DESC = 12,
    CPU_TOPOLOGY = 13, NUMA_TOPOLOGY = 14, PMU_MAPPINGS = 16, GROUP_DESC = 17, SAMPLE_TIME = 21,
    CLOCKID = 23, COMPRESSED = 27, CLOCK_DATA = 29, KNOWN_FEATURES = 35,
    SIMPLEPERF_FIRST = 128, SIMPLEPERF_LAST = 134
};

#define SECTION_MAX ((uint64_t)256 << 20)

static const char *read_str(struct fm_cursor *c, size_t *n)
{
    uint32_t length = fm_cursor_u32(c);
    *n = 0;
    if (length > fm_cursor_left(c)) {
        c->bad = true;
        return NULL;
    }
    return fm_cursor_text(c, length, true, n);
}

static void provenance(struct fm_perf *perf, const char *key, struct fm_out *out)
{
    if (fm_out_finish(out, NULL) == FM_OK && out->n > 0)
        fm_builder_provenance(perf->builder, key, out->buf, out->n);
    fm_out_release(out);
}

static void text_feature(struct fm_perf *perf, struct fm_cursor *c, const char *key)
{
    size_t n;
    const char *s = read_str(c, &n);
    if (!fm_cursor_ok(c) || s == NULL || n == 0)
        return;
    fm_builder_provenance(perf->builder, key, s, n);
    if (strcmp(key, "arch") == 0)
        fm_perf_userstack_arch(perf, s, n);
}

/* u32 n, n str: joined; arguments with blanks or quotes are quoted as a shell wants them. */
static void list_feature(struct fm_perf *perf, struct fm_cursor *c, const char *key, bool quote)
{
    struct fm_out out;
    uint32_t n = fm_cursor_u32(c);
    if (n > fm_cursor_left(c) / 4) {
        c->bad = true;
        return;
    }
    if (fm_out_init(&out, &perf->ctx->mem, NULL) != FM_OK)
        return;
    for (uint32_t i = 0; i < n && fm_cursor_ok(c); i++) {
        size_t length;
        const char *s = read_str(c, &length);
        bool plain = length > 0;
        if (s == NULL)
            break;
        if (i > 0)
            fm_out_text(&out, quote ? " " : ", ");
        for (size_t k = 0; k < length; k++)
            plain &= memchr(" '\"\\$`*?;&|<>()[]{}\n\t", s[k], 22) == NULL;
        if (!quote || plain) {
            fm_out_bytes(&out, s, length);
            continue;
        }
        fm_out_char(&out, '\'');
        for (size_t k = 0; k < length; k++) {
            if (s[k] == '\'')
                fm_out_text(&out, "'\\''");
            else
                fm_out_char(&out, s[k]);
        }
        fm_out_char(&out, '\'');
    }
    provenance(perf, key, &out);
}

static void numbers_feature(struct fm_perf *perf, struct fm_cursor *c, unsigned bit)
{
    struct fm_out out;
    const char *key = NULL;
    if (fm_out_init(&out, &perf->ctx->mem, NULL) != FM_OK)
        return;
    if (bit == NRCPUS) {
        uint32_t available = fm_cursor_u32(c), online = fm_cursor_u32(c);
        key = "cpus";
        fm_out_printf(&out, "%lu available, %lu online", (unsigned long)available,
                      (unsigned long)online);
    } else if (bit == TOTAL_MEM) {
        key = "memory";
        fm_out_printf(&out, "%llu kB", (unsigned long long)fm_cursor_u64(c));
    } else if (bit == SAMPLE_TIME) {
        uint64_t first = fm_cursor_u64(c), last = fm_cursor_u64(c);
        key = "sample-time";
        fm_out_printf(&out, "%llu..%llu ns", (unsigned long long)first,
                      (unsigned long long)last);
    } else if (bit == CLOCKID) {
        key = "clock-resolution";
        fm_out_printf(&out, "%llu ns", (unsigned long long)fm_cursor_u64(c));
    } else {
        fm_cursor_skip(c, 8);
        uint32_t level = fm_cursor_u32(c), ratio = fm_cursor_u32(c);
        key = "compression";
        fm_out_printf(&out, "zstd, level %lu, ratio %lu", (unsigned long)level,
                      (unsigned long)ratio);
    }
    if (fm_cursor_ok(c))
        provenance(perf, key, &out);
    else
        fm_out_release(&out);
}

static void clock_feature(struct fm_perf *perf, struct fm_cursor *c)
{
    fm_cursor_skip(c, 8);
    uint64_t wall = fm_cursor_u64(c), at = fm_cursor_u64(c);
    if (!fm_cursor_ok(c) || wall > INT64_MAX || at > INT64_MAX)
        return;
    perf->clock_wall = wall;
    perf->clock_at = at;
    perf->has_clock = true;
}

/* n { u32 type, str name } or n { str name, u32 leader, u32 members }. */
static void named_feature(struct fm_perf *perf, struct fm_cursor *c, unsigned bit)
{
    struct fm_out out;
    uint32_t n = fm_cursor_u32(c);
    if (n > fm_cursor_left(c) / 8) {
        c->bad = true;
        return;
    }
    if (fm_out_init(&out, &perf->ctx->mem, NULL) != FM_OK)
        return;
    for (uint32_t i = 0; i < n && fm_cursor_ok(c); i++) {
        size_t length;
        uint32_t type = bit == PMU_MAPPINGS ? fm_cursor_u32(c) : 0;
        const char *s = read_str(c, &length);
        if (s == NULL)
            break;
        if (i > 0)
            fm_out_text(&out, ", ");
        fm_out_bytes(&out, s, length);
        if (bit == PMU_MAPPINGS)
            fm_out_printf(&out, " = %lu", (unsigned long)type);
        else
            fm_cursor_skip(c, 8);
    }
    provenance(perf, bit == PMU_MAPPINGS ? "pmus" : "groups", &out);
}

static void numa_feature(struct fm_perf *perf, struct fm_cursor *c)
{
    struct fm_out out;
    uint32_t n = fm_cursor_u32(c);
    if (n > fm_cursor_left(c) / 24) {
        c->bad = true;
        return;
    }
    if (fm_out_init(&out, &perf->ctx->mem, NULL) != FM_OK)
        return;
    for (uint32_t i = 0; i < n && fm_cursor_ok(c); i++) {
        size_t length;
        uint32_t node = fm_cursor_u32(c);
        uint64_t total = fm_cursor_u64(c);
        fm_cursor_skip(c, 8);
        const char *cpus = read_str(c, &length);
        if (cpus == NULL)
            break;
        fm_out_printf(&out, "%snode %lu: %llu kB, cpus ", i > 0 ? "; " : "",
                      (unsigned long)node, (unsigned long long)total);
        fm_out_bytes(&out, cpus, length);
    }
    provenance(perf, "numa", &out);
}

/* Names for the events; attributes and ids too, for pipes that had no HEADER_ATTR. */
static bool events_feature(struct fm_perf *perf, struct fm_cursor *c)
{
    uint32_t n = fm_cursor_u32(c), size = fm_cursor_u32(c);
    bool more = perf->events.n == 0;
    if (size < FM_PERF_ATTR_MIN || n > fm_cursor_left(c) / size) {
        c->bad = true;
        return true;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct fm_perf_attr attr;
        struct fm_perf_event *event = NULL;
        size_t length;
        if (!fm_perf_attr_read(c, size, perf->big, &attr)) {
            c->bad = true;
            return true;
        }
        uint32_t ids = fm_cursor_u32(c);
        const char *name = read_str(c, &length);
        if (name == NULL || ids > fm_cursor_left(c) / 8) {
            c->bad = true;
            return true;
        }
        struct fm_cursor peek = *c;
        if (more)
            event = fm_perf_add_event(perf, &attr);
        else if (ids > 0)
            event = fm_perf_events_find(&perf->events, fm_cursor_u64(&peek));
        if (event == NULL && i < perf->events.n && !more)
            event = &perf->events.event[i];
        if (event != NULL && length > 0 &&
            !fm_perf_event_rename(&perf->events, event, name, length))
            return fm_perf_fail(perf, FM_NOMEM);
        size_t number = event != NULL ? (size_t)(event - perf->events.event) : 0;
        for (uint32_t k = 0; k < ids; k++) {
            uint64_t id = fm_cursor_u64(c);
            if (event != NULL && !fm_perf_events_id(&perf->events, id, number))
                return fm_perf_fail(perf, FM_NOMEM);
        }
        if (perf->status != FM_OK)
            return false;
    }
    return true;
}

bool fm_perf_build_id_entry(struct fm_perf *perf, struct fm_cursor *c, uint16_t misc, bool old)
{
    size_t n = 20, length = 0;
    if (!old)
        fm_cursor_skip(c, 4);
    const unsigned char *id = fm_cursor_bytes(c, 20);
    size_t size = fm_cursor_u8(c);
    fm_cursor_skip(c, 3);
    if ((misc & FM_PERF_MISC_15) != 0)
        n = FM_MIN(size, n);
    const char *name = fm_cursor_text(c, fm_cursor_left(c), true, &length);
    if (!fm_cursor_ok(c) || name == NULL || length == 0)
        return true;
    return fm_perf_machine_build_id(&perf->machine, name, length, id, n) ||
           fm_perf_fail(perf, FM_NOMEM);
}

/* Entries { u32 type, u16 misc, u16 size, s32 pid, u8 id[20], u8 size, u8[3], name }. The oldest
 * perf had no pid: its names then begin in the middle. */
static bool build_ids_feature(struct fm_perf *perf, struct fm_cursor *c)
{
    static const char cut[] = "nel.kallsyms]";
    bool old = false;
    for (struct fm_cursor look = *c; fm_cursor_left(&look) >= 8;) {
        size_t n;
        fm_cursor_skip(&look, 6);
        uint16_t size = fm_cursor_u16(&look);
        struct fm_cursor entry = fm_cursor_sub(&look, size >= 8 ? size - 8u : UINT64_MAX);
        fm_cursor_skip(&entry, 28);
        const char *name = fm_cursor_text(&entry, fm_cursor_left(&entry), true, &n);
        if (fm_cursor_ok(&entry) && name != NULL && n >= sizeof cut - 1 &&
            memcmp(name, cut, sizeof cut - 1) == 0)
            old = true;
    }
    while (fm_cursor_left(c) >= 8) {
        fm_cursor_skip(c, 4);
        uint16_t misc = fm_cursor_u16(c), size = fm_cursor_u16(c);
        if (size == 0 && misc == 0)
            return true;        /* padding */
        struct fm_cursor entry = fm_cursor_sub(c, size >= 8 ? size - 8u : UINT64_MAX);
        if (!fm_cursor_ok(&entry))
            return true;
        if (!fm_perf_build_id_entry(perf, &entry, misc, old))
            return false;
        c->bad |= entry.bad;
    }
    return true;
}

bool fm_perf_feature(struct fm_perf *perf, unsigned bit, const unsigned char *data, size_t n,
                     uint64_t offset)
{
    static const char *const text_key[] = {[HOSTNAME] = "host", [OSRELEASE] = "kernel",
                                           [PERF_VERSION] = "perf", [ARCH] = "arch",
                                           [CPUDESC] = "cpu", [CPUID] = "cpuid"};
    struct fm_cursor c;
    bool going = true;
    fm_cursor_init(&c, data, n, offset, perf->swap);
    switch (bit) {
    case TRACING_DATA:
        return fm_perf_tracing(perf, data, n, offset);
    case BUILD_ID:
        going = build_ids_feature(perf, &c);
        break;
    case HOSTNAME:
    case OSRELEASE:
    case PERF_VERSION:
    case ARCH:
    case CPUDESC:
    case CPUID:
        text_feature(perf, &c, text_key[bit]);
        break;
    case CMDLINE:
        list_feature(perf, &c, "command", true);
        break;
    case CPU_TOPOLOGY:
        list_feature(perf, &c, "cpu-packages", false);
        break;
    case NUMA_TOPOLOGY:
        numa_feature(perf, &c);
        break;
    case PMU_MAPPINGS:
    case GROUP_DESC:
        named_feature(perf, &c, bit);
        break;
    case NRCPUS:
    case TOTAL_MEM:
    case SAMPLE_TIME:
    case CLOCKID:
    case COMPRESSED:
        numbers_feature(perf, &c, bit);
        break;
    case EVENT_DESC:
        going = events_feature(perf, &c);
        break;
    case CLOCK_DATA:
        clock_feature(perf, &c);
        break;
    default:
        if (bit >= SIMPLEPERF_FIRST && bit <= SIMPLEPERF_LAST)
            going = fm_perf_simple_feature(perf, bit, &c);
        else if (bit >= KNOWN_FEATURES)
            fm_perf_note(perf, FM_DIAG_FEATURE_UNKNOWN, offset, 1);
        break;
    }
    if (!fm_cursor_ok(&c))
        fm_perf_damage(perf, FM_DIAG_FEATURE_BAD, FM_FORMAT, offset,
                       "feature section %u of %zu bytes does not parse", bit, n);
    return going;
}

/* Reads one section, which the table says at `field` where to find, and hands it over. */
static bool section(struct fm_perf *perf, unsigned bit, uint64_t field, uint64_t offset,
                    uint64_t size, uint64_t file_size)
{
    size_t got = 0;
    uint64_t end = fm_add_sat_u64(offset, size);
    if (size == 0)
        return true;
    if (end > file_size || size > SECTION_MAX) {
        fm_perf_damage(perf, FM_DIAG_FEATURE_BAD, FM_TRUNCATED, field,
                       "feature section %u at %llu: needed %llu bytes, %llu left", bit,
                       (unsigned long long)offset, (unsigned long long)size,
                       (unsigned long long)(offset < file_size ? file_size - offset : 0));
        return true;
    }
    unsigned char *data = fm_mem_alloc(&perf->ctx->mem, (size_t)size);
    if (data == NULL)
        return fm_perf_fail(perf, FM_NOMEM);
    enum fm_status status =
        fm_input_read_at(perf->input, offset, data, (size_t)size, &got, perf->err);
    bool going = status == FM_OK ? fm_perf_feature(perf, bit, data, got, offset)
                                 : fm_perf_fail(perf, status);
    fm_mem_free(&perf->ctx->mem, data, (size_t)size);
    return going;
}

bool fm_perf_features(struct fm_perf *perf, uint64_t table, uint64_t file_size)
{
    unsigned char entry[16];
    size_t got;
    for (unsigned bit = 0; bit < 256; bit++) {
        struct fm_cursor c;
        if ((perf->features[bit / 64] >> bit % 64 & 1) == 0)
            continue;
        enum fm_status status =
            fm_input_read_at(perf->input, table, entry, sizeof entry, &got, perf->err);
        if (status != FM_OK)
            return fm_perf_fail(perf, status);
        if (got < sizeof entry) {
            fm_perf_damage(perf, FM_DIAG_FEATURE_BAD, FM_TRUNCATED, table,
                           "feature table: needed %zu bytes, %zu left", sizeof entry, got);
            return true;
        }
        fm_cursor_init(&c, entry, sizeof entry, table, perf->swap);
        uint64_t offset = fm_cursor_u64(&c), size = fm_cursor_u64(&c);
        if (!section(perf, bit, table, offset, size, file_size))
            return false;
        table += sizeof entry;
    }
    return true;
}
