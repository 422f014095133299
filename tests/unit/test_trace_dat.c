/*
 * test_trace_dat.c - pages of the kernel's ring buffer against libtraceevent's reader of them, and
 * hand-made trace.dat files: order, chains, lost events, names, damage.
 */
#include "import/ftrace/page.h"
#include "import/import.h"
#include "perf_make.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <traceevent/kbuffer.h>

#define PAGE 4096u

/* ------------------------------------------------------------------ making */

struct page {
    struct make m;
    unsigned long_size;
    uint64_t missed;            /* 0 none; UINT64_MAX not known how many */
};

static void page_begin(struct page *p, bool big, unsigned long_size, uint64_t time)
{
    memset(p, 0, sizeof *p);
    p->m.big = big;
    p->long_size = long_size;
    make_u64(&p->m, time);
    if (long_size == 8)
        make_u64(&p->m, 0);
    else
        make_u32(&p->m, 0);
}

static void put_head(struct page *p, unsigned type, uint32_t delta)
{
    make_u32(&p->m, p->m.big ? type << 27 | delta : delta << 5 | type);
}

/* An event of n bytes, n a multiple of 4, `fill` in each. */
static void put_event(struct page *p, uint32_t delta, const void *data, size_t n)
{
    if (n <= 112) {
        put_head(p, (unsigned)n / 4, delta);
    } else {
        put_head(p, 0, delta);
        make_u32(&p->m, (uint32_t)n + 4);
    }
    make_bytes(&p->m, data, n);
}

static void put_word(struct make *m, size_t at, uint64_t v, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        m->p[at + i] = (unsigned char)(v >> 8 * (m->big ? size - 1 - i : i));
}

static void page_end(struct page *p)
{
    unsigned head = 8 + p->long_size;
    uint64_t commit = p->m.n - head;
    if (p->missed != 0)
        commit |= UINT64_C(1) << 31;
    if (p->missed != 0 && p->missed != UINT64_MAX) {
        commit |= UINT64_C(1) << 30;
        if (p->long_size == 8)
            make_u64(&p->m, p->missed);
        else
            make_u32(&p->m, (uint32_t)p->missed);
    }
    put_word(&p->m, 8, commit, p->long_size);
    ck_assert_uint_le(p->m.n, PAGE);
    while (p->m.n < PAGE)
        make_u8(&p->m, 0);
}

/* ------------------------------------------------------------------ pages */

static void all_kinds(struct page *p, bool big, unsigned long_size)
{
    unsigned char data[300];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)i;
    page_begin(p, big, long_size, UINT64_C(0x0812345678901234));
    put_event(p, 5, data, 8);
    put_event(p, (1u << 27) - 1, data, 112);
    put_event(p, 1, data, 300);
    put_head(p, 30, 17);                    /* time extend */
    make_u32(&p->m, 3);
    put_event(p, 0, data, 4);
    put_head(p, 29, 9);                     /* a discarded event of 12 bytes */
    make_u32(&p->m, 16);
    make_bytes(&p->m, data, 12);
    put_event(p, 2, data, 12);
    p->missed = 77;
    page_end(p);
}

START_TEST(pages_as_kbuffer_reads_them)
{
    bool big = (_i & 1) != 0;
    unsigned long_size = (_i & 2) != 0 ? 4 : 8;
    struct page p;
    struct fm_page_shape shape;
    struct fm_page page;
    const unsigned char *data;
    unsigned long long time;
    size_t n, events = 0;
    struct kbuffer *k = kbuffer_alloc(long_size == 4 ? KBUFFER_LSIZE_4 : KBUFFER_LSIZE_8,
                                      big ? KBUFFER_ENDIAN_BIG : KBUFFER_ENDIAN_LITTLE);
    all_kinds(&p, big, long_size);
    fm_page_shape_init(&shape, big, long_size);
    ck_assert(fm_page_open(&page, &shape, p.m.p, p.m.n, 0));
    ck_assert_int_eq(kbuffer_load_subbuffer(k, p.m.p), 0);
    ck_assert_int_eq(kbuffer_missed_events(k), 77);
    ck_assert(page.missed);
    ck_assert_uint_eq(page.missed_n, 77);
    for (void *want = kbuffer_read_event(k, &time); want != NULL;
         want = kbuffer_next_event(k, &time), events++) {
        ck_assert_int_eq(fm_page_next(&page, &data, &n), FM_PAGE_EVENT);
        ck_assert_ptr_eq(data, want);
        ck_assert_uint_eq(page.time, time);
        ck_assert_uint_eq(n, (size_t)kbuffer_event_size(k));
    }
    ck_assert_uint_eq(events, 5);
    ck_assert_int_eq(fm_page_next(&page, &data, &n), FM_PAGE_END);
    kbuffer_free(k);
    free(p.m.p);
}
END_TEST

