/*
 * write.c - results as text, CSV, TSV, JSON and Markdown.
 *
 *     text      header lines (# event, unit, weight; what shares are of), aligned columns; times
 *               and sizes scaled per column, the unit in the column's head: "self (ms)"; with a
 *               width, long texts are shortened in the middle (layout.c)
 *     csv       RFC 4180; one head line with the unit in it: "self (ns)"; raw integers; no value is
 *               an empty field, an empty text is ""
 *     tsv       the same with tabs; tab, line feed, return and backslash of texts as \t \n \r \\
 *     json      an array of tables: {query, event, unit, …, columns, rows}; rows are objects, paths
 *               arrays, integers exact
 *     markdown  a table with the figures of text
 *
 * CSV, TSV and JSON never scale or round: they are for programs.
 */
#include "query/layout.h"
#include "query/table.h"

#include "util/error.h"
#include "util/text.h"

/* ------------------------------------------------------------------- cells */

static void write_int(struct fm_out *out, fm_i128 v)
{
    if (v < 0) {
        fm_out_char(out, '-');
        fm_out_u128(out, -(fm_u128)v);
    } else {
        fm_out_u128(out, (fm_u128)v);
    }
}

static void write_path(const struct fm_result_table *t, const struct fm_cell *cell,
                       struct fm_out *out)
{
    for (uint32_t i = 0; i < cell->n; i++) {
        if (i > 0)
            fm_out_text(out, t->separator);
        fm_out_text(out, cell->path[t->leaf_first ? cell->n - 1 - i : i]);
    }
}

void fm_cell_write(const struct fm_result_table *t, const struct fm_cell *cell,
                   struct fm_out *out)
{
    switch (cell->form) {
    case FM_FORM_NULL:
        break;
    case FM_FORM_INT:
        write_int(out, cell->i);
        break;
    case FM_FORM_F64:
        fm_out_f64(out, cell->f);
        break;
    case FM_FORM_BOOL:
        fm_out_text(out, cell->i != 0 ? "true" : "false");
        break;
    case FM_FORM_ADDRESS:
        fm_out_text(out, "0x");
        fm_out_hex(out, (uint64_t)cell->i);
        break;
    case FM_FORM_TEXT:
        fm_out_bytes(out, cell->text, cell->n);
        break;
    case FM_FORM_PATH:
        write_path(t, cell, out);
        break;
    }
}

static bool is_number(enum fm_cell_type type)
{
    return type == FM_CELL_INT || type == FM_CELL_F64;
}

/* ---------------------------------------------------------------- csv, tsv */

/* An empty text is not the same as no value. */
static void separated_cell(const struct fm_out *cell, bool tabs, bool text, struct fm_out *out)
{
    if (tabs)
        fm_out_tsv(out, cell->buf, cell->n);
    else if (text && cell->n == 0)
        fm_out_text(out, "\"\"");
    else
        fm_out_csv(out, cell->buf, cell->n);
}

static enum fm_status write_separated(const struct fm_result_table *t, bool tabs,
                                      struct fm_mem *mem, struct fm_out *out)
{
    struct fm_out cell;

    if (fm_out_init(&cell, mem, NULL) != FM_OK)
        return FM_NOMEM;
    for (size_t r = 0; r <= t->rows; r++) {
        for (size_t c = 0; c < t->columns; c++) {
            const struct fm_result_column *col = &t->column[c];
            const struct fm_cell *at = r > 0 ? &t->cell[(r - 1) * t->columns + c] : NULL;
            cell.n = 0;
            if (at != NULL)
                fm_cell_write(t, at, &cell);
            else
                fm_out_printf(&cell, col->unit[0] != '\0' ? "%s (%s)" : "%s", col->name,
                              col->unit);
            if (c > 0)
                fm_out_char(out, tabs ? '\t' : ',');
            separated_cell(&cell, tabs, at == NULL || at->form != FM_FORM_NULL, out);
        }
        fm_out_char(out, '\n');
    }
    fm_out_release(&cell);
    return cell.status;
}

