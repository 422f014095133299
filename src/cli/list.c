/*
 * list.c - foldmill list formats|queries|exporters: what this installation knows.
 */
#include "cli/cli.h"

#include <string.h>

static bool print_row(void *user, const char *name, const char *about)
{
    (void)user;
    printf("%-21s  %s\n", name, about ? about : "");
    return true;
}

int cmd_list(struct cli *cli)
{
    static const char *const what[] = {"formats", "queries", "exporters"};
    static const enum fm_catalogue list[] = {FM_LIST_FORMATS, FM_LIST_QUERIES, FM_LIST_EXPORTERS};
    const struct words *in = &cli->options.operand;

    if (in->n != 1)
        return say_usage(cli, "list what? formats, queries or exporters");
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        struct fm_error err = {0};

        if (strcmp(in->word[0], what[i]) != 0)
            continue;
        if (fm_list(cli->ctx, list[i], print_row, NULL, &err) != FM_OK)
            return say_error(&err);
        return EXIT_DONE;
    }
    return say_usage(cli, "no list of '%s': there are formats, queries and exporters", in->word[0]);
}
