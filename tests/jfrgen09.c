/*
 * jfrgen09.c - writes chunks of version 0.9 (JDK 7 and 8, JRockit) from a small description, and
 * the recordings made with it. See jfrfix.h for what their rows mean.
 *
 *   chunk      magic, 0, 9, offset of the metadata; events from 16 on; the metadata ends it
 *   event      size i32, type i32, end ticks i64 [, start i64] [, thread u32] [, stack u64], fields
 *   checkpoint size, 1, ticks i64, offset of the one before i64, pools
 *
 * Everything is of fixed size and big-endian. Schema, one a line:
 *
 *     S FIELD ...                a structure, numbered from 0: NAME=DATATYPE[/CONTENT][*STRUCT]
 *     E ID PATH FLAGS STRUCT     an event type; FLAGS of s (start time), t (thread), k (stack), -
 *     C ID NAME KEYTYPE STRUCT   a pool
 *
 * Values are words in order; utf texts as they are ("~" = empty), %XX a byte; strings of UTF-16
 * with %uXXXX.
 */
#include "jfrfix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD 256
#define MAX 32u
#define NS 1000000000u

struct field {
    char name[32];
    unsigned type, content, structure;
};
struct structure {
    struct field field[16];
    unsigned fields;
};
struct entry {                /* an event type or a pool */
    unsigned id, key, structure;
    char name[64], flags[8];
};
struct gen {
    struct jfr *g;
    struct structure structure[MAX];
    struct entry event[MAX], pool[MAX];
    unsigned structures, events, pools;
    size_t chunk, checkpoint;
    const char *uri;
};

static void fail(const char *what, const char *of)
{
    fprintf(stderr, "jfrgen09: %s: %s\n", what, of);
    abort();
}

static bool word(const char **p, char out[WORD])
{
    size_t n = 0;

    while (**p == ' ')
        ++*p;
    for (; **p != '\0' && **p != ' ' && **p != '\n' && n + 1 < WORD; ++*p)
        out[n++] = **p;
    out[n] = '\0';
    return n > 0;
}

static uint64_t next(const char **p)
{
    char w[WORD], *end;
    uint64_t v;

    if (!word(p, w))
        fail("a number is missing", "");
    v = w[0] == '-' ? (uint64_t)strtoll(w, &end, 0) : strtoull(w, &end, 0);
    if (*end != '\0')
        fail("no number", w);
    return v;
}

static void utf(struct jfr *g, const char *s)
{
    unsigned char out[WORD];
    size_t n = 0;

    if (strcmp(s, "~") == 0)
        s = "";
    for (; *s != '\0'; s++) {
        char hex[3] = "";
        if (*s == '%') {
            memcpy(hex, s + 1, 2);
            s += 2;
        }
        out[n++] = hex[0] != '\0' ? (unsigned char)strtoul(hex, NULL, 16) : (unsigned char)*s;
    }
    jfr_be(g, n, 2);
    jfr_raw(g, out, n);
}

static void utf16(struct jfr *g, const char *s)
{
    size_t count = g->n, n = 0;

    jfr_be(g, 0, 4);
    for (; strcmp(s, "~") != 0 && *s != '\0'; n++) {
        char hex[5] = "";
        if (s[0] == '%')
            memcpy(hex, s + 2, 4);
        jfr_be(g, s[0] == '%' ? strtoul(hex, NULL, 16) : (unsigned char)*s, 2);
        s += s[0] == '%' ? 6 : 1;
    }
    jfr_set_be(g, count, n, 4);
}

/* ------------------------------------------------------------------ values */

static unsigned width(unsigned type)
{
    static const unsigned char w[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8};

    return type < sizeof w ? w[type] : 0;
}

static void values(struct gen *m, unsigned structure, const char **p)
{
    const struct structure *s = &m->structure[structure];
    char w[WORD];

    for (unsigned i = 0; i < s->fields; i++) {
        const struct field *f = &s->field[i];
        uint64_t n;
        if (width(f->type) != 0) {
            jfr_be(m->g, next(p), width(f->type));
        } else if (f->type == 11 || f->type == 12) {
            if (!word(p, w))
                fail("a text is missing", f->name);
            if (f->type == 11)
                utf(m->g, w);
            else
                utf16(m->g, w);
        } else if (f->type == 14) {
            values(m, f->structure, p);
        } else {
            jfr_be(m->g, n = next(p), 4);
            for (; n > 0; n--) {
                if (f->type == 15)
                    values(m, f->structure, p);
                else
                    jfr_be(m->g, next(p), width(f->structure));
            }
        }
    }
}

