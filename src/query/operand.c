/*
 * operand.c - names in queries: what `thread`, `leaf.function` or `label.class` stand for.
 *
 * A bare name is a built-in column, else a value derived from the thread table (pid, process …),
 * else a label; label.X and arg.X force a label; leaf.X and root.X are attributes of the innermost
 * and the outermost frame. In a table (after `group`) names are its columns. Without a store (a
 * check) a name that is none of the built-in ones may be a label: FM_AT_LATER. self_dur, the last
 * of the names, is there for spans only.
 *
 * waker.X, launch.X, parent.X and link.X are X of the row, stack or thread that a link of that kind
 * (of any kind) leads to; there X may also be `path`. Rows of `from: launches` are pairs of a call
 * and what it launched: columns and frames are the call's (launch.X says the same), labels are
 * those of what was launched, and link.X is X of that.
 */
#include "query/category.h"

#include "util/text.h"

static const char *const row_name[] = {
    "ts", "dur", "event", "weight", "count", "value", "thread", "cpu", "name", "category", "comm",
    "pid", "tid", "process", "container", "source", "command",
    "leaf.function", "leaf.module", "leaf.file", "leaf.line", "leaf.address", "leaf.kind",
    "leaf.raw", "leaf.category", "root.function", "root.module", "root.file", "root.line",
    "root.address", "root.kind", "root.raw", "root.category", "self_dur"
};

static const struct {
    const char *prefix;
    uint8_t via;
} link_prefix[] = {
    { "waker.", FM_VIA(FM_LINK_WAKER) }, { "launch.", FM_VIA(FM_LINK_LAUNCH) },
    { "parent.", FM_VIA(FM_LINK_PARENT) }, { "link.", FM_VIA_ANY }
};

static bool starts(const char *s, size_t n, const char *prefix, size_t *len)
{
    *len = strlen(prefix);
    return n > *len && memcmp(s, prefix, *len) == 0;
}

static bool same(const char *s, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(s, word, n) == 0;
}

uint32_t fm_schema_find(const struct fm_schema *schema, const char *name, size_t n)
{
    for (size_t i = 0; i < schema->n; i++) {
        if (same(name, n, schema->column[i].name) || same(name, n, schema->column[i].full))
            return (uint32_t)i;
    }
    return FM_NONE;
}

static uint32_t add(struct fm_compile *c, const struct fm_operand *operand)
{
    struct fm_operand *o = fm_arena_alloc(c->arena, sizeof *o);

    if (o == NULL)
        return FM_NONE;
    *o = *operand;
    o->slot = -1;
    if (o->unit == NULL)
        o->unit = "";
    if (c->operands == c->operand_cap) {
        size_t cap = c->operand_cap == 0 ? 16 : 2 * c->operand_cap;
        struct fm_operand **list = fm_arena_alloc(c->arena, cap * sizeof *list);
        if (list == NULL)
            return FM_NONE;
        if (c->operands > 0)
            memcpy(list, c->operand, c->operands * sizeof *list);
        c->operand = list;
        c->operand_cap = cap;
    }
    c->operand[c->operands] = o;
    return (uint32_t)c->operands++;
}

static const char *type_unit(enum fm_type type)
{
    switch (type) {
    case FM_TYPE_TIME:
    case FM_TYPE_DUR:
        return "ns";
    case FM_TYPE_BYTES:
        return "bytes";
    default:
        return "";
    }
}

