/*
 * plain.c - the HTML report without its script: what was measured, and the functions of most self
 * weight as a table. Servers that forbid inline script, mail readers and previews show it.
 *
 * Totals count a function once where it calls itself: a node counts when it lies behind the subtree
 * of the last one of its function that counted. Names that differ in their annotation alone are one
 * function. Ties go by total, then by number of name.
 */
#include "export/html/html.h"

#include "util/error.h"

#define ROWS 20u

struct sums {
    uint32_t same;           /* the first name of this function; sums stand there */
    fm_u128 self, total;
    uint32_t until;          /* end of the last subtree that counted */
};

struct table {
    uint32_t row[ROWS];      /* numbers of names, the heaviest first */
    size_t rows;
};

/* False: no memory. */
static bool find_same(const struct fm_html *h, struct sums *sums)
{
    struct fm_store *store = h->export->sel->store;
    struct fm_map first;
    bool good = true, fresh;
    size_t i, n;
    fm_map_init(&first, h->mem);
    for (i = 0; i < h->names && good; i++) {
        fm_str label = h->name[i].label;
        const char *s = fm_store_str(store, label, &n);
        size_t bare = fm_html_bare(h, s, n);
        uint64_t *at;
        if (bare < n)
            label = fm_store_str_add(store, s, bare);
        at = label != FM_NONE ? fm_map_put(&first, label, &fresh) : NULL;
        good = at != NULL;
        if (good && fresh)
            *at = i;
        if (good)
            sums[i].same = (uint32_t)*at;
    }
    fm_map_release(&first);
    return good;
}

static void add_up(const struct fm_html *h, struct sums *sums)
{
    const struct fm_call_node *node = h->tree->node;
    uint32_t i;
    for (i = 1; i < h->tree->nodes; i++) {
        struct sums *s = &sums[sums[h->number[node[i].label] - 1].same];
        s->self += node[i].self;
        if (i < s->until)
            continue;
        s->until = node[i].end;
        s->total += node[i].total;
    }
}

static bool heavier(const struct sums *a, const struct sums *b)
{
    return a->self != b->self ? a->self > b->self : a->total > b->total;
}

static void choose(struct table *table, const struct sums *sums, size_t names)
{
    uint32_t i;
    table->rows = 0;
    for (i = 0; i < names; i++) {
        size_t at = table->rows;
        if (sums[i].total == 0 ||
            (at == ROWS && !heavier(&sums[i], &sums[table->row[ROWS - 1]])))
            continue;
        if (at == ROWS)
            at--;
        else
            table->rows++;
        for (; at > 0 && heavier(&sums[i], &sums[table->row[at - 1]]); at--)
            table->row[at] = table->row[at - 1];
        table->row[at] = i;
    }
}

static void put_weight(struct fm_html *h, fm_u128 v)
{
    fm_u128 whole = h->tree->node[0].total;
    fm_out_text(h->out, "<td class=\"fm-num\">");
    fm_out_u128(h->out, v);
    fm_out_text(h->out, "</td><td class=\"fm-num\">");
    fm_out_fixed(h->out, whole > 0 ? 100 * (double)v / (double)whole : 0, 2);
    fm_out_text(h->out, "%</td>");
}

static void put_table(struct fm_html *h, const struct table *table, const struct sums *sums)
{
    size_t i, n;
    fm_out_text(h->out, "<table>\n<tr><th>self</th><th></th><th>total</th><th></th>"
                        "<th>function</th></tr>\n");
    for (i = 0; i < table->rows; i++) {
        const struct sums *s = &sums[table->row[i]];
        const char *name = fm_store_str(h->export->sel->store, h->name[table->row[i]].label, &n);
        fm_out_text(h->out, "<tr>");
        put_weight(h, s->self);
        put_weight(h, s->total);
        fm_out_text(h->out, "<td>");
        fm_out_xml(h->out, name, fm_html_bare(h, name, n));
        fm_out_text(h->out, "</td></tr>\n");
    }
    fm_out_text(h->out, "</table>\n");
}

enum fm_status fm_html_write_plain(struct fm_html *h, struct fm_error *err)
{
    struct sums *sums = fm_mem_zalloc(h->mem, h->names * sizeof *sums);
    struct table table;
    if (sums == NULL)
        return fm_error_nomem(err);
    if (!find_same(h, sums)) {
        fm_mem_free(h->mem, sums, h->names * sizeof *sums);
        return fm_error_nomem(err);
    }
    add_up(h, sums);
    choose(&table, sums, h->names);
    fm_out_text(h->out, "<div id=\"fm-plain\"><h1>");
    fm_out_xml(h->out, h->export->title, strlen(h->export->title));
    fm_out_text(h->out, "</h1>\n<p>");
    fm_out_u128(h->out, h->tree->node[0].total);
    fm_out_char(h->out, ' ');
    fm_out_xml(h->out, h->unit, strlen(h->unit));
    fm_out_text(h->out, " in ");
    fm_out_u64(h->out, h->export->sel->samples);
    fm_out_text(h->out, " samples. The page draws them where its script runs, which it does not in "
                        "this viewer; the functions of most weight of their own:</p>\n");
    put_table(h, &table, sums);
    fm_out_text(h->out, "</div>\n<div id=\"fm-app\"></div>\n");
    fm_mem_free(h->mem, sums, h->names * sizeof *sums);
    return FM_OK;
}
