/*
 * v8_node.c - call-tree nodes of V8 profiles, and their stacks.
 *
 *     {"id": 3, "parent": 1, "callFrame": {"functionName", "url", "lineNumber", "columnNumber"}}
 *     {"id": 1, "callFrame": {…}, "hitCount": 7, "children": [2, 3]}             .cpuprofile
 *     {"id": 1, "functionName": …, "url": …, "children": [ {node}, … ]}          before 2017
 *     {"callFrame": {…}, "selfSize": 512, "children": [ {node}, … ]}             .heapprofile
 *
 * Lines and columns of a callFrame count from 0 (-1: none), those of old nodes from 1. A stack is
 * the chain of parents without "(root)". Parents come from the file and may be missing or run in a
 * circle: the chain ends there, counted once a profile. Chains are followed with a list of our own,
 * each node once.
 */
#include "import/chrome/v8.h"

#include "util/text.h"

/* A node whose members are being read. */
struct level {
    uint32_t node;
    fm_str function, url;
    int64_t line, column;      /* from 1; 0 none */
};

struct reading {
    struct fm_chrome *c;
    struct fm_v8_profile *p;
    struct fm_json *j;
    struct level *level;       /* open nodes, outer first */
    size_t levels, cap;
};

static bool key_is(const struct fm_json *j, const char *key)
{
    size_t n = strlen(key);
    return j->n == n && memcmp(j->text, key, n) == 0;
}

fm_str fm_v8_str(struct fm_chrome *c, const struct fm_json *j, enum fm_json_token t)
{
    size_t n = j->n;
    if (t != FM_JSON_STRING)
        return 0;
    if (!j->escaped)
        return fm_builder_str(c->builder, j->text, n);
    if (!fm_grow(c->mem, (void **)&c->scratch, &c->scratch_cap, n + 1, 1)) {
        c->oom = true;
        return 0;
    }
    n = fm_json_unescape(j->text, n, c->scratch);
    return fm_builder_str(c->builder, c->scratch, n);
}

int64_t fm_v8_number(const struct fm_json *j, enum fm_json_token t, int64_t otherwise)
{
    int64_t v;
    if ((t == FM_JSON_NUMBER || t == FM_JSON_STRING) &&
        (fm_text_i64(j->text, j->n, &v) || fm_json_scaled(j->text, j->n, 1, &v)))
        return v;
    return otherwise;
}

/* ------------------------------------------------------------------- reading */

static uint32_t add_node(struct reading *r)
{
    struct fm_v8_profile *p = r->p;
    if (p->nodes >= FM_NONE - 1 ||
        !fm_grow(r->c->mem, (void **)&p->node, &p->node_cap, p->nodes + 1, sizeof *p->node)) {
        r->c->oom = true;
        return FM_NONE;
    }
    p->node[p->nodes] = (struct fm_v8_node){.id = FM_V8_NO_ID, .parent_id = FM_V8_NO_ID,
                                            .frame = FM_NONE, .stack = FM_NONE};
    if (r->levels > 0)
        p->node[p->nodes].parent = r->level[r->levels - 1].node + 1;
    return (uint32_t)p->nodes++;
}

static bool open_node(struct reading *r)
{
    uint32_t node = add_node(r);
    if (node == FM_NONE || !fm_grow(r->c->mem, (void **)&r->level, &r->cap, r->levels + 1,
                                    sizeof *r->level)) {
        r->c->oom = true;
        return false;
    }
    r->level[r->levels++] = (struct level){.node = node};
    return true;
}

static uint32_t place(int64_t v)
{
    return v > 0 && v < UINT32_MAX ? (uint32_t)v : 0;
}

/* What V8 makes up itself: names in parentheses without a script. */
static bool made_up(const char *s, size_t n)
{
    return n > 2 && s[0] == '(' && s[n - 1] == ')';
}

