/*
 * weave.c - prepend and append: frames that depend on the row, around its stack.
 *
 *     prepend [thread, cpu]     [thread: main] [cpu: 3] f1 … fk          first listed outermost
 *     append [class]            f1 … fk [class: byte array]
 *     prepend {link: launch}    g1 … gm f1 … fk    g: the stack of the row that the link leads to
 *
 * The stack of a linked row is taken as it was recorded: the edits before have worked on the rows'
 * own stacks. Rows without a link stay as they are; a row without a value has "[no thread]".
 */
#include "query/edit.h"

#include "util/error.h"
#include "util/map.h"
#include "util/out.h"

struct loom {
    struct fm_weaver w;
    struct fm_reader r;
    const struct fm_edit *edit;
    struct fm_map *seen;           /* by column: lane -> label */
    fm_str *missing;               /* by column: "[no NAME]" */
    struct fm_out out;
    uint32_t *of_row;
    uint64_t next;                 /* row behind the last one done */
};

/* ------------------------------------------------------------------- labels */

static void put_text(struct fm_out *out, const struct fm_store *store, fm_str id)
{
    size_t n;
    const char *s = fm_store_str(store, id, &n);

    fm_out_bytes(out, s, n);
}

static void put_value(struct fm_out *out, const struct fm_value *value)
{
    switch (value->type) {
    case FM_BOOL:
        fm_out_text(out, value->b ? "true" : "false");
        break;
    case FM_I64:
        fm_out_i64(out, value->i);
        break;
    case FM_U64:
        fm_out_u64(out, value->u);
        break;
    case FM_F64:
        fm_out_f64(out, value->f);
        break;
    default:
        fm_out_bytes(out, value->text.s, value->text.n);
        break;
    }
}

static void put_unit(struct fm_out *out, const char *unit)
{
    if (unit == NULL || unit[0] == '\0')
        return;
    fm_out_char(out, ' ');
    fm_out_text(out, unit);
}

static void begin(struct loom *l, size_t k)
{
    l->out.n = 0;
    fm_out_char(&l->out, '[');
    fm_out_text(&l->out, l->edit->col[k].name);
    fm_out_text(&l->out, ": ");
}

static fm_str end(struct loom *l)
{
    fm_out_char(&l->out, ']');
    if (l->out.status != FM_OK)
        return FM_NONE;
    return fm_store_str_add(l->w.v->store, l->out.buf, l->out.n);
}

static fm_str missing(struct loom *l, size_t k)
{
    if (l->missing[k] == 0) {
        l->out.n = 0;
        fm_out_text(&l->out, "[no ");
        fm_out_text(&l->out, l->edit->col[k].name);
        l->missing[k] = end(l);
    }
    return l->missing[k];
}

/* The label of a value of column k; FM_NONE: no memory. */
static fm_str lane_label(struct loom *l, size_t k, uint64_t lane)
{
    const struct fm_operand *o = l->edit->col[k].operand;
    struct fm_store *store = l->w.v->store;
    struct fm_value value;
    bool fresh;
    uint64_t *slot = fm_map_put(&l->seen[k], lane, &fresh);
    fm_str name;

    if (slot == NULL)
        return FM_NONE;
    if (!fresh)
        return (fm_str)*slot;
    begin(l, k);
    switch (o->type) {
    case FM_TYPE_THREAD:
        name = fm_store_thread_name(store, (fm_thread)lane, false, 0);
        if (name == 0)
            return (fm_str)(*slot = missing(l, k));
        put_text(&l->out, store, name);
        break;
    case FM_TYPE_STRING:
        put_text(&l->out, store, (fm_str)lane);
        break;
    case FM_TYPE_STACK:
        return (fm_str)(*slot = missing(l, k));
    case FM_TYPE_ADDRESS:
        fm_out_text(&l->out, "0x");
        fm_out_hex(&l->out, lane);
        break;
    default:
        value = fm_lane_value(store, o->type, lane);
        put_value(&l->out, &value);
        put_unit(&l->out, o->unit);
        break;
    }
    return (fm_str)(*slot = end(l));
}

static fm_str column_label(struct loom *l, size_t k, uint32_t place)
{
    const struct fm_edit_column *col = &l->edit->col[k];
    struct fm_value value;
    uint64_t lane;

    if (col->expr == NULL)
        return fm_reader_lane(&l->r, col->operand, place, &lane) ? lane_label(l, k, lane)
                                                                 : missing(l, k);
    value = fm_reader_eval(&l->r, col->expr, place);
    if (value.type == FM_NULL)
        return missing(l, k);
    begin(l, k);
    put_value(&l->out, &value);
    put_unit(&l->out, col->expr->unit);
    return end(l);
}

