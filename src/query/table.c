/*
 * table.c - a result table at work: narrow columns, and the list of visible rows.
 *
 * Columns are arrays of one kind (128-bit integers, doubles, ids) with a byte of validity; a column
 * of a kind that a schema does not name is never allocated. Rows are only ever added (by group, and
 * by `rest` of limit).
 */
#include "query/group.h"

#include "util/error.h"

void fm_table_init(struct fm_table *t, struct fm_mem *mem, struct fm_store *store,
                   const struct fm_schema *schema)
{
    *t = (struct fm_table){ .mem = mem, .store = store, .schema = schema };
}

static void free_column(struct fm_table *t, struct fm_cells *cells)
{
    fm_mem_free(t->mem, cells->i, cells->i_cap * sizeof *cells->i);
    fm_mem_free(t->mem, cells->f, cells->f_cap * sizeof *cells->f);
    fm_mem_free(t->mem, cells->id, cells->id_cap * sizeof *cells->id);
    fm_mem_free(t->mem, cells->valid, cells->valid_cap);
    memset(cells, 0, sizeof *cells);
}

void fm_table_release(struct fm_table *t)
{
    for (size_t c = 0; c < t->columns; c++)
        free_column(t, &t->cells[c]);
    fm_table_untie(t);
    fm_mem_free(t->mem, t->cells, t->column_cap * sizeof *t->cells);
    fm_mem_free(t->mem, t->order, t->order_cap * sizeof *t->order);
    fm_trie_release(&t->paths.trie);
    fm_mem_free(t->mem, t->paths.rank, t->paths.ranks * sizeof *t->paths.rank);
    *t = (struct fm_table){ .mem = t->mem };
}

static bool grow_column(struct fm_table *t, size_t c, size_t rows)
{
    struct fm_cells *cells = &t->cells[c];

    switch (t->schema->column[c].type) {
    case FM_CELL_TEXT:
    case FM_CELL_PATH:
        return fm_grow(t->mem, (void **)&cells->id, &cells->id_cap, rows, sizeof *cells->id);
    case FM_CELL_F64:
        return fm_grow(t->mem, (void **)&cells->f, &cells->f_cap, rows, sizeof *cells->f)
               && fm_grow(t->mem, (void **)&cells->valid, &cells->valid_cap, rows, 1);
    default:
        return fm_grow(t->mem, (void **)&cells->i, &cells->i_cap, rows, sizeof *cells->i)
               && fm_grow(t->mem, (void **)&cells->valid, &cells->valid_cap, rows, 1);
    }
}

uint32_t fm_table_add(struct fm_table *t)
{
    uint32_t row = (uint32_t)t->rows;
    size_t columns = t->schema->n;

    if (t->columns < columns) {
        size_t old = t->column_cap;
        if (!fm_grow(t->mem, (void **)&t->cells, &t->column_cap, columns, sizeof *t->cells))
            return FM_NONE;
        memset(t->cells + old, 0, (t->column_cap - old) * sizeof *t->cells);
        t->columns = columns;
    }
    if (t->rows >= FM_NONE - 1
        || !fm_grow(t->mem, (void **)&t->order, &t->order_cap, t->n + 1, sizeof *t->order))
        return FM_NONE;
    for (size_t c = 0; c < columns; c++) {
        if (!grow_column(t, c, t->rows + 1))
            return FM_NONE;
        fm_table_null(t, row, c);
    }
    t->rows++;
    t->order[t->n++] = row;
    t->sorted = false;
    return row;
}

bool fm_table_widen(struct fm_table *t, const struct fm_schema *schema)
{
    size_t from = t->columns, old = t->column_cap;

    t->schema = schema;
    if (t->rows == 0)                  /* nothing stands in columns yet: the first row makes them */
        return true;
    fm_assert(schema->n >= from);
    if (!fm_grow(t->mem, (void **)&t->cells, &t->column_cap, schema->n, sizeof *t->cells))
        return false;
    if (t->column_cap > old)
        memset(t->cells + old, 0, (t->column_cap - old) * sizeof *t->cells);
    t->columns = schema->n;
    for (size_t c = from; c < schema->n; c++) {
        if (!grow_column(t, c, t->rows))
            return false;
        for (size_t r = 0; r < t->rows; r++)
            fm_table_null(t, (uint32_t)r, c);
    }
    return true;
}

