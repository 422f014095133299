/*
 * axis.c - values with units as text, and round ticks: see axis.h.
 */
#include "report/axis.h"

#include <stdio.h>

#define LARGEST 1e300

/* ----------------------------------------------------------------- numbers */

static double size_of(double v)
{
    return v < 0 ? -v : v;
}

/* Powers of ten by products: the same digits with every mathematical library. */
static double ten_to(int e)
{
    double v = 1;

    for (; e > 0; e--)
        v *= 10;
    for (; e < 0; e++)
        v /= 10;
    return v;
}

/* The exponent of ten of v > 0: 10^e <= v. */
static int decade(double v)
{
    int e = 0;

    while (v >= 10 && e < 320) {
        v /= 10;
        e++;
    }
    while (v < 1 && e > -320) {
        v *= 10;
        e--;
    }
    return e;
}

/* |v| < 1e18 with commas and `digits` decimals (to 9). */
static void put_plain(double v, unsigned digits, char *buf, size_t room)
{
    uint64_t scale = 1, n, whole;
    char text[32], *p = text + sizeof text;
    unsigned place = 0;

    digits = FM_MIN(digits, 9u);
    while (digits > 0 && size_of(v) * ten_to((int)digits) >= 9e18)
        digits--;
    for (unsigned i = 0; i < digits; i++)
        scale *= 10;
    n = (uint64_t)(size_of(v) * (double)scale + 0.5);
    whole = n / scale;
    *--p = '\0';
    do {
        if (place > 0 && place % 3 == 0)
            *--p = ',';
        *--p = (char)('0' + whole % 10);
        whole /= 10;
        place++;
    } while (whole != 0);
    if (digits > 0)
        snprintf(buf, room, "%s%s.%0*llu", v < 0 && n != 0 ? "-" : "", p, (int)digits,
                 (unsigned long long)(n % scale));
    else
        snprintf(buf, room, "%s%s", v < 0 && n != 0 ? "-" : "", p);
}

/* "1.23e+20" */
static void put_exponent(double v, unsigned digits, char *buf, size_t room)
{
    int e = decade(size_of(v));
    char text[32];
    double first = e > 0 ? v / ten_to(e) : v * ten_to(-e);

    if (size_of(first) + 0.5 / ten_to((int)digits) >= 10) {
        first /= 10;
        e++;
    }
    put_plain(first, digits, text, sizeof text);
    snprintf(buf, room, "%se%s%d", text, e < 0 ? "-" : "+", e < 0 ? -e : e);
}

/* Three figures: 1.23, 12.3, 123, 1,234; without zeros at the end of decimals. */
static void put_figures(double v, char *buf, size_t room)
{
    double size = size_of(v);
    int e;

    if (size == 0) {
        snprintf(buf, room, "0");
        return;
    }
    if (size >= 1e18 || size < 1e-6) {
        put_exponent(v, 2, buf, room);
        return;
    }
    e = decade(size);
    put_plain(v, e >= 2 ? 0 : (unsigned)(2 - e), buf, room);
    if (strchr(buf, '.') != NULL) {
        size_t n = strlen(buf);

        while (buf[n - 1] == '0')
            n--;
        if (buf[n - 1] == '.')
            n--;
        buf[n] = '\0';
    }
}

/* ------------------------------------------------------------------- units */

struct scale {
    double from, divide;        /* used for |v| >= from */
    const char *name;
};

static const struct scale times[] = {{7200e9, 3600e9, "h"}, {120e9, 60e9, "min"}, {1e9, 1e9, "s"},
                                     {1e6, 1e6, "ms"},      {1e3, 1e3, "us"},     {0, 1, "ns"}};
static const struct scale sizes[] = {{1099511627776.0, 1099511627776.0, "TiB"},
                                     {1073741824.0, 1073741824.0, "GiB"},
                                     {1048576.0, 1048576.0, "MiB"},
                                     {1024.0, 1024.0, "KiB"},
                                     {0, 1, "B"}};
static const struct scale shares[] = {{0, 0.01, "%"}};
static const struct scale counts[] = {
    {1e12, 1e12, "T"}, {1e9, 1e9, "G"}, {1e6, 1e6, "M"}, {1e4, 1e3, "k"}, {0, 1, ""}};

struct kind {
    const char *unit;
    const struct scale *scale;
    size_t scales;
    bool word;                  /* the unit is written behind the number */
};

static const struct kind kinds[] = {
    {"ns", times, FM_COUNT(times), false},     {"bytes", sizes, FM_COUNT(sizes), false},
    {"share", shares, FM_COUNT(shares), false}, {"%", shares, FM_COUNT(shares), false},
    {"count", counts, FM_COUNT(counts), false}, {"", counts, FM_COUNT(counts), false},
};
static const struct kind other = {NULL, counts, FM_COUNT(counts), true};

/* The kind of a unit up to its '/', and what is written behind: a word, or "/s". */
static const struct kind *find_kind(const char *unit, const char **behind)
{
    size_t n;

    unit = unit != NULL ? unit : "";
    n = strcspn(unit, "/");
    *behind = unit + n;
    for (size_t i = 0; i < FM_COUNT(kinds); i++)
        if (strlen(kinds[i].unit) == n && memcmp(kinds[i].unit, unit, n) == 0)
            return &kinds[i];
    *behind = unit;
    return &other;
}

