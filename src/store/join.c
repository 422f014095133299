/*
 * join.c - absorbing sub-builders, so that the parent becomes what one builder would have been.
 *
 * Every table hands out ids in order of first use. Absorbing the tables of sub 0, 1, 2 … in that
 * order, each in id order, therefore gives the ids that doing the work in turn would have given;
 * `map[sub id] = parent id` translates. Rows go through the parent's stage again, so that blocks
 * and segments have the same borders and the same bytes.
 *
 * Rows of tables that were there before the split may have been edited in the sub-builder: what
 * differs from the copy taken at the split (b->base) is carried over. Rows made in the sub-builder
 * are compared with a fresh row.
 */
#include "store/inside.h"

struct maps {
    uint32_t *str, *column, *event, *source, *thread, *module, *frame, *node;
};

/* to->field = from->field when it differs from base->field. */
#define CARRY(to, from, base, field) \
    do { \
        if ((from)->field != (base)->field) \
            (to)->field = (from)->field; \
    } while (0)
#define CARRY_ID(to, from, base, field, map) \
    do { \
        if ((from)->field != (base)->field) \
            (to)->field = (map)[(from)->field]; \
    } while (0)

static bool map_make(struct fm_builder *b, uint32_t **map, size_t n)
{
    *map = fm_mem_alloc(b->mem, n * sizeof **map);
    if (*map == NULL)
        fm_builder_fail(b, FM_NOMEM);
    return *map != NULL;
}

static void map_free(struct fm_builder *b, uint32_t *map, size_t n)
{
    fm_mem_free(b->mem, map, n * sizeof *map);
}

/* ----------------------------------------------------------------- tables */

static void join_strings(struct fm_builder *b, const struct fm_builder *sub, struct maps *m)
{
    const struct fm_strings *strings = &sub->store->strings;

    for (size_t i = 0; i < strings->n; i++) {
        const struct fm_string *s = &strings->item[i];
        m->str[i] = i < sub->base_strings ? (uint32_t)i : fm_builder_str(b, s->p, s->n);
    }
}

static void join_columns(struct fm_builder *b, const struct fm_builder *sub, struct maps *m)
{
    const struct fm_tables *t = &sub->store->t;

    for (size_t i = 0; i < t->columns; i++) {
        const struct fm_column_info *c = &t->column[i];
        m->column[i] = i < FM_COL_LABELS
            ? (uint32_t)i
            : fm_builder_label(b, fm_builder_str_text(sub, c->name, NULL), c->type, c->asked);
    }
}

static void join_sources(struct fm_builder *b, const struct fm_builder *sub, struct maps *m)
{
    static const struct fm_source fresh = {.clock = FM_CLOCK_UNKNOWN};
    const struct fm_tables *t = &sub->store->t;

    for (size_t i = 0; i < t->sources && fm_builder_ok(b); i++) {
        const struct fm_source *s = &t->source[i], *base = &fresh;
        struct fm_source *to;
        if (i < sub->base.sources) {
            m->source[i] = (uint32_t)i;
            base = &sub->base.source[i];
        } else {
            m->source[i] = fm_builder_source_add(b, m->str[s->name], m->str[s->format]);
            if (m->source[i] == FM_NONE)
                return;
        }
        to = &b->store->t.source[m->source[i]];
        CARRY(to, s, base, bytes);
        CARRY(to, s, base, hash);
        CARRY(to, s, base, clock);
        CARRY(to, s, base, has_wall);
        CARRY(to, s, base, wall);
        CARRY(to, s, base, wall_at);
        to->samples_in = fm_add_sat_u64(to->samples_in, s->samples_in);
        fm_diags_merge(&to->diags, &s->diags);
        for (size_t k = 0; k < s->provenances; k++) {
            struct fm_provenance p = {m->str[s->provenance[k].key],
                                      m->str[s->provenance[k].value]};
            fm_builder_provenance_add(b, to, p);
        }
        for (size_t k = 0; k < s->accounts; k++) {
            const struct fm_account_row *a = &s->account[k];
            fm_builder_account(b, m->source[i], a->kind, m->str[a->key], a->first_offset,
                               a->count);
        }
    }
}

