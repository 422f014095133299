/*
 * test_util.c - errors, memory, arenas, findings, hash map, cursor, writer, text, threads.
 */
#include "util/ctx.h"
#include "util/cursor.h"
#include "util/diag.h"
#include "util/error.h"
#include "util/map.h"
#include "util/out.h"
#include "util/text.h"
#include "util/work.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static struct fm_mem mem;

static void setup(void)
{
    fm_mem_init(&mem, 0);
}

static void nothing_held(void)
{
    ck_assert_uint_eq(atomic_load(&mem.used), 0);
}

/* ------------------------------------------------------------------ errors */

START_TEST(error_first_failure_wins)
{
    struct fm_error err = {0};
    char buf[600];

    ck_assert_int_eq(fm_error_at(&err, FM_FORMAT, "a.data", 104, "size %d", 7), FM_FORMAT);
    ck_assert_int_eq(fm_error_set(&err, FM_NOMEM, "other"), FM_NOMEM);
    ck_assert_int_eq(err.status, FM_FORMAT);
    fm_error_text(&err, buf, sizeof buf);
    ck_assert_str_eq(buf, "a.data: offset 104: error: size 7");
    fm_error_clear(&err);
    fm_error_line(&err, FM_CONFIG, "q.yaml", 12, 5, "unknown step");
    fm_error_text(&err, buf, sizeof buf);
    ck_assert_str_eq(buf, "q.yaml:12:5: error: unknown step");
    fm_error_clear(&err);
    ck_assert_int_eq(fm_error_sys(&err, 2, "x", "cannot open"), FM_IO);
    ck_assert_str_eq(err.message, "cannot open: No such file or directory");
    ck_assert_int_eq(fm_error_set(NULL, FM_LIMIT, "no place"), FM_LIMIT);
}
END_TEST

START_TEST(error_long_texts_are_cut_whole)
{
    struct fm_error err = {0};
    char name[400], text[1000];

    memset(name, 'd', sizeof name);
    memcpy(name + sizeof name - 9, "/end.jfr", 9);
    memset(text, 0, sizeof text);
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    fm_error_at(&err, FM_FORMAT, name, 0, "x%s", text);
    ck_assert_uint_lt(strlen(err.source), sizeof err.source);
    ck_assert_str_eq(err.source + strlen(err.source) - 8, "/end.jfr");
    ck_assert_uint_gt(strlen(err.message), 500);
    ck_assert(fm_utf8_valid(err.message, strlen(err.message)));
}
END_TEST

/* ------------------------------------------------------------------ memory */

START_TEST(mem_counts_cap_and_planned_failure)
{
    char *p, *q;

    mem.cap = 100;
    p = fm_mem_alloc(&mem, 60);
    ck_assert_ptr_nonnull(p);
    ck_assert_ptr_null(fm_mem_alloc(&mem, 41));
    p = fm_mem_realloc(&mem, p, 60, 100);
    ck_assert_ptr_nonnull(p);
    ck_assert_ptr_null(fm_mem_realloc(&mem, p, 100, 101));
    p = fm_mem_realloc(&mem, p, 100, 10);
    ck_assert_uint_eq(atomic_load(&mem.used), 10);
    ck_assert_uint_eq(atomic_load(&mem.peak), 100);
    fm_mem_free(&mem, p, 10);
    nothing_held();
    mem.cap = 0;
    mem.fail_at = atomic_load(&mem.allocations) + 2;
    q = fm_mem_alloc(&mem, 1);
    ck_assert_ptr_nonnull(q);
    ck_assert_ptr_null(fm_mem_alloc(&mem, 1));
    ck_assert_ptr_null(fm_mem_alloc(&mem, 1));
    fm_mem_free(&mem, q, 1);
    nothing_held();
}
END_TEST

