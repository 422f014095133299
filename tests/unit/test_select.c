/*
 * test_select.c - selections, scans, pseudo frames, names and call trees, over built stores.
 */
#include "small.h"

#include "store/build.h"
#include "util/out.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static struct fm_ctx *ctx;
static struct fm_store *store;
static size_t held;

static void setup(void)
{
    ctx = fm_ctx_new();
    held = atomic_load(&ctx->mem.used);
    store = small_store(ctx);
}

static void teardown(void)
{
    fm_store_free(store);
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), held);
    fm_ctx_free(ctx);
}

static void choose(struct fm_selection *sel, const char *event, const char *weight)
{
    struct fm_select_options o = FM_INIT(o);
    struct fm_error err = {0};
    o.event = event;
    o.weight = weight;
    ck_assert_msg(fm_selection_init(sel, store, &o, &err) == FM_OK, "%s", err.message);
}

static void refuse(const char *event, const char *weight, const char *prepend, const char *says)
{
    struct fm_select_options o = FM_INIT(o);
    struct fm_error err = {0};
    struct fm_selection sel;
    o.event = event;
    o.weight = weight;
    o.prepend = prepend;
    ck_assert_int_eq(fm_selection_init(&sel, store, &o, &err), FM_CONFIG);
    ck_assert_msg(strstr(err.message, says) != NULL, "'%s' lacks '%s'", err.message, says);
}

static const char *text(fm_str id)
{
    return fm_store_str(store, id, NULL);
}

/* ------------------------------------------------------------- selections */

START_TEST(selection_takes_event_and_weight)
{
    static const struct {
        const char *event, *weight, *name, *unit;
        uint64_t samples, sum;
    } want[] = {
        {NULL, NULL, "cpu-clock", "ns", 6, 45},
        {"auto", "period", "cpu-clock", "ns", 6, 45},
        {"page-faults", NULL, "page-faults", "count", 1, 1},
        {"page*", "samples", "page-faults", "samples", 1, 1},
        {"/^cpu/", "samples", "cpu-clock", "samples", 6, 6},
        {"all", "samples", "all", "samples", 7, 7},
        {"all", "size", "all", "bytes", 7, 150},
    };
    size_t i;
    for (i = 0; i < FM_COUNT(want); i++) {
        struct fm_selection sel;
        choose(&sel, want[i].event, want[i].weight);
        ck_assert_str_eq(text(sel.event_name), want[i].name);
        ck_assert_str_eq(text(sel.unit), want[i].unit);
        ck_assert_uint_eq(sel.samples, want[i].samples);
        ck_assert_uint_eq((uint64_t)sel.weight, want[i].sum);
        ck_assert_uint_eq((uint64_t)sel.weight_all, want[i].sum);
        fm_selection_release(&sel);
    }
}
END_TEST

START_TEST(selection_refuses_what_has_no_meaning)
{
    refuse("all", NULL, NULL, "different units");
    refuse("cpu-clok", NULL, NULL, "did you mean 'cpu-clock'");
    refuse(NULL, "nothing", NULL, "no column 'nothing'");
    refuse(NULL, "comm", NULL, "of type string");
    refuse(NULL, NULL, "com", "did you mean 'comm'");
    refuse(NULL, NULL, "a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a", "no column 'a'");
    refuse(NULL, NULL, "-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-", "more than 16");
}
END_TEST

START_TEST(pseudo_lists_hold_columns_and_texts)
{
    struct fm_pseudo pseudo[FM_PSEUDO_MAX];
    size_t n;
    ck_assert_int_eq(fm_pseudo_parse(store, " comm, 'a, b' ,-,tid,size", pseudo, &n, NULL), FM_OK);
    ck_assert_uint_eq(n, 5);
    ck_assert_uint_eq(pseudo[0].col, FM_COL_COMM);
    ck_assert_str_eq(text(pseudo[1].literal), "a, b");
    ck_assert_str_eq(text(pseudo[2].literal), "-");
    ck_assert_int_eq(pseudo[3].derived, FM_DERIVED_TID);
    ck_assert_str_eq(text(pseudo[4].missing), "[no size]");
    ck_assert_int_eq(fm_pseudo_parse(store, "none", pseudo, &n, NULL), FM_OK);
    ck_assert_uint_eq(n, 0);
}
END_TEST

