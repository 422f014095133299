/*
 * compare.c - what is asked over groups of files: a query of several inputs, or the picture of what
 * changed from one group to another.
 *
 * The files of a group merge into one store, as they do for `foldmill query Q base=a,b new=c,d` and
 * `foldmill diff`. The result is kept like those of single files, under a hash of the names and
 * bytes of all files that it was made from.
 */
#include "report/lines.h"
#include "report/run.h"

#include "util/error.h"

struct comparison {
    struct fm_report_run *run;
    struct fm_report *report;
    const struct fm_report_compare *compare;
    char key[FM_REPORT_KEY];
    struct fm_ctx *ctx;
    struct fm_store *store[FM_REPORT_GROUPS];
};

/* The name of a group of the comparison that has no files, or NULL. */
static const char *empty_group(const struct comparison *c)
{
    for (size_t k = 0; k < c->compare->groups; k++) {
        uint64_t bit = (uint64_t)1 << c->compare->group[k];
        bool any = false;

        for (size_t i = 0; i < c->report->files && !any; i++)
            any = (c->report->file[i].groups & bit) != 0;
        if (!any)
            return c->run->plan.group[c->compare->group[k]].name;
    }
    return NULL;
}

static bool make_key(struct comparison *c)
{
    const struct fm_report_ask *ask = &c->compare->ask;
    struct fm_report_hash *hash = fm_report_hash_new(&c->run->ctx->mem);
    uint64_t digest[2];

    if (hash == NULL)
        return false;
    fm_report_hash_u64(hash, c->run->world[0]);
    fm_report_hash_u64(hash, c->run->world[1]);
    fm_report_hash_text(hash, "compare 1");
    fm_report_hash_u64(hash, ask->digest[0]);
    fm_report_hash_u64(hash, ask->digest[1]);
    fm_report_hash_text(hash, ask->export);
    fm_report_hash_text(hash, c->compare->form);
    for (size_t k = 0; k < c->compare->groups; k++) {
        fm_report_hash_u64(hash, k);
        for (size_t i = 0; i < c->report->files; i++) {
            if ((c->report->file[i].groups >> c->compare->group[k] & 1) == 0)
                continue;
            fm_report_hash_text(hash, c->run->job[i].name);
            fm_report_hash_text(hash, c->run->job[i].hash);
        }
    }
    fm_report_hash_get(hash, digest);
    fm_report_hash_hex(digest, c->key);
    fm_report_hash_free(hash, &c->run->ctx->mem);
    return true;
}

/* A merge knows the files by what their shares say: are they still the same? */
static enum fm_status check_file(struct comparison *c, struct fm_report_job *job,
                                 struct fm_error *err)
{
    struct fm_report_job now = *job;

    if (!c->run->options->merge)
        return FM_OK;
    now.hash[0] = '\0';
    if (!fm_report_job_hash(c->run, &now)) {
        *err = now.err;
        return err->status;
    }
    job->stamp = now.stamp;
    if (strcmp(now.hash, job->hash) == 0)
        return FM_OK;
    return fm_error_set(err, FM_IO, "'%.200s' is not what it was for its share", job->name);
}

/* Reads the files of a group into one store. Damage has been told with the files. */
static enum fm_status read_group(struct comparison *c, size_t k, struct fm_error *err)
{
    const struct fm_report_ask *ask = &c->compare->ask;
    const char *needs = ask->query != NULL ? ask->needs : fm_export_needs(ask->export);
    struct fm_import_options o = fm_report_import(c->run, needs, NULL);
    const char **path = fm_arena_alloc(&c->run->arena, (c->report->files + 1) * sizeof *path);
    struct fm_error local = {0};
    enum fm_status status;
    size_t n = 0;

    if (path == NULL)
        return fm_error_nomem(err);
    for (size_t i = 0; i < c->report->files; i++) {
        if ((c->report->file[i].groups >> c->compare->group[k] & 1) == 0)
            continue;
        if (check_file(c, &c->run->job[i], err) != FM_OK)
            return err->status;
        path[n++] = c->run->job[i].name;
    }
    status = fm_import(c->ctx, path, n, &o, &c->store[k], &local);
    for (size_t i = 0; i < c->report->files; i++)
        if ((c->report->file[i].groups >> c->compare->group[k] & 1) != 0
            && !fm_report_job_same(&c->run->job[i]))
            return fm_error_set(err, FM_IO, "'%.200s' changed during the run",
                                c->run->job[i].name);
    if (c->store[k] != NULL)
        return FM_OK;
    *err = local;
    return status == FM_OK ? fm_error_set(err, FM_UNKNOWN, "nothing was read") : status;
}

