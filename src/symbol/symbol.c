/*
 * symbol.c - names for the unique frames of a store, one module after the other.
 *
 *     frames without a name ── by module ──> points (lookup address, frame), sorted
 *                                              │   ELF: file offset -> address first
 *     find.c: files of the module ──> symbols ─┤ match.c: each symbol offered once
 *                                              v
 *                            picks ── demangle once a symbol ──> function, raw of the frames
 *
 * A module without unnamed frames opens no file. What a module needed (files, matches) is closed
 * before the next one; only a kallsyms stays open while kernel modules may need it.
 */
#include "symbol/symbol.h"

#include "symbol/demangle.h"
#include "symbol/find.h"
#include "symbol/inline.h"
#include "symbol/jitname.h"
#include "symbol/maps.h"
#include "util/error.h"

#include <stdio.h>
#include <sys/stat.h>

#define PATH_BYTES 4096

struct job {
    struct fm_ctx *ctx;
    struct fm_store *store;
    const struct fm_symbol_options *options;
    struct fm_find find;
    struct fm_inliner inliner;
    struct fm_arena arena;          /* paths; PLT names of a module */
    struct fm_out text;             /* a demangled name */
    struct fm_point *point;         /* all points, module after module */
    size_t points;
    size_t *first;                  /* by module: its first point; modules + 2 entries */
    size_t modules;
    struct fm_image kallsyms;
    fm_module kallsyms_of;          /* the kernel whose kallsyms is open, FM_NONE */
    uint32_t kernel_source;         /* the last source that was asked for its kernel ... */
    fm_module kernel;               /* ... and what it was */
    enum fm_debuginfod_state servers;   /* as it was told last */
    bool oom;
};

struct fm_symbol_options fm_symbol_options_of(const struct fm_import_options *import)
{
    if (import == NULL)
        return (struct fm_symbol_options){ 0 };
    return (struct fm_symbol_options){
        .symfs = import->symfs, .buildid_dir = import->buildid_dir, .kallsyms = import->kallsyms,
        .vmlinux = import->vmlinux, .map_dir = import->map_dir,
        .callers_exact = import->callers_exact };
}

/* ----------------------------------------------------------------- points */

static bool is_wanted(const struct job *job, const struct fm_frame_row *frame)
{
    return frame->function == 0 && frame->module != FM_NONE && frame->module < job->modules &&
           frame->address != UINT64_MAX;
}

static uint64_t lookup_address(const struct job *job, const struct fm_frame_row *frame)
{
    if (frame->caller && !job->options->callers_exact && frame->address > 0)
        return frame->address - 1;
    return frame->address;
}

/* Counting sort of the unnamed frames by module. */
static enum fm_status collect(struct job *job)
{
    const size_t frames = fm_store_frames(job->store);
    size_t *first, sum = 0, bytes;

    job->modules = fm_store_modules(job->store);
    if (!fm_mul_size(job->modules + 2, sizeof *job->first, &bytes))
        return FM_NOMEM;
    first = job->first = fm_mem_zalloc(&job->ctx->mem, bytes);
    if (first == NULL)
        return FM_NOMEM;
    for (size_t f = 0; f < frames; f++) {
        const struct fm_frame_row *frame = fm_store_frame_row(job->store, (fm_frame)f);
        if (is_wanted(job, frame))
            first[frame->module + 2]++;
    }
    for (size_t m = 0; m < job->modules; m++) {
        sum += first[m + 2];
        first[m + 2] = sum;
    }
    job->points = sum;
    if (!fm_mul_size(sum, sizeof *job->point, &bytes))
        return FM_NOMEM;
    job->point = fm_mem_alloc(&job->ctx->mem, bytes);
    if (job->point == NULL)
        return FM_NOMEM;
    for (size_t f = 0; f < frames; f++) {
        const struct fm_frame_row *frame = fm_store_frame_row(job->store, (fm_frame)f);
        struct fm_point *point;
        if (!is_wanted(job, frame))
            continue;
        point = &job->point[first[frame->module + 1]++];
        point->address = lookup_address(job, frame);
        point->user = (uint32_t)f;
        point->pick = UINT32_MAX;
    }
    fm_assert(first[job->modules] == sum);
    return FM_OK;
}

