/*
 * mapping.c - reads formats/NAME.yaml: the top level, names, constants, views.
 *
 * The file is parsed into one arena that lives as long as the mapping; only compiled patterns have
 * memory of their own. All errors of a file are logged, up to the limit of the log, before the load
 * fails. A rule of `classes` is read by rule.c, the keys of the generic containers by container.c.
 */
#include "format/rules.h"

#include "format/lookup.h"
#include "util/error.h"
#include "util/text.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ------------------------------------------------------------------ pieces */

void *fm_rules_array(struct fm_rules_parser *p, size_t n, size_t size)
{
    size_t bytes;
    void *a = fm_mul_size(n, size, &bytes) ? fm_arena_alloc(&p->m->arena, bytes) : NULL;
    p->nomem |= a == NULL;
    return a;
}

const char *fm_rules_text(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                          const char *what)
{
    if (node->type == FM_YAML_SCALAR && !memchr(node->text, '\0', node->n))
        return node->text;
    fm_yaml_error(fm_yaml_as(p->log, FM_YAML_TYPE), node, "'%s' must be a text", what);
    return NULL;
}

int fm_rules_word(struct fm_rules_parser *p, const struct fm_yaml_node *node, const char *what,
                  const char *const *list, size_t n)
{
    const char *text = fm_rules_text(p, node, what);
    if (!text)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (strcmp(text, list[i]) == 0)
            return (int)i;
    fm_yaml_unknown(p->log, node, what, text, list, n);
    return -1;
}

bool fm_rules_bool(struct fm_rules_parser *p, const struct fm_yaml_node *map, const char *key,
                   bool *out)
{
    static const char *const words[] = {"false", "true"};
    const struct fm_yaml_node *node = fm_yaml_get(map, key);
    int k = node ? fm_rules_word(p, node, key, words, FM_COUNT(words)) : *out;
    if (k >= 0)
        *out = k == 1;
    return k >= 0;
}

bool fm_rules_u32(struct fm_rules_parser *p, const struct fm_yaml_node *map, const char *key,
                  uint32_t min, uint32_t max, uint32_t *out)
{
    const struct fm_yaml_node *node = fm_yaml_get(map, key);
    uint64_t v;
    if (!node)
        return true;
    if (node->type == FM_YAML_SCALAR && fm_text_u64(node->text, node->n, &v) && v >= min &&
        v <= max) {
        *out = (uint32_t)v;
        return true;
    }
    fm_yaml_error(fm_yaml_as(p->log, FM_YAML_TYPE), node, "'%s' must be a number from %u to %u",
                  key, min, max);
    return false;
}

static uint64_t name_hash(const char *name, unsigned salt)
{
    return XXH3_64bits_withSeed(name, strlen(name), salt);
}

/* Two names of one hash take turns: the second one has the next salt. */
uint32_t fm_mapping_name_find(const struct fm_mapping *m, const char *name)
{
    const uint64_t *at;
    for (unsigned salt = 0; (at = fm_map_find(&m->name_at, name_hash(name, salt))) != NULL; salt++)
        if (strcmp(m->field_name[*at - 1], name) == 0)
            return (uint32_t)(*at - 1);
    return UINT32_MAX;
}

static bool add_name(struct fm_mapping *m, const char *name)
{
    bool fresh = false;
    for (unsigned salt = 0; !fresh; salt++) {
        uint64_t *at = fm_map_put(&m->name_at, name_hash(name, salt), &fresh);
        if (at == NULL)
            return false;
        if (fresh)
            *at = m->names + 1;
    }
    return true;
}

uint32_t fm_rules_name(struct fm_rules_parser *p, const char *name)
{
    struct fm_mapping *m = p->m;
    uint32_t found = fm_mapping_name_find(m, name);
    if (found != UINT32_MAX || m->names == FM_MAPPING_NAMES)
        return found;
    if (!fm_grow(m->mem, (void **)&m->field_name, &m->names_cap, m->names + 1,
                 sizeof *m->field_name) ||
        !add_name(m, name)) {
        p->nomem = true;
        return UINT32_MAX;
    }
    m->field_name[m->names] = name;
    return (uint32_t)m->names++;
}

