/*
 * test_tar.c - members of tar archives: those of tar(1) in each of its formats and packings, and
 * archives made here byte by byte, so that every field can be wrong.
 */
#include "input/tar.h"
#include "input_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LONG "a-folder-with-a-rather-long-name/and-another-one-below-it-that-is-long-too/" \
             "and-a-third/so-that-the-name-is-beyond-a-hundred-bytes/file"

/* An archive that is being built. */
struct archive {
    unsigned char *data;
    size_t n, cap;
};

static unsigned char *room(struct archive *a, size_t n)
{
    size_t whole = (n + 511) / 512 * 512;
    while (a->n + whole > a->cap) {
        a->cap = a->cap == 0 ? 8192 : 2 * a->cap;
        a->data = realloc(a->data, a->cap);
        ck_assert_ptr_nonnull(a->data);
    }
    memset(a->data + a->n, 0, whole);
    a->n += whole;
    return a->data + a->n - whole;
}

static void sum(unsigned char *h)
{
    unsigned total = 0;
    memset(h + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        total += h[i];
    snprintf((char *)h + 148, 8, "%06o", total);
}

static size_t add(struct archive *a, char kind, const char *name, const char *link,
                  const void *body, size_t n)
{
    size_t at = a->n;
    unsigned char *h = room(a, 512);
    memcpy(h, name, strnlen(name, 100));
    snprintf((char *)h + 124, 12, "%011zo", n);
    h[156] = (unsigned char)kind;
    memcpy(h + 157, link, strnlen(link, 100));
    memcpy(h + 257, "ustar\00000", 8);
    sum(h);
    if (body != NULL && n > 0)
        memcpy(room(a, n), body, n);
    return at;
}

static struct fm_tar *open_tar(struct fm_input *input)
{
    struct fm_tar *tar = NULL;
    struct fm_error err = {0};
    const unsigned char *head;
    size_t n;
    ck_assert_int_eq(fm_input_head(input, &head, &n, &err), FM_OK);
    ck_assert(fm_tar_is(head, n));
    ck_assert_int_eq(fm_tar_open(input, &tar, &err), FM_OK);
    return tar;
}

static void check_text(const struct fm_tar *tar, const char *path, const char *want, size_t n)
{
    struct fm_input *input = NULL;
    struct fm_reader *reader = NULL;
    const unsigned char *data;
    size_t got;
    bool oom;
    const struct fm_tar_member *member = fm_tar_find(tar, path, &oom);
    ck_assert(!oom);
    ck_assert_msg(member != NULL, "no '%s'", path);
    ck_assert_int_eq(fm_tar_input(tar, member, path, &input, NULL), FM_OK);
    ck_assert_int_eq(fm_reader_open(input, &reader, NULL), FM_OK);
    ck_assert_int_eq(fm_reader_peek(reader, n + 1, &data, &got, NULL), FM_OK);
    ck_assert_uint_eq(got, n);
    ck_assert_mem_eq(data, want, n);
    fm_reader_close(reader);
    fm_input_free(input);
}

static void check_none(const struct fm_tar *tar, const char *path)
{
    bool oom;
    ck_assert_ptr_null(fm_tar_find(tar, path, &oom));
    ck_assert(!oom);
}

/* ------------------------------------------------------------ tar(1)'s own */

static const char *make_real(const char *options)
{
    static char path[128];
    char command[2048];
    snprintf(path, sizeof path, "%s/real.tar", folder);
    snprintf(command, sizeof command,
             "cd %s && rm -rf t && mkdir -p t/real/ID t/.build-id/ab 't/" LONG "' && "
             "rmdir 't/" LONG "' && printf hello >t/real/ID/elf && printf deep >'t/" LONG "' && "
             "gzip -c t/real/ID/elf >t/packed && "
             "ln -s ../../real/ID t/.build-id/ab/cdef && ln t/real/ID/elf t/hard && "
             "ln -s '" LONG "' t/far && ln -s loop t/loop && "
             "{ tar %s -cf real.tar -C t . 2>/dev/null; test -s real.tar; }", folder, options);
    return system(command) == 0 ? path : NULL; /* NOLINT: our own text */
}

static void check_real(const char *options)
{
    const char *path = make_real(options);
    struct fm_input *input = NULL;
    if (path == NULL) {
        printf("# no tar(1) that knows %s\n", options);
        return;
    }
    ck_assert_int_eq(fm_input_open(ctx, path, &input, NULL), FM_OK);
    struct fm_tar *tar = open_tar(input);
    check_text(tar, "real/ID/elf", "hello", 5);
    check_text(tar, "/./real//ID/../ID/elf", "hello", 5);
    check_text(tar, ".build-id/ab/cdef/elf", "hello", 5);
    check_text(tar, "hard", "hello", 5);
    check_text(tar, "packed", "hello", 5);
    if (strcmp(options, "--format=v7") != 0)        /* which leaves out what has a long name */
        check_text(tar, LONG, "deep", 4);
    if (strcmp(options, "--format=v7") != 0 && strcmp(options, "--format=ustar") != 0)
        check_text(tar, "far", "deep", 4);
    check_none(tar, "loop");
    check_none(tar, "real");
    check_none(tar, "real/ID/elf/x");
    check_none(tar, "../real/ID/elf");
    check_none(tar, "");
    ck_assert_int_eq(fm_tar_damage(tar, NULL), FM_OK);
    fm_tar_close(tar);
    fm_input_free(input);
}

START_TEST(test_real)
{
    static const char *const options[] = {"--format=gnu", "--format=pax", "--format=ustar",
                                          "--format=v7", "-z", "-J", "-j", "--zstd"};
    for (size_t i = 0; i < FM_COUNT(options); i++)
        check_real(options[i]);
}
END_TEST

/* Beyond what is spooled in memory the members are parts of a temporary file. */
START_TEST(test_large)
{
    struct archive a = {0};
    const size_t n = ((size_t)32 << 20) + 700;
    size_t packed;
    unsigned char *body = calloc(1, n), *gz;
    add(&a, '0', "zeros", "", body, n);
    add(&a, '0', "behind", "", "hello", 5);
    add(&a, '0', "more", "", "x", 1);
    gz = test_pack("gzip", a.data, a.n, &packed);
    struct fm_input *input = open_memory(gz, packed), *part = NULL;
    struct fm_tar *tar = open_tar(input);
    struct fm_error err = {0};
    uint64_t size;
    check_text(tar, "behind", "hello", 5);
    ck_assert_uint_eq(fm_tar_members(tar), 3);
    ck_assert_int_eq(fm_tar_input(tar, fm_tar_member(tar, 0), "zeros", &part, &err), FM_OK);
    ck_assert_str_eq(fm_input_name(part), "zeros");
    ck_assert_int_eq(fm_input_seekable(part, &err), FM_OK);
    ck_assert(fm_input_size(part, &size));
    ck_assert_uint_eq(size, n);
    fm_input_free(part);
    fm_tar_close(tar);
    fm_input_free(input);
    free(gz);
    free(body);
    free(a.data);
}
END_TEST

/* --------------------------------------------------------------- by hand */

static struct fm_tar *hand(struct archive *a, struct fm_input **input)
{
    *input = open_memory(a->data, a->n);
    return open_tar(*input);
}

static void done(struct archive *a, struct fm_input *input, struct fm_tar *tar)
{
    fm_tar_close(tar);
    fm_input_free(input);
    free(a->data);
}

START_TEST(test_members)
{
    static const char pax[] = "19 path=from-pax/x\n13 size=0004\n11 other=1\n";
    static const char sparse[] = "22 GNU.sparse.major=1\n";
    struct archive a = {0};
    struct fm_input *input;
    unsigned char *h;
    add(&a, '5', "./folder/", "", NULL, 0);
    add(&a, 'x', "head", "", pax, sizeof pax - 1);
    add(&a, '0', "ignored", "", "datadata", 8);     /* the pax header says 4 */
    add(&a, 'S', "sparse", "", NULL, 0);
    add(&a, 'x', "head", "", sparse, 22);
    add(&a, '0', "sparse-pax", "", "abcd", 4);
    add(&a, '1', "sized-link", "folder/x", NULL, 77);       /* a size, and no bytes */
    add(&a, '0', "folder/x", "", "old", 3);
    add(&a, '0', "folder/x", "", "newer", 5);
    add(&a, '1', "full-link", "folder/x", "newer", 5);      /* the bytes are there again */
    add(&a, '3', "device", "", NULL, 0);
    h = a.data + add(&a, '0', "big", "", "12345", 5);
    h = a.data + a.n - 1024;
    memset(h + 124, 0, 12);
    h[124] = 0x80;                                          /* binary */
    h[135] = 5;
    memcpy(h + 345, "pre/fix", 7);
    sum(h);
    add(&a, '0', "old-folder/", "", NULL, 0);
    room(&a, 1024);
    add(&a, '0', "after-the-end", "", NULL, 0);
    struct fm_tar *tar = hand(&a, &input);
    ck_assert_int_eq(fm_tar_damage(tar, NULL), FM_OK);
    check_text(tar, "from-pax/x", "data", 4);
    check_text(tar, "folder/x", "newer", 5);
    check_text(tar, "sized-link", "newer", 5);
    check_text(tar, "full-link", "newer", 5);
    check_text(tar, "pre/fix/big", "12345", 5);
    check_none(tar, "sparse");
    check_none(tar, "sparse-pax");
    check_none(tar, "device");
    check_none(tar, "old-folder");
    check_none(tar, "after-the-end");
    check_none(tar, "ignored");
    ck_assert_uint_eq(fm_tar_member(tar, 0)->kind, FM_TAR_FOLDER);
    ck_assert_str_eq(fm_tar_member(tar, 0)->name, "folder");
    ck_assert_ptr_null(fm_tar_member(tar, fm_tar_members(tar)));
    done(&a, input, tar);
}
END_TEST

static void check_damage(struct archive *a, enum fm_status status, uint64_t offset)
{
    struct fm_input *input;
    struct fm_error err = {0};
    struct fm_tar *tar = hand(a, &input);
    check_text(tar, "good", "hello", 5);
    ck_assert_int_eq(fm_tar_damage(tar, &err), status);
    ck_assert_uint_eq(err.offset, offset);
    done(a, input, tar);
}

START_TEST(test_damage)
{
    struct archive a = {0};
    unsigned char *h;
    add(&a, '0', "good", "", "hello", 5);
    h = a.data + add(&a, '0', "bad", "", NULL, 0);
    h[0] ^= 1;                                  /* checksum */
    check_damage(&a, FM_FORMAT, 1024);

    a = (struct archive){0};
    add(&a, '0', "good", "", "hello", 5);
    add(&a, '0', "cut", "", "hello", 5);
    a.n -= 512 + 100;
    check_damage(&a, FM_TRUNCATED, 1024);

    a = (struct archive){0};
    add(&a, '0', "good", "", "hello", 5);
    add(&a, '0', "cut", "", NULL, 600);         /* no byte of it is there */
    check_damage(&a, FM_TRUNCATED, 1536);

    a = (struct archive){0};
    add(&a, '0', "good", "", "hello", 5);
    add(&a, 'L', "name", "", NULL, 0x10000000); /* a name of 256 MiB: nothing is allocated */
    check_damage(&a, FM_LIMIT, 1536);

    a = (struct archive){0};
    add(&a, '0', "good", "", "hello", 5);
    h = a.data + add(&a, '0', "huge", "", NULL, 0);
    memset(h + 124, 0xff, 12);                  /* negative */
    sum(h);
    check_damage(&a, FM_FORMAT, 1024 + 124);

    a = (struct archive){0};
    add(&a, '0', "good", "", "hello", 5);
    h = a.data + add(&a, '0', "huge", "", NULL, 0);
    memset(h + 124, 0xff, 12);
    h[124] = 0x80;
    h[125] = h[126] = h[127] = 0;               /* 2^64 - 1 */
    sum(h);
    check_damage(&a, FM_TRUNCATED, 1536);
}
END_TEST

START_TEST(test_links)
{
    struct archive a = {0};
    struct fm_input *input;
    char name[32], to[32];
    add(&a, '2', "a", "b", NULL, 0);
    add(&a, '2', "b", "a", NULL, 0);
    add(&a, '2', "grow", "grow/grow/grow/grow/grow/grow/grow/grow", NULL, 0);
    add(&a, '1', "self", "self", NULL, 0);
    add(&a, '2', "up", "../../../etc/passwd", NULL, 0);
    add(&a, '2', "root", "/abs/file", NULL, 0);
    add(&a, '0', "abs/file", "", "hello", 5);
    for (int i = 0; i < 39; i++) {
        snprintf(name, sizeof name, "hop%d", i);
        snprintf(to, sizeof to, "hop%d", i + 1);
        add(&a, '2', name, to, NULL, 0);
    }
    add(&a, '2', "hop39", "abs", NULL, 0);
    struct fm_tar *tar = hand(&a, &input);
    check_none(tar, "a");
    check_none(tar, "grow");
    check_none(tar, "self");
    check_none(tar, "up");
    check_text(tar, "root", "hello", 5);
    check_text(tar, "hop0/file", "hello", 5);
    done(&a, input, tar);
}
END_TEST

/* Every byte of a small archive broken in turn, and every length. */
START_TEST(test_broken)
{
    struct archive a = {0};
    add(&a, 'L', "l", "", "a/long/name", 12);
    add(&a, '0', "x", "", "hello", 5);
    add(&a, '2', "s", "a/long", NULL, 0);
    unsigned char *copy = malloc(a.n);
    for (size_t i = 0; i < 2 * a.n; i++) {
        struct fm_tar *tar = NULL;
        struct fm_error err = {0};
        bool oom;
        memcpy(copy, a.data, a.n);
        copy[i % a.n] ^= (unsigned char)(1 + i % 255);
        struct fm_input *input = NULL;
        if (fm_input_open_memory(ctx, copy, i < a.n ? i : a.n, "broken", &input, &err) != FM_OK)
            continue;
        if (fm_tar_open(input, &tar, &err) == FM_OK) {
            (void)fm_tar_find(tar, "s/name", &oom);
            ck_assert(!oom);
        }
        fm_tar_close(tar);
        fm_input_free(input);
    }
    free(copy);
    free(a.data);
}
END_TEST

START_TEST(test_no_tar)
{
    struct fm_input *input = open_memory(sample, SAMPLE);
    struct fm_tar *tar = NULL;
    struct fm_error err = {0};
    ck_assert(!fm_tar_is(sample, SAMPLE));
    ck_assert(!fm_tar_is(sample, 100));
    ck_assert_int_eq(fm_tar_open(input, &tar, &err), FM_FORMAT);
    ck_assert_ptr_null(tar);
    fm_input_free(input);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tar");
    TCase *tcase = tcase_create("tar");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_real);
    tcase_add_test(tcase, test_large);
    tcase_add_test(tcase, test_members);
    tcase_add_test(tcase, test_damage);
    tcase_add_test(tcase, test_links);
    tcase_add_test(tcase, test_broken);
    tcase_add_test(tcase, test_no_tar);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
