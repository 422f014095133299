/*
 * stat.c - hashes of the files' bytes, and which of them need not be worked out again.
 *
 *     DIR/.foldmill/stat   NAME  HASH  size inode device  changed  touched     a line a file
 *
 * A file with the size, inode, times and device of the last run has the bytes of the last run: the
 * inode's own time moves with every write, and no program can set it back. A time within the last
 * two seconds before the file was read is not kept, since a write in the same tick of the clock
 * would not show.
 */
#include "report/lines.h"
#include "report/run.h"

#include "util/error.h"
#include "util/text.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define STAT ".foldmill/stat"
#define FIELDS 9
#define SETTLE 2                     /* seconds */

struct fm_report_seen {
    const char *name, *hash;
    struct fm_report_stamp stamp;
};

static bool stamp_of(const char *path, struct fm_report_stamp *stamp, mode_t *mode)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return false;
    *stamp = (struct fm_report_stamp){
        .size = (uint64_t)st.st_size, .inode = st.st_ino, .device = st.st_dev,
        .changed_s = st.st_mtim.tv_sec, .changed_ns = st.st_mtim.tv_nsec,
        .touched_s = st.st_ctim.tv_sec, .touched_ns = st.st_ctim.tv_nsec,
    };
    *mode = st.st_mode;
    return true;
}

static bool same_stamp(const struct fm_report_stamp *a, const struct fm_report_stamp *b)
{
    return a->size == b->size && a->inode == b->inode && a->device == b->device
           && a->changed_s == b->changed_s && a->changed_ns == b->changed_ns
           && a->touched_s == b->touched_s && a->touched_ns == b->touched_ns;
}

/* The file whose bytes a job's are: of a member its archive. `path` has PATH_MAX bytes. */
static bool file_of(const struct fm_report_job *job, char *path)
{
    struct stat st;
    size_t n = strlen(job->name);
    const char *colon = job->name;

    if (n >= PATH_MAX)
        return false;
    memcpy(path, job->name, n + 1);
    if (stat(path, &st) == 0)
        return true;
    while ((colon = strchr(colon + 1, ':')) != NULL) {
        path[colon - job->name] = '\0';
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
            return true;
        path[colon - job->name] = ':';
    }
    return false;
}

/* ----------------------------------------------------------------- hashing */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All files of a folder that perf recorded into. */
static bool hash_folder(struct fm_report_hash *hash, struct fm_mem *mem, const char *path,
                        uint64_t *size)
{
    struct fm_arena arena;
    const char **name = NULL;
    size_t n = 0, cap = 0;
    struct dirent *entry;
    bool good = true;
    DIR *dir = opendir(path);

    if (dir == NULL)
        return false;
    fm_arena_init(&arena, mem);
    while (good && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        good = fm_grow(mem, (void **)&name, &cap, n + 1, sizeof *name);
        if (good)
            name[n++] = fm_arena_printf(&arena, "%s/%s", path, entry->d_name);
    }
    closedir(dir);
    good = good && !arena.oom;
    if (good && n > 1)
        qsort(name, n, sizeof *name, by_text);
    for (size_t i = 0; good && i < n; i++) {
        uint64_t bytes = 0;

        fm_report_hash_text(hash, name[i] + strlen(path));
        good = fm_report_hash_file(hash, name[i], &bytes);
        *size += bytes;
    }
    fm_mem_free(mem, name, cap * sizeof *name);
    fm_arena_release(&arena);
    return good;
}

