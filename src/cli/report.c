/*
 * report.c - foldmill report REPORT IN... -o DIR: one report over many files; its options, what it
 * says on the way, and what it comes to.
 */
#include "cli/cli.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---------------------------------------------------------------- progress */

struct progress {
    bool on, shown, said;      /* said: a line of the report has been printed */
    struct timespec begun;
    int64_t last;              /* ms since then */
};

static int64_t ms_since(const struct timespec *begun)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)(now.tv_sec - begun->tv_sec) * 1000 +
           (now.tv_nsec - begun->tv_nsec) / 1000000;
}

static bool progress(void *user, const struct fm_report_count *count)
{
    struct progress *p = user;
    char bytes[FIGURE];
    int64_t ms;

    if (!p->on)
        return true;
    ms = ms_since(&p->begun);
    if (ms < p->last + 100)
        return true;
    p->last = ms;
    p->shown = true;
    fprintf(stderr, "\r\033[K%zu of %zu files, %s", count->done, count->files,
            figure_unit(bytes, count->bytes_done, "bytes"));
    if (count->done > count->reused && ms > 1000) {
        double left = (double)ms / 1000 * (double)(count->files - count->done) /
                      (double)count->done;

        fprintf(stderr, ", about %.0f s left", left);
    }
    return true;
}

static void progress_end(struct progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
}

static bool wants_progress(const struct cli *cli)
{
    const char *term = getenv("TERM");

    if (cli->options.progress && strcmp(cli->options.progress, "never") == 0)
        return false;
    return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

static void say_line(void *user, const char *line)
{
    struct progress *p = user;
    size_t n = strlen(line);

    progress_end(p);
    p->said = true;
    fprintf(stderr, "%s%s", line, n > 0 && line[n - 1] == '\n' ? "" : "\n");
}

/* ------------------------------------------------------------------ shares */

static bool decimal(const char *s, uint64_t *out)
{
    uint64_t v = 0;

    if (!s || !*s)
        return false;
    for (; *s; s++) {
        if (*s < '0' || *s > '9' || v > 100000000)
            return false;
        v = v * 10 + (uint64_t)(*s - '0');
    }
    *out = v;
    return true;
}

/* The share that the environment of a job array says. JOB_COMPLETION_INDEX counts from 0, and
 * PARALLEL_SEQ from 1; neither says of how many. */
static bool share_of_environment(uint64_t of, uint64_t *shard, uint64_t *shards)
{
    uint64_t first = 1, step = 1;

    *shards = of;
    if (decimal(getenv("SLURM_ARRAY_TASK_ID"), shard)) {
        if (of == 0 && !decimal(getenv("SLURM_ARRAY_TASK_COUNT"), shards))
            return false;
        if (!decimal(getenv("SLURM_ARRAY_TASK_MIN"), &first))
            first = 1;
        if (!decimal(getenv("SLURM_ARRAY_TASK_STEP"), &step) || step == 0)
            step = 1;
        if (*shard < first)
            return false;
        *shard = (*shard - first) / step + 1;
        return true;
    }
    if (decimal(getenv("JOB_COMPLETION_INDEX"), shard)) {
        (*shard)++;
        return of > 0;
    }
    return decimal(getenv("PARALLEL_SEQ"), shard) && of > 0;
}

/* "512M", "4G", bytes without a letter. */
static bool size_of(const char *s, uint64_t *out)
{
    static const char letter[] = "KMGT";
    char digits[16];
    size_t n = strspn(s, "0123456789");
    const char *unit = s[n] ? strchr(letter, s[n]) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - letter + 1) : 0;

    snprintf(digits, sizeof(digits), "%.*s", (int)(n < 15 ? n : 15), s);
    if ((s[n] && (!unit || s[n + 1])) || !decimal(digits, out) || *out == 0)
        return false;
    *out <<= shift;
    return true;
}

