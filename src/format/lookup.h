/*
 * lookup.h - the data path: where formats/ and queries/ files are found.
 *
 * Order: see fm_ctx_add_data_dir(). First hit by name wins.
 */
#ifndef FM_FORMAT_LOOKUP_H
#define FM_FORMAT_LOOKUP_H

#include "util/ctx.h"

/* Path of KIND/NAME.yaml ("formats" or "queries"), from arena; NULL when there is none (or no
 * memory: arena->oom tells). A name with '/' or ending ".yaml" is taken as a path. */
const char *fm_lookup(struct fm_ctx *ctx, struct fm_arena *arena, const char *kind,
                      const char *name);

/* Calls fn for every file of a kind, in byte order of names, first hit of a name only; stops when
 * fn returns false. Folders that are absent or unreadable are passed over. FM_NOMEM. */
enum fm_status fm_lookup_list(struct fm_ctx *ctx, const char *kind,
                              bool (*fn)(void *user, const char *name, const char *path),
                              void *user, struct fm_error *err);

#endif
