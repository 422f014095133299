/*
 * test_iaprof.c - iaprof files: the layouts, ids, intervals, damage, and the constructed files of
 * ../shared/data/intel-gpu against the values beside them, where they are.
 */
#include "small.h"

#include "export/palette.h"
#include "import/import.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct fm_ctx *ctx;
static struct fm_store *store;
static size_t held;

static void setup(void)
{
    ctx = fm_ctx_new();
    fm_ctx_data_dir(ctx, 0); /* lists the data path once, in the context's own arena */
    held = atomic_load(&ctx->mem.used);
    store = NULL;
}

static void drop_store(void)
{
    fm_store_free(store);
    store = NULL;
}

static void teardown(void)
{
    drop_store();
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), held);
    fm_ctx_free(ctx);
}

static enum fm_status read_bytes(const char *s, size_t n, const char *format, const char *keep)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_input *input = NULL;
    struct fm_builder *builder = NULL;
    struct fm_error err = {0};
    enum fm_status status;
    bool usable = false;
    drop_store();
    ck_assert_int_eq(fm_input_open_memory(ctx, s, n, "text", &input, &err), FM_OK);
    ck_assert_int_eq(fm_builder_new(ctx, &builder, &err), FM_OK);
    options.format = format;
    options.keep = keep;
    status = fm_import_input(ctx, input, &options, builder, &usable, &err);
    fm_input_free(input);
    ck_assert_int_eq(fm_builder_seal(builder, NULL, &store, NULL), FM_OK);
    ck_assert_msg(fm_store_verify(store, &err) == FM_OK, "%s", err.message);
    return status;
}

static void read_text(const char *s)
{
    ck_assert_int_eq(read_bytes(s, strlen(s), NULL, NULL), FM_OK);
}

static void gives(const char *want)
{
    struct fm_select_options select = FM_INIT(select);
    struct fm_export_options options = FM_INIT(options);
    struct fm_error err = {0};
    char *text;
    options.annotate = true;
    text = small_export(ctx, store, "folded", &select, &options, &err);
    ck_assert_msg(text != NULL, "%s", err.message);
    ck_assert_str_eq(text, want);
    free(text);
}

static uint64_t found(enum fm_diag key)
{
    return fm_store_source_row(store, 0)->diags.row[key].count;
}

static uint64_t found_at(enum fm_diag key)
{
    return fm_store_source_row(store, 0)->diags.row[key].first_offset;
}

/* The value of a column in a row; -1: none. */
static int64_t cell(const char *column, uint64_t row)
{
    fm_column col = fm_store_column_find(store, column);
    uint64_t value;
    if (col == FM_NONE || !fm_store_cell(store, col, row, &value))
        return -1;
    return (int64_t)value;
}

static const char *text(const char *column, uint64_t row)
{
    int64_t value = cell(column, row);
    return value < 0 ? "(none)" : fm_store_str(store, (fm_str)value, NULL);
}

/* Name of the event of a row. */
static const char *event(uint64_t row)
{
    return fm_store_str(store, fm_store_event_row(store, (size_t)cell("event", row))->name, NULL);
}

static uint64_t rows_of(const char *name)
{
    uint64_t n = 0;
    for (uint64_t row = 0; row < fm_store_rows(store); row++)
        n += strcmp(event(row), name) == 0;
    return n;
}

#define KERNEL "kernel\t0xffff800000010000\t1\t300\t2\t3\t4\n"
#define STRINGS "string\t1\tapp\nstring\t2\tmain;draw\nstring\t3\tblur.cl\nstring\t4\tblur\n" \
    "string\t5\tsend\n"
#define ZEROS "\t0\t0\t0\t0\t0\t0\t0\t0\t0\n"
#define STACK "app;300;main;draw;-;blur.cl_[G];blur_[G];send_[g];"

/* ------------------------------------------------------------------ times */

START_TEST(stalls_lie_in_the_time_before_the_stamp)
{
    read_text(STRINGS "interval\t0\t10.000000\n" KERNEL "eustall\t0x0\t5\t1" ZEROS
              "interval\t1\t10.004000\n" KERNEL "eustall\t0x0\t5\t2" ZEROS
              "metric\tbusy-percent\t7\n"
              "interval\t2\t10.010500\n" KERNEL "eustall\t0x0\t5\t3" ZEROS);
    /* the three stalls, then an interval, a metric, two intervals */
    ck_assert_uint_eq(fm_store_rows(store), 7);
    ck_assert_int_eq(cell("ts", 0), 9996000000);   /* as long as the second */
    ck_assert_int_eq(cell("dur", 0), 4000000);
    ck_assert_int_eq(cell("ts", 1), 10000000000);
    ck_assert_int_eq(cell("dur", 1), 4000000);
    ck_assert_int_eq(cell("ts", 2), 10004000000);
    ck_assert_int_eq(cell("dur", 2), 6500000);
    ck_assert_str_eq(event(4), "busy-percent");
    ck_assert_int_eq(cell("ts", 4), 10004000000);
    ck_assert_int_eq(cell("dur", 4), -1);
    ck_assert_int_eq(cell("value", 4), 7);
    ck_assert_str_eq(event(6), "gpu-interval");
    ck_assert_int_eq(cell("ts", 6), 10004000000);
    ck_assert_int_eq(cell("value", 6), 3);
    ck_assert_int_eq(fm_store_source_row(store, 0)->clock, FM_CLOCK_MONOTONIC);
}
END_TEST

