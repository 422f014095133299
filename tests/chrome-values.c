/*
 * chrome-values.c - Chrome traces and V8 profiles against the values that an independent exact
 * reader found (../shared/data/chrome/expected), with no difference allowed.
 *
 *   chrome-values DIR [PART…]   every file with expected/FILE.summary.json, or those whose name
 *                               holds one of the PARTs; TAP, one line a comparison
 *   chrome-values -p FILE       what the store of FILE gives, in the words of the expected files
 *
 * Compared, each from the rows and tables of the sealed store:
 *
 *   spans.txt     process;thread;frames NS      self time of spans and their parts
 *   v8.txt        process;thread;frames N NS    event cpu-profile: samples and weight
 *   samples.txt   process;thread;frames W NS    event samples: weight, time to the next
 *   heap.txt      frames BYTES                  event heap
 *   async.txt     name TAB cat TAB N TAB NS     finished async spans
 *   links         launches and flows, against counts in the table below
 *   summary.json  counts; where each is found in the store stands in summary() below
 *
 * Times of legacy samples are differences of rounded times here, of exact ones there: 1 ns a sample
 * is allowed. When no file of a kind lies there, the store may not have such rows either.
 */
#include "input/input.h"
#include "store/store.h"
#include "util/json.h"
#include "util/out.h"
#include "util/text.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static unsigned tests;
static bool all_ok = true;

static void die(const char *what, const char *name)
{
    printf("Bail out! %s: %s\n", name, what);
    exit(1);
}

/* -------------------------------------------------------------- tables of text */

struct line {
    char *text;
    fm_u128 a, b;
    uint64_t slack;            /* by which b may differ */
};

struct lines {
    struct line *v;
    size_t n, cap;
};

static void add_line(struct lines *l, const char *s, size_t n, fm_u128 a, fm_u128 b)
{
    if (l->n == l->cap) {
        l->cap = l->cap != 0 ? 2 * l->cap : 256;
        l->v = realloc(l->v, l->cap * sizeof *l->v);
        if (l->v == NULL)
            die("no memory", "lines");
    }
    l->v[l->n].text = malloc(n + 1);
    if (l->v[l->n].text == NULL)
        die("no memory", "lines");
    memcpy(l->v[l->n].text, s, n);
    l->v[l->n].text[n] = '\0';
    l->v[l->n].slack = 0;
    l->v[l->n].a = a;
    l->v[l->n++].b = b;
}

static void free_lines(struct lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].text);
    free(l->v);
    *l = (struct lines){0};
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

/* Sorts by text and sums lines of the same text; those with nothing are left out on demand. */
static void merge_lines(struct lines *l, bool drop_zero)
{
    size_t to = 0;
    if (l->n != 0)
        qsort(l->v, l->n, sizeof *l->v, by_text);
    for (size_t i = 0; i < l->n; i++) {
        if (to > 0 && strcmp(l->v[to - 1].text, l->v[i].text) == 0) {
            l->v[to - 1].a += l->v[i].a;
            l->v[to - 1].b += l->v[i].b;
            l->v[to - 1].slack += l->v[i].slack;
            free(l->v[i].text);
        } else {
            l->v[to++] = l->v[i];
        }
    }
    l->n = to;
    for (size_t i = to = 0; i < l->n; i++) {
        if (drop_zero && l->v[i].a == 0)
            free(l->v[i].text);
        else
            l->v[to++] = l->v[i];
    }
    l->n = to;
}

static void print_line(const char *before, const struct line *l)
{
    printf("%s%s %" PRIu64 " %" PRIu64 "\n", before, l->text, (uint64_t)l->a, (uint64_t)l->b);
}

/* ------------------------------------------------------------ files beside it */

/* FILE or FILE.gz, unpacked; NULL when neither is there. */
static char *read_text(struct fm_ctx *ctx, const char *path, size_t *n)
{
    char gz[4200], *data;
    if (fm_input_slurp(ctx, path, (size_t)1 << 30, &data, n, NULL) == FM_OK)
        return data;
    snprintf(gz, sizeof gz, "%s.gz", path);
    return fm_input_slurp(ctx, gz, (size_t)1 << 30, &data, n, NULL) == FM_OK ? data : NULL;
}

/* The decimal after the last blank (or TAB) of s[0..*n), which it cuts off. */
static fm_u128 take_number(const char *s, size_t *n)
{
    size_t i = *n;
    fm_u128 v = 0;
    while (i > 0 && s[i - 1] >= '0' && s[i - 1] <= '9')
        i--;
    for (size_t k = i; k < *n; k++)
        v = v * 10 + (unsigned)(s[k] - '0');
    *n = i > 0 ? i - 1 : 0;
    return v;
}

