/*
 * Split and join give what one builder would have built: every cell, table, node, link, account
 * row, and the encoded bytes. And the n-th allocation failing, for every n.
 */
#include "store/inside.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static struct fm_ctx *ctx;

static void setup(void)
{
    ctx = fm_ctx_new();
    ck_assert_ptr_nonnull(ctx);
}

static void teardown(void)
{
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
    fm_ctx_free(ctx);
}

static fm_str str(struct fm_builder *b, const char *s)
{
    return fm_builder_str(b, s, strlen(s));
}

static fm_str numbered(struct fm_builder *b, const char *what, unsigned i)
{
    char buf[64];
    int n = snprintf(buf, sizeof buf, "%s%u", what, i);
    return fm_builder_str(b, buf, (size_t)n);
}

/* What every builder knows before the work begins. */
struct base {
    uint32_t event;
    fm_column label;
    fm_module module;
    fm_thread main;
};

static struct base begin(struct fm_builder *b)
{
    struct base base;
    struct fm_module_row m = {.kind = FM_MODULE_USER, .pid = -1};

    fm_builder_source(b, "in.data", "test");
    fm_builder_provenance(b, "host", "box", 3);
    base.event = fm_builder_event(b, "cycles", "cycles", FM_KIND_SAMPLE);
    base.label = fm_builder_label(b, "class", FM_TYPE_STRING, false);
    m.path = str(b, "/bin/a");
    base.module = fm_builder_module(b, &m);
    base.main = fm_builder_thread(b, 1, 1, 0);
    fm_builder_thread_name(b, base.main, INT64_MIN, str(b, "main"));
    return base;
}

static fm_node stack_of(struct fm_builder *b, const struct base *base, unsigned v)
{
    fm_frame frame[12];
    size_t depth = 1 + v % 12;

    for (size_t d = 0; d < depth; d++) {
        struct fm_frame_row f = {.module = base->module, .address = d * 100 + v % (d + 2),
                                 .kind = FM_FRAME_USER};
        if (d == 3) {
            f.function = numbered(b, "fn", v % 5);
            f.signature = numbered(b, "()", v % 3);
            f.bci = v % 2;
        }
        frame[d] = fm_builder_frame(b, &f);
    }
    return fm_builder_stack(b, frame, depth);
}

