/*
 * test_export.c - the exporters over the small built store, with outputs worked out by hand.
 */
#include "small.h"

#include "export/export.h"
#include "export/palette.h"
#include "store/build.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static struct fm_ctx *ctx;
static struct fm_store *store;
static size_t held;

static void setup(void)
{
    ctx = fm_ctx_new();
    held = atomic_load(&ctx->mem.used);
    store = small_store(ctx);
}

static void teardown(void)
{
    fm_store_free(store);
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), held);
    fm_ctx_free(ctx);
}

static void writes(const char *exporter, const char *event, const struct fm_export_options *options,
                   const char *want)
{
    struct fm_select_options select = FM_INIT(select);
    struct fm_error err = {0};
    char *text;
    select.event = event;
    text = small_export(ctx, store, exporter, &select, options, &err);
    ck_assert_msg(text != NULL, "%s", err.message);
    ck_assert_str_eq(text, want);
    free(text);
}

static void refuses(const char *exporter, const char *set, const char *names, const char *says)
{
    struct fm_export_options options = FM_INIT(options);
    struct fm_error err = {0};
    options.names = names;
    options.set = &set;
    options.sets = set != NULL;
    ck_assert_ptr_null(small_export(ctx, store, exporter, NULL, &options, &err));
    ck_assert_int_eq(err.status, FM_CONFIG);
    ck_assert_msg(strstr(err.message, says) != NULL, "'%s' lacks '%s'", err.message, says);
}

/* A store whose stacks are these texts, root first, each split at '|', with these weights. */
static void replace_store(const char *const *stack, const uint64_t *weight, size_t n)
{
    struct fm_builder *b;
    struct fm_error err = {0};
    uint32_t event;
    size_t i;
    fm_store_free(store);
    ck_assert_int_eq(fm_builder_new(ctx, &b, &err), FM_OK);
    fm_builder_source(b, "made", "test");
    event = fm_builder_event(b, "samples", "samples", FM_KIND_SAMPLE);
    for (i = 0; i < n; i++) {
        const char *s = stack[i];
        fm_node node = FM_NODE_ROOT;
        while (*s != '\0') {
            size_t len = strcspn(s, "|");
            struct fm_frame_row row = {.module = FM_NONE, .address = UINT64_MAX};
            row.function = fm_builder_str(b, s, len);
            node = fm_builder_node(b, node, fm_builder_frame(b, &row));
            s += len + (s[len] == '|');
        }
        fm_row_begin(b, event);
        fm_row_set(b, FM_COL_WEIGHT, weight[i]);
        fm_row_set(b, FM_COL_STACK, node);
        fm_row_end(b);
        fm_account_in(b, 1);
    }
    ck_assert_int_eq(fm_builder_seal(b, NULL, &store, &err), FM_OK);
}

/* ------------------------------------------------------------------ table */

START_TEST(exporters_are_found_by_name_and_path)
{
    const char *last = "";
    const struct fm_exporter *e;
    size_t i;
    for (i = 0; (e = fm_exporter_at(i)) != NULL; i++) {
        ck_assert_int_lt(strcmp(last, e->name), 0);
        ck_assert_ptr_eq(fm_exporter_find(e->name), e);
        last = e->name;
    }
    ck_assert_ptr_null(fm_exporter_find("nothing"));
    ck_assert_str_eq(fm_exporter_for_path("x/a.svg")->name, "svg");
    ck_assert_str_eq(fm_exporter_for_path("a.collapsed")->name, "folded");
    ck_assert_str_eq(fm_exporter_for_path("a.speedscope.json")->name, "speedscope");
    ck_assert_ptr_null(fm_exporter_for_path("a.json"));
    ck_assert_ptr_null(fm_exporter_for_path(".svg"));
}
END_TEST

START_TEST(settings_are_checked)
{
    refuses("svg", "widht=3", NULL, "no setting 'widht' (did you mean 'width'?)");
    refuses("svg", "width=3", NULL, "setting width: '3' is no number from 100");
    refuses("svg", "colors=hat", NULL, "did you mean 'hot'");
    refuses("svg", "bgcolors=#12345", NULL, "bgcolors");
    refuses("svg", "minwidth=x%", NULL, "no width");
    refuses("svg", "hash=maybe", NULL, "neither yes nor no");
    refuses("folded", "width=3", NULL, "no setting 'width'");
    refuses("folded", NULL, "gnu", "no style of names 'gnu'");
}
END_TEST

/* ----------------------------------------------------------------- folded */

START_TEST(folded_writes_sorted_sums)
{
    writes("folded", NULL, NULL,
           "app 7\n"
           "app;main;work 13\n"
           "app;main;work;kfn 20\n"
           "wor:ker;main 5\n");
    writes("folded", "page-faults", NULL, "app;main;[unknown] (/usr/bin/app) 1\n");
}
END_TEST

