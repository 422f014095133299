/*
 * lines.c - a table with one line a row: `select:`, `sort:` and `limit:` of rows.
 *
 *     from: spans
 *     steps:
 *       - select: [dur, ts, name, leaf.function, path, waker.thread, {ms: dur / 1ms}]
 *       - sort: -dur
 *       - limit: 20
 *
 * Without a `select` the columns are those that rows of the kind are told by, and those that `sort`
 * names. An expression that `sort` goes by is a column behind them for as long as that takes.
 *
 * Every column is a key: lines are in the order of the sort, then of all columns, and lines that
 * are equal in all of them cannot be told apart. When a plain limit follows, at once or behind a
 * sort, the table is cut while the rows are read: it grows to some multiple of the limit, is cut
 * to the first lines, and from then on takes only what comes before the last of them.
 */
#include "query/lines.h"

#include "util/error.h"

struct column {
    const char *name, *full;
    struct fm_operand *operand;      /* or */
    struct fm_expr *expr;            /* or the path of the row's stack */
    const struct fm_yaml_node *at;
};

struct fm_lines {
    struct column *column;
    size_t n, cap;
    const struct fm_schema *schema;  /* of all columns */
};

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot == NULL || dot[1] == '\0' ? name : dot + 1;
}

static struct column *add(struct fm_compile *c, struct fm_lines *l)
{
    struct column *list;

    if (l->n == l->cap) {
        list = fm_arena_alloc(c->arena, (2 * l->cap + 8) * sizeof *list);
        if (list == NULL)
            return NULL;
        if (l->n > 0)
            memcpy(list, l->column, l->n * sizeof *list);
        l->column = list;
        l->cap = 2 * l->cap + 8;
    }
    l->column[l->n] = (struct column){ .name = "", .full = "" };
    return &l->column[l->n++];
}

/* ------------------------------------------------------------------- names */

/* What only groups have; NULL: it is no such name. */
static const char *of_groups(const char *name)
{
    static const char *const measure[] = {
        "self", "total", "samples", "self_share", "total_share"
    };
    static const char *const scope[] = { "any.", "caller.", "callee." };

    for (size_t i = 0; i < FM_COUNT(measure); i++) {
        if (strcmp(name, measure[i]) == 0)
            return "is a measure of groups: a row has 'weight' and 'count'";
    }
    for (size_t i = 0; i < FM_COUNT(scope); i++) {
        if (strncmp(name, scope[i], strlen(scope[i])) == 0)
            return "has several values in a row: it is for 'group'; a row has leaf.X and root.X";
    }
    return NULL;
}

static void unknown_column(struct fm_compile *c, const struct fm_yaml_node *at, const char *name)
{
    const char *why = of_groups(name);
    const char *const *list;
    size_t n, skip;

    if (why != NULL) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_PLACE), at, "'%s' %s", name, why);
        return;
    }
    if (fm_operand_via(name, strlen(name), &skip) != 0) {
        fm_operand_unlinked(c, at, NULL, name);
        return;
    }
    list = fm_operand_names(c, FM_SCOPE_ROWS, &n);
    if (list != NULL)
        fm_yaml_unknown(c->log, at, "column", name, list, n);
}

/* What a name stands for; false: it is unknown, which is logged when there is a node. */
static bool resolve(struct fm_compile *c, struct column *col, const char *name,
                    const struct fm_yaml_node *at)
{
    uint32_t k = FM_NONE;

    if (strcmp(name, "path") == 0)
        return true;
    if (of_groups(name) == NULL)     /* label.self is one */
        k = fm_operand_find(c, FM_SCOPE_ROWS, name, strlen(name));
    if (k == FM_NONE) {
        if (at != NULL && !c->arena->oom)
            unknown_column(c, at, name);
        return false;
    }
    col->operand = c->operand[k];
    return true;
}

static bool add_name(struct fm_compile *c, struct fm_lines *l, const char *name,
                     const struct fm_yaml_node *at)
{
    struct column *col = add(c, l);

    if (col == NULL)
        return false;
    col->full = name;
    col->name = last_part(name);
    col->at = at;
    if (resolve(c, col, name, at))
        return true;
    l->n--;
    return false;
}

