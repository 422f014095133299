/*
 * lookup.c - NAME.yaml along the data path.
 *
 *     DIR/formats/NAME.yaml   for each DIR of fm_ctx_data_dir(0), (1), …: the first readable file
 */
#include "format/lookup.h"

#include "util/error.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".yaml"
#define SUFFIX_N (sizeof SUFFIX - 1)

static bool has_suffix(const char *s)
{
    size_t n = strlen(s);
    return n > SUFFIX_N && strcmp(s + n - SUFFIX_N, SUFFIX) == 0;
}

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, R_OK) == 0;
}

const char *fm_lookup(struct fm_ctx *ctx, struct fm_arena *arena, const char *kind,
                      const char *name)
{
    if (strchr(name, '/') || has_suffix(name))
        return is_file(name) ? fm_arena_str(arena, name) : NULL;
    const char *dir;
    for (size_t k = 0; (dir = fm_ctx_data_dir(ctx, k)) != NULL; k++) {
        const char *path = fm_arena_printf(arena, "%s/%s/%s" SUFFIX, dir, kind, name);
        if (!path || is_file(path))
            return path;
    }
    arena->oom |= ctx->arena.oom;   /* the list of folders may have ended early */
    return NULL;
}

struct found {
    const char *name, *path;
    size_t order;                  /* of the folder: earlier ones win */
};

struct list {
    struct fm_mem *mem;
    struct fm_arena arena;
    struct found *item;
    size_t n, cap;
};

static bool add_folder(struct list *list, const char *folder, size_t order)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return true;
    bool ok = true;
    for (struct dirent *e; ok && (e = readdir(dir)) != NULL;) {
        if (!has_suffix(e->d_name) || e->d_name[0] == '.')
            continue;
        struct found f = {.order = order};
        f.name = fm_arena_strn(&list->arena, e->d_name, strlen(e->d_name) - SUFFIX_N);
        f.path = fm_arena_printf(&list->arena, "%s/%s", folder, e->d_name);
        ok = f.name && f.path;
        if (!ok || !is_file(f.path))
            continue;
        ok = fm_grow(list->mem, (void **)&list->item, &list->cap, list->n + 1, sizeof f);
        if (ok)
            list->item[list->n++] = f;
    }
    closedir(dir);
    return ok;
}

static int by_name(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c ? c : (x->order > y->order) - (x->order < y->order);
}

enum fm_status fm_lookup_list(struct fm_ctx *ctx, const char *kind,
                              bool (*fn)(void *user, const char *name, const char *path),
                              void *user, struct fm_error *err)
{
    struct list list = {.mem = &ctx->mem};
    bool ok = true;
    fm_arena_init(&list.arena, &ctx->mem);
    const char *dir;
    for (size_t k = 0; ok && (dir = fm_ctx_data_dir(ctx, k)) != NULL; k++) {
        const char *folder = fm_arena_printf(&list.arena, "%s/%s", dir, kind);
        ok = folder && add_folder(&list, folder, k);
    }
    ok &= !ctx->arena.oom;
    if (ok && list.n)
        qsort(list.item, list.n, sizeof *list.item, by_name);
    for (size_t i = 0; ok && i < list.n; i++) {
        if (i > 0 && strcmp(list.item[i].name, list.item[i - 1].name) == 0)
            continue;
        if (!fn(user, list.item[i].name, list.item[i].path))
            break;
    }
    if (list.item)
        fm_mem_free(list.mem, list.item, list.cap * sizeof *list.item);
    fm_arena_release(&list.arena);
    return ok ? FM_OK : fm_error_nomem(err);
}
