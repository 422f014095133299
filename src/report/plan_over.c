/*
 * plan_over.c - the parts of a report that look at many files: groups, compare, gates, trends.
 *
 *     groups:  {old: {date: "2026-10-*"}, new: {date: ["2026-11-01", "2026-11-02"]}}
 *     compare: [{query: regression-gate, inputs: {base: old, new: new}, to: gate.csv},
 *               {export: svg, base: old, new: new, to: diff.svg}]
 *     gates:   [{table: files, fail_if: "lost > 0", message: "${file} lost ${lost} samples"}]
 *     trends:  [{name: gc, table: categories, where: {category: gc}, value: total_share,
 *                chart: gc.svg, gate: {baseline: old, worse: up, by: 10%, sigma: 3}}]
 */
#include "report/reader.h"
#include "report/run.h"

#include "util/error.h"

/* ------------------------------------------------------------------ groups */

/* {COLUMN: pattern or list of them, ...} */
static const struct fm_report_match *read_match(struct fm_report_reader *r,
                                                const struct fm_yaml_node *map, size_t *n)
{
    struct fm_report_match *match;

    *n = 0;
    if (map == NULL)
        return NULL;
    if (map->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), map, "{COLUMN: pattern} is wanted here");
        return NULL;
    }
    match = fm_arena_alloc(r->arena, (map->n + 1) * sizeof *match);
    for (size_t i = 0; match != NULL && i < map->n; i++) {
        size_t count;
        const char *const *text = fm_read_list(r, map->pair[i].value, &count);
        struct fm_pattern **list = fm_arena_alloc(r->arena, (count + 1) * sizeof *list);

        match[i] = (struct fm_report_match){.column = map->pair[i].key, .pattern = list,
                                            .at = map->pair[i].value};
        for (size_t k = 0; list != NULL && k < count; k++) {
            struct fm_error err = {0};

            list[k] = fm_report_pattern(r->plan, text[k], false, &err);
            if (list[k] == NULL)
                fm_yaml_error(fm_yaml_as(r->log, FM_YAML_REGEX), map->pair[i].value, "%s",
                              err.message);
            match[i].patterns = k + 1;
        }
        *n = i + 1;
    }
    return match;
}

/* The columns by which files are grouped are those of the table of files. */
static void check_columns(struct fm_report_reader *r, const struct fm_yaml_node *map)
{
    const struct fm_report_plan *plan = r->plan;
    size_t n = 0;
    const char **known = fm_arena_alloc(r->arena,
                                        (1 + plan->label_count + fm_report_facts) * sizeof *known);

    if (known == NULL || map->type != FM_YAML_MAP)
        return;
    known[n++] = "file";
    for (size_t i = 0; i < plan->label_count; i++)
        known[n++] = plan->label[i];
    for (size_t i = 0; i < fm_report_facts; i++)
        known[n++] = fm_report_fact[i].name;
    (void)fm_yaml_known(r->log, map, known, n, "column");
}

void fm_read_groups(struct fm_report_reader *r)
{
    const struct fm_yaml_node *map = fm_yaml_get(r->root, "groups");
    struct fm_report_group *group;

    if (map == NULL)
        return;
    if (map->type != FM_YAML_MAP || map->n > FM_REPORT_GROUPS) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), map,
                      "'groups' takes {NAME: {COLUMN: pattern}}, at most %d", FM_REPORT_GROUPS);
        return;
    }
    group = fm_arena_alloc(r->arena, (map->n + 1) * sizeof *group);
    r->plan->group = group;
    for (size_t i = 0; group != NULL && i < map->n; i++) {
        group[i].name = map->pair[i].key;
        check_columns(r, map->pair[i].value);
        group[i].match = read_match(r, map->pair[i].value, &group[i].matches);
        r->plan->groups = i + 1;
    }
}