static void event_begin(struct gen *m, unsigned type)
{
    m->g->event = m->g->n;
    jfr_be(m->g, 0, 4);
    jfr_be(m->g, type, 4);
}

static void event_end(struct gen *m)
{
    jfr_set_be(m->g, m->g->event, m->g->n - m->g->event, 4);
}

static void event(struct gen *m, const char *text)
{
    unsigned id = (unsigned)next(&text), i = 0;

    while (i < m->events && m->event[i].id != id)
        i++;
    if (i == m->events)
        fail("unknown event", text);
    event_begin(m, id);
    jfr_be(m->g, next(&text), 8);
    if (strchr(m->event[i].flags, 's') != NULL)
        jfr_be(m->g, next(&text), 8);
    if (strchr(m->event[i].flags, 't') != NULL)
        jfr_be(m->g, next(&text), 4);
    if (strchr(m->event[i].flags, 'k') != NULL)
        jfr_be(m->g, next(&text), 8);
    values(m, m->event[i].structure, &text);
    event_end(m);
}

static void pools(struct gen *m, uint64_t ticks, const char *text)
{
    size_t before = m->checkpoint;

    event_begin(m, 1);
    m->checkpoint = m->g->event - m->chunk;
    jfr_be(m->g, ticks, 8);
    jfr_be(m->g, before, 8);
    for (char w[WORD]; word(&text, w);) {
        unsigned id = (unsigned)strtoul(w, NULL, 10), i = 0;
        uint64_t n = next(&text);
        while (i < m->pools && m->pool[i].id != id)
            i++;
        if (i == m->pools)
            fail("unknown pool", w);
        jfr_be(m->g, id, 4);
        jfr_be(m->g, n, 4);
        for (; n > 0; n--) {
            jfr_be(m->g, next(&text), width(m->pool[i].key));
            values(m, m->pool[i].structure, &text);
        }
    }
    event_end(m);
}

/* ------------------------------------------------------------------ schema */

static void parse_structure(struct structure *s, const char *p)
{
    char w[WORD];

    s->fields = 0;
    while (word(&p, w)) {
        struct field *f = &s->field[s->fields++];
        char *eq = strchr(w, '='), *part;
        if (eq == NULL)
            fail("no field", w);
        *eq++ = '\0';
        snprintf(f->name, sizeof f->name, "%.31s", w);
        f->type = (unsigned)strtoul(eq, &part, 10);
        f->content = *part == '/' ? (unsigned)strtoul(part + 1, &part, 10) : 0;
        f->structure = *part == '*' ? (unsigned)strtoul(part + 1, NULL, 10) : 0;
    }
}

static void schema(struct gen *m, const char *text)
{
    char w[WORD];

    for (; *text != '\0'; text += *text == '\n') {
        const char *p = text + 1;
        struct entry *e = *text == 'E' ? &m->event[m->events++] : &m->pool[m->pools];
        if (*text == 'S') {
            parse_structure(&m->structure[m->structures++], p);
        } else {
            m->pools += *text == 'C';
            e->id = (unsigned)next(&p);
            (void)word(&p, w);
            snprintf(e->name, sizeof e->name, "%.63s", w);
            (void)word(&p, w);
            snprintf(e->flags, sizeof e->flags, "%.7s", w);
            e->key = *text == 'C' ? (unsigned)strtoul(w, NULL, 10) : 0;
            e->structure = (unsigned)next(&p);
        }
        text += strcspn(text, "\n");
    }
}

static void chunk(struct gen *m)
{
    m->chunk = m->g->n;
    m->checkpoint = 0;
    jfr_raw(m->g, "FLR\0\0\0\0\11", 8);
    jfr_be(m->g, 0, 8);
}

