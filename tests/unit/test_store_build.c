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

/* A row with every kind of label, and rows without any. */
START_TEST(labels_of_all_types)
{
    static const char *const name[] = {"bool", "i64", "u64", "f64", "string", "time", "dur",
                                       "bytes", "address", "stack", "thread"};
    struct fm_builder *b = builder();
    uint32_t e = fm_builder_event(b, "x", "", FM_KIND_INSTANT);
    fm_thread t = fm_builder_thread(b, 1, 2, 0);
    uint64_t value[] = {1, (uint64_t)INT64_MIN, UINT64_MAX, fm_f64_bits(-0.5), str(b, "word"),
                        (uint64_t)-1, 5, 6, 0xffffffff81000000u, FM_NODE_ROOT, t};
    fm_column col[FM_COUNT(name)];
    struct fm_store *s;

    for (size_t i = 0; i < FM_COUNT(name); i++) {
        enum fm_type type;
        ck_assert(fm_type_find(name[i], &type));
        ck_assert_str_eq(fm_type_text(type), name[i]);
        col[i] = fm_builder_label(b, name[i], type, i % 2 != 0);
        ck_assert_uint_eq(fm_builder_label(b, name[i], type, false), col[i]);
        ck_assert_uint_eq(fm_builder_label(b, name[i], FM_TYPE_F64, false),
                          type == FM_TYPE_F64 ? col[i] : FM_NONE);
    }
    for (size_t r = 0; r < 3; r++) {
        fm_row_begin(b, e);
        for (size_t i = 0; r == 1 && i < FM_COUNT(name); i++)
            fm_row_set(b, col[i], value[i]);
        fm_row_end(b);
    }
    s = seal(b);
    ck_assert_uint_eq(fm_store_columns(s), FM_COL_LABELS + FM_COUNT(name));
    for (size_t i = 0; i < FM_COUNT(name); i++) {
        char with[32] = "label.";
        memcpy(with + 6, name[i], strlen(name[i]) + 1);
        ck_assert_uint_eq(fm_store_column_find(s, with), col[i]);
        ck_assert_uint_eq(cell(s, col[i], 1), value[i]);
        ck_assert(none(s, col[i], 0) && none(s, col[i], 2));
        ck_assert_uint_eq(fm_store_column_info(s, col[i])->rows, 1);
        ck_assert_uint_eq(fm_store_column_info(s, col[i])->min, value[i]);
    }
    /* a built-in goes first, the label of that name is reached by its prefix */
    ck_assert_uint_eq(fm_store_column_find(s, "stack"), FM_COL_STACK);
    ck_assert_uint_eq(fm_store_column_find(s, "arg.stack"), col[9]);
    ck_assert_uint_eq(fm_store_column_find(s, "address"), col[8]);
    ck_assert_uint_eq(fm_store_column_find(s, "label.ts"), FM_NONE);
    ck_assert_uint_eq(fm_store_column_find(s, "absent"), FM_NONE);
    fm_store_free(s);
}
END_TEST

static void fill(struct fm_builder *b, uint32_t e, uint32_t rows, uint64_t from)
{
    for (uint32_t i = 0; i < rows; i++) {
        fm_row_begin(b, e);
        fm_row_set(b, FM_COL_TS, from + i);
        fm_row_set(b, FM_COL_WEIGHT, i % 3);
        if (i == 70000)
            fm_row_set(b, FM_COL_CPU, 9);
        fm_row_end(b);
    }
}

/* Rows at, before and behind the border of a segment. */
START_TEST(segment_borders)
{
    const uint32_t rows = FM_SEGMENT_ROWS - 1 + (uint32_t)_i;
    struct fm_builder *b = builder();
    uint32_t e = fm_builder_event(b, "x", "ns", FM_KIND_SPAN);
    uint64_t min, max;
    struct fm_store *s;

    fill(b, e, rows, 1000);
    ck_assert_uint_eq(fm_builder_rows(b), rows);
    s = seal(b);
    ck_assert_uint_eq(fm_store_rows(s), rows);
    ck_assert_uint_eq(fm_store_segments(s), rows > FM_SEGMENT_ROWS ? 2 : 1);
    ck_assert_uint_eq(fm_store_segment_rows(s, 0), FM_MIN(rows, FM_SEGMENT_ROWS));
    ck_assert(!fm_store_segment_empty(s, 0, FM_COL_TS, &min, &max));
    ck_assert_uint_eq(min, 1000);
    ck_assert_uint_eq(max, 1000 + FM_MIN(rows, FM_SEGMENT_ROWS) - 1);
    ck_assert(fm_store_segment_sorted(s, 0));
    ck_assert_uint_eq(cell(s, FM_COL_TS, rows - 1), 1000 + rows - 1);
    ck_assert(fm_store_segment_empty(s, 0, FM_COL_CPU, &min, &max));
    fm_store_free(s);
}
END_TEST

