/*
 * stackedit.c - keep, drop, root, leaf, collapse and level: edits of the stacks as node -> node
 * remaps.
 *
 * An edit reads the nodes of the view in pre-order (parent before child) and builds a new trie;
 * to[n] is the new node of old node n. Samples are never touched: of_tree is composed with the
 * remap, and the new trie is numbered in pre-order again.
 *
 *     keep, drop    to(n) = kept(n) ? child(to(parent), frame) : to(parent);  [none] when nothing
 *                   is left of a stack
 *     root P        to(n) = child(0, frame) at the outermost (innermost) match, then as before
 *     leaf P        to(n) = the node at the innermost (outermost) match above, or n
 *     collapse      direct: A A -> A; all: from the first A to the last A -> A; run: a run of
 *                   matching frames -> one frame
 *     level         frames become functions, files, lines, addresses or modules
 *
 * Sample counts and weights never change, except that root and leaf may drop stacks without a match
 * (`missing: drop`). The new struct fm_stacks belongs to the selection.
 */
#include "query/stacks.h"

#include "util/error.h"
#include "util/map.h"
#include "util/out.h"
#include "util/text.h"

enum op { KEEP, DROP, ROOT, LEAF, COLLAPSE, LEVEL };
enum collapse { DIRECT, ALL, RUN };
enum level { BY_FUNCTION, BY_FILE, BY_LINE, BY_ADDRESS, BY_MODULE };

struct fm_edit {
    const struct fm_yaml_node *at;
    enum op op;
    struct fm_pred *p;          /* NULL: every frame (collapse) */
    bool innermost;             /* root, leaf */
    bool drop;                  /* stacks without a match, or with nothing left */
    enum collapse collapse;
    const char *as;             /* collapse run */
    size_t as_n;
    enum level level;
};

struct build {
    struct fm_compile *c;
    const struct fm_edit *edit;
    const struct fm_view *v;
    struct fm_mem *mem;
    struct fm_trie trie;        /* the new stacks; keys are new frames */
    /* the new frames */
    struct fm_frame_row *row;
    size_t rows, row_cap;
    uint32_t *to;               /* old node -> new node; FM_NONE: dropped */
    uint8_t *match;             /* by old frame */
    bool oom;
};

/* --------------------------------------------------------------- compiling */

bool fm_edit_drops(const struct fm_edit *edit)
{
    return edit->drop;
}

const struct fm_yaml_node *fm_edit_at(const struct fm_edit *edit)
{
    return edit->at;
}

struct fm_edit *fm_edit_frames(struct fm_compile *c, struct fm_pred *p, bool keep)
{
    struct fm_edit *edit = fm_arena_alloc(c->arena, sizeof *edit);

    if (edit == NULL)
        return NULL;
    edit->op = keep ? KEEP : DROP;
    edit->p = p;
    return edit;
}

/* The value of an option that must be one of a few words; its index, or -1 (logged). */
static int word(struct fm_compile *c, const struct fm_yaml_node *node, const char *what,
                const char *const *known, size_t n)
{
    struct fm_scalar s;
    const char *near;

    if (node->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node, "'%s' takes one word", what);
        return -1;
    }
    if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
        return -1;
    if (s.unknown)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (strlen(known[i]) == s.n && memcmp(known[i], s.text, s.n) == 0)
            return (int)i;
    }
    near = fm_text_nearest(s.text, known, n);
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE),
                  node, "unknown '%s' value '%s'%s%s%s", what, s.text,
                  near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    return -1;
}

