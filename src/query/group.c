/*
 * group.c - `group:` run: rows into groups, with self and total counted exactly.
 *
 *     row keys (thread, bucket(ts, w) …)      -> tuple          one scan of the rows
 *     (tuple, stack node)                     -> pair           sums of weight, samples, rows
 *     pair + node keys (path, leaf.X, root.X) -> bucket         per pair, not per row
 *     bucket + any.X of the frames            -> group          per bucket
 *
 * Without any.X a bucket is a group. With any.X the group (bucket, K) has every row of the bucket
 * that has a frame with key K, ONCE however often the frame repeats. Two ways, equal in result:
 * walk the ancestors of each pair's node with a stamp per key (cheap for few pairs), or, when that
 * would be longer than the tree, sum subtrees in one reverse pass (parent < child), then go forward
 * in pre-order with a counter per key on the path and add a subtree's sum where its key is
 * outermost. Keys of two frames that follow each other (caller.X, callee.X) are the same by node
 * instead of by frame: edge.c.
 *
 * Values that need more than sums (p99, distinct …) take a second scan over the same rows: each row
 * remembers its pair, each pair the groups it is in (aggregate.c).
 */
#include "query/group.h"

#include "store/fold.h"
#include "util/error.h"

/* ------------------------------------------------------------------ tuples */

static void tuples_init(struct fm_tuples *t, struct fm_mem *mem)
{
    *t = (struct fm_tuples){ .mem = mem, .n = 1 };
    fm_map_init(&t->map, mem);
}

static void tuples_release(struct fm_tuples *t)
{
    fm_map_release(&t->map);
    fm_mem_free(t->mem, t->up, t->up_cap * sizeof *t->up);
    fm_mem_free(t->mem, t->value, t->value_cap * sizeof *t->value);
}

uint32_t fm_tuple(struct fm_tuples *t, uint32_t up, uint32_t value)
{
    bool fresh;
    uint64_t *slot = fm_map_put(&t->map, (uint64_t)up << 32 | value, &fresh);

    if (slot == NULL || t->n >= FM_NONE - 1)
        return FM_NONE;
    if (!fresh)
        return (uint32_t)*slot;
    if (!fm_grow(t->mem, (void **)&t->up, &t->up_cap, t->n + 1, sizeof *t->up)
        || !fm_grow(t->mem, (void **)&t->value, &t->value_cap, t->n + 1, sizeof *t->value))
        return FM_NONE;
    t->up[t->n] = up;
    t->value[t->n] = value;
    *slot = t->n;
    return (uint32_t)t->n++;
}

/* ------------------------------------------------------------- key values */

static uint32_t lane_id(struct fm_grouping *x, size_t k, uint64_t lane)
{
    struct fm_key_values *kv = &x->key[k];
    bool fresh;
    uint64_t *slot = fm_map_put(&kv->map, lane, &fresh);

    if (slot == NULL
        || !fm_grow(x->mem, (void **)&kv->lane, &kv->cap, kv->n + 1, sizeof *kv->lane))
        return x->oom = true, FM_NONE;
    if (fresh) {
        kv->lane[kv->n] = lane;
        *slot = kv->n++;
    }
    return (uint32_t)*slot;
}

/* The value of an expression as an id, in the form of the key's column. */
static uint32_t value_id(struct fm_grouping *x, size_t k, const struct fm_value *value)
{
    if (value->type == FM_NULL)
        return FM_NONE;
    if (x->key[k].type == FM_CELL_TEXT)
        return value->type != FM_TEXT
                   ? FM_NONE : fm_store_str_add(x->v->store, value->text.s, value->text.n);
    if (value->type == FM_TEXT)
        return FM_NONE;
    if (x->key[k].type == FM_CELL_F64)
        return lane_id(x, k, fm_f64_bits(fm_value_as_f64(value)));
    switch (value->type) {
    case FM_BOOL:
        return lane_id(x, k, value->b);
    case FM_F64:
        return lane_id(x, k, (uint64_t)(int64_t)fm_clamp_i64(value->f));
    default:
        return lane_id(x, k, value->type == FM_I64 ? (uint64_t)value->i : value->u);
    }
}