struct fm_pattern *fm_rules_pattern(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                                    bool regex)
{
    struct fm_mapping *m = p->m;
    struct fm_error err = {0};
    struct fm_pattern *pattern;
    if (!fm_rules_text(p, node, regex ? "regex" : "pattern"))
        return NULL;
    if (!fm_grow(m->mem, (void **)&m->pattern, &m->patterns_cap, m->patterns + 1,
                 sizeof(*m->pattern))) {
        p->nomem = true;
        return NULL;
    }
    enum fm_status status =
        regex ? fm_pattern_new_regex(m->mem, node->text, node->n, NULL, &pattern, &err)
              : fm_pattern_new(m->mem, node->text, node->n, false, &pattern, &err);
    if (status == FM_OK)
        return m->pattern[m->patterns++] = pattern;
    p->nomem |= status == FM_NOMEM;
    if (status == FM_CONFIG)
        fm_yaml_error_at(fm_yaml_as(p->log, FM_YAML_REGEX), node,
                         err.column ? err.column - 1 : 0, 1, "%s", err.message);
    return NULL;
}

/* ------------------------------------------------------------------ names in expressions */

static const struct fm_constant *find_constant(const struct fm_mapping *m, const char *name)
{
    for (size_t i = 0; i < m->constants; i++)
        if (strcmp(m->constant[i].name, name) == 0)
            return &m->constant[i];
    return NULL;
}

static bool resolve_dollar(struct fm_rules_parser *p, struct fm_expr *node)
{
    if (strcmp(node->name, "$class") == 0) {
        node->ref = FM_REF_CLASS;
        return true;
    }
    if (p->each && strcmp(node->name, "$key") == 0) {
        node->ref = FM_REF_KEY;
        return true;
    }
    if (p->each && strcmp(node->name, "$value") == 0) {
        node->ref = FM_REF_EACH;
        return true;
    }
    const struct fm_constant *c = find_constant(p->m, node->name + 1);
    if (!c)
        return false;
    node->op = FM_EXPR_CONST;
    node->value = c->value;
    node->unit = c->unit;
    return true;
}

/* Any other name is a field that some class may declare. */
static bool resolve_name(void *user, struct fm_expr *node)
{
    struct fm_rules_parser *p = user;
    if (node->name[0] == '$')
        return resolve_dollar(p, node);
    node->ref = fm_rules_name(p, node->name);
    return node->ref != UINT32_MAX;
}

static bool is_field(const struct fm_expr *e)
{
    return e->op == FM_EXPR_REF && e->ref < FM_MAPPING_NAMES;
}

static bool resolve_lookup(struct fm_rules_parser *p, struct fm_expr *node)
{
    if (node->args != 2 || node->arg[0]->op != FM_EXPR_REF || !node->arg[0]->name)
        return false;
    for (size_t i = 0; i < p->m->dicts; i++) {
        if (strcmp(p->m->dict[i].name, node->arg[0]->name) == 0) {
            node->ref = FM_CALL_LOOKUP + (uint32_t)i;
            node->arg[0]->op = FM_EXPR_CONST;
            node->arg[0]->value = fm_value_null();
            return true;
        }
    }
    return false;
}

