/*
 * place.c - the folder that a report writes: folders, whole files, kept results (place.h).
 */
#include "report/place.h"

#include "util/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD_MAX ((size_t)256 << 20)

static bool full(const struct fm_report_place *place, const char *path, char out[PATH_MAX])
{
    int n = snprintf(out, PATH_MAX, "%s/%s", place->dir, path);

    if (n >= 0 && n < PATH_MAX)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

/* The folders above a path. */
static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        bool good;

        *slash = '\0';
        good = mkdir(path, 0777) == 0 || errno == EEXIST || errno == EISDIR;
        *slash = '/';
        if (!good)
            return false;
    }
    return true;
}

static enum fm_status failed(struct fm_error *err, const char *path, const char *what)
{
    return fm_error_sys(err, errno, path, what);
}

/* -------------------------------------------------------------------- open */

/* What a killed run left in tmp/. */
static void sweep(const struct fm_report_place *place)
{
    char path[PATH_MAX];
    struct dirent *entry;
    DIR *dir;

    if (!full(place, ".foldmill/tmp", path) || (dir = opendir(path)) == NULL)
        return;
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

enum fm_status fm_place_open(struct fm_report_place *place, struct fm_mem *mem, const char *dir,
                             struct fm_error *err)
{
    char path[PATH_MAX];

    place->mem = mem;
    place->dir = dir;
    place->lock = -1;
    atomic_init(&place->temporary, 0);
    if (!full(place, ".foldmill/tmp/x", path) || !make_folders(path)
        || !full(place, ".foldmill/lock", path))
        return failed(err, dir, "cannot make the folder");
    place->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (place->lock < 0)
        return failed(err, path, "cannot create");
    if (flock(place->lock, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK)
            return failed(err, path, "cannot lock");
        return fm_error_set(err, FM_CONFIG, "another run writes '%s': shares are written to "
                            "folders of their own, and merged", dir);
    }
    sweep(place);
    return FM_OK;
}

void fm_place_close(struct fm_report_place *place)
{
    if (place->lock >= 0)
        close(place->lock);
    place->lock = -1;
}

/* ------------------------------------------------------------------- files */

static int write_all(void *user, const void *data, size_t n)
{
    struct fm_report_file_out *file = user;
    const char *p = data;

    while (n > 0) {
        ssize_t k = write(file->fd, p, n);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return errno;
        p += k;
        n -= (size_t)k;
        file->written += (uint64_t)k;
    }
    return 0;
}

enum fm_status fm_place_create(struct fm_report_place *place, struct fm_report_file_out *file,
                               struct fm_error *err)
{
    unsigned long id = atomic_fetch_add(&place->temporary, 1);

    file->place = place;
    file->written = 0;
    file->sink = (struct fm_sink){write_all, file};
    snprintf(file->temporary, sizeof file->temporary, "%s/.foldmill/tmp/%ld-%lu", place->dir,
             (long)getpid(), id);
    file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return file->fd < 0 ? failed(err, file->temporary, "cannot create") : FM_OK;
}

void fm_place_abandon(struct fm_report_file_out *file)
{
    if (file->fd >= 0) {
        close(file->fd);
        unlink(file->temporary);
    }
    file->fd = -1;
}

enum fm_status fm_place_commit(struct fm_report_file_out *file, const char *path,
                               struct fm_error *err)
{
    char to[PATH_MAX];
    enum fm_status status = FM_OK;

    if (close(file->fd) != 0 || !full(file->place, path, to) || !make_folders(to)
        || rename(file->temporary, to) != 0) {
        status = failed(err, path, "cannot write");
        unlink(file->temporary);
    }
    file->fd = -1;
    return status;
}

/* Whether a file has these bytes. */
static bool same_bytes(const char *path, const char *data, size_t n)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char buf[16384];
    size_t at = 0;
    ssize_t k = 0;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == n) {
        while (at < n && (k = read(fd, buf, sizeof buf)) > 0 && (size_t)k <= n - at
               && memcmp(buf, data + at, (size_t)k) == 0)
            at += (size_t)k;
    } else {
        at = SIZE_MAX;
    }
    close(fd);
    return at == n;
}