static bool expected_lines(struct fm_ctx *ctx, const char *path, unsigned numbers,
                           struct lines *lines)
{
    size_t n, at = 0;
    char *text = read_text(ctx, path, &n);
    if (text == NULL)
        return false;
    while (at < n) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end != NULL ? (size_t)(end - text) - at : n - at, rest = len;
        fm_u128 b = numbers == 2 ? take_number(text + at, &rest) : 0;
        fm_u128 a = take_number(text + at, &rest);
        if (len > 0)
            add_line(lines, text + at, rest, a, b);
        at += len + 1;
    }
    fm_mem_free(&ctx->mem, text, n + 1);
    return true;
}

/* ------------------------------------------------------------------ the store */

struct read {
    struct fm_ctx *ctx;
    struct fm_store *store;
    struct fm_out out;        /* a text being made */
    uint64_t *col[8];         /* one block, decoded */
    uint64_t *valid[8];
    uint32_t n;
};

enum { TS, DUR, EVENT, WEIGHT, COUNT, STACK, THREAD, UNFINISHED, NAME = 0, CATEGORY = 4 };

static bool has(const struct read *r, unsigned col, uint32_t i)
{
    return (r->valid[col][i >> 6] >> (i & 63)) & 1;
}

/* A text as the expected files have it. */
static void put_text(struct fm_out *out, fm_str id, const struct fm_store *store)
{
    size_t n, i = 0;
    uint32_t cp;
    const char *s = fm_store_str(store, id, &n);
    while (i < n) {
        unsigned len = fm_utf8_next(s + i, n - i, &cp);
        if (len == 0)
            fm_out_bytes(out, "\xef\xbf\xbd", 3);
        else if (s[i] == ';')
            fm_out_char(out, ':');
        else if (s[i] == '\r' || s[i] == '\n')
            fm_out_char(out, ' ');
        else
            fm_out_bytes(out, s + i, len);
        i += len != 0 ? len : 1;
    }
}

static void put_frame(struct read *r, fm_frame f)
{
    const struct fm_frame_row *frame = fm_store_frame_row(r->store, f);
    put_text(&r->out, frame->function, r->store);
    if (frame->kind != FM_FRAME_JS || frame->file == 0)
        return;
    fm_out_text(&r->out, " (");
    put_text(&r->out, frame->file, r->store);
    if (frame->line != 0)
        fm_out_printf(&r->out, ":%u", frame->line);
    if (frame->column != 0)
        fm_out_printf(&r->out, ":%u", frame->column);
    fm_out_char(&r->out, ')');
}

/* "Renderer 12;Main 13;" or "pid 12;tid 13;"; ids that are no numbers stand as text. */
static void put_thread(struct read *r, fm_thread id)
{
    const struct fm_thread_row *t = fm_store_thread_row(r->store, id);
    fm_str name = fm_store_thread_name(r->store, id, false, 0);
    const char *text = fm_store_str(r->store, t->text_id, NULL);
    const char *slash = strchr(text, '/');

    if (t->process != 0)
        put_text(&r->out, t->process, r->store);
    else
        fm_out_text(&r->out, "pid");
    fm_out_char(&r->out, ' ');
    if (slash != NULL)
        fm_out_bytes(&r->out, text, (size_t)(slash - text));
    else if (t->pid == -1 && t->process == 0)
        fm_out_text(&r->out, "None");
    else
        fm_out_i64(&r->out, t->pid);
    fm_out_char(&r->out, ';');
    if (name != 0)
        put_text(&r->out, name, r->store);
    else
        fm_out_text(&r->out, "tid");
    fm_out_char(&r->out, ' ');
    if (slash != NULL)
        fm_out_text(&r->out, slash + 1);
    else
        fm_out_i64(&r->out, t->tid);
}

/* ";outer;inner" of a row's stack. */
static void put_stack(struct read *r, fm_node append)
{
    const struct fm_tree_node *tree = fm_store_tree(r->store);
    uint32_t node = fm_store_tree_node(r->store, append), depth = tree[node].depth, i;
    fm_frame *frame = malloc((depth + 1) * sizeof *frame);
    if (frame == NULL)
        die("no memory", "stack");
    for (i = depth; i-- > 0; node = tree[node].parent)
        frame[i] = tree[node].frame;
    for (i = 0; i < depth; i++) {
        if (r->out.n > 0)
            fm_out_char(&r->out, ';');
        put_frame(r, frame[i]);
    }
    free(frame);
}