static uint32_t row_value(struct fm_grouping *x, size_t k, uint32_t place)
{
    const struct fm_key *key = &x->g->key[k];
    struct fm_value value;
    uint64_t lane;
    uint32_t path;

    if (key->kind == FM_KEY_EXPR) {
        value = fm_reader_eval(&x->r, key->expr, place);
        return value_id(x, k, &value);
    }
    if (!fm_reader_lane(&x->r, key->operand, place, &lane))
        return FM_NONE;
    switch (key->operand->type) {
    case FM_TYPE_STRING:
        return (uint32_t)lane;
    case FM_TYPE_THREAD:
        lane = fm_store_thread_name(x->v->store, (fm_thread)lane, false, 0);
        return lane == 0 ? FM_NONE : (uint32_t)lane;     /* a thread without a name */
    case FM_TYPE_STACK:
        if (!fm_linked_path(x->v->store, x->c->arena, x->paths, &x->linked, (fm_node)lane, &path))
            return x->oom = true, FM_NONE;
        return path == 0 ? FM_NONE : path;
    default:
        return lane_id(x, k, lane);
    }
}

uint32_t fm_group_attr(struct fm_grouping *x, size_t k, uint32_t frame)
{
    enum fm_attr attr = x->g->key[k].attr;
    uint64_t lane;

    if (frame == FM_NONE || !fm_view_attr(x->c, x->v, frame, attr, &lane))
        return FM_NONE;
    return fm_attr_type(attr) == FM_TYPE_STRING ? (uint32_t)lane : lane_id(x, k, lane);
}

static uint32_t node_value(struct fm_grouping *x, size_t k, uint32_t node)
{
    const struct fm_view *v = x->v;

    switch (x->g->key[k].kind) {
    case FM_KEY_PATH:
        return node == 0 ? FM_NONE : x->path[node];
    case FM_KEY_LEAF:
        return fm_group_attr(x, k, node == 0 ? FM_NONE : v->node[node].frame);
    default:
        return fm_group_attr(x, k, node == 0 ? FM_NONE : v->node[v->top[node]].frame);
    }
}

/* -------------------------------------------------------------- first scan */

static uint32_t new_pair(struct fm_grouping *x, uint32_t row_tuple, uint32_t node)
{
    if (x->pairs >= FM_NONE - 1
        || !fm_grow(x->mem, (void **)&x->pair, &x->pair_cap, x->pairs + 1, sizeof *x->pair))
        return x->oom = true, 0;
    x->pair[x->pairs] = (struct fm_pair){ .tuple = row_tuple, .node = node };
    return (uint32_t)x->pairs++;
}

/* Pair of a row with row keys. */
static uint32_t keyed_pair(struct fm_grouping *x, uint32_t place)
{
    uint32_t node = fm_reader_node(&x->r, place), t = 0;
    uint64_t *slot;
    bool fresh;

    fm_assert(node != FM_NONE);        /* dropped rows have left the selection */
    for (size_t k = 0; k < x->g->keys; k++) {
        if (x->g->key[k].kind > FM_KEY_EXPR)
            continue;
        t = fm_tuple(&x->tuples, t, row_value(x, k, place));
        if (t == FM_NONE)
            return x->oom = true, 0;
    }
    slot = fm_map_put(&x->pair_map, (uint64_t)t << 32 | node, &fresh);
    if (slot == NULL)
        return x->oom = true, 0;
    if (fresh)
        *slot = new_pair(x, t, node);
    return (uint32_t)*slot;
}

static uint32_t node_pair(struct fm_grouping *x, uint32_t node)
{
    fm_assert(node != FM_NONE);
    if (x->of_node[node] == 0)
        x->of_node[node] = new_pair(x, 0, node) + 1;
    return x->of_node[node] - 1;
}

/* Without row keys a pair is a node, and a stack's append id leads to it at once. The place behind
 * the last append id is that of rows without a stack. */
static uint32_t stack_pair(struct fm_grouping *x, size_t id, bool valid)
{
    uint32_t pair = node_pair(x, fm_view_node(x->v, valid ? x->v->append[id] : 0));

    x->of_stack[id] = pair + 1;
    return pair;
}

#define AHEAD 24               /* rows looked ahead: a few cache misses' worth of work */

