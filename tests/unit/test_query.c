/*
 * Queries over small stores with values worked out by hand: groups, measures, filters, limits,
 * nulls, the shipped queries and the forms of output.
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

/* main -> a -> b; b is on the stack twice in the third row. */
static const char lines[] =
    "main@app;a@app 10 tid=101 thread=w1 cpu=0 ts=0 comm=gl\n"
    "main@app;a@app;b@/lib/libx.so 20 tid=102 thread=w2 cpu=1 ts=1000 comm=gl2\n"
    "main@app;b@/lib/libx.so;a@app;b@/lib/libx.so 5 tid=101 thread=w1 cpu=1 ts=2000 count=3\n"
    "main@app 1 tid=101 thread=w1 cpu=0 ts=3000\n"
    "- 4 ts=4000\n";

static void expect(const char *store_lines, const char *steps, const char *csv)
{
    struct fm_store *store = query_store(ctx, store_lines);
    const char *got = query_run(ctx, store, query_of(steps), NULL, "csv");

    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    ck_assert_str_eq(got, csv);
    fm_store_free(store);
}

START_TEST(self_and_total_count_recursion_once)
{
    expect(lines,
           "  - group: {by: [any.function], measures: [self, total, samples, count()]}\n",
           "function,self (ns),total (ns),samples,count()\n"
           "a,10,35,5,3\n"
           "b,25,25,4,2\n"
           "main,1,36,6,4\n"
           ",4,4,1,1\n");
}
END_TEST

START_TEST(several_any_keys_are_of_one_frame)
{
    expect("x@p;y@q 1\nx@q;y@q 2\n",
           "  - group: {by: [any.function, any.module], measures: [self, total]}\n",
           "function,module,self (ns),total (ns)\n"
           "x,p,0,1\n"
           "x,q,0,2\n"
           "y,q,3,3\n");
}
END_TEST

START_TEST(keys_of_rows_and_frames_combine)
{
    expect(lines,
           "  - group: {by: [cpu, leaf.function], measures: [self, total, samples]}\n"
           "  - sort: [-self, cpu]\n",
           "cpu,function,self (ns),total (ns),samples\n"
           "1,b,25,25,4\n"
           "0,a,10,10,1\n"
           ",,4,4,1\n"
           "0,main,1,1,1\n");
    expect(lines,
           "  - group: {by: [any.module, thread], measures: [self, total]}\n",
           "module,thread,self (ns),total (ns)\n"
           "/lib/libx.so,w1,5,5\n"
           "/lib/libx.so,w2,20,20\n"
           "app,w1,11,16\n"
           "app,w2,0,20\n"
           ",,4,4\n");
    expect(lines,
           "  - group: {by: [root.function, tid, pid, process], measures: [self]}\n",
           "function,tid,pid,process,self (ns)\n"
           "main,101,100,,16\n"
           "main,102,100,,20\n"
           ",,,,4\n");
}
END_TEST

START_TEST(paths_are_of_labels)
{
    /* two frames of one function (other lines) read alike: one path */
    expect("m@p@f.c:1;x@p@f.c:2 1\nm@p@f.c:9;x@p@f.c:3 2\nm@p 4\nz@p 1\n",
           "  - group: {by: [path], measures: [self, samples]}\n",
           "path,self (ns),samples\nm,4,1\nm;x,3,2\nz,1,1\n");
    /* a prefix comes first, frame by frame */
    expect("a;b 1\na!;b 1\na 1\n",
           "  - group: {by: path, measures: self}\n",
           "path,self (ns)\na,1\na;b,1\na!;b,1\n");
}
END_TEST

