/*
 * profile.c - the facade's way from a result back to a profile, so that exporters can draw it.
 *
 *     thread   path        self  samples          event  stack              weight count
 *     worker   main;run      30        3    ->    cpu    worker;main;run        30     3
 *     worker   (other)       12        1          cpu    worker;(other)         12     1
 *
 * A table is a profile when it has a path and a weight: one sample a row. The weight is the column
 * `self`, else the first column of whole sums in the table's unit, else the first in any unit;
 * `samples` is the count. Key columns before the path become frames above it, those behind it
 * frames below, but for weights, durations and counts of a table with a line for each row; a row
 * that folds others (limit: rest) keeps its name as a frame, so the sums are those of the table. A
 * row without a weight is no sample, unless the table says how many: nodes of a tree do not, their
 * samples are those of all below them. Frames have names and no addresses.
 *
 * Rows that a query ends with need no such way back: they are a selection of their store.
 */
#include "foldmill.h"

#include "export/export.h"
#include "query/table.h"
#include "store/build.h"
#include "util/error.h"

struct profile {
    const struct fm_result_table *t;
    struct fm_builder *builder;
    size_t path, weight, samples;    /* columns; SIZE_MAX: none */
    uint32_t event;
    struct fm_out text;
};

/* ----------------------------------------------------------------- columns */

static size_t column_named(const struct fm_result_table *t, const char *name,
                           enum fm_cell_type type)
{
    for (size_t c = 0; c < t->columns; c++)
        if (strcmp(t->column[c].name, name) == 0 && t->column[c].type == type)
            return c;
    return SIZE_MAX;
}

static size_t find_path(const struct fm_result_table *t)
{
    for (size_t c = 0; c < t->columns; c++)
        if (t->column[c].type == FM_CELL_PATH && t->column[c].key)
            return c;
    return SIZE_MAX;
}

static size_t find_weight(const struct fm_result_table *t)
{
    size_t first = SIZE_MAX, self = column_named(t, "self", FM_CELL_INT);

    if (self != SIZE_MAX)
        return self;
    for (size_t c = 0; c < t->columns; c++) {
        const struct fm_result_column *col = &t->column[c];
        if (col->type != FM_CELL_INT || !col->additive)
            continue;
        if (strcmp(col->unit, t->unit) == 0)
            return c;
        if (first == SIZE_MAX)
            first = c;
    }
    return first;
}

/* ------------------------------------------------------------------- rows */

static fm_node add_frame(struct profile *p, fm_node parent, const char *name, size_t n,
                         enum fm_frame_kind kind)
{
    struct fm_frame_row row = {.module = FM_NONE, .address = UINT64_MAX, .kind = (uint8_t)kind};

    if (n == 0) {
        name = "[unknown]";
        n = strlen(name);
    }
    row.function = fm_builder_str(p->builder, name, n);
    return fm_builder_node(p->builder, parent, fm_builder_frame(p->builder, &row));
}

/* The frames of one key cell. */
static fm_node add_cell(struct profile *p, fm_node node, const struct fm_cell *cell,
                        const char *column)
{
    if (cell->form == FM_FORM_PATH) {
        for (uint32_t i = 0; i < cell->n; i++)
            node = add_frame(p, node, cell->path[i], strlen(cell->path[i]), FM_FRAME_UNKNOWN);
        return node;
    }
    p->text.n = 0;
    if (cell->form == FM_FORM_NULL)
        fm_out_printf(&p->text, "[no %s]", column);
    else
        fm_cell_write(p->t, cell, &p->text);
    return add_frame(p, node, p->text.buf, p->text.n, FM_FRAME_SYNTHETIC);
}

/* A path that is null has no frames: samples without a stack. */
static fm_node add_stack(struct profile *p, const struct fm_cell *row)
{
    fm_node node = FM_NODE_ROOT;

    for (size_t c = 0; c < p->t->columns; c++) {
        const struct fm_result_column *col = &p->t->column[c];
        bool none = col->type == FM_CELL_PATH && row[c].form == FM_FORM_NULL;

        if (col->key && !col->additive && !none)  /* an amount of a line is no frame */
            node = add_cell(p, node, &row[c], col->name);
    }
    return node;
}

