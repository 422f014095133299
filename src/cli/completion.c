/*
 * completion.c - foldmill completion bash|zsh|table: scripts made from the command and option
 * tables, so that they never know other options than the program. `table` prints the rows
 * themselves, tab-separated: command, --option, -letter, value, help; the manual is checked by it.
 */
#include "cli/cli.h"

#include <string.h>

/* ------------------------------------------------------------------- table */

static void print_table(void)
{
    for (size_t c = 0; c < commands; c++)
        for (size_t i = 0; i < option_rows; i++) {
            const struct option_row *row = &option_table[i];

            if (!(row->commands & command_table[c].bit))
                continue;
            printf("%s\t--%s\t", command_table[c].name, row->name);
            if (row->letter)
                printf("-%c", row->letter);
            printf("\t%s\t%s\n", row->value ? row->value : "", row->help);
        }
}

/* -------------------------------------------------------------------- bash */

/* True when the values of two options complete alike. */
static bool same_values(const struct option_row *a, const struct option_row *b)
{
    if (!a->value || !b->value || a->completes != b->completes)
        return false;
    return a->completes != COMPLETE_WORDS || strcmp(a->words, b->words) == 0;
}

static void bash_reply(enum completes completes, const char *words)
{
    printf("mapfile -t COMPREPLY < <(");
    switch (completes) {
    case COMPLETE_NOTHING:
        printf(":");
        break;
    case COMPLETE_WORDS:
        printf("compgen -W '%s' -- \"$cur\"", words);
        break;
    case COMPLETE_FILES:
        printf("compgen -f -- \"$cur\"");
        break;
    case COMPLETE_DIRS:
        printf("compgen -d -- \"$cur\"");
        break;
    case COMPLETE_FORMATS:
        printf("compgen -W \"$(_foldmill_list formats)\" -- \"$cur\"");
        break;
    case COMPLETE_EXPORTERS:
        printf("compgen -W \"$(_foldmill_list exporters)\" -- \"$cur\"");
        break;
    case COMPLETE_QUERIES:
        printf("compgen -f -W \"$(_foldmill_list queries)\" -- \"$cur\"");
        break;
    }
    putchar(')');
}

/* One branch for each set of options whose values complete alike. */
static void bash_values(void)
{
    for (size_t i = 0; i < option_rows; i++) {
        const struct option_row *row = &option_table[i];
        bool first = true;

        for (size_t j = 0; j < i && first; j++)
            first = !same_values(&option_table[j], row);
        if (!row->value || !first)
            continue;
        printf("    ");
        for (size_t j = i; j < option_rows; j++) {
            if (!same_values(row, &option_table[j]))
                continue;
            if (option_table[j].letter)
                printf("%s-%c", j == i ? "" : " | ", option_table[j].letter);
            printf("%s--%s", j == i && !option_table[j].letter ? "" : " | ", option_table[j].name);
        }
        printf(")\n        ");
        bash_reply(row->completes, row->words);
        printf("\n        return\n        ;;\n");
    }
}

static void bash_commands(void)
{
    for (size_t c = 0; c < commands; c++) {
        printf("    %s)\n        options='", command_table[c].name);
        for (size_t i = 0; i < option_rows; i++)
            if (option_table[i].commands & command_table[c].bit)
                printf("--%s ", option_table[i].name);
        printf("'\n        ");
        bash_reply(command_table[c].completes, command_table[c].words);
        printf("\n        ;;\n");
    }
}

static void print_bash(void)
{
    printf("# bash completion for foldmill, made by 'foldmill completion bash'\n\n"
           "_foldmill_list() {\n"
           "    foldmill list \"$1\" 2>/dev/null | while read -r name _; do echo \"$name\"; done\n"
           "}\n\n"
           "_foldmill() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    local command= options= i\n"
           "    if [[ $cur == '=' ]]; then\n"
           "        cur=\n"
           "    elif [[ $prev == '=' && $COMP_CWORD -gt 1 ]]; then\n"
           "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
           "    fi\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        case ${COMP_WORDS[i]} in\n        ");
    for (size_t c = 0; c < commands; c++)
        printf("%s%s", c > 0 ? " | " : "", command_table[c].name);
    printf(")\n            command=${COMP_WORDS[i]}\n            break\n            ;;\n"
           "        esac\n"
           "    done\n"
           "    case $prev in\n");
    bash_values();
    printf("    esac\n"
           "    case ${command:-summary} in\n");
    bash_commands();
    printf("    esac\n"
           "    if [[ $cur == -* ]]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
           "    elif [[ -z $command ]]; then\n"
           "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W '");
    for (size_t c = 0; c < commands; c++)
        printf("%s%s", c > 0 ? " " : "", command_table[c].name);
    printf("' -- \"$cur\")\n"
           "    fi\n"
           "}\n"
           "complete -o filenames -F _foldmill foldmill\n");
}