/* -------------------------------------------------------------------- json */

static void json_text(struct fm_out *out, const char *s)
{
    fm_out_json(out, s, strlen(s));
}

static void json_cell(const struct fm_result_table *t, const struct fm_cell *cell,
                      struct fm_out *out)
{
    switch (cell->form) {
    case FM_FORM_NULL:
        fm_out_text(out, "null");
        break;
    case FM_FORM_TEXT:
        fm_out_json(out, cell->text, cell->n);
        break;
    case FM_FORM_ADDRESS:
        fm_out_char(out, '"');
        fm_cell_write(t, cell, out);
        fm_out_char(out, '"');
        break;
    case FM_FORM_PATH:
        fm_out_char(out, '[');
        for (uint32_t i = 0; i < cell->n; i++) {
            if (i > 0)
                fm_out_char(out, ',');
            json_text(out, cell->path[t->leaf_first ? cell->n - 1 - i : i]);
        }
        fm_out_char(out, ']');
        break;
    default:
        fm_cell_write(t, cell, out);
        break;
    }
}

/* The value of a base that is none of the table's own. */
static void json_base(const struct fm_result_table *t, const char *of, struct fm_out *out)
{
    for (size_t b = 0; b < t->bases; b++) {
        if (strcmp(t->base[b].of, of) != 0)
            continue;
        fm_out_text(out, ", \"share_base\": ");
        write_int(out, t->base[b].value);
        return;
    }
}

static void json_columns(const struct fm_result_table *t, struct fm_out *out)
{
    static const char *const type[] = { "integer", "number", "text", "path", "bool", "address" };

    fm_out_text(out, "\n  \"columns\": [");
    for (size_t c = 0; c < t->columns; c++) {
        const struct fm_result_column *col = &t->column[c];
        fm_out_text(out, c > 0 ? ",\n    {\"name\": " : "\n    {\"name\": ");
        json_text(out, col->name);
        fm_out_printf(out, ", \"type\": \"%s\", \"unit\": ", type[col->type]);
        json_text(out, col->unit);
        if (col->share) {
            fm_out_text(out, ", \"share_of\": ");
            json_text(out, col->of);
            json_base(t, col->of, out);
        }
        fm_out_char(out, '}');
    }
    fm_out_text(out, "],");
}

static void write_json(const struct fm_result_table *t, struct fm_out *out)
{
    fm_out_text(out, "{\"query\": ");
    json_text(out, t->name);
    if (t->part[0] != '\0') {
        fm_out_text(out, ", \"table\": ");
        json_text(out, t->part);
    }
    fm_out_text(out, ",\n  \"event\": ");
    json_text(out, t->event);
    fm_out_text(out, ", \"unit\": ");
    json_text(out, t->unit);
    fm_out_text(out, ", \"weight\": ");
    json_text(out, t->weigh);
    fm_out_text(out, ",\n  \"samples\": ");
    fm_out_u64(out, t->samples);
    fm_out_text(out, ", \"selected\": ");
    write_int(out, t->selected);
    fm_out_text(out, ", \"all\": ");
    write_int(out, t->all);
    if (t->note != NULL) {
        fm_out_text(out, ",\n  \"note\": ");
        json_text(out, t->note);
    }
    fm_out_char(out, ',');
    json_columns(t, out);
    fm_out_text(out, "\n  \"rows\": [");
    for (size_t r = 0; r < t->rows; r++) {
        fm_out_text(out, r > 0 ? ",\n    {" : "\n    {");
        for (size_t c = 0; c < t->columns; c++) {
            if (c > 0)
                fm_out_text(out, ", ");
            json_text(out, t->column[c].name);
            fm_out_text(out, ": ");
            json_cell(t, &t->cell[r * t->columns + c], out);
        }
        fm_out_char(out, '}');
    }
    fm_out_text(out, "]}");
}

/* ----------------------------------------------------------- text, markdown */

struct scale {
    double by;
    const char *unit;
    unsigned digits;
};

