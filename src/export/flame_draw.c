/*
 * flame_draw.c - boxes as one SVG file that needs nothing else.
 *
 *     y = 0     title, subtitle
 *     ypad1     +---------------------------------------------+
 *               | grandchild |      |                         |   one row of `height` px a depth,
 *               | child      | child |                        |   root at the bottom, or at the
 *               | all                                         |   top when inverted; a chart has
 *     ypad2     +---------------------------------------------+   a lane below the other
 *               details line, search result
 *
 * The arithmetic and the rounding are those of FlameGraph's flamegraph.pl, to the last digit (the
 * tests compare).
 *
 * Names are untrusted: they occur only as XML text through fm_out_xml(), never in script, style or
 * an attribute that means anything. The script (flamegraph.js, ours) is a constant; it takes what
 * it must know from data attributes, which its head lists. The picture is right without script; the
 * controls are shown only when it runs.
 */
#include "export/flame.h"
#include "export/palette.h"

#include "util/error.h"
#include "util/text.h"

#include <math.h>

static const char script[] =
#include "export/flamegraph.inc"
    ;

#define XPAD FM_FLAME_PAD

/* What the picture measures. */
struct picture {
    struct fm_flame *f;
    struct fm_out *out;
    double height, pad_top, pad_bottom;
    bool oom;
};

/* ---------------------------------------------------------------- numbers */

/* v * 10 rounded to a whole number as printf("%.1f") rounds: exactly, ties to even. */
static int64_t tenths(double v)
{
    int exp;
    double frac = frexp(v, &exp);
    uint64_t m = (uint64_t)(frac * 9007199254740992.0); /* 53 bits */
    fm_u128 scaled = (fm_u128)m * 10, half, rest;
    unsigned shift;
    fm_assert(v >= 0 && v < 1e15);
    if (exp >= 53)
        return (int64_t)(scaled << (exp - 53));
    shift = (unsigned)(53 - exp);
    if (shift > 100)
        return 0;
    half = (fm_u128)1 << (shift - 1);
    rest = scaled & ((half << 1) - 1);
    scaled >>= shift;
    if (rest > half || (rest == half && (scaled & 1)))
        scaled++;
    return (int64_t)scaled;
}

static void put_tenths(struct fm_out *out, int64_t t)
{
    fm_out_i64(out, t / 10);
    fm_out_char(out, '.');
    fm_out_char(out, (char)('0' + t % 10));
}

static void put_commas(struct fm_out *out, fm_u128 v)
{
    char digit[64];
    size_t n = 0, k = 0;
    do {
        if (k > 0 && k % 3 == 0)
            digit[n++] = ',';
        digit[n++] = (char)('0' + (unsigned)(v % 10));
        v /= 10;
        k++;
    } while (v > 0);
    while (n > 0)
        fm_out_char(out, digit[--n]);
}

/* ------------------------------------------------------------------- text */

/* Length of a name without its annotation. */
static size_t bare(const struct picture *p, const char *s, size_t n)
{
    if ((p->f->compat || !p->f->annotate) && n >= 4 && s[n - 1] == ']' && s[n - 3] == '[' &&
        s[n - 4] == '_' &&
        memchr("kwij01gG", s[n - 2], 8) != NULL)
        return n - 4;
    return n;
}

static void put_unit(struct picture *p)
{
    fm_out_char(p->out, ' ');
    fm_out_xml(p->out, p->f->unit, strlen(p->f->unit));
}

static void put_percent(struct picture *p, double part, double whole, bool sign)
{
    double v = whole > 0 ? 100 * part / whole : 0;
    if (sign && v > 0)
        fm_out_char(p->out, '+');
    fm_out_fixed(p->out, v, 2);
    fm_out_char(p->out, '%');
}

static double signed_change(const struct fm_flame *f, double v)
{
    return f->negate && v != 0 ? -v : v;
}

