/*
 * test_unwind.c - expressions of call frame information, and stacks unwound by rules made by hand:
 * x86-64, i386 and AArch64. The addresses expected are worked out from the stacks that are built.
 *
 * The module: a file whose code is mapped at CODE, 0x100 bytes a function.
 */
#include "symbol/cfi.h"
#include "symbol/unwind.h"
#include "util/ctx.h"

#include "cfimake.h"
#include "elfmake.h"

#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CODE 0x400000u
#define STACK 0x7000u
#define WORDS 64

static struct fm_ctx *ctx;
static char path[64];

static void setup(void)
{
    ctx = fm_ctx_new();
    ck_assert_ptr_nonnull(ctx);
    snprintf(path, sizeof path, "/tmp/foldmill-unwind-%ld", (long)getpid());
}

static void teardown(void)
{
    unlink(path);
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
    fm_ctx_free(ctx);
}

/* ---------------------------------------------------------------- expressions */

static bool read_memory(void *user, uint64_t address, uint64_t *value)
{
    (void)user;
    *value = address + 1000;
    return address != 0xdead;
}

static bool evaluate(const char *expr, size_t n, uint64_t *value)
{
    const uint64_t reg[FM_CFI_REGS] = {[7] = 0x100, [16] = 0x40000b};
    struct fm_cfi_machine m = {.reg = reg, .valid = 1u << 7 | 1u << 16, .word = 8,
                               .read = read_memory};
    return fm_cfi_evaluate(&m, (const unsigned char *)expr, n, true, 5, value);
}

#define EXPR(text) text, sizeof(text) - 1

START_TEST(expressions)
{
    static const struct {
        const char *expr;
        size_t n;
        uint64_t value;
    } good[] = {
        {EXPR(""), 5},                                   /* the CFA */
        {EXPR("\x23\x03"), 8},                           /* plus_uconst 3 */
        {EXPR("\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"), 0x110},  /* a PLT entry: below */
        {EXPR("\x77\x7c"), 0xfc},                        /* breg7 -4 */
        {EXPR("\x77\x00\x06"), 0x100 + 1000},            /* deref */
        {EXPR("\x77\x00\x94\x01"), 0xe8},                /* deref_size 1: 0x4e8 */
        {EXPR("\x38\x33\x1b"), 2},                       /* lit8 lit3 div */
        {EXPR("\x09\xf8\x33\x1b"), (uint64_t)-2},        /* -8 / 3, signed */
        {EXPR("\x38\x33\x1d"), 2},                       /* mod */
        {EXPR("\x31\x32\x33\x17"), 2},                   /* rot: 1 2 3 -> 3 1 2 */
        {EXPR("\x31\x32\x16\x1c"), 1},                   /* swap, minus: 2 - 1 */
        {EXPR("\x31\x28\x01\x00\x39\x38"), 8},           /* bra over lit9 */
        {EXPR("\x2f\x01\x00\x39\x38"), 8},               /* skip over lit9 */
        {EXPR("\x09\xf0\x32\x26"), (uint64_t)-4},        /* -16 >> 2, arithmetic */
        {EXPR("\x09\xf0\x2d\x96"), 0},                   /* 5 < -16, signed; nop */
        {EXPR("\x92\x07\x10"), 0x110},                   /* bregx 7, 16 */
        {EXPR("\x31\x15\x01"), 5},                       /* pick 1: the CFA */
    };
    for (size_t i = 0; i < FM_COUNT(good); i++) {
        uint64_t value = 0;
        ck_assert_msg(evaluate(good[i].expr, good[i].n, &value), "expression %zu", i);
        ck_assert_msg(value == good[i].value, "expression %zu: %llx", i, (unsigned long long)value);
    }
}
END_TEST

START_TEST(bad_expressions)
{
    static const struct {
        const char *expr;
        size_t n;
    } bad[] = {
        {EXPR("\x13\x13")},          /* drop more than there is */
        {EXPR("\x30\x1b")},          /* 5 / 0 */
        {EXPR("\x75\x00")},          /* a register that is not known */
        {EXPR("\x2f\xfd\xff")},      /* for ever */
        {EXPR("\x2f\x40\x00")},      /* beyond the end */
        {EXPR("\x0c\x01")},          /* an operand is cut */
        {EXPR("\xff")},              /* no such operation */
        {EXPR("\x0a\xad\xde\x06")},  /* memory that is not there */
    };
    char deep[64];
    uint64_t value;
    for (size_t i = 0; i < FM_COUNT(bad); i++)
        ck_assert_msg(!evaluate(bad[i].expr, bad[i].n, &value), "expression %zu", i);
    memset(deep, 0x31, sizeof deep);
    ck_assert(!evaluate(deep, sizeof deep, &value));
}
END_TEST

