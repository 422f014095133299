/*
 * extra.h - what samples of memory and branch events carry beside their call chain.
 */
#ifndef FM_IMPORT_PERF_EXTRA_H
#define FM_IMPORT_PERF_EXTRA_H

#include "format/mapping.h"
#include "util/cursor.h"

struct fm_perf;

enum {
    FM_PERF_X_OP, FM_PERF_X_LEVEL, FM_PERF_X_SNOOP, FM_PERF_X_TLB, FM_PERF_X_LOCK,
    FM_PERF_X_BLOCKED, FM_PERF_X_OBJECT, FM_PERF_X_INSTRUCTION_LATENCY, FM_PERF_X_RETIRE_LATENCY,
    FM_PERF_X_BRANCHES, FM_PERF_X_MISPREDICTED, FM_PERF_X_BRANCH_CYCLES,
    FM_PERF_EXTRAS
};
extern const struct fm_field fm_perf_extra_field[FM_PERF_EXTRAS];

/* A sample's, as recorded. */
struct fm_perf_extra {
    uint64_t data_src, weight;      /* weight: the whole word */
    bool has_data_src, has_weights; /* weights: three of them in the word */
    struct fm_cursor branch;        /* entries { u64 from, to, flags } */
    uint64_t branches;
    uint32_t process;
    uint64_t addr;
    uint8_t mode;                   /* cpumode of the record */
    bool has_addr;
};

/* The fields in `wanted` (a bit each) to value[]; which of them there are. */
uint64_t fm_perf_extra_read(struct fm_perf *perf, const struct fm_perf_extra *extra,
                            uint64_t wanted, uint64_t *value);

/* The event "branches": a row an entry of the branch stack, from the branch (root) to where it went
 * (leaf). The class is declared with the first one. */
struct fm_perf_branch_class {
    int class_id;
    bool declared;
};
struct fm_perf_branch_row {
    uint64_t time, thread, comm, cpu;   /* UINT64_MAX: not known */
};
bool fm_perf_branch_rows(struct fm_perf *perf, const struct fm_perf_extra *extra,
                         const struct fm_perf_branch_row *row);

/* "L1 hit" and the like, as perf names it; for tests. Returns the length. */
size_t fm_perf_level_text(uint64_t src, char *out, size_t n);

#endif
