/*
 * test_diff.c - two call trees as one: nodes, weights and scaling worked out by hand.
 *
 *     base    root 38     main 38 ┬ 0xdead 3 ─ x 3        new    main 51 ┬ 0xcafe 4 ─ x 4
 *                                 ├ gone 5                               ├ new 7
 *                                 └ work 30 ┬ a 10                       └ work 40 ┬ a 30
 *                                           └ b 20                                 └ b 10
 */
#include "small.h"

#include "export/export.h"
#include "store/build.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

struct line {
    const char *stack;                 /* root first, frames split at '|' */
    uint64_t weight;
};

static const struct line before[] = {
    {"main|work|a", 10}, {"main|work|b", 20}, {"main|gone", 5}, {"main|0xdead|x", 3},
};
static const struct line after[] = {
    {"main|0xcafe|x", 4}, {"main|new", 7}, {"main|work|b", 10}, {"main|work|a", 30},
};

static struct fm_ctx *ctx;
static size_t held;

static void setup(void)
{
    ctx = fm_ctx_new();
    held = atomic_load(&ctx->mem.used);
}

static void teardown(void)
{
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), held);
    fm_ctx_free(ctx);
}

static struct fm_store *make(const struct line *line, size_t lines, const char *unit)
{
    struct fm_builder *b;
    struct fm_store *store = NULL;
    struct fm_error err = {0};
    uint32_t event;
    ck_assert_int_eq(fm_builder_new(ctx, &b, &err), FM_OK);
    fm_builder_source(b, "dir/made", "test");
    event = fm_builder_event(b, "clock", unit, FM_KIND_SAMPLE);
    for (size_t i = 0; i < lines; i++) {
        const char *s = line[i].stack;
        fm_node node = FM_NODE_ROOT;
        while (*s != '\0') {
            size_t n = strcspn(s, "|");
            struct fm_frame_row row = {.module = FM_NONE, .address = UINT64_MAX,
                                       .kind = FM_FRAME_USER};
            row.function = fm_builder_str(b, s, n);
            node = fm_builder_node(b, node, fm_builder_frame(b, &row));
            s += n + (s[n] == '|');
        }
        fm_row_begin(b, event);
        fm_row_set(b, FM_COL_WEIGHT, line[i].weight);
        fm_row_set(b, FM_COL_STACK, node);
        fm_row_end(b);
        fm_account_in(b, 1);
    }
    ck_assert_int_eq(fm_builder_seal(b, NULL, &store, &err), FM_OK);
    return store;
}

struct pair {
    struct fm_store *old, *new;
    struct fm_selection base, sel;
};

static void open_pair(struct pair *p, const struct line *old, size_t olds, const struct line *new,
                      size_t news)
{
    struct fm_error err = {0};
    p->old = make(old, olds, "samples");
    p->new = make(new, news, "samples");
    ck_assert_int_eq(fm_selection_init(&p->base, p->old, NULL, &err), FM_OK);
    ck_assert_int_eq(fm_selection_init(&p->sel, p->new, NULL, &err), FM_OK);
    ck_assert_int_eq(fm_selection_sum(&p->base, &err), FM_OK);
    ck_assert_int_eq(fm_selection_sum(&p->sel, &err), FM_OK);
}

static void close_pair(struct pair *p)
{
    fm_selection_release(&p->base);
    fm_selection_release(&p->sel);
    fm_store_free(p->old);
    fm_store_free(p->new);
}

/* The tree as "LABEL depth self/total of base self/total", a line each. */
static void prints(const struct pair *p, const struct fm_calltree *tree, const char *want)
{
    char text[2048];
    size_t n = 0;
    for (size_t i = 0; i < tree->nodes; i++) {
        const struct fm_call_node *node = &tree->node[i];
        const struct fm_call_base *was = &tree->base[i];
        ck_assert(i == 0 || node->parent < i);
        ck_assert_uint_gt(node->end, i);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s %u %u/%u %u/%u\n",
                              fm_store_str(p->new, node->label, NULL), node->depth,
                              (unsigned)was->self, (unsigned)was->total, (unsigned)node->self,
                              (unsigned)node->total);
        ck_assert_uint_lt(n, sizeof text);
        if (i > 0)
            ck_assert_uint_le(node->end, tree->node[node->parent].end);
    }
    ck_assert_str_eq(text, want);
}

