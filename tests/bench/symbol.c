/*
 * symbol.c - what naming costs: CPU seconds and peak memory for frames spread over one module.
 *
 *     make tests/bench/symbol && tests/bench/symbol FILE [frames]      an ELF file
 *     tests/bench/symbol -k KALLSYMS [frames]                          the kernel
 *     tests/bench/symbol -p MAP-DIR PID START END [frames]             a perf-PID.map
 *     tests/bench/symbol -a FILE [frames]       prints the file offsets instead, for a peer
 */
#include "store/build.h"
#include "symbol/elf.h"
#include "symbol/symbol.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

struct load {
    struct fm_module_row module;
    const char *path;
    uint64_t start, end;
    size_t frames;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The largest run of offsets that the file maps as code. */
static bool code_of(struct fm_ctx *ctx, struct load *load)
{
    struct fm_image image;
    struct fm_elf *elf;
    uint64_t at, address, first = 0, length = 0;
    size_t n;

    if (fm_image_open(ctx, load->path, false, &image) != FM_OK)
        return false;
    n = image.n;
    if (fm_elf_open(ctx, &image, &elf) != FM_OK)
        return false;
    for (at = 0; at < n; at += 4096) {
        if (!fm_elf_address(elf, at, &address) || at + 4096 >= n) {
            if (at - first > length) {
                load->start = first;
                load->end = first + (length = at - first);
            }
            first = at + 4096;
        }
    }
    fm_elf_close(elf);
    return length > 0;
}

static size_t run(struct fm_ctx *ctx, const struct load *load, const struct fm_symbol_options *o,
                  double *seconds)
{
    struct fm_module_row module = load->module;
    struct fm_builder *b;
    struct fm_store *store;
    size_t named = 0;
    double start;

    if (fm_builder_new(ctx, &b, NULL) != FM_OK)
        return 0;
    module.source = fm_builder_source(b, "bench", "perf");
    module.path = fm_builder_str(b, load->path, strlen(load->path));
    for (size_t i = 0; i < load->frames; i++) {
        struct fm_frame_row f = { .kind = FM_FRAME_USER };
        f.module = fm_builder_module(b, &module);
        f.address = load->start + (load->end - load->start) / load->frames * i;
        fm_builder_frame(b, &f);
    }
    if (fm_builder_seal(b, NULL, &store, NULL) != FM_OK)
        return 0;
    start = now();
    if (fm_symbolize(ctx, store, o, NULL) != FM_OK)
        return 0;
    *seconds = now() - start;
    for (size_t i = 0; i < fm_store_frames(store); i++)
        named += fm_store_frame_row(store, (fm_frame)i)->function != 0;
    fm_store_free(store);
    return named;
}

static uint64_t number(const char *s, bool hex)
{
    uint64_t v = 0;
    return (hex ? fm_text_hex(s, strlen(s), &v) : fm_text_u64(s, strlen(s), &v)) ? v : 0;
}

int main(int argc, char **argv)
{
    struct fm_symbol_options o = { .buildid_dir = "" };
    struct load load = { .module = { .kind = FM_MODULE_USER, .pid = -1 }, .frames = 10000 };
    struct fm_ctx *ctx = fm_ctx_new();
    struct rusage usage;
    bool print = false;
    size_t named = 0;
    double best = 1e9;
    int used = 2;

    if (argc < 2 || ctx == NULL)
        return 2;
    load.path = argv[1];
    if (strcmp(argv[1], "-k") == 0 && argc > 2) {
        o.kallsyms = argv[2];
        load.path = "[kernel.kallsyms]";
        load.module.kind = FM_MODULE_KERNEL;
        load.start = 0xffffffff81000000;
        load.end = 0xffffffff82000000;
        used = 3;
    } else if (strcmp(argv[1], "-p") == 0 && argc > 5) {
        o.map_dir = argv[2];
        load.path = "//anon";
        load.module.kind = FM_MODULE_JIT;
        load.module.pid = (int64_t)number(argv[3], false);
        load.start = number(argv[4], true);
        load.end = number(argv[5], true);
        used = 6;
    } else {
        if (strcmp(argv[1], "-a") == 0 && argc > 2) {
            print = true;
            load.path = argv[used++];
        }
        if (!code_of(ctx, &load))
            return 1;
    }
    if (used < argc && number(argv[used], false) > 0)
        load.frames = number(argv[used], false);
    for (size_t i = 0; i < load.frames && print; i++)
        printf("0x%llx\n", (unsigned long long)(load.start + (load.end - load.start) /
                                                load.frames * i));
    for (int round = 0; round < 3 && !print; round++) {
        double seconds = 1e9;
        named = run(ctx, &load, &o, &seconds);
        best = seconds < best ? seconds : best;
    }
    getrusage(RUSAGE_SELF, &usage);
    if (!print)
        printf("%zu frames, %zu named, best of 3: %.4f CPU-s, %.1f MB peak\n", load.frames, named,
               best, (double)usage.ru_maxrss / 1024);
    fm_ctx_free(ctx);
    return 0;
}