static bool compile_collapse(struct fm_compile *c, struct fm_edit *edit,
                             const struct fm_yaml_node *node)
{
    static const char *const known[] = { "recursion", "of", "run", "as" };
    static const char *const how[] = { "direct", "all" };
    const struct fm_yaml_node *recursion, *run, *of, *as;
    struct fm_scalar s;
    int k;

    if (node->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node,
                      "'collapse' takes {recursion: direct|all} or {run: P, as: NAME}");
        return false;
    }
    if (!fm_yaml_known(c->log, node, known, FM_COUNT(known), "key"))
        return false;
    recursion = fm_yaml_get(node, "recursion");
    run = fm_yaml_get(node, "run");
    of = fm_yaml_get(node, "of");
    as = fm_yaml_get(node, "as");
    if ((recursion == NULL) == (run == NULL) || (run != NULL && (as == NULL || of != NULL))
        || (recursion != NULL && as != NULL)) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE),
                      node, "'collapse' takes {recursion: direct|all, of: P} or {run: P, "
                                    "as: NAME}");
        return false;
    }
    if (recursion != NULL) {
        k = word(c, recursion, "recursion", how, FM_COUNT(how));
        edit->collapse = k == 1 ? ALL : DIRECT;
        if (of != NULL)
            edit->p = fm_pred_compile(c, of, FM_SCOPE_FRAMES);
        return k >= 0 && (of == NULL || edit->p != NULL);
    }
    edit->collapse = RUN;
    edit->p = fm_pred_compile(c, run, FM_SCOPE_FRAMES);
    if (as->type != FM_YAML_SCALAR || as->n == 0) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), as, "'as' takes the name of the frame");
        return false;
    }
    if (!fm_scalar_get(c->q, c->arena, c->log, as, &s))
        return false;
    edit->as = s.text;
    edit->as_n = s.n;
    return edit->p != NULL;
}

static bool compile_option(struct fm_compile *c, struct fm_edit *edit,
                           const struct fm_yaml_pair *pair)
{
    static const char *const place[] = { "outermost", "innermost" };
    static const char *const missing[] = { "keep", "drop" };
    static const char *const op_name[] = { "keep", "drop", "root", "leaf", "collapse", "level" };
    bool at = strcmp(pair->key, "at") == 0, cut = edit->op == ROOT || edit->op == LEAF;
    int k;

    if (at && cut) {
        k = word(c, pair->value, "at", place, FM_COUNT(place));
        edit->innermost = k == 1;
        return k >= 0;
    }
    if ((strcmp(pair->key, "missing") == 0 && cut)
        || (strcmp(pair->key, "empty") == 0 && edit->op <= DROP)) {
        k = word(c, pair->value, pair->key, missing, FM_COUNT(missing));
        edit->drop = k == 1;
        return k >= 0;
    }
    fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_UNKNOWN),
                      pair, "stack edit '%s' has no option '%s'", op_name[edit->op],
                      pair->key);
    return false;
}

static const struct fm_yaml_pair *operator_of(struct fm_compile *c,
                                              const struct fm_yaml_node *node, enum op *op)
{
    static const char *const name[] = { "keep", "drop", "root", "leaf", "collapse", "level" };
    static const char *const later[] = { "rename", "inlines", "prepend", "append", "invert",
                                         "depth" };
    const struct fm_yaml_pair *first = NULL;

    if (node->type != FM_YAML_MAP || node->n == 0) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE),
                      node, "a stack edit is a map such as {drop: PREDICATE}");
        return NULL;
    }
    for (size_t i = 0; i < node->n; i++) {
        for (size_t k = 0; k < FM_COUNT(later); k++) {
            if (strcmp(node->pair[i].key, later[k]) == 0) {
                fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_PLACE), &node->pair[i],
                                  "stack edit '%s' is not part of this version", later[k]);
                return NULL;
            }
        }
        for (size_t k = 0; k < FM_COUNT(name); k++) {
            if (strcmp(node->pair[i].key, name[k]) != 0)
                continue;
            if (first != NULL) {
                fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_UNKNOWN), &node->pair[i],
                                  "one edit has '%s' and '%s': give each its own '-'", first->key,
                                  node->pair[i].key);
                return NULL;
            }
            first = &node->pair[i];
            *op = (enum op)k;
        }
    }
    if (first == NULL) {
        const char *near = fm_text_nearest(node->pair[0].key, name, FM_COUNT(name));
        fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_UNKNOWN),
                          &node->pair[0], "unknown stack edit '%s'%s%s%s",
                          node->pair[0].key, near ? " (did you mean '" : "", near ? near : "",
                          near ? "'?)" : "");
        fm_yaml_note(c->log, "stack edits are: keep drop root leaf collapse level");
    }
    return first;
}

