/*
 * test_reader.c - lines, slurp, pieces to inflate, folders, failing memory, several readers.
 */
#include "input_help.h"
#include "util/work.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------- lines */

struct want_line {
    const char *text;
    size_t n;
    uint64_t offset;
    bool cut;
};

static void check_lines(struct fm_input *input, size_t max, const struct want_line *want, size_t n)
{
    struct fm_reader *reader;
    const char *line;
    size_t length;
    uint64_t offset;
    bool cut, end;
    ck_assert_int_eq(fm_reader_open(input, &reader, NULL), FM_OK);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(
            fm_reader_line(reader, max, &line, &length, &offset, &cut, &end, NULL), FM_OK);
        ck_assert(!end);
        ck_assert_uint_eq(length, want[i].n);
        ck_assert_int_eq(memcmp(line, want[i].text, length), 0);
        ck_assert_uint_eq(offset, want[i].offset);
        ck_assert_int_eq(cut, want[i].cut);
    }
    for (int i = 0; i < 2; i++) { /* the end stays */
        ck_assert_int_eq(
            fm_reader_line(reader, max, &line, &length, &offset, &cut, &end, NULL), FM_OK);
        ck_assert(end);
    }
    fm_reader_close(reader);
    fm_input_free(input);
}

START_TEST(lines_of_all_sorts)
{
    /* a NUL, CRLF, a lone CR, an empty line, one of exactly 8 with CRLF, two too long, no end */
    static const char text[] = "a\0b 1\ncrlf\r\nx\ry\n\n12345678\r\n123456789\r\n"
                               "this line is much too long\nlast";
    static const struct want_line want[] = {
        { "a\0b 1", 5, 0, false },     { "crlf", 4, 6, false },      { "x\ry", 3, 12, false },
        { "", 0, 16, false },          { "12345678", 8, 17, false }, { "12345678", 8, 27, true },
        { "this lin", 8, 38, true },   { "last", 4, 65, false },
    };
    size_t zn;
    unsigned char *z = test_pack("gzip", text, sizeof text - 1, &zn);
    check_lines(open_memory(text, sizeof text - 1), 8, want, FM_COUNT(want));
    check_lines(open_memory(z, zn), 8, want, FM_COUNT(want));
    for (size_t piece = 1; piece < 8; piece += 6) {
        struct fm_input *input;
        pid_t pid = feed_stdin(text, sizeof text - 1, piece);
        ck_assert_int_eq(fm_input_open(ctx, "-", &input, NULL), FM_OK);
        check_lines(input, 8, want, FM_COUNT(want));
        feed_end(pid);
    }
    check_lines(open_memory("", 0), 8, NULL, 0);
    free(z);
}
END_TEST

START_TEST(lines_over_window_borders)
{
    size_t n = (size_t)3 << 20, at = 0, length;
    unsigned char *data = test_sample(n);
    struct fm_input *input;
    struct fm_reader *reader;
    const char *line;
    uint64_t offset;
    bool cut, end;
    memset(data + 1000, 'x', 2000000); /* one line longer than the window */
    ck_assert_int_eq(fm_input_open(ctx, write_file("f", data, n), &input, NULL), FM_OK);
    ck_assert_int_eq(fm_reader_open(input, &reader, NULL), FM_OK);
    for (;;) {
        enum fm_status status =
            fm_reader_line(reader, SIZE_MAX, &line, &length, &offset, &cut, &end, NULL);
        if (status != FM_OK || cut || end)
            break;
        if (offset != at || at + length > n || memcmp(line, data + at, length) != 0 ||
            (at + length < n && data[at + length] != '\n'))
            ck_abort_msg("wrong line at %zu", at);
        at += length + 1;
    }
    ck_assert(end);
    ck_assert_uint_ge(at, n);
    fm_reader_close(reader);
    fm_input_free(input);
    free(data);
}
END_TEST

START_TEST(half_lines_are_not_lines)
{
    size_t zn, n, lines = 0;
    const char *line;
    uint64_t offset, behind = 0;
    bool cut, end;
    enum fm_status status;
    struct fm_reader *reader;
    struct fm_error err = { 0 };
    unsigned char *z = test_pack("gzip", sample, SAMPLE, &zn);
    struct fm_input *input = open_memory(z, zn / 3);
    ck_assert_int_eq(fm_reader_open(input, &reader, NULL), FM_OK);
    while ((status = fm_reader_line(reader, 100, &line, &n, &offset, &cut, &end, &err)) == FM_OK) {
        if (offset != behind || sample[offset + n] != '\n')
            ck_abort_msg("half a line at %zu", (size_t)offset);
        behind = offset + n + 1;
        lines++;
    }
    ck_assert_int_eq(status, FM_TRUNCATED);
    ck_assert_uint_gt(lines, 1000);
    ck_assert_int_eq(memcmp(line, sample + behind, n), 0);
    fm_reader_close(reader);
    fm_input_free(input);
    free(z);
}
END_TEST