static void shows(const struct pair *p, bool reversed, const char *want)
{
    static const struct fm_names names = {.style = FM_NAMES_FOLDMILL};
    struct fm_calltree tree, base, turned;
    struct fm_error err = {0};
    ck_assert_int_eq(fm_calltree_make(&tree, &p->sel, &names, &err), FM_OK);
    ck_assert_int_eq(fm_calltree_make(&base, &p->base, &names, &err), FM_OK);
    ck_assert_int_eq(fm_calltree_against(&tree, p->new, &base, p->old, &err), FM_OK);
    fm_calltree_release(&base);
    if (reversed) {
        ck_assert_int_eq(fm_calltree_reverse(&turned, &tree, &p->sel, &err), FM_OK);
        prints(p, &turned, want);
        fm_calltree_release(&turned);
    } else {
        prints(p, &tree, want);
        for (size_t i = 0; i < tree.nodes; i++)
            ck_assert_uint_eq(tree.node[i].frame == FM_NONE, tree.node[i].total == 0 || i == 0);
    }
    fm_calltree_release(&tree);
}

START_TEST(trees_merge_by_label)
{
    struct pair p;
    open_pair(&p, before, FM_COUNT(before), after, FM_COUNT(after));
    shows(&p, false,
              " 0 0/38 0/51\n"
              "main 1 0/38 0/51\n"
              "0xcafe 2 0/0 0/4\n"
              "x 3 0/0 4/4\n"
              "0xdead 2 0/3 0/0\n"
              "x 3 3/3 0/0\n"
              "gone 2 5/5 0/0\n"
              "new 2 0/0 7/7\n"
              "work 2 0/30 0/40\n"
              "a 3 10/10 30/30\n"
              "b 3 20/20 10/10\n");
    close_pair(&p);
}
END_TEST

START_TEST(stacks_turn_round)
{
    struct pair p;
    open_pair(&p, before, FM_COUNT(before), after, FM_COUNT(after));
    shows(&p, true,
          " 0 0/38 0/51\n"
          "a 1 0/10 0/30\nwork 2 0/10 0/30\nmain 3 10/10 30/30\n"
          "b 1 0/20 0/10\nwork 2 0/20 0/10\nmain 3 20/20 10/10\n"
          "gone 1 0/5 0/0\nmain 2 5/5 0/0\n"
          "new 1 0/0 0/7\nmain 2 0/0 7/7\n"
          "x 1 0/3 0/4\n"
          "0xcafe 2 0/0 0/4\nmain 3 0/0 4/4\n"
          "0xdead 2 0/3 0/0\nmain 3 3/3 0/0\n");
    close_pair(&p);
}
END_TEST

START_TEST(a_side_may_be_empty)
{
    static const struct line one[] = {{"a|b", 2}, {"", 1}};
    struct pair p;
    open_pair(&p, one, 2, NULL, 0);
    shows(&p, false, " 0 1/3 0/0\na 1 0/2 0/0\nb 2 2/2 0/0\n");
    close_pair(&p);
    open_pair(&p, NULL, 0, one, 2);
    shows(&p, false, " 0 0/0 1/3\na 1 0/0 0/2\nb 2 0/0 2/2\n");
    close_pair(&p);
    open_pair(&p, NULL, 0, NULL, 0);
    shows(&p, false, " 0 0/0 0/0\n");
    close_pair(&p);
}
END_TEST

START_TEST(the_base_is_scaled)
{
    struct pair p;
    struct fm_scaling s;
    struct fm_error err = {0};
    open_pair(&p, before, FM_COUNT(before), after, FM_COUNT(after));
    ck_assert_int_eq(fm_scaling_find(&s, &p.sel, &p.base, "total", &err), FM_OK);
    ck_assert(s.up == 51 && s.down == 38 && s.by == 51.0 / 38);
    ck_assert_int_eq(fm_scaling_find(&s, &p.sel, &p.base, "samples", &err), FM_OK);
    ck_assert(s.up == 4 && s.down == 4 && s.by == 1);
    ck_assert_int_eq(fm_scaling_find(&s, &p.sel, &p.base, "time", &err), FM_OK);
    ck_assert(s.by == 1);              /* rows without times */
    ck_assert_int_eq(fm_scaling_find(&s, &p.sel, &p.base, "none", &err), FM_OK);
    ck_assert(s.by == 1);
    ck_assert_int_eq(fm_scaling_find(&s, &p.sel, &p.base, "much", &err), FM_CONFIG);
    close_pair(&p);
}
END_TEST

