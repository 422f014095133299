/*
 * chart.c - the frame of a line chart: layout, axes, baseline, legend. See chart.h.
 *
 * Widths of texts are guessed: the picture is made without fonts. A column of a terminal counts as
 * 0.56 of the font's size, which system fonts stay below for all but rows of capitals.
 */
#include "report/chart_inner.h"

#include "util/error.h"
#include "util/text.h"

#include <math.h>
#include <stdio.h>

#define CHAR 6.7            /* of 12 px */
#define MARGIN 16
#define LABEL_MOST 24       /* columns of a label on the axis */
#define NAME_MOST 34        /* of a name in the legend */
#define LEGEND_MOST 60      /* names in the legend */
#define SLANT_X 0.77        /* of labels that stand at 40 degrees */
#define SLANT_Y 0.64

static const char style[] =
    ".fm-chart{max-width:100%;height:auto;font:12px system-ui,-apple-system,'Segoe UI',Roboto,"
    "'Noto Sans',sans-serif;font-variant-numeric:tabular-nums;color:#1a1c20;background:#fff}\n"
    ".fm-chart text{fill:#1a1c20;unicode-bidi:plaintext}\n"
    ".fm-chart .h{font-size:15px;font-weight:600}\n"
    ".fm-chart .q{fill:#5d6470}\n"
    ".fm-chart .g{stroke:#e3e6eb;fill:none}\n"
    ".fm-chart .z{stroke:#9aa3b0;fill:none}\n"
    ".fm-chart .v{fill:transparent}\n"
    ".fm-chart .v:hover{fill:#1a1c20;fill-opacity:.06}\n"
    ".fm-chart .b{fill:#2563eb;fill-opacity:.1}\n"
    ".fm-chart .m{stroke:#2563eb;stroke-opacity:.55;stroke-dasharray:2 3;fill:none}\n"
    ".fm-chart .t{stroke:#c62828;stroke-width:1.4;stroke-dasharray:7 4;fill:none}\n"
    ".fm-chart .w{fill:#c62828;paint-order:stroke;stroke:#fff;stroke-width:3px}\n"
    ".fm-chart .l{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round;"
    "stroke-linecap:round;pointer-events:none}\n"
    ".fm-chart .f .l{stroke-width:1.3}\n"
    ".fm-chart .d1 .l{stroke-dasharray:7 4}\n"
    ".fm-chart .d2 .l{stroke-dasharray:2 4}\n"
    ".fm-chart .p{fill:currentColor;pointer-events:none}\n"
    ".fm-chart .o{fill:#fff;stroke:currentColor;stroke-width:1.5;pointer-events:none}\n"
    ".fm-chart .x{stroke:#c62828;stroke-width:2.4;fill:none}\n"
    ".fm-chart .c0{color:#2563eb}.fm-chart .c1{color:#d9480f}.fm-chart .c2{color:#0f8a5f}\n"
    ".fm-chart .c3{color:#9333ea}.fm-chart .c4{color:#c2185b}.fm-chart .c5{color:#0891b2}\n"
    ".fm-chart .c6{color:#a16207}.fm-chart .c7{color:#4b5563}.fm-chart .c8{color:#5c940d}\n"
    ".fm-chart .c9{color:#7c2d12}\n"
    "@media (prefers-color-scheme:dark){\n"
    ".fm-chart{color:#e8eaee;background:#15171b}\n"
    ".fm-chart text{fill:#e8eaee}.fm-chart .q{fill:#9aa3b0}\n"
    ".fm-chart .g{stroke:#2a2e35}.fm-chart .z{stroke:#5d6470}\n"
    ".fm-chart .v:hover{fill:#e8eaee;fill-opacity:.08}\n"
    ".fm-chart .b{fill:#6ea0ff;fill-opacity:.14}.fm-chart .m{stroke:#6ea0ff}\n"
    ".fm-chart .t,.fm-chart .x{stroke:#ff8a80}\n"
    ".fm-chart .w{fill:#ff8a80;stroke:#15171b}.fm-chart .o{fill:#15171b}\n"
    ".fm-chart .c0{color:#6ea0ff}.fm-chart .c1{color:#ff9d5c}.fm-chart .c2{color:#4cc38a}\n"
    ".fm-chart .c3{color:#c58bff}.fm-chart .c4{color:#ff7eb6}.fm-chart .c5{color:#4fd0e7}\n"
    ".fm-chart .c6{color:#e2b84a}.fm-chart .c7{color:#a9b2bf}.fm-chart .c8{color:#a6d750}\n"
    ".fm-chart .c9{color:#d9a18a}\n"
    "}\n";

