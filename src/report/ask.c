/*
 * ask.c - what a report asks: a query with parameters, or an exporter, and what is chosen before.
 *
 *     {query: hottest-paths, with: {n: 20}, event: cpu, filter: ["time=1s.."]}
 *     {export: svg, set: {width: 800}, title: …, names: norm}
 *
 * The keys are the options of `foldmill query` and `foldmill convert`, and mean the same. The
 * digest of an ask is over all its keys and the bytes of the files that its query was read from.
 */
#include "report/hash.h"
#include "report/reader.h"

/* A query by its name; a path goes from the report's folder, as paths in queries do. */
static const char *query_name(struct fm_report_reader *r, const char *name)
{
    const char *file = r->plan->yaml->name, *slash = strrchr(file, '/');
    size_t n = strcspn(name, "#");
    bool path = memchr(name, '/', n) != NULL || (n > 5 && memcmp(name + n - 5, ".yaml", 5) == 0);

    if (!path || name[0] == '/' || slash == NULL)
        return name;
    return fm_arena_printf(r->arena, "%.*s%s", (int)(slash + 1 - file), file, name);
}

static bool is_exporter(void *user, const char *name, const char *about)
{
    const char **wanted = user;

    (void)about;
    if (strcmp(*wanted, name) != 0)
        return true;
    *wanted = NULL;
    return false;
}

static void check_exporter(struct fm_report_reader *r, const struct fm_yaml_node *map,
                           const char *name)
{
    const char *wanted = name;

    if (fm_list(r->plan->ctx, FM_LIST_EXPORTERS, is_exporter, &wanted, NULL) == FM_OK
        && wanted != NULL)
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_UNKNOWN), fm_yaml_get(map, "export"),
                      "no output format '%s' ('foldmill list exporters' shows those there are)",
                      name);
}

/* The messages of a query that does not load, under one of ours. */
static void say_query(struct fm_report_reader *r, const struct fm_yaml_node *at,
                      const char *name, const struct fm_query *query, const struct fm_error *err)
{
    const char *text = fm_query_errors(query);
    size_t n = strcspn(text, "\n");

    if (n > 0)
        fm_yaml_error(r->log, at, "query '%s': %.*s", name, (int)FM_MIN(n, (size_t)400), text);
    else
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_UNKNOWN), at, "query '%s': %s", name,
                      err->message);
}

bool fm_report_ask_set(const struct fm_report_ask *ask, struct fm_query *query,
                       struct fm_error *err)
{
    for (size_t i = 0; i < ask->withs; i++)
        if (fm_query_set(query, ask->with[i].name, ask->with[i].value, err) != FM_OK)
            return false;
    return true;
}

/* Parameters that are wrong, each at its place. */
static bool check_with(struct fm_report_reader *r, const struct fm_yaml_node *map,
                       const struct fm_report_ask *ask, struct fm_query *query)
{
    const struct fm_yaml_node *with = fm_yaml_get(map, "with");
    bool good = true;

    for (size_t i = 0; i < ask->withs; i++) {
        struct fm_error err = {0};

        if (fm_query_set(query, ask->with[i].name, ask->with[i].value, &err) == FM_OK)
            continue;
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), fm_yaml_get(with, ask->with[i].name),
                      "query '%s': %s", ask->query, err.message);
        good = false;
    }
    return good;
}

static void check_query(struct fm_report_reader *r, const struct fm_yaml_node *map, bool groups,
                        struct fm_report_ask *ask, struct fm_report_hash *hash)
{
    const struct fm_yaml_node *at = fm_yaml_get(map, "query");
    struct fm_query *query = NULL;
    struct fm_error err = {0};
    const char *path;
    uint64_t size;

