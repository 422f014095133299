/*
 * load.c - from the command line to a store: data folders, reading, what to say about damage.
 *
 * Data folders (each with formats/ and queries/), first hit by name wins:
 *
 *     --formats DIR ...   $FOLDMILL_PATH   $XDG_CONFIG_HOME/foldmill (or ~/.config/foldmill)
 *     beside the executable: BIN/../share/foldmill (installed anywhere),
 *                            BUILD or BUILD/.. (running from the build folder)
 *     the folder that was configured (the library adds it)
 */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool holds(const char *dir, const char *name)
{
    char *path = join(dir, "/", name);
    bool good = is_folder(path);

    free(path);
    return good;
}

static bool add_dir(struct fm_ctx *ctx, const char *dir)
{
    enum fm_status status = fm_ctx_add_data_dir(ctx, dir);

    if (status != FM_OK)
        say("cannot add the data folder '%s': %s", dir, fm_status_text(status));
    return status == FM_OK;
}

/* The entries of a colon-separated list. */
static bool add_list(struct fm_ctx *ctx, const char *list)
{
    while (*list) {
        size_t n = strcspn(list, ":");

        if (n > 0) {
            char *dir = must(strndup(list, n));
            bool good = add_dir(ctx, dir);

            free(dir);
            if (!good)
                return false;
        }
        list += n;
        list += *list == ':';
    }
    return true;
}

static bool add_config(struct fm_ctx *ctx)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char *dir;
    bool good;

    if (config && config[0] == '/')
        dir = join(config, "/", "foldmill");
    else if (home && home[0] == '/')
        dir = join(home, "/", ".config/foldmill");
    else
        return true;
    good = !is_folder(dir) || add_dir(ctx, dir);
    free(dir);
    return good;
}

static bool add_beside(struct fm_ctx *ctx)
{
    static const char *const places[] = {"/../share/foldmill", "/..", "/../.."};
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    char *slash;
    bool built;

    if (n <= 0)
        return true;
    exe[n] = '\0';
    slash = strrchr(exe, '/');
    if (!slash)
        return true;
    *slash = '\0';
    /* libtool leaves the program itself in .libs of the build folder. */
    slash = strrchr(exe, '/');
    built = slash && strcmp(slash, "/.libs") == 0;
    for (size_t i = 0; i < (built ? 3 : 1); i++) {
        char *dir = join(exe, places[i], "");
        bool good = !holds(dir, "formats") || !holds(dir, "queries") || add_dir(ctx, dir);

        free(dir);
        if (!good)
            return false;
    }
    return true;
}

int add_data_dirs(struct cli *cli)
{
    const char *path = getenv("FOLDMILL_PATH");

    for (size_t i = 0; i < cli->options.formats.n; i++) {
        const char *dir = cli->options.formats.word[i];

        if (!is_folder(dir))
            return say_usage(cli, "option '--formats': no folder '%s'", dir);
        if (!holds(dir, "formats") && !holds(dir, "queries"))
            return say_usage(cli, "option '--formats': '%s' holds neither formats/ nor queries/",
                             dir);
        if (!add_dir(cli->ctx, dir))
            return EXIT_NOTHING;
    }
    if (path && !add_list(cli->ctx, path))
        return EXIT_NOTHING;
    if (!add_config(cli->ctx) || !add_beside(cli->ctx))
        return EXIT_NOTHING;
    return EXIT_DONE;
}

/* A file or folder that an option names must be there: symbols that are silently missing would look
 * like a profile without names. The caches (--buildid-dir, --map-dir) may be empty or absent. */
static bool options_readable(const struct cli *cli)
{
    const struct fm_import_options *o = &cli->options.import;
    const struct {
        const char *option, *path;
    } named[] = {{"--kallsyms", o->kallsyms}, {"--vmlinux", o->vmlinux}, {"--symfs", o->symfs},
                 {"--gpu-map", o->gpu_map}};

    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
        if (named[i].path && named[i].path[0] && access(named[i].path, R_OK) != 0) {
            say("option '%s': cannot read '%s': %s", named[i].option, named[i].path,
                strerror(errno));
            return false;
        }
    return true;
}

