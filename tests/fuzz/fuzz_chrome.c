/*
 * fuzz_chrome.c - fuzz target: bytes through the Chrome importer (traces, V8 profiles, HTML pages),
 * the store, and exporters. The store must verify and its account must add up; the same bytes give
 * the same rows and weights twice. tests/fuzz/chrome.dict holds the words of the format.
 */
#include "export/export.h"
#include "import/import.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
extern const char fuzz_name[];
const char fuzz_name[] = "chrome";

static int swallow(void *user, const void *data, size_t n)
{
    (void)user;
    (void)data;
    (void)n;
    return 0;
}

static void check(int ok)
{
    if (!ok)
        abort();
}

static struct fm_store *import(struct fm_ctx *ctx, const uint8_t *data, size_t n)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_input *input = NULL;
    struct fm_builder *builder = NULL;
    struct fm_store *store = NULL;
    bool usable;
    options.format = "chrome";
    options.keep = "all";
    check(fm_input_open_memory(ctx, data, n, "fuzz", &input, NULL) == FM_OK);
    check(fm_builder_new(ctx, &builder, NULL) == FM_OK);
    fm_import_input(ctx, input, &options, builder, &usable, NULL);
    fm_input_free(input);
    check(fm_builder_seal(builder, NULL, &store, NULL) == FM_OK);
    check(fm_store_verify(store, NULL) == FM_OK);
    return store;
}

static void use(struct fm_ctx *ctx, struct fm_store *store)
{
    static const char *const exporter[] = {"folded", "svg", "speedscope"};
    struct fm_sink sink = {swallow, NULL};
    const struct fm_names names = {.annotate = true, .folded = true};
    struct fm_selection sel;
    struct fm_calltree tree;
    check(fm_selection_init(&sel, store, NULL, NULL) == FM_OK);
    check(fm_calltree_make(&tree, &sel, &names, NULL) == FM_OK);
    check(tree.node[0].total == sel.weight);
    fm_calltree_release(&tree);
    for (size_t i = 0; i < FM_COUNT(exporter); i++)
        check(fm_export_run(ctx, &sel, fm_exporter_find(exporter[i]), NULL, &sink, NULL) ==
              FM_OK);
    fm_selection_release(&sel);
}

static bool same(const struct fm_store *a, const struct fm_store *b)
{
    if (fm_store_rows(a) != fm_store_rows(b) || fm_store_events(a) != fm_store_events(b))
        return false;
    for (size_t i = 0; i < fm_store_events(a); i++)
        if (fm_store_event_row(a, i)->weight != fm_store_event_row(b, i)->weight)
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_store *store = import(ctx, data, n), *again = import(ctx, data, n);
    check(same(store, again));
    use(ctx, store);
    fm_store_free(store);
    fm_store_free(again);
    fm_ctx_free(ctx);
    return 0;
}
