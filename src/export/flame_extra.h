/*
 * flame_extra.h - what files beside a flame graph say: attributes of frames (nameattr), colours
 * that were given before (cp), colours by rules (colors=FILE.yaml).
 */
#ifndef FM_EXPORT_FLAME_EXTRA_H
#define FM_EXPORT_FLAME_EXTRA_H

#include "export/export.h"
#include "util/map.h"

/* ------------------------------------------------------------- attributes */

/* Of a frame's name; texts or NULL. */
struct fm_flame_attr {
    const char *id, *class, *title, *href, *target;
    const char *group_extra, *link_extra;   /* ' name="value"…', escaped */
};

struct fm_flame_attrs;

/*
 * Reads lines "name TAB key=value TAB key=value…". FM_CONFIG: a key that is none of id, class,
 * title, href, target, g_extra and a_extra, a link that is neither http, https, mailto nor
 * relative, extra text that is no attributes, or one that would run script. Lives in the arena.
 */
enum fm_status fm_flame_attrs_read(struct fm_ctx *ctx, struct fm_arena *arena, const char *path,
                                   struct fm_flame_attrs **attrs, struct fm_error *err);
/* NULL: none for that name; attrs may be NULL. */
const struct fm_flame_attr *fm_flame_attrs_find(const struct fm_flame_attrs *attrs,
                                                const char *name, size_t n);

/* ---------------------------------------------------------- palette.map */

struct fm_palette_map;

/* Reads lines "name->rgb(r,g,b)", if the file is there. FM_CONFIG: a line that is none. Lives in
 * the arena. */
enum fm_status fm_palette_map_read(struct fm_ctx *ctx, struct fm_arena *arena, const char *path,
                                   struct fm_palette_map **map, struct fm_error *err);
bool fm_palette_map_find(const struct fm_palette_map *map, const char *name, size_t n,
                         unsigned rgb[3]);
/* false: no memory. */
bool fm_palette_map_add(struct fm_palette_map *map, const char *name, size_t n,
                        const unsigned rgb[3]) FM_MUST_USE;
/* Writes the file anew, names in byte order, whole or not at all. */
enum fm_status fm_palette_map_write(struct fm_palette_map *map, struct fm_error *err);

/* ----------------------------------------------------------- colour rules */

struct fm_color_rules;

/* Reads a file of rules, see color_rules.c. FM_CONFIG with the place of the first mistake. */
enum fm_status fm_color_rules_read(struct fm_ctx *ctx, struct fm_arena *arena, const char *path,
                                   struct fm_color_rules **rules, struct fm_error *err);
void fm_color_rules_release(struct fm_color_rules *rules);
/* The background that the file asks for, or NULL. */
const char *fm_color_rules_background(const struct fm_color_rules *rules);
/* The colour of the first rule that holds for a name, annotation included; the palette `hot` when
 * none does. */
void fm_color_rules_color(const struct fm_color_rules *rules, bool hash, const char *name,
                          size_t n, unsigned rgb[3]);

#endif
