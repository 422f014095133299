/*
 * value.c - varints and strings; see value.h.
 *
 * Skipping n varints looks at 8 bytes at once: bytes without the high bit end a varint. After each
 * look the cursor stands behind the last ending, that is on the first byte of a varint; 8 bytes
 * without an ending are then the head of a nine-byte one, whose last byte says nothing by its high
 * bit.
 */
#include "import/jfr/value.h"

#include "util/text.h"

uint64_t fm_jfr_varint_slow(struct fm_cursor *c)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < 8; i++) {
        uint64_t b = fm_cursor_u8(c);
        v |= (b & 0x7f) << (7 * i);
        if (b < 0x80)
            return v;
    }
    return v | (uint64_t)fm_cursor_u8(c) << 56;
}

uint64_t fm_jfr_wide(struct fm_cursor *c, unsigned width)
{
    return width == 2 ? fm_cursor_u16(c) : width == 4 ? fm_cursor_u32(c) : fm_cursor_u64(c);
}

void fm_jfr_skip_varints(struct fm_cursor *c, uint64_t n)
{
    if (n > fm_cursor_left(c)) {    /* a varint has at least one byte */
        fm_cursor_skip(c, n);
        return;
    }
    while (n > 0 && c->end - c->p >= 9) {
        uint64_t ends = ~fm_jfr_load_le(c->p) & FM_JFR_HIGH;
        unsigned found = (unsigned)((ends >> 7) * 0x0101010101010101u >> 56);
        if (FM_UNLIKELY(found == 0)) {
            c->p += 9;
            n--;
            continue;
        }
        if (found > n) {
            for (uint64_t k = 1; k < n; k++)
                ends &= ends - 1;
            c->p += __builtin_ctzll(ends) / 8 + 1;
            return;
        }
        c->p += 8 - __builtin_clzll(ends) / 8;
        n -= found;
    }
    for (; n > 0 && fm_cursor_ok(c); n--)
        (void)fm_jfr_varint_slow(c);
}

/* ----------------------------------------------------------------------- texts */

void fm_jfr_buf_release(struct fm_jfr_buf *buf)
{
    fm_mem_free(buf->mem, buf->p, buf->cap);
    buf->p = NULL;
    buf->cap = buf->n = 0;
}

static char *room(struct fm_jfr_buf *buf, size_t n)
{
    size_t need;
    if (!fm_add_size(buf->n, n, &need) ||
        (need > buf->cap && !fm_grow(buf->mem, (void **)&buf->p, &buf->cap, need, 1))) {
        buf->oom = true;
        return NULL;
    }
    return buf->p + buf->n;
}

bool fm_jfr_buf_add(struct fm_jfr_buf *buf, const char *s, size_t n)
{
    char *to = n > 0 ? room(buf, n) : NULL;
    if (to == NULL)
        return n == 0;
    memcpy(to, s, n);
    buf->n += n;
    return true;
}

