/*
 * test_perf.c - the perf.data importer on small files that are made here, so that what must come
 * out is known: byte orders, forms, processes over time, chains, counters, damage, lack of memory.
 */
#include "perf_make.h"

#include "pack.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define SAMPLE_TYPE \
    (FM_PERF_IP | FM_PERF_TID | FM_PERF_TIME | FM_PERF_PERIOD | FM_PERF_CALLCHAIN | \
     FM_PERF_IDENTIFIER)
#define FLAGS (FM_PERF_F_SAMPLE_ID_ALL | FM_PERF_F_EXCLUDE_GUEST)
#define KERNEL ((uint64_t)-128)
#define USER ((uint64_t)-512)
#define DEFERRED ((uint64_t)-640)
#define EXACT (1u << 14)

static const struct make_event cycles = {.type = 0, .config = 0, .period = 1000,
                                         .sample_type = SAMPLE_TYPE, .flags = FLAGS, .id = {7},
                                         .ids = 1};

static void start(struct make *m, const struct make_event *event, bool big)
{
    memset(m, 0, sizeof *m);
    m->big = big;
    m->sample_type = event->sample_type;
    m->id = event->id[0];
}

static void import_records(struct run *run, struct make *records, enum make_form form,
                           const struct make_event *event, size_t events)
{
    struct make file = {.big = records->big};
    make_file(&file, form, event, events, records);
    run_import(run, file.p, file.n, "made.data", false);
    make_free(&file);
    make_free(records);
}

static void expect(const struct run *run, const char *const *row, size_t n)
{
    ck_assert_uint_eq(fm_store_rows(run->store), n);
    for (size_t i = 0; i < n; i++)
        ck_assert_str_eq(run_row(run, i), row[i]);
}

/* A process that forks, execs and maps; two threads; a kernel part. */
static void write_story(struct make *m)
{
    static const uint64_t a[] = {KERNEL, 0xffffffff81000010, 0xffffffff81000020, USER, 0x401000,
                                 0x402000};
    static const uint64_t b[] = {USER, 0x401010};
    size_t begin = make_begin(m, 1, 1);
    make_u32(m, UINT32_MAX);
    make_u32(m, 0);
    make_u64(m, 0xffffffff81000000);
    make_u64(m, 0x1000000);
    make_u64(m, 0xffffffff81000000);
    make_text(m, "[kernel.kallsyms]_text");
    make_trailer(m, UINT32_MAX, 0, 0);
    make_end(m, begin);
    make_comm(m, 10, 10, "parent", false, 1);
    make_mmap2(m, 10, 0x400000, 0x10000, 0, "/bin/parent", 2);
    make_sample(m, 1, 0xffffffff81000010, 10, 10, 10, 100, a, 6);
    make_fork(m, 7, 20, 10, 20, 10, 20);
    make_sample(m, 2, 0x401010, 20, 20, 21, 1, b, 2);
    make_comm(m, 20, 20, "child", true, 30);
    make_sample(m, 1, 0xffffffff81000010, 20, 20, 31, 2, a, 6);
    make_mmap2(m, 20, 0x400000, 0x10000, 0x2000, "/bin/child", 32);
    make_sample(m, 2, 0x401010, 20, 20, 33, 3, b, 2);
    make_fork(m, 7, 20, 20, 21, 20, 34);
    make_sample(m, 2, 0x401010, 20, 21, 35, 4, b, 2);
    make_comm(m, 20, 21, "worker", false, 36);
    make_sample(m, 2, 0x401010, 20, 21, 37, 5, b, 2);
    make_fork(m, 4, 20, 20, 21, 20, 38);
    make_sample(m, 2, 0x401010, 20, 21, 39, 6, b, 2);
    make_sample(m, 2, 0x401010, 10, 10, 40, 7, b, 2);
}

