/*
 * plt.c - the entries of procedure linkage tables as name@plt.
 *
 *     .rela.plt, .rela.dyn   r_offset = the GOT slot, r_info -> .dynsym (IRELATIVE: the resolver)
 *     .plt      [header][entry 0][entry 1] ...     .plt.sec  [entry 0][entry 1] ... (callable)
 *     .plt.got  [entry]...                          slots of GLOB_DAT relocations
 *
 * On x86-64 each entry says itself which slot it jumps through (ff 25 disp32: jmp *disp(%rip)), so
 * entries are joined with relocations by the slot: right for any order and for all three sections.
 * On i386 and AArch64 entry k goes with the k-th relocation of .rela.plt by r_offset, which is the
 * order of the slots.
 *
 * An IRELATIVE entry has no symbol: it is named after the IFUNC whose resolver it is
 * (memcpy@@GLIBC_2.14@plt in libc), or offset_0xN@plt by its file offset.
 */
#include "symbol/elf_inner.h"

#include "util/cursor.h"

#define RESOLVERS_MAX 256    /* each costs a pass over the symbols; further ones get an offset */

struct slot {
    uint64_t got;
    uint64_t resolver;       /* IRELATIVE: its address; else 0 */
    uint32_t symbol;         /* index in .dynsym; 0 = none */
};

struct plt {
    const struct fm_elf *elf, *names;
    struct fm_arena *arena;
    struct fm_match *match;
    struct fm_elf_symbols symbols;
    bool has_symbols;
    struct slot *slot;
    size_t slots, slot_cap;
    unsigned resolved;
};

static bool is_irelative(unsigned machine, uint32_t type)
{
    switch (machine) {
    case EM_X86_64:
        return type == R_X86_64_IRELATIVE;
    case EM_386:
        return type == R_386_IRELATIVE;
    case EM_AARCH64:
        return type == R_AARCH64_IRELATIVE;
    default:
        return false;
    }
}

static bool add_slot(struct plt *plt, uint64_t got, uint64_t info, uint64_t addend)
{
    const uint32_t type = (uint32_t)GELF_R_TYPE(info);
    struct slot *slot;

    if (!fm_grow(plt->match->mem, (void **)&plt->slot, &plt->slot_cap, plt->slots + 1,
                 sizeof *plt->slot))
        return false;
    slot = &plt->slot[plt->slots++];
    slot->got = got;
    slot->symbol = (uint32_t)GELF_R_SYM(info);
    slot->resolver = is_irelative(plt->elf->header.e_machine, type) ? addend : 0;
    return true;
}

/* Adds the relocations of a section by its name (.rela.plt, or .rel.plt). */
static bool add_slots(struct plt *plt, const char *name)
{
    const struct fm_elf *elf = plt->elf;
    const struct fm_elf_section *section = fm_elf_section_find(elf, name);
    Elf_Data *data;
    size_t each, n;
    bool rela;

    if (fm_elf_bytes(elf, section) == NULL ||
        (section->type != SHT_RELA && section->type != SHT_REL))
        return true;
    rela = section->type == SHT_RELA;
    data = elf_getdata(elf_getscn(elf->elf, (size_t)(section - elf->section)), NULL);
    each = gelf_fsize(elf->elf, rela ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
    if (data == NULL || data->d_buf == NULL || each == 0)
        return true;
    n = FM_MIN(data->d_size / each, (size_t)INT32_MAX);
    for (size_t i = 0; i < n; i++) {
        GElf_Rela r = { 0 };
        GElf_Rel rel;
        if (rela && gelf_getrela(data, (int)i, &r) == NULL)
            continue;
        if (!rela) {
            if (gelf_getrel(data, (int)i, &rel) == NULL)
                continue;
            r.r_offset = rel.r_offset;
            r.r_info = rel.r_info;
        }
        if (!add_slot(plt, r.r_offset, r.r_info, (uint64_t)r.r_addend))
            return false;
    }
    return true;
}

/* By GOT address; a merge sort without recursion, stable and with no bad case. */
static bool sort_slots(struct plt *plt)
{
    const size_t n = plt->slots, bytes = n * sizeof *plt->slot;
    struct slot *from = plt->slot, *to, *spare, *other;

    if (n < 2)
        return true;
    spare = to = fm_mem_alloc(plt->match->mem, bytes);
    if (spare == NULL)
        return false;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t lo = 0; lo < n; lo += 2 * width) {
            size_t mid = FM_MIN(lo + width, n), hi = FM_MIN(lo + 2 * width, n);
            size_t a = lo, b = mid;
            for (size_t k = lo; k < hi; k++)
                to[k] = a < mid && (b >= hi || from[a].got <= from[b].got) ? from[a++] : from[b++];
        }
        other = from;
        from = to;
        to = other;
    }
    if (from != plt->slot)
        memcpy(plt->slot, from, bytes);
    fm_mem_free(plt->match->mem, spare, bytes);
    return true;
}

