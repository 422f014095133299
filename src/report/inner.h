/*
 * inner.h - the report folder's own interface: the plan, what was collected, the files written.
 *
 *     plan.c      REPORT.yaml -> struct fm_report_plan, with the files of reader.h
 *     run.c       fm_report_run(): the steps in order, with the files of run.h
 *     place.c     the folder that is written, and the results that are kept in it
 *     collect.c   results of all files -> struct fm_report: tables over all files
 *     table.c     a collected table as text, CSV, TSV, JSON, Markdown
 *     trend.c     a value over time: table, gate; chart.c its picture
 *     index.c     the page with links
 *
 * Everything about profiles goes through foldmill.h; of the floors below only util/ is used. The
 * plan and all that was collected lie in one arena and do not change once they are made.
 */
#ifndef FM_REPORT_INNER_H
#define FM_REPORT_INNER_H

#include "report/report.h"
#include "util/ctx.h"
#include "util/out.h"
#include "util/pattern.h"
#include "util/yaml.h"

/* ------------------------------------------------------------------- plan */

/* NAME: VALUE, after parameters of the report were put in. */
struct fm_report_pair {
    const char *name, *value;
};

/* A query with its parameters, asked of each file (or of groups). */
struct fm_report_ask {
    const char *query;               /* as fm_query_load() takes it; NULL: none */
    const struct fm_report_pair *with;
    size_t withs;
    const char *export;              /* an exporter; NULL: a table */
    const char *event, *weight, *prepend, *append;
    const char *const *filter;       /* "time=1s..2s" ... */
    size_t filters;
    const char *title;               /* exports; NULL = made from the source */
    const char *const *set;          /* exports: "width=800" ... */
    size_t sets;
    const char *names, *normalize;
    const struct fm_yaml_node *at;   /* where it stands */
    const char *needs;               /* labels it reads: fm_import_options.keep */
    uint64_t digest[2];              /* of all that it says, and of the files it was read from */
};

/* `each`: a file of DIR/files/NAME/ for each input. */
struct fm_report_each {
    struct fm_report_ask ask;
    const char *to;                  /* "paths.csv" */
    const char *form;                /* tables: "csv" ...; NULL for exports */
};

/* `tables`: rows of all files in one table. */
struct fm_report_rows {
    const char *name;
    const char *about;               /* a title; "" */
    struct fm_report_ask ask;        /* query NULL: the table of the files themselves */
    size_t table;                    /* which table of the result */
    const char *const *front;        /* columns about the file that stand in front */
    size_t fronts;
    const char *const *column;       /* columns of the query that are taken, NULL: all */
    size_t columns;
    const char *const *to;           /* "functions.csv" ..., in the folder of the report */
    size_t tos;
};

/* `groups`: files by their columns: {service: web, date: "2026-11-*"}. */
struct fm_report_match {
    const char *column;
    struct fm_pattern *const *pattern; /* one of them fits */
    size_t patterns;
    const struct fm_yaml_node *at;
};
struct fm_report_group {
    const char *name;
    const struct fm_report_match *match; /* all of them fit */
    size_t matches;
};
#define FM_REPORT_GROUPS 64

/* `compare`: a query over groups of files (its inputs in order), or a picture of two groups. */
struct fm_report_compare {
    const char *name;
    struct fm_report_ask ask;
    const size_t *group;             /* places in plan->group; of an export: base, new */
    size_t groups;
    const char *to;
    const char *form;                /* as in struct fm_report_each */
};

/* `gates`: an expression over the rows of a table that must not be true. */
struct fm_report_gate {
    size_t table;                    /* place in plan->rows */
    const struct fm_yaml_node *fail_if, *warn_if; /* one of them is NULL */
    const struct fm_yaml_node *message; /* may hold ${column}; NULL: made from the condition */
};

