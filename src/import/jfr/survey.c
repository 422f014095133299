/*
 * survey.c - the first walk over a chunk: types, counts, pools, settings; see chunk.h.
 *
 * Checkpoints are met by the walk, and by the chain that the header begins: each tells where the
 * one before it is. The chain alone reaches behind damage; the walk alone does not need it. Pools
 * are taken from the newest checkpoint to the oldest, the first value of a key counts.
 */
#include "import/jfr/v0.h"

#include "util/error.h"

#include <stdlib.h>

#define SAVED_MAX ((size_t)8 << 20)  /* bytes of kept events */
#define METADATA_MAX ((size_t)256 << 20)
#define CHECKPOINT_MAX ((size_t)1 << 32)

struct survey {
    struct fm_jfr_chunk *chunk;
    struct fm_jfr_feed *feed;
    struct fm_input *input;
    struct fm_reader *reader;
    struct fm_error *err;
    enum fm_status status;
    bool whole;                     /* the walk reached the end */
    struct fm_map seen;             /* offsets of checkpoints */
};

static bool stop(struct survey *s, enum fm_status status)
{
    if (s->status == FM_OK)
        s->status = status;
    if (status == FM_NOMEM)
        fm_error_nomem(s->err);
    return false;
}

/* n bytes at an offset, allocated; fewer when the input ends. NULL: s->status. */
static unsigned char *read_bytes(struct survey *s, uint64_t offset, size_t n, size_t *got)
{
    unsigned char *p = fm_mem_alloc(s->chunk->mem, n);
    enum fm_status status;
    if (p == NULL) {
        stop(s, FM_NOMEM);
        return NULL;
    }
    status = fm_input_read_at(s->input, offset, p, n, got, s->err);
    if (status != FM_OK) {
        fm_mem_free(s->chunk->mem, p, n);
        stop(s, status);
        return NULL;
    }
    return p;
}

/* -------------------------------------------------------------------- metadata */

/* The head of an event at `offset`; false: there is none of that type. */
static bool head_at(struct survey *s, uint64_t offset, uint64_t type, uint64_t *size,
                    size_t *payload)
{
    unsigned char buf[18];
    struct fm_cursor c;
    size_t got = 0;
    uint64_t end = s->chunk->end;
    enum fm_status status;
    if (offset < s->chunk->offset + FM_JFR_HEADER || offset >= end)
        return false;
    status = fm_input_read_at(s->input, offset, buf, (size_t)FM_MIN(end - offset, sizeof buf),
                              &got, s->err);
    if (status != FM_OK)
        return stop(s, status);
    c = fm_jfr_cursor_of(buf, got, offset, fm_jfr_is_wide(&s->chunk->h));
    *size = fm_jfr_int(&c, 4);
    if (fm_jfr_int(&c, 8) != type || !fm_cursor_ok(&c))
        return false;
    *payload = (size_t)(fm_cursor_offset(&c) - offset);
    return *size > *payload;
}

/* Reads the metadata event there. */
static bool read_metadata(struct survey *s, uint64_t offset, const char **why, uint64_t *where)
{
    struct fm_jfr_chunk *chunk = s->chunk;
    struct fm_cursor c;
    unsigned char *p;
    size_t payload, n, got;
    uint64_t size;
    bool ok;
    *why = "there is no metadata event";
    *where = offset;
    if (!head_at(s, offset, 0, &size, &payload))
        return false;
    n = (size_t)FM_MIN(FM_MIN(size, chunk->end - offset), (uint64_t)METADATA_MAX);
    p = read_bytes(s, offset, n, &got);
    if (p == NULL)
        return false;
    c = fm_jfr_cursor_of(p, got, offset, fm_jfr_is_wide(&chunk->h));
    fm_cursor_skip(&c, payload);
    fm_jfr_meta_release(&chunk->meta);
    ok = fm_jfr_meta_read(&chunk->meta, &c, why);
    *where = fm_cursor_offset(&c);
    fm_mem_free(chunk->mem, p, n);
    if (chunk->meta.oom)
        return stop(s, FM_NOMEM);
    return ok;
}