/* ------------------------------------------------------------------- unwinding */

struct scene {
    struct cfimake frames;
    unsigned machine;
    uint32_t module;
    uint64_t delta;
    struct fm_unwind_input in;
    unsigned char stack[8 * WORDS];
    struct fm_unwind_frame frame[16];
    size_t n;
    enum fm_unwind_end end;
};

static bool find(void *user, uint64_t address, struct fm_unwind_place *place)
{
    const struct scene *s = user;
    if (address >= CODE && address < CODE + 0x800) {
        *place = (struct fm_unwind_place){s->module, s->delta, true};
        return true;
    }
    if (address >= 0x10000 && address < 0x11000) {      /* data */
        *place = (struct fm_unwind_place){FM_NONE, 0, false};
        return true;
    }
    if (address >= 0x20000 && address < 0x21000) {      /* code without a file */
        *place = (struct fm_unwind_place){FM_NONE, 0, true};
        return true;
    }
    return false;
}

static void init(struct scene *s, enum fm_unwind_arch arch)
{
    memset(s, 0, sizeof *s);
    s->frames.wide = arch != FM_UNWIND_I386;
    s->machine = arch == FM_UNWIND_X86_64 ? EM_X86_64 : arch == FM_UNWIND_I386 ? EM_386
                                                                               : EM_AARCH64;
    s->in = (struct fm_unwind_input){.arch = arch, .stack = s->stack, .n = sizeof s->stack,
                                     .find = find, .user = s};
}

static void set(struct scene *s, unsigned reg, uint64_t value)
{
    s->in.reg[reg] = value;
    s->in.valid |= 1ull << reg;
}

/* Word i of the stack. */
static void word(struct scene *s, size_t i, uint64_t value)
{
    unsigned n = s->frames.wide ? 8 : 4;
    memcpy(s->stack + n * i, &value, n);
}

static void run(struct scene *s)
{
    static unsigned char image[ELFMAKE_MAX];
    struct elfmake make = {.wide = s->frames.wide, .type = ET_DYN, .machine = s->machine,
                           .text_address = CODE, .text_size = 0x800, .frames = s->frames.byte,
                           .frames_n = s->frames.n, .debug_frame = s->frames.debug,
                           .frames_address = 0x900000};
    const struct fm_symbol_options options = {.buildid_dir = ""};
    uint64_t offset;
    size_t n = elfmake(&make, image, &offset);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(image, 1, n, file), n);
    fclose(file);
    s->delta = offset - CODE;
    struct fm_unwind *unwind = fm_unwind_new(ctx, &options);
    s->n = 0;
    if (unwind != NULL) {
        s->module = fm_unwind_module(unwind, path, "", false, false);
        s->n = fm_unwind_run(unwind, &s->in, s->frame, FM_COUNT(s->frame), &s->end);
    }
    fm_unwind_free(unwind);
}

static void expect(const struct scene *s, enum fm_unwind_end how, size_t n, const uint64_t *pc)
{
    for (size_t i = 0; i < FM_MIN(n, s->n); i++)
        ck_assert_msg(s->frame[i].pc == pc[i], "frame %zu: %llx, not %llx", i,
                      (unsigned long long)s->frame[i].pc, (unsigned long long)pc[i]);
    ck_assert_uint_eq(s->n, n);
    ck_assert_int_eq(s->end, how);
}

#define EXPECT(s, how, ...)                                                                     \
    do {                                                                                        \
        const uint64_t expected[] = {__VA_ARGS__};                                              \
        expect(s, how, FM_COUNT(expected), expected);                                           \
    } while (0)

/* f0: a leaf that has pushed nothing; f1: rbp saved, CFA by rbp; f2: 32 bytes, rbx at CFA - 16;
 * f3: the outermost. */
static void x86_64_rules(struct scene *s)
{
    struct cfimake *f = &s->frames;
    cfimake_cie(f, false, 1, 16, "\x0c\x07\x08\x90\x01", 5);
    cfimake_fde(f, CODE, 0x100, "", 0);
    cfimake_fde(f, CODE + 0x100, 0x100, "\x41\x0e\x10\x86\x02\x43\x0d\x06", 8);
    cfimake_fde(f, CODE + 0x200, 0x100, "\x41\x0e\x10\x83\x02\x41\x0e\x20", 8);
    cfimake_fde(f, CODE + 0x300, 0x100, "\x07\x10", 2);
}

