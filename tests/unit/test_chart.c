/*
 * test_chart.c - line charts: where points stand, gaps, thinning, gates, hostile names; xmllint,
 * where it is there, reads every picture. CHART_DIR: a folder for the pictures, to be looked at.
 */
#include "report/chart.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define S INT64_C(1000000000)
#define DAY (86400 * S)
#define MARCH (1772323200 * S) /* 2026-03-01 */

static bool have_xmllint;

static void look_at(const char *name, const char *text)
{
    const char *dir = getenv("CHART_DIR");
    FILE *f;

    if (have_xmllint) {
        f = popen("xmllint --noout --nonet -", "w");
        ck_assert_ptr_nonnull(f);
        fputs(text, f);
        ck_assert_msg(pclose(f) == 0, "%s is not well-formed", name);
    }
    if (dir != NULL) {
        char path[512];

        snprintf(path, sizeof path, "%s/%s.svg", dir, name);
        f = fopen(path, "w");
        ck_assert_ptr_nonnull(f);
        fputs(text, f);
        fclose(f);
    }
}

/* The picture, to be freed. */
static char *draw(const char *name, const struct fm_chart *chart)
{
    struct fm_mem mem;
    struct fm_out out;
    struct fm_error err = {0};
    char *text;

    fm_mem_init(&mem, 0);
    ck_assert_int_eq(fm_out_init(&out, &mem, NULL), FM_OK);
    ck_assert_int_eq(fm_chart_write(&out, chart, &err), FM_OK);
    fm_out_char(&out, '\0');
    ck_assert_int_eq(fm_out_finish(&out, &err), FM_OK);
    text = strdup(out.buf);
    fm_out_release(&out);
    ck_assert_uint_eq(atomic_load(&mem.used), 0);
    ck_assert_uint_eq(strlen(text) > 0, 1);
    look_at(name, text);
    return text;
}

static void has(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "no '%s' in %.3000s", part, text);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *p = text; (p = strstr(p, part)) != NULL; p++)
        n++;
    return n;
}

/* Two services over five days; one misses a day, the other has failed on the last. */
START_TEST(days)
{
    struct fm_chart_place place[5];
    struct fm_chart_point a[] = {{0, FM_CHART_BASE, 1.00e9, NULL}, {1, FM_CHART_BASE, 1.02e9, NULL},
                                 {2, FM_CHART_BASE, 0.98e9, NULL}, {3, 0, 1.01e9, NULL},
                                 {4, FM_CHART_BAD, 1.31e9, "past the limit 1.05 s"}};
    struct fm_chart_point b[] = {{0, 0, 0.40e9, NULL}, {1, 0, 0.42e9, NULL}, {2, 0, NAN, NULL},
                                 {3, 0, 0.44e9, NULL}, {4, 0, 0.41e9, NULL}};
    struct fm_chart_series series[] = {{"checkout", a, 5}, {"search", b, 5}};
    struct fm_chart chart = {
        .title = "CPU time of a request", .subtitle = "median a day, by service", .unit = "ns",
        .timed = true, .wall = true, .place = place, .places = 5, .series = series, .all = 2,
        .gated = true, .gate = 1.05e9, .banded = true, .median = 1e9, .low = 0.95e9,
        .high = 1.05e9};
    char *text, *again;

    for (int i = 0; i < 5; i++)
        place[i] = (struct fm_chart_place){MARCH + i * DAY, NULL};
    text = draw("days", &chart);
    has(text, "aria-label=\"CPU time of a request\"");
    has(text, "<desc>Line chart: 9 values in 2 series, between 400 ms and 1.31 s, from 2026-03-01 "
              "to 2026-03-05; the limit is 1.05 s.</desc>");
    has(text, ">1 Mar</text>");
    has(text, ">2026</text>");
    has(text, ">1.5 s</text>");
    has(text, ">gate 1.05 s</text>");
    has(text, ">baseline, median 1 s</text>");
    has(text, "<title>2026-03-05\ncheckout: 1.31 s\npast the limit 1.05 s</title>");
    has(text, "<title>2026-03-02\ncheckout: 1.02 s\nsearch: 420 ms</title>");
    has(text, "<title>2026-03-03\ncheckout: 980 ms</title>"); /* the gap has no value */
    ck_assert_uint_eq(count(text, "class=\"v\" x="), 5);
    ck_assert_uint_eq(count(text, "<circle class=\"o\""), 3);
    ck_assert_uint_eq(count(text, "<g class=\"x\">"), 1);
    has(text, "prefers-color-scheme:dark");
    ck_assert(strstr(text, "<script") == NULL);
    again = draw("days", &chart);
    ck_assert_str_eq(text, again);
    free(again);
    chart.inside = true;
    again = draw("days-inside", &chart);
    ck_assert(strstr(again, "<style>") == NULL && strncmp(again, "<svg ", 5) == 0);
    ck_assert(strstr(again, "style=") == NULL);
    free(again);
    free(text);
}
END_TEST

