/*
 * html.c - traces inside of HTML pages.
 *
 *     <script id="viewer-data" type="application/json">    base64 of a trace, plain or gzip,
 *     H4sIAAAAAAAAA6WTvQ7CIBRG…                           in lines; one or more such elements
 *     </script>
 *     <script class="trace-data" type="application/text">  ftrace text
 *     <script> var linuxPerfData = "\                      ftrace text as a JavaScript string,
 *     …\n\                                                 a line of it ending with \n\
 *     </script>
 *
 * The page is read as a stream: an element's text is handed on in pieces. Base64 is collected:
 * what it unpacks to is read by the same layers as any file.
 */
#include "import/chrome/system.h"

#include "util/error.h"

#define MAX_TAG 4096u
#define PIECE ((size_t)64 << 10)

enum element { OTHER, VIEWER, TRACE };

struct page {
    struct fm_chrome *c;
    enum element element;
    bool javascript;               /* OTHER: after linuxPerfData */
    unsigned char *data;           /* VIEWER: decoded, or as it stands when it is JSON */
    size_t n, cap;
    bool plain;                    /* VIEWER: no base64 */
    bool begun, padded;
    uint32_t bits;                 /* of base64 that make no byte yet */
    unsigned bit_count;
    uint64_t offset;               /* of the element's text */
    unsigned traces;
    enum fm_status damage;         /* of what was unpacked, told in c->err */
};

static bool peek(struct page *p, size_t need, const unsigned char **data, size_t *n)
{
    struct fm_chrome *c = p->c;
    if (c->read == FM_OK)
        c->read = fm_reader_peek(c->reader, need, data, n, c->err);
    return c->read == FM_OK && *n > 0;
}

static unsigned char lower(unsigned char ch)
{
    return ch >= 'A' && ch <= 'Z' ? (unsigned char)(ch + 32) : ch;
}

static bool same(const unsigned char *s, const char *word, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (lower(s[i]) != (unsigned char)word[i])
            return false;
    return true;
}

/* ------------------------------------------------------------------ the text of an element */

static int base64_value(unsigned char ch)
{
    if (ch >= 'A' && ch <= 'Z')
        return ch - 'A';
    if (ch >= 'a' && ch <= 'z')
        return ch - 'a' + 26;
    if (ch >= '0' && ch <= '9')
        return ch - '0' + 52;
    return ch == '+' || ch == '-' ? 62 : ch == '/' || ch == '_' ? 63 : -1;
}

/* Adds text of a viewer-data element. */
static void add_viewer(struct page *p, const unsigned char *s, size_t n)
{
    if (p->c->oom || !fm_grow(p->c->mem, (void **)&p->data, &p->cap, p->n + n + 1, 1)) {
        p->c->oom = true;
        return;
    }
    for (size_t i = 0; i < n && !p->plain; i++) {
        int v = base64_value(s[i]);
        if (!p->begun && s[i] > ' ') {
            p->begun = true;
            p->plain = s[i] == '{' || s[i] == '[';
            if (p->plain) {
                s += i;
                n -= i;
                break;
            }
        }
        if (v < 0 || p->padded) {
            p->padded |= s[i] == '=';
            continue;
        }
        p->bits = (p->bits << 6) | (uint32_t)v;
        p->bit_count += 6;
        if (p->bit_count >= 8) {
            p->bit_count -= 8;
            p->data[p->n++] = (unsigned char)(p->bits >> p->bit_count);
        }
    }
    if (p->plain) {
        memcpy(p->data + p->n, s, n);
        p->n += n;
    }
}

/* Scripts: ftrace text stands in one that gives linuxPerfData a value. */
static void add_script(struct page *p, const unsigned char *s, size_t n, uint64_t offset)
{
    static const char name[] = "linuxPerfData = \"";
    const unsigned char *at = p->javascript ? s : memmem(s, n, name, sizeof name - 1);
    if (at == NULL)
        return;
    if (!p->javascript)
        at += sizeof name - 1;
    p->javascript = true;
    fm_chrome_ftrace(p->c, (const char *)at, n - (size_t)(at - s), offset + (uint64_t)(at - s));
}

static void add_text(struct page *p, const unsigned char *s, size_t n)
{
    uint64_t offset = fm_reader_offset(p->c->reader);
    if (p->element == VIEWER)
        add_viewer(p, s, n);
    else if (p->element == TRACE)
        fm_chrome_ftrace(p->c, (const char *)s, n, offset);
    else
        add_script(p, s, n, offset);
}

