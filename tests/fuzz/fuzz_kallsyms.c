/*
 * fuzz_kallsyms.c - any text as a kernel's list of symbols, for the kernel and for a module, with
 * and without a reference symbol.
 */
#include "symbol/maps.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
extern const char fuzz_name[];
const char fuzz_name[] = "kallsyms";

#define POINTS 64

static void demand(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fm_ctx *ctx = fm_ctx_new();
    char *text = malloc(n + 1);

    if (ctx == NULL || text == NULL)
        abort();
    memcpy(text, data, n);
    for (int round = 0; round < 3; round++) {
        struct fm_kallsyms k = { .text = text, .n = n, .module = round == 1 ? "ext4" : NULL,
                                 .reference = round == 2 ? 0xffffffff9e000000 : 0 };
        struct fm_point point[POINTS];
        struct fm_match match = { 0 };
        for (uint32_t i = 0; i < POINTS; i++)
            point[i] = (struct fm_point){
                .address = (i % 2 ? 0xffffffff81000000 : 0xffffffffc0000000) + 256 * i, .user = i };
        if (fm_match_init(&match, &ctx->mem, point, POINTS) == FM_OK) {
            fm_kallsyms_symbols(&k, &match);
            demand(fm_match_finish(&match) == FM_OK);
            for (size_t i = 0; i < match.picks; i++)
                demand(match.pick[i].name >= text &&
                       match.pick[i].name + match.pick[i].length <= text + n);
            demand(!k.restricted || match.picks == 0);
        }
        fm_match_release(&match);
    }
    demand(atomic_load(&ctx->mem.used) == 0);
    free(text);
    fm_ctx_free(ctx);
    return 0;
}