/* One scale for a column, by its largest value. */
static struct scale scale_for(const char *unit, double max, bool whole)
{
    static const struct scale ns[] = { { 1e9, "s", 3 }, { 1e6, "ms", 3 }, { 1e3, "us", 3 } };
    static const struct scale bytes[] = { { 1099511627776.0, "TiB", 3 }, { 1073741824.0, "GiB", 3 },
                                          { 1048576.0, "MiB", 3 }, { 1024.0, "KiB", 3 } };
    const struct scale *known = NULL;
    size_t n = 0;

    if (strcmp(unit, "ns") == 0) {
        known = ns;
        n = FM_COUNT(ns);
    } else if (strcmp(unit, "bytes") == 0) {
        known = bytes;
        n = FM_COUNT(bytes);
    }
    for (size_t i = 0; i < n; i++) {
        if (max >= known[i].by)
            return known[i];
    }
    return (struct scale){ 1, unit, whole ? 0 : 3 };
}

static double number_of(const struct fm_cell *cell)
{
    return cell->form == FM_FORM_INT ? (double)cell->i : cell->form == FM_FORM_F64 ? cell->f : 0;
}

static struct scale column_scale(const struct fm_result_table *t, size_t c)
{
    double max = 0;

    if (t->column[c].share)
        return (struct scale){ 0.01, "%", 2 };
    for (size_t r = 0; r < t->rows; r++) {
        double v = number_of(&t->cell[r * t->columns + c]);
        max = FM_MAX(max, v < 0 ? -v : v);
    }
    return scale_for(t->column[c].unit, max, t->column[c].type == FM_CELL_INT);
}

static void scaled_cell(const struct fm_result_table *t, size_t c, const struct scale *scale,
                        const struct fm_cell *cell, struct fm_out *out)
{
    if (t->column[c].indented && t->indent != NULL)
        fm_out_pad(out, ' ', 2 * t->indent[(size_t)(cell - t->cell) / t->columns]);
    if (cell->form == FM_FORM_NULL)
        fm_out_char(out, '-');
    else if (!is_number(t->column[c].type) || (scale->by == 1 && cell->form == FM_FORM_INT))
        fm_cell_write(t, cell, out);
    else
        fm_out_fixed(out, number_of(cell) / scale->by, scale->digits);
}

static void head_cell(const struct fm_result_column *col, const struct scale *scale,
                      struct fm_out *out)
{
    const char *unit = is_number(col->type) ? scale->unit : col->unit;

    fm_out_text(out, col->name);
    if (unit[0] != '\0' && strcmp(unit, col->name) != 0)
        fm_out_printf(out, " (%s)", unit);
}

void fm_figure_write(fm_i128 v, const char *unit, struct fm_out *out)
{
    struct scale scale = scale_for(unit, v < 0 ? -(double)v : (double)v, true);

    if (scale.by == 1)
        write_int(out, v);
    else
        fm_out_fixed(out, (double)v / scale.by, scale.digits);
    fm_out_printf(out, "%s%s", scale.unit[0] != '\0' ? " " : "", scale.unit);
}

void fm_quantity_write(double v, const char *unit, struct fm_out *out)
{
    struct scale scale = scale_for(unit, v < 0 ? -v : v, false);

    fm_out_fixed(out, v / scale.by, scale.digits);
    fm_out_printf(out, "%s%s", scale.unit[0] != '\0' ? " " : "", scale.unit);
}

/* "total_share: of selected = 1.5 s": the base of a share, once for all columns that have it. */
static void write_base(const struct fm_result_table *t, const char *of, struct fm_out *out)
{
    fm_out_printf(out, ": of %s", of);
    if (strcmp(of, "selected") == 0 || strcmp(of, "all") == 0) {
        fm_out_text(out, " = ");
        fm_figure_write(of[0] == 's' ? t->selected : t->all, t->unit, out);
    }
    for (size_t b = 0; b < t->bases; b++) {
        if (strcmp(t->base[b].of, of) != 0)
            continue;
        fm_out_text(out, " = ");
        fm_figure_write(t->base[b].value, t->base[b].unit, out);
        break;
    }
}

