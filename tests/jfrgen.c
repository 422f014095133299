/*
 * jfrgen.c - writes JFR chunks (versions 1.x and 2.x) from a small description; see jfrgen.h.
 *
 *   chunk      header (68 bytes, big-endian), events ...
 *   event      size varint, type varint, fields
 *   metadata   type 0: start, duration, id, strings, the tree of elements
 *   checkpoint type 1: start, duration, delta to the one before, mask, pools
 */
#include "jfrgen.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 4096
#define STRINGS_MAX 4096

static void fail(const char *what, const char *of)
{
    fprintf(stderr, "jfrgen: %s: %s\n", what, of);
    abort();
}

/* ------------------------------------------------------------------- bytes */

void jfr_raw(struct jfr *g, const void *data, size_t n)
{
    if (g->cap - g->n < n) {
        g->cap = (g->cap + n) * 2;
        g->data = realloc(g->data, g->cap);
        if (g->data == NULL)
            fail("no memory", "");
    }
    if (n > 0)
        memcpy(g->data + g->n, data, n);
    g->n += n;
}

static void byte(struct jfr *g, unsigned v)
{
    unsigned char b = (unsigned char)v;

    jfr_raw(g, &b, 1);
}

void jfr_be(struct jfr *g, uint64_t v, unsigned bytes)
{
    while (bytes-- > 0)
        byte(g, (unsigned)(v >> 8 * bytes) & 0xff);
}

void jfr_set_be(struct jfr *g, size_t at, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        g->data[at + i] = (unsigned char)(v >> 8 * (bytes - 1 - i));
}

/* At least `least` bytes; the ninth carries 8 bits. */
static unsigned encode_varint(unsigned char out[9], uint64_t v, unsigned least)
{
    unsigned n = 0;

    while (n < 8 && (v > 0x7f || n + 1 < least)) {
        out[n++] = (unsigned char)(v & 0x7f) | 0x80;
        v >>= 7;
    }
    out[n++] = (unsigned char)v;
    return n;
}

/* An integer of `width` bytes: as a varint, or fixed. */
static void integer(struct jfr *g, uint64_t v, unsigned width)
{
    unsigned char b[9];

    if (width < 8)
        v &= ((uint64_t)1 << 8 * width) - 1;
    if (g->fixed)
        jfr_be(g, v, width);
    else
        jfr_raw(g, b, encode_varint(b, v, g->pad));
}

void jfr_long(struct jfr *g, uint64_t v)
{
    integer(g, v, 8);
}

static void int32(struct jfr *g, uint64_t v)
{
    integer(g, v, 4);
}

size_t jfr_find(const struct jfr *g, const void *bytes, size_t n)
{
    for (size_t at = g->n - n + 1; at-- > 0;) {
        if (memcmp(g->data + at, bytes, n) == 0)
            return at;
    }
    fail("not found", bytes);
    return 0;
}

/* ------------------------------------------------------------------- words */

/* The next word of *p, which moves behind it; false at the end. */
static bool word(const char **p, char out[WORD_MAX])
{
    size_t n = 0;

    while (**p == ' ' || **p == '\n')
        ++*p;
    for (; **p != '\0' && **p != ' ' && **p != '\n'; ++*p) {
        if (n + 1 == WORD_MAX)
            fail("long word", *p);
        out[n++] = **p;
    }
    out[n] = '\0';
    return n > 0;
}

static uint64_t number(const char *w)
{
    char *end;
    uint64_t v = *w == '-' ? (uint64_t)strtoll(w, &end, 0) : strtoull(w, &end, 0);

    if (*w == '\0' || *end != '\0')
        fail("no number", w);
    return v;
}

static uint64_t next_number(const char **p)
{
    char w[WORD_MAX];

    if (!word(p, w))
        fail("a number is missing", "");
    return number(w);
}

