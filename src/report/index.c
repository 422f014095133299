/*
 * index.c - the index page of a report: one HTML file beside what it links to.
 *
 *     head      policy, style; title, counts, contents
 *     gates     what failed or warned, a line each
 *     trends    line charts, in the page
 *     compared  pictures and tables of groups of files
 *     files     a row a file: state and error, labels, outputs, a small picture
 *     tables    the rows of all files (the first ones), and links to all of them
 *     script    sorts and finds; the page is whole without it
 *
 * The policy names the one script and the styles by their SHA-256, so that a browser runs nothing
 * else, whatever a name says; pictures come from the page's own folder.
 */
#include "report/axis.h"
#include "report/chart.h"
#include "report/page.h"
#include "report/trend_inner.h"

#include "util/error.h"
#include "util/sha256.h"
#include "util/text.h"

#include <stdio.h>

static const char script[] =
#include "report/page/index_js.inc"
    ;
static const char style[] =
#include "report/page/index_css.inc"
    ;

static void put_hash(struct fm_out *out, const char *text)
{
    uint8_t hash[FM_SHA256_BYTES];
    char base64[FM_SHA256_BASE64];

    fm_sha256(text, strlen(text), hash);
    fm_base64(hash, sizeof hash, base64);
    fm_out_printf(out, " 'sha256-%s'", base64);
}

static const char *title_of(const struct fm_report_plan *plan)
{
    return plan->title != NULL && plan->title[0] != '\0' ? plan->title : plan->name;
}

static void put_head(struct fm_page *page)
{
    struct fm_out *out = page->out;

    fm_out_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "script-src");
    put_hash(out, script);
    fm_out_text(out, "; style-src");
    put_hash(out, style);
    put_hash(out, fm_chart_style());
    fm_out_text(out, "; img-src 'self' file:; base-uri 'none'; form-action 'none'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n"
                     "<meta name=\"referrer\" content=\"no-referrer\">\n"
                     "<meta name=\"generator\" content=\"foldmill " PACKAGE_VERSION "\">\n"
                     "<title>");
    fm_page_text(out, title_of(page->report->plan));
    fm_out_text(out, "</title>\n<style>");
    fm_out_text(out, style);
    fm_out_text(out, "</style>\n<style>");
    fm_out_text(out, fm_chart_style());
    fm_out_text(out, "</style>\n</head>\n<body>\n");
}

/* -------------------------------------------------------------------- counts */

static void put_count(struct fm_out *out, const char *class, size_t n, const char *one,
                      const char *many)
{
    char number[32], text[96];

    fm_text_commas(n, number);
    snprintf(text, sizeof text, "%s %s", number, n == 1 ? one : many);
    fm_out_text(out, "<li>");
    fm_page_pill(out, class, text);
    fm_out_text(out, "</li>");
}

static void put_counts(struct fm_page *page)
{
    const struct fm_report *r = page->report;
    size_t damaged = 0, failed = 0, warned = 0, skipped = 0;
    uint64_t bytes = 0;
    char text[FM_AXIS_TEXT];

    for (size_t i = 0; i < r->files; i++) {
        damaged += strcmp(r->file[i].status, "damaged") == 0;
        failed += strcmp(r->file[i].status, "failed") == 0;
        skipped += strcmp(r->file[i].status, "skipped") == 0;
        bytes = fm_add_sat_u64(bytes, r->file[i].bytes);
    }
    for (const struct fm_report_verdict *v = r->verdict; v != NULL; v = v->next)
        warned += !v->failed;
    fm_out_text(page->out, "<ul class=\"pills\">");
    put_count(page->out, "", r->files - skipped, "file", "files");
    fm_out_text(page->out, "<li>");
    fm_page_pill(page->out, "", fm_axis_quantity((double)bytes, "bytes", text));
    fm_out_text(page->out, "</li>");
    if (damaged > 0)
        put_count(page->out, "warn", damaged, "damaged file", "damaged files");
    if (failed > 0)
        put_count(page->out, "bad", failed, "file without results", "files without results");
    if (r->gates_failed > 0)
        put_count(page->out, "bad", r->gates_failed, "failed check", "failed checks");
    else if (r->gates > 0)
        put_count(page->out, "good", r->gates, "check passed", "checks passed");
    if (warned > 0)
        put_count(page->out, "warn", warned, "warning", "warnings");
    fm_out_text(page->out, "</ul>\n");
}

static void put_jump(struct fm_out *out, const char *id, const char *text)
{
    fm_out_printf(out, "<a href=\"#%s\">", id);
    fm_page_text(out, text);
    fm_out_text(out, "</a>");
}

static void put_top(struct fm_page *page)
{
    const struct fm_report_plan *plan = page->report->plan;
    struct fm_out *out = page->out;
    char id[32];

    fm_out_text(out, "<header>\n<h1>");
    fm_page_name(out, title_of(plan));
    fm_out_text(out, "</h1>\n");
    if (plan->about != NULL && plan->about[0] != '\0') {
        fm_out_text(out, "<p>");
        fm_page_name(out, plan->about);
        fm_out_text(out, "</p>\n");
    }
    put_counts(page);
    fm_out_text(out, "<nav aria-label=\"Sections\">");
    if (plan->trends > 0)
        put_jump(out, "trends", "Trends");
    if (plan->compares > 0)
        put_jump(out, "compared", "Compared");
    put_jump(out, "files", "Files");
    for (size_t i = 0; i < plan->tables; i++) {
        const struct fm_report_table *table = &page->report->table[i];

        snprintf(id, sizeof id, "table-%zu", i);
        put_jump(out, id, table->about != NULL && table->about[0] != '\0' ? table->about
                                                                          : table->name);
    }
    fm_out_text(out, "</nav>\n</header>\n<main>\n");
}

