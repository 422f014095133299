/*
 * The store by builder: rows of every column kind, segment borders, tables, accounts, patches,
 * links, thread names, the tree.
 */
#include "store/build.h"

#include <check.h>
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

static struct fm_builder *builder(void)
{
    struct fm_builder *b;
    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    fm_builder_source(b, "a.data", "perf");
    return b;
}

static struct fm_store *seal(struct fm_builder *b)
{
    struct fm_store *store;
    struct fm_error err;

    fm_error_clear(&err);
    ck_assert_msg(fm_builder_seal(b, NULL, &store, &err) == FM_OK, "%s", err.message);
    ck_assert_msg(fm_store_verify(store, &err) == FM_OK, "%s", err.message);
    return store;
}

static fm_str str(struct fm_builder *b, const char *s)
{
    return fm_builder_str(b, s, strlen(s));
}

static uint64_t cell(const struct fm_store *s, fm_column col, uint64_t row)
{
    uint64_t v = 0xdead;
    ck_assert(fm_store_cell(s, col, row, &v));
    return v;
}

static bool none(const struct fm_store *s, fm_column col, uint64_t row)
{
    uint64_t v;
    return !fm_store_cell(s, col, row, &v);
}

START_TEST(empty_store)
{
    struct fm_builder *b;
    struct fm_store *s;
    int64_t start, end;

    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    s = seal(b);
    ck_assert_uint_eq(fm_store_rows(s), 0);
    ck_assert_uint_eq(fm_store_sources(s), 0);
    ck_assert_uint_eq(fm_store_tree_nodes(s), 1);
    ck_assert_uint_eq(fm_store_event_auto(s), FM_NONE);
    ck_assert(!fm_store_start(s, &start, &end));
    ck_assert_uint_eq(fm_store_columns(s), FM_COL_LABELS);
    fm_store_free(s);
}
END_TEST

START_TEST(rows_keep_their_values)
{
    struct fm_builder *b = builder();
    uint32_t e = fm_builder_event(b, "cycles", "cycles", FM_KIND_SAMPLE);
    struct fm_frame_row f = {.module = FM_NONE, .address = 1, .function = str(b, "main")};
    fm_frame frame = fm_builder_frame(b, &f);
    fm_thread t = fm_builder_thread(b, 10, 11, 0);
    fm_node n = fm_builder_stack(b, &frame, 1);
    struct fm_event_info info;
    struct fm_source_info source;
    struct fm_store *s;

    fm_account_in(b, 4);
    fm_row_begin(b, e);
    fm_row_set(b, FM_COL_TS, (uint64_t)-5);
    fm_row_set(b, FM_COL_WEIGHT, 100);
    fm_row_set(b, FM_COL_STACK, n);
    fm_row_set(b, FM_COL_THREAD, t);
    fm_row_set(b, FM_COL_COMM, str(b, "worker"));
    ck_assert_uint_eq(fm_row_end(b), 0);
    fm_row_begin(b, e);
    fm_row_set(b, FM_COL_COUNT, 3);
    fm_row_set(b, FM_COL_STACK, FM_NONE);   /* an id FM_NONE is no value */
    fm_row_set(b, FM_NONE, 7);              /* a column FM_NONE is ignored */
    ck_assert_uint_eq(fm_row_end(b), 1);
    fm_row_begin(b, e);
    fm_row_set(b, FM_COL_CPU, 1);
    fm_row_drop(b);
    ck_assert_uint_eq(fm_builder_rows(b), 2);
    s = seal(b);

    ck_assert_int_eq((int64_t)cell(s, FM_COL_TS, 0), -5);
    ck_assert(none(s, FM_COL_TS, 1));
    ck_assert_uint_eq(cell(s, FM_COL_WEIGHT, 0), 100);
    ck_assert(none(s, FM_COL_WEIGHT, 1));
    ck_assert_uint_eq(cell(s, FM_COL_COUNT, 0), 1);
    ck_assert_uint_eq(cell(s, FM_COL_COUNT, 1), 3);
    ck_assert(none(s, FM_COL_STACK, 1));
    ck_assert(none(s, FM_COL_CPU, 0));
    ck_assert_str_eq(fm_store_str(s, (fm_str)cell(s, FM_COL_COMM, 0), NULL), "worker");
    fm_store_event(s, e, &info);
    ck_assert_uint_eq(info.rows, 2);
    ck_assert_uint_eq(info.samples, 4);
    ck_assert_uint_eq(info.weight_lo, 100);
    ck_assert_uint_eq(info.stacks, 1);
    ck_assert(info.is_default);
    fm_store_source(s, 0, &source);
    ck_assert_uint_eq(source.samples_kept, 4);
    ck_assert(source.has_time);
    ck_assert_int_eq(source.first, -5);
    ck_assert_uint_eq(fm_store_thread_row(s, t)->samples, 1);
    ck_assert_uint_eq(fm_store_tree(s)[fm_store_tree_node(s, n)].frame, frame);
    fm_store_free(s);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("store_build");
    TCase *t = tcase_create("build");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, empty_store);
    tcase_add_test(t, rows_keep_their_values);
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
