/*
 * rows.c - tests of values, and reading the rows of a selection: lanes of operands, weights, nodes.
 *
 * Verdicts of text tests are kept by string id (or thread). `ts` is ns since the start of the store
 * (smallest ts + shift), so bucket(ts, w) is aligned to it.
 */
#include "query/pred.h"

#include "store/fold.h"
#include "util/error.h"
#include "util/out.h"

/* ------------------------------------------------------------------- tests */

/* "main;work;malloc": the path of a stack, as text. */
static struct fm_value path_value(struct fm_store *store, fm_node stack)
{
    const struct fm_tree_node *node = fm_store_tree(store);
    uint32_t at = fm_store_tree_node(store, stack), depth = node[at].depth;
    struct fm_mem *mem = &fm_store_ctx(store)->mem;
    uint32_t *frame = fm_mem_alloc(mem, ((size_t)depth + 1) * sizeof *frame);
    fm_str id = FM_NONE;
    struct fm_out out;
    const char *s;
    size_t n;

    if (frame == NULL || fm_out_init(&out, mem, NULL) != FM_OK) {
        fm_mem_free(mem, frame, frame == NULL ? 0 : ((size_t)depth + 1) * sizeof *frame);
        return fm_value_null();
    }
    for (uint32_t up = at, i = depth; up != 0; up = node[up].parent)
        frame[--i] = node[up].frame;
    for (uint32_t i = 0; i < depth; i++) {
        fm_str label = fm_linked_label(store, frame[i]);
        if (i > 0)
            fm_out_char(&out, ';');
        if (label != FM_NONE)
            fm_out_text(&out, fm_store_str(store, label, NULL));
    }
    if (out.status == FM_OK)
        id = fm_store_str_add(store, out.buf, out.n);
    fm_out_release(&out);
    fm_mem_free(mem, frame, ((size_t)depth + 1) * sizeof *frame);
    if (id == FM_NONE || depth == 0)
        return fm_value_null();
    s = fm_store_str(store, id, &n);
    return fm_value_text(s, n);
}

struct fm_value fm_lane_value(struct fm_store *store, enum fm_type type, uint64_t lane)
{
    const char *s;
    fm_str name;
    size_t n;

    switch (type) {
    case FM_TYPE_BOOL:
        return fm_value_bool(lane != 0);
    case FM_TYPE_I64:
    case FM_TYPE_TIME:
    case FM_TYPE_DUR:
        return fm_value_i64((int64_t)lane);
    case FM_TYPE_F64:
        return fm_value_f64(fm_bits_f64(lane));
    case FM_TYPE_STRING:
        s = fm_store_str(store, (fm_str)lane, &n);
        return fm_value_text(s, n);
    case FM_TYPE_THREAD:
        name = fm_store_thread_name(store, (fm_thread)lane, false, 0);
        s = fm_store_str(store, name, &n);
        return name == 0 ? fm_value_null() : fm_value_text(s, n);
    case FM_TYPE_STACK:
        return path_value(store, (fm_node)lane);
    default:
        return fm_value_u64(lane);
    }
}

static bool text_matches(const struct fm_test *t, const char *s, size_t n)
{
    if (fm_pattern_match(t->pattern, s, n))
        return true;
    if (t->base) {
        size_t at = n;
        while (at > 0 && s[at - 1] != '/')
            at--;
        return at > 0 && fm_pattern_match(t->pattern, s + at, n - at);
    }
    for (size_t from = 0, i = 0; t->list && i <= n; i++) {
        if (i < n && s[i] != ',')
            continue;
        if (fm_pattern_match(t->pattern, s + from, i - from))
            return true;
        from = i + 1;
    }
    return false;
}

static bool compare(enum fm_expr_op op, int order)
{
    switch (op) {
    case FM_EXPR_NE:
        return order != 0;
    case FM_EXPR_LT:
        return order < 0;
    case FM_EXPR_LE:
        return order <= 0;
    case FM_EXPR_GT:
        return order > 0;
    case FM_EXPR_GE:
        return order >= 0;
    default:
        return order == 0;
    }
}