void fm_table_null(struct fm_table *t, uint32_t row, size_t col)
{
    struct fm_cells *cells = &t->cells[col];

    if (cells->id != NULL)
        cells->id[row] = FM_NONE;
    else
        cells->valid[row] = 0;
}

bool fm_table_is_null(const struct fm_table *t, uint32_t row, size_t col)
{
    const struct fm_cells *cells = &t->cells[col];

    fm_assert(row < t->rows);
    return cells->id != NULL ? cells->id[row] == FM_NONE : !cells->valid[row];
}

void fm_table_int(struct fm_table *t, uint32_t row, size_t col, fm_i128 v)
{
    fm_assert(t->cells[col].i != NULL);
    t->cells[col].i[row] = v;
    t->cells[col].valid[row] = 1;
}

void fm_table_f64(struct fm_table *t, uint32_t row, size_t col, double v)
{
    fm_assert(t->cells[col].f != NULL);
    t->cells[col].f[row] = v;
    t->cells[col].valid[row] = v - v == 0; /* neither infinite nor no number */
}

void fm_table_id(struct fm_table *t, uint32_t row, size_t col, uint32_t id)
{
    fm_assert(t->cells[col].id != NULL);
    t->cells[col].id[row] = id;
}

/* What integers came to that do not fit into 64 bits, or another number. Above 127 bits: null. */
static void put_whole(struct fm_table *t, uint32_t row, size_t col, double f)
{
    if (f > -1.7e38 && f < 1.7e38)
        fm_table_int(t, row, col, (fm_i128)f);
}

bool fm_table_put(struct fm_table *t, uint32_t row, size_t col, const struct fm_value *value)
{
    enum fm_cell_type type = t->schema->column[col].type;
    fm_str id;

    if (value->type == FM_NULL || (value->type == FM_TEXT) != (type == FM_CELL_TEXT)
        || type == FM_CELL_PATH)
        return true;
    if (type == FM_CELL_TEXT) {
        id = fm_store_str_add(t->store, value->text.s, value->text.n);
        fm_table_id(t, row, col, id);
        return id != FM_NONE;
    }
    if (type == FM_CELL_F64)
        fm_table_f64(t, row, col,
                     value->type == FM_BOOL ? value->b : fm_value_as_f64(value));
    else if (value->type == FM_F64)
        put_whole(t, row, col, value->f);
    else if (value->type == FM_BOOL)
        fm_table_int(t, row, col, value->b);
    else
        fm_table_int(t, row, col,
                     value->type == FM_I64 ? (fm_i128)value->i : (fm_i128)value->u);
    return true;
}

struct fm_value fm_table_value(const struct fm_table *t, uint32_t row, size_t col)
{
    const struct fm_cells *cells = &t->cells[col];
    const char *s;
    size_t n;

    if (fm_table_is_null(t, row, col))
        return fm_value_null();
    switch (t->schema->column[col].type) {
    case FM_CELL_TEXT:
        s = fm_store_str(t->store, cells->id[row], &n);
        return fm_value_text(s, n);
    case FM_CELL_PATH:
        return fm_value_null();
    case FM_CELL_F64:
        return fm_value_f64(cells->f[row]);
    case FM_CELL_BOOL:
        return fm_value_bool(cells->i[row] != 0);
    default:
        if (cells->i[row] >= INT64_MIN && cells->i[row] <= INT64_MAX)
            return fm_value_i64((int64_t)cells->i[row]);
        if (cells->i[row] >= 0 && cells->i[row] <= (fm_i128)UINT64_MAX)
            return fm_value_u64((uint64_t)cells->i[row]);
        return fm_value_f64((double)cells->i[row]);
    }
}

/* -------------------------------------------------------------------- copy */

static bool copy_column(struct fm_table *to, const struct fm_table *from, size_t c)
{
    const struct fm_cells *cells = &from->cells[c];

    if (!grow_column(to, c, from->n))
        return false;
    for (size_t i = 0; i < from->n; i++) {
        uint32_t row = from->order[i];
        if (cells->id != NULL)
            to->cells[c].id[i] = cells->id[row];
        else
            to->cells[c].valid[i] = cells->valid[row];
        if (cells->i != NULL)
            to->cells[c].i[i] = cells->i[row];
        else if (cells->f != NULL)
            to->cells[c].f[i] = cells->f[row];
    }
    return true;
}

