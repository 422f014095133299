/*
 * plan.c - REPORT.yaml -> struct fm_report_plan: parameters, labels, what is asked of each file,
 * tables over all files, the page. What is asked over groups of files is read in plan_over.c.
 *
 * Every query is loaded once here, so that a wrong name or parameter is told with its place before
 * any file is read.
 */
#include "report/reader.h"
#include "report/run.h"

#include "util/error.h"

#include <unistd.h>

struct fm_report_patterns {
    struct fm_pattern *pattern;
    struct fm_report_patterns *next;
};

struct fm_pattern *fm_report_pattern(struct fm_report_plan *plan, const char *text, bool regex,
                                     struct fm_error *err)
{
    struct fm_report_patterns *link = fm_arena_alloc(plan->arena, sizeof *link);
    struct fm_pattern *pattern = NULL;
    enum fm_status status = FM_NOMEM;

    if (link != NULL && regex)
        status = fm_pattern_new_regex(&plan->ctx->mem, text, strlen(text), "", &pattern, err);
    else if (link != NULL)
        status = fm_pattern_new(&plan->ctx->mem, text, strlen(text), false, &pattern, err);
    if (status != FM_OK)
        return NULL;
    *link = (struct fm_report_patterns){pattern, plan->pattern};
    plan->pattern = link;
    return pattern;
}

void fm_report_plan_release(struct fm_report_plan *plan)
{
    for (struct fm_report_patterns *p = plan->pattern; p != NULL; p = p->next)
        fm_pattern_free(p->pattern);
    plan->pattern = NULL;
}

/* -------------------------------------------------------------- parameters */

/* A default stands alone, or in {default: ..., about: ...}. */
static const char *default_of(struct fm_report_reader *r, const struct fm_yaml_pair *pair)
{
    static const char *const known[] = {"default", "about"};
    const struct fm_yaml_node *value = pair->value;

    if (value->type == FM_YAML_MAP) {
        (void)fm_yaml_known(r->log, value, known, FM_COUNT(known), "key");
        value = fm_yaml_get(value, "default");
    }
    if (value != NULL && value->type == FM_YAML_SCALAR)
        return value->text;
    fm_yaml_error_key(fm_yaml_as(r->log, FM_YAML_TYPE), pair,
                      "parameter '%s' takes its default, or {default, about}", pair->key);
    return NULL;
}

static void set_param(struct fm_report_reader *r, const char *given)
{
    size_t n = strcspn(given, "=");
    const char **known = fm_arena_alloc(r->arena, (r->params + 1) * sizeof *known);
    const char *name = fm_arena_strn(r->arena, given, n);

    for (size_t i = 0; known != NULL && name != NULL && i < r->params; i++) {
        known[i] = r->param[i].name;
        if (strcmp(known[i], name) != 0)
            continue;
        r->param[i].value = fm_arena_str(r->arena, given + n + (given[n] == '='));
        return;
    }
    if (known != NULL && name != NULL)
        fm_yaml_unknown(r->log, NULL, "parameter", name, known, r->params);
}

static void read_params(struct fm_report_reader *r, const char *const *given, size_t n)
{
    const struct fm_yaml_node *params = fm_yaml_get(r->root, "params");
    size_t count = params != NULL && params->type == FM_YAML_MAP ? params->n : 0;

    if (params != NULL && params->type != FM_YAML_MAP)
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), params, "'params' takes {NAME: default}");
    r->param = fm_arena_alloc(r->arena, (count + 1) * sizeof *r->param);
    for (size_t i = 0; r->param != NULL && i < count; i++) {
        r->param[r->params].name = params->pair[i].key;
        r->param[r->params].value = default_of(r, &params->pair[i]);
        r->params += r->param[r->params].value != NULL;
    }
    for (size_t i = 0; i < n; i++)
        set_param(r, given[i]);
    r->plan->param = r->param;
    r->plan->params = r->params;
}

/* ------------------------------------------------------------------ labels */

