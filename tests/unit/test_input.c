/*
 * test_input.c - files, pipes, memory and compression: the right bytes, damage, limits, spools.
 */
#include "input_help.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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


/* ---------------------------------------------------------------- stacking */

START_TEST(layers_stack)
{
    const char *kind = test_pack_kind[_i];
    size_t zn, gn, bn;
    unsigned char *z = test_pack(kind, sample, SAMPLE, &zn);
    char filters[32];
    if (z == NULL)
        return;
    unsigned char *g = test_pack("gzip", z, zn, &gn);
    snprintf(filters, sizeof filters, "gzip+%s", kind);
    check_all(open_memory(g, gn), 1000, filters);
    /* eight are read, nine are not */
    unsigned char *p = test_pack("gzip", sample, SAMPLE, &bn);
    for (int i = 2; i <= 9; i++) {
        if (i == 9)
            check_all(open_memory(p, bn), 1000,
                      "gzip+gzip+gzip+gzip+gzip+gzip+gzip+gzip");
        unsigned char *q = test_pack("gzip", p, bn, &bn);
        free(p);
        p = q;
    }
    struct fm_input *input;
    struct fm_error err = { 0 };
    ck_assert_int_eq(fm_input_open_memory(ctx, p, bn, "mem", &input, &err), FM_LIMIT);
    ck_assert_str_eq(err.message, "compressed more than 8 times over");
    free(p);
    free(g);
    free(z);
}
END_TEST

static uint64_t finding(const struct fm_input *input, enum fm_diag key, uint64_t *offset)
{
    struct fm_diags diags;
    fm_diags_init(&diags);
    fm_input_findings(input, &diags);
    if (offset != NULL)
        *offset = diags.row[key].first_offset;
    return diags.row[key].count;
}

