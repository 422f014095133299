/*
 * dwarf_unit.c - abbreviations, the values of a DIE, and what the root DIE of a unit says.
 *
 *     abbreviation   uleb code | uleb tag | u8 children | (uleb name, uleb form)… | 0 0
 *                    form implicit_const is followed by an sleb: the value itself
 *
 * A table is kept sorted by code (compilers write 1, 2, 3 …) with the size of DIEs whose values
 * have fixed sizes: most DIEs are skipped without a look at their attributes. A few tables stay:
 * units that follow each other often share one, and references lead to few units.
 */
#include "symbol/dwarf.h"

#include <dwarf.h>
#include <stdlib.h>

#define ABBREVS_MAX ((size_t)1 << 20)
#define TEXT_MAX ((size_t)1 << 18)   /* longer texts count as broken */

struct fm_cursor fm_dwarf_cursor(const struct fm_dwarf *dwarf, enum fm_dwarf_section section,
                                 uint64_t from, uint64_t to)
{
    const struct fm_dwarf_bytes *bytes = &dwarf->section[section];
    const uint64_t end = FM_MIN(to, (uint64_t)bytes->n);
    struct fm_cursor c;

    if (bytes->p == NULL || from > end) {
        fm_cursor_init(&c, "", 0, from, dwarf->swap);
        c.bad = true;
        return c;
    }
    fm_cursor_init(&c, bytes->p + from, (size_t)(end - from), from, dwarf->swap);
    return c;
}

uint64_t fm_dwarf_number(struct fm_cursor *c, unsigned bytes)
{
    switch (bytes) {
    case 1:
        return fm_cursor_u8(c);
    case 2:
        return fm_cursor_u16(c);
    case 4:
        return fm_cursor_u32(c);
    case 8:
        return fm_cursor_u64(c);
    default:
        c->bad = true;
        return 0;
    }
}

/* ---------------------------------------------------------- abbreviations */

/* The size of a form: bytes, or a count of addresses or offsets; false: it varies. */
static bool fixed_size(uint16_t form, struct fm_abbrev *abbrev)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return true;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        abbrev->bytes += 1;
        return true;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        abbrev->bytes += 2;
        return true;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        abbrev->bytes += 3;
        return true;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
        abbrev->bytes += 4;
        return true;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        abbrev->bytes += 8;
        return true;
    case DW_FORM_data16:
        abbrev->bytes += 16;
        return true;
    case DW_FORM_addr:
        abbrev->addresses++;
        return true;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_sec_offset:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        abbrev->offsets++;
        return true;
    default:
        return false;
    }
}

static enum fm_status read_abbrev(struct fm_dwarf *dwarf, struct fm_abbrevs *table,
                                  struct fm_cursor *c, struct fm_abbrev *abbrev)
{
    struct fm_mem *mem = dwarf->mem;

    abbrev->tag = fm_dwarf_code(c);
    abbrev->children = fm_cursor_u8(c) != 0;
    abbrev->fixed = true;
    abbrev->bytes = abbrev->addresses = abbrev->offsets = 0;
    abbrev->first = (uint32_t)table->attrs;
    for (;;) {
        struct fm_abbrev_attr attr = { 0 };
        uint64_t name = fm_cursor_uleb(c), form = fm_cursor_uleb(c);
        if (!fm_cursor_ok(c) || (name == 0 && form == 0))
            break;
        attr.name = (uint16_t)FM_MIN(name, (uint64_t)UINT16_MAX);
        attr.form = (uint16_t)FM_MIN(form, (uint64_t)UINT16_MAX);
        if (attr.form == DW_FORM_implicit_const)
            attr.value = fm_cursor_sleb(c);
        abbrev->fixed = fixed_size(attr.form, abbrev) && abbrev->fixed;
        if (table->attrs >= ABBREVS_MAX || !fm_dwarf_step(dwarf, 1))
            return FM_FORMAT;
        if (!fm_grow(mem, (void **)&table->attr, &table->attr_cap, table->attrs + 1,
                     sizeof *table->attr))
            return FM_NOMEM;
        table->attr[table->attrs++] = attr;
    }
    abbrev->n = (uint32_t)table->attrs - abbrev->first;
    return fm_cursor_ok(c) ? FM_OK : FM_FORMAT;
}

static int by_code(const void *a, const void *b)
{
    const struct fm_abbrev *x = a, *y = b;

    return (x->code > y->code) - (x->code < y->code);
}

/* What could be read before the end of the section counts. */
static enum fm_status read_abbrevs(struct fm_dwarf *dwarf, struct fm_abbrevs *table)
{
    struct fm_cursor c = fm_dwarf_cursor(dwarf, FM_DWARF_ABBREV, table->offset, UINT64_MAX);
    bool sorted = true;

