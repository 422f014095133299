/*
 * iaprof.c - how fast an iaprof file becomes a store, and files to measure with.
 *
 *     tests/bench/iaprof FILE...            CPU seconds, MB/s, lines/s, rows/s, peak memory; beside
 *                                           them the ends of all lines sought with memchr()
 *     tests/bench/iaprof --make MB FILE     MB megabytes of fast mode
 *
 * Made files have an interval each 10 ms in which 30 of 400 kernels were sampled at 20 to 120
 * instructions, one to three of the ten counts of a line not 0; stacks of 8 to 30 frames are 600,
 * strings stand before their first use, as the tool writes them. One thread; both readings take the
 * bytes through the same windows.
 */
#include "import/import.h"

#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* ----------------------------------------------------------------- making */

#define KERNELS 400u
#define STACKS 600u
#define INSNS 60u

struct maker {
    FILE *f;
    uint64_t bytes, seed, strings;
    uint64_t kernel[KERNELS], file[KERNELS], stack[STACKS], insn[INSNS], comm[4];
};

static uint32_t draw(struct maker *m, uint32_t below)
{
    m->seed ^= m->seed << 13;
    m->seed ^= m->seed >> 7;
    m->seed ^= m->seed << 17;
    return (uint32_t)((m->seed >> 32) * below >> 32);
}

static void put(struct maker *m, const char *s, size_t n)
{
    m->bytes += fwrite(s, 1, n, m->f);
}

static FM_PRINTF(2, 3) void line(struct maker *m, const char *fmt, ...)
{
    char s[256];
    va_list ap;
    int n;
    va_start(ap, fmt);
    n = vsnprintf(s, sizeof s, fmt, ap);
    va_end(ap);
    put(m, s, (size_t)n);
}

/* The id of a text; defined when it is met first. */
static uint64_t text(struct maker *m, uint64_t *id, const char *what, uint32_t i)
{
    if (*id != 0)
        return *id;
    *id = ++m->strings;
    line(m, "string\t%llu\t%s%u\n", (unsigned long long)*id, what, i);
    return *id;
}

static uint64_t stack(struct maker *m, uint32_t i)
{
    if (m->stack[i] != 0)
        return m->stack[i];
    m->stack[i] = ++m->strings;
    line(m, "string\t%llu\t_start;__libc_start_main;main", (unsigned long long)m->strings);
    for (uint32_t k = 0; k < 5 + i % 23; k++)
        line(m, ";at::native::layer_%u(at::Tensor const&, at::Tensor const&)", i / (k + 1) + k);
    line(m, ";zeCommandListAppendLaunchKernel\n");
    return m->stack[i];
}

static void stall(struct maker *m, uint32_t offset)
{
    uint32_t i = (offset * 7 + offset / 64) % INSNS, cells = 1 + draw(m, 3);
    uint64_t id = text(m, &m->insn[i], "insn", i);
    uint32_t count[10] = {0};
    char s[160];
    int n = snprintf(s, sizeof s, "eustall\t0x%x\t%llu", offset * 8, (unsigned long long)id);
    for (uint32_t k = 0; k < cells; k++)
        count[draw(m, 10)] = 1 + draw(m, k == 0 ? 300 : 9);
    for (uint32_t k = 0; k < 10; k++)
        n += snprintf(s + n, sizeof s - (size_t)n, "\t%u", count[k]);
    s[n++] = '\n';
    put(m, s, (size_t)n);
}

static void kernel(struct maker *m, uint32_t i)
{
    uint32_t s = (i * 3 + draw(m, 4)) % STACKS, stalls = 20 + draw(m, 100), offset = 0;
    uint64_t comm = text(m, &m->comm[i % 4], "python", i % 4), user = stack(m, s);
    uint64_t file = text(m, &m->file[i / 8], "/srv/kernels/file.cpp", i / 8);
    uint64_t symbol = text(m, &m->kernel[i], "gemm_kernel<float, 16, 8>::operator()#", i);
    line(m, "kernel\t0x%llx\t%llu\t%u\t%llu\t%llu\t%llu\n", 0xffff800100000000ull + i * 0x10000ull,
         (unsigned long long)comm, 4000 + i % 4, (unsigned long long)user,
         (unsigned long long)file, (unsigned long long)symbol);
    for (uint32_t k = 0; k < stalls; k++) {
        offset += 1 + draw(m, 6);
        stall(m, offset);
    }
}

