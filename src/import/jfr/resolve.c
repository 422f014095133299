/*
 * resolve.c - pool values as ids of the store; see resolve.h.
 */
#include "import/jfr/resolve.h"

#include "util/error.h"

#include <stdio.h>

enum { THREAD_OS_NAME, THREAD_OS_ID, THREAD_JAVA_NAME, THREAD_JAVA_ID, THREAD_VIRTUAL };
enum { METHOD_TYPE, METHOD_NAME, METHOD_DESCRIPTOR };
enum { STACK_TRUNCATED, STACK_FRAMES };
enum { FRAME_METHOD, FRAME_LINE, FRAME_BCI, FRAME_TYPE };

/* A frame is four varints in most files: which is which. */
static void find_roles(struct fm_jfr_resolver *r)
{
    const struct fm_jfr_meta *meta = &r->chunk->meta;
    const struct fm_jfr_class *c;
    uint32_t class = meta->known[FM_JFR_STACK_FRAME];
    if (!r->has_frame)
        return;
    c = &meta->class[class];
    r->four = c->fields == 4 && !meta->wide;
    for (uint32_t i = 0; r->four && i < 4; i++) {
        const struct fm_jfr_field *f = fm_jfr_field_at(meta, c, i);
        uint8_t base = f->class != FM_JFR_NO_CLASS ? meta->class[f->class].base : FM_JFR_UNKNOWN;
        r->role[i] = r->frame.slot[i];
        if (r->role[i] < 0 || f->array || (!f->pool && base != FM_JFR_INT))
            r->four = false;
    }
}

enum fm_status fm_jfr_resolver_init(struct fm_jfr_resolver *r, struct fm_jfr_feed *feed,
                                    struct fm_jfr_chunk *chunk, struct fm_input *input,
                                    struct fm_error *err)
{
    static const char *const thread[] = {"osName", "osThreadId", "javaName", "javaThreadId",
                                         "virtual"};
    static const char *const method[] = {"type", "name", "descriptor"};
    static const char *const class[] = {"name"};
    static const char *const stack[] = {"truncated", "frames"};
    static const char *const frame[] = {"method", "lineNumber", "bytecodeIndex", "type"};
    struct fm_jfr_meta *meta = &chunk->meta;
    memset(r, 0, sizeof *r);
    r->feed = feed;
    r->chunk = chunk;
    r->input = input;
    r->err = err;
    r->unknown = FM_NONE;
    for (size_t i = 0; i < FM_JFR_PICKS; i++)
        r->buf[i].mem = chunk->mem;
    r->has_thread = fm_jfr_pick_init(&r->thread, meta, meta->known[FM_JFR_THREAD], thread, 5);
    r->has_method = fm_jfr_pick_init(&r->method, meta, meta->known[FM_JFR_METHOD], method, 3);
    r->has_class = fm_jfr_pick_init(&r->class, meta, meta->known[FM_JFR_CLASS], class, 1);
    r->has_stack = fm_jfr_pick_init(&r->stack, meta, meta->known[FM_JFR_STACK], stack, 2);
    r->has_frame = fm_jfr_pick_init(&r->frame, meta, meta->known[FM_JFR_STACK_FRAME], frame, 4);
    if (r->has_stack && r->stack.field[STACK_FRAMES] == UINT32_MAX)
        r->has_stack = false;
    find_roles(r);
    return meta->oom ? fm_error_nomem(err) : FM_OK;
}

void fm_jfr_resolver_release(struct fm_jfr_resolver *r)
{
    struct fm_mem *mem = r->feed->mem;
    for (size_t i = 0; i < FM_JFR_PICKS; i++)
        fm_jfr_buf_release(&r->buf[i]);
    fm_mem_free(mem, r->methods, r->method_cap * sizeof *r->methods);
    if (r->before != NULL) {
        struct fm_jfr_chunk *chunk = r->before->chunk;
        fm_jfr_resolver_release(r->before);
        fm_jfr_chunk_release(chunk);
        fm_mem_free(mem, chunk, sizeof *chunk);
        fm_mem_free(mem, r->before, sizeof *r->before);
    }
    r->before = NULL;
}

