/*
 * chrome.c - how fast a Chrome trace becomes a store: MB/s, events/s, peak memory, all in CPU time.
 *
 *     tests/bench/chrome FILE...     one line a file; - for standard input
 *
 * Each file is read in a process of its own, so that its peak memory is its own. In the same
 * process the decoded bytes are then read again and looked through by memchr: the ratio says how
 * far from the speed of memory the import is. Not run by make check; tests/bench/chrome.sh makes
 * files and has the peers.
 */
#include "import/import.h"
#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static double peak_mib(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024;
}

static uint64_t events_of(const struct fm_store *store)
{
    uint64_t n = 0;
    for (size_t i = 0; i < fm_store_accounts(store); i++) {
        struct fm_account_info a;
        fm_store_account(store, i, &a);
        if (a.kind == FM_ACCOUNT_RECORDS)
            n += a.count;
    }
    return n;
}

/* Seconds to look at each byte of the input once through the reader's window. */
static double look_seconds(struct fm_ctx *ctx, const char *path)
{
    struct fm_input *input = NULL;
    struct fm_reader *reader = NULL;
    const unsigned char *data;
    size_t n, found = 0;
    double from = cpu_seconds();
    if (fm_input_open(ctx, path, &input, NULL) != FM_OK ||
        fm_reader_open(input, &reader, NULL) != FM_OK)
        return 0;
    while (fm_reader_peek(reader, 1, &data, &n, NULL) == FM_OK && n > 0) {
        found += memchr(data, 1, n) != NULL;
        fm_reader_consume(reader, n);
    }
    fm_reader_close(reader);
    fm_input_free(input);
    return found == SIZE_MAX ? 0 : cpu_seconds() - from;
}

static int measure(const char *path)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_store *store = NULL;
    struct fm_source_info source;
    struct fm_error err;
    char text[800];
    double from = cpu_seconds(), took, looked = 0, peak;
    uint64_t events;

    if (ctx == NULL)
        return 1;
    fm_error_clear(&err);
    options.no_symbols = true;
    fm_import(ctx, &path, 1, &options, &store, &err);
    took = cpu_seconds() - from;
    if (store == NULL) {
        fm_error_text(&err, text, sizeof text);
        fprintf(stderr, "%s\n", text);
        fm_ctx_free(ctx);
        return 1;
    }
    peak = peak_mib();
    fm_store_source(store, 0, &source);
    events = events_of(store);
    if (strcmp(path, "-") != 0)
        looked = look_seconds(ctx, path);
    printf("%-32s %8.1f MB %9" PRIu64 " events  cpu %7.3f s  %7.1f MB/s  %6.2f M events/s  peak "
           "%7.1f MiB (%.1f B an event)  %.1f times memchr\n",
           path, (double)source.bytes / 1e6, events, took, (double)source.bytes / 1e6 / took,
           (double)events / 1e6 / took, peak, peak * 1048576 / (double)events,
           looked > 0 ? took / looked : 0.0);
    fm_store_free(store);
    fm_ctx_free(ctx);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0, status;
    for (int i = 1; i < argc; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            status = measure(argv[i]);
            fflush(stdout);
            _exit(status);
        }
        failed |= pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
    }
    return failed;
}
