/*
 * test_perf_parts.c - what recordings hold beside samples and mappings, hand-made so that every
 * value is known: simpleperf's sections and records, memory and branch samples, containers,
 * counters; whole, cut and lying about their sizes.
 */
#include "perf_make.h"

#include "import/perf/extra.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define SAMPLE_TYPE                                                                              \
    (FM_PERF_IP | FM_PERF_TID | FM_PERF_TIME | FM_PERF_PERIOD | FM_PERF_CALLCHAIN)
#define USER ((uint64_t)-512)
#define KERNEL ((uint64_t)-128)

static const struct make_event cycles = {.type = 0, .config = 0, .period = 1000,
                                         .sample_type = SAMPLE_TYPE,
                                         .flags = FM_PERF_F_SAMPLE_ID_ALL, .id = {7}, .ids = 1};

/* An import of records with that event as a pipe. */
static void run_pipe(struct run *run, struct make *file, const struct make *records)
{
    make_file(file, MAKE_PIPE, &cycles, 1, records);
    run_import(run, file->p, file->n, "made.data", false);
    ck_assert_ptr_nonnull(run->store);
}

static void put_feature(struct make *m, uint64_t bit, const struct make *content)
{
    size_t begin = make_begin(m, 80, 0);
    make_u64(m, bit);
    make_bytes(m, content->p, content->n);
    make_end(m, begin);
}

static void put_name(struct make *m, const char *s)
{
    make_bytes(m, s, strlen(s) + 1);
}

/* Names of a row's frames, leaf first, joined by ';'; "-" where there is none. */
static const char *names(const struct run *run, uint64_t row)
{
    static char text[512];
    const struct fm_tree_node *tree = fm_store_tree(run->store);
    uint64_t stack;
    size_t n = 0;
    text[0] = '\0';
    if (!run_cell(run, row, "stack", &stack))
        return text;
    for (uint32_t node = fm_store_tree_node(run->store, (fm_node)stack); node != 0;
         node = tree[node].parent) {
        const struct fm_frame_row *f = fm_store_frame_row(run->store, tree[node].frame);
        const char *name = f->function != 0 ? fm_store_str(run->store, f->function, NULL) : "-";
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n > 0 ? ";" : "", name);
        ck_assert_uint_lt(n, sizeof text);
    }
    return text;
}

/* ---------------------------------------------------------------------- simpleperf */

/* FILE: an ELF file whose first address 0x1000 stands at offset 0x200, and the kernel. */
static void put_files(struct make *m)
{
    struct make section = {.big = m->big}, entry = {.big = m->big};
    put_name(&entry, "/app/lib.so");
    make_u32(&entry, 2);
    make_u64(&entry, 0x1000);
    make_u32(&entry, 2);
    make_u64(&entry, 0x1100);
    make_u32(&entry, 0x40);
    put_name(&entry, "_Z3fooi");
    make_u64(&entry, 0x1140);
    make_u32(&entry, 0x10);
    put_name(&entry, "bar");
    make_u64(&entry, 0x200);
    make_u32(&section, (uint32_t)entry.n);
    make_bytes(&section, entry.p, entry.n);
    make_free(&entry);
    memset(&entry, 0, sizeof entry);
    entry.big = m->big;
    put_name(&entry, "[kernel.kallsyms]");
    make_u32(&entry, 0);
    make_u64(&entry, 0);
    make_u32(&entry, 1);
    make_u64(&entry, 0xffffffff81000100u);
    make_u32(&entry, 0x100);
    put_name(&entry, "do_work");
    make_u32(&section, (uint32_t)entry.n);
    make_bytes(&section, entry.p, entry.n);
    put_feature(m, 128, &section);
    make_free(&entry);
    make_free(&section);
}

/* FILE2 of the same ELF file. */
static const unsigned char message[] = {
    10, 11, '/', 'a', 'p', 'p', '/', 'l', 'i', 'b', '.', 's', 'o', 16, 2, 24, 0x80, 0x20,
    34, 15, 8, 0x80, 0x22, 16, 0x40, 26, 7, '_', 'Z', '3', 'f', 'o', 'o', 'i', 0,
    34, 10, 8, 0xc0, 0x22, 16, 0x10, 26, 3, 'b', 'a', 'r', 50, 3, 8, 0x80, 4};

