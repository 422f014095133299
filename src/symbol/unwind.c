/*
 * unwind.c - the step from a frame to its caller, repeated: see unwind.h.
 *
 * Rules of a step, by the psABIs (x86-64, i386, AArch64):
 *
 *  - the CFA is the stack pointer of the caller; it must lie above that of the frame, except that a
 *    signal handler may run on a stack of its own
 *  - a register that no rule names keeps its value; on AArch64 that holds for the return address,
 *    too (a leaf has not saved it)
 *  - callers are looked up one byte before their pc, which stands behind the call; above a frame of
 *    a signal the pc is where the program was interrupted
 *  - AArch64 return addresses may be signed: user addresses have 48 bits
 *
 * Memory is the copy of the stack; what lies elsewhere is read from the file that is mapped there.
 */
#include "symbol/unwind.h"

#include "symbol/cfi.h"
#include "symbol/elf_inner.h"
#include "symbol/find.h"

#include <elf.h>

#define CACHE 4096u              /* slots, a power of two */

struct module {
    const char *path, *build_id;
    bool foreign_root, vdso, opened;
    struct fm_elf *runtime, *debug;   /* debug: NULL when it is the same */
    struct fm_cfi *cfi;
};

struct slot {
    uint64_t space, pc;
    const struct fm_cfi_row *row;
    bool used, code;
};

struct fm_unwind {
    struct fm_ctx *ctx;
    struct fm_find find;
    struct fm_arena arena;
    struct module *module;
    size_t modules, module_cap;
    struct slot *cache;
    bool oom;
};

struct arch {
    uint8_t word, pc_reg, sp, fp;     /* pc_reg: the return address column of the psABI */
    uint64_t mask;                    /* of an address */
};

static const struct arch arch_table[] = {
    [FM_UNWIND_X86_64] = {8, 16, 7, 6, UINT64_MAX},
    [FM_UNWIND_I386] = {4, 8, 4, 5, UINT32_MAX},
    [FM_UNWIND_AARCH64] = {8, 30, 31, 29, (1ull << 48) - 1},
};

enum fm_unwind_arch fm_unwind_arch_find(const char *name)
{
    static const struct {
        const char *name;
        enum fm_unwind_arch arch;
    } known[] = {{"x86_64", FM_UNWIND_X86_64}, {"amd64", FM_UNWIND_X86_64},
                 {"i386", FM_UNWIND_I386},     {"i486", FM_UNWIND_I386},
                 {"i586", FM_UNWIND_I386},     {"i686", FM_UNWIND_I386},
                 {"aarch64", FM_UNWIND_AARCH64}, {"arm64", FM_UNWIND_AARCH64}};
    for (size_t i = 0; i < FM_COUNT(known); i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].arch;
    return FM_UNWIND_NO_ARCH;
}

int fm_unwind_register(enum fm_unwind_arch arch, unsigned reg)
{
    static const int8_t x86_64[] = {0, 2, 3, 1, 4, 5, 6, 7, FM_UNWIND_PC, -1, -1, -1,
                                    -1, -1, -1, -1, 8, 9, 10, 11, 12, 13, 14, 15};
    static const int8_t i386[] = {0, 3, 1, 2, 6, 7, 5, 4, FM_UNWIND_PC};
    switch (arch) {
    case FM_UNWIND_X86_64: return reg < FM_COUNT(x86_64) ? x86_64[reg] : -1;
    case FM_UNWIND_I386: return reg < FM_COUNT(i386) ? i386[reg] : -1;
    case FM_UNWIND_AARCH64: return reg < 32 ? (int)reg : reg == 32 ? FM_UNWIND_PC : -1;
    default: return -1;
    }
}

/* -------------------------------------------------------------------- modules */

