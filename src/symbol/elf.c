/*
 * elf.c - ELF files through libelf (gelf.h: both classes, both byte orders).
 *
 *     header   e_phoff -> program headers   PT_LOAD: offset <-> address
 *              e_shoff -> section headers   .symtab + .strtab, .dynsym + .dynstr,
 *                                           .note.gnu.build-id, .gnu_debuglink, .gnu_debugdata
 *
 * libelf gives headers and symbols in host form; names are read from the image after a check of our
 * own. What is kept here is a table of sections and one of PT_LOADs; symbols are streamed.
 *
 * Described by the System V ABI (gABI chapters 4 and 5), the GNU note and debuglink conventions of
 * the GDB manual ("Separate Debug Files", "MiniDebugInfo").
 */
#include "symbol/elf_inner.h"

#include "util/cursor.h"

#include <zlib.h>

#define DEBUGDATA_MAX (64u << 20)

/* --------------------------------------------------------------- sections */

const unsigned char *fm_elf_bytes(const struct fm_elf *elf, const struct fm_elf_section *section)
{
    if (section == NULL || section->type == SHT_NOBITS || section->size == 0 ||
        (section->flags & SHF_COMPRESSED) != 0)
        return NULL;
    fm_assert(section->size <= elf->image.n);
    fm_assert(section->offset <= elf->image.n - section->size);
    return elf->image.data + section->offset;
}

const struct fm_elf_section *fm_elf_section_find(const struct fm_elf *elf, const char *name)
{
    for (size_t i = 1; i < elf->sections; i++) {
        if (strcmp(elf->section[i].name, name) == 0)
            return &elf->section[i];
    }
    return NULL;
}

size_t fm_elf_section_type(const struct fm_elf *elf, uint32_t type)
{
    for (size_t i = 1; i < elf->sections; i++) {
        if (elf->section[i].type == type)
            return i;
    }
    return SIZE_MAX;
}

static bool in_image(const struct fm_elf *elf, uint64_t offset, uint64_t size)
{
    return offset <= elf->image.n && size <= elf->image.n - offset;
}

static void read_section(struct fm_elf *elf, size_t i)
{
    struct fm_elf_section *section = &elf->section[i];
    Elf_Scn *scn = elf_getscn(elf->elf, i);
    GElf_Shdr sh;

    section->name = "";
    if (scn == NULL || gelf_getshdr(scn, &sh) == NULL)
        return;
    section->address = sh.sh_addr;
    section->offset = sh.sh_offset;
    section->size = sh.sh_size;
    section->flags = sh.sh_flags;
    section->entry = sh.sh_entsize;
    section->type = sh.sh_type;
    section->link = sh.sh_link;
    if (sh.sh_type != SHT_NOBITS && !in_image(elf, sh.sh_offset, sh.sh_size))
        section->size = 0;
}

static void name_sections(struct fm_elf *elf)
{
    const struct fm_elf_section *table;
    const unsigned char *text;
    size_t at;

    if (elf_getshdrstrndx(elf->elf, &at) != 0 || at >= elf->sections)
        return;
    table = &elf->section[at];
    text = fm_elf_bytes(elf, table);
    if (text == NULL)
        return;
    for (size_t i = 1; i < elf->sections; i++) {
        Elf_Scn *scn = elf_getscn(elf->elf, i);
        GElf_Shdr sh;
        if (scn == NULL || gelf_getshdr(scn, &sh) == NULL || sh.sh_name >= table->size)
            continue;
        if (memchr(text + sh.sh_name, '\0', table->size - sh.sh_name) != NULL)
            elf->section[i].name = (const char *)text + sh.sh_name;
    }
}

/* A kernel module's code as the kernel lays it out: executable sections in file order, aligned,
 * those of .init apart. */
static void place_sections(struct fm_elf *elf)
{
    uint64_t at = 0, next, align;

    for (size_t i = 0; i < elf->sections; i++) {
        struct fm_elf_section *section = &elf->section[i];
        GElf_Shdr sh;
        section->address = UINT64_MAX;
        if ((section->flags & (SHF_ALLOC | SHF_EXECINSTR)) != (SHF_ALLOC | SHF_EXECINSTR) ||
            strncmp(section->name, ".init", 5) == 0 ||
            gelf_getshdr(elf_getscn(elf->elf, i), &sh) == NULL)
            continue;
        align = sh.sh_addralign;
        if (align > 1 && align <= 1u << 20 && (align & (align - 1)) == 0)
            at = (at + align - 1) & ~(align - 1);
        section->address = at;
        if (!fm_add_u64(at, section->size, &next) || next > 1u << 30)
            return;
        at = next;
    }
}

