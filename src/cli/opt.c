/*
 * opt.c - parses a command line by the option table (options.c).
 *
 *     --name VALUE  --name=VALUE  -nVALUE  -n VALUE  -abc   (letters without values may be joined)
 *     --na          any prefix that fits one option of the command
 *     --            everything after it is an operand;  "-" is an operand (standard input)
 *
 * Options and operands may stand in any order. A wrong option prints one line with the nearest name
 * and a pointer to the help.
 */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void words_add(struct words *words, const char *word)
{
    if (words->n == words->cap) {
        words->cap = words->cap ? words->cap * 2 : 8;
        words->word = must(realloc(words->word, words->cap * sizeof(*words->word)));
    }
    words->word[words->n++] = word;
}

void words_free(struct words *words)
{
    for (size_t i = 0; i < words->n; i++) {
        char *word;

        memcpy(&word, &words->word[i], sizeof(word)); /* without its const */
        free(word);
    }
    free(words->word);
    *words = (struct words){0};
}

/* ----------------------------------------------------------- nearest names */

#define NEAREST_MAX 40

/* Edit distance (insert, delete, replace, swap of neighbours = 2), or 99 for long words. */
static unsigned distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    unsigned row[NEAREST_MAX + 1];

    if (n > NEAREST_MAX || m > NEAREST_MAX)
        return 99;
    for (size_t j = 0; j <= m; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[m];
}

const char *nearest_word(const char *s, const char *const *word, size_t n)
{
    const char *found = NULL;
    unsigned best = 3;

    for (size_t i = 0; i < n; i++) {
        unsigned d = distance(s, word[i]);

        /* Two edits in a word of three letters are no likeness. */
        if (d < best && d < strlen(word[i])) {
            best = d;
            found = word[i];
        }
    }
    return found;
}

/* --------------------------------------------------------------- the table */

struct parse {
    struct options *options;
    unsigned command;
    const char *command_name;
};

static bool __attribute__((format(printf, 2, 3))) wrong(const struct parse *parse, const char *fmt,
                                                        ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    say("%s; see 'foldmill %s --help'", text, parse->command_name);
    return false;
}

static const struct option_row *find_letter(const struct parse *parse, char letter)
{
    for (size_t i = 0; i < option_rows; i++)
        if (option_table[i].letter == letter && (option_table[i].commands & parse->command))
            return &option_table[i];
    return NULL;
}

/* The nearest option of the command, as a text for the message. */
static bool unknown_long(const struct parse *parse, const char *name)
{
    const char *word[128];
    size_t n = 0;
    const char *near;

    for (size_t i = 0; i < option_rows && n < sizeof(word) / sizeof(word[0]); i++)
        if (option_table[i].commands & parse->command)
            word[n++] = option_table[i].name;
    near = nearest_word(name, word, n);
    if (near)
        return wrong(parse, "unknown option '--%s' (did you mean '--%s'?)", name, near);
    return wrong(parse, "unknown option '--%s'", name);
}

/* The option of that name or unambiguous prefix; NULL: a line has been printed. */
static const struct option_row *find_long(const struct parse *parse, const char *name)
{
    const struct option_row *found = NULL, *second = NULL;
    size_t n = strlen(name);

    for (size_t i = 0; i < option_rows; i++) {
        const struct option_row *row = &option_table[i];

        if (!(row->commands & parse->command) || strncmp(row->name, name, n) != 0)
            continue;
        if (!row->name[n])
            return row;
        if (found)
            second = row;
        else
            found = row;
    }
    if (second) {
        wrong(parse, "option '--%s' is ambiguous: '--%s' or '--%s'", name, found->name,
              second->name);
        return NULL;
    }
    if (!found)
        unknown_long(parse, name);
    return found;
}

/* ------------------------------------------------------------------ values */

static bool word_in(const char *words, const char *s)
{
    size_t n = strlen(s);

    while (*words) {
        size_t len = strcspn(words, " ");

        if (len == n && memcmp(words, s, n) == 0)
            return true;
        words += len;
        words += strspn(words, " ");
    }
    return false;
}

static bool number(const char *s, uint64_t max, uint64_t *out)
{
    uint64_t v = 0;

    if (!*s)
        return false;
    for (; *s; s++) {
        if (*s < '0' || *s > '9' || v > (max - (uint64_t)(*s - '0')) / 10)
            return false;
        v = v * 10 + (uint64_t)(*s - '0');
    }
    *out = v;
    return true;
}

