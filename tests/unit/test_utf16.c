/*
 * test_utf16.c - inputs in UTF-16: both orders, surrogates, odd ends, bytes that only look alike.
 */
#include "input/input.h"
#include "util/error.h"

#include <check.h>
#include <stdlib.h>

/* All bytes of the input, read in needs of `need`; the filters it went through. */
static char *read_all(const void *data, size_t n, size_t need, size_t *got, const char *filters)
{
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_input *input;
    struct fm_reader *reader;
    char *out = NULL;
    *got = 0;
    ck_assert_int_eq(fm_input_open_memory(ctx, data, n, "mem", &input, NULL), FM_OK);
    ck_assert_str_eq(fm_input_filters(input), filters);
    ck_assert_int_eq(fm_reader_open(input, &reader, NULL), FM_OK);
    for (;;) {
        const unsigned char *p;
        size_t have;
        ck_assert_int_eq(fm_reader_peek(reader, need, &p, &have, NULL), FM_OK);
        if (have == 0)
            break;
        out = realloc(out, *got + have);
        memcpy(out + *got, p, have);
        *got += have;
        fm_reader_consume(reader, have);
    }
    ck_assert_int_eq(fm_input_damage(input, NULL), FM_OK);
    fm_reader_close(reader);
    fm_input_free(input);
    fm_ctx_free(ctx);
    return out;
}

/* Units in both orders of bytes, `half`: and one byte more. */
static void gives(const uint16_t *unit, size_t n, bool half, const char *expected)
{
    for (int high_first = 0; high_first < 2; high_first++) {
        unsigned char bytes[64];
        size_t got, k = 0;
        for (size_t i = 0; i <= n; i++) {
            uint16_t u = i == 0 ? 0xfeff : unit[i - 1];
            bytes[k++] = (unsigned char)(high_first ? u >> 8 : u);
            bytes[k++] = (unsigned char)(high_first ? u : u >> 8);
        }
        if (half)
            bytes[k++] = 'x';
        char *text = read_all(bytes, k, 1, &got, "utf-16");
        ck_assert_uint_eq(got, strlen(expected));
        ck_assert(memcmp(text, expected, got) == 0);
        free(text);
    }
}

START_TEST(characters)
{
    static const uint16_t ascii[] = {'[', '{', '"', 'a', '"', '\n'};
    static const uint16_t wide[] = {'a', ';', 'b', ' ', 0xe4, 0x20ac, 0xd83d, 0xde00, '\n'};
    static const uint16_t alone[] = {'a', ';', 'b', ' ', 0xd83d, 'x', 0xde00, 0xd83d, 0xd83d,
                                     0xde00};
    static const uint16_t first[] = {'a', ';', 'b', ' ', 0xd83d};
    gives(ascii, 6, false, "[{\"a\"\n");
    gives(ascii, 6, true, "[{\"a\"\n\xef\xbf\xbd");
    gives(ascii, 1, false, "[");
    gives(wide, 9, false, "a;b \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n");
    gives(alone, 10, false,
          "a;b \xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80");
    gives(first, 5, false, "a;b \xef\xbf\xbd");
    gives(first, 5, true, "a;b \xef\xbf\xbd");
}
END_TEST

START_TEST(over_windows)
{
    const size_t n = 300001;
    unsigned char *bytes = malloc(2 * n + 2);
    char *expected = malloc(3 * n);
    size_t want = 0;
    memcpy(bytes, "\xff\xfe", 2);
    for (size_t i = 0; i < n; i++) {
        bool euro = i > 4 && i % 7 == 0;
        bytes[2 + 2 * i] = euro ? 0xac : (unsigned char)('a' + i % 26);
        bytes[3 + 2 * i] = euro ? 0x20 : 0;
        if (euro)
            memcpy(expected + want, "\xe2\x82\xac", 3);
        else
            expected[want] = (char)('a' + i % 26);
        want += euro ? 3 : 1;
    }
    for (size_t need = 1; need < 200000; need = need * 50 + 1) {
        size_t got;
        char *text = read_all(bytes, 2 * n + 2, need, &got, "utf-16");
        ck_assert_uint_eq(got, want);
        ck_assert(memcmp(text, expected, got) == 0);
        free(text);
    }
    free(bytes);
    free(expected);
}
END_TEST

START_TEST(others_stay)
{
    static const struct {
        const char *bytes;
        size_t n;
    } other[] = {{"\xff\xfe", 2}, {"\xff\xfe\0\0a\0\0\0b\0\0\0", 12},
                 {"\xff\xfe" "a\1b\0c\0d\0", 10},
                 {"\xfe\xff" "a\0b\0c\0d\0", 10}, {"\xff\xfe\x90\x00\x01\x02\x03\x04\x05\x06", 10}};
    for (size_t i = 0; i < FM_COUNT(other); i++) {
        size_t got;
        char *text = read_all(other[i].bytes, other[i].n, 1, &got, "");
        ck_assert_uint_eq(got, other[i].n);
        free(text);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("utf16");
    TCase *t = tcase_create("utf16");
    tcase_add_test(t, characters);
    tcase_add_test(t, over_windows);
    tcase_add_test(t, others_stay);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