/* Place of the group that a scalar names; plan->groups: logged. */
static size_t read_group(struct fm_report_reader *r, const struct fm_yaml_node *map,
                         const char *key)
{
    const struct fm_report_plan *plan = r->plan;
    const struct fm_yaml_node *node = fm_yaml_get(map, key);
    const char *known[FM_REPORT_GROUPS], *name;

    if (node == NULL) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_MISSING), map, "'%s' is missing: a group", key);
        return plan->groups;
    }
    name = fm_read_text(r, node);
    for (size_t i = 0; name != NULL && i < plan->groups; i++) {
        known[i] = plan->group[i].name;
        if (strcmp(known[i], name) == 0)
            return i;
    }
    if (name != NULL)
        fm_yaml_unknown(r->log, node, "group", name, known, plan->groups);
    return plan->groups;
}

/* ----------------------------------------------------------------- compare */

/* `inputs` of a query, in the order that it declares them. */
static bool read_query_groups(struct fm_report_reader *r, const struct fm_yaml_node *map,
                              struct fm_report_compare *compare)
{
    const struct fm_yaml_node *inputs = fm_yaml_get(map, "inputs");
    struct fm_query *query = NULL;
    size_t *list = fm_arena_alloc(r->arena, FM_REPORT_GROUPS * sizeof *list), n = 0;
    unsigned errors = r->log->errors;
    const char *name;

    compare->group = list;
    if (list == NULL || fm_query_load(r->plan->ctx, compare->ask.query, &query, NULL) != FM_OK) {
        fm_query_free(query);
        return false;                /* fm_read_ask() has told */
    }
    if (inputs == NULL || inputs->type != FM_YAML_MAP)
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_MISSING), map,
                      "'inputs' is missing: {INPUT: group} for the inputs of the query");
    else
        for (; n < FM_REPORT_GROUPS && (name = fm_query_input(query, n)) != NULL; n++)
            list[n] = read_group(r, inputs, name);
    for (size_t i = 0; inputs != NULL && inputs->type == FM_YAML_MAP && i < inputs->n; i++) {
        size_t k = 0;

        while ((name = fm_query_input(query, k)) != NULL
               && strcmp(name, inputs->pair[i].key) != 0)
            k++;
        if (name == NULL)
            fm_yaml_error_key(fm_yaml_as(r->log, FM_YAML_UNKNOWN), &inputs->pair[i],
                              "query '%s' has no input '%s'", compare->ask.query,
                              inputs->pair[i].key);
    }
    fm_query_free(query);
    compare->groups = n;
    return r->log->errors == errors && n > 0;
}

static bool read_compare(struct fm_report_reader *r, const struct fm_yaml_node *map,
                         struct fm_report_compare *compare)
{
    size_t *list;

    if (!fm_read_part(r, map, FM_REPORT_COMPARE, "an entry of 'compare'")
        || !fm_read_ask(r, map, true, &compare->ask)
        || !fm_read_target(r, map, &compare->ask, &compare->to, &compare->form))
        return false;
    compare->name = fm_read_key(r, map, "name", compare->to);
    if (compare->ask.query != NULL)
        return read_query_groups(r, map, compare);
    list = fm_arena_alloc(r->arena, 2 * sizeof *list);
    if (list == NULL)
        return false;
    list[0] = read_group(r, map, "base");
    list[1] = read_group(r, map, "new");
    compare->group = list;
    compare->groups = 2;
    return list[0] < r->plan->groups && list[1] < r->plan->groups;
}

void fm_read_compares(struct fm_report_reader *r)
{
    size_t n;
    struct fm_yaml_node *const *item = fm_read_entries(r, "compare", &n);
    struct fm_report_compare *compare = fm_arena_alloc(r->arena, (n + 1) * sizeof *compare);

    r->plan->compare = compare;
    for (size_t i = 0; compare != NULL && i < n; i++)
        r->plan->compares += read_compare(r, item[i], &compare[r->plan->compares]);
}

/* ------------------------------------------------------------------- gates */

