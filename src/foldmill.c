/*
 * foldmill.c - the facade: import, export, lists and checks of the public header, each a short walk
 * over the floors below.
 *
 *     fm_import:  open input -> probe -> importer -> builder   (once an input, one source each)
 *                 seal -> name frames -> struct fm_store
 *     fm_export:  selection -> filters -> exporter -> sink
 *
 * Damage: an importer that met broken bytes returns what it got, or only counts a finding of
 * severity DAMAGE. Both end as a status that is not FM_OK with a store beside it; the message says
 * where, and how many samples were kept.
 */
#include "foldmill.h"

#include "export/export.h"
#include "format/lookup.h"
#include "format/mapping.h"
#include "import/import.h"
#include "input/tar.h"
#include "query/query.h"
#include "store/build.h"
#include "symbol/symbol.h"
#include "util/error.h"

#include <stdio.h>
#include <sys/stat.h>

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0"
#endif

const char *fm_version(void)
{
    return PACKAGE_VERSION;
}

#ifdef FM_WITH_ISAL
#define GZIP_BY "gzip by ISA-L"
#else
#define GZIP_BY "gzip by zlib"
#endif
#ifdef FM_WITH_LZMA
#define NO_XZ ""
#else
#define NO_XZ ", without xz"
#endif
#ifdef FM_WITH_LZ4
#define NO_LZ4 ""
#else
#define NO_LZ4 ", without lz4"
#endif
#ifdef FM_WITH_BZ2
#define NO_BZIP2 ""
#else
#define NO_BZIP2 ", without bzip2"
#endif

const char *fm_features(void)
{
    return GZIP_BY NO_XZ NO_LZ4 NO_BZIP2;
}

/* ------------------------------------------------------------------ import */

/* The options of a caller compiled against an older, shorter struct. */
static struct fm_import_options import_options(const struct fm_import_options *given)
{
    struct fm_import_options o = FM_INIT(o);

    if (given != NULL)
        memcpy(&o, given, FM_MIN(given->size, sizeof o));
    o.size = sizeof o;
    return o;
}

/* True when the error is about a source of that name, or a file in that folder: a long name stands
 * there as "..." and its tail. */
static bool is_about(const struct fm_error *err, const char *name)
{
    const char *tail = err->source;
    size_t length = strlen(name), n;

    if (strncmp(tail, name, length) == 0 && tail[length] == '/')
        return true;
    if (strncmp(tail, "...", 3) == 0)
        tail += 3;
    n = strlen(tail);
    return n > 0 && length >= n && strcmp(name + length - n, tail) == 0;
}

static uint64_t source_rows(const struct fm_store *store, size_t source)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < fm_store_segments(store); i++)
        if (fm_store_segment_source(store, i) == source)
            rows += fm_store_segment_rows(store, i);
    return rows;
}

/* Adds "; N samples kept" to a message of damage, of an input without samples "; N rows kept". Only
 * the sealed store knows the number. */
static void say_kept(struct fm_error *err, const struct fm_store *store)
{
    struct fm_source_info source;
    uint64_t kept;
    size_t n, s;

    if (err == NULL || err->status == FM_OK)
        return;
    for (s = 0; s < fm_store_sources(store); s++) {
        fm_store_source(store, s, &source);
        if (is_about(err, source.name))
            break;
    }
    if (s == fm_store_sources(store))
        return; /* an input that could not be used at all */
    bool samples = source.samples_in > 0 || source_rows(store, s) == 0;
    kept = samples ? source.samples_kept : source_rows(store, s);
    n = strlen(err->message);
    snprintf(err->message + n, sizeof err->message - n, "; %llu %s%s kept",
             (unsigned long long)kept, samples ? "sample" : "row", kept == 1 ? "" : "s");
}

/* A source whose importer came to its end, but met damage on the way. */
static enum fm_status damage_status(const struct fm_source *source, const char *name,
                                    struct fm_error *err)
{
    uint64_t first = FM_NO_OFFSET;
    int worst = -1;

    for (int i = 0; i < FM_DIAGS; i++) {
        const struct fm_diag_count *row = &source->diags.row[i];

        if (row->count == 0 || fm_diag_severity((enum fm_diag)i) != FM_DAMAGE)
            continue;
        if (worst < 0 || row->first_offset < first) {
            worst = i;
            first = row->first_offset;
        }
    }
    if (worst < 0)
        return FM_OK;
    fm_error_at(err, FM_FORMAT, name, first, "%s (%llu)", fm_diag_text((enum fm_diag)worst),
                (unsigned long long)source->diags.row[worst].count);
    return FM_FORMAT;
}

