/*
 * verify.c - every invariant of a sealed store, checked against its own rows. A failure is a bug of
 * ours (or of an importer's account), never a property of an input.
 */
#include "store/inside.h"
#include "util/error.h"

#define BROKEN(err, ...) fm_error_set(err, FM_FORMAT, __VA_ARGS__)

static enum fm_status check_tree(const struct fm_store *s, struct fm_error *err)
{
    const struct fm_tree_node *t = s->tree;

    if (t == NULL || s->nodes == 0 || s->append == NULL || t[0].end != s->nodes ||
        t[0].parent != FM_NONE || t[0].frame != FM_NONE || t[0].depth != 0 || s->append[0] != 0)
        return BROKEN(err, "store: the tree has no proper root");
    for (size_t i = 1; i < s->nodes; i++) {
        if (t[i].parent >= i)
            return BROKEN(err, "store: node %zu is not above its parent %u", i, t[i].parent);
        if (t[i].end <= i || t[i].end > t[t[i].parent].end)
            return BROKEN(err, "store: node %zu has a subtree outside its parent's", i);
        if (t[i].depth != t[t[i].parent].depth + 1)
            return BROKEN(err, "store: node %zu has a wrong depth", i);
        if (t[i].frame >= s->t.frames)
            return BROKEN(err, "store: node %zu has no frame", i);
        /* pre-order: a node follows its parent or the end of an elder sibling's subtree */
        if (t[i].parent != i - 1 && t[i - 1].end != i)
            return BROKEN(err, "store: node %zu is not in pre-order", i);
    }
    for (size_t i = 1; i < s->appends; i++) {
        if (s->append[i] == 0 || s->append[i] >= s->nodes)
            return BROKEN(err, "store: stack %zu has no tree node", i);
    }
    return FM_OK;
}

static enum fm_status check_tables(const struct fm_store *s, struct fm_error *err)
{
    const struct fm_tables *t = &s->t;
    size_t strings = s->strings.n;

    for (size_t i = 0; i < t->frames; i++) {
        const struct fm_frame_row *f = &t->frame[i];
        if ((f->module != FM_NONE && f->module >= t->modules) || f->function >= strings ||
            f->raw >= strings || f->file >= strings || f->signature >= strings ||
            f->kind > FM_FRAME_C1)
            return BROKEN(err, "store: frame %zu has an id out of range", i);
    }
    for (size_t i = 0; i < t->modules; i++) {
        const struct fm_module_row *m = &t->module[i];
        if (m->path >= strings || m->build_id >= strings || m->looked >= strings ||
            m->source >= t->sources)
            return BROKEN(err, "store: module %zu has an id out of range", i);
    }
    for (size_t i = 0; i < t->threads; i++) {
        const struct fm_thread_row *r = &t->thread[i];
        if (r->source >= t->sources || r->process >= strings || r->command >= strings ||
            r->container >= strings || r->text_id >= strings ||
            r->process_label >= strings || r->thread_label >= strings ||
            (r->leader != FM_NONE && r->leader >= t->threads))
            return BROKEN(err, "store: thread %zu has an id out of range", i);
        for (size_t k = 0; k < r->names; k++) {
            if (r->name[k].name >= strings ||
                (k > 0 && r->name[k].since <= r->name[k - 1].since))
                return BROKEN(err, "store: thread %zu has its names out of order", i);
        }
    }
    for (size_t i = 0; i < t->events; i++) {
        const struct fm_event *e = &t->event[i];
        if (e->name >= strings || e->metric >= strings || e->unit >= strings ||
            e->prepend >= strings || e->append >= strings || e->default_as >= strings ||
            e->base_of >= strings ||
            e->source >= t->sources || e->kind > FM_KIND_PART)
            return BROKEN(err, "store: event %zu has an id out of range", i);
    }
    for (size_t i = 0; i < t->columns; i++) {
        if (t->column[i].name >= strings || t->column[i].rows > s->rows)
            return BROKEN(err, "store: column %zu is out of range", i);
    }
    return FM_OK;
}

static enum fm_status check_links(const struct fm_store *s, struct fm_error *err)
{
    for (size_t i = 0; i < s->links; i++) {
        const struct fm_link *l = &s->link[i];
        uint64_t end = l->target == FM_LINK_ROW     ? s->rows
                       : l->target == FM_LINK_STACK ? s->appends
                                                    : s->t.threads;
        if (l->kind > FM_LINK_PARENT || l->target > FM_LINK_THREAD || l->from >= s->rows ||
            l->to >= end)
            return BROKEN(err, "store: link %zu is out of range", i);
        if (i > 0 && (l[-1].kind > l->kind || (l[-1].kind == l->kind && l[-1].from > l->from)))
            return BROKEN(err, "store: link %zu is out of order", i);
    }
    return FM_OK;
}

