/*
 * test_yaml.c - the YAML reader: trees with marks, what is refused, and messages with carets.
 */
#include "util/error.h"
#include "util/yaml.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct fm_mem mem;
static struct fm_arena arena;
static struct fm_yaml_log log_;
static struct fm_yaml_file *file;

static void setup(void)
{
    fm_mem_init(&mem, 0);
    fm_arena_init(&arena, &mem);
}

static void teardown(void)
{
    fm_arena_release(&arena);
    ck_assert_uint_eq(atomic_load(&mem.used), 0);
}

static enum fm_status parse_n(const char *text, size_t n)
{
    fm_yaml_log_init(&log_, &arena);
    return fm_yaml_parse(&arena, "f.yaml", text, n, &file, &log_);
}

static struct fm_yaml_node *parse(const char *text)
{
    ck_assert_msg(parse_n(text, strlen(text)) == FM_OK, "%s", log_.text);
    ck_assert_uint_eq(file->documents, 1);
    return file->document[0];
}

/* The text is refused, and the first message is `message` at line:column. */
static void refused(const char *text, unsigned line, unsigned column, const char *message)
{
    ck_assert_int_eq(parse_n(text, strlen(text)), FM_CONFIG);
    ck_assert_str_eq(log_.first.message, message);
    ck_assert_uint_eq(log_.first.line, line);
    ck_assert_uint_eq(log_.first.column, column);
    ck_assert_str_eq(log_.first.source, "f.yaml");
}

START_TEST(tree_and_marks)
{
    struct fm_yaml_node *map = parse("a: 1\n"
                                     "list:\n"
                                     "  - x: 'it''s'\n"
                                     "  - \"q\\n\"\n"
                                     "flow: {k: [b, no, ~]}\n"
                                     "none:\n");
    ck_assert_int_eq(map->type, FM_YAML_MAP);
    ck_assert_uint_eq(map->n, 4);
    ck_assert_str_eq(fm_yaml_get(map, "a")->text, "1");
    ck_assert(!fm_yaml_get(map, "a")->quoted);
    const struct fm_yaml_node *list = fm_yaml_get(map, "list");
    ck_assert_uint_eq(list->n, 2);
    const struct fm_yaml_node *its = fm_yaml_get(list->item[0], "x");
    ck_assert_str_eq(its->text, "it's");
    ck_assert(its->quoted);
    ck_assert_uint_eq(its->line, 3);
    ck_assert_uint_eq(its->column, 8);
    ck_assert_uint_eq(list->item[1]->n, 2);
    const struct fm_yaml_pair *flow = fm_yaml_find(map, "flow");
    ck_assert_uint_eq(flow->key_line, 5);
    ck_assert_uint_eq(flow->key_column, 1);
    ck_assert_int_eq(flow->value->style, FM_YAML_FLOW);
    const struct fm_yaml_node *words = fm_yaml_get(flow->value, "k");
    ck_assert_str_eq(words->item[1]->text, "no");
    ck_assert(fm_yaml_is_null(words->item[2]));
    ck_assert(fm_yaml_is_null(fm_yaml_get(map, "none")));
    ck_assert(fm_yaml_is(fm_yaml_get(map, "a"), "1"));
    ck_assert_ptr_null(fm_yaml_get(map, "absent"));
    ck_assert_ptr_null(fm_yaml_get(list, "x"));
    ck_assert_uint_eq(map->weight, 12);
}
END_TEST

START_TEST(several_documents)
{
    static const char text[] = "a: 1\n---\nb: 2\n---\n";
    ck_assert_int_eq(parse_n(text, strlen(text)), FM_OK);
    ck_assert_uint_eq(file->documents, 3);
    ck_assert_uint_eq(fm_yaml_get(file->document[1], "b")->line, 3);
    ck_assert(fm_yaml_is_null(file->document[2]));
    ck_assert_int_eq(parse_n("", 0), FM_OK);
    ck_assert_uint_eq(file->documents, 0);
}
END_TEST

START_TEST(what_is_refused)
{
    refused("a: 1\nb: 2\na: 3\n", 3, 1, "duplicate key 'a' (first at 1:1)");
    refused("a: !x y\n", 1, 4,
            "tags (!name) are not allowed: quote a value that begins with '!'");
    refused("a: &x {b: 1}\nc:\n  <<: *x\n", 3, 3, "merge keys (<<) are not allowed");
    refused("a: *b\n", 1, 4,
            "no anchor '&b' stands before this alias: quote a value that begins with '*'");
    refused("a: &x [1, *x]\n", 1, 11, "an alias within the node that it names");
    refused("? [a]\n: 1\n", 1, 3, "a key must be text: quote it when it begins with one of [ { ?");
    refused("\"a\\0b\": 1\n", 1, 1, "a key with a NUL byte");
    refused("a: [1\nb: 2\n", 2, 2, "did not find expected ',' or ']' (while parsing a flow "
                                   "sequence that begins at 1:4)");
    refused("%TAG ! tag:x,2000:\n--- a\n", 1, 1, "%TAG directives are not allowed");
    refused("a: @b\n", 1, 4,
            "found character that cannot start any token (while scanning for the next token)");
    refused("\xc3\xa4: 1\nb: x\x7f\n", 2, 5, "control characters are not allowed");
    refused("\xc3\xa4: 1\nb\xc3: 1\n", 2, 2, "not UTF-8");
}
END_TEST

