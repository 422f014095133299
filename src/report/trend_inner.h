/*
 * trend_inner.h - what the files about trends share: a trend's values in the order of its lines.
 *
 * trend_lines.c takes them from a table of the report, trend_table.c judges them and writes their
 * table, trend_chart.c draws them. All lies in the report's arena.
 */
#ifndef FM_REPORT_TREND_INNER_H
#define FM_REPORT_TREND_INNER_H

#include "report/inner.h"
#include "report/trend.h"

enum fm_report_side { FM_REPORT_NEITHER, FM_REPORT_BASELINE, FM_REPORT_CANDIDATE };

/* One file's value. */
struct fm_report_entry {
    uint32_t file;               /* place in report->file */
    uint32_t line;               /* which line it is of */
    const char *const *by;       /* [trend->bys]: the line's name in parts; NULL = null */
    bool timed;
    int64_t time;                /* ns; since 1970 on wall clocks */
    const char *when;            /* a label's text; NULL = null */
    bool whole;                  /* of a value that is one: `number` is exact */
    int64_t number;
    double value;                /* NAN: none */
    enum fm_report_side side;
};

/* A line's gate, where the trend has one. */
struct fm_report_line {
    size_t from, to;             /* its entries */
    const char *name;            /* "checkout, web-1" */
    size_t values;               /* all of it */
    size_t candidates;           /* those that were judged by their median */
    struct fm_trend trend;
};

struct fm_report_lines {
    struct fm_report_entry *entry; /* in the order of lines, times, files */
    size_t n;
    struct fm_report_line *line;
    size_t lines;
    bool timed, wall;            /* of the times; not timed: texts */
    const struct fm_report_column *column; /* of the value; NULL: the table has no columns */
    const char *unit;            /* of axis.h */
};

/* Takes them and judges every line. FM_CONFIG: the table has no such column. */
enum fm_status fm_report_lines(const struct fm_report *report, size_t trend,
                               struct fm_report_lines *lines, struct fm_error *err);
/* A date as labels have it: "2026-03-01", "20260301", also with a time of the day, "T14:05:07Z",
 * "_1405"; ns since 1970. */
bool fm_report_date(const char *text, int64_t *ns);
/* Its picture; `inside` a page, or as a file. */
enum fm_status fm_report_draw(const struct fm_report *report, size_t trend, bool inside,
                              struct fm_out *out, struct fm_error *err);

#endif