/* Ranges, ids and validity of one block. */
static enum fm_status check_block(const struct fm_store *s, size_t seg, uint32_t k,
                                  const struct fm_segcol *c, uint32_t rows, uint32_t *valid_rows,
                                  struct fm_error *err)
{
    uint64_t value[FM_BLOCK_ROWS], valid[FM_BLOCK_WORDS], lo = 0, hi = 0;
    enum fm_type type = s->t.column[c->col].type;
    uint64_t ids = type == FM_TYPE_STRING   ? s->strings.n
                   : type == FM_TYPE_STACK  ? s->appends
                   : type == FM_TYPE_THREAD ? s->t.threads
                   : c->col == FM_COL_EVENT ? s->t.events
                                            : UINT64_MAX;
    uint32_t n = 0;
    bool all;

    if (fm_decode(c->block[k].data, value, valid, &all) != rows)
        return BROKEN(err, "store: segment %zu block %u column %u has other rows", seg, k, c->col);
    for (uint32_t i = 0; i < rows; i++) {
        if (((valid[i >> 6] >> (i & 63)) & 1) == 0) {
            if (value[i] != 0 || all)
                return BROKEN(err, "store: segment %zu column %u: a null lane has a value", seg,
                              c->col);
            continue;
        }
        if (ids != UINT64_MAX && value[i] >= ids)
            return BROKEN(err, "store: segment %zu column %u: id %llu out of range", seg, c->col,
                          (unsigned long long)value[i]);
        fm_range_add(type, n == 0, &lo, &hi, value[i], value[i]);
        n++;
    }
    if (n == 0 || lo != c->block[k].min || hi != c->block[k].max)
        return BROKEN(err, "store: segment %zu block %u column %u has a wrong range", seg, k,
                      c->col);
    *valid_rows = n;
    return FM_OK;
}

static enum fm_status check_column(const struct fm_store *s, size_t i, const struct fm_segcol *c,
                                   struct fm_error *err)
{
    const struct fm_segment *seg = &s->segment[i];
    uint32_t valid = 0, n;
    uint64_t lo = 0, hi = 0;
    enum fm_status status;

    if (c->col >= s->t.columns)
        return BROKEN(err, "store: segment %zu has a column %u", i, c->col);
    for (uint32_t k = 0; k < FM_SEGMENT_BLOCKS; k++) {
        if (c->block[k].data == NULL)
            continue;
        if (k * FM_BLOCK_ROWS >= seg->rows)
            return BROKEN(err, "store: segment %zu column %u has block %u", i, c->col, k);
        status = check_block(s, i, k, c, FM_MIN(seg->rows - k * FM_BLOCK_ROWS, FM_BLOCK_ROWS), &n,
                             err);
        if (status != FM_OK)
            return status;
        fm_range_add(s->t.column[c->col].type, valid == 0, &lo, &hi, c->block[k].min,
                     c->block[k].max);
        valid += n;
    }
    if (valid == 0 || valid != c->valid || lo != c->min || hi != c->max)
        return BROKEN(err, "store: segment %zu column %u has a wrong range", i, c->col);
    return FM_OK;
}

static enum fm_status check_segments(const struct fm_store *s, struct fm_error *err)
{
    uint64_t rows = 0;
    enum fm_status status;

    for (size_t i = 0; i < s->segments; i++) {
        const struct fm_segment *seg = &s->segment[i];
        if (seg->first_row != rows || seg->rows == 0 || seg->rows > FM_SEGMENT_ROWS ||
            seg->source >= s->t.sources)
            return BROKEN(err, "store: segment %zu has wrong rows or source", i);
        if (seg->rows < FM_SEGMENT_ROWS && i + 1 < s->segments && seg[1].source == seg->source)
            return BROKEN(err, "store: segment %zu is short within its source", i);
        for (size_t k = 0; k < seg->cols; k++) {
            if (k > 0 && seg->col[k - 1]->col >= seg->col[k]->col)
                return BROKEN(err, "store: segment %zu has columns out of order", i);
            status = check_column(s, i, seg->col[k], err);
            if (status != FM_OK)
                return status;
        }
        if (seg->cols == 0 || fm_segment_col(seg, FM_COL_EVENT) == NULL ||
            fm_segment_col(seg, FM_COL_EVENT)->valid != seg->rows)
            return BROKEN(err, "store: segment %zu has rows without event", i);
        rows += seg->rows;
    }
    if (rows != s->rows)
        return BROKEN(err, "store: segments hold %llu rows of %llu", (unsigned long long)rows,
                      (unsigned long long)s->rows);
    return FM_OK;
}