START_TEST(mem_grow_refuses_overflow)
{
    uint64_t *item = NULL;
    size_t cap = 0;

    ck_assert(fm_grow(&mem, (void **)&item, &cap, 9, sizeof *item));
    ck_assert_uint_ge(cap, 9);
    ck_assert(!fm_grow(&mem, (void **)&item, &cap, SIZE_MAX / 4, sizeof *item));
    fm_mem_free(&mem, item, cap * sizeof *item);
    nothing_held();
}
END_TEST

START_TEST(arena_keeps_all_and_sticks_oom)
{
    struct fm_arena arena;
    char *word[3000];
    char *big;

    fm_arena_init(&arena, &mem);
    for (int i = 0; i < 3000; i++)
        word[i] = fm_arena_printf(&arena, "word %d of a longish text for the arena", i);
    big = fm_arena_alloc(&arena, 200000);
    ck_assert_ptr_nonnull(big);
    ck_assert_int_eq(big[199999], 0);
    ck_assert_str_eq(word[2999], "word 2999 of a longish text for the arena");
    ck_assert_str_eq(word[0], "word 0 of a longish text for the arena");
    fm_arena_clear(&arena);
    ck_assert_str_eq(fm_arena_strn(&arena, "abcdef", 3), "abc");
    mem.fail_at = 1;
    ck_assert_ptr_null(fm_arena_alloc(&arena, 100000));
    ck_assert(arena.oom);
    ck_assert_ptr_null(fm_arena_alloc(&arena, 1));
    fm_arena_release(&arena);
    nothing_held();
}
END_TEST

START_TEST(ctx_data_path_order)
{
    struct fm_ctx *ctx = fm_ctx_new();

    setenv("FOLDMILL_PATH", "/b::/c", 1);
    setenv("XDG_CONFIG_HOME", "/x", 1);
    ck_assert_int_eq(fm_ctx_add_data_dir(ctx, "/a"), FM_OK);
    ck_assert_str_eq(fm_ctx_data_dir(ctx, 0), "/a");
    ck_assert_str_eq(fm_ctx_data_dir(ctx, 1), "/b");
    ck_assert_str_eq(fm_ctx_data_dir(ctx, 2), "/c");
    ck_assert_str_eq(fm_ctx_data_dir(ctx, 3), "/x/foldmill");
    ck_assert_ptr_nonnull(fm_ctx_data_dir(ctx, 4));
    ck_assert_ptr_null(fm_ctx_data_dir(ctx, 5));
    unsetenv("XDG_CONFIG_HOME");
    setenv("HOME", "/h", 1);
    ck_assert_str_eq(fm_ctx_data_dir(ctx, 3), "/h/.config/foldmill");
    fm_ctx_free(ctx);
}
END_TEST

START_TEST(diags_count_and_keep_first_offset)
{
    struct fm_diags a, b;

    fm_diags_init(&a);
    fm_diags_init(&b);
    ck_assert_int_eq(fm_diags_worst(&a), -1);
    fm_diag_add(&a, FM_DIAG_THROTTLED, 500, 2);
    fm_diag_add(&b, FM_DIAG_THROTTLED, 100, 1);
    fm_diags_merge(&a, &b);
    ck_assert_uint_eq(a.row[FM_DIAG_THROTTLED].count, 3);
    ck_assert_uint_eq(a.row[FM_DIAG_THROTTLED].first_offset, 100);
    ck_assert_int_eq(fm_diags_worst(&a), FM_LOSS);
    fm_diag_add(&a, FM_DIAG_TRUNCATED, FM_NO_OFFSET, 1);
    ck_assert_int_eq(fm_diags_worst(&a), FM_DAMAGE);
    for (int i = 0; i < FM_DIAGS; i++)
        ck_assert_uint_gt(strlen(fm_diag_text((enum fm_diag)i)), 0);
}
END_TEST

