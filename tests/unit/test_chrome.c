/*
 * test_chrome.c - Chrome traces: what writers do wrong, threads, async spans, flows, counters,
 * arguments.
 */
#include "chrome_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

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

#define A "{\"name\":\"a\",\"ph\":\"X\",\"ts\":0,\"dur\":10,\"pid\":1,\"tid\":1}"
#define B "{\"name\":\"b\",\"ph\":\"X\",\"ts\":2,\"dur\":3,\"pid\":1,\"tid\":1}"
#define BOTH "pid 1;tid 1;a 7000\npid 1;tid 1;a;b 3000\n"
#define ONE "pid 1;tid 1;a 10000\n"

struct input {
    const char *why, *json;
    const char *want;              /* folded spans */
    enum fm_status status;
    const char *finding;
    uint64_t count;
};

static const struct input inputs[] = {
    /* forms and their ends */
    {"array", "[" A "," B "]", BOTH, FM_OK, NULL, 0},
    {"object", "{\"traceEvents\":[" A "," B "]}", BOTH, FM_OK, NULL, 0},
    {"keys after the events", "{\"traceEvents\":[" A "," B "],\"displayTimeUnit\":\"ns\"}", BOTH,
     FM_OK, "display-unit", 0},
    {"another display unit", "{\"displayTimeUnit\":\"us\",\"traceEvents\":[" A "," B "]}", BOTH,
     FM_OK, "display-unit", 0},
    {"an object inside", "{\"traceEvents\":{\"traceEvents\":[" A "," B "]}}", BOTH, FM_OK, NULL,
     0},
    {"decoys", "{\"metadata\":{\"traceEvents\":[" A "]},\"x\":\"\\\"traceEvents\\\":[\","
               "\"traceEvents\":[" A "," B "]}", BOTH, FM_OK, NULL, 0},
    {"no ]", "[" A "," B, BOTH, FM_OK, "document-unterminated", 1},
    {"a comma at the end", "[" A "," B ",\n", BOTH, FM_OK, "document-unterminated", 1},
    {"no ] and no }", "{\"traceEvents\":[" A "," B "\n", BOTH, FM_OK, "document-unterminated", 1},
    {"no }", "{\"traceEvents\":[" A "," B "]\n", BOTH, FM_OK, "document-unterminated", 1},
    {"cut in an event", "[" A ",{\"name\":\"b\",\"ph\":\"X\",\"ts\":2,\"du", ONE, FM_TRUNCATED,
     "truncated", 1},
    {"cut in a key behind", "{\"traceEvents\":[" A "," B "],\"meta", BOTH, FM_TRUNCATED,
     "truncated", 1},
    {"a tail of zeros", "[" A "," B "]\n\n{\"x\":1}", BOTH, FM_OK, "document-tail", 1},
    /* defects of writers */
    {"a comma behind the last", "[" A "," B ",]", BOTH, FM_OK, "event-malformed", 0},
    {"commas in front and doubled", "[," A ",," B "]", BOTH, FM_OK, "event-malformed", 0},
    {"{} as an event", "[" A "," B ",{}]", BOTH, FM_OK, "event-without-ph", 0},
    {"control bytes in a string", "[{\"args\":{\"c\":\"x\n\001y\"},\"name\":\"a\",\"ph\":\"X\","
        "\"ts\":0,"
                                  "\"dur\":10,\"pid\":1,\"tid\":1}," B "]", BOTH, FM_OK, NULL, 0},
    {"an unknown escape", "[{\"name\":\"C:\\cuda\",\"ph\":\"X\",\"ts\":0,\"dur\":10,\"pid\":1,"
        "\"tid\":1}]",
     "pid 1;tid 1;C:\\cuda 10000\n", FM_OK, NULL, 0},
    {"a lone surrogate", "[{\"name\":\"x\\ud800\",\"ph\":\"X\",\"ts\":0,\"dur\":10,\"pid\":1,"
        "\"tid\":1}]",
     "pid 1;tid 1;x\xef\xbf\xbd 10000\n", FM_OK, NULL, 0},
    {"NaN and Infinity", "[{\"args\":{\"v\":NaN,\"w\":-Infinity},\"name\":\"a\",\"ph\":\"X\","
        "\"ts\":0,"
                         "\"dur\":10,\"pid\":1,\"tid\":1}," B "]", BOTH, FM_OK, NULL, 0},
    {"a duration that is no number", "[{\"name\":\"a\",\"ph\":\"X\",\"ts\":0,\"dur\":NaN,\"pid\":1,"
                                     "\"tid\":1,\"tdur\":10}," B "]", BOTH, FM_OK, NULL, 0},
    {"integers beyond 64 bits", "[{\"args\":{\"v\":18446744073709551616123},\"name\":\"a\",\"ph\":"
                                "\"X\",\"ts\":0,\"dur\":10,\"pid\":1,\"tid\":1}," B "]", BOTH,
     FM_OK, NULL, 0},
    {"the last of equal keys", "[{\"name\":\"z\",\"name\":\"a\",\"ph\":\"X\",\"ts\":5,\"ts\":0,"
        "\"dur\":10,"
                               "\"pid\":1,\"tid\":1}," B "]", BOTH, FM_OK, NULL, 0},
    {"a quote that is not escaped", "[{\"name\":\"x\"y\",\"ph\":\"X\",\"ts\":0,\"dur\":1,"
        "\"pid\":1,\"tid\":1},"
                                    A "," B "]", BOTH, FM_OK, "event-malformed", 1},
    {"no object", "[1," A ",\"x\"," B ",[]]", BOTH, FM_OK, "event-no-object", 3},
    {"no phase", "[{\"name\":\"x\",\"ts\":1}," A "," B "]", BOTH, FM_OK, "event-without-ph", 1},
    {"an unknown phase", "[{\"name\":\"x\",\"ph\":\"Z\",\"ts\":1}," A "," B "]", BOTH, FM_OK,
     "event-phase", 1},
    {"the first letter of a phase counts", "[{\"name\":\"a\",\"ph\":\"Xyz\",\"ts\":0,\"dur\":10,"
        "\"pid\":1,"
                                           "\"tid\":1}," B "]", BOTH, FM_OK, NULL, 0},
    {"out of range", "[{\"name\":\"x\",\"ph\":\"X\",\"ts\":1e300,"
        "\"dur\":1}," A "," B "]", BOTH, FM_OK,
     "event-time-range", 1},
    /* processes and threads */
    {"no tid is the main thread", "[{\"name\":\"a\",\"ph\":\"X\",\"ts\":0,\"dur\":1,\"pid\":5}]",
     "pid 5;tid 5;a 1000\n", FM_OK, NULL, 0},
    {"no pid is 0", "[{\"name\":\"a\",\"ph\":\"X\",\"ts\":0,\"dur\":1,\"tid\":3}]",
     "pid 0;tid 3;a 1000\n", FM_OK, NULL, 0},
    {"64-bit ids are apart", "[{\"name\":\"a\",\"ph\":\"X\",\"ts\":0,\"dur\":1,\"pid\":1,"
        "\"tid\":140589156634432},"
                             "{\"name\":\"a\",\"ph\":\"X\",\"ts\":0,\"dur\":2,\"pid\":1,"
                             "\"tid\":140589156634433}]",
     "pid 1;tid 140589156634432;a 1000\npid 1;tid 140589156634433;a 2000\n", FM_OK, NULL, 0},
    {"texts", "[{\"name\":\"a\",\"ph\":\"X\",\"ts\":0,\"dur\":1,\"pid\":\"Spans\","
        "\"tid\":\"P T\"}]",
     "pid Spans;tid P T;a 1000\n", FM_OK, NULL, 0},
    {"a text of digits is the number", "[{\"name\":\"a\",\"ph\":\"X\",\"ts\":0,\"dur\":2,"
        "\"pid\":7,\"tid\":\"1\"},"
                                       "{\"name\":\"b\",\"ph\":\"X\",\"ts\":1,\"dur\":1,"
                                       "\"pid\":7,\"tid\":1}]",
     "pid 7;tid 1;a 1000\npid 7;tid 1;a;b 1000\n", FM_OK, NULL, 0},
    {"the same tid in two processes", "[{\"name\":\"a\",\"ph\":\"X\",\"ts\":0,\"dur\":2,"
        "\"pid\":7,\"tid\":1},"
                                      "{\"name\":\"b\",\"ph\":\"X\",\"ts\":1,\"dur\":2,"
                                      "\"pid\":8,\"tid\":1}]",
     "pid 7;tid 1;a 2000\npid 8;tid 1;b 2000\n", FM_OK, NULL, 0},
    {"names come later, the last one counts",
     "[" A ",{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"x\"}},"
     "{\"ph\":\"M\",\"pid\":1,\"tid\":9,\"name\":\"process_name\",\"args\":{\"name\":\"P\"}},"
     "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"ts\":null,\"name\":\"thread_name\",\"args\":{"
     "\"name\":\"T\"}}]",
     "P 1;T 1;a 10000\n", FM_OK, NULL, 0},
    {"negative tids", "[{\"name\":\"a\",\"ph\":\"X\",\"ts\":0,\"dur\":1,\"pid\":-1,\"tid\":-2}]",
     "pid -1;tid -2;a 1000\n", FM_OK, NULL, 0},
};

