/*
 * category.c - dictionaries of categories: found on the data path, read, checked.
 *
 *     foldmill-categories: 1
 *     name: memory
 *     about: allocators and copies
 *     categories:
 *       alloc:
 *         about: allocation and release of memory
 *         frames:
 *           - [malloc, calloc, je_*]                       functions
 *           - {module: libtcmalloc*}                       any function of it
 *           - {function: "Alloc*", kind: jit, not: {file: test.js}}
 *
 * An element of `frames` is a function (or a list of functions), or a map of which all must hold.
 * Patterns are those of predicates: exact, glob, /regex/. Dictionaries that name the same category
 * add to it. Every NAME.yaml in queries/categories of the data path is read, the first of a name:
 * so a file of the user's adds, or stands for a shipped one.
 */
#include "query/category.h"
#include "query/query.h"

#include "format/lookup.h"
#include "util/error.h"
#include "util/out.h"
#include "util/text.h"

struct reader {
    struct fm_ctx *ctx;
    struct fm_arena *arena;
    struct fm_yaml_log *log;
    struct fm_categories *x;
    struct fm_compile *keep;         /* owns the patterns */
    uint32_t category;
};

static bool type_error(struct reader *r, const struct fm_yaml_node *at, const char *message)
{
    fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), at, "%s", message);
    return false;
}

/* ----------------------------------------------------------------- patterns */

static bool general_pattern(struct reader *r, struct fm_matcher *m, uint32_t set,
                            const struct fm_yaml_node *node)
{
    struct fm_error err = { .status = FM_OK };
    struct fm_pattern *pattern;

    if (fm_pattern_new(&r->ctx->mem, node->text, node->n, false, &pattern, &err) != FM_OK) {
        if (err.status == FM_NOMEM)
            r->arena->oom = true;
        else
            fm_yaml_error_at(fm_yaml_as(r->log, FM_YAML_REGEX), node,
                             FM_MIN(err.column > 0 ? err.column - 1 : 0, node->n), 1, "%s",
                             err.message);
        return false;
    }
    if (!fm_compile_keep(r->keep, pattern))
        return false;
    return fm_matcher_pattern(m, set, pattern);
}

/* Exact texts, and globs that end in their only '*', need no trying. */
static bool add_pattern(struct reader *r, struct fm_matcher *m, uint32_t set,
                        const struct fm_yaml_node *node)
{
    const char *s = node->text;
    size_t n = node->n;
    bool ok;

    if (node->type != FM_YAML_SCALAR || n == 0)
        return type_error(r, node, "a pattern is a text, a glob* or a /regex/");
    if (n > 1 && s[n - 1] == '*' && s[0] != '/' && memchr(s, '*', n - 1) == NULL
        && memchr(s, '?', n) == NULL)
        ok = fm_matcher_exact(m, set, s, n - 1, true);
    else if (s[0] == '/' || memchr(s, '*', n) != NULL || memchr(s, '?', n) != NULL)
        return general_pattern(r, m, set, node);
    else
        ok = fm_matcher_exact(m, set, s, n, false);
    r->arena->oom |= !ok;
    return ok;
}

static bool add_set(struct reader *r, struct fm_category_rule *rule, enum fm_text_attr attr,
                    const struct fm_yaml_node *node)
{
    struct fm_matcher *m = &r->x->matcher[attr];
    bool ok = true;

    if (node->type == FM_YAML_LIST && node->n == 0)
        return type_error(r, node, "a list of patterns is empty");
    rule->set[attr] = m->sets++;
    if (node->type != FM_YAML_LIST)
        return add_pattern(r, m, rule->set[attr], node);
    for (size_t i = 0; i < node->n; i++)
        ok = add_pattern(r, m, rule->set[attr], node->item[i]) && ok;
    return ok;
}

static bool add_kind(struct reader *r, struct fm_category_rule *rule,
                     const struct fm_yaml_node *node)
{
    const char *list[FM_FRAME_C1 + 1];

    for (int k = 0; k <= FM_FRAME_C1; k++) {
        list[k] = fm_frame_kind_text((enum fm_frame_kind)k);
        if (node->type == FM_YAML_SCALAR && strcmp(list[k], node->text) == 0) {
            rule->kinds |= 1u << k;
            return true;
        }
    }
    if (node->type != FM_YAML_SCALAR)
        return type_error(r, node, "'kind' takes the kind of a frame, or a list of them");
    fm_yaml_unknown(r->log, node, "kind", node->text, list, FM_COUNT(list));
    return false;
}