static void join_events(struct fm_builder *b, const struct fm_builder *sub, struct maps *m)
{
    static const struct fm_event fresh = {.default_rank = -1};
    const struct fm_tables *t = &sub->store->t;

    for (size_t i = 0; i < t->events && fm_builder_ok(b); i++) {
        const struct fm_event *e = &t->event[i];
        const struct fm_event *base = i < sub->base.events ? &sub->base.event[i] : &fresh;
        size_t before = b->store->t.events;
        struct fm_event *to;
        m->event[i] = fm_builder_event_metric(b, fm_builder_str_text(sub, e->name, NULL),
                                              fm_builder_str_text(sub, e->metric, NULL),
                                              fm_builder_str_text(sub, e->unit, NULL), e->kind);
        if (m->event[i] == FM_NONE)
            return;
        to = &b->store->t.event[m->event[i]];
        if (b->store->t.events != before)
            to->source = m->source[e->source];
        CARRY(to, e, base, period);
        CARRY(to, e, base, value_is_f64);
        CARRY(to, e, base, default_rank);
        CARRY_ID(to, e, base, base_of, m->str);
        CARRY_ID(to, e, base, default_as, m->str);
        CARRY_ID(to, e, base, prepend, m->str);
        CARRY_ID(to, e, base, append, m->str);
    }
}

static void join_choices(struct fm_builder *b, const struct fm_builder *sub)
{
    const struct fm_tables *t = &sub->store->t;

    b->store->left_out |= sub->store->left_out;
    for (size_t i = 0; i < t->aliases; i++)
        fm_builder_alias(b, fm_builder_str_text(sub, t->alias[i].name, NULL),
                         fm_builder_str_text(sub, t->alias[i].list, NULL));
    for (size_t i = 0; i < t->deriveds; i++)
        fm_builder_derived_event(b, fm_builder_str_text(sub, t->derived[i].name, NULL),
                                 fm_builder_str_text(sub, t->derived[i].event, NULL),
                                 fm_builder_str_text(sub, t->derived[i].unless, NULL),
                                 fm_builder_str_text(sub, t->derived[i].key, NULL));
}

static void join_modules(struct fm_builder *b, const struct fm_builder *sub, struct maps *m)
{
    const struct fm_tables *t = &sub->store->t;

    for (size_t i = 0; i < t->modules && fm_builder_ok(b); i++) {
        const struct fm_module_row *r = &t->module[i];
        const struct fm_module_row *base = i < sub->base.modules ? &sub->base.module[i]
                                                                 : &sub->module_key[i];
        struct fm_module_row key = sub->module_key[i], *to;
        key.path = m->str[key.path];
        key.build_id = m->str[key.build_id];
        key.looked = m->str[key.looked];
        key.source = m->source[key.source];
        m->module[i] = fm_builder_module_key(b, &key);
        if (m->module[i] == FM_NONE)
            return;
        to = &b->store->t.module[m->module[i]];
        CARRY_ID(to, r, base, path, m->str);
        CARRY_ID(to, r, base, build_id, m->str);
        CARRY_ID(to, r, base, looked, m->str);
        CARRY(to, r, base, kind);
        CARRY(to, r, base, pid);
        CARRY(to, r, base, mnt_ns);
        CARRY(to, r, base, generation);
        CARRY(to, r, base, start);
        CARRY(to, r, base, end);
        CARRY(to, r, base, reference);
        CARRY(to, r, base, verified);
    }
}

static void join_frames(struct fm_builder *b, const struct fm_builder *sub, struct maps *m)
{
    const struct fm_tables *t = &sub->store->t;

    for (size_t i = 0; i < t->frames && fm_builder_ok(b); i++) {
        struct fm_frame_row f = t->frame[i];
        if (f.module != FM_NONE)
            f.module = m->module[f.module];
        f.function = m->str[f.function];
        f.raw = m->str[f.raw];
        f.file = m->str[f.file];
        f.signature = m->str[f.signature];
        m->frame[i] = fm_builder_frame(b, &f);
    }
}

/* The names of `r` that are not in `base` as they are. */
static void join_names(struct fm_builder *b, struct fm_thread_row *to,
                       const struct fm_thread_row *r, const struct fm_thread_row *base,
                       const uint32_t *str)
{
    for (size_t i = 0, k = 0; i < r->names; i++) {
        while (k < base->names && base->name[k].since < r->name[i].since)
            k++;
        if (k < base->names && base->name[k].since == r->name[i].since &&
            base->name[k].name == r->name[i].name)
            continue;
        fm_thread_row_name(b, to, r->name[i].since, str[r->name[i].name]);
    }
}

