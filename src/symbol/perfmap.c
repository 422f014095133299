/*
 * perfmap.c - perf-PID.map: what a JIT wrote about its code.
 *
 *     7fbe3e722000 18 void app.Main.run(int)
 *     start        size name, to the end of the line        hexadecimal, 0x or not
 *
 * The file is appended to while code is made and has no times: where ranges overlap, the last line
 * is right. It may be 100 MB long and is read once, line by line: a line that covers none of the
 * addresses is forgotten; the others are painted last line first, each address once.
 */
#include "symbol/maps.h"

#include "input/input.h"
#include "util/text.h"

#define LINE_MAX_BYTES (64u << 10)

static const char *word_end(const char *p, const char *end)
{
    while (p < end && *p != ' ' && *p != '\t')
        p++;
    return p;
}

static const char *skip_blank(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

/* False: no line of a perf map. */
static bool parse_line(const char *p, size_t n, uint64_t *start, uint64_t *size, const char **name,
                       size_t *name_n)
{
    const char *end = p + n, *q;

    p = skip_blank(p, end);
    q = word_end(p, end);
    if (!fm_text_hex(p, (size_t)(q - p), start))
        return false;
    p = skip_blank(q, end);
    q = word_end(p, end);
    if (!fm_text_hex(p, (size_t)(q - p), size))
        return false;
    p = skip_blank(q, end);
    *name = p;
    *name_n = (size_t)(end - p);
    return *name_n > 0 && *size > 0;
}

static enum fm_status take_line(struct fm_perfmap *map, struct fm_ctx *ctx, const char *line,
                                size_t n, const struct fm_point *point, size_t points)
{
    struct fm_perfmap_name *entry;
    uint64_t start, size, end;
    const char *name;
    size_t name_n, lo, hi;

    if (n == 0)
        return FM_OK;
    map->lines++;
    if (!parse_line(line, n, &start, &size, &name, &name_n)) {
        map->broken++;
        return FM_OK;
    }
    lo = fm_points_find(point, points, start);
    if (!fm_add_u64(start, size, &end))
        end = UINT64_MAX;
    if (lo == points || point[lo].address >= end)
        return FM_OK;
    hi = fm_points_find(point, points, end);
    if (!fm_grow(&ctx->mem, (void **)&map->name, &map->name_cap, map->names + 1,
                 sizeof *map->name))
        return FM_NOMEM;
    entry = &map->name[map->names];
    entry->text = fm_arena_strn(&map->arena, name, name_n);
    if (entry->text == NULL)
        return FM_NOMEM;
    entry->length = (uint32_t)name_n;
    entry->lo = (uint32_t)lo;
    entry->hi = (uint32_t)hi;
    map->names++;
    return FM_OK;
}

/* Last line first; what is painted is skipped. */
static enum fm_status paint(struct fm_perfmap *map, struct fm_ctx *ctx, struct fm_point *point,
                            size_t points)
{
    const size_t bytes = (points + 1) * sizeof(uint32_t);
    uint32_t *next = fm_mem_alloc(&ctx->mem, bytes);

    if (next == NULL)
        return FM_NOMEM;
    for (size_t i = 0; i <= points; i++)
        next[i] = (uint32_t)i;
    for (size_t k = map->names; k-- > 0;) {
        for (size_t i = fm_points_free(next, map->name[k].lo); i < map->name[k].hi;
             i = fm_points_free(next, i)) {
            point[i].pick = (uint32_t)k;
            next[i] = (uint32_t)i + 1;
        }
    }
    fm_mem_free(&ctx->mem, next, bytes);
    return FM_OK;
}

static void begin(struct fm_perfmap *map, struct fm_ctx *ctx, struct fm_point *point,
                  size_t points)
{
    memset(map, 0, sizeof *map);
    fm_arena_init(&map->arena, &ctx->mem);
    for (size_t i = 0; i < points; i++) {
        fm_assert(i == 0 || point[i - 1].address <= point[i].address);
        point[i].pick = UINT32_MAX;
    }
}

enum fm_status fm_perfmap_read(struct fm_perfmap *map, struct fm_ctx *ctx, const char *path,
                               struct fm_point *point, size_t points)
{
    struct fm_input *input = NULL;
    struct fm_reader *reader = NULL;
    enum fm_status status;

    begin(map, ctx, point, points);
    status = fm_input_open(ctx, path, &input, NULL);
    if (status == FM_OK)
        status = fm_reader_open(input, &reader, NULL);
    if (status != FM_OK)
        goto out;
    for (;;) {
        const char *line;
        uint64_t offset;
        bool cut, end;
        size_t n;
        status = fm_reader_line(reader, LINE_MAX_BYTES, &line, &n, &offset, &cut, &end, NULL);
        if (status != FM_OK || end)
            break;
        status = take_line(map, ctx, line, n, point, points);
        if (status != FM_OK)
            break;
    }
    if (status != FM_NOMEM)
        status = paint(map, ctx, point, points);
out:
    fm_reader_close(reader);
    fm_input_free(input);
    return status;
}

enum fm_status fm_perfmap_parse(struct fm_perfmap *map, struct fm_ctx *ctx, const char *text,
                                size_t n, struct fm_point *point, size_t points)
{
    const char *end = text + n;
    enum fm_status status = FM_OK;

    begin(map, ctx, point, points);
    while (text < end && status == FM_OK) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop != NULL ? stop : end) - text);
        size_t next = stop != NULL ? length + 1 : length;
        if (length > 0 && text[length - 1] == '\r')
            length--;
        status = take_line(map, ctx, text, FM_MIN(length, (size_t)LINE_MAX_BYTES), point, points);
        text += next;
    }
    return status == FM_OK ? paint(map, ctx, point, points) : status;
}

void fm_perfmap_release(struct fm_perfmap *map, struct fm_ctx *ctx)
{
    fm_mem_free(&ctx->mem, map->name, map->name_cap * sizeof *map->name);
    fm_arena_release(&map->arena);
    memset(map, 0, sizeof *map);
}
