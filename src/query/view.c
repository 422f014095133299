/*
 * view.c - the stacks that rows have now: attributes of frames, predicates per frame and per node.
 *
 *     row -> append id -> node of the store's tree -> (of_tree) node of the view -> frame
 *
 * A frame predicate is evaluated once per frame, a stack predicate once per node in one forward
 * pass (parent < child):
 *
 *     has    bit(n) = bit(parent) or match(frame n)       leaf   bit(n) = match(frame n)
 *     lacks  not has                                      root   bit(n) = match(outermost frame)
 *     path   k(n) = k(parent) + match(frame n, P[k]);  bit(n) = k(n) == all
 */
#include "query/pred.h"

#include "util/error.h"

static const char *const attr_name[FM_ATTRS] = {
    "function", "module", "file", "line", "address", "kind", "raw", "category"
};

bool fm_attr_find(const char *name, size_t n, enum fm_attr *attr)
{
    for (size_t i = 0; i < FM_ATTRS; i++) {
        if (strlen(attr_name[i]) == n && memcmp(attr_name[i], name, n) == 0) {
            *attr = (enum fm_attr)i;
            return true;
        }
    }
    return false;
}

const char *fm_attr_text(enum fm_attr attr)
{
    fm_assert((size_t)attr < FM_ATTRS);
    return attr_name[attr];
}

enum fm_type fm_attr_type(enum fm_attr attr)
{
    if (attr == FM_ATTR_ADDRESS)
        return FM_TYPE_ADDRESS;
    return attr == FM_ATTR_LINE ? FM_TYPE_U64 : FM_TYPE_STRING;
}

const struct fm_frame_row *fm_view_frame(const struct fm_view *v, uint32_t frame)
{
    fm_assert(frame < v->frames);
    return v->frame != NULL ? &v->frame[frame] : fm_store_frame_row(v->store, frame);
}

static bool label_frames(struct fm_view *v)
{
    static const struct fm_names names = { .style = FM_NAMES_FOLDMILL };

    for (size_t f = 0; f < v->frames; f++) {
        const struct fm_frame_row *row = fm_view_frame(v, (uint32_t)f);
        v->dso[f] = row->module == FM_NONE ? FM_NONE : fm_name_dso(v->store, row->module);
        v->label[f] = fm_name_frame_row(v->store, row, &names);
        if (v->label[f] == FM_NONE || (row->module != FM_NONE && v->dso[f] == FM_NONE))
            return false;
    }
    return true;
}

enum fm_status fm_view_init(struct fm_view *v, const struct fm_selection *sel,
                            struct fm_arena *arena, struct fm_error *err)
{
    uint64_t generation = v->generation;

    *v = (struct fm_view){ .store = sel->store, .arena = arena, .of_row = v->of_row,
                           .rows = v->rows, .parts = v->parts, .clip = v->clip,
                           .weigh = v->weigh };
    v->generation = generation + 1;
    v->append = fm_store_append_map(sel->store);
    if (sel->stacks != NULL) {
        v->node = sel->stacks->node;
        v->nodes = sel->stacks->nodes;
        v->frame = sel->stacks->frame;
        v->frames = sel->stacks->frames;
        v->of_tree = sel->stacks->of_tree;
    } else {
        v->node = fm_store_tree(sel->store);
        v->nodes = fm_store_tree_nodes(sel->store);
        v->frames = fm_store_frames(sel->store);
    }
    v->label = fm_arena_alloc(arena, (v->frames + 1) * sizeof *v->label);
    v->dso = fm_arena_alloc(arena, (v->frames + 1) * sizeof *v->dso);
    v->category = fm_arena_alloc(arena, sizeof *v->category);
    if (v->label == NULL || v->dso == NULL || v->category == NULL || !label_frames(v))
        return fm_error_nomem(err);
    for (int k = 0; k <= FM_FRAME_C1; k++) {
        const char *text = fm_frame_kind_text((enum fm_frame_kind)k);
        v->kind[k] = fm_store_str_add(sel->store, text, strlen(text));
        if (v->kind[k] == FM_NONE)
            return fm_error_nomem(err);
    }
    return FM_OK;
}

bool fm_view_attr(struct fm_compile *c, const struct fm_view *v, uint32_t frame,
                  enum fm_attr attr, uint64_t *lane)
{
    const struct fm_frame_row *row = fm_view_frame(v, frame);

    switch (attr) {
    case FM_ATTR_FUNCTION:
        *lane = v->label[frame];
        return true;
    case FM_ATTR_MODULE:
        *lane = v->dso[frame];
        return v->dso[frame] != FM_NONE;
    case FM_ATTR_FILE:
        *lane = row->file;
        return row->file != 0;
    case FM_ATTR_LINE:
        *lane = row->line;
        return row->line != 0;
    case FM_ATTR_ADDRESS:
        *lane = row->address;
        return row->address != UINT64_MAX;
    case FM_ATTR_KIND:
        *lane = v->kind[row->kind];
        return true;
    case FM_ATTR_CATEGORY:
        *lane = fm_category_list(c, fm_category_mask(c, v, frame));
        return *lane != FM_NONE;
    default:
        *lane = row->raw != 0 ? row->raw : row->function;
        return *lane != 0;
    }
}

