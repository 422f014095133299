/*
 * test_json.c - the JSON scanner: tokens, windows of every size, tolerance, limits, exact numbers.
 */
#include "util/json.h"
#include "util/text.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* A window that shows just what is asked for, in a block of its own: sanitizers see each step. */
struct source {
    const char *text;
    size_t n, at, step;
    unsigned char *window;
};

static bool more(void *user, size_t used, size_t need, const unsigned char **data, size_t *n)
{
    struct source *s = user;
    s->at += used;
    *n = FM_MIN(need + s->step, s->n - s->at);
    unsigned char *fresh = malloc(*n + 1);
    memcpy(fresh, s->text + s->at, *n);
    free(s->window);
    s->window = realloc(fresh, *n ? *n : 1);
    *data = s->window;
    return true;
}

/* The tokens as text: "{ k:a s:b n:1 t f 0 [ ] }" and "!cut" for an error. */
static void tokens(struct fm_json *j, char *out, size_t cap)
{
    static const char *const errors[] = {"", "!cut", "!syntax", "!deep", "!long", "!source"};
    size_t used = 0;
    out[0] = '\0';
    for (;;) {
        enum fm_json_token t = fm_json_next(j);
        char part[300] = "";
        int n = j->n > 200 ? 200 : (int)j->n;
        switch (t) {
        case FM_JSON_ERROR: snprintf(part, sizeof part, "%s", errors[j->error]); break;
        case FM_JSON_OBJECT: snprintf(part, sizeof part, "{ "); break;
        case FM_JSON_OBJECT_END: snprintf(part, sizeof part, "} "); break;
        case FM_JSON_ARRAY: snprintf(part, sizeof part, "[ "); break;
        case FM_JSON_ARRAY_END: snprintf(part, sizeof part, "] "); break;
        case FM_JSON_KEY: snprintf(part, sizeof part, "k:%.*s ", n, j->text); break;
        case FM_JSON_STRING: snprintf(part, sizeof part, "s:%.*s ", n, j->text); break;
        case FM_JSON_NUMBER: snprintf(part, sizeof part, "n:%.*s ", n, j->text); break;
        case FM_JSON_TRUE: snprintf(part, sizeof part, "t "); break;
        case FM_JSON_FALSE: snprintf(part, sizeof part, "f "); break;
        case FM_JSON_NULL: snprintf(part, sizeof part, "0 "); break;
        case FM_JSON_END: break;
        }
        size_t len = strlen(part);
        if (used + len + 1 < cap) {
            memcpy(out + used, part, len + 1);
            used += len;
        }
        if (t <= FM_JSON_END)
            return;
    }
}

/* The same tokens for every size of window. */
static void scans(const char *text, const char *expected)
{
    char out[4096];
    struct fm_json j;
    fm_json_init_memory(&j, text, strlen(text));
    tokens(&j, out, sizeof out);
    ck_assert_str_eq(out, expected);
    for (size_t step = 0; step < 40; step += 1 + step / 8) {
        struct source s = {.text = text, .n = strlen(text), .step = step};
        fm_json_init(&j, more, &s);
        tokens(&j, out, sizeof out);
        ck_assert_msg(strcmp(out, expected) == 0, "step %u: %s", (unsigned)step, out);
        free(s.window);
    }
}

START_TEST(all_tokens)
{
    scans("", "");
    scans("  \n", "");
    scans("{}", "{ } ");
    scans("[1, -2.5e+3,\"a\", true,false,null,{}]",
          "[ n:1 n:-2.5e+3 s:a t f 0 { } ] ");
    scans("{\"traceEvents\" : [ {\"name\":\"a long name of many bytes\",\"ts\":12.345} ]}",
          "{ k:traceEvents [ { k:name s:a long name of many bytes k:ts n:12.345 } ] } ");
    scans("1 2", "n:1 n:2 ");
    scans("\"a\\\"b\\\\\"", "s:a\\\"b\\\\ ");
}
END_TEST

START_TEST(tolerated)
{
    scans("[,1,,2,]", "[ n:1 n:2 ] ");
    scans("{\"a\":1 \"b\":2,}", "{ k:a n:1 k:b n:2 } ");
    scans("[NaN,-Infinity,Infinity,undefined]", "[ 0 0 0 0 ] ");
    scans("[+1,.5,5.]", "[ n:+1 n:.5 n:5. ] ");
    scans("[\"a\nb\tc\"]", "[ s:a\nb\tc ] ");
}
END_TEST

