/*
 * jfr.c - how fast a Java Flight Recorder file becomes a store, and recordings to measure with.
 *
 *     tests/bench/jfr FILE...              CPU seconds, events/s, MB/s, peak memory; beside it what
 *                                          memchr() over the same bytes needs in this run
 *     tests/bench/jfr --make MIX MB FILE   MB megabytes in 20 chunks; MIX: ap, jdk, both by turns
 *
 * Each chunk has its own type ids, keys, methods and stacks. ap: the events of a recording of
 * async-profiler with everything on (92 % are profiler.Free, 12 % of the bytes are pools in one
 * checkpoint at the end). jdk: those of a HotSpot recording with the settings "profile" (metadata
 * of 270 types, a checkpoint every 77 events). Shares are those of real recordings of both kinds.
 */
#include "import/import.h"

#include "../jfrgen.h"

#include "util/text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNKS 20u
#define THREADS 60u
#define METHODS 4000u
#define STACKS 3000u

static double cpu_seconds(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* ------------------------------------------------------------------------- making */

struct maker {
    struct jfr g;
    uint32_t seed, base;         /* base: what keys of this chunk begin with */
    uint64_t ticks;
};

static uint32_t draw(struct maker *m, uint32_t below)
{
    m->seed = m->seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)m->seed * below >> 32);
}

static void text(struct jfr *g, const char *s)
{
    jfr_be(g, 3, 1);
    jfr_long(g, strlen(s));
    jfr_raw(g, s, strlen(s));
}

static void begin(struct maker *m, const char *type)
{
    m->ticks += 1 + draw(m, 4000);
    jfr_event_begin(&m->g, jfr_type_id(&m->g, type));
    jfr_long(&m->g, m->ticks);
}

static void thread(struct maker *m)
{
    jfr_long(&m->g, m->base + draw(m, THREADS));
}

/* Few stacks are met often, many seldom. */
static void stack(struct maker *m)
{
    uint32_t r = draw(m, STACKS);

    jfr_long(&m->g, m->base + (uint32_t)((uint64_t)r * r / STACKS));
}

static void ap_event(struct maker *m)
{
    struct jfr *g = &m->g;
    uint32_t r = draw(m, 43425);

    if (r < 40101) {
        begin(m, "profiler.Free");
        thread(m);
        jfr_long(g, 0);
        jfr_long(g, 0x7f23a0000000u + draw(m, 1u << 30));
    } else if (r < 41656) {
        begin(m, "profiler.WallClockSample");
        thread(m);
        stack(m);
        jfr_long(g, 1 + draw(m, 2));
        jfr_long(g, 1 + draw(m, 20));
        jfr_long(g, draw(m, 1000000));
    } else if (r < 42609) {
        begin(m, "profiler.Malloc");
        thread(m);
        stack(m);
        jfr_long(g, 0x7f23a0000000u + draw(m, 1u << 30));
        jfr_long(g, draw(m, 100000));
    } else if (r < 43054) {
        begin(m, r & 1 ? "jdk.ObjectAllocationInNewTLAB" : "profiler.LiveObject");
        thread(m);
        stack(m);
        jfr_long(g, m->base + draw(m, METHODS / 8));
        jfr_long(g, draw(m, 4096));
        jfr_long(g, (r & 1) != 0 ? 262144 : m->ticks - draw(m, 100000));
    } else if (r < 43250) {
        begin(m, "jdk.ExecutionSample");
        thread(m);
        stack(m);
        jfr_long(g, 0);
    } else {
        begin(m, "profiler.NativeLock");
        jfr_long(g, draw(m, 10000000));
        thread(m);
        stack(m);
        jfr_long(g, 0x7f23a0000000u + draw(m, 1u << 30));
    }
    jfr_event_end(g);
}

static void jdk_event(struct maker *m)
{
    struct jfr *g = &m->g;
    uint32_t r = draw(m, 6727);

    if (r < 1045) {
        begin(m, "jdk.ObjectAllocationSample");
        thread(m);
        stack(m);
        jfr_long(g, m->base + draw(m, METHODS / 8));
        jfr_long(g, draw(m, 200000));
    } else if (r < 1870) {
        begin(m, r & 1 ? "jdk.ThreadPark" : "jdk.JavaMonitorEnter");
        jfr_long(g, draw(m, 100000000));
        thread(m);
        stack(m);
        jfr_long(g, m->base + draw(m, METHODS / 8));
        jfr_long(g, m->base + draw(m, THREADS));
        if ((r & 1) != 0)
            jfr_long(g, (uint64_t)INT64_MIN);
        jfr_long(g, 0x7f23a0000000u + draw(m, 1u << 30));
    } else if (r < 2138) {
        begin(m, "jdk.ThreadSleep");
        jfr_long(g, draw(m, 100000000));
        thread(m);
        stack(m);
        jfr_long(g, draw(m, 100));
    } else if (r < 2266) {
        begin(m, "jdk.ExecutionSample");
        thread(m);
        stack(m);
        jfr_long(g, 5);
    } else if (r < 3018) {
        begin(m, "jdk.GCPhasePause");
        jfr_long(g, draw(m, 100000));
        thread(m);
        jfr_long(g, draw(m, 100));
        text(g, "Phase of a collection");
    } else {
        begin(m, "bench.Flag");
        jfr_be(g, 4, 1);
        jfr_long(g, 24);
        for (unsigned i = 0; i < 24; i++)
            jfr_long(g, 'A' + i);
        jfr_long(g, draw(m, 1000));
        jfr_be(g, 1, 1);
    }
    jfr_event_end(g);
}