struct fm_unwind *fm_unwind_new(struct fm_ctx *ctx, const struct fm_symbol_options *options)
{
    struct fm_unwind *u = fm_mem_zalloc(&ctx->mem, sizeof *u);
    if (u == NULL)
        return NULL;
    u->ctx = ctx;
    fm_arena_init(&u->arena, &ctx->mem);
    u->cache = fm_mem_zalloc(&ctx->mem, CACHE * sizeof *u->cache);
    if (u->cache == NULL || fm_find_init(&u->find, ctx, options, &u->arena) != FM_OK) {
        fm_unwind_free(u);
        return NULL;
    }
    return u;
}

void fm_unwind_free(struct fm_unwind *u)
{
    if (u == NULL)
        return;
    struct fm_mem *mem = &u->ctx->mem;
    for (size_t i = 0; i < u->modules; i++) {
        fm_cfi_free(u->module[i].cfi);
        fm_elf_close(u->module[i].debug);
        fm_elf_close(u->module[i].runtime);
    }
    fm_mem_free(mem, u->module, u->module_cap * sizeof *u->module);
    if (u->cache != NULL)
        fm_mem_free(mem, u->cache, CACHE * sizeof *u->cache);
    fm_find_release(&u->find);
    fm_arena_release(&u->arena);
    fm_mem_free(mem, u, sizeof *u);
}

bool fm_unwind_oom(const struct fm_unwind *u)
{
    return u->oom;
}

uint32_t fm_unwind_module(struct fm_unwind *u, const char *path, const char *build_id,
                          bool foreign_root, bool vdso)
{
    struct module m = {.path = fm_arena_str(&u->arena, path),
                       .build_id = fm_arena_str(&u->arena, build_id),
                       .foreign_root = foreign_root,
                       .vdso = vdso};
    if (m.path == NULL || m.build_id == NULL || u->modules >= FM_NONE ||
        !fm_grow(&u->ctx->mem, (void **)&u->module, &u->module_cap, u->modules + 1,
                 sizeof *u->module)) {
        u->oom = true;
        return FM_NONE;
    }
    u->module[u->modules] = m;
    return (uint32_t)u->modules++;
}

static void open_module(struct fm_unwind *u, struct module *m)
{
    static const char mark[] = " (deleted)";
    struct fm_find *find = &u->find;
    size_t n = strlen(m->path), k = sizeof mark - 1;
    bool deleted = n > k && strcmp(m->path + n - k, mark) == 0;
    const char *path = fm_arena_strn(&u->arena, m->path, deleted ? n - k : n);
    m->opened = true;
    if (path == NULL) {
        u->oom = true;
        return;
    }
    fm_find_begin(find, path, m->build_id, m->foreign_root);
    find->deleted = deleted;
    if (m->vdso)
        fm_find_vdso(find);
    else
        fm_find_user(find);
    m->runtime = find->runtime;
    m->debug = find->symtab != find->runtime ? find->symtab : NULL;
    find->runtime = find->symtab = NULL;
    if (!find->oom && m->runtime != NULL)
        m->cfi = fm_cfi_new(u->ctx, m->runtime, m->debug);
    u->oom = u->oom || find->oom || (m->runtime != NULL && m->cfi == NULL);
}

static struct module *module_at(struct fm_unwind *u, uint32_t number)
{
    if (number >= u->modules)
        return NULL;
    if (!u->module[number].opened)
        open_module(u, &u->module[number]);
    return &u->module[number];
}

/* ----------------------------------------------------------------- one stack */

struct walk {
    struct fm_unwind *u;
    const struct fm_unwind_input *in;
    const struct arch *arch;
    uint64_t reg[FM_CFI_REGS], valid, pc;
    uint64_t base;               /* address of in->stack */
    bool beyond;                 /* a read went beyond the copy */
};

static uint64_t load(const struct walk *w, const unsigned char *p)
{
    return w->arch->word == 8 ? fm_load_u64(p) : fm_load_u32(p);
}

/* Memory that is no stack: of the file that is mapped there. */
static bool read_file(struct walk *w, uint64_t address, uint64_t *value)
{
    struct fm_unwind_place place;
    if (!w->in->find(w->in->user, address, &place) || place.module == FM_NONE)
        return false;
    const struct module *m = module_at(w->u, place.module);
    uint64_t offset = address + place.delta;
    if (m == NULL || m->runtime == NULL || offset > m->runtime->image.n ||
        m->runtime->image.n - offset < w->arch->word)
        return false;
    *value = load(w, m->runtime->image.data + offset);
    return true;
}

