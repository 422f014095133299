/*
 * trend_table.c - a trend as a table of the report, and its verdicts.
 *
 * Columns: those of `by`, the time (of wall clocks, ns, or a text), file, value; with a gate side
 * ("baseline", "candidate" or null), baseline (the median), limit, change (of this value from that
 * median) and verdict, which is the line's and stands with its candidates.
 */
#include "report/trend_inner.h"

#include "report/axis.h"
#include "util/error.h"

#include <math.h>
#include <stdio.h>

/* A number as CSV prints it, in the arena; NULL: null, or no memory (arena->oom). */
static const char *number(struct fm_arena *arena, double v)
{
    struct fm_out out;
    const char *text = NULL;

    if (!isfinite(v))
        return NULL;
    if (fm_out_init(&out, arena->mem, NULL) != FM_OK) {
        arena->oom = true;
        return NULL;
    }
    fm_out_f64(&out, v);
    if (out.status == FM_OK)
        text = fm_arena_strn(arena, out.buf, out.n);
    else
        arena->oom = true;
    fm_out_release(&out);
    return text;
}

static const char *whole(struct fm_arena *arena, int64_t v)
{
    return fm_arena_printf(arena, "%lld", (long long)v);
}

/* --------------------------------------------------------------- its table */

static struct fm_report_column *make_columns(const struct fm_report *report,
                                             const struct fm_report_trend *t,
                                             const struct fm_report_lines *lines, size_t *n)
{
    struct fm_report_column *column =
        fm_arena_alloc(report->arena, (t->bys + 8) * sizeof *column), *c = column;
    enum fm_report_type type = lines->column->type;
    const char *unit = lines->column->unit != NULL ? lines->column->unit : "";

    if (column == NULL)
        return NULL;
    for (size_t i = 0; i < t->bys; i++)
        *c++ = (struct fm_report_column){t->by[i], FM_REPORT_TEXT, "", true};
    *c++ = (struct fm_report_column){t->time,
                                     !lines->timed ? FM_REPORT_TEXT
                                     : lines->wall ? FM_REPORT_WALL
                                                   : FM_REPORT_NUMBER,
                                     lines->timed && !lines->wall ? "ns" : "", true};
    *c++ = (struct fm_report_column){"file", FM_REPORT_TEXT, "", true};
    *c++ = (struct fm_report_column){t->value, type, unit, false};
    if (t->gate) {
        *c++ = (struct fm_report_column){"side", FM_REPORT_TEXT, "", false};
        *c++ = (struct fm_report_column){"baseline", type, unit, false};
        *c++ = (struct fm_report_column){"limit", type, unit, false};
        *c++ = (struct fm_report_column){"change", FM_REPORT_SHARE, "", false};
        *c++ = (struct fm_report_column){"verdict", FM_REPORT_TEXT, "", false};
    }
    *n = (size_t)(c - column);
    return column;
}

static void put_gate_cells(struct fm_arena *arena, const struct fm_report_entry *e,
                           const struct fm_trend *trend, const char **cell)
{
    double median = trend->base.median;
    bool known = trend->base.n > 0;

    cell[0] = e->side == FM_REPORT_BASELINE    ? "baseline"
              : e->side == FM_REPORT_CANDIDATE ? "candidate"
                                               : NULL;
    cell[1] = known ? number(arena, median) : NULL;
    cell[2] = known ? number(arena, trend->limit) : NULL;
    cell[3] = known && median != 0 ? number(arena, (e->value - median) / fabs(median)) : NULL;
    cell[4] = e->side == FM_REPORT_CANDIDATE ? fm_trend_word(trend->verdict) : NULL;
}

static void put_cells(const struct fm_report *report, const struct fm_report_trend *t,
                      const struct fm_report_lines *lines, const struct fm_report_entry *e,
                      const char **cell)
{
    for (size_t i = 0; i < t->bys; i++)
        *cell++ = e->by[i];
    if (lines->timed)
        *cell++ = e->timed ? whole(report->arena, e->time) : NULL;
    else
        *cell++ = e->when;
    *cell++ = report->file[e->file].name;
    *cell++ = e->whole ? whole(report->arena, e->number) : number(report->arena, e->value);
    if (t->gate)
        put_gate_cells(report->arena, e, &lines->line[e->line].trend, cell);
}

static enum fm_status make_table(const struct fm_report *report, const struct fm_report_trend *t,
                                 const struct fm_report_lines *lines,
                                 struct fm_report_table *table)
{
    const char **cell;
    uint32_t *file;
    size_t cells;

    table->column = make_columns(report, t, lines, &table->columns);
    if (table->column == NULL || !fm_mul_size(lines->n + 1, table->columns, &cells) ||
        !fm_mul_size(cells, sizeof *cell, &cells))
        return FM_NOMEM;
    cell = fm_arena_alloc(report->arena, cells);
    file = fm_arena_alloc(report->arena, (lines->n + 1) * sizeof *file);
    if (cell == NULL || file == NULL)
        return FM_NOMEM;
    for (size_t i = 0; i < lines->n; i++) {
        file[i] = lines->entry[i].file;
        put_cells(report, t, lines, &lines->entry[i], cell + i * table->columns);
    }
    table->cell = cell;
    table->file = file;
    table->rows = lines->n;
    return report->arena->oom ? FM_NOMEM : FM_OK;
}

/* ---------------------------------------------------------------- verdicts */

static bool judge(struct fm_report *report, const struct fm_report_trend *t,
                  const struct fm_report_line *line, const char *unit)
{
    char text[512];
    const char *name = line->name, *between = name[0] != '\0' ? ": " : "";

    if (line->trend.verdict == FM_TREND_PASS || line->values == 0)
        return true;
    if (line->trend.verdict == FM_TREND_FEW && line->trend.base.n >= t->least)
        snprintf(text, sizeof text, "%.120s%snot judged: %zu file%s of at least %zu %s a value",
                 name, between, line->candidates, line->candidates == 1 ? "" : "s", t->least,
                 line->candidates == 1 ? "has" : "have");
    else {
        int n = snprintf(text, sizeof text, "%.120s%s", name, between);

        fm_trend_explain(&line->trend, unit, text + n, sizeof text - (size_t)n);
    }
    return fm_report_judge(report, t->name, line->trend.verdict == FM_TREND_FAIL && !t->warn,
                           text);
}

enum fm_status fm_report_trend(struct fm_report *report, size_t i, struct fm_report_table *table,
                               struct fm_error *err)
{
    const struct fm_report_trend *t = &report->plan->trend[i];
    struct fm_report_lines lines;
    enum fm_status status = fm_report_lines(report, i, &lines, err);
    size_t values = 0;

    memset(table, 0, sizeof *table);
    table->name = t->name;
    table->about = t->about;
    if (status != FM_OK || lines.column == NULL)
        return status;
    if (make_table(report, t, &lines, table) != FM_OK)
        return fm_error_nomem(err);
    for (size_t k = 0; k < lines.lines && t->gate; k++) {
        report->gates += lines.line[k].trend.verdict <= FM_TREND_FAIL;
        if (!judge(report, t, &lines.line[k], lines.unit))
            return fm_error_nomem(err);
        values = values + lines.line[k].values;
    }
    if (t->gate && values == 0 &&
        !fm_report_judge(report, t->name, false, "not judged: no file has a value"))
        return fm_error_nomem(err);
    return FM_OK;
}
