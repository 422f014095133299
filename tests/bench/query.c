/*
 * query.c - queries over a generated store, as users run them: fm_query_run() on sealed segments.
 *
 *     query [ROWS [STACKS [CODEC]]]     10 M rows, 100 k stacks, "both" of "plain" and "packed"
 *
 * Stacks are random walks over 5,000 functions in 40 modules, 10 to 30 frames deep, that share
 * prefixes as call trees do; how often each is taken falls off with its rank (Zipf). Rows are in
 * time order, of 16 threads in two processes; one in 32 is of another event, so that no block is of
 * one event alone. `packed` is how segments are sealed; `plain` stores 64-bit values as they are.
 *
 * First the yardstick: a loop in C over the same three columns, decoded beforehand,
 *
 *     if (event[i] == wanted) sum[stack[i]] += weight[i];
 *
 * then each query: CPU milliseconds (the best of some runs, everything from loading the query to
 * its result), million rows a second, the share of the loop's speed, and what it takes beside the
 * query that it varies. One thread, but for the last line, which is wall-clock time and says
 * nothing on a busy machine.
 */
#include "store/inside.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { FUNCTIONS = 5000, MODULES = 40, FRAMES = 20000, POPULAR = 1 << 20, CHUNK = 512 };

static uint64_t seed = 88172645463325252u;

static uint32_t roll(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 20) % n;
}

