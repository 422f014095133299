/*
 * test_elf.c - ELF files: both classes and byte orders, which symbols count, several code segments,
 * PLT, build-id, debug link, MiniDebugInfo, kernel modules; then cut and changed files.
 *
 * The files of tests/data/symbol are described in make.sh there; addresses are those of `nm` and
 * `objdump`.
 */
#include "symbol/elf.h"

#include "elfmake.h"

#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

static struct fm_ctx *ctx;
static char folder[512];

static void setup(void)
{
    const char *top = getenv("top_srcdir");

    ctx = fm_ctx_new();
    ck_assert_ptr_nonnull(ctx);
    snprintf(folder, sizeof folder, "%s/tests/data/symbol", top != NULL ? top : ".");
}

static void teardown(void)
{
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
    fm_ctx_free(ctx);
}

static struct fm_elf *open_bytes(const void *data, size_t n)
{
    struct fm_image image;
    struct fm_elf *elf = NULL;
    enum fm_status status;

    ck_assert_int_eq(fm_image_copy(ctx, data, n, &image), FM_OK);
    status = fm_elf_open(ctx, &image, &elf);
    ck_assert_int_eq(status == FM_OK, elf != NULL);
    return elf;
}

static struct fm_elf *open_file(const char *name)
{
    struct fm_image image;
    struct fm_elf *elf = NULL;
    char path[640];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    ck_assert_msg(fm_image_open(ctx, path, false, &image) == FM_OK, "cannot open %s", path);
    ck_assert_int_eq(fm_elf_open(ctx, &image, &elf), FM_OK);
    return elf;
}

/* The name of one address: from the table of `symtab`, and PLT of `runtime`. */
static const char *name_of(const struct fm_elf *symtab, enum fm_elf_table table,
                           const struct fm_elf *runtime, uint64_t address)
{
    static char buf[256];
    struct fm_point point = { .address = address };
    struct fm_arena arena;
    struct fm_match match;

    fm_arena_init(&arena, &ctx->mem);
    ck_assert_int_eq(fm_match_init(&match, &ctx->mem, &point, 1), FM_OK);
    fm_elf_symbols(symtab, table, 0, &match);
    if (runtime != NULL)
        fm_elf_plt(runtime, symtab, &arena, &match);
    ck_assert_int_eq(fm_match_finish(&match), FM_OK);
    buf[0] = '\0';
    if (point.pick != UINT32_MAX)
        snprintf(buf, sizeof buf, "%.*s", (int)match.pick[point.pick].length,
                 match.pick[point.pick].name);
    fm_match_release(&match);
    fm_arena_release(&arena);
    return buf;
}

static const struct elfmake_symbol rules[] = {
    { "fn", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, STV_DEFAULT, 1 },
    { "label", 0x1010, 0, STT_NOTYPE, STB_LOCAL, STV_DEFAULT, 1 },
    { "hidden", 0x1014, 0, STT_NOTYPE, STB_GLOBAL, STV_HIDDEN, 1 },
    { "absolute", 0x1015, 0, STT_NOTYPE, STB_GLOBAL, STV_DEFAULT, SHN_ABS },
    { "undefined", 0x1016, 8, STT_FUNC, STB_GLOBAL, STV_DEFAULT, SHN_UNDEF },
    { "object", 0x1017, 8, STT_OBJECT, STB_GLOBAL, STV_DEFAULT, 1 },
    { "nowhere", 0x1018, 8, STT_FUNC, STB_GLOBAL, STV_DEFAULT, 77 },
    { "$x.1", 0x1020, 0, STT_NOTYPE, STB_LOCAL, STV_DEFAULT, 1 },
    { "thumb", 0x1031, 0x10, STT_FUNC, STB_GLOBAL, STV_DEFAULT, 1 },
    { "late", 0x1060, 0, STT_NOTYPE, STB_LOCAL, STV_DEFAULT, 1 },
};

