/*
 * Self, total and stack edits against brute force: random stacks with recursion are edited as
 * arrays of letters and counted with sets, and every query must give the same table. The sum of
 * self over the groups is the selected weight for every edit that drops no stacks.
 */
#include "query_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS 400
#define DEPTH 14
#define NONE '['                  /* stands for the frame "[none]" */

struct stack {
    char f[DEPTH + 1];            /* letters root first */
    int n;
    int weight, count;
    bool gone;
};

static struct fm_ctx *ctx;
static struct stack raw[ROWS], now[ROWS];
static uint64_t seed;
static char text[1 << 18];

static uint32_t roll(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 20) % n;
}

static void setup(void)
{
    ctx = fm_ctx_new();
    ck_assert_ptr_nonnull(ctx);
}

static void teardown(void)
{
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), 0);
    fm_ctx_free(ctx);
}

/* Frames are letters a … h; letter x lies in module "m" + x % 3. */
static struct fm_store *random_store(uint64_t s, uint32_t letters)
{
    size_t at = 0;

    seed = s * 0x9e3779b97f4a7c15u + 1;
    for (int r = 0; r < ROWS; r++) {
        struct stack *k = &raw[r];
        memset(k, 0, sizeof *k);
        k->n = roll(20) == 0 ? 0 : 1 + (int)roll(DEPTH);
        k->weight = (int)roll(100);
        k->count = roll(4) == 0 ? (int)roll(5) : 1;
        for (int i = 0; i < k->n; i++) {
            /* neighbours repeat often: recursion in all forms */
            k->f[i] = i > 0 && roll(3) == 0 ? k->f[roll((uint32_t)i)] : (char)('a' + roll(letters));
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%c@m%d", i == 0 ? "" : ";",
                                   k->f[i], k->f[i] % 3);
        }
        at += (size_t)snprintf(text + at, sizeof text - at, "%s %d count=%d\n",
                               k->n == 0 ? "-" : "", k->weight, k->count);
    }
    return query_store(ctx, text);
}

/* ------------------------------------------------------------- brute force */

struct edit {
    const char *yaml;
    void (*apply)(struct stack *s, const char *set);
    const char *set;
    bool drops;
};

static bool in(const char *set, char f)
{
    return strchr(set, f) != NULL;
}

static void filter(struct stack *s, const char *set, bool keep)
{
    int n = 0;

    if (s->n == 0)
        return;
    for (int i = 0; i < s->n; i++) {
        if (in(set, s->f[i]) == keep)
            s->f[n++] = s->f[i];
    }
    if (n == 0)
        s->f[n++] = NONE;
    s->n = n;
}

static void keep(struct stack *s, const char *set)
{
    filter(s, set, true);
}

static void drop(struct stack *s, const char *set)
{
    filter(s, set, false);
}

static void drop_empty(struct stack *s, const char *set)
{
    bool was = s->n == 1 && s->f[0] == NONE;   /* a frame like others by now */

    filter(s, set, false);
    s->gone |= !was && s->n == 1 && s->f[0] == NONE;
}

static int first_match(const struct stack *s, const char *set)
{
    for (int i = 0; i < s->n; i++) {
        if (in(set, s->f[i]))
            return i;
    }
    return -1;
}

static int last_match(const struct stack *s, const char *set)
{
    for (int i = s->n; i-- > 0;) {
        if (in(set, s->f[i]))
            return i;
    }
    return -1;
}

static void cut_front(struct stack *s, int at)
{
    memmove(s->f, s->f + at, (size_t)(s->n - at));
    s->n -= at;
}

static void root_drop(struct stack *s, const char *set)
{
    int at = first_match(s, set);

    if (at < 0)
        s->gone = true;
    else
        cut_front(s, at);
}

static void root_keep(struct stack *s, const char *set)
{
    int at = first_match(s, set);

    cut_front(s, at < 0 ? 0 : at);
}

static void root_inner(struct stack *s, const char *set)
{
    int at = last_match(s, set);

    cut_front(s, at < 0 ? 0 : at);
}

static void leaf_inner(struct stack *s, const char *set)
{
    int at = last_match(s, set);

    s->n = at < 0 ? s->n : at + 1;
}

