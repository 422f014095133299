/*
 * test_chrome_span.c - spans of Chrome traces: the instantaneous stack, against tables made by hand
 * and against a plain evaluation at every border.
 */
#include "chrome_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static struct fm_ctx *ctx;
static size_t held;

static void setup(void)
{
    ctx = fm_ctx_new();
    fm_ctx_data_dir(ctx, 0);
    held = atomic_load(&ctx->mem.used);
}

static void teardown(void)
{
    ck_assert_uint_eq(atomic_load(&ctx->mem.used), held);
    fm_ctx_free(ctx);
}

/* ------------------------------------------------------------------ tables */

/* Short for events: "X a 0 10" (dur), "X a 0 -" (none), "B a 0", "E a 3", "E - 3" (no name). */
static size_t write_events(const char *const *line, size_t lines, char *json, size_t cap)
{
    size_t n = (size_t)snprintf(json, cap, "[");
    for (size_t i = 0; i < lines; i++) {
        char ph, name[32], ts[32], dur[32] = "-";
        ck_assert_int_ge(sscanf(line[i], "%c %31s %31s %31s", &ph, name, ts, dur), 3);
        n += (size_t)snprintf(json + n, cap - n, "%s{\"ph\":\"%c\",\"pid\":1,\"tid\":2,\"ts\":%s",
                              i ? ",\n" : "", ph, ts);
        if (strcmp(name, "-") != 0)
            n += (size_t)snprintf(json + n, cap - n, ",\"name\":\"%s\"", name);
        if (strcmp(dur, "-") != 0)
            n += (size_t)snprintf(json + n, cap - n, ",\"dur\":%s", dur);
        n += (size_t)snprintf(json + n, cap - n, "}");
    }
    return n + (size_t)snprintf(json + n, cap - n, "]");
}

struct table {
    const char *why;
    const char *event[8];
    const char *want;              /* folded, in ns, without process and thread */
    const char *finding;           /* and how often */
    uint64_t count;
};

