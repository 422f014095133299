/*
 * image.h - the bytes of a file with symbols: mapped, decompressed or borrowed.
 */
#ifndef FM_SYMBOL_IMAGE_H
#define FM_SYMBOL_IMAGE_H

#include "util/ctx.h"

struct fm_image {
    const unsigned char *data;
    size_t n;
    int64_t mtime;           /* seconds since 1970, 0 when not a file */
    char *heap;              /* owned: n + 1 bytes of ctx->mem */
    bool mapped;             /* owned: a private read-only mapping */
    struct fm_mem *mem;
};

/* Only regular files are opened (a recorded path may name a pipe or a device). A missing or empty
 * file is FM_IO. `unpack`: compressed contents are decompressed, at most FM_IMAGE_UNPACKED. */
#define FM_IMAGE_UNPACKED (256u << 20)
enum fm_status fm_image_open(struct fm_ctx *ctx, const char *path, bool unpack,
                             struct fm_image *image);
/* Reads a file whose size is not told (/proc, /sys), at most `max` bytes. */
enum fm_status fm_image_read(struct fm_ctx *ctx, const char *path, size_t max,
                             struct fm_image *image);
/* A copy of a part of memory of ours, such as the vdso. */
enum fm_status fm_image_copy(struct fm_ctx *ctx, const void *data, size_t n,
                             struct fm_image *image);
/* Unpacks an xz stream that lies in memory; at most `max` bytes come out. */
enum fm_status fm_image_unxz(struct fm_ctx *ctx, const unsigned char *data, size_t n, size_t max,
                             struct fm_image *image);
void fm_image_close(struct fm_image *image);

#endif
