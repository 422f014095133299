/*
 * params.c - parameters of a query: declaration, typed values, substitution.
 *
 *     params: {n: {type: int, default: 20, min: 1}}      fm_params_parse()
 *     -p n=5, -p fn='{module: libc.so*}'                 fm_query_set()
 *     limit: $n                                          fm_scalar_get()
 *
 * Values keep their text as written beside the typed value, because a glob or a predicate is used
 * as text and an error shows what the user wrote. `all` (no limit), `auto` (event) and `none` (a
 * predicate that matches nothing) are reserved. The rules are those of man/foldmill-queries.5.
 */
#include "query/lang.h"

#include "util/error.h"
#include "util/text.h"

#include <stdio.h>

static const char *const type_name[FM_PARAM_TYPES] = {
    "int", "number", "percent", "time", "range", "size",
    "string", "glob", "pred", "event", "column", "bool"
};

const char *fm_param_type_text(enum fm_param_type type)
{
    fm_assert((size_t)type < FM_COUNT(type_name));
    return type_name[type];
}

static bool is(const char *s, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(s, word, n) == 0;
}

static bool parse_number(enum fm_param_type type, const char *s, size_t n, struct fm_value *value,
                         const char **unit)
{
    int64_t i;
    uint64_t u;
    double f;
    const char *has = "";

    *unit = "";
    switch (type) {
    case FM_PARAM_INT:
        if (!fm_text_i64(s, n, &i))
            return false;
        *value = fm_value_i64(i);
        return true;
    case FM_PARAM_TIME:
        if (!fm_text_time(s, n, &i))
            return false;
        *value = fm_value_i64(i);
        *unit = "ns";
        return true;
    case FM_PARAM_SIZE:
        if (!fm_text_size(s, n, &u))
            return false;
        *value = fm_value_u64(u);
        *unit = "bytes";
        return true;
    case FM_PARAM_PERCENT:
        if (!fm_text_quantity(s, n, &f, &has) || has[0] != '\0')
            return false;
        *value = fm_value_f64(f);
        return true;
    default:
        if (!fm_text_f64(s, n, &f))
            return false;
        *value = fm_value_f64(f);
        return true;
    }
}

static bool in_bounds(const struct fm_param *p, const struct fm_value *value, const char *text,
                      size_t n, char why[160])
{
    if (p->min.type != FM_NULL && fm_value_compare(value, &p->min) < 0) {
        snprintf(why, 160, "'%.*s' is below the minimum of parameter '%s'", (int)FM_MIN(n, 60),
                 text, p->name);
        return false;
    }
    if (p->max.type != FM_NULL && fm_value_compare(value, &p->max) > 0) {
        snprintf(why, 160, "'%.*s' is above the maximum of parameter '%s'", (int)FM_MIN(n, 60),
                 text, p->name);
        return false;
    }
    return true;
}

static bool is_choice(const struct fm_param *p, const char *text, size_t n, char why[160])
{
    if (p->choices == NULL)
        return true;
    for (size_t i = 0; i < p->choices->n; i++) {
        const struct fm_yaml_node *c = p->choices->item[i];
        if (c->type == FM_YAML_SCALAR && c->n == n && memcmp(c->text, text, n) == 0)
            return true;
    }
    snprintf(why, 160, "'%.*s' is not a choice of parameter '%s'", (int)FM_MIN(n, 60), text,
             p->name);
    return false;
}

/* ------------------------------------------------------- predicates as trees */

/* Names of frames are printed in brackets, too: [unknown], {closure:a.php:5}. Of brackets around
 * one plain word nobody needs a list; a key of a map has a blank behind its colon. */
static bool is_tree(const char *s, size_t n)
{
    if (n > 0 && s[0] == '{') {
        for (size_t i = 1; i + 1 < n; i++) {
            if (s[i] == ':' && s[i + 1] == ' ')
                return true;
        }
        return false;
    }
    if (n < 2 || s[0] != '[' || s[n - 1] != ']')
        return false;
    for (size_t i = 1; i < n; i++) {
        if (s[i] == ',' || s[i] == '"' || s[i] == '\'' || s[i] == '{')
            return true;
    }
    return false;
}

