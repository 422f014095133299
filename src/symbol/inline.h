/*
 * inline.h - lines and inlined calls of a store's frames, module by module, from DWARF.
 */
#ifndef FM_SYMBOL_INLINE_H
#define FM_SYMBOL_INLINE_H

#include "symbol/find.h"
#include "util/map.h"

struct fm_inliner {
    struct fm_ctx *ctx;
    struct fm_store *store;
    const struct fm_symbol_options *options;
    struct fm_out *text;         /* borrowed: scratch */
    struct fm_map names;         /* text of a name -> function and raw */
    struct fm_expansion *expansion;
    size_t expansions, expansion_cap;
};

void fm_inliner_init(struct fm_inliner *in, struct fm_ctx *ctx, struct fm_store *store,
                     const struct fm_symbol_options *options, struct fm_out *text);
void fm_inliner_release(struct fm_inliner *in);

/* Looks the points of a module (addresses of its ELF files plus `shift`, `user` a frame) up in
 * find->debug. Sorts the points. Frames without a name get the function's. FM_NOMEM only. */
enum fm_status fm_inliner_module(struct fm_inliner *in, struct fm_find *find,
                                 struct fm_point *point, size_t n, uint64_t shift);

/* Puts what was inlined into the stacks. FM_NOMEM only. */
enum fm_status fm_inliner_finish(struct fm_inliner *in);

/* A symbol's name as strings of the store: readable, and raw where that differs (else 0). */
bool fm_name_strings(struct fm_store *store, struct fm_out *text, const char *name, size_t n,
                     bool mangled, enum fm_demangle style, fm_str *function, fm_str *raw);

#endif