/* Decodes the block's columns; columns that the store has not are empty. */
static void load_block(struct read *r, size_t segment, uint32_t block, const fm_column *col,
                       size_t cols)
{
    bool all;
    for (size_t i = 0; i < cols; i++) {
        if (col[i] == FM_NONE)
            memset(r->valid[i], 0, FM_BLOCK_ROWS / 8);
        else
            r->n = fm_store_block(r->store, segment, block, col[i], r->col[i], r->valid[i], &all);
    }
}

typedef void row_fn(struct read *r, uint32_t place, uint64_t row, void *user);

static void each_row(struct read *r, const fm_column *col, size_t cols, row_fn *fn, void *user)
{
    for (size_t s = 0; s < fm_store_segments(r->store); s++) {
        uint32_t rows = fm_store_segment_rows(r->store, s);
        for (uint32_t b = 0; b * FM_BLOCK_ROWS < rows; b++) {
            load_block(r, s, b, col, cols);
            for (uint32_t i = 0; i < r->n; i++)
                fn(r, i, fm_store_segment_first(r->store, s) + b * FM_BLOCK_ROWS + i, user);
        }
    }
}

/* ------------------------------------------------------------------ folding */

/* Sums by (thread, stack), then as text. */
struct fold {
    struct fm_map place;      /* thread << 32 | stack -> index + 1 */
    fm_u128 (*sum)[3];        /* the two of a line, and its rows */
    uint64_t *key;
    size_t n, cap;
    bool threads;             /* lines begin with process and thread */
};

static fm_u128 *fold_at(struct fold *f, uint64_t key)
{
    bool fresh;
    uint64_t *slot = fm_map_put(&f->place, key, &fresh);
    if (slot == NULL)
        die("no memory", "fold");
    if (fresh) {
        if (f->n == f->cap) {
            f->cap = f->cap != 0 ? 2 * f->cap : 1024;
            f->sum = realloc(f->sum, f->cap * sizeof *f->sum);
            f->key = realloc(f->key, f->cap * sizeof *f->key);
            if (f->sum == NULL || f->key == NULL)
                die("no memory", "fold");
        }
        f->sum[f->n][0] = f->sum[f->n][1] = f->sum[f->n][2] = 0;
        f->key[f->n] = key;
        *slot = f->n++;
    }
    return f->sum[*slot];
}

static void fold_lines(struct read *r, struct fold *f, struct lines *lines, bool drop_zero)
{
    for (size_t i = 0; i < f->n; i++) {
        uint32_t thread = (uint32_t)(f->key[i] >> 32);
        r->out.n = 0;
        if (thread != FM_NONE)
            put_thread(r, thread);
        else if (f->threads)
            fm_out_text(&r->out, "pid 0;tid 0");
        put_stack(r, (fm_node)f->key[i]);
        add_line(lines, r->out.buf, r->out.n, f->sum[i][0], f->sum[i][1]);
        lines->v[lines->n - 1].slack = (uint64_t)f->sum[i][2];
    }
    merge_lines(lines, drop_zero);
    fm_map_release(&f->place);
    free(f->sum);
    free(f->key);
}

/* A legacy sample, for the time to the next of its thread. */
struct at {
    uint32_t thread;
    int64_t ts;
    uint64_t row, key, weight;
};

struct figures {
    struct fold spans, v8, samples, heap;
    struct lines async;
    struct at *at;
    size_t ats, at_cap;
    uint64_t span_rows, unfinished, async_rows, async_open, values, v8_rows, parts;
    fm_u128 async_ns;
    struct fm_map span_threads;
    bool timed;
    int64_t first, last;       /* of the events: samples of V8 have times of their own */
};

static uint64_t stack_key(const struct read *r, uint32_t i)
{
    uint64_t thread = has(r, THREAD, i) ? r->col[THREAD][i] : FM_NONE;
    return thread << 32 | (has(r, STACK, i) ? r->col[STACK][i] : 0);
}

static void add_at(struct figures *f, const struct read *r, uint32_t i, uint64_t row)
{
    if (f->ats == f->at_cap) {
        f->at_cap = f->at_cap != 0 ? 2 * f->at_cap : 1024;
        f->at = realloc(f->at, f->at_cap * sizeof *f->at);
        if (f->at == NULL)
            die("no memory", "samples");
    }
    f->at[f->ats++] = (struct at){has(r, THREAD, i) ? (uint32_t)r->col[THREAD][i] : FM_NONE,
                                  has(r, TS, i) ? (int64_t)r->col[TS][i] : 0, row,
                                  stack_key(r, i), r->col[WEIGHT][i]};
}