/* Takes the character at *p apart: a byte, %XX or %uXXXX. */
static unsigned unit(const char **p)
{
    char hex[5] = "";
    unsigned n = (*p)[1] == 'u' ? 4 : 2, skip = (*p)[1] == 'u' ? 2 : 1;

    if (**p != '%')
        return (unsigned char)*(*p)++;
    if (strlen(*p) < skip + n)
        fail("cut escape", *p);
    memcpy(hex, *p + skip, n);
    *p += skip + n;
    return (unsigned)strtoul(hex, NULL, 16);
}

static void string(struct jfr *g, const char *w)
{
    unsigned encoding = (unsigned)(w[0] - '0');
    unsigned units[WORD_MAX];
    size_t n = 0;

    if (w[0] < '0' || w[0] > '9' || w[1] != ':')
        fail("no string", w);
    byte(g, encoding);
    if (encoding == 2)
        jfr_long(g, number(w + 2));
    if (encoding < 3)
        return;
    for (const char *p = w + 2; *p != '\0';)
        units[n++] = unit(&p);
    int32(g, n);
    for (size_t i = 0; i < n; i++) {
        if (encoding == 4)
            integer(g, units[i], 2);
        else
            byte(g, units[i]);
    }
}

/* ------------------------------------------------------------------ schema */

static struct jfr_type *find_type(const struct jfr *g, const char *name)
{
    for (unsigned i = 0; i < g->types; i++) {
        if (strcmp(g->type[i].name, name) == 0)
            return &g->type[i];
    }
    return NULL;
}

static struct jfr_type *need_type(const struct jfr *g, const char *name)
{
    struct jfr_type *t = find_type(g, name);

    if (t == NULL)
        fail("unknown type", name);
    return t;
}

uint64_t jfr_type_id(const struct jfr *g, const char *name)
{
    return need_type(g, name)->id;
}

static void copy(char *to, size_t size, const char *from, size_t n)
{
    if (n >= size)
        fail("long name", from);
    memcpy(to, from, n);
    to[n] = '\0';
}

static void parse_field(struct jfr_field *f, const char *w)
{
    const char *type = strchr(w, '='), *note = strchr(w, '@');
    size_t end = note != NULL ? (size_t)(note - w) : strlen(w);

    if (type == NULL || type > w + end)
        fail("no field", w);
    copy(f->name, sizeof f->name, w, (size_t)(type - w));
    if (note != NULL)
        copy(f->note, sizeof f->note, note + 1, strlen(note + 1));
    if (end > 2 && w[end - 1] == ']') {
        f->array = true;
        end -= 2;
    }
    if (w[end - 1] == '#') {
        f->key = true;
        end--;
    }
    copy(f->type, sizeof f->type, type + 1, end - (size_t)(type + 1 - w));
}

static void parse_type(struct jfr *g, const char *line, size_t n)
{
    struct jfr_type t = {0}, *old;
    char text[WORD_MAX], w[WORD_MAX];
    const char *p = text;
    size_t len;

    copy(text, sizeof text, line, n);
    t.id = next_number(&p);
    if (!word(&p, w))
        fail("a type without a name", line);
    len = strlen(w);
    if (w[len - 1] == '!') {
        t.simple = true;
        len--;
    }
    copy(t.name, sizeof t.name, w, len);
    while (word(&p, w)) {
        if (w[0] == ':') {
            copy(t.super, sizeof t.super, w + 1, strlen(w + 1));
            continue;
        }
        if (t.fields == JFR_FIELDS_MAX)
            fail("too many fields", t.name);
        parse_field(&t.field[t.fields++], w);
    }
    old = find_type(g, t.name);
    if (old == NULL && g->types == JFR_TYPES_MAX)
        fail("too many types", t.name);
    if (old == NULL)
        old = &g->type[g->types++];
    *old = t;
}

