/*
 * test_chrome_sample.c - profiles, samples, stacks and wrapped traces of the Chrome importer
 * against values worked out by hand; then inputs made to harm.
 */
#include "chrome_help.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct fm_ctx *ctx;
static size_t held;

static void setup(void)
{
    ctx = fm_ctx_new();
    fm_ctx_data_dir(ctx, 0);
    held = atomic_load(&ctx->mem.used);
}

static void teardown(void)
{
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), held);
    fm_ctx_free(ctx);
}

/* --------------------------------------------------------------------- tables */

struct table {
    const char *why, *json, *event;
    const char *want;              /* folded */
    const char *finding;           /* and how often */
    uint64_t count;
};

#define ROOT "{\"id\":1,\"callFrame\":{\"functionName\":\"(root)\"}}"
#define NODE(id, parent, name)                                                                 \
    "{\"id\":" #id ",\"parent\":" #parent ",\"callFrame\":{\"functionName\":\"" name "\"}}"
#define HEAD(pid, id, start)                                                                   \
    "{\"ph\":\"P\",\"name\":\"Profile\",\"pid\":" #pid ",\"tid\":7,\"ts\":0,\"id\":\"" id      \
    "\",\"args\":{\"data\":{\"startTime\":" #start "}}},"
#define CHUNK(pid, ts, id, data)                                                               \
    "{\"ph\":\"P\",\"name\":\"ProfileChunk\",\"pid\":" #pid ",\"tid\":9,\"ts\":" #ts           \
    ",\"id\":\"" id "\",\"args\":{\"data\":{" data "}}}"

