/*
 * run.h - a run at work: its files, and the steps over them.
 *
 *     inputs.c     operands -> run->job, in order of the names
 *     stat.c       hashes of the files' bytes; those of files that did not change since
 *     file.c       one file: which results are kept, the others made and kept
 *     facts.c      what the table of files says of a store
 *     collect.c    kept results of all files -> tables, outputs in place
 *     compare.c    questions over groups of files
 *     gate.c       checks over the rows of tables
 *     manifest.c   the list of the files of a run, for merging
 *
 * The first half (file.c) only makes sure that every result is kept, in any order and on several
 * threads; the second half reads them back in the order of the files. So the order of work, a run
 * that was killed, and shares that were merged do not show.
 */
#ifndef FM_REPORT_RUN_H
#define FM_REPORT_RUN_H

#include "report/inner.h"
#include "report/place.h"

/* What the file system says of a file: while it stays, so do the bytes. */
struct fm_report_stamp {
    uint64_t size, inode, device;
    int64_t changed_s, changed_ns;   /* of its bytes */
    int64_t touched_s, touched_ns;   /* of its inode: no program can set it */
};

/* A file to be looked at. */
struct fm_report_job {
    const char *name;                /* as given or found; "a.tar:member" */
    bool given;                      /* by its own name, not found in a folder */
    char hash[FM_REPORT_KEY];        /* of its bytes; "" before it is known */
    uint64_t size;
    struct fm_report_stamp stamp;    /* when it was hashed */
    bool settled;                    /* the stamp was old enough then to be trusted */
    bool busy_error;                 /* no result is kept, for a reason of this machine: */
    struct fm_error err;             /* it cannot be read, or memory ran out */
    bool reused, damaged, failed;    /* set by file.c */
    uint64_t results, made;
};

struct fm_report_run {
    struct fm_ctx *ctx;
    const struct fm_report_options *options;
    struct fm_report_plan plan;
    const char *report;              /* its name as given; of shares as they were given it */
    const char *const *param;        /* the same */
    size_t params;
    const char *digest;              /* of shares: what they agree in */
    struct fm_arena arena;
    struct fm_report_place place;
    struct fm_report_job *job;
    size_t jobs, job_cap;
    uint64_t world[2];               /* hash of version, formats and import options */
    uint64_t memory;                 /* bytes a worker may hold */
    const char *keep;                /* labels that any query reads */
    const char *const *dir;          /* the data path */
    size_t dirs;
    struct fm_report_seen *seen;     /* hashes of the last run, in order of the names */
    size_t seens;
    /* while threads work */
    atomic_size_t done, reused, damaged, failed, results, made;
    atomic_ullong bytes_done;
    atomic_bool stop, cancelled;
    atomic_flag telling;
    uint64_t bytes;
};

/* inputs.c: names the jobs. */
enum fm_status fm_report_inputs(struct fm_report_run *run, struct fm_error *err);
enum fm_status fm_report_add_job(struct fm_report_run *run, const char *name, bool given,
                                 struct fm_error *err);
/* Sorts them by name; one of each name stays. */
void fm_report_sort_jobs(struct fm_report_run *run);
/* The folder of a file's outputs, from DIR: its path, made safe. */
const char *fm_report_folder(struct fm_arena *arena, const char *name);

/* stat.c: reads the hashes of the last run; hashes the archives of members. */
enum fm_status fm_report_stats_load(struct fm_report_run *run, struct fm_error *err);
/* Sets job->hash and job->size. false: job->err. Several threads may. */
bool fm_report_job_hash(struct fm_report_run *run, struct fm_report_job *job);
/* Whether the file is what it was when it was hashed. */
bool fm_report_job_same(const struct fm_report_job *job);
enum fm_status fm_report_stats_save(struct fm_report_run *run, struct fm_error *err);

/* file.c: keys of results of a file. */
void fm_report_facts_key(const struct fm_report_run *run, const struct fm_report_job *job,
                         char key[FM_REPORT_KEY]);
void fm_report_each_key(const struct fm_report_run *run, const struct fm_report_job *job, size_t i,
                        char key[FM_REPORT_KEY]);
void fm_report_rows_key(const struct fm_report_run *run, const struct fm_report_job *job, size_t i,
                        char key[FM_REPORT_KEY]);
enum fm_status fm_report_world(struct fm_report_run *run, struct fm_error *err);
void fm_report_do(void *user, size_t i);

/* A context of its own for a thread, and the options to import with; NULL: no memory. */
struct fm_ctx *fm_report_context(const struct fm_report_run *run);
struct fm_import_options fm_report_import(const struct fm_report_run *run, const char *keep,
                                          const char *events);
/* Runs the query of an ask on stores. FM_GATE: there is a result all the same. Both are freed by
 * the caller, the result first. */
enum fm_status fm_report_ask_query(struct fm_ctx *ctx, const struct fm_report_ask *ask,
                                   struct fm_store *const *store, size_t stores,
                                   struct fm_query **query, struct fm_result **result,
                                   struct fm_error *err);

/* Writes the result, as a table of that form or by the ask's exporter. */
enum fm_status fm_report_ask_write(struct fm_ctx *ctx, const struct fm_report_ask *ask,
                                   const char *form, struct fm_result *result,
                                   const struct fm_sink *sink, struct fm_error *err);
/* The first line of an output's or a table's record: "ok", "gate" or "error". */
void fm_report_state(struct fm_out *out, const char *state, uint64_t size, const char *note);
/* Exports a store, or what changed from `base` (may be NULL) to it. */
enum fm_status fm_report_ask_export(struct fm_ctx *ctx, const struct fm_report_ask *ask,
                                    struct fm_store *base, struct fm_store *store,
                                    const struct fm_sink *sink, struct fm_error *err);

/* facts.c: the columns of the table of files beside file, labels, and those of failures. */
extern const struct fm_report_column fm_report_fact[];
extern const size_t fm_report_facts;
/* Writes a store's facts: lines "fact TAB value", in the order of the columns. */
void fm_report_facts_write(const struct fm_store *store, enum fm_status status,
                           struct fm_out *out);

/* collect.c */
enum fm_status fm_report_collect(struct fm_report_run *run, struct fm_report *report,
                                 struct fm_error *err);
/* compare.c, gate.c: need the collected report. */
enum fm_status fm_report_compares(struct fm_report_run *run, struct fm_report *report,
                                  struct fm_error *err);
enum fm_status fm_report_gates(struct fm_report_run *run, struct fm_report *report,
                               struct fm_error *err);

/* manifest.c */
enum fm_status fm_report_manifest(struct fm_report_run *run, struct fm_error *err);
/* The files of all shares as jobs; the report and its parameters as the shares had them. */
enum fm_status fm_report_merge_list(struct fm_report_run *run, struct fm_error *err);
/* Takes over what they keep. */
enum fm_status fm_report_merge(struct fm_report_run *run, struct fm_error *err);

/* Gives a line to options->say. */
void fm_report_say(const struct fm_report_run *run, const char *fmt, ...) FM_PRINTF(2, 3);

#endif
