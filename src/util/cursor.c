/*
 * cursor.c - the parts of the cursor that are not worth inlining: LEB128, text, sub-cursors.
 */
#include "util/cursor.h"

uint64_t fm_cursor_uleb(struct fm_cursor *c)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t b = fm_cursor_u8(c);
        uint64_t bits = b & 0x7f;

        if (c->bad || (shift == 63 && bits > 1))
            break;
        v |= bits << shift;
        if ((b & 0x80) == 0)
            return v;
    }
    c->bad = true;
    return 0;
}

int64_t fm_cursor_sleb(struct fm_cursor *c)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t b = fm_cursor_u8(c);
        uint64_t bits = b & 0x7f;

        /* the tenth byte holds the sign bit only */
        if (c->bad || (shift == 63 && bits != 0 && bits != 0x7f))
            break;
        v |= bits << shift;
        if ((b & 0x80) == 0) {
            if ((b & 0x40) != 0 && shift + 7 < 64)
                v |= ~UINT64_C(0) << (shift + 7);
            return (int64_t)v;
        }
    }
    c->bad = true;
    return 0;
}

const char *fm_cursor_text(struct fm_cursor *c, size_t max, bool fixed, size_t *n)
{
    const char *s = (const char *)c->p;
    size_t window = FM_MIN(max, fm_cursor_left(c));
    const char *nul = window > 0 ? memchr(s, '\0', window) : NULL;

    *n = nul != NULL ? (size_t)(nul - s) : window;
    if ((fixed && window < max) || (!fixed && nul == NULL)) {
        c->bad = true;
        c->p = c->end;
        *n = 0;
        return NULL;
    }
    c->p += fixed ? max : *n + 1;
    return s;
}

struct fm_cursor fm_cursor_sub(struct fm_cursor *c, uint64_t n)
{
    struct fm_cursor sub;
    uint64_t offset = fm_cursor_offset(c);
    const unsigned char *p = c->p;

    if (n > fm_cursor_left(c)) {
        c->bad = true;
        c->p = c->end;
        fm_cursor_init(&sub, p, 0, offset, c->swap);
        sub.bad = true;
        return sub;
    }
    fm_cursor_init(&sub, p, (size_t)n, offset, c->swap);
    c->p += n;
    return sub;
}