uint8_t fm_pred_value(const struct fm_pred *p, const struct fm_value *value)
{
    const struct fm_test *t = &p->test;
    struct fm_value number = *value;
    bool yes;

    if (value->type == FM_NULL)
        return FM_NULLISH;
    if (value->type == FM_BOOL)
        number = fm_value_i64(value->b);
    switch (t->kind) {
    case FM_TEST_TEXT:
        yes = value->type == FM_TEXT && text_matches(t, value->text.s, value->text.n);
        break;
    case FM_TEST_COMPARE:
        if (t->lo.type == FM_NULL)
            return FM_YES;          /* $n = all */
        yes = number.type != FM_TEXT && compare(t->op, fm_value_compare(&number, &t->lo));
        break;
    case FM_TEST_RANGE:
        yes = number.type != FM_TEXT
              && (t->lo.type == FM_NULL || fm_value_compare(&number, &t->lo) >= 0)
              && (t->hi.type == FM_NULL || fm_value_compare(&number, &t->hi) <= 0);
        break;
    default:
        return FM_NULLISH;
    }
    return yes ? FM_YES : FM_NO;
}

static uint8_t *memo_of(struct fm_compile *c, struct fm_pred *p, uint64_t id)
{
    if (id >= p->memos) {
        size_t n = FM_MAX((size_t)id + 1, fm_store_strings(c->store));
        uint8_t *memo = fm_arena_alloc(c->arena, n);
        if (memo == NULL)
            return NULL;
        if (p->memos > 0)
            memcpy(memo, p->memo, p->memos);
        p->memo = memo;
        p->memos = n;
    }
    return &p->memo[id];
}

uint8_t fm_pred_lane(struct fm_compile *c, struct fm_pred *p, const struct fm_view *v,
                     uint64_t lane)
{
    struct fm_value value;
    uint8_t verdict, *memo = NULL;

    if (p->test.kind == FM_TEST_TEXT) {
        memo = memo_of(c, p, lane);
        if (memo != NULL && *memo != 0)
            return (uint8_t)(*memo - 1);
    }
    value = fm_lane_value(v->store, p->operand->type, lane);
    verdict = fm_pred_value(p, &value);
    if (memo != NULL)
        *memo = (uint8_t)(verdict + 1);
    return verdict;
}

/* ------------------------------------------------------------------ reader */

void fm_reader_init(struct fm_reader *r, struct fm_compile *c, struct fm_view *v,
                    const struct fm_selection *sel)
{
    *r = (struct fm_reader){ .c = c, .v = v, .sel = sel, .stack = -1, .thread = -1, .count = -1,
                             .weight = -1, .self = -1, .ts = -1, .dur = -1 };
}

static int need(struct fm_reader *r, fm_column col)
{
    for (size_t i = 0; i < r->cols; i++) {
        if (r->col[i] == col)
            return (int)i;
    }
    if (r->cols == FM_SCAN_COLUMNS) {
        r->full = true;
        return 0;
    }
    r->col[r->cols] = col;
    return (int)r->cols++;
}

void fm_reader_need_stack(struct fm_reader *r)
{
    r->stack = need(r, FM_COL_STACK);
}

/* What tells whether a span is cut. */
static void need_times(struct fm_reader *r)
{
    r->ts = need(r, FM_COL_TS);
    r->dur = need(r, FM_COL_DUR);
}

static void need_self(struct fm_reader *r)
{
    r->self = need(r, FM_COL_WEIGHT);
    r->dur = need(r, FM_COL_DUR);
    if (r->v->clip != NULL)
        need_times(r);
}

static void need_own_weight(struct fm_reader *r)
{
    r->count = need(r, FM_COL_COUNT);
    if (r->v->clip != NULL)
        need_times(r);
    if (r->v->parts != NULL && r->sel->weigh == FM_WEIGH_VALUE)
        need_self(r);
    else if (r->sel->weigh == FM_WEIGH_VALUE)
        r->weight = need(r, FM_COL_WEIGHT);
    else if (r->sel->weigh == FM_WEIGH_COLUMN)
        r->weight = need(r, r->sel->weigh_col);
}

/* The weight that a step has made; the expression may be of another pipe. */
static void need_weigh(struct fm_reader *r, const struct fm_reweigh *w)
{
    struct fm_compile *own = r->c;

    r->c = w->c;
    if (w->value == NULL)
        fm_reader_need_expr(r, w->expr);
    own->arena->oom |= w->c->arena->oom;
    r->c = own;
}

