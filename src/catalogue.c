/*
 * catalogue.c - the facade's lists (formats, queries, exporters) and checks of YAML files.
 *
 * Entries are collected into one array, sorted by name, then handed out: an importer and a
 * formats/NAME.yaml of the same name are one entry, and the importer's summary wins.
 */
#include "foldmill.h"

#include "export/export.h"
#include "format/lookup.h"
#include "format/mapping.h"
#include "import/import.h"
#include "query/query.h"
#include "util/error.h"
#include "util/out.h"
#include "util/yaml.h"

#include <stdlib.h>

struct entry {
    const char *name, *about;
};

struct catalogue {
    struct fm_ctx *ctx;
    struct fm_arena arena;
    struct entry *entry;
    size_t n, cap;
    enum fm_catalogue what;
    bool nomem;
};

static bool has_entry(const struct catalogue *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->entry[i].name, name) == 0)
            return true;
    return false;
}

static void add(struct catalogue *c, const char *name, const char *about)
{
    if (name == NULL || about == NULL ||
        !fm_grow(&c->ctx->mem, (void **)&c->entry, &c->cap, c->n + 1, sizeof *c->entry)) {
        c->nomem = true;
        return;
    }
    if (!has_entry(c, name))
        c->entry[c->n++] = (struct entry){name, about};
}

static const char *scalar(const struct fm_yaml_node *document, const char *key)
{
    const struct fm_yaml_node *node =
        document->type == FM_YAML_MAP ? fm_yaml_get(document, key) : NULL;

    return node != NULL && node->type == FM_YAML_SCALAR ? node->text : NULL;
}

/* A format file gives events their meaning; an importer must cut the bytes into events. */
static bool has_reader(const struct fm_yaml_node *document)
{
    const char *container = scalar(document, "container");

    return container != NULL && fm_importer_find(container) != NULL;
}

/* One YAML file: an entry a document. "FILE" when it holds one, else "FILE#NAME". A file that does
 * not parse is listed as such: `foldmill check` says why. */
static bool add_file(void *user, const char *name, const char *path)
{
    struct catalogue *c = user;
    struct fm_yaml_file *file = NULL;
    struct fm_yaml_log log;
    struct fm_error err = {0};

    fm_yaml_log_init(&log, &c->arena);
    if (fm_yaml_load(&c->arena, path, &file, &log, &err) != FM_OK) {
        add(c, fm_arena_str(&c->arena, name), "(not valid: see foldmill check)");
        return true;
    }
    for (size_t i = 0; i < file->documents; i++) {
        const char *about = scalar(file->document[i], "about");
        const char *inner = scalar(file->document[i], "name");
        const char *full = file->documents == 1 || inner == NULL
                               ? fm_arena_str(&c->arena, name)
                               : fm_arena_printf(&c->arena, "%s#%s", name, inner);

        about = about != NULL ? about : "";
        if (c->what == FM_LIST_FORMATS && !has_reader(file->document[i]))
            about = fm_arena_printf(&c->arena, "%s (no reader in this version)", about);
        add(c, full, about);
    }
    return true;
}

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static enum fm_status collect(struct catalogue *c, struct fm_error *err)
{
    const struct fm_importer *importer;
    const struct fm_exporter *exporter;

    switch (c->what) {
    case FM_LIST_FORMATS:
        for (size_t i = 0; (importer = fm_importer_at(i)) != NULL; i++)
            add(c, importer->name, importer->summary);
        return fm_lookup_list(c->ctx, "formats", add_file, c, err);
    case FM_LIST_QUERIES:
        return fm_lookup_list(c->ctx, "queries", add_file, c, err);
    case FM_LIST_EXPORTERS:
        for (size_t i = 0; (exporter = fm_exporter_at(i)) != NULL; i++)
            add(c, exporter->name, exporter->summary);
        break;
    }
    return FM_OK;
}

enum fm_status fm_list(struct fm_ctx *ctx, enum fm_catalogue what,
                       bool (*fn)(void *user, const char *name, const char *about), void *user,
                       struct fm_error *err)
{
    struct catalogue c = {.ctx = ctx, .what = what};
    enum fm_status status;

    fm_arena_init(&c.arena, &ctx->mem);
    status = collect(&c, err);
    if (status == FM_OK && (c.nomem || c.arena.oom))
        status = fm_error_nomem(err);
    if (status == FM_OK && c.n > 0) {
        qsort(c.entry, c.n, sizeof *c.entry, by_name);
        for (size_t i = 0; i < c.n; i++)
            if (!fn(user, c.entry[i].name, c.entry[i].about))
                break;
    }
    fm_mem_free(&ctx->mem, c.entry, c.cap * sizeof *c.entry);
    fm_arena_release(&c.arena);
    return status;
}

/* ------------------------------------------------------------------- check */

typedef enum fm_status check_fn(struct fm_ctx *ctx, const char *path, struct fm_out *out,
                                struct fm_error *err);

/* Who checks a file: its first document says what it is. */
static enum fm_status find_checker(struct fm_ctx *ctx, const char *path, check_fn **check,
                                   struct fm_error *err)
{
    struct fm_arena arena;
    struct fm_yaml_file *file = NULL;
    struct fm_yaml_log log;
    struct fm_error ignored = {0};
    enum fm_status status;

    fm_arena_init(&arena, &ctx->mem);
    fm_yaml_log_init(&log, &arena);
    status = fm_yaml_load(&arena, path, &file, &log, &ignored);
    *check = fm_mapping_check;
    if (status == FM_OK && file->documents > 0) {
        if (fm_yaml_get(file->document[0], "foldmill-query") != NULL)
            *check = fm_query_check;
        else if (fm_yaml_get(file->document[0], "foldmill-categories") != NULL)
            *check = fm_categories_check;
    }
    if (status == FM_CONFIG)
        status = FM_OK; /* the checker itself reports it, with the excerpt */
    else if (status != FM_OK && err != NULL)
        *err = ignored;
    fm_arena_release(&arena);
    return status;
}

enum fm_status fm_check(struct fm_ctx *ctx, const char *path, const char *against,
                        const struct fm_sink *sink, struct fm_error *err)
{
    struct fm_out out;
    enum fm_status status;
    check_fn *check;

    status = find_checker(ctx, path, &check, err);
    if (status != FM_OK)
        return status;
    if (check != fm_mapping_check && against != NULL)
        return fm_error_set(err, FM_CONFIG, "'%s' is %s: only a format file can be checked "
                            "against an input", path,
                            check == fm_query_check ? "a query" : "a dictionary of categories");
    if (fm_out_init(&out, &ctx->mem, sink) != FM_OK)
        return fm_error_nomem(err);
    status = check(ctx, path, &out, err);
    if (status == FM_OK && against != NULL)
        status = fm_import_report(ctx, path, against, &out, err);
    if (status == FM_OK)
        status = fm_out_finish(&out, err);
    else
        (void)fm_out_finish(&out, NULL);
    fm_out_release(&out);
    return status;
}
