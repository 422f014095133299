/*
 * damage.c - what a damaged input must never do, tried on whole files through the facade.
 *
 *   damage cuts FILE…          cut at every record border (perf.data) and at 64 other places
 *   damage mutate ROUNDS FILE… 1 % of the bytes changed, ROUNDS times (a fixed random sequence)
 *   damage nomem FILE…         the n-th allocation fails, for every n
 *
 * After each import: a status the header promises, a store that verifies, no more samples than the
 * whole file has, an account that adds up, folded output whose counts are the samples kept, and no
 * memory left behind. Output is TAP, one line a file.
 */
#include "foldmill.h"

#include "util/ctx.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct bytes {
    unsigned char *data;
    size_t n;
};

static unsigned tests;
static bool all_ok = true;

static bool read_file(const char *path, struct bytes *b)
{
    FILE *f = fopen(path, "rb");
    long size;

    b->data = NULL;
    if (f == NULL)
        return false;
    if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0) {
        b->n = (size_t)size;
        b->data = malloc(b->n + 1);
        if (b->data != NULL && fread(b->data, 1, b->n, f) != b->n) {
            free(b->data);
            b->data = NULL;
        }
    }
    fclose(f);
    return b->data != NULL;
}

static void result(bool ok, const char *mode, const char *path, const char *why)
{
    printf("%sok %u - %s %s\n", ok ? "" : "not ", ++tests, mode, path);
    if (!ok) {
        printf("# %s\n", why);
        all_ok = false;
    }
}

/* ------------------------------------------------------------ one import */

/* Sums the counts of folded lines as they come. */
struct counter {
    uint64_t sum, word;
    bool in_number;
};

static int count_folded(void *user, const void *data, size_t n)
{
    struct counter *c = user;
    const char *p = data;

    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\n') {
            c->sum += c->word;
            c->word = 0;
            c->in_number = false;
        } else if (p[i] == ' ') {
            c->word = 0;
            c->in_number = true;
        } else if (c->in_number && p[i] >= '0' && p[i] <= '9') {
            c->word = c->word * 10 + (uint64_t)(p[i] - '0');
        }
    }
    return 0;
}

struct outcome {
    enum fm_status status;
    uint64_t kept;          /* samples in the store, 0 without one */
    char why[600];          /* "" = all promises kept */
    size_t leaked;
};

static void check_account(const struct fm_store *store, struct outcome *o)
{
    uint64_t dropped = 0, in = 0;

    for (size_t i = 0; i < fm_store_sources(store); i++) {
        struct fm_source_info s;
        fm_store_source(store, i, &s);
        in += s.samples_in;
        o->kept += s.samples_kept;
    }
    for (size_t i = 0; i < fm_store_accounts(store); i++) {
        struct fm_account_info a;
        fm_store_account(store, i, &a);
        if (a.kind == FM_ACCOUNT_DROPPED)
            dropped += a.count;
    }
    if (in != o->kept + dropped)
        snprintf(o->why, sizeof o->why,
                 "%" PRIu64 " samples in, %" PRIu64 " kept, %" PRIu64 " dropped", in, o->kept,
                 dropped);
}

static void check_store(struct fm_ctx *ctx, struct fm_store *store, struct outcome *o)
{
    struct counter c = {0};
    struct fm_sink sink = {count_folded, &c};
    struct fm_select_options select = FM_INIT(select);
    struct fm_error err = {0};
    uint64_t stacks = 0;

    check_account(store, o);
    if (fm_store_verify(store, &err) != FM_OK)
        snprintf(o->why, sizeof o->why, "verify: %.500s", err.message);
    if (o->kept == 0)
        return;
    select.event = "all";
    select.weight = "samples";
    if (fm_export(ctx, store, "folded", &select, NULL, &sink, &err) != FM_OK) {
        if (err.status != FM_NOMEM)
            snprintf(o->why, sizeof o->why, "folded: %.500s", err.message);
        else
            o->status = FM_NOMEM;
        return;
    }
    for (size_t i = 0; i < fm_store_events(store); i++) {
        struct fm_event_info e;
        fm_store_event(store, i, &e);
        stacks += e.samples;
    }
    if (c.sum != stacks)
        snprintf(o->why, sizeof o->why,
                 "folded sums to %" PRIu64 " of %" PRIu64 " samples", c.sum, stacks);
}

static struct outcome import(const unsigned char *data, size_t n, uint64_t fail_at)
{
    struct outcome o = {.status = FM_NOMEM};
    struct fm_import_options options = FM_INIT(options);
    struct fm_memory memory = {data, n, "input"};
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_store *store = NULL;
    struct fm_error err = {0};

    if (ctx == NULL)
        return o;
    fm_ctx_set_cap(ctx, FM_CAP_INFLATED, (uint64_t)1 << 30);
    options.buildid_dir = "/nonexistent";
    ctx->mem.fail_at = fail_at;
    o.status = fm_import_memory(ctx, &memory, &options, &store, &err);
    if (o.status != FM_OK && err.message[0] == '\0')
        snprintf(o.why, sizeof o.why, "status %d without a message", o.status);
    if (o.status == FM_OK && store == NULL)
        snprintf(o.why, sizeof o.why, "FM_OK without a store");
    if (store != NULL)
        check_store(ctx, store, &o);
    fm_store_free(store);
    fm_arena_release(&ctx->arena);
    o.leaked = atomic_load(&ctx->mem.used);
    fm_ctx_free(ctx);
    if (o.leaked != 0 && o.why[0] == '\0')
        snprintf(o.why, sizeof o.why, "%zu bytes left behind", o.leaked);
    return o;
}