bool fm_view_top(struct fm_view *v)
{
    if (v->top != NULL)
        return true;
    v->top = fm_arena_alloc(v->arena, (v->nodes + 1) * sizeof *v->top);
    if (v->top == NULL)
        return false;
    for (size_t n = 1; n < v->nodes; n++)
        v->top[n] = v->node[n].parent == 0 ? (uint32_t)n : v->top[v->node[n].parent];
    return true;
}

/* ------------------------------------------------------ verdicts per frame */

uint8_t fm_pred_frame(struct fm_compile *c, struct fm_pred *p, const struct fm_view *v,
                      uint32_t frame)
{
    uint8_t r;
    uint64_t lane;

    switch (p->op) {
    case FM_PRED_CONST:
        return p->constant;
    case FM_PRED_AND:
    case FM_PRED_OR:
        r = p->op == FM_PRED_AND ? FM_YES : FM_NO;
        for (size_t i = 0; i < p->args; i++) {
            uint8_t a = fm_pred_frame(c, p->arg[i], v, frame);
            r = p->op == FM_PRED_AND ? FM_MIN(r, a) : FM_MAX(r, a);
        }
        return r;
    case FM_PRED_NOT:
        return (uint8_t)(FM_YES - fm_pred_frame(c, p->arg[0], v, frame));
    case FM_PRED_TEST:
        fm_assert(p->operand->place == FM_AT_FRAME);
        if (!fm_view_attr(c, v, frame, (enum fm_attr)p->operand->id, &lane))
            return FM_NULLISH;
        return fm_pred_lane(c, p, v, lane);
    default:
        return FM_NO;
    }
}

uint8_t *fm_pred_frames(struct fm_compile *c, struct fm_pred *p, const struct fm_view *v)
{
    uint8_t *bit = fm_arena_alloc(c->arena, v->frames + 1);

    if (bit == NULL)
        return NULL;
    for (size_t f = 0; f < v->frames; f++)
        bit[f] = fm_pred_frame(c, p, v, (uint32_t)f) == FM_YES;
    return bit;
}

/* ------------------------------------------------------- verdicts per node */

static bool path_nodes(struct fm_compile *c, struct fm_pred *p, const struct fm_view *v)
{
    uint8_t **match = fm_arena_alloc(c->arena, (p->args + 1) * sizeof *match);
    uint32_t *met = fm_arena_alloc(c->arena, v->nodes * sizeof *met);

    if (match == NULL || met == NULL)
        return false;
    for (size_t i = 0; i < p->args; i++) {
        match[i] = fm_pred_frames(c, p->arg[i], v);
        if (match[i] == NULL)
            return false;
    }
    for (size_t n = 1; n < v->nodes; n++) {
        uint32_t k = met[v->node[n].parent];
        met[n] = k < p->args && match[k][v->node[n].frame] ? k + 1 : k;
        p->bit[n] = met[n] == p->args;
    }
    p->bit[0] = p->args == 0;
    return true;
}

static bool stack_nodes(struct fm_compile *c, struct fm_pred *p, const struct fm_view *v)
{
    const struct fm_tree_node *node = v->node;
    uint8_t *match;

    if (p->bit != NULL && p->generation == v->generation)
        return true;
    p->bit = fm_arena_alloc(c->arena, v->nodes + 1);
    p->generation = v->generation;
    if (p->bit == NULL)
        return false;
    if (p->stack == FM_STACK_PATH)
        return path_nodes(c, p, v);
    match = fm_pred_frames(c, p->arg[0], v);
    if (match == NULL)
        return false;
    for (size_t n = 1; n < v->nodes; n++) {
        uint32_t up = node[n].parent;
        fm_assert(up < n);
        if (p->stack == FM_STACK_LEAF)
            p->bit[n] = match[node[n].frame];
        else if (p->stack == FM_STACK_ROOT)
            p->bit[n] = up == 0 ? match[node[n].frame] : p->bit[up];
        else
            p->bit[n] = p->bit[up] || match[node[n].frame];
    }
    for (size_t n = 0; p->stack == FM_STACK_LACKS && n < v->nodes; n++)
        p->bit[n] = !p->bit[n];
    return true;
}

bool fm_pred_nodes(struct fm_compile *c, struct fm_pred *p, const struct fm_view *v)
{
    if (p->op == FM_PRED_STACK)
        return stack_nodes(c, p, v);
    for (size_t i = 0; i < p->args; i++) {
        if (!fm_pred_nodes(c, p->arg[i], v))
            return false;
    }
    return true;
}

bool fm_operand_nodes(struct fm_compile *c, const struct fm_view *v)
{
    for (size_t i = 0; i < c->operands; i++) {
        if (c->operand[i]->place == FM_AT_NODE && !stack_nodes(c, c->operand[i]->pred, v))
            return false;
    }
    return true;
}
