/*
 * input.c - opening inputs, and what is known about them.
 *
 * Opening looks at the first bytes and stacks decompressors until they are no longer compressed;
 * what is a regular file without any becomes FILE and is never read here beyond its head. A regular
 * file of size 0 that gives bytes all the same (/proc) is a STREAM.
 */
#include "input/inner.h"
#include "input/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static enum fm_status input_new(struct fm_ctx *ctx, const char *name, struct fm_input **input,
                                struct fm_error *err)
{
    size_t n = strlen(name) + 1;
    *input = NULL;
    struct fm_input *in = fm_mem_zalloc(&ctx->mem, sizeof *in);
    if (in == NULL)
        return fm_error_nomem(err);
    in->ctx = ctx;
    in->fd = -1;
    in->name = fm_mem_alloc(&ctx->mem, n);
    if (in->name == NULL) {
        fm_mem_free(&ctx->mem, in, sizeof *in);
        return fm_error_nomem(err);
    }
    memcpy(in->name, name, n);
    fm_diags_init(&in->diags);
    *input = in;
    return FM_OK;
}

void fm_input_free(struct fm_input *input)
{
    if (input == NULL)
        return;
    struct fm_mem *mem = &input->ctx->mem;
    fm_assert(atomic_load(&input->readers) == 0);
    fm_window_release(&input->front);
    if (input->fd >= 0 && !input->borrowed_fd)
        close(input->fd);
    fm_tar_close(input->tar);
    fm_input_free(input->whole);     /* which has none of its own */
    fm_mem_free(mem, input->owned, input->owned_cap);
    fm_mem_free(mem, input->name, strlen(input->name) + 1);
    fm_mem_free(mem, input, sizeof *input);
}

static void add_filter(struct fm_input *input, const char *kind)
{
    size_t n = strlen(input->filters);
    snprintf(input->filters + n, sizeof input->filters - n, "%s%s", n > 0 ? "+" : "", kind);
}

/* Puts decompressors over the front window for as long as its bytes are compressed. */
static enum fm_status stack_layers(struct fm_input *input, struct fm_error *err)
{
    struct fm_layer_env env = { input->ctx, input->name, &input->diags, input->member };
    for (unsigned layers = 0;; layers++) {
        struct fm_stage *stage;
        const char *kind;
        enum fm_status status = fm_layer_open(&env, &input->front, &stage, &kind, err);
        if (status != FM_OK)
            return status;
        if (stage == NULL)
            return FM_OK;
        fm_window_init(&input->front, &input->ctx->mem, stage);
        if (layers == FM_INPUT_LAYERS)
            return fm_error_at(err, FM_LIMIT, input->name, FM_NO_OFFSET,
                               "compressed more than %d times over", FM_INPUT_LAYERS);
        add_filter(input, kind);
        input->kind = FM_INPUT_STREAM;
    }
}

/* Does a file of size 0 give bytes all the same, as those of /proc do? */
static bool has_hidden_bytes(int fd)
{
    unsigned char byte;
    size_t got;
    return fm_file_read_at(fd, "", 0, &byte, 1, &got, NULL) == FM_OK && got > 0;
}

/* input->fd is open: tells what it is. */
static enum fm_status open_fd(struct fm_input *input, struct fm_error *err)
{
    struct stat st;
    struct fm_mem *mem = &input->ctx->mem;
    if (fstat(input->fd, &st) != 0)
        return fm_error_sys(err, errno, input->name, "cannot stat");
    if (S_ISDIR(st.st_mode)) {
        input->kind = FM_INPUT_DIR;
        return FM_OK;
    }
    off_t at = 0;
    if (input->borrowed_fd)
        at = lseek(input->fd, 0, SEEK_CUR);
    uint64_t size = st.st_size > 0 ? (uint64_t)st.st_size : 0;
    bool plain = S_ISREG(st.st_mode) && at >= 0 && (size > 0 || !has_hidden_bytes(input->fd));
    struct fm_stage *stage;
    if (plain) {
        input->kind = FM_INPUT_FILE;
        input->base = (uint64_t)at;
        input->size = size > input->base ? size - input->base : 0;
        input->raw_size = input->size;
        stage = fm_stage_file(mem, input->fd, input->base, input->name);
    } else {
        input->kind = FM_INPUT_STREAM;
        stage = fm_stage_stream(mem, input->fd, input->name);
    }
    if (stage == NULL)
        return fm_error_nomem(err);
    fm_window_init(&input->front, mem, stage);
    return stack_layers(input, err);
}