    table->n = table->attrs = 0;
    while (table->n < ABBREVS_MAX && fm_dwarf_step(dwarf, 1)) {
        struct fm_abbrev abbrev = { .code = fm_cursor_uleb(&c) };
        enum fm_status status = FM_FORMAT;
        if (fm_cursor_ok(&c) && abbrev.code != 0)
            status = read_abbrev(dwarf, table, &c, &abbrev);
        if (status == FM_NOMEM)
            return FM_NOMEM;
        if (status != FM_OK)
            break;
        if (!fm_grow(dwarf->mem, (void **)&table->abbrev, &table->cap, table->n + 1,
                     sizeof *table->abbrev))
            return FM_NOMEM;
        sorted = sorted && (table->n == 0 || table->abbrev[table->n - 1].code < abbrev.code);
        table->abbrev[table->n++] = abbrev;
    }
    if (!sorted)
        qsort(table->abbrev, table->n, sizeof *table->abbrev, by_code);
    return table->n > 0 ? FM_OK : FM_FORMAT;
}

static enum fm_status take_abbrevs(struct fm_dwarf *dwarf, uint64_t offset,
                                   struct fm_abbrevs **out)
{
    struct fm_abbrevs *table = NULL;
    enum fm_status status;

    for (size_t i = 0; i < FM_DWARF_TABLES; i++) {
        struct fm_abbrevs *t = &dwarf->table[i];
        if (t->n > 0 && t->offset == offset) {
            t->users++;
            *out = t;
            return FM_OK;
        }
    }
    for (size_t i = 0; i < FM_DWARF_TABLES && table == NULL; i++) {
        dwarf->next_table = (dwarf->next_table + 1) % FM_DWARF_TABLES;
        if (dwarf->table[dwarf->next_table].users == 0)
            table = &dwarf->table[dwarf->next_table];
    }
    if (table == NULL)
        return FM_FORMAT;        /* units nest no deeper than references are followed */
    table->offset = offset;
    status = read_abbrevs(dwarf, table);
    if (status != FM_OK) {
        table->n = 0;
        return status;
    }
    table->users = 1;
    *out = table;
    return FM_OK;
}

static const struct fm_abbrev *find_abbrev(const struct fm_abbrevs *table, uint64_t code)
{
    size_t lo = 0, hi = table->n;

    if (code - 1 < table->n && table->abbrev[code - 1].code == code)
        return &table->abbrev[code - 1];
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (table->abbrev[mid].code < code)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < table->n && table->abbrev[lo].code == code ? &table->abbrev[lo] : NULL;
}

/* ----------------------------------------------------------------- values */

const struct fm_abbrev *fm_dwarf_die(const struct fm_dwarf_cu *cu, struct fm_cursor *c)
{
    const struct fm_abbrev *abbrev;
    uint64_t code;

    if (!fm_dwarf_step(cu->file, 1)) {
        c->bad = true;
        return NULL;
    }
    code = fm_cursor_uleb(c);
    if (code == 0)
        return NULL;
    abbrev = find_abbrev(cu->abbrevs, code);
    if (abbrev == NULL)
        c->bad = true;
    return abbrev;
}

static void take_block(struct fm_cursor *c, uint64_t n, struct fm_dwarf_value *value)
{
    if (n > fm_cursor_left(c)) {
        c->bad = true;
        return;
    }
    value->n = (size_t)n;
    value->p = fm_cursor_bytes(c, (size_t)n);
}

static uint64_t number3(struct fm_cursor *c)
{
    const uint64_t a = fm_cursor_u8(c), b = fm_cursor_u8(c), d = fm_cursor_u8(c);

    return c->swap == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? a | b << 8 | d << 16
                                                                : a << 16 | b << 8 | d;
}

/* Numbers, indexes and offsets of fixed size; 0: another form. */
static unsigned number_size(const struct fm_dwarf_unit *unit, uint16_t form)
{
    switch (form) {
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;
    case DW_FORM_addr:
        return unit->address;
    case DW_FORM_ref_addr:
        return unit->version <= 2 ? unit->address : unit->wide;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_sec_offset:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return unit->wide;
    default:
        return 0;
    }
}