/* What the command line names and the importer may leave out: --keep, what the output needs, and
 * the columns of --prepend, --append and --weight. Names that are no labels do no harm.
 * Allocated. */
static char *labels_to_keep(const struct options *o, const char *needs)
{
    const char *const list[] = {o->import.keep, needs, o->select.prepend, o->select.append,
                                o->select.weight};
    size_t n = 0, size = 1;
    char *keep;

    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        size += list[i] ? strlen(list[i]) + 1 : 0;
    keep = must(malloc(size));
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        size_t len = list[i] ? strlen(list[i]) : 0;

        if (len == 0)
            continue;
        if (n > 0)
            keep[n++] = ',';
        memcpy(keep + n, list[i], len);
        n += len;
    }
    keep[n] = '\0';
    return keep;
}

/* Is a word in a comma-joined list? */
static bool lists(const char *list, const char *word)
{
    const size_t len = strlen(word);

    while (list && *list) {
        size_t n = strcspn(list, ",");

        if (n == len && memcmp(list, word, n) == 0)
            return true;
        list += n + (list[n] == ',');
    }
    return false;
}

/* Lines of machine code are looked up in debug data only where something shows them. */
static bool shows_lines(const struct options *o, const char *keep)
{
    return o->export.lines || lists(o->export.names, "lines") || lists(keep, "line") ||
           lists(keep, "file");
}

/* The label that a word of --keep means, without what says that it is one. */
static const char *bare_label(const char *word)
{
    static const char *const prefix[] = {"label.", "args.", "arg."};

    for (size_t i = 0; i < sizeof(prefix) / sizeof(prefix[0]); i++)
        if (strncmp(word, prefix[i], strlen(prefix[i])) == 0)
            return word + strlen(prefix[i]);
    return word;
}

/* Says that the inputs have no label of that name, with the nearest one. */
static void say_no_label(const struct fm_store *store, const char *word)
{
    const char *name = bare_label(word), *column, *near;
    struct words columns = {0};
    size_t i = 0;

    while ((column = fm_store_column(store, i++)) && strcmp(column, name) != 0 &&
           strcmp(column, word) != 0)
        words_add(&columns, column);
    if (!column) {
        near = nearest_word(name, columns.word, columns.n);
        say("warning: option '--keep': the input has no label '%s'%s%s%s", word,
            near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    }
    free(columns.word);
}

static void check_kept(const struct cli *cli, const struct fm_store *store)
{
    const char *list = cli->options.import.keep;

    while (list && *list) {
        size_t n = strcspn(list, ",");
        char *word = must(strndup(list, n));

        if (n > 0 && strcmp(word, "all") != 0)
            say_no_label(store, word);
        free(word);
        list += n + (list[n] == ',');
    }
}

/* Sources whose times lie on no common line with those of the others. */
static void say_clocks(const struct fm_store *store)
{
    const char *key, *value;

    for (size_t i = 0; i < fm_store_sources(store); i++)
        for (size_t k = 0; fm_store_provenance(store, i, k, &key, &value); k++)
            if (strcmp(key, "clock-warning") == 0)
                say("warning: %s", value);
}

int load(struct cli *cli, const char *const *path, size_t n, const char *needs,
         struct fm_store **store)
{
    struct fm_import_options import = cli->options.import;
    struct fm_error err = {0};
    enum fm_status status;
    char *keep;
    int result;

    *store = NULL;
    if (!options_readable(cli))
        return EXIT_USAGE;
    keep = labels_to_keep(&cli->options, needs);
    import.keep = keep;
    import.lines = import.lines || shows_lines(&cli->options, keep);
    show_progress(cli->ctx);
    status = fm_import(cli->ctx, path, n, &import, store, &err);
    hide_progress();
    free(keep);
    if (!*store)
        return status == FM_OK ? EXIT_NOTHING : say_error(&err);
    result = say_findings(*store, status, &err);
    check_kept(cli, *store);
    say_clocks(*store);
    if (result == EXIT_DAMAGE && cli->options.strict) {
        say("nothing written: the input is damaged and --strict was given");
        fm_store_free(*store);
        *store = NULL;
        return EXIT_NOTHING;
    }
    return result;
}
