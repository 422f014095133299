/*
 * line_table.h - the line table of one unit: which addresses belong to which line of which file.
 */
#ifndef FM_SYMBOL_LINE_TABLE_H
#define FM_SYMBOL_LINE_TABLE_H

#include "symbol/dwarf.h"
#include "util/out.h"

struct fm_line_name {
    const char *text;
    size_t n;
    uint64_t dir;
};

struct fm_line_table {
    struct fm_dwarf *file;
    struct fm_cursor program;
    uint16_t version;
    uint8_t address;             /* bytes, from the unit where the header does not tell */
    uint8_t wide;
    uint8_t step, line_range, opcode_base;
    int8_t line_base;
    const unsigned char *operands;   /* of the standard opcodes, from 1 on */
    const char *comp_dir;
    size_t comp_dir_n;
    struct fm_line_name *dir, *name;
    size_t dirs, dir_cap, names, name_cap;
};

/* Reads the header. FM_UNKNOWN: the unit has no lines; FM_FORMAT: not readable; FM_NOMEM. */
enum fm_status fm_line_table_open(struct fm_line_table *lines, const struct fm_dwarf_cu *cu);
void fm_line_table_close(struct fm_line_table *lines);

struct fm_line_row {
    uint64_t low, high;          /* addresses [low, high) */
    uint64_t start;              /* of the sequence */
    uint64_t file;               /* as DW_AT_call_file counts */
    uint32_t line, column;
};
typedef void fm_line_fn(void *user, const struct fm_line_row *row);
void fm_line_table_run(const struct fm_line_table *lines, fm_line_fn *fn, void *user);

/* Appends the path of a file, made absolute by the unit's folder. False: no such file. */
bool fm_line_table_path(const struct fm_line_table *lines, uint64_t file, struct fm_out *out);

#endif
