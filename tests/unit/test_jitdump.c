/*
 * test_jitdump.c - jitdump files: their records, in both byte orders, cut and broken; and samples
 * of hand-made recordings that meet what a dump says at their time.
 */
#include "perf_make.h"

#include "symbol/jitdump.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SAMPLE_TYPE                                                                   \
    (FM_PERF_IP | FM_PERF_TID | FM_PERF_TIME | FM_PERF_PERIOD | FM_PERF_CALLCHAIN |   \
     FM_PERF_IDENTIFIER)
#define USER ((uint64_t)-512)

/* ------------------------------------------------------------------- writing */

static void put_header(struct make *m, uint32_t pid, uint64_t flags)
{
    make_u32(m, 0x4a695444);
    make_u32(m, 1);
    make_u32(m, 40);
    make_u32(m, 62);
    make_u32(m, 0);
    make_u32(m, pid);
    make_u64(m, 1);
    make_u64(m, flags);
}

static void put_load(struct make *m, uint64_t time, uint64_t at, uint64_t size, uint64_t index,
                     const char *name)
{
    make_u32(m, 0);
    make_u32(m, (uint32_t)(56 + strlen(name) + 1 + size));
    make_u64(m, time);
    make_u32(m, 10);
    make_u32(m, 10);
    make_u64(m, at);
    make_u64(m, at);
    make_u64(m, size);
    make_u64(m, index);
    make_bytes(m, name, strlen(name) + 1);
    for (uint64_t i = 0; i < size; i++)
        make_u8(m, 0x90);
}

static void put_move(struct make *m, uint64_t time, uint64_t from, uint64_t to, uint64_t size,
                     uint64_t index)
{
    make_u32(m, 1);
    make_u32(m, 64);
    make_u64(m, time);
    make_u32(m, 10);
    make_u32(m, 10);
    make_u64(m, to);
    make_u64(m, from);
    make_u64(m, to);
    make_u64(m, size);
    make_u64(m, index);
}

struct line {
    uint64_t address;
    uint32_t line;
    const char *file;
};

static void put_lines(struct make *m, uint64_t time, uint64_t at, const struct line *line, size_t n)
{
    size_t size = 32;
    for (size_t i = 0; i < n; i++)
        size += 17 + strlen(line[i].file);
    make_u32(m, 2);
    make_u32(m, (uint32_t)size);
    make_u64(m, time);
    make_u64(m, at);
    make_u64(m, n);
    for (size_t i = 0; i < n; i++) {
        make_u64(m, line[i].address);
        make_u32(m, line[i].line);
        make_u32(m, 0);
        make_bytes(m, line[i].file, strlen(line[i].file) + 1);
    }
}

/* A at 0x10000 (lines), B at 0x10100, an unknown record, C over a part of A, B to 0x11000. */
static void put_all(struct make *m, uint64_t flags)
{
    static const struct line a[] = {{0x10000, 10, "a.src"}, {0x10020, 12, "\xff"},
                                    {0x10010, 11, "b.src"}};
    static const struct line b[] = {{0x10100, 20, "a.src"}, {0x10180, 21, "a.src"}};
    put_header(m, 10, flags);
    put_lines(m, 199, 0x10000, a, 3);
    put_load(m, 200, 0x10000, 0x100, 1, "A");
    put_lines(m, 209, 0x10100, b, 2);
    put_load(m, 210, 0x10100, 0x100, 2, "B of (two) words");
    make_u32(m, 77);
    make_u32(m, 24);
    make_u64(m, 220);
    make_u64(m, 0);
    put_load(m, 300, 0x10080, 0x40, 3, "C");
    put_move(m, 400, 0x10100, 0x11000, 0x100, 2);
    make_u32(m, 3);
    make_u32(m, 16);
    make_u64(m, 500);
}

/* ------------------------------------------------------------------- reading */

static enum fm_status read_bytes(struct fm_jitdump *dump, struct fm_ctx *ctx, const void *p,
                                 size_t n, struct fm_error *err)
{
    struct fm_input *input = NULL;
    memset(dump, 0, sizeof *dump);
    ck_assert_int_eq(fm_input_open_memory(ctx, p, n, "dump", &input, err), FM_OK);
    enum fm_status status = fm_jitdump_read(dump, ctx, input, err);
    fm_input_free(input);
    return status;
}

