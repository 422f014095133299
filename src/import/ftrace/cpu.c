/*
 * cpu.c - the pages of one CPU to events.
 *
 *     not packed    page | page | ...
 *     packed        u32 chunks, each { u32 packed size, u32 size, bytes } -> page | page | ...
 *
 * A call chain is an event of its own (kernel_stack, user_stack) that the kernel writes behind the
 * event that it belongs to: on the same CPU, of the same task. It joins that event here; one that
 * follows no event is counted.
 */
#include "import/ftrace/ftrace.h"

#include "util/error.h"

#define BLOCK ((size_t)64 << 10)
#define CHUNK_MAX ((uint32_t)64 << 20)
#define RATIO_MAX 256u           /* unpacked bytes for a packed one: nothing real comes near */
#define CHAIN_MAX 4096u

/* ------------------------------------------------------------------ bytes */

static bool plausible(size_t in, size_t n)
{
    return n <= CHUNK_MAX && n / RATIO_MAX <= in + 64;
}

/* All of a packed block into n bytes at `out`; *got of them were there. */
static bool unpack(struct fm_ftrace *f, struct fm_cursor *in, unsigned char *out, size_t n,
                   size_t *got, struct fm_error *err)
{
    struct fm_inflate *inflate = NULL;
    enum fm_status status;
    *got = 0;
    if (f->codec == NULL) {
        fm_error_set(err, FM_UNSUPPORTED, "the compression is not known");
        return false;
    }
    if (f->zlib)
        fm_cursor_skip(in, 2);
    size_t left = fm_cursor_left(in);
    const unsigned char *p = fm_cursor_bytes(in, left);
    if (!fm_cursor_ok(in))
        return false;
    status = fm_inflate_new(f->ctx, f->codec, &inflate, err);
    while (status == FM_OK && *got < n) {
        size_t made = 0, before = left;
        status = fm_inflate_run(inflate, &p, &left, out + *got, n - *got, &made, err);
        *got += made;
        if (made == 0 && left == before)
            break;
    }
    fm_inflate_free(inflate);
    if (status == FM_NOMEM)
        return fm_ftrace_fail(f, FM_NOMEM);
    return *got == n;
}

bool fm_ftrace_unpack(struct fm_ftrace *f, struct fm_cursor *in, size_t n, unsigned char **data,
                      size_t *got, struct fm_error *err)
{
    if (!plausible(fm_cursor_left(in), n)) {
        fm_error_set(err, FM_FORMAT, "%zu bytes of %zu", n, fm_cursor_left(in));
        return false;
    }
    *data = fm_arena_alloc(&f->arena, n + 1);
    if (*data == NULL)
        return fm_ftrace_fail(f, FM_NOMEM);
    return unpack(f, in, *data, n, got, err);
}

/* n bytes of the stream's part of the input into `to`; false: failed, or over with damage. */
static bool take(struct fm_ftrace *f, struct fm_ftrace_stream *s, unsigned char *to, size_t n)
{
    size_t got = 0;
    if (n <= s->end - s->at) {
        enum fm_status status = fm_input_read_at(f->input, s->at, to, n, &got, f->err);
        if (status != FM_OK) {
            f->status = status;
            return false;
        }
    }
    if (got < n) {
        fm_ftrace_damage(f, FM_DIAG_TRUNCATED, FM_TRUNCATED, s->at,
                         "pages of cpu %u: needed %zu bytes, %llu left", (unsigned)s->cpu, n,
                         (unsigned long long)(s->end - s->at));
        s->over = true;
        return false;
    }
    s->at += n;
    f->done += n;
    return true;
}

static uint32_t word(const struct fm_ftrace *f, const unsigned char *p)
{
    uint32_t v = fm_load_u32(p);
    return f->swap ? __builtin_bswap32(v) : v;
}

static bool room(struct fm_ftrace *f, struct fm_ftrace_stream *s, size_t n)
{
    return fm_grow(&f->ctx->mem, (void **)&s->block, &s->block_cap, n, 1) ||
           fm_ftrace_fail(f, FM_NOMEM);
}

