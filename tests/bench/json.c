/*
 * json.c - how fast JSON is scanned: CPU time of the scanner over the items of real traces.
 *
 *     tests/bench/json [--mb N] [--only WAY] FILE...
 *
 * Of each file the items of its array of events are repeated to N MB (200 by default), then read
 *
 *     memchr    for a byte that is not there: as fast as bytes can be looked at
 *     tokens    fm_json_next() over everything
 *     skip      fm_json_skip() over the whole
 *     items     fm_json_item(): members split, along shapes where items look alike
 *     times     the same, and ts and dur read exactly and summed
 *     args      the same, and the members of args split where the shape has not done so
 *     range     an item's end is found first, then its members are split: the other design
 *
 * through windows of 128 KiB. Each line: MB/s, million items a second, ratio to memchr. Not run by
 * make check; python3 and node are timed by the caller (tests/bench/json.sh).
 */
#include "input/input.h"
#include "util/error.h"
#include "util/json_inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TURNS 5                    /* the fastest counts */
#define WINDOW ((size_t)128 << 10)

struct bytes {
    unsigned char *data;
    size_t n, at;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool more(void *user, size_t used, size_t need, const unsigned char **data, size_t *n)
{
    struct bytes *b = user;
    b->at += used;
    *data = b->data + b->at;
    *n = FM_MIN(FM_MAX(need, WINDOW), b->n - b->at);
    return true;
}

/* ------------------------------------------------------------------ ways to read */

static uint64_t checksum;          /* so that nothing is optimised away */

static uint64_t by_memchr(struct bytes *b)
{
    checksum += memchr(b->data, 1, b->n) != NULL;
    return 0;
}

static uint64_t by_tokens(struct bytes *b)
{
    struct fm_json j;
    uint64_t n = 0;
    enum fm_json_token t;
    fm_json_init(&j, more, b);
    while ((t = fm_json_next(&j)) > FM_JSON_END) {
        n += t == FM_JSON_OBJECT && j.depth == 2;
        checksum += j.n;
    }
    return n;
}

static uint64_t by_skip(struct bytes *b)
{
    struct fm_json j;
    fm_json_init(&j, more, b);
    checksum += fm_json_skip(&j, fm_json_next(&j));
    return 0;
}

enum depth { ITEMS, TIMES, ARGS };

static void take(const struct fm_json_object *o, enum depth depth, struct fm_json_object *inner)
{
    struct fm_json_time ts = {0, 0, 0}, dur = {0, 0, 0}, sum;
    int64_t end;
    for (uint32_t i = 0; i < o->fields; i++) {
        const struct fm_json_field *f = &o->field[i];
        switch (f->name) {
        case FM_JSON_NAME('t', 's'):
            checksum += depth >= TIMES && fm_json_micros(f->text, f->n, &ts);
            break;
        case FM_JSON_NAME('d', 'u', 'r'):
            checksum += depth >= TIMES && fm_json_micros(f->text, f->n, &dur);
            break;
        case FM_JSON_NAME('n', 'a', 'm', 'e'):
            checksum += f->n;
            break;
        case FM_JSON_NAME('a', 'r', 'g', 's'):
            if (depth >= ARGS && f->split)
                checksum += f->inner_n;
            else if (depth >= ARGS && fm_json_object_read(inner, f->text, f->n))
                checksum += inner->fields;
            break;
        default:
            break;
        }
    }
    if (depth >= TIMES && fm_json_time_add(ts, dur, &sum) && fm_json_time_round(sum, &end))
        checksum += (uint64_t)end;
}

static uint64_t by_item(struct bytes *b, enum depth depth)
{
    static struct fm_json_object o, inner;
    struct fm_json j;
    uint64_t n = 0;
    enum fm_json_item item;
    fm_json_init(&j, more, b);
    fm_json_next(&j);
    while ((item = fm_json_item(&j, &o)) > FM_JSON_ITEM_END)
        if (item == FM_JSON_ITEM_OBJECT) {
            take(&o, depth, &inner);
            n++;
        }
    return n;
}

static uint64_t by_items(struct bytes *b)
{
    return by_item(b, ITEMS);
}

static uint64_t by_times(struct bytes *b)
{
    return by_item(b, TIMES);
}

static uint64_t by_args(struct bytes *b)
{
    return by_item(b, ARGS);
}

static uint64_t by_range(struct bytes *b)
{
    static struct fm_json_object o;
    const unsigned char *p = b->data + 1, *end = b->data + b->n;
    const struct fm_json_vector *v = fm_json_vector_best();
    uint64_t n = 0;
    for (;;) {
        struct fm_json_skip s = {0, 0, 0};
        while (p < end && (*p <= ' ' || *p == ','))
            p++;
        if (*p != '{')
            break;
        const unsigned char *from = p;
        if (!v->skip(&s, &p, FM_MIN(p + WINDOW, end)))
            break;
        fm_json_object_read(&o, (const char *)from, (size_t)(p - from));
        take(&o, ITEMS, NULL);
        n++;
    }
    return n;
}

static const struct {
    const char *name;
    uint64_t (*run)(struct bytes *b);
} ways[] = {{"memchr", by_memchr}, {"tokens", by_tokens}, {"skip", by_skip}, {"items", by_items},
            {"times", by_times},   {"args", by_args},     {"range", by_range}};

/* ------------------------------------------------------------------ what is read */

static bool read_file(const char *path, struct bytes *b)
{
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_error err = {0};
    char *data = NULL;
    bool ok = fm_input_slurp(ctx, path, (size_t)1 << 30, &data, &b->n, &err) == FM_OK;
    b->data = ok ? malloc(b->n + 1) : NULL;
    if (b->data)
        memcpy(b->data, data, b->n);
    if (ok)
        fm_mem_free(&ctx->mem, data, b->n + 1);
    else
        fprintf(stderr, "%s: %s\n", path, err.message);
    fm_error_clear(&err);
    fm_ctx_free(ctx);
    return b->data != NULL;
}

/* Stands inside the array of events afterwards. */
static bool enter(struct fm_json *j)
{
    enum fm_json_token t = fm_json_next(j);
    while (t == FM_JSON_OBJECT || t == FM_JSON_KEY) {
        bool ours = t == FM_JSON_KEY && j->n == 11 && memcmp(j->text, "traceEvents", 11) == 0;
        if (t == FM_JSON_KEY && !ours && !fm_json_skip(j, t))
            return false;
        t = fm_json_next(j);
        if (ours)
            break;
    }
    return t == FM_JSON_ARRAY;
}

/* "[ items , items , … ]" of about `size` bytes. */
static bool repeat(struct bytes *b, size_t size)
{
    static struct fm_json_object o;
    struct fm_json j;
    enum fm_json_item item = FM_JSON_ITEM_END;
    fm_json_init_memory(&j, b->data, b->n);
    if (!enter(&j))
        return false;
    uint64_t from = fm_json_offset(&j, j.p), to = from;
    while ((item = fm_json_item(&j, &o)) > FM_JSON_ITEM_END)
        to = o.at + o.bytes;
    size_t n = (size_t)(to - from), times = n ? size / n + 1 : 0;
    unsigned char *all = malloc(times * (n + 2) + 2), *p = all;
    if (!all || !n)
        return false;
    *p++ = '[';
    for (size_t i = 0; i < times; i++) {
        memcpy(p, b->data + from, n);
        p += n;
        *p++ = ',';
        *p++ = '\n';
    }
    *p++ = ']';
    free(b->data);
    b->data = all;
    b->n = (size_t)(p - all);
    return true;
}

int main(int argc, char **argv)
{
    size_t megabytes = 200;
    const char *only = NULL;
    int i = 1;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--mb") == 0)
            megabytes = (size_t)strtoul(argv[i + 1], NULL, 10);
        else
            only = argv[i + 1];
    }
    for (; i < argc; i++) {
        struct bytes b = {NULL, 0, 0};
        double base = 0;
        if (!read_file(argv[i], &b) || !repeat(&b, megabytes * 1000000)) {
            fprintf(stderr, "%s: no array of events\n", argv[i]);
            free(b.data);
            continue;
        }
        printf("%s\n", argv[i]);
        for (size_t w = 0; w < FM_COUNT(ways); w++) {
            double best = 1e9;
            uint64_t n = 0;
            if (only && w > 0 && strcmp(only, ways[w].name) != 0)
                continue;
            for (int turn = 0; turn < TURNS; turn++) {
                b.at = 0;
                double from = now();
                n = ways[w].run(&b);
                best = FM_MIN(best, now() - from);
            }
            base = w == 0 ? best : base;
            printf("  %-7s %8.0f MB/s  %6.2f M items/s  %5.1f B each  %5.2f x memchr\n",
                   ways[w].name, (double)b.n / best / 1e6, (double)n / best / 1e6,
                   n ? (double)b.n / (double)n : 0.0, best / base);
        }
        free(b.data);
    }
    return checksum == 42;
}