START_TEST(test_input)
{
    const struct input *t = &inputs[_i];
    struct fm_store *store = chrome_read(ctx, t->json, strlen(t->json), NULL, t->status);
    char *got = chrome_folded(ctx, store, "spans");
    ck_assert_msg(strcmp(got, t->want) == 0, "%s: got\n%swant\n%s", t->why, got, t->want);
    if (t->finding)
        ck_assert_msg(chrome_finding(store, t->finding) == t->count, "%s: %s", t->why,
                      t->finding);
    free(got);
    fm_store_free(store);
}
END_TEST

/* Nothing of it is a trace: one sentence says what it is. */
START_TEST(test_reject)
{
    static const struct {
        const char *json, *says;
    } other[] = {
        {"{\"projectId\":\"p\",\"traceId\":\"t\",\"spans\":[]}", "is a Google Cloud trace"},
        {"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"shared\":{}}",
         "is a speedscope profile"},
        {"{\"meta\":{\"version\":1},\"threads\":[]}", "is a Firefox profile"},
        {"{\"a\":1}", "without 'traceEvents'"},
    };
    for (size_t i = 0; i < FM_COUNT(other); i++) {
        struct fm_memory memory = {other[i].json, strlen(other[i].json), "x.json"};
        struct fm_import_options options = FM_INIT(options);
        struct fm_store *store = NULL;
        struct fm_error err = {0};
        options.format = "chrome";
        ck_assert_int_eq(fm_import_memory(ctx, &memory, &options, &store, &err),
                         FM_UNSUPPORTED);
        ck_assert_msg(strstr(err.message, other[i].says) != NULL, "%s", err.message);
        fm_store_free(store);
    }
}
END_TEST

