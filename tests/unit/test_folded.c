/*
 * test_folded.c - folded stacks in: the reader's rules, its account, and the way back out.
 */
#include "small.h"

#include "import/import.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct fm_ctx *ctx;
static size_t held;

static void setup(void)
{
    ctx = fm_ctx_new();
    fm_ctx_data_dir(ctx, 0); /* lists the data path once, in the context's own arena */
    held = atomic_load(&ctx->mem.used);
}

static void teardown(void)
{
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), held);
    fm_ctx_free(ctx);
}

static struct fm_store *read_bytes(const char *s, size_t n)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_input *input = NULL;
    struct fm_builder *builder = NULL;
    struct fm_store *store = NULL;
    struct fm_error err = {0};
    bool usable = false;
    ck_assert_int_eq(fm_input_open_memory(ctx, s, n, "text", &input, &err), FM_OK);
    ck_assert_int_eq(fm_builder_new(ctx, &builder, &err), FM_OK);
    options.format = "folded";
    ck_assert_msg(fm_import_input(ctx, input, &options, builder, &usable, &err) == FM_OK, "%s",
                  err.message);
    fm_input_free(input);
    ck_assert_int_eq(fm_builder_seal(builder, NULL, &store, &err), FM_OK);
    ck_assert_msg(fm_store_verify(store, &err) == FM_OK, "%s", err.message);
    return store;
}

static struct fm_store *read_text(const char *s)
{
    return read_bytes(s, strlen(s));
}

static void gives(struct fm_store *store, const char *event, bool annotate, const char *want)
{
    struct fm_select_options select = FM_INIT(select);
    struct fm_export_options options = FM_INIT(options);
    struct fm_error err = {0};
    char *text;
    select.event = event;
    options.annotate = annotate;
    text = small_export(ctx, store, "folded", &select, &options, &err);
    ck_assert_msg(text != NULL, "%s", err.message);
    ck_assert_str_eq(text, want);
    free(text);
}

static void becomes(const char *in, const char *out)
{
    struct fm_store *store = read_text(in);
    gives(store, NULL, true, out);
    fm_store_free(store);
}

static void found(const struct fm_store *store, enum fm_diag key, uint64_t count, uint64_t offset)
{
    const struct fm_diag_count *row = &fm_store_source_row(store, 0)->diags.row[key];
    ck_assert_msg(row->count == count, "%s: %lu, want %lu", fm_diag_name(key),
                  (unsigned long)row->count, (unsigned long)count);
    if (count > 0)
        ck_assert_uint_eq(row->first_offset, offset);
}

/* ------------------------------------------------------------------ rules */

START_TEST(lines_end_in_a_count)
{
    becomes("a;b 1\na;b 2\na 3\n", "a 3\na;b 3\n");
    becomes("a b;c d 12", "a b;c d 12\n");
    becomes("a\t7\n", "a 7\n");
    becomes("a  7  \n", "a  7\n");     /* one blank goes, what follows the count goes */
    becomes("12 7\n", "12 7\n");
    becomes("a;b;; 7\n;;x 1\n", ";;x 1\na;b 7\n");
    becomes(" 5\n", " 5\n");
    becomes("a;b 18446744073709551615\na;b 1\n", "a;b 18446744073709551616\n");
    becomes("# a 5\n#\n\n \t\n#a 5\n", "#a 5\n");
    becomes("\xef\xbb\xbf" "a 1\r\nb 2\r\n", "a 1\nb 2\n");
}
END_TEST

START_TEST(bad_lines_are_counted_where_they_are)
{
    struct fm_store *store = read_text("a 1\nnocount\nb -3\nc 1e5\nd 99999999999999999999\n;\n"
                                       "e 2\n5\n");
    const struct fm_source *source = fm_store_source_row(store, 0);
    found(store, FM_DIAG_BAD_LINE, 5, 4);
    found(store, FM_DIAG_VALUE_RANGE, 1, 23);
    ck_assert_uint_eq(source->samples_in, 9);
    ck_assert_uint_eq(source->samples_kept, 3);
    gives(store, NULL, false, "a 1\ne 2\n");
    fm_store_free(store);
}
END_TEST

START_TEST(fractions_are_rounded_half_to_even)
{
    struct fm_store *store = read_text("a 0.5\nb 1.5\nc 2.5\nd 2.51\ne 2.49\nf 3.\ng 4.0\n");
    found(store, FM_DIAG_FRACTION, 5, 0);
    gives(store, NULL, false, "b 2\nc 2\nd 3\ne 2\nf 3\ng 4\n");
    fm_store_free(store);
}
END_TEST

