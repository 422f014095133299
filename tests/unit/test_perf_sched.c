/*
 * test_perf_sched.c - payloads of tracepoints, and what is worked out of scheduler events: pairs,
 * wake-ups, what is left over; hand-made recordings, so that every row is known.
 */
#include "perf_make.h"

#include "import/trace.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define SAMPLE_TYPE                                                                  \
    (FM_PERF_IP | FM_PERF_TID | FM_PERF_TIME | FM_PERF_PERIOD | FM_PERF_CALLCHAIN |  \
     FM_PERF_IDENTIFIER | FM_PERF_RAW)
#define USER ((uint64_t)-512)

enum { SWITCH = 300, WAKING = 301, OPEN = 302 };

static const struct make_event events[] = {
    {.type = 2, .config = SWITCH, .period = 1, .sample_type = SAMPLE_TYPE,
     .flags = FM_PERF_F_SAMPLE_ID_ALL, .id = {7}, .ids = 1},
    {.type = 2, .config = WAKING, .period = 1, .sample_type = SAMPLE_TYPE,
     .flags = FM_PERF_F_SAMPLE_ID_ALL, .id = {8}, .ids = 1},
    {.type = 2, .config = OPEN, .period = 1, .sample_type = SAMPLE_TYPE,
     .flags = FM_PERF_F_SAMPLE_ID_ALL, .id = {9}, .ids = 1},
};

#define COMMON                                                                     \
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char format_switch[] =
    "name: sched_switch\nID: 300\nformat:\n" COMMON
    "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
    "\tfield:pid_t next_pid;\toffset:40;\tsize:4;\tsigned:1;\n\n"
    "print fmt: \"%s\", REC->prev_state & 0xff ? __print_flags(REC->prev_state & 0xff, \"|\", "
    "{ 0x01, \"S\" }, { 0x02, \"D\" }, { 64, \"Q\" }) : \"R\"\n";
static const char format_waking[] =
    "name: sched_waking\nID: 301\nformat:\n" COMMON
    "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"%d\", REC->pid\n";
static const char format_open[] =
    "name: open\nID: 302\nformat:\n" COMMON
    "\tfield:__data_loc char[] path;\toffset:8;\tsize:4;\tsigned:0;\n"
    "\tfield:signed char mode;\toffset:12;\tsize:1;\tsigned:1;\n"
    "\tfield:u16 flags;\toffset:14;\tsize:2;\tsigned:0;\n"
    "\tfield:void * where;\toffset:16;\tsize:8;\tsigned:0;\n"
    "\tfield:u32 many[2];\toffset:24;\tsize:8;\tsigned:0;\n"
    "\tfield:char tag[4];\toffset:32;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n";

static void put_format(struct make *m, const char *text)
{
    make_u64(m, strlen(text));
    make_bytes(m, text, strlen(text));
}

/* TRACING_DATA with the three formats, as a pipe carries it. */
static void put_tracing(struct make *m)
{
    struct make t = {.big = m->big};
    make_bytes(&t, "\x17\x08\x44tracing0.6", 14);
    make_u8(&t, m->big);
    make_u8(&t, 8);
    make_u32(&t, 4096);
    make_bytes(&t, "header_page", 12);
    make_u64(&t, 0);
    make_bytes(&t, "header_event", 13);
    make_u64(&t, 0);
    make_u32(&t, 0);
    make_u32(&t, 2);
    make_bytes(&t, "sched", 6);
    make_u32(&t, 2);
    put_format(&t, format_switch);
    put_format(&t, format_waking);
    make_bytes(&t, "files", 6);
    make_u32(&t, 1);
    put_format(&t, format_open);
    make_u32(&t, 0);
    make_u32(&t, 0);
    make_u64(&t, 0);
    while (t.n % 8 != 0)
        make_u8(&t, 0);
    size_t begin = make_begin(m, 66, 0);
    make_u32(m, (uint32_t)t.n);
    make_end(m, begin);
    make_bytes(m, t.p, t.n);
    make_free(&t);
}

static size_t begin_sample(struct make *m, uint64_t id, uint32_t tid, uint64_t time, uint64_t ip,
                           uint32_t raw)
{
    size_t begin = make_begin(m, 9, 2);
    make_u64(m, id);
    make_u64(m, ip);
    make_u32(m, 10);
    make_u32(m, tid);
    make_u64(m, time);
    make_u64(m, 1);
    make_u64(m, 2);
    make_u64(m, USER);
    make_u64(m, ip);
    make_u32(m, raw);
    return begin;
}