static void check_code(const struct fm_jitdump *dump, size_t i, const char *name, uint64_t time,
                       uint64_t start, uint64_t end)
{
    ck_assert_str_eq(dump->code[i].name, name);
    ck_assert_uint_eq(dump->code[i].time, time);
    ck_assert_uint_eq(dump->code[i].start, start);
    ck_assert_uint_eq(dump->code[i].end, end);
}

static void check_line(const struct fm_jitdump *dump, size_t i, uint64_t at, const char *file,
                       unsigned line)
{
    const struct fm_jitdump_line *found = fm_jitdump_line(dump, &dump->code[i], at);
    ck_assert_ptr_nonnull(found);
    ck_assert_str_eq(found->file, file);
    ck_assert_uint_eq(found->line, line);
}

START_TEST(every_record)
{
    struct make m = {.big = _i == 1};
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_jitdump dump;
    struct fm_error err = {0};
    put_all(&m, 0);
    ck_assert_int_eq(read_bytes(&dump, ctx, m.p, m.n, &err), FM_OK);
    ck_assert_uint_eq(dump.pid, 10);
    ck_assert_uint_eq(dump.machine, 62);
    ck_assert(!dump.ticks);
    ck_assert_uint_eq(dump.codes, 4);
    check_code(&dump, 0, "A", 200, 0x10000, 0x10100);
    check_code(&dump, 1, "B of (two) words", 210, 0x10100, 0x10200);
    check_code(&dump, 2, "C", 300, 0x10080, 0x100c0);
    check_code(&dump, 3, "B of (two) words", 400, 0x11000, 0x11100);
    check_line(&dump, 0, 0x1000f, "a.src", 10);
    check_line(&dump, 0, 0x10010, "b.src", 11);
    check_line(&dump, 0, 0x100ff, "a.src", 12);   /* "\xff": the file of the entry before */
    check_line(&dump, 3, 0x1107f, "a.src", 20);
    check_line(&dump, 3, 0x11080, "a.src", 21);
    ck_assert_ptr_null(fm_jitdump_line(&dump, &dump.code[2], 0x10080));
    fm_jitdump_release(&dump);
    make_free(&m);
    fm_ctx_free(ctx);
}
END_TEST

/* V8 counts from the header of the ELF file that perf would write. */
START_TEST(lines_of_v8)
{
    static const struct line v8[] = {{0x10048, 7, "/x.js"}};
    static const struct line other[] = {{0x20048, 8, "/y.js"}};
    struct make m = {0};
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_jitdump dump;
    struct fm_error err = {0};
    put_header(&m, 10, 0);
    put_lines(&m, 1, 0x10000, v8, 1);
    put_load(&m, 2, 0x10000, 0x50, 1, "JS:*f /x.js:6:1");
    put_lines(&m, 3, 0x20000, other, 1);
    put_load(&m, 4, 0x20000, 0x50, 2, "f");
    put_lines(&m, 5, 0x30000, other, 1);        /* of code that never came */
    put_load(&m, 6, 0x40000, 0x50, 3, "g");
    ck_assert_int_eq(read_bytes(&dump, ctx, m.p, m.n, &err), FM_OK);
    ck_assert_uint_eq(dump.codes, 3);
    check_line(&dump, 0, 0x10008, "/x.js", 7);
    ck_assert_ptr_null(fm_jitdump_line(&dump, &dump.code[0], 0x10007));
    check_line(&dump, 1, 0x20048, "/y.js", 8);
    ck_assert_ptr_null(fm_jitdump_line(&dump, &dump.code[1], 0x20047));
    ck_assert_ptr_null(fm_jitdump_line(&dump, &dump.code[2], 0x40048));
    fm_jitdump_release(&dump);
    make_free(&m);
    fm_ctx_free(ctx);
}
END_TEST