static void leaf_outer(struct stack *s, const char *set)
{
    int at = first_match(s, set);

    s->n = at < 0 ? s->n : at + 1;
}

static void leaf_drop(struct stack *s, const char *set)
{
    s->gone |= first_match(s, set) < 0;
    leaf_inner(s, set);
}

static void direct(struct stack *s, const char *set)
{
    int n = 0;

    (void)set;
    for (int i = 0; i < s->n; i++) {
        if (n == 0 || s->f[n - 1] != s->f[i])
            s->f[n++] = s->f[i];
    }
    s->n = n;
}

/* From the first A to the last A -> A, from the root on. */
static void all(struct stack *s, const char *set)
{
    int n = 0;

    for (int i = 0; i < s->n; n++) {
        char f = s->f[i];
        for (int k = s->n - 1; k > i && in(set, f); k--) {
            if (s->f[k] == f)
                i = k;
        }
        s->f[n] = f;
        i++;
    }
    s->n = n;
}

static void run(struct stack *s, const char *set)
{
    struct stack old = *s;
    int n = 0;

    for (int i = 0; i < old.n; i++) {
        if (!in(set, old.f[i]))
            s->f[n++] = old.f[i];
        else if (i == 0 || !in(set, old.f[i - 1]))
            s->f[n++] = 'z';
    }
    s->n = n;
}

static const struct edit edit[] = {
    { "keep: [a, c, e]", keep, "ace", false },
    { "drop: [a, b]", drop, "ab", false },
    { "drop: {module: m1}", drop, "adg", false },
    { "drop: none", keep, "abcdefghz[", false },
    { "drop: [a, b, c]\n        empty: drop", drop_empty, "abc", true },
    { "root: b", root_drop, "b", true },
    { "root: [b, c]\n        missing: keep", root_keep, "bc", false },
    { "root: [b, c]\n        at: innermost\n        missing: keep", root_inner, "bc", false },
    { "leaf: [a, d]", leaf_inner, "ad", false },
    { "leaf: [a, d]\n        at: outermost", leaf_outer, "ad", false },
    { "leaf: a\n        missing: drop", leaf_drop, "a", true },
    { "collapse: {recursion: direct}", direct, "", false },
    { "collapse: {recursion: all}", all, "abcdefghz[", false },
    { "collapse: {recursion: all, of: [a, c]}", all, "ac", false },
    { "collapse: {run: [b, c, d], as: z}", run, "bcd", false },
    { "level: function", keep, "abcdefghz[", false }
};

static int compare_letters(const void *a, const void *b)
{
    return *(const char *)a - *(const char *)b;
}

static size_t name_of(char f, char *out, size_t room)
{
    return (size_t)snprintf(out, room, f == NONE ? "[none]" : "%c", f);
}

/* any.function: self, total, samples, count() of `now` as CSV. */
static void brute_any(char *out, size_t room, long *sum)
{
    static const char letter[] = "[abcdefghz";
    size_t at = (size_t)snprintf(out, room, "function,self (ns),total (ns),samples,rows\n");

    *sum = 0;
    for (size_t k = 0; k < sizeof letter; k++) {
        long self = 0, total = 0, samples = 0, rows = 0;
        for (int r = 0; r < ROWS; r++) {
            const struct stack *s = &now[r];
            bool none = letter[k] == '\0' && s->n == 0;
            if (s->gone || (!none && memchr(s->f, letter[k], (size_t)s->n) == NULL))
                continue;
            total += s->weight;
            samples += s->count;
            rows++;
            if (none || s->f[s->n - 1] == letter[k])
                self += s->weight;
        }
        if (rows == 0)
            continue;
        if (letter[k] != '\0')
            at += name_of(letter[k], out + at, room - at);
        at += (size_t)snprintf(out + at, room - at, ",%ld,%ld,%ld,%ld\n", self, total, samples,
                               rows);
        *sum += self;
    }
}