static enum fm_status import_one(struct fm_ctx *ctx, struct fm_input *input,
                                 const struct fm_import_options *options,
                                 struct fm_builder *builder, bool *usable, struct fm_error *err)
{
    enum fm_status status;
    uint64_t before;

    *usable = false;
    before = fm_builder_rows(builder);
    status = fm_import_input(ctx, input, options, builder, usable, err);
    if (!*usable || status != FM_OK)
        return status;
    status = damage_status(fm_builder_source_row(builder), fm_input_name(input), err);
    if (status != FM_OK && fm_builder_rows(builder) == before)
        *usable = false; /* damage, and not one row beside it */
    return status;
}

/* The folder part of a path, in arena; NULL without one. */
static const char *folder(struct fm_arena *arena, const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;

    if (slash == NULL)
        return path != NULL ? "." : NULL;
    return fm_arena_strn(arena, path, slash == path ? 1 : (size_t)(slash - path));
}

static const char *provenance(const struct fm_store *store, const char *key)
{
    const char *k, *v;

    for (size_t s = 0; s < fm_store_sources(store); s++)
        for (size_t i = 0; fm_store_provenance(store, s, i, &k, &v); i++)
            if (strcmp(k, key) == 0)
                return v;
    return NULL;
}

static enum fm_status name_frames(struct fm_ctx *ctx, struct fm_store *store,
                                  const struct fm_import_options *o, const char *path,
                                  struct fm_error *err)
{
    struct fm_arena arena;
    enum fm_status status = FM_OK;
    struct fm_symbol_options symbol = fm_symbol_options_of(o);

    if (o->no_symbols)
        return FM_OK;
    fm_arena_init(&arena, &ctx->mem);
    symbol.os_release = provenance(store, "kernel");
    symbol.inlines = o->inlines;
    symbol.lines = o->lines;
    symbol.debuginfod = o->debuginfod;
    symbol.input = path;
    symbol.input_dir = folder(&arena, path);
    if (o->demangle != NULL && !fm_demangle_find(o->demangle, &symbol.demangle))
        status = fm_error_set(err, FM_CONFIG,
                              "unknown demangle style '%s': short, full or raw", o->demangle);
    else
        status = fm_symbolize(ctx, store, &symbol, err);
    fm_arena_release(&arena);
    return status;
}

/* Seals what was collected and names its frames; `status` is what the inputs came to. */
static enum fm_status finish_import(struct fm_ctx *ctx, struct fm_builder *builder,
                                    const struct fm_import_options *o, const char *path,
                                    enum fm_status status, struct fm_store **store,
                                    struct fm_error *err)
{
    struct fm_error late = {0};
    enum fm_status sealed;

    sealed = fm_builder_seal(builder, o->clock_offset, store, &late);
    if (sealed == FM_OK)
        sealed = name_frames(ctx, *store, o, path, &late);
    if (sealed == FM_OK) {
        say_kept(err, *store);
        return status;
    }
    fm_store_free(*store);
    *store = NULL;
    if (err != NULL)
        *err = late; /* it outranks damage: there is no store */
    return sealed;
}

static bool hopeless(enum fm_status status)
{
    return status == FM_NOMEM || status == FM_CANCELLED || status == FM_CONFIG;
}

/* Reads the inputs into one store. */
static enum fm_status import_all(struct fm_ctx *ctx, const char *const *path, size_t n,
                                 const struct fm_import_options *o, struct fm_store **store,
                                 struct fm_error *err)
{
    struct fm_builder *builder = NULL;
    enum fm_status status, first = FM_OK;
    size_t good = 0;

    *store = NULL;
    status = fm_builder_new(ctx, &builder, err);
    if (status != FM_OK)
        return status;
    for (size_t i = 0; i < n; i++) {
        struct fm_input *input = NULL;
        bool usable = false;

        status = fm_input_open_named(ctx, path[i], &input, err);
        if (status == FM_OK)
            status = import_one(ctx, input, o, builder, &usable, err);
        fm_input_free(input);
        good += usable;
        if (first == FM_OK)
            first = status;
        if (hopeless(status))
            break;
    }
    if (hopeless(status) || good == 0) {
        fm_builder_free(builder);
        return hopeless(status) ? status : first;
    }
    return finish_import(ctx, builder, o, path[0], first, store, err);
}

/* Whether an input can be read but once, or the events are not left to the mappings. */
static bool wants_all(const struct fm_import_options *o, const char *const *path, size_t n)
{
    struct stat file;

    if (o->events == NULL || strcmp(o->events, "auto") != 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(path[i], "-") == 0 || stat(path[i], &file) != 0 || !S_ISREG(file.st_mode))
            return true;
    return false;
}

enum fm_status fm_import(struct fm_ctx *ctx, const char *const *path, size_t n,
                         const struct fm_import_options *options, struct fm_store **store,
                         struct fm_error *err)
{
    struct fm_import_options o = import_options(options);
    struct fm_error none = {0};
    enum fm_status status;
    uint32_t event;