static void check_rules(bool wide, bool big, unsigned machine)
{
    const struct elfmake make = { .wide = wide, .big = big, .type = ET_DYN, .machine = machine,
                                  .text_address = 0x1000, .text_size = 0x80,
                                  .build_id = "\x01\xab\xcd\xef", .symbol = rules,
                                  .symbols = FM_COUNT(rules) };
    unsigned char bytes[ELFMAKE_MAX];
    uint64_t offset, address;
    struct fm_elf *elf = open_bytes(bytes, elfmake(&make, bytes, &offset));

    ck_assert_ptr_nonnull(elf);
    ck_assert_str_eq(fm_elf_build_id(elf), "01abcdef");
    ck_assert(fm_elf_has_symtab(elf) && fm_elf_is_runtime(elf));
    ck_assert_str_eq(name_of(elf, FM_ELF_SYMTAB, NULL, 0x100f), "fn");
    ck_assert_str_eq(name_of(elf, FM_ELF_SYMTAB, NULL, 0x101f), "label");
    ck_assert_str_eq(name_of(elf, FM_ELF_SYMTAB, NULL, 0x1024),
                     machine == EM_ARM || machine == EM_AARCH64 ? "label" : "$x.1");
    ck_assert_str_eq(name_of(elf, FM_ELF_SYMTAB, NULL, 0x107f), "late");
    ck_assert_str_eq(name_of(elf, FM_ELF_SYMTAB, NULL, 0x1080), "");
    if (machine == EM_ARM)
        ck_assert_str_eq(name_of(elf, FM_ELF_SYMTAB, NULL, 0x1030), "thumb");
    ck_assert_str_eq(name_of(elf, FM_ELF_SYMTAB, NULL, 0x1040),
                     machine == EM_ARM ? "" : "thumb");
    ck_assert(fm_elf_address(elf, offset + 5, &address));
    ck_assert_uint_eq(address, 0x1005);
    ck_assert(!fm_elf_address(elf, offset - 1, &address));
    ck_assert(!fm_elf_address(elf, offset + 0x80, &address));
    ck_assert(fm_elf_find(elf, "object", &address) && address == 0x1017);
    ck_assert(!fm_elf_find(elf, "undefined", &address));
    fm_elf_close(elf);
}

START_TEST(classes_and_byte_orders)
{
    check_rules(true, false, EM_X86_64);
    check_rules(false, false, EM_386);
    check_rules(true, true, EM_S390);
    check_rules(false, true, EM_ARM);
    check_rules(true, false, EM_AARCH64);
}
END_TEST

START_TEST(without_program_headers_by_sections)
{
    const struct elfmake make = { .wide = true, .type = ET_DYN, .machine = EM_X86_64,
                                  .text_address = 0x1000, .text_size = 0x80, .no_load = true,
                                  .symbol = rules, .symbols = FM_COUNT(rules) };
    unsigned char bytes[ELFMAKE_MAX];
    uint64_t offset, address;
    struct fm_elf *elf = open_bytes(bytes, elfmake(&make, bytes, &offset));

    ck_assert(fm_elf_address(elf, offset + 9, &address));
    ck_assert_uint_eq(address, 0x1009);
    ck_assert_str_eq(fm_elf_build_id(elf), "");
    fm_elf_close(elf);
}
END_TEST

START_TEST(names_of_a_library)
{
    static const struct { uint64_t address; const char *name; } want[] = {
        { 0x448, "label_zero" }, { 0x44b, "label_zero" }, { 0x44c, "hidden_label" },
        { 0x44e, "gamma_" }, { 0x452, "gamma_" },
        { 0x455, "inside" }, { 0x456, "after_gap" }, { 0x457, "_ZN2ns3mixEi.cold" },
        { 0x459, "pick_a" }, { 0x45d, "beta" }, { 0x46d, "beta" }, { 0x46e, "alpha" },
        { 0x47e, "alpha" }, { 0x487, "_ZN2ns3mixEi" }, { 0x40000, "far_call" },
        { 0x420, "ext_one@plt" }, { 0x42f, "ext_one@plt" }, { 0x430, "pick@plt" },
        { 0x440, "ext_two@plt" }, { 0x447, "ext_two@plt" }, { 0x410, "" }, { 0x48d, "" },
    };
    struct fm_elf *elf = open_file("tiny.so");
    uint64_t address;

    for (size_t i = 0; i < FM_COUNT(want); i++) {
        const char *got = name_of(elf, FM_ELF_SYMTAB, elf, want[i].address);
        ck_assert_msg(strcmp(got, want[i].name) == 0, "0x%llx is '%s', not '%s'",
                      (unsigned long long)want[i].address, got, want[i].name);
    }
    /* Two code segments with different p_vaddr - p_offset. */
    ck_assert(fm_elf_address(elf, 0x46e, &address) && address == 0x46e);
    ck_assert(fm_elf_address(elf, 0x2010, &address) && address == 0x40010);
    ck_assert(!fm_elf_address(elf, 0x3000, &address));
    ck_assert_str_eq(fm_elf_build_id(elf), "00112233445566778899aabbccddeeff00112233");
    fm_elf_close(elf);
}
END_TEST

