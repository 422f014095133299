/*
 * query.c - foldmill query NAME|FILE.yaml [-p k=v] IN...: asks a question, prints tables. The
 * files are merged into one store, or into one for each input that the query declares.
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

int question_set(struct fm_query *query, const char *name, const char *value)
{
    struct fm_error err = {0};

    return fm_query_set(query, name, value, &err) == FM_OK ? EXIT_DONE : say_error(&err);
}

static int set_params(struct cli *cli, struct fm_query *query)
{
    const struct words *param = &cli->options.param;

    for (size_t i = 0; i < param->n; i++) {
        const char *equals = strchr(param->word[i], '=');
        char *name = must(strndup(param->word[i], (size_t)(equals - param->word[i])));
        int status = question_set(query, name, equals + 1);

        free(name);
        if (status != EXIT_DONE)
            return status;
    }
    return EXIT_DONE;
}

static void print_errors(const struct fm_query *query, const struct fm_error *err)
{
    const char *text = query ? fm_query_errors(query) : "";

    if (text[0])
        fprintf(stderr, "%s%s", text, text[strlen(text) - 1] == '\n' ? "" : "\n");
    else
        say_error(err);
}

int question_answer(struct cli *cli, struct fm_query *query, struct fm_store *const *store,
                    size_t stores, const struct target *target)
{
    struct fm_result *result = NULL;
    struct fm_error err = {0};
    enum fm_status status;
    int code = EXIT_DONE;

    fm_query_keep_rows(query, target->exporter != NULL);
    if (cli->options.explain)
        status = fm_query_explain(cli->ctx, query, store, stores, &cli->options.select,
                                  &stdout_sink, &err);
    else
        status = fm_query_run(cli->ctx, query, store, stores, &cli->options.select, &result,
                              &err);
    if (status != FM_OK) {
        print_errors(query, &err);
        code = status_exit(status);
    } else {
        fputs(fm_query_errors(query), stderr); /* warnings */
    }
    if (result)
        code = exit_worse(code, write_result(cli, result, target));
    fm_result_free(result);
    return code;
}

static bool add_name(void *user, const char *name, const char *about)
{
    struct words *names = user;

    (void)about;
    words_add(names, join(name, "", ""));
    return true;
}

/* A query that was not found: with the nearest name there is. */
static int unknown_query(struct cli *cli, const char *name, const struct fm_error *err)
{
    struct fm_error ignored = {0};
    struct words names = {0};
    const char *near;

    fm_list(cli->ctx, FM_LIST_QUERIES, add_name, &names, &ignored);
    near = nearest_word(name, names.word, names.n);
    if (near)
        say("%s (did you mean '%s'?)", err->message, near);
    else
        say("%s; 'foldmill list queries' shows those that are there", err->message);
    words_free(&names);
    return EXIT_USAGE;
}

int question_load(struct cli *cli, const char *name, struct fm_query **query)
{
    struct fm_error err = {0};

    if (fm_query_load(cli->ctx, name, query, &err) == FM_OK)
        return EXIT_DONE;
    if (err.status == FM_UNKNOWN)
        return unknown_query(cli, name, &err);
    print_errors(*query, &err);
    return status_exit(err.status);
}

int question_ask(struct cli *cli, struct fm_query *query, const char *const *word, size_t words,
                 const struct target *target)
{
    struct fm_store *store[MAX_INPUTS] = {0};
    size_t stores = 1;
    int result = load_inputs(cli, query, word, words, store);

    while (stores < MAX_INPUTS && fm_query_input(query, stores))
        stores++;
    if (store[stores - 1])
        result = exit_worse(result, question_answer(cli, query, store, stores, target));
    for (size_t i = 0; i < MAX_INPUTS; i++)
        fm_store_free(store[i]);
    return result;
}

int print_schema(struct cli *cli)
{
    struct fm_error err = {0};

    if (fm_query_schema(cli->ctx, &stdout_sink, &err) != FM_OK)
        return say_write_error(&err, NULL);
    return EXIT_DONE;
}

int cmd_query(struct cli *cli)
{
    const struct words *in = &cli->options.operand;
    struct fm_query *query = NULL;
    struct target target;
    int result;

    if (cli->options.schema)
        return print_schema(cli);
    if (in->n == 0)
        return say_usage(cli, "which query? 'foldmill list queries' shows those that are there");
    if (in->n == 1)
        return say_usage(cli, "no input: name a file, or '-' for standard input");
    result = target_choose(cli, &target);
    if (result == EXIT_DONE)
        result = question_load(cli, in->word[0], &query);
    if (result == EXIT_DONE)
        result = set_params(cli, query);
    if (result == EXIT_DONE)
        result = question_ask(cli, query, in->word + 1, in->n - 1, &target);
    fm_query_free(query);
    return result;
}