static enum fm_status write_text(struct fm_store *old, struct fm_store *new, const char *normalize,
                                 const char *exporter, char *text, struct fm_error *err)
{
    struct fm_export_options options = FM_INIT(options);
    struct small_text out = {0};
    struct fm_sink sink = {small_write, &out};
    enum fm_status status;
    options.normalize = normalize;
    status = fm_export_diff(ctx, old, new, exporter, NULL, &options, &sink, err);
    text[0] = '\0';
    if (out.s != NULL)
        snprintf(text, 1024, "%s", out.s);
    free(out.s);
    return status;
}

START_TEST(both_profiles_are_written)
{
    struct fm_store *old = make(before, FM_COUNT(before), "samples");
    struct fm_store *new = make(after, FM_COUNT(after), "samples");
    struct fm_error err = {0};
    char text[1024];
    ck_assert_int_eq(write_text(old, new, NULL, "folded", text, &err), FM_OK);
    ck_assert_str_eq(text, "main;0xcafe;x 0 4\nmain;0xdead;x 3 0\nmain;gone 5 0\nmain;new 0 7\n"
                           "main;work;a 10 30\nmain;work;b 20 10\n");
    /* times 51/38, cut: 4.02, 6.71, 13.42, 26.84 */
    ck_assert_int_eq(write_text(old, new, "total", "folded", text, &err), FM_OK);
    ck_assert_str_eq(text, "main;0xcafe;x 0 4\nmain;0xdead;x 4 0\nmain;gone 6 0\nmain;new 0 7\n"
                           "main;work;a 13 30\nmain;work;b 26 10\n");
    /* one store against itself */
    ck_assert_int_eq(write_text(new, new, NULL, "folded", text, &err), FM_OK);
    ck_assert_str_eq(text, "main;0xcafe;x 4 4\nmain;new 7 7\nmain;work;a 30 30\n"
                           "main;work;b 10 10\n");
    fm_store_free(old);
    fm_store_free(new);
}
END_TEST

START_TEST(what_cannot_be_compared_is_refused)
{
    struct fm_store *old = make(before, FM_COUNT(before), "ns");
    struct fm_store *new = make(after, FM_COUNT(after), "samples");
    struct fm_error err = {0};
    char text[1024];
    ck_assert_int_eq(write_text(old, new, NULL, "folded", text, &err), FM_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "in ns and the new profile in samples"));
    ck_assert_int_eq(write_text(new, new, NULL, "speedscope", text, &err), FM_CONFIG);
    ck_assert_int_eq(write_text(new, new, NULL, "no such", text, &err), FM_CONFIG);
    fm_store_free(old);
    fm_store_free(new);
}
END_TEST

START_TEST(no_memory_is_survived)
{
    struct fm_store *old = make(before, FM_COUNT(before), "samples");
    struct fm_store *new = make(after, FM_COUNT(after), "samples");
    struct fm_error err = {0};
    char text[1024];
    enum fm_status status;
    uint64_t n = 0;
    do {
        fm_error_clear(&err);
        ctx->mem.fail_at = atomic_load(&ctx->mem.allocations) + ++n;
        status = write_text(old, new, "total", "folded", text, &err);
        ck_assert_uint_lt(n, 10000);
        ck_assert(status == FM_OK || status == FM_NOMEM);
    } while (status != FM_OK);
    ctx->mem.fail_at = 0;
    ck_assert_uint_gt(n, 20);
    fm_store_free(old);
    fm_store_free(new);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("diff");
    TCase *tc = tcase_create("diff");
    SRunner *runner;
    int failed;
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, trees_merge_by_label);
    tcase_add_test(tc, stacks_turn_round);
    tcase_add_test(tc, a_side_may_be_empty);
    tcase_add_test(tc, the_base_is_scaled);
    tcase_add_test(tc, both_profiles_are_written);
    tcase_add_test(tc, what_cannot_be_compared_is_refused);
    tcase_add_test(tc, no_memory_is_survived);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
