/*
 * inflate_xz.c - .xz streams by liblzma, which checks the integrity fields.
 *
 *     fd 37 7a 58 5a 00   a stream; between streams zeros in multiples of four
 */
#include "config.h"

#include "input/inflate.h"

static bool xz_match(const unsigned char *p, size_t n, bool whole)
{
    static const unsigned char magic[6] = { 0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00 };
    if (n < sizeof magic)
        return whole && n >= 2 && memcmp(p, magic, n) == 0;
    return memcmp(p, magic, sizeof magic) == 0;
}

#ifdef FM_WITH_LZMA
#include <lzma.h>

/* xz -9 needs 65 MiB; larger dictionaries are made by hand. */
#define MEMORY_LIMIT ((uint64_t)256 << 20)

struct xz_state {
    struct fm_mem *mem;
    lzma_allocator hooks; /* the stream points to it */
    lzma_stream z;
};

static void *xz_alloc(void *mem, size_t n, size_t size)
{
    return fm_inflate_alloc(mem, n, size);
}

static void xz_dealloc(void *mem, void *p)
{
    fm_inflate_dealloc(mem, p);
}

static bool xz_restart(void *state)
{
    struct xz_state *s = state;
    return lzma_stream_decoder(&s->z, MEMORY_LIMIT, 0) == LZMA_OK;
}

static void xz_close(void *state)
{
    struct xz_state *s = state;
    lzma_end(&s->z);
    fm_mem_free(s->mem, s, sizeof *s);
}

static void *xz_open(struct fm_mem *mem)
{
    static const lzma_stream fresh = LZMA_STREAM_INIT;
    struct xz_state *s = fm_mem_zalloc(mem, sizeof *s);
    if (s == NULL)
        return NULL;
    s->mem = mem;
    s->hooks = (lzma_allocator){ xz_alloc, xz_dealloc, mem };
    s->z = fresh;
    s->z.allocator = &s->hooks;
    if (!xz_restart(s)) {
        xz_close(s);
        return NULL;
    }
    return s;
}

static enum fm_codec_result xz_run(void *state, const unsigned char **in, size_t *in_left,
                                   unsigned char *out, size_t cap, size_t *produced,
                                   const char **why)
{
    struct xz_state *s = state;
    s->z.next_in = *in;
    s->z.avail_in = *in_left;
    s->z.next_out = out;
    s->z.avail_out = cap;
    lzma_ret r = lzma_code(&s->z, LZMA_RUN);
    *in = s->z.next_in;
    *in_left = s->z.avail_in;
    *produced = cap - s->z.avail_out;
    switch (r) {
    case LZMA_OK:
    case LZMA_BUF_ERROR:
        return FM_CODEC_MORE;
    case LZMA_STREAM_END:
        return FM_CODEC_END;
    case LZMA_MEM_ERROR:
        return FM_CODEC_NOMEM;
    case LZMA_MEMLIMIT_ERROR:
        *why = "the stream needs more than 256 MiB to unpack";
        return FM_CODEC_UNSUPPORTED;
    case LZMA_OPTIONS_ERROR:
        *why = "the stream uses a filter that liblzma does not know";
        return FM_CODEC_UNSUPPORTED;
    case LZMA_FORMAT_ERROR:
        *why = "not a stream header";
        return FM_CODEC_BAD;
    default:
        *why = "a block or checksum is wrong";
        return FM_CODEC_BAD;
    }
}
#endif

const struct fm_codec fm_codec_xz = {
    .name = "xz",
    .match = xz_match,
#ifdef FM_WITH_LZMA
    .open = xz_open,
    .close = xz_close,
    .restart = xz_restart,
    .run = xz_run,
#endif
    .padding = 4,
};