/* The other forms. */
static void other_value(struct fm_cursor *c, struct fm_dwarf_value *value)
{
    size_t n;

    switch (value->form) {
    case DW_FORM_flag_present:
        value->u = 1;
        break;
    case DW_FORM_sdata:
        value->u = (uint64_t)fm_cursor_sleb(c);
        break;
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        value->u = fm_cursor_uleb(c);
        break;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        value->u = number3(c);
        break;
    case DW_FORM_data16:
        take_block(c, 16, value);
        break;
    case DW_FORM_block1:
        take_block(c, fm_cursor_u8(c), value);
        break;
    case DW_FORM_block2:
        take_block(c, fm_cursor_u16(c), value);
        break;
    case DW_FORM_block4:
        take_block(c, fm_cursor_u32(c), value);
        break;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        take_block(c, fm_cursor_uleb(c), value);
        break;
    case DW_FORM_string:
        value->p = (const unsigned char *)fm_cursor_text(c, fm_cursor_left(c), false, &n);
        value->n = n;
        break;
    default:
        c->bad = true;
        break;
    }
}

void fm_dwarf_value(const struct fm_dwarf_cu *cu, struct fm_cursor *c,
                    const struct fm_abbrev_attr *attr, struct fm_dwarf_value *value)
{
    unsigned size;

    value->form = attr->form;
    value->u = 0;
    value->p = NULL;
    value->n = 0;
    if (attr->form == DW_FORM_implicit_const) {
        value->u = (uint64_t)attr->value;
        return;
    }
    if (attr->form == DW_FORM_indirect) {
        value->form = fm_dwarf_code(c);
        if (value->form == DW_FORM_indirect || value->form == DW_FORM_implicit_const)
            c->bad = true;
    }
    size = number_size(cu->unit, value->form);
    if (size > 0)
        value->u = fm_dwarf_number(c, size);
    else
        other_value(c, value);
    switch (value->form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
        if (!fm_add_u64(value->u, cu->unit->offset, &value->u) || value->u >= cu->unit->end)
            value->u = UINT64_MAX;
        break;
    default:
        break;
    }
    if (value->n > 64 && !fm_dwarf_step(cu->file, value->n >> 6))
        c->bad = true;
    if (!fm_cursor_ok(c))
        value->form = 0;
}

void fm_dwarf_skip(const struct fm_dwarf_cu *cu, struct fm_cursor *c,
                   const struct fm_abbrev *abbrev)
{
    if (abbrev->fixed) {
        fm_cursor_skip(c, abbrev->bytes + (uint64_t)abbrev->addresses * cu->unit->address +
                              (uint64_t)abbrev->offsets * cu->unit->wide);
        return;
    }
    for (uint32_t i = 0; i < abbrev->n && fm_cursor_ok(c); i++) {
        struct fm_dwarf_value value;
        fm_dwarf_value(cu, c, &cu->abbrevs->attr[abbrev->first + i], &value);
    }
}

/* ------------------------------------------------------- texts, addresses */

const char *fm_dwarf_text_at(const struct fm_dwarf *dwarf, enum fm_dwarf_section section,
                             uint64_t offset, size_t *n)
{
    struct fm_cursor c = fm_dwarf_cursor(dwarf, section, offset, UINT64_MAX);

    *n = 0;
    return fm_cursor_ok(&c)
               ? fm_cursor_text(&c, FM_MIN(fm_cursor_left(&c), TEXT_MAX), false, n) : NULL;
}

/* An entry of a table of numbers that begins at `base`. */
static bool entry(const struct fm_dwarf *dwarf, enum fm_dwarf_section section, uint64_t base,
                  uint64_t index, unsigned size, uint64_t *value)
{
    struct fm_cursor c;
    uint64_t at;

    if (!fm_mul_u64(index, size, &at) || !fm_add_u64(at, base, &at))
        return false;
    c = fm_dwarf_cursor(dwarf, section, at, UINT64_MAX);
    *value = fm_dwarf_number(&c, size);
    return fm_cursor_ok(&c);
}

const char *fm_dwarf_text(const struct fm_dwarf_cu *cu, const struct fm_dwarf_value *value,
                          size_t *n)
{
    uint64_t at;

    *n = 0;
    switch (value->form) {
    case DW_FORM_string:
        *n = value->n;
        return (const char *)value->p;
    case DW_FORM_strp:
        return fm_dwarf_text_at(cu->file, FM_DWARF_STR, value->u, n);
    case DW_FORM_line_strp:
        return fm_dwarf_text_at(cu->file, FM_DWARF_LINE_STR, value->u, n);
    case DW_FORM_GNU_strp_alt:
    case DW_FORM_strp_sup:
        return cu->file->alt != NULL ? fm_dwarf_text_at(cu->file->alt, FM_DWARF_STR, value->u, n)
                                     : NULL;
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index:
        if (!entry(cu->file, FM_DWARF_STR_OFFSETS, cu->str_base, value->u, cu->unit->wide, &at))
            return NULL;
        return fm_dwarf_text_at(cu->file, FM_DWARF_STR, at, n);
    default:
        return NULL;
    }
}

