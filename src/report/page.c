/*
 * page.c - pieces of HTML: see page.h.
 */
#include "report/page.h"

#include "report/axis.h"
#include "util/text.h"

#include <math.h>
#include <stdio.h>

#define NARROW 24           /* bytes of a text that stays in one line */

void fm_page_text(struct fm_out *out, const char *text)
{
    fm_out_xml(out, text, strlen(text));
}

void fm_page_name(struct fm_out *out, const char *name)
{
    fm_out_text(out, "<bdi>");
    fm_page_text(out, name);
    fm_out_text(out, "</bdi>");
}

void fm_page_path(struct fm_out *out, const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789-._~/";

    if (*path == '/')
        fm_out_text(out, ".");
    for (; *path != '\0'; path++) {
        if (strchr(plain, *path) != NULL)
            fm_out_char(out, *path);
        else
            fm_out_printf(out, "%%%02X", (unsigned)(unsigned char)*path);
    }
}

void fm_page_link(struct fm_out *out, const char *path, const char *text)
{
    fm_out_text(out, "<a href=\"");
    fm_page_path(out, path);
    fm_out_text(out, "\">");
    fm_page_name(out, text);
    fm_out_text(out, "</a>");
}

void fm_page_pill(struct fm_out *out, const char *class, const char *text)
{
    fm_out_printf(out, "<span class=\"pill%s%s\">", class[0] != '\0' ? " " : "", class);
    fm_page_text(out, text);
    fm_out_text(out, "</span>");
}

bool fm_page_is_picture(const char *path)
{
    size_t n = strlen(path);

    return n > 4 && strcmp(path + n - 4, ".svg") == 0;
}

/* -------------------------------------------------------------------- cells */

static bool is_number(const struct fm_report_column *column)
{
    return column->type == FM_REPORT_NUMBER || column->type == FM_REPORT_SHARE ||
           column->type == FM_REPORT_WALL;
}

void fm_page_head(struct fm_out *out, const struct fm_report_column *column)
{
    bool right = column->type == FM_REPORT_NUMBER || column->type == FM_REPORT_SHARE;

    fm_out_text(out, right ? "<th class=\"n\">" : "<th>");
    fm_page_text(out, column->name);
    fm_out_text(out, "</th>");
}

/* A bar as long as the share. */
static void put_bar(struct fm_out *out, double share)
{
    if (!(share >= 0 && share <= 1))
        return;
    fm_out_text(out, "<svg width=\"60\" height=\"9\" aria-hidden=\"true\"><rect class=\"bar\" "
                     "height=\"9\" width=\"");
    fm_out_fixed(out, share * 60, 1);
    fm_out_text(out, "\"/></svg>");
}

static void put_number(struct fm_out *out, const struct fm_report_column *column, const char *cell,
                       double v)
{
    char text[FM_AXIS_TEXT];
    int64_t ns;

    if (column->type == FM_REPORT_WALL && fm_text_i64(cell, strlen(cell), &ns)) {
        fm_page_text(out, fm_axis_time(ns, text));
        return;
    }
    if (column->type == FM_REPORT_SHARE) {
        fm_page_text(out, fm_axis_quantity(v, "share", text));
        put_bar(out, v);
        return;
    }
    fm_page_text(out, fm_axis_quantity(v, column->unit, text));
}

void fm_page_cell(struct fm_out *out, const struct fm_report_column *column, const char *cell)
{
    double v;

    if (!is_number(column)) {
        fm_out_text(out, cell != NULL && strlen(cell) <= NARROW ? "<td class=\"s\">" : "<td>");
        if (cell != NULL)
            fm_page_name(out, cell);
        fm_out_text(out, "</td>");
        return;
    }
    if (cell == NULL || !fm_text_f64(cell, strlen(cell), &v) || !isfinite(v)) {
        fm_out_text(out, "<td class=\"n\" data-v=\"\">");
        if (cell != NULL)
            fm_page_name(out, cell);
        fm_out_text(out, "</td>");
        return;
    }
    fm_out_text(out, column->type == FM_REPORT_WALL ? "<td class=\"s\" data-v=\""
                                                    : "<td class=\"n\" data-v=\"");
    fm_out_f64(out, v);
    if (column->type == FM_REPORT_NUMBER) {
        fm_out_text(out, "\" title=\"");
        fm_page_text(out, cell);
    }
    fm_out_text(out, "\">");
    put_number(out, column, cell, v);
    fm_out_text(out, "</td>");
}
