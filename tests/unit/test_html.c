/*
 * test_html.c - what the HTML report is written with: hashes against the vectors of FIPS 180-4 and
 * RFC 4648, numbers, texts and the tree of the small store against symbols worked out by hand.
 */
#include "small.h"

#include "export/html/html.h"
#include "util/sha256.h"

#include <check.h>
#include <stdio.h>
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

static void holds(const char *want)
{
    ck_assert_int_eq(out.status, FM_OK);
    ck_assert_msg(out.n == strlen(want) && memcmp(out.buf, want, out.n) == 0, "%.*s for %s",
                  (int)out.n, out.buf, want);
    out.n = 0;
}

static void hashes(const char *text, size_t n, const char *want)
{
    uint8_t hash[FM_SHA256_BYTES];
    char hex[2 * FM_SHA256_BYTES + 1];
    size_t i;
    fm_sha256(text, n, hash);
    for (i = 0; i < sizeof hash; i++)
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    ck_assert_str_eq(hex, want);
}

START_TEST(sha256_of_the_standard)
{
    const size_t million = 1000000;
    char *a = malloc(million);
    memset(a, 'a', million);
    hashes("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    hashes("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    hashes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    hashes(a, million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(a);
}
END_TEST

START_TEST(base64_of_the_standard)
{
    static const char *const want[] = {"",         "Zg==",     "Zm8=",    "Zm9v",
                                       "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
    char text[16];
    size_t n;
    for (n = 0; n < FM_COUNT(want); n++) {
        fm_base64("foobar", n, text);
        ck_assert_str_eq(text, want[n]);
    }
}
END_TEST

/* The symbols are ! " # $ % ' ( ...: 0 is '!', 44 is 'P', 45 'Q', 90 '~'. */
START_TEST(numbers_are_digits_least_first)
{
    const struct {
        fm_u128 v;
        const char *want;
    } number[] = {
        {0, "!"}, {5, "'"}, {44, "P"},
        {45, "Q!"},           /* 45 + 0, then 0 */
        {90, "~!"},           /* 45 + 45, then 0 */
        {91, "Q\""},          /* 45 + 0, then 1 */
        {2114, "~P"},         /* 45 + 45, then 44 */
        {2115, "QQ!"},
    };
    size_t i;
    for (i = 0; i < FM_COUNT(number); i++) {
        fm_html_number(&out, number[i].v);
        holds(number[i].want);
    }
}
END_TEST

START_TEST(texts_hold_no_markup)
{
    static const char *const text[][2] = {
        {"plain name(int)", "plain name(int)"},
        {"</script>", "\\3c;/script\\3e;"},
        {"a&b\\c", "a\\26;b\\5c;c"},
        {"\n\r\t\x1b\x7f", "\\a;\\d;\\9;\\1b;\\7f;"},
        {"\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80"},
        {"\xe2\x80\xa8\xe2\x80\xa9", "\\2028;\\2029;"},
        {"\xff \xed\xa0\x80", "\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc2\x85\xef\xbf\xbe", "\\85;\\fffe;"},
    };
    size_t i;
    for (i = 0; i < FM_COUNT(text); i++) {
        fm_html_text(&out, text[i][0], strlen(text[i][0]));
        holds(text[i][1]);
    }
    fm_html_text(&out, "a\0b", 3);
    holds("a\\0;b");
}
END_TEST

/* The text between a block's tags. */
static char *block(const char *page, const char *id)
{
    char open[64];
    const char *from, *to;
    snprintf(open, sizeof open, "id=\"%s\">", id);
    from = strstr(page, open);
    ck_assert_ptr_nonnull(from);
    from += strlen(open);
    to = strchr(from, '<');
    return strndup(from, (size_t)(to - from));
}

/*
 * Of cpu-clock the tree is, with self weights,
 *
 *     all                 0
 *       app               7      the row without a stack
 *         main            0
 *           work         13      10 + 3
 *             kfn_[k]    20
 *       wor;ker           0
 *         main            5
 *
 * and all names are of one symbol, in byte order: app, kfn_[k], main, wor;ker, work = 0 ... 4.
 */
START_TEST(the_small_store_as_symbols)
{
    struct fm_store *store = small_store(ctx);
    struct fm_error err = {0};
    char *page = small_export(ctx, store, "html", NULL, NULL, &err), *text;
    ck_assert_msg(page != NULL, "%s", err.message);
    text = block(page, "fm-nodes");
    ck_assert_str_eq(text, "!"        /* all: 0 */
                           "#!)"      /* up 0, self follows: app, 7 */
                           "!#"       /* up 0, self 0: main */
                           "#%/"      /* work 13 */
                           "#\"6"     /* kfn 20 */
                           ".$"       /* up 4, self 0: wor;ker */
                           "##'");   /* up 0, self follows: main 5 */
    free(text);
    free(page);
    fm_store_free(store);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("html");
    TCase *t = tcase_create("html");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, sha256_of_the_standard);
    tcase_add_test(t, base64_of_the_standard);
    tcase_add_test(t, numbers_are_digits_least_first);
    tcase_add_test(t, texts_hold_no_markup);
    tcase_add_test(t, the_small_store_as_symbols);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
