/*
 * editcompile.c - edits of `stack:` from YAML: one map an edit, its operator and its options.
 *
 *     {drop: PREDICATE, empty: drop}   {collapse: {run: PREDICATE, as: NAME}}   {depth: 20}
 */
#include "query/category.h"
#include "query/edit.h"

#include "util/text.h"

static const char *const op_name[] = {
    "keep", "drop", "root", "leaf", "collapse", "rename", "level", "inlines", "prepend", "append",
    "invert", "depth"
};

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
    edit->op = keep ? FM_EDIT_KEEP : FM_EDIT_DROP;
    edit->p = p;
    return edit;
}

static bool wrong(struct fm_compile *c, const struct fm_yaml_node *at, const char *message)
{
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), at, "%s", message);
    return false;
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

/* A text that is not empty: the name of a frame. */
static bool name_of_frame(struct fm_compile *c, struct fm_edit *edit,
                          const struct fm_yaml_node *node, const char *message)
{
    struct fm_scalar s;

    if (node->type != FM_YAML_SCALAR || node->n == 0)
        return wrong(c, node, message);
    if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
        return false;
    if (s.n == 0 && !s.unknown)
        return wrong(c, node, message);
    edit->as = s.text;
    edit->as_n = s.n;
    return true;
}

static bool compile_collapse(struct fm_compile *c, struct fm_edit *edit,
                             const struct fm_yaml_node *node)
{
    static const char *const known[] = { "recursion", "of", "run", "as" };
    static const char *const how[] = { "direct", "all" };
    static const char usage[] =
        "'collapse' takes {recursion: direct|all, of: P} or {run: P, as: NAME}";
    const struct fm_yaml_node *recursion, *run, *of, *as;
    int k;

    if (node->type != FM_YAML_MAP)
        return wrong(c, node, usage);
    if (!fm_yaml_known(c->log, node, known, FM_COUNT(known), "key"))
        return false;
    recursion = fm_yaml_get(node, "recursion");
    run = fm_yaml_get(node, "run");
    of = fm_yaml_get(node, "of");
    as = fm_yaml_get(node, "as");
    if ((recursion == NULL) == (run == NULL) || (run != NULL && (as == NULL || of != NULL))
        || (recursion != NULL && as != NULL))
        return wrong(c, node, usage);
    if (recursion != NULL) {
        k = word(c, recursion, "recursion", how, FM_COUNT(how));
        edit->collapse = k == 1 ? FM_COLLAPSE_ALL : FM_COLLAPSE_DIRECT;
        if (of != NULL)
            edit->p = fm_pred_compile(c, of, FM_SCOPE_FRAMES);
        return k >= 0 && (of == NULL || edit->p != NULL);
    }
    edit->collapse = FM_COLLAPSE_RUN;
    edit->p = fm_pred_compile(c, run, FM_SCOPE_FRAMES);
    return name_of_frame(c, edit, as, "'as' takes the name of the frame") && edit->p != NULL;
}

/* \0 … \9 and \\ in the new name: groups that the pattern has. */
static bool check_groups(struct fm_compile *c, const struct fm_edit *edit,
                         const struct fm_yaml_node *to)
{
    const struct fm_pattern *match = edit->p->op == FM_PRED_TEST ? edit->p->test.pattern : NULL;
    size_t groups = match == NULL ? 0 : fm_pattern_groups(match);

    groups = FM_MAX(groups, 1u);
    for (size_t i = 0; i < edit->as_n; i++) {
        char next = i + 1 < edit->as_n ? edit->as[i + 1] : '\0';
        if (edit->as[i] != '\\')
            continue;
        i++;
        if (next == '\\' || (next >= '0' && next <= '9' && (size_t)(next - '0') < groups))
            continue;
        if (next >= '0' && next <= '9')
            fm_yaml_error(fm_yaml_as(c->log, FM_YAML_REGEX), to,
                          "'match' has no group \\%c: it has %zu", next, groups - 1);
        else
            fm_yaml_error(fm_yaml_as(c->log, FM_YAML_REGEX), to,
                          "a '\\' in 'to' stands before the number of a group, or another '\\'");
        return false;
    }
    return true;
}

static bool compile_rename(struct fm_compile *c, struct fm_edit *edit,
                           const struct fm_yaml_node *node)
{
    static const char *const known[] = { "match", "to" };
    const struct fm_yaml_node *match, *to;
    bool ok;

    if (node->type != FM_YAML_MAP)
        return wrong(c, node, "'rename' takes {match: /REGEX/, to: NAME}");
    if (!fm_yaml_known(c->log, node, known, FM_COUNT(known), "key"))
        return false;
    match = fm_yaml_get(node, "match");
    to = fm_yaml_get(node, "to");
    if (match == NULL || to == NULL) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_MISSING), node, "'rename' has no '%s'",
                      match == NULL ? "match" : "to");
        return false;
    }
    edit->p = fm_pred_compile(c, match, FM_SCOPE_FRAMES);
    ok = name_of_frame(c, edit, to, "'to' takes the new name");
    return ok && edit->p != NULL && check_groups(c, edit, to);
}

