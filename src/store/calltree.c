/*
 * calltree.c - a selection as one call tree: stacks merged by label, pseudo frames included.
 *
 *   1 gather   one scan: rows add into cells (group, recorded stack). A group is one combination of
 *              pseudo frames; consecutive rows with the same texts stay in the same group. A group
 *              finds its cells through a hash map, and through an array by stack once it has a row
 *              for every DENSE-th stack: then the array costs less than what it saves.
 *   2 merge    group by group, cells in order of tree nodes: each climbs the store's tree to the
 *              first ancestor that the group has mapped already, and comes down again adding
 *              children by label. Every (group, node) is mapped once; brothers of one label (two
 *              addresses of a function) become one node.
 *   3 order    labels are ranked bytewise, the children of each node sorted by rank; a walk down
 *              those lists numbers nodes in DFS pre-order.
 *   4 sum      cells go to their nodes; backwards over the pre-order, children add to parents.
 *
 * All passes are linear but for sorting cells, labels and brothers; nothing recurses. Children are
 * found in the parent's list, and through a hash map once a node has more than MANY of them.
 */
#include "store/select.h"

#include "util/error.h"

#include <stdlib.h>

#define MANY 12u
#define DENSE 8u
#define AHEAD 12u

/* A growing array in mapped memory once it is large: first touch costs less there. */
struct big {
    void *p;
    size_t cap;   /* bytes */
};

static bool big_grow(struct fm_mem *mem, struct big *b, size_t used, size_t need)
{
    size_t cap = FM_MAX(b->cap, (size_t)4096);
    void *p;
    if (need <= b->cap)
        return true;
    while (cap < need) {
        if (!fm_mul_size(cap, 2, &cap))
            return false;
    }
    p = fm_mem_big_alloc(mem, cap);
    if (p == NULL)
        return false;
    if (used > 0)
        memcpy(p, b->p, used);
    fm_mem_big_free(mem, b->p, b->cap);
    b->p = p;
    b->cap = cap;
    return true;
}

/* What rows of one (group, stack) are: where they belong ... */
struct cell {
    uint32_t stack;     /* append id */
    uint32_t next;      /* of the same group */
    uint32_t out;       /* merged node; FM_NONE: stack edits drop it */
};

/* ... and sum to. Apart from it, because only this is touched row by row. */
struct sum {
    fm_u128 weight;
    uint64_t samples;
};

struct group {
    uint32_t texts;       /* place in `text`: one per pseudo frame */
    uint32_t next;        /* of the same hash */
    uint32_t first, last; /* its cells */
    uint64_t rows;
    uint32_t *dense;      /* by stack: cell + 1; NULL: by the map */
};

/* A merged node under construction. */
struct kid {
    uint32_t parent;
    fm_str label;
    fm_frame frame;
    uint32_t first, next;   /* children, brothers */
    uint32_t kids;          /* count; later the node's final number */
    uint8_t kind;
};

struct maker {
    const struct fm_selection *sel;
    struct fm_mem *mem;
    struct fm_scan scan;
    struct fm_pseudo_labels pseudo;
    size_t weight, count, stack;      /* places in the scan */
    struct big cell, sum, group, text, kid, path, list;
    size_t cells, groups, kids;
    struct fm_map cell_of, group_of, child;
    size_t stacks;                    /* append ids */
    const struct fm_tree_node *tree;
    size_t nodes;
    fm_str *label;                    /* by frame */
    size_t frames;
    uint32_t *merged, *stamp;         /* by tree node: merged node, of which group (+ 1) */
};

#define CELL(m) ((struct cell *)(m)->cell.p)
#define SUM(m) ((struct sum *)(m)->sum.p)
#define GROUP(m) ((struct group *)(m)->group.p)
#define TEXT(m) ((fm_str *)(m)->text.p)
#define KID(m) ((struct kid *)(m)->kid.p)

/* ---------------------------------------------------------------- gather */