static bool is_name(const struct fm_scalar *s)
{
    bool ok = s->n > 0 && !(s->text[0] >= '0' && s->text[0] <= '9');

    for (size_t i = 0; ok && i < s->n; i++) {
        char ch = s->text[i];
        ok = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9')
             || ch == '_' || ch == '.';
    }
    return ok && !(s->n == 4 && memcmp(s->text, "true", 4) == 0)
           && !(s->n == 5 && memcmp(s->text, "false", 5) == 0);
}

/* An expression over the columns of rows; NULL: logged. */
static struct fm_expr *row_expr(struct fm_compile *c, const struct fm_scalar *s)
{
    static const char *const aggregate[] = {
        "count(", "sum(", "avg(", "distinct(", "first(", "last(", "stddev(", "rate(", "share("
    };
    struct fm_expr *e = fm_compile_expr(c, FM_SCOPE_ROWS, s);

    bool grouped = e == NULL && s->n > 1 && s->text[0] == 'p' && s->text[1] >= '0'
                   && s->text[1] <= '9';

    for (size_t i = 0; e == NULL && i < FM_COUNT(aggregate); i++)
        grouped |= strstr(s->text, aggregate[i]) != NULL;
    if (grouped && !c->arena->oom)
        fm_yaml_note(c->log, "measures such as sum(x) and p99(x) are of groups: here each row is "
                             "a line of its own");
    return e;
}

/* {NAME: EXPRESSION}; a name alone is that column by another name. */
static bool add_named(struct fm_compile *c, struct fm_lines *l, const struct fm_yaml_pair *pair)
{
    struct fm_scalar s;
    struct column *col;

    if (pair->value->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), pair->value,
                      "a column is a name or an expression");
        return false;
    }
    if (!fm_scalar_get(c->q, c->arena, c->log, pair->value, &s))
        return false;
    if (is_name(&s)) {
        if (!add_name(c, l, s.text, pair->value))
            return false;
        col = &l->column[l->n - 1];
    } else {
        struct fm_expr *e = row_expr(c, &s);
        col = e == NULL ? NULL : add(c, l);
        if (col == NULL)
            return false;
        col->expr = e;
        col->at = pair->value;
    }
    col->name = col->full = pair->key;
    return true;
}

/* ------------------------------------------------------------------ schema */

static enum fm_cell_type cell_of(const struct fm_compile *c, const struct column *col)
{
    if (col->expr != NULL)
        return fm_expr_cell(c, NULL, col->expr);
    return col->operand == NULL || col->operand->type == FM_TYPE_STACK
               ? FM_CELL_PATH : fm_type_cell(col->operand->type);
}

/* Weights, durations and numbers of samples add up, and grow with the recording. */
static bool is_amount(const struct fm_operand *o)
{
    return o != NULL
           && (o->place == FM_AT_WEIGHT || o->place == FM_AT_SELF
               || (o->place == FM_AT_COLUMN && (o->id == FM_COL_DUR || o->id == FM_COL_COUNT
                                                || o->id == FM_COL_WEIGHT)));
}

static void describe_column(const struct fm_compile *c, const struct column *col,
                            struct fm_schema_column *to)
{
    *to = (struct fm_schema_column){ .name = col->name, .full = col->full, .unit = "",
                                     .type = cell_of(c, col), .key = true };
    if (col->expr != NULL) {
        to->unit = col->expr->unit == NULL ? "" : col->expr->unit;
        to->untyped = c->store == NULL;
    } else if (col->operand != NULL) {
        to->unit = col->operand->unit;
        to->untyped = col->operand->untyped;
    }
    to->additive = to->amount = is_amount(col->operand);
}

/* Columns are named by their last part; by the whole name where two would be named alike. */
static bool settle_names(struct fm_compile *c, struct fm_lines *l)
{
    for (size_t i = 0; i < l->n; i++) {
        for (size_t k = 0; k < l->n; k++) {
            if (k == i || strcmp(last_part(l->column[k].full), l->column[i].name) != 0)
                continue;
            l->column[i].name = l->column[i].full;
            break;
        }
    }
    for (size_t i = 0; i < l->n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(l->column[k].name, l->column[i].name) != 0)
                continue;
            if (l->column[i].at != NULL)
                fm_yaml_error(fm_yaml_as(c->log, FM_YAML_DUPLICATE), l->column[i].at,
                              "column '%s' is there already", l->column[i].name);
            return false;
        }
    }
    return true;
}