/* The newest metadata event that the walk finds, other than the one at `not`. */
static uint64_t walk_to_metadata(struct survey *s, uint64_t not)
{
    struct fm_jfr_walk w;
    struct fm_jfr_event_head head;
    uint64_t found = 0;
    enum fm_jfr_step_result r;
    fm_jfr_walk_init(&w, s->reader, s->chunk->offset + FM_JFR_HEADER, s->chunk->end, s->err);
    w.wide = fm_jfr_is_wide(&s->chunk->h);
    while ((r = fm_jfr_walk_next(&w, &head)) == FM_JFR_EVENT)
        if (head.type == 0 && head.offset != not)
            found = head.offset;
    if (r == FM_JFR_INPUT)
        stop(s, w.status);
    return found;
}

static bool find_metadata(struct survey *s)
{
    struct fm_jfr_chunk *chunk = s->chunk;
    uint64_t at = fm_add_sat_u64(chunk->offset, chunk->h.metadata), where, other, ignored;
    const char *why, *unused;
    if (chunk->end - chunk->offset <= FM_JFR_HEADER) {
        fm_jfr_damage(s->feed, FM_DIAG_JFR_METADATA, FM_TRUNCATED, chunk->end,
                      "chunk %llu: no metadata, no events", (unsigned long long)chunk->number);
        return false;
    }
    if (chunk->h.metadata == 0)
        at = chunk->offset + FM_JFR_HEADER;
    if (read_metadata(s, at, &why, &where))
        return true;
    if (s->status != FM_OK)
        return false;
    if (chunk->meta.encoding != 0)
        fm_jfr_damage(s->feed, FM_DIAG_JFR_METADATA, FM_FORMAT, where,
                      "metadata: unknown string encoding %u", chunk->meta.encoding);
    else
        fm_jfr_damage(s->feed, FM_DIAG_JFR_METADATA, FM_FORMAT, where, "metadata: %s", why);
    other = walk_to_metadata(s, at);
    return other != 0 && s->status == FM_OK && read_metadata(s, other, &unused, &ignored);
}

/* ------------------------------------------------------------------------ events */

static bool add_checkpoint(struct survey *s, uint64_t offset, uint64_t size)
{
    struct fm_jfr_chunk *chunk = s->chunk;
    bool fresh;
    if (fm_map_put(&s->seen, offset, &fresh) == NULL)
        return stop(s, FM_NOMEM);
    if (!fresh)
        return true;
    if (!fm_grow(chunk->mem, (void **)&chunk->checkpoint, &chunk->checkpoint_cap,
                 chunk->checkpoints + 1, sizeof *chunk->checkpoint))
        return stop(s, FM_NOMEM);
    chunk->checkpoint[chunk->checkpoints++] = (struct fm_jfr_span){offset, size};
    return true;
}

static bool save_event(struct survey *s, struct fm_jfr_walk *w, struct fm_jfr_event_head *head,
                       uint32_t class)
{
    struct fm_jfr_chunk *chunk = s->chunk;
    struct fm_jfr_saved *to;
    size_t n;
    if (head->size > SAVED_MAX - chunk->saved_bytes)
        return true;
    if (!fm_jfr_walk_whole(w, head, (size_t)head->size))
        return stop(s, w->status);
    if (head->have < head->size)
        return true;
    if (!fm_grow(chunk->mem, (void **)&chunk->saved, &chunk->saved_cap, chunk->saveds + 1,
                 sizeof *to))
        return stop(s, FM_NOMEM);
    n = (size_t)head->size - head->payload;
    to = &chunk->saved[chunk->saveds];
    *to = (struct fm_jfr_saved){class, (uint32_t)n, head->offset, NULL};
    unsigned char *p = fm_arena_alloc(&chunk->arena, n + 1);
    if (p == NULL)
        return stop(s, FM_NOMEM);
    memcpy(p, head->p + head->payload, n);
    to->p = p;
    chunk->saveds++;
    chunk->saved_bytes += (size_t)head->size;
    return true;
}

