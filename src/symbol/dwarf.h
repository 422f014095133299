/*
 * dwarf.h - DWARF 2 to 5 of one file: sections, units, abbreviations, attributes, ranges.
 *
 *     .debug_info   unit, unit, unit …      unit = header, then DIEs in pre-order:
 *     .debug_abbrev tables                     uleb code | values as the abbreviation says
 *                                              code 0 ends the children of a DIE
 *
 * The file may lie: every read goes through a cursor over its section, every reference is looked up
 * among the units, and every loop that a file can make long takes from one budget (`work`), so that
 * time is bounded by the file's size. What libdw does at this place it does without such bounds.
 *
 * A split unit (.dwo) borrows addresses and old range lists from the file with its skeleton; a file
 * that dwz has shrunk borrows strings and DIEs from `alt`.
 *
 * Described by the DWARF standard, versions 2 to 5 (7.5 "Format of Debugging Information", 7.25,
 * 7.28), and the GNU split DWARF and dwz extensions.
 */
#ifndef FM_SYMBOL_DWARF_H
#define FM_SYMBOL_DWARF_H

#include "symbol/elf.h"
#include "util/cursor.h"

enum fm_dwarf_section {
    FM_DWARF_INFO, FM_DWARF_ABBREV, FM_DWARF_STR, FM_DWARF_LINE, FM_DWARF_LINE_STR,
    FM_DWARF_RANGES, FM_DWARF_RNGLISTS, FM_DWARF_ADDR, FM_DWARF_STR_OFFSETS, FM_DWARF_SECTIONS
};

struct fm_dwarf_bytes {
    const unsigned char *p;      /* NULL: the file has no such section */
    size_t n;
    void *owned;                 /* unpacked: n bytes of ours */
};

struct fm_dwarf_unit {
    uint64_t offset, end;        /* header, and past the last DIE, in .debug_info */
    uint64_t die;                /* the root DIE */
    uint64_t abbrev;             /* offset in .debug_abbrev */
    uint64_t id;                 /* of a DWARF 5 skeleton or split unit */
    uint16_t version;
    uint8_t address;             /* bytes of an address */
    uint8_t wide;                /* bytes of an offset: 4 or 8 */
    uint8_t type;                /* DW_UT_… */
};

struct fm_abbrev_attr {
    uint16_t name, form;
    int64_t value;               /* DW_FORM_implicit_const */
};

struct fm_abbrev {
    uint64_t code;
    uint16_t tag;
    bool children;
    bool fixed;                  /* its values have always the same size: bytes + … */
    uint32_t bytes, addresses, offsets;
    uint32_t first, n;           /* of attr */
};

struct fm_abbrevs {
    uint64_t offset;
    unsigned users;
    struct fm_abbrev *abbrev;    /* sorted by code */
    size_t n, cap;
    struct fm_abbrev_attr *attr;
    size_t attrs, attr_cap;
};

#define FM_DWARF_TABLES 16

struct fm_dwarf {
    struct fm_ctx *ctx;
    struct fm_mem *mem;
    bool swap, split;
    struct fm_dwarf_bytes section[FM_DWARF_SECTIONS];
    struct fm_dwarf_unit *unit;  /* by offset */
    size_t units, unit_cap;
    struct fm_abbrevs table[FM_DWARF_TABLES];
    unsigned next_table;
    struct fm_dwarf *alt;        /* .gnu_debugaltlink; not owned */
    uint64_t *work;              /* steps left, shared by the files of a module */
    bool broken;                 /* something did not parse */
};

/* Sections of an open ELF file, unpacked where they are compressed; the ELF file must stay open.
 * `split`: the sections of a .dwo. FM_UNKNOWN: it has no .debug_info. FM_NOMEM otherwise. */
enum fm_status fm_dwarf_open(struct fm_dwarf *dwarf, struct fm_ctx *ctx, const struct fm_elf *elf,
                             bool split, uint64_t *work);
void fm_dwarf_close(struct fm_dwarf *dwarf);
/* Debug data that can be read: not that of a relocatable file. */
bool fm_dwarf_is_in(const struct fm_elf *elf);
/* The steps that a file of these sections may take. */
uint64_t fm_dwarf_work(const struct fm_dwarf *dwarf);
/* Takes n steps: false, and the file counts as broken, when there are no more. */
static inline bool fm_dwarf_step(struct fm_dwarf *dwarf, uint64_t n)
{
    if (FM_UNLIKELY(*dwarf->work < n)) {
        *dwarf->work = 0;
        dwarf->broken = true;
        return false;
    }
    *dwarf->work -= n;
    return true;
}
/* A cursor over [from, end of section or `to`); bad when that lies outside. */
struct fm_cursor fm_dwarf_cursor(const struct fm_dwarf *dwarf, enum fm_dwarf_section section,
                                 uint64_t from, uint64_t to);
