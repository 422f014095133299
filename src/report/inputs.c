/*
 * inputs.c - what the operands name: files, folders, patterns, members of tar archives, a list.
 *
 *     a.jfr            a file
 *     archive/         all files below it; a folder that perf recorded into is one input
 *     'arch*' '*.jfr'  a pattern that no shell has expanded
 *     a.tar.zst        each file in the archive: "a.tar.zst:dir/member"
 *     -                names on standard input, one a line
 *
 * Names that begin with a dot are left out of folders, as the report's own folder is; folders are
 * not entered through symbolic links. The jobs stand in the order of their names, bytewise,
 * whatever order they were found in.
 */
#include "report/run.h"

#include "util/error.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEEPEST 64
#define MOST_FILES ((size_t)16 << 20)

enum fm_status fm_report_add_job(struct fm_report_run *run, const char *name, bool given,
                                 struct fm_error *err)
{
    struct fm_mem *mem = &run->ctx->mem;

    if (run->jobs >= MOST_FILES)
        return fm_error_set(err, FM_LIMIT, "more than %zu files", MOST_FILES);
    if (!fm_grow(mem, (void **)&run->job, &run->job_cap, run->jobs + 1, sizeof *run->job))
        return fm_error_nomem(err);
    run->job[run->jobs] = (struct fm_report_job){.name = fm_arena_str(&run->arena, name),
                                                 .given = given};
    return run->job[run->jobs++].name == NULL ? fm_error_nomem(err) : FM_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct fm_report_job *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order != 0 ? order : (int)y->given - (int)x->given;
}

void fm_report_sort_jobs(struct fm_report_run *run)
{
    size_t n = 0;

    if (run->jobs > 1)
        qsort(run->job, run->jobs, sizeof *run->job, by_name);
    for (size_t i = 0; i < run->jobs; i++)
        if (n == 0 || strcmp(run->job[n - 1].name, run->job[i].name) != 0)
            run->job[n++] = run->job[i];
    run->jobs = n;
}

/* ---------------------------------------------------------------- archives */

static bool ends(const char *name, const char *with)
{
    size_t n = strlen(name), k = strlen(with);

    return n > k && strcmp(name + n - k, with) == 0;
}

/* By the name: every file of an archive would have to be unpacked to be asked otherwise. */
static bool is_archive(const char *name)
{
    static const char *const ending[] = {".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz",
                                         ".tar.bz2", ".tar.lz4"};

    for (size_t i = 0; i < FM_COUNT(ending); i++)
        if (ends(name, ending[i]))
            return true;
    return false;
}

struct members {
    struct fm_report_run *run;
    const char *archive;
    enum fm_status status;
    struct fm_error *err;
};

static bool add_member(void *user, const char *member, uint64_t size)
{
    struct members *m = user;
    const char *name = fm_arena_printf(&m->run->arena, "%s:%s", m->archive, member);

    if (size == 0)
        return true;
    m->status = name == NULL ? fm_error_nomem(m->err)
                             : fm_report_add_job(m->run, name, false, m->err);
    return m->status == FM_OK;
}

static enum fm_status add_file(struct fm_report_run *run, const char *name, bool given,
                               struct fm_error *err)
{
    struct members members = {run, name, FM_OK, err};
    struct fm_error local = {0};

    if (!is_archive(name)
        || fm_archive_list(run->ctx, name, add_member, &members, &local) != FM_OK)
        return fm_report_add_job(run, name, given, err);
    return members.status;
}

/* ----------------------------------------------------------------- folders */

static enum fm_status add_folder(struct fm_report_run *run, const char *path, unsigned depth,
                                 struct fm_error *err);

