/*
 * flamegraph.c - the call tree as one SVG file that needs nothing else.
 *
 *     y = 0     title, subtitle
 *     ypad1     +---------------------------------------------+
 *               | grandchild |      |                         |   one row of `height` px a depth,
 *               | child      | child |                        |   root at the bottom, or at the
 *               | all                                         |   top when inverted
 *     ypad2     +---------------------------------------------+
 *               details line, search result
 *
 * A node starts where its parent starts plus the parent's self weight plus the weight of its elder
 * brothers; its width is its share of the total. Nodes narrower than `minwidth` are left out with
 * all above them. The arithmetic, the rounding and the colours are those of FlameGraph's
 * flamegraph.pl, to the last digit (the tests compare).
 *
 * Names are untrusted: they occur only as XML text through fm_out_xml(), never in script, style or
 * an attribute that means anything. The script (flamegraph.js, ours) is a constant; it takes what
 * it must know from data attributes:
 *
 *     <svg data-...>                     geometry: see write_head()
 *     <g data-x="START" data-w="WEIGHT"> one a frame: <title>, <rect>, maybe <text>
 *
 * The picture is right without script; the controls are shown only when it runs.
 */
#include "export/export.h"
#include "export/palette.h"

#include "util/error.h"
#include "util/text.h"

#include <math.h>

static const char script[] =
#include "export/flamegraph.inc"
    ;

#define XPAD 10.0

