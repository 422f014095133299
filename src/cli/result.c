/*
 * result.c - where the tables of a query go, and in which form.
 *
 *     (nothing)         standard output, as text in the width of the terminal
 *     --format csv      a table in that form
 *     -o x.csv          .csv .tsv .json .md .txt: a table in that form
 *     -o x.svg, --to    any other output format: the result as a profile, see fm_result_export()
 *
 * --format and --to say the form whatever the file is called. An ending that only an output format
 * has, such as .speedscope.json, goes before .json.
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char *const table_ending[][2] = {
    {".csv", "csv"}, {".tsv", "tsv"}, {".json", "json"}, {".md", "markdown"},
    {".markdown", "markdown"}, {".txt", "text"},
};

static const char *ending_format(const char *path, size_t *at)
{
    size_t n = strlen(path);

    for (size_t i = 0; i < sizeof(table_ending) / sizeof(table_ending[0]); i++) {
        size_t len = strlen(table_ending[i][0]);

        if (n > len && strcmp(path + n - len, table_ending[i][0]) == 0) {
            *at = n - len;
            return table_ending[i][1];
        }
    }
    return NULL;
}

/* Whether an output format has a longer ending of the path than that which begins at `at`. */
static bool longer_ending(const char *path, size_t at)
{
    const char *full = fm_export_for_path(path);
    char *plain = join("x", path + at, "");
    const char *shorter = fm_export_for_path(plain);
    bool longer = full && (!shorter || strcmp(full, shorter) != 0);

    free(plain);
    return longer;
}

/* By the ending of -o. */
static bool choose_by_ending(const struct cli *cli, struct target *target)
{
    const char *path = cli->options.output;
    size_t at;

    target->table = ending_format(path, &at);
    if (!target->table || longer_ending(path, at)) {
        target->table = NULL;
        target->exporter = fm_export_for_path(path);
    }
    if (target->table || target->exporter)
        return true;
    say_usage(cli, "neither a table nor an output format has the extension of '%s': give "
              "--format NAME or --to NAME", path);
    return false;
}

int target_choose(const struct cli *cli, struct target *target)
{
    const struct options *o = &cli->options;

    *target = (struct target){.table = o->format, .exporter = o->to};
    if (o->format && o->to)
        return say_usage(cli, "--format is for tables and --to for profiles: give one of them");
    if (o->to && !exporter_exists(cli, o->to))
        return EXIT_USAGE;
    if (!o->to && !o->format && o->output && strcmp(o->output, "-") != 0) {
        if (!choose_by_ending(cli, target))
            return EXIT_USAGE;
    } else if (!o->to && !o->format) {
        target->table = "text";
    }
    return output_possible(o->output) ? EXIT_DONE : EXIT_NOTHING;
}

/* Columns of the terminal that standard output is; 0: it is none. */
static size_t terminal_width(void)
{
    struct winsize size;

    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

static enum fm_status write_table(struct cli *cli, struct fm_result *result, const char *format,
                                  const struct fm_sink *sink, struct fm_error *err)
{
    size_t width = (size_t)cli->options.width;

    if (width == 0 && !cli->options.output)
        width = terminal_width();
    fm_result_set_width(result, width);
    return fm_result_write(result, format, sink, err);
}

int write_result(struct cli *cli, struct fm_result *result, const struct target *target)
{
    const char *path = cli->options.output;
    struct output output;
    struct fm_error err = {0};
    enum fm_status status;

    if (target->exporter && fm_result_tables(result) != 1) {
        say("the result has %zu tables: a profile is made of one", fm_result_tables(result));
        return EXIT_USAGE;
    }
    if (!output_open(&output, path)) {
        output_close(&output, false);
        return EXIT_NOTHING;
    }
    if (target->exporter)
        status = fm_result_export(cli->ctx, result, 0, target->exporter, &cli->options.export,
                                  &output.sink, &err);
    else
        status = write_table(cli, result, target->table, path ? &output.sink : &stdout_sink, &err);
    if (!output_close(&output, status == FM_OK))
        return EXIT_NOTHING;
    return status == FM_OK ? EXIT_DONE : say_write_error(&err, path);
}
