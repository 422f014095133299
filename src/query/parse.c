/*
 * parse.c - query files: finding, loading and checking one, and struct fm_query's life.
 *
 *     NAME             queries/NAME.yaml along the data path
 *     FILE.yaml        a path (it has a '/' or ends in .yaml or .yml)
 *     FILE.yaml#QUERY  one document of several, by its `name`
 *
 * Loading compiles the steps once without a store (fm_plan_compile), so that every error that does
 * not depend on an input is found at once. The query keeps the file's text: messages of a run show
 * the same lines.
 */
#include "query/plan.h"

#include "util/error.h"
#include "util/text.h"

#include <unistd.h>

#define MAX_INPUTS 64

/* ---------------------------------------------------------------- document */

const char *const *fm_query_keys(enum fm_query_part part, size_t *n)
{
    static const char *const top[] = {
        "foldmill-query", "name", "about", "tags", "params", "inputs", "let", "from", "steps",
        "show", "output"
    };
    static const char *const let[] = { "from", "steps" };
    static const char *const output[] = { "columns", "path" };
    static const char *const path[] = { "order", "separator" };
    static const char *const param[] = { "type", "default", "required", "min", "max", "choices",
                                         "about" };
    static const struct {
        const char *const *list;
        size_t n;
    } part_of[] = {
        { top, FM_COUNT(top) }, { let, FM_COUNT(let) }, { output, FM_COUNT(output) },
        { path, FM_COUNT(path) }, { param, FM_COUNT(param) }
    };

    *n = part_of[part].n;
    return part_of[part].list;
}

static const char *text_of(struct fm_query *q, const char *key)
{
    const struct fm_yaml_node *node = fm_yaml_get(q->root, key);

    if (node == NULL)
        return "";
    if (node->type == FM_YAML_SCALAR)
        return node->text;
    fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE), node, "'%s' must be text", key);
    return "";
}

static void parse_path(struct fm_query *q, const struct fm_yaml_node *path)
{
    size_t keys;
    const char *const *known = fm_query_keys(FM_PART_PATH, &keys);
    const struct fm_yaml_node *order, *separator;

    if (path->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE), path,
                      "'path' takes {order: root-first|leaf-first, separator: TEXT}");
        return;
    }
    if (!fm_yaml_known(&q->log, path, known, keys, "key"))
        return;
    order = fm_yaml_get(path, "order");
    separator = fm_yaml_get(path, "separator");
    if (order != NULL && !fm_yaml_is(order, "root-first") && !fm_yaml_is(order, "leaf-first"))
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE), order,
                      "'order' is root-first or leaf-first");
    q->leaf_first = order != NULL && fm_yaml_is(order, "leaf-first");
    if (separator == NULL)
        return;
    if (separator->type != FM_YAML_SCALAR)
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE), separator, "'separator' must be text");
    else
        q->separator = separator->text;
}

static void parse_output(struct fm_query *q, const struct fm_yaml_node *output)
{
    size_t keys;
    const char *const *known = fm_query_keys(FM_PART_OUTPUT, &keys);
    const struct fm_yaml_node *path;

    if (output->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE), output,
                      "'output' takes {columns: [NAME …], path: {order, separator}}");
        return;
    }
    if (!fm_yaml_known(&q->log, output, known, keys, "key"))
        return;
    q->columns = fm_yaml_get(output, "columns");
    if (q->columns != NULL && q->columns->type != FM_YAML_LIST) {
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE), q->columns,
                      "'columns' must be a list of names");
        q->columns = NULL;
    }
    path = fm_yaml_get(output, "path");
    if (path != NULL)
        parse_path(q, path);
}

static void parse_head(struct fm_query *q)
{
    const struct fm_yaml_node *version = fm_yaml_get(q->root, "foldmill-query");

    if (version == NULL)
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_MISSING), q->root,
                      "'foldmill-query: 1' is missing");
    else if (!fm_yaml_is(version, "1"))
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE), version,
                      "'foldmill-query' must be 1, the version of the language");
    if (fm_yaml_get(q->root, "name") == NULL)
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_MISSING), q->root, "'name' is missing");
}

static void parse_inputs(struct fm_query *q)
{
    const struct fm_yaml_node *inputs = fm_yaml_get(q->root, "inputs");

    if (inputs == NULL)
        return;
    if (inputs->type != FM_YAML_LIST) {
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE), inputs,
                      "'inputs' must be a list of names");
        return;
    }
    for (size_t i = 0; i < inputs->n; i++) {
        if (inputs->item[i]->type != FM_YAML_SCALAR) {
            fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE), inputs->item[i],
                          "an input's name must be text");
            return;
        }
    }
    if (inputs->n > MAX_INPUTS) {
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE), inputs, "more than %d inputs", MAX_INPUTS);
        return;
    }
    for (size_t i = 1; i < inputs->n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (!fm_yaml_is(inputs->item[i], inputs->item[k]->text))
                continue;
            fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_DUPLICATE), inputs->item[i],
                          "input '%s' is there twice", inputs->item[i]->text);
            return;
        }
    }
    if (inputs->n > 0)
        q->inputs = inputs;
}

