/*
 * test_query_write.c - how results look: columns of a terminal, escapes, and what is shortened. All
 * outputs are laid out by hand.
 */
#include "query_help.h"

#include "query/layout.h"

#include <check.h>
#include <stdlib.h>

static struct fm_ctx *ctx;
static struct fm_out out;

static void setup(void)
{
    ctx = fm_ctx_new();
    ck_assert_int_eq(fm_out_init(&out, &ctx->mem, NULL), FM_OK);
}

static void teardown(void)
{
    fm_out_release(&out);
    fm_ctx_free(ctx);
}

static const char *text(void)
{
    fm_out_char(&out, '\0');
    return out.buf;
}

static const char *clean(const char *s)
{
    out.n = 0;
    fm_layout_clean(&out, s, strlen(s));
    return text();
}

static const char *cut(const char *s, size_t width, unsigned head)
{
    out.n = 0;
    fm_layout_shorten(&out, s, strlen(s), width, head);
    return text();
}

START_TEST(control_characters_are_shown)
{
    ck_assert_str_eq(clean("plain \xc3\xa4 \xe4\xb8\xad"), "plain \xc3\xa4 \xe4\xb8\xad");
    ck_assert_str_eq(clean("\x1b[31mred\n\t\x7f"), "\\x1b[31mred\\x0a\\x09\\x7f");
    ck_assert_str_eq(clean("a\xc2\x9b" "b"), "a\\u009bb");            /* CSI of C1 */
    ck_assert_str_eq(clean("x\xe2\x80\xae" "y"), "x\\u202ey");        /* right to left */
    ck_assert_str_eq(clean("\xff\xc3"), "\xef\xbf\xbd\xef\xbf\xbd");
    ck_assert_str_eq(clean(""), "");
}
END_TEST

START_TEST(long_texts_lose_their_middle)
{
    ck_assert_str_eq(cut("abcdefghij", 10, 2), "abcdefghij");
    ck_assert_str_eq(cut("abcdefghij", 7, 2), "abcd\xe2\x80\xa6ij");
    ck_assert_str_eq(cut("abcdefghij", 7, 1), "ab\xe2\x80\xa6ghij");
    ck_assert_str_eq(cut("abcdefghij", 1, 2), "\xe2\x80\xa6");
    ck_assert_str_eq(cut("abcdefghij", 0, 2), "");
    /* wide: 中 takes two columns; half of one is none */
    ck_assert_str_eq(cut("\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad", 6, 2),
                     "\xe4\xb8\xad\xe2\x80\xa6\xe4\xb8\xad");
    ck_assert_str_eq(cut("abc\xe4\xb8\xad\xe4\xb8\xad", 4, 1), "a\xe2\x80\xa6\xe4\xb8\xad");
    /* combining: e and U+0301 stay together */
    ck_assert_str_eq(cut("abcde\xcc\x81", 3, 1), "\xe2\x80\xa6" "de\xcc\x81");
    ck_assert_str_eq(cut("abe\xcc\x81" "cd", 3, 1), "\xe2\x80\xa6" "cd");
}
END_TEST

START_TEST(the_widest_columns_give_way)
{
    size_t width[3] = {50, 8, 30};
    const size_t least[3] = {12, 8, 12};

    fm_layout_fit(width, least, 3, 2, 100);
    ck_assert_uint_eq(width[0], 50);
    fm_layout_fit(width, least, 3, 2, 70);       /* 66 without gaps: 8 stay, 58 for two */
    ck_assert_uint_eq(width[0], 29);
    ck_assert_uint_eq(width[1], 8);
    ck_assert_uint_eq(width[2], 29);
    fm_layout_fit(width, least, 3, 2, 10);
    ck_assert_uint_eq(width[0], 12);
    ck_assert_uint_eq(width[1], 8);
}
END_TEST

#define BY_NAME \
    "foldmill-query: 1\nname: t\nsteps:\n  - group: {by: [name, path], measures: [self]}\n" \
    "  - sort: -self\n"

static const char *in_format(const char *lines, const char *format)
{
    struct fm_store *store = query_store(ctx, lines);
    const char *got = query_run(ctx, store, BY_NAME, NULL, format);

    ck_assert_msg(got != NULL, "%s", query_error());
    fm_store_free(store);
    return got;
}

#define WIDE "root;a|b 2000000 name=\xe4\xb8\xad\xe6\x96\x87\nroot;<c> 30 name=x\n- 1\n"

START_TEST(columns_are_aligned)
{
    ck_assert_str_eq(in_format(WIDE, "text"),
                     "# t: event cpu, weight value in ns, 3 samples\n"
                     "name  path      self (ms)\n"
                     "\xe4\xb8\xad\xe6\x96\x87  root;a|b      2.000\n"
                     "x     root;<c>      0.000\n"
                     "-     -             0.000\n");
}
END_TEST

START_TEST(tables_for_programs_are_exact)
{
    ck_assert_str_eq(in_format(WIDE, "tsv"),
                     "name\tpath\tself (ns)\n"
                     "\xe4\xb8\xad\xe6\x96\x87\troot;a|b\t2000000\n"
                     "x\troot;<c>\t30\n"
                     "\t\t1\n");
    ck_assert_str_eq(in_format("a\tb\\c 5 name=x\n", "tsv"),
                     "name\tpath\tself (ns)\nx\ta\\tb\\\\c\t5\n");
    ck_assert_str_eq(in_format("a,\"b\" 5 name=x\n- 3 name=y\n", "csv"),
                     "name,path,self (ns)\nx,\"a,\"\"b\"\"\",5\ny,,3\n");
    ck_assert_str_eq(in_format(WIDE, "markdown"),
                     "t: event cpu, weight value in ns, 3 samples  \n\n"
                     "| name | path | self (ms) |\n| --- | --- | ---: |\n"
                     "| \xe4\xb8\xad\xe6\x96\x87 | root;a\\|b | 2.000 |\n"
                     "| x | root;\\<c> | 0.000 |\n"
                     "| - | - | 0.000 |\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("query_write");
    TCase *tc = tcase_create("write");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, control_characters_are_shown);
    tcase_add_test(tc, long_texts_lose_their_middle);
    tcase_add_test(tc, the_widest_columns_give_way);
    tcase_add_test(tc, columns_are_aligned);
    tcase_add_test(tc, tables_for_programs_are_exact);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