static void pairs_of_block(struct fm_grouping *x, uint32_t *pair)
{
    const struct fm_scan *scan = &x->r.scan;
    const uint64_t *stack = scan->value[x->r.stack];
    size_t none = x->stacks;

    for (uint32_t i = 0; i < scan->n && x->row_keys; i++)
        pair[i] = keyed_pair(x, scan->live[i]);
    for (uint32_t i = 0; i < scan->n && !x->row_keys && x->v->of_row != NULL; i++)
        pair[i] = node_pair(x, fm_reader_node(&x->r, scan->live[i]));
    for (uint32_t i = 0; i < scan->n && !x->row_keys && x->v->of_row == NULL; i++) {
        bool valid = fm_scan_valid(scan, (size_t)x->r.stack, scan->live[i]);
        uint32_t ahead = scan->live[FM_MIN(i + AHEAD, scan->n - 1)];
        __builtin_prefetch(&x->of_stack[stack[ahead]]);
        size_t id = valid ? stack[scan->live[i]] : none;
        uint32_t p = x->of_stack[id];
        pair[i] = FM_LIKELY(p != 0) ? p - 1 : stack_pair(x, id, valid);
    }
}

static void spill(struct fm_pair *pair, struct fm_hot *hot)
{
    pair->weight += hot->weight;
    pair->samples = fm_add_sat_u64(pair->samples, hot->samples);
    pair->rows += hot->rows;
    *hot = (struct fm_hot){ 0 };
}

/* Two passes over a block: loads that do not wait for each other miss the cache together. */
static bool add_block(struct fm_grouping *x)
{
    const struct fm_scan *scan = &x->r.scan;
    uint32_t pair[FM_BLOCK_ROWS];

    pairs_of_block(x, pair);
    if (x->oom || !fm_grow(x->mem, (void **)&x->hot, &x->hot_cap, x->pairs, sizeof *x->hot))
        return false;
    if (x->hots < x->pairs)
        memset(x->hot + x->hots, 0, (x->pairs - x->hots) * sizeof *x->hot);
    x->hots = x->pairs;
    for (uint32_t i = 0; i < scan->n; i++) {
        struct fm_hot *hot = &x->hot[pair[i]];
        uint64_t w = fm_reader_weight(&x->r, scan->live[i]);
        uint64_t n = fm_reader_count(&x->r, scan->live[i]);
        __builtin_prefetch(&x->hot[pair[FM_MIN(i + AHEAD, scan->n - 1)]], 1);
        if (FM_UNLIKELY(__builtin_add_overflow(hot->weight, w, &hot->weight)))
            x->pair[pair[i]].weight += (fm_i128)1 << 64;
        if (FM_UNLIKELY(n > UINT32_MAX - hot->samples || hot->rows == UINT32_MAX)) {
            spill(&x->pair[pair[i]], hot);
            x->pair[pair[i]].samples = fm_add_sat_u64(x->pair[pair[i]].samples, n);
            n = 0;
        }
        hot->samples += (uint32_t)n;
        hot->rows++;
    }
    if (!x->g->scans)
        return true;
    if (!fm_grow(x->mem, (void **)&x->row_pair, &x->row_cap, x->rows + scan->n,
                 sizeof *x->row_pair))
        return false;
    memcpy(x->row_pair + x->rows, pair, scan->n * sizeof *pair);
    x->rows += scan->n;
    return true;
}

static void cool(struct fm_grouping *x)
{
    for (size_t p = 0; p < x->pairs; p++)
        spill(&x->pair[p], &x->hot[p]);
}

/* Nothing but the stack and the sums of rows counts: pairs are made of sums by stack. */
static enum fm_status fold(struct fm_grouping *x, struct fm_error *err)
{
    struct fm_fold f;
    enum fm_status status = fm_fold_init(&f, x->sel, 0, err);

    for (size_t s = 0; s <= f.stacks && status == FM_OK && !x->oom; s++) {
        struct fm_stack_sums sums;
        struct fm_pair *p;
        uint32_t pair;
        if (fm_fold_empty(&f, s))
            continue;
        sums = fm_fold_of(&f, s);
        pair = node_pair(x, fm_view_node(x->v, s < f.stacks ? x->v->append[s] : 0));
        if (x->oom)
            break;
        p = &x->pair[pair];
        p->weight += (fm_i128)sums.weight;
        p->samples = fm_add_sat_u64(p->samples, sums.samples);
        p->rows += sums.rows;
    }
    fm_fold_release(&f);
    return x->oom ? fm_error_nomem(err) : status;
}

static enum fm_status scan(struct fm_grouping *x, struct fm_error *err)
{
    enum fm_status status;
    bool ok = true;

