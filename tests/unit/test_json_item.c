/*
 * test_json_item.c - items of JSON arrays: members, tolerance, damage, cuts, windows of every size,
 * each also against a second, slow reading of the same bytes (struct ref), which knows no windows,
 * masks or marks.
 */
#include "util/json_inner.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define LOG 16384

static uint32_t seed;

static uint32_t pick(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed % n;
}

/* A window that shows just what is asked for and `step` more, in a block of its own. */
struct source {
    const char *text;
    size_t n, at, step;
    unsigned char *window;
};

static bool more(void *user, size_t used, size_t need, const unsigned char **data, size_t *n)
{
    struct source *s = user;
    s->at += used;
    ck_assert_uint_le(s->at, s->n);
    *n = FM_MIN(need + s->step, s->n - s->at);
    unsigned char *fresh = malloc(*n ? *n : 1);
    memcpy(fresh, s->text + s->at, *n);
    free(s->window);
    *data = s->window = fresh;
    return true;
}

/* ------------------------------------------------------------------ what was read, as text */

struct log {
    char s[LOG];
    size_t n;
};

static void put(struct log *l, const char *format, ...) FM_PRINTF(2, 3);
static void put(struct log *l, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(l->s + l->n, LOG - l->n, format, ap);
    va_end(ap);
    if (n > 0)
        l->n = FM_MIN(l->n + (size_t)n, (size_t)LOG - 1);
}

static char letter(unsigned kind)
{
    switch (kind) {
    case FM_JSON_STRING: return 's';
    case FM_JSON_NUMBER: return 'n';
    case FM_JSON_TRUE: return 't';
    case FM_JSON_FALSE: return 'f';
    case FM_JSON_NULL: return '0';
    case FM_JSON_OBJECT: return 'o';
    case FM_JSON_ARRAY: return 'a';
    default: return '?';
    }
}

static void same_field(const struct fm_json_field *a, const struct fm_json_field *b)
{
    ck_assert(a->name == b->name && a->text == b->text && a->n == b->n && a->kind == b->kind &&
              a->escaped == b->escaped && a->key_n == b->key_n &&
              memcmp(a->key, b->key, a->key_n) == 0);
}

/* Members that are known are those that are there. */
static void check_inner(const struct fm_json_object *o, const struct fm_json_field *f)
{
    static struct fm_json_object inner;
    if (!f->split)
        return;
    ck_assert(f->kind == FM_JSON_OBJECT && f->inner + f->inner_n <= FM_JSON_FIELDS);
    ck_assert(fm_json_object_read(&inner, f->text, f->n));
    ck_assert_uint_eq(inner.fields, f->inner_n);
    ck_assert(inner.rest == NULL);
    for (uint32_t i = 0; i < inner.fields; i++)
        same_field(&inner.field[i], &o->inner[f->inner + i]);
}

/* Items of equal shapes have the same keys and kinds; how many of known shapes there were. */
static unsigned shaped;
static struct seen {
    uint32_t shape, fields;
    uint64_t name[FM_JSON_FIELDS];
    uint8_t kind[FM_JSON_FIELDS];
} seen[64];

static void check_shape(const struct fm_json_object *o)
{
    struct seen *t = &seen[o->shape / 8 % FM_COUNT(seen)];
    if (o->shape == 0)
        return;
    shaped++;
    if (t->shape == o->shape) {
        ck_assert_uint_eq(t->fields, o->fields);
        for (uint32_t i = 0; i < o->fields; i++)
            ck_assert(t->name[i] == o->field[i].name && t->kind[i] == o->field[i].kind);
    }
    t->shape = o->shape;
    t->fields = o->fields;
    for (uint32_t i = 0; i < o->fields; i++) {
        t->name[i] = o->field[i].name;
        t->kind[i] = o->field[i].kind;
    }
}

static void put_fields(struct log *l, struct fm_json_object *o)
{
    check_shape(o);
    bool more_of_them = true;
    while (more_of_them) {
        for (uint32_t i = 0; i < o->fields; i++) {
            const struct fm_json_field *f = &o->field[i];
            check_inner(o, f);
            put(l, " %.*s=%c:%.*s%s", (int)f->key_n, f->key, letter(f->kind), (int)f->n, f->text,
                f->escaped ? "~" : "");
        }
        more_of_them = o->rest != NULL;
        if (more_of_them)
            ck_assert(fm_json_object_more(o));
    }
}

/* The items of the array that the text begins with, or that is the value of "e" in an object, one
 * line each; what ends them. `stop`: after the first damage. */