static void sample_row(struct figures *f, struct read *r, const struct fm_event *e, uint32_t i,
                       uint64_t row)
{
    const char *name = fm_store_str(r->store, e->name, NULL);
    fm_u128 *sum;
    if (strcmp(name, "cpu-profile") == 0) {
        sum = fold_at(&f->v8, stack_key(r, i));
        sum[0] += r->col[COUNT][i];
        sum[1] += r->col[WEIGHT][i];
        f->v8_rows += r->col[COUNT][i];
    } else if (strcmp(name, "heap") == 0) {
        sum = fold_at(&f->heap, (uint64_t)FM_NONE << 32 | (uint32_t)stack_key(r, i));
        sum[0] += r->col[WEIGHT][i];
    } else if (strcmp(name, "samples") == 0) {
        add_at(f, r, i, row);
    }
}

/* Widens first and last by a row. */
static void note_time(struct figures *f, const struct read *r, uint32_t i)
{
    int64_t from, to;
    if (!has(r, TS, i))
        return;
    from = to = (int64_t)r->col[TS][i];
    if (has(r, DUR, i))
        to += (int64_t)r->col[DUR][i];
    f->first = f->timed && f->first < from ? f->first : from;
    f->last = f->timed && f->last > to ? f->last : to;
    f->timed = true;
}

/* An asynchronous span; its steps are rows as well, and no spans to the reader there. */
static bool is_async(const struct read *r, const struct fm_event *e)
{
    return e->kind == FM_KIND_ASYNC &&
           strcmp(fm_store_str(r->store, e->name, NULL), "async-steps") != 0;
}

static void one_row(struct read *r, uint32_t i, uint64_t row, void *user)
{
    struct figures *f = user;
    const struct fm_event *e = fm_store_event_row(r->store, r->col[EVENT][i]);
    bool open = has(r, UNFINISHED, i) && r->col[UNFINISHED][i] != 0;
    if (e->kind != FM_KIND_SAMPLE)
        note_time(f, r, i);
    switch (e->kind) {
    case FM_KIND_SPAN:
        f->span_rows++;
        if (fm_map_put(&f->span_threads, r->col[THREAD][i], NULL) == NULL)
            die("no memory", "threads");
        f->unfinished += open;
        /* fall through */
    case FM_KIND_PART:
        f->parts += e->kind == FM_KIND_PART;
        fold_at(&f->spans, stack_key(r, i))[0] += r->col[WEIGHT][i];
        break;
    case FM_KIND_ASYNC:
        if (!is_async(r, e))
            break;
        f->async_rows += !open;
        f->async_open += open;
        f->async_ns += open ? 0 : r->col[DUR][i];
        break;
    case FM_KIND_COUNTER: f->values++; break;
    case FM_KIND_SAMPLE: sample_row(f, r, e, i, row); break;
    default: break;
    }
}

static void async_row(struct read *r, uint32_t i, uint64_t row, void *user)
{
    struct figures *f = user;
    const struct fm_event *e = fm_store_event_row(r->store, r->col[EVENT][i]);
    (void)row;
    if (!is_async(r, e) || (has(r, UNFINISHED, i) && r->col[UNFINISHED][i] != 0))
        return;
    r->out.n = 0;
    if (has(r, NAME, i))
        put_text(&r->out, (fm_str)r->col[NAME][i], r->store);
    fm_out_char(&r->out, '\t');
    if (has(r, CATEGORY, i))
        put_text(&r->out, (fm_str)r->col[CATEGORY][i], r->store);
    add_line(&f->async, r->out.buf, r->out.n, 1, r->col[DUR][i]);
}

