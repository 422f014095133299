/*
 * trace_dat.c - trace.dat, the file of trace-cmd: the kernel's trace buffers as they were.
 *
 *     container.c  metadata, and where the pages of each CPU of each buffer are
 *     cpu.c        one stream of events a CPU, each in time order
 *                  0: 3 8 9 ...
 *                  1: 4 5 7 ...     ->  heap by (time, stream)  ->  3 4 5 7 8 9  ->  row.c
 *
 * Times are those of the clock that TRACECLOCK names. "local", the usual one, is the CPU's clock
 * without the offset that perf's has (40 ms on one machine): it is not taken for another. The
 * option DATE tells how far from it the wall clock was: an anchor, which changes no time.
 */
#include "import/ftrace/ftrace.h"

#include "util/error.h"

#include <stdio.h>

bool fm_ftrace_fail(struct fm_ftrace *f, enum fm_status status)
{
    if (f->status == FM_OK) {
        f->status = status != FM_OK ? status : FM_NOMEM;
        if (f->status == FM_NOMEM)
            fm_error_nomem(f->err);
        else
            fm_error_set(f->err, f->status, "%s", fm_status_text(f->status));
    }
    return false;
}

void fm_ftrace_note(struct fm_ftrace *f, enum fm_diag key, uint64_t offset, uint64_t n)
{
    fm_builder_diag(f->builder, key, offset, n);
}

void fm_ftrace_damage(struct fm_ftrace *f, enum fm_diag key, enum fm_status status,
                      uint64_t offset, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    if (key < FM_DIAGS)
        fm_ftrace_note(f, key, offset, 1);
    if (f->damage != FM_OK)
        return;
    f->damage = status;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fm_error_at(f->err, status, f->name, offset, "%s", text);
}

/* ------------------------------------------------------------------ merging */

static bool before(const struct fm_ftrace *f, size_t a, size_t b)
{
    uint64_t x = f->stream[a].record.time, y = f->stream[b].record.time;
    return x != y ? x < y : a < b;
}

static void sift(struct fm_ftrace *f, size_t n, size_t at)
{
    size_t *heap = f->heap, top = heap[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && before(f, heap[child + 1], heap[child]))
            child++;
        if (!before(f, heap[child], top))
            break;
        heap[at] = heap[child];
    }
    heap[at] = top;
}

static bool merge(struct fm_ftrace *f)
{
    size_t n = 0;
    f->heap = fm_arena_alloc(&f->arena, (f->streams + 1) * sizeof *f->heap);
    if (f->heap == NULL)
        return fm_ftrace_fail(f, FM_NOMEM);
    for (size_t i = 0; i < f->streams; i++) {
        if (!fm_ftrace_stream_next(f, &f->stream[i]))
            return false;
        if (f->stream[i].has_record)
            f->heap[n++] = i;
    }
    for (size_t i = n / 2; i-- > 0;)
        sift(f, n, i);
    for (uint64_t ticks = 0; n > 0; ticks++) {
        struct fm_ftrace_stream *s = &f->stream[f->heap[0]];
        if ((ticks & 0xfff) == 0 && !fm_ctx_tick(f->ctx, f->done, f->size))
            return fm_ftrace_fail(f, FM_CANCELLED);
        if (!fm_ftrace_record(f, s) || !fm_ftrace_stream_next(f, s))
            return false;
        if (!s->has_record)
            f->heap[0] = f->heap[--n];
        sift(f, n, 0);
    }
    return true;
}

/* ------------------------------------------------------------------ the import */