static const struct table tables[] = {
    {"a sample weighs the time to the next, the last one that to the end",
     "{\"nodes\":[" ROOT "," NODE(2, 1, "a") "," NODE(3, 2, "b") "],\"samples\":[2,3,2],"
     "\"timeDeltas\":[5,10,20],\"startTime\":100,\"endTime\":165}",
     "cpu-profile", "a 40000\na;b 20000\n", NULL, 0},
    {"without an end the last one weighs nothing",
     "{\"nodes\":[" ROOT "," NODE(2, 1, "a") "],\"samples\":[2,2],\"timeDeltas\":[5,10]}",
     "cpu-profile", "a 10000\n", NULL, 0},
    {"a negative delta: times are summed, then sorted",
     "{\"nodes\":[" ROOT "," NODE(2, 1, "a") "," NODE(3, 1, "b") "," NODE(4, 1, "c")
     "],\"samples\":[2,3,4],\"timeDeltas\":[10,20,-5],\"endTime\":40}",
     "cpu-profile", "a 15000\nb 10000\nc 5000\n", NULL, 0},
    {"keys in any order, parents after children, ids as texts",
     "{\"endTime\":30,\"timeDeltas\":[10,\"10\"],\"samples\":[3,3],\"nodes\":["
     NODE(3, 2, "b") "," NODE(2, 1, "a") "," ROOT "],\"startTime\":0}",
     "cpu-profile", "a;b 20000\n", NULL, 0},
    {"a sample of an unknown node is kept",
     "{\"nodes\":[" ROOT "],\"samples\":[8],\"timeDeltas\":[1],\"endTime\":4}",
     "cpu-profile", "(unresolved) 3000\n", "profile-node-unknown", 1},
    {"fewer times than samples",
     "{\"nodes\":[" ROOT "," NODE(2, 1, "a") "],\"samples\":[2,2,2],\"timeDeltas\":[1],"
     "\"endTime\":4}", "cpu-profile", "a 3000\n", "profile-lengths", 1},
    {"made-up functions stay below the root",
     "{\"nodes\":[" ROOT "," NODE(2, 1, "(program)") "," NODE(3, 1, "(garbage collector)") ","
     NODE(4, 1, "(idle)") "],\"samples\":[2,3,4],\"timeDeltas\":[1,1,1],\"endTime\":5}",
     "cpu-profile", "(garbage collector) 1000\n(idle) 2000\n(program) 1000\n", NULL, 0},
    {"parents in a circle end the stack",
     "{\"nodes\":[" NODE(2, 3, "a") "," NODE(3, 2, "b") "],\"samples\":[2],\"timeDeltas\":[0],"
     "\"endTime\":1}", "cpu-profile", "b;a 1000\n", "stack-parent", 1},
    {"a node that is its own parent",
     "{\"nodes\":[" NODE(2, 2, "a") "],\"samples\":[2],\"timeDeltas\":[0],\"endTime\":1}",
     "cpu-profile", "a 1000\n", "stack-parent", 1},
    {"an unknown parent",
     "{\"nodes\":[" NODE(2, 9, "a") "],\"samples\":[2],\"timeDeltas\":[0],\"endTime\":1}",
     "cpu-profile", "a 1000\n", "stack-parent", 1},
    {"deltas beyond the range of times",
     "{\"nodes\":[" NODE(2, 9, "a") "],\"samples\":[2,2],\"timeDeltas\":[9e15,9e15]}",
     "cpu-profile", "a 0\n", "value-range", 1},
    {"one id in two processes is two profiles",
     "[" HEAD(1, "0x1", 0) HEAD(2, "0x1", 0)
     CHUNK(1, 1, "0x1", "\"cpuProfile\":{\"nodes\":[" NODE(2, 1, "a") "," ROOT
           "],\"samples\":[2,2]},\"timeDeltas\":[1,4]") ","
     CHUNK(2, 1, "0x1", "\"cpuProfile\":{\"nodes\":[" NODE(2, 1, "b") "," ROOT
           "],\"samples\":[2,2]},\"timeDeltas\":[1,6]") "]",
     "cpu-profile", "pid 1;tid 7;a 4000\npid 2;tid 7;b 6000\n", NULL, 0},
    {"chunks in order of time, not of the file",
     "[" HEAD(1, "0x1", 0)
     CHUNK(1, 9, "0x1", "\"cpuProfile\":{\"samples\":[2]},\"timeDeltas\":[100]") ","
     CHUNK(1, 5, "0x1", "\"cpuProfile\":{\"nodes\":[" ROOT "," NODE(2, 1, "a") "," NODE(3, 1, "b")
           "],\"samples\":[3]},\"timeDeltas\":[7]") ","
     CHUNK(1, 10, "0x1", "\"endTime\":110") "]",
     "cpu-profile", "pid 1;tid 7;a 3000\npid 1;tid 7;b 100000\n", NULL, 0},
    {"chunks without a head belong to the process's main thread",
     "[" CHUNK(4, 5, "0x1", "\"cpuProfile\":{\"nodes\":[" ROOT "," NODE(2, 1, "a")
               "],\"samples\":[2,2]},\"timeDeltas\":[7,1]") "]",
     "cpu-profile", "pid 4;tid 4;a 1000\n", NULL, 0},
    {"a chunk without data is counted",
     "[" HEAD(1, "0x1", 0)
     "{\"ph\":\"P\",\"name\":\"ProfileChunk\",\"pid\":1,\"tid\":1,\"ts\":3,\"id\":\"0x1\","
     "\"args\":{}}]", "cpu-profile", "", "profile-without-data", 1},
    {"a whole profile in one event",
     "[{\"ph\":\"I\",\"name\":\"CpuProfile\",\"pid\":1,\"tid\":2,\"ts\":99,\"args\":{\"data\":{"
     "\"cpuProfile\":{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"(root)\"},"
     "\"children\":[2]},{\"id\":2,\"callFrame\":{\"functionName\":\"\"}}],\"samples\":[2],"
     "\"timeDeltas\":[2],\"startTime\":10,\"endTime\":15}}}}]",
     "cpu-profile", "pid 1;tid 2;(anonymous) 3000\n", NULL, 0},
    {"samples of a heap profile are not added to its nodes",
     "{\"samples\":[{\"size\":5,\"nodeId\":2,\"ordinal\":1}],\"head\":{\"callFrame\":{"
     "\"functionName\":\"(root)\"},\"selfSize\":1,\"id\":1,\"children\":[{\"callFrame\":{"
     "\"functionName\":\"f\"},\"selfSize\":5,\"id\":2,\"children\":[]}]}}",
     "heap", " 1\nf 5\n", NULL, 0},
    {"inline stacks are leaf first",
     "[{\"ph\":\"P\",\"name\":\"x\",\"pid\":1,\"ts\":1,\"stack\":[\"leaf\",\"root\"]}]",
     "samples", "pid 1;tid 1;root;leaf 1\n", NULL, 0},
    {"frames of an M event belong to its process",
     "[{\"ph\":\"P\",\"name\":\"x\",\"pid\":1,\"ts\":1,\"sf\":5},"
     "{\"ph\":\"P\",\"name\":\"x\",\"pid\":2,\"ts\":1,\"sf\":5},"
     "{\"ph\":\"M\",\"name\":\"stackFrames\",\"pid\":1,\"args\":{\"stackFrames\":{"
     "\"5\":{\"name\":\"one\"}}}},"
     "{\"ph\":\"M\",\"name\":\"stackFrames\",\"pid\":2,\"args\":{\"stackFrames\":{"
     "\"5\":{\"name\":\"two\",\"parent\":\"4\"},\"4\":{\"name\":\"up\"}}}}]",
     "samples", "pid 1;tid 1;one 1\npid 2;tid 2;up;two 1\n", NULL, 0},
    {"fractions of weights are cut off, and told",
     "{\"traceEvents\":[],\"samples\":[{\"pid\":1,\"tid\":1,\"ts\":1,\"name\":\"n\","
     "\"weight\":2.9}]}", "samples", "pid 1;tid 1;n 2\n", "fraction", 1},
    {"ftrace text: marks by thread, the process from the mark",
     "{\"traceEvents\":[],\"systemTraceEvents\":\"# tracer\\n"
     " a-b-11  ( 10) [001] ...1 5.000010: tracing_mark_write: B|10|x\\n"
     " a-b-11  [001] 5.000015: 0: B|10|y\\n"
     " a-b-11  [001] 5.000017: 0: E\\n"
     " a-b-11  (-----) [001] d..2 5.000020: tracing_mark_write: E|10\"}",
     "spans", "pid 10;a-b 11;x 8000\npid 10;a-b 11;x;y 2000\n", NULL, 0},
    {"a trace inside of a page, not in base64",
     "<html><script>if (a < b) '</'; </script><script id=viewer-data>\n"
     "[{\"ph\":\"X\",\"name\":\"a<b\",\"ts\":1,\"dur\":2}]\n</script></html>",
     "spans", "pid 0;tid 0;a<b 2000\n", NULL, 0},
    {"a system trace as a JavaScript string",
     "<html>\n<script>\n  var linuxPerfData = \"\\\n# x\\n\\\n"
     "  w-3 [000] 1.000001: 0: B|3|a\\n\\\n  w-3 [000] 1.000004: 0: E\\n\\\n \\n\";\n</script>",
     "spans", "pid 3;w 3;a 3000\n", NULL, 0},
};