static void read_items(struct fm_json *j, struct log *l, bool stop)
{
    static struct fm_json_object o;
    static const char *const states[] = {"complete", "unterminated", "truncated"};
    uint64_t end = 0;
    enum fm_json_item item;
    enum fm_json_token t = fm_json_next(j);
    for (size_t i = 0; i < FM_COUNT(seen); i++)
        seen[i].shape = 0;
    l->n = 0;
    l->s[0] = '\0';
    if (t == FM_JSON_OBJECT) {
        fm_json_next(j);
        t = fm_json_next(j);
    }
    if (t != FM_JSON_ARRAY) {
        put(l, "none");
        return;
    }
    while ((item = fm_json_item(j, &o)) > FM_JSON_ITEM_END) {
        ck_assert_uint_ge(o.at, end);
        ck_assert_uint_gt(o.bytes, 0);
        end = o.at + o.bytes;
        unsigned at = (unsigned)o.at, bytes = (unsigned)o.bytes;
        if (item == FM_JSON_ITEM_LOST) {
            if (stop) {
                put(l, "lost %u !%u\n", at, (unsigned)o.damage);
                return;
            }
            put(l, "lost %u+%u !%u\n", at, bytes, (unsigned)o.damage);
            continue;
        }
        put(l, "%s%s %u+%u", o.resumed ? "again " : "",
            item == FM_JSON_ITEM_OTHER ? "other" : "item", at, bytes);
        put_fields(l, &o);
        put(l, "\n");
    }
    if (item == FM_JSON_ITEM_CUT)
        put(l, "%s %u+%u\n", states[j->state], (unsigned)o.at, (unsigned)o.bytes);
    else
        put(l, "%s\n", item == FM_JSON_ITEM_END ? "end" : "error");
    ck_assert_int_eq(j->error, FM_JSON_OK);
}

/* Where they differ, with a few bytes before. */
static const char *differ(const struct log *a, const struct log *b)
{
    size_t i = 0;
    while (a->s[i] && a->s[i] == b->s[i])
        i++;
    return a->s + (i > 150 ? i - 150 : 0);
}

static const size_t steps[] = {0, 6, 63, 4095};

/* The same for every window and every way to search. */
static void same_everywhere(const char *text, size_t n, const struct log *expected, bool stop)
{
    static struct fm_json j;
    static struct log l;
    bool known = true;
    for (unsigned v = 0; known; v++) {
        const struct fm_json_vector *vector = fm_json_vector_get(v, &known);
        for (size_t k = 0; vector && k < FM_COUNT(steps); k++) {
            struct source s = {.text = text, .n = n, .step = steps[k]};
            fm_json_init(&j, more, &s);
            j.vector = vector;
            read_items(&j, &l, stop);
            free(s.window);
            ck_assert_msg(strcmp(l.s, expected->s) == 0,
                          "%s, step %u of %.*s:\n%.300s\ninstead of\n%.300s", vector->name,
                          (unsigned)steps[k], (int)FM_MIN(n, 2000), text, differ(&l, expected),
                          differ(expected, &l));
        }
    }
}

static void reads_n(const char *text, size_t n, const char *expected)
{
    static struct fm_json j;
    static struct log l;
    char *exact = malloc(n ? n : 1);
    memcpy(exact, text, n);
    fm_json_init_memory(&j, exact, n);
    read_items(&j, &l, false);
    ck_assert_msg(strcmp(l.s, expected) == 0, "%.*s:\n%s\ninstead of\n%s", (int)n, text, l.s,
                  expected);
    same_everywhere(exact, n, &l, false);
    free(exact);
}

static void reads(const char *text, const char *expected)
{
    reads_n(text, strlen(text), expected);
}

/* ------------------------------------------------------------------ cases by hand */

START_TEST(members)
{
    reads("[]", "end\n");
    reads("[{}]", "item 1+2\nend\n");
    reads("[{\"a\":1}]", "item 1+7 a=n:1\nend\n");
    reads("[ {\"a\" : \"x\" , \"b\" : [1,{\"c\":\"]\"}] ,\n\"c\":{\"k\":{}} } ,\n {\"t\":true} ]",
          "item 2+49 a=s:x b=a:[1,{\"c\":\"]\"}] c=o:{\"k\":{}}\nitem 55+10 t=t:true\nend\n");
    reads("{\"e\":[{\"a\":false,\"b\":null}],\"x\":1}", "item 6+20 a=f:false b=0:null\nend\n");
    reads("[{\"a\":\"q\\\"}\\\\\",\"b\":\"\"}]", "item 1+21 a=s:q\\\"}\\\\~ b=s:\nend\n");
    reads("[1,\"x\",[{\"a\":2},[]],true,{\"a\":-1.5e3}]",
          "other 1+1\nother 3+3\nother 7+12\nother 20+4\nitem 25+12 a=n:-1.5e3\nend\n");
    reads("[{\"\\u0061\\u0062c\":1,\"a\\nb\":2}]", "item 1+28 abc=n:1 a\nb=n:2\nend\n");
}
END_TEST