START_TEST(limits)
{
    char *text = malloc(FM_YAML_MAX_SIZE + 2);
    memset(text, '[', 200);
    ck_assert_int_eq(parse_n(text, 200), FM_CONFIG);
    ck_assert_str_eq(log_.first.message, "more than 64 levels");
    ck_assert_uint_eq(log_.first.column, 65);

    memset(text, '#', FM_YAML_MAX_SIZE + 1);
    ck_assert_int_eq(parse_n(text, FM_YAML_MAX_SIZE), FM_OK);
    ck_assert_int_eq(parse_n(text, FM_YAML_MAX_SIZE + 1), FM_CONFIG);
    ck_assert_str_eq(log_.first.message, "1048577 bytes, a YAML file may have 1 MiB");

    /* 65 aliases, and 3 levels of 30 that repeat 27,000 nodes. */
    size_t n = (size_t)snprintf(text, 100, "a: &a 1\nb: [");
    for (int i = 0; i < 65; i++)
        n += (size_t)snprintf(text + n, 100, "*a, ");
    ck_assert_int_eq(parse_n(text, (size_t)snprintf(text + n, 100, "]\n") + n), FM_CONFIG);
    ck_assert_str_eq(log_.first.message, "more than 64 aliases");
    n = (size_t)snprintf(text, 100, "a: &a [");
    for (int i = 0; i < 5000; i++)
        n += (size_t)snprintf(text + n, 100, "1,");
    n += (size_t)snprintf(text + n, 100, "]\nb: [*a]\nc: [*a]\n");
    ck_assert_int_eq(parse_n(text, n), FM_CONFIG);
    ck_assert_str_eq(log_.first.message, "aliases that repeat more than 10,000 nodes");
    ck_assert_uint_eq(log_.first.line, 3);
    free(text);
}
END_TEST

START_TEST(anchors_are_shared)
{
    struct fm_yaml_node *map = parse("a: &x {k: 1}\nb: *x\nc: *x\n");
    ck_assert_ptr_eq(fm_yaml_get(map, "a"), fm_yaml_get(map, "b"));
    ck_assert_uint_eq(map->weight, 7);
}
END_TEST

START_TEST(message_form)
{
    static const char *const steps[] = {"where", "time", "group", "sort"};
    struct fm_yaml_node *map = parse("steps:\n  - gruop: {by: [function]}\n");
    struct fm_yaml_node *step = fm_yaml_get(map, "steps")->item[0];
    ck_assert(!fm_yaml_known(&log_, step, steps, FM_COUNT(steps), "step"));
    ck_assert_str_eq(log_.text,
                     "f.yaml:2:5: error: unknown step 'gruop' (did you mean 'group'?) [FM102]\n"
                     "    2 |   - gruop: {by: [function]}\n"
                     "      |     ^~~~~\n"
                     "note: steps are: where time group sort\n");
    ck_assert_int_eq(log_.first.status, FM_CONFIG);
    ck_assert_uint_eq(log_.errors, 1);
}
END_TEST

START_TEST(message_quoting_hint)
{
    static const char *const keys[] = {"function"};
    struct fm_yaml_node *map = parse("{function: foo(int, char*)}\n");
    ck_assert(!fm_yaml_known(&log_, map, keys, 1, "key"));
    ck_assert_str_eq(log_.text,
                     "f.yaml:1:21: error: unknown key 'char*)' [FM102]\n"
                     "    1 | {function: foo(int, char*)}\n"
                     "      |                     ^~~~~~\n"
                     "note: a value that holds ',' or ': ' must be quoted inside {…}\n");
}
END_TEST

/* A place inside a scalar: `offset` in its text shows at line:column. */
static void inside(const char *text, const char *key, const char *part, unsigned line,
                   unsigned column)
{
    struct fm_yaml_node *map = parse(text);
    const struct fm_yaml_node *node = fm_yaml_get(map, key);
    const char *at = strstr(node->text, part);
    ck_assert_ptr_nonnull(at);
    fm_yaml_error_at(&log_, node, (size_t)(at - node->text), strlen(part), "here");
    ck_assert_msg(log_.first.line == line && log_.first.column == column, "%s", log_.text);
}

START_TEST(places_inside_scalars)
{
    inside("k: abc def\n", "k", "def", 1, 8);
    inside("k: 'it''s def'\n", "k", "def", 1, 11);
    inside("k: \"a\\n\\x41\\u00e4 def\"\n", "k", "def", 1, 19);
    inside("k: \xc3\xa4\xc3\xa4 def\n", "k", "def", 1, 7);
    inside("k: one\n   two\n\n   def\n", "k", "def", 4, 4);
    inside("k: |\n  one\n\n    def\n", "k", "def", 4, 5);
    inside("k: >-\n  one\n  two def\n", "k", "def", 3, 7);
    inside("k: \"one \\\n  def\"\n", "k", "one", 1, 5);
}
END_TEST