static bool read_word(void *user, uint64_t address, uint64_t *value)
{
    struct walk *w = user;
    uint64_t at = (address & w->arch->mask) - w->base;
    if (FM_LIKELY(at < w->in->n && w->in->n - at >= w->arch->word)) {
        *value = load(w, w->in->stack + at);
        return true;
    }
    if (read_file(w, address, value))
        return true;
    w->beyond = w->beyond || (at >= w->in->n && at < 1u << 30) || w->in->n - at < w->arch->word;
    return false;
}

static bool evaluate(struct walk *w, const struct fm_cfi_rule *rule, bool push, uint64_t cfa,
                     uint64_t *value)
{
    struct fm_cfi_machine machine = {.reg = w->reg, .valid = w->valid, .word = w->arch->word,
                                     .read = read_word, .user = w};
    return fm_cfi_evaluate(&machine, rule->u.expr, rule->expr_n, push, cfa, value);
}

static bool find_cfa(struct walk *w, const struct fm_cfi_row *row, uint64_t *cfa)
{
    const struct fm_cfi_rule *rule = &row->cfa;
    if (rule->kind == FM_CFI_VAL_EXPR)
        return evaluate(w, rule, false, 0, cfa);
    if (rule->kind != FM_CFI_OFFSET || rule->from >= FM_CFI_REGS ||
        (w->valid >> rule->from & 1) == 0)
        return false;
    *cfa = (w->reg[rule->from] + (uint64_t)rule->u.offset) & w->arch->mask;
    return true;
}

/* The caller's value of a register; false: it has none that can be known. */
static bool apply(struct walk *w, const struct fm_cfi_rule *rule, uint64_t cfa, uint64_t *value)
{
    uint64_t address;
    switch (rule->kind) {
    case FM_CFI_OFFSET:
        return read_word(w, cfa + (uint64_t)rule->u.offset, value);
    case FM_CFI_VAL_OFFSET:
        *value = cfa + (uint64_t)rule->u.offset;
        return true;
    case FM_CFI_REGISTER:
        if (rule->from >= FM_CFI_REGS || (w->valid >> rule->from & 1) == 0)
            return false;
        *value = w->reg[rule->from];
        return true;
    case FM_CFI_EXPR:
        return evaluate(w, rule, true, cfa, &address) && read_word(w, address, value);
    case FM_CFI_VAL_EXPR:
        return evaluate(w, rule, true, cfa, value);
    case FM_CFI_SAME:
        *value = w->reg[rule->reg];
        return (w->valid >> rule->reg & 1) != 0;
    default:
        return false;
    }
}

/* Registers and pc of the caller by the row; false: the return address cannot be had. */
static bool step_by_row(struct walk *w, const struct fm_cfi_row *row)
{
    uint64_t value[FM_CFI_REGS], cfa, valid = w->valid, old_sp = w->reg[w->arch->sp];
    if (!find_cfa(w, row, &cfa) || (cfa <= old_sp && !row->signal && cfa != old_sp))
        return false;
    bool moved = cfa != old_sp;
    for (unsigned i = 0; i < row->rules; i++) {
        uint64_t bit = 1ull << row->rule[i].reg;
        if (apply(w, &row->rule[i], cfa, &value[i]))
            valid |= bit;
        else
            valid &= ~bit;
    }
    for (unsigned i = 0; i < row->rules; i++)
        w->reg[row->rule[i].reg] = value[i] & (w->arch->word == 4 ? UINT32_MAX : UINT64_MAX);
    w->valid = valid;
    if ((valid >> row->return_reg & 1) == 0)
        return false;
    uint64_t pc = w->reg[row->return_reg] & w->arch->mask;
    if (!moved && pc == w->pc)
        return false;            /* nothing has changed: it would go on for ever */
    w->pc = pc;
    bool told = false;           /* the rules may say what the stack pointer was */
    for (unsigned i = 0; i < row->rules; i++)
        told = told || row->rule[i].reg == w->arch->sp;
    if (!told) {
        w->reg[w->arch->sp] = cfa;
        w->valid |= 1ull << w->arch->sp;
    }
    return true;
}