/* A copy whose nodes have no place, as they are not of the file that messages show. The scalars of
 * q (may be NULL) are substituted. NULL: no memory, or logged. */
static struct fm_yaml_node *copy_tree(const struct fm_query *q, struct fm_arena *arena,
                                      struct fm_yaml_log *log, const struct fm_yaml_node *from)
{
    struct fm_yaml_node *to = fm_arena_alloc(arena, sizeof *to);
    struct fm_scalar s;

    if (to == NULL)
        return NULL;
    *to = *from;
    to->line = to->column = 0;
    if (from->type == FM_YAML_SCALAR) {
        if (q == NULL)
            return to;
        if (!fm_scalar_get(q, arena, log, from, &s))
            return NULL;
        if (s.param != NULL && s.param->node != NULL)
            return copy_tree(NULL, arena, log, s.param->node);
        to->text = fm_arena_strn(arena, s.text, s.n);
        to->n = s.n;
        return to->text == NULL ? NULL : to;
    }
    to->item = fm_arena_alloc(arena, (from->n + 1) * sizeof *to->item);
    to->pair = fm_arena_alloc(arena, (from->n + 1) * sizeof *to->pair);
    if (to->item == NULL || to->pair == NULL)
        return NULL;
    for (size_t i = 0; i < from->n; i++) {
        bool map = from->type == FM_YAML_MAP;
        struct fm_yaml_node *child = copy_tree(q, arena, log, map ? from->pair[i].value
                                                                  : from->item[i]);
        if (child == NULL)
            return NULL;
        if (map)
            to->pair[i] = (struct fm_yaml_pair){ .key = from->pair[i].key, .value = child };
        else
            to->item[i] = child;
    }
    return to;
}

static void set_tree(struct fm_param *p, const struct fm_yaml_node *node, const char *text,
                     size_t n)
{
    p->text = text;
    p->n = n;
    p->value = fm_value_null();
    p->unit = "";
    p->known = true;
    p->node = node;
}

/* A predicate that -p gives as a flow map or list. */
static bool tree_value(struct fm_arena *arena, struct fm_param *p, const char *text, size_t n,
                       char why[160])
{
    const char *copy = fm_arena_strn(arena, text, n);
    struct fm_yaml_file *file;
    struct fm_yaml_node *node;
    struct fm_yaml_log log;

    fm_yaml_log_init(&log, arena);
    if (copy == NULL || fm_yaml_parse(arena, "", copy, n, &file, &log) != FM_OK
        || log.errors > 0 || file->documents != 1) {
        snprintf(why, 160, "'%.*s' is no map or list: %.100s", (int)FM_MIN(n, 30), text,
                 copy == NULL ? "out of memory" : log.first.message);
        return false;
    }
    node = copy_tree(NULL, arena, &log, file->document[0]);
    if (node == NULL) {
        snprintf(why, 160, "out of memory");
        return false;
    }
    set_tree(p, node, copy, n);
    return true;
}

bool fm_param_tree(const struct fm_query *q, struct fm_arena *arena, struct fm_yaml_log *log,
                   struct fm_param *p, const struct fm_yaml_node *from)
{
    const struct fm_yaml_node *node = copy_tree(q, arena, log, from);

    if (node == NULL)
        return false;
    set_tree(p, node, "", 0);
    return true;
}

