/*
 * test_jfr.c - recordings that tests/jfrfix.c, jfrfix09.c and jfrbad.c write, through the facade:
 * every row as it was worked out by hand, and what each damage must leave.
 */
#include "foldmill.h"

#include "../jfrfix.h"
#include "../storerows.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------- rows as text */

struct text {
    char *s;
    size_t n, cap;
};

static void add(struct text *t, const char *s, size_t n)
{
    if (t->n + n + 1 > t->cap) {
        t->cap = 2 * (t->n + n + 1);
        t->s = realloc(t->s, t->cap);
        ck_assert_ptr_nonnull(t->s);
    }
    memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = '\0';
}

static void add_text(struct text *t, const char *s)
{
    add(t, s, strlen(s));
}

/* A name as one word. */
static void add_name(struct text *t, const char *s, size_t n)
{
    char hex[4];

    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)s[i] <= 0x20 || s[i] == '%') {
            snprintf(hex, sizeof hex, "%%%02x", (unsigned)(unsigned char)s[i]);
            add_text(t, hex);
        } else {
            add(t, s + i, 1);
        }
    }
}

static void add_str(struct text *t, const struct fm_store *store, fm_str id)
{
    size_t n;
    const char *s = fm_store_str(store, id, &n);

    add_name(t, s, n);
}

static char kind_letter(unsigned kind)
{
    switch (kind) {
    case FM_FRAME_INTERPRETED: return 'i';
    case FM_FRAME_JIT: return 'j';
    case FM_FRAME_INLINED: return 'n';
    case FM_FRAME_C1: return 'c';
    case FM_FRAME_USER: return 'u';
    case FM_FRAME_KERNEL: return 'k';
    case FM_FRAME_SYNTHETIC: return 's';
    default: return '?';
    }
}

static void add_stack(struct text *t, struct fm_store *store, uint32_t node)
{
    static const struct fm_names names = {.style = FM_NAMES_FOLDMILL};
    fm_frame frame[64];
    size_t n = store_row_frames(store, node, frame, 64);
    char end[32];

    ck_assert_uint_le(n, 64);
    for (size_t i = n; i-- > 0;) {
        const struct fm_frame_row *f = fm_store_frame_row(store, frame[i]);
        add_str(t, store, fm_name_frame(store, frame[i], &names));
        if (f->line != 0)
            snprintf(end, sizeof end, ":%" PRIu32 "%c", f->line, kind_letter(f->kind));
        else
            snprintf(end, sizeof end, "%c", kind_letter(f->kind));
        add_text(t, end);
        if (i > 0)
            add_text(t, ";");
    }
}

static void row_text(struct text *t, struct fm_store *store, const struct store_row *row,
                     uint64_t number)
{
    fm_column class = fm_store_column_find(store, "class");
    char buf[96];
    uint64_t v;

    add_str(t, store, row->event->name);
    ck_assert(row->timed);
    snprintf(buf, sizeof buf, " %" PRId64, row->ts);
    add_text(t, buf);
    if (row->spanned) {
        snprintf(buf, sizeof buf, "+%" PRId64, row->dur);
        add_text(t, buf);
    }
    snprintf(buf, sizeof buf, " w%" PRIu64 " ", row->weight);
    add_text(t, buf);
    if (row->count != 1) {
        snprintf(buf, sizeof buf, "x%" PRIu64 " ", row->count);
        add_text(t, buf);
    }
    if (row->thread == FM_NONE)
        add_text(t, "-");
    else
        add_str(t, store, fm_store_thread_name(store, row->thread, false, 0));
    add_text(t, " ");
    add_stack(t, store, row->node);
    if (class != FM_NONE && fm_store_cell(store, class, number, &v)) {
        add_text(t, " class=");
        add_str(t, store, (fm_str)v);
    }
    add_text(t, "\n");
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The rows as sorted lines; to be freed. */
static char *all_rows(struct fm_store *store)
{
    struct store_rows rows;
    struct store_row row;
    struct text out = {0};
    char **line = calloc(fm_store_rows(store) + 1, sizeof *line);
    size_t n = 0;

    ck_assert_ptr_nonnull(line);
    ck_assert(store_rows_init(&rows, store));
    while (store_rows_next(&rows, &row)) {
        struct text t = {0};
        row_text(&t, store, &row, n);
        line[n++] = t.s;
    }
    store_rows_release(&rows);
    qsort(line, n, sizeof *line, by_bytes);
    add(&out, "", 0);
    for (size_t i = 0; i < n; i++) {
        add_text(&out, line[i]);
        free(line[i]);
    }
    free(line);
    return out.s;
}

/* ------------------------------------------------------------------ imports */

struct run {
    struct fm_ctx *ctx;
    struct fm_store *store;
    struct fm_error err;
    enum fm_status status;
    uint64_t rows;
};

static void import(struct run *run, const struct jfr *g, const char *name, uint64_t threads)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_memory memory = {g->data, g->n, name};
    struct fm_error err = {0};
    uint64_t dropped = 0;
    struct fm_source_info info;

    memset(run, 0, sizeof *run);
    run->ctx = fm_ctx_new();
    ck_assert_ptr_nonnull(run->ctx);
    fm_ctx_set_cap(run->ctx, FM_CAP_THREADS, threads);
    options.format = "jfr";
    run->status = fm_import_memory(run->ctx, &memory, &options, &run->store, &run->err);
    if (run->store == NULL)
        return;
    run->rows = fm_store_rows(run->store);
    ck_assert_msg(fm_store_verify(run->store, &err) == FM_OK, "%s: %s", name, err.message);
    fm_store_source(run->store, 0, &info);
    for (size_t i = 0; i < fm_store_accounts(run->store); i++) {
        struct fm_account_info a;
        fm_store_account(run->store, i, &a);
        if (a.kind == FM_ACCOUNT_DROPPED)
            dropped += a.count;
    }
    ck_assert_uint_eq(info.samples_in, info.samples_kept + dropped);
}

