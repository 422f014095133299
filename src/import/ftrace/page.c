/*
 * page.c - a page of the kernel's trace ring buffer: see page.h.
 *
 *     u64 timestamp | long commit | events ...
 *
 * commit: bits 0-26 bytes of events; bit 31 events were lost before this page, bit 30 a long with
 * their number stands behind the events. An event begins with a u32:
 *
 *     little endian   bits 0-4 type_len, 5-31 time_delta     (big endian: 27-31, 0-26)
 *
 *     type_len 1-28   payload of 4 * type_len bytes
 *     0               u32 length (of itself and the payload, which is padded to 4), payload
 *     29 padding      time_delta 0: nothing more in this page; else u32 length, skipped
 *     30 time extend  u32: time_delta += it << 27
 *     31 time stamp   u32: the time is it << 27 | time_delta; its upper 5 bits are the page's
 *
 * Times are those of the page plus all deltas so far, also of what is skipped. Source of the
 * layout: the kernel's own description in events/header_page and events/header_event, and
 * include/linux/ring_buffer.h.
 */
#include "import/ftrace/page.h"

#include "util/text.h"

#define COMMIT_BYTES ((UINT64_C(1) << 27) - 1)
#define COMMIT_MISSED (UINT64_C(1) << 31)
#define COMMIT_STORED (UINT64_C(1) << 30)
#define STAMP_HIGH (UINT64_C(0xf8) << 56)

enum { TYPE_LONG = 0, TYPE_PADDING = 29, TYPE_EXTEND = 30, TYPE_STAMP = 31 };

void fm_page_shape_init(struct fm_page_shape *shape, bool big, unsigned long_size)
{
    shape->big = big;
    shape->commit_at = 8;
    shape->commit_size = long_size == 4 ? 4 : 8;
    shape->data_at = shape->commit_at + shape->commit_size;
}

/* The number behind `key` ("offset:") in a line. */
static bool number_after(const char *s, size_t n, const char *key, uint64_t *value)
{
    const char *at = memmem(s, n, key, strlen(key));
    size_t digits = 0, left;
    if (at == NULL)
        return false;
    at += strlen(key);
    left = n - (size_t)(at - s);
    while (digits < left && at[digits] >= '0' && at[digits] <= '9')
        digits++;
    return fm_text_u64(at, digits, value);
}

/* "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;" */
bool fm_page_field(const char *text, size_t n, const char *name, uint64_t *offset, uint64_t *size)
{
    const char *at = memmem(text, n, name, strlen(name));
    const char *end = at != NULL ? memchr(at, '\n', n - (size_t)(at - text)) : NULL;
    if (at == NULL)
        return false;
    size_t line = (size_t)((end != NULL ? end : text + n) - at);
    return number_after(at, line, "offset:", offset) && number_after(at, line, "size:", size);
}

bool fm_page_shape_read(struct fm_page_shape *shape, const char *text, size_t n)
{
    uint64_t commit, commit_size, data, data_size;
    if (!fm_page_field(text, n, " commit;", &commit, &commit_size) ||
        !fm_page_field(text, n, " data;", &data, &data_size))
        return false;
    if ((commit_size != 4 && commit_size != 8) || commit < 8 || commit > 64 ||
        data < commit + commit_size || data > 128)
        return false;
    shape->commit_at = (unsigned)commit;
    shape->commit_size = (unsigned)commit_size;
    shape->data_at = (unsigned)data;
    return true;
}

static uint64_t read_long(struct fm_cursor *c, unsigned size)
{
    return size == 4 ? fm_cursor_u32(c) : fm_cursor_u64(c);
}

bool fm_page_open(struct fm_page *page, const struct fm_page_shape *shape,
                  const unsigned char *data, size_t n, uint64_t offset)
{
    struct fm_cursor c, tail;
    bool swap = shape->big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    uint64_t commit, bytes;
    page->shape = shape;
    page->missed = false;
    page->missed_n = 0;
    fm_cursor_init(&c, data, n, offset, swap);
    page->time = fm_cursor_u64(&c);
    fm_cursor_skip(&c, shape->commit_at - 8);
    commit = read_long(&c, shape->commit_size);
    fm_cursor_skip(&c, shape->data_at - shape->commit_at - shape->commit_size);
    bytes = commit & COMMIT_BYTES;
    if ((commit & COMMIT_MISSED) != 0) {
        page->missed = true;
        tail = c;
        fm_cursor_skip(&tail, bytes);
        if ((commit & COMMIT_STORED) != 0 && fm_cursor_left(&tail) >= shape->commit_size)
            page->missed_n = read_long(&tail, shape->commit_size);
    }
    page->c = fm_cursor_sub(&c, bytes);
    return fm_cursor_ok(&c);
}

/* An absolute time without its upper bits, which change less than once in 18 years. */
static uint64_t whole_stamp(uint64_t stamp, uint64_t before)
{
    stamp |= before & STAMP_HIGH;
    if (stamp < before)
        stamp += UINT64_C(1) << 59;
    return stamp;
}

enum fm_page_result fm_page_next(struct fm_page *page, const unsigned char **data, size_t *n)
{
    struct fm_cursor *c = &page->c;
    while (fm_cursor_left(c) > 0) {
        uint32_t head = fm_cursor_u32(c), extra = 0;
        unsigned type = page->shape->big ? head >> 27 : head & 31;
        uint64_t delta = page->shape->big ? head & ((1u << 27) - 1) : head >> 5, size;
        if (type == TYPE_PADDING && delta == 0)
            return fm_cursor_ok(c) ? FM_PAGE_END : FM_PAGE_BAD;
        if (type == TYPE_LONG || type >= TYPE_PADDING)
            extra = fm_cursor_u32(c);
        if (type == TYPE_STAMP)
            page->time = whole_stamp((uint64_t)extra << 27 | delta, page->time);
        else
            page->time += delta + (type == TYPE_EXTEND ? (uint64_t)extra << 27 : 0);
        if (type == TYPE_STAMP || type == TYPE_EXTEND)
            continue;
        if ((type == TYPE_LONG || type == TYPE_PADDING) && extra < 4)
            return FM_PAGE_BAD;
        size = type == TYPE_LONG      ? ((uint64_t)extra - 4 + 3) & ~UINT64_C(3)
               : type == TYPE_PADDING ? (uint64_t)extra - 4
                                      : 4 * type;
        if (size > fm_cursor_left(c) || !fm_cursor_ok(c))
            return FM_PAGE_BAD;
        *n = (size_t)size;
        *data = fm_cursor_bytes(c, *n);
        if (type != TYPE_PADDING)
            return FM_PAGE_EVENT;
    }
    return FM_PAGE_END;
}