void fm_reader_need_weight(struct fm_reader *r)
{
    if (r->v->weigh == NULL) {
        need_own_weight(r);
        return;
    }
    r->count = need(r, FM_COL_COUNT);
    need_weigh(r, r->v->weigh);
}

void fm_reader_need(struct fm_reader *r, struct fm_operand *o)
{
    if (o->via != 0) {
        r->c->arena->oom |= !fm_linked_fill(r->c, o);
        return;
    }
    switch (o->place) {
    case FM_AT_COLUMN:
        o->slot = need(r, o->id);
        if (r->v->clip != NULL && (o->id == FM_COL_TS || o->id == FM_COL_DUR))
            need_times(r);
        break;
    case FM_AT_WEIGHT:
        if (o->weigh != NULL)
            need_weigh(r, o->weigh);
        else
            need_own_weight(r);
        break;
    case FM_AT_SELF:
        need_self(r);
        break;
    case FM_AT_DERIVED:
        r->thread = need(r, FM_COL_THREAD);
        break;
    case FM_AT_ROOT:
        if (!fm_view_top(r->v))
            r->c->arena->oom = true;
        fm_reader_need_stack(r);
        break;
    case FM_AT_INTERVAL:
        fm_interval_need(r, o);
        break;
    case FM_AT_MEMBER:
        fm_reader_need(r, o->pred->operand);
        break;
    case FM_AT_LEAF:
    case FM_AT_NODE:
        fm_reader_need_stack(r);
        break;
    default:
        break;
    }
}

static void need_node(void *user, const struct fm_expr *node)
{
    struct fm_reader *r = user;

    fm_reader_need(r, r->c->operand[node->ref]);
}

void fm_reader_need_expr(struct fm_reader *r, const struct fm_expr *expr)
{
    fm_expr_walk(expr, need_node, r);
}

void fm_reader_need_pred(struct fm_reader *r, const struct fm_pred *p)
{
    if (p->op == FM_PRED_TEST)
        fm_reader_need(r, p->operand);
    else if (p->op == FM_PRED_EXPR)
        fm_reader_need_expr(r, p->expr);
    else if (p->op == FM_PRED_STACK)
        fm_reader_need_stack(r);
    for (size_t i = 0; p->op != FM_PRED_STACK && i < p->args; i++)
        fm_reader_need_pred(r, p->arg[i]);
}

enum fm_status fm_reader_start(struct fm_reader *r, struct fm_error *err)
{
    if (r->c->arena->oom)
        return fm_error_nomem(err);
    if (r->full)
        return fm_error_set(err, FM_CONFIG, "a step needs more than %d columns", FM_SCAN_COLUMNS);
    return fm_scan_init(&r->scan, r->sel, r->col, r->cols, err);
}

bool fm_reader_next(struct fm_reader *r)
{
    int64_t start = 0, end;

    if (!fm_scan_next(&r->scan))
        return false;
    (void)fm_store_start(r->v->store, &start, &end);
    r->shift = fm_store_source_row(r->v->store, r->scan.source)->shift - start;
    return true;
}

void fm_reader_release(struct fm_reader *r)
{
    fm_scan_release(&r->scan);
}

uint64_t fm_reader_count(const struct fm_reader *r, uint32_t place)
{
    return fm_scan_valid(&r->scan, (size_t)r->count, place)
               ? r->scan.value[r->count][place] : 1;
}

/* Time and duration as the window has cut them; false: the row is not cut. */
static bool cut_times(const struct fm_reader *r, uint32_t place, int64_t *ts, int64_t *dur)
{
    if (r->v->clip == NULL || !fm_scan_valid(&r->scan, (size_t)r->ts, place)
        || !fm_scan_valid(&r->scan, (size_t)r->dur, place))
        return false;
    *ts = (int64_t)r->scan.value[r->ts][place] + r->shift;
    *dur = (int64_t)r->scan.value[r->dur][place];
    return fm_clip_span(r->v->clip, ts, dur);
}

/* Self time of a span of a thread is its weight and that of its parts; an async one is by itself
 * for as long as it lasts. */
