/*
 * line_table.c - the line table of a unit: a program that, run, prints rows.
 *
 *     length | version u16 | 5: address size u8, selector size u8 | header length
 *     step u8 | 4, 5: operations u8 | is_stmt u8 | line_base i8 | line_range u8 | opcode_base u8
 *     operand counts u8 × (opcode_base - 1)
 *     2..4   folders: text…, ""     files: (text, uleb folder, uleb time, uleb size)…, ""
 *     5      folders, files: u8 columns × (uleb what, uleb form) | uleb count | values
 *     the program: opcodes up to the end of the unit
 *
 * A row holds from its address to that of the next row of its sequence; of rows at one address the
 * last counts. Files are counted from 1 before version 5, from 0 since; folder 0 is the unit's.
 *
 * Described by the DWARF standard, 6.2 "Line Number Information".
 */
#include "symbol/line_table.h"

#include <dwarf.h>

#define FORMATS_MAX 16u

/* ----------------------------------------------------------------- header */

static bool add_name(struct fm_line_table *lines, bool dir, const struct fm_line_name *name)
{
    struct fm_mem *mem = lines->file->mem;

    if (dir) {
        if (!fm_grow(mem, (void **)&lines->dir, &lines->dir_cap, lines->dirs + 1,
                     sizeof *lines->dir))
            return false;
        lines->dir[lines->dirs++] = *name;
    } else {
        if (!fm_grow(mem, (void **)&lines->name, &lines->name_cap, lines->names + 1,
                     sizeof *lines->name))
            return false;
        lines->name[lines->names++] = *name;
    }
    return true;
}

static enum fm_status old_names(struct fm_line_table *lines, struct fm_cursor *c)
{
    struct fm_line_name name = { NULL, 0, 0 };

    while (fm_dwarf_step(lines->file, 1)) {
        name.text = fm_cursor_text(c, fm_cursor_left(c), false, &name.n);
        if (name.text == NULL || name.n == 0)
            break;
        if (!add_name(lines, true, &name))
            return FM_NOMEM;
    }
    while (fm_cursor_ok(c) && fm_dwarf_step(lines->file, 1)) {
        name.text = fm_cursor_text(c, fm_cursor_left(c), false, &name.n);
        if (name.text == NULL || name.n == 0)
            break;
        name.dir = fm_cursor_uleb(c);
        fm_cursor_uleb(c);
        fm_cursor_uleb(c);
        if (!add_name(lines, false, &name))
            return FM_NOMEM;
    }
    return fm_cursor_ok(c) ? FM_OK : FM_FORMAT;
}

/* One column of an entry of version 5. */
static void new_value(const struct fm_line_table *lines, const struct fm_dwarf_cu *cu,
                      const struct fm_abbrev_attr *column, struct fm_cursor *c,
                      struct fm_line_name *name)
{
    struct fm_dwarf_value value;

    if (column->form == DW_FORM_line_strp || column->form == DW_FORM_strp) {
        value.form = column->form;       /* offsets are as wide as this table's */
        value.u = fm_dwarf_number(c, lines->wide);
    } else {
        fm_dwarf_value(cu, c, column, &value);
    }
    if (column->name == DW_LNCT_path)
        name->text = fm_dwarf_text(cu, &value, &name->n);
    else if (column->name == DW_LNCT_directory_index)
        name->dir = value.u;
}

static enum fm_status new_names(struct fm_line_table *lines, const struct fm_dwarf_cu *cu, bool dir,
                                struct fm_cursor *c)
{
    struct fm_abbrev_attr column[FORMATS_MAX] = { { 0 } };
    const uint8_t columns = fm_cursor_u8(c);
    uint64_t count;

