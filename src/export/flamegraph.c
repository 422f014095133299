/*
 * flamegraph.c - the exporter svg: its settings, and the call tree as boxes.
 *
 * A node starts where its parent starts plus the parent's self weight plus the weight of its elder
 * brothers; its width is its share of the total. Nodes narrower than `minwidth` are left out with
 * all above them, as flamegraph.pl does it.
 */
#include "export/flame.h"
#include "export/palette.h"

#include "util/error.h"
#include "util/text.h"

/* --------------------------------------------------------------- settings */

static const struct fm_export_setting settings[] = {
    {"compat", "yes|no", "layout and colours of flamegraph.pl, its faults included (no)"},
    {"title", "TEXT", "the title, as --title"},
    {"width", "PX|fluid", "width of the picture (1200); fluid: as wide as the page"},
    {"height", "PX", "height of a frame (16)"},
    {"fontsize", "PX", "size of the font (12)"},
    {"fontwidth", "X", "mean width of a character as a share of its size (0.59)"},
    {"fonttype", "NAME", "font family (Verdana)"},
    {"minwidth", "PX|P%", "leave out frames narrower than that (0.1)"},
    {"subtitle", "TEXT", "a second line under the title"},
    {"countname", "TEXT", "the word for the weight (its unit)"},
    {"nametype", "TEXT", "the word before a name in the details (none)"},
    {"factor", "X", "what the weights in the tooltips are multiplied with (1)"},
    {"notes", "TEXT", "a comment in the file"},
    {"nameattr", "FILE", "attributes of frames by name: title, href, class ..."},
    {"encoding", "UTF-8", "the only one"},
    {"colors", "NAME|FILE.yaml", "hot mem io java js perl chain wakeup gpu red ... (hot), rules"},
    {"cp", "yes|FILE", "keep the colours of names in palette.map, or FILE (no)"},
    {"random", "yes|no", "colours by chance, the same in each run (no)"},
    {"bgcolors", "NAME", "yellow, blue, green, grey or #rrggbb (by the colours)"},
    {"hash", "yes|no", "colour by the first letters of names (no)"},
    {"inverted", "yes|no", "icicle: root at the top (no)"},
    {"total", "N", "the weight of the whole width (the sum)"},
    {"reverse", "yes|no", "callees below their callers (no)"},
    {"flamechart", "yes|no", "real time order, one lane a thread (no)"},
    {"lanes", "thread|cpu", "what a flame chart has a lane for (thread)"},
    {"gap", "TIME", "flame chart: samples further apart leave a gap (by their rate)"},
    {"delta", "self|total", "what a differential is coloured by (self)"},
    {"widths", "after|before", "whose weights a differential has as widths (after)"},
    {"elided", "yes|no", "differential: only what vanished, as wide as before (no)"},
    {"negate", "yes|no", "differential: the other way round (no)"},
    {"colorblind", "yes|no", "differential: orange and blue for red and blue (no)"},
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

static enum fm_status choose_background(struct fm_flame *p, struct fm_error *err)
{
    static const char *const known[][3] = {
        {"yellow", "#eeeeee", "#eeeeb0"},
        {"green", "#eef2ee", "#e0ffe0"},
        {"blue", "#eeeeee", "#e0e0ff"},
        {"grey", "#f8f8f8", "#e8e8e8"},
    };
    const char *name = fm_export_setting(p->export, "bgcolors");
    size_t i;
    if (name == NULL && p->rules != NULL)
        name = fm_color_rules_background(p->rules);
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

static enum fm_status choose_colors(struct fm_flame *p, struct fm_arena *arena,
                                    struct fm_error *err)
{
    const char *name = fm_export_setting(p->export, "colors");
    const char *known[32], *near;
    size_t n = 0, length = name != NULL ? strlen(name) : 0;
    if (length > 5 && strcmp(name + length - 5, ".yaml") == 0) {
        enum fm_status status = fm_export_setting_file(
            "colors", name, fm_color_rules_read(p->export->ctx, arena, name, &p->rules, err), err);
        name = NULL;
        if (status != FM_OK)
            return status;
    }
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

/* What stands in files, and texts. */
static enum fm_status choose_extras(struct fm_flame *p, struct fm_arena *arena, bool chart,
                                    struct fm_error *err)
{
    const char *attrs = fm_export_setting(p->export, "nameattr");
    const char *map = fm_export_setting(p->export, "cp");
    const char *encoding = fm_export_setting(p->export, "encoding");
    enum fm_status status = FM_OK;
    p->notes = fm_export_setting(p->export, "notes");
    p->nametype = fm_export_setting(p->export, "nametype");
    if (encoding != NULL && strcasecmp(encoding, "UTF-8") != 0)
        return fm_error_set(err, FM_CONFIG, "setting encoding: pictures are UTF-8, not '%s'",
                            encoding);
    if (p->notes != NULL && strpbrk(p->notes, "<>") != NULL)
        return fm_error_set(err, FM_CONFIG, "setting notes: a comment holds neither '<' nor '>'");
    p->title = fm_export_setting(p->export, "title");
    if (p->title == NULL && p->export->options->title == NULL && p->compat)
        p->title = chart ? "Flame Chart" : p->inverted ? "Icicle Graph" : "Flame Graph";
    if (p->title == NULL)
        p->title = p->export->title;
    if (attrs != NULL)
        status = fm_export_setting_file(
            "nameattr", attrs, fm_flame_attrs_read(p->export->ctx, arena, attrs, &p->attrs, err),
            err);
    if (status != FM_OK || map == NULL || strcmp(map, "no") == 0)
        return status;
    map = strcmp(map, "yes") == 0 ? "palette.map" : map;
    return fm_export_setting_file(
        "cp", map, fm_palette_map_read(p->export->ctx, arena, map, &p->map, err), err);
}

enum fm_status fm_flame_scale(struct fm_flame *p, struct fm_error *err)
{
    const char *text = fm_export_setting(p->export, "minwidth");
    size_t n = text != NULL ? strlen(text) : 0;
    bool percent = n > 0 && text[n - 1] == '%';
    double v = 0.1;
    p->scale = p->total > 0 ? (p->width - 2 * FM_FLAME_PAD) / p->total : 0;
    if (text != NULL && (!fm_text_f64(text, n - percent, &v) || !(v >= 0 && v <= 1e6)))
        return fm_error_set(err, FM_CONFIG, "setting minwidth: '%s' is no width", text);
    p->least = percent ? p->total * v / 100 : v / p->scale;
    return FM_OK;
}

/* A setting of flame charts or differentials does nothing in another picture: that is told. The
 * ones that flamegraph.pl has, too, are left alone as there. */
static enum fm_status check_meaning(const struct fm_flame *p, struct fm_error *err)
{
    static const struct {
        const char *key;
        enum fm_flame_kind kind;
    } only[] = {
        {"lanes", FM_FLAME_CHART}, {"gap", FM_FLAME_CHART},     {"delta", FM_FLAME_DIFF},
        {"widths", FM_FLAME_DIFF}, {"elided", FM_FLAME_DIFF},
    };
    for (size_t i = 0; i < FM_COUNT(only); i++) {
        bool chart = only[i].kind == FM_FLAME_CHART;
        if (fm_export_setting(p->export, only[i].key) == NULL ||
            (!p->compat && p->kind == only[i].kind))
            continue;
        return fm_error_set(err, FM_CONFIG, "setting %s: only for %s%s", only[i].key,
                            chart ? "flame charts (flamechart=yes)" : "differentials",
                            p->compat ? ", and not with compat" : "");
    }
    return FM_OK;
}

static enum fm_status choose(struct fm_flame *p, struct fm_arena *arena, bool *chart,
                             struct fm_error *err)
{
    const char *width = fm_export_setting(p->export, "width");
    const struct fm_selection *sel = p->export->sel;
    const struct {
        const char *key;
        double min, max, *value;
    } number[] = {
        {"factor", 1e-18, 1e18, &p->factor},  {"height", 4, 200, &p->row},
        {"fontsize", 4, 100, &p->font},       {"fontwidth", 0.1, 2, &p->font_width},
    };
    const struct {
        const char *key;
        bool *value;
    } flag[] = {
        {"hash", &p->hash},     {"inverted", &p->inverted},     {"colorblind", &p->colorblind},
        {"negate", &p->negate}, {"flamechart", chart},         {"reverse", &p->reverse},
        {"compat", &p->compat}, {"random", &p->random},
    };
    enum fm_status status = FM_OK;
    size_t i;
    p->width = 1200;
    p->row = 16;
    p->font = 12;
    p->font_width = 0.59;
    p->factor = 1;
    p->dice = 0x2545f4914f6cdd1d;
    p->fluid = width != NULL && strcmp(width, "fluid") == 0;
    if (!p->fluid)
        status = fm_export_setting_f64(p->export, "width", 100, 32767, &p->width, err);
    for (i = 0; i < FM_COUNT(number) && status == FM_OK; i++)
        status = fm_export_setting_f64(p->export, number[i].key, number[i].min, number[i].max,
                                       number[i].value, err);
    for (i = 0; i < FM_COUNT(flag) && status == FM_OK; i++)
        status = fm_export_setting_bool(p->export, flag[i].key, flag[i].value, err);
    if (status == FM_OK)
        status = choose_colors(p, arena, err);
    if (status == FM_OK)
        status = choose_extras(p, arena, *chart, err);
    if (status != FM_OK)
        return status;
    p->subtitle = fm_export_setting(p->export, "subtitle");
    p->family = fm_export_setting(p->export, "fonttype");
    p->unit = fm_export_setting(p->export, "countname");
    if (p->unit == NULL)
        p->unit = fm_store_str(sel->store, sel->unit, NULL);
    p->annotate = p->export->names.annotate;
    p->nothing = "No samples";
    p->kind = *chart && !p->compat           ? FM_FLAME_CHART
              : p->export->tree->base != NULL ? FM_FLAME_DIFF
                                              : FM_FLAME_TREE;
    return check_meaning(p, err);
}

/* ----------------------------------------------------------------- layout */

bool fm_flame_add(struct fm_flame *f, const struct fm_flame_box *box)
{
    struct fm_mem *mem = &f->export->ctx->mem;
    if (!fm_grow(mem, (void **)&f->box, &f->box_cap, f->boxes + 1, sizeof *f->box))
        return false;
    f->box[f->boxes++] = *box;
    return true;
}

bool fm_flame_add_lane(struct fm_flame *f, fm_str name, uint32_t rows)
{
    struct fm_mem *mem = &f->export->ctx->mem;
    if (!fm_grow(mem, (void **)&f->lane, &f->lane_cap, f->lanes + 1, sizeof *f->lane))
        return false;
    f->rows += name != FM_NONE;
    f->lane[f->lanes++] = (struct fm_flame_lane){name, f->rows, rows};
    f->rows += rows;
    return true;
}

/* The weight of the whole width: the sum, or `total` when that is more. */
static enum fm_status choose_total(struct fm_flame *f, struct fm_error *err)
{
    double sum = (double)f->export->tree->node[0].total, asked = 0;
    enum fm_status status = fm_export_setting_f64(f->export, "total", 0, 1e30, &asked, err);
    f->total = asked > sum ? asked : sum;
    f->whole = asked > sum ? (fm_u128)asked : f->export->tree->node[0].total;
    return status == FM_OK ? fm_flame_scale(f, err) : status;
}

/* Boxes of the nodes that are wide enough; next[d]: where the next node of depth d starts. Returns
 * rows, 0 without memory. */
static uint32_t add_boxes(struct fm_flame *f, fm_u128 *next)
{
    const struct fm_calltree *tree = f->export->tree;
    uint32_t i = 0, rows = 1;
    next[0] = 0;
    while (i < tree->nodes) {
        const struct fm_call_node *node = &tree->node[i];
        fm_u128 start = next[node->depth];
        struct fm_flame_box box = {.start = (double)start, .row = node->depth,
                                   .label = node->label, .weight = node->total};
        next[node->depth] = start + node->total;
        if (i > 0 && ((double)node->total < f->least || node->total == 0)) {
            f->left_out = f->left_out || node->total > 0;
            i = node->end;
            continue;
        }
        box.width = (double)node->total;
        if (i == 0) {
            box.label = FM_NONE;
            box.width = f->total;
            box.weight = f->whole;
        }
        if (!fm_flame_add(f, &box))
            return 0;
        rows = FM_MAX(rows, node->depth + 1);
        next[node->depth + 1] = start + node->self;
        i++;
    }
    return rows;
}

enum fm_status fm_flame_tree(struct fm_flame *f, struct fm_error *err)
{
    struct fm_mem *mem = &f->export->ctx->mem;
    size_t depths = (size_t)f->export->tree->depth + 2;
    fm_u128 *next;
    uint32_t rows = 1;
    enum fm_status status = choose_total(f, err);
    if (status != FM_OK)
        return status;
    next = fm_mem_alloc(mem, depths * sizeof *next);
    if (next != NULL && f->total > 0)
        rows = add_boxes(f, next);
    if (next == NULL || rows == 0 || !fm_flame_add_lane(f, FM_NONE, rows))
        status = fm_error_nomem(err);
    fm_mem_free(mem, next, depths * sizeof *next);
    return status;
}

static enum fm_status lay_out(struct fm_flame *f, struct fm_error *err)
{
    switch (f->kind) {
    case FM_FLAME_TREE:
        return fm_flame_tree(f, err);
    case FM_FLAME_DIFF:
        return fm_flame_diff(f, err);
    default:
        return fm_flame_chart(f, err);
    }
}

/* The same with each stack the other way round. */
static enum fm_status lay_out_reversed(struct fm_flame *f, struct fm_error *err)
{
    const struct fm_calltree *tree = f->export->tree;
    struct fm_calltree turned;
    enum fm_status status;
    if (f->kind == FM_FLAME_CHART)
        return fm_error_set(err, FM_CONFIG, "a flame chart is in order of time: 'reverse' does not "
                            "go with it");
    status = fm_calltree_reverse(&turned, tree, f->export->sel, err);
    if (status != FM_OK)
        return status;
    f->export->tree = &turned;
    status = lay_out(f, err);
    f->export->tree = tree;
    fm_calltree_release(&turned);
    return status;
}

static enum fm_status write_flamegraph(struct fm_export *export, struct fm_error *err)
{
    struct fm_flame f = {.export = export, .out = export->out};
    struct fm_mem *mem = &export->ctx->mem;
    struct fm_arena arena;
    bool chart = false;
    enum fm_status status;
    fm_arena_init(&arena, mem);
    status = choose(&f, &arena, &chart, err);
    if (status == FM_OK)
        status = f.compat    ? fm_flame_flow(&f, chart, err)
                 : f.reverse ? lay_out_reversed(&f, err)
                             : lay_out(&f, err);
    if (status == FM_OK)
        status = fm_flame_draw(&f, err);
    if (status == FM_OK && f.map != NULL)
        status = fm_palette_map_write(f.map, err);
    fm_color_rules_release(f.rules);
    fm_mem_free(mem, f.box, f.box_cap * sizeof *f.box);
    fm_mem_free(mem, f.lane, f.lane_cap * sizeof *f.lane);
    fm_arena_release(&arena);
    return status;
}

const struct fm_exporter fm_exporter_svg = {
    .name = "svg",
    .summary = "flame graph, one SVG file with zoom and search",
    .extension = ".svg",
    .shape = FM_SHAPE_TREE,
    .setting = settings,
    .kinds = true,
    .pair = FM_PAIR_ALWAYS,
    .write = write_flamegraph,
};
