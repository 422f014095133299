/*
 * fuzz_elf.c - any bytes as an ELF file with symbols: identity, addresses, both symbol tables, PLT,
 * debug link, MiniDebugInfo. Names that are picked must lie in memory of the file.
 */
#include "symbol/demangle.h"
#include "symbol/elf.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
extern const char fuzz_name[];
const char fuzz_name[] = "elf";

#define POINTS 256

static void demand(bool ok)
{
    if (!ok)
        abort();
}

/* Addresses all over the file: by offset where the file maps one, else as they are. */
static void spread(const struct fm_elf *elf, size_t n, struct fm_point *point)
{
    for (uint32_t i = 0; i < POINTS; i++) {
        uint64_t offset = (uint64_t)n * i / POINTS;
        point[i].user = i;
        if (i % 4 == 3 || !fm_elf_address(elf, offset, &point[i].address))
            point[i].address = i % 2 == 0 ? offset : 0 - (offset << (i % 48));
    }
}

static void name_all(struct fm_ctx *ctx, const struct fm_elf *elf, size_t n)
{
    struct fm_point point[POINTS];
    struct fm_match match = { 0 };
    struct fm_arena arena;
    struct fm_out out;

    spread(elf, n, point);
    fm_arena_init(&arena, &ctx->mem);
    if (fm_out_init(&out, &ctx->mem, NULL) == FM_OK &&
        fm_match_init(&match, &ctx->mem, point, POINTS) == FM_OK) {
        fm_elf_symbols(elf, FM_ELF_SYMTAB, 0, &match);
        fm_elf_symbols(elf, FM_ELF_DYNSYM, 0x1000, &match);
        fm_elf_plt(elf, elf, &arena, &match);
        if (fm_match_finish(&match) == FM_OK) {
            for (size_t i = 0; i < match.picks; i++) {
                const struct fm_symbol *s = &match.pick[i];
                demand(memchr(s->name, '\0', s->length) == NULL && s->name[s->length] == '\0');
                fm_demangle(&out, s->name, s->length, FM_DEMANGLE_FULL);
            }
        }
    }
    fm_match_release(&match);
    fm_out_release(&out);
    fm_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_elf *elf = NULL, *mini = NULL;
    struct fm_image image;
    const char *link;
    uint64_t value;
    uint32_t crc;

    if (ctx == NULL)
        return 0;
    fm_ctx_set_cap(ctx, FM_CAP_MEMORY, (uint64_t)256 << 20);
    if (fm_image_copy(ctx, data, n, &image) == FM_OK &&
        fm_elf_open(ctx, &image, &elf) == FM_OK) {
        demand(strlen(fm_elf_build_id(elf)) < FM_BUILD_ID_TEXT);
        name_all(ctx, elf, n);
        fm_elf_find(elf, "_text", &value);
        if (fm_elf_debuglink(elf, &link, &crc))
            demand(link[0] != '\0');
        if (fm_elf_debugdata(ctx, elf, &mini) == FM_OK)
            name_all(ctx, mini, n);
    }
    fm_elf_close(mini);
    fm_elf_close(elf);
    demand(atomic_load(&ctx->mem.used) == 0);
    fm_ctx_free(ctx);
    return 0;
}