struct picture {
    struct fm_export *export;
    struct fm_out *out;
    const struct fm_calltree *tree;
    double width, row, font, font_width; /* px; the last as a share of the font size */
    double total, scale;                 /* weight shown over the whole width; px per weight */
    fm_u128 whole;                       /* the same weight, exactly */
    double least;                        /* narrower weights are left out */
    double height, pad_top, pad_bottom;
    bool inverted, hash, annotate;
    int palette;
    const char *title, *subtitle, *unit, *family;
    const char *top, *bottom;            /* background */
    uint8_t *drawn;                      /* flag per node */
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

/* --------------------------------------------------------------- settings */

static const struct fm_export_setting settings[] = {
    {"width", "PX", "width of the picture (1200)"},
    {"height", "PX", "height of a frame (16)"},
    {"fontsize", "PX", "size of the font (12)"},
    {"fontwidth", "X", "mean width of a character as a share of its size (0.59)"},
    {"fonttype", "NAME", "font family (Verdana)"},
    {"minwidth", "PX|P%", "leave out frames narrower than that (0.1)"},
    {"subtitle", "TEXT", "a second line under the title"},
    {"countname", "TEXT", "the word for the weight (its unit)"},
    {"colors", "NAME", "hot mem io java js perl chain wakeup gpu red green blue ... (hot)"},
    {"bgcolors", "NAME", "yellow, blue, green, grey or #rrggbb (by the colours)"},
    {"hash", "yes|no", "colour by the first letters of names (no)"},
    {"inverted", "yes|no", "icicle: root at the top (no)"},
    {"total", "N", "the weight of the whole width (the sum)"},
    {NULL, NULL, NULL},
};

static bool hex_color(const char *s)
{
    size_t i;
    for (i = 1; i < 7; i++) {
        if (s[i] == '\0' || strchr("0123456789abcdefABCDEF", s[i]) == NULL)
            return false;
    }
    return s[0] == '#' && s[7] == '\0';
}

static enum fm_status choose_background(struct picture *p, struct fm_error *err)
{
    static const char *const known[][3] = {
        {"yellow", "#eeeeee", "#eeeeb0"},
        {"green", "#eef2ee", "#e0ffe0"},
        {"blue", "#eeeeee", "#e0e0ff"},
        {"grey", "#f8f8f8", "#e8e8e8"},
    };
    const char *name = fm_export_setting(p->export, "bgcolors");
    size_t i;
    if (name == NULL)
        name = fm_palette_background(p->palette);
    if (hex_color(name)) {
        p->top = p->bottom = name;
        return FM_OK;
    }
    for (i = 0; i < FM_COUNT(known); i++) {
        if (strcmp(name, known[i][0]) == 0) {
            p->top = known[i][1];
            p->bottom = known[i][2];
            return FM_OK;
        }
    }
    return fm_error_set(err, FM_CONFIG, "setting bgcolors: '%s' is none of yellow, green, blue, "
                                        "grey and #rrggbb", name);
}

static enum fm_status choose_colors(struct picture *p, struct fm_error *err)
{
    const char *name = fm_export_setting(p->export, "colors");
    const char *known[32], *near;
    size_t n = 0;
    p->palette = fm_palette_find(name != NULL ? name : "hot");
    if (p->palette < 0) {
        while (fm_palette_name(n) != NULL) {
            known[n] = fm_palette_name(n);
            n++;
        }
        near = fm_text_nearest(name, known, n);
        return fm_error_set(err, FM_CONFIG, "setting colors: no palette '%s'%s%s%s", name,
                            near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    }
    return choose_background(p, err);
}

static enum fm_status choose_minwidth(struct picture *p, struct fm_error *err)
{
    const char *text = fm_export_setting(p->export, "minwidth");
    size_t n = text != NULL ? strlen(text) : 0;
    bool percent = n > 0 && text[n - 1] == '%';
    double v = 0.1;
    if (text != NULL && (!fm_text_f64(text, n - percent, &v) || !(v >= 0 && v <= 1e6)))
        return fm_error_set(err, FM_CONFIG, "setting minwidth: '%s' is no width", text);
    p->least = percent ? p->total * v / 100 : v / p->scale;
    return FM_OK;
}

static enum fm_status choose(struct picture *p, struct fm_error *err)
{
    const struct fm_selection *sel = p->export->sel;
    double sum = (double)p->tree->node[0].total, asked = 0;
    const struct {
        const char *key;
        double min, max, *value;
    } number[] = {
        {"width", 100, 32767, &p->width},     {"height", 4, 200, &p->row},
        {"fontsize", 4, 100, &p->font},       {"fontwidth", 0.1, 2, &p->font_width},
        {"total", 0, 1e30, &asked},
    };
    enum fm_status status = FM_OK;
    size_t i;
    p->width = 1200;
    p->row = 16;
    p->font = 12;
    p->font_width = 0.59;
    for (i = 0; i < FM_COUNT(number) && status == FM_OK; i++)
        status = fm_export_setting_f64(p->export, number[i].key, number[i].min, number[i].max,
                                       number[i].value, err);
    if (status == FM_OK)
        status = fm_export_setting_bool(p->export, "hash", &p->hash, err);
    if (status == FM_OK)
        status = fm_export_setting_bool(p->export, "inverted", &p->inverted, err);
    if (status == FM_OK)
        status = choose_colors(p, err);
    if (status != FM_OK)
        return status;
    p->total = asked > sum ? asked : sum;
    p->whole = asked > sum ? (fm_u128)asked : p->tree->node[0].total;
    p->scale = p->total > 0 ? (p->width - 2 * XPAD) / p->total : 0;
    p->title = p->export->title;
    p->subtitle = fm_export_setting(p->export, "subtitle");
    p->family = fm_export_setting(p->export, "fonttype");
    p->unit = fm_export_setting(p->export, "countname");
    if (p->unit == NULL)
        p->unit = fm_store_str(sel->store, sel->unit, NULL);
    p->annotate = p->export->names.annotate;
    return choose_minwidth(p, err);
}

/* ------------------------------------------------------------------- text */

/* Length of a name without its annotation. */
static size_t bare(const struct picture *p, const char *s, size_t n)
{
    if (!p->annotate && n >= 4 && s[n - 1] == ']' && s[n - 3] == '[' && s[n - 4] == '_' &&
        memchr("kwij01gG", s[n - 2], 8) != NULL)
        return n - 4;
    return n;
}

static void put_title(struct picture *p, uint32_t i, const char *s, size_t n)
{
    const struct fm_call_node *node = &p->tree->node[i];
    struct fm_out *out = p->out;
    fm_out_text(out, "<title>");
    if (i == 0) {
        fm_out_text(out, "all (");
        put_commas(out, p->whole);
        fm_out_char(out, ' ');
        fm_out_xml(out, p->unit, strlen(p->unit));
        fm_out_text(out, ", 100%)</title>");
        return;
    }
    fm_out_xml(out, s, n);
    fm_out_text(out, " (");
    put_commas(out, node->total);
    fm_out_char(out, ' ');
    fm_out_xml(out, p->unit, strlen(p->unit));
    fm_out_text(out, ", ");
    fm_out_fixed(out, 100 * (double)node->total / p->total, 2);
    fm_out_text(out, "%)</title>");
}

/* The label, as much of it as `room` characters hold; none under three. */
static void put_label(struct picture *p, const char *s, size_t n, double x, double y, double room)
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
    fm_out_text(out, "\">");
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

/* ----------------------------------------------------------------- frames */

static void put_frame(struct picture *p, uint32_t i, double start)
{
    const struct fm_call_node *node = &p->tree->node[i];
    struct fm_out *out = p->out;
    double wide = i == 0 ? p->total : (double)node->total;
    double x1 = XPAD + start * p->scale, x2 = XPAD + (start + wide) * p->scale, y1, y2;
    int64_t left = tenths(x1), right = tenths(x2);
    unsigned rgb[3];
    size_t n;
    const char *s = fm_store_str(p->export->sel->store, node->label, &n);
    if (p->inverted) {
        y1 = p->pad_top + node->depth * p->row;
        y2 = p->pad_top + (node->depth + 1.0) * p->row - 1;
    } else {
        y1 = p->height - p->pad_bottom - (node->depth + 1.0) * p->row + 1;
        y2 = p->height - p->pad_bottom - node->depth * p->row;
    }
    fm_palette_color(p->palette, p->hash, s, n, rgb);
    n = bare(p, s, n);
    fm_out_text(out, "<g data-x=\"");
    fm_out_f64(out, start);
    fm_out_text(out, "\" data-w=\"");
    fm_out_f64(out, wide);
    fm_out_text(out, "\">");
    put_title(p, i, s, n);
    fm_out_text(out, "<rect x=\"");
    put_tenths(out, left);
    fm_out_text(out, "\" y=\"");
    fm_out_f64(out, y1);
    fm_out_text(out, "\" width=\"");
    put_tenths(out, right - left);
    fm_out_text(out, "\" height=\"");
    put_tenths(out, tenths(y2 - y1));
    fm_out_printf(out, "\" fill=\"rgb(%u,%u,%u)\" rx=\"2\" ry=\"2\"/>", rgb[0], rgb[1], rgb[2]);
    if (i == 0) {
        s = "all";
        n = 3;
    }
    put_label(p, s, n, x1 + 3, 3 + (y1 + y2) / 2, (x2 - x1) / (p->font * p->font_width));
    fm_out_text(out, "</g>\n");
}

/* Marks the nodes that are wide enough; returns the deepest one's depth. */
static uint32_t mark(struct picture *p)
{
    const struct fm_call_node *node = p->tree->node;
    uint32_t i = 1, depth = 0;
    p->drawn[0] = 1;
    while (i < p->tree->nodes) {
        if ((double)node[i].total < p->least || node[i].total == 0) {
            i = node[i].end;
            continue;
        }
        p->drawn[i] = 1;
        depth = FM_MAX(depth, node[i].depth);
        i++;
    }
    return depth;
}

/* Draws the marked nodes. next[d]: where the next node of depth d starts. */
static void put_frames(struct picture *p, fm_u128 *next)
{
    const struct fm_call_node *node = p->tree->node;
    uint32_t i = 0;
    next[0] = 0;
    while (i < p->tree->nodes) {
        fm_u128 start = next[node[i].depth];
        next[node[i].depth] = start + node[i].total;
        if (!p->drawn[i]) {
            i = node[i].end;
            continue;
        }
        next[node[i].depth + 1] = start + node[i].self;
        put_frame(p, i, (double)start);
        i++;
    }
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
    const char *family = p->family != NULL ? p->family : "Verdana";
    fm_out_text(out, "<defs><linearGradient id=\"background\" y1=\"0\" y2=\"1\" x1=\"0\" "
                     "x2=\"0\"><stop stop-color=\"");
    fm_out_xml(out, p->top, strlen(p->top));
    fm_out_text(out, "\" offset=\"5%\"/><stop stop-color=\"");
    fm_out_xml(out, p->bottom, strlen(p->bottom));
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
                     ".hide{display:none}"
                     "</style>\n"
                     "<rect x=\"0\" y=\"0\" width=\"100%\" height=\"100%\" "
                     "fill=\"url(#background)\"/>\n"
                     "<g font-family=\"");
    fm_out_xml(out, family, strlen(family));
    fm_out_text(out, ", sans-serif\" font-size=\"");
    fm_out_f64(out, p->font);
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

static void write_head(struct picture *p)
{
    struct fm_out *out = p->out;
    fm_out_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" role=\"img\" "
                     "aria-labelledby=\"name about\"");
    put_attribute(p, "width", p->width);
    put_attribute(p, "height", p->height);
    fm_out_text(out, " viewBox=\"0 0 ");
    fm_out_f64(out, p->width);
    fm_out_char(out, ' ');
    fm_out_f64(out, p->height);
    fm_out_char(out, '"');
    put_attribute(p, "data-total", p->total);
    put_attribute(p, "data-row", p->row);
    put_attribute(p, "data-char", p->font * p->font_width);
    fm_out_printf(out, " data-inverted=\"%d\">\n<title id=\"name\">", p->inverted);
    fm_out_xml(out, p->title, strlen(p->title));
    fm_out_text(out, "</title>\n<desc id=\"about\">Flame graph of ");
    put_commas(out, p->whole);
    fm_out_char(out, ' ');
    fm_out_xml(out, p->unit, strlen(p->unit));
    fm_out_text(out, ": a box is a function, its width the share of the total spent in it and "
                     "what it calls. Made by foldmill ");
    fm_out_text(out, PACKAGE_VERSION);
    fm_out_text(out, ".</desc>\n");
}

static void write_body(struct picture *p, fm_u128 *next)
{
    double f = p->font, w = p->width, below = p->height - p->pad_bottom / 2;
    put_style(p);
    fm_out_text(p->out, "<g text-anchor=\"middle\">\n");
    fm_out_text(p->out, "<g");
    put_attribute(p, "font-size", f + 5);
    fm_out_char(p->out, '>');
    put_text(p, "id=\"title\"", w / 2, f * 2, p->title);
    fm_out_text(p->out, "</g>\n");
    if (p->subtitle != NULL)
        put_text(p, "id=\"subtitle\"", w / 2, f * 4, p->subtitle);
    fm_out_text(p->out, "</g>\n");
    put_text(p, "id=\"details\"", XPAD, below, " ");
    put_text(p, "id=\"unzoom\" class=\"hide\" role=\"button\"", XPAD, f * 2, "Reset Zoom");
    fm_out_text(p->out, "<g text-anchor=\"end\">\n");
    put_text(p, "id=\"search\" class=\"hide\" role=\"button\"", w - XPAD - 2 * f, f * 2, "Search");
    put_text(p, "id=\"ignorecase\" class=\"hide\" role=\"button\"", w - XPAD, f * 2, "ic");
    put_text(p, "id=\"matched\"", w - XPAD, below, " ");
    fm_out_text(p->out, "</g>\n<g id=\"frames\">\n");
    if (p->total > 0)
        put_frames(p, next);
    fm_out_text(p->out, "</g>\n");
    if (p->total <= 0)
        put_text(p, "text-anchor=\"middle\"", w / 2, p->height / 2, "No samples");
    fm_out_text(p->out, "</g>\n<script><![CDATA[\n");
    fm_out_bytes(p->out, script, sizeof script - 1);
    fm_out_text(p->out, "]]></script>\n</svg>\n");
}

static enum fm_status write_flamegraph(struct fm_export *export, struct fm_error *err)
{
    struct picture p = {.export = export, .out = export->out, .tree = export->tree};
    struct fm_mem *mem = &export->ctx->mem;
    size_t depths = (size_t)export->tree->depth + 2;
    fm_u128 *next = NULL;
    uint32_t depth;
    enum fm_status status = choose(&p, err);
    if (status != FM_OK)
        return status;
    p.drawn = fm_mem_zalloc(mem, p.tree->nodes);
    next = fm_mem_alloc(mem, depths * sizeof *next);
    if (p.drawn == NULL || next == NULL) {
        status = fm_error_nomem(err);
        goto out;
    }
    depth = mark(&p);
    p.pad_top = 3 * p.font;
    p.pad_bottom = 2 * p.font + 10;
    p.height = (depth + 1.0) * p.row + p.pad_top + p.pad_bottom;
    if (p.subtitle != NULL) {
        p.height += 2 * p.font;
        if (p.inverted) /* flamegraph.pl draws the first row over the subtitle */
            p.pad_top += 2 * p.font;
    }
    write_head(&p);
    write_body(&p, next);
out:
    fm_mem_free(mem, next, depths * sizeof *next);
    fm_mem_free(mem, p.drawn, p.tree->nodes);
    return status;
}

const struct fm_exporter fm_exporter_svg = {
    .name = "svg",
    .summary = "flame graph, one SVG file with zoom and search",
    .extension = ".svg",
    .shape = FM_SHAPE_TREE,
    .setting = settings,
    .kinds = true,
    .write = write_flamegraph,
};
