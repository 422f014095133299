/*
 * The command line's filters, in queries and on selections for exporters; and that every shipped
 * query validates.
 */
#include "query_help.h"

#include "query/query.h"
#include "util/out.h"

#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

static const char lines[] =
    "main@/bin/x;a@/lib/liba.so 1 tid=101 comm=one cpu=0 ts=0 i.size=5\n"
    "main@/bin/x;b@/lib/libb.so 2 tid=202 comm=two cpu=1 ts=1000000000\n"
    "main@/bin/x;a@/lib/liba.so;b@/lib/libb.so 4 tid=101 comm=one cpu=2 ts=2000000000\n"
    "- 8 ts=3000000000\n";

static struct fm_ctx *ctx;

static void setup(void)
{
    ctx = fm_ctx_new();
    ck_assert_ptr_nonnull(ctx);
}

static void teardown(void)
{
    fm_arena_release(&ctx->arena); /* the folders of the data path */
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
    fm_ctx_free(ctx);
}

static const char *run(struct fm_store *store, const char *const *filter, size_t n)
{
    struct fm_select_options o = FM_INIT(o);

    o.filter = filter;
    o.filters = n;
    return query_run_with(ctx, store, query_of("  - group: {by: [path], measures: [self]}\n"), NULL,
                          "csv", &o);
}

START_TEST(row_filters)
{
    static const struct {
        const char *filter, *rows;
    } table[] = {
        { "comm=one", "main;a,1\nmain;a;b,4\n" }, { "comm=t*", "main;b,2\n" },
        { "pid=100", "main;a,1\nmain;a;b,4\n" }, { "pid=200,300", "main;b,2\n" },
        { "tid=202,101", "main;a,1\nmain;a;b,4\nmain;b,2\n" },
        { "cpu=0,2", "main;a,1\nmain;a;b,4\n" },
        { "cpu=1..2", "main;a;b,4\nmain;b,2\n" }, { "cpu=>= 2", "main;a;b,4\n" },
        { "dso=libb.so", "main;a;b,4\nmain;b,2\n" }, { "dso=/lib/liba.so", "main;a,1\n" },
        { "symbol=/^a$/", "main;a,1\n" }, { "time=1s..2s", "main;b,2\n" },
        { "time=50%..", "main;a;b,4\n,8\n" }, { "time=..0.5s", "main;a,1\n" },
        { "event=cpu", "main;a,1\nmain;a;b,4\nmain;b,2\n,8\n" }, { "size=5", "main;a,1\n" },
        { "focus=a", "main;a,1\nmain;a;b,4\n" }, { "ignore=a", "main;b,2\n,8\n" },
        { "hide=a", "main,1\nmain;b,6\n,8\n" }, { "show=a", "[none],2\na,5\n,8\n" },
        { "hide=/./", "[none],7\n,8\n" }
    };
    struct fm_store *store = query_store(ctx, lines);
    char want[128];

    for (size_t i = 0; i < FM_COUNT(table); i++) {
        const char *got = run(store, &table[i].filter, 1);
        ck_assert_msg(got != NULL, "%s: %s%s", table[i].filter, query_error(), query_messages());
        snprintf(want, sizeof want, "path,self (ns)\n%s", table[i].rows);
        ck_assert_msg(strcmp(got, want) == 0, "%s:\n%s", table[i].filter, got);
    }
    fm_store_free(store);
}
END_TEST

/* hide comes first in the list, but focus sees the stacks before it. */
START_TEST(edits_come_after_rows)
{
    static const char *const both[] = { "hide=a", "focus=a", "comm=one", "hide=main" };
    struct fm_store *store = query_store(ctx, lines);

    ck_assert_str_eq(run(store, both, 4), "path,self (ns)\n[none],1\nb,4\n");
    fm_store_free(store);
}
END_TEST

/* Pseudo frames: what --prepend and --append put around stacks is edited and grouped like frames,
 * after the filters. */