/* The resolver of the chunk before, loaded when first asked for; NULL: it is no help. */
static struct fm_jfr_resolver *before(struct fm_jfr_resolver *r)
{
    struct fm_jfr_chunk *chunk = r->chunk, *to;
    struct fm_jfr_feed quiet = *r->feed;
    struct fm_jfr_resolver *b;
    if (r->asked_before)
        return r->before;
    r->asked_before = true;
    if (r->is_before || !chunk->has_before || !fm_jfr_contiguous(&chunk->before, &chunk->h))
        return NULL;
    to = fm_mem_zalloc(r->feed->mem, sizeof *to);
    b = fm_mem_zalloc(r->feed->mem, sizeof *b);
    if (to == NULL || b == NULL) {
        fm_mem_free(r->feed->mem, to, to != NULL ? sizeof *to : 0);
        fm_mem_free(r->feed->mem, b, b != NULL ? sizeof *b : 0);
        r->status = fm_error_nomem(r->err);
        return NULL;
    }
    quiet.quiet = true;
    to->h = chunk->before;
    to->offset = chunk->before_offset;
    to->end = chunk->before_end;
    to->jvm = chunk->jvm;
    r->status = fm_jfr_survey(to, &quiet, r->input, r->err);
    if (r->status == FM_OK && to->usable)
        r->status = fm_jfr_resolver_init(b, r->feed, to, r->input, r->err);
    if (r->status != FM_OK || !to->usable) {
        fm_jfr_chunk_release(to);
        fm_mem_free(r->feed->mem, to, sizeof *to);
        fm_mem_free(r->feed->mem, b, sizeof *b);
        return NULL;
    }
    to->facts.pid = chunk->facts.pid;
    b->is_before = true;
    r->before = b;
    return b;
}

static bool no_key(struct fm_jfr_resolver *r, uint64_t key)
{
    if (key != 0)
        fm_jfr_note(r->feed, FM_DIAG_JFR_KEY, r->offset, 1);
    return false;
}

/* ---------------------------------------------------------------------- texts, classes */

bool fm_jfr_text_lane(struct fm_jfr_resolver *r, uint32_t class, uint64_t key, uint64_t *lane)
{
    struct fm_jfr_entry *entry = fm_jfr_pool_find(&r->chunk->pools, class, key);
    const struct fm_jfr_class *info = &r->chunk->meta.class[class];
    struct fm_jfr_text text;
    if (entry == NULL) {
        /* of an enumeration that was never written the number still tells which */
        char number[24];
        int n = snprintf(number, sizeof number, "%lld", (long long)key);
        if (!info->simple || info->known != FM_JFR_PLAIN_TYPE)
            return no_key(r, key);
        (void)no_key(r, key);
        *lane = fm_builder_str(r->feed->builder, number, (size_t)n);
        return true;
    }
    if (entry->cache == FM_NONE) {
        fm_jfr_pool_text(&r->chunk->pools, class, entry, &r->buf[0], &text);
        if (text.kind != FM_JFR_TEXT_HERE)
            return false;
        entry->cache = fm_builder_str(r->feed->builder, text.s, text.n);
    }
    *lane = entry->cache;
    return true;
}

/* The text of a symbol; n = 0 when there is none. */
static void symbol(struct fm_jfr_resolver *r, uint64_t key, struct fm_jfr_buf *buf,
                   struct fm_jfr_text *text)
{
    uint32_t class = r->chunk->meta.known[FM_JFR_SYMBOL];
    struct fm_jfr_entry *entry = fm_jfr_pool_find(&r->chunk->pools, class, key);
    text->kind = FM_JFR_TEXT_NULL;
    if (entry != NULL)
        fm_jfr_pool_text(&r->chunk->pools, class, entry, buf, text);
    if (text->kind != FM_JFR_TEXT_HERE) {
        text->s = "";
        text->n = 0;
    }
}

/* The symbol of a class, in buffer 1. */
static void class_symbol(struct fm_jfr_resolver *r, const struct fm_jfr_entry *entry,
                         struct fm_jfr_text *text)
{
    struct fm_cursor c = fm_jfr_cursor_of(entry->p, entry->n, 0, r->chunk->meta.wide);
    struct fm_jfr_raw raw[FM_JFR_PICKS];
    text->kind = FM_JFR_TEXT_NULL;
    text->s = "";
    text->n = 0;
    if (!r->has_class || !fm_jfr_pick_read(&r->class, &c, r->buf, raw) || !raw[0].has)
        return;
    symbol(r, raw[0].u, &r->buf[1], text);
}

bool fm_jfr_class_lane(struct fm_jfr_resolver *r, uint64_t key, uint64_t *lane)
{
    uint32_t class = r->chunk->meta.known[FM_JFR_CLASS];
    struct fm_jfr_entry *entry = fm_jfr_pool_find(&r->chunk->pools, class, key);
    struct fm_jfr_text text;
    if (entry == NULL)
        return no_key(r, key);
    if (entry->cache == FM_NONE) {
        class_symbol(r, entry, &text);
        if (text.kind != FM_JFR_TEXT_HERE)
            return false;
        entry->cache = fm_jfr_class_name(r->feed, text.s, text.n);
    }
    *lane = entry->cache;
    return true;
}