/* The running kernel's trace buffers, which are read here and now. */
static enum fm_status open_live(struct fm_input **input, struct fm_error *err)
{
    struct fm_input *in = *input;
    size_t n = 0;
    enum fm_status status = fm_tracefs_read(in->ctx, in->name, &in->owned, &n, &in->owned_cap, err);
    if (status != FM_OK) {
        fm_input_free(in);
        *input = NULL;
        return status;
    }
    in->kind = FM_INPUT_MEMORY;
    in->data = in->owned;
    in->size = in->raw_size = n;
    fm_window_init_memory(&in->front, in->data, n);
    return FM_OK;
}

enum fm_status fm_input_open(struct fm_ctx *ctx, const char *path, struct fm_input **input,
                             struct fm_error *err)
{
    enum fm_status status = input_new(ctx, path, input, err);
    if (status != FM_OK)
        return status;
    struct fm_input *in = *input;
    if (strncmp(path, FM_TRACEFS_SCHEME, strlen(FM_TRACEFS_SCHEME)) == 0)
        return open_live(input, err);
    if (strcmp(path, "-") == 0) {
        in->fd = STDIN_FILENO;
        in->borrowed_fd = true;
    } else {
        in->has_path = true;
        do {
            in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        } while (in->fd < 0 && errno == EINTR);
    }
    if (in->fd < 0)
        status = fm_error_sys(err, errno, path, "cannot open");
    else
        status = open_fd(in, err);
    if (status != FM_OK) {
        fm_input_free(in);
        *input = NULL;
    }
    return status;
}

enum fm_status fm_input_open_memory(struct fm_ctx *ctx, const void *data, size_t n,
                                    const char *name, struct fm_input **input,
                                    struct fm_error *err)
{
    enum fm_status status = input_new(ctx, name, input, err);
    if (status != FM_OK)
        return status;
    struct fm_input *in = *input;
    in->kind = FM_INPUT_MEMORY;
    in->data = data;
    in->size = in->raw_size = n;
    fm_window_init_memory(&in->front, data, n);
    status = stack_layers(in, err);
    if (status != FM_OK) {
        fm_input_free(in);
        *input = NULL;
    }
    return status;
}

enum fm_status fm_input_open_part(struct fm_input *whole, uint64_t offset, uint64_t size,
                                  const char *name, struct fm_input **input,
                                  struct fm_error *err)
{
    *input = NULL;
    if (!fm_input_is_seekable(whole))
        return fm_error_at(err, FM_UNSUPPORTED, whole->name, offset, "cannot be read by offset");
    offset = FM_MIN(offset, whole->size);
    size = FM_MIN(size, whole->size - offset);
    if (whole->kind == FM_INPUT_MEMORY)
        return fm_input_open_memory(whole->ctx, whole->data + offset, (size_t)size, name, input,
                                    err);
    enum fm_status status = input_new(whole->ctx, name, input, err);
    if (status != FM_OK)
        return status;
    struct fm_input *in = *input;
    struct fm_stage *stage = fm_stage_part(&whole->ctx->mem, whole->fd, whole->base + offset, size,
                                           in->name);
    in->kind = FM_INPUT_STREAM;
    in->raw_size = size;
    if (stage == NULL) {
        status = fm_error_nomem(err);
    } else {
        fm_window_init(&in->front, &whole->ctx->mem, stage);
        status = stack_layers(in, err);
    }
    if (status != FM_OK) {
        fm_input_free(in);
        *input = NULL;
    }
    return status;
}

enum fm_status fm_input_open_beside(struct fm_input *input, const char *name,
                                    struct fm_input **member, struct fm_error *err)
{
    struct fm_mem *mem = &input->ctx->mem;
    *member = NULL;
    if (!input->has_path)
        return fm_error_at(err, FM_UNSUPPORTED, input->name, FM_NO_OFFSET,
                           "'%s' cannot be sought beside an input that is not a file", name);
    size_t folder = strlen(input->name), n = strlen(name), size;
    if (input->kind != FM_INPUT_DIR) {
        while (folder > 0 && input->name[folder - 1] != '/')
            folder--;
    }
    if (!fm_add_size(folder, n, &size) || !fm_add_size(size, 2, &size))
        return fm_error_nomem(err);
    char *path = fm_mem_alloc(mem, size);
    if (path == NULL)
        return fm_error_nomem(err);
    bool slash = folder > 0 && input->name[folder - 1] != '/';
    snprintf(path, size, "%.*s%s%s", (int)folder, input->name, slash ? "/" : "", name);
    enum fm_status status = fm_input_open(input->ctx, path, member, err);
    fm_mem_free(mem, path, size);
    return status;
}

bool fm_input_is_dir(const struct fm_input *input)
{
    return input->kind == FM_INPUT_DIR;
}

