/*
 * cli.h - the command's own interface: option table, commands, diagnostics, output files.
 *
 * The command uses the library through foldmill.h alone. A run goes
 *
 *     main.c     finds the command, parses its arguments by the option table (options.c, opt.c)
 *     inputs.c   which files are which input of a query
 *     load.c     reads the inputs into a store and prints what was damaged or lost
 *     one file a command, which returns an exit status
 *
 * Exit statuses (enum exit_status): see man/foldmill.1. Usage and YAML errors go before
 * an interrupt, an interrupt before "nothing written", that before a failed gate, and that before
 * damage: exit_worse() keeps the order.
 */
#ifndef FM_CLI_CLI_H
#define FM_CLI_CLI_H

#include "foldmill.h"

#include <stdio.h>

enum exit_status {
    EXIT_DONE = 0,
    EXIT_NOTHING = 1,      /* nothing usable was written */
    EXIT_USAGE = 2,        /* usage or YAML error */
    EXIT_DAMAGE = 3,       /* written, but bytes could not be read as the format demands */
    EXIT_GATE = 4,         /* a query's check failed */
    EXIT_INTERRUPTED = 130
};

/* The one of two statuses that goes before the other: 2, 130, 1, 4, 3, 0. */
int exit_worse(int a, int b);

/* ----------------------------------------------------------------- options */

/* Commands as bits, for the option table. */
enum command_bit {
    CMD_SUMMARY = 1 << 0,
    CMD_INFO = 1 << 1,
    CMD_CONVERT = 1 << 2,
    CMD_QUERY = 1 << 3,
    CMD_LIST = 1 << 4,
    CMD_CHECK = 1 << 5,
    CMD_COMPLETION = 1 << 6,
    CMD_HELP = 1 << 7,
    CMD_TOP = 1 << 8,
    CMD_DIFF = 1 << 9,
    CMD_REPORT = 1 << 10
};
#define CMD_SHORT (CMD_TOP | CMD_DIFF)
#define CMD_TABLES (CMD_QUERY | CMD_SHORT)
#define CMD_READS (CMD_SUMMARY | CMD_INFO | CMD_CONVERT | CMD_TABLES)
#define CMD_WRITES (CMD_CONVERT | CMD_TABLES)
#define CMD_ALL 0x7ff

/* What the shell offers as the value of an option or as an operand. */
enum completes {
    COMPLETE_NOTHING, COMPLETE_WORDS, COMPLETE_FILES, COMPLETE_DIRS, COMPLETE_FORMATS,
    COMPLETE_QUERIES, COMPLETE_EXPORTERS
};

/* Groups of --help, in this order. */
enum option_group { GROUP_COMMAND, GROUP_CHOOSE, GROUP_READ, GROUP_SYMBOLS, GROUP_OTHER, GROUPS };

/* What parsing does with an option. */
enum option_store {
    STORE_TEXT,     /* the value: const char * */
    STORE_FIXED,    /* the row's `words`, as if given as the value: const char * */
    STORE_FLAG,     /* bool */
    STORE_NUMBER,   /* 1 to 1024: uint64_t */
    STORE_LIST,     /* added to a struct words */
    STORE_PAIR,     /* the same, must be NAME=VALUE */
    STORE_FILTER    /* "option=value" added to the filters, as the library knows them */
};

/* An option: parsing, --help, completion and the manual's check all come from its row. */
struct option_row {
    char letter;            /* short form, 0 = none */
    const char *name;       /* long form without "--" */
    const char *value;      /* name of its value in help; NULL = takes none */
    unsigned commands;      /* bits of enum command_bit */
    enum option_group group;
    enum option_store store;
    size_t at;              /* where in struct options */
    enum completes completes;
    const char *words;      /* COMPLETE_WORDS: separated by spaces; the only values allowed when
                               `closed` */
    bool closed;
    const char *help;       /* one line */
};

extern const struct option_row option_table[];
extern const size_t option_rows;
extern const char *const group_title[GROUPS];

/* Growing list of strings, borrowed or owned as its holder says. */
struct words {
    const char **word;
    size_t n, cap;
};
void words_add(struct words *words, const char *word);
void words_free(struct words *words);   /* and its strings, which came from malloc() */

