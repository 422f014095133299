/*
 * tree.c - `tree:`, the call tree of the selected rows as a table, one row a node.
 *
 *     tree: {direction: down, max_depth: 5, min_share: 0.5%}
 *
 *     down: main            the value of a node is the weight of the stacks that begin with its
 *             work          path; root first, what a function calls below it
 *     up:   malloc          the same for stacks read from the innermost frame: who calls it
 *             work          below it
 *               main
 *
 * Stacks are merged by the text of their frames, as `path` keys are. self is the weight of stacks
 * that end at the node, so that total = self + the totals of all children, also of those that are
 * cut by max_depth or left out by min_share. Rows without a stack are one node without a name. A
 * node stands before its children; children go by total, descending, then by name.
 */
#include "query/plan.h"

#include "util/error.h"
#include "util/text.h"

#include <stdlib.h>

enum { TOTAL, TOTAL_SHARE, PARENT_SHARE, SELF, SAMPLES, DEPTH, FUNCTION, PATH, COLUMNS };

struct tree {
    bool up;
    uint64_t max_depth;              /* UINT64_MAX: no limit */
    double min_share;
    const char *share_text;          /* as written */
};

/* ----------------------------------------------------------------- compile */

static bool describe(struct fm_compile *c, struct fm_schema *schema)
{
    static const struct fm_schema_column column[COLUMNS] = {
        [TOTAL] = { .name = "total", .type = FM_CELL_INT, .amount = true },
        [TOTAL_SHARE] = { .name = "total_share", .type = FM_CELL_F64, .share = true,
                          .of = "selected" },
        [PARENT_SHARE] = { .name = "parent_share", .type = FM_CELL_F64, .share = true,
                           .of = "parent" },
        [SELF] = { .name = "self", .type = FM_CELL_INT, .additive = true, .amount = true },
        [SAMPLES] = { .name = "samples", .type = FM_CELL_INT, .amount = true },
        [DEPTH] = { .name = "depth", .type = FM_CELL_INT, .hidden = true, .depth = true },
        [FUNCTION] = { .name = "function", .type = FM_CELL_TEXT, .indented = true },
        [PATH] = { .name = "path", .type = FM_CELL_PATH, .key = true, .hidden = true }
    };

    schema->n = schema->cap = COLUMNS;
    schema->column = fm_arena_alloc(c->arena, sizeof column);
    if (schema->column == NULL)
        return false;
    memcpy(schema->column, column, sizeof column);
    for (size_t i = 0; i < COLUMNS; i++) {
        schema->column[i].full = column[i].name;
        schema->column[i].unit = i == TOTAL || i == SELF ? c->unit : "";
    }
    return true;
}

static bool compile_direction(struct fm_compile *c, const struct fm_yaml_node *node,
                              struct tree *tree)
{
    struct fm_scalar s = { .at = node };

    if (node->type == FM_YAML_SCALAR) {
        if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
            return false;
        tree->up = s.n == 2 && memcmp(s.text, "up", 2) == 0;
        if (s.unknown || tree->up || (s.n == 4 && memcmp(s.text, "down", 4) == 0))
            return true;
    }
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node, "'direction' is up or down");
    return false;
}

static bool compile_depth(struct fm_compile *c, const struct fm_yaml_node *node,
                          struct tree *tree)
{
    struct fm_scalar s = { .at = node };

    if (node->type == FM_YAML_SCALAR) {
        if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
            return false;
        if (s.unknown || (s.n == 3 && memcmp(s.text, "all", 3) == 0))
            return true;
        if (fm_text_u64(s.text, s.n, &tree->max_depth) && tree->max_depth > 0)
            return true;
    }
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node,
                  "'max_depth' is a number of frames from 1, or all");
    return false;
}

static bool compile_share(struct fm_compile *c, const struct fm_yaml_node *node,
                          struct tree *tree)
{
    struct fm_scalar s = { .at = node };
    const char *unit;

    if (node->type == FM_YAML_SCALAR) {
        if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
            return false;
        tree->share_text = s.text;
        if (s.unknown || (fm_text_quantity(s.text, s.n, &tree->min_share, &unit)
                          && *unit == '\0' && tree->min_share >= 0 && tree->min_share <= 1))
            return true;
    }
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node,
                  "'min_share' is a percentage such as 0.5%%");
    return false;
}

