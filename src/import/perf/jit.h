/*
 * jit.h - code from jitdump files as mappings in time.
 *
 *     MMAP2 ".../jit-PID.dump"   a process tells where its JIT writes: the file is sought and read
 *     before each sample,        what the dump says up to that time lies in a tree of its own,
 *     mapping, fork              over the mappings of the process
 *
 * Such code stays when anonymous memory is mapped over it (runtimes do that to what they manage);
 * a file that is mapped there takes its place. A child of a fork goes on with what its parent had.
 */
#ifndef FM_IMPORT_PERF_JIT_H
#define FM_IMPORT_PERF_JIT_H

#include "store/store.h"
#include "symbol/jitdump.h"
#include "symbol/symbol.h"

/* A dump of a process. */
struct fm_perf_jit {
    struct fm_jitdump *dump;    /* NULL: none was found */
    fm_str path;                /* as recorded */
    size_t next;                /* code that does not lie there yet */
    uint32_t process;
    uint32_t other;             /* number + 1 of the process's dump before this one */
    bool timeless;              /* its clock is not that of the samples */
};

/* Code of a dump that lies somewhere. */
struct fm_perf_code {
    const struct fm_jitdump *dump;
    const struct fm_jitdump_code *code;
    fm_str function, raw, file; /* function 0: not named yet */
    uint32_t line, column;
    uint8_t kind;               /* enum fm_frame_kind */
};

struct fm_perf_jits {
    struct fm_perf_jit *jit;
    size_t n, cap;
    struct fm_perf_code *code;
    size_t codes, code_cap;
    bool wanted;                /* names are */
    enum fm_demangle style;
    bool exact;                 /* callers are looked up at their return address */
    bool has_conversion;        /* of ticks of the processor to the clock of perf */
    uint16_t shift;
    uint64_t mult, zero;
};

struct fm_perf;
struct fm_perf_machine;
struct fm_perf_mapping;

void fm_perf_jits_release(struct fm_perf *perf);
/* The number N of a path that ends in "jit-N.dump", else false. */
bool fm_perf_jit_marker(const char *path, size_t n, uint32_t *pid);
/* A mapping of such a file: reads it. False: the import has failed. */
bool fm_perf_jit_open(struct fm_perf *perf, const struct fm_perf_mapping *mapping);
/* Lays down what the dumps of a process say up to a time (UINT64_MAX: unknown, all). False: the
 * import has failed. */
bool fm_perf_jit_until(struct fm_perf *perf, uint32_t process, uint64_t time);
/* What the name of code says, into `code`. */
void fm_perf_jit_name(struct fm_perf_machine *m, struct fm_perf_code *code);

#endif
