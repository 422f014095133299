/*
 * import.c - the table of importers, probing, and the driver for one input.
 *
 * Every probe sees the head of the decoded input and answers with verified bits of evidence; a
 * fitting file name extension adds one. The most bits win. A tie is reported with the rivals'
 * names and decided by nobody: `--from` does. Formats of generic containers (text, csv, json,
 * jsonl, records) are no rows of the table: they are files of the data path, and their `detect` is
 * the probe.
 */
#include "import/import.h"

#include "format/lookup.h"
#include "import/text/generic.h"
#include "util/error.h"
#include "util/text.h"

/* One line a format, in name order. */
#define IMPORTERS(X) \
    X(chrome) X(folded) X(i915_perf_record) X(iaprof) X(jfr) X(perf) X(trace_dat) \
    X(xe_perf_record)

#define DECLARE(name) extern const struct fm_importer fm_importer_##name;
IMPORTERS(DECLARE)
#define ROW(name) &fm_importer_##name,
static const struct fm_importer *const table[] = {IMPORTERS(ROW)};

const struct fm_importer *fm_importer_at(size_t i)
{
    return i < FM_COUNT(table) ? table[i] : NULL;
}

/* Reads what a format file of a generic container describes; not in the table, see above. */
static const struct fm_importer generic = {
    .name = "generic", .summary = "formats described by their file", .import = fm_generic_import,
};

static bool is_generic(const char *container)
{
    size_t keys;
    return fm_container_keys(container, &keys) != NULL;
}

const struct fm_importer *fm_importer_find(const char *name)
{
    size_t i;
    for (i = 0; i < FM_COUNT(table); i++) {
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    }
    return is_generic(name) ? &generic : NULL;
}

/* What reads an input: an importer, and its mapping where the choice has loaded it already. */
struct choice {
    const struct fm_importer *importer;
    struct fm_mapping *mapping;
    const char *name;          /* of the format */
    const char *layout;        /* "NAME:LAYOUT", or NULL */
    unsigned bits;
    bool tie;
    char rival[64];
};

/* --------------------------------------------------------------- probing */

/* Whether `name` ends in ".EXT", or in ".EXT.gz" and the like. */
static bool has_extension(const char *name, const char *ext, size_t n)
{
    static const char *const packed[] = {".gz", ".zst", ".xz", ".lz4", ".bz2"};
    size_t len = strlen(name), i;
    for (i = 0; i < FM_COUNT(packed); i++) {
        size_t p = strlen(packed[i]);
        if (len > p && strcmp(name + len - p, packed[i]) == 0) {
            len -= p;
            break;
        }
    }
    return len > n + 1 && name[len - n - 1] == '.' && memcmp(name + len - n, ext, n) == 0;
}

static unsigned extension_bit(const struct fm_importer *importer, const char *name)
{
    const char *ext = importer->extensions;
    while (ext != NULL && *ext != '\0') {
        size_t n = strcspn(ext, ",");
        if (n > 0 && has_extension(name, ext, n))
            return 1;
        ext += n;
        ext += *ext == ',';
    }
    return 0;
}

static enum fm_status unknown_format(const char *name, struct fm_error *err)
{
    const char *known[FM_COUNT(table)];
    const char *near;
    size_t i;
    for (i = 0; i < FM_COUNT(table); i++)
        known[i] = table[i]->name;
    near = fm_text_nearest(name, known, FM_COUNT(table));
    if (near != NULL)
        return fm_error_set(err, FM_CONFIG, "no format '%s' (did you mean '%s'?)", name, near);
    return fm_error_set(err, FM_CONFIG, "no format '%s'", name);
}

/* Takes a candidate: true when it is the best so far. */
static bool better(struct choice *best, const char *name, unsigned bits)
{
    size_t n = strlen(name);
    if (bits == 0 || bits < best->bits)
        return false;
    if (bits == best->bits) {
        best->tie = true;
        n = FM_MIN(n, sizeof best->rival - 1);
        memcpy(best->rival, name, n);
        best->rival[n] = '\0';
        return false;
    }
    best->bits = bits;
    best->tie = false;
    return true;
}

struct head {
    struct fm_ctx *ctx;
    const unsigned char *data;
    size_t n;
    bool whole;
    struct choice *best;
};