static void put_types(struct gen *m)
{
    struct jfr *g = m->g;

    jfr_be(g, m->structures, 4);
    for (unsigned i = 0; i < m->structures; i++) {
        const struct structure *s = &m->structure[i];
        jfr_be(g, s->fields, 4);
        for (unsigned k = 0; k < s->fields; k++) {
            utf(g, s->field[k].name);
            utf(g, s->field[k].name);
            utf(g, "~");
            jfr_be(g, 0, 1);
            jfr_be(g, s->field[k].type, 1);
            jfr_be(g, s->field[k].content, 4);
            jfr_be(g, s->field[k].structure, 4);
            jfr_be(g, 0, 4);
        }
    }
    jfr_be(g, m->events, 4);
    for (unsigned i = 0; i < m->events; i++) {
        jfr_be(g, m->event[i].id, 4);
        utf(g, m->event[i].name);
        utf(g, "about");
        utf(g, m->event[i].name);
        jfr_be(g, strchr(m->event[i].flags, 's') != NULL, 1);
        jfr_be(g, strchr(m->event[i].flags, 't') != NULL, 1);
        jfr_be(g, strchr(m->event[i].flags, 'k') != NULL, 1);
        jfr_be(g, 0, 1);
        jfr_be(g, m->event[i].structure, 4);
        jfr_be(g, 0, 4);
    }
    jfr_be(g, m->pools, 4);
    for (unsigned i = 0; i < m->pools; i++) {
        jfr_be(g, m->pool[i].id, 4);
        utf(g, m->pool[i].name);
        utf(g, "~");
        jfr_be(g, m->pool[i].key, 1);
        jfr_be(g, m->pool[i].structure, 4);
    }
}

static void end(struct gen *m, uint64_t start_ms, uint64_t start_ticks, uint64_t per_second)
{
    struct jfr *g = m->g;
    size_t at = g->n;

    event_begin(m, 0);
    jfr_be(g, 1, 4);
    jfr_be(g, 1, 4);
    utf(g, "HotSpot JVM");
    utf(g, "~");
    utf(g, m->uri);
    jfr_be(g, 1, 4);
    utf(g, "http://example.org/relations/");
    put_types(m);
    jfr_be(g, start_ms, 8);
    jfr_be(g, start_ms + 1000, 8);
    jfr_be(g, start_ticks, 8);
    jfr_be(g, per_second, 8);
    jfr_be(g, m->checkpoint, 8);
    utf(g, "en_US");
    jfr_be(g, 0, 4);
    event_end(m);
    jfr_set_be(g, m->chunk + 8, at - m->chunk, 8);
}

/* ---------------------------------------------------------------- fixtures */

static const char hotspot_types[] =
    "S sampledThread=6/7 stackTrace=8/9 state=4/34\n"
    "S class=8/10 allocationSize=8/1 tlabSize=8/1\n"
    "S klass=8/10 previousOwner=6/7 address=8/6\n"
    "S name=11\n"
    "S truncated=0 frames=15*5\n"
    "S method=8/32 line=5 bci=5 type=2/47\n"
    "S loaderClass=8/10 name=8/33 modifiers=5\n"
    "S class=8/10 name=8/33 signature=8/33 modifiers=5 hidden=0\n"
    "S utf8=11\n"
    "S desc=11\n"
    "S path=12 bytesRead=8/1 more=13*2 deep=14*9\n"
    "E 20 vm/prof/execution_sample - 0\n"
    "E 21 java/object_alloc_in_new_TLAB tk 1\n"
    "E 22 java/monitor_enter stk 2\n"
    "E 23 acme/sample stk 10\n"
    "C 7 Thread 6 3\nC 9 StackTrace 8 4\nC 10 Class 8 6\nC 32 Method 8 7\nC 33 UTFConstant 8 8\n"
    "C 34 ThreadState 4 3\nC 47 FrameType 2 9\n";

static const char hotspot_pools[] =
    "47 2 1 Interpreted 2 JIT%20compiled 34 1 5 STATE_RUNNABLE 7 2 101 main 102 gr%C3%B6%C3%9Fe "
    "33 5 1 app/Work 2 main 3 run 4 ()V 5 [B 10 2 1 0 1 1 2 0 5 0 "
    "32 2 11 1 2 4 9 0 12 1 3 4 9 0 9 1 1 0 2 12 20 3 2 11 10 1 1 ";

#define HOTSPOT "http://www.oracle.com/hotspot/jvm/"