void *fm_tree_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    static const char *const known[] = { "direction", "max_depth", "min_share" };
    static bool (*const option[])(struct fm_compile *, const struct fm_yaml_node *,
                                  struct tree *) = {
        compile_direction, compile_depth, compile_share
    };
    const struct fm_yaml_node *node = step->at->value, *value;
    struct fm_compile *c = &pipe->c;
    struct tree *tree = fm_arena_alloc(c->arena, sizeof *tree);
    bool ok = true;

    if (tree == NULL)
        return NULL;
    *tree = (struct tree){ .max_depth = UINT64_MAX };
    if (node->type != FM_YAML_MAP) {
        ok = compile_direction(c, node, tree);
    } else {
        ok = fm_yaml_known(c->log, node, known, FM_COUNT(known), "key");
        for (size_t i = 0; i < FM_COUNT(known); i++) {
            value = fm_yaml_get(node, known[i]);
            ok = (value == NULL || option[i](c, value, tree)) && ok;
        }
    }
    return ok && describe(c, schema) ? tree : NULL;
}

/* -------------------------------------------------------------------- sums */

struct sums {
    fm_i128 self, total;
    uint64_t samples, rows;
};

struct grower {
    struct fm_flow *flow;
    const struct tree *tree;
    struct fm_table *t;
    struct fm_mem *mem;
    struct fm_trie *trie;            /* of the table's paths */
    struct sums *stack;              /* by node of the view: self is its own weight */
    struct sums *node;               /* by path; 0: rows without a stack */
    size_t nodes;
    /* emission */
    struct child {
        const char *name;
        size_t n;
        fm_i128 total;
        uint32_t path;
    } *child;
    uint32_t *first;
    uint64_t cut;                    /* nodes below min_share, with those below them */
};

/* Weight and samples by node of the view. */
static enum fm_status sum_rows(struct grower *g, struct fm_error *err)
{
    struct fm_flow *flow = g->flow;
    struct fm_totals *totals = &flow->totals;
    struct fm_reader r;
    enum fm_status status;
    fm_i128 weight = 0;

    fm_reader_init(&r, flow->c, &flow->view, &flow->sel);
    fm_reader_need_stack(&r);
    fm_reader_need_weight(&r);
    status = fm_reader_start(&r, err);
    if (status != FM_OK)
        return status;
    totals->samples = totals->rows = 0;
    while (fm_reader_next(&r)) {
        for (uint32_t i = 0; i < r.scan.n; i++) {
            uint32_t place = r.scan.live[i], node = fm_reader_node(&r, place);
            uint64_t samples = fm_reader_count(&r, place);
            fm_assert(node != FM_NONE);
            g->stack[node].self += fm_reader_weight(&r, place);
            g->stack[node].samples = fm_add_sat_u64(g->stack[node].samples, samples);
            g->stack[node].rows++;
            totals->samples = fm_add_sat_u64(totals->samples, samples);
            totals->rows++;
        }
    }
    fm_reader_release(&r);
    for (size_t n = 0; n < flow->view.nodes; n++)
        weight += g->stack[n].self;
    if (!totals->known)
        totals->selected = weight;
    g->t->samples = totals->samples;
    g->t->selected = totals->selected;
    return FM_OK;
}

/* The path of a stack read from its leaf, as far as max_depth; *whole: all of it. */
static uint32_t path_up(struct grower *g, uint32_t node, bool *whole)
{
    const struct fm_view *v = &g->flow->view;
    uint32_t path = 0;
    uint64_t depth = 0;

    for (; node != 0 && depth < g->tree->max_depth && path != UINT32_MAX; depth++) {
        path = fm_trie_child(g->trie, path, v->label[v->node[node].frame]);
        node = v->node[node].parent;
    }
    *whole = node == 0;
    return path;
}

static void add_sums(struct sums *to, fm_i128 weight, uint64_t samples, uint64_t rows)
{
    to->total += weight;
    to->samples = fm_add_sat_u64(to->samples, samples);
    to->rows += rows;
}

