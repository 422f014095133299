/*
 * addresses.c - see addresses.h.
 *
 *     # kernels of the run
 *     0x40 200 gemm<float, 16>        start and size in hex, with or without 0x; the rest is
 *     240 80 copy                     the name
 *
 * Ranges are sorted by their start; where some overlap, an address is of the one that begins last,
 * and of equal ones of the last in the file.
 */
#include "import/text/addresses.h"

#include "util/error.h"
#include "util/text.h"

#include <stdlib.h>

#define LINE ((size_t)1 << 20)

struct range {
    uint64_t start, size, number;      /* number of its line */
    const char *name;
    size_t n;
};

struct fm_addresses {
    struct fm_mem *mem;
    struct fm_arena arena;             /* of the names */
    struct range *range;
    size_t ranges, cap;
};

void fm_addresses_free(struct fm_addresses *a)
{
    if (!a)
        return;
    fm_arena_release(&a->arena);
    fm_mem_free(a->mem, a->range, a->cap * sizeof *a->range);
    fm_mem_free(a->mem, a, sizeof *a);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of s from *at on. */
static size_t word(const char *s, size_t n, size_t *at, const char **text)
{
    while (*at < n && is_blank(s[*at]))
        ++*at;
    size_t from = *at;
    while (*at < n && !is_blank(s[*at]))
        ++*at;
    *text = s + from;
    return *at - from;
}

/* false: it is not a range. One without bytes is none that holds an address. */
static bool add_line(struct fm_addresses *a, const char *s, size_t n, uint64_t number, bool *oom)
{
    struct range r = {.number = number};
    const char *text;
    size_t at = 0, k = word(s, n, &at, &text);
    if (k == 0 || text[0] == '#')
        return true;
    if (!fm_text_hex(text, k, &r.start))
        return false;
    k = word(s, n, &at, &text);
    if (!fm_text_hex(text, k, &r.size))
        return false;
    while (at < n && is_blank(s[at]))
        at++;
    while (n > at && is_blank(s[n - 1]))
        n--;
    if (at == n)
        return false;
    r.n = n - at;
    r.name = fm_arena_strn(&a->arena, s + at, r.n);
    *oom = !r.name ||
           !fm_grow(a->mem, (void **)&a->range, &a->cap, a->ranges + 1, sizeof *a->range);
    if (!*oom)
        a->range[a->ranges++] = r;
    return !*oom;
}

static int compare(const void *x, const void *y)
{
    const struct range *a = x, *b = y;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

static enum fm_status read_lines(struct fm_addresses *a, const char *path,
                                 struct fm_reader *reader, struct fm_error *err)
{
    for (uint64_t number = 1;; number++) {
        const char *s;
        size_t n;
        uint64_t offset;
        bool cut, end, oom = false;
        enum fm_status status = fm_reader_line(reader, LINE, &s, &n, &offset, &cut, &end, err);
        if (status != FM_OK || end)
            return status;
        if (cut || !add_line(a, s, n, number, &oom))
            return oom ? fm_error_nomem(err)
                       : fm_error_at(err, FM_CONFIG, path, offset,
                                     "line %llu is not ADDRESS SIZE NAME, numbers in hex",
                                     (unsigned long long)number);
    }
}

enum fm_status fm_addresses_load(struct fm_ctx *ctx, const char *path,
                                 struct fm_addresses **addresses, struct fm_error *err)
{
    struct fm_input *input = NULL;
    struct fm_reader *reader = NULL;
    struct fm_addresses *a = fm_mem_zalloc(&ctx->mem, sizeof *a);
    *addresses = NULL;
    if (!a)
        return fm_error_nomem(err);
    a->mem = &ctx->mem;
    fm_arena_init(&a->arena, a->mem);
    enum fm_status status = fm_input_open(ctx, path, &input, err);
    if (status == FM_OK)
        status = fm_reader_open(input, &reader, err);
    if (status == FM_OK)
        status = read_lines(a, path, reader, err);
    fm_reader_close(reader);
    fm_input_free(input);
    if (status != FM_OK) {
        fm_addresses_free(a);
        return status;
    }
    if (a->ranges > 0)
        qsort(a->range, a->ranges, sizeof *a->range, compare);
    *addresses = a;
    return FM_OK;
}

bool fm_addresses_find(const void *addresses, uint64_t address, const char **name, size_t *n,
                       uint64_t *start)
{
    const struct fm_addresses *a = addresses;
    size_t lo = 0, hi = a->ranges;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (a->range[mid].start <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0 || address - a->range[lo - 1].start >= a->range[lo - 1].size)
        return false;
    *name = a->range[lo - 1].name;
    *n = a->range[lo - 1].n;
    *start = a->range[lo - 1].start;
    return true;
}
