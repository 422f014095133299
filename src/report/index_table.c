/*
 * index_table.c - the tables of the index page: one row a file with what was made of it, and the
 * tables of the report.
 *
 * A bad file's row is marked, and its error stands in it. Columns that no file has anything in
 * (host, start) are left out, and files of no known format.
 */
#include "report/page.h"

#include "report/axis.h"

#include <stdio.h>

#define ROWS 1000           /* of a table over all files; the rest is in its own file */

/* ------------------------------------------------------------------- files */

/* Which columns there are. */
struct shown {
    bool format, host, start, duration, picture, output;
    bool wall;              /* starts are of the wall clock */
    size_t picture_at;      /* place in plan->each; plan->eaches: none */
};

static bool is_bad(const struct fm_report_file *f)
{
    return strcmp(f->status, "damaged") == 0 || strcmp(f->status, "failed") == 0;
}

/* An output that could not be written is a problem of its row as well. */
static bool has_problem(const struct fm_page *page, const struct fm_report_file *f)
{
    bool any = is_bad(f);

    for (size_t i = 0; i < page->report->plan->eaches && !any; i++)
        any = f->output[i].gate || (f->output[i].error != NULL && f->output[i].path == NULL);
    return any;
}

static struct shown look(const struct fm_page *page)
{
    const struct fm_report_plan *plan = page->report->plan;
    struct shown s = {.picture_at = plan->eaches};

    for (size_t i = 0; i < plan->eaches && plan->index.picture != NULL; i++)
        if (strcmp(plan->each[i].to, plan->index.picture) == 0)
            s.picture_at = i;
    for (size_t i = 0; i < page->report->files; i++) {
        const struct fm_report_file *f = &page->report->file[i];

        s.format = s.format || f->format != NULL;
        s.host = s.host || f->host != NULL;
        s.start = s.start || (f->has_start && f->has_wall);
        s.duration = s.duration || f->has_start;
        s.picture = s.picture || (s.picture_at < plan->eaches &&
                                  f->output[s.picture_at].path != NULL);
    }
    s.output = plan->eaches > 0;
    return s;
}

static void put_heads(struct fm_page *page, const struct shown *s)
{
    const struct fm_report_plan *plan = page->report->plan;
    struct fm_out *out = page->out;

    fm_out_text(out, "<thead><tr><th>file</th><th>state</th>");
    if (s->picture)
        fm_out_text(out, "<th class=\"fixed\">picture</th>");
    if (s->output)
        fm_out_text(out, "<th class=\"fixed\">outputs</th>");
    for (size_t i = 0; i < plan->label_count; i++) {
        fm_out_text(out, "<th>");
        fm_page_text(out, plan->label[i]);
        fm_out_text(out, "</th>");
    }
    if (s->format)
        fm_out_text(out, "<th>format</th>");
    if (s->host)
        fm_out_text(out, "<th>host</th>");
    if (s->start)
        fm_out_text(out, "<th>start</th>");
    if (s->duration)
        fm_out_text(out, "<th class=\"n\">duration</th>");
    fm_out_text(out, "<th class=\"n\">size</th>");
    fm_out_text(out, "</tr></thead>\n");
}

static void put_state(struct fm_page *page, const struct fm_report_file *f)
{
    struct fm_out *out = page->out;
    const char *class = strcmp(f->status, "ok") == 0       ? "good"
                        : strcmp(f->status, "failed") == 0  ? "bad"
                        : strcmp(f->status, "damaged") == 0 ? "warn"
                                                            : "";

    fm_out_text(out, "<td>");
    fm_page_pill(out, class, f->status);
    if (f->error != NULL) {
        fm_out_text(out, " <span class=\"err\">");
        if (f->offset != FM_NO_OFFSET)
            fm_out_printf(out, "offset %llu: ", (unsigned long long)f->offset);
        fm_page_name(out, f->error);
        fm_out_text(out, "</span>");
    }
    fm_out_text(out, "</td>");
}

static void put_picture(struct fm_page *page, const struct fm_report_output *o)
{
    struct fm_out *out = page->out;

    fm_out_text(out, "<td>");
    if (o->path != NULL) {
        fm_out_text(out, "<a href=\"");
        fm_page_path(out, o->path);
        fm_out_text(out, "\"><img loading=\"lazy\" width=\"170\" height=\"46\" alt=\"\" src=\"");
        fm_page_path(out, o->path);
        fm_out_text(out, "\"></a>");
    }
    fm_out_text(out, "</td>");
}

static void put_outputs(struct fm_page *page, const struct fm_report_file *f)
{
    const struct fm_report_plan *plan = page->report->plan;
    struct fm_out *out = page->out;

    fm_out_text(out, "<td>");
    for (size_t i = 0; i < plan->eaches; i++) {
        const struct fm_report_output *o = &f->output[i];

        if (o->path == NULL && o->error == NULL)
            continue;
        if (i > 0)
            fm_out_text(out, " ");
        if (o->path != NULL)
            fm_page_link(out, o->path, plan->each[i].to);
        if (o->gate) {
            fm_out_text(out, " ");
            fm_page_pill(out, "bad", "check failed");
        }
        if (o->error != NULL && o->path == NULL) {
            fm_out_text(out, "<span class=\"err\">");
            fm_page_name(out, plan->each[i].to);
            fm_out_text(out, ": ");
            fm_page_name(out, o->error);
            fm_out_text(out, "</span>");
        }
    }
    fm_out_text(out, "</td>");
}