/* Checks and stores one option; `shown` is how messages call it. */
static bool store_option(const struct parse *parse, const struct option_row *row, const char *shown,
                         const char *value)
{
    void *at = (char *)parse->options + row->at;

    if (row->closed && !word_in(row->words, value))
        return wrong(parse, "option '%s' does not take '%s': it takes one of %s", shown, value,
                     row->words);
    switch (row->store) {
    case STORE_TEXT:
        *(const char **)at = value;
        return true;
    case STORE_FIXED:
        *(const char **)at = row->words;
        return true;
    case STORE_FLAG:
        *(bool *)at = true;
        return true;
    case STORE_NUMBER:
        if (number(value, 1024, at) && *(uint64_t *)at > 0)
            return true;
        return wrong(parse, "option '%s' takes a number from 1 to 1024, not '%s'", shown, value);
    case STORE_PAIR:
        if (!strchr(value, '=') || *value == '=')
            return wrong(parse, "option '%s' takes %s, not '%s'", shown, row->value, value);
        words_add(at, value);
        return true;
    case STORE_LIST:
        words_add(at, value);
        return true;
    case STORE_FILTER:
        words_add(at, join(row->name, "=", value));
        return true;
    }
    return false;
}

/* ----------------------------------------------------------------- parsing */

/* argv[*i] is "--name" or "--name=value". */
static bool parse_long(const struct parse *parse, int argc, char **argv, int *i)
{
    const char *arg = argv[*i] + 2, *equals = strchr(arg, '=');
    size_t n = equals ? (size_t)(equals - arg) : strlen(arg);
    char name[64];
    char shown[72];
    const struct option_row *row;
    const char *value = equals ? equals + 1 : NULL;

    if (n == 0 || n >= sizeof(name))
        return wrong(parse, "unknown option '%s'", argv[*i]);
    memcpy(name, arg, n);
    name[n] = '\0';
    row = find_long(parse, name);
    if (!row)
        return false;
    snprintf(shown, sizeof(shown), "--%s", row->name);
    if (!row->value && value)
        return wrong(parse, "option '%s' takes no value", shown);
    if (row->value && !value) {
        if (*i + 1 >= argc)
            return wrong(parse, "option '%s' needs a value: %s", shown, row->value);
        value = argv[++*i];
    }
    return store_option(parse, row, shown, value);
}

/* argv[*i] is "-x", "-xy" or "-xVALUE". */
static bool parse_short(const struct parse *parse, int argc, char **argv, int *i)
{
    const char *arg = argv[*i] + 1;

    while (*arg) {
        const struct option_row *row = find_letter(parse, *arg);
        char shown[3] = {'-', *arg, '\0'};

        if (!row)
            return wrong(parse, "unknown option '%s'", (*arg & 0x80) ? argv[*i] : shown);
        arg++;
        if (!row->value) {
            if (!store_option(parse, row, shown, NULL))
                return false;
            continue;
        }
        if (*arg)
            return store_option(parse, row, shown, arg);
        if (*i + 1 >= argc)
            return wrong(parse, "option '%s' needs a value: %s", shown, row->value);
        return store_option(parse, row, shown, argv[++*i]);
    }
    return true;
}

bool options_parse(struct options *options, unsigned command, const char *command_name, int argc,
                   char **argv)
{
    struct parse parse = {options, command, command_name};
    bool only_operands = false;

    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i];

        if (only_operands || arg[0] != '-' || !arg[1]) {
            words_add(&options->operand, arg);
        } else if (strcmp(arg, "--") == 0) {
            only_operands = true;
        } else if (arg[1] == '-') {
            if (!parse_long(&parse, argc, argv, &i))
                return false;
        } else if (!parse_short(&parse, argc, argv, &i)) {
            return false;
        }
    }
    options->import.callers_exact = options->callers && strcmp(options->callers, "exact") == 0;
    options->import.size = sizeof(options->import);
    options->select.size = sizeof(options->select);
    options->export.size = sizeof(options->export);
    options->select.filter = options->filter.word;
    options->select.filters = options->filter.n;
    options->export.set = options->set.word;
    options->export.sets = options->set.n;
    return true;
}

void options_release(struct options *options)
{
    /* Filters are strings of ours ("comm=x"), all other words belong to argv. */
    words_free(&options->filter);
    free(options->set.word);
    free(options->param.word);
    free(options->formats.word);
    free(options->operand.word);
}