void jfr_schema_add(struct jfr *g, const char *text)
{
    if (g->type == NULL)
        g->type = calloc(JFR_TYPES_MAX, sizeof *g->type);
    if (g->type == NULL)
        fail("no memory", "");
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        if (n > 0 && text[0] != '#')
            parse_type(g, text, n);
        text += n + (text[n] == '\n');
    }
}

void jfr_schema(struct jfr *g, const char *text)
{
    g->types = 0;
    jfr_schema_add(g, text);
}

/* The name as the version of the chunk has it. */
static void written_name(const struct jfr *g, const char *name, char out[96])
{
    const char *event = "com.oracle.jdk.", *type = "com.oracle.jfr.types.";

    if (g->old_names && strncmp(name, "jdk.types.", 10) == 0)
        snprintf(out, 96, "%s%s", type, name + 10);
    else if (g->old_names && strncmp(name, "jdk.", 4) == 0 && strncmp(name, "jdk.jfr.", 8) != 0)
        snprintf(out, 96, "%s%s", event, name + 4);
    else
        snprintf(out, 96, "%s", name);
}

/* ---------------------------------------------------------------- metadata */

/* The elements of the tree are written aside, since the strings stand before them. */
struct meta {
    char *string[STRINGS_MAX];
    unsigned strings;
    struct jfr out;
};

static void string_index(struct meta *m, const char *s)
{
    unsigned i = 0;

    while (i < m->strings && strcmp(m->string[i], s) != 0)
        i++;
    if (i == m->strings) {
        if (i == STRINGS_MAX)
            fail("too many strings", s);
        m->string[m->strings] = malloc(strlen(s) + 1);
        if (m->string[m->strings] == NULL)
            fail("no memory", s);
        memcpy(m->string[m->strings++], s, strlen(s) + 1);
    }
    int32(&m->out, i);
}

/* An element's name and attributes: name and value by turns, NULL at the end. */
static void element(struct meta *m, const char *name, ...)
{
    unsigned n = 0;
    const char *s;
    va_list ap;

    string_index(m, name);
    va_start(ap, name);
    while (va_arg(ap, const char *) != NULL)
        n++;
    va_end(ap);
    int32(&m->out, n / 2);
    va_start(ap, name);
    while ((s = va_arg(ap, const char *)) != NULL)
        string_index(m, s);
    va_end(ap);
}

static const char *decimal(char buf[24], uint64_t v)
{
    snprintf(buf, 24, "%llu", (unsigned long long)v);
    return buf;
}

static void field_element(const struct jfr *g, struct meta *m, const struct jfr_field *f)
{
    char id[24], note[80], value[64] = "", key[64];
    const char *eq = strchr(f->note, '=');

    decimal(id, need_type(g, f->type)->id);
    if (f->key && f->array)
        element(m, "field", "name", f->name, "class", id, "constantPool", "true", "dimension", "1",
                NULL);
    else if (f->key)
        element(m, "field", "name", f->name, "class", id, "constantPool", "true", NULL);
    else if (f->array)
        element(m, "field", "name", f->name, "class", id, "dimension", "1", NULL);
    else
        element(m, "field", "name", f->name, "class", id, NULL);
    if (f->note[0] == '\0') {
        int32(&m->out, 0);
        return;
    }
    copy(key, sizeof key, f->note, eq != NULL ? (size_t)(eq - f->note) : strlen(f->note));
    if (eq != NULL)
        copy(value, sizeof value, eq + 1, strlen(eq + 1));
    snprintf(note, sizeof note, "jdk.jfr.%s", key);
    int32(&m->out, 1);
    decimal(id, need_type(g, note)->id);
    if (eq != NULL)
        element(m, "annotation", "class", id, "value", value, NULL);
    else
        element(m, "annotation", "class", id, NULL);
    int32(&m->out, 0);
}