START_TEST(tolerated)
{
    reads("[,{\"a\":1},,{\"a\":2,},{,\"a\":3,,\"b\":4},]",
          "item 2+7 a=n:1\nitem 11+8 a=n:2\nitem 20+15 a=n:3 b=n:4\nend\n");
    reads("[{\"a\":1}{\"a\":2}\n{\"a\":3}]",
          "item 1+7 a=n:1\nitem 8+7 a=n:2\nitem 16+7 a=n:3\nend\n");
    reads("[{\"a\":\"x\ny\tz\"}]", "item 1+13 a=s:x\ny\tz\nend\n");
    reads("[{\"a\":\"C:\\cuda\\x\"}]", "item 1+17 a=s:C:\\cuda\\x~\nend\n");
    reads("[{\"a\":\"\xff\xc3(\"}]", "item 1+11 a=s:\xff\xc3(\nend\n");
    reads("[{\"a\":NaN,\"b\":-Infinity,\"c\":Infinity,\"d\":undefined}]",
          "item 1+50 a=0:NaN b=0:-Infinity c=0:Infinity d=0:undefined\nend\n");
    reads("[{\"a\":18446744073709545469,\"b\":+1,\"c\":.5,\"d\":5.}]",
          "item 1+47 a=n:18446744073709545469 b=n:+1 c=n:.5 d=n:5.\nend\n");
    reads("[{\"a\":1,\"a\":2}]", "item 1+13 a=n:1 a=n:2\nend\n");
}
END_TEST

START_TEST(damage)
{
    /* an unescaped quote */
    reads("[{\"n\":\"f(\"y\")\",\"t\":1,\"args\":{\"k\":\"v\"}},{\"n\":2}]",
          "lost 1+38 !10\nagain item 39+7 n=n:2\nend\n");
    reads("[{\"n\":1,\"args\":{\"k\":\"f(\"y\")\"}},{\"n\":2}]",
          "lost 1+30 !24\nagain item 31+7 n=n:2\nend\n");
    /* one that turns strings inside out: found in the item behind it, which is not lost */
    reads("[{\"n\":1,\"args\":{\"k\":\"f(a\",b)\"}},{\"n\":2},{\"n\":3}]",
          "lost 1+31 !34\nagain item 32+7 n=n:2\nitem 40+7 n=n:3\nend\n");
    /* a quote, comma, colon, bracket that is missing */
    reads("[{\"n:1,\"b\":2},{\"n\":2}]", "lost 1+13 !8\nagain item 14+7 n=n:2\nend\n");
    reads("[{\"n\":1 \"b\":2},{\"n\":2}]", "lost 1+14 !8\nagain item 15+7 n=n:2\nend\n");
    reads("[{\"n\" 1},{\"n\":2}]", "lost 1+8 !6\nagain item 9+7 n=n:2\nend\n");
    reads("[{\"n\":},{\"n\":2}]", "lost 1+7 !6\nagain item 8+7 n=n:2\nend\n");
    reads("[{\"n\":1,{\"n\":2}]", "lost 1+7 !8\nagain item 8+7 n=n:2\nend\n");
    reads("[{\"args\":{\"a\":{\"b\":1},\"t\":5},{\"n\":2},{\"n\":3}]",
          "lost 1+28 !29\nagain item 29+7 n=n:2\nitem 37+7 n=n:3\nend\n");
    reads("[{\"args\":{\"a\":[1,2},\"t\":5},{\"n\":2}]",
          "lost 1+26 !18\nagain item 27+7 n=n:2\nend\n");
    reads("[{\"a\":\"x\":1},{\"n\":2}]", "lost 1+12 !9\nagain item 13+7 n=n:2\nend\n");
    reads("[{\"a\":=1},{\"n\":2}]", "lost 1+9 !6\nagain item 10+7 n=n:2\nend\n");
    /* the last item: the array's end is found, and what follows it */
    reads("[{\"n\":1 2}]", "lost 1+9 !8\nend\n");
    reads("{\"e\":[{\"n\":1 2}]}", "lost 6+9 !13\nend\n");
    reads("{\"e\":[{\"n\":1 2} ] , \"k\":{\"x\":[1]}, \"l\":2}\n", "lost 6+10 !13\nend\n");
    /* the end of an array in damaged arguments is not the end */
    reads("{\"e\":[{\"n\":1 2,\"args\":{\"l\":[{\"q\":1}],\"x\":1}},{\"n\":2}]}",
          "lost 6+39 !13\nagain item 45+7 n=n:2\nend\n");
    reads("{\"e\":[{\"n\":1 2,\"args\":[[{\"q\":1},{\"p\":1}],1]},{\"n\":2}],\"m\":1}",
          "lost 6+26 !13\nagain item 32+7 p=n:1\nlost 39+6 !39\nagain item 45+7 n=n:2\nend\n");
    /* nothing like an item follows */
    reads("[{\"n\":1 2", "truncated 1+8\n");
    reads("[{\"n\":1 2}", "truncated 1+9\n");
}
END_TEST

