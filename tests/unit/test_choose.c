/*
 * test_choose.c - which events a name means: names, metrics, aliases, lists, derived events; views
 * that differ in annotations; frames made of several columns.
 *
 * Allocations by address and time, A = alloc, F = free (never in order in the store):
 *
 *     0x10  A@10 F@20          freed          0x40  A@10 A@30          the first one reused
 *     0x20  A@10               open           0x50  F@5 A@10           open: the free is older
 *     0x30  A@10 F@20 A@30     open           0x60  F@1                a free of nothing
 *                                             0x10  F@40               a second free: of nothing
 */
#include "small.h"

#include "store/build.h"
#include "store/select.h"
#include "util/out.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static struct fm_ctx *ctx;
static struct fm_store *store;
static size_t held;

static fm_str str(struct fm_builder *b, const char *s)
{
    return fm_builder_str(b, s, strlen(s));
}

struct maker {
    struct fm_builder *b;
    fm_column address, class;
    fm_thread thread;
    fm_node stack;
};

static uint32_t event(struct maker *m, const char *name, const char *metric, const char *unit,
                      int32_t rank, const char *as, const char *append)
{
    uint32_t e = fm_builder_event_metric(m->b, name, metric, unit, FM_KIND_SAMPLE);
    struct fm_event *row = fm_builder_event_row(m->b, e);
    row->default_rank = rank;
    row->default_as = as ? str(m->b, as) : 0;
    row->append = str(m->b, append);
    return e;
}

static void add(struct maker *m, uint32_t e, int64_t ts, uint64_t weight, uint64_t address)
{
    fm_row_begin(m->b, e);
    fm_row_set(m->b, FM_COL_TS, (uint64_t)ts);
    fm_row_set(m->b, FM_COL_WEIGHT, weight);
    fm_row_set(m->b, FM_COL_STACK, m->stack);
    fm_row_set(m->b, FM_COL_THREAD, m->thread);
    if (address)
        fm_row_set(m->b, m->address, address);
    else
        fm_row_set(m->b, m->class, str(m->b, "byte[]"));
    fm_account_in(m->b, 1);
    fm_row_end(m->b);
}

static void allocations(struct maker *m)
{
    uint32_t a = event(m, "Malloc", "nativemem", "bytes", -1, NULL, "");
    uint32_t f = event(m, "Free", "nativemem-free", "count", -1, NULL, "");
    static const struct { char kind; int64_t ts; uint64_t address, size; } list[] = {
        {'F', 20, 0x10, 0}, {'F', 40, 0x10, 0}, {'A', 10, 0x10, 1},    {'A', 10, 0x20, 2},
        {'A', 30, 0x30, 8}, {'F', 20, 0x30, 0}, {'A', 10, 0x30, 4},    {'A', 30, 0x40, 32},
        {'A', 10, 0x40, 16}, {'A', 10, 0x50, 64}, {'F', 5, 0x50, 0}, {'F', 1, 0x60, 0},
    };
    for (size_t i = 0; i < FM_COUNT(list); i++)
        add(m, list[i].kind == 'A' ? a : f, list[i].ts, list[i].size, list[i].address);
    fm_builder_derived_event(m->b, "leak", "nativemem", "nativemem-free", "address");
    fm_builder_derived_event(m->b, "none", "nothing", "nativemem-free", "address");
}

static void setup(void)
{
    struct maker m = {.b = NULL};
    struct fm_frame_row frame = {.module = FM_NONE, .address = UINT64_MAX};
    struct fm_error err = {0};
    ctx = fm_ctx_new();
    held = atomic_load(&ctx->mem.used);
    ck_assert_int_eq(fm_builder_new(ctx, &m.b, NULL), FM_OK);
    fm_builder_source(m.b, "a.jfr", "test");
    m.address = fm_builder_label(m.b, "address", FM_TYPE_ADDRESS, false);
    m.class = fm_builder_label(m.b, "class", FM_TYPE_STRING, false);
    m.thread = fm_builder_thread(m.b, 1, 42, 0);
    fm_builder_thread_name(m.b, m.thread, INT64_MIN, str(m.b, "ma;in"));
    frame.function = str(m.b, "f");
    m.stack = fm_builder_node(m.b, FM_NODE_ROOT, fm_builder_frame(m.b, &frame));
    fm_builder_alias(m.b, "cpu", "cputime,execution");
    fm_builder_alias(m.b, "memory", "memory-of-another");
    (void)event(&m, "ExecutionSample", "cpu", "ns", 0, "cpu", "");            /* no rows */
    add(&m, event(&m, "CPUTimeSample", "cputime", "ns", 1, "cpu", ""), 1, 100, 1);
    add(&m, event(&m, "ExecutionSample", "execution", "ns", 2, "cpu", ""), 1, 10, 2);
    add(&m, event(&m, "InNewTLAB", "alloc", "bytes", 64, "alloc", "class=_[i]"), 1, 1000, 0);
    add(&m, event(&m, "AllocationSample", "alloc", "bytes", 64, "alloc", "class=_[k]"), 2, 2000, 0);
    add(&m, event(&m, "cpu/x=1,y=2/", "cpu/x=1,y=2/", "count", -1, NULL, "class=.x"), 2, 5, 0);
    allocations(&m);
    ck_assert_int_eq(fm_builder_seal(m.b, NULL, &store, &err), FM_OK);
    ck_assert_msg(fm_store_verify(store, &err) == FM_OK, "%s", err.message);
}

static void teardown(void)
{
    fm_store_free(store);
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), held);
    fm_ctx_free(ctx);
}