/* Makes the paths and gives each the sums of the stacks that end there. */
static bool make_paths(struct grower *g, uint32_t *path)
{
    const struct fm_view *v = &g->flow->view;
    bool whole = true;
    size_t cap = 0;

    for (size_t n = 0; n < v->nodes; n++) {
        const struct fm_tree_node *node = &v->node[n];
        if (n > 0 && !g->tree->up) {
            whole = node->depth <= g->tree->max_depth;
            path[n] = path[node->parent];
            if (whole)
                path[n] = fm_trie_child(g->trie, path[n], v->label[node->frame]);
        } else if (n > 0 && g->stack[n].rows > 0) {
            path[n] = path_up(g, (uint32_t)n, &whole);
        }
        if (path[n] == UINT32_MAX)
            return false;
        if (g->stack[n].rows == 0)
            continue;
        if (!fm_grow(g->mem, (void **)&g->node, &cap, g->trie->n, sizeof *g->node))
            return false;
        memset(g->node + g->nodes, 0, (cap - g->nodes) * sizeof *g->node);
        g->nodes = cap;
        add_sums(&g->node[path[n]], g->stack[n].self, g->stack[n].samples, g->stack[n].rows);
        if (whole)
            g->node[path[n]].self += g->stack[n].self;
    }
    return true;
}

/* Adds the sums of children to their parents; those of the root's stay where they are: node 0 is
 * the rows without a stack. */
static bool sum_paths(struct grower *g)
{
    const struct fm_trie_node *node = g->trie->node;
    size_t cap = g->nodes;

    if (!fm_grow(g->mem, (void **)&g->node, &cap, g->trie->n, sizeof *g->node))
        return false;
    memset(g->node + g->nodes, 0, (cap - g->nodes) * sizeof *g->node);
    g->nodes = cap;
    for (size_t n = g->trie->n; n-- > 1;) {
        const struct sums *sums = &g->node[n];
        if (node[n].parent != 0)
            add_sums(&g->node[node[n].parent], sums->total, sums->samples, sums->rows);
    }
    return true;
}

/* ---------------------------------------------------------------- the table */

static int compare_children(const void *a, const void *b)
{
    const struct child *x = a, *y = b;
    int order;

    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    if (x->name == NULL || y->name == NULL)
        return (x->name == NULL) - (y->name == NULL);
    order = memcmp(x->name, y->name, FM_MIN(x->n, y->n));
    return order != 0 ? order : x->n < y->n ? -1 : x->n > y->n;
}

/* Children of each path that have rows, in order: child[first[p] … first[p + 1]). Rows without a
 * stack are a child of the root with path 0. */