START_TEST(values_of_the_table)
{
    const struct table *t = &tables[_i];
    struct fm_store *s = chrome_read(ctx, t->json, strlen(t->json), NULL, FM_OK);
    char *got = chrome_folded(ctx, s, t->event);
    ck_assert_msg(strcmp(got, t->want) == 0, "%s: got\n%swant\n%s", t->why, got, t->want);
    if (t->finding != NULL)
        ck_assert_msg(chrome_finding(s, t->finding) == t->count, "%s: %s", t->why, t->finding);
    free(got);
    fm_store_free(s);
}
END_TEST

/* ------------------------------------------------------------------------ links */

/* The device's row points to the call; ids of two inputs do not meet. */
START_TEST(launches_link_device_to_call)
{
    static const char json[] =
        "[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"launch\",\"pid\":1,\"ts\":1,"
        "\"dur\":2,\"args\":{\"correlation\":5}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k1\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":2,"
        "\"args\":{\"correlation\":5}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k2\",\"pid\":0,\"tid\":7,\"ts\":8,\"dur\":2,"
        "\"args\":{\"correlation\":\"5\"}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k3\",\"pid\":0,\"tid\":7,\"ts\":11,"
        "\"dur\":2,\"args\":{\"correlation\":6}}]";
    struct fm_store *s = chrome_read(ctx, json, sizeof json - 1, NULL, FM_OK);
    size_t n;
    const struct fm_link *l = fm_store_links(s, &n);
    uint64_t name;
    ck_assert_uint_eq(n, 2);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(l[i].kind, FM_LINK_LAUNCH);
        ck_assert(fm_store_cell(s, FM_COL_NAME, l[i].to, &name));
        ck_assert_str_eq(fm_store_str(s, (fm_str)name, NULL), "launch");
        ck_assert(fm_store_cell(s, FM_COL_NAME, l[i].from, &name));
        ck_assert_int_eq(fm_store_str(s, (fm_str)name, NULL)[0], 'k');
    }
    fm_store_free(s);
}
END_TEST

