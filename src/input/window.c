/*
 * window.c - one reused buffer over a stage: see window.h for the picture.
 *
 * What bounds the memory: the buffer starts at FM_WINDOW and grows only for a larger `need`; a file
 * tells how many bytes are left, a stream's buffer grows by what has really arrived, doubling, at
 * most FM_WINDOW_STEP at once. A need of 4 GiB in a 1 KiB input takes 128 KiB.
 */
#include "input/window.h"

void fm_window_init(struct fm_window *window, struct fm_mem *mem, struct fm_stage *stage)
{
    memset(window, 0, sizeof *window);
    window->mem = mem;
    window->stage = stage;
    window->ahead = FM_WINDOW_FIRST;
}

void fm_window_init_memory(struct fm_window *window, const void *data, size_t n)
{
    memset(window, 0, sizeof *window);
    window->data = data;
    window->end = n;
    window->eof = true;
}

void fm_window_release(struct fm_window *window)
{
    if (window->buf != NULL)
        fm_mem_free(window->mem, window->buf, window->cap);
    if (window->stage != NULL)
        window->stage->free(window->stage);
    memset(window, 0, sizeof *window);
}

/* Room for some of the bytes that are missing to `need` behind `end`. */
static bool make_room(struct fm_window *window, size_t need)
{
    size_t have = fm_window_have(window);
    fm_assert(need > have);
    if (window->pos > 0 &&
        (window->cap - window->end < need - have || window->cap - window->end < window->cap / 2)) {
        memmove(window->buf, window->buf + window->pos, have);
        window->pos = 0;
        window->end = have;
    }
    size_t cap = window->cap;
    if (cap < FM_WINDOW) {
        cap = FM_WINDOW;
    } else if (window->end == cap) {
        uint64_t left = window->stage->left(window->stage);
        size_t step = left == UINT64_MAX ? cap : FM_MAX(cap, need - cap);
        step = FM_MIN(step, FM_WINDOW_STEP);
        if (left < step) /* one more to see the end */
            step = FM_MIN(step, FM_MAX((size_t)left + 1, (size_t)4096));
        if (!fm_add_size(cap, step, &cap))
            return false;
    }
    if (cap == window->cap)
        return true;
    unsigned char *buf = fm_mem_realloc(window->mem, window->buf, window->cap, cap);
    if (buf == NULL)
        return false;
    window->data = window->buf = buf;
    window->cap = cap;
    return true;
}

/* One read. */
static enum fm_status fill(struct fm_window *window, size_t need)
{
    if (!make_room(window, need))
        return FM_NOMEM;
    size_t have = fm_window_have(window), got = 0;
    size_t want = FM_MIN(FM_MAX(window->ahead, need - have), window->cap - window->end);
    unsigned char *at = window->buf + window->end;
    enum fm_status status = window->stage->read(window->stage, at, want, &got, &window->error);
    fm_assert(got <= want);
    window->end += got;
    window->ahead = FM_WINDOW;
    if (got > 0 && window->filled != NULL)
        window->filled(window->filled_user, at, got);
    if (status != FM_OK)
        window->error.status = status;
    else if (got == 0)
        window->eof = true;
    return FM_OK;
}

enum fm_status fm_window_peek(struct fm_window *window, size_t need, const unsigned char **data,
                              size_t *n, struct fm_error *err)
{
    enum fm_status status = FM_OK;
    while (FM_UNLIKELY(fm_window_have(window) < need)) {
        if (window->error.status != FM_OK) {
            status = window->error.status;
            if (err != NULL && err->status == FM_OK)
                *err = window->error;
            break;
        }
        if (window->eof)
            break;
        if (fill(window, need) != FM_OK) {
            status = fm_error_nomem(err);
            break;
        }
    }
    *data = window->data != NULL ? window->data + window->pos : (const unsigned char *)"";
    *n = fm_window_have(window);
    return status;
}

void fm_window_seek(struct fm_window *window, uint64_t offset)
{
    /* Memory begins at 0, and may have been sought past its end. */
    uint64_t start = window->stage != NULL ? window->offset - window->pos : 0;
    uint64_t end = start + window->end;
    if (offset >= start && offset <= end) {
        window->pos = (size_t)(offset - start);
        window->offset = offset;
        return;
    }
    if (window->stage == NULL) {
        window->pos = window->end;
        window->offset = offset;
        return;
    }
    window->stage->seek(window->stage, offset);
    window->pos = window->end = 0;
    window->offset = offset;
    window->ahead = FM_WINDOW_FIRST;
    window->eof = false;
    fm_error_clear(&window->error);
}

uint64_t fm_window_raw(const struct fm_window *window)
{
    return window->stage != NULL ? window->stage->raw(window->stage) : window->offset;
}
