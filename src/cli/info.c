/*
 * info.c - foldmill info FILE: everything the store knows about where its samples come from.
 *
 * Per source: provenance as the file tells it, clock, and the account: samples in = kept + dropped
 * by reason, records by class, classes that no rule of the mapping takes, findings with their first
 * byte offset. Then events, threads, and the modules with addresses that got no name: build-id, and
 * where symbols were sought.
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <string.h>

static void print_source(const struct fm_store *store, size_t s)
{
    char a[FIGURE];
    struct fm_source_info source;
    const char *key, *value;

    fm_store_source(store, s, &source);
    printf("%ssource %s\n", s > 0 ? "\n" : "", source.name);
    printf("  %-14s %s\n", "format", source.format);
    printf("  %-14s %" PRIu64 "\n", "bytes", source.bytes);
    printf("  %-14s %s\n", "clock", source.clock);
    if (source.has_time) {
        printf("  %-14s %s\n", "first", figure_time(a, source.first));
        printf("  %-14s %s\n", "last", figure_time(a, source.last));
        printf("  %-14s %s\n", "duration",
               figure_time(a, (int64_t)((uint64_t)source.last - (uint64_t)source.first)));
    }
    if (source.has_wall) {
        printf("  %-14s %s", "wall clock", figure_wall(a, source.wall));
        printf(" at %s\n", figure_time(a, source.wall_at));
    }
    for (size_t k = 0; fm_store_provenance(store, s, k, &key, &value); k++)
        printf("  %-14s %s\n", key, value);
}

static const char *severity_text(enum fm_severity severity)
{
    static const char *const text[] = {"note", "loss", "damage"};

    return text[severity];
}

static void print_row(const struct fm_account_info *row)
{
    char a[FIGURE];

    printf("  %12s  ", figure_count(a, row->count));
    if (row->kind == FM_ACCOUNT_FINDING)
        printf("%s: %s [%s]", severity_text(row->severity), row->text, row->key);
    else if (row->kind == FM_ACCOUNT_DROPPED)
        printf("%s [%s]", row->text, row->key);
    else
        fputs(row->key, stdout);
    if (row->first_offset != FM_NO_OFFSET)
        printf(", first at offset %" PRIu64, row->first_offset);
    putchar('\n');
}

/* The rows of one kind under a title; nothing when there are none. */
static void print_rows(const struct fm_store *store, size_t s, enum fm_account_kind kind,
                       const char *title)
{
    bool any = false;

    for (size_t i = 0; i < fm_store_accounts(store); i++) {
        struct fm_account_info row;

        fm_store_account(store, i, &row);
        if (row.source != s || row.kind != kind)
            continue;
        if (!any)
            printf("%s\n", title);
        any = true;
        print_row(&row);
    }
}

static void print_account(const struct fm_store *store, size_t s)
{
    char in[FIGURE], kept[FIGURE], dropped[FIGURE];
    struct fm_source_info source;

    fm_store_source(store, s, &source);
    printf("account of %s: samples in %s = kept %s + dropped %s\n", source.name,
           figure_count(in, source.samples_in), figure_count(kept, source.samples_kept),
           figure_count(dropped, source.samples_in - source.samples_kept));
    print_rows(store, s, FM_ACCOUNT_DROPPED, " dropped, by reason");
    print_rows(store, s, FM_ACCOUNT_FINDING, " findings");
    print_rows(store, s, FM_ACCOUNT_RECORDS, " records, by class");
    print_rows(store, s, FM_ACCOUNT_NOT_MAPPED, " classes not mapped");
}

static void print_events(const struct fm_store *store)
{
    int name = 24, metric = 0;

    for (size_t i = 0; i < fm_store_events(store); i++) {
        struct fm_event_info event;
        int n, m;

        fm_store_event(store, i, &event);
        n = (int)strlen(event.name);
        m = (int)strlen(event.metric) + 1;
        name = n > name && n <= WIDEST ? n : name;
        if (strcmp(event.name, event.metric) != 0)
            metric = m > metric && m <= WIDEST ? m : metric > 8 ? metric : 8;
    }
    printf("\nevents\n  %-*s %-*s%-8s %-10s %14s %14s %14s  %s\n", name, "name", metric,
           metric > 0 ? "metric" : "", "kind", "unit", "rows", "samples", "with stack", "weight");
    for (size_t i = 0; i < fm_store_events(store); i++) {
        char rows[FIGURE], samples[FIGURE], stacks[FIGURE], weight[FIGURE];
        struct fm_event_info event;

        fm_store_event(store, i, &event);
        printf("%c %-*s %-*s%-8s %-10s %14s %14s %14s  %s", event.is_default ? '*' : ' ', name,
               event.name, metric,
               metric > 0 && strcmp(event.name, event.metric) != 0 ? event.metric : "",
               fm_kind_text(event.kind), event.unit, figure_count(rows, event.rows),
               figure_count(samples, event.samples), figure_count(stacks, event.stacks),
               figure_count(weight, (u128)event.weight_hi << 64 | event.weight_lo));
        if (event.period > 0)
            printf("  (period or frequency %" PRIu64 ")", event.period);
        putchar('\n');
    }
}

