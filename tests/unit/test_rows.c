/*
 * test_rows.c - the rows as CSV, TSV and JSON lines, with outputs worked out by hand.
 *
 * The store: two events of different units, texts that each format must escape, and more labels
 * than one scan takes.
 */
#include "small.h"

#include "export/export.h"
#include "store/build.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define LABELS 70

static struct fm_ctx *ctx;
static struct fm_store *store;

static fm_frame frame(struct fm_builder *b, const char *name)
{
    struct fm_frame_row row = {.module = FM_NONE, .address = UINT64_MAX};

    row.function = fm_builder_str(b, name, strlen(name));
    return fm_builder_frame(b, &row);
}

static void setup(void)
{
    struct fm_builder *b;
    struct fm_error err = {0};
    uint32_t cycles, bytes;
    fm_column label[LABELS], name, where;
    fm_frame stack[2];
    fm_thread thread;
    fm_node node;
    char text[16];

    ctx = fm_ctx_new();
    ck_assert_int_eq(fm_builder_new(ctx, &b, &err), FM_OK);
    fm_builder_source(b, "made", "test");
    cycles = fm_builder_event(b, "cycles", "cycles", FM_KIND_SAMPLE);
    bytes = fm_builder_event(b, "alloc", "bytes", FM_KIND_SAMPLE);
    for (int i = 0; i < LABELS; i++) {
        snprintf(text, sizeof text, "l%d", i);
        label[i] = fm_builder_label(b, text, FM_TYPE_I64, false);
    }
    name = fm_builder_label(b, "class", FM_TYPE_STRING, false);
    where = fm_builder_label(b, "addr", FM_TYPE_ADDRESS, false);
    fm_builder_label(b, "nobody", FM_TYPE_STRING, false);
    thread = fm_builder_thread(b, 7, 9, 0);
    fm_builder_thread_name(b, thread, INT64_MIN, fm_builder_str(b, "a,b", 3));
    stack[0] = frame(b, "main;x");
    stack[1] = frame(b, "say \"hi\"\n\\t");
    node = fm_builder_stack(b, stack, 2);

    fm_row_begin(b, cycles);
    fm_row_set(b, FM_COL_TS, 1000);
    fm_row_set(b, FM_COL_WEIGHT, UINT64_MAX);
    fm_row_set(b, FM_COL_STACK, node);
    fm_row_set(b, FM_COL_THREAD, thread);
    for (int i = 0; i < LABELS; i++)
        fm_row_set(b, label[i], (uint64_t)-i);
    fm_row_set(b, name, fm_builder_str(b, "", 0));
    fm_row_set(b, where, 0xfe);
    fm_row_end(b);
    fm_row_begin(b, bytes);
    fm_row_set(b, FM_COL_TS, 1250);
    fm_row_set(b, FM_COL_WEIGHT, 3);
    fm_row_set(b, FM_COL_COUNT, 2);
    fm_row_set(b, name, fm_builder_str(b, "tab\there", 8));
    fm_row_end(b);
    fm_account_in(b, 3);
    ck_assert_int_eq(fm_builder_seal(b, NULL, &store, &err), FM_OK);
}

static void teardown(void)
{
    fm_store_free(store);
    fm_ctx_free(ctx);
}

/* The part of `line` between two texts. */
static void line_is(const char *text, int line, const char *head, const char *tail)
{
    const char *end;

    while (line-- > 0) {
        text = strchr(text, '\n');
        ck_assert_ptr_nonnull(text);
        text++;
    }
    ck_assert_msg(strncmp(text, head, strlen(head)) == 0, "'%s' is not '%s'", text, head);
    end = strstr(text, tail);
    ck_assert_msg(end != NULL, "'%s' lacks '%s'", text, tail);
}

static char *all(const char *exporter)
{
    struct fm_select_options select = FM_INIT(select);
    struct fm_error err = {0};
    char *text;

    select.event = "all";
    select.weight = "samples";
    text = small_export(ctx, store, exporter, &select, NULL, &err);
    ck_assert_msg(text != NULL, "%s", err.message);
    return text;
}