static bool same_base(const struct fm_result_column *a, const struct fm_result_column *b)
{
    return a->share && b->share && strcmp(a->of, b->of) == 0;
}

static void write_bases(const struct fm_result_table *t, const char *lead, const char *end,
                        struct fm_out *out)
{
    for (size_t c = 0; c < t->columns; c++) {
        bool told = !t->column[c].share;
        for (size_t k = 0; k < c && !told; k++)
            told = same_base(&t->column[k], &t->column[c]);
        if (told)
            continue;
        fm_out_printf(out, "%s%s", lead, t->column[c].name);
        for (size_t k = c + 1; k < t->columns; k++) {
            if (same_base(&t->column[k], &t->column[c]))
                fm_out_printf(out, ", %s", t->column[k].name);
        }
        write_base(t, t->column[c].of, out);
        fm_out_printf(out, "%s\n", end);
    }
}

static void write_head(const struct fm_result_table *t, const char *lead, const char *end,
                       struct fm_out *out)
{
    char buf[32];

    fm_out_printf(out, "%s%s%s%s: event %s, weight %s", lead, t->name,
                  t->part[0] != '\0' ? " " : "", t->part, t->event, t->weigh);
    if (t->unit[0] != '\0')
        fm_out_printf(out, " in %s", t->unit);
    fm_out_printf(out, ", %s samples%s\n", fm_text_commas(t->samples, buf), end);
    for (const char *line = t->note; line != NULL && *line != '\0';) {
        size_t n = strcspn(line, "\n");
        fm_out_text(out, lead);
        fm_out_bytes(out, line, n);
        fm_out_printf(out, "%s\n", end);
        line += n + (line[n] == '\n');
    }
    write_bases(t, lead, end, out);
}

/* The table without the columns that only programs want. `to` is released by show_release(). */
static enum fm_status show(const struct fm_result_table *t, struct fm_mem *mem,
                           struct fm_result_table *to)
{
    size_t n = 0;

    *to = *t;
    to->column = fm_mem_alloc(mem, (t->columns + 1) * sizeof *to->column);
    to->cell = fm_mem_alloc(mem, (t->columns * t->rows + 1) * sizeof *to->cell);
    if (to->column == NULL || to->cell == NULL)
        return FM_NOMEM;
    for (size_t c = 0; c < t->columns; c++) {
        if (!t->column[c].hidden)
            to->column[n++] = t->column[c];
    }
    to->columns = n;
    n = 0;
    for (size_t i = 0; i < t->rows * t->columns; i++) {
        if (!t->column[i % t->columns].hidden)
            to->cell[n++] = t->cell[i];
    }
    return FM_OK;
}

static void show_release(const struct fm_result_table *t, struct fm_mem *mem,
                         struct fm_result_table *to)
{
    size_t cells = (t->columns * t->rows + 1) * sizeof *to->cell;

    fm_mem_free(mem, to->column,
                to->column == NULL ? 0 : (t->columns + 1) * sizeof *to->column);
    fm_mem_free(mem, to->cell, to->cell == NULL ? 0 : cells);
}

#define GAP 2
#define LEAST 12               /* columns that a shortened text keeps */

/* A text table at work. */
struct layout {
    const struct fm_result_table *t;
    struct scale *scale;       /* by column */
    size_t *width, *least;
    struct fm_out raw, cell;   /* a cell as it is, and as a terminal can show it */
};

/* Makes l->cell the text of a cell; row 0 is the head. */
static void layout_cell(struct layout *l, size_t row, size_t c)
{
    l->raw.n = l->cell.n = 0;
    if (row == 0)
        head_cell(&l->t->column[c], &l->scale[c], &l->raw);
    else
        scaled_cell(l->t, c, &l->scale[c], &l->t->cell[(row - 1) * l->t->columns + c], &l->raw);
    fm_layout_clean(&l->cell, l->raw.buf, l->raw.n);
}