/* ------------------------------------------------------------------ scans */

START_TEST(scan_gives_rows_of_the_event_only)
{
    fm_column col[2] = {FM_COL_WEIGHT, FM_COL_TS};
    struct fm_selection sel;
    struct fm_scan scan;
    choose(&sel, NULL, NULL);
    ck_assert_int_eq(fm_scan_init(&scan, &sel, col, 2, NULL), FM_OK);
    ck_assert(fm_scan_next(&scan));
    ck_assert_uint_eq(scan.n, 5);
    ck_assert_uint_eq(scan.live[3], 4);
    ck_assert_uint_eq(scan.value[0][4], 7);
    ck_assert(fm_scan_valid(&scan, 1, 4));
    ck_assert(!fm_scan_valid(&scan, 1, 5));
    ck_assert(!fm_scan_next(&scan));
    fm_scan_release(&scan);
    fm_selection_release(&sel);
}
END_TEST

START_TEST(scan_obeys_the_row_bitmap)
{
    fm_column col[1] = {FM_COL_WEIGHT};
    struct fm_selection sel;
    struct fm_scan scan;
    choose(&sel, NULL, NULL);
    sel.row_words = 1;
    sel.rows = fm_mem_zalloc(sel.mem, sizeof *sel.rows);
    sel.rows[0] = 1 << 1 | 1 << 3 | 1 << 5; /* row 3 is of another event */
    ck_assert_int_eq(fm_selection_sum(&sel, NULL), FM_OK);
    ck_assert_uint_eq(sel.samples, 3);
    ck_assert_uint_eq((uint64_t)sel.weight, 23);
    ck_assert_uint_eq((uint64_t)sel.weight_all, 45);
    ck_assert_int_eq(fm_scan_init(&scan, &sel, col, 1, NULL), FM_OK);
    ck_assert(fm_scan_next(&scan));
    ck_assert_uint_eq(scan.n, 2);
    fm_scan_release(&scan);
    fm_selection_release(&sel);
}
END_TEST

/* ------------------------------------------------------------------ names */

static const char *name(struct fm_frame_row row, bool named, const char *function,
                        struct fm_names names)
{
    row.function = named ? fm_store_str_add(store, function, strlen(function)) : 0;
    return text(fm_name_frame_row(store, &row, &names));
}

START_TEST(names_follow_the_style)
{
    const struct fm_names own = {0}, fg = {.style = FM_NAMES_FLAMEGRAPH},
                          marked = {.annotate = true}, dots = {.dot = true};
    struct fm_frame_row none = {.module = FM_NONE, .address = UINT64_MAX};
    struct fm_frame_row app = *fm_store_frame_row(store, 0), kernel = app, java = none;
    kernel.kind = FM_FRAME_KERNEL;
    java.kind = FM_FRAME_JIT;
    ck_assert_str_eq(name(none, false, "", own), "[unknown]");
    ck_assert_str_eq(name(app, false, "", own), "[unknown] (/usr/bin/app)");
    ck_assert_str_eq(name(app, false, "", fg), "[app]");
    ck_assert_str_eq(name(app, true, "f(int)+0x1f", own), "f(int)+0x1f");
    ck_assert_str_eq(name(app, true, "f(int)+0x1f", fg), "f");
    ck_assert_str_eq(name(app, true, "(anonymous namespace)::f(char*)", fg),
                     "(anonymous namespace)::f");
    ck_assert_str_eq(name(app, true, "net.(*conn).Read", fg), "net.(*conn).Read");
    ck_assert_str_eq(name(app, true, "say\"'hi'", fg), "sayhi");
    ck_assert_str_eq(name(kernel, true, "schedule", marked), "schedule_[k]");
    ck_assert_str_eq(name(app, true, "schedule", marked), "schedule");
    ck_assert_str_eq(name(java, true, "java/util/Map.get", marked), "java/util/Map.get_[j]");
    ck_assert_str_eq(name(java, true, "java/util/Map.get", dots), "java.util.Map.get");
    ck_assert_str_eq(name(app, true, "a/b", dots), "a/b");
}
END_TEST

