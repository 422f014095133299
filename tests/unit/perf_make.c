/*
 * perf_make.c - perf.data for tests: see perf_make.h.
 */
#include "perf_make.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void make_free(struct make *m)
{
    free(m->p);
    memset(m, 0, sizeof *m);
}

void make_bytes(struct make *m, const void *p, size_t n)
{
    if (m->n + n > m->cap) {
        m->cap = (m->n + n) * 2;
        m->p = realloc(m->p, m->cap);
        ck_assert_ptr_nonnull(m->p);
    }
    if (n > 0)
        memcpy(m->p + m->n, p, n);
    m->n += n;
}

static void number(struct make *m, uint64_t v, unsigned n)
{
    unsigned char b[8];
    for (unsigned i = 0; i < n; i++)
        b[m->big ? n - 1 - i : i] = (unsigned char)(v >> 8 * i);
    make_bytes(m, b, n);
}

void make_u8(struct make *m, uint8_t v)
{
    number(m, v, 1);
}

void make_u16(struct make *m, uint16_t v)
{
    number(m, v, 2);
}

void make_u32(struct make *m, uint32_t v)
{
    number(m, v, 4);
}

void make_u64(struct make *m, uint64_t v)
{
    number(m, v, 8);
}

void make_text(struct make *m, const char *s)
{
    static const char zero[8];
    size_t n = strlen(s) + 1;
    make_bytes(m, s, n);
    make_bytes(m, zero, (8 - n % 8) % 8);
}

void make_patch_u16(struct make *m, size_t at, uint16_t v)
{
    m->p[at] = (unsigned char)(m->big ? v >> 8 : v);
    m->p[at + 1] = (unsigned char)(m->big ? v : v >> 8);
}

size_t make_begin(struct make *m, uint32_t type, uint16_t misc)
{
    size_t begin = m->n;
    make_u32(m, type);
    make_u16(m, misc);
    make_u16(m, 0);
    return begin;
}

void make_end(struct make *m, size_t begin)
{
    make_patch_u16(m, begin + 6, (uint16_t)(m->n - begin));
}

void make_trailer(struct make *m, uint32_t pid, uint32_t tid, uint64_t time)
{
    if ((m->sample_type & FM_PERF_TID) != 0) {
        make_u32(m, pid);
        make_u32(m, tid);
    }
    if ((m->sample_type & FM_PERF_TIME) != 0)
        make_u64(m, time);
    if ((m->sample_type & FM_PERF_ID) != 0)
        make_u64(m, m->id);
    if ((m->sample_type & FM_PERF_IDENTIFIER) != 0)
        make_u64(m, m->id);
}

void make_comm(struct make *m, uint32_t pid, uint32_t tid, const char *comm, bool exec,
               uint64_t time)
{
    size_t begin = make_begin(m, 3, exec ? 1 << 13 : 0);
    make_u32(m, pid);
    make_u32(m, tid);
    make_text(m, comm);
    make_trailer(m, pid, tid, time);
    make_end(m, begin);
}

void make_fork(struct make *m, uint32_t type, uint32_t pid, uint32_t ppid, uint32_t tid,
               uint32_t ptid, uint64_t time)
{
    size_t begin = make_begin(m, type, 0);
    make_u32(m, pid);
    make_u32(m, ppid);
    make_u32(m, tid);
    make_u32(m, ptid);
    make_u64(m, time);
    make_trailer(m, pid, tid, time);
    make_end(m, begin);
}

void make_mmap2(struct make *m, uint32_t pid, uint64_t start, uint64_t length, uint64_t offset,
                const char *file, uint64_t time)
{
    size_t begin = make_begin(m, 10, 2);
    make_u32(m, pid);
    make_u32(m, pid);
    make_u64(m, start);
    make_u64(m, length);
    make_u64(m, offset);
    make_u32(m, 8);
    make_u32(m, 1);
    make_u64(m, 1234);
    make_u64(m, 0);
    make_u32(m, 5);
    make_u32(m, 2);
    make_text(m, file);
    make_trailer(m, pid, pid, time);
    make_end(m, begin);
}

