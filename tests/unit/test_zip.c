/*
 * test_zip.c - zip archives as inputs: which member, its bytes, damage. The archives are built here
 * by hand, so that every field can be wrong.
 */
#include "input_help.h"

#include <stdlib.h>
#include <unistd.h>
#define ZLIB_CONST
#include <zlib.h>

enum { STORED = 0, DEFLATED = 8 };
enum { DESCRIBED = 8 };

/* An archive that is being built. */
struct archive {
    unsigned char *data, *dir;
    size_t n, dir_n;
    unsigned entries;
    bool wide;          /* zip64 everywhere */
    bool marked;        /* descriptors with a signature */
};

static void archive_begin(struct archive *a, bool wide, bool marked)
{
    memset(a, 0, sizeof *a);
    a->data = malloc(4u << 20);
    a->dir = malloc(1u << 20);
    a->wide = wide;
    a->marked = marked;
}

static void archive_free(struct archive *a)
{
    free(a->data);
    free(a->dir);
}

static void put(unsigned char *to, size_t *n, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[(*n)++] = (unsigned char)(v >> (8 * i));
}

static void put_bytes(unsigned char *to, size_t *n, const void *p, size_t len)
{
    if (len > 0)
        memcpy(to + *n, p, len);
    *n += len;
}

static size_t deflate_raw(const void *data, size_t n, unsigned char *out, size_t cap)
{
    z_stream z = {0};
    ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = data;
    z.avail_in = (unsigned)n;
    z.next_out = out;
    z.avail_out = (unsigned)cap;
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    n = cap - z.avail_out;
    deflateEnd(&z);
    return n;
}

static void add_flags(struct archive *a, const char *name, const void *data, size_t size,
                      unsigned method, unsigned flags)
{
    uint64_t at = a->n;
    unsigned char *packed = malloc(size + 1000);
    size_t n = size, name_n = strlen(name);
    bool later = flags & DESCRIBED;
    uint32_t crc = (uint32_t)crc32_z(0, data, size);
    if (method == DEFLATED)
        n = deflate_raw(data, size, packed, size + 1000);
    else
        put_bytes(packed, &(size_t){0}, data, size);
    put(a->data, &a->n, 0x04034b50, 4);
    put(a->data, &a->n, 45, 2);
    put(a->data, &a->n, flags, 2);
    put(a->data, &a->n, method, 2);
    put(a->data, &a->n, 0, 4);
    put(a->data, &a->n, later ? 0 : crc, 4);
    put(a->data, &a->n, a->wide ? UINT32_MAX : later ? 0 : n, 4);
    put(a->data, &a->n, a->wide ? UINT32_MAX : later ? 0 : size, 4);
    put(a->data, &a->n, name_n, 2);
    put(a->data, &a->n, a->wide ? 26 : 0, 2);
    put_bytes(a->data, &a->n, name, name_n);
    if (a->wide) { /* an unknown field first */
        put(a->data, &a->n, 0x5455, 2);
        put(a->data, &a->n, 2, 2);
        put(a->data, &a->n, 0, 2);
        put(a->data, &a->n, 1, 2);
        put(a->data, &a->n, 16, 2);
        put(a->data, &a->n, later ? 0 : size, 8);
        put(a->data, &a->n, later ? 0 : n, 8);
    }
    put_bytes(a->data, &a->n, packed, n);
    if (later) {
        put(a->data, &a->n, 0x08074b50, a->marked ? 4 : 0);
        put(a->data, &a->n, crc, 4);
        put(a->data, &a->n, n, a->wide ? 8 : 4);
        put(a->data, &a->n, size, a->wide ? 8 : 4);
    }
    put(a->dir, &a->dir_n, 0x02014b50, 4);
    put(a->dir, &a->dir_n, 45, 2);
    put(a->dir, &a->dir_n, 45, 2);
    put(a->dir, &a->dir_n, flags, 2);
    put(a->dir, &a->dir_n, method, 2);
    put(a->dir, &a->dir_n, 0, 4);
    put(a->dir, &a->dir_n, crc, 4);
    put(a->dir, &a->dir_n, a->wide ? UINT32_MAX : n, 4);
    put(a->dir, &a->dir_n, a->wide ? UINT32_MAX : size, 4);
    put(a->dir, &a->dir_n, name_n, 2);
    put(a->dir, &a->dir_n, a->wide ? 28 : 0, 2);
    put(a->dir, &a->dir_n, 3, 2);
    put(a->dir, &a->dir_n, 0, 8);
    put(a->dir, &a->dir_n, a->wide ? UINT32_MAX : at, 4);
    put_bytes(a->dir, &a->dir_n, name, name_n);
    if (a->wide) {
        put(a->dir, &a->dir_n, 1, 2);
        put(a->dir, &a->dir_n, 24, 2);
        put(a->dir, &a->dir_n, size, 8);
        put(a->dir, &a->dir_n, n, 8);
        put(a->dir, &a->dir_n, at, 8);
    }
    put_bytes(a->dir, &a->dir_n, "abc", 3);
    a->entries++;
    free(packed);
}

