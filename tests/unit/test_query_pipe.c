/*
 * Pipes of a query: lets, results that go on from others, several results, and what is refused.
 * Values are worked out by hand.
 */
#include "query_help.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct fm_ctx *ctx;

static void setup(void)
{
    ctx = fm_ctx_new();
    ck_assert_ptr_nonnull(ctx);
}

static void teardown(void)
{
    fm_arena_release(&ctx->arena); /* the folders of the data path */
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
    fm_ctx_free(ctx);
}

/* b is on the stacks of the second and the third row. */
static const char lines[] =
    "main@app;a@app 10 tid=101 thread=w1 cpu=0 ts=0\n"
    "main@app;a@app;b@libx;c@libx 20 tid=102 thread=w2 cpu=1 ts=1000\n"
    "main@app;b@libx;a@app 5 tid=101 thread=w1 cpu=1 ts=2000\n"
    "main@app 1 tid=101 thread=w1 cpu=0 ts=3000\n";

static const char *whole(const char *rest)
{
    static char text[8192];

    snprintf(text, sizeof text, "foldmill-query: 1\nname: test\n%s", rest);
    return text;
}

static void expect(const char *query, const char *csv)
{
    struct fm_store *store = query_store(ctx, lines);
    const char *got = query_run(ctx, store, whole(query), NULL, "csv");

    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    ck_assert_str_eq(got, csv);
    fm_store_free(store);
}

static void refuse(const char *query, const char *message)
{
    struct fm_query *q = NULL;
    struct fm_error err = { .status = FM_OK };

    ck_assert_int_eq(query_load(ctx, whole(query), &q, &err), FM_CONFIG);
    ck_assert_msg(strstr(fm_query_errors(q), message) != NULL, "%s", fm_query_errors(q));
    fm_query_free(q);
}

/* What could be written as a profile, but not as a table. */
static void refuse_run(const char *query, const char *message)
{
    struct fm_store *store = query_store(ctx, lines);

    ck_assert_ptr_null(query_run(ctx, store, whole(query), NULL, "csv"));
    ck_assert_int_eq(query_status(), FM_CONFIG);
    ck_assert_msg(strstr(query_messages(), message) != NULL, "%s", query_messages());
    fm_store_free(store);
}

START_TEST(rows_of_a_let_are_edited_apart)
{
    expect("let:\n"
           "  hits:\n"
           "    from: samples\n"
           "    steps:\n"
           "      - where: {stack: {has: b}}\n"
           "  up:\n"
           "    from: hits\n"
           "    steps:\n"
           "      - stack: {leaf: b}\n"
           "      - group: {by: [path], measures: [self]}\n"
           "  down:\n"
           "    from: hits\n"
           "    steps:\n"
           "      - stack: {root: b}\n"
           "      - group: {by: [path], measures: [self, self_share]}\n"
           "  plain:\n"
           "    from: hits\n"
           "    steps:\n"
           "      - group: {by: [path], measures: [self]}\n"
           "show: [up, down, plain]\n",
           "path,self (ns)\nmain;a;b,20\nmain;b,5\n"
           "\npath,self (ns),self_share\nb;a,5,0.2\nb;c,20,0.8\n"
           "\npath,self (ns)\nmain;a;b;c,20\nmain;b;a,5\n");
}
END_TEST

START_TEST(tables_of_a_let_are_changed_apart)
{
    expect("let:\n"
           "  all:\n"
           "    from: samples\n"
           "    steps:\n"
           "      - group: {by: [any.function], measures: [self]}\n"
           "      - sort: [-self]\n"
           "  most: {from: all, steps: [limit: 1]}\n"
           "  half: {from: all, steps: [limit: {rows: 1, at: 50%}]}\n"
           "  rest: {from: all, steps: [limit: {rows: 2, rest: others}, compute: {x: self * 2}]}\n"
           "show: [most, half, rest]\n"
           "from: all\n"
           "steps:\n"
           "  - where: self > 0 and self < 20\n",
           /* c 20, a 15, main 1, b 0 */
           "function,self (ns)\nc,20\n\nfunction,self (ns)\na,15\n"
           "\nfunction,self (ns),x (ns)\nc,20,40\na,15,30\nothers,1,2\n"
           "\nfunction,self (ns)\na,15\nmain,1\n");
}
END_TEST

START_TEST(a_let_goes_on_without_steps)
{
    expect("let:\n"
           "  all: {from: samples, steps: [group: {by: [thread], measures: [self, samples]}]}\n"
           "from: all\n"
           "output: {columns: [samples, thread]}\n",
           "samples,thread\n3,w1\n1,w2\n");
}
END_TEST

