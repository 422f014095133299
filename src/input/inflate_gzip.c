/*
 * inflate_gzip.c - gzip members (RFC 1952) by zlib, which checks CRC and length; bare deflate
 * streams (RFC 1951), which have neither. A build with ISA-L leaves it the latter alone.
 *
 *     1f 8b 08 flags mtime(4) xfl os   flags above 0x1f are reserved and must be 0
 */
#include "input/inflate.h"

#include <limits.h>
#define ZLIB_CONST
#include <zlib.h>

struct gzip_state {
    struct fm_mem *mem;
    z_stream z;
};

bool fm_gzip_match(const unsigned char *p, size_t n, bool whole)
{
    if (n < 2 || p[0] != 0x1f || p[1] != 0x8b)
        return false;
    if (n < 4)
        return whole && (n < 3 || p[2] == 8);
    return p[2] == 8 && (p[3] & 0xe0) == 0;
}

static void *gzip_alloc(void *mem, unsigned n, unsigned size)
{
    return fm_inflate_alloc(mem, n, size);
}

static void gzip_dealloc(void *mem, void *p)
{
    fm_inflate_dealloc(mem, p);
}

static void *open_bits(struct fm_mem *mem, int bits)
{
    struct gzip_state *s = fm_mem_zalloc(mem, sizeof *s);
    if (s == NULL)
        return NULL;
    s->mem = mem;
    s->z.zalloc = gzip_alloc;
    s->z.zfree = gzip_dealloc;
    s->z.opaque = mem;
    if (inflateInit2(&s->z, bits) != Z_OK) {
        fm_mem_free(mem, s, sizeof *s);
        return NULL;
    }
    return s;
}

static void *gzip_open(struct fm_mem *mem)
{
    return open_bits(mem, 15 + 16);
}

static void *deflate_open(struct fm_mem *mem)
{
    return open_bits(mem, -15);
}

static void gzip_close(void *state)
{
    struct gzip_state *s = state;
    inflateEnd(&s->z);
    fm_mem_free(s->mem, s, sizeof *s);
}

static bool gzip_restart(void *state)
{
    struct gzip_state *s = state;
    return inflateReset(&s->z) == Z_OK;
}

static enum fm_codec_result gzip_run(void *state, const unsigned char **in, size_t *in_left,
                                     unsigned char *out, size_t cap, size_t *produced,
                                     const char **why)
{
    struct gzip_state *s = state;
    unsigned take = (unsigned)FM_MIN(*in_left, (size_t)UINT_MAX);
    unsigned room = (unsigned)FM_MIN(cap, (size_t)UINT_MAX);
    s->z.next_in = *in;
    s->z.avail_in = take;
    s->z.next_out = out;
    s->z.avail_out = room;
    int r = inflate(&s->z, Z_NO_FLUSH);
    *in += take - s->z.avail_in;
    *in_left -= take - s->z.avail_in;
    *produced = room - s->z.avail_out;
    switch (r) {
    case Z_OK:
    case Z_BUF_ERROR:
        return FM_CODEC_MORE;
    case Z_STREAM_END:
        return FM_CODEC_END;
    case Z_MEM_ERROR:
        return FM_CODEC_NOMEM;
    default:
        *why = s->z.msg != NULL ? s->z.msg : "impossible code";
        return FM_CODEC_BAD;
    }
}

const struct fm_codec fm_codec_gzip = {
    .name = "gzip",
    .match = fm_gzip_match,
    .open = gzip_open,
    .close = gzip_close,
    .restart = gzip_restart,
    .run = gzip_run,
    .padding = 1,
};

const struct fm_codec fm_codec_deflate = {
    .name = "deflate",
    .open = deflate_open,
    .close = gzip_close,
    .restart = gzip_restart,
    .run = gzip_run,
};