static int compare_stacks(const void *a, const void *b)
{
    const struct stack *x = *(struct stack *const *)a, *y = *(struct stack *const *)b;

    if ((x->n == 0) != (y->n == 0))
        return x->n == 0 ? 1 : -1;         /* no path is last */
    for (int i = 0; i < x->n && i < y->n; i++) {
        if (x->f[i] != y->f[i])
            return compare_letters(&x->f[i], &y->f[i]);
    }
    return x->n - y->n;
}

static void brute_path(char *out, size_t room)
{
    struct stack *order[ROWS];
    size_t at = (size_t)snprintf(out, room, "path,self (ns),samples\n"), n = 0;

    for (int r = 0; r < ROWS; r++) {
        if (!now[r].gone)
            order[n++] = &now[r];
    }
    qsort(order, n, sizeof *order, compare_stacks);
    for (size_t i = 0; i < n;) {
        const struct stack *s = order[i];
        long self = 0, samples = 0;
        for (; i < n && compare_stacks(&order[i], &s) == 0; i++) {
            self += order[i]->weight;
            samples += order[i]->count;
        }
        for (int k = 0; k < s->n; k++) {
            if (k > 0)
                out[at++] = ';';
            at += name_of(s->f[k], out + at, room - at);
        }
        at += (size_t)snprintf(out + at, room - at, ",%ld,%ld\n", self, samples);
    }
}

/* ------------------------------------------------------------------- tests */

static void same(struct fm_store *store, const char *edits, const char *group, const char *want)
{
    char steps[2048];
    const char *got;

    snprintf(steps, sizeof steps, "%s%s  - group: %s\n", edits[0] != '\0' ? "  - stack:\n" : "",
             edits, group);
    got = query_run(ctx, store, query_of(steps), NULL, "csv");
    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    ck_assert_msg(strcmp(got, want) == 0, "edits:\n%sgot:\n%swanted:\n%s", edits, got, want);
}

static void check_edits(struct fm_store *store, const struct edit *const *chain, size_t n)
{
    static char want[1 << 17];
    char edits[1024] = "";
    size_t at = 0;
    long sum, selected = 0;
    bool drops = false;

    memcpy(now, raw, sizeof now);
    for (size_t e = 0; e < n; e++) {
        at += (size_t)snprintf(edits + at, sizeof edits - at, "      - %s\n", chain[e]->yaml);
        for (int r = 0; r < ROWS; r++) {
            if (!now[r].gone)
                chain[e]->apply(&now[r], chain[e]->set);
        }
        drops |= chain[e]->drops;
    }
    for (int r = 0; r < ROWS; r++)
        selected += now[r].gone ? 0 : now[r].weight;
    brute_any(want, sizeof want, &sum);
    ck_assert_int_eq(sum, selected);
    /* by subtree sums, and, because distinct() needs the groups of each row, by ancestors */
    same(store, edits,
         "{by: [any.function], measures: {self: self, total: total, samples: samples, "
         "rows: count()}}", want);
    same(store, edits,
         "{by: [any.function], measures: {self: self, total: sum(weight), samples: sum(count), "
         "rows: count(weight)}}", want);
    brute_path(want, sizeof want);
    same(store, edits, "{by: [path], measures: [self, samples]}", want);
    snprintf(want, sizeof want, "self (ns),of (ns)\n%ld,%ld\n", selected, selected);
    if (!drops)
        same(store, edits, "{by: [], measures: {self: self, of: total}}", want);
}

START_TEST(no_edit)
{
    for (uint64_t s = 1; s <= 20; s++) {
        struct fm_store *store = random_store(s, 1 + s % 8);
        check_edits(store, NULL, 0);
        fm_store_free(store);
    }
}
END_TEST

START_TEST(each_edit)
{
    for (uint64_t s = 1; s <= 8; s++) {
        struct fm_store *store = random_store(100 + s, 3 + s % 6);
        for (size_t e = 0; e < FM_COUNT(edit); e++) {
            const struct edit *one = &edit[e];
            check_edits(store, &one, 1);
        }
        fm_store_free(store);
    }
}
END_TEST

