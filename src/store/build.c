/*
 * build.c - the life of a builder: new, split, free; stacks, links and patches.
 *
 * A sub-builder starts as a copy of its parent's tables and strings (texts are borrowed: the parent
 * outlives it), with an empty tree, no rows and an account at zero; join.c absorbs it.
 */
#include "store/inside.h"
#include "util/error.h"

static struct fm_builder *make(struct fm_ctx *ctx, struct fm_store *store)
{
    struct fm_builder *b = fm_mem_zalloc(&ctx->mem, sizeof *b);

    if (b == NULL)
        return NULL;
    b->ctx = ctx;
    b->mem = &ctx->mem;
    b->store = store;
    b->source = FM_NONE;
    fm_chains_init(&b->chains, b->mem);
    fm_map_init(&b->records, b->mem);
    b->last_record = UINT64_MAX;
    fm_index_init(&b->column_ix, b->mem);
    fm_index_init(&b->event_ix, b->mem);
    fm_index_init(&b->thread_ix, b->mem);
    fm_index_init(&b->module_ix, b->mem);
    fm_index_init(&b->frame_ix, b->mem);
    fm_diags_init(&b->no_source.diags);
    b->encoder = fm_mem_alloc(b->mem, sizeof *b->encoder);
    if (b->encoder == NULL || !fm_tree_init(&b->tree, b->mem)) {
        b->tree.mem = b->mem;
        fm_mem_free(b->mem, b->encoder, sizeof *b->encoder);
        fm_mem_free(b->mem, b, sizeof *b);
        return NULL;
    }
    return b;
}

struct fm_store *fm_store_make(struct fm_ctx *ctx)
{
    struct fm_store *s = fm_mem_zalloc(&ctx->mem, sizeof *s);

    if (s == NULL)
        return NULL;
    s->ctx = ctx;
    s->mem = &ctx->mem;
    fm_chunks_init(&s->blocks, s->mem);
    s->lazy = fm_mem_zalloc(s->mem, sizeof *s->lazy);
    if (s->lazy == NULL) {
        fm_mem_free(s->mem, s, sizeof *s);
        return NULL;
    }
    atomic_init(&s->lazy->leaf, NULL);
    s->strings.mem = s->mem;
    fm_index_init(&s->strings.index, s->mem);
    fm_chunks_init(&s->strings.text, s->mem);
    return s;
}

enum fm_status fm_builder_new(struct fm_ctx *ctx, struct fm_builder **builder, struct fm_error *err)
{
    struct fm_store *store = fm_store_make(ctx);
    struct fm_builder *b = store != NULL ? make(ctx, store) : NULL;

    *builder = NULL;
    if (b == NULL) {
        fm_store_free(store);
        return fm_error_nomem(err);
    }
    if (!fm_strings_init(&store->strings, b->mem) || !fm_builder_builtin(b)) {
        fm_builder_free(b);
        return fm_error_nomem(err);
    }
    *builder = b;
    return FM_OK;
}

void fm_builder_free(struct fm_builder *b)
{
    if (b == NULL)
        return;
    fm_stage_release(b);
    fm_tree_release(&b->tree);
    fm_chains_release(&b->chains);
    fm_map_release(&b->records);
    fm_index_release(&b->column_ix);
    fm_index_release(&b->event_ix);
    fm_index_release(&b->thread_ix);
    fm_index_release(&b->module_ix);
    fm_index_release(&b->frame_ix);
    fm_mem_free(b->mem, b->thread_key, b->thread_key_cap * sizeof *b->thread_key);
    fm_mem_free(b->mem, b->module_key, b->module_key_cap * sizeof *b->module_key);
    fm_mem_free(b->mem, b->patch, b->patch_cap * sizeof *b->patch);
    fm_mem_free(b->mem, b->key, b->key_cap * sizeof *b->key);
    fm_mem_free(b->mem, b->encoder, sizeof *b->encoder);
    fm_tables_release(&b->base, b->mem);
    fm_store_free(b->store);
    fm_mem_free(b->mem, b, sizeof *b);
}

enum fm_status fm_builder_status(const struct fm_builder *b)
{
    return b->status;
}

struct fm_ctx *fm_builder_ctx(const struct fm_builder *b)
{
    return b->ctx;
}

/* ------------------------------------------------------------------ split */

static bool copy_keys(struct fm_builder *to, const struct fm_builder *from)
{
    size_t threads = from->store->t.threads, modules = from->store->t.modules;

    if (threads > 0) {
        if (!fm_grow(to->mem, (void **)&to->thread_key, &to->thread_key_cap, threads,
                     sizeof *to->thread_key))
            return false;
        memcpy(to->thread_key, from->thread_key, threads * sizeof *to->thread_key);
    }
    if (modules > 0) {
        if (!fm_grow(to->mem, (void **)&to->module_key, &to->module_key_cap, modules,
                     sizeof *to->module_key))
            return false;
        memcpy(to->module_key, from->module_key, modules * sizeof *to->module_key);
    }
    return true;
}

static bool copy_builder(struct fm_builder *to, const struct fm_builder *from)
{
    if (!fm_strings_copy(&to->store->strings, &from->store->strings) ||
        !fm_tables_copy(&to->store->t, &from->store->t, to->mem, true) ||
        !fm_tables_copy(&to->base, &from->store->t, to->mem, false) ||
        !copy_keys(to, from) || !fm_stage_columns(to, from->store->t.columns))
        return false;
    return fm_index_copy(&to->column_ix, &from->column_ix) &&
           fm_index_copy(&to->event_ix, &from->event_ix) &&
           fm_index_copy(&to->thread_ix, &from->thread_ix) &&
           fm_index_copy(&to->module_ix, &from->module_ix) &&
           fm_index_copy(&to->frame_ix, &from->frame_ix);
}

