/*
 * query_help.c - see query_help.h.
 */
#include "query_help.h"

#include "util/out.h"
#include "util/text.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char output[1 << 20], messages[1 << 16], error_text[1024], source[1 << 16], path[64];
static enum fm_status last;

static fm_str str(struct fm_builder *b, const char *s, size_t n)
{
    return fm_builder_str(b, s, n);
}

static fm_module module(struct fm_builder *b, const char *s, size_t n)
{
    struct fm_module_row row = { .kind = FM_MODULE_NAMED, .pid = -1 };

    row.path = str(b, s, n);
    return fm_builder_module(b, &row);
}

static fm_frame frame(struct fm_builder *b, const char *s, size_t n, uint8_t kind)
{
    struct fm_frame_row row = { .module = FM_NONE, .address = UINT64_MAX, .kind = kind };
    const char *at = memchr(s, '@', n);
    size_t len = at == NULL ? n : (size_t)(at - s);

    row.function = str(b, s, len);
    if (at != NULL) {
        const char *mod = at + 1, *end = s + n;
        const char *file = memchr(mod, '@', (size_t)(end - mod));
        size_t mod_n = (size_t)((file == NULL ? end : file) - mod);
        if (mod_n > 0)
            row.module = module(b, mod, mod_n);
        if (file != NULL) {
            const char *colon = memchr(file, ':', (size_t)(end - file));
            uint64_t line = 0;
            ck_assert_ptr_nonnull(colon);
            row.file = str(b, file + 1, (size_t)(colon - file - 1));
            ck_assert(fm_text_u64(colon + 1, (size_t)(end - colon - 1), &line));
            row.line = (uint32_t)line;
        }
    }
    return fm_builder_frame(b, &row);
}

struct row {
    const char *stack;
    size_t stack_n;
    uint64_t weight;
    uint32_t event;
    uint8_t kind;
    int64_t tid;
    const char *thread;
    size_t thread_n;
    struct {
        fm_column col;
        uint64_t value;
    } set[16];
    size_t sets;
};

static void set(struct row *r, fm_column col, uint64_t value)
{
    ck_assert_uint_lt(r->sets, 16);
    r->set[r->sets].col = col;
    r->set[r->sets++].value = value;
}

static bool key_is(const char *key, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(key, word, n) == 0;
}

static void label(struct fm_builder *b, struct row *r, const char *key, size_t n, const char *v,
                  size_t m)
{
    char name[64];
    int64_t i = 0;
    double f = 0;
    enum fm_type type = key[0] == 's' ? FM_TYPE_STRING : key[0] == 'i' ? FM_TYPE_I64 : FM_TYPE_F64;

    ck_assert(n > 2 && key[1] == '.');
    snprintf(name, sizeof name, "%.*s", (int)(n - 2), key + 2);
    if (type == FM_TYPE_STRING) {
        set(r, fm_builder_label(b, name, type, false), str(b, v, m));
    } else if (type == FM_TYPE_I64) {
        ck_assert(fm_text_i64(v, m, &i));
        set(r, fm_builder_label(b, name, type, false), (uint64_t)i);
    } else {
        ck_assert(fm_text_f64(v, m, &f));
        set(r, fm_builder_label(b, name, type, false), fm_f64_bits(f));
    }
}

static enum fm_kind event_kind(const char *s, size_t n)
{
    enum fm_kind kind = FM_KIND_SAMPLE;

    while (kind < FM_KIND_PART && !key_is(s, n, fm_kind_text(kind)))
        kind++;
    ck_assert(key_is(s, n, fm_kind_text(kind)));
    return kind;
}

