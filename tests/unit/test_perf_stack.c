/*
 * test_perf_stack.c - user stacks of perf recordings by registers and stack copies: whole samples
 * through the importer, with a program made by hand.
 *
 * The program's file has its code at CODE, which is mapped at MAPPED. f0 is a leaf that has pushed
 * nothing, f1 saves its caller's frame pointer, f2 is the outermost.
 */
#include "cfimake.h"
#include "elfmake.h"
#include "perf_make.h"

#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CODE 0x400000u
#define MAPPED 0x5500000000u
#define STACK 0x7ff000u
#define USER ((uint64_t)-512)
#define KERNEL ((uint64_t)-128)
#define X86_MASK 0xff0fffu                   /* 20 registers */
#define ARM_MASK 0x1ffffffffu                /* 33 */
#define SAMPLE_TYPE                                                                       \
    (FM_PERF_IP | FM_PERF_TID | FM_PERF_TIME | FM_PERF_PERIOD | FM_PERF_CALLCHAIN |        \
     FM_PERF_IDENTIFIER | FM_PERF_REGS_USER)

static char path[64];
static struct make records, file;
static struct make_event event;
static struct run run;
static uint64_t text_offset;

static void setup(void)
{
    snprintf(path, sizeof path, "/tmp/foldmill-stack-%ld", (long)getpid());
    setenv("HOME", "/nonexistent", 1);
    memset(&records, 0, sizeof records);
    memset(&file, 0, sizeof file);
    memset(&run, 0, sizeof run);
    event = (struct make_event){.type = 1, .period = 1, .flags = FM_PERF_F_SAMPLE_ID_ALL,
                                .id = {7}, .ids = 1};
}

static void teardown(void)
{
    unlink(path);
    run_free(&run);
    make_free(&records);
    make_free(&file);
}

static void program(bool arm)
{
    static unsigned char image[ELFMAKE_MAX];
    struct cfimake f = {.wide = true};
    if (arm) {
        cfimake_cie(&f, false, 4, 30, "\x0c\x1f\x00", 3);
        cfimake_fde(&f, CODE, 0x100, "", 0);
        cfimake_fde(&f, CODE + 0x100, 0x100, "\x41\x0e\x20\x9d\x04\x9e\x03", 7);
        cfimake_fde(&f, CODE + 0x200, 0x100, "\x07\x1e", 2);
    } else {
        cfimake_cie(&f, false, 1, 16, "\x0c\x07\x08\x90\x01", 5);
        cfimake_fde(&f, CODE, 0x100, "", 0);
        cfimake_fde(&f, CODE + 0x100, 0x100, "\x41\x0e\x10\x86\x02\x43\x0d\x06", 8);
        cfimake_fde(&f, CODE + 0x200, 0x100, "\x07\x10", 2);
    }
    struct elfmake make = {.wide = true, .type = ET_DYN, .machine = arm ? EM_AARCH64 : EM_X86_64,
                           .text_address = CODE, .text_size = 0x800, .frames = f.byte,
                           .frames_n = f.n, .frames_address = 0x900000};
    size_t n = elfmake(&make, image, &text_offset);
    FILE *out = fopen(path, "wb");
    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(fwrite(image, 1, n, out), n);
    fclose(out);
}

/* The start of a sample up to and with its registers; make_end() ends it. */
static size_t sample(uint64_t ip, const uint64_t *chain, size_t n, uint64_t mask,
                     const uint64_t reg[64])
{
    size_t begin = make_begin(&records, 9, 2);
    make_u64(&records, 7);
    make_u64(&records, ip);
    make_u32(&records, 50);
    make_u32(&records, 50);
    make_u64(&records, 100);
    make_u64(&records, 1000);
    make_u64(&records, n);
    for (size_t i = 0; i < n; i++)
        make_u64(&records, chain[i]);
    make_u64(&records, 2);
    for (unsigned i = 0; i < 64; i++)
        if ((mask >> i & 1) != 0)
            make_u64(&records, reg[i]);
    return begin;
}

static void begin_records(void)
{
    records.sample_type = event.sample_type;
    records.id = 7;
    make_comm(&records, 50, 50, "prog", false, 1);
    make_mmap2(&records, 50, MAPPED, 0x800, text_offset, path, 2);
}

static void import(void)
{
    make_file(&file, MAKE_FILE, &event, 1, &records);
    run_import(&run, file.p, file.n, "made", false);
    ck_assert_ptr_nonnull(run.store);
}

/* The addresses of a row's frames, leaf first, without what stands before them. */
static void expect_stack(uint64_t row, const char *stack)
{
    const char *text = strchr(run_row(&run, row), ':');
    ck_assert_ptr_nonnull(text);
    ck_assert_msg(strstr(text, stack) != NULL, "%s, not %s", text, stack);
    ck_assert_uint_eq(strlen(strstr(text, stack)), strlen(stack));
}