START_TEST(message_excerpts)
{
    struct fm_yaml_node *map = parse("\xe4\xb8\xad: {a:\tx}\n");
    const struct fm_yaml_node *x = fm_yaml_get(map->pair[0].value, "a");
    fm_yaml_error(fm_yaml_as(&log_, FM_YAML_TYPE), x, "bad");
    ck_assert_str_eq(log_.text, "f.yaml:1:8: error: bad [FM104]\n"
                                "    1 | \xe4\xb8\xad: {a:\tx}\n"
                                "      |        \t^\n");
    /* A long line: the mark stays in sight. */
    char text[600];
    snprintf(text, sizeof text, "k: [%0400d, here]\n", 0);
    map = parse(text);
    fm_yaml_error(&log_, fm_yaml_get(map, "k")->item[1], "far");
    const char *caret = strstr(log_.text, "^~~~");
    ck_assert_ptr_nonnull(caret);
    ck_assert_uint_eq(log_.first.column, 407);
    const char *start = caret;
    while (start[-1] != '\n')
        start--;
    ck_assert_int_lt(caret - start, 110);
    ck_assert_int_eq(start[-2 - (int)strlen("0, here]") + 4], 'h');
}
END_TEST

START_TEST(twenty_errors)
{
    char text[2000] = "";
    size_t n = 0;
    for (int i = 0; i < 30; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "k%d: 1\n", i);
    struct fm_yaml_node *map = parse(text);
    static const char *const none[] = {"zzzzzzzz"};
    fm_yaml_known(&log_, map, none, 1, "key");
    ck_assert_uint_eq(log_.errors, 30);
    unsigned shown = 0;
    for (const char *s = log_.text; (s = strstr(s, "error:")); s++)
        shown++;
    ck_assert_uint_eq(shown, FM_YAML_ERRORS);
    ck_assert_str_eq(log_.text + strlen(log_.text) - strlen("note: more errors follow\n"),
                     "note: more errors follow\n");
}
END_TEST

START_TEST(warnings_are_no_errors)
{
    struct fm_yaml_node *map = parse("a: 1\n");
    fm_yaml_warn(fm_yaml_as(&log_, FM_YAML_EMPTY), map, "nothing left");
    ck_assert_uint_eq(log_.errors, 0);
    ck_assert_uint_eq(log_.warnings, 1);
    ck_assert_int_eq(log_.first.status, FM_OK);
    ck_assert_ptr_nonnull(strstr(log_.text, "f.yaml:1:1: warning: nothing left [FM112]\n"));
}
END_TEST

START_TEST(loads_files)
{
    char path[] = "/tmp/foldmill-yaml-XXXXXX";
    int fd = mkstemp(path);
    struct fm_error err = {0};
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "a: [1\n", 6), 6);
    close(fd);
    fm_yaml_log_init(&log_, &arena);
    ck_assert_int_eq(fm_yaml_load(&arena, path, &file, &log_, &err), FM_CONFIG);
    ck_assert_int_eq(err.status, FM_CONFIG);
    ck_assert_uint_eq(err.line, 2);
    unlink(path);
    memset(&err, 0, sizeof err);
    ck_assert_int_eq(fm_yaml_load(&arena, path, &file, &log_, &err), FM_IO);
    ck_assert_int_eq(err.status, FM_IO);
    ck_assert_ptr_null(file);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    static const char text[] = "a: &x [1, {b: c}, 'd']\ne: *x\na: 2\nf: !t g\n";
    for (uint64_t k = 1; k < 1000; k++) {
        struct fm_mem small;
        struct fm_arena own;
        struct fm_yaml_log log;
        fm_mem_init(&small, 0);
        small.fail_at = k;
        fm_arena_init(&own, &small);
        fm_yaml_log_init(&log, &own);
        enum fm_status status = fm_yaml_parse(&own, "f", text, strlen(text), &file, &log);
        bool failed = atomic_load(&small.allocations) >= k;
        fm_arena_release(&own);
        ck_assert_uint_eq(atomic_load(&small.used), 0);
        if (!failed) {
            ck_assert_int_eq(status, FM_CONFIG);
            return;
        }
        ck_assert(status == FM_NOMEM || status == FM_CONFIG);
    }
    ck_abort_msg("never came to an end");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("yaml");
    TCase *t = tcase_create("yaml");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, tree_and_marks);
    tcase_add_test(t, several_documents);
    tcase_add_test(t, what_is_refused);
    tcase_add_test(t, limits);
    tcase_add_test(t, anchors_are_shared);
    tcase_add_test(t, message_form);
    tcase_add_test(t, message_quoting_hint);
    tcase_add_test(t, places_inside_scalars);
    tcase_add_test(t, message_excerpts);
    tcase_add_test(t, twenty_errors);
    tcase_add_test(t, warnings_are_no_errors);
    tcase_add_test(t, loads_files);
    tcase_add_test(t, every_allocation_may_fail);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
