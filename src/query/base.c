/*
 * base.c - share(x, group): x by the weight of all rows that have the row's first key.
 *
 * For a key that a row has once that is a sum over groups; for any.X and calls it is not, since a
 * row is in several groups. So the rows are grouped a second time, by the first key alone, and
 * `total` of that group is the base.
 */
#include "query/group.h"

#include "util/error.h"

/* A word for the value of a key: ids of texts are the same in both groups, numbers have 64 bits. */
static uint64_t lane_of(const struct fm_table *t, uint32_t row)
{
    const struct fm_cells *cells = &t->cells[0];

    if (cells->id != NULL)
        return cells->id[row];
    return cells->f != NULL ? fm_f64_bits(cells->f[row]) : (uint64_t)cells->i[row];
}

static bool keep(struct fm_grouping *x, const struct fm_table *t)
{
    x->bases = t->rows;
    x->base_of_row = fm_mem_alloc(x->mem, (t->rows + 1) * sizeof *x->base_of_row);
    if (x->base_of_row == NULL)
        return false;
    for (uint32_t row = 0; row < t->rows; row++) {
        uint64_t *slot;
        x->base_of_row[row] = t->cells[1].i[row];
        if (fm_table_is_null(t, row, 0)) {
            x->null_base = row;
            continue;
        }
        slot = fm_map_put(&x->base_row, lane_of(t, row), NULL);
        if (slot == NULL)
            return false;
        *slot = row;
    }
    return true;
}

enum fm_status fm_group_bases(struct fm_grouping *x, struct fm_error *err)
{
    struct fm_agg total = { .kind = FM_AGG_TOTAL };
    struct fm_expr ref = { .op = FM_EXPR_REF, .unit = "" };
    struct fm_measure measure = { "total", &ref };
    struct fm_schema_column column[2] = { x->schema->column[0],
                                          { .name = "total", .full = "total", .unit = "" } };
    struct fm_schema schema = { .column = column, .n = 2, .cap = 2 };
    struct fm_group one = { .key = x->g->key, .keys = 1, .agg = &total, .aggs = 1,
                            .measure = &measure, .measures = 1,
                            .any = x->g->key[0].kind >= FM_KEY_ANY,
                            .edges = x->g->key[0].kind > FM_KEY_ANY,
                            .recursion = x->g->recursion };
    struct fm_totals totals = *x->totals;
    struct fm_table t;
    enum fm_status status;

    fm_map_init(&x->base_row, x->mem);
    fm_table_init(&t, x->mem, x->v->store, &schema);
    status = fm_group_run(x->c, &one, x->sel, x->v, &totals, &t, err);
    if (status == FM_OK && t.rows > 0 && !keep(x, &t))
        status = fm_error_nomem(err);
    fm_table_release(&t);
    return status;
}

void fm_group_bases_release(struct fm_grouping *x)
{
    if (x->base_row.mem != NULL)
        fm_map_release(&x->base_row);
    fm_mem_free(x->mem, x->base_of_row,
                x->base_of_row == NULL ? 0 : (x->bases + 1) * sizeof *x->base_of_row);
}

void fm_group_base(struct fm_grouping *x, const struct fm_table *t, uint32_t row)
{
    const uint64_t *slot = NULL;

    if (!fm_table_is_null(t, row, 0)) {
        slot = fm_map_find(&x->base_row, lane_of(t, row));
        fm_assert(slot != NULL);
    }
    x->base = x->base_of_row[slot != NULL ? *slot : x->null_base];
}