const char *fm_input_name(const struct fm_input *input)
{
    return input->name;
}

const char *fm_input_path(const struct fm_input *input)
{
    return input->has_path ? input->name : NULL;
}

const char *fm_input_member(const struct fm_input *input)
{
    return input->member;
}

const char *fm_input_filters(const struct fm_input *input)
{
    return input->filters;
}

static enum fm_status no_bytes(const struct fm_input *input, struct fm_error *err)
{
    return fm_error_at(err, FM_FORMAT, input->name, FM_NO_OFFSET, "is a directory");
}

enum fm_status fm_input_head(struct fm_input *input, const unsigned char **data, size_t *n,
                             struct fm_error *err)
{
    enum fm_status status = FM_OK;
    *data = (const unsigned char *)"";
    *n = 0;
    if (input->kind == FM_INPUT_DIR)
        return no_bytes(input, err);
    if (input->kind == FM_INPUT_STREAM && input->taken)
        return fm_error_at(err, FM_UNSUPPORTED, input->name, FM_NO_OFFSET,
                           "its first bytes have been read");
    if (input->kind == FM_INPUT_MEMORY) {
        *data = input->data;
        *n = (size_t)input->size;
    } else {
        status = fm_window_peek(&input->front, FM_INPUT_HEAD, data, n, err);
    }
    *n = FM_MIN(*n, FM_INPUT_HEAD);
    /* Damage within the head: what is there can be probed, the reader meets the damage. */
    if (status != FM_OK && status != FM_NOMEM && *n > 0) {
        fm_error_clear(err);
        status = FM_OK;
    }
    if (status == FM_OK && !input->head_hashed) {
        input->head_hash = fm_hash_of(*data, *n);
        input->head_hashed = true;
    }
    return status;
}

enum fm_status fm_input_seekable(struct fm_input *input, struct fm_error *err)
{
    if (input->kind == FM_INPUT_DIR)
        return no_bytes(input, err);
    return input->kind == FM_INPUT_STREAM ? fm_spool(input, err) : FM_OK;
}

bool fm_input_is_seekable(const struct fm_input *input)
{
    return input->kind == FM_INPUT_MEMORY || input->kind == FM_INPUT_FILE;
}

bool fm_input_size(const struct fm_input *input, uint64_t *size)
{
    *size = 0;
    switch (input->kind) {
    case FM_INPUT_DIR:
        return false;
    case FM_INPUT_MEMORY:
    case FM_INPUT_FILE:
        *size = input->size;
        return true;
    case FM_INPUT_STREAM:
        *size = input->front.offset + fm_window_have(&input->front);
        return input->front.eof;
    }
    return false;
}

uint64_t fm_input_raw_size(const struct fm_input *input)
{
    return input->raw_size;
}

uint64_t fm_input_hash(const struct fm_input *input)
{
    uint64_t size;
    if (atomic_load(&input->hashed))
        return atomic_load(&input->hash);
    if (!fm_input_size(input, &size))
        size = 0;
    return fm_mix(fm_mix(0, size), input->head_hashed ? input->head_hash : 0);
}

void fm_input_findings(const struct fm_input *input, struct fm_diags *diags)
{
    fm_diags_merge(diags, &input->diags);
}

enum fm_status fm_input_damage(const struct fm_input *input, struct fm_error *err)
{
    const struct fm_error *damage =
        input->damage.status != FM_OK ? &input->damage : &input->front.error;
    if (damage->status != FM_OK && err != NULL && err->status == FM_OK)
        *err = *damage;
    return damage->status;
}

enum fm_status fm_input_read_at(struct fm_input *input, uint64_t offset, void *buf, size_t n,
                                size_t *got, struct fm_error *err)
{
    enum fm_status status = FM_OK;
    *got = 0;
    switch (input->kind) {
    case FM_INPUT_DIR:
        return no_bytes(input, err);
    case FM_INPUT_STREAM:
        return fm_error_at(err, FM_UNSUPPORTED, input->name, offset, "cannot be read by offset");
    case FM_INPUT_MEMORY:
        if (offset < input->size) {
            *got = (size_t)FM_MIN((uint64_t)n, input->size - offset);
            memcpy(buf, input->data + offset, *got);
        }
        break;
    case FM_INPUT_FILE:
        if (offset <= UINT64_MAX - input->base)
            status = fm_file_read_at(input->fd, input->name, input->base + offset, buf, n, got,
                                     err);
        break;
    }
    if (status == FM_OK && *got < n && input->damage.status != FM_OK) {
        status = input->damage.status;
        if (err != NULL && err->status == FM_OK)
            *err = input->damage;
    }
    return status;
}
