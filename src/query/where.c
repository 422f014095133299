/*
 * where.c - row filters: `where` over the rows of a selection, as cheap as its predicate allows.
 *
 *     stacks alone      a verdict by stack node, then by stack: rows are not looked at
 *     min and max       of segments and blocks settle a test without reading (time, event, thread)
 *     what is left      block (2,048 rows) -> lanes of operands -> verdicts, one byte a row -> bits
 *
 * The parts of an `and` are filters one after another: it holds where all of them hold.
 */
#include "query/pred.h"

#include "util/error.h"

/* ---------------------------------------------------------- verdicts of rows */

/* Rows of the block, live or not. */
static uint32_t block_rows(const struct fm_reader *r)
{
    uint32_t rows = fm_store_segment_rows(r->v->store, r->scan.segment);

    return FM_MIN(rows - r->scan.at_block * FM_BLOCK_ROWS, FM_BLOCK_ROWS);
}

static void test_block(struct fm_reader *r, struct fm_pred *p, uint8_t *out)
{
    for (uint32_t i = 0; i < r->scan.n; i++) {
        uint64_t lane;
        out[i] = fm_reader_lane(r, p->operand, r->scan.live[i], &lane)
                     ? fm_pred_lane(r->c, p, r->v, lane) : FM_NULLISH;
    }
}

static void eval_block(struct fm_reader *r, struct fm_pred *p, uint8_t *out)
{
    uint8_t part[FM_BLOCK_ROWS];
    uint32_t n = r->scan.n;

    switch (p->op) {
    case FM_PRED_CONST:
        memset(out, p->constant, n);
        break;
    case FM_PRED_AND:
    case FM_PRED_OR:
        memset(out, p->op == FM_PRED_AND ? FM_YES : FM_NO, n);
        for (size_t k = 0; k < p->args; k++) {
            eval_block(r, p->arg[k], part);
            for (uint32_t i = 0; i < n; i++)
                out[i] = p->op == FM_PRED_AND ? FM_MIN(out[i], part[i]) : FM_MAX(out[i], part[i]);
        }
        break;
    case FM_PRED_NOT:
        eval_block(r, p->arg[0], out);
        for (uint32_t i = 0; i < n; i++)
            out[i] = (uint8_t)(FM_YES - out[i]);
        break;
    case FM_PRED_TEST:
        test_block(r, p, out);
        break;
    case FM_PRED_EXPR:
        for (uint32_t i = 0; i < n; i++) {
            struct fm_value value = fm_reader_eval(r, p->expr, r->scan.live[i]);
            out[i] = value.type == FM_NULL ? FM_NULLISH : fm_value_true(&value) ? FM_YES : FM_NO;
        }
        break;
    case FM_PRED_STACK:
        for (uint32_t i = 0; i < n; i++) {
            uint32_t node = fm_reader_node(r, r->scan.live[i]);
            out[i] = node != FM_NONE && p->bit[node] ? FM_YES : FM_NO;
        }
        break;
    }
}

/* true when no value within [min, max] can pass the test. */
static bool ruled_out(const struct fm_pred *p, uint64_t min, uint64_t max, int64_t shift)
{
    const struct fm_test *t = &p->test;
    struct fm_value lo = fm_value_i64((int64_t)min + shift);
    struct fm_value hi = fm_value_i64((int64_t)max + shift);

    if (t->kind == FM_TEST_RANGE)
        return (t->lo.type != FM_NULL && fm_value_compare(&hi, &t->lo) < 0)
               || (t->hi.type != FM_NULL && fm_value_compare(&lo, &t->hi) > 0);
    if (t->kind != FM_TEST_COMPARE || t->lo.type == FM_NULL)
        return false;
    switch (t->op) {
    case FM_EXPR_EQ:
        return fm_value_compare(&hi, &t->lo) < 0 || fm_value_compare(&lo, &t->lo) > 0;
    case FM_EXPR_GE:
        return fm_value_compare(&hi, &t->lo) < 0;
    case FM_EXPR_GT:
        return fm_value_compare(&hi, &t->lo) <= 0;
    case FM_EXPR_LE:
        return fm_value_compare(&lo, &t->lo) > 0;
    case FM_EXPR_LT:
        return fm_value_compare(&lo, &t->lo) >= 0;
    default:
        return false;
    }
}