START_TEST(one_interval_has_no_width)
{
    read_text(STRINGS "interval\t0\t10.000000\n" KERNEL "eustall\t0x0\t5\t1" ZEROS);
    ck_assert_int_eq(cell("ts", 0), 10000000000);
    ck_assert_int_eq(cell("dur", 0), 0);
}
END_TEST

START_TEST(empty_intervals_are_rows)
{
    read_text("interval\t0\t1.5\ninterval\t1\t2.5\ninterval\t2\t2.5\n");
    ck_assert_uint_eq(fm_store_rows(store), 3);
    ck_assert_int_eq(cell("ts", 0), 500000000);
    ck_assert_int_eq(cell("dur", 0), 1000000000);
    ck_assert_int_eq(cell("value", 1), 0);
    ck_assert_int_eq(cell("dur", 2), 0);
    ck_assert_uint_eq(found(FM_DIAG_IAPROF_TIME), 0);
}
END_TEST

START_TEST(time_may_go_back)
{
    read_text(STRINGS "interval\t0\t10.0\ninterval\t1\t9.99\n" KERNEL "eustall\t0x0\t5\t1" ZEROS
              "interval\t2\t10.2\n" KERNEL "eustall\t0x0\t5\t1" ZEROS);
    ck_assert_int_eq(cell("ts", 0), 9990000000);
    ck_assert_int_eq(cell("dur", 0), 0);
    ck_assert_int_eq(cell("ts", 1), 9990000000);
    ck_assert_int_eq(cell("dur", 1), 210000000);
    ck_assert_uint_eq(found(FM_DIAG_IAPROF_TIME), 1);
    ck_assert_uint_eq(found(FM_DIAG_VALUE_RANGE), 0);
}
END_TEST

START_TEST(a_broken_interval_line_leaves_no_time)
{
    read_text(STRINGS "interval\t0\t10.0\ninterval\t1\t10.x\n" KERNEL "eustall\t0x0\t5\t1" ZEROS
              "interval\t2\t99999999999999999999.0\ninterval\t3\t12.0\n" KERNEL
              "eustall\t0x0\t5\t1" ZEROS);
    ck_assert_uint_eq(found(FM_DIAG_BAD_LINE), 2);
    ck_assert_uint_eq(found(FM_DIAG_IAPROF_OUTSIDE), 1);
    ck_assert_int_eq(cell("ts", 0), -1);
    ck_assert_int_eq(cell("ts", 1), 10000000000); /* nearer is not known */
    ck_assert_int_eq(cell("dur", 1), 2000000000);
}
END_TEST

START_TEST(old_intervals_have_no_stamp)
{
    read_text("interval_start\t4\npid\t7\ne\t4\t10\t3\ninterval_end\t4\n");
    ck_assert_uint_eq(fm_store_rows(store), 2);
    ck_assert_int_eq(cell("ts", 0), -1);
    ck_assert_int_eq(cell("dur", 0), -1);
    ck_assert_str_eq(text("reason", 0), "active");
    ck_assert_str_eq(event(1), "gpu-interval");
    ck_assert_int_eq(cell("value", 1), 3);
    gives("[no comm];7;-;[unknown file]_[G];[unknown kernel]_[G];[unknown instruction]_[g];"
          "active_[g];0x10_[g] 3\n");
    ck_assert_int_eq(read_bytes("interval_start\t4\npid\t7\ne\t4\t10\t3\n", 33, NULL, "interval"),
                     FM_OK);
    ck_assert_int_eq(cell("interval", 0), 4);
}
END_TEST

/* -------------------------------------------------------------------- ids */

START_TEST(ids_may_be_anything)
{
    read_text("string\t18446744073709551615\tbig\nstring\t4000000000\tfar;away\n"
              "string\t1\tnear\ninterval\t0\t1.0\n"
              "kernel\t0xffffffffffffffff\t18446744073709551615\t4294967295\t4000000000\t0\t0\n"
              "eustall\t0xfffffffffffffffe\t1\t18446744073709551615\t0\t0\t0\t0\t0\t0\t0\t0\t1\n");
    gives("big;4294967295;far;away;-;[unknown file]_[G];0xffffffffffffffff_[G];near_[g];"
          "active_[g];0xfffffffffffffffe_[g] 18446744073709551615\n"
          "big;4294967295;far;away;-;[unknown file]_[G];0xffffffffffffffff_[G];near_[g];"
          "tdr_[g];0xfffffffffffffffe_[g] 1\n");
    ck_assert(fm_store_event_row(store, 0)->weight == (fm_u128)UINT64_MAX + 1);
    ck_assert_int_eq(cell("value", 2), INT64_MAX);
}
END_TEST

