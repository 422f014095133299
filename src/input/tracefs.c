/*
 * tracefs.c - the running kernel's trace buffers as the bytes of a trace.dat.
 *
 * "tracefs:NAME" is the trace instance NAME, "tracefs:" the top one. What its buffers hold is taken
 * out of them, CPU by CPU, and put behind the metadata as version 6 of trace-cmd's file has them
 * (import/ftrace/container.c draws it), so that the importer of that file reads it:
 *
 *     header info | formats of all events | kallsyms | printk formats | comms | CPUs | options |
 *     table of pages | pages of CPU 0 | pages of CPU 1 ...
 *
 * Nothing is mounted, started or stopped. The bytes are in memory, under the usual limit.
 */
#include "input/inner.h"

#include "util/error.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <tracefs/tracefs.h>
#include <unistd.h>

#define KALLSYMS_MAX ((size_t)128 << 20)
#define EVENTS_MAX 65535u            /* ids have 16 bits */

struct live {
    struct fm_ctx *ctx;
    const char *name;
    struct tracefs_instance *instance;   /* NULL: the top one */
    unsigned char *p;
    size_t n, cap;
    bool nomem;
};

static void put(struct live *l, const void *data, size_t n)
{
    if (l->nomem || !fm_grow(&l->ctx->mem, (void **)&l->p, &l->cap, l->n + n + 1, 1)) {
        l->nomem = true;
        return;
    }
    if (n > 0)
        memcpy(l->p + l->n, data, n);
    l->n += n;
}

static void put_u16(struct live *l, uint16_t v)
{
    put(l, &v, sizeof v);
}

static void put_u32(struct live *l, uint32_t v)
{
    put(l, &v, sizeof v);
}

static void put_u64(struct live *l, uint64_t v)
{
    put(l, &v, sizeof v);
}

/* A file of tracefs behind its size, u64 or u32; one that cannot be read is empty. */
static void put_file(struct live *l, struct tracefs_instance *instance, const char *file, bool wide)
{
    int n = 0;
    char *text = tracefs_instance_file_read(instance, file, &n);
    size_t size = text != NULL && n > 0 ? (size_t)n : 0;
    if (wide)
        put_u64(l, size);
    else
        put_u32(l, (uint32_t)size);
    put(l, text, size);
    free(text);
}

static uint32_t list_length(char **list)
{
    uint32_t n = 0;
    while (list != NULL && list[n] != NULL && n < EVENTS_MAX)
        n++;
    return n;
}

/* u32 n, n x { u64 size, format } */
static void put_formats(struct live *l, const char *system)
{
    char **event = tracefs_system_events(NULL, system);
    uint32_t n = list_length(event);
    put_u32(l, n);
    for (uint32_t i = 0; i < n; i++) {
        int size = 0;
        char *text = tracefs_event_file_read(NULL, system, event[i], "format", &size);
        size_t length = text != NULL && size > 0 ? (size_t)size : 0;
        put_u64(l, length);
        put(l, text, length);
        free(text);
    }
    tracefs_list_free(event);
}

static void put_systems(struct live *l)
{
    char **system = tracefs_event_systems(NULL);
    uint32_t n = list_length(system), others = 0;
    for (uint32_t i = 0; i < n; i++)
        others += strcmp(system[i], "ftrace") != 0;
    put_formats(l, "ftrace");
    put_u32(l, others);
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(system[i], "ftrace") == 0)
            continue;
        put(l, system[i], strlen(system[i]) + 1);
        put_formats(l, system[i]);
    }
    tracefs_list_free(system);
}

static void put_option(struct live *l, uint16_t id, const void *data, size_t n)
{
    put_u16(l, id);
    put_u32(l, (uint32_t)n);
    put(l, data, n);
}

static void put_options(struct live *l)
{
    struct utsname u;
    char text[sizeof u + 4];
    int n = 0;
    char *clock = tracefs_instance_file_read(l->instance, "trace_clock", &n);
    put(l, "options  ", 10);
    if (clock != NULL && n > 0)
        put_option(l, 4, clock, (size_t)n);
    free(clock);
    if (uname(&u) == 0) {
        n = snprintf(text, sizeof text, "%s %s %s %s", u.sysname, u.nodename, u.release,
                     u.machine);
        if (n > 0 && (size_t)n < sizeof text)
            put_option(l, 5, text, (size_t)n + 1);
    }
    put_u16(l, 0);
}