static bool add_label(struct fm_report_reader *r, const char *name, size_t n)
{
    struct fm_report_plan *plan = r->plan;
    const char **list;

    for (size_t i = 0; i < plan->label_count; i++)
        if (strlen(plan->label[i]) == n && memcmp(plan->label[i], name, n) == 0)
            return true;
    list = fm_arena_alloc(r->arena, (plan->label_count + 1) * sizeof *list);
    if (list == NULL)
        return false;
    if (plan->label_count > 0)
        memcpy(list, plan->label, plan->label_count * sizeof *list);
    list[plan->label_count] = fm_arena_strn(r->arena, name, n);
    plan->label = list;
    plan->label_count++;
    return list[plan->label_count - 1] != NULL;
}

/* {name} at s: its length with the braces, 0 when it is none. */
static size_t label_at(const char *s)
{
    size_t n = 1;

    while ((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') || s[n] == '_'
           || (n > 1 && s[n] >= '0' && s[n] <= '9'))
        n++;
    return s[0] == '{' && s[n] == '}' && n > 1 && n < 32 ? n + 1 : 0;
}

/* A pattern of paths as a regular expression that fits their tail. false: a name in {} is none. */
static bool path_regex(struct fm_report_reader *r, const char *s, struct fm_out *out)
{
    fm_out_text(out, s[0] == '/' ? "^" : "(?:^|[/:])");
    while (*s != '\0') {
        size_t n = 1;

        if (*s == '{') {
            n = label_at(s);
            if (n == 0 || !add_label(r, s + 1, n - 2))
                return false;
            fm_out_printf(out, "(?<%.*s>[^/]+)", (int)(n - 2), s + 1);
        } else if (strncmp(s, "**/", 3) == 0) {
            fm_out_text(out, "(?:.*/)?");
            n = 3;
        } else if (*s == '*' || *s == '?') {
            fm_out_text(out, *s == '*' ? "[^/]*" : "[^/]");
        } else {
            if (strchr("\\^$.|+()[]}#", *s) != NULL)
                fm_out_char(out, '\\');
            fm_out_char(out, *s);
        }
        s += n;
    }
    fm_out_text(out, "$");
    return true;
}

static void read_labels(struct fm_report_reader *r)
{
    const struct fm_yaml_node *node = fm_yaml_get(r->root, "labels");
    size_t n;
    const char *const *text = fm_read_list(r, node, &n);
    struct fm_pattern **list = fm_arena_alloc(r->arena, (n + 1) * sizeof *list);

    r->plan->labels = list;
    for (size_t i = 0; list != NULL && i < n; i++) {
        const struct fm_yaml_node *at = node->type == FM_YAML_LIST ? node->item[i] : node;
        struct fm_error err = {0};
        struct fm_out out;

        if (fm_out_init(&out, r->arena->mem, NULL) != FM_OK)
            return;
        if (!path_regex(r, text[i], &out))
            fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), at,
                          "a pattern of paths has {NAME}, *, ** and ?");
        fm_out_char(&out, '\0');
        if (out.status == FM_OK)
            list[i] = fm_report_pattern(r->plan, out.buf, true, &err);
        if (list[i] == NULL)
            fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), at, "a pattern of paths: %s",
                          err.message);
        fm_out_release(&out);
        r->plan->label_patterns = i + 1;
    }
}

/* ------------------------------------------------------------------ places */

bool fm_report_below(const char *to)
{
    bool good = to[0] != '\0' && to[0] != '/' && strlen(to) < 200;

    for (const char *s = to; good && s != NULL; s = strchr(s, '/')) {
        s += *s == '/';
        good = s[0] != '.' && s[0] != '/' && s[0] != '\0';
    }
    for (const char *s = to; good && *s != '\0'; s++)
        good = (unsigned char)*s >= ' ';
    return good;
}

bool fm_read_place(struct fm_report_reader *r, const struct fm_yaml_node *at, const char *to)
{
    bool good = fm_report_below(to);

    if (!good)
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), at,
                      "'to' is a path below the report's folder, without names that begin with a "
                      "dot");
    return good;
}