START_TEST(numbers_that_do_not_fit_take_the_line_with_them)
{
    read_text(STRINGS "interval\t0\t1.0\n" KERNEL
              "eustall\t0x0\t5\t18446744073709551616" ZEROS
              "eustall\t0x11112222333344445\t5\t1" ZEROS
              "eustall\t0x\t5\t1" ZEROS
              "eustall\t0x1\t5\t1\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\n"
              "eustall\t0x1\t5\t1\t\t0\t0\t0\t0\t0\t0\t0\t0\n"
              "eustall\t0x1\t5\t-1" ZEROS "string\t0\tx\nstring\t99999999999999999999\tx\n"
              "eustall\t0x1\t5\t00000000000000000000000000000000000000003" ZEROS);
    ck_assert_uint_eq(found(FM_DIAG_BAD_LINE), 8);
    ck_assert_uint_eq(fm_store_source_row(store, 0)->samples_in, 9);
    ck_assert_uint_eq(fm_store_source_row(store, 0)->samples_kept, 3);
    gives(STACK "active_[g];0x1_[g] 3\n");
}
END_TEST

START_TEST(ids_defined_late_or_again)
{
    read_text(STRINGS "interval\t0\t1.0\nkernel\t0x10\t1\t3\t2\t0\t9\n"
              "eustall\t0x0\t8\t1" ZEROS "string\t8\tmad\nstring\t9\tlate\n"
              "eustall\t0x0\t8\t2" ZEROS "string\t9\tagain\nstring\t9\tagain\n"
              "eustall\t0x0\t8\t4" ZEROS);
    gives("app;3;main;draw;-;[unknown file]_[G];0x10_[G];[unknown instruction]_[g];active_[g];"
          "0x0_[g] 1\n"
          "app;3;main;draw;-;[unknown file]_[G];again_[G];mad_[g];active_[g];0x0_[g] 4\n"
          "app;3;main;draw;-;[unknown file]_[G];late_[G];mad_[g];active_[g];0x0_[g] 2\n");
    ck_assert_uint_eq(found(FM_DIAG_IAPROF_STRING), 2);
    ck_assert_uint_eq(found(FM_DIAG_IAPROF_REDEFINED), 1);
}
END_TEST

START_TEST(labels_and_frames)
{
    fm_column stack;
    uint64_t node;
    const struct fm_frame_row *frame;
    ck_assert_int_eq(read_bytes(STRINGS "interval\t0\t1.0\n" KERNEL "eustall\t0x20\t5\t1" ZEROS,
                                strlen(STRINGS "interval\t0\t1.0\n" KERNEL "eustall\t0x20\t5\t1"
                                       ZEROS), "iaprof", "all"), FM_OK);
    ck_assert_str_eq(text("kernel", 0), "blur");
    ck_assert_str_eq(text("file", 0), "blur.cl");
    ck_assert_str_eq(text("insn", 0), "send");
    ck_assert_str_eq(text("reason", 0), "active");
    ck_assert_str_eq(text("comm", 0), "app");
    ck_assert_int_eq(cell("offset", 0), 0x20);
    ck_assert_uint_eq((uint64_t)cell("address", 0), 0xffff800000010000);
    ck_assert_int_eq(cell("interval", 0), 0);
    stack = fm_store_column_find(store, "stack");
    ck_assert(fm_store_cell(store, stack, 0, &node));
    node = fm_store_tree_node(store, (fm_node)node);
    frame = fm_store_frame_row(store, fm_store_tree(store)[node].frame);
    ck_assert_int_eq(frame->kind, FM_FRAME_GPU_INSTRUCTION);
    node = fm_store_tree(store)[node].parent;
    frame = fm_store_frame_row(store, fm_store_tree(store)[node].frame);
    ck_assert_int_eq(frame->kind, FM_FRAME_GPU_KERNEL);
    ck_assert_str_eq(fm_store_str(store, frame->file, NULL), "blur.cl");
}
END_TEST

START_TEST(python_frames_and_names_with_everything)
{
    read_text("string\t1\tgz;doom\twith tab\nstring\t2\tmain;py::f:/a.py;;x_[k]\n"
              "interval\t0\t1.0\nkernel\t0x1\t1\t5\t2\t0\t0\neustall\t0x0\t0\t1" ZEROS);
    gives("gz:doom\twith tab;5;main;py::f:/a.py;;x_[k];-;[unknown file]_[G];0x1_[G];"
          "[unknown instruction]_[g];active_[g];0x0_[g] 1\n");
    ck_assert_str_eq(text("comm", 0), "gz;doom\twith tab");
}
END_TEST

/* ---------------------------------------------------------------- layouts */

