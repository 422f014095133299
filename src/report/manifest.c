/*
 * manifest.c - the list of the files of a run, and the merging of shares.
 *
 *     DIR/.foldmill/manifest
 *         report  NAME  DIGEST          as it was named; of its text, parameters and the world
 *         param   NAME=VALUE            as they were given
 *         share   I  N                  only in a share
 *         each    PATH                  an output of each file, in its folder
 *         over    PATH                  an output over all files, in DIR
 *         file    NAME  GIVEN  HASH  SIZE  TEXT   TEXT: why there are no results, \N otherwise
 *
 * Merging takes the files of all shares together, copies what they keep, and goes on as the run of
 * all files does after its work: so the two are equal, byte for byte. The shares must be those of
 * one report, one version and one N, and none may be missing.
 *
 * The list of the last run also tells which outputs stand in the folder: those of files that are no
 * longer there, and those that the report does not name any more, are removed.
 */
#include "report/lines.h"
#include "report/run.h"

#include "util/error.h"
#include "util/text.h"

#include <errno.h>
#include <stdio.h>

#define MANIFEST ".foldmill/manifest"
#define FIELDS 6

/* What shares must agree in. */
static bool digest_of(const struct fm_report_run *run, char key[FM_REPORT_KEY])
{
    struct fm_report_hash *hash = fm_report_hash_new(&run->ctx->mem);
    const struct fm_yaml_file *yaml = run->plan.yaml;
    uint64_t digest[2];

    if (hash == NULL)
        return false;
    fm_report_hash_u64(hash, run->world[0]);
    fm_report_hash_u64(hash, run->world[1]);
    fm_report_hash_bytes(hash, yaml->text, yaml->size);
    fm_report_hash_u64(hash, run->plan.params);
    for (size_t i = 0; i < run->plan.params; i++) {
        fm_report_hash_text(hash, run->plan.param[i].name);
        fm_report_hash_text(hash, run->plan.param[i].value);
    }
    fm_report_hash_get(hash, digest);
    fm_report_hash_hex(digest, key);
    fm_report_hash_free(hash, &run->ctx->mem);
    return true;
}

static void put_file(struct fm_out *out, const struct fm_report_job *job)
{
    fm_line_put(out, true, "file");
    fm_line_put(out, false, job->name);
    fm_out_text(out, job->given ? "\tgiven" : "\tfound");
    fm_line_put(out, false, job->hash[0] != '\0' ? job->hash : NULL);
    fm_out_char(out, '\t');
    fm_out_u64(out, job->size);
    fm_line_put(out, false, job->busy_error ? job->err.message : NULL);
    fm_out_char(out, '\n');
}

static bool has_file(const struct fm_report_run *run, const char *name)
{
    size_t low = 0, high = run->jobs;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(run->job[mid].name, name);

        if (order == 0)
            return true;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}

/* --------------------------------------------------------- outputs of before */

/* Paths of outputs, in an arena. */
struct paths {
    struct fm_arena *arena;
    const char **path;
    size_t n, cap;
};

static bool add_path(struct paths *list, const char *path)
{
    const char **more = list->path;

    if (path == NULL)
        return true;
    if (list->n == list->cap) {
        list->cap = list->cap * 2 + 8;
        more = fm_arena_alloc(list->arena, list->cap * sizeof *more);
        if (more == NULL)
            return false;
        if (list->n > 0)
            memcpy(more, list->path, list->n * sizeof *more);
        list->path = more;
    }
    list->path[list->n++] = path;
    return true;
}

static bool has_path(const struct paths *list, const char *path)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->path[i], path) == 0)
            return true;
    return false;
}

/* What the report writes for each file, and over all of them. */
static bool planned(const struct fm_report_plan *plan, struct paths *each, struct paths *over)
{
    bool good = true;

    for (size_t i = 0; good && i < plan->eaches; i++)
        good = add_path(each, plan->each[i].to);
    for (size_t i = 0; good && i < plan->tables; i++)
        for (size_t k = 0; good && k < plan->rows[i].tos; k++)
            good = add_path(over, plan->rows[i].to[k]);
    for (size_t i = 0; good && i < plan->compares; i++)
        good = add_path(over, plan->compare[i].to);
    for (size_t i = 0; good && i < plan->trends; i++)
        good = add_path(over, plan->trend[i].to) && add_path(over, plan->trend[i].chart);
    return good && add_path(over, plan->index.to);
}

/* The outputs of a file of before: all when the file is gone, else those that are not planned. */
static void remove_each(struct fm_report_run *run, const char *file, const struct paths *before,
                        const struct paths *each)
{
    bool here = has_file(run, file);
    const char *folder = fm_report_folder(&run->arena, file), *path;

    for (size_t i = 0; folder != NULL && i < before->n; i++) {
        if (here && has_path(each, before->path[i]))
            continue;
        path = fm_arena_printf(&run->arena, "%s/%s", folder, before->path[i]);
        if (path != NULL)
            fm_place_remove(&run->place, path);
    }
}