START_TEST(columns_of_output_are_of_any_table_shown)
{
    expect("let:\n"
           "  a: {from: samples, steps: [group: {by: [thread], measures: [self, samples]}]}\n"
           "  b: {from: samples, steps: [group: {by: [cpu], measures: [self]}]}\n"
           "show: [a, b]\n"
           "output: {columns: [cpu, samples, thread]}\n",
           "samples,thread\n3,w1\n1,w2\n\ncpu\n0\n1\n");
}
END_TEST

START_TEST(a_gate_in_a_let_fails_the_query)
{
    struct fm_store *store = query_store(ctx, lines);

    ck_assert_ptr_null(query_run(ctx, store, whole(
        "let:\n"
        "  all:\n"
        "    from: samples\n"
        "    steps:\n"
        "      - group: {by: [thread], measures: [self]}\n"
        "      - check: {fail_if: self > 19, message: \"${thread} ${self}\"}\n"
        "from: all\n"), NULL, "csv"));
    ck_assert_int_eq(query_status(), FM_GATE);
    ck_assert_ptr_nonnull(strstr(query_messages(), "check failed: w2 20"));
    fm_store_free(store);
}
END_TEST

START_TEST(errors_of_pipes)
{
    static const char g[] = "steps: [group: {by: [cpu], measures: [self]}]}";
    char text[2048];

    refuse("let: {a: {from: b}, b: {from: c}, c: {from: a}}\nfrom: a\n",
           "'a' needs itself: a -> b -> c -> a [FM110]");
    refuse("let: {a: {from: a}}\nfrom: a\n", "'a' needs itself: a -> a [FM110]");
    snprintf(text, sizeof text, "let: {first: {from: samples, %s}\nfrom: fist\n", g);
    refuse(text, "unknown source 'fist' (did you mean 'first'?)");
    refuse_run("let: {a: {from: samples, steps: []}}\nshow: [a]\n", "'a' is rows: only a table");
    refuse_run("steps:\n  - where: {cpu: 1}\n", "a query needs a step that makes a table");
    refuse("let: {samples: {from: spans, steps: []}}\nfrom: samples\nsteps: []\n",
           "a 'let' cannot be named 'samples'");
    refuse("let: [a]\nfrom: samples\nsteps: []\n", "'let' takes {NAME: {from: …, steps: […]}}");
    refuse("let: {a: {from: samples, step: []}}\nshow: [a]\n", "unknown key 'step'");
    refuse("show: a\n", "'show' must be a list of names");
    refuse("show: [nosuch]\n", "unknown let 'nosuch'");
    /* what nothing names is looked at, too */
    refuse("let: {a: {from: samples, steps: [grup: 1]}}\n"
           "from: samples\nsteps: [group: {by: [cpu], measures: [self]}]\n",
           "unknown step 'grup' (did you mean 'group'?)");
}
END_TEST

START_TEST(each_error_is_told_once)
{
    struct fm_query *q = NULL;
    struct fm_error err = { .status = FM_OK };
    const char *text;
    size_t n = 0;

    ck_assert_int_eq(query_load(ctx, whole("let:\n"
                                           "  a: {from: samples, steps: [where: {nosuch.x.: 1}]}\n"
                                           "  b: {from: a, steps: [grup: 1]}\n"
                                           "  c: {from: a, steps: [srt: 1]}\n"
                                           "show: [b, c]\n"), &q, &err), FM_CONFIG);
    text = fm_query_errors(q);
    for (const char *at = text; (at = strstr(at, "error:")) != NULL; at++)
        n++;
    ck_assert_msg(n == 2, "%s", text);
    fm_query_free(q);
}
END_TEST

START_TEST(the_step_that_leaves_no_rows_is_told)
{
    struct fm_store *store = query_store(ctx, lines);
    const char *got;

    got = query_run(ctx, store, whole("from: samples\n"
                                      "steps:\n"
                                      "  - group: {by: [cpu], measures: [self]}\n"
                                      "  - where: self >= 0\n"
                                      "  - where: self > 1000\n"
                                      "  - where: self > 2000\n"), NULL, "csv");
    ck_assert_str_eq(got, "cpu,self (ns)\n");
    ck_assert_ptr_nonnull(strstr(query_messages(),
                                 ":7:5: warning: no rows are left after this 'where'"));
    ck_assert_ptr_null(strstr(query_messages(), ":8:5:"));
    fm_store_free(store);
}
END_TEST

/* ------------------------------------------------------------------ sort, select */