/* The next chunk into s->block; false: failed, or over. */
static bool next_chunk(struct fm_ftrace *f, struct fm_ftrace_stream *s)
{
    unsigned char head[8];
    struct fm_error err = {0};
    struct fm_cursor in;
    if (!s->begun) {
        s->begun = true;
        if (!take(f, s, head, 4))
            return false;
        s->chunks = word(f, head);
    }
    if (s->chunks == 0) {
        s->over = true;
        return false;
    }
    s->chunks--;
    s->block_offset = s->at;
    if (!take(f, s, head, 8))
        return false;
    uint32_t packed = word(f, head), n = word(f, head + 4);
    if (packed > s->end - s->at || !plausible(packed, n)) {
        fm_ftrace_damage(f, FM_DIAG_TRACE_PAGE, FM_FORMAT, s->block_offset,
                         "a chunk of %u bytes that holds %u: %llu bytes left", (unsigned)packed,
                         (unsigned)n, (unsigned long long)(s->end - s->at));
        s->over = true;
        return false;
    }
    /* the packed bytes stand behind the place of the others */
    if (!room(f, s, (size_t)n + packed) || !take(f, s, s->block + n, packed))
        return false;
    fm_cursor_init(&in, s->block + n, packed, s->block_offset + 8, f->swap);
    if (!unpack(f, &in, s->block, n, &s->block_n, &err) && f->status == FM_OK)
        fm_ftrace_damage(f, FM_DIAG_INFLATE, FM_FORMAT, s->block_offset,
                         "a chunk of pages does not unpack%s%s",
                         err.message[0] != '\0' ? ": " : "", err.message);
    return f->status == FM_OK;
}

static bool next_block(struct fm_ftrace *f, struct fm_ftrace_stream *s)
{
    s->block_at = s->block_n = 0;
    if (s->packed)
        return next_chunk(f, s);
    size_t page = f->buffer[s->buffer].page_size;
    uint64_t n = FM_MIN(FM_MAX(BLOCK / page, (size_t)1) * page, s->end - s->at);
    if (n == 0) {
        s->over = true;
        return false;
    }
    s->block_offset = s->at;
    if (!room(f, s, (size_t)n) || !take(f, s, s->block, (size_t)n))
        return false;
    s->block_n = (size_t)n;
    return true;
}

/* ------------------------------------------------------------------ events */

static void open_page(struct fm_ftrace *f, struct fm_ftrace_stream *s)
{
    size_t page = f->buffer[s->buffer].page_size, n = FM_MIN(page, s->block_n - s->block_at);
    uint64_t offset = s->block_offset + (s->packed ? 0 : s->block_at);
    s->opened = true;
    if (!fm_page_open(&s->page, &f->shape, s->block + s->block_at, n, offset)) {
        s->opened = false;
        fm_ftrace_damage(f, FM_DIAG_TRACE_PAGE, FM_FORMAT, offset,
                         "the head of a page of cpu %u says what cannot be", (unsigned)s->cpu);
    } else if (s->page.missed) {
        fm_ftrace_note(f, FM_DIAG_TRACE_MISSED, offset, FM_MAX(s->page.missed_n, UINT64_C(1)));
    }
    s->block_at += n;
}

/* Reads one event ahead, when none is; false: failed, or over. */
static bool look(struct fm_ftrace *f, struct fm_ftrace_stream *s)
{
    while (!s->ahead) {
        if (!s->opened) {
            if (s->over || (s->block_at == s->block_n && !next_block(f, s)))
                return false;
            open_page(f, s);
            continue;
        }
        uint64_t offset = s->packed ? s->block_offset : fm_cursor_offset(&s->page.c);
        enum fm_page_result result = fm_page_next(&s->page, &s->next, &s->next_n);
        if (result == FM_PAGE_EVENT) {
            s->next_time = s->page.time;
            s->next_offset = offset;
            s->ahead = true;
            break;
        }
        s->opened = false;
        if (result == FM_PAGE_BAD)
            fm_ftrace_damage(f, FM_DIAG_TRACE_PAGE, FM_FORMAT, offset,
                             "a page of cpu %u breaks off", (unsigned)s->cpu);
    }
    return true;
}

/* The four fields that every event begins with. */
static bool common(const struct fm_ftrace *f, const unsigned char *p, size_t n, uint16_t *id,
                   uint8_t *flags, uint8_t *preempt, int32_t *pid)
{
    struct fm_cursor c;
    fm_cursor_init(&c, p, n, 0, f->swap);
    *id = fm_cursor_u16(&c);
    *flags = fm_cursor_u8(&c);
    *preempt = fm_cursor_u8(&c);
    *pid = fm_cursor_i32(&c);
    return fm_cursor_ok(&c);
}