START_TEST(damage)
{
    struct make m = {0};
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_jitdump dump;
    size_t codes = 0;
    put_all(&m, 0);
    for (size_t n = 0; n <= m.n; n++) {
        struct fm_error err = {0};
        enum fm_status status = read_bytes(&dump, ctx, m.p, n, &err);
        ck_assert_int_eq(dump.valid, n >= 40);
        ck_assert(dump.codes >= codes);
        codes = dump.codes;
        ck_assert(n >= 40 || status == FM_FORMAT);
        if (n == m.n - 5) {
            ck_assert_int_eq(status, FM_TRUNCATED);
            ck_assert_uint_eq(dump.codes, 4);
        }
        fm_jitdump_release(&dump);
    }
    for (size_t i = 0; i < 3 * m.n; i++) {
        struct fm_error err = {0};
        unsigned char *p = m.p + i % m.n, was = *p;
        *p ^= (unsigned char)(i < m.n ? 0xff : i < 2 * m.n ? 1 : 0x80);
        (void)read_bytes(&dump, ctx, m.p, m.n, &err);
        ck_assert(dump.codes <= 4);
        fm_jitdump_release(&dump);
        *p = was;
    }
    make_free(&m);

    struct fm_error err = {0};
    struct make zero = {0};
    put_header(&zero, 10, 0);
    put_load(&zero, 1, 0x1000, 16, 1, "f");
    make_u64(&zero, 0);
    make_u64(&zero, 0);                         /* a record of size 0 */
    ck_assert_int_eq(read_bytes(&dump, ctx, zero.p, zero.n, &err), FM_FORMAT);
    ck_assert_uint_eq(err.offset, zero.n - 16);
    ck_assert_uint_eq(dump.codes, 1);
    fm_jitdump_release(&dump);
    make_free(&zero);
    fm_ctx_free(ctx);
}
END_TEST

/* Times out of order are sorted; moves of what is not there are counted. */
START_TEST(order)
{
    struct make m = {0};
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_jitdump dump;
    struct fm_error err = {0};
    put_header(&m, 10, 1);
    put_load(&m, 30, 0x1000, 16, 1, "late");
    put_load(&m, 20, 0x2000, 16, 2, "early");
    put_load(&m, 30, 0x3000, 16, 3, "late too");
    put_move(&m, 40, 0x9000, 0xa000, 16, 9);
    put_move(&m, 50, 0x2000, 0xb000, 16, 7);    /* by address: its index is wrong */
    put_load(&m, 60, 0x3000, 0, 3, "empty");
    put_load(&m, 60, UINT64_MAX - 3, 16, 3, "high");
    ck_assert_int_eq(read_bytes(&dump, ctx, m.p, m.n, &err), FM_OK);
    ck_assert(dump.ticks);
    ck_assert_uint_eq(dump.codes, 5);
    ck_assert_str_eq(dump.code[0].name, "early");
    ck_assert_str_eq(dump.code[1].name, "late");
    ck_assert_str_eq(dump.code[2].name, "late too");
    check_code(&dump, 3, "early", 50, 0xb000, 0xb010);
    check_code(&dump, 4, "high", 60, UINT64_MAX - 3, UINT64_MAX);
    ck_assert_uint_eq(dump.lost, 1);
    fm_jitdump_release(&dump);
    make_free(&m);
    fm_ctx_free(ctx);
}
END_TEST

/* ---------------------------------------------------------------- recordings */

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/foldmill-jitdump-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0); /* NOLINT: our own text */
}

static const char *write_file(const char *name, const struct make *m)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(m->p, 1, m->n, f), m->n);
    fclose(f);
    return path;
}

/* "function file:line;caller file:line ..." of a row, leaf first. */
static const char *names_of(const struct run *run, uint64_t row)
{
    static char text[1024];
    const struct fm_tree_node *tree = fm_store_tree(run->store);
    uint64_t stack;
    size_t at = 0;
    text[0] = '\0';
    if (!run_cell(run, row, "stack", &stack))
        return "none";
    for (uint32_t t = fm_store_tree_node(run->store, (fm_node)stack); t != 0; t = tree[t].parent) {
        const struct fm_frame_row *f = fm_store_frame_row(run->store, tree[t].frame);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", at > 0 ? ";" : "",
                               f->function != 0 ? fm_store_str(run->store, f->function, NULL)
                                                : "?");
        if (f->line != 0)
            at += (size_t)snprintf(text + at, sizeof text - at, " %s:%u",
                                   fm_store_str(run->store, f->file, NULL), f->line);
        ck_assert(f->function == 0 || f->kind == FM_FRAME_JIT);
        ck_assert(f->function == 0 ||
                  fm_store_module_row(run->store, f->module)->kind == FM_MODULE_JIT);
    }
    return text;
}

struct expect {
    uint64_t time, ip, caller;
    uint32_t pid;
    const char *names;
};

