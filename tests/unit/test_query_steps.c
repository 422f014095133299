/*
 * Steps that make tables of rows and of tables: tree, pivot, join, diff, edges and shares, with
 * every figure worked out by hand.
 */
#include "query_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

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

/*
 * Direct recursion (a a), mutual recursion (a b a b), a zero weight, tied weights (d and e), a row
 * without a stack, two threads; and another event that no sum of cpu may have. cpu: 53 ns in 9
 * samples, of which main has 49 and 8.
 */
static const char lines[] =
    "main;a 10 tid=101 thread=w1 ts=0\n"
    "main;a;a 20 tid=102 thread=w2 ts=10\n"
    "main;a;b;a;b 5 tid=101 thread=w1 ts=20 count=3\n"
    "main;c 0 tid=101 thread=w1 ts=30\n"
    "main;d 7 tid=102 thread=w2 ts=40\n"
    "main;e 7 tid=102 thread=w2 ts=50\n"
    "- 4 ts=60\n"
    "main;a 1000 event=alloc:bytes tid=101 thread=w1 ts=70\n";

static void expect_as(const char *store_lines, const char *steps, const char *format,
                      const char *want)
{
    struct fm_store *store = query_store(ctx, store_lines);
    const char *got = query_run(ctx, store, query_of(steps), NULL, format);

    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    ck_assert_str_eq(got, want);
    fm_store_free(store);
}

static void expect(const char *steps, const char *csv)
{
    expect_as(lines, steps, "csv", csv);
}

static void refuse(const char *steps, const char *message)
{
    struct fm_store *store = query_store(ctx, lines);

    ck_assert_ptr_null(query_run(ctx, store, query_of(steps), NULL, "csv"));
    ck_assert_msg(strstr(query_messages(), message) != NULL, "%s%s", query_error(),
                  query_messages());
    fm_store_free(store);
}

/* -------------------------------------------------------------------- tree */

/* selected: 53 */
START_TEST(a_tree_has_a_row_for_each_prefix)
{
    expect("  - where: {event: cpu}\n"
           "  - tree: {direction: down}\n"
           "output: {columns: [depth, function, self, total, samples, path]}\n",
           "depth,function,self (ns),total (ns),samples,path\n"
           "1,main,0,49,8,main\n"
           "2,a,10,35,5,main;a\n"
           "3,a,20,20,1,main;a;a\n"
           "3,b,0,5,3,main;a;b\n"
           "4,a,0,5,3,main;a;b;a\n"
           "5,b,5,5,3,main;a;b;a;b\n"
           "2,d,7,7,1,main;d\n"
           "2,e,7,7,1,main;e\n"
           "2,c,0,0,1,main;c\n"
           "1,,4,4,1,\n");
}
END_TEST

START_TEST(a_tree_upwards_begins_with_leaves)
{
    expect("  - where: {event: cpu}\n"
           "  - tree: {direction: up, max_depth: 2}\n"
           "output: {columns: [depth, function, self, total, path]}\n",
           "depth,function,self (ns),total (ns),path\n"
           "1,a,0,30,a\n"
           "2,a,0,20,a;a\n"
           "2,main,10,10,a;main\n"
           "1,d,0,7,d\n"
           "2,main,7,7,d;main\n"
           "1,e,0,7,e\n"
           "2,main,7,7,e;main\n"
           "1,b,0,5,b\n"
           "2,a,0,5,b;a\n"
           "1,,4,4,\n"
           "1,c,0,0,c\n"
           "2,main,0,0,c;main\n");
}
END_TEST

START_TEST(a_tree_is_indented_and_tells_what_it_leaves_out)
{
    expect_as(lines,
              "  - where: {event: cpu}\n"
              "  - tree: {max_depth: 2, min_share: 10%}\n", "text",
              "# q: event cpu, weight value in ns, 9 samples\n"
              "# down: callees below the function that calls them, 2 deep, 2 branches under 10% "
              "left out\n"
              "# total_share: of selected = 53 ns\n"
              "# parent_share: of parent\n"
              "total (ns)  total_share (%)  parent_share (%)  self (ns)  samples  function\n"
              "        49            92.45             92.45          0        8  main\n"
              "        35            66.04             71.43         10        5    a\n"
              "         7            13.21             14.29          7        1    d\n"
              "         7            13.21             14.29          7        1    e\n");
}
END_TEST

START_TEST(a_tree_is_a_result_like_any_other)
{
    expect("  - where: {event: cpu}\n"
           "  - tree: down\n"
           "  - where: depth == 2 and total > 0\n"
           "  - sort: [-function]\n"
           "  - limit: 2\n"
           "output: {columns: [function, total, total_share, parent_share]}\n",
           "function,total (ns),total_share,parent_share\n"
           "e,7,0.1320754716981132,0.14285714285714285\n"
           "d,7,0.1320754716981132,0.14285714285714285\n");
    refuse("  - tree: {direction: left}\n", "'direction' is up or down");
    refuse("  - tree: {max_depth: 0}\n", "'max_depth' is a number of frames from 1");
    refuse("  - tree: {min_share: 2}\n", "'min_share' is a percentage");
    refuse("  - tree: {depth: 2}\n", "unknown key 'depth'");
    refuse("  - tree: down\n  - stack: [{keep: a}]\n", "a tree result has no stacks");
}
END_TEST

START_TEST(what_an_edit_drops_stays_in_the_share_of_a_tree)
{
    expect("  - where: {event: cpu}\n"
           "  - stack: [{root: b}]\n"
           "  - tree: down\n"
           "output: {columns: [path, total, total_share]}\n",
           "path,total (ns),total_share\n"
           "b,5,0.09433962264150944\n"
           "b;a,5,0.09433962264150944\n"
           "b;a;b,5,0.09433962264150944\n");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("query_steps");
    TCase *t = tcase_create("steps");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_tree_has_a_row_for_each_prefix);
    tcase_add_test(t, a_tree_upwards_begins_with_leaves);
    tcase_add_test(t, a_tree_is_indented_and_tells_what_it_leaves_out);
    tcase_add_test(t, a_tree_is_a_result_like_any_other);
    tcase_add_test(t, what_an_edit_drops_stays_in_the_share_of_a_tree);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *sr = srunner_create(suite());
    int failed;

    srunner_run_all(sr, CK_ENV);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? 0 : 1;
}