enum fm_status fm_place_write(struct fm_report_place *place, const char *path, const char *data,
                              size_t n, struct fm_error *err)
{
    struct fm_report_file_out file;
    char to[PATH_MAX];
    enum fm_status status;
    int error;

    if (full(place, path, to) && same_bytes(to, data, n))
        return FM_OK;
    status = fm_place_create(place, &file, err);
    if (status != FM_OK)
        return status;
    error = write_all(&file, data, n);
    if (error != 0) {
        fm_place_abandon(&file);
        return fm_error_sys(err, error, path, "cannot write");
    }
    return fm_place_commit(&file, path, err);
}

void fm_place_remove(struct fm_report_place *place, const char *path)
{
    char at[PATH_MAX];

    if (!full(place, path, at) || unlink(at) != 0)
        return;
    /* the folders that are empty now, up to DIR */
    for (char *slash = strrchr(at, '/'); slash != NULL && slash > at + strlen(place->dir);
         slash = strrchr(at, '/')) {
        *slash = '\0';
        if (rmdir(at) != 0)
            return;
    }
}

char *fm_place_read(const struct fm_report_place *place, struct fm_arena *arena, const char *path,
                    size_t *n)
{
    char at[PATH_MAX], *data = NULL;
    struct stat st;
    ssize_t k = 0;
    int fd;

    *n = 0;
    if (!full(place, path, at) || (fd = open(at, O_RDONLY | O_CLOEXEC)) < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size <= RECORD_MAX)
        data = fm_arena_alloc(arena, (size_t)st.st_size + 1);
    while (data != NULL && *n < (size_t)st.st_size
           && (k = read(fd, data + *n, (size_t)st.st_size - *n)) > 0)
        *n += (size_t)k;
    close(fd);
    return data != NULL && *n == (size_t)st.st_size ? data : NULL;
}

/* ------------------------------------------------------------ kept results */

void fm_result_path(const char key[FM_REPORT_KEY], bool output, char path[FM_RESULT_PATH_BYTES])
{
    snprintf(path, FM_RESULT_PATH_BYTES, ".foldmill/results/%.2s/%s%s", key, key,
             output ? ".out" : "");
}

#define TRAILER ((size_t)4 + FM_REPORT_KEY)    /* "end " and the hash and a line feed */

static bool hash_of(struct fm_mem *mem, const char *data, size_t n, char key[FM_REPORT_KEY])
{
    struct fm_report_hash *hash = fm_report_hash_new(mem);
    uint64_t digest[2];

    if (hash == NULL)
        return false;
    fm_report_hash_bytes(hash, data, n);
    fm_report_hash_get(hash, digest);
    fm_report_hash_hex(digest, key);
    fm_report_hash_free(hash, mem);
    return true;
}

enum fm_status fm_place_keep(struct fm_report_place *place, const char key[FM_REPORT_KEY],
                             const struct fm_out *body, struct fm_error *err)
{
    char path[FM_RESULT_PATH_BYTES], sum[FM_REPORT_KEY], end[64];
    struct fm_report_file_out file;
    enum fm_status status;
    int error;

    if (body->status != FM_OK || !hash_of(place->mem, body->buf, body->n, sum))
        return fm_error_nomem(err);
    status = fm_place_create(place, &file, err);
    if (status != FM_OK)
        return status;
    snprintf(end, sizeof end, "end %s\n", sum);
    error = write_all(&file, body->buf, body->n);
    if (error == 0)
        error = write_all(&file, end, strlen(end));
    if (error != 0) {
        fm_place_abandon(&file);
        return fm_error_sys(err, error, file.temporary, "cannot write");
    }
    fm_result_path(key, false, path);
    return fm_place_commit(&file, path, err);
}

