/*
 * calldiff.c - two call trees as one: what a differential draws.
 *
 *     new   a ── b ── c        base   a ── b        both   a ── b ── c      new only: base 0
 *           └─ e                      ├─ d                 ├─ d             base only: weight 0
 *                                     └─ e                 └─ e
 *
 * Both trees are in DFS pre-order with the children of a node in byte order of their labels, so the
 * union is a merge: a stack holds the open node of each depth and where its children go on in both
 * trees; the smaller label comes first, equal ones become one node. Linear, nothing recurses.
 *
 * Labels of the base are texts of another store as a rule: each distinct one is added once to the
 * store of the new profile, which the merged tree speaks of.
 *
 * Weights of the base stay as recorded, so that their sum is the base's; whoever compares them
 * multiplies by the scaling.
 */
#include "store/select.h"

#include "util/error.h"

/* An open node: its children still to come are [at, end) of either tree. */
struct open {
    uint32_t new, new_end, base, base_end;
    uint32_t node;                /* of the union */
};

struct merger {
    struct fm_mem *mem;
    const struct fm_calltree *new, *base;
    struct fm_store *store;
    const struct fm_store *from;  /* of the base's labels */
    fm_str *label;                /* by string of `from`: the same text here; FM_NONE: not yet */
    struct fm_call_node *node;
    struct fm_call_base *was;
    size_t nodes;
};

/* The label of a node of the base as a string of the new store; FM_NONE: no memory. */
static fm_str label_here(struct merger *m, fm_str label)
{
    const char *s;
    size_t n;
    if (m->label == NULL)
        return label;
    if (m->label[label] == FM_NONE) {
        s = fm_store_str(m->from, label, &n);
        m->label[label] = fm_store_str_add(m->store, s, n);
    }
    return m->label[label];
}

/* < 0: the next child is in the new tree alone; > 0: in the base alone; 0: in both. */
static int compare(const struct merger *m, const struct open *o, fm_str base)
{
    const char *s, *t;
    size_t n, k;
    int c;
    if (o->base == o->base_end)
        return -1;
    if (o->new == o->new_end)
        return 1;
    if (m->new->node[o->new].label == base)
        return 0;
    s = fm_store_str(m->store, m->new->node[o->new].label, &n);
    t = fm_store_str(m->store, base, &k);
    c = memcmp(s, t, FM_MIN(n, k));
    return c != 0 ? c : (n > k) - (n < k);
}

/* Adds the node that stands for one of each tree; NULL: not in that one. */
static void add_node(struct merger *m, uint32_t parent, uint32_t depth,
                     const struct fm_call_node *new, const struct fm_call_node *base, fm_str label)
{
    struct fm_call_node *node = &m->node[m->nodes];
    *node = (struct fm_call_node){.parent = parent, .depth = depth, .label = label,
                                  .frame = FM_NONE};
    if (new != NULL)
        *node = *new;
    else
        node->kind = base->kind;
    node->parent = parent;
    node->label = label;
    m->was[m->nodes] = (struct fm_call_base){0, 0, 0, 0};
    if (base != NULL)
        m->was[m->nodes] = (struct fm_call_base){base->self, base->total, base->self_samples,
                                                 base->total_samples};
    m->nodes++;
}

/* Merges the next child of the open node at `depth`, and opens it. false: no memory. */
static bool merge_next(struct merger *m, struct open *o, uint32_t depth)
{
    const struct fm_call_node *new = NULL, *base = NULL;
    fm_str label = FM_NONE;
    int side;
    if (o->base < o->base_end) {
        label = label_here(m, m->base->node[o->base].label);
        if (label == FM_NONE)
            return false;
    }
    side = compare(m, o, label);
    o[1] = (struct open){.node = (uint32_t)m->nodes};
    if (side <= 0) {
        new = &m->new->node[o->new];
        label = new->label;
        o[1].new = o->new + 1;
        o[1].new_end = o->new = new->end;
    }
    if (side >= 0) {
        base = &m->base->node[o->base];
        o[1].base = o->base + 1;
        o[1].base_end = o->base = base->end;
    }
    add_node(m, o->node, depth + 1, new, base, label);
    return true;
}

