/*
 * test_mapping.c - format files: what is refused with which message and place, the data path, and
 * that every shipped format is valid.
 */
#include "format/lookup.h"
#include "format/mapping.h"
#include "format/container.h"
#include "util/out.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct fm_ctx *ctx;
static struct fm_arena arena;
static struct fm_yaml_log log_;
static char path[64];

static void setup(void)
{
    ctx = fm_ctx_new();
    ck_assert_ptr_nonnull(ctx);
    fm_arena_init(&arena, &ctx->mem);
}

static void teardown(void)
{
    fm_arena_release(&arena);
    fm_ctx_free(ctx);
}

static void write_file(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq((int)write(fd, text, strlen(text)), (int)strlen(text));
    close(fd);
}

static enum fm_status load(const char *text, struct fm_mapping **m)
{
    snprintf(path, sizeof path, "/tmp/foldmill-map-%d.yaml", (int)getpid());
    write_file(path, text);
    fm_yaml_log_init(&log_, &arena);
    enum fm_status status = fm_mapping_load_file(ctx, path, m, &log_, NULL);
    unlink(path);
    return status;
}

#define HEAD "foldmill-format: 1\nname: x\nabout: y\ncontainer: perf\n"
#define RULE HEAD "classes:\n  - match: a\n    event: b\n"

