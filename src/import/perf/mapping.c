/*
 * mapping.c - mappings, modules and frames of a machine: see machine.h.
 *
 * The kind of a mapping by its name, as perf tells them apart:
 *
 *     [vdso]                                              offsets in the vDSO image
 *     //anon* /dev/zero* /anon_hugepage* MAP_HUGETLB      made at run time: absolute addresses;
 *     [stack* /SYSV* [heap]* [anon:* (of an application)  when not executable: no code at all
 *     /memfd:doublemapper* (.NET)
 *     anything else                                       a file: ip - start + pgoff
 *
 * Data mappings cut what they cover and tell where an address lies, but are not used to name code:
 * their module is of kind UNKNOWN. Kernel addresses are looked up among BPF code, then modules,
 * then the image, which may claim the whole upper half.
 */
#include "import/perf/machine.h"

static bool begins(const char *name, size_t n, const char *with)
{
    size_t k = strlen(with);
    return n >= k && memcmp(name, with, k) == 0;
}

static bool is_anonymous(const char *name, size_t n, bool huge)
{
    static const char *const prefix[] = {"//anon", "/dev/zero", "/anon_hugepage", "[stack",
                                         "/SYSV", "[heap]", "[anon:", "/memfd:doublemapper"};
    for (size_t i = 0; i < FM_COUNT(prefix); i++)
        if (begins(name, n, prefix[i]))
            return true;
    return huge;
}

static fm_str hex_str(struct fm_perf_machine *m, const unsigned char *id, size_t n)
{
    static const char digit[] = "0123456789abcdef";
    char text[64];
    bool any = false;
    n = FM_MIN(n, sizeof text / 2);
    for (size_t i = 0; i < n; i++) {
        text[2 * i] = digit[id[i] >> 4];
        text[2 * i + 1] = digit[id[i] & 15];
        any |= id[i] != 0;
    }
    return any ? fm_builder_str(m->builder, text, 2 * n) : 0;
}

bool fm_perf_machine_build_id(struct fm_perf_machine *m, const char *path, size_t n,
                              const unsigned char *id, size_t id_n)
{
    fm_str hex = hex_str(m, id, id_n);
    if (hex == 0)
        return true;
    uint64_t *value = fm_map_put(&m->build_id, fm_builder_str(m->builder, path, n), NULL);
    if (value == NULL)
        return false;
    *value = hex;
    return true;
}

/* Another file at a path that was seen before makes another generation of the module. */
static bool find_generation(struct fm_perf_machine *m, const struct fm_perf_mapping *mapping,
                            fm_str name, uint32_t *generation)
{
    bool fresh;
    *generation = 0;
    if (mapping->inode == 0)
        return true;
    uint64_t *number = fm_map_put(&m->file_at, name, &fresh);
    if (number == NULL)
        return false;
    if (fresh) {
        if (!fm_grow(m->mem, (void **)&m->file, &m->file_cap, m->files + 1, sizeof *m->file))
            return false;
        *number = m->files;
        m->file[m->files++] = (struct fm_perf_file){mapping->device, mapping->inode,
                                                    mapping->inode_generation, 0};
    }
    struct fm_perf_file *file = &m->file[*number];
    /* the same file can show two device numbers (overlay file systems), never two inodes */
    if (file->device == mapping->device && (file->inode != mapping->inode ||
                                            file->inode_generation != mapping->inode_generation)) {
        file->inode = mapping->inode;
        file->inode_generation = mapping->inode_generation;
        file->generation++;
    }
    *generation = file->generation;
    return true;
}

uint32_t fm_perf_machine_add_range(struct fm_perf_machine *m, struct fm_perf_range range)
{
    if (m->ranges >= FM_PERF_NO_MAP ||
        !fm_grow(m->mem, (void **)&m->range, &m->range_cap, m->ranges + 1, sizeof *m->range))
        return FM_PERF_NO_MAP;
    range.module = range.unwind = FM_NONE;
    m->range[m->ranges] = range;
    return (uint32_t)m->ranges++;
}

