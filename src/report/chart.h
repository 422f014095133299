/*
 * chart.h - a line chart as SVG: values of several series over times or labels.
 *
 * The picture needs no script and loads nothing. As a file of its own it holds its style, which
 * follows the viewer's dark mode; for a page (`inside`) the page holds fm_chart_style() once. What
 * the pointer rests on is told by <title>: a column of the plot by all its values, a point by its
 * own. Texts are escaped; the same chart gives the same bytes.
 *
 *     title                                  subtitle
 *     unit  .------------------------------------.
 *       2 s |        gate - - - - - - - - - - - -|
 *           |   ,o.           baseline: a band   |
 *       1 s |--o---o------------------------x----|    x: a point that failed its gate
 *           '------------------------------------'
 *             14:00     15:00     16:00                times, or labels
 *             1 Mar 2026
 *     -o- series 1   -o- series 2                      the legend
 *
 * A series of more points than the plot has columns is drawn by the least and the greatest value of
 * each column. Borrowed texts and arrays live with the caller.
 */
#ifndef FM_REPORT_CHART_H
#define FM_REPORT_CHART_H

#include "util/out.h"

#define FM_CHART_NONE UINT32_MAX

/* A place on the horizontal axis. Timed charts have their places in order of time. */
struct fm_chart_place {
    int64_t time;               /* ns, for timed charts */
    const char *label;          /* its name; NULL = its time */
};

enum fm_chart_mark {
    FM_CHART_PLAIN,
    FM_CHART_BASE,              /* of the baseline: drawn hollow */
    FM_CHART_BAD                /* failed its gate: a red cross */
};

struct fm_chart_point {
    uint32_t place;
    uint8_t mark;               /* enum fm_chart_mark */
    double value;               /* not finite: none; the line has a gap there */
    const char *note;           /* a line for its tooltip, or NULL */
};

struct fm_chart_series {
    const char *name;
    const struct fm_chart_point *point; /* in order of their places */
    size_t points;
};

struct fm_chart {
    const char *title, *subtitle;   /* subtitle: or NULL */
    const char *unit;               /* of axis.h */
    bool timed, wall;               /* wall: times are ns since 1970, shown in UTC */
    const struct fm_chart_place *place;
    size_t places;
    const struct fm_chart_series *series;
    size_t all;                     /* how many series */
    bool gated, banded;
    double gate;                    /* a line: what lies past it is worse */
    double median, low, high;       /* the band of a baseline */
    const char *gate_name;          /* NULL = "gate" */
    unsigned width, height;         /* of the plot with its axes; 0 = 960 by 340 */
    bool inside;                    /* an element of a page: no declaration, no style */
};

/* Writes it; FM_NOMEM, or the writer's failure at its end. */
enum fm_status fm_chart_write(struct fm_out *out, const struct fm_chart *chart,
                              struct fm_error *err);
/* The style that `inside` charts need; it names only elements below .fm-chart. */
const char *fm_chart_style(void);

#endif