static bool is_address(uint16_t form)
{
    switch (form) {
    case DW_FORM_addr:
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index:
        return true;
    default:
        return false;
    }
}

static bool indexed(const struct fm_dwarf_cu *cu, uint64_t index, uint64_t *address)
{
    return entry(cu->base, FM_DWARF_ADDR, cu->addr_base, index, cu->unit->address, address);
}

bool fm_dwarf_address(const struct fm_dwarf_cu *cu, const struct fm_dwarf_value *value,
                      uint64_t *address)
{
    if (value->form == DW_FORM_addr) {
        *address = value->u;
        return true;
    }
    return is_address(value->form) && indexed(cu, value->u, address);
}

/* ------------------------------------------------------------------ ranges */

static uint64_t last_address(const struct fm_dwarf_cu *cu)
{
    return cu->unit->address >= 8 ? UINT64_MAX : ((uint64_t)1 << 8 * cu->unit->address) - 1;
}

/* .debug_ranges: pairs of addresses relative to the base; (last, base) sets it, (0, 0) ends. */
static void old_ranges(const struct fm_dwarf_cu *cu, uint64_t at, fm_dwarf_range_fn *fn, void *user)
{
    const unsigned size = cu->unit->address;
    struct fm_cursor c = fm_dwarf_cursor(cu->base, FM_DWARF_RANGES, at, UINT64_MAX);
    const uint64_t last = last_address(cu);
    uint64_t base = cu->low;

    while (fm_dwarf_step(cu->file, 1)) {
        const uint64_t low = fm_dwarf_number(&c, size), high = fm_dwarf_number(&c, size);
        if (!fm_cursor_ok(&c) || (low == 0 && high == 0))
            return;
        if (low == last)
            base = high;
        else if (low < high)
            fn(user, (base + low) & last, (base + high) & last);
    }
}

/* .debug_rnglists: u8 kind and its operands. */
static void new_ranges(const struct fm_dwarf_cu *cu, uint64_t at, fm_dwarf_range_fn *fn, void *user)
{
    const unsigned size = cu->unit->address;
    struct fm_cursor c = fm_dwarf_cursor(cu->file, FM_DWARF_RNGLISTS, at, UINT64_MAX);
    const uint64_t last = last_address(cu);
    uint64_t base = cu->low, low, high;

    while (fm_dwarf_step(cu->file, 1)) {
        const uint8_t kind = fm_cursor_u8(&c);
        bool ok = true;
        low = high = 0;
        switch (kind) {
        case DW_RLE_base_addressx:
            ok = indexed(cu, fm_cursor_uleb(&c), &base);
            break;
        case DW_RLE_startx_endx:
            ok = indexed(cu, fm_cursor_uleb(&c), &low);
            ok = indexed(cu, fm_cursor_uleb(&c), &high) && ok;
            break;
        case DW_RLE_startx_length:
            ok = indexed(cu, fm_cursor_uleb(&c), &low);
            high = low + fm_cursor_uleb(&c);
            break;
        case DW_RLE_offset_pair:
            low = base + fm_cursor_uleb(&c);
            high = base + fm_cursor_uleb(&c);
            break;
        case DW_RLE_base_address:
            base = fm_dwarf_number(&c, size);
            break;
        case DW_RLE_start_end:
            low = fm_dwarf_number(&c, size);
            high = fm_dwarf_number(&c, size);
            break;
        case DW_RLE_start_length:
            low = fm_dwarf_number(&c, size);
            high = low + fm_cursor_uleb(&c);
            break;
        default:
            return;              /* DW_RLE_end_of_list, or not known */
        }
        if (!ok || !fm_cursor_ok(&c))
            return;
        if ((low & last) < (high & last))
            fn(user, low & last, high & last);
    }
}

static void listed_ranges(const struct fm_dwarf_cu *cu, const struct fm_dwarf_value *value,
                          fm_dwarf_range_fn *fn, void *user)
{
    uint64_t at = value->u;

    if (cu->unit->version < 5) {
        /* a skeleton's own list is not relative to the base that it gives its .dwo */
        if (cu->base == cu->file || fm_add_u64(at, cu->ranges_base, &at))
            old_ranges(cu, at, fn, user);
        return;
    }
    if (value->form == DW_FORM_rnglistx) {
        if (!entry(cu->file, FM_DWARF_RNGLISTS, cu->rnglists_base, at, cu->unit->wide, &at) ||
            !fm_add_u64(at, cu->rnglists_base, &at))
            return;
    }
    new_ranges(cu, at, fn, user);
}

