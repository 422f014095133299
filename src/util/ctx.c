/*
 * ctx.c - struct fm_ctx: one user's caps, memory count, progress callback and data path.
 */
#include "util/ctx.h"

#include "util/error.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef FM_DATADIR
#define FM_DATADIR "/usr/share/foldmill"
#endif

struct fm_ctx *fm_ctx_new(void)
{
    struct fm_ctx *ctx = calloc(1, sizeof *ctx);
    long cpus;

    if (ctx == NULL)
        return NULL;
    fm_mem_init(&ctx->mem, 0);
    fm_arena_init(&ctx->arena, &ctx->mem);
    ctx->cap[FM_CAP_INFLATED] = (uint64_t)64 << 30;
    ctx->cap[FM_CAP_STACK_DEPTH] = 65536;
    cpus = sysconf(_SC_NPROCESSORS_ONLN);
    ctx->cap[FM_CAP_THREADS] = cpus > 0 ? (uint64_t)cpus : 1;
    return ctx;
}

void fm_ctx_free(struct fm_ctx *ctx)
{
    if (ctx == NULL)
        return;
    fm_arena_release(&ctx->arena);
    fm_assert(atomic_load(&ctx->mem.used) == 0 || !"memory of this context is still held");
    free(ctx);
}

void fm_ctx_set_cap(struct fm_ctx *ctx, enum fm_cap cap, uint64_t value)
{
    if ((size_t)cap >= FM_CTX_CAPS)
        return;
    ctx->cap[cap] = value;
    if (cap == FM_CAP_MEMORY)
        ctx->mem.cap = value > SIZE_MAX ? SIZE_MAX : (size_t)value;
}

enum fm_status fm_ctx_add_data_dir(struct fm_ctx *ctx, const char *dir)
{
    if (ctx->dirs == FM_CTX_DIRS)
        return FM_LIMIT;
    ctx->dir[ctx->dirs] = fm_arena_str(&ctx->arena, dir);
    if (ctx->dir[ctx->dirs] == NULL)
        return FM_NOMEM;
    ctx->dirs++;
    return FM_OK;
}

void fm_ctx_set_progress(struct fm_ctx *ctx, fm_progress_fn *fn, void *user)
{
    ctx->progress = fn;
    ctx->progress_user = user;
}

bool fm_ctx_tick(struct fm_ctx *ctx, uint64_t done, uint64_t total)
{
    return ctx->progress == NULL || ctx->progress(ctx->progress_user, done, total);
}

/* The folder `place` of the environment: the first n bytes of dir and the suffix. It is copied once
 * and again only when the environment has changed. NULL: no memory. */
static const char *env_dir(struct fm_ctx *ctx, size_t place, const char *dir, size_t n,
                           const char *suffix)
{
    const char *old = place < FM_CTX_DIRS ? ctx->env_dir[place] : NULL;
    const char *made;

    if (old != NULL && strncmp(old, dir, n) == 0 && strcmp(old + n, suffix) == 0)
        return old;
    made = fm_arena_printf(&ctx->arena, "%.*s%s", (int)FM_MIN(n, (size_t)INT_MAX), dir, suffix);
    if (place < FM_CTX_DIRS)
        ctx->env_dir[place] = made;
    return made;
}

/* The k-th entry of a colon-separated list; NULL past the end. Empty entries do not count. *k is
 * reduced by the entries passed. */
static const char *path_entry(struct fm_ctx *ctx, const char *list, size_t *k)
{
    size_t place = *k;

    while (list != NULL && *list != '\0') {
        const char *colon = strchr(list, ':');
        size_t n = colon != NULL ? (size_t)(colon - list) : strlen(list);

        if (n > 0 && (*k)-- == 0)
            return env_dir(ctx, place, list, n, "");
        list = colon != NULL ? colon + 1 : NULL;
    }
    return NULL;
}

const char *fm_ctx_data_dir(struct fm_ctx *ctx, size_t k)
{
    const char *dir, *home;
    size_t place;

    if (k < ctx->dirs)
        return ctx->dir[k];
    place = k -= ctx->dirs;
    dir = path_entry(ctx, getenv("FOLDMILL_PATH"), &k);
    if (dir != NULL)
        return dir;
    home = getenv("XDG_CONFIG_HOME");
    if (home != NULL && home[0] == '/') {
        if (k-- == 0)
            return env_dir(ctx, place, home, strlen(home), "/foldmill");
    } else if ((home = getenv("HOME")) != NULL && home[0] == '/') {
        if (k-- == 0)
            return env_dir(ctx, place, home, strlen(home), "/.config/foldmill");
    }
    return k == 0 ? FM_DATADIR : NULL;
}