/* The group with these texts, made when new; FM_NONE: no memory. */
static uint32_t find_group(struct maker *m, const fm_str *text)
{
    size_t n = m->pseudo.n, bytes = n * sizeof *text;
    uint64_t hash = n, *slot;
    uint32_t g;
    size_t k;
    struct group *group;
    for (k = 0; k < n; k++)
        hash = fm_mix(hash, text[k]);
    slot = fm_map_put(&m->group_of, hash, NULL);
    if (slot == NULL)
        return FM_NONE;
    for (g = (uint32_t)*slot; g != 0; g = GROUP(m)[g - 1].next) {
        if (n == 0 || memcmp(TEXT(m) + GROUP(m)[g - 1].texts, text, bytes) == 0)
            return g - 1;
    }
    if (!big_grow(m->mem, &m->group, m->groups * sizeof *group,
                  (m->groups + 1) * sizeof *group) ||
        !big_grow(m->mem, &m->text, m->groups * bytes, (m->groups + 1) * bytes))
        return FM_NONE;
    group = &GROUP(m)[m->groups];
    group->texts = (uint32_t)(m->groups * n);
    group->next = (uint32_t)*slot;
    group->first = group->last = FM_NONE;
    group->rows = 0;
    group->dense = NULL;
    if (n > 0)
        memcpy(TEXT(m) + group->texts, text, bytes);
    *slot = ++m->groups;
    return (uint32_t)m->groups - 1;
}

/* Gives a group its array. */
static bool make_dense(struct maker *m, struct group *g)
{
    uint32_t c;
    g->dense = fm_mem_big_alloc(m->mem, m->stacks * sizeof *g->dense);
    if (g->dense == NULL)
        return false;
    memset(g->dense, 0, m->stacks * sizeof *g->dense);
    for (c = g->first; c != FM_NONE; c = CELL(m)[c].next)
        g->dense[CELL(m)[c].stack] = c + 1;
    return true;
}

static bool add_cell(struct maker *m, struct group *g, uint32_t stack)
{
    size_t n = m->cells;
    if (n >= FM_NONE - 1 ||
        !big_grow(m->mem, &m->cell, n * sizeof(struct cell), (n + 1) * sizeof(struct cell)) ||
        !big_grow(m->mem, &m->sum, n * sizeof(struct sum), (n + 1) * sizeof(struct sum)))
        return false;
    CELL(m)[n] = (struct cell){.stack = stack, .next = FM_NONE};
    SUM(m)[n] = (struct sum){0, 0};
    if (g->last == FM_NONE)
        g->first = (uint32_t)n;
    else
        CELL(m)[g->last].next = (uint32_t)n;
    g->last = (uint32_t)n;
    m->cells++;
    return true;
}

/* The sum for a stack of a group; NULL: no memory. */
static struct sum *find_sum(struct maker *m, uint32_t group, uint32_t stack)
{
    struct group *g = &GROUP(m)[group];
    uint64_t *slot;
    bool fresh;
    fm_assert(stack < m->stacks);
    g->rows++;
    if (g->dense == NULL && g->rows >= m->stacks / DENSE && !make_dense(m, g))
        return NULL;
    if (g->dense != NULL) {
        if (g->dense[stack] == 0) {
            if (!add_cell(m, g, stack))
                return NULL;
            g->dense[stack] = (uint32_t)m->cells;
        }
        return &SUM(m)[g->dense[stack] - 1];
    }
    slot = fm_map_put(&m->cell_of, (uint64_t)group << 32 | stack, &fresh);
    if (slot == NULL)
        return NULL;
    if (fresh) {
        if (!add_cell(m, g, stack))
            return NULL;
        *slot = m->cells - 1;
    }
    return &SUM(m)[*slot];
}

static void look_ahead(const struct maker *m, uint32_t group, uint32_t stack)
{
    const uint32_t *dense = GROUP(m)[group].dense;
    if (dense != NULL)
        __builtin_prefetch(&dense[stack]);
}

/* The rows of the scan's current block. A row without a stack has 0 there: the root. */
static bool gather_block(struct maker *m, fm_str *last, uint32_t *group)
{
    const struct fm_scan *scan = &m->scan;
    const uint64_t *stack = scan->value[m->stack], *count = scan->value[m->count];
    const uint64_t *weight = scan->value[m->weight];
    uint32_t i;
    size_t k;
    for (i = 0; i < scan->n; i++) {
        uint32_t place = scan->live[i];
        bool same = *group != FM_NONE;
        struct sum *sum;
        for (k = 0; k < m->pseudo.n; k++) {
            fm_str text = fm_pseudo_label(&m->pseudo, scan, k, place);
            same = same && text == last[k];
            last[k] = text;
        }
        if (m->pseudo.oom)
            return false;
        if (!same)
            *group = find_group(m, last);
        if (*group != FM_NONE && i + AHEAD < scan->n)
            look_ahead(m, *group, (uint32_t)stack[scan->live[i + AHEAD]]);
        sum = *group == FM_NONE ? NULL : find_sum(m, *group, (uint32_t)stack[place]);
        if (sum == NULL)
            return false;
        sum->samples = fm_add_sat_u64(sum->samples, count[place]);
        sum->weight += weight[place];
    }
    return true;
}