/* The kernel's absolute times have 59 bits; the upper ones are the page's. */
START_TEST(absolute_times)
{
    struct page p;
    struct fm_page_shape shape;
    struct fm_page page;
    const unsigned char *data;
    size_t n;
    page_begin(&p, false, 8, UINT64_C(0x0812345678901234));
    put_head(&p, 31, 0x5000001);
    make_u32(&p.m, (uint32_t)(UINT64_C(0x0012345679000000) >> 27));
    put_event(&p, 6, "abcdefgh", 8);
    page_end(&p);
    fm_page_shape_init(&shape, false, 8);
    ck_assert(fm_page_open(&page, &shape, p.m.p, p.m.n, 0));
    ck_assert_int_eq(fm_page_next(&page, &data, &n), FM_PAGE_EVENT);
    ck_assert_uint_eq(page.time, (UINT64_C(0x0012345679000000) >> 27 << 27 | 0x5000001 |
                                  UINT64_C(0x0800000000000000)) + 6);
    free(p.m.p);
}
END_TEST

START_TEST(pages_that_make_no_sense)
{
    static const struct {
        unsigned type;
        uint32_t extra;
    } bad[] = {{28, 0}, {0, 3}, {0, 200}, {29, 2}, {29, 4000}};
    struct fm_page_shape shape;
    struct fm_page page;
    const unsigned char *data;
    size_t n;
    struct page p;
    fm_page_shape_init(&shape, false, 8);
    page_begin(&p, false, 8, 1);
    put_head(&p, bad[_i].type, 1);
    make_u32(&p.m, bad[_i].extra);
    page_end(&p);
    ck_assert(fm_page_open(&page, &shape, p.m.p, p.m.n, 0));
    ck_assert_int_eq(fm_page_next(&page, &data, &n), FM_PAGE_BAD);
    put_word(&p.m, 8, PAGE, 8);                /* more than the page holds */
    ck_assert(!fm_page_open(&page, &shape, p.m.p, p.m.n, 0));
    ck_assert(!fm_page_open(&page, &shape, p.m.p, 12, 0));
    free(p.m.p);
}
END_TEST

START_TEST(shapes)
{
    static const char text[] =
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
        "\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n"
        "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
        "\tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n";
    static const char wrong[] = "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
                                "\tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n";
    struct fm_page_shape shape;
    fm_page_shape_init(&shape, false, 8);
    ck_assert_uint_eq(shape.data_at, 16);
    ck_assert(!fm_page_shape_read(&shape, wrong, sizeof wrong - 1));
    ck_assert_uint_eq(shape.data_at, 16);
    ck_assert(fm_page_shape_read(&shape, text, sizeof text - 1));
    ck_assert_uint_eq(shape.commit_size, 4);
    ck_assert_uint_eq(shape.data_at, 12);
}
END_TEST

/* ------------------------------------------------------------------ whole files */

enum { SWITCH = 300, OPEN = 302, KERNEL_STACK = 4, USER_STACK = 13, PRINT = 5 };

#define COMMON                                                                     \
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char *const ftrace_format[] = {
    "name: kernel_stack\nID: 4\nformat:\n" COMMON
    "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
    "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\nprint fmt: \"\"\n",
    "name: user_stack\nID: 13\nformat:\n" COMMON
    "\tfield:unsigned int tgid;\toffset:8;\tsize:4;\tsigned:0;\n"
    "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\nprint fmt: \"\"\n",
    "name: print\nID: 5\nformat:\n" COMMON
    "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n\nprint fmt: \"%s\", REC->buf\n"};
static const char *const sched_format =
    "name: sched_switch\nID: 300\nformat:\n" COMMON
    "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
    "\tfield:pid_t next_pid;\toffset:40;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";

static void put_format(struct make *m, const char *text)
{
    make_u64(m, strlen(text));
    make_bytes(m, text, strlen(text));
}

static void put_text(struct make *m, const char *text, bool wide)
{
    if (wide)
        make_u64(m, strlen(text));
    else
        make_u32(m, (uint32_t)strlen(text));
    make_bytes(m, text, strlen(text));
}

static void put_option(struct make *m, uint16_t id, const void *data, size_t n)
{
    make_u16(m, id);
    make_u32(m, (uint32_t)n);
    make_bytes(m, data, n);
}