/* ------------------------------------------------------- slurp and inflate */

START_TEST(slurp_takes_the_whole)
{
    char *data;
    size_t n, zn;
    struct fm_error err = { 0 };
    unsigned char *z = test_pack("gzip", sample, SAMPLE, &zn);
    for (int i = 0; i < 2; i++) {
        const char *path = i == 0 ? write_file("f", sample, SAMPLE) : write_file("f", z, zn);
        ck_assert_int_eq(fm_input_slurp(ctx, path, SAMPLE, &data, &n, NULL), FM_OK);
        ck_assert_uint_eq(n, SAMPLE);
        ck_assert_int_eq(memcmp(data, sample, n), 0);
        ck_assert_int_eq(data[n], 0);
        fm_mem_free(&ctx->mem, data, n + 1);
        ck_assert_int_eq(fm_input_slurp(ctx, path, SAMPLE - 1, &data, &n, NULL), FM_LIMIT);
        ck_assert_ptr_null(data);
    }
    ck_assert_int_eq(fm_input_slurp(ctx, write_file("e", "", 0), 10, &data, &n, NULL), FM_OK);
    ck_assert_uint_eq(n, 0);
    ck_assert_str_eq(data, "");
    fm_mem_free(&ctx->mem, data, 1);
    ck_assert_int_eq(fm_input_slurp(ctx, "/proc/self/status", 1 << 20, &data, &n, &err), FM_OK);
    ck_assert_int_eq(strncmp(data, "Name:", 5), 0); /* a file of size 0 with bytes */
    fm_mem_free(&ctx->mem, data, n + 1);
    ck_assert_int_eq(fm_input_slurp(ctx, folder, 10, &data, &n, NULL), FM_FORMAT);
    free(z);
}
END_TEST

START_TEST(inflate_takes_pieces)
{
    const char *kind = test_pack_kind[_i];
    size_t an, bn;
    unsigned char *a = test_pack(kind, sample, 50000, &an), *out = malloc(SAMPLE);
    unsigned char *b = test_pack(kind, sample + 50000, SAMPLE - 50000, &bn);
    struct fm_inflate *z;
    struct fm_error err = { 0 };
    if (a != NULL) {
        static const size_t ins[] = { 1, 13, 5000, 1000000 }, outs[] = { 1000, 1, 77777, 4096 };
        unsigned char *ab = join(a, an, b, bn);
        for (size_t i = 0; i < FM_COUNT(ins); i++) {
            size_t n = 0;
            ck_assert_int_eq(fm_inflate_new(ctx, kind, &z, NULL), FM_OK);
            for (size_t at = 0; at < an + bn; at += ins[i]) {
                const unsigned char *in = ab + at;
                size_t left = FM_MIN(ins[i], an + bn - at), got, cap;
                do {
                    cap = FM_MIN(outs[i], SAMPLE - n + 1);
                    unsigned char piece[80000];
                    if (fm_inflate_run(z, &in, &left, piece, cap, &got, &err) != FM_OK ||
                        n + got > SAMPLE)
                        ck_abort_msg("at %zu: %s", n, err.message);
                    memcpy(out + n, piece, got);
                    n += got;
                } while (left > 0 || got == cap);
            }
            ck_assert_uint_eq(n, SAMPLE);
            ck_assert_int_eq(memcmp(out, sample, n), 0);
            fm_inflate_free(z);
        }
        const unsigned char *in = (const unsigned char *)"no compressed bytes at all";
        size_t left = 26, got;
        ck_assert_int_eq(fm_inflate_new(ctx, kind, &z, NULL), FM_OK);
        ck_assert_int_eq(fm_inflate_run(z, &in, &left, out, 100, &got, &err), FM_FORMAT);
        ck_assert_int_eq(fm_inflate_run(z, &in, &left, out, 100, &got, NULL), FM_FORMAT);
        fm_inflate_free(z);
        free(ab);
    }
    ck_assert_int_eq(fm_inflate_new(ctx, "rar", &z, NULL), FM_UNSUPPORTED);
    free(a);
    free(b);
    free(out);
}
END_TEST

START_TEST(foreign_frames_are_named)
{
    static const unsigned char legacy[] = "\x02\x21\x4c\x18\x10\0\0\0abcdefghijklmnop";
    /* a zstd frame with a window of 2 GiB, and one that wants dictionary 7 */
    static const unsigned char window[] = "\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00";
    static const unsigned char dictionary[] = "\x28\xb5\x2f\xfd\x21\x07\x01\x09\x00\x00x";
    const struct {
        const unsigned char *data;
        size_t n;
        const char *says;
    } frame[] = { { legacy, sizeof legacy - 1, "legacy" },
                  { window, sizeof window - 1, "--long=31" },
                  { dictionary, sizeof dictionary - 1, "dictionary" } };
    for (size_t i = 0; i < FM_COUNT(frame); i++) {
        struct fm_error err = { 0 };
        size_t n;
        struct fm_input *input = open_memory(frame[i].data, frame[i].n);
        ck_assert_int_eq(read_through(input, 1, &n, &err), FM_UNSUPPORTED);
        if (strstr(err.message, frame[i].says) == NULL)
            ck_abort_msg("%s", err.message);
        fm_input_free(input);
    }
}
END_TEST