START_TEST(a_head_that_was_cut)
{
    /* inside a string line of generation 2: the thirteen first strings are always the same */
    const char *cut = "known file]\nstring\t14\tapp\ninterval_start\t0\t1.0\nproc_name\t14\n"
        "pid\t7\n"
        "insn_text\t3\ngpu_file\t1\ngpu_symbol\t2\nshader_type\t2\ne\t9\tff\t3\n"
        "e\t77\t8\t10\t2\ninterval_end\t0\n";
    ck_assert_int_eq(read_bytes(cut, strlen(cut), NULL, "shader,file"), FM_OK);
    gives("app;7;-;[unknown file]_[G];System Routine (Exceptions)_[G];[failed decode]_[g];"
          "dist_acc_[g];0x10_[g] 2\n"
          "app;7;-;[unknown file]_[G];System Routine (Exceptions)_[G];[failed decode]_[g];"
          "sbid_[g];0xff_[g] 3\n");
    ck_assert_str_eq(text("shader", 0), "system routine");
    ck_assert_str_eq(text("file", 0), "(none)");
    ck_assert_uint_eq(found(FM_DIAG_BAD_LINE), 1);
    read_text("0\t0\t1\t0\t0\t0\t0\n" KERNEL "eustall\t0x1b8\t7\t2" ZEROS "metric\tm\t5\n");
    ck_assert_uint_eq(rows_of("eu-stall"), 1);
    ck_assert_uint_eq(rows_of("m"), 1);
}
END_TEST

START_TEST(marks_and_line_ends)
{
    const char *crlf = "\xef\xbb\xbf" "string\t1\tapp\r\nstring\t2\tmain;draw\r\n"
        "string\t3\tblur.cl\r\nstring\t4\tblur\r\nstring\t5\tsend\r\ninterval\t0\t1.0\r\n"
        "kernel\t0x1\t1\t300\t2\t3\t4\r\neustall\t0x0\t5\t1\t0\t0\t0\t0\t0\t0\t0\t0\t2\r\n";
    read_text(crlf);
    gives(STACK "active_[g];0x0_[g] 1\n" STACK "tdr_[g];0x0_[g] 2\n");
    read_text("string\t1\tapp\r\r\nstring\t2\tx\ninterval\t0\t1.0\n\n");
    ck_assert_uint_eq(fm_store_rows(store), 1);
    read_text("string\t1\tapp\nstring\t2\tx\r\ninterval\t0\t1.0\nkernel\t0x1\t2\t3\t0\t0\t0\n"
              "eustall\t0x0\t0\t1" ZEROS);
    ck_assert_str_eq(text("comm", 0), "x\r"); /* the file's lines end in LF */
}
END_TEST

/* ----------------------------------------------------------------- damage */

START_TEST(stalls_without_a_kernel)
{
    read_text("interval\t0\t10.000000\neustall\t0x10\t1\t5" ZEROS "kernel\t0xq\t1\t1\t1\t1\t1\n"
              "eustall\t0x10\t1\t6" ZEROS);
    gives("[no comm];[no pid];-;[unknown file]_[G];[unknown kernel]_[G];"
          "[unknown instruction]_[g];active_[g];0x10_[g] 11\n");
    ck_assert_uint_eq(found(FM_DIAG_IAPROF_KERNEL), 2);
    ck_assert_uint_eq(found_at(FM_DIAG_IAPROF_KERNEL), 21);
    ck_assert_str_eq(text("kernel", 0), "(none)");
}
END_TEST

START_TEST(unknown_lines)
{
    const char *s = "interval\t0\t1.0\nfuture\tx\nfuture\ty\nother\n!\n\nmetric\t\t5\n"
                    "metric\tm\t-5\nkernel\nstring\t1\n";
    ck_assert_int_eq(read_bytes(s, strlen(s), "iaprof", NULL), FM_OK);
    ck_assert_uint_eq(found(FM_DIAG_RECORD_UNKNOWN), 3);
    ck_assert_uint_eq(found_at(FM_DIAG_RECORD_UNKNOWN), 15);
    ck_assert_uint_eq(found(FM_DIAG_BAD_LINE), 5);
}
END_TEST

static const char whole[] =
    STRINGS "interval\t0\t10.000000\n" KERNEL "eustall\t0x8\t5\t12\t0\t3\t0\t0\t0\t0\t0\t0\t4\n"
    "metric\tbusy-percent\t100\nfuture\n" "interval\t1\t10.01\nkernel\t0x2\t7\t8\t2\t0\t77\n"
    "eustall\t0x18\t6\t0\t0\t0\t0\t0\t9\t0\t0\t0\t0\ninterval_start\t2\t10.02\nproc_name\t1\n"
    "pid\t9\nustack\t2\nkstack\t2\nshader_type\t3\ngpu_file\t3\ngpu_symbol\t4\ninsn_text\t5\n"
    "e\t9\tf0\t4\nframe\ne\t1\t9\tf0\t4\ninterval_end\t2\n"
    "eustall\t1\t9\t2\t2\t1\t0\t3\t4\t5\t9\t0x7\t8\n";