void make_sample(struct make *m, uint16_t misc, uint64_t ip, uint32_t pid, uint32_t tid,
                 uint64_t time, uint64_t period, const uint64_t *chain, size_t n)
{
    size_t begin = make_begin(m, 9, misc);
    if ((m->sample_type & FM_PERF_IDENTIFIER) != 0)
        make_u64(m, m->id);
    make_u64(m, ip);
    if ((m->sample_type & FM_PERF_TID) != 0) {
        make_u32(m, pid);
        make_u32(m, tid);
    }
    if ((m->sample_type & FM_PERF_TIME) != 0)
        make_u64(m, time);
    if ((m->sample_type & FM_PERF_ID) != 0)
        make_u64(m, m->id);
    if ((m->sample_type & FM_PERF_PERIOD) != 0)
        make_u64(m, period);
    if ((m->sample_type & FM_PERF_CALLCHAIN) != 0) {
        make_u64(m, n);
        for (size_t i = 0; i < n; i++)
            make_u64(m, chain[i]);
    }
    make_end(m, begin);
}

#define ATTR 136u

static void make_attr(struct make *m, const struct make_event *e)
{
    unsigned char flags[8], zero[ATTR] = {0};
    size_t begin = m->n;
    make_u32(m, e->type);
    make_u32(m, ATTR);
    make_u64(m, e->config);
    make_u64(m, e->period);
    make_u64(m, e->sample_type);
    make_u64(m, e->read_format);
    for (unsigned i = 0; i < 8; i++) {
        unsigned byte = e->flags >> 8 * i & 0xff;
        flags[i] = 0;
        for (unsigned k = 0; k < 8; k++)
            flags[i] |= (unsigned char)((byte >> k & 1) << (m->big ? 7 - k : k));
    }
    make_bytes(m, flags, sizeof flags);
    make_bytes(m, zero, 24);
    make_u64(m, e->branch_type);
    make_u64(m, e->regs_user);
    make_u32(m, e->stack_user);
    make_u32(m, e->clockid);
    make_bytes(m, zero, ATTR - (m->n - begin));
}

static void make_pipe(struct make *m, const struct make_event *event, size_t events)
{
    make_bytes(m, m->big ? "2ELIFREP" : "PERFILE2", 8);
    make_u64(m, 16);
    for (size_t i = 0; i < events; i++) {
        size_t begin = make_begin(m, 64, 0);
        make_attr(m, &event[i]);
        for (size_t k = 0; k < event[i].ids; k++)
            make_u64(m, event[i].id[k]);
        make_end(m, begin);
    }
}

void make_file(struct make *m, enum make_form form, const struct make_event *event, size_t events,
               const struct make *records)
{
    size_t ids = 0, attrs;
    if (form == MAKE_PIPE) {
        make_pipe(m, event, events);
        make_bytes(m, records->p, records->n);
        return;
    }
    for (size_t i = 0; i < events; i++)
        ids += event[i].ids;
    attrs = 104 + 8 * ids;
    make_bytes(m, form == MAKE_OLD ? "PERFFILE" : m->big ? "2ELIFREP" : "PERFILE2", 8);
    make_u64(m, 104);
    make_u64(m, ATTR + 16);
    make_u64(m, attrs);
    make_u64(m, events * (ATTR + 16));
    make_u64(m, attrs + events * (ATTR + 16));
    make_u64(m, records->n);
    for (unsigned i = 0; i < 6; i++)
        make_u64(m, 0);
    for (size_t i = 0; i < events; i++)
        for (size_t k = 0; k < event[i].ids; k++)
            make_u64(m, event[i].id[k]);
    for (size_t i = 0, at = 104; i < events; i++) {
        make_attr(m, &event[i]);
        make_u64(m, at);
        make_u64(m, 8 * event[i].ids);
        at += 8 * event[i].ids;
    }
    make_bytes(m, records->p, records->n);
}

/* ------------------------------------------------------------------------ import */

