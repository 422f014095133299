/*
 * inflate_bzip2.c - bzip2 streams by libbz2, which checks block and stream CRCs.
 *
 *     'B' 'Z' 'h' '1'..'9', then 31 41 59 26 53 59 (a block) or 17 72 45 38 50 90 (the end)
 */
#include "config.h"

#include "input/inflate.h"

static bool bzip2_match(const unsigned char *p, size_t n, bool whole)
{
    if (n < 4 || memcmp(p, "BZh", 3) != 0 || p[3] < '1' || p[3] > '9')
        return false;
    if (n < 10)
        return whole && (memcmp(p + 4, "\x31\x41\x59\x26\x53\x59", n - 4) == 0 ||
                         memcmp(p + 4, "\x17\x72\x45\x38\x50\x90", n - 4) == 0);
    return memcmp(p + 4, "\x31\x41\x59\x26\x53\x59", 6) == 0 ||
           memcmp(p + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0;
}

#ifdef FM_WITH_BZ2
#include <bzlib.h>
#include <limits.h>

struct bzip2_state {
    struct fm_mem *mem;
    bz_stream z;
    bool open;
};

static void *bzip2_alloc(void *mem, int n, int size)
{
    return n < 0 || size < 0 ? NULL : fm_inflate_alloc(mem, (size_t)n, (size_t)size);
}

static void bzip2_dealloc(void *mem, void *p)
{
    fm_inflate_dealloc(mem, p);
}

static bool bzip2_restart(void *state)
{
    struct bzip2_state *s = state;
    if (s->open)
        BZ2_bzDecompressEnd(&s->z);
    memset(&s->z, 0, sizeof s->z);
    s->z.bzalloc = bzip2_alloc;
    s->z.bzfree = bzip2_dealloc;
    s->z.opaque = s->mem;
    s->open = BZ2_bzDecompressInit(&s->z, 0, 0) == BZ_OK;
    return s->open;
}

static void bzip2_close(void *state)
{
    struct bzip2_state *s = state;
    if (s->open)
        BZ2_bzDecompressEnd(&s->z);
    fm_mem_free(s->mem, s, sizeof *s);
}

static void *bzip2_open(struct fm_mem *mem)
{
    struct bzip2_state *s = fm_mem_zalloc(mem, sizeof *s);
    if (s == NULL)
        return NULL;
    s->mem = mem;
    if (!bzip2_restart(s)) {
        bzip2_close(s);
        return NULL;
    }
    return s;
}

static enum fm_codec_result bzip2_run(void *state, const unsigned char **in, size_t *in_left,
                                      unsigned char *out, size_t cap, size_t *produced,
                                      const char **why)
{
    struct bzip2_state *s = state;
    unsigned take = (unsigned)FM_MIN(*in_left, (size_t)UINT_MAX);
    unsigned room = (unsigned)FM_MIN(cap, (size_t)UINT_MAX);
    /* The library reads through a pointer that is not const. */
    memcpy(&s->z.next_in, in, sizeof s->z.next_in);
    s->z.avail_in = take;
    s->z.next_out = (char *)out;
    s->z.avail_out = room;
    int r = BZ2_bzDecompress(&s->z);
    *in += take - s->z.avail_in;
    *in_left -= take - s->z.avail_in;
    *produced = room - s->z.avail_out;
    switch (r) {
    case BZ_OK:
        return FM_CODEC_MORE;
    case BZ_STREAM_END:
        return FM_CODEC_END;
    case BZ_MEM_ERROR:
        return FM_CODEC_NOMEM;
    case BZ_DATA_ERROR_MAGIC:
        *why = "not a stream header";
        return FM_CODEC_BAD;
    default:
        *why = "a block or checksum is wrong";
        return FM_CODEC_BAD;
    }
}
#endif

const struct fm_codec fm_codec_bzip2 = {
    .name = "bzip2",
    .match = bzip2_match,
#ifdef FM_WITH_BZ2
    .open = bzip2_open,
    .close = bzip2_close,
    .restart = bzip2_restart,
    .run = bzip2_run,
#endif
};
