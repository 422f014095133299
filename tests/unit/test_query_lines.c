/*
 * select, sort and limit straight on rows: one line a row. The tables are worked out by hand; over
 * many rows the answer is worked out again from the arrays that the store was built from.
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
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
    fm_ctx_free(ctx);
}

static const char *run(struct fm_store *store, const char *from, const char *steps)
{
    static char text[4096];

    snprintf(text, sizeof text, "foldmill-query: 1\nname: q\nfrom: %s\nsteps:\n%s", from, steps);
    return query_run(ctx, store, text, NULL, "csv");
}

static void gives(struct fm_store *store, const char *from, const char *steps, const char *want)
{
    const char *got = run(store, from, steps);

    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    ck_assert_str_eq(got, want);
}

static void fails(struct fm_store *store, const char *from, const char *steps, const char *error)
{
    ck_assert_ptr_null(run(store, from, steps));
    ck_assert_int_eq(query_status(), FM_CONFIG);
    ck_assert_msg(strstr(query_error(), error) != NULL || strstr(query_messages(), error) != NULL,
                  "%s%s", query_error(), query_messages());
}

/* A has B within it; C is of a thread without a name and has no category; D is async. */
static const char *const spans =
    "main;A 30 event=span:ns:span name=A category=x ts=100 dur=50 tid=1 thread=web s.kind=big\n"
    "main;A;B 20 event=span:ns:span name=B category=y ts=110 dur=20 tid=1 s.kind=small\n"
    "idle 20 event=span:ns:span name=C ts=105 dur=20 tid=2 i.size=7\n"
    "- 0 event=async:ns:async name=D category=x ts=120 dur=70 tid=1 thread=web\n"
    "main;A 900 event=cpu:ns ts=130 tid=1 count=3\n"
    "main 400 event=cpu:ns ts=125 tid=2\n"
    "- 400 event=cpu:ns ts=101 tid=1\n";

/* Times are since the first row, at 100. */
START_TEST(test_defaults)
{
    struct fm_store *store = query_store(ctx, spans);

    gives(store, "spans", "  - sort: -dur\n  - limit: 3\n",
          "ts (ns),dur (ns),self_dur (ns),name,category,process,thread\n"
          "20,70,70,D,x,,web\n"
          "0,50,30,A,x,,web\n"
          "5,20,20,C,,,\n");
    gives(store, "spans", "  - limit: 2\n",
          "ts (ns),dur (ns),self_dur (ns),name,category,process,thread\n"
          "0,50,30,A,x,,web\n"
          "5,20,20,C,,,\n");
    gives(store, "samples", "  - where: {event: cpu}\n  - sort: weight\n",
          "ts (ns),weight (ns),count,thread,path\n"
          "1,400,1,web,\n"
          "25,400,1,,main\n"
          "30,900,3,web,main;A\n");
    /* nulls are last either way; a name that is no default is a column more */
    gives(store, "spans", "  - sort: [-size, category]\n  - limit: 2\n",
          "ts (ns),dur (ns),self_dur (ns),name,category,process,thread,size\n"
          "5,20,20,C,,,,7\n"
          "0,50,30,A,x,,web,\n");
    gives(store, "spans", "  - sort: [-category]\n  - limit: {rows: 1, ties: include}\n",
          "ts (ns),dur (ns),self_dur (ns),name,category,process,thread\n"
          "10,20,20,B,y,,web\n");
    gives(store, "spans", "  - sort: [\"abs(dur - 45ns)\", tid]\n",
          "ts (ns),dur (ns),self_dur (ns),name,category,process,thread,tid\n"
          "0,50,30,A,x,,web,1\n"
          "10,20,20,B,y,,web,1\n"
          "20,70,70,D,x,,web,1\n"
          "5,20,20,C,,,,2\n");
    gives(store, "spans", "  - sort: -dur\n  - limit: {rows: 1, per: thread, rest: others}\n",
          "ts (ns),dur (ns),self_dur (ns),name,category,process,thread\n"
          "20,70,70,D,x,,web\n"
          "5,20,20,C,,,\n"
          ",70,50,others,,,web\n");
    fm_store_free(store);
}
END_TEST