START_TEST(folded_annotates_and_names)
{
    struct fm_export_options options = FM_INIT(options);
    options.annotate = true;
    writes("folded", NULL, &options,
           "app 7\n"
           "app;main;work 13\n"
           "app;main;work;kfn_[k] 20\n"
           "wor:ker;main 5\n");
    options.annotate = false;
    options.names = "flamegraph";
    writes("folded", "page-faults", &options, "app;main;[app] 1\n");
}
END_TEST

START_TEST(folded_lines_are_in_byte_order)
{
    static const char *const stack[] = {"a|b",   "a|b|c", "a|b-x", "a|b-x|y", "a|b c", "a|b!|d",
                                        "a|bb",  "a|b-x-z", "a",   "", "a|b|c"};
    static const uint64_t weight[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20};
    replace_store(stack, weight, FM_COUNT(stack));
    writes("folded", NULL, NULL,
           " 10\n"
           "a 9\n"
           "a;b 1\n"
           "a;b c 5\n"
           "a;b!;d 6\n"
           "a;b-x 3\n"
           "a;b-x-z 8\n"
           "a;b-x;y 4\n"
           "a;b;c 22\n"
           "a;bb 7\n");
}
END_TEST

START_TEST(folded_lines_hold_any_name)
{
    static const char *const stack[] = {"a;b|c", "a:b|c", "x\ny", "# note|z", "op 12", "op 1.5",
                                        "op 7.", "12",    "v1 .2", "tab\there"};
    static const uint64_t weight[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    replace_store(stack, weight, FM_COUNT(stack));
    writes("folded", NULL, NULL,
           "#_note;z 4\n"
           "12 8\n"
           "a:b;c 3\n"
           "op_1.5 6\n"
           "op_12 5\n"
           "op_7. 7\n"
           "tab\there 10\n"
           "v1 .2 9\n"
           "x\\x0ay 3\n");
}
END_TEST

START_TEST(folded_sums_over_64_bits)
{
    static const char *const stack[] = {"a", "a", "a"};
    static const uint64_t weight[] = {UINT64_MAX, UINT64_MAX, 2};
    replace_store(stack, weight, 3);
    writes("folded", NULL, NULL, "a 36893488147419103232\n");
}
END_TEST

/* ------------------------------------------------------------- speedscope */

START_TEST(speedscope_has_a_profile_a_thread)
{
    struct fm_export_options options = FM_INIT(options);
    char want[2048];
    options.title = "T \"1\"";
    snprintf(want, sizeof want,
             "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
             "\"exporter\":\"foldmill@%s\",\"name\":\"T \\\"1\\\"\",\n"
             "\"profiles\":["
             "{\"type\":\"sampled\",\"name\":\"app 10/10\",\"unit\":\"nanoseconds\","
             "\"startValue\":0,\"endValue\":40,"
             "\"samples\":[[0,1,2],[0,1,2,3],[0]],\"weights\":[13,20,7]},\n"
             "{\"type\":\"sampled\",\"name\":\"wor;ker 10/11\",\"unit\":\"nanoseconds\","
             "\"startValue\":0,\"endValue\":5,"
             "\"samples\":[[4,1]],\"weights\":[5]}],\n"
             "\"activeProfileIndex\":0,\n"
             "\"shared\":{\"frames\":[\n"
             "{\"name\":\"app\"},\n{\"name\":\"main\"},\n{\"name\":\"work\"},\n"
             "{\"name\":\"kfn\"},\n{\"name\":\"wor;ker\"}]}}\n",
             PACKAGE_VERSION);
    writes("speedscope", NULL, &options, want);
}
END_TEST

START_TEST(speedscope_has_a_profile_even_when_empty)
{
    replace_store(NULL, NULL, 0);
    {
        char *text = small_export(ctx, store, "speedscope", NULL, NULL, NULL);
        ck_assert_ptr_nonnull(text);
        ck_assert_ptr_nonnull(strstr(text, "\"samples\":[],\"weights\":[]"));
        free(text);
    }
}
END_TEST

/* ------------------------------------------------------------ perf script */

START_TEST(perf_script_prints_like_perf)
{
    writes("perf-script", NULL, NULL,
           "app    10/10        0.000000:          3   cpu-clock: \n"
           "\t              10 work (/usr/bin/app)\n"
           "\t               5 main (/usr/bin/app)\n"
           "\n"
           "app    10/10        0.001100:         10   cpu-clock: \n"
           "\t              10 work (/usr/bin/app)\n"
           "\t               5 main (/usr/bin/app)\n"
           "\n"
           "wor;ker    10/11        0.001150:          5   cpu-clock: \n"
           "\t               5 main (/usr/bin/app)\n"
           "\n"
           "app    10/10        0.001200:         20   cpu-clock: \n"
           "\tffffffff81000010 kfn ([kernel.kallsyms])\n"
           "\t              20 work (/usr/bin/app)\n"
           "\t               5 main (/usr/bin/app)\n"
           "\n"
           "app    10/10        0.001400:          7   cpu-clock: \n"
           "\n");
    writes("perf-script", "page-faults", NULL,
           "app    10/10        0.001300:          1 page-faults: \n"
           "\t              99 [unknown] (/usr/bin/app)\n"
           "\t               5 main (/usr/bin/app)\n"
           "\n");
}
END_TEST

/* -------------------------------------------------------------------- svg */

static char *svg(const char *const *set, size_t sets, const char *title)
{
    struct fm_export_options options = FM_INIT(options);
    struct fm_error err = {0};
    char *text;
    options.set = set;
    options.sets = sets;
    options.title = title;
    text = small_export(ctx, store, "svg", NULL, &options, &err);
    ck_assert_msg(text != NULL, "%s", err.message);
    return text;
}

static void has(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "lacks %s", part);
}