struct fm_builder *fm_builder_split(struct fm_builder *b, size_t i)
{
    struct fm_store *store;
    struct fm_builder *sub;

    (void)i;
    (void)fm_builder_current(b);
    store = fm_builder_ok(b) ? fm_store_make(b->ctx) : NULL;
    sub = store != NULL ? make(b->ctx, store) : NULL;
    if (sub == NULL) {
        fm_store_free(store);
        fm_builder_fail(b, FM_NOMEM);
        return NULL;
    }
    sub->sub = true;
    sub->source = b->source;
    sub->base_strings = b->store->strings.n;
    if (!copy_builder(sub, b)) {
        fm_builder_free(sub);
        fm_builder_fail(b, FM_NOMEM);
        return NULL;
    }
    fm_assert(sub->store->strings.n == sub->base_strings);
    return sub;
}

/* ----------------------------------------------------------------- stacks */

fm_node fm_builder_node(struct fm_builder *b, fm_node parent, fm_frame frame)
{
    fm_node id;

    if (!fm_builder_ok(b))
        return FM_NODE_ROOT;
    fm_assert(parent < b->tree.n && frame < b->store->t.frames);
    id = fm_tree_add(&b->tree, parent, frame);
    if (FM_UNLIKELY(id == FM_NONE)) {
        fm_builder_fail(b, FM_NOMEM);
        return FM_NODE_ROOT;
    }
    return id;
}

fm_node fm_builder_stack(struct fm_builder *b, const fm_frame *frame, size_t n)
{
    uint64_t cap = b->ctx->cap[FM_CAP_STACK_DEPTH];
    fm_node node = FM_NODE_ROOT;
    size_t i = 0;

    if (cap != 0 && n > cap) {
        i = n - (size_t)cap;    /* the leaf is what was measured: the root is cut */
        fm_builder_diag(b, FM_DIAG_STACK_DEPTH, FM_NO_OFFSET, 1);
    }
    for (; i < n; i++)
        node = fm_builder_node(b, node, frame[i]);
    return node;
}

fm_node fm_builder_node_parent(const struct fm_builder *b, fm_node node)
{
    fm_assert(node < b->tree.n);
    return b->tree.node[node].parent;
}

fm_frame fm_builder_node_frame(const struct fm_builder *b, fm_node node)
{
    fm_assert(node < b->tree.n);
    return b->tree.node[node].frame;
}

fm_node *fm_builder_chain(struct fm_builder *b, uint64_t context, const void *words, size_t n)
{
    return fm_chains_find(&b->chains, fm_chains_hash(context, words, n), context, words, n);
}

uint32_t fm_builder_chain_hash(uint64_t context, const void *words, size_t n)
{
    return fm_chains_hash(context, words, n);
}

fm_node *fm_builder_chain_hashed(struct fm_builder *b, uint32_t hash, uint64_t context,
                                 const void *words, size_t n)
{
    return fm_chains_find(&b->chains, hash, context, words, n);
}

void fm_builder_chain_near(const struct fm_builder *b, uint32_t hash)
{
    fm_chains_near(&b->chains, hash);
}

void fm_builder_chain_nearer(const struct fm_builder *b, uint32_t hash)
{
    fm_chains_nearer(&b->chains, hash);
}

/* ------------------------------------------------- rows that exist, links */

uint64_t fm_builder_rows(const struct fm_builder *b)
{
    return b->stage.first_row + b->stage.row;
}

void fm_row_patch(struct fm_builder *b, uint64_t row, fm_column col, uint64_t value)
{
    fm_assert(row < fm_builder_rows(b) && col != FM_COL_EVENT);
    if (!fm_builder_ok(b) || col >= b->stage.lanes)
        return;
    if (row >= b->stage.first_row) {
        struct fm_lane *lane;
        uint32_t at = (uint32_t)(row - b->stage.first_row);
        if (b->stage.lane[col] == NULL)
            fm_row_touch(b, col);
        lane = b->stage.lane[col];
        if (lane == NULL)
            return;
        lane->value[at] = value;
        lane->valid[at >> 6] |= 1ull << (at & 63);
        return;
    }
    if (!fm_grow(b->mem, (void **)&b->patch, &b->patch_cap, b->patches + 1, sizeof *b->patch)) {
        fm_builder_fail(b, FM_NOMEM);
        return;
    }
    b->patch[b->patches++] = (struct fm_patch){row, value, col};
}

void fm_builder_link(struct fm_builder *b, enum fm_link_kind kind, uint64_t from,
                     enum fm_link_target target, uint64_t to)
{
    struct fm_store *s = b->store;

    if (!fm_builder_ok(b))
        return;
    fm_assert(from < fm_builder_rows(b));
    if (!fm_grow(b->mem, (void **)&s->link, &s->link_cap, s->links + 1, sizeof *s->link)) {
        fm_builder_fail(b, FM_NOMEM);
        return;
    }
    s->link[s->links++] = (struct fm_link){(uint8_t)kind, (uint8_t)target, from, to};
}

void fm_builder_link_key(struct fm_builder *b, enum fm_link_kind kind, enum fm_link_side side,
                         uint64_t key, uint64_t row)
{
    if (!fm_builder_ok(b))
        return;
    fm_assert(row < fm_builder_rows(b));
    if (!fm_grow(b->mem, (void **)&b->key, &b->key_cap, b->keys + 1, sizeof *b->key)) {
        fm_builder_fail(b, FM_NOMEM);
        return;
    }
    b->key[b->keys++] = (struct fm_link_key){key, row, (uint8_t)kind, (uint8_t)side};
}