/* After the weight, the change as a share and what it was: "; +39.22%; before 10 samples". */
static void put_change(struct picture *p, const struct fm_flame_box *box)
{
    fm_out_text(p->out, "; ");
    put_percent(p, signed_change(p->f, box->change), p->f->delta_whole, true);
    if (box->delta != box->change) {
        fm_out_text(p->out, ", self ");
        put_percent(p, signed_change(p->f, box->delta), p->f->delta_whole, true);
    }
    if (box->side == FM_FLAME_NEW) {
        fm_out_text(p->out, "; new");
        return;
    }
    fm_out_text(p->out, "; before ");
    put_commas(p->out, box->before);
    put_unit(p);
    if (box->side == FM_FLAME_GONE)
        fm_out_text(p->out, "; gone");
}

static const char *time_unit(double ns, double *by)
{
    static const char *const unit[] = {"ns", "us", "ms"};
    size_t i = 0;
    *by = 1;
    while (i < FM_COUNT(unit) && ns >= *by * 1000) {
        *by *= 1000;
        i++;
    }
    return i < FM_COUNT(unit) ? unit[i] : "s";
}

static void put_time(struct fm_out *out, double ns)
{
    double by;
    const char *unit = time_unit(ns, &by);
    fm_out_fixed(out, ns / by, by > 1 ? 3 : 0);
    fm_out_char(out, ' ');
    fm_out_text(out, unit);
}

/* A weight times the factor, rounded as printf("%.0f") does. */
static fm_u128 scaled(const struct fm_flame *f, double weight)
{
    return (fm_u128)nearbyint(weight * f->factor);
}

/* Weights times the factor; flamegraph.pl's shares are those of the rounded weight. */
static void put_factored(struct picture *p, const struct fm_flame_box *box)
{
    fm_u128 v = scaled(p->f, box->width);
    put_commas(p->out, v);
    put_unit(p);
    fm_out_text(p->out, ", ");
    if (box->label == FM_NONE)
        fm_out_text(p->out, "100%");
    else if (p->f->compat)
        put_percent(p, (double)v, p->f->total * p->f->factor, false);
    else
        put_percent(p, box->width, p->f->total, false);
    if (p->f->kind == FM_FLAME_DIFF && box->label != FM_NONE && p->f->compat) {
        fm_out_text(p->out, "; ");
        put_percent(p, signed_change(p->f, box->delta), p->f->delta_whole, true);
    } else if (p->f->kind == FM_FLAME_DIFF && !p->f->compat) {
        put_change(p, box);
    }
    fm_out_text(p->out, ")</title>");
}

static void put_title(struct picture *p, const struct fm_flame_box *box, const char *s, size_t n)
{
    struct fm_out *out = p->out;
    fm_out_text(out, "<title>");
    fm_out_xml(out, s, n);
    fm_out_text(out, " (");
    if (p->f->compat || (p->f->factor != 1 && !p->f->timed)) {
        put_factored(p, box);
        return;
    }
    if (p->f->timed) {
        put_time(out, (double)box->weight);
        fm_out_text(out, " at ");
        put_time(out, box->start);
    } else {
        put_commas(out, box->weight);
        put_unit(p);
    }
    fm_out_text(out, ", ");
    if (box->label == FM_NONE)
        fm_out_text(out, "100%");
    else
        put_percent(p, (double)box->weight, p->f->total, false);
    if (p->f->kind == FM_FLAME_DIFF)
        put_change(p, box);
    fm_out_text(out, ")</title>");
}

/* The label, as much of it as `room` characters hold; none under three. */
static void put_label(struct picture *p, const char *s, size_t n, double x, double y, double room,
                      bool white)
{
    size_t chars = (size_t)room, keep, i, k;
    struct fm_out *out = p->out;
    uint32_t cp;
    if (chars < 3 || n == 0)
        return;
    fm_out_text(out, "<text x=\"");
    fm_out_fixed(out, x, 2);
    fm_out_text(out, "\" y=\"");
    fm_out_f64(out, y);
    fm_out_text(out, white ? "\" style=\"fill:#fff\">" : "\">");
    if (fm_utf8_count(s, n) <= chars) {
        fm_out_xml(out, s, n);
    } else {
        keep = chars - 2;
        for (i = 0, k = 0; k < keep; k++)
            i += FM_MAX(fm_utf8_next(s + i, n - i, &cp), 1u);
        fm_out_xml(out, s, i);
        fm_out_text(out, "..");
    }
    fm_out_text(out, "</text>");
}