START_TEST(debug_files)
{
    struct fm_elf *stripped = open_file("tiny-stripped.so"), *debug = open_file("tiny.debug");
    const char *name;
    uint32_t crc;

    ck_assert(!fm_elf_has_symtab(stripped) && fm_elf_is_runtime(stripped));
    ck_assert(fm_elf_has_symtab(debug) && !fm_elf_is_runtime(debug));
    ck_assert(fm_elf_debuglink(stripped, &name, &crc));
    ck_assert_str_eq(name, "tiny.debug");
    ck_assert_uint_eq(crc, fm_elf_crc(debug));
    ck_assert_uint_ne(crc, fm_elf_crc(stripped));
    ck_assert(!fm_elf_debuglink(debug, &name, &crc));
    ck_assert_str_eq(name_of(debug, FM_ELF_SYMTAB, stripped, 0x45d), "beta");
    ck_assert_str_eq(name_of(debug, FM_ELF_SYMTAB, stripped, 0x420), "ext_one@plt");
    ck_assert_str_eq(name_of(stripped, FM_ELF_DYNSYM, stripped, 0x470), "alpha");
    ck_assert_str_eq(name_of(stripped, FM_ELF_DYNSYM, stripped, 0x45d), "");
    ck_assert_str_eq(name_of(stripped, FM_ELF_DYNSYM, stripped, 0x430), "offset_0x430@plt");
    fm_elf_close(stripped);
    fm_elf_close(debug);
}
END_TEST

START_TEST(mini_debug_info)
{
    struct fm_elf *elf = open_file("tiny-mini.so"), *plain = open_file("tiny.so"), *mini = NULL;

    ck_assert_int_eq(fm_elf_debugdata(ctx, plain, &mini), FM_UNKNOWN);
    ck_assert_int_eq(fm_elf_debugdata(ctx, elf, &mini), FM_OK);
    ck_assert_str_eq(name_of(mini, FM_ELF_SYMTAB, elf, 0x45d), "beta");
    fm_elf_close(mini);
    fm_elf_close(elf);
    fm_elf_close(plain);
}
END_TEST

/* Executable sections are laid out one after the other, aligned; .init.text is gone. */
START_TEST(kernel_modules_are_placed)
{
    struct fm_elf *elf = open_file("tiny.ko");

    ck_assert(fm_elf_is_relocatable(elf));
    ck_assert_str_eq(name_of(elf, FM_ELF_SYMTAB, NULL, 0x0), "ko_first");
    ck_assert_str_eq(name_of(elf, FM_ELF_SYMTAB, NULL, 0x10), "ko_second");
    ck_assert_str_eq(name_of(elf, FM_ELF_SYMTAB, NULL, 0x14), "ko_cold");
    ck_assert_str_eq(name_of(elf, FM_ELF_SYMTAB, NULL, 0x20), "");
    fm_elf_close(elf);
}
END_TEST

/* ----------------------------------------------------------- hostile files */

/* Everything that can be asked of a file; only "ends, holds nothing afterwards" counts. */
static void use_all(const unsigned char *data, size_t n)
{
    struct fm_elf *elf = open_bytes(data, n), *mini = NULL;
    struct fm_point point[64];
    struct fm_match match;
    struct fm_arena arena;
    const char *name;
    uint64_t value;
    uint32_t crc;

    if (elf == NULL)
        return;
    for (size_t i = 0; i < FM_COUNT(point); i++) {
        point[i].user = (uint32_t)i;
        if (!fm_elf_address(elf, 0x400 + i * 4, &point[i].address))
            point[i].address = i < 32 ? i * 0x40 : 0x40000 + i;
    }
    fm_arena_init(&arena, &ctx->mem);
    ck_assert_int_eq(fm_match_init(&match, &ctx->mem, point, FM_COUNT(point)), FM_OK);
    fm_elf_symbols(elf, FM_ELF_SYMTAB, 0, &match);
    fm_elf_symbols(elf, FM_ELF_DYNSYM, 0, &match);
    fm_elf_plt(elf, elf, &arena, &match);
    ck_assert_int_eq(fm_match_finish(&match), FM_OK);
    for (size_t i = 0; i < FM_COUNT(point); i++) {
        if (point[i].pick == UINT32_MAX)
            continue;
        /* every byte of the name must be there */
        name = match.pick[point[i].pick].name;
        for (uint32_t k = 0; k < match.pick[point[i].pick].length; k++)
            ck_assert_int_ne(name[k], '\0');
    }
    fm_match_release(&match);
    fm_elf_find(elf, "alpha", &value);
    fm_elf_debuglink(elf, &name, &crc);
    fm_elf_debugdata(ctx, elf, &mini);
    fm_elf_close(mini);
    fm_arena_release(&arena);
    fm_elf_close(elf);
}

