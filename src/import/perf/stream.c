/*
 * stream.c - bytes to records, and records into their order.
 *
 *     bytes -> block (block.h) -> records -+-> perf's own: acted on at once
 *                                          +-> without a time: delivered at once
 *                                          +-> timed: queued (order.h) until their round is over
 *                                          +-> compressed: inflated into the blocks of an inner
 *                                              stream, which is cut in the same way
 *
 * Rounds. The recorder empties all its buffers in turn and writes FINISHED_ROUND. What a buffer
 * still held then was written after everything of the round BEFORE, so at the end of a round all
 * that is not later than the latest time of the round before can be delivered in order.
 *
 * Compressed records (81, 83) are pieces of one zstd stream. A piece holds whole records as they
 * were flushed, or ends inside one: the rest comes with the next. Record 83 has a u64 data_size in
 * front, because its 16-bit size overflows: when 16 + data_size rounded up to 8 does not fit, the
 * size field is wrong and the record has exactly 16 + data_size bytes. Beyond 65,519 that is a
 * total over sub-records that follow one another with headers of 16 bytes, the first of which has
 * lost its own length:
 *
 *     |83, -, - | total | piece 1 ...|83, 0, 16+n2 | - | piece 2 ...|83, 0, 16+n3 | - | ... |
 *
 * Memory far away is most of what a chain's look-up costs. So records wait in a ring once more when
 * their turn has come: on entering, the place of their chain in the store's table is fetched, half
 * way through the chain found there, and at the end it is looked up.
 *
 * A record whose size is impossible ends the stream: nothing says where the next one begins.
 */
#include "import/perf/session.h"

#include "util/error.h"

#define NO_BLOCK SIZE_MAX
#define PIECE_MAX ((uint64_t)256 << 20)      /* inflated bytes of one compressed record */
#define GATHER_MAX ((uint64_t)1 << 30)
#define KEPT_MAX 1024u                       /* inflated blocks that wait: 256 MiB */
#define STATUS_TEXT "[ perf record:"         /* perf's own words, when 2>&1 went into the file */

void fm_perf_stream_init(struct fm_perf_stream *stream)
{
    memset(stream, 0, sizeof *stream);
    stream->block = NO_BLOCK;
    stream->end = UINT64_MAX;
}

void fm_perf_stream_release(struct fm_perf *perf, struct fm_perf_stream *stream)
{
    if (stream->inner != NULL) {
        fm_perf_stream_release(perf, stream->inner);
        fm_mem_free(&perf->ctx->mem, stream->inner, sizeof *stream->inner);
    }
    fm_inflate_free(stream->inflate);
    fm_mem_free(&perf->ctx->mem, stream->gather, stream->gather_cap);
    fm_mem_free(&perf->ctx->mem, stream->split, stream->split_cap);
    if (stream->block != NO_BLOCK && stream->block < perf->blocks.n)
        fm_perf_blocks_close(&perf->blocks, stream->block);
    fm_perf_stream_init(stream);
}

/* ------------------------------------------------------------------- delivery */

static uint16_t size_at(const struct fm_perf *perf, const unsigned char *p)
{
    return (uint16_t)(perf->swap ? p[6] << 8 | p[7] : p[6] | p[7] << 8);
}

/* The record whose turn has come. */
static bool deliver_oldest(struct fm_perf *perf)
{
    perf->now = perf->ahead[perf->ahead_out++ % FM_PERF_AHEAD];
    size_t block = (size_t)(perf->now.place >> FM_PERF_BLOCK_BITS);
    size_t at = (size_t)(perf->now.place & (FM_PERF_BLOCK - 1));
    const unsigned char *data;
    enum fm_status status = fm_perf_blocks_data(&perf->blocks, block, &data, perf->err);
    if (FM_UNLIKELY(status != FM_OK))
        return fm_perf_fail(perf, status);
    uint64_t offset = perf->blocks.block[block].offset;
    if (perf->blocks.block[block].linear)
        offset += at;
    bool going = fm_perf_deliver(perf, data + at, size_at(perf, data + at), offset);
    fm_perf_blocks_done(&perf->blocks, block);
    return going;
}

