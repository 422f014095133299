/*
 * fuzz_trace_dat.c - any bytes as a trace.dat: only crashes, endless loops, unsound stores and
 * memory beyond a multiple of the input count.
 */
#include "import/import.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
extern const char fuzz_name[];
const char fuzz_name[] = "trace-dat";

/* libtraceevent loses a name here and there of a format that does not parse. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libtraceevent";
}

static void demand(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_input *input = NULL;
    struct fm_builder *builder = NULL;
    struct fm_store *store = NULL;
    bool usable;
    options.format = "trace-dat";
    options.keep = "all";
    options.no_symbols = true;
    demand(ctx != NULL);
    demand(fm_input_open_memory(ctx, data, n, "fuzz", &input, NULL) == FM_OK);
    demand(fm_builder_new(ctx, &builder, NULL) == FM_OK);
    (void)fm_import_input(ctx, input, &options, builder, &usable, NULL);
    fm_input_free(input);
    demand(fm_builder_seal(builder, NULL, &store, NULL) == FM_OK);
    demand(fm_store_verify(store, NULL) == FM_OK);
    fm_store_free(store);
    /* a zstd frame may ask for a window of 128 MiB */
    demand(atomic_load(&ctx->mem.peak) < ((size_t)192 << 20) + 200 * n);
    fm_ctx_free(ctx);
    return 0;
}
