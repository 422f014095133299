/*
 * symbol.h - names for the unique frames of a sealed store.
 *
 * Importers have resolved (time, pid, ip) to (module, address) already; here each module that has
 * unnamed frames is looked up once: symbol tables are found (identity by build-id), sorted, and its
 * frames are named in address order. No sample is touched. Addresses of user modules are FILE
 * OFFSETS; kernel, JIT and BPF addresses are absolute (enum fm_module_kind).
 *
 * Callers (frame.caller) are looked up at address - 1; `callers_exact` looks them up as they are.
 * Where no symbol holds the byte before a return address but one starts at it, that one counts: the
 * kernel returns to such addresses (signal trampolines), no call does.
 */
#ifndef FM_SYMBOL_SYMBOL_H
#define FM_SYMBOL_SYMBOL_H

#include "store/store.h"

enum fm_demangle { FM_DEMANGLE_SHORT, FM_DEMANGLE_FULL, FM_DEMANGLE_RAW };

struct fm_symbol_options {
    const char *symfs;        /* NULL = "" */
    const char *buildid_dir;  /* NULL = $HOME/.debug */
    const char *kallsyms;
    const char *vmlinux;
    const char *map_dir;      /* folder with perf-PID.map files; NULL = none given */
    const char *input;        /* path of the first input: archives beside it; NULL = none */
    const char *input_dir;    /* its folder, also searched for what JITs leave */
    const char *os_release;   /* of the recorded kernel, for the vmlinux search; NULL unknown */
    enum fm_demangle demangle;
    bool callers_exact;
    /* only for fm_symbolize(): */
    bool lines;               /* file, line and column from DWARF */
    bool inlines;             /* inlined calls as frames, from DWARF */
    bool debuginfod;          /* servers are asked for files that are missing */
};

/* Those of an import that say where files are; the rest is not set. NULL: defaults. */
struct fm_symbol_options fm_symbol_options_of(const struct fm_import_options *import);

bool fm_demangle_find(const char *s, enum fm_demangle *style);

/* Names every frame it can. Findings (mismatched build-ids, broken files) go to the diags of the
 * module's source; where it looked goes to module.looked. Only no memory is a failure. */
enum fm_status fm_symbolize(struct fm_ctx *ctx, struct fm_store *store,
                            const struct fm_symbol_options *options, struct fm_error *err);

#endif