static bool resolve_call(void *user, struct fm_expr *node)
{
    struct fm_rules_parser *p = user;
    if (strcmp(node->name, "lookup") == 0)
        return resolve_lookup(p, node);
    if (strcmp(node->name, "hex") == 0) {
        node->ref = FM_CALL_HEX;
        return node->args == 1;
    }
    bool mapped = strcmp(node->name, "mapped") == 0;
    if (mapped || strcmp(node->name, "mapped_offset") == 0) {
        node->ref = mapped ? FM_CALL_MAPPED : FM_CALL_MAPPED_OFFSET;
        return node->args == 1;
    }
    bool before = strcmp(node->name, "before") == 0;
    if (before || strcmp(node->name, "after") == 0) {
        node->ref = before ? FM_CALL_BEFORE : FM_CALL_AFTER;
        return node->args == 2;
    }
    bool has = strcmp(node->name, "has") == 0;
    if (!has && strcmp(node->name, "given") != 0)
        return false;
    node->ref = has ? FM_CALL_HAS : FM_CALL_GIVEN;
    return node->args == 1 && is_field(node->arg[0]);
}

struct fm_expr *fm_rules_expr(struct fm_rules_parser *p, const struct fm_yaml_node *node)
{
    return fm_expr_parse(&p->m->arena, node, NULL, 0, &p->names, p->log);
}

/* ------------------------------------------------------------------ templates */

static struct fm_expr *text_part(struct fm_rules_parser *p, const char *s, size_t n)
{
    struct fm_expr *e = fm_rules_array(p, 1, sizeof *e);
    if (!e)
        return NULL;
    e->op = FM_EXPR_CONST;
    e->depth = 1;
    e->unit = "";
    e->value = fm_value_text(s, n);
    return e;
}

static struct fm_expr *expr_part(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                                 size_t from, size_t to)
{
    return fm_expr_parse(&p->m->arena, node, node->text + from, to - from, &p->names, p->log);
}

/* "a${x}b", "$${" for "${", and exactly "$class", "$key". */
bool fm_rules_template(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                       struct fm_template *t)
{
    const char *s = fm_rules_text(p, node, "template");
    if (!s)
        return false;
    t->part = fm_rules_array(p, node->n + 1, sizeof(*t->part));
    if (!t->part)
        return false;
    if (s[0] == '$' && s[1] != '{' && s[1] != '$' && !strchr(s, ' ')) {
        t->part[0] = fm_rules_expr(p, node);
        t->parts = 1;
        return t->part[0] != NULL;
    }
    size_t from = 0;
    for (size_t i = 0; i <= node->n; i++) {
        bool dollar = i < node->n && s[i] == '$' && s[i + 1] == '{';
        bool escaped = dollar && i > 0 && s[i - 1] == '$';
        if (i < node->n && !dollar)
            continue;
        size_t end = escaped ? i - 1 : i;
        if (end > from && !(t->part[t->parts++] = text_part(p, s + from, end - from)))
            return false;
        from = i;
        if (!dollar || escaped)
            continue;
        const char *close = strchr(s + i, '}');
        if (!close) {
            fm_yaml_error_at(fm_yaml_as(p->log, FM_YAML_EXPR), node, i, 2, "'${' without '}'");
            return false;
        }
        size_t to = (size_t)(close - s);
        if (!(t->part[t->parts++] = expr_part(p, node, i + 2, to)))
            return false;
        from = to + 1;
        i = to;
    }
    if (t->parts == 0)
        t->part[t->parts++] = text_part(p, "", 0);
    return t->part[t->parts - 1] != NULL;
}

/* ------------------------------------------------------------------ views */

/* The text that a view's `suffix` adds to a column's values, "" without one; NULL: logged. */
static const char *suffix_of(struct fm_rules_parser *p, const struct fm_yaml_node *suffix,
                             const char *name)
{
    char *bare = fm_arena_str(&p->m->arena, name);
    size_t n = strlen(name);
    if (!bare) {
        p->nomem = true;
        return NULL;
    }
    if (n > 1 && name[n - 1] == '?')
        bare[n - 1] = '\0';
    const struct fm_yaml_node *text = suffix ? fm_yaml_get(suffix, bare) : NULL;
    if (!text)
        return "";
    if (text->type != FM_YAML_SCALAR || strchr(text->text, ',')) {
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_TYPE), text, "a suffix is a text without ','");
        return NULL;
    }
    return text->text;
}

