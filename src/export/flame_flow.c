/*
 * flame_flow.c - `compat`: boxes as FlameGraph's flamegraph.pl lays them out, with what follows.
 *
 *     1  a line a row: "root;caller;leaf WEIGHT" (of a differential "... BASE NEW"), frames the
 *        other way round with `reverse`; sorted as bytes, count and all, but for `flamechart`
 *     2  line after line: what it shares with the one before, root first, stays open; the rest of
 *        that one is closed at the running sum, the rest of this one opened there
 *     3  a frame that closes is kept under its name, depth and end; a later one of the same key
 *        takes its place
 *
 * A blank, a '-' or a digit in a name sorts before ';', so a function may have two boxes under one
 * caller; and of a differential a box without width can take the place of a visible one. Both is so
 * there. The delta of a line counts for its leaf alone, when that is opened.
 *
 * The palette `chain` rewrites stacks: what stands behind the first "--" are wakers, name by name
 * with _[w] added, and the "--" stands behind the first part even when nothing follows.
 *
 * Worked out from what that program does, not from its text.
 */
#include "export/flame.h"
#include "export/palette.h"
#include "export/timeline.h"

#include "util/error.h"

#include <stdlib.h>

#define CHAIN_MARK "--"

struct line {
    const char *text;                /* what it is sorted by */
    size_t text_n;
    const fm_str *frame;
    uint32_t frames;
    double base, weight;
};

/* A frame that was closed. */
struct closed {
    double start, end, delta;
    fm_str label;
    uint32_t depth;
    uint32_t next;                   /* of the same hash, + 1 */
};

struct flow {
    struct fm_flame *f;
    struct fm_mem *mem;
    struct fm_store *store;
    struct fm_arena arena;
    struct line *line;
    size_t lines, line_cap;
    fm_str *path;                    /* of the line in work */
    size_t path_cap;
    struct closed *closed;
    size_t closeds, closed_cap;
    struct fm_map place;             /* hash of a key -> number in `closed` + 1 */
    struct { double start, delta; } *open;   /* by depth */
    size_t open_cap;
    double sum, most;
    bool diff, chain, oom;
};

/* ------------------------------------------------------------------ lines */

static fm_str waker_of(struct flow *w, fm_str label)
{
    size_t n;
    const char *s = fm_store_str(w->store, label, &n);
    char *text = fm_arena_alloc(&w->arena, n + 4);
    if (text == NULL)
        return FM_NONE;
    memcpy(text, s, n);
    memcpy(text + n, "_[w]", 4);
    return fm_store_str_add(w->store, text, n + 4);
}

static bool is_mark(const struct flow *w, fm_str label)
{
    size_t n;
    const char *s = fm_store_str(w->store, label, &n);
    return n == 2 && memcmp(s, CHAIN_MARK, 2) == 0;
}

/* Rewrites the path for the palette `chain`; room for one frame more is there. */
static bool chain_path(struct flow *w, size_t *n)
{
    size_t i = 0;
    while (i < *n && !is_mark(w, w->path[i]))
        i++;
    if (i == *n) {
        w->path[*n] = fm_store_str_add(w->store, CHAIN_MARK, 2);
        (*n)++;
        return w->path[i] != FM_NONE;
    }
    for (i++; i < *n; i++) {
        if (!is_mark(w, w->path[i]) && (w->path[i] = waker_of(w, w->path[i])) == FM_NONE)
            return false;
    }
    return true;
}

static void turn(fm_str *path, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        fm_str t = path[i];
        path[i] = path[n - 1 - i];
        path[n - 1 - i] = t;
    }
}

static size_t drop_empty_end(const struct flow *w, size_t n)
{
    size_t length;
    while (n > 0) {
        (void)fm_store_str(w->store, w->path[n - 1], &length);
        if (length > 0)
            break;
        n--;
    }
    return n;
}

static void put_sort_text(struct flow *w, struct fm_out *out, size_t n, double base, double weight)
{
    for (size_t i = 0; i < n; i++) {
        size_t length;
        const char *s = fm_store_str(w->store, w->path[i], &length);
        if (i > 0)
            fm_out_char(out, ';');
        fm_out_bytes(out, s, length);
    }
    fm_out_char(out, ' ');
    if (w->diff) {
        fm_out_f64(out, base);
        fm_out_char(out, ' ');
    }
    fm_out_f64(out, weight);
}

