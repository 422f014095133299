/*
 * Sums by stack (store/fold.c), and queries that are answered from them, over random stores:
 * against the rows as they were made, and against the way that goes row by row.
 */
#include "query_help.h"

#include "store/fold.h"
#include "store/inside.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { FUNCTIONS = 5, STACKS = 40, DEEP = 6, THREADS = 6, EVENTS = 3, NO_STACK = STACKS };

struct row {
    uint64_t weight, count;
    int64_t ts;
    uint32_t event, stack, thread;
    bool weighed, counted;
};

/* A store, and what it was made of. */
struct made {
    struct fm_store *store;
    struct row *row;
    size_t rows;
    fm_node node[STACKS];
    uint8_t frame[STACKS][DEEP], depth[STACKS];
};

static struct fm_ctx *ctx;
static uint64_t seed;

static uint64_t roll(uint64_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (seed >> 11) % n;
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

static void make_stacks(struct made *m, struct fm_builder *b)
{
    fm_frame frame[FUNCTIONS];

    for (uint32_t f = 0; f < FUNCTIONS; f++) {
        struct fm_frame_row row = { .module = FM_NONE, .address = UINT64_MAX,
                                    .kind = FM_FRAME_USER };
        char name[2] = { (char)('a' + f), '\0' };
        row.function = fm_builder_str(b, name, 1);
        frame[f] = fm_builder_frame(b, &row);
    }
    for (uint32_t s = 0; s < STACKS; s++) {
        m->node[s] = FM_NODE_ROOT;
        m->depth[s] = (uint8_t)(1 + roll(DEEP));
        for (uint32_t d = 0; d < m->depth[s]; d++) {
            m->frame[s][d] = (uint8_t)roll(FUNCTIONS);
            m->node[s] = fm_builder_node(b, m->node[s], frame[m->frame[s][d]]);
        }
    }
}

/* Values of a kind that holds for some hundred rows, so that blocks of all encodings occur. */
static uint64_t value_of(uint64_t kind)
{
    switch (kind) {
    case 0:
        return 1;
    case 1:
        return roll(3);
    case 2:
        return 1000000 + roll(4096);
    case 3:
        return roll(UINT32_MAX);
    default:
        return UINT64_MAX - roll(1000);
    }
}

static void make(struct made *m, size_t rows, uint64_t kinds)
{
    struct fm_builder *b;
    struct fm_error err;
    fm_thread thread[THREADS];
    uint32_t event[EVENTS];
    uint64_t weights = 0, counts = 0, mixed = 0, stacks = 0;
    int64_t ts = 0;

    m->rows = rows;
    m->row = calloc(rows, sizeof *m->row);
    ck_assert_int_eq(fm_builder_new(ctx, &b, &err), FM_OK);
    b->plain = roll(2) == 0;
    fm_builder_source(b, "test", "none");
    for (uint32_t e = 0; e < EVENTS; e++) {
        char name[3] = { 'e', (char)('0' + e), '\0' };
        event[e] = fm_builder_event(b, name, "ns", FM_KIND_SAMPLE);
        fm_builder_event_row(b, event[e])->default_rank = (int32_t)e;
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        char name[3] = { 't', (char)('0' + t), '\0' };
        thread[t] = fm_builder_thread(b, 1, 10 + t, 0);
        fm_builder_thread_name(b, thread[t], INT64_MIN, fm_builder_str(b, name, 2));
    }
    make_stacks(m, b);
    for (size_t i = 0; i < rows; i++) {
        struct row *r = &m->row[i];
        if (i % 700 == 0) {
            weights = roll(kinds + 1);
            counts = roll(kinds + 1);
            mixed = roll(3);
            stacks = roll(3);
        }
        ts += (int64_t)roll(20) - (roll(50) == 0 ? 200 : 0);
        *r = (struct row){ .ts = ts, .thread = (uint32_t)(mixed == 0 ? 0 : roll(THREADS)),
                           .event = (uint32_t)(mixed < 2 ? 0 : roll(EVENTS)),
                           .stack = (uint32_t)(stacks == 0 ? i / 700 % STACKS : roll(STACKS + 1)) };
        r->weighed = weights > 0 && (weights < 3 || roll(9) > 0);
        r->counted = counts > 0 && (counts < 3 || roll(9) > 0);
        r->weight = r->weighed ? value_of(weights - 1) : 0;
        r->count = r->counted ? value_of(counts - 1) : 1;
        fm_row_begin(b, event[r->event]);
        fm_row_set(b, FM_COL_TS, (uint64_t)ts);
        fm_row_set(b, FM_COL_THREAD, thread[r->thread]);
        if (r->weighed)
            fm_row_set(b, FM_COL_WEIGHT, r->weight);
        if (r->counted)
            fm_row_set(b, FM_COL_COUNT, r->count);
        if (r->stack != NO_STACK)
            fm_row_set(b, FM_COL_STACK, m->node[r->stack]);
        fm_row_end(b);
        if (roll(30000) == 0)
            fm_builder_source(b, "again", "none");      /* a new segment */
    }
    ck_assert_int_eq(fm_builder_seal(b, NULL, &m->store, &err), FM_OK);
}

static void unmake(struct made *m)
{
    fm_store_free(m->store);
    free(m->row);
}

/* ---------------------------------------------------------------- fold itself */

static void check_fold(const struct made *m, const struct fm_selection *sel, const uint8_t *kept,
                       unsigned threads)
{
    size_t places = fm_store_append_nodes(m->store) + 1;
    struct fm_stack_sums *want = calloc(places, sizeof *want);
    struct fm_fold fold;

    for (size_t i = 0; i < m->rows; i++) {
        const struct row *r = &m->row[i];
        size_t s = r->stack == NO_STACK ? places - 1 : m->node[r->stack];
        if (!kept[i] || !sel->event[r->event] || (sel->out != NULL && sel->out[s]))
            continue;
        want[s].weight += sel->weigh == FM_WEIGH_SAMPLES ? r->count : r->weight;
        want[s].samples = fm_add_sat_u64(want[s].samples, r->count);
        want[s].rows++;
    }
    ck_assert_int_eq(fm_fold_init(&fold, sel, threads, NULL), FM_OK);
    for (size_t s = 0; s < places; s++) {
        struct fm_stack_sums got = { .weight = 0 };
        ck_assert_int_eq(fm_fold_empty(&fold, s), want[s].rows == 0);
        if (want[s].rows > 0)
            got = fm_fold_of(&fold, s);
        ck_assert(got.weight == want[s].weight);
        ck_assert_uint_eq(got.samples, want[s].samples);
        ck_assert_uint_eq(got.rows, want[s].rows);
    }
    fm_fold_release(&fold);
    free(want);
}

/* Some rows leave the selection, block by block in one of the three states. */
static void drop_rows(const struct made *m, struct fm_selection *sel, uint8_t *kept)
{
    ck_assert(fm_selection_own_rows(sel));
    for (size_t s = 0; s < fm_store_segments(m->store); s++) {
        uint32_t rows = fm_store_segment_rows(m->store, s);
        for (uint32_t at = 0; at < rows; at += FM_BLOCK_ROWS) {
            uint64_t first = fm_store_segment_first(m->store, s) + at, state = roll(3);
            uint64_t bits[FM_BLOCK_ROWS / 64] = { 0 };
            uint32_t n = FM_MIN(rows - at, FM_BLOCK_ROWS);
            for (uint32_t i = 0; i < n; i++) {
                kept[first + i] = state == 0 || (state == 1 && roll(4) > 0);
                bits[i / 64] |= (uint64_t)kept[first + i] << (i % 64);
            }
            fm_selection_set_block(sel, s, at / FM_BLOCK_ROWS, first, n, bits);
        }
    }
}

static void check_store(size_t rows, uint64_t kinds)
{
    struct fm_select_options options = FM_INIT(options);
    struct fm_selection sel;
    struct made m;
    uint8_t *kept;

    make(&m, rows, kinds);
    kept = malloc(rows);
    for (int k = 0; k < 4; k++) {
        memset(kept, 1, rows);
        options.event = k == 3 ? "all" : "e0";
        options.weight = roll(2) == 0 ? "samples" : NULL;
        ck_assert_int_eq(fm_selection_init(&sel, m.store, &options, NULL), FM_OK);
        check_fold(&m, &sel, kept, 1);
        if (k > 0)
            drop_rows(&m, &sel, kept);
        if (k > 1) {
            ck_assert(fm_selection_own_stacks(&sel));
            for (size_t s = 0; s <= fm_store_append_nodes(m.store); s++)
                sel.out[s] = roll(3) == 0;
        }
        for (unsigned threads = 1; threads < 4; threads++)
            check_fold(&m, &sel, kept, threads);
        for (size_t i = 0; i < rows && sel.out != NULL; i++)
            kept[i] &= !sel.out[m.row[i].stack == NO_STACK ? fm_store_append_nodes(m.store)
                                                           : m.node[m.row[i].stack]];
        ck_assert_int_eq(fm_selection_settle(&sel, NULL), FM_OK);
        ck_assert(sel.out == NULL && sel.block == NULL);
        check_fold(&m, &sel, kept, 1);
        fm_selection_release(&sel);
    }
    free(kept);
    unmake(&m);
}

START_TEST(sums_are_those_of_the_rows)
{
    static const size_t rows[] = { 1, 2047, 2048, 2049, 9000, 65537, 150000 };

    seed = UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)_i;
    for (size_t k = 0; k < FM_COUNT(rows); k++)
        check_store(rows[k], _i < 4 ? 3 : 5);        /* with values that fill 64 bits */
}
END_TEST

