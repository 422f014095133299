/*
 * fuzz_generic.c - any bytes as an input of the generic containers: text, csv, json, jsonl and
 * records, each by a small format file. The store must verify, and damage must have a reason.
 */
#include "import/text/generic.h"

#include "util/error.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
extern const char fuzz_name[];
const char fuzz_name[] = "generic";

#define HEAD "foldmill-format: 1\nname: f\nabout: f\n"

static const char *const formats[] = {
    HEAD "container: text\nlines:\n"
         "  - {match: '^cpu (?<cpu>\\d+)$', do: set}\n"
         "  - {match: '^(?<comm>\\S+) (?<pid>\\d+) (?<time>[\\d.]+):$', do: start}\n"
         "  - {match: '^\\s+(?<address>[0-9a-f]+) (?<function>.+) \\((?<module>.*)\\)$', "
         "do: frame}\n"
         "  - {match: '^end (?<period>.*)', do: end}\n"
         "  - {match: '^took (?<wait>.*)', do: record}\n"
         "fields: {time: {type: time, unit: s}, wait: {type: dur, unit: ms}, period: {type: u64},\n"
         "  pid: {type: i64}, cpu: {type: i64}}\n"
         "detect: [{line: 1..3, regex: '^cpu', bits: 20}]\n"
         "classes: [{match: '*', event: e, weight: 'coalesce(period, 1)', time: time, comm: comm,\n"
         "  stack: stack, cpu: cpu, dur: wait, thread: {pid: pid, name: comm}}]\n",
    HEAD "container: csv\nheader: search\nfrom: right\nothers: f64\n"
         "columns: [k, {name: ip, type: address, hex: true}, {name: n, type: u64, scale: 2}]\n"
         "classes: [{match: '*', event: e, each: [n, other], weight: $value,\n"
         "  stack: {frames: [k, hex(ip)]}, labels: {key: $key}}]\n"
         "detect: [{line: 1..5, header: [k, ip], bits: 9}]\n",
    HEAD "container: csv\nseparator: [',', blanks]\ngroups: '^ +[A-Z]'\nheader: search\n"
         "others: f64\ncolumns: [{name: a, header: [a, A a]}, {name: t, type: time, unit: clock},\n"
         "  {name: w, type: u64, wraps: 8}]\n"
         "classes: [{match: '*', event: e, weight: w, time: t, labels: {a: a}}]\n",
    HEAD "container: csv\nfrom: right\nunmatched: skip\nothers: {class: o}\nmissing: x\n"
         "tables: [{class: p, header: [k, n]}, {class: q, header: [q]}]\n"
         "columns: [k, {name: n, type: time, unit: us, wraps: 16}]\n"
         "lines: [{match: '^== (?<s>.*)', do: set}]\n"
         "classes: [{match: o, event: '${column}', unit: '${unit}', kind: counter, time: n,\n"
         "  value: value, labels: {k: {type: string, from: \"before(after(k, '['), ']')\"}}},\n"
         "  {match: '*', event: $class, labels: {s: s}}]\n",
    HEAD "container: text\nunmatched: skip\nlines:\n"
         "  - {match: '^\\+(?<range>\\w*)', do: open}\n"
         "  - {match: '^-(?<range>\\w*)', do: close}\n"
         "  - {match: '^0', do: drop}\n"
         "  - {match: '^at (?<at>\\d+)', do: field}\n"
         "fields: {at: {type: time, unit: ns}}\n"
         "classes: [{match: '*', event: e, kind: span, time: start, dur: end - start,\n"
         "  weight: self, stack: stack}]\n",
    HEAD "container: json\nrows: a.rows\nclass: {field: ph}\n"
         "fields: {ph: {}, ts: {type: time, unit: us}, n: {path: args.n, type: i64}}\n"
         "classes: [{match: '*', event: $class, time: ts, labels: {n: n}}]\n",
    HEAD "container: json\nframing: objects\nstrings: raw\n"
         "members: [{path: 'e.*', class: e}, {path: 'g*', class: g}, {path: 'c.*.p.*', class: c}]\n"
         "fields: {t: {type: time, sum: d}, d: {type: dur, unit: ms}, e: {key: 'e.*'},\n"
         "  n: {path: 'e.*.n', type: u64}, g: {path: 'g*', type: u64}, who: {path: 'c.*.who'},\n"
         "  c: {key: 'c.*.p.*'}}\n"
         "classes: [{match: '*', event: $class, time: t, weight: 'coalesce(n, g, 1)',\n"
         "  labels: {e: e, who: who, c: c}}]\n",
    HEAD "container: jsonl\nfields: {stack: {}, n: {type: u64}}\n"
         "classes: [{match: '*', event: e, stack: {split: stack}, weight: n, count: n}]\n",
    HEAD "container: records\nsize: 9\nhead: 1\nlayouts:\n"
         "  - {name: x, when: tag == 5, fields: {tag: {at_bit: 3, bits: 8}, v: {at_bit: 11,\n"
         "     bits: 60, signed: true, type: i64, scale: 3}}}\n"
         "  - {name: z, zero: [{at_bit: 1, bits: 70}], fields: {tag: {at_bit: 0, bits: 8}}}\n"
         "detect: [{records: 8, bits: 9}]\n"
         "classes: [{match: '*', event: $class, labels: {v: v, tag: tag}}]\n",
};

static void demand(bool ok)
{
    if (!ok)
        abort();
}

static void read_as(struct fm_ctx *ctx, const char *format, const uint8_t *data, size_t n)
{
    const struct fm_import_options options = {.size = sizeof options};
    struct fm_import import = {.ctx = ctx, .options = &options};
    struct fm_arena arena;
    struct fm_yaml_log log;
    struct fm_mapping *m;
    struct fm_store *store;
    struct fm_error err = {0};
    fm_arena_init(&arena, &ctx->mem);
    fm_yaml_log_init(&log, &arena);
    demand(fm_mapping_load_text(ctx, "f", format, strlen(format), &m, &log, NULL) == FM_OK);
    import.mapping = m;
    fm_generic_probe(fm_mapping_spec(m), data, n, true);
    demand(fm_builder_new(ctx, &import.builder, NULL) == FM_OK);
    fm_builder_source(import.builder, "in", "f");
    demand(fm_input_open_memory(ctx, data, n, "in", &import.input, NULL) == FM_OK);
    enum fm_status status = fm_generic_import(&import, &err);
    demand((status == FM_OK) == (err.status == FM_OK));
    fm_input_free(import.input);
    demand(fm_builder_seal(import.builder, NULL, &store, NULL) == FM_OK);
    demand(fm_store_verify(store, NULL) == FM_OK);
    fm_store_free(store);
    fm_mapping_free(m);
    fm_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fm_ctx *ctx = fm_ctx_new();
    demand(ctx != NULL);
    for (size_t i = 0; i < FM_COUNT(formats); i++)
        read_as(ctx, formats[i], data, n);
    demand(atomic_load(&ctx->mem.used) == 0);
    fm_ctx_free(ctx);
    return 0;
}
