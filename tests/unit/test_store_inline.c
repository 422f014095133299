/*
 * Inlined calls in the tree of a sealed store: every stack before, every stack after, and what rows
 * and links hold in between.
 */
#include "store/build.h"

#include <check.h>
#include <stdlib.h>

#define FRAMES 9u
#define STACKS 300u

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

/* How many calls were inlined into a frame. */
static uint32_t inlined(fm_frame f)
{
    return f % 4;
}

static fm_frame frame_at(unsigned stack, unsigned depth)
{
    return (stack * 7 + depth * (stack % 5 + 1)) % FRAMES;
}

static unsigned depth_of(unsigned stack)
{
    return stack % 11;
}

static struct fm_store *make(fm_node node[STACKS])
{
    struct fm_module_row module = { .kind = FM_MODULE_USER, .pid = -1 };
    struct fm_builder *b;
    struct fm_store *store;
    fm_frame frame[16];
    fm_module m;
    uint32_t event;

    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    module.source = fm_builder_source(b, "a.data", "perf");
    module.path = fm_builder_str(b, "/a", 2);
    fm_builder_source_row(b)->samples_in = STACKS;
    m = fm_builder_module(b, &module);
    event = fm_builder_event(b, "cpu", "ns", FM_KIND_SAMPLE);
    for (uint64_t i = 0; i < FRAMES; i++) {
        struct fm_frame_row row = { .module = m, .address = i * 16, .kind = FM_FRAME_USER };
        ck_assert_uint_eq(fm_builder_frame(b, &row), i);
    }
    for (unsigned i = 0; i < STACKS; i++) {
        for (unsigned d = 0; d < depth_of(i); d++)
            frame[d] = frame_at(i, d);
        node[i] = fm_builder_stack(b, frame, depth_of(i));
        fm_row_begin(b, event);
        fm_row_set(b, FM_COL_STACK, node[i]);
        fm_row_set(b, FM_COL_WEIGHT, 1);
        fm_row_end(b);
    }
    ck_assert_int_eq(fm_builder_seal(b, NULL, &store, NULL), FM_OK);
    return store;
}

/* Adds `inlined(f)` frames to each; the addresses of the new ones tell whose they are. */
static size_t add_frames(struct fm_store *s, struct fm_expansion expansion[FRAMES])
{
    size_t n = 0;

    for (fm_frame f = 0; f < FRAMES; f++) {
        struct fm_expansion e = { .frame = f, .n = inlined(f) };
        for (uint32_t k = 0; k < e.n; k++) {
            struct fm_frame_row row = *fm_store_frame_row(s, f);
            fm_frame added;
            row.inlined = true;
            row.kind = FM_FRAME_INLINED;
            row.line = k + 1;
            added = fm_store_frame_add(s, &row);
            if (added == FM_NONE)
                return SIZE_MAX;
            if (k == 0)
                e.first = added;
        }
        if (e.n > 0)
            expansion[n++] = e;
    }
    return n;
}

/* The stack of an append id, leaf first, is what it was with the inlined frames put in. */
static void check_stack(const struct fm_store *s, fm_node id, unsigned stack)
{
    const struct fm_tree_node *tree = fm_store_tree(s);
    uint32_t at = fm_store_tree_node(s, id), depth = 0;

    for (unsigned d = 0; d < depth_of(stack); d++)
        depth += 1 + inlined(frame_at(stack, d));
    ck_assert_uint_eq(tree[at].depth, depth);
    for (unsigned d = depth_of(stack); d-- > 0;) {
        const fm_frame f = frame_at(stack, d);
        for (uint32_t k = inlined(f); k > 0; k--, at = tree[at].parent) {
            const struct fm_frame_row *row = fm_store_frame_row(s, tree[at].frame);
            ck_assert(row->inlined && row->line == k && row->address == (uint64_t)f * 16);
        }
        ck_assert_uint_eq(tree[at].frame, f);
        at = tree[at].parent;
    }
    ck_assert_uint_eq(at, 0);
}

START_TEST(stacks_grow_and_rows_stay)
{
    struct fm_expansion expansion[FRAMES];
    struct fm_error err = { 0 };
    fm_node node[STACKS];
    struct fm_store *s = make(node);
    const size_t appends = fm_store_append_nodes(s), n = add_frames(s, expansion);

    ck_assert(fm_store_expand(s, expansion, n));
    ck_assert_msg(fm_store_verify(s, &err) == FM_OK, "%s", err.message);
    ck_assert_uint_eq(fm_store_append_nodes(s), appends);
    ck_assert_uint_gt(fm_store_tree_nodes(s), appends);
    for (unsigned i = 0; i < STACKS; i++) {
        uint64_t value;
        ck_assert(fm_store_cell(s, FM_COL_STACK, i, &value) && value == node[i]);
        check_stack(s, node[i], i);
    }
    fm_store_free(s);
}
END_TEST

START_TEST(nothing_to_expand)
{
    fm_node node[STACKS];
    struct fm_store *s = make(node);
    const size_t nodes = fm_store_tree_nodes(s);

    ck_assert(fm_store_expand(s, NULL, 0));
    ck_assert_uint_eq(fm_store_tree_nodes(s), nodes);
    fm_store_free(s);
}
END_TEST

/* Without memory the tree stays as it was. */
START_TEST(no_memory)
{
    for (uint64_t nth = 1;; nth++) {
        struct fm_expansion expansion[FRAMES];
        struct fm_error err = { 0 };
        fm_node node[STACKS];
        struct fm_store *s = make(node);
        size_t n;
        bool done;

        ctx->mem.fail_at = atomic_load(&ctx->mem.allocations) + nth;
        n = add_frames(s, expansion);
        done = n != SIZE_MAX && fm_store_expand(s, expansion, n);
        ctx->mem.fail_at = 0;
        ck_assert_msg(fm_store_verify(s, &err) == FM_OK, "%s", err.message);
        fm_store_free(s);
        if (done)
            break;
        ck_assert_uint_lt(nth, 20);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store inline");
    TCase *tc = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, stacks_grow_and_rows_stay);
    tcase_add_test(tc, nothing_to_expand);
    tcase_add_test(tc, no_memory);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
