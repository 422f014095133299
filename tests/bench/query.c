/*
 * query.c - the shipped queries over a store of 1 M rows and 100 k stacks (or: ROWS STACKS).
 *
 * Stacks are random walks over 5,000 functions in 40 modules, 5 to 44 frames deep, with shared
 * prefixes as call trees have them. Prints CPU milliseconds of each query, importing not counted.
 */
#include "store/build.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t seed = 88172645463325252u;

static uint32_t roll(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 20) % n;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct fm_store *make(struct fm_ctx *ctx, uint32_t rows, uint32_t stacks)
{
    enum { FUNCTIONS = 5000, MODULES = 40, FRAMES = 20000 };
    static fm_frame frame[FRAMES];
    fm_node *stack = malloc(stacks * sizeof *stack);
    struct fm_builder *b;
    struct fm_store *store = NULL;
    struct fm_error err;
    char name[64];
    uint32_t event;

    fm_error_clear(&err);
    if (stack == NULL || fm_builder_new(ctx, &b, &err) != FM_OK)
        exit(1);
    fm_builder_source(b, "bench", "none");
    event = fm_builder_event(b, "cpu-clock", "ns", FM_KIND_SAMPLE);
    for (uint32_t f = 0; f < FRAMES; f++) {
        /* several addresses a function, as unmerged perf frames are */
        struct fm_frame_row row = { .kind = FM_FRAME_USER, .address = f };
        struct fm_module_row module = { .kind = FM_MODULE_NAMED, .pid = -1 };
        snprintf(name, sizeof name, "/usr/lib/lib%u.so", f % FUNCTIONS % MODULES);
        module.path = fm_builder_str(b, name, strlen(name));
        row.module = fm_builder_module(b, &module);
        snprintf(name, sizeof name, "function_%u", f % FUNCTIONS);
        row.function = fm_builder_str(b, name, strlen(name));
        frame[f] = fm_builder_frame(b, &row);
    }
    for (uint32_t s = 0; s < stacks; s++) {
        /* a branch off an earlier stack: its first half, then frames of its own */
        fm_node node = s == 0 ? FM_NODE_ROOT : stack[roll(s)];
        for (uint32_t up = roll(12); up > 0 && node != FM_NODE_ROOT; up--)
            node = fm_builder_node_parent(b, node);
        for (uint32_t k = 1 + roll(s < 100 ? 20 : 8); k > 0; k--)
            node = fm_builder_node(b, node, frame[roll(FRAMES)]);
        stack[s] = node;
    }
    fm_account_in(b, rows);
    for (uint32_t r = 0; r < rows; r++) {
        uint32_t s = roll(4) == 0 ? roll(stacks) : roll(1 + roll(stacks));
        fm_row_begin(b, event);
        fm_row_set(b, FM_COL_TS, (uint64_t)r * 1000);
        fm_row_set(b, FM_COL_WEIGHT, 1000000 + roll(100));
        fm_row_set(b, FM_COL_STACK, stack[s]);
        fm_row_set(b, FM_COL_CPU, roll(8));
        fm_row_set(b, FM_COL_THREAD, fm_builder_thread(b, 1, 1 + roll(16), 0));
        fm_row_end(b);
    }
    if (fm_builder_seal(b, NULL, &store, &err) != FM_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    free(stack);
    return store;
}

static void bench(struct fm_ctx *ctx, struct fm_store *store, const char *name)
{
    double best = 1e9;
    size_t rows = 0;

    for (int k = 0; k < 5; k++) {
        struct fm_result *result = NULL;
        struct fm_query *q = NULL;
        struct fm_error err;
        double start = now(), took;
        fm_error_clear(&err);
        if (fm_query_load(ctx, name, &q, &err) != FM_OK
            || fm_query_run(ctx, q, &store, 1, NULL, &result, &err) != FM_OK) {
            fprintf(stderr, "%s: %s\n%s", name, err.message, fm_query_errors(q));
            exit(1);
        }
        took = now() - start;
        best = took < best ? took : best;
        rows = fm_result_rows(result, 0);
        fm_result_free(result);
        fm_query_free(q);
    }
    printf("%-40s %8.1f ms  %zu rows\n", name, best, rows);
}

int main(int argc, char **argv)
{
    static const char *const query[] = { "hottest-paths", "top-self" };
    uint64_t rows = 1000000, stacks = 100000;
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_store *store;

    if (ctx == NULL || (argc > 1 && !fm_text_u64(argv[1], strlen(argv[1]), &rows))
        || (argc > 2 && !fm_text_u64(argv[2], strlen(argv[2]), &stacks)))
        return 2;
    store = make(ctx, (uint32_t)rows, (uint32_t)stacks);
    printf("%llu rows, %llu stacks, %zu tree nodes, %zu frames\n", (unsigned long long)rows,
           (unsigned long long)stacks, fm_store_tree_nodes(store), fm_store_frames(store));
    for (size_t i = 0; i < FM_COUNT(query); i++)
        bench(ctx, store, query[i]);
    for (int i = 3; i < argc; i++)
        bench(ctx, store, argv[i]);
    fm_store_free(store);
    fm_ctx_free(ctx);
    return 0;
}
