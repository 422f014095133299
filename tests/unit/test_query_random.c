/*
 * Rows of other sources over random stores: every answer is worked out again, row by row, from the
 * arrays that the store was built from. Nothing here is clever: times are tried one by one.
 */
#include "query_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS 2600              /* more than a block */
#define TIMES 600              /* spans lie in [0, TIMES) */
#define THREADS 6
#define NAMES 5
#define SEEDS 12

enum { CPU, SPAN, ASYNC, OFFCPU, WAKING, EVENTS };

struct row {
    int event, thread, name;           /* thread: -1 none */
    int stack[3], depth;               /* names */
    long ts, dur, size, label;         /* -1 none */
    long weight;
    int link;                          /* row, -1: none; -2 - thread: to a thread */
};

static struct row row[ROWS];
static struct fm_ctx *ctx;
static uint64_t state;

static const char *const name_of[NAMES] = { "ant", "bee", "cat", "dog", "emu" };
static const char *const thread_of[THREADS] = { "t0", "t1", "t2", "t3", "t4", "t5" };

static unsigned rnd(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 20) % n);
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

/* ------------------------------------------------------------------- the store */

/* a is outside of b at the same time. */
static bool outside_of(int a, int b)
{
    long x = row[a].ts + row[a].dur, y = row[b].ts + row[b].dur;

    if (row[a].ts != row[b].ts)
        return row[a].ts < row[b].ts;
    return x != y ? x > y : a < b;
}

/* The innermost span of a thread at a time; -1: none. */
static int innermost(int thread, long t)
{
    int top = -1;

    for (int i = 0; i < ROWS; i++) {
        if (row[i].event != SPAN || row[i].thread != thread || row[i].ts > t
            || row[i].ts + row[i].dur <= t)
            continue;
        if (top < 0 || outside_of(top, i))
            top = i;
    }
    return top;
}

static int top_at[THREADS][TIMES];

static void draw(void)
{
    for (int i = 0; i < ROWS; i++) {
        struct row *r = &row[i];
        /* spans are few, so that they lie beside each other, too */
        r->event = rnd(20) == 0 ? SPAN : (int)rnd(EVENTS);
        if (r->event == SPAN && rnd(8) != 0)
            r->event = CPU;
        r->thread = rnd(12) == 0 && r->event == CPU ? -1 : (int)rnd(THREADS);
        r->name = (int)rnd(NAMES);
        r->depth = r->event == CPU && rnd(9) == 0 ? 0 : 1 + (int)rnd(3);
        for (int k = 0; k < r->depth; k++)
            r->stack[k] = (int)rnd(NAMES);
        r->ts = r->event == CPU && rnd(15) == 0 ? -1 : (long)rnd(TIMES - 60);
        r->dur = r->event == SPAN || r->event == ASYNC || r->event == OFFCPU ? (long)rnd(60) : -1;
        r->size = rnd(3) == 0 ? -1 : (long)rnd(12);
        r->weight = r->event == OFFCPU || r->event == ASYNC ? r->dur : (long)rnd(100);
        r->link = -1;
    }
    row[0].ts = 0;                     /* times are told from the first row on */
    row[0].event = CPU;
    row[0].dur = -1;
    for (int t = 0; t < THREADS; t++) {
        for (long at = 0; at < TIMES; at++)
            top_at[t][at] = innermost(t, at);
    }
    for (int i = 0; i < ROWS; i++) {
        struct row *r = &row[i];
        int to = (int)rnd(ROWS);
        if (r->event == SPAN) {
            r->weight = 0;
            for (long at = 0; at < TIMES; at++)
                r->weight += top_at[r->thread][at] == i;
        }
        if (r->event == OFFCPU && row[to].event == WAKING)
            r->link = to;
        else if (r->event == OFFCPU && rnd(3) == 0)
            r->link = -2 - (int)rnd(THREADS);
        else if (r->event == ASYNC && (row[to].event == SPAN || row[to].event == CPU))
            r->link = to;
    }
}

static struct fm_store *build(void)
{
    static const char *const event_name[] = { "cpu", "spans", "gpu", "offcpu", "waking" };
    static const enum fm_kind kind[] = { FM_KIND_SAMPLE, FM_KIND_SPAN, FM_KIND_ASYNC,
                                         FM_KIND_STATE, FM_KIND_SAMPLE };
    struct fm_builder *b;
    fm_thread thread[THREADS];
    fm_frame frame[NAMES];
    uint32_t event[EVENTS];
    fm_column size;

