/*
 * dwarf_file.c - the debug sections of a file, and the units in .debug_info.
 *
 * A section is borrowed from the image, or unpacked:
 *
 *     SHF_COMPRESSED   u32 type (1 zlib, 2 zstd) | u32 - | u64 size | u64 align | stream    64 bits
 *                      u32 type | u32 size | u32 align | stream                             32 bits
 *     .zdebug_NAME     "ZLIB" | u64 size, big-endian | zlib stream
 *
 * A unit's header:
 *
 *     length u32 (0xffffffff: u64 follows, offsets have 8 bytes) | version u16
 *     2..4   abbrev offset | address size u8
 *     5      type u8 | address size u8 | abbrev offset | u64 id of skeleton and split units
 */
#include "symbol/dwarf.h"

#include "input/input.h"
#include "symbol/elf_inner.h"

#include <dwarf.h>
#include <zlib.h>

#define UNPACKED_MAX ((uint64_t)2 << 30)
#define ZLIB_RATIO 1032u         /* no deflate stream grows more */
#define UNITS_MAX (1u << 24)

static const char *const names[FM_DWARF_SECTIONS] = {
    "info", "abbrev", "str", "line", "line_str", "ranges", "rnglists", "addr", "str_offsets",
};

/* -------------------------------------------------------------- unpacking */

static bool unpack_zlib(const unsigned char *p, size_t n, unsigned char *out, size_t size)
{
    z_stream z = { 0 };
    size_t done = 0;
    int result = Z_OK;

    memcpy(&z.next_in, &p, sizeof p);    /* zlib takes no pointer to const */
    if (inflateInit(&z) != Z_OK)
        return false;
    while (result == Z_OK && done < size) {
        const size_t room = FM_MIN(size - done, (size_t)1 << 30);
        z.avail_in = (uInt)FM_MIN(n - (size_t)(z.next_in - p), (size_t)1 << 30);
        z.next_out = out + done;
        z.avail_out = (uInt)room;
        result = inflate(&z, Z_NO_FLUSH);
        done += room - z.avail_out;
    }
    inflateEnd(&z);
    return done == size;
}

static bool unpack_zstd(struct fm_ctx *ctx, const unsigned char *p, size_t n, unsigned char *out,
                        size_t size)
{
    struct fm_inflate *inflate = NULL;
    size_t done = 0, got = 1;

    if (fm_inflate_new(ctx, "zstd", &inflate, NULL) != FM_OK)
        return false;            /* built without, or no memory: as if it were damaged */
    while (done < size && (got > 0 || n > 0)) {
        const size_t left = n;
        if (fm_inflate_run(inflate, &p, &n, out + done, size - done, &got, NULL) != FM_OK ||
            (got == 0 && n == left))
            break;
        done += got;
    }
    fm_inflate_free(inflate);
    return done == size;
}

/* A section that could not be unpacked is as if absent, and the file broken. */
static enum fm_status unpack(struct fm_dwarf *dwarf, uint32_t type, uint64_t size,
                             const unsigned char *p, size_t n, struct fm_dwarf_bytes *out)
{
    unsigned char *bytes;
    bool ok = false;

    if (size == 0 || size > UNPACKED_MAX || (type == ELFCOMPRESS_ZLIB && size / ZLIB_RATIO > n)) {
        dwarf->broken = true;
        return FM_OK;
    }
    bytes = fm_mem_big_alloc(dwarf->mem, (size_t)size);
    if (bytes == NULL)
        return FM_NOMEM;
    if (type == ELFCOMPRESS_ZLIB)
        ok = unpack_zlib(p, n, bytes, (size_t)size);
    else if (type == 2)          /* ELFCOMPRESS_ZSTD */
        ok = unpack_zstd(dwarf->ctx, p, n, bytes, (size_t)size);
    if (!ok) {
        fm_mem_big_free(dwarf->mem, bytes, (size_t)size);
        dwarf->broken = true;
        return FM_OK;
    }
    out->p = out->owned = bytes;
    out->n = (size_t)size;
    return FM_OK;
}

