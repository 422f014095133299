/*
 * export.h - what an exporter is. Shapes: ROWS scan rows (fm_scan), TREE draw a call tree
 * (fm_calltree), TIMELINE draw rows in time order; the core makes the shape.
 *
 * Adding a format: a file here, one line in the table of export.c, one in Makefile.am, golden
 * cases, a line in the man page.
 */
#ifndef FM_EXPORT_EXPORT_H
#define FM_EXPORT_EXPORT_H

#include "store/select.h"
#include "util/out.h"

enum fm_shape { FM_SHAPE_ROWS, FM_SHAPE_TREE, FM_SHAPE_TIMELINE };

struct fm_export {
    struct fm_ctx *ctx;
    const struct fm_selection *sel;
    const struct fm_selection *base;     /* of a differential, or NULL */
    const struct fm_calltree *tree;      /* SHAPE_TREE only; tree->base with a base */
    struct fm_names names;
    const char *title;                   /* never NULL */
    const struct fm_export_options *options;
    struct fm_out *out;
};

/* A setting of an exporter ("width", "colors"), for checking and for help. */
struct fm_export_setting {
    const char *key, *value_name, *about;
};

/* What becomes of a base: it is refused, it is taken when two profiles are compared, or also when
 * the chosen event has one of its own (struct fm_event.base_of). */
enum fm_pair { FM_PAIR_NONE, FM_PAIR_ASKED, FM_PAIR_ALWAYS };

struct fm_exporter {
    const char *name;
    const char *summary;
    const char *extension;               /* ".svg"; several: ".folded,.collapsed" */
    enum fm_shape shape;
    const struct fm_export_setting *setting; /* ends with key == NULL; or NULL */
    bool folded;                         /* labels that folded lines can hold */
    bool kinds;                          /* TREE: frames of different annotation stay apart */
    enum fm_pair pair;
    bool raw;                            /* ROWS: sums nothing, so units may differ, and adds no
                                          * frames that were not asked for */
    const char *needs;                   /* labels that are imported only when asked; or NULL */
    const char *events;                  /* read beside the selected ones; or NULL */
    enum fm_status (*write)(struct fm_export *export, struct fm_error *err);
};

const struct fm_exporter *fm_exporter_at(size_t i);       /* name order; NULL past the end */
const struct fm_exporter *fm_exporter_find(const char *name);
/* The exporter one of whose extensions ends the path; NULL. */
const struct fm_exporter *fm_exporter_for_path(const char *path);

/* The value of --set key (the last one given), or NULL. */
const char *fm_export_setting(const struct fm_export *export, const char *key);
/* Settings as numbers: *value is left alone when the key is not set. FM_CONFIG: no such number, or
 * not in [min, max]. */
enum fm_status fm_export_setting_f64(const struct fm_export *export, const char *key, double min,
                                     double max, double *value, struct fm_error *err);
/* "yes", "no"; a key without '=' is "yes". */
enum fm_status fm_export_setting_bool(const struct fm_export *export, const char *key,
                                      bool *value, struct fm_error *err);

/* What became of reading a file that a setting names: one that cannot be read is a mistake in the
 * setting, FM_CONFIG. */
enum fm_status fm_export_setting_file(const char *key, const char *path, enum fm_status status,
                                      struct fm_error *err);

/* Makes the shape, runs the exporter, checks the settings (FM_CONFIG for an unknown one). */
enum fm_status fm_export_run(struct fm_ctx *ctx, const struct fm_selection *sel,
                             const struct fm_exporter *exporter,
                             const struct fm_export_options *options,
                             const struct fm_sink *sink, struct fm_error *err);
/* The same of a new profile against a base, which is scaled as options->normalize says, or `scale`
 * when that is NULL. FM_CONFIG: units that differ, or an exporter of one profile. */
enum fm_status fm_export_run_diff(struct fm_ctx *ctx, const struct fm_selection *sel,
                                  const struct fm_selection *base, const char *scale,
                                  const struct fm_exporter *exporter,
                                  const struct fm_export_options *options,
                                  const struct fm_sink *sink, struct fm_error *err);

#endif
