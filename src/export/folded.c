/*
 * folded.c - folded stacks, one line a stack: "root;caller;leaf COUNT", or of two profiles "...
 * BASE NEW".
 *
 * The syntax is that of FlameGraph's stackcollapse scripts. Lines stand in byte order of their
 * stacks, each stack once, so that two outputs can be compared with diff. What a line cannot hold
 * is changed: ';' and control bytes in names (store/name.h), a blank before digits that end a
 * stack ("op 12" would read as a second count) and the blank of a leading "# " (a comment).
 *
 * Byte order of lines is not the order of the tree: of brothers "a", "a-b" the lines are
 *
 *     a 1          the line of a itself
 *     a-b 1        '-' is below ';'
 *     a;c 1        what is under a
 *
 * so a node's subtree waits while the next brother's label continues the node's with a byte below
 * ';'. The waiting ones form a stack, because each label continues the one below it.
 */
#include "export/export.h"

#include "util/error.h"

struct item {
    uint32_t node;
    bool subtree;       /* else the node's own line */
};

struct folder {
    const struct fm_calltree *tree;
    const struct fm_store *store;
    struct fm_mem *mem;
    struct fm_out *out;
    bool spans;
    char *path;         /* labels of the open nodes, each followed by ';' */
    size_t path_cap;
    size_t *length;     /* of the path up to the node of a depth, ';' included */
    struct item *work, *line;
    size_t works, work_cap, lines, line_cap;
    uint32_t *wait;
    size_t wait_cap;
};

static const char *label(const struct folder *f, uint32_t node, size_t *n)
{
    return fm_store_str(f->store, f->tree->node[node].label, n);
}

/* Of spans only time is of interest: a stack that never was on top of a thread has no line. */
static bool only_spans(const struct fm_selection *sel)
{
    bool any = false;
    for (size_t i = 0; i < fm_store_events(sel->store); i++) {
        enum fm_kind kind = fm_store_event_row(sel->store, i)->kind;
        if (sel->event[i] && kind != FM_KIND_SPAN && kind != FM_KIND_PART)
            return false;
        any |= sel->event[i];
    }
    return any;
}

static bool has_line(const struct folder *f, uint32_t node)
{
    const struct fm_call_node *row = &f->tree->node[node];
    const struct fm_call_base *base = f->tree->base != NULL ? &f->tree->base[node] : NULL;
    return row->self > 0 || (row->self_samples > 0 && !f->spans) ||
           (base != NULL && (base->self > 0 || (base->self_samples > 0 && !f->spans)));
}

/* Whether a line of `next` comes before the subtree of `node`, its elder brother. */
static bool goes_first(const struct folder *f, uint32_t next, uint32_t node)
{
    size_t a, b;
    const char *s = label(f, next, &a), *t = label(f, node, &b);
    return a > b && memcmp(s, t, b) == 0 && (unsigned char)s[b] < ';';
}

static bool add_line(struct folder *f, uint32_t node, bool subtree)
{
    if (!fm_grow(f->mem, (void **)&f->line, &f->line_cap, f->lines + 1, sizeof *f->line))
        return false;
    f->line[f->lines++] = (struct item){node, subtree};
    return true;
}

/* Pushes what is under `parent`, first things on top. */
static bool expand(struct folder *f, uint32_t parent)
{
    const struct fm_call_node *node = f->tree->node;
    uint32_t c;
    size_t waiting = 0;
    f->lines = 0;
    for (c = parent + 1; c < node[parent].end; c = node[c].end) {
        for (; waiting > 0 && !goes_first(f, c, f->wait[waiting - 1]); waiting--) {
            if (!add_line(f, f->wait[waiting - 1], true))
                return false;
        }
        if (has_line(f, c) && !add_line(f, c, false))
            return false;
        if (node[c].end == c + 1)
            continue;
        if (!fm_grow(f->mem, (void **)&f->wait, &f->wait_cap, waiting + 1, sizeof *f->wait))
            return false;
        f->wait[waiting++] = c;
    }
    for (; waiting > 0; waiting--) {
        if (!add_line(f, f->wait[waiting - 1], true))
            return false;
    }
    if (!fm_grow(f->mem, (void **)&f->work, &f->work_cap, f->works + f->lines, sizeof *f->work))
        return false;
    while (f->lines > 0)
        f->work[f->works++] = f->line[--f->lines];
    return true;
}