/* Records come in their order, and are delivered some records later. */
static bool deliver_token(void *user, uint64_t time, uint64_t place)
{
    struct fm_perf *perf = user;
    struct fm_perf_ahead *ahead = &perf->ahead[perf->ahead_in++ % FM_PERF_AHEAD];
    const unsigned char *data =
        fm_perf_blocks_peek(&perf->blocks, (size_t)(place >> FM_PERF_BLOCK_BITS));
    (void)time;
    ahead->place = place;
    ahead->chain = NULL;
    if (FM_LIKELY(data != NULL)) {
        const unsigned char *p = data + (place & (FM_PERF_BLOCK - 1));
        fm_perf_sample_ahead(perf, p, size_at(perf, p), ahead);
    }
    ahead = &perf->ahead[(perf->ahead_in + FM_PERF_AHEAD / 2) % FM_PERF_AHEAD];
    if (ahead->chain != NULL)
        fm_builder_chain_nearer(perf->builder, ahead->hash);
    return perf->ahead_in - perf->ahead_out < FM_PERF_AHEAD || deliver_oldest(perf);
}

bool fm_perf_flush(struct fm_perf *perf, uint64_t limit)
{
    bool whole;
    enum fm_status status = fm_order_flush(&perf->order, limit, deliver_token, perf, &whole);
    if (status != FM_OK)
        return fm_perf_fail(perf, status);
    while (whole && perf->ahead_out != perf->ahead_in)
        whole = deliver_oldest(perf);
    perf->now.chain = NULL;
    return whole && fm_builder_status(perf->builder) == FM_OK
               ? true
               : fm_perf_fail(perf, fm_builder_status(perf->builder));
}

static bool finish_round(struct fm_perf *perf)
{
    if (perf->hold)
        return true;
    if (!fm_perf_flush(perf, perf->limit))
        return false;
    perf->limit = perf->order.max;
    return true;
}

/* The time by which a record is ordered; 0 = at once. */
static uint64_t time_of(struct fm_perf *perf, uint32_t type, const unsigned char *p, size_t n)
{
    const struct fm_perf_event *event;
    if (!perf->ordered)
        return 0;
    if (FM_LIKELY(type == FM_PERF_R_SAMPLE)) {
        event = perf->events.same_layout && perf->events.n > 0
                    ? perf->events.event
                    : fm_perf_events_of_sample(&perf->events, p, n, perf->swap);
        if (event == NULL || event->time == FM_PERF_NO_FIELD || n < event->time + 8u)
            return 0;
        return fm_perf_u64(p + event->time, perf->swap);
    }
    event = fm_perf_events_of_record(&perf->events, p, n, perf->swap);
    if (event != NULL && event->end_time != FM_PERF_NO_FIELD &&
        n >= FM_PERF_HEADER + (size_t)event->trailer)
        return fm_perf_u64(p + n - event->end_time, perf->swap);
    if ((type == FM_PERF_R_FORK || type == FM_PERF_R_EXIT) && n >= 32)
        return fm_perf_u64(p + 24, perf->swap);
    return 0;
}

static bool queue(struct fm_perf *perf, struct fm_perf_stream *stream, uint64_t time)
{
    struct fm_perf_block *block = &perf->blocks.block[stream->block];
    uint64_t place = (uint64_t)stream->block << FM_PERF_BLOCK_BITS | stream->parsed;
    enum fm_status status = fm_order_add(&perf->order, time, place);
    if (status != FM_OK)
        return fm_perf_fail(perf, status);
    block->pending++;
    return true;
}

/* -------------------------------------------------------------- compressed records */

static bool cut_records(struct fm_perf *perf, struct fm_perf_stream *stream);

/* An open block for the stream with room for at least one byte; what is left of a record moves
 * along. */
