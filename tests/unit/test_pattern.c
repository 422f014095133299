/*
 * test_pattern.c - exact, glob and regex patterns: forms, matches, captures, limits.
 */
#include "util/pattern.h"

#include <check.h>

static struct fm_mem mem;

static void setup(void)
{
    fm_mem_init(&mem, 0);
}

static struct fm_pattern *make(const char *text)
{
    struct fm_pattern *p;
    struct fm_error err = {0};
    ck_assert_msg(fm_pattern_new(&mem, text, strlen(text), false, &p, &err) == FM_OK, "%s: %s",
                  text, err.message);
    return p;
}

static bool matches(const char *text, const char *s)
{
    struct fm_pattern *p = make(text);
    bool yes = fm_pattern_match(p, s, strlen(s));
    fm_pattern_free(p);
    return yes;
}

static enum fm_pattern_form form(const char *text)
{
    struct fm_pattern *p = make(text);
    enum fm_pattern_form f = fm_pattern_form(p);
    fm_pattern_free(p);
    return f;
}

START_TEST(forms)
{
    ck_assert_int_eq(form("malloc"), FM_PATTERN_EXACT);
    ck_assert_int_eq(form("mem*"), FM_PATTERN_GLOB);
    ck_assert_int_eq(form("a?c"), FM_PATTERN_GLOB);
    ck_assert_int_eq(form("/^m/"), FM_PATTERN_REGEX);
    ck_assert_int_eq(form("/a|b/i"), FM_PATTERN_REGEX);
    ck_assert_int_eq(form("/a\\/b/i"), FM_PATTERN_REGEX);
    ck_assert_int_eq(form("/usr/lib/"), FM_PATTERN_REGEX);
    ck_assert_int_eq(form("/usr/bin/x"), FM_PATTERN_EXACT);
    ck_assert_int_eq(form("/usr/bin/xisx"), FM_PATTERN_EXACT);
    ck_assert_int_eq(form("/"), FM_PATTERN_EXACT);
    ck_assert_int_eq(form("/a"), FM_PATTERN_EXACT);
    ck_assert_int_eq(form(""), FM_PATTERN_EXACT);
    struct fm_pattern *p;
    ck_assert_int_eq(fm_pattern_new(&mem, "f(char*)", 8, true, &p, NULL), FM_OK);
    ck_assert_int_eq(fm_pattern_form(p), FM_PATTERN_EXACT);
    ck_assert(fm_pattern_match(p, "f(char*)", 8));
    ck_assert(!fm_pattern_match(p, "f(charx)", 8));
    fm_pattern_free(p);
    ck_assert_uint_eq(atomic_load(&mem.used), 0);
}
END_TEST