static void x86_64_stack(struct scene *s)
{
    s->in.pc = CODE + 0x10;
    set(s, 7, STACK);
    set(s, 6, STACK + 3 * 8);            /* f1's frame pointer */
    word(s, 0, CODE + 0x150);            /* f0 returns to f1, which has two words of its own */
    word(s, 3, 0x1234);                  /* the caller's rbp */
    word(s, 4, CODE + 0x220);            /* to f2 */
    word(s, 7, 0x77);                    /* rbx */
    word(s, 8, CODE + 0x300);            /* f2 returns to f3, or just behind itself */
}

START_TEST(x86_64)
{
    struct scene s;
    init(&s, FM_UNWIND_X86_64);
    x86_64_rules(&s);
    x86_64_stack(&s);
    word(&s, 8, CODE + 0x310);
    run(&s);
    EXPECT(&s, FM_UNWIND_ROOT, CODE + 0x10, CODE + 0x150, CODE + 0x220, CODE + 0x310);
    ck_assert(s.frame[0].exact && !s.frame[1].exact && !s.frame[3].exact);

    s.frames.debug = true;               /* the same, as .debug_frame */
    s.frames.n = 0;
    x86_64_rules(&s);
    run(&s);
    EXPECT(&s, FM_UNWIND_ROOT, CODE + 0x10, CODE + 0x150, CODE + 0x220, CODE + 0x310);

    s.in.n = 7 * 8;                      /* the copy ends before f2's return address */
    run(&s);
    EXPECT(&s, FM_UNWIND_CUT, CODE + 0x10, CODE + 0x150, CODE + 0x220);
    s.in.n = 9 * 8;                      /* ... and with it: the last word counts */
    run(&s);
    EXPECT(&s, FM_UNWIND_ROOT, CODE + 0x10, CODE + 0x150, CODE + 0x220, CODE + 0x310);
}
END_TEST

/* A return address behind the last byte of a function is that function's; one to where no code is
 * makes no frame. */
START_TEST(callers)
{
    struct scene s;
    init(&s, FM_UNWIND_X86_64);
    x86_64_rules(&s);
    x86_64_stack(&s);
    word(&s, 8, CODE + 0x300);           /* f2 itself called: 48 bytes higher again */
    word(&s, 12, CODE + 0x320);
    run(&s);
    EXPECT(&s, FM_UNWIND_ROOT, CODE + 0x10, CODE + 0x150, CODE + 0x220, CODE + 0x300,
           CODE + 0x320);
    word(&s, 12, 0x10080);
    run(&s);
    EXPECT(&s, FM_UNWIND_LOST, CODE + 0x10, CODE + 0x150, CODE + 0x220, CODE + 0x300);
}
END_TEST

START_TEST(frame_pointer)
{
    struct scene s;
    init(&s, FM_UNWIND_X86_64);
    x86_64_rules(&s);
    s.in.pc = 0x20010;                   /* code of no file, with a frame pointer */
    set(&s, 7, STACK);
    set(&s, 6, STACK + 16);
    word(&s, 2, 0x5555);
    word(&s, 3, CODE + 0x310);
    run(&s);
    EXPECT(&s, FM_UNWIND_ROOT, 0x20010, CODE + 0x310);
    set(&s, 6, STACK + 17);              /* no frame pointer */
    run(&s);
    EXPECT(&s, FM_UNWIND_LOST, 0x20010);
}
END_TEST

/* handler f0 <- trampoline f1 ('S': return address at CFA - 8, CFA = rsp + 32) <- interrupted at
 * the very first byte of f3, which pc - 1 would take for f2. */
START_TEST(signal_frame)
{
    struct scene s;
    init(&s, FM_UNWIND_X86_64);
    cfimake_cie(&s.frames, false, 1, 16, "\x0c\x07\x08\x90\x01", 5);
    cfimake_fde(&s.frames, CODE, 0x100, "", 0);
    cfimake_fde(&s.frames, CODE + 0x300, 0x100, "\x07\x10", 2);
    cfimake_cie(&s.frames, true, 1, 16, "\x0c\x07\x20\x90\x01", 5);
    cfimake_fde(&s.frames, CODE + 0xff, 0x101, "", 0);
    s.in.pc = CODE + 4;
    set(&s, 7, STACK);
    word(&s, 0, CODE + 0x100);
    word(&s, 4, CODE + 0x300);
    run(&s);
    EXPECT(&s, FM_UNWIND_ROOT, CODE + 4, CODE + 0x100, CODE + 0x300);
    ck_assert(!s.frame[1].exact && s.frame[2].exact);
}
END_TEST

