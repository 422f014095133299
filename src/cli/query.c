/*
 * query.c - foldmill query NAME|FILE.yaml [-p k=v] IN...: asks a question, prints tables.
 *
 * A query without `inputs` takes all files merged. One that declares `inputs: [a, b]` takes them in
 * that order, or by name: a=FILE[,FILE] b=FILE.
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#define INPUTS_MAX 16

/* A declared input, its files and its store. */
struct side {
    const char *name;
    struct words files;        /* its own strings */
    struct fm_store *store;
};

static int set_params(struct cli *cli, struct fm_query *query)
{
    const struct words *param = &cli->options.param;

    for (size_t i = 0; i < param->n; i++) {
        const char *equals = strchr(param->word[i], '=');
        char *name = must(strndup(param->word[i], (size_t)(equals - param->word[i])));
        struct fm_error err = {0};
        enum fm_status status = fm_query_set(query, name, equals + 1, &err);

        free(name);
        if (status != FM_OK)
            return say_error(&err);
    }
    return EXIT_DONE;
}

/* Adds the files of "FILE,FILE". */
static void add_files(struct side *side, const char *list)
{
    while (*list) {
        size_t n = strcspn(list, ",");

        if (n > 0)
            words_add(&side->files, must(strndup(list, n)));
        list += n;
        list += *list == ',';
    }
}

/* The side that "NAME=..." names, or NULL. */
static struct side *named_side(struct side *side, size_t sides, const char *arg)
{
    const char *equals = strchr(arg, '=');

    for (size_t i = 0; equals && i < sides; i++)
        if (strlen(side[i].name) == (size_t)(equals - arg) &&
            memcmp(side[i].name, arg, (size_t)(equals - arg)) == 0)
            return &side[i];
    return NULL;
}

/* Gives the files after the query's name to the inputs it declares, or all to one. */
static int share_out(struct cli *cli, const struct fm_query *query, struct side *side,
                     size_t *count)
{
    const struct words *in = &cli->options.operand;
    size_t next = 0, sides = 0;

    while (sides < INPUTS_MAX && fm_query_input(query, sides)) {
        side[sides].name = fm_query_input(query, sides);
        sides++;
    }
    *count = sides > 0 ? sides : 1;
    if (sides == 0) {
        for (size_t i = 1; i < in->n; i++)
            words_add(&side[0].files, join(in->word[i], "", ""));
        return EXIT_DONE;
    }
    for (size_t i = 1; i < in->n; i++) {
        struct side *named = named_side(side, sides, in->word[i]);

        if (named) {
            add_files(named, strchr(in->word[i], '=') + 1);
            continue;
        }
        while (next < sides && side[next].files.n > 0)
            next++;
        if (next == sides)
            return say_usage(cli, "the query takes %zu inputs; '%s' is one too many", sides,
                             in->word[i]);
        words_add(&side[next].files, join(in->word[i], "", ""));
    }
    for (size_t i = 0; i < sides; i++)
        if (side[i].files.n == 0)
            return say_usage(cli, "the query's input '%s' is missing: give %s=FILE", side[i].name,
                             side[i].name);
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

static int run(struct cli *cli, struct fm_query *query, struct side *side, size_t sides)
{
    const char *format = cli->options.format ? cli->options.format : "text";
    struct fm_store *store[INPUTS_MAX];
    struct fm_result *result = NULL;
    struct fm_error err = {0};
    enum fm_status status;
    int code = EXIT_DONE;

    for (size_t i = 0; i < sides; i++)
        store[i] = side[i].store;
    status = fm_query_run(cli->ctx, query, store, sides, &cli->options.select, &result, &err);
    if (status != FM_OK) {
        print_errors(query, &err);
        code = status_exit(status);
    }
    if (result) {
        struct fm_error write_err = {0};

        if (fm_result_write(result, format, &stdout_sink, &write_err) != FM_OK)
            code = exit_worse(code, say_write_error(&write_err, NULL));
        fm_result_free(result);
    }
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

int cmd_query(struct cli *cli)
{
    const struct words *in = &cli->options.operand;
    struct side side[INPUTS_MAX] = {{0}};
    size_t sides = 0;
    struct fm_query *query = NULL;
    struct fm_error err = {0};
    int result;
    bool good = true;

    if (in->n == 0)
        return say_usage(cli, "which query? 'foldmill list queries' shows those that are there");
    if (in->n == 1)
        return say_usage(cli, "no input: name a file, or '-' for standard input");
    if (fm_query_load(cli->ctx, in->word[0], &query, &err) != FM_OK) {
        if (err.status == FM_UNKNOWN) {
            result = unknown_query(cli, in->word[0], &err);
        } else {
            print_errors(query, &err);
            result = status_exit(err.status);
        }
        fm_query_free(query);
        return result;
    }
    result = set_params(cli, query);
    if (result != EXIT_DONE)
        goto out;
    result = share_out(cli, query, side, &sides);
    if (result != EXIT_DONE)
        goto out;
    for (size_t i = 0; i < sides && good; i++) {
        result = exit_worse(result, load(cli, side[i].files.word, side[i].files.n, &side[i].store));
        good = side[i].store != NULL;
    }
    if (good)
        result = exit_worse(result, run(cli, query, side, sides));
out:
    for (size_t i = 0; i < sides; i++) {
        fm_store_free(side[i].store);
        words_free(&side[i].files);
    }
    fm_query_free(query);
    return result;
}