const char *fm_report_form(const char *to)
{
    static const char *const ending[][2] = {
        {".csv", "csv"}, {".tsv", "tsv"}, {".json", "json"}, {".md", "markdown"},
        {".txt", "text"},
    };
    size_t n = strlen(to);

    for (size_t i = 0; i < FM_COUNT(ending); i++) {
        size_t len = strlen(ending[i][0]);

        if (n > len && strcmp(to + n - len, ending[i][0]) == 0)
            return ending[i][1];
    }
    return NULL;
}

const char *fm_read_form(struct fm_report_reader *r, const struct fm_yaml_node *at,
                         const char *to)
{
    const char *form = fm_report_form(to);

    if (form == NULL)
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_UNKNOWN), at,
                      "no table has the ending of '%s': .csv .tsv .json .md .txt", to);
    return form;
}

bool fm_read_target(struct fm_report_reader *r, const struct fm_yaml_node *map,
                    struct fm_report_ask *ask, const char **to, const char **form)
{
    const struct fm_yaml_node *at = fm_yaml_get(map, "to");

    *form = NULL;
    *to = at == NULL ? NULL : fm_read_text(r, at);
    if (at == NULL)
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_MISSING), map, "'to' is missing");
    if (*to == NULL || !fm_read_place(r, at, *to))
        return false;
    if (ask->export != NULL)
        return true;
    if (ask->query != NULL)
        *form = fm_report_form(*to);
    if (*form == NULL)
        ask->export = fm_export_for_path(*to);
    if (*form == NULL && ask->export == NULL)
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_UNKNOWN), at,
                      "neither a table nor an output format has the ending of '%s': 'export' "
                      "says it", *to);
    return *form != NULL || ask->export != NULL;
}

/* ---------------------------------------------------------- each and tables */

static void read_each(struct fm_report_reader *r)
{
    size_t n;
    struct fm_yaml_node *const *item = fm_read_entries(r, "each", &n);
    struct fm_report_each *each = fm_arena_alloc(r->arena, (n + 1) * sizeof *each);

    r->plan->each = each;
    for (size_t i = 0; each != NULL && i < n; i++) {
        struct fm_report_each *e = &each[r->plan->eaches];

        if (!fm_read_part(r, item[i], FM_REPORT_EACH, "an entry of 'each'")
            || !fm_read_ask(r, item[i], false, &e->ask)
            || !fm_read_target(r, item[i], &e->ask, &e->to, &e->form))
            continue;
        for (size_t k = 0; k < r->plan->eaches; k++)
            if (strcmp(each[k].to, e->to) == 0)
                fm_yaml_error(fm_yaml_as(r->log, FM_YAML_DUPLICATE), fm_yaml_get(item[i], "to"),
                              "'%s' is written twice", e->to);
        r->plan->eaches++;
    }
}

static size_t number_of(struct fm_report_reader *r, const struct fm_yaml_node *map,
                        const char *key)
{
    double v = fm_read_number(r, map, key, 0);

    if (v >= 0 && v < 1000 && v - (double)(size_t)v == 0)
        return (size_t)v;
    fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), fm_yaml_get(map, key),
                  "'%s' is a whole number from 0 on", key);
    return 0;
}

/* Where a table is written: `to`, or NAME.csv. */
static void read_table_places(struct fm_report_reader *r, const struct fm_yaml_node *map,
                              struct fm_report_rows *rows)
{
    const struct fm_yaml_node *node = fm_yaml_get(map, "to");
    const char **one;

    if (node != NULL) {
        rows->to = fm_read_list(r, node, &rows->tos);
    } else {
        one = fm_arena_alloc(r->arena, sizeof *one);
        if (one == NULL)
            return;
        *one = fm_arena_printf(r->arena, "%s.csv", rows->name);
        rows->to = one;
        rows->tos = *one != NULL;
        node = fm_yaml_get(map, "name");
    }
    for (size_t i = 0; i < rows->tos; i++)
        if (fm_read_place(r, node, rows->to[i]))
            (void)fm_read_form(r, node, rows->to[i]);
}