const char *fm_chart_style(void)
{
    return style;
}

/* ------------------------------------------------------------------- pieces */

void fm_chart_number(struct fm_out *out, double v)
{
    fm_out_fixed(out, v, 1);
}

double fm_chart_y(const struct fm_chart_sheet *s, double value)
{
    double share = (value - s->axis.low) / (s->axis.high - s->axis.low);

    return s->bottom - fmin(fmax(share, -1), 2) * (s->bottom - s->top);
}

void fm_chart_class(struct fm_out *out, size_t series)
{
    fm_out_printf(out, "class=\"c%zu d%zu\"", series % FM_CHART_COLORS,
                  series / FM_CHART_COLORS % FM_CHART_DASHES);
}

/* The bytes of the first `most` characters of s[n]. */
static size_t bytes_of(const char *s, size_t n, size_t most)
{
    size_t i = 0;
    uint32_t cp;

    for (; most > 0 && i < n; most--) {
        unsigned length = fm_utf8_next(s + i, n - i, &cp);
        i += length > 0 ? length : 1;
    }
    return i;
}

void fm_chart_text(struct fm_out *out, const char *name, size_t most)
{
    size_t n = strlen(name), all = fm_utf8_count(name, n), head, tail;

    if (all <= most) {
        fm_out_xml(out, name, n);
        return;
    }
    head = bytes_of(name, n, most / 2);
    tail = bytes_of(name, n, all - (most - most / 2 - 1));
    fm_out_xml(out, name, head);
    fm_out_text(out, "\xe2\x80\xa6");
    fm_out_xml(out, name + tail, n - tail);
}

static double width_of(const char *name, size_t most)
{
    size_t n = fm_utf8_width(name, strlen(name));

    return CHAR * (double)FM_MIN(n, most);
}

const char *fm_chart_place_name(const struct fm_chart *chart, uint32_t place,
                                char buf[FM_AXIS_TEXT])
{
    const struct fm_chart_place *p = &chart->place[place];

    if (p->label != NULL || !chart->timed)
        return p->label != NULL ? p->label : "";
    return chart->wall ? fm_axis_time(p->time, buf)
                       : fm_axis_quantity((double)p->time, "ns", buf);
}

static void put_text(struct fm_out *out, const char *class, double x, double y,
                     const char *anchor, const char *text, size_t most)
{
    fm_out_text(out, "<text ");
    if (class[0] != '\0')
        fm_out_printf(out, "class=\"%s\" ", class);
    fm_out_text(out, "x=\"");
    fm_chart_number(out, x);
    fm_out_text(out, "\" y=\"");
    fm_chart_number(out, y);
    fm_out_char(out, '"');
    if (anchor[0] != '\0')
        fm_out_printf(out, " text-anchor=\"%s\"", anchor);
    fm_out_char(out, '>');
    fm_chart_text(out, text, most);
    fm_out_text(out, "</text>\n");
}

static void put_line(struct fm_out *out, const char *class, double x1, double y1, double x2,
                     double y2)
{
    fm_out_printf(out, "<path class=\"%s\" d=\"M", class);
    fm_chart_number(out, x1);
    fm_out_char(out, ' ');
    fm_chart_number(out, y1);
    fm_out_char(out, 'L');
    fm_chart_number(out, x2);
    fm_out_char(out, ' ');
    fm_chart_number(out, y2);
    fm_out_text(out, "\"/>\n");
}

/* ------------------------------------------------------------------- layout */

