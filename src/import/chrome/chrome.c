/*
 * chrome.c - Chrome trace-event JSON: what the document is, its keys, how it ended.
 *
 *     [ event, event, …                       array form; all after the last event may be missing
 *     {"traceEvents": [ event, … ], keys}     object form, keys in any order; the value may be
 *                                             such an object once more
 *     {"nodes": …}  {"head": …}               V8 profiles: v8.c
 *     <html> … </html>                        pages with traces inside: html.c
 *
 * The description is the public trace event format and what its writers do beyond it. Only the
 * outermost object's keys count. Facts are kept as provenance `chrome.KEY`, cut to 4 KiB.
 */
#include "import/chrome/chrome.h"
#include "import/chrome/span.h"

#include "util/error.h"

#include <strings.h>

#define FACT 4096u                     /* bytes of a fact that are kept */
#define FACTS 512u
#define TICK 8192u                     /* events between two looks at the clock */

void fm_chrome_fact(struct fm_chrome *c, const char *key, const char *s, size_t n)
{
    char *full = fm_arena_printf(&c->arena, "chrome.%.200s", key);
    if (!full)
        c->oom = true;
    else if (c->facts++ < FACTS)
        fm_builder_provenance(c->builder, full, s, FM_MIN(n, FACT));
}

/* ------------------------------------------------------------------ events */

static bool going(struct fm_chrome *c, uint64_t at)
{
    if (c->oom || fm_builder_status(c->builder) != FM_OK)
        return false;
    if (fm_ctx_tick(c->ctx, at, fm_input_raw_size(c->import->input)))
        return true;
    c->read = fm_error_set(c->err, FM_CANCELLED, "cancelled");
    return false;
}

static bool cut(struct fm_chrome *c, const struct fm_json *j, uint64_t at)
{
    if (j->error == FM_JSON_SOURCE)
        return false;
    c->end = j->state == FM_JSON_TRUNCATED ? FM_JSON_TRUNCATED : FM_JSON_UNTERMINATED;
    c->cut_at = at;
    return true;
}

/* The items of the array that was opened. false: stop; true with c->end set: the end. */
static bool read_events(struct fm_chrome *c, struct fm_json *j)
{
    struct fm_json_object *o = c->item;
    c->any_events = true;
    for (uint64_t i = 1;; i++) {
        switch (fm_json_item(j, o)) {
        case FM_JSON_ITEM_OBJECT: fm_chrome_event(c, o); break;
        case FM_JSON_ITEM_OTHER: fm_chrome_diag(c, FM_DIAG_CHROME_NO_EVENT, o->at); break;
        case FM_JSON_ITEM_LOST: fm_chrome_diag(c, FM_DIAG_CHROME_EVENT, o->at); break;
        case FM_JSON_ITEM_CUT: return cut(c, j, o->at);
        case FM_JSON_ITEM_END:
            if (j->state == FM_JSON_UNTERMINATED)
                c->end = FM_JSON_UNTERMINATED;
            return true;
        default: return false;
        }
        if (FM_UNLIKELY(i % TICK == 0 || c->oom) && !going(c, o->at))
            return false;
    }
}

/* ------------------------------------------------------------------ keys */

static const char *token_text(struct fm_chrome *c, const struct fm_json *j, size_t *n)
{
    struct fm_json_field f = {.text = j->text, .n = (uint32_t)FM_MIN(j->n, 4 * FACT),
                              .kind = FM_JSON_STRING, .escaped = j->escaped};
    return fm_chrome_text(c, &f, n);
}

static void scalar_fact(struct fm_chrome *c, const struct fm_json *j, enum fm_json_token t,
                        const char *key)
{
    size_t n;
    const char *s;
    switch (t) {
    case FM_JSON_STRING:
        s = token_text(c, j, &n);
        fm_chrome_fact(c, key, s, n);
        break;
    case FM_JSON_NUMBER: fm_chrome_fact(c, key, j->text, j->n); break;
    case FM_JSON_TRUE: fm_chrome_fact(c, key, "true", 4); break;
    case FM_JSON_FALSE: fm_chrome_fact(c, key, "false", 5); break;
    default: break;
    }
}