/* ----------------------------------------------------------------- boxes */

/* The lower edge of a lane's row 0, or with the root at the top its upper edge. */
static double lane_edge(const struct picture *p, const struct fm_flame_lane *lane)
{
    const struct fm_flame *f = p->f;
    if (f->inverted)
        return p->pad_top + lane->first * f->row;
    return p->height - p->pad_bottom - (f->rows - lane->first - lane->rows) * f->row;
}

/* Whether black letters would be hard to read: relative luminance, near enough. */
static bool dark(const unsigned rgb[3])
{
    return 2126u * rgb[0] * rgb[0] + 7152u * rgb[1] * rgb[1] + 722u * rgb[2] * rgb[2] <
           1800u * 255 * 255;
}

static void put_value(struct fm_out *out, const char *name, const char *value)
{
    if (value == NULL)
        return;
    fm_out_char(out, ' ');
    fm_out_text(out, name);
    fm_out_text(out, "=\"");
    fm_out_xml(out, value, strlen(value));
    fm_out_char(out, '"');
}

/* The element of a box: a group, or a link; true when it is one. */
static bool open_box(struct picture *p, const struct fm_flame_box *box,
                     const struct fm_flame_attr *attr)
{
    struct fm_out *out = p->out;
    bool link = attr != NULL && attr->href != NULL;
    fm_out_text(out, link ? "<a data-x=\"" : "<g data-x=\"");
    fm_out_f64(out, box->start);
    fm_out_text(out, "\" data-w=\"");
    fm_out_f64(out, box->width);
    fm_out_char(out, '"');
    if (attr != NULL) {
        put_value(out, "id", attr->id);
        put_value(out, "class", attr->class);
        fm_out_text(out, attr->group_extra != NULL ? attr->group_extra : "");
    }
    if (link) {
        put_value(out, "href", attr->href);
        put_value(out, "target", attr->target != NULL ? attr->target : "_top");
        put_value(out, "rel", "noopener");
        fm_out_text(out, attr->link_extra != NULL ? attr->link_extra : "");
    }
    fm_out_char(out, '>');
    return link;
}

/* xorshift: the same numbers in every run. */
static double roll(uint64_t *dice)
{
    *dice ^= *dice << 13;
    *dice ^= *dice >> 7;
    *dice ^= *dice << 17;
    return (double)(*dice >> 11) / 9007199254740992.0;
}

bool fm_flame_color(struct fm_flame *f, const char *name, size_t n, unsigned rgb[3])
{
    if (fm_palette_separator(name, n, rgb) ||
        (f->map != NULL && fm_palette_map_find(f->map, name, n, rgb)))
        return true;
    if (f->rules != NULL) {
        fm_color_rules_color(f->rules, f->hash, name, n, rgb);
    } else if (f->random) {
        double v[3];
        for (size_t i = 0; i < FM_COUNT(v); i++)
            v[i] = roll(&f->dice);
        fm_palette_shade(f->palette, v, name, n, rgb);
    } else {
        fm_palette_color(f->palette, f->hash, name, n, rgb);
    }
    return f->map == NULL || fm_palette_map_add(f->map, name, n, rgb);
}