static void join_threads(struct fm_builder *b, const struct fm_builder *sub, struct maps *m)
{
    const struct fm_tables *t = &sub->store->t;

    for (size_t i = 0; i < t->threads && fm_builder_ok(b); i++) {
        struct fm_thread_key key = sub->thread_key[i];
        key.source = m->source[key.source];
        key.text_id = m->str[key.text_id];
        m->thread[i] = fm_builder_thread_key(b, &key);
    }
    for (size_t i = 0; i < t->threads && fm_builder_ok(b); i++) {
        const struct fm_thread_row *r = &t->thread[i];
        const struct fm_thread_key *key = &sub->thread_key[i];
        struct fm_thread_row fresh = {.pid = key->pid, .tid = key->tid, .text_id = key->text_id,
                                      .java_tid = -1, .incarnation = key->incarnation,
                                      .leader = FM_NONE};
        const struct fm_thread_row *base = i < sub->base.threads ? &sub->base.thread[i] : &fresh;
        struct fm_thread_row *to = &b->store->t.thread[m->thread[i]];
        CARRY(to, r, base, pid);
        CARRY(to, r, base, tid);
        CARRY(to, r, base, java_tid);
        CARRY(to, r, base, process_order);
        CARRY(to, r, base, order);
        CARRY_ID(to, r, base, text_id, m->str);
        CARRY_ID(to, r, base, process, m->str);
        CARRY_ID(to, r, base, command, m->str);
        CARRY_ID(to, r, base, container, m->str);
        CARRY_ID(to, r, base, process_label, m->str);
        CARRY_ID(to, r, base, thread_label, m->str);
        if (r->leader != base->leader)
            to->leader = r->leader != FM_NONE ? m->thread[r->leader] : FM_NONE;
        join_names(b, to, r, base, m->str);
    }
}

static void join_tree(struct fm_builder *b, const struct fm_builder *sub, struct maps *m)
{
    m->node[0] = FM_NODE_ROOT;
    for (size_t i = 1; i < sub->tree.n && fm_builder_ok(b); i++) {
        const struct fm_tree_link *n = &sub->tree.node[i];
        fm_assert(n->parent < i);
        m->node[i] = fm_builder_node(b, m->node[n->parent], m->frame[n->frame]);
    }
}

/* ------------------------------------------------------------------- rows */

static uint64_t translate(const struct maps *m, enum fm_type type, fm_column col, uint64_t v)
{
    if (col == FM_COL_EVENT)
        return m->event[v];
    switch (type) {
    case FM_TYPE_STRING:
        return m->str[v];
    case FM_TYPE_STACK:
        return m->node[v];
    case FM_TYPE_THREAD:
        return m->thread[v];
    default:
        return v;
    }
}

static void translate_lane(const struct maps *m, enum fm_type type, fm_column col,
                           struct fm_lane *lane, uint32_t rows)
{
    if (col != FM_COL_EVENT && type != FM_TYPE_STRING && type != FM_TYPE_STACK &&
        type != FM_TYPE_THREAD)
        return;
    for (uint32_t w = 0; w * 64 < rows; w++) {
        for (uint64_t bits = lane->valid[w]; bits != 0; bits &= bits - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(bits);
            lane->value[i] = translate(m, type, col, lane->value[i]);
        }
    }
}

/* Rows [from, from + n) of a block go to the parent's stage. */
static void join_piece(struct fm_builder *b, const struct fm_builder *sub, const struct maps *m,
                       const struct fm_segment *seg, uint32_t k, uint32_t from, uint32_t n,
                       struct fm_lane *lane)
{
    for (size_t i = 0; i < seg->cols; i++) {
        const struct fm_segcol *c = seg->col[i];
        enum fm_type type = sub->store->t.column[c->col].type;
        uint32_t rows;
        bool all;
        if (c->block[k].data == NULL)
            continue;
        rows = fm_decode(c->block[k].data, lane->value, lane->valid, &all);
        if (m->column[c->col] == FM_NONE) {     /* a label of another type came first */
            uint64_t lost = 0;
            for (uint32_t r = from; r < from + n; r++)
                lost += (lane->valid[r >> 6] >> (r & 63)) & 1;
            fm_builder_diag(b, FM_DIAG_VALUE_RANGE, FM_NO_OFFSET, lost);
            continue;
        }
        translate_lane(m, type, c->col, lane, rows);
        fm_stage_put(b, m->column[c->col], lane->value, lane->valid, from, n);
    }
    fm_stage_advance(b, n);
}