static void take(double v, double *low, double *high, size_t *n)
{
    if (!isfinite(v))
        return;
    *low = fmin(*low, v);
    *high = fmax(*high, v);
    ++*n;
}

/* The vertical axis: all that is shown, and 0 unless it would flatten what differs. */
static void fit_values(struct fm_chart_sheet *s)
{
    const struct fm_chart *c = s->chart;
    double low = INFINITY, high = -INFINITY;
    size_t more = 0;

    for (size_t i = 0; i < c->all; i++)
        for (size_t k = 0; k < c->series[i].points; k++)
            take(c->series[i].point[k].value, &low, &high, &s->values);
    if (c->banded) {
        take(c->low, &low, &high, &more);
        take(c->high, &low, &high, &more);
    }
    if (c->gated)
        take(c->gate, &low, &high, &more);
    if (s->values + more == 0)
        low = high = 0;
    if (low > 0 && high - low > 0.25 * high)
        low = 0;
    if (high < 0 && high - low > -0.25 * low)
        high = 0;
    fm_axis_fit(&s->axis, low, high, c->unit, 6);
}

/* The widest label of the vertical axis. */
static double label_width(const struct fm_chart_sheet *s)
{
    char text[FM_AXIS_TEXT];
    double width = 0;

    for (size_t i = 0; i < s->axis.ticks; i++)
        width = fmax(width, width_of(fm_axis_label(&s->axis, fm_axis_tick(&s->axis, i), text),
                                     FM_AXIS_TEXT));
    return width;
}

/* How the labels of places that are no times stand: every `every`-th, slanted or not. */
struct labels {
    double width;               /* of the widest */
    size_t every;
    bool slanted;
};

static struct labels fit_labels(const struct fm_chart_sheet *s)
{
    const struct fm_chart *c = s->chart;
    struct labels l = {0, 1, false};
    double room = (s->right - s->left) / (double)FM_MAX(c->places, (size_t)1);

    for (size_t i = 0; i < c->places; i++)
        if (c->place[i].label != NULL)
            l.width = fmax(l.width, width_of(c->place[i].label, LABEL_MOST));
    l.slanted = l.width + 8 > room;
    if (l.slanted && room < 18)
        l.every = (size_t)ceil(18 / room);
    return l;
}

static enum fm_status place_all(struct fm_chart_sheet *s)
{
    const struct fm_chart *c = s->chart;
    double span = 0, room = s->right - s->left;
    size_t bytes;

    if (!fm_mul_size(c->places + 1, sizeof *s->x, &bytes))
        return FM_NOMEM;
    s->x = fm_arena_alloc(s->arena, bytes);
    if (s->x == NULL)
        return FM_NOMEM;
    if (c->timed && c->places > 0) {
        s->first = c->place[0].time;
        s->last = c->place[c->places - 1].time;
        span = (double)s->last - (double)s->first;
    }
    for (size_t i = 0; i < c->places; i++) {
        if (!c->timed)
            s->x[i] = s->left + room * ((double)i + 0.5) / (double)c->places;
        else if (span > 0)
            s->x[i] = s->left + 10 +
                      (room - 20) * ((double)c->place[i].time - (double)s->first) / span;
        else
            s->x[i] = s->left + room / 2;
    }
    return FM_OK;
}

/* -------------------------------------------------------------------- axes */

static void put_values(const struct fm_chart_sheet *s)
{
    char text[FM_AXIS_TEXT];

    for (size_t i = 0; i < s->axis.ticks; i++) {
        double v = fm_axis_tick(&s->axis, i), y = fm_chart_y(s, v);

        put_line(s->out, v == 0 || i == 0 ? "z" : "g", s->left, y, s->right, y);
        put_text(s->out, "q", s->left - 8, y + 4, "end", fm_axis_label(&s->axis, v, text),
                 FM_AXIS_TEXT);
    }
    if (s->axis.words > 0)
        put_text(s->out, "q", s->left - 8, s->top - 12, "start", s->axis.word, 24);
}