/* The path in w->path as a line. */
static bool add_line(struct flow *w, size_t n, double base, double weight)
{
    struct fm_out out;
    bool good;
    if (w->f->reverse)
        turn(w->path, n);
    n = drop_empty_end(w, n);
    if (fm_out_init(&out, w->mem, NULL) != FM_OK)
        return false;
    put_sort_text(w, &out, n, base, weight);    /* before the chain is rewritten */
    good = out.status == FM_OK && (!w->chain || chain_path(w, &n)) &&
           fm_grow(w->mem, (void **)&w->line, &w->line_cap, w->lines + 1, sizeof *w->line);
    if (good) {
        struct line *line = &w->line[w->lines++];
        fm_str *frame = fm_arena_alloc(&w->arena, (n + 1) * sizeof *frame);
        char *text = fm_arena_alloc(&w->arena, out.n + 1);
        good = frame != NULL && text != NULL;
        if (good) {
            memcpy(frame, w->path, n * sizeof *frame);
            memcpy(text, out.buf, out.n);
        }
        *line = (struct line){.text = text, .text_n = out.n, .frame = frame,
                              .frames = (uint32_t)n, .base = base, .weight = weight};
    }
    fm_out_release(&out);
    return good;
}

static bool room(struct flow *w, size_t n)
{
    return fm_grow(w->mem, (void **)&w->path, &w->path_cap, n + 2, sizeof *w->path);
}

static size_t add_texts(struct flow *w, size_t n, const fm_str *text, size_t texts)
{
    for (size_t k = 0; k < texts; k++)
        if (text[k] != FM_PSEUDO_SKIP)
            w->path[n++] = text[k];
    return n;
}

/* The rows of a selection, one line each. */
static enum fm_status lines_of_rows(struct flow *w, struct fm_error *err)
{
    const struct fm_selection *sel = w->f->export->sel;
    struct fm_names names = w->f->export->names;
    struct fm_timeline t;
    size_t nodes, frames = 0;
    const struct fm_tree_node *tree = fm_selection_tree(sel, &nodes);
    fm_str *label = NULL;
    names.annotate = true;
    enum fm_status status = fm_timeline_make(&t, sel, &names, NULL, 0, false, err);
    if (status != FM_OK)
        return status;
    status = fm_selection_labels(sel, &names, &label, &frames, err);
    for (size_t i = 0; i < t.rows && status == FM_OK; i++) {
        const struct fm_timeline_row *row = fm_timeline_at(&t, i);
        const fm_str *text = t.text + (size_t)row->texts * t.texts;
        size_t depth = 0, n, k;
        for (uint32_t node = row->node; node != 0; node = tree[node].parent)
            depth++;
        if (!room(w, depth + t.texts)) {
            status = fm_error_nomem(err);
            break;
        }
        n = add_texts(w, 0, text, t.prepends);
        k = n += depth;
        for (uint32_t node = row->node; node != 0; node = tree[node].parent)
            w->path[--k] = label[tree[node].frame];
        n = add_texts(w, n, text + t.prepends, t.texts - t.prepends);
        if (!add_line(w, n, 0, (double)row->weight))
            status = fm_error_nomem(err);
    }
    if (label != NULL)
        fm_mem_free(sel->mem, label, frames * sizeof *label);
    fm_timeline_release(&t);
    return status;
}

/* The nodes of a merged tree that weigh something on either side. */
static enum fm_status lines_of_tree(struct flow *w, struct fm_error *err)
{
    const struct fm_calltree *tree = w->f->export->tree;
    for (uint32_t i = 0; i < tree->nodes; i++) {
        const struct fm_call_node *node = &tree->node[i];
        size_t n = node->depth;
        if (node->self == 0 && tree->base[i].self == 0)
            continue;
        if (!room(w, n))
            return fm_error_nomem(err);
        for (uint32_t up = i; up != 0; up = tree->node[up].parent)
            w->path[--n] = tree->node[up].label;
        if (!add_line(w, node->depth, (double)tree->base[i].self * tree->scaling.by,
                      (double)node->self))
            return fm_error_nomem(err);
    }
    return FM_OK;
}

static int by_text(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int c = memcmp(x->text, y->text, FM_MIN(x->text_n, y->text_n));
    return c != 0 ? c : (x->text_n > y->text_n) - (x->text_n < y->text_n);
}

/* ------------------------------------------------------------------- flow */

static bool close_frame(struct flow *w, fm_str label, uint32_t depth)
{
    struct closed is = {.start = w->open[depth].start, .end = w->sum, .label = label,
                        .depth = depth, .delta = w->open[depth].delta};
    uint64_t bits;
    memcpy(&bits, &is.end, sizeof bits);
    uint64_t *slot = fm_map_put(&w->place, fm_mix(fm_mix(bits, depth), label), NULL);
    if (slot == NULL)
        return false;
    for (uint64_t at = *slot; at != 0; at = w->closed[at - 1].next) {
        struct closed *was = &w->closed[at - 1];
        if (was->label == label && was->depth == depth && was->end == is.end) {
            was->start = is.start;
            was->delta = is.delta;
            return true;
        }
    }
    if (!fm_grow(w->mem, (void **)&w->closed, &w->closed_cap, w->closeds + 1, sizeof *w->closed))
        return false;
    is.next = (uint32_t)*slot;
    w->closed[w->closeds++] = is;
    *slot = w->closeds;
    return true;
}