/* Piece `i` of the work: `rows` rows with everything a builder can do. */
static void work(struct fm_builder *b, const struct base *base, unsigned i, unsigned rows)
{
    uint64_t first = fm_builder_rows(b);
    uint32_t spans = fm_builder_event(b, "spans", "ns", FM_KIND_SPAN);
    fm_column extra = fm_builder_label(b, i % 2 != 0 ? "odd" : "even", FM_TYPE_F64, true);
    fm_column via = fm_builder_label(b, "via", FM_TYPE_STACK, false);
    fm_column who = fm_builder_label(b, "who", FM_TYPE_THREAD, false);
    fm_thread t = fm_builder_thread(b, 1, 10 + i / 2, 0);
    fm_thread named = fm_builder_thread_text(b, numbered(b, "stream-", i));
    struct fm_module_row m = {.kind = FM_MODULE_JIT, .pid = i};

    fm_builder_event_row(b, spans)->period = 5 + i;
    fm_builder_event_row(b, base->event)->append = numbered(b, "view", i);
    m.path = numbered(b, "//anon", i / 3);
    fm_builder_module_row(b, fm_builder_module(b, &m))->looked = str(b, "nowhere");
    fm_builder_module_row(b, base->module)->build_id = numbered(b, "b1d", i);
    fm_builder_thread_name(b, base->main, (int64_t)i * 10, numbered(b, "renamed", i));
    fm_builder_thread_name(b, t, 100 - (int64_t)i, numbered(b, "worker", i));
    fm_builder_thread_row(b, t)->process = str(b, "proc");
    fm_builder_thread_row(b, t)->leader = base->main;
    fm_builder_source_row(b)->bytes = 1000 + i;
    fm_builder_provenance(b, "chunk", i % 2 != 0 ? "odd" : "even", i % 2 != 0 ? 3 : 4);
    fm_account_in(b, rows);
    fm_account_record(b, FM_ACCOUNT_RECORDS, numbered(b, "class", i % 3), 100 - i, 2);
    for (unsigned r = 0; r < rows; r++) {
        unsigned v = r * 7 + i * 13;
        uint64_t row;
        if (v % 11 == 0) {
            fm_account_drop(b, FM_DIAG_SAMPLE_BODY, 500 + r, 1);
            continue;
        }
        fm_row_begin(b, v % 5 == 0 ? spans : base->event);
        if (v % 5 == 0)
            fm_account_drop(b, FM_DIAG_SAMPLE_ID, FM_NO_OFFSET, 1);
        fm_row_set(b, FM_COL_TS, 1000 * (uint64_t)(i * 30000 + r) + v % 900);
        if (v % 3 != 0)
            fm_row_set(b, FM_COL_WEIGHT, v % 1000);
        fm_row_set(b, FM_COL_STACK, stack_of(b, base, v));
        fm_row_set(b, FM_COL_THREAD, v % 4 == 0 ? named : v % 2 == 0 ? t : base->main);
        fm_row_set(b, base->label, numbered(b, "cls", v % 9));
        if (r % 2 == 0)
            fm_row_set(b, extra, fm_f64_bits(v / 8.0));
        if (r % 50 == 0)
            fm_row_set(b, via, stack_of(b, base, v + 1));
        if (r % 70 == 3)
            fm_row_set(b, who, named);
        row = fm_row_end(b);
        if (r % 100 == 5)
            fm_builder_link(b, FM_LINK_WAKER, row, FM_LINK_THREAD, named);
        if (r % 100 == 6)
            fm_builder_link(b, FM_LINK_PARENT, row, FM_LINK_STACK, stack_of(b, base, v + 2));
        if (r % 100 == 7)
            fm_builder_link(b, FM_LINK_FLOW, row, FM_LINK_ROW, first);
        if (r % 60 == 8)
            fm_builder_link_key(b, FM_LINK_LAUNCH, r % 120 == 8 ? FM_SIDE_FROM : FM_SIDE_TO,
                                r / 120, row);
        if (r % 90 == 9)
            fm_row_patch(b, first + (row - first) / 2, FM_COL_DUR, v);
        if (r % 300 == 10)
            fm_row_patch(b, first, FM_COL_STACK, stack_of(b, base, v + 3));
    }
}

static struct fm_store *sealed(struct fm_builder *b)
{
    struct fm_store *s;
    struct fm_error err;

    fm_error_clear(&err);
    ck_assert_msg(fm_builder_seal(b, NULL, &s, &err) == FM_OK, "%s", err.message);
    ck_assert_msg(fm_store_verify(s, &err) == FM_OK, "%s", err.message);
    return s;
}

