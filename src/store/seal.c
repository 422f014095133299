/*
 * seal.c - from builder to store: the last rows, patches, the tree in pre-order, links, clocks,
 * column ranges. The order matters: patches change times, links name rows, clocks need first and
 * last of every source.
 */
#include "store/inside.h"
#include "util/error.h"

static bool seal_tree(struct fm_builder *b)
{
    struct fm_store *s = b->store;
    size_t n = b->tree.n, bytes, map_bytes;

    if (!fm_mul_size(n, sizeof *s->tree, &bytes) || !fm_mul_size(n, sizeof *s->append, &map_bytes))
        return false;
    fm_index_release(&b->tree.index);       /* the peak is here: give back what is done with */
    fm_chains_release(&b->chains);
    s->tree = fm_mem_alloc(s->mem, bytes);
    if (s->tree == NULL)
        return false;
    s->append = fm_mem_alloc(s->mem, map_bytes);
    if (s->append == NULL) {
        fm_mem_free(s->mem, s->tree, bytes);
        s->tree = NULL;
        return false;
    }
    s->nodes = s->appends = n;
    return fm_tree_order(&b->tree, s->append, s->tree);
}

static void seal_columns(struct fm_store *s)
{
    struct fm_column_info *column = s->t.column;

    for (size_t i = 0; i < s->segments; i++) {
        for (size_t k = 0; k < s->segment[i].cols; k++) {
            const struct fm_segcol *c = s->segment[i].col[k];
            struct fm_column_info *info = &column[c->col];
            fm_assert(c->col < s->t.columns && c->valid > 0);
            fm_range_add(info->type, info->rows == 0, &info->min, &info->max, c->min, c->max);
            info->rows += c->valid;
        }
    }
}

enum fm_status fm_builder_seal(struct fm_builder *b, const char *clock_offset,
                               struct fm_store **store, struct fm_error *err)
{
    enum fm_status status;

    *store = NULL;
    fm_assert(!b->sub);
    fm_stage_finish(b);
    if (fm_builder_ok(b) && (!fm_seal_patches(b) || !fm_seal_links(b) || !seal_tree(b)))
        fm_builder_fail(b, FM_NOMEM);
    status = b->status;
    if (status == FM_NOMEM)
        fm_error_nomem(err);
    else if (status != FM_OK)
        fm_error_set(err, status, "%s while building the store", fm_status_text(status));
    else
        status = fm_seal_clocks(b, clock_offset, err);
    if (status == FM_OK) {
        seal_columns(b->store);
        *store = b->store;
        b->store = NULL;
    }
    fm_builder_free(b);
    return status;
}