static bool make_room(struct fm_perf *perf, struct fm_perf_stream *stream, uint64_t offset)
{
    size_t block, left = stream->fill - stream->parsed;
    if (stream->block != NO_BLOCK && stream->fill < FM_PERF_BLOCK)
        return true;
    enum fm_status status = fm_perf_blocks_open(
        &perf->blocks, stream->rereadable ? stream->input : NULL,
        stream->input != NULL ? offset - left : offset, &block, perf->err);
    if (status != FM_OK)
        return fm_perf_fail(perf, status);
    perf->blocks.block[block].linear = stream->input != NULL;
    if (stream->block != NO_BLOCK) {
        struct fm_perf_block *old = &perf->blocks.block[stream->block];
        memcpy(perf->blocks.block[block].data, old->data + stream->parsed, left);
        fm_perf_blocks_close(&perf->blocks, stream->block);
    }
    stream->block = block;
    stream->fill = left;
    stream->parsed = 0;
    return true;
}

static bool start_inner(struct fm_perf *perf, struct fm_perf_stream *stream)
{
    if (stream->inner != NULL)
        return true;
    enum fm_status status = fm_inflate_new(perf->ctx, "zstd", &stream->inflate, perf->err);
    if (status != FM_OK)
        return fm_perf_fail(perf, status);
    stream->inner = fm_mem_alloc(&perf->ctx->mem, sizeof *stream->inner);
    if (stream->inner == NULL)
        return fm_perf_fail(perf, FM_NOMEM);
    fm_perf_stream_init(stream->inner);
    return true;
}

static bool inflate_failed(struct fm_perf *perf, struct fm_perf_stream *stream, uint64_t offset,
                           enum fm_status status, const struct fm_error *why)
{
    if (status == FM_NOMEM || status == FM_CANCELLED)
        return fm_perf_fail(perf, status);
    stream->inflate_bad = true;
    fm_perf_damage(perf, status == FM_LIMIT ? FM_DIAG_INFLATE_LIMIT : FM_DIAG_INFLATE,
                   status == FM_LIMIT ? FM_LIMIT : FM_FORMAT, offset,
                   "compressed record does not unpack: %s", why->message);
    return true;
}

/* Inflates one piece and cuts what came out. */
static bool inflate(struct fm_perf *perf, struct fm_perf_stream *stream,
                    const unsigned char *piece, size_t n, uint64_t offset)
{
    struct fm_error why = {0};
    uint64_t made = 0;
    size_t produced;
    bool full = false;
    if (stream->inflate_bad) {
        fm_perf_note(perf, FM_DIAG_INFLATE, offset, 1);
        return true;
    }
    if (!start_inner(perf, stream))
        return false;
    struct fm_perf_stream *inner = stream->inner;
    inner->origin = offset;
    while (n > 0 || full) {
        if (!make_room(perf, inner, offset))
            return false;
        struct fm_perf_block *block = &perf->blocks.block[inner->block];
        size_t room = FM_PERF_BLOCK - inner->fill;
        enum fm_status status = fm_inflate_run(stream->inflate, &piece, &n,
                                               block->data + inner->fill, room, &produced, &why);
        inner->fill += produced;
        block->n = (uint32_t)inner->fill;
        made += produced;
        full = produced == room;
        if (!cut_records(perf, inner))
            return false;
        if (status == FM_OK && made > PIECE_MAX)
            status = fm_error_set(&why, FM_LIMIT, "more than %llu bytes come out of it",
                                  (unsigned long long)PIECE_MAX);
        if (status != FM_OK)
            return inflate_failed(perf, stream, offset, status, &why);
        if (inner->inflate_bad) {       /* what it holds are no records */
            stream->inflate_bad = true;
            return true;
        }
        if (n > 0 && produced == 0 && room > 0 && !full)
            break;
    }
    /* inflated bytes cannot be dropped: when too many wait, deliver the older half */
    if (perf->blocks.kept > KEPT_MAX && !perf->hold)
        return fm_perf_flush(perf, fm_order_half(&perf->order));
    return true;
}

static uint64_t round_up8(uint64_t n)
{
    return n > UINT64_MAX - 7 ? UINT64_MAX : (n + 7) & ~(uint64_t)7;
}

/* True when sub-record headers follow one another from `at` and end exactly at n. *steps are spent
 * on it: bytes made to look like headers everywhere must not cost n squared. */
