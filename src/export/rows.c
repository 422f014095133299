/*
 * rows.c - the selected rows as a table, one line a row: CSV, TSV and JSON lines, for spreadsheets,
 * SQL engines and scripts.
 *
 *     source,event,metric,kind,ts,clock,dur,weight,unit,count,value,process,pid,thread,tid,...
 *     a.data,cycles,cycles,sample,1000,7243000001000,,250000,cycles,1,,make,12,cc1,13,...
 *
 * Nothing is summed, scaled or rounded: weight is the row's own in its event's unit, whatever the
 * selection weighs by, so rows of any events stand side by side. Columns are named as in queries,
 * and mean the same; those of the table below are always there, then come the labels that were read
 * and hold a value somewhere in the input. A row's stack is that after --hide and --show: `stack`
 * is the number of its node (equal numbers are equal stacks; stacks that differ in addresses alone
 * have the same path and different numbers), `path` its frames, root first.
 *
 *     csv     RFC 4180 with LF; no value is an empty field, an empty text is ""
 *     tsv     tab, line feed, carriage return and backslash in a text are \t \n \r \\; no value is
 *             an empty field
 *     jsonl   an object a line; no value is left out; path is an array
 *
 * The rows are streamed in the order of the store. A scan takes up to 48 columns: with more labels
 * several scans run side by side, block by block.
 */
#include "export/export.h"

#include "util/error.h"

enum what {
    WHAT_COLUMN,        /* a column of the store, as it is */
    WHAT_VALUE,         /* the value of a counter: i64 or f64 */
    WHAT_DERIVED,       /* a value of the thread table, the source or the event */
    WHAT_KIND, WHAT_UNIT, WHAT_TS, WHAT_CLOCK, WHAT_STACK, WHAT_DEPTH,
    WHAT_FUNCTION, WHAT_MODULE, WHAT_FRAME_KIND, WHAT_PATH
};

struct fixed {
    const char *name;
    enum what what;
    int of;             /* column or enum fm_derived */
};

static const struct fixed fixed[] = {
    {"source", WHAT_DERIVED, FM_DERIVED_SOURCE},
    {"event", WHAT_DERIVED, FM_DERIVED_EVENT},
    {"metric", WHAT_DERIVED, FM_DERIVED_METRIC},
    {"kind", WHAT_KIND, 0},
    {"ts", WHAT_TS, FM_COL_TS},
    {"clock", WHAT_CLOCK, FM_COL_TS},
    {"dur", WHAT_COLUMN, FM_COL_DUR},
    {"weight", WHAT_COLUMN, FM_COL_WEIGHT},
    {"unit", WHAT_UNIT, 0},
    {"count", WHAT_COLUMN, FM_COL_COUNT},
    {"value", WHAT_VALUE, FM_COL_VALUE},
    {"process", WHAT_DERIVED, FM_DERIVED_PROCESS},
    {"pid", WHAT_DERIVED, FM_DERIVED_PID},
    {"thread", WHAT_COLUMN, FM_COL_THREAD},
    {"tid", WHAT_DERIVED, FM_DERIVED_TID},
    {"java_tid", WHAT_DERIVED, FM_DERIVED_JAVA_TID},
    {"comm", WHAT_COLUMN, FM_COL_COMM},
    {"command", WHAT_DERIVED, FM_DERIVED_COMMAND},
    {"container", WHAT_DERIVED, FM_DERIVED_CONTAINER},
    {"cpu", WHAT_COLUMN, FM_COL_CPU},
    {"name", WHAT_COLUMN, FM_COL_NAME},
    {"category", WHAT_COLUMN, FM_COL_CATEGORY},
    {"stack", WHAT_STACK, FM_COL_STACK},
    {"depth", WHAT_DEPTH, FM_COL_STACK},
    {"leaf.function", WHAT_FUNCTION, FM_COL_STACK},
    {"leaf.module", WHAT_MODULE, FM_COL_STACK},
    {"leaf.kind", WHAT_FRAME_KIND, FM_COL_STACK},
    {"path", WHAT_PATH, FM_COL_STACK},
};

enum form { FORM_CSV, FORM_TSV, FORM_JSONL };

struct column {
    const char *name;
    size_t name_n;
    enum what what;
    int of;
    bool bare;               /* JSON: numbers and truth stand without quotes */
    uint32_t scan, slot;
};