/* A cut is damage unless it is behind a line, and what is kept is what the lines before it say. */
START_TEST(cut_anywhere)
{
    for (size_t n = 1; n < sizeof whole; n++) {
        uint64_t rows, kept;
        size_t lines = n;
        ck_assert_int_eq(read_bytes(whole, n, "iaprof", NULL), FM_OK);
        rows = fm_store_rows(store);
        kept = fm_store_source_row(store, 0)->samples_kept;
        ck_assert_uint_eq(found(FM_DIAG_TRUNCATED), whole[n - 1] != '\n');
        ck_assert_uint_eq(found(FM_DIAG_BAD_LINE), 0);
        while (lines > 0 && whole[lines - 1] != '\n')
            lines--;
        if (lines == 0)
            continue;
        ck_assert_int_eq(read_bytes(whole, lines, "iaprof", NULL), FM_OK);
        ck_assert_uint_eq(fm_store_rows(store), rows);
        ck_assert_uint_eq(fm_store_source_row(store, 0)->samples_kept, kept);
    }
    ck_assert_uint_eq(fm_store_source_row(store, 0)->samples_kept, 12 + 3 + 4 + 9 + 4 + 4 + 8);
}
END_TEST

/* A piece that is never the same twice, in place of each byte. */
START_TEST(any_byte_may_be_wrong)
{
    char copy[sizeof whole];
    for (size_t i = 0; i + 1 < sizeof whole; i++) {
        memcpy(copy, whole, sizeof whole);
        copy[i] = (char)(i * 37 + 11);
        ck_assert_int_eq(read_bytes(copy, sizeof whole - 1, "iaprof", NULL), FM_OK);
        copy[i] = '\n';
        ck_assert_int_eq(read_bytes(copy, sizeof whole - 1, "iaprof", NULL), FM_OK);
    }
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    bool done = false;
    for (uint64_t k = 1; k < 5000 && !done; k++) {
        struct fm_ctx *own = fm_ctx_new();
        struct fm_import_options options = FM_INIT(options);
        struct fm_builder *builder;
        struct fm_input *input;
        struct fm_error err = {0};
        bool usable;
        options.format = "iaprof";
        fm_ctx_data_dir(own, 0);
        ck_assert_int_eq(fm_builder_new(own, &builder, NULL), FM_OK);
        ck_assert_int_eq(fm_input_open_memory(own, whole, sizeof whole - 1, "in", &input, NULL),
                         FM_OK);
        uint64_t at = own->mem.fail_at = atomic_load(&own->mem.allocations) + k;
        enum fm_status status = fm_import_input(own, input, &options, builder, &usable, &err);
        done = atomic_load(&own->mem.allocations) < at;
        ck_assert_msg(done ? status == FM_OK : status == FM_OK || err.status != FM_OK, "at %u: %d",
                      (unsigned)k, status);
        own->mem.fail_at = 0;
        fm_input_free(input);
        fm_builder_free(builder);
        fm_ctx_free(own);
    }
    ck_assert(done);
}
END_TEST

static uint32_t seed = 2463534242u;

static uint32_t draw(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return (uint32_t)((uint64_t)seed * below >> 32);
}

/* What a line gave: cells, or that it was damage. */
static void line_gave(const char *line, const char *behind, char *out, size_t size)
{
    char s[1024];
    size_t n = 0;
    snprintf(s, sizeof s, STRINGS "interval\t0\t1.0\n" KERNEL "%s%s", line, behind);
    ck_assert_int_eq(read_bytes(s, strlen(s), "iaprof", NULL), FM_OK);
    for (uint64_t row = 0; row < fm_store_rows(store); row++)
        if (strcmp(event(row), "eu-stall") == 0)
            n += (size_t)snprintf(out + n, size - n, "%llx %s %llu\n",
                                  (unsigned long long)cell("offset", row), text("reason", row),
                                  (unsigned long long)cell("weight", row));
    snprintf(out + n, size - n, "%llu",
             (unsigned long long)(found(FM_DIAG_BAD_LINE) + found(FM_DIAG_RECORD_UNKNOWN)));
}

/* A line with more behind it is looked at as a whole, the last one field by field. */
START_TEST(both_ways_to_read_a_line)
{
    static const char any[] = "0123456789abcdefABCDEF\t\r /:;@G`gx-";
    for (unsigned k = 0; k < 4000; k++) {
        char line[256], one[512], two[512];
        int n = snprintf(line, sizeof line, "eustall\t0x%llx\t%u",
                         (unsigned long long)draw(UINT32_MAX) << draw(20) >> draw(52),
                         draw(2) ? 5 : draw(UINT32_MAX) >> draw(32));
        for (unsigned i = 0; i < 10; i++)
            n += snprintf(line + n, sizeof line - (size_t)n, "\t%llu",
                          draw(3) ? 0 : (draw(UINT32_MAX) * 77777ull) >> draw(50));
        if (draw(2))
            line[8 + draw((uint32_t)n - 8)] = any[draw(sizeof any - 1)];
        line[n++] = '\n';
        line[n] = '\0';
        line_gave(line, "", one, sizeof one);
        line_gave(line, "metric\ta\t1\nmetric\tb\t2\nmetric\tc\t3\nmetric\td\t4\n"
                        "metric\te\t5\nmetric\tf\t6\nmetric\tg\t7\n", two, sizeof two);
        ck_assert_msg(strcmp(one, two) == 0, "%s gives %s and %s", line, one, two);
    }
}
END_TEST