static bool chain_fits(const struct fm_perf *perf, const unsigned char *p, size_t n, size_t at,
                       size_t *steps)
{
    while (at < n) {
        struct fm_cursor c;
        if (*steps == 0)
            return false;
        (*steps)--;
        fm_cursor_init(&c, p + at, n - at, 0, perf->swap);
        uint32_t type = fm_cursor_u32(&c);
        uint16_t misc = fm_cursor_u16(&c), size = fm_cursor_u16(&c);
        if (!fm_cursor_ok(&c) || type != FM_PERF_R_COMPRESSED2 || misc != 0 || size < 16 ||
            size > n - at)
            return false;
        at += size;
    }
    return at == n;
}

/* p[n]: a COMPRESSED2 with its first header, of a size that is a total over sub-records. */
static bool inflate_many(struct fm_perf *perf, struct fm_perf_stream *stream,
                         const unsigned char *p, size_t n, uint64_t offset)
{
    size_t second = 65535, steps = n > SIZE_MAX / 8 ? n : 8 * n;
    if (n <= second || !chain_fits(perf, p, n, second, &steps))
        for (second = 17; second < n && !chain_fits(perf, p, n, second, &steps); second++)
            if (steps == 0) {
                second = n;     /* one piece, then: the stream itself will tell */
                break;
            }
    if (!inflate(perf, stream, p + 16, second - 16, offset))
        return false;
    for (size_t at = second; at < n;) {
        struct fm_cursor c;
        fm_cursor_init(&c, p + at, n - at, 0, perf->swap);
        fm_cursor_skip(&c, 6);
        size_t size = fm_cursor_u16(&c);
        if (!inflate(perf, stream, p + at + 16, size - 16, offset + at))
            return false;
        at += size;
    }
    return true;
}

/* --------------------------------------------------------------- cutting records */

/* Bytes behind a record that belong to it (tracing data, AUX data). */
static void skip_after(struct fm_perf_stream *stream, uint32_t type, uint64_t n, uint64_t offset)
{
    if (type == FM_PERF_R_AUXTRACE) {
        stream->skip = n;
        return;
    }
    stream->gather_type = type;
    stream->gather_need = n;
    stream->gather_n = 0;
    stream->gather_offset = offset;
}

/* Moves what there is of the bytes behind a record out of the block. */
static bool take_after(struct fm_perf *perf, struct fm_perf_stream *stream)
{
    const unsigned char *data = perf->blocks.block[stream->block].data + stream->parsed;
    size_t left = stream->fill - stream->parsed;
    if (stream->skip > 0) {
        size_t n = (size_t)FM_MIN(stream->skip, (uint64_t)left);
        stream->skip -= n;
        stream->parsed += n;
        return true;
    }
    size_t n = (size_t)FM_MIN(stream->gather_need - stream->gather_n, (uint64_t)left);
    if (!fm_grow(&perf->ctx->mem, (void **)&stream->gather, &stream->gather_cap,
                 stream->gather_n + n + 1, 1))
        return fm_perf_fail(perf, FM_NOMEM);
    memcpy(stream->gather + stream->gather_n, data, n);
    stream->gather_n += n;
    stream->parsed += n;
    if (stream->gather_n < stream->gather_need)
        return true;
    uint64_t need = stream->gather_need;
    stream->gather_need = 0;
    if (stream->gather_type >= FM_PERF_R_SIMPLEPERF)
        return fm_perf_simple_record(perf, stream->gather_type, stream->gather + FM_PERF_HEADER,
                                     (size_t)need - FM_PERF_HEADER,
                                     stream->gather_offset + FM_PERF_HEADER);
    return stream->gather_type == FM_PERF_R_COMPRESSED2
               ? inflate_many(perf, stream, stream->gather, (size_t)need, stream->gather_offset)
               : fm_perf_tracing(perf, stream->gather, (size_t)need, stream->gather_offset);
}

static bool is_status_text(const unsigned char *p, size_t left)
{
    return left >= FM_PERF_HEADER &&
           memcmp(p, STATUS_TEXT, FM_MIN(left, sizeof STATUS_TEXT - 1)) == 0;
}

