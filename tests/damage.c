/*
 * damage.c - what a damaged input must never do, tried on whole files through the facade.
 *
 *   damage cuts BORDERS FILE…  cut at record borders (perf.data, JFR; evenly chosen when there are
 *                              more than BORDERS) and at 64 other places
 *   damage mutate ROUNDS FILE… 1 % of the bytes changed, ROUNDS times (a fixed random sequence)
 *   damage fields PLACES FILE… sizes of 0 and 2^32-1, absurd counts: 0, 2^31-1, 2^32-1, 2^63-1,
 *                              2^63 and 2^64-1 at the aligned places of a perf.data's header,
 *                              attributes, feature table and features' heads, record headers and
 *                              first fields (evenly chosen when there are more than PLACES)
 *   damage nomem [FROM] FILE…  the n-th allocation fails, for every n beyond FROM
 *
 * After each import: a status the header promises, which agrees with the findings of the account; a
 * damage that is located; a store that verifies, an account that adds up, folded output whose
 * counts are the samples kept; within 5 s of CPU and a bound of memory, nothing left behind. When
 * cut, all samples before the cut and no more than the whole file has. Output is TAP, one line a
 * file.
 */
#include "foldmill.h"

#include "util/ctx.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_MAX 5
#define MEMORY_BASE ((size_t)64 << 20)  /* buffers of fixed size, and what a few rows cost */
#define MEMORY_TIMES 32                 /* beyond: bytes held for one of the input */

struct bytes {
    unsigned char *data;
    size_t n;
};

static char kallsyms[64];   /* names of the kernel: not this machine's, which take long to read */
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
    uint64_t in, kept;      /* samples met and in the store, 0 without one */
    char why[900];          /* "" = all promises kept */
    size_t leaked, peak;
    double seconds;
};

static void check_account(const struct fm_store *store, struct outcome *o)
{
    uint64_t dropped = 0;
    bool damage = false;

    for (size_t i = 0; i < fm_store_sources(store); i++) {
        struct fm_source_info s;
        fm_store_source(store, i, &s);
        o->in += s.samples_in;
        o->kept += s.samples_kept;
    }
    for (size_t i = 0; i < fm_store_accounts(store); i++) {
        struct fm_account_info a;
        fm_store_account(store, i, &a);
        if (a.kind == FM_ACCOUNT_DROPPED)
            dropped += a.count;
        damage |= a.kind == FM_ACCOUNT_FINDING && a.severity == FM_DAMAGE;
    }
    if (o->in != o->kept + dropped)
        snprintf(o->why, sizeof o->why,
                 "%" PRIu64 " samples in, %" PRIu64 " kept, %" PRIu64 " dropped", o->in, o->kept,
                 dropped);
    if (damage != (o->status != FM_OK))
        snprintf(o->why, sizeof o->why, "status %d, but %s damage in the account", o->status,
                 damage ? "a" : "no");
}

/* What an error must hold: words, and for damage a file and a place in it. */
static void check_error(const struct fm_error *err, struct outcome *o)
{
    char text[800];
    bool damage = o->status == FM_FORMAT || o->status == FM_TRUNCATED;

    fm_error_text(err, text, sizeof text);
    if (o->status == FM_IO || o->status >= FM_CONFIG)
        snprintf(o->why, sizeof o->why, "status %d: %s", o->status, text);
    if (o->status != FM_OK && (err->message[0] == '\0' || err->status != o->status))
        snprintf(o->why, sizeof o->why, "status %d without its message: %s", o->status, text);
    if (damage && (err->source[0] == '\0' || (err->offset == FM_NO_OFFSET && err->line == 0)))
        snprintf(o->why, sizeof o->why, "damage without a place: %s", text);
}