struct table {
    enum form form;
    const struct fm_selection *sel;
    struct fm_store *store;
    struct fm_mem *mem;
    struct fm_out *out;
    struct column *column;
    size_t columns;
    struct fm_scan *scan;
    size_t scans, opened;
    const struct fm_tree_node *tree;
    fm_str *label;           /* by frame */
    size_t frames;
    int64_t start;
    struct fm_pseudo_labels pseudo;
    struct fm_out text;      /* one cell */
    struct fm_out path;      /* of the last row */
    uint32_t path_node;
    fm_str path_pseudo[2 * FM_PSEUDO_MAX];
    bool path_known;
    uint32_t *chain;         /* nodes of a stack, leaf first */
    size_t chain_cap;
};

/* The row that is written. */
struct place {
    uint32_t at;             /* in its block */
    uint32_t node, event;
    fm_thread thread;
    bool stack;              /* it has one */
};

/* ------------------------------------------------------------------- cells */

static void put_text(const struct table *t, const char *s, size_t n)
{
    if (t->form == FORM_JSONL)
        fm_out_json(t->out, s, n);
    else if (t->form == FORM_TSV)
        fm_out_tsv(t->out, s, n);
    else if (n == 0)
        fm_out_text(t->out, "\"\"");
    else
        fm_out_csv(t->out, s, n);
}

static void put_str(const struct table *t, fm_str id)
{
    size_t n;
    const char *s = fm_store_str(t->store, id, &n);

    put_text(t, s, n);
}

static void put_column(struct table *t, const struct column *col, uint64_t value)
{
    enum fm_type type = fm_store_column_info(t->store, (fm_column)col->of)->type;

    if (type == FM_TYPE_STRING) {
        put_str(t, (fm_str)value);
    } else if (type == FM_TYPE_THREAD) {
        put_str(t, fm_store_thread_name(t->store, (fm_thread)value, false, 0));
    } else if (col->bare) {
        fm_name_value(t->store, (fm_column)col->of, value, t->out);
    } else {
        t->text.n = 0;
        fm_name_value(t->store, (fm_column)col->of, value, &t->text);
        put_text(t, t->text.buf, t->text.n);
    }
}

static void put_derived(struct table *t, const struct column *col, uint64_t value)
{
    if (col->bare)
        fm_out_i64(t->out, (int64_t)value);
    else
        put_str(t, (fm_str)value);
}

/* -------------------------------------------------------------------- path */

static void add_frame(struct table *t, fm_str label)
{
    size_t n;
    const char *s = fm_store_str(t->store, label, &n);

    if (t->path.n > (t->form == FORM_JSONL))
        fm_out_char(&t->path, t->form == FORM_JSONL ? ',' : ';');
    if (t->form == FORM_JSONL)
        fm_out_json(&t->path, s, n);
    else
        fm_out_bytes(&t->path, s, n);
}

/* Makes the path of a row unless it is that of the row before; false: no memory. */
static bool make_path(struct table *t, const struct place *p)
{
    fm_str pseudo[2 * FM_PSEUDO_MAX];
    size_t depth = t->tree[p->node].depth, n = 0;
    bool same = t->path_known && t->path_node == p->node;

    for (size_t k = 0; k < t->pseudo.n; k++) {
        pseudo[k] = fm_pseudo_label(&t->pseudo, &t->scan[0], k, p->at);
        same = same && pseudo[k] == t->path_pseudo[k];
    }
    if (t->pseudo.oom)
        return false;
    if (same)
        return true;
    if (!fm_grow(t->mem, (void **)&t->chain, &t->chain_cap, depth + 1, sizeof *t->chain))
        return false;
    for (uint32_t node = p->node; node != 0; node = t->tree[node].parent)
        t->chain[n++] = node;
    t->path.n = 0;
    if (t->form == FORM_JSONL)
        fm_out_char(&t->path, '[');
    for (size_t k = 0; k < t->pseudo.n; k++) {
        t->path_pseudo[k] = pseudo[k];
        if (k == t->pseudo.prepends) {
            while (n > 0)
                add_frame(t, t->label[t->tree[t->chain[--n]].frame]);
        }
        if (pseudo[k] != FM_PSEUDO_SKIP)
            add_frame(t, pseudo[k]);
    }
    while (n > 0)
        add_frame(t, t->label[t->tree[t->chain[--n]].frame]);
    if (t->form == FORM_JSONL)
        fm_out_char(&t->path, ']');
    t->path_node = p->node;
    t->path_known = true;
    return t->path.status == FM_OK;
}

static void put_path(struct table *t)
{
    if (t->form == FORM_JSONL)
        fm_out_bytes(t->out, t->path.buf, t->path.n);
    else
        put_text(t, t->path.buf, t->path.n);
}