/* Nodes made in the same order have the same numbers. */
static bool copy_paths(struct fm_table *to, const struct fm_trie *from)
{
    if (from->n == 0)
        return true;
    if (!fm_trie_init(&to->paths.trie, to->mem))
        return false;
    for (size_t i = 1; i < from->n; i++) {
        uint32_t at = fm_trie_child(&to->paths.trie, from->node[i].parent, from->node[i].key);
        if (at == UINT32_MAX)
            return false;
        fm_assert(at == i);
    }
    return true;
}

bool fm_table_copy(struct fm_table *to, const struct fm_table *from)
{
    *to = *from;
    to->cells = NULL;
    to->columns = to->column_cap = to->rows = to->n = to->order_cap = 0;
    to->order = NULL;
    memset(&to->paths, 0, sizeof to->paths);
    to->tie = NULL;
    to->ties = 0;
    if (from->n == 0)
        return true;
    if (!fm_grow(to->mem, (void **)&to->cells, &to->column_cap, from->columns, sizeof *to->cells))
        return false;
    memset(to->cells, 0, to->column_cap * sizeof *to->cells);
    to->columns = from->columns;
    if (!fm_grow(to->mem, (void **)&to->order, &to->order_cap, from->n, sizeof *to->order))
        return false;
    for (size_t c = 0; c < from->columns; c++) {
        if (!copy_column(to, from, c))
            return false;
    }
    for (size_t i = 0; i < from->n; i++)
        to->order[i] = (uint32_t)i;
    to->rows = to->n = from->n;
    if (from->ties > 0) {
        to->tie = fm_mem_alloc(to->mem, to->n * sizeof *to->tie);
        if (to->tie == NULL)
            return false;
        to->ties = to->n;
        for (size_t i = 0; i < to->n; i++)      /* rest rows, which have none, are like no other */
            to->tie[i] = from->order[i] < from->ties ? from->tie[from->order[i]]
                                                     : FM_NONE - (uint32_t)i;
    }
    return copy_paths(to, &from->paths.trie);
}

/* data[i] = data[order[i]] */
static void gather(const struct fm_table *t, void *data, size_t size, unsigned char *spare)
{
    if (data == NULL)
        return;
    for (size_t i = 0; i < t->n; i++)
        memcpy(spare + i * size, (unsigned char *)data + t->order[i] * size, size);
    memcpy(data, spare, t->n * size);
}

bool fm_table_compact(struct fm_table *t)
{
    size_t bytes = (t->n + 1) * sizeof *t->cells->i;
    unsigned char *spare = fm_mem_alloc(t->mem, bytes);

    if (spare == NULL)
        return false;
    for (size_t c = 0; c < t->columns; c++) {
        struct fm_cells *cells = &t->cells[c];
        gather(t, cells->i, sizeof *cells->i, spare);
        gather(t, cells->f, sizeof *cells->f, spare);
        gather(t, cells->id, sizeof *cells->id, spare);
        gather(t, cells->valid, 1, spare);
    }
    fm_mem_free(t->mem, spare, bytes);
    for (size_t i = 0; i < t->n; i++)
        t->order[i] = (uint32_t)i;
    t->rows = t->n;
    fm_table_untie(t);
    fm_mem_free(t->mem, t->paths.rank, t->paths.ranks * sizeof *t->paths.rank);
    t->paths.rank = NULL;
    t->paths.ranks = 0;
    return true;
}

/* ----------------------------------------------------------------- columns */

void fm_table_narrow(struct fm_table *t, const struct fm_schema *schema)
{
    for (size_t c = schema->n; c < t->columns; c++)
        free_column(t, &t->cells[c]);
    t->columns = FM_MIN(t->columns, schema->n);
    t->schema = schema;
}

