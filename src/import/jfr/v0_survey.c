/*
 * v0_survey.c - chunks of version 0.9: where they end, and the first walk over one: counts, pools,
 * settings; see v0.h.
 *
 * A chunk's types stand at its end: of one that is cut nothing can be read.
 */
#include "import/jfr/v0.h"

#include "util/error.h"

#define METADATA_MAX ((size_t)256 << 20)
#define CHECKPOINT_MAX ((size_t)1 << 30)
#define TOLD_MAX ((size_t)1 << 20)  /* bytes of an event that may tell about the recording */
#define METADATA 0
#define LOST 2

/* ------------------------------------------------------------------------- scanning */

enum fm_status fm_jfr_v0_scan(struct fm_input *input, uint64_t at, uint64_t size,
                              struct fm_jfr_header *h, bool *is, uint64_t *end,
                              struct fm_error *err)
{
    unsigned char buf[FM_JFR_V0_HEADER];
    struct fm_cursor c;
    size_t got;
    int32_t n = 0;
    enum fm_status status = fm_input_read_at(input, at, buf, sizeof buf, &got, err);
    *is = status == FM_OK && got == sizeof buf && memcmp(buf, "FLR\0\0\0\0\11", 8) == 0;
    if (!*is)
        return status;
    c = fm_jfr_cursor(buf, got, at);
    fm_cursor_skip(&c, 4);
    memset(h, 0, sizeof *h);
    h->major = fm_cursor_u16(&c);
    h->minor = fm_cursor_u16(&c);
    h->metadata = fm_cursor_u64(&c);
    h->per_second = 1;
    *end = UINT64_MAX;
    if (h->metadata < FM_JFR_V0_HEADER || h->metadata > size - at || size - at - h->metadata < 4)
        return FM_OK;
    status = fm_input_read_at(input, at + h->metadata, buf, 4, &got, err);
    if (status != FM_OK)
        return status;
    c = fm_jfr_cursor(buf, got, 0);
    n = fm_cursor_i32(&c);
    if (fm_cursor_ok(&c) && n > 8)
        *end = at + h->metadata + (uint64_t)n;
    h->size = *end != UINT64_MAX ? *end - at : 0;
    return FM_OK;
}

/* -------------------------------------------------------------------------- walking */

bool fm_jfr_v0_next(struct fm_jfr_v0_walk *w, struct fm_jfr_v0_head *head, size_t max)
{
    struct fm_cursor c;
    const unsigned char *p;
    size_t n;
    uint64_t skipped;
    if (w->at >= w->end)
        return false;
    if (fm_reader_offset(w->reader) < w->at)
        w->status = fm_reader_skip(w->reader, w->at - fm_reader_offset(w->reader), &skipped,
                                   w->err);
    if (w->status == FM_OK)
        w->status = fm_reader_peek(w->reader, 8, &p, &n, w->err);
    if (w->status != FM_OK)
        return false;
    c = fm_jfr_cursor(p, n, w->at);
    head->offset = w->at;
    head->size = fm_cursor_u32(&c);
    head->type = fm_cursor_i32(&c);
    if (!fm_cursor_ok(&c) || head->size < 8 || head->size > w->end - w->at) {
        w->why = "its size is impossible";
        return false;
    }
    max = FM_MIN(max, (size_t)head->size);
    if (n < max)
        w->status = fm_reader_peek(w->reader, max, &p, &n, w->err);
    if (w->status != FM_OK)
        return false;
    head->p = p;
    head->have = FM_MIN(n, (size_t)head->size);
    w->at += head->size;
    return true;
}

enum fm_status fm_jfr_v0_walk_init(struct fm_jfr_v0_walk *w, struct fm_reader *reader,
                                   const struct fm_jfr_chunk *chunk, struct fm_error *err)
{
    *w = (struct fm_jfr_v0_walk){.reader = reader, .at = chunk->offset + FM_JFR_V0_HEADER,
                                 .end = chunk->v0->metadata, .err = err};
    w->status = fm_reader_seek(reader, w->at, err);
    return w->status;
}

/* ----------------------------------------------------------------------- the survey */