/* true when every value within [min, max] passes: both ends do, and the test is an interval. */
static bool ruled_in(const struct fm_pred *p, uint64_t min, uint64_t max, int64_t shift)
{
    struct fm_value lo = fm_value_i64((int64_t)min + shift);
    struct fm_value hi = fm_value_i64((int64_t)max + shift);

    return (p->test.kind == FM_TEST_RANGE
            || (p->test.kind == FM_TEST_COMPARE && p->test.op != FM_EXPR_NE))
           && fm_pred_value(p, &lo) == FM_YES && fm_pred_value(p, &hi) == FM_YES;
}

#define FEW 16u                 /* values of a range that are tried one by one */
#define WHOLE UINT32_MAX        /* instead of a block: the segment */

/* What is known of a predicate on the rows of a segment or block without reading them. */
enum zone { ZONE_NO, ZONE_MAYBE, ZONE_YES };

struct zone_of {
    struct fm_compile *c;
    const struct fm_view *v;
    size_t segment;
    uint32_t block;
};

static bool zone_range(const struct zone_of *z, fm_column col, uint64_t *min, uint64_t *max)
{
    return z->block == WHOLE
               ? !fm_store_segment_empty(z->v->store, z->segment, col, min, max)
               : !fm_store_block_empty(z->v->store, z->segment, z->block, col, min, max);
}

static enum zone zone_few(const struct zone_of *z, struct fm_pred *p, uint64_t min, uint64_t max)
{
    size_t yes = 0;

    for (uint64_t k = 0; k <= max - min; k++)
        yes += fm_pred_lane(z->c, p, z->v, min + k) == FM_YES;
    return yes == 0 ? ZONE_NO : yes == max - min + 1 ? ZONE_YES : ZONE_MAYBE;
}

static enum zone zone_test(const struct zone_of *z, struct fm_pred *p)
{
    const struct fm_operand *o = p->operand;
    enum zone zone = ZONE_MAYBE;
    const struct fm_source *source;
    int64_t start = 0, end, shift = 0;
    uint64_t min, max;

    if (o->place != FM_AT_COLUMN || o->via != 0 || o->id == FM_COL_COUNT || o->id == FM_COL_VALUE
        || (z->v->clip != NULL && (o->id == FM_COL_TS || o->id == FM_COL_DUR)))
        return ZONE_MAYBE;
    if (!zone_range(z, o->id, &min, &max))
        return ZONE_NO;                    /* nulls pass no test */
    if (o->type == FM_TYPE_TIME || o->type == FM_TYPE_DUR || o->type == FM_TYPE_I64) {
        if (o->id == FM_COL_TS) {
            source = fm_store_source_row(z->v->store,
                                         fm_store_segment_source(z->v->store, z->segment));
            (void)fm_store_start(z->v->store, &start, &end);
            shift = source->shift - start;
        }
        if (ruled_out(p, min, max, shift))
            return ZONE_NO;
        zone = ruled_in(p, min, max, shift) ? ZONE_YES : ZONE_MAYBE;
    } else if (o->type != FM_TYPE_F64 && o->type != FM_TYPE_STACK && max - min < FEW) {
        zone = zone_few(z, p, min, max);
    }
    if (zone == ZONE_YES
        && (z->block == WHOLE || !fm_store_block_full(z->v->store, z->segment, z->block, o->id)))
        return ZONE_MAYBE;                 /* some may be null */
    return zone;
}

static enum zone zone_of(const struct zone_of *z, struct fm_pred *p)
{
    enum zone zone, part;

