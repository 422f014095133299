/*
 * test_debug.c - lines and inlined calls of frames, from a small program with DWARF 5 (the fuzz
 * corpus has it); the values are those of binutils' addr2line -i.
 */
#include "store/build.h"
#include "symbol/debug.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define BASE 0x400000u               /* its address less its offset */

static struct fm_ctx *ctx;
static char path[600];

static void setup(void)
{
    const char *top = getenv("top_srcdir");

    ctx = fm_ctx_new();
    ck_assert_ptr_nonnull(ctx);
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/dwarf/c5", top != NULL ? top : ".");
}

static void teardown(void)
{
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
    fm_ctx_free(ctx);
}

/* One sample: _start, lonely (a return address), high within low within middle; or no store when
 * memory is short. */
static struct fm_store *make(const struct fm_symbol_options *options)
{
    const uint64_t address[] = { 0x4003d7, 0x4003ad, 0x400174 };
    struct fm_module_row module = { .kind = FM_MODULE_USER, .pid = -1 };
    struct fm_store *store = NULL;
    struct fm_builder *b;
    fm_frame frame[3];
    uint32_t event;

    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    module.source = fm_builder_source(b, "a.data", "perf");
    fm_builder_source_row(b)->samples_in = 1;
    module.path = fm_builder_str(b, path, strlen(path));
    event = fm_builder_event(b, "cpu", "ns", FM_KIND_SAMPLE);
    for (size_t i = 0; i < 3; i++) {
        struct fm_frame_row row = { .module = i == 0 ? fm_builder_module(b, &module) : 0,
                                    .address = address[i] - BASE, .kind = FM_FRAME_USER,
                                    .caller = i < 2 };
        frame[i] = fm_builder_frame(b, &row);
    }
    fm_row_begin(b, event);
    fm_row_set(b, FM_COL_STACK, fm_builder_stack(b, frame, 3));
    fm_row_set(b, FM_COL_WEIGHT, 1);
    fm_row_end(b);
    ck_assert_int_eq(fm_builder_seal(b, NULL, &store, NULL), FM_OK);
    if (fm_symbolize(ctx, store, options, NULL) != FM_OK) {
        fm_store_free(store);
        return NULL;
    }
    return store;
}

struct right {
    const char *function;
    bool inlined;
    uint32_t line;
};

/* The only stack, leaf first. */
static void check_stack(struct fm_store *s, const struct right *right, size_t n)
{
    const struct fm_tree_node *tree = fm_store_tree(s);
    struct fm_error err = { 0 };
    uint32_t at = fm_store_tree_node(s, (fm_node)fm_store_append_nodes(s) - 1);

    ck_assert_msg(fm_store_verify(s, &err) == FM_OK, "%s", err.message);
    ck_assert_uint_eq(tree[at].depth, n);
    for (size_t i = 0; i < n; i++, at = tree[at].parent) {
        const struct fm_frame_row *row = fm_store_frame_row(s, tree[at].frame);
        ck_assert_str_eq(fm_store_str(s, row->function, NULL), right[i].function);
        ck_assert_int_eq(row->inlined, right[i].inlined);
        ck_assert_uint_eq(row->line, right[i].line);
        ck_assert_str_eq(fm_store_str(s, row->file, NULL), right[i].line > 0 ? "/src/a.c" : "");
        ck_assert_int_eq(row->kind, right[i].inlined ? FM_FRAME_INLINED : FM_FRAME_USER);
    }
    fm_store_free(s);
}

START_TEST(inlines_and_lines)
{
    static const struct right right[] = { { "low", true, 7 }, { "middle", true, 14 },
                                          { "high", false, 18 }, { "lonely", false, 28 },
                                          { "_start", false, 30 } };
    const struct fm_symbol_options o = { .buildid_dir = "", .lines = true, .inlines = true };

    check_stack(make(&o), right, FM_COUNT(right));
}
END_TEST

START_TEST(inlines_only)
{
    static const struct right right[] = { { "low", true, 0 }, { "middle", true, 0 },
                                          { "high", false, 0 }, { "lonely", false, 0 },
                                          { "_start", false, 0 } };
    const struct fm_symbol_options o = { .buildid_dir = "", .inlines = true };

    check_stack(make(&o), right, FM_COUNT(right));
}
END_TEST

/* A frame's line lies in its own function. */
START_TEST(lines_only)
{
    static const struct right right[] = { { "high", false, 18 }, { "lonely", false, 28 },
                                          { "_start", false, 30 } };
    const struct fm_symbol_options o = { .buildid_dir = "", .lines = true };

    check_stack(make(&o), right, FM_COUNT(right));
}
END_TEST

START_TEST(neither)
{
    static const struct right right[] = { { "high", false, 0 }, { "lonely", false, 0 },
                                          { "_start", false, 0 } };
    const struct fm_symbol_options o = { .buildid_dir = "" };

    check_stack(make(&o), right, FM_COUNT(right));
}
END_TEST

/* Every allocation of the look-up fails once. */
START_TEST(no_memory)
{
    for (uint64_t nth = 1;; nth++) {
        struct fm_point point[] = { { .address = 0x400174 }, { .address = 0x4003ac } };
        enum fm_status status;
        struct fm_debug debug;
        struct fm_image image;
        struct fm_elf *elf;

        ck_assert_int_eq(fm_image_open(ctx, path, false, &image), FM_OK);
        ck_assert_int_eq(fm_elf_open(ctx, &image, &elf), FM_OK);
        ctx->mem.fail_at = atomic_load(&ctx->mem.allocations) + nth;
        status = fm_debug_find(&debug, ctx, elf, NULL, point, 2);
        ctx->mem.fail_at = 0;
        ck_assert(status == FM_OK || status == FM_NOMEM);
        if (status == FM_OK)
            ck_assert(debug.answer[0].n == 3 && debug.answer[1].n == 1);
        fm_debug_release(&debug);
        fm_elf_close(elf);
        if (status == FM_OK)
            break;
        ck_assert_uint_lt(nth, 200);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("debug");
    TCase *tc = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, inlines_and_lines);
    tcase_add_test(tc, inlines_only);
    tcase_add_test(tc, lines_only);
    tcase_add_test(tc, neither);
    tcase_add_test(tc, no_memory);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
