/*
 * palette_map.c - colours of frames kept in a file, as flamegraph.pl's --cp has them, so that a
 * function looks alike in all pictures made with it:
 *
 *     main->rgb(0,228,163)
 *     wake_[w]->rgb(0,238,203)
 *
 * Names stand in byte order; the last "->" of a line ends the name. A name that is not there is
 * coloured by the palette and added; the file is then written anew beside itself and takes its name
 * at once.
 */
#include "export/flame_extra.h"

#include "input/input.h"
#include "util/error.h"
#include "util/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FILE_MAX ((size_t)64 << 20)

struct shade {
    const char *name;
    size_t n;
    unsigned rgb[3];
    struct shade *next;
};

struct fm_palette_map {
    struct fm_ctx *ctx;
    struct fm_arena *arena;
    const char *path;
    struct shade *bucket[4096];
    size_t shades;
    bool changed;
};

static struct shade **place(struct fm_palette_map *map, const char *name, size_t n)
{
    struct shade **at = &map->bucket[XXH3_64bits(name, n) & 4095];
    while (*at != NULL && ((*at)->n != n || memcmp((*at)->name, name, n) != 0))
        at = &(*at)->next;
    return at;
}

bool fm_palette_map_find(const struct fm_palette_map *map, const char *name, size_t n,
                         unsigned rgb[3])
{
    const struct shade *s = map->bucket[XXH3_64bits(name, n) & 4095];
    while (s != NULL && (s->n != n || memcmp(s->name, name, n) != 0))
        s = s->next;
    if (s != NULL)
        memcpy(rgb, s->rgb, sizeof s->rgb);
    return s != NULL;
}

bool fm_palette_map_add(struct fm_palette_map *map, const char *name, size_t n,
                        const unsigned rgb[3])
{
    struct shade **at = place(map, name, n);
    if (*at == NULL) {
        char *copy = fm_arena_strn(map->arena, name, n);
        *at = fm_arena_alloc(map->arena, sizeof **at);
        if (*at == NULL || copy == NULL)
            return false;
        (*at)->name = copy;
        (*at)->n = n;
        map->shades++;
    }
    memcpy((*at)->rgb, rgb, sizeof (*at)->rgb);
    map->changed = true;
    return true;
}

/* "rgb(1,2,3)" */
static bool parse_rgb(const char *s, size_t n, unsigned rgb[3])
{
    size_t at = 4;
    if (n < 10 || memcmp(s, "rgb(", 4) != 0 || s[n - 1] != ')')
        return false;
    for (unsigned k = 0; k < 3; k++) {
        size_t from = at;
        uint64_t v;
        while (at < n && s[at] != (k < 2 ? ',' : ')'))
            at++;
        if (at == n || !fm_text_u64(s + from, at - from, &v) || v > 255)
            return false;
        rgb[k] = (unsigned)v;
        at++;
    }
    return at == n;
}

static enum fm_status take_line(struct fm_palette_map *map, const char *s, size_t n, uint64_t line,
                                struct fm_error *err)
{
    unsigned rgb[3];
    size_t at = n;
    while (at > 1 && !(s[at - 2] == '-' && s[at - 1] == '>'))
        at--;
    if (at < 2 || !parse_rgb(s + at, n - at, rgb))
        return fm_error_set(err, FM_CONFIG, "setting cp: %s line %llu is no 'name->rgb(r,g,b)'",
                            map->path, (unsigned long long)line);
    return fm_palette_map_add(map, s, at - 2, rgb) ? FM_OK : fm_error_nomem(err);
}

enum fm_status fm_palette_map_read(struct fm_ctx *ctx, struct fm_arena *arena, const char *path,
                                   struct fm_palette_map **result, struct fm_error *err)
{
    struct fm_palette_map *map = fm_arena_alloc(arena, sizeof *map);
    char *data;
    size_t size;
    uint64_t line = 0;
    enum fm_status status;
    if (map == NULL)
        return fm_error_nomem(err);
    map->ctx = ctx;
    map->arena = arena;
    map->path = path;
    *result = map;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return FM_OK;
    status = fm_input_slurp(ctx, path, FILE_MAX, &data, &size, err);
    if (status != FM_OK)
        return status;
    for (size_t at = 0; at < size && status == FM_OK;) {
        const char *end = memchr(data + at, '\n', size - at);
        size_t n = end != NULL ? (size_t)(end - (data + at)) : size - at;
        line++;
        if (n > 0)
            status = take_line(map, data + at, n, line, err);
        at += n + 1;
    }
    fm_mem_free(&ctx->mem, data, size + 1);
    map->changed = false;
    return status;
}

static int by_name(const void *a, const void *b)
{
    const struct shade *x = *(struct shade *const *)a, *y = *(struct shade *const *)b;
    int c = memcmp(x->name, y->name, FM_MIN(x->n, y->n));
    return c != 0 ? c : (x->n > y->n) - (x->n < y->n);
}

static void put_all(struct fm_palette_map *map, const struct shade **list, struct fm_out *out)
{
    size_t n = 0;
    for (size_t b = 0; b < FM_COUNT(map->bucket); b++)
        for (const struct shade *s = map->bucket[b]; s != NULL; s = s->next)
            list[n++] = s;
    qsort(list, n, sizeof *list, by_name);
    for (size_t i = 0; i < n; i++) {
        fm_out_bytes(out, list[i]->name, list[i]->n);
        fm_out_printf(out, "->rgb(%u,%u,%u)\n", list[i]->rgb[0], list[i]->rgb[1],
                      list[i]->rgb[2]);
    }
}

/* The bytes to a file beside the path, which takes its name. */
static bool replace(const char *path, const char *beside, const struct fm_out *out)
{
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), why;
    size_t at = 0;
    if (fd < 0)
        return false;
    while (at < out->n) {
        ssize_t n = write(fd, out->buf + at, out->n - at);
        if (n < 0 && errno != EINTR)
            break;
        at += n > 0 ? (size_t)n : 0;
    }
    why = errno;
    if (close(fd) == 0 && at == out->n && rename(beside, path) == 0)
        return true;
    why = at == out->n ? errno : why;
    (void)unlink(beside);
    errno = why;
    return false;
}

enum fm_status fm_palette_map_write(struct fm_palette_map *map, struct fm_error *err)
{
    const struct shade **list;
    struct fm_out out;
    char *beside;
    enum fm_status status = FM_OK;
    if (!map->changed)
        return FM_OK;
    list = fm_arena_alloc(map->arena, map->shades * sizeof(const struct shade *));
    beside = fm_arena_printf(map->arena, "%s.%ld", map->path, (long)getpid());
    if (list == NULL || beside == NULL || fm_out_init(&out, &map->ctx->mem, NULL) != FM_OK)
        return fm_error_nomem(err);
    put_all(map, list, &out);
    if (out.status != FM_OK)
        status = fm_error_nomem(err);
    else if (!replace(map->path, beside, &out))
        status = fm_error_set(err, FM_IO, "setting cp: cannot write '%s': %s", map->path,
                              strerror(errno));
    fm_out_release(&out);
    return status;
}
