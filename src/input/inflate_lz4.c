/*
 * inflate_lz4.c - lz4 frames by liblz4 (frame format 1.6; the old "legacy" frames are named and
 * refused).
 *
 *     04 22 4d 18               a frame
 *     02 21 4c 18               a legacy frame
 *     5x 2a 4d 18 size(4, LE)   a skippable frame: zstd has the same; what follows it decides
 *
 * LZ4F_decompress() reports nothing of what it has written when it fails. It returns how many bytes
 * it would like next: the rest of the block, up to 4 bytes of checksum and 4 of the next header. We
 * feed 8 less, then 4, so that a call never finishes one block and fails on the next.
 *
 * The decoder's own memory (at most two blocks of 4 MiB) does not go through struct fm_mem: the
 * hooks for that came with lz4 1.9.4.
 */
#include "config.h"

#include "input/inflate.h"

static bool lz4_match(const unsigned char *p, size_t n, bool whole)
{
    static const unsigned char magic[4] = { 0x04, 0x22, 0x4d, 0x18 };
    if (n < 4)
        return whole && n >= 2 && memcmp(p, magic, n) == 0;
    if (memcmp(p, magic, 4) == 0 || memcmp(p, "\x02\x21\x4c\x18", 4) == 0)
        return true;
    /* zstd is asked first and leaves only those skippable frames that lz4 frames follow. */
    return n >= 8 && (p[0] & 0xf0) == 0x50 && p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18;
}

#ifdef FM_WITH_LZ4
#include <lz4frame.h>

struct lz4_state {
    struct fm_mem *mem;
    LZ4F_dctx *z;
    size_t want;         /* bytes asked for next */
    unsigned char head;  /* bytes of the magic seen, to tell legacy frames */
    bool legacy;
};

static bool lz4_restart(void *state)
{
    struct lz4_state *s = state;
    LZ4F_resetDecompressionContext(s->z);
    s->want = 4;
    s->head = 0;
    s->legacy = true;
    return true;
}

static void lz4_close(void *state)
{
    struct lz4_state *s = state;
    LZ4F_freeDecompressionContext(s->z);
    fm_mem_free(s->mem, s, sizeof *s);
}

static void *lz4_open(struct fm_mem *mem)
{
    struct lz4_state *s = fm_mem_zalloc(mem, sizeof *s);
    if (s == NULL)
        return NULL;
    s->mem = mem;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&s->z, LZ4F_VERSION))) {
        fm_mem_free(mem, s, sizeof *s);
        return NULL;
    }
    lz4_restart(s);
    return s;
}

static bool lz4_is_legacy(struct lz4_state *s, const unsigned char *in, size_t n)
{
    static const unsigned char magic[4] = { 0x02, 0x21, 0x4c, 0x18 };
    for (size_t i = 0; i < n && s->head < 4; i++)
        s->legacy &= in[i] == magic[s->head++];
    return s->legacy && s->head == 4;
}

static enum fm_codec_result lz4_run(void *state, const unsigned char **in, size_t *in_left,
                                    unsigned char *out, size_t cap, size_t *produced,
                                    const char **why)
{
    struct lz4_state *s = state;
    if (lz4_is_legacy(s, *in, *in_left)) {
        *why = "a legacy frame (lz4 -l): unpack it with lz4 -d";
        return FM_CODEC_UNSUPPORTED;
    }
    for (;;) {
        size_t feed = s->want > 8 ? s->want - 8 : FM_MIN(s->want, (size_t)4);
        size_t took = FM_MIN(feed, *in_left), got = cap - *produced;
        size_t r = LZ4F_decompress(s->z, out + *produced, &got, *in, &took, NULL);
        if (LZ4F_isError(r)) {
            *why = LZ4F_getErrorName(r);
            return strcmp(*why, "ERROR_allocation_failed") == 0 ? FM_CODEC_NOMEM : FM_CODEC_BAD;
        }
        *in += took;
        *in_left -= took;
        *produced += got;
        s->want = r;
        if (r == 0)
            return FM_CODEC_END;
        if ((took == 0 && got == 0) || *produced == cap || *in_left == 0)
            return FM_CODEC_MORE;
    }
}
#endif

const struct fm_codec fm_codec_lz4 = {
    .name = "lz4",
    .match = lz4_match,
#ifdef FM_WITH_LZ4
    .open = lz4_open,
    .close = lz4_close,
    .restart = lz4_restart,
    .run = lz4_run,
#endif
};