/* Events that are worked out when they are chosen. */
static int print_deriveds(struct fm_store *store)
{
    int code = 0;

    for (size_t i = 0; i < fm_store_deriveds(store); i++) {
        char a[FIGURE], b[FIGURE], c[FIGURE], d[FIGURE], e[FIGURE];
        struct fm_derived_info info;
        struct fm_error err = {0};
        enum fm_status status = fm_store_derived(store, i, &info, &err);

        if (status == FM_UNKNOWN)
            continue;
        if (status != FM_OK) {
            code = say_error(&err);
            continue;
        }
        printf("\n%s: %s of %s %s rows, %s\n", info.name, figure_count(a, info.open),
               figure_count(b, info.starts), info.event,
               figure_unit(c, (u128)info.weight_hi << 64 | info.weight_lo, info.unit));
        printf("  %s with a later %s of the same %s\n  %s whose %s was taken again\n",
               figure_count(d, info.ended), info.unless, info.key, figure_count(e, info.reused),
               info.key);
        printf("  %s of %s %s rows belong to none\n", figure_count(a, info.ends_alone),
               figure_count(b, info.ends), info.unless);
    }
    return code;
}

static void print_threads(const struct fm_store *store)
{
    if (fm_store_threads(store) > 0)
        printf("\nthreads\n  %10s %10s %14s  %s\n", "pid", "tid", "samples", "name (process)");
    for (size_t i = 0; i < fm_store_threads(store); i++) {
        char samples[FIGURE];
        struct fm_thread_info thread;

        fm_store_thread(store, i, &thread);
        figure_count(samples, thread.samples);
        if (thread.id[0])
            printf("  %21s %14s  %s", thread.id, samples, thread.name);
        else
            printf("  %10" PRId64 " %10" PRId64 " %14s  %s", thread.pid, thread.tid, samples,
                   thread.name);
        if (thread.process && thread.process[0] && strcmp(thread.process, thread.name) != 0)
            printf(" (%s)", thread.process);
        putchar('\n');
    }
}

/* Where symbols were sought: one place a line in `looked`. */
static void print_looked(const char *looked)
{
    while (looked && *looked) {
        size_t n = strcspn(looked, "\n");

        if (n > 0)
            printf("      looked at %.*s\n", (int)n, looked);
        looked += n;
        looked += *looked == '\n';
    }
}

static void print_modules(const struct fm_store *store)
{
    size_t n = fm_store_modules(store), named = 0;

    printf("\nmodules with unresolved addresses\n");
    for (size_t i = 0; i < n; i++) {
        char a[FIGURE], b[FIGURE];
        struct fm_module_info module;

        fm_store_module(store, i, &module);
        if (module.unresolved == 0) {
            named++;
            continue;
        }
        printf("  %s (%s", module.path, module.kind);
        if (module.build_id[0])
            printf(", build-id %s", module.build_id);
        printf("): %s of", figure_count(a, module.unresolved));
        printf(" %s addresses, leaf of %s samples\n", figure_count(a, module.frames),
               figure_count(b, module.unresolved_samples));
        print_looked(module.looked);
    }
    printf("  %zu of %zu modules have none\n", named, n);
}

/* What the options that choose samples leave, when there are any. */
static void print_chosen(struct cli *cli, struct fm_store *store, int *code)
{
    const struct fm_select_options *select = &cli->options.select;
    char a[FIGURE], b[FIGURE];
    struct chosen chosen;
    struct fm_result *result;

    if (!select->event && !select->weight && select->filters == 0)
        return;
    result = answer_kinds(cli, store, &chosen, code);
    if (!result)
        return;
    printf("\nchosen: %s samples, %s%s\n", figure_count(a, chosen.samples),
           figure_unit(b, chosen.weight, chosen.unit), chosen.of);
    fm_result_free(result);
}

int cmd_info(struct cli *cli)
{
    const struct words *in = &cli->options.operand;
    struct fm_store *store;
    int code, derived;

    if (in->n == 0)
        return say_usage(cli, "no input: name a file, or '-' for standard input");
    code = load(cli, in->word, in->n, "", &store);
    if (!store)
        return code;
    for (size_t s = 0; s < fm_store_sources(store); s++) {
        print_source(store, s);
        print_account(store, s);
    }
    print_events(store);
    derived = print_deriveds(store);
    print_threads(store);
    print_modules(store);
    print_chosen(cli, store, &code);
    fm_store_free(store);
    return code != 0 ? code : derived;
}