START_TEST(chains_of_edits)
{
    struct fm_store *store = random_store(7777, 8);
    uint64_t state = 99;

    for (int k = 0; k < 60; k++) {
        const struct edit *chain[3];
        seed = state;
        for (int e = 0; e < 3; e++)
            chain[e] = &edit[roll(FM_COUNT(edit))];
        state = seed;
        check_edits(store, chain, 3);
    }
    fm_store_free(store);
}
END_TEST

/* The same row keys beside any.X: groups of each cpu are those of its rows alone. */
START_TEST(row_keys_beside_any_keys)
{
    struct fm_store *store = random_store(4242, 6);
    const char *group = "  - group: {by: [{w: weight % 3}, any.function], "
                        "measures: [self, total]}\n";
    const char *got = query_run(ctx, store, query_of(group), NULL, "csv");
    char *copy = got == NULL ? NULL : strdup(got);

    ck_assert_msg(copy != NULL, "%s", query_messages());
    for (int k = 0; k < 3; k++) {
        char steps[256], line[128];
        long sum = 0;
        snprintf(steps, sizeof steps, "  - where: weight %% 3 == %d\n"
                 "  - group: {by: [any.function], measures: [self, total]}\n", k);
        got = query_run(ctx, store, query_of(steps), NULL, "csv");
        ck_assert_ptr_nonnull(got);
        for (got = strchr(got, '\n') + 1; *got != '\0'; got = strchr(got, '\n') + 1) {
            snprintf(line, sizeof line, "\n%d,%.*s\n", k, (int)strcspn(got, "\n"), got);
            ck_assert_msg(strstr(copy, line) != NULL, "%s", line);
            sum++;
        }
        ck_assert_int_gt(sum, 3);
    }
    free(copy);
    fm_store_free(store);
}
END_TEST

START_TEST(levels)
{
    static const char lines[] = "a@m@f.c:1;b@m@f.c:2;c@n@g.c:3 1\na@m@f.c:1;b@m@f.c:9 2\n"
                                "d@m 4\n";
    struct fm_store *store = query_store(ctx, lines);

    same(store, "      - level: module\n", "{by: [path], measures: [self]}",
         "path,self (ns)\nm,4\nm;m,2\nm;m;n,1\n");
    same(store, "      - level: file\n      - collapse: {recursion: direct}\n",
         "{by: [path], measures: [self]}", "path,self (ns)\nd,4\nf.c,2\nf.c;g.c,1\n");
    same(store, "      - level: line\n", "{by: [leaf.function, leaf.line], measures: [self]}",
         "function,line,self (ns)\nb (f.c:9),9,2\nc (g.c:3),3,1\nd,,4\n");
    same(store, "      - level: function\n", "{by: [any.function, any.module, any.line], "
         "measures: [total]}",
         "function,module,line,total (ns)\na,m,,3\nb,m,,3\nc,n,,1\nd,m,,4\n");
    same(store, "", "{by: [any.file, any.line], measures: [total]}",
         "file,line,total (ns)\nf.c,1,3\nf.c,2,1\nf.c,9,2\ng.c,3,1\n,,4\n");
    fm_store_free(store);
}
END_TEST

/* Shares of `selected` count the stacks that a root edit drops; those of `all` everything. */
START_TEST(shares_have_their_base)
{
    struct fm_store *store = query_store(ctx, "a;b 1 cpu=0\nb 2 cpu=0\nc 5 cpu=0\nd 8 cpu=1\n");
    const char *got = query_run(ctx, store, query_of(
        "  - where: {cpu: 0}\n"
        "  - stack:\n      - root: b\n"
        "  - group: {by: [path], measures: {s: self, of: self_share, a: \"share(self, all)\"}}\n"),
        NULL, "csv");

    ck_assert_msg(got != NULL, "%s%s", query_error(), query_messages());
    ck_assert_str_eq(got, "path,s (ns),of,a\nb,3,0.375,0.1875\n");
    fm_store_free(store);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("query_tree");
    TCase *t = tcase_create("query_tree");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, no_edit);
    tcase_add_test(t, each_edit);
    tcase_add_test(t, chains_of_edits);
    tcase_add_test(t, row_keys_beside_any_keys);
    tcase_add_test(t, levels);
    tcase_add_test(t, shares_have_their_base);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