static void put_maps(struct make *m)
{
    size_t begin = make_begin(m, 1, 1);
    make_u32(m, UINT32_MAX);
    make_u32(m, 0);
    make_u64(m, 0);
    make_u64(m, UINT64_MAX);
    make_u64(m, 0);
    make_text(m, "[kernel.kallsyms]");
    make_trailer(m, 0, 0, 0);
    make_end(m, begin);
    make_comm(m, 10, 10, "app", false, 0);
    make_mmap2(m, 10, 0x70000000, 0x1000, 0, "/app/lib.so", 0);
}

/* Two frames in the library and one in the kernel. Callers are calls already: 0x340 is the first
 * byte of bar (address 0x1140). */
static void put_chain(struct make *m)
{
    const uint64_t chain[] = {KERNEL, 0xffffffff81000120u, USER, 0x70000310, 0x70000340};
    make_sample(m, 1, chain[1], 10, 10, 50, 1000, chain, 5);
}

START_TEST(simpleperf_files)
{
    struct make records = {.sample_type = SAMPLE_TYPE, .big = _i != 0}, file = {.big = _i != 0};
    struct run run;
    put_files(&records);
    put_maps(&records);
    put_chain(&records);
    run_pipe(&run, &file, &records);
    ck_assert_int_eq(run.status, FM_OK);
    ck_assert_str_eq(names(&run, 0), "do_work;foo;bar");
    run_free(&run);
    make_free(&records);
    make_free(&file);
}
END_TEST

START_TEST(simpleperf_messages)
{
    struct make records = {.sample_type = SAMPLE_TYPE}, file = {0}, section = {0};
    struct run run;
    make_u32(&section, sizeof message);
    make_bytes(&section, message, sizeof message);
    put_feature(&records, 132, &section);
    put_maps(&records);
    put_chain(&records);
    run_pipe(&run, &file, &records);
    ck_assert_int_eq(run.status, FM_OK);
    ck_assert_str_eq(names(&run, 0), "-;foo;bar");
    run_free(&run);
    make_free(&records);
    make_free(&file);
    make_free(&section);
}
END_TEST

START_TEST(simpleperf_cut_sections)
{
    /* every prefix: found out, and never more than what stands there */
    for (size_t n = 1; n < sizeof message; n++) {
        struct make records = {.sample_type = SAMPLE_TYPE}, file = {0}, section = {0};
        struct run run;
        make_u32(&section, _i == 0 ? (uint32_t)n : (uint32_t)sizeof message);
        make_bytes(&section, message, n);
        put_feature(&records, _i == 2 ? 128 : 132, &section);
        put_maps(&records);
        put_chain(&records);
        run_pipe(&run, &file, &records);
        if (_i != 0)
            ck_assert_int_eq(run.status, FM_FORMAT);
        run_free(&run);
        make_free(&records);
        make_free(&file);
        make_free(&section);
    }
}
END_TEST

static void put_meta(struct make *m)
{
    static const char meta[] = "simpleperf_version\0001.9\0event_type_info\0cpu-cycles,0,0\n"
                               "sched:sched_switch,2,47\n,0,0\nx,0\0clockid";
    struct make section = {0};
    make_bytes(&section, meta, sizeof meta - 1);
    put_feature(m, 129, &section);
    make_free(&section);
}

START_TEST(simpleperf_meta)
{
    struct make records = {.sample_type = SAMPLE_TYPE}, file = {0};
    struct run run;
    put_meta(&records);
    put_maps(&records);
    put_chain(&records);
    run_pipe(&run, &file, &records);
    ck_assert_int_eq(run.status, FM_FORMAT);    /* its last key has no value */
    ck_assert_str_eq(run_provenance(&run, "simpleperf-version"), "1.9");
    ck_assert_ptr_nonnull(strstr(run_row(&run, 0), " cpu-cycles:"));
    run_free(&run);
    make_free(&records);
    make_free(&file);
}
END_TEST

/* Records with a size of 32 bits. */
static size_t begin_simple(struct make *m, uint32_t type)
{
    return make_begin(m, type, 0);
}

