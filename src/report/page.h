/*
 * page.h - what the files that write the index page share: the pieces of HTML.
 *
 * index.c writes the page and its sections, index_table.c the tables; page.c the pieces. All texts
 * of the report are escaped; links are percent-encoded paths, so that none has a scheme.
 */
#ifndef FM_REPORT_PAGE_H
#define FM_REPORT_PAGE_H

#include "report/inner.h"

struct fm_page {
    const struct fm_report *report;
    struct fm_out *out;
};

/* Escaped, in a <bdi>: a name with letters of another direction turns nothing around it. */
void fm_page_name(struct fm_out *out, const char *name);
void fm_page_text(struct fm_out *out, const char *text);
/* The path of a link below the page's folder. */
void fm_page_path(struct fm_out *out, const char *path);
void fm_page_link(struct fm_out *out, const char *path, const char *text);
/* `class`: "good", "warn", "bad" or "". */
void fm_page_pill(struct fm_out *out, const char *class, const char *text);
/* A cell of a table over files, with its value for the sort. NULL: null. */
void fm_page_cell(struct fm_out *out, const struct fm_report_column *column, const char *cell);
/* Its head. */
void fm_page_head(struct fm_out *out, const struct fm_report_column *column);
/* Whether a path ends in ".svg". */
bool fm_page_is_picture(const char *path);

/* index_table.c */
void fm_page_files(struct fm_page *page);
void fm_page_table(struct fm_page *page, const struct fm_report_table *table,
                   const char *const *to, size_t tos, bool open);

#endif