    if (fm_query_load(r->plan->ctx, ask->query, &query, &err) != FM_OK) {
        say_query(r, at, ask->query, query, &err);
    } else if (!groups && fm_query_input(query, 0) != NULL && fm_query_input(query, 1) != NULL) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_PLACE), at,
                      "query '%s' has several inputs: it is asked in 'compare'", ask->query);
    } else if (check_with(r, map, ask, query)) {
        ask->needs = fm_arena_str(r->arena, fm_query_needs(query));
        for (size_t i = 0; (path = fm_query_source(query, i)) != NULL; i++)
            (void)fm_report_hash_file(hash, path, &size);
        if (ask->needs != NULL && strstr(ask->needs, "categor") != NULL)
            (void)fm_report_hash_folder(hash, r->plan->ctx, "queries/categories");
    }
    fm_query_free(query);
}

static void hash_list(struct fm_report_hash *hash, const char *const *text, size_t n)
{
    fm_report_hash_u64(hash, n);
    for (size_t i = 0; i < n; i++)
        fm_report_hash_text(hash, text[i]);
}

static void hash_ask(struct fm_report_hash *hash, const struct fm_report_ask *ask)
{
    fm_report_hash_text(hash, ask->query);
    fm_report_hash_u64(hash, ask->withs);
    for (size_t i = 0; i < ask->withs; i++) {
        fm_report_hash_text(hash, ask->with[i].name);
        fm_report_hash_text(hash, ask->with[i].value);
    }
    fm_report_hash_text(hash, ask->event);
    fm_report_hash_text(hash, ask->weight);
    fm_report_hash_text(hash, ask->prepend);
    fm_report_hash_text(hash, ask->append);
    hash_list(hash, ask->filter, ask->filters);
    fm_report_hash_text(hash, ask->title);
    hash_list(hash, ask->set, ask->sets);
    fm_report_hash_text(hash, ask->names);
    fm_report_hash_text(hash, ask->normalize);
}

static void read_set(struct fm_report_reader *r, const struct fm_yaml_node *map,
                     struct fm_report_ask *ask)
{
    size_t n;
    const struct fm_report_pair *pair = fm_read_pairs(r, fm_yaml_get(map, "set"), &n);
    const char **set = fm_arena_alloc(r->arena, (n + 1) * sizeof *set);

    ask->set = set;
    for (size_t i = 0; set != NULL && i < n; i++) {
        set[i] = fm_arena_printf(r->arena, "%s=%s", pair[i].name, pair[i].value);
        ask->sets += set[i] != NULL;
    }
}

bool fm_read_ask(struct fm_report_reader *r, const struct fm_yaml_node *map, bool groups,
                 struct fm_report_ask *ask)
{
    unsigned errors = r->log->errors;
    struct fm_report_hash *hash = fm_report_hash_new(r->arena->mem);
    const char *query = fm_read_key(r, map, "query", NULL);

    *ask = (struct fm_report_ask){.at = map, .needs = ""};
    if (hash == NULL) {
        r->arena->oom = true;
        return false;
    }
    ask->query = query == NULL ? NULL : query_name(r, query);
    ask->export = fm_read_key(r, map, "export", NULL);
    ask->with = fm_read_pairs(r, fm_yaml_get(map, "with"), &ask->withs);
    ask->event = fm_read_key(r, map, "event", NULL);
    ask->weight = fm_read_key(r, map, "weight", NULL);
    ask->prepend = fm_read_key(r, map, "prepend", NULL);
    ask->append = fm_read_key(r, map, "append", NULL);
    ask->filter = fm_read_list(r, fm_yaml_get(map, "filter"), &ask->filters);
    ask->title = fm_read_key(r, map, "title", NULL);
    ask->names = fm_read_key(r, map, "names", NULL);
    ask->normalize = fm_read_key(r, map, "normalize", NULL);
    read_set(r, map, ask);
    if (ask->export != NULL)
        check_exporter(r, map, ask->export);
    if (ask->query == NULL && ask->with != NULL)
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_PLACE), fm_yaml_get(map, "with"),
                      "'with' sets parameters of a query, and there is none");
    if (ask->query != NULL && r->log->errors == errors)
        check_query(r, map, groups, ask, hash);
    hash_ask(hash, ask);
    fm_report_hash_get(hash, ask->digest);
    fm_report_hash_free(hash, r->arena->mem);
    return r->log->errors == errors && !r->arena->oom;
}