/* 0.9 counts in ticks of the CPU: 2.4 GHz here. Fields of an event of every kind of type. */
void jfr_09_hotspot(struct jfr *g)
{
    struct gen m = {.g = g, .uri = HOTSPOT};

    schema(&m, hotspot_types);
    chunk(&m);
    event(&m, "20 2400005000 101 1 5");
    event(&m, "21 5240 102 1 2 24 4096");
    event(&m, "22 10040 5240 101 1 2 102 77");
    event(&m, "23 7400 5000 101 1 a%u65E5 7 3 1 2 3 deep");
    pools(&m, 2400010000u, hotspot_pools);
    end(&m, 1000, 5000, 2400000000u);
}

/* Stack 1 means one thing up to tick 1000 and another behind it; so does thread 101. */
void jfr_09_reused_keys(struct jfr *g)
{
    struct gen m = {.g = g, .uri = HOTSPOT};

    schema(&m, hotspot_types);
    chunk(&m);
    event(&m, "20 500 101 1 5");
    event(&m, "20 1000 101 1 5");
    pools(&m, 1000, hotspot_pools);
    event(&m, "20 1001 101 1 5");
    event(&m, "20 900 101 1 5");
    pools(&m, 2000, "7 1 101 second 9 1 1 0 1 11 99 3 2 ");
    end(&m, 1000, 0, NS);
}

/* Two chunks, the second with its own clock; lost buffers and an unknown type between events. */
void jfr_09_two_chunks(struct jfr *g)
{
    struct gen m = {.g = g, .uri = HOTSPOT};

    schema(&m, hotspot_types);
    chunk(&m);
    event(&m, "20 100 101 1 5");
    event_begin(&m, 2);
    jfr_be(g, 101, 4);
    jfr_be(g, 17, 4);
    event_end(&m);
    pools(&m, 1000, hotspot_pools);
    end(&m, 1000, 0, NS);
    chunk(&m);
    event_begin(&m, 4711);
    jfr_be(g, 1, 8);
    event_end(&m);
    event(&m, "20 8000 102 1 5");
    pools(&m, 9000, hotspot_pools);
    end(&m, 2000, 7000, 1000000);
}

/* Versions follow each other in one file, each with its own types and clock. */
void jfr_09_then_2(struct jfr *g)
{
    jfr_09_hotspot(g);
    jfr_small_chunk(g, NS, 5000);
    jfr_09_two_chunks(g);
}

/* Types stand at a chunk's end: of one that is cut nothing can be read. */
void jfr_09_cut(struct jfr *g)
{
    jfr_09_hotspot(g);
    g->n -= 100;
}

void jfr_09_cut_behind_2(struct jfr *g)
{
    jfr_small_chunk(g, NS, 5000);
    jfr_09_cut(g);
}

/* An event whose size reaches into the metadata; those in front of it are read. */
void jfr_09_event_size(struct jfr *g)
{
    struct gen m = {.g = g, .uri = HOTSPOT};
    size_t at;

    schema(&m, hotspot_types);
    chunk(&m);
    event(&m, "20 500 101 1 5");
    pools(&m, 1000, hotspot_pools);
    at = g->n;
    event(&m, "20 600 101 1 5");
    end(&m, 1000, 0, NS);
    jfr_set_be(g, at, 5000, 4);
}

/* A struct that holds itself, and a count of entries that no bytes are left for. */
void jfr_09_endless(struct jfr *g)
{
    struct gen m = {.g = g, .uri = HOTSPOT};

    schema(&m, "S a=14*1\nS b=14*0\nS sampledThread=6/7 stackTrace=8/9 state=4/34\nS utf8=11\n"
               "E 20 vm/prof/execution_sample - 2\nE 21 acme/endless k 0\nC 7 Thread 6 3\n"
               "C 9 StackTrace 8 3\n");
    chunk(&m);
    event(&m, "20 500 101 1 5");
    event_begin(&m, 21);
    jfr_be(g, 500, 8);
    jfr_be(g, 0, 8);
    event_end(&m);
    event_begin(&m, 1);
    jfr_be(g, 1000, 8);
    jfr_be(g, 0, 8);
    jfr_be(g, 7, 4);
    jfr_be(g, 0x7fffffff, 4);
    event_end(&m);
    end(&m, 1000, 0, NS);
}
