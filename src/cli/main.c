/*
 * main.c - the command table, help, and which command a command line means.
 *
 *     foldmill FILE...                  the summary
 *     foldmill COMMAND [OPTION...] ...  one of the table below
 *
 * The first word that is no option decides. A word that is neither a command nor a file, but looks
 * like a command, is told so instead of "no such file".
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct command command_table[] = {
    {"summary", CMD_SUMMARY, "IN...", "what is in a profile, at a glance; so does foldmill FILE",
     COMPLETE_FILES, NULL, cmd_summary},
    {"info", CMD_INFO, "IN...", "where the samples come from: provenance, account, modules, events",
     COMPLETE_FILES, NULL, cmd_info},
    {"convert", CMD_CONVERT, "IN... -o OUT", "write a profile in another format",
     COMPLETE_FILES, NULL, cmd_convert},
    {"query", CMD_QUERY, "NAME|FILE.yaml IN...", "ask a question and print the answer",
     COMPLETE_QUERIES, NULL, cmd_query},
    {"top", CMD_TOP, "IN...", "functions, modules, lines, threads ... by weight",
     COMPLETE_FILES, NULL, cmd_top},
    {"diff", CMD_DIFF, "BASE NEW", "what changed between two profiles, and a gate on it",
     COMPLETE_FILES, NULL, cmd_diff},
    {"report", CMD_REPORT, "REPORT IN... -o DIR", "tables, pictures and checks over many files",
     COMPLETE_FILES, NULL, cmd_report},
    {"list", CMD_LIST, "formats|queries|exporters", "what this installation knows",
     COMPLETE_WORDS, "formats queries exporters", cmd_list},
    {"check", CMD_CHECK, "FILE.yaml...", "validate format and query files",
     COMPLETE_FILES, NULL, cmd_check},
    {"completion", CMD_COMPLETION, "bash|zsh|table", "print a completion script for a shell",
     COMPLETE_WORDS, "bash zsh table", cmd_completion},
    {"help", CMD_HELP, "[COMMAND]", "print the help of a command",
     COMPLETE_WORDS, "summary info convert query top diff report list check completion", cmd_help},
};
const size_t commands = sizeof(command_table) / sizeof(command_table[0]);

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < commands; i++)
        if (strcmp(command_table[i].name, name) == 0)
            return &command_table[i];
    return NULL;
}

/* -------------------------------------------------------------------- help */

#define HELP_COLUMN 31

static void print_option(const struct option_row *row)
{
    char left[64];
    int n;

    if (row->letter)
        n = snprintf(left, sizeof(left), "-%c, --%s", row->letter, row->name);
    else
        n = snprintf(left, sizeof(left), "    --%s", row->name);
    if (row->value)
        snprintf(left + n, sizeof(left) - (size_t)n, " %s", row->value);
    printf("  %-*s %s\n", HELP_COLUMN, left, row->help);
}

static void print_options(unsigned command)
{
    for (int group = 0; group < GROUPS; group++) {
        bool any = false;

        for (size_t i = 0; i < option_rows; i++) {
            const struct option_row *row = &option_table[i];

            if (!(row->commands & command) || row->group != (enum option_group)group)
                continue;
            if (!any)
                printf("\n%s:\n", group_title[group]);
            any = true;
            print_option(row);
        }
    }
}

void command_help(const struct command *command)
{
    if (command) {
        printf("usage: foldmill %s [OPTION...] %s\n\n%s\n", command->name, command->operands,
               command->about);
        print_options(command->bit);
        printf("\nThe manual: man foldmill-%s\n", command->name);
        return;
    }
    printf("usage: foldmill [OPTION...] FILE...\n"
           "       foldmill COMMAND [OPTION...] ...\n\n"
           "Turns profiles and traces into one another and answers questions about them.\n\n"
           "Commands:\n");
    for (size_t i = 0; i < commands; i++)
        printf("  %-12s %s\n", command_table[i].name, command_table[i].about);
    printf("\n'foldmill COMMAND --help' lists its options; the manual: man foldmill\n");
}

