/*
 * maps.h - symbols that are text: kallsyms of the kernel, perf-PID.map of a JIT.
 */
#ifndef FM_SYMBOL_MAPS_H
#define FM_SYMBOL_MAPS_H

#include "symbol/match.h"
#include "util/ctx.h"

struct fm_kallsyms {
    const char *text;
    size_t n;
    const char *module;         /* "ext4": only its symbols; NULL: the kernel's own */
    uint64_t start, end;        /* of a module: symbols outside are of another boot; 0 = unknown */
    uint64_t reference;         /* address of the reference symbol when recorded, 0 = unknown */
    const char *reference_name; /* "_text", "_stext"; NULL: the first of these that is there */
    /* found: */
    uint64_t symbols;           /* of the kernel or module */
    uint64_t shift;             /* added to all addresses: recorded under another base */
    bool restricted;            /* all addresses are 0 */
};

/* Offers the symbols to a match of absolute addresses; names point into the text. */
void fm_kallsyms_symbols(struct fm_kallsyms *kallsyms, struct fm_match *match);

/* Names for points out of a perf map: point[i].pick is a place in `name`, or UINT32_MAX. */
struct fm_perfmap {
    struct fm_arena arena;
    struct fm_perfmap_name {
        const char *text;
        uint32_t length;
        uint32_t lo, hi;        /* points it covered */
    } *name;
    size_t names, name_cap;
    uint64_t lines, broken;
};

/* Reads the file (compressed or not) once; points must be sorted (fm_points_sort). FM_IO when it
 * is not there, FM_NOMEM; damage in a compressed file keeps what came before it. */
enum fm_status fm_perfmap_read(struct fm_perfmap *map, struct fm_ctx *ctx, const char *path,
                               struct fm_point *point, size_t points);
/* The same for text in memory. */
enum fm_status fm_perfmap_parse(struct fm_perfmap *map, struct fm_ctx *ctx, const char *text,
                                size_t n, struct fm_point *point, size_t points);
void fm_perfmap_release(struct fm_perfmap *map, struct fm_ctx *ctx);

#endif