/* -------------------------------------------------------------------- rules */

static struct fm_category_rule *new_rule(struct reader *r)
{
    struct fm_category_rule *rule = fm_arena_alloc(r->arena, sizeof *rule);

    if (rule == NULL)
        return NULL;
    rule->category = r->category;
    for (size_t a = 0; a < FM_TEXT_ATTRS; a++)
        rule->set[a] = FM_NONE;
    return rule;
}

static bool conditions(struct reader *r, struct fm_category_rule *rule,
                       const struct fm_yaml_node *map, bool inner);

static bool condition(struct reader *r, struct fm_category_rule *rule,
                      const struct fm_yaml_pair *pair)
{
    static const char *const text[FM_TEXT_ATTRS] = { "function", "module", "file" };
    bool ok = true;

    for (size_t a = 0; a < FM_TEXT_ATTRS; a++) {
        if (strcmp(pair->key, text[a]) == 0)
            return add_set(r, rule, (enum fm_text_attr)a, pair->value);
    }
    if (strcmp(pair->key, "kind") == 0) {
        if (pair->value->type != FM_YAML_LIST)
            return add_kind(r, rule, pair->value);
        for (size_t i = 0; i < pair->value->n; i++)
            ok = add_kind(r, rule, pair->value->item[i]) && ok;
        return ok;
    }
    rule->except = new_rule(r);
    return rule->except != NULL && conditions(r, rule->except, pair->value, true);
}

static bool conditions(struct reader *r, struct fm_category_rule *rule,
                       const struct fm_yaml_node *map, bool inner)
{
    static const char *const known[] = { "function", "module", "file", "kind", "not" };
    bool ok = true;

    if (map->type != FM_YAML_MAP || map->n == 0)
        return type_error(r, map, "'not' takes a map of function, module, file or kind");
    if (!fm_yaml_known(r->log, map, known, FM_COUNT(known) - inner, "condition"))
        return false;
    for (size_t i = 0; i < map->n; i++)
        ok = condition(r, rule, &map->pair[i]) && ok;
    if (ok && map->n == 1 && rule->except != NULL)
        return type_error(r, map, "'not' needs something that it is taken from");
    return ok;
}

static bool add_rule(struct reader *r, const struct fm_yaml_node *node)
{
    struct fm_categories *x = r->x;
    struct fm_category_rule *rule = new_rule(r);
    bool ok;

    if (rule == NULL
        || !fm_grow(x->mem, (void **)&x->rule, &x->rule_cap, x->rules + 1, sizeof *x->rule)) {
        r->arena->oom = true;
        return false;
    }
    ok = node->type == FM_YAML_MAP ? conditions(r, rule, node, false)
                                   : add_set(r, rule, FM_TEXT_FUNCTION, node);
    x->rule[x->rules++] = rule;
    x->category[r->category].rules++;
    return ok;
}

/* --------------------------------------------------------------- categories */

static bool good_name(const char *s)
{
    for (size_t i = 0; s[i] != '\0'; i++) {
        bool letter = (s[i] >= 'a' && s[i] <= 'z') || s[i] == '_' || s[i] == '-';
        if (!letter && (i == 0 || s[i] < '0' || s[i] > '9'))
            return false;
    }
    return s[0] != '\0' && strcmp(s, "none") != 0;
}

/* The category of that name, made when it is new; FM_NONE: logged. */
static uint32_t category_named(struct reader *r, const struct fm_yaml_pair *pair)
{
    struct fm_categories *x = r->x;

    for (size_t i = 0; i < x->categories; i++) {
        if (strcmp(x->category[i].name, pair->key) == 0)
            return (uint32_t)i;
    }
    if (!good_name(pair->key)) {
        fm_yaml_error_key(fm_yaml_as(r->log, FM_YAML_TYPE), pair,
                          "'%s' is no name of a category: small letters, digits, '_' and '-'",
                          pair->key);
        return FM_NONE;
    }
    if (x->categories == FM_CATEGORIES) {
        fm_yaml_error_key(fm_yaml_as(r->log, FM_YAML_TYPE), pair,
                          "there are more than %d categories", FM_CATEGORIES);
        return FM_NONE;
    }
    x->category[x->categories] = (struct fm_category){ .name = pair->key, .about = "" };
    return (uint32_t)x->categories++;
}