static const struct scale *find_scale(const struct kind *kind, double v)
{
    size_t i = 0;

    while (i + 1 < kind->scales && size_of(v) < kind->scale[i].from)
        i++;
    return &kind->scale[i];
}

/* "5 ms", "5%", "5" */
static void join_scale(const char *number, const char *scale, char *buf, size_t room)
{
    snprintf(buf, room, "%s%s%s", number, scale[0] != '\0' && scale[0] != '%' ? " " : "", scale);
}

static double bounded(double v)
{
    if (v != v)
        return 0;
    return v > LARGEST ? LARGEST : v < -LARGEST ? -LARGEST : v;
}

const char *fm_axis_quantity(double v, const char *unit, char buf[FM_AXIS_TEXT])
{
    const char *behind;
    const struct kind *kind = find_kind(unit, &behind);
    const struct scale *scale;
    char number[32];
    size_t n;

    if (v != v) {
        snprintf(buf, FM_AXIS_TEXT, "none");
        return buf;
    }
    v = bounded(v);
    scale = find_scale(kind, v);
    put_figures(v / scale->divide, number, sizeof number);
    join_scale(number, scale->name, buf, FM_AXIS_TEXT);
    n = strlen(buf);
    if (kind->word)
        snprintf(buf + n, FM_AXIS_TEXT - n, " %.20s", behind);
    else
        snprintf(buf + n, FM_AXIS_TEXT - n, "%.20s", behind);
    return buf;
}

const char *fm_axis_change(double change, char buf[FM_AXIS_TEXT])
{
    char number[32];

    change = bounded(change);
    if (change >= 9) {
        put_figures(change + 1, number, sizeof number);
        snprintf(buf, FM_AXIS_TEXT, "x%s", number);
        return buf;
    }
    put_plain(change * 100, size_of(change) >= 0.995 ? 0 : 1, number, sizeof number);
    snprintf(buf, FM_AXIS_TEXT, "%s%s%%", number[0] == '-' ? "" : "+", number);
    return buf;
}

/* -------------------------------------------------------------------- axes */

/* 1, 2 or 5 times a power of ten, not below v > 0. */
static double round_step(double v, int *e, int *first)
{
    double unit;

    *e = decade(v);
    unit = ten_to(*e);
    *first = v <= unit * 1.000001 ? 1 : v <= 2.000001 * unit ? 2 : v <= 5.000001 * unit ? 5 : 10;
    if (*first == 10) {
        *first = 1;
        ++*e;
    }
    return *first * ten_to(*e);
}

/* The whole number at or below v, for |v| < 2^52. */
static double below(double v)
{
    double whole;

    if (size_of(v) > 4e15)
        return v;
    whole = (double)(int64_t)v;
    return whole > v ? whole - 1 : whole;
}

void fm_axis_fit(struct fm_axis *axis, double low, double high, const char *unit, size_t ticks)
{
    const char *behind;
    const struct kind *kind = find_kind(unit, &behind);
    const struct scale *scale;
    int e, first;
    double step, from;

    low = bounded(low);
    high = bounded(high);
    if (high < low)
        high = low;
    if (high - low < 1e-12 * FM_MAX(size_of(low), size_of(high)) || high == low) {
        double around = low != 0 ? size_of(low) / 2 : 1;

        low = low > 0 ? 0 : low - around;
        high = high + around;
    }
    ticks = FM_MIN(FM_MAX(ticks, (size_t)2), (size_t)FM_AXIS_TICKS / 2);
    scale = find_scale(kind, FM_MAX(size_of(low), size_of(high)));
    memset(axis, 0, sizeof *axis);
    step = round_step((high - low) / scale->divide / (double)ticks, &e, &first);
    from = below(low / scale->divide / step + 1e-9);
    axis->divide = scale->divide;
    axis->scale = scale->name;
    axis->word = behind;
    axis->words = strlen(behind);
    axis->step = step * scale->divide;
    axis->low = from * step * scale->divide;
    axis->ticks = 1;
    while (axis->ticks < FM_AXIS_TICKS &&
           (from + (double)(axis->ticks - 1)) * step * scale->divide <
               high - 1e-9 * axis->step)
        axis->ticks++;
    axis->high = axis->low + (double)(axis->ticks - 1) * axis->step;
    axis->digits = e < 0 ? (unsigned)-e : 0;
    axis->exponent = axis->digits > 9 || size_of(axis->high) / scale->divide >= 1e15 ||
                     size_of(axis->low) / scale->divide >= 1e15;
    if (axis->exponent)
        axis->digits = 2;
}

double fm_axis_tick(const struct fm_axis *axis, size_t i)
{
    double v = axis->low + (double)i * axis->step;

    return size_of(v) < axis->step * 1e-6 ? 0 : v;
}

const char *fm_axis_label(const struct fm_axis *axis, double v, char buf[FM_AXIS_TEXT])
{
    char number[48];

    v /= axis->divide;
    if (axis->exponent && v != 0)
        put_exponent(v, axis->digits, number, sizeof number);
    else
        put_plain(v, axis->exponent || v == 0 ? 0 : axis->digits, number, sizeof number);
    join_scale(number, axis->scale, buf, FM_AXIS_TEXT);
    return buf;
}