static bool close_node(struct reading *r)
{
    struct level *l = &r->level[--r->levels];
    struct fm_v8_node *node = &r->p->node[l->node];
    struct fm_frame_row frame = {.module = FM_NONE, .address = UINT64_MAX, .kind = FM_FRAME_JS};
    size_t n;
    const char *s = fm_builder_str_text(r->c->builder, l->function, &n);
    bool fresh;

    node->root = n == 6 && memcmp(s, "(root)", 6) == 0;
    if (l->url == 0 && made_up(s, n))
        frame.kind = FM_FRAME_SYNTHETIC;
    frame.function = n > 0 ? l->function : fm_builder_str(r->c->builder, "(anonymous)", 11);
    frame.file = l->url;
    frame.line = place(l->line);
    frame.column = frame.line != 0 ? place(l->column) : 0;
    node->frame = fm_builder_frame(r->c->builder, &frame);
    if (node->id == FM_V8_NO_ID)
        return true;
    uint64_t *slot = fm_map_put(&r->p->by_id, (uint64_t)node->id, &fresh);
    if (slot == NULL)
        return false;
    if (fresh)
        *slot = l->node;
    return true;
}

static void place_member(struct reading *r, struct level *l, enum fm_json_token t, bool line,
                         int64_t from)
{
    int64_t v = fm_v8_number(r->j, t, -1);
    v = v >= 0 && v < UINT32_MAX ? v + from : 0;
    if (line)
        l->line = v;
    else
        l->column = v;
}

/* A member that a callFrame and an old node share: the key has been read. 1 done, 0 not such a one,
 * -1 failed. */
static int frame_member(struct reading *r, struct level *l, int64_t from)
{
    struct fm_json *j = r->j;
    bool name = key_is(j, "functionName"), url = key_is(j, "url");
    bool line = key_is(j, "lineNumber"), column = key_is(j, "columnNumber");
    enum fm_json_token t;
    if (!name && !url && !line && !column)
        return 0;
    t = fm_json_next(j);
    if (t == FM_JSON_OBJECT || t == FM_JSON_ARRAY)
        return fm_json_skip(j, t) ? 1 : -1;
    if (name)
        l->function = fm_v8_str(r->c, j, t);
    else if (url)
        l->url = fm_v8_str(r->c, j, t);
    else
        place_member(r, l, t, line, from);
    return t > FM_JSON_END ? 1 : -1;
}

static bool call_frame(struct reading *r)
{
    enum fm_json_token t = fm_json_next(r->j);
    if (t != FM_JSON_OBJECT)
        return fm_json_skip(r->j, t);
    while ((t = fm_json_next(r->j)) == FM_JSON_KEY) {
        int got = frame_member(r, &r->level[r->levels - 1], 1);
        if (got < 0 || (got == 0 && !fm_json_skip(r->j, t)))
            return false;
    }
    return t == FM_JSON_OBJECT_END;
}

static bool add_edge(struct reading *r, enum fm_json_token t)
{
    struct fm_v8_profile *p = r->p;
    int64_t id = fm_v8_number(r->j, t, FM_V8_NO_ID);
    if (r->levels == 0 || id == FM_V8_NO_ID)
        return true;
    if (!fm_grow(r->c->mem, (void **)&p->edge, &p->edge_cap, p->edges + 1, sizeof *p->edge)) {
        r->c->oom = true;
        return false;
    }
    p->edge[p->edges++] = (struct fm_v8_edge){id, r->level[r->levels - 1].node};
    return true;
}

/* A member of the node that is open; its value is read, but of `children` only the '['. */
static bool node_member(struct reading *r)
{
    struct fm_json *j = r->j;
    struct fm_v8_node *node = &r->p->node[r->level[r->levels - 1].node];
    bool id = key_is(j, "id"), parent = key_is(j, "parent"), self = key_is(j, "selfSize");
    enum fm_json_token t;
    int got;
    if (key_is(j, "callFrame"))
        return call_frame(r);
    if (key_is(j, "children")) {
        t = fm_json_next(j);
        return t == FM_JSON_ARRAY || fm_json_skip(j, t);
    }
    got = frame_member(r, &r->level[r->levels - 1], 0);
    if (got != 0)
        return got > 0;
    if (!id && !parent && !self)
        return fm_json_skip(j, FM_JSON_KEY);
    t = fm_json_next(j);
    if (id)
        node->id = fm_v8_number(j, t, FM_V8_NO_ID);
    else if (parent)
        node->parent_id = fm_v8_number(j, t, FM_V8_NO_ID);
    else
        node->self = (uint64_t)FM_MAX(fm_v8_number(j, t, 0), 0);
    r->p->heap |= self;
    return fm_json_skip(j, t);
}

