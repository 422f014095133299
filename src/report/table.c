/*
 * table.c - a table over files as text, CSV, TSV, JSON and Markdown.
 *
 *     CSV, TSV  raw values; times as ISO 8601 in UTC; null is an empty field
 *     JSON      [{"table": NAME, "columns": [{name, type, unit}], "rows": [{column: value}]}]
 *     text      columns as wide as their widest cell, numbers to the right
 */
#include "report/inner.h"

#include "util/error.h"
#include "util/text.h"

#include <stdio.h>

size_t fm_report_find(const struct fm_report_table *table, const char *column)
{
    size_t i = 0;

    while (i < table->columns && strcmp(table->column[i].name, column) != 0)
        i++;
    return i;
}

bool fm_report_fits(const struct fm_report_table *table, size_t row,
                    const struct fm_report_match *match, size_t matches)
{
    for (size_t i = 0; i < matches; i++) {
        size_t col = fm_report_find(table, match[i].column);
        const char *cell = col < table->columns ? table->cell[row * table->columns + col] : NULL;
        bool fits = false;

        for (size_t k = 0; cell != NULL && !fits && k < match[i].patterns; k++)
            fits = fm_pattern_match(match[i].pattern[k], cell, strlen(cell));
        if (!fits)
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------- cells */

/* Days since 1970 as year, month, day in the Gregorian calendar: counted from 1 March of year 0, so
 * that a leap day ends its year. */
static void date(int64_t days, int64_t *year, unsigned *month, unsigned *day)
{
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    unsigned doe = (unsigned)(z - era * 146097);
    unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100), m = (5 * doy + 2) / 153;

    *day = doy - (153 * m + 2) / 5 + 1;
    *month = m < 10 ? m + 3 : m - 9;
    *year = (int64_t)yoe + era * 400 + (*month <= 2);
}

/* A cell as it is read by people and spreadsheets; buf has 64 bytes. */
static const char *shown(const struct fm_report_column *column, const char *cell, char *buf)
{
    int64_t ns, second, year;
    unsigned month, day, left;

    if (cell == NULL)
        return "";
    if (column->type != FM_REPORT_WALL || !fm_text_i64(cell, strlen(cell), &ns))
        return cell;
    second = ns / 1000000000 - (ns % 1000000000 < 0);
    left = (unsigned)(ns - second * 1000000000);
    date(second / 86400 - (second % 86400 < 0), &year, &month, &day);
    second -= (second / 86400 - (second % 86400 < 0)) * 86400;
    snprintf(buf, 64, "%04lld-%02u-%02uT%02u:%02u:%02u.%09uZ", (long long)year, month, day,
             (unsigned)(second / 3600), (unsigned)(second / 60 % 60), (unsigned)(second % 60),
             left);
    return buf;
}

static const char *cell_at(const struct fm_report_table *t, size_t row, size_t col)
{
    return t->cell[row * t->columns + col];
}

static bool to_the_right(const struct fm_report_column *column)
{
    return column->type == FM_REPORT_NUMBER || column->type == FM_REPORT_SHARE;
}

/* ------------------------------------------------------------------- forms */

static void separated(const struct fm_report_table *t, struct fm_out *out, char by,
                      void (*put)(struct fm_out *out, const char *s, size_t n))
{
    char buf[64];

    for (size_t c = 0; c < t->columns; c++) {
        if (c > 0)
            fm_out_char(out, by);
        put(out, t->column[c].name, strlen(t->column[c].name));
    }
    fm_out_char(out, '\n');
    for (size_t r = 0; r < t->rows; r++) {
        for (size_t c = 0; c < t->columns; c++) {
            const char *s = shown(&t->column[c], cell_at(t, r, c), buf);

            if (c > 0)
                fm_out_char(out, by);
            put(out, s, strlen(s));
        }
        fm_out_char(out, '\n');
    }
}

static const char *type_name(enum fm_report_type type)
{
    static const char *const name[] = {"text", "number", "bool", "time", "share"};

    return name[type];
}

static void json_cell(struct fm_out *out, const struct fm_report_column *column, const char *cell)
{
    char buf[64];
    const char *s = shown(column, cell, buf);
    double v;

    if (cell == NULL)
        fm_out_text(out, "null");
    else if (column->type == FM_REPORT_BOOL
             || (to_the_right(column) && fm_text_f64(s, strlen(s), &v)))
        fm_out_text(out, s);
    else
        fm_out_json(out, s, strlen(s));
}

static void json(const struct fm_report_table *t, struct fm_out *out)
{
    fm_out_text(out, "{\"table\": ");
    fm_out_json(out, t->name, strlen(t->name));
    fm_out_text(out, ",\n \"columns\": [");
    for (size_t c = 0; c < t->columns; c++) {
        fm_out_text(out, c > 0 ? ",\n  {\"name\": " : "\n  {\"name\": ");
        fm_out_json(out, t->column[c].name, strlen(t->column[c].name));
        fm_out_printf(out, ", \"type\": \"%s\", \"unit\": ", type_name(t->column[c].type));
        fm_out_json(out, t->column[c].unit, strlen(t->column[c].unit));
        fm_out_char(out, '}');
    }
    fm_out_text(out, "],\n \"rows\": [");
    for (size_t r = 0; r < t->rows; r++) {
        fm_out_text(out, r > 0 ? ",\n  {" : "\n  {");
        for (size_t c = 0; c < t->columns; c++) {
            fm_out_text(out, c > 0 ? ", " : "");
            fm_out_json(out, t->column[c].name, strlen(t->column[c].name));
            fm_out_text(out, ": ");
            json_cell(out, &t->column[c], cell_at(t, r, c));
        }
        fm_out_char(out, '}');
    }
    fm_out_text(out, "]}\n");
}

static void markdown_text(struct fm_out *out, const char *s)
{
    for (; *s != '\0'; s++) {
        if (*s == '|' || *s == '\\')
            fm_out_char(out, '\\');
        fm_out_char(out, *s == '\n' || *s == '\r' ? ' ' : *s);
    }
}

static void markdown(const struct fm_report_table *t, struct fm_out *out)
{
    char buf[64];

    for (size_t c = 0; c < t->columns; c++) {
        fm_out_text(out, c > 0 ? " | " : "| ");
        markdown_text(out, t->column[c].name);
    }
    fm_out_text(out, " |\n|");
    for (size_t c = 0; c < t->columns; c++)
        fm_out_text(out, to_the_right(&t->column[c]) ? " ---: |" : " --- |");
    fm_out_char(out, '\n');
    for (size_t r = 0; r < t->rows; r++) {
        for (size_t c = 0; c < t->columns; c++) {
            fm_out_text(out, c > 0 ? " | " : "| ");
            markdown_text(out, shown(&t->column[c], cell_at(t, r, c), buf));
        }
        fm_out_text(out, " |\n");
    }
}

/* Lines of a cell would break the table. */
static void text_cell(struct fm_out *out, const char *s, size_t width, bool right, bool last)
{
    size_t n = fm_utf8_width(s, strlen(s)), pad = width > n ? width - n : 0;

    if (right)
        fm_out_pad(out, ' ', pad);
    for (; *s != '\0'; s++)
        fm_out_char(out, (unsigned char)*s < ' ' ? ' ' : *s);
    if (!right && !last)
        fm_out_pad(out, ' ', pad);
}

static enum fm_status text(const struct fm_report_table *t, struct fm_out *out,
                           struct fm_error *err)
{
    size_t *width = fm_mem_zalloc(out->mem, (t->columns + 1) * sizeof *width);
    char buf[64];

    if (width == NULL)
        return fm_error_nomem(err);
    for (size_t c = 0; c < t->columns; c++) {
        width[c] = fm_utf8_width(t->column[c].name, strlen(t->column[c].name));
        for (size_t r = 0; r < t->rows; r++) {
            const char *s = shown(&t->column[c], cell_at(t, r, c), buf);

            width[c] = FM_MAX(width[c], fm_utf8_width(s, strlen(s)));
        }
    }
    for (size_t r = 0; r <= t->rows; r++) {
        for (size_t c = 0; c < t->columns; c++) {
            const char *s = r == 0 ? t->column[c].name
                                   : shown(&t->column[c], cell_at(t, r - 1, c), buf);

            fm_out_text(out, c > 0 ? "  " : "");
            text_cell(out, s, width[c], to_the_right(&t->column[c]), c + 1 == t->columns);
        }
        fm_out_char(out, '\n');
    }
    fm_mem_free(out->mem, width, (t->columns + 1) * sizeof *width);
    return FM_OK;
}

enum fm_status fm_report_write(const struct fm_report_table *table, const char *form,
                               struct fm_out *out, struct fm_error *err)
{
    if (strcmp(form, "csv") == 0)
        separated(table, out, ',', fm_out_csv);
    else if (strcmp(form, "tsv") == 0)
        separated(table, out, '\t', fm_out_tsv);
    else if (strcmp(form, "json") == 0)
        json(table, out);
    else if (strcmp(form, "markdown") == 0)
        markdown(table, out);
    else
        return text(table, out, err);
    return out->status == FM_OK ? FM_OK : fm_error_nomem(err);
}