static bool self_dur(const struct fm_reader *r, uint32_t place, uint64_t *lane)
{
    const struct fm_event *e = fm_store_event_row(r->v->store, r->scan.event[place]);
    bool span = e->kind == FM_KIND_SPAN;
    size_t slot = (size_t)(span ? r->self : r->dur);
    const uint64_t *more;
    int64_t ts, dur;

    *lane = 0;
    if (!fm_scan_valid(&r->scan, slot, place))
        return false;
    *lane = r->scan.value[slot][place];
    if ((int64_t)*lane < 0)
        *lane = 0;
    if (r->v->clip != NULL) {
        if (span && fm_clip_self(r->v->clip, r->scan.first_row + place, lane))
            return true;
        if (!span && cut_times(r, place, &ts, &dur))
            *lane = (uint64_t)dur;
    }
    more = span && r->v->parts->n > 0
               ? fm_map_find(r->v->parts, r->scan.first_row + place) : NULL;
    if (more != NULL)
        *lane = fm_add_sat_u64(*lane, *more);
    return true;
}

bool fm_reader_folds(const struct fm_view *v, const struct fm_selection *sel)
{
    return v->of_row == NULL && v->weigh == NULL && v->clip == NULL
           && (v->parts == NULL || sel->weigh != FM_WEIGH_VALUE);
}

static uint64_t own_weight(const struct fm_reader *r, uint32_t place)
{
    int64_t ts, dur;
    uint64_t self;

    if (r->v->parts != NULL && r->sel->weigh == FM_WEIGH_VALUE)
        return self_dur(r, place, &self) ? self : 0;
    if (r->sel->weigh == FM_WEIGH_SAMPLES)
        return fm_reader_count(r, place);
    if (FM_UNLIKELY(r->v->clip != NULL)
        && (r->sel->weigh == FM_WEIGH_VALUE || r->sel->weigh_col == FM_COL_DUR)
        && cut_times(r, place, &ts, &dur))
        return (uint64_t)dur;          /* the weight of a state is its duration */
    return fm_scan_valid(&r->scan, (size_t)r->weight, place)
               ? r->scan.value[r->weight][place] : 0;
}

struct at {
    const struct fm_reader *r;
    const struct fm_compile *c;
    uint32_t place;
};

static struct fm_value get_at(void *user, const struct fm_expr *node)
{
    const struct at *at = user;

    return fm_reader_value(at->r, at->c->operand[node->ref], at->place);
}

static uint64_t weigh(const struct fm_reader *r, const struct fm_reweigh *w, uint32_t place)
{
    struct at at = { r, w->c, place };
    struct fm_value value;
    bool bad = false;

    if (w->value != NULL)
        return w->value[r->scan.first_row + place];
    value = fm_expr_eval(w->expr, get_at, &at);
    return fm_weigh_value(&value, &bad);
}

uint64_t fm_reader_weight(const struct fm_reader *r, uint32_t place)
{
    return FM_UNLIKELY(r->v->weigh != NULL) ? weigh(r, r->v->weigh, place)
                                            : own_weight(r, place);
}

uint32_t fm_reader_node(const struct fm_reader *r, uint32_t place)
{
    if (r->v->of_row != NULL)
        return r->v->of_row[r->scan.first_row + place];
    if (!fm_scan_valid(&r->scan, (size_t)r->stack, place))
        return fm_view_node(r->v, 0);
    return fm_view_node(r->v, r->v->append[r->scan.value[r->stack][place]]);
}

static bool derived(const struct fm_reader *r, enum fm_derived id, uint32_t place, uint64_t *lane)
{
    fm_thread t = fm_scan_valid(&r->scan, (size_t)r->thread, place)
                      ? (fm_thread)r->scan.value[r->thread][place] : FM_NONE;

    return fm_derived_value(r->v->store, id, t, r->scan.source,
                            (uint32_t)r->scan.event[place], lane);
}

static bool stored(const struct fm_reader *r, const struct fm_operand *o, uint32_t place,
                   uint64_t *lane)
{
    size_t slot = (size_t)o->slot;
    int64_t ts, dur;

    if (!fm_scan_valid(&r->scan, slot, place)) {
        *lane = 1;
        return o->id == FM_COL_COUNT;
    }
    *lane = r->scan.value[slot][place];
    if (r->v->clip != NULL && (o->id == FM_COL_TS || o->id == FM_COL_DUR)
        && cut_times(r, place, &ts, &dur))
        *lane = (uint64_t)(o->id == FM_COL_TS ? ts : dur);
    else if (o->id == FM_COL_TS)
        *lane += (uint64_t)r->shift;
    else if (o->id == FM_COL_VALUE
             && !fm_store_event_row(r->v->store, r->scan.event[place])->value_is_f64)
        *lane = fm_f64_bits((double)(int64_t)*lane);
    return true;
}