START_TEST(a_sort_key_may_be_an_expression)
{
    /* self: c 20, a 15, main 1, b 0 */
    expect("steps:\n"
           "  - group: {by: [any.function], measures: [self]}\n"
           "  - sort: [abs(self - 14)]\n", "function,self (ns)\na,15\nc,20\nmain,1\nb,0\n");
    expect("params: {at: {type: int, default: 14}}\n"
           "steps:\n"
           "  - group: {by: [any.function], measures: [self]}\n"
           "  - sort: [-abs(self - $at), function]\n"
           "  - limit: 2\n", "function,self (ns)\nb,0\nmain,1\n");
    /* 1 and 0 are equally far from 0.5: a tie, though no column has equal values */
    expect("steps:\n"
           "  - group: {by: [any.function], measures: [self]}\n"
           "  - sort: [abs(self * 2 - 1)]\n"
           "  - select: [function]\n"
           "  - limit: {rows: 1, ties: include}\n", "function\nb\nmain\n");
    expect("let:\n"
           "  l:\n"
           "    steps:\n"
           "      - group: {by: [any.function], measures: [self]}\n"
           "      - sort: [abs(self * 2 - 1)]\n"
           "  one: {from: l, steps: [limit: {rows: 1, ties: include}]}\n"
           "  two: {from: l, steps: [limit: {rows: 3, ties: include}]}\n"
           "show: [one, two]\n", "function,self (ns)\nb,0\nmain,1\n"
           "\nfunction,self (ns)\nb,0\nmain,1\na,15\n");
    refuse("steps:\n  - group: {by: [cpu], measures: [self]}\n  - sort: [-abs(slef)]\n",
           ":5:17: error: unknown name 'slef' (did you mean 'self'?)");
}
END_TEST

START_TEST(select_picks_names_and_makes_columns)
{
    expect("steps:\n"
           "  - group: {by: [any.function, any.module], measures: [self, total]}\n"
           "  - sort: -self\n"
           "  - select: [{w: self}, any.function, {both: self + total}, {again: self}]\n"
           "  - where: w > 0\n"
           "  - compute: {twice: again * 2}\n",
           "w (ns),function,both (ns),again (ns),twice (ns)\n20,c,40,20,40\n15,a,50,15,30\n"
           "1,main,37,1,2\n");
    /* without a sort the order is that of the keys, though they are gone */
    expect("steps:\n"
           "  - group: {by: [any.function], measures: [self]}\n"
           "  - select: self\n", "self (ns)\n15\n0\n20\n1\n");
    expect("steps:\n"
           "  - group: {by: [any.function], measures: [self]}\n"
           "  - where: self > 100\n"
           "  - select: {a: self, b: function}\n", "a (ns),b\n");
    refuse("steps:\n  - group: {by: [cpu], measures: [self]}\n  - select: [slef]\n",
           ":5:14: error: unknown column 'slef' (did you mean 'self'?)");
    refuse("steps:\n  - group: {by: [cpu], measures: [self]}\n  - select: [self, {self: cpu}]\n",
           "column 'self' is there already [FM103]");
    refuse("steps:\n  - group: {by: [cpu], measures: [self]}\n  - select: []\n",
           "'select' takes [COLUMN");
    refuse("steps:\n  - group: {by: [cpu], measures: [self]}\n  - select: [cpu]\n"
           "  - sort: self\n", "unknown column 'self'");
}
END_TEST

#define FUNCTIONS \
    "steps:\n" \
    "  - group: {by: [any.function, any.module], measures: [self, total]}\n" \
    "  - sort: -self\n"