START_TEST(test_select)
{
    struct fm_store *store = query_store(ctx, spans);

    /* without a sort lines are in the order of the columns; two that are named alike by all */
    gives(store, "spans",
          "  - select: [dur, leaf.function, path, label.kind, {t: thread, up: dur + 1}]\n",
          "dur (ns),function,path,kind,t,up (ns)\n"
          "20,B,main;A;B,small,web,21\n"
          "20,idle,idle,,,21\n"
          "50,A,main;A,big,web,51\n"
          "70,,,,web,71\n");
    gives(store, "spans",
          "  - where: {category: x}\n  - select: [leaf.function, root.function, dur]\n"
          "  - sort: root.function\n  - limit: 5\n",
          "leaf.function,root.function,dur (ns)\nA,main,50\n,,70\n");
    /* behind it is a table like others */
    gives(store, "spans",
          "  - select: [thread, dur]\n"
          "  - group: {by: [thread], measures: {n: count(), d: sum(dur)}}\n",
          "thread,n,d (ns)\nweb,3,140\n,1,20\n");
    gives(store, "spans",
          "  - select: [name, dur]\n  - compute: {half: dur / 2}\n  - where: half > 20\n"
          "  - sort: -half\n  - select: [half, name]\n",
          "half (ns),name\n35,D\n25,A\n");
    gives(store, "samples",
          "  - where: {event: cpu}\n  - stack: {drop: A}\n  - select: [path, weight]\n",
          "path,weight (ns)\nmain,400\nmain,900\n,400\n");
    gives(store, "samples",
          "  - where: {event: cpu}\n  - select: [weight, {in: \"stack.has(function: A)\"}]\n"
          "  - sort: -weight\n  - limit: 1\n",
          "weight (ns),in\n900,true\n");
    fm_store_free(store);
}
END_TEST

START_TEST(test_errors)
{
    struct fm_store *store = query_store(ctx, spans);

    fails(store, "spans", "  - sort: -durr\n", "q.yaml:5:11: error: unknown column 'durr'");
    fails(store, "spans", "  - select: [name, siz]\n", "q.yaml:5:20: error: unknown column 'siz'");
    fails(store, "spans", "  - select: [name, self]\n",
          "q.yaml:5:20: error: 'self' is a measure of groups");
    fails(store, "spans", "  - select: [any.function]\n", "has several values in a row");
    fails(store, "spans", "  - select: [{d: sum(dur)}]\n", "and p99(x) are of groups");
    fails(store, "spans", "  - select: [name, name]\n",
          "q.yaml:5:20: error: column 'name' is there already");
    fails(store, "spans", "  - select: []\n", "'select' takes [COLUMN");
    fails(store, "spans", "  - select: [[name]]\n", "'select' is the name of a column");
    fails(store, "spans", "  - select: [name]\n  - stack: {drop: x}\n",
          "a select result has no stacks; 'stack' must come before 'select' at 5:5");
    fails(store, "spans", "  - sort: [[dur]]\n", "a sort key is the name of a column");
    fails(store, "spans", "  - limit: {rows: 1, per: nix}\n", "unknown column 'nix'");
    fails(store, "spans", "  - limit: few\n", "a limit is a number of rows, or all");
    fails(store, "samples", "  - select: [self_dur]\n", "unknown column 'self_dur'");
    fm_store_free(store);
}
END_TEST

/* Texts and paths of two stores meet in one table. */
START_TEST(test_stores)
{
    struct fm_store *store[2] = {
        query_store(ctx, "one;two 5 s.kind=b\nthree 1 s.kind=zz\n"),
        query_store(ctx, "unlike 9\none;two 5 s.kind=b\none 7 s.kind=a\n")
    };
    const char *got = query_run_stores(
        ctx, store, 2,
        "foldmill-query: 1\nname: q\ninputs: [a, b]\nlet:\n"
        "  x: {from: {table: samples, input: a}, steps: [select: [kind, path, weight]]}\n"
        "from: {table: samples, input: b}\n"
        "steps:\n  - select: [kind, path, weight]\n  - union: x\n  - sort: [-weight]\n"
        "  - limit: 4\n",
        NULL, "csv");

    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    ck_assert_str_eq(got, "kind,path,weight (ns)\n,unlike,9\na,one,7\nb,one;two,5\nb,one;two,5\n");
    fm_store_free(store[0]);
    fm_store_free(store[1]);
}
END_TEST

/* ------------------------------------------------------------------- many rows */

#define ROWS 70000                     /* the table is cut several times */

struct line {
    int weight, leaf, ts;              /* leaf, ts: -1 none */
};

static struct line line[ROWS];
static uint64_t state;
static const char *const name_of[] = { "zebra", "ant", "antler", "Bee" };

static int rnd(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)((state >> 20) % n);
}

static struct fm_store *random_store(unsigned seed, bool rising)
{
    char *text = malloc(ROWS * (size_t)64), *at = text;
    struct fm_store *store;

    ck_assert_ptr_nonnull(text);
    state = 88172645463325252u + seed;
    for (int i = 0; i < ROWS; i++) {
        line[i] = (struct line){ rising ? i / 3 : rnd(300), rnd(5) - 1, rnd(50) - 1 };
        at += line[i].leaf < 0 ? sprintf(at, "- %d", line[i].weight)
                               : sprintf(at, "main;%s %d", name_of[line[i].leaf], line[i].weight);
        if (line[i].ts >= 0)
            at += sprintf(at, " ts=%d", line[i].ts);
        *at++ = '\n';
    }
    *at = '\0';
    store = query_store(ctx, text);
    free(text);
    return store;
}

static int by_text(int a, int b)
{
    if (a < 0 || b < 0)
        return (a < 0) - (b < 0);
    return strcmp(name_of[a], name_of[b]);
}

static int by_time(int a, int b)
{
    if (a < 0 || b < 0)
        return (a < 0) - (b < 0);
    return a - b;
}