static const struct slot *find_slot(const struct plt *plt, uint64_t got)
{
    size_t lo = 0, hi = plt->slots;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (plt->slot[mid].got < got)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < plt->slots && plt->slot[lo].got == got ? &plt->slot[lo] : NULL;
}

/* The IFUNC that an IRELATIVE relocation calls to choose: best as perf chooses among aliases. */
static const char *resolver_name(struct plt *plt, uint64_t address, size_t *n)
{
    struct fm_point point = { .address = address };
    struct fm_match match;
    const char *name = NULL;

    if (plt->resolved++ >= RESOLVERS_MAX)
        return NULL;
    if (fm_match_init(&match, plt->match->mem, &point, 1) != FM_OK) {
        plt->match->oom = true;
        return NULL;
    }
    fm_elf_symbols_of(plt->names, fm_elf_has_symtab(plt->names) ? FM_ELF_SYMTAB : FM_ELF_DYNSYM,
                      0, true, &match);
    if (fm_match_finish(&match) != FM_OK) {
        plt->match->oom = true;
    } else if (point.pick != UINT32_MAX && match.pick[point.pick].start == address) {
        name = match.pick[point.pick].name;
        *n = match.pick[point.pick].length;
    }
    fm_match_release(&match);
    return name;
}

static const char *slot_name(struct plt *plt, const struct slot *slot, uint64_t offset)
{
    const char *name = NULL;
    size_t n = 0;
    GElf_Sym sym;

    if (slot != NULL && slot->symbol != 0 && plt->has_symbols && slot->symbol < plt->symbols.n &&
        gelf_getsym(plt->symbols.data, (int)slot->symbol, &sym) != NULL)
        name = fm_elf_symbols_name(&plt->symbols, sym.st_name, &n);
    else if (slot != NULL && slot->resolver != 0)
        name = resolver_name(plt, slot->resolver, &n);
    if (name == NULL || n == 0 || n > INT32_MAX)
        return fm_arena_printf(plt->arena, "offset_0x%llx@plt", (unsigned long long)offset);
    return fm_arena_printf(plt->arena, "%.*s@plt", (int)n, name);
}

static void offer(struct plt *plt, const struct slot *slot, const struct fm_elf_section *section,
                  uint64_t at, uint64_t size)
{
    struct fm_symbol out = { .start = section->address + at, .size = size };

    out.binding = FM_BIND_GLOBAL;
    out.name = slot_name(plt, slot, section->offset + at);
    if (out.name == NULL)
        return;
    out.length = (uint32_t)strlen(out.name);
    fm_match_offer(plt->match, &out);
}

