/*
 * map.h - hash map from a 64-bit key to a 64-bit value: open addressing, linear probing, load
 * below 5/8. Keys need not be well mixed: they are hashed here. There is no removal; callers that
 * must forget an entry overwrite its value.
 *
 * For keys that are longer (strings, chains), store a hash as key and compare the object itself:
 * see store/intern.c for the pattern.
 */
#ifndef FM_UTIL_MAP_H
#define FM_UTIL_MAP_H

#include "util/mem.h"

struct fm_map_slot {
    uint64_t key;
    uint64_t value;
};

struct fm_map {
    struct fm_mem *mem;
    struct fm_map_slot *slot;
    uint8_t *used;      /* one flag a slot */
    size_t slots;       /* power of two, or 0 */
    size_t n;
};

void fm_map_init(struct fm_map *map, struct fm_mem *mem);
void fm_map_release(struct fm_map *map);
void fm_map_clear(struct fm_map *map);

/* The value's place, or NULL. Valid until the next fm_map_put(). */
uint64_t *fm_map_find(const struct fm_map *map, uint64_t key);

/* The value's place, made (with value 0, *fresh = true) when the key is new; NULL = no memory.
 * `fresh` may be NULL. */
uint64_t *fm_map_put(struct fm_map *map, uint64_t key, bool *fresh);

#endif
