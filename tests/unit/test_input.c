/*
 * test_input.c - files, pipes, memory, compression, readers, lines, spools, slurp.
 */
#include "input/inner.h"
#include "pack.h"
#include "util/work.h"

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


/* ---------------------------------------------------------------- stacking */

/* a then b, in new memory. */
static unsigned char *join(const void *a, size_t an, const void *b, size_t bn)
{
    unsigned char *p = malloc(an + bn + 1);
    ck_assert_ptr_nonnull(p);
    memcpy(p, a, an);
    memcpy(p + an, b, bn);
    return p;
}

static struct fm_input *open_memory(const void *data, size_t n)
{
    struct fm_input *input;
    struct fm_error err = { 0 };
    fm_input_open_memory(ctx, data, n, "mem", &input, &err);
    ck_assert_str_eq(err.message, "");
    return input;
}

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
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