START_TEST(where_keeps_rows)
{
    static const struct {
        const char *where, *sum;
    } table[] = {
        { "{cpu: 0}", "11" }, { "{cpu: \">= 1\"}", "25" }, { "{cpu: 0..1}", "36" },
        { "{cpu: [0, 7]}", "11" }, { "{thread: w*}", "36" }, { "{thread: \"*\"}", "40" },
        { "{thread: w1}", "16" }, { "{thread: 102}", "20" }, { "{comm: gl*}", "30" },
        { "{thread: {is: w1}}", "16" }, { "{thread: {is: w*}}", "" },
        { "{comm: /^GL.$/i}", "20" }, { "{comm: {is: gl}}", "10" }, { "{not: {cpu: 0}}", "25" },
        { "{cpu: {not: 0}}", "25" }, { "{any: [{cpu: 0}, {tid: 102}]}", "31" },
        { "{all: [{cpu: 0}, {tid: 102}]}", "" }, { "{pid: 100, cpu: 1}", "25" },
        { "{leaf.function: b}", "25" }, { "{root.function: main}", "36" },
        { "{leaf.module: libx.so}", "25" }, { "{leaf.module: /lib/libx.so}", "25" },
        { "{stack: {has: b}}", "25" }, { "{stack: {lacks: b}}", "15" },
        { "{stack: {leaf: a}}", "10" }, { "{stack: {root: main}}", "36" },
        { "{stack: {path: [a, b]}}", "25" }, { "{stack: {path: [b, b]}}", "5" },
        { "{stack: {has: {module: libx*}, leaf: b}}", "25" }, { "weight > 9", "30" },
        { "cpu == 0 or leaf.function == 'b'", "36" }, { "not cpu == 0", "25" },
        { "\"stack.has(function: b)\"", "25" }, { "{dur: \">= 0\"}", "" },
        { "{ts: \"< 2us\"}", "30" }, { "{ts: 1us..3us}", "26" }, { "ts < 1us", "10" },
        { "[{cpu: 0}, {tid: 102}]", "31" }, { "none", "" }, { "{event: cpu}", "40" },
        { "{event: auto}", "40" }, { "{source: test}", "40" }, { "count > 1", "5" }
    };
    char steps[512], csv[64];

    for (size_t i = 0; i < FM_COUNT(table); i++) {
        snprintf(steps, sizeof steps,
                 "  - where: %s\n  - group: {by: [], measures: {w: sum(weight)}}\n",
                 table[i].where);
        snprintf(csv, sizeof csv, "w (ns)\n%s%s", table[i].sum, table[i].sum[0] ? "\n" : "");
        expect(lines, steps, csv);
    }
}
END_TEST

START_TEST(time_ranges_are_half_open)
{
    static const struct {
        const char *range, *sum;
    } table[] = {
        { "0s..1us", "10" }, { "1us..3us", "25" }, { "..50%", "30" }, { "50%..100%", "10" },
        { "-1us..", "5" }, { "50%/1", "30" }, { "50%/2", "10" }, { "2us..", "10" },
        { "..2us", "30" }, { "10%/10", "4" }, { "@0.000001..@0.000002", "20" }
    };
    char steps[256], csv[64];

    for (size_t i = 0; i < FM_COUNT(table); i++) {
        snprintf(steps, sizeof steps,
                 "  - time: \"%s\"\n  - group: {by: [], measures: [self]}\n", table[i].range);
        snprintf(csv, sizeof csv, "self (ns)\n%s\n", table[i].sum);
        expect(lines, steps, csv);
    }
}
END_TEST

START_TEST(measures_by_hand)
{
    expect("x 1 i.v=4 ts=30 s.n=c\nx 2 i.v=1 ts=10 s.n=a\nx 3 i.v=9 ts=20 s.n=b\n"
           "x 4 i.v=1 s.n=a\ny 5 ts=1000000030\n",
           "  - group:\n"
           "      by: leaf.function\n"
           "      measures:\n"
           "        s: sum(v)\n"
           "        lo: min(v)\n"
           "        hi: max(v)\n"
           "        mean: avg(v)\n"
           "        n: count(v)\n"
           "        d: distinct(v)\n"
           "        f: first(n)\n"
           "        l: last(n)\n"
           "        p50: p50(v)\n"
           "        p75: p75(v)\n"
           "        p99: p99(v)\n"
           "        most: p99.9(v)\n"
           "        sd: stddev(v)\n"
           "        some: sum(v if v > 1)\n"
           "        per: sum(v) / count()\n"
           "        r: rate(self)\n"
           "        of_all: share(self, all)\n",
           "function,s,lo,hi,mean,n,d,f,l,p50,p75,p99,most,sd,some,per,r (ns/s),of_all\n"
           "x,15,1,9,3.75,4,3,a,c,1,4,9,9,3.2691742076555053,13,3.75,9.999999800000003"
           ",0.6666666666666666\n"
           "y,0,,,,0,0,,,,,,,,0,0,4.9999999000000015,0.3333333333333333\n");
}
END_TEST

START_TEST(aggregates_of_any_groups_take_each_row_once)
{
    expect("r;r;x 1 i.v=4\nr;x;r 2 i.v=6\nr 3 i.v=8\n",
           "  - group:\n"
           "      by: any.function\n"
           "      measures: {t: total, s: sum(v), d: distinct(v), m: p50(v), n: count()}\n",
           "function,t (ns),s,d,m,n\n"
           "r,6,18,3,6,3\n"
           "x,3,10,2,4,2\n");
}
END_TEST