static const struct table tables[] = {
    {"nested", {"X a 0 10", "X b 2 3"}, "a 7000\na;b 3000\n", NULL, 0},
    {"the child is written first", {"X b 2 3", "X a 0 10"}, "a 7000\na;b 3000\n", NULL, 0},
    {"the same start: the longer one is outside", {"X b 0 3", "X a 0 10"},
     "a 7000\na;b 3000\n", NULL, 0},
    {"equal spans: the earlier one is outside", {"X b 0 3", "X a 0 3"}, "b;a 3000\n", NULL, 0},
    {"partial overlap", {"X a 0.1 0.1", "X b 0.15 0.1"}, "a 50\na;b 50\nb 50\n", "span-overlap",
     1},
    {"three of them", {"X a 0 10", "X b 5 10", "X c 6 10"},
     "a 5000\na;b 1000\na;b;c 4000\nb;c 5000\nc 1000\n", "span-overlap", 2},
    {"an inner one outlives two", {"X a 0 10", "X b 1 5", "X c 2 20"},
     "a 1000\na;b 1000\na;b;c 4000\na;c 4000\nc 12000\n", "span-overlap", 1},
    {"no time, no line", {"X a 0 10", "X b 5 0"}, "a 10000\n", NULL, 0},
    {"B and E", {"B a 0", "B b 1", "E b 3", "E a 4"}, "a 2000\na;b 2000\n", NULL, 0},
    {"E without a name closes the top", {"B a 0", "B b 1", "E - 3", "E - 4"},
     "a 2000\na;b 2000\n", NULL, 0},
    {"B without a name is closed by any", {"B a 0", "B - 1", "E x 3", "E a 4"},
     "a 2000\na;(unnamed) 2000\n", NULL, 0},
    {"E below the top", {"B a 0", "B b 1", "E a 9", "E b 10"}, "a 1000\na;b 8000\nb 1000\n",
     "end-not-on-top", 1},
    {"E of nothing", {"B a 0", "E b 1", "E a 4"}, "a 4000\n", "end-without-begin", 1},
    {"E before its B at the same time", {"E a 2", "B a 2", "B b 2", "E b 5"}, "b 3000\n", NULL,
     0},
    {"out of order", {"E a 10", "B b 2", "B a 0", "E b 4"}, "a 8000\na;b 2000\n", NULL, 0},
    {"an older E after one that closed its B", {"B a 0", "E a 10", "E a 5"}, "a 5000\n",
     "end-without-begin", 1},
    {"an older B and E after pairs", {"B a 0", "B b 4", "E b 8", "E a 10", "B b 2", "E b 6"},
     "a 4000\na;b 4000\na;b;b 2000\n", NULL, 0},
    {"an overlap between spans that nest", {"X a 0 10", "X b 2 3", "X c 20 10", "X d 22 1",
                                             "X e 25 10", "X f 26 1", "X g 40 5", "X h 41 1"},
     "a 7000\na;b 3000\nc 4000\nc;d 1000\nc;e 4000\nc;e;f 1000\ne 5000\ng 4000\ng;h 1000\n",
     "span-overlap", 1},
    {"equal times keep their order", {"B a 0", "B b 0", "E b 5", "E a 5"}, "a;b 5000\n", NULL, 0},
    {"recursion", {"B a 0", "B a 1", "E a 2", "E a 4"}, "a 3000\na;a 1000\n", NULL, 0},
    {"B left open ends with what is around it", {"X m 0 10", "B a 2", "X b 3 1", "X t 12 8"},
     "m 2000\nm;a 7000\nm;a;b 1000\nt 8000\n", "span-unfinished", 1},
    {"or with the trace", {"B a 2", "X b 3 1", "X t 20 8"}, "a 17000\na;b 1000\na;t 8000\n",
     "span-unfinished", 1},
    {"X without a duration", {"X a 2 -", "X b 3 4"}, "a 1000\na;b 4000\n", "span-without-dur", 1},
    {"halves of ns", {"X a 0.0005 1", "X b 2 0.0004", "X c 3 0.0005"}, "a 1000\nc 1\n", NULL, 0},
    {"the sum is rounded, not its parts", {"X a 1732107143473442.5694 0.0004",
                                            "X b 1732107143473442.5698 0.9994"},
     "a 1\nb 999\n", NULL, 0},
    {"negative times", {"X a -33000 33001", "X b -1 1"}, "a 33000000\na;b 1000\n", NULL, 0},
    {"a negative duration is none", {"X a 5 -3", "X b 5 1"}, "b 1000\n", "negative-dur", 1},
    {"strings", {"X a \"0\" \"10\"", "X b \"1e0\" \"+3.0\""}, "a 7000\na;b 3000\n", NULL, 0},
    {"neither a number", {"X a \"100a\" 1", "X b 1 1"}, "b 1000\n", "event-without-ts", 1},
};

START_TEST(test_table)
{
    const struct table *t = &tables[_i];
    char json[2048], want[1024];
    size_t lines = 0, n = 0;
    while (lines < FM_COUNT(t->event) && t->event[lines])
        lines++;
    for (const char *s = t->want; *s; s = strchr(s, '\n') + 1)
        n += (size_t)snprintf(want + n, sizeof want - n, "pid 1;tid 2;%.*s\n",
                              (int)(strchr(s, '\n') - s), s);
    size_t bytes = write_events(t->event, lines, json, sizeof json);
    struct fm_store *store = chrome_read(ctx, json, bytes, NULL, FM_OK);
    char *got = chrome_folded(ctx, store, "spans");
    ck_assert_msg(strcmp(got, want) == 0, "%s: got\n%swant\n%s", t->why, got, want);
    if (t->finding)
        ck_assert_msg(chrome_finding(store, t->finding) == t->count, "%s: %s", t->why,
                      t->finding);
    free(got);
    fm_store_free(store);
}
END_TEST

/* ------------------------------------------------------------------ plain evaluation */

#define SPANS 24

struct event {
    char ph;
    int name;                      /* 0: none */
    int64_t ts, dur;               /* tenths; dur -1: none */
};

struct interval {
    int64_t start, end;            /* ns */
    int name, order;
    bool open;
};

static int64_t rounded(int64_t tenths)
{
    return (tenths + 5) / 10;      /* never negative here */
}

