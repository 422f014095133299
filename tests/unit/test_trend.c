/*
 * test_trend.c - medians, noise and gates with values worked out by hand; texts and round ticks of
 * axes.
 */
#include "report/axis.h"
#include "report/trend.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct fm_trend_base base_of(const double *v, size_t n)
{
    struct fm_trend_base base;
    struct fm_mem mem;

    fm_mem_init(&mem, 0);
    ck_assert_int_eq(fm_trend_baseline(&mem, v, n, &base), FM_OK);
    ck_assert_uint_eq(atomic_load(&mem.used), 0);
    return base;
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

START_TEST(medians)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2}, large[] = {1.7e308, 1.7e308};

    ck_assert(near(fm_trend_median(odd, 3), 2));
    ck_assert(near(fm_trend_median(even, 4), 2.5));
    ck_assert(fm_trend_median(large, 2) == 1.7e308);
    ck_assert(isnan(fm_trend_median(odd, 0)));
}
END_TEST

/* 100 102 98 101 99: median 100; distances 0 2 2 1 1: MAD 1. */
START_TEST(noise)
{
    static const double v[] = {100, 102, 98, 101, 99};
    static const double holes[] = {NAN, 100, 102, 98, INFINITY, 101, 99, -INFINITY};
    struct fm_trend_base base = base_of(v, 5);

    ck_assert_uint_eq(base.n, 5);
    ck_assert(near(base.median, 100) && near(base.mad, 1));
    base = base_of(holes, 8);
    ck_assert_uint_eq(base.n, 5);
    ck_assert(near(base.median, 100) && near(base.mad, 1));
    base = base_of(holes, 1);
    ck_assert_uint_eq(base.n, 0);
}
END_TEST

static struct fm_trend judged(struct fm_trend_rule rule, struct fm_trend_base base, double value)
{
    struct fm_trend t;

    fm_trend_judge(&rule, &base, value, &t);
    return t;
}

/* 3 sigma = 3 * 1.4826 * 1 = 4.4478; 5% = 5; the larger counts. */
START_TEST(gates)
{
    static const double v[] = {100, 102, 98, 101, 99};
    struct fm_trend_base base = base_of(v, 5);
    struct fm_trend_rule rule = FM_TREND_RULE;
    struct fm_trend t = judged(rule, base, 105);

    ck_assert(near(t.limit, 105) && near(t.change, 0.05));
    ck_assert_int_eq(t.verdict, FM_TREND_PASS); /* not past it */
    ck_assert_int_eq(judged(rule, base, 105.01).verdict, FM_TREND_FAIL);
    ck_assert_int_eq(judged(rule, base, 50).verdict, FM_TREND_PASS);
    rule.share = 0.02;
    t = judged(rule, base, 104.4);
    ck_assert(near(t.limit, 104.4478) && near(t.allowed, 4.4478));
    ck_assert_int_eq(t.verdict, FM_TREND_PASS);
    ck_assert_int_eq(judged(rule, base, 104.5).verdict, FM_TREND_FAIL);
    rule.lower = true;
    ck_assert(near(judged(rule, base, 1).limit, 95.5522));
    ck_assert_int_eq(judged(rule, base, 95.6).verdict, FM_TREND_PASS);
    ck_assert_int_eq(judged(rule, base, 95.5).verdict, FM_TREND_FAIL);
    ck_assert_int_eq(judged(rule, base, 500).verdict, FM_TREND_PASS);
}
END_TEST

START_TEST(outliers_move_nothing)
{
    static const double v[] = {100, 102, 98, 101, 1e12};
    struct fm_trend_base base = base_of(v, 5); /* median 101; 1 1 3 0 1e12: MAD 1 */

    ck_assert(near(base.median, 101) && near(base.mad, 1));
    ck_assert_int_eq(judged((struct fm_trend_rule)FM_TREND_RULE, base, 120).verdict,
                     FM_TREND_FAIL);
}
END_TEST