START_TEST(globs)
{
    ck_assert(matches("mem*", "memcpy"));
    ck_assert(matches("mem*", "mem"));
    ck_assert(!matches("mem*", "xmem"));
    ck_assert(matches("*a*b*c", "xxaxxbxbxc"));
    ck_assert(!matches("*a*b*c", "xxaxxbxbx"));
    ck_assert(matches("a?c", "a\xc3\xa4"
                             "c"));
    ck_assert(!matches("a?c", "ac"));
    ck_assert(matches("a?c", "a\xff"
                             "c"));
    ck_assert(matches("*", ""));
    ck_assert(!matches("?", ""));
    ck_assert(matches("**", "x"));
    ck_assert(!matches("[a]*", "abc"));
    /* Exponential for a matcher that tries every star anew. */
    ck_assert(!matches("*a*a*a*a*a*a*a*a*a*a*a*a*b",
                       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}
END_TEST

START_TEST(regexes)
{
    ck_assert(matches("/^m.*c$/", "malloc"));
    ck_assert(!matches("/^M.*c$/", "malloc"));
    ck_assert(matches("/^M.*c$/i", "malloc"));
    ck_assert(matches("/a.b/s", "a\nb"));
    ck_assert(!matches("/a.b/", "a\nb"));
    ck_assert(matches("/a b/x", "ab"));
    ck_assert(matches("/^.$/", "\xc3\xa4"));
    ck_assert(matches("/b$/", "\xff\xfe"
                              "b"));
    ck_assert(!matches("/^.$/", "\xff"));
}
END_TEST

START_TEST(errors_have_a_place)
{
    struct fm_pattern *p;
    struct fm_error err = {0};
    ck_assert_int_eq(fm_pattern_new(&mem, "/a(b/", 5, false, &p, &err), FM_CONFIG);
    ck_assert_ptr_null(p);
    ck_assert_str_eq(err.message, "bad regular expression: missing closing parenthesis");
    ck_assert_uint_eq(err.column, 5);
    memset(&err, 0, sizeof err);
    ck_assert_int_eq(fm_pattern_new_regex(&mem, "a*", 2, "i", &p, &err), FM_OK);
    fm_pattern_free(p);
    ck_assert_int_eq(fm_pattern_new_regex(&mem, "a\\", 2, NULL, &p, &err), FM_CONFIG);
    ck_assert_uint_eq(err.column, 3);
    memset(&err, 0, sizeof err);
    ck_assert_int_eq(fm_pattern_new_regex(&mem, "a", 1, "g", &p, &err), FM_CONFIG);
    ck_assert_uint_eq(atomic_load(&mem.used), 0);
}
END_TEST

START_TEST(captures)
{
    struct fm_pattern *p;
    static const char re[] = "^(?<comm>.+?)-(?<pid>\\d+)( x)?$";
    static const char line[] = "a-b-12";
    size_t at[8], group;
    ck_assert_int_eq(fm_pattern_new_regex(&mem, re, strlen(re), NULL, &p, NULL), FM_OK);
    ck_assert_uint_eq(fm_pattern_groups(p), 4);
    ck_assert_uint_eq(fm_pattern_captures(p, line, 6, 0, at, 4), 4);
    ck_assert_uint_eq(at[2], 0);
    ck_assert_uint_eq(at[3], 3);
    ck_assert_uint_eq(at[4], 4);
    ck_assert_uint_eq(at[5], 6);
    ck_assert_uint_eq(at[6], SIZE_MAX);
    ck_assert_uint_eq(fm_pattern_group(p, "pid"), 2);
    ck_assert_uint_eq(fm_pattern_group(p, "tid"), 0);
    ck_assert_str_eq(fm_pattern_group_name(p, 0, &group), "comm");
    ck_assert_uint_eq(group, 1);
    ck_assert_ptr_null(fm_pattern_group_name(p, 2, &group));
    ck_assert_uint_eq(fm_pattern_captures(p, line, 5, 0, at, 4), 4);
    ck_assert_uint_eq(fm_pattern_captures(p, line, 3, 0, at, 4), 0);
    ck_assert_uint_eq(fm_pattern_captures(p, line, 3, 4, at, 4), 0);
    fm_pattern_free(p);
}
END_TEST

START_TEST(hostile_regex_ends)
{
    char text[64];
    memset(text, 'a', sizeof text);
    struct fm_pattern *p = make("/^(a+)+(a+)+(a+)+$/");
    text[63] = 'b';
    ck_assert(!fm_pattern_match(p, text, sizeof text));
    fm_pattern_free(p);
}
END_TEST

START_TEST(matching_allocates_nothing)
{
    struct fm_pattern *p = make("/(a|b)*c/");
    fm_pattern_match(p, "abababac", 8);
    unsigned long long before = atomic_load(&mem.allocations);
    for (int i = 0; i < 1000; i++)
        ck_assert(fm_pattern_match(p, "abababac", 8));
    ck_assert_uint_eq(atomic_load(&mem.allocations), before);
    fm_pattern_free(p);
    ck_assert_uint_eq(atomic_load(&mem.used), 0);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    static const char *const texts[] = {"malloc", "m*", "/(?<a>x)|y/i"};
    for (size_t i = 0; i < FM_COUNT(texts); i++) {
        bool done = false;
        for (uint64_t k = 1; k < 100 && !done; k++) {
            struct fm_pattern *p;
            fm_mem_init(&mem, 0);
            mem.fail_at = k;
            enum fm_status s = fm_pattern_new(&mem, texts[i], strlen(texts[i]), false, &p, NULL);
            done = atomic_load(&mem.allocations) < k;
            ck_assert(s == FM_OK || (s == FM_NOMEM && !p));
            ck_assert(!done || s == FM_OK);
            if (s == FM_OK)
                ck_assert_int_eq(fm_pattern_match(p, "x", 1), i == 2);
            fm_pattern_free(p);
            ck_assert_uint_eq(atomic_load(&mem.used), 0);
        }
        ck_assert(done);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pattern");
    TCase *t = tcase_create("pattern");
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, forms);
    tcase_add_test(t, globs);
    tcase_add_test(t, regexes);
    tcase_add_test(t, errors_have_a_place);
    tcase_add_test(t, captures);
    tcase_add_test(t, hostile_regex_ends);
    tcase_add_test(t, matching_allocates_nothing);
    tcase_add_test(t, every_allocation_may_fail);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