/* ---------------------------------------------------------------------------- methods */

static struct fm_jfr_method *find_method(struct fm_jfr_resolver *r, uint64_t key)
{
    uint32_t class = r->chunk->meta.known[FM_JFR_METHOD];
    struct fm_jfr_entry *entry = fm_jfr_pool_find(&r->chunk->pools, class, key);
    struct fm_jfr_raw raw[FM_JFR_PICKS];
    struct fm_jfr_method *m;
    struct fm_jfr_text text;
    struct fm_cursor c;
    if (entry == NULL)
        return NULL;
    if (entry->cache != FM_NONE)
        return &r->methods[entry->cache];
    c = fm_jfr_cursor_of(entry->p, entry->n, 0, r->chunk->meta.wide);
    if (!r->has_method || !fm_jfr_pick_read(&r->method, &c, r->buf, raw))
        return NULL;
    if (!fm_grow(r->feed->mem, (void **)&r->methods, &r->method_cap, r->method_n + 1,
                 sizeof *m)) {
        r->feed->oom = true;
        return NULL;
    }
    m = &r->methods[r->method_n];
    *m = (struct fm_jfr_method){.java = FM_NONE, .native = FM_NONE, .library = FM_NONE,
                                .frame = FM_NONE, .type = raw[METHOD_TYPE].u,
                                .name = raw[METHOD_NAME].u, .found = raw[METHOD_NAME].has};
    if (raw[METHOD_DESCRIPTOR].has) {
        symbol(r, raw[METHOD_DESCRIPTOR].u, &r->buf[0], &text);
        m->signature = fm_builder_str(r->feed->builder, text.s, text.n);
    }
    entry->cache = (uint32_t)r->method_n++;
    return m;
}

/* A method of the pool, or NULL. HotSpot's keys lie far apart: looking one up for each frame was a
 * tenth of reading a recording. */
static struct fm_jfr_method *method_of(struct fm_jfr_resolver *r, uint64_t key)
{
    size_t at = (key ^ key >> 16) % FM_JFR_RECENT;
    struct fm_jfr_method *m;
    if (FM_LIKELY(r->recent[at].key == key && r->recent[at].method != 0))
        return &r->methods[r->recent[at].method - 1];
    m = find_method(r, key);
    if (m != NULL) {
        r->recent[at].key = key;
        r->recent[at].method = (uint32_t)(m - r->methods) + 1;
    }
    return m;
}

static fm_str unknown(struct fm_jfr_resolver *r)
{
    if (r->unknown == FM_NONE)
        r->unknown = fm_builder_str(r->feed->builder, "[unknown]", 9);
    return r->unknown;
}

/* Fills in the names of a method: "pkg/Cls.method" of Java, or a function and its library. */
static void name_method(struct fm_jfr_resolver *r, struct fm_jfr_method *m, bool native)
{
    struct fm_jfr_entry *class = fm_jfr_pool_find(
        &r->chunk->pools, r->chunk->meta.known[FM_JFR_CLASS], m->type);
    struct fm_jfr_text name, owner = {.s = "", .n = 0};
    symbol(r, m->name, &r->buf[2], &name);
    if (class != NULL)
        class_symbol(r, class, &owner);
    if (name.kind != FM_JFR_TEXT_HERE) {
        no_key(r, m->name);
        name.n = 0;
    }
    if (native) {
        m->native = name.n > 0 ? fm_builder_str(r->feed->builder, name.s, name.n) : unknown(r);
        m->library = fm_jfr_library(r->feed, owner.s, owner.n);
    } else if (name.n > 0) {
        m->java = fm_jfr_method_name(r->feed, owner.s, owner.n, name.s, name.n);
    } else {
        m->java = unknown(r);
    }
}

bool fm_jfr_method_lane(struct fm_jfr_resolver *r, uint64_t key, uint64_t *lane)
{
    struct fm_jfr_method *m = method_of(r, key);
    if (m == NULL)
        return no_key(r, key);
    if (m->java == FM_NONE)
        name_method(r, m, false);
    *lane = m->java;
    return true;
}

/* ----------------------------------------------------------------------------- stacks */