/* -------------------------------------------------------------------- cuts */

static uint64_t le(const unsigned char *p, unsigned n)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < n; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

/* The next record border of a little-endian perf.data at or behind `at`; n at the end. */
static size_t next_border(const struct bytes *b, size_t at)
{
    uint64_t data = 0, size;

    if (b->n < 104 || memcmp(b->data, "PERFILE2", 8) != 0)
        return b->n;
    size = le(b->data + 8, 8);
    data = size == 16 ? 16 : le(b->data + 40, 8);
    if (at < data)
        return data < b->n ? (size_t)data : b->n;
    if (at + 8 > b->n)
        return b->n;
    size = le(b->data + at + 6, 2);
    return size < 8 || size > b->n - at ? b->n : at + (size_t)size;
}

static bool cut_at(const struct bytes *b, size_t n, uint64_t whole, char *why, size_t why_size)
{
    unsigned char *exact = malloc(n > 0 ? n : 1); /* its own block: ASan sees reads past the cut */
    struct outcome o;

    if (exact == NULL)
        return false;
    memcpy(exact, b->data, n);
    o = import(exact, n, 0);
    free(exact);
    if (o.why[0] == '\0' && o.kept > whole)
        snprintf(o.why, sizeof o.why, "%" PRIu64 " samples of %" PRIu64, o.kept, whole);
    if (o.why[0] != '\0')
        snprintf(why, why_size, "cut at %zu: %s", n, o.why);
    return o.why[0] == '\0';
}

static void cuts(const char *path)
{
    struct bytes b;
    struct outcome whole;
    char why[700] = "cannot read";
    bool ok;

    ok = read_file(path, &b);
    if (ok) {
        whole = import(b.data, b.n, 0);
        ok = whole.why[0] == '\0';
        snprintf(why, sizeof why, "whole file: %s", whole.why);
        for (size_t i = 0; ok && i < 64; i++)
            ok = cut_at(&b, b.n * i / 64 + i % 7, whole.kept, why, sizeof why);
        for (size_t at = 0; ok && (at = next_border(&b, at)) < b.n;)
            ok = cut_at(&b, at, whole.kept, why, sizeof why);
        free(b.data);
    }
    result(ok, "cuts", path, why);
}

/* ------------------------------------------------------------------ mutate */

static uint64_t rng_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* 1 % of the bytes: random, a bit flipped, or one of the values that break size fields. */
static void mutate_bytes(unsigned char *p, size_t n, uint64_t *state)
{
    static const unsigned char nasty[] = {0x00, 0xff, 0x7f, 0x80, 0x01};
    size_t changes = n / 100 + 1;

    for (size_t i = 0; i < changes; i++) {
        uint64_t r = rng_next(state);
        size_t at = (size_t)(r % n);

        switch (r >> 60 & 3) {
        case 0:
            p[at] = nasty[(r >> 40) % sizeof nasty];
            break;
        case 1:
            p[at] ^= (unsigned char)(1u << (r >> 40 & 7));
            break;
        default:
            p[at] = (unsigned char)(r >> 40);
        }
    }
}

static void mutate(const char *path, unsigned rounds)
{
    struct bytes b;
    char why[700] = "cannot read";
    bool ok = read_file(path, &b) && b.n > 0;
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

    for (unsigned round = 0; ok && round < rounds; round++) {
        unsigned char *copy = malloc(b.n);
        struct outcome o;

        if (copy == NULL)
            break;
        memcpy(copy, b.data, b.n);
        mutate_bytes(copy, b.n, &state);
        o = import(copy, b.n, 0);
        free(copy);
        ok = o.why[0] == '\0';
        snprintf(why, sizeof why, "round %u: %s", round, o.why);
    }
    free(b.data);
    result(ok, "mutate", path, why);
}

/* ------------------------------------------------------------------- nomem */

static void nomem(const char *path)
{
    struct bytes b;
    char why[700] = "cannot read";
    bool ok = read_file(path, &b);
    uint64_t n;

    for (n = 1; ok; n++) {
        struct outcome o = import(b.data, b.n, n);

        ok = o.why[0] == '\0' || o.status == FM_NOMEM;
        if (o.leaked != 0)
            ok = false;
        snprintf(why, sizeof why, "allocation %" PRIu64 ": %s", n, o.why);
        if (o.status != FM_NOMEM)
            break;
    }
    if (ok && n < 20) {
        ok = false;
        snprintf(why, sizeof why, "only %" PRIu64 " allocations were tried", n);
    }
    free(b.data);
    result(ok, "nomem", path, why);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int first = 2;
    unsigned rounds = 0;

    if (strcmp(mode, "mutate") == 0 && argc > 2) {
        for (const char *p = argv[2]; *p >= '0' && *p <= '9'; p++)
            rounds = rounds * 10 + (unsigned)(*p - '0');
        first = 3;
    }
    for (int i = first; i < argc; i++) {
        if (strcmp(mode, "cuts") == 0)
            cuts(argv[i]);
        else if (strcmp(mode, "mutate") == 0)
            mutate(argv[i], rounds);
        else if (strcmp(mode, "nomem") == 0)
            nomem(argv[i]);
        fflush(stdout);
    }
    printf("1..%u\n", tests);
    return all_ok && tests > 0 ? 0 : 1;
}