START_TEST(a_table_is_grouped_again)
{
    /* self, total: c libx 20 20, a app 15 35, main app 1 36, b libx 0 25 */
    expect(FUNCTIONS
           "  - group:\n"
           "      by: [any.module]\n"
           "      measures:\n"
           "        n: count()\n"
           "        self: self\n"
           "        most: max(self)\n"
           "        top: first(function)\n"
           "        low: last(function)\n"
           "        avg: avg(self)\n"
           "        sd: stddev(self)\n"
           "        p50: p50(self)\n"
           "        odd: sum(total - self)\n"
           "        part: share(sum(self))\n"
           "        ratio: most / self\n",
           "module,n,self (ns),most (ns),top,low,avg (ns),sd (ns),p50 (ns),odd (ns),part,ratio\n"
           "app,2,16,15,a,main,8,7,1,55,0.4444444444444444,0.9375\n"
           "libx,2,20,20,c,b,10,10,0,25,0.5555555555555556,1\n");
    expect(FUNCTIONS
           "  - group: {by: [{big: self > 10}], measures: [count(), distinct(module),"
           " {w: sum(self)}]}\n",
           "big,count(),distinct(module),w (ns)\nfalse,2,2,1\ntrue,2,2,35\n");
    /* nothing is nobody's minimum, and nulls are a group */
    expect("steps:\n"
           "  - group: {by: [any.function], measures: [self]}\n"
           "  - compute: {x: self if self > 10}\n"
           "  - group: {by: [x], measures: [{n: count()}, {of: count(x)}, {min: min(x)}]}\n",
           "x (ns),n,of,min (ns)\n15,1,1,15\n20,1,1,20\n,2,0,\n");
    expect("steps:\n"
           "  - group: {by: [path], measures: [self]}\n"
           "  - group: {by: [path], measures: [self]}\n"
           "  - sort: -self\n  - limit: 1\n", "path,self (ns)\nmain;a;b;c,20\n");
    refuse(FUNCTIONS "  - group: {by: [module], measures: [total]}\n",
           "'total' cannot be summed: say how, such as max(x) [FM107]");
    refuse(FUNCTIONS "  - group: {by: [modul], measures: [self]}\n",
           "unknown column 'modul' (did you mean 'module'?)");
    refuse(FUNCTIONS "  - group: {by: [module], measures: [sum(slef)]}\n",
           "unknown name 'slef' (did you mean 'self'?)");
    refuse(FUNCTIONS "  - group: {by: [module], measures: [sum(max(self))]}\n",
           "'max' cannot stand inside another aggregate");
    refuse(FUNCTIONS "  - group: {by: [module, module], measures: [self]}\n",
           "key 'module' is there twice [FM103]");
}
END_TEST

/* ------------------------------------------------------- inputs, and used queries */

static const char other_lines[] =
    "main@app;a@app 7 tid=1 thread=w1\n"
    "main@app;c@libx 2 tid=2 thread=w9\n";

#define TOP \
    "\n---\nfoldmill-query: 1\nname: top\n" \
    "params: {n: {type: int, default: 2}, fn: {type: pred, default: \"*\"}}\n" \
    "steps:\n" \
    "  - where: {stack: {has: $fn}}\n" \
    "  - group: {by: [any.function], measures: [self]}\n" \
    "  - sort: [-self]\n" \
    "  - limit: $n\n"

static void expect_two(const char *query, const char *params, const char *csv)
{
    struct fm_store *store[2] = { query_store(ctx, lines), query_store(ctx, other_lines) };
    const char *got = query_run_stores(ctx, store, 2, whole(query), params, "csv");

    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    ck_assert_str_eq(got, csv);
    fm_store_free(store[0]);
    fm_store_free(store[1]);
}

START_TEST(several_inputs_have_names)
{
    expect_two("inputs: [base, new]\n"
               "let:\n"
               "  before: {from: {table: samples, input: base},\n"
               "           steps: [group: {by: [thread], measures: [self]}]}\n"
               "from: {table: samples, input: new}\n"
               "steps: [group: {by: [thread], measures: [self]}]\n"
               "show: [before]\n", NULL,
               "thread,self (ns)\nw1,16\nw2,20\n\nthread,self (ns)\nw1,7\nw9,2\n");
}
END_TEST

START_TEST(a_query_uses_another_with_parameters)
{
    /* self of the first: c 20, a 15, main 1, b 0 */
    expect_two("inputs: [base, new]\n"
               "params: {most: {type: int, default: 1}}\n"
               "let:\n"
               "  a: {from: {use: top, with: {n: $most}, input: base}}\n"
               "  b: {from: {use: top, input: new}}\n"
               "  c: {from: {use: top, with: {n: all, fn: b}, input: base},\n"
               "      steps: [where: self > 0, compute: {x: self * 2}]}\n"
               "show: [a, b, c]\n" TOP, "most=3",
               "function,self (ns)\nc,20\na,15\nmain,1\n"
               "\nfunction,self (ns)\na,7\nc,2\n"
               "\nfunction,self (ns),x (ns)\nc,20,40\na,5,10\n");
}
END_TEST

START_TEST(union_puts_tables_of_two_inputs_together)
{
    expect_two("inputs: [base, new]\n"
               "let:\n"
               "  b: {from: {table: samples, input: base},\n"
               "      steps: [group: {by: [path], measures: [self, {n: count()}]}, limit: 2]}\n"
               "  n: {from: {table: samples, input: new},\n"
               "      steps: [group: {by: [path, thread], measures: [self]}]}\n"
               "from: b\nsteps: [union: n, sort: [-self]]\n", NULL,
               "path,self (ns),n,thread\nmain;a,10,1,\nmain;a,7,,w1\nmain;c,2,,w9\nmain,1,1,\n");
    refuse("let:\n"
           "  a: {from: samples, steps: [group: {by: [cpu], measures: [{x: first(name)}]}]}\n"
           "  b: {from: samples, steps: [group: {by: [cpu], measures: [{x: len(name)}]}]}\n"
           "from: a\nsteps: [union: c]\n", "unknown let 'c'");
}
END_TEST