struct survey {
    struct fm_jfr_chunk *chunk;
    struct fm_jfr_feed *feed;
    struct fm_input *input;
    struct fm_error *err;
    struct fm_jfr_buf buf;
    enum fm_status status;
};

static bool stop(struct survey *s, enum fm_status status)
{
    if (s->status == FM_OK)
        s->status = status;
    if (status == FM_NOMEM)
        fm_error_nomem(s->err);
    return false;
}

/* n bytes of the input in the chunk's arena. */
static unsigned char *read_bytes(struct survey *s, uint64_t offset, size_t n, size_t *got)
{
    unsigned char *p = fm_arena_alloc(&s->chunk->arena, n + 1);
    enum fm_status status;
    if (p == NULL) {
        stop(s, FM_NOMEM);
        return NULL;
    }
    status = fm_input_read_at(s->input, offset, p, n, got, s->err);
    if (status != FM_OK)
        stop(s, status);
    return status == FM_OK ? p : NULL;
}

static bool read_metadata(struct survey *s)
{
    struct fm_jfr_chunk *chunk = s->chunk;
    unsigned long long number = chunk->number;
    struct fm_jfr_v0 *v0;
    unsigned char *p;
    const char *why;
    uint64_t where, size = chunk->h.size - chunk->h.metadata;
    size_t got;
    if (chunk->fault == FM_JFR_CUT) {
        fm_jfr_damage(s->feed, FM_DIAG_TRUNCATED, FM_TRUNCATED, chunk->end,
                      "chunk %llu is cut: its types stood at its end, at byte %llu of it", number,
                      (unsigned long long)chunk->h.metadata);
        return false;
    }
    v0 = fm_arena_alloc(&chunk->arena, sizeof *v0);
    if (v0 == NULL)
        return stop(s, FM_NOMEM);
    v0->mem = chunk->mem;
    v0->arena = &chunk->arena;
    v0->metadata = chunk->offset + chunk->h.metadata;
    chunk->v0 = v0;
    if (chunk->fault != FM_JFR_WHOLE || size > METADATA_MAX) {
        fm_jfr_damage(s->feed, FM_DIAG_JFR_HEADER, FM_FORMAT, chunk->offset + 8,
                      "chunk %llu: no metadata where its header says", number);
        return false;
    }
    p = read_bytes(s, v0->metadata, (size_t)size, &got);
    if (p == NULL)
        return false;
    why = fm_jfr_v0_metadata(v0, &chunk->h, p, got, &where);
    if (chunk->arena.oom)
        return stop(s, FM_NOMEM);
    if (why != NULL)
        fm_jfr_damage(s->feed, FM_DIAG_JFR_METADATA, FM_FORMAT, v0->metadata + where,
                      "chunk %llu: metadata: %s", number, why);
    return why == NULL;
}

static bool read_checkpoint(struct survey *s, const struct fm_jfr_v0_head *head)
{
    const char *why;
    uint64_t where;
    size_t got;
    bool oom = false;
    unsigned char *p;
    if (head->size > CHECKPOINT_MAX)
        return true;
    p = read_bytes(s, head->offset, head->size, &got);
    if (p == NULL)
        return false;
    why = fm_jfr_v0_pools_add(s->chunk->v0, p, got, &where, &oom);
    if (oom)
        return stop(s, FM_NOMEM);
    if (why != NULL)
        fm_jfr_damage(s->feed, FM_DIAG_JFR_CHECKPOINT, FM_FORMAT, head->offset + where,
                      "checkpoint at %llu: %s", (unsigned long long)head->offset, why);
    return true;
}

/* The cursor at an event's own fields. */
static struct fm_cursor own_fields(const struct fm_jfr_v0_type *type,
                                   const struct fm_jfr_v0_head *head)
{
    struct fm_cursor c = fm_jfr_cursor(head->p, head->have, head->offset);
    fm_cursor_skip(&c, 16u + (type->start ? 8u : 0u) + (type->thread ? 4u : 0u) +
                       (type->stack ? 8u : 0u));
    return c;
}