static void check_store(struct fm_ctx *ctx, struct fm_store *store, struct outcome *o)
{
    struct counter c = {0};
    struct fm_sink sink = {count_folded, &c};
    struct fm_select_options select = FM_INIT(select);
    struct fm_error err = {0};
    uint64_t stacks = 0, spans = 0;

    check_account(store, o);
    if (fm_store_verify(store, &err) == FM_NOMEM)
        o->status = FM_NOMEM;
    else if (err.status != FM_OK)
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
        spans += e.kind != FM_KIND_SAMPLE ? e.samples : 0;
    }
    if (c.sum > stacks || c.sum < stacks - spans) /* a span that lost its time has no line */
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
    clock_t start = clock();

    if (ctx == NULL)
        return o;
    fm_ctx_set_cap(ctx, FM_CAP_INFLATED, (uint64_t)1 << 30);
    options.symfs = options.buildid_dir = options.map_dir = "/nonexistent";
    options.kallsyms = kallsyms;
    ctx->mem.fail_at = fail_at;
    o.status = fm_import_memory(ctx, &memory, &options, &store, &err);
    check_error(&err, &o);
    if (o.status == FM_OK && store == NULL)
        snprintf(o.why, sizeof o.why, "FM_OK without a store");
    if (store != NULL)
        check_store(ctx, store, &o);
    fm_store_free(store);
    fm_arena_release(&ctx->arena);
    o.leaked = atomic_load(&ctx->mem.used);
    o.peak = atomic_load(&ctx->mem.peak);
    fm_ctx_free(ctx);
    o.seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (o.seconds > SECONDS_MAX)
        snprintf(o.why, sizeof o.why, "took %.1f s", o.seconds);
    if (o.peak > MEMORY_BASE + MEMORY_TIMES * n)
        snprintf(o.why, sizeof o.why, "held %zu bytes for an input of %zu", o.peak, n);
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

/* Where the sections of a little-endian perf.data lie. */
struct layout {
    uint64_t attrs, attrs_size, data, data_end;
    bool pipe;
};

static bool find_layout(const struct bytes *b, struct layout *l)
{
    memset(l, 0, sizeof *l);
    if (b->n < 16 || memcmp(b->data, "PERFILE2", 8) != 0)
        return false;
    l->pipe = le(b->data + 8, 8) == 16;
    l->data = 16;
    l->data_end = b->n;
    if (l->pipe)
        return true;
    if (b->n < 104)
        return false;
    l->attrs = le(b->data + 24, 8);
    l->attrs_size = le(b->data + 32, 8);
    l->data = le(b->data + 40, 8);
    if (le(b->data + 48, 8) != 0)
        l->data_end = l->data + le(b->data + 48, 8);
    return l->attrs + l->attrs_size <= b->n && l->data <= l->data_end && l->data_end <= b->n;
}

/* The border behind the record at `at`; 0 behind the last. Type 66 and 71 have bytes behind them
 * that belong to them (tracing data, an AUX buffer). */
static size_t next_border(const struct bytes *b, const struct layout *l, size_t at)
{
    uint64_t size, type, after = 0;

    if (at + 8 > l->data_end)
        return 0;
    type = le(b->data + at, 4);
    size = le(b->data + at + 6, 2);
    if (size < 8 || size > l->data_end - at)
        return 0;
    if (type == 66 && size == 16)
        after = le(b->data + at + 8, 4);
    else if (type == 71 && size >= 16)
        after = le(b->data + at + 8, 8);
    if (after > l->data_end - at - size)
        return 0;
    return at + (size_t)(size + after);
}

/* The k-th of at most `want` things out of `n`, evenly spread. */
static bool chosen(size_t k, size_t n, size_t want)
{
    return n <= want || k * want / n != (k + 1) * want / n;
}

static bool cut_at(const struct bytes *b, size_t n, uint64_t before, uint64_t whole, char *why,
                   size_t why_size)
{
    unsigned char *exact = malloc(n > 0 ? n : 1); /* its own block: ASan sees reads past the cut */
    struct outcome o;

    if (exact == NULL)
        return false;
    memcpy(exact, b->data, n);
    o = import(exact, n, 0);
    free(exact);
    if (o.why[0] == '\0' && (o.in > whole || o.in < before))
        snprintf(o.why, sizeof o.why,
                 "%" PRIu64 " samples of %" PRIu64 ", %" PRIu64 " stand before the cut", o.in,
                 whole, before);
    if (o.why[0] != '\0')
        snprintf(why, why_size, "cut at %zu: %s", n, o.why);
    return o.why[0] == '\0';
}

/* The border behind the event of a JFR chunk (1.x, 2.x) at `at`, or behind its header; 0 behind the
 * last. */