/* -------------------------------------------------------------------- rows */

/* What the cell holds is there. *value: of the store's column, or the derived one. */
static bool has_value(const struct table *t, const struct column *col, const struct place *p,
                      uint64_t *value)
{
    const struct fm_scan *scan = &t->scan[col->scan];

    *value = 0;
    switch (col->what) {
    case WHAT_KIND:
    case WHAT_UNIT:
        return true;
    case WHAT_DERIVED:
        return fm_derived_value(t->store, (enum fm_derived)col->of, p->thread, scan->source,
                                p->event, value);
    case WHAT_STACK:
    case WHAT_DEPTH:
        return p->stack;
    case WHAT_PATH:
        return p->stack || t->path.n > (t->form == FORM_JSONL ? 2 : 0);
    case WHAT_FUNCTION:
    case WHAT_FRAME_KIND:
        return p->node != 0;
    case WHAT_MODULE:
        return p->node != 0
               && fm_selection_frame(t->sel, t->tree[p->node].frame)->module != FM_NONE;
    default:
        *value = scan->value[col->slot][p->at];
        if (col->what == WHAT_COLUMN && col->of == FM_COL_THREAD && p->thread != FM_NONE
            && fm_store_thread_name(t->store, p->thread, false, 0) == 0)
            return false;              /* a thread without a name, as in queries */
        return fm_scan_valid(scan, col->slot, p->at) || col->of == FM_COL_COUNT;
    }
}

static void put_frame(struct table *t, const struct column *col, const struct place *p)
{
    fm_frame f = t->tree[p->node].frame;
    const struct fm_frame_row *frame = fm_selection_frame(t->sel, f);
    const char *kind;
    fm_str dso;

    if (col->what == WHAT_FUNCTION) {
        put_str(t, t->label[f]);
    } else if (col->what == WHAT_FRAME_KIND) {
        kind = fm_frame_kind_text((enum fm_frame_kind)frame->kind);
        put_text(t, kind, strlen(kind));
    } else {
        dso = fm_name_dso(t->store, frame->module);
        if (dso == FM_NONE)
            t->out->status = FM_NOMEM;
        else
            put_str(t, dso);
    }
}

/* ts + shift - start; what does not fit 64 bits stands at the end it passed. */
static int64_t since_start(const struct table *t, uint64_t value)
{
    int64_t shift = fm_store_source_row(t->store, t->scan[0].source)->shift, ts;

    if (!fm_add_i64((int64_t)value, shift, &ts))
        return shift > 0 ? INT64_MAX : INT64_MIN;
    if (__builtin_sub_overflow(ts, t->start, &ts))
        return t->start > 0 ? INT64_MIN : INT64_MAX;
    return ts;
}

static void put_cell(struct table *t, const struct column *col, const struct place *p,
                     uint64_t value)
{
    const struct fm_event *event = fm_store_event_row(t->store, p->event);
    const char *kind;

    switch (col->what) {
    case WHAT_COLUMN:
        put_column(t, col, value);
        break;
    case WHAT_VALUE:
        if (event->value_is_f64)
            fm_out_f64(t->out, fm_bits_f64(value));
        else
            fm_out_i64(t->out, (int64_t)value);
        break;
    case WHAT_DERIVED:
        put_derived(t, col, value);
        break;
    case WHAT_KIND:
        kind = fm_kind_text(event->kind);
        put_text(t, kind, strlen(kind));
        break;
    case WHAT_UNIT:
        put_str(t, event->unit);
        break;
    case WHAT_TS:
        fm_out_i64(t->out, since_start(t, value));
        break;
    case WHAT_CLOCK:
        fm_out_i64(t->out, (int64_t)value);
        break;
    case WHAT_STACK:
        fm_out_u64(t->out, p->node);
        break;
    case WHAT_DEPTH:
        fm_out_u64(t->out, t->tree[p->node].depth);
        break;
    case WHAT_PATH:
        put_path(t);
        break;
    default:
        put_frame(t, col, p);
        break;
    }
}