/* `trends`: one value a file, over time. */
struct fm_report_trend {
    const char *name;
    const char *about;               /* a title; "" */
    size_t table;                    /* place in plan->rows: where the value is taken from */
    const struct fm_report_match *match; /* which row of a file: {category: gc}; else the first */
    size_t matches;
    const char *value;               /* a column of numbers */
    bool sum;                        /* of all rows that fit, instead of the first */
    const char *time;                /* the column that is the time: "start" or a label */
    const char *const *by;           /* a line for each value of these columns (labels) */
    size_t bys;
    const char *to;                  /* "gc.csv": the table; NULL: none */
    const char *chart;               /* "gc.svg"; NULL: none */
    /* the gate: files of `candidate` against those of `baseline` */
    bool gate;
    size_t baseline, candidate;      /* groups; candidate SIZE_MAX: all other files */
    bool down;                       /* it is worse when the value falls */
    double by_share;                 /* 0.1: a change of the median by more than 10 % ... */
    double sigma;                    /* ... and by more than so many times the noise */
    size_t least;                    /* files a side must have for a verdict */
    bool warn;                       /* only warn */
    const struct fm_yaml_node *at;
};

/* `index`: the page. */
struct fm_report_index {
    const char *to;                  /* "index.html"; NULL: none */
    const char *picture;             /* the `to` of the picture that is shown small; NULL: none */
};

struct fm_report_plan {
    struct fm_ctx *ctx;
    struct fm_arena *arena;
    struct fm_yaml_file *yaml;
    struct fm_report_patterns *pattern; /* all that were compiled */
    const char *name, *about, *title;
    const struct fm_report_pair *param;
    size_t params;
    struct fm_pattern *const *labels; /* regular expressions with named groups, first fit wins */
    size_t label_patterns;
    const char *const *label;        /* names of all of them, in order of appearance */
    size_t label_count;
    const struct fm_report_each *each;
    size_t eaches;
    const struct fm_report_rows *rows;
    size_t tables;
    const struct fm_report_group *group;
    size_t groups;
    const struct fm_report_compare *compare;
    size_t compares;
    const struct fm_report_gate *gate;
    size_t gates;
    const struct fm_report_trend *trend;
    size_t trends;
    struct fm_report_index index;
};

/*
 * Reads and checks a report: a path, or NAME for queries/reports/NAME.yaml along the data path.
 * FM_CONFIG: *messages has lines of what is wrong. fm_report_plan_release() in any case.
 */
enum fm_status fm_report_plan_load(struct fm_report_plan *plan, struct fm_ctx *ctx,
                                   struct fm_arena *arena, const char *name,
                                   const char *const *param, size_t params,
                                   const char **messages, struct fm_error *err);
void fm_report_plan_release(struct fm_report_plan *plan);
/* Compiles a pattern that is freed with the plan. NULL: err. */
struct fm_pattern *fm_report_pattern(struct fm_report_plan *plan, const char *text, bool regex,
                                     struct fm_error *err);

/* Whether an output may have that name: a path below DIR without names that begin with a dot. */
bool fm_report_below(const char *to);
/* The form of a table by the ending of its name: "csv", "markdown" ...; NULL: none. */
const char *fm_report_form(const char *to);
/* ask.c: sets the parameters of a query that was loaded for it. */
bool fm_report_ask_set(const struct fm_report_ask *ask, struct fm_query *query,
                       struct fm_error *err);

/* -------------------------------------------------------------- collected */

enum fm_report_type {
    FM_REPORT_TEXT,
    FM_REPORT_NUMBER,                /* decimal, as CSV prints it: integers without a point */
    FM_REPORT_BOOL,                  /* "true", "false" */
    FM_REPORT_WALL,                  /* ns since 1970, decimal; shown as 2026-11-30T12:00:00Z */
    FM_REPORT_SHARE                  /* a number 0 to 1, shown as per cent */
};

