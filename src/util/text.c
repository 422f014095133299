/*
 * text.c - numbers, quantities and UTF-8 in text, and their human forms. No locale.
 */
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool fm_text_u64(const char *s, size_t n, uint64_t *out)
{
    uint64_t v = 0;

    if (n == 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_digit(s[i]) || !fm_mul_u64(v, 10, &v) ||
            !fm_add_u64(v, (uint64_t)(s[i] - '0'), &v))
            return false;
    }
    *out = v;
    return true;
}

bool fm_text_i64(const char *s, size_t n, int64_t *out)
{
    bool minus = n > 0 && s[0] == '-';
    uint64_t v;

    if (n > 0 && (s[0] == '-' || s[0] == '+')) {
        s++;
        n--;
    }
    if (!fm_text_u64(s, n, &v) || v > (uint64_t)INT64_MAX + (minus ? 1 : 0))
        return false;
    *out = (int64_t)(minus ? ~v + 1 : v);
    return true;
}

bool fm_text_hex(const char *s, size_t n, uint64_t *out)
{
    uint64_t v = 0;

    if (n > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
        s += 2;
        n -= 2;
    }
    if (n == 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        unsigned d;

        if (is_digit(c))
            d = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            d = (unsigned)(c - 'a') + 10;
        else if (c >= 'A' && c <= 'F')
            d = (unsigned)(c - 'A') + 10;
        else
            return false;
        if (v >> 60 != 0)
            return false;
        v = v << 4 | d;
    }
    *out = v;
    return true;
}

/* ---------------------------------------------------------- decimal numbers */

/* A decimal number taken apart: value = ±0.digits × 10^exponent of all its digits as an integer. */
struct decimal {
    bool minus;
    char digit[768];    /* significant ones; enough to decide every rounding */
    size_t digits;
    int64_t exponent;   /* of ten, for the digits read as an integer */
};

/* Reads [sign] digits [. digits] [e [sign] digits]; the bytes used, 0 when it is no number. */
static size_t scan_decimal(const char *s, size_t n, struct decimal *d)
{
    size_t i = 0, seen = 0;
    bool point = false;

    memset(d, 0, offsetof(struct decimal, digit));
    d->digits = 0;
    d->exponent = 0;
    if (i < n && (s[i] == '-' || s[i] == '+'))
        d->minus = s[i++] == '-';
    for (; i < n && (is_digit(s[i]) || (s[i] == '.' && !point)); i++) {
        if (s[i] == '.') {
            point = true;
            continue;
        }
        seen++;
        if (d->digits < sizeof d->digit && (d->digits > 0 || s[i] != '0'))
            d->digit[d->digits++] = s[i];
        else if (d->digits > 0)
            d->exponent++;
        if (point)
            d->exponent--;
    }
    if (seen == 0)
        return 0;
    if (i + 1 < n && (s[i] == 'e' || s[i] == 'E')) {
        size_t j = i + 1;
        bool minus = s[j] == '-';
        int64_t e = 0;

        if (s[j] == '-' || s[j] == '+')
            j++;
        if (j < n && is_digit(s[j])) {
            for (; j < n && is_digit(s[j]); j++)
                e = e < 100000 ? e * 10 + (s[j] - '0') : e;
            d->exponent += minus ? -e : e;
            i = j;
        }
    }
    return i;
}

/* "digits e exponent" holds no decimal point, so strtod() reads it the same in every locale. */
static double decimal_value(const struct decimal *d)
{
    char text[sizeof d->digit + 32];
    double v;

    if (d->digits == 0)
        return d->minus ? -0.0 : 0.0;
    memcpy(text, d->digit, d->digits);
    snprintf(text + d->digits, sizeof text - d->digits, "e%lld", (long long)d->exponent);
    v = strtod(text, NULL);
    return d->minus ? -v : v;
}

bool fm_text_f64(const char *s, size_t n, double *out)
{
    struct decimal d;

    if (scan_decimal(s, n, &d) != n || n == 0)
        return false;
    *out = decimal_value(&d);
    return true;
}

/* ------------------------------------------------------------- quantities */