static bool map_kernel(struct fm_perf_machine *m, const struct fm_perf_mapping *mapping,
                       uint64_t end)
{
    const char *name = mapping->name;
    size_t n = mapping->name_n;
    bool guest = mapping->mode == FM_PERF_MODE_GUEST_KERNEL;
    bool image = begins(name, n, "[kernel.") || begins(name, n, "[guest.kernel.");
    struct fm_perf_range range = {.start = mapping->start, .end = end, .pid = -1};
    if (image) {
        /* "[kernel.kallsyms]_text": the reference symbol follows the name */
        const char *close = memchr(name, ']', n);
        if (close != NULL)
            n = (size_t)(close - name) + 1;
        range.kind = guest ? FM_MODULE_GUEST_KERNEL : FM_MODULE_KERNEL;
        range.reference = mapping->offset;
    } else {
        range.kind = FM_MODULE_KMODULE;
        range.delta = mapping->offset - mapping->start;
    }
    range.name = fm_builder_str(m->builder, name, n);
    if (mapping->build_id != NULL)
        range.build_id = hex_str(m, mapping->build_id, mapping->build_id_n);
    uint32_t number = fm_perf_machine_add_range(m, range);
    if (number == FM_PERF_NO_MAP)
        return false;
    m->kernel_epoch++;
    if (image && !guest) {
        m->kernel = number;
        return true;
    }
    return fm_perf_tree_set(&m->maps, guest ? &m->guest : &m->modules, mapping->start, end,
                            number);
}

static bool map_user(struct fm_perf_machine *m, const struct fm_perf_mapping *mapping,
                     uint64_t end)
{
    const char *name = mapping->name;
    size_t n = mapping->name_n;
    struct fm_perf_range range = {.start = mapping->start, .end = end, .pid = mapping->pid,
                                  .delta = mapping->offset - mapping->start,
                                  .kind = mapping->code ? FM_MODULE_USER : FM_MODULE_UNKNOWN};
    struct fm_perf_thread *thread = fm_perf_machine_thread(m, mapping->pid, mapping->tid);
    if (thread == NULL)
        return false;
    struct fm_perf_process *process = &m->process[thread->process];
    if (mapping->jit) {
        range.kind = FM_MODULE_JIT;
        range.delta = 0;
    } else if (n == 6 && memcmp(name, "[vdso]", 6) == 0) {
        range.kind = FM_MODULE_VDSO;
        range.delta = 0 - mapping->start;
    } else if (is_anonymous(name, n, mapping->huge)) {
        range.kind = mapping->code ? FM_MODULE_JIT : FM_MODULE_UNKNOWN;
        range.delta = 0;
    }
    range.mnt_ns = process->mnt_ns;
    range.name = fm_builder_str(m->builder, name, n);
    if (mapping->build_id != NULL)
        range.build_id = hex_str(m, mapping->build_id, mapping->build_id_n);
    if (range.kind == FM_MODULE_USER &&
        !find_generation(m, mapping, range.name, &range.generation))
        return false;
    uint32_t number = fm_perf_machine_add_range(m, range);
    if (number == FM_PERF_NO_MAP)
        return false;
    process->context = ++m->contexts;
    /* code of a JIT is gone where a file is mapped now */
    if (process->code.root != 0 && !is_anonymous(name, n, mapping->huge) &&
        !begins(name, n, "/memfd:") &&
        !fm_perf_tree_set(&m->maps, &process->code, mapping->start, end, FM_PERF_NO_MAP))
        return false;
    return fm_perf_tree_set(&m->maps, &process->maps, mapping->start, end, number);
}

bool fm_perf_machine_map(struct fm_perf_machine *m, const struct fm_perf_mapping *mapping)
{
    uint64_t end = fm_add_sat_u64(mapping->start, mapping->length);
    bool kernel = mapping->mode == FM_PERF_MODE_KERNEL ||
                  mapping->mode == FM_PERF_MODE_GUEST_KERNEL;
    if (end == mapping->start) {
        /* an image whose size was not known: nothing says where it ends */
        if (!kernel || end == UINT64_MAX)
            return true;
        end = UINT64_MAX;
    }
    return kernel ? map_kernel(m, mapping, end) : map_user(m, mapping, end);
}