START_TEST(folded_names_have_no_separators)
{
    fm_str plain = fm_store_str_add(store, "a b\tc", 5);
    fm_str bad = fm_store_str_add(store, "a;b\n\x1b[m\0c", 9);
    ck_assert_uint_eq(fm_name_folded(store, plain), plain);
    ck_assert_str_eq(text(fm_name_folded(store, bad)), "a:b\\x0a\\x1b[m\\x00c");
}
END_TEST

/* ------------------------------------------------------------- call trees */

/* The tree as "depth label self/total samples", one a line. */
static void tree_is(const struct fm_calltree *tree, const char *want)
{
    char buf[4096];
    size_t n = 0, i;
    for (i = 0; i < tree->nodes; i++) {
        const struct fm_call_node *node = &tree->node[i];
        n += (size_t)snprintf(buf + n, sizeof buf - n, "%u %s %u/%u %u/%u end %u\n", node->depth,
                              text(node->label), (unsigned)node->self, (unsigned)node->total,
                              (unsigned)node->self_samples, (unsigned)node->total_samples,
                              node->end);
    }
    ck_assert_str_eq(buf, want);
}

START_TEST(calltree_merges_by_label)
{
    const struct fm_names names = {0};
    struct fm_selection sel;
    struct fm_calltree tree;
    choose(&sel, NULL, NULL);
    ck_assert_int_eq(fm_calltree_make(&tree, &sel, &names, NULL), FM_OK);
    tree_is(&tree, "0  0/45 0/6 end 7\n"
                   "1 app 7/40 1/5 end 5\n"
                   "2 main 0/33 0/4 end 5\n"
                   "3 work 13/33 3/4 end 5\n"
                   "4 kfn 20/20 1/1 end 5\n"
                   "1 wor;ker 0/5 0/1 end 7\n"
                   "2 main 5/5 1/1 end 7\n");
    ck_assert_uint_eq(tree.depth, 4);
    ck_assert_uint_eq(tree.node[4].kind, FM_FRAME_KERNEL);
    ck_assert_uint_eq(tree.node[1].frame, FM_NONE);
    fm_calltree_release(&tree);
    fm_selection_release(&sel);
}
END_TEST

START_TEST(calltree_puts_pseudo_frames_on_both_sides)
{
    const struct fm_names names = {0};
    struct fm_select_options o = FM_INIT(o);
    struct fm_selection sel;
    struct fm_calltree tree;
    o.event = "all";
    o.weight = "samples";
    o.prepend = "event,'-'";
    o.append = "size";
    ck_assert_int_eq(fm_selection_init(&sel, store, &o, NULL), FM_OK);
    ck_assert_int_eq(fm_calltree_make(&tree, &sel, &names, NULL), FM_OK);
    tree_is(&tree, "0  0/7 0/7 end 16\n"
                   "1 cpu-clock 0/6 0/6 end 11\n"
                   "2 - 0/6 0/6 end 11\n"
                   "3 [no size] 1/1 1/1 end 4\n"
                   "3 main 0/5 0/5 end 11\n"
                   "4 50 1/1 1/1 end 6\n"
                   "4 work 0/4 0/4 end 11\n"
                   "5 100 1/1 1/1 end 8\n"
                   "5 [no size] 2/2 2/2 end 9\n"
                   "5 kfn 0/1 0/1 end 11\n"
                   "6 [no size] 1/1 1/1 end 11\n"
                   "1 page-faults 0/1 0/1 end 16\n"
                   "2 - 0/1 0/1 end 16\n"
                   "3 main 0/1 0/1 end 16\n"
                   "4 [unknown] (/usr/bin/app) 0/1 0/1 end 16\n"
                   "5 [no size] 1/1 1/1 end 16\n");
    fm_calltree_release(&tree);
    fm_selection_release(&sel);
}
END_TEST