static const struct {
    const char *text;
    unsigned line, column;
    const char *message;
} wrong[] = {
    {"- a\n", 0, 0, "a format file is one map, '*' holds 1 documents"},
    {"name: x\n", 1, 1, "'foldmill-format: 1' is missing: not a format file"},
    {"foldmill-format: 2\n", 1, 18, "only version 1 of the format language is known"},
    {"foldmill-format: 1\nname: x\nabout: y\nclasses: []\n", 1, 1, "'container' is missing"},
    {"foldmill-format: 1\nname: ''\nabout: y\ncontainer: c\nclasses: []\n", 2, 7,
     "'name' is empty"},
    {HEAD "klasses: []\n", 5, 1, "unknown key 'klasses' (did you mean 'classes'?)"},
    {HEAD "classes: {}\n", 5, 10, "'classes' must be a list of rules"},
    {HEAD "lines: []\nclasses: []\n", 5, 1, "unknown key 'lines'"},
    {HEAD "clock: {kind: mono}\nclasses: []\n", 5, 15,
     "unknown clock 'mono' (did you mean 'none'?)"},
    {HEAD "clock: {unit: min}\nclasses: []\n", 5, 15,
     "unknown unit of time 'min' (did you mean 'ms'?)"},
    {HEAD "view: {prepend: [a, {}]}\nclasses: []\n", 5, 21, "'prepend' must be a text"},
    {HEAD "view: {sufix: x}\nclasses: []\n", 5, 8,
     "unknown key of 'view' 'sufix' (did you mean 'suffix'?)"},
    {HEAD "view: {suffix: x}\nclasses: []\n", 5, 16, "'suffix' must be {column: text}"},
    {HEAD "dictionaries: []\nclasses: []\n", 5, 15, "'dictionaries' must be a map"},
    {HEAD "default_event: ['/(/']\nclasses: []\n", 5, 20,
     "bad regular expression: missing closing parenthesis"},
    {HEAD "aliases: [a]\nclasses: []\n", 5, 10, "'aliases' must be {name: [event, …]}"},
    {HEAD "aliases: {a: ['b,c']}\nclasses: []\n", 5, 15,
     "a name without ',' should stand here"},
    {HEAD "aliases: {a: []}\nclasses: []\n", 5, 14,
     "an alias is a list of 1 to 62 names of events or metrics"},
    {HEAD "derived: x\nclasses: []\n", 5, 10,
     "'derived' must be {name: {event: …, unless_later: …, key: …}}"},
    {HEAD "derived: {leak: {event: a, key: b}}\nclasses: []\n", 5, 11,
     "derived event 'leak' needs 'unless_later'"},
    {HEAD "derived: {leak: {event: a, unless: b}}\nclasses: []\n", 5, 28,
     "unknown key of a derived event 'unless'"},
    {HEAD "derived: {leak: {event: a, unless_later: b, key: c}}\nclasses: []\n", 5, 50,
     "no rule has a label 'c'"},
    {RULE "    metric: a${f}\n", 8, 13,
     "'metric' holds for all events of a class: no fields"},
    {HEAD "classes:\n  - a\n", 6, 5, "a rule must be a map: {match: …, event: …}"},
    {HEAD "classes:\n  - event: b\n", 6, 5, "a rule needs 'match': a class name or a glob"},
    {HEAD "classes:\n  - match: b\n", 6, 5,
     "a rule needs 'event': the metric that its rows belong to"},
    {RULE "    wieght: 1\n", 8, 5, "unknown key 'wieght' (did you mean 'weight'?)"},
    {RULE "    kind: spam\n", 8, 11, "unknown kind 'spam' (did you mean 'span'?)"},
    {RULE "    weight: 1 +\n", 8, 16, "the expression ends where a value should stand"},
    {RULE "    weight: lookup(d, f)\n", 8, 13, "unknown function 'lookup'"},
    {RULE "    weight: has(1)\n", 8, 13, "unknown function 'has'"},
    {RULE "    weight: $key\n", 8, 13, "unknown name '$key'"},
    {RULE "    weight: 1ms + 1KiB\n", 8, 19, "units do not fit: 'ns' and 'bytes'"},
    {RULE "    value: f\n", 8, 12, "only counters have 'value'"},
    {RULE "    kind: counter\n", 6, 5, "a counter needs 'value'"},
    {RULE "    kind: span\n", 6, 5, "a span needs 'time'"},
    {RULE "    stack: {sep: ','}\n", 8, 12, "'stack' needs 'from', 'split' or 'frames'"},
    {RULE "    stack: {split: f, order: up}\n", 8, 30, "unknown order 'up'"},
    {RULE "    stack: {split: f, sep: ''}\n", 8, 28, "'sep' is empty"},
    {RULE "    stack: {frames: [{kind: cpu, function: f}]}\n", 8, 29,
     "unknown frame kind 'cpu' (did you mean 'c1'?)"},
    {RULE "    thread: {id: f}\n", 8, 14, "unknown key of 'thread' 'id' (did you mean 'pid'?)"},
    {RULE "    labels: [a]\n", 8, 13, "'labels' must be a map of names to fields or expressions"},
    {RULE "    labels: {a: {type: i64}}\n", 8, 14, "label 'a' needs 'from'"},
    {RULE "    labels: {a: {from: f, type: int}}\n", 8, 33,
     "unknown type 'int' (did you mean 'i64'?)"},
    {RULE "    labels: {a: b + c}\n", 8, 17,
     "the type of label 'a' cannot be told from its expression: write {from: …, type: …}"},
    {RULE "    labels: {'*': {keep: asked}}\n", 8, 14,
     "a label for every field needs the head of their names: args.*"},
    {RULE "    labels: {args.*: f}\n", 8, 22, "labels for every field take {keep: …}"},
    {RULE "    labels: {args.*: {from: f}}\n", 8, 23, "unknown key of such labels 'from'"},
    {RULE "    labels: {a: {from: f, keep: never}}\n", 8, 33, "unknown 'keep' 'never'"},
    {RULE "    links: [{kind: launch, key: k}]\n", 8, 13, "a link needs 'side'"},
    {RULE "    links: [{kind: lunch, key: k, side: to}]\n", 8, 20,
     "unknown link kind 'lunch' (did you mean 'launch'?)"},
    {RULE "    keep: sometimes\n", 8, 11, "unknown 'keep' 'sometimes'"},
    {RULE "    each: x\n", 8, 11, "'each' is a list of fields, or {fields: […], zeros: keep}"},
    {HEAD "classes:\n  - match: a\n    event: a${b\n", 7, 13, "'${' without '}'"},
    {HEAD "classes:\n  - match: a\n    event: a${b +}\n", 7, 18,
     "the expression ends where a value should stand"},
    {HEAD "classes:\n  - match: {name: a, when: b}\n    when: c\n    event: d\n", 7, 11,
     "'when' stands here and in 'match'"},
};

START_TEST(wrong_files)
{
    struct fm_mapping *m;
    const char *message = wrong[_i].message;
    ck_assert_int_eq(load(wrong[_i].text, &m), FM_CONFIG);
    ck_assert_ptr_null(m);
    const char *star = strchr(message, '*');
    if (star && wrong[_i].line == 0)
        ck_assert(strncmp(log_.first.message, message, (size_t)(star - message)) == 0);
    else
        ck_assert_str_eq(log_.first.message, message);
    ck_assert_msg(log_.first.line == wrong[_i].line && log_.first.column == wrong[_i].column,
                  "%s", log_.text);
}
END_TEST

#define GENERIC(kind) "foldmill-format: 1\nname: x\nabout: y\ncontainer: " kind "\nclasses: []\n"