START_TEST(a_name_a_metric_an_alias_or_a_list)
{
    static const struct { const char *event, *name, *unit; uint64_t samples, sum; } want[] = {
        {NULL, "cpu: CPUTimeSample", "ns", 1, 100},
        {"cpu", "cpu: CPUTimeSample", "ns", 1, 100},
        {"ExecutionSample", "ExecutionSample", "ns", 1, 10},
        {"execution", "execution: ExecutionSample", "ns", 1, 10},
        {"alloc", "alloc: InNewTLAB, AllocationSample", "bytes", 2, 3000},
        {"InNewTLAB", "InNewTLAB", "bytes", 1, 1000},
        {"InNewTLAB,AllocationSample", "InNewTLAB,AllocationSample", "bytes", 2, 3000},
        {"cpu, execution", "cpu, execution", "ns", 2, 110},
        {"cpu/x=1,y=2/", "cpu/x=1,y=2/", "count", 1, 5},
        {"*TLAB", "InNewTLAB", "bytes", 1, 1000},
        {"allo*", "allo*", "bytes", 2, 3000},
        {"leak", "leak: Malloc", "bytes", 4, 2 + 8 + 32 + 64},
        {"all", "all", "samples", 17, 17},
    };
    for (size_t i = 0; i < FM_COUNT(want); i++) {
        struct fm_select_options o = FM_INIT(o);
        struct fm_selection sel;
        struct fm_error err = {0};
        o.event = want[i].event;
        o.weight = strcmp(want[i].unit, "samples") == 0 ? "samples" : NULL;
        ck_assert_msg(fm_selection_init(&sel, store, &o, &err) == FM_OK, "%s", err.message);
        ck_assert_str_eq(fm_store_str(store, sel.event_name, NULL), want[i].name);
        ck_assert_str_eq(fm_store_str(store, sel.unit, NULL), want[i].unit);
        ck_assert_uint_eq(sel.samples, want[i].samples);
        ck_assert_uint_eq((uint64_t)sel.weight, want[i].sum);
        fm_selection_release(&sel);
    }
}
END_TEST

START_TEST(names_that_mean_nothing_or_too_much)
{
    static const struct { const char *event, *says; } want[] = {
        {"aloc", "did you mean 'alloc'"},
        {"CPUTimeSample,execushun", "no event 'execushun'"},
        {"alloc,cpu", "different units"},
        {"leak,alloc", "a derived event stands alone"},
        {"memory", "no event 'memory'; the input has"},
        {"none", "no event 'none'"},
        {",", "no event ','"},
    };
    for (size_t i = 0; i < FM_COUNT(want); i++) {
        struct fm_select_options o = FM_INIT(o);
        struct fm_selection sel;
        struct fm_error err = {0};
        o.event = want[i].event;
        ck_assert_int_eq(fm_selection_init(&sel, store, &o, &err), FM_CONFIG);
        ck_assert_msg(strstr(err.message, want[i].says) != NULL, "%s", err.message);
    }
}
END_TEST

START_TEST(pairs_are_counted)
{
    struct fm_derived_info info;
    ck_assert_uint_eq(fm_store_deriveds(store), 2);
    ck_assert_int_eq(fm_store_derived(store, 0, &info, NULL), FM_OK);
    ck_assert_str_eq(info.name, "leak");
    ck_assert_uint_eq(info.starts, 7);
    ck_assert_uint_eq(info.ended, 2);
    ck_assert_uint_eq(info.reused, 1);
    ck_assert_uint_eq(info.open, 4);
    ck_assert_uint_eq(info.ends, 5);
    ck_assert_uint_eq(info.ends_alone, 3);
    ck_assert_uint_eq(info.weight_lo, 106);
    ck_assert_int_eq(fm_store_derived(store, 1, &info, NULL), FM_UNKNOWN);
}
END_TEST

static void folded(const char *event, const char *prepend, bool annotate, const char *want)
{
    struct fm_select_options o = FM_INIT(o);
    struct fm_export_options e = FM_INIT(e);
    struct fm_error err = {0};
    char *text;
    o.event = event;
    o.prepend = prepend;
    e.annotate = annotate;
    text = small_export(ctx, store, "folded", &o, &e, &err);
    ck_assert_msg(text != NULL, "%s", err.message);
    ck_assert_str_eq(text, want);
    free(text);
}

START_TEST(views_may_differ_in_annotations)
{
    folded("alloc", NULL, true, "f;byte[]_[i] 1000\nf;byte[]_[k] 2000\n");
    folded("alloc", NULL, false, "f;byte[] 3000\n");
    folded("InNewTLAB", "class=_[j]", true, "byte[]_[j];f;byte[]_[i] 1000\n");
    folded("cpu/x=1,y=2/", "none", false, "f;byte[].x 5\n");
}
END_TEST

START_TEST(a_frame_of_several_columns)
{
    folded("cputime", "'[${thread} tid=${tid}]'", false, "[ma:in tid=42];f 100\n");
    folded("cputime", "'${event}/${metric}','a}$'", false, "CPUTimeSample/cputime;a}$;f 100\n");
    folded("cputime", "'${java_tid}'", false, "[no java_tid];f 100\n");
    folded("cputime", "'${tid'", false, "${tid;f 100\n");
    folded("cputime", "class?,'${class?}','a${class?}${metric?}'", false, "acputime;f 100\n");
    folded("cputime", "''", false, ";f 100\n");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("choose");
    TCase *t = tcase_create("choose");
    SRunner *r;
    int failed;
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_name_a_metric_an_alias_or_a_list);
    tcase_add_test(t, names_that_mean_nothing_or_too_much);
    tcase_add_test(t, pairs_are_counted);
    tcase_add_test(t, views_may_differ_in_annotations);
    tcase_add_test(t, a_frame_of_several_columns);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
