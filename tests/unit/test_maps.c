/*
 * test_maps.c - kallsyms (kernel, modules, relocation, restricted, damage) and perf-PID.map (the
 * last line wins, broken lines, compressed file).
 */
#include "symbol/maps.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

/* --------------------------------------------------------------- kallsyms */

static const char text[] =
    "0000000000000000 A per_cpu_start\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81001000 T first\n"
    "ffffffff81001000 t alias_later\n"
    "ffffffff81002000 W weak_fn\n"
    "ffffffff81003000 R rodata_is_no_code\n"
    "garbage line\n"
    "ffffffff81003800 t $x\n"
    "ffffffff81004010 t last_core\n"
    "ffffffffc0000000 t mod_one\t[ext4]\n"
    "ffffffffc0000100 t mod_two\t[ext4]\r\n"
    "ffffffffc0000200 t other\t[snd_hda_codec]\n"
    "ffffffffc0001000 t bpf_prog_1\t[bpf]";

static const char *kernel_name(const char *module, uint64_t start, uint64_t end,
                               uint64_t reference, uint64_t address, struct fm_kallsyms *out)
{
    static char buf[64];
    struct fm_kallsyms k = { .text = text, .n = sizeof text - 1, .module = module, .start = start,
                             .end = end, .reference = reference };
    struct fm_point point = { .address = address };
    struct fm_match match;

    ck_assert_int_eq(fm_match_init(&match, &ctx->mem, &point, 1), FM_OK);
    fm_kallsyms_symbols(&k, &match);
    ck_assert_int_eq(fm_match_finish(&match), FM_OK);
    buf[0] = '\0';
    if (point.pick != UINT32_MAX)
        snprintf(buf, sizeof buf, "%.*s", (int)match.pick[point.pick].length,
                 match.pick[point.pick].name);
    fm_match_release(&match);
    if (out != NULL)
        *out = k;
    return buf;
}

static const char *core(uint64_t address)
{
    return kernel_name(NULL, 0, 0, 0, address, NULL);
}

START_TEST(kernel_symbols_reach_to_the_next)
{
    ck_assert_str_eq(core(0xffffffff80ffffff), "");
    ck_assert_str_eq(core(0xffffffff81000fff), "_text");
    ck_assert_str_eq(core(0xffffffff81001fff), "alias_later");
    ck_assert_str_eq(core(0xffffffff81003900), "weak_fn");
    ck_assert_str_eq(core(0xffffffff81004010), "last_core");
    ck_assert_str_eq(core(0xffffffff81005fff), "last_core");
    ck_assert_str_eq(core(0xffffffff81006000), "");
    ck_assert_str_eq(core(0xffffffffc0000110), "");
}
END_TEST

START_TEST(modules_have_their_own_symbols)
{
    ck_assert_str_eq(kernel_name("ext4", 0, 0, 0, 0xffffffffc00000ff, NULL), "mod_one");
    ck_assert_str_eq(kernel_name("ext4", 0, 0, 0, 0xffffffffc0000150, NULL), "mod_two");
    ck_assert_str_eq(kernel_name("snd-hda-codec", 0, 0, 0, 0xffffffffc0000210, NULL), "other");
    ck_assert_str_eq(kernel_name("bpf", 0, 0, 0, 0xffffffffc0001004, NULL), "bpf_prog_1");
    ck_assert_str_eq(kernel_name("xfs", 0, 0, 0, 0xffffffffc0000010, NULL), "");
    /* Loaded elsewhere than in this list: nothing is said. */
    ck_assert_str_eq(kernel_name("ext4", 0xffffffffc0700000, 0xffffffffc0701000, 0,
                                 0xffffffffc0700010, NULL), "");
}
END_TEST

START_TEST(another_base_shifts_all)
{
    struct fm_kallsyms k;

    ck_assert_str_eq(kernel_name(NULL, 0, 0, 0xffffffff9e000000, 0xffffffff9e001004, &k),
                     "alias_later");
    ck_assert_uint_eq(k.shift, 0x1d000000);
    ck_assert_str_eq(kernel_name(NULL, 0, 0, 0xffffffff9e000000, 0xffffffff81001004, NULL), "");
    ck_assert_str_eq(kernel_name(NULL, 0, 0, 0xffffffff81000000, 0xffffffff81001004, &k),
                     "alias_later");
    ck_assert_uint_eq(k.shift, 0);
    /* Down as well. */
    ck_assert_str_eq(kernel_name(NULL, 0, 0, 0xffffffff80000000, 0xffffffff80001004, NULL),
                     "alias_later");
}
END_TEST

