/*
 * import.c - the table of importers, probing, and the driver for one input.
 *
 * Every probe sees the head of the decoded input and answers with verified bits of evidence; a
 * fitting file name extension adds one. The most bits win. A tie is reported with the rivals'
 * names and decided by nobody: `--from` does.
 */
#include "import/import.h"

#include "util/error.h"
#include "util/text.h"

/* One line a format, in name order. */
#define IMPORTERS(X) \
    X(folded) X(perf)

#define DECLARE(name) extern const struct fm_importer fm_importer_##name;
IMPORTERS(DECLARE)
#define ROW(name) &fm_importer_##name,
static const struct fm_importer *const table[] = {IMPORTERS(ROW)};

const struct fm_importer *fm_importer_at(size_t i)
{
    return i < FM_COUNT(table) ? table[i] : NULL;
}

const struct fm_importer *fm_importer_find(const char *name)
{
    size_t i;
    for (i = 0; i < FM_COUNT(table); i++) {
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    }
    return NULL;
}

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

static enum fm_status probe(struct fm_input *input, const struct fm_importer **found,
                            struct fm_error *err)
{
    const char *name = fm_input_name(input);
    const unsigned char *head = NULL;
    size_t n = 0, i;
    uint64_t size;
    unsigned best = 0;
    bool whole = false, dir = fm_input_is_dir(input);
    const struct fm_importer *tie = NULL;
    enum fm_status status;
    *found = NULL;
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
        if (bits > best) {
            best = bits;
            *found = table[i];
            tie = NULL;
        } else if (bits > 0 && bits == best) {
            tie = table[i];
        }
    }
    if (tie != NULL)
        return fm_error_at(err, FM_UNKNOWN, name, FM_NO_OFFSET,
                           "may be '%s' or '%s' (%u bits of evidence each): name the format",
                           (*found)->name, tie->name, best);
    if (*found == NULL)
        return fm_error_at(err, FM_UNKNOWN, name, FM_NO_OFFSET, "no known format");
    return FM_OK;
}

/* ---------------------------------------------------------------- driver */

static enum fm_status choose(struct fm_input *input, const char *format,
                             const struct fm_importer **importer, struct fm_error *err)
{
    if (format == NULL)
        return probe(input, importer, err);
    *importer = fm_importer_find(format);
    if (*importer == NULL)
        return unknown_format(format, err);
    if (fm_input_is_dir(input) && !(*importer)->directory)
        return fm_error_at(err, FM_FORMAT, fm_input_name(input), FM_NO_OFFSET,
                           "is a directory: format '%s' reads files", format);
    return FM_OK;
}

enum fm_status fm_import_input(struct fm_ctx *ctx, struct fm_input *input,
                               const struct fm_import_options *options,
                               struct fm_builder *builder, bool *usable, struct fm_error *err)
{
    const struct fm_import_options none = FM_INIT(none);
    struct fm_import import = {.ctx = ctx, .input = input, .builder = builder};
    struct fm_mapping *mapping = NULL;
    const struct fm_importer *importer;
    struct fm_source *source;
    uint64_t before, size;
    enum fm_status status, built;
    *usable = false;
    import.options = options != NULL ? options : &none;
    status = choose(input, import.options->format, &importer, err);
    fm_builder_source(builder, fm_input_name(input), status == FM_OK ? importer->name : "unknown");
    if (status != FM_OK)
        return status;
    before = fm_builder_rows(builder);
    if (importer->seek && !fm_input_is_dir(input)) {
        status = fm_input_seekable(input, err);
        if (status != FM_OK)
            return status;
    }
    if (importer->mapping) {
        status = fm_mapping_load(ctx, importer->name, &mapping, err);
        if (status != FM_OK)
            return status;
        import.mapping = mapping;
    }
    status = importer->import(&import, err);
    fm_mapping_free(mapping);
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