static bool gather(struct maker *m)
{
    fm_str last[2 * FM_PSEUDO_MAX] = {0};
    uint32_t group = FM_NONE;
    while (fm_scan_next(&m->scan)) {
        if (!gather_block(m, last, &group))
            return false;
    }
    return true;
}

/* ----------------------------------------------------------------- merge */

static uint32_t add_kid(struct maker *m, uint32_t parent, fm_str label, fm_frame frame,
                        uint8_t kind)
{
    struct kid *kid;
    if (m->kids >= FM_NONE - 1 ||
        !big_grow(m->mem, &m->kid, m->kids * sizeof *kid, (m->kids + 1) * sizeof *kid))
        return FM_NONE;
    kid = &KID(m)[m->kids];
    *kid = (struct kid){.parent = parent, .label = label, .frame = frame, .first = FM_NONE,
                        .next = FM_NONE, .kind = kind};
    if (parent != FM_NONE) {
        kid->next = KID(m)[parent].first;
        KID(m)[parent].first = (uint32_t)m->kids;
        KID(m)[parent].kids++;
    }
    return (uint32_t)m->kids++;
}

/* Moves a node's children into the hash map. */
static bool map_kids(struct maker *m, uint32_t parent)
{
    uint32_t c;
    for (c = KID(m)[parent].first; c != FM_NONE; c = KID(m)[c].next) {
        uint64_t *slot = fm_map_put(&m->child, (uint64_t)parent << 32 | KID(m)[c].label, NULL);
        if (slot == NULL)
            return false;
        *slot = c;
    }
    return true;
}

/* The child of `parent` with that label, made when new; FM_NONE: no memory. */
static uint32_t find_kid(struct maker *m, uint32_t parent, fm_str label, fm_frame frame,
                         uint8_t kind)
{
    uint64_t *slot;
    uint32_t c;
    bool fresh;
    if (KID(m)[parent].kids <= MANY) {
        for (c = KID(m)[parent].first; c != FM_NONE; c = KID(m)[c].next) {
            if (KID(m)[c].label == label)
                return c;
        }
        c = add_kid(m, parent, label, frame, kind);
        if (c != FM_NONE && KID(m)[parent].kids > MANY && !map_kids(m, parent))
            return FM_NONE;
        return c;
    }
    slot = fm_map_put(&m->child, (uint64_t)parent << 32 | label, &fresh);
    if (slot == NULL)
        return FM_NONE;
    if (fresh)
        *slot = add_kid(m, parent, label, frame, kind);
    return (uint32_t)*slot;
}

/* Merged node of a tree node within a group whose root is mapped. */
static uint32_t merge_stack(struct maker *m, uint32_t node, uint32_t mark)
{
    size_t n = 0;
    uint32_t out;
    while (m->stamp[node] != mark) {
        if (!big_grow(m->mem, &m->path, n * sizeof(uint32_t), (n + 1) * sizeof(uint32_t)))
            return FM_NONE;
        ((uint32_t *)m->path.p)[n++] = node;
        node = m->tree[node].parent;
    }
    out = m->merged[node];
    while (n > 0) {
        const struct fm_tree_node *t;
        const struct fm_frame_row *frame;
        node = ((uint32_t *)m->path.p)[--n];
        t = &m->tree[node];
        frame = fm_selection_frame(m->sel, t->frame);
        fm_assert(m->label[t->frame] != FM_NONE);
        out = find_kid(m, out, m->label[t->frame], t->frame, frame->kind);
        if (out == FM_NONE)
            return FM_NONE;
        m->stamp[node] = mark;
        m->merged[node] = out;
    }
    return out;
}

