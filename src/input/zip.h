/*
 * zip.h - inside the input floor: what a member of a zip archive is, and how it is found.
 *
 *     PK34 member  PK34 member ...  PK12 PK12 ...  [PK66 PK67]  PK56
 *     ^ local headers and data      ^ directory     ^ zip64      ^ end record
 *
 * zip_dir.c reads the directory of an archive whose bytes can be sought; zip.c is the stage, which
 * also walks the local headers of one that comes through a pipe.
 */
#ifndef FM_INPUT_ZIP_H
#define FM_INPUT_ZIP_H

#include "input/window.h"
#include "util/cursor.h"

/* A member, by its directory entry or its local header. */
struct fm_zip_member {
    uint64_t at;             /* of its local header */
    uint64_t packed, size;   /* bytes in the archive, bytes of the file */
    uint32_t crc;
    uint16_t method, flags;
    bool folder;             /* its name ends with a slash */
    char name[FM_INPUT_MEMBER]; /* cut to this; control bytes are '?' */
};

#define FM_ZIP_ENCRYPTED 0x0001u
#define FM_ZIP_DESCRIBED 0x0008u  /* sizes and CRC stand behind the data */

enum {
    FM_ZIP_LOCAL = 0x04034b50,
    FM_ZIP_ENTRY = 0x02014b50,
    FM_ZIP_END = 0x06054b50,
    FM_ZIP_END64 = 0x06064b50,
    FM_ZIP_LOCATOR64 = 0x07064b50,
    FM_ZIP_DESCRIPTOR = 0x08074b50,
    FM_ZIP_SIGNATURE = 0x05054b50,
    FM_ZIP_EXTRA = 0x08064b50
};

/* All numbers of the format are little-endian. */
static inline void fm_zip_cursor(struct fm_cursor *c, const unsigned char *p, size_t n,
                                 uint64_t offset)
{
    fm_cursor_init(c, p, n, offset, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/* Takes name and extra field: the latter's 64-bit numbers replace those that are all ones (of the
 * entry: `at` too). The cursor stands at the name. */
void fm_zip_names(struct fm_cursor *c, struct fm_zip_member *member, size_t name, size_t extra,
                  bool entry);

/* What a directory says. */
struct fm_zip_directory {
    struct fm_zip_member largest; /* of those that hold bytes; the first of equal ones */
    uint64_t files;               /* that hold bytes; 0: `largest` is not set */
    uint64_t at, end;             /* of the directory; one past the archive */
};

/* Whether the bytes of a window can be sought. */
bool fm_zip_can_seek(const struct fm_window *window);
/* Reads the directory, and leaves the window anywhere. FM_FORMAT: there is none, or it is broken;
 * FM_NOMEM, FM_IO. */
enum fm_status fm_zip_directory(struct fm_window *window, struct fm_zip_directory *dir,
                                struct fm_error *err);

/* The stage for the archive that the window begins with: as fm_layer_open(). */
enum fm_status fm_zip_open(const struct fm_layer_env *env, struct fm_window *below,
                           struct fm_stage **stage, struct fm_error *err);

#endif
