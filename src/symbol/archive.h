/*
 * archive.h - tar archives in place of folders with symbols, as `perf archive` packs them.
 *
 * A path below an archive names one of its members:
 *
 *     /x/perf.data.tar.bz2/.build-id/ab/cdef…/elf
 *     archive              member, through links
 *
 * so that whoever looks for files in a folder finds them in an archive by the same paths. An
 * archive is opened when it is first asked.
 */
#ifndef FM_SYMBOL_ARCHIVE_H
#define FM_SYMBOL_ARCHIVE_H

#include "input/tar.h"
#include "symbol/image.h"

#define FM_ARCHIVES 4

struct fm_archive {
    const char *path;
    size_t path_n;
    struct fm_input *input;
    struct fm_tar *tar;      /* NULL: not opened yet, or no archive */
    bool tried;
};

struct fm_archives {
    struct fm_ctx *ctx;
    struct fm_archive archive[FM_ARCHIVES];
    size_t n;
};

/* Adds a path (borrowed) if a plain file is there that may be an archive; true when it is added. */
bool fm_archives_add(struct fm_archives *archives, struct fm_ctx *ctx, const char *path);
void fm_archives_release(struct fm_archives *archives);

/* True when the path lies below one of the archives; *status: FM_OK and the member's bytes,
 * decompressed when it is packed, FM_IO "not there", FM_FORMAT, FM_LIMIT, FM_NOMEM. */
bool fm_archives_open(struct fm_archives *archives, const char *path, struct fm_image *image,
                      enum fm_status *status);

#endif
