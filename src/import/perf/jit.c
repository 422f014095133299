/*
 * jit.c - jitdump files of processes: see jit.h.
 *
 * The file that a mapping ".../jit-PID.dump" names is sought in the folder for maps, beside the
 * input, and at the recorded path (below the symbol root, when there is one); the pid in its header
 * must be the one in its name. Its clock is CLOCK_MONOTONIC, so the recording must use that (-k
 * mono), or the processor's counter, which TIME_CONV converts to perf's own clock. Otherwise times
 * say nothing, and all code lies there from the beginning, the newest on top.
 */
#include "import/perf/session.h"
#include "symbol/jitname.h"
#include "util/out.h"
#include "util/text.h"

#include <stdio.h>
#include <sys/stat.h>

#define PATH_BYTES 4096
#define DUMPS_MAX 64            /* of one process: more are not sought */

void fm_perf_jits_release(struct fm_perf *perf)
{
    struct fm_perf_jits *jits = &perf->machine.jits;
    struct fm_mem *mem = &perf->ctx->mem;
    for (size_t i = 0; i < jits->n; i++) {
        if (jits->jit[i].dump != NULL)
            fm_jitdump_release(jits->jit[i].dump);
        fm_mem_free(mem, jits->jit[i].dump, sizeof *jits->jit[i].dump);
    }
    fm_mem_free(mem, jits->jit, jits->cap * sizeof *jits->jit);
    fm_mem_free(mem, jits->code, jits->code_cap * sizeof *jits->code);
}

bool fm_perf_jit_marker(const char *path, size_t n, uint32_t *pid)
{
    static const char begin[] = "/jit-", end[] = ".dump";
    size_t at = n;
    uint64_t number;
    if (n < sizeof end - 1 || memcmp(path + n - (sizeof end - 1), end, sizeof end - 1) != 0)
        return false;
    n -= sizeof end - 1;
    for (at = n; at > 0 && path[at - 1] >= '0' && path[at - 1] <= '9'; at--)
        continue;
    if (at < sizeof begin - 1 ||
        memcmp(path + at - (sizeof begin - 1), begin, sizeof begin - 1) != 0 ||
        !fm_text_u64(path + at, n - at, &number) || number > UINT32_MAX)
        return false;
    *pid = (uint32_t)number;
    return true;
}

/* ------------------------------------------------------------------ the file */