/* ------------------------------------------------------------------- queries */

/* What `where` leaves, said twice: as a step, and as C. */
struct filter {
    char step[256];
    int stack, function;         /* STACK_… */
    int64_t from, to;
    int thread;                  /* -1: any */
};

enum { ANY, HAS, LACKS, LEAF, ROOT, STACK_TESTS };

static void make_filter(struct filter *f, int64_t last)
{
    static const char *const test[] = { "", "has", "lacks", "leaf", "root" };
    size_t n = 0;

    *f = (struct filter){ .stack = (int)roll(STACK_TESTS), .function = (int)roll(FUNCTIONS),
                          .from = INT64_MIN, .to = INT64_MAX, .thread = (int)roll(8) - 1 };
    if (f->thread >= THREADS)
        f->thread = -1;
    if (roll(2) == 0) {
        f->from = (int64_t)roll((uint64_t)last + 1);
        f->to = f->from + (int64_t)roll((uint64_t)last / 10 + 2);
        n += (size_t)snprintf(f->step, sizeof f->step,
                              "  - time: {range: %" PRId64 "ns..%" PRId64 "ns}\n", f->from, f->to);
    }
    n += (size_t)snprintf(f->step + n, sizeof f->step - n, "  - where: {event: e0");
    if (f->thread >= 0)
        n += (size_t)snprintf(f->step + n, sizeof f->step - n, ", thread: t%d", f->thread);
    if (f->stack != ANY)
        n += (size_t)snprintf(f->step + n, sizeof f->step - n, ", stack: {%s: '/^%c$/'}",
                              test[f->stack], 'a' + f->function);
    snprintf(f->step + n, sizeof f->step - n, "}\n");
}

