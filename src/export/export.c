/*
 * export.c - the table of exporters, their settings, and the shapes they ask for.
 *
 *     selection --TREE--> call tree --> exporter --> writer --> sink
 *               --ROWS, TIMELINE------> exporter (scans, or fm_timeline_make())
 *
 * Nothing is written before the options are checked and the shape is made, so that a refusal
 * leaves no half file behind.
 */
#include "export/export.h"

#include "util/error.h"
#include "util/text.h"

/* One line a format, in name order. */
#define EXPORTERS(X) \
    X(folded)      \
    X(html)        \
    X(perf_script) \
    X(rows_csv)    \
    X(rows_jsonl)  \
    X(rows_tsv)    \
    X(speedscope)  \
    X(svg)

#define DECLARE(name) extern const struct fm_exporter fm_exporter_##name;
EXPORTERS(DECLARE)
#define ROW(name) &fm_exporter_##name,
static const struct fm_exporter *const table[] = {EXPORTERS(ROW)};

const struct fm_exporter *fm_exporter_at(size_t i)
{
    return i < FM_COUNT(table) ? table[i] : NULL;
}

const struct fm_exporter *fm_exporter_find(const char *name)
{
    size_t i;
    for (i = 0; i < FM_COUNT(table); i++) {
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    }
    return NULL;
}

const struct fm_exporter *fm_exporter_for_path(const char *path)
{
    size_t i, n = strlen(path), best = 0;
    const struct fm_exporter *found = NULL;
    for (i = 0; i < FM_COUNT(table); i++) {
        const char *ext = table[i]->extension;
        while (*ext != '\0') {
            size_t len = strcspn(ext, ",");
            if (len > best && len < n && memcmp(path + n - len, ext, len) == 0) {
                best = len;
                found = table[i];
            }
            ext += len;
            ext += *ext == ',';
        }
    }
    return found;
}

/* -------------------------------------------------------------- settings */

/* The value in "key=value" when its key is `key`; "yes" for a bare key; else NULL. */
static const char *value_of(const char *set, const char *key)
{
    size_t n = strlen(key);
    if (strncmp(set, key, n) != 0)
        return NULL;
    if (set[n] == '\0')
        return "yes";
    return set[n] == '=' ? set + n + 1 : NULL;
}

const char *fm_export_setting(const struct fm_export *export, const char *key)
{
    const struct fm_export_options *options = export->options;
    size_t i;
    for (i = options->sets; i-- > 0;) {
        const char *value = value_of(options->set[i], key);
        if (value != NULL)
            return value;
    }
    return NULL;
}

enum fm_status fm_export_setting_f64(const struct fm_export *export, const char *key, double min,
                                     double max, double *value, struct fm_error *err)
{
    const char *text = fm_export_setting(export, key);
    double v;
    if (text == NULL)
        return FM_OK;
    if (!fm_text_f64(text, strlen(text), &v) || !(v >= min && v <= max))
        return fm_error_set(err, FM_CONFIG, "setting %s: '%s' is no number from %g to %g", key,
                            text, min, max);
    *value = v;
    return FM_OK;
}

enum fm_status fm_export_setting_bool(const struct fm_export *export, const char *key,
                                      bool *value, struct fm_error *err)
{
    const char *text = fm_export_setting(export, key);
    if (text == NULL)
        return FM_OK;
    if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        return fm_error_set(err, FM_CONFIG, "setting %s: '%s' is neither yes nor no", key, text);
    *value = text[0] == 'y';
    return FM_OK;
}

enum fm_status fm_export_setting_file(const char *key, const char *path, enum fm_status status,
                                      struct fm_error *err)
{
    if (status != FM_IO && status != FM_LIMIT)
        return status;
    int why = err != NULL ? err->sys_errno : 0;
    if (err != NULL)
        *err = (struct fm_error){0};
    if (why != 0)
        return fm_error_set(err, FM_CONFIG, "setting %s: cannot read '%s': %s", key, path,
                            strerror(why));
    return fm_error_set(err, FM_CONFIG, "setting %s: cannot read '%s'", key, path);
}

static enum fm_status check_settings(const struct fm_exporter *exporter,
                                     const struct fm_export_options *options,
                                     struct fm_error *err)
{
    const char *known[64];
    const char *near;
    char key[64];
    size_t i, k, n = 0;
    for (k = 0; exporter->setting != NULL && exporter->setting[k].key != NULL; k++) {
        fm_assert(n < FM_COUNT(known));
        known[n++] = exporter->setting[k].key;
    }
    for (i = 0; i < options->sets; i++) {
        for (k = 0; k < n && value_of(options->set[i], known[k]) == NULL; k++)
            ;
        if (k < n)
            continue;
        k = FM_MIN(strcspn(options->set[i], "="), sizeof key - 1);
        memcpy(key, options->set[i], k);
        key[k] = '\0';
        near = n > 0 ? fm_text_nearest(key, known, n) : NULL;
        if (near != NULL)
            return fm_error_set(err, FM_CONFIG,
                                "exporter '%s' has no setting '%s' (did you mean '%s'?)",
                                exporter->name, key, near);
        return fm_error_set(err, FM_CONFIG, "exporter '%s' has no setting '%s'", exporter->name,
                            key);
    }
    return FM_OK;
}

