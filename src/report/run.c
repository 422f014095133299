/*
 * run.c - fm_report_run(): a report from its plan to its outputs.
 *
 *     plan -> files -> [share] -> file.c on several threads -> collect.c -> tables, compare, gates,
 *     trends, page -> manifest
 *
 * A share stops after the second step: its outputs and kept results are all there, and the merge
 * goes on from them. Messages are given in the order of the files, after the work.
 */
#include "report/run.h"

#include "util/error.h"
#include "util/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_DIRS 128

void fm_report_say(const struct fm_report_run *run, const char *fmt, ...)
{
    char line[2048];
    va_list ap;

    if (run->options->say == NULL)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    run->options->say(run->options->user, line);
}

/* ----------------------------------------------------------------- prepare */

/* The data path, once: threads have contexts of their own. */
static bool copy_dirs(struct fm_report_run *run)
{
    const char **dir = fm_arena_alloc(&run->arena, MAX_DIRS * sizeof *dir), *at;

    if (dir == NULL)
        return false;
    for (size_t k = 0; k < MAX_DIRS && (at = fm_ctx_data_dir(run->ctx, k)) != NULL; k++) {
        bool twice = false;

        for (size_t i = 0; i < run->dirs && !twice; i++)
            twice = strcmp(dir[i], at) == 0;
        if (!twice)
            dir[run->dirs++] = fm_arena_str(&run->arena, at);
    }
    run->dir = dir;
    return !run->arena.oom;
}

static unsigned threads_of(const struct fm_report_run *run)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    if (run->options->threads > 0)
        return run->options->threads;
    return cpus > 0 && cpus < 64 ? (unsigned)cpus : 1;
}

/* What each worker may hold. */
static uint64_t memory_of(const struct fm_report_run *run)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t all = run->options->memory;

    if (all == 0 && pages > 0 && size > 0)
        all = (uint64_t)pages * (uint64_t)size / 4 * 3;
    return all / threads_of(run);
}

static enum fm_status load_plan(struct fm_report_run *run, struct fm_error *err)
{
    const char *messages;
    enum fm_status status = fm_report_plan_load(&run->plan, run->ctx, &run->arena, run->report,
                                                run->param, run->params, &messages, err);

    if (messages[0] != '\0')
        fm_report_say(run, "%s", messages);
    return status;
}

/* Keeps the files of share `shard` of `shards`: every so-and-so-manieth of the sorted list. */
static void take_share(struct fm_report_run *run)
{
    uint64_t shards = run->options->shards;
    size_t n = 0;

    if (shards < 2)
        return;
    for (size_t i = 0; i < run->jobs; i++)
        if (i % shards == run->options->shard - 1)
            run->job[n++] = run->job[i];
    run->jobs = n;
}

/* -------------------------------------------------------------------- work */

static enum fm_status work(struct fm_report_run *run, struct fm_error *err)
{
    atomic_init(&run->stop, false);
    atomic_init(&run->cancelled, false);
    atomic_flag_clear(&run->telling);
    fm_work_run(threads_of(run), run->jobs, fm_report_do, run);
    if (atomic_load(&run->cancelled))
        return fm_error_set(err, FM_CANCELLED, "interrupted; what is done stays");
    if (!run->options->strict)
        return FM_OK;
    for (size_t i = 0; i < run->jobs; i++) {
        const struct fm_report_job *job = &run->job[i];

        if (job->damaged || (job->failed && job->given))
            return fm_error_set(err, FM_FORMAT, "'%.200s' is %s and --strict was given: no tables "
                                "are written", job->name, job->damaged ? "damaged" : "unusable");
    }
    return FM_OK;
}

static enum fm_status put_file(struct fm_report_run *run, const char *path, struct fm_out *out,
                               enum fm_status status, struct fm_error *err)
{
    if (status == FM_OK && out->status != FM_OK)
        status = fm_error_nomem(err);
    if (status == FM_OK)
        status = fm_place_write(&run->place, path, out->buf, out->n, err);
    out->n = 0;
    return status;
}

static enum fm_status write_tables(struct fm_report_run *run, const struct fm_report *report,
                                   struct fm_out *out, struct fm_error *err)
{
    enum fm_status status = FM_OK;

    for (size_t i = 0; i < run->plan.tables; i++) {
        const struct fm_report_rows *rows = &run->plan.rows[i];

        for (size_t k = 0; status == FM_OK && k < rows->tos; k++) {
            status = fm_report_write(&report->table[i], fm_report_form(rows->to[k]), out, err);
            status = put_file(run, rows->to[k], out, status, err);
        }
    }
    return status;
}

static enum fm_status write_trends(struct fm_report_run *run, struct fm_report *report,
                                   struct fm_out *out, struct fm_error *err)
{
    struct fm_report_table *table =
        fm_arena_alloc(&run->arena, (run->plan.trends + 1) * sizeof *table);
    enum fm_status status = table != NULL ? FM_OK : fm_error_nomem(err);

    report->trend = table;
    for (size_t i = 0; status == FM_OK && i < run->plan.trends; i++) {
        const struct fm_report_trend *t = &run->plan.trend[i];

        status = fm_report_trend(report, i, &table[i], err);
        if (status == FM_OK && t->to != NULL) {
            status = fm_report_write(&table[i], fm_report_form(t->to), out, err);
            status = put_file(run, t->to, out, status, err);
        }
        if (status == FM_OK && t->chart != NULL) {
            status = fm_report_chart(report, i, &table[i], out, err);
            status = put_file(run, t->chart, out, status, err);
        }
    }
    return status;
}