struct fm_edit *fm_edit_compile(struct fm_compile *c, const struct fm_yaml_node *node)
{
    static const char *const level[] = { "function", "file", "line", "address", "module" };
    struct fm_edit *edit = fm_arena_alloc(c->arena, sizeof *edit);
    const struct fm_yaml_pair *pair;
    int k = 0;

    if (edit == NULL)
        return NULL;
    pair = operator_of(c, node, &edit->op);
    if (pair == NULL)
        return NULL;
    edit->at = node;
    edit->innermost = edit->op == LEAF;
    edit->drop = edit->op == ROOT;
    if (edit->op == COLLAPSE) {
        if (!compile_collapse(c, edit, pair->value))
            return NULL;
    } else if (edit->op == LEVEL) {
        k = word(c, pair->value, "level", level, FM_COUNT(level));
        edit->level = k < 0 ? BY_FUNCTION : (enum level)k;
    } else {
        edit->p = fm_pred_compile(c, pair->value, FM_SCOPE_FRAMES);
        if (edit->p == NULL)
            return NULL;
    }
    for (size_t i = 0; i < node->n; i++) {
        if (&node->pair[i] != pair && !compile_option(c, edit, &node->pair[i]))
            return NULL;
    }
    return k < 0 ? NULL : edit;
}

/* ---------------------------------------------------------------- the trie */

static uint32_t child(struct build *b, uint32_t parent, uint32_t frame)
{
    uint32_t n = b->oom ? 0 : fm_trie_child(&b->trie, parent, frame);

    b->oom |= n == UINT32_MAX;
    return b->oom ? 0 : n;
}

static uint32_t new_row(struct build *b, const struct fm_frame_row *row)
{
    if (!fm_grow(b->mem, (void **)&b->row, &b->row_cap, b->rows + 1, sizeof *b->row)) {
        b->oom = true;
        return 0;
    }
    b->row[b->rows] = *row;
    return (uint32_t)b->rows++;
}

static uint32_t synthetic(struct build *b, const char *name, size_t n)
{
    struct fm_frame_row row = { .module = FM_NONE, .address = UINT64_MAX,
                                .kind = FM_FRAME_SYNTHETIC };

    row.function = fm_store_str_add(b->v->store, name, n);
    if (row.function == FM_NONE) {
        b->oom = true;
        return 0;
    }
    return new_row(b, &row);
}

static bool build_init(struct build *b, struct fm_compile *c, const struct fm_edit *edit,
                       const struct fm_view *v)
{
    *b = (struct build){ .c = c, .edit = edit, .v = v, .mem = &c->ctx->mem };
    b->to = fm_mem_zalloc(b->mem, v->nodes * sizeof *b->to);
    if (!fm_trie_init(&b->trie, b->mem) || b->to == NULL)
        return false;
    if (edit->p != NULL)
        b->match = fm_pred_frames(c, edit->p, v);
    return edit->p == NULL || b->match != NULL;
}

static void build_release(struct build *b)
{
    fm_trie_release(&b->trie);
    fm_mem_free(b->mem, b->to, b->to == NULL ? 0 : b->v->nodes * sizeof *b->to);
    fm_mem_free(b->mem, b->row, b->row_cap * sizeof *b->row);
}

/* The frames as they are, ids unchanged. */
static void copy_rows(struct build *b)
{
    for (size_t f = 0; f < b->v->frames && !b->oom; f++)
        new_row(b, fm_view_frame(b->v, (uint32_t)f));
}

