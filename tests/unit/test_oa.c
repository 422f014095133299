/*
 * test_oa.c - GPU timestamps on the CPU's clock, in any order.
 */
#include "import/gpu/recorder.h"

#include "util/mem.h"

#include <check.h>
#include <stdlib.h>

enum { PAIRS = 300000 };

/* From end to end each time: a search, never a walk (which takes minutes, and more than Check's
 * time). */
START_TEST(far_jumps)
{
    struct fm_mem mem;
    struct fm_oa_clock clock = {.frequency = 1};
    fm_mem_init(&mem, 0);
    for (uint64_t i = 0; i < PAIRS; i++)
        ck_assert(fm_oa_clock_add(&mem, &clock, 5000 + 10 * i, 100 * (PAIRS - 1 - i)));
    fm_oa_clock_sort(&clock);
    ck_assert_uint_eq(clock.pairs, PAIRS);
    for (uint64_t i = 0; i < PAIRS; i++) {
        uint64_t at = i % 2 == 0 ? i : PAIRS - 1 - i;
        int64_t time;
        ck_assert(fm_oa_clock_time(&clock, 100 * at + 50, &time));
        ck_assert_int_eq(time, 5000 + 10 * (int64_t)(PAIRS - 1 - at) - 5);
    }
    fm_mem_free(&mem, clock.pair, clock.cap * sizeof *clock.pair);
}
END_TEST

/* Every place against the line between the pairs around it, outside of them the nearest line. */
START_TEST(lines)
{
    static const uint64_t gpu[] = {0, 9, 10, 15, 20, 29, 30, 45, 20, 0, 45, 10};
    static const int64_t time[] = {900, 990, 1000, 1050, 1100, 1280, 1300, 1600, 1100, 900, 1600,
                                   1000};
    struct fm_mem mem;
    struct fm_oa_clock clock = {0};
    fm_mem_init(&mem, 0);
    ck_assert(fm_oa_clock_add(&mem, &clock, 1300, 30));
    ck_assert(fm_oa_clock_add(&mem, &clock, 1000, 10));
    ck_assert(fm_oa_clock_add(&mem, &clock, 1100, 20));
    fm_oa_clock_sort(&clock);
    for (size_t i = 0; i < FM_COUNT(gpu); i++) {
        int64_t t;
        ck_assert(fm_oa_clock_time(&clock, gpu[i], &t));
        ck_assert_int_eq(t, time[i]);
    }
    fm_mem_free(&mem, clock.pair, clock.cap * sizeof *clock.pair);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("oa");
    TCase *t = tcase_create("oa");
    tcase_add_test(t, far_jumps);
    tcase_add_test(t, lines);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
