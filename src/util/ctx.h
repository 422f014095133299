/*
 * ctx.h - struct fm_ctx: memory, caps, progress and data path of one user of the library.
 */
#ifndef FM_UTIL_CTX_H
#define FM_UTIL_CTX_H

#include "util/mem.h"

#define FM_CTX_CAPS 4
#define FM_CTX_DIRS 32

struct fm_ctx {
    struct fm_mem mem;
    uint64_t cap[FM_CTX_CAPS];
    fm_progress_fn *progress;
    void *progress_user;
    struct fm_arena arena;          /* strings below */
    const char *dir[FM_CTX_DIRS];   /* added data folders, in order */
    size_t dirs;
    const char *env_dir[FM_CTX_DIRS]; /* data folders by the environment, as last asked for */
};

/* Reports progress; false = the user asked to stop. */
bool fm_ctx_tick(struct fm_ctx *ctx, uint64_t done, uint64_t total);

/* The k-th data folder of the search order (public header), or NULL past the end. */
const char *fm_ctx_data_dir(struct fm_ctx *ctx, size_t k);

#endif
