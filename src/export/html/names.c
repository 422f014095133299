/*
 * names.c - the names of the HTML report: each label of the call tree once, one a line.
 *
 *     symbol    how many UTF-16 units of the text (as escaped) are those of the line before, <= 90
 *     symbol    kind of frame: enum fm_frame_kind
 *     4 symbols colour: red * 65536 + green * 256 + blue, the least digit first, base 91
 *     number    module + 1 (the meta block has their paths), 0 unknown
 *     number    file + 1, 0 unknown
 *     number    line, only when the file is known
 *     text      the rest
 *
 * A name's number is its line. Names that occur most have numbers of one symbol, then come those of
 * two, then of three ...; within such a class names stand in byte order, so that neighbours share
 * their beginnings.
 *
 * Module, file and line are those of the first frame of that name.
 */
#include "export/html/html.h"
#include "export/flame_extra.h"
#include "export/palette.h"

#include "util/error.h"
#include "util/text.h"

#include <stdlib.h>

#define SHARE_MOST (FM_HTML_SYMBOLS - 1)

void fm_html_text(struct fm_out *out, const char *s, size_t n)
{
    size_t i = 0, from = 0;
    while (i < n) {
        uint32_t cp = 0;
        unsigned len = fm_utf8_next(s + i, n - i, &cp);
        if (len > 0 && cp >= 0x20 && cp != 0x7f && cp != '<' && cp != '>' && cp != '&' &&
            cp != '\\' && !(cp >= 0x80 && cp < 0xa0) && cp != 0x2028 && cp != 0x2029 &&
            cp != 0xfeff && (cp & 0xfffe) != 0xfffe) {
            i += len;
            continue;
        }
        fm_out_bytes(out, s + from, i - from);
        if (len == 0) {
            fm_out_text(out, "\xef\xbf\xbd");
            len = 1;
        } else {
            fm_out_char(out, '\\');
            fm_out_hex(out, cp);
            fm_out_char(out, ';');
        }
        i += len;
        from = i;
    }
    fm_out_bytes(out, s + from, n - from);
}

/* --------------------------------------------------------------- numbers */

static int by_label(const struct fm_html_name *a, const struct fm_html_name *b)
{
    size_t n, m;
    const char *s = fm_store_str(a->store, a->label, &n);
    const char *t = fm_store_str(b->store, b->label, &m);
    int c = memcmp(s, t, FM_MIN(n, m));
    return c != 0 ? c : (n > m) - (n < m);
}

static int by_uses(const void *a, const void *b)
{
    const struct fm_html_name *x = a, *y = b;
    if (x->uses != y->uses)
        return x->uses < y->uses ? 1 : -1;
    return by_label(x, y);
}

static int by_name(const void *a, const void *b)
{
    return by_label(a, b);
}

static void sort(struct fm_html_name *name, size_t n)
{
    size_t from = 0, size = FM_HTML_LAST;
    qsort(name, n, sizeof *name, by_uses);
    while (from < n) {
        size_t count = FM_MIN(size, n - from);
        qsort(name + from, count, sizeof *name, by_name);
        from += count;
        size *= FM_HTML_SYMBOLS - FM_HTML_LAST;
    }
}

static bool count_uses(struct fm_html *h)
{
    const struct fm_call_node *node = h->tree->node;
    const struct fm_store *store = h->export->sel->store;
    uint32_t i;
    for (i = 1; i < h->tree->nodes; i++) {
        uint32_t *at = &h->number[node[i].label];
        if (*at == 0) {
            if (!fm_grow(h->mem, (void **)&h->name, &h->name_cap, h->names + 1, sizeof *h->name))
                return false;
            h->name[h->names++] = (struct fm_html_name){store, node[i].label, 0, i};
            *at = (uint32_t)h->names;
        }
        h->name[*at - 1].uses++;
    }
    return true;
}

enum fm_status fm_html_number_names(struct fm_html *h, struct fm_error *err)
{
    size_t i;
    h->strings = fm_store_strings(h->export->sel->store);
    h->number = fm_mem_zalloc(h->mem, h->strings * sizeof *h->number);
    if (h->number == NULL || !count_uses(h))
        return fm_error_nomem(err);
    if (h->names > 0)
        sort(h->name, h->names);
    for (i = 0; i < h->names; i++)
        h->number[h->name[i].label] = (uint32_t)i + 1;
    return FM_OK;
}

void fm_html_release_names(struct fm_html *h)
{
    fm_mem_free(h->mem, h->number, h->strings * sizeof *h->number);
    fm_mem_free(h->mem, h->name, h->name_cap * sizeof *h->name);
    fm_mem_free(h->mem, h->file.text, h->file.cap * sizeof *h->file.text);
    fm_mem_free(h->mem, h->module.text, h->module.cap * sizeof *h->module.text);
    fm_map_release(&h->file.of);
    fm_map_release(&h->module.of);
}

