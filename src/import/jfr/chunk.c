/*
 * chunk.c - headers, the scan for chunks, and the walk over events; see chunk.h.
 *
 * A chunk whose size leads to another chunk or to the end of the input is taken as it is. Else its
 * events are followed as long as they are possible:
 *
 *     | header | event | event | event | garbage, or cut | FLR\0 next chunk …
 *                                      ^ where the walk ends: from here the next header is sought
 *
 * A checkpoint may hold a copy of its chunk's header (jdk.types.ChunkHeader): a header found by
 * seeking only counts when its metadata event is where it says.
 */
#include "import/jfr/v0.h"

#include "util/error.h"

#define NEVER_FINISHED (UINT64_C(1) << 30)
#define HEAD_BYTES 18u              /* of an event: two varints */

static const unsigned char magic[4] = {'F', 'L', 'R', 0};

bool fm_jfr_header_read(const unsigned char *data, size_t n, struct fm_jfr_header *h)
{
    struct fm_cursor c = fm_jfr_cursor(data, n, 0);
    const unsigned char *m = fm_cursor_bytes(&c, sizeof magic);
    memset(h, 0, sizeof *h);
    if (m == NULL || memcmp(m, magic, sizeof magic) != 0)
        return false;
    h->major = fm_cursor_u16(&c);
    h->minor = fm_cursor_u16(&c);
    h->size = fm_cursor_u64(&c);
    h->checkpoint = fm_cursor_u64(&c);
    h->metadata = fm_cursor_u64(&c);
    h->start_ns = fm_cursor_i64(&c);
    h->duration_ns = fm_cursor_i64(&c);
    h->start_ticks = fm_cursor_i64(&c);
    h->per_second = fm_cursor_i64(&c);
    h->state = fm_cursor_u8(&c);
    fm_cursor_skip(&c, 2);
    h->flags = fm_cursor_u8(&c);
    return fm_cursor_ok(&c) && (h->major == 1 || h->major == 2) && h->per_second > 0 &&
           h->size <= INT64_MAX;
}

bool fm_jfr_contiguous(const struct fm_jfr_header *before, const struct fm_jfr_header *h)
{
    struct fm_jfr_clock clock = {0, 0, (uint64_t)before->per_second};
    int64_t ns, wall, off;
    if (before->major != h->major || before->minor != h->minor ||
        __builtin_sub_overflow(h->start_ns, before->start_ns, &wall) ||
        wall != before->duration_ns ||
        !fm_jfr_clock_span(&clock, (int64_t)((uint64_t)h->start_ticks -
                                             (uint64_t)before->start_ticks), &ns) ||
        __builtin_sub_overflow(ns, wall, &off))
        return false;
    return off > -1000000 && off < 1000000;
}

/* ------------------------------------------------------------------- walking */

void fm_jfr_walk_init(struct fm_jfr_walk *walk, struct fm_reader *reader, uint64_t at,
                      uint64_t end, struct fm_error *err)
{
    memset(walk, 0, sizeof *walk);
    walk->reader = reader;
    walk->at = at;
    walk->end = end;
    walk->err = err;
    walk->status = fm_reader_seek(reader, at, err);
}

/* The window at walk->at, with `need` bytes when the chunk has them. Damage of the input's own
 * compression only makes it shorter. */
static bool refill(struct fm_jfr_walk *w, size_t need)
{
    struct fm_error ignored = {.status = FM_OK};
    uint64_t left = w->end - w->at, here = fm_reader_offset(w->reader);
    enum fm_status status = FM_OK;
    uint64_t skipped;
    if (w->at > here)
        status = fm_reader_skip(w->reader, w->at - here, &skipped, &ignored);
    if (status == FM_OK)
        status = fm_reader_peek(w->reader, (size_t)FM_MIN(left, (uint64_t)need), &w->p, &w->n,
                                &ignored);
    if (status == FM_IO || status == FM_NOMEM || status == FM_CANCELLED) {
        w->status = fm_error_set(w->err, status, "%s", ignored.message);
        return false;
    }
    if (w->n > left)
        w->n = (size_t)left;
    return true;
}

