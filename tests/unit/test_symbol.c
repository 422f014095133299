/*
 * test_symbol.c - naming the frames of a store: where files are sought and which are refused,
 * callers, styles, kernel, modules, perf maps. The files of tests/data/symbol are put into a folder
 * of the test's own (symfs, build-id cache); make.sh there says what is in them.
 */
#include "symbol/symbol.h"

#include "elfmake.h"
#include "store/build.h"
#include "symbol/elf.h"
#include "symbol/find.h"

#include <check.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#define TINY_ID "00112233445566778899aabbccddeeff00112233"
#define OTHER_ID "ffeeddccbbaa99887766554433221100ffeeddcc"

static struct fm_ctx *ctx;
static char root[64], data[512];
static char symfs[96], cache[96];

static void setup(void)
{
    const char *top = getenv("top_srcdir");

    ctx = fm_ctx_new();
    ck_assert_ptr_nonnull(ctx);
    snprintf(data, sizeof data, "%s/tests/data/symbol", top != NULL ? top : ".");
    snprintf(root, sizeof root, "/tmp/foldmill-symbol-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    snprintf(symfs, sizeof symfs, "%s/fs", root);
    snprintf(cache, sizeof cache, "%s/cache", root);
}

static void teardown(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", root);
    ck_assert_int_eq(system(command), 0);
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
    fm_ctx_free(ctx);
}

/* ---------------------------------------------------------------- folders */

static const char *in_root(const char *path)
{
    static char full[600];
    char *p;

    snprintf(full, sizeof full, "%s/%s", root, path);
    for (p = full + strlen(root) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        ck_assert(mkdir(full, 0777) == 0 || errno == EEXIST);
        *p = '/';
    }
    return full;
}

static void write_file(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(in_root(path), "w");

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

/* Puts a file of tests/data/symbol at a path below the root; `change` flips its last byte. */
static void put_file(const char *name, const char *path, bool change)
{
    static unsigned char bytes[65536];
    char from[600];
    FILE *f;
    size_t n;

    snprintf(from, sizeof from, "%s/%s", data, name);
    f = fopen(from, "r");
    ck_assert_msg(f != NULL, "cannot open %s", from);
    n = fread(bytes, 1, sizeof bytes, f);
    ck_assert(n > 0 && n < sizeof bytes);
    fclose(f);
    if (change)
        bytes[n - 1] ^= 1;
    write_file(path, bytes, n);
}

/* ------------------------------------------------------------------- runs */

struct run {
    struct fm_store *store;
    fm_module module;
    const char *looked;
};

struct ask {
    uint64_t address;
    bool caller;
    const char *name;            /* expected; NULL = none */
};

/* A store with one module and its frames, named; the names are compared. */
static struct run run(const struct fm_module_row *row, const char *path, const char *id,
                      const struct fm_symbol_options *options, const struct ask *ask, size_t n)
{
    struct fm_symbol_options o = *options;
    struct fm_module_row module = *row;
    struct fm_builder *b;
    struct run r;
    struct fm_error err;
    fm_frame frame[16];

    fm_error_clear(&err);
    if (o.symfs == NULL)
        o.symfs = symfs;
    if (o.buildid_dir == NULL)
        o.buildid_dir = cache;
    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    module.source = fm_builder_source(b, "a.data", "perf");
    fm_builder_source_row(b)->has_wall = true;
    fm_builder_source_row(b)->wall = 1000000000ll * 1000000000;
    fm_builder_source_row(b)->has_time = true;
    module.path = fm_builder_str(b, path, strlen(path));
    module.build_id = fm_builder_str(b, id, strlen(id));
    r.module = fm_builder_module(b, &module);
    for (size_t i = 0; i < n; i++) {
        struct fm_frame_row f = { .module = r.module, .address = ask[i].address,
                                  .kind = FM_FRAME_USER, .caller = ask[i].caller };
        frame[i] = fm_builder_frame(b, &f);
    }
    ck_assert_int_eq(fm_builder_seal(b, NULL, &r.store, &err), FM_OK);
    ck_assert_int_eq(fm_symbolize(ctx, r.store, &o, &err), FM_OK);
    r.looked = fm_store_str(r.store, fm_store_module_row(r.store, r.module)->looked, NULL);
    for (size_t i = 0; i < n; i++) {
        const struct fm_frame_row *f = fm_store_frame_row(r.store, frame[i]);
        const char *got = fm_store_str(r.store, f->function, NULL);
        ck_assert_msg(strcmp(got, ask[i].name != NULL ? ask[i].name : "") == 0,
                      "0x%llx is '%s', not '%s'; looked:\n%s", (unsigned long long)ask[i].address,
                      got, ask[i].name, r.looked);
    }
    return r;
}

static uint64_t diag(const struct run *r, enum fm_diag key)
{
    return fm_store_source_row(r->store, 0)->diags.row[key].count;
}

static void looked_has(const struct run *r, const char *text)
{
    ck_assert_msg(strstr(r->looked, text) != NULL, "'%s' is not in:\n%s", text, r->looked);
}

static const struct fm_module_row user = { .kind = FM_MODULE_USER, .pid = -1 };
static const struct fm_symbol_options plain;

/* What the full symbol table names, and what only .dynsym does. */
static const struct ask all[] = { { 0x470, false, "alpha" }, { 0x45e, false, "beta" },
                                  { 0x2000, false, "far_call" }, { 0x420, false, "ext_one@plt" } };
static const struct ask nothing[] = { { 0x470, false, NULL }, { 0x45e, false, NULL },
                                      { 0x420, false, NULL } };
static const struct ask dynamic[] = { { 0x470, false, "alpha" }, { 0x45e, false, NULL },
                                      { 0x440, false, "ext_two@plt" } };

/* Finds all names with what lies in the folders now. */
static void expect_all(const char *path, const char *id)
{
    struct run r = run(&user, path, id, &plain, all, FM_COUNT(all));

    ck_assert_uint_eq(diag(&r, FM_DIAG_BUILD_ID), 0);
    ck_assert_uint_eq(diag(&r, FM_DIAG_UNVERIFIED), id[0] == '\0');
    ck_assert_int_eq(fm_store_module_row(r.store, r.module)->verified, id[0] != '\0');
    looked_has(&r, "symbols used (.symtab)");
    fm_store_free(r.store);
}

START_TEST(library_in_symfs)
{
    put_file("tiny.so", "fs/usr/lib/tiny.so", false);
    expect_all("/usr/lib/tiny.so", TINY_ID);
    expect_all("/usr/lib/tiny.so", "");
}
END_TEST

START_TEST(callers_are_looked_up_before_the_return_address)
{
    static const struct ask before[] = { { 0x46e, true, "beta" }, { 0x46e, false, "alpha" },
                                         { 0x2000, true, NULL }, { 0x456, true, "inside" },
                                         { 0, true, NULL }, { 0x448, true, "ext_two@plt" },
                                         { 0x420, true, "ext_one@plt" } };
    static const struct ask exact[] = { { 0x46e, true, "alpha" }, { 0x46e, false, "alpha" },
                                        { 0x2000, true, "far_call" } };
    struct fm_symbol_options o = { .callers_exact = true };
    struct run r;

    put_file("tiny.so", "fs/usr/lib/tiny.so", false);
    r = run(&user, "/usr/lib/tiny.so", TINY_ID, &plain, before, FM_COUNT(before));
    fm_store_free(r.store);
    r = run(&user, "/usr/lib/tiny.so", TINY_ID, &o, exact, FM_COUNT(exact));
    fm_store_free(r.store);
}
END_TEST

START_TEST(styles_of_names)
{
    static const struct { enum fm_demangle style; const char *name, *raw, *cold; } want[] = {
        { FM_DEMANGLE_SHORT, "ns::mix", "_ZN2ns3mixEi", "ns::mix" },
        { FM_DEMANGLE_FULL, "ns::mix(int)", "_ZN2ns3mixEi", "ns::mix(int) [clone .cold]" },
        { FM_DEMANGLE_RAW, "_ZN2ns3mixEi", "", "_ZN2ns3mixEi.cold" },
    };

    put_file("tiny.so", "fs/usr/lib/tiny.so", false);
    for (size_t i = 0; i < FM_COUNT(want); i++) {
        const struct ask ask[] = { { 0x488, false, want[i].name }, { 0x457, false, want[i].cold },
                                   { 0x470, false, "alpha" } };
        struct fm_symbol_options o = { .demangle = want[i].style };
        struct run r = run(&user, "/usr/lib/tiny.so", TINY_ID, &o, ask, FM_COUNT(ask));
        const struct fm_frame_row *f = fm_store_frame_row(r.store, 0);
        ck_assert_str_eq(fm_store_str(r.store, f->raw, NULL), want[i].raw);
        f = fm_store_frame_row(r.store, 2);
        ck_assert_uint_eq(f->raw, 0);
        fm_store_free(r.store);
    }
}
END_TEST

START_TEST(another_build_id_is_refused)
{
    struct run r;

    put_file("other.so", "fs/usr/lib/tiny.so", false);
    r = run(&user, "/usr/lib/tiny.so", TINY_ID, &plain, nothing, FM_COUNT(nothing));
    ck_assert_uint_eq(diag(&r, FM_DIAG_BUILD_ID), 1);
    looked_has(&r, "fs/usr/lib/tiny.so: has build-id " OTHER_ID ", not used");
    fm_store_free(r.store);
    put_file("tiny-noid.so", "fs/usr/lib/tiny.so", false);
    r = run(&user, "/usr/lib/tiny.so", TINY_ID, &plain, nothing, FM_COUNT(nothing));
    ck_assert_uint_eq(diag(&r, FM_DIAG_BUILD_ID), 1);
    looked_has(&r, "has no build-id, not used");
    fm_store_free(r.store);
    /* The right file elsewhere is found all the same, and nobody is warned. */
    put_file("tiny.so", "cache/.build-id/00/112233445566778899aabbccddeeff00112233/elf", false);
    expect_all("/usr/lib/tiny.so", TINY_ID);
}
END_TEST

START_TEST(debug_link)
{
    struct run r;

    put_file("tiny-stripped.so", "fs/usr/lib/tiny.so", false);
    r = run(&user, "/usr/lib/tiny.so", TINY_ID, &plain, dynamic, FM_COUNT(dynamic));
    looked_has(&r, "names from .dynsym");
    fm_store_free(r.store);
    put_file("tiny.debug", "fs/usr/lib/.debug/tiny.debug", false);
    expect_all("/usr/lib/tiny.so", TINY_ID);
    expect_all("/usr/lib/tiny.so", "");
    put_file("tiny.debug", "fs/usr/lib/tiny.debug", false);
    expect_all("/usr/lib/tiny.so", TINY_ID);
    unlink(in_root("fs/usr/lib/.debug/tiny.debug"));
    unlink(in_root("fs/usr/lib/tiny.debug"));
    put_file("tiny.debug", "fs/usr/lib/debug/usr/lib/tiny.debug", false);
    expect_all("/usr/lib/tiny.so", TINY_ID);
    /* Of another build: refused by its build-id. */
    put_file("other.so", "fs/usr/lib/debug/usr/lib/tiny.debug", false);
    r = run(&user, "/usr/lib/tiny.so", TINY_ID, &plain, dynamic, FM_COUNT(dynamic));
    looked_has(&r, "debug link with another build-id, not used");
    ck_assert_uint_eq(diag(&r, FM_DIAG_BUILD_ID), 1);
    fm_store_free(r.store);
}
END_TEST

START_TEST(debug_link_without_build_id_by_crc)
{
    struct run r;

    put_file("tiny-noid.so", "fs/usr/lib/tiny.so", false);
    put_file("tiny.debug", "fs/usr/lib/tiny.debug", false);
    expect_all("/usr/lib/tiny.so", "");
    put_file("tiny.debug", "fs/usr/lib/tiny.debug", true);
    r = run(&user, "/usr/lib/tiny.so", "", &plain, dynamic, FM_COUNT(dynamic));
    looked_has(&r, "debug link with another CRC, not used");
    fm_store_free(r.store);
}
END_TEST

START_TEST(build_id_cache_and_debug_folders)
{
    static const char *const place[] = {
        "cache/.build-id/00/112233445566778899aabbccddeeff00112233/elf",
        "cache/.build-id/00/112233445566778899aabbccddeeff00112233",
        "cache/usr/lib/tiny.so/" TINY_ID "/elf",
    };
    static const char *const debug[] = {
        "cache/.build-id/00/112233445566778899aabbccddeeff00112233/debug",
        "fs/usr/lib/debug/usr/lib/tiny.so.debug",
        "fs/usr/lib/debug/usr/lib/tiny.so",
        "fs/usr/lib/debug/.build-id/00/112233445566778899aabbccddeeff00112233.debug",
    };
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'/*", root);
    for (size_t i = 0; i < FM_COUNT(place); i++) {
        put_file("tiny.so", place[i], false);
        expect_all("/usr/lib/tiny.so", TINY_ID);
        ck_assert_int_eq(system(command), 0);
    }
    for (size_t i = 0; i < FM_COUNT(debug); i++) {
        struct run r;
        put_file("tiny.debug", debug[i], false);
        /* Its own offsets mean nothing: without the file that was mapped nothing is named. */
        r = run(&user, "/usr/lib/tiny.so", TINY_ID, &plain, nothing, FM_COUNT(nothing));
        looked_has(&r, "the file itself is needed for its program headers");
        fm_store_free(r.store);
        put_file("tiny-stripped.so", "fs/usr/lib/tiny.so", false);
        expect_all("/usr/lib/tiny.so", TINY_ID);
        ck_assert_int_eq(system(command), 0);
    }
}
END_TEST

START_TEST(padded_build_ids_of_old_recordings)
{
    ck_assert(fm_build_id_equal("0123456789abcdef0123456789abcdef",
                                "0123456789abcdef0123456789abcdef00000000"));
    ck_assert(!fm_build_id_equal("0123456789abcdef0123456789abcdef",
                                 "0123456789abcdef0123456789abcdef00000001"));
    ck_assert(!fm_build_id_equal("", ""));
    ck_assert(!fm_build_id_equal("01", "02"));
}
END_TEST

START_TEST(mini_debug_info)
{
    static const struct ask ask[] = { { 0x470, false, "alpha" }, { 0x45e, false, "beta" },
                                      { 0x420, false, "ext_one@plt" } };
    struct run r;

    put_file("tiny-mini.so", "fs/usr/lib/tiny.so", false);
    r = run(&user, "/usr/lib/tiny.so", TINY_ID, &plain, ask, FM_COUNT(ask));
    looked_has(&r, "names from .gnu_debugdata and .dynsym");
    fm_store_free(r.store);
}
END_TEST

START_TEST(deleted_files)
{
    struct run r;

    put_file("tiny.so", "fs/usr/lib/tiny.so", false);
    expect_all("/usr/lib/tiny.so (deleted)", TINY_ID);
    r = run(&user, "/usr/lib/tiny.so (deleted)", "", &plain, nothing, FM_COUNT(nothing));
    looked_has(&r, "deleted while recording and no build-id, not used");
    fm_store_free(r.store);
    put_file("other.so", "fs/usr/lib/tiny.so", false);
    r = run(&user, "/usr/lib/tiny.so (deleted)", TINY_ID, &plain, nothing, FM_COUNT(nothing));
    ck_assert_uint_eq(diag(&r, FM_DIAG_BUILD_ID), 1);
    fm_store_free(r.store);
}
END_TEST

START_TEST(places_that_are_not_looked_at)
{
    static const char *const pseudo[] = { "//anon", "[heap]", "[stack]", "/dev/zero (deleted)",
                                          "/memfd:jit (deleted)", "/SYSV00000000 (deleted)",
                                          "/anon_hugepage (deleted)", "[vsyscall]", "[uprobes]" };
    struct fm_module_row inner = user;
    struct fm_symbol_options host = { .symfs = "" };
    struct run r;

    for (size_t i = 0; i < FM_COUNT(pseudo); i++) {
        r = run(&user, pseudo[i], "", &plain, nothing, FM_COUNT(nothing));
        looked_has(&r, "no file stands behind this mapping");
        fm_store_free(r.store);
    }
    inner.mnt_ns = 4026532000;
    r = run(&inner, "/bin/sh", "", &host, nothing, FM_COUNT(nothing));
    looked_has(&r, "of another mount namespace and no build-id, not used");
    fm_store_free(r.store);
    /* A pipe at the path must not block. */
    ck_assert_int_eq(mkfifo(in_root("fs/usr/lib/tiny.so"), 0600), 0);
    r = run(&user, "/usr/lib/tiny.so", TINY_ID, &plain, nothing, FM_COUNT(nothing));
    looked_has(&r, "not there");
    fm_store_free(r.store);
    write_file("fs/usr/lib/text", "no ELF file at all", 18);
    r = run(&user, "/usr/lib/text", "", &plain, nothing, FM_COUNT(nothing));
    ck_assert_uint_eq(diag(&r, FM_DIAG_ELF_BAD), 1);
    fm_store_free(r.store);
}
END_TEST

/* ----------------------------------------------------------------- kernel */

static const char kallsyms[] = "ffffffff81000000 T _text\n"
                               "ffffffff81001000 T do_work\n"
                               "ffffffff81002000 T _ZN4rust6kernelEv\n"
                               "ffffffffc0100000 t mod_fn\t[tiny]\n"
                               "ffffffffc0100010 t mod_late\t[tiny]\n";
static const struct fm_module_row kernel = { .kind = FM_MODULE_KERNEL, .pid = -1,
                                             .reference = 0xffffffff9e000000 };

START_TEST(kernel_by_kallsyms)
{
    static const struct ask moved[] = { { 0xffffffff9e001010, false, "do_work" },
                                        { 0xffffffff9e002000, true, "do_work" },
                                        { 0xffffffff9e002000, false, "_ZN4rust6kernelEv" },
                                        { 0xffffffff81001010, false, NULL } };
    static const struct ask none[] = { { 0xffffffff9e001010, false, NULL } };
    struct fm_symbol_options o = { 0 };
    char path[600];
    struct run r;

    write_file("k", kallsyms, sizeof kallsyms - 1);
    snprintf(path, sizeof path, "%s", in_root("k"));
    o.kallsyms = path;
    r = run(&kernel, "[kernel.kallsyms]_text", "", &o, moved, FM_COUNT(moved));
    ck_assert_uint_eq(diag(&r, FM_DIAG_NO_KALLSYMS), 0);
    looked_has(&r, "moved by 0x1d000000 to the recorded base");
    fm_store_free(r.store);
    /* The build-id cache: as a folder, and as the file itself. */
    write_file("cache/.build-id/ab/cdef0123/kallsyms", kallsyms, sizeof kallsyms - 1);
    r = run(&kernel, "[kernel.kallsyms]", "abcdef0123", &plain, moved, FM_COUNT(moved));
    fm_store_free(r.store);
    r = run(&kernel, "[kernel.kallsyms]", "abcdef0124", &plain, none, 1);
    ck_assert_uint_eq(diag(&r, FM_DIAG_NO_KALLSYMS), 1);
    fm_store_free(r.store);
    write_file("k", "0000000000000000 T _text\n0000000000000000 T do_work\n", 52);
    r = run(&kernel, "[kernel.kallsyms]_text", "", &o, none, 1);
    looked_has(&r, "all addresses of the kallsyms are 0");
    ck_assert_uint_eq(diag(&r, FM_DIAG_NO_KALLSYMS), 1);
    fm_store_free(r.store);
    /* Nothing given and no build-id: the kernel of this machine is never asked. */
    r = run(&kernel, "[kernel.kallsyms]_text", "", &plain, none, 1);
    looked_has(&r, "kernel without build-id");
    fm_store_free(r.store);
}
END_TEST

START_TEST(kernel_by_vmlinux)
{
    static const struct elfmake_symbol symbol[] = {
        { "_text", 0xffffffff81000000, 0, STT_NOTYPE, STB_GLOBAL, 0, 1 },
        { "do_work", 0xffffffff81000010, 0x20, STT_FUNC, STB_GLOBAL, 0, 1 },
    };
    static const struct elfmake make = { .wide = true, .type = ET_EXEC, .machine = EM_X86_64,
                                         .text_address = 0xffffffff81000000, .text_size = 0x80,
                                         .build_id = "\x01\xab\xcd\xef", .symbol = symbol,
                                         .symbols = FM_COUNT(symbol) };
    static const struct ask ask[] = { { 0xffffffff9e00002f, false, "do_work" },
                                      { 0xffffffff9e000030, false, NULL } };
    static const struct ask none[] = { { 0xffffffff9e00002f, false, NULL } };
    unsigned char bytes[ELFMAKE_MAX];
    struct fm_symbol_options o = { .os_release = "6.1.0-test" };
    char path[600];
    uint64_t offset;
    size_t n = elfmake(&make, bytes, &offset);
    struct run r;

    write_file("vmlinux", bytes, n);
    snprintf(path, sizeof path, "%s", in_root("vmlinux"));
    o.vmlinux = path;
    r = run(&kernel, "[kernel.kallsyms]_text", "01abcdef", &o, ask, FM_COUNT(ask));
    ck_assert(fm_store_module_row(r.store, r.module)->verified);
    fm_store_free(r.store);
    r = run(&kernel, "[kernel.kallsyms]_text", "01abcdee", &o, none, 1);
    ck_assert_uint_eq(diag(&r, FM_DIAG_BUILD_ID), 1);
    fm_store_free(r.store);
    o.vmlinux = NULL;
    write_file("fs/usr/lib/debug/lib/modules/6.1.0-test/vmlinux", bytes, n);
    r = run(&kernel, "[kernel.kallsyms]_text", "01abcdef", &o, ask, FM_COUNT(ask));
    fm_store_free(r.store);
}
END_TEST

START_TEST(kernel_modules)
{
    static const struct fm_module_row module = { .kind = FM_MODULE_KMODULE, .pid = -1,
                                                 .start = 0xffffffffc0100000,
                                                 .end = 0xffffffffc0102000 };
    static const struct ask file[] = { { 0x0, false, "ko_first" }, { 0x14, false, "ko_cold" } };
    static const struct ask list[] = { { 0x4, false, "mod_fn" }, { 0x14, false, "mod_late" },
                                       { 0x10, true, "mod_fn" } };
    struct fm_symbol_options o = { 0 };
    char path[600];
    struct run r;

    put_file("tiny.ko", "fs/lib/modules/6.1/kernel/tiny.ko", false);
    r = run(&module, "/lib/modules/6.1/kernel/tiny.ko.xz", "", &plain, file, FM_COUNT(file));
    fm_store_free(r.store);
    write_file("k", kallsyms, sizeof kallsyms - 1);
    snprintf(path, sizeof path, "%s", in_root("k"));
    o.kallsyms = path;
    {
        /* kallsyms is only asked when the source has a kernel */
        struct fm_builder *b;
        struct fm_module_row k = kernel, m = module;
        struct fm_store *store;
        fm_frame frame[3];
        o.symfs = symfs;
        o.buildid_dir = cache;
        ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
        fm_builder_source(b, "a.data", "perf");
        m.path = fm_builder_str(b, "[tiny]", 6);
        k.path = fm_builder_str(b, "[kernel.kallsyms]_text", 22);
        m.build_id = k.build_id = fm_builder_str(b, "", 0);
        k.source = m.source = 0;
        for (size_t i = 0; i < 3; i++) {
            struct fm_frame_row f = { .module = fm_builder_module(b, &m), .kind = FM_FRAME_KERNEL,
                                      .address = list[i].address, .caller = list[i].caller };
            frame[i] = fm_builder_frame(b, &f);
        }
        fm_builder_module(b, &k);
        ck_assert_int_eq(fm_builder_seal(b, NULL, &store, NULL), FM_OK);
        ck_assert_int_eq(fm_symbolize(ctx, store, &o, NULL), FM_OK);
        for (size_t i = 0; i < 3; i++)
            ck_assert_str_eq(fm_store_str(store, fm_store_frame_row(store, frame[i])->function,
                                          NULL), list[i].name);
        fm_store_free(store);
    }
}
END_TEST

/* This process's vdso as a file: its size is the end of its section headers (64 bit only). */
static struct fm_elf *own_vdso(void)
{
    const unsigned long at = getauxval(AT_SYSINFO_EHDR);
    struct fm_image image;
    struct fm_elf *elf = NULL;
    Elf64_Ehdr header;

    if (at == 0 || sizeof(void *) != 8)
        return NULL;
    memcpy(&header, (const void *)at, sizeof header);
    ck_assert_int_eq(fm_image_copy(ctx, (const void *)at, header.e_shoff + (size_t)header.e_shnum *
                                   header.e_shentsize, &image), FM_OK);
    ck_assert_int_eq(fm_elf_open(ctx, &image, &elf), FM_OK);
    return elf;
}

/* The vdso of this process is used for its own build-id and no other. */
START_TEST(vdso)
{
    static const struct fm_module_row module = { .kind = FM_MODULE_VDSO, .pid = -1 };
    static const struct ask none[] = { { 0x800, false, NULL } };
    struct fm_elf *elf;
    char id[FM_BUILD_ID_TEXT], name[64] = "";
    struct fm_point point[1024];
    struct fm_match match;
    const struct fm_symbol_options host = { .symfs = "" };
    struct ask ask = { 0 };
    struct run r;

    r = run(&module, "[vdso]", "", &plain, none, 1);
    looked_has(&r, "no build-id recorded");
    fm_store_free(r.store);
    r = run(&module, "[vdso]", TINY_ID, &plain, none, 1);
    fm_store_free(r.store);
    put_file("tiny.so", "cache/.build-id/00/112233445566778899aabbccddeeff00112233/vdso", false);
    r = run(&module, "[vdso]", TINY_ID, &plain, all, FM_COUNT(all));
    fm_store_free(r.store);
    elf = own_vdso();
    if (elf == NULL)
        return;
    snprintf(id, sizeof id, "%s", fm_elf_build_id(elf));
    for (uint32_t i = 0; i < FM_COUNT(point); i++)
        point[i] = (struct fm_point){ .address = 16 * i, .user = i };
    ck_assert_int_eq(fm_match_init(&match, &ctx->mem, point, FM_COUNT(point)), FM_OK);
    fm_elf_symbols(elf, FM_ELF_DYNSYM, 0, &match);
    ck_assert_int_eq(fm_match_finish(&match), FM_OK);
    for (size_t i = 0; i < FM_COUNT(point) && name[0] == '\0'; i++) {
        if (point[i].pick == UINT32_MAX)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)match.pick[point[i].pick].length,
                 match.pick[point[i].pick].name);
        ask.address = point[i].address;
    }
    fm_match_release(&match);
    fm_elf_close(elf);
    if (id[0] == '\0' || name[0] == '\0')
        return;
    ask.name = name;
    r = run(&module, "[vdso]", id, &host, &ask, 1);
    looked_has(&r, "[vdso] of this machine: symbols used");
    fm_store_free(r.store);
    /* a root folder of symbols stands for the recorded machine: this one is not asked */
    ask.name = NULL;
    r = run(&module, "[vdso]", id, &plain, &ask, 1);
    looked_has(&r, "not used with a symbol root folder");
    fm_store_free(r.store);
}
END_TEST