START_TEST(map_finds_what_was_put)
{
    struct fm_map map;
    bool fresh;

    fm_map_init(&map, &mem);
    ck_assert_ptr_null(fm_map_find(&map, 0));
    for (uint64_t k = 0; k < 100000; k++) {
        uint64_t *v = fm_map_put(&map, k * k << 20, &fresh);
        ck_assert(fresh);
        *v = k;
    }
    for (uint64_t k = 0; k < 100000; k++)
        ck_assert_uint_eq(*fm_map_find(&map, k * k << 20), k);
    ck_assert_ptr_null(fm_map_find(&map, 3));
    ck_assert_uint_eq(*fm_map_put(&map, UINT64_C(49) << 20, &fresh), 7);
    ck_assert(!fresh);
    fm_map_release(&map);
    nothing_held();
}
END_TEST

/* ------------------------------------------------------------------ cursor */

START_TEST(cursor_reads_and_sticks)
{
    static const unsigned char b[] = {1, 2, 3, 4, 5, 6, 7, 8, 0xe5, 0x8e, 0x26, 'a', 'b', 0, 'c'};
    struct fm_cursor c, sub;
    size_t n;

    fm_cursor_init(&c, b, sizeof b, 1000, false);
    ck_assert_uint_eq(fm_cursor_u16(&c), 0x0201);
    ck_assert_uint_eq(fm_cursor_offset(&c), 1002);
    c.swap = true;
    ck_assert_uint_eq(fm_cursor_u32(&c), 0x03040506);
    sub = fm_cursor_sub(&c, 2);
    ck_assert_uint_eq(fm_cursor_u16(&sub), 0x0708);
    ck_assert_uint_eq(fm_cursor_u8(&sub), 0);
    ck_assert(!fm_cursor_ok(&sub));
    ck_assert(fm_cursor_ok(&c));
    ck_assert_uint_eq(fm_cursor_uleb(&c), 624485);
    ck_assert_int_eq(memcmp(fm_cursor_text(&c, 100, false, &n), "ab", 2), 0);
    ck_assert_uint_eq(n, 2);
    ck_assert_ptr_null(fm_cursor_text(&c, 100, false, &n));
    ck_assert(!fm_cursor_ok(&c));
    ck_assert_uint_eq(fm_cursor_u64(&c), 0);
}
END_TEST

