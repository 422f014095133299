/*
 * value.h - the primitive encodings of JFR 1.x and 2.x: varints and strings.
 *
 *     varint   groups of 7 bits, low ones first, high bit = more; the NINTH byte carries 8 bits and
 *              ends it. Over-long forms are legal. Negative numbers are their bit pattern.
 *     string   encoding u8, then
 *                0  null
 *                1  empty
 *                2  varint: key in the java.lang.String pool of the chunk
 *                3  varint n, n bytes: modified UTF-8 (surrogates and NUL as CESU-8)
 *                4  varint n, n UTF-16 units, each a varint
 *                5  varint n, n bytes: ISO-8859-1
 *
 * Chunks may say that their integers are not compressed: 2, 4 or 8 bytes each. Those, floats and
 * the chunk header are big-endian: cursors over JFR are made by fm_jfr_cursor().
 */
#ifndef FM_IMPORT_JFR_VALUE_H
#define FM_IMPORT_JFR_VALUE_H

#include "util/cursor.h"
#include "util/mem.h"

static inline struct fm_cursor fm_jfr_cursor(const void *data, size_t n, uint64_t offset)
{
    struct fm_cursor c;
    fm_cursor_init(&c, data, n, offset, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    return c;
}

/* wide: the integers of the chunk are not compressed. */
static inline struct fm_cursor fm_jfr_cursor_of(const void *data, size_t n, uint64_t offset,
                                                bool wide)
{
    struct fm_cursor c = fm_jfr_cursor(data, n, offset);
    c.wide = wide;
    return c;
}

/* The first 8 bytes as a number whose low byte comes first. */
static inline uint64_t fm_jfr_load_le(const unsigned char *p)
{
    uint64_t v = fm_load_u64(p);
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap64(v) : v;
}

#define FM_JFR_HIGH 0x8080808080808080u

uint64_t fm_jfr_varint_slow(struct fm_cursor *c);

/* A varint at *p, where 9 bytes may be read. */
#define FM_JFR_VARINT_MAX 9
static inline uint64_t fm_jfr_varint_at(const unsigned char **p)
{
    const unsigned char *from = *p;
    uint64_t w, end;
    unsigned bytes;
    if (FM_LIKELY(from[0] < 0x80)) {
        *p = from + 1;
        return from[0];
    }
    if (from[1] < 0x80) {
        *p = from + 2;
        return (from[0] & 0x7fu) | (uint64_t)from[1] << 7;
    }
    w = fm_jfr_load_le(from);
    end = ~w & FM_JFR_HIGH;
    bytes = end != 0 ? (unsigned)(__builtin_ctzll(end) / 8) + 1 : 9;
    *p = from + bytes;
    w &= end != 0 ? end ^ (end - 1) : UINT64_MAX;
    w &= ~FM_JFR_HIGH;
    w = (w & 0x007f007f007f007fu) | (w & 0x7f007f007f007f00u) >> 1;
    w = (w & 0x00003fff00003fffu) | (w & 0x3fff00003fff0000u) >> 2;
    w = (w & 0x0fffffffu) | (w & 0x0fffffff00000000u) >> 4;
    return bytes == 9 ? w | (uint64_t)from[8] << 56 : w;
}

static inline uint64_t fm_jfr_varint(struct fm_cursor *c)
{
    if (FM_LIKELY(c->end - c->p >= FM_JFR_VARINT_MAX))
        return fm_jfr_varint_at(&c->p);
    return fm_jfr_varint_slow(c);
}

/* An integer of a chunk: a varint, or `width` (2, 4, 8) bytes where integers are not compressed. */
uint64_t fm_jfr_wide(struct fm_cursor *c, unsigned width);
static inline uint64_t fm_jfr_int(struct fm_cursor *c, unsigned width)
{
    return FM_UNLIKELY(c->wide) ? fm_jfr_wide(c, width) : fm_jfr_varint(c);
}

/* Moves behind n varints. */
void fm_jfr_skip_varints(struct fm_cursor *c, uint64_t n);

/* A growing text, reused. */
struct fm_jfr_buf {
    struct fm_mem *mem;
    char *p;
    size_t cap, n;
    bool oom;
};
void fm_jfr_buf_release(struct fm_jfr_buf *buf);
/* Appends; false (and oom) without memory. */
bool fm_jfr_buf_add(struct fm_jfr_buf *buf, const char *s, size_t n);

enum fm_jfr_text_kind { FM_JFR_TEXT_NULL, FM_JFR_TEXT_HERE, FM_JFR_TEXT_KEY, FM_JFR_TEXT_BAD };

struct fm_jfr_text {
    enum fm_jfr_text_kind kind;
    unsigned encoding;          /* of BAD: the one that nobody knows, or one of a cut string */
    const char *s;              /* HERE: UTF-8, borrowed from the cursor's bytes or the buffer */
    size_t n;
    uint64_t key;               /* KEY */
};

/* Reads a string; what must be converted is put into `buf`, which is emptied first. BAD: unknown
 * encoding, cut, or no memory (buf->oom). Lone surrogates stay as three bytes each. */
void fm_jfr_text_read(struct fm_cursor *c, struct fm_jfr_buf *buf, struct fm_jfr_text *text);
/* Moves behind a string; false: unknown encoding (nothing behind it can be read). */
bool fm_jfr_text_skip(struct fm_cursor *c);

/* Modified UTF-8 to UTF-8: joins surrogates, C0 80 to NUL. *s and *n change only where needed. */
bool fm_jfr_utf8(struct fm_jfr_buf *buf, const char **s, size_t *n);

#endif
