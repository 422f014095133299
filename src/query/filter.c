/*
 * filter.c - time ranges, and the command line's filters.
 *
 *     1.5s..2s  ..10%  -2s..  10%/2  @N..@M  2026-01-31T12:00:00Z..      half-open: [from, to)
 *
 * Numbers are relative to the start of the store (its smallest time before any filter), negative
 * ones to its end; a percentage is of the span between the two, and 100% includes the last row.
 * P%/K is the K-th slice of P%. @N is the clock of the first source. Wall-clock times need a source
 * that knows its wall clock.
 *
 * Filters of the command line are where steps in the order given ("comm=gl*", "pid=12,13",
 * "time=1s..2s", "focus=malloc"), then hide and show as stack edits. Each is compiled by the same
 * code as a query's steps, from a node made of the option's text.
 */
#include "query/filter.h"

#include "util/error.h"
#include "util/text.h"

enum end { OPEN, FROM_START, FROM_END, PERCENT, CLOCK, WALL };

struct point {
    enum end kind;
    int64_t ns;
    double part;
};

struct fm_range {
    const struct fm_yaml_node *at;
    struct point from, to;
};

/* ------------------------------------------------------------------ parsing */

static bool digits(const char *s, size_t n, uint64_t *out)
{
    return n > 0 && fm_text_u64(s, n, out);
}

/* Days since 1970-01-01 of a date of the Gregorian calendar. */
static int64_t days(uint64_t y, uint64_t m, uint64_t d)
{
    int64_t year = (int64_t)y - (m <= 2), era = (year >= 0 ? year : year - 399) / 400;
    int64_t yoe = year - era * 400;
    int64_t doy = (153 * ((int64_t)m + (m > 2 ? -3 : 9)) + 2) / 5 + (int64_t)d - 1;

    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

/* YYYY-MM-DDTHH:MM:SS[.fraction][Z|+HH:MM]; without a zone it is UTC. */
static bool iso(const char *s, size_t n, int64_t *ns)
{
    uint64_t y, mo, d, h, mi, sec, zh = 0, zm = 0;
    int64_t fraction = 0, scale = 1000000000, sign = 0;
    size_t i = 19;

    if (n < 19 || s[4] != '-' || s[7] != '-' || (s[10] != 'T' && s[10] != ' ') || s[13] != ':'
        || s[16] != ':')
        return false;
    if (!digits(s, 4, &y) || !digits(s + 5, 2, &mo) || !digits(s + 8, 2, &d)
        || !digits(s + 11, 2, &h) || !digits(s + 14, 2, &mi) || !digits(s + 17, 2, &sec)
        || mo < 1 || mo > 12 || d < 1 || d > 31 || h > 23 || mi > 59 || sec > 60 || y > 2200)
        return false;
    if (i < n && s[i] == '.') {
        for (i++; i < n && s[i] >= '0' && s[i] <= '9'; i++) {
            scale /= 10;
            fraction += (s[i] - '0') * scale;
        }
    }
    if (i < n && s[i] == 'Z') {
        i++;
    } else if (i + 6 == n && (s[i] == '+' || s[i] == '-') && s[i + 3] == ':') {
        if (!digits(s + i + 1, 2, &zh) || !digits(s + i + 4, 2, &zm) || zh > 14 || zm > 59)
            return false;
        sign = s[i] == '+' ? -1 : 1;
        i = n;
    }
    if (i != n)
        return false;
    *ns = (days(y, mo, d) * 86400 + (int64_t)(h * 3600 + mi * 60 + sec)
           + sign * (int64_t)(zh * 3600 + zm * 60)) * 1000000000 + fraction;
    return true;
}

static bool parse_point(const char *s, size_t n, enum end origin, struct point *p)
{
    const char *unit;

    if (n == 0) {
        p->kind = OPEN;
        return true;
    }
    if (s[n - 1] == '%') {
        p->kind = PERCENT;
        return fm_text_quantity(s, n, &p->part, &unit) && p->part >= 0 && p->part <= 1;
    }
    if (s[0] == '@') {
        p->kind = CLOCK;
        return fm_text_time(s + 1, n - 1, &p->ns);
    }
    if (iso(s, n, &p->ns)) {
        p->kind = WALL;
        return true;
    }
    p->kind = origin == FROM_START && s[0] == '-' ? FROM_END : origin;
    return fm_text_time(s, n, &p->ns);
}

static bool parse_range(const char *s, size_t n, enum end origin, struct fm_range *range)
{
    const char *unit;
    uint64_t k;

    for (size_t i = 0; i + 1 < n; i++) {
        if (s[i] != '.' || s[i + 1] != '.')
            continue;
        return parse_point(s, i, origin, &range->from)
               && parse_point(s + i + 2, n - i - 2, origin, &range->to)
               && (range->from.kind != OPEN || range->to.kind != OPEN);
    }
    for (size_t i = 1; i + 1 < n; i++) {
        if (s[i] != '/' || s[i - 1] != '%')
            continue;
        range->from.kind = range->to.kind = PERCENT;
        if (!fm_text_quantity(s, i, &range->to.part, &unit)
            || !fm_text_u64(s + i + 1, n - i - 1, &k) || k < 1 || k > 1000000
            || range->to.part <= 0)
            return false;
        range->from.part = range->to.part * (double)(k - 1);
        range->to.part *= (double)k;
        /* the last of ten slices of 10% ends at the end, whatever 10 * 0.1 is */
        if (range->to.part > 1 - 1e-9)
            range->to.part = 1;
        return range->from.part < 1;
    }
    return false;
}

struct fm_range *fm_range_compile(struct fm_compile *c, const struct fm_scalar *s,
                                  const char *origin)
{
    struct fm_range *range = fm_arena_alloc(c->arena, sizeof *range);
    enum end kind = FROM_START;

    if (range == NULL)
        return NULL;
    range->at = s->at;
    if (origin != NULL && strcmp(origin, "end") == 0)
        kind = FROM_END;
    else if (origin != NULL && strcmp(origin, "epoch") == 0)
        kind = WALL;
    if (s->unknown || parse_range(s->text, s->n, kind, range))
        return range;
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), s->at, "'%.*s' is no time range",
                  (int)FM_MIN(s->n, (size_t)80), s->text);
    fm_yaml_note(c->log, "time ranges are 1.5s..2s, ..10%%, -2s.., 10%%/2, @N..@M, or ISO-8601 "
                         "times");
    return NULL;
}