/* -weight, then leaf.function, ts */
static int by_weight(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int order = y->weight - x->weight;

    order = order != 0 ? order : by_text(x->leaf, y->leaf);
    return order != 0 ? order : by_time(x->ts, y->ts);
}

/* leaf.function, -ts, then weight */
static int by_name(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int order = by_text(x->leaf, y->leaf);

    if (order == 0)
        order = x->ts < 0 || y->ts < 0 ? by_time(x->ts, y->ts) : y->ts - x->ts;
    return order != 0 ? order : x->weight - y->weight;
}

/* abs(weight - 150), then weight, leaf, ts */
static int by_distance(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int order = abs(x->weight - 150) - abs(y->weight - 150);

    order = order != 0 ? order : x->weight - y->weight;
    order = order != 0 ? order : by_text(x->leaf, y->leaf);
    return order != 0 ? order : by_time(x->ts, y->ts);
}

static void first_lines(struct fm_store *store, const char *sort,
                        int (*order)(const void *, const void *), int n)
{
    static char want[1 << 21];
    char steps[256], *at = want;

    snprintf(steps, sizeof steps,
             "  - select: [weight, leaf.function, ts]\n  - sort: %s\n  - limit: %d\n", sort, n);
    qsort(line, ROWS, sizeof *line, order);
    at += sprintf(at, "weight (ns),function,ts (ns)\n");
    for (int i = 0; i < n; i++) {
        at += sprintf(at, "%d,%s,", line[i].weight, line[i].leaf < 0 ? "" : name_of[line[i].leaf]);
        at += line[i].ts < 0 ? sprintf(at, "\n") : sprintf(at, "%d\n", line[i].ts);
    }
    gives(store, "samples", steps, want);
}

START_TEST(test_many)
{
    for (unsigned seed = 0; seed < 2; seed++) {
        struct fm_store *store = random_store(seed, seed == 1);
        first_lines(store, "-weight", by_weight, 37);
        first_lines(store, "-weight", by_weight, 1);
        first_lines(store, "[function, -ts]", by_name, 20000);
        first_lines(store, "[\"abs(weight - 150)\"]", by_distance, 500);
        first_lines(store, "-weight", by_weight, ROWS);
        fm_store_free(store);
    }
}
END_TEST

/* The same by sort and limit of the rows themselves. */
START_TEST(test_many_defaults)
{
    static const char steps[] = "  - sort: [-weight, path, ts]\n%s  - select: [weight, path, ts]\n";
    struct fm_store *store = random_store(3, false);
    char text[256], *all;
    const char *cut;

    snprintf(text, sizeof text, steps, "");
    cut = run(store, "samples", text);
    ck_assert_ptr_nonnull(cut);
    all = malloc(strlen(cut) + 1);
    ck_assert_ptr_nonnull(all);
    memcpy(all, cut, strlen(cut) + 1);
    snprintf(text, sizeof text, steps, "  - limit: 100\n");
    cut = run(store, "samples", text);
    ck_assert_ptr_nonnull(cut);
    ck_assert_int_eq(strncmp(all, cut, strlen(cut)), 0);
    qsort(line, ROWS, sizeof *line, by_weight);
    ck_assert_int_eq(atoi(strchr(cut, '\n') + 1), line[0].weight);
    free(all);
    fm_store_free(store);
}
END_TEST

/* Every allocation of a run may fail: FM_NOMEM, and nothing is leaked. */
START_TEST(test_no_memory)
{
    static const char *const steps[] = {
        "  - select: [dur, path, label.kind, {half: dur / 2}]\n  - sort: -half\n  - limit: 2\n",
        "  - sort: [-dur, \"abs(dur - 45ns)\", size]\n  - limit: {rows: 1, ties: include}\n",
        "  - limit: 2\n"
    };
    struct fm_store *store = query_store(ctx, spans);
    char text[512];

    for (size_t i = 0; i < FM_COUNT(steps); i++) {
        bool done = false;
        for (uint64_t at = 1; !done && at < 20000; at++) {
            snprintf(text, sizeof text, "foldmill-query: 1\nname: q\nfrom: spans\nsteps:\n%s",
                     steps[i]);
            ctx->mem.fail_at = atomic_load(&ctx->mem.allocations) + at;
            done = query_run(ctx, store, text, NULL, "csv") != NULL;
            ctx->mem.fail_at = 0;
            ck_assert_msg(done || query_status() == FM_NOMEM, "%zu: allocation %d: %s%s", i,
                          (int)at, query_error(), query_messages());
        }
        ck_assert(done);
    }
    fm_store_free(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("query lines");
    TCase *t = tcase_create("lines");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_defaults);
    tcase_add_test(t, test_select);
    tcase_add_test(t, test_errors);
    tcase_add_test(t, test_stores);
    tcase_add_test(t, test_many);
    tcase_add_test(t, test_many_defaults);
    tcase_add_test(t, test_no_memory);
    suite_add_tcase(suite, t);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
