/*
 * image.c - files with symbols as bytes in memory.
 *
 * ELF files are mapped: a few sections of a large file are read, once, and the kernel's page cache
 * has them already. The mapping is private and read-only. A path from a recording is only a text:
 * it is opened without following it into devices, terminals or pipes.
 */
#include "symbol/image.h"

#include "input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_packed(const unsigned char *p, size_t n)
{
    return n > 6 && ((p[0] == 0x1f && p[1] == 0x8b) || memcmp(p, "\xfd" "7zXZ", 5) == 0 ||
                     memcmp(p, "\x28\xb5\x2f\xfd", 4) == 0);
}

static enum fm_status unpack(struct fm_ctx *ctx, const char *path, struct fm_image *image)
{
    char *data;
    size_t n;
    enum fm_status status = fm_input_slurp(ctx, path, FM_IMAGE_UNPACKED, &data, &n, NULL);

    if (status != FM_OK)
        return status;
    fm_image_close(image);
    image->mem = &ctx->mem;
    image->data = (unsigned char *)data;
    image->heap = data;
    image->n = n;
    return FM_OK;
}

enum fm_status fm_image_open(struct fm_ctx *ctx, const char *path, bool unpack_too,
                             struct fm_image *image)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    enum fm_status status = FM_IO;
    struct stat st;
    int64_t mtime;
    void *p;

    memset(image, 0, sizeof *image);
    if (fd < 0)
        return errno == ENOMEM ? FM_NOMEM : FM_IO;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
        (uint64_t)st.st_size > SIZE_MAX)
        goto out;
    p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        goto out;
    image->data = p;
    image->n = (size_t)st.st_size;
    image->mapped = true;
    image->mtime = mtime = (int64_t)st.st_mtime;
    status = FM_OK;
    if (unpack_too && is_packed(image->data, image->n)) {
        status = unpack(ctx, path, image);
        if (status != FM_OK)
            fm_image_close(image);
        image->mtime = mtime;
    }
out:
    close(fd);
    return status;
}

enum fm_status fm_image_copy(struct fm_ctx *ctx, const void *data, size_t n,
                             struct fm_image *image)
{
    size_t bytes;

    memset(image, 0, sizeof *image);
    if (!fm_add_size(n, 1, &bytes))
        return FM_NOMEM;
    image->heap = fm_mem_alloc(&ctx->mem, bytes);
    if (image->heap == NULL)
        return FM_NOMEM;
    memcpy(image->heap, data, n);
    image->heap[n] = '\0';
    image->mem = &ctx->mem;
    image->data = (unsigned char *)image->heap;
    image->n = n;
    return FM_OK;
}

enum fm_status fm_image_read(struct fm_ctx *ctx, const char *path, size_t max,
                             struct fm_image *image)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    enum fm_status status = FM_OK;
    size_t cap = 0, used = 0;
    void *buf = NULL;

    memset(image, 0, sizeof *image);
    if (fd < 0)
        return FM_IO;
    for (;;) {
        ssize_t got;
        if (used >= max || !fm_grow(&ctx->mem, &buf, &cap, used + 65536, 1)) {
            status = used >= max ? FM_LIMIT : FM_NOMEM;
            break;
        }
        got = read(fd, (char *)buf + used, cap - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            status = got < 0 ? FM_IO : FM_OK;
            break;
        }
        used += (size_t)got;
    }
    close(fd);
    if (status == FM_OK)
        status = used > 0 ? fm_image_copy(ctx, buf, used, image) : FM_IO;
    fm_mem_free(&ctx->mem, buf, cap);
    return status;
}

enum fm_status fm_image_unxz(struct fm_ctx *ctx, const unsigned char *data, size_t n, size_t max,
                             struct fm_image *image)
{
    struct fm_inflate *inflate = NULL;
    void *buf = NULL;
    size_t cap = 0, used = 0, got, last_left = SIZE_MAX;
    enum fm_status status = fm_inflate_new(ctx, "xz", &inflate, NULL);

    memset(image, 0, sizeof *image);
    while (status == FM_OK) {
        if (used == cap && (used >= max || !fm_grow(&ctx->mem, &buf, &cap, used + 65536, 1))) {
            status = used >= max ? FM_LIMIT : FM_NOMEM;
            break;
        }
        status = fm_inflate_run(inflate, &data, &n, (unsigned char *)buf + used, cap - used, &got,
                                NULL);
        used += got;
        if (status == FM_OK && (used < cap && (n == 0 || (got == 0 && n == last_left))))
            break;
        last_left = n;
    }
    fm_inflate_free(inflate);
    if (status == FM_OK)
        status = used > 0 ? fm_image_copy(ctx, buf, used, image) : FM_FORMAT;
    fm_mem_free(&ctx->mem, buf, cap);
    return status;
}

void fm_image_close(struct fm_image *image)
{
    if (image->mapped) {
        /* munmap() takes no const pointer, and the mapping is ours. */
        void *p;
        memcpy(&p, &image->data, sizeof p);
        munmap(p, image->n);
    }
    if (image->heap != NULL)
        fm_mem_free(image->mem, image->heap, image->n + 1);
    memset(image, 0, sizeof *image);
}