static bool builtin(struct fm_compile *c, const char *name, struct fm_operand *o)
{
    static const struct {
        const char *name;
        fm_column col;
        enum fm_type type;
    } column[] = {
        { "ts", FM_COL_TS, FM_TYPE_TIME }, { "dur", FM_COL_DUR, FM_TYPE_DUR },
        { "count", FM_COL_COUNT, FM_TYPE_U64 }, { "value", FM_COL_VALUE, FM_TYPE_F64 },
        { "thread", FM_COL_THREAD, FM_TYPE_THREAD }, { "cpu", FM_COL_CPU, FM_TYPE_I64 },
        { "name", FM_COL_NAME, FM_TYPE_STRING },
        { "category", FM_COL_CATEGORY, FM_TYPE_STRING },
        { "comm", FM_COL_COMM, FM_TYPE_STRING }
    };
    int derived;

    if (strcmp(name, "weight") == 0) {
        *o = (struct fm_operand){ .place = FM_AT_WEIGHT, .type = FM_TYPE_U64, .unit = c->unit,
                                  .weigh = c->weigh };
        return true;
    }
    if (c->from == FM_FROM_SPANS && strcmp(name, "self_dur") == 0) {
        *o = (struct fm_operand){ .place = FM_AT_SELF, .type = FM_TYPE_DUR, .unit = "ns" };
        return true;
    }
    for (size_t i = 0; i < FM_COUNT(column); i++) {
        if (strcmp(name, column[i].name) != 0)
            continue;
        *o = (struct fm_operand){ .place = FM_AT_COLUMN, .id = column[i].col,
                                  .type = column[i].type, .unit = type_unit(column[i].type) };
        return true;
    }
    derived = fm_derived_find(name);
    if (derived < 0)
        return false;
    *o = (struct fm_operand){ .place = FM_AT_DERIVED, .id = (uint32_t)derived,
                              .type = fm_derived_type((enum fm_derived)derived) };
    return true;
}

uint8_t fm_operand_via(const char *name, size_t n, size_t *skip)
{
    for (size_t i = 0; i < FM_COUNT(link_prefix); i++) {
        if (starts(name, n, link_prefix[i].prefix, skip))
            return link_prefix[i].via;
    }
    *skip = 0;
    return 0;
}

void fm_operand_unlinked(struct fm_compile *c, const struct fm_yaml_node *at,
                         const struct fm_yaml_pair *key, const char *name)
{
    struct fm_yaml_log *log = fm_yaml_as(c->log, FM_YAML_UNKNOWN);

    if (key != NULL)
        fm_yaml_error_key(log, key, "unknown column '%s'", name);
    else
        fm_yaml_error(log, at, "unknown column '%s'", name);
    fm_yaml_note(c->log, "of linked rows there are columns, labels, path, leaf.X and root.X");
}

static bool of_frame(struct fm_compile *c, const char *name, size_t n, struct fm_operand *o)
{
    enum fm_attr attr;
    size_t skip;
    bool leaf = starts(name, n, "leaf.", &skip);

    if ((!leaf && !starts(name, n, "root.", &skip))
        || !fm_attr_resolve(c, name + skip, n - skip, &attr))
        return false;
    *o = (struct fm_operand){ .place = leaf ? FM_AT_LEAF : FM_AT_ROOT, .id = attr,
                              .type = fm_attr_type(attr) };
    return true;
}

static bool of_label(struct fm_compile *c, const char *name, struct fm_operand *o)
{
    if (c->store == NULL) {
        *o = (struct fm_operand){ .place = FM_AT_LATER, .type = FM_TYPE_STRING, .untyped = true };
        return true;
    }
    o->id = fm_store_column_find(c->store, name);
    if (o->id == FM_NONE)
        return false;
    o->place = FM_AT_COLUMN;
    o->type = fm_store_column_info(c->store, o->id)->type;
    o->unit = type_unit(o->type);
    return true;
}

/* What was launched: the label of that name, else the name of the row. */
static void of_kernel(struct fm_compile *c, struct fm_operand *o)
{
    if (c->store == NULL || fm_store_column_find(c->store, "label.kernel") == FM_NONE)
        *o = (struct fm_operand){ .place = FM_AT_COLUMN, .id = FM_COL_NAME,
                                  .type = FM_TYPE_STRING };
    else
        (void)of_label(c, "label.kernel", o);
}

/* A name of the row at hand, or with `via` of a linked one. */
static bool of_one(struct fm_compile *c, const char *name, size_t n, uint8_t via,
                   struct fm_operand *o)
{
    size_t skip;