/* unitrace has no correlation: its flows from host to device are launches, s and t without f. */
START_TEST(flows_to_a_device_are_launches)
{
    static const char json[] =
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"zeCommandList\",\"pid\":1,\"tid\":1,"
        "\"ts\":1,\"dur\":4},"
        "{\"ph\":\"X\",\"cat\":\"gpu_op\",\"name\":\"kernel\",\"pid\":9,\"tid\":2,\"ts\":8,"
        "\"dur\":3},"
        "{\"ph\":\"s\",\"cat\":\"Flow_H2D_5_0\",\"name\":\"dep\",\"id\":5,\"pid\":1,\"tid\":1,"
        "\"ts\":2},{\"ph\":\"t\",\"cat\":\"Flow_H2D_5_0\",\"name\":\"dep\",\"id\":5,\"pid\":9,"
        "\"tid\":2,\"ts\":8},"
        "{\"ph\":\"s\",\"cat\":\"Flow_D2H_5_0\",\"name\":\"dep\",\"id\":6,\"pid\":9,\"tid\":2,"
        "\"ts\":9},{\"ph\":\"t\",\"cat\":\"Flow_D2H_5_0\",\"name\":\"dep\",\"id\":6,\"pid\":1,"
        "\"tid\":1,\"ts\":3}]";
    struct fm_store *s = chrome_read(ctx, json, sizeof json - 1, NULL, FM_OK);
    size_t n, launches = 0;
    const struct fm_link *l = fm_store_links(s, &n);
    uint64_t name;
    for (size_t i = 0; i < n; i++) {
        if (l[i].kind != FM_LINK_LAUNCH)
            continue;
        launches++;
        ck_assert(fm_store_cell(s, FM_COL_NAME, l[i].from, &name));
        ck_assert_str_eq(fm_store_str(s, (fm_str)name, NULL), "kernel");
    }
    ck_assert_uint_eq(launches, 1);
    ck_assert_uint_eq(n, 3);
    fm_store_free(s);
}
END_TEST

/* Instants have the stack that they name or hold; the dictionary comes later. */
START_TEST(instants_have_stacks)
{
    static const char json[] =
        "{\"traceEvents\":[{\"ph\":\"i\",\"name\":\"a\",\"ts\":1,\"sf\":2},"
        "{\"ph\":\"i\",\"name\":\"b\",\"ts\":2,\"stack\":[\"leaf\",\"root\"]},"
        "{\"ph\":\"i\",\"name\":\"c\",\"ts\":3}],"
        "\"stackFrames\":{\"1\":{\"name\":\"up\"},\"2\":{\"name\":\"f\",\"parent\":1}}}";
    static const char *const want[] = {"f", "leaf"};
    struct fm_store *s = chrome_read(ctx, json, sizeof json - 1, NULL, FM_OK);
    const struct fm_tree_node *tree = fm_store_tree(s);
    uint64_t stack;
    for (uint64_t row = 0; row < 2; row++) {
        ck_assert(fm_store_cell(s, FM_COL_STACK, row, &stack));
        uint32_t node = fm_store_tree_node(s, (fm_node)stack);
        ck_assert_uint_eq(tree[node].depth, 2);
        ck_assert_str_eq(fm_store_str(s, fm_store_frame_row(s, tree[node].frame)->function, NULL),
                         want[row]);
    }
    ck_assert(!fm_store_cell(s, FM_COL_STACK, 2, &stack));
    fm_store_free(s);
}
END_TEST