    fm_reader_init(&x->r, x->c, x->v, x->sel);
    fm_reader_need_stack(&x->r);
    fm_reader_need_weight(&x->r);
    for (size_t k = 0; k < x->g->keys; k++) {
        if (x->g->key[k].kind == FM_KEY_ROW)
            fm_reader_need(&x->r, x->g->key[k].operand);
        else if (x->g->key[k].kind == FM_KEY_EXPR)
            fm_reader_need_expr(&x->r, x->g->key[k].expr);
        x->row_keys |= x->g->key[k].kind <= FM_KEY_EXPR;
    }
    if (!x->row_keys) {
        x->stacks = fm_store_append_nodes(x->v->store);
        x->of_node = fm_arena_alloc(x->c->arena, (x->v->nodes + 1) * sizeof *x->of_node);
        if (x->of_node == NULL)
            return fm_error_nomem(err);
        if (!x->g->scans && fm_reader_folds(x->v, x->sel))
            return fold(x, err);
        x->of_stack = fm_arena_alloc(x->c->arena, (x->stacks + 1) * sizeof *x->of_stack);
        if (x->of_stack == NULL)
            return fm_error_nomem(err);
    }
    status = fm_reader_start(&x->r, err);
    if (status != FM_OK)
        return status;
    while (ok && fm_reader_next(&x->r))
        ok = add_block(x);
    fm_reader_release(&x->r);
    if (ok)
        cool(x);
    return ok && !x->oom ? FM_OK : fm_error_nomem(err);
}

/* ------------------------------------------------------------------ groups */

static uint32_t new_group(struct fm_grouping *x, uint32_t bucket, uint32_t frame_tuple)
{
    if (x->groups >= FM_NONE - 1
        || !fm_grow(x->mem, (void **)&x->group, &x->group_cap, x->groups + 1, sizeof *x->group))
        return x->oom = true, 0;
    x->group[x->groups] = (struct fm_sums){ .bucket = bucket, .frame_tuple = frame_tuple };
    return (uint32_t)x->groups++;
}

/* Buckets of the pairs: the row tuple extended by the node keys. */
static bool make_buckets(struct fm_grouping *x)
{
    for (size_t p = 0; p < x->pairs; p++) {
        uint32_t t = x->pair[p].tuple;
        for (size_t k = 0; k < x->g->keys && t != FM_NONE; k++) {
            enum fm_key_kind kind = x->g->key[k].kind;
            if (kind > FM_KEY_EXPR && kind < FM_KEY_ANY)
                t = fm_tuple(&x->tuples, t, node_value(x, k, x->pair[p].node));
        }
        if (t == FM_NONE)
            return false;
        x->pair[p].tuple = t;
    }
    return true;
}

/* Pairs sorted by bucket (stable): *first[b] .. first[b + 1] of x->by_bucket. */
static bool sort_pairs(struct fm_grouping *x)
{
    size_t n = x->tuples.n;

    x->first = fm_arena_alloc(x->c->arena, (n + 2) * sizeof *x->first);
    x->by_bucket = fm_arena_alloc(x->c->arena, (x->pairs + 1) * sizeof *x->by_bucket);
    if (x->first == NULL || x->by_bucket == NULL)
        return false;
    for (size_t p = 0; p < x->pairs; p++)
        x->first[x->pair[p].tuple + 2]++;
    for (size_t b = 1; b < n + 2; b++)
        x->first[b] += x->first[b - 1];
    for (size_t p = 0; p < x->pairs; p++)
        x->by_bucket[x->first[x->pair[p].tuple + 1]++] = (uint32_t)p;
    return true;
}

static bool bucket_groups(struct fm_grouping *x)
{
    for (size_t b = 0; b < x->tuples.n; b++) {
        struct fm_sums *g;
        if (x->first[b] == x->first[b + 1])
            continue;
        new_group(x, (uint32_t)b, 0);
        if (x->oom)
            return false;
        g = &x->group[x->groups - 1];
        for (uint32_t i = x->first[b]; i < x->first[b + 1]; i++) {
            struct fm_pair *p = &x->pair[x->by_bucket[i]];
            g->self += p->weight;
            g->samples = fm_add_sat_u64(g->samples, p->samples);
            g->rows += p->rows;
            p->groups_at = (uint32_t)x->groups - 1;
        }
        g->total = g->self;
    }
    return true;
}

/* --------------------------------------------------------------- any.X keys */

