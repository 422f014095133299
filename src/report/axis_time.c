/*
 * axis_time.c - ticks of a time axis: see axis.h.
 *
 * Civil dates are worked out here, in the proleptic Gregorian calendar of UTC: days are counted
 * from 1 March of year 0, so that a leap day ends its year, in eras of 400 years (146,097 days).
 */
#include "report/axis.h"

#include <stdio.h>

#define SECOND INT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static const char *const month_names[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

struct civil {
    int64_t year;
    unsigned month, day;        /* from 1 */
    int64_t rest;               /* ns of the day */
};

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static struct civil civil_of(int64_t ns)
{
    struct civil c;
    int64_t days = floor_div(ns, DAY), era, of_era, year, of_year, shifted;

    c.rest = ns % DAY + (ns % DAY < 0 ? DAY : 0);
    days += 719468; /* 1970-01-01 */
    era = floor_div(days, 146097);
    of_era = days - era * 146097;
    year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    of_year = of_era - (365 * year + year / 4 - year / 100);
    shifted = (5 * of_year + 2) / 153; /* months from March */
    c.day = (unsigned)(of_year - (153 * shifted + 2) / 5 + 1);
    c.month = (unsigned)(shifted < 10 ? shifted + 3 : shifted - 9);
    c.year = year + era * 400 + (c.month <= 2);
    return c;
}

/* Years of int64_t nanoseconds (1677 to 2262) and those next to them; false outside. */
static bool ns_of(int64_t year, unsigned month, int64_t *ns)
{
    int64_t y = year - (month <= 2), era = floor_div(y, 400), of_era = y - era * 400;
    int64_t shifted = month > 2 ? month - 3 : month + 9;
    int64_t days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 +
                   (153 * shifted + 2) / 5 - 719468;

    return !__builtin_mul_overflow(days, DAY, ns);
}

int64_t fm_axis_date(unsigned year, unsigned month, unsigned day)
{
    int64_t ns;

    return ns_of(year, month, &ns) ? ns + (int64_t)(day - 1) * DAY : 0;
}

/* The fraction of a second with no zeros at its end; "" for none. */
static void put_fraction(int64_t ns, char text[12])
{
    size_t n;

    text[0] = '\0';
    if (ns == 0)
        return;
    snprintf(text, 12, ".%09d", (int)ns);
    for (n = strlen(text); text[n - 1] == '0'; n--)
        text[n - 1] = '\0';
}

const char *fm_axis_time(int64_t ns, char buf[FM_AXIS_TEXT])
{
    struct civil c = civil_of(ns);
    int s = (int)(c.rest / SECOND);
    char fraction[12];

    if (c.rest == 0) {
        snprintf(buf, FM_AXIS_TEXT, "%04d-%02u-%02u", (int)c.year, c.month, c.day);
        return buf;
    }
    put_fraction(c.rest % SECOND, fraction);
    snprintf(buf, FM_AXIS_TEXT, "%04d-%02u-%02u %02d:%02d:%02d%s", (int)c.year, c.month, c.day,
             s / 3600, s / 60 % 60, s % 60, fraction);
    return buf;
}

/* ------------------------------------------------------------------- steps */

/* A step is so many ns, or so many months. */
struct step {
    int64_t ns;
    unsigned months;
};

static const struct step steps[] = {
    {SECOND, 0},     {2 * SECOND, 0}, {5 * SECOND, 0}, {10 * SECOND, 0}, {15 * SECOND, 0},
    {30 * SECOND, 0}, {MINUTE, 0},    {2 * MINUTE, 0}, {5 * MINUTE, 0},  {10 * MINUTE, 0},
    {15 * MINUTE, 0}, {30 * MINUTE, 0}, {HOUR, 0},     {2 * HOUR, 0},    {3 * HOUR, 0},
    {6 * HOUR, 0},   {12 * HOUR, 0},  {DAY, 0},        {2 * DAY, 0},     {7 * DAY, 0},
    {14 * DAY, 0},   {0, 1},          {0, 2},          {0, 3},           {0, 6},
    {0, 12},         {0, 24},         {0, 60},         {0, 120},         {0, 240},
    {0, 600},        {0, 1200}};

static int64_t length_of(const struct step *s)
{
    return s->months == 0 ? s->ns : (int64_t)s->months * (30 * DAY + 10 * HOUR);
}

/* The smallest step that gives at most `most` ticks over `span` ns; from three days on whole
 * days. */
static struct step choose_step(uint64_t span, size_t most)
{
    struct step s = {1, 0};