START_TEST(restricted_lists_name_nothing)
{
    static const char zeros[] = "0000000000000000 T _text\n0000000000000000 T first\n";
    struct fm_kallsyms k = { .text = zeros, .n = sizeof zeros - 1 };
    struct fm_point point = { .address = 0x1000 };
    struct fm_match match;

    ck_assert_int_eq(fm_match_init(&match, &ctx->mem, &point, 1), FM_OK);
    fm_kallsyms_symbols(&k, &match);
    ck_assert_int_eq(fm_match_finish(&match), FM_OK);
    ck_assert_uint_eq(point.pick, UINT32_MAX);
    ck_assert(k.restricted);
    ck_assert_uint_eq(k.symbols, 0);
    fm_match_release(&match);
}
END_TEST

START_TEST(changed_lists_end_cleanly)
{
    uint64_t seed = 3;

    for (int round = 0; round < 2000; round++) {
        char *copy = malloc(sizeof text - 1);
        struct fm_kallsyms k = { .text = copy, .n = sizeof text - 1,
                                 .module = round % 3 ? NULL : "ext4" };
        struct fm_point point[2] = { { .address = 0xffffffff81001000 },
                                     { .address = 0xffffffffc0000110 } };
        struct fm_match match;
        memcpy(copy, text, sizeof text - 1);
        for (int i = 0; i < 6; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            copy[(seed >> 33) % k.n] = (char)(seed >> 56);
        }
        k.n -= (seed >> 20) % k.n;
        ck_assert_int_eq(fm_match_init(&match, &ctx->mem, point, 2), FM_OK);
        fm_kallsyms_symbols(&k, &match);
        ck_assert_int_eq(fm_match_finish(&match), FM_OK);
        fm_match_release(&match);
        free(copy);
    }
}
END_TEST

/* --------------------------------------------------------------- perf map */

#define POINTS 8

static void read_map(const char *map_text, size_t n, const uint64_t *address, const char **name,
                     struct fm_perfmap *map)
{
    struct fm_point point[POINTS];

    for (uint32_t i = 0; i < POINTS; i++) {
        point[i].address = address[i];
        point[i].user = i;
    }
    ck_assert_int_eq(fm_points_sort(&ctx->mem, point, POINTS), FM_OK);
    ck_assert_int_eq(fm_perfmap_parse(map, ctx, map_text, n, point, POINTS), FM_OK);
    for (size_t i = 0; i < POINTS; i++)
        name[point[i].user] = point[i].pick == UINT32_MAX ? "" : map->name[point[i].pick].text;
}

START_TEST(last_line_wins_where_ranges_overlap)
{
    static const char map_text[] = "1000 100 jit alpha(int)\n"
                                   "0x1080 0x100 void pkg.Cls.m(int, long)\r\n"
                                   "not a line\n"
                                   "\n"
                                   "1010 zz bad size\n"
                                   "2000 0 nothing\n"
                                   "3000 10\n"
                                   "1040 20 re;placed\n"
                                   "fffffffffffffff0 100 top\n"
                                   "1100 8 tail without line feed";
    static const uint64_t address[POINTS] = { 0x1000, 0x1040, 0x1060, 0x1080, 0x1100, 0x1108,
                                              0xfffffffffffffff5, 0x1180 };
    static const char *const want[POINTS] = {
        "jit alpha(int)", "re;placed", "jit alpha(int)", "void pkg.Cls.m(int, long)",
        "tail without line feed", "void pkg.Cls.m(int, long)", "top", ""
    };
    const char *name[POINTS];
    struct fm_perfmap map;

    read_map(map_text, sizeof map_text - 1, address, name, &map);
    for (size_t i = 0; i < POINTS; i++)
        ck_assert_str_eq(name[i], want[i]);
    ck_assert_uint_eq(map.lines, 9);
    ck_assert_uint_eq(map.broken, 4);
    fm_perfmap_release(&map, ctx);
}
END_TEST