/* The unit that holds an offset of .debug_info, or NULL. */
const struct fm_dwarf_unit *fm_dwarf_unit_at(const struct fm_dwarf *dwarf, uint64_t offset);

/* ------------------------------------------------------------------- DIEs */

struct fm_dwarf_value {
    uint16_t form;
    uint64_t u;                  /* number, index, offset; references: offset in .debug_info */
    const unsigned char *p;      /* text or block of n bytes */
    size_t n;
};

/* What a DIE says of the addresses it covers. */
struct fm_dwarf_pcs {
    struct fm_dwarf_value low, high, ranges;   /* form 0: absent */
};

/* A unit that is being read. */
struct fm_dwarf_cu {
    struct fm_dwarf *file;
    struct fm_dwarf *base;       /* with .debug_addr and .debug_ranges: `file`, or the skeleton's */
    const struct fm_dwarf_unit *unit;
    struct fm_abbrevs *abbrevs;
    uint64_t low;                /* base of its range lists */
    uint64_t addr_base, str_base, rnglists_base, ranges_base;
    uint64_t lines;              /* offset in .debug_line, UINT64_MAX none */
    uint64_t id;                 /* of its .dwo */
    uint64_t language;
    uint16_t tag;
    struct fm_dwarf_pcs pcs;
    struct fm_dwarf_value name, comp_dir, dwo;
};

/* Reads the root DIE. `skeleton` of a split unit, else NULL. FM_FORMAT: no readable unit. */
enum fm_status fm_dwarf_cu_open(struct fm_dwarf_cu *cu, struct fm_dwarf *file,
                                const struct fm_dwarf_unit *unit,
                                const struct fm_dwarf_cu *skeleton);
void fm_dwarf_cu_close(struct fm_dwarf_cu *cu);

/* The abbreviation of the next DIE, NULL at the end of children or when it is broken (then the
 * cursor is bad). The cursor stands at its values. */
const struct fm_abbrev *fm_dwarf_die(const struct fm_dwarf_cu *cu, struct fm_cursor *c);
/* Reads one value. A form that is not known makes the cursor bad. */
void fm_dwarf_value(const struct fm_dwarf_cu *cu, struct fm_cursor *c,
                    const struct fm_abbrev_attr *attr, struct fm_dwarf_value *value);
/* Skips the values of a DIE. */
void fm_dwarf_skip(const struct fm_dwarf_cu *cu, struct fm_cursor *c,
                   const struct fm_abbrev *abbrev);
/* Text of a string form: NULL when it is none. Terminated by a NUL. */
const char *fm_dwarf_text(const struct fm_dwarf_cu *cu, const struct fm_dwarf_value *value,
                          size_t *n);
/* Text at an offset of a section of strings. */
const char *fm_dwarf_text_at(const struct fm_dwarf *dwarf, enum fm_dwarf_section section,
                             uint64_t offset, size_t *n);
/* An unsigned number of 1 to 8 bytes. */
uint64_t fm_dwarf_number(struct fm_cursor *c, unsigned bytes);
/* The address of an address form (through .debug_addr). */
bool fm_dwarf_address(const struct fm_dwarf_cu *cu, const struct fm_dwarf_value *value,
                      uint64_t *address);

/* A ULEB128 of the size of a tag, attribute or form; larger ones are none that is known. */
static inline uint16_t fm_dwarf_code(struct fm_cursor *c)
{
    const uint64_t code = fm_cursor_uleb(c);

    return code < UINT16_MAX ? (uint16_t)code : UINT16_MAX;
}

/* Line and column numbers. */
static inline uint32_t fm_dwarf_limit(uint64_t u)
{
    return u < UINT32_MAX ? (uint32_t)u : UINT32_MAX;
}

/* Keeps low_pc, high_pc and ranges; false: the attribute is another one. */
static inline bool fm_dwarf_pcs_take(struct fm_dwarf_pcs *pcs, uint16_t name,
                                     const struct fm_dwarf_value *value)
{
    switch (name) {
    case 0x11:                   /* DW_AT_low_pc */
        pcs->low = *value;
        return true;
    case 0x12:                   /* DW_AT_high_pc */
        pcs->high = *value;
        return true;
    case 0x55:                   /* DW_AT_ranges */
        pcs->ranges = *value;
        return true;
    default:
        return false;
    }
}

/* Each non-empty range [low, high). */
typedef void fm_dwarf_range_fn(void *user, uint64_t low, uint64_t high);
void fm_dwarf_ranges(const struct fm_dwarf_cu *cu, const struct fm_dwarf_pcs *pcs,
                     fm_dwarf_range_fn *fn, void *user);

#endif