    ck_assert_int_eq(fm_builder_new(ctx, &b, NULL), FM_OK);
    fm_builder_source(b, "random", "rows");
    size = fm_builder_label(b, "size", FM_TYPE_I64, false);
    for (int e = 0; e < EVENTS; e++)
        event[e] = fm_builder_event(b, event_name[e], e == WAKING ? "count" : "ns", kind[e]);
    for (int t = 0; t < THREADS; t++) {
        thread[t] = fm_builder_thread(b, 100 + t / 2, 200 + t, 0);
        fm_builder_thread_name(b, thread[t], INT64_MIN, fm_builder_str(b, thread_of[t], 2));
    }
    for (int f = 0; f < NAMES; f++) {
        struct fm_frame_row r = { .module = FM_NONE, .address = UINT64_MAX,
                                  .kind = FM_FRAME_USER };
        r.function = fm_builder_str(b, name_of[f], 3);
        frame[f] = fm_builder_frame(b, &r);
    }
    for (int i = 0; i < ROWS; i++) {
        const struct row *r = &row[i];
        fm_node node = FM_NODE_ROOT;
        for (int k = 0; k < r->depth; k++)
            node = fm_builder_node(b, node, frame[r->stack[k]]);
        if (kind[r->event] == FM_KIND_SAMPLE)
            fm_account_in(b, 1);
        fm_row_begin(b, event[r->event]);
        fm_row_set(b, FM_COL_WEIGHT, (uint64_t)r->weight);
        fm_row_set(b, FM_COL_NAME, fm_builder_str(b, name_of[r->name], 3));
        if (r->depth > 0)
            fm_row_set(b, FM_COL_STACK, node);
        if (r->thread >= 0)
            fm_row_set(b, FM_COL_THREAD, thread[r->thread]);
        if (r->ts >= 0)
            fm_row_set(b, FM_COL_TS, (uint64_t)r->ts);
        if (r->dur >= 0)
            fm_row_set(b, FM_COL_DUR, (uint64_t)r->dur);
        if (r->size >= 0)
            fm_row_set(b, size, (uint64_t)r->size);
        fm_row_end(b);
        if (r->link >= 0)
            fm_builder_link(b, r->event == ASYNC ? FM_LINK_LAUNCH : FM_LINK_WAKER, (uint64_t)i,
                            FM_LINK_ROW, (uint64_t)r->link);
        else if (r->link < -1)
            fm_builder_link(b, FM_LINK_WAKER, (uint64_t)i, FM_LINK_THREAD,
                            thread[-2 - r->link]);
    }
    return query_seal(b);
}

/* ------------------------------------------------------------------ the answer */

/* Groups by a text of keys, with up to three sums. */
struct group {
    char key[96];
    long n, a, b;
};

static struct group group[ROWS];
static size_t groups;

static struct group *of(const char *key)
{
    for (size_t i = 0; i < groups; i++) {
        if (strcmp(group[i].key, key) == 0)
            return &group[i];
    }
    snprintf(group[groups].key, sizeof group[groups].key, "%s", key);
    group[groups].n = group[groups].a = group[groups].b = 0;
    return &group[groups++];
}