START_TEST(pseudo_frames)
{
    static const struct {
        const char *prepend, *append, *steps, *want;
    } table[] = {
        { "comm", NULL, "  - group: {by: [path], measures: [self]}\n",
          "path,self (ns)\n[no comm],8\none;main;a,1\none;main;a;b,4\ntwo;main;b,2\n" },
        { "comm,pid", "cpu", "  - group: {by: [path], measures: [self]}\n",
          "path,self (ns)\n[no comm];[no pid];[no cpu],8\none;100;main;a;0,1\n"
          "one;100;main;a;b;2,4\ntwo;200;main;b;1,2\n" },
        { "comm", NULL, "  - group: {by: [any.function], measures: [self, total]}\n",
          "function,self (ns),total (ns)\n[no comm],8,8\na,1,5\nb,6,6\nmain,0,7\none,0,5\n"
          "two,0,2\n" },
        { "comm", NULL, "  - stack:\n      - drop: [main, one]\n"
                        "  - group: {by: [path], measures: {s: self, v: sum(size)}}\n",
          "path,s (ns),v\n[no comm],8,0\na,1,5\na;b,4,0\ntwo;b,2,0\n" },
        { NULL, "comm", "  - where: {stack: {leaf: one}}\n  - stack:\n      - root: one\n"
                        "  - group: {by: [path, cpu], measures: [self]}\n",
          "path,cpu,self (ns)\none,0,1\none,2,4\n" }
    };
    struct fm_store *store = query_store(ctx, lines);
    struct fm_select_options o = FM_INIT(o);

    for (size_t i = 0; i < FM_COUNT(table); i++) {
        const char *got;
        o.prepend = table[i].prepend;
        o.append = table[i].append;
        got = query_run_with(ctx, store, query_of(table[i].steps), NULL, "csv", &o);
        ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
        ck_assert_str_eq(got, table[i].want);
    }
    o.prepend = "nothing";
    ck_assert_ptr_null(query_run_with(ctx, store, query_of(table[0].steps), NULL, "csv", &o));
    ck_assert_int_eq(query_status(), FM_CONFIG);
    fm_store_free(store);
}
END_TEST

START_TEST(wrong_filters)
{
    static const struct {
        const char *filter, *error, *messages;
    } table[] = {
        { "com=x", "unknown filter or column 'com' (did you mean 'comm'?)", NULL },
        { "cpu=zero", "'cpu' needs a number, not 'zero'",
          "--cpu:1:1: error: 'cpu' needs a number, not 'zero' [FM104]\n"
          "    1 | zero\n"
          "      | ^~~~\n" },
        { "cpu=1,x", "'cpu' needs a number, not 'x'",
          "--cpu:1:3: error: 'cpu' needs a number, not 'x' [FM104]\n"
          "    1 | 1,x\n"
          "      |   ^\n" },
        { "time=then", "'then' is no time range", NULL },
        { "focus=/(/", "bad regular expression: missing closing parenthesis",
          "--focus:1:3: error: bad regular expression: missing closing parenthesis [FM106]\n"
          "    1 | /(/\n"
          "      |   ^\n" },
        { "hide", "filter 'hide' is not KEY=VALUE", NULL }
    };
    struct fm_store *store = query_store(ctx, lines);

    for (size_t i = 0; i < FM_COUNT(table); i++) {
        ck_assert_ptr_null(run(store, &table[i].filter, 1));
        ck_assert_int_eq(query_status(), FM_CONFIG);
        ck_assert_str_eq(query_error(), table[i].error);
        if (table[i].messages != NULL)
            ck_assert_str_eq(query_messages(), table[i].messages);
    }
    fm_store_free(store);
}
END_TEST