static bool is_high(uint32_t unit)
{
    return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(uint32_t unit)
{
    return unit >= 0xdc00 && unit < 0xe000;
}

static uint32_t join(uint32_t high, uint32_t low)
{
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* The surrogate that three bytes are, else 0. */
static uint32_t surrogate(const unsigned char *p, size_t n)
{
    if (n < 3 || p[0] != 0xed || p[1] < 0xa0 || p[1] > 0xbf || (p[2] & 0xc0) != 0x80)
        return 0;
    return 0xd000u | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
}

bool fm_jfr_utf8(struct fm_jfr_buf *buf, const char **s, size_t *n)
{
    const unsigned char *p = (const unsigned char *)*s;
    size_t size = *n, i = 0, at = 0;
    char *to;
    if (size == 0 || (memchr(p, 0xed, size) == NULL && memchr(p, 0xc0, size) == NULL))
        return true;
    buf->n = 0;
    to = room(buf, size);
    if (to == NULL)
        return false;
    while (i < size) {
        uint32_t high = surrogate(p + i, size - i);
        uint32_t low = is_high(high) ? surrogate(p + i + 3, size - i - 3) : 0;
        if (is_low(low)) {
            at += fm_utf8_put(to + at, join(high, low));
            i += 6;
        } else if (p[i] == 0xc0 && i + 1 < size && p[i + 1] == 0x80) {
            to[at++] = '\0';
            i += 2;
        } else {
            to[at++] = (char)p[i++];
        }
    }
    buf->n = at;
    *s = to;
    *n = at;
    return true;
}

static bool is_ascii(const unsigned char *p, size_t n)
{
    uint64_t all = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        all |= fm_load_u64(p + i);
    for (; i < n; i++)
        all |= p[i];
    return (all & FM_JFR_HIGH) == 0;
}

static void bad(struct fm_cursor *c, struct fm_jfr_text *text)
{
    c->bad = true;
    text->kind = FM_JFR_TEXT_BAD;
}

/* n UTF-16 units. Units below 0x80 are one byte each and the text itself. */
static void read_units(struct fm_cursor *c, struct fm_jfr_buf *buf, struct fm_jfr_text *text,
                       uint64_t n)
{
    uint32_t high = 0;
    size_t at = 0, bytes;
    char *to;
    if (!c->wide && is_ascii(c->p, (size_t)n)) {
        text->s = (const char *)fm_cursor_bytes(c, (size_t)n);
        text->n = (size_t)n;
        return;
    }
    if (!fm_mul_size((size_t)n, 3, &bytes) || (to = room(buf, bytes)) == NULL) {
        bad(c, text);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint32_t unit = (uint32_t)fm_jfr_int(c, 2) & 0xffff;
        if (is_high(high) && is_low(unit)) {
            at -= 3;
            unit = join(high, unit);
        }
        at += fm_utf8_put(to + at, unit);
        high = unit;
    }
    buf->n = at;
    text->s = to;
    text->n = at;
    if (!fm_cursor_ok(c))
        text->kind = FM_JFR_TEXT_BAD;
}

static void read_latin1(struct fm_cursor *c, struct fm_jfr_buf *buf, struct fm_jfr_text *text,
                        size_t n)
{
    const unsigned char *p = fm_cursor_bytes(c, n);
    size_t at = 0, bytes;
    char *to;
    text->s = (const char *)p;
    text->n = n;
    if (is_ascii(p, n))
        return;
    if (!fm_mul_size(n, 2, &bytes) || (to = room(buf, bytes)) == NULL) {
        bad(c, text);
        return;
    }
    for (size_t i = 0; i < n; i++)
        at += fm_utf8_put(to + at, p[i]);
    buf->n = at;
    text->s = to;
    text->n = at;
}

void fm_jfr_text_read(struct fm_cursor *c, struct fm_jfr_buf *buf, struct fm_jfr_text *text)
{
    uint64_t n;
    buf->n = 0;
    text->encoding = fm_cursor_u8(c);
    text->kind = FM_JFR_TEXT_HERE;
    text->s = "";
    text->n = 0;
    if (text->encoding == 1)
        return;
    if (text->encoding == 0) {
        text->kind = fm_cursor_ok(c) ? FM_JFR_TEXT_NULL : FM_JFR_TEXT_BAD;
        return;
    }
    if (text->encoding > 5) {
        bad(c, text);
        return;
    }
    n = fm_jfr_int(c, text->encoding == 2 ? 8 : 4);
    if (text->encoding == 2) {
        text->kind = fm_cursor_ok(c) ? FM_JFR_TEXT_KEY : FM_JFR_TEXT_BAD;
        text->key = n;
        return;
    }
    if (!fm_cursor_ok(c) || n > fm_cursor_left(c)) {
        bad(c, text);
        return;
    }
    if (text->encoding == 4) {
        read_units(c, buf, text, n);
    } else if (text->encoding == 5) {
        read_latin1(c, buf, text, (size_t)n);
    } else {
        text->s = (const char *)fm_cursor_bytes(c, (size_t)n);
        text->n = (size_t)n;
        if (!fm_jfr_utf8(buf, &text->s, &text->n))
            bad(c, text);
    }
}

bool fm_jfr_text_skip(struct fm_cursor *c)
{
    unsigned encoding = fm_cursor_u8(c);
    if (encoding <= 1)
        return true;
    if (encoding > 5) {
        c->bad = true;
        return false;
    }
    uint64_t n = fm_jfr_int(c, encoding == 2 ? 8 : 4);
    if (encoding == 4 && c->wide)
        fm_cursor_skip(c, fm_mul_sat_u64(n, 2));
    else if (encoding == 4)
        fm_jfr_skip_varints(c, n);
    else if (encoding != 2)
        fm_cursor_skip(c, n);
    return true;
}