/* ------------------------------------------------------------------- edits */

static void edit_frames(struct build *b)
{
    const struct fm_tree_node *node = b->v->node;
    bool keep = b->edit->op == KEEP;
    uint32_t none = FM_NONE;

    copy_rows(b);
    for (size_t n = 1; n < b->v->nodes; n++) {
        uint32_t up = b->to[node[n].parent];
        b->to[n] = (b->match[node[n].frame] != 0) == keep ? child(b, up, node[n].frame) : up;
    }
    /* only now: children of an emptied stack start at the root */
    for (size_t n = 1; n < b->v->nodes; n++) {
        if (b->to[n] != 0)
            continue;
        if (!b->edit->drop && none == FM_NONE)
            none = child(b, 0, synthetic(b, "[none]", 6));
        b->to[n] = none;
    }
}

static bool edit_root(struct build *b)
{
    const struct fm_tree_node *node = b->v->node;
    uint8_t *in = fm_mem_zalloc(b->mem, b->v->nodes);

    if (in == NULL)
        return false;
    copy_rows(b);
    for (size_t n = 1; n < b->v->nodes; n++) {
        uint32_t up = node[n].parent, frame = node[n].frame;
        bool match = b->match[frame] && (b->edit->innermost || !in[up]);
        in[n] = in[up] || match;
        if (match)
            b->to[n] = child(b, 0, frame);
        else if (in[up] || !b->edit->drop)
            b->to[n] = child(b, b->to[up], frame);
    }
    for (size_t n = 0; b->edit->drop && n < b->v->nodes; n++) {
        if (!in[n])
            b->to[n] = FM_NONE;
    }
    fm_mem_free(b->mem, in, b->v->nodes);
    return true;
}

static bool edit_leaf(struct build *b)
{
    const struct fm_tree_node *node = b->v->node;
    size_t bytes = b->v->nodes * sizeof(uint32_t);
    uint32_t *full = fm_mem_zalloc(b->mem, bytes);
    uint8_t *hit = fm_mem_zalloc(b->mem, b->v->nodes);
    bool ok = full != NULL && hit != NULL;

    copy_rows(b);
    for (size_t n = 1; ok && n < b->v->nodes; n++) {
        uint32_t up = node[n].parent, frame = node[n].frame;
        bool cut = hit[up] && (!b->match[frame] || !b->edit->innermost);
        hit[n] = hit[up] || b->match[frame];
        if (b->edit->innermost || !cut)
            full[n] = child(b, full[up], frame);
        b->to[n] = cut ? b->to[up] : full[n];
    }
    for (size_t n = 0; ok && b->edit->drop && n < b->v->nodes; n++) {
        if (!hit[n])
            b->to[n] = FM_NONE;
    }
    fm_mem_free(b->mem, full, full == NULL ? 0 : bytes);
    fm_mem_free(b->mem, hit, hit == NULL ? 0 : b->v->nodes);
    return ok;
}

/* Frames that count as the same function: (function, module); unnamed ones only themselves. */
static uint32_t *classes(struct build *b)
{
    const struct fm_view *v = b->v;
    uint32_t *class = fm_arena_alloc(b->c->arena, (v->frames + 1) * sizeof *class);
    struct fm_map map;

    fm_map_init(&map, b->mem);
    for (size_t f = 0; class != NULL && f < v->frames; f++) {
        bool named = fm_view_frame(v, (uint32_t)f)->function != 0;
        uint64_t key = named ? (uint64_t)v->label[f] << 32 | v->dso[f] : UINT64_MAX << 32 | f;
        bool fresh;
        uint64_t *slot = fm_map_put(&map, key, &fresh);
        if (slot == NULL) {
            class = NULL;
            break;
        }
        if (fresh)
            *slot = f;
        class[f] = (uint32_t)*slot;
    }
    fm_map_release(&map);
    return class;
}