static bool merge(struct merger *m, struct open *open)
{
    uint32_t depth = 0;
    open[0] = (struct open){1, m->new->node[0].end, 1, m->base->node[0].end, 0};
    add_node(m, FM_NONE, 0, &m->new->node[0], &m->base->node[0], m->new->node[0].label);
    for (;;) {
        struct open *o = &open[depth];
        if (o->new < o->new_end || o->base < o->base_end) {
            if (!merge_next(m, o, depth))
                return false;
            depth++;
            continue;
        }
        m->node[o->node].end = (uint32_t)m->nodes;
        if (depth-- == 0)
            return true;
    }
}

enum fm_status fm_calltree_against(struct fm_calltree *tree, struct fm_store *store,
                                   const struct fm_calltree *base, const struct fm_store *from,
                                   struct fm_error *err)
{
    struct merger m = {.mem = tree->mem, .new = tree, .base = base, .store = store, .from = from};
    uint32_t depth = FM_MAX(tree->depth, base->depth);
    size_t opens = (size_t)depth + 2, cap = tree->nodes + base->nodes, strings = 0;
    struct open *open = fm_mem_alloc(m.mem, opens * sizeof *open);
    enum fm_status status = FM_NOMEM;
    fm_assert(tree->base == NULL && base->base == NULL);
    if (cap >= FM_NONE)
        goto out;
    m.node = fm_mem_big_alloc(m.mem, cap * sizeof *m.node);
    m.was = fm_mem_big_alloc(m.mem, cap * sizeof *m.was);
    if (store != from) {
        strings = fm_store_strings(from);
        m.label = fm_mem_big_alloc(m.mem, strings * sizeof *m.label);
        if (m.label == NULL)
            goto out;
        memset(m.label, 0xff, strings * sizeof *m.label);
    }
    if (open == NULL || m.node == NULL || m.was == NULL || !merge(&m, open))
        goto out;
    fm_assert(m.node[0].end == m.nodes && m.nodes <= cap);
    fm_assert(m.was[0].total == base->node[0].total && m.node[0].total == tree->node[0].total);
    fm_mem_big_free(m.mem, tree->node, tree->cap * sizeof *tree->node);
    tree->node = m.node;
    tree->base = m.was;
    tree->nodes = m.nodes;
    tree->cap = cap;
    tree->depth = depth;
    status = FM_OK;
out:
    if (status != FM_OK) {
        fm_mem_big_free(m.mem, m.node, cap * sizeof *m.node);
        fm_mem_big_free(m.mem, m.was, cap * sizeof *m.was);
    }
    fm_mem_big_free(m.mem, m.label, strings * sizeof *m.label);
    fm_mem_free(m.mem, open, opens * sizeof *open);
    return status == FM_OK ? FM_OK : fm_error_nomem(err);
}

/* ----------------------------------------------------------------- scaling */

/* Nanoseconds from the first time of a recording to its last. */
static fm_u128 covered(const struct fm_store *store)
{
    int64_t start = 0, end = 0;
    if (!fm_store_start(store, &start, &end) || end <= start)
        return 0;
    return (uint64_t)end - (uint64_t)start;
}

enum fm_status fm_scaling_find(struct fm_scaling *scaling, const struct fm_selection *sel,
                               const struct fm_selection *base, const char *how,
                               struct fm_error *err)
{
    const char *unit = fm_store_str(sel->store, sel->unit, NULL);
    const char *other = fm_store_str(base->store, base->unit, NULL);
    *scaling = (struct fm_scaling){.by = 1, .up = 1, .down = 1};
    if (strcmp(unit, other) != 0)
        return fm_error_set(err, FM_CONFIG, "the base is in %s and the new profile in %s: they "
                            "cannot be compared", other, unit);
    if (strcmp(how, "none") == 0)
        return FM_OK;
    if (strcmp(how, "total") == 0)
        *scaling = (struct fm_scaling){0, sel->weight, base->weight};
    else if (strcmp(how, "samples") == 0)
        *scaling = (struct fm_scaling){0, sel->samples, base->samples};
    else if (strcmp(how, "time") == 0)
        *scaling = (struct fm_scaling){0, covered(sel->store), covered(base->store)};
    else
        return fm_error_set(err, FM_CONFIG, "'%s' is none of none, total, time and samples", how);
    if (scaling->up == 0 || scaling->down == 0)       /* as foldmill diff's table has it */
        *scaling = (struct fm_scaling){.up = 1, .down = 1};
    scaling->by = (double)scaling->up / (double)scaling->down;
    return FM_OK;
}
