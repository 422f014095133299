/*
 * collect.c - kept results of all files -> tables over all files, outputs in their places.
 *
 * Files stand in the order of their names. A table has the columns about the file in front (file,
 * labels, event, unit, or those that `front` names), then all columns that the query gave for any
 * file, in the order in which they appear. A column whose unit differs from file to file has none:
 * the unit stands in the row.
 */
#include "report/collect.h"

#include "report/lines.h"

#include "util/error.h"
#include "util/text.h"

#define MOST_COLUMNS 1000

/* ------------------------------------------------------------------- files */

static size_t fact_at(const char *name)
{
    size_t i = 0;

    while (i < fm_report_facts && strcmp(fm_report_fact[i].name, name) != 0)
        i++;
    return i;
}

static const char *fact(const struct fm_report_gathered *g, const char *name)
{
    return g->fact[fact_at(name)];
}

static bool set_fact(struct fm_report_gathered *g, const char *name, const char *value)
{
    g->fact[fact_at(name)] = value;
    return value != NULL;
}

/* A file without results, for a reason of this machine. */
static bool gather_error(struct fm_report_run *run, const struct fm_report_job *job,
                         struct fm_report_gathered *g)
{
    return set_fact(g, "status", "failed")
           && set_fact(g, "error", fm_arena_str(&run->arena, job->err.message));
}

/* Facts of a file; where the record is gone, the file counts as failed. */
static bool gather_facts(struct fm_report_run *run, const struct fm_report_job *job,
                         struct fm_report_gathered *g)
{
    char key[FM_REPORT_KEY], *at;
    const char *field[4];
    size_t n;

    if (job->busy_error)
        return gather_error(run, job, g);
    fm_report_facts_key(run, job, key);
    at = fm_place_kept(&run->place, &run->arena, key, &n);
    if (at == NULL)
        return set_fact(g, "status", "failed") && set_fact(g, "error", "the result is not there");
    while ((n = fm_line_next(&at, field, FM_COUNT(field))) > 0) {
        if (n == 3 && strcmp(field[0], "fact") == 0 && fact_at(field[1]) < fm_report_facts) {
            g->fact[fact_at(field[1])] = fm_line_null(field[2]);
        } else if (n == 4 && strcmp(field[0], "failed") == 0) {
            bool other = strcmp(field[1], "unknown") == 0 && !job->given;

            set_fact(g, "status", other ? "skipped" : "failed");
            set_fact(g, "error", field[3]);
            if (field[2][0] != '-')
                set_fact(g, "offset", field[2]);
        }
    }
    g->usable = strcmp(fact(g, "status") != NULL ? fact(g, "status") : "", "ok") == 0
                || strcmp(fact(g, "status") != NULL ? fact(g, "status") : "", "damaged") == 0;
    return true;
}

/* Labels out of the path; the first pattern that fits gives them. */
static bool gather_labels(struct fm_report_run *run, const char *name, const char **label)
{
    const struct fm_report_plan *plan = &run->plan;
    size_t at[2 * 33], n = strlen(name), group;
    const char *key;

    for (size_t i = 0; i < plan->label_patterns; i++) {
        size_t groups = fm_pattern_captures(plan->labels[i], name, n, 0, at, 33);

        if (groups == 0)
            continue;
        for (size_t k = 0; (key = fm_pattern_group_name(plan->labels[i], k, &group)) != NULL;
             k++) {
            size_t c = 0;

            while (c < plan->label_count && strcmp(plan->label[c], key) != 0)
                c++;
            if (c < plan->label_count && group < FM_MIN(groups, (size_t)33)
                && at[2 * group] != SIZE_MAX)
                label[c] = fm_arena_strn(&run->arena, name + at[2 * group],
                                         at[2 * group + 1] - at[2 * group]);
        }
        break;
    }
    return !run->arena.oom;
}

/* The file's columns as front columns name them: "file", a label, a fact. */
static const char *front_cell(const struct fm_report_plan *plan,
                              const struct fm_report_gathered *g, const char *name)
{
    size_t i;

    if (strcmp(name, "file") == 0)
        return g->file->name;
    for (i = 0; i < plan->label_count; i++)
        if (strcmp(plan->label[i], name) == 0)
            return g->file->label[i];
    i = fact_at(name);
    return i < fm_report_facts ? g->fact[i] : NULL;
}