static void x86_64_sample(uint64_t size, uint64_t real, const uint64_t *chain, size_t n)
{
    const uint64_t reg[64] = {[6] = STACK + 24, [7] = STACK, [8] = MAPPED + 0x10};
    uint64_t word[8] = {MAPPED + 0x150, 0, 0, 0x1234, MAPPED + 0x220};
    size_t begin = sample(MAPPED + 0x10, chain, n, X86_MASK, reg);
    make_u64(&records, size);
    make_bytes(&records, word, sizeof word);
    make_u64(&records, real);
    make_end(&records, begin);
}

static void x86_64_event(void)
{
    event.sample_type = SAMPLE_TYPE | FM_PERF_STACK_USER;
    event.regs_user = X86_MASK;
    event.stack_user = 64;
    program(false);
    begin_records();
}

START_TEST(copied_stack)
{
    const uint64_t kernel[] = {KERNEL, 0xffffffff81000010u};
    char expected[256];
    x86_64_event();
    x86_64_sample(64, 64, NULL, 0);
    x86_64_sample(64, 64, kernel, 2);
    x86_64_sample(64, 32, NULL, 0);          /* the real part ends before the last frame */
    import();
    ck_assert_uint_eq(fm_store_rows(run.store), 3);
    snprintf(expected, sizeof expected, "%s+%llx %s+%llx' %s+%llx'", path,
             (unsigned long long)text_offset + 0x10, path, (unsigned long long)text_offset + 0x150,
             path, (unsigned long long)text_offset + 0x220);
    expect_stack(0, expected);
    expect_stack(1, expected);
    ck_assert_ptr_nonnull(strstr(run_row(&run, 1), "ffffffff81000010"));
    snprintf(expected, sizeof expected, "%s+%llx %s+%llx'", path,
             (unsigned long long)text_offset + 0x10, path, (unsigned long long)text_offset + 0x150);
    expect_stack(2, expected);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "user-stack-cut"), 1);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "user-stack-lost"), 0);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "user-stack"), 0);
}
END_TEST

START_TEST(lying_sizes)
{
    x86_64_event();
    x86_64_sample(64, UINT64_MAX, NULL, 0);  /* more real bytes than bytes: all are */
    x86_64_sample(72, 64, NULL, 0);          /* no room for the size behind it */
    x86_64_sample(UINT64_MAX, 64, NULL, 0);
    x86_64_sample(0, 64, NULL, 0);           /* no stack: the ip alone */
    import();
    ck_assert_uint_eq(fm_store_rows(run.store), 2);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_DROPPED, "sample-body"), 2);
}
END_TEST

/* A machine whose registers are not known: counted, and the rest of the sample kept. */
START_TEST(unknown_machine)
{
    uint64_t reg[64] = {0};
    event.sample_type = SAMPLE_TYPE | FM_PERF_STACK_USER;
    event.regs_user = 0x3ffffffffu;
    event.stack_user = 8;
    program(false);
    begin_records();
    size_t begin = sample(MAPPED + 0x10, NULL, 0, event.regs_user, reg);
    make_u64(&records, 8);
    make_u64(&records, 1);
    make_u64(&records, 8);
    make_end(&records, begin);
    import();
    ck_assert_uint_eq(fm_store_rows(run.store), 1);
    ck_assert_uint_eq(run_account(&run, FM_ACCOUNT_FINDING, "user-stack"), 1);
}
END_TEST

/* AArch64 by frame pointers: the leaf's caller is only in the link register. */
START_TEST(leaf_caller)
{
    uint64_t reg[64] = {[29] = STACK + 64, [30] = MAPPED + 0x150, [31] = STACK,
                        [32] = MAPPED + 0x10};
    const uint64_t chain[] = {USER, MAPPED + 0x10, MAPPED + 0x220};
    const uint64_t whole[] = {USER, MAPPED + 0x10, MAPPED + 0x150, MAPPED + 0x220};
    const uint64_t inside[] = {USER, MAPPED + 0x120, MAPPED + 0x220};
    char expected[256];
    event.sample_type = SAMPLE_TYPE;
    event.regs_user = ARM_MASK;
    program(true);
    begin_records();
    make_end(&records, sample(MAPPED + 0x10, chain, 3, ARM_MASK, reg));
    make_end(&records, sample(MAPPED + 0x10, whole, 4, ARM_MASK, reg));
    reg[32] = MAPPED + 0x120;                /* in f1, which has saved it: nothing is missing */
    make_end(&records, sample(MAPPED + 0x120, inside, 3, ARM_MASK, reg));
    import();
    snprintf(expected, sizeof expected, "%s+%llx %s+%llx' %s+%llx'", path,
             (unsigned long long)text_offset + 0x10, path, (unsigned long long)text_offset + 0x150,
             path, (unsigned long long)text_offset + 0x220);
    expect_stack(0, expected);
    expect_stack(1, expected);
    snprintf(expected, sizeof expected, "%s+%llx %s+%llx'", path,
             (unsigned long long)text_offset + 0x120, path,
             (unsigned long long)text_offset + 0x220);
    expect_stack(2, expected);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("perf stacks");
    TCase *tc = tcase_create("perf stacks");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, copied_stack);
    tcase_add_test(tc, lying_sizes);
    tcase_add_test(tc, unknown_machine);
    tcase_add_test(tc, leaf_caller);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
