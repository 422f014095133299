/*
 * out.c - the buffered writer: sticky errors, numbers without locale, JSON/XML/CSV escaping.
 *
 * With a sink the buffer is 64 KiB and goes out when full; without one it grows and is the result.
 */
#include "util/out.h"

#include "util/error.h"
#include "util/text.h"

#include <stdio.h>

#define SINK_BUFFER (64u * 1024)
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

enum fm_status fm_out_init(struct fm_out *out, struct fm_mem *mem, const struct fm_sink *sink)
{
    memset(out, 0, sizeof *out);
    out->mem = mem;
    out->sink = sink;
    out->cap = SINK_BUFFER;
    out->buf = fm_mem_alloc(mem, out->cap);
    if (out->buf == NULL) {
        out->cap = 0;
        out->status = FM_NOMEM;
    }
    return out->status;
}

void fm_out_release(struct fm_out *out)
{
    fm_mem_free(out->mem, out->buf, out->cap);
    out->buf = NULL;
    out->cap = out->n = 0;
}

static void send(struct fm_out *out, const char *data, size_t n)
{
    int e = out->sink->write(out->sink->user, data, n);

    if (e != 0) {
        out->status = FM_IO;
        out->sys_errno = e;
        return;
    }
    out->written += n;
}

static void flush(struct fm_out *out)
{
    if (out->status == FM_OK && out->sink != NULL && out->n > 0)
        send(out, out->buf, out->n);
    if (out->sink != NULL)
        out->n = 0;
}

enum fm_status fm_out_finish(struct fm_out *out, struct fm_error *err)
{
    flush(out);
    if (out->status == FM_NOMEM)
        return fm_error_nomem(err);
    if (out->status != FM_OK)
        return fm_error_sys(err, out->sys_errno, "output", "cannot write");
    return FM_OK;
}

/* Room for n more bytes in the buffer; false when they must be sent on their own (sink) or there
 * is no memory. */
static bool room(struct fm_out *out, size_t n)
{
    size_t need;

    if (out->status != FM_OK)
        return false;
    if (n <= out->cap - out->n)
        return true;
    if (out->sink != NULL) {
        flush(out);
        return out->status == FM_OK && n <= out->cap;
    }
    if (!fm_add_size(out->n, n, &need) ||
        !fm_grow(out->mem, (void **)&out->buf, &out->cap, need, 1)) {
        out->status = FM_NOMEM;
        return false;
    }
    return true;
}

void fm_out_bytes(struct fm_out *out, const void *data, size_t n)
{
    if (n == 0)
        return;
    if (room(out, n)) {
        memcpy(out->buf + out->n, data, n);
        out->n += n;
    } else if (out->status == FM_OK) {
        send(out, data, n);
    }
}

void fm_out_text(struct fm_out *out, const char *s)
{
    fm_out_bytes(out, s, strlen(s));
}

void fm_out_char(struct fm_out *out, char c)
{
    if (FM_LIKELY(out->n < out->cap && out->status == FM_OK))
        out->buf[out->n++] = c;
    else
        fm_out_bytes(out, &c, 1);
}

void fm_out_pad(struct fm_out *out, char c, size_t n)
{
    while (n-- > 0)
        fm_out_char(out, c);
}

void fm_out_printf(struct fm_out *out, const char *fmt, ...)
{
    char small[512];
    va_list ap;
    int n;
    char *big;

    va_start(ap, fmt);
    n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    if ((size_t)n < sizeof small) {
        fm_out_bytes(out, small, (size_t)n);
        return;
    }
    big = fm_mem_alloc(out->mem, (size_t)n + 1);
    if (big == NULL) {
        if (out->status == FM_OK)
            out->status = FM_NOMEM;
        return;
    }
    va_start(ap, fmt);
    vsnprintf(big, (size_t)n + 1, fmt, ap);
    va_end(ap);
    fm_out_bytes(out, big, (size_t)n);
    fm_mem_free(out->mem, big, (size_t)n + 1);
}

