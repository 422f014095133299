/*
 * fuzz_format.c - any bytes as a format file: YAML, expressions, patterns, rules. What loads is
 * bound to a class with a field of every type and fed two events; the store must verify.
 */
#include "format/mapping.h"
#include "util/error.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
extern const char fuzz_name[];
const char fuzz_name[] = "format";

static const struct fm_field fields[] = {
    {"time", FM_TYPE_TIME, "ns"},      {"period", FM_TYPE_U64, NULL},
    {"stack", FM_TYPE_STACK, NULL},    {"thread", FM_TYPE_THREAD, NULL},
    {"cpu", FM_TYPE_I64, NULL},        {"comm", FM_TYPE_STRING, NULL},
    {"addr", FM_TYPE_ADDRESS, NULL},   {"weight", FM_TYPE_F64, NULL},
    {"duration", FM_TYPE_DUR, NULL},   {"failed", FM_TYPE_BOOL, NULL},
    {"size", FM_TYPE_BYTES, "bytes"},  {"stackTrace", FM_TYPE_STACK, NULL},
    {"state", FM_TYPE_STRING, NULL},   {"samples", FM_TYPE_I64, NULL},
    {"pid", FM_TYPE_I64, NULL},        {"name", FM_TYPE_STRING, NULL}};

static void demand(bool ok)
{
    if (!ok)
        abort();
}

static void run(struct fm_ctx *ctx, const struct fm_mapping *m)
{
    static const char *const names[] = {"cycles", "jdk.ExecutionSample", "X", "samples", "record"};
    struct fm_builder *b;
    struct fm_binding *binding;
    struct fm_store *store;
    demand(fm_builder_new(ctx, &b, NULL) == FM_OK);
    fm_builder_source(b, "fuzz", "fuzz");
    demand(fm_binding_new(m, b, "all", &binding, NULL) == FM_OK);
    fm_binding_account(binding, true);
    fm_str text = fm_builder_str(b, "a;b;1", 5);
    fm_thread thread = fm_builder_thread(b, 1, 2, 0);
    for (size_t i = 0; i < FM_COUNT(names); i++) {
        uint64_t wanted, all = 0xffff, half = 0x5a5a;
        uint64_t v[FM_COUNT(fields)] = {7, 9, 0, thread, 1, text, UINT64_MAX, fm_f64_bits(1e300),
                                        (uint64_t)-5, 1, 64, 0, text, 3, 12, text};
        int c = fm_class_declare(binding, names[i], fields, FM_COUNT(fields), 1, &wanted);
        demand(c >= FM_CLASS_UNMAPPED);
        demand((wanted & ~all) == 0);
        if (c == FM_CLASS_UNMAPPED)
            continue;
        fm_event(binding, c, v, &all);
        fm_event(binding, c, v, &half);
    }
    fm_binding_free(binding);
    if (fm_builder_seal(b, NULL, &store, NULL) != FM_OK)
        return;
    demand(fm_store_verify(store, NULL) == FM_OK);
    fm_store_free(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_arena arena;
    struct fm_yaml_log log;
    struct fm_mapping *m;
    struct fm_error err = {0};
    char *text = malloc(n + 1);
    if (!ctx || !text)
        abort();
    memcpy(text, data, n);
    fm_arena_init(&arena, &ctx->mem);
    fm_yaml_log_init(&log, &arena);
    enum fm_status status = fm_mapping_load_text(ctx, "fuzz", text, n, &m, &log, &err);
    demand((status == FM_OK) == (m != NULL));
    demand((status == FM_OK) == (err.status == FM_OK));
    demand(status == FM_OK || status == FM_CONFIG);
    if (m)
        run(ctx, m);
    fm_mapping_free(m);
    fm_arena_release(&arena);
    free(text);
    demand(atomic_load(&ctx->mem.used) == 0);
    fm_ctx_free(ctx);
    return 0;
}
