/*
 * source.c - the bottom stages: regular files by pread, everything else by read.
 *
 * A file's stage has its own position, so any number of readers share one descriptor. The end is
 * where pread gives nothing: files may grow or shrink while they are read. Descriptors belong to
 * struct fm_input.
 */
#include "input/window.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

/* Linux moves at most 0x7ffff000 bytes a call. */
#define READ_MAX ((size_t)1 << 30)

struct fd_stage {
    struct fm_stage stage;
    struct fm_mem *mem;
    const char *name;
    int fd;
    uint64_t base;  /* file offset of our offset 0 */
    uint64_t at;    /* next byte, relative to base */
    uint64_t end;   /* of a part: where it stops, relative to base */
};

static bool file_offset(uint64_t base, uint64_t at, off_t *out)
{
    uint64_t sum;
    if (!fm_add_u64(base, at, &sum) || sum > INT64_MAX)
        return false;
    *out = (off_t)sum;
    return true;
}

static enum fm_status file_read(struct fm_stage *stage, unsigned char *buf, size_t cap,
                                size_t *got, struct fm_error *err)
{
    struct fd_stage *s = (struct fd_stage *)stage;
    off_t offset;
    ssize_t r;
    *got = 0;
    if (s->at >= s->end || !file_offset(s->base, s->at, &offset))
        return FM_OK;
    cap = (size_t)FM_MIN(s->end - s->at, (uint64_t)FM_MIN(cap, READ_MAX));
    do {
        r = pread(s->fd, buf, cap, offset);
    } while (r < 0 && errno == EINTR);
    if (r < 0)
        return fm_error_sys(err, errno, s->name, "cannot read");
    *got = (size_t)r;
    s->at += (uint64_t)r;
    return FM_OK;
}

static uint64_t file_left(struct fm_stage *stage)
{
    struct fd_stage *s = (struct fd_stage *)stage;
    struct stat st;
    uint64_t at;
    if (s->at >= s->end || !fm_add_u64(s->base, s->at, &at))
        return 0;
    if (fstat(s->fd, &st) != 0 || st.st_size < 0 || (uint64_t)st.st_size <= at)
        return 0;
    return FM_MIN((uint64_t)st.st_size - at, s->end - s->at);
}

static void file_seek(struct fm_stage *stage, uint64_t offset)
{
    ((struct fd_stage *)stage)->at = offset;
}

/* A descriptor that somebody made non-blocking: true when it is worth another try. */
static bool wait_for_bytes(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    return poll(&p, 1, -1) >= 0 || errno == EINTR;
}

static enum fm_status stream_read(struct fm_stage *stage, unsigned char *buf, size_t cap,
                                  size_t *got, struct fm_error *err)
{
    struct fd_stage *s = (struct fd_stage *)stage;
    ssize_t r;
    *got = 0;
    do {
        r = read(s->fd, buf, FM_MIN(cap, READ_MAX));
    } while (r < 0 && (errno == EINTR || (errno == EAGAIN && wait_for_bytes(s->fd))));
    if (r < 0)
        return fm_error_sys(err, errno, s->name, "cannot read");
    *got = (size_t)r;
    s->at += (uint64_t)r;
    return FM_OK;
}

static uint64_t stream_left(struct fm_stage *stage)
{
    (void)stage;
    return UINT64_MAX;
}

static uint64_t fd_raw(struct fm_stage *stage)
{
    return ((struct fd_stage *)stage)->at;
}

static void fd_free(struct fm_stage *stage)
{
    struct fd_stage *s = (struct fd_stage *)stage;
    fm_mem_free(s->mem, s, sizeof *s);
}

static struct fd_stage *fd_stage(struct fm_mem *mem, int fd, const char *name)
{
    struct fd_stage *s = fm_mem_zalloc(mem, sizeof *s);
    if (s == NULL)
        return NULL;
    s->mem = mem;
    s->fd = fd;
    s->name = name;
    s->stage.raw = fd_raw;
    s->stage.free = fd_free;
    return s;
}

struct fm_stage *fm_stage_file(struct fm_mem *mem, int fd, uint64_t base, const char *name)
{
    struct fd_stage *s = fd_stage(mem, fd, name);
    if (s == NULL)
        return NULL;
    s->base = base;
    s->end = UINT64_MAX;
    s->stage.read = file_read;
    s->stage.left = file_left;
    s->stage.seek = file_seek;
    return &s->stage;
}

struct fm_stage *fm_stage_part(struct fm_mem *mem, int fd, uint64_t base, uint64_t size,
                               const char *name)
{
    struct fm_stage *stage = fm_stage_file(mem, fd, base, name);
    if (stage != NULL)
        ((struct fd_stage *)stage)->end = size;
    return stage;
}

struct fm_stage *fm_stage_stream(struct fm_mem *mem, int fd, const char *name)
{
    struct fd_stage *s = fd_stage(mem, fd, name);
    if (s == NULL)
        return NULL;
    s->stage.read = stream_read;
    s->stage.left = stream_left;
    return &s->stage;
}

enum fm_status fm_file_read_at(int fd, const char *name, uint64_t offset, void *buf, size_t n,
                               size_t *got, struct fm_error *err)
{
    off_t at;
    *got = 0;
    while (*got < n && file_offset(offset, *got, &at)) {
        ssize_t r = pread(fd, (char *)buf + *got, FM_MIN(n - *got, READ_MAX), at);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return fm_error_sys(err, errno, name, "cannot read");
        if (r == 0)
            break;
        *got += (size_t)r;
    }
    return FM_OK;
}
