/*
 * report.h - batch reports: what the command sees of this folder.
 *
 *     REPORT.yaml + many profiles  --fm_report_run()-->  DIR/ with
 *         files/NAME/...      what the report writes for each file
 *         NAME.csv ...        tables over all files; pictures and pages over them
 *         .foldmill/          results that the next run need not work out again
 *
 * The report language is described in man/foldmill-report.1.
 */
#ifndef FM_REPORT_REPORT_H
#define FM_REPORT_REPORT_H

#include "foldmill.h"

/* What has been done so far; also how far a run is. */
struct fm_report_count {
    size_t files;               /* named by the inputs, of this share */
    size_t done;                /* looked at */
    size_t reused;              /* of them, with nothing to work out */
    size_t damaged;             /* with damage, and results of what could be read */
    size_t failed;              /* without results */
    size_t results, made;       /* per-file results of the files done, and how many were made now */
    size_t gates, gates_failed;
    uint64_t bytes, bytes_done; /* of the files */
};

struct fm_report_options {
    size_t size;                /* FM_INIT() */
    const char *report;         /* a name of the data path, or a path with '/' or ".yaml"; NULL with
                                 * `merge`: that of the first folder */
    const char *const *input;   /* files, folders, patterns, "-"; with `merge` folders of shards */
    size_t inputs;
    const char *output;         /* the folder that is written; made when it is not there */
    const char *const *param;   /* NAME=VALUE */
    size_t params;
    uint64_t shard, shards;     /* the share 1 to shards that is taken; 0 of 0: all */
    bool merge;
    bool redo;                  /* work everything out again */
    bool strict;                /* the first damaged or unusable file ends the run */
    unsigned threads;           /* 0: one a cpu */
    uint64_t memory;            /* bytes all workers may hold; 0: three quarters of the machine's */
    const struct fm_import_options *import; /* symfs, kallsyms ...; NULL = defaults */
    /* A line for people: an error, a warning, a gate that failed. From one thread at a time. */
    void (*say)(void *user, const char *line);
    /* Now and then; false ends the run (FM_CANCELLED), what is done stays. */
    bool (*progress)(void *user, const struct fm_report_count *count);
    void *user;
};

/*
 * Runs a report. FM_OK: written, `count` says what was met (failed or damaged files: exit status 3;
 * gates_failed: 4). FM_CONFIG: the report, a parameter or an input is wrong, and all messages went
 * to say(). FM_UNKNOWN: there is no such report. FM_FORMAT with `strict`: a file was damaged.
 */
FM_API enum fm_status fm_report_run(struct fm_ctx *ctx, const struct fm_report_options *options,
                                    struct fm_report_count *count, struct fm_error *err);

/* The JSON Schema of report files, for editors. */
FM_API enum fm_status fm_report_schema(struct fm_ctx *ctx, const struct fm_sink *sink,
                                       struct fm_error *err);
/* Validates a report file; what is wrong, or its name and parameters, goes to sink. FM_UNKNOWN: the
 * file does not say that it is a report, and nothing was written. */
FM_API enum fm_status fm_report_check(struct fm_ctx *ctx, const char *path,
                                      const struct fm_sink *sink, struct fm_error *err);

#endif