static enum fm_status write_page(struct fm_report_run *run, const struct fm_report *report,
                                 struct fm_out *out, struct fm_error *err)
{
    const char *to = run->plan.index.to;

    if (to == NULL)
        return FM_OK;
    return put_file(run, to, out, fm_report_page(report, out, err), err);
}

static enum fm_status write_over(struct fm_report_run *run, struct fm_report *report,
                                 struct fm_error *err)
{
    enum fm_status status;
    struct fm_out out;

    if (fm_out_init(&out, &run->ctx->mem, NULL) != FM_OK)
        return fm_error_nomem(err);
    status = write_tables(run, report, &out, err);
    if (status == FM_OK)
        status = fm_report_compares(run, report, err);
    if (status == FM_OK)
        status = fm_report_gates(run, report, err);
    if (status == FM_OK)
        status = write_trends(run, report, &out, err);
    if (status == FM_OK)
        status = write_page(run, report, &out, err);
    fm_out_release(&out);
    return status;
}

/* A line for each file that has something wrong, then the verdicts. */
static void say_files(struct fm_report_run *run, const struct fm_report *report,
                      struct fm_report_count *count)
{
    for (size_t i = 0; i < report->files; i++) {
        const struct fm_report_file *file = &report->file[i];
        char at[40] = "";

        count->damaged += strcmp(file->status, "damaged") == 0;
        count->failed += strcmp(file->status, "failed") == 0;
        if (file->error == NULL || strcmp(file->status, "skipped") == 0)
            continue;
        if (file->offset != FM_NO_OFFSET)
            snprintf(at, sizeof at, "offset %llu: ", (unsigned long long)file->offset);
        fm_report_say(run, "%s: %s%s", file->name, at, file->error);
    }
    for (const struct fm_report_verdict *v = report->verdict; v != NULL; v = v->next)
        fm_report_say(run, "%s: %s: %s", v->of, v->failed ? "check failed" : "warning", v->text);
    count->gates = report->gates;
    count->gates_failed = report->gates_failed;
}

static void count_work(const struct fm_report_run *run, struct fm_report_count *count)
{
    *count = (struct fm_report_count){.files = run->jobs};
    for (size_t i = 0; i < run->jobs; i++) {
        const struct fm_report_job *job = &run->job[i];

        count->done += job->results > 0 || job->failed;
        count->reused += job->reused;
        count->results += job->results;
        count->made += job->made;
        count->bytes += job->size;
    }
    count->bytes_done = count->bytes;
}

/* The plan and the files; with shares to merge the files come first. */
static enum fm_status prepare(struct fm_report_run *run, struct fm_error *err)
{
    const struct fm_report_options *o = run->options;
    enum fm_status status = FM_OK;

    run->report = o->report;
    run->param = o->param;
    run->params = o->params;
    if (o->merge)
        status = fm_report_merge_list(run, err);
    if (status == FM_OK)
        status = load_plan(run, err);
    if (status == FM_OK && !o->merge)
        status = fm_report_inputs(run, err);
    if (status == FM_OK && run->jobs == 0)
        status = fm_error_set(err, FM_CONFIG, "no files");
    if (status != FM_OK)
        return status;
    take_share(run);
    status = fm_place_open(&run->place, &run->ctx->mem, o->output, err);
    if (status == FM_OK)
        status = fm_report_world(run, err);
    return status;
}

/* Every result is kept when this is done. */
static enum fm_status make_all(struct fm_report_run *run, struct fm_error *err)
{
    enum fm_status status;

    if (run->options->merge)
        return fm_report_merge(run, err);
    status = fm_report_stats_load(run, err);
    return status == FM_OK ? work(run, err) : status;
}

static enum fm_status run_steps(struct fm_report_run *run, struct fm_report_count *count,
                                struct fm_error *err)
{
    struct fm_report report;
    enum fm_status status = prepare(run, err);

    if (status == FM_OK)
        status = make_all(run, err);
    count_work(run, count);
    if (status != FM_OK)
        return status;
    status = fm_report_collect(run, &report, err);
    if (status == FM_OK && (run->options->shards < 2 || run->options->merge))
        status = write_over(run, &report, err);
    if (status == FM_OK)
        status = fm_report_manifest(run, err);
    if (status == FM_OK)
        status = fm_report_stats_save(run, err);
    say_files(run, &report, count);
    return status;
}

enum fm_status fm_report_run(struct fm_ctx *ctx, const struct fm_report_options *options,
                             struct fm_report_count *count, struct fm_error *err)
{
    struct fm_report_run *run = fm_mem_zalloc(&ctx->mem, sizeof *run);
    struct fm_error own = {0};
    enum fm_status status = FM_NOMEM;

    if (err == NULL)
        err = &own;
    *count = (struct fm_report_count){0};
    if (run == NULL)
        return fm_error_nomem(err);
    run->ctx = ctx;
    run->options = options;
    run->place.lock = -1;
    fm_arena_init(&run->arena, &ctx->mem);
    run->memory = memory_of(run);
    if (copy_dirs(run))
        status = run_steps(run, count, err);
    else
        fm_error_nomem(err);
    fm_place_close(&run->place);
    fm_report_plan_release(&run->plan);
    fm_mem_free(&ctx->mem, run->job, run->job_cap * sizeof *run->job);
    fm_arena_release(&run->arena);
    fm_mem_free(&ctx->mem, run, sizeof *run);
    return status;
}