/* By the text of the rules: each E looks through the open list from its top. */
static size_t intervals_of(const struct event *e, size_t n, struct interval *out)
{
    size_t order[SPANS], open[SPANS], opens = 0, found = 0, place[SPANS];
    bool claimed[SPANS] = {false};
    int64_t last = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = i;
        for (; k > 0 && e[order[k - 1]].ts > e[i].ts; k--)
            order[k] = order[k - 1];
        order[k] = i;
        last = FM_MAX(last, rounded(e[i].ts + (e[i].dur > 0 ? e[i].dur : 0)));
    }
    for (size_t k = 0; k < n; k++) {
        const struct event *v = &e[order[k]];
        if (v->ph == 'X') {
            out[found++] = (struct interval){rounded(v->ts), rounded(v->ts + v->dur), v->name,
                                             (int)order[k], v->dur < 0};
            continue;
        }
        if (v->ph == 'B') {
            place[order[k]] = found;
            out[found++] = (struct interval){rounded(v->ts), rounded(v->ts), v->name,
                                             (int)order[k], !claimed[order[k]]};
            if (!claimed[order[k]])
                open[opens++] = order[k];
            continue;
        }
        size_t at = opens;
        while (at > 0 && v->name && e[open[at - 1]].name && e[open[at - 1]].name != v->name)
            at--;
        if (at > 0) {
            struct interval *b = &out[place[open[at - 1]]];
            b->end = rounded(v->ts);
            b->open = false;
            memmove(open + at - 1, open + at, (opens - at) * sizeof *open);
            opens--;
            continue;
        }
        for (size_t m = k + 1; v->name && m < n && e[order[m]].ts == v->ts; m++) {
            const struct event *b = &e[order[m]];
            if (b->ph == 'B' && b->name == v->name && !claimed[order[m]]) {
                claimed[order[m]] = true;
                break;
            }
        }
    }
    for (size_t i = 0; i < found; i++) {
        if (!out[i].open)
            continue;
        int64_t end = INT64_MAX;
        for (size_t k = 0; k < found; k++)
            if (!out[k].open && out[k].start <= out[i].start && out[i].start < out[k].end)
                end = FM_MIN(end, out[k].end);
        out[i].end = FM_MAX(end == INT64_MAX ? last : end, out[i].start);
    }
    return found;
}

struct line {
    char path[SPANS * 12 + 32];
    int64_t ns;
};

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct line *)a)->path, ((const struct line *)b)->path);
}

static bool outside(const struct interval *a, const struct interval *b)
{
    if (a->start != b->start)
        return a->start < b->start;
    return a->end != b->end ? a->end > b->end : a->order < b->order;
}

/* The stack between two borders. */
static void path_at(const struct interval *v, size_t n, int64_t t, char *path, size_t cap)
{
    size_t on[SPANS], depth = 0, at = (size_t)snprintf(path, cap, "pid 1;tid 2");
    for (size_t i = 0; i < n; i++) {
        if (v[i].start > t || v[i].end <= t)
            continue;
        size_t k = depth++;
        for (; k > 0 && outside(&v[i], &v[on[k - 1]]); k--)
            on[k] = on[k - 1];
        on[k] = i;
    }
    for (size_t k = 0; k < depth; k++) {
        if (v[on[k]].name)
            at += (size_t)snprintf(path + at, cap - at, ";%c", 'a' + v[on[k]].name - 1);
        else
            at += (size_t)snprintf(path + at, cap - at, ";(unnamed)");
    }
    if (depth == 0)
        path[0] = '\0';
}

static size_t plain(const struct event *e, size_t n, struct line *line)
{
    struct interval v[SPANS];
    int64_t border[2 * SPANS];
    size_t found = intervals_of(e, n, v), borders = 0, lines = 0;
    for (size_t i = 0; i < 2 * found; i++) {
        int64_t t = i % 2 ? v[i / 2].end : v[i / 2].start;
        size_t k = borders++;
        for (; k > 0 && border[k - 1] > t; k--)
            border[k] = border[k - 1];
        border[k] = t;
    }
    for (size_t i = 0; i + 1 < borders; i++) {
        struct line one = {.ns = border[i + 1] - border[i]};
        path_at(v, found, border[i], one.path, sizeof one.path);
        size_t k = 0;
        while (k < lines && strcmp(line[k].path, one.path) != 0)
            k++;
        if (one.ns == 0 || one.path[0] == '\0')
            continue;
        if (k == lines)
            line[lines++] = one;
        else
            line[k].ns += one.ns;
    }
    qsort(line, lines, sizeof *line, by_path);
    return lines;
}