START_TEST(little_to_go_by)
{
    static const double v[] = {1, 1}, zero[] = {0, 0, 0}, below[] = {-10, -10, -10};
    struct fm_trend_rule rule = FM_TREND_RULE;

    ck_assert_int_eq(judged(rule, base_of(v, 2), 1e9).verdict, FM_TREND_FEW);
    rule.min = 0;
    ck_assert_int_eq(judged(rule, base_of(v, 0), 1e9).verdict, FM_TREND_FEW);
    ck_assert_int_eq(judged(rule, base_of(v, 2), 1e9).verdict, FM_TREND_FAIL);
    ck_assert_int_eq(judged(rule, base_of(v, 2), NAN).verdict, FM_TREND_NONE);
    ck_assert_int_eq(judged(rule, base_of(v, 2), INFINITY).verdict, FM_TREND_NONE);
    ck_assert_int_eq(judged(rule, base_of(zero, 3), 0).verdict, FM_TREND_PASS);
    ck_assert_int_eq(judged(rule, base_of(zero, 3), 1).verdict, FM_TREND_FAIL);
    ck_assert(isnan(judged(rule, base_of(zero, 3), 1).change));
    ck_assert(near(judged(rule, base_of(below, 3), -5).limit, -9.5)); /* 5% of |-10| */
    ck_assert(near(judged(rule, base_of(below, 3), -5).change, 0.5));
}
END_TEST

static void explains(struct fm_trend t, const char *unit, const char *expected)
{
    char text[512];
    size_t n = fm_trend_explain(&t, unit, text, sizeof text);

    ck_assert_str_eq(text, expected);
    ck_assert_uint_eq(n, strlen(expected));
    ck_assert_uint_eq(fm_trend_explain(&t, unit, text, 4), n);
    ck_assert_uint_eq(strlen(text), 3);
}

START_TEST(explanations)
{
    static const double v[] = {1.00e9, 1.02e9, 0.98e9, 1.01e9, 0.99e9}, zero[] = {0, 0, 0};
    struct fm_trend_rule rule = FM_TREND_RULE;
    struct fm_trend_base base = base_of(v, 5);

    explains(judged(rule, base, 1.2e9), "ns",
             "1.2 s is +20.0% over the median 1 s of 5, past the limit 1.05 s (higher is worse; "
             "allowed: 5% or 3 sigma = 44.5 ms)");
    explains(judged(rule, base, 0.9e9), "ns",
             "900 ms is -10.0% under the median 1 s of 5, within the limit 1.05 s (higher is "
             "worse; allowed: 5% or 3 sigma = 44.5 ms)");
    explains(judged(rule, base, 1e9), "ns",
             "1 s is the median of 5, within the limit 1.05 s (higher is worse; allowed: 5% or 3 "
             "sigma = 44.5 ms)");
    explains(judged(rule, base_of(v, 2), 2e9), "ns",
             "2 s is +98.0% over the median 1.01 s of 2, not judged: a baseline of at least 3 is "
             "asked for");
    explains(judged(rule, base_of(v, 0), 2e9), "ns",
             "2 s is not judged: the baseline has no values");
    explains(judged(rule, base, NAN), "ns", "there is no value to judge");
    explains(judged(rule, base_of(zero, 3), 0.25), "share",
             "25% is over the median 0% of 3, past the limit 0% (higher is worse; allowed: 5% or "
             "3 sigma = 0%)");
}
END_TEST

START_TEST(no_memory)
{
    static const double v[] = {1, 2, 3};
    struct fm_trend_base base;
    struct fm_mem mem;

    fm_mem_init(&mem, 0);
    mem.fail_at = 1;
    ck_assert_int_eq(fm_trend_baseline(&mem, v, 3, &base), FM_NOMEM);
}
END_TEST

/* -------------------------------------------------------------------- axes */