static size_t jfr_border(const struct bytes *b, size_t at)
{
    uint64_t size = 0;
    size_t n = 0;

    if (b->n - at > 68 && memcmp(b->data + at, "FLR", 4) == 0)
        return at + 68;
    while (n < 9 && at + n < b->n) {
        size |= (uint64_t)(b->data[at + n] & 0x7f) << 7 * n;
        if ((b->data[at + n++] & 0x80) == 0)
            break;
    }
    return size < n || size > b->n - at || at + size >= b->n ? 0 : at + (size_t)size;
}

static bool cut_events(const struct bytes *b, size_t borders, uint64_t whole, char *why,
                       size_t why_size)
{
    size_t n = 0, k = 0;
    bool ok = true;

    for (size_t at = 0, next; (next = jfr_border(b, at)) != 0; at = next)
        n++;
    for (size_t at = 0, next; ok && (next = jfr_border(b, at)) != 0; at = next, k++) {
        if (chosen(k, n, borders))
            ok = cut_at(b, next, 0, whole, why, why_size) &&
                 cut_at(b, next + 1, 0, whole, why, why_size);
    }
    return ok;
}

static bool cut_borders(const struct bytes *b, size_t borders, uint64_t whole, char *why,
                        size_t why_size)
{
    struct layout l;
    uint64_t samples = 0;
    size_t n = 0, k = 0;
    bool ok = true;

    if (b->n > 68 && memcmp(b->data, "FLR", 4) == 0 && b->data[5] != 0)
        return cut_events(b, borders, whole, why, why_size);
    if (!find_layout(b, &l))
        return true;
    for (size_t at = (size_t)l.data; at != 0; at = next_border(b, &l, at))
        n++;
    for (size_t at = (size_t)l.data, next; ok && at != 0; at = next, k++) {
        next = next_border(b, &l, at);
        if (chosen(k, n, borders)) {
            ok = cut_at(b, at, samples, whole, why, why_size);
            if (ok && next != 0)
                ok = cut_at(b, next - 1, samples, whole, why, why_size);
        }
        samples += next != 0 && le(b->data + at, 4) == 9;
    }
    return ok;
}

static void cuts(const char *path, size_t borders)
{
    struct bytes b;
    struct outcome whole;
    char why[1000] = "cannot read";
    bool ok;

    ok = read_file(path, &b);
    if (ok) {
        whole = import(b.data, b.n, 0);
        ok = whole.why[0] == '\0';
        snprintf(why, sizeof why, "whole file: %s", whole.why);
        for (size_t i = 0; ok && i < 64; i++)
            ok = cut_at(&b, FM_MIN(b.n, b.n * i / 64 + i % 7), 0, whole.in, why, sizeof why);
        ok = ok && cut_borders(&b, borders, whole.in, why, sizeof why);
        free(b.data);
    }
    result(ok, "cuts", path, why);
}

/* ------------------------------------------------------------------ fields */

/* Aligned places whose values are worth breaking. */
struct places {
    size_t *at;
    size_t n, cap;
};

static void add_places(struct places *p, const struct bytes *b, uint64_t from, uint64_t size)
{
    for (uint64_t at = from; at < from + size && at + 4 <= b->n; at += 4) {
        if (p->n == p->cap) {
            size_t cap = p->cap * 2 + 1024;
            size_t *more = realloc(p->at, cap * sizeof *more);
            if (more == NULL)
                return;
            p->at = more;
            p->cap = cap;
        }
        p->at[p->n++] = (size_t)at;
    }
}

static void find_places(const struct bytes *b, const struct layout *l, struct places *p)
{
    uint64_t table = l->data_end;

    add_places(p, b, 8, l->pipe ? 8 : 96);
    add_places(p, b, l->attrs, l->attrs_size);
    for (unsigned bit = 0; !l->pipe && bit < 256; bit++) {
        if ((b->data[72 + bit / 8] >> bit % 8 & 1) == 0 || table + 16 > b->n)
            continue;
        add_places(p, b, table, 16);
        add_places(p, b, le(b->data + table, 8), 32);
        table += 16;
    }
    for (size_t at = (size_t)l->data, next; at != 0; at = next) {
        next = next_border(b, l, at);
        if (next != 0)
            add_places(p, b, at, FM_MIN(next - at, (size_t)64));
    }
}