static void put_box(struct picture *p, const struct fm_flame_box *box)
{
    struct fm_flame *f = p->f;
    struct fm_out *out = p->out;
    const struct fm_flame_attr *attr;
    double x1 = XPAD + box->start * f->scale, x2 = XPAD + (box->start + box->width) * f->scale;
    double edge = lane_edge(p, &f->lane[box->lane]), y1, y2;
    int64_t left = tenths(x1), right = tenths(x2);
    unsigned rgb[3];
    size_t n = 0;
    const char *s = "";
    bool link;
    if (box->label != FM_NONE)
        s = fm_store_str(f->export->sel->store, box->label, &n);
    if (f->inverted) {
        y1 = edge + box->row * f->row;
        y2 = edge + (box->row + 1.0) * f->row - 1;
    } else {
        y1 = edge - (box->row + 1.0) * f->row + 1;
        y2 = edge - box->row * f->row;
    }
    if (f->kind == FM_FLAME_DIFF)
        fm_flame_delta_color(f, box, rgb);
    else
        p->oom |= !fm_flame_color(f, s, n, rgb);
    attr = fm_flame_attrs_find(f->attrs, s, n);
    n = bare(p, s, n);
    if (box->label == FM_NONE) {
        s = "all";
        n = 3;
    }
    link = open_box(p, box, attr);
    if (attr != NULL && attr->title != NULL) {
        fm_out_text(out, "<title>");
        fm_out_xml(out, attr->title, strlen(attr->title));
        fm_out_text(out, "</title>");
    } else {
        put_title(p, box, s, n);
    }
    fm_out_text(out, "<rect x=\"");
    put_tenths(out, left);
    fm_out_text(out, "\" y=\"");
    fm_out_f64(out, y1);
    fm_out_text(out, "\" width=\"");
    put_tenths(out, right - left);
    fm_out_text(out, "\" height=\"");
    put_tenths(out, tenths(y2 - y1));
    fm_out_printf(out, "\" fill=\"rgb(%u,%u,%u)\" rx=\"2\" ry=\"2\"", rgb[0], rgb[1], rgb[2]);
    if (box->side != FM_FLAME_BOTH && !f->compat && x2 - x1 >= 3)
        fm_out_text(out, " stroke=\"#333\" stroke-dasharray=\"3 1\"");
    fm_out_text(out, "/>");
    put_label(p, s, n, x1 + 3, 3 + (y1 + y2) / 2, (x2 - x1) / (f->font * f->font_width),
              f->kind == FM_FLAME_DIFF && !f->compat && dark(rgb));
    fm_out_text(out, link ? "</a>\n" : "</g>\n");
}

/* --------------------------------------------------------------- document */

static void put_attribute(struct picture *p, const char *name, double v)
{
    fm_out_char(p->out, ' ');
    fm_out_text(p->out, name);
    fm_out_text(p->out, "=\"");
    fm_out_f64(p->out, v);
    fm_out_char(p->out, '"');
}

static void put_style(struct picture *p)
{
    struct fm_out *out = p->out;
    const char *family = p->f->family != NULL ? p->f->family : "Verdana";
    fm_out_text(out, "<defs><linearGradient id=\"background\" y1=\"0\" y2=\"1\" x1=\"0\" "
                     "x2=\"0\"><stop stop-color=\"");
    fm_out_xml(out, p->f->top, strlen(p->f->top));
    fm_out_text(out, "\" offset=\"5%\"/><stop stop-color=\"");
    fm_out_xml(out, p->f->bottom, strlen(p->f->bottom));
    fm_out_text(out, "\" offset=\"95%\"/></linearGradient></defs>\n"
                     "<style>"
                     "text{fill:#000}"
                     "#frames text{pointer-events:none}"
                     "#frames g{cursor:pointer}"
                     "#frames g:hover>rect,#frames g:focus>rect{stroke:#000;stroke-width:0.5}"
                     "#frames g:focus{outline:none}"
                     ".control{opacity:0.2;cursor:pointer}"
                     ".control:hover,.control:focus,.on{opacity:1}"
                     ".parent{opacity:0.5}"
                     ".hide{display:none}");
    if (!p->f->compat && fm_export_setting(p->f->export, "bgcolors") == NULL)
        fm_out_text(out, "@media(prefers-color-scheme:dark){"
                         "text{fill:#ddd}#frames text{fill:#000}#back{fill:#1c1c20}}");
    fm_out_text(out, "</style>\n"
                     "<rect id=\"back\" x=\"0\" y=\"0\" width=\"100%\" height=\"100%\" "
                     "fill=\"url(#background)\"/>\n"
                     "<g font-family=\"");
    fm_out_xml(out, family, strlen(family));
    fm_out_text(out, ", sans-serif\" font-size=\"");
    fm_out_f64(out, p->f->font);
    fm_out_text(out, "\">\n");
}

/* A text element: id, class, place, anchor, and its content. */
static void put_text(struct picture *p, const char *attributes, double x, double y,
                     const char *text)
{
    struct fm_out *out = p->out;
    fm_out_text(out, "<text ");
    fm_out_text(out, attributes);
    put_attribute(p, "x", x);
    put_attribute(p, "y", y);
    fm_out_char(out, '>');
    fm_out_xml(out, text, strlen(text));
    fm_out_text(out, "</text>\n");
}