/* A list of column names, comma-joined: what the store keeps with an event. A column with a suffix
 * is NAME=SUFFIX, as in the lists of --prepend and --append. */
static const char *column_list(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                               const struct fm_yaml_node *suffix, const char *what)
{
    const char *joined = "";
    size_t n = node->type == FM_YAML_LIST ? node->n : 1;
    if (fm_yaml_is(node, "none"))
        return joined;
    for (size_t i = 0; i < n; i++) {
        const struct fm_yaml_node *item = node->type == FM_YAML_LIST ? node->item[i] : node;
        const char *name = fm_rules_text(p, item, what);
        if (!name)
            return NULL;
        if (!name[0] || strchr(name, ',')) {
            fm_yaml_error(fm_yaml_as(p->log, FM_YAML_TYPE), item,
                          "a column name or literal without ',' should stand here");
            return NULL;
        }
        const char *end = suffix_of(p, suffix, name);
        if (!end)
            return NULL;
        joined = fm_arena_printf(&p->m->arena, "%s%s%s%s%s", joined, i ? "," : "", name,
                                 end[0] ? "=" : "", end);
        if (!joined) {
            p->nomem = true;
            return NULL;
        }
    }
    return joined;
}

bool fm_rules_view(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                   const char **prepend, const char **append)
{
    static const char *const keys[] = {"prepend", "append", "suffix"};
    if (node->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_TYPE), node, "'view' must be {prepend: "
                      "[column, …], append: [column, …], suffix: {column: text}}");
        return false;
    }
    if (!fm_yaml_known(p->log, node, keys, FM_COUNT(keys), "key of 'view'"))
        return false;
    const struct fm_yaml_node *pre = fm_yaml_get(node, "prepend");
    const struct fm_yaml_node *post = fm_yaml_get(node, "append");
    const struct fm_yaml_node *suffix = fm_yaml_get(node, "suffix");
    if (suffix && suffix->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_TYPE), suffix, "'suffix' must be {column: text}");
        return false;
    }
    if (pre && !(*prepend = column_list(p, pre, suffix, "prepend")))
        return false;
    return !post || (*append = column_list(p, post, suffix, "append"));
}

/* ------------------------------------------------------------------ constants and dictionaries */

static int by_key(const void *a, const void *b)
{
    const struct fm_dict_entry *x = a, *y = b;
    if (x->is_int != y->is_int)
        return x->is_int ? -1 : 1;
    if (x->is_int)
        return (x->number > y->number) - (x->number < y->number);
    return strcmp(x->key, y->key);
}

static bool parse_number(const char *s, size_t n, int64_t *number)
{
    uint64_t u;
    if (fm_text_i64(s, n, number))
        return true;
    if (n > 2 && s[0] == '0' && (s[1] | 0x20) == 'x' && fm_text_hex(s, n, &u)) {
        *number = (int64_t)u;
        return true;
    }
    return false;
}

static bool parse_dict(struct fm_rules_parser *p, const struct fm_yaml_pair *pair,
                       struct fm_dict *dict)
{
    const struct fm_yaml_node *map = pair->value;
    dict->name = pair->key;
    dict->entry = fm_rules_array(p, map->n, sizeof *dict->entry);
    if (!dict->entry)
        return false;
    for (size_t i = 0; i < map->n; i++) {
        struct fm_dict_entry *e = &dict->entry[i];
        e->text = fm_rules_text(p, map->pair[i].value, map->pair[i].key);
        if (!e->text)
            return false;
        e->n = map->pair[i].value->n;
        e->key = map->pair[i].key;
        e->key_n = strlen(e->key);
        e->is_int = parse_number(e->key, e->key_n, &e->number);
        dict->ints += e->is_int;
    }
    dict->entries = map->n;
    if (map->n)
        qsort(dict->entry, map->n, sizeof *dict->entry, by_key);
    return true;
}