/* A plot of known size: the axis runs from 0 to 100, the third of three labels stands at 5/6. */
START_TEST(points_stand_at_their_values)
{
    struct fm_chart_place place[] = {{0, "a"}, {0, "b"}, {0, "c"}};
    struct fm_chart_point p[] = {{0, 0, 0, NULL}, {1, 0, 50, NULL}, {2, 0, 100, NULL}};
    struct fm_chart_series series[] = {{"one", p, 3}};
    struct fm_chart chart = {.title = "t", .unit = "count", .place = place, .places = 3,
                             .series = series, .all = 1, .width = 616, .height = 266};
    char *text = draw("labels", &chart);
    double left = 16 + 10 + 3 * 6.7, wide = 616 - 16 - left; /* "100" is the widest label */
    char line[128];

    /* y: 200 high from 50 */
    snprintf(line, sizeof line, "d=\"M%.1f 250.0L%.1f 150.0L%.1f 50.0\"/>", left + wide / 6,
             left + wide / 2, left + wide * 5 / 6);
    has(text, line);
    has(text, ">a</text>");
    has(text, "<title>b\none: 50</title>");
    free(text);
}
END_TEST

START_TEST(gaps_and_lone_points)
{
    struct fm_chart_place place[] = {{0, "a"}, {0, "b"}, {0, "c"}, {0, "d"}};
    struct fm_chart_point p[] = {{0, 0, 1, NULL}, {1, 0, NAN, NULL}, {2, 0, 1, NULL},
                                 {3, 0, 1, NULL}};
    struct fm_chart_series series[] = {{"", p, 4}, {"none", p, 0}};
    struct fm_chart chart = {.title = "gaps", .unit = "", .place = place, .places = 4,
                             .series = series, .all = 2};
    char *text = draw("gaps", &chart);
    const char *line = strstr(text, "class=\"l\" d=\"M");

    ck_assert_ptr_nonnull(line);
    ck_assert_ptr_nonnull(strstr(line, "h0M")); /* the lone point, then the line of two */
    free(text);
    series[0].points = 0;
    text = draw("empty", &chart);
    has(text, ">no values</text>");
    free(text);
    chart.places = 0;
    chart.timed = true;
    text = draw("nothing", &chart);
    has(text, ">no values</text>");
    free(text);
}
END_TEST

/* Places at no distance, at all of time, and values of any size. */
START_TEST(extremes)
{
    struct fm_chart_place place[] = {{INT64_MIN, NULL}, {0, NULL}, {INT64_MAX, NULL}};
    struct fm_chart_point p[] = {{0, 0, -1.7e308, NULL}, {1, 0, 5e-324, NULL},
                                 {2, 0, 1.7e308, NULL}};
    struct fm_chart_series series[] = {{"x", p, 3}};
    struct fm_chart chart = {.title = "extremes", .unit = "ns", .timed = true, .wall = true,
                             .place = place, .places = 3, .series = series, .all = 1};

    free(draw("extremes", &chart));
    chart.wall = false;
    free(draw("extremes-clock", &chart));
    place[0].time = place[1].time = place[2].time = MARCH;
    chart.wall = true;
    chart.gated = true;
    chart.gate = INFINITY;
    free(draw("one-time", &chart));
    chart.width = 1;
    chart.height = UINT32_MAX;
    free(draw("sizes", &chart));
}
END_TEST

static const char *const hostile[] = {
    "</title><script>x()</script>", "a\"b'c&amp;&#0;<b onload=\"x()\">", "\001\002\033[31m",
    "\377\376\355\240\200\357\277\276", "\342\200\256desrever \327\251\327\234\327\225\327\235",
    "]]><!-- -- -->", "", "a name of a service that is much longer than what a legend can hold, "
    "with a tail", "\344\270\255\346\226\207\345\220\215\347\247\260"};

