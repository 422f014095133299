/*
 * pack.c - compressing, for tests.
 */
#include "config.h"

#include "pack.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>
#ifdef FM_WITH_LZMA
#include <lzma.h>
#endif
#ifdef FM_WITH_LZ4
#include <lz4frame.h>
#endif
#ifdef FM_WITH_BZ2
#include <bzlib.h>
#endif

const char *const test_pack_kind[PACK_KINDS] = { "gzip", "zstd", "xz", "lz4", "bzip2" };

static void demand(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "pack: %s failed\n", what);
    abort();
}

static size_t pack_gzip(const void *data, size_t n, unsigned char *out, size_t cap)
{
    z_stream z = { 0 };
    demand(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 1, Z_DEFAULT_STRATEGY) == Z_OK, "deflate");
    z.next_in = data;
    z.avail_in = (unsigned)n;
    z.next_out = out;
    z.avail_out = (unsigned)cap;
    demand(deflate(&z, Z_FINISH) == Z_STREAM_END, "deflate");
    size_t size = cap - z.avail_out;
    deflateEnd(&z);
    return size;
}

/* Flushed every 4 KiB: many small blocks. */
static size_t pack_zstd(const void *data, size_t n, unsigned char *out, size_t cap)
{
    ZSTD_CCtx *z = ZSTD_createCCtx();
    ZSTD_outBuffer ob = { out, cap, 0 };
    demand(z != NULL, "zstd");
    ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
    for (size_t at = 0; at < n; at += 4096) {
        ZSTD_inBuffer ib = { (const char *)data + at, n - at < 4096 ? n - at : 4096, 0 };
        demand(ZSTD_compressStream2(z, &ob, &ib, ZSTD_e_flush) == 0, "zstd");
    }
    ZSTD_inBuffer none = { NULL, 0, 0 };
    demand(ZSTD_compressStream2(z, &ob, &none, ZSTD_e_end) == 0, "zstd");
    ZSTD_freeCCtx(z);
    return ob.pos;
}

static size_t pack_xz(const void *data, size_t n, unsigned char *out, size_t cap)
{
#ifdef FM_WITH_LZMA
    size_t size = 0;
    demand(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, data, n, out, &size, cap) == LZMA_OK,
           "xz");
    return size;
#else
    (void)data, (void)n, (void)out, (void)cap;
    return 0;
#endif
}

static size_t pack_lz4(const void *data, size_t n, unsigned char *out, size_t cap)
{
#ifdef FM_WITH_LZ4
    LZ4F_preferences_t p = { .frameInfo = { .blockSizeID = LZ4F_max64KB,
                                            .contentChecksumFlag = LZ4F_contentChecksumEnabled,
                                            .blockMode = LZ4F_blockLinked } };
    size_t size = LZ4F_compressFrame(out, cap, data, n, &p);
    demand(!LZ4F_isError(size), "lz4");
    return size;
#else
    (void)data, (void)n, (void)out, (void)cap;
    return 0;
#endif
}

static size_t pack_bzip2(const void *data, size_t n, unsigned char *out, size_t cap)
{
#ifdef FM_WITH_BZ2
    unsigned size = (unsigned)cap;
    char *source;
    memcpy(&source, &data, sizeof source); /* the library takes no const */
    demand(BZ2_bzBuffToBuffCompress((char *)out, &size, source, (unsigned)n, 1, 0, 0) == BZ_OK,
           "bzip2");
    return size;
#else
    (void)data, (void)n, (void)out, (void)cap;
    return 0;
#endif
}

unsigned char *test_pack(const char *kind, const void *data, size_t n, size_t *out)
{
    static size_t (*const function[PACK_KINDS])(const void *, size_t, unsigned char *, size_t) = {
        pack_gzip, pack_zstd, pack_xz, pack_lz4, pack_bzip2,
    };
    size_t cap = n + n / 4 + 65536;
    unsigned char *p = malloc(cap);
    demand(p != NULL && n < INT_MAX, "malloc");
    *out = 0;
    for (int i = 0; i < PACK_KINDS; i++) {
        if (strcmp(kind, test_pack_kind[i]) == 0)
            *out = function[i](data, n, p, cap);
    }
    if (*out > 0)
        return p;
    free(p);
    return NULL;
}

unsigned char *test_sample(size_t n)
{
    unsigned char *p = malloc(n + 1);
    uint32_t x = 12345;
    demand(p != NULL, "malloc");
    for (size_t i = 0; i < n;) {
        char line[64];
        x = x * 1664525 + 1013904223;
        int k = snprintf(line, sizeof line, "main;step_%u;leaf_%x %u\n", x >> 28, x >> 12, x >> 24);
        size_t take = n - i < (size_t)k ? n - i : (size_t)k;
        memcpy(p + i, line, take);
        i += take;
    }
    return p;
}