START_TEST(two_counts_are_two_events)
{
    struct fm_store *store = read_text("a;b 10 30\na;c 20 0\nd 5\n");
    gives(store, NULL, false, "a;b 30\nd 5\n");
    gives(store, "before", false, "a;b 10\na;c 20\n");
    ck_assert_uint_eq(fm_store_rows(store), 5);
    fm_store_free(store);
}
END_TEST

START_TEST(suffixes_are_kinds)
{
    const char *in = "a;k_[k];i_[i];j_[j];w_[w];x_[x];z_[0];c_[1];g_[g];G_[G] 1\n";
    struct fm_store *store = read_text(in);
    gives(store, NULL, true, in);
    gives(store, NULL, false, "a;k;i;j;w_[w];x_[x];z;c;g;G 1\n");
    fm_store_free(store);
    becomes("_[k];_[j] 1\n", "_[k];_[j] 1\n");
}
END_TEST

START_TEST(bytes_that_are_not_utf8_are_kept)
{
    struct fm_store *store = read_text("a;\xff\xfe 1\na;\xff\xfe;b 2\n\xc3\xa9 3\n");
    found(store, FM_DIAG_BAD_UTF8, 1, 0);
    gives(store, NULL, false, "a;\xff\xfe 1\na;\xff\xfe;b 2\n\xc3\xa9 3\n");
    fm_store_free(store);
    store = read_bytes("a\0b 1\n", 6);
    gives(store, NULL, false, "a\\x00b 1\n");
    fm_store_free(store);
}
END_TEST

START_TEST(deep_stacks_are_cut_at_the_root)
{
    struct fm_store *store;
    fm_ctx_set_cap(ctx, FM_CAP_STACK_DEPTH, 3);
    store = read_text("a;b;c 1\nz;a;b;c 2\nb;c 4\ny;z;b;b;c 8\n");
    found(store, FM_DIAG_STACK_DEPTH, 2, 8);
    gives(store, NULL, false, "a;b;c 3\nb;b;c 8\nb;c 4\n");
    fm_store_free(store);
}
END_TEST

START_TEST(sorted_input_comes_back_as_it_was)
{
    /* sorted by byte order of stacks, merged, no unreadable names */
    const char *text = "a 1\na b;c 2\na-b;c 3\na;b 4\na;b c;d 5\na;b;c 6\na;b;c;d 7\na;c 8\n"
                       "b;;c 9\nb;a;a;a 10\n\xc3\xa9;x 11\n";
    struct fm_store *store = read_text(text);
    gives(store, NULL, false, text);
    fm_store_free(store);
}
END_TEST

/* Random stacks against a plain implementation: sort, merge, print. */
static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

START_TEST(random_stacks_conserve_counts)
{
    static const char *const name[] = {"a", "b", "a b", "a-b", "aa", "b\xc3\xa9", "c", "c!", "d"};
    enum { LINES = 3000 };
    static char stack[LINES][64], *key[LINES];
    static char in[LINES * 80], want[LINES * 80];
    unsigned count[LINES];
    uint32_t seed = 7;
    size_t i, k, n = 0, out = 0;
    struct fm_store *store;
    for (i = 0; i < LINES; i++) {
        size_t depth, len = 0;
        seed = seed * 1103515245u + 12345;
        depth = 1 + (seed >> 16) % 6;
        for (k = 0; k < depth; k++) {
            seed = seed * 1103515245u + 12345;
            len += (size_t)snprintf(stack[i] + len, sizeof stack[i] - len, "%s%s", k ? ";" : "",
                                    name[(seed >> 16) % FM_COUNT(name)]);
        }
        key[i] = stack[i];
        count[i] = 1 + (seed >> 20) % 50;
        n += (size_t)snprintf(in + n, sizeof in - n, "%s %u\n", stack[i], count[i]);
    }
    qsort(key, LINES, sizeof *key, by_text);
    for (i = 0; i < LINES; i = k) {
        unsigned sum = 0;
        for (k = i; k < LINES && strcmp(key[k], key[i]) == 0; k++)
            sum += count[(size_t)(key[k] - stack[0]) / sizeof stack[0]];
        out += (size_t)snprintf(want + out, sizeof want - out, "%s %u\n", key[i], sum);
    }
    store = read_bytes(in, n);
    gives(store, NULL, false, want);
    fm_store_free(store);
}
END_TEST

/* --------------------------------------------------------------- driver */

