/*
 * example.c - a program that uses nothing but foldmill.h: imports a profile from memory and from
 * files, asks a query, and exports. It is the library's example, and a test: it is built against
 * the build tree and against an installed tree, and checks what it gets.
 *
 *     example            checks the library on a profile of its own
 *     example FILE...    prints the files as folded stacks
 *
 * Build:  cc example.c $(pkg-config --cflags --libs foldmill)
 */
#include <foldmill.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sink that keeps what is written. */
struct text {
    char *data;
    size_t n;
};

static int keep(void *user, const void *data, size_t n)
{
    struct text *text = user;
    char *grown = realloc(text->data, text->n + n + 1);

    if (!grown)
        return 12; /* ENOMEM */
    memcpy(grown + text->n, data, n);
    text->data = grown;
    text->n += n;
    text->data[text->n] = '\0';
    return 0;
}

static int print(void *user, const void *data, size_t n)
{
    (void)user;
    return fwrite(data, 1, n, stdout) == n ? 0 : 5; /* EIO */
}

static bool check(bool good, const char *what, const struct fm_error *err)
{
    char text[1024];

    if (good)
        return true;
    fm_error_text(err, text, sizeof(text));
    fprintf(stderr, "example: %s: %s\n", what, text);
    return false;
}

/* The kept samples of all sources. */
static uint64_t samples(const struct fm_store *store)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < fm_store_sources(store); i++) {
        struct fm_source_info source;

        fm_store_source(store, i, &source);
        sum += source.samples_kept;
    }
    return sum;
}

/* Asks for the two functions with most self weight; the heaviest must be `leaf`, of 7 samples. */
static bool ask(struct fm_ctx *ctx, struct fm_store *store)
{
    struct fm_error err = {0};
    struct fm_query *query = NULL;
    struct fm_result *result = NULL;
    bool good = check(fm_query_load(ctx, "top-self", &query, &err) == FM_OK, "load", &err) &&
                check(fm_query_set(query, "n", "2", &err) == FM_OK, "set", &err) &&
                check(fm_query_run(ctx, query, &store, 1, NULL, &result, &err) == FM_OK, "run",
                      &err);
    bool found = false;

    for (size_t col = 0; good && col < fm_result_columns(result, 0); col++)
        if (strcmp(fm_result_column_name(result, 0, col), "function") == 0)
            found = strcmp(fm_result_cell(result, 0, 0, col), "leaf") == 0;
    if (good && !found)
        fprintf(stderr, "example: top-self does not begin with 'leaf'\n");
    fm_result_free(result);
    fm_query_free(query);
    return good && found;
}

static bool self_check(struct fm_ctx *ctx)
{
    static const char profile[] = "main;leaf 4\nmain;other 2\nmain;deep;leaf 3\n";
    static const char expected[] = "main;deep;leaf 3\nmain;leaf 4\nmain;other 2\n";
    struct fm_memory memory = {profile, sizeof(profile) - 1, "profile.folded"};
    struct fm_import_options import = FM_INIT(import);
    struct fm_error err = {0};
    struct fm_store *store = NULL;
    struct text out = {0};
    struct fm_sink sink = {keep, &out};
    bool good;

    import.format = "folded";
    good = check(fm_import_memory(ctx, &memory, &import, &store, &err) == FM_OK, "import", &err) &&
           check(fm_store_verify(store, &err) == FM_OK, "verify", &err) &&
           check(samples(store) == 9, "samples", &err) && ask(ctx, store) &&
           check(fm_export(ctx, store, "folded", NULL, NULL, &sink, &err) == FM_OK, "export",
                 &err) &&
           check(out.n > 0 && strcmp(out.data, expected) == 0, "folded text", &err);
    fm_store_free(store);
    free(out.data);
    return good;
}

static bool print_files(struct fm_ctx *ctx, const char *const *path, size_t n)
{
    struct fm_error err = {0};
    struct fm_store *store = NULL;
    struct fm_sink sink = {print, NULL};
    bool good = check(fm_import(ctx, path, n, NULL, &store, &err) == FM_OK, "import", &err);

    if (store)
        good &= check(fm_export(ctx, store, "folded", NULL, NULL, &sink, &err) == FM_OK, "export",
                      &err);
    fm_store_free(store);
    return good;
}

int main(int argc, char **argv)
{
    struct fm_ctx *ctx = fm_ctx_new();
    bool good;

    if (!ctx)
        return 1;
    if (argc > 1)
        good = print_files(ctx, (const char *const *)&argv[1], (size_t)argc - 1);
    else
        good = self_check(ctx);
    fm_ctx_free(ctx);
    return good ? 0 : 1;
}