enum fm_jfr_step_result fm_jfr_walk_slow(struct fm_jfr_walk *w, struct fm_jfr_event_head *head)
{
    struct fm_cursor c;
    if (w->status != FM_OK)
        return FM_JFR_INPUT;
    if (w->at >= w->end)
        return FM_JFR_END;
    if (w->n < HEAD_BYTES && w->n < w->end - w->at && !refill(w, HEAD_BYTES))
        return FM_JFR_INPUT;
    c = fm_jfr_cursor_of(w->p, w->n, w->at, w->wide);
    head->offset = w->at;
    head->size = fm_jfr_int(&c, 4);
    head->type = fm_jfr_int(&c, 8);
    head->p = w->p;
    head->have = w->n;
    head->payload = (size_t)(c.p - w->p);
    if (!fm_cursor_ok(&c) || head->size < head->payload || head->size > w->end - w->at)
        return FM_JFR_BAD_EVENT;
    w->at += head->size;
    if (head->size < w->n) {
        w->p += head->size;
        w->n -= (size_t)head->size;
    } else {
        w->n = 0;
    }
    return FM_JFR_EVENT;
}

void fm_jfr_walk_past(struct fm_jfr_walk *w, const struct fm_jfr_meta *meta, const bool *stop,
                      uint64_t *count, uint64_t *first)
{
    const unsigned char *p = w->p, *end = p + w->n, *start = p;
    size_t left = w->n;
    if (w->wide)
        return;
    while (left >= 2 * FM_JFR_VARINT_MAX) {
        const unsigned char *q = p;
        uint64_t size = fm_jfr_varint_at(&q), type = fm_jfr_varint_at(&q);
        uint32_t class;
        if (size >= left || size < (size_t)(q - p) || type <= 1)
            break;
        class = fm_jfr_meta_find(meta, type);
        if (class == FM_JFR_NO_CLASS || stop[class])
            break;
        if (count != NULL && count[class]++ == 0)
            first[class] = w->at + (uint64_t)(p - start);
        p += size;
        left = (size_t)(end - p);
    }
    w->at += (uint64_t)(p - start);
    w->p = p;
    w->n = left;
}

bool fm_jfr_walk_whole(struct fm_jfr_walk *w, struct fm_jfr_event_head *head, size_t max)
{
    uint64_t after = w->at;
    size_t need = (size_t)FM_MIN(head->size, (uint64_t)max);
    if (head->have >= need)
        return true;
    w->at = head->offset;
    if (!refill(w, need))
        return false;
    head->p = w->p;
    head->have = w->n;
    w->at = after;
    if (head->size < w->n) {
        w->p += head->size;
        w->n -= (size_t)head->size;
    } else {
        w->n = 0;
    }
    return true;
}

/* ------------------------------------------------------------------- seeking */

static enum fm_status read_header_at(struct fm_jfr_scan *scan, uint64_t at,
                                     struct fm_jfr_header *h, bool *ok, struct fm_error *err)
{
    unsigned char buf[FM_JFR_HEADER];
    size_t got;
    enum fm_status status =
        fm_input_read_at(scan->import->input, at, buf, sizeof buf, &got, err);
    *ok = status == FM_OK && fm_jfr_header_read(buf, got, h);
    return status;
}