/* One token of nodes within nodes. */
static bool step(struct reading *r, enum fm_json_token t)
{
    switch (t) {
    case FM_JSON_OBJECT: return open_node(r);
    case FM_JSON_OBJECT_END: return close_node(r);
    case FM_JSON_KEY: return node_member(r);
    case FM_JSON_NUMBER:
    case FM_JSON_STRING: return add_edge(r, t);
    case FM_JSON_ARRAY: return fm_json_skip(r->j, t);   /* no place for one */
    case FM_JSON_ARRAY_END:
    case FM_JSON_TRUE:
    case FM_JSON_FALSE:
    case FM_JSON_NULL: return true;
    default: return false;
    }
}

bool fm_v8_nodes(struct fm_chrome *c, struct fm_v8_profile *p, struct fm_json *j, bool head)
{
    struct reading r = {.c = c, .p = p, .j = j};
    uint32_t depth = j->depth;
    bool ok = true;
    if (head)
        ok = open_node(&r);
    while (ok && j->depth >= depth)
        ok = step(&r, fm_json_next(j));
    /* Damage: what was read of open nodes is what there is. */
    while (r.levels > 0)
        if (!close_node(&r))
            c->oom = true;
    fm_mem_free(c->mem, r.level, r.cap * sizeof *r.level);
    return ok && !c->oom;
}

/* -------------------------------------------------------------------- stacks */

void fm_v8_parents(struct fm_chrome *c, struct fm_v8_profile *p)
{
    for (size_t i = 0; i < p->edges; i++) {
        uint64_t *at = fm_map_find(&p->by_id, (uint64_t)p->edge[i].child);
        if (at != NULL && p->node[*at].parent == 0)
            p->node[*at].parent = p->edge[i].parent + 1;
    }
    for (size_t i = 0; i < p->nodes; i++) {
        struct fm_v8_node *node = &p->node[i];
        if (node->parent != 0 || node->parent_id == FM_V8_NO_ID)
            continue;
        uint64_t *at = fm_map_find(&p->by_id, (uint64_t)node->parent_id);
        if (at != NULL)
            node->parent = (uint32_t)*at + 1;
        else
            fm_chrome_diag(c, FM_DIAG_STACK_PARENT, FM_NO_OFFSET);
    }
}

/* The stack of a node whose parent's is known. */
static void make_stack(struct fm_chrome *c, const struct fm_v8_profile *p, struct fm_v8_node *node,
                       bool top)
{
    uint64_t cap = c->ctx->cap[FM_CAP_STACK_DEPTH];
    const struct fm_v8_node *up = top ? NULL : &p->node[node->parent - 1];
    fm_node parent = up != NULL ? up->stack : FM_NODE_ROOT;
    node->depth = up != NULL ? up->depth : 0;
    node->cut = up != NULL && up->cut;
    node->busy = false;
    if (node->root && node->depth == 0) {
        node->stack = FM_NODE_ROOT;
        return;
    }
    /* Deeper than allowed: a new stack begins, so that each node is made once. */
    if (cap != 0 && node->depth >= cap) {
        parent = FM_NODE_ROOT;
        node->depth = 0;
        node->cut = true;
    }
    node->depth++;
    node->stack = fm_builder_node(c->builder, parent, node->frame);
}

fm_node fm_v8_stack(struct fm_chrome *c, struct fm_v8_profile *p, uint32_t index)
{
    size_t n = 0;
    bool top = false;
    while (p->node[index].stack == FM_NONE && !p->node[index].busy) {
        if (!fm_grow(c->mem, (void **)&p->path, &p->path_cap, n + 1, sizeof *p->path)) {
            c->oom = true;
            return FM_NONE;
        }
        p->path[n++] = index;
        p->node[index].busy = true;
        if (p->node[index].parent == 0) {
            top = true;
            break;
        }
        index = p->node[index].parent - 1;
    }
    if (n == 0)
        return p->node[index].stack;
    if (!top && p->node[index].busy) {
        top = true;            /* a circle: its first node is taken as outermost */
        fm_chrome_diag(c, FM_DIAG_STACK_PARENT, FM_NO_OFFSET);
    }
    index = p->path[0];
    for (; n > 0; top = false)
        make_stack(c, p, &p->node[p->path[--n]], top);
    if (fm_builder_status(c->builder) != FM_OK)
        return FM_NONE;
    return p->node[index].stack;
}