/* Settles the columns; *schema becomes theirs. */
static bool describe(struct fm_compile *c, struct fm_lines *l, struct fm_schema *schema)
{
    if (!settle_names(c, l))
        return false;
    schema->n = 0;
    for (size_t i = 0; i < l->n; i++) {
        struct fm_schema_column *to = fm_schema_add(c->arena, schema);
        if (to == NULL)
            return false;
        describe_column(c, &l->column[i], to);
    }
    l->schema = fm_schema_copy(c->arena, schema);
    return l->schema != NULL;
}

/* ---------------------------------------------------------------- defaults */

/* What rows are told by; a name that the store has no column for is left out. */
static const char *const told_by[FM_FROMS][9] = {
    [FM_FROM_SAMPLES] = { "ts", "weight", "count", "thread", "path" },
    [FM_FROM_SPANS] = { "ts", "dur", "self_dur", "name", "category", "process", "thread" },
    [FM_FROM_COUNTERS] = { "ts", "event", "name", "value" },
    [FM_FROM_INSTANTS] = { "ts", "name", "thread" },
    [FM_FROM_OFFCPU] = { "ts", "dur", "state", "process", "thread", "path" },
    [FM_FROM_WAKEUPS] = { "ts", "process", "thread", "waker.thread", "path" },
    [FM_FROM_RUNQ] = { "ts", "dur", "cpu", "process", "thread", "path" },
    [FM_FROM_LAUNCHES] = { "ts", "dur", "name", "thread", "kernel", "link.ts", "link.dur", "path" }
};

static bool is_left_out(const struct fm_compile *c, const struct fm_operand *o)
{
    return c->store != NULL && o != NULL && o->place == FM_AT_COLUMN && o->via == 0
           && fm_store_column_info(c->store, o->id)->asked;
}

struct fm_lines *fm_lines_default(struct fm_compile *c, struct fm_schema *schema)
{
    struct fm_lines *l = fm_arena_alloc(c->arena, sizeof *l);

    fm_assert(c->from < FM_FROM_THREADS);
    for (size_t i = 0; l != NULL && told_by[c->from][i] != NULL; i++) {
        size_t n = c->operands;
        if (add_name(c, l, told_by[c->from][i], NULL)
            && is_left_out(c, l->column[l->n - 1].operand)) {
            l->n--;
            c->operands = n;
        }
    }
    return l != NULL && !c->arena->oom && describe(c, l, schema) ? l : NULL;
}

uint32_t fm_lines_name(struct fm_compile *c, struct fm_lines *l, const char *name,
                       const struct fm_yaml_node *at, struct fm_schema *schema)
{
    uint32_t k = fm_schema_find(schema, name, strlen(name));

    if (k != FM_NONE)
        return k;
    if (!add_name(c, l, name, at) || !describe(c, l, schema))
        return FM_NONE;
    return (uint32_t)(l->n - 1);
}

uint32_t fm_lines_expr(struct fm_compile *c, struct fm_lines *l, const struct fm_scalar *s)
{
    struct fm_expr *e = row_expr(c, s);
    struct column *col = e == NULL ? NULL : add(c, l);
    struct fm_schema *wide = col == NULL ? NULL : fm_schema_copy(c->arena, l->schema);
    struct fm_schema_column *to = wide == NULL ? NULL : fm_schema_add(c->arena, wide);

    if (to == NULL)
        return FM_NONE;
    col->expr = e;
    describe_column(c, col, to);
    to->key = false;
    l->schema = wide;
    return (uint32_t)(l->n - 1);
}

/* ------------------------------------------------------------------ select */