/* More than a window, a block and a segment hold; lines longer than a window. */
START_TEST(long_inputs)
{
    size_t cap = 16u << 20, n, long_n = 300000;
    char *s = malloc(cap);
    uint64_t want = 0;
    n = (size_t)snprintf(s, cap, "%s", STRINGS "string\t6\t");
    memset(s + n, 'x', long_n);
    n += long_n;
    n += (size_t)snprintf(s + n, cap - n, "\ninterval\t0\t1.0\n" KERNEL);
    for (unsigned i = 0; i < 100000; i++) {
        if (i % 30000 == 29999)
            n += (size_t)snprintf(s + n, cap - n, "interval\t%u\t%u.0\n" KERNEL, i, i);
        n += (size_t)snprintf(s + n, cap - n, "eustall\t0x%x\t5\t%u\t0\t0\t0\t0\t%u\t0\t0\t0\t%u\n",
                              i % 512 * 8, i % 3, i % 5, i);
        want += i % 3 + i % 5 + i;
    }
    ck_assert_int_eq(read_bytes(s, n, NULL, NULL), FM_OK);
    ck_assert_uint_eq(fm_store_source_row(store, 0)->samples_kept, want);
    ck_assert_uint_eq(rows_of("gpu-interval"), 4);
    ck_assert_int_eq(cell("value", fm_store_rows(store) - 1) > 0, 1);
    /* a line longer than any may be */
    free(s);
    cap = (17u << 20) + 4096;
    s = malloc(cap);
    n = (size_t)snprintf(s, cap, "interval\t0\t1.0\nstring\t1\t");
    memset(s + n, 'y', 17u << 20);
    n += 17u << 20;
    n += (size_t)snprintf(s + n, cap - n, "\n" KERNEL "eustall\t0x0\t5\t7" ZEROS);
    ck_assert_int_eq(read_bytes(s, n, NULL, NULL), FM_OK);
    ck_assert_uint_eq(found(FM_DIAG_BAD_LINE), 1);
    ck_assert_uint_eq(fm_store_source_row(store, 0)->samples_kept, 7);
    free(s);
}
END_TEST

/* ------------------------------------------------------------- shared data */

/* A file of the constructed ones, from malloc(); NULL: not here. */
static char *shared(const char *name, size_t *n)
{
    const char *top = getenv("FOLDMILL_PATH");
    char path[512], *s = malloc(65536);
    ssize_t got;
    int fd;
    snprintf(path, sizeof path, "%s/../shared/data/intel-gpu/%s", top != NULL ? top : ".", name);
    fd = open(path, O_RDONLY);
    got = fd >= 0 ? read(fd, s, 65535) : -1;
    if (fd >= 0)
        close(fd);
    if (got < 0) {
        free(s);
        return NULL;
    }
    s[got] = '\0';
    *n = (size_t)got;
    return s;
}

START_TEST(constructed_files)
{
    static const char *const file[][2] = {
        {"iaprof-fast.constructed.iaprof", "iaprof-fast.constructed.expected.folded"},
        {"iaprof-gen1-v0.5.0.constructed.profile", "iaprof-gen123.constructed.expected.folded"},
        {"iaprof-gen2-20250529.constructed.profile", "iaprof-gen123.constructed.expected.folded"},
        {"iaprof-gen3-tiber.constructed.profile", "iaprof-gen123.constructed.expected.folded"},
    };
    for (size_t i = 0; i < FM_COUNT(file); i++) {
        size_t n, m;
        char *s = shared(file[i][0], &n), *want = shared(file[i][1], &m);
        if (s == NULL || want == NULL) {
            free(s);
            free(want);
            return;
        }
        ck_assert_int_eq(read_bytes(s, n, NULL, NULL), FM_OK);
        gives(want);
        ck_assert_uint_eq(fm_store_source_row(store, 0)->samples_in, 424);
        ck_assert_uint_eq(fm_store_source_row(store, 0)->samples_kept, 424);
        ck_assert_uint_eq(rows_of("gpu-interval"), 3);
        ck_assert_uint_eq(rows_of("frequency-MHz"), i == 0 || i == 3 ? 3 : 0);
        free(s);
        free(want);
    }
}
END_TEST