/* What an event is worth to the survey. */
static bool take_event(struct survey *s, struct fm_jfr_walk *w, struct fm_jfr_event_head *head,
                       const bool *keep)
{
    struct fm_jfr_chunk *chunk = s->chunk;
    uint32_t class;
    if (head->type == 1) {
        chunk->checkpoint_events++;
        return add_checkpoint(s, head->offset, head->size);
    }
    if (head->type == 0) {
        chunk->metadatas++;
        return true;
    }
    class = fm_jfr_meta_find(&chunk->meta, head->type);
    if (class == FM_JFR_NO_CLASS) {
        if (chunk->unknown++ == 0)
            chunk->unknown_first = head->offset;
        return true;
    }
    if (chunk->count[class]++ == 0)
        chunk->first[class] = head->offset;
    return !keep[class] || save_event(s, w, head, class);
}

static void bad_event(struct survey *s, const struct fm_jfr_event_head *head)
{
    struct fm_jfr_chunk *chunk = s->chunk;
    uint64_t left = chunk->end - head->offset;
    if (head->type == 1 && head->size > left)
        (void)add_checkpoint(s, head->offset, left);
    if (chunk->fault == FM_JFR_CUT || chunk->fault == FM_JFR_NEVER_FINISHED)
        return;                     /* told with the chunk */
    fm_jfr_damage(s->feed, FM_DIAG_JFR_EVENT_SIZE, FM_FORMAT, head->offset,
                  "chunk %llu: event of %llu bytes, %llu left: the rest of its events is lost",
                  (unsigned long long)chunk->number, (unsigned long long)head->size,
                  (unsigned long long)left);
}

static bool walk_events(struct survey *s)
{
    struct fm_jfr_chunk *chunk = s->chunk;
    size_t classes = chunk->meta.classes;
    struct fm_jfr_walk w;
    struct fm_jfr_event_head head;
    enum fm_jfr_step_result r;
    bool *keep = fm_arena_alloc(&chunk->arena, classes * sizeof *keep);
    chunk->count = fm_arena_alloc(&chunk->arena, classes * sizeof *chunk->count);
    chunk->first = fm_arena_alloc(&chunk->arena, classes * sizeof *chunk->first);
    if (keep == NULL || chunk->count == NULL || chunk->first == NULL)
        return stop(s, FM_NOMEM);
    for (size_t i = 0; i < classes; i++)
        keep[i] = fm_jfr_is_saved(chunk->meta.class[i].name);
    fm_jfr_walk_init(&w, s->reader, chunk->offset + FM_JFR_HEADER, chunk->end, s->err);
    w.wide = chunk->meta.wide;
    while ((r = fm_jfr_walk_next(&w, &head)) == FM_JFR_EVENT) {
        if (!take_event(s, &w, &head, keep))
            return false;
        fm_jfr_walk_past(&w, &chunk->meta, keep, chunk->count, chunk->first);
    }
    chunk->walked = w.at;
    if (r == FM_JFR_INPUT)
        return stop(s, w.status);
    s->whole = r == FM_JFR_END;
    if (r == FM_JFR_BAD_EVENT)
        bad_event(s, &head);
    return s->status == FM_OK;
}

/* ------------------------------------------------------------------------- pools */

static void bad_chain(struct survey *s, uint64_t offset, const char *why)
{
    fm_jfr_damage(s->feed, FM_DIAG_JFR_CHECKPOINT, FM_FORMAT, offset, "checkpoint: %s", why);
}