/* `let`: names of pipes, {from, steps} each. */
static void parse_lets(struct fm_query *q, const struct fm_yaml_node *lets)
{
    size_t keys;
    const char *const *known = fm_query_keys(FM_PART_LET, &keys);
    enum fm_from from;

    if (lets == NULL)
        return;
    if (lets->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE), lets,
                      "'let' takes {NAME: {from: …, steps: […]}}");
        return;
    }
    for (size_t i = 0; i < lets->n; i++) {
        const struct fm_yaml_pair *let = &lets->pair[i];
        if (fm_from_find(let->key, &from))
            fm_yaml_error_key(fm_yaml_as(&q->log, FM_YAML_DUPLICATE), let,
                              "a 'let' cannot be named '%s': those are rows of the input",
                              let->key);
        if (let->value->type != FM_YAML_MAP)
            fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE), let->value,
                          "'let' takes {NAME: {from: …, steps: […]}}");
        else
            (void)fm_yaml_known(&q->log, let->value, known, keys, "key");
    }
    q->lets = lets;
}

static void parse_show(struct fm_query *q, const struct fm_yaml_node *show)
{
    if (show == NULL)
        return;
    if (show->type != FM_YAML_LIST || show->n == 0)
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE), show,
                      "'show' must be a list of names of 'let'");
    else
        q->show = show;
}

void fm_query_document(struct fm_query *q, const struct fm_yaml_node *root)
{
    size_t keys;
    const char *const *known = fm_query_keys(FM_PART_TOP, &keys);
    const struct fm_yaml_node *output;

    q->root = root;
    q->separator = ";";
    q->name = q->about = "";
    if (root == NULL || root->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(&q->log, FM_YAML_TYPE), root,
                      "a query is a map with 'foldmill-query: 1'");
        return;
    }
    (void)fm_yaml_known(&q->log, root, known, keys, "key");
    parse_head(q);
    q->name = text_of(q, "name");
    q->about = text_of(q, "about");
    fm_params_parse(q, fm_yaml_get(root, "params"));
    parse_inputs(q);
    q->from = fm_yaml_get(root, "from");
    q->steps = fm_yaml_get(root, "steps");
    parse_lets(q, fm_yaml_get(root, "let"));
    parse_show(q, fm_yaml_get(root, "show"));
    output = fm_yaml_get(root, "output");
    if (output != NULL)
        parse_output(q, output);
}

/* ----------------------------------------------------------------- loading */

static bool is_path(const char *name, size_t n)
{
    return memchr(name, '/', n) != NULL || (n > 5 && memcmp(name + n - 5, ".yaml", 5) == 0)
           || (n > 4 && memcmp(name + n - 4, ".yml", 4) == 0);
}

static const char *find_file(struct fm_query *q, const char *name, size_t n)
{
    const char *dir, *path;

    if (is_path(name, n))
        return fm_arena_strn(&q->arena, name, n);
    for (size_t k = 0; (dir = fm_ctx_data_dir(q->ctx, k)) != NULL; k++) {
        path = fm_arena_printf(&q->arena, "%s/queries/%.*s.yaml", dir, (int)n, name);
        if (path == NULL)
            return NULL;
        if (access(path, R_OK) == 0)
            return path;
    }
    q->arena.oom |= q->ctx->arena.oom;  /* the list of folders may have ended early */
    return NULL;
}

static const struct fm_yaml_node *find_document(struct fm_query *q, const char *name)
{
    for (size_t i = 0; i < q->file->documents; i++) {
        const struct fm_yaml_node *node = fm_yaml_get(q->file->document[i], "name");
        if (name == NULL || (node != NULL && fm_yaml_is(node, name)))
            return q->file->document[i];
    }
    return NULL;
}

enum fm_status fm_query_open(struct fm_query *q, const char *name, struct fm_error *err)
{
    const char *hash = strrchr(name, '#'), *path;
    size_t n = hash == NULL ? strlen(name) : (size_t)(hash - name);
    const struct fm_yaml_node *root;
    enum fm_status status;