START_TEST(cuts)
{
    reads("[", "unterminated 1+0\n");
    reads("[{\"a\":1}", "item 1+7 a=n:1\nunterminated 8+0\n");
    reads("[{\"a\":1},\n", "item 1+7 a=n:1\nunterminated 10+0\n");
    reads("[{\"a\":1},{\"a\":2", "item 1+7 a=n:1\ntruncated 9+6\n");
    reads("{\"e\":[{\"a\":1}}", "item 6+7 a=n:1\nend\n");
    reads("[{\"a\":\"x\\", "truncated 1+8\n");
    reads("[\"abc", "truncated 1+4\n");
    static struct fm_json j;
    static struct fm_json_object o;
    fm_json_init_memory(&j, "{\"e\":[{}}", 9);
    while (fm_json_next(&j) != FM_JSON_ARRAY)
        continue;
    ck_assert_int_eq(fm_json_item(&j, &o), FM_JSON_ITEM_OBJECT);
    ck_assert_int_eq(fm_json_item(&j, &o), FM_JSON_ITEM_END);
    ck_assert_int_eq(j.state, FM_JSON_UNTERMINATED);
    ck_assert_int_eq(fm_json_next(&j), FM_JSON_OBJECT_END);
    ck_assert_int_eq(fm_json_next(&j), FM_JSON_END);
}
END_TEST

static enum fm_json_end end_of(const char *text)
{
    static struct fm_json j;
    fm_json_init_memory(&j, text, strlen(text));
    while (fm_json_next(&j) > FM_JSON_END)
        continue;
    return j.state;
}

START_TEST(ends_of_tokens)
{
    ck_assert_int_eq(end_of("{\"a\":[1]}"), FM_JSON_COMPLETE);
    ck_assert_int_eq(end_of("{\"a\":[1]"), FM_JSON_UNTERMINATED);
    ck_assert_int_eq(end_of("{\"a\":[\"x\", \n"), FM_JSON_UNTERMINATED);
    ck_assert_int_eq(end_of("{\"a\":["), FM_JSON_UNTERMINATED);
    ck_assert_int_eq(end_of("{\"a\":"), FM_JSON_TRUNCATED);
    ck_assert_int_eq(end_of("{\"a\""), FM_JSON_TRUNCATED);
    ck_assert_int_eq(end_of("{\"a\":\"x"), FM_JSON_TRUNCATED);
}
END_TEST

START_TEST(names)
{
    static struct fm_json_object o;
    static const char text[] = "{\"\":0,\"ts\":1,\"flow_in\":2,\"flow_out\":3,\"ts\\u0000\":4}";
    ck_assert(fm_json_object_read(&o, text, sizeof text - 1));
    ck_assert_uint_eq(o.fields, 5);
    ck_assert(o.field[0].name == 0);
    ck_assert(o.field[1].name == FM_JSON_NAME('t', 's'));
    ck_assert(o.field[2].name == FM_JSON_NAME('f', 'l', 'o', 'w', '_', 'i', 'n'));
    ck_assert(o.field[3].name == FM_JSON_NAME_N(8, 'f', 'l', 'o', 'w', '_', 'o', 'u', 't'));
    ck_assert(fm_json_key_is(&o.field[3], "flow_out", 8));
    ck_assert(o.field[4].name != FM_JSON_NAME('t', 's'));
    ck_assert(!fm_json_object_read(&o, text, sizeof text - 2));
    ck_assert(!fm_json_object_read(&o, "", 0));
    ck_assert(!fm_json_object_read(&o, "[]", 2));
}
END_TEST

START_TEST(many_members)
{
    static char text[8192];
    static struct log l;
    struct fm_json j;
    size_t n = (size_t)snprintf(text, sizeof text, "[{");
    for (unsigned i = 0; i < 200; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "\"k%u\":{\"v\":[%u]},", i, i);
    n += (size_t)snprintf(text + n, sizeof text - n, "},{\"a\":1}]");
    fm_json_init_memory(&j, text, n);
    read_items(&j, &l, false);
    ck_assert(strstr(l.s, " k0=o:{\"v\":[0]} k1=o:{") != NULL);
    ck_assert(strstr(l.s, " k63=o:{\"v\":[63]} k64=o:{") != NULL);
    ck_assert(strstr(l.s, " k199=o:{\"v\":[199]}\nitem ") != NULL);
    same_everywhere(text, n, &l, false);
}
END_TEST

START_TEST(deep)
{
    const size_t depth = 200000;
    char *text = malloc(2 * depth + 64);
    struct fm_json j;
    static struct fm_json_object o;
    size_t n = (size_t)sprintf(text, "[{\"a\":");
    memset(text + n, '[', depth);
    memset(text + n + depth, ']', depth);
    n += 2 * depth;
    n += (size_t)sprintf(text + n, ",\"b\":1},{\"c\":2}]");
    fm_json_init_memory(&j, text, n);
    ck_assert_int_eq(fm_json_next(&j), FM_JSON_ARRAY);
    ck_assert_int_eq(fm_json_item(&j, &o), FM_JSON_ITEM_OBJECT);
    ck_assert_uint_eq(o.fields, 2);
    ck_assert_uint_eq(o.field[0].n, 2 * depth);
    ck_assert_int_eq(fm_json_item(&j, &o), FM_JSON_ITEM_OBJECT);
    ck_assert_int_eq(fm_json_item(&j, &o), FM_JSON_ITEM_END);
    free(text);
}
END_TEST