static int by_time(const void *a, const void *b)
{
    const struct at *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

static void fold_samples(struct figures *f)
{
    if (f->ats > 0)
        qsort(f->at, f->ats, sizeof *f->at, by_time);
    for (size_t i = 0; i < f->ats; i++) {
        bool next = i + 1 < f->ats && f->at[i + 1].thread == f->at[i].thread;
        fm_u128 *sum = fold_at(&f->samples, f->at[i].key);
        sum[0] += f->at[i].weight;
        sum[2]++;
        sum[1] += next ? (uint64_t)(f->at[i + 1].ts - f->at[i].ts) : 0;
    }
    free(f->at);
}

static void collect(struct read *r, struct figures *f)
{
    fm_column unfinished = fm_store_column_find(r->store, "label.unfinished");
    fm_column col[] = {FM_COL_TS,    FM_COL_DUR,   FM_COL_EVENT,  FM_COL_WEIGHT,
                       FM_COL_COUNT, FM_COL_STACK, FM_COL_THREAD, unfinished};
    struct fold *fold[] = {&f->spans, &f->v8, &f->samples, &f->heap};
    f->v8.threads = true;
    fm_map_init(&f->span_threads, &r->ctx->mem);
    for (size_t i = 0; i < FM_COUNT(fold); i++)
        fm_map_init(&fold[i]->place, &r->ctx->mem);
    each_row(r, col, FM_COUNT(col), one_row, f);
    fold_samples(f);
    col[NAME] = FM_COL_NAME;
    col[CATEGORY] = FM_COL_CATEGORY;
    each_row(r, col, FM_COUNT(col), async_row, f);
    merge_lines(&f->async, false);
}

/* ------------------------------------------------------------- one comparison */

static bool near(fm_u128 a, fm_u128 b, fm_u128 slack)
{
    return a > b ? a - b <= slack : b - a <= slack;
}

static bool same(const struct line *a, const struct line *b)
{
    return a->a == b->a && near(a->b, b->b, a->slack);
}

static void compare(const char *name, const char *kind, const struct lines *got,
                    const struct lines *want)
{
    size_t i = 0, k = 0, differ = 0;
    while (i < got->n || k < want->n) {
        int c = i == got->n ? 1 : k == want->n ? -1 : strcmp(got->v[i].text, want->v[k].text);
        if (c == 0 && same(&got->v[i], &want->v[k])) {
            i++, k++;
            continue;
        }
        if (differ++ == 0)
            printf("not ok %u - %s %s\n", ++tests, name, kind);
        if (differ <= 4 && c <= 0)
            print_line("# got  ", &got->v[i]);
        if (differ <= 4 && c >= 0)
            print_line("# want ", &want->v[k]);
        i += c <= 0;
        k += c >= 0;
    }
    if (differ == 0)
        printf("ok %u - %s %s\n", ++tests, name, kind);
    else
        printf("# %zu differ, %zu got, %zu wanted\n", differ, got->n, want->n);
    all_ok &= differ == 0;
}

static void check_kind(struct read *r, const char *dir, const char *name, const char *kind,
                       unsigned numbers, struct lines *got)
{
    struct lines want = {0};
    char path[4200];
    snprintf(path, sizeof path, "%s/expected/%s.%s.txt", dir, name, kind);
    if (dir[0] == '\0') {
        for (size_t i = 0; i < got->n; i++) {
            printf("%s: ", kind);
            print_line("", &got->v[i]);
        }
    } else if (expected_lines(r->ctx, path, numbers, &want) || got->n > 0) {
        merge_lines(&want, false);
        compare(name, kind, got, &want);
    }
    free_lines(&want);
    free_lines(got);
}

/* --------------------------------------------------------------- the summary */

struct fact {
    char key[64];
    char text[32];
};

struct facts {
    struct fact v[160];
    size_t n;
};

static void put_fact(struct facts *f, const char *key, const char *text, size_t n)
{
    struct fact *to = &f->v[f->n];
    if (f->n == FM_COUNT(f->v) || n >= sizeof to->text || strlen(key) >= sizeof to->key)
        return;
    snprintf(to->key, sizeof to->key, "%s", key);
    memcpy(to->text, text, n);
    to->text[n] = '\0';
    f->n++;
}

static const char *fact(const struct facts *f, const char *key)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->v[i].key, key) == 0)
            return f->v[i].text;
    return NULL;
}

/* "a" of the outermost object and "a.b" of those below. */
static void read_facts(const char *text, size_t n, struct facts *f)
{
    struct fm_json j;
    enum fm_json_token t;
    char outer[40] = "", key[40] = "", path[96];
    fm_json_init_memory(&j, text, n);
    while ((t = fm_json_next(&j)) > FM_JSON_END) {
        if (t == FM_JSON_KEY) {
            snprintf(key, sizeof key, "%.*s", (int)FM_MIN(j.n, (size_t)39), j.text);
        } else if (t == FM_JSON_OBJECT && j.depth == 2) {
            memcpy(outer, key, sizeof outer);
        } else if (t == FM_JSON_STRING || t == FM_JSON_NUMBER) {
            if (j.depth == 2)
                snprintf(path, sizeof path, "%s.%s", outer, key);
            else
                snprintf(path, sizeof path, "%s", key);
            put_fact(f, path, j.text, j.n);
        } else if (t == FM_JSON_ARRAY) {
            fm_json_skip(&j, t);
        }
    }
}

static void put_number(struct facts *f, const char *key, fm_u128 v)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%" PRIu64, (uint64_t)v);
    put_fact(f, key, text, (size_t)n);
}

static void put_signed(struct facts *f, const char *key, int64_t v)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%" PRId64, v);
    put_fact(f, key, text, (size_t)n);
}

