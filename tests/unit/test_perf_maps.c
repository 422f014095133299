/*
 * test_perf_maps.c - ranges of addresses against a plain array that is told the same.
 */
#include "import/perf/maps.h"

#include <check.h>
#include <stdlib.h>

#define SPACE 512u

static struct fm_mem mem;
static struct fm_perf_maps maps;

static void setup(void)
{
    fm_mem_init(&mem, 0);
    fm_perf_maps_init(&maps, &mem);
}

static void teardown(void)
{
    fm_perf_maps_release(&maps);
    ck_assert_uint_eq(atomic_load(&mem.used), 0);
}

static uint32_t check_node(uint32_t t, uint64_t lo, uint64_t hi)
{
    if (t == 0)
        return 0;
    const struct fm_perf_map_node *n = &maps.node[t];
    ck_assert_uint_lt(n->start, n->end);
    ck_assert_uint_ge(n->start, lo);
    ck_assert_uint_le(n->end, hi);
    uint32_t l = check_node(n->left, lo, n->start), r = check_node(n->right, n->end, hi);
    ck_assert_uint_le(l > r ? l - r : r - l, 1);
    ck_assert_uint_eq(n->height, FM_MAX(l, r) + 1);
    return n->height;
}

START_TEST(cut_and_cover)
{
    struct fm_perf_tree t = fm_perf_tree_new(&maps);
    ck_assert(fm_perf_tree_set(&maps, &t, 0x10000, 0x20000, 1));
    ck_assert(fm_perf_tree_set(&maps, &t, 0x14000, 0x18000, 2));
    ck_assert(fm_perf_tree_set(&maps, &t, 0x10000, 0x12000, 3));
    ck_assert_uint_eq(fm_perf_tree_find(&maps, &t, 0x11fff), 3);
    ck_assert_uint_eq(fm_perf_tree_find(&maps, &t, 0x12000), 1);
    ck_assert_uint_eq(fm_perf_tree_find(&maps, &t, 0x17fff), 2);
    ck_assert_uint_eq(fm_perf_tree_find(&maps, &t, 0x18000), 1);
    ck_assert_uint_eq(fm_perf_tree_find(&maps, &t, 0x20000), FM_PERF_NO_MAP);
    ck_assert(fm_perf_tree_set(&maps, &t, 0x11000, 0x19000, FM_PERF_NO_MAP));
    ck_assert_uint_eq(fm_perf_tree_find(&maps, &t, 0x10fff), 3);
    ck_assert_uint_eq(fm_perf_tree_find(&maps, &t, 0x11000), FM_PERF_NO_MAP);
    ck_assert_uint_eq(fm_perf_tree_find(&maps, &t, 0x19000), 1);
}
END_TEST

/* Trees that are copied from one another and change apart: none sees another's change. */
START_TEST(copies_live_apart)
{
    enum { TREES = 5 };
    struct fm_perf_tree tree[TREES];
    static uint32_t model[TREES][SPACE];
    uint32_t seed = 7;
    for (unsigned i = 0; i < TREES; i++) {
        tree[i] = fm_perf_tree_new(&maps);
        for (unsigned a = 0; a < SPACE; a++)
            model[i][a] = FM_PERF_NO_MAP;
    }
    for (unsigned step = 0; step < 4000; step++) {
        seed = seed * 1664525 + 1013904223;
        unsigned i = (seed >> 8) % TREES, k = (seed >> 16) % TREES;
        unsigned start = (seed >> 20) % (SPACE - 1);
        unsigned end = start + 1 + (seed >> 4) % FM_MIN(SPACE - start - 1 + 1, 40u);
        uint32_t value = step % 9 == 0 ? FM_PERF_NO_MAP : step;
        if (step % 50 == 49 && i != k) {
            tree[i] = fm_perf_tree_copy(&maps, &tree[k]);
            memcpy(model[i], model[k], sizeof model[i]);
            continue;
        }
        end = FM_MIN(end, SPACE);
        ck_assert(fm_perf_tree_set(&maps, &tree[i], start, end, value));
        for (unsigned a = start; a < end; a++)
            model[i][a] = value;
        if (step % 100 != 0)
            continue;
        for (unsigned t = 0; t < TREES; t++) {
            check_node(tree[t].root, 0, SPACE);
            for (unsigned a = 0; a < SPACE; a++)
                ck_assert_uint_eq(fm_perf_tree_find(&maps, &tree[t], a), model[t][a]);
        }
    }
}
END_TEST

/* A fork after every mapping costs a path of nodes, not a copy of the tree. */
START_TEST(forks_are_cheap)
{
    struct fm_perf_tree t = fm_perf_tree_new(&maps), child;
    for (uint64_t i = 0; i < 20000; i++) {
        ck_assert(fm_perf_tree_set(&maps, &t, i * 16, i * 16 + 8, (uint32_t)i));
        child = fm_perf_tree_copy(&maps, &t);
        ck_assert_uint_eq(fm_perf_tree_find(&maps, &child, i * 16), i);
    }
    check_node(t.root, 0, UINT64_MAX);
    ck_assert_uint_lt(maps.n, 20000u * 32);
}
END_TEST

START_TEST(no_memory_sticks)
{
    struct fm_perf_tree t = fm_perf_tree_new(&maps);
    bool ok = true;
    mem.fail_at = 3;
    for (uint64_t i = 0; ok && i < 100000; i++)
        ok = fm_perf_tree_set(&maps, &t, i * 16, i * 16 + 8, 1);
    ck_assert(!ok);
    ck_assert(!fm_perf_tree_set(&maps, &t, 1, 2, 1));
    mem.fail_at = 0;
}
END_TEST

int main(void)
{
    Suite *s = suite_create("perf maps");
    TCase *t = tcase_create("maps");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, cut_and_cover);
    tcase_add_test(t, copies_live_apart);
    tcase_add_test(t, forks_are_cheap);
    tcase_add_test(t, no_memory_sticks);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
