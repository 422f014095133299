/*
 * tar.h - the members of a tar archive, packed in any way that inputs are.
 *
 *     fm_input_open("a.tar.zst")                 the archive as an input
 *     fm_tar_is(head), fm_tar_open(input)        every header is read once; nothing is unpacked
 *     fm_tar_member(tar, i)                      in the order of the archive, or
 *     fm_tar_find(tar, "usr/lib/x/elf")          by path, through links
 *     fm_tar_input(tar, member)                  its bytes as an input, decompressed in turn
 *
 * The archive's input is made seekable (a compressed one is spooled: up to 32 MiB in memory, else
 * an unlinked temporary file, under the cap of inflated bytes); a member costs nothing until it is
 * opened. Nothing is ever written to a path out of an archive. What a damaged archive holds before
 * the damage is there all the same; fm_tar_damage() tells.
 */
#ifndef FM_INPUT_TAR_H
#define FM_INPUT_TAR_H

#include "input/input.h"

enum fm_tar_kind {
    FM_TAR_FILE,
    FM_TAR_HARD,             /* another name for the member `link` */
    FM_TAR_SYMBOLIC,         /* `link` is a path relative to the folder of `name` */
    FM_TAR_FOLDER,
    FM_TAR_OTHER             /* devices, sparse files, what no reader may guess about */
};

struct fm_tar_member {
    const char *name;        /* "usr/bin/x": without "./" or "/" in front and "/" behind */
    const char *link;        /* as recorded; "" where there is none */
    uint64_t at, size;       /* of its bytes in the decoded archive; FILE only */
    uint8_t kind;            /* enum fm_tar_kind */
};

struct fm_tar;

/* Whether an input that begins with these bytes is a tar archive. */
bool fm_tar_is(const unsigned char *data, size_t n);

/* Reads all headers. The input is borrowed until fm_tar_close(). FM_FORMAT "is not a tar archive",
 * FM_NOMEM, FM_IO, FM_CANCELLED; damage behind the first header is no failure. */
enum fm_status fm_tar_open(struct fm_input *input, struct fm_tar **tar, struct fm_error *err);
void fm_tar_close(struct fm_tar *tar);
/* What ended the archive before its end, if anything did; else FM_OK. */
enum fm_status fm_tar_damage(const struct fm_tar *tar, struct fm_error *err);

size_t fm_tar_members(const struct fm_tar *tar);
const struct fm_tar_member *fm_tar_member(const struct fm_tar *tar, size_t i);

/* The file at a path ("a/b", "/a/b", "a/../a/b"), links followed; of members with one name the last
 * counts, as when they are unpacked. NULL: none. FM_NOMEM is told by *oom. */
const struct fm_tar_member *fm_tar_find(const struct fm_tar *tar, const char *path, bool *oom);

/* The bytes of a FILE member as an input of that name (for messages), which must be freed before
 * the archive is closed. */
enum fm_status fm_tar_input(const struct fm_tar *tar, const struct fm_tar_member *member,
                            const char *name, struct fm_input **input, struct fm_error *err);

/* tar_path.c: as fm_input_open(); where there is no file of that name, "ARCHIVE:MEMBER" is the
 * member of an archive, which is closed with the input. */
enum fm_status fm_input_open_named(struct fm_ctx *ctx, const char *path, struct fm_input **input,
                                   struct fm_error *err);

#endif