static void put_row(struct table *t, const struct place *p)
{
    char between = t->form == FORM_TSV ? '\t' : ',';
    bool any = false;

    if (t->form == FORM_JSONL)
        fm_out_char(t->out, '{');
    for (size_t c = 0; c < t->columns; c++) {
        const struct column *col = &t->column[c];
        uint64_t value;
        bool has = has_value(t, col, p, &value);

        if (t->form != FORM_JSONL ? c > 0 : has && any)
            fm_out_char(t->out, between);
        if (!has)
            continue;
        any = true;
        if (t->form == FORM_JSONL) {
            fm_out_json(t->out, col->name, col->name_n);
            fm_out_char(t->out, ':');
        }
        put_cell(t, col, p, value);
    }
    fm_out_text(t->out, t->form == FORM_JSONL ? "}\n" : "\n");
}

static void put_head(struct table *t)
{
    for (size_t c = 0; c < t->columns && t->form != FORM_JSONL; c++) {
        if (c > 0)
            fm_out_char(t->out, t->form == FORM_TSV ? '\t' : ',');
        put_text(t, t->column[c].name, t->column[c].name_n);
    }
    if (t->form != FORM_JSONL)
        fm_out_char(t->out, '\n');
}

/* All scans stand on the same block: the next one. */
static bool next_block(struct table *t)
{
    bool some = fm_scan_next(&t->scan[0]);

    for (size_t i = 1; i < t->scans; i++) {
        bool too = fm_scan_next(&t->scan[i]);

        fm_assert(too == some && (!some || t->scan[i].first_row == t->scan[0].first_row));
    }
    return some;
}

static enum fm_status put_rows(struct table *t, struct fm_error *err)
{
    struct fm_scan *scan = &t->scan[0];
    size_t stack = fm_scan_find(scan, FM_COL_STACK), thread = fm_scan_find(scan, FM_COL_THREAD);

    put_head(t);
    while (next_block(t)) {
        for (uint32_t i = 0; i < scan->n; i++) {
            struct place p = {.at = scan->live[i], .thread = FM_NONE};

            p.stack = fm_scan_valid(scan, stack, p.at);
            p.node = fm_selection_node(t->sel, p.stack, scan->value[stack][p.at]);
            if (p.node == FM_NONE)
                continue;
            p.stack = p.node != 0;         /* a stack of no frames is none, as in queries */
            p.event = (uint32_t)scan->event[p.at];
            if (fm_scan_valid(scan, thread, p.at))
                p.thread = (fm_thread)scan->value[thread][p.at];
            if (!make_path(t, &p))
                return fm_error_nomem(err);
            put_row(t, &p);
        }
        if (t->out->status != FM_OK)
            break;
    }
    return t->text.status == FM_OK ? FM_OK : fm_error_nomem(err);
}

/* ----------------------------------------------------------------- columns */

static bool is_bare(const struct table *t, enum what what, int of)
{
    switch (what) {
    case WHAT_COLUMN:
        switch (fm_store_column_info(t->store, (fm_column)of)->type) {
        case FM_TYPE_STRING:
        case FM_TYPE_ADDRESS:
        case FM_TYPE_STACK:
        case FM_TYPE_THREAD:
            return false;
        default:
            return true;
        }
    case WHAT_DERIVED:
        return fm_derived_type((enum fm_derived)of) != FM_TYPE_STRING;
    default:
        return true;
    }
}

static void add_column(struct table *t, const char *name, enum what what, int of)
{
    struct column *col = &t->column[t->columns++];

    *col = (struct column){.name = name, .name_n = strlen(name), .what = what, .of = of,
                           .bare = is_bare(t, what, of)};
}

/* A label may have the name of a column above: it is told apart as in queries. */
static const char *label_name(struct fm_arena *arena, const char *name)
{
    for (size_t i = 0; i < FM_COUNT(fixed); i++)
        if (strcmp(fixed[i].name, name) == 0)
            return fm_arena_printf(arena, "label.%s", name);
    return name;
}

static bool make_columns(struct table *t, struct fm_arena *arena)
{
    size_t all = fm_store_columns(t->store);

    t->column = fm_arena_alloc(arena, (FM_COUNT(fixed) + all) * sizeof *t->column);
    if (t->column == NULL)
        return false;
    for (size_t i = 0; i < FM_COUNT(fixed); i++)
        add_column(t, fixed[i].name, fixed[i].what, fixed[i].of);
    for (fm_column c = FM_COL_LABELS; c < all; c++) {
        const struct fm_column_info *info = fm_store_column_info(t->store, c);
        const char *name = label_name(arena, fm_store_str(t->store, info->name, NULL));

        if (name == NULL)
            return false;
        if (info->rows > 0)
            add_column(t, name, WHAT_COLUMN, (int)c);
    }
    return true;
}

static bool in_store(enum what what)
{
    return what != WHAT_DERIVED && what != WHAT_KIND && what != WHAT_UNIT;
}