/* A text field of an event, in the chunk's arena; NULL: none. */
static const char *text_of(struct survey *s, uint32_t structure, struct fm_cursor value,
                           const char *name)
{
    struct fm_cursor c;
    const char *text;
    size_t n;
    const struct fm_jfr_v0_field *f =
        fm_jfr_v0_field_at(s->chunk->v0, structure, value, name, &c);
    if (f == NULL || !fm_jfr_v0_is_text((enum fm_jfr_v0_base)f->base) ||
        !fm_jfr_v0_read_text(&c, (enum fm_jfr_v0_base)f->base, &s->buf, &text, &n))
        return NULL;
    return fm_arena_strn(&s->chunk->arena, text, n);
}

static bool number_of(const struct survey *s, uint32_t structure, struct fm_cursor value,
                      const char *name, int64_t *v)
{
    struct fm_cursor c;
    const struct fm_jfr_v0_field *f =
        fm_jfr_v0_field_at(s->chunk->v0, structure, value, name, &c);
    if (f == NULL || !fm_jfr_v0_is_number((enum fm_jfr_v0_base)f->base))
        return false;
    *v = fm_jfr_v0_number(&c, (enum fm_jfr_v0_base)f->base);
    return fm_cursor_ok(&c);
}

/* A setting: of which type, enabled, and its period in ms. */
static void take_setting(struct survey *s, uint32_t structure, struct fm_cursor value)
{
    int64_t id, period, enabled = 1;
    const struct fm_jfr_v0_type *of;
    if (!number_of(s, structure, value, "id", &id) ||
        !number_of(s, structure, value, "period", &period))
        return;
    (void)number_of(s, structure, value, "enabled", &enabled);
    of = id == (int32_t)id ? fm_jfr_v0_type_find(s->chunk->v0, (int32_t)id) : NULL;
    s->chunk->facts.periods.given = true;
    if (of == NULL || !enabled || period <= 0 || period > INT64_MAX / 1000000 ||
        strcmp(fm_jfr_v0_modern(of->name), "jdk.ExecutionSample") != 0)
        return;
    s->chunk->facts.periods.execution = (uint64_t)period * 1000000;
}

/* JRockit lists its settings in one event. */
static void take_settings(struct survey *s, uint32_t structure, struct fm_cursor value)
{
    struct fm_cursor c;
    const struct fm_jfr_v0 *v0 = s->chunk->v0;
    const struct fm_jfr_v0_field *f = fm_jfr_v0_field_at(v0, structure, value, "settings", &c);
    if (f == NULL || f->base != FM_JFR_V0_STRUCTS)
        return;
    for (int32_t n = fm_cursor_i32(&c); n > 0 && fm_cursor_ok(&c); n--) {
        struct fm_cursor one = c;
        fm_jfr_v0_skip_struct(v0, f->sub, &c);
        if (fm_cursor_ok(&c))
            take_setting(s, f->sub, one);
    }
}

static void take_jvm(struct survey *s, uint32_t structure, struct fm_cursor value)
{
    struct fm_jfr_facts *facts = &s->chunk->facts;
    int64_t start;
    facts->jvm_name = text_of(s, structure, value, "jvmName");
    facts->jvm_version = text_of(s, structure, value, "jvmVersion");
    facts->jvm_arguments = text_of(s, structure, value, "jvmArguments");
    facts->java_arguments = text_of(s, structure, value, "javaArguments");
    if (number_of(s, structure, value, "jvmStartTime", &start) &&
        !__builtin_mul_overflow(start, 1000000, &facts->jvm_start))
        facts->has_jvm = true;
}

/* Events that tell about the recording itself. */
static void take_facts(struct survey *s, const struct fm_jfr_v0_type *type,
                       const struct fm_jfr_v0_head *head)
{
    const char *modern = fm_jfr_v0_modern(type->name);
    struct fm_cursor c = own_fields(type, head);
    if (strcmp(modern, "jdk.ActiveSetting") == 0)
        take_setting(s, type->structure, c);
    else if (strcmp(type->name, "jrockit/jfr-info/recordings/active") == 0)
        take_settings(s, type->structure, c);
    else if (strcmp(modern, "jdk.JVMInformation") == 0)
        take_jvm(s, type->structure, c);
    else if (strcmp(modern, "jdk.ActiveRecording") == 0)
        s->chunk->facts.recording = text_of(s, type->structure, c, "name");
    if (strncmp(type->name, "jrockit/", 8) == 0)
        s->chunk->facts.writer = "jrockit";
}