bool fm_perf_machine_symbol(struct fm_perf_machine *m, uint64_t start, uint64_t length,
                            const char *name, size_t n, bool unregister)
{
    uint64_t end = fm_add_sat_u64(start, length);
    uint32_t number = FM_PERF_NO_MAP;
    if (end == start)
        return true;
    if (!unregister) {
        number = fm_perf_machine_add_range(m, (struct fm_perf_range){
                                  .start = start, .end = end, .pid = -1, .kind = FM_MODULE_BPF,
                                  .name = fm_builder_str(m->builder, name, n)});
        if (number == FM_PERF_NO_MAP)
            return false;
    }
    m->kernel_epoch++;
    return fm_perf_tree_set(&m->maps, &m->symbols, start, end, number);
}

static fm_module module_of(struct fm_perf_machine *m, struct fm_perf_range *range)
{
    struct fm_module_row row = {.path = range->name, .build_id = range->build_id,
                                .kind = range->kind, .pid = -1, .generation = range->generation};
    const uint64_t *id;
    if (range->module != FM_NONE)
        return range->module;
    if (range->kind == FM_MODULE_JIT)
        row.pid = range->pid;
    if (range->mnt_ns != m->recorder_ns)
        row.mnt_ns = range->mnt_ns;
    if (row.build_id == 0 && (id = fm_map_find(&m->build_id, range->name)) != NULL)
        row.build_id = (fm_str)*id;
    if (range->kind == FM_MODULE_KERNEL || range->kind == FM_MODULE_KMODULE ||
        range->kind == FM_MODULE_GUEST_KERNEL || range->kind == FM_MODULE_BPF) {
        row.start = range->start;
        row.end = range->end;
        row.reference = range->reference;
    }
    return range->module = fm_builder_module(m->builder, &row);
}

static fm_module unknown_module(struct fm_perf_machine *m)
{
    struct fm_module_row row = {.kind = FM_MODULE_UNKNOWN, .pid = -1};
    if (m->unknown == FM_NONE) {
        row.path = fm_builder_str(m->builder, "[unknown]", 9);
            m->unknown = fm_builder_module(m->builder, &row);
    }
    return m->unknown;
}

static uint32_t find_range(const struct fm_perf_machine *m, const struct fm_perf_process *process,
                           uint8_t mode, uint64_t ip)
{
    uint32_t number = FM_PERF_NO_MAP;
    switch (mode) {
    case FM_PERF_MODE_KERNEL:
        number = fm_perf_tree_find(&m->maps, &m->symbols, ip);
        if (number == FM_PERF_NO_MAP)
            number = fm_perf_tree_find(&m->maps, &m->modules, ip);
        if (number == FM_PERF_NO_MAP && m->kernel != FM_PERF_NO_MAP &&
            ip >= m->range[m->kernel].start && ip < m->range[m->kernel].end)
            number = m->kernel;
        return number;
    case FM_PERF_MODE_USER:
        if (FM_UNLIKELY(process->code.root != 0))
            number = fm_perf_tree_find(&m->maps, &process->code, ip);
        if (number == FM_PERF_NO_MAP)
            number = fm_perf_tree_find(&m->maps, &process->maps, ip);
        if (number == FM_PERF_NO_MAP)
            number = fm_perf_tree_find(&m->maps, &process->code_before, ip);
        if (number == FM_PERF_NO_MAP)
            number = fm_perf_tree_find(&m->maps, &process->before, ip);
        return number;
    case FM_PERF_MODE_GUEST_KERNEL:
        return fm_perf_tree_find(&m->maps, &m->guest, ip);
    default:
        return FM_PERF_NO_MAP;
    }
}

