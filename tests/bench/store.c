/*
 * store.c - what the store costs: CPU nanoseconds per row and step, decoded values per second,
 * bytes per row. `make tests/bench/store && tests/bench/store [rows] [chains]`.
 *
 * The load looks like a frame-pointer recording: chains of 20 frames of which few are met often
 * (ranks of a power law), 4 threads in turns, 4 CPUs, times that jitter around a period.
 */
#include "store/build.h"
#include "store/encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEPTH 20

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t state = 1;

static uint64_t rnd(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Rank in [0, n): low ranks often. */
static size_t rank_of(size_t n)
{
    double u = (double)(rnd() >> 11) / 9007199254740992.0;
    return (size_t)(u * u * u * (double)n);
}

/* Rows come from a stream that is read front to back over and over, as an importer's window. */
#define STREAM 16384u

struct load {
    size_t rows;
    uint64_t (*stream)[DEPTH];
};

static struct load make_load(size_t rows, size_t chains)
{
    struct load l = {rows, malloc(STREAM * sizeof *l.stream)};

    if (l.stream == NULL)
        exit(1);
    for (size_t i = 0; i < STREAM; i++) {
        size_t pick = rank_of(chains);
        for (size_t d = 0; d < DEPTH; d++)  /* neighbours share their outer frames */
            l.stream[i][DEPTH - 1 - d] = 0x400000 + 64 * ((pick >> (DEPTH - d) / 2) * 31 + d);
    }
    return l;
}

static fm_node resolve(struct fm_builder *b, const uint64_t *chain)
{
    fm_frame frame[DEPTH];

    for (size_t d = 0; d < DEPTH; d++) {
        struct fm_frame_row f = {.module = FM_NONE, .address = chain[DEPTH - 1 - d],
                                 .kind = FM_FRAME_USER, .caller = d + 1 < DEPTH};
        frame[d] = fm_builder_frame(b, &f);
    }
    return fm_builder_stack(b, frame, DEPTH);
}

static void step(const char *what, double ns, size_t n)
{
    printf("%-44s %8.1f ns\n", what, ns / (double)n);
}

/* Time of slices of STREAM rows: the best one is what a busy machine disturbs least. */
struct slices {
    double from, best;
};

static void slice_begin(struct slices *s)
{
    s->best = 1e30;
    s->from = now();
}

static void slice_end(struct slices *s)
{
    double t = now();

    if (t - s->from < s->best)
        s->best = t - s->from;
    s->from = t;
}

static void step_best(const char *what, double ns, size_t n, const struct slices *s)
{
    printf("%-44s %8.1f ns, best slice %.1f\n", what, ns / (double)n, s->best / STREAM);
}

static struct slices rows(struct fm_builder *b, const struct load *l, bool cached, bool row)
{
    struct slices s;
    uint32_t event = fm_builder_event(b, "cpu-clock", "ns", FM_KIND_SAMPLE);
    fm_str comm[4];
    fm_thread thread[4];
    int64_t ts = 1000000000;

    for (unsigned i = 0; i < 4; i++) {
        char name[] = "worker0";
        name[6] = (char)('0' + i);
        comm[i] = fm_builder_str(b, name, 7);
        thread[i] = fm_builder_thread(b, 100, 100 + i, 0);
    }
    slice_begin(&s);
    for (size_t i = 0; i < l->rows; i++) {
        const uint64_t *chain = l->stream[i % STREAM];
        fm_node stack = 0;
        unsigned t = (unsigned)(i >> 5) & 3;
        if (i % STREAM == 0 && i > 0)
            slice_end(&s);
        if (cached) {
            fm_node *place = fm_builder_chain(b, 7, chain, DEPTH);
            if (place == NULL || *place == FM_NONE) {
                stack = resolve(b, chain);
                if (place != NULL)
                    *place = stack;
            } else {
                stack = *place;
            }
        } else if (row) {
            stack = chain[0] >> 6 & 63;
        } else {
            stack = resolve(b, chain);
        }
        if (!row)
            continue;
        ts += 41000 + (int64_t)(chain[0] >> 6 & 1023);
        fm_row_begin(b, event);
        fm_row_set(b, FM_COL_TS, (uint64_t)ts);
        fm_row_set(b, FM_COL_WEIGHT, 41666);
        fm_row_set(b, FM_COL_STACK, stack);
        fm_row_set(b, FM_COL_THREAD, thread[t]);
        fm_row_set(b, FM_COL_CPU, t);
        fm_row_set(b, FM_COL_COMM, comm[t]);
        fm_row_set(b, FM_COL_COUNT, 1);
        fm_row_end(b);
    }
    return s;
}

static struct fm_builder *fresh(struct fm_ctx *ctx)
{
    struct fm_builder *b;

    if (fm_builder_new(ctx, &b, NULL) != FM_OK)
        exit(1);
    fm_builder_source(b, "bench", "bench");
    return b;
}

static void build(struct fm_ctx *ctx, const struct load *l)
{
    struct fm_builder *b;
    struct fm_store *s;
    struct slices best;
    double t;

    b = fresh(ctx);
    t = now();
    best = rows(b, l, false, false);
    step_best("resolve 20 frames and intern, no cache", now() - t, l->rows, &best);
    fm_builder_free(b);

    b = fresh(ctx);
    t = now();
    best = rows(b, l, true, false);
    step_best("chain cache, first pass (hits and misses)", now() - t, l->rows, &best);
    t = now();
    best = rows(b, l, true, false);
    step_best("chain cache, hits only", now() - t, l->rows, &best);
    fm_builder_free(b);

    b = fresh(ctx);
    t = now();
    for (unsigned i = 0; i < 64; i++) {
        struct fm_frame_row f = {.module = FM_NONE, .address = i};
        fm_builder_node(b, 0, fm_builder_frame(b, &f));
    }
    best = rows(b, l, false, true);
    step_best("row of 8 columns, no stack", now() - t, l->rows, &best);
    fm_builder_free(b);

    b = fresh(ctx);
    t = now();
    best = rows(b, l, true, true);
    step_best("chain cache and row", now() - t, l->rows, &best);
    t = now();
    if (fm_builder_seal(b, NULL, &s, NULL) != FM_OK)
        exit(1);
    step("seal", now() - t, l->rows);
    printf("%-44s %8.2f bytes; %zu nodes; peak %.1f MB\n", "store, a row",
           (double)fm_store_memory(s) / (double)l->rows, fm_store_tree_nodes(s),
           (double)atomic_load(&fm_store_ctx(s)->mem.peak) / 1e6);
    t = now();
    for (fm_column c = 0; c < FM_COL_LABELS; c++) {
        static uint64_t out[FM_BLOCK_ROWS], valid[FM_BLOCK_WORDS];
        bool all;
        double from = now();
        if (fm_store_column_info(s, c)->rows == 0)
            continue;
        for (size_t i = 0; i < fm_store_segments(s); i++) {
            for (uint32_t k = 0; k * FM_BLOCK_ROWS < fm_store_segment_rows(s, i); k++)
                fm_store_block(s, i, k, c, out, valid, &all);
        }
        printf("  decode %-35s %8.0f M values/s\n",
               fm_store_str(s, fm_store_column_info(s, c)->name, NULL),
               (double)l->rows / (now() - from) * 1e3);
    }
    step("decode 8 columns, a row", now() - t, l->rows);
    fm_store_free(s);
}

enum shape { CONSTANT, RANGE, RUNS, FEW, TIMES, ANY, SPARSE, SHAPES };
static const char *const shape_name[SHAPES] = {"constant", "packed 12 bits", "runs", "few values",
                                               "times", "any 64 bits", "half valid, 12 bits"};

static void encodings(void)
{
    static const char *const form[] = {"const", "for", "runs", "dict", "delta", "raw"};
    static struct fm_encoder enc;
    static uint64_t value[FM_BLOCK_ROWS], valid[FM_BLOCK_WORDS], out[FM_BLOCK_ROWS];
    static uint64_t data[FM_ENCODED_MAX / 8];
    unsigned char *bytes = (unsigned char *)data;

    for (int shape = 0; shape < SHAPES; shape++) {
        uint64_t ts = 0;
        double t;
        struct fm_encoded e = {0, 0, 0, 0};
        bool all;
        for (uint32_t i = 0; i < FM_BLOCK_ROWS; i++) {
            uint64_t r = rnd();
            ts += 41000 + (r & 1023);
            value[i] = shape == CONSTANT ? 5
                       : shape == RANGE || shape == SPARSE ? 1000 + (r & 4095)
                       : shape == RUNS ? i >> 6
                       : shape == FEW  ? (r & 7) << 40
                       : shape == TIMES ? ts
                                        : r;
        }
        memset(valid, shape == SPARSE ? 0x55 : 0xff, sizeof valid);
        t = now();
        for (int k = 0; k < 5000; k++)
            e = fm_encode(&enc, value, valid, FM_BLOCK_ROWS, FM_TYPE_U64, bytes);
        t = now() - t;
        printf("  %-20s %-6s %6zu bytes  encode %5.0f M/s", shape_name[shape],
               form[fm_encoded_as(bytes)], e.size, 5000.0 * FM_BLOCK_ROWS / t * 1e3);
        t = now();
        for (int k = 0; k < 20000; k++)
            fm_decode(bytes, out, valid, &all);
        t = now() - t;
        printf("  decode %5.0f M/s\n", 20000.0 * FM_BLOCK_ROWS / t * 1e3);
    }
}

int main(int argc, char **argv)
{
    uint64_t n[2] = {2000000, 20000};
    struct fm_ctx *ctx = fm_ctx_new();
    struct load l;

    for (int i = 1; i < argc && i < 3; i++) {
        n[i - 1] = 0;
        for (const char *p = argv[i]; *p >= '0' && *p <= '9'; p++)
            n[i - 1] = n[i - 1] * 10 + (uint64_t)(*p - '0');
    }
    if (ctx == NULL || n[0] == 0 || n[1] == 0)
        return 2;
    printf("%llu rows, %llu chains of %d\n", (unsigned long long)n[0], (unsigned long long)n[1],
           DEPTH);
    l = make_load(n[0], n[1]);
    build(ctx, &l);
    if (argc < 4)       /* a third word leaves the encodings out */
        encodings();
    free(l.stream);
    fm_ctx_free(ctx);
    return 0;
}
