/*
 * fuzz_iaprof.c - fuzz target: bytes through the iaprof importer, the store, and the exporters that
 * escape names. The store must verify; the folded sum must be the selection's.
 */
#include "export/export.h"
#include "import/import.h"

#include <stdlib.h>

extern const char fuzz_name[];
const char fuzz_name[] = "iaprof";

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

static void use(struct fm_ctx *ctx, struct fm_store *store)
{
    static const char *const exporter[] = {"folded", "svg", "speedscope"};
    struct fm_sink sink = {swallow, NULL};
    const struct fm_names names = {.annotate = true, .folded = true};
    struct fm_selection sel;
    struct fm_calltree tree;
    size_t i;
    check(fm_store_verify(store, NULL) == FM_OK);
    check(fm_selection_init(&sel, store, NULL, NULL) == FM_OK);
    check(fm_calltree_make(&tree, &sel, &names, NULL) == FM_OK);
    check(tree.node[0].total == sel.weight);
    fm_calltree_release(&tree);
    for (i = 0; i < FM_COUNT(exporter); i++)
        check(fm_export_run(ctx, &sel, fm_exporter_find(exporter[i]), NULL, &sink, NULL) ==
              FM_OK);
    fm_selection_release(&sel);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_input *input = NULL;
    struct fm_builder *builder = NULL;
    struct fm_store *store = NULL;
    bool usable;
    options.format = "iaprof";
    check(fm_input_open_memory(ctx, data, n, "fuzz", &input, NULL) == FM_OK);
    check(fm_builder_new(ctx, &builder, NULL) == FM_OK);
    fm_import_input(ctx, input, &options, builder, &usable, NULL);
    fm_input_free(input);
    check(fm_builder_seal(builder, NULL, &store, NULL) == FM_OK);
    use(ctx, store);
    fm_store_free(store);
    fm_ctx_free(ctx);
    return 0;
}