static const char *const story[] = {
    "parent 10/10 10 100 cycles: [kernel.kallsyms]+ffffffff81000010 "
    "[kernel.kallsyms]+ffffffff81000020' /bin/parent+1000 /bin/parent+2000'",
    "parent 20/20 21 1 cycles: /bin/parent+1010",
    /* the kernel is still at the exec: the chain's user part is of the program before */
    "child 20/20 31 2 cycles: [kernel.kallsyms]+ffffffff81000010 "
    "[kernel.kallsyms]+ffffffff81000020' /bin/parent+1000 /bin/parent+2000'",
    "child 20/20 33 3 cycles: /bin/child+3010",
    "child 20/21 35 4 cycles: /bin/child+3010",
    "worker 20/21 37 5 cycles: /bin/child+3010",
    "worker 20/21 39 6 cycles: /bin/child+3010",
    "parent 10/10 40 7 cycles: /bin/parent+1010"};

START_TEST(a_story_in_every_form)
{
    struct make m;
    struct run run;
    /* an old file has no byte order in its magic, a big-endian one none of this machine */
    start(&m, &cycles, (_i & 1) != 0);
    write_story(&m);
    import_records(&run, &m, (enum make_form)(_i / 2), &cycles, 1);
    ck_assert_int_eq(run.status, FM_OK);
    expect(&run, story, FM_COUNT(story));
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_RECORDS, "SAMPLE"), FM_COUNT(story));
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_RECORDS, "FORK"), 2);
    run_free(&run);
}
END_TEST

/* Buffers that are emptied in turn; the state at a sample's time is that of its own time. */
START_TEST(rounds_order_and_state)
{
    static const uint64_t chain[] = {USER, 0x5000};
    static const char *const row[] = {
        "one 5/5 10 1 cycles: [unknown]+5000", "one 5/5 20 2 cycles: /a+1000",
        "one 5/5 30 3 cycles: /a+1000", "one 5/5 40 4 cycles: /a+1000",
        "two 5/5 50 5 cycles: /b+1000", "two 5/5 50 6 cycles: /b+1000",
        "two 5/5 60 7 cycles: /b+1000"};
    struct make m;
    struct run run;
    start(&m, &cycles, false);
    make_comm(&m, 5, 5, "one", false, 1);
    make_mmap2(&m, 5, 0x4000, 0x2000, 0, "/a", 15);
    make_sample(&m, 2, 0x5000, 5, 5, 30, 3, chain, 2);
    make_comm(&m, 5, 5, "two", false, 45);
    make_mmap2(&m, 5, 0x4000, 0x2000, 0, "/b", 46);
    make_sample(&m, 2, 0x5000, 5, 5, 50, 5, chain, 2);
    make_sample(&m, 2, 0x5000, 5, 5, 10, 1, chain, 2);
    make_sample(&m, 2, 0x5000, 5, 5, 20, 2, chain, 2);
    make_end(&m, make_begin(&m, 68, 0));
    make_sample(&m, 2, 0x5000, 5, 5, 40, 4, chain, 2);
    make_sample(&m, 2, 0x5000, 5, 5, 50, 6, chain, 2);
    make_end(&m, make_begin(&m, 68, 0));
    make_sample(&m, 2, 0x5000, 5, 5, 60, 7, chain, 2);
    import_records(&run, &m, MAKE_FILE, &cycles, 1);
    ck_assert_int_eq(run.status, FM_OK);
    expect(&run, row, FM_COUNT(row));
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "record-order"), 0);
    run_free(&run);
}
END_TEST

START_TEST(late_records_are_counted)
{
    static const uint64_t chain[] = {USER, 0x5000};
    struct make m;
    struct run run;
    start(&m, &cycles, false);
    for (unsigned i = 0; i < 3; i++) {
        make_sample(&m, 2, 0x5000, 5, 5, 100 + i, 1, chain, 2);
        make_end(&m, make_begin(&m, 68, 0));
    }
    make_sample(&m, 2, 0x5000, 5, 5, 50, 9, chain, 2);
    import_records(&run, &m, MAKE_FILE, &cycles, 1);
    ck_assert_uint_eq(fm_store_rows(run.store), 4);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "record-order"), 1);
    ck_assert_str_eq(run_row(&run, 2), ":5 5/5 50 9 cycles: [unknown]+5000");
    run_free(&run);
}
END_TEST

