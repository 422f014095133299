/*
 * hash.c - XXH3 (128 bits) of what a kept result depends on.
 *
 * The state wants 64-byte alignment, which fm_mem does not promise: it lies at the first such place
 * of a larger block, and the buffer that files are read through behind it.
 */
#include "report/hash.h"

#include "util/ctx.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define ALIGN 64
#define BUFFER ((size_t)128 << 10)

struct fm_report_hash {
    void *block;
    XXH3_state_t state;
    unsigned char buffer[BUFFER];
};

#define BLOCK (sizeof(struct fm_report_hash) + ALIGN)

struct fm_report_hash *fm_report_hash_new(struct fm_mem *mem)
{
    char *block = fm_mem_alloc(mem, BLOCK);
    struct fm_report_hash *hash;

    if (block == NULL)
        return NULL;
    hash = (struct fm_report_hash *)(void *)(block + ALIGN - (uintptr_t)block % ALIGN);
    hash->block = block;
    XXH3_128bits_reset(&hash->state);
    return hash;
}

void fm_report_hash_free(struct fm_report_hash *hash, struct fm_mem *mem)
{
    if (hash != NULL)
        fm_mem_free(mem, hash->block, BLOCK);
}

void fm_report_hash_bytes(struct fm_report_hash *hash, const void *data, size_t n)
{
    XXH3_128bits_update(&hash->state, data, n);
}

void fm_report_hash_u64(struct fm_report_hash *hash, uint64_t v)
{
    unsigned char byte[8];

    for (unsigned i = 0; i < 8; i++)
        byte[i] = (unsigned char)(v >> (8 * i));
    fm_report_hash_bytes(hash, byte, sizeof byte);
}

void fm_report_hash_text(struct fm_report_hash *hash, const char *s)
{
    size_t n = s == NULL ? 0 : strlen(s);

    fm_report_hash_bytes(hash, s == NULL ? "" : s, n);
    fm_report_hash_u64(hash, s == NULL ? UINT64_MAX : n);
}

bool fm_report_hash_file(struct fm_report_hash *hash, const char *path, uint64_t *size)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), saved;
    uint64_t all = 0;
    ssize_t n;

    if (fd < 0)
        return false;
    while ((n = read(fd, hash->buffer, BUFFER)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        fm_report_hash_bytes(hash, hash->buffer, (size_t)n);
        all += (uint64_t)n;
    }
    saved = errno;
    close(fd);
    errno = saved;
    fm_report_hash_u64(hash, all);
    *size = all;
    return n == 0;
}

void fm_report_hash_get(const struct fm_report_hash *hash, uint64_t digest[2])
{
    XXH128_hash_t h = XXH3_128bits_digest(&hash->state);

    digest[0] = h.high64;
    digest[1] = h.low64;
}

void fm_report_hash_hex(const uint64_t digest[2], char key[FM_REPORT_KEY])
{
    snprintf(key, FM_REPORT_KEY, "%016llx%016llx", (unsigned long long)digest[0],
             (unsigned long long)digest[1]);
}

/* ----------------------------------------------------------------- folders */

struct names {
    struct fm_arena *arena;
    const char **name, **path;
    size_t n, cap;
};

static bool is_yaml(const char *name)
{
    size_t n = strlen(name);

    return n > 5 && name[0] != '.' && strcmp(name + n - 5, ".yaml") == 0;
}

static bool add_name(struct names *names, const char *dir, const char *name)
{
    struct fm_mem *mem = names->arena->mem;
    size_t cap = names->cap;

    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->name[i], name) == 0)
            return true;
    if (!fm_grow(mem, (void **)&names->path, &cap, names->n + 1, sizeof *names->path)
        || !fm_grow(mem, (void **)&names->name, &names->cap, names->n + 1, sizeof *names->name))
        return false;
    names->name[names->n] = fm_arena_str(names->arena, name);
    names->path[names->n] = fm_arena_printf(names->arena, "%s/%s", dir, name);
    names->n++;
    return !names->arena->oom;
}

static bool add_folder(struct names *names, const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    bool good = true;

    while (d != NULL && good && (entry = readdir(d)) != NULL)
        good = !is_yaml(entry->d_name) || add_name(names, dir, entry->d_name);
    if (d != NULL)
        closedir(d);
    return good;
}

static void sort_names(struct names *names)
{
    for (size_t i = 1; i < names->n; i++) {
        for (size_t k = i; k > 0 && strcmp(names->name[k - 1], names->name[k]) > 0; k--) {
            const char *name = names->name[k], *path = names->path[k];

            names->name[k] = names->name[k - 1];
            names->path[k] = names->path[k - 1];
            names->name[k - 1] = name;
            names->path[k - 1] = path;
        }
    }
}

bool fm_report_hash_folder(struct fm_report_hash *hash, struct fm_ctx *ctx, const char *kind)
{
    struct fm_arena arena;
    struct names names = {.arena = &arena};
    const char *dir, *path;
    uint64_t size;
    bool good = true;

    fm_arena_init(&arena, &ctx->mem);
    for (size_t k = 0; good && (dir = fm_ctx_data_dir(ctx, k)) != NULL; k++) {
        path = fm_arena_printf(&arena, "%s/%s", dir, kind);
        good = path != NULL && add_folder(&names, path);
    }
    sort_names(&names);
    for (size_t i = 0; good && i < names.n; i++) {
        fm_report_hash_text(hash, names.name[i]);
        (void)fm_report_hash_file(hash, names.path[i], &size); /* unreadable: as the reader finds */
    }
    fm_mem_free(arena.mem, names.name, names.cap * sizeof *names.name);
    fm_mem_free(arena.mem, names.path, names.cap * sizeof *names.path);
    fm_arena_release(&arena);
    return good;
}
