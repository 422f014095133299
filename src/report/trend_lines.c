/*
 * trend_lines.c - a value a file, in the order of lines and times, and the gate of every line.
 *
 *     table of the plan --rows of a file that fit--> value --`by`--> line --time--> its place
 *
 * The value is that of the first row that fits and has one, or the sum of all. A file without one
 * stays, as a gap. The time is the recording's start or a label. Starts: when some are of the wall
 * clock, others are no times. Labels: dates when all are, else texts.
 */
#include "report/trend_inner.h"

#include "report/axis.h"
#include "util/error.h"
#include "util/text.h"

#include <math.h>
#include <stdlib.h>

static const char *file_text(const struct fm_report *report, const struct fm_report_file *file,
                             const char *column)
{
    for (size_t i = 0; i < report->plan->label_count; i++)
        if (strcmp(report->plan->label[i], column) == 0)
            return file->label[i];
    if (strcmp(column, "format") == 0)
        return file->format;
    if (strcmp(column, "host") == 0)
        return file->host;
    if (strcmp(column, "status") == 0)
        return file->status;
    return strcmp(column, "file") == 0 ? file->name : NULL;
}

/* ------------------------------------------------------------------- dates */

/* So many digits, least <= value <= most. */
static bool take_digits(const char **s, size_t n, unsigned least, unsigned most, unsigned *v)
{
    *v = 0;
    for (size_t i = 0; i < n; i++) {
        if ((*s)[i] < '0' || (*s)[i] > '9')
            return false;
        *v = *v * 10 + (unsigned)((*s)[i] - '0');
    }
    *s += n;
    return *v >= least && *v <= most;
}

static bool take_clock(const char **s, int64_t *seconds)
{
    static const unsigned worth[] = {3600, 60, 1};

    *seconds = 0;
    for (int i = 0; i < 3 && **s != '\0' && **s != 'Z'; i++) {
        unsigned part;

        if (i > 0 && (**s == ':' || **s == '-'))
            ++*s;
        if (!take_digits(s, 2, 0, i == 0 ? 23 : 59, &part))
            return false;
        *seconds += (int64_t)part * worth[i];
    }
    if (**s == 'Z')
        ++*s;
    return true;
}

bool fm_report_date(const char *s, int64_t *ns)
{
    unsigned year, month, day;
    int64_t seconds = 0;
    bool parted;

    if (!take_digits(&s, 4, 1678, 2261, &year))
        return false;
    parted = *s == '-';
    s += parted;
    if (!take_digits(&s, 2, 1, 12, &month) || (parted && *s != '-'))
        return false;
    s += parted;
    if (!take_digits(&s, 2, 1, 31, &day))
        return false;
    if (*s != '\0' && strchr("T_ -", *s) != NULL) {
        s++;
        if (!take_clock(&s, &seconds))
            return false;
    }
    *ns = fm_axis_date(year, month, day) + seconds * 1000000000;
    return *s == '\0';
}

/* ------------------------------------------------------------------ values */

static void add_cell(struct fm_report_entry *e, const char *cell)
{
    int64_t i;
    double d;

    if (cell == NULL || !fm_text_f64(cell, strlen(cell), &d) || !isfinite(d))
        return;
    if (isnan(e->value)) {
        e->value = 0;
        e->whole = true;
    }
    e->value += d;
    if (!fm_text_i64(cell, strlen(cell), &i) || !fm_add_i64(e->number, i, &e->number))
        e->whole = false;
}

static void take_values(const struct fm_report *report, const struct fm_report_trend *t,
                        size_t column, struct fm_report_entry *entry)
{
    const struct fm_report_table *table = &report->table[t->table];

    for (size_t row = 0; row < table->rows; row++) {
        struct fm_report_entry *e = &entry[table->file[row]];

        if ((t->sum || isnan(e->value)) && fm_report_fits(table, row, t->match, t->matches))
            add_cell(e, table->cell[row * table->columns + column]);
    }
}

static enum fm_report_side side_of(const struct fm_report_trend *t, const struct fm_report_file *f)
{
    if (!t->gate)
        return FM_REPORT_NEITHER;
    if (f->groups >> t->baseline & 1)
        return FM_REPORT_BASELINE;
    if (t->candidate == SIZE_MAX || (f->groups >> t->candidate & 1))
        return FM_REPORT_CANDIDATE;
    return FM_REPORT_NEITHER;
}