/* The rules of the parts of a chain. */
START_TEST(chains)
{
    static const uint64_t exact[] = {USER, 0x1000, 0x2000}, zeros[] = {USER, 0x1000, 0, 0},
                          odd[] = {KERNEL, 0x10, (uint64_t)-999, 0x20, USER, 0x30},
                          skid[] = {KERNEL, 0x10, 0x20, USER, 0x30}, none[] = {KERNEL};
    static const char *const row[] = {
        ":5 5/5 1 1 cycles: [unknown]+1004 [unknown]+2000'",
        ":5 5/5 2 1 cycles: [unknown]+1000",
        ":5 5/5 3 1 cycles: [unknown]+10 [unknown]+20 [unknown]+30",
        ":5 5/5 4 1 cycles: [unknown]+77 [unknown]+20 [unknown]+30",
        ":5 5/5 5 1 cycles: [unknown]+55"};
    struct make m;
    struct run run;
    start(&m, &cycles, false);
    make_sample(&m, 2 | EXACT, 0x1004, 5, 5, 1, 1, exact, 3);
    make_sample(&m, 2, 0x1000, 5, 5, 2, 1, zeros, 4);
    make_sample(&m, 1, 0x10, 5, 5, 3, 1, odd, 6);
    make_sample(&m, 2 | EXACT, 0x77, 5, 5, 4, 1, skid, 5);
    make_sample(&m, 1, 0x55, 5, 5, 5, 1, none, 1);
    import_records(&run, &m, MAKE_FILE, &cycles, 1);
    expect(&run, row, FM_COUNT(row));
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "chain-marker"), 1);
    run_free(&run);
}
END_TEST

/* The user part of two samples of one thread comes later, that of another thread never. */
START_TEST(deferred_user_parts)
{
    static const uint64_t a[] = {KERNEL, 0x10, DEFERRED, 0x1001},
                          b[] = {KERNEL, 0x11, DEFERRED, 0x1002};
    static const char *const row[] = {
        "x 5/5 10 1 cycles: [unknown]+10 [unknown]+100 [unknown]+200'",
        "x 5/6 11 1 cycles: [unknown]+11",
        "x 5/5 12 1 cycles: [unknown]+10 [unknown]+100 [unknown]+200'"};
    struct make m;
    struct run run;
    start(&m, &cycles, false);
    make_comm(&m, 5, 5, "x", false, 1);
    make_sample(&m, 1, 0x10, 5, 5, 10, 1, a, 4);
    make_sample(&m, 1, 0x11, 5, 6, 11, 1, b, 4);
    make_sample(&m, 1, 0x10, 5, 5, 12, 1, a, 4);
    size_t begin = make_begin(&m, 22, 2);
    make_u64(&m, 0x1001);
    make_u64(&m, 3);
    make_u64(&m, USER);
    make_u64(&m, 0x100);
    make_u64(&m, 0x200);
    make_trailer(&m, 5, 5, 13);
    make_end(&m, begin);
    import_records(&run, &m, MAKE_FILE, &cycles, 1);
    expect(&run, row, FM_COUNT(row));
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "deferred-chain"), 1);
    run_free(&run);
}
END_TEST

static void read_sample(struct make *m, uint64_t time, uint64_t x, uint64_t y)
{
    size_t begin = make_begin(m, 9, 2);
    make_u64(m, 7);
    make_u64(m, 0x1000);
    make_u32(m, 5);
    make_u32(m, 5);
    make_u64(m, time);
    make_u64(m, 2);
    make_u64(m, x);
    make_u64(m, 7);
    make_u64(m, y);
    make_u64(m, 8);
    make_end(m, begin);
}