static uint64_t groups_of(const struct fm_report_plan *plan, const struct fm_report_gathered *g)
{
    uint64_t groups = 0;

    for (size_t i = 0; i < plan->groups && g->usable; i++) {
        bool all = true;

        for (size_t k = 0; all && k < plan->group[i].matches; k++) {
            const struct fm_report_match *m = &plan->group[i].match[k];
            const char *cell = front_cell(plan, g, m->column);

            all = false;
            for (size_t p = 0; cell != NULL && !all && p < m->patterns; p++)
                all = fm_pattern_match(m->pattern[p], cell, strlen(cell));
        }
        groups |= (uint64_t)all << i;
    }
    return groups;
}

static bool describe(struct fm_report_run *run, const struct fm_report_job *job,
                     struct fm_report_gathered *g, struct fm_report_file *file)
{
    const char *start, *duration, *bytes, *offset;
    const char **label = fm_arena_alloc(&run->arena, (run->plan.label_count + 1) * sizeof *label);

    g->file = file;
    g->fact = fm_arena_alloc(&run->arena, (fm_report_facts + 1) * sizeof *g->fact);
    if (label == NULL || g->fact == NULL || !gather_facts(run, job, g)
        || !gather_labels(run, job->name, label))
        return false;
    file->name = job->name;
    file->label = label;
    file->folder = fm_report_folder(&run->arena, job->name);
    file->format = fact(g, "format");
    file->host = fact(g, "host");
    file->status = fact(g, "status") != NULL ? fact(g, "status") : "failed";
    file->error = fact(g, "error");
    file->offset = FM_NO_OFFSET;
    start = fact(g, "start");
    duration = fact(g, "duration");
    bytes = fact(g, "bytes");
    offset = fact(g, "offset");
    file->has_wall = start != NULL && fm_text_i64(start, strlen(start), &file->start);
    file->has_start = duration != NULL && fm_text_i64(duration, strlen(duration), &file->duration);
    if (bytes != NULL)
        (void)fm_text_u64(bytes, strlen(bytes), &file->bytes);
    if (offset != NULL)
        (void)fm_text_u64(offset, strlen(offset), &file->offset);
    file->groups = groups_of(&run->plan, g);
    return file->folder != NULL;
}

/* ----------------------------------------------------------------- outputs */

/* The outputs of a file appear beside each other; what was there before and is none now goes. */
static enum fm_status show_outputs(struct fm_report_run *run, const struct fm_report_job *job,
                                   const struct fm_report_gathered *g,
                                   struct fm_report_file *file, struct fm_report *report,
                                   struct fm_error *err)
{
    const struct fm_report_plan *plan = &run->plan;
    struct fm_report_output *output = fm_arena_alloc(&run->arena,
                                                     (plan->eaches + 1) * sizeof *output);

    if (output == NULL)
        return fm_error_nomem(err);
    file->output = output;
    for (size_t i = 0; i < plan->eaches; i++) {
        char key[FM_REPORT_KEY], *at = NULL;
        const char *field[3] = {"", "", ""}, *path;
        size_t n;

        path = fm_arena_printf(&run->arena, "%s/%s", file->folder, plan->each[i].to);
        fm_report_each_key(run, job, i, key);
        if (g->usable)
            at = fm_place_kept(&run->place, &run->arena, key, &n);
        if (at != NULL && fm_line_next(&at, field, 3) == 3)
            output[i].error = field[2][0] != '\0' ? field[2] : NULL;
        output[i].gate = strcmp(field[0], "gate") == 0;
        if (path == NULL)
            return fm_error_nomem(err);
        if (at == NULL || strcmp(field[0], "error") == 0) {
            fm_place_remove(&run->place, path);
            continue;
        }
        output[i].path = path;
        if (fm_place_show(&run->place, key, path, err) != FM_OK)
            return err->status;
        if (output[i].gate)
            fm_report_judge_query(report, file->name, true, field[2]);
    }
    return FM_OK;
}

/* ------------------------------------------------------------------ tables */

static struct fm_report_column *add_column(struct fm_report_table *t,
                                           struct fm_report_column *column, const char *name)
{
    size_t i = fm_report_find(t, name);

    if (i < t->columns)
        return &column[i];
    if (t->columns == MOST_COLUMNS)
        return NULL;
    column[t->columns].name = name;
    return &column[t->columns++];
}

