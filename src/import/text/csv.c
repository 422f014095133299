/*
 * csv.c - container `csv`: separated values, one record a line.
 *
 *     line     === Device #1 ===                          a rule of `lines`: fields that stay
 *     header   Kernel, IP[Address], Active[Events]        cell -> column by its name
 *     record   "foo<4, bar>",  0x000001b8,  2
 *
 * A quoted cell may hold the separator, and the quote doubled; it ends at its line. With
 * `from: right` surplus separators belong to the first column, whose quotes are not looked at.
 *
 * With `tables` the cells of a header say which table begins. With `others: {class: …}` a cell of a
 * column without an entry is a record of its own. A line of `groups` stands above the header, its
 * names right-aligned over their columns:
 *
 *     groups    Freq MHz      IRQ RC6             RCS      Freq MHz req, Freq MHz act, IRQ /s,
 *     header    req  act       /s   %       %  se  wa      RC6 %, RCS %, RCS se, RCS wa
 */
#include "import/text/generic.h"

#include "util/error.h"
#include "util/pattern.h"

#define MAX_CELLS 4096u
#define MAX_GROUPS 64
#define SKIP UINT32_MAX
#define OTHER (UINT32_MAX - 1)

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
    uint64_t *name, *unit;             /* of columns that are OTHER: texts */
    char separator;
    bool header;                       /* columns are known */
    const char *class;                 /* of the table, or NULL */
    char *group;                       /* the line of groups right above, copied */
    size_t group_n, group_cap;
    char *full;                        /* a group's name and a column's */
    size_t full_cap;
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
static void cut_blanks(struct csv *v, const char *s, size_t n)
{
    v->cells = 0;
    for (size_t i = 0; i < n;) {
        size_t from = i;
        while (i < n && is_blank(s[i]) == is_blank(s[from]))
            i++;
        if (!is_blank(s[from]) && v->cells < MAX_CELLS)
            v->cell[v->cells++] = (struct cell){from, i};
    }
    if (v->cells == 0)
        v->cell[v->cells++] = (struct cell){0, 0};
}