static void put_common(struct make *m, uint16_t type)
{
    make_u16(m, type);
    make_u16(m, 0);
    make_u32(m, 0);
}

static void put_switch(struct make *m, uint64_t time, uint32_t prev, uint64_t state, uint32_t next)
{
    size_t begin = begin_sample(m, 7, prev, time, 0x1000 + prev, 44);
    put_common(m, SWITCH);
    make_bytes(m, "some\0\0\0\0\0\0\0\0\0\0\0", 16);
    make_u32(m, prev);
    make_u32(m, 0);
    make_u64(m, state);
    make_u32(m, next);
    make_end(m, begin);
}

static void put_waking(struct make *m, uint64_t time, uint32_t tid, uint32_t pid)
{
    size_t begin = begin_sample(m, 8, tid, time, 0x2000 + tid, 12);
    put_common(m, WAKING);
    make_u32(m, pid);
    make_end(m, begin);
}

static void put_open(struct make *m, uint64_t time, uint32_t tid)
{
    size_t begin = begin_sample(m, 9, tid, time, 0x3000, 44);
    put_common(m, OPEN);
    make_u32(m, 36 | 5u << 16);
    make_u8(m, 0xfe);
    make_u8(m, 0);
    make_u16(m, 0xfff0);
    make_u64(m, UINT64_C(0xffff800000001000));
    make_u64(m, 0);
    make_bytes(m, "abcd", 4);
    make_bytes(m, "/tmp\0xyz", 8);
    make_end(m, begin);
}

static void all_threads(struct make *m)
{
    size_t begin = make_begin(m, 73, 0);
    make_u64(m, 1);
    make_u64(m, UINT64_MAX);
    make_bytes(m, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    make_end(m, begin);
}

static void run_records(struct run *run, struct make *records)
{
    struct make file = {.big = records->big};
    make_file(&file, MAKE_PIPE, events, 3, records);
    run_import(run, file.p, file.n, "made.data", false);
    make_free(&file);
    make_free(records);
    ck_assert_msg(run->store != NULL, "%s", run->err.message);
}

static const char *label(const struct run *run, uint64_t row, const char *name)
{
    uint64_t value;
    return run_cell(run, row, name, &value) ? fm_store_str(run->store, (fm_str)value, NULL) : "-";
}

/* "offcpu 11 at 100 for 50 S stack 100b waker 3" */
static const char *derived(const struct run *run, uint64_t row)
{
    static char text[256];
    struct fm_event_info event;
    struct fm_thread_info thread = {0};
    uint64_t id, ts = 0, dur = 0, bounded = 0, weight = 0;
    uint64_t waker = UINT64_MAX;
    ck_assert(run_cell(run, row, "event", &id));
    fm_store_event(run->store, id, &event);
    if (run_cell(run, row, "thread", &id))
        fm_store_thread(run->store, id, &thread);
    (void)run_cell(run, row, "ts", &ts);
    (void)run_cell(run, row, "dur", &dur);
    (void)run_cell(run, row, "weight", &weight);
    (void)run_cell(run, row, "bounded", &bounded);
    const struct fm_link *link = fm_store_link_find(run->store, FM_LINK_WAKER, row);
    if (link != NULL)
        waker = link->to;
    snprintf(text, sizeof text, "%s %d at %d for %d weight %d %s%s waker %d", event.name,
             (int)thread.tid, (int)ts, (int)dur, (int)weight, label(run, row, "state"),
             bounded ? " bounded" : "", (int)(int64_t)waker);
    return text;
}

static void expect_derived(const struct run *run, const char *const *row, size_t n)
{
    size_t found = 0;
    for (uint64_t i = 0; i < fm_store_rows(run->store); i++) {
        struct fm_event_info event;
        uint64_t id;
        ck_assert(run_cell(run, i, "event", &id));
        fm_store_event(run->store, id, &event);
        if (strchr(event.name, ':') != NULL)
            continue;
        ck_assert_msg(found < n, "more rows: %s", derived(run, i));
        ck_assert_str_eq(derived(run, i), row[found]);
        found++;
    }
    ck_assert_uint_eq(found, n);
}

/* All threads: two pairs, a wake-up, one preempted, one open, switches without a partner. */
static void check_system(bool big)
{
    static const char *const row[] = {
        "wakeups 11 at 130 for 0 weight 1 S waker 2",
        "offcpu 12 at 140 for 20 weight 20 R+ waker -1",
        "runq 12 at 140 for 20 weight 20 R+ waker -1",
        "offcpu 11 at 110 for 60 weight 60 S waker 2",
        "runq 11 at 130 for 40 weight 40 S waker 2",
    };
    struct make m = {.big = big};
    struct run run;
    put_tracing(&m);
    all_threads(&m);
    put_switch(&m, 110, 11, 1, 12);          /* row 0: 12 has no partner */
    put_waking(&m, 120, 12, 13);             /* row 1: 13 is not known to be off */
    put_waking(&m, 130, 12, 11);             /* row 2 */
    put_waking(&m, 135, 12, 11);             /* woken already */
    put_switch(&m, 140, 12, 128, 0);         /* 64 is the highest flag: preempted */
    put_switch(&m, 160, 0, 0, 12);
    put_switch(&m, 170, 12, 66, 11);
    run_records(&run, &m);
    expect_derived(&run, row, 5);
    uint64_t stack, same;
    ck_assert(run_cell(&run, 0, "stack", &stack) && run_cell(&run, 3, "stack", &same));
    ck_assert_uint_eq(same, stack);        /* of the wake-up of 11: where it went off */
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "sched-pairs"), 2);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "sched-open"), 1);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "sched-alone"), 1);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "wake-alone"), 1);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "raw-payload"), 0);
    run_free(&run);
}