START_TEST(simpleperf_records)
{
    static const char kallsyms[] = "0 a zero\nffffffff81000100 t do_work\n"
                                   "ffffffff81000180 T next\t[mod]\nwhat\n";
    struct make records = {.sample_type = SAMPLE_TYPE}, file = {0}, whole = {0};
    struct run run;
    size_t begin = begin_simple(&records, 32770);
    make_u64(&records, 2);
    make_u64(&records, 5);
    make_u64(&records, 0x1000);
    make_text(&records, "/app/lib.so");
    make_end(&records, begin);
    begin = begin_simple(&records, 32771);
    make_u64(&records, 0x1310);
    make_u64(&records, 4);
    make_u64(&records, 5);
    make_text(&records, "leaf");
    make_end(&records, begin);
    /* of a file that is not known */
    begin = begin_simple(&records, 32771);
    make_u64(&records, 0);
    make_u64(&records, UINT64_MAX);
    make_u64(&records, 6);
    make_text(&records, "nowhere");
    make_end(&records, begin);
    /* a record in two pieces */
    begin = begin_simple(&whole, 32769);
    make_u32(&whole, sizeof kallsyms - 1);
    make_bytes(&whole, kallsyms, sizeof kallsyms - 1);
    make_end(&whole, begin);
    begin = begin_simple(&records, 32772);
    make_bytes(&records, whole.p, 20);
    make_end(&records, begin);
    begin = begin_simple(&records, 32772);
    make_bytes(&records, whole.p + 20, whole.n - 20);
    make_end(&records, begin);
    begin = begin_simple(&records, 32773);
    make_end(&records, begin);
    put_maps(&records);
    put_chain(&records);
    run_pipe(&run, &file, &records);
    ck_assert_int_eq(run.status, FM_OK);
    ck_assert_str_eq(names(&run, 0), "do_work;leaf;-");
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_RECORDS, "SIMPLE_KERNEL_SYMBOL"), 1);
    run_free(&run);
    make_free(&records);
    make_free(&file);
    make_free(&whole);
}
END_TEST

/* Sizes inside of records that are not there. */
START_TEST(simpleperf_lies)
{
    static const uint32_t type[] = {32769, 32770, 32771, 32774, 32777, 66, 32773};
    for (size_t i = 0; i < FM_COUNT(type); i++) {
        struct make records = {.sample_type = SAMPLE_TYPE}, file = {0};
        struct run run;
        size_t begin = begin_simple(&records, type[i]);
        if (type[i] == 66)
            for (unsigned k = 0; k < 2; k++)
                make_u64(&records, UINT64_MAX);
        else if (type[i] != 32773)
            make_u64(&records, type[i] == 32774 ? UINT64_MAX / 16 + 2 : UINT64_MAX);
        make_end(&records, begin);
        put_maps(&records);
        put_chain(&records);
        run_pipe(&run, &file, &records);
        ck_assert_int_eq(run.status, FM_FORMAT);
        ck_assert_ptr_nonnull(strstr(run_row(&run, 0), " cycles:"));
        run_free(&run);
        make_free(&records);
        make_free(&file);
    }
}
END_TEST

/* ---------------------------------------------------------------- memory and branches */

#define EXTRA_TYPE                                                                               \
    (FM_PERF_IP | FM_PERF_TID | FM_PERF_TIME | FM_PERF_ADDR | FM_PERF_PERIOD |                   \
     FM_PERF_BRANCH_STACK | FM_PERF_WEIGHT_STRUCT | FM_PERF_DATA_SRC | FM_PERF_CGROUP)

static const struct make_event memory = {.type = 4, .config = 0x1cd, .period = 1000,
                                         .sample_type = EXTRA_TYPE,
                                         .flags = FM_PERF_F_SAMPLE_ID_ALL, .id = {7}, .ids = 1};

/* `bits` bits of a word of bit-fields: a big-endian writer begins at the top. */
static uint64_t field_at(bool big, unsigned at, unsigned bits, uint64_t value)
{
    return value << (big ? 64 - at - bits : at);
}

static void put_memory(struct make *m, uint64_t addr, uint64_t nr, uint64_t src, uint64_t cgroup)
{
    size_t begin = make_begin(m, 9, 2);
    make_u64(m, 0x70000310);
    make_u32(m, 10);
    make_u32(m, 10);
    make_u64(m, 50);
    make_u64(m, addr);
    make_u64(m, 1000);
    make_u64(m, nr);
    for (unsigned i = 0; i < 3; i++) {      /* the third was not filled */
        make_u64(m, i < 2 ? 0x70000320 + i : 0);
        make_u64(m, i < 2 ? 0xffffffff81000100u : 0);
        make_u64(m, i < 2 ? field_at(m->big, 0, 1, i) | field_at(m->big, 4, 16, 40 + i) |
                                field_at(m->big, 20, 4, 4)
                          : 0);
    }
    make_u64(m, (uint64_t)9 << 48 | (uint64_t)300 << 32 | 70000);
    make_u64(m, src);
    make_u64(m, cgroup);
    make_end(m, begin);
}

