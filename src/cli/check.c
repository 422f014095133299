/*
 * check.c - foldmill check FILE.yaml [--against INPUT]: is this formats/ or queries/ file right,
 * and which field of a real input reaches which column?
 */
#include "cli/cli.h"

int cmd_check(struct cli *cli)
{
    const struct words *in = &cli->options.operand;
    int result = EXIT_DONE;

    if (in->n == 0)
        return say_usage(cli, "check what? name a YAML file");
    if (cli->options.against && in->n > 1)
        return say_usage(cli, "--against goes with one file");
    for (size_t i = 0; i < in->n; i++) {
        struct fm_error err = {0};
        enum fm_status status =
            fm_check(cli->ctx, in->word[i], cli->options.against, &stdout_sink, &err);

        if (status != FM_OK) {
            fflush(stdout);
            result = exit_worse(result, say_error(&err));
        }
    }
    return result;
}
