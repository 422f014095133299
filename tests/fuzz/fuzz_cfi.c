/*
 * fuzz_cfi.c - any bytes as an ELF file with call frame information: rows all over it, their
 * expressions, and stacks unwound by them.
 */
#include "symbol/cfi.h"
#include "symbol/elf_inner.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
extern const char fuzz_name[];
const char fuzz_name[] = "cfi";

static void demand(bool ok)
{
    if (!ok)
        abort();
}

static bool read_word(void *user, uint64_t address, uint64_t *value)
{
    *value = address * 0x9e3779b97f4a7c15u;
    return user != NULL && address % 7 != 0;
}

static void check_row(const struct fm_cfi_row *row, const uint8_t *data)
{
    const uint64_t reg[FM_CFI_REGS] = {1, 8, 0x1000, UINT64_MAX, 4096};
    struct fm_cfi_machine machine = {.reg = reg, .valid = 0xffff, .word = 8, .read = read_word,
                                     .user = (void *)(uintptr_t)data};
    uint64_t value;
    demand(row->rules <= FM_CFI_REGS && row->return_reg < FM_CFI_REGS);
    if (row->cfa.kind == FM_CFI_VAL_EXPR)
        fm_cfi_evaluate(&machine, row->cfa.u.expr, row->cfa.expr_n, false, 0, &value);
    for (unsigned i = 0; i < row->rules; i++) {
        const struct fm_cfi_rule *rule = &row->rule[i];
        demand(rule->reg < FM_CFI_REGS && rule->kind != FM_CFI_UNSET);
        if (rule->kind == FM_CFI_EXPR || rule->kind == FM_CFI_VAL_EXPR)
            fm_cfi_evaluate(&machine, rule->u.expr, rule->expr_n, true, 4096, &value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fm_ctx *ctx = fm_ctx_new();
    struct fm_elf *elf = NULL;
    struct fm_cfi *cfi = NULL;
    struct fm_image image;
    if (ctx == NULL)
        return 0;
    fm_ctx_set_cap(ctx, FM_CAP_MEMORY, (uint64_t)64 << 20);
    if (fm_image_copy(ctx, data, n, &image) == FM_OK && fm_elf_open(ctx, &image, &elf) == FM_OK)
        cfi = fm_cfi_new(ctx, elf, NULL);
    for (uint64_t i = 0; cfi != NULL && i < 600; i++) {
        /* code lies at the start of a small file */
        const struct fm_cfi_row *row = fm_cfi_find(cfi, i < 500 ? 0x200 + i : i << (i % 60));
        if (row != NULL)
            check_row(row, data);
    }
    fm_cfi_free(cfi);
    fm_elf_close(elf);
    demand(atomic_load(&ctx->mem.used) == 0);
    fm_ctx_free(ctx);
    return 0;
}
