/*
 * perf.c - how fast a perf.data becomes a store: CPU seconds, samples/s, MB/s and peak memory.
 *
 *     tests/bench/perf FILE...                    one line a file
 *     tests/bench/perf --make SAMPLES FILE        a recording to measure with: two cpus, emptied in
 *                                                 rounds of 8 MB, chains of about 20 frames
 *
 * Not run by make check. A real one is made where perf runs:
 *     perf record -m 4096 -e cpu-clock -F 24000 -g -o FILE -- PROGRAM
 */
#include "import/perf/event.h"
#include "import/perf/perf.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define ATTR 136u
#define ROUND 40000u       /* samples a cpu writes between two rounds */

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* ------------------------------------------------------------------------- making */

static void put(FILE *f, uint64_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        fputc((int)(v >> 8 * i & 0xff), f);
}

static void head(FILE *f, uint32_t type, uint16_t misc, uint16_t size)
{
    put(f, type, 4);
    put(f, misc, 2);
    put(f, size, 2);
}

static void trailer(FILE *f, uint32_t tid, uint64_t time)
{
    put(f, 100, 4);
    put(f, tid, 4);
    put(f, time, 8);
}

static void preamble(FILE *f)
{
    static const char comm[16] = "bench", path[24] = "/usr/bin/bench-program";
    head(f, 3, 0, 8 + 8 + 16 + 16);
    put(f, 100, 4);
    put(f, 100, 4);
    fwrite(comm, 1, sizeof comm, f);
    trailer(f, 100, 1);
    head(f, 10, 2, 8 + 8 + 24 + 24 + 8 + 24 + 16);
    put(f, 100, 4);
    put(f, 100, 4);
    put(f, 0x400000, 8);
    put(f, 0x1000000, 8);
    put(f, 0, 8);
    for (unsigned i = 0; i < 3; i++)
        put(f, 1, 8);
    put(f, 5, 4);
    put(f, 2, 4);
    fwrite(path, 1, sizeof path, f);
    trailer(f, 100, 2);
}

/* One of some thousands of stacks: the deeper, the more frames it shares with its neighbours. */
static void sample(FILE *f, uint32_t *seed, uint32_t tid, uint64_t time)
{
    *seed = *seed * 1664525 + 1013904223;
    uint64_t which = (*seed >> 16) % 4096 * ((*seed >> 8) % 3);
    unsigned depth = 12 + which % 17;
    head(f, 9, 2, (uint16_t)(8 + 8 * 5 + 8 + 8 * depth));
    put(f, 0x400000 + which * 16, 8);
    put(f, 100, 4);
    put(f, tid, 4);
    put(f, time, 8);
    put(f, 41666, 8);
    put(f, depth + 1, 8);
    put(f, (uint64_t)-512, 8);
    for (unsigned i = 0; i < depth; i++)
        put(f, 0x400000 + ((which * 16 >> i) + i * 0x1000), 8);
}

static int make(uint64_t samples, const char *path)
{
    FILE *f = fopen(path, "wb");
    uint64_t time[2] = {1000, 1003}, made = 0, end;
    uint32_t seed = 1;
    if (f == NULL)
        return 1;
    fwrite("PERFILE2", 1, 8, f);
    put(f, 104, 8);
    put(f, ATTR + 16, 8);
    put(f, 104, 8);
    put(f, ATTR + 16, 8);
    put(f, 104 + ATTR + 16, 8);
    for (unsigned i = 0; i < 7; i++)
        put(f, 0, 8);
    put(f, 1, 4);
    put(f, ATTR, 4);
    put(f, 0, 8);
    put(f, 24000, 8);
    put(f, FM_PERF_IP | FM_PERF_TID | FM_PERF_TIME | FM_PERF_PERIOD | FM_PERF_CALLCHAIN, 8);
    put(f, 0, 8);
    put(f, FM_PERF_F_SAMPLE_ID_ALL | FM_PERF_F_FREQ | FM_PERF_F_EXCLUDE_GUEST, 8);
    for (unsigned i = 48; i < ATTR + 16; i += 8)
        put(f, 0, 8);
    preamble(f);
    while (made < samples) {
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            for (unsigned i = 0; i < ROUND && made < samples; i++, made++) {
                time[cpu] += 41666 + (seed >> 24);
                sample(f, &seed, 100 + cpu, time[cpu]);
            }
        }
        head(f, 68, 0, 8);
    }
    end = (uint64_t)ftello(f);
    fseeko(f, 48, SEEK_SET);
    put(f, end - 104 - ATTR - 16, 8);
    return fclose(f) != 0;
}

/* ---------------------------------------------------------------------- measuring */

static int measure(const char *path)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_error err = {0};
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_mapping *mapping = NULL;
    struct fm_input *input = NULL;
    struct fm_builder *builder = NULL;
    struct fm_store *store = NULL;
    struct fm_source_info info;
    struct rusage u;
    double begin = cpu_seconds(), read, sealed;
    uint64_t size = 0;
    char text[1024];
    int failed = 1;
    if (ctx == NULL || fm_mapping_load(ctx, "perf", &mapping, &err) != FM_OK ||
        fm_input_open(ctx, path, &input, &err) != FM_OK ||
        fm_builder_new(ctx, &builder, &err) != FM_OK)
        goto out;
    (void)fm_builder_source(builder, path, "perf");
    struct fm_import import = {ctx, input, builder, mapping, &options};
    (void)fm_importer_perf.import(&import, &err);
    read = cpu_seconds();
    if (fm_builder_seal(builder, NULL, &store, &err) != FM_OK)
        goto out;
    sealed = cpu_seconds();
    getrusage(RUSAGE_SELF, &u);
    fm_store_source(store, 0, &info);
    (void)fm_input_size(input, &size);
    printf("%s: %" PRIu64 " samples, %.1f MB: read %.3f + seal %.3f CPU-s, %.0f ns a sample, "
           "%.0f MB/s, peak %ld MB\n",
           path, info.samples_kept, (double)size / 1e6, read - begin, sealed - read,
           (sealed - begin) * 1e9 / (double)FM_MAX(info.samples_kept, 1u),
           (double)size / 1e6 / (sealed - begin), u.ru_maxrss / 1024);
    failed = 0;
out:
    if (fm_error_text(&err, text, sizeof text) > 0 && err.status != FM_OK)
        fprintf(stderr, "%s\n", text);
    fm_store_free(store);
    fm_input_free(input);
    fm_mapping_free(mapping);
    fm_ctx_free(ctx);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;
    uint64_t samples;
    if (argc == 4 && strcmp(argv[1], "--make") == 0)
        return !fm_text_u64(argv[2], strlen(argv[2]), &samples) || make(samples, argv[3]);
    for (int i = 1; i < argc; i++)
        failed |= measure(argv[i]);
    return failed;
}
