/*
 * names.h - names that a recording brings along: simpleperf writes the symbols that its samples hit
 * into the file, so that no other file is needed to read it.
 */
#ifndef FM_IMPORT_PERF_NAMES_H
#define FM_IMPORT_PERF_NAMES_H

#include "store/build.h"
#include "util/map.h"

enum fm_perf_names_kind {
    FM_PERF_NAMES_KERNEL, FM_PERF_NAMES_KMODULE, FM_PERF_NAMES_ELF, FM_PERF_NAMES_DEX,
    FM_PERF_NAMES_JIT, FM_PERF_NAMES_OTHER
};

struct fm_perf_name {
    uint64_t start, end;        /* addresses inside of the file */
    fm_str name;
};

struct fm_perf_names_file {
    uint8_t kind;
    uint64_t base, base_at;     /* an address, and its file offset (modules: its memory offset) */
    struct fm_perf_name *name;
    size_t n, cap;
    bool sorted;
};

struct fm_perf_names {
    struct fm_mem *mem;
    struct fm_map by_path;      /* fm_str -> number */
    struct fm_perf_names_file *file;
    size_t files, file_cap;
};

void fm_perf_names_init(struct fm_perf_names *names, struct fm_mem *mem);
void fm_perf_names_release(struct fm_perf_names *names);
/* The file of a path, made when it is new; NULL: no memory. Valid until the next one is made. */
struct fm_perf_names_file *fm_perf_names_file(struct fm_perf_names *names, fm_str path);
/* A symbol; false: no memory. */
bool fm_perf_names_add(struct fm_perf_names *names, struct fm_perf_names_file *file,
                       uint64_t start, uint64_t length, fm_str name);
/* The file of a path, or NULL. */
struct fm_perf_names_file *fm_perf_names_of(struct fm_perf_names *names, fm_str path);
/* The name at an ip whose offset in the file (ip - start + pgoff) is `offset`; 0: none. */
fm_str fm_perf_names_at(struct fm_perf_names_file *file, uint64_t ip, uint64_t offset);
/* The name at an address as symbols have it. */
fm_str fm_perf_names_absolute(struct fm_perf_names_file *file, uint64_t at);

#endif