/* ----------------------------------------------------------------- naming */

static bool make_name(struct job *job, const char *name, size_t n, bool mangled, fm_str *function,
                      fm_str *raw)
{
    if (!fm_name_strings(job->store, &job->text, name, n, mangled, job->options->demangle, function,
                         raw))
        job->oom = true;
    return !job->oom;
}

static void put_name(struct job *job, uint32_t frame, fm_str function, fm_str raw)
{
    struct fm_frame_row *row = fm_store_frame_edit(job->store, frame);

    fm_assert(row->function == 0);
    row->function = function;
    row->raw = raw;
}

/* Decides a match and names its frames. Points are in address order, so a symbol's frames come
 * nearly always together: its name is made again only where another symbol lies between. */
static void name_picks(struct job *job, struct fm_match *match, bool mangled)
{
    uint32_t last = UINT32_MAX;
    fm_str function = 0, raw = 0;

    if (match->oom || fm_match_finish(match) != FM_OK) {
        job->oom = true;
        return;
    }
    for (size_t i = 0; i < match->points && !job->oom; i++) {
        const struct fm_point *point = &match->point[i];
        const struct fm_symbol *symbol;
        if (point->pick == UINT32_MAX)
            continue;
        symbol = &match->pick[point->pick];
        if (point->pick != last &&
            !make_name(job, symbol->name, symbol->length, mangled, &function, &raw))
            return;
        last = point->pick;
        put_name(job, point->user, function, raw);
    }
}

static void add_diag(struct job *job, const struct fm_module_row *module, enum fm_diag key)
{
    if (module->source < fm_store_sources(job->store))
        fm_diag_add(&fm_store_source_edit(job->store, module->source)->diags, key, FM_NO_OFFSET, 1);
}

/* perf chooses among aliases by their demangled names; so do we, whatever style is asked for. */
static void show_name(void *user, const char *name, size_t n, uint32_t *length,
                      uint32_t *underscores)
{
    struct job *job = user;

    job->text.n = 0;
    if (!fm_demangle(&job->text, name, n, FM_DEMANGLE_SHORT))
        return;
    *length = (uint32_t)job->text.n;
    for (*underscores = 0; *underscores < *length && job->text.buf[*underscores] == '_';)
        ++*underscores;
}

/* -------------------------------------------------------------- ELF files */

/* File offsets become addresses of the runtime file; those of no mapped part are moved to the end
 * and left out. Returns how many remain. */
static size_t to_addresses(const struct fm_elf *runtime, struct fm_point *point, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        struct fm_point moved = point[i];
        if (!fm_elf_address(runtime, moved.address, &moved.address))
            continue;
        point[i] = point[kept];
        point[kept++] = moved;
    }
    return kept;
}

/* Callers whose call instruction no symbol holds, at their own address: first in the array. */
static size_t retry_exact(const struct job *job, struct fm_point *point, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n && !job->options->callers_exact; i++) {
        const struct fm_frame_row *frame = fm_store_frame_row(job->store, point[i].user);
        struct fm_point moved = point[i];
        if (frame->function != 0 || !frame->caller || frame->address == 0)
            continue;
        moved.address++;
        point[i] = point[kept];
        point[kept++] = moved;
    }
    return kept;
}