static void class_element(const struct jfr *g, struct meta *m, const struct jfr_type *t)
{
    char id[24], name[96];

    decimal(id, t->id);
    written_name(g, t->name, name);
    if (t->super[0] != '\0')
        element(m, "class", "id", id, "name", name, "superType", t->super, NULL);
    else if (t->simple)
        element(m, "class", "id", id, "name", name, "simpleType", "true", NULL);
    else
        element(m, "class", "id", id, "name", name, NULL);
    int32(&m->out, t->fields);
    for (unsigned i = 0; i < t->fields; i++)
        field_element(g, m, &t->field[i]);
}

void jfr_meta(struct jfr *g)
{
    struct meta *m = calloc(1, sizeof *m);

    if (m == NULL)
        fail("no memory", "");
    m->out.fixed = g->fixed;
    m->out.pad = g->pad;
    element(m, "root", NULL);
    int32(&m->out, 2);
    element(m, "metadata", NULL);
    int32(&m->out, g->types);
    for (unsigned i = 0; i < g->types; i++)
        class_element(g, m, &g->type[i]);
    element(m, "region", "locale", "en", "gmtOffset", "0", NULL);
    int32(&m->out, 0);

    jfr_event_begin(g, 0);
    if (g->meta == 0 || !g->meta_first)
        g->meta = g->event - g->chunk;
    jfr_long(g, 0);
    jfr_long(g, 0);
    jfr_long(g, 1);
    int32(g, m->strings);
    for (unsigned i = 0; i < m->strings; i++) {
        byte(g, m->string[i][0] == '\0' ? 1 : 3 + 2 * (i & 1)); /* encodings 3 and 5 by turns */
        if (m->string[i][0] != '\0') {
            int32(g, strlen(m->string[i]));
            jfr_raw(g, m->string[i], strlen(m->string[i]));
        }
        free(m->string[i]);
    }
    jfr_raw(g, m->out.data, m->out.n);
    jfr_event_end(g);
    free(m->out.data);
    free(m);
}

/* ------------------------------------------------------------------ values */

static void value(struct jfr *g, const char *type, const char **p);

static void fields(struct jfr *g, const struct jfr_type *t, const char **p)
{
    for (unsigned i = 0; i < t->fields; i++) {
        const struct jfr_field *f = &t->field[i];
        uint64_t n = 1;
        if (f->array)
            int32(g, n = next_number(p));
        for (; n > 0; n--) {
            if (f->key)
                jfr_long(g, next_number(p));
            else
                value(g, f->type, p);
        }
    }
}

static void value(struct jfr *g, const char *type, const char **p)
{
    char w[WORD_MAX];

    if (strcmp(type, "java.lang.String") == 0) {
        if (!word(p, w))
            fail("a string is missing", "");
        string(g, w);
    } else if (strcmp(type, "boolean") == 0 || strcmp(type, "byte") == 0) {
        byte(g, (unsigned)next_number(p) & 0xff);
    } else if (strcmp(type, "char") == 0 || strcmp(type, "short") == 0) {
        integer(g, next_number(p), 2);
    } else if (strcmp(type, "int") == 0) {
        int32(g, next_number(p));
    } else if (strcmp(type, "long") == 0) {
        jfr_long(g, next_number(p));
    } else if (strcmp(type, "float") == 0 || strcmp(type, "double") == 0) {
        jfr_be(g, next_number(p), type[0] == 'f' ? 4 : 8);
    } else {
        fields(g, need_type(g, type), p);
    }
}

/* ------------------------------------------------------------------ events */

#define SIZE_ROOM 9u

size_t jfr_event_begin(struct jfr *g, uint64_t type)
{
    static const unsigned char room[SIZE_ROOM];

    g->event = g->n;
    jfr_raw(g, room, g->fixed ? 4 : SIZE_ROOM);
    jfr_long(g, type);
    return g->event;
}