/* ------------------------------------------------------------------ running */

/* A point on the scale of `ts` in queries: ns since the start. */
static bool settle(struct fm_compile *c, const struct fm_range *range, const struct point *p,
                   int64_t open, int64_t start, int64_t end, int64_t *out)
{
    const struct fm_source *s = NULL;

    switch (p->kind) {
    case OPEN:
        *out = open;
        return true;
    case FROM_START:
        *out = p->ns;
        return true;
    case FROM_END:
        *out = end - start + p->ns;
        return true;
    case PERCENT:
        if (p->part >= 1)              /* with all of the last row, whatever its duration */
            *out = open == INT64_MAX ? open : end - start + 1;
        else
            *out = (int64_t)(p->part * (double)(end - start));
        return true;
    case CLOCK:
        if (fm_store_sources(c->store) == 0)
            return false;
        s = fm_store_source_row(c->store, 0);
        *out = p->ns + s->shift - start;
        return true;
    default:
        break;
    }
    for (size_t i = 0; i < fm_store_sources(c->store); i++) {
        s = fm_store_source_row(c->store, i);
        if (s->has_wall) {
            *out = p->ns - s->wall + s->wall_at + s->shift - start;
            return true;
        }
    }
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), range->at,
                  "no input knows its wall clock: give times relative to the start");
    return false;
}

struct window {
    int64_t from, to;
    struct fm_operand ts, dur;
    const struct fm_store *store;
};

static bool is_span(enum fm_kind kind)
{
    return kind == FM_KIND_SPAN || kind == FM_KIND_ASYNC || kind == FM_KIND_STATE;
}