/* A leader's samples carry the counters of its group: one row for each that moved. */
START_TEST(group_values_are_differences)
{
    static const struct make_event group[] = {
        {.type = 0, .config = 0, .read_format = FM_PERF_READ_GROUP | FM_PERF_READ_ID,
         .sample_type = FM_PERF_IP | FM_PERF_TID | FM_PERF_TIME | FM_PERF_READ |
                        FM_PERF_IDENTIFIER,
         .flags = FLAGS, .id = {7}, .ids = 1},
        {.type = 1, .config = 2, .read_format = FM_PERF_READ_GROUP | FM_PERF_READ_ID,
         .sample_type = FM_PERF_IP | FM_PERF_TID | FM_PERF_TIME | FM_PERF_READ |
                        FM_PERF_IDENTIFIER,
         .flags = FLAGS, .id = {8}, .ids = 1}};
    static const char *const row[] = {
        ":5 5/5 10 1000 cycles: [unknown]+1000", ":5 5/5 10 3 page-faults: [unknown]+1000",
        ":5 5/5 20 500 cycles: [unknown]+1000", ":5 5/5 30 1 cycles: [unknown]+1000",
        ":5 5/5 30 2 page-faults: [unknown]+1000"};
    struct make m;
    struct run run;
    start(&m, &group[0], false);
    read_sample(&m, 10, 1000, 3);
    read_sample(&m, 20, 1500, 3);
    read_sample(&m, 30, 1501, 5);
    import_records(&run, &m, MAKE_FILE, group, 2);
    ck_assert_int_eq(run.status, FM_OK);
    expect(&run, row, FM_COUNT(row));
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "read-unchanged"), 1);
    run_free(&run);
}
END_TEST

/* No period: the setting, or 1 and a remark where the setting is a frequency. */
START_TEST(period_that_is_not_recorded)
{
    struct make_event event = cycles;
    struct make m;
    struct run run;
    event.sample_type = FM_PERF_IP | FM_PERF_TID | FM_PERF_TIME;
    event.flags |= _i == 0 ? 0 : FM_PERF_F_FREQ;
    start(&m, &event, false);
    make_sample(&m, 2, 0x1000, 5, 5, 1, 0, NULL, 0);
    import_records(&run, &m, MAKE_FILE, &event, 1);
    ck_assert_str_eq(run_row(&run, 0), _i == 0 ? ":5 5/5 1 1000 cycles: [unknown]+1000"
                                               : ":5 5/5 1 1 cycles: [unknown]+1000");
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "period-missing"), _i == 0 ? 0 : 1);
    run_free(&run);
}
END_TEST