/* One row of the table as samples; a weight beyond 64 bits takes several. */
static void add_row(struct profile *p, const struct fm_cell *row)
{
    fm_u128 weight = row[p->weight].form == FM_FORM_INT ? (fm_u128)row[p->weight].i : 0;
    uint64_t count = 1;
    fm_node node;

    if (weight == 0 && p->samples == SIZE_MAX)
        return;                          /* a node of a tree that only leads to others */
    node = add_stack(p, row);
    if (p->samples != SIZE_MAX)
        count = row[p->samples].form == FM_FORM_INT && row[p->samples].i >= 0
                    ? (uint64_t)FM_MIN(row[p->samples].i, (fm_i128)UINT64_MAX) : 0;
    do {
        uint64_t part = (uint64_t)FM_MIN(weight, (fm_u128)UINT64_MAX);

        fm_row_begin(p->builder, p->event);
        fm_row_set(p->builder, FM_COL_WEIGHT, part);
        fm_row_set(p->builder, FM_COL_COUNT, count);
        if (node != FM_NODE_ROOT)
            fm_row_set(p->builder, FM_COL_STACK, node);
        (void)fm_row_end(p->builder);
        fm_account_in(p->builder, count);
        weight -= part;
        count = 0;
    } while (weight > 0);
}

static enum fm_status negative(const struct fm_result_table *t, size_t weight,
                               struct fm_error *err)
{
    for (size_t r = 0; r < t->rows; r++) {
        const struct fm_cell *cell = &t->cell[r * t->columns + weight];
        if (cell->form == FM_FORM_INT && cell->i < 0)
            return fm_error_set(err, FM_CONFIG, "the result is no profile: column '%s' has "
                                "negative values", t->column[weight].name);
    }
    return FM_OK;
}

enum fm_status fm_result_profile(struct fm_ctx *ctx, const struct fm_result *result, size_t table,
                                 struct fm_store **store, struct fm_error *err)
{
    struct profile p = {.samples = SIZE_MAX};
    const struct fm_result_table *t;
    enum fm_status status;

    *store = NULL;
    if (table >= result->tables)
        return fm_error_set(err, FM_CONFIG, "the result has no table %zu", table);
    p.t = t = &result->table[table];
    if (t->kept != NULL)
        return fm_error_set(err, FM_CONFIG, "'%s' is rows of a store and no table", t->name);
    p.path = find_path(t);
    p.weight = find_weight(t);
    if (t->indent == NULL)               /* those of a tree are of whole subtrees */
        p.samples = column_named(t, "samples", FM_CELL_INT);
    if (p.path == SIZE_MAX)
        return fm_error_set(err, FM_CONFIG, "the result is no profile: '%s' has no column of "
                            "paths (group by path, or tree)", t->name);
    if (p.weight == SIZE_MAX)
        return fm_error_set(err, FM_CONFIG, "the result is no profile: '%s' has no column of "
                            "whole sums", t->name);
    status = negative(t, p.weight, err);
    if (status == FM_OK)
        status = fm_builder_new(ctx, &p.builder, err);
    if (status != FM_OK)
        return status;
    if (fm_out_init(&p.text, &ctx->mem, NULL) != FM_OK) {
        fm_builder_free(p.builder);
        return fm_error_nomem(err);
    }
    fm_builder_source(p.builder, t->name, "query");
    p.event = fm_builder_event(p.builder, t->event[0] != '\0' ? t->event : t->name,
                               t->column[p.weight].unit[0] != '\0' ? t->column[p.weight].unit
                                                                   : "count", FM_KIND_SAMPLE);
    for (size_t r = 0; r < t->rows; r++)
        add_row(&p, &t->cell[r * t->columns]);
    fm_out_release(&p.text);
    return fm_builder_seal(p.builder, NULL, store, err);
}

/* Rows that the query ends with. Who writes rows has the mapping's frames as columns, and the rows'
 * own weights beside their units. */
static enum fm_status export_rows(struct fm_ctx *ctx, const struct fm_selection *kept,
                                  const struct fm_exporter *exporter,
                                  const struct fm_export_options *options,
                                  const struct fm_sink *sink, struct fm_error *err)
{
    struct fm_selection sel = *kept;
    struct fm_export_options o = FM_INIT(o);

    if (options != NULL)
        memcpy(&o, options, FM_MIN(options->size, sizeof o));
    o.size = sizeof o;
    if (exporter->raw) {
        sel.prepends = sel.appends = 0;
        sel.row_weight = NULL;
    }
    return fm_export_run(ctx, &sel, exporter, &o, sink, err);
}

enum fm_status fm_result_export(struct fm_ctx *ctx, const struct fm_result *result, size_t table,
                                const char *name, const struct fm_export_options *options,
                                const struct fm_sink *sink, struct fm_error *err)
{
    const struct fm_exporter *exporter = fm_exporter_find(name);
    struct fm_store *store = NULL;
    enum fm_status status;

    if (exporter == NULL)
        return fm_error_set(err, FM_CONFIG, "unknown exporter '%s'", name);
    if (table < result->tables && result->table[table].kept != NULL)
        return export_rows(ctx, result->table[table].kept, exporter, options, sink, err);
    status = fm_result_profile(ctx, result, table, &store, err);
    if (status == FM_OK)
        status = fm_export(ctx, store, name, NULL, options, sink, err);
    fm_store_free(store);
    return status;
}