static bool add_category(struct reader *r, const struct fm_yaml_pair *pair)
{
    static const char *const known[] = { "about", "frames" };
    const struct fm_yaml_node *about, *frames;
    bool ok = true;

    r->category = category_named(r, pair);
    if (r->category == FM_NONE)
        return false;
    if (pair->value->type != FM_YAML_MAP)
        return type_error(r, pair->value, "a category is a map of 'about' and 'frames'");
    if (!fm_yaml_known(r->log, pair->value, known, FM_COUNT(known), "key"))
        return false;
    about = fm_yaml_get(pair->value, "about");
    frames = fm_yaml_get(pair->value, "frames");
    if (about != NULL && about->type == FM_YAML_SCALAR
        && r->x->category[r->category].about[0] == '\0')
        r->x->category[r->category].about = about->text;
    if (frames == NULL || frames->type != FM_YAML_LIST || frames->n == 0)
        return type_error(r, frames != NULL ? frames : pair->value,
                          "'frames' is a list of functions, or of maps such as {module: libc.so*}");
    for (size_t i = 0; i < frames->n; i++)
        ok = add_rule(r, frames->item[i]) && ok;
    return ok;
}

static bool add_document(struct reader *r, const struct fm_yaml_node *root)
{
    static const char *const known[] = { "foldmill-categories", "name", "about", "categories" };
    const struct fm_yaml_node *version, *categories;
    bool ok = true;

    version = fm_yaml_get(root, "foldmill-categories");
    if (version == NULL || !fm_yaml_is(version, "1"))
        return type_error(r, version != NULL ? version : root,
                          "a dictionary is a map with 'foldmill-categories: 1'");
    if (!fm_yaml_known(r->log, root, known, FM_COUNT(known), "key"))
        return false;
    categories = fm_yaml_get(root, "categories");
    if (categories == NULL || categories->type != FM_YAML_MAP || categories->n == 0)
        return type_error(r, categories != NULL ? categories : root,
                          "'categories' is a map of names to {about: TEXT, frames: [RULE, …]}");
    for (size_t i = 0; i < categories->n; i++)
        ok = add_category(r, &categories->pair[i]) && ok;
    return ok;
}

/* Messages of a dictionary show the dictionary's lines. */
static enum fm_status add_file(struct reader *r, const char *path, struct fm_error *err)
{
    const struct fm_yaml_file *was = r->log->file;
    struct fm_yaml_file *file = NULL;
    enum fm_status status = fm_yaml_load(r->arena, path, &file, r->log, err);
    bool ok = status == FM_OK;

    r->x->files++;
    for (size_t i = 0; ok && i < file->documents; i++)
        ok = add_document(r, file->document[i]);
    r->log->file = was;
    if (r->arena->oom)
        return fm_error_nomem(err);
    return ok || status != FM_OK ? status : FM_CONFIG;
}

static bool add_found(void *user, const char *name, const char *path)
{
    struct reader *r = user;
    struct fm_error err = { .status = FM_OK };

    (void)name;
    if (add_file(r, path, &err) == FM_IO)
        fm_yaml_error(r->log, NULL, "%s", err.message);
    return !r->arena->oom;
}

/* Bits in byte order of names. */
static void rank(struct fm_categories *x)
{
    for (size_t i = 0; i < x->categories; i++) {
        size_t before = 0;
        for (size_t k = 0; k < x->categories; k++)
            before += strcmp(x->category[k].name, x->category[i].name) < 0;
        x->rank[i] = (uint32_t)before;
        x->name[before] = x->category[i].name;
    }
}

static struct fm_categories *new_categories(struct fm_compile *c)
{
    struct fm_categories *x = fm_arena_alloc(c->arena, sizeof *x);