/* The columns about the file are those of the table of files. */
static void check_front(struct fm_report_reader *r, const struct fm_yaml_node *node,
                        const struct fm_report_rows *rows)
{
    const struct fm_report_plan *plan = r->plan;
    size_t n = 1, all = n + plan->label_count + fm_report_facts;
    const char **known = fm_arena_alloc(r->arena, all * sizeof *known);

    if (known == NULL)
        return;
    known[0] = "file";
    for (size_t i = 0; i < plan->label_count; i++)
        known[n++] = plan->label[i];
    for (size_t i = 0; i < fm_report_facts; i++)
        known[n++] = fm_report_fact[i].name;
    for (size_t i = 0; i < rows->fronts; i++) {
        size_t k = 0;

        while (k < n && strcmp(known[k], rows->front[i]) != 0)
            k++;
        if (k == n)
            fm_yaml_unknown(r->log, node->type == FM_YAML_LIST ? node->item[i] : node, "column",
                            rows->front[i], known, n);
    }
}

static bool read_table(struct fm_report_reader *r, const struct fm_yaml_node *map,
                       struct fm_report_rows *rows)
{
    if (!fm_read_part(r, map, FM_REPORT_ROWS, "a table"))
        return false;
    rows->name = fm_read_key(r, map, "name", NULL);
    rows->about = fm_read_key(r, map, "about", "");
    if (rows->name == NULL)
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_MISSING), map, "'name' is missing");
    if (fm_yaml_get(map, "from") == NULL) {
        if (!fm_read_ask(r, map, false, &rows->ask))
            return false;
        if (rows->ask.query == NULL)
            fm_yaml_error(fm_yaml_as(r->log, FM_YAML_MISSING), map,
                          "a table has 'query: NAME' or 'from: files'");
    } else if (!fm_yaml_is(fm_yaml_get(map, "from"), "files")) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_UNKNOWN), fm_yaml_get(map, "from"),
                      "a table is from 'files', or has a query");
    } else if (fm_yaml_get(map, "query") != NULL) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_PLACE), fm_yaml_get(map, "query"),
                      "a table from files has no query");
    }
    rows->table = number_of(r, map, "part");
    rows->front = fm_read_list(r, fm_yaml_get(map, "front"), &rows->fronts);
    if (rows->fronts > 0)
        check_front(r, fm_yaml_get(map, "front"), rows);
    rows->column = fm_read_list(r, fm_yaml_get(map, "columns"), &rows->columns);
    if (rows->name == NULL)
        return false;
    read_table_places(r, map, rows);
    return true;
}

static void read_tables(struct fm_report_reader *r)
{
    size_t n;
    struct fm_yaml_node *const *item = fm_read_entries(r, "tables", &n);
    struct fm_report_rows *rows = fm_arena_alloc(r->arena, (n + 1) * sizeof *rows);

    r->plan->rows = rows;
    for (size_t i = 0; rows != NULL && i < n; i++) {
        struct fm_report_rows *t = &rows[r->plan->tables];

        if (!read_table(r, item[i], t))
            continue;
        for (size_t k = 0; k < r->plan->tables; k++)
            if (strcmp(rows[k].name, t->name) == 0)
                fm_yaml_error(fm_yaml_as(r->log, FM_YAML_DUPLICATE), item[i],
                              "two tables are named '%s'", t->name);
        r->plan->tables++;
    }
}

size_t fm_read_table(struct fm_report_reader *r, const struct fm_yaml_node *map)
{
    const struct fm_report_plan *plan = r->plan;
    const struct fm_yaml_node *node = fm_yaml_get(map, "table");
    const char *name = node == NULL ? NULL : fm_read_text(r, node);
    const char **known = fm_arena_alloc(r->arena, (plan->tables + 1) * sizeof *known);

    if (node == NULL)
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_MISSING), map, "'table' is missing");
    for (size_t i = 0; name != NULL && known != NULL && i < plan->tables; i++) {
        known[i] = plan->rows[i].name;
        if (strcmp(known[i], name) == 0)
            return i;
    }
    if (name != NULL && known != NULL)
        fm_yaml_unknown(r->log, node, "table", name, known, plan->tables);
    return plan->tables;
}