/* Whether perf recorded into the folder: such a folder is an input. */
static bool is_recording(const char *path)
{
    char at[PATH_MAX];
    int n = snprintf(at, sizeof at, "%s/data.0", path), m;
    struct stat st;

    if (n < 0 || n >= (int)sizeof at || stat(at, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    m = snprintf(at, sizeof at, "%s/data", path);
    return m > 0 && stat(at, &st) == 0 && S_ISREG(st.st_mode);
}

/* The report's own folder is not read. */
static bool is_output(const struct fm_report_run *run, const struct stat *st)
{
    struct stat own;

    return stat(run->options->output, &own) == 0 && own.st_ino == st->st_ino
           && own.st_dev == st->st_dev;
}

static enum fm_status add_entry(struct fm_report_run *run, const char *path, unsigned depth,
                                struct fm_error *err)
{
    struct stat st;

    if (lstat(path, &st) != 0)
        return FM_OK;                /* it has just gone */
    if (S_ISDIR(st.st_mode) && is_recording(path))
        return fm_report_add_job(run, path, false, err);
    if (S_ISDIR(st.st_mode))
        return is_output(run, &st) ? FM_OK : add_folder(run, path, depth + 1, err);
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return FM_OK;
    return add_file(run, path, false, err);
}

static enum fm_status add_folder(struct fm_report_run *run, const char *path, unsigned depth,
                                 struct fm_error *err)
{
    size_t n = strlen(path);
    enum fm_status status = FM_OK;
    struct dirent *entry;
    const char *name;
    DIR *dir;

    if (depth > DEEPEST)
        return fm_error_set(err, FM_LIMIT, "folders deeper than %d: '%.200s'", DEEPEST, path);
    dir = opendir(path);
    if (dir == NULL)
        return fm_error_sys(err, errno, path, "cannot open the folder");
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (status == FM_OK && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        name = strcmp(path, ".") == 0
                   ? fm_arena_str(&run->arena, entry->d_name)
                   : fm_arena_printf(&run->arena, "%.*s%s%s", (int)n, path,
                                     path[n - 1] == '/' ? "" : "/", entry->d_name);
        status = name == NULL ? fm_error_nomem(err) : add_entry(run, name, depth, err);
    }
    closedir(dir);
    return status;
}

/* ---------------------------------------------------------------- operands */

static enum fm_status add_pattern(struct fm_report_run *run, const char *pattern,
                                  struct fm_error *err);

/* What a name means; `pattern`: it may be one. */
static enum fm_status add_operand(struct fm_report_run *run, const char *name, bool pattern,
                                  struct fm_error *err)
{
    struct stat st;

    if (stat(name, &st) != 0) {
        if (pattern && strpbrk(name, "*?[") != NULL)
            return add_pattern(run, name, err);
        return fm_report_add_job(run, name, true, err); /* a row with its error, or a member */
    }
    if (S_ISDIR(st.st_mode) && !is_recording(name))
        return add_folder(run, name, 0, err);
    return add_file(run, name, true, err);
}

static enum fm_status add_pattern(struct fm_report_run *run, const char *pattern,
                                  struct fm_error *err)
{
    enum fm_status status = FM_OK;
    glob_t found;
    int result = glob(pattern, GLOB_NOSORT, NULL, &found);

    if (result == GLOB_NOMATCH) {
        status = fm_error_set(err, FM_CONFIG, "no file fits '%.200s'", pattern);
    } else if (result != 0) {
        status = fm_error_set(err, FM_IO, "the pattern '%.200s' cannot be expanded", pattern);
    } else {
        for (size_t i = 0; status == FM_OK && i < found.gl_pathc; i++)
            status = add_operand(run, found.gl_pathv[i], false, err);
    }
    if (result == 0)
        globfree(&found);
    return status;
}

static enum fm_status add_list(struct fm_report_run *run, struct fm_error *err)
{
    enum fm_status status = FM_OK;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;

    while (status == FM_OK && (n = getline(&line, &cap, stdin)) >= 0) {
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            line[--n] = '\0';
        if (n > 0)
            status = add_operand(run, line, false, err);
    }
    free(line);
    return status;
}

enum fm_status fm_report_inputs(struct fm_report_run *run, struct fm_error *err)
{
    const struct fm_report_options *o = run->options;
    enum fm_status status = FM_OK;

    for (size_t i = 0; status == FM_OK && i < o->inputs; i++)
        status = strcmp(o->input[i], "-") == 0 ? add_list(run, err)
                                               : add_operand(run, o->input[i], true, err);
    fm_report_sort_jobs(run);
    return status;
}

/* ----------------------------------------------------------------- folders */

const char *fm_report_folder(struct fm_arena *arena, const char *name)
{
    const char *s = name;
    uint64_t hash = 0xcbf29ce484222325u;
    bool changed = false;
    char *safe;

    while (strncmp(s, "../", 3) == 0 || strncmp(s, "./", 2) == 0 || *s == '/')
        s += *s == '/' ? 1 : s[1] == '/' ? 2 : 3;
    changed = s != name;
    safe = fm_arena_printf(arena, "files/%s%24s", s, "");
    if (safe == NULL)
        return NULL;
    safe[6 + strlen(s)] = '\0';
    for (char *at = safe + 6; *at != '\0'; at++) {
        bool first = at[-1] == '/';

        if ((unsigned char)*at < ' ' || (first && (*at == '.' || *at == '/'))) {
            *at = '_';
            changed = true;
        }
    }
    for (const char *at = name; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    if (changed || s[0] == '\0')
        snprintf(safe + strlen(safe), 20, "~%08llx", (unsigned long long)(hash >> 32));
    return safe;
}