/* ---- pools */

static void pool(struct maker *m, const char *type, uint32_t n)
{
    jfr_long(&m->g, jfr_type_id(&m->g, type));
    jfr_long(&m->g, n);
}

static void checkpoint_begin(struct maker *m, unsigned pools)
{
    struct jfr *g = &m->g;

    jfr_event_begin(g, 1);
    jfr_long(g, m->ticks);
    jfr_long(g, 0);
    jfr_long(g, g->checkpoint == 0 ? 0 : g->checkpoint - (uint64_t)(g->event - g->chunk));
    jfr_be(g, 0, 1);
    jfr_long(g, pools);
}

static void checkpoint_end(struct maker *m)
{
    jfr_event_end(&m->g);
    m->g.checkpoint = m->g.event - m->g.chunk;
}

/* Stacks [from, to): the deeper, the more of their root they share with others. */
static void stacks(struct maker *m, uint32_t from, uint32_t to)
{
    struct jfr *g = &m->g;

    pool(m, "jdk.types.StackTrace", to - from);
    for (uint32_t s = from; s < to; s++) {
        uint32_t depth = 8 + s * 7 % 34;
        jfr_long(g, m->base + s);
        jfr_be(g, 0, 1);
        jfr_long(g, depth);
        for (uint32_t d = depth; d-- > 0;) { /* d = 0: the root */
            uint32_t which = d < 6 ? d + s % 4 * 8 : (s * 31 + d * 17 + (s >> d % 8)) % METHODS;
            jfr_long(g, m->base + which);
            jfr_long(g, 1 + which * 13 % 2000);
            jfr_long(g, which * 7 % 300);
            jfr_long(g, which % 3);
        }
    }
}

static void names(struct maker *m)
{
    struct jfr *g = &m->g;
    char buf[96];

    pool(m, "jdk.types.FrameType", 3);
    for (unsigned i = 0; i < 3; i++) {
        static const char *const type[] = {"Interpreted", "JIT compiled", "Inlined"};
        jfr_long(g, i);
        text(g, type[i]);
    }
    pool(m, "jdk.types.ThreadState", 4);
    for (unsigned i = 0; i < 4; i++) {
        static const char *const state[] = {"STATE_DEFAULT", "STATE_RUNNABLE", "STATE_SLEEPING",
                                            "STATE_RUNNABLE"};
        jfr_long(g, i < 3 ? i : 5);
        text(g, state[i]);
    }
    pool(m, "java.lang.Thread", THREADS);
    for (uint32_t i = 0; i < THREADS; i++) {
        jfr_long(g, m->base + i);
        snprintf(buf, sizeof buf, "worker-thread-%" PRIu32, i);
        text(g, buf);
        jfr_long(g, m->base + i);
        text(g, buf);
        jfr_long(g, i + 1);
        jfr_long(g, 0);
        jfr_be(g, 0, 1);
    }
    pool(m, "jdk.types.Symbol", METHODS + METHODS / 8);
    for (uint32_t i = 0; i < METHODS + METHODS / 8; i++) {
        jfr_long(g, m->base + i);
        if (i < METHODS)
            snprintf(buf, sizeof buf, "method%" PRIu32 "Of%" PRIu32, i, m->base);
        else
            snprintf(buf, sizeof buf, "com/example/service/part%" PRIu32 "/Handler%" PRIu32 "Impl",
                     i % 17, i - METHODS);
        text(g, buf);
    }
    pool(m, "java.lang.Class", METHODS / 8);
    for (uint32_t i = 0; i < METHODS / 8; i++) {
        jfr_long(g, m->base + i);
        jfr_long(g, 0);
        jfr_long(g, m->base + METHODS + i);
        jfr_long(g, 0);
        jfr_long(g, 1);
        jfr_be(g, 0, 1);
    }
    pool(m, "jdk.types.Method", METHODS);
    for (uint32_t i = 0; i < METHODS; i++) {
        jfr_long(g, m->base + i);
        jfr_long(g, m->base + i / 8);
        jfr_long(g, m->base + i);
        jfr_long(g, 0);
        jfr_long(g, 1);
        jfr_be(g, 0, 1);
    }
}