static const struct fm_report_seen *seen_before(const struct fm_report_run *run, const char *name)
{
    size_t low = 0, high = run->seens;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(run->seen[mid].name, name);

        if (order == 0)
            return &run->seen[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

static bool cannot(struct fm_report_job *job, int error)
{
    job->busy_error = true;
    fm_error_sys(&job->err, error, job->name, "cannot read");
    return false;
}

static bool hash_bytes(struct fm_report_run *run, struct fm_report_job *job, const char *path,
                       bool folder)
{
    struct fm_report_hash *hash = fm_report_hash_new(&run->ctx->mem);
    uint64_t digest[2];
    bool good;

    if (hash == NULL)
        return cannot(job, ENOMEM);
    job->size = 0;
    good = folder ? hash_folder(hash, &run->ctx->mem, path, &job->size)
                  : fm_report_hash_file(hash, path, &job->size);
    if (!good)
        cannot(job, errno);
    fm_report_hash_get(hash, digest);
    fm_report_hash_hex(digest, job->hash);
    if (!good)
        job->hash[0] = '\0';
    fm_report_hash_free(hash, &run->ctx->mem);
    return good;
}

bool fm_report_job_hash(struct fm_report_run *run, struct fm_report_job *job)
{
    const struct fm_report_seen *seen = seen_before(run, job->name);
    struct timespec now;
    char path[PATH_MAX];
    mode_t mode;

    if (job->hash[0] != '\0')
        return true;
    if (!file_of(job, path) || !stamp_of(path, &job->stamp, &mode))
        return cannot(job, errno != 0 ? errno : ENOENT);
    if (!S_ISREG(mode) && !S_ISDIR(mode)) {
        job->busy_error = true;     /* a pipe would be waited for, and can be read but once */
        fm_error_at(&job->err, FM_IO, job->name, FM_NO_OFFSET, "a pipe or a device, not a file");
        return false;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    job->settled = S_ISREG(mode) && job->stamp.changed_s + SETTLE < now.tv_sec
                   && job->stamp.touched_s + SETTLE < now.tv_sec;
    if (job->settled && seen != NULL && same_stamp(&seen->stamp, &job->stamp)) {
        memcpy(job->hash, seen->hash, FM_REPORT_KEY);
        job->size = job->stamp.size;
        return true;
    }
    return hash_bytes(run, job, path, S_ISDIR(mode));
}

bool fm_report_job_same(const struct fm_report_job *job)
{
    struct fm_report_stamp stamp;
    char path[PATH_MAX];
    mode_t mode;

    return file_of(job, path) && stamp_of(path, &stamp, &mode) && same_stamp(&stamp, &job->stamp);
}

/* ----------------------------------------------------------------- keeping */

static bool number(const char *s, int64_t *v)
{
    return fm_text_i64(s, strlen(s), v);
}

static bool read_seen(const char *const *field, struct fm_report_seen *seen)
{
    struct fm_report_stamp *s = &seen->stamp;

    seen->name = field[0];
    seen->hash = field[1];
    return strlen(seen->hash) == FM_REPORT_KEY - 1
           && fm_text_u64(field[2], strlen(field[2]), &s->size)
           && fm_text_u64(field[3], strlen(field[3]), &s->inode)
           && fm_text_u64(field[4], strlen(field[4]), &s->device)
           && number(field[5], &s->changed_s) && number(field[6], &s->changed_ns)
           && number(field[7], &s->touched_s) && number(field[8], &s->touched_ns);
}

/* Members of one archive stand side by side: its bytes are hashed for the first of them. */
static void hash_members(struct fm_report_run *run)
{
    char path[PATH_MAX], last[PATH_MAX] = "";
    const struct fm_report_job *first = NULL;

    for (size_t i = 0; i < run->jobs; i++) {
        struct fm_report_job *job = &run->job[i];

        if (strchr(job->name, ':') == NULL || !file_of(job, path)
            || strcmp(path, job->name) == 0)
            continue;
        if (first != NULL && strcmp(path, last) == 0) {
            memcpy(job->hash, first->hash, FM_REPORT_KEY);
            job->stamp = first->stamp;
            job->size = first->size;
        } else if (fm_report_job_hash(run, job)) {
            first = job;
            memcpy(last, path, sizeof last);
        }
    }
}

enum fm_status fm_report_stats_load(struct fm_report_run *run, struct fm_error *err)
{
    const char *field[FIELDS], *last = "";
    size_t n, lines = 0;
    char *at = fm_place_read(&run->place, &run->arena, STAT, &n);

    for (const char *s = at; s != NULL && *s != '\0'; s++)
        lines += *s == '\n';
    run->seen = fm_arena_alloc(&run->arena, (lines + 1) * sizeof *run->seen);
    if (run->seen == NULL)
        return fm_error_nomem(err);
    while (at != NULL && run->seens < lines && (n = fm_line_next(&at, field, FIELDS)) > 0) {
        struct fm_report_seen *seen = &run->seen[run->seens];

        if (n != FIELDS || !read_seen(field, seen) || strcmp(last, seen->name) >= 0)
            continue;                /* not ours: nothing is taken from it */
        last = seen->name;
        run->seens++;
    }
    if (run->options->redo)
        run->seens = 0;
    hash_members(run);
    return FM_OK;
}

enum fm_status fm_report_stats_save(struct fm_report_run *run, struct fm_error *err)
{
    enum fm_status status = FM_OK;
    struct fm_out out;

    if (fm_out_init(&out, &run->ctx->mem, NULL) != FM_OK)
        return fm_error_nomem(err);
    for (size_t i = 0; i < run->jobs; i++) {
        const struct fm_report_job *job = &run->job[i];
        const struct fm_report_stamp *s = &job->stamp;

        if (!job->settled || job->hash[0] == '\0' || job->size != s->size)
            continue;
        fm_line_put(&out, true, job->name);
        fm_line_put(&out, false, job->hash);
        fm_out_printf(&out, "\t%llu\t%llu\t%llu\t%lld\t%lld\t%lld\t%lld\n",
                      (unsigned long long)s->size, (unsigned long long)s->inode,
                      (unsigned long long)s->device, (long long)s->changed_s,
                      (long long)s->changed_ns, (long long)s->touched_s, (long long)s->touched_ns);
    }
    status = out.status != FM_OK ? fm_error_nomem(err)
                                 : fm_place_write(&run->place, STAT, out.buf, out.n, err);
    fm_out_release(&out);
    return status;
}