/* An item longer than the limit is lost, alone, and the window stays small. */
START_TEST(too_long)
{
    char text[4096];
    static struct fm_json_object o;
    static struct fm_json j;
    size_t n = (size_t)sprintf(text, "[{\"a\":1},\n{\"s\":\"");
    memset(text + n, 'x', 3000);
    n += 3000;
    n += (size_t)sprintf(text + n, "\",\"t\":[{}]},{\"b\":2}]");
    struct source s = {.text = text, .n = n};
    fm_json_init(&j, more, &s);
    j.limit = 100;
    ck_assert_int_eq(fm_json_next(&j), FM_JSON_ARRAY);
    ck_assert_int_eq(fm_json_item(&j, &o), FM_JSON_ITEM_OBJECT);
    ck_assert_int_eq(fm_json_item(&j, &o), FM_JSON_ITEM_LOST);
    ck_assert_uint_eq(o.at, 10);
    ck_assert_uint_eq(o.bytes, n - 9 - 10);
    ck_assert_uint_eq(fm_json_line(&j, o.at + o.bytes), 2);
    ck_assert_int_eq(fm_json_item(&j, &o), FM_JSON_ITEM_OBJECT);
    ck_assert_int_eq(fm_json_item(&j, &o), FM_JSON_ITEM_END);
    free(s.window);
}
END_TEST

START_TEST(lines)
{
    static const char text[] = "[\n{\"a\":1},\n\n{\"a\":\"x\ny\"},\n{\"a\" 1},\n{\"b\":1}\n]\n=";
    for (size_t k = 0; k < FM_COUNT(steps); k++) {
        static struct fm_json_object o;
        static struct fm_json j;
        struct source s = {.text = text, .n = sizeof text - 1, .step = steps[k]};
        fm_json_init(&j, more, &s);
        fm_json_next(&j);
        fm_json_item(&j, &o);
        ck_assert_uint_eq(fm_json_line(&j, o.at), 2);
        fm_json_item(&j, &o);
        ck_assert_uint_eq(fm_json_line(&j, o.at), 4);
        ck_assert_int_eq(fm_json_item(&j, &o), FM_JSON_ITEM_LOST);
        fm_json_item(&j, &o);
        ck_assert_uint_eq(fm_json_line(&j, o.at), 7);
        ck_assert_int_eq(fm_json_item(&j, &o), FM_JSON_ITEM_END);
        ck_assert_int_eq(fm_json_next(&j), FM_JSON_ERROR);
        ck_assert_uint_eq(j.at, sizeof text - 2);
        ck_assert_uint_eq(fm_json_line(&j, j.at), 9);
        free(s.window);
    }
}
END_TEST

/* ------------------------------------------------------------------ the slow reading */

enum { MORE, DONE, DAMAGED };

struct ref {
    const char *s;
    size_t n, i;
};

static bool blank(char c)
{
    return (unsigned char)c <= ' ';
}

static void ref_blanks(struct ref *r)
{
    while (r->i < r->n && blank(r->s[r->i]))
        r->i++;
}

/* From the opening quote to behind the closing one. */
static bool ref_string(struct ref *r, bool *escaped)
{
    *escaped = false;
    for (r->i++; r->i < r->n; r->i++) {
        if (r->s[r->i] == '"') {
            r->i++;
            return true;
        }
        if (r->s[r->i] == '\\') {
            *escaped = true;
            r->i++;
        }
    }
    return false;
}

/* From an opening bracket to behind the one that closes it. */
static int ref_nested(struct ref *r)
{
    static char stack[100000];
    size_t depth = 0, deepest = 0;
    char last = 0;
    while (r->i < r->n) {
        char c = r->s[r->i];
        bool escaped;
        if (c == '"') {
            if (!ref_string(r, &escaped))
                return MORE;
            size_t behind = r->i;
            ref_blanks(r);
            if (r->i < r->n && !strchr(",:}]", r->s[r->i]))
                return DAMAGED;
            r->i = behind;
            last = '"';
            continue;
        }
        if (c == '{' || c == '[') {
            /* what 64 levels deeper were opened behind is not known any more */
            bool known = depth > 0 && deepest < depth + 64;
            if (c == '{' && known && stack[depth - 1] == '{' && last && strchr(",}]", last))
                return DAMAGED;
            stack[depth++] = c;
            deepest = depth;
            for (size_t d = depth; d-- > 0;)
                if (depth - d > 64)
                    stack[d] = '?';
        } else if (c == '}' || c == ']') {
            char open = stack[depth - 1];
            if (open != '?' && open != (c == '}' ? '{' : '['))
                return DAMAGED;
            if (--depth == 0) {
                r->i++;
                return DONE;
            }
        } else if (c == '\\' && r->i + 1 < r->n && strchr("\"\\", r->s[r->i + 1])) {
            r->i++;                /* outside of strings too */
        }
        if (!blank(c))
            last = c;
        r->i++;
    }
    return MORE;
}

static bool word_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("_.+-", c));
}