bool fm_param_value(struct fm_arena *arena, struct fm_param *p, const char *text, size_t n,
                    char why[160])
{
    struct fm_value value = fm_value_null();
    const char *unit = "", *copy;

    if (!is_choice(p, text, n, why))
        return false;
    if (p->type == FM_PARAM_PRED && is_tree(text, n))
        return tree_value(arena, p, text, n, why);
    switch (p->type) {
    case FM_PARAM_INT:
    case FM_PARAM_NUMBER:
    case FM_PARAM_PERCENT:
    case FM_PARAM_TIME:
    case FM_PARAM_SIZE:
        if (p->type == FM_PARAM_INT && is(text, n, "all"))
            break;
        if (!parse_number(p->type, text, n, &value, &unit)) {
            snprintf(why, 160, "'%.*s' is no %s", (int)FM_MIN(n, 60), text, type_name[p->type]);
            return false;
        }
        if (!in_bounds(p, &value, text, n, why))
            return false;
        break;
    case FM_PARAM_BOOL:
        if (!is(text, n, "true") && !is(text, n, "false")) {
            snprintf(why, 160, "'%.*s' is no bool: true or false", (int)FM_MIN(n, 60), text);
            return false;
        }
        value = fm_value_bool(is(text, n, "true"));
        break;
    default:
        break;
    }
    copy = fm_arena_strn(arena, text, n);
    if (copy == NULL) {
        snprintf(why, 160, "out of memory");
        return false;
    }
    if (p->type >= FM_PARAM_STRING && p->type != FM_PARAM_BOOL)
        value = fm_value_text(copy, n);
    p->text = copy;
    p->n = n;
    p->value = value;
    p->unit = unit;
    p->known = true;
    p->node = NULL;
    return true;
}

/* ------------------------------------------------------------- declaration */

static bool type_find(const char *s, enum fm_param_type *type)
{
    for (size_t i = 0; i < FM_PARAM_TYPES; i++) {
        if (strcmp(s, type_name[i]) == 0) {
            *type = (enum fm_param_type)i;
            return true;
        }
    }
    return false;
}

static void bound(struct fm_query *q, const struct fm_param *p, const struct fm_yaml_node *node,
                  struct fm_value *out)
{
    const char *unit;

    if (node == NULL)
        return;
    if (p->type > FM_PARAM_SIZE || p->type == FM_PARAM_RANGE)
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE),
                      node, "a parameter of type '%s' has no bounds", type_name[p->type]);
    else if (node->type != FM_YAML_SCALAR
             || !parse_number(p->type, node->text, node->n, out, &unit))
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE),
                      node, "the bound of parameter '%s' must be of type '%s'", p->name,
                      type_name[p->type]);
}

static bool good_name(const char *s)
{
    if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_'))
        return false;
    for (; *s != '\0'; s++) {
        if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9')
              || *s == '_'))
            return false;
    }
    return true;
}

static void fallback(struct fm_query *q, struct fm_param *p, const struct fm_yaml_pair *pair)
{
    const struct fm_yaml_node *node = fm_yaml_get(pair->value, "default");
    const struct fm_yaml_node *required = fm_yaml_get(pair->value, "required");
    char why[160];

    if (required != NULL) {
        if (required->type != FM_YAML_SCALAR || (strcmp(required->text, "true") != 0
                                                 && strcmp(required->text, "false") != 0))
            fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE),
                          required, "'required' must be true or false");
        else
            p->required = strcmp(required->text, "true") == 0;
    }
    if (node == NULL) {
        if (!p->required)
            fm_yaml_error_key(fm_yaml_as(&q->log, FM_YAML_MISSING), pair,
                              "parameter '%s' needs a 'default', or 'required: true'", p->name);
        return;
    }
    if (p->required)
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE),
                      node, "a required parameter has no default");
    if (node->type != FM_YAML_SCALAR) {
        if (p->type != FM_PARAM_PRED) {
            fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE),
                          node, "the default of parameter '%s' must be one value",
                          p->name);
            return;
        }
        p->node = node;
        p->text = "";
        p->unit = "";
        p->known = true;
    } else if (!fm_param_value(&q->arena, p, node->text, node->n, why)) {
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE), node, "%s", why);
    }
}

