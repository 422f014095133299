/*
 * jfrjson.c - reads the right values of a recording; see jfrjson.h.
 */
#include "jfrjson.h"

#include "util/json.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const number_name[JX_NUMBERS] = {
    "samples", "tlabSize", "allocationSize", "weight", "size", "address", "samplingPeriod",
    "timeSpan", "allocationTime", "objectSize", "bytesRead", "bytesWritten",
};

struct parse {
    struct fm_json j;
    struct jx *x;
    char *text;                  /* room for all strings, unescaped */
    size_t used;
    const char *path;
};

static void fail(const struct parse *p, const char *what)
{
    fprintf(stderr, "%s: %s at byte %llu\n", p->path, what, (unsigned long long)p->j.at);
    exit(99);
}

static void *grow(struct parse *p, void *v, size_t n, size_t size)
{
    if (n != 0 && (n < 64 || (n & (n - 1)) != 0))
        return v;
    v = realloc(v, (n < 64 ? 64 : 2 * n) * size);
    if (v == NULL)
        fail(p, "no memory");
    return v;
}

/* ------------------------------------------------------------------- values */

static const char *string(struct parse *p)
{
    char *s = p->text + p->used;
    size_t n = p->j.n;

    if (p->j.escaped)
        n = fm_json_unescape(p->j.text, p->j.n, s);
    else
        memcpy(s, p->j.text, n);
    s[n] = '\0';
    p->used += n + 1;
    return s;
}

/* A string or null that is already the token. */
static const char *text_of(struct parse *p, enum fm_json_token t)
{
    if (t == FM_JSON_STRING)
        return string(p);
    if (t != FM_JSON_NULL)
        fail(p, "no string");
    return NULL;
}

static bool number_of(struct parse *p, enum fm_json_token t, int64_t *v)
{
    uint64_t u;

    if (t == FM_JSON_NUMBER && fm_json_scaled(p->j.text, p->j.n, 1, v))
        return true;
    if (t == FM_JSON_NUMBER && fm_text_u64(p->j.text, p->j.n, &u)) {
        *v = (int64_t)u;
        return true;
    }
    return false;
}

static int64_t next_number(struct parse *p)
{
    int64_t v = 0;
    enum fm_json_token t = fm_json_next(&p->j);

    if (t != FM_JSON_NULL && !number_of(p, t, &v))
        fail(p, "no number");
    return v;
}

static void demand(struct parse *p, enum fm_json_token is, enum fm_json_token wanted)
{
    if (is != wanted)
        fail(p, "an unexpected token");
}

static bool key_is(const struct parse *p, const char *name)
{
    return p->j.n == strlen(name) && memcmp(p->j.text, name, p->j.n) == 0;
}

/* Version 1.0 says com.oracle.jdk.X for jdk.X; types of 0.9 without what all of a vendor's begin
 * with. */
static const char *modern_type(const struct parse *p, const char *type)
{
    static const char *const vendor[] = {"http://www.oracle.com/hotspot/",
                                         "http://www.oracle.com/"};

    for (size_t i = 0; p->x->old && i < 2; i++) {
        if (strncmp(type, vendor[i], strlen(vendor[i])) == 0)
            return type + strlen(vendor[i]);
    }
    if (strcmp(type, "com.oracle.jdk.AllocationRequiringGc") == 0)
        return "jdk.AllocationRequiringGC";
    if (strcmp(type, "com.oracle.jdk.GCG1MMU") == 0)
        return "jdk.G1MMU";
    return strncmp(type, "com.oracle.jdk.", 15) == 0 ? type + 11 : type;
}

/* ------------------------------------------------------------------- tables */

static void counts(struct parse *p)
{
    struct jx *x = p->x;

    demand(p, fm_json_next(&p->j), FM_JSON_OBJECT);
    while (fm_json_next(&p->j) == FM_JSON_KEY) {
        enum fm_json_token t;
        x->count = grow(p, x->count, x->counts, sizeof *x->count);
        x->count[x->counts].type = modern_type(p, string(p));
        t = fm_json_next(&p->j);
        if (t == FM_JSON_ARRAY) {
            x->count[x->counts].events = (uint64_t)next_number(p);
            (void)fm_json_skip(&p->j, FM_JSON_ARRAY);
        } else {
            int64_t v = 0;
            if (!number_of(p, t, &v))
                fail(p, "no count");
            x->count[x->counts].events = (uint64_t)v;
        }
        x->counts++;
    }
}