/* ------------------------------------------------------------------ async */

struct asyncs {
    const char *why, *json, *want; /* folded by name: durations */
    const char *finding;
    uint64_t count;
};

#define ASYNC(ph, name, id, ts) \
    "{\"ph\":\"" ph "\",\"cat\":\"c\",\"name\":\"" name "\",\"id\":" id ",\"pid\":1,\"ts\":" ts "}"

static const struct asyncs asyncs[] = {
    {"a pair", ASYNC("b", "x", "1", "1") "," ASYNC("e", "x", "1", "4"), "x 3000\n", NULL, 0},
    {"1 and \"1\" are equal", ASYNC("b", "x", "1", "1") "," ASYNC("e", "x", "\"1\"", "4"),
     "x 3000\n", "async-unfinished", 0},
    {"0x31 and 49 are not", ASYNC("b", "x", "\"0x31\"", "1") "," ASYNC("e", "x", "49", "4"),
     "x 3000\n", "async-end-without-begin", 1},
    {"\"\" is an id", ASYNC("b", "x", "\"\"", "1") "," ASYNC("e", "x", "\"\"", "4"), "x 3000\n",
     "event-without-id", 0},
    {"the nearest of the same name", ASYNC("b", "x", "1", "1") "," ASYNC("b", "y", "1", "2") ","
     ASYNC("e", "x", "1", "4") "," ASYNC("e", "y", "1", "9"), "x 3000\ny 7000\n",
     "async-unfinished", 0},
    {"out of order", ASYNC("e", "x", "1", "4") "," ASYNC("b", "x", "1", "1"), "x 3000\n", NULL, 0},
    {"S and F", ASYNC("S", "x", "1", "1") "," ASYNC("T", "x", "1", "2") ","
     ASYNC("F", "x", "1", "5"), "x 4000\n", NULL, 0},
    {"a second S leaves the first open", ASYNC("S", "x", "1", "1") "," ASYNC("S", "x", "1", "3") ","
     ASYNC("F", "x", "1", "5"), "x 6000\n", "async-unfinished", 1},
    {"local ids are of their process",
     "{\"ph\":\"b\",\"name\":\"x\",\"id2\":{\"local\":\"1\"},\"pid\":1,\"ts\":0},"
     "{\"ph\":\"b\",\"name\":\"y\",\"id2\":{\"local\":\"1\"},\"pid\":2,\"ts\":0},"
     "{\"ph\":\"e\",\"id2\":{\"local\":\"1\"},\"pid\":1,\"ts\":3},"
     "{\"ph\":\"e\",\"id2\":{\"local\":\"1\"},\"pid\":2,\"ts\":5}", "x 3000\ny 5000\n", NULL, 0},
    {"no id", "{\"ph\":\"b\",\"name\":\"x\",\"pid\":1,\"ts\":0}," ASYNC("b", "x", "1", "1") ","
     ASYNC("e", "x", "1", "4"), "x 3000\n", "event-without-id", 1},
};