/* Whether a header found by seeking begins a chunk: its metadata event is there. */
static enum fm_status confirmed(struct fm_jfr_scan *scan, uint64_t at, bool *ok,
                                struct fm_error *err)
{
    unsigned char buf[HEAD_BYTES];
    struct fm_jfr_header h;
    struct fm_cursor c;
    uint64_t size, type, meta;
    size_t got;
    enum fm_status status = read_header_at(scan, at, &h, ok, err);
    if (status == FM_OK && !*ok) {
        status = fm_jfr_v0_scan(scan->import->input, at, scan->size, &h, ok, &meta, err);
        *ok = *ok && meta <= scan->size;
        return status;
    }
    if (status != FM_OK)
        return status;
    *ok = false;
    meta = h.metadata != 0 ? h.metadata : FM_JFR_HEADER;
    if (meta < FM_JFR_HEADER || meta >= scan->size - at)
        return FM_OK;
    status = fm_input_read_at(scan->import->input, at + meta, buf, sizeof buf, &got, err);
    if (status != FM_OK)
        return status;
    c = fm_jfr_cursor_of(buf, got, 0, fm_jfr_is_wide(&h));
    size = fm_jfr_int(&c, 4);
    type = fm_jfr_int(&c, 8);
    *ok = fm_cursor_ok(&c) && type == 0 && size > 4;
    return FM_OK;
}

/* The next chunk from `at` on: *found = scan->size when there is none. */
static enum fm_status seek_header(struct fm_jfr_scan *scan, uint64_t at, uint64_t *found,
                                  struct fm_error *err)
{
    struct fm_jfr_walk w;
    *found = scan->size;
    fm_jfr_walk_init(&w, scan->reader, at, scan->size, err);
    while (w.status == FM_OK && w.at < w.end) {
        const unsigned char *hit;
        if (w.n < sizeof magic && !refill(&w, sizeof magic))
            break;
        hit = memmem(w.p, w.n, magic, sizeof magic);
        if (hit != NULL) {
            bool ok;
            uint64_t offset = w.at + (uint64_t)(hit - w.p);
            enum fm_status status = confirmed(scan, offset, &ok, err);
            if (status != FM_OK || ok) {
                *found = offset;
                return status;
            }
        } else if (w.n < sizeof magic) {
            break;
        }
        size_t step = hit != NULL ? (size_t)(hit - w.p) + 1 : w.n - (sizeof magic - 1);
        w.at += step;
        w.p += step;
        w.n -= step;
    }
    return w.status;
}

/* ------------------------------------------------------------------ scanning */

/* Where events stop being possible, at most at `limit`, or where another chunk begins. */
static enum fm_status follow(struct fm_jfr_scan *scan, uint64_t at, bool wide, uint64_t announced,
                             uint64_t *end, struct fm_error *err)
{
    struct fm_jfr_walk w;
    struct fm_jfr_event_head head;
    enum fm_jfr_step_result r = FM_JFR_END;
    fm_jfr_walk_init(&w, scan->reader, at, scan->size, err);
    w.wide = wide;
    while (w.at != announced && (r = fm_jfr_walk_next(&w, &head)) == FM_JFR_EVENT) {
        if (head.have >= sizeof magic && memcmp(head.p, magic, sizeof magic) == 0) {
            bool ok;
            enum fm_status status = confirmed(scan, head.offset, &ok, err);
            if (status != FM_OK)
                return status;
            if (ok) {
                *end = head.offset;
                return FM_OK;
            }
        }
    }
    *end = w.at;
    return r == FM_JFR_INPUT ? w.status : FM_OK;
}

static enum fm_status has_magic(struct fm_jfr_scan *scan, uint64_t at, bool *ok,
                                struct fm_error *err)
{
    unsigned char buf[sizeof magic];
    size_t got;
    enum fm_status status =
        fm_input_read_at(scan->import->input, at, buf, sizeof buf, &got, err);
    *ok = status == FM_OK && got == sizeof buf && memcmp(buf, magic, sizeof magic) == 0;
    return status;
}