static const char *text_cell(const struct run *run, uint64_t row, const char *column)
{
    uint64_t value;
    return run_cell(run, row, column, &value) ? fm_store_str(run->store, (fm_str)value, NULL) : "-";
}

static uint64_t number_cell(const struct run *run, uint64_t row, const char *column)
{
    uint64_t value;
    return run_cell(run, row, column, &value) ? value : UINT64_MAX;
}

static void put_cgroup(struct make *m, uint64_t id, const char *path)
{
    size_t begin = make_begin(m, 19, 0);
    make_u64(m, id);
    make_text(m, path);
    make_trailer(m, 0, 0, 0);
    make_end(m, begin);
}

START_TEST(memory_words)
{
    bool big = _i != 0;
    struct make records = {.sample_type = EXTRA_TYPE, .big = big}, file = {.big = big};
    struct run run;
    put_maps(&records);
    put_cgroup(&records, 5, "/system.slice/docker-0123456789abcdef0123456789abcdef"
                            "0123456789abcdef0123456789abcdef.scope");
    /* a load, L3 hit, forwarded, L2 TLB miss, locked, blocked by the address */
    put_memory(&records, 0x70000800, 3,
               field_at(big, 0, 5, 2) | field_at(big, 5, 14, 0x42) | field_at(big, 19, 5, 0) |
                   field_at(big, 24, 2, 2) | field_at(big, 26, 7, 20) | field_at(big, 38, 2, 1) |
                   field_at(big, 40, 3, 4),
               5);
    make_file(&file, MAKE_PIPE, &memory, 1, &records);
    run_import(&run, file.p, file.n, "made.data", false);
    ck_assert_int_eq(run.status, FM_OK);
    /* rows 0 and 1 are the branches */
    ck_assert_uint_eq(number_cell(&run, 0, "mispredicted"), 0);
    ck_assert_uint_eq(number_cell(&run, 1, "mispredicted"), 1);
    ck_assert_uint_eq(number_cell(&run, 1, "branch_cycles"), 41);
    ck_assert_str_eq(text_cell(&run, 1, "branch_type"), "CALL");
    ck_assert_str_eq(text_cell(&run, 2, "mem_op"), "LOAD");
    ck_assert_str_eq(text_cell(&run, 2, "mem_level"), "L3 hit");
    ck_assert_str_eq(text_cell(&run, 2, "mem_snoop"), "Fwd");
    ck_assert_str_eq(text_cell(&run, 2, "mem_tlb"), "L2 miss");
    ck_assert_str_eq(text_cell(&run, 2, "mem_lock"), "Yes");
    ck_assert_str_eq(text_cell(&run, 2, "mem_blocked"), "Addr");
    ck_assert_str_eq(text_cell(&run, 2, "data_object"), "/app/lib.so");
    ck_assert_uint_eq(number_cell(&run, 2, "local_weight"), 70000);
    ck_assert_uint_eq(number_cell(&run, 2, "ins_lat"), 300);
    ck_assert_uint_eq(number_cell(&run, 2, "retire_lat"), 9);
    ck_assert_uint_eq(number_cell(&run, 2, "branches"), 2);
    ck_assert_uint_eq(number_cell(&run, 2, "mispredicted"), 1);
    ck_assert_uint_eq(number_cell(&run, 2, "branch_cycles"), 81);
    ck_assert_str_eq(fm_store_str(run.store, fm_store_thread_row(run.store, 0)->container, NULL),
                     "0123456789ab");
    run_free(&run);
    make_free(&records);
    make_free(&file);
}
END_TEST

START_TEST(memory_levels)
{
    static const struct {
        uint64_t src;
        const char *text;
    } level[] = {
        {0, "N/A"},
        {(uint64_t)1 << 5, "N/A"},
        {(uint64_t)0x8a << 5, "L1 or Local RAM hit"},
        {(uint64_t)0x104 << 5, "Remote RAM (1 hop) miss"},
        {(uint64_t)2 << 5 | (uint64_t)13 << 33 | (uint64_t)1 << 37, "Remote RAM hit"},
        {(uint64_t)1 << 5 | (uint64_t)9 << 33, "CXL"},
        {(uint64_t)15 << 33, "N/A"},
        {(uint64_t)2 << 5 | (uint64_t)3 << 33 | (uint64_t)1 << 37 | (uint64_t)1 << 43,
         "Remote core, same node L3 hit"}};
    char text[256];
    for (size_t i = 0; i < FM_COUNT(level); i++) {
        ck_assert_uint_lt(fm_perf_level_text(level[i].src, text, sizeof text), sizeof text);
        ck_assert_str_eq(text, level[i].text);
    }
    /* all bits of a word fit as well */
    ck_assert_uint_lt(fm_perf_level_text(UINT64_MAX, text, sizeof text), sizeof text);
}
END_TEST