/* Findings of the account, and the summary's words for them. */
static const struct {
    const char *finding, *key;
} diagnostics[] = {
    {"event-without-ph", "diagnostics.event_without_ph"},
    {"event-without-ts", "diagnostics.event_without_ts"},
    {"span-without-dur", "diagnostics.x_without_dur"},
    {"negative-dur", "diagnostics.negative_dur"},
    {"end-without-begin", "diagnostics.end_without_begin"},
    {"end-not-on-top", "diagnostics.end_not_on_top"},
    {"event-without-id", "diagnostics.async_without_id"},
    {"profile-lengths", "diagnostics.samples_deltas_length_mismatch"},
    {"profile-without-data", "diagnostics.profile_without_data"},
    {"event-malformed", "malformed_events_skipped"},
    {"async-end-without-begin", "async_unmatched_end"},
    {"span-overlap", "partial_overlaps"},
    {"profile-node-unknown", "v8_samples_without_node"},
};

/* Records by phase ("X", "B" …), findings, provenance. */
static void account_facts(struct read *r, struct facts *f)
{
    uint64_t events = 0;
    const char *kind = "trace", *end = "complete";
    char key[64];
    for (size_t i = 0; i < fm_store_accounts(r->store); i++) {
        struct fm_account_info a;
        fm_store_account(r->store, i, &a);
        if (a.kind == FM_ACCOUNT_RECORDS) {
            events += a.count;
            snprintf(key, sizeof key, "phases.%s", a.key);
            put_number(f, key, a.count);
        }
        if (a.kind == FM_ACCOUNT_FINDING &&
            (strcmp(a.key, "truncated") == 0 || strcmp(a.key, "inflate") == 0))
            end = "truncated";
        if (a.kind == FM_ACCOUNT_FINDING && strcmp(a.key, "document-unterminated") == 0)
            end = "unterminated";
        for (size_t k = 0; a.kind == FM_ACCOUNT_FINDING && k < FM_COUNT(diagnostics); k++)
            if (strcmp(diagnostics[k].finding, a.key) == 0)
                put_number(f, diagnostics[k].key, a.count);
    }
    put_number(f, "events", events);
    for (size_t k = 0;; k++) {
        const char *name, *value;
        if (!fm_store_provenance(r->store, 0, k, &name, &value))
            break;
        if (strcmp(name, "kind") == 0)
            kind = value;
        else if (strcmp(name, "chrome.overlap_ns") == 0)
            put_fact(f, "partial_overlap_ns", value, strlen(value));
        else if (strcmp(name, "profiles") == 0)
            put_fact(f, "v8_profiles", value, strlen(value));
    }
    put_fact(f, "kind", kind, strlen(kind));
    put_fact(f, "end_state", end, strlen(end));
}

static uint64_t event_rows(const struct fm_store *store, enum fm_kind kind, uint64_t *events)
{
    uint64_t rows = 0;
    *events = 0;
    for (size_t i = 0; i < fm_store_events(store); i++) {
        struct fm_event_info e;
        fm_store_event(store, i, &e);
        if (e.kind == kind && e.rows > 0) {
            ++*events;
            rows += e.rows;
        }
    }
    return rows;
}

static void summary(struct read *r, const struct figures *f, struct facts *got)
{
    uint64_t series, values = event_rows(r->store, FM_KIND_COUNTER, &series);
    account_facts(r, got);
    put_number(got, "spans", f->span_rows);
    put_number(got, "spans_unfinished", f->unfinished);
    put_number(got, "async_spans", f->async_rows);
    put_number(got, "async_total_ns", f->async_ns);
    put_number(got, "async_unmatched_begin", f->async_open);
    put_number(got, "counter_values", values);
    put_number(got, "counter_series", series);
    put_number(got, "v8_samples", f->v8_rows);
    put_number(got, "threads_with_spans", f->span_threads.n);
    if (f->timed) {
        put_signed(got, "time_min_ns", f->first);
        put_signed(got, "time_max_ns", f->last);
    }
}

static fm_u128 sum_lines(const struct lines *l, bool second)
{
    fm_u128 sum = 0;
    for (size_t i = 0; i < l->n; i++)
        sum += second ? l->v[i].b : l->v[i].a;
    return sum;
}

/* What the summary counts and no store can show: it counts threads that have nothing but events
 * without effect. A heap profile's `samples` were taken for legacy ones there. */
static bool not_compared(const struct facts *want, const char *key)
{
    const char *kind = fact(want, "kind");
    if (strcmp(key, "legacy_samples_weight") == 0)
        return kind != NULL && strcmp(kind, "heapprofile") == 0;
    return strcmp(key, "threads_with_events") == 0 || strcmp(key, "processes") == 0 ||
           strcmp(key, "form") == 0 || strncmp(key, "top_level", 9) == 0 ||
           strncmp(key, "flow_events", 11) == 0;
}

