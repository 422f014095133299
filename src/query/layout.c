/*
 * layout.c - texts in the columns of a terminal.
 *
 * Names come from files that anybody may have written: an escape sequence in one would reach the
 * terminal, a line feed would break the table, and a mark of direction would turn the figures
 * around. Widths are those of fm_utf8_width(): two columns for wide characters, none for combining
 * ones.
 */
#include "query/layout.h"

#include "util/text.h"

/* Marks that change the direction of what follows. */
static bool turns(uint32_t cp)
{
    return cp == 0x061c || cp == 0x200e || cp == 0x200f || (cp >= 0x202a && cp <= 0x202e)
           || (cp >= 0x2066 && cp <= 0x2069);
}

void fm_layout_clean(struct fm_out *out, const char *s, size_t n)
{
    size_t from = 0, i = 0;

    while (i < n) {
        uint32_t cp = 0;
        unsigned len = fm_utf8_next(s + i, n - i, &cp);

        if (len > 0 && cp >= 0x20 && !(cp >= 0x7f && cp < 0xa0) && cp != 0x2028 && cp != 0x2029
            && !turns(cp)) {
            i += len;
            continue;
        }
        fm_out_bytes(out, s + from, i - from);
        if (len == 0)
            fm_out_text(out, "\xef\xbf\xbd");
        else
            fm_out_printf(out, cp < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)cp);
        i += len > 0 ? len : 1;
        from = i;
    }
    fm_out_bytes(out, s + from, n - from);
}

/* Bytes of the characters at s, from its beginning, that take at most `width` columns. */
static size_t fitting(const char *s, size_t n, size_t width)
{
    size_t i = 0, used = 0;

    while (i < n) {
        uint32_t cp;
        unsigned len = fm_utf8_next(s + i, n - i, &cp);
        size_t w;

        len = FM_MAX(len, 1u);
        w = fm_utf8_width(s + i, len);
        if (used + w > width)
            break;
        used += w;
        i += len;
    }
    return i;
}

void fm_layout_shorten(struct fm_out *out, const char *s, size_t n, size_t width, unsigned head)
{
    size_t all = fm_utf8_width(s, n), first, skip;

    if (all <= width) {
        fm_out_bytes(out, s, n);
        return;
    }
    if (width == 0)
        return;
    first = fitting(s, n, (width - 1) * head / 3);
    skip = all - (width - 1 - fm_utf8_width(s, first));
    fm_out_bytes(out, s, first);
    fm_out_text(out, "\xe2\x80\xa6");
    /* The end begins behind `skip` columns, and behind the marks that belong to what they hold. */
    first = fitting(s, n, skip);
    if (fm_utf8_width(s, first) < skip && first < n) {
        uint32_t cp;
        unsigned len = fm_utf8_next(s + first, n - first, &cp);

        first += FM_MAX(len, 1u);
        first += fitting(s + first, n - first, 0);
    }
    fm_out_bytes(out, s + first, n - first);
}

static size_t capped(const size_t *width, const size_t *least, size_t n, size_t cap)
{
    size_t sum = 0;

    for (size_t c = 0; c < n; c++)
        sum += FM_MIN(width[c], FM_MAX(cap, least[c]));
    return sum;
}

void fm_layout_fit(size_t *width, const size_t *least, size_t n, size_t gap, size_t max)
{
    size_t cap = 0, gaps = n > 0 ? (n - 1) * gap : 0;

    max = max > gaps ? max - gaps : 0;
    for (size_t c = 0; c < n; c++)
        cap = FM_MAX(cap, width[c]);
    while (cap > 0 && capped(width, least, n, cap) > max)
        cap--;
    for (size_t c = 0; c < n; c++)
        width[c] = FM_MIN(width[c], FM_MAX(cap, least[c]));
}