/* A format file: its evidence, when it has any. Files that are wrong are nobody's rivals. */
static bool probe_file(void *user, const char *name, const char *path)
{
    struct head *h = user;
    struct fm_arena arena;
    struct fm_yaml_log log;
    struct fm_mapping *m;
    (void)name;
    fm_arena_init(&arena, &h->ctx->mem);
    fm_yaml_log_init(&log, &arena);
    if (fm_mapping_load_file(h->ctx, path, &m, &log, NULL) == FM_OK) {
        const struct fm_container *spec = fm_mapping_spec(m);
        if (spec != NULL && better(h->best, fm_mapping_name(m),
                                   fm_generic_probe(spec, h->data, h->n, h->whole))) {
            fm_mapping_free(h->best->mapping);
            h->best->mapping = m;
            h->best->importer = &generic;
            h->best->name = fm_mapping_name(m);
            m = NULL;
        }
        fm_mapping_free(m);
    }
    fm_arena_release(&arena);
    return true;
}

/* Bits that no description of a text comes to, nor a plausible one of bytes. */
#define CERTAIN 64u

static enum fm_status probe(struct fm_ctx *ctx, struct fm_input *input, struct choice *best,
                            struct fm_error *err)
{
    const char *name = fm_input_name(input);
    const unsigned char *head = NULL;
    size_t n = 0, i;
    uint64_t size;
    bool whole = false, dir = fm_input_is_dir(input);
    enum fm_status status;
    if (!dir) {
        status = fm_input_head(input, &head, &n, err);
        if (status != FM_OK)
            return status;
        if (n == 0)
            return fm_error_at(err, FM_UNKNOWN, name, 0, "the input is empty");
        whole = fm_input_size(input, &size) ? size == n : n < 65536;
    }
    for (i = 0; i < FM_COUNT(table); i++) {
        unsigned bits;
        if (dir && !table[i]->directory)
            continue;
        bits = table[i]->probe(head, n, whole, input);
        if (bits > 0)
            bits += extension_bit(table[i], name);
        if (better(best, table[i]->name, bits)) {
            best->importer = table[i];
            best->name = table[i]->name;
        }
    }
    if (!dir && best->bits < CERTAIN) {
        struct head h = {ctx, head, n, whole, best};
        status = fm_lookup_list(ctx, "formats", probe_file, &h, err);
        if (status != FM_OK)
            return status;
    }
    if (best->tie)
        return fm_error_at(err, FM_UNKNOWN, name, FM_NO_OFFSET,
                           "may be '%s' or '%s' (%u bits of evidence each): name the format",
                           best->name, best->rival, best->bits);
    if (best->importer == NULL)
        return fm_error_at(err, FM_UNKNOWN, name, FM_NO_OFFSET, "no known format");
    return FM_OK;
}

/* ---------------------------------------------------------------- driver */

/* A name: an importer's, or that of a format file, whose container says who reads it. */
static enum fm_status find_format(struct fm_ctx *ctx, const char *format, struct choice *choice,
                                  struct fm_error *err)
{
    struct fm_arena arena;
    bool file;
    enum fm_status status;
    choice->importer = is_generic(format) ? NULL : fm_importer_find(format);
    choice->name = format;
    if (choice->importer != NULL)
        return FM_OK;
    fm_arena_init(&arena, &ctx->mem);
    file = fm_lookup(ctx, &arena, "formats", format) != NULL;
    fm_arena_release(&arena);
    if (!file)
        return unknown_format(format, err);
    status = fm_mapping_load(ctx, format, &choice->mapping, err);
    if (status != FM_OK)
        return status;
    choice->name = fm_mapping_name(choice->mapping);
    choice->importer = fm_importer_find(fm_mapping_container(choice->mapping));
    if (choice->importer == NULL)
        return fm_error_set(err, FM_CONFIG, "format '%s': nothing reads container '%s'", format,
                            fm_mapping_container(choice->mapping));
    return FM_OK;
}