static enum fm_report_type type_of(const char *text)
{
    switch (text[0]) {
    case 'n': return FM_REPORT_NUMBER;
    case 's': return FM_REPORT_SHARE;
    case 'b': return FM_REPORT_BOOL;
    default: return FM_REPORT_TEXT;
    }
}

static bool wanted(const struct fm_report_rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->columns; i++)
        if (strcmp(rows->column[i], name) == 0)
            return true;
    return rows->columns == 0;
}

/* The rows of one file, as they were kept. */
struct part {
    const char *event, *unit;
    const char **row;                /* cells of the file's columns, row by row */
    size_t rows, columns;
    size_t *to;                      /* where a column of the file stands in the table */
};

static bool add_front(struct fm_report_run *run, struct fm_report_table *t,
                      struct fm_report_column *column, const char *name)
{
    size_t i = fact_at(name);
    struct fm_report_column *c = add_column(t, column, name);

    (void)run;
    if (c == NULL)
        return false;
    *c = i < fm_report_facts ? fm_report_fact[i]
                             : (struct fm_report_column){name, FM_REPORT_TEXT, "", true};
    return true;
}

static bool add_fronts(struct fm_report_run *run, const struct fm_report_rows *rows,
                       struct fm_report_table *t, struct fm_report_column *column)
{
    bool good;

    for (size_t i = 0; i < rows->fronts; i++)
        if (!add_front(run, t, column, rows->front[i]))
            return false;
    if (rows->front != NULL)
        return true;
    good = add_front(run, t, column, "file");
    for (size_t i = 0; good && i < run->plan.label_count; i++)
        good = add_front(run, t, column, run->plan.label[i]);
    if (rows->ask.query != NULL)
        return good && add_front(run, t, column, "event") && add_front(run, t, column, "unit");
    for (size_t i = 0; good && i < fm_report_facts; i++)
        good = add_front(run, t, column, fm_report_fact[i].name);
    return good;
}

static bool read_column(struct fm_report_run *run, const struct fm_report_rows *rows,
                        struct fm_report_table *t, struct fm_report_column *column,
                        struct part *part, const char *const *field)
{
    const char *name = field[1];
    struct fm_report_column *c;
    bool fresh;

    part->to[part->columns++] = SIZE_MAX;
    if (!wanted(rows, name))
        return true;
    if (fm_report_find(t, name) < t->columns && column[fm_report_find(t, name)].front)
        name = fm_arena_printf(&run->arena, "query.%s", name);
    if (name == NULL)
        return false;
    fresh = fm_report_find(t, name) == t->columns;
    c = add_column(t, column, name);
    if (c == NULL)
        return true;
    if (fresh)
        *c = (struct fm_report_column){name, type_of(field[2]), field[3], false};
    if (c->type != type_of(field[2]))
        c->type = FM_REPORT_TEXT;
    if (strcmp(c->unit, field[3]) != 0)
        c->unit = "";
    part->to[part->columns - 1] = (size_t)(c - column);
    return true;
}

/* Parses the kept rows of one file. false: no memory. */
static bool read_part(struct fm_report_run *run, const struct fm_report_rows *rows, char *at,
                      struct fm_report_table *t, struct fm_report_column *column,
                      struct part *part)
{
    size_t lines = 0, n;
    const char *field[4];
    char *end;

    for (const char *s = at; *s != '\0'; s++)
        lines += *s == '\n';
    part->to = fm_arena_alloc(&run->arena, (lines + 1) * sizeof *part->to);
    if (part->to == NULL)
        return false;
    while (strncmp(at, "row\t", 4) != 0 && strncmp(at, "row\n", 4) != 0
           && (n = fm_line_next(&at, field, 4)) > 0) {
        lines--;
        if (n == 3 && strcmp(field[0], "event") == 0) {
            part->event = field[1];
            part->unit = field[2];
        } else if (n == 4 && strcmp(field[0], "column") == 0
                   && !read_column(run, rows, t, column, part, field)) {
            return false;
        }
    }
    part->row = fm_arena_alloc(&run->arena,
                               (lines + 1) * (part->columns + 1) * sizeof *part->row);
    for (end = at; part->row != NULL && *end != '\0'; part->rows++) {
        const char **cell = part->row + part->rows * (part->columns + 1);

        if (fm_line_next(&end, cell, part->columns + 1) == 0)
            break;
    }
    return part->row != NULL;
}