/* A map may be data, memory of a program, or belong to the whole kernel. */
START_TEST(kinds_of_mappings)
{
    static const uint64_t chain[] = {KERNEL, 0xffffffffc0000100, 0xffffffffc0200010,
                                     0xffffffff81000001, USER, 0x10100, 0x20100, 0x30100};
    struct make m;
    struct run run;
    uint64_t stack;
    start(&m, &cycles, false);
    static const struct {
        uint64_t start, length, offset;
        const char *name;
    } kernel[] = {{0xffffffff80000000, 0x7fffffff, 0, "[kernel.kallsyms]_stext"},
                  {0xffffffffc0000000, 0x1000, 0x40, "[ext4]"}};
    for (unsigned i = 0; i < 2; i++) {
        size_t begin = make_begin(&m, 1, 1);
        make_u32(&m, UINT32_MAX);
        make_u32(&m, 0);
        make_u64(&m, kernel[i].start);
        make_u64(&m, kernel[i].length);
        make_u64(&m, kernel[i].offset);
        make_text(&m, kernel[i].name);
        make_trailer(&m, UINT32_MAX, 0, 0);
        make_end(&m, begin);
    }
    size_t begin = make_begin(&m, 17, 0);
    make_u64(&m, 0xffffffffc0200000);
    make_u32(&m, 0x80);
    make_u16(&m, 1);
    make_u16(&m, 0);
    make_text(&m, "bpf_prog_0123_hook");
    make_trailer(&m, 0, 0, 1);
    make_end(&m, begin);
    make_mmap2(&m, 5, 0x10000, 0x1000, 0, "//anon", 2);
    make_mmap2(&m, 5, 0x20000, 0x1000, 0, "[vdso]", 2);
    make_mmap2(&m, 5, 0x30000, 0x1000, 0x7000, "/lib/x.so", 2);
    make_sample(&m, 1, 0xffffffffc0000100, 5, 5, 10, 1, chain, 8);
    import_records(&run, &m, MAKE_FILE, &cycles, 1);
    ck_assert_str_eq(run_row(&run, 0),
                     ":5 5/5 10 1 cycles: [ext4]+140 bpf_prog_0123_hook+ffffffffc0200010' "
                     "[kernel.kallsyms]+ffffffff81000001' //anon+10100 [vdso]+100' "
                     "/lib/x.so+7100'");
    static const uint8_t module_kind[] = {FM_MODULE_KMODULE, FM_MODULE_BPF, FM_MODULE_KERNEL,
                                          FM_MODULE_JIT, FM_MODULE_VDSO, FM_MODULE_USER};
    static const uint8_t frame_kind[] = {FM_FRAME_KERNEL, FM_FRAME_KERNEL, FM_FRAME_KERNEL,
                                         FM_FRAME_JIT, FM_FRAME_USER, FM_FRAME_USER};
    ck_assert(run_cell(&run, 0, "stack", &stack));
    uint32_t t = fm_store_tree_node(run.store, (fm_node)stack);
    for (unsigned i = 0; i < 6; i++, t = fm_store_tree(run.store)[t].parent) {
        const struct fm_frame_row *f = fm_store_frame_row(run.store,
                                                          fm_store_tree(run.store)[t].frame);
        ck_assert_uint_eq(f->kind, frame_kind[i]);
        ck_assert_uint_eq(fm_store_module_row(run.store, f->module)->kind, module_kind[i]);
        if (i == 1)
            ck_assert_str_eq(fm_store_str(run.store, f->function, NULL), "bpf_prog_0123_hook");
    }
    run_free(&run);
}
END_TEST

/* Compressed records: pieces of one stream, cut anywhere. */
START_TEST(compressed_records)
{
    struct make plain, m = {0}, file = {0};
    struct run run;
    size_t n;
    start(&plain, &cycles, false);
    write_story(&plain);
    unsigned char *packed = test_pack("zstd", plain.p, plain.n, &n);
    ck_assert_ptr_nonnull(packed);
    for (size_t at = 0, piece = 37; at < n; at += piece) {
        piece = FM_MIN(piece, n - at);
        size_t begin = make_begin(&m, _i == 0 ? 81 : 83, 0);
        if (_i != 0)
            make_u64(&m, piece);
        make_bytes(&m, packed + at, piece);
        while (_i != 0 && m.n % 8 != 0)
            make_u8(&m, 0);
        make_end(&m, begin);
    }
    make_file(&file, MAKE_PIPE, &cycles, 1, &m);
    run_import(&run, file.p, file.n, "compressed", false);
    ck_assert_msg(run.status == FM_OK, "%s", run.err.message);
    expect(&run, story, FM_COUNT(story));
    run_free(&run);
    /* a byte of the stream changed: what came before it is kept */
    file.p[file.n - 40] ^= 0x55;
    run_import(&run, file.p, file.n, "compressed", false);
    ck_assert_int_eq(run.status, FM_FORMAT);
    ck_assert_uint_ge(run_account(&run, FM_ACCOUNT_FINDING, "inflate"), 1);
    run_free(&run);
    free(packed);
    make_free(&plain);
    make_free(&m);
    make_free(&file);
}
END_TEST