/* Rows cannot show the times of events that make none: they lie inside. */
static bool inside(const struct fact *want, const char *have)
{
    int64_t a, b;
    bool first = strcmp(want->key, "time_min_ns") == 0;
    if (!first && strcmp(want->key, "time_max_ns") != 0)
        return false;
    return have == NULL || !fm_text_i64(want->text, strlen(want->text), &a) ||
           (fm_text_i64(have, strlen(have), &b) && (first ? b >= a : b <= a));
}

/* Thread states (T with a duration) are rows here; the reader there took them for async steps. */
static bool differs_rightly(const char *name, const char *key)
{
    return strstr(name, "json_thread_state") != NULL &&
           (strcmp(key, "time_max_ns") == 0 || strstr(key, "async_without_id") != NULL);
}

static void check_summary(struct read *r, const char *dir, const char *name, struct facts *got)
{
    struct facts want = {.n = 0};
    char path[4200], *text;
    size_t n, differ = 0;
    snprintf(path, sizeof path, "%s/expected/%s.summary.json", dir, name);
    text = read_text(r->ctx, path, &n);
    if (text == NULL)
        return;
    read_facts(text, n, &want);
    fm_mem_free(&r->ctx->mem, text, n + 1);
    for (size_t i = 0; i < want.n; i++) {
        const char *have = fact(got, want.v[i].key);
        if (not_compared(&want, want.v[i].key) || inside(&want.v[i], have) ||
            differs_rightly(name, want.v[i].key) || (have == NULL && want.v[i].text[0] == '0') ||
            (have != NULL && strcmp(have, want.v[i].text) == 0))
            continue;
        if (differ++ == 0)
            printf("not ok %u - %s summary\n", ++tests, name);
        printf("# %s: got %s, want %s\n", want.v[i].key, have != NULL ? have : "nothing",
               want.v[i].text);
    }
    if (differ == 0)
        printf("ok %u - %s summary\n", ++tests, name);
    all_ok &= differ == 0;
}

/* ----------------------------------------------------------------------- links */

/* Counted in the files with jq: device events whose correlation a runtime call has, and flow ends
 * with a beginning of the same category, name and id. */
static const struct {
    const char *name;
    size_t launches, flows;
} links[] = {
    {"kineto/alexnet-cuda.json.gz", 139, 139},
    {"kineto/backward_thread.json", 1, 0},
    {"kineto/cpu-2467.json.gz", 0, 0},
    {"kineto/event-sync-multi-stream.json.gz", 11, 8},
    {"kineto/mi250-rocm6.json.gz", 16, 20},
    {"kineto/mtia-inference.json.gz", 991, 1166},
    {"kineto/ns-resolution.json.gz", 6095, 7000},
    {"kineto/rank0-108k.json.gz", 6875, 6875},
    {"kineto/sampled-rank0.json.gz", 1204, 0},
    {"kineto/triton.json.gz", 1, 1},
    {"scale/kineto-216k.json.gz", 22290, 22290},
};

static void check_links(const struct fm_store *store, const char *name)
{
    size_t n, launches = 0, flows = 0, i = 0;
    const struct fm_link *link = fm_store_links(store, &n);
    while (i < FM_COUNT(links) && strcmp(links[i].name, name) != 0)
        i++;
    if (i == FM_COUNT(links))
        return;
    for (size_t k = 0; k < n; k++) {
        launches += link[k].kind == FM_LINK_LAUNCH;
        flows += link[k].kind == FM_LINK_FLOW;
    }
    if (launches == links[i].launches && flows == links[i].flows) {
        printf("ok %u - %s links\n", ++tests, name);
        return;
    }
    printf("not ok %u - %s links\n# got %zu launches and %zu flows, want %zu and %zu\n", ++tests,
           name, launches, flows, links[i].launches, links[i].flows);
    all_ok = false;
}

/* ------------------------------------------------------------------- one file */

static bool open_read(struct read *r, struct fm_ctx *ctx, struct fm_store *store)
{
    uint64_t *block = calloc(8, (FM_BLOCK_ROWS + FM_BLOCK_ROWS / 64) * sizeof *block);
    if (block == NULL || fm_out_init(&r->out, &ctx->mem, NULL) != FM_OK)
        return false;
    r->ctx = ctx;
    r->store = store;
    for (size_t i = 0; i < 8; i++) {
        r->col[i] = block + i * (FM_BLOCK_ROWS + FM_BLOCK_ROWS / 64);
        r->valid[i] = r->col[i] + FM_BLOCK_ROWS;
    }
    return true;
}