    if (columns > FORMATS_MAX)
        return FM_FORMAT;
    for (size_t i = 0; i < columns; i++) {
        column[i].name = fm_dwarf_code(c);
        column[i].form = fm_dwarf_code(c);
    }
    count = fm_cursor_uleb(c);
    for (uint64_t i = 0; i < count && columns > 0; i++) {
        struct fm_line_name name = { NULL, 0, 0 };
        for (size_t k = 0; k < columns; k++)
            new_value(lines, cu, &column[k], c, &name);
        if (!fm_cursor_ok(c) || !fm_dwarf_step(lines->file, 1))
            return FM_FORMAT;
        if (!add_name(lines, dir, &name))
            return FM_NOMEM;
    }
    return fm_cursor_ok(c) ? FM_OK : FM_FORMAT;
}

static enum fm_status read_header(struct fm_line_table *lines, const struct fm_dwarf_cu *cu)
{
    struct fm_cursor all = fm_dwarf_cursor(cu->file, FM_DWARF_LINE, cu->lines, UINT64_MAX), c, head;
    uint64_t length = fm_cursor_u32(&all);
    enum fm_status status;

    lines->wide = 4;
    if (length == 0xffffffff) {
        lines->wide = 8;
        length = fm_cursor_u64(&all);
    }
    c = fm_cursor_sub(&all, FM_MIN(length, (uint64_t)fm_cursor_left(&all)));
    lines->version = fm_cursor_u16(&c);
    if (!fm_cursor_ok(&all) || lines->version < 2 || lines->version > 5)
        return FM_FORMAT;
    lines->address = cu->unit->address;
    if (lines->version == 5) {
        lines->address = fm_cursor_u8(&c);
        fm_cursor_u8(&c);
    }
    length = fm_dwarf_number(&c, lines->wide);
    head = fm_cursor_sub(&c, length);
    lines->program = c;
    lines->step = fm_cursor_u8(&head);
    if (lines->version >= 4)
        fm_cursor_u8(&head);
    fm_cursor_u8(&head);
    lines->line_base = (int8_t)fm_cursor_u8(&head);
    lines->line_range = fm_cursor_u8(&head);
    lines->opcode_base = fm_cursor_u8(&head);
    if (!fm_cursor_ok(&head) || lines->line_range == 0 || lines->opcode_base == 0)
        return FM_FORMAT;
    lines->operands = fm_cursor_bytes(&head, lines->opcode_base - 1u);
    if (lines->version < 5)
        return old_names(lines, &head);
    status = new_names(lines, cu, true, &head);
    return status == FM_OK ? new_names(lines, cu, false, &head) : status;
}

enum fm_status fm_line_table_open(struct fm_line_table *lines, const struct fm_dwarf_cu *cu)
{
    enum fm_status status;

    memset(lines, 0, sizeof *lines);
    lines->file = cu->file;
    if (cu->lines == UINT64_MAX || cu->file->section[FM_DWARF_LINE].n == 0)
        return FM_UNKNOWN;
    if (cu->comp_dir.form != 0)
        lines->comp_dir = fm_dwarf_text(cu, &cu->comp_dir, &lines->comp_dir_n);
    status = read_header(lines, cu);
    if (status == FM_FORMAT)
        cu->file->broken = true;
    if (status != FM_OK)
        fm_line_table_close(lines);
    return status;
}

void fm_line_table_close(struct fm_line_table *lines)
{
    if (lines->file == NULL)
        return;
    fm_mem_free(lines->file->mem, lines->dir, lines->dir_cap * sizeof *lines->dir);
    fm_mem_free(lines->file->mem, lines->name, lines->name_cap * sizeof *lines->name);
    memset(lines, 0, sizeof *lines);
}

/* ------------------------------------------------------------------ paths */

static bool is_absolute(const char *s, size_t n)
{
    return n > 0 && s[0] == '/';
}

static void put_folder(struct fm_out *out, const char *s, size_t n)
{
    if (s == NULL || n == 0)
        return;
    fm_out_bytes(out, s, n);
    if (s[n - 1] != '/')
        fm_out_char(out, '/');
}

