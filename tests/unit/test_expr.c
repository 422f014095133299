/*
 * test_expr.c - expressions: precedence, units, three-valued logic, exact integers, errors.
 */
#include "util/expr.h"

#include "util/error.h"
#include "util/out.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

static struct fm_mem mem;
static struct fm_arena arena;
static struct fm_yaml_log log_;

static void setup(void)
{
    fm_mem_init(&mem, 0);
    fm_arena_init(&arena, &mem);
}

static void teardown(void)
{
    fm_arena_release(&arena);
}

/* The fields that the tests know. */
static const char *const names[] = {"dur", "bytes", "n", "name", "nothing", "yes"};

static bool name(void *user FM_UNUSED, struct fm_expr *node)
{
    if (strcmp(node->name, "$p") == 0) {
        node->op = FM_EXPR_CONST;
        node->value = fm_value_i64(42);
        return true;
    }
    for (uint32_t i = 0; i < FM_COUNT(names); i++) {
        if (strcmp(names[i], node->name) == 0) {
            node->ref = i;
            node->unit = i == 0 ? "ns" : i == 1 ? "bytes" : "";
            return true;
        }
    }
    return false;
}

static bool call(void *user FM_UNUSED, struct fm_expr *node)
{
    node->ref = 100;
    return strcmp(node->name, "stack.has") == 0 || strcmp(node->name, "sum") == 0 ||
           strcmp(node->name, "max") == 0;
}

static struct fm_value get(void *user FM_UNUSED, const struct fm_expr *node)
{
    switch (node->ref) {
    case 0: return fm_value_i64(2000000);
    case 1: return fm_value_u64(4096);
    case 2: return fm_value_i64(7);
    case 3: return fm_value_text("malloc", 6);
    case 5: return fm_value_bool(true);
    case 100: return fm_value_i64((int64_t)node->args);
    default: return fm_value_null();
    }
}

static const struct fm_expr_names resolver = {
    .name = name, .call = call, .list = names, .lists = FM_COUNT(names)};

static struct fm_expr *parse(const char *text)
{
    fm_yaml_log_init(&log_, &arena);
    return fm_expr_parse(&arena, NULL, text, strlen(text), &resolver, &log_);
}

/* The value as text: "5", "0.5", "true", "null", "'x'". */
static const char *value(const char *text)
{
    static char buf[64];
    struct fm_out out;
    struct fm_expr *e = parse(text);
    ck_assert_msg(e != NULL, "%s", log_.text);
    struct fm_value v = fm_expr_eval(e, get, NULL);
    ck_assert_int_eq(fm_out_init(&out, &mem, NULL), FM_OK);
    switch (v.type) {
    case FM_NULL: fm_out_text(&out, "null"); break;
    case FM_BOOL: fm_out_text(&out, v.b ? "true" : "false"); break;
    case FM_I64: fm_out_i64(&out, v.i); break;
    case FM_U64: fm_out_u64(&out, v.u); fm_out_text(&out, "u"); break;
    case FM_F64: fm_out_f64(&out, v.f); fm_out_text(&out, "f"); break;
    case FM_TEXT: fm_out_printf(&out, "'%.*s'", (int)v.text.n, v.text.s); break;
    }
    ck_assert_uint_lt(out.n, sizeof buf);
    memcpy(buf, out.buf, out.n);
    buf[out.n] = '\0';
    fm_out_release(&out);
    return buf;
}

#define VALUE(text, expected) ck_assert_str_eq(value(text), expected)

START_TEST(precedence)
{
    VALUE("1 + 2 * 3", "7");
    VALUE("(1 + 2) * 3", "9");
    VALUE("10 - 2 - 3", "5");
    VALUE("-2 * -3", "6");
    VALUE("- n + 1", "-6");
    VALUE("7 % 4 + 1", "4");
    VALUE("not 1 == 2", "true");
    VALUE("not yes and false", "false");
    VALUE("not (yes and false)", "true");
    VALUE("true or false and false", "true");
    VALUE("1 < 2 and 2 < 3", "true");
    VALUE("n + 1 if n > 5", "8");
    VALUE("n if n > 50", "null");
    VALUE("if(n > 50, 1, 2)", "2");
    VALUE("1 if yes if yes", "1");
}
END_TEST

START_TEST(literals)
{
    VALUE("10ms", "10000000");
    VALUE("1.5s", "1500000000");
    VALUE("4KiB", "4096");
    VALUE("5%", "0.05f");
    VALUE("n > 5% and yes", "true");
    VALUE("9%5", "4");
    VALUE("1e3", "1000");
    VALUE("1e-3", "0.001f");
    VALUE(".5", "0.5f");
    VALUE("0x1F", "31");
    VALUE("18446744073709551615", "18446744073709551615u");
    VALUE("9223372036854775807", "9223372036854775807");
    VALUE("'it''s'", "'it's'");
    VALUE("\"a'b\"", "'a'b'");
    VALUE("null", "null");
    VALUE("$p + 1", "43");
    VALUE("`n` * 2", "14");
}
END_TEST

