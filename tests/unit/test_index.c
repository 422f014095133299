/*
 * test_index.c - trends of a report and its index page, over files made here by hand.
 *
 *     file           service  date        start          value a   value b
 *     web/1.jfr      web      2026-03-01  1 Mar 00:00    100       1
 *     web/2.jfr      web      2026-03-02  2 Mar 00:00    102       -
 *     web/3.jfr      web      2026-03-03  3 Mar 00:00    98        3
 *     web/4.jfr      web      2026-03-04  4 Mar 00:00    130       4
 *     <hostile>      (none)   -           unknown        -         -       (failed, offset 7)
 *
 * INDEX_DIR: a folder for the page, to be looked at.
 */
#include "report/trend_inner.h"

#include "report/axis.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DAY INT64_C(86400000000000)
#define MARCH INT64_C(1772323200000000000)
#define HOSTILE "</td><script>x()</script><img src=x onerror=\"x()\">\xff'&amp;"

enum { FILES = 5, EACHES = 2 };

static const char *const labels[] = {"service", "date"};
static const char *const web[4][2] = {{"web", "2026-03-01"}, {"web", "2026-03-02"},
                                      {"web", "2026-03-03"}, {"web", "2026-03-04"}};
static const char *const none[2] = {NULL, NULL};
static const struct fm_report_output good[EACHES] = {{"files/w/flame.svg", NULL, false},
                                                     {"files/w/top.csv", NULL, true}};
static const struct fm_report_output bad[EACHES] = {{NULL, NULL, false},
                                                    {NULL, "no event " HOSTILE, false}};
static const struct fm_report_each eaches[EACHES] = {{.to = "flame.svg"},
                                                     {.to = "top.csv", .form = "csv"}};
static const struct fm_report_column columns[] = {
    {"file", FM_REPORT_TEXT, "", true},   {"start", FM_REPORT_WALL, "", true},
    {"a", FM_REPORT_NUMBER, "ns", false}, {"b", FM_REPORT_NUMBER, "count", false},
    {"share", FM_REPORT_SHARE, "", false}, {HOSTILE, FM_REPORT_TEXT, "", false}};
static const char *const cells[] = {
    "web/1.jfr", "1772323200000000000", "100", "1", "0.5", "x",
    "web/2.jfr", "1772409600000000000", "102", NULL, "1", HOSTILE,
    "web/3.jfr", "1772496000000000000", "98", "3", "0.25", NULL,
    "web/4.jfr", "1772582400000000000", "130", "4", "nan", "",
    "web/4.jfr", "1772582400000000000", "7", "9", NULL, "second row"};
static const uint32_t row_file[] = {0, 1, 2, 3, 3};
static const char *const by_service[] = {"service"};
static const char *const to[] = {"values.csv", "values?#.json"};

static struct fm_mem mem;
static struct fm_arena arena;
static struct fm_report_file file[FILES];
static struct fm_report_trend trend;
static struct fm_report_rows rows;
static struct fm_report_plan plan;
static struct fm_report_table table;
static struct fm_report report;

static void setup(void)
{
    fm_mem_init(&mem, 0);
    fm_arena_init(&arena, &mem);
    for (size_t i = 0; i < FILES; i++) {
        static const char *const name[] = {"web/1.jfr", "web/2.jfr", "web/3.jfr", "web/4.jfr",
                                           HOSTILE};

        file[i] = (struct fm_report_file){
            .name = name[i], .folder = "files/w", .format = i < 4 ? "jfr" : NULL,
            .label = i < 4 ? web[i] : none, .has_start = i < 4, .has_wall = i < 4,
            .start = i < 4 ? MARCH + (int64_t)i * DAY : 0, .duration = 60000000000, .bytes = 2048,
            .status = i < 4 ? "ok" : "failed", .error = i < 4 ? NULL : "cut " HOSTILE,
            .offset = i < 4 ? FM_NO_OFFSET : 7, .groups = i < 3 ? 1 : 2,
            .output = i < 4 ? good : bad};
    }
    trend = (struct fm_report_trend){
        .name = "cpu", .about = "CPU " HOSTILE, .value = "a", .time = "start", .by = by_service,
        .bys = 1, .to = "cpu.csv", .chart = "cpu.svg", .gate = true, .baseline = 0,
        .candidate = 1, .by_share = 0.1, .sigma = 3, .least = 1};
    rows = (struct fm_report_rows){.name = "values", .about = "Values", .to = to, .tos = 2};
    plan = (struct fm_report_plan){.name = "test", .about = "about", .title = HOSTILE,
                                   .label = labels, .label_count = 2, .each = eaches,
                                   .eaches = EACHES, .rows = &rows, .tables = 1, .trend = &trend,
                                   .trends = 1, .index = {"index.html", "flame.svg"}};
    table = (struct fm_report_table){"values", "Values", columns, FM_COUNT(columns), cells,
                                     row_file, FM_COUNT(row_file)};
    report = (struct fm_report){.plan = &plan, .arena = &arena, .file = file, .files = FILES,
                                .table = &table, .verdict_end = &report.verdict};
}

