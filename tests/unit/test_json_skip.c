/*
 * test_json_skip.c - each way to look at JSON 64 bytes at a time against a loop over its bytes:
 * every alignment and length, escapes at the borders of blocks, windows cut anywhere.
 */
#include "util/json_inner.h"

#include <check.h>
#include <stdlib.h>

static uint32_t seed = 99;

static uint32_t pick(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed % n;
}

/* What JSON is made of, more often than chance would have it. */
static void fill(unsigned char *s, size_t n)
{
    static const char bytes[] = "\"\"\"\\\\{}[],: \n\naa1\x01\x80\xff";
    uint32_t kinds = 1 + pick(sizeof bytes - 1);
    for (size_t i = 0; i < n; i++)
        s[i] = (unsigned char)bytes[pick(kinds)];
    if (pick(3) == 0) /* a long run of one */
        memset(s, bytes[pick(sizeof bytes - 1)], n / 2);
    if (pick(3) == 0 && n > 66) /* across a border of blocks */
        memcpy(s + 62, "\\\\\\\"", 4);
}

static const struct fm_json_vector *vector(unsigned i, bool *known)
{
    const struct fm_json_vector *v = fm_json_vector_get(i, known);
    return v ? v : fm_json_vector_get(0, &(bool){false});
}

/* Calls test with bytes that end where their block ends, at every alignment. */
static void each(void (*test)(const struct fm_json_vector *, const unsigned char *, size_t))
{
    bool known = true;
    const struct fm_json_vector *v = vector(0, &known);
    for (unsigned i = 0; known; v = vector(++i, &known)) {
        for (size_t n = 0; n < 400; n++) {
            unsigned char *block = malloc(64 + n);
            size_t from = n % 64;
            fill(block + from, n);
            memset(block, '"', from);
            unsigned char *exact = realloc(block, from + n ? from + n : 1);
            test(v, exact + from, n);
            free(exact);
        }
    }
}

/* ------------------------------------------------------------------ searches */

static void special(const struct fm_json_vector *v, const unsigned char *s, size_t n)
{
    for (size_t from = 0; from <= n; from++) {
        size_t i = from;
        while (i < n && s[i] != '"' && s[i] != '\\')
            i++;
        ck_assert_ptr_eq(v->special(s + from, s + n), s + i);
        ck_assert_ptr_eq(fm_json_quote(s + from, s + n, v), s + i);
        i = from;
        while (i < n && s[i] > ' ' && !strchr(",:\"{}[]", s[i]))
            i++;
        ck_assert_ptr_eq(fm_json_word_end(s + from, s + n), s + i);
    }
}

START_TEST(searches)
{
    each(special);
}
END_TEST

static void lines(const struct fm_json_vector *v, const unsigned char *s, size_t n)
{
    uint64_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += s[i] == '\n';
    ck_assert_uint_eq(v->lines(s, s + n), count);
}

START_TEST(line_ends)
{
    each(lines);
    size_t n = 100003;
    unsigned char *s = malloc(n);
    memset(s, '\n', n);
    bool known = true;
    const struct fm_json_vector *v = vector(0, &known);
    for (unsigned i = 0; known; v = vector(++i, &known))
        ck_assert_uint_eq(v->lines(s, s + n), n);
    free(s);
}
END_TEST

/* ------------------------------------------------------------------ nested values */

/* The slow way; returns where it ends, or n. */
static size_t slow_skip(const unsigned char *s, size_t n, uint64_t depth)
{
    bool inside = false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\\') {
            i++;
            if (i < n && s[i] != '"' && s[i] != '\\')
                i--; /* only quotes and backslashes mean something else behind one */
            continue;
        }
        if (s[i] == '"')
            inside = !inside;
        if (inside)
            continue;
        if (s[i] == '{' || s[i] == '[')
            depth++;
        else if ((s[i] == '}' || s[i] == ']') && depth-- <= 1)
            return i + 1;
    }
    return n + 1; /* not within these bytes */
}