START_TEST(integers_stay_exact)
{
    VALUE("9223372036854775807 + 1", "9223372036854775808u");
    VALUE("18446744073709551615 - 18446744073709551614", "1");
    VALUE("4294967296 * 4294967295", "18446744069414584320u");
    VALUE("18446744073709551615 * 18446744073709551615", "3.402823669209385e+38f");
    VALUE("0 - 9223372036854775807 - 2", "-9.223372036854776e+18f");
    VALUE("7 / 2", "3.5f");
    VALUE("6 / 2", "3f");
    VALUE("-7 % 3", "-1");
    VALUE("7.5 % 2", "1.5f");
    VALUE("n / 0", "null");
    VALUE("n % 0", "null");
    VALUE("abs(-9223372036854775807 - 1)", "9223372036854775808u");
    VALUE("9007199254740993 == 9007199254740992.0", "false");
    VALUE("9007199254740993 > 9007199254740992.0", "true");
    VALUE("18446744073709551615 < 1e30", "true");
    VALUE("-1 < 18446744073709551615", "true");
}
END_TEST

START_TEST(three_valued)
{
    VALUE("nothing == 1", "null");
    VALUE("not nothing", "null");
    VALUE("nothing and false", "false");
    VALUE("false and nothing", "false");
    VALUE("nothing and true", "null");
    VALUE("nothing or true", "true");
    VALUE("nothing or false", "null");
    VALUE("nothing + 1", "null");
    VALUE("coalesce(nothing, n)", "7");
    VALUE("coalesce(nothing, nothing)", "null");
    VALUE("min(nothing, 3, n)", "3");
    VALUE("max(nothing, 3, n)", "7");
    VALUE("if(nothing, 1, 2)", "2");
    VALUE("name == 5", "null");
    VALUE("name + 1", "null");
    VALUE("name == 'malloc'", "true");
    VALUE("name < 'mallod'", "true");
    VALUE("name != 'mallo'", "true");
    VALUE("yes == true", "true");
}
END_TEST

START_TEST(functions)
{
    VALUE("bucket(17, 5)", "15");
    VALUE("bucket(-1, 5)", "-5");
    VALUE("bucket(17, 0)", "null");
    VALUE("bucket(dur, 1ms)", "2000000");
    VALUE("bucket(1.7, 0.5)", "1.5f");
    VALUE("len('m\xc3\xa4h')", "3");
    VALUE("len(n)", "null");
    VALUE("sum(n, n)", "2");
    VALUE("max(n)", "1");
    VALUE("sum(n if name == 'x')", "1");
    VALUE("stack.has(function: /^(m|c|re)alloc$/)", "1");
    VALUE("stack.has(function: operator()(int, char*), module: libc*)", "2");
}
END_TEST

START_TEST(named_arguments_are_text)
{
    struct fm_expr *e = parse("stack.has(function: /^(m,|c)\\/x/i , module: 'a, b')");
    ck_assert_ptr_nonnull(e);
    ck_assert_uint_eq(e->args, 2);
    ck_assert_str_eq(e->arg_name[0], "function");
    ck_assert_str_eq(e->arg[0]->value.text.s, "/^(m,|c)\\/x/i");
    ck_assert_str_eq(e->arg_name[1], "module");
    ck_assert_str_eq(e->arg[1]->value.text.s, "a, b");
}
END_TEST

static void unit(const char *text, const char *expected)
{
    struct fm_expr *e = parse(text);
    ck_assert_msg(e != NULL, "%s", log_.text);
    ck_assert_str_eq(e->unit, expected);
}

START_TEST(units)
{
    unit("dur", "ns");
    unit("dur + 1ms", "ns");
    unit("dur * 2", "ns");
    unit("dur / 2", "ns");
    unit("dur / 1s", "");
    unit("dur * bytes", "");
    unit("dur > 1ms", "");
    unit("abs(dur)", "ns");
    unit("dur if yes", "ns");
    unit("if(yes, bytes, 0)", "bytes");
    unit("coalesce(bytes, 4KiB)", "bytes");
    unit("max(0, dur)", "ns");
    ck_assert_ptr_null(parse("dur + bytes"));
    ck_assert_str_eq(log_.first.message, "units do not fit: 'ns' and 'bytes'");
    ck_assert_ptr_nonnull(strstr(log_.text, "[FM108]"));
    ck_assert_ptr_null(parse("dur > 4KiB"));
    ck_assert_ptr_null(parse("if(yes, dur, bytes)"));
    ck_assert_ptr_null(parse("min(1, dur, bytes)"));
}
END_TEST