/* Against a judge that goes through all lines for each address. */
START_TEST(random_maps_agree_with_a_simple_judge)
{
    enum { LINES = 100 };
    uint64_t seed = 9;

    for (int round = 0; round < 200; round++) {
        uint64_t start[LINES], size[LINES], address[POINTS];
        const char *name[POINTS];
        char map_text[LINES * 32];
        struct fm_perfmap map;
        size_t n = 0;
        for (int i = 0; i < LINES; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            start[i] = (seed >> 33) % 4000;
            size[i] = 1 + (seed >> 20) % 500;
            n += (size_t)snprintf(map_text + n, sizeof map_text - n, "%llx %llx n%d\n",
                                  (unsigned long long)start[i], (unsigned long long)size[i], i);
        }
        for (int i = 0; i < POINTS; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            address[i] = (seed >> 33) % 4600;
        }
        read_map(map_text, n, address, name, &map);
        for (int i = 0; i < POINTS; i++) {
            char want[16] = "";
            for (int k = 0; k < LINES; k++) {
                if (address[i] >= start[k] && address[i] - start[k] < size[k])
                    snprintf(want, sizeof want, "n%d", k);
            }
            ck_assert_str_eq(name[i], want);
        }
        fm_perfmap_release(&map, ctx);
    }
}
END_TEST

START_TEST(files_are_read_line_by_line)
{
    char path[] = "/tmp/foldmill-map-XXXXXX";
    struct fm_point point[2] = { { .address = 0x1000005 }, { .address = 0x2000005 } };
    struct fm_perfmap map;
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");

    ck_assert_ptr_nonnull(f);
    for (unsigned i = 0; i < 50000; i++)
        fprintf(f, "%x 10 fn_%u with a rather long name to fill windows\n", 0x1000000 + i * 16, i);
    for (unsigned i = 0; i < 200000; i++)
        fputc('x', f);
    fprintf(f, "\n2000000 10 after a very long line\n");
    fclose(f);
    ck_assert_int_eq(fm_perfmap_read(&map, ctx, path, point, 2), FM_OK);
    ck_assert_str_eq(map.name[point[0].pick].text, "fn_0 with a rather long name to fill windows");
    ck_assert_str_eq(map.name[point[1].pick].text, "after a very long line");
    ck_assert_uint_eq(map.names, 2);
    fm_perfmap_release(&map, ctx);
    unlink(path);
    ck_assert_int_eq(fm_perfmap_read(&map, ctx, path, point, 2), FM_IO);
    fm_perfmap_release(&map, ctx);
}
END_TEST

START_TEST(changed_maps_end_cleanly)
{
    static const char map_text[] = "1000 100 alpha\n1080 100 beta\n1040 20 gamma\n";
    static const uint64_t address[POINTS] = { 0x1000, 0x1040, 0x1080, 0, 1, 2, 3, 0x1200 };
    uint64_t seed = 5;

    for (int round = 0; round < 2000; round++) {
        size_t n = sizeof map_text - 1;
        char *copy = malloc(n);
        const char *name[POINTS];
        struct fm_perfmap map;
        memcpy(copy, map_text, n);
        for (int i = 0; i < 4; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            copy[(seed >> 33) % n] = (char)(seed >> 56);
        }
        read_map(copy, n - (seed >> 20) % n, address, name, &map);
        fm_perfmap_release(&map, ctx);
        free(copy);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("maps");
    TCase *t = tcase_create("maps");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, kernel_symbols_reach_to_the_next);
    tcase_add_test(t, modules_have_their_own_symbols);
    tcase_add_test(t, another_base_shifts_all);
    tcase_add_test(t, restricted_lists_name_nothing);
    tcase_add_test(t, changed_lists_end_cleanly);
    tcase_add_test(t, last_line_wins_where_ranges_overlap);
    tcase_add_test(t, random_maps_agree_with_a_simple_judge);
    tcase_add_test(t, files_are_read_line_by_line);
    tcase_add_test(t, changed_maps_end_cleanly);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