/* Ends the chunk whose header does not lead to another one. */
static enum fm_status end_broken(struct fm_jfr_scan *scan, struct fm_jfr_chunk *chunk,
                                 struct fm_error *err)
{
    const struct fm_jfr_header *h = &chunk->h;
    uint64_t announced = h->size >= FM_JFR_HEADER ? fm_add_sat_u64(chunk->offset, h->size)
                                                  : UINT64_MAX;
    uint64_t first = chunk->offset + FM_JFR_HEADER, walked = first, next;
    enum fm_status status;
    if (first > scan->size)
        first = scan->size;
    if (chunk->fault == FM_JFR_NEVER_FINISHED)
        announced = UINT64_MAX;
    status = follow(scan, first, fm_jfr_is_wide(h), announced, &walked, err);
    if (status != FM_OK)
        return status;
    status = seek_header(scan, walked, &next, err);
    if (status != FM_OK)
        return status;
    chunk->end = announced <= next && announced >= walked ? announced : next;
    chunk->gap = next - chunk->end;
    if (chunk->fault == FM_JFR_WHOLE && announced != chunk->end)
        chunk->fault = announced > scan->size ? FM_JFR_CUT : FM_JFR_BAD_SIZE;
    scan->at = next;
    return FM_OK;
}

/* Why there is no chunk at offset 0. */
static enum fm_status no_chunk(struct fm_jfr_scan *scan, struct fm_error *err)
{
    unsigned char buf[FM_JFR_HEADER];
    const char *name = fm_input_name(scan->import->input);
    struct fm_cursor c;
    size_t got;
    uint16_t major, minor;
    enum fm_status status = fm_input_read_at(scan->import->input, 0, buf, sizeof buf, &got, err);
    if (status != FM_OK)
        return status;
    if (got == 0)
        return fm_error_at(err, FM_UNKNOWN, name, 0, "the input is empty");
    c = fm_jfr_cursor(buf, got, 0);
    if (got < sizeof magic || memcmp(fm_cursor_bytes(&c, 4), magic, sizeof magic) != 0)
        return fm_error_at(err, FM_UNKNOWN, name, 0, "no JFR magic");
    if (got < FM_JFR_HEADER)
        return fm_error_at(err, FM_TRUNCATED, name, got, "header: needed %u bytes, %zu left",
                           FM_JFR_HEADER, got);
    major = fm_cursor_u16(&c);
    minor = fm_cursor_u16(&c);
    if (major != 1 && major != 2)
        return fm_error_at(err, FM_UNSUPPORTED, name, 4, "JFR version %u.%u is not known", major,
                           minor);
    return fm_error_at(err, FM_FORMAT, name, 8, "header: impossible size or ticks per second");
}

/* The input begins with no chunk: one that a damaged or foreign header hides may follow. */
static enum fm_status pass_first(struct fm_jfr_scan *scan, struct fm_error *err)
{
    struct fm_error why = {0};
    uint64_t next = scan->size;
    enum fm_status reason = no_chunk(scan, &why), status = FM_OK;
    if (scan->size > FM_JFR_HEADER && (reason == FM_FORMAT || reason == FM_UNSUPPORTED))
        status = seek_header(scan, sizeof magic, &next, err);
    if (status != FM_OK)
        return status;
    if (next >= scan->size) {
        if (err != NULL)
            *err = why;
        return reason;
    }
    fm_builder_diag(scan->import->builder, FM_DIAG_JFR_HEADER, 0, 1);
    scan->damage = reason;
    scan->damaged = why;
    scan->at = next;
    return FM_OK;
}

/* A chunk of 1.x or 2.x, by what its header tells. */
static enum fm_status take_chunk(struct fm_jfr_scan *scan, struct fm_jfr_chunk *chunk,
                                 struct fm_error *err)
{
    const struct fm_jfr_header *h = &chunk->h;
    uint64_t end = fm_add_sat_u64(scan->at, h->size);
    enum fm_status status = FM_OK;
    bool ok;
    if (h->state != 0)
        chunk->fault = FM_JFR_BEING_WRITTEN;
    else if (h->size == NEVER_FINISHED && h->metadata == 0 && h->checkpoint == 0)
        chunk->fault = FM_JFR_NEVER_FINISHED;
    ok = h->size >= FM_JFR_HEADER && end <= scan->size && chunk->fault != FM_JFR_NEVER_FINISHED;
    if (ok && end < scan->size)
        status = has_magic(scan, end, &ok, err);
    if (status != FM_OK)
        return status;
    if (!ok)
        return end_broken(scan, chunk, err);
    chunk->end = scan->at = end;
    return FM_OK;
}