START_TEST(quantities)
{
    static const struct {
        double v;
        const char *unit, *text;
    } is[] = {
        {0, "ns", "0 ns"},           {999, "ns", "999 ns"},      {1234567, "ns", "1.23 ms"},
        {1.5e9, "ns", "1.5 s"},      {90e9, "ns", "90 s"},       {600e9, "ns", "10 min"},
        {9000e9, "ns", "2.5 h"},     {1024, "bytes", "1 KiB"},   {1610612736, "bytes", "1.5 GiB"},
        {-2048, "bytes/s", "-2 KiB/s"}, {0.1234, "share", "12.3%"}, {1, "%", "100%"},
        {1234, "count", "1,234"},    {12345678, "", "12.3 M"},
        {12345678, "cycles", "12.3 M cycles"},
        {0.5, "", "0.5"},            {1e20, "", "100,000,000 T"}, {1e300, "ns", "2.78e+287 h"},
        {0.0000001, "", "1.00e-7"},  {NAN, "ns", "none"},        {3, "a/b", "3 a/b"},
    };

    for (size_t i = 0; i < FM_COUNT(is); i++) {
        char text[FM_AXIS_TEXT];

        ck_assert_str_eq(fm_axis_quantity(is[i].v, is[i].unit, text), is[i].text);
    }
}
END_TEST

/* All ticks of an axis in one line. */
static void ticks_are(double low, double high, const char *unit, size_t ticks, const char *expected)
{
    struct fm_axis axis;
    char text[FM_AXIS_TEXT], all[FM_AXIS_TEXT * FM_AXIS_TICKS] = "";
    size_t n = 0;

    fm_axis_fit(&axis, low, high, unit, ticks);
    ck_assert(axis.low <= low && axis.high >= high - 1e-9 * axis.step);
    for (size_t i = 0; i < axis.ticks; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", i > 0 ? " | " : "",
                              fm_axis_label(&axis, fm_axis_tick(&axis, i), text));
    ck_assert_str_eq(all, expected);
}

START_TEST(round_ticks)
{
    ticks_are(0, 1.13e9, "ns", 5, "0 s | 0.5 s | 1.0 s | 1.5 s");
    ticks_are(0, 1e9, "ns", 5, "0 s | 0.2 s | 0.4 s | 0.6 s | 0.8 s | 1.0 s");
    ticks_are(0, 3.2 * 1048576, "bytes", 5, "0 MiB | 1 MiB | 2 MiB | 3 MiB | 4 MiB");
    ticks_are(0.11, 0.32, "share", 5, "10% | 15% | 20% | 25% | 30% | 35%");
    ticks_are(-30, 45, "count", 5, "-40 | -20 | 0 | 20 | 40 | 60");
    ticks_are(1e6, 1.001e6, "", 4, "1.0000 M | 1.0005 M | 1.0010 M");
    ticks_are(7, 7, "", 4, "0 | 5 | 10 | 15");
    ticks_are(0, 0, "", 2, "-1 | 0 | 1");
}
END_TEST

START_TEST(ticks_of_anything)
{
    static const double v[] = {0,    -0.0,  1,     -1,   1e-300, 5e-324, 1e300,  -1e300,
                               NAN,  1e18,  1.7e308, -1.7e308, 4e15, 4e15 + 1, 0.1, 1e-9};

    for (size_t i = 0; i < FM_COUNT(v); i++)
        for (size_t k = 0; k < FM_COUNT(v); k++) {
            struct fm_axis axis;
            char text[FM_AXIS_TEXT];

            fm_axis_fit(&axis, v[i], v[k], "ns", 6);
            ck_assert(isfinite(axis.low) && isfinite(axis.high) && axis.high > axis.low);
            ck_assert(axis.step > 0 && axis.ticks >= 2 && axis.ticks <= FM_AXIS_TICKS);
            for (size_t t = 0; t < axis.ticks; t++)
                ck_assert_uint_gt(strlen(fm_axis_label(&axis, fm_axis_tick(&axis, t), text)), 0);
        }
}
END_TEST