/* A span is kept when it overlaps the window; one without length when it starts in it. */
static bool in_window(void *user, struct fm_reader *r, uint32_t place)
{
    const struct window *w = user;
    uint64_t ts, dur;

    if (!fm_reader_lane(r, &w->ts, place, &ts))
        return false;
    if ((int64_t)ts >= w->to)
        return false;
    if ((int64_t)ts >= w->from)
        return true;
    return is_span(fm_store_event_row(w->store, r->scan.event[place])->kind)
           && fm_reader_lane(r, &w->dur, place, &dur) && (int64_t)dur > w->from - (int64_t)ts;
}

enum fm_status fm_range_run(struct fm_compile *c, const struct fm_range *range,
                            struct fm_selection *sel, struct fm_view *v, int64_t *from,
                            int64_t *to, struct fm_error *err)
{
    struct window w = { .store = sel->store };
    int64_t start = 0, end = 0;
    struct fm_pred p = { .op = FM_PRED_TEST };
    bool spans = false;
    struct fm_reader r;

    (void)fm_store_start(sel->store, &start, &end);
    if (!settle(c, range, &range->from, INT64_MIN, start, end, &w.from)
        || !settle(c, range, &range->to, INT64_MAX, start, end, &w.to))
        return c->log->errors > 0 ? FM_CONFIG : fm_error_set(err, FM_CONFIG, "an empty input");
    *from = w.from;
    *to = w.to;
    w.ts = (struct fm_operand){ .place = FM_AT_COLUMN, .id = FM_COL_TS, .type = FM_TYPE_TIME,
                                .via = c->from == FM_FROM_LAUNCHES ? FM_VIA(FM_LINK_LAUNCH) : 0 };
    w.dur = (struct fm_operand){ .place = FM_AT_COLUMN, .id = FM_COL_DUR, .type = FM_TYPE_DUR };
    for (size_t i = 0; i < fm_store_events(sel->store); i++)
        spans |= w.ts.via == 0 && sel->event[i]
                 && is_span(fm_store_event_row(sel->store, i)->kind);
    if (!spans) {
        p.operand = &w.ts;
        p.test.kind = FM_TEST_RANGE;
        p.test.lo = fm_value_i64(w.from);
        p.test.hi = fm_value_i64(w.to == INT64_MIN ? w.to : w.to - 1);
        return fm_rows_where(c, sel, v, &p, err);
    }
    fm_reader_init(&r, c, v, sel);
    fm_reader_need(&r, &w.ts);
    fm_reader_need(&r, &w.dur);
    return fm_rows_keep(&r, sel, in_window, &w, err);
}

/* ------------------------------------------------------------ command line */

struct filter {
    const char *key;
    struct fm_yaml_node *value;      /* scalar, or list of scalars */
    struct fm_yaml_file *file;
    char *name;                      /* "--comm" */
};

/* pid, tid and cpu take lists: numbers hold no commas. */
static bool takes_list(const char *key)
{
    return strcmp(key, "pid") == 0 || strcmp(key, "tid") == 0 || strcmp(key, "cpu") == 0;
}

static struct fm_yaml_node *scalar(struct fm_arena *arena, const char *s, size_t n, size_t column)
{
    struct fm_yaml_node *node = fm_arena_alloc(arena, sizeof *node);

    if (node == NULL)
        return NULL;
    node->type = FM_YAML_SCALAR;
    node->text = fm_arena_strn(arena, s, n);
    node->n = n;
    node->line = 1;
    node->column = (uint32_t)column + 1;
    node->weight = 1;
    return node->text == NULL ? NULL : node;
}

static struct fm_yaml_node *value_node(struct fm_arena *arena, const char *key, const char *text)
{
    struct fm_yaml_node *list;
    size_t n = 1, from = 0, len = strlen(text);

