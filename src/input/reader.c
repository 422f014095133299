/*
 * reader.c - readers: windows of their own over a file or memory, or the one window of a stream.
 *
 * The hash of the whole input is kept as long as a reader goes front to back; a seek, or a skip of
 * more than HASH_SKIP bytes, ends it, whatever the input is: the same for a file and a pipe.
 */
#include "input/inner.h"

#define HASH_SKIP ((uint64_t)64 << 10)
#define SKIP_PIECE ((size_t)64 << 10)

struct fm_reader {
    struct fm_input *input;
    struct fm_window *window;   /* &own, or the input's front */
    struct fm_window own;
    struct fm_hash *hash;       /* NULL: not hashing (memory is hashed at its end) */
    bool whole;                 /* front to back so far */
    bool in_line;               /* within a line that was cut */
};

static void hash_piece(void *user, const unsigned char *data, size_t n)
{
    struct fm_reader *reader = user;
    if (reader->whole)
        fm_hash_add(reader->hash, data, n);
}

/* Hashes what the window holds already, then what is filled in. */
static enum fm_status start_hash(struct fm_reader *reader, struct fm_error *err)
{
    struct fm_window *w = reader->window;
    reader->whole = true;
    if (reader->input->kind == FM_INPUT_MEMORY)
        return FM_OK;
    reader->hash = fm_hash_new(&reader->input->ctx->mem);
    if (reader->hash == NULL)
        return fm_error_nomem(err);
    if (fm_window_have(w) > 0)
        fm_hash_add(reader->hash, w->data + w->pos, fm_window_have(w));
    w->filled = hash_piece;
    w->filled_user = reader;
    return FM_OK;
}

static enum fm_status start_window(struct fm_reader *reader, struct fm_error *err)
{
    struct fm_input *input = reader->input;
    struct fm_mem *mem = &input->ctx->mem;
    const unsigned char *data;
    size_t n;
    if (input->kind == FM_INPUT_STREAM) {
        if (input->taken)
            return fm_error_at(err, FM_UNSUPPORTED, input->name, FM_NO_OFFSET,
                               "can be read only once, front to back");
        /* For the hash of the head, before it is consumed; damage comes again when it is read. */
        if (fm_input_head(input, &data, &n, NULL) == FM_NOMEM)
            return fm_error_nomem(err);
        input->taken = true;
        reader->window = &input->front;
        return FM_OK;
    }
    reader->window = &reader->own;
    if (input->kind == FM_INPUT_MEMORY) {
        fm_window_init_memory(&reader->own, input->data, (size_t)input->size);
        reader->own.error = input->damage;
        return FM_OK;
    }
    struct fm_stage *stage = fm_stage_file(mem, input->fd, input->base, input->name);
    if (stage == NULL)
        return fm_error_nomem(err);
    fm_window_init(&reader->own, mem, stage);
    return FM_OK;
}

enum fm_status fm_reader_open(struct fm_input *input, struct fm_reader **reader,
                              struct fm_error *err)
{
    *reader = NULL;
    if (input->kind == FM_INPUT_DIR)
        return fm_error_at(err, FM_FORMAT, input->name, FM_NO_OFFSET, "is a directory");
    struct fm_reader *r = fm_mem_zalloc(&input->ctx->mem, sizeof *r);
    if (r == NULL)
        return fm_error_nomem(err);
    r->input = input;
    atomic_fetch_add(&input->readers, 1);
    enum fm_status status = start_window(r, err);
    if (status == FM_OK)
        status = start_hash(r, err);
    if (status == FM_OK)
        *reader = r;
    else
        fm_reader_close(r);
    return status;
}

void fm_reader_close(struct fm_reader *reader)
{
    if (reader == NULL)
        return;
    struct fm_input *input = reader->input;
    if (reader->window == &input->front) {
        input->front.filled = NULL;
        /* Nothing consumed: another reader may start. */
        input->taken = input->front.offset != 0;
    }
    fm_window_release(&reader->own);
    fm_hash_free(reader->hash, &input->ctx->mem);
    atomic_fetch_sub(&input->readers, 1);
    fm_mem_free(&input->ctx->mem, reader, sizeof *reader);
}

/* The end was seen: what has been hashed is the whole. */
static void publish_hash(struct fm_reader *reader)
{
    struct fm_input *input = reader->input;
    uint64_t hash = reader->hash != NULL ? fm_hash_get(reader->hash)
                                         : fm_hash_of(input->data, (size_t)input->size);
    reader->whole = false;
    if (!atomic_load(&input->hashed)) {
        atomic_store(&input->hash, hash);
        atomic_store(&input->hashed, true);
    }
}

enum fm_status fm_reader_peek(struct fm_reader *reader, size_t need, const unsigned char **data,
                              size_t *n, struct fm_error *err)
{
    struct fm_window *w = reader->window;
    enum fm_status status = fm_window_peek(w, need, data, n, err);
    if (FM_LIKELY(*n >= need || status != FM_OK))
        return status;
    /* The end, or the place where a spool ends in damage. */
    const struct fm_error *damage = &reader->input->damage;
    if (damage->status != FM_OK) {
        if (err != NULL && err->status == FM_OK)
            *err = *damage;
        return damage->status;
    }
    if (reader->whole)
        publish_hash(reader);
    return FM_OK;
}

void fm_reader_consume(struct fm_reader *reader, size_t n)
{
    fm_window_consume(reader->window, n);
}