/* ----------------------------------------------------------------- lines */

/* The place of a text in a table, + 1; 0 for no text. False: no memory. */
static bool place(struct fm_html *h, struct fm_html_table *table, fm_str text, uint32_t *at)
{
    bool fresh;
    uint64_t *value;
    *at = 0;
    if (text == 0 || text == FM_NONE)
        return text == 0;
    value = fm_map_put(&table->of, text, &fresh);
    if (value == NULL)
        return false;
    if (fresh) {
        if (!fm_grow(h->mem, (void **)&table->text, &table->cap, table->n + 1,
                     sizeof *table->text))
            return false;
        table->text[table->n++] = text;
        *value = table->n;
    }
    *at = (uint32_t)*value;
    return true;
}

/* UTF-16 units of the longest common beginning of whole characters, at most SHARE_MOST; *bytes is
 * its length. The texts are valid UTF-8. */
static unsigned shared(const char *a, size_t n, const char *b, size_t m, size_t *bytes)
{
    unsigned units = 0;
    size_t i = 0;
    uint32_t cp;
    while (i < n && i < m) {
        unsigned len = fm_utf8_next(a + i, n - i, &cp), more = cp > 0xffff ? 2 : 1;
        if (m - i < len || memcmp(a + i, b + i, len) != 0 || units + more > SHARE_MOST)
            break;
        i += len;
        units += more;
    }
    *bytes = i;
    return units;
}

/* "_[w]" of a waker is a part of its name: no kind says it. */
size_t fm_html_bare(const struct fm_html *h, const char *s, size_t n)
{
    if (!h->export->names.annotate && n >= 4 && s[n - 1] == ']' && s[n - 3] == '[' &&
        s[n - 4] == '_' && memchr("kij01gG", s[n - 2], 7) != NULL)
        return n - 4;
    return n;
}

static void put_color(struct fm_html *h, const char *s, size_t n)
{
    unsigned rgb[3], v, i;
    if (h->rules != NULL)
        fm_color_rules_color(h->rules, h->hash, s, n, rgb);
    else
        fm_palette_color(h->palette, h->hash, s, n, rgb);
    v = rgb[0] << 16 | rgb[1] << 8 | rgb[2];
    for (i = 0; i < 4; i++, v /= FM_HTML_SYMBOLS)
        fm_html_symbol(h->out, v % FM_HTML_SYMBOLS);
}

static bool put_place(struct fm_html *h, const struct fm_call_node *node)
{
    const struct fm_selection *sel = h->export->sel;
    uint32_t module = 0, file = 0, line = 0;
    if (node->frame != FM_NONE) {
        const struct fm_frame_row *frame = fm_selection_frame(sel, node->frame);
        if (frame->module != FM_NONE &&
            !place(h, &h->module, fm_store_module_row(sel->store, frame->module)->path, &module))
            return false;
        if (!place(h, &h->file, frame->file, &file))
            return false;
        line = frame->line;
    }
    fm_html_number(h->out, module);
    fm_html_number(h->out, file);
    if (file > 0)
        fm_html_number(h->out, line);
    return true;
}

enum fm_status fm_html_write_names(struct fm_html *h, struct fm_error *err)
{
    const struct fm_store *store = h->export->sel->store;
    struct fm_out text[2];           /* of this line and of the one before, as escaped */
    enum fm_status status;
    size_t i, n, same;
    status = fm_out_init(&text[0], h->mem, NULL);
    if (status != FM_OK)
        return fm_error_nomem(err);
    status = fm_out_init(&text[1], h->mem, NULL);
    if (status != FM_OK) {
        fm_out_release(&text[0]);
        return fm_error_nomem(err);
    }
    for (i = 0; i < h->names; i++) {
        struct fm_out *now = &text[i % 2], *last = &text[(i + 1) % 2];
        const struct fm_call_node *node = &h->tree->node[h->name[i].node];
        const char *s = fm_store_str(store, h->name[i].label, &n);
        now->n = 0;
        fm_html_text(now, s, fm_html_bare(h, s, n));
        if (now->status != FM_OK) {
            status = fm_error_nomem(err);
            break;
        }
        fm_html_symbol(h->out, shared(last->buf, last->n, now->buf, now->n, &same));
        fm_html_symbol(h->out, node->kind);
        put_color(h, s, n);
        if (!put_place(h, node)) {
            status = fm_error_nomem(err);
            break;
        }
        fm_out_bytes(h->out, now->buf + same, now->n - same);
        fm_out_char(h->out, '\n');
    }
    fm_out_release(&text[0]);
    fm_out_release(&text[1]);
    return status;
}