/* --------------------------------------------------------------- perf map */

START_TEST(perf_maps)
{
    static const char map[] = "1000 100 old\n1080 80 void a.B.run(int)\n"
                              "2000 10 py::f:/a.py\n3000 10 JS:~g /b.js:7:3\n";
    static const struct ask want[] = { { 0x1010, false, "old" },
                                       { 0x1080, false, "a/B.run" },
                                       { 0x1080, true, "old" }, { 0x1100, false, NULL },
                                       { 0x2000, false, "f" }, { 0x3000, false, "g" } };
    const struct fm_frame_row *row;
    struct fm_module_row module = { .kind = FM_MODULE_JIT, .pid = 99999999 };
    struct fm_symbol_options o = { 0 };
    struct utimbuf old = { 1000, 1000 };
    char folder[600];
    struct run r;

    write_file("maps/perf-99999999.map", map, sizeof map - 1);
    snprintf(folder, sizeof folder, "%s/maps", root);
    o.map_dir = folder;
    r = run(&module, "//anon", "", &o, want, FM_COUNT(want));
    ck_assert_int_eq(fm_store_frame_row(r.store, 0)->kind, FM_FRAME_JIT);
    ck_assert_int_eq(fm_store_frame_row(r.store, 3)->kind, FM_FRAME_USER);
    row = fm_store_frame_row(r.store, 1);
    ck_assert_str_eq(fm_store_str(r.store, row->raw, NULL), "void a.B.run(int)");
    row = fm_store_frame_row(r.store, 4);
    ck_assert_int_eq(row->kind, FM_FRAME_PYTHON);
    ck_assert_str_eq(fm_store_str(r.store, row->file, NULL), "/a.py");
    row = fm_store_frame_row(r.store, 5);
    ck_assert_int_eq(row->kind, FM_FRAME_INTERPRETED);
    ck_assert_uint_eq(row->line, 7);
    ck_assert_uint_eq(diag(&r, FM_DIAG_MAP_STALE), 0);
    looked_has(&r, "maps/perf-99999999.map: names used");
    fm_store_free(r.store);
    /* Beside the input; older than the recording. */
    o.map_dir = NULL;
    o.input_dir = folder;
    ck_assert_int_eq(utime(in_root("maps/perf-99999999.map"), &old), 0);
    r = run(&module, "//anon", "", &o, want, FM_COUNT(want));
    ck_assert_uint_eq(diag(&r, FM_DIAG_MAP_STALE), 1);
    fm_store_free(r.store);
    /* Another process's code is another module. */
    module.pid = 99999998;
    r = run(&module, "//anon", "", &o, nothing, FM_COUNT(nothing));
    looked_has(&r, "/tmp/perf-99999998.map: not there");
    fm_store_free(r.store);
}
END_TEST