    for (size_t i = 0; takes_list(key) && i < len; i++)
        n += text[i] == ',';
    if (n == 1)
        return scalar(arena, text, len, 0);
    list = fm_arena_alloc(arena, sizeof *list);
    if (list == NULL)
        return NULL;
    list->type = FM_YAML_LIST;
    list->line = list->column = 1;
    list->item = fm_arena_alloc(arena, n * sizeof(struct fm_yaml_node *));
    if (list->item == NULL)
        return NULL;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && text[i] != ',')
            continue;
        list->item[list->n] = scalar(arena, text + from, i - from, from);
        if (list->item[list->n++] == NULL)
            return NULL;
        from = i + 1;
    }
    return list;
}

static bool split(struct fm_arena *arena, const char *text, struct filter *f)
{
    const char *equals = strchr(text, '=');
    size_t n = equals == NULL ? strlen(text) : (size_t)(equals - text);
    const char *value = equals == NULL ? "" : equals + 1;

    f->key = fm_arena_strn(arena, text, n);
    f->name = fm_arena_printf(arena, "--%.*s", (int)FM_MIN(n, (size_t)64), text);
    f->file = fm_arena_alloc(arena, sizeof *f->file);
    f->value = f->key == NULL ? NULL : value_node(arena, f->key, value);
    if (f->name == NULL || f->file == NULL || f->value == NULL)
        return false;
    f->file->name = f->name;
    f->file->text = fm_arena_str(arena, value);
    f->file->size = strlen(value);
    return f->file->text != NULL;
}

static struct fm_pred *stack_filter(struct fm_compile *c, const struct filter *f,
                                    enum fm_stack_test test)
{
    struct fm_pred *p = fm_arena_alloc(c->arena, sizeof *p);
    struct fm_pred **arg = fm_arena_alloc(c->arena, sizeof(struct fm_pred *));

    if (p == NULL || arg == NULL)
        return NULL;
    p->op = FM_PRED_STACK;
    p->stack = test;
    p->arg = arg;
    p->arg[0] = fm_pred_compile(c, f->value, FM_SCOPE_FRAMES);
    p->args = 1;
    return p->arg[0] == NULL ? NULL : p;
}

static struct fm_pred *row_filter(struct fm_compile *c, const struct filter *f)
{
    const char *name = f->key;
    const char *const *list;
    uint32_t k;
    size_t n;

    if (strcmp(name, "focus") == 0)
        return stack_filter(c, f, FM_STACK_HAS);
    if (strcmp(name, "ignore") == 0)
        return stack_filter(c, f, FM_STACK_LACKS);
    /* perf's samples come with a name of their own; other formats only name threads */
    if (strcmp(name, "comm") == 0 && fm_store_column_info(c->store, FM_COL_COMM)->rows == 0)
        name = "thread";
    else if (strcmp(name, "dso") == 0)
        name = "leaf.module";
    else if (strcmp(name, "symbol") == 0)
        name = "leaf.function";
    k = fm_operand_find(c, FM_SCOPE_ROWS, name, strlen(name));
    if (k != FM_NONE)
        return fm_pred_column(c, c->operand[k], f->value, FM_SCOPE_ROWS);
    list = c->arena->oom ? NULL : fm_operand_names(c, FM_SCOPE_ROWS, &n);
    if (list != NULL)
        fm_yaml_unknown(c->log, NULL, "filter or column", f->key, list, n);
    return NULL;
}

static enum fm_status run_filter(struct fm_compile *c, const struct filter *f,
                                 struct fm_selection *sel, struct fm_view *v,
                                 struct fm_window *window, struct fm_error *err)
{
    struct fm_scalar s = { .at = f->value, .text = f->value->text, .n = f->value->n };
    struct fm_edit *edit = NULL;
    struct fm_range *range;
    struct fm_pred *p = NULL;
    bool dropped;

    if (strcmp(f->key, "time") == 0) {
        range = fm_range_compile(c, &s, NULL);
        if (range == NULL)
            return FM_CONFIG;
        return fm_range_run(c, range, sel, v, &window->from, &window->to, err);
    }
    if (strcmp(f->key, "hide") == 0 || strcmp(f->key, "show") == 0) {
        p = fm_pred_compile(c, f->value, FM_SCOPE_FRAMES);
        if (p != NULL)
            edit = fm_edit_frames(c, p, f->key[0] == 's');
        return edit == NULL || c->log->errors > 0
                   ? FM_CONFIG : fm_edit_run(c, edit, sel, v, &dropped, err);
    }
    p = row_filter(c, f);
    return p == NULL || c->log->errors > 0 ? FM_CONFIG : fm_rows_where(c, sel, v, p, err);
}