/* Skips by reading. */
static enum fm_status skip_through(struct fm_reader *reader, uint64_t n, uint64_t *skipped,
                                   struct fm_error *err)
{
    while (*skipped < n) {
        const unsigned char *data;
        size_t have, want = (size_t)FM_MIN(n - *skipped, (uint64_t)SKIP_PIECE);
        enum fm_status status = fm_reader_peek(reader, want, &data, &have, err);
        size_t step = (size_t)FM_MIN((uint64_t)have, n - *skipped);
        fm_window_consume(reader->window, step);
        *skipped += step;
        if (status != FM_OK)
            return status;
        if (have < want)
            break;
    }
    return FM_OK;
}

enum fm_status fm_reader_skip(struct fm_reader *reader, uint64_t n, uint64_t *skipped,
                              struct fm_error *err)
{
    struct fm_input *input = reader->input;
    struct fm_window *w = reader->window;
    *skipped = 0;
    if (n <= HASH_SKIP)
        return skip_through(reader, n, skipped, err);
    reader->whole = false;
    if (input->kind == FM_INPUT_FILE && n > fm_window_have(w)) {
        /* All but the last byte without reading: it tells whether there were that many. */
        uint64_t behind = n - fm_window_have(w), left = w->stage->left(w->stage);
        uint64_t jump = FM_MIN(behind, left);
        if (jump > 0)
            jump--;
        *skipped = fm_window_have(w) + jump;
        fm_window_seek(w, w->offset + *skipped);
    }
    return skip_through(reader, n, skipped, err);
}

enum fm_status fm_reader_seek(struct fm_reader *reader, uint64_t offset, struct fm_error *err)
{
    struct fm_input *input = reader->input;
    if (input->kind == FM_INPUT_STREAM)
        return fm_error_at(err, FM_UNSUPPORTED, input->name, offset, "cannot go back or forth");
    if (offset != reader->window->offset)
        reader->whole = false;
    reader->in_line = false;
    fm_window_seek(reader->window, offset);
    return FM_OK;
}

uint64_t fm_reader_offset(const struct fm_reader *reader)
{
    return reader->window->offset;
}

uint64_t fm_reader_raw_offset(const struct fm_reader *reader)
{
    return fm_window_raw(reader->window);
}

/* Passes over the rest of a line that was cut. */
static enum fm_status finish_line(struct fm_reader *reader, struct fm_error *err)
{
    for (;;) {
        const unsigned char *p;
        size_t n;
        enum fm_status status = fm_reader_peek(reader, 1, &p, &n, err);
        if (n == 0) {
            reader->in_line = false;
            return status;
        }
        const unsigned char *nl = memchr(p, '\n', n);
        fm_window_consume(reader->window, nl != NULL ? (size_t)(nl - p) + 1 : n);
        if (nl != NULL) {
            reader->in_line = false;
            return FM_OK;
        }
    }
}

/* The line p[0..length) with its \n behind: takes it, cuts \r and what is longer than max. */
static inline void take_line(struct fm_reader *reader, const unsigned char *p, size_t length,
                             size_t max, size_t *n, bool *cut)
{
    fm_window_consume(reader->window, length + 1);
    if (length > 0 && p[length - 1] == '\r')
        length--;
    *cut = length > max;
    *n = FM_MIN(length, max);
}

/* A line that may not end within the window. */
static enum fm_status line_slowly(struct fm_reader *reader, size_t max, size_t limit,
                                  const char **line, size_t *n, bool *cut, bool *end,
                                  struct fm_error *err)
{
    const unsigned char *p;
    size_t have, seen = 0;
    for (;;) {
        enum fm_status status = fm_reader_peek(reader, seen + 1, &p, &have, err);
        size_t look = FM_MIN(have, limit);
        const unsigned char *nl = look > seen ? memchr(p + seen, '\n', look - seen) : NULL;
        *line = (const char *)p;
        if (nl != NULL) {
            take_line(reader, p, (size_t)(nl - p), max, n, cut);
            return FM_OK;
        }
        if (look == limit) {
            fm_window_consume(reader->window, max);
            reader->in_line = *cut = true;
            *n = max;
            return FM_OK;
        }
        if (have <= seen) {
            /* The end. Damage: the piece of a line stays where it is, it may be half a number. */
            *n = FM_MIN(have, max);
            *cut = have > max;
            if (status != FM_OK)
                return status;
            fm_window_consume(reader->window, have);
            *end = have == 0;
            return FM_OK;
        }
        seen = look;
    }
}

enum fm_status fm_reader_line(struct fm_reader *reader, size_t max, const char **line, size_t *n,
                              uint64_t *offset, bool *cut, bool *end, struct fm_error *err)
{
    struct fm_window *w = reader->window;
    size_t limit; /* the line and its \r\n */
    *line = "";
    *n = 0;
    *cut = *end = false;
    if (!fm_add_size(max, 2, &limit))
        limit = SIZE_MAX;
    if (FM_UNLIKELY(reader->in_line)) {
        enum fm_status status = finish_line(reader, err);
        if (status != FM_OK)
            return status;
    }
    *offset = w->offset;
    size_t look = FM_MIN(fm_window_have(w), limit);
    if (FM_LIKELY(look > 0)) {
        const unsigned char *p = w->data + w->pos, *nl = memchr(p, '\n', look);
        if (FM_LIKELY(nl != NULL)) {
            *line = (const char *)p;
            take_line(reader, p, (size_t)(nl - p), max, n, cut);
            return FM_OK;
        }
    }
    return line_slowly(reader, max, limit, line, n, cut, end, err);
}