/* --------------------------------------------------------------------- zsh */

/* Text inside '...[...]' of _arguments. */
static void zsh_text(const char *s)
{
    for (; *s; s++) {
        if (*s == '\'')
            fputs("'\\''", stdout);
        else if (*s == '[' || *s == ']' || *s == ':' || *s == '\\')
            printf("\\%c", *s);
        else
            putchar(*s);
    }
}

static void zsh_action(enum completes completes, const char *words)
{
    switch (completes) {
    case COMPLETE_NOTHING:
        printf(" ");
        break;
    case COMPLETE_WORDS:
        printf("(%s)", words);
        break;
    case COMPLETE_FILES:
        printf("_files");
        break;
    case COMPLETE_DIRS:
        printf("_files -/");
        break;
    case COMPLETE_FORMATS:
        printf("_foldmill_list formats");
        break;
    case COMPLETE_EXPORTERS:
        printf("_foldmill_list exporters");
        break;
    case COMPLETE_QUERIES:
        printf("_foldmill_queries");
        break;
    }
}

static void zsh_option(const struct option_row *row)
{
    bool repeats = row->store == STORE_LIST || row->store == STORE_PAIR ||
                   row->store == STORE_FILTER;

    printf("            '%s", repeats ? "*" : "");
    if (row->letter && !repeats)
        printf("(-%c --%s)", row->letter, row->name);
    if (row->letter)
        printf("'{-%c%s,--%s%s}'", row->letter, row->value ? "+" : "", row->name,
               row->value ? "=" : "");
    else
        printf("--%s%s", row->name, row->value ? "=" : "");
    putchar('[');
    zsh_text(row->help);
    putchar(']');
    if (row->value) {
        putchar(':');
        zsh_text(row->value);
        putchar(':');
        zsh_action(row->completes, row->words);
    }
    printf("' \\\n");
}

static void print_zsh(void)
{
    printf("#compdef foldmill\n"
           "# zsh completion for foldmill, made by 'foldmill completion zsh'\n\n"
           "_foldmill_list() {\n"
           "    local -a names\n"
           "    names=(${${(f)\"$(_call_program list foldmill list $1 2>/dev/null)\"}%%%% *})\n"
           "    _describe $1 names\n"
           "}\n\n"
           "_foldmill_queries() {\n"
           "    _alternative 'queries:query:_foldmill_list queries' 'files:file:_files'\n"
           "}\n\n"
           "_foldmill_commands() {\n"
           "    local -a names\n"
           "    names=(\n");
    for (size_t c = 0; c < commands; c++) {
        printf("        '%s:", command_table[c].name);
        zsh_text(command_table[c].about);
        printf("'\n");
    }
    printf("    )\n"
           "    _describe command names\n"
           "}\n\n"
           "_foldmill() {\n"
           "    local command=summary\n"
           "    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
           "        _alternative 'commands:command:_foldmill_commands' 'files:file:_files'\n"
           "        return\n"
           "    fi\n"
           "    case $words[2] in\n    (");
    for (size_t c = 0; c < commands; c++)
        printf("%s%s", c > 0 ? "|" : "", command_table[c].name);
    printf(")\n        command=$words[2]\n        shift words\n        (( CURRENT-- ))\n"
           "        ;;\n"
           "    esac\n"
           "    case $command in\n");
    for (size_t c = 0; c < commands; c++) {
        printf("    (%s)\n        _arguments -s -S \\\n", command_table[c].name);
        for (size_t i = 0; i < option_rows; i++)
            if (option_table[i].commands & command_table[c].bit)
                zsh_option(&option_table[i]);
        printf("            '*:operand:");
        zsh_action(command_table[c].completes, command_table[c].words);
        printf("'\n        ;;\n");
    }
    printf("    esac\n}\n\n_foldmill \"$@\"\n");
}

int cmd_completion(struct cli *cli)
{
    const struct words *in = &cli->options.operand;

    if (in->n == 1 && strcmp(in->word[0], "bash") == 0)
        print_bash();
    else if (in->n == 1 && strcmp(in->word[0], "zsh") == 0)
        print_zsh();
    else if (in->n == 1 && strcmp(in->word[0], "table") == 0)
        print_table();
    else
        return say_usage(cli, "completion for which shell? bash or zsh");
    return EXIT_DONE;
}
