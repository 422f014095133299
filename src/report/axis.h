/*
 * axis.h - values with their units as text, and axes whose ticks are round numbers.
 *
 * A unit is a word of the queries: "ns" is shown as ns, us, ms, s, min or h; "bytes" as B to TiB;
 * "share" and "%" (a fraction of 1) in percent; any other word stands behind the number, large
 * numbers as k, M, G, T ("12.3 M cycles"); "" and "count" are numbers alone. A unit with a '/'
 * ("bytes/s") is a rate of the unit before it. Beyond 1e18 of the largest scale numbers are written
 * with an exponent. No locale; the same bytes everywhere.
 *
 * Axes of values: a step of 1, 2 or 5 times a power of ten in the shown scale. Axes of times (ns
 * since 1970, UTC): steps that calendars have, from 1 ns to years, whose ticks stand at whole
 * seconds, minutes, days (also the days of a week, from Monday), months, years.
 */
#ifndef FM_REPORT_AXIS_H
#define FM_REPORT_AXIS_H

#include "util/base.h"

#define FM_AXIS_TEXT 64
#define FM_AXIS_TICKS 24    /* the most that an axis has */

/* One value with three figures, always with its unit: "1.23 s", "45.1 MiB", "12.3%", "1,024". */
const char *fm_axis_quantity(double v, const char *unit, char buf[FM_AXIS_TEXT]);
/* A relative change with its sign: "+12.3%"; of more than ten times "x15.2". */
const char *fm_axis_change(double change, char buf[FM_AXIS_TEXT]);

struct fm_axis {
    double low, high;           /* the ends: multiples of step */
    double step;
    double divide;              /* what values are divided by before they are written */
    unsigned digits;            /* decimals of a tick */
    size_t ticks;               /* low, low + step ... high */
    const char *scale;          /* "ms", "MiB", "M": stands after the number, or "" */
    const char *word;           /* the unit where it is a word of its own, or "" */
    size_t words;               /* its length */
    bool exponent;              /* too large or small for plain digits */
};

/* An axis that holds low <= high with about `ticks` steps; what is not finite, or too large to be
 * drawn, is cut to +-1e300. */
void fm_axis_fit(struct fm_axis *axis, double low, double high, const char *unit, size_t ticks);
double fm_axis_tick(const struct fm_axis *axis, size_t i);
/* A tick without its unit word: "1.5 ms", "20%", "3 M". */
const char *fm_axis_label(const struct fm_axis *axis, double v, char buf[FM_AXIS_TEXT]);

struct fm_time_tick {
    int64_t at;
    bool major;                 /* `above` differs from the tick before */
    char text[32];              /* "14:05", "3 Mar", "2026" */
    char above[24];             /* what it is part of: "3 Mar 2026", "2026", or "" */
};

/* Ticks between first <= last, at most `most` (2 .. FM_AXIS_TICKS); their number. With `wall` false
 * times count from a start of their own: "0 s", "1.5 s", without a calendar. */
size_t fm_axis_times(int64_t first, int64_t last, bool wall, size_t most,
                     struct fm_time_tick tick[FM_AXIS_TICKS]);
/* ns since 1970 of a day's beginning, for years 1678 to 2261. */
int64_t fm_axis_date(unsigned year, unsigned month, unsigned day);
/* "2026-03-01 14:05:07" (UTC), with a fraction where there is one, without midnight's zeros. */
const char *fm_axis_time(int64_t ns, char buf[FM_AXIS_TEXT]);

#endif