/* The tool's own folded stacks of two times read as what they were made of. */
START_TEST(folded_by_the_tool)
{
    static const char *const name[] = {"iaprof-gen1-v0.5.0.flame-printed.folded",
                                       "iaprof-gen3-tiber.flame-printed.folded"};
    for (size_t i = 0; i < FM_COUNT(name); i++) {
        size_t n, m;
        char *s = shared(name[i], &n), *want = shared("iaprof-gen123.constructed.expected.folded",
                                                      &m);
        if (s != NULL && want != NULL) {
            ck_assert_int_eq(read_bytes(s, n, NULL, NULL), FM_OK);
            gives(want);
            ck_assert_uint_eq(fm_store_source_row(store, 0)->samples_kept, 424);
        }
        free(s);
        free(want);
    }
    read_text("a;-;f_[G];s_[G];x_[g];0x10_[g]; 5\na;-;f_[G];s_[G];x_[g];0x10_[g];7\nb;c;8 1\n");
    gives("a;-;f_[G];s_[G];x_[g];0x10_[g] 12\nb;c;8 1\n");
    ck_assert_int_eq(read_bytes("a;b;7\n", 6, "folded", NULL), FM_OK);
    ck_assert_uint_eq(found(FM_DIAG_BAD_LINE), 1);
}
END_TEST

/* Its text for FlameScope has neither files, instructions nor kernel frames, but all events. */
START_TEST(flamescope_text)
{
    size_t n;
    char *s = shared("iaprof-gen3-tiber.flamescope-printed.txt", &n);
    if (s == NULL)
        return;
    ck_assert_int_eq(read_bytes(s, n, NULL, NULL), FM_OK);
    ck_assert_uint_eq(fm_store_source_row(store, 0)->samples_kept, 424);
    ck_assert_uint_eq(fm_store_rows(store), 11);
    ck_assert_int_eq(cell("ts", 10), 1234587912000);
    ck_assert_int_eq(cell("offset", 10), 0x2000);
    ck_assert_str_eq(text("reason", 10), "inst_fetch");
    ck_assert_str_eq(text("kernel", 10), "0xffff8001fff80100");
    ck_assert_str_eq(text("comm", 10), "gz doom");
    ck_assert_int_eq(cell("weight", 3), 250);
    free(s);
}
END_TEST

/* The table of the reference, with v of the system's own generator. */
START_TEST(colours_of_gpu_frames)
{
    static const struct {
        const char *name;
        int base[3], span[3];
    } want[] = {
        {"-", {200, 200, 200}, {0, 0, 0}},
        {"--", {160, 160, 160}, {0, 0, 0}},
        {"send_[g]", {50, 200, 50}, {60, 55, 60}},
        {"at::f_[g]", {50, 200, 50}, {60, 55, 60}},
        {"/srv/matmul.cpp_[G]", {50, 165, 165}, {60, 55, 55}},
        {"main::{lambda(auto:1)#4}_[G]", {50, 165, 165}, {60, 55, 55}},
        {"NEO64: debug", {50, 165, 165}, {60, 55, 55}},
        {"NEO3", {50, 165, 165}, {60, 55, 55}},
        {"do_syscall_64_[k]", {190, 90, 0}, {65, 65, 0}},
        {"py::x_[k]", {190, 90, 0}, {65, 65, 0}},
        {"py::train_step:/srv/train.py", {245, 138, 148}, {10, 40, 40}},
        {"py::a::b", {245, 138, 148}, {10, 40, 40}},
        {"at::native::linear(at::Tensor const&)", {175, 175, 50}, {55, 55, 20}},
        {"NEON::dot", {175, 175, 50}, {55, 55, 20}},
        {"main", {200, 50, 50}, {55, 80, 80}},
        {"---", {200, 50, 50}, {55, 80, 80}},
        {"0x7f12ab345678", {200, 50, 50}, {55, 80, 80}},
    };
    for (size_t i = 0; i < FM_COUNT(want); i++) {
        unsigned rgb[3];
        long sum = 0;
        double v;
        for (const char *p = want[i].name; *p != '\0'; p++)
            sum += (unsigned char)*p;
        srand48(sum);
        v = drand48();
        fm_palette_color(fm_palette_find("gpu"), false, want[i].name, strlen(want[i].name), rgb);
        for (size_t k = 0; k < 3; k++)
            ck_assert_msg((int)rgb[k] == want[i].base[k] + (int)(want[i].span[k] * v),
                          "%s: %u,%u,%u", want[i].name, rgb[0], rgb[1], rgb[2]);
    }
}
END_TEST

/* Each line of the table of samples, in the order of the file; times are the ends of intervals. */
START_TEST(constructed_samples)
{
    size_t n, m;
    char *s = shared("iaprof-fast.constructed.iaprof", &n);
    char *want = shared("iaprof.constructed.expected-samples.tsv", &m);
    uint64_t row = 0;
    unsigned lines = 0;
    if (s == NULL || want == NULL) {
        free(s);
        free(want);
        return;
    }
    ck_assert_int_eq(read_bytes(s, n, NULL, NULL), FM_OK);
    for (char *line = strchr(want, '\n') + 1; *line != '\0'; line = strchr(line, '\n') + 1) {
        char have[256];
        size_t len = (size_t)(strchr(line, '\n') - line);
        while (strcmp(event(row), "eu-stall") != 0)
            row++;
        int64_t end = cell("ts", row) + cell("dur", row);
        snprintf(have, sizeof have, "%lld.%06lld\t%s\t0x%llx\t%s\t%lld",
                 (long long)(end / 1000000000), (long long)(end % 1000000000 / 1000),
                 text("kernel", row), (unsigned long long)cell("offset", row),
                 text("reason", row), (long long)cell("weight", row));
        ck_assert_msg(strlen(have) == len && memcmp(have, line, len) == 0, "%s, want %.*s", have,
                      (int)len, line);
        row++;
        lines++;
    }
    ck_assert_uint_eq(lines, 11);
    free(s);
    free(want);
}
END_TEST