static bool parse_constant(struct fm_rules_parser *p, const struct fm_yaml_pair *pair,
                           struct fm_constant *c)
{
    const struct fm_yaml_node *v = pair->value;
    double f;
    int64_t i;
    c->name = pair->key;
    c->unit = "";
    if (!fm_rules_text(p, v, pair->key))
        return false;
    if (!v->quoted && parse_number(v->text, v->n, &i)) {
        c->value = fm_value_i64(i);
    } else if (!v->quoted && fm_text_quantity(v->text, v->n, &f, &c->unit)) {
        bool whole = f == (double)(int64_t)f && f < 1e15 && f > -1e15;
        c->value = whole ? fm_value_i64((int64_t)f) : fm_value_f64(f);
    } else {
        c->unit = "";
        c->value = fm_value_text(v->text, v->n);
    }
    return true;
}

/* Both sections hold maps (tables of lookup()) and scalars ($name in expressions). */
static bool parse_tables(struct fm_rules_parser *p, const struct fm_yaml_node *root)
{
    static const char *const sections[] = {"constants", "dictionaries"};
    struct fm_mapping *m = p->m;
    size_t n = 0;
    for (size_t k = 0; k < FM_COUNT(sections); k++) {
        const struct fm_yaml_node *s = fm_yaml_get(root, sections[k]);
        if (s && s->type != FM_YAML_MAP) {
            fm_yaml_error(fm_yaml_as(p->log, FM_YAML_TYPE), s, "'%s' must be a map", sections[k]);
            return false;
        }
        n += s ? s->n : 0;
    }
    m->dict = fm_rules_array(p, n, sizeof *m->dict);
    m->constant = fm_rules_array(p, n, sizeof *m->constant);
    if (!m->dict || !m->constant)
        return false;
    bool ok = true;
    for (size_t k = 0; k < FM_COUNT(sections); k++) {
        const struct fm_yaml_node *s = fm_yaml_get(root, sections[k]);
        for (size_t i = 0; s && i < s->n; i++) {
            if (s->pair[i].value->type == FM_YAML_MAP)
                ok &= parse_dict(p, &s->pair[i], &m->dict[m->dicts++]);
            else
                ok &= parse_constant(p, &s->pair[i], &m->constant[m->constants++]);
        }
    }
    return ok;
}

/* ------------------------------------------------------------------ the top level */

static const char *required(struct fm_rules_parser *p, const char *key)
{
    const struct fm_yaml_node *node = fm_yaml_get(p->m->root, key);
    if (!node) {
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_MISSING), p->m->root, "'%s' is missing", key);
        return NULL;
    }
    const char *text = fm_rules_text(p, node, key);
    if (text && !text[0]) {
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_TYPE), node, "'%s' is empty", key);
        return NULL;
    }
    return text;
}

static void parse_clock(struct fm_rules_parser *p, const struct fm_yaml_node *node)
{
    static const char *const keys[] = {"kind", "unit", "field"};
    static const char *const kinds[] = {"monotonic", "monotonic_raw", "realtime", "boot",
                                        "gpu", "none", "file"};
    static const enum fm_clock clocks[] = {FM_CLOCK_MONOTONIC, FM_CLOCK_MONOTONIC_RAW,
                                           FM_CLOCK_REALTIME, FM_CLOCK_BOOT, FM_CLOCK_GPU,
                                           FM_CLOCK_NONE, FM_CLOCK_UNKNOWN};
    static const char *const units[] = {"ns", "us", "ms", "s", "ticks"};
    static const int64_t scales[] = {1, 1000, 1000000, 1000000000, 0};
    struct fm_mapping *m = p->m;
    if (node->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_TYPE), node, "'clock' must be {kind: …, unit: …}");
        return;
    }
    fm_yaml_known(p->log, node, keys, FM_COUNT(keys), "key of 'clock'");
    const struct fm_yaml_node *kind = fm_yaml_get(node, "kind");
    const struct fm_yaml_node *unit = fm_yaml_get(node, "unit");
    const struct fm_yaml_node *field = fm_yaml_get(node, "field");
    int k = kind ? fm_rules_word(p, kind, "clock", kinds, FM_COUNT(kinds)) : -1;
    if (k >= 0) {
        m->clock = clocks[k];
        m->clock_file = strcmp(kinds[k], "file") == 0;
    }
    k = unit ? fm_rules_word(p, unit, "unit of time", units, FM_COUNT(units)) : -1;
    if (k >= 0)
        m->clock_scale = scales[k];
    if (field)
        m->clock_field = fm_rules_expr(p, field);
}