/* A small recording inside gzip or zstd, whose size is known once its head has been looked at. */
START_TEST(whole_files_packed)
{
    struct make m, file = {0};
    struct run run;
    size_t n;
    start(&m, &cycles, false);
    write_story(&m);
    make_file(&file, _i < 2 ? MAKE_PIPE : MAKE_FILE, &cycles, 1, &m);
    unsigned char *packed = test_pack(_i % 2 == 0 ? "gzip" : "zstd", file.p, file.n, &n);
    ck_assert_ptr_nonnull(packed);
    run_import(&run, packed, n, "packed", false);
    ck_assert_msg(run.status == FM_OK, "%s", run.err.message);
    expect(&run, story, FM_COUNT(story));
    run_free(&run);
    free(packed);
    make_free(&m);
    make_free(&file);
}
END_TEST

/* ---------------------------------------------------------------------- damage */

/* Cut anywhere: a prefix of the rows, and the truth about where it ends. */
START_TEST(cut_anywhere)
{
    struct make m, file = {0};
    struct run run;
    size_t rows = 0, head;
    start(&m, &cycles, false);
    write_story(&m);
    make_file(&file, (enum make_form)_i, &cycles, 1, &m);
    head = file.n - m.n;
    for (size_t n = head; n <= file.n; n++) {
        run_import(&run, file.p, n, "cut.data", false);
        size_t got = fm_store_rows(run.store);
        ck_assert_uint_ge(got, rows);
        ck_assert_uint_le(got, FM_COUNT(story));
        rows = got;
        for (size_t i = 0; i < got; i++)
            ck_assert_str_eq(run_row(&run, i), story[i]);
        if (n < file.n && _i != MAKE_PIPE) {
            ck_assert_int_eq(run.status, FM_TRUNCATED);
            ck_assert_uint_ne(run.err.offset, FM_NO_OFFSET);
        }
        run_free(&run);
    }
    ck_assert_uint_eq(rows, FM_COUNT(story));
    make_free(&m);
    make_free(&file);
}
END_TEST

/* Impossible sizes end the reading; a sample that lies about its parts is dropped alone. */
START_TEST(sizes_and_counts)
{
    static const uint64_t chain[] = {USER, 0x5000};
    struct make m;
    struct run run;
    start(&m, &cycles, false);
    make_sample(&m, 2, 0x5000, 5, 5, 10, 1, chain, 2);
    size_t at = m.n;
    make_sample(&m, 2, 0x5000, 5, 5, 20, 2, chain, 2);
    if (_i < 8)
        make_patch_u16(&m, at + 6, (uint16_t)_i);   /* smaller than a header */
    else
        memset(m.p + m.n - 24, 0xff, 8);            /* nr of the chain */
    make_sample(&m, 2, 0x5000, 5, 5, 30, 3, chain, 2);
    import_records(&run, &m, MAKE_FILE, &cycles, 1);
    ck_assert_int_eq(run.status, FM_FORMAT);
    ck_assert_uint_eq(run.err.offset, at + 104 + 8 + 152);
    ck_assert_uint_eq(fm_store_rows(run.store), _i < 8 ? 1 : 2);
    struct fm_source_info info;
    fm_store_source(run.store, 0, &info);
    ck_assert_uint_eq(info.samples_kept, _i < 8 ? 1 : 2);
    ck_assert_uint_eq(info.samples_in, _i < 8 ? 1 : 3);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_DROPPED, "sample-body"), _i < 8 ? 0 : 1);
    run_free(&run);
}
END_TEST

START_TEST(data_that_was_never_finished)
{
    struct make m, file = {0};
    struct run run;
    start(&m, &cycles, false);
    write_story(&m);
    make_file(&file, MAKE_FILE, &cycles, 1, &m);
    memset(file.p + 48, 0, 8);
    run_import(&run, file.p, file.n, "killed.data", false);
    ck_assert_int_eq(run.status, FM_TRUNCATED);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "data-unfinished"), 1);
    expect(&run, story, FM_COUNT(story));
    run_free(&run);
    make_free(&m);
    make_free(&file);
}
END_TEST