START_TEST(refused)
{
    scans("[1", "[ n:1 !cut");
    scans("{\"a\"", "{ !cut");
    scans("{\"a\":", "{ k:a !cut");
    scans("\"abc", "!cut");
    scans("\"abc\\", "!cut");
    scans("[1}", "[ n:1 !syntax");
    scans("]", "!syntax");
    scans("{1:2}", "{ !syntax");
    scans("{\"a\"1}", "{ !syntax");
    scans("{\"a\":}", "{ k:a !syntax");
    scans("[=]", "[ !syntax");
}
END_TEST

START_TEST(offsets_and_commas)
{
    static const char text[] = "{\"a\": 1,,\n\"b\":[2]}";
    struct fm_json j;
    fm_json_init_memory(&j, text, strlen(text));
    ck_assert_int_eq(fm_json_next(&j), FM_JSON_OBJECT);
    ck_assert_int_eq(fm_json_next(&j), FM_JSON_KEY);
    ck_assert_uint_eq(j.at, 1);
    ck_assert_int_eq(fm_json_next(&j), FM_JSON_NUMBER);
    ck_assert_uint_eq(j.at, 6);
    ck_assert_int_eq(fm_json_next(&j), FM_JSON_KEY);
    ck_assert_uint_eq(j.at, 10);
    ck_assert_uint_eq(j.commas, 2);
}
END_TEST

START_TEST(skipping)
{
    static const char text[] =
        "{\"a\":{\"x\":[1,{\"]\":\"}\\\"]\"}]},\"b\":7,\"c\":[[[]]],\"d\":\"e\",\"f\":[1,2]}";
    for (size_t step = 0; step < 30; step++) {
        struct source s = {.text = text, .n = strlen(text), .step = step};
        struct fm_json j;
        fm_json_init(&j, more, &s);
        ck_assert_int_eq(fm_json_next(&j), FM_JSON_OBJECT);
        for (const char *key = "abcd"; *key; key++) {
            ck_assert_int_eq(fm_json_next(&j), FM_JSON_KEY);
            ck_assert_int_eq(j.text[0], *key);
            ck_assert(fm_json_skip(&j, FM_JSON_KEY));
        }
        ck_assert_int_eq(fm_json_next(&j), FM_JSON_KEY);
        ck_assert_int_eq(fm_json_next(&j), FM_JSON_ARRAY);
        ck_assert(fm_json_skip(&j, FM_JSON_ARRAY));
        ck_assert_int_eq(fm_json_next(&j), FM_JSON_OBJECT_END);
        ck_assert_int_eq(fm_json_next(&j), FM_JSON_END);
        free(s.window);
    }
}
END_TEST

START_TEST(depth)
{
    size_t n = 100000;
    char *text = malloc(2 * n + 6);
    struct fm_json j;
    memset(text, '[', n);
    memset(text + n, ']', n);
    fm_json_init_memory(&j, text, 2 * n);
    for (size_t i = 0; i < FM_JSON_DEPTH; i++)
        ck_assert_int_eq(fm_json_next(&j), FM_JSON_ARRAY);
    ck_assert_int_eq(fm_json_next(&j), FM_JSON_ERROR);
    ck_assert_int_eq(j.error, FM_JSON_DEEP);
    fm_json_init_memory(&j, text, 2 * n);
    ck_assert_int_eq(fm_json_next(&j), FM_JSON_ARRAY);
    ck_assert(fm_json_skip(&j, FM_JSON_ARRAY));
    ck_assert_int_eq(fm_json_next(&j), FM_JSON_END);
    free(text);
}
END_TEST

static bool broken(void *user FM_UNUSED, size_t used FM_UNUSED, size_t need FM_UNUSED,
                   const unsigned char **data FM_UNUSED, size_t *n FM_UNUSED)
{
    return false;
}

START_TEST(a_source_that_fails)
{
    struct fm_json j;
    fm_json_init(&j, broken, NULL);
    ck_assert_int_eq(fm_json_next(&j), FM_JSON_ERROR);
    ck_assert_int_eq(j.error, FM_JSON_SOURCE);
}
END_TEST

static void unescaped(const char *s, const char *expected)
{
    char to[100];
    size_t n = fm_json_unescape(s, strlen(s), to);
    ck_assert_uint_le(n, strlen(s));
    to[n] = '\0';
    ck_assert_str_eq(to, expected);
}

START_TEST(escapes)
{
    unescaped("a\\n\\t\\\"\\\\\\/b", "a\n\t\"\\/b");
    unescaped("\\u0041\\u00e4\\u20ac", "A\xc3\xa4\xe2\x82\xac");
    unescaped("\\ud83d\\ude00", "\xf0\x9f\x98\x80");
    unescaped("\\ud83dx", "\xef\xbf\xbdx");
    unescaped("\\ude00", "\xef\xbf\xbd");
    unescaped("C:\\cuda\\x", "C:\\cuda\\x");
    unescaped("\\u12", "\\u12");
    unescaped("\\u0x12", "\\u0x12");
    unescaped("\\", "\\");
}
END_TEST

