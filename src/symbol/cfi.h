/*
 * cfi.h - call frame information of one ELF file: how to get from a frame to its caller.
 *
 * For an address the rules are those that .eh_frame (found through .eh_frame_hdr, when there is a
 * usable one) or else .debug_frame give; they say where the canonical frame address (CFA) and the
 * caller's registers are. Registers have DWARF numbers of the machine; those from FM_CFI_REGS on
 * are passed over. The file may lie: all is bounded by the bytes that are there.
 *
 * Layouts: DWARF 5 standard, 6.4 and 7.24; Linux Standard Base core, "Exception Frames"; AArch64
 * DWARF ABI for DW_CFA_AARCH64_negate_ra_state.
 */
#ifndef FM_SYMBOL_CFI_H
#define FM_SYMBOL_CFI_H

#include "symbol/elf.h"
#include "util/cursor.h"

#define FM_CFI_REGS 34u

enum fm_cfi_kind {
    FM_CFI_UNSET,            /* not told: the register is not changed */
    FM_CFI_SAME,
    FM_CFI_UNDEFINED,
    FM_CFI_OFFSET,           /* at CFA + offset */
    FM_CFI_VAL_OFFSET,       /* is CFA + offset */
    FM_CFI_REGISTER,         /* is in register `from` */
    FM_CFI_EXPR,             /* at the expression's value */
    FM_CFI_VAL_EXPR          /* is the expression's value */
};

struct fm_cfi_rule {
    uint8_t reg, kind, from;
    uint32_t expr_n;
    union {
        int64_t offset;
        const unsigned char *expr;      /* within the file */
    } u;
};

struct fm_cfi_row {
    struct fm_cfi_rule cfa;  /* FM_CFI_OFFSET: register `from` + offset; FM_CFI_VAL_EXPR */
    uint8_t return_reg;      /* the column of the return address */
    bool signal;             /* frame of a signal handler's caller: its pc is exact */
    bool root;               /* the return address is undefined: there is no caller */
    uint8_t rules;
    struct fm_cfi_rule rule[];          /* `rules` of them */
};

struct fm_cfi;

/* `runtime` is what was mapped, `debug` the file with debug sections (or the same, or NULL). Both
 * are borrowed. NULL: no memory. */
struct fm_cfi *fm_cfi_new(struct fm_ctx *ctx, const struct fm_elf *runtime,
                          const struct fm_elf *debug);
void fm_cfi_free(struct fm_cfi *cfi);

/* The row for an address of the ELF file; it lives as long as the object. NULL: none is told for it
 * (or no memory: fm_cfi_oom). */
const struct fm_cfi_row *fm_cfi_find(struct fm_cfi *cfi, uint64_t pc);
bool fm_cfi_oom(const struct fm_cfi *cfi);

/*
 * Evaluates a DWARF expression. Registers come from reg[FM_CFI_REGS], memory from `read` (a word of
 * `word` bytes, 4 or 8). `first` is pushed when push is set (the CFA, in rules of registers).
 * False: it cannot be evaluated. Bounded in steps and depth.
 */
struct fm_cfi_machine {
    const uint64_t *reg;
    uint64_t valid;                     /* a bit a register */
    unsigned word;
    bool swap;                          /* numbers within the expression */
    bool (*read)(void *user, uint64_t address, uint64_t *value);
    void *user;
};
bool fm_cfi_evaluate(const struct fm_cfi_machine *machine, const unsigned char *expr, size_t n,
                     bool push, uint64_t first, uint64_t *value);

#endif