/* The frame pointer: [fp] = the caller's, [fp + word] = return address. */
static bool step_by_pointer(struct walk *w)
{
    const struct arch *a = w->arch;
    struct fm_unwind_place place;
    uint64_t fp = w->reg[a->fp], next, pc;
    if ((w->valid >> a->fp & 1) == 0 || fp < w->reg[a->sp] || fp % a->word != 0 ||
        fp - w->base >= w->in->n)
        return false;
    if (!read_word(w, fp, &next) || !read_word(w, fp + a->word, &pc))
        return false;
    pc &= a->mask;
    if (pc == 0 || !w->in->find(w->in->user, pc - 1, &place) || !place.code)
        return false;
    w->reg[a->fp] = next;
    w->reg[a->sp] = fp + 2u * a->word;
    w->pc = pc;
    return true;
}

static void fill_slot(struct walk *w, struct slot *slot, uint64_t pc)
{
    struct fm_unwind_place place;
    uint64_t address;
    *slot = (struct slot){.space = w->in->space, .pc = pc, .used = true};
    if (!w->in->find(w->in->user, pc, &place))
        return;
    slot->code = place.code;
    struct module *m = place.module != FM_NONE ? module_at(w->u, place.module) : NULL;
    if (m == NULL || m->cfi == NULL || !place.code ||
        !fm_elf_address(m->runtime, pc + place.delta, &address))
        return;
    slot->row = fm_cfi_find(m->cfi, address);
    if (slot->row == NULL && address > 0)
        slot->row = fm_cfi_find(m->cfi, address - 1);   /* behind a call that never returns */
    w->u->oom = w->u->oom || fm_cfi_oom(m->cfi);
}

static const struct slot *slot_of(struct walk *w, uint64_t pc)
{
    struct slot *slot = &w->u->cache[(pc ^ pc >> 12 ^ w->in->space * 0x9e3779b1u) & (CACHE - 1)];
    if (FM_UNLIKELY(!slot->used || slot->pc != pc || slot->space != w->in->space))
        fill_slot(w, slot, pc);
    return slot;
}

size_t fm_unwind_run(struct fm_unwind *u, const struct fm_unwind_input *in,
                     struct fm_unwind_frame *frame, size_t max, enum fm_unwind_end *end)
{
    struct walk w = {.u = u, .in = in, .arch = &arch_table[in->arch], .valid = in->valid,
                     .pc = in->pc & arch_table[in->arch].mask};
    bool exact = true;
    size_t n = 0;
    memcpy(w.reg, in->reg, sizeof w.reg);
    w.base = w.reg[w.arch->sp];
    if (in->arch != FM_UNWIND_AARCH64) {
        w.reg[w.arch->pc_reg] = w.pc;    /* the rules of PLT entries ask for it */
        w.valid |= 1ull << w.arch->pc_reg;
    }
    *end = FM_UNWIND_LOST;
    while (n < max && w.pc != 0 && !u->oom) {
        const struct slot *slot = slot_of(&w, exact ? w.pc : w.pc - 1);
        const struct fm_cfi_row *row = slot->row;
        if (n > 0 && !slot->code)
            return n;            /* no code is there: no caller */
        frame[n++] = (struct fm_unwind_frame){w.pc, exact};
        if (row != NULL && row->root) {
            *end = FM_UNWIND_ROOT;
            return n;
        }
        if (!slot->code || !(row != NULL ? step_by_row(&w, row) : step_by_pointer(&w))) {
            *end = w.beyond ? FM_UNWIND_CUT : FM_UNWIND_LOST;
            return n;
        }
        exact = row != NULL && row->signal;
    }
    *end = n == max ? FM_UNWIND_CUT : FM_UNWIND_ROOT;
    return n;
}
