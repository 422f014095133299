/*
 * html.h - what the files that write the HTML report share: symbols, numbers, and the parts.
 *
 * The page is one file:
 *
 *     <head>  policy (hashes of the one script and the one style), title, style
 *     <body>  the heaviest functions, for readers without script       plain.c
 *             <script type="text/plain" id="fm-meta">    JSON          meta.c
 *             <script type="text/plain" id="fm-names">   one a line    names.c
 *             <script type="text/plain" id="fm-nodes">   symbols       nodes.c
 *             <script type="text/plain" id="fm-base">    symbols       nodes.c, differentials only
 *             <script type="text/plain" id="fm-scope">   symbols       scope.c, with times only
 *             <script>  the files of page/, one after the other
 *
 * A block of type text/plain is never run. What stands in it holds no '<' at all, so that no name
 * ends it or opens a comment: JSON has < as an escape, names as \3c; and symbols have none.
 *
 * A symbol is one of 91 printable characters: '!' to '~' but for '<', '>' and '&'. A number is
 * written as digits, the least first, with 45 symbols that end it and 46 that go on:
 *
 *     v < 45       one symbol, v
 *     v >= 45      symbol 45 + (v - 45) % 46, then the number (v - 45) / 46
 *
 * so that a reader sums symbol * 46^k: one symbol to 44, two to 2,114, three to 97,334.
 */
#ifndef FM_EXPORT_HTML_HTML_H
#define FM_EXPORT_HTML_HTML_H

#include "export/export.h"

#define FM_HTML_SYMBOLS 91
#define FM_HTML_LAST 45     /* symbols that end a number */

struct fm_html_name {
    const struct fm_store *store;
    fm_str label;
    uint32_t uses, node;     /* nodes of that name, the first of them */
};

/* Rows of one event on one thread, in time order. */
struct fm_html_track {
    uint32_t source, event;
    fm_thread thread;        /* FM_NONE: unknown */
    uint64_t rows;
};

struct fm_html_scope {
    bool timed, left_out;    /* left_out: too many rows, and nobody asked */
    int64_t start;           /* ns, the smallest time */
    uint64_t tick, scale;    /* ns a tick; what weights are divided by */
    uint64_t rows, untimed;
    fm_u128 untimed_weight;
    struct fm_html_track *track;
    size_t tracks, track_cap;
};

struct fm_html {
    struct fm_export *export;
    struct fm_out *out;
    const struct fm_calltree *tree;
    struct fm_mem *mem;
    int palette;
    bool hash;
    struct fm_color_rules *rules;   /* of a file, or NULL: the palette */
    struct fm_arena arena;          /* for them */
    const char *unit;        /* of the weight, as shown */
    fm_u128 scale;           /* weights are stored divided by it: their common divisor, >= 1 */
    /* names.c: */
    uint32_t *number;        /* label (fm_str) -> number of the name + 1 */
    size_t strings;
    struct fm_html_name *name;
    size_t names, name_cap;
    /* tables that names.c fills and meta.c writes: */
    struct fm_html_table {
        struct fm_map of;    /* text -> place */
        fm_str *text;
        size_t n, cap;
    } file, module;
    bool with_scope, scope_asked;
    struct fm_html_scope scope;
};

void fm_html_symbol(struct fm_out *out, unsigned symbol);
void fm_html_number(struct fm_out *out, fm_u128 v);
/* A text of one line without '<': control bytes, '<', '>', '&', '\', U+2028 and U+2029 as a
 * backslash, hex digits and ';', what is no UTF-8 as U+FFFD. */
void fm_html_text(struct fm_out *out, const char *s, size_t n);

/* names.c: the length of a label without its annotation, unless that was asked for. */
size_t fm_html_bare(const struct fm_html *h, const char *s, size_t n);
/* Numbers the labels of the tree, the frequent ones first; writes them. */
enum fm_status fm_html_number_names(struct fm_html *h, struct fm_error *err);
enum fm_status fm_html_write_names(struct fm_html *h, struct fm_error *err);
void fm_html_release_names(struct fm_html *h);

/* nodes.c: finds the scale; writes the tree, and what its nodes weigh in a base. */
void fm_html_find_scale(struct fm_html *h);
void fm_html_write_nodes(struct fm_html *h);
void fm_html_write_base(struct fm_html *h);

/* plain.c: writes what is read where the script does not run. */
enum fm_status fm_html_write_plain(struct fm_html *h, struct fm_error *err);

/* scope.c: writes the rows with a time, unless they are very many and not asked for; then what the
 * meta block says of them. */
enum fm_status fm_html_write_scope(struct fm_html *h, bool asked, struct fm_error *err);
void fm_html_scope_meta(struct fm_html *h, struct fm_out *out);
void fm_html_release_scope(struct fm_html *h);

/* meta.c: writes what else there is to know. */
enum fm_status fm_html_write_meta(struct fm_html *h, struct fm_error *err);

#endif