/* Imports the records, whose samples are those of `want` in their order, and compares. */
static void check_rows(struct make *records, const struct make_event *event, const char *name,
                       const struct expect *want, size_t n, bool exact, struct run *run)
{
    struct make m = {0};
    make_file(&m, MAKE_FILE, event, 1, records);
    run_import(run, NULL, 0, write_file(name, &m), exact);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(strcmp(names_of(run, i), want[i].names) == 0, "at %u: %s, not %s",
                      (unsigned)want[i].time, names_of(run, i), want[i].names);
    make_free(&m);
}

static void put_sample(struct make *m, const struct expect *e)
{
    const uint64_t chain[3] = {USER, e->ip, e->caller};
    make_sample(m, 2, e->ip, e->pid, e->pid, e->time, 1, chain, e->caller != 0 ? 3 : 2);
}

static struct make begin_records(void)
{
    struct make m = {.sample_type = SAMPLE_TYPE, .id = 7};
    make_comm(&m, 10, 10, "jit", true, 100);
    make_mmap2(&m, 10, 0x10000, 0x10000, 0, "//anon", 110);
    make_mmap2(&m, 10, 0x90000, 0x1000, 0, "/nowhere/at/all/jit-10.dump", 120);
    return m;
}

static struct make_event mono(void)
{
    return (struct make_event){.type = 1, .period = 1, .sample_type = SAMPLE_TYPE,
                               .flags = FM_PERF_F_SAMPLE_ID_ALL | FM_PERF_F_USE_CLOCKID,
                               .clockid = 1, .id = {7}, .ids = 1};
}

static const struct expect in_time[] = {
    {150, 0x10010, 0, 10, "?"},
    {250, 0x10010, 0, 10, "A b.src:11"},
    {260, 0x10090, 0, 10, "A a.src:12"},
    {350, 0x10090, 0, 10, "C"},
    {360, 0x100c0, 0x10100, 10, "A a.src:12;A a.src:12"}, /* called by the last byte of A */
    {370, 0x11010, 0, 10, "?"},
    {450, 0x11010, 0x10180, 10, "B of (two) words a.src:20;B of (two) words a.src:20"},
    {470, 0x10010, 0x11010, 20, "A b.src:11;B of (two) words a.src:20"}, /* a child */
    {510, 0x10010, 0, 10, "A b.src:11"},     /* after anonymous memory was mapped */
    {610, 0x10010, 0, 10, "?"},              /* after a file was */
    {611, 0x10110, 0, 10, "B of (two) words a.src:20"},
    {620, 0x10010, 0, 20, "A b.src:11"},
    {710, 0x10110, 0, 10, "?"},              /* after exec */
};

static void put_in_time(struct make *m)
{
    size_t i = 0;
    for (; in_time[i].time < 460; i++)
        put_sample(m, &in_time[i]);
    make_fork(m, 7, 20, 10, 20, 10, 460);
    put_sample(m, &in_time[i++]);
    make_mmap2(m, 10, 0x10000, 0x10000, 0, "//anon", 500);
    put_sample(m, &in_time[i++]);
    make_mmap2(m, 10, 0x10000, 0x100, 0, "/lib/x.so", 600);
    for (; in_time[i].time < 700; i++)
        put_sample(m, &in_time[i]);
    make_comm(m, 10, 10, "next", true, 700);
    put_sample(m, &in_time[i]);
}

START_TEST(samples_in_time)
{
    const struct make_event event = mono();
    struct make dump = {.big = _i == 1}, m = begin_records();
    struct run run;
    put_all(&dump, 0);
    write_file("jit-10.dump", &dump);
    put_in_time(&m);
    check_rows(&m, &event, "perf.data", in_time, FM_COUNT(in_time), false, &run);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "jitdump-clock"), 0);
    run_free(&run);

    static const struct expect exact[] = {{360, 0x100c0, 0x10100, 10, "A a.src:12;"
                                           "B of (two) words a.src:20"}};
    struct make one = begin_records();
    put_sample(&one, &exact[0]);
    check_rows(&one, &event, "perf.data", exact, 1, true, &run);
    run_free(&run);
    make_free(&one);
    make_free(&dump);
    make_free(&m);
}
END_TEST

static void put_conversion(struct make *m)
{
    size_t begin = make_begin(m, 79, 0);
    make_u64(m, 1);         /* shift */
    make_u64(m, 4);         /* mult: 2 ns a tick */
    make_u64(m, 1000);      /* ns at tick 0 */
    make_end(m, begin);
}