/* The scalars of an object as KEY.MEMBER; what is nested is passed over. */
static bool object_facts(struct fm_chrome *c, struct fm_json *j, const char *key)
{
    enum fm_json_token t;
    while ((t = fm_json_next(j)) == FM_JSON_KEY) {
        size_t n;
        char name[201];
        const char *s = token_text(c, j, &n);
        n = FM_MIN(n, 100);
        size_t k = FM_MIN(strlen(key), 99);
        memcpy(name, key, k);
        name[k] = '.';
        memcpy(name + k + 1, s, n);
        name[k + 1 + n] = '\0';
        t = fm_json_next(j);
        if (t == FM_JSON_OBJECT || t == FM_JSON_ARRAY) {
            if (!fm_json_skip(j, t))
                return false;
        } else if (t <= FM_JSON_END) {
            return false;
        } else {
            scalar_fact(c, j, t, name);
        }
    }
    return t == FM_JSON_OBJECT_END;
}

static void note_base(struct fm_chrome *c, const struct fm_json *j, const char *key)
{
    int64_t ns;
    if (strcmp(key, "baseTimeNanoseconds") == 0)
        c->has_base = fm_json_scaled(j->text, j->n, 1, &c->base_ns);
    else if (strcmp(key, "beginningOfTime") == 0 && fm_json_scaled(j->text, j->n, 1000, &ns)) {
        c->base_ns = ns;
        c->has_base = true;
        c->clang = true;
    }
}

/* false: the end, or an error. */
static bool read_value(struct fm_chrome *c, struct fm_json *j, const char *key)
{
    enum fm_json_token t = fm_json_next(j);
    if (t == FM_JSON_OBJECT)
        return object_facts(c, j, key);
    if (t == FM_JSON_ARRAY)
        return fm_json_skip(j, t);
    if (t <= FM_JSON_END)
        return false;
    if (t == FM_JSON_NUMBER)
        note_base(c, j, key);
    if (strcmp(key, "displayTimeUnit") == 0 && !(j->n == 2 && j->text[1] == 's'))
        fm_chrome_diag(c, FM_DIAG_CHROME_UNIT, j->at);
    scalar_fact(c, j, t, key);
    return true;
}

/* The value of traceEvents: an array, or once more an object that has one. */
static bool read_trace(struct fm_chrome *c, struct fm_json *j)
{
    enum fm_json_token t = fm_json_next(j);
    if (t == FM_JSON_ARRAY)
        return read_events(c, j);
    if (t != FM_JSON_OBJECT)
        return t > FM_JSON_END;
    while ((t = fm_json_next(j)) == FM_JSON_KEY) {
        if (j->n != 11 || memcmp(j->text, "traceEvents", 11) != 0) {
            if (!fm_json_skip(j, t))
                return false;
            continue;
        }
        t = fm_json_next(j);
        if (t == FM_JSON_ARRAY ? !read_events(c, j) : !fm_json_skip(j, t))
            return false;
        if (c->end != FM_JSON_COMPLETE)
            return true;
    }
    return t == FM_JSON_OBJECT_END;
}

/* Keys that tell another format. */
static const char *alien(const char *key)
{
    static const struct {
        const char *key, *what;
    } known[] = {{"$schema", "a speedscope profile"},
                 {"meta", "a Firefox profile"},
                 {"snapshot", "a V8 heap snapshot"},
                 {"rts_arguments", "a GHC profile"},
                 {"projectId", "a Google Cloud trace"},
                 {"resourceSpans", "an OpenTelemetry export"},
                 {"runs", "a SARIF report"}};
    for (size_t i = 0; i < FM_COUNT(known); i++)
        if (strcmp(known[i].key, key) == 0)
            return known[i].what;
    return NULL;
}