    if (x == NULL)
        return NULL;
    x->mem = &c->ctx->mem;
    fm_map_init(&x->list, x->mem);
    for (size_t a = 0; a < FM_TEXT_ATTRS; a++)
        c->arena->oom |= !fm_matcher_init(&x->matcher[a], x->mem);
    x->matcher[FM_TEXT_MODULE].base = x->matcher[FM_TEXT_FILE].base = true;
    c->categories = x;
    return x;
}

bool fm_categories_load(struct fm_compile *c)
{
    struct reader r = { .ctx = c->ctx, .arena = c->arena, .log = c->log, .keep = c };
    struct fm_error err = { .status = FM_OK };
    unsigned errors = c->log->errors;

    if (c->categories != NULL)
        return c->categories->categories > 0;
    r.x = new_categories(c);
    if (r.x == NULL)
        return false;
    if (fm_lookup_list(c->ctx, "queries/categories", add_found, &r, &err) != FM_OK)
        c->arena->oom = true;
    if (c->arena->oom)
        return false;
    if (r.x->files == 0)
        fm_yaml_error(c->log, NULL, "no dictionary of categories on the data path "
                                    "(queries/categories/NAME.yaml)");
    rank(r.x);
    c->arena->oom |= !fm_categories_index(r.x, c->arena);
    return !c->arena->oom && c->log->errors == errors;
}

void fm_categories_release(struct fm_categories *x)
{
    if (x == NULL)
        return;
    for (size_t a = 0; a < FM_TEXT_ATTRS; a++)
        fm_matcher_release(&x->matcher[a]);
    fm_map_release(&x->list);
    fm_mem_free(x->mem, x->rule, x->rule_cap * sizeof *x->rule);
}

bool fm_attr_resolve(struct fm_compile *c, const char *name, size_t n, enum fm_attr *attr)
{
    if (!fm_attr_find(name, n, attr))
        return false;
    if (*attr == FM_ATTR_CATEGORY)
        (void)fm_categories_load(c);
    return true;
}

bool fm_category_known(const struct fm_compile *c, const char *name, size_t n)
{
    const struct fm_categories *x = c->categories;

    for (size_t i = 0; x != NULL && i < x->categories; i++) {
        if (strlen(x->name[i]) == n && memcmp(x->name[i], name, n) == 0)
            return true;
    }
    return false;
}

const char *const *fm_category_names(const struct fm_compile *c, size_t *n)
{
    *n = c->categories == NULL ? 0 : c->categories->categories;
    return c->categories == NULL ? NULL : c->categories->name;
}

/* ----------------------------------------------------------------- checking */

static void report(const struct fm_categories *x, const char *path, struct fm_out *out)
{
    fm_out_printf(out, "categories of '%s'\n", path);
    for (size_t bit = 0; bit < x->categories; bit++) {
        for (size_t i = 0; i < x->categories; i++) {
            const struct fm_category *k = &x->category[i];
            if (x->rank[i] == bit)
                fm_out_printf(out, "  %-16s %zu %s  %s\n", k->name, k->rules,
                              k->rules == 1 ? "rule" : "rules",
                              k->about[0] != '\0' ? k->about : "-");
        }
    }
}

enum fm_status fm_categories_check(struct fm_ctx *ctx, const char *path, struct fm_out *out,
                                   struct fm_error *err)
{
    struct fm_arena arena;
    struct fm_yaml_log log;
    struct fm_compile c = { .ctx = ctx, .arena = &arena, .log = &log };
    struct reader r = { .ctx = ctx, .arena = &arena, .log = &log, .keep = &c };
    enum fm_status status = FM_NOMEM;

    fm_arena_init(&arena, &ctx->mem);
    fm_yaml_log_init(&log, &arena);
    r.x = new_categories(&c);
    if (r.x != NULL)
        status = add_file(&r, path, err);
    if (status == FM_OK) {
        rank(r.x);
        report(r.x, path, out);
    } else if (status == FM_CONFIG) {
        fm_out_text(out, log.text);
        if (err != NULL && err->status == FM_OK)
            *err = log.first;
    } else if (status == FM_NOMEM) {
        (void)fm_error_nomem(err);
    }
    fm_compile_release(&c);
    fm_arena_release(&arena);
    return status;
}