/* Version 6 with one page for each of two CPUs. */
static void make_v6(struct make *m, struct page *page)
{
    memset(m, 0, sizeof *m);
    make_bytes(m, "\x17\x08\x44tracing6", 12);
    make_u8(m, 0);
    make_u8(m, 8);
    make_u32(m, PAGE);
    make_bytes(m, "header_page", 12);
    make_u64(m, 0);
    make_bytes(m, "header_event", 13);
    make_u64(m, 0);
    make_u32(m, FM_COUNT(ftrace_format));
    for (size_t i = 0; i < FM_COUNT(ftrace_format); i++)
        put_format(m, ftrace_format[i]);
    make_u32(m, 1);
    make_bytes(m, "sched", 6);
    make_u32(m, 1);
    put_format(m, sched_format);
    put_text(m, "ffffffff81000000 T low\nffffffff81000100 t high\t[mod]\n", false);
    put_text(m, "", false);
    put_text(m, "10 ten\n20 twenty one\n", true);
    make_u32(m, 2);
    make_bytes(m, "options  ", 10);
    put_option(m, 4, "local [mono] boot\n", 18);
    put_option(m, 1, "0x3e8", 6);
    put_option(m, 2, "CPU: 0\noverrun: 4\ndropped events: 1\n", 36);
    make_u16(m, 0);
    make_bytes(m, "flyrecord", 10);
    uint64_t at = (m->n + 32 + PAGE - 1) / PAGE * PAGE;
    for (unsigned i = 0; i < 2; i++) {
        make_u64(m, at + i * PAGE);
        make_u64(m, PAGE);
    }
    while (m->n < at)
        make_u8(m, 0);
    for (unsigned i = 0; i < 2; i++) {
        page_end(&page[i]);
        make_bytes(m, page[i].m.p, PAGE);
        free(page[i].m.p);
    }
}

static void put_common(struct make *m, uint16_t id, int32_t pid)
{
    make_u16(m, id);
    make_u8(m, 1);
    make_u8(m, 2);
    make_u32(m, (uint32_t)pid);
}

static void put_switch(struct page *p, uint32_t delta, int32_t prev, uint64_t state, int32_t next)
{
    struct make m = {.n = 0};
    put_common(&m, SWITCH, prev);
    make_bytes(&m, "before\0\0\0\0\0\0\0\0\0", 16);
    make_u32(&m, (uint32_t)prev);
    make_u32(&m, 0);
    make_u64(&m, state);
    make_u32(&m, (uint32_t)next);
    make_u32(&m, 0);
    put_event(p, delta, m.p, m.n);
    free(m.p);
}

static void put_chain(struct page *p, uint16_t id, int32_t pid, const uint64_t *word, size_t n)
{
    struct make m = {.n = 0};
    put_common(&m, id, pid);
    make_u32(&m, id == USER_STACK ? 9 : (uint32_t)n);
    make_u32(&m, 0);
    for (size_t i = 0; i < n; i++)
        make_u64(&m, word[i]);
    put_event(p, 0, m.p, m.n);
    free(m.p);
}

static struct fm_store *import(struct fm_ctx *ctx, const struct make *m, enum fm_status want)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_input *input = NULL;
    struct fm_builder *builder = NULL;
    struct fm_store *store = NULL;
    struct fm_error err = {0};
    bool usable;
    options.keep = "all";
    options.no_symbols = true;
    ck_assert_int_eq(fm_input_open_memory(ctx, m->p, m->n, "t", &input, &err), FM_OK);
    ck_assert_int_eq(fm_builder_new(ctx, &builder, &err), FM_OK);
    enum fm_status status = fm_import_input(ctx, input, &options, builder, &usable, &err);
    ck_assert_msg(status == want, "%s", err.message);
    fm_input_free(input);
    ck_assert_int_eq(fm_builder_seal(builder, NULL, &store, &err), FM_OK);
    ck_assert_int_eq(fm_store_verify(store, &err), FM_OK);
    return store;
}

static uint64_t cell(const struct fm_store *s, const char *column, uint64_t row)
{
    uint64_t v = 0;
    fm_column c = fm_store_column_find(s, column);
    ck_assert_msg(c != FM_NONE, "%s", column);
    ck_assert_msg(fm_store_cell(s, c, row, &v), "%s of row %u", column, (unsigned)row);
    return v;
}

static void is_text(const struct fm_store *s, const char *column, uint64_t row, const char *want)
{
    ck_assert_str_eq(fm_store_str(s, (fm_str)cell(s, column, row), NULL), want);
}

static uint64_t finding(const struct fm_store *s, enum fm_diag key)
{
    return fm_store_source_row(s, 0)->diags.row[key].count;
}