/* The recorder's own words behind the records of a pipe are no damage. */
START_TEST(status_text)
{
    static const char text[] = "[ perf record: Woken up 1 times to write data ]\n";
    struct make m;
    struct run run;
    start(&m, &cycles, false);
    write_story(&m);
    make_bytes(&m, text, sizeof text - 1);
    import_records(&run, &m, MAKE_PIPE, &cycles, 1);
    ck_assert_msg(run.status == FM_OK, "%s", run.err.message);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "status-text"), 1);
    ck_assert_uint_eq(fm_store_rows(run.store), FM_COUNT(story));
    run_free(&run);
}
END_TEST

/* One byte in a hundred is wrong: anything may be lost, but it ends, and the store is sound. */
START_TEST(mutations)
{
    uint32_t seed = (uint32_t)_i + 1;
    struct make m, file = {.big = (_i & 1) != 0};
    struct run run;
    start(&m, &cycles, file.big);
    for (unsigned i = 0; i < 4; i++) {
        write_story(&m);
        make_end(&m, make_begin(&m, 68, 0));
    }
    make_file(&file, (enum make_form)(_i % 3), &cycles, 1, &m);
    for (size_t i = 0; i < file.n / 100 + 1; i++) {
        seed = seed * 1664525 + 1013904223;
        size_t at = 8 + (seed >> 8) % (file.n - 8);
        file.p[at] = (unsigned char)(seed >> 24 ^ seed);
    }
    run_import(&run, file.p, file.n, "mutated.data", false);
    if (fm_store_rows(run.store) > 0)
        (void)run_row(&run, 0);
    run_free(&run);
    make_free(&m);
    make_free(&file);
}
END_TEST

/* Whichever allocation fails, and all after it: no memory is the answer, and nothing is left. */
START_TEST(every_allocation_may_fail)
{
    struct make m, file = {0};
    struct run run = {0};
    start(&m, &cycles, false);
    write_story(&m);
    make_file(&file, MAKE_FILE, &cycles, 1, &m);
    for (uint64_t n = 1;; n++) {
        struct fm_ctx *ctx = fm_ctx_new();
        ck_assert_ptr_nonnull(ctx);
        size_t used = atomic_load(&ctx->mem.used);
        ctx->mem.fail_at = n;
        run_import_in(&run, ctx, file.p, file.n, "made.data", false);
        bool failed = atomic_load(&ctx->mem.allocations) >= n;
        if (failed && run.store == NULL)
            ck_assert_int_eq(run.status, FM_NOMEM);
        fm_store_free(run.store);
        ck_assert_uint_le(atomic_load(&ctx->mem.used), used + (128u << 10));
        fm_ctx_free(ctx);
        if (!failed)
            break;
        ck_assert_uint_lt(n, 20000);
    }
    ck_assert_int_eq(run.status, FM_OK);
    make_free(&m);
    make_free(&file);
}
END_TEST

/* ------------------------------------------------------------------- recordings */

struct line {
    const char *stack;          /* "event comm;root;...;leaf" */
    uint64_t samples, weight;
};

/* The hand-checked values of tests/data/perf/README. */
static const struct line demo[] = {
    {"cpu-clock:u tree;_start;main;parse;build", 16, 161616160},
    {"cpu-clock:u tree;_start;main;parse;lex", 22, 222222220},
    {"cpu-clock:u tree;_start;main;render;layout;measure", 24, 242424240},
    {"cpu-clock:u tree;_start;main;render;paint", 16, 161616160}};
static const struct line crew[] = {
    {"page-faults:u crew;_start", 1, 1},
    {"page-faults:u crew;_start;main;call3", 4, 15},
    {"cpu-clock:u crew;_start;main;turn", 9, 90909090},
    {"cpu-clock:u mate-1;_start;main;mate;turn", 19, 191919190},
    {"page-faults:u mate-2;_start;main;mate;touch", 1, 69},
    {"cpu-clock:u mate-2;_start;main;mate;turn", 28, 282828280}};

