/*
 * chart_inner.h - what the files that draw a chart share: the picture in the making.
 *
 * chart.c lays out and writes the frame, axes and legend; chart_draw.c the lines, points and
 * tooltips.
 */
#ifndef FM_REPORT_CHART_INNER_H
#define FM_REPORT_CHART_INNER_H

#include "report/axis.h"
#include "report/chart.h"

#define FM_CHART_COLORS 10
#define FM_CHART_DASHES 3

struct fm_chart_sheet {
    const struct fm_chart *chart;
    struct fm_out *out;
    struct fm_arena *arena;
    double width, height;           /* of the picture */
    double left, top, right, bottom; /* of the plot */
    struct fm_axis axis;
    int64_t first, last;            /* of timed charts */
    double *x;                      /* of each place */
    size_t values;                  /* finite ones */
};

double fm_chart_y(const struct fm_chart_sheet *s, double value);
/* "name" shortened in its middle to `most` columns, escaped. */
void fm_chart_text(struct fm_out *out, const char *name, size_t most);
/* A coordinate with one decimal. */
void fm_chart_number(struct fm_out *out, double v);
/* ` class="s c3 d1"`: colour and dashes of series i. */
void fm_chart_class(struct fm_out *out, size_t series);
/* The label of a place, or its time. */
const char *fm_chart_place_name(const struct fm_chart *chart, uint32_t place,
                                char buf[FM_AXIS_TEXT]);

/* chart_draw.c */
void fm_chart_columns(struct fm_chart_sheet *s);
void fm_chart_lines(struct fm_chart_sheet *s);

#endif