/* '?': no word. */
static char ref_word(const char *s, size_t n)
{
    if (s[0] >= '0' && s[0] <= '9')
        return 'n';
    for (size_t i = 0; i < n; i++)
        if (!word_byte(s[i]))
            return '?';
    if (n == 4 && memcmp(s, "true", 4) == 0)
        return 't';
    if (n == 5 && memcmp(s, "false", 5) == 0)
        return 'f';
    size_t sign = s[0] == '-' || s[0] == '+';
    if (s[0] == '.' || (sign && n > 1 && ((s[1] >= '0' && s[1] <= '9') || s[1] == '.')))
        return 'n';
    return '0';
}

static int ref_value(struct ref *r, struct log *l)
{
    size_t from = r->i;
    bool escaped;
    char c = r->s[r->i];
    if (c == '"') {
        if (!ref_string(r, &escaped))
            return MORE;
        put(l, "=s:%.*s%s", (int)(r->i - from - 2), r->s + from + 1, escaped ? "~" : "");
        return DONE;
    }
    if (c == '{' || c == '[') {
        int done = ref_nested(r);
        if (done == DONE)
            put(l, "=%c:%.*s", c == '{' ? 'o' : 'a', (int)(r->i - from), r->s + from);
        return done;
    }
    if (strchr(",:}]\\", c) && c)
        return DAMAGED;
    while (r->i < r->n && !blank(r->s[r->i]) && !strchr(",:{}[]\"", r->s[r->i])) {
        bool slash = r->s[r->i++] == '\\';
        if (slash && r->i < r->n && (r->s[r->i] == '"' || r->s[r->i] == '\\'))
            r->i++;
    }
    size_t n = r->i - from;
    ref_blanks(r);
    if (r->i >= r->n)
        return MORE;
    char kind = ref_word(r->s + from, n);
    if (kind == '?') {
        r->i = from;
        return DAMAGED;
    }
    put(l, "=%c:%.*s", kind, (int)n, r->s + from);
    return DONE;
}

/* From '{' on. */
static int ref_object(struct ref *r, struct log *l)
{
    r->i++;
    for (;;) {
        bool escaped;
        while (r->i < r->n && (blank(r->s[r->i]) || r->s[r->i] == ','))
            r->i++;
        if (r->i >= r->n)
            return MORE;
        if (r->s[r->i] == '}') {
            r->i++;
            return DONE;
        }
        if (r->s[r->i] != '"')
            return DAMAGED;
        size_t from = r->i;
        if (!ref_string(r, &escaped))
            return MORE;
        char *key = malloc(r->i - from);
        size_t n = fm_json_unescape(r->s + from + 1, r->i - from - 2, key);
        put(l, " %.*s", (int)n, key);
        free(key);
        ref_blanks(r);
        if (r->i < r->n && r->s[r->i] != ':')
            return DAMAGED;
        r->i++;
        ref_blanks(r);
        if (r->i >= r->n)
            return MORE;
        int done = ref_value(r, l);
        if (done != DONE)
            return done;
        ref_blanks(r);
        if (r->i >= r->n)
            return MORE;
        if (r->s[r->i] != ',' && r->s[r->i] != '}')
            return DAMAGED;
    }
}

static int ref_other(struct ref *r)
{
    bool escaped;
    if (r->s[r->i] == '[')
        return ref_nested(r);
    if (r->s[r->i] == '"') {
        if (!ref_string(r, &escaped))
            return MORE;
        return r->i >= r->n ? MORE : r->s[r->i] == ':' ? DAMAGED : DONE;
    }
    size_t from = r->i, to = from;
    while (to < r->n && !blank(r->s[to]) && !strchr(",:{}[]\"", r->s[to]))
        to++;
    if (to >= r->n)
        return MORE;
    while (r->i < to && word_byte(r->s[r->i]))
        r->i++;
    return r->i < to || to == from ? DAMAGED : DONE;
}

/* Items of "[ …" until the end or the first damage, as read_items() tells them. */
static void ref_items(const char *text, size_t n, struct log *l)
{
    struct ref r = {text, n, 0};
    l->n = 0;
    l->s[0] = '\0';
    ref_blanks(&r);
    r.i++;
    for (;;) {
        while (r.i < n && (blank(text[r.i]) || text[r.i] == ','))
            r.i++;
        if (r.i >= n) {
            put(l, "unterminated %u+0\n", (unsigned)n);
            return;
        }
        if (text[r.i] == ']') {
            put(l, "end\n");
            return;
        }
        size_t from = r.i, line = l->n;
        static struct log fields;
        fields.n = 0;
        fields.s[0] = '\0';
        int done = text[from] == '{'   ? ref_object(&r, &fields)
                   : text[from] == '}' ? DAMAGED
                                       : ref_other(&r);
        if (done == DONE) {
            put(l, "%s %u+%u%s\n", text[from] == '{' ? "item" : "other", (unsigned)from,
                (unsigned)(r.i - from), fields.s);
            continue;
        }
        l->n = line;
        if (done == MORE)
            put(l, "truncated %u+%u\n", (unsigned)from, (unsigned)(n - from));
        else
            put(l, "lost %u !%u\n", (unsigned)from, (unsigned)r.i);
        return;
    }
}