/* One key of the outermost object. false: the end, or an error. */
static bool read_key(struct fm_chrome *c, struct fm_json *j)
{
    char key[128];
    size_t n;
    const char *s = token_text(c, j, &n);
    n = FM_MIN(n, sizeof key - 1);
    memcpy(key, s, n);
    key[n] = '\0';
    if (strcmp(key, "traceEvents") == 0)
        return read_trace(c, j);
    int taken = fm_chrome_key(c, j, key, n);
    if (taken != 0) {
        c->profile |= taken > 0;
        return taken > 0;
    }
    if (!c->alien)
        c->alien = alien(key);
    return read_value(c, j, key);
}

static bool read_object(struct fm_chrome *c, struct fm_json *j)
{
    enum fm_json_token t;
    while ((t = fm_json_next(j)) == FM_JSON_KEY) {
        if (!read_key(c, j))
            return false;
        if (c->end != FM_JSON_COMPLETE)
            return true;
    }
    return t == FM_JSON_OBJECT_END;
}

/* ------------------------------------------------------------------ the document */

static void look_behind(struct fm_chrome *c, struct fm_json *j)
{
    uint64_t at = fm_json_offset(j, j->p);
    if (c->any_events && fm_json_next(j) != FM_JSON_END && j->error != FM_JSON_SOURCE)
        fm_chrome_diag(c, FM_DIAG_CHROME_TAIL, at);
}

bool fm_chrome_document(struct fm_chrome *c, fm_json_more *source, void *user)
{
    struct fm_json j;
    fm_json_init(&j, source, user);
    c->shaped = 0;                 /* what is kept by the shapes of another scanner */
    memset(c->layout, 0, sizeof c->layout);
    memset(c->arg_way, 0, sizeof c->arg_way);
    if (source == fm_chrome_more)
        j.offset = c->skipped;
    c->end = FM_JSON_COMPLETE;
    enum fm_json_token t = fm_json_next(&j);
    bool ok = t == FM_JSON_ARRAY ? read_events(c, &j) : t == FM_JSON_OBJECT && read_object(c, &j);
    if (c->oom || c->read == FM_CANCELLED || fm_builder_status(c->builder) != FM_OK)
        return false;
    if (ok && c->end == FM_JSON_COMPLETE) {
        look_behind(c, &j);
        return true;
    }
    if (ok)
        return true;
    if (j.error == FM_JSON_CUT) {
        c->end = j.state == FM_JSON_TRUNCATED ? FM_JSON_TRUNCATED : FM_JSON_UNTERMINATED;
        c->cut_at = fm_json_offset(&j, j.p);
        return true;
    }
    if (c->read == FM_OK)
        fm_chrome_diag(c, FM_DIAG_CHROME_DOCUMENT, fm_json_offset(&j, j.p));
    if (c->read == FM_OK && j.error == FM_JSON_DEEP)
        c->read = fm_error_at(c->err, FM_LIMIT, fm_input_name(c->import->input),
                              fm_json_offset(&j, j.p), "nested deeper than %u levels",
                              FM_JSON_DEPTH);
    if (c->read == FM_OK)
        c->read = fm_error_at(c->err, FM_FORMAT, fm_input_name(c->import->input),
                              fm_json_offset(&j, j.p), "no JSON here, after %llu events",
                              (unsigned long long)c->events);
    return false;
}

/* ------------------------------------------------------------------ the end */

static void count_records(struct fm_chrome *c)
{
    for (int i = 1; i < 128; i++) {
        char name[2] = {(char)i, '\0'};
        if (c->phases[i])
            fm_account_record(c->builder, FM_ACCOUNT_RECORDS,
                              fm_builder_str(c->builder, name, 1), FM_NO_OFFSET, c->phases[i]);
    }
}

/* ts + base is the time since 1970. */
static void anchor(struct fm_chrome *c)
{
    struct fm_source *source = fm_builder_source_row(c->builder);
    if (!source || !c->has_base || c->base_ns == 0)
        return;
    source->has_wall = true;
    source->wall = c->base_ns;
    source->wall_at = 0;
}

static void number_fact(struct fm_chrome *c, const char *key, uint64_t n)
{
    struct fm_out out;
    if (n == 0 || fm_out_init(&out, c->mem, NULL) != FM_OK)
        return;
    fm_out_u64(&out, n);
    if (fm_out_finish(&out, NULL) == FM_OK)
        fm_chrome_fact(c, key, out.buf, out.n);
    fm_out_release(&out);
}

