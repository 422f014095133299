/*
 * jfr.c - the importer of JFR: probe, and chunks in waves on some threads.
 *
 *     scan ──> wave of chunks ──> survey each ──> settle in order ──> decode each ──> join in order
 *                                 (threads)       periods, JVMs       (threads)
 *
 * A chunk's rows go into a sub-builder of its own; with few threads they go straight into the
 * builder, which gives the same bytes. Only the chunks of a wave are in memory.
 */
#include "import/jfr/v0.h"
#include "util/error.h"
#include "util/work.h"

#include <stdio.h>

#define WAVE_MAX 32u
#define THREADS_MIN 4u                  /* joining costs half of decoding: fewer are no faster */
#define WAVE_BYTES (UINT64_C(8) << 20)  /* for each thread */
#define SPLIT_BYTES (UINT64_C(1) << 20) /* of a chunk: as much as a copy of the tables, or more */
#define SPLIT_PART 64u
#define LISTED 16u                      /* chunks that provenance lists one by one */
#define JVMS 64u                        /* that are compared with a new one */
#define WRITERS 4u

struct job {
    struct fm_jfr_chunk chunk;
    struct fm_jfr_feed feed;
    struct fm_builder *builder;
    struct fm_error err;
    enum fm_status status;
    bool open;                          /* feed and chunk are to be released */
};

struct jvm {
    int64_t pid, start;
    uint32_t number;
};

struct session {
    struct fm_import *import;
    struct fm_error *err;
    struct fm_jfr_scan scan;
    struct job *job;                    /* WAVE_MAX of them */
    unsigned threads;
    bool split;                         /* chunks of this wave have sub-builders */
    enum fm_status damage;
    /* settled in order of chunks */
    struct jvm jvm[JVMS];
    uint32_t jvms;
    uint32_t last_jvm;
    int64_t last_pid;
    struct {
        const char *writer;
        struct fm_jfr_periods periods;
    } known[WRITERS];
    const char *told_writer;
    unsigned told;                      /* JVMs and recordings that provenance lists */
    uint32_t told_jvm;
    int64_t first, last;                /* of the recording, ns since 1970 */
};

/* ------------------------------------------------------------------------- settling */

static uint32_t jvm_number(struct session *s, const struct fm_jfr_chunk *chunk)
{
    const struct fm_jfr_facts *f = &chunk->facts;
    struct jvm *to;
    if (!f->has_jvm) {
        if (chunk->has_before && fm_jfr_contiguous(&chunk->before, &chunk->h))
            return s->last_jvm;
        return s->jvms++;
    }
    for (uint32_t i = 0; i < JVMS; i++) {
        int64_t apart;
        const struct jvm *j = &s->jvm[i];
        /* writers round the start differently */
        if (j->number != 0 && j->pid == f->pid &&
            !__builtin_sub_overflow(j->start, f->jvm_start, &apart) && apart > -1000000000 &&
            apart < 1000000000)
            return j->number - 1;
    }
    to = &s->jvm[s->jvms % JVMS];
    *to = (struct jvm){f->pid, f->jvm_start, s->jvms + 1};
    return s->jvms++;
}

static void settle_periods(struct session *s, struct fm_jfr_chunk *chunk)
{
    size_t i = 0;
    while (i + 1 < WRITERS && s->known[i].writer != NULL &&
           strcmp(s->known[i].writer, chunk->facts.writer) != 0)
        i++;
    if (chunk->facts.periods.given || s->known[i].writer == NULL) {
        s->known[i].writer = chunk->facts.writer;
        s->known[i].periods = chunk->facts.periods;
    }
    chunk->periods = s->known[i].periods;
}

/* Samples whose period nobody tells weigh 1. */
static void note_period(struct job *job)
{
    static const char *const sampled[] = {"jdk.ExecutionSample", "jdk.NativeMethodSample",
                                          "profiler.WallClockSample"};
    const struct fm_jfr_chunk *chunk = &job->chunk;
    for (size_t i = 0; i < FM_COUNT(sampled); i++) {
        struct fm_jfr_extra extra;
        uint32_t class = fm_jfr_meta_named(&chunk->meta, sampled[i]);
        if (class == FM_JFR_NO_CLASS || chunk->count[class] == 0)
            continue;
        fm_jfr_extra_for(chunk, sampled[i], &extra);
        if (extra.period == 0)
            fm_jfr_note(&job->feed, FM_DIAG_PERIOD_FREQ, chunk->first[class],
                        chunk->count[class]);
    }
}

static void settle(struct session *s, struct job *job)
{
    struct fm_jfr_chunk *chunk = &job->chunk;
    chunk->names_since = chunk->number > 0 || s->scan.at < s->scan.size ? chunk->h.start_ns
                                                                        : INT64_MIN;
    if (!chunk->usable)
        return;
    settle_periods(s, chunk);
    chunk->jvm = jvm_number(s, chunk);
    if (!chunk->facts.has_jvm && chunk->jvm == s->last_jvm && chunk->number > 0)
        chunk->facts.pid = s->last_pid;
    s->last_jvm = chunk->jvm;
    s->last_pid = chunk->facts.pid;
    note_period(job);
}