/* "NAME:LAYOUT": a format of records, all read as of that layout. */
static enum fm_status find_layout(struct fm_ctx *ctx, const char *format, const char *colon,
                                  struct choice *choice, struct fm_error *err)
{
    const char *known[64];
    char name[64];
    size_t n = (size_t)(colon - format), i;
    if (n >= sizeof name)
        return unknown_format(format, err);
    memcpy(name, format, n);
    name[n] = '\0';
    enum fm_status status = find_format(ctx, name, choice, err);
    const struct fm_container *c = choice->mapping ? fm_mapping_spec(choice->mapping) : NULL;
    if (status != FM_OK)
        return status;
    choice->name = choice->mapping ? fm_mapping_name(choice->mapping) : choice->importer->name;
    if (c == NULL || c->kind != FM_CONTAINER_RECORDS)
        return fm_error_set(err, FM_CONFIG, "format '%s' has no layouts", choice->name);
    for (i = 0; i < c->layouts; i++) {
        if (i < FM_COUNT(known))
            known[i] = c->layout[i].name;
        if (strcmp(c->layout[i].name, colon + 1) == 0) {
            choice->layout = c->layout[i].name;
            return FM_OK;
        }
    }
    known[0] = c->layouts > 0 ? fm_text_nearest(colon + 1, known, FM_MIN(i, FM_COUNT(known)))
                              : NULL;
    return fm_error_set(err, FM_CONFIG, "format '%s' has no layout '%s'%s%s%s", choice->name,
                        colon + 1, known[0] ? " (did you mean '" : "", known[0] ? known[0] : "",
                        known[0] ? "'?)" : "");
}

static enum fm_status choose(struct fm_ctx *ctx, struct fm_input *input, const char *format,
                             struct choice *choice, struct fm_error *err)
{
    enum fm_status status;
    if (format == NULL)
        return probe(ctx, input, choice, err);
    const char *colon = strchr(format, ':');
    status = colon != NULL ? find_layout(ctx, format, colon, choice, err)
                           : find_format(ctx, format, choice, err);
    if (status == FM_OK && fm_input_is_dir(input) && !choice->importer->directory)
        return fm_error_at(err, FM_FORMAT, fm_input_name(input), FM_NO_OFFSET,
                           "is a directory: format '%s' reads files", format);
    return status;
}

/* The import proper: seekable where needed, with the mapping. */
static enum fm_status run(struct fm_import *import, struct choice *choice, struct fm_error *err)
{
    const struct fm_importer *importer = choice->importer;
    enum fm_status status;
    if (importer->seek && !fm_input_is_dir(import->input)) {
        status = fm_input_seekable(import->input, err);
        if (status != FM_OK)
            return status;
    }
    if (importer->mapping && choice->mapping == NULL) {
        status = fm_mapping_load(import->ctx, importer->name, &choice->mapping, err);
        if (status != FM_OK)
            return status;
    }
    import->mapping = choice->mapping;
    import->layout = choice->layout;
    return importer->import(import, err);
}

enum fm_status fm_import_input(struct fm_ctx *ctx, struct fm_input *input,
                               const struct fm_import_options *options,
                               struct fm_builder *builder, bool *usable, struct fm_error *err)
{
    const struct fm_import_options none = FM_INIT(none);
    struct fm_import import = {.ctx = ctx, .input = input, .builder = builder};
    struct choice choice = {.importer = NULL};
    struct fm_source *source;
    uint64_t before, size;
    const char *member;
    enum fm_status status, built;
    *usable = false;
    import.options = options != NULL ? options : &none;
    status = choose(ctx, input, import.options->format, &choice, err);
    fm_builder_source(builder, fm_input_name(input), status == FM_OK ? choice.name : "unknown");
    if (status != FM_OK) {
        fm_mapping_free(choice.mapping);
        return status;
    }
    member = fm_input_member(input);
    if (member[0] != '\0')
        fm_builder_provenance(builder, "member", member, strlen(member));
    before = fm_builder_rows(builder);
    status = run(&import, &choice, err);
    fm_mapping_free(choice.mapping);
    built = fm_builder_status(builder);
    if (built != FM_OK)
        return built == FM_NOMEM ? fm_error_nomem(err)
                                 : fm_error_set(err, built, "'%s' does not fit the store",
                                                fm_input_name(input));
    source = fm_builder_source_row(builder);
    if (source->bytes == 0 && fm_input_size(input, &size))
        source->bytes = size;
    source->hash = fm_input_hash(input);
    fm_input_findings(input, &source->diags);
    if (status == FM_OK)
        status = fm_input_damage(input, err);
    *usable = status == FM_OK || fm_builder_rows(builder) > before;
    return status;
}