static void join_rows(struct fm_builder *b, const struct fm_builder *sub, const struct maps *m)
{
    struct fm_lane *lane = fm_mem_alloc(b->mem, sizeof *lane);

    if (lane == NULL) {
        fm_builder_fail(b, FM_NOMEM);
        return;
    }
    for (size_t s = 0; s < sub->store->segments; s++) {
        const struct fm_segment *seg = &sub->store->segment[s];
        if (m->source[seg->source] != b->source) {
            fm_stage_finish(b);
            b->source = m->source[seg->source];
        }
        for (uint32_t k = 0; k * FM_BLOCK_ROWS < seg->rows; k++) {
            uint32_t rows = FM_MIN(seg->rows - k * FM_BLOCK_ROWS, FM_BLOCK_ROWS), n;
            for (uint32_t from = 0; from < rows && fm_builder_ok(b); from += n) {
                n = FM_MIN(rows - from, FM_BLOCK_ROWS - b->stage.row);
                join_piece(b, sub, m, seg, k, from, n, lane);
            }
        }
    }
    fm_mem_free(b->mem, lane, sizeof *lane);
}

static void join_edges(struct fm_builder *b, const struct fm_builder *sub, const struct maps *m,
                       uint64_t base)
{
    for (size_t i = 0; i < sub->patches; i++) {
        const struct fm_patch *p = &sub->patch[i];
        enum fm_type type = sub->store->t.column[p->col].type;
        bool id = fm_builder_ids(sub, type) != UINT64_MAX;
        uint64_t v = p->value;
        if (!id || v < fm_builder_ids(sub, type))
            v = translate(m, type, p->col, v);
        fm_row_patch(b, p->row + base, m->column[p->col], v);
    }
    for (size_t i = 0; i < sub->store->links; i++) {
        const struct fm_link *l = &sub->store->link[i];
        uint64_t to = l->target == FM_LINK_ROW     ? l->to + base
                      : l->target == FM_LINK_STACK ? m->node[l->to]
                                                   : m->thread[l->to];
        fm_builder_link(b, (enum fm_link_kind)l->kind, l->from + base,
                        (enum fm_link_target)l->target, to);
    }
    for (size_t i = 0; i < sub->keys; i++) {
        const struct fm_link_key *k = &sub->key[i];
        fm_builder_link_key(b, (enum fm_link_kind)k->kind, (enum fm_link_side)k->side, k->key,
                            k->row + base);
    }
}

static void absorb(struct fm_builder *b, struct fm_builder *sub, struct maps *m)
{
    uint64_t base = fm_builder_rows(b);

    join_strings(b, sub, m);
    join_sources(b, sub, m);
    join_columns(b, sub, m);
    join_events(b, sub, m);
    join_choices(b, sub);
    join_modules(b, sub, m);
    join_frames(b, sub, m);
    join_threads(b, sub, m);
    join_tree(b, sub, m);
    if (fm_builder_ok(b))
        join_rows(b, sub, m);
    if (fm_builder_ok(b))
        join_edges(b, sub, m, base);
    if (fm_builder_ok(b) && m->source[sub->source] != b->source) {
        fm_stage_finish(b);
        b->source = m->source[sub->source];
    }
}

static void join_one(struct fm_builder *b, struct fm_builder *sub)
{
    const struct fm_store *s = sub->store;
    struct maps m;

    memset(&m, 0, sizeof m);
    fm_stage_finish(sub);
    if (sub->status != FM_OK)
        fm_builder_fail(b, sub->status);
    if (fm_builder_ok(b) && map_make(b, &m.str, s->strings.n) &&
        map_make(b, &m.column, s->t.columns) && map_make(b, &m.event, s->t.events) &&
        map_make(b, &m.source, s->t.sources) && map_make(b, &m.thread, s->t.threads) &&
        map_make(b, &m.module, s->t.modules) && map_make(b, &m.frame, s->t.frames) &&
        map_make(b, &m.node, sub->tree.n))
        absorb(b, sub, &m);
    map_free(b, m.str, s->strings.n);
    map_free(b, m.column, s->t.columns);
    map_free(b, m.event, s->t.events);
    map_free(b, m.source, s->t.sources);
    map_free(b, m.thread, s->t.threads);
    map_free(b, m.module, s->t.modules);
    map_free(b, m.frame, s->t.frames);
    map_free(b, m.node, sub->tree.n);
}

void fm_builder_join(struct fm_builder *b, struct fm_builder *const *sub, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (sub[i] == NULL) {
            fm_builder_fail(b, FM_NOMEM);
            continue;
        }
        fm_assert(sub[i]->sub);
        join_one(b, sub[i]);
        fm_builder_free(sub[i]);
    }
}