static enum fm_frame_kind frame_kind(struct fm_jfr_resolver *r, uint64_t key)
{
    uint32_t class = r->chunk->meta.known[FM_JFR_FRAME_TYPE];
    enum fm_frame_kind kind = FM_FRAME_UNKNOWN;
    struct fm_jfr_entry *entry;
    struct fm_jfr_text text;
    if (key < FM_JFR_FRAME_TYPES && r->kind[key] != 0)
        return (enum fm_frame_kind)(r->kind[key] - 1);
    entry = fm_jfr_pool_find(&r->chunk->pools, class, key);
    if (entry != NULL) {
        fm_jfr_pool_text(&r->chunk->pools, class, entry, &r->buf[0], &text);
        if (text.kind == FM_JFR_TEXT_HERE)
            kind = fm_jfr_frame_kind(text.s, text.n);
    }
    if (key < FM_JFR_FRAME_TYPES)
        r->kind[key] = (uint8_t)(kind + 1);
    return kind;
}

static fm_frame frame_of(struct fm_jfr_resolver *r, const int64_t *part)
{
    enum fm_frame_kind kind = frame_kind(r, (uint64_t)part[FRAME_TYPE]);
    struct fm_jfr_method *m = method_of(r, (uint64_t)part[FRAME_METHOD]);
    struct fm_jfr_frame f = {.kind = kind, .module = FM_NONE, .line = part[FRAME_LINE],
                             .bci = part[FRAME_BCI]};
    bool native;
    if (m == NULL) {
        no_key(r, (uint64_t)part[FRAME_METHOD]);
        f.function = unknown(r);
        return fm_jfr_frame_add(r->feed, &f);
    }
    if (m->frame != FM_NONE && m->line == f.line && m->bci == f.bci && m->kind == kind)
        return m->frame;
    /* HotSpot's "Native" is a Java method and has its class */
    native = kind == FM_FRAME_KERNEL ||
             (kind == FM_FRAME_USER && strcmp(r->chunk->facts.writer, "hotspot") != 0);
    if ((native ? m->native : m->java) == FM_NONE)
        name_method(r, m, native);
    f.function = native ? m->native : m->java;
    if (native) {
        f.module = m->library;
        f.line = 0;
        f.bci = -1;
    } else {
        f.signature = m->signature;
    }
    m->frame = fm_jfr_frame_add(r->feed, &f);
    m->line = part[FRAME_LINE];
    m->bci = part[FRAME_BCI];
    m->kind = kind;
    return m->frame;
}

static bool read_frame(struct fm_jfr_resolver *r, struct fm_cursor *c, int64_t *part)
{
    struct fm_jfr_raw raw[FM_JFR_PICKS];
    if (r->four) {
        for (unsigned i = 0; i < 4; i++)
            part[r->role[i]] = (int64_t)fm_jfr_varint(c);
        part[FRAME_LINE] = (int32_t)part[FRAME_LINE];
        part[FRAME_BCI] = (int32_t)part[FRAME_BCI];
        return fm_cursor_ok(c);
    }
    const unsigned char *start = c->p;
    if (!fm_jfr_pick_read(&r->frame, c, r->buf + 3, raw))
        return false;
    for (unsigned i = 0; i < 4; i++)
        part[i] = raw[i].has ? (int64_t)raw[i].u : -1;
    /* fields behind the last one picked */
    c->p = start;
    fm_jfr_skip_value(&r->chunk->meta, &r->chunk->meta.class[r->frame.class], c);
    return fm_cursor_ok(c);
}

/* FM_NONE: it cannot be read. */
static fm_node read_stack(struct fm_jfr_resolver *r, const struct fm_jfr_entry *entry)
{
    struct fm_cursor c = fm_jfr_cursor_of(entry->p, entry->n, 0, r->chunk->meta.wide);
    struct fm_jfr_raw raw[FM_JFR_PICKS];
    int64_t part[4];
    fm_frame *frame;
    uint64_t n;
    if (!r->has_stack || !r->has_frame ||
        !fm_jfr_class_skippable(&r->chunk->meta, r->frame.class) ||
        !fm_jfr_pick_read(&r->stack, &c, r->buf + 3, raw) || !raw[STACK_FRAMES].has ||
        raw[STACK_FRAMES].text.s == NULL)
        return FM_NONE;
    c = fm_jfr_cursor_of(raw[STACK_FRAMES].text.s, raw[STACK_FRAMES].text.n, 0,
                         r->chunk->meta.wide);
    n = fm_jfr_int(&c, 4);
    if (n > fm_cursor_left(&c) || (frame = fm_jfr_frames(r->feed, (size_t)n)) == NULL)
        return FM_NONE;
    for (size_t i = 0; i < n; i++) {
        if (!read_frame(r, &c, part))
            return FM_NONE;
        frame[i] = frame_of(r, part);
    }
    return fm_jfr_stack(r->feed, frame, (size_t)n,
                        raw[STACK_TRUNCATED].has && raw[STACK_TRUNCATED].u != 0);
}