/* The slot that an x86-64 entry jumps through. */
static bool entry_got(const unsigned char *p, size_t n, uint64_t address, uint64_t *got)
{
    size_t at = 0;
    uint32_t disp;

    if (n >= 4 && memcmp(p, "\xf3\x0f\x1e\xfa", 4) == 0)     /* endbr64 */
        at = 4;
    if (at < n && p[at] == 0xf2)                             /* bnd */
        at++;
    if (n < at + 6 || p[at] != 0xff || p[at + 1] != 0x25)
        return false;
    disp = (uint32_t)p[at + 2] | (uint32_t)p[at + 3] << 8 | (uint32_t)p[at + 4] << 16 |
           (uint32_t)p[at + 5] << 24;
    *got = address + at + 6 + (uint64_t)(int64_t)(int32_t)disp;
    return true;
}

static void by_slot(struct plt *plt, const char *name, bool unnamed_too)
{
    const struct fm_elf_section *section = fm_elf_section_find(plt->elf, name);
    const unsigned char *bytes = fm_elf_bytes(plt->elf, section);
    uint64_t got, each;

    if (bytes == NULL || !fm_match_wants(plt->match, section->address,
                                         section->address + section->size))
        return;
    each = section->entry == 8 ? 8 : 16;
    for (uint64_t at = 0; at + each <= section->size; at += each) {
        const struct slot *slot = NULL;
        if (!fm_match_wants(plt->match, section->address + at, section->address + at + each))
            continue;
        if (entry_got(bytes + at, (size_t)each, section->address + at, &got))
            slot = find_slot(plt, got);
        else if (!unnamed_too)
            continue;
        if (slot != NULL || unnamed_too)
            offer(plt, slot, section, at, each);
    }
}

static void by_order(struct plt *plt, const char *name, uint64_t header, uint64_t each)
{
    const struct fm_elf_section *section = fm_elf_section_find(plt->elf, name);
    uint64_t at = header;

    if (fm_elf_bytes(plt->elf, section) == NULL)
        return;
    if (section->size == plt->slots * each)
        at = 0;                                              /* static: no header */
    for (size_t i = 0; i < plt->slots && at + each <= section->size; i++, at += each) {
        if (fm_match_wants(plt->match, section->address + at, section->address + at + each))
            offer(plt, &plt->slot[i], section, at, each);
    }
}

static bool has_wanted(const struct plt *plt)
{
    static const char *const name[] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };

    for (size_t i = 0; i < FM_COUNT(name); i++) {
        const struct fm_elf_section *s = fm_elf_section_find(plt->elf, name[i]);
        if (s != NULL && fm_match_wants(plt->match, s->address, s->address + s->size))
            return true;
    }
    return false;
}

void fm_elf_plt(const struct fm_elf *elf, const struct fm_elf *names, struct fm_arena *arena,
                struct fm_match *match)
{
    struct plt plt = { .elf = elf, .names = names, .arena = arena, .match = match };
    const unsigned machine = elf->header.e_machine;

    if (elf->header.e_type == ET_REL || !has_wanted(&plt))
        return;
    plt.has_symbols = fm_elf_symbols_open(elf, FM_ELF_DYNSYM, &plt.symbols);
    if (!add_slots(&plt, ".rela.plt") || !add_slots(&plt, ".rel.plt") ||
        (machine == EM_X86_64 && !add_slots(&plt, ".rela.dyn")) || !sort_slots(&plt)) {
        match->oom = true;
    } else if (machine == EM_X86_64) {
        by_slot(&plt, ".plt", false);
        by_slot(&plt, ".iplt", true);
        by_slot(&plt, ".plt.sec", true);
        by_slot(&plt, ".plt.got", true);
    } else if (machine == EM_AARCH64) {
        by_order(&plt, ".plt", 32, 16);
    } else if (machine == EM_386) {
        by_order(&plt, ".plt", 16, 16);
        by_order(&plt, ".plt.sec", 0, 16);
    }
    if (arena->oom)
        match->oom = true;
    fm_mem_free(match->mem, plt.slot, plt.slot_cap * sizeof *plt.slot);
}