/* ----------------------------------------------------------------- memory */

START_TEST(every_failing_allocation_is_reported)
{
    struct fm_symbol_options o = { .symfs = symfs, .buildid_dir = cache };
    bool done = false;

    put_file("tiny-mini.so", "fs/usr/lib/tiny.so", false);
    for (uint64_t nth = 1; !done; nth++) {
        struct fm_module_row module = user;
        struct fm_builder *b;
        struct fm_store *store;
        enum fm_status status;
        ck_assert_uint_lt(nth, 500);
        ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
        module.source = fm_builder_source(b, "a.data", "perf");
        module.path = fm_builder_str(b, "/usr/lib/tiny.so", 16);
        module.build_id = fm_builder_str(b, "", 0);
        for (uint64_t i = 0; i < 16; i++) {
            struct fm_frame_row f = { .module = fm_builder_module(b, &module),
                                      .address = 0x410 + 8 * i, .kind = FM_FRAME_USER };
            fm_builder_frame(b, &f);
        }
        ck_assert_int_eq(fm_builder_seal(b, NULL, &store, NULL), FM_OK);
        ctx->mem.fail_at = atomic_load(&ctx->mem.allocations) + nth;
        status = fm_symbolize(ctx, store, &o, NULL);
        done = atomic_load(&ctx->mem.allocations) < ctx->mem.fail_at;
        ck_assert(status == FM_NOMEM || (status == FM_OK && done));
        ctx->mem.fail_at = 0;
        fm_store_free(store);
        ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("symbol");
    TCase *t = tcase_create("symbol");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, library_in_symfs);
    tcase_add_test(t, callers_are_looked_up_before_the_return_address);
    tcase_add_test(t, styles_of_names);
    tcase_add_test(t, another_build_id_is_refused);
    tcase_add_test(t, debug_link);
    tcase_add_test(t, debug_link_without_build_id_by_crc);
    tcase_add_test(t, build_id_cache_and_debug_folders);
    tcase_add_test(t, padded_build_ids_of_old_recordings);
    tcase_add_test(t, mini_debug_info);
    tcase_add_test(t, deleted_files);
    tcase_add_test(t, places_that_are_not_looked_at);
    tcase_add_test(t, kernel_by_kallsyms);
    tcase_add_test(t, kernel_by_vmlinux);
    tcase_add_test(t, kernel_modules);
    tcase_add_test(t, vdso);
    tcase_add_test(t, perf_maps);
    tcase_add_test(t, every_failing_allocation_is_reported);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