static void put_times(const struct fm_chart_sheet *s)
{
    struct fm_time_tick tick[FM_AXIS_TICKS];
    double room = s->right - s->left - 20, span = (double)s->last - (double)s->first;
    size_t n;

    if (s->chart->places == 0)
        return;
    n = fm_axis_times(s->first, s->last, s->chart->wall, (size_t)fmax(room / 90, 2), tick);
    if (n < 2 || span <= 0) { /* no round time lies there: the ends themselves */
        char buf[FM_AXIS_TEXT];

        put_text(s->out, "q", s->x[0], s->bottom + 18, span > 0 ? "start" : "middle",
                 fm_chart_place_name(s->chart, 0, buf), FM_AXIS_TEXT);
        if (span > 0)
            put_text(s->out, "q", s->right - 10, s->bottom + 18, "end",
                     fm_chart_place_name(s->chart, (uint32_t)s->chart->places - 1, buf),
                     FM_AXIS_TEXT);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double x = s->left + 10 + room * ((double)tick[i].at - (double)s->first) / span;

        put_line(s->out, "g", x, s->top, x, s->bottom + 5);
        put_text(s->out, "q", x, s->bottom + 18, "middle", tick[i].text, FM_AXIS_TEXT);
        if (tick[i].major && tick[i].above[0] != '\0')
            put_text(s->out, "q", x, s->bottom + 33, "middle", tick[i].above, FM_AXIS_TEXT);
    }
}

static void put_labels(const struct fm_chart_sheet *s, const struct labels *l)
{
    const struct fm_chart *c = s->chart;

    for (size_t i = 0; i < c->places; i += l->every) {
        const char *label = c->place[i].label != NULL ? c->place[i].label : "";

        if (!l->slanted) {
            put_text(s->out, "q", s->x[i], s->bottom + 18, "middle", label, LABEL_MOST);
            continue;
        }
        fm_out_text(s->out, "<text class=\"q\" text-anchor=\"end\" transform=\"translate(");
        fm_chart_number(s->out, s->x[i] + 4);
        fm_out_char(s->out, ' ');
        fm_chart_number(s->out, s->bottom + 14);
        fm_out_text(s->out, ") rotate(-40)\">");
        fm_chart_text(s->out, label, LABEL_MOST);
        fm_out_text(s->out, "</text>\n");
    }
}

/* ------------------------------------------------------ baseline and legend */

static void put_band(const struct fm_chart_sheet *s)
{
    const struct fm_chart *c = s->chart;
    double high = fm_chart_y(s, c->high), low = fm_chart_y(s, c->low);

    if (!c->banded || !isfinite(c->low) || !isfinite(c->high) || !isfinite(c->median))
        return;
    fm_out_text(s->out, "<rect class=\"b\" x=\"");
    fm_chart_number(s->out, s->left);
    fm_out_text(s->out, "\" y=\"");
    fm_chart_number(s->out, high);
    fm_out_text(s->out, "\" width=\"");
    fm_chart_number(s->out, s->right - s->left);
    fm_out_text(s->out, "\" height=\"");
    fm_chart_number(s->out, fmax(low - high, 1));
    fm_out_text(s->out, "\"/>\n");
    put_line(s->out, "m", s->left, fm_chart_y(s, c->median), s->right, fm_chart_y(s, c->median));
}

static void put_gate(const struct fm_chart_sheet *s)
{
    const struct fm_chart *c = s->chart;
    char text[FM_AXIS_TEXT + 64], value[FM_AXIS_TEXT];
    double y = fm_chart_y(s, c->gate);

    if (!c->gated || !isfinite(c->gate))
        return;
    put_line(s->out, "t", s->left, y, s->right, y);
    snprintf(text, sizeof text, "%.60s %s", c->gate_name != NULL ? c->gate_name : "gate",
             fm_axis_quantity(c->gate, c->unit, value));
    put_text(s->out, "w", s->right - 4, y - s->top < 16 ? y + 15 : y - 5, "end", text, 100);
}

struct legend {
    size_t shown, rows, columns;
    double step, height;
};

