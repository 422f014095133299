/*
 * figure.c - numbers as people read them: 986,176; 1.50 s; 12.0 MiB; 12.3 %. Machine-readable
 * output (CSV, JSON, folded) never goes through here.
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

const char *figure_count(char *buf, u128 n)
{
    char digit[FIGURE];
    size_t i = sizeof(digit), k = 0;

    digit[--i] = '\0';
    do {
        if (k > 0 && k % 3 == 0)
            digit[--i] = ',';
        digit[--i] = (char)('0' + (int)(n % 10));
        n /= 10;
        k++;
    } while (n > 0);
    memcpy(buf, digit + i, sizeof(digit) - i);
    return buf;
}

static const char *scaled(char *buf, u128 n, const char *const *unit, double step)
{
    double v = (double)n;
    size_t i = 0;

    while (v >= step && unit[i + 1]) {
        v /= step;
        i++;
    }
    snprintf(buf, FIGURE, i == 0 ? "%.0f %s" : v < 10 ? "%.2f %s" : v < 100 ? "%.1f %s" : "%.0f %s",
             v, unit[i]);
    return buf;
}

const char *figure_unit(char *buf, u128 n, const char *unit)
{
    static const char *const ns[] = {"ns", "us", "ms", "s", NULL};
    static const char *const bytes[] = {"bytes", "KiB", "MiB", "GiB", "TiB", NULL};
    size_t len;

    if (strcmp(unit, "ns") == 0)
        return scaled(buf, n, ns, 1000);
    if (strcmp(unit, "bytes") == 0)
        return scaled(buf, n, bytes, 1024);
    figure_count(buf, n);
    len = strlen(buf);
    if (unit[0] && strcmp(unit, "count") != 0)
        snprintf(buf + len, FIGURE - len, " %s", unit);
    return buf;
}

const char *figure_share(char *buf, u128 part, u128 all)
{
    if (all == 0)
        snprintf(buf, FIGURE, "-");
    else
        snprintf(buf, FIGURE, "%.1f %%", (double)part / (double)all * 100);
    return buf;
}

const char *figure_time(char *buf, int64_t ns)
{
    uint64_t v = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

    snprintf(buf, FIGURE, "%s%" PRIu64 ".%09" PRIu64 " s", ns < 0 ? "-" : "", v / 1000000000,
             v % 1000000000);
    return buf;
}

const char *figure_wall(char *buf, int64_t ns)
{
    int64_t s = ns / 1000000000, rest = ns % 1000000000;
    time_t t;
    struct tm tm;

    if (rest < 0) {
        rest += 1000000000;
        s--;
    }
    t = (time_t)s;
    if (!gmtime_r(&t, &tm)) {
        snprintf(buf, FIGURE, "%" PRId64 " ns", ns);
        return buf;
    }
    snprintf(buf, FIGURE, "%04d-%02d-%02dT%02d:%02d:%02d.%09" PRId64 "Z", tm.tm_year + 1900,
             tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, rest);
    return buf;
}