/* f0: a leaf, the return address in x30; f1: x29 and x30 saved at CFA - 32; f2: outermost. Return
 * addresses are signed: their upper bits mean nothing. */
START_TEST(aarch64)
{
    struct scene s;
    init(&s, FM_UNWIND_AARCH64);
    cfimake_cie(&s.frames, false, 4, 30, "\x0c\x1f\x00", 3);
    cfimake_fde(&s.frames, CODE, 0x100, "", 0);
    cfimake_fde(&s.frames, CODE + 0x100, 0x100, "\x2d\x41\x0e\x20\x9d\x04\x9e\x03", 8);
    cfimake_fde(&s.frames, CODE + 0x200, 0x100, "\x07\x1e", 2);
    s.in.pc = CODE + 0x20;
    set(&s, 31, STACK);
    set(&s, 29, 0x9999);
    set(&s, 30, 0x002a000000000000u | (CODE + 0x140));
    word(&s, 0, 0x4444);
    word(&s, 1, 0x0055000000000000u | (CODE + 0x280));
    run(&s);
    EXPECT(&s, FM_UNWIND_ROOT, CODE + 0x20, CODE + 0x140, CODE + 0x280);
}
END_TEST

START_TEST(i386)
{
    struct scene s;
    init(&s, FM_UNWIND_I386);
    cfimake_cie(&s.frames, false, 1, 8, "\x0c\x04\x04\x88\x01", 5);
    cfimake_fde(&s.frames, CODE, 0x100, "\x41\x0e\x08\x85\x02\x42\x0d\x05", 8);
    cfimake_fde(&s.frames, CODE + 0x100, 0x100, "\x07\x08", 2);
    s.in.pc = CODE + 0x30;
    set(&s, 4, STACK);
    set(&s, 5, STACK + 8);
    word(&s, 2, 0x1111);
    word(&s, 3, CODE + 0x120);
    run(&s);
    EXPECT(&s, FM_UNWIND_ROOT, CODE + 0x30, CODE + 0x120);
}
END_TEST

/* Rules that lead nowhere: the CFA stays where it is, goes down, or memory runs out. */
START_TEST(no_loops)
{
    struct scene s;
    init(&s, FM_UNWIND_X86_64);
    cfimake_cie(&s.frames, false, 1, 16, "\x0c\x07\x00\x08\x10", 5);   /* nothing is ever popped */
    cfimake_fde(&s.frames, CODE, 0x100, "", 0);
    s.in.pc = CODE + 8;
    set(&s, 7, STACK);
    run(&s);
    EXPECT(&s, FM_UNWIND_LOST, CODE + 8);
    init(&s, FM_UNWIND_X86_64);
    cfimake_cie(&s.frames, false, 1, 16, "\x12\x07\x04\x90\x01", 5);   /* CFA = rsp - 32 */
    cfimake_fde(&s.frames, CODE, 0x100, "", 0);
    s.in.pc = CODE + 8;
    set(&s, 7, STACK);
    run(&s);
    EXPECT(&s, FM_UNWIND_LOST, CODE + 8);
    init(&s, FM_UNWIND_X86_64);
    x86_64_rules(&s);
    for (size_t i = 0; i < WORDS; i++)
        word(&s, i, CODE + 0x10);        /* a recursion without end */
    s.in.pc = CODE + 0x10;
    set(&s, 7, STACK);
    run(&s);
    ck_assert_uint_eq(s.n, FM_COUNT(s.frame));
    ck_assert_int_eq(s.end, FM_UNWIND_CUT);
}
END_TEST

START_TEST(out_of_memory)
{
    struct scene s;
    init(&s, FM_UNWIND_X86_64);
    x86_64_rules(&s);
    x86_64_stack(&s);
    uint64_t before = atomic_load(&ctx->mem.allocations);
    run(&s);
    uint64_t made = atomic_load(&ctx->mem.allocations) - before;
    ck_assert_uint_gt(made, 5);
    for (uint64_t i = 1; i <= made; i++) {
        ctx->mem.fail_at = atomic_load(&ctx->mem.allocations) + i;
        run(&s);
        ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
    }
    ctx->mem.fail_at = 0;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unwind");
    TCase *tc = tcase_create("unwind");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, expressions);
    tcase_add_test(tc, bad_expressions);
    tcase_add_test(tc, x86_64);
    tcase_add_test(tc, callers);
    tcase_add_test(tc, frame_pointer);
    tcase_add_test(tc, signal_frame);
    tcase_add_test(tc, aarch64);
    tcase_add_test(tc, i386);
    tcase_add_test(tc, no_loops);
    tcase_add_test(tc, out_of_memory);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
