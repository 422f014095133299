/*
 * objects.c - JSON objects that follow one another: container `json` with `framing: objects`.
 *
 *     [ {…}, {…} ]     {…},{…},     {…}{…}     {…},{…     all are a sequence of objects
 *
 * An object is cut by counting brackets outside of strings. It is handed out when its last bracket
 * was met: one that the input ends in is never seen in part. With `strings: raw` its writer escapes
 * nothing, and a string that is a value reaches to the last quote of its line when only a comma can
 * stand behind that; such strings are escaped here, so that what is handed out is JSON:
 *
 *     "name": "a "b\c",\n      ->      "name": "a \"b\\c",\n
 */
#include "import/text/generic.h"

#include "util/error.h"

struct cut {
    struct fm_objects *o;
    const char *s;
    size_t n, i;
    bool last;                         /* nothing comes behind s[n) */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The closing quote of a raw string that begins at `from`, by the end of its line; n: none. */
static size_t raw_end(const char *s, size_t n, size_t from)
{
    const char *newline = memchr(s + from, '\n', n - from);
    size_t k = newline ? (size_t)(newline - s) : n;
    while (k > from && is_blank(s[k - 1]))
        k--;
    k -= k > from && s[k - 1] == ',';
    while (k > from && is_blank(s[k - 1]))
        k--;
    return k > from && s[k - 1] == '"' ? k - 1 : n;
}

/* The closing quote by the rules of JSON; n: none. */
static size_t plain_end(const char *s, size_t n, size_t from)
{
    size_t i = from;
    while (i < n && s[i] != '"')
        i += s[i] == '\\' ? 2 : 1;
    return FM_MIN(i, n);
}

static void put(struct fm_objects *o, const char *s, size_t n)
{
    memcpy(o->text + o->n, s, n);
    o->n += n;
}

/* The string whose opening quote is s[i]: copied, i moves behind it. false: it has no end here. */
static bool take_string(struct cut *c, bool value)
{
    size_t from = c->i + 1, end = c->n;
    bool raw = c->o->raw && value;
    if (raw && !c->last && !memchr(c->s + from, '\n', c->n - from))
        return false;
    if (raw)
        end = raw_end(c->s, c->n, from);
    raw = end < c->n;
    if (!raw)
        end = plain_end(c->s, c->n, from);
    if (end == c->n)
        return false;
    put(c->o, "\"", 1);
    for (size_t k = from; raw && k < end; k++) {
        if (c->s[k] == '"' || c->s[k] == '\\')
            put(c->o, "\\", 1);
        put(c->o, c->s + k, 1);
    }
    if (!raw)
        put(c->o, c->s + from, end - from);
    put(c->o, "\"", 1);
    c->i = end + 1;
    return true;
}

/* Copies the object at s. false: its end is not here. */
static bool take_object(struct cut *c)
{
    size_t depth = 0;
    bool value = false;                /* a ':' was the last that was no blank */
    c->i = c->o->n = 0;
    while (c->i < c->n) {
        char ch = c->s[c->i];
        if (ch == '"') {
            if (!take_string(c, value))
                return false;
            value = false;
            continue;
        }
        put(c->o, &ch, 1);
        c->i++;
        if (!is_blank(ch))
            value = ch == ':';
        depth += ch == '{' || ch == '[';
        depth -= ch == '}' || ch == ']';
        if (depth == 0)
            return true;
    }
    return false;
}

/* Passes over what stands between objects; what is no blank, comma or bracket is counted. *n = 0:
 * the end. */
static enum fm_status find_object(struct fm_objects *o, const unsigned char **data, size_t *n,
                                  struct fm_error *err)
{
    struct fm_generic *g = o->g;
    bool bad = false;
    for (;;) {
        enum fm_status status = fm_reader_peek(g->reader, 1, data, n, err);
        if (status != FM_OK || *n == 0)
            return status;
        const unsigned char *p = *data, *end = p + *n;
        uint64_t at = fm_reader_offset(g->reader);
        for (; p < end && *p != '{'; p++, at++) {
            bool mark = at < 3 && *p >= 0x80;  /* of the byte order */
            if (bad || mark || is_blank((char)*p) || *p == ',' || *p == '[' || *p == ']')
                continue;
            bad = true;
            fm_builder_diag(g->builder, FM_DIAG_BAD_LINE, at, 1);
        }
        fm_reader_consume(g->reader, (size_t)(p - *data));
        *data = p;
        *n = (size_t)(end - p);
        if (p < end)
            return FM_OK;
    }
}

enum fm_status fm_objects_next(struct fm_objects *o, bool *end, struct fm_error *err)
{
    struct fm_generic *g = o->g;
    const unsigned char *data;
    size_t n;
    enum fm_status status = find_object(o, &data, &n, err);
    *end = status == FM_OK && n == 0;
    if (status != FM_OK || *end)
        return status;
    o->offset = fm_reader_offset(g->reader);
    for (bool last = false;;) {
        /* Each byte becomes two at most. */
        if (!fm_grow(g->mem, (void **)&o->text, &o->cap, 2 * n, 1))
            return fm_error_nomem(err);
        struct cut c = {o, (const char *)data, n, 0, last};
        if (take_object(&c)) {
            fm_reader_consume(g->reader, c.i);
            return FM_OK;
        }
        const char *name = fm_input_name(g->import->input);
        if (status != FM_OK)
            return status;             /* err says why there is no more */
        if (last)
            return fm_error_at(err, FM_TRUNCATED, name, o->offset,
                               "the input ends inside an object; whole ones before it: %llu",
                               (unsigned long long)o->objects);
        if (n > FM_GENERIC_LINE)
            return fm_error_at(err, FM_FORMAT, name, o->offset,
                               "an object of more than %zu bytes", FM_GENERIC_LINE);
        size_t need = 2 * n;
        status = fm_reader_peek(g->reader, need, &data, &n, err);
        last = status != FM_OK || n < need;
        if (n == 0)
            return status;
    }
}

void fm_objects_release(struct fm_objects *o)
{
    if (o->text)
        fm_mem_free(o->g->mem, o->text, o->cap);
}