    if (starts(name, n, "leaf.", &skip) || starts(name, n, "root.", &skip))
        return of_frame(c, name, n, o);
    if (!starts(name, n, "label.", &skip) && !starts(name, n, "arg.", &skip)
        && !starts(name, n, "args.", &skip) && builtin(c, name, o)) {
        if (via != 0 && o->place == FM_AT_WEIGHT)
            *o = (struct fm_operand){ .place = FM_AT_COLUMN, .id = FM_COL_WEIGHT,
                                      .type = FM_TYPE_U64 };
        return via == 0 || o->place != FM_AT_SELF;
    }
    if (via == 0 && fm_interval_find(c, name, o))
        return true;
    if (via != 0 && same(name, n, "path")) {
        *o = (struct fm_operand){ .place = FM_AT_PATH, .type = FM_TYPE_STACK };
        return true;
    }
    if (same(name, n, "stack") || same(name, n, "path"))
        return false;
    if (of_label(c, name, o))
        return true;
    /* a recorder may not say how a thread slept: null, so that questions about it get answers */
    *o = (struct fm_operand){ .place = FM_AT_LATER, .type = FM_TYPE_STRING, .unit = "" };
    return same(name, n, "state") && (c->from == FM_FROM_OFFCPU || c->from == FM_FROM_RUNQ);
}

static bool of_rows(struct fm_compile *c, const char *name, size_t n, struct fm_operand *o)
{
    bool launches = c->from == FM_FROM_LAUNCHES;
    size_t skip;
    uint8_t via = fm_operand_via(name, n, &skip);

    if (launches && via == FM_VIA_ANY)
        via = 0;                       /* the row of the store is what was launched */
    else if (launches && via == 0 && same(name, n, "kernel"))
        return of_kernel(c, o), true;
    else if (launches && via == 0) {
        struct fm_operand own = { .unit = "" };
        if (!of_one(c, name, n, FM_VIA(FM_LINK_LAUNCH), &own))
            return false;
        if (own.place == FM_AT_LATER || (own.place == FM_AT_COLUMN && own.id >= FM_COL_LABELS)
            || same(name, n, "weight") || same(name, n, "count"))
            return of_one(c, name, n, 0, o);
        *o = own;
        o->via = FM_VIA(FM_LINK_LAUNCH);
        return true;
    }
    if (!of_one(c, name + skip, n - skip, skip > 0 ? FM_VIA_ANY : 0, o))
        return false;
    o->via = o->place == FM_AT_LATER ? 0 : via;
    return true;
}

uint32_t fm_operand_find(struct fm_compile *c, enum fm_scope scope, const char *name, size_t n)
{
    struct fm_operand o = { .unit = "" };
    const char *copy = fm_arena_strn(c->arena, name, n);
    enum fm_attr attr;

    if (copy == NULL)
        return FM_NONE;
    if (scope == FM_SCOPE_FRAMES) {
        if (!fm_attr_resolve(c, name, n, &attr))
            return FM_NONE;
        o.place = FM_AT_FRAME;
        o.id = attr;
        o.type = fm_attr_type(attr);
    } else if (scope == FM_SCOPE_TABLE) {
        o.place = FM_AT_TABLE;
        o.id = fm_schema_find(c->schema, name, n);
        if (o.id == FM_NONE && c->schema->open) {
            o = (struct fm_operand){ .place = FM_AT_LATER, .type = FM_TYPE_STRING,
                                     .unit = "", .untyped = true, .name = copy };
            return add(c, &o);
        }
        if (o.id == FM_NONE)
            return FM_NONE;
        o.unit = c->schema->column[o.id].unit;
        o.untyped = c->schema->column[o.id].untyped;
        switch (c->schema->column[o.id].type) {
        case FM_CELL_TEXT:
        case FM_CELL_PATH:
            o.type = FM_TYPE_STRING;
            break;
        case FM_CELL_BOOL:
            o.type = FM_TYPE_BOOL;
            break;
        default:
            o.type = FM_TYPE_F64;
            break;
        }
    } else if (!of_rows(c, copy, n, &o)) {
        return FM_NONE;
    }
    o.name = copy;
    return add(c, &o);
}