static enum fm_status choose_names(const struct fm_export_options *options,
                                   struct fm_names *names, struct fm_error *err)
{
    memset(names, 0, sizeof *names);
    names->style = FM_NAMES_FOLDMILL;
    names->annotate = options->annotate;
    names->dot = options->dot;
    names->simple = options->simple;
    names->norm = options->norm;
    names->lines = options->lines;
    return options->names != NULL ? fm_names_parse(names, options->names, err) : FM_OK;
}

/* ------------------------------------------------------------------- run */

/* "perf.data: cpu-clock", or with several sources "perf.data and 2 more: cpu-clock". */
static const char *make_title(struct fm_arena *arena, const struct fm_selection *sel)
{
    size_t sources = fm_store_sources(sel->store);
    const char *event = fm_store_str(sel->store, sel->event_name, NULL);
    const char *name, *slash;
    if (sources == 0)
        return fm_arena_str(arena, event);
    name = fm_store_str(sel->store, fm_store_source_row(sel->store, 0)->name, NULL);
    slash = strrchr(name, '/');
    if (slash != NULL && slash[1] != '\0')
        name = slash + 1;
    if (sources > 1)
        return fm_arena_printf(arena, "%s and %zu more: %s", name, sources - 1, event);
    return fm_arena_printf(arena, "%s: %s", name, event);
}

/* "old.folded to new.folded: cycles": the second title is that of the new profile. */
static const char *make_diff_title(struct fm_arena *arena, const struct fm_selection *base,
                                   const char *title)
{
    const char *name = fm_store_sources(base->store) > 0
                           ? fm_store_str(base->store, fm_store_source_row(base->store, 0)->name,
                                          NULL)
                           : "nothing";
    const char *slash = strrchr(name, '/');
    if (slash != NULL && slash[1] != '\0')
        name = slash + 1;
    return fm_arena_printf(arena, "%s to %s", name, title);
}

static enum fm_status make_tree(struct fm_export *export, const struct fm_names *names,
                                const struct fm_scaling *scaling, struct fm_calltree *tree,
                                struct fm_error *err)
{
    struct fm_calltree base;
    enum fm_status status = fm_calltree_make(tree, export->sel, names, err);
    if (status != FM_OK || export->base == NULL)
        return status;
    status = fm_calltree_make(&base, export->base, names, err);
    if (status == FM_OK) {
        status = fm_calltree_against(tree, export->sel->store, &base, export->base->store, err);
        fm_calltree_release(&base);
    }
    tree->scaling = *scaling;
    if (status != FM_OK)
        fm_calltree_release(tree);
    return status;
}

static enum fm_status run(struct fm_export *export, const struct fm_exporter *exporter,
                          const struct fm_scaling *scaling, const struct fm_sink *sink,
                          struct fm_error *err)
{
    struct fm_calltree tree;
    struct fm_out out;
    struct fm_names names = export->names;
    enum fm_status status;
    bool drawn = exporter->shape == FM_SHAPE_TREE;
    names.folded = exporter->folded;
    names.annotate = names.annotate || exporter->kinds;
    if (drawn) {
        status = make_tree(export, &names, scaling, &tree, err);
        if (status != FM_OK)
            return status;
        export->tree = &tree;
    }
    status = fm_out_init(&out, &export->ctx->mem, sink);
    if (status != FM_OK) {
        fm_error_nomem(err);
    } else {
        export->out = &out;
        status = exporter->write(export, err);
        if (status == FM_OK)
            status = fm_out_finish(&out, err);
        fm_out_release(&out);
    }
    if (drawn)
        fm_calltree_release(&tree);
    return status;
}

enum fm_status fm_export_run(struct fm_ctx *ctx, const struct fm_selection *sel,
                             const struct fm_exporter *exporter,
                             const struct fm_export_options *options,
                             const struct fm_sink *sink, struct fm_error *err)
{
    return fm_export_run_diff(ctx, sel, NULL, "none", exporter, options, sink, err);
}

enum fm_status fm_export_run_diff(struct fm_ctx *ctx, const struct fm_selection *sel,
                                  const struct fm_selection *base, const char *scale,
                                  const struct fm_exporter *exporter,
                                  const struct fm_export_options *options,
                                  const struct fm_sink *sink, struct fm_error *err)
{
    const struct fm_export_options none = FM_INIT(none);
    struct fm_export export = {.ctx = ctx, .sel = sel, .base = base};
    struct fm_scaling scaling = {1, 1, 1};
    struct fm_arena arena;
    enum fm_status status;
    export.options = options != NULL ? options : &none;
    if (base != NULL && exporter->pair == FM_PAIR_NONE)
        return fm_error_set(err, FM_CONFIG, "output format '%s' holds one profile, and no "
                            "difference of two", exporter->name);
    status = check_settings(exporter, export.options, err);
    if (status == FM_OK)
        status = choose_names(export.options, &export.names, err);
    if (export.options->normalize != NULL)
        scale = export.options->normalize;
    if (status == FM_OK && base != NULL)
        status = fm_scaling_find(&scaling, sel, base, scale, err);
    if (status != FM_OK)
        return status;
    fm_arena_init(&arena, &ctx->mem);
    export.title = export.options->title;
    if (export.title == NULL) {
        export.title = make_title(&arena, sel);
        if (export.title != NULL && base != NULL && base->store != sel->store)
            export.title = make_diff_title(&arena, base, export.title);
    }
    if (export.title == NULL)
        status = fm_error_nomem(err);
    else
        status = run(&export, exporter, &scaling, sink, err);
    fm_arena_release(&arena);
    return status;
}