void run_import_in(struct run *run, struct fm_ctx *ctx, const void *data, size_t n,
                   const char *name, bool exact)
{
    struct fm_mapping *mapping = NULL;
    struct fm_input *input = NULL;
    struct fm_builder *builder = NULL;
    struct fm_import_options options = FM_INIT(options);
    memset(run, 0, sizeof *run);
    run->ctx = ctx;
    options.callers_exact = exact;
    options.keep = "all";
    uint64_t fail_at = ctx->mem.fail_at;    /* counted from the import on */
    ctx->mem.fail_at = 0;
    run->status = fm_mapping_load(ctx, "perf", &mapping, &run->err);
    atomic_store(&ctx->mem.allocations, 0);
    ctx->mem.fail_at = fail_at;
    if (run->status == FM_OK)
        run->status = n > 0 ? fm_input_open_memory(ctx, data, n, name, &input, &run->err)
                            : fm_input_open(ctx, name, &input, &run->err);
    if (run->status == FM_OK)
        run->status = fm_builder_new(ctx, &builder, &run->err);
    if (run->status == FM_OK) {
        struct fm_error seal = {0};
        struct fm_import import = {.ctx = ctx, .input = input, .builder = builder,
                                   .mapping = mapping, .options = &options};
        (void)fm_builder_source(builder, name, "perf");
        run->status = fm_importer_perf.import(&import, &run->err);
        enum fm_status sealed = fm_builder_seal(builder, NULL, &run->store, &seal);
        if (sealed != FM_OK) {
            run->store = NULL;
            run->status = sealed;
        }
    }
    fm_input_free(input);
    fm_mapping_free(mapping);
}

void run_import(struct run *run, const void *data, size_t n, const char *name, bool exact)
{
    struct fm_error err = {0};
    struct fm_ctx *ctx = fm_ctx_new();
    ck_assert_ptr_nonnull(ctx);
    run_import_in(run, ctx, data, n, name, exact);
    ck_assert_msg(run->store != NULL, "%s: %s", name, run->err.message);
    ck_assert_msg(fm_store_verify(run->store, &err) == FM_OK, "%s: %s", name, err.message);
}

void run_free(struct run *run)
{
    fm_store_free(run->store);
    fm_ctx_free(run->ctx);
    memset(run, 0, sizeof *run);
}

bool run_cell(const struct run *run, uint64_t row, const char *column, uint64_t *value)
{
    fm_column col = fm_store_column_find(run->store, column);
    *value = 0;
    return col != FM_NONE && fm_store_cell(run->store, col, row, value);
}

static int add_stack(const struct run *run, uint64_t stack, char *buf, size_t n)
{
    const struct fm_tree_node *tree = fm_store_tree(run->store);
    int at = 0;
    for (uint32_t t = fm_store_tree_node(run->store, (fm_node)stack); t != 0; t = tree[t].parent) {
        const struct fm_frame_row *f = fm_store_frame_row(run->store, tree[t].frame);
        const struct fm_module_row *m = fm_store_module_row(run->store, f->module);
        at += snprintf(buf + at, n - (size_t)at, " %s+%" PRIx64 "%s",
                       fm_store_str(run->store, m->path, NULL), f->address, f->caller ? "'" : "");
        ck_assert_int_lt(at, (int)n);
    }
    return at;
}

const char *run_row(const struct run *run, uint64_t row)
{
    static char text[16384];
    struct fm_event_info event;
    struct fm_thread_info thread = {0};
    uint64_t comm = 0, id, time, weight, stack;
    int at;
    ck_assert(run_cell(run, row, "event", &id));
    fm_store_event(run->store, id, &event);
    if (run_cell(run, row, "thread", &id))
        fm_store_thread(run->store, id, &thread);
    (void)run_cell(run, row, "comm", &comm);
    (void)run_cell(run, row, "weight", &weight);
    at = snprintf(text, sizeof text, "%s %" PRId64 "/%" PRId64,
                  fm_store_str(run->store, (fm_str)comm, NULL), thread.pid, thread.tid);
    if (run_cell(run, row, "ts", &time))
        at += snprintf(text + at, sizeof text - (size_t)at, " %" PRIu64, time);
    at += snprintf(text + at, sizeof text - (size_t)at, " %" PRIu64 " %s:", weight, event.name);
    if (run_cell(run, row, "stack", &stack))
        add_stack(run, stack, text + at, sizeof text - (size_t)at);
    return text;
}

uint64_t run_account(const struct run *run, enum fm_account_kind kind, const char *key)
{
    for (size_t i = 0; i < fm_store_accounts(run->store); i++) {
        struct fm_account_info info;
        fm_store_account(run->store, i, &info);
        if (info.kind == kind && strcmp(info.key, key) == 0)
            return info.count;
    }
    return 0;
}

const char *run_provenance(const struct run *run, const char *key)
{
    const char *k, *v;
    for (size_t i = 0; fm_store_provenance(run->store, 0, i, &k, &v); i++)
        if (strcmp(k, key) == 0)
            return v;
    return "";
}