/* In pieces of up to `piece` bytes. */
static size_t skip(const struct fm_json_vector *v, const unsigned char *s, size_t n,
                   uint64_t depth, size_t piece)
{
    struct fm_json_skip state = {0, 0, depth};
    for (size_t at = 0; at < n;) {
        size_t k = FM_MIN(piece, n - at);
        const unsigned char *p = s + at;
        if (v->skip(&state, &p, s + at + k))
            return (size_t)(p - s);
        ck_assert_ptr_eq(p, s + at + k);
        at += k;
    }
    return n + 1;
}

static void skips(const struct fm_json_vector *v, const unsigned char *s, size_t n)
{
    for (uint64_t depth = 1; depth < 40; depth = depth * 2 + 1) {
        size_t expected = slow_skip(s, n, depth);
        ck_assert_uint_eq(skip(v, s, n, depth, n), expected);
        ck_assert_uint_eq(skip(v, s, n, depth, 1), expected);
        ck_assert_uint_eq(skip(v, s, n, depth, 1 + pick(100)), expected);
    }
}

START_TEST(nested)
{
    each(skips);
}
END_TEST

/* ------------------------------------------------------------------ marks */

static size_t slow_marks(const unsigned char *s, size_t n, uint32_t *pos)
{
    size_t count = 0;
    bool inside = false, hidden = false;         /* behind a backslash that counts */
    /* what the byte before was */
    bool closing = false, bracket = false, colon = false, word = false;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = s[i];
        bool quote = c == '"' && !hidden, slash = c == '\\' && !hidden;
        hidden = slash;
        if (quote) {
            pos[count++] = (uint32_t)i;
            closing = inside;
            inside = !inside;
            bracket = colon = word = false;
            continue;
        }
        if (inside) {
            if (slash)
                pos[count++] = (uint32_t)i;
            closing = bracket = colon = word = false;
            continue;
        }
        bool is_bracket = c == '{' || c == '}' || c == '[' || c == ']';
        bool single = is_bracket || c == ',' || c == ':';
        bool is_word = !single && c > ' ';
        bool direct_colon = c == ':' && closing;
        bool direct_comma = c == ',' && (closing || bracket);
        if ((single && !direct_colon && !direct_comma) || (is_word && !word && !colon))
            pos[count++] = (uint32_t)i;
        closing = false;
        bracket = is_bracket;
        colon = direct_colon;
        word = is_word;
    }
    return count;
}

static void marks(const struct fm_json_vector *v, const unsigned char *s, size_t n)
{
    static struct fm_json_marks m;
    static uint32_t expected[8192];
    size_t count = slow_marks(s, n, expected), i = 0;
    uint32_t pos;
    fm_json_marks_start(&m, s, s, s + n);
    for (; fm_json_mark(&m, v, &pos); i++) {
        ck_assert_uint_lt(i, count);
        ck_assert_uint_eq(pos, expected[i]);
    }
    ck_assert_uint_eq(i, count);
}

START_TEST(all_marks)
{
    each(marks);
    bool known = true;
    const struct fm_json_vector *v = vector(0, &known);
    for (unsigned i = 0; known; v = vector(++i, &known)) {
        for (size_t n = FM_JSON_CHUNK - 70; n < FM_JSON_CHUNK * 3; n += 61) {
            unsigned char *s = malloc(n);
            fill(s, n);
            marks(v, s, n);
            free(s);
        }
    }
}
END_TEST

START_TEST(the_best_is_there)
{
    bool known = true, found = false;
    const struct fm_json_vector *best = fm_json_vector_best();
    for (unsigned i = 0; known; i++)
        found |= fm_json_vector_get(i, &known) == best;
    ck_assert(found);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("json_skip");
    TCase *t = tcase_create("json_skip");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, searches);
    tcase_add_test(t, line_ends);
    tcase_add_test(t, nested);
    tcase_add_test(t, all_marks);
    tcase_add_test(t, the_best_is_there);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
