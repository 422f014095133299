/*
 * test_input.c - files, pipes, memory, compression, readers, lines, spools, slurp.
 */
#include "input/inner.h"
#include "pack.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAMPLE 300000
#define SHORT 30000 /* of it, through pipes in small writes */

static struct fm_ctx *ctx;
static unsigned char *sample;
static char folder[64];

static void setup(void)
{
    ctx = fm_ctx_new();
    sample = test_sample(SAMPLE);
    snprintf(folder, sizeof folder, "/tmp/foldmill-input-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
    free(sample);
    fm_ctx_free(ctx); /* asserts that nothing is held */
}

/* A file of that name in the folder; the path is good until the next call. */
static const char *write_file(const char *name, const void *data, size_t n)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, n, f), n);
    fclose(f);
    return path;
}

/* The bytes come through a pipe in writes of `piece` bytes; the reading end is standard input. */
static pid_t feed_stdin(const void *data, size_t n, size_t piece)
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

static void feed_end(pid_t pid)
{
    int status;
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    close(null);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}

/* Reads all in needs of `need` bytes, and compares with the sample; *n = how many were right. */
static enum fm_status read_through(struct fm_input *input, size_t need, size_t *n,
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

/* The input is the first `size` bytes of the sample, and is freed. */
static void check_some(struct fm_input *input, size_t need, const char *filters, size_t size)
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

static void check_all(struct fm_input *input, size_t need, const char *filters)
{
    check_some(input, need, filters, SAMPLE);
}

static const size_t needs[] = { 1, 7, 4096, 70001, SAMPLE };

START_TEST(file_gives_its_bytes)
{
    const char *path = write_file("plain", sample, SAMPLE);
    for (size_t i = 0; i < FM_COUNT(needs); i++) {
        struct fm_input *input;
        uint64_t size;
        ck_assert_int_eq(fm_input_open(ctx, path, &input, NULL), FM_OK);
        ck_assert(fm_input_size(input, &size));
        ck_assert_uint_eq(size, SAMPLE);
        ck_assert_str_eq(fm_input_path(input), path);
        check_all(input, needs[i], "");
    }
}
END_TEST

START_TEST(memory_gives_its_bytes)
{
    for (size_t i = 0; i < FM_COUNT(needs); i++) {
        struct fm_input *input;
        ck_assert_int_eq(fm_input_open_memory(ctx, sample, SAMPLE, "mem", &input, NULL), FM_OK);
        ck_assert_ptr_null(fm_input_path(input));
        check_all(input, needs[i], "");
    }
}
END_TEST

START_TEST(pipe_gives_its_bytes)
{
    static const size_t pieces[FM_COUNT(needs)] = { 4096, 1, 7, 7, 65536 };
    for (size_t i = 0; i < FM_COUNT(needs); i++) {
        struct fm_input *input;
        size_t size = pieces[i] < 8 ? SHORT : SAMPLE;
        pid_t pid = feed_stdin(sample, size, pieces[i]);
        ck_assert_int_eq(fm_input_open(ctx, "-", &input, NULL), FM_OK);
        ck_assert_ptr_null(fm_input_path(input));
        check_some(input, needs[i], "", size);
        feed_end(pid);
    }
}
END_TEST

START_TEST(compressed_gives_its_bytes)
{
    const char *kind = test_pack_kind[_i];
    size_t n;
    unsigned char *z = test_pack(kind, sample, SAMPLE, &n);
    if (z == NULL)
        return;
    for (size_t i = 0; i < FM_COUNT(needs); i++) {
        struct fm_input *input;
        ck_assert_int_eq(fm_input_open_memory(ctx, z, n, "mem", &input, NULL), FM_OK);
        check_all(input, needs[i], kind);
        ck_assert_int_eq(fm_input_open(ctx, write_file("z", z, n), &input, NULL), FM_OK);
        check_all(input, needs[i], kind);
    }
    free(z);
    z = test_pack(kind, sample, SHORT, &n);
    for (size_t piece = 1; piece < 8; piece += 6) {
        struct fm_input *input;
        pid_t pid = feed_stdin(z, n, piece);
        ck_assert_int_eq(fm_input_open(ctx, "-", &input, NULL), FM_OK);
        check_some(input, 100, kind, SHORT);
        feed_end(pid);
    }
    free(z);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("input");
    TCase *t = tcase_create("input");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, file_gives_its_bytes);
    tcase_add_test(t, memory_gives_its_bytes);
    tcase_add_test(t, pipe_gives_its_bytes);
    tcase_add_loop_test(t, compressed_gives_its_bytes, 0, PACK_KINDS);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