START_TEST(a_column_costs_nothing_where_it_is_not_set)
{
    struct fm_builder *b = builder();
    uint32_t e = fm_builder_event(b, "x", "ns", FM_KIND_SPAN);
    uint64_t min, max;
    struct fm_store *s;

    fill(b, e, 80000, 0);
    s = seal(b);
    ck_assert(fm_store_segment_empty(s, 0, FM_COL_CPU, &min, &max));
    ck_assert(!fm_store_segment_empty(s, 1, FM_COL_CPU, &min, &max));
    ck_assert_uint_eq(min, 9);
    ck_assert(fm_store_block_empty(s, 1, 0, FM_COL_CPU, &min, &max));
    ck_assert(!fm_store_block_empty(s, 1, (70000 - FM_SEGMENT_ROWS) / FM_BLOCK_ROWS, FM_COL_CPU,
                                    &min, &max));
    ck_assert_uint_eq(cell(s, FM_COL_CPU, 70000), 9);
    ck_assert(none(s, FM_COL_CPU, 69999));
    /* COUNT reads as 1 everywhere though nothing is stored */
    ck_assert(!fm_store_segment_empty(s, 0, FM_COL_COUNT, &min, &max));
    ck_assert(min == 1 && max == 1);
    ck_assert_uint_eq(cell(s, FM_COL_COUNT, 12345), 1);
    fm_store_free(s);
}
END_TEST

START_TEST(sources_do_not_share_segments)
{
    struct fm_builder *b = builder();
    uint32_t e = fm_builder_event(b, "x", "ns", FM_KIND_SPAN);
    struct fm_store *s;

    fill(b, e, 3000, 0);
    fm_builder_source(b, "b.data", "perf");
    ck_assert_uint_eq(fm_builder_event(b, "x", "ns", FM_KIND_SPAN), e);
    ck_assert_uint_ne(fm_builder_event(b, "x", "ns", FM_KIND_ASYNC), e);
    fill(b, e, 10, 5);
    s = seal(b);
    ck_assert_uint_eq(fm_store_segments(s), 2);
    ck_assert_uint_eq(fm_store_segment_rows(s, 0), 3000);
    ck_assert_uint_eq(fm_store_segment_source(s, 1), 1);
    ck_assert_uint_eq(fm_store_segment_first(s, 1), 3000);
    ck_assert_uint_eq(cell(s, FM_COL_TS, 3002), 7);
    ck_assert_uint_eq(fm_store_event_row(s, e)->rows, 3010);
    fm_store_free(s);
}
END_TEST

START_TEST(unsorted_segments_say_so)
{
    struct fm_builder *b = builder();
    uint32_t e = fm_builder_event(b, "x", "ns", FM_KIND_SPAN);
    struct fm_store *s;

    fill(b, e, FM_BLOCK_ROWS, 1000);
    fill(b, e, 5, 999 + FM_BLOCK_ROWS);     /* equal to the last: still in order */
    s = seal(b);
    ck_assert(fm_store_segment_sorted(s, 0));
    fm_store_free(s);
    b = builder();
    e = fm_builder_event(b, "x", "ns", FM_KIND_SPAN);
    fill(b, e, FM_BLOCK_ROWS, 1000);
    fill(b, e, 5, 998 + FM_BLOCK_ROWS);
    s = seal(b);
    ck_assert(!fm_store_segment_sorted(s, 0));
    fm_store_free(s);
}
END_TEST

/* ---------------------------------------------------------------- patches */

START_TEST(patches_are_as_if_set_at_once)
{
    struct fm_builder *b = builder(), *c = builder();
    uint32_t e = fm_builder_event(b, "x", "ns", FM_KIND_SPAN);
    struct fm_store *s, *t;
    const uint64_t rows = 140000;

    fm_builder_event(c, "x", "ns", FM_KIND_SPAN);
    for (uint64_t i = 0; i < rows; i++) {
        fm_row_begin(b, e);
        fm_row_set(b, FM_COL_TS, i);
        fm_row_end(b);
        fm_row_begin(c, e);
        fm_row_set(c, FM_COL_TS, i % 7 == 0 ? 2 * i : i);
        if (i % 5 == 0)
            fm_row_set(c, FM_COL_DUR, i * i);
        if (i % 1000 == 0)
            fm_row_set(c, FM_COL_WEIGHT, i);
        fm_row_end(c);
    }
    for (uint64_t i = rows; i-- > 0;) {     /* in any order; the last one wins */
        if (i % 5 == 0) {
            fm_row_patch(b, i, FM_COL_DUR, 1);
            fm_row_patch(b, i, FM_COL_DUR, i * i);
        }
        if (i % 1000 == 0)
            fm_row_patch(b, i, FM_COL_WEIGHT, i);
        if (i % 7 == 0)
            fm_row_patch(b, i, FM_COL_TS, 2 * i);
    }
    s = seal(b);
    t = seal(c);
    for (uint64_t i = 0; i < rows; i += 97) {
        for (fm_column col = FM_COL_TS; col <= FM_COL_WEIGHT; col++) {
            uint64_t x = 0, y = 0;
            ck_assert_int_eq(fm_store_cell(s, col, i, &x), fm_store_cell(t, col, i, &y));
            ck_assert_uint_eq(x, y);
        }
    }
    ck_assert(!fm_store_segment_sorted(s, 0));
    ck_assert(fm_store_event_row(s, 0)->weight == fm_store_event_row(t, 0)->weight);
    ck_assert_int_eq(fm_store_source_row(s, 0)->last, fm_store_source_row(t, 0)->last);
    ck_assert_uint_eq(fm_store_column_info(s, FM_COL_DUR)->rows, rows / 5);
    fm_store_free(s);
    fm_store_free(t);
}
END_TEST