static void cut_cells(struct csv *v, const char *s, size_t n)
{
    char quote = v->c->quote;
    size_t i = 0;
    if (v->separator == FM_BLANKS) {
        cut_blanks(v, s, n);
        return;
    }
    v->cells = 0;
    for (;;) {
        size_t from = i, start = i;
        while (start < n && s[start] == ' ' && v->separator != ' ')
            start++;
        bool quoted = quote && start < n && s[start] == quote;
        if (quoted && !(v->c->from_right && v->cells == 0)) {
            for (i = start + 1; i < n && !(s[i] == quote && (i + 1 == n || s[i + 1] != quote)); i++)
                i += s[i] == quote;
        }
        while (i < n && s[i] != v->separator)
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
    if (v->c->others_class)
        return n > 0 ? OTHER : SKIP;
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

/* The words of the group line that end over columns (from, to]. */
static struct cell group_words(const struct csv *v, size_t from, size_t to)
{
    const char *s = v->group;
    struct cell at = {FM_MIN(from, v->group_n), FM_MIN(to, v->group_n)};
    while (at.from > 0 && !is_blank(s[at.from - 1]) && at.from < at.to && !is_blank(s[at.from]))
        at.from--;
    if (at.to < v->group_n && !is_blank(s[at.to]))
        while (at.to > at.from && !is_blank(s[at.to - 1]))
            at.to--;
    trim(s, &at);
    return at;
}

/* The group above cell i: its last word ends over the cell, or over one right of it. */
static const char *group_text(const struct csv *v, size_t i, size_t *n)
{
    size_t from = i > 0 ? v->cell[i - 1].to : 0;
    for (*n = 0; i < v->cells; i++) {
        struct cell at = group_words(v, from, v->cell[i].to);
        from = v->cell[i].to;
        *n = at.to - at.from;
        if (*n > 0)
            return v->group + at.from;
    }
    return "";
}

/* The name in cell i of a header. */
static const char *header_text(struct csv *v, const char *s, size_t i, size_t *n)
{
    struct fm_generic *g = v->g;
    size_t group_n;
    const char *text = cell_text(v, s, v->cell[i], n);
    if (v->group_n == 0)
        return text;
    const char *group = group_text(v, i, &group_n);
    if (!fm_grow(g->mem, (void **)&v->full, &v->full_cap, group_n + *n + 1, 1)) {
        g->oom = true;
        return text;
    }
    memcpy(v->full, group, group_n);
    v->full[group_n] = ' ';
    memcpy(v->full + group_n + 1, text, *n);
    *n += group_n + 1;
    return v->full;
}

/* "Name[unit]" or "Name (unit)" of a column that is OTHER. */
static void name_other(struct csv *v, size_t column, const char *s, size_t n)
{
    struct fm_builder *b = v->g->builder;
    char open = n > 0 && s[n - 1] == ']' ? '[' : n > 0 && s[n - 1] == ')' ? '(' : '\0';
    const char *at = open ? memrchr(s, open, n) : NULL;
    size_t name_n = at && at > s ? (size_t)(at - s) : n;
    size_t unit_n = name_n < n ? n - name_n - 2 : 0;
    v->unit[column] = fm_builder_str(b, s + n - 1 - unit_n, unit_n);
    while (name_n > 0 && is_blank(s[name_n - 1]))
        name_n--;
    v->name[column] = fm_builder_str(b, s, name_n);
    v->g->oom |= v->name[column] == FM_NONE || v->unit[column] == FM_NONE;
}

static void read_columns(struct csv *v, const char *s)
{
    v->columns = v->cells;
    for (size_t i = 0; i < v->cells; i++) {
        size_t n;
        const char *text = header_text(v, s, i, &n);
        v->column[i] = find_column(v, text, n);
        if (v->column[i] == SKIP)
            v->column[i] = other_column(v, text, n);
        if (v->column[i] == OTHER)
            name_other(v, i, text, n);
    }
    /* An empty last cell is a separator at the line's end: no column. */
    struct cell last = v->cell[v->cells - 1];
    trim(s, &last);
    if (last.from == last.to && v->columns > 1)
        v->columns--;
    v->header = true;
}

/* True when all names are cells of the line. */
static bool has_cells(struct csv *v, const char *s, const struct fm_table *t)
{
    for (size_t k = 0; k < t->headers; k++) {
        size_t i = 0, n, want = strlen(t->header[k]);
        for (; i < v->cells; i++) {
            const char *text = cell_text(v, s, v->cell[i], &n);
            if (n == want && memcmp(text, t->header[k], n) == 0)
                break;
        }
        if (i == v->cells)
            return false;
    }
    return true;
}

/* A line that begins one of `tables`. */
static bool begins_table(struct csv *v, const char *s)
{
    for (size_t i = 0; i < v->c->tables; i++) {
        if (!has_cells(v, s, &v->c->table[i]))
            continue;
        v->class = v->c->table[i].class;
        read_columns(v, s);
        return true;
    }
    return false;
}

/* Columns by the names in the cells; false when none of them is known. The first header tells
 * which separator the input has. */
static bool read_header(struct csv *v, const char *s, size_t n)
{
    for (size_t k = 0; k < v->c->separators; k++) {
        v->separator = v->c->separator[k];
        cut_cells(v, s, n);
        bool any = false;
        for (size_t i = 0; i < v->cells && !any && !v->c->tables; i++) {
            size_t len;
            const char *text = header_text(v, s, i, &len);
            any = find_column(v, text, len) != SKIP;
        }
        if (any)
            read_columns(v, s);
        if (any || (v->c->tables && begins_table(v, s)))
            return true;
    }
    return false;
}

/* A line that repeats the header, or begins another table. */
static bool is_header(struct csv *v, const char *s)
{
    if (v->c->tables)
        return begins_table(v, s);
    size_t known = 0, named = 0;
    for (size_t i = 0; i < v->cells; i++) {
        size_t n;
        const char *text = header_text(v, s, i, &n);
        known += n > 0 && find_column(v, text, n) != SKIP;
    }
    for (size_t i = 0; i < v->columns; i++)
        named += v->column[i] < v->c->fields;
    if (known == 0 || known < named)
        return false;
    read_columns(v, s);
    return true;
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

/* Cells of columns that are OTHER: a record each, with the fields of their line. */
static void read_others(struct csv *v, const char *s, size_t first, size_t cells, uint64_t offset)
{
    struct fm_generic *g = v->g;
    const struct fm_container *c = v->c;
    for (size_t i = 0; i < v->columns && first + i < cells; i++) {
        size_t len;
        if (v->column[i] != OTHER)
            continue;
        const char *text = cell_text(v, s, v->cell[first + i], &len);
        uint64_t unit = v->unit[i], *word = &g->present[c->other_value >> 6];
        if (len == 0 || is_missing(v, text, len))
            continue;
        if (unit == 0 && text[len - 1] == '%')
            unit = fm_builder_str(g->builder, "%", 1);
        if (unit == FM_NONE || v->name[i] == FM_NONE) {
            g->oom = true;
            return;
        }
        *word &= ~(UINT64_C(1) << (c->other_value & 63));
        fm_generic_text(g, c->other_value, text, len, offset);
        if (!(*word >> (c->other_value & 63) & 1))
            continue;
        fm_generic_lane(g, c->other_column, v->name[i]);
        fm_generic_lane(g, c->other_unit, unit);
        fm_generic_emit(g, c->others_class, offset);
    }
}

/* A line that is no record: damage, or the profiled program's own. */
static void refuse(struct csv *v, uint64_t offset)
{
    fm_builder_diag(v->g->builder,
                    v->c->unmatched == FM_UNMATCHED_BAD ? FM_DIAG_BAD_LINE : FM_DIAG_OTHER_LINE,
                    offset, 1);
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
    bool all = v->c->from_right || v->separator == FM_BLANKS;
    if ((cells < v->columns && (all || cells == 1)) ||
        (cells > v->columns && v->separator == FM_BLANKS)) {
        refuse(v, offset);
        return;
    }
    take_set(v);
    for (size_t i = 0; i < v->columns && first + i < cells; i++) {
        size_t len;
        if (v->column[i] >= OTHER)
            continue;
        const char *text = cell_text(v, s, v->cell[first + i], &len);
        if (!is_missing(v, text, len))
            fm_generic_text(g, v->column[i], text, len, offset);
    }
    fm_assert(v->cell[0].to <= n);
    fm_generic_emit(g, v->class, offset);
    if (v->c->others_class)
        read_others(v, s, first, cells, offset);
}

static bool is_groups(struct csv *v, const char *s, size_t n)
{
    if (!v->c->groups || !fm_pattern_match(v->c->groups, s, n))
        return false;
    if (!fm_grow(v->g->mem, (void **)&v->group, &v->group_cap, n + 1, 1)) {
        v->g->oom = true;
        return true;
    }
    memcpy(v->group, s, n);
    v->group_n = n;
    return true;
}

static void take_cells(struct csv *v, const char *s, size_t n, uint64_t number, uint64_t offset)
{
    const struct fm_container *c = v->c;
    if (!v->header) {
        bool here = c->header_line == UINT32_MAX || number >= c->header_line;
        if (here && !read_header(v, s, n) && c->header_line != UINT32_MAX) {
            fm_builder_diag(v->g->builder, FM_DIAG_BAD_LINE, offset, 1);
            v->header = true;          /* no column is known: every line says so */
        }
        return;
    }
    cut_cells(v, s, n);
    if (c->header_line != 0 && is_header(v, s))
        return;
    if (v->columns == 0)
        fm_builder_diag(v->g->builder, FM_DIAG_BAD_LINE, offset, 1);
    else
        read_record(v, s, n, offset);
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
    if (is_beside(v, s, n, offset) || is_groups(v, s, n))
        return;
    take_cells(v, s, n, number, offset);
    v->group_n = 0;
}

enum fm_status fm_generic_csv(struct fm_generic *g, struct fm_error *err)
{
    struct csv v = {.g = g, .c = g->c};
    v.cell = fm_arena_alloc(&g->arena, MAX_CELLS * sizeof *v.cell);
    v.column = fm_arena_alloc(&g->arena, MAX_CELLS * sizeof *v.column);
    v.set_value = fm_arena_alloc(&g->arena, (g->c->fields + 1) * sizeof *v.set_value);
    v.set_present = fm_arena_alloc(&g->arena, (g->c->fields + 1) * sizeof *v.set_present);
    v.name = fm_arena_alloc(&g->arena, MAX_CELLS * sizeof *v.name);
    v.unit = fm_arena_alloc(&g->arena, MAX_CELLS * sizeof *v.unit);
    if (!v.cell || !v.column || !v.set_value || !v.set_present || !v.name || !v.unit)
        return fm_error_nomem(err);
    v.separator = g->c->separator[0];
    if (g->c->header_line == 0) {
        v.header = true;
        v.columns = g->c->columns;
        for (uint32_t i = 0; i < v.columns; i++)
            v.column[i] = i;
    }
    enum fm_status status = fm_generic_each_line(g, take_line, &v, err);
    if (v.group)
        fm_mem_free(g->mem, v.group, v.group_cap);
    if (v.full)
        fm_mem_free(g->mem, v.full, v.full_cap);
    return status;
}