START_TEST(test_async)
{
    const struct asyncs *t = &asyncs[_i];
    struct fm_select_options select = FM_INIT(select);
    struct fm_export_options options = FM_INIT(options);
    struct fm_error err = {0};
    char json[2048];
    int n = snprintf(json, sizeof json, "[%s]", t->json);
    struct fm_store *store = chrome_read(ctx, json, (size_t)n, NULL, FM_OK);
    select.event = "async";
    select.prepend = "name";
    char *got = small_export(ctx, store, "folded", &select, &options, &err);
    ck_assert_msg(got && strcmp(got, t->want) == 0, "%s: got\n%s", t->why, got);
    if (t->finding)
        ck_assert_msg(chrome_finding(store, t->finding) == t->count, "%s: %s", t->why,
                      t->finding);
    free(got);
    fm_store_free(store);
}
END_TEST

/* ------------------------------------------------------------------ flows, counters, arguments */

/* The names of the spans that flows link, "a>b c>d". */
static void flow_text(struct fm_store *store, char *text, size_t cap)
{
    size_t n, at = 0;
    const struct fm_link *link = fm_store_links(store, &n);
    text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        uint64_t from, to;
        if (link[i].kind != FM_LINK_FLOW)
            continue;
        ck_assert(fm_store_cell(store, FM_COL_NAME, link[i].from, &from));
        ck_assert(fm_store_cell(store, FM_COL_NAME, link[i].to, &to));
        at += (size_t)snprintf(text + at, cap - at, "%s%s>%s", at ? " " : "",
                               fm_store_str(store, (fm_str)from, NULL),
                               fm_store_str(store, (fm_str)to, NULL));
    }
}