START_TEST(a_patch_may_take_an_id_away)
{
    struct fm_builder *b = builder();
    uint32_t e = fm_builder_event(b, "x", "ns", FM_KIND_SPAN);
    fm_thread t = fm_builder_thread(b, 1, 1, 0);
    uint64_t min, max;
    struct fm_store *s;

    for (int i = 0; i < 2 * (int)FM_BLOCK_ROWS; i++) {
        fm_row_begin(b, e);
        if (i == 3)
            fm_row_set(b, FM_COL_THREAD, t);
        fm_row_end(b);
    }
    fm_row_patch(b, 3, FM_COL_THREAD, FM_NONE);
    s = seal(b);
    ck_assert(fm_store_segment_empty(s, 0, FM_COL_THREAD, &min, &max));
    ck_assert_uint_eq(fm_store_thread_row(s, t)->samples, 0);
    fm_store_free(s);
}
END_TEST

/* ------------------------------------------------------------------ links */

START_TEST(links_are_sorted_and_joined)
{
    struct fm_builder *b = builder();
    uint32_t e = fm_builder_event(b, "x", "ns", FM_KIND_SPAN);
    const struct fm_link *l;
    struct fm_store *s;
    size_t n;

    fill(b, e, 100, 0);
    fm_builder_link(b, FM_LINK_PARENT, 50, FM_LINK_ROW, 2);
    fm_builder_link(b, FM_LINK_PARENT, 20, FM_LINK_STACK, FM_NODE_ROOT);
    fm_builder_link(b, FM_LINK_PARENT, 50, FM_LINK_ROW, 1);
    fm_builder_link_key(b, FM_LINK_LAUNCH, FM_SIDE_FROM, 7, 30);
    fm_builder_link_key(b, FM_LINK_LAUNCH, FM_SIDE_TO, 7, 60);      /* the first of equal ones */
    fm_builder_link_key(b, FM_LINK_LAUNCH, FM_SIDE_TO, 7, 61);
    fm_builder_link_key(b, FM_LINK_LAUNCH, FM_SIDE_FROM, 7, 29);
    fm_builder_link_key(b, FM_LINK_LAUNCH, FM_SIDE_FROM, 8, 31);    /* nobody's */
    fm_builder_link_key(b, FM_LINK_FLOW, FM_SIDE_TO, 8, 32);        /* another kind */
    fm_builder_source(b, "other", "test");
    fill(b, e, 10, 0);
    fm_builder_link_key(b, FM_LINK_LAUNCH, FM_SIDE_FROM, 7, 101);   /* of another source */
    s = seal(b);
    l = fm_store_links(s, &n);
    ck_assert_uint_eq(n, 5);
    ck_assert_int_eq(l[0].kind, FM_LINK_LAUNCH);
    ck_assert(l[0].from == 29 && l[0].to == 60 && l[1].from == 30 && l[1].to == 60);
    l = fm_store_link_find(s, FM_LINK_PARENT, 50);
    ck_assert_ptr_nonnull(l);
    ck_assert(l[0].to == 2 && l[1].to == 1);        /* in the order they were made */
    ck_assert_ptr_null(fm_store_link_find(s, FM_LINK_PARENT, 21));
    ck_assert_ptr_null(fm_store_link_find(s, FM_LINK_WAKER, 50));
    ck_assert_int_eq(fm_store_link_find(s, FM_LINK_PARENT, 20)->target, FM_LINK_STACK);
    ck_assert_uint_eq(fm_store_source_row(s, 0)->diags.row[FM_DIAG_LINK_UNMATCHED].count, 2);
    fm_store_free(s);
}
END_TEST