/* The parsed command line. Strings are borrowed from argv, or live until the process ends. */
struct options {
    struct fm_import_options import;
    struct fm_select_options select;
    struct fm_export_options export;
    struct words filter, set, param, formats, operand;
    const char *output, *to, *format, *against, *callers, *by, *rows, *sort;
    const char *fail_above, *shard, *progress, *memory;
    uint64_t threads, width;
    bool strict, help, version, explain, schema, merge, redo;
};

/* A parsing failure has been printed when these return false. */
bool options_parse(struct options *options, unsigned command, const char *command_name, int argc,
                   char **argv);
void options_release(struct options *options);

/* The word of `word[0..n)` within two edits of `s`, or NULL. */
const char *nearest_word(const char *s, const char *const *word, size_t n);

/* ---------------------------------------------------------------- commands */

struct cli {
    struct fm_ctx *ctx;
    struct options options;
    const struct command *command;
};

struct command {
    const char *name;
    enum command_bit bit;
    const char *operands;      /* for usage lines: "IN... -o OUT" */
    const char *about;         /* one line */
    enum completes completes;  /* what its operands are */
    const char *words;
    int (*run)(struct cli *cli);
};

extern const struct command command_table[];
extern const size_t commands;
const struct command *command_find(const char *name);
void command_help(const struct command *command);   /* to standard output; NULL = all commands */

int cmd_summary(struct cli *cli);
int cmd_info(struct cli *cli);
int cmd_convert(struct cli *cli);
int cmd_query(struct cli *cli);
int cmd_top(struct cli *cli);
int cmd_diff(struct cli *cli);
int cmd_report(struct cli *cli);
int cmd_list(struct cli *cli);
int cmd_check(struct cli *cli);
int cmd_completion(struct cli *cli);
int cmd_help(struct cli *cli);

/* ---------------------------------------------------------------- messages */

#define WIDEST 40 /* columns of tables grow with their texts up to this */