static void add(struct archive *a, const char *name, const void *data, size_t size, unsigned method,
                bool described)
{
    add_flags(a, name, data, size, method, described ? DESCRIBED : 0);
}

static void archive_end(struct archive *a)
{
    uint64_t at = a->n, end64;
    put_bytes(a->data, &a->n, a->dir, a->dir_n);
    if (a->wide) {
        end64 = a->n;
        put(a->data, &a->n, 0x06064b50, 4);
        put(a->data, &a->n, 44, 8);
        put(a->data, &a->n, 45, 2);
        put(a->data, &a->n, 45, 2);
        put(a->data, &a->n, 0, 8);
        put(a->data, &a->n, a->entries, 8);
        put(a->data, &a->n, a->entries, 8);
        put(a->data, &a->n, a->dir_n, 8);
        put(a->data, &a->n, at, 8);
        put(a->data, &a->n, 0x07064b50, 4);
        put(a->data, &a->n, 0, 4);
        put(a->data, &a->n, end64, 8);
        put(a->data, &a->n, 1, 4);
    }
    put(a->data, &a->n, 0x06054b50, 4);
    put(a->data, &a->n, 0, 4);
    put(a->data, &a->n, a->entries, 2);
    put(a->data, &a->n, a->entries, 2);
    put(a->data, &a->n, a->wide ? UINT32_MAX : a->dir_n, 4);
    put(a->data, &a->n, a->wide ? UINT32_MAX : at, 4);
    put(a->data, &a->n, 9, 2);
    put_bytes(a->data, &a->n, "PK\5\6 none", 9);
}

static uint64_t finding(const struct fm_input *input, enum fm_diag key)
{
    struct fm_diags diags;
    fm_diags_init(&diags);
    fm_input_findings(input, &diags);
    return diags.row[key].count;
}

/* The input begins with `size` bytes of the sample, comes from that member, and `others` were left;
 * it is freed. */
static void is_member(struct fm_input *input, const char *member, size_t size, uint64_t others)
{
    size_t n;
    struct fm_error err = {0};
    ck_assert_str_eq(fm_input_filters(input), "zip");
    ck_assert_msg(read_through(input, 999, &n, &err) == FM_OK, "%s", err.message);
    ck_assert_uint_eq(n, size);
    ck_assert_str_eq(fm_input_member(input), member);
    ck_assert_uint_eq(finding(input, FM_DIAG_ZIP_MEMBERS), others);
    ck_assert_uint_eq(finding(input, FM_DIAG_TRAILING), 0);
    ck_assert_uint_eq(finding(input, FM_DIAG_INFLATE), 0);
    fm_input_free(input);
}

static struct fm_input *open_pipe(const void *data, size_t n, size_t piece, pid_t *pid)
{
    struct fm_input *input;
    *pid = feed_stdin(data, n, piece);
    ck_assert_int_eq(fm_input_open(ctx, "-", &input, NULL), FM_OK);
    return input;
}

START_TEST(every_form_gives_the_same)
{
    for (unsigned form = 0; form < 16; form++) {
        bool wide = form & 1, later = form & 2, marked = form & 4;
        unsigned method = form & 8 ? STORED : DEFLATED;
        struct archive a;
        struct fm_input *input;
        pid_t pid;
        archive_begin(&a, wide, marked);
        add(&a, "sample.txt", sample, SHORT, method, later);
        archive_end(&a);
        is_member(open_memory(a.data, a.n), "sample.txt", SHORT, 0);
        ck_assert_int_eq(fm_input_open(ctx, write_file("zip", a.data, a.n), &input, NULL), FM_OK);
        is_member(input, "sample.txt", SHORT, 0);
        if (method == DEFLATED || !later) {
            input = open_pipe(a.data, a.n, form % 3 == 0 ? 1 : 977, &pid);
            is_member(input, "sample.txt", SHORT, 0);
            feed_end(pid);
        }
        archive_free(&a);
    }
}
END_TEST

START_TEST(the_largest_member_or_the_first_of_a_pipe)
{
    for (unsigned form = 0; form < 4; form++) {
        struct archive a;
        pid_t pid;
        bool later = form & 2;
        archive_begin(&a, form & 1, true);
        add(&a, "d/", "", 0, STORED, false);
        add(&a, "d/empty", "", 0, DEFLATED, later);
        add(&a, "d/first", sample, 5000, DEFLATED, later);
        add(&a, "e/", "", 0, DEFLATED, later);
        add(&a, "large", sample, SAMPLE, DEFLATED, later);
        add(&a, "as large", sample + 1, SAMPLE - 1, STORED, false);
        add(&a, "ties", sample, SAMPLE, STORED, false);
        archive_end(&a);
        is_member(open_memory(a.data, a.n), "large", SAMPLE, 3);
        is_member(open_pipe(a.data, a.n, 4096, &pid), "d/first", 5000, 3);
        feed_end(pid);
        archive_free(&a);
    }
}
END_TEST