static void release(struct run *run)
{
    fm_store_free(run->store);
    fm_ctx_free(run->ctx);
}

static void check_outcome(const struct jfr_fixture *f, const struct run *run)
{
    unsigned most = f->at_most != 0 ? f->at_most : f->samples;
    const char *told = run->err.message;

    if (f->outcome == JFR_NOTHING) {
        ck_assert_msg(run->status != FM_OK && told[0] != '\0', "%s: status %d, %" PRIu64 " rows",
                      f->name, run->status, run->rows);
        ck_assert_msg(run->rows == 0, "%s: %" PRIu64 " rows", f->name, run->rows);
    } else {
        ck_assert_msg(run->store != NULL, "%s: nothing: %s", f->name, told);
        ck_assert_msg((run->status == FM_OK) == (f->outcome == JFR_WHOLE), "%s: status %d: %s",
                      f->name, run->status, told);
        ck_assert_msg(run->rows >= f->samples && run->rows <= most, "%s: %" PRIu64 " rows",
                      f->name, run->rows);
    }
    if (f->outcome == JFR_DAMAGED)
        ck_assert_msg(run->err.source[0] != '\0' && run->err.offset != FM_NO_OFFSET,
                      "%s: a damage without a place: %s", f->name, told);
    if (f->message != NULL)
        ck_assert_msg(strstr(told, f->message) != NULL, "%s: '%s' does not say '%s'", f->name,
                      told, f->message);
}

static void try_fixture(const struct jfr_fixture *f)
{
    struct jfr g = {0};
    struct run run, other;
    char *rows, *again;

    f->make(&g);
    import(&run, &g, f->name, 1);
    check_outcome(f, &run);
    if (run.store != NULL) {
        rows = all_rows(run.store);
        if (f->rows != NULL)
            ck_assert_msg(strcmp(rows, f->rows) == 0, "%s: rows are\n%swanted\n%s", f->name, rows,
                          f->rows);
        import(&other, &g, f->name, 4);
        ck_assert_int_eq(other.status, run.status);
        again = all_rows(other.store);
        ck_assert_msg(strcmp(rows, again) == 0, "%s: other rows with 4 threads", f->name);
        release(&other);
        free(again);
        free(rows);
    }
    release(&run);
    jfr_free(&g);
}

static size_t count(const struct jfr_fixture *f)
{
    size_t n = 0;

    while (f[n].name != NULL)
        n++;
    return n;
}

START_TEST(fixtures)
{
    try_fixture(&jfr_fixtures[_i]);
}
END_TEST

START_TEST(damages)
{
    try_fixture(&jfr_damages[_i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jfr");
    TCase *tcase = tcase_create("jfr");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, fixtures, 0, (int)count(jfr_fixtures));
    tcase_add_loop_test(tcase, damages, 0, (int)count(jfr_damages));
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