    switch (p->op) {
    case FM_PRED_CONST:
        return p->constant == FM_YES ? ZONE_YES : ZONE_NO;
    case FM_PRED_AND:
    case FM_PRED_OR:
        zone = p->op == FM_PRED_AND ? ZONE_YES : ZONE_NO;
        for (size_t i = 0; i < p->args; i++) {
            part = zone_of(z, p->arg[i]);
            zone = p->op == FM_PRED_AND ? FM_MIN(zone, part) : FM_MAX(zone, part);
        }
        return zone;
    case FM_PRED_NOT:                      /* what is no YES may be null, which stays null */
        return zone_of(z, p->arg[0]) == ZONE_YES ? ZONE_NO : ZONE_MAYBE;
    case FM_PRED_TEST:
        return zone_test(z, p);
    default:
        return ZONE_MAYBE;
    }
}

/* Settles the blocks whose ranges tell the verdict; `todo` is left with those to be read. */
static void prune(struct fm_compile *c, struct fm_selection *sel, const struct fm_view *v,
                  struct fm_pred *p, uint8_t *todo)
{
    struct zone_of z = { .c = c, .v = v };

    for (z.segment = 0; z.segment < fm_store_segments(sel->store); z.segment++) {
        uint32_t rows = fm_store_segment_rows(sel->store, z.segment), blocks;
        bool none;
        blocks = (rows + FM_BLOCK_ROWS - 1) / FM_BLOCK_ROWS;
        z.block = WHOLE;
        none = zone_of(&z, p) == ZONE_NO;
        for (z.block = 0; z.block < blocks; z.block++) {
            size_t at = fm_block_place(z.segment, z.block);
            enum zone zone = none || sel->block[at] == FM_ROWS_NONE ? ZONE_NO : zone_of(&z, p);
            if (zone == ZONE_NO)
                sel->block[at] = FM_ROWS_NONE;
            todo[at] = zone == ZONE_MAYBE ? sel->block[at] : FM_ROWS_NONE;
        }
    }
}

/* -------------------------------------------------------- by stack, not by row */

/* The predicate looks at the stack of a row alone. */
static bool by_stack(const struct fm_pred *p)
{
    switch (p->op) {
    case FM_PRED_STACK:
    case FM_PRED_CONST:
        return true;
    case FM_PRED_TEST:
        return (p->operand->place == FM_AT_LEAF || p->operand->place == FM_AT_ROOT)
               && p->operand->via == 0;
    case FM_PRED_EXPR:
        return false;
    default:
        for (size_t i = 0; i < p->args; i++) {
            if (!by_stack(p->arg[i]))
                return false;
        }
        return true;
    }
}

static uint8_t node_verdict(struct fm_compile *c, struct fm_pred *p, const struct fm_view *v,
                            uint32_t node)
{
    const struct fm_tree_node *at = &v->node[node];
    uint64_t lane;
    uint8_t r, a;

    switch (p->op) {
    case FM_PRED_CONST:
        return p->constant;
    case FM_PRED_STACK:
        return p->bit[node] ? FM_YES : FM_NO;
    case FM_PRED_NOT:
        return (uint8_t)(FM_YES - node_verdict(c, p->arg[0], v, node));
    case FM_PRED_TEST:
        if (node == 0)
            return FM_NULLISH;
        if (p->operand->place == FM_AT_ROOT)
            at = &v->node[v->top[node]];
        if (!fm_view_attr(c, v, at->frame, (enum fm_attr)p->operand->id, &lane))
            return FM_NULLISH;
        return fm_pred_lane(c, p, v, lane);
    default:
        r = p->op == FM_PRED_AND ? FM_YES : FM_NO;
        for (size_t i = 0; i < p->args; i++) {
            a = node_verdict(c, p->arg[i], v, node);
            r = p->op == FM_PRED_AND ? FM_MIN(r, a) : FM_MAX(r, a);
        }
        return r;
    }
}

/* Leaves out whole stacks: one verdict a node, then one a stack. */
static bool where_stacks(struct fm_compile *c, struct fm_selection *sel, struct fm_view *v,
                         struct fm_pred *p)
{
    size_t stacks = fm_store_append_nodes(sel->store);
    uint8_t *keep = fm_arena_alloc(c->arena, v->nodes + 1);