const char *const *fm_operand_names(struct fm_compile *c, enum fm_scope scope, size_t *n)
{
    const char **list;
    size_t labels, k = 0;

    if (scope == FM_SCOPE_FRAMES) {
        list = fm_arena_alloc(c->arena, FM_ATTRS * sizeof *list);
        for (; list != NULL && k < FM_ATTRS; k++)
            list[k] = fm_attr_text((enum fm_attr)k);
        *n = k;
        return list;
    }
    if (scope == FM_SCOPE_TABLE) {
        list = fm_arena_alloc(c->arena, (2 * c->schema->n + 1) * sizeof *list);
        for (size_t i = 0; list != NULL && i < c->schema->n; i++) {
            const struct fm_schema_column *col = &c->schema->column[i];
            list[k++] = col->name;
            if (strcmp(col->name, col->full) != 0)
                list[k++] = col->full;
        }
        *n = k;
        return list;
    }
    labels = c->store == NULL ? FM_COL_LABELS : fm_store_columns(c->store);
    list = fm_arena_alloc(c->arena, (FM_COUNT(row_name) + labels) * sizeof *list);
    for (; list != NULL && k < FM_COUNT(row_name) - (c->from != FM_FROM_SPANS); k++)
        list[k] = row_name[k];
    for (size_t i = FM_COL_LABELS; list != NULL && i < labels; i++)
        list[k++] = fm_store_str(c->store,
                                 fm_store_column_info(c->store, (fm_column)i)->name, NULL);
    *n = k;
    return list;
}

/* ------------------------------------------------------------- expressions */

bool fm_compile_variable(struct fm_compile *c, struct fm_expr *node)
{
    const char *name = node->name + 1;
    const struct fm_param *p =
        c->q == NULL ? NULL : fm_param_find(c->q, name, strlen(name));

    if (p == NULL)
        return false;
    node->op = FM_EXPR_CONST;
    node->value = p->value;
    node->unit = p->unit;
    return true;
}

struct resolver {
    struct fm_compile *c;
    enum fm_scope scope;
};

static bool resolve_name(void *user, struct fm_expr *node)
{
    struct resolver *r = user;

    if (node->name[0] == '$')
        return fm_compile_variable(r->c, node);
    node->ref = fm_operand_find(r->c, r->scope, node->name, strlen(node->name));
    if (node->ref == FM_NONE)
        return false;
    node->unit = r->c->operand[node->ref]->unit;
    return true;
}

/* stack.has(function: malloc*, module: libc*): all of the named conditions on one frame. */
bool fm_compile_call(struct fm_compile *c, struct fm_expr *node)
{
    struct fm_operand o = { .place = FM_AT_NODE, .type = FM_TYPE_BOOL, .unit = "" };
    struct fm_pred *all, *p;

    if (strcmp(node->name, "stack.has") != 0 || node->args == 0)
        return false;
    all = fm_arena_alloc(c->arena, sizeof *all);
    p = fm_arena_alloc(c->arena, sizeof *p);
    if (all == NULL || p == NULL)
        return false;
    all->op = FM_PRED_AND;
    all->arg = fm_arena_alloc(c->arena, node->args * sizeof(struct fm_pred *));
    if (all->arg == NULL)
        return false;
    for (size_t i = 0; i < node->args; i++) {
        const char *name = node->arg_name != NULL ? node->arg_name[i] : NULL;
        struct fm_yaml_node value = { .type = FM_YAML_SCALAR };
        struct fm_yaml_node *at;
        uint32_t k;
        if (node->arg[i]->op != FM_EXPR_CONST || node->arg[i]->value.type != FM_TEXT)
            return false;
        k = fm_operand_find(c, FM_SCOPE_FRAMES, name != NULL ? name : "function",
                            name != NULL ? strlen(name) : 8);
        at = fm_arena_alloc(c->arena, sizeof *at);
        if (k == FM_NONE || at == NULL)
            return false;
        value.text = node->arg[i]->value.text.s;
        value.n = node->arg[i]->value.text.n;
        *at = value;
        all->arg[i] = fm_pred_column(c, c->operand[k], at, FM_SCOPE_FRAMES);
        if (all->arg[i] == NULL)
            return false;
        all->args++;
    }
    p->op = FM_PRED_STACK;
    p->stack = FM_STACK_HAS;
    p->arg = fm_arena_alloc(c->arena, sizeof(struct fm_pred *));
    if (p->arg == NULL)
        return false;
    p->arg[0] = all;
    p->args = 1;
    o.pred = p;
    o.name = node->name;
    node->ref = add(c, &o);
    node->unit = "";
    return node->ref != FM_NONE;
}

