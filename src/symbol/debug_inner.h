/*
 * debug_inner.h - what debug.c, debug_walk.c and debug_name.c share: one look-up of a module.
 */
#ifndef FM_SYMBOL_DEBUG_INNER_H
#define FM_SYMBOL_DEBUG_INNER_H

#include "symbol/debug.h"
#include "symbol/dwarf.h"
#include "util/map.h"
#include "util/out.h"

#define FM_NO_ENTRY UINT32_MAX

/* A function, or a call that was inlined, that holds a point. */
struct fm_entry {
    uint32_t parent;             /* what it was inlined into; FM_NO_ENTRY: a function */
    uint32_t root;               /* the function */
    uint32_t depth;              /* 0: a function */
    uint32_t unit;               /* ordinal of the unit */
    uint32_t name;               /* of `name` */
    uint32_t call_line, call_column;
    uint64_t call_file;
    uint64_t die;
    const char *file;            /* text of call_file */
};

struct fm_debug_name {
    const char *text;            /* NULL unknown */
    uint32_t n;
    bool linkage;
};

/* What is known of a point. */
struct fm_spot {
    uint32_t entry;              /* the innermost */
    uint32_t mark;               /* the last unit whose ranges hold it, + 1 */
    uint32_t line_unit;          /* unit of file, line, column, + 1 */
    uint32_t line, column;
    uint64_t span;               /* size of the function's range around it */
    uint64_t start;              /* of the line table's sequence */
    uint64_t file;
    const char *path;
};

struct fm_look {
    struct fm_debug *debug;
    struct fm_find *find;        /* or NULL */
    struct fm_dwarf main, alt;
    struct fm_elf *alt_elf;
    uint64_t work;
    const struct fm_point *point;
    size_t points;
    struct fm_spot *spot;
    uint64_t gap_low, gap_high;  /* no point lies between */
    size_t mark_low, mark_high;  /* points of the unit in work lie between */
    uint32_t unit;               /* ordinal of the unit in work */
    struct fm_entry *entry;
    size_t entries, entry_cap;
    struct fm_debug_name *name;
    size_t names, name_cap;
    struct fm_map by_die;        /* DIE -> name + 1; of one .dwo or the main file */
    struct fm_map by_file;       /* number of a file -> its text; of one unit */
    struct fm_out text;
    bool oom;
};

/* Points in [low, high): their number, *first. */
size_t fm_look_points(struct fm_look *look, uint64_t low, uint64_t high, size_t *first);

/* debug_walk.c: finds functions and inlined calls of a unit that hold points. */
void fm_look_walk(struct fm_look *look, const struct fm_dwarf_cu *cu);

/* debug_name.c: names the entries from `first` on, which a unit has added. */
void fm_look_names(struct fm_look *look, const struct fm_dwarf_cu *cu, size_t first);

#endif