static enum fm_status read_sections(struct fm_elf *elf)
{
    const size_t each = gelf_fsize(elf->elf, ELF_T_SHDR, 1, EV_CURRENT);
    size_t n, bytes;

    if (elf_getshdrnum(elf->elf, &n) != 0)
        return FM_FORMAT;
    if (n == 0)
        return FM_OK;
    if (each == 0 || n > elf->image.n / each || !fm_mul_size(n, sizeof *elf->section, &bytes))
        return FM_FORMAT;
    elf->section = fm_mem_zalloc(elf->mem, bytes);
    if (elf->section == NULL)
        return FM_NOMEM;
    elf->sections = n;
    for (size_t i = 0; i < n; i++)
        read_section(elf, i);
    name_sections(elf);
    if (elf->header.e_type == ET_REL)
        place_sections(elf);
    return FM_OK;
}

static enum fm_status read_loads(struct fm_elf *elf)
{
    const size_t each = gelf_fsize(elf->elf, ELF_T_PHDR, 1, EV_CURRENT);
    size_t n, bytes;

    if (elf_getphdrnum(elf->elf, &n) != 0 || n == 0)
        return FM_OK;
    if (each == 0 || n > elf->image.n / each || n > INT32_MAX ||
        !fm_mul_size(n, sizeof *elf->load, &bytes))
        return FM_FORMAT;
    elf->load = fm_mem_zalloc(elf->mem, bytes);
    if (elf->load == NULL)
        return FM_NOMEM;
    elf->loads = n;
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr ph;
        if (gelf_getphdr(elf->elf, (int)i, &ph) == NULL || ph.p_type != PT_LOAD ||
            !in_image(elf, ph.p_offset, ph.p_filesz))
            continue;                    /* stays size 0: covers nothing */
        elf->load[i].address = ph.p_vaddr;
        elf->load[i].offset = ph.p_offset;
        elf->load[i].size = ph.p_filesz;
        elf->load[i].code = (ph.p_flags & PF_X) != 0;
    }
    return FM_OK;
}

/* --------------------------------------------------------------- identity */

static bool take_build_id(const unsigned char *id, size_t n, char text[FM_BUILD_ID_TEXT])
{
    static const char digit[] = "0123456789abcdef";

    if (n == 0 || 2 * n + 1 > FM_BUILD_ID_TEXT)
        return false;
    for (size_t i = 0; i < n; i++) {
        text[2 * i] = digit[id[i] >> 4];
        text[2 * i + 1] = digit[id[i] & 15];
    }
    text[2 * n] = '\0';
    return true;
}

bool fm_elf_notes_build_id(const unsigned char *notes, size_t n, bool big, uint64_t align,
                           char text[FM_BUILD_ID_TEXT])
{
    const uint64_t pad = align == 8 ? 7 : 3;
    struct fm_cursor c;

    fm_cursor_init(&c, notes, n, 0, big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__));
    while (fm_cursor_left(&c) >= 12) {
        uint64_t name_n = fm_cursor_u32(&c), text_n = fm_cursor_u32(&c);
        uint32_t type = fm_cursor_u32(&c);
        const unsigned char *name, *id;
        name = fm_cursor_bytes(&c, (size_t)name_n);
        fm_cursor_skip(&c, ((12 + name_n + pad) & ~pad) - 12 - name_n);
        id = fm_cursor_bytes(&c, (size_t)text_n);
        if (!fm_cursor_ok(&c))
            return false;
        if (type == NT_GNU_BUILD_ID && name_n == 4 && memcmp(name, "GNU", 4) == 0)
            return take_build_id(id, (size_t)text_n, text);
        text_n = ((text_n + pad) & ~pad) - text_n;
        if (text_n > fm_cursor_left(&c))
            return false;
        fm_cursor_skip(&c, text_n);
    }
    return false;
}

static bool find_build_id(struct fm_elf *elf, uint64_t offset, uint64_t size, uint64_t align)
{
    return in_image(elf, offset, size) &&
           fm_elf_notes_build_id(elf->image.data + offset, (size_t)size,
                                 elf->header.e_ident[EI_DATA] == ELFDATA2MSB, align,
                                 elf->build_id);
}