static const struct {
    const char *text;
    unsigned line, column;
    const char *message;
} wrong_container[] = {
    {GENERIC("text"), 1, 1, "container 'text' needs 'lines'"},
    {GENERIC("text") "lines: [{match: '(', do: skip}]\n", 6, 19,
     "bad regular expression: missing closing parenthesis"},
    {GENERIC("text") "lines: [{match: a, do: jump}]\n", 6, 24, "unknown do 'jump'"},
    {GENERIC("text") "lines: [{match: a, do: skip, class: b}]\n", 6, 37,
     "'class' belongs to 'do: record', 'do: start' and 'do: open'"},
    {GENERIC("text") "lines: [{match: a, do: skip}]\nfields: {t: {type: date}}\n", 7, 20,
     "unknown type 'date'"},
    {GENERIC("text") "lines: [{match: a, do: skip}]\nfields: {t: {type: time, unit: h}}\n", 7, 32,
     "unknown unit of time 'h'"},
    {GENERIC("text") "lines: [{match: a, do: skip}]\nfields: {t: {scale: 2}}\n", 7, 21,
     "'scale' needs a field that is a number"},
    {GENERIC("text") "lines: [{match: a, do: skip}]\nfields: {t: {at_bit: 2}}\n", 7, 14,
     "unknown key of a field 'at_bit'"},
    {GENERIC("csv"), 1, 1, "container 'csv' needs 'columns'"},
    {GENERIC("csv") "columns: [a, {name: a}]\n", 6, 21, "a column of that name stands above"},
    {GENERIC("csv") "columns: [a]\nseparator: ', '\n", 7, 12,
     "one character, or 'tab', should stand here"},
    {GENERIC("csv") "columns: [a]\nheader: {at: 0}\n", 7, 14,
     "'at' must be a number from 1 to 1000000"},
    {GENERIC("csv") "columns: [a]\nlines: [{match: x, do: end}]\n", 7, 9,
     "lines between records can 'set' or 'skip'"},
    {GENERIC("csv") "columns: [a]\nfrom: middle\n", 7, 7, "unknown from 'middle'"},
    {GENERIC("jsonl"), 1, 1, "'fields' is missing: the paths of an object that are fields"},
    {GENERIC("jsonl") "fields: {}\nrows: a\n", 7, 1, "unknown key 'rows'"},
    {GENERIC("records") "fields: {}\n", 1, 1,
     "container 'records' needs 'size', the bytes of a record"},
    {GENERIC("records") "size: 8\nfields: {a: {at_bit: 60, bits: 8}}\n", 7, 13,
     "bits 60..67 reach beyond a record of 8 bytes"},
    {GENERIC("records") "size: 8\nfields: {a: {bits: 8}}\n", 7, 13,
     "a field of a record needs 'at_bit' and 'bits'"},
    {GENERIC("records") "size: 8\nfields: {a: {at_bit: 0, bits: 65}}\n", 7, 31,
     "'bits' must be a number from 1 to 64"},
    {GENERIC("records") "size: 8\nlayouts: [{name: a, fields: {b: {at_bit: 0, bits: 1}}, "
                        "zero: [{at_bit: 1}]}]\n", 7, 63, "a range needs 'at_bit' and 'bits'"},
    {GENERIC("jsonl") "fields: {}\ndetect: [{line: 1, bits: 3}]\n", 7, 10,
     "evidence is one of 'regex', 'header', 'bytes', 'records'"},
    {GENERIC("jsonl") "fields: {}\ndetect: [{regex: a, bits: 32}]\n", 7, 27,
     "'bits' must be a number from 1 to 31"},
    {GENERIC("jsonl") "fields: {}\ndetect: [{bytes: '7b 7', bits: 8}]\n", 7, 18,
     "'bytes' are pairs of hex digits: \"46 4c 52 00\""},
    {GENERIC("jsonl") "fields: {}\ndetect: [{bytes: 7b, bits: 9}]\n", 7, 10,
     "more bits than the bytes have"},
    {GENERIC("jsonl") "fields: {}\ndetect: [{regex: a, line: 5..3, bits: 9}]\n", 7, 27,
     "lines are counted from 1"},
};

START_TEST(wrong_containers)
{
    struct fm_mapping *m;
    ck_assert_int_eq(load(wrong_container[_i].text, &m), FM_CONFIG);
    ck_assert_str_eq(log_.first.message, wrong_container[_i].message);
    ck_assert_msg(log_.first.line == wrong_container[_i].line &&
                      log_.first.column == wrong_container[_i].column,
                  "%s", log_.text);
}
END_TEST

