/*
 * cursor.h - the only code that dereferences input bytes.
 *
 * A cursor is a window [p, end) plus the file offset of `base`. A read past the end returns 0 (or
 * NULL), sets `bad` and stays there: check fm_cursor_ok() once a record, not once a field.
 * `swap` reverses the byte order of numbers wider than a byte.
 */
#ifndef FM_UTIL_CURSOR_H
#define FM_UTIL_CURSOR_H

#include "util/base.h"

struct fm_cursor {
    const unsigned char *p;
    const unsigned char *end;
    const unsigned char *base;  /* where `offset` was taken */
    uint64_t offset;            /* file offset of base */
    bool swap;
    bool wide;                  /* formats that have both: numbers of fixed width, no varints */
    bool bad;
};

static inline void fm_cursor_init(struct fm_cursor *c, const void *data, size_t n, uint64_t offset,
                                  bool swap)
{
    c->p = c->base = (const unsigned char *)data;
    c->end = c->p + n;
    c->offset = offset;
    c->swap = swap;
    c->wide = false;
    c->bad = false;
}

static inline bool fm_cursor_ok(const struct fm_cursor *c)
{
    return !c->bad;
}

static inline size_t fm_cursor_left(const struct fm_cursor *c)
{
    return (size_t)(c->end - c->p);
}

/* File offset of the next byte. */
static inline uint64_t fm_cursor_offset(const struct fm_cursor *c)
{
    return c->offset + (uint64_t)(c->p - c->base);
}

/* n bytes, borrowed; NULL and bad when fewer are left. */
static inline const unsigned char *fm_cursor_bytes(struct fm_cursor *c, size_t n)
{
    const unsigned char *p = c->p;
    if (FM_UNLIKELY(n > fm_cursor_left(c))) {
        c->bad = true;
        c->p = c->end;
        return NULL;
    }
    c->p += n;
    return p;
}

static inline void fm_cursor_skip(struct fm_cursor *c, uint64_t n)
{
    if (FM_UNLIKELY(n > fm_cursor_left(c))) {
        c->bad = true;
        c->p = c->end;
        return;
    }
    c->p += n;
}

static inline uint8_t fm_cursor_u8(struct fm_cursor *c)
{
    const unsigned char *p = fm_cursor_bytes(c, 1);
    return FM_LIKELY(p != NULL) ? p[0] : 0;
}

static inline uint16_t fm_cursor_u16(struct fm_cursor *c)
{
    uint16_t v;
    const unsigned char *p = fm_cursor_bytes(c, sizeof v);
    if (FM_UNLIKELY(p == NULL))
        return 0;
    memcpy(&v, p, sizeof v);
    return c->swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t fm_cursor_u32(struct fm_cursor *c)
{
    uint32_t v;
    const unsigned char *p = fm_cursor_bytes(c, sizeof v);
    if (FM_UNLIKELY(p == NULL))
        return 0;
    memcpy(&v, p, sizeof v);
    return c->swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t fm_cursor_u64(struct fm_cursor *c)
{
    uint64_t v;
    const unsigned char *p = fm_cursor_bytes(c, sizeof v);
    if (FM_UNLIKELY(p == NULL))
        return 0;
    memcpy(&v, p, sizeof v);
    return c->swap ? __builtin_bswap64(v) : v;
}

static inline int32_t fm_cursor_i32(struct fm_cursor *c)
{
    return (int32_t)fm_cursor_u32(c);
}

static inline int64_t fm_cursor_i64(struct fm_cursor *c)
{
    return (int64_t)fm_cursor_u64(c);
}

/* LEB128: at most 10 bytes; a longer one, or bits past the 64th, is bad. */
uint64_t fm_cursor_uleb(struct fm_cursor *c);
int64_t fm_cursor_sleb(struct fm_cursor *c);

/* Text up to a NUL or to the end of the next `max` bytes; *n = its length. Moves behind `max`
 * bytes when `fixed`, else behind the NUL (no NUL within the window: bad). Not terminated. */
const char *fm_cursor_text(struct fm_cursor *c, size_t max, bool fixed, size_t *n);

/* A cursor over the next n bytes, which are skipped here; bad in both when fewer are left. */
struct fm_cursor fm_cursor_sub(struct fm_cursor *c, uint64_t n);

/* Unaligned loads for hot loops that have checked their bounds. */
static inline uint64_t fm_load_u64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint32_t fm_load_u32(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

#endif
