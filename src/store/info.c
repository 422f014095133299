/*
 * info.c - what a store holds, for the public interface: sources, events, threads, modules and the
 * account; and the fixed names of enums.
 */
#include "store/inside.h"
#include "store/select.h"

#include "util/error.h"

static const char *const kinds[] = {
    [FM_KIND_SAMPLE] = "sample",   [FM_KIND_SPAN] = "span",       [FM_KIND_ASYNC] = "async",
    [FM_KIND_COUNTER] = "counter", [FM_KIND_INSTANT] = "instant", [FM_KIND_STATE] = "state",
    [FM_KIND_PART] = "part",
};
static const char *const types[] = {
    [FM_TYPE_BOOL] = "bool",     [FM_TYPE_I64] = "i64",       [FM_TYPE_U64] = "u64",
    [FM_TYPE_F64] = "f64",       [FM_TYPE_STRING] = "string", [FM_TYPE_TIME] = "time",
    [FM_TYPE_DUR] = "dur",       [FM_TYPE_BYTES] = "bytes",   [FM_TYPE_ADDRESS] = "address",
    [FM_TYPE_STACK] = "stack",   [FM_TYPE_THREAD] = "thread",
};
static const char *const clocks[] = {
    [FM_CLOCK_UNKNOWN] = "unknown", [FM_CLOCK_MONOTONIC] = "monotonic",
    [FM_CLOCK_MONOTONIC_RAW] = "monotonic_raw", [FM_CLOCK_REALTIME] = "realtime",
    [FM_CLOCK_BOOT] = "boot",       [FM_CLOCK_JFR] = "jfr",
    [FM_CLOCK_GPU] = "gpu",         [FM_CLOCK_NONE] = "none",
    [FM_CLOCK_PERF] = "perf",
};
static const char *const link_kinds[] = {
    [FM_LINK_LAUNCH] = "launch", [FM_LINK_WAKER] = "waker", [FM_LINK_FLOW] = "flow",
    [FM_LINK_PARENT] = "parent",
};
static const char *const frame_kinds[] = {
    [FM_FRAME_UNKNOWN] = "unknown",   [FM_FRAME_KERNEL] = "kernel",
    [FM_FRAME_USER] = "user",         [FM_FRAME_JIT] = "jit",
    [FM_FRAME_INTERPRETED] = "interpreted", [FM_FRAME_INLINED] = "inlined",
    [FM_FRAME_PYTHON] = "python",     [FM_FRAME_JS] = "js",
    [FM_FRAME_GUEST] = "guest",       [FM_FRAME_GUEST_KERNEL] = "guest-kernel",
    [FM_FRAME_HYPERVISOR] = "hypervisor", [FM_FRAME_GPU_KERNEL] = "gpu-kernel",
    [FM_FRAME_GPU_SOURCE] = "gpu-source", [FM_FRAME_GPU_INSTRUCTION] = "gpu-instruction",
    [FM_FRAME_SYNTHETIC] = "synthetic", [FM_FRAME_C1] = "c1",
};
static const char *const module_kinds[] = {
    [FM_MODULE_UNKNOWN] = "unknown", [FM_MODULE_USER] = "user",
    [FM_MODULE_KERNEL] = "kernel",   [FM_MODULE_KMODULE] = "module",
    [FM_MODULE_GUEST_KERNEL] = "guest-kernel", [FM_MODULE_VDSO] = "vdso",
    [FM_MODULE_JIT] = "jit",         [FM_MODULE_BPF] = "bpf",
    [FM_MODULE_NAMED] = "named",
};

#define NAME_OF(table, i) ((size_t)(i) < FM_COUNT(table) ? table[i] : "unknown")

const char *fm_kind_text(enum fm_kind kind)
{
    return NAME_OF(kinds, kind);
}

const char *fm_type_text(enum fm_type type)
{
    return NAME_OF(types, type);
}

const char *fm_clock_text(enum fm_clock clock)
{
    return NAME_OF(clocks, clock);
}

