/*
 * unwind.h - call chains of user code from registers and a copy of the stack.
 *
 *     pc, sp, registers ──> place of pc (module, file offset) ──> row of call frame information
 *            ^                                                            │
 *            └──────── caller's pc, sp, registers <── CFA, saved registers in the stack copy
 *
 * Modules are opened once, by their recorded identity (symbol/find.h); a row is worked out once for
 * an address of a module, and stands in a cache in front by (space, pc). Where no row is told the
 * frame pointer is followed, when it points into the copy and to code.
 *
 * The caller owns the map of the address space and answers for it through `find`.
 */
#ifndef FM_SYMBOL_UNWIND_H
#define FM_SYMBOL_UNWIND_H

#include "symbol/symbol.h"

enum fm_unwind_arch { FM_UNWIND_X86_64, FM_UNWIND_I386, FM_UNWIND_AARCH64, FM_UNWIND_NO_ARCH };

/* "x86_64", "aarch64" ... as uname says it; FM_UNWIND_NO_ARCH for others. */
enum fm_unwind_arch fm_unwind_arch_find(const char *name);
/* Where register `reg` (as perf numbers it) of the architecture goes: a DWARF register, or
 * FM_UNWIND_PC, or -1. */
#define FM_UNWIND_PC 63
int fm_unwind_register(enum fm_unwind_arch arch, unsigned reg);

struct fm_unwind_place {
    uint32_t module;             /* fm_unwind_module(), FM_NONE: no file stands behind it */
    uint64_t delta;              /* file offset - address */
    bool code;
};
/* What is mapped at an address; false: nothing. */
typedef bool fm_unwind_find_fn(void *user, uint64_t address, struct fm_unwind_place *place);

enum fm_unwind_end {
    FM_UNWIND_ROOT,              /* the outermost frame */
    FM_UNWIND_CUT,               /* the stack goes on beyond the copy, or has too many frames */
    FM_UNWIND_LOST               /* nothing tells how to go on, or what was told is wrong */
};

struct fm_unwind_input {
    enum fm_unwind_arch arch;
    uint64_t space;              /* equal numbers: equal answers of `find` */
    uint64_t reg[34];            /* by DWARF number */
    uint64_t valid;              /* a bit a register */
    uint64_t pc;
    const unsigned char *stack;  /* copy of the memory from the stack pointer on */
    size_t n;
    fm_unwind_find_fn *find;
    void *user;
};

struct fm_unwind_frame {
    uint64_t pc;
    bool exact;                  /* interrupted there; otherwise it stands behind a call */
};

struct fm_unwind;

/* The options are borrowed for the life of the object. NULL: no memory. */
struct fm_unwind *fm_unwind_new(struct fm_ctx *ctx, const struct fm_symbol_options *options);
void fm_unwind_free(struct fm_unwind *unwind);

/* A module by its recorded path and build-id ("" unknown); opened when first needed. FM_NONE: no
 * memory. Texts are copied. */
uint32_t fm_unwind_module(struct fm_unwind *unwind, const char *path, const char *build_id,
                          bool foreign_root, bool vdso);

/* Fills frame[max] leaf first and returns how many; *end says why it ended there. 0 only without a
 * pc. fm_unwind_oom() tells of no memory. */
size_t fm_unwind_run(struct fm_unwind *unwind, const struct fm_unwind_input *input,
                     struct fm_unwind_frame *frame, size_t max, enum fm_unwind_end *end);
bool fm_unwind_oom(const struct fm_unwind *unwind);

#endif