/* Keys near each other, and far apart: the same links, each to the first row of its key. */
START_TEST(links_by_keys_near_and_far)
{
    for (uint64_t step = 1; step <= 1000000; step *= 1000) {
        struct fm_builder *b = builder();
        uint32_t e = fm_builder_event(b, "x", "ns", FM_KIND_SPAN);
        const uint64_t base = UINT64_MAX - 60 * step;
        const struct fm_link *l;
        struct fm_store *s;
        size_t n;

        fill(b, e, 200, 0);
        for (uint64_t i = 0; i < 50; i++)
            fm_builder_link_key(b, FM_LINK_LAUNCH, FM_SIDE_TO, base + (49 - i) * step, 100 + i);
        for (uint64_t i = 0; i < 50; i++)       /* two above; one twice, one never */
            fm_builder_link_key(b, FM_LINK_LAUNCH, FM_SIDE_FROM,
                                base + (i == 10 ? 11 : i + 2) * step, i);
        fm_builder_link_key(b, FM_LINK_LAUNCH, FM_SIDE_FROM, base - step, 60);
        fm_builder_link_key(b, FM_LINK_LAUNCH, FM_SIDE_FROM, 0, 61);
        fm_builder_link_key(b, FM_LINK_LAUNCH, FM_SIDE_TO, base, 180);
        s = seal(b);
        l = fm_store_links(s, &n);
        ck_assert_uint_eq(n, 48);
        for (size_t i = 0; i < n; i++)
            ck_assert(l[i].from == i && l[i].to == 149 - (i == 10 ? 11 : i + 2));
        /* FROM 48, 49, 60, 61; TO base, base + 1, base + 12 and the second of base */
        ck_assert_uint_eq(fm_store_source_row(s, 0)->diags.row[FM_DIAG_LINK_UNMATCHED].count, 8);
        fm_store_free(s);
    }
}
END_TEST

/* ------------------------------------------------------- threads and clocks */

START_TEST(thread_names_have_times)
{
    struct fm_builder *b = builder();
    fm_thread t = fm_builder_thread(b, 1, 2, 0), u = fm_builder_thread(b, 1, 2, 1);
    fm_str one = str(b, "one"), two = str(b, "two"), three = str(b, "three");
    struct fm_store *s;

    ck_assert_uint_ne(t, u);
    ck_assert_uint_eq(fm_builder_thread(b, 1, 2, 0), t);
    ck_assert_uint_ne(fm_builder_thread_text(b, one), fm_builder_thread_text(b, two));
    ck_assert_uint_eq(fm_builder_thread_text(b, one), fm_builder_thread_text(b, one));
    fm_builder_thread_name(b, t, 100, two);
    fm_builder_thread_name(b, t, INT64_MIN, one);   /* an older one is put before */
    fm_builder_thread_name(b, t, 200, one);
    fm_builder_thread_name(b, t, 200, three);       /* an equal one replaces */
    fm_builder_thread_name(b, u, 50, two);
    s = seal(b);
    ck_assert_uint_eq(fm_store_thread_name(s, t, true, 99), one);
    ck_assert_uint_eq(fm_store_thread_name(s, t, true, 100), two);
    ck_assert_uint_eq(fm_store_thread_name(s, t, true, 199), two);
    ck_assert_uint_eq(fm_store_thread_name(s, t, true, INT64_MAX), three);
    ck_assert_uint_eq(fm_store_thread_name(s, t, false, 0), three);
    ck_assert_uint_eq(fm_store_thread_name(s, u, true, 49), 0);
    ck_assert_uint_eq(fm_store_thread_name(s, FM_NONE, false, 0), 0);
    fm_store_free(s);
}
END_TEST

struct clock_case {
    enum fm_clock clock[2];
    bool wall[2];
    const char *host[2];
    const char *offset;
    int64_t shift;          /* of the second source */
    bool warned;
};

