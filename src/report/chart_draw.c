/*
 * chart_draw.c - lines, points and tooltips of a chart: see chart.h.
 *
 * Lines: the points of a series in order; where there are more than two a pixel, each pixel's
 * column keeps its first, least, greatest and last point, in their order, so that no peak is lost.
 *
 * Tooltips: places that lie closer than a 240th of the plot share a column, which reaches halfway
 * to its neighbours. Its <title> has the greatest values first.
 */
#include "report/chart_inner.h"

#include "util/text.h"

#include <math.h>
#include <stdlib.h>

#define COLUMNS 240
#define TOOLTIP_LINES 16
#define DOTS_SERIES 90      /* a series of more points has no dots */
#define DOTS_ALL 1500
#define CROSSES 600         /* points with a tooltip of their own */

/* --------------------------------------------------------------- tooltips */

/* What one series has in a column. */
struct entry {
    size_t series, n;
    double low, high;
};

static int by_size(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->high != y->high)
        return x->high < y->high ? 1 : -1;
    return x->series < y->series ? -1 : 1;
}

static void put_entry(struct fm_chart_sheet *s, const struct entry *e)
{
    const char *name = s->chart->series[e->series].name;
    char value[FM_AXIS_TEXT];

    fm_out_char(s->out, '\n');
    if (name[0] != '\0') {
        fm_chart_text(s->out, name, 60);
        fm_out_text(s->out, ": ");
    }
    fm_axis_quantity(e->low, s->chart->unit, value);
    fm_out_xml(s->out, value, strlen(value));
    if (e->n > 1) {
        fm_out_text(s->out, " to ");
        fm_axis_quantity(e->high, s->chart->unit, value);
        fm_out_xml(s->out, value, strlen(value));
        fm_out_printf(s->out, " (%zu values)", e->n);
    }
}

/* Takes the points of the places before `end` from each series; the entries found. */
static size_t collect(struct fm_chart_sheet *s, size_t *next, uint32_t end, struct entry *entry)
{
    size_t n = 0;

    for (size_t i = 0; i < s->chart->all; i++) {
        const struct fm_chart_series *series = &s->chart->series[i];
        struct entry e = {i, 0, INFINITY, -INFINITY};

        for (; next[i] < series->points && series->point[next[i]].place < end; next[i]++) {
            double v = series->point[next[i]].value;

            if (!isfinite(v))
                continue;
            e.low = fmin(e.low, v);
            e.high = fmax(e.high, v);
            e.n++;
        }
        if (e.n > 0)
            entry[n++] = e;
    }
    qsort(entry, n, sizeof *entry, by_size);
    return n;
}

static void put_column(struct fm_chart_sheet *s, double left, double right, uint32_t from,
                       uint32_t end, const struct entry *entry, size_t n)
{
    char buf[FM_AXIS_TEXT];

    fm_out_text(s->out, "<rect class=\"v\" x=\"");
    fm_chart_number(s->out, left);
    fm_out_text(s->out, "\" y=\"");
    fm_chart_number(s->out, s->top);
    fm_out_text(s->out, "\" width=\"");
    fm_chart_number(s->out, right - left);
    fm_out_text(s->out, "\" height=\"");
    fm_chart_number(s->out, s->bottom - s->top);
    fm_out_text(s->out, "\"><title>");
    fm_chart_text(s->out, fm_chart_place_name(s->chart, from, buf), 100);
    if (end - from > 1) {
        fm_out_text(s->out, " to ");
        fm_chart_text(s->out, fm_chart_place_name(s->chart, end - 1, buf), 100);
    }
    for (size_t i = 0; i < n && i < TOOLTIP_LINES; i++)
        put_entry(s, &entry[i]);
    if (n > TOOLTIP_LINES)
        fm_out_printf(s->out, "\nand %zu more", n - TOOLTIP_LINES);
    fm_out_text(s->out, "</title></rect>\n");
}

void fm_chart_columns(struct fm_chart_sheet *s)
{
    const struct fm_chart *c = s->chart;
    double close = (s->right - s->left) / COLUMNS, left = s->left;
    size_t *next = fm_arena_alloc(s->arena, (c->all + 1) * sizeof *next);
    struct entry *entry = fm_arena_alloc(s->arena, (c->all + 1) * sizeof *entry);

    if (next == NULL || entry == NULL || c->places > UINT32_MAX)
        return;
    for (uint32_t from = 0, end; from < c->places; from = end) {
        double right = s->right;
        size_t n;

        for (end = from + 1; end < c->places && s->x[end] - s->x[from] < close; end++)
            ;
        if (end < c->places)
            right = (s->x[end - 1] + s->x[end]) / 2;
        n = collect(s, next, end, entry);
        if (n > 0)
            put_column(s, left, right, from, end, entry, n);
        left = right;
    }
}

/* ------------------------------------------------------------------- lines */

/* The line in the making: `run` points since it was begun. */
struct pen {
    struct fm_chart_sheet *s;
    const struct fm_chart_series *series;
    size_t run;
    bool thin;              /* keep four points a pixel */
    bool open;              /* a pixel's column is held */
    long pixel;
    size_t first, least, greatest, last;
};

static double x_of(const struct pen *pen, size_t i)
{
    return pen->s->x[pen->series->point[i].place];
}