struct unit {
    const char *name;
    int64_t scale;
    int power;          /* of ten, used when scale is 1: exact integers for times */
    const char *unit;
};

static const struct unit time_units[] = {
    {"ns", 1, 0, "ns"},         {"us", 1, 3, "ns"},          {"\xc2\xb5s", 1, 3, "ns"},
    {"ms", 1, 6, "ns"},         {"s", 1, 9, "ns"},           {"m", 60, 9, "ns"},
    {"min", 60, 9, "ns"},       {"h", 3600, 9, "ns"},
};
static const struct unit size_units[] = {
    {"B", 1, 0, "bytes"},
    {"k", 1 << 10, 0, "bytes"}, {"K", 1 << 10, 0, "bytes"},  {"KiB", 1 << 10, 0, "bytes"},
    {"M", 1 << 20, 0, "bytes"}, {"MiB", 1 << 20, 0, "bytes"},
    {"G", 1 << 30, 0, "bytes"}, {"GiB", 1 << 30, 0, "bytes"},
    {"T", INT64_C(1) << 40, 0, "bytes"}, {"TiB", INT64_C(1) << 40, 0, "bytes"},
    {"kB", 1, 3, "bytes"},      {"KB", 1, 3, "bytes"},       {"MB", 1, 6, "bytes"},
    {"GB", 1, 9, "bytes"},      {"TB", 1, 12, "bytes"},
};

static const struct unit *find_unit(const struct unit *unit, size_t units, const char *s, size_t n)
{
    for (size_t i = 0; i < units; i++)
        if (strlen(unit[i].name) == n && memcmp(unit[i].name, s, n) == 0)
            return &unit[i];
    return NULL;
}

/* The decimal times 10^power times scale as an integer, rounded to nearest; false when it does not
 * fit. Exact for every value with at most 18 digits before the last place that counts. */
static bool decimal_integer(struct decimal *d, int power, int64_t scale, int64_t *out)
{
    int64_t v = 0, e;
    size_t whole;

    d->exponent += power;
    e = (int64_t)d->digits + d->exponent; /* digits before the point */
    if (d->digits == 0 || e < 0) {
        *out = 0;
        return true;
    }
    if (e > 19)
        return false;
    whole = (size_t)e;
    for (size_t i = 0; i < whole; i++) {
        int digit = i < d->digits ? d->digit[i] - '0' : 0;
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v))
            return false;
    }
    if (__builtin_mul_overflow(v, scale, &v))
        return false;
    if (whole < d->digits) { /* the fraction, scaled, to nearest */
        double f = 0, place = 0.1;
        for (size_t i = whole; i < d->digits && i < whole + 17; i++, place /= 10)
            f += (d->digit[i] - '0') * place;
        if (__builtin_add_overflow(v, (int64_t)(f * (double)scale + 0.5), &v))
            return false;
    }
    *out = d->minus ? -v : v;
    return true;
}

static bool scaled(const char *s, size_t n, const struct unit *unit, size_t units,
                   const struct unit *bare, int64_t *out)
{
    struct decimal d;
    size_t used = scan_decimal(s, n, &d);
    const struct unit *u;

    if (used == 0)
        return false;
    while (used < n && s[used] == ' ')
        used++;
    u = used == n ? bare : find_unit(unit, units, s + used, n - used);
    return u != NULL && decimal_integer(&d, u->power, u->scale, out);
}

bool fm_text_time(const char *s, size_t n, int64_t *ns)
{
    static const struct unit seconds = {"", 1, 9, "ns"};

    return scaled(s, n, time_units, FM_COUNT(time_units), &seconds, ns);
}

bool fm_text_size(const char *s, size_t n, uint64_t *bytes)
{
    static const struct unit plain = {"", 1, 0, "bytes"};
    int64_t v;

    if (!scaled(s, n, size_units, FM_COUNT(size_units), &plain, &v) || v < 0)
        return false;
    *bytes = (uint64_t)v;
    return true;
}