/* Ends a stream at a record that cannot be one. */
static bool stop(struct fm_perf *perf, struct fm_perf_stream *stream, const unsigned char *p,
                 size_t left, uint32_t type, size_t size, uint64_t offset)
{
    stream->inflate_bad = true;
    stream->next = stream->end = 0;
    if (is_status_text(p, left)) {
        fm_perf_note(perf, FM_DIAG_STATUS_TEXT, offset, 1);
        return true;
    }
    fm_perf_damage(perf, FM_DIAG_RECORD_SIZE, FM_FORMAT, offset,
                   "record of type %lu has size %zu, needed at least %u", (unsigned long)type,
                   size, FM_PERF_HEADER);
    return true;
}

static void count_record(struct fm_perf *perf, uint32_t type, uint64_t offset)
{
    size_t k = fm_perf_record_slot(type);
    if (perf->count[k]++ == 0)
        perf->first[k] = offset;
    if (k == FM_PERF_R_KNOWN)
        fm_perf_note(perf, FM_DIAG_RECORD_UNKNOWN, offset, 1);
}

static bool kernel_record(struct fm_perf *perf, struct fm_perf_stream *stream, uint32_t type,
                          const unsigned char *p, size_t n, uint64_t offset)
{
    uint64_t time = time_of(perf, type, p, n);
    if (time != 0 && time != UINT64_MAX) {
        if (FM_LIKELY(time >= perf->order.done))
            return queue(perf, stream, time);
        fm_perf_note(perf, FM_DIAG_RECORD_ORDER, offset, 1);
    }
    return fm_perf_deliver(perf, p, n, offset);
}

/* simpleperf: pieces of a record that is too long for one; the pieces have a header of their own as
 * well, in front. */
static bool split_record(struct fm_perf *perf, struct fm_perf_stream *stream, uint32_t type,
                         const unsigned char *p, size_t n, uint64_t offset)
{
    if (type == FM_PERF_R_SPLIT) {
        n -= FM_PERF_HEADER;
        if (n > GATHER_MAX - stream->split_n)
            return true;
        if (!fm_grow(&perf->ctx->mem, (void **)&stream->split, &stream->split_cap,
                     stream->split_n + n + 1, 1))
            return fm_perf_fail(perf, FM_NOMEM);
        memcpy(stream->split + stream->split_n, p + FM_PERF_HEADER, n);
        stream->split_n += n;
        return true;
    }
    n = stream->split_n;
    stream->split_n = 0;
    uint32_t whole = n >= FM_PERF_HEADER ? fm_perf_u32(stream->split, perf->swap) : 0;
    if (whole < FM_PERF_R_SIMPLEPERF) {
        fm_perf_damage(perf, FM_DIAG_RECORD_BODY, FM_FORMAT, offset,
                       "a record in pieces: %zu bytes of no known type", n);
        return true;
    }
    count_record(perf, whole, offset);
    return fm_perf_simple_record(perf, whole, stream->split + FM_PERF_HEADER, n - FM_PERF_HEADER,
                                 offset);
}

