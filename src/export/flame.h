/*
 * flame.h - boxes of an SVG flame graph, whoever lays them out, and who draws them.
 *
 *     flamegraph.c    settings; a call tree as boxes      -.
 *     flame_diff.c    two call trees as boxes             -+->  flame_draw.c   the document
 *     flame_chart.c   rows in time order as boxes, lanes  -|
 *     flame_flow.c    lines as flamegraph.pl draws them   -'
 *
 * A box lies in a lane: row 0 is nearest to the root. Start and width are weights (of a chart with
 * times: nanoseconds) from the left edge, so that a picture can be scaled exactly.
 */
#ifndef FM_EXPORT_FLAME_H
#define FM_EXPORT_FLAME_H

#include "export/export.h"
#include "export/flame_extra.h"

#define FM_FLAME_PAD 10.0            /* px at both sides */

enum fm_flame_kind { FM_FLAME_TREE, FM_FLAME_DIFF, FM_FLAME_CHART };

/* Of a differential: where a node is not. */
enum fm_flame_side { FM_FLAME_BOTH, FM_FLAME_NEW, FM_FLAME_GONE };

struct fm_flame_box {
    double start, width;
    uint32_t row, lane;
    fm_str label;                    /* FM_NONE: the root, "all" */
    fm_u128 weight;                  /* what the tooltip tells; of a chart with times: ns */
    fm_u128 before;                  /* DIFF: of the base, as recorded */
    double delta;                    /* DIFF: what it is coloured by, in scaled weight */
    double change;                   /* DIFF: new - scaled base, with all above it */
    uint8_t side;                    /* DIFF: enum fm_flame_side */
};

struct fm_flame_lane {
    fm_str name;                     /* FM_NONE: the only one, without a name */
    uint32_t first, rows;            /* rows of the picture; the name stands above them */
};

struct fm_flame {
    struct fm_export *export;
    struct fm_out *out;
    enum fm_flame_kind kind;
    /* the settings */
    double width, row, font, font_width; /* px; the last as a share of the font size */
    bool inverted, reverse, hash, annotate;
    bool compat;                         /* as flamegraph.pl draws, to the last digit */
    bool random, fluid;
    double factor;                       /* of the weights that are told */
    int palette;
    const char *title, *subtitle, *unit, *family;
    const char *top, *bottom;            /* background */
    bool colorblind, negate;
    const char *notes, *nametype;
    struct fm_flame_attrs *attrs;        /* or NULL, as the next two */
    struct fm_palette_map *map;
    struct fm_color_rules *rules;
    uint64_t dice;                       /* state of `random` */
    /* what is laid out */
    double total, scale;                 /* weight shown over the whole width; px per weight */
    fm_u128 whole;                       /* the same weight, exactly */
    double least;                        /* boxes of less weight are left out */
    bool left_out;                       /* some were */
    bool timed;                          /* CHART: weights are nanoseconds, `origin` the first */
    double most;                         /* DIFF: the greatest |delta|, 0 = none */
    double delta_whole;                  /* DIFF: what changes are a share of */
    struct fm_flame_box *box;
    size_t boxes, box_cap;
    struct fm_flame_lane *lane;
    size_t lanes, lane_cap;
    uint32_t rows;                       /* of all lanes, their names included */
    char note[192];                      /* the subtitle where none is set */
    const char *nothing;                 /* what is said when there is no box */
};

/* false: no memory. */
bool fm_flame_add(struct fm_flame *f, const struct fm_flame_box *box) FM_MUST_USE;
bool fm_flame_add_lane(struct fm_flame *f, fm_str name, uint32_t rows) FM_MUST_USE;
/* `total` is set: the scale, and what is too narrow to be drawn. FM_CONFIG: `minwidth`. */
enum fm_status fm_flame_scale(struct fm_flame *f, struct fm_error *err);

/* The three ways to lay out: boxes, lanes, rows, weights. */
enum fm_status fm_flame_tree(struct fm_flame *f, struct fm_error *err);
enum fm_status fm_flame_diff(struct fm_flame *f, struct fm_error *err);
enum fm_status fm_flame_chart(struct fm_flame *f, struct fm_error *err);

/* As flamegraph.pl lays out; `in_order`: lines as they come, not sorted. */
enum fm_status fm_flame_flow(struct fm_flame *f, bool in_order, struct fm_error *err);

/* The colour of a frame by its name, annotation included. false: no memory. */
bool fm_flame_color(struct fm_flame *f, const char *name, size_t n, unsigned rgb[3]) FM_MUST_USE;
/* The colour of a differential's box. */
void fm_flame_delta_color(const struct fm_flame *f, const struct fm_flame_box *box,
                          unsigned rgb[3]);

/* FM_NOMEM: a colour could not be kept. */
enum fm_status fm_flame_draw(struct fm_flame *f, struct fm_error *err);

#endif