static enum fm_status rows(struct fm_chrome *c)
{
    fm_chrome_seen_all(c);
    if (!fm_chrome_spans_finish(c) || !fm_chrome_async_finish(c) || !fm_chrome_flow_finish(c) ||
        !fm_chrome_samples_finish(c))
        return FM_NOMEM;
    fm_chrome_name_threads(c);
    count_records(c);
    number_fact(c, "overlap_ns", c->overlap_ns);
    anchor(c);
    return FM_OK;
}

static enum fm_status ended(struct fm_chrome *c)
{
    const char *name = fm_input_name(c->import->input);
    /* the first failure is the one that is told: of a page's bytes, perhaps, before its JSON's */
    if (c->read != FM_OK)
        return c->read != FM_CANCELLED && c->err->status != FM_OK ? c->err->status : c->read;
    if (!c->any_events && !c->profile) {
        if (c->alien)
            return fm_error_at(c->err, FM_UNSUPPORTED, name, FM_NO_OFFSET,
                               "is %s, not a Chrome trace", c->alien);
        if (c->end == FM_JSON_COMPLETE)
            return fm_error_at(c->err, FM_UNSUPPORTED, name, FM_NO_OFFSET,
                               "is a JSON document without 'traceEvents': not a Chrome trace");
    }
    if (c->end == FM_JSON_UNTERMINATED)
        fm_chrome_diag(c, FM_DIAG_CHROME_UNTERMINATED, FM_NO_OFFSET);
    if (c->end != FM_JSON_TRUNCATED)
        return FM_OK;
    fm_builder_diag(c->builder, FM_DIAG_TRUNCATED, c->cut_at, 1);
    return fm_error_at(c->err, FM_TRUNCATED, name, c->cut_at,
                       "the trace ends inside something, after %llu events",
                       (unsigned long long)c->events);
}

/* ------------------------------------------------------------------ driver */

static bool find_unfinished(const char *word, int *out)
{
    static const char *const words[] = {[FM_CHROME_END_ENCLOSING] = "enclosing",
                                        [FM_CHROME_END_THREAD] = "thread",
                                        [FM_CHROME_END_DROP] = "drop"};
    for (size_t i = 0; i < FM_COUNT(words); i++) {
        if (!word || strcmp(word, words[i]) == 0) {
            *out = (int)i;
            return true;
        }
    }
    return false;
}

static enum fm_status start(struct fm_chrome *c, struct fm_error *err)
{
    const char *unfinished = c->import->options->unfinished;
    if (!find_unfinished(unfinished, &c->unfinished))
        return fm_error_set(err, FM_CONFIG, "unfinished spans end '%s': enclosing, thread or drop",
                            unfinished);
    fm_arena_init(&c->arena, c->mem);
    fm_map_init(&c->thread_map, c->mem);
    fm_map_init(&c->process_map, c->mem);
    fm_map_init(&c->fact_map, c->mem);
    fm_map_init(&c->counter_map, c->mem);
    c->last_thread = UINT32_MAX;
    c->item = fm_arena_alloc(&c->arena, sizeof *c->item);
    if (!c->item)
        return fm_error_nomem(err);
    enum fm_status status = fm_binding_new(c->import->mapping, c->builder,
                                           c->import->options->keep, &c->binding, err);
    if (status == FM_OK && !fm_chrome_classes_init(c))
        status = fm_error_nomem(err);
    if (status == FM_OK) {
        fm_binding_account(c->binding, true);
        status = fm_reader_open(c->import->input, &c->reader, err);
    }
    if (status == FM_OK && !fm_chrome_source_start(c))
        status = c->read != FM_OK ? c->read : fm_error_nomem(err);
    return status;
}

static bool is_page(struct fm_chrome *c)
{
    const unsigned char *data;
    size_t n, i = 0;
    if (fm_reader_peek(c->reader, 64, &data, &n, NULL) != FM_OK && n == 0)
        return false;
    while (i < n && data[i] <= ' ')
        i++;
    return i < n && data[i] == '<';
}