static void declare(struct fm_query *q, struct fm_param *p, const struct fm_yaml_pair *pair)
{
    size_t keys;
    const char *const *known = fm_query_keys(FM_PART_PARAM, &keys);
    const struct fm_yaml_node *type;

    p->name = pair->key;
    p->unit = "";
    p->text = "";
    p->type = FM_PARAM_STRING;
    if (!good_name(pair->key))
        fm_yaml_error_key(fm_yaml_as(&q->log, FM_YAML_MISSING),
                          pair, "a parameter's name is letters, digits and '_', not '%s'",
                          pair->key);
    if (pair->value->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE),
                      pair->value, "parameter '%s' must be a map with 'type'", pair->key);
        return;
    }
    if (!fm_yaml_known(&q->log, pair->value, known, keys, "key"))
        return;
    type = fm_yaml_get(pair->value, "type");
    if (type == NULL) {
        fm_yaml_error_key(fm_yaml_as(&q->log, FM_YAML_MISSING),
                          pair, "parameter '%s' has no 'type'", pair->key);
        return;
    }
    if (type->type != FM_YAML_SCALAR || !type_find(type->text, &p->type)) {
        const char *near = type->type == FM_YAML_SCALAR
                               ? fm_text_nearest(type->text, type_name, FM_PARAM_TYPES) : NULL;
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_UNKNOWN),
                      type, "unknown parameter type '%s'%s%s%s",
                      type->type == FM_YAML_SCALAR ? type->text : "?",
                      near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
        return;
    }
    bound(q, p, fm_yaml_get(pair->value, "min"), &p->min);
    bound(q, p, fm_yaml_get(pair->value, "max"), &p->max);
    p->choices = fm_yaml_get(pair->value, "choices");
    if (p->choices != NULL && p->choices->type != FM_YAML_LIST) {
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE), p->choices, "'choices' must be a list");
        p->choices = NULL;
    }
    fallback(q, p, pair);
}

void fm_params_parse(struct fm_query *q, const struct fm_yaml_node *node)
{
    if (node == NULL)
        return;
    if (node->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE), node, "'params' must be a map");
        return;
    }
    q->param = fm_arena_alloc(&q->arena, (node->n + 1) * sizeof *q->param);
    if (q->param == NULL)
        return;
    for (size_t i = 0; i < node->n; i++)
        declare(q, &q->param[q->params++], &node->pair[i]);
}

const struct fm_param *fm_param_find(const struct fm_query *q, const char *name, size_t n)
{
    for (size_t i = 0; i < q->params; i++) {
        if (is(name, n, q->param[i].name))
            return &q->param[i];
    }
    return NULL;
}

const char *fm_param_hint(const struct fm_query *q, struct fm_arena *arena, const char *name,
                          size_t n)
{
    const char **list = fm_arena_alloc(arena, (q->params + 1) * sizeof *list);
    const char *word = fm_arena_strn(arena, name, n), *near, *hint;

    if (list == NULL || word == NULL)
        return "";
    for (size_t i = 0; i < q->params; i++)
        list[i] = q->param[i].name;
    near = fm_text_nearest(word, list, q->params);
    hint = near == NULL ? "" : fm_arena_printf(arena, " (did you mean '%s'?)", near);
    return hint == NULL ? "" : hint;
}

enum fm_status fm_query_set(struct fm_query *query, const char *param, const char *value,
                            struct fm_error *err)
{
    char why[160];

    for (size_t i = 0; i < query->params; i++) {
        if (strcmp(query->param[i].name, param) != 0)
            continue;
        if (fm_param_value(&query->arena, &query->param[i], value, strlen(value), why))
            return FM_OK;
        if (query->arena.oom)
            return fm_error_nomem(err);
        return fm_error_set(err, FM_CONFIG, "parameter '%s': %s", param, why);
    }
    return fm_error_set(err, FM_CONFIG, "query '%s' has no parameter '%s'%s", query->name, param,
                        fm_param_hint(query, &query->arena, param, strlen(param)));
}

/* ------------------------------------------------------------ substitution */