/* A tree of `n` nodes: chains of 20 frames under a common root, out of `functions` names. */
static struct fm_store *large(size_t rows, size_t stacks, unsigned functions)
{
    struct fm_builder *b;
    struct fm_store *big = NULL;
    fm_frame *frame = malloc(functions * sizeof *frame);
    fm_node *node = malloc(stacks * sizeof *node);
    uint64_t seed = 1;
    uint32_t event;
    size_t i, k;
    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    fm_builder_source(b, "large", "test");
    event = fm_builder_event(b, "e", "ns", FM_KIND_SAMPLE);
    for (i = 0; i < functions; i++) {
        char s[32];
        struct fm_frame_row row = {.module = FM_NONE, .address = i};
        row.function = fm_builder_str(b, s, (size_t)snprintf(s, sizeof s, "f%zu", i / 2));
        frame[i] = fm_builder_frame(b, &row);
    }
    for (i = 0; i < stacks; i++) {
        fm_node at = FM_NODE_ROOT;
        for (k = 0; k < 20; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            at = fm_builder_node(b, at, frame[(seed >> 33) % (k < 5 ? 4 : functions)]);
        }
        node[i] = at;
    }
    for (i = 0; i < rows; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        fm_row_begin(b, event);
        fm_row_set(b, FM_COL_TS, i * 1000);
        fm_row_set(b, FM_COL_WEIGHT, 1000 + i % 7);
        fm_row_set(b, FM_COL_STACK, node[(seed >> 33) % stacks]);
        fm_row_end(b);
    }
    fm_account_in(b, rows);
    ck_assert_int_eq(fm_builder_seal(b, NULL, &big, NULL), FM_OK);
    free(frame);
    free(node);
    return big;
}

START_TEST(calltree_conserves_large_sums)
{
    const size_t rows = 20000, stacks = 3000;
    const struct fm_names names = {0};
    struct fm_store *big = large(rows, stacks, 600);
    struct fm_selection sel;
    struct fm_calltree tree;
    fm_u128 want = 0, self = 0;
    uint64_t samples = 0;
    size_t i;
    for (i = 0; i < rows; i++)
        want += 1000 + i % 7;
    ck_assert_int_eq(fm_selection_init(&sel, big, NULL, NULL), FM_OK);
    ck_assert_int_eq(fm_calltree_make(&tree, &sel, &names, NULL), FM_OK);
    for (i = 0; i < tree.nodes; i++) {
        self += tree.node[i].self;
        samples += tree.node[i].self_samples;
        ck_assert_uint_gt(tree.node[i].end, i);
        if (i > 0) {
            ck_assert_uint_lt(tree.node[i].parent, i);
            ck_assert_uint_le(tree.node[i].end, tree.node[tree.node[i].parent].end);
        }
    }
    ck_assert(self == want && tree.node[0].total == want && sel.weight == want);
    ck_assert_uint_eq(samples, rows);
    fm_calltree_release(&tree);
    fm_selection_release(&sel);
    fm_store_free(big);
}
END_TEST

START_TEST(calltree_survives_every_failed_allocation)
{
    const struct fm_names names = {.annotate = true, .folded = true};
    uint64_t n;
    bool done = false;
    for (n = 1; !done; n++) {
        struct fm_error err = {0};
        struct fm_selection sel;
        struct fm_calltree tree;
        enum fm_status status;
        ctx->mem.fail_at = atomic_load(&ctx->mem.allocations) + n;
        status = fm_selection_init(&sel, store, NULL, &err);
        if (status == FM_OK) {
            status = fm_calltree_make(&tree, &sel, &names, &err);
            done = status == FM_OK;
            if (done)
                fm_calltree_release(&tree);
            fm_selection_release(&sel);
        }
        ctx->mem.fail_at = 0;
        ck_assert(status == FM_OK || status == FM_NOMEM);
        ck_assert_uint_lt(n, 500);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("select");
    TCase *t = tcase_create("select");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, selection_takes_event_and_weight);
    tcase_add_test(t, selection_refuses_what_has_no_meaning);
    tcase_add_test(t, pseudo_lists_hold_columns_and_texts);
    tcase_add_test(t, scan_gives_rows_of_the_event_only);
    tcase_add_test(t, scan_obeys_the_row_bitmap);
    tcase_add_test(t, names_follow_the_style);
    tcase_add_test(t, folded_names_have_no_separators);
    tcase_add_test(t, calltree_merges_by_label);
    tcase_add_test(t, calltree_puts_pseudo_frames_on_both_sides);
    tcase_add_test(t, calltree_conserves_large_sums);
    tcase_add_test(t, calltree_survives_every_failed_allocation);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