/* Outputs of the last run that are not of this one. In its list they stand before the files. */
static void remove_stale(struct fm_report_run *run, const struct paths *each,
                         const struct paths *over)
{
    struct paths before = {.arena = &run->arena};
    const char *field[FIELDS];
    size_t n;
    char *at = fm_place_read(&run->place, &run->arena, MANIFEST, &n);

    while (at != NULL && (n = fm_line_next(&at, field, FIELDS)) > 0) {
        if (n == 2 && strcmp(field[0], "each") == 0 && fm_report_below(field[1])) {
            if (!add_path(&before, field[1]))
                return;
        } else if (n == 2 && strcmp(field[0], "over") == 0 && fm_report_below(field[1])) {
            if (!has_path(over, field[1]))
                fm_place_remove(&run->place, field[1]);
        } else if (n == FIELDS && strcmp(field[0], "file") == 0) {
            remove_each(run, field[1], &before, each);
        }
    }
}

static void put_paths(struct fm_out *out, const char *what, const struct paths *list)
{
    for (size_t i = 0; i < list->n; i++) {
        fm_line_put(out, true, what);
        fm_line_put(out, false, list->path[i]);
        fm_out_char(out, '\n');
    }
}

enum fm_status fm_report_manifest(struct fm_report_run *run, struct fm_error *err)
{
    const struct fm_report_options *o = run->options;
    char digest[FM_REPORT_KEY];
    enum fm_status status;
    struct paths each = {.arena = &run->arena}, over = {.arena = &run->arena};
    struct fm_out out;

    if (!planned(&run->plan, &each, &over))
        return fm_error_nomem(err);
    remove_stale(run, &each, &over);
    if (!digest_of(run, digest) || fm_out_init(&out, &run->ctx->mem, NULL) != FM_OK)
        return fm_error_nomem(err);
    fm_line_put(&out, true, "report");
    fm_line_put(&out, false, run->report);
    fm_line_put(&out, false, digest);
    fm_out_char(&out, '\n');
    for (size_t i = 0; i < run->params; i++) {
        fm_line_put(&out, true, "param");
        fm_line_put(&out, false, run->param[i]);
        fm_out_char(&out, '\n');
    }
    if (o->shards > 1 && !o->merge)
        fm_out_printf(&out, "share\t%llu\t%llu\n", (unsigned long long)o->shard,
                      (unsigned long long)o->shards);
    put_paths(&out, "each", &each);
    if (o->shards < 2 || o->merge)
        put_paths(&out, "over", &over);
    for (size_t i = 0; i < run->jobs; i++)
        put_file(&out, &run->job[i]);
    status = out.status != FM_OK ? fm_error_nomem(err)
                                 : fm_place_write(&run->place, MANIFEST, out.buf, out.n, err);
    fm_out_release(&out);
    return status;
}

/* ----------------------------------------------------------------- merging */

/* The manifest of a share. */
struct share {
    const char *dir, *report, *digest;
    uint64_t number, of;             /* 0: it is a whole run */
};

static enum fm_status bad(struct fm_error *err, const char *dir)
{
    return fm_error_set(err, FM_CONFIG, "'%.200s' is no folder of a report's share", dir);
}

static bool add_param(struct fm_report_run *run, const char *text)
{
    const char **list = fm_arena_alloc(&run->arena, (run->params + 1) * sizeof *list);

    if (list == NULL)
        return false;
    if (run->params > 0)
        memcpy(list, run->param, run->params * sizeof *list);
    list[run->params++] = text;
    run->param = list;
    return true;
}

static enum fm_status add_file(struct fm_report_run *run, const char *const *field,
                               struct fm_error *err)
{
    enum fm_status status = fm_report_add_job(run, field[1], strcmp(field[2], "given") == 0, err);
    struct fm_report_job *job;
    const char *hash = fm_line_null(field[3]), *text = fm_line_null(field[5]);

    if (status != FM_OK)
        return status;
    job = &run->job[run->jobs - 1];
    if (hash != NULL && strlen(hash) == FM_REPORT_KEY - 1)
        memcpy(job->hash, hash, FM_REPORT_KEY);
    (void)fm_text_u64(field[4], strlen(field[4]), &job->size);
    if (text != NULL) {
        job->busy_error = job->failed = true;
        job->err.status = FM_IO;
        job->err.offset = FM_NO_OFFSET;
        snprintf(job->err.message, sizeof job->err.message, "%s", text);
    }
    return FM_OK;
}

/* Reads one share's list into the jobs. */
static enum fm_status read_share(struct fm_report_run *run, struct share *share, bool first,
                                 struct fm_error *err)
{
    struct fm_report_place from = {.mem = &run->ctx->mem, .dir = share->dir, .lock = -1};
    const char *field[FIELDS];
    enum fm_status status = FM_OK;
    size_t n;
    char *at = fm_place_read(&from, &run->arena, MANIFEST, &n);