static const char *path_of(const struct row *r)
{
    static char text[4][32];
    static int next;
    char *s = text[next++ % 4];

    s[0] = '\0';
    for (int k = 0; k < r->depth; k++)
        snprintf(s + strlen(s), 32 - strlen(s), "%s%s", k > 0 ? ";" : "", name_of[r->stack[k]]);
    return s;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines behind the head, sorted. */
static size_t lines_of(char *text, char **line)
{
    size_t n = 0;

    text = strchr(text, '\n') + 1;
    while (*text != '\0') {
        line[n++] = text;
        text = strchr(text, '\n');
        *text++ = '\0';
    }
    qsort(line, n, sizeof *line, by_text);
    return n;
}

static void compare(struct fm_store *store, const char *query, const char *format)
{
    static char got[1 << 18], want[1 << 18];
    static char *got_line[ROWS + 1], *want_line[ROWS + 1];
    const char *out = query_run(ctx, store, query, NULL, "csv");
    size_t n = 0, lines;

    ck_assert_msg(out != NULL, "%s%s%s", query, query_error(), query_messages());
    snprintf(got, sizeof got, "%s", out);
    n = (size_t)snprintf(want, sizeof want, "head\n");
    for (size_t i = 0; i < groups; i++) {
        n += (size_t)snprintf(want + n, sizeof want - n, "%s,", group[i].key);
        for (const char *f = format; *f != '\0'; f++)
            n += (size_t)snprintf(want + n, sizeof want - n, "%ld%s",
                                  *f == 'n' ? group[i].n : *f == 'a' ? group[i].a : group[i].b,
                                  f[1] == '\0' ? "\n" : ",");
    }
    lines = lines_of(got, got_line);
    ck_assert_msg(lines == lines_of(want, want_line), "%s%zu rows, not %zu\n%s", query, lines,
                  groups, out);
    for (size_t i = 0; i < lines; i++)
        ck_assert_msg(strcmp(got_line[i], want_line[i]) == 0, "%s%s is not %s\n%s", query,
                      got_line[i], want_line[i], query_messages());
}

#define Q(from) "foldmill-query: 1\nname: q\nfrom: " from "\nsteps:\n"

static void check_wakers(struct fm_store *store)
{
    groups = 0;
    for (int i = 0; i < ROWS; i++) {
        const struct row *r = &row[i], *w = r->link >= 0 ? &row[r->link] : NULL;
        int thread = w != NULL ? w->thread : r->link < -1 ? -2 - r->link : -1;
        char key[96];
        struct group *g;
        if (r->event != OFFCPU)
            continue;
        snprintf(key, sizeof key, "%s,%s,%s", thread < 0 ? "" : thread_of[thread],
                 w == NULL ? "" : path_of(w), w == NULL ? "" : name_of[w->stack[w->depth - 1]]);
        g = of(key);
        g->n++;
        g->a += r->dur;
        g->b += w == NULL ? 0 : w->ts;
    }
    compare(store, Q("offcpu")
            "  - group:\n      by: [waker.thread, waker.path, waker.leaf.function]\n"
            "      measures: {n: count(), a: self, b: sum(waker.ts)}\n"
            "  - compute: {b2: \"coalesce(b, 0)\"}\n", "nabb");
}

static void check_launches(struct fm_store *store)
{
    groups = 0;
    for (int i = 0; i < ROWS; i++) {
        const struct row *r = &row[i], *call = r->link >= 0 ? &row[r->link] : NULL;
        char key[96];
        struct group *g;
        if (r->event != ASYNC || call == NULL)
            continue;
        snprintf(key, sizeof key, "%s,%s,%s", name_of[r->name], path_of(call),
                 call->thread < 0 ? "" : thread_of[call->thread]);
        g = of(key);
        g->n++;
        g->a += r->dur;
        g->b += r->size < 0 ? 0 : r->size;
    }
    compare(store, Q("launches")
            "  - group:\n      by: [kernel, path, thread]\n"
            "      measures: {n: count(), a: sum(link.dur), w: self, b: sum(size)}\n", "naab");
}

static void check_clip(struct fm_store *store)
{
    long from = (long)rnd(TIMES), to = from + 1 + (long)rnd(200);
    char query[512];

    groups = 0;
    for (int i = 0; i < ROWS; i++) {
        const struct row *r = &row[i];
        long ts = r->ts < from ? from : r->ts, end = r->ts + r->dur;
        struct group *g;
        /* one without length is there when it starts there */
        if ((r->event != SPAN && r->event != ASYNC) || r->ts >= to
            || (r->ts < from && end <= from))
            continue;
        end = end > to ? to : end;
        g = of(name_of[r->name]);
        g->n++;
        g->a += end - ts;
        if (r->event == ASYNC)
            g->b += end - ts;
        for (long at = from; r->event == SPAN && at < to && at < TIMES; at++)
            g->b += top_at[r->thread][at] == i;
    }
    snprintf(query, sizeof query, Q("spans")
             "  - time: {range: %ldns..%ldns, clip: true}\n"
             "  - group: {by: [name], measures: {n: count(), a: sum(dur), b: sum(self_dur),"
             " w: self}}\n", from, to);
    compare(store, query, "nabb");
}

/* 1 inside of some span that is long enough, 0 outside of all, -1 neither. */
static int inside(const struct row *r, long longer, int on)
{
    if (r->ts < 0 || (on < 2 && r->thread < 0))
        return -1;
    for (int i = 0; i < ROWS; i++) {
        const struct row *s = &row[i];
        if (s->event != SPAN || s->dur <= longer || s->ts > r->ts || s->ts + s->dur <= r->ts)
            continue;
        if (on == 2 || (on == 1 ? s->thread / 2 == r->thread / 2 : s->thread == r->thread))
            return 1;
    }
    return 0;
}

static void check_within(struct fm_store *store)
{
    static const char *const on_name[] = { "thread", "process", "any" };
    long longer = (long)rnd(60);
    int on = (int)rnd(3), outside = (int)rnd(2);
    char query[512];

    groups = 0;
    for (int i = 0; i < ROWS; i++) {
        const struct row *r = &row[i];
        struct group *g;
        if (r->event != CPU || inside(r, longer, on) != !outside)
            continue;
        g = of(r->thread < 0 ? "" : thread_of[r->thread]);
        g->n++;
        g->a += r->weight;
    }
    snprintf(query, sizeof query,
             "foldmill-query: 1\nname: q\n"
             "let:\n  long: {from: spans, steps: [{where: {event: spans, dur: \"> %ldns\"}}]}\n"
             "from: samples\nsteps:\n  - where: {event: cpu}\n"
             "  - within: {spans: long, on: %s, outside: %s}\n"
             "  - group: {by: [thread], measures: {n: count(), a: self}}\n", longer, on_name[on],
             outside ? "true" : "false");
    compare(store, query, "na");
}

static void check_weigh(struct fm_store *store)
{
    groups = 0;
    for (int i = 0; i < ROWS; i++) {
        const struct row *r = &row[i];
        struct group *g;
        if (r->event != CPU)
            continue;
        g = of(r->depth == 0 ? "" : name_of[r->stack[r->depth - 1]]);
        g->n++;
        if (r->size >= 0)
            g->a += r->size * 2 + (r->size > 5 ? r->weight : 0);
    }
    compare(store, Q("samples")
            "  - where: {event: cpu}\n"
            "  - weigh: size * 2 + if(size > 5, weight, 0)\n"
            "  - group: {by: [leaf.function], measures: {n: count(), a: self}}\n", "na");
}

static void check_buckets(struct fm_store *store)
{
    long width = 1 + (long)rnd(90), busy[TIMES] = { 0 }, least = (long)rnd(2000);
    char query[512];

    groups = 0;
    for (int i = 0; i < ROWS; i++) {
        if (row[i].event == CPU && row[i].ts >= 0)
            busy[row[i].ts / width] += row[i].weight;
    }
    for (int i = 0; i < ROWS; i++) {
        const struct row *r = &row[i];
        if (r->event != OFFCPU || busy[r->ts / width] < least || busy[r->ts / width] == 0)
            continue;
        of(thread_of[r->thread])->a += r->dur;
    }
    snprintf(query, sizeof query,
             "foldmill-query: 1\nname: q\nparams: {w: {type: time, default: %ldns}}\n"
             "let:\n  slots:\n    from: samples\n    steps:\n      - where: {event: cpu}\n"
             "      - group: {by: [{at: \"bucket(ts, $w)\"}], measures: {busy: sum(weight)}}\n"
             "      - where: busy >= %ld and busy > 0\n"
             "from: offcpu\nsteps:\n  - within: {spans: slots, on: any}\n"
             "  - group: {by: [thread], measures: {a: self}}\n", width, least);
    compare(store, query, "a");
}

static void check_tables(struct fm_store *store)
{
    groups = 0;
    for (int t = 0; t <= THREADS; t++) {
        long first = -1, last = -1, rows = 0, weight = 0;
        char key[96];
        for (int i = 0; i < ROWS; i++) {
            if (row[i].event != CPU || row[i].thread != (t == THREADS ? -1 : t))
                continue;
            rows++;
            weight += row[i].weight;
            if (row[i].ts < 0)
                continue;
            first = first < 0 || row[i].ts < first ? row[i].ts : first;
            last = row[i].ts > last ? row[i].ts : last;
        }
        snprintf(key, sizeof key, "%s,%ld,%ld,%ld", t == THREADS ? "" : thread_of[t], first, last,
                 rows);
        if (rows > 0)
            of(key)->a = weight;
    }
    compare(store, Q("threads") "  - where: rows > 0\noutput: {columns: [thread, first, last, "
            "rows, weight]}\n", "a");
    groups = 0;
    for (int f = 0; f < NAMES; f++) {
        for (int i = 0; i < ROWS; i++) {
            const struct row *r = &row[i];
            bool has = false;
            for (int k = 0; k < r->depth; k++)
                has |= r->stack[k] == f;
            if (r->event != CPU || !has)
                continue;
            of(name_of[f])->b += r->weight;
            of(name_of[f])->n++;
            of(name_of[f])->a += r->stack[r->depth - 1] == f ? r->weight : 0;
        }
    }
    compare(store, Q("frames") "  - where: \"true\"\noutput: {columns: [function, self, total, "
            "samples]}\n", "abn");
}

START_TEST(answers_of_random_rows)
{
    struct fm_store *store;

    state = 0x9e3779b97f4a7c15u + (uint64_t)_i * 0x1234567u;
    draw();
    store = build();
    check_wakers(store);
    check_launches(store);
    check_weigh(store);
    check_tables(store);
    for (int k = 0; k < 6; k++) {
        check_clip(store);
        check_within(store);
        check_buckets(store);
    }
    fm_store_free(store);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("query_random");
    TCase *t = tcase_create("query_random");
    SRunner *r;
    int failed;

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, answers_of_random_rows, 0, SEEDS);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
