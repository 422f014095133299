/*
 * union.c - `union:`, the rows of other tables behind those of this one.
 *
 *     union: after            union: [after, later]
 *
 * Columns go by their names; what a table does not have is null in its rows. Equal columns hold
 * the same kind of value in the same unit. The result is in the order of its keys, like any new
 * table.
 */
#include "query/plan.h"

#include "util/error.h"

struct part {
    struct fm_pipe *pipe;
    size_t *col;                     /* by column of the part: column of the result */
    struct part *next;
};

struct joiner {
    struct fm_pipe *pipe;
    struct fm_step *step;
    struct fm_schema out;
    struct part *first, **link;
};

/* The column of the result for one of a part, made when it is new. FM_NONE: logged, or oom. */
static uint32_t place(struct joiner *j, const struct fm_schema_column *col,
                      const struct fm_yaml_node *at)
{
    struct fm_yaml_log *log = j->pipe->c.log;
    struct fm_schema_column *to;

    for (size_t i = 0; i < j->out.n; i++) {
        to = &j->out.column[i];
        if (strcmp(to->name, col->name) != 0)
            continue;
        if (!to->untyped && !col->untyped && !fm_cells_match(to->type, col->type)) {
            fm_yaml_error(fm_yaml_as(log, FM_YAML_TYPE), at,
                          "column '%s' holds values of two kinds", col->name);
            return FM_NONE;
        }
        if (!to->untyped && !col->untyped && strcmp(to->unit, col->unit) != 0) {
            fm_yaml_error(fm_yaml_as(log, FM_YAML_UNIT), at,
                          "column '%s' is in '%s' and in '%s'", col->name, to->unit, col->unit);
            return FM_NONE;
        }
        if (to->type == FM_CELL_INT && col->type == FM_CELL_F64)
            to->type = FM_CELL_F64;
        to->additive &= col->additive;
        to->key |= col->key;
        to->untyped |= col->untyped;
        return (uint32_t)i;
    }
    to = fm_schema_add(j->pipe->c.arena, &j->out);
    if (to == NULL)
        return FM_NONE;
    *to = *col;
    return (uint32_t)(j->out.n - 1);
}

static bool add_part(struct joiner *j, const struct fm_yaml_node *node)
{
    struct fm_arena *arena = j->pipe->c.arena;
    struct part *part = fm_arena_alloc(arena, sizeof *part);
    const struct fm_schema *schema;

    if (part == NULL)
        return false;
    part->pipe = fm_pipe_need(j->pipe, j->step, node, FM_SHAPE_TABLE, "'union'");
    if (part->pipe == NULL)
        return false;
    schema = part->pipe->schema;
    part->col = fm_arena_alloc(arena, (schema->n + 1) * sizeof *part->col);
    for (size_t i = 0; part->col != NULL && i < schema->n; i++) {
        uint32_t to = place(j, &schema->column[i], node);
        if (to == FM_NONE)
            return false;
        part->col[i] = to;
    }
    *j->link = part;
    j->link = &part->next;
    return part->col != NULL;
}

void *fm_union_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    const struct fm_yaml_node *node = step->at->value;
    struct joiner j = { .pipe = pipe, .step = step };
    struct fm_schema *out = fm_schema_copy(pipe->c.arena, schema);
    size_t n = node->type == FM_YAML_LIST ? node->n : 1;
    bool ok = true;

    if (out == NULL)
        return NULL;
    if (node->type == FM_YAML_MAP || n == 0) {
        fm_yaml_error(fm_yaml_as(pipe->c.log, FM_YAML_TYPE), node,
                      "'union' takes the name of a 'let', or a list of them");
        return NULL;
    }
    j.out = *out;
    j.link = &j.first;
    for (size_t i = 0; i < n; i++)
        ok = add_part(&j, node->type == FM_YAML_LIST ? node->item[i] : node) && ok;
    if (!ok)
        return NULL;
    *schema = j.out;
    return j.first;
}

static bool add_rows(struct fm_table *to, const struct fm_table *from, const size_t *col)
{
    for (size_t i = 0; i < from->n; i++) {
        uint32_t row = fm_table_add(to);
        if (row == FM_NONE)
            return false;
        for (size_t c = 0; c < from->schema->n; c++) {
            if (!fm_cell_copy(to, row, col == NULL ? c : col[c], from, from->order[i], c))
                return false;
        }
    }
    return true;
}

enum fm_status fm_union_run(struct fm_flow *flow, const struct fm_step *step,
                            struct fm_error *err)
{
    struct fm_table out;
    bool ok;

    fm_flow_like(flow, step, &out);
    ok = add_rows(&out, &flow->table, NULL);
    for (const struct part *part = step->object; ok && part != NULL; part = part->next)
        ok = add_rows(&out, &part->pipe->flow->table, part->col);
    if (!ok) {
        fm_table_release(&out);
        return fm_error_nomem(err);
    }
    fm_flow_replace(flow, &out);
    return FM_OK;
}