/* ----------------------------------------------------------------- numbers */

void fm_out_u128(struct fm_out *out, fm_u128 v)
{
    char digit[40];
    size_t n = sizeof digit;

    do {
        digit[--n] = (char)('0' + (unsigned)(v % 10));
        v /= 10;
    } while (v != 0);
    fm_out_bytes(out, digit + n, sizeof digit - n);
}

void fm_out_u64(struct fm_out *out, uint64_t v)
{
    char digit[20];
    size_t n = sizeof digit;

    do {
        digit[--n] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    fm_out_bytes(out, digit + n, sizeof digit - n);
}

void fm_out_i64(struct fm_out *out, int64_t v)
{
    if (v < 0)
        fm_out_char(out, '-');
    fm_out_u64(out, v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v);
}

void fm_out_hex(struct fm_out *out, uint64_t v)
{
    char digit[16];
    size_t n = sizeof digit;

    do {
        digit[--n] = "0123456789abcdef"[v & 15];
        v >>= 4;
    } while (v != 0);
    fm_out_bytes(out, digit + n, sizeof digit - n);
}

/* Takes "d.ddde±x" apart: digits without trailing zeros, and the exponent of the first one. The
 * decimal point may be a foreign one. */
static size_t take_digits(const char *text, char digit[20], int *exponent)
{
    size_t n = 0;
    int e = 0, sign = 1;

    for (; *text != 'e' && *text != '\0'; text++)
        if (*text >= '0' && *text <= '9' && n < 20)
            digit[n++] = *text;
    for (; *text != '\0'; text++) {
        if (*text == '-')
            sign = -1;
        else if (*text >= '0' && *text <= '9')
            e = e * 10 + (*text - '0');
    }
    while (n > 1 && digit[n - 1] == '0')
        n--;
    *exponent = sign * e;
    return n;
}

/* The fewest digits (15 to 17) that read back as v. */
static size_t shortest(double v, char digit[20], int *exponent)
{
    char text[64];
    size_t n = 0;

    for (int precision = 14; precision <= 16; precision++) {
        double back = 0;
        int length;

        snprintf(text, sizeof text, "%.*e", precision, v);
        n = take_digits(text, digit, exponent);
        length = snprintf(text, sizeof text, "%.*se%d", (int)n, digit,
                          *exponent - (int)n + 1);
        if (fm_text_f64(text, (size_t)length, &back) && back == v)
            break;
    }
    return n;
}

void fm_out_f64(struct fm_out *out, double v)
{
    char digit[20];
    size_t n;
    int e;

    if (v != v || v - v != 0) {
        fm_out_text(out, "null");
        return;
    }
    if (v < 0 || (v == 0 && fm_f64_bits(v) != 0)) {
        if (v != 0)
            fm_out_char(out, '-');
        v = -v;
    }
    n = shortest(v, digit, &e);
    if (e < -5 || e > 16) { /* d.ddde±x */
        fm_out_char(out, digit[0]);
        if (n > 1)
            fm_out_char(out, '.');
        fm_out_bytes(out, digit + 1, n - 1);
        fm_out_char(out, 'e');
        fm_out_char(out, e < 0 ? '-' : '+');
        fm_out_u64(out, (uint64_t)(e < 0 ? -e : e));
    } else if (e < 0) { /* 0.000ddd */
        fm_out_text(out, "0.");
        fm_out_pad(out, '0', (size_t)(-e - 1));
        fm_out_bytes(out, digit, n);
    } else if ((size_t)e + 1 >= n) { /* ddd000 */
        fm_out_bytes(out, digit, n);
        fm_out_pad(out, '0', (size_t)e + 1 - n);
    } else { /* dd.ddd */
        fm_out_bytes(out, digit, (size_t)e + 1);
        fm_out_char(out, '.');
        fm_out_bytes(out, digit + e + 1, n - (size_t)e - 1);
    }
}

void fm_out_fixed(struct fm_out *out, double v, unsigned digits)
{
    char text[400];
    int n;

    if (v != v || v - v != 0) {
        fm_out_text(out, "null");
        return;
    }
    n = snprintf(text, sizeof text, "%.*f", (int)FM_MIN(digits, 20u), v);
    for (int i = 0; i < n; i++) { /* whatever stands for the decimal point becomes one '.' */
        bool plain = (text[i] >= '0' && text[i] <= '9') || text[i] == '-';
        if (plain)
            fm_out_char(out, text[i]);
        else if (i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9')
            fm_out_char(out, '.');
    }
}

/* ---------------------------------------------------------------- escaping */

void fm_out_json(struct fm_out *out, const char *s, size_t n)
{
    size_t from = 0, i = 0;

    fm_out_char(out, '"');
    while (i < n) {
        unsigned char c = (unsigned char)s[i];
        uint32_t cp;
        unsigned len = 1;

        if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
            i++;
            continue;
        }
        if (c >= 0x80 && (len = fm_utf8_next(s + i, n - i, &cp)) > 0 && cp != 0x2028 &&
            cp != 0x2029) {
            i += len;
            continue;
        }
        fm_out_bytes(out, s + from, i - from);
        if (c == '"' || c == '\\') {
            fm_out_char(out, '\\');
            fm_out_char(out, (char)c);
        } else if (c == '\n') {
            fm_out_text(out, "\\n");
        } else if (c == '\t') {
            fm_out_text(out, "\\t");
        } else if (c < 0x20 || c == 0x7f) {
            fm_out_printf(out, "\\u%04x", c);
        } else if (len > 0) {
            fm_out_printf(out, "\\u%04x", (unsigned)cp);
        } else {
            fm_out_text(out, REPLACEMENT);
            len = 1;
        }
        i += len;
        from = i;
    }
    fm_out_bytes(out, s + from, n - from);
    fm_out_char(out, '"');
}

static const char *xml_entity(unsigned char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void fm_out_xml(struct fm_out *out, const char *s, size_t n)
{
    size_t from = 0, i = 0;

    while (i < n) {
        unsigned char c = (unsigned char)s[i];
        uint32_t cp;
        unsigned len = 1;
        const char *text = xml_entity(c);

        if (text == NULL && c < 0x20)
            text = c == '\t' || c == '\n' || c == '\r' ? " " : REPLACEMENT;
        else if (c >= 0x80) {
            len = fm_utf8_next(s + i, n - i, &cp);
            if (len == 0 || cp == 0xfffe || cp == 0xffff)
                text = REPLACEMENT;
            len = FM_MAX(len, 1u);
        }
        if (text != NULL) {
            fm_out_bytes(out, s + from, i - from);
            fm_out_text(out, text);
            from = i + len;
        }
        i += len;
    }
    fm_out_bytes(out, s + from, n - from);
}

void fm_out_csv(struct fm_out *out, const char *s, size_t n)
{
    bool quote = n > 0 && (s[0] == ' ' || s[n - 1] == ' ');

    for (size_t i = 0; i < n && !quote; i++)
        quote = s[i] == '"' || s[i] == ',' || s[i] == '\n' || s[i] == '\r';
    if (!quote) {
        fm_out_bytes(out, s, n);
        return;
    }
    fm_out_char(out, '"');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"')
            fm_out_char(out, '"');
        fm_out_char(out, s[i]);
    }
    fm_out_char(out, '"');
}

void fm_out_tsv(struct fm_out *out, const char *s, size_t n)
{
    static const char from[] = "\t\n\r\\", to[] = "tnr\\";

    for (size_t i = 0; i < n; i++) {
        const char *hit = s[i] != '\0' ? strchr(from, s[i]) : NULL;

        if (hit != NULL)
            fm_out_char(out, '\\');
        fm_out_char(out, hit != NULL ? to[hit - from] : s[i]);
    }
}