START_TEST(members_join_and_garbage_is_a_finding)
{
    const char *kind = test_pack_kind[_i];
    size_t an, bn, n;
    uint64_t offset;
    unsigned char *a = test_pack(kind, sample, 100001, &an);
    unsigned char *b = test_pack(kind, sample + 100001, SAMPLE - 100001, &bn);
    if (a == NULL)
        return;
    unsigned char *ab = join(a, an, b, bn);
    check_all(open_memory(ab, an + bn), 999, kind);
    unsigned char *bad = join(ab, an + bn, "garbage!", 8);
    struct fm_input *input = open_memory(bad, an + bn + 8);
    ck_assert_int_eq(read_through(input, 999, &n, NULL), FM_OK);
    ck_assert_uint_eq(n, SAMPLE);
    ck_assert_uint_eq(finding(input, FM_DIAG_TRAILING, &offset), 1);
    ck_assert_uint_eq(offset, an + bn);
    ck_assert_uint_eq(finding(input, FM_DIAG_INFLATE, NULL), 0);
    fm_input_free(input);
    free(bad);
    /* zeros behind or between: padding for gzip, and for xz in fours */
    if (strcmp(kind, "gzip") == 0 || strcmp(kind, "xz") == 0) {
        unsigned char *az = join(a, an, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
        unsigned char *azb = join(az, an + 16, b, bn);
        unsigned char *azbz = join(azb, an + 16 + bn, "\0\0\0\0", 4);
        input = open_memory(azbz, an + bn + 20);
        ck_assert_int_eq(read_through(input, 999, &n, NULL), FM_OK);
        ck_assert_uint_eq(n, SAMPLE);
        ck_assert_uint_eq(finding(input, FM_DIAG_TRAILING, NULL), 0);
        fm_input_free(input);
        free(az);
        free(azb);
        free(azbz);
    }
    free(ab);
    free(a);
    free(b);
}
END_TEST

START_TEST(skippable_frames_are_passed)
{
    static const unsigned char frame[12] = { 0x51, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4 };
    for (int i = 1; i < 4; i += 2) {
        size_t zn;
        unsigned char *z = test_pack(test_pack_kind[i], sample, SAMPLE, &zn);
        if (z == NULL)
            continue;
        unsigned char *p = join(frame, 12, z, zn);
        check_all(open_memory(p, zn + 12), 99, test_pack_kind[i]);
        pid_t pid = feed_stdin(p, zn + 12, 5000);
        struct fm_input *input;
        ck_assert_int_eq(fm_input_open(ctx, "-", &input, NULL), FM_OK);
        check_all(input, 99, test_pack_kind[i]);
        feed_end(pid);
        free(p);
        free(z);
    }
}
END_TEST

/* ------------------------------------------------------------------ damage */

/* How many bytes `kind` must still give of its first `cut` of `n` bytes: all of those blocks that
 * are complete, by a generous count (the slowest kind, bzip2, has blocks of 100 kB). */
static bool enough(const char *kind, size_t cut, size_t n, size_t got)
{
    size_t share = (size_t)((double)SAMPLE * (double)cut / (double)n);
    size_t block = strcmp(kind, "bzip2") == 0 ? 110000 : 70000;
    return got + block >= share;
}

START_TEST(cut_gives_what_came_before)
{
    const char *kind = test_pack_kind[_i];
    size_t zn;
    unsigned char *z = test_pack(kind, sample, SAMPLE, &zn);
    if (z == NULL)
        return;
    for (size_t i = 0; i <= 40; i++) {
        size_t cut = i < 8 ? i + 11 : i > 32 ? zn - 41 + i : zn * i / 40, n;
        struct fm_error err = { 0 };
        struct fm_input *input = open_memory(z, cut);
        ck_assert_str_eq(fm_input_filters(input), kind);
        enum fm_status status = read_through(input, 100, &n, &err);
        ck_assert_int_eq(status, FM_TRUNCATED);
        ck_assert_int_eq(err.status, FM_TRUNCATED);
        ck_assert_ptr_nonnull(strstr(err.message, "is cut"));
        ck_assert_str_eq(err.source, "mem");
        ck_assert_uint_eq(err.offset, cut);
        ck_assert(enough(kind, cut, zn, n));
        ck_assert_uint_eq(finding(input, FM_DIAG_INFLATE, NULL), 1);
        ck_assert_int_eq(fm_input_damage(input, NULL), FM_TRUNCATED);
        fm_input_free(input);
    }
    free(z);
}
END_TEST

START_TEST(broken_gives_what_came_before)
{
    const char *kind = test_pack_kind[_i];
    size_t zn;
    unsigned char *z = test_pack(kind, sample, SAMPLE, &zn);
    if (z == NULL)
        return;
    for (size_t at = zn / 2; at < zn - 16; at += zn / 20) {
        unsigned char was[16];
        size_t n;
        struct fm_error err = { 0 };
        memcpy(was, z + at, 16);
        memset(z + at, 0xff, 16);
        struct fm_input *input = open_memory(z, zn);
        struct fm_reader *reader;
        ck_assert_int_eq(fm_reader_open(input, &reader, NULL), FM_OK);
        const unsigned char *p;
        size_t have;
        enum fm_status status;
        n = 0;
        while ((status = fm_reader_peek(reader, 1, &p, &have, &err)) == FM_OK && have > 0) {
            /* up to the fault the bytes are right; near it there may be wrong ones */
            size_t same = 0;
            while (same < have && n + same < SAMPLE && p[same] == sample[n + same])
                same++;
            ck_assert(same == have || enough(kind, at, zn, n + same));
            fm_reader_consume(reader, have);
            n += have;
        }
        ck_assert(status == FM_FORMAT || status == FM_TRUNCATED || status == FM_UNSUPPORTED);
        ck_assert(enough(kind, at, zn, n));
        ck_assert_int_eq(fm_reader_peek(reader, 1, &p, &have, NULL), status); /* sticky */
        ck_assert_uint_gt(err.offset, 0);
        ck_assert_uint_le(err.offset, zn);
        fm_reader_close(reader);
        fm_input_free(input);
        memcpy(z + at, was, 16);
    }
    free(z);
}
END_TEST

START_TEST(damage_stays_behind_a_spool)
{
    size_t zn, got, have;
    uint64_t size;
    unsigned char buf[64];
    const unsigned char *p;
    struct fm_error err = { 0 };
    unsigned char *z = test_pack("gzip", sample, SAMPLE, &zn);
    struct fm_input *input = open_memory(z, zn / 2);
    ck_assert_int_eq(fm_input_seekable(input, &err), FM_OK);
    ck_assert(fm_input_size(input, &size));
    ck_assert(size > SAMPLE / 3 && size < SAMPLE);
    struct fm_reader *reader;
    ck_assert_int_eq(fm_reader_open(input, &reader, NULL), FM_OK);
    ck_assert_int_eq(fm_reader_seek(reader, size - 5, NULL), FM_OK);
    ck_assert_int_eq(fm_reader_peek(reader, 5, &p, &have, &err), FM_OK);
    ck_assert_int_eq(memcmp(p, sample + size - 5, 5), 0);
    ck_assert_int_eq(fm_reader_peek(reader, 6, &p, &have, &err), FM_TRUNCATED);
    ck_assert_uint_eq(have, 5);
    ck_assert_uint_eq(err.offset, zn / 2);
    ck_assert_int_eq(fm_input_read_at(input, size - 5, buf, 9, &got, NULL), FM_TRUNCATED);
    ck_assert_uint_eq(got, 5);
    ck_assert_int_eq(fm_input_damage(input, NULL), FM_TRUNCATED);
    fm_reader_close(reader);
    fm_input_free(input);
    free(z);
}
END_TEST

START_TEST(limit_is_kept)
{
    const char *kind = test_pack_kind[_i];
    size_t zn, n;
    struct fm_error err = { 0 };
    unsigned char *z = test_pack(kind, sample, SAMPLE, &zn);
    if (z == NULL)
        return;
    fm_ctx_set_cap(ctx, FM_CAP_INFLATED, 123456);
    struct fm_input *input = open_memory(z, zn);
    ck_assert_int_eq(read_through(input, 1000, &n, &err), FM_LIMIT);
    ck_assert_uint_eq(n, 123456);
    ck_assert_ptr_nonnull(strstr(err.message, "more than the limit of 123456 bytes"));
    ck_assert_uint_eq(finding(input, FM_DIAG_INFLATE_LIMIT, NULL), 1);
    fm_input_free(input);
    fm_ctx_set_cap(ctx, FM_CAP_INFLATED, SAMPLE); /* exactly as much is not more */
    check_all(open_memory(z, zn), 1000, kind);
    /* a spooled pipe as well */
    fm_ctx_set_cap(ctx, FM_CAP_INFLATED, 5000);
    pid_t pid = feed_stdin(sample, SHORT, 4096);
    uint64_t size;
    ck_assert_int_eq(fm_input_open(ctx, "-", &input, NULL), FM_OK);
    ck_assert_int_eq(fm_input_seekable(input, NULL), FM_OK);
    ck_assert(fm_input_size(input, &size));
    ck_assert_uint_eq(size, 5000);
    ck_assert_int_eq(fm_input_damage(input, NULL), FM_LIMIT);
    fm_input_free(input);
    feed_end(pid);
    free(z);
}
END_TEST

START_TEST(huge_needs_take_little)
{
    const unsigned char *p;
    size_t n, zn;
    unsigned char *z = test_pack("gzip", sample, SAMPLE, &zn);
    for (int i = 0; i < 3; i++) {
        struct fm_input *input;
        struct fm_reader *reader;
        pid_t pid = 0;
        if (i == 0) {
            ck_assert_int_eq(fm_input_open(ctx, write_file("f", sample, SAMPLE), &input, NULL),
                             FM_OK);
        } else if (i == 1) {
            pid = feed_stdin(sample, SAMPLE, 65536);
            ck_assert_int_eq(fm_input_open(ctx, "-", &input, NULL), FM_OK);
        } else {
            input = open_memory(z, zn);
        }
        ck_assert_int_eq(fm_reader_open(input, &reader, NULL), FM_OK);
        ck_assert_int_eq(fm_reader_peek(reader, SIZE_MAX, &p, &n, NULL), FM_OK);
        ck_assert_uint_eq(n, SAMPLE);
        ck_assert_int_eq(memcmp(p, sample, n), 0);
        ck_assert_uint_le(atomic_load(&ctx->mem.peak), (size_t)2 << 20);
        fm_reader_close(reader);
        fm_input_free(input);
        if (pid != 0)
            feed_end(pid);
    }
    free(z);
}
END_TEST

START_TEST(need_larger_than_the_window)
{
    size_t big = (size_t)5 << 20, n;
    const unsigned char *p;
    unsigned char *data = test_sample(big);
    for (int i = 0; i < 2; i++) {
        struct fm_input *input;
        struct fm_reader *reader;
        pid_t pid = 0;
        if (i == 0) {
            ck_assert_int_eq(fm_input_open(ctx, write_file("f", data, big), &input, NULL), FM_OK);
        } else {
            pid = feed_stdin(data, big, 65536);
            ck_assert_int_eq(fm_input_open(ctx, "-", &input, NULL), FM_OK);
        }
        ck_assert_int_eq(fm_reader_open(input, &reader, NULL), FM_OK);
        ck_assert_int_eq(fm_reader_peek(reader, 3, &p, &n, NULL), FM_OK);
        fm_reader_consume(reader, 3);
        for (size_t need = 1000; need <= big - 3; need = need * 3 + 1) {
            ck_assert_int_eq(fm_reader_peek(reader, need, &p, &n, NULL), FM_OK);
            ck_assert_uint_ge(n, need);
            ck_assert_int_eq(memcmp(p, data + 3, need), 0);
        }
        ck_assert_int_eq(fm_reader_peek(reader, big, &p, &n, NULL), FM_OK);
        ck_assert_uint_eq(n, big - 3);
        ck_assert_int_eq(memcmp(p, data + 3, n), 0);
        fm_reader_close(reader);
        fm_input_free(input);
        if (pid != 0)
            feed_end(pid);
    }
    free(data);
}
END_TEST

START_TEST(files_may_grow_and_shrink)
{
    const char *path = write_file("f", sample, 1000);
    const unsigned char *p;
    size_t n;
    struct fm_input *input;
    struct fm_reader *reader;
    ck_assert_int_eq(fm_input_open(ctx, path, &input, NULL), FM_OK);
    ck_assert_int_eq(fm_reader_open(input, &reader, NULL), FM_OK);
    write_file("f", sample, 3000);
    ck_assert_int_eq(fm_reader_peek(reader, 3001, &p, &n, NULL), FM_OK);
    ck_assert_uint_eq(n, 3000);
    ck_assert_int_eq(memcmp(p, sample, 3000), 0);
    ck_assert_int_eq(truncate(path, 500), 0);
    ck_assert_int_eq(fm_reader_seek(reader, 100000, NULL), FM_OK);
    ck_assert_int_eq(fm_reader_peek(reader, 1, &p, &n, NULL), FM_OK);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(fm_reader_seek(reader, 400, NULL), FM_OK);
    ck_assert_int_eq(fm_reader_peek(reader, 200, &p, &n, NULL), FM_OK);
    ck_assert_uint_eq(n, 100);
    fm_reader_close(reader);
    fm_input_free(input);
}
END_TEST

/* -------------------------------------------------------- seeking, spools */

static void check_seeks(struct fm_input *input)
{
    struct fm_reader *reader[2];
    uint64_t size, skipped;
    uint32_t x = 1;
    ck_assert_int_eq(fm_input_seekable(input, NULL), FM_OK);
    ck_assert(fm_input_size(input, &size));
    ck_assert_uint_eq(size, SAMPLE);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(fm_reader_open(input, &reader[i], NULL), FM_OK);
    for (int i = 0; i < 300; i++) {
        const unsigned char *p;
        unsigned char buf[300];
        size_t n, want, got;
        struct fm_reader *r = reader[i & 1];
        x = x * 1664525 + 1013904223;
        uint64_t at = (x >> 8) % (SAMPLE + 100);
        want = at < SAMPLE ? FM_MIN((size_t)(SAMPLE - at), sizeof buf) : 0;
        ck_assert_int_eq(fm_reader_seek(r, at, NULL), FM_OK);
        ck_assert_uint_eq(fm_reader_offset(r), at);
        ck_assert_int_eq(fm_reader_peek(r, want, &p, &n, NULL), FM_OK);
        ck_assert_uint_ge(n, want);
        ck_assert_int_eq(memcmp(p, sample + FM_MIN(at, SAMPLE), want), 0);
        ck_assert_int_eq(fm_input_read_at(input, at, buf, sizeof buf, &got, NULL), FM_OK);
        ck_assert_uint_eq(got, want);
        ck_assert_int_eq(memcmp(buf, sample + FM_MIN(at, SAMPLE), got), 0);
        uint64_t jump = (x >> 4) % SAMPLE, left = at < SAMPLE ? SAMPLE - at : 0;
        ck_assert_int_eq(fm_reader_skip(r, jump, &skipped, NULL), FM_OK);
        ck_assert_uint_eq(skipped, FM_MIN(jump, left));
        ck_assert_uint_eq(fm_reader_offset(r), at + skipped);
    }
    fm_reader_close(reader[0]);
    fm_reader_close(reader[1]);
    fm_input_free(input);
}

START_TEST(seekable_inputs_seek)
{
    size_t zn;
    struct fm_input *input;
    unsigned char *z = test_pack("zstd", sample, SAMPLE, &zn);
    check_seeks(open_memory(sample, SAMPLE));
    check_seeks(open_memory(z, zn));
    ck_assert_int_eq(fm_input_open(ctx, write_file("f", sample, SAMPLE), &input, NULL), FM_OK);
    check_seeks(input);
    pid_t pid = feed_stdin(sample, SAMPLE, 1000);
    ck_assert_int_eq(fm_input_open(ctx, "-", &input, NULL), FM_OK);
    check_seeks(input);
    feed_end(pid);
    /* standard input that is a file, from where it stands */
    unsigned char *q = join("12345", 5, sample, SAMPLE);
    int fd = open(write_file("g", q, SAMPLE + 5), O_RDONLY);
    ck_assert_int_ge(dup2(fd, STDIN_FILENO), 0);
    close(fd);
    ck_assert_int_eq(lseek(STDIN_FILENO, 5, SEEK_SET), 5);
    ck_assert_int_eq(fm_input_open(ctx, "-", &input, NULL), FM_OK);
    check_seeks(input);
    free(q);
    free(z);
}
END_TEST

START_TEST(large_spools_go_to_a_file)
{
    size_t big = FM_SPOOL_MEMORY + 12345, zn, got;
    unsigned char *data = test_sample(big), buf[100];
    unsigned char *z = test_pack("zstd", data, big, &zn);
    uint64_t size;
    struct fm_error err = { 0 };
    ck_assert_int_eq(setenv("TMPDIR", "/nowhere/at/all", 1), 0);
    struct fm_input *input = open_memory(z, zn);
    ck_assert_int_eq(fm_input_seekable(input, &err), FM_IO);
    ck_assert_str_eq(err.source, "/nowhere/at/all");
    fm_input_free(input);
    ck_assert_int_eq(setenv("TMPDIR", folder, 1), 0);
    input = open_memory(z, zn);
    ck_assert_int_eq(fm_input_seekable(input, NULL), FM_OK);
    ck_assert_int_eq(input->kind, FM_INPUT_FILE);
    ck_assert(fm_input_size(input, &size));
    ck_assert_uint_eq(size, big);
    for (uint64_t at = 0; at < big; at += big / 50) {
        ck_assert_int_eq(fm_input_read_at(input, at, buf, sizeof buf, &got, NULL), FM_OK);
        ck_assert_int_eq(memcmp(buf, data + at, got), 0);
    }
    ck_assert_int_eq(rmdir(folder), 0); /* no name was left in it */
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    fm_input_free(input);
    unsetenv("TMPDIR");
    free(z);
    free(data);
}
END_TEST

START_TEST(streams_are_read_once)
{
    size_t zn, n;
    const unsigned char *p;
    struct fm_reader *reader, *second;
    struct fm_error err = { 0 };
    unsigned char *z = test_pack("gzip", sample, SAMPLE, &zn);
    struct fm_input *input = open_memory(z, zn);
    ck_assert_int_eq(fm_input_head(input, &p, &n, NULL), FM_OK);
    ck_assert_uint_eq(n, FM_INPUT_HEAD);
    ck_assert_int_eq(memcmp(p, sample, n), 0);
    ck_assert_int_eq(fm_reader_open(input, &reader, NULL), FM_OK);
    ck_assert_int_eq(fm_reader_seek(reader, 0, &err), FM_UNSUPPORTED);
    ck_assert_int_eq(fm_reader_open(input, &second, NULL), FM_UNSUPPORTED);
    ck_assert_int_eq(fm_reader_peek(reader, 1, &p, &n, NULL), FM_OK);
    fm_reader_close(reader);
    check_all(input, 10, "gzip"); /* nothing was consumed */
    input = open_memory(z, zn);
    ck_assert_int_eq(fm_reader_open(input, &reader, NULL), FM_OK);
    uint64_t skipped;
    ck_assert_int_eq(fm_reader_skip(reader, 100000, &skipped, NULL), FM_OK);
    ck_assert_uint_eq(skipped, 100000);
    ck_assert_int_eq(fm_reader_peek(reader, 100, &p, &n, NULL), FM_OK);
    ck_assert_int_eq(memcmp(p, sample + 100000, 100), 0);
    fm_reader_close(reader);
    ck_assert_int_eq(fm_input_seekable(input, NULL), FM_UNSUPPORTED);
    fm_input_free(input);
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
    tcase_add_loop_test(t, layers_stack, 0, PACK_KINDS);
    tcase_add_loop_test(t, members_join_and_garbage_is_a_finding, 0, PACK_KINDS);
    tcase_add_test(t, skippable_frames_are_passed);
    tcase_add_loop_test(t, cut_gives_what_came_before, 0, PACK_KINDS);
    tcase_add_loop_test(t, broken_gives_what_came_before, 0, PACK_KINDS);
    tcase_add_test(t, damage_stays_behind_a_spool);
    tcase_add_loop_test(t, limit_is_kept, 0, PACK_KINDS);
    tcase_add_test(t, huge_needs_take_little);
    tcase_add_test(t, need_larger_than_the_window);
    tcase_add_test(t, files_may_grow_and_shrink);
    tcase_add_test(t, seekable_inputs_seek);
    tcase_add_test(t, large_spools_go_to_a_file);
    tcase_add_test(t, streams_are_read_once);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