    *store = NULL;
    if (n == 0)
        return fm_error_set(err, FM_CONFIG, "no input");
    if (wants_all(&o, path, n))
        o.events = NULL;
    if (o.events == NULL || strcmp(o.events, "auto") != 0)
        return import_all(ctx, path, n, &o, store, err);
    status = import_all(ctx, path, n, &o, store, err != NULL ? err : &none);
    if (*store == NULL || !fm_store_left_out(*store))
        return status;
    event = fm_store_event_auto(*store);
    if (event != FM_NONE && fm_store_event_row(*store, event)->default_rank >= 0)
        return status;
    fm_store_free(*store);     /* none of the preferred ones is there: any may be the most */
    if (err != NULL)
        fm_error_clear(err);
    o.events = NULL;
    return import_all(ctx, path, n, &o, store, err);
}

enum fm_status fm_import_memory(struct fm_ctx *ctx, const struct fm_memory *memory,
                                const struct fm_import_options *options, struct fm_store **store,
                                struct fm_error *err)
{
    struct fm_import_options o = import_options(options);
    struct fm_builder *builder = NULL;
    struct fm_input *input = NULL;
    enum fm_status status;
    bool usable = false;

    *store = NULL;
    if (o.events != NULL && strcmp(o.events, "auto") == 0)
        o.events = NULL;
    status = fm_builder_new(ctx, &builder, err);
    if (status != FM_OK)
        return status;
    status = fm_input_open_memory(ctx, memory->data, memory->size, memory->name, &input, err);
    if (status == FM_OK)
        status = import_one(ctx, input, &o, builder, &usable, err);
    fm_input_free(input);
    if (hopeless(status) || !usable) {
        fm_builder_free(builder);
        return status;
    }
    return finish_import(ctx, builder, &o, NULL, status, store, err);
}

/* ------------------------------------------------------------------ export */

/* For exporters that sum nothing: events of different units may stand side by side, and the
 * mapping's frames around the stacks are columns already. */
static void as_they_are(struct fm_select_options *select)
{
    if (select->weight == NULL)
        select->weight = "samples";
    if (select->prepend == NULL)
        select->prepend = "none";
    if (select->append == NULL)
        select->append = "none";
}

/* The rows that options choose, and their sums. Not FM_OK: there is nothing to release. */
static enum fm_status select_rows(struct fm_ctx *ctx, struct fm_store *store,
                                  const struct fm_select_options *options,
                                  struct fm_selection *sel, struct fm_error *err)
{
    enum fm_status status = fm_selection_init(sel, store, options, err);

    if (status != FM_OK)
        return status;
    status = fm_query_filter(ctx, sel, options, err);
    if (status == FM_OK)
        status = fm_selection_sum(sel, err);
    if (status != FM_OK)
        fm_selection_release(sel);
    return status;
}

/* The event that the selected one is compared with, or NULL: the mapping says so of one event. */
static const char *own_base(const struct fm_selection *sel)
{
    fm_str name = FM_NONE;
    size_t n = fm_store_events(sel->store);

    for (size_t i = 0; i < n; i++) {
        if (!sel->event[i])
            continue;
        if (name != FM_NONE && name != fm_store_event_row(sel->store, i)->name)
            return NULL;
        name = fm_store_event_row(sel->store, i)->name;
    }
    for (size_t i = 0; i < n; i++) {
        const struct fm_event *e = fm_store_event_row(sel->store, i);

        if (e->base_of != 0 && e->base_of == name && e->rows > 0)
            return fm_store_str(sel->store, e->name, NULL);
    }
    return NULL;
}

/* The caller's options, or the defaults, in structs of this version. */
static void export_options(const struct fm_select_options *select,
                           const struct fm_export_options *options,
                           struct fm_select_options *own_select,
                           struct fm_export_options *own)
{
    *own = (struct fm_export_options)FM_INIT(*own);
    *own_select = (struct fm_select_options)FM_INIT(*own_select);
    if (options != NULL)
        memcpy(own, options, FM_MIN(options->size, sizeof *own));
    own->size = sizeof *own;
    if (select != NULL)
        memcpy(own_select, select, FM_MIN(select->size, sizeof *own_select));
    own_select->size = sizeof *own_select;
}

