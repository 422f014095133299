/*
 * top.c - foldmill top IN...: what weighs most, a short form of queries/top.yaml.
 *
 *     --by              document of queries/top.yaml
 *     function module file line path thread process     by-function, by-module ...
 *     name category arg.X, of an input with spans       by-span, by=X
 *     any other column: comm, cpu, label.class          by-key, by=X
 *
 * -n and --sort set the parameters n and sort.
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

static const char *const documents[] = {"function", "module", "file", "line", "path", "thread",
                                        "process"};

bool short_document(const char *by)
{
    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++)
        if (strcmp(by, documents[i]) == 0)
            return true;
    return false;
}

static bool of_spans(const char *by)
{
    return strcmp(by, "name") == 0 || strcmp(by, "category") == 0 ||
           strncmp(by, "arg.", 4) == 0 || strncmp(by, "args.", 5) == 0;
}

bool has_spans(const struct fm_store *store)
{
    for (size_t i = 0; i < fm_store_events(store); i++) {
        struct fm_event_info event;

        fm_store_event(store, i, &event);
        if (event.rows > 0 && (event.kind == FM_KIND_SPAN || event.kind == FM_KIND_ASYNC))
            return true;
    }
    return false;
}

static int set_options(const struct cli *cli, struct fm_query *query, const char *by)
{
    const struct options *o = &cli->options;
    int code = EXIT_DONE;

    if (!short_document(by))
        code = question_set(query, "by", by);
    if (code == EXIT_DONE && o->rows)
        code = question_set(query, "n", o->rows);
    if (code == EXIT_DONE && o->sort)
        code = question_set(query, "sort", o->sort);
    return code;
}

/* Only rows of frames and of spans have a total of their own. */
static bool has_total(const char *by, bool spans)
{
    static const char *const flat[] = {"path", "thread", "process"};

    for (size_t i = 0; i < sizeof(flat) / sizeof(flat[0]); i++)
        if (strcmp(by, flat[i]) == 0)
            return false;
    return short_document(by) || (spans && of_spans(by));
}

struct fm_query *top_query(struct cli *cli, const char *by, bool spans, int *code)
{
    const char *document = short_document(by) ? by : spans && of_spans(by) ? "span" : "key";
    char *name = join("top#by-", document, "");
    struct fm_query *query = NULL;

    if (cli->options.sort && !has_total(by, spans))
        *code = say_usage(cli, "--sort goes with rows of functions, modules, files, lines or "
                          "spans: of '%s' self and total are the same", by);
    else
        *code = question_load(cli, name, &query);
    free(name);
    if (*code == EXIT_DONE)
        *code = set_options(cli, query, by);
    if (*code == EXIT_DONE)
        return query;
    fm_query_free(query);
    return NULL;
}

int cmd_top(struct cli *cli)
{
    const struct words *in = &cli->options.operand;
    const char *by = cli->options.by ? cli->options.by : "function";
    struct fm_query *query;
    struct fm_store *store = NULL;
    struct target target;
    int code;

    if (in->n == 0)
        return say_usage(cli, "no input: name a file, or '-' for standard input");
    code = target_choose(cli, &target);
    if (code != EXIT_DONE)
        return code;
    /* Which rows there are is known when the input is read; the labels that are needed are those
     * of --by in any case. */
    query = top_query(cli, by, of_spans(by), &code);
    if (query)
        code = load(cli, in->word, in->n, fm_query_needs(query), &store);
    if (store && of_spans(by) && !has_spans(store)) {
        fm_query_free(query);
        query = top_query(cli, by, false, &code);
    }
    if (store && query)
        code = exit_worse(code, question_answer(cli, query, &store, 1, &target));
    fm_store_free(store);
    fm_query_free(query);
    return code;
}
