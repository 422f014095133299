/*
 * test_match.c - which symbol names which address: every rule of symbol/match.h, and a comparison
 * of random cases with a slow and simple judge.
 */
#include "symbol/match.h"

#include <check.h>
#include <stdio.h>

static struct fm_mem mem;

static void setup(void)
{
    fm_mem_init(&mem, 0);
}

static struct fm_symbol sym(const char *name, uint64_t start, uint64_t size, uint8_t binding)
{
    struct fm_symbol s = { start, size, UINT64_MAX, name, (uint32_t)strlen(name), binding };
    return s;
}

/* The name that one address gets, "" for none. */
static const char *name_at(const struct fm_symbol *symbol, size_t n, uint64_t address)
{
    struct fm_point point = { .address = address };
    struct fm_match match;
    static char buf[64];

    ck_assert_int_eq(fm_match_init(&match, &mem, &point, 1), FM_OK);
    for (size_t i = 0; i < n; i++)
        fm_match_offer(&match, &symbol[i]);
    ck_assert_int_eq(fm_match_finish(&match), FM_OK);
    buf[0] = '\0';
    if (point.pick != UINT32_MAX) {
        const struct fm_symbol *s = &match.pick[point.pick];
        memcpy(buf, s->name, s->length);
        buf[s->length] = '\0';
    }
    fm_match_release(&match);
    ck_assert_uint_eq(atomic_load(&mem.used), 0);
    return buf;
}

START_TEST(sized_symbols_cover_their_range)
{
    const struct fm_symbol s[] = { sym("b", 0x200, 0x10, FM_BIND_GLOBAL),
                                   sym("a", 0x100, 0x10, FM_BIND_LOCAL) };

    ck_assert_str_eq(name_at(s, 2, 0xff), "");
    ck_assert_str_eq(name_at(s, 2, 0x100), "a");
    ck_assert_str_eq(name_at(s, 2, 0x10f), "a");
    ck_assert_str_eq(name_at(s, 2, 0x110), "");
    ck_assert_str_eq(name_at(s, 2, 0x1ff), "");
    ck_assert_str_eq(name_at(s, 2, 0x20f), "b");
    ck_assert_str_eq(name_at(s, 2, UINT64_MAX), "");
}
END_TEST

START_TEST(size_wraps_at_the_end_of_the_address_space)
{
    const struct fm_symbol s[] = { sym("top", UINT64_MAX - 15, 64, FM_BIND_GLOBAL) };

    ck_assert_str_eq(name_at(s, 1, UINT64_MAX - 1), "top");
    ck_assert_str_eq(name_at(s, 1, 3), "");
}
END_TEST

START_TEST(innermost_symbol_wins)
{
    const struct fm_symbol s[] = { sym("inner", 0x120, 0x10, FM_BIND_LOCAL),
                                   sym("outer", 0x100, 0x100, FM_BIND_GLOBAL) };

    ck_assert_str_eq(name_at(s, 2, 0x11f), "outer");
    ck_assert_str_eq(name_at(s, 2, 0x12f), "inner");
    ck_assert_str_eq(name_at(s, 2, 0x130), "outer");
}
END_TEST

START_TEST(unsized_labels_reach_to_the_next_symbol)
{
    struct fm_symbol s[] = { sym("label", 0x100, 0, FM_BIND_LOCAL),
                             sym("fn", 0x140, 0x10, FM_BIND_GLOBAL),
                             sym("last", 0x200, 0, FM_BIND_LOCAL) };

    s[2].limit = 0x300;
    ck_assert_str_eq(name_at(s, 3, 0x13f), "label");
    ck_assert_str_eq(name_at(s, 3, 0x14f), "fn");
    ck_assert_str_eq(name_at(s, 3, 0x150), "");     /* a gap after a sized symbol */
    ck_assert_str_eq(name_at(s, 3, 0x2ff), "last");
    ck_assert_str_eq(name_at(s, 3, 0x300), "");
}
END_TEST

START_TEST(label_within_a_function_is_not_its_name)
{
    const struct fm_symbol s[] = { sym("fn", 0x100, 0x40, FM_BIND_GLOBAL),
                                   sym("label", 0x110, 0, FM_BIND_LOCAL) };

    ck_assert_str_eq(name_at(s, 2, 0x118), "fn");
}
END_TEST