/* Reads a file if it is there and is that process's. */
static bool try_dump(struct fm_perf *perf, const char *path, uint32_t pid,
                     struct fm_jitdump *dump)
{
    struct fm_input *input = NULL;
    struct fm_error err = {0};
    struct stat st;
    enum fm_status status;
    /* only plain files: the folder may be /tmp, where anybody puts what he likes */
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    status = fm_input_open(perf->ctx, path, &input, &err);
    if (status != FM_OK) {
        if (status == FM_NOMEM)
            fm_perf_fail(perf, status);
        return false;
    }
    status = fm_jitdump_read(dump, perf->ctx, input, &err);
    fm_input_free(input);
    if (status == FM_NOMEM)
        fm_perf_fail(perf, status);
    else if (status != FM_OK)
        fm_perf_note(perf, FM_DIAG_JITDUMP_BAD, perf->offset, 1);
    if (status != FM_NOMEM && dump->valid && dump->pid == pid)
        return true;
    if (dump->valid && dump->pid != pid)
        fm_perf_note(perf, FM_DIAG_JITDUMP_PID, perf->offset, 1);
    fm_jitdump_release(dump);
    return false;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool find_dump(struct fm_perf *perf, const char *recorded, uint32_t pid,
                      struct fm_jitdump *dump)
{
    const struct fm_import_options *options = perf->import->options;
    const char *input = fm_input_path(perf->import->input);
    const char *map_dir = options != NULL ? options->map_dir : NULL;
    const char *symfs = options != NULL && options->symfs != NULL ? options->symfs : "";
    const char *base = base_name(recorded);
    char path[PATH_BYTES];
    for (unsigned i = 0; i < 3; i++) {
        int n = -1;
        if (i == 0 && map_dir != NULL)
            n = snprintf(path, sizeof path, "%s/%s", map_dir, base);
        if (i == 1 && input != NULL)
            n = fm_input_is_dir(perf->import->input)
                    ? snprintf(path, sizeof path, "%s/%s", input, base)
                    : snprintf(path, sizeof path, "%.*s%s", (int)(base_name(input) - input),
                               input, base);
        if (i == 2)
            n = snprintf(path, sizeof path, "%s%s", symfs, recorded);
        if (n > 0 && (size_t)n < sizeof path && try_dump(perf, path, pid, dump))
            return true;
        if (perf->status != FM_OK)
            return false;
    }
    return false;
}

/* --------------------------------------------------------------------- times */

/* Can its times be compared with those of the samples? */
static bool same_clock(const struct fm_perf *perf, const struct fm_jitdump *dump)
{
    const struct fm_perf_attr *attr = &perf->events.event[0].attr;
    bool own = (attr->flags & FM_PERF_F_USE_CLOCKID) == 0;
    if (perf->events.n == 0)
        return false;
    if (dump->ticks)
        return own && perf->machine.jits.has_conversion;
    return !own && attr->clockid == 1;
}

/* Ticks since the machine was started -> ns of perf's clock. */
static uint64_t convert(const struct fm_perf_jits *jits, uint64_t ticks)
{
    uint64_t whole = ticks >> jits->shift;
    uint64_t rest = ticks & (((uint64_t)1 << jits->shift) - 1);
    return jits->zero + whole * jits->mult +
           (uint64_t)((fm_u128)rest * jits->mult >> jits->shift);
}

bool fm_perf_jit_open(struct fm_perf *perf, const struct fm_perf_mapping *mapping)
{
    struct fm_perf_machine *m = &perf->machine;
    struct fm_perf_jits *jits = &m->jits;
    struct fm_mem *mem = &perf->ctx->mem;
    uint32_t pid;
    if (!jits->wanted || mapping->mode != FM_PERF_MODE_USER ||
        !fm_perf_jit_marker(mapping->name, mapping->name_n, &pid))
        return true;
    struct fm_perf_thread *thread = fm_perf_machine_thread(m, mapping->pid, mapping->tid);
    fm_str path = fm_builder_str(perf->builder, mapping->name, mapping->name_n);
    if (thread == NULL || path == FM_NONE)
        return fm_perf_fail(perf, FM_NOMEM);
    struct fm_perf_process *process = &m->process[thread->process];
    unsigned dumps = 0;
    for (uint32_t i = process->jit; i != 0; i = jits->jit[i - 1].other, dumps++)
        if (jits->jit[i - 1].path == path)
            return true;
    if (dumps >= DUMPS_MAX) {
        fm_perf_note(perf, FM_DIAG_JITDUMP_MISSING, perf->offset, 1);
        return true;
    }
    if (jits->n >= UINT32_MAX - 1 ||
        !fm_grow(mem, (void **)&jits->jit, &jits->cap, jits->n + 1, sizeof *jits->jit))
        return fm_perf_fail(perf, FM_NOMEM);
    struct fm_perf_jit *jit = &jits->jit[jits->n++];
    *jit = (struct fm_perf_jit){.path = path, .process = thread->process, .other = process->jit};
    process->jit = (uint32_t)jits->n;
    struct fm_jitdump *dump = fm_mem_zalloc(mem, sizeof *dump);
    if (dump == NULL)
        return fm_perf_fail(perf, FM_NOMEM);
    size_t n;
    if (!find_dump(perf, fm_builder_str_text(perf->builder, path, &n), pid, dump)) {
        fm_mem_free(mem, dump, sizeof *dump);
        if (perf->status == FM_OK)
            fm_perf_note(perf, FM_DIAG_JITDUMP_MISSING, perf->offset, 1);
        return perf->status == FM_OK;
    }
    jit->dump = dump;
    jit->timeless = !same_clock(perf, dump);
    if (jit->timeless)
        fm_perf_note(perf, FM_DIAG_JITDUMP_CLOCK, perf->offset, 1);
    for (size_t i = 0; i < dump->codes && !jit->timeless && dump->ticks; i++)
        dump->code[i].time = convert(jits, dump->code[i].time);
    return true;
}

/* ---------------------------------------------------------------- the mappings */

static bool lay_code(struct fm_perf *perf, const struct fm_perf_jit *jit,
                     struct fm_perf_process *process, const struct fm_jitdump_code *code)
{
    struct fm_perf_machine *m = &perf->machine;
    struct fm_perf_jits *jits = &m->jits;
    if (jits->codes >= UINT32_MAX - 1 ||
        !fm_grow(m->mem, (void **)&jits->code, &jits->code_cap, jits->codes + 1,
                 sizeof *jits->code))
        return false;
    jits->code[jits->codes++] = (struct fm_perf_code){.dump = jit->dump, .code = code};
    uint32_t number = fm_perf_machine_add_range(
        m, (struct fm_perf_range){.start = code->start, .end = code->end, .name = jit->path,
                                  .pid = process->pid, .kind = FM_MODULE_JIT,
                                  .code = (uint32_t)jits->codes});
    return number != FM_PERF_NO_MAP &&
           fm_perf_tree_set(&m->maps, &process->code, code->start, code->end, number);
}

bool fm_perf_jit_until(struct fm_perf *perf, uint32_t number, uint64_t time)
{
    struct fm_perf_machine *m = &perf->machine;
    struct fm_perf_process *process = &m->process[number];
    bool changed = false;
    for (uint32_t i = process->jit; i != 0;) {
        struct fm_perf_jit *jit = &m->jits.jit[i - 1];
        i = jit->other;
        while (jit->dump != NULL && jit->next < jit->dump->codes &&
               (jit->timeless || jit->dump->code[jit->next].time <= time)) {
            if (!lay_code(perf, jit, process, &jit->dump->code[jit->next++]))
                return fm_perf_fail(perf, FM_NOMEM);
            changed = true;
        }
    }
    if (changed)
        process->context = ++m->contexts;
    return true;
}

void fm_perf_jit_name(struct fm_perf_machine *m, struct fm_perf_code *code)
{
    const char *name = code->code->name;
    const size_t n = strlen(name);
    struct fm_jit_name said = {.kind = FM_FRAME_JIT};
    struct fm_out out;
    code->function = code->raw = fm_builder_str(m->builder, name, n);
    if (fm_out_init(&out, m->mem, NULL) == FM_OK) {
        fm_jit_name(&out, name, n, m->jits.style, &said);
        if (fm_out_finish(&out, NULL) == FM_OK)
            code->function = fm_builder_str(m->builder, out.buf, out.n);
        fm_out_release(&out);
    }
    if (said.file != NULL)
        code->file = fm_builder_str(m->builder, said.file, said.file_n);
    if (code->raw == code->function)
        code->raw = 0;
    code->line = said.line;
    code->column = said.column;
    code->kind = said.kind;
}