START_TEST(hostile_names)
{
    struct fm_chart_place place[FM_COUNT(hostile)];
    struct fm_chart_point p[FM_COUNT(hostile)][FM_COUNT(hostile)];
    struct fm_chart_series series[FM_COUNT(hostile)];
    struct fm_chart chart = {.place = place, .places = FM_COUNT(hostile), .series = series,
                             .all = FM_COUNT(hostile)};

    for (size_t i = 0; i < FM_COUNT(hostile); i++) {
        char *text;

        for (uint32_t k = 0; k < FM_COUNT(hostile); k++)
            p[i][k] = (struct fm_chart_point){k, (uint8_t)(k % 3), (double)(k * (i + 1)),
                                              hostile[k]};
        place[i] = (struct fm_chart_place){0, hostile[i]};
        series[i] = (struct fm_chart_series){hostile[i], p[i], FM_COUNT(hostile)};
        chart.title = chart.subtitle = chart.unit = chart.gate_name = hostile[i];
        chart.gated = chart.banded = true;
        if (i + 1 < FM_COUNT(hostile)) {
            chart.all = chart.places = 0;
        } else {
            chart.all = chart.places = FM_COUNT(hostile);
        }
        text = draw("hostile", &chart);
        ck_assert(strstr(text, "<script") == NULL && strstr(text, "<b ") == NULL);
        free(text);
    }
}
END_TEST

/* 40 series of 4,000 points with one peak each, which stays; 20,000 labels. */
START_TEST(many)
{
    enum { SERIES = 40, POINTS = 4000 };
    struct fm_chart_place *place = calloc(5 * POINTS, sizeof *place);
    struct fm_chart_point *p = calloc(SERIES * POINTS, sizeof *p);
    struct fm_chart_series series[SERIES];
    char name[SERIES][32];
    struct fm_chart chart = {.title = "many", .subtitle = "40 series of 4,000 points",
                             .unit = "bytes", .timed = true, .wall = true, .place = place,
                             .places = POINTS, .series = series, .all = SERIES};
    char *text;

    for (size_t i = 0; i < POINTS; i++)
        place[i].time = MARCH + (int64_t)i * 600 * S;
    for (size_t s = 0; s < SERIES; s++) {
        snprintf(name[s], sizeof name[s], "service-%zu.production", s);
        series[s] = (struct fm_chart_series){name[s], p + s * POINTS, POINTS};
        for (uint32_t i = 0; i < POINTS; i++)
            p[s * POINTS + i] = (struct fm_chart_point){
                i, 0, (double)(s + 1) * 1e6 * (1 + 0.1 * sin(i / 100.0 + (double)s)), NULL};
        p[s * POINTS + 1000].value = 64 * 1048576;
    }
    text = draw("many", &chart);
    ck_assert_uint_lt(strlen(text), 4000000);
    ck_assert_uint_le(count(text, "class=\"v\" x="), 240);
    ck_assert_uint_eq(count(text, ">service-"), SERIES * 2); /* names and their titles */
    has(text, "and 24 more");
    has(text, " to 64 MiB (");
    free(text);
    chart.timed = false;
    chart.places = 5 * POINTS;
    for (size_t i = 0; i < 5 * POINTS; i++)
        place[i].label = name[i % SERIES];
    text = draw("many-labels", &chart);
    ck_assert_uint_lt(count(text, "rotate(-40)"), 60);
    free(text);
    free(place);
    free(p);
}
END_TEST

START_TEST(every_failed_allocation_is_survived)
{
    struct fm_chart_place place[] = {{0, "a"}, {0, "b"}};
    struct fm_chart_point p[] = {{0, 0, 1, "note"}, {1, FM_CHART_BAD, 2, NULL}};
    struct fm_chart_series series[] = {{"s", p, 2}, {"t", p, 1}};
    struct fm_chart chart = {.title = "t", .unit = "", .place = place, .places = 2,
                             .series = series, .all = 2};
    bool done = false;

    for (uint64_t n = 1; !done; n++) {
        struct fm_mem mem;
        struct fm_out out;
        struct fm_error err = {0};

        fm_mem_init(&mem, 0);
        mem.fail_at = n;
        if (fm_out_init(&out, &mem, NULL) == FM_OK) {
            enum fm_status status = fm_chart_write(&out, &chart, &err);

            done = status == FM_OK;
            ck_assert(done || (status == FM_NOMEM && err.status == FM_NOMEM));
        }
        fm_out_release(&out);
        ck_assert_uint_eq(atomic_load(&mem.used), 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chart");
    TCase *tcase = tcase_create("chart");
    SRunner *runner = srunner_create(suite);
    int failed;

    have_xmllint = system("command -v xmllint >/dev/null 2>&1") == 0;
    tcase_add_test(tcase, days);
    tcase_add_test(tcase, points_stand_at_their_values);
    tcase_add_test(tcase, gaps_and_lone_points);
    tcase_add_test(tcase, extremes);
    tcase_add_test(tcase, hostile_names);
    tcase_add_test(tcase, many);
    tcase_add_test(tcase, every_failed_allocation_is_survived);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