bool fm_line_table_path(const struct fm_line_table *lines, uint64_t file, struct fm_out *out)
{
    const struct fm_line_name *name, *dir = NULL;
    uint64_t at;

    if (lines->version < 5 && file-- == 0)
        return false;
    if (file >= lines->names)
        return false;
    name = &lines->name[file];
    if (name->text == NULL || name->n == 0)
        return false;
    if (!is_absolute(name->text, name->n)) {
        at = lines->version < 5 ? name->dir - 1 : name->dir;
        if (at < lines->dirs && lines->dir[at].text != NULL)
            dir = &lines->dir[at];
        if (dir == NULL || !is_absolute(dir->text, dir->n))
            put_folder(out, lines->comp_dir, lines->comp_dir_n);
        if (dir != NULL)
            put_folder(out, dir->text, dir->n);
    }
    fm_out_bytes(out, name->text, name->n);
    return true;
}

/* ---------------------------------------------------------------- program */

struct machine {
    const struct fm_line_table *lines;
    fm_line_fn *fn;
    void *user;
    struct fm_line_row row;      /* the last one printed: it holds from `low` on */
    bool open;                   /* there is one */
    uint64_t address, file;
    uint32_t line, column;
};

static void begin(struct machine *m)
{
    m->open = false;
    m->address = 0;
    m->file = 1;
    m->line = 1;
    m->column = 0;
}

static void print(struct machine *m)
{
    if (m->open && m->address > m->row.low) {
        m->row.high = m->address;
        m->fn(m->user, &m->row);
    }
    if (!m->open)
        m->row.start = m->address;
    m->row.low = m->address;
    m->row.file = m->file;
    m->row.line = m->line;
    m->row.column = m->column;
    m->open = true;
}

static void extended(struct machine *m, struct fm_cursor *c)
{
    const uint64_t n = fm_cursor_uleb(c);
    struct fm_cursor in = fm_cursor_sub(c, n);

    if (n == 0)
        return;
    switch (fm_cursor_u8(&in)) {
    case DW_LNE_end_sequence:
        print(m);
        begin(m);
        break;
    case DW_LNE_set_address:
        m->address = fm_dwarf_number(&in, (unsigned)FM_MIN(n - 1, (uint64_t)16));
        break;
    default:
        break;
    }
}

static void standard(struct machine *m, uint8_t op, struct fm_cursor *c)
{
    const struct fm_line_table *lines = m->lines;

    switch (op) {
    case DW_LNS_copy:
        print(m);
        break;
    case DW_LNS_advance_pc:
        m->address += fm_cursor_uleb(c) * lines->step;
        break;
    case DW_LNS_advance_line:
        m->line += (uint32_t)fm_cursor_sleb(c);
        break;
    case DW_LNS_set_file:
        m->file = fm_cursor_uleb(c);
        break;
    case DW_LNS_set_column:
        m->column = fm_dwarf_limit(fm_cursor_uleb(c));
        break;
    case DW_LNS_const_add_pc:
        m->address += (uint64_t)((255u - lines->opcode_base) / lines->line_range) * lines->step;
        break;
    case DW_LNS_fixed_advance_pc:
        m->address += fm_cursor_u16(c);
        break;
    default:
        for (unsigned i = 0; i < lines->operands[op - 1]; i++)
            fm_cursor_uleb(c);
        break;
    }
}

void fm_line_table_run(const struct fm_line_table *lines, fm_line_fn *fn, void *user)
{
    struct fm_cursor c = lines->program;
    struct machine m = { .lines = lines, .fn = fn, .user = user };

    begin(&m);
    while (fm_cursor_left(&c) > 0 && fm_cursor_ok(&c) && fm_dwarf_step(lines->file, 1)) {
        const uint8_t op = fm_cursor_u8(&c);
        if (op >= lines->opcode_base) {
            const unsigned special = (unsigned)op - lines->opcode_base;
            m.address += (uint64_t)(special / lines->line_range) * lines->step;
            m.line += (uint32_t)(lines->line_base + (int)(special % lines->line_range));
            print(&m);
        } else if (op == 0) {
            extended(&m, &c);
        } else {
            standard(&m, op, &c);
        }
    }
    if (!fm_cursor_ok(&c))
        lines->file->broken = true;
}