/* Names points (addresses of the ELF files) from the files that were found. */
static void match_elf(struct job *job, const struct fm_elf *symtab, const struct fm_elf *runtime,
                      const struct fm_elf *mini, struct fm_point *point, size_t n, uint64_t shift,
                      bool mangled)
{
    struct fm_match match;

    if (fm_match_init(&match, &job->ctx->mem, point, n) != FM_OK) {
        job->oom = true;
        return;
    }
    match.show = mangled ? show_name : NULL;
    match.show_user = job;
    if (symtab != NULL)
        fm_elf_symbols(symtab, FM_ELF_SYMTAB, shift, &match);
    else if (mini != NULL)
        fm_elf_symbols(mini, FM_ELF_SYMTAB, shift, &match);
    if (symtab == NULL && runtime != NULL)
        fm_elf_symbols(runtime, FM_ELF_DYNSYM, shift, &match);
    if (runtime != NULL)
        fm_elf_plt(runtime, symtab != NULL ? symtab : runtime, &job->arena, &match);
    name_picks(job, &match, mangled);
    fm_match_release(&match);
}

static void name_by_elf(struct job *job, const struct fm_elf *symtab, const struct fm_elf *runtime,
                        struct fm_point *point, size_t n, uint64_t shift, bool mangled)
{
    struct fm_elf *mini = NULL;
    size_t left = n;

    if (symtab == NULL && runtime != NULL) {
        enum fm_status status = fm_elf_debugdata(job->ctx, runtime, &mini);
        if (status == FM_NOMEM)
            job->oom = true;
        else if (status != FM_OK && status != FM_UNKNOWN)
            job->find.broken = true;
        fm_find_note(&job->find, job->find.path,
                     mini != NULL ? "names from .gnu_debugdata and .dynsym" : "names from .dynsym");
    }
    for (int round = 0; round < 2 && left > 0 && !job->oom; round++) {
        match_elf(job, symtab, runtime, mini, point, left, shift, mangled);
        left = retry_exact(job, point, left);
    }
    fm_elf_close(mini);
    for (size_t i = 0; i < left; i++)
        point[i].address--;              /* no symbol there either: again before the call's end */
    if (!job->oom && fm_inliner_module(&job->inliner, &job->find, point, n, shift) != FM_OK)
        job->oom = true;
}

static void name_files(struct job *job, const struct fm_module_row *module, struct fm_point *point,
                       size_t n, bool mangled)
{
    struct fm_find *find = &job->find;

    if (find->oom) {
        job->oom = true;
        return;
    }
    if (find->runtime == NULL && find->symtab != NULL && fm_elf_is_relocatable(find->symtab))
        find->runtime = find->symtab;
    if (find->runtime == NULL) {
        /* A debug file's own offsets mean nothing: no names are better than wrong ones. */
        if (find->symtab != NULL)
            fm_find_note(find, find->path, "the file itself is needed for its program headers");
        return;
    }
    n = to_addresses(find->runtime, point, n);
    name_by_elf(job, find->symtab, find->runtime, point, n, 0, mangled);
    if (find->unverified)
        add_diag(job, module, FM_DIAG_UNVERIFIED);
}

/* ----------------------------------------------------------------- kernel */

static const char *reference_name(const char *path)
{
    const char *end = strrchr(path, ']');

    if (end == NULL || (strcmp(end + 1, "_text") != 0 && strcmp(end + 1, "_stext") != 0))
        return NULL;
    return end + 1;
}

/* What to add to a vmlinux's values to get the addresses of the recording. */
static uint64_t kernel_shift(const struct fm_elf *vmlinux, const struct fm_module_row *module,
                             const char *path)
{
    static const char *const usual[] = { "_text", "_stext" };
    const char *name = reference_name(path);
    uint64_t value;

    if (module->reference == 0)
        return 0;
    if (name != NULL)
        return fm_elf_find(vmlinux, name, &value) ? module->reference - value : 0;
    for (size_t i = 0; i < FM_COUNT(usual); i++) {
        if (fm_elf_find(vmlinux, usual[i], &value))
            return module->reference - value;
    }
    return 0;
}

static bool name_by_kallsyms(struct job *job, struct fm_kallsyms *kallsyms, struct fm_point *point,
                             size_t n)
{
    struct fm_match match;

    if (fm_match_init(&match, &job->ctx->mem, point, n) != FM_OK) {
        job->oom = true;
        return false;
    }
    fm_kallsyms_symbols(kallsyms, &match);
    name_picks(job, &match, false);
    fm_match_release(&match);
    return kallsyms->symbols > 0;
}