static void put_about(struct picture *p)
{
    struct fm_out *out = p->out;
    if (p->f->timed) {
        fm_out_text(out, "Flame chart of ");
        put_time(out, p->f->total);
        fm_out_text(out, ": a box is a function, its place and width the time that it took.");
        return;
    }
    fm_out_text(out, p->f->kind == FM_FLAME_CHART  ? "Flame chart of "
                     : p->f->kind == FM_FLAME_DIFF ? "Differential flame graph of "
                                                   : "Flame graph of ");
    put_commas(out, p->f->whole);
    fm_out_char(out, ' ');
    fm_out_xml(out, p->f->unit, strlen(p->f->unit));
    fm_out_text(out, ": a box is a function, its width the share of the total spent in it and "
                     "what it calls.");
    if (p->f->kind == FM_FLAME_DIFF)
        fm_out_text(out, p->f->colorblind
                             ? " Orange has grown, blue has shrunk; a dashed box is on one side "
                               "only."
                             : " Red has grown, blue has shrunk; a dashed box is on one side "
                               "only.");
}

/* The samples that are drawn, of how many, and what was dropped: the account of the input. */
static void put_account(struct picture *p)
{
    const struct fm_selection *sel = p->f->export->sel;
    uint64_t in = 0, kept = 0;
    for (size_t i = 0; i < fm_store_sources(sel->store); i++) {
        struct fm_source_info source;
        fm_store_source(sel->store, i, &source);
        in = fm_add_sat_u64(in, source.samples_in);
        kept = fm_add_sat_u64(kept, source.samples_kept);
    }
    put_commas(p->out, sel->samples);
    if (sel->samples < kept) {
        fm_out_text(p->out, " of ");
        put_commas(p->out, kept);
    }
    fm_out_text(p->out, kept == 1 ? " sample" : " samples");
    if (in > kept) {
        fm_out_text(p->out, ", ");
        put_commas(p->out, in - kept);
        fm_out_text(p->out, " dropped");
    }
}

/* A comment cannot hold "--", nor end with '-'. */
static void put_notes(struct picture *p)
{
    const char *s = p->f->notes;
    if (s == NULL)
        return;
    fm_out_text(p->out, "<!-- NOTES: ");
    for (; *s != '\0'; s++) {
        fm_out_char(p->out, (unsigned char)*s < 0x20 && *s != '\n' && *s != '\t' ? ' ' : *s);
        if (*s == '-')
            fm_out_char(p->out, ' ');
    }
    fm_out_text(p->out, " -->\n");
}

static void write_head(struct picture *p)
{
    static const char *const kind[] = {"flame", "diff", "chart"};
    struct fm_out *out = p->out;
    fm_out_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" role=\"img\" "
                     "aria-labelledby=\"name about\"");
    if (p->f->fluid) {
        fm_out_text(out, " width=\"100%\" data-fluid=\"1\"");
    } else {
        put_attribute(p, "width", p->f->width);
        put_attribute(p, "height", p->height);
    }
    put_value(out, "data-nametype", p->f->nametype);
    fm_out_text(out, " viewBox=\"0 0 ");
    fm_out_f64(out, p->f->width);
    fm_out_char(out, ' ');
    fm_out_f64(out, p->height);
    fm_out_char(out, '"');
    put_attribute(p, "data-total", p->f->total);
    put_attribute(p, "data-row", p->f->row);
    put_attribute(p, "data-char", p->f->font * p->f->font_width);
    fm_out_printf(out, " data-inverted=\"%d\" data-kind=\"%s\" data-whole=\"%d\"%s>\n"
                       "<title id=\"name\">", p->f->inverted, kind[p->f->kind], !p->f->left_out,
                  p->f->reverse ? " data-reversed=\"1\"" : "");
    fm_out_xml(out, p->f->title, strlen(p->f->title));
    fm_out_text(out, "</title>\n<desc id=\"about\">");
    put_about(p);
    fm_out_text(out, " Made by foldmill ");
    fm_out_text(out, PACKAGE_VERSION);
    fm_out_text(out, ".</desc>\n");
    put_notes(p);
}