static void count(struct fm_ftrace *f, uint16_t id, uint64_t offset)
{
    const uint64_t *place = fm_map_find(&f->by_id, id);
    if (place == NULL || *place == 0)
        return;
    struct fm_ftrace_event *event = &f->event[*place - 1];
    if (event->seen++ == 0)
        event->first = offset;
}

/* The addresses of the chain that was read ahead. */
static bool read_chain(struct fm_ftrace *f, const struct fm_ftrace_stream *s, uint32_t at,
                       struct fm_ftrace_chain *chain)
{
    struct fm_cursor c;
    fm_cursor_init(&c, s->next, s->next_n, s->next_offset, f->swap);
    fm_cursor_skip(&c, at);
    size_t n = FM_MIN(fm_cursor_left(&c) / f->long_size, (size_t)CHAIN_MAX);
    chain->n = 0;
    if (!fm_grow(&f->ctx->mem, (void **)&chain->word, &chain->cap, n + 1, sizeof *chain->word))
        return fm_ftrace_fail(f, FM_NOMEM);
    for (size_t i = 0; i < n; i++) {
        uint64_t v = f->long_size == 4 ? fm_cursor_u32(&c) : fm_cursor_u64(&c);
        if (v == (f->long_size == 4 ? UINT32_MAX : UINT64_MAX) || v == 0)
            break;
        chain->word[chain->n++] = v;
    }
    return true;
}

/* The chains that stand behind the record. */
static bool join_chains(struct fm_ftrace *f, struct fm_ftrace_stream *s)
{
    struct fm_ftrace_record *r = &s->record;
    bool has_kernel = false, has_user = false;
    uint16_t id;
    uint8_t flags, preempt;
    int32_t pid;
    r->kernel.n = r->user.n = 0;
    r->tgid = -1;
    while (look(f, s)) {
        if (!common(f, s->next, s->next_n, &id, &flags, &preempt, &pid) || pid != r->pid || id == 0)
            break;
        if (id == f->kernel_stack && !has_kernel) {
            has_kernel = true;
            if (!read_chain(f, s, f->kernel_at, &r->kernel))
                return false;
        } else if (id == f->user_stack && !has_user) {
            struct fm_cursor c;
            has_user = true;
            if (!read_chain(f, s, f->user_at, &r->user))
                return false;
            fm_cursor_init(&c, s->next, s->next_n, 0, f->swap);
            fm_cursor_skip(&c, f->tgid_at);
            int32_t tgid = fm_cursor_i32(&c);
            if (f->tgid_at != 0 && fm_cursor_ok(&c) && tgid > 0)
                r->tgid = tgid;
        } else {
            break;
        }
        count(f, id, s->next_offset);
        s->ahead = false;
    }
    return f->status == FM_OK;
}

bool fm_ftrace_stream_next(struct fm_ftrace *f, struct fm_ftrace_stream *s)
{
    struct fm_ftrace_record *r = &s->record;
    s->has_record = false;
    while (look(f, s)) {
        s->ahead = false;
        if (!common(f, s->next, s->next_n, &r->id, &r->flags, &r->preempt, &r->pid)) {
            f->dropped++;
            fm_account_drop(f->builder, FM_DIAG_SAMPLE_BODY, s->next_offset, 1);
            continue;
        }
        count(f, r->id, s->next_offset);
        if (r->id != 0 && (r->id == f->kernel_stack || r->id == f->user_stack)) {
            fm_ftrace_note(f, FM_DIAG_TRACE_STACK, s->next_offset, 1);
            continue;
        }
        if (!fm_grow(&f->ctx->mem, (void **)&s->copy, &s->copy_cap, s->next_n + 1, 1))
            return fm_ftrace_fail(f, FM_NOMEM);
        memcpy(s->copy, s->next, s->next_n);
        r->data = s->copy;
        r->n = s->next_n;
        r->time = s->next_time;
        r->offset = s->next_offset;
        s->has_record = true;
        return join_chains(f, s);
    }
    return f->status == FM_OK;
}

void fm_ftrace_stream_release(struct fm_ftrace *f, struct fm_ftrace_stream *s)
{
    struct fm_mem *mem = &f->ctx->mem;
    fm_mem_free(mem, s->block, s->block_cap);
    fm_mem_free(mem, s->copy, s->copy_cap);
    fm_mem_free(mem, s->record.kernel.word, s->record.kernel.cap * sizeof(uint64_t));
    fm_mem_free(mem, s->record.user.word, s->record.user.cap * sizeof(uint64_t));
}
