/*
 * trend_chart.c - a trend of the report as a line chart: a line for each value of `by` that has
 * values, the band and the limit of its gate where there is one line, and a cross at what lies past
 * a limit that failed.
 */
#include "report/trend_inner.h"

#include "report/axis.h"
#include "report/chart.h"
#include "util/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The picture's parts in the arena. */
struct parts {
    struct fm_chart chart;
    struct fm_chart_place *place;
    struct fm_chart_point *point;
    struct fm_chart_series *series;
    uint32_t *place_of;          /* of each entry */
    const struct fm_report_entry **sorted;
    size_t left_out;             /* files without a time */
};

static int by_place(const void *a, const void *b)
{
    const struct fm_report_entry *x = *(const struct fm_report_entry *const *)a;
    const struct fm_report_entry *y = *(const struct fm_report_entry *const *)b;
    int order = 0;

    if (x->timed && y->timed)
        order = (x->time > y->time) - (x->time < y->time);
    else if (x->when != NULL && y->when != NULL)
        order = strcmp(x->when, y->when);
    return order != 0 ? order : (x > y) - (x < y);
}

/* Whether it has a place on the axis. */
static bool placed(const struct fm_report_lines *lines, const struct fm_report_entry *e)
{
    return lines->timed ? e->timed : e->when != NULL;
}

static bool same_place(const struct fm_report_entry *a, const struct fm_report_entry *b)
{
    return a->timed ? a->time == b->time : strcmp(a->when, b->when) == 0;
}

/* Places in order, and that of each entry. */
static void find_places(struct parts *p, const struct fm_report_lines *lines)
{
    size_t n = 0, places = 0;

    for (size_t i = 0; i < lines->n; i++) {
        if (placed(lines, &lines->entry[i]))
            p->sorted[n++] = &lines->entry[i];
        else
            p->left_out++;
    }
    qsort(p->sorted, n, sizeof *p->sorted, by_place);
    for (size_t i = 0; i < n; i++) {
        const struct fm_report_entry *e = p->sorted[i];

        if (i == 0 || !same_place(p->sorted[i - 1], e))
            p->place[places++] = (struct fm_chart_place){e->time, e->timed ? NULL : e->when};
        p->place_of[e - lines->entry] = (uint32_t)places - 1;
    }
    p->chart.places = places;
}

static struct fm_chart_point point_of(const struct fm_report *report,
                                      const struct fm_report_lines *lines, size_t i,
                                      uint32_t place)
{
    const struct fm_report_entry *e = &lines->entry[i];
    const struct fm_trend *t = &lines->line[e->line].trend;
    struct fm_chart_point p = {place, FM_CHART_PLAIN, e->value, report->file[e->file].name};

    if (e->side == FM_REPORT_BASELINE)
        p.mark = FM_CHART_BASE;
    else if (e->side == FM_REPORT_CANDIDATE && t->verdict == FM_TREND_FAIL &&
             (t->rule.lower ? e->value < t->limit : e->value > t->limit))
        p.mark = FM_CHART_BAD;
    return p;
}

static void find_points(struct parts *p, const struct fm_report *report,
                        const struct fm_report_lines *lines)
{
    size_t n = 0;

    for (size_t k = 0; k < lines->lines; k++) {
        const char *name = lines->line[k].name;
        size_t from = n;

        if (name[0] == '\0' && lines->column != NULL)
            name = lines->column->name;
        for (size_t i = lines->line[k].from; i < lines->line[k].to; i++)
            if (placed(lines, &lines->entry[i]))
                p->point[n++] = point_of(report, lines, i, p->place_of[i]);
        if (lines->line[k].values > 0)
            p->series[p->chart.all++] =
                (struct fm_chart_series){name, p->point + from, n - from};
    }
}

static const char *subtitle(const struct fm_report *report, const struct fm_report_trend *t,
                            const struct fm_report_lines *lines, size_t left_out)
{
    const char *text = t->value;

    for (size_t i = 0; i < t->bys && text != NULL; i++)
        text = fm_arena_printf(report->arena, "%s%s%s", text, i == 0 ? " by " : ", ", t->by[i]);
    if (text != NULL && lines->timed && lines->wall)
        text = fm_arena_printf(report->arena, "%s, UTC", text);
    if (text != NULL && left_out > 0)
        text = fm_arena_printf(report->arena, "%s; %zu file%s without a time left out", text,
                               left_out, left_out == 1 ? "" : "s");
    return text;
}

static void set_gate(struct fm_chart *chart, const struct fm_trend *t)
{
    chart->gated = chart->banded = true;
    chart->gate = t->limit;
    chart->gate_name = "limit";
    chart->median = t->base.median;
    chart->low = t->base.median - t->allowed;
    chart->high = t->base.median + t->allowed;
}

static bool make(struct parts *p, const struct fm_report *report,
                 const struct fm_report_trend *t, const struct fm_report_lines *lines)
{
    struct fm_arena *arena = report->arena;
    size_t n = lines->n + 1;

    p->place = fm_arena_alloc(arena, n * sizeof *p->place);
    p->point = fm_arena_alloc(arena, n * sizeof *p->point);
    p->place_of = fm_arena_alloc(arena, n * sizeof *p->place_of);
    p->sorted = fm_arena_alloc(arena, n * sizeof *p->sorted);
    p->series = fm_arena_alloc(arena, (lines->lines + 1) * sizeof *p->series);
    if (p->place == NULL || p->point == NULL || p->place_of == NULL || p->sorted == NULL ||
        p->series == NULL)
        return false;
    find_places(p, lines);
    find_points(p, report, lines);
    p->chart.title = t->about != NULL && t->about[0] != '\0' ? t->about : t->name;
    p->chart.subtitle = subtitle(report, t, lines, p->left_out);
    p->chart.unit = lines->unit;
    p->chart.timed = lines->timed;
    p->chart.wall = lines->wall;
    p->chart.place = p->place;
    p->chart.series = p->series;
    if (t->gate && p->chart.all == 1)
        for (size_t i = 0; i < lines->lines; i++)
            if (lines->line[i].trend.base.n > 0)
                set_gate(&p->chart, &lines->line[i].trend);
    return p->chart.subtitle != NULL;
}

enum fm_status fm_report_draw(const struct fm_report *report, size_t i, bool inside,
                              struct fm_out *out, struct fm_error *err)
{
    struct parts parts = {.place = NULL};
    struct fm_report_lines lines;
    enum fm_status status = fm_report_lines(report, i, &lines, err);

    if (status != FM_OK)
        return status;
    parts.chart.inside = inside;
    if (!make(&parts, report, &report->plan->trend[i], &lines))
        return fm_error_nomem(err);
    return fm_chart_write(out, &parts.chart, err);
}

enum fm_status fm_report_chart(const struct fm_report *report, size_t i,
                               const struct fm_report_table *table, struct fm_out *out,
                               struct fm_error *err)
{
    (void)table;
    return fm_report_draw(report, i, false, out, err);
}
