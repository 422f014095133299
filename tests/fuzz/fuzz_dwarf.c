/*
 * fuzz_dwarf.c - any bytes as an ELF file with debug data: lines, inlined calls and names of
 * addresses all over it. Answers must be within what they point to; time and memory are bounded.
 */
#include "symbol/debug.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
extern const char fuzz_name[];
const char fuzz_name[] = "dwarf";

#define POINTS 512u

static void demand(bool ok)
{
    if (!ok)
        abort();
}

static void check(const struct fm_debug *debug, const struct fm_point *point)
{
    size_t bytes = 0;

    for (size_t i = 0; i < debug->answers; i++) {
        const struct fm_answer *answer = &debug->answer[i];
        demand(i == 0 || point[i - 1].address <= point[i].address);
        demand(answer->n <= FM_DEBUG_INLINES_MAX + 1);
        demand(answer->first + (size_t)answer->n <= debug->places);
        for (uint32_t k = 0; k < answer->n; k++) {
            const struct fm_place *place = &debug->place[answer->first + k];
            bytes += place->name != NULL ? strnlen(place->name, place->name_n) : 0;
            bytes += place->file != NULL ? strlen(place->file) : 0;
        }
    }
    demand(bytes < SIZE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_point point[POINTS];
    struct fm_debug debug;
    struct fm_image image;
    struct fm_elf *elf = NULL;

    if (ctx == NULL)
        return 0;
    fm_ctx_set_cap(ctx, FM_CAP_MEMORY, (uint64_t)256 << 20);
    if (fm_image_copy(ctx, data, n, &image) == FM_OK && fm_elf_open(ctx, &image, &elf) == FM_OK) {
        for (uint32_t i = 0; i < POINTS; i++) {
            uint64_t offset = (uint64_t)n * i / POINTS;
            point[i] = (struct fm_point){ .address = offset, .user = i };
            if (i % 4 != 3)
                fm_elf_address(elf, offset, &point[i].address);
        }
        demand(fm_points_sort(&ctx->mem, point, POINTS) == FM_OK);
        if (fm_debug_find(&debug, ctx, elf, NULL, point, POINTS) == FM_OK)
            check(&debug, point);
        fm_debug_release(&debug);
    }
    fm_elf_close(elf);
    demand(atomic_load(&ctx->mem.used) == 0);
    fm_ctx_free(ctx);
    return 0;
}