    if (keep == NULL || !fm_view_top(v) || !fm_selection_own_stacks(sel))
        return false;
    for (size_t n = 0; n < v->nodes; n++)
        keep[n] = node_verdict(c, p, v, (uint32_t)n) == FM_YES;
    for (size_t id = 0; id <= stacks; id++) {
        uint32_t node = fm_view_node(v, id < stacks ? v->append[id] : 0);
        sel->out[id] |= node == FM_NONE || !keep[node];
    }
    return true;
}

/* ---------------------------------------------------------------- by row */

/* Rows of blocks that ranges do not settle are read, and their bits written. */
static enum fm_status where_rows(struct fm_compile *c, struct fm_selection *sel,
                                 struct fm_view *v, struct fm_pred *p, struct fm_error *err)
{
    size_t places = (fm_store_segments(sel->store) + 1) * FM_SEGMENT_BLOCKS;
    struct fm_selection todo;
    struct fm_reader r;
    enum fm_status status;
    uint8_t verdict[FM_BLOCK_ROWS];

    if (!fm_selection_own_rows(sel))
        return fm_error_nomem(err);
    todo = *sel;
    todo.block = fm_arena_alloc(c->arena, places);
    if (todo.block == NULL)
        return fm_error_nomem(err);
    prune(c, sel, v, p, todo.block);
    fm_reader_init(&r, c, v, &todo);
    fm_reader_need_pred(&r, p);
    status = fm_reader_start(&r, err);
    if (status != FM_OK)
        return status;
    while (fm_reader_next(&r)) {
        uint64_t bits[FM_BLOCK_ROWS / 64] = { 0 };
        eval_block(&r, p, verdict);
        for (uint32_t i = 0; i < r.scan.n; i++)
            bits[r.scan.live[i] / 64] |= (uint64_t)(verdict[i] == FM_YES)
                                         << (r.scan.live[i] % 64);
        fm_selection_set_block(sel, r.scan.segment, r.scan.at_block, r.scan.first_row,
                               block_rows(&r), bits);
    }
    fm_reader_release(&r);
    return c->arena->oom ? fm_error_nomem(err) : FM_OK;
}

enum fm_status fm_rows_where(struct fm_compile *c, struct fm_selection *sel, struct fm_view *v,
                             struct fm_pred *p, struct fm_error *err)
{
    enum fm_status status = FM_OK;

    if (fm_pred_always(p))
        return FM_OK;
    if (p->op == FM_PRED_AND) {            /* holds where all of them hold, null or not */
        for (size_t i = 0; i < p->args && status == FM_OK; i++)
            status = fm_rows_where(c, sel, v, p->arg[i], err);
        return status;
    }
    if (!fm_pred_nodes(c, p, v) || !fm_operand_nodes(c, v))
        return fm_error_nomem(err);
    if (v->of_row == NULL && by_stack(p))
        return where_stacks(c, sel, v, p) ? FM_OK : fm_error_nomem(err);
    return where_rows(c, sel, v, p, err);
}

enum fm_status fm_rows_keep(struct fm_reader *r, struct fm_selection *sel,
                            bool (*keep)(void *user, struct fm_reader *r, uint32_t place),
                            void *user, struct fm_error *err)
{
    enum fm_status status;

    if (!fm_selection_own_rows(sel))
        return fm_error_nomem(err);
    status = fm_reader_start(r, err);
    if (status != FM_OK)
        return status;
    while (fm_reader_next(r)) {
        uint64_t bits[FM_BLOCK_ROWS / 64] = { 0 };
        for (uint32_t i = 0; i < r->scan.n; i++)
            bits[r->scan.live[i] / 64] |= (uint64_t)keep(user, r, r->scan.live[i])
                                          << (r->scan.live[i] % 64);
        fm_selection_set_block(sel, r->scan.segment, r->scan.at_block, r->scan.first_row,
                               block_rows(r), bits);
    }
    fm_reader_release(r);
    return FM_OK;
}