static void take_lost(struct survey *s, const struct fm_jfr_v0_head *head)
{
    struct fm_cursor c = fm_jfr_cursor(head->p, head->have, head->offset);
    uint32_t bytes;
    fm_cursor_skip(&c, 12);
    bytes = fm_cursor_u32(&c);
    fm_jfr_note(s->feed, FM_DIAG_JFR_DATA_LOSS, head->offset, fm_cursor_ok(&c) ? bytes : 1);
}

static bool take_event(struct survey *s, const struct fm_jfr_v0_head *head)
{
    struct fm_jfr_chunk *chunk = s->chunk;
    struct fm_jfr_v0_type *type;
    if (head->type == METADATA) {
        chunk->metadatas++;
        return true;
    }
    if (head->type == FM_JFR_V0_CHECKPOINT) {
        chunk->checkpoint_events++;
        return read_checkpoint(s, head);
    }
    type = fm_jfr_v0_type_find(chunk->v0, head->type);
    if (type == NULL && head->type == LOST) {
        take_lost(s, head);
        return true;
    }
    if (type == NULL) {
        if (chunk->unknown++ == 0)
            chunk->unknown_first = head->offset;
        return true;
    }
    if (type->count++ == 0)
        type->first = head->offset;
    take_facts(s, type, head);
    return true;
}

static void survey_events(struct survey *s)
{
    struct fm_jfr_chunk *chunk = s->chunk;
    struct fm_reader *reader = NULL;
    struct fm_jfr_v0_head head;
    struct fm_jfr_v0_walk w;
    s->status = fm_reader_open(s->input, &reader, s->err);
    if (s->status == FM_OK && fm_jfr_v0_walk_init(&w, reader, chunk, s->err) == FM_OK) {
        while (fm_jfr_v0_next(&w, &head, TOLD_MAX) && take_event(s, &head))
            ;
        chunk->walked = w.at;
        if (w.why != NULL)
            fm_jfr_damage(s->feed, FM_DIAG_JFR_EVENT_SIZE, FM_FORMAT, head.offset,
                          "event of %u bytes, %llu left in chunk %llu", head.size,
                          (unsigned long long)(w.end - head.offset),
                          (unsigned long long)chunk->number);
        if (w.status != FM_OK)
            stop(s, w.status);
    } else if (s->status == FM_OK) {
        s->status = w.status;
    }
    fm_reader_close(reader);
}

enum fm_status fm_jfr_v0_survey(struct fm_jfr_chunk *chunk, struct fm_jfr_feed *feed,
                                struct fm_input *input, struct fm_error *err)
{
    struct survey s = {.chunk = chunk, .feed = feed, .input = input, .err = err};
    chunk->mem = feed->mem;
    s.buf.mem = feed->mem;
    fm_arena_init(&chunk->arena, chunk->mem);
    fm_jfr_meta_init(&chunk->meta, chunk->mem);
    chunk->facts.settings.mem = chunk->mem;
    chunk->facts.pid = -1;
    chunk->facts.writer = "hotspot";
    if (read_metadata(&s)) {
        chunk->clock = (struct fm_jfr_clock){chunk->h.start_ns, chunk->h.start_ticks,
                                             (uint64_t)chunk->h.per_second};
        survey_events(&s);
        chunk->metadatas++;
        fm_jfr_v0_pools_sort(chunk->v0);
        chunk->usable = s.status == FM_OK;
        if (chunk->arena.oom || s.buf.oom)
            stop(&s, FM_NOMEM);
    }
    if (chunk->gap > 0 && s.status == FM_OK)
        fm_jfr_damage(feed, FM_DIAG_TRAILING, FM_FORMAT, chunk->end,
                      "%llu bytes behind chunk %llu are no chunk", (unsigned long long)chunk->gap,
                      (unsigned long long)chunk->number);
    fm_jfr_buf_release(&s.buf);
    return s.status;
}