/* Gives every column a place in a scan: pseudo frames' and all but labels in the first one. */
static enum fm_status open_scans(struct table *t, struct fm_arena *arena, struct fm_error *err)
{
    fm_column want[FM_SCAN_COLUMNS];
    size_t n = 0, most = 1 + t->columns / (FM_SCAN_COLUMNS / 2);
    enum fm_status status = FM_OK;

    t->scan = fm_arena_alloc(arena, most * sizeof *t->scan);
    if (t->scan == NULL)
        return fm_error_nomem(err);
    fm_pseudo_columns(t->sel, want, &n);
    for (size_t c = 0; c <= t->columns && status == FM_OK; c++) {
        struct column *col = &t->column[c];
        size_t at = 0;

        if (c == t->columns || n == FM_SCAN_COLUMNS) {
            fm_assert(t->opened < most);
            status = fm_scan_init(&t->scan[t->opened], t->sel, want, n, err);
            t->opened += status == FM_OK;
            n = 0;
        }
        if (c == t->columns || status != FM_OK || !in_store(col->what))
            continue;
        while (at < n && want[at] != (fm_column)col->of)
            at++;
        if (at == n)
            want[n++] = (fm_column)col->of;
        col->scan = (uint32_t)t->opened;
        col->slot = (uint32_t)at;
    }
    t->scans = t->opened;
    return status;
}

static enum fm_status write_table(struct fm_export *export, enum form form, struct fm_error *err)
{
    struct fm_names names = export->names;
    struct table t = {.form = form, .sel = export->sel, .store = export->sel->store,
                      .mem = &export->ctx->mem, .out = export->out};
    struct fm_arena arena;
    enum fm_status status = FM_OK;
    int64_t end;
    size_t nodes;

    names.folded = form != FORM_JSONL;
    fm_arena_init(&arena, t.mem);
    t.tree = fm_selection_tree(t.sel, &nodes);
    (void)fm_store_start(t.store, &t.start, &end);
    if (fm_out_init(&t.text, t.mem, NULL) != FM_OK || fm_out_init(&t.path, t.mem, NULL) != FM_OK
        || !make_columns(&t, &arena))
        status = fm_error_nomem(err);
    if (status == FM_OK)
        status = fm_selection_labels(t.sel, &names, &t.label, &t.frames, err);
    if (status == FM_OK)
        status = open_scans(&t, &arena, err);
    if (status == FM_OK) {
        fm_pseudo_labels_init(&t.pseudo, t.sel, &t.scan[0], &names);
        status = put_rows(&t, err);
        fm_pseudo_labels_release(&t.pseudo);
    }
    for (size_t i = 0; i < t.opened; i++)
        fm_scan_release(&t.scan[i]);
    if (t.label != NULL)
        fm_mem_free(t.mem, t.label, t.frames * sizeof *t.label);
    fm_mem_free(t.mem, t.chain, t.chain_cap * sizeof *t.chain);
    fm_out_release(&t.path);
    fm_out_release(&t.text);
    fm_arena_release(&arena);
    return status;
}

static enum fm_status write_csv(struct fm_export *export, struct fm_error *err)
{
    return write_table(export, FORM_CSV, err);
}

static enum fm_status write_tsv(struct fm_export *export, struct fm_error *err)
{
    return write_table(export, FORM_TSV, err);
}

static enum fm_status write_jsonl(struct fm_export *export, struct fm_error *err)
{
    return write_table(export, FORM_JSONL, err);
}

const struct fm_exporter fm_exporter_rows_csv = {
    .name = "rows.csv",
    .summary = "the rows as CSV, one line a row, with stack and path",
    .extension = ".rows.csv,.csv",
    .shape = FM_SHAPE_ROWS,
    .raw = true,
    .write = write_csv,
};

const struct fm_exporter fm_exporter_rows_jsonl = {
    .name = "rows.jsonl",
    .summary = "the rows as JSON lines, one object a row, with stack and path",
    .extension = ".rows.jsonl,.jsonl,.ndjson",
    .shape = FM_SHAPE_ROWS,
    .raw = true,
    .write = write_jsonl,
};

const struct fm_exporter fm_exporter_rows_tsv = {
    .name = "rows.tsv",
    .summary = "the rows as tab-separated text, one line a row, with stack and path",
    .extension = ".rows.tsv,.tsv",
    .shape = FM_SHAPE_ROWS,
    .raw = true,
    .write = write_tsv,
};
