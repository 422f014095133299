/*
 * links.c - links at the seal: rows of a source with equal keys are joined, then all links sorted
 * by (kind, from) in the order they were made.
 *
 *     keys:  FROM 7 row 3,  TO 7 row 9,  FROM 8 row 4     ->   link 3 -> 9;  8 is unmatched
 */
#include "store/inside.h"

/* Value of a key: row of the first TO + 1, 0: none yet; with this bit once a FROM met it. */
#define MET (1ull << 63)

/* The keys of one kind. Numbers that a program counts up lie close together: they are places of an
 * array (one source, few gaps), others are hashed. */
struct joint {
    struct fm_map map;
    uint64_t *dense;               /* NULL: the map; else of the keys from `low` on */
    uint64_t low;
    uint64_t *array;               /* kept from kind to kind */
    size_t places, room;
};

static int by_from(const void *a, const void *b)
{
    const struct fm_link *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return 0;
}

static void unmatched(struct fm_builder *b, uint64_t row)
{
    const struct fm_store *s = b->store;
    uint32_t source = s->segment[fm_segment_of(s, row)].source;

    fm_diag_add(&b->store->t.source[source].diags, FM_DIAG_LINK_UNMATCHED, FM_NO_OFFSET, 1);
}

/* Keys of two sources are two keys: numbers that each of several files begins anew. */
static uint64_t key_of(const struct fm_store *s, const struct fm_link_key *key)
{
    uint32_t source = s->segment[fm_segment_of(s, key->row)].source;

    return fm_mix(fm_mix(0x9ae16a3b2f90404fu, source), key->key);
}

/* Takes the array when it is smaller than the map would be. */
static bool choose(struct fm_builder *b, struct joint *j, uint8_t kind)
{
    uint64_t low = UINT64_MAX, high = 0, n = 0;

    j->dense = NULL;
    fm_map_clear(&j->map);
    for (size_t i = 0; i < b->keys; i++) {
        if (b->key[i].kind != kind || b->key[i].side != FM_SIDE_TO)
            continue;
        low = FM_MIN(low, b->key[i].key);
        high = FM_MAX(high, b->key[i].key);
        n++;
    }
    if (n == 0 || b->store->t.sources != 1 || high - low >= 3 * n)
        return true;
    j->low = low;
    j->places = (size_t)(high - low) + 1;
    if (!fm_grow(b->mem, (void **)&j->array, &j->room, j->places, sizeof *j->array))
        return false;
    memset(j->array, 0, j->places * sizeof *j->array);
    j->dense = j->array;
    return true;
}

/* The value of a key; NULL: no TO has it. */
static uint64_t *find(const struct fm_builder *b, const struct joint *j,
                      const struct fm_link_key *key)
{
    if (j->dense == NULL)
        return fm_map_find(&j->map, key_of(b->store, key));
    uint64_t place = key->key - j->low;
    return place < j->places && j->dense[place] != 0 ? &j->dense[place] : NULL;
}

static uint64_t *put(struct fm_builder *b, struct joint *j, const struct fm_link_key *key)
{
    return j->dense == NULL ? fm_map_put(&j->map, key_of(b->store, key), NULL)
                            : &j->dense[key->key - j->low];
}

static bool join_kind(struct fm_builder *b, struct joint *j, uint8_t kind)
{
    const struct fm_link_key *key = b->key;
    uint64_t *row;

    if (!choose(b, j, kind))
        return false;
    for (size_t i = 0; i < b->keys; i++) {
        if (key[i].kind != kind || key[i].side != FM_SIDE_TO)
            continue;
        row = put(b, j, &key[i]);
        if (row == NULL)
            return false;
        if (*row == 0)
            *row = key[i].row + 1;
    }
    for (size_t i = 0; i < b->keys; i++) {
        if (key[i].kind != kind || key[i].side != FM_SIDE_FROM)
            continue;
        row = find(b, j, &key[i]);
        if (row == NULL) {
            unmatched(b, key[i].row);
            continue;
        }
        fm_builder_link(b, (enum fm_link_kind)kind, key[i].row, FM_LINK_ROW, (*row & ~MET) - 1);
        *row |= MET;
    }
    for (size_t i = 0; i < b->keys; i++) {
        if (key[i].kind == kind && key[i].side == FM_SIDE_TO &&
            (*find(b, j, &key[i]) & MET) == 0)
            unmatched(b, key[i].row);
    }
    return fm_builder_ok(b);
}

bool fm_seal_links(struct fm_builder *b)
{
    static const uint8_t kinds[] = {FM_LINK_LAUNCH, FM_LINK_WAKER, FM_LINK_FLOW, FM_LINK_PARENT};
    struct joint joint = {.array = NULL};
    bool ok = true;

    fm_map_init(&joint.map, b->mem);
    for (size_t i = 0; ok && b->keys > 0 && i < FM_COUNT(kinds); i++)
        ok = join_kind(b, &joint, kinds[i]);
    fm_map_release(&joint.map);
    fm_mem_free(b->mem, joint.array, joint.room * sizeof *joint.array);
    return ok && fm_sort(b->mem, b->store->link, b->store->links, sizeof *b->store->link, by_from);
}
