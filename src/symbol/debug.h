/*
 * debug.h - source lines and inlined calls of the unique addresses of a module, from DWARF.
 *
 *     address ──> places: the function that holds it, at the line where it calls …
 *                         … what was inlined there, at the line where that calls …
 *                         … the innermost one, at the line of the line table
 *
 * All addresses of a module are looked up together: a unit that holds none of them is not looked
 * at beyond its root, each other one is read once.
 */
#ifndef FM_SYMBOL_DEBUG_H
#define FM_SYMBOL_DEBUG_H

#include "symbol/find.h"
#include "symbol/match.h"

#define FM_DEBUG_INLINES_MAX 256u    /* of one address */

struct fm_place {
    const char *name;        /* not terminated; NULL unknown */
    uint32_t name_n;
    bool linkage;            /* mangled; else as the source has it, with its scope */
    const char *file;        /* terminated; NULL unknown */
    uint32_t line, column;   /* 0 unknown */
};

struct fm_answer {
    uint32_t first, n;       /* of `place`: the function itself first; n == 0: nothing known */
};

struct fm_debug {
    struct fm_ctx *ctx;
    struct fm_arena arena;   /* texts of places */
    struct fm_answer *answer;    /* by point */
    size_t answers;
    struct fm_place *place;
    size_t places, place_cap;
    bool broken;             /* some of it did not parse, or asked for more work than is fair */
    uint32_t missing;        /* units whose .dwo was not found */
    bool package;            /* … and a .dwp, which is not read, lies there instead */
};

/* Looks points (sorted, addresses of the ELF file) up in a file with .debug_info. `find` finds the
 * files that this one needs beside it; NULL: none. FM_NOMEM is the only failure. */
enum fm_status fm_debug_find(struct fm_debug *debug, struct fm_ctx *ctx, const struct fm_elf *elf,
                             struct fm_find *find, const struct fm_point *point, size_t n);
void fm_debug_release(struct fm_debug *debug);

#endif