/* The table of EXPECTED.md, row by row. */
START_TEST(hostile_file)
{
    size_t n;
    char *s = shared("iaprof-fast.hostile.constructed.iaprof", &n);
    if (s == NULL)
        return;
    ck_assert_int_eq(read_bytes(s, n, NULL, NULL), FM_OK);
    ck_assert_uint_eq(rows_of("eu-stall"), 3);
    ck_assert_int_eq(cell("weight", 0), 5);
    ck_assert_int_eq(cell("offset", 0), 0x10);
    ck_assert_str_eq(text("reason", 0), "active");
    ck_assert_str_eq(text("kernel", 0), "(none)");
    ck_assert_int_eq(cell("ts", 0) + cell("dur", 0), 10000000000);
    ck_assert_uint_eq((uint64_t)cell("weight", 1), UINT64_MAX);
    ck_assert_str_eq(text("comm", 1), "gz;doom\twith tab");
    ck_assert_str_eq(text("kernel", 1), "0xffff800000001000");
    ck_assert_int_eq(cell("ts", 1) + cell("dur", 1), 10000000000);
    ck_assert_int_eq(cell("weight", 2), 4);
    ck_assert_int_eq(cell("offset", 2), 0x20);
    ck_assert_str_eq(text("reason", 2), "sbid");
    ck_assert_int_eq(cell("ts", 2) + cell("dur", 2), 9990000000);
    ck_assert_str_eq(event(3), "vram-MiB");
    ck_assert_int_eq(cell("value", 3), 123);
    ck_assert_uint_eq(found(FM_DIAG_IAPROF_KERNEL), 1);
    ck_assert_uint_eq(found(FM_DIAG_IAPROF_TIME), 1);
    ck_assert_uint_eq(found(FM_DIAG_RECORD_UNKNOWN), 1);
    ck_assert_uint_eq(found(FM_DIAG_BAD_LINE), 1);
    ck_assert_uint_eq(found(FM_DIAG_TRUNCATED), 1);
    ck_assert_uint_eq(found(FM_DIAG_VALUE_RANGE), 0);
    ck_assert(fm_store_event_row(store, 0)->weight == (fm_u128)UINT64_MAX + 9);
    gives("[no comm];[no pid];-;[unknown file]_[G];[unknown kernel]_[G];"
          "[unknown instruction]_[g];active_[g];0x10_[g] 5\n"
          "gz:doom\twith tab;7;-;[unknown file]_[G];0xffff800000001000_[G];mad_[g];active_[g];"
          "0x20_[g] 18446744073709551615\n"
          "gz:doom\twith tab;7;-;[unknown file]_[G];0xffff800000001000_[G];mad_[g];sbid_[g];"
          "0x20_[g] 4\n");
    free(s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("iaprof");
    TCase *t = tcase_create("iaprof");
    SRunner *r;
    int failed;
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, stalls_lie_in_the_time_before_the_stamp);
    tcase_add_test(t, one_interval_has_no_width);
    tcase_add_test(t, empty_intervals_are_rows);
    tcase_add_test(t, time_may_go_back);
    tcase_add_test(t, a_broken_interval_line_leaves_no_time);
    tcase_add_test(t, old_intervals_have_no_stamp);
    tcase_add_test(t, ids_may_be_anything);
    tcase_add_test(t, numbers_that_do_not_fit_take_the_line_with_them);
    tcase_add_test(t, ids_defined_late_or_again);
    tcase_add_test(t, labels_and_frames);
    tcase_add_test(t, python_frames_and_names_with_everything);
    tcase_add_test(t, a_head_that_was_cut);
    tcase_add_test(t, marks_and_line_ends);
    tcase_add_test(t, stalls_without_a_kernel);
    tcase_add_test(t, unknown_lines);
    tcase_add_test(t, cut_anywhere);
    tcase_add_test(t, any_byte_may_be_wrong);
    tcase_add_test(t, every_allocation_may_fail);
    tcase_add_test(t, both_ways_to_read_a_line);
    tcase_add_test(t, long_inputs);
    tcase_add_test(t, constructed_files);
    tcase_add_test(t, constructed_samples);
    tcase_add_test(t, folded_by_the_tool);
    tcase_add_test(t, flamescope_text);
    tcase_add_test(t, colours_of_gpu_frames);
    tcase_add_test(t, hostile_file);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