/* Names of lanes, each in the row above its boxes. */
static void put_lanes(struct picture *p)
{
    const struct fm_flame *f = p->f;
    if (f->lanes == 0 || f->lane[0].name == FM_NONE)
        return;
    fm_out_text(p->out, "<g id=\"lanes\">\n");
    for (size_t i = 0; i < f->lanes; i++) {
        const struct fm_flame_lane *lane = &f->lane[i];
        double edge = lane_edge(p, lane), top = f->inverted ? edge : edge - lane->rows * f->row + 1;
        size_t n;
        const char *s = fm_store_str(f->export->sel->store, lane->name, &n);
        fm_out_text(p->out, "<text");
        put_attribute(p, "x", XPAD);
        put_attribute(p, "y", top - 4);
        put_attribute(p, "data-y", top);
        put_attribute(p, "data-h", lane->rows * f->row);
        fm_out_char(p->out, '>');
        fm_out_xml(p->out, s, n);
        fm_out_text(p->out, "</text>\n");
    }
    fm_out_text(p->out, "</g>\n");
}

static void write_body(struct picture *p)
{
    double f = p->f->font, w = p->f->width, below = p->height - p->pad_bottom / 2;
    put_style(p);
    fm_out_text(p->out, "<g text-anchor=\"middle\">\n");
    fm_out_text(p->out, "<g");
    put_attribute(p, "font-size", f + 5);
    fm_out_char(p->out, '>');
    put_text(p, "id=\"title\"", w / 2, f * 2, p->f->title);
    fm_out_text(p->out, "</g>\n");
    if (p->f->subtitle != NULL)
        put_text(p, "id=\"subtitle\"", w / 2, f * 4, p->f->subtitle);
    fm_out_text(p->out, "</g>\n");
    put_text(p, "id=\"details\"", XPAD, below, " ");
    put_text(p, "id=\"unzoom\" class=\"hide\" role=\"button\"", XPAD, f * 2, "Reset Zoom");
    fm_out_text(p->out, "<g text-anchor=\"end\">\n");
    put_text(p, "id=\"search\" class=\"hide\" role=\"button\"", w - XPAD - 2 * f, f * 2, "Search");
    put_text(p, "id=\"ignorecase\" class=\"hide\" role=\"button\"", w - XPAD, f * 2, "ic");
    put_text(p, "id=\"matched\"", w - XPAD, below, " ");
    fm_out_text(p->out, "</g>\n");
    if (!p->f->compat) {
        fm_out_text(p->out, "<text id=\"account\" text-anchor=\"middle\" fill-opacity=\"0.6\"");
        put_attribute(p, "font-size", FM_MAX(f - 3, 4.0));
        put_attribute(p, "x", w / 2);
        put_attribute(p, "y", p->height - 4);
        fm_out_char(p->out, '>');
        put_account(p);
        fm_out_text(p->out, "</text>\n");
    }
    put_lanes(p);
    fm_out_text(p->out, "<g id=\"frames\">\n");
    for (size_t i = 0; i < p->f->boxes; i++)
        put_box(p, &p->f->box[i]);
    fm_out_text(p->out, "</g>\n");
    if (p->f->boxes == 0)
        put_text(p, "text-anchor=\"middle\"", w / 2, p->height / 2, p->f->nothing);
    fm_out_text(p->out, "</g>\n<script><![CDATA[\n");
    fm_out_bytes(p->out, script, sizeof script - 1);
    fm_out_text(p->out, "]]></script>\n</svg>\n");
}

enum fm_status fm_flame_draw(struct fm_flame *f, struct fm_error *err)
{
    struct picture p = {.f = f, .out = f->out};
    p.pad_top = 3 * f->font;
    p.pad_bottom = 2 * f->font + 10;
    p.height = (double)f->rows * f->row + p.pad_top + p.pad_bottom;
    if (f->subtitle != NULL) {
        p.height += 2 * f->font;
        if (f->inverted && !f->compat) /* flamegraph.pl draws the first row over the subtitle */
            p.pad_top += 2 * f->font;
    }
    write_head(&p);
    write_body(&p);
    return p.oom ? fm_error_nomem(err) : FM_OK;
}