static void scaled(const char *s, int64_t scale, int64_t expected)
{
    int64_t v = 12345;
    ck_assert_msg(fm_json_scaled(s, strlen(s), scale, &v), "%s", s);
    ck_assert_msg(v == expected, "%s: %lld", s, (long long)v);
}

START_TEST(exact_decimals)
{
    int64_t v;
    scaled("1732107143473442.569", 1000, 1732107143473442569);
    scaled("0.0005", 1000, 1);
    scaled("0.0004", 1000, 0);
    scaled("0.00049999999999999999999999999999999999999999999", 1000, 0);
    scaled("-0.0005", 1000, -1);
    scaled("-33000", 1000, -33000000);
    scaled("1e3", 1, 1000);
    scaled("1.5e-1", 1000, 150);
    scaled("+2.5", 1, 3);
    scaled(".75", 100, 75);
    scaled("246.", 1, 246);
    scaled("9223372036854775807", 1, INT64_MAX);
    scaled("-9223372036854775808", 1, INT64_MIN);
    scaled("0e99999", 1, 0);
    scaled("1234.567890", 1000000000, 1234567890000);
    scaled("0.1e-50", 1000, 0);
    ck_assert(!fm_json_scaled("9223372036854775808", 19, 1, &v));
    ck_assert(!fm_json_scaled("1e19", 4, 1, &v));
    ck_assert(!fm_json_scaled("9e99999", 7, 1, &v));
    ck_assert(!fm_json_scaled("1.5e", 4, 1, &v));
    ck_assert(!fm_json_scaled(".", 1, 1, &v));
    ck_assert(!fm_json_scaled("+", 1, 1, &v));
    ck_assert(!fm_json_scaled("", 0, 1, &v));
    ck_assert(!fm_json_scaled("1x", 2, 1, &v));
    ck_assert(!fm_json_scaled("1.2.3", 5, 1, &v));
}
END_TEST

/* ------------------------------------------------------------------ numbers by their digits */

/* A random decimal; its value is digits / 10^places. */
struct decimal {
    char text[160], digits[160];
    int places;
    bool minus;
};

static uint32_t pick(uint32_t *x, uint32_t n)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    return *x % n;
}

static void make(struct decimal *d, uint32_t *x)
{
    static const unsigned whole[] = {0, 1, 3, 7, 8, 9, 15, 16, 17, 19, 20};
    static const unsigned part[] = {0, 0, 1, 3, 4, 6, 7, 9, 16, 17, 40};
    unsigned w = whole[pick(x, FM_COUNT(whole))], p = part[pick(x, FM_COUNT(part))];
    size_t n = 0, k = 0;
    if (w + p == 0)
        w = 1;
    for (uint32_t blanks = pick(x, 4) ? 0 : pick(x, 3); blanks > 0; blanks--)
        d->text[n++] = ' ';
    uint32_t sign = pick(x, 6);
    d->minus = sign == 0;
    if (sign < 2)
        d->text[n++] = sign == 0 ? '-' : '+';
    bool fives = pick(x, 4) == 0; /* halves: 5, then zeros */
    for (unsigned i = 0; i < w + p; i++) {
        if (i == w)
            d->text[n++] = '.';
        char c = (char)('0' + (fives && i >= w ? (i == w + 3 || i == w + 6) * 5 : pick(x, 10)));
        d->text[n++] = d->digits[k++] = c;
    }
    if (p == 0 && pick(x, 4) == 0)
        d->text[n++] = '.';
    d->digits[k] = '\0';
    d->places = (int)p;
    if (pick(x, 5) == 0) {
        int e = (int)pick(x, 13) - 6;
        n += (size_t)snprintf(d->text + n, 8, "%c%s%d", pick(x, 2) ? 'e' : 'E',
                              e >= 0 && pick(x, 2) ? "+" : "", e);
        d->places -= e;
    }
    if (pick(x, 4) == 0)
        d->text[n++] = '\t';
    d->text[n] = '\0';
}

/* d times 10^power as an integer, the rest rounded or cut off; false: more than 64 bits. */
static bool by_digits(const struct decimal *d, int power, bool cut, int64_t *out)
{
    char s[200];
    int n = (int)strlen(d->digits), keep = n - d->places + power, k = 0;
    s[k++] = d->minus ? '-' : '+';
    for (int i = 0; i < keep; i++)
        s[k++] = i < n ? d->digits[i] : '0';
    if (keep <= 0)
        s[k++] = '0';
    s[k] = '\0';
    if (!cut && keep >= 0 && keep < n && d->digits[keep] >= '5') {
        int i = k - 1;
        while (i > 0 && s[i] == '9')
            s[i--] = '0';
        if (i > 0) {
            s[i]++;
        } else {
            memmove(s + 2, s + 1, (size_t)k);
            s[1] = '1';
            k++;
        }
    }
    return fm_text_i64(s, (size_t)k, out);
}