static void same_tables(const struct fm_store *a, const struct fm_store *b)
{
    const struct fm_tables *x = &a->t, *y = &b->t;

    ck_assert_uint_eq(a->strings.n, b->strings.n);
    for (size_t i = 0; i < a->strings.n; i++)
        ck_assert_str_eq(a->strings.item[i].p, b->strings.item[i].p);
    ck_assert_uint_eq(x->columns, y->columns);
    ck_assert_mem_eq(x->column, y->column, x->columns * sizeof *x->column);
    ck_assert_uint_eq(x->events, y->events);
    for (size_t i = 0; i < x->events; i++)
        ck_assert_mem_eq(&x->event[i], &y->event[i], sizeof *x->event);
    ck_assert_uint_eq(x->frames, y->frames);
    for (size_t i = 0; i < x->frames; i++) {
        ck_assert_uint_eq(x->frame[i].address, y->frame[i].address);
        ck_assert_uint_eq(x->frame[i].function, y->frame[i].function);
        ck_assert_uint_eq(x->frame[i].signature, y->frame[i].signature);
        ck_assert_uint_eq(x->frame[i].bci, y->frame[i].bci);
        ck_assert_uint_eq(x->frame[i].module, y->frame[i].module);
    }
    ck_assert_uint_eq(x->modules, y->modules);
    for (size_t i = 0; i < x->modules; i++) {
        ck_assert_uint_eq(x->module[i].path, y->module[i].path);
        ck_assert_uint_eq(x->module[i].build_id, y->module[i].build_id);
        ck_assert_uint_eq(x->module[i].looked, y->module[i].looked);
        ck_assert_int_eq(x->module[i].pid, y->module[i].pid);
    }
    ck_assert_uint_eq(x->threads, y->threads);
    for (size_t i = 0; i < x->threads; i++) {
        const struct fm_thread_row *t = &x->thread[i], *u = &y->thread[i];
        ck_assert_int_eq(t->tid, u->tid);
        ck_assert_uint_eq(t->text_id, u->text_id);
        ck_assert_uint_eq(t->process, u->process);
        ck_assert_uint_eq(t->leader, u->leader);
        ck_assert_uint_eq(t->samples, u->samples);
        ck_assert_uint_eq(t->names, u->names);
        for (size_t k = 0; k < t->names; k++) {
            ck_assert_int_eq(t->name[k].since, u->name[k].since);
            ck_assert_uint_eq(t->name[k].name, u->name[k].name);
        }
    }
}

static void same_sources(const struct fm_store *a, const struct fm_store *b)
{
    size_t n = fm_store_accounts(a);

    ck_assert_uint_eq(a->t.sources, b->t.sources);
    ck_assert_uint_eq(fm_store_accounts(b), n);
    for (size_t i = 0; i < n; i++) {
        struct fm_account_info x, y;
        fm_store_account(a, i, &x);
        fm_store_account(b, i, &y);
        ck_assert_str_eq(x.key, y.key);
        ck_assert_int_eq(x.kind, y.kind);
        ck_assert_uint_eq(x.count, y.count);
        ck_assert_uint_eq(x.first_offset, y.first_offset);
        ck_assert_uint_eq(x.source, y.source);
    }
    for (size_t i = 0; i < a->t.sources; i++) {
        const struct fm_source *x = &a->t.source[i], *y = &b->t.source[i];
        ck_assert_uint_eq(x->name, y->name);
        ck_assert_uint_eq(x->bytes, y->bytes);
        ck_assert_uint_eq(x->samples_in, y->samples_in);
        ck_assert_uint_eq(x->samples_kept, y->samples_kept);
        ck_assert_int_eq(x->first, y->first);
        ck_assert_int_eq(x->last, y->last);
        ck_assert_uint_eq(x->provenances, y->provenances);
        for (size_t k = 0; k < x->provenances; k++)
            ck_assert_mem_eq(&x->provenance[k], &y->provenance[k], sizeof *x->provenance);
    }
}

/* Segments with the same columns and the same encoded bytes. */
static void same_rows(const struct fm_store *a, const struct fm_store *b)
{
    ck_assert_uint_eq(a->rows, b->rows);
    ck_assert_uint_eq(a->segments, b->segments);
    for (size_t i = 0; i < a->segments; i++) {
        const struct fm_segment *x = &a->segment[i], *y = &b->segment[i];
        ck_assert_uint_eq(x->rows, y->rows);
        ck_assert_uint_eq(x->source, y->source);
        ck_assert_int_eq(x->sorted, y->sorted);
        ck_assert_uint_eq(x->cols, y->cols);
        for (size_t c = 0; c < x->cols; c++) {
            ck_assert_uint_eq(x->col[c]->col, y->col[c]->col);
            for (size_t k = 0; k < FM_SEGMENT_BLOCKS; k++) {
                const unsigned char *p = x->col[c]->block[k].data, *q = y->col[c]->block[k].data;
                ck_assert_int_eq(p == NULL, q == NULL);
                if (p == NULL)
                    continue;
                ck_assert_uint_eq(fm_encoded_size(p), fm_encoded_size(q));
                ck_assert_mem_eq(p, q, fm_encoded_size(p));
            }
        }
    }
    ck_assert_uint_eq(a->links, b->links);
    for (size_t i = 0; i < a->links; i++) {
        ck_assert_int_eq(a->link[i].kind, b->link[i].kind);
        ck_assert_int_eq(a->link[i].target, b->link[i].target);
        ck_assert_uint_eq(a->link[i].from, b->link[i].from);
        ck_assert_uint_eq(a->link[i].to, b->link[i].to);
    }
}