static void name_kernel(struct job *job, fm_module m, const struct fm_module_row *module,
                        const char *path, struct fm_point *point, size_t n)
{
    struct fm_find *find = &job->find;
    struct fm_kallsyms kallsyms = { 0 };
    bool found;

    fm_image_close(&job->kallsyms);
    job->kallsyms_of = FM_NONE;
    found = fm_find_kernel(find, &job->kallsyms);
    job->oom = job->oom || find->oom;
    if (found && find->symtab != NULL) {
        name_by_elf(job, find->symtab, NULL, point, n,
                    kernel_shift(find->symtab, module, path), false);
        return;
    }
    if (found) {
        kallsyms.text = (const char *)job->kallsyms.data;
        kallsyms.n = job->kallsyms.n;
        kallsyms.reference = module->reference;
        kallsyms.reference_name = reference_name(path);
        job->kallsyms_of = m;
        found = name_by_kallsyms(job, &kallsyms, point, n);
        if (kallsyms.restricted)
            fm_find_note(find, path, "all addresses of the kallsyms are 0 (kptr_restrict)");
        if (kallsyms.shift != 0)
            fm_out_printf(&find->looked, "\n%s: moved by 0x%llx to the recorded base", path,
                          (unsigned long long)kallsyms.shift);
    }
    if (!found)
        add_diag(job, module, FM_DIAG_NO_KALLSYMS);
}

/* The kernel's row of the same source, FM_NONE. */
static fm_module kernel_of(struct job *job, uint32_t source)
{
    if (job->kernel_source == source)
        return job->kernel;
    job->kernel_source = source;
    job->kernel = FM_NONE;
    for (size_t m = 0; m < job->modules && job->kernel == FM_NONE; m++) {
        const struct fm_module_row *row = fm_store_module_row(job->store, (fm_module)m);
        if (row->kind == FM_MODULE_KERNEL && row->source == source)
            job->kernel = (fm_module)m;
    }
    return job->kernel;
}

static void open_kallsyms(struct job *job, const struct fm_module_row *module)
{
    const fm_module kernel = kernel_of(job, module->source);
    const char *id;

    if (kernel == FM_NONE || kernel == job->kallsyms_of)
        return;
    fm_image_close(&job->kallsyms);
    id = job->find.build_id;
    job->find.build_id = fm_store_str(job->store,
                                      fm_store_module_row(job->store, kernel)->build_id, NULL);
    if (fm_find_kallsyms(&job->find, &job->kallsyms))
        job->kallsyms_of = kernel;
    job->find.build_id = id;
}

/* "/lib/modules/R/kernel/fs/ext4/ext4.ko.xz", "[ext4]" -> "ext4" */
static const char *module_name(struct job *job, const char *path)
{
    const char *base = strrchr(path, '/'), *end;

    base = base != NULL ? base + 1 : path;
    if (*base == '[')
        base++;
    end = strstr(base, ".ko");
    if (end == NULL)
        end = base + strcspn(base, "]");
    return fm_arena_strn(&job->arena, base, (size_t)(end - base));
}

static void name_kernel_module(struct job *job, const struct fm_module_row *module,
                               const char *path, struct fm_point *point, size_t n)
{
    struct fm_kallsyms kallsyms = { 0 };
    const bool bpf = module->kind == FM_MODULE_BPF;
    bool found = false;

    open_kallsyms(job, module);
    if (job->kallsyms.data != NULL && (bpf || module->start != 0)) {
        kallsyms.text = (const char *)job->kallsyms.data;
        kallsyms.n = job->kallsyms.n;
        kallsyms.module = bpf ? "bpf" : module_name(job, path);
        kallsyms.start = module->start;
        kallsyms.end = module->end;
        if (kallsyms.module == NULL) {
            job->oom = true;
            return;
        }
        for (size_t i = 0; i < n && !bpf; i++)
            point[i].address += module->start;
        found = name_by_kallsyms(job, &kallsyms, point, n);
        for (size_t i = 0; i < n && !bpf; i++)
            point[i].address -= module->start;
    }
    if (found || bpf || job->oom)
        return;
    fm_find_module(&job->find);
    name_files(job, module, point, n, false);
}

