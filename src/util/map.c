/*
 * map.c - open-addressing hash map, 64-bit key to 64-bit value.
 *
 * Linear probing over a power-of-two table; grown when more than 5 of 8 slots are used. Occupancy
 * is a byte beside the slots, so every key value is allowed.
 */
#include "util/map.h"

#define FIRST_SLOTS 64

void fm_map_init(struct fm_map *map, struct fm_mem *mem)
{
    memset(map, 0, sizeof *map);
    map->mem = mem;
}

void fm_map_release(struct fm_map *map)
{
    fm_mem_free(map->mem, map->slot, map->slots * sizeof *map->slot);
    fm_mem_free(map->mem, map->used, map->slots);
    fm_map_init(map, map->mem);
}

void fm_map_clear(struct fm_map *map)
{
    if (map->slots > 0)
        memset(map->used, 0, map->slots);
    map->n = 0;
}

static size_t home(const struct fm_map *map, uint64_t key)
{
    return (size_t)fm_mix(fm_mix(0, key), key >> 29) & (map->slots - 1);
}

/* The slot of a key, or the free slot where it would go. The table is never full. */
static size_t probe(const struct fm_map *map, uint64_t key)
{
    size_t i = home(map, key);

    fm_assert(map->n < map->slots);
    while (map->used[i] && map->slot[i].key != key)
        i = (i + 1) & (map->slots - 1);
    return i;
}

static bool grow(struct fm_map *map)
{
    struct fm_map bigger = *map;
    size_t bytes;

    bigger.slots = map->slots == 0 ? FIRST_SLOTS : map->slots * 2;
    if (bigger.slots < map->slots || !fm_mul_size(bigger.slots, sizeof *map->slot, &bytes))
        return false;
    bigger.slot = fm_mem_alloc(map->mem, bytes);
    if (bigger.slot == NULL)
        return false;
    bigger.used = fm_mem_zalloc(map->mem, bigger.slots);
    if (bigger.used == NULL) {
        fm_mem_free(map->mem, bigger.slot, bytes);
        return false;
    }
    for (size_t i = 0; i < map->slots; i++) {
        if (map->used[i]) {
            size_t j = probe(&bigger, map->slot[i].key);
            bigger.used[j] = 1;
            bigger.slot[j] = map->slot[i];
        }
    }
    fm_mem_free(map->mem, map->slot, map->slots * sizeof *map->slot);
    fm_mem_free(map->mem, map->used, map->slots);
    *map = bigger;
    return true;
}

uint64_t *fm_map_find(const struct fm_map *map, uint64_t key)
{
    size_t i;

    if (map->n == 0)
        return NULL;
    i = probe(map, key);
    return map->used[i] ? &map->slot[i].value : NULL;
}

uint64_t *fm_map_put(struct fm_map *map, uint64_t key, bool *fresh)
{
    size_t i;

    if (map->n >= map->slots / 8 * 5 && !grow(map))
        return NULL;
    i = probe(map, key);
    if (fresh != NULL)
        *fresh = !map->used[i];
    if (!map->used[i]) {
        map->used[i] = 1;
        map->slot[i] = (struct fm_map_slot){key, 0};
        map->n++;
    }
    return &map->slot[i].value;
}