/* Checkpoints that only the header's chain reaches. */
static bool follow_chain(struct survey *s)
{
    struct fm_jfr_chunk *chunk = s->chunk;
    uint64_t at = fm_add_sat_u64(chunk->offset, chunk->h.checkpoint), size;
    size_t payload, before = chunk->checkpoints, got;
    struct fm_map chain;
    bool fresh = true;
    if (chunk->h.checkpoint == 0)
        return true;
    if (s->whole && fm_map_find(&s->seen, at) != NULL)
        return true;                /* the walk has met all of them */
    fm_map_init(&chain, chunk->mem);
    while (s->status == FM_OK) {
        unsigned char buf[64];
        int64_t delta;
        if (fm_map_put(&chain, at, &fresh) == NULL) {
            stop(s, FM_NOMEM);
            break;
        }
        if (!fresh)
            break;                  /* a loop; told when the deltas are checked */
        if (!head_at(s, at, 1, &size, &payload)) {
            if (s->status == FM_OK && (chunk->fault == FM_JFR_WHOLE || at < chunk->end))
                bad_chain(s, at, "there is none where the header or another one says");
            break;
        }
        if (!add_checkpoint(s, at, FM_MIN(size, chunk->end - at)))
            break;
        s->status = fm_input_read_at(s->input, at, buf, sizeof buf, &got, s->err);
        if (s->status != FM_OK ||
            !fm_jfr_checkpoint_delta(buf, got, chunk->meta.wide, &delta) || delta == 0)
            break;
        at += (uint64_t)delta;
    }
    fm_map_release(&chain);
    (void)before;
    return s->status == FM_OK;
}

static int newest_first(const void *a, const void *b)
{
    const struct fm_jfr_span *x = a, *y = b;
    return x->offset < y->offset ? 1 : x->offset > y->offset ? -1 : 0;
}

/* Each checkpoint names an earlier one, or none. */
static void check_delta(struct survey *s, const struct fm_jfr_span *at, const unsigned char *p,
                        size_t n)
{
    int64_t delta;
    if (!fm_jfr_checkpoint_delta(p, n, s->chunk->meta.wide, &delta) || delta == 0)
        return;
    if (delta > 0)
        bad_chain(s, at->offset, "its chain goes forwards");
    else if (fm_map_find(&s->seen, at->offset + (uint64_t)delta) == NULL && s->whole)
        bad_chain(s, at->offset, "its chain leads to where none is");
}

static bool load_checkpoint(struct survey *s, const struct fm_jfr_span *at)
{
    struct fm_jfr_chunk *chunk = s->chunk;
    struct fm_jfr_pool_fault fault;
    unsigned char *p;
    size_t n, got;
    if (at->size > CHECKPOINT_MAX) {
        bad_chain(s, at->offset, "it is larger than 4 GiB");
        return true;
    }
    n = (size_t)at->size;
    p = read_bytes(s, at->offset, n, &got);
    if (p == NULL)
        return false;
    memset(p + got, 0, n - got);
    check_delta(s, at, p, n);
    fm_jfr_pools_add(&chunk->pools, p, n, &fault);
    if (chunk->pools.oom || chunk->meta.oom)
        return stop(s, FM_NOMEM);
    if (fault.why != NULL && !(chunk->fault == FM_JFR_CUT && at->offset + n == chunk->end))
        fm_jfr_damage(s->feed, FM_DIAG_JFR_CHECKPOINT, FM_FORMAT, at->offset + fault.offset,
                      "checkpoint at %llu: %s", (unsigned long long)at->offset, fault.why);
    return true;
}