static void read_build_id(struct fm_elf *elf)
{
    for (size_t i = 0; i < elf->sections; i++) {
        const struct fm_elf_section *section = &elf->section[i];
        GElf_Shdr sh;
        if (section->type == SHT_NOTE && section->size > 0 &&
            gelf_getshdr(elf_getscn(elf->elf, i), &sh) != NULL &&
            find_build_id(elf, section->offset, section->size, sh.sh_addralign))
            return;
    }
    for (size_t i = 0; i < elf->loads; i++) {
        GElf_Phdr ph;
        if (gelf_getphdr(elf->elf, (int)i, &ph) != NULL && ph.p_type == PT_NOTE &&
            find_build_id(elf, ph.p_offset, ph.p_filesz, ph.p_align))
            return;
    }
}

/* ------------------------------------------------------------------- life */

enum fm_status fm_elf_open(struct fm_ctx *ctx, struct fm_image *image, struct fm_elf **out)
{
    struct fm_elf *elf = fm_mem_zalloc(&ctx->mem, sizeof *elf);
    enum fm_status status = FM_FORMAT;
    char *bytes;

    *out = NULL;
    if (elf == NULL) {
        fm_image_close(image);
        return FM_NOMEM;
    }
    elf->mem = &ctx->mem;
    elf->image = *image;
    memset(image, 0, sizeof *image);
    /* libelf asks for a pointer to char; it does not write (ELF_C_READ). */
    memcpy(&bytes, &elf->image.data, sizeof bytes);
    if (elf->image.n < EI_NIDENT || memcmp(bytes, ELFMAG, SELFMAG) != 0 ||
        elf_version(EV_CURRENT) == EV_NONE)
        goto out;
    elf->elf = elf_memory(bytes, elf->image.n);
    if (elf->elf == NULL || elf_kind(elf->elf) != ELF_K_ELF ||
        gelf_getehdr(elf->elf, &elf->header) == NULL)
        goto out;
    status = read_sections(elf);
    if (status == FM_OK)
        status = read_loads(elf);
    if (status == FM_OK && elf->sections == 0 && elf->loads == 0)
        status = FM_FORMAT;
    if (status == FM_OK)
        read_build_id(elf);
out:
    if (status == FM_OK)
        *out = elf;
    else
        fm_elf_close(elf);
    return status;
}

void fm_elf_close(struct fm_elf *elf)
{
    if (elf == NULL)
        return;
    if (elf->elf != NULL)
        elf_end(elf->elf);
    fm_mem_free(elf->mem, elf->section, elf->sections * sizeof *elf->section);
    fm_mem_free(elf->mem, elf->load, elf->loads * sizeof *elf->load);
    fm_image_close(&elf->image);
    fm_mem_free(elf->mem, elf, sizeof *elf);
}

const char *fm_elf_build_id(const struct fm_elf *elf)
{
    return elf->build_id;
}

bool fm_elf_has_symtab(const struct fm_elf *elf)
{
    size_t i = fm_elf_section_type(elf, SHT_SYMTAB);
    return i != SIZE_MAX && fm_elf_bytes(elf, &elf->section[i]) != NULL;
}

bool fm_elf_is_runtime(const struct fm_elf *elf)
{
    bool code = false;

    for (size_t i = 1; i < elf->sections; i++) {
        const struct fm_elf_section *section = &elf->section[i];
        if ((section->flags & SHF_EXECINSTR) == 0 || (section->flags & SHF_ALLOC) == 0)
            continue;
        if (section->type != SHT_NOBITS)
            return true;
        code = true;
    }
    return !code;
}

bool fm_elf_is_relocatable(const struct fm_elf *elf)
{
    return elf->header.e_type == ET_REL;
}

/* Name, NUL, padding to 4, u32 CRC in the file's byte order. */
bool fm_elf_debuglink(const struct fm_elf *elf, const char **name, uint32_t *crc)
{
    const struct fm_elf_section *section = fm_elf_section_find(elf, ".gnu_debuglink");
    const unsigned char *bytes = fm_elf_bytes(elf, section);
    const bool big = elf->header.e_ident[EI_DATA] == ELFDATA2MSB;
    struct fm_cursor c;
    size_t n;

    if (bytes == NULL)
        return false;
    fm_cursor_init(&c, bytes, (size_t)section->size, section->offset,
                   big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__));
    *name = fm_cursor_text(&c, (size_t)section->size, false, &n);
    if (!fm_cursor_ok(&c) || n == 0)
        return false;
    fm_cursor_skip(&c, (4 - (n + 1) % 4) % 4);
    *crc = fm_cursor_u32(&c);
    return fm_cursor_ok(&c);
}

uint32_t fm_elf_crc(const struct fm_elf *elf)
{
    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), elf->image.data, elf->image.n);
}

