/*
 * test_order.c - tokens come out by time, then arrival, however they went in.
 */
#include "import/order.h"

#include <check.h>
#include <stdlib.h>

struct taken {
    uint64_t time[4096], place[4096];
    size_t n, stop_after;
};

static bool take(void *user, uint64_t time, uint64_t place)
{
    struct taken *t = user;
    ck_assert_uint_lt(t->n, FM_COUNT(t->time));
    t->time[t->n] = time;
    t->place[t->n++] = place;
    return t->stop_after == 0 || t->n < t->stop_after;
}

static struct fm_mem mem;
static struct fm_order order;
static struct taken got;

static void setup(void)
{
    fm_mem_init(&mem, 0);
    fm_order_init(&order, &mem);
    memset(&got, 0, sizeof got);
}

static void teardown(void)
{
    fm_order_release(&order);
    ck_assert_uint_eq(atomic_load(&mem.used), 0);
}

static void check_sorted(size_t from)
{
    for (size_t i = from + 1; i < got.n; i++) {
        ck_assert_uint_le(got.time[i - 1], got.time[i]);
        if (got.time[i - 1] == got.time[i])
            ck_assert_uint_lt(got.place[i - 1], got.place[i]);
    }
}

START_TEST(runs_merge)
{
    static const uint64_t time[] = {1, 4, 7, 2, 3, 9, 8, 4, 4};
    bool whole;
    for (size_t i = 0; i < FM_COUNT(time); i++)
        ck_assert_int_eq(fm_order_add(&order, time[i], i), FM_OK);
    ck_assert_uint_eq(order.max, 9);
    ck_assert_int_eq(fm_order_flush(&order, 7, take, &got, &whole), FM_OK);
    ck_assert(whole);
    ck_assert_uint_eq(got.n, 7);
    ck_assert_uint_eq(order.done, 7);
    static const uint64_t place[] = {0, 3, 4, 1, 7, 8, 2};
    for (size_t i = 0; i < got.n; i++)
        ck_assert_uint_eq(got.place[i], place[i]);
    ck_assert_int_eq(fm_order_flush(&order, UINT64_MAX, take, &got, NULL), FM_OK);
    ck_assert_uint_eq(got.n, 9);
    ck_assert_uint_eq(got.time[7], 8);
    ck_assert_uint_eq(got.time[8], 9);
}
END_TEST

/* Two buffers that are emptied in turn: few runs, whatever their number of tokens. */
START_TEST(buffers_make_few_runs)
{
    uint64_t place = 0, limit = 0;
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned cpu = 0; cpu < 2; cpu++)
            for (unsigned i = 0; i < 100; i++)
                ck_assert_int_eq(fm_order_add(&order, round * 1000 + i * 10 + cpu * 3, place++),
                                 FM_OK);
        ck_assert_uint_le(order.runs, 3);
        uint64_t next = order.max;
        ck_assert_int_eq(fm_order_flush(&order, limit, take, &got, NULL), FM_OK);
        limit = next;
    }
    ck_assert_int_eq(fm_order_flush(&order, UINT64_MAX, take, &got, NULL), FM_OK);
    ck_assert_uint_eq(got.n, 2000);
    check_sorted(0);
}
END_TEST

START_TEST(any_order_at_all)
{
    uint32_t seed = 1;
    for (unsigned kind = 0; kind < 3; kind++) {
        size_t from = got.n;
        for (unsigned i = 0; i < 1000; i++) {
            seed = seed * 1664525 + 1013904223;
            uint64_t time = kind == 0 ? 5000 - i : kind == 1 ? seed >> 20 : seed >> 30;
            ck_assert_int_eq(fm_order_add(&order, time, kind * 1000 + i), FM_OK);
            if (i == 500)
                ck_assert_uint_gt(fm_order_half(&order), 0);
        }
        ck_assert_int_eq(fm_order_flush(&order, UINT64_MAX, take, &got, NULL), FM_OK);
        ck_assert_uint_eq(got.n, (kind + 1) * 1000);
        check_sorted(from);
        ck_assert_uint_eq(order.n, 0);
    }
}
END_TEST

/* Records of an inner stream stand in a later block than the outer ones that follow them. */
START_TEST(equal_times_come_in_order_of_arrival)
{
    static const uint64_t time[] = {5, 7, 5, 6, 5}, place[] = {90, 80, 10, 99, 20};
    static const uint64_t right[] = {90, 10, 20, 99, 80};
    for (size_t i = 0; i < FM_COUNT(time); i++)
        ck_assert_int_eq(fm_order_add(&order, time[i], place[i]), FM_OK);
    ck_assert_int_eq(fm_order_flush(&order, UINT64_MAX, take, &got, NULL), FM_OK);
    for (size_t i = 0; i < FM_COUNT(right); i++)
        ck_assert_uint_eq(got.place[i], right[i]);
}
END_TEST

START_TEST(stopping_keeps_the_rest)
{
    bool whole;
    for (unsigned i = 0; i < 10; i++)
        ck_assert_int_eq(fm_order_add(&order, 10 - i, i), FM_OK);
    got.stop_after = 4;
    ck_assert_int_eq(fm_order_flush(&order, UINT64_MAX, take, &got, &whole), FM_OK);
    ck_assert(!whole);
    ck_assert_uint_eq(got.n, 4);
    got.stop_after = 0;
    ck_assert_int_eq(fm_order_flush(&order, UINT64_MAX, take, &got, &whole), FM_OK);
    ck_assert_uint_eq(got.n, 10);
    check_sorted(0);
}
END_TEST

START_TEST(no_memory_is_a_status)
{
    enum fm_status status = FM_OK;
    mem.fail_at = 2;
    for (uint64_t i = 0; status == FM_OK && i < 100000; i++)
        status = fm_order_add(&order, 100000 - i, i);
    ck_assert_int_eq(status, FM_NOMEM);
    mem.fail_at = 0;
}
END_TEST

int main(void)
{
    Suite *s = suite_create("order");
    TCase *t = tcase_create("order");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, runs_merge);
    tcase_add_test(t, buffers_make_few_runs);
    tcase_add_test(t, any_order_at_all);
    tcase_add_test(t, equal_times_come_in_order_of_arrival);
    tcase_add_test(t, stopping_keeps_the_rest);
    tcase_add_test(t, no_memory_is_a_status);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