/* ------------------------------------------------------------------ sections */

static void put_verdicts(struct fm_page *page)
{
    struct fm_out *out = page->out;

    if (page->report->verdict == NULL)
        return;
    fm_out_text(out, "<section id=\"gates\">\n<h2>Checks</h2>\n<ul class=\"verdicts\">\n");
    for (const struct fm_report_verdict *v = page->report->verdict; v != NULL; v = v->next) {
        fm_out_text(out, "<li>");
        fm_page_pill(out, v->failed ? "bad" : "warn", v->failed ? "failed" : "warning");
        fm_out_text(out, "<span><b>");
        fm_page_name(out, v->of);
        fm_out_text(out, "</b> ");
        fm_page_name(out, v->text);
        fm_out_text(out, "</span></li>\n");
    }
    fm_out_text(out, "</ul>\n</section>\n");
}

static enum fm_status put_trends(struct fm_page *page, struct fm_error *err)
{
    const struct fm_report_plan *plan = page->report->plan;
    struct fm_out *out = page->out;

    if (plan->trends == 0)
        return FM_OK;
    fm_out_text(out, "<section id=\"trends\" class=\"charts\">\n<h2>Trends</h2>\n");
    for (size_t i = 0; i < plan->trends; i++) {
        const struct fm_report_trend *t = &plan->trend[i];
        enum fm_status status;

        fm_out_text(out, "<figure>\n");
        status = fm_report_draw(page->report, i, true, out, err);
        if (status != FM_OK)
            return status;
        fm_out_text(out, "<figcaption>");
        if (t->chart != NULL)
            fm_page_link(out, t->chart, t->chart);
        if (t->chart != NULL && t->to != NULL)
            fm_out_text(out, " ");
        if (t->to != NULL)
            fm_page_link(out, t->to, t->to);
        fm_out_text(out, "</figcaption>\n</figure>\n");
    }
    fm_out_text(out, "</section>\n");
    return FM_OK;
}

static void put_compare(struct fm_page *page, size_t i)
{
    const struct fm_report_plan *plan = page->report->plan;
    const struct fm_report_compare *c = &plan->compare[i];
    const struct fm_report_output *o = &page->report->compared[i];
    struct fm_out *out = page->out;

    fm_out_text(out, "<figure>");
    if (o->path != NULL && fm_page_is_picture(o->path)) {
        fm_out_text(out, "<a href=\"");
        fm_page_path(out, o->path);
        fm_out_text(out, "\"><img loading=\"lazy\" alt=\"\" src=\"");
        fm_page_path(out, o->path);
        fm_out_text(out, "\"></a>");
    }
    fm_out_text(out, "<figcaption>");
    if (o->path != NULL)
        fm_page_link(out, o->path, c->name);
    else
        fm_page_name(out, c->name);
    if (o->gate) {
        fm_out_text(out, " ");
        fm_page_pill(out, "bad", "check failed");
    }
    if (o->error != NULL && o->path == NULL) {
        fm_out_text(out, " <span class=\"err\">");
        fm_page_name(out, o->error);
        fm_out_text(out, "</span>");
    }
    for (size_t g = 0; g < c->groups; g++) {
        fm_out_text(out, g == 0 ? "<br>" : ", ");
        fm_page_name(out, plan->group[c->group[g]].name);
    }
    fm_out_text(out, "</figcaption></figure>\n");
}

static void put_compared(struct fm_page *page)
{
    if (page->report->plan->compares == 0 || page->report->compared == NULL)
        return;
    fm_out_text(page->out, "<section id=\"compared\">\n<h2>Compared</h2>\n"
                           "<div class=\"pictures\">\n");
    for (size_t i = 0; i < page->report->plan->compares; i++)
        put_compare(page, i);
    fm_out_text(page->out, "</div>\n</section>\n");
}

/* A table with few columns and rows of all files is what people look for first. */
static void put_tables(struct fm_page *page)
{
    const struct fm_report_plan *plan = page->report->plan;

    for (size_t i = 0; i < plan->tables; i++) {
        fm_out_printf(page->out, "<section id=\"table-%zu\">\n", i);
        fm_page_table(page, &page->report->table[i], plan->rows[i].to, plan->rows[i].tos,
                      i < 3);
        fm_out_text(page->out, "</section>\n");
    }
}

enum fm_status fm_report_page(const struct fm_report *report, struct fm_out *out,
                              struct fm_error *err)
{
    struct fm_page page = {report, out};
    enum fm_status status;

    put_head(&page);
    put_top(&page);
    put_verdicts(&page);
    status = put_trends(&page, err);
    if (status != FM_OK)
        return status;
    put_compared(&page);
    fm_page_files(&page);
    put_tables(&page);
    fm_out_text(out, "</main>\n<footer>Made by foldmill " PACKAGE_VERSION
                     ". Times are UTC.</footer>\n<script>");
    fm_out_text(out, script);
    fm_out_text(out, "</script>\n</body>\n</html>\n");
    return out->status == FM_NOMEM ? fm_error_nomem(err) : FM_OK;
}