static void set_clock(struct fm_ftrace *f)
{
    static const struct {
        const char *name;
        enum fm_clock clock;
    } known[] = {
        {"mono", FM_CLOCK_MONOTONIC}, {"mono_raw", FM_CLOCK_MONOTONIC_RAW},
        {"boot", FM_CLOCK_BOOT}, {"perf", FM_CLOCK_PERF}, {"global", FM_CLOCK_PERF}};
    struct fm_source *source = fm_builder_source_row(f->builder);
    const char *name = f->streams > 0 ? f->buffer[f->stream[0].buffer].clock : NULL;
    if (name == NULL)
        name = f->clock != NULL ? f->clock : "local";
    if (source == NULL)
        return;
    fm_builder_provenance(f->builder, "clock", name, strlen(name));
    source = fm_builder_source_row(f->builder);
    for (size_t i = 0; i < FM_COUNT(known); i++)
        if (strcmp(known[i].name, name) == 0)
            source->clock = known[i].clock;
    if (f->has_wall) {
        source->has_wall = true;
        source->wall = f->wall;
        source->wall_at = 0;
    }
}

static void release(struct fm_ftrace *f)
{
    struct fm_mem *mem = &f->ctx->mem;
    for (size_t i = 0; i < f->streams; i++)
        fm_ftrace_stream_release(f, &f->stream[i]);
    fm_mem_free(mem, f->stream, f->stream_cap * sizeof *f->stream);
    fm_mem_free(mem, f->buffer, f->buffer_cap * sizeof *f->buffer);
    fm_mem_free(mem, f->event, f->event_cap * sizeof *f->event);
    fm_mem_free(mem, f->symbol, f->symbol_cap * sizeof *f->symbol);
    fm_mem_free(mem, f->frames, f->frame_cap * sizeof *f->frames);
    fm_map_release(&f->by_id);
    fm_map_release(&f->comm);
    fm_map_release(&f->tgid);
    fm_map_release(&f->thread);
    for (size_t i = 0; i < FM_COUNT(f->frame); i++)
        fm_map_release(&f->frame[i]);
    fm_sched_release(&f->sched);
    fm_binding_free(f->binding);
    fm_arena_release(&f->arena);
}

static enum fm_status import(struct fm_import *import, struct fm_error *err)
{
    struct fm_ftrace f = {.ctx = import->ctx, .import = import, .builder = import->builder,
                          .input = import->input, .name = fm_input_name(import->input),
                          .kernel = FM_NONE, .unknown = FM_NONE, .sched_buffer = FM_NONE};
    struct fm_mem *mem = &import->ctx->mem;
    const struct fm_import_options *options = import->options;
    struct fm_error ignored = {0};
    f.err = err != NULL ? err : &ignored;
    f.exact = options != NULL && options->callers_exact;
    fm_arena_init(&f.arena, mem);
    fm_map_init(&f.by_id, mem);
    fm_map_init(&f.comm, mem);
    fm_map_init(&f.tgid, mem);
    fm_map_init(&f.thread, mem);
    for (size_t i = 0; i < FM_COUNT(f.frame); i++)
        fm_map_init(&f.frame[i], mem);
    fm_sched_init(&f.sched, import);
    f.sched.everywhere = true;
    (void)fm_input_size(f.input, &f.size);
    f.status = fm_binding_new(import->mapping, import->builder,
                              options != NULL ? options->keep : NULL, &f.binding, f.err);
    if (f.status == FM_OK) {
        f.sched.binding = f.binding;
        fm_binding_account(f.binding, true);
        if (fm_ftrace_container(&f)) {
            f.sched.swap = f.swap;
            (void)merge(&f);
        }
        fm_ftrace_rows_finish(&f);
        set_clock(&f);
    }
    enum fm_status status = f.status != FM_OK ? f.status : f.damage;
    release(&f);
    return status;
}

static unsigned probe(const unsigned char *data, size_t n, bool whole, struct fm_input *input)
{
    static const unsigned char magic[] = {23, 8, 68, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
    (void)whole;
    (void)input;
    return data != NULL && n >= sizeof magic && memcmp(data, magic, sizeof magic) == 0 ? 80 : 0;
}

const struct fm_importer fm_importer_trace_dat = {
    .name = "trace-dat",
    .summary = "trace-cmd's trace.dat, versions 6 and 7",
    .extensions = "dat",
    .seek = true,
    .mapping = true,
    .probe = probe,
    .import = import,
};