START_TEST(clocks_are_aligned)
{
    static const struct clock_case cases[] = {
        {{FM_CLOCK_MONOTONIC, FM_CLOCK_MONOTONIC}, {false, false}, {"a", "a"}, NULL, 0, false},
        {{FM_CLOCK_MONOTONIC, FM_CLOCK_MONOTONIC}, {true, true}, {NULL, NULL}, NULL, 0, false},
        {{FM_CLOCK_MONOTONIC, FM_CLOCK_MONOTONIC}, {true, true}, {"a", "b"}, NULL, 700, false},
        {{FM_CLOCK_MONOTONIC, FM_CLOCK_MONOTONIC}, {false, false}, {"a", "b"}, NULL, 0, true},
        {{FM_CLOCK_MONOTONIC, FM_CLOCK_GPU}, {true, true}, {"a", "a"}, NULL, 700, false},
        {{FM_CLOCK_MONOTONIC, FM_CLOCK_GPU}, {true, false}, {"a", "a"}, NULL, 0, true},
        {{FM_CLOCK_UNKNOWN, FM_CLOCK_UNKNOWN}, {false, false}, {NULL, NULL}, NULL, 0, true},
        {{FM_CLOCK_JFR, FM_CLOCK_JFR}, {true, true}, {NULL, NULL}, NULL, 700, false},
        {{FM_CLOCK_REALTIME, FM_CLOCK_BOOT}, {false, true}, {NULL, NULL}, NULL, 1700, false},
        {{FM_CLOCK_UNKNOWN, FM_CLOCK_UNKNOWN}, {false, false}, {NULL, NULL}, "b.data=-3us",
         -3000, false},
        {{FM_CLOCK_JFR, FM_CLOCK_JFR}, {true, true}, {NULL, NULL}, "dir/b.data=1us,", 1700, false},
        {{FM_CLOCK_PERF, FM_CLOCK_PERF}, {false, false}, {"a", "a"}, NULL, 0, false},
        {{FM_CLOCK_PERF, FM_CLOCK_PERF}, {false, false}, {"a", "b"}, NULL, 0, true},
        {{FM_CLOCK_PERF, FM_CLOCK_MONOTONIC}, {false, false}, {NULL, NULL}, NULL, 0, true},
        {{FM_CLOCK_MONOTONIC_RAW, FM_CLOCK_PERF}, {false, false}, {NULL, NULL}, NULL, 0, true},
    };
    const struct clock_case *c = &cases[_i];
    struct fm_builder *b;
    struct fm_store *s;
    int64_t start, end;

    ck_assert_uint_eq(FM_COUNT(cases), 15);
    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    for (unsigned i = 0; i < 2; i++) {
        struct fm_source *source;
        fm_builder_source(b, i == 0 ? "a.data" : "dir/b.data", "test");
        if (c->host[i] != NULL)
            fm_builder_provenance(b, "host", c->host[i], 1);
        source = fm_builder_source_row(b);
        source->clock = c->clock[i];
        source->has_wall = c->wall[i];
        source->wall = c->clock[i] == FM_CLOCK_BOOT ? 2000 : 5000 + 800 * i;
        source->wall_at = c->clock[i] == FM_CLOCK_BOOT ? 300 : 100 + 100 * i;
        fill(b, fm_builder_event(b, "x", "", FM_KIND_SPAN), 10, 1000);
    }
    ck_assert_int_eq(fm_builder_seal(b, c->offset, &s, NULL), FM_OK);
    ck_assert_int_eq(fm_store_verify(s, NULL), FM_OK);
    ck_assert_int_eq(fm_store_source_row(s, 0)->shift, 0);
    ck_assert_int_eq(fm_store_source_row(s, 1)->shift, c->shift);
    ck_assert_uint_eq(fm_store_source_row(s, 1)->diags.row[FM_DIAG_CLOCK_UNKNOWN].count,
                      c->warned);
    ck_assert(fm_store_start(s, &start, &end));
    ck_assert_int_eq(start, FM_MIN(1000, 1000 + c->shift));
    ck_assert_int_eq(end, FM_MAX(1009, 1009 + c->shift));
    if (c->warned) {
        const char *key, *value;
        size_t k = c->host[1] != NULL ? 1 : 0;
        ck_assert(fm_store_provenance(s, 1, k, &key, &value));
        ck_assert_str_eq(key, "clock-warning");
        ck_assert_ptr_nonnull(strstr(value, "'a.data'"));
        ck_assert_ptr_nonnull(strstr(value, "'dir/b.data'"));
        ck_assert_ptr_nonnull(strstr(value, fm_clock_text(c->clock[0])));
        ck_assert_ptr_nonnull(strstr(value, fm_clock_text(c->clock[1])));
        ck_assert_ptr_nonnull(strstr(value, "--clock-offset b.data="));
        ck_assert_int_eq(strstr(value, "perf record -k mono") != NULL,
                         c->clock[0] == FM_CLOCK_PERF);
        ck_assert_int_eq(strstr(value, "perf record -k raw") != NULL,
                         c->clock[0] == FM_CLOCK_MONOTONIC_RAW);
    }
    fm_store_free(s);
}
END_TEST

START_TEST(clock_offsets_are_checked)
{
    static const char *const bad[] = {"a.data", "a.data=soon", "c.data=1ms", "=1ms"};
    struct fm_error err;

    for (size_t i = 0; i < FM_COUNT(bad); i++) {
        struct fm_builder *b = builder();
        struct fm_store *s;
        fm_error_clear(&err);
        ck_assert_int_eq(fm_builder_seal(b, bad[i], &s, &err), FM_CONFIG);
        ck_assert_ptr_null(s);
        ck_assert_ptr_nonnull(strstr(err.message, bad[i]));
    }
}
END_TEST

