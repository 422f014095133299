/*
 * places.c - addresses of a program and what its debug data says of them, as `addr2line -a -i -f`
 * prints it, but with names as they stand in the debug data: for tests/places.test.
 *
 *     places FILE <addresses in hex
 */
#include "symbol/debug.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void print(const struct fm_point *point, const struct fm_debug *debug, size_t i)
{
    const struct fm_answer *answer = &debug->answer[i];

    printf("0x%016" PRIx64 "\n", point[i].address);
    if (answer->n == 0)
        puts("??\n??:0");
    for (uint32_t k = answer->n; k-- > 0;) {
        const struct fm_place *place = &debug->place[answer->first + k];
        if (place->name != NULL)
            printf("%.*s\n", (int)place->name_n, place->name);
        else
            puts("??");
        printf("%s:%u\n", place->file != NULL ? place->file : "??", place->line);
    }
}

static struct fm_point *read_points(size_t *n)
{
    struct fm_point *point = NULL;
    uint64_t address;
    size_t cap = 0;

    for (*n = 0; scanf("%" SCNx64, &address) == 1; ++*n) {
        if (*n == cap) {
            cap = cap * 2 + 64;
            point = realloc(point, cap * sizeof *point);
            if (point == NULL)
                abort();
        }
        point[*n] = (struct fm_point){ .address = address };
    }
    return point;
}

int main(int argc, char **argv)
{
    const struct fm_symbol_options options = { .lines = true, .inlines = true };
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_point *point;
    struct fm_image image;
    struct fm_arena arena;
    struct fm_debug debug;
    struct fm_find find;
    struct fm_elf *elf;
    size_t n;

    if (argc != 2 || ctx == NULL)
        return 2;
    point = read_points(&n);
    fm_arena_init(&arena, &ctx->mem);
    if (fm_find_init(&find, ctx, &options, &arena) != FM_OK ||
        fm_image_open(ctx, argv[1], false, &image) != FM_OK ||
        fm_elf_open(ctx, &image, &elf) != FM_OK)
        return 2;
    find.path = argv[1];
    snprintf(find.debug_path, sizeof find.debug_path, "%s", argv[1]);
    if (fm_points_sort(&ctx->mem, point, n) != FM_OK ||
        fm_debug_find(&debug, ctx, elf, &find, point, n) != FM_OK)
        return 2;
    for (size_t i = 0; i < n && debug.answer != NULL; i++)
        print(point, &debug, i);
    if (debug.broken || debug.missing > 0)
        printf("broken %d, .dwo missing %u\n", debug.broken, debug.missing);
    fm_debug_release(&debug);
    fm_elf_close(elf);
    fm_find_release(&find);
    fm_arena_release(&arena);
    fm_ctx_free(ctx);
    free(point);
    return 0;
}