    while (at != NULL && status == FM_OK && (n = fm_line_next(&at, field, FIELDS)) > 0) {
        if (n == 3 && strcmp(field[0], "report") == 0) {
            share->report = field[1];
            share->digest = field[2];
        } else if (n == 3 && strcmp(field[0], "share") == 0) {
            if (!fm_text_u64(field[1], strlen(field[1]), &share->number)
                || !fm_text_u64(field[2], strlen(field[2]), &share->of))
                return bad(err, share->dir);
        } else if (n == 2 && strcmp(field[0], "param") == 0) {
            if (first && !add_param(run, field[1]))
                return fm_error_nomem(err);
        } else if (n == FIELDS && strcmp(field[0], "file") == 0) {
            status = add_file(run, field, err);
        } else if (n != 2 || (strcmp(field[0], "each") != 0 && strcmp(field[0], "over") != 0)) {
            return bad(err, share->dir);
        }
    }
    if (status == FM_OK && share->report == NULL)
        return bad(err, share->dir);
    return status;
}

/* One report, one N, and every share of it once. */
static enum fm_status check_shares(const struct share *share, size_t n, struct fm_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(share[i].digest, share[0].digest) != 0 || share[i].of != share[0].of)
            return fm_error_set(err, FM_CONFIG, "'%.150s' and '%.150s' are shares of different "
                                "runs: of another report, version or number of shares",
                                share[0].dir, share[i].dir);
        if (share[i].of > 0 && (share[i].number < 1 || share[i].number > share[i].of))
            return bad(err, share[i].dir);
    }
    for (uint64_t k = 1; k <= share[0].of; k++) {
        size_t times = 0;

        for (size_t i = 0; i < n; i++)
            times += share[i].number == k;
        if (times != 1)
            return fm_error_set(err, FM_CONFIG, "share %llu of %llu %s", (unsigned long long)k,
                                (unsigned long long)share[0].of,
                                times == 0 ? "is missing" : "is there twice");
    }
    return FM_OK;
}

enum fm_status fm_report_merge_list(struct fm_report_run *run, struct fm_error *err)
{
    const struct fm_report_options *o = run->options;
    struct share *share = fm_arena_alloc(&run->arena, (o->inputs + 1) * sizeof *share);
    enum fm_status status = FM_OK;

    if (share == NULL)
        return fm_error_nomem(err);
    for (size_t i = 0; status == FM_OK && i < o->inputs; i++) {
        share[i].dir = o->input[i];
        status = read_share(run, &share[i], i == 0, err);
    }
    if (status == FM_OK)
        status = check_shares(share, o->inputs, err);
    if (status == FM_OK) {
        run->report = share[0].report;
        run->digest = share[0].digest;
    }
    fm_report_sort_jobs(run);
    return status;
}

/* Takes one kept result over, from whichever share has it. */
static enum fm_status take(struct fm_report_run *run, const char key[FM_REPORT_KEY], bool output,
                           struct fm_error *err)
{
    char path[FM_RESULT_PATH_BYTES];
    struct fm_error local = {0};

    fm_result_path(key, output, path);
    for (size_t i = 0; i < run->options->inputs; i++) {
        local.status = FM_OK;
        if (fm_place_take(&run->place, run->options->input[i], path, &local) == FM_OK)
            return FM_OK;
        if (local.sys_errno != ENOENT)
            break;
    }
    if (local.sys_errno == ENOENT)
        return FM_OK;                /* a file that failed has no outputs */
    *err = local;
    return local.status;
}

enum fm_status fm_report_merge(struct fm_report_run *run, struct fm_error *err)
{
    char key[FM_REPORT_KEY], digest[FM_REPORT_KEY];
    enum fm_status status = FM_OK;

    if (!digest_of(run, digest))
        return fm_error_nomem(err);
    if (strcmp(digest, run->digest) != 0)
        return fm_error_set(err, FM_CONFIG, "the report '%.200s', its parameters or this version "
                            "differ from those of the shares", run->report);
    for (size_t j = 0; status == FM_OK && j < run->jobs; j++) {
        struct fm_report_job *job = &run->job[j];

        if (job->busy_error)
            continue;
        fm_report_facts_key(run, job, key);
        status = take(run, key, false, err);
        for (size_t i = 0; status == FM_OK && i < run->plan.eaches; i++) {
            fm_report_each_key(run, job, i, key);
            status = take(run, key, true, err);
            if (status == FM_OK)
                status = take(run, key, false, err);
        }
        for (size_t i = 0; status == FM_OK && i < run->plan.tables; i++) {
            if (run->plan.rows[i].ask.query == NULL)
                continue;
            fm_report_rows_key(run, job, i, key);
            status = take(run, key, false, err);
        }
        job->results = 1;
        job->reused = true;
    }
    return status;
}