/* ------------------------------------------------------------------ random documents */

static size_t add(char *to, const char *s)
{
    size_t n = strlen(s);
    memcpy(to, s, n);
    return n;
}

static size_t add_blanks(char *to)
{
    static const char *const some[] = {"", "", "", " ", "\n  ", "\t", " \r\n        "};
    return add(to, some[pick(FM_COUNT(some))]);
}

static size_t add_string(char *to)
{
    static const char *const parts[] = {"a", "name", "\\\"", "\\\\", "{", "}", ",", ":", "[", "]",
                                        "\\n", "\xc3\xa4", "\\u00e4", "\n", " ",
                                        "a longer piece of text, of fifty bytes or more: yes"};
    size_t n = 0;
    to[n++] = '"';
    for (uint32_t k = pick(6); k > 0; k--)
        n += add(to + n, parts[pick(pick(2) ? 2 : FM_COUNT(parts))]);
    to[n++] = '"';
    return n;
}

static size_t add_value(char *to, unsigned depth)
{
    static const char *const words[] = {"1", "true", "false", "null", "-12.5e3", "NaN", ".5", "+7",
                                        "1732107143473442.569", "-Infinity"};
    size_t n = 0;
    uint32_t what = pick(depth < 4 ? 8 : 6);
    if (what < 3)
        return add_string(to);
    if (what < 6)
        return add(to, words[pick(FM_COUNT(words))]);
    bool object = what == 6;
    to[n++] = object ? '{' : '[';
    for (uint32_t k = pick(5); k > 0; k--) {
        n += add_blanks(to + n);
        if (object) {
            n += add_string(to + n);
            n += add_blanks(to + n);
            to[n++] = ':';
            n += add_blanks(to + n);
        }
        n += add_value(to + n, depth + 1);
        n += add_blanks(to + n);
        if (k > 1 || pick(8) == 0)
            to[n++] = ',';
    }
    to[n++] = object ? '}' : ']';
    return n;
}

static size_t add_document(char *to)
{
    size_t n = 0;
    to[n++] = '[';
    for (uint32_t k = pick(8); k > 0; k--) {
        n += add_blanks(to + n);
        n += add_value(to + n, pick(8) == 0 ? 4 : 1);
        n += add_blanks(to + n);
        to[n++] = ',';
    }
    if (pick(4))
        to[n++] = ']';
    return n;
}

/* Undamaged or up to the first damage the slow reading agrees; beyond, all windows do. */
static void agrees(const char *text, size_t n)
{
    static struct fm_json j;
    static struct log l, expected;
    char *exact = malloc(n ? n : 1);
    memcpy(exact, text, n);
    ref_items(exact, n, &expected);
    fm_json_init_memory(&j, exact, n);
    read_items(&j, &l, true);
    bool cut = j.state == FM_JSON_TRUNCATED && j.lost; /* lost, and nothing behind it */
    ck_assert_msg(cut || strcmp(l.s, expected.s) == 0, "%.*s:\n%.300s\ninstead of\n%.300s",
                  (int)FM_MIN(n, 2000), text, differ(&l, &expected), differ(&expected, &l));
    fm_json_init_memory(&j, exact, n);
    read_items(&j, &l, false);
    same_everywhere(exact, n, &l, false);
    free(exact);
}

START_TEST(random_documents)
{
    static char text[1 << 20];
    seed = 4242;
    for (unsigned round = 0; round < 1500; round++) {
        size_t n = add_document(text);
        if (n > LOG / 4)
            continue;
        if (round % 3 && n > 1)
            for (uint32_t k = 1 + pick(3); k > 0; k--)
                text[1 + pick((uint32_t)n - 1)] = "\"\\{}[],: \na1"[pick(12)];
        agrees(text, n);
    }
}
END_TEST

/* ------------------------------------------------------------------ items that look alike */

/* A value for '?' in a skeleton: strings and numbers of all lengths, now and then another kind. */
static size_t add_slot(char *to)
{
    static const char *const numbers[] = {"0", "7", "-3", "12.5", "1732107143473442.569", "1e5",
                                          "-2.5E-07", "3e+2", "12345678901234567890123.5",
                                          "-1/2", "1/2", "-", ".5", "-.5", "1-", "1 2", "--1"};
    if (pick(12) == 0)
        return add_value(to, 3);
    return pick(2) ? add_string(to) : add(to, numbers[pick(FM_COUNT(numbers))]);
}

static const char *const skeletons[] = {
    "{\"ph\":\"%\",\"ts\":#,\"name\":\"%\"}",
    "{\"ph\":\"%\",\"ts\":#,\"dur\":#,\"args\":{\"id\":#,\"e\":{}},\"on\":true}",
    "{\n    \"ph\": \"%\", \"a key that is longer than a piece of text is\": \"%\",\n"
    "    \"ts\": #, \"args\": {\n      \"k\": ?, \"l\": [#, \"%\"]\n    }\n  }",
    "{\"ph\":\"%\",\"args\":{\"%\":#},\"id\":?}",
    "{\"args\":{},\"ph\":null,\"x\":?,\"y\":{\"z\":[{\"q\":\"%\"},[]]}}",
    "{ \"a\" : # , \"b\" :\t? ,, \"c\":\"%\",}",
    "{\"a\\n\":#,\"b\":false}",
    "{}"};