struct fm_report_column {
    const char *name;
    enum fm_report_type type;
    const char *unit;                /* "ns", "bytes", "count" ...; "" */
    bool front;                      /* about the file, not of the query */
};

/* A table over all files. Rows stand in the order of the files, then of the query. */
struct fm_report_table {
    const char *name, *about;
    const struct fm_report_column *column;
    size_t columns;
    const char *const *cell;         /* [row * columns + column]; NULL = null */
    const uint32_t *file;            /* [row]: place in report->file */
    size_t rows;
};

/* A file that was written for an input, or could not be. */
struct fm_report_output {
    const char *path;                /* from DIR: "files/a.jfr/flame.svg"; NULL: not written */
    const char *error;               /* why not; NULL */
    bool gate;                       /* the query's own check failed */
};

/* One input. Numbers are as text, ready for the table of files; NULL = unknown. */
struct fm_report_file {
    const char *name;                /* as given or found */
    const char *folder;              /* of its outputs, from DIR: "files/a.jfr" */
    const char *format, *host;       /* NULL: unknown */
    const char *const *label;        /* [plan->label_count], NULL where it has none */
    bool has_start, has_wall;
    int64_t start;                   /* has_wall: ns since 1970 */
    int64_t duration;                /* ns; has_start */
    uint64_t bytes;
    const char *status;              /* "ok", "damaged", "failed" */
    const char *error;               /* NULL: none */
    uint64_t offset;                 /* FM_NO_OFFSET */
    uint64_t groups;                 /* bit i: it is of plan->group[i] */
    const struct fm_report_output *output; /* [plan->eaches] */
};

/* What a gate or a trend's gate came to. */
struct fm_report_verdict {
    const char *of;                  /* the table, trend or query */
    const char *text;                /* a line */
    bool failed;                     /* false: a warning */
    struct fm_report_verdict *next;
};

/* All there is about a finished run; the index page is made from it. */
struct fm_report {
    const struct fm_report_plan *plan;
    struct fm_arena *arena;
    const struct fm_report_file *file; /* in the order of their names, bytewise */
    size_t files;
    const struct fm_report_table *table; /* [plan->tables] */
    const struct fm_report_output *compared; /* [plan->compares] */
    const struct fm_report_table *trend; /* [plan->trends]: what trend.c made; without rows:
                                          * nothing */
    struct fm_report_verdict *verdict, **verdict_end;
    size_t gates, gates_failed;
};

/* A column's place by its name, or table->columns. */
size_t fm_report_find(const struct fm_report_table *table, const char *column);
/* Adds a line about a gate. false: no memory. */
bool fm_report_judge(struct fm_report *report, const char *of, bool failed, const char *text);
/* The same of what a query says of its checks, a line each: the messages alone, without where they
 * stand in its file. */
bool fm_report_judge_query(struct fm_report *report, const char *of, bool failed,
                           const char *messages);
/* Whether a row fits: text columns by their cells, front columns as well. */
bool fm_report_fits(const struct fm_report_table *table, size_t row,
                    const struct fm_report_match *match, size_t matches);

/* ------------------------------------------------------------ given by others */

/* trend.c: makes the table of plan->trend[i] (into *table, in report->arena) and judges its gate
 * with fm_report_judge(). */
enum fm_status fm_report_trend(struct fm_report *report, size_t i, struct fm_report_table *table,
                               struct fm_error *err);
/* chart.c: that table as an SVG line chart. */
enum fm_status fm_report_chart(const struct fm_report *report, size_t i,
                               const struct fm_report_table *table, struct fm_out *out,
                               struct fm_error *err);
/* index.c: the page. Links are paths from DIR. */
enum fm_status fm_report_page(const struct fm_report *report, struct fm_out *out,
                              struct fm_error *err);

/* table.c: form "text", "csv", "tsv", "json" or "markdown". */
enum fm_status fm_report_write(const struct fm_report_table *table, const char *form,
                               struct fm_out *out, struct fm_error *err);

#endif
