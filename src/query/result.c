/*
 * result.c - finished results: cells of the visible rows, copied out of store and table.
 *
 * Texts are copied once per distinct string; a path is an array of pointers to its labels.
 */
#include "query/plan.h"

#include "util/error.h"

struct fm_result *fm_result_new(struct fm_mem *mem)
{
    struct fm_result *result = fm_mem_zalloc(mem, sizeof *result);

    if (result == NULL)
        return NULL;
    result->mem = mem;
    fm_arena_init(&result->arena, mem);
    if (fm_out_init(&result->text, mem, NULL) != FM_OK) {
        fm_mem_free(mem, result, sizeof *result);
        return NULL;
    }
    return result;
}

void fm_result_free(struct fm_result *result)
{
    if (result == NULL)
        return;
    for (size_t i = 0; i < result->tables; i++)
        fm_kept_free(result->table[i].kept);
    fm_out_release(&result->text);
    fm_arena_release(&result->arena);
    fm_mem_free(result->mem, result, sizeof *result);
}

/* Tables and cells hold 128-bit integers; an arena aligns to 8 bytes. */
static void *alloc16(struct fm_arena *arena, size_t n)
{
    uintptr_t p = n > SIZE_MAX - 8 ? 0 : (uintptr_t)fm_arena_alloc(arena, n + 8);

    return (void *)((p + 15) & ~(uintptr_t)15);
}

struct copier {
    struct fm_result *result;
    const struct fm_table *t;
    struct fm_map text;          /* fm_str -> pointer */
};

static const char *copy_text(struct copier *c, fm_str id)
{
    bool fresh;
    uint64_t *slot = fm_map_put(&c->text, id, &fresh);
    const char *s;
    size_t n;

    if (slot == NULL)
        return NULL;
    if (fresh) {
        s = fm_store_str(c->t->store, id, &n);
        *slot = (uint64_t)(uintptr_t)fm_arena_strn(&c->result->arena, s, n);
    }
    return (const char *)(uintptr_t)*slot;
}

static bool copy_path(struct copier *c, uint32_t path, struct fm_cell *cell)
{
    const struct fm_trie_node *node = c->t->paths.trie.node;
    uint32_t n = 0;
    const char **label;

    for (uint32_t at = path; at != 0; at = node[at].parent)
        n++;
    label = fm_arena_alloc(&c->result->arena, (n + 1) * sizeof *label);
    if (label == NULL)
        return false;
    cell->form = FM_FORM_PATH;
    cell->n = n;
    cell->path = label;
    while (n > 0) {
        label[--n] = copy_text(c, node[path].key);
        if (label[n] == NULL)
            return false;
        path = node[path].parent;
    }
    return true;
}

static bool copy_cell(struct copier *c, uint32_t row, size_t col, struct fm_cell *cell)
{
    const struct fm_cells *cells = &c->t->cells[col];
    size_t n;

    cell->form = FM_FORM_NULL;
    if (fm_table_is_null(c->t, row, col))
        return true;
    switch (c->t->schema->column[col].type) {
    case FM_CELL_TEXT:
        (void)fm_store_str(c->t->store, cells->id[row], &n);
        cell->form = FM_FORM_TEXT;
        cell->n = (uint32_t)n;
        cell->text = copy_text(c, cells->id[row]);
        return cell->text != NULL;
    case FM_CELL_PATH:
        return copy_path(c, cells->id[row], cell);
    case FM_CELL_F64:
        cell->form = FM_FORM_F64;
        cell->f = cells->f[row];
        return true;
    case FM_CELL_BOOL:
        cell->form = FM_FORM_BOOL;
        break;
    case FM_CELL_ADDRESS:
        cell->form = FM_FORM_ADDRESS;
        break;
    default:
        cell->form = FM_FORM_INT;
        break;
    }
    cell->i = cells->i[row];
    return true;
}

