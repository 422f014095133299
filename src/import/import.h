/*
 * import.h - what an importer is, and the driver that runs them.
 *
 * Adding a format: a file (or folder) here, one line in the table of import.c, one in Makefile.am,
 * its formats/NAME.yaml, golden cases, a fuzz target, a line in the man page.
 */
#ifndef FM_IMPORT_IMPORT_H
#define FM_IMPORT_IMPORT_H

#include "format/mapping.h"
#include "input/input.h"
#include "store/build.h"
#include "util/out.h"

struct fm_import {
    struct fm_ctx *ctx;
    struct fm_input *input;
    struct fm_builder *builder;          /* the source has been started */
    const struct fm_mapping *mapping;    /* formats/NAME.yaml of the importer, or NULL */
    const struct fm_import_options *options;
    const char *layout;                  /* of records, named by the user; NULL: as they show */
};

struct fm_importer {
    const char *name;
    const char *summary;                 /* for `foldmill list formats` */
    const char *extensions;              /* "data,perf": a hint only, worth 1 bit */
    bool seek;                           /* must be able to go back */
    bool directory;                      /* takes directories */
    bool mapping;                        /* wants formats/NAME.yaml */
    /* Verified bits of evidence that `data` (the head of the input, at most 64 KiB; `whole` when it
     * is all of it) is of this format: 8 magic bytes = 64; text heuristics < 32; 0 = no. Keeps no
     * state, consumes nothing. For a directory: data == NULL, look at input. */
    unsigned (*probe)(const unsigned char *data, size_t n, bool whole, struct fm_input *input);
    /* Reads everything. FM_TRUNCATED, FM_FORMAT …: what was read is in the builder, err says where
     * it ended and what was expected. Findings that do not end it go to fm_builder_diag(). */
    enum fm_status (*import)(struct fm_import *import, struct fm_error *err);
};

/* The table, in name order; NULL past the end. */
const struct fm_importer *fm_importer_at(size_t i);
const struct fm_importer *fm_importer_find(const char *name);

/*
 * Opens, probes and imports one input into the builder as a new source. A tie between probes is
 * FM_UNKNOWN and names the rivals. `format` NULL = probe. *usable = false when nothing of it can be
 * used (then the builder holds an empty source).
 */
enum fm_status fm_import_input(struct fm_ctx *ctx, struct fm_input *input,
                               const struct fm_import_options *options,
                               struct fm_builder *builder, bool *usable, struct fm_error *err);

/* Imports `input_path` with the mapping file at `mapping_path` instead of the installed one and
 * writes which field of which class reached which column (`foldmill check --against`). */
enum fm_status fm_import_report(struct fm_ctx *ctx, const char *mapping_path,
                                const char *input_path, struct fm_out *out,
                                struct fm_error *err);

#endif
