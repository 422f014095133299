/*
 * place.h - the folder that a report writes, and the results it keeps there.
 *
 *     DIR/files/NAME/...                  outputs of a file     (hard links to kept results)
 *     DIR/functions.csv, index.html ...   outputs over all files
 *     DIR/.foldmill/results/ab/abc...     a kept result: its record
 *     DIR/.foldmill/results/ab/abc....out its bytes, when it is an output
 *     DIR/.foldmill/manifest              the files of the last run, see manifest.c
 *     DIR/.foldmill/stat                  hashes of files by size, time and number
 *     DIR/.foldmill/lock, tmp/            one run at a time; files being written
 *
 * A file appears whole or not at all: it is written in tmp/ and renamed. A name of a kept result is
 * the hash of all that it depends on, so what is there is right. A record ends with a hash of its
 * bytes: one that a crash of the machine left half is none.
 */
#ifndef FM_REPORT_PLACE_H
#define FM_REPORT_PLACE_H

#include "report/hash.h"
#include "util/out.h"

#include <stdatomic.h>

struct fm_report_place {
    struct fm_mem *mem;
    const char *dir;                 /* borrowed */
    int lock;                        /* -1: not open */
    atomic_ulong temporary;          /* names in tmp/ */
};

/* Makes the folder, and takes it for this run. FM_CONFIG: another run has it; FM_IO. */
enum fm_status fm_place_open(struct fm_report_place *place, struct fm_mem *mem, const char *dir,
                             struct fm_error *err);
void fm_place_close(struct fm_report_place *place);

/* A file being written. */
struct fm_report_file_out {
    struct fm_report_place *place;
    int fd;
    char temporary[4096];
    uint64_t written;
    struct fm_sink sink;
};
enum fm_status fm_place_create(struct fm_report_place *place, struct fm_report_file_out *file,
                               struct fm_error *err);
/* Gives it its name, a path from DIR. The file is closed and gone from tmp/ in any case. */
enum fm_status fm_place_commit(struct fm_report_file_out *file, const char *path,
                               struct fm_error *err);
void fm_place_abandon(struct fm_report_file_out *file);
/* Writes a whole file, unless one with these bytes is there. */
enum fm_status fm_place_write(struct fm_report_place *place, const char *path, const char *data,
                              size_t n, struct fm_error *err);
void fm_place_remove(struct fm_report_place *place, const char *path);
/* All bytes of a small file below DIR, with a NUL behind them, in the arena. NULL: there is none,
 * or it cannot be read. */
char *fm_place_read(const struct fm_report_place *place, struct fm_arena *arena, const char *path,
                    size_t *n);

/* Paths of a kept result, from DIR; `path` has FM_RESULT_PATH bytes. */
#define FM_RESULT_PATH_BYTES 64
void fm_result_path(const char key[FM_REPORT_KEY], bool output, char path[FM_RESULT_PATH_BYTES]);
/* Writes a record: the body, and a line with its hash. */
enum fm_status fm_place_keep(struct fm_report_place *place, const char key[FM_REPORT_KEY],
                             const struct fm_out *body, struct fm_error *err);
/* The body of a record, NUL behind it, in the arena. NULL: there is none, or it is broken. */
char *fm_place_kept(const struct fm_report_place *place, struct fm_arena *arena,
                    const char key[FM_REPORT_KEY], size_t *n);
/* Whether a kept output of that size is there. */
bool fm_place_has(const struct fm_report_place *place, const char key[FM_REPORT_KEY],
                  uint64_t size);
/* Makes the kept output appear at `path` from DIR. */
enum fm_status fm_place_show(struct fm_report_place *place, const char key[FM_REPORT_KEY],
                             const char *path, struct fm_error *err);
/* Takes a kept file (a record or an output) over from another report's folder. */
enum fm_status fm_place_take(struct fm_report_place *place, const char *from_dir,
                             const char *path, struct fm_error *err);

#endif