/* Ticks 200, 210, 300, 400 are 1400, 1420, 1600, 1800 ns of perf's own clock. */
START_TEST(clocks)
{
    static const struct expect ticks[] = {
        {1399, 0x10090, 0, 10, "?"}, {1400, 0x10090, 0, 10, "A a.src:12"},
        {1599, 0x10090, 0, 10, "A a.src:12"}, {1600, 0x10090, 0, 10, "C"}};
    static const struct expect none[] = {{130, 0x10090, 0, 10, "C"},
                                         {140, 0x11000, 0, 10, "B of (two) words a.src:20"}};
    struct make_event event = mono();
    struct run run;
    for (int i = 0; i < 4; i++) {
        /* 0 ticks and their conversion; 1 without it; 2 ns, another clock; 3 ticks, -k mono */
        bool good = i == 0;
        struct make dump = {0}, m = begin_records();
        put_all(&dump, i != 2);
        write_file("jit-10.dump", &dump);
        event.flags = FM_PERF_F_SAMPLE_ID_ALL | (i == 3 ? FM_PERF_F_USE_CLOCKID : 0);
        struct make all = {.sample_type = SAMPLE_TYPE, .id = 7};
        if (i == 0 || i == 3)
            put_conversion(&all);
        make_bytes(&all, m.p, m.n);
        for (size_t k = 0; k < (good ? FM_COUNT(ticks) : FM_COUNT(none)); k++)
            put_sample(&all, good ? &ticks[k] : &none[k]);
        check_rows(&all, &event, "perf.data", good ? ticks : none,
                   good ? FM_COUNT(ticks) : FM_COUNT(none), false, &run);
        ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "jitdump-clock"), !good);
        run_free(&run);
        make_free(&dump);
        make_free(&all);
        make_free(&m);
    }
}
END_TEST

/* Not there; of another process; cut. */
START_TEST(files)
{
    static const struct expect want[] = {{450, 0x10010, 0, 10, "?"}};
    static const struct expect kept[] = {{450, 0x10010, 0, 10, "A b.src:11"}};
    const struct make_event event = mono();
    struct make m = begin_records(), dump = {0}, other = {0};
    struct run run;
    put_sample(&m, &want[0]);
    check_rows(&m, &event, "perf.data", want, 1, false, &run);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "jitdump-missing"), 1);
    run_free(&run);

    put_header(&other, 11, 0);
    put_load(&other, 1, 0x10000, 0x100, 1, "other");
    write_file("jit-10.dump", &other);
    check_rows(&m, &event, "perf.data", want, 1, false, &run);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "jitdump-pid"), 1);
    run_free(&run);

    put_all(&dump, 0);
    dump.n -= 20;
    write_file("jit-10.dump", &dump);
    check_rows(&m, &event, "perf.data", kept, 1, false, &run);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "jitdump-bad"), 1);
    ck_assert_int_eq(run.status, FM_OK);
    run_free(&run);
    make_free(&m);
    make_free(&dump);
    make_free(&other);
}
END_TEST

/* A process that says it has ten thousand of them: time is bounded, and it is told. */
START_TEST(many)
{
    static const struct expect want[] = {{450, 0x10010, 0, 10, "?"}};
    const struct make_event event = mono();
    struct make m = begin_records();
    struct run run;
    char name[64];
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "/nowhere/at/all/%d/jit-10.dump", i);
        make_mmap2(&m, 10, 0x90000, 0x1000, 0, name, 130);
    }
    put_sample(&m, &want[0]);
    check_rows(&m, &event, "perf.data", want, 1, false, &run);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "jitdump-missing"), 10001);
    run_free(&run);
    make_free(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jitdump");
    TCase *tc = tcase_create("file"), *rec = tcase_create("recordings");
    SRunner *runner = srunner_create(suite);
    int failed;
    tcase_add_loop_test(tc, every_record, 0, 2);
    tcase_add_test(tc, lines_of_v8);
    tcase_add_test(tc, damage);
    tcase_add_test(tc, order);
    tcase_add_checked_fixture(rec, make_folder, remove_folder);
    tcase_add_loop_test(rec, samples_in_time, 0, 2);
    tcase_add_test(rec, clocks);
    tcase_add_test(rec, files);
    tcase_add_test(rec, many);
    suite_add_tcase(suite, tc);
    suite_add_tcase(suite, rec);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