/* The stack of a key in this chunk; false: it has none. */
static bool own_stack(struct fm_jfr_resolver *r, uint64_t key, fm_node *node)
{
    uint32_t class = r->chunk->meta.known[FM_JFR_STACK];
    struct fm_jfr_entry *entry = fm_jfr_pool_find(&r->chunk->pools, class, key);
    if (entry == NULL)
        return false;
    if (entry->cache == FM_NONE)
        entry->cache = read_stack(r, entry);   /* may have no frames: a stack all the same */
    *node = entry->cache;
    return entry->cache != FM_NONE;
}

fm_node fm_jfr_stack_lane(struct fm_jfr_resolver *r, uint64_t key)
{
    struct fm_jfr_resolver *b;
    fm_node node;
    if (own_stack(r, key, &node))
        return node;
    if (key == 0)
        return fm_jfr_no_stack(r->feed, FM_JFR_NO_STACK);
    /* keys of async-profiler are places in a table that is emptied with each chunk */
    b = strcmp(r->chunk->facts.writer, "hotspot") == 0 ? before(r) : NULL;
    if (b != NULL) {
        b->offset = r->offset;
        if (own_stack(b, key, &node))
            return node;
    }
    fm_jfr_note(r->feed, FM_DIAG_JFR_STACK, r->offset, 1);
    return fm_jfr_no_stack(r->feed, FM_JFR_UNKNOWN_STACK);
}

/* ---------------------------------------------------------------------------- threads */

static const char *name_of(struct fm_jfr_resolver *r, struct fm_jfr_raw *raw, int slot, size_t *n)
{
    struct fm_jfr_text *text = &raw[slot].text;
    if (!raw[slot].has)
        return NULL;
    fm_jfr_pool_follow(&r->chunk->pools, &r->buf[slot], text);
    *n = text->n;
    return text->kind == FM_JFR_TEXT_HERE ? text->s : NULL;
}

static bool own_thread(struct fm_jfr_resolver *r, uint64_t key, uint64_t *lane)
{
    uint32_t class = r->chunk->meta.known[FM_JFR_THREAD];
    struct fm_jfr_entry *entry = fm_jfr_pool_find(&r->chunk->pools, class, key);
    struct fm_jfr_raw raw[FM_JFR_PICKS];
    struct fm_jfr_thread t;
    struct fm_cursor c;
    if (entry == NULL)
        return false;
    if (entry->cache == FM_NONE) {
        c = fm_jfr_cursor_of(entry->p, entry->n, 0, r->chunk->meta.wide);
        if (!r->has_thread || !fm_jfr_pick_read(&r->thread, &c, r->buf, raw))
            return false;
        memset(&t, 0, sizeof t);
        t.pid = r->chunk->facts.pid;
        t.jvm = r->chunk->jvm;
        t.since = r->chunk->names_since;
        t.os_name = name_of(r, raw, THREAD_OS_NAME, &t.os_name_n);
        t.java_name = name_of(r, raw, THREAD_JAVA_NAME, &t.java_name_n);
        if (raw[THREAD_OS_ID].has)
            t.os_id = (int64_t)raw[THREAD_OS_ID].u;
        if (raw[THREAD_JAVA_ID].has)
            t.java_id = (int64_t)raw[THREAD_JAVA_ID].u;
        t.is_virtual = raw[THREAD_VIRTUAL].has && raw[THREAD_VIRTUAL].u != 0;
        entry->cache = fm_jfr_thread_add(r->feed, &t);
    }
    *lane = entry->cache;
    return true;
}

bool fm_jfr_thread_lane(struct fm_jfr_resolver *r, uint64_t key, uint64_t *lane)
{
    struct fm_jfr_resolver *b;
    struct fm_jfr_thread t = {.pid = r->chunk->facts.pid, .jvm = r->chunk->jvm,
                              .since = INT64_MIN};
    if (own_thread(r, key, lane))
        return true;
    if (key == 0)
        return false;
    b = before(r);
    if (b != NULL && own_thread(b, key, lane))
        return true;
    fm_jfr_note(r->feed, FM_DIAG_JFR_THREAD, r->offset, 1);
    /* async-profiler's keys are ids of OS threads */
    if (strcmp(r->chunk->facts.writer, "hotspot") == 0 || key > INT32_MAX)
        return false;
    t.os_id = (int64_t)key;
    *lane = fm_jfr_thread_add(r->feed, &t);
    return true;
}
