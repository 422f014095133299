/*
 * explain.c - a compiled plan as text, for people: `foldmill query --explain`.
 *
 *     pipe top-self: samples of event cycles in cycles
 *       where      rows            top-self.yaml:13
 *         thread: one verdict for each thread
 *         stack: one bit for each of 1,234 stack nodes, from one verdict for each of 210 frames
 *       group      rows -> table   top-self.yaml:14
 *         keys any.function; one scan of the rows, then one walk of the stack nodes
 *       columns named: thread
 *       result: function self
 */
#include "query/plan.h"

#include "util/text.h"

struct teller {
    struct fm_out *out;
    const struct fm_pipe *pipe;
    const char *lead;
};

static void start_line(const struct teller *t, unsigned depth)
{
    fm_out_text(t->out, t->lead);
    fm_out_pad(t->out, ' ', 2 * depth);
}

/* ---------------------------------------------------------------- predicates */

static bool is_skipped(const struct fm_operand *o)
{
    return o->place == FM_AT_COLUMN && o->via == 0
           && (o->type == FM_TYPE_TIME || o->type == FM_TYPE_DUR || o->type == FM_TYPE_I64);
}

static void tell_test(const struct teller *t, const struct fm_pred *p, bool skips)
{
    const struct fm_operand *o = p->operand;

    fm_out_printf(t->out, "%s: ", o->name == NULL ? "?" : o->name);
    if (o->place == FM_AT_FRAME)
        fm_out_text(t->out, "one verdict for each frame");
    else if (p->test.kind == FM_TEST_TEXT)
        fm_out_printf(t->out, "one verdict for each %s",
                      o->type == FM_TYPE_THREAD ? "thread" : "distinct text");
    else if (p->test.kind == FM_TEST_LATER)
        fm_out_text(t->out, "known when there is an input");
    else
        fm_out_text(t->out, "compared in each row");
    if (skips && is_skipped(o))
        fm_out_text(t->out, "; segments whose range rules it out are not read");
    else if (skips && o->place == FM_AT_COLUMN && o->via == 0)
        fm_out_text(t->out, "; segments without a value are not read");
    if (o->via != 0)
        fm_out_text(t->out, "; through the index of linked rows");
}

static void tell_stack(const struct teller *t, const struct fm_pred *p)
{
    static const char *const name[] = { "has", "lacks", "leaf", "root", "path" };
    const struct fm_flow *flow = t->pipe->flow;
    char a[32], b[32];

    fm_out_printf(t->out, "stack %s: ", name[p->stack]);
    if (flow == NULL || flow->view.node == NULL)
        fm_out_text(t->out, "one bit for each stack node, from one verdict for each frame");
    else
        fm_out_printf(t->out, "one bit for each of %s stack nodes, from one verdict for each of %s"
                      " frames", fm_text_commas(flow->view.nodes, a),
                      fm_text_commas(flow->view.frames, b));
}

/* Segments are skipped by what must hold: not by what stands under `any` or `not`. */
static void tell_pred(const struct teller *t, const struct fm_pred *p, unsigned depth, bool skips)
{
    if (p->op == FM_PRED_AND) {
        for (size_t i = 0; i < p->args; i++)
            tell_pred(t, p->arg[i], depth, skips);
        return;
    }
    start_line(t, depth);
    switch (p->op) {
    case FM_PRED_CONST:
        fm_out_printf(t->out, "%s\n", p->constant == FM_YES ? "holds always" : "never holds");
        return;
    case FM_PRED_TEST:
        tell_test(t, p, skips);
        break;
    case FM_PRED_STACK:
        tell_stack(t, p);
        break;
    case FM_PRED_EXPR:
        fm_out_text(t->out, "expression: evaluated in each row");
        break;
    default:
        fm_out_printf(t->out, "%s:\n", p->op == FM_PRED_OR ? "any of" : "not");
        for (size_t i = 0; i < p->args; i++)
            tell_pred(t, p->arg[i], depth + 1, false);
        return;
    }
    fm_out_char(t->out, '\n');
}

/* --------------------------------------------------------------------- steps */

static void tell_group(const struct teller *t, const struct fm_group *g)
{
    start_line(t, 2);
    fm_out_text(t->out, g->keys == 0 ? "one group" : "keys");
    for (size_t i = 0; i < g->keys; i++)
        fm_out_printf(t->out, "%s %s", i > 0 ? "," : "", g->key[i].full);
    fm_out_printf(t->out, "; weights by stack in one scan%s%s\n",
                  g->any ? ", totals in one walk of the stack nodes" : "",
                  g->scans ? ", values of rows in a second scan" : "");
}

