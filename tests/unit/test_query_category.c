/*
 * Categories of frames: random dictionaries and stores against sets worked out here, sample by
 * sample; dictionaries that are wrong; the shipped ones on names as programs have them.
 */
#include "query_help.h"

#include "query/category.h"
#include "query/query.h"
#include "util/out.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROWS 30
#define DEPTH 6
#define CATEGORIES 4

static struct fm_ctx *ctx;
static char folder[64], shipped[512];
static size_t used;               /* by the data path that the context remembers */
static uint64_t seed;

static uint32_t roll(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 20) % n;
}

/* The data path has one dictionary, kinds.yaml, of the test's own. */
static void setup(void)
{
    char path[128];

    snprintf(folder, sizeof folder, "categories-%ld", (long)getpid());
    snprintf(path, sizeof path, "%s/queries", folder);
    (void)mkdir(folder, 0700);        /* a test that failed may have left it */
    (void)mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/queries/categories", folder);
    (void)mkdir(path, 0700);
    ck_assert_ptr_nonnull(getenv("FOLDMILL_PATH"));
    snprintf(shipped, sizeof shipped, "%s", getenv("FOLDMILL_PATH"));
    setenv("FOLDMILL_PATH", folder, 1);
    setenv("XDG_CONFIG_HOME", folder, 1);
    ctx = fm_ctx_new();
    ck_assert_ptr_nonnull(ctx);
    ck_assert_ptr_nonnull(fm_ctx_data_dir(ctx, 0));
    used = atomic_load(&ctx->mem.used);
}

static void teardown(void)
{
    char path[160];

    ck_assert_uint_eq(atomic_load(&ctx->mem.used), used);
    fm_ctx_free(ctx);
    snprintf(path, sizeof path, "%s/queries/categories/kinds.yaml", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/queries/categories/more.yaml", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/queries/categories", folder);
    rmdir(path);
    snprintf(path, sizeof path, "%s/queries", folder);
    rmdir(path);
    rmdir(folder);
    setenv("FOLDMILL_PATH", shipped, 1);
}