enum fm_status fm_elf_debugdata(struct fm_ctx *ctx, const struct fm_elf *elf, struct fm_elf **mini)
{
    const struct fm_elf_section *section = fm_elf_section_find(elf, ".gnu_debugdata");
    const unsigned char *bytes = fm_elf_bytes(elf, section);
    struct fm_image image;
    enum fm_status status;

    *mini = NULL;
    if (bytes == NULL)
        return FM_UNKNOWN;
    status = fm_image_unxz(ctx, bytes, (size_t)section->size, DEBUGDATA_MAX, &image);
    return status == FM_OK ? fm_elf_open(ctx, &image, mini) : status;
}

/* -------------------------------------------------------------- addresses */

static bool by_sections(const struct fm_elf *elf, uint64_t offset, uint64_t *address)
{
    for (size_t i = 1; i < elf->sections; i++) {
        const struct fm_elf_section *section = &elf->section[i];
        if ((section->flags & SHF_ALLOC) == 0 || section->type == SHT_NOBITS)
            continue;
        if (offset >= section->offset && offset - section->offset < section->size) {
            *address = section->address + (offset - section->offset);
            return true;
        }
    }
    return false;
}

bool fm_elf_address(const struct fm_elf *elf, uint64_t offset, uint64_t *address)
{
    const struct fm_elf_load *found = NULL;
    bool any = false;

    if (elf->header.e_type == ET_REL) {
        *address = offset;
        return true;
    }
    for (size_t i = 0; i < elf->loads; i++) {
        const struct fm_elf_load *load = &elf->load[i];
        any = any || load->size > 0;
        if (offset >= load->offset && offset - load->offset < load->size &&
            (found == NULL || (load->code && !found->code)))
            found = load;
    }
    if (found != NULL) {
        *address = found->address + (offset - found->offset);
        return true;
    }
    return !any && by_sections(elf, offset, address);
}

/* ---------------------------------------------------------------- symbols */

bool fm_elf_symbols_open(const struct fm_elf *elf, enum fm_elf_table table,
                         struct fm_elf_symbols *symbols)
{
    size_t i = fm_elf_section_type(elf, table == FM_ELF_SYMTAB ? SHT_SYMTAB : SHT_DYNSYM);
    const struct fm_elf_section *section, *text;
    size_t each = gelf_fsize(elf->elf, ELF_T_SYM, 1, EV_CURRENT);

    memset(symbols, 0, sizeof *symbols);
    if (i == SIZE_MAX || each == 0)
        return false;
    section = &elf->section[i];
    if (fm_elf_bytes(elf, section) == NULL || section->link >= elf->sections)
        return false;
    text = &elf->section[section->link];
    symbols->text = (const char *)fm_elf_bytes(elf, text);
    symbols->data = elf_getdata(elf_getscn(elf->elf, i), NULL);
    if (symbols->text == NULL || symbols->data == NULL || symbols->data->d_buf == NULL ||
        symbols->data->d_type != ELF_T_SYM)
        return false;
    symbols->text_n = (size_t)text->size;
    symbols->n = FM_MIN(symbols->data->d_size, (size_t)section->size) / each;
    symbols->n = FM_MIN(symbols->n, (size_t)INT32_MAX);
    for (size_t k = 1; table == FM_ELF_SYMTAB && k < elf->sections; k++) {
        if (elf->section[k].type == SHT_SYMTAB_SHNDX && elf->section[k].link == i &&
            elf->section[k].size / 4 >= symbols->n)
            symbols->index = elf_getdata(elf_getscn(elf->elf, k), NULL);
    }
    return true;
}

const char *fm_elf_symbols_name(const struct fm_elf_symbols *symbols, uint64_t offset, size_t *n)
{
    const char *name, *end;

    *n = 0;
    if (offset >= symbols->text_n)
        return NULL;
    name = symbols->text + offset;
    end = memchr(name, '\0', symbols->text_n - (size_t)offset);
    if (end == NULL)
        return NULL;
    *n = (size_t)(end - name);
    return name;
}

/* ARM, AArch64 and RISC-V mark code and data by labels $a $d $t $x, also with ".n". */
static bool is_mapping_symbol(const struct fm_elf *elf, const char *name, size_t n)
{
    if (elf->header.e_machine != EM_ARM && elf->header.e_machine != EM_AARCH64 &&
        elf->header.e_machine != EM_RISCV)
        return false;
    return n >= 2 && name[0] == '$' && memchr("adtx", name[1], 4) != NULL &&
           (n == 2 || name[2] == '.');
}