static bool duplicate(struct fm_table *t, struct fm_cells *to, const struct fm_cells *from)
{
    if (!fm_grow(t->mem, (void **)&to->id, &to->id_cap, from->id == NULL ? 0 : t->rows,
                 sizeof *to->id)
        || !fm_grow(t->mem, (void **)&to->i, &to->i_cap, from->i == NULL ? 0 : t->rows,
                    sizeof *to->i)
        || !fm_grow(t->mem, (void **)&to->f, &to->f_cap, from->f == NULL ? 0 : t->rows,
                    sizeof *to->f)
        || !fm_grow(t->mem, (void **)&to->valid, &to->valid_cap,
                    from->valid == NULL ? 0 : t->rows, 1))
        return false;
    if (from->id != NULL)
        memcpy(to->id, from->id, t->rows * sizeof *to->id);
    if (from->i != NULL)
        memcpy(to->i, from->i, t->rows * sizeof *to->i);
    if (from->f != NULL)
        memcpy(to->f, from->f, t->rows * sizeof *to->f);
    if (from->valid != NULL)
        memcpy(to->valid, from->valid, t->rows);
    return true;
}

bool fm_table_pick(struct fm_table *t, const size_t *col, const struct fm_schema *schema)
{
    size_t had = t->columns, cap = 0;
    struct fm_cells *cells = NULL;
    bool ok = true;

    t->schema = schema;
    if (t->rows == 0) {
        fm_table_narrow(t, schema);
        return true;
    }
    if (!fm_grow(t->mem, (void **)&cells, &cap, schema->n + 1, sizeof *cells))
        return false;
    memset(cells, 0, cap * sizeof *cells);
    for (size_t k = 0; ok && k < schema->n; k++) {
        bool last = true;                /* nobody behind wants it: it moves */
        for (size_t i = k + 1; i < schema->n; i++)
            last &= col[i] != col[k];
        if (last) {
            cells[k] = t->cells[col[k]];
            memset(&t->cells[col[k]], 0, sizeof *t->cells);
        } else {
            ok = duplicate(t, &cells[k], &t->cells[col[k]]);
        }
    }
    for (size_t c = 0; c < had; c++)
        free_column(t, &t->cells[c]);
    fm_mem_free(t->mem, t->cells, t->column_cap * sizeof *t->cells);
    t->cells = cells;
    t->column_cap = cap;
    t->columns = schema->n;
    return ok;
}

/* ------------------------------------------------------- expressions, where */

struct at {
    const struct fm_table *t;
    const struct fm_compile *c;
    uint32_t row;
};

static struct fm_value get(void *user, const struct fm_expr *node)
{
    const struct at *at = user;

    return fm_table_value(at->t, at->row, at->c->operand[node->ref]->id);
}

struct fm_value fm_table_eval(const struct fm_compile *c, const struct fm_table *t, uint32_t row,
                              const struct fm_expr *expr)
{
    struct at at = { t, c, row };

    return fm_expr_eval(expr, get, &at);
}

bool fm_table_fill(const struct fm_compile *c, struct fm_table *t, size_t col,
                   const struct fm_expr *expr)
{
    for (size_t i = 0; i < t->n; i++) {
        struct fm_value value = fm_table_eval(c, t, t->order[i], expr);
        if (!fm_table_put(t, t->order[i], col, &value))
            return false;
    }
    return true;
}

static uint8_t eval(struct at *at, const struct fm_pred *p)
{
    uint8_t r = p->op == FM_PRED_OR ? FM_NO : FM_YES;
    struct fm_value value;

    switch (p->op) {
    case FM_PRED_CONST:
        return p->constant;
    case FM_PRED_AND:
    case FM_PRED_OR:
        for (size_t i = 0; i < p->args; i++) {
            uint8_t a = eval(at, p->arg[i]);
            r = p->op == FM_PRED_AND ? FM_MIN(r, a) : FM_MAX(r, a);
        }
        return r;
    case FM_PRED_NOT:
        return (uint8_t)(FM_YES - eval(at, p->arg[0]));
    case FM_PRED_TEST:
        value = fm_table_value(at->t, at->row, p->operand->id);
        return fm_pred_value(p, &value);
    case FM_PRED_EXPR:
        value = fm_expr_eval(p->expr, get, at);
        return value.type == FM_NULL ? FM_NULLISH : fm_value_true(&value) ? FM_YES : FM_NO;
    default:
        return FM_NO;
    }
}

void fm_table_where(struct fm_table *t, const struct fm_compile *c, const struct fm_pred *p)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++) {
        struct at at = { t, c, t->order[i] };
        if (eval(&at, p) == FM_YES)
            t->order[n++] = t->order[i];
    }
    t->n = n;
}