/* The tuple of a frame; with a category, that of the frame as one of that category. */
static uint32_t frame_tuple(struct fm_grouping *x, size_t f, fm_str category)
{
    uint32_t frame = f == x->v->frames ? FM_NONE : (uint32_t)f, t = 0;

    for (size_t k = 0; k < x->g->keys && t != FM_NONE; k++) {
        bool is_category = x->g->key[k].attr == FM_ATTR_CATEGORY && category != FM_NONE;
        if (x->g->key[k].kind >= FM_KEY_ANY)
            t = fm_tuple(&x->frame_tuples, t,
                         is_category ? category : fm_group_attr(x, k, frame));
    }
    return t;
}

static bool by_category(const struct fm_grouping *x)
{
    for (size_t k = 0; k < x->g->keys; k++) {
        if (x->g->key[k].kind == FM_KEY_ANY && x->g->key[k].attr == FM_ATTR_CATEGORY)
            return true;
    }
    return false;
}

/* The same with a frame in several categories: it has a tuple for each. */
static bool category_keys(struct fm_grouping *x)
{
    size_t frames = x->v->frames, n = 0, categories;
    fm_str name[64];

    (void)fm_category_names(x->c, &categories);
    for (unsigned bit = 0; bit < categories; bit++)
        name[bit] = fm_category_name(x->c, bit);
    for (size_t f = 0; f < frames; f++)
        n += (size_t)__builtin_popcountll(fm_category_mask(x->c, x->v, (uint32_t)f));
    x->frame_at = fm_arena_alloc(x->c->arena, (frames + 2) * sizeof *x->frame_at);
    x->frame_key = fm_arena_alloc(x->c->arena, (n + 2) * sizeof *x->frame_key);
    if (x->frame_at == NULL || x->frame_key == NULL || n >= FM_NONE)
        return false;
    n = 0;
    for (size_t f = 0; f <= frames; f++) {
        uint64_t mask = f == frames ? 0 : fm_category_mask(x->c, x->v, (uint32_t)f);
        x->frame_at[f] = (uint32_t)n;
        for (unsigned bit = 0; bit < categories; bit++) {
            if ((mask >> bit) & 1)
                x->frame_key[n++] = frame_tuple(x, f, name[bit]);
        }
        if (n == x->frame_at[f])
            x->frame_key[n++] = frame_tuple(x, f, FM_NONE);
        if (x->oom || x->frame_key[n - 1] == FM_NONE)
            return false;
    }
    x->frame_at[frames + 1] = (uint32_t)n;
    return !x->c->arena->oom;
}

/* Key number of every frame; the last number is that of "no frame". */
static bool frame_keys(struct fm_grouping *x)
{
    size_t frames = x->v->frames;

    x->frame_key = fm_arena_alloc(x->c->arena, (frames + 1) * sizeof *x->frame_key);
    if (x->frame_key == NULL)
        return false;
    for (size_t f = 0; f <= frames; f++) {
        x->frame_key[f] = frame_tuple(x, f, FM_NONE);
        if (x->frame_key[f] == FM_NONE || x->oom)
            return false;
    }
    return true;
}

static bool frame_tuples(struct fm_grouping *x)
{
    bool ok = x->g->edges ? fm_edge_keys(x) : by_category(x) ? category_keys(x) : frame_keys(x);

    if (!ok)
        return false;
    x->group_of = fm_arena_alloc(x->c->arena, x->frame_tuples.n * sizeof *x->group_of);
    x->stamp = fm_arena_alloc(x->c->arena, x->frame_tuples.n * sizeof *x->stamp);
    x->seen = fm_arena_alloc(x->c->arena, x->frame_tuples.n * sizeof *x->seen);
    return x->group_of != NULL && x->stamp != NULL && x->seen != NULL;
}

/* The group of a key in bucket b, made when the key is met first there. */
static uint32_t group_of(struct fm_grouping *x, uint32_t b, uint32_t key)
{
    if (x->stamp[key] != b + 1) {
        x->stamp[key] = b + 1;
        x->group_of[key] = new_group(x, b, key);
    }
    return x->group_of[key];
}

static void add_sums(struct fm_sums *g, fm_i128 weight, uint64_t samples, uint64_t rows)
{
    g->total += weight;
    g->samples = fm_add_sat_u64(g->samples, samples);
    g->rows += rows;
}

/* The keys of a node, [*end of them): one, or one for each category of its frame. */
static const uint32_t *keys_of_node(const struct fm_grouping *x, uint32_t node,
                                    const uint32_t **end)
{
    size_t frame = node == 0 ? x->v->frames : x->v->node[node].frame;
    const uint32_t *key = x->node_key != NULL ? &x->node_key[node]
                          : x->frame_at != NULL ? &x->frame_key[x->frame_at[frame]]
                                                : &x->frame_key[frame];

    *end = x->node_key == NULL && x->frame_at != NULL ? &x->frame_key[x->frame_at[frame + 1]]
                                                      : key + 1;
    return key;
}