static uint64_t state = 88172645463325252u;

static unsigned any(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 20) % n);
}

static size_t make_events(struct event *e, unsigned kinds)
{
    size_t n = 1 + any(SPANS - 1);
    unsigned range = 5 + any(200);
    for (size_t i = 0; i < n; i++) {
        unsigned kind = any(kinds);
        e[i] = (struct event){kind < 2 ? 'X' : kind == 2 ? 'B' : 'E', (int)any(4), any(range),
                              any(range)};
        if (any(12) == 0)
            e[i].dur = -1;
        if (e[i].ph != 'X')
            e[i].dur = -1;
        if (e[i].name == 0 && any(3))
            e[i].name = 1;
    }
    return n;
}

static size_t put_json(const struct event *e, size_t n, char *json, size_t cap)
{
    size_t at = (size_t)snprintf(json, cap, "{\"traceEvents\":[");
    for (size_t i = 0; i < n; i++) {
        at += (size_t)snprintf(json + at, cap - at, "%s{\"ts\":0.%04d,\"tid\":2", i ? "," : "",
                               (int)e[i].ts);
        if (e[i].name)
            at += (size_t)snprintf(json + at, cap - at, ",\"name\":\"%c\"", 'a' + e[i].name - 1);
        if (e[i].dur >= 0)
            at += (size_t)snprintf(json + at, cap - at, ",\"dur\":0.%04d", (int)e[i].dur);
        at += (size_t)snprintf(json + at, cap - at, ",\"ph\":\"%c\",\"pid\":1}", e[i].ph);
    }
    return at + (size_t)snprintf(json + at, cap - at, "]}");
}

START_TEST(test_plain)
{
    static struct line line[2 * SPANS];
    static char json[SPANS * 100], want[sizeof line];
    struct event e[SPANS];
    for (int round = 0; round < 1500; round++) {
        size_t n = make_events(e, 2 + 2 * (unsigned)_i), lines = plain(e, n, line), at = 0;
        for (size_t i = 0; i < lines; i++)
            at += (size_t)snprintf(want + at, sizeof want - at, "%s %lld\n", line[i].path,
                                   (long long)line[i].ns);
        want[at] = '\0';
        size_t bytes = put_json(e, n, json, sizeof json);
        struct fm_store *store = chrome_read(ctx, json, bytes, NULL, FM_OK);
        char *got = chrome_folded(ctx, store, "spans");
        ck_assert_msg(strcmp(got, want) == 0, "%s\ngot\n%swant\n%s", json, got, want);
        free(got);
        fm_store_free(store);
    }
}
END_TEST

/* ------------------------------------------------------------------ many */

/* What would be quadratic by a plain search: E in the wrong order of many names. */
START_TEST(test_many_open)
{
    const int n = 50000;
    char *json = malloc((size_t)n * 140);
    size_t at = (size_t)snprintf(json, 2, "[");
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(json + at, 80,
                               "{\"ph\":\"B\",\"pid\":1,\"ts\":%d,\"name\":\"n%d\"},", i, i);
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(json + at, 80,
                               "{\"ph\":\"E\",\"pid\":1,\"ts\":%d,\"name\":\"n%d\"},", n + i, i);
    struct fm_store *store = chrome_read(ctx, json, at, NULL, FM_OK);
    ck_assert_uint_eq(chrome_finding(store, "end-not-on-top"), (uint64_t)n - 1);
    ck_assert_uint_eq(chrome_finding(store, "end-without-begin"), 0);
    ck_assert_uint_eq(chrome_finding(store, "span-overlaps-many") > 0, 1);
    struct fm_event_info e;
    fm_u128 weight = 0;
    for (size_t i = 0; i < fm_store_events(store); i++) {
        fm_store_event(store, i, &e);
        weight += e.weight_lo;
    }
    /* Whatever the ancestry: the time covered. */
    ck_assert_uint_eq((uint64_t)weight, (uint64_t)(2 * n - 1) * 1000);
    fm_store_free(store);
    free(json);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("chrome spans");
    TCase *c = tcase_create("spans");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, test_table, 0, (int)FM_COUNT(tables));
    tcase_add_loop_test(c, test_plain, 0, 2);
    tcase_add_test(c, test_many_open);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