START_TEST(system_wide)
{
    check_system(false);
}
END_TEST

START_TEST(big_endian)
{
    check_system(true);
}
END_TEST

/* One process: no sample says that a thread is back, its next one does. */
START_TEST(one_process)
{
    static const char *const row[] = {
        "offcpu 11 at 110 for 90 weight 90 D bounded waker -1",
        "offcpu 12 at 150 for 70 weight 70 S|Q bounded waker -1",
    };
    struct make m = {0};
    struct run run;
    put_tracing(&m);
    put_switch(&m, 110, 11, 2, 99);
    put_switch(&m, 150, 12, 65, 98);
    put_open(&m, 200, 11);
    put_switch(&m, 220, 12, 1, 0);
    run_records(&run, &m);
    expect_derived(&run, row, 2);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "sched-bound"), 2);
    run_free(&run);
}
END_TEST

START_TEST(payload)
{
    struct make m = {0};
    struct run run;
    uint64_t value;
    put_tracing(&m);
    put_open(&m, 100, 11);
    run_records(&run, &m);
    ck_assert_str_eq(label(&run, 0, "path"), "/tmp");
    ck_assert_str_eq(label(&run, 0, "tag"), "abcd");
    ck_assert(run_cell(&run, 0, "mode", &value) && (int64_t)value == -2);
    ck_assert(run_cell(&run, 0, "flags", &value) && value == 0xfff0);
    ck_assert(run_cell(&run, 0, "where", &value) && value == UINT64_C(0xffff800000001000));
    ck_assert(!run_cell(&run, 0, "many", &value));
    ck_assert_str_eq(run_row(&run, 0), ":11 10/11 100 1 files:open: [unknown]+3000");
    run_free(&run);
}
END_TEST

/* A payload that ends before its fields: the sample is kept, what is there is read. */
START_TEST(short_payload)
{
    struct make m = {0};
    struct run run;
    uint64_t value;
    put_tracing(&m);
    size_t begin = begin_sample(&m, 9, 11, 100, 0x3000, 12);
    put_common(&m, OPEN);
    make_u32(&m, 4000 | 5u << 16);
    make_end(&m, begin);
    begin = begin_sample(&m, 7, 11, 110, 0x3000, 4);
    make_u32(&m, SWITCH);
    make_end(&m, begin);
    run_records(&run, &m);
    ck_assert_uint_eq(fm_store_rows(run.store), 2);
    ck_assert(!run_cell(&run, 0, "path", &value));
    ck_assert(!run_cell(&run, 0, "mode", &value));
    ck_assert_uint_gt(run_account(&run, FM_ACCOUNT_FINDING, "trace-payload"), 1);
    run_free(&run);
}
END_TEST