START_TEST(inputs_are_passed_on)
{
    expect_two("inputs: [base, new]\n"
               "from: {use: both, input: [new, base]}\n"
               "\n---\nfoldmill-query: 1\nname: both\ninputs: [one, two]\n"
               "from: {use: top, with: {n: 1}, input: two}\n" TOP, NULL,
               "function,self (ns)\nc,20\n");
}
END_TEST

START_TEST(errors_of_inputs_and_uses)
{
    struct fm_store *store = query_store(ctx, lines);

    refuse("inputs: [base, new]\nsteps: [group: {by: [cpu], measures: [self]}]\n",
           "of which input? from: {table: samples, input: base} [FM105]");
    refuse("inputs: [base, new]\nfrom: {table: samples, input: old}\nsteps: []\n",
           ":4:31: error: unknown input 'old'");
    refuse("inputs: [base, base]\nsteps: []\n", "input 'base' is there twice [FM103]");
    refuse("from: {tabel: samples}\nsteps: []\n", "'from' is a name, {table: samples, input");
    refuse("from: {table: sample}\nsteps: []\n",
           "unknown source 'sample' (did you mean 'samples'?)");
    refuse("from: {use: top, wit: {n: 1}}\n" TOP, "unknown key 'wit' (did you mean 'with'?)");
    refuse("from: {use: top, with: {m: 1}}\n" TOP, "query 'top' has no parameter 'm'");
    refuse("from: {use: top, with: {n: x}}\n" TOP, "parameter 'n': 'x' is no int [FM104]");
    refuse("from: {use: top, with: {n: $k}}\n" TOP, "unknown parameter 'k'");
    refuse("from: {use: test}\n", "query 'test' uses itself [FM110]");
    refuse("from: {use: nosuch}\n", ":3:13: error: no query 'nosuch' [FM102]");
    refuse("from: {use: more}\n\n---\nfoldmill-query: 1\nname: more\nsteps: [grup: 1]\n",
           ":8:9: error: unknown step 'grup'");
    refuse("from: {use: more}\n\n---\nfoldmill-query: 1\nname: more\nstep: []\n",
           ":8:1: error: unknown key 'step'");
    refuse("from: {use: more}\n\n---\nfoldmill-query: 1\nname: more\n"
           "params: {p: {type: int, required: true}}\nsteps: [group: {by: [cpu], measures: [self]},"
           " limit: $p]\n", "query 'more' needs parameter 'p': with: {p: VALUE} [FM105]");
    refuse("inputs: [a, b]\nfrom: {use: top, input: [a, b]}\n" TOP,
           "query 'top' takes 1 input: input: [NAME …]");
    ck_assert_ptr_null(query_run(ctx, store, whole("inputs: [a, b]\n"
                                                   "from: {use: top, input: b}\n" TOP), NULL,
                                 "csv"));
    ck_assert_str_eq(query_error(), "query 'test' takes 2 inputs, not 1");
    fm_store_free(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("query_pipe");
    TCase *tcase = tcase_create("pipes");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, rows_of_a_let_are_edited_apart);
    tcase_add_test(tcase, tables_of_a_let_are_changed_apart);
    tcase_add_test(tcase, a_let_goes_on_without_steps);
    tcase_add_test(tcase, columns_of_output_are_of_any_table_shown);
    tcase_add_test(tcase, a_gate_in_a_let_fails_the_query);
    tcase_add_test(tcase, errors_of_pipes);
    tcase_add_test(tcase, each_error_is_told_once);
    tcase_add_test(tcase, the_step_that_leaves_no_rows_is_told);
    tcase_add_test(tcase, a_sort_key_may_be_an_expression);
    tcase_add_test(tcase, select_picks_names_and_makes_columns);
    tcase_add_test(tcase, a_table_is_grouped_again);
    tcase_add_test(tcase, several_inputs_have_names);
    tcase_add_test(tcase, a_query_uses_another_with_parameters);
    tcase_add_test(tcase, union_puts_tables_of_two_inputs_together);
    tcase_add_test(tcase, inputs_are_passed_on);
    tcase_add_test(tcase, errors_of_inputs_and_uses);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