/* ----------------------------------------------------------------------- provenance */

static void tell(struct session *s, const char *key, const char *value)
{
    if (value != NULL && value[0] != '\0')
        fm_builder_provenance(s->import->builder, key, value, strlen(value));
}

static void tell_chunk(struct session *s, const struct fm_jfr_chunk *chunk)
{
    const struct fm_jfr_header *h = &chunk->h;
    char key[32], value[256];
    if (chunk->number >= LISTED)
        return;
    (void)snprintf(key, sizeof key, "chunk %llu", (unsigned long long)chunk->number);
    (void)snprintf(value, sizeof value,
                   "offset %llu, %llu bytes, version %u.%u, %s, start %lld.%09lld, "
                   "duration %lld ns, %lld ticks/s, %s",
                   (unsigned long long)chunk->offset,
                   (unsigned long long)(chunk->end - chunk->offset), h->major, h->minor,
                   chunk->usable ? chunk->facts.writer : "unreadable",
                   (long long)(h->start_ns / 1000000000), (long long)(h->start_ns % 1000000000),
                   (long long)h->duration_ns, (long long)h->per_second,
                   chunk->fault == FM_JFR_WHOLE ? "finished" : "not finished");
    tell(s, key, value);
}

/* What is new about a chunk: its JVM, its recording. */
static void tell_facts(struct session *s, struct fm_jfr_chunk *chunk)
{
    const struct fm_jfr_facts *f = &chunk->facts;
    char text[32];
    if (!chunk->usable || s->told >= LISTED)
        return;
    if (s->told_writer != f->writer || s->told_jvm != chunk->jvm)
        s->told++;
    if (s->told_writer == NULL || s->told_jvm != chunk->jvm) {
        tell(s, "jvm", f->jvm_name);
        tell(s, "jvm version", f->jvm_version);
        if (f->pid >= 0) {
            (void)snprintf(text, sizeof text, "%lld", (long long)f->pid);
            tell(s, "pid", text);
        }
        tell(s, "jvm arguments", f->jvm_arguments);
        tell(s, "java arguments", f->java_arguments);
    }
    if (s->told_writer == NULL || s->told_jvm != chunk->jvm || s->told_writer != f->writer) {
        tell(s, "writer", f->writer);
        tell(s, "recording", f->recording);
        if (f->settings.n > 0)
            fm_builder_provenance(s->import->builder, "settings", f->settings.p, f->settings.n);
    }
    s->told_writer = f->writer;
    s->told_jvm = chunk->jvm;
}

static void tell_source(struct session *s)
{
    struct fm_source *source = fm_builder_source_row(s->import->builder);
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)s->scan.chunks);
    tell(s, "chunks", text);
    source->clock = FM_CLOCK_REALTIME;
    source->has_wall = true;
    source->wall = source->wall_at = s->first;
}

/* ----------------------------------------------------------------------------- waves */

static void survey_job(void *user, size_t i)
{
    struct session *s = user;
    struct job *job = &s->job[i];
    if (job->status == FM_OK)
        job->status = job->chunk.h.major == 0
                          ? fm_jfr_v0_survey(&job->chunk, &job->feed, s->import->input, &job->err)
                          : fm_jfr_survey(&job->chunk, &job->feed, s->import->input, &job->err);
}

static void decode_job(void *user, size_t i)
{
    struct session *s = user;
    struct job *job = &s->job[i];
    if (job->status == FM_OK)
        job->status = job->chunk.h.major == 0
                          ? fm_jfr_v0_decode(&job->chunk, &job->feed, s->import->input, &job->err)
                          : fm_jfr_decode(&job->chunk, &job->feed, s->import->input, &job->err);
}

/* The chunks of the next wave: *n of them. */
static enum fm_status collect(struct session *s, size_t *n)
{
    uint64_t bytes = 0;
    *n = 0;
    while (*n < WAVE_MAX && (*n < s->threads || bytes < WAVE_BYTES * s->threads)) {
        struct job *job = &s->job[*n];
        bool more;
        memset(job, 0, sizeof *job);
        enum fm_status status = fm_jfr_scan_next(&s->scan, &job->chunk, &more, s->err);
        if (status != FM_OK || !more)
            return status;
        bytes += job->chunk.end - job->chunk.offset;
        (*n)++;
    }
    return FM_OK;
}

/* A sub-builder begins as a copy of the tables, which all chunks before have made: not for small
 * chunks behind many others. */
static bool worth_splitting(const struct session *s, size_t n)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += s->job[i].chunk.end - s->job[i].chunk.offset;
    return s->threads > 1 && n > 1 &&
           (bytes / n >= SPLIT_BYTES || bytes / n >= s->scan.at / SPLIT_PART);
}