static void threads(struct parse *p)
{
    struct jx *x = p->x;

    demand(p, fm_json_next(&p->j), FM_JSON_ARRAY);
    while (fm_json_next(&p->j) == FM_JSON_ARRAY) {
        struct jx_thread *t;
        x->thread = grow(p, x->thread, x->threads, sizeof *x->thread);
        t = &x->thread[x->threads++];
        t->os = text_of(p, fm_json_next(&p->j));
        t->os_id = next_number(p);
        t->java = text_of(p, fm_json_next(&p->j));
        t->java_id = next_number(p);
        t->is_virtual = fm_json_next(&p->j) == FM_JSON_TRUE;
        demand(p, fm_json_next(&p->j), FM_JSON_ARRAY_END);
    }
}

static void frames(struct parse *p, struct jx_stack *s)
{
    demand(p, fm_json_next(&p->j), FM_JSON_ARRAY);
    while (fm_json_next(&p->j) == FM_JSON_ARRAY) {
        struct jx_frame *f;
        s->frame = grow(p, s->frame, s->frames, sizeof *s->frame);
        f = &s->frame[s->frames++];
        f->class = text_of(p, fm_json_next(&p->j));
        f->method = text_of(p, fm_json_next(&p->j));
        f->descriptor = text_of(p, fm_json_next(&p->j));
        f->line = next_number(p);
        f->bci = next_number(p);
        f->type = text_of(p, fm_json_next(&p->j));
        demand(p, fm_json_next(&p->j), FM_JSON_ARRAY_END);
    }
}

static void stacks(struct parse *p)
{
    struct jx *x = p->x;

    demand(p, fm_json_next(&p->j), FM_JSON_ARRAY);
    while (fm_json_next(&p->j) == FM_JSON_OBJECT) {
        struct jx_stack *s;
        x->stack = grow(p, x->stack, x->stacks, sizeof *x->stack);
        s = &x->stack[x->stacks++];
        memset(s, 0, sizeof *s);
        while (fm_json_next(&p->j) == FM_JSON_KEY) {
            if (key_is(p, "truncated"))
                s->truncated = fm_json_next(&p->j) == FM_JSON_TRUE;
            else if (key_is(p, "frames"))
                frames(p, s);
            else
                (void)fm_json_skip(&p->j, FM_JSON_KEY);
        }
    }
}

/* ------------------------------------------------------------------- events */

static size_t place(struct parse *p, enum fm_json_token t)
{
    int64_t v;

    if (t == FM_JSON_NULL)
        return JX_NULL;
    if (!number_of(p, t, &v) || v < 0)
        fail(p, "no place in a table");
    return (size_t)v;
}

/* Takes the value of a field that is a number by name; false: none of those. */
static bool named_number(struct parse *p, struct jx_event *e)
{
    int64_t v;

    for (unsigned i = 0; i < JX_NUMBERS; i++) {
        bool jrockit = p->x->old && i == JX_BYTES_READ && key_is(p, "bytes");
        if (!jrockit && !key_is(p, number_name[i]))
            continue;
        enum fm_json_token t = fm_json_next(&p->j);
        if (number_of(p, t, &v)) {
            e->number[i] = v;
            e->has |= 1u << i;
        } else if (t == FM_JSON_OBJECT || t == FM_JSON_ARRAY) {
            (void)fm_json_skip(&p->j, t);
        }
        return true;
    }
    return false;
}

static bool is_class(const struct parse *p)
{
    if (p->x->old && (key_is(p, "klass") || key_is(p, "class")))
        return true;
    return key_is(p, "objectClass") || key_is(p, "monitorClass") || key_is(p, "parkedClass") ||
           key_is(p, "thrownClass");
}

static void text_field(struct parse *p, const char **to)
{
    enum fm_json_token t = fm_json_next(&p->j);

    if (t == FM_JSON_STRING)
        *to = string(p);
    else if (t == FM_JSON_OBJECT || t == FM_JSON_ARRAY)
        (void)fm_json_skip(&p->j, t);
}