START_TEST(keys_may_be_expressions)
{
    expect("a 1 ts=100\na 2 ts=1099\na 4 ts=1100\na 8 ts=2200\na 16\n",
           "  - group: {by: [{slot: \"bucket(ts, 1us)\"}], measures: [self]}\n",
           "slot (ns),self (ns)\n0,3\n1000,4\n2000,8\n,16\n");
    expect("a 1 cpu=0\nb 2 cpu=3\nc 4\n",
           "  - group: {by: [{odd: cpu % 2 == 1}], measures: [self]}\n",
           "odd,self (ns)\nfalse,1\ntrue,2\n,4\n");
}
END_TEST

START_TEST(limits)
{
    static const char five[] = "a 5 cpu=0\nb 5 cpu=0\nc 3 cpu=1\nd 2 cpu=1\ne 1 cpu=1\n";
#define BY "  - group: {by: [leaf.function], measures: [self, self_share, samples]}\n" \
           "  - sort: [-self, function]\n"
#define HEAD "function,self (ns),self_share,samples\n"

    expect(five, BY "  - limit: 2\n", HEAD "a,5,0.3125,1\nb,5,0.3125,1\n");
    expect(five,
           "  - group: {by: [leaf.function], measures: [self]}\n  - sort: -self\n"
           "  - limit: {rows: 1, ties: include}\n", "function,self (ns)\na,5\nb,5\n");
    expect(five, BY "  - limit: {rows: 2, rest: others}\n",
           HEAD "a,5,0.3125,1\nb,5,0.3125,1\nothers,6,0.375,3\n");
    expect(five, BY "  - limit: {rows: 1, at: 50%}\n", HEAD "c,3,0.1875,1\n");
    expect(five, BY "  - limit: {rows: 9, rest: others}\n",
           HEAD "a,5,0.3125,1\nb,5,0.3125,1\nc,3,0.1875,1\nd,2,0.125,1\ne,1,0.0625,1\n");
    expect(five,
           "  - group: {by: [cpu, leaf.function], measures: [self]}\n"
           "  - sort: [-self, function]\n"
           "  - limit: {rows: 1, per: [cpu], rest: others}\n",
           "cpu,function,self (ns)\n0,a,5\n1,c,3\n0,others,5\n1,others,3\n");
    /* in groups that share rows only self may be folded */
    expect("a;b 1\na;c 2\n",
           "  - group: {by: [any.function], measures: [self, total, samples]}\n"
           "  - sort: -total\n  - limit: {rows: 1, rest: rest}\n",
           "function,self (ns),total (ns),samples\na,0,3,2\nrest,3,,\n");
    expect("a;b 1\na;c 2\n",
           "  - group: {by: [path], measures: [self]}\n"
           "  - sort: -self\n  - limit: {rows: 1, rest: rest}\n",
           "path,self (ns)\na;c,2\nrest,1\n");
}
END_TEST

START_TEST(where_of_a_result)
{
    expect(lines,
           "  - group: {by: [any.function], measures: [self, total]}\n"
           "  - where: {self: \">= 4\", function: \"/./\"}\n",
           "function,self (ns),total (ns)\na,10,35\nb,25,25\n");
    expect(lines,
           "  - group: {by: [any.function], measures: [self, total]}\n"
           "  - where: total > 3 * self\n",
           "function,self (ns),total (ns)\na,10,35\nmain,1,36\n");
}
END_TEST

START_TEST(computed_columns)
{
    expect(lines,
           "  - group: {by: [any.function], measures: [self, total]}\n"
           "  - compute: {below: total - self, part: self / total, hot: part > 0.5}\n"
           "  - where: hot or below > 30\n"
           "  - sort: [-below]\n",
           "function,self (ns),total (ns),below (ns),part,hot\n"
           "main,1,36,35,0.027777777777777776,false\n"
           "b,25,25,0,1,true\n"
           ",4,4,0,1,true\n");
    expect("a 1\nb 0\n",
           "  - group: {by: [leaf.function], measures: [self]}\n"
           "  - compute: {inverse: 6 / self, kind: \"if(self > 0, 'some', 'none')\"}\n"
           "  - sort: [-inverse]\n",
           "function,self (ns),inverse,kind\na,1,6,some\nb,0,,none\n");
}
END_TEST

