/*
 * test_bind.c - rules bound to declared classes: events go in as field values, rows are read from
 * the sealed store.
 */
#include "format/mapping.h"
#include "util/out.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static struct fm_ctx *ctx;
static struct fm_mapping *mapping;
static struct fm_builder *builder;
static struct fm_binding *binding;
static struct fm_store *store;

/* A format with these rules, bound to a new builder. */
static void start_keep(const char *text, const char *keep)
{
    char path[64];
    struct fm_arena arena;
    struct fm_yaml_log log;
    static const char head[] = "foldmill-format: 1\nname: t\nabout: t\ncontainer: t\n";
    ctx = fm_ctx_new();
    snprintf(path, sizeof path, "/tmp/foldmill-bind-%d.yaml", (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_eq((int)write(fd, head, sizeof head - 1), (int)sizeof head - 1);
    ck_assert_int_eq((int)write(fd, text, strlen(text)), (int)strlen(text));
    close(fd);
    fm_arena_init(&arena, &ctx->mem);
    fm_yaml_log_init(&log, &arena);
    ck_assert_msg(fm_mapping_load_file(ctx, path, &mapping, &log, NULL) == FM_OK, "%s", log.text);
    fm_arena_release(&arena);
    unlink(path);
    ck_assert_int_eq(fm_builder_new(ctx, &builder, NULL), FM_OK);
    fm_builder_source(builder, "a", "t");
    ck_assert_int_eq(fm_binding_new(mapping, builder, keep, &binding, NULL), FM_OK);
}

static void start(const char *text)
{
    start_keep(text, NULL);
    fm_binding_account(binding, true);
}

static void seal(void)
{
    struct fm_error err = {0};
    fm_binding_free(binding);
    fm_mapping_free(mapping);
    ck_assert_msg(fm_builder_seal(builder, NULL, &store, &err) == FM_OK, "%s", err.message);
    ck_assert_msg(fm_store_verify(store, &err) == FM_OK, "%s", err.message);
}

static void end(void)
{
    fm_store_free(store);
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
    fm_ctx_free(ctx);
}

static fm_column column(const char *name)
{
    fm_column c = fm_store_column_find(store, name);
    ck_assert_msg(c != FM_NONE, "no column '%s'", name);
    return c;
}

static uint64_t cell(const char *name, uint64_t row)
{
    uint64_t v = 0xdeadbeef;
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

static const struct fm_event *event(uint64_t row)
{
    return fm_store_event_row(store, cell("event", row));
}

static const char *event_name(uint64_t row)
{
    return fm_store_str(store, event(row)->name, NULL);
}

/* The stack of a row, "a;b;c", root first. */
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

static uint64_t account(enum fm_account_kind kind, const char *key)
{
    for (size_t i = 0; i < fm_store_accounts(store); i++) {
        struct fm_account_info info;
        fm_store_account(store, i, &info);
        if (info.kind == kind && strcmp(info.key, key) == 0)
            return info.count;
    }
    return 0;
}

static fm_str str(const char *s)
{
    return fm_builder_str(builder, s, strlen(s));
}

static uint64_t add(int class_id, const uint64_t *value, uint64_t present)
{
    return fm_event(binding, class_id, value, &present);
}

/* One class, two metrics by `when`, and events whose unit is computed. */
START_TEST(metrics_and_ranks)
{
    static const struct fm_field fields[] = {{"state", FM_TYPE_STRING, NULL},
                                             {"period", FM_TYPE_DUR, "ns"}};
    static const struct { const char *state; uint64_t period; const char *metric, *unit, *as;
                          int32_t rank; } want[] = {
        {"RUN", 10, "cpu", "ns", "cpu", 64},
        {"SLEEP", 50, "wall", "ns", "wall", 128},
        {"SLEEP", 0, "wall", "samples", "wall", 128},
        {"RUN", 0, "cpu", "samples", "cpu", 64},
    };
    size_t n;
    start("default_event: [none, cpu, wall]\naliases: {cpu: [cputime, java.Sample]}\nclasses:\n"
          "  - {match: java.Sample, when: \"state == 'RUN'\", event: $class, metric: cpu,\n"
          "     unit: \"${if(given(period), 'ns', 'samples')}\", weight: \"coalesce(period, 1)\"}\n"
          "  - {match: java.Sample, event: $class, metric: wall,\n"
          "     unit: \"${if(given(period), 'ns', 'samples')}\", weight: \"coalesce(period, 1)\"}\n"
          "  - {match: '*', event: $class, metric: 'my ${$class}'}\n");
    int c = fm_class_declare(binding, "java.Sample", fields, FM_COUNT(fields), 0, NULL);
    int d = fm_class_declare(binding, "Other", fields, FM_COUNT(fields), 0, NULL);
    for (size_t i = 0; i < FM_COUNT(want); i++)
        add(c, (uint64_t[]){str(want[i].state), want[i].period}, want[i].period ? 3 : 1);
    add(d, (uint64_t[]){0, 0}, 0);
    seal();
    for (size_t i = 0; i < FM_COUNT(want); i++) {
        ck_assert_str_eq(event_name(i), "java.Sample");
        ck_assert_str_eq(fm_store_str(store, event(i)->metric, NULL), want[i].metric);
        ck_assert_str_eq(fm_store_str(store, event(i)->unit, NULL), want[i].unit);
        ck_assert_str_eq(fm_store_str(store, event(i)->default_as, NULL),
                         i == 1 || i == 2 ? "cpu" : want[i].as);
        ck_assert_int_eq(event(i)->default_rank, i == 1 || i == 2 ? 64 + 2 : want[i].rank);
    }
    ck_assert_str_eq(fm_store_str(store, event(4)->metric, NULL), "my Other");
    ck_assert_str_eq(fm_store_str(store, fm_store_aliases(store, &n)->list, NULL),
                     "cputime,java.Sample");
    ck_assert_uint_eq(n, 1);
    end();
}
END_TEST

START_TEST(plain_moves)
{
    static const struct fm_field fields[] = {
        {"time", FM_TYPE_TIME, "ns"},  {"period", FM_TYPE_U64, NULL},
        {"stack", FM_TYPE_STACK, NULL}, {"cpu", FM_TYPE_U64, NULL},
        {"comm", FM_TYPE_STRING, NULL}, {"addr", FM_TYPE_ADDRESS, NULL},
        {"unused", FM_TYPE_U64, NULL}};
    uint64_t wanted = 0;
    start("view: {prepend: [comm, '-'], append: none}\ndefault_event: [x, 'cyc*']\n"
          "classes:\n  - match: [cycles, instr*]\n    event: $class\n    unit: cycles\n"
          "    weight: period\n    time: time\n    stack: stack\n    cpu: cpu\n    comm: comm\n"
          "    dur: nothing\n    labels: {addr: addr, gone: nothing}\n");
    int c = fm_class_declare(binding, "cycles", fields, FM_COUNT(fields), 4000, &wanted);
    ck_assert_int_ge(c, 0);
    ck_assert_uint_eq(wanted, 0x3f);
    struct fm_frame_row f = {.module = FM_NONE, .address = UINT64_MAX, .function = str("main")};
    fm_node node = fm_builder_node(builder, FM_NODE_ROOT, fm_builder_frame(builder, &f));
    uint64_t v[] = {1000, 77, node, 3, str("sh"), 0xffffffffffff0000, 9};
    ck_assert_uint_eq(add(c, v, 0x7f), 0);
    ck_assert_uint_eq(add(c, v, 0x06), 1);
    ck_assert_uint_eq(fm_class_event(binding, c), 0);
    seal();
    ck_assert_str_eq(event_name(0), "cycles");
    ck_assert_uint_eq(event(0)->period, 4000);
    ck_assert_int_eq(event(0)->default_rank, 64);
    ck_assert_str_eq(fm_store_str(store, event(0)->prepend, NULL), "comm,-");
    ck_assert_str_eq(fm_store_str(store, event(0)->append, NULL), "");
    ck_assert_str_eq(fm_store_str(store, event(0)->unit, NULL), "cycles");
    ck_assert_uint_eq(cell("ts", 0), 1000);
    ck_assert_uint_eq(cell("weight", 0), 77);
    ck_assert_uint_eq(cell("cpu", 0), 3);
    ck_assert_str_eq(text("comm", 0), "sh");
    ck_assert_uint_eq(cell("addr", 0), 0xffffffffffff0000);
    ck_assert_str_eq(stack(0), "main");
    ck_assert(empty("dur", 0));
    ck_assert(empty("ts", 1));
    ck_assert(empty("addr", 1));
    ck_assert_uint_eq(cell("weight", 1), 77);
    ck_assert_uint_eq(fm_store_column_find(store, "gone"), FM_NONE);
    end();
}
END_TEST

START_TEST(weights)
{
    static const struct fm_field fields[] = {{"n", FM_TYPE_I64, NULL}, {"d", FM_TYPE_F64, NULL}};
    start("classes:\n  - {match: one, event: e}\n  - {match: field, event: e, weight: n}\n"
          "  - {match: expr, event: e, weight: n * d}\n  - {match: count, event: e, count: n}\n"
          "  - {match: absent, event: e, weight: zz}\n");
    int one = fm_class_declare(binding, "one", fields, 2, 0, NULL);
    int field = fm_class_declare(binding, "field", fields, 2, 0, NULL);
    int expr = fm_class_declare(binding, "expr", fields, 2, 0, NULL);
    int count = fm_class_declare(binding, "count", fields, 2, 0, NULL);
    int absent = fm_class_declare(binding, "absent", fields, 2, 0, NULL);
    uint64_t v[] = {5, fm_f64_bits(2.5)}, negative[] = {(uint64_t)-5, fm_f64_bits(1e300)};
    add(one, v, 3);
    add(field, v, 3);
    add(field, negative, 3);
    add(field, v, 2);
    add(expr, v, 3);
    add(expr, negative, 3);
    add(count, v, 3);
    add(count, v, 0);
    add(absent, v, 3);
    seal();
    ck_assert_uint_eq(cell("weight", 0), 1);
    ck_assert_uint_eq(cell("weight", 1), 5);
    ck_assert(empty("weight", 2));
    ck_assert(empty("weight", 3));
    ck_assert_uint_eq(cell("weight", 4), 13);
    ck_assert(empty("weight", 5));
    ck_assert_uint_eq(cell("weight", 6), 5);
    ck_assert_uint_eq(cell("count", 6), 5);
    ck_assert_uint_eq(cell("weight", 7), 1);
    ck_assert(empty("weight", 8));
    ck_assert_uint_eq(account(FM_ACCOUNT_FINDING, "value-range"), 2);
    ck_assert_uint_eq(account(FM_ACCOUNT_FINDING, "rule-value"), 2);
    ck_assert_uint_eq(fm_store_source_row(store, 0)->samples_in, 13);
    ck_assert_uint_eq(fm_store_source_row(store, 0)->samples_kept, 13);
    end();
}
END_TEST

START_TEST(time_units)
{
    static const struct fm_field fields[] = {
        {"t", FM_TYPE_I64, NULL}, {"f", FM_TYPE_F64, "s"}, {"d", FM_TYPE_DUR, NULL}};
    start("clock: {kind: monotonic, unit: us, field: t}\nclasses:\n"
          "  - {match: a, event: e, kind: async, dur: f}\n"
          "  - {match: b, event: e, kind: async, time: null, dur: d}\n");
    int a = fm_class_declare(binding, "a", fields, 3, 0, NULL);
    int b = fm_class_declare(binding, "b", fields, 3, 0, NULL);
    uint64_t v[] = {(uint64_t)-7, fm_f64_bits(1.5), 9};
    add(a, v, 7);
    add(b, v, 7);
    seal();
    ck_assert_int_eq((int64_t)cell("ts", 0), -7000);
    ck_assert_uint_eq(cell("dur", 0), 1500000000);
    ck_assert_uint_eq(cell("weight", 0), 1500000000);
    ck_assert(empty("ts", 1));
    ck_assert_uint_eq(cell("dur", 1), 9);
    ck_assert_uint_eq(cell("weight", 1), 9);
    ck_assert_int_eq(fm_store_source_row(store, 0)->clock, FM_CLOCK_MONOTONIC);
    end();
}
END_TEST

START_TEST(rules_in_order)
{
    static const struct fm_field fields[] = {{"state", FM_TYPE_STRING, NULL},
                                             {"x", FM_TYPE_I64, NULL}};
    start("classes:\n  - {match: 's*', when: \"state == 'A'\", event: first}\n"
          "  - {match: s1, when: has(y), event: never}\n"
          "  - {match: {name: s1, when: given(x)}, event: second}\n"
          "  - {match: 's1', when: has(x), event: third}\n  - {match: '*', event: last, "
          "when: has(x)}\n  - {match: s2, skip: true}\n");
    uint64_t wanted;
    int s1 = fm_class_declare(binding, "s1", fields, 2, 0, &wanted);
    int s2 = fm_class_declare(binding, "s2", fields, 1, 0, NULL);
    int s3 = fm_class_declare(binding, "s3", fields, 1, 0, NULL);
    ck_assert_uint_eq(wanted, 3);
    ck_assert_int_eq(fm_class_declare(binding, "t", fields, 1, 0, NULL), FM_CLASS_UNMAPPED);
    ck_assert_uint_eq(fm_class_event(binding, s1), FM_NONE);
    uint64_t a[] = {str("A"), 1}, b[] = {str("B"), 1};
    ck_assert_uint_eq(add(s1, a, 3), 0);
    ck_assert_uint_eq(add(s1, b, 3), 1);
    ck_assert_uint_eq(add(s1, b, 1), 2);
    ck_assert_uint_eq(add(s2, a, 1), 3);
    ck_assert_uint_eq(add(s2, b, 1), UINT64_MAX);
    fm_binding_at(binding, 4711);
    ck_assert_uint_eq(add(s3, b, 1), UINT64_MAX);
    fm_event_unmapped(binding, "t", 5);
    seal();
    ck_assert_str_eq(event_name(0), "first");
    ck_assert_str_eq(event_name(1), "second");
    ck_assert_str_eq(event_name(2), "third");
    ck_assert_str_eq(event_name(3), "first");
    ck_assert_uint_eq(account(FM_ACCOUNT_NOT_MAPPED, "s2"), 1);
    ck_assert_uint_eq(account(FM_ACCOUNT_NOT_MAPPED, "s3"), 1);
    ck_assert_uint_eq(account(FM_ACCOUNT_NOT_MAPPED, "t"), 1);
    end();
}
END_TEST

START_TEST(labels_of_all_types)
{
    static const struct fm_field fields[] = {
        {"s", FM_TYPE_STRING, NULL}, {"i", FM_TYPE_I64, NULL}, {"u", FM_TYPE_U64, NULL},
        {"f", FM_TYPE_F64, NULL},    {"b", FM_TYPE_BOOL, NULL}};
    start("dictionaries: {d: {1: one, -3: minus, 0x10: sixteen, x: ex, true: yes}}\n"
          "constants: {limit: 2KiB, word: hi}\nclasses:\n  - match: a\n    event: e\n    labels:\n"
          "      s: s\n      i: i\n      f: f\n      b: b\n      sum: {from: i + u, type: i64}\n"
          "      big: i > 2\n      di: lookup(d, i)\n      ds: lookup(d, s)\n"
          "      db: lookup(d, b)\n      du: lookup(d, u)\n      cls: $class\n      h: hex(u)\n"
          "      lim: $limit\n      w: $word\n      si: {from: i, type: string}\n"
          "      ratio: i / 2\n      hid: null\n      bad: {from: f * 1e30, type: i64}\n");
    int a = fm_class_declare(binding, "a", fields, 5, 0, NULL);
    uint64_t v[] = {str("x"), (uint64_t)-3, 16, fm_f64_bits(2.5), 1};
    add(a, v, 31);
    seal();
    ck_assert_str_eq(text("s", 0), "x");
    ck_assert_int_eq((int64_t)cell("i", 0), -3);
    ck_assert_uint_eq(cell("f", 0), fm_f64_bits(2.5));
    ck_assert_uint_eq(cell("b", 0), 1);
    ck_assert_int_eq((int64_t)cell("sum", 0), 13);
    ck_assert_uint_eq(cell("big", 0), 0);
    ck_assert_str_eq(text("di", 0), "minus");
    ck_assert_str_eq(text("ds", 0), "ex");
    ck_assert_str_eq(text("db", 0), "yes");
    ck_assert_str_eq(text("du", 0), "sixteen");
    ck_assert_str_eq(text("cls", 0), "a");
    ck_assert_str_eq(text("h", 0), "0x10");
    ck_assert_uint_eq(cell("lim", 0), 2048);
    ck_assert_str_eq(text("w", 0), "hi");
    ck_assert_str_eq(text("si", 0), "-3");
    ck_assert_uint_eq(cell("ratio", 0), fm_f64_bits(-1.5));
    ck_assert_uint_eq(fm_store_column_find(store, "hid"), FM_NONE);
    ck_assert(empty("bad", 0));
    ck_assert_uint_eq(account(FM_ACCOUNT_FINDING, "value-range"), 1);
    end();
}
END_TEST

START_TEST(asked_labels)
{
    static const struct fm_field fields[] = {{"x", FM_TYPE_U64, NULL}, {"y", FM_TYPE_U64, NULL},
                                             {"z", FM_TYPE_U64, NULL}};
    static const char rules[] =
        "classes:\n  - match: a\n    event: e\n    keep: asked\n    labels: {x: x, y: y, "
        "z: {from: z, keep: always}}\n";
    static const char *const keeps[] = {NULL, "y,nothing", "all"};
    static const uint64_t wants[] = {4, 6, 7};
    for (size_t i = 0; i < FM_COUNT(keeps); i++) {
        uint64_t v[] = {1, 2, 3}, wanted;
        start_keep(rules, keeps[i]);
        fm_binding_account(binding, true);
        int a = fm_class_declare(binding, "a", fields, 3, 0, &wanted);
        ck_assert_uint_eq(wanted, wants[i]);
        add(a, v, 7);
        seal();
        ck_assert_uint_eq(cell("z", 0), 3);
        /* A label that nobody asked for is known, so that asking later can say why it is empty. */
        ck_assert_int_eq(empty("x", 0), i < 2);
        ck_assert_int_eq(fm_store_column_info(store, column("x"))->asked, i < 2);
        ck_assert_int_eq(empty("y", 0), i < 1);
        ck_assert_int_eq(fm_store_column_info(store, column("z"))->asked, 0);
        end();
    }
}
END_TEST

START_TEST(label_types_that_differ)
{
    static const struct fm_field number[] = {{"a", FM_TYPE_U64, NULL}};
    static const struct fm_field word[] = {{"a", FM_TYPE_STRING, NULL}};
    start("classes: [{match: '*', event: e, labels: {a: a}}]\n");
    int n = fm_class_declare(binding, "n", number, 1, 0, NULL);
    int w = fm_class_declare(binding, "w", word, 1, 0, NULL);
    uint64_t v[] = {7}, digits[] = {str("12")}, letters[] = {str("x")};
    add(n, v, 1);
    add(w, digits, 1);
    add(w, letters, 1);
    seal();
    ck_assert_uint_eq(cell("a", 0), 7);
    ck_assert_uint_eq(cell("a", 1), 12);
    ck_assert(empty("a", 2));
    ck_assert_uint_eq(account(FM_ACCOUNT_FINDING, "value-range"), 1);
    end();
}
END_TEST

START_TEST(stacks_by_split_and_frames)
{
    static const struct fm_field fields[] = {
        {"path", FM_TYPE_STRING, NULL}, {"kernel", FM_TYPE_STRING, NULL},
        {"ip", FM_TYPE_ADDRESS, NULL},  {"own", FM_TYPE_STACK, NULL}};
    start("classes:\n  - {match: a, event: e, stack: {split: path}}\n"
          "  - {match: b, event: e, stack: {split: path, sep: ' <- ', order: leaf-first}}\n"
          "  - {match: c, event: e, stack: {split: path, frames: [kernel, {function: hex(ip), "
          "address: ip, kind: gpu-instruction, file: path, line: ip}]}}\n"
          "  - {match: d, event: e, stack: {from: own, frames: [kernel]}}\n");
    int a = fm_class_declare(binding, "a", fields, 4, 0, NULL);
    int b = fm_class_declare(binding, "b", fields, 4, 0, NULL);
    int c = fm_class_declare(binding, "c", fields, 4, 0, NULL);
    int d = fm_class_declare(binding, "d", fields, 4, 0, NULL);
    struct fm_frame_row f = {.module = FM_NONE, .address = UINT64_MAX, .function = str("own")};
    fm_node node = fm_builder_node(builder, FM_NODE_ROOT, fm_builder_frame(builder, &f));
    uint64_t v[] = {str("a;b;;c;"), str("gemm"), 0x18, node};
    uint64_t w[] = {str("leaf <- mid <- root"), 0, 0, node};
    add(a, v, 1);
    add(a, v, 1);
    add(b, w, 1);
    add(c, v, 7);
    add(c, v, 1);
    add(d, v, 10);
    add(d, v, 8);
    add(a, v, 0);
    seal();
    ck_assert_str_eq(stack(0), "a;b;c");
    ck_assert_uint_eq(cell("stack", 0), cell("stack", 1));
    ck_assert_str_eq(stack(2), "root;mid;leaf");
    ck_assert_str_eq(stack(3), "a;b;c;gemm;0x18");
    ck_assert_str_eq(stack(4), "a;b;c");
    ck_assert_str_eq(stack(5), "own;gemm");
    ck_assert_str_eq(stack(6), "own");
    ck_assert_str_eq(stack(7), "");
    const struct fm_tree_node *tree = fm_store_tree(store);
    const struct fm_frame_row *leaf = fm_store_frame_row(
        store, tree[fm_store_tree_node(store, (fm_node)cell("stack", 3))].frame);
    ck_assert_int_eq(leaf->kind, FM_FRAME_GPU_INSTRUCTION);
    ck_assert_uint_eq(leaf->address, 0x18);
    ck_assert_uint_eq(leaf->line, 24);
    end();
}
END_TEST

START_TEST(threads)
{
    static const struct fm_field fields[] = {
        {"pid", FM_TYPE_I64, NULL}, {"tid", FM_TYPE_I64, NULL}, {"name", FM_TYPE_STRING, NULL},
        {"ptext", FM_TYPE_STRING, NULL}, {"own", FM_TYPE_THREAD, NULL}};
    start("classes:\n  - {match: a, event: e, thread: {pid: pid, tid: tid, name: name, "
          "process: ptext}}\n  - {match: b, event: e, thread: {pid: ptext, tid: tid}}\n"
          "  - {match: c, event: e, thread: 'coalesce(own, own)'}\n"
          "  - {match: d, event: e, thread: {name: name}}\n");
    int a = fm_class_declare(binding, "a", fields, 5, 0, NULL);
    int b = fm_class_declare(binding, "b", fields, 5, 0, NULL);
    int c = fm_class_declare(binding, "c", fields, 5, 0, NULL);
    int d = fm_class_declare(binding, "d", fields, 5, 0, NULL);
    uint64_t v[] = {10, 11, str("worker"), str("app"), 0}, w[] = {10, 12, 0, str("10"), 0};
    uint64_t x[] = {0, 1, str("solo"), str("Spans"), 0};
    add(a, v, 15);
    add(a, v, 15);
    add(a, w, 1);
    add(b, w, 10);
    add(b, x, 10);
    add(c, v, 16);
    add(d, x, 4);
    add(a, v, 0);
    seal();
    const struct fm_thread_row *t = fm_store_thread_row(store, (fm_thread)cell("thread", 0));
    ck_assert_int_eq(t->pid, 10);
    ck_assert_int_eq(t->tid, 11);
    ck_assert_str_eq(fm_store_str(store, fm_store_thread_name(
        store, (fm_thread)cell("thread", 0), false, 0), NULL), "worker");
    ck_assert_str_eq(fm_store_str(store, t->process, NULL), "app");
    ck_assert_uint_eq(cell("thread", 1), cell("thread", 0));
    ck_assert_int_eq(fm_store_thread_row(store, (fm_thread)cell("thread", 2))->tid, 10);
    ck_assert_int_eq(fm_store_thread_row(store, (fm_thread)cell("thread", 3))->tid, 12);
    t = fm_store_thread_row(store, (fm_thread)cell("thread", 4));
    ck_assert_str_eq(fm_store_str(store, t->text_id, NULL), "Spans/1");
    ck_assert_uint_eq(cell("thread", 5), 0);
    t = fm_store_thread_row(store, (fm_thread)cell("thread", 6));
    ck_assert_str_eq(fm_store_str(store, t->text_id, NULL), "solo");
    ck_assert(empty("thread", 7));
    end();
}
END_TEST

START_TEST(links_by_key)
{
    static const struct fm_field fields[] = {{"id", FM_TYPE_U64, NULL},
                                             {"cat", FM_TYPE_STRING, NULL}};
    start("classes:\n  - {match: call, event: c, kind: instant, links: [{kind: launch, key: id, "
          "side: from}]}\n  - {match: run, event: r, kind: instant, links: [{kind: launch, "
          "key: id, side: to}, {kind: flow, key: [cat, id], side: to}]}\n"
          "  - {match: flow, event: f, kind: instant, links: [{kind: flow, key: [cat, id], "
          "side: from}]}\n");
    int call = fm_class_declare(binding, "call", fields, 2, 0, NULL);
    int run = fm_class_declare(binding, "run", fields, 2, 0, NULL);
    int flow = fm_class_declare(binding, "flow", fields, 2, 0, NULL);
    uint64_t v[] = {7, str("x")}, w[] = {8, str("x")}, y[] = {7, str("y")};
    add(call, v, 3);
    add(run, v, 3);
    add(call, w, 3);
    add(flow, v, 3);
    add(flow, y, 3);
    add(call, v, 2);
    seal();
    size_t n;
    fm_store_links(store, &n);
    ck_assert_uint_eq(n, 2);
    const struct fm_link *l = fm_store_link_find(store, FM_LINK_LAUNCH, 0);
    ck_assert_ptr_nonnull(l);
    ck_assert_uint_eq(l->to, 1);
    l = fm_store_link_find(store, FM_LINK_FLOW, 3);
    ck_assert_ptr_nonnull(l);
    ck_assert_uint_eq(l->to, 1);
    ck_assert_ptr_null(fm_store_link_find(store, FM_LINK_FLOW, 4));
    ck_assert_ptr_null(fm_store_link_find(store, FM_LINK_LAUNCH, 2));
    end();
}
END_TEST

START_TEST(rows_for_each_field)
{
    static const struct fm_field fields[] = {
        {"send", FM_TYPE_U64, NULL}, {"sbid", FM_TYPE_U64, NULL}, {"sync", FM_TYPE_U64, NULL},
        {"load", FM_TYPE_F64, NULL}};
    start("classes:\n  - {match: a, event: stall, each: [send, sbid, sync, nothing], "
          "weight: $value, count: $value, labels: {reason: $key}}\n"
          "  - {match: b, event: 'x.${$key}', unit: u, kind: counter, value: $value, "
          "each: {fields: [load, send], zeros: keep}}\n");
    uint64_t wanted;
    int a = fm_class_declare(binding, "a", fields, 4, 0, &wanted);
    int b = fm_class_declare(binding, "b", fields, 4, 0, NULL);
    ck_assert_uint_eq(wanted, 7);
    uint64_t v[] = {3, 0, 5, fm_f64_bits(0)};
    ck_assert_uint_eq(add(a, v, 15), 1);
    ck_assert_uint_eq(add(b, v, 15), 3);
    ck_assert_uint_eq(add(b, v, 15), 5);
    ck_assert_uint_eq(add(a, v, 2), UINT64_MAX);
    seal();
    ck_assert_str_eq(text("reason", 0), "send");
    ck_assert_uint_eq(cell("weight", 0), 3);
    ck_assert_str_eq(text("reason", 1), "sync");
    ck_assert_uint_eq(cell("weight", 1), 5);
    ck_assert_str_eq(event_name(2), "x.load");
    ck_assert_uint_eq(cell("value", 2), fm_f64_bits(0));
    ck_assert_str_eq(event_name(3), "x.send");
    ck_assert_uint_eq(cell("value", 3), fm_f64_bits(3));
    ck_assert_uint_eq(cell("event", 5), cell("event", 3));
    ck_assert_uint_eq(fm_store_source_row(store, 0)->samples_in, 8);
    end();
}
END_TEST

START_TEST(computed_events)
{
    static const struct fm_field fields[] = {{"n", FM_TYPE_STRING, NULL},
                                             {"v", FM_TYPE_I64, "MHz"}};
    start("classes:\n  - {match: m, event: 'gpu.${n}$${', kind: counter, value: v}\n"
          "  - {match: u, event: e, unit: \"${if(v > 1, 'many', 'one')}\", weight: v}\n");
    int m = fm_class_declare(binding, "m", fields, 2, 0, NULL);
    int u = fm_class_declare(binding, "u", fields, 2, 0, NULL);
    uint64_t a[] = {str("freq"), 1}, b[] = {str("busy"), 2};
    add(m, a, 3);
    add(m, b, 3);
    add(m, a, 3);
    add(u, a, 3);
    add(u, b, 3);
    seal();
    ck_assert_str_eq(event_name(0), "gpu.freq${");
    ck_assert_str_eq(event_name(1), "gpu.busy${");
    ck_assert_uint_eq(cell("event", 2), cell("event", 0));
    ck_assert_str_eq(fm_store_str(store, event(0)->unit, NULL), "MHz");
    ck_assert_str_eq(fm_store_str(store, event(3)->unit, NULL), "one");
    ck_assert_str_eq(fm_store_str(store, event(4)->unit, NULL), "many");
    end();
}
END_TEST

START_TEST(report_shows_the_way)
{
    static const struct fm_field fields[] = {{"time", FM_TYPE_TIME, NULL},
                                             {"w", FM_TYPE_I64, NULL}, {"x", FM_TYPE_I64, NULL}};
    struct fm_out out;
    start("classes:\n  - {match: a, event: e, time: time, weight: w, cpu: zz, "
          "labels: {l: {from: w + 1, type: i64}}}\n");
    fm_class_declare(binding, "a", fields, 3, 0, NULL);
    ck_assert_int_eq(fm_out_init(&out, &ctx->mem, NULL), FM_OK);
    fm_binding_report(binding, &out);
    fm_out_char(&out, '\0');
    ck_assert_str_eq(out.buf, "class a: 3 fields\n"
                              "  rule at line 6: event e, sample\n"
                              "    time                 -> ts\n"
                              "    w                    -> weight (checked)\n"
                              "    (expression)         -> l\n"
                              "    x                    not read\n"
                              "    zz                   not in this class\n");
    fm_out_release(&out);
    seal();
    end();
}
END_TEST

START_TEST(too_many_fields)
{
    static struct fm_field fields[FM_CLASS_FIELDS + 1];
    for (size_t i = 0; i < FM_COUNT(fields); i++)
        fields[i] = (struct fm_field){i == FM_CLASS_FIELDS - 1 ? "last" : "f", FM_TYPE_U64, NULL};
    start("classes: [{match: a, event: e, weight: last}]\n");
    uint64_t wanted[FM_CLASS_FIELDS / 64], v[FM_CLASS_FIELDS], present[FM_CLASS_FIELDS / 64];
    ck_assert_int_eq(fm_class_declare(binding, "a", fields, FM_COUNT(fields), 0, NULL), -2);
    int a = fm_class_declare(binding, "a", fields, FM_CLASS_FIELDS, 0, wanted);
    ck_assert_uint_eq(wanted[FM_CLASS_FIELDS / 64 - 1], UINT64_C(1) << 63);
    memset(present, 0xff, sizeof present);
    v[FM_CLASS_FIELDS - 1] = 99;
    fm_event(binding, a, v, present);
    seal();
    ck_assert_uint_eq(cell("weight", 0), 99);
    end();
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    static const struct fm_field fields[] = {{"n", FM_TYPE_STRING, NULL}, {"v", FM_TYPE_I64, "ns"}};
    static const char rules[] =
        "classes: [{match: a, event: 'x${n}', weight: v, stack: {split: n}, thread: {tid: v, "
        "name: n}, labels: {l: 'lookup(d, v)', k: v}, links: [{kind: flow, key: n, side: to}]}]\n"
        "dictionaries: {d: {1: a}}\n";
    bool done = false;
    for (uint64_t k = 1; k < 500 && !done; k++) {
        start(rules);
        fm_binding_free(binding);
        binding = NULL;
        uint64_t at = ctx->mem.fail_at = atomic_load(&ctx->mem.allocations) + k;
        struct fm_error err = {0};
        enum fm_status s = fm_binding_new(mapping, builder, NULL, &binding, &err);
        ck_assert(s == FM_OK || s == FM_NOMEM);
        int c = s == FM_OK ? fm_class_declare(binding, "a", fields, 2, 0, NULL) : -2;
        uint64_t v[] = {str("q"), 1};
        if (c >= 0 && v[0] != FM_NONE)
            add(c, v, 3);
        done = atomic_load(&ctx->mem.allocations) < at;
        ctx->mem.fail_at = 0;
        fm_binding_free(binding);
        fm_mapping_free(mapping);
        fm_builder_free(builder);
        ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
        fm_ctx_free(ctx);
    }
    ck_assert(done);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("bind");
    TCase *t = tcase_create("bind");
    tcase_add_test(t, metrics_and_ranks);
    tcase_add_test(t, plain_moves);
    tcase_add_test(t, weights);
    tcase_add_test(t, time_units);
    tcase_add_test(t, rules_in_order);
    tcase_add_test(t, labels_of_all_types);
    tcase_add_test(t, asked_labels);
    tcase_add_test(t, label_types_that_differ);
    tcase_add_test(t, stacks_by_split_and_frames);
    tcase_add_test(t, threads);
    tcase_add_test(t, links_by_key);
    tcase_add_test(t, rows_for_each_field);
    tcase_add_test(t, computed_events);
    tcase_add_test(t, report_shows_the_way);
    tcase_add_test(t, too_many_fields);
    tcase_add_test(t, every_allocation_may_fail);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