static void wrong(const char *text, unsigned column, const char *message)
{
    ck_assert_ptr_null(parse(text));
    ck_assert_str_eq(log_.first.message, message);
    ck_assert_uint_eq(log_.first.column, column);
    ck_assert_uint_eq(log_.errors, 1);
}

START_TEST(errors)
{
    wrong("1 +", 4, "the expression ends where a value should stand");
    wrong("", 1, "the expression ends where a value should stand");
    wrong("1 2", 3, "an operator should stand here");
    wrong("(1", 3, "')' is missing here");
    wrong("1 < 2 < 3", 7, "comparisons do not chain: join two with 'and'");
    wrong("n = 1", 3, "'=' is no operator: equality is '=='");
    wrong("durr > 1", 1, "unknown name 'durr' (did you mean 'dur'?)");
    wrong("frob(n)", 1, "unknown function 'frob'");
    wrong("abs(n, n)", 1, "wrong number of arguments");
    wrong("'abc", 1, "a quote that does not end");
    wrong("n & 1", 3, "unexpected character");
    wrong("12xy", 1,
          "not a number, or a unit that is not known: units are ns us ms s m h, B KiB MiB GiB, %");
    wrong("sum(n n)", 7, "',' or ')' is missing here");
    wrong("* 2", 1, "a value should stand here");
    ck_assert_str_eq(log_.text, "error: a value should stand here [FM107]\n"
                                "      | * 2\n"
                                "      | ^\n");
}
END_TEST

START_TEST(error_place_in_a_file)
{
    static const char text[] = "where: 'dur > ''x'' +'\n";
    struct fm_yaml_file *file;
    fm_yaml_log_init(&log_, &arena);
    ck_assert_int_eq(fm_yaml_parse(&arena, "q.yaml", text, strlen(text), &file, &log_), FM_OK);
    ck_assert_ptr_null(fm_expr_parse(&arena, fm_yaml_get(file->document[0], "where"), NULL, 0,
                                     &resolver, &log_));
    ck_assert_str_eq(log_.text,
                     "q.yaml:1:22: error: the expression ends where a value should stand [FM107]\n"
                     "    1 | where: 'dur > ''x'' +'\n"
                     "      |                      ^\n");
}
END_TEST

START_TEST(depth_is_limited)
{
    size_t n = 100000;
    char *text = malloc(n + 2);
    memset(text, '(', n);
    text[n] = '\0';
    ck_assert_ptr_null(parse(text));
    ck_assert_str_eq(log_.first.message, "an expression that is nested too deeply");
    memset(text, '-', n);
    ck_assert_ptr_null(parse(text));
    for (size_t i = 0; i < n; i += 2)
        memcpy(text + i, "n+", 2);
    memcpy(text + n, "n", 2);
    ck_assert_ptr_null(parse(text));
    memcpy(text + 300, "n", 2);
    ck_assert_ptr_nonnull(parse(text));
    for (size_t i = 0; i < n; i += 4)
        memcpy(text + i, "not ", 4);
    ck_assert_ptr_null(parse(text));
    free(text);
}
END_TEST

static void count(void *user, const struct fm_expr *node FM_UNUSED)
{
    ++*(unsigned *)user;
}

START_TEST(walk_and_folding)
{
    unsigned n = 0;
    fm_expr_walk(parse("sum(n if dur > 2 * 10ms) + 1"), count, &n);
    ck_assert_uint_eq(n, 3);
    ck_assert_int_eq(parse("2 * 10ms")->op, FM_EXPR_CONST);
    ck_assert_str_eq(parse("2 * 10ms")->unit, "ns");
}
END_TEST

START_TEST(total_order)
{
    const struct fm_value order[] = {
        fm_value_bool(false), fm_value_bool(true), fm_value_f64(-INFINITY), fm_value_i64(-1),
        fm_value_f64(0.5), fm_value_u64(1), fm_value_f64(INFINITY), fm_value_f64(NAN),
        fm_value_text("", 0), fm_value_text("a", 1), fm_value_text("a\xff", 2), fm_value_null()};
    for (size_t i = 0; i < FM_COUNT(order); i++)
        for (size_t k = 0; k < FM_COUNT(order); k++)
            ck_assert_int_eq(fm_value_compare(&order[i], &order[k]), (i > k) - (i < k));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("expr");
    TCase *t = tcase_create("expr");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, precedence);
    tcase_add_test(t, literals);
    tcase_add_test(t, integers_stay_exact);
    tcase_add_test(t, three_valued);
    tcase_add_test(t, functions);
    tcase_add_test(t, named_arguments_are_text);
    tcase_add_test(t, units);
    tcase_add_test(t, errors);
    tcase_add_test(t, error_place_in_a_file);
    tcase_add_test(t, depth_is_limited);
    tcase_add_test(t, walk_and_folding);
    tcase_add_test(t, total_order);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