static bool edit_recursion(struct build *b)
{
    const struct fm_tree_node *node = b->v->node;
    const uint32_t *class = classes(b);

    if (class == NULL)
        return false;
    copy_rows(b);
    for (size_t n = 1; n < b->v->nodes && !b->oom; n++) {
        uint32_t up = b->to[node[n].parent], frame = node[n].frame, at = up;
        bool may = b->match == NULL || b->match[frame];
        if (b->edit->collapse == ALL) {
            while (may && at != 0 && class[b->trie.node[at].key] != class[frame])
                at = b->trie.node[at].parent;
        }
        if (may && at != 0 && class[b->trie.node[at].key] == class[frame])
            b->to[n] = at;
        else
            b->to[n] = child(b, up, frame);
    }
    return true;
}

static void edit_run(struct build *b)
{
    const struct fm_tree_node *node = b->v->node;
    uint32_t as;

    copy_rows(b);
    as = synthetic(b, b->edit->as, b->edit->as_n);
    for (size_t n = 1; n < b->v->nodes; n++) {
        uint32_t up = node[n].parent;
        bool match = b->match[node[n].frame];
        bool inside = match && up != 0 && b->match[node[up].frame];
        b->to[n] = inside ? b->to[up] : child(b, b->to[up], match ? as : node[n].frame);
    }
}

/* The text of frame f at a level; FM_NONE: no memory. */
static fm_str level_label(struct build *b, uint32_t f, struct fm_out *out)
{
    const struct fm_view *v = b->v;
    const struct fm_frame_row *row = fm_view_frame(v, f);

    out->n = 0;
    switch (b->edit->level) {
    case BY_FILE:
        return row->file != 0 ? row->file : v->label[f];
    case BY_MODULE:
        return v->dso[f] != FM_NONE ? v->dso[f] : v->label[f];
    case BY_LINE:
        if (row->file == 0 || row->line == 0)
            return v->label[f];
        fm_out_printf(out, "%s (%s:%u)", fm_store_str(v->store, v->label[f], NULL),
                      fm_store_str(v->store, row->file, NULL), row->line);
        break;
    case BY_ADDRESS:
        if (row->address == UINT64_MAX)
            return v->label[f];
        fm_out_text(out, "0x");
        fm_out_hex(out, row->address);
        fm_out_char(out, ' ');
        fm_out_text(out, fm_store_str(v->store, v->label[f], NULL));
        break;
    default:
        return v->label[f];
    }
    return out->status != FM_OK ? FM_NONE : fm_store_str_add(v->store, out->buf, out->n);
}

static uint32_t level_row(struct build *b, uint32_t f, fm_str label)
{
    struct fm_frame_row row = *fm_view_frame(b->v, f);
    enum level level = b->edit->level;

    row.function = label;
    row.caller = false;
    if (level != BY_ADDRESS) {
        row.address = UINT64_MAX;
        row.column = row.bci = 0;
        row.line = level == BY_LINE ? row.line : 0;
        row.file = level == BY_LINE || level == BY_FILE ? row.file : 0;
    }
    if (level != BY_ADDRESS && level != BY_LINE)
        row.raw = row.signature = 0;
    return new_row(b, &row);
}