static size_t add_item(char *to, const char *skeleton)
{
    static const char *const numbers[] = {"0", "15", "4.25", "1732107143473442.569", "-1"};
    size_t n = 0;
    for (; *skeleton; skeleton++) {
        if (*skeleton == '%')
            for (uint32_t k = pick(pick(4) ? 4 : 60); k > 0; k--)
                n += add(to + n, pick(30) ? "f" : "\\\"");
        else if (*skeleton == '#')
            n += add(to + n, numbers[pick(FM_COUNT(numbers))]);
        else if (*skeleton == '?')
            n += add_slot(to + n);
        else
            to[n++] = *skeleton;
    }
    return n;
}

START_TEST(alike)
{
    static char text[1 << 16];
    seed = 77;
    shaped = 0;
    for (unsigned round = 0; round < 400; round++) {
        size_t n = 0;
        text[n++] = '[';
        const uint32_t kinds = 1 + pick(FM_COUNT(skeletons)), from = pick(FM_COUNT(skeletons));
        for (uint32_t k = 2 + pick(40); k > 0 && n < LOG / 4; k--) {
            n += add_item(text + n, skeletons[(from + pick(kinds)) % FM_COUNT(skeletons)]);
            n += add(text + n, k == 1 ? "" : pick(9) ? ",\n" : " , ,");
        }
        text[n++] = ']';
        if (round % 3 == 0)
            for (uint32_t k = 1 + pick(3); k > 0; k--)
                text[1 + pick((uint32_t)n - 1)] = "\"\\{}[],: \na1"[pick(12)];
        agrees(text, n);
    }
    ck_assert_uint_gt(shaped, 5000);
}
END_TEST

/* Items that all differ: shapes are given up, tried again, and learnt when they help. */
START_TEST(shapes_come_back)
{
    static char text[1 << 20];
    static struct fm_json_object o;
    static struct fm_json j;
    size_t n = 0;
    unsigned known = 0;
    seed = 5;
    text[n++] = '[';
    for (unsigned i = 0; i < 4000; i++)
        n += (size_t)sprintf(text + n, "{\"k%u\":%u,\"args\":{\"a%u\":[{}]}},", i, i, i);
    for (unsigned i = 0; i < 4000; i++)
        n += (size_t)sprintf(text + n, "{\"k\":%u,\"args\":{\"a%u\":[{}]}},", i, i);
    text[n++] = ']';
    fm_json_init_memory(&j, text, n);
    fm_json_next(&j);
    for (unsigned i = 0; i < 8000; i++) {
        ck_assert_int_eq(fm_json_item(&j, &o), FM_JSON_ITEM_OBJECT);
        ck_assert_uint_eq(o.fields, 2);
        ck_assert_uint_eq(o.field[0].n, i % 4000 < 10 ? 1 : i % 4000 < 100 ? 2 : i % 4000 < 1000
                                                                                     ? 3 : 4);
        ck_assert_int_eq(o.field[1].kind, FM_JSON_OBJECT);
        known += o.shape != 0;
        if (i < 4000)
            ck_assert_uint_eq(o.shape, 0);
    }
    ck_assert_int_eq(fm_json_item(&j, &o), FM_JSON_ITEM_END);
    ck_assert_uint_gt(known, 1000);
}
END_TEST

START_TEST(cut_everywhere)
{
    static const char *const texts[] = {
        "[{\"a\":1,\"args\":{\"k\":[\"v\\\"\",{}]}},\n{\"b\":\"x\\\\\"} , {\"c\":true}]",
        "[1,\"x\",[2,[\"]\"]],{\"a\":null}]",
        "[{\"a\":\"\\u00e4\",\"b\":-1.5},{},{ \"c\" : { } } ]",
        "[{\"n\":\"f(\"y\")\"},{\"n\":1}]"};
    for (size_t i = 0; i < FM_COUNT(texts); i++)
        for (size_t n = 1; n <= strlen(texts[i]); n++)
            agrees(texts[i], n);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("json_item");
    TCase *t = tcase_create("json_item");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, members);
    tcase_add_test(t, tolerated);
    tcase_add_test(t, damage);
    tcase_add_test(t, cuts);
    tcase_add_test(t, ends_of_tokens);
    tcase_add_test(t, names);
    tcase_add_test(t, many_members);
    tcase_add_test(t, deep);
    tcase_add_test(t, too_long);
    tcase_add_test(t, lines);
    tcase_add_test(t, random_documents);
    tcase_add_test(t, alike);
    tcase_add_test(t, shapes_come_back);
    tcase_add_test(t, cut_everywhere);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