bool fm_text_quantity(const char *s, size_t n, double *value, const char **unit)
{
    struct decimal d;
    size_t used = scan_decimal(s, n, &d);
    const struct unit *u;
    double v;

    if (used == 0)
        return false;
    v = decimal_value(&d);
    while (used < n && s[used] == ' ')
        used++;
    if (used == n) {
        *value = v;
        *unit = "";
        return true;
    }
    if (n - used == 1 && s[used] == '%') {
        *value = v / 100;
        *unit = "";
        return true;
    }
    u = find_unit(time_units, FM_COUNT(time_units), s + used, n - used);
    if (u == NULL)
        u = find_unit(size_units, FM_COUNT(size_units), s + used, n - used);
    if (u == NULL)
        return false;
    d.exponent += u->power;
    *value = decimal_value(&d) * (double)u->scale;
    *unit = u->unit;
    return true;
}

/* ------------------------------------------------------------------- UTF-8 */

unsigned fm_utf8_next(const char *s, size_t n, uint32_t *cp)
{
    const unsigned char *p = (const unsigned char *)s;
    uint32_t c;
    unsigned len;

    if (n == 0)
        return 0;
    if (p[0] < 0x80) {
        *cp = p[0];
        return 1;
    }
    if (p[0] >= 0xc2 && p[0] <= 0xdf) {
        len = 2;
        c = p[0] & 0x1fu;
    } else if ((p[0] & 0xf0) == 0xe0) {
        len = 3;
        c = p[0] & 0x0fu;
    } else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        len = 4;
        c = p[0] & 0x07u;
    } else {
        return 0;
    }
    if (n < len)
        return 0;
    for (unsigned i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3fu);
    }
    /* overlong forms, surrogates, and beyond the last plane */
    if ((len == 3 && (c < 0x800 || (c >= 0xd800 && c <= 0xdfff))) ||
        (len == 4 && (c < 0x10000 || c > 0x10ffff)))
        return 0;
    *cp = c;
    return len;
}