static void same_stores(const struct fm_store *a, const struct fm_store *b)
{
    same_tables(a, b);
    same_sources(a, b);
    ck_assert_uint_eq(a->nodes, b->nodes);
    ck_assert_mem_eq(a->tree, b->tree, a->nodes * sizeof *a->tree);
    ck_assert_mem_eq(a->append, b->append, a->nodes * sizeof *a->append);
    same_rows(a, b);
}

#define PIECES 7

static struct fm_store *in_turn(unsigned rows)
{
    struct fm_builder *b;
    struct base base;

    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    base = begin(b);
    for (unsigned i = 0; i < PIECES; i++)
        work(b, &base, i, rows + i * 37);
    return sealed(b);
}

static struct fm_store *in_parts(unsigned rows, bool backwards)
{
    struct fm_builder *b, *sub[PIECES];
    struct base base;

    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    base = begin(b);
    work(b, &base, 0, rows);
    for (size_t i = 1; i < PIECES; i++)
        sub[i] = fm_builder_split(b, i);
    for (unsigned k = 1; k < PIECES; k++) {
        unsigned i = backwards ? PIECES - k : k;
        ck_assert_ptr_nonnull(sub[i]);
        ck_assert_uint_eq(fm_builder_rows(sub[i]), 0);
        work(sub[i], &base, i, rows + i * 37);
    }
    fm_builder_join(b, sub + 1, PIECES - 1);
    return sealed(b);
}

static void join_is_in_turn(unsigned rows)
{
    struct fm_store *a = in_turn(rows), *b = in_parts(rows, false), *c = in_parts(rows, true);

    ck_assert_uint_gt(fm_store_rows(a), rows);
    ck_assert_uint_gt(a->links, 0);
    same_stores(a, b);
    same_stores(a, c);
    fm_store_free(a);
    fm_store_free(b);
    fm_store_free(c);
}

START_TEST(join_small) { join_is_in_turn(40); } END_TEST
START_TEST(join_blocks) { join_is_in_turn(3000); } END_TEST
START_TEST(join_segments) { join_is_in_turn(25000); } END_TEST

/* Sources that are begun within sub-builders. */
static void source_work(struct fm_builder *b, unsigned i)
{
    char name[16];
    uint32_t e;

    snprintf(name, sizeof name, "file%u", i);
    fm_builder_source(b, name, "test");
    e = fm_builder_event(b, "cycles", "", FM_KIND_SAMPLE);
    fm_builder_source_row(b)->clock = FM_CLOCK_MONOTONIC;
    for (unsigned r = 0; r < 100 + i; r++) {
        fm_account_in(b, 1);
        fm_row_begin(b, e);
        fm_row_set(b, FM_COL_TS, r);
        fm_row_set(b, FM_COL_THREAD, fm_builder_thread(b, 1, 1, 0));
        fm_row_end(b);
    }
}

