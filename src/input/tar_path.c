/*
 * tar_path.c - "ARCHIVE:MEMBER" as an input: a member of a tar archive by one path.
 *
 * A file of the whole name goes first. Of several colons the first counts whose left side is a
 * file. The member's input owns the archive.
 */
#include "input/inner.h"
#include "input/tar.h"

#include "util/error.h"

#include <errno.h>
#include <sys/stat.h>

/* Length of the archive's path, 0 when no part before a colon is a file. */
static size_t archive_part(struct fm_mem *mem, const char *path)
{
    size_t n = strlen(path) + 1, found = 0;
    char *part = fm_mem_alloc(mem, n);
    struct stat st;

    if (part == NULL)
        return 0;
    memcpy(part, path, n);
    for (char *colon = strchr(part, ':'); colon != NULL && found == 0;
         colon = strchr(colon + 1, ':')) {
        *colon = '\0';
        if (stat(part, &st) == 0 && S_ISREG(st.st_mode) && colon[1] != '\0')
            found = (size_t)(colon - part);
        *colon = ':';
    }
    fm_mem_free(mem, part, n);
    return found;
}

static enum fm_status open_member(struct fm_input *whole, const char *path, const char *member,
                                  struct fm_input **input, struct fm_error *err)
{
    const struct fm_tar_member *found;
    struct fm_tar *tar = NULL;
    enum fm_status status = fm_tar_open(whole, &tar, err);
    bool oom = false;

    if (status != FM_OK)
        return status;
    found = fm_tar_find(tar, member, &oom);
    if (found != NULL)
        status = fm_tar_input(tar, found, path, input, err);
    else
        status = oom ? fm_error_nomem(err)
                     : fm_error_at(err, FM_UNKNOWN, path, FM_NO_OFFSET,
                                   "the archive has no such member");
    if (status != FM_OK) {
        fm_tar_close(tar);
        return status;
    }
    (*input)->tar = tar;
    (*input)->whole = whole;
    return FM_OK;
}

enum fm_status fm_input_open_named(struct fm_ctx *ctx, const char *path, struct fm_input **input,
                                   struct fm_error *err)
{
    struct fm_error local = {0};
    struct fm_input *whole = NULL;
    enum fm_status status = fm_input_open(ctx, path, input, &local);
    size_t n = status == FM_IO && (local.sys_errno == ENOENT || local.sys_errno == ENOTDIR)
                   ? archive_part(&ctx->mem, path) : 0;
    char *archive = n > 0 ? fm_mem_alloc(&ctx->mem, n + 1) : NULL;

    if (archive == NULL) {
        if (status != FM_OK && err != NULL && err->status == FM_OK)
            *err = local;
        return status;
    }
    memcpy(archive, path, n);
    archive[n] = '\0';
    status = fm_input_open(ctx, archive, &whole, err);
    if (status == FM_OK)
        status = open_member(whole, path, path + n + 1, input, err);
    if (status != FM_OK)
        fm_input_free(whole);
    fm_mem_free(&ctx->mem, archive, n + 1);
    return status;
}