/* Counters are values at times: nothing that a sum over stacks, or a picture of one, could show. */
static enum fm_status check_stacks(const struct fm_selection *sel,
                                   const struct fm_select_options *select, struct fm_error *err)
{
    bool any = false;

    if (select->weight != NULL && strcmp(select->weight, "value") != 0)
        return FM_OK;
    for (size_t i = 0; i < fm_store_events(sel->store); i++) {
        if (sel->event[i] && fm_store_event_row(sel->store, i)->kind != FM_KIND_COUNTER)
            return FM_OK;
        any |= sel->event[i];
    }
    if (!any)
        return FM_OK;
    return fm_error_set(err, FM_CONFIG, "'%s' is a counter, values at times without stacks: choose "
                        "another event, write rows.tsv, or ask the query gpu-counters",
                        fm_store_str(sel->store, sel->event_name, NULL));
}

enum fm_status fm_export(struct fm_ctx *ctx, struct fm_store *store, const char *name,
                         const struct fm_select_options *select,
                         const struct fm_export_options *options, const struct fm_sink *sink,
                         struct fm_error *err)
{
    const struct fm_exporter *exporter = fm_exporter_find(name);
    struct fm_select_options own;
    struct fm_export_options o;
    struct fm_selection sel, base;
    enum fm_status status;

    if (exporter == NULL)
        return fm_error_set(err, FM_CONFIG, "unknown exporter '%s'", name);
    export_options(select, options, &own, &o);
    if (exporter->raw)
        as_they_are(&own);
    status = select_rows(ctx, store, &own, &sel, err);
    if (status == FM_OK && !exporter->raw) {
        status = check_stacks(&sel, &own, err);
        if (status != FM_OK)
            fm_selection_release(&sel);
    }
    if (status != FM_OK)
        return status;
    own.event = exporter->pair == FM_PAIR_ALWAYS ? own_base(&sel) : NULL;
    if (own.event == NULL) {
        status = fm_export_run(ctx, &sel, exporter, &o, sink, err);
    } else {
        status = select_rows(ctx, store, &own, &base, err);
        if (status == FM_OK) {
            status = fm_export_run_diff(ctx, &sel, &base, "none", exporter, &o, sink, err);
            fm_selection_release(&base);
        }
    }
    fm_selection_release(&sel);
    return status;
}

/* Whether --time narrows what `normalize: time` would compare. */
static bool has_time_filter(const struct fm_select_options *select)
{
    for (size_t i = 0; i < select->filters; i++)
        if (strncmp(select->filter[i], "time=", 5) == 0)
            return true;
    return false;
}

static enum fm_status check_alike(const struct fm_selection *sel, const struct fm_selection *base,
                                  const struct fm_select_options *select,
                                  const struct fm_export_options *options, struct fm_error *err)
{
    const char *new = fm_store_str(sel->store, sel->event_name, NULL);
    const char *old = fm_store_str(base->store, base->event_name, NULL);

    if (strcmp(new, old) != 0)
        return fm_error_set(err, FM_CONFIG, "the base counts '%s' and the new profile '%s': choose "
                            "one event for both", old, new);
    if (options->normalize != NULL && strcmp(options->normalize, "time") == 0 &&
        has_time_filter(select))
        return fm_error_set(err, FM_CONFIG, "a picture is scaled by the time of whole recordings, "
                            "not of a part of them");
    return FM_OK;
}

enum fm_status fm_export_diff(struct fm_ctx *ctx, struct fm_store *base, struct fm_store *store,
                              const char *name, const struct fm_select_options *select,
                              const struct fm_export_options *options, const struct fm_sink *sink,
                              struct fm_error *err)
{
    const struct fm_exporter *exporter = fm_exporter_find(name);
    struct fm_select_options own;
    struct fm_export_options o;
    struct fm_selection sel, old;
    enum fm_status status;

    if (exporter == NULL)
        return fm_error_set(err, FM_CONFIG, "unknown exporter '%s'", name);
    export_options(select, options, &own, &o);
    status = select_rows(ctx, store, &own, &sel, err);
    if (status != FM_OK)
        return status;
    status = select_rows(ctx, base, &own, &old, err);
    if (status == FM_OK) {
        status = check_alike(&sel, &old, &own, &o, err);
        if (status == FM_OK)
            status = fm_export_run_diff(ctx, &sel, &old, exporter->folded ? "none" : "total",
                                        exporter, &o, sink, err);
        fm_selection_release(&old);
    }
    fm_selection_release(&sel);
    return status;
}

const char *fm_export_needs(const char *name)
{
    const struct fm_exporter *exporter = fm_exporter_find(name);

    return exporter != NULL && exporter->needs != NULL ? exporter->needs : "";
}

const char *fm_export_events(const char *name)
{
    const struct fm_exporter *exporter = fm_exporter_find(name);

    return exporter != NULL && exporter->events != NULL ? exporter->events : "";
}

const char *fm_export_for_path(const char *path)
{
    const struct fm_exporter *exporter = fm_exporter_for_path(path);

    return exporter != NULL ? exporter->name : NULL;
}