static void teardown(void)
{
    fm_arena_release(&arena);
    ck_assert_uint_eq(atomic_load(&mem.used), 0);
}

static struct fm_report_table trended(void)
{
    struct fm_report_table t;
    struct fm_error err = {0};

    ck_assert_msg(fm_report_trend(&report, 0, &t, &err) == FM_OK, "%s", err.message);
    return t;
}

static const char *cell(const struct fm_report_table *t, size_t row, const char *column)
{
    size_t c = fm_report_find(t, column);

    ck_assert_uint_lt(c, t->columns);
    ck_assert_uint_lt(row, t->rows);
    return t->cell[row * t->columns + c];
}

/* Median of 100 102 98 is 100, MAD 2: 3 * 1.4826 * 2 = 8.9; 10% is more: 110. */
START_TEST(a_gate_over_files)
{
    struct fm_report_table t = trended();

    ck_assert_uint_eq(t.rows, FILES);
    ck_assert_str_eq(cell(&t, 0, "service"), "web");
    ck_assert_str_eq(cell(&t, 0, "start"), "1772323200000000000");
    ck_assert_str_eq(cell(&t, 3, "file"), "web/4.jfr");
    ck_assert_str_eq(cell(&t, 3, "a"), "130");
    ck_assert_str_eq(cell(&t, 3, "side"), "candidate");
    ck_assert_str_eq(cell(&t, 3, "baseline"), "100");
    ck_assert_str_eq(cell(&t, 3, "limit"), "110");
    ck_assert_str_eq(cell(&t, 3, "change"), "0.3");
    ck_assert_str_eq(cell(&t, 3, "verdict"), "fail");
    ck_assert_ptr_null(cell(&t, 0, "verdict"));
    ck_assert_ptr_null(cell(&t, 4, "service")); /* what has no label stands last */
    ck_assert_ptr_null(cell(&t, 4, "a"));
    ck_assert_ptr_nonnull(report.verdict);
    ck_assert(report.verdict->failed);
    ck_assert_str_eq(report.verdict->text,
                     "web: 130 ns is +30.0% over the median 100 ns of 3, past the limit 110 ns "
                     "(higher is worse; allowed: 10% or 3 sigma = 8.9 ns)");
    ck_assert_ptr_null(report.verdict->next); /* a line without any value is none */
}
END_TEST

START_TEST(sums_and_warnings)
{
    struct fm_report_table t;

    trend.sum = trend.warn = true;
    trend.bys = 0;
    trend.time = "date";
    t = trended();
    ck_assert_str_eq(cell(&t, 3, "a"), "137");
    ck_assert_str_eq(cell(&t, 3, "date"), "1772582400000000000");
    ck_assert_int_eq(t.column[fm_report_find(&t, "date")].type, FM_REPORT_WALL);
    ck_assert(!report.verdict->failed && report.verdict->next == NULL);
    trend.gate = false;
    t = trended();
    ck_assert_uint_eq(t.columns, 3);
    ck_assert_uint_eq(fm_report_find(&t, "verdict"), t.columns);
}
END_TEST

START_TEST(too_few_files)
{
    struct fm_report_table t;

    trend.bys = 0;
    trend.least = 2;
    t = trended();
    ck_assert_str_eq(cell(&t, 3, "verdict"), "few");
    ck_assert_str_eq(report.verdict->text,
                     "not judged: 1 file of at least 2 has a value");
}
END_TEST

START_TEST(labels_that_are_no_dates)
{
    static const char *const build[4][2] = {{"web", "build-2"}, {"web", "build-1"},
                                            {"web", "2026-03-03"}, {"web", "build-3"}};
    struct fm_report_table t;

    for (size_t i = 0; i < 4; i++)
        file[i].label = build[i];
    trend.time = "date";
    trend.gate = false;
    t = trended();
    ck_assert_int_eq(t.column[1].type, FM_REPORT_TEXT);
    ck_assert_str_eq(cell(&t, 0, "date"), "2026-03-03");
    ck_assert_str_eq(cell(&t, 1, "date"), "build-1");
    ck_assert_str_eq(cell(&t, 3, "date"), "build-3");
}
END_TEST

START_TEST(dates)
{
    static const struct {
        const char *text;
        int64_t at;             /* seconds after 1 March 2026; -1: no date */
    } is[] = {{"2026-03-01", 0},         {"20260301", 0},           {"2026-03-02T01:02:03Z", 90123},
              {"20260301_0102", 3720},   {"2026-03-01 14", 50400},  {"2026-03-01T14-05", 50700},
              {"2026-3-1", -1},          {"2026-13-01", -1},        {"2026-03-01x", -1},
              {"202603", -1},            {"", -1},                  {"2026-0301", -1},
              {"2026-03-01T", 0},        {"2026-03-01T25", -1},     {"build-2026-03-01", -1}};

    for (size_t i = 0; i < FM_COUNT(is); i++) {
        int64_t ns = 0;
        bool date = fm_report_date(is[i].text, &ns);

        ck_assert_msg(date == (is[i].at >= 0), "%s", is[i].text);
        if (date)
            ck_assert_int_eq(ns, MARCH + is[i].at * 1000000000);
    }
}
END_TEST