static bool load_pools(struct survey *s)
{
    struct fm_jfr_chunk *chunk = s->chunk;
    uint64_t bytes = 0;
    if (!fm_jfr_pools_init(&chunk->pools, &chunk->meta))
        return stop(s, FM_NOMEM);
    if (!follow_chain(s))
        return false;
    if (chunk->checkpoints > 0)
        qsort(chunk->checkpoint, chunk->checkpoints, sizeof *chunk->checkpoint, newest_first);
    for (size_t i = 0; i < chunk->checkpoints; i++) {
        /* none overlaps another in a sound chunk */
        bytes += chunk->checkpoint[i].size;
        if (bytes > chunk->end - chunk->offset) {
            bad_chain(s, chunk->checkpoint[i].offset, "it lies inside another one");
            break;
        }
        if (!load_checkpoint(s, &chunk->checkpoint[i]))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------------ the whole */

static void tell_fault(struct survey *s)
{
    const struct fm_jfr_chunk *chunk = s->chunk;
    unsigned long long number = chunk->number, gap = chunk->gap;
    switch (chunk->fault) {
    case FM_JFR_BEING_WRITTEN:
        fm_jfr_damage(s->feed, FM_DIAG_JFR_UNFINISHED, FM_TRUNCATED, chunk->end,
                      "chunk %llu was still being written: read to its last flush, %llu bytes "
                      "behind it are left out", number, gap);
        return;
    case FM_JFR_NEVER_FINISHED:
        fm_jfr_damage(s->feed, FM_DIAG_JFR_UNFINISHED, FM_TRUNCATED, chunk->walked,
                      "chunk %llu was never finished: names of its threads and stacks are lost",
                      number);
        break;
    case FM_JFR_CUT:
        fm_jfr_damage(s->feed, FM_DIAG_TRUNCATED, FM_TRUNCATED, chunk->end,
                      "chunk %llu: needed %llu bytes, %llu left", number,
                      (unsigned long long)chunk->h.size,
                      (unsigned long long)(chunk->end - chunk->offset));
        break;
    case FM_JFR_BAD_SIZE:
        fm_jfr_damage(s->feed, FM_DIAG_JFR_HEADER, FM_FORMAT, chunk->offset + 8,
                      "chunk %llu: its size of %llu bytes ends inside an event", number,
                      (unsigned long long)chunk->h.size);
        break;
    case FM_JFR_WHOLE:
        break;
    }
    if (gap > 0)
        fm_jfr_damage(s->feed, FM_DIAG_TRAILING, FM_FORMAT, chunk->end,
                      "%llu bytes behind chunk %llu are no chunk", gap, number);
}

static void run(struct survey *s)
{
    struct fm_jfr_chunk *chunk = s->chunk;
    if (!find_metadata(s))
        return;
    if (walk_events(s) && load_pools(s)) {
        chunk->usable = true;
        fm_jfr_facts_read(chunk, s->feed);
        if (chunk->arena.oom || chunk->meta.oom)
            stop(s, FM_NOMEM);
    }
}

enum fm_status fm_jfr_survey(struct fm_jfr_chunk *chunk, struct fm_jfr_feed *feed,
                             struct fm_input *input, struct fm_error *err)
{
    struct survey s = {.chunk = chunk, .feed = feed, .input = input, .err = err};
    chunk->mem = feed->mem;
    fm_arena_init(&chunk->arena, chunk->mem);
    fm_jfr_meta_init(&chunk->meta, chunk->mem);
    fm_map_init(&s.seen, chunk->mem);
    chunk->facts.settings.mem = chunk->mem;
    chunk->facts.pid = -1;
    chunk->clock = (struct fm_jfr_clock){chunk->h.start_ns, chunk->h.start_ticks,
                                         (uint64_t)chunk->h.per_second};
    s.status = fm_reader_open(input, &s.reader, err);
    if (s.status == FM_OK) {
        run(&s);
        tell_fault(&s);
    }
    fm_reader_close(s.reader);
    fm_map_release(&s.seen);
    return s.status;
}

void fm_jfr_chunk_release(struct fm_jfr_chunk *chunk)
{
    struct fm_mem *mem = chunk->mem;
    if (mem == NULL)
        return;
    if (chunk->v0 != NULL)
        fm_jfr_v0_release(chunk->v0);
    fm_jfr_pools_release(&chunk->pools);
    fm_jfr_meta_release(&chunk->meta);
    fm_mem_free(mem, chunk->checkpoint, chunk->checkpoint_cap * sizeof *chunk->checkpoint);
    fm_mem_free(mem, chunk->saved, chunk->saved_cap * sizeof *chunk->saved);
    fm_jfr_buf_release(&chunk->facts.settings);
    fm_arena_release(&chunk->arena);
    chunk->mem = NULL;
}