START_TEST(archives_stack_and_may_follow_bytes)
{
    struct archive a, b;
    size_t n;
    unsigned char *z, *glued;
    char name[60001];
    archive_begin(&a, false, true);
    z = test_pack("gzip", sample, SAMPLE, &n);
    add(&a, "x.gz", z, n, STORED, false);
    archive_end(&a);
    check_all(open_memory(a.data, a.n), 999, "zip+gzip");
    free(z);
    z = test_pack("gzip", a.data, a.n, &n);
    check_all(open_memory(z, n), 999, "gzip+zip+gzip");
    free(z);
    archive_begin(&b, false, true);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    name[7] = '\n';
    add(&b, name, a.data, a.n, DEFLATED, true);
    archive_end(&b);
    check_all(open_memory(b.data, b.n), 999, "zip+zip+gzip");
    archive_free(&b);
    /* offsets count from the archive's beginning: here the second one's directory holds */
    archive_begin(&b, true, true);
    add(&b, "second", sample, 7000, DEFLATED, false);
    archive_end(&b);
    glued = join(a.data, a.n, b.data, b.n);
    is_member(open_memory(glued, a.n + b.n), "second", 7000, 0);
    free(glued);
    archive_free(&a);
    archive_free(&b);
}
END_TEST

START_TEST(every_cut_gives_what_came_before)
{
    struct archive a;
    size_t data_end;
    archive_begin(&a, false, true);
    add(&a, "sample.txt", sample, 4000, DEFLATED, true);
    data_end = a.n;
    archive_end(&a);
    for (size_t cut = 4; cut < a.n - 9; cut++) {
        struct fm_error err = {0};
        struct fm_input *input = open_memory(a.data, cut);
        size_t n;
        ck_assert_str_eq(fm_input_filters(input), "zip");
        ck_assert_int_eq(read_through(input, 100, &n, &err), FM_TRUNCATED);
        ck_assert_ptr_nonnull(strstr(err.message, "the zip archive is cut"));
        ck_assert_uint_eq(err.offset, cut);
        ck_assert_uint_eq(finding(input, FM_DIAG_INFLATE), 1);
        ck_assert(n <= 4000 && (cut < data_end - 16 || n == 4000));
        fm_input_free(input);
    }
    for (size_t cut = 30; cut < a.n - 9; cut += 499) {
        pid_t pid;
        size_t n;
        struct fm_input *input = open_pipe(a.data, cut, 100, &pid);
        ck_assert_int_eq(read_through(input, 100, &n, NULL), FM_TRUNCATED);
        fm_input_free(input);
        feed_end(pid);
    }
    archive_free(&a);
}
END_TEST

/* Reads all, compares nothing: the status, and how many bytes there were. */
static enum fm_status drain(struct fm_input *input, size_t *n, struct fm_error *err)
{
    struct fm_reader *reader;
    const unsigned char *p;
    size_t have;
    enum fm_status status = fm_reader_open(input, &reader, err);
    ck_assert_int_eq(status, FM_OK);
    *n = 0;
    while ((status = fm_reader_peek(reader, 1, &p, &have, err)) == FM_OK && have > 0) {
        fm_reader_consume(reader, have);
        *n += have;
    }
    fm_reader_close(reader);
    return status;
}

/* The archive of one member of 4000 bytes, with `bytes` at `at` of the file (of the directory when
 * `dir`), is read as told. */
static void damaged(bool dir, size_t at, const char *bytes, size_t count, enum fm_status want,
                    size_t size, const char *message)
{
    struct archive a;
    struct fm_error err = {0};
    size_t n;
    archive_begin(&a, false, true);
    add(&a, "x", sample, 4000, DEFLATED, false);
    if (dir)
        at += a.n;
    archive_end(&a);
    memcpy(a.data + at, bytes, count);
    struct fm_input *input = open_memory(a.data, a.n);
    ck_assert_int_eq(drain(input, &n, &err), want);
    ck_assert_msg(strstr(err.message, message) != NULL, "%s", err.message);
    ck_assert_uint_eq(n, size);
    fm_input_free(input);
    archive_free(&a);
}