    for (int i = 1; s.ns < SECOND && span / (uint64_t)s.ns >= most; i++)
        s.ns = s.ns / (i % 3 == 2 ? 2 : 1) * (i % 3 == 2 ? 5 : 2); /* 1 2 5 10 */
    if (span / (uint64_t)s.ns < most)
        return s;
    for (size_t i = 0; i < FM_COUNT(steps); i++)
        if (span / (uint64_t)length_of(&steps[i]) < most &&
            (span < 3 * DAY || length_of(&steps[i]) >= DAY))
            return steps[i];
    return steps[FM_COUNT(steps) - 1];
}

/* The first tick at or after `at`; false past the end of time. Weeks begin on Mondays: 1970-01-05
 * was one. */
static bool tick_from(const struct step *s, int64_t at, int64_t *tick)
{
    struct civil c;
    int64_t month, year;

    if (s->months == 0) {
        int64_t from = s->ns % (7 * DAY) == 0 ? 4 * DAY : 0, n;

        if (__builtin_sub_overflow(at, from, &at))
            return false;
        n = floor_div(at, s->ns);
        if (n * s->ns != at)
            n++;
        return !__builtin_mul_overflow(n, s->ns, tick) &&
               !__builtin_add_overflow(*tick, from, tick);
    }
    c = civil_of(at);
    month = c.year * 12 + c.month - 1;
    if (c.day > 1 || c.rest > 0)
        month++;
    month = floor_div(month + s->months - 1, s->months) * s->months;
    year = floor_div(month, 12);
    return ns_of(year, (unsigned)(month - year * 12) + 1, tick);
}

/* ------------------------------------------------------------------- texts */

static void name_tick(const struct step *s, struct fm_time_tick *t)
{
    struct civil c = civil_of(t->at);
    int second = (int)(c.rest / SECOND);
    char fraction[12];

    t->above[0] = '\0';
    if (s->months >= 12) {
        snprintf(t->text, sizeof t->text, "%d", (int)c.year);
    } else if (s->months > 0) {
        snprintf(t->text, sizeof t->text, "%s", month_names[c.month - 1]);
        snprintf(t->above, sizeof t->above, "%d", (int)c.year);
    } else if (s->ns >= DAY) {
        snprintf(t->text, sizeof t->text, "%u %s", c.day, month_names[c.month - 1]);
        snprintf(t->above, sizeof t->above, "%d", (int)c.year);
    } else {
        if (s->ns >= MINUTE) {
            snprintf(t->text, sizeof t->text, "%02d:%02d", second / 3600, second / 60 % 60);
        } else {
            put_fraction(c.rest % SECOND, fraction);
            snprintf(t->text, sizeof t->text, "%02d:%02d:%02d%s", second / 3600,
                     second / 60 % 60, second % 60, fraction);
        }
        snprintf(t->above, sizeof t->above, "%u %s %d", c.day, month_names[c.month - 1],
                 (int)c.year);
    }
}

/* Ticks of a clock that is not the calendar's: round numbers of the unit that suits them. */
static size_t plain_times(int64_t first, int64_t last, size_t most,
                          struct fm_time_tick tick[FM_AXIS_TICKS])
{
    struct fm_axis axis;
    char text[FM_AXIS_TEXT];
    size_t n = 0;

    fm_axis_fit(&axis, (double)first, (double)last, "ns", FM_MAX(most / 2, (size_t)2));
    for (size_t i = 0; i < axis.ticks && n < most; i++) {
        double v = fm_axis_tick(&axis, i);

        if (v < (double)first || v > (double)last || v >= 9.2e18 || v <= -9.2e18)
            continue;
        memset(&tick[n], 0, sizeof tick[n]);
        tick[n].at = (int64_t)v;
        snprintf(tick[n].text, sizeof tick[n].text, "%.23s", fm_axis_label(&axis, v, text));
        n++;
    }
    return n;
}

size_t fm_axis_times(int64_t first, int64_t last, bool wall, size_t most,
                     struct fm_time_tick tick[FM_AXIS_TICKS])
{
    struct step s;
    size_t n = 0;
    int64_t at = first;

    if (last < first)
        last = first;
    most = FM_MIN(FM_MAX(most, (size_t)2), (size_t)FM_AXIS_TICKS);
    if (!wall)
        return plain_times(first, last, most, tick);
    s = choose_step((uint64_t)last - (uint64_t)first, most);
    while (n < most && tick_from(&s, at, &at) && at <= last) {
        struct fm_time_tick *t = &tick[n];

        memset(t, 0, sizeof *t);
        t->at = at;
        name_tick(&s, t);
        t->major = n == 0 || strcmp(t->above, tick[n - 1].above) != 0;
        n++;
        if (at == INT64_MAX)
            break;
        at++;
    }
    return n;
}
