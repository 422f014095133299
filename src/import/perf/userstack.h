/*
 * userstack.h - the user part of a call chain from registers and a copy of the stack
 * (perf record --call-graph dwarf).
 */
#ifndef FM_IMPORT_PERF_USERSTACK_H
#define FM_IMPORT_PERF_USERSTACK_H

#include "symbol/unwind.h"
#include "util/cursor.h"
#include "util/map.h"

struct fm_perf;

struct fm_perf_unwound {         /* a file that was asked for: see userstack.c */
    fm_str name, build_id;
    uint64_t mnt_ns;
    bool vdso;
    uint32_t module, next;       /* next: number + 1 of another one with the same key */
};

struct fm_perf_userstack {
    enum fm_unwind_arch arch;    /* of the recorded machine; FM_UNWIND_NO_ARCH: not told */
    bool told;                   /* the file names its machine */
    struct fm_symbol_options options;
    struct fm_unwind *unwind;    /* NULL until it is needed */
    struct fm_map by_key;        /* -> number + 1 in `file` */
    struct fm_perf_unwound *file;
    size_t files, file_cap;
    uint32_t process;            /* whose stack is being unwound */
};

/* What a sample carries, where it stands in the record. */
struct fm_perf_dump {
    uint64_t abi;                /* 0: no registers */
    const unsigned char *regs;   /* a u64 for each bit of the attribute's mask */
    size_t regs_n;
    const unsigned char *stack;
    size_t n;                    /* bytes of it that are real */
};

void fm_perf_userstack_init(struct fm_perf *perf);
void fm_perf_userstack_release(struct fm_perf *perf);
/* The machine's name, as uname has it. */
void fm_perf_userstack_arch(struct fm_perf *perf, const char *name, size_t n);

enum fm_perf_userstack_end {
    FM_PERF_STACK_NONE, FM_PERF_STACK_ROOT, FM_PERF_STACK_CUT, FM_PERF_STACK_LOST
};
/* Appends the user part to the chain of n words in perf->words; *n grows. */
enum fm_perf_userstack_end fm_perf_userstack(struct fm_perf *perf, uint32_t process, uint64_t mask,
                                             size_t max, const struct fm_perf_dump *dump,
                                             size_t *n);

/* Puts the caller of the leaf into the chain of *n words in perf->words (frame pointers, AArch64),
 * where registers and rules tell it. False: no memory (and failed). */
bool fm_perf_leaf_caller(struct fm_perf *perf, uint32_t process, uint64_t mask,
                         const struct fm_perf_dump *dump, size_t *n);

#endif