/* A pair's rows are the own ones of its node's keys; with `all`, also in their totals. */
static bool add_own(struct fm_grouping *x, uint32_t b, const struct fm_pair *p, bool all)
{
    const uint32_t *end, *key = keys_of_node(x, p->node, &end);

    for (; key < end; key++) {
        uint32_t own = group_of(x, b, *key);
        if (x->oom)
            return false;
        x->group[own].self += p->weight;
        if (all)
            add_sums(&x->group[own], p->weight, p->samples, p->rows);
    }
    return true;
}

/* Without a frame, or without a call: the node's rows are by themselves, none below it are. */
static bool is_bare(const struct fm_grouping *x, uint32_t node)
{
    return node == 0 || (x->node_key != NULL && x->node_key[node] == x->no_key);
}

/* The pair is in the groups of a node's keys that it is not in yet. */
static bool walk_node(struct fm_grouping *x, uint32_t b, const struct fm_pair *p, uint32_t node,
                      uint64_t turn)
{
    const uint32_t *end, *key = keys_of_node(x, node, &end);

    for (; key < end; key++) {
        uint32_t g;
        if (x->seen[*key] == turn)
            continue;
        x->seen[*key] = turn;
        g = group_of(x, b, *key);
        if (x->oom)
            return false;
        add_sums(&x->group[g], p->weight, p->samples, p->rows);
        if (!x->g->scans)
            continue;
        if (!fm_grow(x->mem, (void **)&x->list, &x->list_cap, x->lists + 1, sizeof *x->list))
            return false;
        x->list[x->lists++] = g;
    }
    return true;
}

/* Walks the ancestors of each pair of the bucket; keeps the groups of a pair for a second scan. */
static bool walk_bucket(struct fm_grouping *x, uint32_t b)
{
    for (uint32_t i = x->first[b]; i < x->first[b + 1]; i++) {
        uint32_t at = x->by_bucket[i], node = x->pair[at].node;
        struct fm_pair *p = &x->pair[at];
        uint64_t turn = ++x->turn;
        bool bare = is_bare(x, node);
        if (!add_own(x, b, p, false))
            return false;
        p->groups_at = (uint32_t)x->lists;
        do {
            if ((bare || !is_bare(x, node)) && !walk_node(x, b, p, node, turn))
                return false;
            node = node == 0 ? 0 : x->v->node[node].parent;
        } while (node != 0);
        p->groups = (uint32_t)(x->lists - p->groups_at);
    }
    return true;
}

static void leave_node(struct fm_grouping *x, uint32_t node)
{
    const uint32_t *end, *key = keys_of_node(x, node, &end);

    for (; key < end; key++)
        x->seen[*key]--;
}

/* Where a key is outermost, the sum of the subtree is in its total. */
static bool enter_node(struct fm_grouping *x, uint32_t b, uint32_t node)
{
    const uint32_t *end, *key = keys_of_node(x, node, &end);
    const struct fm_sums *sum = &x->sum[node];

    for (; key < end; key++) {
        uint32_t g;
        if (x->seen[*key]++ != 0 || is_bare(x, node))
            continue;
        g = group_of(x, b, *key);
        if (x->oom)
            return false;
        add_sums(&x->group[g], sum->total, sum->samples, sum->rows);
    }
    return true;
}

/* The pre-order rule for a bucket that touches much of the tree. */
static bool tree_bucket(struct fm_grouping *x, uint32_t b)
{
    const struct fm_tree_node *node = x->v->node;
    size_t nodes = x->v->nodes;
    uint32_t top = 0;

    memset(x->sum, 0, nodes * sizeof *x->sum);
    for (uint32_t i = x->first[b]; i < x->first[b + 1]; i++) {
        struct fm_pair *p = &x->pair[x->by_bucket[i]];
        if (!add_own(x, b, p, is_bare(x, p->node)))
            return false;
        x->sum[p->node] = (struct fm_sums){ .total = p->weight, .samples = p->samples,
                                            .rows = p->rows };
    }
    for (size_t n = nodes; n-- > 1;) {
        if (node[n].parent != 0)
            add_sums(&x->sum[node[n].parent], x->sum[n].total, x->sum[n].samples,
                     x->sum[n].rows);
    }
    memset(x->seen, 0, x->frame_tuples.n * sizeof *x->seen);
    for (uint32_t n = 1; n < nodes;) {
        if (x->sum[n].rows == 0) {
            n = node[n].end;
            continue;
        }
        for (; top != node[n].parent; top = node[top].parent)
            leave_node(x, top);
        if (!enter_node(x, b, n))
            return false;
        top = n++;
    }
    return true;
}