START_TEST(probe_tells_folded_from_other_text)
{
    static const struct {
        const char *text;
        unsigned least, most;
    } want[] = {
        {"a;b 1\na;c 2\n", 24, 31},
        {"# c\na;b 1\n\nnocount\na;b 3\na 2\nb 2\nb 2\nb 2\nb 2\nb 2\nb 2\nb 2\nb 2\n", 6, 23},
        {"a 1\nb 2\n", 1, 6},
        {"app 10/10  1.5: 3 cpu-clock: \n\t  ffff main (/bin/app)\n\n", 0, 0},
        {"{\"traceEvents\": [\n", 0, 0},
        {"\xef\xbb\xbf", 0, 0},
        {"", 0, 0},
    };
    const struct fm_importer *folded = fm_importer_find("folded");
    size_t i;
    ck_assert_ptr_nonnull(folded);
    for (i = 0; i < FM_COUNT(want); i++) {
        unsigned bits = folded->probe((const unsigned char *)want[i].text, strlen(want[i].text),
                                      true, NULL);
        ck_assert_msg(bits >= want[i].least && bits <= want[i].most, "%zu: %u bits", i, bits);
    }
    ck_assert_uint_eq(folded->probe((const unsigned char *)"a;b 1\n\0", 7, true, NULL), 0);
}
END_TEST

static enum fm_status try(const char *text, const char *format, const char *name,
                          struct fm_error *err)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_input *input = NULL;
    struct fm_builder *builder = NULL;
    enum fm_status status;
    bool usable = true;
    options.format = format;
    memset(err, 0, sizeof *err);
    ck_assert_int_eq(fm_input_open_memory(ctx, text, strlen(text), name, &input, err), FM_OK);
    ck_assert_int_eq(fm_builder_new(ctx, &builder, err), FM_OK);
    status = fm_import_input(ctx, input, &options, builder, &usable, err);
    ck_assert_int_eq(usable, status == FM_OK);
    fm_input_free(input);
    fm_builder_free(builder);
    return status;
}

START_TEST(driver_names_what_it_cannot_read)
{
    struct fm_error err;
    ck_assert_int_eq(try("a;b 1\n", NULL, "x", &err), FM_OK);
    ck_assert_int_eq(try("", NULL, "x", &err), FM_UNKNOWN);
    ck_assert_str_eq(err.message, "the input is empty");
    ck_assert_int_eq(try("no such thing\n", NULL, "x", &err), FM_UNKNOWN);
    ck_assert_str_eq(err.message, "no known format");
    ck_assert_int_eq(try("a;b 1\n", "foldet", "x", &err), FM_CONFIG);
    ck_assert_str_eq(err.message, "no format 'foldet' (did you mean 'folded'?)");
}
END_TEST

START_TEST(import_survives_every_failed_allocation)
{
    uint64_t n;
    enum fm_status status = FM_NOMEM;
    for (n = 1; status != FM_OK; n++) {
        struct fm_import_options options = FM_INIT(options);
        struct fm_input *input = NULL;
        struct fm_builder *builder = NULL;
        struct fm_store *store = NULL;
        struct fm_error err = {0};
        bool usable = false;
        const char *text = "a;b_[k];c 1\na;b_[k] 2.5\nbad\n;x 3 4\n";
        options.format = "folded";      /* probing reads every format file: not the subject here */
        ctx->mem.fail_at = atomic_load(&ctx->mem.allocations) + n;
        status = fm_input_open_memory(ctx, text, strlen(text), "t", &input, &err);
        if (status == FM_OK)
            status = fm_builder_new(ctx, &builder, &err);
        if (status == FM_OK)
            status = fm_import_input(ctx, input, &options, builder, &usable, &err);
        if (status == FM_OK)
            status = fm_builder_seal(builder, NULL, &store, &err);
        else
            fm_builder_free(builder);
        ctx->mem.fail_at = 0;
        fm_input_free(input);
        fm_store_free(store);
        ck_assert_msg(status == FM_OK || status == FM_NOMEM, "n %lu: %s", (unsigned long)n,
                      err.message);
        ck_assert_uint_eq(atomic_load(&ctx->mem.used), held);
        ck_assert_uint_lt(n, 3000);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("folded");
    TCase *t = tcase_create("folded");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, lines_end_in_a_count);
    tcase_add_test(t, bad_lines_are_counted_where_they_are);
    tcase_add_test(t, fractions_are_rounded_half_to_even);
    tcase_add_test(t, two_counts_are_two_events);
    tcase_add_test(t, suffixes_are_kinds);
    tcase_add_test(t, bytes_that_are_not_utf8_are_kept);
    tcase_add_test(t, deep_stacks_are_cut_at_the_root);
    tcase_add_test(t, sorted_input_comes_back_as_it_was);
    tcase_add_test(t, random_stacks_conserve_counts);
    tcase_add_test(t, probe_tells_folded_from_other_text);
    tcase_add_test(t, driver_names_what_it_cannot_read);
    tcase_add_test(t, import_survives_every_failed_allocation);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