/* -------------------------------------------------------------------- JIT */

/* Written before the recording began: perhaps by another process of that number. */
static bool is_stale(const struct job *job, const struct fm_module_row *module, const char *path)
{
    const struct fm_source *source;
    struct stat st;
    int64_t start;

    if (module->source >= fm_store_sources(job->store))
        return false;
    source = fm_store_source_row(job->store, module->source);
    if (!source->has_wall || !source->has_time || stat(path, &st) != 0 ||
        !fm_add_i64(source->first, source->wall, &start) ||
        __builtin_sub_overflow(start, source->wall_at, &start))
        return false;
    return (int64_t)st.st_mtime < start / 1000000000 - 1;
}

/* The name that a JIT gave to code of some frames. */
static bool make_jit_name(struct job *job, const struct fm_perfmap_name *name,
                          struct fm_frame_row *row)
{
    struct fm_jit_name said;

    job->text.n = 0;
    fm_jit_name(&job->text, name->text, name->length, job->options->demangle, &said);
    *row = (struct fm_frame_row){ .kind = said.kind, .line = said.line, .column = said.column };
    row->function = fm_store_str_add(job->store, job->text.buf, job->text.n);
    row->raw = fm_store_str_add(job->store, name->text, name->length);
    if (said.file != NULL)
        row->file = fm_store_str_add(job->store, said.file, said.file_n);
    if (row->function == FM_NONE || row->raw == FM_NONE || row->file == FM_NONE ||
        job->text.status != FM_OK)
        job->oom = true;
    if (row->raw == row->function)
        row->raw = 0;
    return !job->oom;
}

static void put_jit_name(struct job *job, uint32_t frame, const struct fm_frame_row *said)
{
    struct fm_frame_row *row = fm_store_frame_edit(job->store, frame);

    put_name(job, frame, said->function, said->raw);
    row->file = said->file;
    row->line = said->line;
    row->column = said->column;
    if (row->kind == FM_FRAME_USER || row->kind == FM_FRAME_UNKNOWN || row->kind == FM_FRAME_JIT)
        row->kind = said->kind;
}

static bool try_perfmap(struct job *job, const struct fm_module_row *module, const char *path,
                        struct fm_point *point, size_t n)
{
    struct fm_perfmap map;
    enum fm_status status;
    uint32_t last = UINT32_MAX;
    struct fm_frame_row said = { 0 };
    struct stat st;
    bool found = false;

    /* Only plain files: the folder may be /tmp, where anybody puts what he likes. */
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
        fm_find_note(&job->find, path, "not there");
        return false;
    }
    status = fm_perfmap_read(&map, job->ctx, path, point, n);
    if (status == FM_NOMEM) {
        job->oom = true;
    } else if (map.lines > 0) {
        found = true;
        fm_find_note(&job->find, path, "names used");
        if (is_stale(job, module, path)) {
            add_diag(job, module, FM_DIAG_MAP_STALE);
            fm_find_note(&job->find, path, "older than the recording");
        }
    } else {
        fm_find_note(&job->find, path, "not readable as a perf map");
    }
    for (size_t i = 0; i < n && found && !job->oom; i++) {
        const struct fm_perfmap_name *name;
        if (point[i].pick == UINT32_MAX)
            continue;
        name = &map.name[point[i].pick];
        if (point[i].pick != last &&
            !make_jit_name(job, name, &said))
            break;
        last = point[i].pick;
        put_jit_name(job, point[i].user, &said);
    }
    fm_perfmap_release(&map, job->ctx);
    return found;
}