static struct legend fit_legend(const struct fm_chart_sheet *s)
{
    const struct fm_chart *c = s->chart;
    struct legend l = {0};
    size_t entries;

    if (c->all < 2 && !c->banded)
        return l;
    l.shown = FM_MIN(c->all, (size_t)LEGEND_MOST);
    for (size_t i = 0; i < l.shown; i++)
        l.step = fmax(l.step, width_of(c->series[i].name, NAME_MOST));
    if (c->banded || l.shown < c->all)
        l.step = fmax(l.step, CHAR * 24);
    l.step += 46;
    l.columns = (size_t)fmax((s->width - 2 * MARGIN) / l.step, 1);
    entries = l.shown + (l.shown < c->all) + c->banded;
    l.rows = (entries + l.columns - 1) / l.columns;
    l.height = (double)l.rows * 18 + 10;
    return l;
}

/* Where entry i begins. */
static double legend_at(const struct fm_chart_sheet *s, const struct legend *l, size_t i,
                        double top, double *y)
{
    double left = s->chart->all * 2 > l->columns ? MARGIN : s->left;

    *y = top + 14 + 18 * (double)(i / l->columns);
    return left + l->step * (double)(i % l->columns);
}

static void put_legend(const struct fm_chart_sheet *s, const struct legend *l, double top)
{
    const struct fm_chart *c = s->chart;
    char text[64 + FM_AXIS_TEXT], value[FM_AXIS_TEXT];
    double x, y;

    if (l->rows == 0)
        return;
    for (size_t i = 0; i < l->shown; i++) {
        x = legend_at(s, l, i, top, &y);
        fm_out_text(s->out, "<g ");
        fm_chart_class(s->out, i);
        fm_out_text(s->out, "><title>");
        fm_out_xml(s->out, c->series[i].name, strlen(c->series[i].name));
        fm_out_text(s->out, "</title>");
        put_line(s->out, "l", x, y - 4, x + 24, y - 4);
        put_text(s->out, "", x + 31, y, "", c->series[i].name, NAME_MOST);
        fm_out_text(s->out, "</g>\n");
    }
    if (l->shown < c->all) {
        x = legend_at(s, l, l->shown, top, &y);
        snprintf(text, sizeof text, "and %zu more", c->all - l->shown);
        put_text(s->out, "q", x + 31, y, "", text, FM_AXIS_TEXT);
    }
    if (c->banded) {
        x = legend_at(s, l, l->shown + (l->shown < c->all), top, &y);
        fm_out_text(s->out, "<rect class=\"b\" x=\"");
        fm_chart_number(s->out, x);
        fm_out_text(s->out, "\" y=\"");
        fm_chart_number(s->out, y - 9);
        fm_out_text(s->out, "\" width=\"24\" height=\"10\"/>\n");
        put_line(s->out, "m", x, y - 4, x + 24, y - 4);
        snprintf(text, sizeof text, "baseline, median %s",
                 fm_axis_quantity(c->median, c->unit, value));
        put_text(s->out, "", x + 31, y, "", text, 64);
    }
}

/* ----------------------------------------------------------------- picture */

/* What a reader of the screen is told. */
static void put_about(const struct fm_chart_sheet *s)
{
    const struct fm_chart *c = s->chart;
    double low = INFINITY, high = -INFINITY;
    char a[FM_AXIS_TEXT], b[FM_AXIS_TEXT];
    size_t n = 0;

    for (size_t i = 0; i < c->all; i++)
        for (size_t k = 0; k < c->series[i].points; k++)
            take(c->series[i].point[k].value, &low, &high, &n);
    fm_out_printf(s->out, "<desc>Line chart: %zu value%s in %zu series", n, n == 1 ? "" : "s",
                  c->all);
    if (n > 0)
        fm_out_printf(s->out, ", between ");
    if (n > 0) {
        fm_axis_quantity(low, c->unit, a);
        fm_axis_quantity(high, c->unit, b);
        fm_out_xml(s->out, a, strlen(a));
        fm_out_text(s->out, " and ");
        fm_out_xml(s->out, b, strlen(b));
    }
    if (n > 0 && c->places > 0) {
        const char *place = fm_chart_place_name(c, 0, a);

        fm_out_text(s->out, ", from ");
        fm_out_xml(s->out, place, strlen(place));
        place = fm_chart_place_name(c, (uint32_t)c->places - 1, a);
        fm_out_text(s->out, " to ");
        fm_out_xml(s->out, place, strlen(place));
    }
    if (c->gated) {
        fm_out_text(s->out, "; the limit is ");
        fm_axis_quantity(c->gate, c->unit, a);
        fm_out_xml(s->out, a, strlen(a));
    }
    fm_out_text(s->out, ".</desc>\n");
}