static void parse_classes(struct fm_rules_parser *p, const struct fm_yaml_node *node)
{
    struct fm_mapping *m = p->m;
    if (!node) {
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_MISSING), m->root, "'classes' is missing");
        return;
    }
    if (node->type != FM_YAML_LIST) {
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_TYPE), node, "'classes' must be a list of rules");
        return;
    }
    m->rule = fm_rules_array(p, node->n, sizeof *m->rule);
    if (!m->rule)
        return;
    for (size_t i = 0; i < node->n && p->log->errors < FM_YAML_ERRORS && !p->nomem; i++)
        fm_rule_parse(p, node->item[i], &m->rule[i]);
    m->rules = node->n;
}

static void check_keys(struct fm_rules_parser *p)
{
    static const char *const common[] = {"foldmill-format", "name", "about", "container", "clock",
                                         "classes", "default_event", "view", "constants",
                                         "dictionaries", "aliases", "derived"};
    const char *known[FM_COUNT(common) + 32];
    size_t n = FM_COUNT(common), extra;
    memcpy(known, common, sizeof common);
    const char *const *more = fm_container_keys(p->m->container ? p->m->container : "", &extra);
    fm_assert(extra <= 32);
    for (size_t i = 0; i < extra; i++)
        known[n++] = more[i];
    fm_yaml_known(p->log, p->m->root, known, n, "key");
}

static bool check_version(struct fm_rules_parser *p)
{
    const struct fm_yaml_node *version = fm_yaml_get(p->m->root, "foldmill-format");
    if (!version) {
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_MISSING), p->m->root,
                      "'foldmill-format: 1' is missing: not a format file");
        return false;
    }
    if (fm_yaml_is(version, "1"))
        return true;
    fm_yaml_error(fm_yaml_as(p->log, FM_YAML_TYPE), version,
                  "only version 1 of the format language is known");
    return false;
}

static void parse_root(struct fm_rules_parser *p)
{
    struct fm_mapping *m = p->m;
    const struct fm_yaml_file *file = m->file;
    if (file->documents != 1 || file->document[0]->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_TYPE),
                      file->documents > 1 ? file->document[1] : NULL,
                      "a format file is one map, '%s' holds %zu documents", file->name,
                      file->documents);
        return;
    }
    m->root = file->document[0];
    if (!check_version(p))
        return;
    m->name = required(p, "name");
    m->about = required(p, "about");
    m->container = required(p, "container");
    m->clock_scale = 1;
    m->prepend = m->append = "";
    check_keys(p);
    if (!parse_tables(p, m->root))
        return;
    const struct fm_yaml_node *clock = fm_yaml_get(m->root, "clock");
    const struct fm_yaml_node *view = fm_yaml_get(m->root, "view");
    if (clock)
        parse_clock(p, clock);
    if (view)
        fm_rules_view(p, view, &m->prepend, &m->append);
    fm_choices_parse(p);
    parse_classes(p, fm_yaml_get(m->root, "classes"));
    fm_derived_parse(p);
    if (m->container)
        fm_container_parse(p, m->root);
}