static enum fm_status open_jobs(struct session *s, size_t n)
{
    s->split = worth_splitting(s, n);
    for (size_t i = 0; i < n; i++) {
        struct job *job = &s->job[i];
        job->builder = s->split ? fm_builder_split(s->import->builder, i) : s->import->builder;
        if (job->builder == NULL)
            return fm_error_nomem(s->err);
        enum fm_status status = fm_jfr_feed_init(&job->feed, s->import, job->builder, s->err);
        if (status != FM_OK)
            return status;
        job->open = true;
    }
    return FM_OK;
}

/* Joins what was read, in order, and takes over the first damage. */
static enum fm_status close_jobs(struct session *s, size_t n, enum fm_status status)
{
    for (size_t i = 0; i < n; i++) {
        struct job *job = &s->job[i];
        if (status == FM_OK && job->status != FM_OK) {
            status = job->status;
            *s->err = job->err;
        }
        if (status == FM_OK && s->damage == FM_OK && job->feed.damage != FM_OK) {
            s->damage = job->feed.damage;
            *s->err = job->feed.err;
        }
        if (job->open)
            fm_jfr_feed_release(&job->feed);
        if (job->builder != NULL && job->builder != s->import->builder)
            fm_builder_join(s->import->builder, &job->builder, 1);
        if (status == FM_OK) {
            tell_chunk(s, &job->chunk);
            tell_facts(s, &job->chunk);
            if (job->chunk.h.start_ns != 0 &&
                (s->first == 0 || job->chunk.h.start_ns < s->first))
                s->first = job->chunk.h.start_ns;
        }
        fm_jfr_chunk_release(&job->chunk);
    }
    return status;
}

static enum fm_status run_wave(struct session *s, size_t n)
{
    enum fm_status status = open_jobs(s, n);
    if (status == FM_OK) {
        unsigned threads = s->split ? s->threads : 1;
        fm_work_run(threads, n, survey_job, s);
        for (size_t i = 0; i < n; i++)
            if (s->job[i].status == FM_OK)
                settle(s, &s->job[i]);
        fm_work_run(threads, n, decode_job, s);
    }
    return close_jobs(s, n, status);
}

static enum fm_status run(struct session *s)
{
    enum fm_status status = fm_reader_open(s->import->input, &s->scan.reader, s->err);
    while (status == FM_OK) {
        size_t n;
        enum fm_status scanned = collect(s, &n);
        if (n > 0)
            status = run_wave(s, n);
        if (status == FM_OK && s->damage == FM_OK && s->scan.damage != FM_OK) {
            s->damage = s->scan.damage;
            *s->err = s->scan.damaged;
        }
        if (status == FM_OK)
            status = scanned;
        if (n == 0)
            break;
        if (status == FM_OK && !fm_ctx_tick(s->import->ctx, s->scan.at, s->scan.size))
            status = fm_error_set(s->err, FM_CANCELLED, "cancelled");
    }
    fm_reader_close(s->scan.reader);
    return status;
}

static enum fm_status import_jfr(struct fm_import *import, struct fm_error *err)
{
    struct fm_error nobody = {0};
    struct session s = {.import = import, .err = err != NULL ? err : &nobody, .last_pid = -1};
    struct fm_mem *mem = &import->ctx->mem;
    uint64_t threads = import->ctx->cap[FM_CAP_THREADS];
    enum fm_status status;
    s.threads = threads < THREADS_MIN ? 1 : (unsigned)FM_MIN(threads, (uint64_t)WAVE_MAX);
    s.scan.import = import;
    (void)fm_input_size(import->input, &s.scan.size);
    s.job = fm_mem_alloc(mem, WAVE_MAX * sizeof *s.job);
    if (s.job == NULL)
        return fm_error_nomem(err);
    status = run(&s);
    fm_mem_free(mem, s.job, WAVE_MAX * sizeof *s.job);
    tell_source(&s);
    return status == FM_OK ? s.damage : status;
}

static unsigned probe_jfr(const unsigned char *data, size_t n, bool whole, struct fm_input *input)
{
    struct fm_cursor c = fm_jfr_cursor(data, n, 0);
    const unsigned char *magic = fm_cursor_bytes(&c, 4);
    uint16_t major;
    (void)whole;
    (void)input;
    if (magic == NULL || memcmp(magic, "FLR\0", 4) != 0)
        return 0;
    major = fm_cursor_u16(&c);
    return major <= 2 && fm_cursor_u16(&c) <= 9 ? 64 : 32;
}

const struct fm_importer fm_importer_jfr = {
    .name = "jfr",
    .summary = "Java Flight Recorder: HotSpot, async-profiler and its derivatives",
    .extensions = "jfr",
    .seek = true,
    .mapping = true,
    .probe = probe_jfr,
    .import = import_jfr,
};
