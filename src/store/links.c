/*
 * links.c - links at the seal: rows of a source with equal keys are joined, then all links sorted
 * by (kind, from) in the order they were made.
 *
 *     keys:  FROM 7 row 3,  TO 7 row 9,  FROM 8 row 4     ->   link 3 -> 9;  8 is unmatched
 */
#include "store/inside.h"

/* Map value: row of the first TO + 1, with this bit once a FROM met it. */
#define MET (1ull << 63)

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

static bool join_kind(struct fm_builder *b, struct fm_map *map, uint8_t kind)
{
    const struct fm_link_key *key = b->key;

    fm_map_clear(map);
    for (size_t i = 0; i < b->keys; i++) {
        uint64_t *row;
        bool fresh;
        if (key[i].kind != kind || key[i].side != FM_SIDE_TO)
            continue;
        row = fm_map_put(map, key_of(b->store, &key[i]), &fresh);
        if (row == NULL)
            return false;
        if (fresh)
            *row = key[i].row + 1;
    }
    for (size_t i = 0; i < b->keys; i++) {
        uint64_t *row;
        if (key[i].kind != kind || key[i].side != FM_SIDE_FROM)
            continue;
        row = fm_map_find(map, key_of(b->store, &key[i]));
        if (row == NULL) {
            unmatched(b, key[i].row);
            continue;
        }
        fm_builder_link(b, (enum fm_link_kind)kind, key[i].row, FM_LINK_ROW, (*row & ~MET) - 1);
        *row |= MET;
    }
    for (size_t i = 0; i < b->keys; i++) {
        if (key[i].kind != kind || key[i].side != FM_SIDE_TO)
            continue;
        if ((*fm_map_find(map, key_of(b->store, &key[i])) & MET) == 0)
            unmatched(b, key[i].row);
    }
    return fm_builder_ok(b);
}

bool fm_seal_links(struct fm_builder *b)
{
    static const uint8_t kinds[] = {FM_LINK_LAUNCH, FM_LINK_WAKER, FM_LINK_FLOW, FM_LINK_PARENT};
    struct fm_map map;
    bool ok = true;

    fm_map_init(&map, b->mem);
    for (size_t i = 0; ok && b->keys > 0 && i < FM_COUNT(kinds); i++)
        ok = join_kind(b, &map, kinds[i]);
    fm_map_release(&map);
    return ok && fm_sort(b->mem, b->store->link, b->store->links, sizeof *b->store->link, by_from);
}