static bool add_item(struct fm_compile *c, struct fm_lines *l, const struct fm_yaml_node *node)
{
    struct fm_scalar s;
    bool ok = true;

    if (node->type == FM_YAML_MAP) {
        for (size_t i = 0; i < node->n; i++)
            ok = add_named(c, l, &node->pair[i]) && ok;
        return ok;
    }
    if (node->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node, "'select' is the name of a column");
        return false;
    }
    return fm_scalar_get(c->q, c->arena, c->log, node, &s)
           && (s.unknown || add_name(c, l, s.text, node));
}

void *fm_lines_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    const struct fm_yaml_node *node = step->at->value;
    struct fm_compile *c = &pipe->c;
    struct fm_lines *l = fm_arena_alloc(c->arena, sizeof *l);
    bool ok = true;

    if (l == NULL)
        return NULL;
    if (node->type != FM_YAML_SCALAR && node->n == 0) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node,
                      "'select' takes [COLUMN, {NAME: EXPRESSION} …]");
        return NULL;
    }
    if (node->type == FM_YAML_LIST) {
        for (size_t i = 0; i < node->n; i++)
            ok = add_item(c, l, node->item[i]) && ok;
    } else {
        ok = add_item(c, l, node);
    }
    return ok && describe(c, l, schema) ? l : NULL;
}

/* --------------------------------------------------------------------- run */

#define CUT_LINES 16384              /* lines there are before a table is cut, at least */

struct filler {
    struct fm_flow *flow;
    const struct fm_lines *l;
    struct fm_table *t;
    const struct fm_keep *cut;        /* NULL: all lines stay */
    size_t room;                     /* lines before it is cut the next time */
    uint32_t worst;                  /* the last of those kept; FM_NONE: not cut yet */
    struct fm_reader r;
    uint32_t *path;                  /* node -> path */
    struct fm_node_paths linked;     /* the same for stacks of linked rows */
};

static bool make_paths(struct filler *f)
{
    const struct fm_view *v = &f->flow->view;
    bool some = false, own = false;

    for (size_t i = 0; i < f->l->n; i++) {
        some |= f->l->schema->column[i].type == FM_CELL_PATH;
        own |= f->l->column[i].expr == NULL && f->l->column[i].operand == NULL;
    }
    if (some && !fm_trie_init(&f->t->paths.trie, f->t->mem))
        return false;
    if (!own)
        return true;
    f->path = fm_view_paths(v, f->flow->c->arena, &f->t->paths);
    return f->path != NULL;
}

static bool bind(struct filler *f)
{
    fm_reader_init(&f->r, f->flow->c, &f->flow->view, &f->flow->sel);
    fm_reader_need_weight(&f->r);
    for (size_t i = 0; i < f->l->n; i++) {
        const struct column *col = &f->l->column[i];
        if (col->operand != NULL)
            fm_reader_need(&f->r, col->operand);
        else if (col->expr != NULL)
            fm_reader_need_expr(&f->r, col->expr);
        else
            fm_reader_need_stack(&f->r);
    }
    return make_paths(f) && fm_operand_nodes(f->flow->c, &f->flow->view);
}

/* The lane of a column of rows as a cell. false: no memory. */
static bool put_lane(struct filler *f, uint32_t line, size_t c, enum fm_type type, uint64_t lane)
{
    struct fm_table *t = f->t;
    uint32_t path;

    switch (type) {
    case FM_TYPE_THREAD:
        lane = fm_store_thread_name(t->store, (fm_thread)lane, false, 0);
        if (lane != 0)                   /* else a thread without a name */
            fm_table_id(t, line, c, (uint32_t)lane);
        return true;
    case FM_TYPE_STRING:
        fm_table_id(t, line, c, (uint32_t)lane);
        return true;
    case FM_TYPE_STACK:
        if (!fm_linked_path(t->store, f->flow->c->arena, &t->paths, &f->linked, (fm_node)lane,
                            &path))
            return false;
        if (path != 0)
            fm_table_id(t, line, c, path);
        return true;
    case FM_TYPE_F64:
        fm_table_f64(t, line, c, fm_bits_f64(lane));
        return true;
    case FM_TYPE_I64:
    case FM_TYPE_TIME:
    case FM_TYPE_DUR:
        fm_table_int(t, line, c, (int64_t)lane);
        return true;
    default:
        fm_table_int(t, line, c, (fm_i128)lane);
        return true;
    }
}

