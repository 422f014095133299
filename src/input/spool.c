/*
 * spool.c - makes a stream seekable: up to 32 MiB in memory, more in a temporary file that has no
 * name ($TMPDIR, else /tmp).
 *
 * All of the stream is taken in, at most FM_CAP_INFLATED bytes of it. If it ends in damage, what
 * came before is the input and the failure waits behind its last byte.
 */
#include "input/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FIRST_BLOCK ((size_t)256 << 10)

struct spool {
    struct fm_input *input;
    unsigned char *data;
    size_t cap;
    uint64_t size;
    int fd;              /* -1 while in memory */
    const char *folder;
};

static enum fm_status open_temporary(struct spool *spool, struct fm_error *err)
{
    struct fm_mem *mem = &spool->input->ctx->mem;
    const char *folder = getenv("TMPDIR");
    spool->folder = folder != NULL && folder[0] != '\0' ? folder : "/tmp";
#ifdef O_TMPFILE
    spool->fd = open(spool->folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    if (spool->fd >= 0)
        return FM_OK;
#endif
    static const char pattern[] = "/foldmill-XXXXXX";
    size_t n = strlen(spool->folder) + sizeof pattern;
    char *path = fm_mem_alloc(mem, n);
    if (path == NULL)
        return fm_error_nomem(err);
    snprintf(path, n, "%s%s", spool->folder, pattern);
    spool->fd = mkostemp(path, O_CLOEXEC);
    int failed = errno;
    if (spool->fd >= 0)
        unlink(path);
    fm_mem_free(mem, path, n);
    if (spool->fd < 0)
        return fm_error_sys(err, failed, spool->folder, "cannot make a temporary file");
    return FM_OK;
}

static enum fm_status write_all(struct spool *spool, const unsigned char *p, size_t n,
                                struct fm_error *err)
{
    while (n > 0) {
        ssize_t r = write(spool->fd, p, n);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return fm_error_sys(err, errno, spool->folder, "cannot write a temporary file");
        p += r;
        n -= (size_t)r;
    }
    return FM_OK;
}

/* Room for n more bytes in memory; false = no. */
static bool grow(struct spool *spool, size_t n)
{
    size_t need = (size_t)spool->size + n, cap = FM_MAX(spool->cap, FIRST_BLOCK);
    while (cap < need)
        cap *= 2;
    cap = FM_MIN(cap, FM_SPOOL_MEMORY);
    if (cap == spool->cap)
        return true;
    unsigned char *data =
        fm_mem_realloc(&spool->input->ctx->mem, spool->data, spool->cap, cap);
    if (data == NULL)
        return false;
    spool->data = data;
    spool->cap = cap;
    return true;
}

static enum fm_status spool_add(struct spool *spool, const unsigned char *p, size_t n,
                                struct fm_error *err)
{
    if (spool->fd < 0 && spool->size + n > FM_SPOOL_MEMORY) {
        enum fm_status status = open_temporary(spool, err);
        if (status == FM_OK && spool->size > 0)
            status = write_all(spool, spool->data, (size_t)spool->size, err);
        if (status != FM_OK)
            return status;
        fm_mem_free(&spool->input->ctx->mem, spool->data, spool->cap);
        spool->data = NULL;
        spool->cap = 0;
    }
    if (spool->fd >= 0) {
        enum fm_status status = write_all(spool, p, n, err);
        if (status != FM_OK)
            return status;
    } else {
        if (!grow(spool, n))
            return fm_error_nomem(err);
        memcpy(spool->data + spool->size, p, n);
    }
    spool->size += n;
    return FM_OK;
}

/* Takes the whole stream. Failures of the stream itself go to input->damage. */
static enum fm_status take_all(struct spool *spool, struct fm_error *err)
{
    struct fm_input *input = spool->input;
    uint64_t limit = input->ctx->cap[FM_CAP_INFLATED];
    for (;;) {
        const unsigned char *p;
        size_t n;
        enum fm_status status = fm_window_peek(&input->front, 1, &p, &n, NULL);
        if (status == FM_NOMEM)
            return fm_error_nomem(err);
        if (n == 0) {
            input->damage = input->front.error;
            return FM_OK;
        }
        bool over = limit != 0 && n > limit - spool->size;
        size_t take = over ? (size_t)(limit - spool->size) : n;
        status = spool_add(spool, p, take, err);
        if (status != FM_OK)
            return status;
        if (over) {
            fm_diag_add(&input->diags, FM_DIAG_INFLATE_LIMIT, spool->size, 1);
            fm_error_at(&input->damage, FM_LIMIT, input->name, spool->size,
                        "the stream is longer than the limit of %" PRIu64 " bytes", limit);
            return FM_OK;
        }
        fm_window_consume(&input->front, n);
        if (!fm_ctx_tick(input->ctx, fm_window_raw(&input->front), input->raw_size))
            return fm_error_at(err, FM_CANCELLED, input->name, FM_NO_OFFSET, "cancelled");
    }
}

/* The input becomes what was spooled. */
static enum fm_status settle(struct spool *spool, struct fm_error *err)
{
    struct fm_input *input = spool->input;
    struct fm_mem *mem = &input->ctx->mem;
    struct fm_window front;
    if (spool->fd < 0) {
        static const unsigned char nothing[1] = { 0 };
        input->kind = FM_INPUT_MEMORY;
        input->owned = spool->data;
        input->owned_cap = spool->cap;
        input->data = spool->data != NULL ? spool->data : nothing;
        fm_window_init_memory(&front, input->data, (size_t)spool->size);
        spool->data = NULL;
    } else {
        struct fm_stage *stage = fm_stage_file(mem, spool->fd, 0, input->name);
        if (stage == NULL)
            return fm_error_nomem(err);
        fm_window_init(&front, mem, stage);
        input->kind = FM_INPUT_FILE;
    }
    fm_window_release(&input->front);
    input->front = front;
    input->size = spool->size;
    input->base = 0;
    if (input->fd >= 0 && !input->borrowed_fd)
        close(input->fd);
    input->fd = spool->fd;
    input->borrowed_fd = false;
    spool->fd = -1;
    return FM_OK;
}

enum fm_status fm_spool(struct fm_input *input, struct fm_error *err)
{
    const unsigned char *head;
    size_t n;
    fm_assert(input->kind == FM_INPUT_STREAM);
    if (input->taken)
        return fm_error_at(err, FM_UNSUPPORTED, input->name, FM_NO_OFFSET,
                           "cannot go back: its first bytes have been read");
    /* For the hash of the head. */
    if (fm_input_head(input, &head, &n, NULL) == FM_NOMEM)
        return fm_error_nomem(err);
    struct spool spool = { .input = input, .fd = -1 };
    input->taken = true;
    enum fm_status status = take_all(&spool, err);
    if (status == FM_OK)
        status = settle(&spool, err);
    input->taken = status != FM_OK;
    if (spool.fd >= 0)
        close(spool.fd);
    fm_mem_free(&input->ctx->mem, spool.data, spool.cap);
    return status;
}