static const char *const files[] = { "tiny.so", "tiny-stripped.so", "tiny-mini.so", "tiny.debug",
                                     "tiny.ko" };

START_TEST(cut_files_end_cleanly)
{
    for (size_t f = 0; f < FM_COUNT(files); f++) {
        struct fm_image image;
        char path[640];
        snprintf(path, sizeof path, "%s/%s", folder, files[f]);
        ck_assert_int_eq(fm_image_open(ctx, path, false, &image), FM_OK);
        for (size_t i = 0; i < 64; i++)
            use_all(image.data, image.n * i / 64);
        fm_image_close(&image);
    }
}
END_TEST

START_TEST(changed_files_end_cleanly)
{
    uint64_t seed = 1;

    for (size_t f = 0; f < FM_COUNT(files); f++) {
        struct fm_image image, copy;
        char path[640];
        snprintf(path, sizeof path, "%s/%s", folder, files[f]);
        ck_assert_int_eq(fm_image_open(ctx, path, false, &image), FM_OK);
        for (int round = 0; round < 200; round++) {
            ck_assert_int_eq(fm_image_copy(ctx, image.data, image.n, &copy), FM_OK);
            for (size_t i = 0; i < image.n / 100 + 1; i++) {
                size_t at;
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                at = (seed >> 33) % image.n;
                if (round % 2 == 1)         /* headers and tables, where it hurts */
                    at = at % 64 + ((seed >> 12) % 2 ? image.n - FM_MIN(image.n, 1400) : 0) +
                         (seed >> 13) % 1200;
                copy.heap[at % image.n] = (char)(seed >> 56);
            }
            use_all(copy.data, copy.n);
            fm_image_close(&copy);
        }
        fm_image_close(&image);
    }
}
END_TEST

START_TEST(every_failing_allocation_is_survived)
{
    struct fm_image image;
    char path[640];

    snprintf(path, sizeof path, "%s/tiny.so", folder);
    for (uint64_t nth = 1; nth < 12; nth++) {
        struct fm_elf *elf = NULL;
        ck_assert_int_eq(fm_image_open(ctx, path, false, &image), FM_OK);
        ctx->mem.fail_at = atomic_load(&ctx->mem.allocations) + nth;
        if (fm_elf_open(ctx, &image, &elf) == FM_OK) {
            struct fm_point point[2] = { { .address = 0x430 }, { .address = 0x470 } };
            struct fm_match match = { 0 };
            struct fm_arena arena;
            fm_arena_init(&arena, &ctx->mem);
            if (fm_match_init(&match, &ctx->mem, point, 2) == FM_OK) {
                fm_elf_symbols(elf, FM_ELF_SYMTAB, 0, &match);
                fm_elf_plt(elf, elf, &arena, &match);
                if (fm_match_finish(&match) == FM_OK)
                    ck_assert_uint_ne(point[0].pick, UINT32_MAX);
            }
            fm_match_release(&match);
            fm_arena_release(&arena);
            fm_elf_close(elf);
        }
        ctx->mem.fail_at = 0;
        ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("elf");
    TCase *t = tcase_create("elf");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, classes_and_byte_orders);
    tcase_add_test(t, without_program_headers_by_sections);
    tcase_add_test(t, names_of_a_library);
    tcase_add_test(t, debug_files);
    tcase_add_test(t, mini_debug_info);
    tcase_add_test(t, kernel_modules_are_placed);
    tcase_add_test(t, cut_files_end_cleanly);
    tcase_add_test(t, changed_files_end_cleanly);
    tcase_add_test(t, every_failing_allocation_is_survived);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