/* select, sort and limit of rows */
static void tell_lines(const struct teller *t, const struct fm_step *step)
{
    uint64_t keeps = fm_row_step_keeps(t->pipe, step);
    char n[32];

    start_line(t, 2);
    fm_out_text(t->out, "one line for each row, in one scan");
    if (keeps > 0)
        fm_out_printf(t->out, "; no more than the first %s are kept",
                      fm_text_commas(keeps, n));
    fm_out_char(t->out, '\n');
}

static void tell_step(const struct teller *t, const struct fm_step *step, bool *table)
{
    const char *file = t->pipe->q->file == NULL ? "" : t->pipe->q->file->name;
    const char *slash = strrchr(file, '/');
    bool was = *table;

    *table |= step->type->gives == FM_SHAPE_TABLE;
    start_line(t, 1);
    fm_out_printf(t->out, "%-9s  %-14s  %s:%u\n", step->at->key,
                  was ? "table -> table" : *table ? "rows -> table" : "rows -> rows",
                  slash == NULL ? file : slash + 1, step->at->key_line);
    if (strcmp(step->type->name, "where") == 0)
        tell_pred(t, step->object, 2, !was);
    if (strcmp(step->type->name, "group") == 0 && !was)
        tell_group(t, step->object);
    if (!was && *table && strcmp(step->type->name, "group") != 0
        && strcmp(step->type->name, "tree") != 0)
        tell_lines(t, step);
    for (size_t i = 0; i < step->needs; i++) {
        start_line(t, 2);
        fm_out_printf(t->out, "needs %s\n", step->need[i]->let->key);
    }
}

/* --------------------------------------------------------------------- pipes */

static bool was_told(const struct fm_compile *c, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (c->operand[k]->place == c->operand[i]->place
            && strcmp(c->operand[k]->name, c->operand[i]->name) == 0)
            return true;
    }
    return false;
}

static void tell_columns(const struct teller *t)
{
    const struct fm_compile *c = &t->pipe->c;
    bool any = false;

    for (size_t i = 0; i < c->operands; i++) {
        const struct fm_operand *o = c->operand[i];
        if (o->place == FM_AT_TABLE || o->place == FM_AT_FRAME || o->place == FM_AT_NODE
            || o->name == NULL || was_told(c, i))
            continue;
        if (!any)
            start_line(t, 1);
        fm_out_printf(t->out, "%s %s", any ? "" : "columns named:", o->name);
        any = true;
    }
    if (any)
        fm_out_char(t->out, '\n');
}

static void tell_source(const struct teller *t)
{
    const struct fm_pipe *pipe = t->pipe;
    const struct fm_yaml_node *inputs = pipe->q->inputs;

    fm_out_printf(t->out, "pipe %s", pipe->let != NULL ? pipe->let->key : pipe->q->name);
    if (pipe->source != NULL) {
        fm_out_printf(t->out, ": from %s, %s\n",
                      pipe->source->let != NULL ? pipe->source->let->key
                                                : pipe->source->q->name,
                      pipe->source->users == 1 ? "moved" : "a copy");
        return;
    }
    fm_out_printf(t->out, ": %s", fm_from_text(pipe->c.from));
    if (inputs != NULL && pipe->inputs == NULL && pipe->input < inputs->n)
        fm_out_printf(t->out, " of input %s", inputs->item[pipe->input]->text);
    if (pipe->c.event != NULL)
        fm_out_printf(t->out, " of event %s", pipe->c.event);
    if (pipe->c.event != NULL && pipe->c.unit[0] != '\0')
        fm_out_printf(t->out, " in %s", pipe->c.unit);
    fm_out_char(t->out, '\n');
}

static void tell_result(const struct teller *t)
{
    const struct fm_schema *schema = t->pipe->schema;

    if (t->pipe->shape != FM_SHAPE_TABLE || schema == NULL)
        return;
    start_line(t, 1);
    fm_out_text(t->out, "result:");
    for (size_t i = 0; i < schema->n; i++)
        fm_out_printf(t->out, " %s", schema->column[i].name);
    fm_out_printf(t->out, "%s\n", schema->open ? " and columns that come from the data" : "");
}

void fm_plan_explain(const struct fm_plan *plan, struct fm_out *out)
{
    struct teller t = { .out = out, .lead = "" };

    for (size_t i = 0; i < plan->pipes; i++) {
        const struct fm_pipe *pipe = plan->pipe[i];
        bool table = pipe->source != NULL ? pipe->source->shape == FM_SHAPE_TABLE
                                          : pipe->c.from >= FM_FROM_THREADS;
        t.pipe = pipe;
        tell_source(&t);
        for (size_t k = 0; k < pipe->steps; k++)
            tell_step(&t, &pipe->step[k], &table);
        tell_columns(&t);
        tell_result(&t);
    }
    fm_out_text(out, "printed:");
    for (size_t i = 0; i < plan->shows; i++)
        fm_out_printf(out, " %s", plan->show[i]->let != NULL ? plan->show[i]->let->key
                                                              : plan->show[i]->q->name);
    fm_out_char(out, '\n');
}