START_TEST(cursor_leb_limits)
{
    static const unsigned char minus[] = {0x7f}, min[] = {0x80, 0x80, 0x80, 0x80, 0x80,
                                                          0x80, 0x80, 0x80, 0x80, 0x7f};
    static const unsigned char max[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
    static const unsigned char over[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2};
    struct fm_cursor c;

    fm_cursor_init(&c, minus, 1, 0, false);
    ck_assert_int_eq(fm_cursor_sleb(&c), -1);
    fm_cursor_init(&c, min, 10, 0, false);
    ck_assert_int_eq(fm_cursor_sleb(&c), INT64_MIN);
    fm_cursor_init(&c, max, 10, 0, false);
    ck_assert_uint_eq(fm_cursor_uleb(&c), UINT64_MAX);
    fm_cursor_init(&c, over, 10, 0, false);
    fm_cursor_uleb(&c);
    ck_assert(!fm_cursor_ok(&c));
    fm_cursor_init(&c, max, 5, 0, false);
    fm_cursor_uleb(&c);
    ck_assert(!fm_cursor_ok(&c));
}
END_TEST

/* ------------------------------------------------------------------ writer */

static const char *written(struct fm_out *out)
{
    fm_out_char(out, '\0');
    ck_assert_int_eq(out->status, FM_OK);
    return out->buf;
}

START_TEST(out_numbers)
{
    static const double v[] = {1, 0.5, -2.25, 1e30, 0.1, 1.0 / 3, 123456789012345680.0, 1e-7, 0};
    struct fm_out out;

    fm_out_init(&out, &mem, NULL);
    fm_out_u64(&out, UINT64_MAX);
    fm_out_char(&out, ' ');
    fm_out_i64(&out, INT64_MIN);
    fm_out_char(&out, ' ');
    fm_out_u128(&out, (fm_u128)UINT64_MAX * 10);
    fm_out_char(&out, ' ');
    fm_out_hex(&out, 0xffffffff81000000u);
    for (size_t i = 0; i < FM_COUNT(v); i++) {
        fm_out_char(&out, ' ');
        fm_out_f64(&out, v[i]);
    }
    fm_out_char(&out, ' ');
    fm_out_fixed(&out, 12.345, 1);
    ck_assert_str_eq(written(&out),
                     "18446744073709551615 -9223372036854775808 184467440737095516150 "
                     "ffffffff81000000 1 0.5 -2.25 1e+30 0.1 0.3333333333333333 "
                     "1.2345678901234568e+17 1e-7 0 12.3");
    fm_out_release(&out);
    nothing_held();
}
END_TEST

START_TEST(out_escapes)
{
    static const char evil[] = "a\"<b>&'\\\x01\n\xff\xc3\xa9\xe2\x80\xa8";
    struct fm_out out;

    fm_out_init(&out, &mem, NULL);
    fm_out_json(&out, evil, sizeof evil - 1);
    fm_out_char(&out, '|');
    fm_out_xml(&out, evil, sizeof evil - 1);
    fm_out_char(&out, '|');
    fm_out_csv(&out, "a,\"b\"", 5);
    fm_out_csv(&out, "plain", 5);
    ck_assert_str_eq(written(&out),
                     "\"a\\\"<b>&'\\\\\\u0001\\n\xef\xbf\xbd\xc3\xa9\\u2028\"|"
                     "a&quot;&lt;b&gt;&amp;&#39;\\\xef\xbf\xbd \xef\xbf\xbd\xc3\xa9\xe2\x80\xa8|"
                     "\"a,\"\"b\"\"\"plain");
    fm_out_release(&out);
}
END_TEST

static int fail_after(void *user, const void *data, size_t n)
{
    size_t *left = user;

    (void)data;
    if (n > *left)
        return 28; /* ENOSPC */
    *left -= n;
    return 0;
}

START_TEST(out_error_sticks)
{
    size_t left = 100000;
    struct fm_sink sink = {fail_after, &left};
    struct fm_error err = {0};
    struct fm_out out;

    fm_out_init(&out, &mem, &sink);
    for (int i = 0; i < 30000; i++)
        fm_out_text(&out, "0123456789");
    ck_assert_int_eq(fm_out_finish(&out, &err), FM_IO);
    ck_assert_str_eq(err.message, "cannot write: No space left on device");
    fm_out_release(&out);
    nothing_held();
}
END_TEST

/* -------------------------------------------------------------------- text */

START_TEST(text_numbers)
{
    uint64_t u = 7;
    int64_t i;
    double d;

    ck_assert(fm_text_u64("18446744073709551615", 20, &u) && u == UINT64_MAX);
    ck_assert(!fm_text_u64("18446744073709551616", 20, &u) && u == UINT64_MAX);
    ck_assert(!fm_text_u64("", 0, &u) && !fm_text_u64("1x", 2, &u) && !fm_text_u64("-1", 2, &u));
    ck_assert(fm_text_i64("-9223372036854775808", 20, &i) && i == INT64_MIN);
    ck_assert(!fm_text_i64("9223372036854775808", 19, &i));
    ck_assert(fm_text_hex("0xFf", 4, &u) && u == 255);
    ck_assert(!fm_text_hex("11111111111111111", 17, &u));
    ck_assert(fm_text_f64("-2.5e-3", 7, &d) && d == -2.5e-3);
    ck_assert(fm_text_f64(".1", 2, &d) && d == .1);
    ck_assert(fm_text_f64("17976931348623157e292", 21, &d) && d == 1.7976931348623157e308);
    ck_assert(!fm_text_f64("1e", 2, &d) && !fm_text_f64(".", 1, &d));
}
END_TEST

START_TEST(text_quantities)
{
    int64_t ns;
    uint64_t bytes;
    double v;
    const char *unit;

    ck_assert(fm_text_time("10ms", 4, &ns) && ns == 10000000);
    ck_assert(fm_text_time("1.000000001s", 12, &ns) && ns == 1000000001);
    ck_assert(fm_text_time("-2", 2, &ns) && ns == -2000000000);
    ck_assert(fm_text_time("1.5m", 4, &ns) && ns == 90000000000);
    ck_assert(fm_text_time("9223372036.854775807", 20, &ns) && ns == INT64_MAX);
    ck_assert(!fm_text_time("9223372036.854775808", 20, &ns));
    ck_assert(!fm_text_time("5kg", 3, &ns));
    ck_assert(fm_text_size("64KiB", 5, &bytes) && bytes == 65536);
    ck_assert(fm_text_size("2MB", 3, &bytes) && bytes == 2000000);
    ck_assert(!fm_text_size("-1", 2, &bytes));
    ck_assert(fm_text_quantity("5%", 2, &v, &unit) && v == 0.05 && unit[0] == '\0');
    ck_assert(fm_text_quantity("4KiB", 4, &v, &unit) && v == 4096 && strcmp(unit, "bytes") == 0);
    ck_assert(fm_text_quantity("0.5s", 4, &v, &unit) && v == 5e8 && strcmp(unit, "ns") == 0);
}
END_TEST

START_TEST(text_utf8)
{
    ck_assert(fm_utf8_valid("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10));
    ck_assert(!fm_utf8_valid("\xc0\x80", 2));         /* overlong */
    ck_assert(!fm_utf8_valid("\xed\xa0\x80", 3));     /* surrogate */
    ck_assert(!fm_utf8_valid("\xf4\x90\x80\x80", 4)); /* beyond the last plane */
    ck_assert(!fm_utf8_valid("\xe2\x82", 2));         /* cut */
    ck_assert_uint_eq(fm_utf8_count("\xc3\xa9\xff" "a", 4), 3);
    ck_assert_uint_eq(fm_utf8_width("a\xe4\xb8\xad\xcc\x81", 6), 3);
}
END_TEST

START_TEST(text_nearest)
{
    static const char *const name[] = {"group", "limit", "sort"};
    char buf[32];

    ck_assert_str_eq(fm_text_nearest("gruop", name, 3), "group");
    ck_assert_ptr_null(fm_text_nearest("agregate", name, 3));
    ck_assert_uint_eq(fm_text_distance("kitten", "sitting", 5), 3);
    ck_assert_str_eq(fm_text_commas(1234567, buf), "1,234,567");
    ck_assert_str_eq(fm_text_commas(0, buf), "0");
    ck_assert_str_eq(fm_text_ns(1234567, buf), "1.2 ms");
    ck_assert_str_eq(fm_text_bytes(1536, buf), "1.5 KiB");
    ck_assert_str_eq(fm_text_count(9999, buf), "9999");
}
END_TEST

static void square(void *user, size_t i)
{
    ((uint64_t *)user)[i] += (uint64_t)i * i;
}

START_TEST(work_does_every_job_once)
{
    uint64_t done[1000] = {0};

    fm_work_run(4, 1000, square, done);
    for (size_t i = 0; i < 1000; i++)
        ck_assert_uint_eq(done[i], i * i);
    fm_work_run(4, 0, square, done);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("util");
    TCase *t = tcase_create("util");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, error_first_failure_wins);
    tcase_add_test(t, error_long_texts_are_cut_whole);
    tcase_add_test(t, mem_counts_cap_and_planned_failure);
    tcase_add_test(t, mem_grow_refuses_overflow);
    tcase_add_test(t, arena_keeps_all_and_sticks_oom);
    tcase_add_test(t, ctx_data_path_order);
    tcase_add_test(t, diags_count_and_keep_first_offset);
    tcase_add_test(t, map_finds_what_was_put);
    tcase_add_test(t, cursor_reads_and_sticks);
    tcase_add_test(t, cursor_leb_limits);
    tcase_add_test(t, out_numbers);
    tcase_add_test(t, out_escapes);
    tcase_add_test(t, out_error_sticks);
    tcase_add_test(t, text_numbers);
    tcase_add_test(t, text_quantities);
    tcase_add_test(t, text_utf8);
    tcase_add_test(t, text_nearest);
    tcase_add_test(t, work_does_every_job_once);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
