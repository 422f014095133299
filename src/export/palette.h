/*
 * palette.h - colours of flame graph frames: FlameGraph's palettes, value for value.
 */
#ifndef FM_EXPORT_PALETTE_H
#define FM_EXPORT_PALETTE_H

#include "util/base.h"

/* Number of a palette by name ("hot", "java" ...), or -1. */
int fm_palette_find(const char *name);
/* Name of palette i, NULL past the end. */
const char *fm_palette_name(size_t i);
/* Background that goes with a palette: "yellow", "green", "blue" or "grey". */
const char *fm_palette_background(int palette);

/* Colour of a frame by its name, annotation included ("f_[k]"). `hash`: colours by the first three
 * characters, so that alike names look alike; else by the sum of its code points. */
void fm_palette_color(int palette, bool hash, const char *name, size_t n, unsigned rgb[3]);

/* The same from three numbers in [0, 1) instead of the name's own. */
void fm_palette_shade(int palette, const double v[3], const char *name, size_t n, unsigned rgb[3]);
/* Frames "-" and "--" are separators: grey in every palette. */
bool fm_palette_separator(const char *name, size_t n, unsigned rgb[3]);

#endif