static enum fm_status take_compressed(struct fm_dwarf *dwarf, const struct fm_elf *elf,
                                      const struct fm_elf_section *section,
                                      struct fm_dwarf_bytes *out)
{
    const bool wide = elf->header.e_ident[EI_CLASS] == ELFCLASS64;
    struct fm_cursor c;
    uint32_t type;
    uint64_t size;

    if (section->type == SHT_NOBITS || section->size == 0)
        return FM_OK;
    fm_cursor_init(&c, elf->image.data + section->offset, (size_t)section->size, 0, dwarf->swap);
    type = fm_cursor_u32(&c);
    if (wide)
        fm_cursor_skip(&c, 4);
    size = wide ? fm_cursor_u64(&c) : fm_cursor_u32(&c);
    fm_cursor_skip(&c, wide ? 8 : 4);
    if (fm_cursor_ok(&c))
        return unpack(dwarf, type, size, c.p, fm_cursor_left(&c), out);
    dwarf->broken = true;
    return FM_OK;
}

static enum fm_status take_zdebug(struct fm_dwarf *dwarf, const struct fm_elf *elf,
                                  const struct fm_elf_section *section, struct fm_dwarf_bytes *out)
{
    const unsigned char *bytes = fm_elf_bytes(elf, section);
    uint64_t size = 0;

    if (bytes == NULL || section->size < 12 || memcmp(bytes, "ZLIB", 4) != 0)
        return FM_OK;
    for (size_t i = 4; i < 12; i++)
        size = size << 8 | bytes[i];
    return unpack(dwarf, ELFCOMPRESS_ZLIB, size, bytes + 12, (size_t)section->size - 12, out);
}

/* "info" of ".debug_info", ".debug_info.dwo" or ".zdebug_info". */
static bool is_named(const char *section, const char *prefix, const char *name, bool split)
{
    const size_t n = strlen(prefix), k = strlen(name);

    return strncmp(section, prefix, n) == 0 && strncmp(section + n, name, k) == 0 &&
           strcmp(section + n + k, split ? ".dwo" : "") == 0;
}

static enum fm_status take_section(struct fm_dwarf *dwarf, const struct fm_elf *elf,
                                   const char *name, struct fm_dwarf_bytes *out)
{
    for (size_t i = 1; i < elf->sections; i++) {
        const struct fm_elf_section *section = &elf->section[i];
        if (is_named(section->name, ".debug_", name, dwarf->split)) {
            if ((section->flags & SHF_COMPRESSED) != 0)
                return take_compressed(dwarf, elf, section, out);
            out->p = fm_elf_bytes(elf, section);
            out->n = out->p != NULL ? (size_t)section->size : 0;
            return FM_OK;
        }
        if (is_named(section->name, ".zdebug_", name, dwarf->split))
            return take_zdebug(dwarf, elf, section, out);
    }
    return FM_OK;
}

/* ------------------------------------------------------------------ units */

static bool read_header(struct fm_cursor *c, struct fm_dwarf_unit *unit)
{
    uint64_t length = fm_cursor_u32(c);
    struct fm_cursor in;

    unit->wide = 4;
    if (length == 0xffffffff) {
        unit->wide = 8;
        length = fm_cursor_u64(c);
    }
    if (fm_cursor_left(c) < length)
        length = fm_cursor_left(c);          /* cut: what is there can be read */
    in = fm_cursor_sub(c, length);
    unit->end = fm_cursor_offset(c);
    unit->version = fm_cursor_u16(&in);
    if (unit->version < 2 || unit->version > 5)
        return false;
    unit->type = DW_UT_compile;
    unit->id = 0;
    if (unit->version >= 5) {
        unit->type = fm_cursor_u8(&in);
        unit->address = fm_cursor_u8(&in);
        unit->abbrev = fm_dwarf_number(&in, unit->wide);
        if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile)
            unit->id = fm_cursor_u64(&in);
        else if (unit->type == DW_UT_type || unit->type == DW_UT_split_type)
            fm_cursor_skip(&in, 8u + unit->wide);
    } else {
        unit->abbrev = fm_dwarf_number(&in, unit->wide);
        unit->address = fm_cursor_u8(&in);
    }
    unit->die = fm_cursor_offset(&in);
    return fm_cursor_ok(&in) && fm_cursor_left(&in) > 0 &&
           (unit->address == 4 || unit->address == 8 || unit->address == 2);
}

