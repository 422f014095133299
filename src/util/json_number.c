/*
 * json_number.c - JSON values: escapes of strings, decimals read exactly.
 */
#include "util/json.h"

#include "util/text.h"

/* ------------------------------------------------------------------ strings */

static bool hex4(const char *s, size_t n, uint32_t *out)
{
    uint64_t v;
    if (n < 6 || s[0] != '\\' || s[1] != 'u' || s[3] == 'x' || s[3] == 'X' ||
        !fm_text_hex(s + 2, 4, &v))
        return false;
    *out = (uint32_t)v;
    return true;
}

/* \uXXXX at s, with the second half of a pair; *used = source bytes. */
static size_t unicode(const char *s, size_t n, char *to, size_t *used)
{
    uint32_t cp, low;
    if (!hex4(s, n, &cp)) {
        *used = 2;
        to[0] = s[0];
        to[1] = s[1];
        return 2;
    }
    *used = 6;
    if (cp >= 0xd800 && cp < 0xdc00 && hex4(s + 6, n - 6, &low) && low >= 0xdc00 && low < 0xe000) {
        *used = 12;
        cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
    } else if (cp >= 0xd800 && cp < 0xe000) {
        cp = 0xfffd;
    }
    return fm_utf8_put(to, cp);
}

size_t fm_json_unescape(const char *s, size_t n, char *to)
{
    static const char from[] = "\"\\/bfnrt", made[] = "\"\\/\b\f\n\r\t";
    size_t out = 0;
    for (size_t i = 0; i < n;) {
        if (s[i] != '\\' || i + 1 == n) {
            to[out++] = s[i++];
            continue;
        }
        if (s[i + 1] == 'u') {
            size_t used;
            out += unicode(s + i, n - i, to + out, &used);
            i += used;
            continue;
        }
        const char *known = s[i + 1] ? strchr(from, s[i + 1]) : NULL;
        if (known) {
            to[out++] = made[known - from];
        } else {
            to[out++] = s[i];
            to[out++] = s[i + 1];
        }
        i += 2;
    }
    return out;
}

/* ------------------------------------------------------------------ decimals */

/*
 * Nearly all numbers are a few digits, a point and a few more. Those are read 8 digits at a time,
 * as a word of 8 bytes; what is longer or has an exponent goes the slow way, in 128 bits.
 */

/* s[0..n), at most 8 bytes, the first in the low byte; zeros behind. */
static inline uint64_t load(const char *s, size_t n)
{
    uint64_t x = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (FM_LIKELY(n >= 8)) {
        memcpy(&x, s, 8);
        return x;
    }
#endif
    for (size_t i = 0; i < FM_MIN(n, (size_t)8); i++)
        x |= (uint64_t)(unsigned char)s[i] << 8 * i;
    return x;
}

/* The digits at s (at most 8): how many, and their value. */
static inline unsigned eight(const char *s, size_t n, uint64_t *value)
{
    uint64_t x = load(s, n) ^ UINT64_C(0x3030303030303030);
    const uint64_t other = (x | (x + UINT64_C(0x7676767676767676))) & UINT64_C(0x8080808080808080);
    const unsigned count = other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
    if (count == 0) {
        *value = 0;
        return 0;
    }
    x <<= 64 - 8 * count; /* zeros before them */
    x = x * 10 + (x >> 8);
    *value = ((x & UINT64_C(0xff000000ff)) * UINT64_C(0x000f424000000064) +
              (x >> 16 & UINT64_C(0xff000000ff)) * UINT64_C(0x0000271000000001)) >> 32;
    return count;
}

static const uint32_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/* Up to 16 digits. false: there are more. */
static inline bool sixteen(const char **s, const char *end, uint64_t *value, unsigned *count)
{
    uint64_t more;
    *count = eight(*s, (size_t)(end - *s), value);
    *s += *count;
    if (*count < 8)
        return true;
    const unsigned n = eight(*s, (size_t)(end - *s), &more);
    *value = *value * tens[n] + more;
    *count += n;
    *s += n;
    return n < 8 || *s == end || *s[0] < '0' || *s[0] > '9';
}

static inline void trim(const char **s, size_t *n)
{
    while (*n && (unsigned char)(*s)[0] <= ' ') {
        ++*s;
        --*n;
    }
    while (*n && (unsigned char)(*s)[*n - 1] <= ' ')
        --*n;
}

struct digits {
    bool minus;
    unsigned __int128 whole;       /* the first 36 significant digits */
    int64_t exponent;              /* of ten */
};