void jfr_event_end(struct jfr *g)
{
    uint64_t size = g->n - g->event;
    unsigned char b[9];
    unsigned n = 1, len;

    if (g->fixed) {
        jfr_set_be(g, g->event, size, 4);
        return;
    }
    size -= SIZE_ROOM;
    while ((len = encode_varint(b, size + n, g->size_pad)) != n)
        n = len;
    memmove(g->data + g->event + n, g->data + g->event + SIZE_ROOM, (size_t)size);
    memcpy(g->data + g->event, b, n);
    g->n = g->event + n + (size_t)size;
}

size_t jfr_event_more(struct jfr *g, const char *text, const void *more, size_t n)
{
    char w[WORD_MAX];
    const struct jfr_type *t;

    if (!word(&text, w))
        fail("an event without a type", "");
    t = need_type(g, w);
    jfr_event_begin(g, t->id);
    fields(g, t, &text);
    if (word(&text, w))
        fail("too many values", w);
    jfr_raw(g, more, n);
    jfr_event_end(g);
    return g->event;
}

size_t jfr_event(struct jfr *g, const char *text)
{
    return jfr_event_more(g, text, NULL, 0);
}

size_t jfr_pools(struct jfr *g, unsigned mask, const char *text)
{
    const char *p = text;
    char w[WORD_MAX];
    unsigned pools = 0;
    struct jfr out = {.fixed = g->fixed, .pad = g->pad, .type = g->type, .types = g->types};

    while (word(&p, w)) {
        const struct jfr_type *t = need_type(g, w);
        uint64_t n = next_number(&p);
        jfr_long(&out, t->id);
        int32(&out, n);
        for (; n > 0; n--) {
            jfr_long(&out, next_number(&p));
            value(&out, t->name, &p);
        }
        pools++;
    }
    jfr_event_begin(g, 1);
    jfr_long(g, 0);
    jfr_long(g, 0);
    jfr_long(g, g->checkpoint == 0 ? 0 : g->checkpoint - (uint64_t)(g->event - g->chunk));
    byte(g, mask);
    int32(g, pools);
    jfr_raw(g, out.data, out.n);
    jfr_event_end(g);
    free(out.data);
    g->checkpoint = g->event - g->chunk;
    g->checkpoints++;
    return g->event;
}

/* ------------------------------------------------------------------ chunks */

void jfr_chunk(struct jfr *g, unsigned major, unsigned minor, uint64_t start_ns,
               uint64_t start_ticks, uint64_t ticks_per_second)
{
    g->chunk = g->n;
    g->meta = g->checkpoint = g->checkpoints = 0;
    jfr_raw(g, "FLR", 4);
    jfr_be(g, major, 2);
    jfr_be(g, minor, 2);
    for (unsigned i = 0; i < 3; i++)
        jfr_be(g, 0, 8);
    jfr_be(g, start_ns, 8);
    jfr_be(g, 0, 8);
    jfr_be(g, start_ticks, 8);
    jfr_be(g, ticks_per_second, 8);
    jfr_be(g, g->fixed ? 0 : 1, 4);
}

void jfr_end(struct jfr *g, uint64_t duration)
{
    jfr_set_be(g, g->chunk + 8, g->n - g->chunk, 8);
    jfr_set_be(g, g->chunk + 16, g->checkpoint, 8);
    jfr_set_be(g, g->chunk + 24, g->meta, 8);
    jfr_set_be(g, g->chunk + 40, duration, 8);
}

void jfr_free(struct jfr *g)
{
    free(g->data);
    free(g->type);
    memset(g, 0, sizeof *g);
}

/* ------------------------------------------------------------------- types */