/* Makes the output; *state and *note as records have them. */
static enum fm_status make(struct comparison *c, struct fm_report_file_out *file,
                           const char **note, struct fm_error *err)
{
    const struct fm_report_ask *ask = &c->compare->ask;
    struct fm_query *query = NULL;
    struct fm_result *result = NULL;
    struct fm_error late = {0};
    enum fm_status status = FM_OK, written = FM_OK;

    for (size_t k = 0; status == FM_OK && k < c->compare->groups; k++)
        status = read_group(c, k, err);
    if (status != FM_OK)
        return status;
    if (ask->query == NULL) {
        status = fm_report_ask_export(c->ctx, ask, c->store[0], c->store[1], &file->sink, err);
        *note = err->message;
        return status;
    }
    status = fm_report_ask_query(c->ctx, ask, c->store, c->compare->groups, &query, &result, err);
    *note = fm_arena_str(&c->run->arena, fm_query_errors(query));
    if (result != NULL)
        written = fm_report_ask_write(c->ctx, ask, c->compare->form, result, &file->sink, &late);
    fm_result_free(result);
    fm_query_free(query);
    if (written != FM_OK)
        *err = late;
    if (*note == NULL || (*note)[0] == '\0')
        *note = err->message;
    return written != FM_OK ? written : status;
}

static enum fm_status work_out(struct comparison *c, struct fm_error *err)
{
    struct fm_report_place *place = &c->run->place;
    struct fm_report_file_out file;
    char path[FM_RESULT_PATH_BYTES];
    struct fm_error own = {0};
    const char *note = "";
    struct fm_out body;
    enum fm_status status = fm_place_create(place, &file, err);

    if (status != FM_OK)
        return status;
    if (fm_out_init(&body, &c->run->ctx->mem, NULL) != FM_OK) {
        fm_place_abandon(&file);
        return fm_error_nomem(err);
    }
    status = make(c, &file, &note, &own);
    if (status == FM_OK || status == FM_GATE) {
        fm_result_path(c->key, true, path);
        if (fm_place_commit(&file, path, &own) != FM_OK)
            status = own.status;
    }
    if (status != FM_NOMEM && status != FM_IO && status != FM_CANCELLED)
        fm_report_state(&body, status == FM_OK ? "ok" : status == FM_GATE ? "gate" : "error",
                        file.written, note == NULL ? "" : note);
    fm_place_abandon(&file);
    if (body.n > 0)
        status = fm_place_keep(place, c->key, &body, err);
    else
        *err = own;
    fm_out_release(&body);
    return status;
}

static void release(struct comparison *c)
{
    for (size_t k = 0; k < FM_REPORT_GROUPS; k++)
        fm_store_free(c->store[k]);
    fm_ctx_free(c->ctx);
}

/* Shows what is kept, or says why there is nothing. */
static enum fm_status show(struct comparison *c, struct fm_report_output *output,
                           struct fm_error *err)
{
    struct fm_report_run *run = c->run;
    const char *field[3] = {"", "", ""};
    size_t n;
    char *at = fm_place_kept(&run->place, &run->arena, c->key, &n);

    if (at == NULL || fm_line_next(&at, field, 3) != 3)
        return fm_error_set(err, FM_IO, "the result of '%s' cannot be read back",
                            c->compare->name);
    output->gate = strcmp(field[0], "gate") == 0;
    output->error = field[2][0] != '\0' ? field[2] : NULL;
    if (field[2][0] != '\0')
        fm_report_judge_query(c->report, c->compare->name, output->gate, field[2]);
    if (strcmp(field[0], "error") == 0) {
        fm_place_remove(&run->place, c->compare->to);
        return FM_OK;
    }
    output->path = c->compare->to;
    return fm_place_show(&run->place, c->key, c->compare->to, err);
}

static bool is_kept(const struct comparison *c)
{
    const char *field[2] = {"", ""};
    uint64_t size = 0;
    size_t n;
    char *at = c->run->options->redo
                   ? NULL : fm_place_kept(&c->run->place, &c->run->arena, c->key, &n);

    if (at == NULL || fm_line_next(&at, field, 2) != 2)
        return false;
    for (const char *s = field[1]; *s >= '0' && *s <= '9'; s++)
        size = size * 10 + (uint64_t)(*s - '0');
    return strcmp(field[0], "error") == 0 || fm_place_has(&c->run->place, c->key, size);
}

enum fm_status fm_report_compares(struct fm_report_run *run, struct fm_report *report,
                                  struct fm_error *err)
{
    struct fm_report_output *output =
        fm_arena_alloc(&run->arena, (run->plan.compares + 1) * sizeof *output);
    enum fm_status status = FM_OK;

    if (output == NULL)
        return fm_error_nomem(err);
    report->compared = output;
    for (size_t i = 0; status == FM_OK && i < run->plan.compares; i++) {
        struct comparison c = {.run = run, .report = report, .compare = &run->plan.compare[i]};
        const char *empty = empty_group(&c);

        if (empty != NULL) {
            output[i].error = fm_arena_printf(&run->arena, "group '%s' has no files", empty);
            if (output[i].error == NULL
                || !fm_report_judge(report, c.compare->name, false, output[i].error))
                return fm_error_nomem(err);
            fm_place_remove(&run->place, c.compare->to);
            continue;
        }
        if (!make_key(&c))
            return fm_error_nomem(err);
        if (!is_kept(&c)) {
            c.ctx = fm_report_context(run);
            status = c.ctx == NULL ? fm_error_nomem(err) : work_out(&c, err);
        }
        release(&c);
        if (status == FM_OK)
            status = show(&c, &output[i], err);
    }
    return status;
}
