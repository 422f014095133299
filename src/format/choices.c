/*
 * choices.c - what a mapping says about choosing events: `default_event`, `aliases`, `derived`.
 *
 *     default_event: [cpu, wall]             names, globs, metrics or aliases, best first
 *     aliases: {cpu: [cputime, execution]}   the first that is present
 *     derived: {leak: {event: nativemem, unless_later: nativemem-free, key: address}}
 *
 * The rank of an event is 64 * (its place in default_event), and for the entries of an alias more
 * by 1 + their place there: a metric "cpu" goes before what the alias "cpu" stands for.
 */
#include "format/rules.h"

#define RANK_STEP 64

static void type_error(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                       const char *text)
{
    fm_yaml_error(fm_yaml_as(p->log, FM_YAML_TYPE), node, "%s", text);
}

static const struct fm_yaml_node *item_of(const struct fm_yaml_node *node, size_t i)
{
    return node->type == FM_YAML_LIST ? node->item[i] : node;
}

static size_t items_of(const struct fm_yaml_node *node)
{
    return node->type == FM_YAML_LIST ? node->n : 1;
}

static void parse_default_event(struct fm_rules_parser *p, const struct fm_yaml_node *node)
{
    struct fm_mapping *m = p->m;
    size_t n = items_of(node);
    m->default_event = fm_rules_array(p, n, sizeof(*m->default_event));
    m->default_text = fm_rules_array(p, n, sizeof(*m->default_text));
    if (!m->default_event || !m->default_text)
        return;
    for (size_t i = 0; i < n; i++) {
        const struct fm_yaml_node *item = item_of(node, i);
        struct fm_pattern *pattern = fm_rules_pattern(p, item, false);
        if (pattern) {
            m->default_text[m->default_events] = item->text;
            m->default_event[m->default_events++] = pattern;
        }
    }
}

static void parse_alias(struct fm_rules_parser *p, const struct fm_yaml_pair *pair,
                        struct fm_rule_alias *alias)
{
    const struct fm_yaml_node *node = pair->value;
    size_t n = items_of(node);
    alias->name = pair->key;
    alias->list = "";
    if (n == 0 || n > FM_ALIAS_ENTRIES) {
        type_error(p, node, "an alias is a list of 1 to 62 names of events or metrics");
        return;
    }
    alias->entry = fm_rules_array(p, n, sizeof(*alias->entry));
    for (size_t i = 0; alias->entry && i < n; i++) {
        const char *text = fm_rules_text(p, item_of(node, i), "alias");
        if (!text)
            return;
        if (!text[0] || strchr(text, ',')) {
            type_error(p, item_of(node, i), "a name without ',' should stand here");
            return;
        }
        alias->entry[alias->entries++] = text;
        alias->list = fm_arena_printf(&p->m->arena, "%s%s%s", alias->list, i ? "," : "", text);
        if (!alias->list) {
            p->nomem = true;
            return;
        }
    }
}

void fm_choices_parse(struct fm_rules_parser *p)
{
    struct fm_mapping *m = p->m;
    const struct fm_yaml_node *events = fm_yaml_get(m->root, "default_event");
    const struct fm_yaml_node *aliases = fm_yaml_get(m->root, "aliases");
    if (events)
        parse_default_event(p, events);
    if (!aliases)
        return;
    if (aliases->type != FM_YAML_MAP) {
        type_error(p, aliases, "'aliases' must be {name: [event, …]}");
        return;
    }
    m->alias = fm_rules_array(p, aliases->n, sizeof *m->alias);
    for (size_t i = 0; m->alias && i < aliases->n; i++)
        parse_alias(p, &aliases->pair[i], &m->alias[m->aliases++]);
}

/* -------------------------------------------------------------- derived events */

/* The key is a label of the rules; NULL with an error. */
static const char *label_named(struct fm_rules_parser *p, const struct fm_yaml_node *node)
{
    const char *text = fm_rules_text(p, node, "key");
    for (size_t i = 0; text && i < p->m->rules; i++)
        for (size_t k = 0; k < p->m->rule[i].labels; k++)
            if (strcmp(p->m->rule[i].label[k].name, text) == 0)
                return text;
    if (text)
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_UNKNOWN), node, "no rule has a label '%s'", text);
    return NULL;
}

static void parse_derived(struct fm_rules_parser *p, const struct fm_yaml_pair *pair,
                          struct fm_rule_derived *d)
{
    static const char *const keys[] = {"event", "unless_later", "key"};
    const struct fm_yaml_node *map = pair->value, *part[FM_COUNT(keys)];
    if (map->type != FM_YAML_MAP) {
        type_error(p, map, "a derived event is {event: …, unless_later: …, key: LABEL}");
        return;
    }
    if (!fm_yaml_known(p->log, map, keys, FM_COUNT(keys), "key of a derived event"))
        return;
    for (size_t i = 0; i < FM_COUNT(keys); i++) {
        part[i] = fm_yaml_get(map, keys[i]);
        if (!part[i]) {
            fm_yaml_error_key(fm_yaml_as(p->log, FM_YAML_MISSING), pair,
                              "derived event '%s' needs '%s'", pair->key, keys[i]);
            return;
        }
    }
    d->name = pair->key;
    d->event = fm_rules_text(p, part[0], keys[0]);
    d->unless = fm_rules_text(p, part[1], keys[1]);
    d->key = label_named(p, part[2]);
}

void fm_derived_parse(struct fm_rules_parser *p)
{
    struct fm_mapping *m = p->m;
    const struct fm_yaml_node *derived = fm_yaml_get(m->root, "derived");
    if (!derived)
        return;
    if (derived->type != FM_YAML_MAP) {
        type_error(p, derived, "'derived' must be {name: {event: …, unless_later: …, key: …}}");
        return;
    }
    m->derived = fm_rules_array(p, derived->n, sizeof *m->derived);
    for (size_t i = 0; m->derived && i < derived->n; i++)
        parse_derived(p, &derived->pair[i], &m->derived[m->deriveds++]);
}

/* ---------------------------------------------------------------------- ranks */

static const struct fm_rule_alias *find_alias(const struct fm_mapping *m, const char *name)
{
    for (size_t i = 0; i < m->aliases; i++)
        if (strcmp(m->alias[i].name, name) == 0)
            return &m->alias[i];
    return NULL;
}

int32_t fm_default_rank(const struct fm_mapping *m, const char *name, const char *metric,
                        const char **as)
{
    *as = NULL;
    for (size_t i = 0; i < m->default_events; i++) {
        const struct fm_rule_alias *alias = find_alias(m, m->default_text[i]);
        int32_t rank = (int32_t)FM_MIN(i, (size_t)(INT32_MAX / RANK_STEP - 1)) * RANK_STEP;
        if (fm_pattern_match(m->default_event[i], name, strlen(name)))
            return rank;
        if (fm_pattern_match(m->default_event[i], metric, strlen(metric))) {
            *as = metric;
            return rank;
        }
        for (size_t k = 0; alias && k < alias->entries; k++) {
            if (strcmp(alias->entry[k], name) == 0 || strcmp(alias->entry[k], metric) == 0) {
                *as = alias->name;
                return rank + 1 + (int32_t)k;
            }
        }
    }
    return -1;
}
