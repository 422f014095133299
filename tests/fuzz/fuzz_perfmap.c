/*
 * fuzz_perfmap.c - any text as a perf-PID.map. A name that is given must come from a line whose
 * range holds the address, and from no earlier one than the last such.
 */
#include "symbol/maps.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
extern const char fuzz_name[];
const char fuzz_name[] = "perfmap";

#define POINTS 64

static void demand(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_point point[POINTS];
    struct fm_perfmap map;
    char *text = malloc(n + 1);

    if (ctx == NULL || text == NULL)
        abort();
    memcpy(text, data, n);
    for (uint32_t i = 0; i < POINTS; i++)
        point[i] = (struct fm_point){ .address = 0x1000 + 0x20 * (uint64_t)i, .user = i };
    demand(fm_perfmap_parse(&map, ctx, text, n, point, POINTS) == FM_OK);
    demand(map.broken <= map.lines && map.names <= map.lines - map.broken);
    for (size_t i = 0; i < POINTS; i++) {
        uint32_t last = UINT32_MAX;
        for (uint32_t k = 0; k < map.names; k++) {
            if (i >= map.name[k].lo && i < map.name[k].hi)
                last = k;
        }
        demand(point[i].pick == last);
    }
    fm_perfmap_release(&map, ctx);
    demand(atomic_load(&ctx->mem.used) == 0);
    free(text);
    fm_ctx_free(ctx);
    return 0;
}