static enum fm_status has_rows(const struct fm_selection *sel, bool *some, struct fm_error *err)
{
    struct fm_scan scan;
    enum fm_status status = fm_scan_init(&scan, sel, NULL, 0, err);

    if (status != FM_OK)
        return status;
    do {
        *some = fm_scan_next(&scan);
    } while (*some && scan.n == 0);
    fm_scan_release(&scan);
    return FM_OK;
}

/* Remembers the filter behind which there are no rows any more. */
static enum fm_status look_for_rows(struct fm_compile *c, const struct filter *f,
                                    const struct fm_selection *sel, struct fm_window *window,
                                    bool *some, struct fm_error *err)
{
    enum fm_status status;

    if (!*some)
        return FM_OK;
    status = has_rows(sel, some, err);
    if (status != FM_OK || *some)
        return status;
    window->emptied = fm_arena_printf(c->arena, "%s '%.*s'", f->name,
                                      (int)FM_MIN(f->file->size, (size_t)200), f->file->text);
    return window->emptied != NULL ? FM_OK : fm_error_nomem(err);
}

enum fm_status fm_filters_run(struct fm_compile *c, struct fm_selection *sel, struct fm_view *v,
                              const struct fm_select_options *options, struct fm_window *window,
                              struct fm_error *err)
{
    enum fm_status status;
    bool some = false;

    window->emptied = NULL;
    if (options == NULL || options->filters == 0)
        return FM_OK;
    status = has_rows(sel, &some, err);
    if (status != FM_OK)
        return status;
    for (int edits = 0; edits < 2; edits++) {
        for (size_t i = 0; i < options->filters; i++) {
            struct filter f;
            if (!split(c->arena, options->filter[i], &f))
                return fm_error_nomem(err);
            if ((strcmp(f.key, "hide") == 0 || strcmp(f.key, "show") == 0) != (edits == 1))
                continue;
            c->log->file = f.file;
            if (strchr(options->filter[i], '=') == NULL)
                return fm_error_set(err, FM_CONFIG, "filter '%s' is not KEY=VALUE",
                                    options->filter[i]);
            status = run_filter(c, &f, sel, v, window, err);
            if (status == FM_OK && edits == 0)
                status = look_for_rows(c, &f, sel, window, &some, err);
            if (c->arena->oom)
                return fm_error_nomem(err);
            if (status != FM_OK) {
                if (err != NULL && err->status == FM_OK)
                    *err = c->log->first;
                return status;
            }
        }
    }
    return FM_OK;
}

enum fm_status fm_query_filter(struct fm_ctx *ctx, struct fm_selection *sel,
                               const struct fm_select_options *options, struct fm_error *err)
{
    struct fm_window window = { INT64_MIN, INT64_MAX, NULL };
    struct fm_compile c = { .ctx = ctx, .store = sel->store };
    struct fm_view v = { .generation = 0 };
    struct fm_arena arena;
    struct fm_yaml_log log;
    enum fm_status status;

    if (options == NULL || options->filters == 0)
        return FM_OK;
    fm_arena_init(&arena, &ctx->mem);
    fm_yaml_log_init(&log, &arena);
    c.arena = &arena;
    c.log = &log;
    c.unit = fm_store_str(sel->store, sel->unit, NULL);
    status = fm_view_init(&v, sel, &arena, err);
    if (status == FM_OK)
        status = fm_filters_run(&c, sel, &v, options, &window, err);
    if (status == FM_OK)
        status = fm_selection_settle(sel, err);
    if (status == FM_OK && window.emptied != NULL)
        (void)fm_error_set(err, FM_OK, "no rows are left after %s", window.emptied);
    fm_compile_release(&c);
    fm_arena_release(&arena);
    return status;
}
