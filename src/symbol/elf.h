/*
 * elf.h - one ELF file: identity, file offset -> address, and its symbols offered to a match.
 *
 * The file may lie: every size, offset and index is checked against the bytes that are there,
 * before libelf is asked and after. Names that were offered point into the image; keep the file
 * open until the picks are read.
 *
 * Two files may serve one module: the runtime file (what was mapped: program headers, PLT) and the
 * file with .symtab (the same one, or a debug file whose offsets mean nothing but whose addresses
 * do).
 */
#ifndef FM_SYMBOL_ELF_H
#define FM_SYMBOL_ELF_H

#include "symbol/image.h"
#include "symbol/match.h"

#define FM_BUILD_ID_TEXT 129         /* up to 64 bytes in hex, and the NUL */

struct fm_elf;

/* Takes the image over in any case (it is closed on failure). FM_FORMAT: no usable ELF file. */
enum fm_status fm_elf_open(struct fm_ctx *ctx, struct fm_image *image, struct fm_elf **elf);
void fm_elf_close(struct fm_elf *elf);

/*
 * The build-id within ELF notes (also /sys/kernel/notes):
 *
 *     u32 name size | u32 text size | u32 type | name | text     both padded to 4, or to `align` 8
 *
 * Type 3 of "GNU". False when there is none.
 */
bool fm_elf_notes_build_id(const unsigned char *notes, size_t n, bool big, uint64_t align,
                           char text[FM_BUILD_ID_TEXT]);

const char *fm_elf_build_id(const struct fm_elf *elf);  /* lower-case hex, "" when it has none */
bool fm_elf_has_symtab(const struct fm_elf *elf);
/* False for a debug file: its code sections hold no bytes. */
bool fm_elf_is_runtime(const struct fm_elf *elf);
bool fm_elf_is_relocatable(const struct fm_elf *elf);
/* .gnu_debuglink: *name lives as long as the file; false when there is none. */
bool fm_elf_debuglink(const struct fm_elf *elf, const char **name, uint32_t *crc);
/* CRC32 of the whole file, as .gnu_debuglink has it. */
uint32_t fm_elf_crc(const struct fm_elf *elf);
/* The ELF file that .gnu_debugdata holds (xz), or FM_UNKNOWN when there is none. */
enum fm_status fm_elf_debugdata(struct fm_ctx *ctx, const struct fm_elf *elf, struct fm_elf **mini);

/* Address of a file offset by the program headers; without any, by the sections. False: no part of
 * the file that is mapped. In a relocatable file (kernel module) offsets are counted from the
 * start of the loaded code, and are its addresses here. */
bool fm_elf_address(const struct fm_elf *elf, uint64_t offset, uint64_t *address);

enum fm_elf_table { FM_ELF_SYMTAB, FM_ELF_DYNSYM };
/* Offers all functions (and data objects) of a table, `shift` added to each value. */
void fm_elf_symbols(const struct fm_elf *elf, enum fm_elf_table table, uint64_t shift,
                    struct fm_match *match);
/* The value of a symbol by name, from .symtab. */
bool fm_elf_find(const struct fm_elf *elf, const char *name, uint64_t *value);

/* Offers PLT entries as name@plt. `names` (may be the same file) is where IRELATIVE entries look
 * their resolver up; texts are made in the arena. */
void fm_elf_plt(const struct fm_elf *elf, const struct fm_elf *names, struct fm_arena *arena,
                struct fm_match *match);

#endif
