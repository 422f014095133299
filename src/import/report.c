/*
 * report.c - `foldmill check FILE.yaml --against INPUT`: imports an input with that mapping and
 * says
 * which field of which class reached which column. The rows themselves are thrown away.
 */
#include "import/import.h"

#include "util/error.h"

static enum fm_status import_with(struct fm_ctx *ctx, const struct fm_importer *importer,
                                  const struct fm_mapping *mapping, struct fm_input *input,
                                  struct fm_error *err)
{
    const struct fm_import_options options = {.size = sizeof options, .keep = "all"};
    struct fm_import import = {
        .ctx = ctx, .input = input, .mapping = mapping, .options = &options};
    enum fm_status status;

    if (importer->seek && !fm_input_is_dir(input)) {
        status = fm_input_seekable(input, err);
        if (status != FM_OK)
            return status;
    }
    status = fm_builder_new(ctx, &import.builder, err);
    if (status != FM_OK)
        return status;
    fm_builder_source(import.builder, fm_input_name(input), importer->name);
    status = importer->import(&import, err);
    if (fm_builder_status(import.builder) == FM_NOMEM)
        status = fm_error_nomem(err);
    fm_builder_free(import.builder);
    return status;
}

enum fm_status fm_import_report(struct fm_ctx *ctx, const char *mapping_path,
                                const char *input_path, struct fm_out *out,
                                struct fm_error *err)
{
    const struct fm_importer *importer;
    struct fm_mapping *mapping = NULL;
    struct fm_input *input = NULL;
    struct fm_arena arena;
    struct fm_yaml_log log;
    enum fm_status status;

    fm_arena_init(&arena, &ctx->mem);
    fm_yaml_log_init(&log, &arena);
    status = fm_mapping_load_file(ctx, mapping_path, &mapping, &log, err);
    if (status != FM_OK)
        goto out;
    importer = fm_importer_find(fm_mapping_container(mapping));
    if (importer == NULL) {
        status = fm_error_set(err, FM_UNKNOWN, "no importer for container '%s'",
                              fm_mapping_container(mapping));
        goto out;
    }
    fm_mapping_set_report(mapping, out);
    status = fm_input_open(ctx, input_path, &input, err);
    if (status == FM_OK)
        status = import_with(ctx, importer, mapping, input, err);
out:
    fm_input_free(input);
    fm_mapping_free(mapping);
    fm_arena_release(&arena);
    return status;
}