/* The pid of a live process in its own namespace: the last number of NSpid in its status. */
static int64_t inner_pid(struct job *job, int64_t pid)
{
    char path[64];
    struct fm_image image;
    const char *p, *end;
    int64_t inner = -1;

    snprintf(path, sizeof path, "/proc/%lld/status", (long long)pid);
    if (fm_image_read(job->ctx, path, 64u << 10, &image) != FM_OK)
        return -1;
    p = strstr((const char *)image.data, "\nNSpid:");
    if (p != NULL) {
        end = p + 1 + strcspn(p + 1, "\n");
        for (p += 7; p < end; p++) {
            if (*p < '0' || *p > '9')
                continue;
            for (inner = 0; p < end && *p >= '0' && *p <= '9' && inner < INT32_MAX; p++)
                inner = inner * 10 + (*p - '0');
        }
    }
    fm_image_close(&image);
    return inner;
}

static void name_jit(struct job *job, const struct fm_module_row *module, struct fm_point *point,
                     size_t n)
{
    const struct fm_symbol_options *options = job->options;
    const char *folder[4] = { options->map_dir, options->input_dir, NULL, "/tmp" };
    char path[PATH_BYTES];
    int64_t inner;

    if (module->pid <= 0)
        return;
    if (fm_points_sort(&job->ctx->mem, point, n) != FM_OK) {
        job->oom = true;
        return;
    }
    if (options->symfs != NULL && options->symfs[0] != '\0')
        folder[2] = fm_arena_printf(&job->arena, "%s/tmp", options->symfs);
    for (size_t i = 0; i < FM_COUNT(folder); i++) {
        static const char *const packing[] = { "", ".gz" };
        for (size_t k = 0; k < FM_COUNT(packing) && folder[i] != NULL; k++) {
            int length = snprintf(path, sizeof path, "%s/perf-%lld.map%s",
                                  folder[i][0] != '\0' ? folder[i] : ".", (long long)module->pid,
                                  packing[k]);
            if (length > 0 && (size_t)length < sizeof path &&
                (try_perfmap(job, module, path, point, n) || job->oom))
                return;
        }
    }
    inner = inner_pid(job, module->pid);
    if (inner <= 0)
        return;
    snprintf(path, sizeof path, "/proc/%lld/root/tmp/perf-%lld.map", (long long)module->pid,
             (long long)inner);
    try_perfmap(job, module, path, point, n);
}

/* ----------------------------------------------------------------- driver */

/* The path to search: without " (deleted)". A copy, as are all texts of the search: the store's
 * strings grow while frames are named. */
static const char *search_path(struct job *job, const char *path, bool *deleted)
{
    static const char mark[] = " (deleted)";
    const size_t n = strlen(path), k = sizeof mark - 1;

    *deleted = n > k && strcmp(path + n - k, mark) == 0;
    return fm_arena_strn(&job->arena, path, *deleted ? n - k : n);
}

/* Says once when debuginfod could not be asked. */
static void tell_servers(struct job *job, const struct fm_module_row *module)
{
    const enum fm_debuginfod_state state = job->find.servers.state;

    if (state == job->servers)
        return;
    job->servers = state;
    if (state == FM_DEBUGINFOD_NO_URLS)
        add_diag(job, module, FM_DIAG_DEBUGINFOD_URLS);
    else if (state == FM_DEBUGINFOD_NO_LIBRARY)
        add_diag(job, module, FM_DIAG_DEBUGINFOD_LIBRARY);
    else if (state == FM_DEBUGINFOD_FAILED)
        add_diag(job, module, FM_DIAG_DEBUGINFOD_FAILED);
}