/* Format texts are anybody's: whatever they say, no field is read outside of the payload. */
START_TEST(hostile_formats)
{
    static const char *const text[] = {
        "", "name: x\nID: 5\n", "name: x\nID: 5\nformat:\n",
        "name: x\nID: 5\nformat:\n\tfield:int a;\toffset:4294967290;\tsize:4;\tsigned:1;\n\n",
        "name: x\nID: 5\nformat:\n\tfield:int a;\toffset:-3;\tsize:4;\tsigned:1;\n\n",
        "name: x\nID: 5\nformat:\n"
        "\tfield:char a[99999999];\toffset:0;\tsize:99999999;\tsigned:0;\n",
        "name: x\nID: 5\nformat:\n\tfield:int a;\toffset:0;\tsize:3;\tsigned:1;\n\n",
        "name: x\nID: 5\nformat:\n\tfield:int a[[[[;\toffset:0;\tsize:4;",
        "name: x\nID: 5\nformat:\n\tfield:__data_loc char[] a;\toffset:0;\tsize:8;\tsigned:1;\n\n",
        "name: x\nID: 5\nformat:\n\n\n\nprint fmt: \"\", REC->prev_state, { 0x, \"\" }, { \"S\" ",
    };
    static const unsigned char raw[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    struct run run = {.ctx = fm_ctx_new()};
    struct fm_builder *builder;
    struct fm_arena arena;
    uint64_t value;
    fm_arena_init(&arena, &run.ctx->mem);
    ck_assert_int_eq(fm_builder_new(run.ctx, &builder, &run.err), FM_OK);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        const struct fm_trace *trace;
        ck_assert(fm_trace_parse(&arena, "sched", text[i], strlen(text[i]), 8, false,
                                      &trace));
        for (size_t k = 0; trace != NULL && k < trace->fields; k++)
            (void)fm_trace_value(builder, &trace->field[k], raw, sizeof raw, false, &value);
    }
    fm_builder_free(builder);
    fm_arena_release(&arena);
    fm_ctx_free(run.ctx);
}
END_TEST

/* What the library prints is cut off, however its words are spaced: it would nest by recursion. */
START_TEST(nested_print)
{
    static const char *const words[] = {"print fmt:", "print  fmt:", "print\tfmt :",
                                        "print\v\ffmt:"};
    enum { DEPTH = 60000 };
    struct run run = {.ctx = fm_ctx_new()};
    struct fm_arena arena;
    fm_arena_init(&arena, &run.ctx->mem);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const struct fm_trace *trace;
        struct make m = {0};
        make_bytes(&m, format_waking, (size_t)(strstr(format_waking, "print") - format_waking));
        make_bytes(&m, words[i], strlen(words[i]));
        make_bytes(&m, " \"%d\", ", 7);
        for (size_t k = 0; k < DEPTH; k++)
            make_bytes(&m, "(", 1);
        ck_assert(fm_trace_parse(&arena, "sched", (const char *)m.p, m.n, 8, false,
                                      &trace));
        ck_assert_ptr_nonnull(fm_trace_find(trace, "pid"));
        make_free(&m);
    }
    fm_arena_release(&arena);
    fm_ctx_free(run.ctx);
}
END_TEST

/* A record behind its time: nothing lasts less than nothing. */
START_TEST(late_records)
{
    static const char *const row[] = {
        "wakeups 11 at 180 for 0 weight 1 S waker 1",
        "offcpu 11 at 110 for 40 weight 40 S waker 1",
    };
    struct make m = {0};
    struct run run;
    put_tracing(&m);
    all_threads(&m);
    put_switch(&m, 110, 11, 1, 0);
    put_waking(&m, 180, 12, 11);
    make_end(&m, make_begin(&m, 68, 0));
    put_switch(&m, 200, 0, 0, 13);
    make_end(&m, make_begin(&m, 68, 0));
    put_switch(&m, 150, 0, 0, 11);
    run_records(&run, &m);
    expect_derived(&run, row, 2);
    run_free(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("perf sched");
    TCase *tc = tcase_create("sched");
    SRunner *runner = srunner_create(suite);
    int failed;
    tcase_add_test(tc, system_wide);
    tcase_add_test(tc, big_endian);
    tcase_add_test(tc, one_process);
    tcase_add_test(tc, payload);
    tcase_add_test(tc, short_payload);
    tcase_add_test(tc, hostile_formats);
    tcase_add_test(tc, nested_print);
    tcase_add_test(tc, late_records);
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
