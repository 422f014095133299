/*
 * check.c - foldmill check FILE.yaml [--against INPUT]: is this format, query or report right,
 * and which field of a real input reaches which column?
 */
#include "cli/cli.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

/* The report is kept until it is known whether it tells of errors. */
struct report {
    char *text;
    size_t n;
};

static int keep(void *user, const void *data, size_t n)
{
    struct report *report = user;

    report->text = must(realloc(report->text, report->n + n));
    memcpy(report->text + report->n, data, n);
    report->n += n;
    return 0;
}

static int check_file(struct cli *cli, const char *path)
{
    struct report report = {0};
    struct fm_sink sink = {keep, &report};
    struct fm_error err = {0};
    enum fm_status status = fm_report_check(cli->ctx, path, &sink, &err);
    FILE *to;
    bool told;

    if (status == FM_UNKNOWN)
        status = fm_check(cli->ctx, path, cli->options.against, &sink, &err);
    to = status == FM_OK ? stdout : stderr;
    if (report.n > 0)
        fwrite(report.text, 1, report.n, to);
    /* The report of a wrong file holds all its errors, `err` the first of them; that of a right
     * file knows nothing of a wrong input. */
    told = report.n > 0 && memmem(report.text, report.n, err.message, strlen(err.message)) != NULL;
    free(report.text);
    if (status == FM_OK)
        return EXIT_DONE;
    return told ? status_exit(status) : say_error(&err);
}

int cmd_check(struct cli *cli)
{
    const struct words *in = &cli->options.operand;
    int result = EXIT_DONE;

    if (cli->options.schema)
        return print_schema(cli);
    if (in->n == 0)
        return say_usage(cli, "check what? name a YAML file");
    if (cli->options.against && in->n > 1)
        return say_usage(cli, "--against goes with one file");
    for (size_t i = 0; i < in->n; i++)
        result = exit_worse(result, check_file(cli, in->word[i]));
    return result;
}