static bool any_groups(struct fm_grouping *x)
{
    memset(x->seen, 0, x->frame_tuples.n * sizeof *x->seen);
    for (size_t b = 0; b < x->tuples.n; b++) {
        uint64_t steps = 0;
        if (x->first[b] == x->first[b + 1])
            continue;
        for (uint32_t i = x->first[b]; i < x->first[b + 1]; i++)
            steps += x->v->node[x->pair[x->by_bucket[i]].node].depth + 1;
        if (x->g->scans || steps < 2 * (uint64_t)x->v->nodes) {
            if (!walk_bucket(x, (uint32_t)b))
                return false;
            continue;
        }
        if (x->sum == NULL) {
            x->sum = fm_mem_alloc(x->mem, x->v->nodes * sizeof *x->sum);
            if (x->sum == NULL)
                return false;
        }
        if (!tree_bucket(x, (uint32_t)b))
            return false;
        /* counters became stamps again */
        memset(x->seen, 0, x->frame_tuples.n * sizeof *x->seen);
        x->turn = 0;
    }
    return true;
}

/* -------------------------------------------------------------- the table */

static void key_cell(struct fm_grouping *x, struct fm_table *t, uint32_t row, size_t k,
                     uint32_t value)
{
    struct fm_key_values *kv = &x->key[k];

    if (value == FM_NONE)
        return;
    switch (kv->type) {
    case FM_CELL_TEXT:
    case FM_CELL_PATH:
        fm_table_id(t, row, k, value);
        break;
    case FM_CELL_F64:
        fm_table_f64(t, row, k, fm_bits_f64(kv->lane[value]));
        break;
    case FM_CELL_ADDRESS:
        fm_table_int(t, row, k, (fm_i128)kv->lane[value]);
        break;
    default:
        fm_table_int(t, row, k, kv->is_signed ? (fm_i128)(int64_t)kv->lane[value]
                                              : (fm_i128)kv->lane[value]);
        break;
    }
}

static void key_cells(struct fm_grouping *x, struct fm_table *t, uint32_t row,
                      const struct fm_sums *g)
{
    uint32_t bucket = g->bucket, frame = g->frame_tuple;
    size_t k;

    /* tuples were extended in key order: node keys last, any keys apart */
    for (k = x->g->keys; k-- > 0;) {
        if (x->g->key[k].kind >= FM_KEY_ANY) {
            key_cell(x, t, row, k, x->frame_tuples.value[frame]);
            frame = x->frame_tuples.up[frame];
        }
    }
    for (k = x->g->keys; k-- > 0;) {
        if (x->g->key[k].kind > FM_KEY_EXPR && x->g->key[k].kind < FM_KEY_ANY) {
            key_cell(x, t, row, k, x->tuples.value[bucket]);
            bucket = x->tuples.up[bucket];
        }
    }
    for (k = x->g->keys; k-- > 0;) {
        if (x->g->key[k].kind <= FM_KEY_EXPR) {
            key_cell(x, t, row, k, x->tuples.value[bucket]);
            bucket = x->tuples.up[bucket];
        }
    }
    fm_assert(bucket == 0 && frame == 0);
}

static void key_types(struct fm_grouping *x)
{
    for (size_t k = 0; k < x->g->keys; k++) {
        const struct fm_key *key = &x->g->key[k];
        struct fm_key_values *kv = &x->key[k];
        enum fm_type type = FM_TYPE_U64;
        kv->type = x->schema->column[k].type;
        if (key->kind == FM_KEY_EXPR)
            kv->is_signed = true;
        else if (key->kind == FM_KEY_ROW)
            type = key->operand->type;
        kv->is_signed |= type == FM_TYPE_I64 || type == FM_TYPE_TIME || type == FM_TYPE_DUR;
        fm_map_init(&kv->map, x->mem);
    }
}

