/*
 * elf_inner.h - what elf.c and plt.c share: the file as it was checked at its opening.
 */
#ifndef FM_SYMBOL_ELF_INNER_H
#define FM_SYMBOL_ELF_INNER_H

#include "symbol/elf.h"

#include <gelf.h>
#include <libelf.h>

struct fm_elf_section {
    uint64_t address;        /* relocatable: where it is placed; UINT64_MAX = nowhere */
    uint64_t offset, size;   /* size 0 when not all bytes are in the file (NOBITS keeps its) */
    uint64_t flags, entry;
    uint32_t type, link;
    const char *name;        /* terminated, "" when broken */
};

struct fm_elf_load {
    uint64_t address, offset, size;   /* size: bytes in the file */
    bool code;
};

struct fm_elf {
    struct fm_mem *mem;
    struct fm_image image;
    Elf *elf;
    GElf_Ehdr header;
    struct fm_elf_section *section;
    size_t sections;
    struct fm_elf_load *load;
    size_t loads;
    char build_id[FM_BUILD_ID_TEXT];
};

/* The bytes of a section within the image, NULL for NOBITS or when empty. */
const unsigned char *fm_elf_bytes(const struct fm_elf *elf, const struct fm_elf_section *section);
const struct fm_elf_section *fm_elf_section_find(const struct fm_elf *elf, const char *name);
/* First section of a type, SIZE_MAX when there is none. */
size_t fm_elf_section_type(const struct fm_elf *elf, uint32_t type);

/* A table of symbols and its strings, checked. */
struct fm_elf_symbols {
    Elf_Data *data, *index;  /* index: SHT_SYMTAB_SHNDX, or NULL */
    size_t n;
    const char *text;
    size_t text_n;
};
bool fm_elf_symbols_open(const struct fm_elf *elf, enum fm_elf_table table,
                         struct fm_elf_symbols *symbols);
/* fm_elf_symbols(), or of its symbols only those of type IFUNC. */
void fm_elf_symbols_of(const struct fm_elf *elf, enum fm_elf_table table, uint64_t shift,
                       bool ifunc, struct fm_match *match);
/* The name at an offset of the strings: *n = its length, 0 when broken or empty. */
const char *fm_elf_symbols_name(const struct fm_elf_symbols *symbols, uint64_t offset, size_t *n);

#endif