static bool fill_rows(struct fm_report_run *run, const struct fm_report_gathered *g,
                      const struct part *part, const struct fm_report_table *t,
                      const char **cell)
{
    for (size_t r = 0; r < part->rows; r++, cell += t->columns) {
        const char *const *from = part->row + r * (part->columns + 1);

        for (size_t c = 0; c < t->columns && t->column[c].front; c++) {
            const char *name = t->column[c].name;

            cell[c] = strcmp(name, "event") == 0   ? part->event
                      : strcmp(name, "unit") == 0 ? part->unit
                                                  : front_cell(&run->plan, g, name);
        }
        for (size_t c = 0; c < part->columns; c++)
            if (part->to[c] != SIZE_MAX)
                cell[part->to[c]] = fm_line_null(from[c + 1]);
    }
    return true;
}

static enum fm_status collect_rows(struct fm_report_run *run, size_t i,
                                   const struct fm_report_gathered *g, struct fm_report_table *t,
                                   struct fm_error *err)
{
    const struct fm_report_rows *rows = &run->plan.rows[i];
    struct fm_report_column *column = fm_arena_alloc(&run->arena,
                                                     (MOST_COLUMNS + 1) * sizeof *column);
    struct part *part = fm_arena_alloc(&run->arena, (run->jobs + 1) * sizeof *part);
    const char **cell;
    uint32_t *file;
    size_t at = 0;

    t->name = rows->name;
    t->about = rows->about;
    t->column = column;
    if (column == NULL || part == NULL || !add_fronts(run, rows, t, column))
        return fm_error_nomem(err);
    for (size_t f = 0; f < run->jobs; f++) {
        char key[FM_REPORT_KEY], *text = NULL;
        size_t n;

        if (rows->ask.query == NULL) {
            part[f].rows = 1;
        } else if (g[f].usable) {
            fm_report_rows_key(run, &run->job[f], i, key);
            text = fm_place_kept(&run->place, &run->arena, key, &n);
        }
        if (text != NULL && !read_part(run, rows, text, t, column, &part[f]))
            return fm_error_nomem(err);
        t->rows += part[f].rows;
    }
    if (t->rows > SIZE_MAX / sizeof *cell / (t->columns + 1))
        return fm_error_nomem(err);
    cell = fm_arena_alloc(&run->arena, (t->rows * t->columns + 1) * sizeof *cell);
    file = fm_arena_alloc(&run->arena, (t->rows + 1) * sizeof *file);
    if (cell == NULL || file == NULL)
        return fm_error_nomem(err);
    t->cell = cell;
    t->file = file;
    for (size_t f = 0; f < run->jobs; f++) {
        if (rows->ask.query == NULL) {
            for (size_t c = 0; c < t->columns; c++)
                cell[at * t->columns + c] = front_cell(&run->plan, &g[f], t->column[c].name);
        } else {
            fill_rows(run, &g[f], &part[f], t, cell + at * t->columns);
        }
        for (size_t r = 0; r < part[f].rows; r++)
            file[at++] = (uint32_t)f;
    }
    return FM_OK;
}

/* ------------------------------------------------------------------- whole */

enum fm_status fm_report_collect(struct fm_report_run *run, struct fm_report *report,
                                 struct fm_error *err)
{
    struct fm_arena *arena = &run->arena;
    struct fm_report_gathered *g = fm_arena_alloc(arena, (run->jobs + 1) * sizeof *g);
    struct fm_report_file *file = fm_arena_alloc(arena, (run->jobs + 1) * sizeof *file);
    struct fm_report_table *table = fm_arena_alloc(arena,
                                                   (run->plan.tables + 1) * sizeof *table);
    enum fm_status status = FM_OK;

    *report = (struct fm_report){.plan = &run->plan, .arena = arena, .file = file,
                                 .files = run->jobs, .table = table};
    report->verdict_end = &report->verdict;
    if (g == NULL || file == NULL || table == NULL)
        return fm_error_nomem(err);
    for (size_t i = 0; status == FM_OK && i < run->jobs; i++) {
        if (!describe(run, &run->job[i], &g[i], &file[i]))
            return fm_error_nomem(err);
        status = show_outputs(run, &run->job[i], &g[i], &file[i], report, err);
    }
    for (size_t i = 0; status == FM_OK && i < run->plan.tables; i++)
        status = collect_rows(run, i, g, &table[i], err);
    return status;
}