/* Puts the node's label behind its parent's path; *n = the length without ';'. */
static bool put_path(struct folder *f, uint32_t node, size_t *n)
{
    const struct fm_call_node *row = &f->tree->node[node];
    size_t at = row->depth > 1 ? f->length[row->depth - 1] : 0, len, need;
    const char *s = label(f, node, &len);
    if (!fm_add_size(at, len + 1, &need) ||
        !fm_grow(f->mem, (void **)&f->path, &f->path_cap, need, 1))
        return false;
    memcpy(f->path + at, s, len);
    f->path[at + len] = ';';
    f->length[row->depth] = at + len + 1;
    *n = at + len;
    return true;
}

/* The place of the blank that makes the end of a stack look like a count, or SIZE_MAX. */
static size_t false_count(const char *s, size_t n)
{
    size_t i = n;
    while (i > 0 && s[i - 1] >= '0' && s[i - 1] <= '9')
        i--;
    if (i > 0 && s[i - 1] == '.') {
        i--;
        n = i;
        while (i > 0 && s[i - 1] >= '0' && s[i - 1] <= '9')
            i--;
    }
    return i < n && i > 0 && (s[i - 1] == ' ' || s[i - 1] == '\t') ? i - 1 : SIZE_MAX;
}

/* The scaled weight of a base, cut to a whole number. */
static fm_u128 scaled(const struct fm_scaling *by, fm_u128 v)
{
    fm_u128 product;
    if (!__builtin_mul_overflow(v, by->up, &product))
        return product / by->down;
    return (fm_u128)((double)v * by->by);
}

static void write_line(struct folder *f, uint32_t node, size_t n)
{
    size_t at = false_count(f->path, n), from = 0;
    if (n >= 2 && f->path[0] == '#' && f->path[1] == ' ') {
        fm_out_text(f->out, "#_");
        from = 2;
    }
    if (at != SIZE_MAX && at >= from) {
        fm_out_bytes(f->out, f->path + from, at - from);
        fm_out_char(f->out, '_');
        from = at + 1;
    }
    fm_out_bytes(f->out, f->path + from, n - from);
    if (f->tree->base != NULL) {
        fm_out_char(f->out, ' ');
        fm_out_u128(f->out, scaled(&f->tree->scaling, f->tree->base[node].self));
    }
    fm_out_char(f->out, ' ');
    fm_out_u128(f->out, f->tree->node[node].self);
    fm_out_char(f->out, '\n');
}

static bool walk(struct folder *f)
{
    size_t n;
    if (has_line(f, 0))
        write_line(f, 0, 0);
    if (!expand(f, 0))
        return false;
    while (f->works > 0) {
        struct item item = f->work[--f->works];
        if (!put_path(f, item.node, &n))
            return false;
        if (!item.subtree)
            write_line(f, item.node, n);
        else if (!expand(f, item.node))
            return false;
    }
    return true;
}

static enum fm_status write_folded(struct fm_export *export, struct fm_error *err)
{
    struct folder f = {.tree = export->tree, .store = export->sel->store,
                       .mem = &export->ctx->mem, .out = export->out,
                       .spans = only_spans(export->sel)};
    size_t depths = (size_t)f.tree->depth + 1;
    enum fm_status status = FM_OK;
    f.length = fm_mem_zalloc(f.mem, depths * sizeof *f.length);
    if (f.length == NULL || !fm_grow(f.mem, (void **)&f.path, &f.path_cap, 1, 1) || !walk(&f))
        status = fm_error_nomem(err);
    fm_mem_free(f.mem, f.length, depths * sizeof *f.length);
    fm_mem_free(f.mem, f.path, f.path_cap);
    fm_mem_free(f.mem, f.work, f.work_cap * sizeof *f.work);
    fm_mem_free(f.mem, f.line, f.line_cap * sizeof *f.line);
    fm_mem_free(f.mem, f.wait, f.wait_cap * sizeof *f.wait);
    return status;
}

const struct fm_exporter fm_exporter_folded = {
    .name = "folded",
    .summary = "folded stacks, one line a stack",
    .extension = ".folded,.collapsed",
    .shape = FM_SHAPE_TREE,
    .folded = true,
    .pair = FM_PAIR_ASKED,
    .write = write_folded,
};
