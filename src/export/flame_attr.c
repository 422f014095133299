/*
 * flame_attr.c - attributes of frames from a file, as flamegraph.pl's --nameattr has them:
 *
 *     main TAB title=the start TAB href=main.html TAB class=hot
 *     b    TAB id=n1 TAB g_extra=data-k="v"
 *
 * The file is the user's own, but pictures are handed on: what it says stands in attributes of the
 * picture and nowhere else, is escaped there, and runs nothing. A later line about a name replaces
 * the earlier one.
 */
#include "export/flame_extra.h"

#include "input/input.h"
#include "util/error.h"
#include "util/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FILE_MAX ((size_t)16 << 20)

struct entry {
    const char *name;
    size_t n;
    struct fm_flame_attr attr;
    struct entry *next;
};

struct fm_flame_attrs {
    struct entry *bucket[1024];
};

static size_t bucket_of(const char *name, size_t n)
{
    return (size_t)(XXH3_64bits(name, n) & 1023);
}

const struct fm_flame_attr *fm_flame_attrs_find(const struct fm_flame_attrs *attrs,
                                                const char *name, size_t n)
{
    if (attrs == NULL)
        return NULL;
    for (const struct entry *e = attrs->bucket[bucket_of(name, n)]; e != NULL; e = e->next)
        if (e->n == n && memcmp(e->name, name, n) == 0)
            return &e->attr;
    return NULL;
}

/* No scheme (a ':' behind '/', '?' or '#' is none), or one that opens a page. */
static bool good_link(const char *s)
{
    static const char *const scheme[] = {"http:", "https:", "mailto:"};
    size_t n = strcspn(s, ":/?#");
    for (const char *c = s; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20)
            return false;        /* browsers drop them, so that "java\nscript:" is one */
    if (s[n] != ':')
        return true;
    while (*s == ' ')
        s++;
    for (size_t i = 0; i < FM_COUNT(scheme); i++)
        if (strncasecmp(s, scheme[i], strlen(scheme[i])) == 0)
            return true;
    return false;
}

static bool name_char(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && ((c >= '0' && c <= '9') || c == '-' || c == '.'));
}

/* 'a="v" b="w"' -> ' a="v" b="w"', escaped; NULL: it is not that, or not harmless. */
static const char *extra(struct fm_ctx *ctx, struct fm_arena *arena, const char *s)
{
    struct fm_out out;
    const char *text = NULL;
    bool good = true;
    if (fm_out_init(&out, &ctx->mem, NULL) != FM_OK)
        return NULL;
    while (good) {
        size_t n = 0, value;
        s += strspn(s, " ");
        if (*s == '\0')
            break;
        while (name_char(s[n], n == 0))
            n++;
        good = n > 0 && s[n] == '=' && (s[n + 1] == '"' || s[n + 1] == '\'') &&
               !(n >= 2 && strncasecmp(s, "on", 2) == 0) && strncasecmp(s, "href", 4) != 0 &&
               strncasecmp(s, "style", 5) != 0;
        if (!good)
            break;
        value = strcspn(s + n + 2, s[n + 1] == '"' ? "\"" : "'");
        good = s[n + 2 + value] == s[n + 1];
        fm_out_char(&out, ' ');
        fm_out_bytes(&out, s, n);
        fm_out_text(&out, "=\"");
        fm_out_xml(&out, s + n + 2, value);
        fm_out_char(&out, '"');
        s += n + 3 + value;
    }
    if (good && out.status == FM_OK)
        text = fm_arena_strn(arena, out.n > 0 ? out.buf : "", out.n);
    fm_out_release(&out);
    return text;
}