START_TEST(svg_lays_out_by_weight)
{
    char *text = svg(NULL, 0, NULL);
    /* 45 ns over 1180 px; depth 4 deep: height (4+1)*16 + 36 + 34 = 150 */
    has(text, " width=\"1200\" height=\"150\" viewBox=\"0 0 1200 150\"");
    has(text, "<title id=\"name\">small.data: cpu-clock</title>");
    has(text, "<g data-x=\"0\" data-w=\"45\"><title>all (45 ns, 100%)</title>"
              "<rect x=\"10.0\" y=\"101\" width=\"1180.0\" height=\"15.0\"");
    has(text, "<g data-x=\"0\" data-w=\"40\"><title>app (40 ns, 88.89%)</title>"
              "<rect x=\"10.0\" y=\"85\" width=\"1048.9\"");
    /* after 7 of its own weight */
    has(text, "<g data-x=\"7\" data-w=\"33\"><title>main (33 ns, 73.33%)</title>"
              "<rect x=\"193.6\" y=\"69\" width=\"865.3\"");
    has(text, "<g data-x=\"20\" data-w=\"20\"><title>kfn (20 ns, 44.44%)</title>"
              "<rect x=\"534.4\" y=\"37\" width=\"524.5\" height=\"15.0\"");
    has(text, "<text x=\"537.44\" y=\"47.5\">kfn</text>");
    free(text);
}
END_TEST

START_TEST(svg_obeys_settings)
{
    static const char *const set[] = {"width=500", "height=20", "inverted", "minwidth=50%",
                                      "subtitle=Sub & <more>", "countname=ticks", "colors=red",
                                      "bgcolors=#102030"};
    char *text = svg(set, FM_COUNT(set), "A < B");
    /* kfn has 44 %: left out with minwidth 50 %; deepest is work, depth 3 */
    has(text, " width=\"500\" height=\"174\"");
    has(text, "<title id=\"name\">A &lt; B</title>");
    has(text, ">Sub &amp; &lt;more&gt;</text>");
    has(text, "<title>work (33 ticks, 73.33%)</title>");
    has(text, "<title>all (45 ticks, 100%)</title><rect x=\"10.0\" y=\"60\" width=\"480.0\"");
    has(text, "stop-color=\"#102030\"");
    ck_assert_ptr_null(strstr(text, "kfn"));
    ck_assert_ptr_null(strstr(text, "wor;ker"));
    free(text);
}
END_TEST

START_TEST(svg_of_nothing_says_so)
{
    char *text;
    replace_store(NULL, NULL, 0);
    text = svg(NULL, 0, NULL);
    has(text, "No samples");
    has(text, "</svg>");
    free(text);
}
END_TEST