const char *fm_frame_kind_text(enum fm_frame_kind kind)
{
    return NAME_OF(frame_kinds, kind);
}

const char *fm_link_kind_text(enum fm_link_kind kind)
{
    return NAME_OF(link_kinds, kind);
}

const char *fm_module_kind_text(enum fm_module_kind kind)
{
    return NAME_OF(module_kinds, kind);
}

bool fm_type_find(const char *s, enum fm_type *type)
{
    for (size_t i = 0; i < FM_COUNT(types); i++) {
        if (strcmp(types[i], s) == 0) {
            *type = (enum fm_type)i;
            return true;
        }
    }
    return false;
}

bool fm_link_kind_find(const char *s, enum fm_link_kind *kind)
{
    for (size_t i = 0; i < FM_COUNT(link_kinds); i++) {
        if (strcmp(link_kinds[i], s) == 0) {
            *kind = (enum fm_link_kind)i;
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------- what a store holds */

static const char *text(const struct fm_store *store, fm_str id)
{
    return fm_store_str(store, id, NULL);
}

size_t fm_store_sources(const struct fm_store *store)
{
    return store->t.sources;
}

void fm_store_source(const struct fm_store *store, size_t i, struct fm_source_info *out)
{
    const struct fm_source *s = fm_store_source_row(store, i);

    *out = (struct fm_source_info){
        .name = text(store, s->name),
        .format = text(store, s->format),
        .bytes = s->bytes,
        .clock = fm_clock_text(s->clock),
        .has_time = s->has_time,
        .first = s->first,
        .last = s->last,
        .has_wall = s->has_wall,
        .wall = s->wall,
        .wall_at = s->wall_at,
        .samples_in = s->samples_in,
        .samples_kept = s->samples_kept,
    };
}

bool fm_store_provenance(const struct fm_store *store, size_t i, size_t k, const char **key,
                         const char **value)
{
    const struct fm_source *s;

    if (i >= store->t.sources || k >= store->t.source[i].provenances)
        return false;
    s = &store->t.source[i];
    *key = text(store, s->provenance[k].key);
    *value = text(store, s->provenance[k].value);
    return true;
}

size_t fm_store_events(const struct fm_store *store)
{
    return store->t.events;
}

void fm_store_event(const struct fm_store *store, size_t i, struct fm_event_info *out)
{
    const struct fm_event *e = fm_store_event_row(store, i);

    *out = (struct fm_event_info){
        .name = text(store, e->name),
        .metric = text(store, e->metric),
        .unit = text(store, e->unit),
        .kind = e->kind,
        .rows = e->rows,
        .samples = e->samples,
        .weight_hi = (uint64_t)(e->weight >> 64),
        .weight_lo = (uint64_t)e->weight,
        .stacks = e->stacks,
        .period = e->period,
        .is_default = fm_store_event_default(store, fm_store_event_auto(store), i),
    };
}

size_t fm_store_deriveds(const struct fm_store *store)
{
    return store->t.deriveds;
}

enum fm_status fm_store_derived(struct fm_store *store, size_t i, struct fm_derived_info *out,
                                struct fm_error *err)
{
    struct fm_select_options options = FM_INIT(options);
    const struct fm_derived_event *d;
    struct fm_selection sel;
    enum fm_status status;

    fm_assert(i < store->t.deriveds);
    d = &store->t.derived[i];
    *out = (struct fm_derived_info){.name = text(store, d->name), .event = text(store, d->event),
                                    .unless = text(store, d->unless), .key = text(store, d->key),
                                    .unit = ""};
    if (!fm_event_known(store, out->event))
        return fm_error_set(err, FM_UNKNOWN, "no event '%s'", out->event);
    options.event = out->name;
    status = fm_selection_init(&sel, store, &options, err);
    if (status != FM_OK)
        return status;
    out->starts = sel.pairing.starts;
    out->ended = sel.pairing.ended;
    out->reused = sel.pairing.reused;
    out->open = sel.pairing.open;
    out->ends = sel.pairing.ends;
    out->ends_alone = sel.pairing.ends_alone;
    out->weight_hi = (uint64_t)(sel.weight >> 64);
    out->weight_lo = (uint64_t)sel.weight;
    out->unit = text(store, sel.unit);
    fm_selection_release(&sel);
    return FM_OK;
}

size_t fm_store_threads(const struct fm_store *store)
{
    return store->t.threads;
}

void fm_store_thread(const struct fm_store *store, size_t i, struct fm_thread_info *out)
{
    const struct fm_thread_row *t = fm_store_thread_row(store, (fm_thread)i);

    *out = (struct fm_thread_info){
        .pid = t->pid,
        .tid = t->tid,
        .name = text(store, fm_store_thread_name(store, (fm_thread)i, false, 0)),
        .process = text(store, t->process),
        .samples = t->samples,
        .id = text(store, t->text_id),
    };
}

/* --------------------------------------------------------------- modules */

/* Adds the COUNT of sample rows of one block to their leaf frames. */
static void count_leaves(const struct fm_store *store, size_t segment, uint32_t block,
                         uint64_t *leaf)
{
    uint64_t stack[FM_BLOCK_ROWS], count[FM_BLOCK_ROWS], event[FM_BLOCK_ROWS];
    uint64_t valid[FM_BLOCK_WORDS], ignore[FM_BLOCK_WORDS];
    bool all;
    uint32_t rows = fm_store_block(store, segment, block, FM_COL_STACK, stack, valid, &all);

    fm_store_block(store, segment, block, FM_COL_COUNT, count, ignore, &all);
    fm_store_block(store, segment, block, FM_COL_EVENT, event, ignore, &all);
    for (uint32_t i = 0; i < rows; i++) {
        fm_frame f;
        if (((valid[i >> 6] >> (i & 63)) & 1) == 0 ||
            store->t.event[event[i]].kind != FM_KIND_SAMPLE)
            continue;
        f = store->tree[store->append[stack[i]]].frame;
        if (f < store->t.frames)
            leaf[f] = fm_add_sat_u64(leaf[f], count[i]);
    }
}

/* Samples by leaf frame, made on first use: several readers may race, one result stays. NULL = no
 * memory. */
static const uint64_t *leaf_samples(const struct fm_store *store)
{
    uint64_t *leaf = atomic_load(&store->lazy->leaf), *none = NULL;
    size_t bytes = store->t.frames * sizeof *leaf, segments = store->segments;

    if (leaf != NULL)
        return leaf;
    leaf = fm_mem_zalloc(store->mem, bytes);
    if (leaf == NULL)
        return NULL;
    for (size_t s = 0; s < segments; s++) {
        for (uint32_t k = 0; k * FM_BLOCK_ROWS < store->segment[s].rows; k++)
            count_leaves(store, s, k, leaf);
    }
    if (!atomic_compare_exchange_strong(&store->lazy->leaf, &none, leaf)) {
        fm_mem_free(store->mem, leaf, bytes);
        leaf = none;
    }
    return leaf;
}

size_t fm_store_modules(const struct fm_store *store)
{
    return store->t.modules;
}

void fm_store_module(const struct fm_store *store, size_t i, struct fm_module_info *out)
{
    const struct fm_module_row *m = fm_store_module_row(store, (fm_module)i);
    const uint64_t *leaf = leaf_samples(store);

    *out = (struct fm_module_info){
        .path = text(store, m->path),
        .build_id = text(store, m->build_id),
        .kind = fm_module_kind_text(m->kind),
        .looked = text(store, m->looked),
    };
    for (size_t f = 0; f < store->t.frames; f++) {
        const struct fm_frame_row *row = &store->t.frame[f];
        if (row->module != i)
            continue;
        out->frames++;
        if (row->function != 0)
            continue;
        out->unresolved++;
        if (leaf != NULL)
            out->unresolved_samples = fm_add_sat_u64(out->unresolved_samples, leaf[f]);
    }
}

/* --------------------------------------------------------------- account */

static size_t findings(const struct fm_source *s)
{
    size_t n = 0;

    for (size_t k = 0; k < FM_DIAGS; k++)
        n += s->diags.row[k].count != 0;
    return n;
}

size_t fm_store_accounts(const struct fm_store *store)
{
    size_t n = 0;

    for (size_t i = 0; i < store->t.sources; i++)
        n += store->t.source[i].accounts + findings(&store->t.source[i]);
    return n;
}

static void account_row(const struct fm_store *store, const struct fm_account_row *row,
                        struct fm_account_info *out)
{
    out->kind = row->kind;
    out->key = text(store, row->key);
    out->count = row->count;
    out->first_offset = row->first_offset;
    out->severity = FM_NOTE;
    out->text = row->kind == FM_ACCOUNT_RECORDS ? "records read"
                                                : "events that no mapping rule takes";
    if (row->kind != FM_ACCOUNT_DROPPED)
        return;
    for (size_t k = 0; k < FM_DIAGS; k++) {
        if (strcmp(fm_diag_name((enum fm_diag)k), out->key) == 0) {
            out->severity = fm_diag_severity((enum fm_diag)k);
            out->text = fm_diag_text((enum fm_diag)k);
        }
    }
}

/* Account rows of a source come first, in the order they were met; then its findings. */
void fm_store_account(const struct fm_store *store, size_t i, struct fm_account_info *out)
{
    size_t source = 0;
    const struct fm_source *s;

    fm_assert(i < fm_store_accounts(store));
    memset(out, 0, sizeof *out);
    for (;; source++) {
        size_t n;
        s = &store->t.source[source];
        n = s->accounts + findings(s);
        if (i < n)
            break;
        i -= n;
    }
    out->source = (uint32_t)source;
    if (i < s->accounts) {
        account_row(store, &s->account[i], out);
        return;
    }
    i -= s->accounts;
    for (size_t k = 0; k < FM_DIAGS; k++) {
        if (s->diags.row[k].count == 0 || i-- != 0)
            continue;
        out->kind = FM_ACCOUNT_FINDING;
        out->key = fm_diag_name((enum fm_diag)k);
        out->severity = fm_diag_severity((enum fm_diag)k);
        out->text = fm_diag_text((enum fm_diag)k);
        out->count = s->diags.row[k].count;
        out->first_offset = s->diags.row[k].first_offset;
        return;
    }
}

const char *fm_store_column(const struct fm_store *store, size_t i)
{
    if (i >= fm_store_columns(store))
        return NULL;
    return fm_store_str(store, fm_store_column_info(store, (fm_column)i)->name, NULL);
}

uint64_t fm_store_rows(const struct fm_store *store)
{
    return store->rows;
}

size_t fm_store_memory(const struct fm_store *store)
{
    const struct fm_tables *t = &store->t;
    size_t n = sizeof *store + sizeof *store->lazy + fm_strings_memory(&store->strings) +
               store->blocks.bytes + store->segment_cap * sizeof *store->segment +
               store->link_cap * sizeof *store->link +
               store->nodes * sizeof *store->tree + store->appends * sizeof *store->append;

    for (size_t i = 0; i < store->segments; i++)
        n += store->segment[i].col_cap * sizeof *store->segment[i].col;
    for (size_t i = 0; i < t->sources; i++)
        n += t->source[i].provenance_cap * sizeof *t->source[i].provenance +
             t->source[i].account_cap * sizeof *t->source[i].account;
    for (size_t i = 0; i < t->threads; i++)
        n += t->thread[i].name_cap * sizeof *t->thread[i].name;
    return n + t->column_cap * sizeof *t->column + t->event_cap * sizeof *t->event +
           t->alias_cap * sizeof *t->alias + t->derived_cap * sizeof *t->derived +
           t->source_cap * sizeof *t->source + t->thread_cap * sizeof *t->thread +
           t->module_cap * sizeof *t->module + t->frame_cap * sizeof *t->frame;
}