static bool describe(struct fm_result *result, struct fm_result_table *table,
                     const struct fm_query *q, const char *part, const struct fm_table *t)
{
    struct fm_arena *arena = &result->arena;

    table->name = fm_arena_str(arena, q->name);
    table->part = fm_arena_str(arena, part);
    table->about = fm_arena_str(arena, q->about);
    table->event = fm_arena_str(arena, t->event);
    table->unit = fm_arena_str(arena, t->unit);
    table->weigh = fm_arena_str(arena, t->weigh);
    table->note = t->note == NULL ? NULL : fm_arena_str(arena, t->note);
    table->separator = fm_arena_str(arena, q->separator);
    table->leaf_first = q->leaf_first;
    table->samples = t->samples;
    table->selected = t->selected;
    table->all = t->all;
    table->bases = t->bases;
    table->base = alloc16(arena, (t->bases + 1) * sizeof *table->base);
    for (size_t i = 0; table->base != NULL && i < t->bases; i++) {
        table->base[i] = t->base[i];
        table->base[i].of = fm_arena_str(arena, t->base[i].of);
        table->base[i].unit = fm_arena_str(arena, t->base[i].unit);
    }
    return !arena->oom;
}

static bool describe_column(struct fm_result *result, struct fm_result_column *to,
                            const struct fm_schema_column *from)
{
    to->name = fm_arena_str(&result->arena, from->name);
    to->unit = fm_arena_str(&result->arena, from->unit);
    to->of = from->of == NULL ? "" : fm_arena_str(&result->arena, from->of);
    to->type = from->type;
    to->share = from->share;
    to->indented = from->indented;
    to->key = from->key;
    to->additive = from->additive;
    return !result->arena.oom;
}

/* The levels of the rows of a tree. */
static bool copy_indent(struct fm_result *result, struct fm_result_table *table,
                        const struct fm_table *t)
{
    for (size_t c = 0; c < t->schema->n; c++) {
        if (!t->schema->column[c].depth || t->n == 0)
            continue;
        table->indent = fm_arena_alloc(&result->arena, t->n * sizeof *table->indent);
        if (table->indent == NULL)
            return false;
        for (size_t r = 0; r < t->n; r++) {
            fm_i128 depth = fm_table_is_null(t, t->order[r], c) ? 1 : t->cells[c].i[t->order[r]];
            table->indent[r] = (uint32_t)FM_MIN(FM_MAX(depth - 1, 0), 1000);
        }
    }
    return true;
}

/* Room for one table more, all zero. */
static struct fm_result_table *add_table(struct fm_result *result)
{
    size_t bytes = (result->tables + 1) * sizeof *result->table;
    struct fm_result_table *list = alloc16(&result->arena, bytes);

    if (list == NULL)
        return NULL;
    if (result->tables > 0)
        memcpy(list, result->table, result->tables * sizeof *list);
    result->table = list;
    return &list[result->tables];
}

enum fm_status fm_result_add_rows(struct fm_result *result, const struct fm_query *q,
                                  const char *part, struct fm_selection *kept,
                                  struct fm_error *err)
{
    struct fm_result_table *table = add_table(result);
    struct fm_table t = { .event = fm_store_str(kept->store, kept->event_name, NULL),
                          .unit = fm_store_str(kept->store, kept->unit, NULL), .weigh = "",
                          .samples = kept->samples, .selected = (fm_i128)kept->weight,
                          .all = (fm_i128)kept->weight_all };

    if (table == NULL || !describe(result, table, q, part, &t)) {
        fm_kept_free(kept);
        return fm_error_nomem(err);
    }
    table->kept = kept;
    result->tables++;
    return FM_OK;
}

enum fm_status fm_result_add(struct fm_result *result, const struct fm_query *q, const char *part,
                             const struct fm_table *t, const size_t *col, size_t cols,
                             struct fm_error *err)
{
    struct copier c = { .result = result, .t = t };
    struct fm_result_table *table = add_table(result);
    size_t columns = col != NULL ? cols : t->schema->n, cells;
    bool ok = table != NULL && describe(result, table, q, part, t);

