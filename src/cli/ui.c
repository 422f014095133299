/*
 * ui.c - what the user sees beside the result: messages, findings, progress; signals.
 *
 * Messages are one line each on standard error. What concerns an input begins with its name and
 * byte offset ("a.data: offset 4096: ..."), everything else with "foldmill: ".
 */
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void say(const char *fmt, ...)
{
    va_list ap;

    hide_progress();
    fputs("foldmill: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

int say_usage(const struct cli *cli, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    say("%s; see 'foldmill %s --help'", text, cli->command->name);
    return EXIT_USAGE;
}

void *must(void *p)
{
    if (!p) {
        say("out of memory");
        exit(EXIT_NOTHING);
    }
    return p;
}

char *join(const char *a, const char *b, const char *c)
{
    size_t n = strlen(a), m = strlen(b), k = strlen(c);
    char *s = must(malloc(n + m + k + 1));

    memcpy(s, a, n);
    memcpy(s + n, b, m);
    memcpy(s + n + m, c, k + 1);
    return s;
}

/* ------------------------------------------------------------ exit statuses */

int exit_worse(int a, int b)
{
    static const int order[] = {EXIT_USAGE, EXIT_INTERRUPTED, EXIT_NOTHING, EXIT_GATE, EXIT_DAMAGE};

    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        if (a == order[i] || b == order[i])
            return order[i];
    return EXIT_DONE;
}

int status_exit(enum fm_status status)
{
    switch (status) {
    case FM_OK:
        return EXIT_DONE;
    case FM_CONFIG:
        return EXIT_USAGE;
    case FM_CANCELLED:
        return EXIT_INTERRUPTED;
    case FM_GATE:
        return EXIT_GATE;
    default:
        return EXIT_NOTHING;
    }
}

/* ------------------------------------------------------ errors and findings */

static void print_error(const struct fm_error *err)
{
    char text[1024];

    if (!err->source[0]) {
        say("%s", err->message);
        return;
    }
    fm_error_text(err, text, sizeof(text));
    hide_progress();
    fprintf(stderr, "%s\n", text);
}

int say_error(const struct fm_error *err)
{
    if (err->status == FM_IO && err->sys_errno == EPIPE)
        return EXIT_DONE;
    print_error(err);
    return status_exit(err->status);
}

int say_write_error(const struct fm_error *err, const char *path)
{
    if (err->status != FM_IO || err->sys_errno == EPIPE || err->sys_errno == 0)
        return say_error(err);
    if (path && strcmp(path, "-") != 0)
        say("cannot write '%s': %s", path, strerror(err->sys_errno));
    else
        say("cannot write to standard output: %s", strerror(err->sys_errno));
    return EXIT_NOTHING;
}

/* True when the account row is what `err` has told already. */
static bool same_finding(const struct fm_account_info *row, const struct fm_source_info *source,
                         const struct fm_error *err)
{
    /* A long name stands there as "..." and its tail. */
    const char *tail = err->source + (strncmp(err->source, "...", 3) == 0 ? 3 : 0);
    size_t n = strlen(tail), m = strlen(source->name);

    return err->status != FM_OK && row->first_offset == err->offset && m >= n &&
           strcmp(source->name + m - n, tail) == 0;
}

/* The damage of source `s`, a line each; returns whether there was any. */
static bool say_damage(const struct fm_store *store, size_t s, const struct fm_error *err)
{
    struct fm_source_info source;
    bool any = false;

    fm_store_source(store, s, &source);
    for (size_t i = 0; i < fm_store_accounts(store); i++) {
        struct fm_account_info row;

        fm_store_account(store, i, &row);
        if (row.source != s || row.severity != FM_DAMAGE || row.kind != FM_ACCOUNT_FINDING)
            continue;
        any = true;
        if (same_finding(&row, &source, err))
            continue;
        hide_progress();
        fprintf(stderr, "%s: ", source.name);
        if (row.first_offset != FM_NO_OFFSET)
            fprintf(stderr, "offset %" PRIu64 ": ", row.first_offset);
        fputs(row.text, stderr);
        if (row.count > 1)
            fprintf(stderr, " (%" PRIu64 " times)", row.count);
        fputc('\n', stderr);
    }
    return any;
}

/* What source `s` lost, in one line. */
static void say_losses(const struct fm_store *store, size_t s)
{
    struct fm_source_info source;
    const char *separator = ": ";
    bool any = false;

    fm_store_source(store, s, &source);
    for (size_t i = 0; i < fm_store_accounts(store); i++) {
        struct fm_account_info row;

        fm_store_account(store, i, &row);
        if (row.source != s || row.severity != FM_LOSS || row.kind != FM_ACCOUNT_FINDING)
            continue;
        if (!any) {
            hide_progress();
            fprintf(stderr, "%s", source.name);
        }
        any = true;
        fprintf(stderr, "%s%s (%" PRIu64 ")", separator, row.text, row.count);
        separator = "; ";
    }
    if (any)
        fputc('\n', stderr);
}

int say_findings(const struct fm_store *store, enum fm_status status, const struct fm_error *err)
{
    int result = EXIT_DONE;

    if (status != FM_OK) {
        print_error(err);
        result = EXIT_DAMAGE;
    }
    for (size_t s = 0; s < fm_store_sources(store); s++) {
        if (say_damage(store, s, err))
            result = EXIT_DAMAGE;
        say_losses(store, s);
    }
    return result;
}

/* ---------------------------------------------------------------- progress */

/* Percentage on the terminal's last line; -1 = nothing stands there. */
static int shown = -1;

static bool progress(void *user, uint64_t done, uint64_t total)
{
    int percent = total ? (int)((double)done / (double)total * 100) : 0;

    (void)user;
    if (total && percent != shown && percent <= 100) {
        fprintf(stderr, "\rreading %3d %%", percent);
        shown = percent;
    }
    return true;
}

void show_progress(struct fm_ctx *ctx)
{
    const char *term = getenv("TERM");

    if (isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0)
        fm_ctx_set_progress(ctx, progress, NULL);
}

void hide_progress(void)
{
    if (shown >= 0)
        fputs("\r\033[K", stderr);
    shown = -1;
}