START_TEST(random_decimals)
{
    uint32_t x = 7;
    for (unsigned round = 0; round < 20000; round++) {
        struct decimal d;
        int64_t v = 0, expected = 0, factor = 1;
        make(&d, &x);
        int power = (int)pick(&x, 10);
        for (int i = 0; i < power; i++)
            factor *= 10;
        bool fits = by_digits(&d, power, false, &expected);
        ck_assert_msg(fm_json_scaled(d.text, strlen(d.text), factor, &v) == fits, "'%s'", d.text);
        ck_assert_msg(!fits || v == expected, "'%s' * %lld: %lld", d.text, (long long)factor,
                      (long long)v);
        struct fm_json_time t;
        fits = by_digits(&d, 6, true, &expected);
        bool got = fm_json_micros(d.text, strlen(d.text), &t);
        if (fits)
            ck_assert_msg(got && t.ps < 1000 && t.rest < 1000000000 &&
                              t.ns * 1000 + (int64_t)t.ps + (d.minus && t.rest > 0) == expected,
                          "'%s': %lld ns %u ps", d.text, (long long)t.ns, t.ps);
        else if (got) /* beyond 64 bits of picoseconds: whole nanoseconds alone */
            ck_assert_msg(by_digits(&d, 3, true, &expected) &&
                          expected == t.ns + (d.minus && t.ps + t.rest > 0), "'%s'", d.text);
    }
}
END_TEST

static void sum_is(const char *ts, const char *dur, int64_t expected)
{
    struct fm_json_time a, b, sum;
    int64_t ns;
    ck_assert(fm_json_micros(ts, strlen(ts), &a));
    ck_assert(fm_json_micros(dur, strlen(dur), &b));
    ck_assert(fm_json_time_add(a, b, &sum));
    ck_assert(fm_json_time_round(sum, &ns));
    ck_assert_msg(ns == expected, "%s + %s: %lld", ts, dur, (long long)ns);
}

START_TEST(sums_of_times)
{
    struct fm_json_time t, sum;
    int64_t ns;
    sum_is("0.0004", "0", 0);
    sum_is("0.0005", "0", 1);
    sum_is("-0.0004", "0", 0);
    sum_is("-0.0005", "0", -1);
    sum_is("-0.0006", "0", -1);
    sum_is("-1.0015", "0", -1002);
    sum_is("-1.0014", "0", -1001);
    sum_is("0.0003", "0.0002", 1);
    sum_is("0.0004", "0.0005", 1);
    sum_is("-0.0003", "0.0002", 0);
    sum_is("-33000", "33000.0005", 1);
    sum_is("1732107143473442.569", "0.4305", 1732107143473443000);
    sum_is(" 12.5 ", "1e3", 1012500);
    sum_is("1.0004999999999999", "0.0000009999999999", 1001);
    sum_is("1.00049999999999994", "0.000000000000000e0", 1000);
    sum_is("-2.99949999", "0.4999999999", -2499);
    sum_is("-2.4999999999", "0.0005000000001", -2499);
    sum_is("-0.000499999999999", "0", 0);
    sum_is("-0.00050000000000001", "0", -1);
    ck_assert(fm_json_micros("9223372036854775.8", 18, &t));
    ck_assert(!fm_json_micros("9223372036854775.9", 18, &t));
    ck_assert(!fm_json_micros("1e300", 5, &t));
    ck_assert(!fm_json_micros("100a", 4, &t));
    ck_assert(!fm_json_micros("invalid", 7, &t));
    ck_assert(!fm_json_micros("", 0, &t));
    ck_assert(!fm_json_micros("  ", 2, &t));
    ck_assert(!fm_json_micros(".", 1, &t));
    ck_assert(!fm_json_micros("1 2", 3, &t));
    t = (struct fm_json_time){INT64_MAX, 700, 0};
    ck_assert(!fm_json_time_round(t, &ns));
    ck_assert(!fm_json_time_add(t, t, &sum));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("json");
    TCase *t = tcase_create("json");
    tcase_add_test(t, all_tokens);
    tcase_add_test(t, tolerated);
    tcase_add_test(t, refused);
    tcase_add_test(t, offsets_and_commas);
    tcase_add_test(t, skipping);
    tcase_add_test(t, depth);
    tcase_add_test(t, a_source_that_fails);
    tcase_add_test(t, escapes);
    tcase_add_test(t, exact_decimals);
    tcase_add_test(t, random_decimals);
    tcase_add_test(t, sums_of_times);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
