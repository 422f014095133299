/*
 * names.c - symbols of files that the recording holds itself: see names.h.
 *
 *     path -> { kind, base, base_at, symbols sorted by start }
 *
 * An address inside of the file, by its kind:
 *
 *     kernel, JIT code   the ip as it is
 *     ELF, module        offset - base_at + base, where offset = ip - start + pgoff
 *     dex and others     the offset
 *
 * The symbol is the last one that starts at or before it and reaches beyond it. Rules as observed
 * in simpleperf's recordings and its own reports of them.
 */
#include "import/perf/names.h"

#include <stdlib.h>

void fm_perf_names_init(struct fm_perf_names *names, struct fm_mem *mem)
{
    memset(names, 0, sizeof *names);
    names->mem = mem;
    fm_map_init(&names->by_path, mem);
}

void fm_perf_names_release(struct fm_perf_names *names)
{
    for (size_t i = 0; i < names->files; i++)
        fm_mem_free(names->mem, names->file[i].name,
                    names->file[i].cap * sizeof *names->file[i].name);
    fm_mem_free(names->mem, names->file, names->file_cap * sizeof *names->file);
    fm_map_release(&names->by_path);
}

struct fm_perf_names_file *fm_perf_names_file(struct fm_perf_names *names, fm_str path)
{
    bool fresh;
    uint64_t *number;
    if (!fm_grow(names->mem, (void **)&names->file, &names->file_cap, names->files + 1,
                 sizeof *names->file) ||
        (number = fm_map_put(&names->by_path, path, &fresh)) == NULL)
        return NULL;
    if (fresh) {
        *number = names->files++;
        memset(&names->file[*number], 0, sizeof *names->file);
        names->file[*number].kind = FM_PERF_NAMES_OTHER;
    }
    return &names->file[*number];
}

bool fm_perf_names_add(struct fm_perf_names *names, struct fm_perf_names_file *file,
                       uint64_t start, uint64_t length, fm_str name)
{
    if (!fm_grow(names->mem, (void **)&file->name, &file->cap, file->n + 1, sizeof *file->name))
        return false;
    file->name[file->n++] = (struct fm_perf_name){start, fm_add_sat_u64(start, length), name};
    file->sorted = false;
    return true;
}

struct fm_perf_names_file *fm_perf_names_of(struct fm_perf_names *names, fm_str path)
{
    const uint64_t *number = fm_map_find(&names->by_path, path);
    return number != NULL ? &names->file[*number] : NULL;
}

static int by_start(const void *a, const void *b)
{
    const struct fm_perf_name *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

fm_str fm_perf_names_at(struct fm_perf_names_file *file, uint64_t ip, uint64_t offset)
{
    if (file->kind == FM_PERF_NAMES_KERNEL || file->kind == FM_PERF_NAMES_JIT)
        return fm_perf_names_absolute(file, ip);
    if (file->kind == FM_PERF_NAMES_ELF || file->kind == FM_PERF_NAMES_KMODULE)
        offset = offset - file->base_at + file->base;
    return fm_perf_names_absolute(file, offset);
}

fm_str fm_perf_names_absolute(struct fm_perf_names_file *file, uint64_t at)
{
    size_t low = 0, high = file->n;
    if (!file->sorted && file->n > 0)
        qsort(file->name, file->n, sizeof *file->name, by_start);
    file->sorted = true;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (file->name[middle].start <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && at < file->name[low - 1].end ? file->name[low - 1].name : 0;
}