static bool own_record(struct fm_perf *perf, struct fm_perf_stream *stream, uint32_t type,
                       const unsigned char *p, size_t n, uint64_t offset)
{
    struct fm_cursor c;
    fm_cursor_init(&c, p, n, offset, perf->swap);
    fm_cursor_skip(&c, FM_PERF_HEADER);
    if (FM_UNLIKELY(stream->input == NULL &&
                    (type == FM_PERF_R_COMPRESSED || type == FM_PERF_R_COMPRESSED2))) {
        fm_perf_damage(perf, FM_DIAG_RECORD_BODY, FM_FORMAT, offset,
                       "compressed record inside a compressed record");
        return true;
    }
    switch (type) {
    case FM_PERF_R_FINISHED_ROUND:
        return finish_round(perf);
    case FM_PERF_R_COMPRESSED:
        return inflate(perf, stream, p + FM_PERF_HEADER, n - FM_PERF_HEADER, offset);
    case FM_PERF_R_COMPRESSED2: {
        uint64_t data = fm_cursor_u64(&c);
        return inflate(perf, stream, p + 16, (size_t)FM_MIN(data, (uint64_t)(n - 16)), offset);
    }
    case FM_PERF_R_TRACING_DATA:
        if (n > 16)     /* older simpleperf: inside */
            return fm_perf_simple_record(perf, type, p + FM_PERF_HEADER, n - FM_PERF_HEADER,
                                         offset + FM_PERF_HEADER);
        skip_after(stream, type, fm_cursor_u32(&c), offset + n);
        return true;
    case FM_PERF_R_AUXTRACE:
        skip_after(stream, type, fm_cursor_u64(&c), offset + n);
        return fm_perf_user_record(perf, p, n, offset);
    case FM_PERF_R_SPLIT:
    case FM_PERF_R_SPLIT_END:
        return split_record(perf, stream, type, p, n, offset);
    default:
        return type >= FM_PERF_R_SIMPLEPERF
                   ? fm_perf_simple_record(perf, type, p + FM_PERF_HEADER, n - FM_PERF_HEADER,
                                           offset + FM_PERF_HEADER)
                   : fm_perf_user_record(perf, p, n, offset);
    }
}

/* The size of the record at p (left bytes, 8 or more); 0 when there are too few to tell. */
static uint64_t record_size(const struct fm_perf *perf, const unsigned char *p, size_t left,
                            uint32_t *type)
{
    struct fm_cursor c;
    fm_cursor_init(&c, p, left, 0, perf->swap);
    *type = fm_cursor_u32(&c);
    uint32_t misc = fm_cursor_u16(&c), size = fm_cursor_u16(&c);
    if (FM_LIKELY(*type < FM_PERF_R_COMPRESSED2))
        return size;
    if (*type == FM_PERF_R_COMPRESSED2) {
        if (left < 16)
            return 0;
        uint64_t data = fm_cursor_u64(&c);
        uint64_t whole = fm_add_sat_u64(data, 16);
        return round_up8(whole) > 65535 ? whole : FM_MAX((uint64_t)size, 16u);
    }
    if (*type >= FM_PERF_R_SIMPLEPERF)
        return (uint64_t)misc << 16 | size;
    return size;
}

/* Records of the stream's block, as far as they are whole. */
static bool cut_records(struct fm_perf *perf, struct fm_perf_stream *stream)
{
    while (stream->fill - stream->parsed > 0) {
        struct fm_perf_block *block = &perf->blocks.block[stream->block];
        const unsigned char *p = block->data + stream->parsed;
        size_t left = stream->fill - stream->parsed;
        uint64_t offset = stream->input != NULL ? block->offset + stream->parsed : stream->origin;
        uint32_t type;
        if (FM_UNLIKELY(stream->skip > 0 || stream->gather_need > 0)) {
            if (!take_after(perf, stream))
                return false;
            continue;
        }
        if (left < FM_PERF_HEADER)
            return true;
        uint64_t size = record_size(perf, p, left, &type);
        if (size == 0 && type == FM_PERF_R_COMPRESSED2)
            return true;
        if (FM_UNLIKELY(size < FM_PERF_HEADER ||
                        (type >= FM_PERF_R_SIMPLEPERF && is_status_text(p, left))))
            return stop(perf, stream, p, left, type, (size_t)size, offset);
        if (FM_UNLIKELY(size > 65535)) {
            count_record(perf, type, offset);
            stream->records++;
            if ((type == FM_PERF_R_COMPRESSED2 || type >= FM_PERF_R_SIMPLE_FIRST) &&
                type <= FM_PERF_R_SIMPLE_LAST && size <= GATHER_MAX)
                skip_after(stream, type, size, offset);
            else
                stream->skip = size;
            continue;
        }
        if (size > left)
            return true;
        count_record(perf, type, offset);
        stream->records++;
        if (!(type < FM_PERF_R_USER ? kernel_record(perf, stream, type, p, (size_t)size, offset)
                                    : own_record(perf, stream, type, p, (size_t)size, offset)))
            return false;
        stream->parsed += (size_t)size;
    }
    return true;
}

/* ------------------------------------------------------------------------ reading */