static enum fm_status check_columns(const struct fm_store *s, struct fm_error *err)
{
    for (size_t c = 0; c < s->t.columns; c++) {
        const struct fm_column_info *info = &s->t.column[c];
        uint64_t rows = 0, lo = 0, hi = 0;
        for (size_t i = 0; i < s->segments; i++) {
            const struct fm_segcol *col = fm_segment_col(&s->segment[i], (fm_column)c);
            if (col == NULL)
                continue;
            fm_range_add(info->type, rows == 0, &lo, &hi, col->min, col->max);
            rows += col->valid;
        }
        if (rows != info->rows || lo != info->min || hi != info->max)
            return BROKEN(err, "store: column %zu has wrong rows or range", c);
    }
    return FM_OK;
}

static enum fm_status check_order(const struct fm_store *s, struct fm_error *err)
{
    struct fm_lane *lane = fm_mem_alloc(s->mem, sizeof *lane);
    enum fm_status status = FM_OK;

    if (lane == NULL)
        return fm_error_nomem(err);
    for (size_t i = 0; i < s->segments && status == FM_OK; i++) {
        struct fm_segment fresh = {.sorted = true};
        const struct fm_segcol *c = fm_segment_col(&s->segment[i], FM_COL_TS);
        for (uint32_t k = 0; c != NULL && k < FM_SEGMENT_BLOCKS; k++) {
            bool all;
            if (c->block[k].data != NULL)
                fm_segment_check_order(&fresh, lane,
                                       fm_decode(c->block[k].data, lane->value, lane->valid, &all));
        }
        if (fresh.sorted != s->segment[i].sorted)
            status = BROKEN(err, "store: segment %zu is not as sorted as it says", i);
    }
    fm_mem_free(s->mem, lane, sizeof *lane);
    return status;
}

static enum fm_status compare_sums(const struct fm_store *s, const struct fm_tables *t,
                                   struct fm_error *err)
{
    for (size_t i = 0; i < t->events; i++) {
        const struct fm_event *a = &s->t.event[i], *b = &t->event[i];
        if (a->rows != b->rows || a->samples != b->samples || a->stacks != b->stacks ||
            a->weight != b->weight)
            return BROKEN(err, "store: event %zu counts other than its rows", i);
    }
    for (size_t i = 0; i < t->threads; i++) {
        if (s->t.thread[i].samples != t->thread[i].samples)
            return BROKEN(err, "store: thread %zu counts other than its rows", i);
    }
    for (size_t i = 0; i < t->sources; i++) {
        const struct fm_source *a = &s->t.source[i], *b = &t->source[i];
        int64_t sum;
        if (a->samples_kept != b->samples_kept || a->has_time != b->has_time ||
            (a->has_time && (a->first != b->first || a->last != b->last)))
            return BROKEN(err, "store: source %zu counts other than its rows", i);
        if (a->has_time && (!fm_add_i64(a->first, a->shift, &sum) ||
                            !fm_add_i64(a->last, a->shift, &sum)))
            return BROKEN(err, "store: source %zu has times past the timeline", i);
    }
    return FM_OK;
}

static enum fm_status check_sums(const struct fm_store *s, struct fm_error *err)
{
    struct fm_tables t;
    enum fm_status status;

    if (fm_tables_copy(&t, &s->t, s->mem, false)) {    /* counts start at zero */
        fm_tally_store(s, t.event, t.thread, t.source);
        status = compare_sums(s, &t, err);
    } else {
        status = fm_error_nomem(err);
    }
    fm_tables_release(&t, s->mem);
    return status;
}

static enum fm_status check_account(const struct fm_store *s, struct fm_error *err)
{
    for (size_t i = 0; i < s->t.sources; i++) {
        const struct fm_source *source = &s->t.source[i];
        uint64_t dropped = 0;
        for (size_t k = 0; k < source->accounts; k++) {
            if (source->account[k].kind == FM_ACCOUNT_DROPPED)
                dropped = fm_add_sat_u64(dropped, source->account[k].count);
        }
        if (source->samples_in != fm_add_sat_u64(source->samples_kept, dropped))
            return BROKEN(err, "store: source '%s' has %llu samples in, %llu kept, %llu dropped",
                          fm_store_str(s, source->name, NULL),
                          (unsigned long long)source->samples_in,
                          (unsigned long long)source->samples_kept, (unsigned long long)dropped);
    }
    return FM_OK;
}

enum fm_status fm_store_verify(const struct fm_store *store, struct fm_error *err)
{
    static enum fm_status (*const check[])(const struct fm_store *, struct fm_error *) = {
        check_tree,    check_tables, check_links, check_segments,
        check_columns, check_order,  check_sums,  check_account,
    };

    for (size_t i = 0; i < FM_COUNT(check); i++) {
        enum fm_status status = check[i](store, err);
        if (status != FM_OK)
            return status;
    }
    return FM_OK;
}