START_TEST(all_errors_of_a_file)
{
    struct fm_mapping *m;
    ck_assert_int_eq(load(HEAD "foo: 1\nclasses:\n  - match: a\n    event: b\n    kind: x\n"
                               "    cpu: +\n  - event: c\n", &m), FM_CONFIG);
    ck_assert_uint_eq(log_.errors, 4);
    ck_assert_ptr_nonnull(strstr(log_.text, ":9:11: error: unknown kind 'x'"));
    ck_assert_ptr_nonnull(strstr(log_.text, "   10 |     cpu: +\n      |          ^\n"));
    ck_assert_ptr_nonnull(strstr(log_.text, ":11:5: error: a rule needs 'match'"));
}
END_TEST

static unsigned checked;

static bool check_one(void *user FM_UNUSED, const char *name, const char *file)
{
    struct fm_out out;
    struct fm_error err = {0};
    struct fm_mapping *m;
    ck_assert_int_eq(fm_out_init(&out, &ctx->mem, NULL), FM_OK);
    enum fm_status status = fm_mapping_check(ctx, file, &out, &err);
    fm_out_char(&out, '\0');
    ck_assert_msg(status == FM_OK, "%s", out.buf);
    ck_assert_ptr_nonnull(strstr(out.buf, ": valid\n"));
    fm_out_release(&out);
    ck_assert_int_eq(fm_mapping_load(ctx, name, &m, &err), FM_OK);
    ck_assert_str_eq(fm_mapping_name(m), name);
    fm_mapping_free(m);
    checked++;
    return true;
}

/* The formats of the source tree, which FOLDMILL_PATH names when the suite runs. */
START_TEST(shipped_formats_are_valid)
{
    struct fm_error err = {0};
    checked = 0;
    ck_assert_int_eq(fm_lookup_list(ctx, "formats", check_one, NULL, &err), FM_OK);
    ck_assert_uint_ge(checked, 4);
}
END_TEST

/* Takes the roff out of the man page's line: "\\e" is a backslash. */
static size_t plain(const char *line, size_t n, char *to)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        to[used++] = line[i];
        i += line[i] == '\\' && line[i + 1] == 'e';
    }
    return used;
}

START_TEST(examples_of_the_manual_are_valid)
{
    static char page[65536], text[8192];
    unsigned examples = 0;
    ck_assert_ptr_nonnull(getenv("FOLDMILL_PATH"));
    snprintf(text, sizeof text, "%s/man/foldmill-formats.5", getenv("FOLDMILL_PATH"));
    int fd = open(text, O_RDONLY);
    ck_assert_int_ge(fd, 0);
    ssize_t got = read(fd, page, sizeof page - 1);
    close(fd);
    ck_assert_int_gt((int)got, 0);
    for (char *at = page; (at = strstr(at, "\nfoldmill-format: 1\n")) != NULL; examples++) {
        struct fm_mapping *m;
        at++;
        size_t n = plain(at, (size_t)(strstr(at, "\n.Ed") - at) + 1, text);
        fm_yaml_log_init(&log_, &arena);
        ck_assert_msg(fm_mapping_load_text(ctx, "example", text, n, &m, &log_, NULL) == FM_OK,
                      "%s", log_.text);
        ck_assert_ptr_nonnull(fm_mapping_spec(m));
        fm_mapping_free(m);
    }
    ck_assert_uint_ge(examples, 3);
}
END_TEST

START_TEST(specs_of_containers)
{
    struct fm_mapping *m;
    ck_assert_int_eq(fm_mapping_load(ctx, "intel-eustall", &m, NULL), FM_OK);
    const struct fm_container *c = fm_mapping_spec(m);
    ck_assert_int_eq(c->kind, FM_CONTAINER_RECORDS);
    ck_assert_uint_eq(c->size, 64);
    ck_assert_uint_eq(c->layouts, 3);
    ck_assert_str_eq(c->layout[1].name, "xe3p");
    const struct fm_cfield *ip = &c->layout[1].field[0];
    ck_assert_str_eq(ip->name, "ip");
    ck_assert_uint_eq(ip->bits, 61);
    ck_assert(ip->factor == 8);
    fm_mapping_free(m);
    ck_assert_int_eq(fm_mapping_load(ctx, "perf", &m, NULL), FM_OK);
    ck_assert_ptr_null(fm_mapping_spec(m));
    ck_assert_str_eq(fm_mapping_container(m), "perf");
    fm_mapping_free(m);
}
END_TEST

static char names[200];

static bool list_one(void *user, const char *name, const char *file)
{
    size_t n = strlen(names);
    snprintf(names + n, sizeof names - n, "%s=%s ", name, file + strlen(user));
    return true;
}

