/*
 * export.c - call trees, exporters and the folded importer, in CPU milliseconds.
 *
 *     tests/bench/export [ROWS STACKS COMMS]     default 1000000 3000 1
 *
 * Rows take one of STACKS random chains of 20 frames at random (the worst order for caches) and one
 * of COMMS comms, which is a pseudo frame on top. The folded text that comes out is read again, 20
 * times over, for the importer's MB/s.
 */
#include "export/export.h"
#include "import/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t seed = 1;

static uint32_t roll(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct fm_store *make(struct fm_ctx *ctx, uint32_t rows, uint32_t stacks, uint32_t comms)
{
    enum { FRAMES = 600 };
    fm_frame frame[FRAMES];
    fm_node *node = malloc(stacks * sizeof *node);
    struct fm_builder *b;
    struct fm_store *store = NULL;
    uint32_t event, i, k;
    char s[32];
    if (node == NULL || fm_builder_new(ctx, &b, NULL) != FM_OK)
        exit(1);
    fm_builder_source(b, "bench", "none");
    event = fm_builder_event(b, "cpu-clock", "ns", FM_KIND_SAMPLE);
    fm_builder_event_row(b, event)->prepend = fm_builder_str(b, "comm", 4);
    for (i = 0; i < FRAMES; i++) { /* two addresses a function */
        struct fm_frame_row row = {.module = FM_NONE, .address = i};
        row.function = fm_builder_str(b, s, (size_t)snprintf(s, sizeof s, "function_%u", i / 2));
        frame[i] = fm_builder_frame(b, &row);
    }
    for (i = 0; i < stacks; i++) {
        node[i] = FM_NODE_ROOT;
        for (k = 0; k < 20; k++)
            node[i] = fm_builder_node(b, node[i], frame[roll(k < 5 ? 4 : FRAMES)]);
    }
    for (i = 0; i < rows; i++) {
        uint32_t comm = roll(comms);
        fm_row_begin(b, event);
        fm_row_set(b, FM_COL_TS, (uint64_t)i * 1000);
        fm_row_set(b, FM_COL_WEIGHT, 1000 + i % 7);
        fm_row_set(b, FM_COL_STACK, node[roll(stacks)]);
        fm_row_set(b, FM_COL_COMM,
                   fm_builder_str(b, s, (size_t)snprintf(s, sizeof s, "comm%u", comm)));
        fm_row_end(b);
    }
    fm_account_in(b, rows);
    free(node);
    if (fm_builder_seal(b, NULL, &store, NULL) != FM_OK)
        exit(1);
    return store;
}

struct text {
    char *s;
    size_t n, cap;
};

static int keep(void *user, const void *data, size_t n)
{
    struct text *t = user;
    if (t->n + n > t->cap) {
        t->cap = 2 * (t->n + n);
        t->s = realloc(t->s, t->cap);
        if (t->s == NULL)
            exit(1);
    }
    memcpy(t->s + t->n, data, n);
    t->n += n;
    return 0;
}

static void read_again(struct fm_ctx *ctx, const struct text *t)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_builder *b = NULL;
    double start = now(), ms;
    int i;
    options.format = "folded";
    if (fm_builder_new(ctx, &b, NULL) != FM_OK)
        exit(1);
    for (i = 0; i < 20; i++) {
        struct fm_input *input = NULL;
        struct fm_error err = {0};
        bool usable;
        if (fm_input_open_memory(ctx, t->s, t->n, "text", &input, &err) != FM_OK ||
            fm_import_input(ctx, input, &options, b, &usable, &err) != FM_OK) {
            fprintf(stderr, "%s\n", err.message);
            exit(1);
        }
        fm_input_free(input);
    }
    fm_builder_free(b);
    ms = now() - start;
    printf("folded in    %8.1f ms  %.0f MB/s of 20 x %.1f MB\n", ms,
           20 * (double)t->n / ms / 1000, (double)t->n / 1e6);
}

int main(int argc, char **argv)
{
    static const char *const exporter[] = {"folded", "svg", "speedscope", "perf-script"};
    uint32_t rows = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
    uint32_t stacks = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 3000;
    uint32_t comms = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1;
    const struct fm_names names = {0};
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_store *store = make(ctx, rows, stacks, comms);
    struct fm_selection sel;
    struct text folded = {0};
    size_t i;
    double start = now();
    if (fm_selection_init(&sel, store, NULL, NULL) != FM_OK)
        return 1;
    printf("selection    %8.1f ms  %u rows\n", now() - start, rows);
    for (i = 0; i < 3; i++) {
        struct fm_calltree tree;
        start = now();
        if (fm_calltree_make(&tree, &sel, &names, NULL) != FM_OK)
            return 1;
        printf("call tree    %8.1f ms  %zu nodes from %zu\n", now() - start, tree.nodes,
               fm_store_tree_nodes(store));
        fm_calltree_release(&tree);
    }
    for (i = 0; i < FM_COUNT(exporter); i++) {
        struct text text = {0};
        struct fm_sink sink = {keep, &text};
        start = now();
        if (fm_export_run(ctx, &sel, fm_exporter_find(exporter[i]), NULL, &sink, NULL) != FM_OK)
            return 1;
        printf("%-12s %8.1f ms  %.1f MB\n", exporter[i], now() - start, (double)text.n / 1e6);
        if (i == 0)
            folded = text;
        else
            free(text.s);
    }
    read_again(ctx, &folded);
    free(folded.s);
    fm_selection_release(&sel);
    fm_store_free(store);
    fm_ctx_free(ctx);
    return 0;
}
