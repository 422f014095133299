/*
 * slurp.c - a whole small file in memory: ELF members, kallsyms, maps. Never for inputs.
 */
#include "input/inner.h"

#define FIRST_BLOCK ((size_t)16 << 10)

/* Room for `need` bytes and a NUL. */
static bool grow(struct fm_mem *mem, char **data, size_t *cap, size_t need)
{
    size_t want = FM_MAX(*cap, FIRST_BLOCK);
    while (want <= need) {
        if (!fm_mul_size(want, 2, &want))
            return false;
    }
    if (want == *cap)
        return true;
    char *p = fm_mem_realloc(mem, *data, *cap, want);
    if (p == NULL)
        return false;
    *data = p;
    *cap = want;
    return true;
}

static enum fm_status read_all(struct fm_reader *reader, struct fm_input *input, size_t max,
                               char **data, size_t *n, size_t *cap, struct fm_error *err)
{
    struct fm_mem *mem = &input->ctx->mem;
    for (;;) {
        const unsigned char *p;
        size_t have;
        enum fm_status status = fm_reader_peek(reader, 1, &p, &have, err);
        if (status != FM_OK)
            return status;
        if (have > max - *n)
            return fm_error_at(err, FM_LIMIT, input->name, FM_NO_OFFSET,
                               "is larger than the limit of %zu bytes", max);
        if (!grow(mem, data, cap, *n + have))
            return fm_error_nomem(err);
        if (have == 0)
            break;
        memcpy(*data + *n, p, have);
        *n += have;
        fm_reader_consume(reader, have);
    }
    /* To the exact size, which is what the caller frees. */
    char *exact = fm_mem_realloc(mem, *data, *cap, *n + 1);
    if (exact == NULL)
        return fm_error_nomem(err);
    *data = exact;
    *cap = *n + 1;
    exact[*n] = '\0';
    return FM_OK;
}

enum fm_status fm_input_slurp_all(struct fm_input *input, size_t max, char **data, size_t *n,
                                  struct fm_error *err)
{
    struct fm_reader *reader = NULL;
    size_t cap = 0;
    *data = NULL;
    *n = 0;
    fm_assert(max < SIZE_MAX / 4);
    enum fm_status status = fm_reader_open(input, &reader, err);
    if (status == FM_OK)
        status = read_all(reader, input, max, data, n, &cap, err);
    fm_reader_close(reader);
    if (status != FM_OK) {
        fm_mem_free(&input->ctx->mem, *data, cap);
        *data = NULL;
        *n = 0;
    }
    return status;
}

enum fm_status fm_input_slurp(struct fm_ctx *ctx, const char *path, size_t max, char **data,
                              size_t *n, struct fm_error *err)
{
    struct fm_input *input = NULL;
    *data = NULL;
    *n = 0;
    enum fm_status status = fm_input_open(ctx, path, &input, err);
    if (status != FM_OK)
        return status;
    status = fm_input_slurp_all(input, max, data, n, err);
    fm_input_free(input);
    return status;
}