/* Entry i is file i at first. */
static enum fm_status take_files(const struct fm_report *report, const struct fm_report_trend *t,
                                 struct fm_report_lines *lines)
{
    size_t bytes;

    if (!fm_mul_size(report->files + 1, sizeof *lines->entry, &bytes))
        return FM_NOMEM;
    lines->entry = fm_arena_alloc(report->arena, bytes);
    for (size_t i = 0; lines->entry != NULL && i < report->files; i++) {
        struct fm_report_entry *e = &lines->entry[i];
        const char **by = fm_arena_alloc(report->arena, (t->bys + 1) * sizeof *by);

        if (by == NULL)
            return FM_NOMEM;
        for (size_t k = 0; k < t->bys; k++)
            by[k] = file_text(report, &report->file[i], t->by[k]);
        *e = (struct fm_report_entry){.file = (uint32_t)i, .by = by, .value = NAN,
                                      .side = side_of(t, &report->file[i])};
    }
    lines->n = report->files;
    return lines->entry != NULL ? FM_OK : FM_NOMEM;
}

/* Files of no known format are no recordings. */
static void drop_skipped(const struct fm_report *report, struct fm_report_lines *lines)
{
    size_t n = 0;

    for (size_t i = 0; i < lines->n; i++)
        if (strcmp(report->file[i].status, "skipped") != 0)
            lines->entry[n++] = lines->entry[i];
    lines->n = n;
}

/* ------------------------------------------------------------------- times */

static void take_starts(const struct fm_report *report, struct fm_report_lines *lines)
{
    bool any = false;

    for (size_t i = 0; i < lines->n; i++) {
        const struct fm_report_file *f = &report->file[lines->entry[i].file];

        any = any || f->has_start;
        lines->wall = lines->wall || (f->has_start && f->has_wall);
    }
    lines->timed = any;
    for (size_t i = 0; i < lines->n; i++) {
        struct fm_report_entry *e = &lines->entry[i];
        const struct fm_report_file *f = &report->file[e->file];

        e->timed = f->has_start && (f->has_wall || !lines->wall);
        e->time = e->timed ? f->start : 0;
        e->when = any ? NULL : f->name;
    }
}

static void take_labels(const struct fm_report *report, const char *label,
                        struct fm_report_lines *lines)
{
    bool dates = true, any = false;

    for (size_t i = 0; i < lines->n; i++) {
        struct fm_report_entry *e = &lines->entry[i];

        e->when = file_text(report, &report->file[e->file], label);
        e->timed = e->when != NULL && fm_report_date(e->when, &e->time);
        any = any || e->timed;
        dates = dates && (e->timed || e->when == NULL);
    }
    lines->timed = lines->wall = dates && any;
    for (size_t i = 0; i < lines->n && !lines->timed; i++)
        lines->entry[i].timed = false;
}

/* ------------------------------------------------------------------- lines */

static int compare_text(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return (a == NULL) - (b == NULL); /* what is not known stands last */
    return strcmp(a, b);
}

static int compare_lines(const struct fm_report_entry *a, const struct fm_report_entry *b,
                         size_t bys)
{
    int order = 0;

    for (size_t i = 0; i < bys && order == 0; i++)
        order = compare_text(a->by[i], b->by[i]);
    return order;
}

static int in_order(const void *x, const void *y, void *bys)
{
    const struct fm_report_entry *a = x, *b = y;
    int order = compare_lines(a, b, *(size_t *)bys);

    if (order != 0)
        return order;
    if (a->timed != b->timed)
        return a->timed ? -1 : 1;
    if (a->timed && a->time != b->time)
        return a->time < b->time ? -1 : 1;
    order = a->timed ? 0 : compare_text(a->when, b->when);
    return order != 0 ? order : (a->file > b->file) - (a->file < b->file);
}

static const char *name_line(const struct fm_report *report, const struct fm_report_trend *t,
                             const struct fm_report_entry *e)
{
    const char *name = t->bys > 0 ? NULL : "";

    for (size_t i = 0; i < t->bys; i++) {
        const char *part = e->by[i] != NULL ? e->by[i] : "(none)";

        name = i == 0 ? part : fm_arena_printf(report->arena, "%s, %s", name, part);
        if (name == NULL)
            return NULL;
    }
    return name;
}