START_TEST(gates)
{
#define CHECK "  - group: {by: [any.function], measures: [self, total, total_share]}\n" \
              "  - sort: [-total]\n"
    struct fm_store *store = query_store(ctx, lines);

    ck_assert_ptr_nonnull(query_run(ctx, store, query_of(CHECK
        "  - check: {fail_if: self > 25, message: no}\n"), NULL, "csv"));
    ck_assert_str_eq(query_messages(), "");
    ck_assert_ptr_null(query_run(ctx, store, query_of(CHECK
        "  - check:\n"
        "      - fail_if: self >= 10\n"
        "        message: \"${function} takes ${self:auto}, ${total_share:%} ${self} $$\"\n"
        "      - warn_if: total == 36\n"), NULL, "csv"));
    ck_assert_int_eq(query_status(), FM_GATE);
    ck_assert_str_eq(query_error(), "check failed: a takes 10 ns, 87.50% 10 $$");
    ck_assert_str_eq(query_messages(),
                     "q.yaml:8:18: error: check failed: a takes 10 ns, 87.50% 10 $$ [FM100]\n"
                     "    8 |       - fail_if: self >= 10\n"
                     "      |                  ^~~~~~~~~~\n"
                     "q.yaml:8:18: error: check failed: b takes 25 ns, 62.50% 25 $$ [FM100]\n"
                     "q.yaml:10:18: warning: 'total == 36' holds for function main [FM100]\n"
                     "   10 |       - warn_if: total == 36\n"
                     "      |                  ^~~~~~~~~~~\n");
    ck_assert_ptr_null(query_run(ctx, store, query_of(CHECK
        "  - where: self > 1000\n"
        "  - check: {fail_if: self > 25, min_rows: 1}\n"), NULL, "csv"));
    ck_assert_int_eq(query_status(), FM_GATE);
    ck_assert_str_eq(query_error(), "check failed: 0 rows, at least 1 are needed");
    fm_store_free(store);
}
END_TEST

START_TEST(events_are_never_mixed)
{
    static const char two[] =
        "a 1 event=cycles:cycles\nb 2 event=bytes:bytes\nc 3 event=bytes:bytes\n";
    const char *steps = "  - where: {event: bytes}\n"
                        "  - group: {by: [leaf.function], measures: [self]}\n";
    struct fm_select_options o = FM_INIT(o);
    struct fm_store *store = query_store(ctx, two);

    expect(two, steps, "function,self (bytes)\nb,2\nc,3\n");
    ck_assert_ptr_null(query_run(ctx, store, query_of("  - where: {event: \"*es\"}\n"
                                                      "  - group: {by: [], measures: [self]}\n"),
                                 NULL, "csv"));
    ck_assert_int_eq(query_status(), FM_CONFIG);
    ck_assert_msg(strstr(query_messages(), "q.yaml:5:20: error: events of different units cannot "
                                           "be summed: 'cycles' in cycles, 'bytes' in bytes")
                      != NULL, "%s", query_messages());
    o.event = "all";
    ck_assert_ptr_null(query_run_with(ctx, store,
                                      query_of("  - group: {by: [], measures: [self]}\n"), NULL,
                                      "csv", &o));
    ck_assert_int_eq(query_status(), FM_CONFIG);
    o.weight = "samples";
    ck_assert_str_eq(query_run_with(ctx, store,
                                    query_of("  - group: {by: [event], measures: [self]}\n"), NULL,
                                    "csv", &o),
                     "event,self (samples)\nbytes,2\ncycles,1\n");
    fm_store_free(store);
}
END_TEST

static void shipped(const char *name, const char *n, const char *first, const char *last)
{
    struct fm_store *store = query_store(ctx, lines);
    struct fm_query *q;
    struct fm_result *result;
    struct fm_error err;

    fm_error_clear(&err);
    ck_assert_msg(fm_query_load(ctx, name, &q, &err) == FM_OK, "%s%s", err.message,
                  fm_query_errors(q));
    if (n != NULL)
        ck_assert_int_eq(fm_query_set(q, "n", n, &err), FM_OK);
    ck_assert_msg(fm_query_run(ctx, q, &store, 1, NULL, &result, &err) == FM_OK, "%s%s",
                  err.message, fm_query_errors(q));
    fm_store_free(store);          /* a result needs neither store … */
    fm_query_free(q);              /* … nor query */
    ck_assert_uint_eq(fm_result_tables(result), 1);
    ck_assert_str_eq(first, fm_result_cell(result, 0, 0, 0));
    ck_assert_str_eq(last, fm_result_cell(result, 0, 0, fm_result_columns(result, 0) - 1));
    ck_assert_str_eq(fm_result_cell(result, 0, 999, 0), "");
    ck_assert_str_eq(fm_result_cell(result, 7, 0, 0), "");
    fm_result_free(result);
}

