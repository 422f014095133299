/*
 * elfmake.h - ELF files made in memory by tests: any class, any byte order, right or wrong.
 *
 *     header | program headers | .text | .note.gnu.build-id | call frames | .symtab | .strtab
 *     | .shstrtab | shdrs
 */
#ifndef FM_TEST_ELFMAKE_H
#define FM_TEST_ELFMAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elfmake_symbol {
    const char *name;
    uint64_t value, size;
    unsigned type, binding, visibility;
    unsigned section;            /* 1 = .text, 0 = undefined, 0xfff1 = absolute */
};

struct elfmake {
    bool wide, big;              /* 64 bit, big endian */
    unsigned type, machine;
    uint64_t text_address, text_size;
    bool no_load;                /* no program headers */
    const char *build_id;        /* raw bytes, 4, or NULL */
    const void *frames;          /* contents of .eh_frame or .debug_frame */
    size_t frames_n;
    bool debug_frame;
    uint64_t frames_address;     /* of .eh_frame */
    const struct elfmake_symbol *symbol;
    size_t symbols;
};

#define ELFMAKE_MAX 8192

/* Returns the size; *text_offset = file offset of .text. */
size_t elfmake(const struct elfmake *make, unsigned char out[ELFMAKE_MAX], uint64_t *text_offset);

#endif