/* --------------------------------------------------- folders, names, memory */

START_TEST(folders_have_members)
{
    struct fm_input *input, *member;
    struct fm_reader *reader;
    const unsigned char *p;
    size_t n;
    char path[128];
    write_file("data", sample, SAMPLE);
    for (int i = 0; i < 3; i++) { /* a folder, with a slash, a file */
        snprintf(path, sizeof path, "%s%s", folder, i == 0 ? "" : i == 1 ? "/" : "/other");
        write_file("other", "x", 1);
        ck_assert_int_eq(fm_input_open(ctx, path, &input, NULL), FM_OK);
        ck_assert_int_eq(fm_input_is_dir(input), i < 2);
        ck_assert_int_eq(fm_input_open_beside(input, "data", &member, NULL), FM_OK);
        ck_assert_int_eq(strncmp(fm_input_name(member), folder, strlen(folder)), 0);
        check_all(member, 100, "");
        ck_assert_int_eq(fm_input_open_beside(input, "data.7", &member, NULL), FM_IO);
        if (i < 2) {
            struct fm_error err = { 0 };
            ck_assert_int_eq(fm_reader_open(input, &reader, &err), FM_FORMAT);
            ck_assert_str_eq(err.message, "is a directory");
            ck_assert_int_eq(fm_input_head(input, &p, &n, NULL), FM_FORMAT);
            ck_assert_int_eq(fm_input_seekable(input, NULL), FM_FORMAT);
        }
        fm_input_free(input);
    }
    input = open_memory(sample, SAMPLE);
    ck_assert_int_eq(fm_input_open_beside(input, "data", &member, NULL), FM_UNSUPPORTED);
    fm_input_free(input);
}
END_TEST

START_TEST(missing_files_say_so)
{
    struct fm_input *input;
    struct fm_error err = { 0 };
    char text[700];
    ck_assert_int_eq(fm_input_open(ctx, "/no/such/file", &input, &err), FM_IO);
    ck_assert_ptr_null(input);
    ck_assert_int_eq(err.sys_errno, ENOENT);
    fm_error_text(&err, text, sizeof text);
    ck_assert_str_eq(text, "/no/such/file: error: cannot open: No such file or directory");
}
END_TEST

START_TEST(fifos_are_pipes)
{
    char path[128];
    struct fm_input *input;
    snprintf(path, sizeof path, "%s/fifo", folder);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(path, O_WRONLY);
        _exit(write(fd, sample, SAMPLE) == SAMPLE ? 0 : 1);
    }
    ck_assert_int_eq(fm_input_open(ctx, path, &input, NULL), FM_OK);
    check_all(input, 333, "");
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

/* Opens, reads, seeks, slurps under a memory that fails from its n-th allocation on. */
static enum fm_status use_all(const char *path)
{
    struct fm_input *input = NULL;
    struct fm_reader *reader = NULL;
    const unsigned char *p;
    char *data = NULL;
    size_t n;
    enum fm_status status = fm_input_open(ctx, path, &input, NULL);
    if (status == FM_OK)
        status = read_through(input, 100000, &n, NULL);
    fm_input_free(input);
    input = NULL;
    if (status == FM_OK)
        status = fm_input_open(ctx, path, &input, NULL);
    if (status == FM_OK)
        status = fm_input_head(input, &p, &n, NULL);
    if (status == FM_OK)
        status = fm_input_seekable(input, NULL);
    if (status == FM_OK)
        status = fm_reader_open(input, &reader, NULL);
    if (status == FM_OK)
        status = fm_reader_peek(reader, SAMPLE, &p, &n, NULL);
    if (status == FM_OK)
        ck_assert(n == SAMPLE && memcmp(p, sample, n) == 0);
    fm_reader_close(reader);
    fm_input_free(input);
    if (status == FM_OK)
        status = fm_input_slurp(ctx, path, SAMPLE, &data, &n, NULL);
    if (status == FM_OK) {
        ck_assert(n == SAMPLE && memcmp(data, sample, n) == 0);
        fm_mem_free(&ctx->mem, data, n + 1);
    }
    return status;
}