static int make(const char *size, const char *path)
{
    struct maker m = {.seed = 88172645463325252u};
    uint64_t mb;
    if (!fm_text_u64(size, strlen(size), &mb) || (m.f = fopen(path, "w")) == NULL)
        return 2;
    for (uint64_t i = 0; m.bytes < mb * 1000000; i++) {
        uint32_t at = draw(&m, 4);
        line(&m, "interval\t%llu\t%llu.%06u\n", (unsigned long long)i,
             (unsigned long long)(5000 + i / 100), (unsigned)(i % 100 * 10000));
        for (uint32_t k = 0; k < 30; k++, at += 1 + draw(&m, 20))
            kernel(&m, at % KERNELS);
        line(&m, "metric\tfrequency-MHz\t%u\nmetric\tbusy-percent\t%u\n", 600 + draw(&m, 2300),
             draw(&m, 101));
    }
    return fclose(m.f) != 0;
}

/* -------------------------------------------------------------- measuring */

static uint64_t seek_lines(struct fm_ctx *ctx, const char *path)
{
    struct fm_input *input = NULL;
    struct fm_reader *reader = NULL;
    const unsigned char *data;
    uint64_t lines = 0;
    size_t n;
    if (fm_input_open(ctx, path, &input, NULL) != FM_OK ||
        fm_reader_open(input, &reader, NULL) != FM_OK)
        exit(1);
    while (fm_reader_peek(reader, 1, &data, &n, NULL) == FM_OK && n > 0) {
        const unsigned char *p = data, *end = data + n;
        while ((p = memchr(p, '\n', (size_t)(end - p))) != NULL && ++p < end)
            lines++;
        fm_reader_consume(reader, n);
    }
    fm_reader_close(reader);
    fm_input_free(input);
    return lines;
}

static struct fm_store *import(struct fm_ctx *ctx, const char *path)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_input *input = NULL;
    struct fm_builder *builder = NULL;
    struct fm_store *store = NULL;
    struct fm_error err = {0};
    bool usable;
    if (fm_input_open(ctx, path, &input, &err) != FM_OK ||
        fm_builder_new(ctx, &builder, &err) != FM_OK)
        exit(1);
    if (fm_import_input(ctx, input, &options, builder, &usable, &err) != FM_OK ||
        fm_builder_seal(builder, NULL, &store, &err) != FM_OK) {
        fprintf(stderr, "%s: %s\n", path, err.message);
        exit(1);
    }
    fm_input_free(input);
    return store;
}

static void measure(const char *path)
{
    struct fm_ctx *ctx = fm_ctx_new();
    double scan = 1e9, read = 1e9, mb;
    uint64_t lines = 0, rows = 0;
    struct rusage u;
    for (int turn = 0; turn < 3; turn++) {
        double from = cpu_seconds();
        struct fm_store *store;
        lines = seek_lines(ctx, path);
        scan = FM_MIN(scan, cpu_seconds() - from);
        from = cpu_seconds();
        store = import(ctx, path);
        read = FM_MIN(read, cpu_seconds() - from);
        rows = fm_store_rows(store);
        mb = (double)fm_store_source_row(store, 0)->bytes / 1e6;
        fm_store_free(store);
    }
    getrusage(RUSAGE_SELF, &u);
    printf("%s: %.0f MB, %llu lines, %llu rows\n", path, mb, (unsigned long long)lines,
           (unsigned long long)rows);
    printf("  memchr   %6.2f s %7.0f MB/s\n", scan, mb / scan);
    printf("  import   %6.2f s %7.0f MB/s  %.1f times memchr  %.1f M lines/s  %.1f M rows/s\n",
           read, mb / read, read / scan, (double)lines / read / 1e6, (double)rows / read / 1e6);
    printf("  peak     %6ld MiB\n", u.ru_maxrss / 1024);
    fm_ctx_free(ctx);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--make") == 0)
        return make(argv[2], argv[3]);
    if (argc < 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: iaprof FILE... | iaprof --make MB FILE\n");
        return 2;
    }
    for (int i = 1; i < argc; i++)
        measure(argv[i]);
    return 0;
}