#define S INT64_C(1000000000)
#define D (86400 * S)

static void times_are(int64_t first, int64_t last, bool wall, size_t most, const char *expected)
{
    struct fm_time_tick tick[FM_AXIS_TICKS];
    char all[2048] = "";
    size_t n = fm_axis_times(first, last, wall, most, tick), k = 0;

    ck_assert_uint_le(n, most);
    for (size_t i = 0; i < n; i++) {
        ck_assert(tick[i].at >= first && tick[i].at <= last);
        k += (size_t)snprintf(all + k, sizeof all - k, "%s%s%s%s%s", i > 0 ? " | " : "",
                              tick[i].text, tick[i].major ? " (" : "",
                              tick[i].major ? tick[i].above : "", tick[i].major ? ")" : "");
    }
    ck_assert_str_eq(all, expected);
}

/* Seconds since 1970 by `date -u -d ... +%s`. */
START_TEST(round_times)
{
    int64_t t = 1772323200 * S; /* 2026-03-01 00:00:00 */

    times_are(t + 50000 * S, t + 54000 * S, true, 6,
              "14:00 (1 Mar 2026) | 14:15 | 14:30 | 14:45 | 15:00");
    times_are(t - 3600 * S, t + 3 * 3600 * S, true, 6,
              "23:00 (28 Feb 2026) | 00:00 (1 Mar 2026) | 01:00 | 02:00 | 03:00");
    times_are(t, t + 30 * D, true, 6, "2 Mar (2026) | 9 Mar | 16 Mar | 23 Mar | 30 Mar");
    times_are(t - 70 * D, t + 40 * D, true, 6, "Jan (2026) | Feb | Mar | Apr");
    times_are(t, t + 2000 * D, true, 8, "2027 () | 2028 | 2029 | 2030 | 2031");
    times_are(t, t + 3 * S / 1000, true, 4, "00:00:00 (1 Mar 2026) | 00:00:00.001 | "
              "00:00:00.002 | 00:00:00.003");
    times_are(1709164800 * S, 1709164800 * S + 2 * D, true, 4, /* 2024-02-29 */
              "29 Feb (2024) | 1 Mar | 2 Mar");
    times_are(-1 * D, 1 * D, true, 4, "31 Dec (1969) | 1 Jan (1970) | 2 Jan");
    times_are(0, 10 * S, false, 12, "0 s | 2 s | 4 s | 6 s | 8 s | 10 s");
    times_are(INT64_MIN, INT64_MAX, true, 8,
              "1700 () | 1800 | 1900 | 2000 | 2100 | 2200");
    times_are(INT64_MAX - 1, INT64_MAX, true, 8, "23:47:16.854775806 (11 Apr 2262) | "
              "23:47:16.854775807");
}
END_TEST

START_TEST(times_as_text)
{
    char text[FM_AXIS_TEXT];

    ck_assert_str_eq(fm_axis_time(0, text), "1970-01-01");
    ck_assert_str_eq(fm_axis_time(1772323200 * S + 1, text), "2026-03-01 00:00:00.000000001");
    ck_assert_str_eq(fm_axis_time(1772323200 * S + 3723 * S + S / 2, text),
                     "2026-03-01 01:02:03.5");
    ck_assert_str_eq(fm_axis_time(INT64_MIN, text), "1677-09-21 00:12:43.145224192");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trend");
    TCase *tcase = tcase_create("trend");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(tcase, medians);
    tcase_add_test(tcase, noise);
    tcase_add_test(tcase, gates);
    tcase_add_test(tcase, outliers_move_nothing);
    tcase_add_test(tcase, little_to_go_by);
    tcase_add_test(tcase, explanations);
    tcase_add_test(tcase, no_memory);
    tcase_add_test(tcase, quantities);
    tcase_add_test(tcase, round_ticks);
    tcase_add_test(tcase, ticks_of_anything);
    tcase_add_test(tcase, round_times);
    tcase_add_test(tcase, times_as_text);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
