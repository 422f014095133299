/*
 * inflate_zstd.c - zstd frames (RFC 8878) by libzstd.
 *
 *     28 b5 2f fd      a frame
 *     5x 2a 4d 18 size(4, LE)   a skippable frame: lz4 has the same; what follows it decides
 *
 * ZSTD_decompressStream() reports nothing of what it has written when it fails. It returns how many
 * bytes it would like next: the rest of the block plus the 3 bytes of the next block's header. We
 * give it that less 3, so that a call never finishes one block and fails on the next.
 *
 * The custom allocator belongs to the library's "static" interface, unchanged since 2016 and
 * exported by its shared builds; it is what makes windows count against the memory cap.
 */
#define ZSTD_STATIC_LINKING_ONLY

#include "input/inflate.h"

#include <zstd.h>
#include <zstd_errors.h>

#define BLOCK_HEADER 3
#define WINDOW_LOG_MAX 27 /* 128 MiB: what zstd(1) accepts too */

struct zstd_state {
    struct fm_mem *mem;
    ZSTD_DCtx *z;
    size_t want; /* bytes to feed next */
};

static bool zstd_match(const unsigned char *p, size_t n, bool whole)
{
    static const unsigned char magic[4] = { 0x28, 0xb5, 0x2f, 0xfd };
    if (n < 4)
        return whole && n >= 2 && memcmp(p, magic, n) == 0;
    if (memcmp(p, magic, 4) == 0)
        return true;
    if ((p[0] & 0xf0) != 0x50 || p[1] != 0x2a || p[2] != 0x4d || p[3] != 0x18)
        return false;
    /* Skippable: lz4's when its magic follows within sight. */
    if (n < 8)
        return false;
    uint64_t next = 8u + (p[4] | (uint64_t)p[5] << 8 | (uint64_t)p[6] << 16 | (uint64_t)p[7] << 24);
    return n < 4 || next > n - 4 || memcmp(p + next, "\x04\x22\x4d\x18", 4) != 0;
}

static void *zstd_alloc(void *mem, size_t n)
{
    return fm_inflate_alloc(mem, n, 1);
}

static void zstd_dealloc(void *mem, void *p)
{
    fm_inflate_dealloc(mem, p);
}

static bool zstd_restart(void *state)
{
    struct zstd_state *s = state;
    s->want = ZSTD_initDStream(s->z);
    return !ZSTD_isError(s->want);
}

static void zstd_close(void *state)
{
    struct zstd_state *s = state;
    ZSTD_freeDCtx(s->z);
    fm_mem_free(s->mem, s, sizeof *s);
}

static void *zstd_open(struct fm_mem *mem)
{
    struct zstd_state *s = fm_mem_zalloc(mem, sizeof *s);
    if (s == NULL)
        return NULL;
    ZSTD_customMem custom = { zstd_alloc, zstd_dealloc, mem };
    s->mem = mem;
    s->z = ZSTD_createDCtx_advanced(custom);
    if (s->z == NULL || ZSTD_isError(ZSTD_DCtx_setParameter(s->z, ZSTD_d_windowLogMax,
                                                            WINDOW_LOG_MAX)) ||
        !zstd_restart(s)) {
        zstd_close(s);
        return NULL;
    }
    return s;
}

static enum fm_codec_result zstd_failed(size_t code, const char **why)
{
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_memory_allocation:
        return FM_CODEC_NOMEM;
    case ZSTD_error_frameParameter_windowTooLarge:
        *why = "the frame needs a window of more than 128 MiB: unpack it with zstd -d --long=31";
        return FM_CODEC_UNSUPPORTED;
    case ZSTD_error_dictionary_wrong:
        *why = "the frame needs a dictionary";
        return FM_CODEC_UNSUPPORTED;
    case ZSTD_error_version_unsupported:
        *why = "a frame of a version before 1.0";
        return FM_CODEC_UNSUPPORTED;
    default:
        *why = ZSTD_getErrorName(code);
        return FM_CODEC_BAD;
    }
}

static enum fm_codec_result zstd_run(void *state, const unsigned char **in, size_t *in_left,
                                     unsigned char *out, size_t cap, size_t *produced,
                                     const char **why)
{
    struct zstd_state *s = state;
    for (;;) {
        size_t feed = s->want > BLOCK_HEADER ? s->want - BLOCK_HEADER : s->want;
        ZSTD_inBuffer ib = { *in, FM_MIN(feed, *in_left), 0 };
        ZSTD_outBuffer ob = { out, cap, *produced };
        size_t r = ZSTD_decompressStream(s->z, &ob, &ib);
        if (ZSTD_isError(r))
            return zstd_failed(r, why);
        bool moved = ib.pos > 0 || ob.pos > *produced;
        *in += ib.pos;
        *in_left -= ib.pos;
        *produced = ob.pos;
        s->want = r;
        if (r == 0)
            return FM_CODEC_END;
        if (!moved || *produced == cap || *in_left == 0)
            return FM_CODEC_MORE;
    }
}

const struct fm_codec fm_codec_zstd = {
    .name = "zstd",
    .match = zstd_match,
    .open = zstd_open,
    .close = zstd_close,
    .restart = zstd_restart,
    .run = zstd_run,
};
