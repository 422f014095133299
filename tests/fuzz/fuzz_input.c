/*
 * fuzz_input.c - any bytes as an input: read front to back, in lines, spooled with seeks, inflated
 * in pieces, as a tar archive. Only crashes, endless loops and broken promises about sizes count.
 */
#include "input/tar.h"
#include "util/error.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
extern const char fuzz_name[];
const char fuzz_name[] = "input";

#define LIMIT ((uint64_t)4 << 20)

static void demand(bool ok)
{
    if (!ok)
        abort();
}

/* *sum = of all bytes, in order. */
static uint64_t read_forward(struct fm_input *input, uint64_t *sum)
{
    struct fm_reader *reader;
    uint64_t size = 0;
    size_t need = 1;
    *sum = 0;
    if (fm_reader_open(input, &reader, NULL) != FM_OK)
        return 0;
    for (;;) {
        const unsigned char *p;
        size_t have;
        struct fm_error err = { 0 };
        enum fm_status status = fm_reader_peek(reader, need, &p, &have, &err);
        demand((status == FM_OK) == (err.status == FM_OK));
        if (have == 0)
            break;
        size_t take = FM_MIN(need, have);
        for (size_t i = 0; i < take; i++)
            *sum = fm_mix(*sum, p[i]);
        fm_reader_consume(reader, take);
        size += take;
        need = need * 5 % 70001 + 1;
    }
    demand(fm_reader_offset(reader) == size);
    demand(size <= LIMIT || fm_input_filters(input)[0] == '\0');
    fm_reader_close(reader);
    return size;
}

static uint64_t read_lines(struct fm_input *input)
{
    struct fm_reader *reader;
    uint64_t offset, behind = 0;
    const char *line;
    size_t length;
    bool cut, end = false;
    if (fm_reader_open(input, &reader, NULL) != FM_OK)
        return 0;
    while (fm_reader_line(reader, 50, &line, &length, &offset, &cut, &end, NULL) == FM_OK && !end) {
        demand(offset >= behind && length <= 50);
        behind = offset + length;
    }
    fm_reader_close(reader);
    return behind;
}

static void seek_about(struct fm_input *input, uint64_t size)
{
    struct fm_reader *reader;
    if (fm_reader_open(input, &reader, NULL) != FM_OK)
        return;
    for (uint64_t at = size; at > 0; at /= 2) {
        const unsigned char *p;
        size_t have;
        fm_reader_seek(reader, size - at, NULL);
        fm_reader_peek(reader, 1, &p, &have, NULL);
        demand(have > 0);
    }
    fm_reader_close(reader);
}

static void inflate_pieces(struct fm_ctx *ctx, const uint8_t *data, size_t n)
{
    static const char *const kind[] = { "gzip", "zstd", "xz", "lz4", "bzip2" };
    for (size_t i = 0; i < FM_COUNT(kind); i++) {
        struct fm_inflate *z;
        unsigned char out[777];
        uint64_t sum = 0;
        if (fm_inflate_new(ctx, kind[i], &z, NULL) != FM_OK)
            continue;
        enum fm_status status = FM_OK;
        for (size_t at = 0; at < n && status == FM_OK && sum < LIMIT; at += 31) {
            const unsigned char *in = data + at;
            size_t left = FM_MIN((size_t)31, n - at), got;
            do {
                status = fm_inflate_run(z, &in, &left, out, sizeof out, &got, NULL);
                demand(got <= sizeof out);
                sum += got;
            } while (status == FM_OK && (left > 0 || got == sizeof out) && sum < LIMIT);
        }
        fm_inflate_free(z);
    }
}

static void open_members(struct fm_input *input)
{
    struct fm_tar *tar;
    uint64_t size = 0, sum;
    bool oom;
    if (fm_tar_open(input, &tar, NULL) != FM_OK)
        return;
    (void)fm_input_size(input, &size);
    for (size_t i = 0; i < fm_tar_members(tar); i++) {
        const struct fm_tar_member *member = fm_tar_member(tar, i);
        struct fm_input *part;
        demand(member->size == 0 || (member->at < size && member->size <= size - member->at));
        (void)fm_tar_find(tar, member->name, &oom);
        if (fm_tar_input(tar, member, "member", &part, NULL) != FM_OK)
            continue;
        if (fm_input_filters(part)[0] == '\0')
            demand(read_forward(part, &sum) == member->size);
        fm_input_free(part);
    }
    fm_tar_close(tar);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_input *input;
    uint64_t size[2] = { 0 }, sum[2];
    if (ctx == NULL)
        return 0;
    fm_ctx_set_cap(ctx, FM_CAP_MEMORY, (uint64_t)256 << 20);
    fm_ctx_set_cap(ctx, FM_CAP_INFLATED, LIMIT);
    for (int i = 0; i < 4; i++) {
        if (fm_input_open_memory(ctx, data, n, "fuzz", &input, NULL) != FM_OK)
            break;
        if (i == 1)
            read_lines(input);
        if (i == 2 && fm_input_seekable(input, NULL) == FM_OK) {
            demand(fm_input_size(input, &size[1]));
            seek_about(input, size[1]);
            demand(size[1] == size[0]);
            demand(read_forward(input, &sum[1]) == size[1] && sum[1] == sum[0]);
        }
        if (i == 3)
            open_members(input);
        if (i == 0)
            size[0] = read_forward(input, &sum[0]);
        fm_input_free(input);
    }
    inflate_pieces(ctx, data, n);
    fm_ctx_free(ctx);
    return 0;
}