START_TEST(join_sources)
{
    struct fm_builder *a, *b, *sub[3];
    struct fm_store *x, *y;

    ck_assert_int_eq(fm_builder_new(ctx, &a, NULL), FM_OK);
    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    fm_builder_source(a, "first", "test");
    fm_builder_source(b, "first", "test");
    for (unsigned i = 0; i < 3; i++) {
        source_work(a, i);
        sub[i] = fm_builder_split(b, i);
        source_work(sub[i], i);
    }
    fm_builder_join(b, sub, 3);
    x = sealed(a);
    y = sealed(b);
    ck_assert_uint_eq(x->segments, 3);
    ck_assert_uint_eq(x->t.threads, 3);     /* one a source */
    ck_assert_uint_eq(x->t.events, 1);      /* equal by name, unit, kind */
    ck_assert_int_eq(x->t.source[2].clock, FM_CLOCK_MONOTONIC);
    same_stores(x, y);
    fm_store_free(x);
    fm_store_free(y);
}
END_TEST

START_TEST(join_label_of_another_type)
{
    struct fm_builder *b, *sub[2];
    struct fm_store *s;
    uint32_t e;

    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    fm_builder_source(b, "first", "test");
    e = fm_builder_event(b, "x", "", FM_KIND_INSTANT);
    for (unsigned i = 0; i < 2; i++) {
        fm_column col;
        sub[i] = fm_builder_split(b, i);
        col = fm_builder_label(sub[i], "arg", i == 0 ? FM_TYPE_I64 : FM_TYPE_F64, false);
        fm_row_begin(sub[i], e);
        fm_row_set(sub[i], col, 1);
        fm_row_end(sub[i]);
    }
    fm_builder_join(b, sub, 2);
    s = sealed(b);      /* the second value has no place: counted, not reinterpreted */
    ck_assert_uint_eq(s->t.column[FM_COL_LABELS].rows, 1);
    ck_assert_uint_eq(s->t.source[0].diags.row[FM_DIAG_VALUE_RANGE].count, 1);
    fm_store_free(s);
}
END_TEST

/* ------------------------------------------------------ failing allocations */

/* A small build with split, join, links, patches; returns its status. */
static enum fm_status small(unsigned rows, struct fm_store **store)
{
    struct fm_builder *b, *sub[2];
    enum fm_status status = fm_builder_new(ctx, &b, NULL);
    struct base base;

    *store = NULL;
    if (status != FM_OK)
        return status;
    base = begin(b);
    if (fm_builder_status(b) == FM_OK)
        work(b, &base, 0, rows);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t words[3] = {i, 1, 2};
        fm_node *place;
        sub[i] = fm_builder_split(b, i);
        if (sub[i] == NULL)
            continue;
        place = fm_builder_chain(sub[i], 1, words, 3);
        if (place != NULL)
            *place = 0;
        work(sub[i], &base, i + 1, rows);
    }
    fm_builder_join(b, sub, 2);
    return fm_builder_seal(b, "in.data=1ms", store, NULL);
}

START_TEST(every_allocation_may_fail)
{
    struct fm_store *s;
    uint64_t n = 0;

    for (unsigned rows = 30; rows <= 2100; rows += 2070) {
        uint64_t step = rows > 1000 ? 7 : 1;
        for (n = 1;; n += step) {
            enum fm_status status;
            atomic_store(&ctx->mem.allocations, 0);
            ctx->mem.fail_at = n;
            status = small(rows, &s);
            ctx->mem.fail_at = 0;
            if (status == FM_OK)
                break;
            ck_assert_int_eq(status, FM_NOMEM);
            ck_assert_ptr_null(s);
            ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
        }
        ck_assert_uint_gt(n, 80);
        ck_assert_int_eq(fm_store_verify(s, NULL), FM_OK);
        fm_store_free(s);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("store_join");
    TCase *t = tcase_create("join");

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, join_small);
    tcase_add_test(t, join_blocks);
    tcase_add_test(t, join_segments);
    tcase_add_test(t, join_sources);
    tcase_add_test(t, join_label_of_another_type);
    tcase_add_test(t, every_allocation_may_fail);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *r = srunner_create(suite());
    int failed;

    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
