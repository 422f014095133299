/*
 * test_flame.c - flame charts of samples, laid out by hand: see small.h for the rows.
 *
 *     us     1100   1150   1200         1400   1600
 *     app    main--------- main---------- (no stack)
 *            work--------- work----------
 *                          kfn-----------
 *     wor;ker       main ........... 1350
 *
 * The usual distance is the median of app's 100 and 200, which is 200: app's last sample ends at
 * 1600, and the picture is 500 us wide.
 */
#include "small.h"

#include <check.h>
#include <stdlib.h>

static struct fm_ctx *ctx;
static struct fm_store *store;

static void setup(void)
{
    ctx = fm_ctx_new();
    store = small_store(ctx);
}

static void teardown(void)
{
    fm_store_free(store);
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
    fm_ctx_free(ctx);
}

static char *draw(const char *const *set, size_t sets)
{
    struct fm_export_options options = FM_INIT(options);
    struct fm_error err = {0};
    char *text;
    options.set = set;
    options.sets = sets;
    text = small_export(ctx, store, "svg", NULL, &options, &err);
    ck_assert_msg(text != NULL, "%s", err.message);
    return text;
}

static void has(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "no '%s'", part);
}

START_TEST(samples_hold_until_the_next)
{
    static const char *const set[] = {"flamechart", "width=520"};
    char *text = draw(set, FM_COUNT(set)), *p;
    size_t boxes = 0;
    for (p = text; (p = strstr(p, "<g data-x=")) != NULL; p++)
        boxes++;
    ck_assert_uint_eq(boxes, 4);
    has(text, ">app 10/10</text>");
    has(text, ">wor;ker 10/11</text>");
    has(text, "<title>kfn (200.000 us at 100.000 us, 40.00%)</title><rect x=\"110.0\"");
    has(text, "<title>work (300.000 us at 0 ns, 60.00%)</title><rect x=\"10.0\"");
    has(text, "<title>main (300.000 us at 0 ns, 60.00%)</title><rect x=\"10.0\"");
    has(text, "<title>main (200.000 us at 50.000 us, 40.00%)</title><rect x=\"60.0\"");
    has(text, ">1 rows without a time are left out</text>");
    free(text);
}
END_TEST

START_TEST(what_lies_apart_leaves_a_gap)
{
    static const char *const set[] = {"flamechart", "width=370", "gap=50us"};
    char *text = draw(set, FM_COUNT(set));
    has(text, "<title>work (50.000 us at 0 ns, 14.29%)</title><rect x=\"10.0\"");
    has(text, "<title>work (50.000 us at 100.000 us, 14.29%)</title><rect x=\"110.0\"");
    has(text, "<title>kfn (50.000 us at 100.000 us, 14.29%)</title>");
    free(text);
}
END_TEST

START_TEST(every_failed_allocation_is_survived)
{
    static const char *const set[] = {"flamechart", "lanes=cpu"};
    struct fm_export_options options = FM_INIT(options);
    struct fm_error err = {0};
    char *text = NULL;
    uint64_t n;
    options.set = set;
    options.sets = FM_COUNT(set);
    for (n = 1; text == NULL; n++) {
        fm_error_clear(&err);
        ctx->mem.fail_at = atomic_load(&ctx->mem.allocations) + n;
        text = small_export(ctx, store, "svg", NULL, &options, &err);
        ck_assert(text != NULL || err.status == FM_NOMEM);
        ck_assert_uint_lt(n, 10000);
    }
    ctx->mem.fail_at = 0;
    ck_assert_uint_gt(n, 10);
    has(text, ">no cpu</text>");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("flame");
    TCase *tc = tcase_create("flame");
    SRunner *runner;
    int failed;
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, samples_hold_until_the_next);
    tcase_add_test(tc, what_lies_apart_leaves_a_gap);
    tcase_add_test(tc, every_failed_allocation_is_survived);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