START_TEST(every_allocation_may_fail)
{
    size_t n = 0, zn = SAMPLE;
    const char *kind = _i < PACK_KINDS ? test_pack_kind[_i] : "plain";
    unsigned char *z = _i < PACK_KINDS ? test_pack(kind, sample, SAMPLE, &zn)
                                       : join(sample, SAMPLE, "", 0);
    if (z == NULL)
        return;
    const char *path = write_file("f", z, zn);
    enum fm_status status;
    do {
        atomic_store(&ctx->mem.allocations, 0);
        ctx->mem.fail_at = ++n;
        status = use_all(path);
        ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
        ck_assert_msg(status == FM_OK || status == FM_NOMEM, "%s, allocation %zu: %s", kind, n,
                      fm_status_text(status));
    } while (status != FM_OK && n < 500);
    ck_assert_int_eq(status, FM_OK);
    ck_assert_uint_gt(n, 10);
    ctx->mem.fail_at = 0;
    free(z);
}
END_TEST

static struct fm_input *shared;

static void read_shared(void *user, size_t i)
{
    bool *right = user;
    size_t n;
    right[i] = read_through(shared, 1000 + i, &n, NULL) == FM_OK && n == SAMPLE;
}

START_TEST(readers_share_an_input)
{
    bool right[8] = { false };
    size_t zn;
    unsigned char *z = test_pack("gzip", sample, SAMPLE, &zn);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(fm_input_open(ctx, write_file("f", i == 0 ? sample : z,
                                                       i == 0 ? SAMPLE : zn), &shared, NULL),
                         FM_OK);
        ck_assert_int_eq(fm_input_seekable(shared, NULL), FM_OK);
        fm_work_run(4, FM_COUNT(right), read_shared, right);
        for (size_t k = 0; k < FM_COUNT(right); k++)
            ck_assert(right[k]);
        ck_assert_uint_eq(fm_input_hash(shared), fm_hash_of(sample, SAMPLE));
        fm_input_free(shared);
    }
    free(z);
}
END_TEST

static void ignore_signal(int number)
{
    (void)number;
}

START_TEST(signals_do_not_end_reads)
{
    struct sigaction action = { .sa_handler = ignore_signal }; /* no SA_RESTART */
    struct itimerval every = { { 0, 2000 }, { 0, 2000 } }, never = { { 0, 0 }, { 0, 0 } };
    struct fm_input *input;
    size_t n = 0;
    int fd[2];
    ck_assert_int_eq(pipe(fd), 0);
    pid_t pid = fork();
    if (pid == 0) {
        for (size_t at = 0; at < SHORT; at += SHORT / 10) {
            usleep(10000);
            n += (size_t)write(fd[1], sample + at, SHORT / 10);
        }
        _exit(n == SHORT ? 0 : 1);
    }
    close(fd[1]);
    ck_assert_int_ge(dup2(fd[0], STDIN_FILENO), 0);
    close(fd[0]);
    ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    ck_assert_int_eq(setitimer(ITIMER_REAL, &every, NULL), 0);
    ck_assert_int_eq(fm_input_open(ctx, "-", &input, NULL), FM_OK);
    enum fm_status status = read_through(input, 100, &n, NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    feed_end(pid);
    ck_assert_int_eq(status, FM_OK);
    ck_assert_uint_eq(n, SHORT);
    fm_input_free(input);
}
END_TEST

static bool stop_after(void *user, uint64_t done, uint64_t total)
{
    uint64_t *last = user;
    bool forward = done >= *last && done <= total;
    *last = done;
    return forward && done < 50000;
}

START_TEST(spooling_can_be_cancelled)
{
    size_t zn;
    uint64_t last = 0;
    unsigned char *z = test_pack("zstd", sample, SAMPLE, &zn);
    struct fm_input *input = open_memory(z, zn);
    ck_assert_uint_eq(fm_input_raw_size(input), zn);
    fm_ctx_set_progress(ctx, stop_after, &last);
    ck_assert_int_eq(fm_input_seekable(input, NULL), FM_CANCELLED);
    ck_assert_uint_ge(last, 50000);
    fm_input_free(input);
    free(z);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("reader");
    TCase *t = tcase_create("reader");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, lines_of_all_sorts);
    tcase_add_test(t, lines_over_window_borders);
    tcase_add_test(t, half_lines_are_not_lines);
    tcase_add_test(t, slurp_takes_the_whole);
    tcase_add_loop_test(t, inflate_takes_pieces, 0, PACK_KINDS);
    tcase_add_test(t, foreign_frames_are_named);
    tcase_add_test(t, folders_have_members);
    tcase_add_test(t, missing_files_say_so);
    tcase_add_test(t, fifos_are_pipes);
    tcase_add_loop_test(t, every_allocation_may_fail, 0, PACK_KINDS + 1);
    tcase_add_test(t, readers_share_an_input);
    tcase_add_test(t, signals_do_not_end_reads);
    tcase_add_test(t, spooling_can_be_cancelled);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