START_TEST(a_column_that_is_not_there)
{
    struct fm_report_table t;
    struct fm_error err = {0};

    trend.value = "c";
    ck_assert_int_eq(fm_report_trend(&report, 0, &t, &err), FM_CONFIG);
    ck_assert_str_eq(err.message, "trend 'cpu': table 'values' has no column 'c'");
    table.columns = table.rows = 0; /* no file gave any: nothing to say */
    ck_assert_int_eq(fm_report_trend(&report, 0, &t, NULL), FM_OK);
    ck_assert_uint_eq(t.rows, 0);
}
END_TEST

/* -------------------------------------------------------------------- page */

static char *written(bool chart)
{
    struct fm_out out;
    struct fm_error err = {0};
    char *text;

    ck_assert_int_eq(fm_out_init(&out, &mem, NULL), FM_OK);
    ck_assert_int_eq(chart ? fm_report_chart(&report, 0, NULL, &out, &err)
                           : fm_report_page(&report, &out, &err), FM_OK);
    fm_out_char(&out, '\0');
    ck_assert_int_eq(fm_out_finish(&out, &err), FM_OK);
    text = strdup(out.buf);
    fm_out_release(&out);
    return text;
}

static void has(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "no '%s'", part);
}

START_TEST(the_chart)
{
    char *text;

    trended();
    text = written(true);
    has(text, "<title>2026-03-04\nweb: 130 ns\nweb/4.jfr</title>");
    has(text, ">a by service, UTC; 1 file without a time left out</text>");
    has(text, ">limit 110 ns</text>");
    free(text);
    for (size_t i = 0; i < 4; i++)
        file[i].label = i % 2 == 0 ? web[i] : none;
    text = written(true);
    ck_assert(strstr(text, ">limit") == NULL); /* two lines: no one limit */
    free(text);
}
END_TEST

START_TEST(the_page)
{
    const char *dir = getenv("INDEX_DIR");
    char *text, *again, path[512];

    trended();
    report.gates = report.gates_failed = 1;
    text = written(false);
    again = written(false);
    ck_assert_str_eq(text, again);
    has(text, "script-src 'sha256-");
    has(text, ">5 files</span>");
    has(text, ">1 file without results</span>");
    has(text, ">1 failed check</span>");
    has(text, "<span class=\"pill bad\">failed</span> <span class=\"err\">offset 7: <bdi>cut &lt;");
    has(text, "<a href=\"files/w/top.csv\"><bdi>top.csv</bdi></a> "
              "<span class=\"pill bad\">check failed</span>");
    has(text, "<img loading=\"lazy\" width=\"170\" height=\"46\" alt=\"\" "
              "src=\"files/w/flame.svg\">");
    has(text, "<a href=\"values%3F%23.json\">");
    has(text, "<td class=\"n\" data-v=\"100\" title=\"100\">100 ns</td>");
    has(text, "<td class=\"s\" data-v=\"1.7723232e+18\">2026-03-01</td>");
    has(text, "<td class=\"n\" data-v=\"0.25\">25%<svg");
    ck_assert(strstr(text, "<script>x()") == NULL && strstr(text, "<img src=x") == NULL);
    ck_assert(strstr(text, " style=") == NULL);
    if (dir != NULL) {
        FILE *f;

        snprintf(path, sizeof path, "%s/index.html", dir);
        f = fopen(path, "w");
        ck_assert_ptr_nonnull(f);
        fputs(text, f);
        fclose(f);
    }
    free(text);
    free(again);
}
END_TEST

START_TEST(every_failed_allocation_is_survived)
{
    bool done = false;

    for (uint64_t n = 1; !done; n++) {
        struct fm_report_table t;
        struct fm_out out;
        enum fm_status status;

        setup();
        mem.fail_at = n;
        status = fm_report_trend(&report, 0, &t, NULL);
        if (status == FM_OK && fm_out_init(&out, &mem, NULL) == FM_OK) {
            done = fm_report_page(&report, &out, NULL) == FM_OK && out.status == FM_OK;
            fm_out_release(&out);
        }
        teardown();
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("index");
    TCase *tcase = tcase_create("index"), *memory = tcase_create("memory");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_gate_over_files);
    tcase_add_test(tcase, sums_and_warnings);
    tcase_add_test(tcase, too_few_files);
    tcase_add_test(tcase, labels_that_are_no_dates);
    tcase_add_test(tcase, dates);
    tcase_add_test(tcase, a_column_that_is_not_there);
    tcase_add_test(tcase, the_chart);
    tcase_add_test(tcase, the_page);
    tcase_add_test(memory, every_failed_allocation_is_survived);
    suite_add_tcase(suite, tcase);
    suite_add_tcase(suite, memory);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
