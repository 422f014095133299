/*
 * Views of many events: from: spans, counters, instants. Figures are worked out by hand.
 */
#include "query_help.h"

#include <check.h>
#include <stdio.h>

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

/*
 * A [0,100) and B [50,150) of one thread: B's self time is 50 under A and 50 without it, which is a
 * part, in two rows here. C is async and weighs in another unit. Rows by number.
 */
static const char *const rows[] = {
    "A 50 event=spans:ns:span name=A ts=0 dur=100 tid=1",             /* 0 */
    "A;B 50 event=spans:ns:span name=B ts=50 dur=100 tid=1",          /* 1 */
    "B 20 event=spans:ns:part name=B tid=1",                          /* 2 -> 1 */
    "B 30 event=spans:ns:part name=B tid=1",                          /* 3 -> 1 */
    "- 7 event=io:bytes:async name=C category=disk,slow ts=10 dur=40 tid=2",
    "- 9 event=io:bytes:async name=C category=disk ts=20 tid=2",      /* no duration */
    "main 1000 event=cpu:cycles ts=5 tid=1",
    "- 0 event=mark:count:instant name=gc ts=30 tid=2",
    "- 0 event=mem:bytes:counter name=heap ts=40",
    "- 0 event=mem:bytes:counter name=heap ts=60",
};

static struct fm_store *store_of_spans(void)
{
    struct fm_builder *b;

    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    fm_builder_source(b, "test", "lines");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        query_row(b, rows[i], strlen(rows[i]));
    fm_builder_link(b, FM_LINK_PARENT, 2, FM_LINK_ROW, 1);
    fm_builder_link(b, FM_LINK_PARENT, 3, FM_LINK_ROW, 1);
    return query_seal(b);
}

static void gives(struct fm_store *store, const char *from, const char *steps, const char *want,
                  const struct fm_select_options *select)
{
    char text[1024];
    const char *got;

    snprintf(text, sizeof text, "foldmill-query: 1\nname: q\nfrom: %s\nsteps:\n%s", from, steps);
    got = query_run_with(ctx, store, text, NULL, "csv", select);
    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    ck_assert_str_eq(got, want);
}

START_TEST(spans_have_their_parts)
{
    struct fm_store *store = store_of_spans();

    gives(store, "spans",
          "  - group:\n"
          "      by: [name]\n"
          "      measures: {n: count(), timed: count(dur), total: sum(dur), own: sum(self_dur),\n"
          "                 most: max(self_dur), self: self, share: self_share}\n",
          "name,n,timed,total (ns),own (ns),most (ns),self (ns),share\n"
          "A,1,1,100,50,50,50,0.2631578947368421\n"
          "B,1,1,100,100,100,100,0.5263157894736842\n"
          "C,2,1,40,40,40,40,0.21052631578947367\n", NULL);
    fm_store_free(store);
}
END_TEST

START_TEST(spans_are_tested_by_row)
{
    struct fm_store *store = store_of_spans();
    struct fm_select_options select = FM_INIT(select);

    /* a part counts with its span, and only there */
    gives(store, "spans",
          "  - where: {self_dur: \">= 60ns\"}\n"
          "  - group:\n"
          "      by: [name, leaf.function]\n"
          "      measures: {own: self, of: \"share(self, all)\"}\n",
          "name,function,own (ns),of\nB,B,100,0.5263157894736842\n", NULL);
    gives(store, "spans",
          "  - where: {category: slow, event: io}\n"
          "  - group: {by: [name, tid], measures: {n: count(), own: self}}\n",
          "name,tid,n,own (ns)\nC,2,1,40\n", NULL);
    gives(store, "spans",
          "  - time: 100ns..120ns\n"
          "  - group: {by: [name], measures: {n: count()}}\n", "name,n\nB,1\n", NULL);
    select.weight = "samples";
    gives(store, "spans",
          "  - group: {by: [event], measures: {w: self, own: sum(self_dur)}}\n",
          "event,w (samples),own (ns)\nio,2,40\nspans,2,150\n", &select);
    select.weight = NULL;
    select.event = "io";
    gives(store, "spans", "  - group: {by: [event], measures: {n: count()}}\n",
          "event,n\nio,2\n", &select);
    fm_store_free(store);
}
END_TEST

START_TEST(other_views)
{
    struct fm_store *store = store_of_spans();
    struct fm_select_options select = FM_INIT(select);

    gives(store, "counters", "  - group: {by: [name], measures: {n: count(), last: max(ts)}}\n",
          "name,n,last (ns)\nheap,2,60\n", NULL);
    gives(store, "instants", "  - group: {by: [name], measures: {n: count(), at: min(ts)}}\n",
          "name,n,at (ns)\ngc,1,30\n", NULL);
    select.event = "cpu";
    ck_assert_ptr_null(query_run_with(ctx, store,
                                      "foldmill-query: 1\nname: q\nfrom: spans\nsteps:\n"
                                      "  - group: {by: [name], measures: {n: count()}}\n",
                                      NULL, "csv", &select));
    ck_assert_str_eq(query_error(), "event 'cpu' has no spans");
    /* self time is of spans only */
    ck_assert_ptr_null(query_run(ctx, store,
                                 "foldmill-query: 1\nname: q\nfrom: counters\nsteps:\n"
                                 "  - group: {by: [name], measures: {n: sum(self_dur)}}\n",
                                 NULL, "csv"));
    ck_assert_int_eq(query_status(), FM_CONFIG);
    fm_store_free(store);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("query_view");
    TCase *t = tcase_create("query_view");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, spans_have_their_parts);
    tcase_add_test(t, spans_are_tested_by_row);
    tcase_add_test(t, other_views);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