/* More bytes into the stream's block; *got = 0 at the end. */
static bool fill(struct fm_perf *perf, struct fm_perf_stream *stream, size_t *got)
{
    *got = 0;
    if (stream->next >= stream->end)
        return true;
    if (!make_room(perf, stream, stream->next))
        return false;
    struct fm_perf_block *block = &perf->blocks.block[stream->block];
    size_t room = FM_PERF_BLOCK - stream->fill;
    enum fm_status status;
    room = (size_t)FM_MIN((uint64_t)room, stream->end - stream->next);
    if (stream->reader != NULL) {
        const unsigned char *data;
        size_t n;
        status = fm_reader_peek(stream->reader, 1, &data, &n, perf->err);
        if (status == FM_OK && n > 0) {
            *got = FM_MIN(n, room);
            memcpy(block->data + stream->fill, data, *got);
            fm_reader_consume(stream->reader, *got);
        }
    } else {
        status = fm_input_read_at(stream->input, stream->next, block->data + stream->fill, room,
                                  got, perf->err);
    }
    if (status != FM_OK && (status == FM_NOMEM || status == FM_CANCELLED || status == FM_IO))
        return fm_perf_fail(perf, status);
    if (status != FM_OK) {      /* broken or oversized compression around the whole input */
        fm_perf_damage(perf, status == FM_LIMIT ? FM_DIAG_INFLATE_LIMIT : FM_DIAG_INFLATE, status,
                       stream->next, "the compressed input ends here");
        stream->end = stream->next;
    }
    stream->fill += *got;
    stream->next += *got;
    block->n = (uint32_t)stream->fill;
    perf->done += *got;
    return true;
}

/* Long runs of bytes nobody wants are not read where the file can be read anywhere. */
static void jump(struct fm_perf_stream *stream)
{
    if (stream->skip == 0 || stream->reader != NULL || stream->next >= stream->end)
        return;
    uint64_t n = FM_MIN(stream->skip, stream->end - stream->next);
    stream->skip -= n;
    stream->next += n;
    stream->fill = stream->parsed = FM_PERF_BLOCK;   /* the next bytes begin another block */
}

bool fm_perf_stream_run(struct fm_perf *perf, struct fm_perf_stream *stream)
{
    size_t got;
    for (;;) {
        if (!fill(perf, stream, &got))
            return false;
        if (got == 0)
            break;
        if (!cut_records(perf, stream))
            return false;
        jump(stream);
        if ((++perf->ticks & 15) == 0 && !fm_ctx_tick(perf->ctx, perf->done, perf->total))
            return fm_perf_fail(perf, FM_CANCELLED);
    }
    size_t left = stream->end == 0 ? 0 : stream->fill - stream->parsed;
    uint64_t offset = stream->next - left;
    struct fm_perf_stream *inner = stream->inner;
    if (stream->skip > 0 || stream->gather_need > stream->gather_n)
        fm_perf_damage(perf, FM_DIAG_TRUNCATED, FM_TRUNCATED, stream->next,
                       "data behind a record: needed %llu bytes more, 0 left",
                       (unsigned long long)(stream->skip + stream->gather_need -
                                            stream->gather_n));
    else if (left > 0) {
        const unsigned char *p = perf->blocks.block[stream->block].data + stream->parsed;
        uint32_t type = 0;
        uint64_t size = left >= FM_PERF_HEADER ? record_size(perf, p, left, &type) : 0;
        if (is_status_text(p, left))
            return stop(perf, stream, p, left, type, 0, offset);
        fm_perf_damage(perf, FM_DIAG_TRUNCATED, FM_TRUNCATED, offset,
                       "record: needed %llu bytes, %zu left",
                       (unsigned long long)FM_MAX(size, (uint64_t)FM_PERF_HEADER), left);
    } else if (inner != NULL && inner->fill > inner->parsed && !inner->inflate_bad) {
        fm_perf_damage(perf, FM_DIAG_TRUNCATED, FM_TRUNCATED, inner->origin,
                       "compressed stream ends inside a record: %zu bytes left",
                       inner->fill - inner->parsed);
    }
    return true;
}