static enum fm_status cut_lines(const struct fm_report *report, const struct fm_report_trend *t,
                                struct fm_report_lines *lines)
{
    size_t n = 0;

    for (size_t i = 0; i < lines->n; i++) {
        if (i > 0 && compare_lines(&lines->entry[i - 1], &lines->entry[i], t->bys) != 0)
            n++;
        lines->entry[i].line = (uint32_t)n;
    }
    lines->lines = lines->n > 0 ? n + 1 : 0;
    lines->line = fm_arena_alloc(report->arena, (lines->lines + 1) * sizeof *lines->line);
    if (lines->line == NULL)
        return FM_NOMEM;
    for (size_t i = 0; i < lines->n; i++) {
        struct fm_report_line *line = &lines->line[lines->entry[i].line];

        if (line->name == NULL) {
            line->from = i;
            line->name = name_line(report, t, &lines->entry[i]);
        }
        if (line->name == NULL)
            return FM_NOMEM;
        line->to = i + 1;
        line->values += !isnan(lines->entry[i].value);
    }
    return FM_OK;
}

/* ------------------------------------------------------------------- gates */

static enum fm_status judge_line(const struct fm_report *report, const struct fm_report_trend *t,
                                 const struct fm_report_lines *lines, struct fm_report_line *line)
{
    struct fm_trend_rule rule = {.k = t->sigma, .share = t->by_share, .min = t->least,
                                 .lower = t->down};
    struct fm_mem *mem = report->arena->mem;
    struct fm_trend_base base, candidate;
    size_t n = line->to - line->from, bytes = 2 * n * sizeof(double), b = 0, c = 0;
    double *v = fm_mem_alloc(mem, bytes);
    enum fm_status status;

    if (v == NULL)
        return FM_NOMEM;
    for (size_t i = line->from; i < line->to; i++) {
        if (lines->entry[i].side == FM_REPORT_BASELINE)
            v[b++] = lines->entry[i].value;
        else if (lines->entry[i].side == FM_REPORT_CANDIDATE)
            v[n + c++] = lines->entry[i].value;
    }
    status = fm_trend_baseline(mem, v, b, &base);
    if (status == FM_OK)
        status = fm_trend_baseline(mem, v + n, c, &candidate);
    if (status == FM_OK)
        fm_trend_judge(&rule, &base, candidate.n > 0 ? candidate.median : NAN, &line->trend);
    if (status == FM_OK && candidate.n > 0 && candidate.n < t->least)
        line->trend.verdict = FM_TREND_FEW;
    line->candidates = candidate.n;
    fm_mem_free(mem, v, bytes);
    return status;
}

static const char *unit_of(const struct fm_report_column *column)
{
    return column->type == FM_REPORT_SHARE ? "share" : column->unit != NULL ? column->unit : "";
}

enum fm_status fm_report_lines(const struct fm_report *report, size_t trend,
                               struct fm_report_lines *lines, struct fm_error *err)
{
    const struct fm_report_trend *t = &report->plan->trend[trend];
    const struct fm_report_table *table = &report->table[t->table];
    size_t column = fm_report_find(table, t->value), bys = t->bys;
    enum fm_status status;

    memset(lines, 0, sizeof *lines);
    lines->unit = "";
    if (table->columns > 0 && column == table->columns)
        return fm_error_set(err, FM_CONFIG, "trend '%s': table '%s' has no column '%s'", t->name,
                            table->name, t->value);
    if (table->columns > 0) {
        lines->column = &table->column[column];
        lines->unit = unit_of(lines->column);
    }
    status = take_files(report, t, lines);
    if (status != FM_OK)
        return fm_error_nomem(err);
    if (table->columns > 0)
        take_values(report, t, column, lines->entry);
    drop_skipped(report, lines);
    if (strcmp(t->time, "start") == 0)
        take_starts(report, lines);
    else
        take_labels(report, t->time, lines);
    qsort_r(lines->entry, lines->n, sizeof *lines->entry, in_order, &bys);
    status = cut_lines(report, t, lines);
    for (size_t i = 0; i < lines->lines && status == FM_OK && t->gate; i++)
        status = judge_line(report, t, lines, &lines->line[i]);
    return status == FM_OK ? FM_OK : fm_error_nomem(err);
}