static bool read_digits(const char *s, size_t n, struct digits *d)
{
    size_t i = 0, seen = 0, kept = 0;
    bool point = false;
    memset(d, 0, sizeof *d);
    if (n && (s[0] == '-' || s[0] == '+'))
        d->minus = s[i++] == '-';
    for (; i < n; i++) {
        if (s[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (s[i] < '0' || s[i] > '9')
            break;
        seen++;
        if (kept < 36) {
            d->whole = d->whole * 10 + (unsigned)(s[i] - '0');
            kept += d->whole != 0;
            d->exponent -= point;
        } else {
            d->exponent += !point; /* too small to change the rounding */
        }
    }
    if (seen == 0)
        return false;
    if (i < n && (s[i] | 0x20) == 'e') {
        int64_t e;
        if (!fm_text_i64(s + i + 1, n - i - 1, &e) || e > 100000 || e < -100000)
            return false;
        d->exponent += e;
        i = n;
    }
    return i == n;
}

/* d times 10^exponent as an integer, at most `limit`; *last is the first digit that was cut off. */
static bool integer(struct digits *d, unsigned __int128 limit, unsigned *last)
{
    *last = 0;
    if (d->whole == 0)
        d->exponent = 0;
    for (; d->exponent > 0; d->exponent--) {
        if (d->whole > limit)
            return false;
        d->whole *= 10;
    }
    for (; d->exponent < 0 && d->whole > 0; d->exponent++) {
        *last = (unsigned)(d->whole % 10);
        d->whole /= 10;
    }
    if (d->exponent < 0)
        *last = 0;
    return d->whole <= limit;
}

static bool scaled_slowly(const char *s, size_t n, int64_t scale, int64_t *out)
{
    struct digits d;
    unsigned last;
    if (!read_digits(s, n, &d))
        return false;
    for (; scale > 1; scale /= 10)
        d.exponent++;
    const unsigned __int128 limit = (unsigned __int128)INT64_MAX + d.minus;
    if (!integer(&d, limit, &last))
        return false;
    /* The last digit dropped decides: a half or more rounds up, away from zero. */
    d.whole += last >= 5;
    if (d.whole > limit)
        return false;
    uint64_t v = (uint64_t)d.whole;
    *out = (int64_t)(d.minus ? ~v + 1 : v);
    return true;
}

/* Sign, up to 16 digits, a point, up to 16 more; false: something else. */
struct plain {
    bool minus;
    unsigned whole_n, part_n;      /* digits */
    uint64_t whole, part;
};

static inline bool read_plain(const char *s, size_t n, struct plain *d)
{
    const char *end = s + n;
    d->minus = false;
    d->part = d->part_n = 0;
    if (n && (*s == '-' || *s == '+'))
        d->minus = *s++ == '-';
    if (!sixteen(&s, end, &d->whole, &d->whole_n))
        return false;
    if (s < end && *s == '.') {
        s++;
        if (!sixteen(&s, end, &d->part, &d->part_n))
            return false;
    }
    return s == end && d->whole_n + d->part_n > 0;
}

bool fm_json_scaled(const char *s, size_t n, int64_t scale, int64_t *out)
{
    struct plain d;
    trim(&s, &n);
    if (FM_UNLIKELY(!read_plain(s, n, &d)))
        return scaled_slowly(s, n, scale, out);
    uint64_t part = 0;
    if (d.part != 0) {
        /* part / 10^part_n times scale, a power of ten too */
        unsigned places = d.part_n;
        int64_t up = scale;
        while (places > 0 && up > 1) {
            places--;
            up /= 10;
        }
        if (up > 1 && __builtin_mul_overflow(d.part, (uint64_t)up, &d.part))
            return scaled_slowly(s, n, scale, out);
        part = d.part;
        unsigned last = 0;
        for (; places > 0; places--) {
            last = (unsigned)(part % 10);
            part /= 10;
        }
        part += last >= 5;
    }
    uint64_t v;
    if (__builtin_mul_overflow(d.whole, (uint64_t)scale, &v) ||
        __builtin_add_overflow(v, part, &v) || v > (uint64_t)INT64_MAX)
        return scaled_slowly(s, n, scale, out);
    *out = d.minus ? -(int64_t)v : (int64_t)v;
    return true;
}

#define PLACES UINT64_C(1000000000)    /* of `rest` */

/* whole nanoseconds and what is below one, in 10^-12 ns, both with the sign. */
static bool set_time(uint64_t ns, uint64_t below, bool minus, struct fm_json_time *out)
{
    if (ns > (uint64_t)INT64_MAX - 1)
        return false;
    out->ns = (int64_t)ns;
    if (minus) {
        out->ns = -out->ns - (below > 0);
        below = below > 0 ? 1000 * PLACES - below : 0;
    }
    out->ps = (uint32_t)(below / PLACES);
    out->rest = (uint32_t)(below % PLACES);
    return true;
}

static bool micros_slowly(const char *s, size_t n, struct fm_json_time *out)
{
    const uint64_t ns = 1000 * PLACES;
    struct digits d;
    unsigned last;
    if (!read_digits(s, n, &d))
        return false;
    d.exponent += 15;
    if (!integer(&d, (unsigned __int128)INT64_MAX * ns, &last))
        return false;
    return set_time((uint64_t)(d.whole / ns), (uint64_t)(d.whole % ns), d.minus, out);
}

/* s[0..n), n from 1 to 8, the first in the low byte, zeros behind: as pieces that overlap. */
static inline uint64_t load_short(const char *s, size_t n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint32_t low, high;
    if (FM_LIKELY(n >= 4)) {
        memcpy(&low, s, 4);
        memcpy(&high, s + n - 4, 4);
        return low | (uint64_t)high << 8 * (n - 4);
    }
    return (uint64_t)(unsigned char)s[0] | (uint64_t)(unsigned char)s[n / 2] << 8 * (n / 2) |
           (uint64_t)(unsigned char)s[n - 1] << 8 * (n - 1);
#else
    return load(s, n);
#endif
}

/* Eight digits without their '0'; false: something else is among them. */
static inline bool eight_digits(uint64_t x, uint64_t *value)
{
    if (FM_UNLIKELY(((x | (x + UINT64_C(0x7676767676767676))) & UINT64_C(0x8080808080808080)) != 0))
        return false;
    x = x * 10 + (x >> 8);
    *value = ((x & UINT64_C(0xff000000ff)) * UINT64_C(0x000f424000000064) +
              (x >> 16 & UINT64_C(0xff000000ff)) * UINT64_C(0x0000271000000001)) >> 32;
    return true;
}

/* Whole digits times 10^-places, as nanoseconds. */
static inline bool set_short(uint64_t digits, unsigned places, struct fm_json_time *out)
{
    uint64_t ns = digits, ps = 0;
    if (FM_LIKELY(places <= 3)) {
        if (__builtin_mul_overflow(digits, (uint64_t)tens[3 - places], &ns))
            return false;
    } else {
        ns = digits / tens[places - 3];
        ps = digits % tens[places - 3] * tens[6 - places];
    }
    if (FM_UNLIKELY(ns > UINT64_C(9200000000000000000)))
        return false;
    out->ns = (int64_t)ns;
    out->ps = (uint32_t)ps;
    out->rest = 0;
    return true;
}

/* The first k (1 to 8) of 8 bytes. */
static inline bool first_digits(const char *s, size_t k, uint64_t *value)
{
    return eight_digits((load(s, 8) ^ UINT64_C(0x3030303030303030)) << (64 - 8 * k), value);
}

/*
 * Digits, a point, up to 6 more and nothing else, up to 20 bytes: the most common by far.
 *
 *     1732107143473442.569
 *     |lead      ||tail  |      the last 8 bytes, where the point must be, and is closed up
 *
 * false: something else.
 */
static inline bool micros_short(const char *s, size_t n, struct fm_json_time *out)
{
    const uint64_t zeros = UINT64_C(0x3030303030303030), points = UINT64_C(0x1e1e1e1e1e1e1e1e);
    uint64_t lead = 0, more, tail, value;
    if (n - 1 > 19 || (unsigned char)(s[0] - '0') > 9)
        return false;
    if (n <= 8) {
        tail = (load_short(s, n) ^ zeros) << (64 - 8 * n);
    } else {
        if (!first_digits(s, FM_MIN(n - 8, (size_t)8), &lead))
            return false;
        if (n > 16) {
            if (!first_digits(s + 8, n - 16, &more))
                return false;
            lead = lead * tens[n - 16] + more;
        }
        tail = load(s + n - 8, 8) ^ zeros;
    }
    const uint64_t apart = tail ^ points;
    const uint64_t point = (apart - UINT64_C(0x0101010101010101)) & ~apart &
                           UINT64_C(0x8080808080808080);
    if (point == 0)
        return n <= 16 && eight_digits(tail, &value) && set_short(lead * tens[8] + value, 0, out);
    const unsigned at = (unsigned)__builtin_ctzll(point) / 8, places = 7 - at;
    if (places == 0 || places > 6)
        return false;
    const uint64_t behind = ~UINT64_C(0) << 8 * at; /* and the point itself */
    return eight_digits(((tail & behind) ^ UINT64_C(0x1e) << 8 * at) | (tail & ~behind) << 8,
                        &value) &&
           set_short(lead * tens[7] + value, places, out);
}

static __attribute__((noinline)) bool micros_any(const char *s, size_t n, struct fm_json_time *out)
{
    struct plain d;
    uint64_t ns;
    trim(&s, &n);
    if (FM_UNLIKELY(!read_plain(s, n, &d)))
        return micros_slowly(s, n, out);
    if (d.part_n > 15)
        d.part /= 10;
    for (; d.part_n < 15; d.part_n += FM_MIN(15 - d.part_n, 8u))
        d.part *= tens[FM_MIN(15 - d.part_n, 8u)];
    if (__builtin_mul_overflow(d.whole, (uint64_t)1000, &ns) ||
        __builtin_add_overflow(ns, d.part / (1000 * PLACES), &ns))
        return false;
    return set_time(ns, d.part % (1000 * PLACES), d.minus, out);
}

bool fm_json_micros(const char *s, size_t n, struct fm_json_time *out)
{
    return FM_LIKELY(micros_short(s, n, out)) || micros_any(s, n, out);
}