static bool put_cell(struct filler *f, uint32_t line, size_t c, uint32_t place)
{
    const struct column *col = &f->l->column[c];
    struct fm_value value;
    uint64_t lane;
    uint32_t node;

    if (col->expr != NULL) {
        value = fm_reader_eval(&f->r, col->expr, place);
        return fm_table_put(f->t, line, c, &value);
    }
    if (col->operand != NULL)
        return !fm_reader_lane(&f->r, col->operand, place, &lane)
               || put_lane(f, line, c, col->operand->type, lane);
    node = fm_reader_node(&f->r, place);
    if (node != 0 && node != FM_NONE)
        fm_table_id(f->t, line, c, f->path[node]);
    return true;
}

/* The lines that are kept stand alone, in order. */
static enum fm_status cut(struct filler *f, struct fm_error *err)
{
    enum fm_status status = fm_keep_first(f->cut, f->flow->c, f->t, err);

    if (status == FM_OK && !fm_table_compact(f->t))
        status = fm_error_nomem(err);
    f->worst = f->t->n < f->cut->rows || f->cut->rows == 0 ? FM_NONE : (uint32_t)f->t->n - 1;
    f->room = 2 * (size_t)f->cut->rows + FM_MAX(f->t->paths.trie.n, CUT_LINES);
    return status;
}

static enum fm_status add_line(struct filler *f, uint32_t place, struct fm_error *err)
{
    uint32_t line;

    if (f->cut != NULL && f->t->n >= f->room) {
        enum fm_status status = cut(f, err);
        if (status != FM_OK)
            return status;
    }
    line = fm_table_add(f->t);
    if (line == FM_NONE)
        return fm_error_nomem(err);
    for (size_t c = 0; c < f->l->n; c++) {
        if (!put_cell(f, line, c, place))
            return fm_error_nomem(err);
    }
    if (f->cut == NULL || f->worst == FM_NONE || f->cut->expr != NULL)
        return FM_OK;
    if (fm_table_order(f->t, f->cut->key, f->cut->keys, line, f->worst) >= 0) {
        f->t->rows--;
        f->t->n--;
    }
    return FM_OK;
}

static enum fm_status add_block(struct filler *f, struct fm_totals *totals, struct fm_error *err)
{
    enum fm_status status = FM_OK;

    for (uint32_t i = 0; i < f->r.scan.n && status == FM_OK; i++) {
        uint32_t place = f->r.scan.live[i];
        totals->weight += (fm_i128)fm_reader_weight(&f->r, place);
        totals->samples = fm_add_sat_u64(totals->samples, fm_reader_count(&f->r, place));
        totals->rows++;
        status = add_line(f, place, err);
    }
    return status;
}

enum fm_status fm_lines_fill(struct fm_flow *flow, const struct fm_step *step,
                             const struct fm_lines *l, const struct fm_keep *cut,
                             struct fm_error *err)
{
    struct fm_totals *totals = &flow->totals;
    struct filler f = { .flow = flow, .l = l, .t = fm_flow_table(flow, step), .cut = cut,
                        .worst = FM_NONE };
    enum fm_status status;

    f.t->schema = l->schema;
    if (cut != NULL)
        f.room = 2 * (size_t)cut->rows + CUT_LINES;
    totals->samples = totals->rows = 0;
    totals->weight = 0;
    if (!bind(&f))
        return fm_error_nomem(err);
    status = fm_reader_start(&f.r, err);
    if (status != FM_OK)
        return status;
    while (status == FM_OK && fm_reader_next(&f.r))
        status = add_block(&f, totals, err);
    fm_reader_release(&f.r);
    if (!totals->known)
        totals->selected = totals->weight;
    f.t->samples = totals->samples;
    f.t->selected = totals->selected;
    if (status == FM_OK && flow->c->arena->oom)
        status = fm_error_nomem(err);
    return status;
}

enum fm_status fm_lines_run(struct fm_flow *flow, const struct fm_step *step,
                            struct fm_error *err)
{
    struct fm_keep cut;
    bool cuts = fm_keep_ahead(flow->pipe, step + 1, &cut);

    return fm_lines_fill(flow, step, step->object, cuts ? &cut : NULL, err);
}