/* A chunk of 0.9 that ends at `end`, as far as its header and metadata tell. */
static enum fm_status take_v0(struct fm_jfr_scan *scan, struct fm_jfr_chunk *chunk, uint64_t end,
                              struct fm_error *err)
{
    enum fm_status status = FM_OK;
    uint64_t next = end;
    bool ok = true;
    if (end > scan->size)
        chunk->fault = end == UINT64_MAX && chunk->h.metadata < scan->size - scan->at - 4
                           ? FM_JFR_BAD_SIZE : FM_JFR_CUT;
    else if (end < scan->size)
        status = has_magic(scan, end, &ok, err);
    if (status == FM_OK && (chunk->fault != FM_JFR_WHOLE || !ok))
        status = seek_header(scan, chunk->fault != FM_JFR_WHOLE ? scan->at + 4 : end, &next, err);
    chunk->end = chunk->fault != FM_JFR_WHOLE ? next : end;
    chunk->gap = next - chunk->end;
    scan->at = next;
    return status;
}

/* Behind a chunk stands what begins like another one and is none. */
static enum fm_status pass_header(struct fm_jfr_scan *scan, struct fm_error *err)
{
    const char *name = fm_input_name(scan->import->input);
    uint64_t left = scan->size - scan->at;
    fm_builder_diag(scan->import->builder, FM_DIAG_JFR_HEADER, scan->at, 1);
    if (scan->damage == FM_OK && left < FM_JFR_HEADER)
        scan->damage = fm_error_at(&scan->damaged, FM_TRUNCATED, name, scan->size,
                                   "chunk %llu: header: needed %u bytes, %llu left",
                                   (unsigned long long)scan->chunks, FM_JFR_HEADER,
                                   (unsigned long long)left);
    else if (scan->damage == FM_OK)
        scan->damage = fm_error_at(&scan->damaged, FM_FORMAT, name, scan->at,
                                   "chunk %llu: what its header says cannot be",
                                   (unsigned long long)scan->chunks);
    return seek_header(scan, scan->at + sizeof magic, &scan->at, err);
}

enum fm_status fm_jfr_scan_next(struct fm_jfr_scan *scan, struct fm_jfr_chunk *chunk, bool *more,
                                struct fm_error *err)
{
    enum fm_status status;
    uint64_t end = 0;
    bool ok, v0 = false;
    memset(chunk, 0, sizeof *chunk);
    *more = false;
    do {
        if (scan->at >= scan->size && scan->chunks > 0)
            return FM_OK;
        status = read_header_at(scan, scan->at, &chunk->h, &ok, err);
        if (status == FM_OK && !ok)
            status = fm_jfr_v0_scan(scan->import->input, scan->at, scan->size, &chunk->h, &v0,
                                    &end, err);
        if (status == FM_OK && !ok && !v0)
            status = scan->chunks == 0 ? pass_first(scan, err) : pass_header(scan, err);
        if (status != FM_OK)
            return status;
    } while (!ok && !v0);
    chunk->number = scan->chunks++;
    chunk->offset = scan->at;
    if (chunk->number > 0) {
        chunk->has_before = true;
        chunk->before = scan->last.h;
        chunk->before_offset = scan->last.offset;
        chunk->before_end = scan->last.end;
    }
    status = v0 ? take_v0(scan, chunk, end, err) : take_chunk(scan, chunk, err);
    if (status != FM_OK)
        return status;
    scan->last = *chunk;
    *more = true;
    return FM_OK;
}