static void dictionary(const char *name, const char *text)
{
    char path[160];
    FILE *file;

    snprintf(path, sizeof path, "%s/queries/categories/%s.yaml", folder, name);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert(fputs(text, file) >= 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* ------------------------------------------------------------ random stores */

struct frame {
    char letter, digit;           /* function a0 … d2 */
    int module, file;             /* m0 m1, f0.c f1.c; -1: none */
    bool kernel;
};

static struct row {
    struct frame f[DEPTH];
    int n, weight;
} row[ROWS];

static bool rule_0(const struct frame *f) { return f->letter == 'a' && f->digit == '0'; }
static bool rule_1(const struct frame *f) { return f->letter == 'b'; }
static bool rule_2(const struct frame *f) { return f->digit == '1'; }
static bool rule_3(const struct frame *f) { return f->module == 0; }
static bool rule_4(const struct frame *f) { return f->kernel && f->letter != 'c'; }
static bool rule_5(const struct frame *f) { return f->file == 1 && f->digit != '2'; }
static bool rule_6(const struct frame *f) { return f->letter >= 'c' && f->module == 1; }
static bool rule_7(const struct frame *f)
{
    return f->letter == 'd' && !(f->module == 0 && f->digit == '0');
}

static const struct {
    const char *yaml;
    bool (*holds)(const struct frame *f);
} rule[] = {
    { "a0", rule_0 },
    { "[b*, zz]", rule_1 },
    { "/1$/", rule_2 },
    { "{module: m0.so}", rule_3 },
    { "{kind: kernel, not: {function: c*}}", rule_4 },
    { "{file: f1.c, function: ['?0', '?1']}", rule_5 },
    { "{function: [c*, 'd?'], module: [m1.*]}", rule_6 },
    { "{function: d*, not: {module: '*/m0.so', function: d0}}", rule_7 },
};
static bool chosen[CATEGORIES][FM_COUNT(rule)];

static unsigned mask_of(const struct frame *f)
{
    unsigned mask = 0;

    for (int k = 0; k < CATEGORIES; k++) {
        for (size_t i = 0; i < FM_COUNT(rule); i++) {
            if (chosen[k][i] && rule[i].holds(f))
                mask |= 1u << k;
        }
    }
    return mask;
}

/* The names of the categories are not in the order of the dictionary. */
static const char *const category[CATEGORIES] = { "alpha", "beta", "gamma", "nu" };

static void random_dictionary(void)
{
    static const int order[CATEGORIES] = { 2, 0, 3, 1 };
    char text[4096];
    size_t at = (size_t)snprintf(text, sizeof text, "foldmill-categories: 1\ncategories:\n");

    for (int o = 0; o < CATEGORIES; o++) {
        int k = order[o];
        at += (size_t)snprintf(text + at, sizeof text - at, "  %s:\n    frames:\n", category[k]);
        for (size_t i = 0; i < FM_COUNT(rule); i++)
            chosen[k][i] = roll(4) == 0;
        chosen[k][roll(FM_COUNT(rule))] = true;
        for (size_t i = 0; i < FM_COUNT(rule); i++) {
            if (chosen[k][i])
                at += (size_t)snprintf(text + at, sizeof text - at, "      - %s\n",
                                       rule[i].yaml);
        }
    }
    dictionary("kinds", text);
}

static struct fm_store *random_store(uint64_t s)
{
    static char text[1 << 16];
    size_t at = 0;

    seed = s * 0x9e3779b97f4a7c15u + 1;
    for (int r = 0; r < ROWS; r++) {
        struct row *k = &row[r];
        bool kernel = roll(2) == 0;
        k->n = roll(10) == 0 ? 0 : 1 + (int)roll(DEPTH);
        k->weight = (int)roll(50);
        for (int i = 0; i < k->n; i++) {
            struct frame *f = &k->f[i];
            *f = (struct frame){ (char)('a' + roll(4)), (char)('0' + roll(3)), (int)roll(3) - 1,
                                 (int)roll(3) - 1, kernel };
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%c%c", i == 0 ? "" : ";",
                                   f->letter, f->digit);
            if (f->module >= 0 || f->file >= 0)
                at += (size_t)snprintf(text + at, sizeof text - at, "@%s",
                                       f->module < 0 ? "" : f->module == 0 ? "/usr/lib/m0.so"
                                                                           : "m1.so");
            if (f->file >= 0)
                at += (size_t)snprintf(text + at, sizeof text - at, "@src/f%d.c:1", f->file);
        }
        at += (size_t)snprintf(text + at, sizeof text - at, "%s %d kind=%s\n",
                               k->n == 0 ? "-" : "", k->weight, kernel ? "kernel" : "jit");
    }
    random_dictionary();
    return query_store(ctx, text);
}

static const char *run(struct fm_store *store, const char *steps)
{
    const char *got = query_run(ctx, store, query_of(steps), NULL, "csv");

    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    return got;
}

/* ------------------------------------------------------------------- tests */

static unsigned on_stack(const struct row *r, unsigned *leaf)
{
    unsigned any = 0;

    *leaf = 0;
    for (int i = 0; i < r->n; i++) {
        *leaf = mask_of(&r->f[i]);
        any |= *leaf == 0 ? 1u << CATEGORIES : *leaf;
    }
    if (r->n == 0 || *leaf == 0)
        *leaf = 1u << CATEGORIES;
    return r->n == 0 ? 1u << CATEGORIES : any;
}

/* Each sample once per category, however many of its frames are in it. */
static void want_any(char *out, size_t room)
{
    size_t at = (size_t)snprintf(out, room, "category,self (ns),total (ns),rows\n");

    for (int k = 0; k <= CATEGORIES; k++) {
        long self = 0, total = 0, rows = 0;
        for (int r = 0; r < ROWS; r++) {
            unsigned leaf, any = on_stack(&row[r], &leaf);
            self += (leaf >> k) & 1 ? row[r].weight : 0;
            total += (any >> k) & 1 ? row[r].weight : 0;
            rows += (any >> k) & 1;
        }
        if (rows > 0)
            at += (size_t)snprintf(out + at, room - at, "%s,%ld,%ld,%ld\n",
                                   k == CATEGORIES ? "" : category[k], self, total, rows);
    }
}

START_TEST(counted_once_each)
{
    char want[1024];

    for (uint64_t s = 1; s <= 300; s++) {
        struct fm_store *store = random_store(s);
        want_any(want, sizeof want);
        /* by ancestors, by subtrees (more rows than nodes), and with values of rows */
        ck_assert_str_eq(run(store, "  - group: {by: [any.category], measures: {self: self, "
                                    "total: total, rows: count()}}\n"), want);
        ck_assert_str_eq(run(store, "  - group: {by: [any.category], measures: {self: self, "
                                    "total: sum(weight), rows: count(weight)}}\n"), want);
        fm_store_free(store);
    }
}
END_TEST

static size_t list_of(unsigned mask, char *out, size_t room)
{
    size_t at = 0;

    out[0] = '\0';
    for (int k = 0; k < CATEGORIES; k++) {
        if ((mask >> k) & 1)
            at += (size_t)snprintf(out + at, room - at, "%s%s", at > 0 ? "," : "", category[k]);
    }
    return at;
}

/* leaf.category is the list; a test is membership; keep and level use it. */
START_TEST(lists_and_tests)
{
    for (uint64_t s = 1; s <= 200; s++) {
        struct fm_store *store = random_store(1000 + s);
        char steps[256], want[64], line[128], list[64];
        const char *got;
        int k = (int)roll(CATEGORIES);
        long leaf = 0, lacks = 0, has = 0, kept = 0;
        for (int r = 0; r < ROWS; r++) {
            unsigned own, any = on_stack(&row[r], &own);
            leaf += (own >> k) & 1 ? row[r].weight : 0;
            /* unknown is not true, also under not */
            lacks += own < 1u << CATEGORIES && !((own >> k) & 1) ? row[r].weight : 0;
            has += (any >> k) & 1 ? row[r].weight : 0;
            kept += row[r].n > 0 ? row[r].weight : 0;
        }
        snprintf(steps, sizeof steps, "  - where: {leaf.category: %s}\n"
                 "  - group: {by: [], measures: [self]}\n", category[k]);
        snprintf(want, sizeof want, leaf > 0 ? "self (ns)\n%ld\n" : "self (ns)\n%.0ld", leaf);
        got = run(store, steps);
        ck_assert_msg(leaf == 0 || strcmp(got, want) == 0, "%s%s", steps, got);
        snprintf(steps, sizeof steps, "  - where: {not: {leaf.category: %s}}\n"
                 "  - group: {by: [], measures: [self]}\n", category[k]);
        snprintf(want, sizeof want, "self (ns)\n%ld\n", lacks);
        got = run(store, steps);
        ck_assert_msg(lacks == 0 || strcmp(got, want) == 0, "%s%s", steps, got);
        snprintf(steps, sizeof steps, "  - group: {by: [], measures: {h: \"sum(weight if "
                 "stack.has(category: %s))\"}}\n", category[k]);
        snprintf(want, sizeof want, "h (ns)\n%ld\n", has);
        got = run(store, steps);
        ck_assert_msg(has == 0 || strcmp(got, want) == 0, "%s%s", steps, got);
        /* the weight of frames that are in no list stays */
        snprintf(steps, sizeof steps, "  - stack: [{level: category}]\n"
                 "  - group: {by: [leaf.function], measures: [self]}\n");
        got = run(store, steps);
        for (unsigned mask = 0; mask < 1u << CATEGORIES; mask++) {
            long sum = 0, rows = 0;
            for (int r = 0; r < ROWS; r++) {
                if (row[r].n > 0 && mask_of(&row[r].f[row[r].n - 1]) == mask) {
                    sum += row[r].weight;
                    rows++;
                }
            }
            list_of(mask, list, sizeof list);
            snprintf(line, sizeof line, strchr(list, ',') != NULL ? "\n\"%s\",%ld\n"
                                                                  : "\n%s,%ld\n",
                     mask == 0 ? "[other]" : list, sum);
            ck_assert_msg((strstr(got, line) != NULL) == (rows > 0), "%s in %s", line, got);
            kept -= sum;
        }
        ck_assert_int_eq(kept, 0);
        fm_store_free(store);
    }
}
END_TEST

/* A dictionary of another name adds to a category, and brings its own. */
START_TEST(dictionaries_add_up)
{
    struct fm_store *store = query_store(ctx, "a;b 1\na;c 2\nd 4\n");

    dictionary("kinds", "foldmill-categories: 1\ncategories:\n  x: {frames: [b]}\n");
    dictionary("more", "foldmill-categories: 1\ncategories:\n  x: {frames: [c]}\n"
                       "  w: {frames: [c, {function: '*', not: {function: [a, b, c]}}]}\n");
    ck_assert_str_eq(run(store, "  - group: {by: [leaf.category], measures: [self]}\n"),
                     "category,self (ns)\nw,4\n\"w,x\",2\nx,1\n");
    ck_assert_str_eq(run(store, "  - group: {by: [any.category], measures: [self, total]}\n"),
                     "category,self (ns),total (ns)\nw,6,6\nx,3,3\n,0,3\n");
    /* equality is membership in expressions, too */
    ck_assert_str_eq(run(store, "  - where: leaf.category == 'x'\n"
                                "  - group: {by: [], measures: {w: \"sum(weight if 'w' != "
                                "leaf.category)\", all: self}}\n"),
                     "w (ns),all (ns)\n1,3\n");
    /* other keys are of the same frame; self of two categories cannot be summed in a rest */
    ck_assert_str_eq(run(store, "  - group: {by: [any.category, any.function], "
                                "measures: [self]}\n"
                                "  - sort: [-self, category]\n"
                                "  - limit: {rows: 2, rest: others}\n"),
                     "category,function,self (ns)\nw,d,4\nw,c,2\nothers,,\n");
    ck_assert_str_eq(run(store, "  - stack: [{drop: {category: x}}]\n"
                                "  - group: {by: [path], measures: [self]}\n"),
                     "path,self (ns)\na,3\nd,4\n");
    fm_store_free(store);
}
END_TEST

/* Frames of linked rows have categories, too. */
START_TEST(categories_of_linked_rows)
{
    static const char *const lines[] = { "a;b 1", "a;c 2", "d 4" };
    struct fm_builder *b;
    struct fm_store *store;

    dictionary("kinds", "foldmill-categories: 1\ncategories:\n  x: {frames: [b, c]}\n"
                        "  y: {frames: [c]}\n");
    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    fm_builder_source(b, "test", "lines");
    for (size_t i = 0; i < FM_COUNT(lines); i++)
        query_row(b, lines[i], strlen(lines[i]));
    fm_builder_link(b, FM_LINK_WAKER, 2, FM_LINK_ROW, 1);
    fm_builder_link(b, FM_LINK_WAKER, 1, FM_LINK_ROW, 0);
    store = query_seal(b);
    ck_assert_str_eq(run(store, "  - group: {by: [waker.leaf.category], measures: [self]}\n"),
                     "category,self (ns)\nx,2\n\"x,y\",4\n,1\n");
    ck_assert_str_eq(run(store, "  - where: {waker.leaf.category: y}\n"
                                "  - group: {by: [path], measures: [self]}\n"),
                     "path,self (ns)\nd,4\n");
    fm_store_free(store);
}
END_TEST

START_TEST(wrong_dictionaries)
{
    static const struct {
        const char *text, *message;
    } table[] = {
        { "categories: {x: {frames: [a]}}\n",
          ":1:1: error: a dictionary is a map with 'foldmill-categories: 1' [FM104]" },
        { "foldmill-categories: 1\ncategories: {X: {frames: [a]}}\n",
          ":2:14: error: 'X' is no name of a category: small letters, digits, '_' and '-' "
          "[FM104]" },
        { "foldmill-categories: 1\ncategories: {x: {frame: [a]}}\n",
          ":2:18: error: unknown key 'frame' (did you mean 'frames'?) [FM102]" },
        { "foldmill-categories: 1\ncategories: {x: {frames: []}}\n",
          ":2:26: error: 'frames' is a list of functions, or of maps such as {module: libc.so*} "
          "[FM104]" },
        { "foldmill-categories: 1\ncategories: {x: {frames: [{functon: a}]}}\n",
          ":2:28: error: unknown condition 'functon' (did you mean 'function'?) [FM102]" },
        { "foldmill-categories: 1\ncategories: {x: {frames: [{kind: kernal}]}}\n",
          ":2:34: error: unknown kind 'kernal' (did you mean 'kernel'?) [FM102]" },
        { "foldmill-categories: 1\ncategories: {x: {frames: ['/(/']}}\n",
          ":2:30: error: bad regular expression: missing closing parenthesis [FM106]" },
        { "foldmill-categories: 1\ncategories: {x: {frames: [{not: {module: m}}]}}\n",
          ":2:27: error: 'not' needs something that it is taken from [FM104]" },
        { "foldmill-categories: 1\ncategories: {x: {frames: [{function: []}]}}\n",
          ":2:38: error: a list of patterns is empty [FM104]" },
    };
    struct fm_store *store = query_store(ctx, "a;b 1\n");
    const char *steps = "  - group: {by: [any.category], measures: [self]}\n";

    for (size_t i = 0; i < FM_COUNT(table); i++) {
        char path[160];
        struct fm_error err = { .status = FM_OK };
        struct fm_out out;
        dictionary("kinds", table[i].text);
        snprintf(path, sizeof path, "%s/queries/categories/kinds.yaml", folder);
        ck_assert_int_eq(fm_out_init(&out, &ctx->mem, NULL), FM_OK);
        ck_assert_int_eq(fm_categories_check(ctx, path, &out, &err), FM_CONFIG);
        fm_out_char(&out, '\0');
        ck_assert_msg(strstr(out.buf, table[i].message) != NULL, "got %s", out.buf);
        fm_out_release(&out);
        /* and a query that needs it says the same */
        ck_assert_ptr_null(query_run(ctx, store, query_of(steps), NULL, "csv"));
        ck_assert_int_eq(query_status(), FM_CONFIG);
        ck_assert_msg(strstr(query_messages(), table[i].message) != NULL, "got %s",
                      query_messages());
    }
    dictionary("kinds", "foldmill-categories: 1\ncategories: {lock: {frames: [a]}}\n");
    ck_assert_ptr_null(query_run(ctx, store, query_of(
        "  - where: {leaf.category: [lok, l*, lock]}\n"
        "  - group: {by: [path], measures: [self]}\n"), NULL, "csv"));
    ck_assert_msg(strncmp(query_messages(), "q.yaml:5:29: error: unknown category 'lok' (did you "
                          "mean 'lock'?) [FM102]\n", 74) == 0, "%s", query_messages());
    fm_store_free(store);
}
END_TEST

START_TEST(no_dictionary)
{
    struct fm_store *store = query_store(ctx, "a;b 1\n");
    struct fm_select_options o = FM_INIT(o);

    ck_assert_ptr_null(query_run(ctx, store, query_of(
        "  - group: {by: [any.category], measures: [self]}\n"), NULL, "csv"));
    ck_assert_str_eq(query_messages(), "q.yaml: error: no dictionary of categories on the "
                                       "data path (queries/categories/NAME.yaml) [FM100]\n");
    /* queries that do not ask need none */
    ck_assert_ptr_nonnull(query_run(ctx, store, query_of(
        "  - group: {by: [any.kind], measures: [self]}\n"), NULL, "csv"));
    /* neither do options, which are refused the same way */
    o.filter = (const char *const[]){ "leaf.category=x" };
    o.filters = 1;
    ck_assert_ptr_null(query_run_with(ctx, store, query_of(
        "  - group: {by: [path], measures: [self]}\n"), NULL, "csv", &o));
    ck_assert_int_eq(query_status(), FM_CONFIG);
    fm_store_free(store);
}
END_TEST

/* What is shipped, on names as programs have them. */
START_TEST(shipped_dictionaries)
{
    static const struct {
        const char *frame, *categories;
    } table[] = {
        { "malloc@/usr/lib/libc.so.6", "alloc" },
        { "_int_malloc@/usr/lib/libc.so.6", "alloc" },
        { "operator-new@app", "" },
        { "je_arena_ralloc@app", "alloc" },
        { "extent_recycle@/usr/lib/libjemalloc.so.2", "alloc" },
        { "extent_recycle@app", "" },
        { "__memmove_avx_unaligned_erms@/usr/lib/libc.so.6", "memcpy" },
        { "main@app", "" },
        { "Interpreter", "interpreter" },
        { "read@/usr/lib/libc.so.6", "io" },
        { "read kind=jit", "" },
        { "epoll_wait@/usr/lib/libc.so.6", "net" },
        { "__lll_lock_wait@/usr/lib/libc.so.6", "lock" },
        { "tcp_sendmsg@[kernel.kallsyms] kind=kernel", "kernel,net" },
        { "tcp_sendmsg@app", "" },
        { "native_queued_spin_lock_slowpath@[kernel.kallsyms] kind=kernel", "kernel,lock" },
        { "clear_page_erms@[kernel.kallsyms] kind=kernel", "alloc,kernel" },
        { "finish_task_switch@[kernel.kallsyms] kind=kernel", "kernel,sched" },
        { "handle_mm_fault@[kernel.kallsyms] kind=kernel", "kernel,pagefault" },
        { "ext4_file_write_iter@[ext4] kind=kernel", "io,kernel" },
        { "do_syscall_64@[kernel.kallsyms] kind=kernel", "kernel,syscall" },
        { "G1ParEvacuateFollowersClosure::do_void@/jdk/lib/server/libjvm.so", "gc" },
        { "G1CollectedHeap::attempt_allocation_slow@/jdk/lib/server/libjvm.so", "alloc" },
        { "G1Chess::move@app", "" },
        { "PhaseChaitin::Split@/jdk/lib/server/libjvm.so", "jit" },
        { "ObjectMonitor::enter@/jdk/lib/server/libjvm.so", "lock" },
        { "java/util/zip/Inflater.inflate kind=jit", "compression" },
        { "java/util/concurrent/locks/ReentrantLock.lock kind=jit", "lock" },
        { "com/fasterxml/jackson/core/json/UTF8StreamJsonParser.nextToken kind=jit",
          "serialisation" },
        { "jbyte_disjoint_arraycopy_avx3 kind=jit", "memcpy" },
        { "runtime.mallocgc", "alloc" },
        { "runtime.scanobject", "gc" },
        { "runtime.gcBgMarkWorker.func2", "gc" },
        { "runtime.memmove", "memcpy" },
        { "runtime.findRunnable", "sched" },
        { "sync.(*Mutex).lockSlow", "lock" },
        { "crypto/tls.(*Conn).Read", "crypto" },
        { "encoding/json.(*decodeState).object", "serialisation" },
        { "compress/flate.(*compressor).deflate", "compression" },
        { "net/http.(*conn).serve", "net" },
        { "inflate_fast@/usr/lib/libz.so.1.2.13", "compression" },
        { "EVP_EncryptUpdate@/usr/lib/libcrypto.so.3", "crypto" },
        { "ZSTD_decompressBlock_internal@app", "compression" },
        { "_PyEval_EvalFrameDefault@/usr/bin/python3.11", "interpreter" },
        { "PyObject_Malloc@/usr/bin/python3.11", "alloc" },
        { "gc_collect_main@/usr/bin/python3.11", "gc" },
        { "take_gil@/usr/bin/python3.11", "lock" },
        { "v8::internal::Scavenger::Process@/usr/bin/node", "gc" },
        { "Builtins_JsonParse@/usr/bin/node", "serialisation" },
        { "serde_json::de::from_slice@app", "serialisation" },
        { "__rust_alloc@app", "alloc" },
        { "_Unwind_RaiseException@/usr/lib/libgcc_s.so.1", "exception" },
        { "do_lookup_x@/usr/lib/ld-linux-x86-64.so.2", "classload" },
        { "bn_fw_inf_1C11_kernel", "" },
        { "pcre2_match_8@/usr/lib/libpcre2-8.so.0", "regex" },
        { "crc32_z@app", "checksum" },
    };
    struct fm_ctx *own;

    setenv("FOLDMILL_PATH", shipped, 1);
    own = fm_ctx_new();
    ck_assert_ptr_nonnull(own);
    for (size_t i = 0; i < FM_COUNT(table); i++) {
        char line[256], want[128];
        size_t n = strcspn(table[i].frame, " ");
        bool several = strchr(table[i].categories, ',') != NULL;
        struct fm_store *store;
        const char *got;
        snprintf(line, sizeof line, "%.*s 1%s\n", (int)n, table[i].frame, table[i].frame + n);
        snprintf(want, sizeof want, several ? "category,self (ns)\n\"%s\",1\n"
                                            : "category,self (ns)\n%s,1\n", table[i].categories);
        store = query_store(own, line);
        got = query_run(own, store, query_of(
            "  - group: {by: [leaf.category], measures: [self]}\n"), NULL, "csv");
        ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
        ck_assert_msg(strcmp(got, want) == 0, "%s: %s", table[i].frame, got);
        fm_store_free(store);
    }
    fm_ctx_free(own);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("query_category");
    TCase *t = tcase_create("query_category");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, counted_once_each);
    tcase_add_test(t, lists_and_tests);
    tcase_add_test(t, dictionaries_add_up);
    tcase_add_test(t, categories_of_linked_rows);
    tcase_add_test(t, wrong_dictionaries);
    tcase_add_test(t, no_dictionary);
    tcase_add_test(t, shipped_dictionaries);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