START_TEST(shipped_queries_run)
{
    shipped("hottest-paths", NULL, "main > a > b", "1");
    shipped("hottest-paths", "all", "main > a > b", "1");
    shipped("top-self", "2", "25", "/lib/libx.so");
}
END_TEST

START_TEST(forms_of_output)
{
    static const char steps[] =
        "  - group: {by: [any.function, cpu], measures: [self, self_share, total]}\n"
        "  - sort: [-self]\n  - limit: 3\n";
    static const char big[] = "a|b@app;x 1500000 cpu=0\na|b@app;\"q\" 2500000 cpu=10\nz 7\n";
    struct fm_store *store = query_store(ctx, big);

    ck_assert_str_eq(query_run(ctx, store, query_of(steps), NULL, "text"),
                     "# q: event cpu, weight value in ns, 3 samples\n"
                     "# self_share: of selected = 4.000 ms\n"
                     "function  cpu  self (ms)  self_share (%)  total (ms)\n"
                     "\"q\"        10      2.500           62.50       2.500\n"
                     "x           0      1.500           37.50       1.500\n"
                     "z           -      0.000            0.00       0.000\n");
    ck_assert_str_eq(query_run(ctx, store, query_of(steps), NULL, "csv"),
                     "function,cpu,self (ns),self_share,total (ns)\n"
                     "\"\"\"q\"\"\",10,2500000,0.624998906251914,2500000\n"
                     "x,0,1500000,0.37499934375114846,1500000\n"
                     "z,,7,1.7499969375053593e-6,7\n");
    ck_assert_str_eq(query_run(ctx, store, query_of(steps), NULL, "markdown"),
                     "q: event cpu, weight value in ns, 3 samples  \n"
                     "self_share: of selected = 4.000 ms  \n"
                     "\n"
                     "| function | cpu | self (ms) | self\\_share (%) | total (ms) |\n"
                     "| --- | ---: | ---: | ---: | ---: |\n"
                     "| \"q\" | 10 | 2.500 | 62.50 | 2.500 |\n"
                     "| x | 0 | 1.500 | 37.50 | 1.500 |\n"
                     "| z | - | 0.000 | 0.00 | 0.000 |\n");
    ck_assert_ptr_null(query_run(ctx, store, query_of(steps), NULL, "xml"));
    ck_assert_str_eq(query_error(), "no result format 'xml': text, csv, tsv, json or markdown");
    ck_assert_str_eq(query_run(ctx, store,
                               query_of("  - group: {by: [path], measures: [self]}\n"
                                        "  - limit: 1\n"), NULL, "json"),
                     "[{\"query\": \"q\",\n"
                     "  \"event\": \"cpu\", \"unit\": \"ns\", \"weight\": \"value\",\n"
                     "  \"samples\": 3, \"selected\": 4000007, \"all\": 4000007,\n"
                     "  \"columns\": [\n"
                     "    {\"name\": \"path\", \"type\": \"path\", \"unit\": \"\"},\n"
                     "    {\"name\": \"self\", \"type\": \"integer\", \"unit\": \"ns\"}],\n"
                     "  \"rows\": [\n"
                     "    {\"path\": [\"a|b\",\"\\\"q\\\"\"], \"self\": 2500000}]}]\n");
    fm_store_free(store);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("query");
    TCase *t = tcase_create("query");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, self_and_total_count_recursion_once);
    tcase_add_test(t, several_any_keys_are_of_one_frame);
    tcase_add_test(t, keys_of_rows_and_frames_combine);
    tcase_add_test(t, paths_are_of_labels);
    tcase_add_test(t, where_keeps_rows);
    tcase_add_test(t, time_ranges_are_half_open);
    tcase_add_test(t, measures_by_hand);
    tcase_add_test(t, aggregates_of_any_groups_take_each_row_once);
    tcase_add_test(t, keys_may_be_expressions);
    tcase_add_test(t, limits);
    tcase_add_test(t, where_of_a_result);
    tcase_add_test(t, computed_columns);
    tcase_add_test(t, gates);
    tcase_add_test(t, events_are_never_mixed);
    tcase_add_test(t, shipped_queries_run);
    tcase_add_test(t, forms_of_output);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