static enum fm_status import_chrome(struct fm_import *import, struct fm_error *err)
{
    struct fm_chrome *c = fm_mem_zalloc(&import->ctx->mem, sizeof *c);
    struct fm_error own = {0};
    if (!c)
        return fm_error_nomem(err);
    c->import = import;
    c->ctx = import->ctx;
    c->mem = &import->ctx->mem;
    c->builder = import->builder;
    c->err = err ? err : &own;
    enum fm_status status = start(c, c->err);
    if (status == FM_OK) {
        bool ok = is_page(c) ? fm_chrome_html(c) : fm_chrome_document(c, fm_chrome_more, c);
        if (ok || (!c->oom && c->read != FM_CANCELLED))
            status = rows(c);
        if (c->oom || status == FM_NOMEM)
            status = fm_error_nomem(c->err);
        else if (status == FM_OK)
            status = ended(c);
    }
    fm_chrome_samples_release(c);
    fm_chrome_flow_release(c);
    fm_chrome_async_release(c);
    fm_chrome_spans_release(c);
    fm_chrome_threads_release(c);
    fm_chrome_classes_release(c);
    fm_map_release(&c->counter_map);
    fm_reader_close(c->reader);
    fm_binding_free(c->binding);
    fm_mem_free(c->mem, c->scratch, c->scratch_cap);
    fm_arena_release(&c->arena);
    fm_mem_free(c->mem, c, sizeof *c);
    return status;
}

/* ------------------------------------------------------------------ probe */

static bool holds(const unsigned char *data, size_t n, const char *text)
{
    return memmem(data, n, text, strlen(text)) != NULL;
}

static unsigned probe_object(const unsigned char *data, size_t n)
{
    if (holds(data, n, "\"traceEvents\""))
        return 30;
    if (holds(data, n, "\"callFrame\"") ||
        (holds(data, n, "\"head\"") && holds(data, n, "\"functionName\"")))
        return 30;
    for (size_t i = 1; i < n; i++)
        if (data[i] > ' ')
            return data[i] == '"' || data[i] == '}' ? 2 : 0; /* JSON: to say what it is */
    return 2;
}

/* Megabytes of scripts may stand before the data: a page is ours unless somebody knows better. */
static unsigned probe_page(const unsigned char *data, size_t n)
{
    if (holds(data, n, "viewer-data") || holds(data, n, "trace-data") ||
        holds(data, n, "linuxPerfData"))
        return 30;
    return n > 9 && (strncasecmp((const char *)data, "<!doctype", 9) == 0 ||
                     strncasecmp((const char *)data, "<html", 5) == 0) ? 3 : 0;
}

static unsigned probe_chrome(const unsigned char *data, size_t n, bool whole,
                             struct fm_input *input)
{
    size_t i = 0;
    (void)input;
    if (!data)
        return 0;
    if (n >= 2 && ((data[0] == 0xff && data[1] == 0xfe && n >= 4 && data[3] == 0) ||
                   (data[0] == 0xfe && data[1] == 0xff && n >= 4 && data[2] == 0)))
        return 16;
    if (n >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
        i = 3;
    while (i < n && data[i] <= ' ')
        i++;
    if (i == n)
        return 0;
    if (data[i] == '{')
        return probe_object(data + i, n - i);
    if (data[i] == '<')
        return probe_page(data + i, n - i);
    if (data[i] != '[')
        return 0;
    if (holds(data, n, "\"ph\""))
        return 29;
    for (i++; i < n && (data[i] <= ' ' || data[i] == ']' || data[i] == ','); i++)
        ;
    return i == n && whole ? 16 : i < n && data[i] == '{' ? 4 : 0;
}

const struct fm_importer fm_importer_chrome = {
    .name = "chrome",
    .summary = "Chrome trace-event JSON, V8 CPU and heap profiles",
    .extensions = "json,cpuprofile,heapprofile,html",
    .mapping = true,
    .probe = probe_chrome,
    .import = import_chrome,
};