/* "2/8", "auto", "auto/8". */
static int choose_share(const struct cli *cli, uint64_t *shard, uint64_t *shards)
{
    const char *s = cli->options.shard, *slash = s ? strchr(s, '/') : NULL;
    uint64_t of = 0;
    char first[16];
    bool good;

    *shard = *shards = 0;
    if (!s)
        return EXIT_DONE;
    if (slash && !decimal(slash + 1, &of))
        of = UINT64_MAX;
    snprintf(first, sizeof(first), "%.*s", slash ? (int)(slash - s) : 15, s);
    if (strcmp(first, "auto") == 0) {
        good = of != UINT64_MAX && share_of_environment(of, shard, shards);
        if (!good)
            return say_usage(cli, "option '--shard': the environment does not say which share: it "
                             "has SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT, or with "
                             "'auto/N' JOB_COMPLETION_INDEX or PARALLEL_SEQ");
    } else {
        *shards = of;
        good = slash && of != UINT64_MAX && decimal(first, shard);
    }
    if (!good || *shard < 1 || *shard > *shards)
        return say_usage(cli, "option '--shard' takes I/N, with I from 1 to N, not '%s'%s", s,
                         good ? " as the environment has it" : "");
    return EXIT_DONE;
}

/* ----------------------------------------------------------------- command */

static void say_count(const struct cli *cli, const struct fm_report_count *count)
{
    if (cli->options.merge)
        printf("%zu files of %zu shares", count->files, cli->options.operand.n);
    else
        printf("%zu files: %zu results, %zu made now", count->files, count->results, count->made);
    if (count->reused > 0 && !cli->options.merge)
        printf(", %zu file%s unchanged", count->reused, count->reused == 1 ? "" : "s");
    if (count->damaged > 0)
        printf("; %zu damaged", count->damaged);
    if (count->failed > 0)
        printf("; %zu failed", count->failed);
    if (count->gates_failed > 0)
        printf("; %zu check%s failed", count->gates_failed, count->gates_failed == 1 ? "" : "s");
    printf("; see %s\n", cli->options.output);
}

/* `said`: messages have been printed, and a wrong report is among them. */
static int finish(struct cli *cli, enum fm_status status, const struct fm_report_count *count,
                  bool said, const struct fm_error *err)
{
    if (status == FM_CONFIG && said)
        return EXIT_USAGE;
    if (status != FM_OK) {
        int code = say_error(err);

        if (status == FM_UNKNOWN)
            return EXIT_USAGE;
        return status == FM_CANCELLED ? EXIT_INTERRUPTED
               : code == EXIT_USAGE   ? EXIT_USAGE
                                      : EXIT_NOTHING;
    }
    say_count(cli, count);
    if (count->files > 0 && count->failed == count->files)
        return EXIT_NOTHING;
    return exit_worse(count->gates_failed > 0 ? EXIT_GATE : EXIT_DONE,
                      count->damaged + count->failed > 0 ? EXIT_DAMAGE : EXIT_DONE);
}

int cmd_report(struct cli *cli)
{
    const struct options *o = &cli->options;
    const struct words *in = &o->operand;
    struct fm_import_options import = o->import;
    struct progress p = {.on = wants_progress(cli)};
    struct fm_report_options r = FM_INIT(r);
    struct fm_report_count count;
    struct fm_error err = {0};
    enum fm_status status;
    int code;

    if (o->schema) {
        if (fm_report_schema(cli->ctx, &stdout_sink, &err) != FM_OK)
            return say_write_error(&err, NULL);
        return EXIT_DONE;
    }
    if (in->n == 0 && !o->merge)
        return say_usage(cli, "which report? name one, or a file");
    if (in->n < (o->merge ? 1 : 2))
        return say_usage(cli, "no input: name files, folders, or '-' for a list on standard input");
    if (!o->output || strcmp(o->output, "-") == 0)
        return say_usage(cli, "where to? give -o DIR");
    code = choose_share(cli, &r.shard, &r.shards);
    if (code != EXIT_DONE)
        return code;
    if (o->memory && !size_of(o->memory, &r.memory))
        return say_usage(cli, "option '--memory' takes a size such as 512M or 4G, not '%s'",
                         o->memory);
    clock_gettime(CLOCK_MONOTONIC, &p.begun);
    r.merge = o->merge;
    r.report = o->merge ? NULL : in->word[0];
    r.input = in->word + !o->merge;
    r.inputs = in->n - !o->merge;
    r.output = o->output;
    r.param = o->param.word;
    r.params = o->param.n;
    r.redo = o->redo;
    r.strict = o->strict;
    r.threads = (unsigned)o->threads;
    r.import = &import;
    r.say = say_line;
    r.progress = progress;
    r.user = &p;
    status = fm_report_run(cli->ctx, &r, &count, &err);
    progress_end(&p);
    return finish(cli, status, &count, p.said, &err);
}