/* What exporters get: the same filters on a selection, conserved weight, sound trees. */
START_TEST(selections_for_exporters)
{
    static const char *const filter[] = { "cpu=0..1", "hide=main" };
    struct fm_store *store = query_store(ctx, lines);
    struct fm_select_options o = FM_INIT(o);
    struct fm_selection sel;
    struct fm_names names = { .style = FM_NAMES_FOLDMILL };
    struct fm_calltree tree = { 0 };
    struct fm_error err;

    fm_error_clear(&err);
    o.filter = filter;
    o.filters = 2;
    o.prepend = "none";
    ck_assert_int_eq(fm_selection_init(&sel, store, &o, &err), FM_OK);
    ck_assert_msg(fm_query_filter(ctx, &sel, &o, &err) == FM_OK, "%s", err.message);
    ck_assert_int_eq(fm_selection_sum(&sel, &err), FM_OK);
    ck_assert_uint_eq((uint64_t)sel.weight, 3);
    ck_assert_uint_eq((uint64_t)sel.weight_all, 15);
    ck_assert_ptr_nonnull(sel.stacks);
    for (size_t n = 1; n < sel.stacks->nodes; n++) {
        const struct fm_tree_node *node = sel.stacks->node;
        ck_assert_uint_lt(node[n].parent, n);
        ck_assert_uint_le(node[n].end, node[node[n].parent].end);
        ck_assert_uint_eq(node[n].depth, node[node[n].parent].depth + 1);
        ck_assert_uint_lt(node[n].frame, sel.stacks->frames);
    }
    ck_assert_msg(fm_calltree_make(&tree, &sel, &names, &err) == FM_OK, "%s", err.message);
    ck_assert_uint_eq((uint64_t)tree.node[0].total, 3);
    ck_assert_uint_eq(tree.nodes, 3);
    ck_assert_str_eq(fm_store_str(store, tree.node[1].label, NULL), "a");
    ck_assert_str_eq(fm_store_str(store, tree.node[2].label, NULL), "b");
    fm_calltree_release(&tree);
    fm_selection_release(&sel);
    o.filter = (const char *const[]){ "nope=1" };
    o.filters = 1;
    ck_assert_int_eq(fm_selection_init(&sel, store, &o, &err), FM_OK);
    ck_assert_int_eq(fm_query_filter(ctx, &sel, &o, &err), FM_CONFIG);
    ck_assert_str_eq(err.message,
                     "unknown filter or column 'nope' (did you mean 'name'?)");
    fm_selection_release(&sel);
    fm_store_free(store);
}
END_TEST

START_TEST(shipped_queries_validate)
{
    const char *path = getenv("FOLDMILL_PATH");
    char pattern[512];
    glob_t found;

    ck_assert_ptr_nonnull(path);
    snprintf(pattern, sizeof pattern, "%s/queries/*.yaml", path);
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    ck_assert_uint_ge(found.gl_pathc, 2);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct fm_error err;
        struct fm_out out;
        fm_error_clear(&err);
        ck_assert_int_eq(fm_out_init(&out, &ctx->mem, NULL), FM_OK);
        ck_assert_msg(fm_query_check(ctx, found.gl_pathv[i], &out, &err) == FM_OK, "%.*s",
                      (int)out.n, out.buf);
        ck_assert(out.n > 6 && memcmp(out.buf, "query ", 6) == 0);
        fm_out_release(&out);
    }
    globfree(&found);
}
END_TEST

/* The examples of the manual are whole queries, and run. */
START_TEST(examples_of_the_manual_run)
{
    static char text[1 << 16], example[1 << 14];
    struct fm_store *store = query_store(ctx, lines);
    const char *path = getenv("FOLDMILL_PATH"), *at = text;
    size_t n, found = 0;
    FILE *file;

    ck_assert_ptr_nonnull(path);
    snprintf(example, sizeof example, "%s/man/foldmill-queries.5", path);
    file = fopen(example, "r");
    ck_assert_ptr_nonnull(file);
    n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    while ((at = strstr(at, "\n.Bd -literal\nfoldmill-query: 1\n")) != NULL) {
        const char *end = strstr(at, "\n.Ed\n");
        ck_assert_ptr_nonnull(end);
        at += strlen("\n.Bd -literal\n");
        snprintf(example, sizeof example, "%.*s\n", (int)(end - at), at);
        ck_assert_msg(query_run(ctx, store, example, NULL, "text") != NULL, "%s%s%s", example,
                      query_error(), query_messages());
        ck_assert_ptr_null(strstr(query_messages(), "error:"));
        found++;
    }
    ck_assert_uint_ge(found, 4);
    fm_store_free(store);
}
END_TEST