START_TEST(data_path)
{
    char dir[] = "/tmp/foldmill-path-XXXXXX", file[100], prefix[100];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    static const char *const files[] = {"a/formats/two.yaml", "b/formats/one.yaml",
                                        "b/formats/two.yaml", "b/formats/.x.yaml",
                                        "b/formats/x.txt"};
    static const char *const folders[] = {"a", "b", "a/formats", "b/formats"};
    for (size_t i = 0; i < FM_COUNT(folders); i++) {
        snprintf(file, sizeof file, "%s/%s", dir, folders[i]);
        ck_assert_int_eq(mkdir(file, 0700), 0);
    }
    for (size_t i = 0; i < FM_COUNT(files); i++) {
        snprintf(file, sizeof file, "%s/%s", dir, files[i]);
        write_file(file, "");
    }
    setenv("FOLDMILL_PATH", "", 1);
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    snprintf(prefix, sizeof prefix, "%s/a", dir);
    ck_assert_int_eq(fm_ctx_add_data_dir(ctx, prefix), FM_OK);
    snprintf(prefix, sizeof prefix, "%s/b", dir);
    ck_assert_int_eq(fm_ctx_add_data_dir(ctx, prefix), FM_OK);
    ck_assert_str_eq(fm_lookup(ctx, &arena, "formats", "two") + strlen(dir),
                     "/a/formats/two.yaml");
    ck_assert_str_eq(fm_lookup(ctx, &arena, "formats", "one") + strlen(dir),
                     "/b/formats/one.yaml");
    ck_assert_ptr_null(fm_lookup(ctx, &arena, "formats", "three"));
    ck_assert_str_eq(fm_lookup(ctx, &arena, "formats", file), file + 0);
    names[0] = '\0';
    ck_assert_int_eq(fm_lookup_list(ctx, "formats", list_one, dir, NULL), FM_OK);
    const char *installed = strstr(names, "two=/a/formats/two.yaml");
    ck_assert_ptr_nonnull(installed);
    ck_assert_ptr_nonnull(strstr(names, "one=/b/formats/one.yaml"));
    ck_assert_ptr_null(strstr(names, "b/formats/two"));
    ck_assert_ptr_null(strstr(names, "x="));
    struct fm_mapping *m;
    struct fm_error err = {0};
    ck_assert_int_eq(fm_mapping_load(ctx, "three", &m, &err), FM_UNKNOWN);
    for (size_t i = 0; i < FM_COUNT(files); i++) {
        snprintf(file, sizeof file, "%s/%s", dir, files[i]);
        unlink(file);
    }
    for (size_t i = FM_COUNT(folders); i-- > 0;) {
        snprintf(file, sizeof file, "%s/%s", dir, folders[i]);
        rmdir(file);
    }
    rmdir(dir);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    char file[64];
    snprintf(file, sizeof file, "/tmp/foldmill-fail-%d.yaml", (int)getpid());
    write_file(file, GENERIC("text")
               "lines:\n  - {match: '^(?<a>x) (?<b>y)', do: start}\n"
               "  - {match: '(?<function>.*)', do: frame}\n"
               "fields: {a: {type: time, unit: us}}\ndetect: [{regex: a, bits: 3}]\n"
               "constants: {d: {1: x}, c: 5}\ndefault_event: [a]\nview: {prepend: [comm, a]}\n");
    bool done = false;
    for (uint64_t k = 1; k < 2000 && !done; k++) {
        struct fm_ctx *own = fm_ctx_new();
        struct fm_arena a;
        struct fm_mapping *m;
        uint64_t before = atomic_load(&own->mem.allocations);
        fm_arena_init(&a, &own->mem);
        fm_yaml_log_init(&log_, &a);
        own->mem.fail_at = before + k;
        enum fm_status s = fm_mapping_load_file(own, file, &m, &log_, NULL);
        done = atomic_load(&own->mem.allocations) < before + k;
        ck_assert_msg(done ? s == FM_OK : s == FM_NOMEM || s == FM_OK, "%d at %u: %s", s,
                      (unsigned)k, log_.text);
        fm_mapping_free(m);
        fm_arena_release(&a);
        ck_assert_uint_eq(atomic_load(&own->mem.used), 0);
        fm_ctx_free(own);
    }
    ck_assert(done);
    unlink(file);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("mapping");
    TCase *t = tcase_create("mapping");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, wrong_files, 0, (int)FM_COUNT(wrong));
    tcase_add_loop_test(t, wrong_containers, 0, (int)FM_COUNT(wrong_container));
    tcase_add_test(t, all_errors_of_a_file);
    tcase_add_test(t, shipped_formats_are_valid);
    tcase_add_test(t, examples_of_the_manual_are_valid);
    tcase_add_test(t, specs_of_containers);
    tcase_add_test(t, every_allocation_may_fail);
    tcase_add_test(t, data_path);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
