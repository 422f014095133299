/*
 * window.h - inside the input floor: stages that give bytes, and windows over them.
 *
 *     fd | pread | memory            stage 0
 *        window
 *     gzip, zstd, xz, lz4, bzip2,
 *     a member of a zip archive      stage 1 .. 8, each owns the window it reads from
 *        window                      the reader's: stages decode straight into it
 *
 * A window is one reused buffer. Bytes that a caller has not consumed stay in it; before more are
 * read they move to its front:
 *
 *     buf                    pos              end                    cap
 *      | consumed             | to be peeked   | room for the stage   |
 *                             ^ file offset `offset`
 *
 * Neither knows of struct fm_input; input.c puts them together.
 */
#ifndef FM_INPUT_WINDOW_H
#define FM_INPUT_WINDOW_H

#include "input/input.h"
#include "util/error.h"

/* Every window's buffer. Larger ones read no faster (300 MB: 0.088 CPU-s with 128 KiB, 256 KiB and
 * 1 MiB alike), but the first touch of each of their pages costs as much as reading 40 KB. */
#define FM_WINDOW ((size_t)128 << 10)
#define FM_WINDOW_FIRST ((size_t)64 << 10)  /* bytes asked for first and after a seek */
#define FM_WINDOW_STEP ((size_t)64 << 20)   /* largest growth at once */
#define FM_INPUT_MEMBER 256                 /* bytes kept of a zip member's name, with the NUL */

struct fm_stage {
    /* Up to cap (> 0) bytes into buf. *got may be > 0 together with a failure: those bytes are good
     * and the failure comes after them. FM_OK with *got == 0 is the end. */
    enum fm_status (*read)(struct fm_stage *stage, unsigned char *buf, size_t cap, size_t *got,
                           struct fm_error *err);
    /* At most how many bytes are still to come; UINT64_MAX when nobody knows. */
    uint64_t (*left)(struct fm_stage *stage);
    /* Moves to an offset; NULL where that cannot be. */
    void (*seek)(struct fm_stage *stage, uint64_t offset);
    /* Bytes taken from the raw input so far. */
    uint64_t (*raw)(struct fm_stage *stage);
    void (*free)(struct fm_stage *stage);
};

struct fm_window {
    struct fm_mem *mem;
    struct fm_stage *stage;     /* owned; NULL: all there is lies in `data` */
    const unsigned char *data;  /* == buf, or borrowed memory */
    unsigned char *buf;
    size_t cap, pos, end;
    size_t ahead;               /* bytes to ask for next */
    uint64_t offset;            /* of data[pos] */
    bool eof;
    struct fm_error error;      /* sticky failure behind `end` */
    /* Called with the bytes of each fill, in order; may be NULL. */
    void (*filled)(void *user, const unsigned char *data, size_t n);
    void *filled_user;
};

/* Takes the stage over. Allocates nothing yet. */
void fm_window_init(struct fm_window *window, struct fm_mem *mem, struct fm_stage *stage);
/* Over borrowed memory. */
void fm_window_init_memory(struct fm_window *window, const void *data, size_t n);
void fm_window_release(struct fm_window *window);

static inline size_t fm_window_have(const struct fm_window *window)
{
    return window->end - window->pos;
}

static inline void fm_window_consume(struct fm_window *window, size_t n)
{
    fm_assert(n <= fm_window_have(window));
    window->pos += n;
    window->offset += n;
}

/* fm_reader_peek() for a window. On failure *data and *n still tell what is there. */
enum fm_status fm_window_peek(struct fm_window *window, size_t need, const unsigned char **data,
                              size_t *n, struct fm_error *err);
/* Only over a stage that can seek, or memory. */
void fm_window_seek(struct fm_window *window, uint64_t offset);
uint64_t fm_window_raw(const struct fm_window *window);

/* A regular file from `base` on, by pread: offsets are relative to base. The descriptor is
 * borrowed, many stages may share it. */
struct fm_stage *fm_stage_file(struct fm_mem *mem, int fd, uint64_t base, const char *name);
/* The same, ending after `size` bytes. */
struct fm_stage *fm_stage_part(struct fm_mem *mem, int fd, uint64_t base, uint64_t size,
                               const char *name);
/* Anything that read(2) takes: borrowed as well. */
struct fm_stage *fm_stage_stream(struct fm_mem *mem, int fd, const char *name);

/* pread in full: loops over EINTR and short reads. FM_IO, else FM_OK and *got < n at the end. */
enum fm_status fm_file_read_at(int fd, const char *name, uint64_t offset, void *buf, size_t n,
                               size_t *got, struct fm_error *err);

/*
 * The decompressor for what the window starts with, as a stage that owns the window (moved out of
 * *below, which is left empty): *stage, and *name of its kind; NULL when the bytes are not
 * compressed. FM_UNSUPPORTED "built without xz"; the window stays where it was on any failure.
 */
struct fm_layer_env {
    struct fm_ctx *ctx;
    const char *name;           /* of the input: borrowed, must outlive the stage */
    struct fm_diags *diags;     /* findings; borrowed */
    char *member;               /* FM_INPUT_MEMBER bytes for the name of a zip member; borrowed */
};
enum fm_status fm_layer_open(const struct fm_layer_env *env, struct fm_window *below,
                             struct fm_stage **stage, const char **kind, struct fm_error *err);

#endif
