/*
 * summary.c - foldmill FILE: what is in it, at a glance.
 *
 * The head (host, kernel, command, events, samples, lost, threads, modules) comes from the store;
 * the shares and the table of functions are the answers of queries/leaf-kinds.yaml and
 * queries/top.yaml for the chosen samples.
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------------- head */

static void print_provenance(const struct fm_store *store, size_t s)
{
    static const char *const wanted[] = {"host", "kernel", "command"};

    for (size_t w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++) {
        const char *key, *value;

        for (size_t k = 0; fm_store_provenance(store, s, k, &key, &value); k++)
            if (strcmp(key, wanted[w]) == 0)
                printf("  %-9s %s\n", key, value);
    }
}

/* What the recorder itself lost: findings whose keys begin with "lost-". */
static void print_lost(const struct fm_store *store, size_t s)
{
    for (size_t i = 0; i < fm_store_accounts(store); i++) {
        char count[FIGURE];
        struct fm_account_info row;

        fm_store_account(store, i, &row);
        if (row.source == s && row.kind == FM_ACCOUNT_FINDING && row.count > 0 &&
            strncmp(row.key, "lost-", 5) == 0)
            printf("  %-9s %s: %s\n", "lost", row.text, figure_count(count, row.count));
    }
}

static void print_source(const struct fm_store *store, size_t s)
{
    char a[FIGURE], b[FIGURE];
    struct fm_source_info source;

    fm_store_source(store, s, &source);
    printf("%s: %s, %s\n", source.name, source.format, figure_unit(a, source.bytes, "bytes"));
    print_provenance(store, s);
    if (source.has_time)
        printf("  %-9s %s\n", "duration",
               figure_time(a, (int64_t)((uint64_t)source.last - (uint64_t)source.first)));
    printf("  %-9s %s", "samples", figure_count(a, source.samples_kept));
    if (source.samples_in != source.samples_kept)
        printf(" of %s; %s dropped, see foldmill info", figure_count(a, source.samples_in),
               figure_count(b, source.samples_in - source.samples_kept));
    putchar('\n');
    print_lost(store, s);
}

static u128 event_weight(const struct fm_event_info *event)
{
    return (u128)event->weight_hi << 64 | event->weight_lo;
}

static void print_events(const struct fm_store *store)
{
    int name = 24;

    for (size_t i = 0; i < fm_store_events(store); i++) {
        struct fm_event_info event;
        int n;

        fm_store_event(store, i, &event);
        n = (int)strlen(event.name);
        name = event.rows > 0 && n > name && n <= WIDEST ? n : name;
    }
    printf("\nevents\n");
    for (size_t i = 0; i < fm_store_events(store); i++) {
        char count[FIGURE], sum[FIGURE];
        struct fm_event_info event;

        fm_store_event(store, i, &event);
        if (event.rows == 0)
            continue;
        printf("%c %-*s %14s %-8s %12s", event.is_default ? '*' : ' ', name, event.name,
               figure_count(count, event.kind == FM_KIND_SAMPLE ? event.samples : event.rows),
               event.kind == FM_KIND_SAMPLE ? "samples" : fm_kind_text(event.kind),
               figure_unit(sum, event_weight(&event), event.unit));
        if (strcmp(event.name, event.metric) != 0)
            printf("  %s", event.metric);
        putchar('\n');
    }
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void print_threads(const struct fm_store *store)
{
    size_t n = fm_store_threads(store), sampled = 0, processes = 0;
    int64_t *pid = must(calloc(n ? n : 1, sizeof(*pid)));

    for (size_t i = 0; i < n; i++) {
        struct fm_thread_info thread;

        fm_store_thread(store, i, &thread);
        pid[i] = thread.pid;
        sampled += thread.samples > 0;
    }
    qsort(pid, n, sizeof(*pid), by_number);
    for (size_t i = 0; i < n; i++)
        processes += pid[i] >= 0 && (i == 0 || pid[i] != pid[i - 1]);
    free(pid);
    if (n > 0)
        printf("\nthreads %zu, with samples %zu; processes %zu\n", n, sampled, processes);
}

static void print_modules(const struct fm_store *store)
{
    u128 samples = 0;
    size_t bad = 0;

    for (size_t i = 0; i < fm_store_modules(store); i++) {
        struct fm_module_info module;

        fm_store_module(store, i, &module);
        bad += module.unresolved > 0;
        samples += module.unresolved_samples;
    }
    if (bad > 0) {
        char count[FIGURE];

        printf("\nunresolved addresses in %zu of %zu modules, leaf of %s samples: see foldmill "
               "info\n", bad, fm_store_modules(store), figure_count(count, samples));
    }
}

/* ----------------------------------------------------------------- answers */

static char *cell_text(struct fm_result *result, size_t row, size_t col)
{
    if (col == fm_result_columns(result, 0))
        return join("", "", "");
    return join(fm_result_cell(result, 0, row, col), "", "");
}

/* Shares of kernel, user ... code by the kind of the leaf. */
static void print_kinds(struct fm_result *result, const struct chosen *chosen)
{
    size_t kind = answer_column(result, "kind"), self = answer_column(result, "self");
    char a[FIGURE], b[FIGURE];

    printf("\nchosen: %s samples, %s%s\n", figure_count(a, chosen->samples),
           figure_unit(b, chosen->weight, chosen->unit), chosen->of);
    for (size_t i = 0; i < fm_result_rows(result, 0); i++) {
        u128 part = answer_number(result, i, self);
        char *name = cell_text(result, i, kind);

        printf("  %-10s %8s  %s\n", name[0] ? name : "no stack",
               figure_share(a, part, chosen->weight), figure_unit(b, part, chosen->unit));
        free(name);
    }
}

/* What `foldmill top` prints. */
static int print_top(struct cli *cli, struct fm_store *store)
{
    const struct target text = {.table = "text"};
    int code = EXIT_DONE;
    struct fm_query *query = top_query(cli, "function", false, &code);

    if (query)
        code = question_answer(cli, query, &store, 1, &text);
    fm_query_free(query);
    return code;
}

/* ----------------------------------------------------------------- command */

int cmd_summary(struct cli *cli)
{
    const struct words *in = &cli->options.operand;
    struct fm_store *store;
    struct fm_result *result;
    struct chosen chosen;
    int code;

    if (in->n == 0)
        return say_usage(cli, "no input: name a file, or '-' for standard input");
    code = load(cli, in->word, in->n, "", &store);
    if (!store)
        return code;
    /* Asked first: a choice of samples that is an error prints no half summary. */
    result = answer_kinds(cli, store, &chosen, &code);
    if (result) {
        for (size_t s = 0; s < fm_store_sources(store); s++)
            print_source(store, s);
        print_events(store);
        print_threads(store);
        print_modules(store);
        print_kinds(result, &chosen);
        fm_result_free(result);
        putchar('\n');
        code = exit_worse(code, print_top(cli, store));
    }
    fm_store_free(store);
    return code;
}