static enum fm_status read_units(struct fm_dwarf *dwarf)
{
    struct fm_cursor c = fm_dwarf_cursor(dwarf, FM_DWARF_INFO, 0, UINT64_MAX);

    while (fm_cursor_left(&c) > 4 && dwarf->units < UNITS_MAX) {
        struct fm_dwarf_unit unit = { .offset = fm_cursor_offset(&c) };
        if (!fm_dwarf_step(dwarf, 1))
            break;
        if (!read_header(&c, &unit)) {
            dwarf->broken = dwarf->broken || unit.version != 0;
            continue;
        }
        if (!fm_grow(dwarf->mem, (void **)&dwarf->unit, &dwarf->unit_cap, dwarf->units + 1,
                     sizeof *dwarf->unit))
            return FM_NOMEM;
        dwarf->unit[dwarf->units++] = unit;
    }
    return FM_OK;
}

const struct fm_dwarf_unit *fm_dwarf_unit_at(const struct fm_dwarf *dwarf, uint64_t offset)
{
    size_t lo = 0, hi = dwarf->units;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (dwarf->unit[mid].end <= offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == dwarf->units || offset < dwarf->unit[lo].die)
        return NULL;
    return &dwarf->unit[lo];
}

/* ------------------------------------------------------------------- life */

bool fm_dwarf_is_in(const struct fm_elf *elf)
{
    if (elf->header.e_type == ET_REL)
        return false;            /* its addresses stand in relocations */
    for (size_t i = 1; i < elf->sections; i++) {
        const struct fm_elf_section *section = &elf->section[i];
        if (section->type != SHT_NOBITS && section->size > 0 &&
            (is_named(section->name, ".debug_", "info", false) ||
             is_named(section->name, ".zdebug_", "info", false)))
            return true;
    }
    return false;
}

uint64_t fm_dwarf_work(const struct fm_dwarf *dwarf)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < FM_DWARF_SECTIONS; i++)
        bytes += dwarf->section[i].n;
    return ((uint64_t)1 << 25) + 16 * bytes;
}

enum fm_status fm_dwarf_open(struct fm_dwarf *dwarf, struct fm_ctx *ctx, const struct fm_elf *elf,
                             bool split, uint64_t *work)
{
    enum fm_status status = FM_OK;

    memset(dwarf, 0, sizeof *dwarf);
    dwarf->ctx = ctx;
    dwarf->mem = &ctx->mem;
    dwarf->work = work;
    dwarf->split = split;
    dwarf->swap = (elf->header.e_ident[EI_DATA] == ELFDATA2MSB) !=
                  (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    for (size_t i = 0; i < FM_DWARF_SECTIONS && status == FM_OK; i++)
        status = take_section(dwarf, elf, names[i], &dwarf->section[i]);
    if (status == FM_OK && (dwarf->section[FM_DWARF_INFO].n == 0 ||
                            dwarf->section[FM_DWARF_ABBREV].n == 0))
        status = FM_UNKNOWN;
    if (status == FM_OK) {
        *work += fm_dwarf_work(dwarf);
        status = read_units(dwarf);
    }
    if (status != FM_OK)
        fm_dwarf_close(dwarf);
    return status;
}

void fm_dwarf_close(struct fm_dwarf *dwarf)
{
    if (dwarf->mem == NULL)
        return;
    for (size_t i = 0; i < FM_DWARF_SECTIONS; i++) {
        if (dwarf->section[i].owned != NULL)
            fm_mem_big_free(dwarf->mem, dwarf->section[i].owned, dwarf->section[i].n);
    }
    for (size_t i = 0; i < FM_DWARF_TABLES; i++) {
        struct fm_abbrevs *table = &dwarf->table[i];
        fm_assert(table->users == 0);
        fm_mem_free(dwarf->mem, table->abbrev, table->cap * sizeof *table->abbrev);
        fm_mem_free(dwarf->mem, table->attr, table->attr_cap * sizeof *table->attr);
    }
    fm_mem_free(dwarf->mem, dwarf->unit, dwarf->unit_cap * sizeof *dwarf->unit);
    memset(dwarf, 0, sizeof *dwarf);
}