static bool passes(const struct made *m, const struct filter *f, const struct row *r,
                   int64_t start)
{
    uint32_t depth = r->stack == NO_STACK ? 0 : m->depth[r->stack];
    const uint8_t *frame = depth == 0 ? NULL : m->frame[r->stack];
    bool has = false;

    for (uint32_t d = 0; d < depth; d++)
        has |= frame[d] == f->function;
    if (r->event != 0 || (f->thread >= 0 && (int)r->thread != f->thread)
        || r->ts - start < f->from || r->ts - start >= f->to)
        return false;
    switch (f->stack) {
    case HAS:
        return has;
    case LACKS:
        return !has;
    case LEAF:
        return depth > 0 && frame[depth - 1] == f->function;
    case ROOT:
        return depth > 0 && frame[0] == f->function;
    default:
        return true;
    }
}

static size_t put_wide(char *out, size_t room, fm_u128 v)
{
    char digit[48];
    size_t n = sizeof digit, k = 0;

    do {
        digit[--n] = (char)('0' + (int)(v % 10));
        v /= 10;
    } while (v > 0);
    for (; n < sizeof digit && k + 1 < room; n++)
        out[k++] = digit[n];
    out[k] = '\0';
    return k;
}

/* self and total by function, row by row; the last is that of rows without a stack. */
static void expect(const struct made *m, const struct filter *f, int64_t start, char *out,
                   size_t room)
{
    fm_u128 self[FUNCTIONS + 1] = { 0 }, total[FUNCTIONS + 1] = { 0 };
    uint64_t samples[FUNCTIONS + 1] = { 0 }, rows[FUNCTIONS + 1] = { 0 };
    size_t n;

    for (size_t i = 0; i < m->rows; i++) {
        const struct row *r = &m->row[i];
        uint32_t depth = r->stack == NO_STACK ? 0 : m->depth[r->stack], met = 0;
        if (!passes(m, f, r, start))
            continue;
        for (uint32_t d = 0; d < depth; d++)
            met |= 1u << m->frame[r->stack][d];
        if (depth == 0)
            met = 1u << FUNCTIONS;
        self[depth == 0 ? FUNCTIONS : m->frame[r->stack][depth - 1]] += r->weight;
        for (uint32_t k = 0; k <= FUNCTIONS; k++) {
            if (((met >> k) & 1) == 0)
                continue;
            total[k] += r->weight;
            samples[k] = fm_add_sat_u64(samples[k], r->count);
            rows[k]++;
        }
    }
    n = (size_t)snprintf(out, room, "function,self (ns),total (ns),samples,n\n");
    for (uint32_t k = 0; k <= FUNCTIONS; k++) {
        if (rows[k] == 0)
            continue;
        n += (size_t)snprintf(out + n, room - n, k == FUNCTIONS ? "," : "%c,", 'a' + (int)k);
        n += put_wide(out + n, room - n, self[k]);
        out[n++] = ',';
        n += put_wide(out + n, room - n, total[k]);
        n += (size_t)snprintf(out + n, room - n, ",%" PRIu64 ",%" PRIu64 "\n", samples[k],
                              rows[k]);
    }
}

