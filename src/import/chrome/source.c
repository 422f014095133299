/*
 * source.c - the bytes of a document: byte order marks, UTF-16.
 *
 *     ef bb bf   UTF-8          passed over
 *     ff fe      UTF-16, small end first      } what a Windows shell writes with ">": made UTF-8 in
 *     fe ff      UTF-16, big end first        } a buffer; offsets are those of the UTF-8 text
 *
 * The buffer belongs to struct fm_chrome. What stands before damage of a compressed stream is
 * shown; the damage is told at the end.
 */
#include "import/chrome/chrome.h"

#define PIECE 65536u

static bool peek(struct fm_chrome *c, size_t need, const unsigned char **data, size_t *n)
{
    enum fm_status status = fm_reader_peek(c->reader, need, data, n, c->err);
    if (status != FM_OK)
        c->read = status;
    return status == FM_OK || status == FM_TRUNCATED || status == FM_FORMAT || status == FM_LIMIT;
}

/* ------------------------------------------------------------------ UTF-16 */

static unsigned unit(const struct fm_chrome *c, const unsigned char *p)
{
    return c->utf16_big ? (unsigned)p[0] << 8 | p[1] : (unsigned)p[1] << 8 | p[0];
}

/* Appends at most 4 bytes; lone surrogates become U+FFFD. */
static size_t put(unsigned char *to, uint32_t cp)
{
    if (cp < 0x80) {
        to[0] = (unsigned char)cp;
        return 1;
    }
    if (cp < 0x800) {
        to[0] = (unsigned char)(0xc0 | cp >> 6);
        to[1] = (unsigned char)(0x80 | (cp & 0x3f));
        return 2;
    }
    if (cp < 0x10000) {
        to[0] = (unsigned char)(0xe0 | cp >> 12);
        to[1] = (unsigned char)(0x80 | (cp >> 6 & 0x3f));
        to[2] = (unsigned char)(0x80 | (cp & 0x3f));
        return 3;
    }
    to[0] = (unsigned char)(0xf0 | cp >> 18);
    to[1] = (unsigned char)(0x80 | (cp >> 12 & 0x3f));
    to[2] = (unsigned char)(0x80 | (cp >> 6 & 0x3f));
    to[3] = (unsigned char)(0x80 | (cp & 0x3f));
    return 4;
}

/* Takes the next piece of the input to the end of the buffer. *end: there was none. */
static bool add_piece(struct fm_chrome *c, bool *end)
{
    const unsigned char *data;
    size_t n, i = 0;
    *end = false;
    if (!peek(c, PIECE, &data, &n))
        return false;
    if (n < 2) {
        *end = true;
        return true;
    }
    n = FM_MIN(n, PIECE);
    /* Two bytes become three at most, four become four. */
    if (!fm_grow(c->mem, (void **)&c->utf8, &c->utf8_cap, c->utf8_n + n / 2 * 3, 1)) {
        c->oom = true;
        return false;
    }
    while (n - i >= 2) {
        uint32_t cp = unit(c, data + i);
        if (cp >= 0xd800 && cp < 0xdc00) {
            if (n - i < 4 && i > 0)
                break;                 /* its other half stands in the next piece */
            uint32_t low = n - i >= 4 ? unit(c, data + i + 2) : 0;
            bool pair = low >= 0xdc00 && low < 0xe000;
            cp = pair ? 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
            i += pair ? 2 : 0;
        } else if (cp >= 0xdc00 && cp < 0xe000) {
            cp = 0xfffd;
        }
        i += 2;
        c->utf8_n += put(c->utf8 + c->utf8_n, cp);
    }
    fm_reader_consume(c->reader, i);
    return true;
}

static bool more_utf16(struct fm_chrome *c, size_t used, size_t need, const unsigned char **data,
                       size_t *n)
{
    bool end = false;
    memmove(c->utf8, c->utf8 + used, c->utf8_n - used);
    c->utf8_n -= used;
    while (c->utf8_n < need && !end)
        if (!add_piece(c, &end))
            return false;
    *data = c->utf8;
    *n = c->utf8_n;
    return true;
}

/* ------------------------------------------------------------------ the source */

bool fm_chrome_more(void *user, size_t used, size_t need, const unsigned char **data, size_t *n)
{
    struct fm_chrome *c = user;
    if (c->utf16)
        return more_utf16(c, used, need, data, n);
    fm_reader_consume(c->reader, used);
    return peek(c, need, data, n);
}

bool fm_chrome_source_start(struct fm_chrome *c)
{
    const unsigned char *data;
    size_t n;
    if (!peek(c, 4, &data, &n))
        return false;
    if (n >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
        c->skipped = 3;
    } else if (n >= 2 && (memcmp(data, "\xff\xfe", 2) == 0 || memcmp(data, "\xfe\xff", 2) == 0)) {
        c->utf16 = true;
        c->utf16_big = data[0] == 0xfe;
        c->skipped = 2;
    }
    fm_reader_consume(c->reader, (size_t)c->skipped);
    return !c->utf16 || fm_grow(c->mem, (void **)&c->utf8, &c->utf8_cap, 1, 1);
}