START_TEST(damage_is_told)
{
    damaged(true, 16, "\1\2\3\4", 4, FM_FORMAT, 4000, "the checksum of the data is wrong (the zip "
            "member 'x' that begins at byte 0; 4000 bytes were unpacked)");
    damaged(true, 24, "\x9f\x0f\0\0", 4, FM_FORMAT, 4000, "unpack to 4000, not");
    damaged(true, 20, "\5\0\0\0", 4, FM_FORMAT, 0, "do not end in their size");
    damaged(true, 42, "\7\0\0\0", 4, FM_FORMAT, 4000, "the directory of the zip archive is broken");
    damaged(true, 0, "PK\3\4", 4, FM_FORMAT, 4000, "the directory of the zip archive is");
    damaged(true, 8, "\1\0", 2, FM_UNSUPPORTED, 0, "the zip member 'x' is encrypted");
    damaged(true, 10, "\x0c\0", 2, FM_UNSUPPORTED, 0, "is packed by method 12");
    damaged(false, 31, "\xff\xff\xff", 3, FM_FORMAT, 0, "broken deflate data");
}
END_TEST

START_TEST(what_cannot_be_read_is_told)
{
    struct archive a;
    struct fm_error err = {0};
    struct fm_input *input;
    size_t n;
    pid_t pid;
    archive_begin(&a, false, true);
    add(&a, "x", sample, 4000, STORED, true);
    archive_end(&a);
    input = open_pipe(a.data, a.n, 4096, &pid);
    ck_assert_int_eq(drain(input, &n, &err), FM_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.message, "stored without its size"));
    fm_input_free(input);
    feed_end(pid);
    archive_free(&a);
    archive_begin(&a, false, true);
    add(&a, "x/", "", 0, STORED, false);
    archive_end(&a);
    fm_error_clear(&err);
    input = open_memory(a.data, a.n);
    ck_assert_int_eq(drain(input, &n, &err), FM_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.message, "no file in the zip archive holds any bytes"));
    fm_input_free(input);
    archive_free(&a);
}
END_TEST

START_TEST(bytes_behind_the_end_are_a_finding)
{
    struct archive a;
    size_t n;
    archive_begin(&a, false, true);
    add(&a, "x", sample, 4000, DEFLATED, false);
    archive_end(&a);
    put_bytes(a.data, &a.n, "garbage", 7);
    struct fm_input *input = open_memory(a.data, a.n);
    ck_assert_int_eq(read_through(input, 100, &n, NULL), FM_OK);
    ck_assert_uint_eq(n, 4000);
    ck_assert_uint_eq(finding(input, FM_DIAG_TRAILING), 1);
    fm_input_free(input);
    archive_free(&a);
}
END_TEST

START_TEST(the_limit_is_kept)
{
    struct archive a;
    struct fm_error err = {0};
    size_t n;
    archive_begin(&a, false, true);
    add(&a, "d/", sample, 3000, DEFLATED, true); /* counts as well where it is walked over */
    add(&a, "x", sample, 4000, DEFLATED, true);
    archive_end(&a);
    fm_ctx_set_cap(ctx, FM_CAP_INFLATED, 4000);
    is_member(open_memory(a.data, a.n), "x", 4000, 0);
    pid_t pid;
    struct fm_input *input = open_pipe(a.data, a.n, 4096, &pid);
    ck_assert_int_eq(drain(input, &n, &err), FM_LIMIT);
    ck_assert_uint_eq(n, 1000);
    ck_assert_uint_eq(finding(input, FM_DIAG_INFLATE_LIMIT), 1);
    fm_input_free(input);
    feed_end(pid);
    archive_free(&a);
}
END_TEST

START_TEST(any_byte_may_be_wrong)
{
    static const unsigned char change[] = { 0x01, 0x80, 0xff };
    struct archive a;
    archive_begin(&a, true, true);
    add(&a, "d/", "", 0, DEFLATED, true);
    add(&a, "x", sample, 300, DEFLATED, true);
    add(&a, "y", sample, 200, STORED, false);
    archive_end(&a);
    for (size_t at = 4; at < a.n; at++) {
        for (size_t k = 0; k < FM_COUNT(change); k++) {
            size_t n;
            a.data[at] ^= change[k];
            struct fm_input *input = open_memory(a.data, a.n);
            (void)drain(input, &n, NULL);
            ck_assert_uint_le(n, 100000);
            fm_input_free(input);
            a.data[at] ^= change[k];
        }
    }
    archive_free(&a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("zip");
    TCase *t = tcase_create("zip");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, every_form_gives_the_same);
    tcase_add_test(t, the_largest_member_or_the_first_of_a_pipe);
    tcase_add_test(t, archives_stack_and_may_follow_bytes);
    tcase_add_test(t, every_cut_gives_what_came_before);
    tcase_add_test(t, damage_is_told);
    tcase_add_test(t, what_cannot_be_read_is_told);
    tcase_add_test(t, bytes_behind_the_end_are_a_finding);
    tcase_add_test(t, the_limit_is_kept);
    tcase_add_test(t, any_byte_may_be_wrong);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