/* ----------------------------------------------------------------- stacks */

START_TEST(deep_stacks)
{
    const size_t depth = 100000;
    struct fm_builder *b = builder();
    struct fm_frame_row f = {.module = FM_NONE, .kind = FM_FRAME_USER};
    fm_frame *frame = malloc(depth * sizeof *frame);
    const struct fm_tree_node *tree;
    struct fm_store *s;
    fm_node n;

    ck_assert_ptr_nonnull(frame);
    fm_ctx_set_cap(ctx, FM_CAP_STACK_DEPTH, depth);
    for (size_t i = 0; i < depth; i++) {
        f.address = i % 1000;
        frame[i] = fm_builder_frame(b, &f);
    }
    n = fm_builder_stack(b, frame, depth);
    ck_assert_uint_eq(fm_builder_node_frame(b, n), frame[depth - 1]);
    fm_ctx_set_cap(ctx, FM_CAP_STACK_DEPTH, 10);    /* the leaf's side stays */
    ck_assert_uint_eq(fm_builder_node_frame(b, fm_builder_stack(b, frame, 30)), frame[29]);
    s = seal(b);
    ck_assert_uint_eq(fm_store_tree_nodes(s), 1 + depth + 10);
    tree = fm_store_tree(s);
    ck_assert_uint_eq(tree[fm_store_tree_node(s, n)].depth, depth);
    ck_assert_uint_eq(tree[depth + 10].depth, 10);
    ck_assert_uint_eq(fm_store_source_row(s, 0)->diags.row[FM_DIAG_STACK_DEPTH].count, 1);
    fm_store_free(s);
    free(frame);
}
END_TEST

START_TEST(tree_is_in_pre_order)
{
    struct fm_builder *b = builder();
    fm_frame f[5];
    fm_node a, bb, ab, ba, ac;
    const struct fm_tree_node *t;
    struct fm_store *s;

    for (unsigned i = 0; i < 5; i++) {
        struct fm_frame_row row = {.module = FM_NONE, .address = i};
        f[i] = fm_builder_frame(b, &row);
    }
    a = fm_builder_node(b, FM_NODE_ROOT, f[0]);
    bb = fm_builder_node(b, FM_NODE_ROOT, f[1]);
    ba = fm_builder_node(b, bb, f[2]);
    ab = fm_builder_node(b, a, f[3]);
    ac = fm_builder_node(b, a, f[2]);
    ck_assert_uint_eq(fm_builder_node(b, a, f[3]), ab);
    ck_assert_uint_eq(fm_builder_node_parent(b, ac), a);
    s = seal(b);
    t = fm_store_tree(s);
    ck_assert_uint_eq(fm_store_tree_node(s, a), 1);     /* 0 [1 [2 3] 4 [5]] */
    ck_assert_uint_eq(fm_store_tree_node(s, ab), 2);
    ck_assert_uint_eq(fm_store_tree_node(s, ac), 3);
    ck_assert_uint_eq(fm_store_tree_node(s, bb), 4);
    ck_assert_uint_eq(fm_store_tree_node(s, ba), 5);
    ck_assert(t[1].end == 4 && t[4].end == 6 && t[0].end == 6 && t[2].end == 3);
    fm_store_free(s);
}
END_TEST

START_TEST(chains_are_compared)
{
    struct fm_builder *b = builder();
    uint64_t words[70000];
    fm_node *p, *q;

    for (size_t i = 0; i < FM_COUNT(words); i++)
        words[i] = i;
    p = fm_builder_chain(b, 1, words, 20);
    ck_assert_uint_eq(*p, FM_NONE);
    *p = 77;
    ck_assert_uint_eq(*fm_builder_chain(b, 1, words, 20), 77);
    ck_assert_uint_eq(*fm_builder_chain(b, 2, words, 20), FM_NONE);     /* another context */
    ck_assert_uint_eq(*fm_builder_chain(b, 1, words, 19), FM_NONE);
    ck_assert_uint_eq(*fm_builder_chain(b, 1, words + 1, 20), FM_NONE);
    q = fm_builder_chain(b, 1, NULL, 0);
    *q = 5;
    ck_assert_uint_eq(*fm_builder_chain(b, 1, words, 0), 5);
    for (uint32_t i = 0; i < 30000; i++) {      /* places stay where they are while it grows */
        words[3] = 1000000 + i;
        q = fm_builder_chain(b, 9, words, 30);
        ck_assert_uint_eq(*q, FM_NONE);
        *q = i;
    }
    for (uint32_t i = 0; i < 30000; i += 77) {
        words[3] = 1000000 + i;
        ck_assert_uint_eq(*fm_builder_chain(b, 9, words, 30), i);
    }
    *fm_builder_chain(b, 3, words, FM_COUNT(words)) = 6;
    ck_assert_uint_eq(*fm_builder_chain(b, 3, words, FM_COUNT(words)), 6);
    ck_assert_uint_eq(*p, 77);
    ck_assert_int_eq(fm_builder_status(b), FM_OK);
    fm_builder_free(b);
}
END_TEST