/* One line on standard error: "foldmill: TEXT". */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, followed by a pointer to the command's help; returns EXIT_USAGE. */
int say_usage(const struct cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The library's error as one line; returns the exit status it stands for. A closed pipe on standard
 * output says nothing and is EXIT_DONE. */
int say_error(const struct fm_error *err);
/* The same for an error of writing to `path` (NULL or "-": standard output). */
int say_write_error(const struct fm_error *err, const char *path);
int status_exit(enum fm_status status);
/* What fm_import() met: damage and losses of a store, one line each; `err` is its error. Returns
 * EXIT_DONE or EXIT_DAMAGE. */
int say_findings(const struct fm_store *store, enum fm_status status, const struct fm_error *err);

void *must(void *p);           /* ends the program when p is NULL: out of memory */
char *join(const char *a, const char *b, const char *c);

/* ----------------------------------------------------------------- loading */

/* Adds the data folders: --formats, then those of the environment, then beside the executable. */
int add_data_dirs(struct cli *cli);
/* Reads `n` inputs into *store and prints what was wrong with them. *store is NULL when there is
 * nothing to go on with (also with --strict after damage). Returns an exit status. */
int load(struct cli *cli, const char *const *path, size_t n, const char *needs,
         struct fm_store **store);

#define MAX_INPUTS 64          /* that a query may declare */
/* The same for the inputs that a query declares, into store[0 … MAX_INPUTS): inputs.c. */
int load_inputs(struct cli *cli, struct fm_query *query, const char *const *word, size_t words,
                struct fm_store **store);

/* ------------------------------------------------------------------ output */

/*
 * A file that appears whole or not at all: bytes go to a temporary file beside it, which takes the
 * name at the end. "-" (or NULL) is standard output; what exists and is no regular file (a pipe, a
 * device) is written straight.
 */
struct output {
    const char *path;          /* as given; NULL = standard output */
    char *target;              /* the file behind symbolic links */
    char *temporary;           /* NULL = written straight */
    int fd;
    struct fm_sink sink;
};
/* False: nothing was opened, a line has been printed. */
bool output_open(struct output *output, const char *path);
/* Gives the file its name (keep) or removes what was written. False: a line has been printed. */
bool output_close(struct output *output, bool keep);
/* Whether a file could be created at all, asked before work is spent: false = no, said so. */
bool output_possible(const char *path);

/* Standard output through stdio, for fm_result_write() and fm_check(). */
extern const struct fm_sink stdout_sink;
/* query.c: prints the JSON Schema of query files. */
int print_schema(struct cli *cli);
/* Flushes standard output; `status`, or EXIT_NOTHING when it could not be written. */
int stdout_done(int status);

/* SIGINT and SIGTERM remove the temporary file and end the program; SIGPIPE is ignored. */
void catch_signals(void);
/* On a terminal, shows how far reading is. */
void show_progress(struct fm_ctx *ctx);
void hide_progress(void);

/* ----------------------------------------------------------------- results */

/* Where a result goes: a table's form, or an exporter. */
struct target {
    const char *table, *exporter;  /* one of them is NULL */
};
/* By -o, --to and --format. Not EXIT_DONE: a line has been printed. */
int target_choose(const struct cli *cli, struct target *target);
/* Writes all tables, or the one as a profile; returns an exit status. */
int write_result(struct cli *cli, struct fm_result *result, const struct target *target);
/* Whether there is an exporter of that name; false: a line has been printed. */
bool exporter_exists(const struct cli *cli, const char *name);

/* --------------------------------------------------------------- questions */

/* A query by name or file; messages are printed. *query may be there in any case: free it. */
int question_load(struct cli *cli, const char *name, struct fm_query **query);
int question_set(struct fm_query *query, const char *name, const char *value);
/* Runs it on stores, prints its messages, and writes its result. */
int question_answer(struct cli *cli, struct fm_query *query, struct fm_store *const *store,
                    size_t stores, const struct target *target);
/* The same on files, one input each as the query declares them. */
int question_ask(struct cli *cli, struct fm_query *query, const char *const *word, size_t words,
                 const struct target *target);
/* The query of queries/top.yaml for --by, with -n and --sort set; NULL: *code says why. `spans`:
 * the input has some. */
struct fm_query *top_query(struct cli *cli, const char *by, bool spans, int *code);
bool has_spans(const struct fm_store *store);
/* Whether queries/top.yaml and queries/diff.yaml have a document "by-KEY". */
bool short_document(const char *by);

/* ----------------------------------------------------------------- answers */

typedef unsigned __int128 u128;

/* Runs a query of the data path, with one parameter or param == NULL, on the chosen samples. NULL:
 * a line has been printed and *code made worse. */
struct fm_result *answer_ask(struct cli *cli, struct fm_store *store, const char *name,
                             const char *param, const char *value, int *code);
/* Place of a column of the first table; the number of columns when it has none. */
size_t answer_column(const struct fm_result *result, const char *name);
/* A cell as a number, 0 when it is none or the column is not there. */
u128 answer_number(struct fm_result *result, size_t row, size_t col);

/* What the options that choose samples leave. */
struct chosen {
    u128 samples, weight;
    char unit[32];             /* of the weight; "" for samples and columns */
    char of[256];              /* " of EVENT", "" when its name is the unit */
};
/* Weight by the kind of the leaf frame (columns "kind", "self", "samples"), and the sums. */
struct fm_result *answer_kinds(struct cli *cli, struct fm_store *store, struct chosen *chosen,
                               int *code);

/* ----------------------------------------------------------------- figures */

/* Numbers for people, each in a caller's buffer of FIGURE bytes. */
#define FIGURE 64
const char *figure_count(char *buf, u128 n);                  /* 986,176 */
const char *figure_unit(char *buf, u128 n, const char *unit); /* 1.50 s, 12.0 MiB */
const char *figure_share(char *buf, u128 part, u128 all);     /* 12.3 % */
const char *figure_time(char *buf, int64_t ns);               /* 1.500000000 s */
const char *figure_wall(char *buf, int64_t ns); /* 2026-11-30T12:00:00.123456789Z */

#endif