START_TEST(aliases_choose_as_perf_does)
{
    const struct fm_symbol a[] = { sym("weak_and_longer", 0x100, 8, FM_BIND_WEAK),
                                   sym("local", 0x100, 8, FM_BIND_LOCAL) };
    const struct fm_symbol b[] = { sym("local_longer", 0x100, 8, FM_BIND_LOCAL),
                                   sym("global", 0x100, 8, FM_BIND_GLOBAL) };
    const struct fm_symbol c[] = { sym("__longer", 0x100, 8, FM_BIND_GLOBAL),
                                   sym("_less", 0x100, 8, FM_BIND_GLOBAL) };
    const struct fm_symbol d[] = { sym("short", 0x100, 8, FM_BIND_GLOBAL),
                                   sym("longest", 0x100, 8, FM_BIND_GLOBAL),
                                   sym("longer", 0x100, 8, FM_BIND_GLOBAL) };
    const struct fm_symbol e[] = { sym("SyS_read", 0x100, 8, FM_BIND_GLOBAL),
                                   sym("sys_read", 0x100, 8, FM_BIND_GLOBAL) };
    const struct fm_symbol f[] = { sym("first", 0x100, 8, FM_BIND_GLOBAL),
                                   sym("equal", 0x100, 8, FM_BIND_GLOBAL) };
    const struct fm_symbol g[] = { sym("sized", 0x100, 8, FM_BIND_LOCAL),
                                   sym("unsized_global", 0x100, 0, FM_BIND_GLOBAL) };
    const struct fm_symbol h[] = { sym("earlier", 0x100, 0, FM_BIND_GLOBAL),
                                   sym("later", 0x100, 0, FM_BIND_LOCAL) };

    ck_assert_str_eq(name_at(a, 2, 0x104), "local");
    ck_assert_str_eq(name_at(b, 2, 0x104), "global");
    ck_assert_str_eq(name_at(c, 2, 0x104), "_less");
    ck_assert_str_eq(name_at(d, 3, 0x104), "longest");
    ck_assert_str_eq(name_at(e, 2, 0x104), "sys_read");
    ck_assert_str_eq(name_at(f, 2, 0x104), "first");
    ck_assert_str_eq(name_at(g, 2, 0x104), "sized");
    ck_assert_str_eq(name_at(h, 2, 0x104), "later");
}
END_TEST

/* What one address gets, by looking at all symbols: only distinct starts, so no aliases. */
static size_t judge(const struct fm_symbol *s, size_t n, uint64_t address)
{
    size_t cover = SIZE_MAX, near = SIZE_MAX;

    for (size_t i = 0; i < n; i++) {
        if (s[i].start > address)
            continue;
        if (near == SIZE_MAX || s[i].start > s[near].start)
            near = i;
        if (address - s[i].start < s[i].size && (cover == SIZE_MAX || s[i].start > s[cover].start))
            cover = i;
    }
    if (cover != SIZE_MAX)
        return cover;
    return near != SIZE_MAX && s[near].size == 0 ? near : SIZE_MAX;
}

START_TEST(random_cases_agree_with_a_simple_judge)
{
    enum { SYMBOLS = 60, POINTS = 200 };
    static char name[SYMBOLS][8];
    struct fm_symbol s[SYMBOLS];
    struct fm_point point[POINTS];
    uint64_t seed = 42;

    for (int round = 0; round < 300; round++) {
        struct fm_match match;
        for (size_t i = 0; i < SYMBOLS; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            snprintf(name[i], sizeof name[i], "s%zu", i);
            s[i] = sym(name[i], ((seed >> 33) % 1000) * SYMBOLS + i, (seed >> 20) % 3 == 0 ? 0
                       : (seed >> 40) % 3000, FM_BIND_GLOBAL);
        }
        for (size_t i = 0; i < POINTS; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            point[i].address = (seed >> 33) % (1100 * SYMBOLS);
            point[i].user = (uint32_t)i;
        }
        ck_assert_int_eq(fm_match_init(&match, &mem, point, POINTS), FM_OK);
        for (size_t i = 0; i < SYMBOLS; i++)
            fm_match_offer(&match, &s[i]);
        ck_assert_int_eq(fm_match_finish(&match), FM_OK);
        for (size_t i = 0; i < POINTS; i++) {
            size_t want = judge(s, SYMBOLS, point[i].address);
            if (want == SIZE_MAX) {
                ck_assert_uint_eq(point[i].pick, UINT32_MAX);
                continue;
            }
            ck_assert_uint_ne(point[i].pick, UINT32_MAX);
            ck_assert_ptr_eq(match.pick[point[i].pick].name, s[want].name);
        }
        fm_match_release(&match);
    }
    ck_assert_uint_eq(atomic_load(&mem.used), 0);
}
END_TEST

START_TEST(every_failing_allocation_is_reported)
{
    const struct fm_symbol s[] = { sym("a", 0x100, 8, FM_BIND_GLOBAL),
                                   sym("b", 0x200, 0, FM_BIND_GLOBAL) };
    bool done = false;

    for (uint64_t nth = 1; !done && nth < 50; nth++) {
        struct fm_point point[2] = { { .address = 0x201 }, { .address = 0x101 } };
        struct fm_match match = { 0 };
        enum fm_status status;
        fm_mem_init(&mem, 0);
        mem.fail_at = nth;
        status = fm_match_init(&match, &mem, point, 2);
        for (size_t i = 0; i < 2 && status == FM_OK; i++)
            fm_match_offer(&match, &s[i]);
        if (status == FM_OK)
            status = fm_match_finish(&match);
        done = status == FM_OK;
        ck_assert(done || status == FM_NOMEM);
        fm_match_release(&match);
        ck_assert_uint_eq(atomic_load(&mem.used), 0);
    }
    ck_assert(done);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("match");
    TCase *t = tcase_create("match");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, sized_symbols_cover_their_range);
    tcase_add_test(t, size_wraps_at_the_end_of_the_address_space);
    tcase_add_test(t, innermost_symbol_wins);
    tcase_add_test(t, unsized_labels_reach_to_the_next_symbol);
    tcase_add_test(t, label_within_a_function_is_not_its_name);
    tcase_add_test(t, aliases_choose_as_perf_does);
    tcase_add_test(t, random_cases_agree_with_a_simple_judge);
    tcase_add_test(t, every_failing_allocation_is_reported);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