static enum fm_status fill(struct fm_grouping *x, struct fm_table *t, struct fm_error *err)
{
    for (size_t g = 0; g < x->groups; g++) {
        uint32_t row = fm_table_add(t);
        if (row == FM_NONE)
            return fm_error_nomem(err);
        key_cells(x, t, row, &x->group[g]);
        if (x->g->bases)
            fm_group_base(x, t, row);
        fm_group_measures(x, t, row, g);
    }
    return x->c->arena->oom ? fm_error_nomem(err) : FM_OK;
}

static void grouping_release(struct fm_grouping *x)
{
    tuples_release(&x->tuples);
    tuples_release(&x->frame_tuples);
    fm_map_release(&x->pair_map);
    for (size_t k = 0; k < x->g->keys && x->key != NULL; k++) {
        if (x->key[k].map.mem != NULL)
            fm_map_release(&x->key[k].map);
        fm_mem_free(x->mem, x->key[k].lane, x->key[k].cap * sizeof *x->key[k].lane);
    }
    fm_mem_free(x->mem, x->pair, x->pair_cap * sizeof *x->pair);
    fm_mem_free(x->mem, x->hot, x->hot_cap * sizeof *x->hot);
    fm_mem_free(x->mem, x->row_pair, x->row_cap * sizeof *x->row_pair);
    fm_mem_free(x->mem, x->group, x->group_cap * sizeof *x->group);
    fm_mem_free(x->mem, x->list, x->list_cap * sizeof *x->list);
    fm_mem_free(x->mem, x->sum, x->sum == NULL ? 0 : x->v->nodes * sizeof *x->sum);
    fm_aggregate_release(x);
    fm_group_bases_release(x);
}

static void sum_pairs(struct fm_grouping *x)
{
    fm_i128 weight = 0;

    x->totals->samples = x->totals->rows = 0;
    for (size_t p = 0; p < x->pairs; p++) {
        weight += x->pair[p].weight;
        x->totals->samples = fm_add_sat_u64(x->totals->samples, x->pair[p].samples);
        x->totals->rows += x->pair[p].rows;
    }
    if (!x->totals->known)
        x->totals->selected = weight;
}

static enum fm_status make_groups(struct fm_grouping *x, struct fm_table *t, struct fm_error *err)
{
    enum fm_status status;
    bool ok = true;

    x->paths = &t->paths;
    for (size_t k = 0; k < x->g->keys && ok; k++) {
        if (t->schema->column[k].type == FM_CELL_PATH && t->paths.trie.n == 0)
            ok = fm_trie_init(&t->paths.trie, x->mem);
        if (ok && x->g->key[k].kind == FM_KEY_PATH && x->path == NULL)
            ok = (x->path = fm_view_paths(x->v, x->c->arena, &t->paths)) != NULL;
        else if (x->g->key[k].kind == FM_KEY_ROOT)
            ok = fm_view_top(x->v);
    }
    if (!ok || !fm_operand_nodes(x->c, x->v))
        return fm_error_nomem(err);
    status = scan(x, err);
    if (status != FM_OK)
        return status;
    sum_pairs(x);
    if (!make_buckets(x) || x->oom || !sort_pairs(x))
        return fm_error_nomem(err);
    ok = x->g->any ? frame_tuples(x) && any_groups(x) : bucket_groups(x);
    if (!ok || x->oom)
        return fm_error_nomem(err);
    status = x->g->scans ? fm_aggregate_scan(x, err) : FM_OK;
    if (status == FM_OK && x->g->bases)
        status = fm_group_bases(x, err);
    return status != FM_OK ? status : fill(x, t, err);
}

enum fm_status fm_group_run(struct fm_compile *c, struct fm_group *group,
                            const struct fm_selection *sel, struct fm_view *v,
                            struct fm_totals *totals, struct fm_table *t,
                            struct fm_error *err)
{
    struct fm_grouping x = { .c = c, .g = group, .sel = sel, .v = v, .totals = totals,
                             .mem = &c->ctx->mem, .schema = t->schema };
    enum fm_status status;

    tuples_init(&x.tuples, x.mem);
    tuples_init(&x.frame_tuples, x.mem);
    fm_map_init(&x.pair_map, x.mem);
    x.key = fm_arena_alloc(c->arena, (group->keys + 1) * sizeof *x.key);
    if (x.key == NULL) {
        status = fm_error_nomem(err);
        goto out;
    }
    key_types(&x);
    status = make_groups(&x, t, err);
out:
    grouping_release(&x);
    return status;
}