static bool compile_depth(struct fm_compile *c, struct fm_edit *edit,
                          const struct fm_yaml_node *node)
{
    static const char *const known[] = { "max", "from" };
    static const char *const end[] = { "root", "leaf" };
    const struct fm_yaml_node *max = node, *from = NULL;
    struct fm_scalar s;
    uint64_t n = 0;
    int k = 0;

    if (node->type == FM_YAML_MAP) {
        if (!fm_yaml_known(c->log, node, known, FM_COUNT(known), "key"))
            return false;
        max = fm_yaml_get(node, "max");
        from = fm_yaml_get(node, "from");
    }
    if (from != NULL)
        k = word(c, from, "from", end, FM_COUNT(end));
    edit->from_leaf = k == 1;
    if (max == NULL || max->type != FM_YAML_SCALAR)
        return wrong(c, node, "'depth' takes {max: N, from: root|leaf}");
    if (k < 0 || !fm_scalar_get(c->q, c->arena, c->log, max, &s))
        return false;
    edit->whole = s.unknown || (s.n == 3 && memcmp(s.text, "all", 3) == 0);
    if (edit->whole)
        return true;
    if (!fm_text_u64(s.text, s.n, &n) || n == 0)
        return wrong(c, max, "'depth' keeps a number of frames, 1 or more, or all");
    edit->max = (uint32_t)FM_MIN(n, (uint64_t)UINT32_MAX - 1);
    return true;
}

static bool compile_link(struct fm_compile *c, struct fm_edit *edit,
                         const struct fm_yaml_node *node)
{
    static const char *const kind[] = { "launch", "waker", "flow", "parent" };
    int k = word(c, node, "link", kind, FM_COUNT(kind));
    enum fm_link_kind link = FM_LINK_LAUNCH;

    edit->link = fm_arena_alloc(c->arena, sizeof *edit->link);
    if (k < 0 || edit->link == NULL || !fm_link_kind_find(kind[k], &link))
        return false;
    *edit->link = (struct fm_operand){ .place = FM_AT_COLUMN, .id = FM_COL_STACK,
                                       .type = FM_TYPE_STACK, .via = FM_VIA(link), .unit = "",
                                       .slot = -1 };
    return true;
}

static bool compile_column(struct fm_compile *c, struct fm_edit_column *col,
                           const struct fm_yaml_node *node)
{
    const struct fm_yaml_node *value = node;
    struct fm_scalar s;
    uint32_t k;

    if (node->type == FM_YAML_MAP)
        value = node->n == 1 ? node->pair[0].value : NULL;
    if (value == NULL || value->type != FM_YAML_SCALAR)
        return wrong(c, node, "a pseudo frame is the name of a column, or {NAME: EXPRESSION}");
    if (!fm_scalar_get(c->q, c->arena, c->log, value, &s))
        return false;
    if (node->type == FM_YAML_MAP) {
        col->name = node->pair[0].key;
        col->expr = fm_compile_expr(c, FM_SCOPE_ROWS, &s);
        return col->expr != NULL;
    }
    col->name = s.unknown ? "ts" : s.text;
    k = fm_operand_find(c, FM_SCOPE_ROWS, col->name, strlen(col->name));
    if (k != FM_NONE) {
        col->operand = c->operand[k];
        if (col->operand->type != FM_TYPE_STACK)
            return true;
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node,
                      "'%s' is a stack: {link: KIND} puts stacks around stacks", col->name);
        return false;
    }
    if (!c->arena->oom) {
        size_t n;
        const char *const *list = fm_operand_names(c, FM_SCOPE_ROWS, &n);
        if (list != NULL)
            fm_yaml_unknown(c->log, node, "column", col->name, list, n);
    }
    return false;
}