static void name_module(struct job *job, fm_module m, struct fm_point *point, size_t n)
{
    const struct fm_module_row *module = fm_store_module_row(job->store, m);
    const char *path = fm_arena_str(&job->arena, fm_store_str(job->store, module->path, NULL));
    const char *id = fm_arena_str(&job->arena, fm_store_str(job->store, module->build_id, NULL));
    const char *search;
    struct fm_find *find = &job->find;
    struct fm_module_row *row;
    bool deleted;

    if (path == NULL || id == NULL || (search = search_path(job, path, &deleted)) == NULL) {
        job->oom = true;
        return;
    }
    fm_find_begin(find, search, id, module->mnt_ns != 0);
    find->deleted = deleted;
    switch (module->kind) {
    case FM_MODULE_USER:
        if (fm_find_is_pseudo(path)) {
            fm_find_note(find, path, "no file stands behind this mapping");
            break;
        }
        fm_find_user(find);
        name_files(job, module, point, n, true);
        break;
    case FM_MODULE_VDSO:
        fm_find_vdso(find);
        name_files(job, module, point, n, true);
        break;
    case FM_MODULE_KERNEL:
        name_kernel(job, m, module, path, point, n);
        break;
    case FM_MODULE_KMODULE:
    case FM_MODULE_BPF:
        name_kernel_module(job, module, path, point, n);
        break;
    case FM_MODULE_JIT:
        name_jit(job, module, point, n);
        break;
    case FM_MODULE_GUEST_KERNEL:
        fm_find_note(find, path, "a guest's kernel: its symbols are not on this machine");
        break;
    case FM_MODULE_UNKNOWN:
    case FM_MODULE_NAMED:
        return;
    }
    if (find->mismatch && find->symtab == NULL)
        add_diag(job, module, FM_DIAG_BUILD_ID);
    if (find->broken)
        add_diag(job, module, FM_DIAG_ELF_BAD);
    tell_servers(job, module);
    row = fm_store_module_edit(job->store, m);
    row->verified = !find->unverified && (find->symtab != NULL || find->runtime != NULL) &&
                    find->build_id[0] != '\0';
    if (find->looked.n > 0)
        row->looked = fm_store_str_add(job->store, find->looked.buf, find->looked.n);
    job->oom = job->oom || find->oom || row->looked == FM_NONE || find->looked.status != FM_OK ||
               job->arena.oom;
}

enum fm_status fm_symbolize(struct fm_ctx *ctx, struct fm_store *store,
                            const struct fm_symbol_options *options, struct fm_error *err)
{
    struct job job = { .ctx = ctx, .store = store, .options = options, .kallsyms_of = FM_NONE,
                       .kernel_source = FM_NONE, .kernel = FM_NONE };
    enum fm_status status;
    struct fm_arena kept;           /* lives as long as the search: the default build-id folder */

    fm_arena_init(&kept, &ctx->mem);
    fm_arena_init(&job.arena, &ctx->mem);
    status = fm_out_init(&job.text, &ctx->mem, NULL);
    if (status == FM_OK)
        status = fm_find_init(&job.find, ctx, options, &kept);
    if (status == FM_OK)
        fm_inliner_init(&job.inliner, ctx, store, options, &job.text);
    if (status == FM_OK)
        status = collect(&job);
    for (size_t m = 0; m < job.modules && status == FM_OK; m++) {
        const size_t first = job.first[m], n = job.first[m + 1] - first;
        if (n == 0)
            continue;
        fm_arena_clear(&job.arena);
        name_module(&job, (fm_module)m, job.point + first, n);
        if (job.oom)
            status = FM_NOMEM;
    }
    if (status == FM_OK)
        status = fm_inliner_finish(&job.inliner);
    fm_mem_free(&ctx->mem, job.point, job.points * sizeof *job.point);
    fm_mem_free(&ctx->mem, job.first, (job.modules + 2) * sizeof *job.first);
    fm_image_close(&job.kallsyms);
    fm_find_release(&job.find);
    fm_inliner_release(&job.inliner);
    fm_out_release(&job.text);
    fm_arena_release(&job.arena);
    fm_arena_release(&kept);
    fm_assert(status == FM_OK || status == FM_NOMEM);
    return status == FM_OK ? FM_OK : fm_error_nomem(err);
}