static void row_stack(const struct run *run, uint64_t row, char *text, size_t n)
{
    const struct fm_tree_node *tree = fm_store_tree(run->store);
    struct fm_event_info event;
    uint64_t id, comm = 0, stack = 0;
    char leaf[512] = "", more[512];
    ck_assert(run_cell(run, row, "event", &id));
    fm_store_event(run->store, id, &event);
    ck_assert(run_cell(run, row, "comm", &comm) && run_cell(run, row, "stack", &stack));
    for (uint32_t t = fm_store_tree_node(run->store, (fm_node)stack); t != 0; t = tree[t].parent) {
        const struct fm_frame_row *f = fm_store_frame_row(run->store, tree[t].frame);
        snprintf(more, sizeof more, ";%s%.400s", fm_store_str(run->store, f->function, NULL), leaf);
        memcpy(leaf, more, sizeof leaf);
    }
    snprintf(text, n, "%s %s%s", event.name, fm_store_str(run->store, (fm_str)comm, NULL), leaf);
}

static void check_recording(const char *name, const struct line *line, size_t lines)
{
    const char *top = getenv("top_srcdir");
    char file[1024], symfs[1024], text[1024];
    struct fm_import_options options = FM_INIT(options);
    struct run run = {.ctx = fm_ctx_new()};
    uint64_t samples[8] = {0}, weight[8] = {0}, value;
    const char *path = file;
    snprintf(file, sizeof file, "%s/tests/data/perf/%s", top != NULL ? top : ".", name);
    snprintf(symfs, sizeof symfs, "%s/tests/data/perf/sysroot", top != NULL ? top : ".");
    options.symfs = symfs;
    ck_assert_msg(fm_import(run.ctx, &path, 1, &options, &run.store, &run.err) == FM_OK, "%s",
                  run.err.message);
    for (uint64_t row = 0; row < fm_store_rows(run.store); row++) {
        size_t i = 0;
        row_stack(&run, row, text, sizeof text);
        while (i < lines && strcmp(line[i].stack, text) != 0)
            i++;
        ck_assert_msg(i < lines, "%s", text);
        ck_assert(run_cell(&run, row, "weight", &value));
        samples[i]++;
        weight[i] += value;
    }
    for (size_t i = 0; i < lines; i++) {
        ck_assert_uint_eq(samples[i], line[i].samples);
        ck_assert_uint_eq(weight[i], line[i].weight);
    }
    ck_assert_str_eq(run_provenance(&run, "perf"), "6.1.192");
    run_free(&run);
}

START_TEST(recordings)
{
    check_recording("tree.perf.data", demo, FM_COUNT(demo));
    check_recording("crew.perf.data", crew, FM_COUNT(crew));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("perf");
    TCase *t = tcase_create("perf");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_story_in_every_form, 0, 6);
    tcase_add_test(t, rounds_order_and_state);
    tcase_add_test(t, late_records_are_counted);
    tcase_add_test(t, chains);
    tcase_add_test(t, deferred_user_parts);
    tcase_add_test(t, group_values_are_differences);
    tcase_add_loop_test(t, period_that_is_not_recorded, 0, 2);
    tcase_add_test(t, kinds_of_mappings);
    tcase_add_loop_test(t, compressed_records, 0, 2);
    tcase_add_loop_test(t, whole_files_packed, 0, 4);
    tcase_add_loop_test(t, cut_anywhere, 0, 3);
    tcase_add_loop_test(t, sizes_and_counts, 0, 9);
    tcase_add_test(t, data_that_was_never_finished);
    tcase_add_test(t, status_text);
    tcase_add_loop_test(t, mutations, 0, 200);
    tcase_add_test(t, every_allocation_may_fail);
    tcase_add_test(t, recordings);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