static void check_store(struct fm_ctx *ctx, struct fm_store *store, const char *dir,
                        const char *name)
{
    static struct facts got;
    struct figures f = {.span_rows = 0};
    struct lines spans = {0}, v8 = {0}, samples = {0}, heap = {0};
    struct read r;
    if (!open_read(&r, ctx, store))
        die("no memory", name);
    collect(&r, &f);
    got.n = 0;
    summary(&r, &f, &got);
    fold_lines(&r, &f.spans, &spans, true);
    fold_lines(&r, &f.v8, &v8, false);
    fold_lines(&r, &f.samples, &samples, false);
    fold_lines(&r, &f.heap, &heap, true);
    put_number(&got, "span_distinct_stacks", spans.n);
    put_number(&got, "span_self_ns_total", sum_lines(&spans, false));
    put_number(&got, "v8_time_ns", sum_lines(&v8, true));
    put_number(&got, "legacy_samples_weight", sum_lines(&samples, false));
    put_number(&got, "heap_self_bytes", sum_lines(&heap, false));
    check_kind(&r, dir, name, "spans", 1, &spans);
    check_kind(&r, dir, name, "v8", 2, &v8);
    if (fact(&got, "heap_self_bytes")[0] == '0')
        check_kind(&r, dir, name, "samples", 2, &samples);
    check_kind(&r, dir, name, "heap", 1, &heap);
    check_kind(&r, dir, name, "async", 2, &f.async);
    if (dir[0] != '\0') {
        check_summary(&r, dir, name, &got);
        check_links(store, name);
    }
    for (size_t i = 0; dir[0] == '\0' && i < got.n; i++)
        printf("summary: %s %s\n", got.v[i].key, got.v[i].text);
    fm_map_release(&f.span_threads);
    fm_out_release(&r.out);
    free(r.col[0]);
}

static void check_file(const char *dir, const char *name)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_store *store = NULL;
    struct fm_error err;
    char path[4200], text[800];
    const char *one = path;
    if (ctx == NULL)
        die("no memory", name);
    fm_error_clear(&err);
    snprintf(path, sizeof path, "%s%s%s", dir, dir[0] != '\0' ? "/" : "", name);
    fm_import(ctx, &one, 1, &options, &store, &err);
    fm_error_text(&err, text, sizeof text);
    if (store == NULL) {
        printf("not ok %u - %s is read\n# %s\n", ++tests, name, text);
        all_ok = false;
    } else if (fm_store_verify(store, &err) != FM_OK) {
        fm_error_text(&err, text, sizeof text);
        printf("not ok %u - %s verifies\n# %s\n", ++tests, name, text);
        all_ok = false;
    } else {
        check_store(ctx, store, dir, name);
    }
    fm_store_free(store);
    fm_ctx_free(ctx);
    fflush(stdout);
}

/* ------------------------------------------------------------------ the folder */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

static bool wanted(const char *name, char **part, int parts)
{
    for (int i = 0; i < parts; i++)
        if (strstr(name, part[i]) != NULL)
            return true;
    return parts == 0;
}

/* Names "area/file" of all summaries. */
static void find_files(const char *dir, const char *area, struct lines *files)
{
    char path[4200], name[4200];
    struct dirent *e;
    DIR *d;
    snprintf(path, sizeof path, "%s/expected/%s", dir, area);
    d = opendir(path);
    while (d != NULL && (e = readdir(d)) != NULL) {
        size_t n;
        if (e->d_name[0] == '.')
            continue;
        n = (size_t)snprintf(name, sizeof name, "%s%s%s", area, area[0] != '\0' ? "/" : "",
                             e->d_name);
        if (area[0] == '\0')
            find_files(dir, name, files);
        else if (n > 13 && n < sizeof name && strcmp(name + n - 13, ".summary.json") == 0)
            add_line(files, name, n - 13, 0, 0);
    }
    if (d != NULL)
        closedir(d);
}

int main(int argc, char **argv)
{
    struct lines files = {0};
    if (argc == 3 && strcmp(argv[1], "-p") == 0) {
        check_file("", argv[2]);
        return 0;
    }
    if (argc < 2)
        die("a folder, please", "chrome-values");
    find_files(argv[1], "", &files);
    if (files.n > 0)
        qsort(files.v, files.n, sizeof *files.v, by_name);
    for (size_t i = 0; i < files.n; i++)
        if (wanted(files.v[i].text, argv + 2, argc - 2))
            check_file(argv[1], files.v[i].text);
    free_lines(&files);
    printf("1..%u\n", tests);
    return all_ok ? 0 : 1;
}