static void put_facts(struct fm_page *page, const struct fm_report_file *f, const struct shown *s)
{
    static const struct fm_report_column wall = {"start", FM_REPORT_WALL, "", true};
    static const struct fm_report_column time = {"duration", FM_REPORT_NUMBER, "ns", true};
    static const struct fm_report_column size = {"size", FM_REPORT_NUMBER, "bytes", true};
    static const struct fm_report_column text = {"", FM_REPORT_TEXT, "", true};
    char number[32];

    if (s->format)
        fm_page_cell(page->out, &text, f->format);
    if (s->host)
        fm_page_cell(page->out, &text, f->host);
    snprintf(number, sizeof number, "%lld", (long long)f->start);
    if (s->start)
        fm_page_cell(page->out, &wall, f->has_start && f->has_wall ? number : NULL);
    snprintf(number, sizeof number, "%lld", (long long)f->duration);
    if (s->duration)
        fm_page_cell(page->out, &time, f->has_start ? number : NULL);
    snprintf(number, sizeof number, "%llu", (unsigned long long)f->bytes);
    fm_page_cell(page->out, &size, number);
}

static void put_file(struct fm_page *page, const struct fm_report_file *f, const struct shown *s)
{
    static const struct fm_report_column text = {"", FM_REPORT_TEXT, "", true};
    struct fm_out *out = page->out;

    fm_out_text(out, has_problem(page, f) ? "<tr class=\"bad-row\">" : "<tr>");
    fm_page_cell(out, &text, f->name);
    put_state(page, f);
    if (s->picture)
        put_picture(page, &f->output[s->picture_at]);
    if (s->output)
        put_outputs(page, f);
    for (size_t i = 0; i < page->report->plan->label_count; i++)
        fm_page_cell(out, &text, f->label[i]);
    put_facts(page, f, s);
    fm_out_text(out, "</tr>\n");
}

void fm_page_files(struct fm_page *page)
{
    struct shown s = look(page);
    size_t skipped = 0;

    fm_out_text(page->out, "<section id=\"files\">\n<h2>Files</h2>\n<div class=\"find\"></div>\n"
                           "<div class=\"wide\"><table>\n");
    put_heads(page, &s);
    fm_out_text(page->out, "<tbody>\n");
    for (size_t i = 0; i < page->report->files; i++) {
        if (strcmp(page->report->file[i].status, "skipped") == 0)
            skipped++;
        else
            put_file(page, &page->report->file[i], &s);
    }
    fm_out_text(page->out, "</tbody></table></div>\n");
    if (skipped > 0)
        fm_out_printf(page->out, "<p class=\"more\">%zu file%s of no known format %s left "
                                 "out.</p>\n", skipped, skipped == 1 ? "" : "s",
                      skipped == 1 ? "is" : "are");
    fm_out_text(page->out, "</section>\n");
}

/* ------------------------------------------------------------------- tables */

static void put_links(struct fm_page *page, const char *const *to, size_t tos)
{
    for (size_t i = 0; i < tos; i++) {
        fm_out_text(page->out, i == 0 ? "" : " ");
        fm_page_link(page->out, to[i], to[i]);
    }
}

static void put_rows(struct fm_page *page, const struct fm_report_table *table, size_t rows)
{
    struct fm_out *out = page->out;

    fm_out_text(out, "<div class=\"find\"></div>\n<div class=\"wide\"><table>\n<thead><tr>");
    for (size_t c = 0; c < table->columns; c++)
        fm_page_head(out, &table->column[c]);
    fm_out_text(out, "</tr></thead>\n<tbody>\n");
    for (size_t r = 0; r < rows; r++) {
        bool bad = table->file != NULL && is_bad(&page->report->file[table->file[r]]);

        fm_out_text(out, bad ? "<tr class=\"bad-row\">" : "<tr>");
        for (size_t c = 0; c < table->columns; c++)
            fm_page_cell(out, &table->column[c], table->cell[r * table->columns + c]);
        fm_out_text(out, "</tr>\n");
    }
    fm_out_text(out, "</tbody></table></div>\n");
}

void fm_page_table(struct fm_page *page, const struct fm_report_table *table,
                   const char *const *to, size_t tos, bool open)
{
    struct fm_out *out = page->out;
    size_t rows = FM_MIN(table->rows, (size_t)ROWS);

    fm_out_text(out, open ? "<details open><summary><h2>" : "<details><summary><h2>");
    fm_page_name(out, table->about != NULL && table->about[0] != '\0' ? table->about
                                                                      : table->name);
    fm_out_text(out, "</h2></summary>\n");
    if (tos > 0) {
        fm_out_text(out, "<p class=\"more\">");
        put_links(page, to, tos);
        fm_out_text(out, "</p>\n");
    }
    if (table->columns > 0)
        put_rows(page, table, rows);
    else
        fm_out_text(out, "<p class=\"more\">No file has given rows.</p>\n");
    if (rows < table->rows)
        fm_out_printf(out, "<p class=\"more\">The first %zu of %zu rows.</p>\n", rows,
                      table->rows);
    fm_out_text(out, "</details>\n");
}
