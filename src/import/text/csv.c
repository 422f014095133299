/*
 * csv.c - container `csv`: separated values, one record a line.
 *
 *     line     === Device #1 ===                          a rule of `lines`: fields that stay
 *     header   Kernel, IP[Address], Active[Events]        cell -> column by its name
 *     record   "foo<4, bar>",  0x000001b8,  2
 *
 * A quoted cell may hold the separator, and the quote doubled; it ends at its line. With
 * `from: right` surplus separators belong to the first column, whose quotes are not looked at.
 */
#include "import/text/generic.h"

#include "util/error.h"
#include "util/pattern.h"

#define MAX_CELLS 4096u
#define MAX_GROUPS 64
#define SKIP UINT32_MAX

struct cell {
    size_t from, to;                   /* of the line, quotes included */
};

struct csv {
    struct fm_generic *g;
    const struct fm_container *c;
    struct cell *cell;
    size_t cells;
    uint32_t *column;                  /* cell -> field, or SKIP */
    size_t columns;
    bool header;                       /* columns are known */
    uint64_t *set_value, *set_present; /* of lines that set fields, one of each a field */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void trim(const char *s, struct cell *cell)
{
    while (cell->from < cell->to && is_blank(s[cell->from]))
        cell->from++;
    while (cell->from < cell->to && is_blank(s[cell->to - 1]))
        cell->to--;
}

/* Cuts a line into cells. A separator that is a blank itself is not trimmed away before cutting. */
static void cut_cells(struct csv *v, const char *s, size_t n)
{
    char quote = v->c->quote;
    size_t i = 0;
    v->cells = 0;
    for (;;) {
        size_t from = i, start = i;
        while (start < n && s[start] == ' ' && v->c->separator != ' ')
            start++;
        bool quoted = quote && start < n && s[start] == quote;
        if (quoted && !(v->c->from_right && v->cells == 0)) {
            for (i = start + 1; i < n && !(s[i] == quote && (i + 1 == n || s[i + 1] != quote)); i++)
                i += s[i] == quote;
        }
        while (i < n && s[i] != v->c->separator)
            i++;
        i = FM_MIN(i, n);
        if (v->cells < MAX_CELLS)
            v->cell[v->cells++] = (struct cell){from, i};
        if (i == n)
            return;
        i++;
    }
}

/* The text of a cell: blanks and quotes off; doubled quotes become one, in g->scratch. */
static const char *cell_text(struct csv *v, const char *s, struct cell cell, size_t *n)
{
    struct fm_generic *g = v->g;
    char quote = v->c->quote;
    trim(s, &cell);
    *n = cell.to - cell.from;
    if (!quote || *n < 2 || s[cell.from] != quote || s[cell.to - 1] != quote)
        return s + cell.from;
    const char *in = s + cell.from + 1;
    *n -= 2;
    if (!memchr(in, quote, *n))
        return in;
    if (!fm_grow(g->mem, (void **)&g->scratch, &g->scratch_cap, *n, 1)) {
        g->oom = true;
        *n = 0;
        return in;
    }
    size_t out = 0;
    for (size_t i = 0; i < *n; i++) {
        g->scratch[out++] = in[i];
        i += in[i] == quote && i + 1 < *n && in[i + 1] == quote;
    }
    *n = out;
    return g->scratch;
}

/* ------------------------------------------------------------------ header */

static uint32_t find_column(const struct csv *v, const char *s, size_t n)
{
    for (uint32_t i = 0; i < v->c->fields; i++) {
        const struct fm_cfield *f = &v->c->field[i];
        for (size_t k = 0; k < f->sources; k++)
            if (strlen(f->source[k]) == n && memcmp(f->source[k], s, n) == 0)
                return i;
    }
    return SKIP;
}

static uint32_t other_column(struct csv *v, const char *s, size_t n)
{
    if (!v->c->others || n == 0)
        return SKIP;
    struct fm_cfield f = {.type = v->c->others_type, .scale = 1, .factor = 1, .trim = true};
    f.name = fm_arena_strn(&v->g->arena, s, n);
    if (!f.name)
        v->g->oom = true;
    /* After the first record the classes are declared: fields cannot be added. */
    if (!f.name || v->g->classes > 0) {
        for (uint32_t i = 0; f.name && i < v->g->fields; i++)
            if (strcmp(v->g->field[i].name, f.name) == 0)
                return i;
        return SKIP;
    }
    return fm_generic_add_field(v->g, &f);
}

/* Columns by the names in the cells; false when none of them is known. */
static bool read_header(struct csv *v, const char *s)
{
    bool any = false;
    for (size_t i = 0; i < v->cells && !any; i++) {
        size_t n;
        const char *text = cell_text(v, s, v->cell[i], &n);
        any = find_column(v, text, n) != SKIP;
    }
    if (!any)
        return false;
    v->columns = v->cells;
    for (size_t i = 0; i < v->cells; i++) {
        size_t n;
        const char *text = cell_text(v, s, v->cell[i], &n);
        v->column[i] = find_column(v, text, n);
        if (v->column[i] == SKIP)
            v->column[i] = other_column(v, text, n);
    }
    /* An empty last cell is a separator at the line's end: no column. */
    struct cell last = v->cell[v->cells - 1];
    trim(s, &last);
    if (last.from == last.to && v->columns > 1)
        v->columns--;
    return v->header = true;
}

/* A line that repeats the header begins a new section. */
static bool is_header(struct csv *v, const char *s)
{
    size_t known = 0, named = 0;
    for (size_t i = 0; i < v->cells; i++) {
        size_t n;
        const char *text = cell_text(v, s, v->cell[i], &n);
        known += n > 0 && find_column(v, text, n) != SKIP;
    }
    for (size_t i = 0; i < v->columns; i++)
        named += v->column[i] < v->c->fields;
    return known > 0 && known >= named;
}

/* ------------------------------------------------------------------ records */

static bool is_missing(const struct csv *v, const char *s, size_t n)
{
    for (size_t i = 0; i < v->c->missings; i++)
        if (strlen(v->c->missing[i]) == n && memcmp(v->c->missing[i], s, n) == 0)
            return true;
    return false;
}

/* Fields of the lines above, for a record that begins. */
static void take_set(struct csv *v)
{
    fm_generic_clear(v->g);
    for (uint32_t i = 0; v->c->lines && i < v->c->fields; i++)
        if (v->set_present[i])
            fm_generic_lane(v->g, i, v->set_value[i]);
}

/* True when a rule says what the line is. */
static bool is_beside(struct csv *v, const char *s, size_t n, uint64_t offset)
{
    struct fm_generic *g = v->g;
    size_t at[2 * MAX_GROUPS];
    for (size_t i = 0; i < v->c->lines; i++) {
        const struct fm_line_rule *r = &v->c->line[i];
        if (!fm_pattern_captures(r->match, s, n, 0, at, MAX_GROUPS))
            continue;
        fm_generic_clear(g);
        for (size_t k = 0; r->what == FM_LINE_SET && k < r->captures; k++) {
            uint32_t f = r->capture[k].field, group = r->capture[k].group;
            if (group < MAX_GROUPS && at[2 * group] != SIZE_MAX)
                fm_generic_text(g, f, s + at[2 * group], at[2 * group + 1] - at[2 * group], offset);
            v->set_present[f] = g->present[f >> 6] >> (f & 63) & 1;
            v->set_value[f] = g->value[f];
        }
        return true;
    }
    return false;
}

static void read_record(struct csv *v, const char *s, size_t n, uint64_t offset)
{
    struct fm_generic *g = v->g;
    size_t cells = v->cells, first = 0;
    struct cell tail = v->cell[cells - 1];
    trim(s, &tail);
    if (cells > v->columns && tail.from == tail.to)
        cells--;
    if (v->c->from_right && cells > v->columns) {
        first = cells - v->columns;
        v->cell[first].from = v->cell[0].from;
    }
    if (cells < v->columns && (v->c->from_right || cells == 1)) {
        fm_builder_diag(g->builder, FM_DIAG_BAD_LINE, offset, 1);
        return;
    }
    take_set(v);
    for (size_t i = 0; i < v->columns && first + i < cells; i++) {
        size_t len;
        if (v->column[i] == SKIP)
            continue;
        const char *text = cell_text(v, s, v->cell[first + i], &len);
        if (!is_missing(v, text, len))
            fm_generic_text(g, v->column[i], text, len, offset);
    }
    fm_assert(v->cell[0].to <= n);
    fm_generic_emit(g, NULL, offset);
}

static void take_line(void *user, const char *s, size_t n, uint64_t number, uint64_t offset)
{
    struct csv *v = user;
    const struct fm_container *c = v->c;
    size_t blank = 0, comment = c->comment ? strlen(c->comment) : 0;
    while (blank < n && is_blank(s[blank]))
        blank++;
    if (blank == n || (comment && n >= comment && memcmp(s, c->comment, comment) == 0))
        return;
    if (is_beside(v, s, n, offset))
        return;
    cut_cells(v, s, n);
    if (!v->header) {
        bool here = c->header_line == UINT32_MAX || number >= c->header_line;
        if (here && !read_header(v, s) && c->header_line != UINT32_MAX) {
            fm_builder_diag(v->g->builder, FM_DIAG_BAD_LINE, offset, 1);
            v->header = true;          /* no column is known: every line says so */
        }
        return;
    }
    if (c->header_line != 0 && is_header(v, s)) {
        read_header(v, s);
        return;
    }
    if (v->columns == 0)
        fm_builder_diag(v->g->builder, FM_DIAG_BAD_LINE, offset, 1);
    else
        read_record(v, s, n, offset);
}

enum fm_status fm_generic_csv(struct fm_generic *g, struct fm_error *err)
{
    struct csv v = {.g = g, .c = g->c};
    v.cell = fm_arena_alloc(&g->arena, MAX_CELLS * sizeof *v.cell);
    v.column = fm_arena_alloc(&g->arena, MAX_CELLS * sizeof *v.column);
    v.set_value = fm_arena_alloc(&g->arena, (g->c->fields + 1) * sizeof *v.set_value);
    v.set_present = fm_arena_alloc(&g->arena, (g->c->fields + 1) * sizeof *v.set_present);
    if (!v.cell || !v.column || !v.set_value || !v.set_present)
        return fm_error_nomem(err);
    if (g->c->header_line == 0) {
        v.header = true;
        v.columns = g->c->columns;
        for (uint32_t i = 0; i < v.columns; i++)
            v.column[i] = i;
    }
    return fm_generic_each_line(g, take_line, &v, err);
}