static void put_head(const struct fm_chart_sheet *s)
{
    const struct fm_chart *c = s->chart;
    struct fm_out *out = s->out;

    if (!c->inside)
        fm_out_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    fm_out_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fm-chart\" "
                       "width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" role=\"img\" "
                       "aria-label=\"", (unsigned)s->width, (unsigned)s->height,
                  (unsigned)s->width, (unsigned)s->height);
    fm_out_xml(out, c->title, strlen(c->title));
    fm_out_text(out, "\">\n");
    if (!c->inside) {
        fm_out_text(out, "<title>");
        fm_out_xml(out, c->title, strlen(c->title));
        fm_out_text(out, "</title>\n");
    }
    put_about(s);
    if (!c->inside) {
        fm_out_text(out, "<style>");
        fm_out_text(out, style);
        fm_out_text(out, "</style>\n");
    }
    put_text(out, "h", MARGIN, 25, "", c->title, (size_t)(s->width / 8.6));
    if (c->subtitle != NULL)
        put_text(out, "q", MARGIN, 43, "", c->subtitle, (size_t)(s->width / CHAR));
}

enum fm_status fm_chart_write(struct fm_out *out, const struct fm_chart *c, struct fm_error *err)
{
    struct fm_arena arena;
    struct fm_chart_sheet s = {.chart = c, .out = out, .arena = &arena};
    struct labels labels = {0};
    struct legend legend;
    double below = 40, plot = c->height != 0 ? c->height : 340;

    fm_arena_init(&arena, out->mem);
    s.width = FM_MIN(FM_MAX(c->width != 0 ? c->width : 960, 240u), 10000u);
    plot = fmin(fmax(plot, 120), 10000) - 66;
    fit_values(&s);
    s.top = c->subtitle != NULL ? 66 : 50;
    s.bottom = s.top + plot;
    s.left = MARGIN + 10 + label_width(&s);
    s.right = s.width - MARGIN;
    if (!c->timed) {
        labels = fit_labels(&s);
        if (labels.slanted) {
            s.left = fmax(s.left, labels.width * SLANT_X + MARGIN / 2.0);
            labels = fit_labels(&s);
            below = labels.width * SLANT_Y + 26;
        } else {
            below = 26;
        }
    }
    if (place_all(&s) != FM_OK) {
        fm_arena_release(&arena);
        return fm_error_nomem(err);
    }
    legend = fit_legend(&s);
    s.height = ceil(s.bottom + below + legend.height + 6);
    put_head(&s);
    put_band(&s);
    put_values(&s);
    if (c->timed)
        put_times(&s);
    else
        put_labels(&s, &labels);
    fm_chart_columns(&s);
    fm_out_text(out, c->all > 12 ? "<g class=\"f\">\n" : "<g>\n");
    fm_chart_lines(&s);
    fm_out_text(out, "</g>\n");
    put_gate(&s);
    if (s.values == 0)
        put_text(out, "q", (s.left + s.right) / 2, (s.top + s.bottom) / 2, "middle", "no values",
                 20);
    put_legend(&s, &legend, s.bottom + below);
    fm_out_text(out, "</svg>\n");
    fm_arena_release(&arena);
    if (arena.oom || out->status == FM_NOMEM)
        return fm_error_nomem(err);
    return FM_OK;
}