/* ------------------------------------------------------------------- whole */

static void read_head(struct fm_report_reader *r)
{
    const struct fm_yaml_node *version = fm_yaml_get(r->root, "foldmill-report");
    struct fm_report_plan *plan = r->plan;

    if (version == NULL)
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_MISSING), r->root,
                      "'foldmill-report: 1' is missing");
    else if (!fm_yaml_is(version, "1"))
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), version,
                      "'foldmill-report' must be 1, the version of the language");
    if (fm_yaml_get(r->root, "name") == NULL)
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_MISSING), r->root, "'name' is missing");
    plan->name = fm_read_key(r, r->root, "name", "");
    plan->about = fm_read_key(r, r->root, "about", "");
    plan->title = fm_read_key(r, r->root, "title", plan->name);
}

static void read_index(struct fm_report_reader *r)
{
    const struct fm_yaml_node *node = fm_yaml_get(r->root, "index");
    struct fm_report_index *index = &r->plan->index;

    if (node == NULL)
        return;
    if (node->type == FM_YAML_SCALAR) {
        index->to = fm_read_text(r, node);
    } else if (fm_read_part(r, node, FM_REPORT_INDEX, "'index'")) {
        index->to = fm_read_key(r, node, "to", "index.html");
        index->picture = fm_read_key(r, node, "picture", NULL);
    }
    if (index->to != NULL)
        (void)fm_read_place(r, node, index->to);
    for (size_t i = 0; index->picture != NULL && i < r->plan->eaches; i++)
        if (strcmp(r->plan->each[i].to, index->picture) == 0)
            return;
    if (index->picture != NULL)
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_UNKNOWN), fm_yaml_get(node, "picture"),
                      "'picture' is the 'to' of an entry of 'each'");
}

static void read_report(struct fm_report_reader *r, const char *const *param, size_t params)
{
    if (!fm_read_part(r, r->root, FM_REPORT_TOP, "a report"))
        return;
    read_params(r, param, params);
    read_head(r);
    read_labels(r);
    read_each(r);
    read_tables(r);
    fm_read_groups(r);
    fm_read_compares(r);
    fm_read_gates(r);
    fm_read_trends(r);
    read_index(r);
}

static const char *find_report(struct fm_ctx *ctx, struct fm_arena *arena, const char *name)
{
    size_t n = strlen(name);
    const char *dir, *path;

    if (strchr(name, '/') != NULL || (n > 5 && strcmp(name + n - 5, ".yaml") == 0))
        return name;
    for (size_t k = 0; (dir = fm_ctx_data_dir(ctx, k)) != NULL; k++) {
        path = fm_arena_printf(arena, "%s/queries/reports/%s.yaml", dir, name);
        if (path == NULL || access(path, R_OK) == 0)
            return path;
    }
    return NULL;
}

enum fm_status fm_report_plan_load(struct fm_report_plan *plan, struct fm_ctx *ctx,
                                   struct fm_arena *arena, const char *name,
                                   const char *const *param, size_t params,
                                   const char **messages, struct fm_error *err)
{
    const char *path = find_report(ctx, arena, name);
    struct fm_report_reader r = {.plan = plan, .arena = arena};
    struct fm_yaml_log log;
    enum fm_status status;

    *messages = "";
    if (path == NULL)
        return arena->oom ? fm_error_nomem(err)
                          : fm_error_set(err, FM_UNKNOWN, "no report '%.200s'", name);
    *plan = (struct fm_report_plan){.ctx = ctx, .arena = arena};
    fm_yaml_log_init(&log, arena);
    r.log = &log;
    status = fm_yaml_load(arena, path, &plan->yaml, &log, err);
    if (status == FM_OK) {
        r.root = plan->yaml->documents > 0 ? plan->yaml->document[0] : NULL;
        read_report(&r, param, params);
        if (log.errors > 0 && err != NULL && err->status == FM_OK)
            *err = log.first;
        status = log.errors > 0 ? FM_CONFIG : FM_OK;
    }
    *messages = log.text;
    return arena->oom ? fm_error_nomem(err) : status;
}
