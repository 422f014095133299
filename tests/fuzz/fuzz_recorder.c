/*
 * fuzz_recorder.c - fuzz target: bytes through both importers of OA recordings and the store, which
 * must verify.
 */
#include "import/import.h"

#include <stdlib.h>

extern const char fuzz_name[];
const char fuzz_name[] = "recorder";

static void check(int ok)
{
    if (!ok)
        abort();
}

static void read_as(const char *format, const uint8_t *data, size_t n)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_input *input = NULL;
    struct fm_builder *builder = NULL;
    struct fm_store *store = NULL;
    bool usable;
    options.format = format;
    options.keep = "all";
    check(fm_input_open_memory(ctx, data, n, "fuzz", &input, NULL) == FM_OK);
    check(fm_builder_new(ctx, &builder, NULL) == FM_OK);
    fm_import_input(ctx, input, &options, builder, &usable, NULL);
    fm_input_free(input);
    check(fm_builder_seal(builder, NULL, &store, NULL) == FM_OK);
    check(fm_store_verify(store, NULL) == FM_OK);
    fm_store_free(store);
    fm_ctx_free(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    read_as("i915-perf-record", data, n);
    read_as("xe-perf-record", data, n);
    return 0;
}