static const char *ask(const struct made *m, const struct filter *f, const char *more)
{
    static char text[2048];
    const char *got;

    snprintf(text, sizeof text,
             "foldmill-query: 1\nname: q\nsteps:\n%s"
             "  - group: {by: [any.function], measures: {self: self, total: total, "
             "samples: samples, n: count()%s}}\n"
             "  - sort: [function]\n"
             "output: {columns: [function, self, total, samples, n]}\n", f->step, more);
    got = query_run(ctx, m->store, text, NULL, "csv");
    ck_assert_msg(got != NULL, "%s%s\n%s", query_error(), query_messages(), text);
    return got;
}

START_TEST(queries_agree_with_the_rows_and_with_each_other)
{
    static char want[4096];
    struct made m;
    int64_t start = 0, end = 0;

    seed = UINT64_C(0xd1b54a32d192ed03) + (uint64_t)_i * 977;
    make(&m, 1 + roll(_i == 0 ? 100000 : 9000), _i < 12 ? 4 : 5);
    ck_assert(fm_store_start(m.store, &start, &end));
    for (int k = 0; k < 12; k++) {
        struct filter f;
        make_filter(&f, end - start);
        expect(&m, &f, start, want, sizeof want);
        ck_assert_msg(strcmp(ask(&m, &f, ""), want) == 0, "by stack:\n%s%s%s", f.step, want,
                      ask(&m, &f, ""));
        /* a measure of values needs every row */
        ck_assert_msg(strcmp(ask(&m, &f, ", most: max(weight)"), want) == 0, "by row:\n%s%s%s",
                      f.step, want, ask(&m, &f, ", most: max(weight)"));
    }
    unmake(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("query_fold");
    TCase *tcase = tcase_create("fold");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, sums_are_those_of_the_rows, 0, 8);
    tcase_add_loop_test(tcase, queries_agree_with_the_rows_and_with_each_other, 0, 24);
    tcase_set_timeout(tcase, 120);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