#define X(name, tid, ts, dur, more)                                                            \
    "{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts ",\"dur\":" dur \
    more "}"
#define FLOW(ph, tid, ts, more)                                                                \
    "{\"ph\":\"" ph "\",\"name\":\"f\",\"cat\":\"c\",\"id\":1,\"pid\":1,\"tid\":" tid             \
    ",\"ts\":" ts more "}"

START_TEST(test_flow)
{
    static const struct {
        const char *why, *json, *want;
    } flows[] = {
        {"f binds to the next span", X("a", "1", "0", "10", "") "," FLOW("s", "1", "3", "") ","
         X("o", "2", "4", "1", "") "," FLOW("f", "2", "4.5", "") "," X("b", "2", "6", "2", ""),
         "a>b"},
        {"f with bp e to the one around it",
         X("a", "1", "0", "10", "") "," FLOW("s", "1", "3", "") ","
         X("o", "2", "4", "1", "") "," FLOW("f", "2", "4.5", ",\"bp\":\"e\"") ","
         X("b", "2", "6", "2", ""), "a>o"},
        {"the innermost", X("a", "1", "0", "10", "") "," X("i", "1", "2", "4", "") ","
         FLOW("s", "1", "3", "") "," X("b", "2", "6", "2", "") "," FLOW("f", "2", "6", ""), "i>b"},
        {"what ends there counts when nothing else does", X("a", "1", "0", "3", "") ","
         FLOW("s", "1", "3", "") "," X("b", "2", "6", "2", "") "," FLOW("f", "2", "6", ""), "a>b"},
        {"steps", X("a", "1", "0", "3", "") "," FLOW("s", "1", "1", "") ","
         X("b", "2", "6", "2", "") "," FLOW("t", "2", "7", "") ","
         X("d", "3", "9", "1", "") "," FLOW("f", "3", "9", ""),
         "a>b b>d"},
        {"bind_id", X("a", "1", "0", "3", ",\"bind_id\":\"0x7\",\"flow_out\":true") ","
         X("b", "2", "5", "3", ",\"bind_id\":\"0x7\",\"flow_in\":true,\"flow_out\":true") ","
         X("d", "2", "9", "3", ",\"bind_id\":\"0x7\",\"flow_in\":true"), "a>b b>d"},
    };
    for (size_t i = 0; i < FM_COUNT(flows); i++) {
        char json[2048], got[256];
        int n = snprintf(json, sizeof json, "[%s]", flows[i].json);
        struct fm_store *store = chrome_read(ctx, json, (size_t)n, NULL, FM_OK);
        flow_text(store, got, sizeof got);
        ck_assert_msg(strcmp(got, flows[i].want) == 0, "%s: got '%s'", flows[i].why, got);
        fm_store_free(store);
    }
}
END_TEST

START_TEST(test_counter)
{
    static const char json[] =
        "[{\"ph\":\"C\",\"name\":\"m\",\"pid\":1,\"tid\":3,\"ts\":1,\"args\":{\"x\":1,"
        "\"y\":\".75\",\"z\":"
        "\"246.\",\"p\":\"+10.5\",\"no\":\"1.5e\",\"dot\":\".\",\"plus\":\"+\",\"o\":{\"q\":1}}},"
        "{\"ph\":\"C\",\"name\":\"m\",\"id\":7,\"pid\":1,\"ts\":2,\"args\":{\"x\":2,\"\":3.1}}]";
    struct fm_store *store = chrome_read(ctx, json, sizeof json - 1, NULL, FM_OK);
    const char *const names[] = {"m.x", "m.y", "m.z", "m.p", "m[7].x", "m[7]"};
    for (size_t i = 0; i < FM_COUNT(names); i++)
        ck_assert_msg(chrome_rows(store, names[i], FM_KIND_COUNTER) == 1, "%s", names[i]);
    ck_assert_uint_eq(fm_store_rows(store), FM_COUNT(names));
    fm_store_free(store);
}
END_TEST