int cmd_help(struct cli *cli)
{
    const struct words *in = &cli->options.operand;
    const struct command *command = NULL;

    if (in->n > 1)
        return say_usage(cli, "help of one command at a time");
    if (in->n == 1) {
        command = command_find(in->word[0]);
        if (!command)
            return say_usage(cli, "unknown command '%s'", in->word[0]);
    }
    command_help(command);
    return EXIT_DONE;
}

/* ------------------------------------------------------------------ choice */

/* True when option `arg` of the summary takes its value from the next word. */
static bool takes_next(const char *arg)
{
    const char *name = arg + 2;
    size_t n = strlen(name);

    if (arg[1] != '-') {
        for (size_t i = 0; i < option_rows; i++)
            if (option_table[i].letter == arg[1] && (option_table[i].commands & CMD_SUMMARY))
                return option_table[i].value && !arg[2];
        return false;
    }
    for (size_t i = 0; i < option_rows; i++)
        if ((option_table[i].commands & CMD_SUMMARY) && strncmp(option_table[i].name, name, n) == 0)
            return option_table[i].value != NULL;
    return false;
}

/* The index of the first operand in argv, argc when there is none. */
static int first_operand(int argc, char **argv)
{
    int i;

    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0)
            return argc; /* what follows is never a command */
        if (argv[i][0] != '-' || !argv[i][1])
            return i;
        if (takes_next(argv[i]))
            i++;
    }
    return argc;
}

/* A word that was meant as a command: not a file, and close to a command's name. */
static const char *meant(const char *word)
{
    const char *name[16];
    size_t n = 0;

    if (strcmp(word, "-") == 0 || access(word, F_OK) == 0)
        return NULL;
    while (n < commands && n < sizeof(name) / sizeof(name[0])) {
        name[n] = command_table[n].name;
        n++;
    }
    return nearest_word(word, name, n);
}

static int run_command(struct cli *cli)
{
    int status;

    if (cli->options.help) {
        command_help(cli->command);
        return EXIT_DONE;
    }
    if (cli->options.version) {
        printf("foldmill %s (%s)\n", fm_version(), fm_features());
        return EXIT_DONE;
    }
    cli->ctx = must(fm_ctx_new());
    if (cli->options.threads > 0)
        fm_ctx_set_cap(cli->ctx, FM_CAP_THREADS, cli->options.threads);
    status = add_data_dirs(cli);
    if (status == EXIT_DONE)
        status = cli->command->run(cli);
    fm_ctx_free(cli->ctx);
    return status;
}

/* Parses and runs what argv means. */
static int run(struct cli *cli, int argc, char **argv, char **args)
{
    int at = first_operand(argc, argv), n = 0;
    const struct command *command = at < argc ? command_find(argv[at]) : NULL;

    if (argc <= 1) {
        command_help(NULL);
        return EXIT_USAGE;
    }
    if (at < argc && !command && meant(argv[at])) {
        say("no command and no file '%s' (did you mean '%s'?); see 'foldmill --help'", argv[at],
            meant(argv[at]));
        return EXIT_USAGE;
    }
    cli->command = command ? command : &command_table[0];
    for (int i = 1; i < argc; i++)
        if (!command || i != at)
            args[n++] = argv[i];
    if (!options_parse(&cli->options, cli->command->bit, cli->command->name, n, args))
        return EXIT_USAGE;
    if (cli->options.help && !command) {
        command_help(NULL);
        return EXIT_DONE;
    }
    return run_command(cli);
}

int main(int argc, char **argv)
{
    struct cli cli = {0};
    char **args = must(calloc((size_t)argc + 1, sizeof(*args)));
    int status;

    catch_signals();
    status = stdout_done(run(&cli, argc, argv, args));
    options_release(&cli.options);
    free(args);
    return status;
}