static void measure(struct layout *l)
{
    const struct fm_result_table *t = l->t;

    for (size_t c = 0; c < t->columns; c++) {
        l->scale[c] = column_scale(t, c);
        for (size_t r = 0; r <= t->rows; r++) {
            layout_cell(l, r, c);
            l->width[c] = FM_MAX(l->width[c], fm_utf8_width(l->cell.buf, l->cell.n));
            if (r == 0)
                l->least[c] = FM_MAX(l->width[c], (size_t)LEAST);
        }
        if (t->column[c].type != FM_CELL_TEXT && t->column[c].type != FM_CELL_PATH)
            l->least[c] = l->width[c];
    }
    if (t->width > 0)
        fm_layout_fit(l->width, l->least, t->columns, GAP, t->width);
}

/* Of a path more of the leaf is shown than of the root. */
static unsigned head_parts(const struct fm_result_table *t, size_t c)
{
    if (t->column[c].type != FM_CELL_PATH)
        return 2;
    return t->leaf_first ? 2 : 1;
}

static void layout_rows(struct layout *l, struct fm_out *out)
{
    const struct fm_result_table *t = l->t;

    for (size_t r = 0; r <= t->rows; r++) {
        for (size_t c = 0; c < t->columns; c++) {
            bool right = is_number(t->column[c].type);
            size_t pad;
            layout_cell(l, r, c);
            l->raw.n = 0;
            fm_layout_shorten(&l->raw, l->cell.buf, l->cell.n, l->width[c], head_parts(t, c));
            pad = l->width[c] - FM_MIN(fm_utf8_width(l->raw.buf, l->raw.n), l->width[c]);
            if (c > 0)
                fm_out_pad(out, ' ', GAP);
            if (right)
                fm_out_pad(out, ' ', pad);
            fm_out_bytes(out, l->raw.buf, l->raw.n);
            if (!right && c + 1 < t->columns)
                fm_out_pad(out, ' ', pad);
        }
        fm_out_char(out, '\n');
    }
}

static enum fm_status write_text(const struct fm_result_table *t, struct fm_mem *mem,
                                 struct fm_out *out)
{
    size_t scales = (t->columns + 1) * sizeof(struct scale);
    size_t widths = (t->columns + 1) * sizeof(size_t);
    struct layout l = { .t = t, .raw = { .mem = mem }, .cell = { .mem = mem } };
    enum fm_status status = FM_NOMEM;

    l.width = fm_mem_zalloc(mem, widths);
    l.least = fm_mem_zalloc(mem, widths);
    l.scale = fm_mem_alloc(mem, scales);
    if (l.width == NULL || l.least == NULL || l.scale == NULL
        || fm_out_init(&l.raw, mem, NULL) != FM_OK || fm_out_init(&l.cell, mem, NULL) != FM_OK)
        goto out;
    measure(&l);
    write_head(t, "# ", "", out);
    layout_rows(&l, out);
    status = l.raw.status != FM_OK ? l.raw.status : l.cell.status;
out:
    fm_out_release(&l.cell);
    fm_out_release(&l.raw);
    fm_mem_free(mem, l.scale, l.scale == NULL ? 0 : scales);
    fm_mem_free(mem, l.least, l.least == NULL ? 0 : widths);
    fm_mem_free(mem, l.width, l.width == NULL ? 0 : widths);
    return status;
}

/* What Markdown, or the HTML in it, would take for more than text gets a backslash. */
static void markdown_bytes(struct fm_out *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i] != '\0' && strchr("|\\<*_`[]~&$", s[i]) != NULL)
            fm_out_char(out, '\\');
        fm_out_char(out, s[i]);
    }
}

/* cell[0] holds a cell as it is, cell[1] without control characters. */
static void markdown_row(const struct fm_result_table *t, const struct scale *scale,
                         const struct fm_cell *row, struct fm_out *cell, struct fm_out *out)
{
    fm_out_char(out, '|');
    for (size_t c = 0; c < t->columns; c++) {
        cell[0].n = cell[1].n = 0;
        if (row == NULL)
            head_cell(&t->column[c], &scale[c], &cell[0]);
        else
            scaled_cell(t, c, &scale[c], &row[c], &cell[0]);
        fm_layout_clean(&cell[1], cell[0].buf, cell[0].n);
        fm_out_char(out, ' ');
        markdown_bytes(out, cell[1].buf, cell[1].n);
        fm_out_text(out, " |");
    }
    fm_out_char(out, '\n');
}