/* -------------------------------------------------- naming, account, checks */

START_TEST(strings_and_names_after_the_seal)
{
    struct fm_builder *b = builder();
    struct fm_module_row m = {.path = str(b, "/bin/x"), .kind = FM_MODULE_USER, .pid = -1};
    struct fm_frame_row f = {.address = 5, .kind = FM_FRAME_USER};
    uint32_t e = fm_builder_event(b, "cycles", "", FM_KIND_SAMPLE);
    struct fm_module_info info;
    struct fm_store *s;
    fm_frame frame;
    fm_str name;
    size_t n;

    f.module = fm_builder_module(b, &m);
    ck_assert_uint_eq(fm_builder_module(b, &m), f.module);
    frame = fm_builder_frame(b, &f);
    fm_builder_module_row(b, f.module)->build_id = str(b, "abcd");
    ck_assert_uint_eq(fm_builder_module(b, &m), f.module);  /* an edit is no new identity */
    fm_account_in(b, 3);
    fm_row_begin(b, e);
    fm_row_set(b, FM_COL_STACK, fm_builder_stack(b, &frame, 1));
    fm_row_set(b, FM_COL_COUNT, 3);
    fm_row_end(b);
    s = seal(b);
    fm_store_module(s, f.module, &info);
    ck_assert_str_eq(info.path, "/bin/x");
    ck_assert_str_eq(info.build_id, "abcd");
    ck_assert_str_eq(info.kind, "user");
    ck_assert(info.frames == 1 && info.unresolved == 1 && info.unresolved_samples == 3);
    ck_assert_uint_eq(fm_store_str_find(s, "a\0b", 3), FM_NONE);
    name = fm_store_str_add(s, "a\0b", 3);
    ck_assert_uint_eq(fm_store_str_add(s, "a\0b", 3), name);
    ck_assert_mem_eq(fm_store_str(s, name, &n), "a\0b", 4);
    ck_assert_uint_eq(n, 3);
    fm_store_frame_edit(s, frame)->function = name;
    fm_store_module(s, f.module, &info);
    ck_assert(info.unresolved == 0 && info.unresolved_samples == 0);
    ck_assert_int_eq(fm_store_verify(s, NULL), FM_OK);
    ck_assert_uint_gt(fm_store_memory(s), 1000);
    ck_assert_uint_le(fm_store_memory(s), atomic_load(&ctx->mem.used));
    fm_store_free(s);
}
END_TEST

START_TEST(overloads_and_bytecodes_are_frames_of_their_own)
{
    struct fm_builder *b = builder();
    struct fm_frame_row f = {.module = FM_NONE, .address = UINT64_MAX, .kind = FM_FRAME_JIT};
    struct fm_store *s;
    fm_frame first, overload, later;

    f.function = str(b, "a/B.c");
    f.signature = str(b, "(I)V");
    f.bci = 1;
    first = fm_builder_frame(b, &f);
    f.signature = str(b, "(J)V");
    overload = fm_builder_frame(b, &f);
    f.bci = 2;
    later = fm_builder_frame(b, &f);
    ck_assert(first != overload && overload != later);
    ck_assert_uint_eq(fm_builder_frame(b, &f), later);
    s = seal(b);
    ck_assert_uint_eq(fm_store_frames(s), 3);
    ck_assert_str_eq(fm_store_str(s, fm_store_frame_row(s, first)->signature, NULL), "(I)V");
    ck_assert_uint_eq(fm_store_frame_row(s, later)->bci, 2);
    fm_store_free(s);
}
END_TEST

