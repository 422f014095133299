/*
 * eustall.c - how fast raw EU-stall records become a store, and files to measure with.
 *
 *     tests/bench/eustall FILE...                 CPU seconds, MB/s, records/s, rows; beside them
 *                                                 the input's words added up
 *     tests/bench/eustall --make MB LAYOUT FILE   MB megabytes of records: pvc, xe2 or xe3p
 *
 * Made records are of 6,000 instructions of which few are hot; one to three of the ten counts are
 * not 0, of 1 to 40. One thread; both readings take the bytes through the same windows.
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

#define SIZE 64u
#define INSNS 6000u

/* Bits of the address; the first of the counts; where `active` and the end flag are, 0 = none. */
static const struct layout {
    const char *name;
    uint32_t ip, counts, n, active, end;
} layouts[] = {
    {"pvc", 29, 29, 9, 0, 0}, {"xe2", 29, 29, 9, 101, 112}, {"xe3p", 61, 61, 9, 133, 144}};

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (uint32_t)((*seed >> 32) * below >> 32);
}

static void set_bits(unsigned char *p, uint32_t at, uint32_t n, uint64_t value)
{
    for (uint32_t i = 0; i < n; i++)
        p[(at + i) / 8] |= (unsigned char)((value >> i & 1) << (at + i) % 8);
}

static void record(const struct layout *l, uint64_t *seed, unsigned char *p)
{
    uint32_t insn = draw(seed, INSNS), cells = 1 + draw(seed, 3);
    insn = (uint32_t)((uint64_t)insn * draw(seed, INSNS) / INSNS);
    memset(p, 0, SIZE);
    set_bits(p, 0, l->ip, 0x4000 + insn * 2);
    for (uint32_t i = 0; i < cells; i++) {
        uint32_t k = draw(seed, l->n + (l->active > 0));
        uint32_t at = k == l->n ? l->active : l->counts + k * 8, have = 0;
        for (uint32_t b = 0; b < 8; b++)
            have |= (uint32_t)(p[(at + b) / 8] >> (at + b) % 8 & 1);
        if (have == 0)
            set_bits(p, at, 8, 1 + draw(seed, 40));
    }
    if (l->end > 0)
        set_bits(p, l->end, 1, 1);
}

static int make(const char *size, const char *name, const char *path)
{
    uint64_t mb, seed = 88172645463325252u;
    unsigned char p[SIZE];
    size_t k = 0;
    FILE *f;
    while (k < FM_COUNT(layouts) && strcmp(layouts[k].name, name) != 0)
        k++;
    if (k == FM_COUNT(layouts) || !fm_text_u64(size, strlen(size), &mb) ||
        (f = fopen(path, "w")) == NULL)
        return 2;
    for (uint64_t i = 0; i < mb * 1000000 / SIZE; i++) {
        record(&layouts[k], &seed, p);
        fwrite(p, 1, SIZE, f);
    }
    return fclose(f) != 0;
}

/* -------------------------------------------------------------- measuring */

static volatile uint64_t words;

static void add_words(struct fm_ctx *ctx, const char *path)
{
    struct fm_input *input = NULL;
    struct fm_reader *reader = NULL;
    const unsigned char *data;
    uint64_t sum = 0;
    size_t n;
    if (fm_input_open(ctx, path, &input, NULL) != FM_OK ||
        fm_reader_open(input, &reader, NULL) != FM_OK)
        exit(1);
    while (fm_reader_peek(reader, SIZE, &data, &n, NULL) == FM_OK && n >= SIZE) {
        for (size_t i = 0; i + 8 <= n; i += 8)
            sum += fm_load_u64(data + i);
        fm_reader_consume(reader, n);
    }
    words = sum;
    fm_reader_close(reader);
    fm_input_free(input);
}

static struct fm_store *import(struct fm_ctx *ctx, const char *path)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_input *input = NULL;
    struct fm_builder *builder = NULL;
    struct fm_store *store = NULL;
    struct fm_error err = {0};
    bool usable;
    options.format = "intel-eustall";
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
    uint64_t rows = 0;
    for (int turn = 0; turn < 3; turn++) {
        double from = cpu_seconds();
        struct fm_store *store;
        add_words(ctx, path);
        scan = FM_MIN(scan, cpu_seconds() - from);
        from = cpu_seconds();
        store = import(ctx, path);
        read = FM_MIN(read, cpu_seconds() - from);
        rows = fm_store_rows(store);
        mb = (double)fm_store_source_row(store, 0)->bytes / 1e6;
        fm_store_free(store);
    }
    printf("%s: %.0f MB, %llu rows\n", path, mb, (unsigned long long)rows);
    printf("  words    %6.2f s %7.0f MB/s\n", scan, mb / scan);
    printf("  import   %6.2f s %7.0f MB/s  %.1f times the words  %.1f M records/s\n", read,
           mb / read, read / scan, mb / SIZE / read);
    fm_ctx_free(ctx);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "--make") == 0)
        return make(argv[2], argv[3], argv[4]);
    if (argc < 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: eustall FILE... | eustall --make MB LAYOUT FILE\n");
        return 2;
    }
    for (int i = 1; i < argc; i++)
        measure(argv[i]);
    return 0;
}