void fm_read_gates(struct fm_report_reader *r)
{
    size_t n;
    struct fm_yaml_node *const *item = fm_read_entries(r, "gates", &n);
    struct fm_report_gate *gate = fm_arena_alloc(r->arena, (n + 1) * sizeof *gate);

    r->plan->gate = gate;
    for (size_t i = 0; gate != NULL && i < n; i++) {
        struct fm_report_gate *g = &gate[r->plan->gates];

        if (!fm_read_part(r, item[i], FM_REPORT_GATE, "a gate"))
            continue;
        *g = (struct fm_report_gate){.table = fm_read_table(r, item[i])};
        g->fail_if = fm_yaml_get(item[i], "fail_if");
        g->warn_if = fm_yaml_get(item[i], "warn_if");
        g->message = fm_yaml_get(item[i], "message");
        if ((g->fail_if == NULL) == (g->warn_if == NULL))
            fm_yaml_error(fm_yaml_as(r->log, FM_YAML_MISSING), item[i],
                          "a gate has 'fail_if' or 'warn_if'");
        else if ((g->fail_if != NULL ? g->fail_if : g->warn_if)->type != FM_YAML_SCALAR)
            fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), item[i],
                          "a gate's condition is an expression");
        else if (g->message != NULL && g->message->type != FM_YAML_SCALAR)
            fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), g->message, "'message' is a text");
        else if (g->table < r->plan->tables)
            r->plan->gates++;
    }
}

/* ------------------------------------------------------------------ trends */

static void read_trend_gate(struct fm_report_reader *r, const struct fm_yaml_node *map,
                            struct fm_report_trend *t)
{
    const char *worse;

    if (!fm_read_part(r, map, FM_REPORT_TREND_GATE, "'gate'"))
        return;
    t->gate = true;
    t->baseline = read_group(r, map, "baseline");
    t->candidate = fm_yaml_get(map, "candidate") != NULL ? read_group(r, map, "candidate")
                                                         : SIZE_MAX;
    worse = fm_read_key(r, map, "worse", "up");
    t->down = strcmp(worse, "down") == 0;
    if (!t->down && strcmp(worse, "up") != 0)
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), fm_yaml_get(map, "worse"),
                      "'worse' is up or down");
    t->by_share = fm_read_number(r, map, "by", 0.1);
    t->sigma = fm_read_number(r, map, "sigma", 3);
    t->least = (size_t)FM_MIN(fm_read_number(r, map, "files", 3), 1e9);
    t->warn = fm_read_bool(r, map, "warn", false);
}

static bool read_trend(struct fm_report_reader *r, const struct fm_yaml_node *map,
                       struct fm_report_trend *t)
{
    const struct fm_yaml_node *gate, *to, *chart;

    if (!fm_read_part(r, map, FM_REPORT_TREND, "a trend"))
        return false;
    *t = (struct fm_report_trend){.at = map, .table = fm_read_table(r, map)};
    t->name = fm_read_key(r, map, "name", NULL);
    t->about = fm_read_key(r, map, "about", "");
    t->value = fm_read_key(r, map, "value", NULL);
    if (t->name == NULL || t->value == NULL) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_MISSING), map, "'%s' is missing",
                      t->name == NULL ? "name" : "value");
        return false;
    }
    t->match = read_match(r, fm_yaml_get(map, "where"), &t->matches);
    t->sum = fm_read_bool(r, map, "sum", false);
    t->time = fm_read_key(r, map, "time", "start");
    t->by = fm_read_list(r, fm_yaml_get(map, "by"), &t->bys);
    to = fm_yaml_get(map, "to");
    chart = fm_yaml_get(map, "chart");
    t->to = to == NULL ? NULL : fm_read_text(r, to);
    t->chart = chart == NULL ? NULL : fm_read_text(r, chart);
    if (t->to != NULL && fm_read_place(r, to, t->to))
        (void)fm_read_form(r, to, t->to);
    if (t->chart != NULL)
        (void)fm_read_place(r, chart, t->chart);
    gate = fm_yaml_get(map, "gate");
    if (gate != NULL)
        read_trend_gate(r, gate, t);
    return t->table < r->plan->tables;
}

void fm_read_trends(struct fm_report_reader *r)
{
    size_t n;
    struct fm_yaml_node *const *item = fm_read_entries(r, "trends", &n);
    struct fm_report_trend *trend = fm_arena_alloc(r->arena, (n + 1) * sizeof *trend);

    r->plan->trend = trend;
    for (size_t i = 0; trend != NULL && i < n; i++)
        r->plan->trends += read_trend(r, item[i], &trend[r->plan->trends]);
}