static bool order_children(struct grower *g)
{
    const struct fm_trie_node *node = g->trie->node;
    size_t n = g->trie->n;

    g->first = fm_mem_zalloc(g->mem, (n + 3) * sizeof *g->first);
    g->child = fm_mem_alloc(g->mem, (n + 1) * sizeof *g->child);
    if (g->first == NULL || g->child == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        g->first[(i == 0 ? 0 : node[i].parent) + 2] += g->node[i].rows > 0;
    for (size_t i = 1; i < n + 3; i++)
        g->first[i] += g->first[i - 1];
    for (size_t i = 0; i < n; i++) {
        struct child *c = &g->child[g->first[(i == 0 ? 0 : node[i].parent) + 1]];
        if (g->node[i].rows == 0)
            continue;
        g->first[(i == 0 ? 0 : node[i].parent) + 1]++;
        *c = (struct child){ .total = g->node[i].total, .path = (uint32_t)i };
        if (i > 0)
            c->name = fm_store_str(g->t->store, node[i].key, &c->n);
    }
    for (size_t i = 0; i < n; i++) {
        if (g->first[i + 1] - g->first[i] > 1)
            qsort(g->child + g->first[i], g->first[i + 1] - g->first[i], sizeof *g->child,
                  compare_children);
    }
    return true;
}

static bool add_row(struct grower *g, uint32_t path, uint64_t depth)
{
    const struct fm_trie_node *node = g->trie->node;
    const struct sums *s = &g->node[path];
    fm_i128 selected = g->t->selected, parent = selected;
    uint32_t row = fm_table_add(g->t);

    if (row == FM_NONE)
        return false;
    if (path != 0 && node[path].parent != 0)
        parent = g->node[node[path].parent].total;
    fm_table_int(g->t, row, TOTAL, s->total);
    fm_table_int(g->t, row, SELF, s->self);
    fm_table_int(g->t, row, SAMPLES, (fm_i128)s->samples);
    fm_table_int(g->t, row, DEPTH, (fm_i128)depth);
    if (selected != 0)
        fm_table_f64(g->t, row, TOTAL_SHARE, (double)s->total / (double)selected);
    if (parent != 0)
        fm_table_f64(g->t, row, PARENT_SHARE, (double)s->total / (double)parent);
    if (path != 0) {
        fm_table_id(g->t, row, FUNCTION, node[path].key);
        fm_table_id(g->t, row, PATH, path);
    }
    return true;
}

static bool too_small(const struct grower *g, const struct child *c)
{
    return g->tree->min_share > 0
           && (double)c->total < g->tree->min_share * (double)g->t->selected;
}

/* Nodes in pre-order; `next` has the next child of each node on the path at hand. */
static bool add_rows(struct grower *g)
{
    const struct fm_trie_node *node = g->trie->node;
    uint32_t *next = fm_mem_alloc(g->mem, g->trie->n * sizeof *next), at = 0;
    uint64_t depth = 0;
    bool ok = next != NULL;

    if (ok)
        memcpy(next, g->first, g->trie->n * sizeof *next);
    while (ok) {
        const struct child *c = &g->child[next[at]];
        if (next[at] == g->first[at + 1] || too_small(g, c)) {
            g->cut += g->first[at + 1] - next[at];
            if (depth == 0)
                break;
            depth--;
            at = node[at].parent;
            continue;
        }
        next[at]++;
        ok = add_row(g, c->path, depth + 1);
        if (c->path != 0) {
            at = c->path;
            depth++;
        }
    }
    fm_mem_free(g->mem, next, next == NULL ? 0 : g->trie->n * sizeof *next);
    g->t->sorted = true;
    return ok;
}

/* What the header says of the tree. */
static bool make_note(struct grower *g)
{
    struct fm_arena *arena = g->flow->c->arena;
    const char *way = g->tree->up ? "up: callers below the function they call"
                                  : "down: callees below the function that calls them";
    const char *depth = "", *small = "";

    if (g->tree->max_depth != UINT64_MAX)
        depth = fm_arena_printf(arena, ", %llu deep", (unsigned long long)g->tree->max_depth);
    if (g->cut > 0)
        small = fm_arena_printf(arena, ", %llu branch%s under %s left out",
                                (unsigned long long)g->cut, g->cut == 1 ? "" : "es",
                                g->tree->share_text);
    g->t->note = depth == NULL || small == NULL
                     ? NULL : fm_arena_printf(arena, "%s%s%s", way, depth, small);
    return g->t->note != NULL;
}

enum fm_status fm_tree_run(struct fm_flow *flow, const struct fm_step *step, struct fm_error *err)
{
    struct grower g = { .flow = flow, .tree = step->object, .mem = &flow->c->ctx->mem };
    size_t nodes = flow->view.nodes;
    enum fm_status status = FM_NOMEM;
    uint32_t *path;

    g.t = fm_flow_table(flow, step);
    g.trie = &g.t->paths.trie;
    path = fm_arena_alloc(flow->c->arena, (nodes + 1) * sizeof *path);
    g.stack = fm_mem_zalloc(g.mem, (nodes + 1) * sizeof *g.stack);
    if (path != NULL && g.stack != NULL && fm_trie_init(g.trie, g.mem))
        status = sum_rows(&g, err);
    if (status == FM_OK && !(make_paths(&g, path) && sum_paths(&g) && order_children(&g)
                             && add_rows(&g) && make_note(&g)))
        status = FM_NOMEM;
    fm_mem_free(g.mem, g.stack, g.stack == NULL ? 0 : (nodes + 1) * sizeof *g.stack);
    fm_mem_free(g.mem, g.node, g.nodes * sizeof *g.node);
    fm_mem_free(g.mem, g.first, g.first == NULL ? 0 : (g.trie->n + 3) * sizeof *g.first);
    fm_mem_free(g.mem, g.child, g.child == NULL ? 0 : (g.trie->n + 1) * sizeof *g.child);
    return status == FM_NOMEM ? fm_error_nomem(err) : status;
}