/* Keys of a profile alone make none. */
START_TEST(lookalikes_are_named)
{
    static const char *const json[] = {
        "{\"snapshot\":{\"node_count\":2},\"nodes\":[1,2,3],\"edges\":[],\"samples\":[]}",
        "{\"startTime\":1,\"endTime\":2}", "{\"stackFrames\":{\"1\":{\"name\":\"f\"}}}",
        "<html><script>var x = 1;</script></html>"};
    for (size_t i = 0; i < FM_COUNT(json); i++)
        fm_store_free(chrome_read(ctx, json[i], strlen(json[i]), NULL, FM_UNSUPPORTED));
}
END_TEST

/* ----------------------------------------------------------------- made to harm */

static double cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

#define CHAIN 200000u

/* A chain of CHAIN frames, each the parent of the one before; a sample on each. */
START_TEST(long_chains_take_linear_time)
{
    size_t cap = (size_t)CHAIN * 96, n;
    char *json = malloc(cap);
    double from = cpu_seconds();
    n = (size_t)snprintf(json, cap, "{\"nodes\":[");
    for (unsigned i = 0; i < CHAIN; i++)
        n += (size_t)snprintf(json + n, cap - n,
                              "%s{\"id\":%u,\"parent\":%u,\"callFrame\":{\"functionName\":\"f\"}}",
                              i ? "," : "", i, (i + 1) % (_i == 0 ? CHAIN : CHAIN + 1));
    n += (size_t)snprintf(json + n, cap - n, "],\"samples\":[");
    for (unsigned i = 0; i < CHAIN; i++)
        n += (size_t)snprintf(json + n, cap - n, "%s%u", i ? "," : "", i);
    n += (size_t)snprintf(json + n, cap - n, "],\"timeDeltas\":[]}");
    struct fm_store *s = chrome_read(ctx, json, n, NULL, FM_OK);
    ck_assert_uint_eq(chrome_rows(s, "cpu-profile", FM_KIND_SAMPLE), CHAIN);
    ck_assert_uint_eq(chrome_finding(s, "stack-parent"), 1);
    ck_assert_uint_gt(chrome_finding(s, "stack-depth"), 0);
    ck_assert(cpu_seconds() - from < 20);
    fm_store_free(s);
    free(json);
}
END_TEST

/* The same as a dictionary of frames. */
START_TEST(long_dictionaries_take_linear_time)
{
    size_t cap = (size_t)CHAIN * 64, n;
    char *json = malloc(cap);
    n = (size_t)snprintf(json, cap, "{\"traceEvents\":[],\"samples\":[");
    for (unsigned i = 0; i < CHAIN; i += 100)
        n += (size_t)snprintf(json + n, cap - n, "%s{\"tid\":1,\"ts\":1,\"sf\":%u}", i ? "," : "",
                              i);
    n += (size_t)snprintf(json + n, cap - n, "],\"stackFrames\":{");
    for (unsigned i = 0; i < CHAIN; i++)
        n += (size_t)snprintf(json + n, cap - n, "%s\"%u\":{\"name\":\"f\",\"parent\":%u}",
                              i ? "," : "", i, (i + 1) % CHAIN);
    n += (size_t)snprintf(json + n, cap - n, "}}");
    struct fm_store *s = chrome_read(ctx, json, n, NULL, FM_OK);
    ck_assert_uint_eq(chrome_rows(s, "samples", FM_KIND_SAMPLE), CHAIN / 100);
    ck_assert_uint_eq(chrome_finding(s, "stack-parent"), 1);
    fm_store_free(s);
    free(json);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chrome samples");
    TCase *t = tcase_create("values");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, values_of_the_table, 0, (int)FM_COUNT(tables));
    tcase_add_test(t, launches_link_device_to_call);
    tcase_add_test(t, flows_to_a_device_are_launches);
    tcase_add_test(t, instants_have_stacks);
    tcase_add_test(t, lookalikes_are_named);
    suite_add_tcase(suite, t);
    t = tcase_create("harm");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, long_chains_take_linear_time, 0, 2);
    tcase_add_test(t, long_dictionaries_take_linear_time);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