/* The stack of a row, "outer;inner", addresses where there are no names. */
static void is_stack(const struct fm_store *s, uint64_t row, const char *want)
{
    char is[256] = "";
    uint32_t node = fm_store_tree_node(s, (fm_node)cell(s, "stack", row));
    for (; node != 0; node = fm_store_tree(s)[node].parent) {
        const struct fm_frame_row *f = fm_store_frame_row(s, fm_store_tree(s)[node].frame);
        char name[64], all[256];
        if (f->function != 0)
            snprintf(name, sizeof name, "%s", fm_store_str(s, f->function, NULL));
        else
            snprintf(name, sizeof name, "%llx", (unsigned long long)f->address);
        snprintf(all, sizeof all, "%.60s%s%.180s", name, is[0] != '\0' ? ";" : "", is);
        memcpy(is, all, sizeof is);
    }
    ck_assert_str_eq(is, want);
}

/*
 *     cpu 0   100 switch 10 -> 20 (S), chains     130 switch 20 -> 10 (R)
 *     cpu 1   110 print "hi" by 30                120 a chain without event
 */
static void make_example(struct make *m)
{
    static const uint64_t kernel[] = {UINT64_C(0xffffffff81000100), UINT64_C(0xffffffff81000010)};
    static const uint64_t user[] = {0x1111, 0x2222, 0, 0x3333};
    struct page page[2];
    struct make print = {.n = 0};
    page_begin(&page[0], false, 8, 100);
    put_switch(&page[0], 0, 10, 1, 20);
    put_chain(&page[0], KERNEL_STACK, 10, kernel, 2);
    put_chain(&page[0], USER_STACK, 10, user, 4);
    put_switch(&page[0], 30, 20, 0, 10);
    page_begin(&page[1], false, 8, 110);
    page[1].missed = 6;
    put_common(&print, PRINT, 30);
    make_u64(&print, 0);
    make_bytes(&print, "hi\n", 4);
    put_event(&page[1], 0, print.p, print.n);
    put_chain(&page[1], KERNEL_STACK, 31, kernel, 1);
    make_v6(m, page);
    free(print.p);
}

START_TEST(events_in_order)
{
    struct fm_ctx *ctx = fm_ctx_new();
    struct make m;
    make_example(&m);
    struct fm_store *s = import(ctx, &m, FM_OK);
    const struct fm_source *source = fm_store_source_row(s, 0);
    ck_assert_int_eq(source->clock, FM_CLOCK_MONOTONIC);
    ck_assert(source->has_wall);
    ck_assert_int_eq(source->wall, 1000000);
    ck_assert_uint_eq(source->samples_in, 3);
    ck_assert_uint_eq(source->samples_kept, 3);
    ck_assert_uint_eq(cell(s, "ts", 0), 100);
    ck_assert_uint_eq(cell(s, "ts", 1), 110);
    ck_assert_uint_eq(cell(s, "ts", 2), 130);
    ck_assert_uint_eq(cell(s, "cpu", 1), 1);
    is_text(s, "comm", 0, "ten");
    is_text(s, "comm", 2, "twenty one");
    is_text(s, "args.prev_comm", 0, "before");
    is_text(s, "args.buf", 1, "hi\n");
    ck_assert_uint_eq(cell(s, "args.next_pid", 0), 20);
    ck_assert_uint_eq(cell(s, "flags", 0), 1);
    ck_assert_uint_eq(cell(s, "preempt", 0), 2);
    is_stack(s, 0, "2222;1111;low;low");    /* the byte before "high" is low's */
    ck_assert_uint_eq(finding(s, FM_DIAG_TRACE_MISSED), 6);
    ck_assert_uint_eq(finding(s, FM_DIAG_LOST_RECORDS), 5);
    ck_assert_uint_eq(finding(s, FM_DIAG_TRACE_STACK), 1);
    ck_assert_uint_eq(finding(s, FM_DIAG_SCHED_PAIRS), 1);
    is_text(s, "state", 3, "S");
    ck_assert_uint_eq(cell(s, "dur", 3), 30);
    is_stack(s, 3, "2222;1111;low;low");
    fm_store_free(s);
    fm_ctx_free(ctx);
    free(m.p);
}
END_TEST

/* Wherever the file is cut: what came before is there, and the end is told. */
START_TEST(cut_files)
{
    struct make m;
    make_example(&m);
    for (size_t n = 20; n < m.n; n += n < 2048 ? 1 : 509) {
        struct fm_ctx *ctx = fm_ctx_new();
        struct make cut = {.p = m.p, .n = n};
        struct fm_store *s = import(ctx, &cut, FM_TRUNCATED);
        fm_store_free(s);
        fm_ctx_free(ctx);
    }
    free(m.p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace.dat");
    TCase *tc = tcase_create("trace.dat");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, pages_as_kbuffer_reads_them, 0, 4);
    tcase_add_test(tc, absolute_times);
    tcase_add_loop_test(tc, pages_that_make_no_sense, 0, 5);
    tcase_add_test(tc, shapes);
    tcase_add_test(tc, events_in_order);
    tcase_add_test(tc, cut_files);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
