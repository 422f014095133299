/*
 * use.c - queries that a query uses: `from: {use: top-self, with: {n: all}, input: base}`.
 *
 *     use: other             the document `other` of the same file, else queries/other.yaml along
 *                            the data path
 *     use: sub/more.yaml     a file, from the folder of the file that names it
 *
 * Each place that uses a query has an object of its own, because the parameters differ. What a used
 * query has wrong is told as what is wrong with the one that uses it.
 */
#include "query/lang.h"

#include "util/error.h"

#define MAX_USES 16                      /* a query that uses one that uses one … */

static const char *file_name(const struct fm_query *q)
{
    return strncmp(q->file->name, "./", 2) == 0 ? q->file->name + 2 : q->file->name;
}

/* The same document: of a cycle. */
static bool is_same(const struct fm_query *a, const struct fm_query *b)
{
    return strcmp(file_name(a), file_name(b)) == 0 && strcmp(a->name, b->name) == 0;
}

static bool in_file(const struct fm_query *q, const char *name)
{
    for (size_t i = 0; i < q->file->documents; i++) {
        const struct fm_yaml_node *node = fm_yaml_get(q->file->document[i], "name");
        if (node != NULL && fm_yaml_is(node, name))
            return true;
    }
    return false;
}

/* What fm_query_open() is to be given. */
static const char *full_name(const struct fm_query *q, struct fm_arena *arena, const char *name)
{
    const char *file = q->file->name, *slash = strrchr(file, '/');
    size_t n = strcspn(name, "#");
    bool path = memchr(name, '/', n) != NULL || (n > 5 && memcmp(name + n - 5, ".yaml", 5) == 0);

    if (in_file(q, name))
        return fm_arena_printf(arena, "%s%s#%s", slash == NULL ? "./" : "", file, name);
    if (!path || name[0] == '/' || slash == NULL)
        return name;
    return fm_arena_printf(arena, "%.*s%s", (int)(slash + 1 - file), file, name);
}

static bool open_used(struct fm_query *used, struct fm_query *q, struct fm_yaml_log *log,
                      const struct fm_yaml_node *at, const char *name)
{
    struct fm_error err = { .status = FM_OK };
    enum fm_status status = fm_query_open(used, name, &err);
    size_t deep = 0;

    if (status == FM_NOMEM)
        return false;
    if (status != FM_OK && used->log.errors == 0) {
        fm_yaml_error(fm_yaml_as(log, FM_YAML_UNKNOWN), at, "%s", err.message);
        return false;
    }
    if (used->log.errors > 0) {
        fm_yaml_log_add(log, &used->log);
        return false;
    }
    for (const struct fm_query *up = q; up != NULL; up = up->user) {
        if (is_same(up, used)) {
            fm_yaml_error(fm_yaml_as(log, FM_YAML_CYCLE), at, "query '%s' uses itself",
                          used->name);
            return false;
        }
        if (++deep < MAX_USES)
            continue;
        fm_yaml_error(fm_yaml_as(log, FM_YAML_PLACE), at,
                      "more than %d queries that use each other", MAX_USES);
        return false;
    }
    return true;
}

struct fm_query *fm_query_use(struct fm_query *q, struct fm_arena *arena, struct fm_yaml_log *log,
                              const struct fm_yaml_node *at)
{
    struct fm_used *used = q->used;
    struct fm_scalar s;
    const char *name;

    if (at->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(log, FM_YAML_TYPE), at, "'use' is the name of a query");
        return NULL;
    }
    if (!fm_scalar_get(q, arena, log, at, &s))
        return NULL;
    while (used != NULL && (used->at != at || strcmp(used->name, s.text) != 0))
        used = used->next;
    if (used != NULL)
        return used->query;
    used = fm_arena_alloc(&q->arena, sizeof *used);
    name = fm_arena_strn(&q->arena, s.text, s.n);
    if (used == NULL || name == NULL)
        return NULL;
    *used = (struct fm_used){ .at = at, .name = name, .query = fm_query_new(q->ctx) };
    if (used->query == NULL)
        return NULL;
    used->query->user = q;
    name = full_name(q, arena, name);
    if (name == NULL || !open_used(used->query, q, log, at, name)) {
        fm_query_free(used->query);
        return NULL;
    }
    used->next = q->used;
    q->used = used;
    return used->query;
}

/* -------------------------------------------------------------- parameters */

static bool set(struct fm_query *used, const struct fm_query *q, struct fm_arena *arena,
                struct fm_yaml_log *log, const struct fm_yaml_pair *pair)
{
    const char *name = pair->key;
    struct fm_param *p = NULL;
    struct fm_scalar s;
    char why[160];

    for (size_t i = 0; i < used->params; i++) {
        if (strcmp(used->param[i].name, name) == 0)
            p = &used->param[i];
    }
    if (p == NULL) {
        fm_yaml_error_key(fm_yaml_as(log, FM_YAML_UNKNOWN), pair,
                          "query '%s' has no parameter '%s'%s", used->name, name,
                          fm_param_hint(used, arena, name, strlen(name)));
        return false;
    }
    if (pair->value->type != FM_YAML_SCALAR && p->type == FM_PARAM_PRED)
        return fm_param_tree(q, &used->arena, log, p, pair->value);
    if (pair->value->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(log, FM_YAML_TYPE), pair->value, "parameter '%s' is one value",
                      name);
        return false;
    }
    if (!fm_scalar_get(q, arena, log, pair->value, &s))
        return false;
    if (s.unknown) {                     /* a parameter of q that has no value yet */
        p->known = false;
        return true;
    }
    if (s.param != NULL && s.param->node != NULL && p->type == FM_PARAM_PRED)
        return fm_param_tree(NULL, &used->arena, log, p, s.param->node);
    if (fm_param_value(&used->arena, p, s.text, s.n, why))
        return true;
    fm_yaml_error(fm_yaml_as(log, FM_YAML_TYPE), pair->value, "parameter '%s': %s", name, why);
    return false;
}

bool fm_query_with(struct fm_query *used, const struct fm_query *q, struct fm_arena *arena,
                   struct fm_yaml_log *log, const struct fm_yaml_node *with)
{
    bool ok = true;

    if (with != NULL && with->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(log, FM_YAML_TYPE), with, "'with' takes {PARAMETER: VALUE}");
        return false;
    }
    for (size_t i = 0; with != NULL && i < with->n; i++)
        ok = set(used, q, arena, log, &with->pair[i]) && ok;
    return ok;
}