size_t fm_utf8_put(char *to, uint32_t cp)
{
    if (cp < 0x80) {
        to[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        to[0] = (char)(0xc0 | cp >> 6);
        to[1] = (char)(0x80 | (cp & 0x3f));
        return 2;
    }
    if (cp < 0x10000) {
        to[0] = (char)(0xe0 | cp >> 12);
        to[1] = (char)(0x80 | (cp >> 6 & 0x3f));
        to[2] = (char)(0x80 | (cp & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | cp >> 18);
    to[1] = (char)(0x80 | (cp >> 12 & 0x3f));
    to[2] = (char)(0x80 | (cp >> 6 & 0x3f));
    to[3] = (char)(0x80 | (cp & 0x3f));
    return 4;
}

bool fm_utf8_valid(const char *s, size_t n)
{
    uint32_t cp;

    for (size_t i = 0; i < n;) {
        unsigned len = fm_utf8_next(s + i, n - i, &cp);
        if (len == 0)
            return false;
        i += len;
    }
    return true;
}

size_t fm_utf8_count(const char *s, size_t n)
{
    size_t count = 0;
    uint32_t cp;

    for (size_t i = 0; i < n; count++) {
        unsigned len = fm_utf8_next(s + i, n - i, &cp);
        i += len > 0 ? len : 1;
    }
    return count;
}

struct span {
    uint32_t from, to;
};

static bool in_spans(uint32_t cp, const struct span *span, size_t spans)
{
    for (size_t i = 0; i < spans; i++)
        if (cp >= span[i].from && cp <= span[i].to)
            return true;
    return false;
}

size_t fm_utf8_width(const char *s, size_t n)
{
    static const struct span zero[] = {
        {0x0300, 0x036f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
    static const struct span wide[] = {
        {0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0x33ff}, {0x3400, 0x4dbf}, {0x4e00, 0x9fff},
        {0xa000, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60},
        {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
    size_t width = 0;

    for (size_t i = 0; i < n;) {
        uint32_t cp = 0;
        unsigned len = fm_utf8_next(s + i, n - i, &cp);

        i += len > 0 ? len : 1;
        if (cp < 0x300)
            width++;
        else if (in_spans(cp, wide, FM_COUNT(wide)))
            width += 2;
        else if (!in_spans(cp, zero, FM_COUNT(zero)))
            width++;
    }
    return width;
}

/* -------------------------------------------------------------- nearest name */

#define WORD_MAX 63

unsigned fm_text_distance(const char *a, const char *b, unsigned limit)
{
    size_t n = strlen(a), m = strlen(b);
    unsigned before[WORD_MAX + 1], last[WORD_MAX + 1], row[WORD_MAX + 1];

    if (n > WORD_MAX || m > WORD_MAX || (n > m ? n - m : m - n) > limit)
        return limit + 1;
    for (size_t j = 0; j <= m; j++) {
        before[j] = 0;
        last[j] = (unsigned)j;
    }
    for (size_t i = 1; i <= n; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned d = last[j - 1] + (a[i - 1] != b[j - 1]);
            d = FM_MIN(d, last[j] + 1);
            d = FM_MIN(d, row[j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d = FM_MIN(d, before[j - 2] + 1);
            row[j] = d;
        }
        memcpy(before, last, sizeof last);
        memcpy(last, row, sizeof row);
    }
    return FM_MIN(last[m], limit + 1);
}

const char *fm_text_nearest(const char *word, const char *const *name, size_t n)
{
    const char *best = NULL;
    unsigned best_distance = 3;

    for (size_t i = 0; i < n; i++) {
        unsigned d = fm_text_distance(word, name[i], 2);
        /* a word of two letters is not "near" every other one */
        if (d < best_distance && d < strlen(word)) {
            best = name[i];
            best_distance = d;
        }
    }
    return best;
}

/* -------------------------------------------------------------- human forms */

struct scale {
    double from;
    double divide;
    const char *unit;
};

static const char *human(double v, const struct scale *scale, size_t scales, char buf[32])
{
    double size = v < 0 ? -v : v;
    size_t i = 0;
    int tenths;

    while (i + 1 < scales && size < scale[i].from)
        i++;
    size /= scale[i].divide;
    /* one decimal below 100, by integers: no locale */
    if (scale[i].divide != 1 && size < 100) {
        tenths = (int)(size * 10 + 0.5);
        snprintf(buf, 32, "%s%d.%d%s%s", v < 0 ? "-" : "", tenths / 10, tenths % 10,
                 scale[i].unit[0] != '\0' ? " " : "", scale[i].unit);
    } else {
        snprintf(buf, 32, "%s%llu%s%s", v < 0 ? "-" : "", (unsigned long long)(size + 0.5),
                 scale[i].unit[0] != '\0' ? " " : "", scale[i].unit);
    }
    return buf;
}

const char *fm_text_ns(int64_t ns, char buf[32])
{
    static const struct scale s[] = {
        {1e9, 1e9, "s"}, {1e6, 1e6, "ms"}, {1e3, 1e3, "us"}, {0, 1, "ns"}};
    return human((double)ns, s, FM_COUNT(s), buf);
}

const char *fm_text_bytes(uint64_t bytes, char buf[32])
{
    static const struct scale s[] = {{1099511627776.0, 1099511627776.0, "TiB"},
                                     {1073741824.0, 1073741824.0, "GiB"},
                                     {1048576.0, 1048576.0, "MiB"},
                                     {1024.0, 1024.0, "KiB"},
                                     {0, 1, "B"}};
    return human((double)bytes, s, FM_COUNT(s), buf);
}

const char *fm_text_count(double v, char buf[32])
{
    static const struct scale s[] = {
        {1e12, 1e12, "T"}, {1e9, 1e9, "G"}, {1e6, 1e6, "M"}, {1e4, 1e3, "k"}, {0, 1, ""}};
    return human(v, s, FM_COUNT(s), buf);
}

const char *fm_text_commas(uint64_t v, char buf[32])
{
    char digit[32];
    size_t n = sizeof digit, places = 0;

    digit[--n] = '\0';
    do {
        if (places > 0 && places % 3 == 0)
            digit[--n] = ',';
        digit[--n] = (char)('0' + v % 10);
        v /= 10;
        places++;
    } while (v != 0);
    memcpy(buf, digit + n, sizeof digit - n);
    return buf;
}