/* E's arguments over B's; labels of arguments that no rule names, typed by their first value. */
START_TEST(test_arguments)
{
    static const char json[] =
        "[{\"ph\":\"B\",\"name\":\"a\",\"ts\":0,\"args\":{\"n\":1,\"s\":\"b\",\"d\":{"
        "\"u\":\"deep\"}}},"
        "{\"ph\":\"E\",\"name\":\"a\",\"ts\":3,\"args\":{\"s\":\"e\"}},"
        "{\"ph\":\"X\",\"name\":\"b\",\"ts\":4,\"dur\":1,\"args\":{\"n\":\"text\"}}]";
    struct fm_store *store =
        chrome_read(ctx, json, sizeof json - 1, "args.n,args.s,arg.d.u", FM_OK);
    const fm_column n = fm_store_column_find(store, "args.n"),
                    s = fm_store_column_find(store, "arg.s"),
                    u = fm_store_column_find(store, "label.d.u");
    uint64_t lane;
    ck_assert_uint_ne(n, FM_NONE);
    ck_assert_int_eq(fm_store_column_info(store, n)->type, FM_TYPE_I64);
    ck_assert(fm_store_cell(store, n, 0, &lane) && lane == 1);
    ck_assert(!fm_store_cell(store, n, 1, &lane));
    ck_assert(fm_store_cell(store, s, 0, &lane));
    ck_assert_str_eq(fm_store_str(store, (fm_str)lane, NULL), "e");
    ck_assert(fm_store_cell(store, u, 0, &lane));
    ck_assert_str_eq(fm_store_str(store, (fm_str)lane, NULL), "deep");
    ck_assert_uint_eq(chrome_finding(store, "argument-type"), 1);
    fm_store_free(store);
}
END_TEST

/* Every failed allocation ends the import with that status and frees what was taken. */
START_TEST(test_allocations)
{
    static const char json[] =
        "{\"beginningOfTime\":5,\"traceEvents\":[" A "," B ","
        X("o", "1", "8", "9", ",\"args\":{\"detail\":\"d\"}") "," FLOW("s", "1", "3", "") ","
        FLOW("f", "1", "4", "") "," ASYNC("b", "x", "1", "1") "," ASYNC("e", "x", "1", "4") ","
        "{\"ph\":\"C\",\"name\":\"m\",\"pid\":1,\"ts\":1,\"args\":{\"x\":1}},"
        "{\"ph\":\"i\",\"name\":\"i\",\"ts\":1,\"s\":\"g\"},"
        "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"x\"}}]}";
    struct fm_memory memory = {json, sizeof json - 1, "x.json"};
    struct fm_import_options options = FM_INIT(options);
    options.format = "chrome";
    options.keep = "detail,args.detail";
    for (uint64_t n = 1;; n++) {
        struct fm_ctx *own = fm_ctx_new();
        struct fm_store *store = NULL;
        struct fm_error err = {0};
        own->mem.fail_at = atomic_load(&own->mem.allocations) + n;
        enum fm_status status = fm_import_memory(own, &memory, &options, &store, &err);
        bool reached = atomic_load(&own->mem.allocations) >= own->mem.fail_at;
        own->mem.fail_at = 0;
        fm_store_free(store);
        fm_ctx_free(own);
        if (!reached) {
            ck_assert_int_eq(status, FM_OK);
            break;
        }
        ck_assert_msg(status == FM_NOMEM, "allocation %d: status %d", (int)n, (int)status);
        n += n / 64;
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("chrome");
    TCase *c = tcase_create("chrome");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, test_input, 0, (int)FM_COUNT(inputs));
    tcase_add_loop_test(c, test_async, 0, (int)FM_COUNT(asyncs));
    tcase_add_test(c, test_reject);
    tcase_add_test(c, test_flow);
    tcase_add_test(c, test_counter);
    tcase_add_test(c, test_arguments);
    tcase_add_test(c, test_allocations);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