static size_t word_length(const char *s, size_t n)
{
    size_t i = 0;

    while (i < n && ((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z')
                     || (s[i] >= '0' && s[i] <= '9') || s[i] == '_'))
        i++;
    return i;
}

/* The name when the whole scalar is $p or ${p}; its length, 0 = it is not. */
static size_t whole(const char *s, size_t n, const char **name)
{
    size_t w;

    if (n < 2 || s[0] != '$')
        return 0;
    if (s[1] == '{') {
        *name = s + 2;
        w = word_length(s + 2, n - 2);
        return w > 0 && w + 3 == n && s[n - 1] == '}' ? w : 0;
    }
    *name = s + 1;
    w = word_length(s + 1, n - 1);
    return w + 1 == n ? w : 0;
}

static bool replace(const struct fm_query *q, struct fm_arena *arena, struct fm_yaml_log *log,
                    struct fm_scalar *out)
{
    const char *s = out->text;
    size_t n = out->n, len = 0, room = n + 1;
    char *text;

    /* every ${p} may become as long as the longest parameter */
    for (size_t i = 0; i + 1 < n; i++) {
        size_t longest = 0;
        for (size_t k = 0; s[i] == '$' && s[i + 1] == '{' && k < q->params; k++)
            longest = FM_MAX(longest, q->param[k].n);
        room += longest;
    }
    text = fm_arena_alloc(arena, room);
    if (text == NULL)
        return false;
    for (size_t i = 0; i < n;) {
        const struct fm_param *p;
        size_t w;
        if (n - i >= 3 && s[i] == '$' && s[i + 1] == '$' && s[i + 2] == '{') {
            text[len++] = '$';
            text[len++] = '{';
            i += 3;
            continue;
        }
        w = n - i >= 3 && s[i] == '$' && s[i + 1] == '{' ? word_length(s + i + 2, n - i - 2) : 0;
        if (w == 0 || i + 2 + w >= n || s[i + 2 + w] != '}') {
            text[len++] = s[i++];
            continue;
        }
        p = fm_param_find(q, s + i + 2, w);
        if (p == NULL) {
            fm_yaml_error_at(fm_yaml_as(log, FM_YAML_UNKNOWN),
                             out->at, i, w + 3, "unknown parameter '%.*s'%s", (int)w,
                             s + i + 2, fm_param_hint(q, arena, s + i + 2, w));
            return false;
        }
        out->unknown |= !p->known;
        memcpy(text + len, p->text, p->n);
        len += p->n;
        i += w + 3;
    }
    text[len] = '\0';
    out->text = text;
    out->n = len;
    return true;
}

bool fm_scalar_get(const struct fm_query *q, struct fm_arena *arena, struct fm_yaml_log *log,
                   const struct fm_yaml_node *node, struct fm_scalar *out)
{
    const char *name = NULL;
    size_t w;

    fm_assert(node->type == FM_YAML_SCALAR);
    *out = (struct fm_scalar){ .at = node, .text = node->text, .n = node->n };
    if (q == NULL)
        return true;
    w = whole(node->text, node->n, &name);
    if (w > 0) {
        out->param = fm_param_find(q, name, w);
        if (out->param == NULL) {
            fm_yaml_error(fm_yaml_as(log, FM_YAML_UNKNOWN),
                          node, "unknown parameter '%.*s'%s", (int)w, name,
                          fm_param_hint(q, arena, name, w));
            return false;
        }
        out->text = out->param->text;
        out->n = out->param->n;
        out->unknown = !out->param->known;
        return true;
    }
    for (size_t i = 0; i + 1 < node->n; i++) {
        if (node->text[i] == '$' && (node->text[i + 1] == '{' || node->text[i + 1] == '$'))
            return replace(q, arena, log, out);
    }
    return true;
}

bool fm_scalar_number(const struct fm_query *q, const char *text, size_t n,
                      struct fm_value *value, const char **unit)
{
    const char *name = NULL;
    size_t w = whole(text, n, &name);
    double f;
    int64_t i;

    *unit = "";
    if (w > 0) {
        const struct fm_param *p = q != NULL ? fm_param_find(q, name, w) : NULL;
        if (p == NULL || (p->known && p->value.type == FM_TEXT))
            return false;
        *value = p->value;
        *unit = p->unit;
        return true;
    }
    if (fm_text_i64(text, n, &i)) {
        *value = fm_value_i64(i);
        return true;
    }
    if (!fm_text_quantity(text, n, &f, unit))
        return false;
    /* whole quantities (10ms, 4KiB) compare exactly with integer columns */
    if (**unit != '\0' && f >= -9e15 && f <= 9e15 && f == (double)(int64_t)f)
        *value = fm_value_i64((int64_t)f);
    else
        *value = fm_value_f64(f);
    return true;
}
