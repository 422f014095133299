/*
 * archive.c - the facade's tar archives: which files are in one.
 */
#include "foldmill.h"

#include "input/tar.h"

enum fm_status fm_archive_list(struct fm_ctx *ctx, const char *path,
                               bool (*fn)(void *user, const char *member, uint64_t size),
                               void *user, struct fm_error *err)
{
    struct fm_input *input = NULL;
    struct fm_tar *tar = NULL;
    enum fm_status status = fm_input_open(ctx, path, &input, err);

    if (status == FM_OK)
        status = fm_tar_open(input, &tar, err);
    for (size_t i = 0; status == FM_OK && i < fm_tar_members(tar); i++) {
        const struct fm_tar_member *member = fm_tar_member(tar, i);

        if (member->kind == FM_TAR_FILE && !fn(user, member->name, member->size))
            break;
    }
    fm_tar_close(tar);
    fm_input_free(input);
    return status;
}
