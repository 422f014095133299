/*
 * cfi-rows.c - prints the rows of call frame information for the addresses on standard input, for
 * cfi.test:
 *
 *     ADDRESS CFA [REGISTER=RULE ...]      1040 rsp+16 rbp=c-16 ra=c-8
 *
 * in the words of `readelf --debug-dump=frames-interp`. Usage: cfi-rows FILE [DEBUG-FILE]
 */
#include "symbol/cfi.h"
#include "util/ctx.h"

#include <inttypes.h>
#include <stdio.h>

static struct fm_elf *open_file(struct fm_ctx *ctx, const char *path)
{
    struct fm_image image;
    struct fm_elf *elf = NULL;
    if (fm_image_open(ctx, path, false, &image) == FM_OK)
        (void)fm_elf_open(ctx, &image, &elf);
    return elf;
}

static const char *name(unsigned reg)
{
    static const char *const names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
                                        "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
                                        "ra"};
    return reg < FM_COUNT(names) ? names[reg] : "?";
}

static void print_rule(const struct fm_cfi_rule *rule)
{
    switch (rule->kind) {
    case FM_CFI_OFFSET: printf("c%+" PRId64, rule->u.offset); break;
    case FM_CFI_VAL_OFFSET: printf("v%+" PRId64, rule->u.offset); break;
    case FM_CFI_REGISTER: printf("%s", name(rule->from)); break;
    case FM_CFI_EXPR: printf("exp"); break;
    case FM_CFI_VAL_EXPR: printf("vexp"); break;
    case FM_CFI_SAME: printf("s"); break;
    default: printf("u");
    }
}

static void print_row(uint64_t pc, const struct fm_cfi_row *row)
{
    printf("%" PRIx64 " ", pc);
    if (row == NULL) {
        puts("none");
        return;
    }
    if (row->cfa.kind == FM_CFI_OFFSET)
        printf("%s%+" PRId64, name(row->cfa.from), row->cfa.u.offset);
    else
        printf("exp");
    for (unsigned i = 0; i < row->rules; i++) {
        if (row->rule[i].kind == FM_CFI_UNDEFINED && row->rule[i].reg != row->return_reg)
            continue;
        printf(" %s=", name(row->rule[i].reg));
        print_rule(&row->rule[i]);
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    struct fm_ctx *ctx = fm_ctx_new();
    uint64_t pc;
    if (ctx == NULL || argc < 2)
        return 2;
    struct fm_elf *elf = open_file(ctx, argv[1]);
    struct fm_elf *debug = argc > 2 ? open_file(ctx, argv[2]) : NULL;
    struct fm_cfi *cfi = elf != NULL ? fm_cfi_new(ctx, elf, debug) : NULL;
    if (cfi == NULL)
        return 1;
    while (scanf("%" SCNx64, &pc) == 1)
        print_row(pc, fm_cfi_find(cfi, pc));
    fm_cfi_free(cfi);
    fm_elf_close(elf);
    fm_elf_close(debug);
    fm_ctx_free(ctx);
    return 0;
}