static enum fm_status write_markdown(const struct fm_result_table *t, struct fm_mem *mem,
                                     struct fm_out *out)
{
    size_t bytes = (t->columns + 1) * sizeof(struct scale);
    struct scale *scale = fm_mem_alloc(mem, bytes);
    struct fm_out cell[2] = { { .mem = mem }, { .mem = mem } };
    enum fm_status status = FM_NOMEM;

    if (scale == NULL || fm_out_init(&cell[0], mem, NULL) != FM_OK
        || fm_out_init(&cell[1], mem, NULL) != FM_OK)
        goto out;
    for (size_t c = 0; c < t->columns; c++)
        scale[c] = column_scale(t, c);
    write_head(t, "", "  ", out);
    fm_out_char(out, '\n');
    markdown_row(t, scale, NULL, cell, out);
    fm_out_char(out, '|');
    for (size_t c = 0; c < t->columns; c++)
        fm_out_text(out, is_number(t->column[c].type) ? " ---: |" : " --- |");
    fm_out_char(out, '\n');
    for (size_t r = 0; r < t->rows; r++)
        markdown_row(t, scale, &t->cell[r * t->columns], cell, out);
    status = cell[0].status != FM_OK ? cell[0].status : cell[1].status;
out:
    fm_out_release(&cell[1]);
    fm_out_release(&cell[0]);
    fm_mem_free(mem, scale, scale == NULL ? 0 : bytes);
    return status;
}

static enum fm_status write_shown(const struct fm_result_table *t,
                                  enum fm_status (*write)(const struct fm_result_table *,
                                                          struct fm_mem *, struct fm_out *),
                                  struct fm_mem *mem, struct fm_out *out)
{
    struct fm_result_table shown;
    enum fm_status status = show(t, mem, &shown);

    if (status == FM_OK)
        status = write(&shown, mem, out);
    show_release(t, mem, &shown);
    return status;
}

/* -------------------------------------------------------------------- all */

enum fm_status fm_result_write(const struct fm_result *result, const char *format,
                               const struct fm_sink *sink, struct fm_error *err)
{
    static const char *const known[] = { "text", "csv", "json", "markdown", "tsv" };
    enum fm_status status = FM_OK;
    struct fm_out out;
    size_t form = 0;

    while (form < FM_COUNT(known) && strcmp(format, known[form]) != 0)
        form++;
    if (form == FM_COUNT(known))
        return fm_error_set(err, FM_CONFIG,
                            "no result format '%s': text, csv, tsv, json or markdown", format);
    for (size_t i = 0; i < result->tables; i++)
        if (result->table[i].kept != NULL)
            return fm_error_set(err, FM_CONFIG, "'%s' is rows and no table: an exporter writes it",
                                result->table[i].name);
    if (fm_out_init(&out, result->mem, sink) != FM_OK)
        return fm_error_nomem(err);
    if (form == 2)
        fm_out_char(&out, '[');
    for (size_t i = 0; i < result->tables && status == FM_OK; i++) {
        const struct fm_result_table *t = &result->table[i];
        if (i > 0)
            fm_out_text(&out, form == 2 ? ",\n" : "\n");
        if (form == 1 || form == 4)
            status = write_separated(t, form == 4, result->mem, &out);
        else if (form == 2)
            write_json(t, &out);
        else
            status = write_shown(t, form == 0 ? write_text : write_markdown, result->mem, &out);
    }
    if (form == 2)
        fm_out_text(&out, "]\n");
    if (status == FM_OK)
        status = fm_out_finish(&out, err);
    else
        fm_error_nomem(err);
    fm_out_release(&out);
    return status;
}