/* From the line before to this one; NULL: closes everything. Depth 0 is the root. */
static bool step(struct flow *w, const struct line *last, const struct line *line)
{
    uint32_t had = last != NULL ? last->frames : 0, has = line != NULL ? line->frames : 0;
    uint32_t same = 0;
    while (same < had && same < has && last->frame[same] == line->frame[same])
        same++;
    for (uint32_t i = had; i-- > same;)
        if (!close_frame(w, last->frame[i], i + 1))
            return false;
    if (!fm_grow(w->mem, (void **)&w->open, &w->open_cap, (size_t)has + 1, sizeof *w->open))
        return false;
    for (uint32_t i = same; i < has; i++) {
        w->open[i + 1].start = w->sum;
        w->open[i + 1].delta = i + 1 == has ? line->weight - line->base : 0;
    }
    return true;
}

static bool run(struct flow *w)
{
    const struct line *last = NULL;
    w->most = 1;
    for (size_t i = 0; i < w->lines; i++) {
        const struct line *line = &w->line[i];
        double delta = line->weight - line->base;
        if (!step(w, last, line))
            return false;
        if (w->diff)
            w->most = FM_MAX(w->most, delta < 0 ? -delta : delta);
        w->sum += line->weight;
        last = line;
    }
    return step(w, last, NULL);
}

/* ------------------------------------------------------------------ boxes */

static int by_place(const void *a, const void *b)
{
    const struct closed *x = a, *y = b;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static enum fm_status draw(struct flow *w, struct fm_error *err)
{
    struct fm_flame *f = w->f;
    struct fm_flame_box root = {.label = FM_NONE};
    double asked = 0;
    uint32_t rows = 1;
    enum fm_status status = fm_export_setting_f64(f->export, "total", 0, 1e30, &asked, err);
    if (status != FM_OK)
        return status;
    f->total = FM_MAX(asked, w->sum);
    f->whole = (fm_u128)f->total;
    f->most = w->most;
    f->delta_whole = f->total;
    status = fm_flame_scale(f, err);
    if (status != FM_OK)
        return status;
    if (w->closeds > 0)
        qsort(w->closed, w->closeds, sizeof *w->closed, by_place);
    root.width = f->total;
    root.weight = f->whole;
    if (f->total > 0 && !fm_flame_add(f, &root))
        return fm_error_nomem(err);
    for (size_t i = 0; i < w->closeds && f->total > 0; i++) {
        const struct closed *c = &w->closed[i];
        struct fm_flame_box box = {.start = c->start, .width = c->end - c->start,
                                   .row = c->depth, .label = c->label, .delta = c->delta,
                                   .change = c->delta};
        box.weight = (fm_u128)box.width;
        if (box.width < f->least) {
            f->left_out = true;
            continue;
        }
        if (!fm_flame_add(f, &box))
            return fm_error_nomem(err);
        rows = FM_MAX(rows, c->depth + 1);
    }
    return fm_flame_add_lane(f, FM_NONE, rows) ? FM_OK : fm_error_nomem(err);
}

enum fm_status fm_flame_flow(struct fm_flame *f, bool in_order, struct fm_error *err)
{
    struct flow w = {.f = f, .mem = &f->export->ctx->mem, .store = f->export->sel->store};
    enum fm_status status;
    w.diff = f->kind == FM_FLAME_DIFF;
    w.chain = f->palette == fm_palette_find("chain");
    fm_arena_init(&w.arena, w.mem);
    fm_map_init(&w.place, w.mem);
    status = w.diff ? lines_of_tree(&w, err) : lines_of_rows(&w, err);
    if (status == FM_OK) {
        if (!in_order && w.lines > 0)
            qsort(w.line, w.lines, sizeof *w.line, by_text);
        status = run(&w) ? draw(&w, err) : fm_error_nomem(err);
    }
    fm_mem_free(w.mem, w.line, w.line_cap * sizeof *w.line);
    fm_mem_free(w.mem, w.path, w.path_cap * sizeof *w.path);
    fm_mem_free(w.mem, w.closed, w.closed_cap * sizeof *w.closed);
    fm_mem_free(w.mem, w.open, w.open_cap * sizeof *w.open);
    fm_map_release(&w.place);
    fm_arena_release(&w.arena);
    return status;
}
