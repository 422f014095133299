/*
 * gate.c - checks over the rows of a table: an expression that must not be true.
 *
 *     {table: files, fail_if: "lost > $most", message: "${file} lost ${lost} samples"}
 *
 * Names are columns of the table, $name is a parameter of the report. A row for which the
 * expression is true fails, or warns. A message has the cells of that row in ${}; without one it
 * is the expression and the file. Of one gate 20 rows are told.
 */
#include "report/run.h"

#include "util/error.h"
#include "util/expr.h"
#include "util/text.h"

#define MOST_TOLD 20

struct gate {
    const struct fm_report_plan *plan;
    const struct fm_report_table *t;
    size_t row;
};

/* A text as a number when it is one. */
static struct fm_value number_or_text(const char *s)
{
    size_t n = strlen(s);
    int64_t i;
    uint64_t u;
    double f;
    const char *unit;

    if (fm_text_i64(s, n, &i))
        return fm_value_i64(i);
    if (fm_text_u64(s, n, &u))
        return fm_value_u64(u);
    if (fm_text_f64(s, n, &f) || fm_text_quantity(s, n, &f, &unit))
        return fm_value_f64(f);
    return fm_value_text(s, n);
}

static bool resolve(void *user, struct fm_expr *node)
{
    const struct gate *g = user;
    size_t col;

    if (node->name[0] == '$') {
        for (size_t i = 0; i < g->plan->params; i++) {
            if (strcmp(g->plan->param[i].name, node->name + 1) != 0)
                continue;
            node->op = FM_EXPR_CONST;
            node->value = number_or_text(g->plan->param[i].value);
            return true;
        }
        return false;
    }
    col = fm_report_find(g->t, node->name);
    if (col == g->t->columns)
        return false;
    node->ref = (uint32_t)col;
    node->unit = g->t->column[col].type == FM_REPORT_NUMBER ? g->t->column[col].unit : "";
    return true;
}

static struct fm_value cell(void *user, const struct fm_expr *node)
{
    const struct gate *g = user;
    const char *s = g->t->cell[g->row * g->t->columns + node->ref];

    if (s == NULL)
        return fm_value_null();
    switch (g->t->column[node->ref].type) {
    case FM_REPORT_TEXT:
        return fm_value_text(s, strlen(s));
    case FM_REPORT_BOOL:
        return fm_value_bool(s[0] == 't');
    default:
        return number_or_text(s);
    }
}

/* The value of a name in a message: a cell of the row, or a parameter; "-" for null. NULL: there is
 * none of that name. */
static const char *value_of(const struct gate *g, const char *name)
{
    size_t col = fm_report_find(g->t, name);
    const char *s;

    if (col < g->t->columns) {
        s = g->t->cell[g->row * g->t->columns + col];
        return s == NULL ? "-" : s;
    }
    for (size_t i = 0; i < g->plan->params; i++)
        if (strcmp(g->plan->param[i].name, name) == 0)
            return g->plan->param[i].value;
    return NULL;
}

/* ${name} or ${name:%}, which shows a number as per cent; text[0..n) is what stands in the braces.
 * An unknown name stays as it is written. */
static void put_value(const struct gate *g, const char *text, size_t n, struct fm_arena *arena,
                      struct fm_out *out)
{
    bool percent = n > 2 && text[n - 2] == ':' && text[n - 1] == '%';
    const char *name = fm_arena_strn(arena, text, percent ? n - 2 : n);
    const char *value = name == NULL ? NULL : value_of(g, name);
    double v;

    if (value == NULL) {
        fm_out_printf(out, "${%.*s}", (int)n, text);
    } else if (percent && fm_text_f64(value, strlen(value), &v)) {
        fm_out_fixed(out, 100 * v, 2);
        fm_out_char(out, '%');
    } else {
        fm_out_text(out, value);
    }
}

/* The message of a row, in the arena; NULL: no memory. */
static const char *message(const struct gate *g, const struct fm_report_gate *gate,
                           const char *condition, struct fm_arena *arena)
{
    const char *s = gate->message != NULL ? gate->message->text : NULL, *end, *text;
    struct fm_out out;

    if (s == NULL) {
        text = value_of(g, "file");
        return fm_arena_printf(arena, "%s: %s", text != NULL ? text : "a row", condition);
    }
    if (fm_out_init(&out, arena->mem, NULL) != FM_OK)
        return NULL;
    while (*s != '\0') {
        if (strncmp(s, "${", 2) != 0 || (end = strchr(s, '}')) == NULL) {
            fm_out_char(&out, *s++);
        } else {
            put_value(g, s + 2, (size_t)(end - s - 2), arena, &out);
            s = end + 1;
        }
    }
    text = out.status == FM_OK ? fm_arena_strn(arena, out.buf, out.n) : NULL;
    fm_out_release(&out);
    return text;
}

static bool judge_rows(struct fm_report *report, struct gate *g, const struct fm_report_gate *gate,
                       const struct fm_expr *expr, const char *condition)
{
    bool failed = gate->fail_if != NULL;
    size_t told = 0;
    const char *text;

    for (g->row = 0; g->row < g->t->rows; g->row++) {
        struct fm_value v = fm_expr_eval(expr, cell, g);

        if (!fm_value_true(&v) || told++ >= MOST_TOLD)
            continue;
        text = message(g, gate, condition, report->arena);
        if (text == NULL || !fm_report_judge(report, g->t->name, failed, text))
            return false;
    }
    if (told <= MOST_TOLD)
        return true;
    text = fm_arena_printf(report->arena, "and %zu rows more", told - MOST_TOLD);
    return text != NULL && fm_report_judge(report, g->t->name, failed, text);
}

enum fm_status fm_report_gates(struct fm_report_run *run, struct fm_report *report,
                               struct fm_error *err)
{
    struct fm_yaml_log log;
    bool good = true;

    fm_yaml_log_init(&log, &run->arena);
    log.file = run->plan.yaml;
    for (size_t i = 0; good && i < run->plan.gates; i++) {
        const struct fm_report_gate *gate = &run->plan.gate[i];
        const struct fm_yaml_node *at = gate->fail_if != NULL ? gate->fail_if : gate->warn_if;
        struct gate g = {&run->plan, &report->table[gate->table], 0};
        const char **known = fm_arena_alloc(&run->arena, (g.t->columns + 1) * sizeof *known);
        struct fm_expr_names names = {&g, resolve, NULL, known, g.t->columns};
        const struct fm_expr *expr;

        if (known == NULL)
            return fm_error_nomem(err);
        for (size_t c = 0; c < g.t->columns; c++)
            known[c] = g.t->column[c].name;
        expr = fm_expr_parse(&run->arena, at, NULL, 0, &names, &log);
        report->gates++;
        if (expr != NULL)
            good = judge_rows(report, &g, gate, expr, at->text);
    }
    if (!good || run->arena.oom)
        return fm_error_nomem(err);
    if (log.errors == 0)
        return FM_OK;
    fm_report_say(run, "%s", log.text);
    *err = log.first;
    return FM_CONFIG;
}