static void put_metadata(struct live *l, uint32_t page, uint32_t cpus)
{
    const unsigned char head[] = {__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, sizeof(long)};
    char *symbols = NULL;
    size_t n = 0;
    put(l, "\x17\x08\x44tracing6", 12);
    put(l, head, sizeof head);
    put_u32(l, page);
    put(l, "header_page", 12);
    put_file(l, NULL, "events/header_page", true);
    put(l, "header_event", 13);
    put_file(l, NULL, "events/header_event", true);
    put_systems(l);
    bool named = fm_input_slurp(l->ctx, "/proc/kallsyms", KALLSYMS_MAX, &symbols, &n, NULL) ==
                 FM_OK;
    put_u32(l, named ? (uint32_t)n : 0);
    if (named) {
        put(l, symbols, n);
        fm_mem_free(&l->ctx->mem, symbols, n + 1);
    }
    put_file(l, NULL, "printk_formats", false);
    put_file(l, NULL, "saved_cmdlines", true);
    put_u32(l, cpus);
    put_options(l);
}

/* All pages of one CPU that are there now. */
static void put_pages(struct live *l, struct tracefs_cpu *cpu)
{
    int size = tracefs_cpu_read_size(cpu), n;
    unsigned char *page = size > 0 ? fm_mem_alloc(&l->ctx->mem, (size_t)size) : NULL;
    uint64_t limit = (uint64_t)l->n + ((uint64_t)1 << 32);   /* should it be written for ever */
    if (page == NULL) {
        l->nomem = true;
        return;
    }
    while (!l->nomem && l->n < limit && (n = tracefs_cpu_read(cpu, page, true)) > 0)
        put(l, page, (size_t)n);
    while (!l->nomem && l->n < limit && (n = tracefs_cpu_flush(cpu, page)) > 0)
        put(l, page, (size_t)n);
    fm_mem_free(&l->ctx->mem, page, (size_t)size);
}

static enum fm_status denied(const struct live *l, struct fm_error *err)
{
    return fm_error_sys(err, errno != 0 ? errno : EACCES, l->name,
                        "cannot read the trace buffers (this needs root)");
}

static enum fm_status read_live(struct live *l, struct fm_error *err)
{
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    uint32_t cpus = configured > 0 && configured < 65536 ? (uint32_t)configured : 1;
    struct tracefs_cpu *cpu = tracefs_cpu_open(l->instance, 0, true);
    if (cpu == NULL)
        return denied(l, err);
    uint32_t page = (uint32_t)tracefs_cpu_read_size(cpu);
    tracefs_cpu_close(cpu);
    put_metadata(l, page, cpus);
    put(l, "flyrecord", 10);
    size_t table = l->n;
    for (uint32_t i = 0; i < 2 * cpus; i++)
        put_u64(l, 0);
    for (uint32_t i = 0; i < cpus && !l->nomem; i++) {
        uint64_t place[2] = {l->n, 0};
        cpu = tracefs_cpu_open(l->instance, (int)i, true);
        if (cpu == NULL)
            continue;                   /* not there, or offline */
        put_pages(l, cpu);
        tracefs_cpu_close(cpu);
        place[1] = l->n - place[0];
        if (!l->nomem)
            memcpy(l->p + table + 16 * (size_t)i, place, sizeof place);
    }
    return l->nomem ? fm_error_nomem(err) : FM_OK;
}

enum fm_status fm_tracefs_read(struct fm_ctx *ctx, const char *name, unsigned char **data,
                               size_t *n, size_t *cap, struct fm_error *err)
{
    struct live l = {.ctx = ctx, .name = name};
    const char *instance = name + strlen(FM_TRACEFS_SCHEME), *where = NULL;
    enum fm_status status;
    if (tracefs_tracing_dir_is_mounted(false, &where) <= 0)
        return fm_error_set(err, FM_IO, "'%s': tracefs is not mounted "
                            "(as root: mount -t tracefs nodev /sys/kernel/tracing)", name);
    errno = 0;
    if (access(where, R_OK | X_OK) != 0)
        return denied(&l, err);
    if (instance[0] != '\0') {
        if (strchr(instance, '/') != NULL || !tracefs_instance_exists(instance))
            return fm_error_set(err, FM_IO, "'%s': no trace instance '%s'", name, instance);
        l.instance = tracefs_instance_alloc(NULL, instance);
        if (l.instance == NULL)
            return fm_error_nomem(err);
    }
    status = read_live(&l, err);
    tracefs_instance_free(l.instance);
    if (status != FM_OK) {
        fm_mem_free(&ctx->mem, l.p, l.cap);
        return status;
    }
    *data = l.p;
    *n = l.n;
    *cap = l.cap;
    return FM_OK;
}