static void put_point(struct pen *pen, size_t i)
{
    fm_out_char(pen->s->out, pen->run == 0 ? 'M' : 'L');
    fm_chart_number(pen->s->out, x_of(pen, i));
    fm_out_char(pen->s->out, ' ');
    fm_chart_number(pen->s->out, fm_chart_y(pen->s, pen->series->point[i].value));
    pen->run++;
}

static void flush_pixel(struct pen *pen)
{
    size_t a, b;

    if (!pen->open)
        return;
    pen->open = false;
    a = FM_MIN(pen->least, pen->greatest);
    b = FM_MAX(pen->least, pen->greatest);
    put_point(pen, pen->first);
    if (a != pen->first)
        put_point(pen, a);
    if (b != a && b != pen->first)
        put_point(pen, b);
    if (pen->last != b && pen->last != pen->first)
        put_point(pen, pen->last);
}

/* Ends a run; a point alone becomes a dot of the line's width. */
static void lift(struct pen *pen)
{
    flush_pixel(pen);
    if (pen->run == 1)
        fm_out_text(pen->s->out, "h0");
    pen->run = 0;
}

static void add_point(struct pen *pen, size_t i)
{
    const struct fm_chart_point *point = pen->series->point;
    long pixel = (long)x_of(pen, i);

    if (!pen->thin) {
        put_point(pen, i);
        return;
    }
    if (pen->open && pixel != pen->pixel)
        flush_pixel(pen);
    if (!pen->open) {
        pen->open = true;
        pen->pixel = pixel;
        pen->first = pen->least = pen->greatest = i;
    }
    if (point[i].value < point[pen->least].value)
        pen->least = i;
    if (point[i].value > point[pen->greatest].value)
        pen->greatest = i;
    pen->last = i;
}

static void put_series_line(struct fm_chart_sheet *s, const struct fm_chart_series *series)
{
    struct pen pen = {.s = s, .series = series};

    pen.thin = (double)series->points > 2 * (s->right - s->left);
    fm_out_text(s->out, "<path class=\"l\" d=\"");
    for (size_t i = 0; i < series->points; i++) {
        if (isfinite(series->point[i].value))
            add_point(&pen, i);
        else
            lift(&pen);
    }
    lift(&pen);
    fm_out_text(s->out, "\"/>\n");
}

/* ------------------------------------------------------------------- points */

static void put_at(struct fm_chart_sheet *s, const struct fm_chart_point *p, const char *class,
                   const char *radius)
{
    fm_out_printf(s->out, "<circle class=\"%s\" cx=\"", class);
    fm_chart_number(s->out, s->x[p->place]);
    fm_out_text(s->out, "\" cy=\"");
    fm_chart_number(s->out, fm_chart_y(s, p->value));
    fm_out_printf(s->out, "\" r=\"%s\"", radius);
}

static void put_tip(struct fm_chart_sheet *s, const struct fm_chart_series *series,
                    const struct fm_chart_point *p)
{
    char buf[FM_AXIS_TEXT];

    fm_out_text(s->out, "<title>");
    fm_chart_text(s->out, fm_chart_place_name(s->chart, p->place, buf), 100);
    put_entry(s, &(struct entry){(size_t)(series - s->chart->series), 1, p->value, p->value});
    if (p->note != NULL) {
        fm_out_char(s->out, '\n');
        fm_chart_text(s->out, p->note, 300);
    }
    fm_out_text(s->out, "</title>");
}

/* A cross in a circle that can be pointed at. */
static void put_cross(struct fm_chart_sheet *s, const struct fm_chart_series *series,
                      const struct fm_chart_point *p)
{
    double x = s->x[p->place], y = fm_chart_y(s, p->value);

    fm_out_text(s->out, "<g class=\"x\">");
    put_tip(s, series, p);
    put_at(s, p, "v", "8");
    fm_out_text(s->out, "/><path d=\"M");
    fm_chart_number(s->out, x - 5);
    fm_out_char(s->out, ' ');
    fm_chart_number(s->out, y - 5);
    fm_out_text(s->out, "l10 10m0 -10l-10 10\"/></g>\n");
}

static void put_series(struct fm_chart_sheet *s, size_t i, bool dots, size_t *crosses)
{
    const struct fm_chart_series *series = &s->chart->series[i];

    fm_out_text(s->out, "<g ");
    fm_chart_class(s->out, i);
    fm_out_text(s->out, ">\n");
    put_series_line(s, series);
    for (size_t k = 0; k < series->points; k++) {
        const struct fm_chart_point *p = &series->point[k];

        if (!isfinite(p->value))
            continue;
        if (p->mark == FM_CHART_BAD && *crosses < CROSSES) {
            ++*crosses;
            put_cross(s, series, p);
        } else if (dots && series->points <= DOTS_SERIES) {
            put_at(s, p, p->mark == FM_CHART_BASE ? "o" : "p", "2.8");
            fm_out_text(s->out, "/>\n");
        }
    }
    fm_out_text(s->out, "</g>\n");
}

void fm_chart_lines(struct fm_chart_sheet *s)
{
    size_t crosses = 0, points = 0;

    for (size_t i = 0; i < s->chart->all; i++)
        points = points + s->chart->series[i].points;
    for (size_t i = 0; i < s->chart->all; i++)
        put_series(s, i, points <= DOTS_ALL, &crosses);
}
