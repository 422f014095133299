/*
 * test_generic.c - formats without an importer of their own: each container reads a small input by
 * a format file, whole, damaged and packed into windows.
 */
#include "import/import.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct fm_ctx *ctx;
static struct fm_store *store;
static char dir[64], file[160];

static void setup(void)
{
    char folder[128];
    snprintf(dir, sizeof dir, "/tmp/foldmill-generic-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(folder, sizeof folder, "%s/formats", dir);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    ctx = fm_ctx_new();
    ck_assert_int_eq(fm_ctx_add_data_dir(ctx, dir), FM_OK);
}

static void teardown(void)
{
    char folder[128];
    fm_store_free(store);
    store = NULL;
    unlink(file);
    snprintf(folder, sizeof folder, "%s/formats", dir);
    rmdir(folder);
    rmdir(dir);
    fm_ctx_free(ctx);
}

static void format(const char *text)
{
    static const char head[] = "foldmill-format: 1\nname: t\nabout: t\n";
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq((int)write(fd, head, sizeof head - 1), (int)sizeof head - 1);
    ck_assert_int_eq((int)write(fd, text, strlen(text)), (int)strlen(text));
    close(fd);
}

/* Imports bytes as format t (or by probing), seals; the status of the import. */
static enum fm_status import(const void *data, size_t n, const char *name, struct fm_error *err)
{
    struct fm_import_options options = FM_INIT(options);
    struct fm_builder *builder;
    struct fm_input *input;
    bool usable;
    options.format = name;
    ck_assert_int_eq(fm_builder_new(ctx, &builder, NULL), FM_OK);
    ck_assert_int_eq(fm_input_open_memory(ctx, data, n, "in", &input, NULL), FM_OK);
    enum fm_status status = fm_import_input(ctx, input, &options, builder, &usable, err);
    fm_input_free(input);
    struct fm_error seal = {0};
    ck_assert_msg(fm_builder_seal(builder, NULL, &store, &seal) == FM_OK, "%s", seal.message);
    ck_assert_msg(fm_store_verify(store, &seal) == FM_OK, "%s", seal.message);
    return status;
}

static void import_text(const char *text)
{
    struct fm_error err = {0};
    ck_assert_msg(import(text, strlen(text), "t", &err) == FM_OK, "%s", err.message);
}

static fm_column column(const char *name)
{
    fm_column c = fm_store_column_find(store, name);
    ck_assert_msg(c != FM_NONE, "no column '%s'", name);
    return c;
}

static uint64_t cell(const char *name, uint64_t row)
{
    uint64_t v = 0;
    ck_assert_msg(fm_store_cell(store, column(name), row, &v), "%s of row %d is empty", name,
                  (int)row);
    return v;
}

static bool empty(const char *name, uint64_t row)
{
    uint64_t v;
    return !fm_store_cell(store, column(name), row, &v);
}

static const char *text(const char *name, uint64_t row)
{
    return fm_store_str(store, (fm_str)cell(name, row), NULL);
}

static const char *stack(uint64_t row)
{
    static char buf[200];
    const struct fm_tree_node *tree = fm_store_tree(store);
    uint32_t node = fm_store_tree_node(store, (fm_node)cell("stack", row));
    uint32_t path[16], n = 0;
    for (; node != 0; node = tree[node].parent)
        path[n++] = node;
    buf[0] = '\0';
    for (size_t used = 0; n-- > 0; used = strlen(buf))
        snprintf(buf + used, sizeof buf - used, "%s%s", used ? ";" : "",
                 fm_store_str(store, fm_store_frame_row(store, tree[path[n]].frame)->function,
                              NULL));
    return buf;
}

static uint64_t finding(enum fm_diag key)
{
    return fm_store_source_row(store, 0)->diags.row[key].count;
}

static uint64_t first_offset(enum fm_diag key)
{
    return fm_store_source_row(store, 0)->diags.row[key].first_offset;
}

/* ------------------------------------------------------------------ text */

static const char script[] =
    "container: text\n"
    "lines:\n"
    "  - {match: '^#', do: skip}\n"
    "  - {match: '^cpu (?<cpu>\\d+)$', do: set}\n"
    "  - {match: '^(?<comm>.+?) +(?<pid>\\d+)/(?<tid>\\d+) +(?<time>[\\d.]+): +(?<period>\\d+) "
    "(?<event>\\S+):$', do: start}\n"
    "  - {match: '^\\s+(?<address>[0-9a-f]+) (?<function>.+) \\((?<module>.*)\\)$', do: frame}\n"
    "  - {match: '^(?<name>\\w+) took (?<wait>[\\d.]+) ms$', do: record, class: wait}\n"
    "fields:\n  time: {type: time, unit: s}\n  wait: {type: dur, unit: ms}\n"
    "  period: {type: u64}\n  pid: {type: i64}\n  tid: {type: i64}\n  cpu: {type: i64}\n"
    "classes:\n"
    "  - {match: wait, event: wait, kind: async, dur: wait, name: name, cpu: cpu}\n"
    "  - {match: record, event: '${event}', weight: period, time: time, stack: stack, comm: comm,\n"
    "     cpu: cpu, thread: {pid: pid, tid: tid, name: comm}}\n"
    "detect: [{line: 1..3, regex: '^cpu \\d+$', bits: 20}]\n";

START_TEST(text_records)
{
    format(script);
    import_text("# head\r\ncpu 3\r\nmy prog 12/13 1.000000001: 77 cycles:\r\n"
                "\tffff0001 leaf (libc.so)\r\n\t401000 main (/bin/x y)\r\n\r\n"
                "cpu 4\nx 5/5 2: 1 faults:\nio took 1.5 ms\nwhat is this\n\t1 lost (x)\n"
                "y 6/6 3: 18446744073709551616 cycles:\n\t1 f (x)");
    ck_assert_uint_eq(fm_store_rows(store), 4);
    ck_assert_uint_eq(cell("weight", 0), 77);
    ck_assert_uint_eq(cell("ts", 0), 1000000001);
    ck_assert_uint_eq(cell("cpu", 0), 3);
    ck_assert_str_eq(text("comm", 0), "my prog");
    ck_assert_str_eq(stack(0), "main;leaf");
    ck_assert_int_eq(fm_store_thread_row(store, (fm_thread)cell("thread", 0))->tid, 13);
    ck_assert_uint_eq(cell("cpu", 1), 4);
    ck_assert_str_eq(stack(1), "");
    ck_assert_uint_eq(cell("dur", 2), 1500000);
    ck_assert_uint_eq(cell("cpu", 2), 4);
    ck_assert(empty("weight", 3));
    ck_assert_str_eq(stack(3), "f");
    ck_assert_uint_eq(finding(FM_DIAG_BAD_LINE), 2);
    ck_assert_uint_eq(first_offset(FM_DIAG_BAD_LINE), 147);
    ck_assert_uint_eq(finding(FM_DIAG_VALUE_RANGE), 1);
    ck_assert_uint_eq(finding(FM_DIAG_ROW_RULE), 1);
    ck_assert_uint_eq(fm_store_source_row(store, 0)->samples_kept, 3);
}
END_TEST

/* A format of nobody's, with ranges: self times by hand, lanes apart, damage counted. */
START_TEST(text_ranges)
{
    format("container: text\n"
           "lines:\n"
           "  - {match: '^(?<start>\\d+) (?<lane>\\S+) begin (?<range>.+)$', do: open}\n"
           "  - {match: '^(?<end>\\d+) (?<lane>\\S+) end (?<range>.+)$', do: close}\n"
           "fields:\n"
           "  start: {type: time, unit: ns}\n"
           "  end: {type: time, unit: ns}\n"
           "unmatched: skip\n"
           "classes:\n"
           "  - match: record\n"
           "    event: phases\n"
           "    kind: span\n"
           "    unit: ns\n"
           "    weight: self\n"
           "    time: start\n"
           "    dur: end - start\n"
           "    stack: stack\n");
    import_text("10 a begin x\n12 b begin z\n20 a begin y\n50 a end y\nhello\n60 b end z\n"
                "70 b end x\n100 a end x\n110 a begin x\n120 b begin x\n115 b end x\n");
    ck_assert_uint_eq(fm_store_rows(store), 3);
    ck_assert_str_eq(stack(0), "x;y");
    ck_assert_uint_eq(cell("weight", 0), 30);
    ck_assert_str_eq(stack(1), "z");
    ck_assert_uint_eq(cell("weight", 1), 48);
    ck_assert_str_eq(stack(2), "x");
    ck_assert_uint_eq(cell("weight", 2), 90 - 30);
    ck_assert_uint_eq(finding(FM_DIAG_OTHER_LINE), 1);
    ck_assert_uint_eq(finding(FM_DIAG_RANGE_ALONE), 1);
    ck_assert_uint_eq(finding(FM_DIAG_RANGE_OPEN), 1);
    ck_assert_uint_eq(finding(FM_DIAG_VALUE_RANGE), 1);
}
END_TEST

/* Beginnings without end: the oldest gives way, and all are counted. */
START_TEST(text_ranges_many)
{
    char in[20 * 1000 + 32];
    size_t n = 0;
    format("container: text\n"
           "lines:\n"
           "  - {match: '^(?<start>\\d+) begin (?<range>.+)$', do: open}\n"
           "  - {match: '^(?<end>\\d+) end (?<range>.+)$', do: close}\n"
           "fields: {start: {type: time, unit: ns}, end: {type: time, unit: ns}}\n"
           "classes: [{match: record, event: e, kind: span, weight: self, time: start,\n"
           "           dur: end - start, stack: stack}]\n");
    for (unsigned i = 0; i < 1000; i++)
        n += (size_t)snprintf(in + n, sizeof in - n, "%u begin r%u\n", i, i);
    snprintf(in + n, sizeof in - n, "2000 end r999\n");
    import_text(in);
    ck_assert_uint_eq(fm_store_rows(store), 1);
    ck_assert_uint_eq(cell("weight", 0), 2000 - 999);
    ck_assert_uint_eq(finding(FM_DIAG_RANGE_OPEN), 999);
}
END_TEST

/* ------------------------------------------------------------------ csv */

static const char stalls[] =
    "container: csv\nheader: search\nfrom: right\n"
    "columns:\n  - {name: kernel, header: Kernel}\n"
    "  - {name: ip, header: \"IP[Address]\", type: address, hex: true}\n"
    "  - {name: active, header: \"Active[Events]\", type: u64}\n"
    "  - {name: send, header: [\"SendStall[Events]\", Send], type: u64}\n"
    "detect: [{line: 1..5, header: [Kernel, \"IP[Address]\"], bits: 24}]\n"
    "classes:\n  - {match: record, event: stall, each: [active, send], weight: $value,\n"
    "     stack: {frames: [kernel, hex(ip)]}, labels: {reason: $key}}\n";

START_TEST(csv_records)
{
    format(stalls);
    import_text("\n=== Device #0 Metrics ===\n\n"
                "             Kernel, IP[Address], Active[Events], Other, SendStall[Events], \n"
                "\"foo<4, bar>(int)\",  0x000001b8,  2, 9, 31, \n"
                "plain<1, 2>,  10,  0, 9, 5, \n"
                "bad,  zz,  1, 9, 0, \n"
                "=== Device #1 ===\n");
    ck_assert_uint_eq(fm_store_rows(store), 4);
    ck_assert_str_eq(stack(0), "foo<4, bar>(int);0x1b8");
    ck_assert_str_eq(text("reason", 0), "active");
    ck_assert_uint_eq(cell("weight", 0), 2);
    ck_assert_str_eq(text("reason", 1), "send");
    ck_assert_uint_eq(cell("weight", 1), 31);
    ck_assert_str_eq(stack(2), "plain<1, 2>;0x10");
    ck_assert_uint_eq(cell("weight", 2), 5);
    ck_assert_str_eq(stack(3), "bad");
    ck_assert_uint_eq(finding(FM_DIAG_VALUE_RANGE), 1);
    ck_assert_uint_eq(finding(FM_DIAG_BAD_LINE), 1);
    ck_assert_uint_eq(fm_store_source_row(store, 0)->samples_in, 4);
}
END_TEST

START_TEST(csv_forms)
{
    format("container: csv\nseparator: tab\ncomment: '#'\nothers: f64\n"
           "columns: [{name: t, type: time, unit: us}, path]\nclasses:\n"
           "  - {match: record, event: 'm.${$key}', kind: counter, value: $value, time: t,\n"
           "     each: [load, temp]}\n");
    import_text("# a comment\nx\nt\tload\tpath\ttemp\n");
    ck_assert_uint_eq(fm_store_rows(store), 0);
    fm_store_free(store);
    import_text("t\tload\tpath\ttemp\n1.5\t0.5\t\"a \"\"b\"\"\"\t40\n#\n2\t\t\"x\ty\"\t1e1\n");
    ck_assert_uint_eq(fm_store_rows(store), 3);
    ck_assert_uint_eq(cell("ts", 0), 1500);
    ck_assert(fm_bits_f64(cell("value", 0)) == 0.5);
    ck_assert(fm_bits_f64(cell("value", 2)) == 10);
    ck_assert_uint_eq(cell("ts", 2), 2000);
    fm_store_free(store);
    format("container: csv\nheader: none\nseparator: ';'\nquote: none\n"
           "columns: [a, {name: b, type: i64, scale: 10}]\nclasses: [{match: record, event: e, "
           "labels: {a: a, b: b}}]\n");
    import_text("x;5\n\"y\";-1.5\nz\n");
    ck_assert_uint_eq(fm_store_rows(store), 2);
    ck_assert_str_eq(text("a", 1), "\"y\"");
    ck_assert_int_eq((int64_t)cell("b", 1), -15);
    ck_assert_int_eq((int64_t)cell("b", 0), 50);
    ck_assert_uint_eq(finding(FM_DIAG_BAD_LINE), 1);
}
END_TEST

/* Lines between tables set a field and are passed over; a name holds quotes; cells of no value. */
START_TEST(csv_tables)
{
    format("container: csv\nheader: search\nfrom: right\nmissing: [N/A, '-']\n"
           "columns: [{name: kernel, header: Kernel}, {name: a, type: u64},\n"
           "  {name: b, header: [b, B], type: u64}, {name: gpu, type: u64}]\n"
           "lines:\n  - match: '^=== Device #(?<gpu>\\d+)(?: on (?<host>\\S+))? ===$'\n"
           "    do: set\n"
           "  - {match: '^WARNING:', do: skip}\nclasses:\n"
           "  - {match: record, each: [a, b], event: n, weight: $value,\n"
           "     stack: {frames: [kernel]},\n"
           "     labels: {gpu: gpu, host: host, column: $key}}\n");
    import_text("=== Device #3 on bach ===\nKernel, a, b\n\"f\"\", x\",  N/A,  7\n"
                "WARNING: lost, 1, 2\n=== Device #4 ===\nKernel, B, a\n  g,  2,  -\ng, 1\n");
    ck_assert_uint_eq(fm_store_rows(store), 2);
    ck_assert_str_eq(stack(0), "f\", x");
    ck_assert_uint_eq(cell("weight", 0), 7);
    ck_assert_uint_eq(cell("gpu", 0), 3);
    ck_assert_str_eq(text("host", 0), "bach");
    ck_assert_str_eq(text("column", 0), "b");
    ck_assert_str_eq(stack(1), "g");
    ck_assert_uint_eq(cell("weight", 1), 2);
    ck_assert_uint_eq(cell("gpu", 1), 4);
    ck_assert_str_eq(text("column", 1), "b");
    ck_assert_uint_eq(finding(FM_DIAG_VALUE_RANGE), 0);
    ck_assert_uint_eq(finding(FM_DIAG_BAD_LINE), 1);
}
END_TEST

/* ------------------------------------------------------------------ json */

static const char rows[] =
    "container: json\nrows: trace.rows\nclass: {field: ph}\n"
    "fields:\n  ph: {}\n  ts: {type: time, unit: us}\n  n: {path: args.data.n, type: i64}\n"
    "  who: {path: args.who}\n  ok: {type: bool}\n  f: {type: f64}\n"
    "classes:\n  - {match: a, event: a, time: ts, weight: 'coalesce(n, 1)', "
    "labels: {who: who, ok: ok, f: f}}\n";

START_TEST(json_records)
{
    format("container: json\nclasses: []\nfields: {}\n");
    format(rows);
    import_text("{\"x\":{\"rows\":[{\"ph\":\"a\"}]},\"trace\":{\"y\":[1],\"rows\":[\n"
                "{\"ph\":\"a\",\"ts\":1732107143473442.569,\"args\":{\"z\":[{}],\"data\":{\"n\":7"
                "},\"who\":\"\\u00e4\\n\"},\"ok\":true,\"f\":2.5e1},\n"
                "{\"ph\":\"b\",\"ts\":1},7,\n"
                "{\"args\":{\"data\":5},\"ts\":\"3\",\"ph\":\"a\"},]}}");
    ck_assert_uint_eq(fm_store_rows(store), 2);
    ck_assert_uint_eq(cell("ts", 0), 1732107143473442569);
    ck_assert_uint_eq(cell("weight", 0), 7);
    ck_assert_str_eq(text("who", 0), "\xc3\xa4\n");
    ck_assert_uint_eq(cell("ok", 0), 1);
    ck_assert(fm_bits_f64(cell("f", 0)) == 25);
    ck_assert_uint_eq(cell("ts", 1), 3000);
    ck_assert_uint_eq(cell("weight", 1), 1);
    ck_assert(empty("who", 1));
    ck_assert_uint_eq(finding(FM_DIAG_RECORD_BODY), 1);
}
END_TEST

START_TEST(json_cut_and_broken)
{
    struct fm_error err = {0};
    static const char whole[] =
        "{\"trace\":{\"rows\":[{\"ph\":\"a\",\"ts\":1},{\"ph\":\"a\",\"ts\":2}]}}";
    format(rows);
    for (size_t n = 1; n < sizeof whole - 3; n++) {
        memset(&err, 0, sizeof err);
        ck_assert_int_eq(import(whole, n, "t", &err), FM_TRUNCATED);
        ck_assert_uint_eq(fm_store_rows(store), n < 35 ? 0 : n < 53 ? 1 : 2);
        ck_assert_uint_eq(err.offset, n);
        fm_store_free(store);
    }
    memset(&err, 0, sizeof err);
    ck_assert_int_eq(import("{\"trace\":{\"rows\":[{\"ph\":\"a\"},{=", 31, "t", &err), FM_FORMAT);
    ck_assert_uint_eq(fm_store_rows(store), 1);
    ck_assert_uint_eq(err.offset, 30);
    fm_store_free(store);
    memset(&err, 0, sizeof err);
    ck_assert_int_eq(import("{\"trace\":{}}", 12, "t", &err), FM_FORMAT);
    ck_assert_str_eq(err.message, "no array of rows at 'trace.rows'");
}
END_TEST

START_TEST(jsonl_records)
{
    format("container: jsonl\nfields: {stack: {}, n: {type: u64}}\ndetect:\n"
           "  - {line: 1, regex: '^\\{\"stack\":', bits: 16}\nclasses:\n"
           "  - {match: record, event: e, stack: {split: stack}, weight: n, count: n}\n");
    static const char lines[] = "{\"stack\":\"a;b\",\"n\":3}\n\n{\"stack\":\"a\"\n"
                                "{\"n\":2,\"stack\":\"a;c\"}\n[1]\n";
    struct fm_error err = {0};
    ck_assert_msg(import(lines, sizeof lines - 1, NULL, &err) == FM_OK, "%s", err.message);
    ck_assert_uint_eq(fm_store_rows(store), 2);
    ck_assert_str_eq(stack(1), "a;c");
    ck_assert_uint_eq(cell("weight", 0), 3);
    ck_assert_uint_eq(finding(FM_DIAG_BAD_LINE), 2);
    ck_assert_uint_eq(first_offset(FM_DIAG_BAD_LINE), 23);
    ck_assert_uint_eq(fm_store_source_row(store, 0)->samples_in, 5);
    ck_assert_str_eq(fm_store_str(store, fm_store_source_row(store, 0)->format, NULL), "t");
}
END_TEST

static const char members[] =
    "container: json\nframing: objects\nfields:\n"
    "  t: {type: time, sum: d}\n  d: {type: dur, unit: ms}\n  eng: {key: 'e.*'}\n"
    "  busy: {path: 'e.*.busy', type: u64}\n  gt: {key: 'f-gt*'}\n"
    "  f: {path: 'f-gt*', type: u64}\n"
    "  who: {path: 'c.*.name'}\n  part: {key: 'c.*.p.*'}\n  n: {path: 'c.*.p.*.n', type: u64}\n"
    "members:\n  - {path: 'e.*', class: eng}\n  - {path: 'f-gt*', class: freq}\n"
    "  - {path: 'c.*.p.*', class: part}\n  - {path: 'c.*.p.*', class: again}\n"
    "classes:\n  - {match: eng, event: eng, time: t, weight: 'coalesce(busy, 0)', "
    "labels: {k: eng}}\n"
    "  - {match: freq, event: freq, time: t, weight: f, labels: {k: gt}}\n"
    "  - {match: part, event: part, time: t, weight: n, labels: {k: part, who: who}}\n";

/* Keys are values; a member has what stands around it and nothing of the members before. */
START_TEST(json_members)
{
    static const char *const between[] = {",\n", "", "]["};
    for (size_t i = 0; i < 3; i++) {
        char all[1024];
        snprintf(all, sizeof all, "%s{\"d\":1.5,\"e\":{\"x\":{\"busy\":3},\"y\":{\"*\":9}},"
                 "\"f\":7,\"f-gt1\":8,\"c\":{\"1\":{\"name\":\"a\\\"b\",\"p\":{\"q\":{\"n\":4},"
                 "\"*\":{\"n\":5}}},\"2\":{\"p\":{\"r\":{\"n\":6}}}}}%s{\"d\":-1,\"e\":{}}%s"
                 "{\"e\":{\"z\":{}}}", i == 0 ? "\xef\xbb\xbf[" : "", between[i], between[i]);
        format(members);
        import_text(all);
        ck_assert_uint_eq(fm_store_rows(store), 7);
        static const char *const key[] = {"x", "y", "1", "q", "*", "r", "z"};
        static const uint64_t weight[] = {3, 0, 8, 4, 5, 6, 0};
        for (size_t row = 0; row < 7; row++) {
            ck_assert_str_eq(text("k", row), key[row]);
            ck_assert_uint_eq(cell("weight", row), weight[row]);
            ck_assert_uint_eq(cell("ts", row), row == 6 ? 1500000 : 0);
        }
        ck_assert_str_eq(text("who", 4), "a\"b");
        ck_assert(empty("who", 5));
        ck_assert_uint_eq(finding(FM_DIAG_VALUE_RANGE), 1);
        ck_assert_uint_eq(finding(FM_DIAG_BAD_LINE), 0);
        fm_store_free(store);
        store = NULL;
    }
}
END_TEST

/* What the input ends in is not there at all, wherever it ends; what is broken neither. */
START_TEST(json_objects_cut_and_broken)
{
    static const char whole[] = "[{\"e\":{\"a\":{\"busy\":1}}}\n,{\"e\":{\"b\":{\"busy\":\"2\"}}}";
    struct fm_error err = {0};
    format(members);
    for (size_t n = 0; n < sizeof whole; n++) {
        bool inside = (n > 1 && n < 23) || (n > 25 && n < sizeof whole - 1);
        memset(&err, 0, sizeof err);
        ck_assert_int_eq(import(whole, n, "t", &err), inside ? FM_TRUNCATED : FM_OK);
        ck_assert_uint_eq(fm_store_rows(store), n < 23 ? 0 : n < sizeof whole - 1 ? 1 : 2);
        if (inside)
            ck_assert_uint_eq(err.offset, n < 23 ? 1 : 25);
        fm_store_free(store);
    }
    import_text("x {\"e\":{\"a\":{\"busy\":1}},=} y y {\"e\":{\"b\":{}}}");
    ck_assert_uint_eq(fm_store_rows(store), 1);
    ck_assert_uint_eq(finding(FM_DIAG_RECORD_BODY), 1);
    ck_assert_uint_eq(first_offset(FM_DIAG_RECORD_BODY), 2);
    ck_assert_uint_eq(finding(FM_DIAG_BAD_LINE), 2);
}
END_TEST

START_TEST(json_raw_strings)
{
    format("container: json\nframing: objects\nstrings: raw\nfields: {a: {}, b: {}}\nclasses:\n"
           "  - {match: record, event: e, labels: {a: a, b: b}}\n");
    import_text("{\n\"a\": \"x \"y\", \\n\\\" , \r\n\"b\": \"\"\"\n}\n"
                "{\"a\": \"x\\ty\", \"b\": \"z\"}\n");
    ck_assert_uint_eq(fm_store_rows(store), 2);
    ck_assert_str_eq(text("a", 0), "x \"y\", \\n\\");
    ck_assert_str_eq(text("b", 0), "\"");
    ck_assert_str_eq(text("a", 1), "x\ty");
    ck_assert_str_eq(text("b", 1), "z");
}
END_TEST

/* ------------------------------------------------------------------ records */

START_TEST(binary_records)
{
    format("container: records\nsize: 8\nhead: 3\nendian: big\nlayouts:\n"
           "  - {name: x, when: tag == 5, fields: {tag: {at_bit: 56, bits: 8}, "
           "v: {at_bit: 0, bits: 12, signed: true, type: i64, scale: 2}}}\n"
           "  - {name: z, zero: [{at_bit: 0, bits: 56}], fields: {tag: {at_bit: 56, bits: 8}}}\n"
           "classes: [{match: '*', event: $class, labels: {v: v, tag: tag}}]\n");
    static const unsigned char bytes[] = {1, 2, 3,                        /* head */
                                          5, 0, 0, 0, 0, 0, 0x0f, 0xfe,   /* x, -2 */
                                          9, 0, 0, 0, 0, 0, 0, 0,         /* z */
                                          9, 1, 0, 0, 0, 0, 0, 0,         /* neither */
                                          5, 0, 0};                       /* cut */
    struct fm_error err = {0};
    ck_assert_int_eq(import(bytes, sizeof bytes, "t", &err), FM_TRUNCATED);
    ck_assert_uint_eq(err.offset, 27);
    ck_assert_str_eq(err.message, "a record is cut: needed 8 bytes, 3 left");
    ck_assert_uint_eq(fm_store_rows(store), 2);
    ck_assert_int_eq((int64_t)cell("v", 0), -4);
    ck_assert_uint_eq(cell("tag", 1), 9);
    ck_assert_uint_eq(finding(FM_DIAG_RECORD_BODY), 1);
    ck_assert_uint_eq(first_offset(FM_DIAG_RECORD_BODY), 19);
    fm_store_free(store);
    memset(&err, 0, sizeof err);
    ck_assert_int_eq(import(bytes, 2, "t", &err), FM_TRUNCATED);
}
END_TEST

/* ------------------------------------------------------------------ probing */

START_TEST(probing)
{
    struct fm_error err = {0};
    format(script);
    ck_assert_int_eq(import("#\ncpu 7\n", 8, NULL, &err), FM_OK);
    ck_assert_str_eq(fm_store_str(store, fm_store_source_row(store, 0)->format, NULL), "t");
    fm_store_free(store);
    ck_assert_int_eq(import("\n\n\n{cpu 7}\n", 11, NULL, &err), FM_UNKNOWN);
    fm_store_free(store);
    memset(&err, 0, sizeof err);
    ck_assert_int_eq(import("a\n", 2, "csv", &err), FM_CONFIG);
    fm_store_free(store);
    memset(&err, 0, sizeof err);
    format("container: nobody\nclasses: []\n");
    ck_assert_int_eq(import("a\n", 2, "t", &err), FM_CONFIG);
    ck_assert_str_eq(err.message, "format 't': nothing reads container 'nobody'");
}
END_TEST

static uint64_t sum(const char *reason)
{
    uint64_t n = 0;
    for (uint64_t row = 0; row < fm_store_rows(store); row++)
        if (strcmp(text("reason", row), reason) == 0)
            n += cell("weight", row);
    return n;
}

/* The shipped format on the reference's constructed records. */
START_TEST(intel_eustall)
{
    static const char *const files[] = {"pvc", "xe2", "xe3p", "i915-prelim-pvc"};
    char path[512];
    for (size_t i = 0; i < FM_COUNT(files); i++) {
        struct fm_error err = {0};
        unsigned char data[4096];
        snprintf(path, sizeof path, "%s/../shared/data/intel-gpu/eustall-%s.constructed.bin",
                 getenv("FOLDMILL_PATH") ? getenv("FOLDMILL_PATH") : ".", files[i]);
        int fd = open(path, O_RDONLY);
        if (fd < 0)
            return;
        ssize_t n = read(fd, data, sizeof data);
        close(fd);
        ck_assert_msg(import(data, (size_t)n, NULL, &err) == FM_OK, "%s: %s", path, err.message);
        ck_assert_uint_eq(finding(FM_DIAG_RECORD_BODY), 0);
        bool wide = i == 2, tdr = i == 1 || i == 2;
        ck_assert_uint_eq(sum("active"), 271);
        ck_assert_uint_eq(sum("send"), 296);
        ck_assert_uint_eq(sum("sbid"), 513);
        ck_assert_uint_eq(sum("sync"), 510);
        ck_assert_uint_eq(sum("tdr"), tdr ? 261 : 0);
        ck_assert_str_eq(stack(0), wide ? "0x7f1234567840" : "0x40");
        ck_assert_str_eq(stack(2), "0x1b8");
        ck_assert_str_eq(stack(fm_store_rows(store) - 1),
                         wide ? "0xfffffffffffffff8" : "0xfffffff8");
        fm_store_free(store);
        store = NULL;
    }
}
END_TEST

static void fail_each(const char *text, const char *in, size_t n)
{
    bool done = false;
    format(text);
    for (uint64_t k = 1; k < 5000 && !done; k++) {
        struct fm_ctx *own = fm_ctx_new();
        struct fm_import_options options = FM_INIT(options);
        struct fm_builder *builder;
        struct fm_input *input;
        struct fm_error err = {0};
        bool usable;
        options.format = "t";
        ck_assert_int_eq(fm_ctx_add_data_dir(own, dir), FM_OK);
        ck_assert_int_eq(fm_builder_new(own, &builder, NULL), FM_OK);
        ck_assert_int_eq(fm_input_open_memory(own, in, n, "in", &input, NULL), FM_OK);
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

START_TEST(every_allocation_may_fail)
{
    static const char lines[] = "cpu 3\nsh 1/1 1: 7 e:\n\t1 f (m)\n";
    static const char cells[] = "k,n (u),m\na,1%,2%\nb,3,4\n";
    static const char records[] = "\1\2\0\0\0\0\0\0\2\3\0\0\0\0\0\0\1\4\0\0\0\0\0";
    fail_each(script, lines, sizeof lines - 1);
    fail_each("container: csv\ncolumns: [k]\n"
              "others: {class: o}\n"
              "classes: [{match: o, event: '${column}', kind: counter, unit: '${unit}',\n"
              "  value: value, labels: {k: k}}, {match: '*', event: e}]\n",
              cells, sizeof cells - 1);
    fail_each("container: records\nsize: 8\nlayouts:\n"
              "  - {name: a, sum: [n], fields: {k: {at_bit: 0, bits: 8},\n"
              "      n: {at_bit: 8, bits: 8}}}\n"
              "classes: [{match: '*', event: e, weight: n, labels: {k: k}}]\n",
              records, sizeof records);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("generic");
    TCase *t = tcase_create("generic");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, text_records);
    tcase_add_test(t, text_ranges);
    tcase_add_test(t, text_ranges_many);
    tcase_add_test(t, csv_records);
    tcase_add_test(t, csv_forms);
    tcase_add_test(t, csv_tables);
    tcase_add_test(t, json_records);
    tcase_add_test(t, json_cut_and_broken);
    tcase_add_test(t, jsonl_records);
    tcase_add_test(t, json_members);
    tcase_add_test(t, json_objects_cut_and_broken);
    tcase_add_test(t, json_raw_strings);
    tcase_add_test(t, binary_records);
    tcase_add_test(t, probing);
    tcase_add_test(t, intel_eustall);
    tcase_add_test(t, every_allocation_may_fail);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
