/*
 * Steps that make tables of rows and of tables: tree, pivot, join, diff, edges and shares, with
 * every figure worked out by hand.
 */
#include "query_help.h"

#include "query/group.h"

#include <check.h>
#include <stdarg.h>
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

/* A text in pieces. */
static char text[1 << 14];
static size_t used;

static FM_PRINTF(1, 2) void put(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    used += (size_t)vsnprintf(text + used, sizeof text - used, fmt, ap);
    va_end(ap);
    ck_assert_uint_lt(used, sizeof text);
}

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

static void expect_query(const char *steps, const char *format, const char *want)
{
    struct fm_store *store = query_store(ctx, lines);
    static char query[4096];
    const char *got;

    snprintf(query, sizeof query, "foldmill-query: 1\nname: q\n%s", steps);
    got = query_run(ctx, store, query, NULL, format);
    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    ck_assert_str_eq(got, want);
    fm_store_free(store);
}

static void refuse_query(const char *steps, const char *message)
{
    struct fm_store *store = query_store(ctx, lines);
    static char query[4096];

    snprintf(query, sizeof query, "foldmill-query: 1\nname: q\n%s", steps);
    ck_assert_ptr_null(query_run(ctx, store, query, NULL, "csv"));
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

/* ------------------------------------------------------------------- edges */

START_TEST(calls_count_each_sample_once)
{
    expect("  - where: {event: cpu}\n"
           "  - group:\n"
           "      by: [caller.function, callee.function]\n"
           "      measures: [self, total, samples]\n",
           "caller.function,callee.function,self (ns),total (ns),samples\n"
           "a,b,5,5,3\n"
           "b,a,0,5,3\n"
           "main,a,30,35,5\n"
           "main,c,0,0,1\n"
           "main,d,7,7,1\n"
           "main,e,7,7,1\n"
           ",,4,4,1\n");
}
END_TEST

START_TEST(calls_of_itself_are_shown_when_asked_for)
{
    expect("  - where: {event: cpu, stack: {has: a}}\n"
           "  - group:\n"
           "      by: [caller.function, callee.function]\n"
           "      recursion: show\n"
           "      measures: {self: self, total: total, longest: max(weight)}\n",
           "caller.function,callee.function,self (ns),total (ns),longest (ns)\n"
           "a,a,20,20,20\n"
           "a,b,5,5,5\n"
           "b,a,0,5,5\n"
           "main,a,10,35,20\n");
    refuse("  - group: {by: [any.function], recursion: show, measures: [self]}\n",
           "'recursion' is for groups by caller and callee");
    refuse("  - group: {by: [any.function, callee.function], measures: [self]}\n",
           "'any.function' is of one frame");
    refuse("  - group: {by: [caller.name], measures: [self]}\n", "unknown frame attribute 'name'");
}
END_TEST

START_TEST(one_side_of_a_call_is_a_key_too)
{
    expect("  - where: {event: cpu}\n"
           "  - group: {by: [thread, caller.function], measures: [self, total]}\n",
           "thread,function,self (ns),total (ns)\n"
           "w1,a,5,5\n"
           "w1,b,0,5\n"
           "w1,main,10,15\n"
           "w2,main,34,34\n"
           ",,4,4\n");
}
END_TEST

/* Enough rows for the pre-order rule: f(0) -> f(1) -> … -> f(39), a stack for each length, each of
 * weight 1. The call f(i) -> f(i + 1) is on 39 - i of them; f(0) alone has none. */
START_TEST(calls_of_a_whole_tree)
{
    const char *got;
    struct fm_store *store;

    used = 0;
    for (int n = 1; n <= 40; n++) {
        for (int i = 0; i < n; i++)
            put("%sf%d", i > 0 ? ";" : "", i + 10);
        put(" 1\n");
    }
    store = query_store(ctx, text);
    got = query_run(ctx, store,
                    query_of("  - group:\n"
                             "      by: [caller.function, callee.function]\n"
                             "      measures: [self, total, samples]\n"), NULL, "csv");
    ck_assert_ptr_nonnull(got);
    used = 0;
    put("caller.function,callee.function,self (ns),total (ns),samples\n");
    for (int i = 0; i < 39; i++)
        put("f%d,f%d,1,%d,%d\n", i + 10, i + 11, 39 - i, 39 - i);
    put(",,1,1,1\n");
    ck_assert_str_eq(got, text);
    fm_store_free(store);
}
END_TEST

/* ------------------------------------------------------------------ shares */

/* cpu by thread: w1 10 + 5 + 0 = 15, w2 20 + 7 + 7 = 34, none 4. */
START_TEST(shares_of_the_first_key)
{
    expect("  - where: {event: cpu}\n"
           "  - group:\n"
           "      by: [thread, any.function]\n"
           "      measures: {self: self, of: \"share(self, group)\", a: \"share(total, all)\"}\n"
           "  - where: self > 0\n",
           "thread,function,self (ns),of,a\n"
           "w1,a,10,0.6666666666666666,0.2830188679245283\n"
           "w1,b,5,0.3333333333333333,0.09433962264150944\n"
           "w2,a,20,0.5882352941176471,0.37735849056603776\n"
           "w2,d,7,0.20588235294117646,0.1320754716981132\n"
           "w2,e,7,0.20588235294117646,0.1320754716981132\n"
           ",,4,1,0.07547169811320754\n");
    /* a is on stacks of 35: 15 of w1, 20 of w2 */
    expect("  - where: {event: cpu}\n"
           "  - group: {by: [any.function, thread], measures: {of: \"share(total, group)\"}}\n"
           "  - where: {function: [a, c]}\n",
           "function,thread,of\n"
           "a,w1,0.42857142857142855\n"
           "a,w2,0.5714285714285714\n"
           "c,w1,\n");
    refuse("  - group: {by: [path], measures: {x: \"share(self, group)\"}}\n",
           "'group' is the first key's value, which cannot be a path");
    refuse("  - group: {by: [thread], measures: {x: \"share(self, parent)\"}}\n",
           "'parent' is a base that only nodes of a 'tree' have");
}
END_TEST

/* By the rows of w2 (34), by the table of all (53), and by a table of another event: no. */
START_TEST(shares_of_a_let)
{
    expect_query("let:\n"
                 "  w2:\n"
                 "    steps:\n"
                 "      - where: {event: cpu, thread: w2}\n"
                 "  whole:\n"
                 "    steps:\n"
                 "      - where: {event: cpu}\n"
                 "      - group: {by: [thread], measures: [self]}\n"
                 "      - limit: 1\n"
                 "steps:\n"
                 "  - where: {event: cpu, leaf.function: a}\n"
                 "  - group:\n"
                 "      by: [thread]\n"
                 "      measures:\n"
                 "        self: self\n"
                 "        a: share(self, w2)\n"
                 "        b: share(self, whole)\n", "text",
                 "# q: event cpu, weight value in ns, 2 samples\n"
                 "# a: of w2 = 34 ns\n"
                 "# b: of whole = 53 ns\n"
                 "thread  self (ns)  a (%)  b (%)\n"
                 "w1             10  29.41  18.87\n"
                 "w2             20  58.82  37.74\n");
    refuse_query("let:\n"
                 "  other:\n"
                 "    steps:\n"
                 "      - where: {event: alloc}\n"
                 "steps:\n"
                 "  - where: {event: cpu}\n"
                 "  - group: {by: [thread], measures: {a: \"share(self, other)\"}}\n",
                 "'other' has a weight of another unit");
}
END_TEST

START_TEST(the_head_tells_what_shares_are_of)
{
    expect_as(lines,
              "  - where: {event: cpu, thread: w2}\n"
              "  - group:\n"
              "      by: [thread]\n"
              "      measures:\n"
              "        part: share(self)\n"
              "        whole: share(self, all)\n"
              "        again: self / total\n"
              "        own: share(self, group)\n", "text",
              "# q: event cpu, weight value in ns, 3 samples\n"
              "# part: of selected = 34 ns\n"
              "# whole: of all = 53 ns\n"
              "# own: of group (thread)\n"
              "thread  part (%)  whole (%)  again  own (%)\n"
              "w2        100.00      64.15  1.000   100.00\n");
}
END_TEST

/* ------------------------------------------------------------------- ranks */

START_TEST(nearest_ranks_are_exact)
{
    static const struct {
        double percent;
        uint64_t n, rank;
    } table[] = {
        { 50, 1, 1 }, { 50, 2, 1 }, { 50, 3, 2 }, { 50, 4, 2 }, { 55, 100, 55 }, { 55, 180, 99 },
        { 7, 100, 7 }, { 99, 100, 99 }, { 99, 101, 100 }, { 99.9, 1000, 999 },
        { 99.9, 1001, 1000 }, { 99.99, 10000, 9999 }, { 0.1, 1000, 1 }, { 100, 7, 7 },
        { 0, 5, 1 }, { 29, 100, 29 }, { 58, 50, 29 }
    };

    for (size_t i = 0; i < FM_COUNT(table); i++)
        ck_assert_uint_eq(fm_nearest_rank(table[i].percent, table[i].n), table[i].rank);
}
END_TEST

/* 20 rows of weights 1 … 20: 55 % are 11 rows, so that p55 is 11 and the row at 55% too. */
START_TEST(percentiles_and_the_row_at_a_rank)
{
    used = 0;
    for (int i = 1; i <= 20; i++)
        put("f%02d %d\n", i, i);
    expect_as(text,
              "  - group:\n"
              "      by: [cpu]\n"
              "      measures:\n"
              "        {a: p55(weight), b: p5(weight), c: p95(weight), d: stddev(weight)}\n", "csv",
              "cpu,a (ns),b (ns),c (ns),d (ns)\n,11,1,19,5.766281297335398\n");
    expect_as(text,
              "  - group: {by: [leaf.function], measures: [self]}\n"
              "  - sort: [self]\n"
              "  - limit: {rows: 1, at: 55%}\n", "csv", "function,self (ns)\nf11,11\n");
}
END_TEST

/* Rows of equal ts go by source and row; those without ts come last, whatever `last` says. */
START_TEST(first_and_last_go_by_time)
{
    expect_as("a 1 ts=50 thread=x tid=101 cpu=1\n"
              "a 2 ts=10 thread=x tid=101 cpu=2\n"
              "a 3 thread=x tid=101 cpu=3\n"
              "a 4 ts=10 thread=x tid=101 cpu=4\n"
              "a 5 ts=50 thread=x tid=101 cpu=5\n"
              "b 6 thread=x tid=101 cpu=6\n"
              "b 7 thread=x tid=101 cpu=7\n"
              "c 8 ts=1 thread=x tid=101\n",
              "  - group:\n"
              "      by: [leaf.function]\n"
              "      measures: {f: first(cpu), l: last(cpu)}\n", "csv",
              "function,f,l\na,2,5\nb,6,7\nc,,\n");
}
END_TEST

START_TEST(ties_need_a_sort)
{
    static const char group[] = "  - where: {event: cpu}\n"
                                "  - group: {by: [leaf.function], measures: [self]}\n";
    char steps[512];

    snprintf(steps, sizeof steps, "%s  - limit: {rows: 1, ties: include}\n", group);
    expect(steps, "function,self (ns)\na,30\n");
    snprintf(steps, sizeof steps,
             "%s  - sort: [-self]\n  - limit: {rows: 2, ties: include, rest: others}\n", group);
    expect(steps, "function,self (ns)\na,30\nd,7\ne,7\nothers,9\n");
    snprintf(steps, sizeof steps, "%s  - sort: [-self]\n  - limit: {rows: 0, ties: include}\n",
             group);
    expect(steps, "function,self (ns)\n");
}
END_TEST

/* ------------------------------------------------------------------- pivot */

#define GPU "event=stall:count "
static const char stalls[] =
    "x 5 " GPU "s.kernel=k1 s.stall=memory\n"
    "x 2 " GPU "s.kernel=k1 s.stall=barrier\n"
    "y 1 " GPU "s.kernel=k2 s.stall=memory\n"
    "y 3 " GPU "s.kernel=k2 s.stall=memory\n"
    "y 4 " GPU "s.kernel=k2\n"
    "z 0 " GPU "s.kernel=k3 s.stall=kernel\n";

#define STALLS "  - where: {event: stall}\n" \
               "  - group: {by: [kernel, stall], measures: [self]}\n"

START_TEST(values_become_columns)
{
    expect_as(stalls, STALLS "  - pivot: {rows: [kernel], column: stall, value: self}\n", "csv",
              "kernel,barrier (count),stall.kernel (count),memory (count),(none) (count)\n"
              "k1,2,,5,\n"
              "k2,,,4,4\n"
              "k3,,0,,\n");
    expect_as(stalls,
              STALLS "  - pivot: {rows: [kernel], column: stall, value: self, fill: 0, share: row, "
                     "total: stalls}\n"
                     "  - sort: [-stalls, kernel]\n"
                     "  - where: stalls >= 0 and memory >= 0.5\n"
                     "  - compute: {both: memory + barrier}\n", "csv",
              "kernel,barrier,stall.kernel,memory,(none),stalls (count),both\n"
              "k2,0,0,0.5,0.5,8,0.5\n"
              "k1,0.2857142857142857,0,0.7142857142857143,0,7,1\n");
}
END_TEST

/* Shares of a column: memory has 9 in all; of the table: 15. */
START_TEST(shares_of_a_pivot)
{
    static const char form[] = STALLS "  - pivot: {rows: [kernel], column: stall, value: self, "
                                      "share: %s}\n"
                                      "  - where: {kernel: k1}\n"
                                      "output: {columns: [kernel, memory, barrier]}\n";
    char steps[512];

    snprintf(steps, sizeof steps, form, "column");
    expect_as(stalls, steps, "csv", "kernel,memory,barrier\nk1,0.5555555555555556,1\n");
    snprintf(steps, sizeof steps, form, "table");
    expect_as(stalls, steps, "text",
              "# q: event stall, weight value in count, 6 samples\n"
              "# memory, barrier: of table\n"
              "kernel  memory (%)  barrier (%)\n"
              "k1           33.33        13.33\n");
}
END_TEST

START_TEST(cells_of_a_pivot_meet)
{
    /* of two threads: 10 + 5 of w1, summed over the functions */
    expect("  - where: {event: cpu, thread: \"w?\"}\n"
           "  - group: {by: [leaf.function, cpu, thread], measures: [self]}\n"
           "  - pivot: {rows: [cpu], column: thread, value: self, total: both}\n",
           "cpu,w1 (ns),w2 (ns),both (ns)\n"
           ",15,34,49\n");
    refuse("  - group: {by: [any.function, thread], measures: [total]}\n"
           "  - pivot: {rows: [thread], column: thread, value: total}\n",
           "several rows have thread 'w1' and thread 'w1', and 'total' cannot be summed");
    refuse("  - group: {by: [thread], measures: [self]}\n"
           "  - pivot: {rows: [thread], column: thread}\n", "'pivot' has no 'value'");
    refuse("  - group: {by: [thread], measures: [self]}\n"
           "  - pivot: {rows: [thread], column: thread, value: thread}\n",
           "'value' is no column of numbers");
    refuse("  - group: {by: [thread], measures: [self]}\n"
           "  - pivot: {rows: [], column: thread, value: self}\n", "'rows' names no column");
    refuse("  - group: {by: [thread], measures: [self]}\n"
           "  - pivot: {rows: [cpu], column: thread, value: self}\n", "unknown column 'cpu'");
    refuse("  - group: {by: [cpu, thread], measures: [self]}\n"
           "  - pivot: {rows: [cpu], column: thread, value: self}\n"
           "  - sort: [w9]\n", "unknown column 'w9'");
}
END_TEST

START_TEST(a_pivot_of_too_many_values)
{
    used = 0;
    for (int i = 0; i < 1001; i++)
        put("f%04d 1\n", i);
    {
        struct fm_store *store = query_store(ctx, text);
        ck_assert_ptr_null(query_run(ctx, store,
                                     query_of("  - group: {by: [cpu, leaf.function], measures: "
                                              "[self]}\n"
                                              "  - pivot: {rows: [cpu], column: function, "
                                              "value: self}\n"), NULL, "csv"));
        ck_assert_ptr_nonnull(strstr(query_messages(), "'function' has more than 1000 values"));
        fm_store_free(store);
    }
}
END_TEST

/* -------------------------------------------------------------------- join */

/* w1: 15, w2: 34, no thread: 4; "calls" has w2, w3 and no thread. */
#define LETS \
    "let:\n" \
    "  calls:\n" \
    "    from: samples\n" \
    "    steps:\n" \
    "      - where: {event: cpu, leaf.function: [d, e]}\n" \
    "      - group: {by: [thread, leaf.function], measures: [self, self_share]}\n" \
    "steps:\n" \
    "  - where: {event: cpu}\n" \
    "  - group: {by: [thread], measures: [self]}\n"

START_TEST(tables_are_joined)
{
    expect_query(LETS "  - join: {with: calls, on: [thread]}\n", "csv",
                 "thread,self (ns),function,calls.self (ns),self_share\n"
                 "w2,34,d,7,0.5\n"
                 "w2,34,e,7,0.5\n");
    expect_query(LETS "  - join: {with: calls, on: thread, kind: left}\n"
                      "  - compute: {part: calls.self / self}\n"
                      "  - sort: [-calls.function, -self]\n", "text",
                 "# q: event cpu, weight value in ns, 9 samples\n"
                 "# self_share: of calls.selected = 14 ns\n"
                 "thread  self (ns)  function  calls.self (ns)  self_share (%)   part\n"
                 "w2             34  e                       7           50.00  0.206\n"
                 "w2             34  d                       7           50.00  0.206\n"
                 "w1             15  -                       -               -      -\n"
                 "-               4  -                       -               -      -\n");
}
END_TEST

START_TEST(a_full_join_has_both_sides)
{
    expect_query("let:\n"
                 "  other:\n"
                 "    steps:\n"
                 "      - where: {event: cpu, leaf.function: [d, e]}\n"
                 "      - group: {by: [leaf.function], measures: [samples]}\n"
                 "steps:\n"
                 "  - where: {event: cpu, leaf.function: [a, d]}\n"
                 "  - group: {by: [leaf.function], measures: [samples]}\n"
                 "  - join: {with: other, on: [function], kind: full}\n", "csv",
                 "function,samples,other.samples\n"
                 "a,2,\n"
                 "d,1,1\n"
                 "e,,1\n");
}
END_TEST

/* A path is joined by its text; null by null. */
START_TEST(joins_by_paths_and_nulls)
{
    expect_query("let:\n"
                 "  other:\n"
                 "    steps:\n"
                 "      - where: {event: cpu}\n"
                 "      - group: {by: [path], measures: [samples]}\n"
                 "steps:\n"
                 "  - where: {event: cpu, leaf.function: {not: a}}\n"
                 "  - group: {by: [path], measures: [self]}\n"
                 "  - join: {with: other, on: [path], kind: left}\n"
                 "  - sort: [-self]\n  - limit: 2\n", "csv",
                 "path,self (ns),samples\nmain;d,7,1\nmain;e,7,1\n");
    expect_query("let:\n"
                 "  other:\n"
                 "    steps:\n"
                 "      - where: {event: cpu}\n"
                 "      - group: {by: [path], measures: [samples]}\n"
                 "steps:\n"
                 "  - where: {event: cpu}\n"
                 "  - group: {by: [path], measures: [self]}\n"
                 "  - where: self == 4\n"
                 "  - join: {with: other, on: [path]}\n", "csv",
                 "path,self (ns),samples\n,4,1\n");
}
END_TEST

START_TEST(joins_that_cannot_be)
{
    refuse_query(LETS "  - join: {with: call, on: [thread]}\n", "did you mean 'calls'?");
    refuse_query(LETS "  - join: {with: calls, on: [thred]}\n", "did you mean 'thread'?");
    refuse_query(LETS "  - join: {with: calls, on: []}\n", "'on' names no column");
    refuse_query(LETS "  - join: {with: calls}\n", "'join' has no 'on'");
    refuse_query(LETS "  - join: {with: calls, on: [self], kind: outer}\n",
                 "'kind' is inner, left or full");
    refuse_query(LETS "  - compute: {function: self + 1}\n"
                      "  - join: {with: calls, on: [function]}\n",
                 "'function' is of different kinds in the two tables");
    refuse_query(LETS "  - compute: {x: self + 1}\n"
                      "  - join: {with: calls, on: [x]}\n", "'calls' has no column 'x'");
}
END_TEST

/* -------------------------------------------------------------------- diff */

/*
 * base: thread w1, 15 ns in 5 samples        new: thread w2, 34 ns in 3 samples
 *
 *           self total samples                      self total samples
 *     a       10    15       4                 a      20    20       1
 *     b        5     5       3                 d       7     7       1
 *     c        0     0       1                 e       7     7       1
 *     main     0    15       5                 main    0    34       3
 */
#define SIDES(more) \
    "let:\n" \
    "  w1:\n" \
    "    steps:\n" \
    "      - where: {event: cpu, thread: w1}\n" \
    "      - group: {by: [any.function], measures: [self, total, samples" more "]}\n" \
    "steps:\n" \
    "  - where: {event: cpu, thread: w2}\n" \
    "  - group: {by: [any.function], measures: [self, total, samples" more "]}\n"

/* r = 3 / 5; a: (1 - 4 r) / sqrt(1 + 4 r r), b: -3 r / sqrt(3 r r), c: -1, d: 1, main: 0 */
START_TEST(a_diff_is_new_less_base)
{
    expect_query(SIDES("") "  - diff: {against: w1, key: [function]}\n"
                 "output: {columns: [function, status, base.self, new.self, delta.self, "
                 "ratio.self, delta.total, new.samples, significance]}\n", "csv",
                 "function,status,base.self (ns),new.self (ns),delta.self (ns),ratio.self,"
                 "delta.total (ns),new.samples,significance\n"
                 "a,both,10,20,10,2,5,1,-0.8962581595302718\n"
                 "b,removed,5,0,-5,0,-5,0,-1.732050807568877\n"
                 "c,removed,0,0,0,,0,0,-1\n"
                 "d,added,0,7,7,,7,1,1\n"
                 "e,added,0,7,7,,7,1,1\n"
                 "main,both,0,0,0,,19,3,0\n");
}
END_TEST

/* Points: a 100 (20/34 - 10/15), main 100 (34/34 - 15/15) of total. */
START_TEST(shares_are_of_each_side)
{
    expect_query(SIDES(", self_share") "  - diff: {against: w1, key: function, normalize: total}\n"
                 "  - where: {function: [a, main]}\n"
                 "output: {columns: [function, base.self_share, new.self_share, share_delta, "
                 "share_delta.self, share_delta.total]}\n", "csv",
                 "function,base.self_share,new.self_share,share_delta (pp),share_delta (pp),"
                 "share_delta.total (pp)\n"
                 "a,0.6666666666666666,0.5882352941176471,-7.8431372549019605,-7.8431372549019605,"
                 "-41.1764705882353\n"
                 "main,0,0,0,0,0\n");
}
END_TEST

/* By total: 34/15, so that 10 becomes 22.67 and 4 samples 9.07; by samples: 3/5. */
START_TEST(the_base_is_scaled)
{
    static const char *const form = SIDES("")
        "  - diff: {against: w1, key: [function], normalize: %s}\n"
        "  - where: {function: a}\n"
        "output: {columns: [base.self, new.self, delta.self, ratio.self, base.samples, "
        "significance]}\n";
    static const char *const head = "base.self (ns),new.self (ns),delta.self (ns),ratio.self,"
                                    "base.samples,significance\n";
    static const struct {
        const char *how, *row;
    } table[] = {
        { "none", "10,20,10,2,4,-0.8962581595302718\n" },
        { "total", "23,20,-3,0.8823529411764707,9,-0.8962581595302718\n" },
        { "samples", "6,20,14,3.3333333333333335,2,-0.8962581595302718\n" },
        { "time", "10,20,10,2,4,-0.8962581595302718\n" },
        { "{per: max(total)}", "23,20,-3,0.8823529411764707,9,-0.8962581595302718\n" },
        { "{per: \"sum(samples) / count()\"}",
          "5,20,15,4.333333333333333,2,-0.8962581595302718\n" }
    };

    for (size_t i = 0; i < FM_COUNT(table); i++) {
        char query[1024], want[512];
        snprintf(query, sizeof query, form, table[i].how);
        snprintf(want, sizeof want, "%s%s", head, table[i].row);
        expect_query(query, "csv", want);
    }
}
END_TEST

START_TEST(the_head_of_a_diff_tells_its_direction)
{
    expect_query("let:\n"
                 "  before:\n"
                 "    steps:\n"
                 "      - where: {event: cpu, thread: w1}\n"
                 "      - group: {by: [any.function], measures: [self, self_share, samples]}\n"
                 "  after:\n"
                 "    steps:\n"
                 "      - where: {event: cpu, thread: w2}\n"
                 "      - group: {by: [any.function], measures: [self, self_share, samples]}\n"
                 "from: after\n"
                 "steps:\n"
                 "  - diff: {against: before, key: [function], normalize: total}\n"
                 "  - sort: [\"-share_delta\"]\n"
                 "  - limit: 2\n", "text",
                 "# q: event cpu, weight value in ns, 3 samples\n"
                 "# diff: new - base; new is after, base is before\n"
                 "# base: 5 samples, selected 15 ns, new: 3 samples, selected 34 ns; base is "
                 "scaled by 2.266667 to the selected weight of new\n"
                 "function  status  base.self (ns)  new.self (ns)  delta.self (ns)  "
                 "share_delta (pp)  significance\n"
                 "d         added                0              7                7            "
                 "20.588         1.000\n"
                 "e         added                0              7                7            "
                 "20.588         1.000\n");
}
END_TEST

START_TEST(diffs_that_cannot_be)
{
    refuse_query(SIDES("") "  - diff: {against: w2, key: [function]}\n", "unknown let 'w2'");
    refuse_query(SIDES("") "  - diff: {against: w1, key: [functio]}\n", "did you mean 'function'?");
    refuse_query(SIDES("") "  - diff: {against: w1}\n", "'diff' has no 'key'");
    refuse_query(SIDES("") "  - diff: {against: w1, key: [function], normalize: size}\n",
                 "'normalize' is none, total, time, samples or {per: EXPRESSION}");
    refuse_query(SIDES("") "  - diff: {against: w1, key: [function], normalize: {per: self}}\n",
                 "'self' has a value for each row");
    refuse_query(SIDES("") "  - diff: {against: w1, key: [function], normalize: {per: p5(self)}}\n",
                 "unknown");
    refuse_query(SIDES("") "  - diff: {against: w1, key: [function]}\n"
                           "  - sort: [delta.function]\n", "unknown column 'delta.function'");
    refuse_query("let:\n"
                 "  a:\n"
                 "    steps:\n"
                 "      - where: {event: alloc}\n"
                 "      - group: {by: [any.function], measures: [self]}\n"
                 "steps:\n"
                 "  - where: {event: cpu}\n"
                 "  - group: {by: [any.function], measures: [self]}\n"
                 "  - diff: {against: a, key: [function]}\n",
                 "the two tables are of different events: 'alloc' in base, 'cpu' in new");
    refuse_query("let:\n"
                 "  a:\n"
                 "    steps:\n"
                 "      - where: {event: cpu}\n"
                 "      - group: {by: [any.function, thread], measures: [self]}\n"
                 "steps:\n"
                 "  - where: {event: cpu}\n"
                 "  - group: {by: [any.function], measures: [self]}\n"
                 "  - diff: {against: a, key: [function]}\n",
                 "several rows of base have the key 'a': it needs more columns");
}
END_TEST

START_TEST(a_forced_diff)
{
    expect_query("let:\n"
                 "  a:\n"
                 "    steps:\n"
                 "      - where: {event: alloc}\n"
                 "      - group: {by: [any.function], measures: [self]}\n"
                 "steps:\n"
                 "  - where: {event: cpu}\n"
                 "  - group: {by: [any.function], measures: [self]}\n"
                 "  - diff: {against: a, key: [function], force: true}\n"
                 "  - limit: 1\n", "csv",
                 "function,status,base.self (ns),new.self (ns),delta.self (ns),ratio.self,"
                 "share_delta (pp)\n"
                 "a,both,1000,30,-970,0.03,-43.39622641509434\n");
}
END_TEST

/* ---------------------------------------------------------------- messages */

/* a: 10 + 20 + 5 in 3 rows; the mean of 35 / 3 is 11.667. */
START_TEST(figures_in_messages)
{
    struct fm_store *store = query_store(ctx, lines);

    ck_assert_ptr_nonnull(query_run(ctx, store,
        "foldmill-query: 1\nname: q\nparams: {most: {type: percent, default: 5%}}\nsteps:\n"
        "  - where: {event: cpu}\n"
        "  - group:\n"
        "      by: [path]\n"
        "      measures: {t: total, s: total_share, m: avg(weight * 1000), n: max(cpu)}\n"
        "  - where: t == 20\n"
        "  - check:\n"
        "      warn_if: s > $most\n"
        "      message: \"${path}: ${t} ${t:auto} ${m} ${m / 3:auto} ${s} ${s:%} ${n} ${most:%} "
        "${$most * 2:%} ${t > 1} $${t}\"\n", NULL, "csv"));
    ck_assert_msg(strstr(query_messages(),
                         "warning: main;a;a: 20 20 ns 20000 6.667 us 0.377 37.74% - 5.00% "
                         "10.00% true ${t} [FM100]") != NULL, "%s", query_messages());
    fm_store_free(store);
}
END_TEST

/* The twenty that are shown of the warnings do not hide why it failed. */
START_TEST(many_warnings_before_a_failure)
{
    struct fm_store *store;
    const char *at;
    size_t n = 0;

    used = 0;
    for (int i = 0; i < 30; i++)
        put("f%02d %d\n", i, i + 1);
    store = query_store(ctx, text);
    ck_assert_ptr_null(query_run(ctx, store,
                                 query_of("  - group: {by: [leaf.function], measures: [self]}\n"
                                          "  - check:\n"
                                          "      - warn_if: self > 0\n"
                                          "      - fail_if: self == 30\n"), NULL, "csv"));
    ck_assert_int_eq(query_status(), FM_GATE);
    for (at = query_messages(); (at = strstr(at, "warning: ")) != NULL; at++)
        n++;
    ck_assert_uint_eq(n, 20);
    ck_assert_ptr_nonnull(strstr(query_messages(), "note: more warnings follow\n"));
    ck_assert_ptr_nonnull(strstr(query_messages(),
                                 "error: check failed: 'self == 30' holds for function f29"));
    fm_store_free(store);
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
    tcase_add_test(t, calls_count_each_sample_once);
    tcase_add_test(t, calls_of_itself_are_shown_when_asked_for);
    tcase_add_test(t, one_side_of_a_call_is_a_key_too);
    tcase_add_test(t, calls_of_a_whole_tree);
    tcase_add_test(t, shares_of_the_first_key);
    tcase_add_test(t, shares_of_a_let);
    tcase_add_test(t, the_head_tells_what_shares_are_of);
    tcase_add_test(t, nearest_ranks_are_exact);
    tcase_add_test(t, percentiles_and_the_row_at_a_rank);
    tcase_add_test(t, first_and_last_go_by_time);
    tcase_add_test(t, ties_need_a_sort);
    tcase_add_test(t, values_become_columns);
    tcase_add_test(t, shares_of_a_pivot);
    tcase_add_test(t, cells_of_a_pivot_meet);
    tcase_add_test(t, a_pivot_of_too_many_values);
    tcase_add_test(t, tables_are_joined);
    tcase_add_test(t, a_full_join_has_both_sides);
    tcase_add_test(t, joins_by_paths_and_nulls);
    tcase_add_test(t, joins_that_cannot_be);
    tcase_add_test(t, a_diff_is_new_less_base);
    tcase_add_test(t, shares_are_of_each_side);
    tcase_add_test(t, the_base_is_scaled);
    tcase_add_test(t, the_head_of_a_diff_tells_its_direction);
    tcase_add_test(t, diffs_that_cannot_be);
    tcase_add_test(t, a_forced_diff);
    tcase_add_test(t, figures_in_messages);
    tcase_add_test(t, many_warnings_before_a_failure);
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