char *fm_place_kept(const struct fm_report_place *place, struct fm_arena *arena,
                    const char key[FM_REPORT_KEY], size_t *n)
{
    char path[FM_RESULT_PATH_BYTES], sum[FM_REPORT_KEY], *data;

    fm_result_path(key, false, path);
    data = fm_place_read(place, arena, path, n);
    if (data == NULL || *n < TRAILER)
        return NULL;
    *n -= TRAILER;
    if (!hash_of(place->mem, data, *n, sum) || memcmp(data + *n, "end ", 4) != 0
        || memcmp(data + *n + 4, sum, FM_REPORT_KEY - 1) != 0)
        return NULL;
    data[*n] = '\0';
    return data;
}

bool fm_place_has(const struct fm_report_place *place, const char key[FM_REPORT_KEY],
                  uint64_t size)
{
    char path[FM_RESULT_PATH_BYTES], at[PATH_MAX];
    struct stat st;

    fm_result_path(key, true, path);
    return full(place, path, at) && stat(at, &st) == 0 && S_ISREG(st.st_mode)
           && (uint64_t)st.st_size == size;
}

/* Copies a file, whole or not at all. */
static enum fm_status copy(struct fm_report_place *place, const char *from, const char *path,
                           struct fm_error *err)
{
    struct fm_report_file_out file;
    enum fm_status status;
    char buf[32768];
    ssize_t n = 0;
    int error = 0, fd = open(from, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return failed(err, from, "cannot open");
    status = fm_place_create(place, &file, err);
    if (status == FM_OK) {
        while (error == 0 && (n = read(fd, buf, sizeof buf)) > 0)
            error = write_all(&file, buf, (size_t)n);
        if (n < 0)
            error = errno;
        if (error == 0) {
            status = fm_place_commit(&file, path, err);
        } else {
            fm_place_abandon(&file);
            status = fm_error_sys(err, error, path, "cannot copy");
        }
    }
    close(fd);
    return status;
}

/* `path` becomes another name of the file `from`, or a copy where that cannot be. */
static enum fm_status link_to(struct fm_report_place *place, const char *from, const char *path,
                              struct fm_error *err)
{
    char to[PATH_MAX], temporary[PATH_MAX];
    struct stat a, b;

    if (!full(place, path, to) || stat(from, &a) != 0)
        return failed(err, from, "cannot find");
    if (stat(to, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev)
        return FM_OK;
    if (!make_folders(to))
        return failed(err, to, "cannot make the folder of");
    snprintf(temporary, sizeof temporary, "%s/.foldmill/tmp/%ld-%lu", place->dir, (long)getpid(),
             atomic_fetch_add(&place->temporary, 1));
    if (link(from, temporary) == 0) {
        if (rename(temporary, to) == 0)
            return FM_OK;
        unlink(temporary);
    }
    return copy(place, from, path, err);
}

enum fm_status fm_place_show(struct fm_report_place *place, const char key[FM_REPORT_KEY],
                             const char *path, struct fm_error *err)
{
    char kept[FM_RESULT_PATH_BYTES], from[PATH_MAX];

    fm_result_path(key, true, kept);
    if (!full(place, kept, from))
        return failed(err, kept, "cannot find");
    return link_to(place, from, path, err);
}

enum fm_status fm_place_take(struct fm_report_place *place, const char *from_dir,
                             const char *path, struct fm_error *err)
{
    char from[PATH_MAX], to[PATH_MAX];
    int n = snprintf(from, sizeof from, "%s/%s", from_dir, path);

    if (n < 0 || n >= (int)sizeof from || !full(place, path, to)) {
        errno = ENAMETOOLONG;
        return failed(err, path, "cannot find");
    }
    return access(to, F_OK) == 0 ? FM_OK : copy(place, from, path, err);
}
