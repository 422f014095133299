/*
 * nodes.c - the call tree of the HTML report as symbols (html.h), in DFS pre-order.
 *
 *     number    self weight of the root
 *     a node each:
 *     symbol    up * 3 + what: up = how many levels from the node before to this one's parent, at
 *               most 29; what = 0 self weight 0, 1 self weight 1, 2 it follows
 *     number    the rest of up, only when that is 29
 *     number    the name
 *     number    self weight, only when what is 2
 *
 * A differential has a second block, the self weights of the base as recorded: a number a node.
 *
 * In both a line feed stands before node 65536, 131072 ... Weights are divided by their greatest
 * common divisor, which the meta block tells: those of regular samples become 1 mostly.
 */
#include "export/html/html.h"

#define UP_MOST 29u
#define LINE 65536u

void fm_html_symbol(struct fm_out *out, unsigned symbol)
{
    static const char set[] = "!\"#$%'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
                              "abcdefghijklmnopqrstuvwxyz{|}~";
    fm_assert(sizeof set == FM_HTML_SYMBOLS + 1 && symbol < FM_HTML_SYMBOLS);
    fm_out_char(out, set[symbol]);
}

void fm_html_number(struct fm_out *out, fm_u128 v)
{
    const unsigned more = FM_HTML_SYMBOLS - FM_HTML_LAST;
    while (v >= FM_HTML_LAST) {
        v -= FM_HTML_LAST;
        fm_html_symbol(out, FM_HTML_LAST + (unsigned)(v % more));
        v /= more;
    }
    fm_html_symbol(out, (unsigned)v);
}

/* The greatest common divisor; of 0 and a number the number. */
static fm_u128 common(fm_u128 a, fm_u128 b)
{
    if (b != 0 && a % b == 0)
        return b;
    while (b != 0) {
        fm_u128 rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void fm_html_find_scale(struct fm_html *h)
{
    const struct fm_call_base *base = h->tree->base;
    fm_u128 scale = 0;
    uint32_t i;
    for (i = 0; i < h->tree->nodes && scale != 1; i++) {
        scale = common(h->tree->node[i].self, scale);
        if (base != NULL)
            scale = common(base[i].self, scale);
    }
    h->scale = scale > 0 ? scale : 1;
}

void fm_html_write_nodes(struct fm_html *h)
{
    const struct fm_call_node *node = h->tree->node;
    struct fm_out *out = h->out;
    uint32_t i, before = 0;
    if (h->tree->nodes == 0)
        return;
    fm_html_number(out, node[0].self / h->scale);
    for (i = 1; i < h->tree->nodes; i++) {
        uint32_t up = before + 1 - node[i].depth;
        fm_u128 self = node[i].self / h->scale;
        fm_assert(node[i].depth >= 1 && node[i].depth <= before + 1);
        if (i % LINE == 0)
            fm_out_char(out, '\n');
        fm_html_symbol(out, FM_MIN(up, UP_MOST) * 3 + (self > 1 ? 2 : (unsigned)self));
        if (up >= UP_MOST)
            fm_html_number(out, up - UP_MOST);
        fm_html_number(out, h->number[node[i].label] - 1);
        if (self > 1)
            fm_html_number(out, self);
        before = node[i].depth;
    }
}

void fm_html_write_base(struct fm_html *h)
{
    uint32_t i;
    for (i = 0; i < h->tree->nodes; i++) {
        if (i > 0 && i % LINE == 0)
            fm_out_char(h->out, '\n');
        fm_html_number(h->out, h->tree->base[i].self / h->scale);
    }
}
