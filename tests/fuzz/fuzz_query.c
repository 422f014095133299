/*
 * fuzz_query.c - any bytes as a query file: what loads is run on a small store that has columns of
 * every type, with parameters given a value, and written in every format. Weight is conserved: the
 * account of the result says what was selected, and nothing is leaked.
 */
#include "store/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
extern const char fuzz_name[];
const char fuzz_name[] = "query";

static void demand(bool ok)
{
    if (!ok)
        abort();
}

static fm_str str(struct fm_builder *b, const char *s)
{
    return fm_builder_str(b, s, strlen(s));
}

static fm_frame frame(struct fm_builder *b, const char *function, uint32_t line)
{
    struct fm_module_row module = { .kind = FM_MODULE_NAMED, .pid = -1 };
    struct fm_frame_row row = { .address = line, .kind = FM_FRAME_USER };

    module.path = str(b, line % 2 ? "/bin/app" : "/lib/libx.so");
    row.module = fm_builder_module(b, &module);
    row.function = str(b, function);
    row.file = line % 3 ? str(b, "f.c") : 0;
    row.line = line;
    return fm_builder_frame(b, &row);
}

static struct fm_store *make(struct fm_ctx *ctx)
{
    static const char *const function[] = { "main", "a", "b", "malloc", "operator new(int)" };
    static const enum fm_type type[] = { FM_TYPE_BOOL, FM_TYPE_I64, FM_TYPE_U64, FM_TYPE_F64,
                                         FM_TYPE_STRING, FM_TYPE_DUR, FM_TYPE_BYTES,
                                         FM_TYPE_ADDRESS };
    struct fm_builder *b;
    struct fm_store *store = NULL;

    demand(fm_builder_new(ctx, &b, NULL) == FM_OK);
    fm_builder_source(b, "fuzz", "fuzz");
    fm_account_in(b, 60);
    for (uint32_t r = 0; r < 60; r++) {
        fm_node node = FM_NODE_ROOT;
        fm_thread t = fm_builder_thread(b, 1, 10 + r % 3, 0);
        for (uint32_t k = 0; k < r % 7; k++)
            node = fm_builder_node(b, node, frame(b, function[(r * k + k) % 5], 1 + r % 4));
        fm_builder_thread_name(b, t, INT64_MIN, str(b, r % 2 ? "worker" : "main"));
        fm_row_begin(b, r < 40 ? fm_builder_event(b, "cycles", "cycles", FM_KIND_SAMPLE)
                               : fm_builder_event(b, "alloc", "bytes", FM_KIND_SAMPLE));
        fm_row_set(b, FM_COL_WEIGHT, r % 5 == 0 ? UINT64_MAX - r : r);
        if (r % 4 != 0)
            fm_row_set(b, FM_COL_TS, (uint64_t)r * 100000000);
        if (node != FM_NODE_ROOT)
            fm_row_set(b, FM_COL_STACK, node);
        fm_row_set(b, FM_COL_THREAD, t);
        fm_row_set(b, FM_COL_CPU, r % 4);
        fm_row_set(b, FM_COL_COMM, str(b, r % 2 ? "x" : "y,z"));
        for (uint32_t k = 0; k < FM_COUNT(type); k++) {
            char name[4] = { 'l', (char)('0' + k), 0 };
            uint64_t v = type[k] == FM_TYPE_STRING ? str(b, function[r % 5])
                         : type[k] == FM_TYPE_F64 ? fm_f64_bits((double)r / 3 - 5)
                         : type[k] == FM_TYPE_BOOL ? r % 2 : (uint64_t)r * r - 50;
            if (r % (k + 2) != 0)
                fm_row_set(b, fm_builder_label(b, name, type[k], false), v);
        }
        fm_row_end(b);
    }
    demand(fm_builder_seal(b, NULL, &store, NULL) == FM_OK);
    return store;
}

static int swallow(void *user, const void *data, size_t n)
{
    size_t *sum = user;

    *sum += n > 0 ? ((const unsigned char *)data)[n - 1] : 0;
    return 0;
}

static void run(struct fm_ctx *ctx, struct fm_store *store, struct fm_query *q)
{
    static const char *const form[] = { "text", "csv", "json", "markdown" };
    struct fm_result *result = NULL;
    size_t sum = 0;
    struct fm_sink sink = { swallow, &sum };
    enum fm_status status;

    /* required parameters of names that the corpus uses */
    (void)fm_query_set(q, "fn", "a", NULL);
    (void)fm_query_set(q, "n", "3", NULL);
    status = fm_query_run(ctx, q, &store, 1, NULL, &result, NULL);
    demand(status == FM_OK || status == FM_CONFIG || status == FM_GATE);
    demand((status != FM_CONFIG) == (result != NULL));
    for (size_t i = 0; result != NULL && i < FM_COUNT(form); i++)
        demand(fm_result_write(result, form[i], &sink, NULL) == FM_OK);
    fm_result_free(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_query *q = NULL;
    struct fm_store *store;
    int fd = memfd_create("query", 0);
    char path[64];
    enum fm_status status;

    demand(ctx != NULL && fd >= 0);
    demand(write(fd, data, n) == (ssize_t)n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    status = fm_query_load(ctx, path, &q, NULL);
    close(fd);
    if (status == FM_OK) {
        demand(fm_query_errors(q)[0] == '\0' || strstr(fm_query_errors(q), "warning") != NULL);
        store = make(ctx);
        run(ctx, store, q);
        fm_store_free(store);
    } else if (q != NULL) {
        demand(fm_query_errors(q)[0] != '\0');
    }
    fm_query_free(q);
    demand(atomic_load(&ctx->mem.used) == 0);
    fm_ctx_free(ctx);
    return 0;
}