static bool resolve_call(void *user, struct fm_expr *node)
{
    struct resolver *r = user;

    return r->scope == FM_SCOPE_ROWS && fm_compile_call(r->c, node);
}

/* Equality of a list and a text is membership: the node becomes the test of one element. */
static bool member(struct fm_compile *c, const struct fm_yaml_node *at, struct fm_expr *e,
                   struct fm_operand *list, const struct fm_value *text)
{
    struct fm_operand o = { .place = FM_AT_MEMBER, .type = FM_TYPE_BOOL, .name = list->name };
    struct fm_yaml_node *is = fm_arena_alloc(c->arena, 2 * sizeof *is);
    struct fm_yaml_pair *pair = fm_arena_alloc(c->arena, sizeof *pair);
    struct fm_expr *ref = e;

    if (is == NULL || pair == NULL)
        return false;
    is[0] = (struct fm_yaml_node){ .type = FM_YAML_MAP, .n = 1, .pair = pair };
    is[1] = (struct fm_yaml_node){ .type = FM_YAML_SCALAR, .text = text->text.s,
                                   .n = text->text.n };
    is[0].line = is[1].line = at == NULL ? 0 : at->line;
    is[0].column = is[1].column = at == NULL ? 0 : at->column;
    *pair = (struct fm_yaml_pair){ .key = "is", .value = &is[1] };
    o.pred = fm_pred_column(c, list, is, FM_SCOPE_ROWS);
    if (o.pred == NULL)
        return false;
    o.pred = o.pred->arg[0];
    if (e->op == FM_EXPR_NE) {
        ref = e->arg[0];
        e->op = FM_EXPR_NOT;
        e->args = 1;
    }
    ref->op = FM_EXPR_REF;
    ref->args = 0;
    ref->unit = "";
    ref->name = list->name;
    ref->ref = add(c, &o);
    return ref->ref != FM_NONE;
}

bool fm_compile_members(struct fm_compile *c, const struct fm_yaml_node *at, struct fm_expr *e)
{
    bool equal = e->op == FM_EXPR_EQ || e->op == FM_EXPR_NE;

    for (size_t k = 0; equal && k < 2; k++) {
        const struct fm_expr *ref = e->arg[k], *text = e->arg[1 - k];
        if (ref->op == FM_EXPR_REF && ref->ref != FM_NONE && text->op == FM_EXPR_CONST
            && text->value.type == FM_TEXT && fm_operand_is_list(c->operand[ref->ref]))
            return member(c, at, e, c->operand[ref->ref], &text->value);
    }
    for (size_t i = 0; i < e->args; i++) {
        if (!fm_compile_members(c, at, e->arg[i]))
            return false;
    }
    return true;
}

struct fm_expr *fm_compile_expr(struct fm_compile *c, enum fm_scope scope,
                                const struct fm_scalar *s)
{
    struct resolver r = { c, scope };
    struct fm_expr_names names = { .user = &r, .name = resolve_name, .call = resolve_call };
    struct fm_expr *e;

    names.list = fm_operand_names(c, scope, &names.lists);
    if (names.list == NULL)
        return NULL;
    e = fm_expr_parse(c->arena, s->at, s->text, s->n, &names, c->log);
    return e != NULL && scope == FM_SCOPE_ROWS && !fm_compile_members(c, s->at, e) ? NULL : e;
}

bool fm_compile_keep(struct fm_compile *c, struct fm_pattern *pattern)
{
    if (c->patterns == c->pattern_cap) {
        size_t cap = c->pattern_cap == 0 ? 16 : 2 * c->pattern_cap;
        struct fm_pattern **list = fm_arena_alloc(c->arena, cap * sizeof *list);
        if (list == NULL) {
            fm_pattern_free(pattern);
            return false;
        }
        if (c->patterns > 0)
            memcpy(list, c->pattern, c->patterns * sizeof *list);
        c->pattern = list;
        c->pattern_cap = cap;
    }
    c->pattern[c->patterns++] = pattern;
    return true;
}

void fm_compile_release(struct fm_compile *c)
{
    for (size_t i = 0; i < c->patterns; i++)
        fm_pattern_free(c->pattern[i]);
    c->patterns = 0;
    fm_categories_release(c->categories);
    c->categories = NULL;
}