/* Names that try to leave their place: whatever they hold, only text may come of it. */
START_TEST(svg_escapes_every_name)
{
    static const char *const stack[] = {
        "</title><script>alert(1)</script>", "]]><script>alert(2)</script>",
        "a\" onload=\"alert(3)", "' onclick='alert(4)", "&lt;b&gt;", "ctl\x01\x1b[31m\x7f",
        "bad\xff\xc0\xafutf", "nul", "\xed\xa0\x80surrogate", "\xef\xbf\xbe\xef\xbf\xbf",
        "<!--", "-->", "<![CDATA[", "javascript:alert(5)", "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80",
    };
    uint64_t weight[FM_COUNT(stack)];
    const char *p;
    char *text;
    size_t i;
    FILE *f;
    for (i = 0; i < FM_COUNT(stack); i++)
        weight[i] = 100;
    replace_store(stack, weight, FM_COUNT(stack));
    text = svg(NULL, 0, "]]></script><script>alert(6)</script>");
    for (p = text; *p != '\0'; p++)
        ck_assert_msg((unsigned char)*p >= 0x20 || *p == '\n', "control byte at %ld",
                      (long)(p - text));
    p = strstr(text, "<script");
    ck_assert_ptr_nonnull(p);
    ck_assert_ptr_null(strstr(p + 1, "<script"));
    p = strstr(text, "]]>");
    ck_assert_msg(strncmp(p, "]]></script>\n</svg>\n", 20) == 0, "%.40s", p);
    ck_assert_ptr_null(strstr(text, "<!--"));
    for (p = text; (p = strchr(p, '<')) != NULL && strncmp(p, "<script>", 8) != 0; p++) {
        const char *on = strstr(p, " on"), *end = strchr(p, '>');
        ck_assert_msg(on == NULL || on > end, "an on... attribute: %.60s", p);
    }
    has(text, "<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; (100 samples, 6.67%)");
    f = fopen("test_export.svg", "w");
    if (f != NULL) {
        int rc;
        fputs(text, f);
        fclose(f);
        rc = system("command -v xmllint >/dev/null || exit 0; xmllint --noout --nonet "
                    "test_export.svg");
        ck_assert_int_eq(rc, 0);
        remove("test_export.svg");
    }
    free(text);
}
END_TEST

/* ---------------------------------------------------------------- colours */

START_TEST(palettes_are_flamegraphs)
{
    static const struct {
        const char *palette;
        bool hash;
        const char *name;
        unsigned rgb[3];
    } want[] = {
        {"hot", false, "json_ip93", {245, 184, 44}},
        {"hot", true, "json_ip93", {248, 147, 47}},
        {"mem", false, "ns::map::tree::json53", {0, 225, 147}},
        {"java", false, "ns::map::tree::json53", {213, 213, 64}},
        {"io", true, "json_ip93", {118, 118, 237}},
        {"js", false, " ", {52, 202, 52}},
        {"hot", false, "-", {200, 200, 200}},
        {"mem", true, "--", {160, 160, 160}},
    };
    size_t i;
    for (i = 0; i < FM_COUNT(want); i++) {
        unsigned rgb[3];
        fm_palette_color(fm_palette_find(want[i].palette), want[i].hash, want[i].name,
                         strlen(want[i].name), rgb);
        ck_assert_msg(memcmp(rgb, want[i].rgb, sizeof rgb) == 0, "%s %s: %u,%u,%u",
                      want[i].palette, want[i].name, rgb[0], rgb[1], rgb[2]);
    }
    ck_assert_int_eq(fm_palette_find("none"), -1);
}
END_TEST

START_TEST(exporters_survive_every_failed_allocation)
{
    static const char *const exporter[] = {"folded", "html", "speedscope", "svg", "perf-script"};
    size_t e;
    for (e = 0; e < FM_COUNT(exporter); e++) {
        uint64_t n;
        char *text = NULL;
        for (n = 1; text == NULL; n++) {
            struct fm_error err = {0};
            ctx->mem.fail_at = atomic_load(&ctx->mem.allocations) + n;
            text = small_export(ctx, store, exporter[e], NULL, NULL, &err);
            ctx->mem.fail_at = 0;
            if (text == NULL)
                ck_assert_msg(err.status == FM_NOMEM, "%s: %s", exporter[e], err.message);
            ck_assert_uint_lt(n, 1000);
        }
        free(text);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("export");
    TCase *t = tcase_create("export");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, exporters_are_found_by_name_and_path);
    tcase_add_test(t, settings_are_checked);
    tcase_add_test(t, folded_writes_sorted_sums);
    tcase_add_test(t, folded_annotates_and_names);
    tcase_add_test(t, folded_lines_are_in_byte_order);
    tcase_add_test(t, folded_lines_hold_any_name);
    tcase_add_test(t, folded_sums_over_64_bits);
    tcase_add_test(t, speedscope_has_a_profile_a_thread);
    tcase_add_test(t, speedscope_has_a_profile_even_when_empty);
    tcase_add_test(t, perf_script_prints_like_perf);
    tcase_add_test(t, svg_lays_out_by_weight);
    tcase_add_test(t, svg_obeys_settings);
    tcase_add_test(t, svg_of_nothing_says_so);
    tcase_add_test(t, svg_escapes_every_name);
    tcase_add_test(t, palettes_are_flamegraphs);
    tcase_add_test(t, exporters_survive_every_failed_allocation);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