static enum fm_status set(struct fm_ctx *ctx, struct fm_arena *arena, struct fm_flame_attr *attr,
                          const char *key, size_t n, const char *value, const char *path,
                          uint64_t line, struct fm_error *err)
{
    const struct {
        const char *key;
        const char **place;
    } known[] = {
        {"id", &attr->id},         {"class", &attr->class},
        {"title", &attr->title},   {"href", &attr->href},
        {"target", &attr->target}, {"g_extra", &attr->group_extra},
        {"a_extra", &attr->link_extra},
    };
    size_t i = 0;
    while (i < FM_COUNT(known) && (strlen(known[i].key) != n || memcmp(known[i].key, key, n) != 0))
        i++;
    if (i == FM_COUNT(known))
        return fm_error_set(err, FM_CONFIG, "setting nameattr: %s line %llu: there is no '%.*s'",
                            path, (unsigned long long)line, (int)FM_MIN(n, 40u), key);
    if (known[i].place == &attr->href && !good_link(value))
        return fm_error_set(err, FM_CONFIG, "setting nameattr: %s line %llu: the link '%.80s' is "
                            "neither http, https, mailto nor relative",
                            path, (unsigned long long)line, value);
    if (known[i].key[1] == '_')
        value = extra(ctx, arena, value);
    if (value == NULL)
        return fm_error_set(err, FM_CONFIG, "setting nameattr: %s line %llu: '%s' takes attributes "
                            "like data-k=\"v\" that run nothing",
                            path, (unsigned long long)line, known[i].key);
    *known[i].place = value;
    return FM_OK;
}

static enum fm_status take_line(struct fm_ctx *ctx, struct fm_arena *arena,
                                struct fm_flame_attrs *attrs, const char *s, const char *path,
                                uint64_t line, struct fm_error *err)
{
    size_t n = strcspn(s, "\t"), b = bucket_of(s, n);
    struct entry *e = fm_arena_alloc(arena, sizeof *e);
    if (e == NULL)
        return fm_error_nomem(err);
    e->name = s;
    e->n = n;
    e->next = attrs->bucket[b];
    attrs->bucket[b] = e;
    for (s += n; *s == '\t';) {
        size_t length = strcspn(++s, "\t"), key = strcspn(s, "=\t");
        char *value;
        enum fm_status status;
        if (length == 0)
            continue;
        if (key >= length)
            return fm_error_set(err, FM_CONFIG, "setting nameattr: %s line %llu: '%.*s' is no "
                                "key=value", path, (unsigned long long)line,
                                (int)FM_MIN(length, 40u), s);
        value = fm_arena_strn(arena, s + key + 1, length - key - 1);
        if (value == NULL)
            return fm_error_nomem(err);
        status = set(ctx, arena, &e->attr, s, key, value, path, line, err);
        if (status != FM_OK)
            return status;
        s += length;
    }
    return FM_OK;
}

enum fm_status fm_flame_attrs_read(struct fm_ctx *ctx, struct fm_arena *arena, const char *path,
                                   struct fm_flame_attrs **result, struct fm_error *err)
{
    struct fm_flame_attrs *attrs = fm_arena_alloc(arena, sizeof *attrs);
    char *data;
    size_t size;
    uint64_t line = 0;
    enum fm_status status;
    if (attrs == NULL)
        return fm_error_nomem(err);
    status = fm_input_slurp(ctx, path, FILE_MAX, &data, &size, err);
    if (status != FM_OK)
        return status;
    for (size_t at = 0; at < size && status == FM_OK;) {
        const char *end = memchr(data + at, '\n', size - at);
        size_t n = end != NULL ? (size_t)(end - (data + at)) : size - at;
        size_t text = n > 0 && data[at + n - 1] == '\r' ? n - 1 : n;
        char *copy = fm_arena_strn(arena, data + at, text);
        line++;
        if (copy == NULL)
            status = fm_error_nomem(err);
        else if (text > 0)
            status = take_line(ctx, arena, attrs, copy, path, line, err);
        at += n + 1;
    }
    fm_mem_free(&ctx->mem, data, size + 1);
    *result = attrs;
    return status;
}