static void more_types(struct jfr *g)
{
    char line[512];

    jfr_schema_add(g, "200 bench.Flag :jdk.jfr.Event startTime=long@Timestamp=TICKS"
                      " name=java.lang.String value=int flag=boolean\n");
    for (unsigned i = 0; g->types < JFR_TYPES_MAX; i++) {
        snprintf(line, sizeof line,
                 "%u bench.Event%u :jdk.jfr.Event startTime=long@Timestamp=TICKS"
                 " duration=long@Timespan=TICKS eventThread=java.lang.Thread#"
                 " size%u=long@DataAmount=BYTES name%u=java.lang.String count%u=int load%u=float\n",
                 300 + i, i, i, i, i, i);
        jfr_schema_add(g, line);
    }
}

static void make_chunk(struct maker *m, unsigned number, size_t bytes, bool jdk)
{
    struct jfr *g = &m->g;
    uint32_t put = 0;

    g->n = 0;
    jfr_schema(g, jfr_types);
    more_types(g);
    for (unsigned i = 0; i < g->types; i++)
        g->type[i].id += 7 * number;
    m->base = 1000 + 20011 * number;
    g->size_pad = jdk ? 4 : 1;
    jfr_chunk(g, 2, jdk, 1700000000000000000u + number * 10000000000u, m->ticks, 1000000000);
    jfr_meta(g);
    while (g->n + (jdk ? 0 : bytes / 8) < bytes) {
        for (unsigned i = 0; i < 77; i++) {
            if (jdk)
                jdk_event(m);
            else
                ap_event(m);
        }
        if (jdk && put < STACKS) {
            checkpoint_begin(m, 1);
            stacks(m, put, put + 1);
            checkpoint_end(m);
            put++;
        }
    }
    checkpoint_begin(m, 7);
    names(m);
    stacks(m, put, STACKS);
    checkpoint_end(m);
    jfr_end(g, 9000000000u);
}

static int make(const char *mix, uint64_t megabytes, const char *path)
{
    static struct maker m = {.seed = 1, .ticks = 100000};
    FILE *f = fopen(path, "wb");
    bool bad = f == NULL;

    for (unsigned i = 0; !bad && i < CHUNKS; i++) {
        bool jdk = strcmp(mix, "jdk") == 0 || (strcmp(mix, "both") == 0 && i % 2 == 1);
        make_chunk(&m, i, (size_t)(megabytes * 1000000 / CHUNKS), jdk);
        bad = fwrite(m.g.data, 1, m.g.n, f) != m.g.n;
    }
    jfr_free(&m.g);
    return bad || fclose(f) != 0;
}

/* ---------------------------------------------------------------------- measuring */

/* What the machine needs to look at every byte of the file once. */
static double memchr_seconds(const char *path)
{
    int fd = open(path, O_RDONLY);
    struct stat st;
    double begin = cpu_seconds();
    unsigned char *buf = malloc(1 << 17);
    size_t hits = 0;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) != 0 || buf == NULL)
        return 0;
    while ((n = read(fd, buf, 1 << 17)) > 0) {
        const unsigned char *p = buf, *end = buf + n;
        while ((p = memchr(p, 0xfe, (size_t)(end - p))) != NULL && ++p < end)
            hits++;
    }
    close(fd);
    free(buf);
    return cpu_seconds() - begin + (hits == SIZE_MAX);
}

static int measure(const char *path)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_error err = {0};
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_store *store = NULL;
    struct rusage u;
    double begin = cpu_seconds(), took, floor;
    uint64_t events = 0;
    struct stat st;
    char message[1024];

    if (ctx == NULL || stat(path, &st) != 0)
        return 1;
    (void)fm_import(ctx, &path, 1, &options, &store, &err);
    took = cpu_seconds() - begin;
    getrusage(RUSAGE_SELF, &u);
    if (err.status != FM_OK) {
        (void)fm_error_text(&err, message, sizeof message);
        fprintf(stderr, "%s\n", message);
    }
    if (store == NULL)
        return 1;
    for (size_t i = 0; i < fm_store_accounts(store); i++) {
        struct fm_account_info a;
        fm_store_account(store, i, &a);
        events += a.kind == FM_ACCOUNT_RECORDS || a.kind == FM_ACCOUNT_NOT_MAPPED ? a.count : 0;
    }
    floor = memchr_seconds(path);
    printf("%s: %" PRIu64 " events, %" PRIu64 " rows, %.1f MB: %.3f CPU-s, %.0f ns an event, "
           "%.0f MB/s, %.1f times memchr, peak %ld MB, store %.1f MB\n",
           path, events, fm_store_rows(store), (double)st.st_size / 1e6, took,
           took * 1e9 / (double)FM_MAX(events, 1u), (double)st.st_size / 1e6 / took,
           took / FM_MAX(floor, 1e-6), u.ru_maxrss / 1024, (double)fm_store_memory(store) / 1e6);
    fm_store_free(store);
    fm_ctx_free(ctx);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;
    uint64_t megabytes;

    if (argc == 5 && strcmp(argv[1], "--make") == 0)
        return !fm_text_u64(argv[3], strlen(argv[3]), &megabytes) ||
               make(argv[2], megabytes, argv[4]);
    for (int i = 1; i < argc; i++)
        failed |= measure(argv[i]);
    return failed;
}
