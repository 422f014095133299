/*
 * diff.c - foldmill diff BASE NEW: what changed between two profiles, a short form of
 * queries/diff.yaml.
 *
 *     --by function module file line path thread process   the document by-function, by-module ...
 *     --by any other column: comm, cpu, leaf.function      by-key, by=X
 *     -n, --sort, --normalize, --fail-above                the parameters of that name
 *     -o x.svg, x.folded, --to NAME                        no query: both call trees as one
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* Sets a parameter when its option was given. */
static int set_given(struct fm_query *query, const char *name, const char *value, int code)
{
    return code == EXIT_DONE && value ? question_set(query, name, value) : code;
}

static bool has_total(const char *by)
{
    static const char *const both[] = {"function", "module", "file", "line"};

    for (size_t i = 0; i < sizeof(both) / sizeof(both[0]); i++)
        if (strcmp(by, both[i]) == 0)
            return true;
    return false;
}

static int load_query(struct cli *cli, const char *by, struct fm_query **query)
{
    const struct options *o = &cli->options;
    bool known = short_document(by);
    char *name = join("diff#by-", known ? by : "key", "");
    int code = question_load(cli, name, query);

    free(name);
    code = set_given(*query, "by", known ? NULL : by, code);
    code = set_given(*query, "n", o->rows, code);
    code = set_given(*query, "sort", o->sort, code);
    code = set_given(*query, "normalize", o->export.normalize, code);
    return set_given(*query, "fail_above", o->fail_above, code);
}

/* The first option given that only tables know, or NULL. */
static const char *table_option(const struct options *o)
{
    const struct {
        const char *name, *value;
    } option[] = {
        {"--by", o->by}, {"--rows", o->rows}, {"--sort", o->sort}, {"--fail-above", o->fail_above},
    };

    for (size_t i = 0; i < sizeof(option) / sizeof(option[0]); i++)
        if (option[i].value)
            return option[i].name;
    return NULL;
}

static int write_picture(struct cli *cli, struct fm_store *base, struct fm_store *new,
                         const char *name)
{
    const char *path = cli->options.output;
    struct output output;
    struct fm_error err = {0};
    enum fm_status status;

    if (!output_open(&output, path)) {
        output_close(&output, false);
        return EXIT_NOTHING;
    }
    status = fm_export_diff(cli->ctx, base, new, name, &cli->options.select,
                            &cli->options.export, &output.sink, &err);
    if (!output_close(&output, status == FM_OK))
        return EXIT_NOTHING;
    if (status != FM_OK)
        return say_write_error(&err, path);
    if (err.message[0])
        say("warning: %s", err.message);
    return EXIT_DONE;
}

/* Both profiles as one picture; the query only says how its inputs are called. */
static int draw(struct cli *cli, const char *name)
{
    const struct words *in = &cli->options.operand;
    const char *option = table_option(&cli->options);
    struct fm_store *store[MAX_INPUTS] = {0};
    struct fm_query *query = NULL;
    int code;

    if (option)
        return say_usage(cli, "%s goes with tables, and '%s' is none", option, name);
    code = question_load(cli, "diff#by-path", &query);
    if (code == EXIT_DONE)
        code = load_inputs(cli, query, in->word, in->n, store);
    if (store[0] && store[1])
        code = exit_worse(code, write_picture(cli, store[0], store[1], name));
    for (size_t i = 0; i < MAX_INPUTS; i++)
        fm_store_free(store[i]);
    fm_query_free(query);
    return code;
}

int cmd_diff(struct cli *cli)
{
    const struct words *in = &cli->options.operand;
    const char *by = cli->options.by ? cli->options.by : "function";
    struct fm_query *query = NULL;
    struct target target;
    int code;

    if (in->n < 2)
        return say_usage(cli, "two profiles are compared: the base and the new one");
    if (cli->options.sort && !has_total(by))
        return say_usage(cli, "--sort goes with rows of functions, modules, files or lines: of "
                         "'%s' self and total are the same", by);
    if (cli->options.fail_above && !strchr(cli->options.fail_above, '%'))
        return say_usage(cli, "--fail-above takes a percentage such as 2%%, not '%s'",
                         cli->options.fail_above);
    code = target_choose(cli, &target);
    if (code == EXIT_DONE && target.exporter)
        return draw(cli, target.exporter);
    if (code == EXIT_DONE)
        code = load_query(cli, by, &query);
    if (code == EXIT_DONE)
        code = question_ask(cli, query, in->word, in->n, &target);
    fm_query_free(query);
    return code;
}