static double clock_ms(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void die(const char *what)
{
    fprintf(stderr, "query: %s\n", what);
    exit(1);
}

static void *need(size_t n)
{
    void *p = calloc(1, n);

    if (p == NULL)
        die("no memory");
    return p;
}

/* ---------------------------------------------------------------- the store */

static void make_frames(struct fm_builder *b, fm_frame *frame)
{
    char name[64];

    for (uint32_t f = 0; f < FRAMES; f++) {
        /* several addresses a function, as unmerged perf frames are */
        struct fm_frame_row row = { .kind = FM_FRAME_USER, .address = f };
        struct fm_module_row module = { .kind = FM_MODULE_NAMED, .pid = -1 };
        snprintf(name, sizeof name, "/usr/lib/lib%u.so", f % FUNCTIONS % MODULES);
        module.path = fm_builder_str(b, name, strlen(name));
        row.module = fm_builder_module(b, &module);
        snprintf(name, sizeof name, "function_%u", f % FUNCTIONS);
        row.function = fm_builder_str(b, name, strlen(name));
        frame[f] = fm_builder_frame(b, &row);
    }
}

static void make_stacks(struct fm_builder *b, const fm_frame *frame, fm_node *stack,
                        uint32_t stacks)
{
    uint32_t *depth = need(stacks * sizeof *depth);

    for (uint32_t s = 0; s < stacks; s++) {
        /* a branch off an earlier stack, somewhere above its leaf, then frames of its own */
        uint32_t from = s == 0 ? 0 : roll(s), want = 10 + roll(21), at = s == 0 ? 0 : depth[from];
        fm_node node = s == 0 ? FM_NODE_ROOT : stack[from];
        for (uint32_t up = 1 + roll(8); at > 0 && (up > 0 || at >= want); at--) {
            node = fm_builder_node_parent(b, node);
            up -= up > 0;
        }
        for (; at < want; at++)
            node = fm_builder_node(b, node, frame[roll(FRAMES)]);
        stack[s] = node;
        depth[s] = want;
    }
    free(depth);
}

/* Stacks drawn by rank: the k-th is taken about 1 / k as often as the first. */
static uint32_t *make_popular(uint32_t stacks)
{
    uint32_t *popular = need(POPULAR * sizeof *popular), *order = need(stacks * sizeof *order);
    double *upto = need((stacks + 1) * sizeof *upto);

    for (uint32_t k = 0; k < stacks; k++) {
        uint32_t other = roll(k + 1);
        order[k] = order[other];
        order[other] = k;
        upto[k + 1] = upto[k] + 1 / (k + 1.0);
    }
    for (uint32_t i = 0, k = 0; i < POPULAR; i++) {
        while (k + 1 < stacks && upto[k + 1] / upto[stacks] * POPULAR <= i)
            k++;
        popular[i] = order[k];
    }
    free(order);
    free(upto);
    return popular;
}

static struct fm_store *make(struct fm_ctx *ctx, uint64_t rows, uint32_t stacks, bool plain)
{
    fm_frame *frame = need(FRAMES * sizeof *frame);
    fm_node *stack = need(stacks * sizeof *stack);
    uint32_t *popular = make_popular(stacks), event[2];
    fm_thread thread[16];
    struct fm_store *store = NULL;
    struct fm_builder *b;
    struct fm_error err;
    uint64_t ts = 0;

    fm_error_clear(&err);
    if (fm_builder_new(ctx, &b, &err) != FM_OK)
        die(err.message);
    b->plain = plain;
    fm_builder_source(b, "bench", "none");
    event[0] = fm_builder_event(b, "cpu-clock", "ns", FM_KIND_SAMPLE);
    event[1] = fm_builder_event(b, "page-faults", "count", FM_KIND_SAMPLE);
    fm_builder_event_row(b, event[0])->default_rank = 0;
    for (uint32_t t = 0; t < 16; t++)
        thread[t] = fm_builder_thread(b, 1 + t % 2, 100 + t, 0);
    make_frames(b, frame);
    make_stacks(b, frame, stack, stacks);
    fm_account_in(b, rows);
    for (uint64_t r = 0; r < rows; r++) {
        bool fault = roll(32) == 0;
        uint32_t s = roll(16) == 0 ? roll(stacks) : popular[roll(POPULAR)];
        ts += 50000 + roll(1024);
        fm_row_begin(b, event[fault]);
        fm_row_set(b, FM_COL_TS, ts);
        fm_row_set(b, FM_COL_WEIGHT, fault ? 1 : 1000000 + roll(4096));
        fm_row_set(b, FM_COL_STACK, stack[s]);
        fm_row_set(b, FM_COL_THREAD, thread[roll(16)]);
        fm_row_end(b);
    }
    if (fm_builder_seal(b, NULL, &store, &err) != FM_OK)
        die(err.message);
    free(frame);
    free(stack);
    free(popular);
    return store;
}

/* ------------------------------------------------------------- the yardstick */

struct columns {
    uint64_t *event, *stack, *weight, *sum;
};

static size_t decode(const struct fm_store *store, size_t segment, struct columns *c)
{
    uint64_t valid[FM_BLOCK_ROWS / 64];
    uint32_t rows = fm_store_segment_rows(store, segment);
    bool all;

    for (uint32_t k = 0; k * FM_BLOCK_ROWS < rows; k++) {
        size_t at = k * FM_BLOCK_ROWS;
        fm_store_block(store, segment, k, FM_COL_EVENT, c->event + at, valid, &all);
        fm_store_block(store, segment, k, FM_COL_STACK, c->stack + at, valid, &all);
        fm_store_block(store, segment, k, FM_COL_WEIGHT, c->weight + at, valid, &all);
    }
    return rows;
}

static void __attribute__((noinline)) loop(const struct columns *c, size_t n, uint64_t wanted)
{
    for (size_t i = 0; i < n; i++) {
        if (c->event[i] == wanted)
            c->sum[c->stack[i]] += c->weight[i];
    }
}

/* CPU milliseconds of the loop. Columns are decoded some 30 M rows at a time, off the clock. */
static double yardstick(const struct fm_store *store)
{
    size_t room = (size_t)CHUNK * FM_SEGMENT_ROWS, segments = fm_store_segments(store), n;
    struct columns c = { need(room * 8), need(room * 8), need(room * 8),
                         need(fm_store_append_nodes(store) * 8) };
    double took = 0;

    for (size_t s = 0; s < segments;) {
        double best = 1e9;
        n = 0;
        for (size_t k = 0; k < CHUNK && s < segments; k++, s++) {
            struct columns at = { c.event + n, c.stack + n, c.weight + n, NULL };
            n += decode(store, s, &at);
        }
        for (int k = 0; k < 3; k++) {
            double start = clock_ms(CLOCK_PROCESS_CPUTIME_ID), ms;
            loop(&c, n, 0);
            ms = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - start;
            best = ms < best ? ms : best;
        }
        took += best;
    }
    free(c.event);
    free(c.stack);
    free(c.weight);
    free(c.sum);
    return took;
}

/* ---------------------------------------------------------------- the queries */

static const char self_query[] =
    "foldmill-query: 1\n"
    "name: self\n"
    "steps:\n"
    "  - group: {by: [leaf.function, leaf.module], measures: [self, samples]}\n"
    "  - sort: [-self]\n"
    "  - limit: 20\n";

struct run {
    const char *label, *query, *filter;
    size_t beside;                      /* the line that it varies */
    bool all_threads;
};

static double once(struct fm_ctx *ctx, struct fm_store *store, const struct run *run,
                   clockid_t clock, size_t *rows)
{
    struct fm_select_options select = FM_INIT(select);
    struct fm_result *result = NULL;
    struct fm_query *q = NULL;
    struct fm_error err;
    double start = clock_ms(clock);

    fm_error_clear(&err);
    select.filter = &run->filter;
    select.filters = run->filter != NULL;
    if (fm_query_load(ctx, run->query, &q, &err) != FM_OK
        || fm_query_run(ctx, q, &store, 1, &select, &result, &err) != FM_OK) {
        fprintf(stderr, "%s", q == NULL ? "" : fm_query_errors(q));
        die(err.message);
    }
    *rows = fm_result_rows(result, 0);
    fm_result_free(result);
    fm_query_free(q);
    return clock_ms(clock) - start;
}

static void bench(struct fm_ctx *ctx, struct fm_store *store, const char *self)
{
    const struct run run[] = {
        { "self, top 20", self, NULL, 0, false },
        { "self and total, top 20 (top-self)", "top-self", NULL, 0, false },
        { "hottest-paths, top 10", "hottest-paths", NULL, 0, false },
        { "self, stacks by regex", self, "focus=/function_[0-4]*7$/", 0, false },
        { "self, 1 % of the time", self, "time=50%..51%", 0, false },
        { "top-self, all threads, wall clock", "top-self", NULL, 1, true },
    };
    double all = (double)fm_store_rows(store), base = yardstick(store), best[FM_COUNT(run)];

    printf("    %-36s %9.1f ms %7.1f M rows/s\n", "plain C loop", base, all / base / 1e3);
    for (size_t i = 0; i < FM_COUNT(run); i++) {
        clockid_t clock = run[i].all_threads ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
        size_t rows = 0;
        fm_ctx_set_cap(ctx, FM_CAP_THREADS, run[i].all_threads ? 2 : 1);
        best[i] = 1e9;
        for (int k = 0; k < 5; k++) {
            double ms = once(ctx, store, &run[i], clock, &rows);
            best[i] = ms < best[i] ? ms : best[i];
        }
        printf("    %-36s %9.1f ms %7.1f M rows/s  %5.2f x loop  %6.2f x '%s'  %zu rows\n",
               run[i].label, best[i], all / best[i] / 1e3, best[i] / base,
               best[i] / best[run[i].beside], run[run[i].beside].label, rows);
    }
}

static void codec(uint64_t rows, uint32_t stacks, bool plain, const char *self)
{
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_store *store;

    if (ctx == NULL)
        die("no memory");
    store = make(ctx, rows, stacks, plain);
    printf("%s: %llu rows, %lu stacks, %zu tree nodes, %.1f bytes a row\n",
           plain ? "plain" : "packed", (unsigned long long)rows, (unsigned long)stacks,
           fm_store_tree_nodes(store),
           (double)atomic_load(&fm_store_ctx(store)->mem.used) / (double)rows);
    bench(ctx, store, self);
    fm_store_free(store);
    fm_ctx_free(ctx);
}

int main(int argc, char **argv)
{
    uint64_t rows = 10000000, stacks = 100000;
    const char *which = argc > 3 ? argv[3] : "both";
    char self[] = "/tmp/query-XXXXXX";
    int fd;

    if ((argc > 1 && !fm_text_u64(argv[1], strlen(argv[1]), &rows))
        || (argc > 2 && !fm_text_u64(argv[2], strlen(argv[2]), &stacks)) || stacks < 1
        || stacks > 10000000)
        return 2;
    fd = mkstemp(self);
    if (fd < 0 || write(fd, self_query, strlen(self_query)) != (ssize_t)strlen(self_query))
        die("cannot write the query");
    close(fd);
    if (strcmp(which, "packed") != 0)
        codec(rows, (uint32_t)stacks, true, self);
    if (strcmp(which, "plain") != 0)
        codec(rows, (uint32_t)stacks, false, self);
    unlink(self);
    return 0;
}
