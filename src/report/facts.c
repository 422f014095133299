/*
 * facts.c - what the table of files says of a store: where it comes from, how much it holds, and
 * what is missing.
 *
 *     samples = kept; samples in the file = samples + dropped
 *     weight    of the event that --event auto takes, in its unit
 *     lost      samples and records that the recorder lost: findings whose keys begin with "lost-"
 *     unresolved  the share of samples whose leaf has an address and no name
 *     losses    everything that is missing, as the account names it
 */
#include "report/lines.h"
#include "report/run.h"

const struct fm_report_column fm_report_fact[] = {
    {"status", FM_REPORT_TEXT, "", true},
    {"format", FM_REPORT_TEXT, "", true},
    {"host", FM_REPORT_TEXT, "", true},
    {"start", FM_REPORT_WALL, "", true},
    {"duration", FM_REPORT_NUMBER, "ns", true},
    {"clock", FM_REPORT_TEXT, "", true},
    {"event", FM_REPORT_TEXT, "", true},
    {"unit", FM_REPORT_TEXT, "", true},
    {"samples", FM_REPORT_NUMBER, "count", true},
    {"weight", FM_REPORT_NUMBER, "", true},
    {"dropped", FM_REPORT_NUMBER, "count", true},
    {"lost", FM_REPORT_NUMBER, "count", true},
    {"unresolved", FM_REPORT_SHARE, "", true},
    {"losses", FM_REPORT_TEXT, "", true},
    {"bytes", FM_REPORT_NUMBER, "bytes", true},
    {"offset", FM_REPORT_NUMBER, "bytes", true},
    {"error", FM_REPORT_TEXT, "", true},
};
const size_t fm_report_facts = FM_COUNT(fm_report_fact);

static void head(struct fm_out *out, const char *name)
{
    fm_line_put(out, true, "fact");
    fm_line_put(out, false, name);
    fm_out_char(out, '\t');
}

static void put_text(struct fm_out *out, const char *name, const char *value)
{
    head(out, name);
    fm_line_put(out, true, value);
    fm_out_char(out, '\n');
}

static void put_u64(struct fm_out *out, const char *name, uint64_t value)
{
    head(out, name);
    fm_out_u64(out, value);
    fm_out_char(out, '\n');
}

static void put_i64(struct fm_out *out, const char *name, int64_t value)
{
    head(out, name);
    fm_out_i64(out, value);
    fm_out_char(out, '\n');
}

static const char *provenance(const struct fm_store *store, const char *wanted)
{
    const char *key, *value;

    for (size_t s = 0; s < fm_store_sources(store); s++)
        for (size_t k = 0; fm_store_provenance(store, s, k, &key, &value); k++)
            if (strcmp(key, wanted) == 0)
                return value;
    return NULL;
}

/* Start and duration of the first source, which is the only one of one file. */
static void put_times(const struct fm_store *store, struct fm_out *out)
{
    struct fm_source_info source;
    int64_t since, start;

    if (fm_store_sources(store) == 0)
        return;
    fm_store_source(store, 0, &source);
    put_text(out, "format", source.format);
    put_text(out, "clock", source.clock);
    if (!source.has_time)
        return;
    put_u64(out, "duration", (uint64_t)source.last - (uint64_t)source.first);
    if (source.has_wall && !__builtin_sub_overflow(source.first, source.wall_at, &since)
        && fm_add_i64(source.wall, since, &start))
        put_i64(out, "start", start);
}

static void put_event(const struct fm_store *store, struct fm_out *out)
{
    struct fm_event_info event, first = {0};
    fm_u128 weight = 0;
    bool one = true, any = false;

    for (size_t i = 0; i < fm_store_events(store); i++) {
        fm_store_event(store, i, &event);
        if (!event.is_default)
            continue;
        if (any)
            one = one && strcmp(event.unit, first.unit) == 0;
        else
            first = event;
        any = true;
        weight += (fm_u128)event.weight_hi << 64 | event.weight_lo;
    }
    if (!any)
        return;
    put_text(out, "event", first.metric[0] != '\0' ? first.metric : first.name);
    if (!one)
        return;
    put_text(out, "unit", first.unit);
    head(out, "weight");
    fm_out_u128(out, weight);
    fm_out_char(out, '\n');
}

/* Whether bytes could not be read as the format demands. */
static bool put_findings(const struct fm_store *store, struct fm_out *out)
{
    uint64_t lost = 0;
    bool damaged = false, any = false;

    for (size_t i = 0; i < fm_store_accounts(store); i++) {
        struct fm_account_info row;

        fm_store_account(store, i, &row);
        if (row.kind != FM_ACCOUNT_FINDING)
            continue;
        damaged |= row.severity == FM_DAMAGE;
        if (strncmp(row.key, "lost-", 5) == 0)
            lost = fm_add_sat_u64(lost, row.count);
        if (row.severity == FM_NOTE)
            continue;
        if (!any)
            head(out, "losses");
        fm_out_text(out, any ? "; " : "");
        fm_out_tsv(out, row.text, strlen(row.text));
        fm_out_printf(out, " (%llu)", (unsigned long long)row.count);
        any = true;
    }
    if (any)
        fm_out_char(out, '\n');
    put_u64(out, "lost", lost);
    return damaged;
}

static void put_samples(const struct fm_store *store, struct fm_out *out)
{
    uint64_t in = 0, kept = 0, unresolved = 0, bytes = 0;

    for (size_t s = 0; s < fm_store_sources(store); s++) {
        struct fm_source_info source;

        fm_store_source(store, s, &source);
        in += source.samples_in;
        kept += source.samples_kept;
        bytes += source.bytes;
    }
    for (size_t i = 0; i < fm_store_modules(store); i++) {
        struct fm_module_info module;

        fm_store_module(store, i, &module);
        unresolved += module.unresolved_samples;
    }
    put_u64(out, "samples", kept);
    put_u64(out, "dropped", in - kept);
    put_u64(out, "bytes", bytes);
    if (kept == 0)
        return;
    head(out, "unresolved");
    fm_out_f64(out, (double)unresolved / (double)kept);
    fm_out_char(out, '\n');
}

void fm_report_facts_write(const struct fm_store *store, enum fm_status status,
                           struct fm_out *out)
{
    bool damaged;

    put_times(store, out);
    put_text(out, "host", provenance(store, "host"));
    put_event(store, out);
    put_samples(store, out);
    damaged = put_findings(store, out);
    put_text(out, "status", damaged || status != FM_OK ? "damaged" : "ok");
}
