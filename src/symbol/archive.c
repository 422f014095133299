/*
 * archive.c - members of tar archives as files with symbols: see archive.h.
 *
 * A member is copied to memory, at most FM_IMAGE_UNPACKED bytes of it, and belongs to the image.
 */
#include "symbol/archive.h"

#include <sys/stat.h>

bool fm_archives_add(struct fm_archives *archives, struct fm_ctx *ctx, const char *path)
{
    struct stat st;

    archives->ctx = ctx;
    if (archives->n == FM_ARCHIVES || path == NULL || stat(path, &st) != 0 ||
        !S_ISREG(st.st_mode))
        return false;
    archives->archive[archives->n++] = (struct fm_archive){ .path = path, .path_n = strlen(path) };
    return true;
}

void fm_archives_release(struct fm_archives *archives)
{
    for (size_t i = 0; i < archives->n; i++) {
        fm_tar_close(archives->archive[i].tar);
        fm_input_free(archives->archive[i].input);
    }
    archives->n = 0;
}

static enum fm_status open_archive(struct fm_archives *archives, struct fm_archive *archive)
{
    enum fm_status status;

    if (archive->tried)
        return archive->tar != NULL ? FM_OK : FM_FORMAT;
    archive->tried = true;
    status = fm_input_open(archives->ctx, archive->path, &archive->input, NULL);
    if (status == FM_OK)
        status = fm_tar_open(archive->input, &archive->tar, NULL);
    return status;
}

static enum fm_status read_member(struct fm_archives *archives, const struct fm_archive *archive,
                                  const char *path, struct fm_image *image)
{
    const struct fm_tar_member *member;
    struct fm_input *input = NULL;
    enum fm_status status;
    char *data;
    size_t n;
    bool oom;

    member = fm_tar_find(archive->tar, path, &oom);
    if (member == NULL)
        return oom ? FM_NOMEM : FM_IO;
    status = fm_tar_input(archive->tar, member, path, &input, NULL);
    if (status != FM_OK)
        return status;
    status = fm_input_slurp_all(input, FM_IMAGE_UNPACKED, &data, &n, NULL);
    fm_input_free(input);
    if (status != FM_OK)
        return status;
    image->mem = &archives->ctx->mem;
    image->data = (unsigned char *)data;
    image->heap = data;
    image->n = n;
    return FM_OK;
}

bool fm_archives_open(struct fm_archives *archives, const char *path, struct fm_image *image,
                      enum fm_status *status)
{
    for (size_t i = 0; i < archives->n; i++) {
        struct fm_archive *archive = &archives->archive[i];
        if (strncmp(path, archive->path, archive->path_n) != 0 || path[archive->path_n] != '/')
            continue;
        memset(image, 0, sizeof *image);
        *status = open_archive(archives, archive);
        if (*status == FM_OK)
            *status = read_member(archives, archive, path + archive->path_n + 1, image);
        return true;
    }
    return false;
}