    fm_map_init(&c.text, result->mem);
    if (ok) {
        table->columns = columns;
        table->rows = t->n;
        table->column = fm_arena_alloc(&result->arena, (columns + 1) * sizeof *table->column);
        ok = table->column != NULL && fm_mul_size(columns, t->n, &cells)
             && fm_mul_size(cells + 1, sizeof *table->cell, &cells);
    }
    if (ok) {
        table->cell = alloc16(&result->arena, cells);
        ok = table->cell != NULL;
    }
    for (size_t k = 0; ok && k < columns; k++) {
        const struct fm_schema_column *from = &t->schema->column[col != NULL ? col[k] : k];
        ok = describe_column(result, &table->column[k], from);
        table->column[k].hidden = col == NULL && from->hidden;
    }
    ok = ok && copy_indent(result, table, t);
    for (size_t r = 0; ok && r < t->n; r++) {
        for (size_t k = 0; ok && k < columns; k++)
            ok = copy_cell(&c, t->order[r], col != NULL ? col[k] : k,
                           &table->cell[r * columns + k]);
    }
    fm_map_release(&c.text);
    if (!ok)
        return fm_error_nomem(err);
    result->tables++;
    return FM_OK;
}

/* -------------------------------------------------------------- accessors */

void fm_result_set_width(struct fm_result *result, size_t columns)
{
    for (size_t i = 0; i < result->tables; i++)
        result->table[i].width = columns;
}

size_t fm_result_tables(const struct fm_result *result)
{
    return result->tables;
}

static const struct fm_result_table *table_at(const struct fm_result *result, size_t table)
{
    return table < result->tables ? &result->table[table] : NULL;
}

size_t fm_result_rows(const struct fm_result *result, size_t table)
{
    const struct fm_result_table *t = table_at(result, table);

    return t == NULL ? 0 : t->rows;
}

const char *fm_result_event(const struct fm_result *result, size_t table)
{
    const struct fm_result_table *t = table_at(result, table);

    return t == NULL ? "" : t->event;
}

const char *fm_result_unit(const struct fm_result *result, size_t table)
{
    const struct fm_result_table *t = table_at(result, table);

    return t == NULL ? "" : t->unit;
}

size_t fm_result_columns(const struct fm_result *result, size_t table)
{
    const struct fm_result_table *t = table_at(result, table);

    return t == NULL ? 0 : t->columns;
}

const char *fm_result_column_name(const struct fm_result *result, size_t table, size_t col)
{
    const struct fm_result_table *t = table_at(result, table);

    return t == NULL || col >= t->columns ? "" : t->column[col].name;
}

const char *fm_result_column_unit(const struct fm_result *result, size_t table, size_t col)
{
    const struct fm_result_table *t = table_at(result, table);

    return t == NULL || col >= t->columns ? "" : t->column[col].unit;
}

enum fm_result_type fm_result_column_type(const struct fm_result *result, size_t table, size_t col)
{
    const struct fm_result_table *t = table_at(result, table);

    if (t == NULL || col >= t->columns)
        return FM_RESULT_TEXT;
    if (t->column[col].share)
        return FM_RESULT_SHARE;
    switch (t->column[col].type) {
    case FM_CELL_INT: return FM_RESULT_INTEGER;
    case FM_CELL_F64: return FM_RESULT_NUMBER;
    case FM_CELL_PATH: return FM_RESULT_PATH;
    case FM_CELL_BOOL: return FM_RESULT_BOOL;
    case FM_CELL_ADDRESS: return FM_RESULT_ADDRESS;
    default: return FM_RESULT_TEXT;
    }
}

const char *fm_result_cell(struct fm_result *result, size_t table, size_t row, size_t col)
{
    const struct fm_result_table *t = table_at(result, table);

    if (t == NULL || row >= t->rows || col >= t->columns)
        return "";
    result->text.n = 0;
    fm_cell_write(t, &t->cell[row * t->columns + col], &result->text);
    fm_out_char(&result->text, '\0');
    return result->text.status == FM_OK ? result->text.buf : "";
}