START_TEST(memory_lies)
{
    static const uint64_t nr[] = {4, 1000, UINT64_MAX / 24 + 2, UINT64_MAX};
    for (size_t i = 0; i < FM_COUNT(nr); i++) {
        struct make records = {.sample_type = EXTRA_TYPE}, file = {0};
        struct run run;
        put_maps(&records);
        put_memory(&records, 1, nr[i], UINT64_MAX, 6);
        put_memory(&records, 1, 3, UINT64_MAX, 6);
        make_file(&file, MAKE_PIPE, &memory, 1, &records);
        run_import(&run, file.p, file.n, "made.data", false);
        ck_assert_int_eq(run.status, FM_FORMAT);
        ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_DROPPED, "sample-body"), 1);
        ck_assert_str_eq(text_cell(&run, 2, "data_object"), "-");
        run_free(&run);
        make_free(&records);
        make_free(&file);
    }
}
END_TEST

/* -------------------------------------------------------------------- off-CPU time */

#define WAIT_TYPE (SAMPLE_TYPE | FM_PERF_RAW)

static const struct make_event waits = {.type = 1, .config = 10, .period = 1,
                                        .sample_type = WAIT_TYPE,
                                        .flags = FM_PERF_F_SAMPLE_ID_ALL, .id = {7}, .ids = 1};

/* A sample of the kernel's program while thread 60 runs: thread 51 of process 50 waited. `nr`
 * addresses are announced, two are there. */
static void put_wait(struct make *m, uint64_t time, uint64_t ns, uint64_t nr)
{
    size_t begin = make_begin(m, 9, 1);
    make_u64(m, 0xffffffff81000000u);
    make_u32(m, 60);
    make_u32(m, 60);
    make_u64(m, time);
    make_u64(m, 1);
    make_u64(m, 0);             /* its own chain says nothing */
    make_u32(m, 52);
    make_u32(m, 50);
    make_u32(m, 51);
    make_u64(m, ns);
    make_u64(m, nr);
    make_u64(m, USER);
    make_u64(m, 0x1010);
    make_u64(m, 3);             /* cgroup */
    make_u32(m, 0);
    make_end(m, begin);
}

/* perf record --off-cpu since 6.15 (perf-data.md 20 e): the wait, its thread and its chain. */
START_TEST(long_waits)
{
    struct make records = {.sample_type = WAIT_TYPE, .big = _i == 1}, file = {.big = _i == 1};
    struct run run;
    size_t begin = make_begin(&records, 78, 0);
    make_u64(&records, 2);
    make_u64(&records, 7);
    make_text(&records, "offcpu-time");
    make_end(&records, begin);
    make_comm(&records, 50, 51, "waiter", false, 1);
    put_wait(&records, 100, 700000000, 2);
    put_wait(&records, 200, 600000000, 3);
    put_wait(&records, 300, 600000000, UINT64_MAX / 8);
    make_file(&file, MAKE_PIPE, &waits, 1, &records);
    run_import(&run, file.p, file.n, "made.data", false);
    ck_assert_int_eq(run.status, FM_FORMAT);
    ck_assert_uint_eq(fm_store_rows(run.store), 1);
    ck_assert_str_eq(run_row(&run, 0), "waiter 50/51 100 700000000 offcpu-time: [unknown]+1010");
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_DROPPED, "sample-body"), 2);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "raw-payload"), 0);
    run_free(&run);
    make_free(&records);
    make_free(&file);
}
END_TEST

/* ------------------------------------------------------------------------- counters */

static void put_update(struct make *m, uint64_t what, uint64_t value)
{
    size_t begin = make_begin(m, 78, 0);
    make_u64(m, what);
    make_u64(m, 7);
    make_u64(m, value);
    make_end(m, begin);
}

static void put_config(struct make *m, uint64_t interval)
{
    size_t begin = make_begin(m, 75, 0);
    make_u64(m, 1);
    make_u64(m, 1);
    make_u64(m, interval);
    make_end(m, begin);
}