static uint32_t merge_texts(struct maker *m, uint32_t out, const fm_str *text, size_t n)
{
    size_t k;
    for (k = 0; k < n && out != FM_NONE; k++) {
        if (text[k] != FM_PSEUDO_SKIP)
            out = find_kid(m, out, text[k], FM_NONE, FM_FRAME_SYNTHETIC);
    }
    return out;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The cells of a group as node << 32 | cell, in order of nodes: then all arrays by node are walked
 * front to back, and merged nodes come in pre-order as well. */
static bool order_cells(struct maker *m, uint32_t g, size_t *n)
{
    uint64_t *list;
    uint32_t c;
    *n = 0;
    for (c = GROUP(m)[g].first; c != FM_NONE; c = CELL(m)[c].next)
        ++*n;
    if (!big_grow(m->mem, &m->list, 0, *n * sizeof *list))
        return false;
    list = m->list.p;
    *n = 0;
    for (c = GROUP(m)[g].first; c != FM_NONE; c = CELL(m)[c].next) {
        uint32_t node = fm_selection_node(m->sel, true, CELL(m)[c].stack);
        CELL(m)[c].out = FM_NONE;
        if (node != FM_NONE)
            list[(*n)++] = (uint64_t)node << 32 | c;
    }
    if (*n > 0)
        qsort(list, *n, sizeof *list, by_value);
    return true;
}

static bool merge_group(struct maker *m, uint32_t g)
{
    const fm_str *text = m->pseudo.n > 0 ? TEXT(m) + GROUP(m)[g].texts : NULL;
    uint32_t out = merge_texts(m, 0, text, m->pseudo.prepends);
    size_t n, i;
    if (out == FM_NONE || !order_cells(m, g, &n))
        return false;
    m->stamp[0] = g + 1;
    m->merged[0] = out;
    for (i = 0; i < n; i++) {
        uint64_t item = ((const uint64_t *)m->list.p)[i];
        out = merge_stack(m, (uint32_t)(item >> 32), g + 1);
        if (out != FM_NONE)
            out = merge_texts(m, out, m->pseudo.appends > 0 ? text + m->pseudo.prepends : NULL,
                              m->pseudo.appends);
        if (out == FM_NONE)
            return false;
        CELL(m)[(uint32_t)item].out = out;
    }
    return true;
}

static bool merge(struct maker *m)
{
    uint32_t g;
    size_t bytes = m->nodes * sizeof *m->merged;
    m->merged = fm_mem_big_alloc(m->mem, bytes);
    m->stamp = fm_mem_big_alloc(m->mem, bytes);
    if (m->merged == NULL || m->stamp == NULL)
        return false;
    memset(m->stamp, 0, bytes);
    /* With one group there are at most as many nodes as in the tree, plus its texts. */
    if (m->groups == 1 && m->cells * DENSE > m->nodes &&
        !big_grow(m->mem, &m->kid, 0, (m->nodes + m->pseudo.n) * sizeof(struct kid)))
        return false;
    if (add_kid(m, FM_NONE, 0, FM_NONE, FM_FRAME_SYNTHETIC) == FM_NONE)
        return false;
    for (g = 0; g < m->groups; g++) {
        if (!merge_group(m, g))
            return false;
    }
    return true;
}

/* ----------------------------------------------------------------- order */

struct text {
    const char *s;
    size_t n;
    fm_str id;
};

static int by_bytes(const void *a, const void *b)
{
    const struct text *x = a, *y = b;
    int c = memcmp(x->s, y->s, FM_MIN(x->n, y->n));
    return c != 0 ? c : (x->n > y->n) - (x->n < y->n);
}

/* rank[label] = place of the label among the used ones in byte order. */
static bool rank_labels(struct maker *m, uint32_t *rank)
{
    size_t i, used = 0, n;
    struct text *text;
    for (i = 1; i < m->kids; i++) {
        if (rank[KID(m)[i].label] == FM_NONE) {
            rank[KID(m)[i].label] = 0;
            used++;
        }
    }
    n = used;
    text = fm_mem_big_alloc(m->mem, used * sizeof *text);
    if (text == NULL)
        return false;
    used = 0;
    for (i = 0; i < fm_store_strings(m->sel->store); i++) {
        if (rank[i] == FM_NONE)
            continue;
        text[used].id = (fm_str)i;
        text[used].s = fm_store_str(m->sel->store, (fm_str)i, &text[used].n);
        used++;
    }
    fm_assert(used == n);
    qsort(text, used, sizeof *text, by_bytes);
    for (i = 0; i < used; i++)
        rank[text[i].id] = (uint32_t)i;
    fm_mem_big_free(m->mem, text, used * sizeof *text);
    return true;
}

/* Puts the children of a node in order of rank. */
static bool sort_children(struct maker *m, uint32_t parent, const uint32_t *rank)
{
    struct kid *kid = m->kid.p;
    size_t n = 0, i, k;
    uint64_t *list;
    uint32_t c;
    if (!big_grow(m->mem, &m->list, 0, kid[parent].kids * sizeof *list))
        return false;
    list = m->list.p;
    for (c = kid[parent].first; c != FM_NONE; c = kid[c].next)
        list[n++] = (uint64_t)rank[kid[c].label] << 32 | c;
    fm_assert(n == kid[parent].kids);
    if (n > 2 * MANY) {
        qsort(list, n, sizeof *list, by_value);
    } else {
        for (i = 1; i < n; i++) {
            uint64_t item = list[i];
            for (k = i; k > 0 && list[k - 1] > item; k--)
                list[k] = list[k - 1];
            list[k] = item;
        }
    }
    kid[parent].first = (uint32_t)list[0];
    for (i = 0; i < n; i++)
        kid[(uint32_t)list[i]].next = i + 1 < n ? (uint32_t)list[i + 1] : FM_NONE;
    return true;
}

static bool sort_kids(struct maker *m)
{
    size_t strings = fm_store_strings(m->sel->store), i;
    uint32_t *rank = fm_mem_big_alloc(m->mem, strings * sizeof *rank);
    bool ok = false;
    if (rank == NULL)
        return false;
    memset(rank, 0xff, strings * sizeof *rank);
    if (!rank_labels(m, rank))
        goto out;
    for (i = 0; i < m->kids; i++) {
        if (KID(m)[i].kids > 1 && !sort_children(m, (uint32_t)i, rank))
            goto out;
    }
    ok = true;
out:
    fm_mem_big_free(m->mem, rank, strings * sizeof *rank);
    return ok;
}

/* Numbers the nodes in DFS pre-order and fills the tree. */
static bool number(struct maker *m, struct fm_calltree *tree)
{
    uint32_t at = 0, parent = FM_NONE;
    size_t n = 0;
    tree->node = fm_mem_big_alloc(m->mem, m->kids * sizeof *tree->node);
    if (tree->node == NULL)
        return false;
    tree->cap = tree->nodes = m->kids;
    while (at != FM_NONE) {
        struct kid *kid = &KID(m)[at];
        uint32_t depth = n == 0 ? 0 : tree->node[parent].depth + 1;
        tree->node[n] = (struct fm_call_node){.parent = parent, .end = (uint32_t)n + 1,
                                              .depth = depth, .label = kid->label,
                                              .kind = kid->kind, .frame = kid->frame};
        tree->depth = FM_MAX(tree->depth, depth);
        kid->kids = (uint32_t)n++;
        if (kid->first != FM_NONE) {
            parent = kid->kids;
            at = kid->first;
            continue;
        }
        while (at != FM_NONE && KID(m)[at].next == FM_NONE)
            at = KID(m)[at].parent;
        if (at != FM_NONE) {
            at = KID(m)[at].next;
            parent = KID(m)[KID(m)[at].parent].kids;
        }
    }
    fm_assert(n == m->kids);
    return true;
}

/* Adds children to their parents, and finds where subtrees end. */
static void sum_up(struct fm_calltree *tree)
{
    for (size_t i = tree->nodes; i-- > 0;) {
        struct fm_call_node *node = &tree->node[i], *up;
        node->total += node->self;
        node->total_samples = fm_add_sat_u64(node->total_samples, node->self_samples);
        if (i == 0)
            break;
        fm_assert(node->parent < i);
        up = &tree->node[node->parent];
        up->total += node->total;
        up->total_samples = fm_add_sat_u64(up->total_samples, node->total_samples);
        up->end = FM_MAX(up->end, node->end);
    }
}

static void sum(struct maker *m, struct fm_calltree *tree)
{
    size_t i;
    for (i = 0; i < m->cells; i++) {
        struct fm_call_node *node;
        if (CELL(m)[i].out == FM_NONE)
            continue;
        node = &tree->node[KID(m)[CELL(m)[i].out].kids];
        node->self += SUM(m)[i].weight;
        node->self_samples = fm_add_sat_u64(node->self_samples, SUM(m)[i].samples);
    }
    sum_up(tree);
}

/* ------------------------------------------------------------------ make */

enum fm_status fm_selection_labels(const struct fm_selection *sel, const struct fm_names *names,
                                   fm_str **label, size_t *frames, struct fm_error *err)
{
    size_t n = fm_selection_frames(sel), nodes, i;
    const struct fm_tree_node *tree = fm_selection_tree(sel, &nodes);
    fm_str *text = fm_mem_alloc(sel->mem, n * sizeof *text);
    if (text == NULL)
        return fm_error_nomem(err);
    memset(text, 0xff, n * sizeof *text);
    for (i = 1; i < nodes; i++) {
        fm_frame f = tree[i].frame;
        if (text[f] != FM_NONE)
            continue;
        text[f] = fm_name_frame_row(sel->store, fm_selection_frame(sel, f), names);
        if (text[f] == FM_NONE) {
            fm_mem_free(sel->mem, text, n * sizeof *text);
            return fm_error_nomem(err);
        }
    }
    *label = text;
    *frames = n;
    return FM_OK;
}

static enum fm_status open_scan(struct maker *m, const struct fm_names *names,
                                struct fm_error *err)
{
    fm_column col[FM_SCAN_COLUMNS] = {FM_COL_STACK, FM_COL_COUNT,
                                      fm_selection_weight_column(m->sel)};
    size_t cols = col[2] == FM_COL_COUNT ? 2 : 3;
    enum fm_status status;
    m->stack = 0;
    m->count = 1;
    m->weight = cols - 1;
    fm_pseudo_columns(m->sel, col, &cols);
    status = fm_scan_init(&m->scan, m->sel, col, cols, err);
    if (status == FM_OK)
        fm_pseudo_labels_init(&m->pseudo, m->sel, &m->scan, names);
    return status;
}

static void maker_release(struct maker *m)
{
    size_t bytes = m->nodes * sizeof *m->merged, g;
    for (g = 0; g < m->groups; g++)
        fm_mem_big_free(m->mem, GROUP(m)[g].dense, m->stacks * sizeof(uint32_t));
    fm_pseudo_labels_release(&m->pseudo);
    fm_scan_release(&m->scan);
    fm_mem_big_free(m->mem, m->cell.p, m->cell.cap);
    fm_mem_big_free(m->mem, m->sum.p, m->sum.cap);
    fm_mem_big_free(m->mem, m->group.p, m->group.cap);
    fm_mem_big_free(m->mem, m->text.p, m->text.cap);
    fm_mem_big_free(m->mem, m->kid.p, m->kid.cap);
    fm_mem_big_free(m->mem, m->path.p, m->path.cap);
    fm_mem_big_free(m->mem, m->list.p, m->list.cap);
    fm_mem_big_free(m->mem, m->merged, bytes);
    fm_mem_big_free(m->mem, m->stamp, bytes);
    fm_map_release(&m->cell_of);
    fm_map_release(&m->group_of);
    fm_map_release(&m->child);
    if (m->label != NULL)
        fm_mem_free(m->mem, m->label, m->frames * sizeof *m->label);
}

enum fm_status fm_calltree_make(struct fm_calltree *tree, const struct fm_selection *sel,
                                const struct fm_names *names, struct fm_error *err)
{
    struct maker m;
    enum fm_status status;
    memset(tree, 0, sizeof *tree);
    tree->mem = sel->mem;
    memset(&m, 0, sizeof m);
    m.sel = sel;
    m.mem = sel->mem;
    fm_map_init(&m.cell_of, m.mem);
    fm_map_init(&m.group_of, m.mem);
    fm_map_init(&m.child, m.mem);
    m.tree = fm_selection_tree(sel, &m.nodes);
    m.stacks = sel->row_node != NULL ? m.nodes : fm_store_append_nodes(sel->store);
    status = fm_selection_labels(sel, names, &m.label, &m.frames, err);
    if (status == FM_OK)
        status = open_scan(&m, names, err);
    if (status == FM_OK && !(gather(&m) && merge(&m) && sort_kids(&m) && number(&m, tree)))
        status = fm_error_nomem(err);
    if (status == FM_OK)
        sum(&m, tree);
    maker_release(&m);
    if (status != FM_OK)
        fm_calltree_release(tree);
    return status;
}

/* --------------------------------------------------------------- reverse */

/* The node of the reversed stack for each node that has weight of its own. */
static bool merge_reversed(struct maker *m, const struct fm_calltree *from, uint32_t *out)
{
    if (add_kid(m, FM_NONE, 0, FM_NONE, FM_FRAME_SYNTHETIC) == FM_NONE)
        return false;
    for (uint32_t i = 0; i < from->nodes; i++) {
        const struct fm_call_node *node = &from->node[i];
        const struct fm_call_base *base = from->base != NULL ? &from->base[i] : NULL;
        out[i] = FM_NONE;
        if (node->self == 0 && node->self_samples == 0 &&
            (base == NULL || (base->self == 0 && base->self_samples == 0)))
            continue;
        out[i] = 0;
        for (uint32_t at = i; at != 0 && out[i] != FM_NONE; at = from->node[at].parent) {
            const struct fm_call_node *up = &from->node[at];
            out[i] = find_kid(m, out[i], up->label, up->frame, up->kind);
        }
        if (out[i] == FM_NONE)
            return false;
    }
    return true;
}

static void sum_reversed(struct maker *m, const struct fm_calltree *from, const uint32_t *out,
                         struct fm_calltree *tree)
{
    for (size_t i = 0; i < from->nodes; i++) {
        struct fm_call_node *node;
        uint32_t n;
        if (out[i] == FM_NONE)
            continue;
        n = KID(m)[out[i]].kids;
        node = &tree->node[n];
        node->self += from->node[i].self;
        node->self_samples = fm_add_sat_u64(node->self_samples, from->node[i].self_samples);
        if (from->base != NULL) {
            tree->base[n].self += from->base[i].self;
            tree->base[n].self_samples = fm_add_sat_u64(tree->base[n].self_samples,
                                                        from->base[i].self_samples);
        }
    }
    sum_up(tree);
    for (size_t i = tree->base != NULL ? tree->nodes : 0; i-- > 0;) {
        struct fm_call_base *base = &tree->base[i], *up;
        base->total += base->self;
        base->total_samples = fm_add_sat_u64(base->total_samples, base->self_samples);
        if (i == 0)
            break;
        up = &tree->base[tree->node[i].parent];
        up->total += base->total;
        up->total_samples = fm_add_sat_u64(up->total_samples, base->total_samples);
    }
}

enum fm_status fm_calltree_reverse(struct fm_calltree *tree, const struct fm_calltree *from,
                                   const struct fm_selection *sel, struct fm_error *err)
{
    struct maker m;
    size_t bytes = from->nodes * sizeof(uint32_t);
    uint32_t *out;
    bool ok;
    memset(tree, 0, sizeof *tree);
    tree->mem = sel->mem;
    tree->scaling = from->scaling;
    memset(&m, 0, sizeof m);
    m.sel = sel;
    m.mem = sel->mem;
    fm_map_init(&m.cell_of, m.mem);
    fm_map_init(&m.group_of, m.mem);
    fm_map_init(&m.child, m.mem);
    out = fm_mem_big_alloc(m.mem, bytes);
    ok = out != NULL && merge_reversed(&m, from, out) && sort_kids(&m) && number(&m, tree);
    if (ok && from->base != NULL) {
        tree->base = fm_mem_big_alloc(m.mem, tree->cap * sizeof *tree->base);
        ok = tree->base != NULL;
        if (ok)
            memset(tree->base, 0, tree->cap * sizeof *tree->base);
    }
    if (ok)
        sum_reversed(&m, from, out, tree);
    fm_mem_big_free(m.mem, out, bytes);
    maker_release(&m);
    if (!ok)
        fm_calltree_release(tree);
    return ok ? FM_OK : fm_error_nomem(err);
}

void fm_calltree_release(struct fm_calltree *tree)
{
    fm_mem_big_free(tree->mem, tree->node, tree->cap * sizeof *tree->node);
    fm_mem_big_free(tree->mem, tree->base, tree->cap * sizeof *tree->base);
    tree->node = NULL;
    tree->base = NULL;
    tree->nodes = tree->cap = 0;
}