static bool break_place(const struct bytes *b, size_t at, char *why, size_t why_size)
{
    static const struct {
        uint64_t value;
        unsigned bytes;
    } absurd[] = {{0, 4}, {0x7fffffff, 4}, {0xffffffff, 4}, {0, 8},
                  {INT64_MAX, 8}, {UINT64_C(1) << 63, 8}, {UINT64_MAX, 8}};
    unsigned char old[8];
    bool ok = true;

    for (size_t k = 0; ok && k < FM_COUNT(absurd); k++) {
        size_t n = FM_MIN(b->n - at, (size_t)absurd[k].bytes);
        struct outcome o;

        memcpy(old, b->data + at, n);
        for (size_t i = 0; i < n; i++)
            b->data[at + i] = (unsigned char)(absurd[k].value >> (8 * i));
        o = import(b->data, b->n, 0);
        memcpy(b->data + at, old, n);
        ok = o.why[0] == '\0';
        if (!ok)
            snprintf(why, why_size, "%#" PRIx64 " (%u bytes) at %zu: %s", absurd[k].value,
                     absurd[k].bytes, at, o.why);
    }
    return ok;
}

static void fields(const char *path, size_t limit)
{
    struct bytes b;
    struct layout l;
    struct places p = {0};
    char why[1000] = "cannot read";
    bool ok = read_file(path, &b);

    if (ok && find_layout(&b, &l)) {
        find_places(&b, &l, &p);
        ok = p.n > 0;
        for (size_t k = 0; ok && k < p.n; k++)
            if (chosen(k, p.n, limit))
                ok = break_place(&b, p.at[k], why, sizeof why);
    }
    free(p.at);
    free(b.data);
    result(ok, "fields", path, why);
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

/* What failed, for a closer look: into the file $DAMAGE_KEEP names. */
static void keep_bytes(const unsigned char *data, size_t n)
{
    const char *path = getenv("DAMAGE_KEEP");
    FILE *f = path != NULL ? fopen(path, "wb") : NULL;

    if (f != NULL) {
        (void)fwrite(data, 1, n, f);
        fclose(f);
    }
}

static void mutate(const char *path, size_t rounds)
{
    struct bytes b;
    char why[1000] = "cannot read";
    bool ok = read_file(path, &b) && b.n > 0;
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

    for (size_t round = 0; ok && round < rounds; round++) {
        unsigned char *copy = malloc(b.n);
        struct outcome o;

        if (copy == NULL)
            break;
        memcpy(copy, b.data, b.n);
        mutate_bytes(copy, b.n, &state);
        o = import(copy, b.n, 0);
        ok = o.why[0] == '\0';
        if (!ok)
            keep_bytes(copy, b.n);
        free(copy);
        snprintf(why, sizeof why, "round %zu: %s", round, o.why);
    }
    free(b.data);
    result(ok, "mutate", path, why);
}

/* ------------------------------------------------------------------- nomem */

static void nomem(const char *path, size_t from)
{
    struct bytes b;
    char why[1000] = "cannot read";
    bool ok = read_file(path, &b);
    uint64_t n;

    for (n = from + 1; ok; n++) {
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

static bool make_kallsyms(void)
{
    static const char text[] = "ffffffff81000000 T _text\n"
                               "ffffffff81000000 T first\n"
                               "ffffffff81800000 t second\n"
                               "ffffffff82000000 T _etext\n";
    int fd = memfd_create("kallsyms", 0);

    snprintf(kallsyms, sizeof kallsyms, "/proc/self/fd/%d", fd);
    return fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(const char *path, size_t n);
    } modes[] = {{"cuts", cuts}, {"mutate", mutate}, {"fields", fields}, {"nomem", nomem}};
    size_t n = 0;
    int first = 2;

    if (!make_kallsyms())
        return 1;
    if (argc > 2 && argv[2][0] >= '0' && argv[2][0] <= '9') {
        for (const char *p = argv[2]; *p >= '0' && *p <= '9'; p++)
            n = n * 10 + (size_t)(*p - '0');
        first = 3;
    }
    for (int i = first; i < argc; i++) {
        for (size_t k = 0; k < FM_COUNT(modes); k++)
            if (strcmp(argv[1], modes[k].name) == 0)
                modes[k].run(argv[i], n);
        fflush(stdout);
    }
    printf("1..%u\n", tests);
    return all_ok && tests > 0 ? 0 : 1;
}
