/*
 * check.c - `foldmill check formats/NAME.yaml`: all errors of a file, or what it maps.
 */
#include "format/rules.h"

#include "util/error.h"
#include "util/out.h"

static void describe(const struct fm_mapping *m, struct fm_out *out)
{
    size_t labels = 0, links = 0;
    for (size_t i = 0; i < m->rules; i++) {
        labels += m->rule[i].labels;
        links += m->rule[i].links;
    }
    fm_out_printf(out, "%s: format '%s', container '%s': %zu rules, %zu labels, %zu links",
                  m->file->name, m->name, m->container, m->rules, labels, links);
    if (m->spec.kind != FM_CONTAINER_NONE)
        fm_out_printf(out, ", %zu fields", m->spec.fields);
    fm_out_text(out, ": valid\n");
}

enum fm_status fm_mapping_check(struct fm_ctx *ctx, const char *path, struct fm_out *out,
                                struct fm_error *err)
{
    struct fm_arena arena;
    struct fm_yaml_log log;
    struct fm_mapping *m;
    fm_arena_init(&arena, &ctx->mem);
    fm_yaml_log_init(&log, &arena);
    enum fm_status status = fm_mapping_load_file(ctx, path, &m, &log, err);
    fm_out_text(out, log.text);
    if (status == FM_OK)
        describe(m, out);
    fm_mapping_free(m);
    fm_arena_release(&arena);
    return status;
}