static void field(struct parse *p, struct jx_event *e)
{
    int64_t v;

    if (key_is(p, "event") && e->type == NULL) {
        e->type = modern_type(p, text_of(p, fm_json_next(&p->j)));
    } else if (key_is(p, "start") && !e->timed) { /* later ones are fields of that name */
        e->start = next_number(p);
        e->timed = true;
    } else if (key_is(p, "end")) { /* version 0.9: behind start, if that is there */
        v = next_number(p);
        e->has_dur = e->start != 0;
        e->dur = e->has_dur ? v - e->start : 0;
        e->start = e->has_dur ? e->start : v;
    } else if (key_is(p, "duration")) {
        if (number_of(p, fm_json_next(&p->j), &v)) {
            e->dur = v;
            e->has_dur = true;
        }
    } else if (key_is(p, "eventThread") || (key_is(p, "sampledThread") && !p->x->old)) {
        e->thread = place(p, fm_json_next(&p->j));
    } else if (key_is(p, "thread") && !p->x->old && e->thread == JX_ABSENT) {
        e->thread = place(p, fm_json_next(&p->j));
    } else if (key_is(p, "thread") && p->x->old) {
        text_field(p, &e->thread_name);
    } else if (key_is(p, "sampledThread")) {
        text_field(p, &e->thread_name);
    } else if (key_is(p, "stackTrace") || (key_is(p, "stack") && p->x->old) ||
               (key_is(p, "stacktrace") && e->type != NULL && strstr(e->type, "/prof/") != NULL)) {
        e->stack = place(p, fm_json_next(&p->j));
    } else if (is_class(p)) {
        e->has_class = true;
        text_field(p, &e->class);
    } else if (key_is(p, "state")) {
        text_field(p, &e->state);
    } else if (key_is(p, "method")) {
        text_field(p, &e->method);
    } else if (!named_number(p, e)) {
        (void)fm_json_skip(&p->j, FM_JSON_KEY);
    }
}

static void events(struct parse *p)
{
    struct jx *x = p->x;

    demand(p, fm_json_next(&p->j), FM_JSON_ARRAY);
    while (fm_json_next(&p->j) == FM_JSON_OBJECT) {
        struct jx_event *e;
        x->event = grow(p, x->event, x->events, sizeof *x->event);
        e = &x->event[x->events++];
        memset(e, 0, sizeof *e);
        e->thread = e->stack = JX_ABSENT;
        while (fm_json_next(&p->j) == FM_JSON_KEY)
            field(p, e);
    }
}

static void chunks(struct parse *p)
{
    demand(p, fm_json_next(&p->j), FM_JSON_ARRAY);
    while (fm_json_next(&p->j) == FM_JSON_OBJECT) {
        p->x->chunks++;
        while (fm_json_next(&p->j) == FM_JSON_KEY) {
            if (key_is(p, "version"))
                p->x->old |= strcmp(text_of(p, fm_json_next(&p->j)), "0.9") == 0;
            else
                (void)fm_json_skip(&p->j, FM_JSON_KEY);
        }
    }
}

bool jx_load(struct jx *x, struct fm_ctx *ctx, const char *path)
{
    struct parse p = {.x = x, .path = path};
    char *data;
    size_t n;

    memset(x, 0, sizeof *x);
    if (fm_input_slurp(ctx, path, (size_t)1 << 30, &data, &n, NULL) != FM_OK)
        return false;
    x->text = p.text = malloc(n + 1);
    if (p.text == NULL)
        fail(&p, "no memory");
    fm_json_init_memory(&p.j, data, n);
    demand(&p, fm_json_next(&p.j), FM_JSON_OBJECT);
    while (fm_json_next(&p.j) == FM_JSON_KEY) {
        if (key_is(&p, "chunks"))
            chunks(&p);
        else if (key_is(&p, "counts"))
            counts(&p);
        else if (key_is(&p, "threads"))
            threads(&p);
        else if (key_is(&p, "stacks"))
            stacks(&p);
        else if (key_is(&p, "events"))
            events(&p);
        else
            (void)fm_json_skip(&p.j, FM_JSON_KEY);
    }
    if (fm_json_next(&p.j) != FM_JSON_END)
        fail(&p, "no end");
    fm_mem_free(&ctx->mem, data, n + 1);
    return true;
}

void jx_free(struct jx *x)
{
    for (size_t i = 0; i < x->stacks; i++)
        free(x->stack[i].frame);
    free(x->stack);
    free(x->thread);
    free(x->count);
    free(x->event);
    free(x->text);
    memset(x, 0, sizeof *x);
}