static void put_stat(struct make *m, uint64_t id, uint32_t cpu, uint64_t value, uint64_t enabled,
                     uint64_t running)
{
    size_t begin = make_begin(m, 76, 0);
    make_u64(m, id);
    make_u32(m, cpu);
    make_u32(m, 0);
    make_u64(m, value);
    make_u64(m, enabled);
    make_u64(m, running);
    make_end(m, begin);
}

static void put_round(struct make *m, uint64_t time)
{
    size_t begin = make_begin(m, 77, 0);
    make_u64(m, 0);
    make_u64(m, time);
    make_end(m, begin);
}

static double value_cell(const struct run *run, uint64_t row)
{
    uint64_t value;
    ck_assert(run_cell(run, row, "value", &value));
    return fm_bits_f64(value);
}

START_TEST(stat_intervals)
{
    struct make records = {.sample_type = SAMPLE_TYPE, .big = _i != 0}, file = {.big = _i != 0};
    struct run run;
    put_update(&records, 1, fm_f64_bits(0.5));
    put_config(&records, 100);
    put_stat(&records, 7, 0, 10, 100, 100);
    put_stat(&records, 7, 1, 30, 100, 100);
    put_stat(&records, 99, 1, 30, 100, 100);    /* of nobody */
    put_round(&records, 100);
    put_stat(&records, 7, 0, 14, 200, 150);     /* ran half of this interval */
    put_stat(&records, 7, 1, 5, 200, 200);      /* counted anew */
    put_round(&records, 250);
    put_stat(&records, 7, 0, 14, 200, 150);     /* once more at the end */
    put_stat(&records, 7, 1, 6, 200, 200);
    run_pipe(&run, &file, &records);
    ck_assert_int_eq(run.status, FM_OK);
    ck_assert_double_eq_tol(value_cell(&run, 0), 5, 1e-9);
    ck_assert_double_eq_tol(value_cell(&run, 1), 15, 1e-9);
    ck_assert_double_eq_tol(value_cell(&run, 2), 4, 1e-9);
    ck_assert_double_eq_tol(value_cell(&run, 3), 2.5, 1e-9);
    ck_assert_double_eq_tol(value_cell(&run, 4), 0.5, 1e-9);
    ck_assert_uint_eq(number_cell(&run, 1, "cpu"), 1);
    ck_assert_uint_eq(number_cell(&run, 2, "ts"), 100);
    ck_assert_uint_eq(number_cell(&run, 2, "dur"), 150);
    ck_assert_uint_eq(number_cell(&run, 4, "ts"), UINT64_MAX);
    ck_assert_uint_eq(fm_store_source_row(run.store, 0)->diags.row[FM_DIAG_STAT_ID].count, 1);
    run_free(&run);
    make_free(&records);
    make_free(&file);
}
END_TEST

START_TEST(stat_cut)
{
    static const uint32_t type[] = {75, 76, 77, 8, 11, 13, 70, 71};
    for (size_t i = 0; i < FM_COUNT(type); i++) {
        struct make records = {.sample_type = SAMPLE_TYPE}, file = {0};
        struct run run;
        size_t begin = make_begin(&records, type[i], 0);
        if (type[i] == 76)
            make_u64(&records, 7);
        if (type[i] < 64)
            make_trailer(&records, 1, 1, 5);
        make_end(&records, begin);
        put_round(&records, UINT64_MAX);
        put_maps(&records);
        put_chain(&records);
        run_pipe(&run, &file, &records);
        ck_assert_int_eq(run.status, FM_FORMAT);
        ck_assert_ptr_nonnull(strstr(run_row(&run, 0), " cycles:"));
        run_free(&run);
        make_free(&records);
        make_free(&file);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("perf parts");
    TCase *t = tcase_create("simpleperf");
    tcase_add_loop_test(t, simpleperf_files, 0, 2);
    tcase_add_test(t, simpleperf_messages);
    tcase_add_loop_test(t, simpleperf_cut_sections, 0, 3);
    tcase_add_test(t, simpleperf_meta);
    tcase_add_test(t, simpleperf_records);
    tcase_add_test(t, simpleperf_lies);
    suite_add_tcase(s, t);
    t = tcase_create("memory and branches");
    tcase_add_loop_test(t, memory_words, 0, 2);
    tcase_add_test(t, memory_levels);
    tcase_add_test(t, memory_lies);
    tcase_add_loop_test(t, long_waits, 0, 2);
    suite_add_tcase(s, t);
    t = tcase_create("counters");
    tcase_add_loop_test(t, stat_intervals, 0, 2);
    tcase_add_test(t, stat_cut);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
