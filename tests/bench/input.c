/*
 * input.c - how fast bytes come in: CPU seconds and MB/s of a reader over files.
 *
 *     tests/bench/input FILE...                one line a file
 *     tests/bench/input --make MB FILE         a text of that size to measure with
 *
 * Not run by make check. Peers (cat, gzip -dc, zstd -dc) are timed by the caller, beside it.
 */
#include "input/input.h"
#include "util/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int make(size_t megabytes, const char *path)
{
    FILE *f = fopen(path, "wb");
    uint32_t x = 1;
    if (f == NULL)
        return 1;
    for (uint64_t n = 0; n < megabytes * 1000000;) {
        x = x * 1664525 + 1013904223;
        n += (uint64_t)fprintf(f, "main;step_%u;work_%u;leaf_%x %u\n", x >> 29, x >> 26, x >> 18,
                               x >> 24);
    }
    return fclose(f) != 0;
}

/* Everything in needs of 64 KiB, as a binary importer would; one byte a 4 KiB is looked at. */
static enum fm_status read_all(struct fm_ctx *ctx, const char *path, uint64_t *size, bool lines,
                               struct fm_error *err)
{
    struct fm_input *input = NULL;
    struct fm_reader *reader = NULL;
    uint64_t sum = 0, offset;
    const char *line;
    bool cut, end = false;
    enum fm_status status = fm_input_open(ctx, path, &input, err);
    if (status == FM_OK)
        status = fm_reader_open(input, &reader, err);
    while (status == FM_OK && lines && !end) {
        size_t n;
        status = fm_reader_line(reader, 65536, &line, &n, &offset, &cut, &end, err);
        sum += n;
    }
    while (status == FM_OK && !lines) {
        const unsigned char *p;
        size_t n;
        status = fm_reader_peek(reader, 65536, &p, &n, err);
        if (n == 0)
            break;
        for (size_t i = 0; i < n; i += 4096)
            sum += p[i];
        fm_reader_consume(reader, n);
    }
    *size = reader != NULL ? fm_reader_offset(reader) + (sum == 42) : 0;
    fm_reader_close(reader);
    fm_input_free(input);
    return status;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--make") == 0)
        return make((size_t)strtoul(argv[2], NULL, 10), argv[3]);
    for (int i = 1; i < argc; i++) {
        for (int lines = 0; lines < 2; lines++) {
            struct fm_ctx *ctx = fm_ctx_new();
            struct fm_error err = { 0 };
            uint64_t size;
            if (ctx == NULL)
                return 1;
            double start = cpu_seconds();
            if (read_all(ctx, argv[i], &size, lines, &err) != FM_OK)
                printf("%s: %s\n", argv[i], err.message);
            double took = cpu_seconds() - start;
            printf("%-24s %s %8.1f MB %7.3f CPU-s %8.0f MB/s %6zu KiB held at most\n", argv[i],
                   lines ? "lines" : "bytes", (double)size / 1e6, took,
                   (double)size / 1e6 / (took > 0 ? took : 1e-6),
                   (size_t)atomic_load(&ctx->mem.peak) >> 10);
            fm_ctx_free(ctx);
        }
    }
    return 0;
}