    path = find_file(q, name, n);
    if (path == NULL)
        return q->arena.oom ? fm_error_nomem(err)
                            : fm_error_set(err, FM_UNKNOWN, "no query '%.*s'",
                                           (int)FM_MIN(n, (size_t)200), name);
    status = fm_yaml_load(&q->arena, path, &q->file, &q->log, err);
    if (status != FM_OK)
        return status;
    root = find_document(q, hash == NULL ? NULL : hash + 1);
    if (root == NULL)
        return fm_error_set(err, FM_UNKNOWN, "'%s' has no query '%s'", path,
                            hash == NULL ? "" : hash + 1);
    fm_query_document(q, root);
    return q->arena.oom ? fm_error_nomem(err) : FM_OK;
}

struct fm_query *fm_query_new(struct fm_ctx *ctx)
{
    struct fm_query *q = fm_mem_zalloc(&ctx->mem, sizeof *q);

    if (q == NULL)
        return NULL;
    q->ctx = ctx;
    fm_arena_init(&q->arena, &ctx->mem);
    fm_arena_init(&q->run_arena, &ctx->mem);
    fm_yaml_log_init(&q->log, &q->arena);
    q->name = q->about = "";
    return q;
}

static enum fm_status load(struct fm_query *q, const char *name, struct fm_error *err)
{
    struct fm_plan plan = { .stores = 0, .keep_rows = true };
    enum fm_status status = fm_query_open(q, name, err);

    if (status != FM_OK)
        return status;
    (void)fm_plan_compile(&plan, q, &q->arena, NULL);
    fm_plan_release(&plan);
    if (q->arena.oom)
        return fm_error_nomem(err);
    if (q->log.errors == 0)
        return FM_OK;
    if (err != NULL && err->status == FM_OK)
        *err = q->log.first;
    return FM_CONFIG;
}

enum fm_status fm_query_load(struct fm_ctx *ctx, const char *name, struct fm_query **query,
                             struct fm_error *err)
{
    struct fm_query *q = fm_query_new(ctx);
    enum fm_status status;

    *query = NULL;
    if (q == NULL)
        return fm_error_nomem(err);
    status = load(q, name, err);
    if (status == FM_OK || status == FM_CONFIG)
        *query = q;                /* with its messages */
    else
        fm_query_free(q);
    return status;
}

void fm_query_free(struct fm_query *query)
{
    if (query == NULL)
        return;
    for (struct fm_used *used = query->used; used != NULL; used = used->next)
        fm_query_free(used->query);    /* at most as deep as queries use each other */
    fm_arena_release(&query->run_arena);
    fm_arena_release(&query->arena);
    fm_mem_free(&query->ctx->mem, query, sizeof *query);
}

const char *fm_query_errors(const struct fm_query *query)
{
    return query == NULL || query->log.text == NULL ? "" : query->log.text;
}

const char *fm_query_input(const struct fm_query *query, size_t i)
{
    if (query->inputs == NULL || i >= query->inputs->n)
        return NULL;
    return query->inputs->item[i]->text;
}

/* ---------------------------------------------------------------- checking */

static void report_document(const struct fm_query *q, struct fm_out *out)
{
    fm_out_printf(out, "query %s: %s\n", q->name, q->about[0] != '\0' ? q->about : "-");
    for (size_t i = 0; i < q->params; i++) {
        const struct fm_param *p = &q->param[i];
        fm_out_printf(out, "  -p %s=%s  default %s\n", p->name, fm_param_type_text(p->type),
                      p->required ? "none: required" : p->node != NULL ? "(a predicate)" : p->text);
    }
}

enum fm_status fm_query_check(struct fm_ctx *ctx, const char *path, struct fm_out *out,
                              struct fm_error *err)
{
    struct fm_query *q = NULL;
    struct fm_error local = { .status = FM_OK };
    enum fm_status status, worst = FM_OK;
    size_t documents = 1;

    for (size_t i = 0; i < documents; i++) {
        struct fm_plan plan = { .stores = 0, .keep_rows = true };
        /* each document with a log of its own: the 20 messages are for one query */
        status = fm_query_load(ctx, path, &q, &local);
        if (q == NULL) {
            if (err != NULL && err->status == FM_OK)
                *err = local;
            return status;
        }
        if (q->file != NULL)
            documents = q->file->documents;
        if (i > 0 && i < documents) {
            fm_yaml_log_init(&q->log, &q->arena);
            q->log.file = q->file;
            q->params = 0;
            q->inputs = q->columns = q->lets = q->show = NULL;
            fm_query_document(q, q->file->document[i]);
            (void)fm_plan_compile(&plan, q, &q->arena, NULL);
            fm_plan_release(&plan);
        }
        if (q->log.errors > 0) {
            worst = FM_CONFIG;
            if (err != NULL && err->status == FM_OK)
                *err = q->log.first;
            fm_out_text(out, q->log.text);
        } else {
            fm_out_text(out, q->log.text);
            report_document(q, out);
        }
        fm_query_free(q);
        q = NULL;
        local.status = FM_OK;
    }
    return worst;
}