/* Damage of the bytes ends them; it is told when the trace has been read. */
static bool more(void *user, size_t used, size_t need, const unsigned char **data, size_t *n)
{
    struct fm_chrome *c = user;
    fm_reader_consume(c->reader, used);
    fm_reader_peek(c->reader, need, data, n, NULL);
    return true;
}

/* A trace of its own: unpacked and read like a file. */
static bool read_viewer(struct page *p)
{
    struct fm_chrome *c = p->c;
    struct fm_reader *outer = c->reader, *inner = NULL;
    struct fm_input *input = NULL;
    enum fm_status status;
    enum fm_json_end end = c->end;
    bool ok = false;
    status = fm_input_open_memory(c->ctx, p->data, p->n, fm_input_name(c->import->input), &input,
                                  c->err);
    if (status == FM_OK)
        status = fm_reader_open(input, &inner, c->err);
    if (status == FM_OK) {
        c->reader = inner;
        ok = fm_chrome_document(c, more, c);
        c->reader = outer;
        if (c->end == FM_JSON_COMPLETE)
            c->end = end;
        fm_input_findings(input, &fm_builder_source_row(c->builder)->diags);
        if (p->damage == FM_OK)
            p->damage = fm_input_damage(input, c->err);
        p->traces++;
    } else {
        c->read = status;
    }
    fm_reader_close(inner);
    fm_input_free(input);
    return ok;
}

static bool end_element(struct page *p)
{
    bool ok = true;
    if (p->element == TRACE || p->javascript) {
        fm_chrome_ftrace_end(p->c);
        p->c->any_events = true;
        p->traces++;
    } else if (p->element == VIEWER && p->n > 0 && !p->c->oom) {
        ok = read_viewer(p);
    }
    fm_mem_free(p->c->mem, p->data, p->cap);
    p->data = NULL;
    p->n = p->cap = 0;
    p->bits = p->bit_count = 0;
    p->plain = p->begun = p->padded = p->javascript = false;
    return ok && !p->c->oom;
}

/* ------------------------------------------------------------------------ the page */

/* Bytes that may go: all before the next '<', and at least one. */
static size_t until_tag(const unsigned char *s, size_t n)
{
    const unsigned char *at = memchr(s, '<', n);
    return at != NULL ? (size_t)(at - s) : n;
}

static bool has(const unsigned char *s, size_t n, const char *word)
{
    return memmem(s, n, word, strlen(word)) != NULL;
}

/* Moves behind the next "<script …>"; false: there is none. */
static bool find_script(struct page *p)
{
    static const char open[] = "<script";
    const unsigned char *s, *close;
    size_t n;
    while (peek(p, sizeof open, &s, &n)) {
        size_t skip = until_tag(s, n);
        if (skip > 0) {
            fm_reader_consume(p->c->reader, skip);
            continue;
        }
        if (n < sizeof open || !same(s, open, sizeof open - 1)) {
            fm_reader_consume(p->c->reader, 1);
            continue;
        }
        if (!peek(p, MAX_TAG, &s, &n))
            return false;
        close = memchr(s, '>', FM_MIN(n, MAX_TAG));
        if (close == NULL) {
            fm_reader_consume(p->c->reader, sizeof open - 1);
            continue;
        }
        n = (size_t)(close - s);
        p->element = has(s, n, "viewer-data") ? VIEWER : has(s, n, "trace-data") ? TRACE : OTHER;
        fm_reader_consume(p->c->reader, n + 1);
        return true;
    }
    return false;
}

/* Hands on the text up to "</script". */
static bool read_script(struct page *p)
{
    static const char end[] = "</script";
    const unsigned char *s;
    size_t n;
    while (peek(p, PIECE, &s, &n)) {
        size_t text = until_tag(s, n);
        if (text == 0 && n >= sizeof end && same(s, end, sizeof end - 1))
            break;
        if (text == 0)
            text = 1;
        add_text(p, s, text);
        fm_reader_consume(p->c->reader, text);
        if (p->c->oom)
            return false;
    }
    return end_element(p);
}

bool fm_chrome_html(struct fm_chrome *c)
{
    struct page page = {.c = c};
    while (find_script(&page))
        if (!read_script(&page))
            return false;
    if (c->read == FM_OK && page.traces == 0)
        c->read = fm_error_at(c->err, FM_UNSUPPORTED, fm_input_name(c->import->input),
                              FM_NO_OFFSET, "an HTML page without a trace in it");
    if (c->read == FM_OK)
        c->read = page.damage;
    return c->read == FM_OK;
}