/* Documents of one file are chosen by name, and checked each. */
START_TEST(files_of_several_queries)
{
    static const char text[] =
        "foldmill-query: 1\nname: one\nsteps:\n  - group: {by: [path], measures: [self]}\n"
        "---\n"
        "foldmill-query: 1\nname: two\nsteps:\n  - group: {by: [cpu], measures: [slef]}\n";
    struct fm_query *q = NULL;
    struct fm_error err;
    struct fm_out out;
    FILE *file = fopen("two-queries.yaml", "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    fm_error_clear(&err);
    ck_assert_int_eq(fm_query_load(ctx, "two-queries.yaml", &q, &err), FM_OK);
    ck_assert_ptr_null(fm_query_input(q, 0));
    fm_query_free(q);
    ck_assert_int_eq(fm_query_load(ctx, "two-queries.yaml#two", &q, &err), FM_CONFIG);
    ck_assert_ptr_nonnull(strstr(fm_query_errors(q), "two-queries.yaml:9:35: error: "));
    fm_query_free(q);
    fm_error_clear(&err);
    ck_assert_int_eq(fm_query_load(ctx, "two-queries.yaml#three", &q, &err), FM_UNKNOWN);
    ck_assert_ptr_null(q);
    ck_assert_str_eq(err.message, "'two-queries.yaml' has no query 'three'");
    fm_error_clear(&err);
    ck_assert_int_eq(fm_query_load(ctx, "no-such-query", &q, &err), FM_UNKNOWN);
    fm_error_clear(&err);
    ck_assert_int_eq(fm_out_init(&out, &ctx->mem, NULL), FM_OK);
    ck_assert_int_eq(fm_query_check(ctx, "two-queries.yaml", &out, &err), FM_CONFIG);
    fm_out_char(&out, '\0');
    ck_assert_ptr_nonnull(strstr(out.buf, "query one: -\n"));
    ck_assert_ptr_nonnull(strstr(out.buf, "two-queries.yaml:9:35: error: "));
    fm_out_release(&out);
    remove("two-queries.yaml");
}
END_TEST

/* Every allocation of a run may fail: FM_NOMEM, nothing leaked, nothing crashed. */
START_TEST(memory_may_run_out)
{
    struct fm_store *store = query_store(ctx, lines);
    char text[1024];
    uint64_t at;
    bool done = false;

    snprintf(text, sizeof text, "%s", query_of(
        "  - where: {comm: \"*o*\", stack: {has: main}, cpu: \">= 0\"}\n"
        "  - stack:\n      - drop: main\n      - collapse: {recursion: all}\n"
        "      - level: function\n"
        "  - group: {by: [any.function, comm], measures: {s: self, m: p50(weight), d: "
        "distinct(ts)}}\n"
        "  - sort: [-s]\n  - limit: {rows: 1, rest: others}\n"));
    for (at = 1; !done && at < 3000; at++) {
        size_t used = atomic_load(&ctx->mem.used);
        ctx->mem.fail_at = atomic_load(&ctx->mem.allocations) + at;
        done = query_run(ctx, store, text, NULL, "csv") != NULL;
        ctx->mem.fail_at = 0;
        if (!done)
            ck_assert_int_eq(query_status(), FM_NOMEM);
        /* the store may have learnt texts */
        ck_assert_uint_le(used, atomic_load(&ctx->mem.used) + 1);
    }
    ck_assert(done);
    ck_assert_uint_gt(at, 20);
    fm_store_free(store);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("query_filter");
    TCase *t = tcase_create("query_filter");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, row_filters);
    tcase_add_test(t, edits_come_after_rows);
    tcase_add_test(t, pseudo_frames);
    tcase_add_test(t, wrong_filters);
    tcase_add_test(t, selections_for_exporters);
    tcase_add_test(t, shipped_queries_validate);
    tcase_add_test(t, examples_of_the_manual_run);
    tcase_add_test(t, files_of_several_queries);
    tcase_add_test(t, memory_may_run_out);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