/* True when a symbol names code (or data) of a section that is loaded; *section may be NULL when
 * it cannot be known. */
static bool is_wanted(const struct fm_elf *elf, const GElf_Sym *sym, uint32_t index,
                      const struct fm_elf_section **section)
{
    const unsigned type = GELF_ST_TYPE(sym->st_info), seen = GELF_ST_VISIBILITY(sym->st_other);
    const struct fm_elf_section *in;

    if (sym->st_name == 0 || index == SHN_UNDEF || index >= elf->sections)
        return false;
    in = *section = &elf->section[index];
    if ((in->flags & SHF_ALLOC) == 0 || (in->flags & SHF_TLS) != 0)
        return false;
    if (elf->header.e_type == ET_REL && in->address == UINT64_MAX)
        return false;
    switch (type) {
    case STT_FUNC:
    case STT_GNU_IFUNC:
        return true;
    case STT_NOTYPE:
        return (in->flags & SHF_EXECINSTR) != 0 && seen != STV_HIDDEN && seen != STV_INTERNAL;
    case STT_OBJECT:
        return (in->flags & SHF_EXECINSTR) == 0;
    default:
        return false;
    }
}

static uint8_t binding_of(const GElf_Sym *sym)
{
    switch (GELF_ST_BIND(sym->st_info)) {
    case STB_LOCAL:
        return FM_BIND_LOCAL;
    case STB_WEAK:
        return FM_BIND_WEAK;
    default:
        return FM_BIND_GLOBAL;
    }
}

/* Section index of a symbol; SHN_XINDEX is resolved, other reserved ones become 0. */
static uint32_t index_of(const GElf_Sym *sym, GElf_Word extended)
{
    if (sym->st_shndx == SHN_XINDEX)
        return extended;
    return sym->st_shndx >= SHN_LORESERVE ? SHN_UNDEF : sym->st_shndx;
}

void fm_elf_symbols(const struct fm_elf *elf, enum fm_elf_table table, uint64_t shift,
                    struct fm_match *match)
{
    fm_elf_symbols_of(elf, table, shift, false, match);
}

void fm_elf_symbols_of(const struct fm_elf *elf, enum fm_elf_table table, uint64_t shift,
                       bool ifunc, struct fm_match *match)
{
    const bool arm = elf->header.e_machine == EM_ARM, rel = elf->header.e_type == ET_REL;
    const struct fm_elf_section *section;
    struct fm_elf_symbols symbols;

    if (!fm_elf_symbols_open(elf, table, &symbols))
        return;
    for (size_t i = 1; i < symbols.n && !match->oom; i++) {
        struct fm_symbol out;
        GElf_Word extended = 0;
        GElf_Sym sym;
        size_t n;
        if (gelf_getsymshndx(symbols.data, symbols.index, (int)i, &sym, &extended) == NULL ||
            !is_wanted(elf, &sym, index_of(&sym, extended), &section) ||
            (ifunc && GELF_ST_TYPE(sym.st_info) != STT_GNU_IFUNC))
            continue;
        out.start = sym.st_value;
        if (arm && GELF_ST_TYPE(sym.st_info) == STT_FUNC)
            out.start &= ~(uint64_t)1;
        if (rel)
            out.start += section->address;
        out.start += shift;
        out.size = sym.st_size;
        out.limit = section->address + shift + section->size;
        if (!fm_match_touches(match, out.start, out.size))
            continue;
        out.binding = binding_of(&sym);
        out.name = fm_elf_symbols_name(&symbols, sym.st_name, &n);
        if (n == 0 || n > UINT32_MAX || is_mapping_symbol(elf, out.name, n))
            continue;
        out.length = (uint32_t)n;
        fm_match_offer(match, &out);
    }
}

bool fm_elf_find(const struct fm_elf *elf, const char *name, uint64_t *value)
{
    const size_t want = strlen(name);
    struct fm_elf_symbols symbols;

    if (!fm_elf_symbols_open(elf, FM_ELF_SYMTAB, &symbols))
        return false;
    for (size_t i = 1; i < symbols.n; i++) {
        GElf_Sym sym;
        const char *text;
        size_t n;
        if (gelf_getsym(symbols.data, (int)i, &sym) == NULL || sym.st_shndx == SHN_UNDEF)
            continue;
        text = fm_elf_symbols_name(&symbols, sym.st_name, &n);
        if (n == want && memcmp(text, name, n) == 0) {
            *value = sym.st_value;
            return true;
        }
    }
    return false;
}