/* Below `at`, the stack that the row's link leads to; nothing when there is none. */
static uint32_t linked(struct loom *l, uint32_t at, uint64_t row)
{
    uint64_t stack;

    if (!fm_linked_lane(l->edit->link->linked, row, &stack))
        return at;
    return fm_weaver_recorded(&l->w, at, fm_store_tree_node(l->w.v->store, (fm_node)stack));
}

/* --------------------------------------------------------------------- rows */

static uint32_t frames_of_row(struct loom *l, uint32_t at, uint64_t row, uint32_t place)
{
    if (l->edit->link != NULL)
        return linked(l, at, row);
    for (size_t k = 0; k < l->edit->cols && at != UINT32_MAX; k++)
        at = fm_weaver_label(&l->w, at, column_label(l, k, place));
    return at;
}

static uint32_t weave_row(struct loom *l, uint64_t row, uint32_t place)
{
    uint32_t node = fm_reader_node(&l->r, place), at = 0;

    if (node == FM_NONE)
        return 0;
    if (l->edit->op == FM_EDIT_PREPEND)
        at = frames_of_row(l, at, row, place);
    if (at != UINT32_MAX)
        at = fm_weaver_stack(&l->w, at, node);
    if (at != UINT32_MAX && l->edit->op == FM_EDIT_APPEND)
        at = frames_of_row(l, at, row, place);
    return at;
}

/* Rows come in order. What a row had is read before its new node is written, so that one array
 * serves any number of edits; rows in between are not selected, and theirs goes. */
static bool put_row(struct loom *l, uint64_t row, uint32_t place)
{
    uint32_t node = weave_row(l, row, place);

    for (; l->next < row; l->next++)
        l->of_row[l->next] = 0;
    l->of_row[row] = node;
    l->next = row + 1;
    return node != UINT32_MAX;
}

static enum fm_status weave(struct loom *l, uint64_t rows, struct fm_error *err)
{
    enum fm_status status = fm_reader_start(&l->r, err);
    bool ok = true;

    if (status != FM_OK)
        return status;
    while (ok && fm_reader_next(&l->r)) {
        for (uint32_t i = 0; ok && i < l->r.scan.n; i++) {
            uint32_t place = l->r.scan.live[i];
            ok = put_row(l, l->r.scan.first_row + place, place);
        }
    }
    fm_reader_release(&l->r);
    for (; l->next < rows; l->next++)
        l->of_row[l->next] = 0;
    return ok ? FM_OK : fm_error_nomem(err);
}

static bool loom_init(struct loom *l, struct fm_compile *c, const struct fm_edit *edit,
                      const struct fm_selection *sel, struct fm_view *v)
{
    uint64_t rows = fm_store_rows(sel->store);

    l->edit = edit;
    l->of_row = v->of_row != NULL ? v->of_row
                                  : fm_arena_alloc(c->arena, (rows + 1) * sizeof *l->of_row);
    l->seen = fm_arena_alloc(c->arena, (edit->cols + 1) * sizeof *l->seen);
    l->missing = fm_arena_alloc(c->arena, (edit->cols + 1) * sizeof *l->missing);
    if (!fm_weaver_init(&l->w, c, v) || l->of_row == NULL || l->seen == NULL || l->missing == NULL
        || fm_out_init(&l->out, l->w.mem, NULL) != FM_OK
        || (edit->link != NULL && !fm_linked_fill(c, edit->link)))
        return false;
    fm_reader_init(&l->r, c, v, sel);
    fm_reader_need_stack(&l->r);
    for (size_t k = 0; k < edit->cols; k++) {
        fm_map_init(&l->seen[k], l->w.mem);
        if (edit->col[k].expr != NULL)
            fm_reader_need_expr(&l->r, edit->col[k].expr);
        else
            fm_reader_need(&l->r, edit->col[k].operand);
    }
    return fm_operand_nodes(c, v);
}

static void loom_release(struct loom *l)
{
    for (size_t k = 0; l->seen != NULL && k < l->edit->cols; k++) {
        if (l->seen[k].mem != NULL)
            fm_map_release(&l->seen[k]);
    }
    if (l->out.mem != NULL)
        fm_out_release(&l->out);
    fm_weaver_release(&l->w);
}

enum fm_status fm_edit_weave(struct fm_compile *c, const struct fm_edit *edit,
                             struct fm_selection *sel, struct fm_view *v, struct fm_error *err)
{
    struct loom l = { .edit = edit };
    enum fm_status status = FM_NOMEM;

    if (loom_init(&l, c, edit, sel, v))
        status = weave(&l, fm_store_rows(sel->store), err);
    else
        (void)fm_error_nomem(err);
    if (status == FM_OK)
        status = fm_weaver_finish(&l.w, sel, v, l.of_row, err);
    loom_release(&l);
    return status;
}