START_TEST(csv_quotes)
{
    char *text = all("rows.csv");

    line_is(text, 0, "source,event,metric,kind,ts,clock,dur,weight,unit,count,value,process,pid,"
            "thread,tid,java_tid,comm,command,container,cpu,name,category,stack,depth,"
            "leaf.function,leaf.module,leaf.kind,path,l0,l1,", ",l69,class,addr\n");
    line_is(text, 1, "made,cycles,cycles,sample,0,1000,,18446744073709551615,cycles,1,,,7,\"a,b\","
            "9,,,,,,,,2,2,\"say \"\"hi\"\"\\x0a\\t\",,unknown,"
            "\"main:x;say \"\"hi\"\"\\x0a\\t\",0,-1,", ",-68,-69,\"\",0xfe\n");
    line_is(text, 2, "made,alloc,alloc,sample,250,1250,,3,bytes,2,,,,,,,,,,,,,,,,,,,,,",
            ",,tab\there,\n");
    free(text);
}
END_TEST

START_TEST(tsv_escapes)
{
    char *text = all("rows.tsv");

    line_is(text, 1, "made\tcycles\tcycles\tsample\t0\t1000\t\t18446744073709551615\tcycles\t1\t\t"
            "\t7\ta,b\t9\t\t\t\t\t\t\t\t2\t2\tsay \"hi\"\\\\x0a\\\\t\t\tunknown\t"
            "main:x;say \"hi\"\\\\x0a\\\\t\t0\t-1\t", "\t-68\t-69\t\t0xfe\n");
    line_is(text, 2, "made\talloc\talloc\tsample\t250\t1250\t\t3\tbytes\t2\t\t",
            "\ttab\\there\t\n");
    free(text);
}
END_TEST

START_TEST(json_keeps_types)
{
    char *text = all("rows.jsonl");

    line_is(text, 0, "{\"source\":\"made\",\"event\":\"cycles\",\"metric\":\"cycles\",\"kind\":"
            "\"sample\",\"ts\":0,\"clock\":1000,\"weight\":18446744073709551615,\"unit\":"
            "\"cycles\",\"count\":1,\"pid\":7,\"thread\":\"a,b\",\"tid\":9,\"stack\":2,\"depth\":2,"
            "\"leaf.function\":\"say \\\"hi\\\"\\n\\\\t\",\"leaf.kind\":\"unknown\",\"path\":"
            "[\"main;x\",\"say \\\"hi\\\"\\n\\\\t\"],\"l0\":0,\"l1\":-1,",
            ",\"l69\":-69,\"class\":\"\",\"addr\":\"0xfe\"}\n");
    line_is(text, 1, "{\"source\":\"made\",\"event\":\"alloc\",\"metric\":\"alloc\",\"kind\":"
            "\"sample\",\"ts\":250,\"clock\":1250,\"weight\":3,\"unit\":\"bytes\",\"count\":2,"
            "\"class\":\"tab\\there\"}\n", "\n");
    free(text);
}
END_TEST

START_TEST(frames_that_are_asked_for)
{
    struct fm_select_options select = FM_INIT(select);
    struct fm_error err = {0};
    char *text;

    select.event = "all";
    select.weight = "samples";
    select.prepend = "pid?,'top'";
    select.append = "class";
    text = small_export(ctx, store, "rows.jsonl", &select, NULL, &err);
    ck_assert_msg(text != NULL, "%s", err.message);
    line_is(text, 0, "{", "\"path\":[\"7\",\"top\",\"main;x\",\"say \\\"hi\\\"\\n\\\\t\",\"");
    line_is(text, 1, "{", "\"path\":[\"top\",\"tab\\there\"]");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rows");
    TCase *tc = tcase_create("rows");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, csv_quotes);
    tcase_add_test(tc, tsv_escapes);
    tcase_add_test(tc, json_keeps_types);
    tcase_add_test(tc, frames_that_are_asked_for);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