const char jfr_types[] =
    "1 boolean\n2 byte\n3 char\n4 short\n5 int\n6 long\n7 float\n8 double\n9 java.lang.String\n"
    "10 jdk.jfr.Timestamp :java.lang.annotation.Annotation value=java.lang.String\n"
    "11 jdk.jfr.Timespan :java.lang.annotation.Annotation value=java.lang.String\n"
    "12 jdk.jfr.DataAmount :java.lang.annotation.Annotation value=java.lang.String\n"
    "13 jdk.jfr.MemoryAddress :java.lang.annotation.Annotation\n"
    "14 jdk.jfr.Unsigned :java.lang.annotation.Annotation\n"
    "15 jdk.jfr.Percentage :java.lang.annotation.Annotation\n"
    "20 java.lang.Thread osName=java.lang.String osThreadId=long javaName=java.lang.String"
    " javaThreadId=long group=jdk.types.ThreadGroup# virtual=boolean\n"
    "21 jdk.types.ThreadGroup parent=jdk.types.ThreadGroup# name=java.lang.String\n"
    "22 java.lang.Class classLoader=jdk.types.ClassLoader# name=jdk.types.Symbol#"
    " package=jdk.types.Package# modifiers=int hidden=boolean\n"
    "23 jdk.types.ClassLoader type=java.lang.Class# name=jdk.types.Symbol#\n"
    "24 jdk.types.Method type=java.lang.Class# name=jdk.types.Symbol#"
    " descriptor=jdk.types.Symbol# modifiers=int hidden=boolean\n"
    "25 jdk.types.Symbol! string=java.lang.String\n"
    "26 jdk.types.Package name=jdk.types.Symbol#\n"
    "27 jdk.types.StackTrace truncated=boolean frames=jdk.types.StackFrame[]\n"
    "28 jdk.types.StackFrame method=jdk.types.Method# lineNumber=int bytecodeIndex=int"
    " type=jdk.types.FrameType#\n"
    "29 jdk.types.FrameType! description=java.lang.String\n"
    "30 jdk.types.ThreadState! name=java.lang.String\n"
    "31 jdk.types.ChunkHeader payload=byte[]\n"
    "32 jdk.types.VirtualSpace start=long@MemoryAddress committedSize=long@DataAmount=BYTES\n"
    "100 jdk.ActiveSetting :jdk.jfr.Event startTime=long@Timestamp=TICKS id=long"
    " name=java.lang.String value=java.lang.String\n"
    "101 jdk.ExecutionSample :jdk.jfr.Event startTime=long@Timestamp=TICKS"
    " sampledThread=java.lang.Thread# stackTrace=jdk.types.StackTrace#"
    " state=jdk.types.ThreadState#\n"
    "102 jdk.CPUTimeSample :jdk.jfr.Event startTime=long@Timestamp=TICKS"
    " stackTrace=jdk.types.StackTrace# eventThread=java.lang.Thread# failed=boolean"
    " samplingPeriod=long@Timespan=TICKS biased=boolean\n"
    "103 profiler.WallClockSample :jdk.jfr.Event startTime=long@Timestamp=TICKS"
    " sampledThread=java.lang.Thread# stackTrace=jdk.types.StackTrace# state=jdk.types.ThreadState#"
    " samples=int timeSpan=long@Timespan=TICKS\n"
    "104 jdk.ObjectAllocationInNewTLAB :jdk.jfr.Event startTime=long@Timestamp=TICKS"
    " eventThread=java.lang.Thread# stackTrace=jdk.types.StackTrace# objectClass=java.lang.Class#"
    " allocationSize=long@DataAmount=BYTES tlabSize=long@DataAmount=BYTES\n"
    "105 jdk.ObjectAllocationSample :jdk.jfr.Event startTime=long@Timestamp=TICKS"
    " eventThread=java.lang.Thread# stackTrace=jdk.types.StackTrace# objectClass=java.lang.Class#"
    " weight=long@DataAmount=BYTES\n"
    "106 jdk.JavaMonitorEnter :jdk.jfr.Event startTime=long@Timestamp=TICKS"
    " duration=long@Timespan=TICKS eventThread=java.lang.Thread# stackTrace=jdk.types.StackTrace#"
    " monitorClass=java.lang.Class# previousOwner=java.lang.Thread# address=long@MemoryAddress\n"
    "107 jdk.ThreadPark :jdk.jfr.Event startTime=long@Timestamp=TICKS duration=long@Timespan=TICKS"
    " eventThread=java.lang.Thread# stackTrace=jdk.types.StackTrace# parkedClass=java.lang.Class#"
    " timeout=long@Timespan=NANOSECONDS until=long@Timestamp=MILLISECONDS_SINCE_EPOCH"
    " address=long@MemoryAddress\n"
    "108 jdk.ThreadSleep :jdk.jfr.Event startTime=long@Timestamp=TICKS duration=long@Timespan=TICKS"
    " eventThread=java.lang.Thread# stackTrace=jdk.types.StackTrace#"
    " time=long@Timespan=MILLISECONDS\n"
    "109 profiler.Malloc :jdk.jfr.Event startTime=long@Timestamp=TICKS"
    " eventThread=java.lang.Thread# stackTrace=jdk.types.StackTrace# address=long@MemoryAddress"
    " size=long@DataAmount=BYTES\n"
    "110 profiler.Free :jdk.jfr.Event startTime=long@Timestamp=TICKS eventThread=java.lang.Thread#"
    " stackTrace=jdk.types.StackTrace# address=long@MemoryAddress\n"
    "111 profiler.NativeLock :jdk.jfr.Event startTime=long@Timestamp=TICKS"
    " duration=long@Timespan=TICKS eventThread=java.lang.Thread# stackTrace=jdk.types.StackTrace#"
    " address=long@MemoryAddress\n"
    "112 profiler.LiveObject :jdk.jfr.Event startTime=long@Timestamp=TICKS"
    " eventThread=java.lang.Thread# stackTrace=jdk.types.StackTrace# objectClass=java.lang.Class#"
    " allocationSize=long@DataAmount=BYTES allocationTime=long@Timestamp=TICKS\n"
    "113 jdk.MethodTrace :jdk.jfr.Event startTime=long@Timestamp=TICKS duration=long@Timespan=TICKS"
    " eventThread=java.lang.Thread# stackTrace=jdk.types.StackTrace# method=jdk.types.Method#\n"
    "114 jdk.GCPhasePause :jdk.jfr.Event startTime=long@Timestamp=TICKS"
    " duration=long@Timespan=TICKS eventThread=java.lang.Thread# gcId=int@Unsigned"
    " name=java.lang.String\n"
    "115 jdk.JavaExceptionThrow :jdk.jfr.Event startTime=long@Timestamp=TICKS"
    " duration=long@Timespan=TICKS eventThread=java.lang.Thread# stackTrace=jdk.types.StackTrace#"
    " message=java.lang.String thrownClass=java.lang.Class#\n"
    "116 jdk.SocketRead :jdk.jfr.Event startTime=long@Timestamp=TICKS duration=long@Timespan=TICKS"
    " eventThread=java.lang.Thread# stackTrace=jdk.types.StackTrace# host=java.lang.String"
    " address=java.lang.String port=int timeout=long@Timespan=MILLISECONDS"
    " bytesRead=long@DataAmount=BYTES endOfStream=boolean\n"
    "117 jdk.GCHeapSummary :jdk.jfr.Event startTime=long@Timestamp=TICKS gcId=int@Unsigned"
    " when=java.lang.String heapSpace=jdk.types.VirtualSpace heapUsed=long@DataAmount=BYTES\n"
    "118 jdk.CPULoad :jdk.jfr.Event startTime=long@Timestamp=TICKS jvmUser=float@Percentage"
    " jvmSystem=float@Percentage machineTotal=float@Percentage\n"
    "119 jdk.DataLoss :jdk.jfr.Event startTime=long@Timestamp=TICKS amount=long@DataAmount=BYTES"
    " total=long@DataAmount=BYTES\n"
    "150 acme.Sample :jdk.jfr.Event startTime=long@Timestamp=TICKS eventThread=java.lang.Thread#"
    " stackTrace=jdk.types.StackTrace#\n";