static void option(struct fm_builder *b, struct row *r, const char *key, size_t n, const char *v,
                   size_t m)
{
    int64_t i = 0;

    if (key_is(key, n, "event")) {
        const char *colon = memchr(v, ':', m), *end = v + m, *more;
        char name[64], unit[64];
        enum fm_kind kind = FM_KIND_SAMPLE;
        ck_assert_ptr_nonnull(colon);
        more = memchr(colon + 1, ':', (size_t)(end - colon - 1));
        if (more != NULL) {
            kind = event_kind(more + 1, (size_t)(end - more - 1));
            end = more;
        }
        snprintf(name, sizeof name, "%.*s", (int)(colon - v), v);
        snprintf(unit, sizeof unit, "%.*s", (int)(end - colon - 1), colon + 1);
        r->event = fm_builder_event(b, name, unit, kind);
    } else if (key_is(key, n, "thread")) {
        r->thread = v;
        r->thread_n = m;
    } else if (key_is(key, n, "name")) {
        set(r, FM_COL_NAME, str(b, v, m));
    } else if (key_is(key, n, "category")) {
        set(r, FM_COL_CATEGORY, str(b, v, m));
    } else if (key_is(key, n, "comm")) {
        set(r, FM_COL_COMM, str(b, v, m));
    } else if (key_is(key, n, "kind")) {
        r->kind = key_is(v, m, "kernel") ? FM_FRAME_KERNEL : FM_FRAME_JIT;
    } else if (n > 2 && key[1] == '.') {
        label(b, r, key, n, v, m);
    } else {
        ck_assert_msg(fm_text_i64(v, m, &i), "%.*s", (int)m, v);
        if (key_is(key, n, "tid"))
            r->tid = i;
        else if (key_is(key, n, "ts"))
            set(r, FM_COL_TS, (uint64_t)i);
        else if (key_is(key, n, "dur"))
            set(r, FM_COL_DUR, (uint64_t)i);
        else if (key_is(key, n, "cpu"))
            set(r, FM_COL_CPU, (uint64_t)i);
        else if (key_is(key, n, "count"))
            set(r, FM_COL_COUNT, (uint64_t)i);
        else
            ck_abort_msg("unknown key %.*s", (int)n, key);
    }
}

static fm_node stack(struct fm_builder *b, const struct row *r)
{
    fm_node node = FM_NODE_ROOT;
    size_t from = 0;

    for (size_t i = 0; i <= r->stack_n; i++) {
        if (i < r->stack_n && r->stack[i] != ';')
            continue;
        node = fm_builder_node(b, node, frame(b, r->stack + from, i - from, r->kind));
        from = i + 1;
    }
    return node;
}

static void put_row(struct fm_builder *b, const struct row *r)
{
    fm_node node = FM_NODE_ROOT;
    fm_thread t = FM_NONE;
    uint64_t count = 1;

    if (r->tid >= 0) {
        t = fm_builder_thread(b, r->tid / 100 * 100, r->tid, 0);
        if (r->thread != NULL)
            fm_builder_thread_name(b, t, INT64_MIN, str(b, r->thread, r->thread_n));
    }
    if (!(r->stack_n == 1 && r->stack[0] == '-'))
        node = stack(b, r);
    for (size_t i = 0; i < r->sets; i++) {
        if (r->set[i].col == FM_COL_COUNT)
            count = r->set[i].value;
    }
    if (fm_builder_event_row(b, r->event)->kind == FM_KIND_SAMPLE)
        fm_account_in(b, count);
    fm_row_begin(b, r->event);
    fm_row_set(b, FM_COL_WEIGHT, r->weight);
    if (node != FM_NODE_ROOT)
        fm_row_set(b, FM_COL_STACK, node);
    if (t != FM_NONE)
        fm_row_set(b, FM_COL_THREAD, t);
    for (size_t i = 0; i < r->sets; i++)
        fm_row_set(b, r->set[i].col, r->set[i].value);
    fm_row_end(b);
}

void query_row(struct fm_builder *b, const char *line, size_t n)
{
    struct row r = { .tid = -1, .kind = FM_FRAME_USER };
    size_t from = 0, word = 0;

    r.event = FM_NONE;
    for (size_t i = 0; i <= n; i++) {
        const char *w = line + from, *equals;
        size_t len = i - from;
        if (i < n && line[i] != ' ')
            continue;
        from = i + 1;
        if (len == 0)
            continue;
        if (word == 0) {
            r.stack = w;
            r.stack_n = len;
        } else if (word == 1) {
            ck_assert_msg(fm_text_u64(w, len, &r.weight), "%.*s", (int)n, line);
        } else {
            equals = memchr(w, '=', len);
            ck_assert_ptr_nonnull(equals);
            option(b, &r, w, (size_t)(equals - w), equals + 1,
                   len - (size_t)(equals - w) - 1);
        }
        word++;
    }
    ck_assert_uint_ge(word, 2);
    if (r.event == FM_NONE)
        r.event = fm_builder_event(b, "cpu", "ns", FM_KIND_SAMPLE);
    put_row(b, &r);
}

struct fm_store *query_seal(struct fm_builder *b)
{
    struct fm_store *store = NULL;
    struct fm_error err;