void fm_dwarf_ranges(const struct fm_dwarf_cu *cu, const struct fm_dwarf_pcs *pcs,
                     fm_dwarf_range_fn *fn, void *user)
{
    uint64_t low, high;

    if (pcs->ranges.form != 0) {
        listed_ranges(cu, &pcs->ranges, fn, user);
        return;
    }
    if (pcs->low.form == 0 || !fm_dwarf_address(cu, &pcs->low, &low) || pcs->high.form == 0)
        return;
    if (is_address(pcs->high.form)) {
        if (!fm_dwarf_address(cu, &pcs->high, &high))
            return;
    } else if (!fm_add_u64(low, pcs->high.u, &high)) {
        return;
    }
    if (low < high)
        fn(user, low, high);
}

/* -------------------------------------------------------------- root DIEs */

static void take_root(struct fm_dwarf_cu *cu, uint16_t name, const struct fm_dwarf_value *value)
{
    if (fm_dwarf_pcs_take(&cu->pcs, name, value))
        return;
    switch (name) {
    case DW_AT_name:
        cu->name = *value;
        break;
    case DW_AT_comp_dir:
        cu->comp_dir = *value;
        break;
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name:
        cu->dwo = *value;
        break;
    case DW_AT_GNU_dwo_id:
        cu->id = value->u;
        break;
    case DW_AT_stmt_list:
        cu->lines = value->u;
        break;
    case DW_AT_language:
        cu->language = value->u;
        break;
    case DW_AT_str_offsets_base:
        cu->str_base = value->u;
        break;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base:
        cu->addr_base = value->u;
        break;
    case DW_AT_rnglists_base:
        cu->rnglists_base = value->u;
        break;
    case DW_AT_GNU_ranges_base:
        cu->ranges_base = value->u;
        break;
    default:
        break;
    }
}

/* Bases that need not be told: behind the header of the only table. */
static void usual_bases(struct fm_dwarf_cu *cu)
{
    const bool wide = cu->unit->wide == 8;

    if (cu->unit->version < 5)
        return;
    cu->str_base = wide ? 16 : 8;
    cu->rnglists_base = wide ? 20 : 12;
    cu->addr_base = wide ? 16 : 8;
}

static void borrow(struct fm_dwarf_cu *cu, const struct fm_dwarf_cu *skeleton)
{
    cu->base = skeleton->file;
    cu->addr_base = skeleton->addr_base;
    cu->ranges_base = skeleton->ranges_base;
    cu->low = skeleton->low;
    cu->lines = skeleton->lines;
}

enum fm_status fm_dwarf_cu_open(struct fm_dwarf_cu *cu, struct fm_dwarf *file,
                                const struct fm_dwarf_unit *unit,
                                const struct fm_dwarf_cu *skeleton)
{
    struct fm_cursor c = fm_dwarf_cursor(file, FM_DWARF_INFO, unit->die, unit->end);
    const struct fm_abbrev *abbrev;
    enum fm_status status;

    memset(cu, 0, sizeof *cu);
    cu->file = cu->base = file;
    cu->unit = unit;
    cu->lines = UINT64_MAX;
    cu->id = unit->id;
    status = take_abbrevs(file, unit->abbrev, &cu->abbrevs);
    if (status != FM_OK)
        return status;
    usual_bases(cu);
    if (skeleton != NULL)
        borrow(cu, skeleton);
    abbrev = fm_dwarf_die(cu, &c);
    for (uint32_t i = 0; abbrev != NULL && i < abbrev->n && fm_cursor_ok(&c); i++) {
        const struct fm_abbrev_attr *attr = &cu->abbrevs->attr[abbrev->first + i];
        struct fm_dwarf_value value;
        fm_dwarf_value(cu, &c, attr, &value);
        if (value.form != 0)
            take_root(cu, attr->name, &value);
    }
    if (abbrev == NULL || !fm_cursor_ok(&c)) {
        file->broken = true;
        fm_dwarf_cu_close(cu);
        return FM_FORMAT;
    }
    cu->tag = abbrev->tag;
    if (skeleton == NULL && cu->pcs.low.form != 0 && !fm_dwarf_address(cu, &cu->pcs.low, &cu->low))
        cu->low = 0;
    return FM_OK;
}

void fm_dwarf_cu_close(struct fm_dwarf_cu *cu)
{
    if (cu->abbrevs != NULL)
        cu->abbrevs->users--;
    cu->abbrevs = NULL;
}