bool fm_reader_lane(const struct fm_reader *r, const struct fm_operand *o, uint32_t place,
                    uint64_t *lane)
{
    uint32_t node;

    if (o->via != 0)
        return fm_linked_lane(o->linked, r->scan.first_row + place, lane);
    switch (o->place) {
    case FM_AT_COLUMN:
        return stored(r, o, place, lane);
    case FM_AT_WEIGHT:
        *lane = o->weigh != NULL ? weigh(r, o->weigh, place) : own_weight(r, place);
        return true;
    case FM_AT_SELF:
        return self_dur(r, place, lane);
    case FM_AT_DERIVED:
        return derived(r, (enum fm_derived)o->id, place, lane);
    case FM_AT_LEAF:
    case FM_AT_ROOT:
        node = fm_reader_node(r, place);
        if (node == 0 || node == FM_NONE)
            return false;
        if (o->place == FM_AT_ROOT)
            node = r->v->top[node];
        return fm_view_attr(r->c, r->v, r->v->node[node].frame, (enum fm_attr)o->id, lane);
    case FM_AT_INTERVAL:
        return fm_interval_lane(r, o, place, lane);
    case FM_AT_MEMBER:
        if (!fm_reader_lane(r, o->pred->operand, place, lane))
            return false;
        *lane = fm_pred_lane(r->c, o->pred, r->v, *lane) == FM_YES;
        return true;
    case FM_AT_NODE:
        node = fm_reader_node(r, place);
        *lane = node != FM_NONE && o->pred->bit[node];
        return true;
    default:
        return false;
    }
}

struct fm_value fm_reader_value(const struct fm_reader *r, const struct fm_operand *o,
                                uint32_t place)
{
    uint64_t lane;

    if (!fm_reader_lane(r, o, place, &lane))
        return fm_value_null();
    return fm_lane_value(r->v->store, o->type, lane);
}

static struct fm_value get(void *user, const struct fm_expr *node)
{
    struct fm_reader *r = user;

    return fm_reader_value(r, r->c->operand[node->ref], r->place);
}

struct fm_value fm_reader_eval(struct fm_reader *r, const struct fm_expr *expr, uint32_t place)
{
    r->place = place;
    return fm_expr_eval(expr, get, r);
}

/* -------------------------------------------------------------------- sums */

static enum fm_status sum_stacks(struct fm_selection *sel, uint64_t *rows, struct fm_error *err)
{
    struct fm_fold fold;
    enum fm_status status = fm_fold_init(&fold, sel, 0, err);

    for (size_t s = 0; s <= fold.stacks && status == FM_OK; s++) {
        struct fm_stack_sums sums;
        if (fm_fold_empty(&fold, s))
            continue;
        sums = fm_fold_of(&fold, s);
        *rows += sums.rows;
        sel->samples = fm_add_sat_u64(sel->samples, sums.samples);
        sel->weight += sums.weight;
    }
    fm_fold_release(&fold);
    return status;
}

enum fm_status fm_rows_sum(struct fm_compile *c, struct fm_selection *sel, struct fm_view *v,
                           uint64_t *rows, struct fm_error *err)
{
    struct fm_reader r;
    enum fm_status status;

    *rows = 0;
    sel->samples = 0;
    sel->weight = 0;
    if (fm_reader_folds(v, sel))
        return sum_stacks(sel, rows, err);
    fm_reader_init(&r, c, v, sel);
    fm_reader_need_weight(&r);
    status = fm_reader_start(&r, err);
    if (status != FM_OK)
        return status;
    while (fm_reader_next(&r)) {
        *rows += r.scan.n;
        for (uint32_t i = 0; i < r.scan.n; i++) {
            sel->samples = fm_add_sat_u64(sel->samples, fm_reader_count(&r, r.scan.live[i]));
            sel->weight += fm_reader_weight(&r, r.scan.live[i]);
        }
    }
    fm_reader_release(&r);
    return FM_OK;
}