    fm_error_clear(&err);
    ck_assert_msg(fm_builder_seal(b, NULL, &store, &err) == FM_OK, "%s", err.message);
    ck_assert_msg(fm_store_verify(store, &err) == FM_OK, "%s", err.message);
    return store;
}

struct fm_store *query_store(struct fm_ctx *ctx, const char *lines)
{
    struct fm_builder *b;

    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    fm_builder_source(b, "test", "lines");
    while (*lines != '\0') {
        size_t n = strcspn(lines, "\n");
        if (n > 0)
            query_row(b, lines, n);
        lines += n + (lines[n] == '\n');
    }
    return query_seal(b);
}

/* ----------------------------------------------------------------- queries */

enum fm_status query_load(struct fm_ctx *ctx, const char *text, struct fm_query **query,
                          struct fm_error *err)
{
    FILE *file;
    enum fm_status status;

    snprintf(path, sizeof path, "query-%ld.yaml", (long)getpid());
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert(fputs(text, file) >= 0);
    ck_assert_int_eq(fclose(file), 0);
    status = fm_query_load(ctx, path, query, err);
    unlink(path);
    return status;
}

/* The message with the file's name, which has a process id, made "q.yaml". */
static void keep_messages(const char *text)
{
    size_t n = 0, skip = strlen(path);

    while (*text != '\0' && n + 8 < sizeof messages) {
        if (skip > 0 && strncmp(text, path, skip) == 0) {
            memcpy(messages + n, "q.yaml", 6);
            n += 6;
            text += skip;
        } else {
            messages[n++] = *text++;
        }
    }
    messages[n] = '\0';
}

static int collect(void *user, const void *data, size_t n)
{
    size_t *at = user;

    ck_assert_uint_lt(*at + n, sizeof output);
    memcpy(output + *at, data, n);
    *at += n;
    output[*at] = '\0';
    return 0;
}

static void set_params(struct fm_query *q, const char *params, struct fm_error *err)
{
    while (params != NULL && *params != '\0' && last == FM_OK) {
        size_t n = strcspn(params, " "), equals = strcspn(params, "=");
        char name[64], value[256];
        ck_assert_uint_lt(equals, n);
        snprintf(name, sizeof name, "%.*s", (int)equals, params);
        snprintf(value, sizeof value, "%.*s", (int)(n - equals - 1), params + equals + 1);
        last = fm_query_set(q, name, value, err);
        params += n + (params[n] == ' ');
    }
}

static const char *run_all(struct fm_ctx *ctx, struct fm_store *const *store, size_t stores,
                           const char *text, const char *params, const char *format,
                           const struct fm_select_options *select)
{
    struct fm_query *q = NULL;
    struct fm_result *result = NULL;
    struct fm_error err;
    size_t at = 0;
    struct fm_sink sink = { collect, &at };

    fm_error_clear(&err);
    output[0] = messages[0] = error_text[0] = '\0';
    last = query_load(ctx, text, &q, &err);
    if (last == FM_OK)
        set_params(q, params, &err);
    if (last == FM_OK)
        last = fm_query_run(ctx, q, store, stores, select, &result, &err);
    if (last == FM_OK)
        last = fm_result_write(result, format, &sink, &err);
    keep_messages(fm_query_errors(q));
    if (last != FM_OK)
        snprintf(error_text, sizeof error_text, "%s", err.message);
    fm_result_free(result);
    fm_query_free(q);
    return last == FM_OK ? output : NULL;
}

const char *query_run_with(struct fm_ctx *ctx, struct fm_store *store, const char *text,
                           const char *params, const char *format,
                           const struct fm_select_options *select)
{
    return run_all(ctx, &store, 1, text, params, format, select);
}

const char *query_run_stores(struct fm_ctx *ctx, struct fm_store *const *store, size_t stores,
                             const char *text, const char *params, const char *format)
{
    return run_all(ctx, store, stores, text, params, format, NULL);
}

const char *query_run(struct fm_ctx *ctx, struct fm_store *store, const char *text,
                      const char *params, const char *format)
{
    return query_run_with(ctx, store, text, params, format, NULL);
}

const char *query_messages(void)
{
    return messages;
}

enum fm_status query_status(void)
{
    return last;
}

const char *query_error(void)
{
    return error_text;
}

const char *query_of(const char *steps)
{
    snprintf(source, sizeof source, "foldmill-query: 1\nname: q\nfrom: samples\nsteps:\n%s",
             steps);
    return source;
}
