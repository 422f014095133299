/*
 * convert.c - foldmill convert IN... -o OUT: any profile into any other.
 */
#include "cli/cli.h"

#include <string.h>

/* The exporter that the options name; NULL: a line has been printed. */
static const char *exporter(const struct cli *cli)
{
    const struct options *o = &cli->options;
    const char *name;

    if (o->to)
        return o->to;
    if (!o->output) {
        say_usage(cli, "where to? give -o FILE or --to NAME");
        return NULL;
    }
    if (strcmp(o->output, "-") == 0) {
        say_usage(cli, "standard output has no extension: give --to NAME");
        return NULL;
    }
    name = fm_export_for_path(o->output);
    if (!name)
        say_usage(cli, "no output format has the extension of '%s': give --to NAME "
                  "('foldmill list exporters')", o->output);
    return name;
}

struct find {
    const char *name;
    bool found;
};

static bool find_one(void *user, const char *name, const char *about)
{
    struct find *find = user;

    (void)about;
    find->found = strcmp(find->name, name) == 0;
    return !find->found;
}

/* A wrong --to is told before a long import, not after it. */
bool exporter_exists(const struct cli *cli, const char *name)
{
    struct find find = {name, false};
    struct fm_error err = {0};

    if (fm_list(cli->ctx, FM_LIST_EXPORTERS, find_one, &find, &err) != FM_OK) {
        say_error(&err);
        return false;
    }
    if (!find.found)
        say_usage(cli, "no output format '%s' ('foldmill list exporters')", name);
    return find.found;
}

static int write_store(struct cli *cli, struct fm_store *store, const char *name)
{
    struct output output;
    struct fm_error err = {0};
    enum fm_status status;

    if (!output_open(&output, cli->options.output)) {
        output_close(&output, false);
        return EXIT_NOTHING;
    }
    status = fm_export(cli->ctx, store, name, &cli->options.select, &cli->options.export,
                       &output.sink, &err);
    if (!output_close(&output, status == FM_OK))
        return EXIT_NOTHING;
    if (status != FM_OK)
        return say_write_error(&err, cli->options.output);
    if (err.message[0])
        say("warning: %s", err.message);
    return EXIT_DONE;
}

/* The chosen events, and what the output needs beside them. */
static bool events_to_read(const struct cli *cli, const char *name, char *list, size_t size)
{
    const char *chosen = cli->options.select.event ? cli->options.select.event : "auto";
    const char *more = fm_export_events(name);
    int n = snprintf(list, size, "%s%s%s", chosen, more[0] != '\0' ? "," : "", more);

    return n >= 0 && (size_t)n < size;
}

int cmd_convert(struct cli *cli)
{
    const struct words *in = &cli->options.operand;
    const char *name = exporter(cli);
    struct fm_store *store;
    char events[4096];
    int result;

    if (!name)
        return EXIT_USAGE;
    if (in->n == 0)
        return say_usage(cli, "no input: name a file, or '-' for standard input");
    if (!exporter_exists(cli, name))
        return EXIT_USAGE;
    if (!output_possible(cli->options.output))
        return EXIT_NOTHING;
    if (!events_to_read(cli, name, events, sizeof events))
        return say_usage(cli, "the list of events is longer than %zu bytes", sizeof events);
    cli->options.import.events = events;
    result = load(cli, in->word, in->n, fm_export_needs(name), &store);
    if (!store)
        return result;
    result = exit_worse(result, write_store(cli, store, name));
    fm_store_free(store);
    return result;
}