struct fm_perf_range *fm_perf_machine_range(struct fm_perf_machine *m,
                                            const struct fm_perf_process *process, uint8_t mode,
                                            uint64_t ip)
{
    uint32_t number = find_range(m, process, mode, ip);
    return number != FM_PERF_NO_MAP ? &m->range[number] : NULL;
}

static uint8_t frame_kind(uint8_t mode, uint8_t module_kind)
{
    static const uint8_t kind[] = {FM_FRAME_UNKNOWN, FM_FRAME_KERNEL, FM_FRAME_USER,
                                   FM_FRAME_HYPERVISOR, FM_FRAME_GUEST_KERNEL, FM_FRAME_GUEST};
    return module_kind == FM_MODULE_JIT ? FM_FRAME_JIT
                                        : mode < FM_COUNT(kind) ? kind[mode] : FM_FRAME_UNKNOWN;
}

/* What a jitdump says about an address. */
static void name_code(struct fm_perf_machine *m, const struct fm_perf_range *range, uint64_t at,
                      struct fm_frame_row *row)
{
    struct fm_perf_code *code = &m->jits.code[range->code - 1];
    const struct fm_jitdump_line *line = fm_jitdump_line(code->dump, code->code, at);
    if (code->function == 0)
        fm_perf_jit_name(m, code);
    row->function = code->function;
    row->raw = code->raw;
    row->file = code->file;
    row->line = code->line;
    row->column = code->column;
    row->kind = code->kind;
    if (line != NULL) {
        row->column = 0;
        row->file = fm_builder_str(m->builder, line->file, strlen(line->file));
        row->line = line->line;
    }
}

/* The name that the recording itself has for the frame's address. */
static void name_frame(struct fm_perf_machine *m, const struct fm_perf_range *range, uint64_t ip,
                       struct fm_frame_row *row)
{
    struct fm_perf_names_file *file = fm_perf_names_of(&m->names, range->name);
    if (file == NULL)
        return;
    /* code made at run time has absolute addresses, whatever kind of file holds its symbols */
    row->function = range->kind == FM_MODULE_JIT ? fm_perf_names_absolute(file, ip)
                                                 : fm_perf_names_at(file, ip, ip + range->delta);
    if (file->kind == FM_PERF_NAMES_DEX)
        row->kind = FM_FRAME_INTERPRETED;
}

fm_frame fm_perf_machine_frame(struct fm_perf_machine *m, const struct fm_perf_process *process,
                               uint8_t mode, uint64_t ip, bool caller)
{
    caller = caller && !m->calls_exact;
    struct fm_frame_row row = {.address = ip, .caller = caller};
    uint64_t at = caller && !m->jits.exact && ip > 0 ? ip - 1 : ip;
    uint32_t number = FM_PERF_NO_MAP;
    if (FM_UNLIKELY(process->code.root != 0) && mode == FM_PERF_MODE_USER)
        number = fm_perf_tree_find(&m->maps, &process->code, at);
    if (number == FM_PERF_NO_MAP)
        number = find_range(m, process, mode, ip);
    if (number == FM_PERF_NO_MAP && mode == FM_PERF_MODE_UNKNOWN) {
        mode = ip >= 0xffff800000000000u ? FM_PERF_MODE_KERNEL : FM_PERF_MODE_USER;
        number = find_range(m, process, mode, ip);
    }
    if (number == FM_PERF_NO_MAP) {
        row.module = unknown_module(m);
        row.kind = frame_kind(mode, FM_MODULE_UNKNOWN);
    } else {
        struct fm_perf_range *range = &m->range[number];
        row.module = module_of(m, range);
        row.kind = frame_kind(mode, range->kind);
        row.address = ip + range->delta;
        if (range->kind == FM_MODULE_BPF)
            row.function = range->name;
        if (range->code != 0)
            name_code(m, range, at, &row);
        if (m->names.files > 0)
            name_frame(m, range, ip, &row);
    }
    return row.module != FM_NONE ? fm_builder_frame(m->builder, &row) : FM_NONE;
}