/* prepend, append: a name, a list, {NAME: EXPRESSION}, or {link: KIND}. */
static bool compile_pseudo(struct fm_compile *c, struct fm_edit *edit,
                           const struct fm_yaml_node *node)
{
    size_t n = node->type == FM_YAML_LIST ? node->n : 1;
    bool ok = true;

    if (node->type == FM_YAML_MAP && node->n == 1 && strcmp(node->pair[0].key, "link") == 0)
        return compile_link(c, edit, node->pair[0].value);
    edit->col = fm_arena_alloc(c->arena, (n + 1) * sizeof *edit->col);
    if (edit->col == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        ok = compile_column(c, &edit->col[edit->cols++],
                            node->type == FM_YAML_LIST ? node->item[i] : node) && ok;
    return ok;
}

static bool compile_value(struct fm_compile *c, struct fm_edit *edit,
                          const struct fm_yaml_node *value)
{
    static const char *const level[] = { "function", "file", "line", "address", "module",
                                         "category" };
    static const char *const how[] = { "expand", "fold" };
    static const char *const truth[] = { "false", "true" };
    int k;

    switch (edit->op) {
    case FM_EDIT_COLLAPSE:
        return compile_collapse(c, edit, value);
    case FM_EDIT_RENAME:
        return compile_rename(c, edit, value);
    case FM_EDIT_LEVEL:
        k = word(c, value, "level", level, FM_COUNT(level));
        edit->level = k < 0 ? FM_LEVEL_FUNCTION : (enum fm_edit_level)k;
        if (edit->level == FM_LEVEL_CATEGORY)
            (void)fm_categories_load(c);
        return k >= 0;
    case FM_EDIT_INLINES:
        k = word(c, value, "inlines", how, FM_COUNT(how));
        edit->fold = k == 1;
        return k >= 0;
    case FM_EDIT_INVERT:
        k = fm_yaml_is_null(value) ? 1 : word(c, value, "invert", truth, FM_COUNT(truth));
        edit->whole = k == 0;
        return k >= 0;
    case FM_EDIT_DEPTH:
        return compile_depth(c, edit, value);
    case FM_EDIT_PREPEND:
    case FM_EDIT_APPEND:
        return compile_pseudo(c, edit, value);
    default:
        edit->p = fm_pred_compile(c, value, FM_SCOPE_FRAMES);
        return edit->p != NULL;
    }
}

static bool compile_option(struct fm_compile *c, struct fm_edit *edit,
                           const struct fm_yaml_pair *pair)
{
    static const char *const place[] = { "outermost", "innermost" };
    static const char *const missing[] = { "keep", "drop" };
    bool at = strcmp(pair->key, "at") == 0;
    bool cut = edit->op == FM_EDIT_ROOT || edit->op == FM_EDIT_LEAF;
    int k;

    if (at && cut) {
        k = word(c, pair->value, "at", place, FM_COUNT(place));
        edit->innermost = k == 1;
        return k >= 0;
    }
    if ((strcmp(pair->key, "missing") == 0 && cut)
        || (strcmp(pair->key, "empty") == 0 && edit->op <= FM_EDIT_DROP)) {
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
                                              const struct fm_yaml_node *node,
                                              enum fm_edit_op *op)
{
    const struct fm_yaml_pair *first = NULL;

    if (node->type != FM_YAML_MAP || node->n == 0) {
        wrong(c, node, "a stack edit is a map such as {drop: PREDICATE}");
        return NULL;
    }
    for (size_t i = 0; i < node->n; i++) {
        for (size_t k = 0; k < FM_COUNT(op_name); k++) {
            if (strcmp(node->pair[i].key, op_name[k]) != 0)
                continue;
            if (first != NULL) {
                fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_UNKNOWN), &node->pair[i],
                                  "one edit has '%s' and '%s': give each its own '-'", first->key,
                                  node->pair[i].key);
                return NULL;
            }
            first = &node->pair[i];
            *op = (enum fm_edit_op)k;
        }
    }
    if (first == NULL) {
        const char *near = fm_text_nearest(node->pair[0].key, op_name, FM_COUNT(op_name));
        fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_UNKNOWN),
                          &node->pair[0], "unknown stack edit '%s'%s%s%s",
                          node->pair[0].key, near ? " (did you mean '" : "", near ? near : "",
                          near ? "'?)" : "");
        fm_yaml_note(c->log, "stack edits are: keep drop root leaf collapse rename level inlines "
                             "prepend append invert depth");
    }
    return first;
}

struct fm_edit *fm_edit_compile(struct fm_compile *c, const struct fm_yaml_node *node)
{
    struct fm_edit *edit = fm_arena_alloc(c->arena, sizeof *edit);
    const struct fm_yaml_pair *pair;

    if (edit == NULL)
        return NULL;
    edit->at = node;
    if (fm_yaml_is(node, "invert")) {
        edit->op = FM_EDIT_INVERT;
        return edit;
    }
    pair = operator_of(c, node, &edit->op);
    if (pair == NULL)
        return NULL;
    edit->innermost = edit->op == FM_EDIT_LEAF;
    edit->drop = edit->op == FM_EDIT_ROOT;
    if (!compile_value(c, edit, pair->value))
        return NULL;
    for (size_t i = 0; i < node->n; i++) {
        if (&node->pair[i] != pair && !compile_option(c, edit, &node->pair[i]))
            return NULL;
    }
    return edit;
}