START_TEST(account_must_balance)
{
    struct fm_builder *b = builder();
    uint32_t e = fm_builder_event(b, "cycles", "", FM_KIND_SAMPLE);
    struct fm_account_info a;
    struct fm_error err;
    struct fm_store *s;

    fm_account_in(b, 3);
    fm_account_drop(b, FM_DIAG_SAMPLE_BODY, 400, 1);
    fm_account_drop(b, FM_DIAG_SAMPLE_BODY, 300, 1);
    fm_account_record(b, FM_ACCOUNT_RECORDS, str(b, "MMAP2"), 8, 10);
    fm_row_begin(b, e);
    fm_row_end(b);
    s = seal(b);
    ck_assert_uint_eq(fm_store_accounts(s), 3);
    fm_store_account(s, 0, &a);
    ck_assert_int_eq(a.kind, FM_ACCOUNT_DROPPED);
    ck_assert_str_eq(a.key, "sample-body");
    ck_assert_int_eq(a.severity, FM_DAMAGE);
    ck_assert(a.count == 2 && a.first_offset == 300);
    fm_store_account(s, 1, &a);
    ck_assert_int_eq(a.kind, FM_ACCOUNT_RECORDS);
    ck_assert_str_eq(a.key, "MMAP2");
    fm_store_account(s, 2, &a);
    ck_assert_int_eq(a.kind, FM_ACCOUNT_FINDING);
    ck_assert(a.count == 2 && a.first_offset == 300);
    fm_store_free(s);

    b = builder();      /* a sample that nobody counted in */
    e = fm_builder_event(b, "cycles", "", FM_KIND_SAMPLE);
    fm_row_begin(b, e);
    fm_row_end(b);
    ck_assert_int_eq(fm_builder_seal(b, NULL, &s, NULL), FM_OK);
    fm_error_clear(&err);
    ck_assert_int_eq(fm_store_verify(s, &err), FM_FORMAT);
    ck_assert_str_eq(err.message, "store: source 'a.data' has 0 samples in, 1 kept, 0 dropped");
    fm_store_free(s);
}
END_TEST

START_TEST(a_value_that_is_no_id_is_counted)
{
    struct fm_builder *b = builder();
    uint32_t e = fm_builder_event(b, "x", "", FM_KIND_INSTANT);
    struct fm_store *s;

    fm_row_begin(b, e);
    fm_row_set(b, FM_COL_NAME, 1000000);
    fm_row_set(b, FM_COL_THREAD, 3);
    fm_row_end(b);
    s = seal(b);
    ck_assert(none(s, FM_COL_NAME, 0) && none(s, FM_COL_THREAD, 0));
    ck_assert_uint_eq(fm_store_source_row(s, 0)->diags.row[FM_DIAG_VALUE_RANGE].count, 2);
    fm_store_free(s);
}
END_TEST

START_TEST(the_default_event)
{
    struct fm_builder *b = builder();
    uint32_t few = fm_builder_event(b, "few", "ns", FM_KIND_SPAN);
    uint32_t many = fm_builder_event(b, "many", "ns", FM_KIND_SPAN);
    uint32_t ranked = fm_builder_event(b, "ranked", "ns", FM_KIND_SPAN);
    uint32_t absent = fm_builder_event(b, "absent", "ns", FM_KIND_SPAN);
    struct fm_store *s;

    fm_builder_event_row(b, absent)->default_rank = 0;
    for (uint32_t i = 0; i < 10; i++) {
        fm_row_begin(b, i < 3 ? few : many);
        fm_row_set(b, FM_COL_WEIGHT, 1);
        fm_row_set(b, FM_COL_STACK, FM_NODE_ROOT);
        fm_row_end(b);
    }
    if (_i == 1) {
        fm_builder_event_row(b, ranked)->default_rank = 1;
        fm_row_begin(b, ranked);
        fm_row_end(b);
    }
    s = seal(b);
    ck_assert_uint_eq(fm_store_event_auto(s), _i == 1 ? ranked : many);
    ck_assert_uint_eq(fm_store_event_find(s, "few"), few);
    ck_assert_uint_eq(fm_store_event_find(s, "none"), FM_NONE);
    fm_store_free(s);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("store_build");
    TCase *t = tcase_create("build");

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, empty_store);
    tcase_add_test(t, rows_keep_their_values);
    tcase_add_test(t, labels_of_all_types);
    tcase_add_loop_test(t, segment_borders, 0, 3);
    tcase_add_test(t, a_column_costs_nothing_where_it_is_not_set);
    tcase_add_test(t, sources_do_not_share_segments);
    tcase_add_test(t, unsorted_segments_say_so);
    tcase_add_test(t, patches_are_as_if_set_at_once);
    tcase_add_test(t, a_patch_may_take_an_id_away);
    tcase_add_test(t, links_are_sorted_and_joined);
    tcase_add_test(t, links_by_keys_near_and_far);
    tcase_add_test(t, thread_names_have_times);
    tcase_add_loop_test(t, clocks_are_aligned, 0, 15);
    tcase_add_test(t, clock_offsets_are_checked);
    tcase_add_test(t, deep_stacks);
    tcase_add_test(t, tree_is_in_pre_order);
    tcase_add_test(t, chains_are_compared);
    tcase_add_test(t, strings_and_names_after_the_seal);
    tcase_add_test(t, overloads_and_bytecodes_are_frames_of_their_own);
    tcase_add_test(t, account_must_balance);
    tcase_add_test(t, a_value_that_is_no_id_is_counted);
    tcase_add_loop_test(t, the_default_event, 0, 2);
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