/* A file by path (text NULL), or a text. */
static enum fm_status load(struct fm_ctx *ctx, const char *path, const char *text, size_t n,
                           struct fm_mapping **mapping, struct fm_yaml_log *log,
                           struct fm_error *err)
{
    *mapping = NULL;
    struct fm_mapping *m = fm_mem_zalloc(&ctx->mem, sizeof *m);
    if (!m)
        return fm_error_nomem(err);
    m->mem = &ctx->mem;
    fm_arena_init(&m->arena, m->mem);
    fm_map_init(&m->name_at, m->mem);
    struct fm_rules_parser p = {.m = m, .log = log};
    p.names = (struct fm_expr_names){.user = &p, .name = resolve_name, .call = resolve_call};
    enum fm_status status = text ? fm_yaml_parse(&m->arena, path, text, n, &m->file, log)
                                 : fm_yaml_load(&m->arena, path, &m->file, log, err);
    if (status == FM_OK) {
        parse_root(&p);
        if (p.nomem || m->arena.oom || log->first.status == FM_NOMEM)
            status = fm_error_nomem(err);
        else if (log->errors)
            status = FM_CONFIG;
    }
    if (status == FM_OK) {
        *mapping = m;
        return FM_OK;
    }
    if (err && err->status == FM_OK)
        *err = log->first;
    log->file = NULL;              /* its text goes with the mapping */
    fm_mapping_free(m);
    return status;
}

enum fm_status fm_mapping_load_file(struct fm_ctx *ctx, const char *path,
                                    struct fm_mapping **mapping, struct fm_yaml_log *log,
                                    struct fm_error *err)
{
    return load(ctx, path, NULL, 0, mapping, log, err);
}

enum fm_status fm_mapping_load_text(struct fm_ctx *ctx, const char *name, const char *text,
                                    size_t n, struct fm_mapping **mapping,
                                    struct fm_yaml_log *log, struct fm_error *err)
{
    return load(ctx, name, text, n, mapping, log, err);
}

enum fm_status fm_mapping_load(struct fm_ctx *ctx, const char *name, struct fm_mapping **mapping,
                               struct fm_error *err)
{
    struct fm_arena arena;
    struct fm_yaml_log log;
    enum fm_status status;
    *mapping = NULL;
    fm_arena_init(&arena, &ctx->mem);
    fm_yaml_log_init(&log, &arena);
    const char *path = fm_lookup(ctx, &arena, "formats", name);
    if (path)
        status = fm_mapping_load_file(ctx, path, mapping, &log, err);
    else if (arena.oom)
        status = fm_error_nomem(err);
    else
        status = fm_error_set(err, FM_UNKNOWN, "no format file 'formats/%s.yaml' is on the data "
                              "path", name);
    fm_arena_release(&arena);
    return status;
}

void fm_mapping_free(struct fm_mapping *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->patterns; i++)
        fm_pattern_free(m->pattern[i]);
    if (m->pattern)
        fm_mem_free(m->mem, m->pattern, m->patterns_cap * sizeof(*m->pattern));
    fm_map_release(&m->name_at);
    if (m->field_name)
        fm_mem_free(m->mem, m->field_name, m->names_cap * sizeof *m->field_name);
    fm_arena_release(&m->arena);
    fm_mem_free(m->mem, m, sizeof *m);
}

const char *fm_mapping_name(const struct fm_mapping *mapping)
{
    return mapping->name;
}

const char *fm_mapping_about(const struct fm_mapping *mapping)
{
    return mapping->about;
}

void fm_mapping_set_report(struct fm_mapping *mapping, struct fm_out *out)
{
    mapping->report = out;
}

const char *fm_mapping_container(const struct fm_mapping *mapping)
{
    return mapping->container;
}

const char *fm_mapping_field(const struct fm_mapping *mapping, size_t i)
{
    return i < mapping->names ? mapping->field_name[i] : NULL;
}

const struct fm_yaml_node *fm_mapping_root(const struct fm_mapping *mapping)
{
    return mapping->root;
}

const struct fm_container *fm_mapping_spec(const struct fm_mapping *mapping)
{
    return mapping->spec.kind == FM_CONTAINER_NONE ? NULL : &mapping->spec;
}
