/*
 * input_help.c - what the tests of src/input/ share.
 */
#include "input_help.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct fm_ctx *ctx;
unsigned char *sample;
char folder[64];

void setup(void)
{
    ctx = fm_ctx_new();
    sample = test_sample(SAMPLE);
    snprintf(folder, sizeof folder, "/tmp/foldmill-input-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

void teardown(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
    free(sample);
    fm_ctx_free(ctx); /* asserts that nothing is held */
}

const char *write_file(const char *name, const void *data, size_t n)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, n, f), n);
    fclose(f);
    return path;
}

pid_t feed_stdin(const void *data, size_t n, size_t piece)
{
    int fd[2];
    ck_assert_int_eq(pipe(fd), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        signal(SIGPIPE, SIG_DFL);
        close(fd[0]);
        for (size_t at = 0; at < n;) {
            ssize_t r = write(fd[1], (const char *)data + at, n - at < piece ? n - at : piece);
            if (r < 0)
                _exit(1);
            at += (size_t)r;
        }
        _exit(0);
    }
    close(fd[1]);
    ck_assert_int_ge(dup2(fd[0], STDIN_FILENO), 0);
    close(fd[0]);
    return pid;
}

void feed_end(pid_t pid)
{
    int status;
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    close(null);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}

enum fm_status read_through(struct fm_input *input, size_t need, size_t *n,
                                   struct fm_error *err)
{
    struct fm_reader *reader;
    enum fm_status status = fm_reader_open(input, &reader, err);
    *n = 0;
    if (status != FM_OK)
        return status;
    for (;;) {
        const unsigned char *p;
        size_t have;
        status = fm_reader_peek(reader, need, &p, &have, err);
        if (have == 0)
            break;
        size_t take = have < need ? have : need;
        /* Check writes at every assertion: too slow for a loop over bytes. */
        if (fm_reader_offset(reader) != *n || *n + take > SAMPLE ||
            memcmp(p, sample + *n, take) != 0)
            ck_abort_msg("wrong bytes at %zu", *n);
        fm_reader_consume(reader, take);
        *n += take;
    }
    fm_reader_close(reader);
    return status;
}

void check_some(struct fm_input *input, size_t need, const char *filters, size_t size)
{
    struct fm_error err = { 0 };
    size_t n;
    ck_assert_str_eq(fm_input_filters(input), filters);
    ck_assert_int_eq(read_through(input, need, &n, &err), FM_OK);
    ck_assert_uint_eq(n, size);
    ck_assert_uint_eq(fm_input_hash(input), fm_hash_of(sample, size));
    ck_assert_int_eq(fm_input_damage(input, NULL), FM_OK);
    fm_input_free(input);
}

void check_all(struct fm_input *input, size_t need, const char *filters)
{
    check_some(input, need, filters, SAMPLE);
}

unsigned char *join(const void *a, size_t an, const void *b, size_t bn)
{
    unsigned char *p = malloc(an + bn + 1);
    ck_assert_ptr_nonnull(p);
    memcpy(p, a, an);
    memcpy(p + an, b, bn);
    return p;
}

struct fm_input *open_memory(const void *data, size_t n)
{
    struct fm_input *input;
    struct fm_error err = { 0 };
    fm_input_open_memory(ctx, data, n, "mem", &input, &err);
    ck_assert_str_eq(err.message, "");
    return input;
}
