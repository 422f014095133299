/*
 * inputs.c - the files of a query's inputs, each input read into a store of its own.
 *
 *     inputs: [base, new]     foldmill query gate old.folded new.folded        in that order
 *                             foldmill query gate new=b1,b2 base=a1,a2         by name; files of
 *                                                                              one input merge
 *     no inputs, or one       foldmill query top-self a b c                    all files merge
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* The file names of each input, as they are given to load(). */
struct slot {
    const char *name;
    struct words files;
};

static size_t slot_named(const struct slot *slot, size_t n, const char *word, size_t len)
{
    size_t i = 0;

    while (i < n && (strlen(slot[i].name) != len || strncmp(slot[i].name, word, len) != 0))
        i++;
    return i;
}

static void add_files(struct slot *slot, const char *list)
{
    while (true) {
        size_t n = strcspn(list, ",");
        words_add(&slot->files, must(strndup(list, n)));
        if (list[n] == '\0')
            return;
        list += n + 1;
    }
}

static int say_which(struct cli *cli, const struct slot *slot, size_t n, size_t files)
{
    char *names = join("", "", ""), *more;

    for (size_t i = 0; i < n; i++) {
        more = join(names, i > 0 ? " " : "", slot[i].name);
        free(names);
        names = join(more, "=FILE[,FILE]", "");
        free(more);
    }
    say_usage(cli, "the query has %zu inputs and %zu file%s: one each in order, or by name: %s", n,
              files, files == 1 ? "" : "s", names);
    free(names);
    return EXIT_USAGE;
}

static int give_files(struct cli *cli, struct slot *slot, size_t n, const char *const *word,
                      size_t words)
{
    size_t next = 0;

    for (size_t i = 0; i < words; i++) {
        const char *equals = strchr(word[i], '=');
        size_t k = equals ? slot_named(slot, n, word[i], (size_t)(equals - word[i])) : n;
        if (k < n)
            add_files(&slot[k], equals + 1);
    }
    for (size_t i = 0; i < words; i++) {
        const char *equals = strchr(word[i], '=');
        if (equals && slot_named(slot, n, word[i], (size_t)(equals - word[i])) < n)
            continue;
        while (next < n && slot[next].files.n > 0)
            next++;
        if (next == n)
            return say_which(cli, slot, n, words);
        words_add(&slot[next].files, must(strdup(word[i])));
    }
    for (size_t i = 0; i < n; i++) {
        if (slot[i].files.n == 0)
            return say_which(cli, slot, n, words);
    }
    return EXIT_DONE;
}

int load_inputs(struct cli *cli, struct fm_query *query, const char *const *word, size_t words,
                struct fm_store **store)
{
    struct slot slot[MAX_INPUTS] = {0};
    size_t n = 0;
    int result;

    while (n < MAX_INPUTS && (slot[n].name = fm_query_input(query, n)))
        n++;
    if (n < 2)
        return load(cli, word, words, fm_query_needs(query), store);
    result = give_files(cli, slot, n, word, words);
    for (size_t i = 0; i < n && result != EXIT_USAGE; i++) {
        int one = load(cli, (const char *const *)slot[i].files.word, slot[i].files.n,
                       fm_query_needs(query), &store[i]);
        result = exit_worse(result, one);
        if (!store[i])
            break;
    }
    for (size_t i = 0; i < n; i++)
        words_free(&slot[i].files);
    return result;
}