static bool edit_level(struct build *b)
{
    const struct fm_view *v = b->v;
    uint32_t *level = fm_arena_alloc(b->c->arena, (v->frames + 1) * sizeof *level);
    struct fm_map pair, map;
    struct fm_out out;

    if (level == NULL || fm_out_init(&out, b->mem, NULL) != FM_OK)
        return false;
    fm_map_init(&pair, b->mem);
    fm_map_init(&map, b->mem);
    for (size_t f = 0; f < v->frames && !b->oom; f++) {
        fm_str label = level_label(b, (uint32_t)f, &out);
        uint64_t *place, *slot = NULL;
        bool fresh;
        /* (label, module) -> number, then (number, kind) -> new frame: exact keys */
        place = label == FM_NONE
                    ? NULL : fm_map_put(&pair, (uint64_t)label << 32 | v->dso[f], &fresh);
        if (place != NULL && fresh)
            *place = pair.n;
        if (place != NULL)
            slot = fm_map_put(&map, *place << 8 | fm_view_frame(v, (uint32_t)f)->kind, &fresh);
        if (slot == NULL) {
            b->oom = true;
            break;
        }
        if (fresh)
            *slot = level_row(b, (uint32_t)f, label);
        level[f] = (uint32_t)*slot;
    }
    fm_map_release(&pair);
    fm_map_release(&map);
    fm_out_release(&out);
    for (size_t n = 1; n < v->nodes && !b->oom; n++)
        b->to[n] = child(b, b->to[v->node[n].parent], level[v->node[n].frame]);
    return true;
}

/* ----------------------------------------------------------------- sealing */

static struct fm_stacks *seal(struct build *b, struct fm_selection *sel)
{
    const struct fm_view *v = b->v;
    uint32_t *id = fm_mem_alloc(b->mem, b->trie.n * sizeof *id);
    struct fm_stacks *s = id == NULL ? NULL : fm_stacks_seal(sel, &b->trie, b->row, b->rows, id);

    for (size_t n = 0; s != NULL && v->of_row == NULL && n < fm_store_tree_nodes(sel->store);
         n++) {
        uint32_t old = fm_view_node(v, (uint32_t)n);
        uint32_t to = old == FM_NONE ? FM_NONE : b->to[old];
        s->of_tree[n] = to == FM_NONE ? FM_NONE : id[to];
    }
    for (uint64_t r = 0; s != NULL && r < v->rows; r++) {
        uint32_t to = v->of_row[r] == FM_NONE ? FM_NONE : b->to[v->of_row[r]];
        v->of_row[r] = to == FM_NONE ? FM_NONE : id[to];
    }
    fm_mem_free(b->mem, id, id == NULL ? 0 : b->trie.n * sizeof *id);
    return s;
}

static bool is_kept(void *user, struct fm_reader *r, uint32_t place)
{
    bool *dropped = user;
    bool keep = fm_reader_node(r, place) != FM_NONE;

    *dropped |= !keep;
    return keep;
}

static bool no_change(const struct fm_edit *edit)
{
    if (edit->op == DROP)
        return edit->p->op == FM_PRED_CONST && edit->p->constant == FM_NO;
    return edit->op == KEEP && !edit->drop && fm_pred_always(edit->p);
}

static bool apply(struct build *b)
{
    switch (b->edit->op) {
    case KEEP:
    case DROP:
        edit_frames(b);
        return true;
    case ROOT:
        return edit_root(b);
    case LEAF:
        return edit_leaf(b);
    case LEVEL:
        return edit_level(b);
    default:
        if (b->edit->collapse != RUN)
            return edit_recursion(b);
        edit_run(b);
        return true;
    }
}

enum fm_status fm_edit_run(struct fm_compile *c, struct fm_edit *edit, struct fm_selection *sel,
                           struct fm_view *v, bool *dropped, struct fm_error *err)
{
    struct fm_stacks *s = NULL;
    struct fm_reader r;
    struct build b;
    enum fm_status status;

    *dropped = false;
    if (no_change(edit))
        return FM_OK;
    if (build_init(&b, c, edit, v) && apply(&b) && !b.oom)
        s = seal(&b, sel);
    build_release(&b);
    if (s == NULL)
        return fm_error_nomem(err);
    if (sel->stacks != NULL)
        fm_stacks_free(sel, sel->stacks);
    sel->stacks = s;
    status = fm_view_init(v, sel, c->arena, err);
    if (status != FM_OK || !edit->drop)
        return status;
    fm_reader_init(&r, c, v, sel);
    fm_reader_need_stack(&r);
    return fm_rows_keep(&r, sel, is_kept, dropped, err);
}
