/*
 * cfi.c - .eh_frame and .debug_frame: entries found by address, their programs run to a row.
 *
 *     entry   u32 length (0xffffffff: u64 follows) | id | body
 *
 *     CIE     id 0 (.debug_frame: all ones) | u8 version | augmentation text, NUL
 *             | version 4: u8 address size, u8 segment size | uleb code alignment
 *             | sleb data alignment | return address column (version 1: u8, else uleb)
 *             | 'z': uleb n, n bytes: R u8 encoding of addresses, P u8 + pointer, L u8, S signal
 *             | program
 *     FDE     id: .eh_frame: distance back to the CIE from here; .debug_frame: offset of the CIE
 *             | first address | number of addresses | 'z': uleb n, n bytes | program
 *
 *     .eh_frame_hdr   u8 1 | u8 x 3 encodings | pointer to .eh_frame | count
 *                     | count x { i32 address, i32 place of its FDE }   sorted, from this section
 *
 * A program moves through the addresses of its function and changes a row of rules; the row in
 * force at the address asked for is the answer. Rows are kept by address. Without a usable header
 * all FDEs of a section are listed and sorted once.
 */
#include "symbol/cfi.h"

#include "symbol/elf_inner.h"
#include "util/map.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#define UNPACKED_MAX (256u << 20)
#define REMEMBER 16u             /* nested DW_CFA_remember_state */
#define PROGRAM_MAX 100000u      /* steps of one program */

/* How an address is written. */
enum {
    ENC_ABS = 0, ENC_ULEB = 1, ENC_U2 = 2, ENC_U4 = 3, ENC_U8 = 4, ENC_SLEB = 9, ENC_S2 = 10,
    ENC_S4 = 11, ENC_S8 = 12, ENC_PCREL = 0x10, ENC_DATAREL = 0x30, ENC_OMIT = 0xff
};

struct section {
    const unsigned char *data;   /* NULL: not there */
    size_t n;
    uint64_t address;            /* of data[0] */
    bool eh;                     /* as in .eh_frame */
    unsigned char *unpacked;     /* owned, n bytes */
    struct entry *index;         /* sorted by address; NULL until it is needed */
    size_t entries, cap;
    bool indexed;
};

struct entry {
    uint64_t begin, end;
    size_t fde;                  /* offset in the section */
};

struct cie {
    size_t offset;               /* in the section; SIZE_MAX none */
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_reg;
    const unsigned char *program;
    size_t program_n;
    uint8_t encoding;
    bool augmented, signal;
};

struct fm_cfi {
    struct fm_ctx *ctx;
    struct fm_arena arena;
    struct fm_map row;           /* address -> row, as a number + 1; 0: none */
    const struct fm_cfi_row **rows;
    size_t row_n, row_cap;
    struct section eh, debug[2]; /* of the runtime file, of the debug file */
    const unsigned char *table;  /* of .eh_frame_hdr */
    size_t table_n;              /* its entries */
    uint64_t table_address;      /* of .eh_frame_hdr */
    struct cie cie;              /* the last one read, of `cie_of` */
    const struct section *cie_of;
    unsigned word;
    bool swap, oom;
};

/* ------------------------------------------------------------------- sections */

/* Inflates a section with SHF_COMPRESSED: a header in the file's class, then zlib or zstd. */
static void unpack(struct fm_cfi *cfi, const struct fm_elf *elf, const struct fm_elf_section *from,
                   struct section *to)
{
    const unsigned char *data = elf->image.data + from->offset;
    struct fm_cursor c;
    uint64_t size;
    fm_cursor_init(&c, data, (size_t)from->size, 0, cfi->swap);
    uint32_t type = fm_cursor_u32(&c);
    if (cfi->word == 8)
        fm_cursor_skip(&c, 4);
    size = cfi->word == 8 ? fm_cursor_u64(&c) : fm_cursor_u32(&c);
    fm_cursor_skip(&c, cfi->word);
    size_t left = fm_cursor_left(&c);
    if (!fm_cursor_ok(&c) || size == 0 || size > UNPACKED_MAX || size / 1100 > left)
        return;
    unsigned char *out = fm_mem_alloc(&cfi->ctx->mem, (size_t)size);
    if (out == NULL) {
        cfi->oom = true;
        return;
    }
    uLongf made = (uLongf)size;
    bool good = type == ELFCOMPRESS_ZLIB
                    ? uncompress(out, &made, c.p, (uLong)left) == Z_OK && made == size
                    : type == 2 && ZSTD_decompress(out, (size_t)size, c.p, left) == size;
    if (!good) {
        fm_mem_free(&cfi->ctx->mem, out, (size_t)size);
        return;
    }
    to->data = to->unpacked = out;
    to->n = (size_t)size;
}

/* ".zdebug_frame": "ZLIB", u64 size, big-endian, then zlib. */
static void unpack_old(struct fm_cfi *cfi, const unsigned char *data, size_t n, struct section *to)
{
    uint64_t size = 0;
    if (n < 12 || memcmp(data, "ZLIB", 4) != 0)
        return;
    for (size_t i = 4; i < 12; i++)
        size = size << 8 | data[i];
    if (size == 0 || size > UNPACKED_MAX || size / 1100 > n)
        return;
    unsigned char *out = fm_mem_alloc(&cfi->ctx->mem, (size_t)size);
    uLongf made = (uLongf)size;
    if (out == NULL) {
        cfi->oom = true;
    } else if (uncompress(out, &made, data + 12, (uLong)(n - 12)) != Z_OK || made != size) {
        fm_mem_free(&cfi->ctx->mem, out, (size_t)size);
    } else {
        to->data = to->unpacked = out;
        to->n = (size_t)size;
    }
}

static void take_section(struct fm_cfi *cfi, const struct fm_elf *elf, const char *name, bool eh,
                         struct section *to)
{
    const struct fm_elf_section *section = fm_elf_section_find(elf, name);
    to->eh = eh;
    if (section == NULL || section->type == SHT_NOBITS || section->size == 0)
        return;
    to->address = section->address;
    if ((section->flags & SHF_COMPRESSED) != 0) {
        unpack(cfi, elf, section, to);
        return;
    }
    to->data = fm_elf_bytes(elf, section);
    to->n = (size_t)section->size;
}

static void take_debug(struct fm_cfi *cfi, const struct fm_elf *elf, struct section *to)
{
    take_section(cfi, elf, ".debug_frame", false, to);
    if (to->data != NULL || cfi->oom)
        return;
    const struct fm_elf_section *old = fm_elf_section_find(elf, ".zdebug_frame");
    const unsigned char *data = fm_elf_bytes(elf, old);
    if (data != NULL)
        unpack_old(cfi, data, (size_t)old->size, to);
}

/* Bytes of the file at an address of a loaded part, up to the end of that part. */
static const unsigned char *loaded(const struct fm_elf *elf, uint64_t address, size_t *n)
{
    for (size_t i = 0; i < elf->loads; i++) {
        const struct fm_elf_load *load = &elf->load[i];
        if (address >= load->address && address - load->address < load->size) {
            *n = (size_t)(load->size - (address - load->address));
            return elf->image.data + load->offset + (address - load->address);
        }
    }
    return NULL;
}

static bool read_pointer(const struct fm_cfi *cfi, struct fm_cursor *c, uint8_t encoding,
                         uint64_t base, uint64_t *value)
{
    uint64_t at = fm_cursor_offset(c), v;
    switch (encoding & 15) {
    case ENC_ABS: v = cfi->word == 8 ? fm_cursor_u64(c) : fm_cursor_u32(c); break;
    case ENC_ULEB: v = fm_cursor_uleb(c); break;
    case ENC_U2: v = fm_cursor_u16(c); break;
    case ENC_U4: v = fm_cursor_u32(c); break;
    case ENC_U8:
    case ENC_S8: v = fm_cursor_u64(c); break;
    case ENC_SLEB: v = (uint64_t)fm_cursor_sleb(c); break;
    case ENC_S2: v = (uint64_t)(int64_t)(int16_t)fm_cursor_u16(c); break;
    case ENC_S4: v = (uint64_t)(int64_t)fm_cursor_i32(c); break;
    default: return false;
    }
    switch (encoding & 0x70) {
    case 0: break;
    case ENC_PCREL: v += at; break;
    case ENC_DATAREL: v += base; break;
    default: return false;
    }
    if (cfi->word == 4)
        v &= UINT32_MAX;
    *value = v;
    return fm_cursor_ok(c) && (encoding & 0x80) == 0;
}

/* The program header of .eh_frame_hdr is there even where section headers are not. */
static void take_header(struct fm_cfi *cfi, const struct fm_elf *elf)
{
    const unsigned char *data = NULL;
    size_t n = 0, heads = 0;
    uint64_t frame, count;
    struct fm_cursor c;
    GElf_Phdr ph;
    if (elf_getphdrnum(elf->elf, &heads) != 0)
        return;
    for (size_t i = 0; i < heads && i < INT32_MAX && data == NULL; i++)
        if (gelf_getphdr(elf->elf, (int)i, &ph) != NULL && ph.p_type == PT_GNU_EH_FRAME)
            data = loaded(elf, ph.p_vaddr, &n);
    if (data == NULL || n < 4 || data[0] != 1)
        return;
    fm_cursor_init(&c, data, n, ph.p_vaddr, cfi->swap);
    fm_cursor_skip(&c, 4);
    if (!read_pointer(cfi, &c, data[1], ph.p_vaddr, &frame))
        return;
    if (cfi->eh.data == NULL) {
        cfi->eh.data = loaded(elf, frame, &cfi->eh.n);
        cfi->eh.address = frame;
    }
    if (data[2] == ENC_OMIT || data[3] != (ENC_DATAREL | ENC_S4) ||
        !read_pointer(cfi, &c, data[2], ph.p_vaddr, &count) || count > fm_cursor_left(&c) / 8)
        return;
    cfi->table = c.p;
    cfi->table_n = (size_t)count;
    cfi->table_address = ph.p_vaddr;
}

struct fm_cfi *fm_cfi_new(struct fm_ctx *ctx, const struct fm_elf *runtime,
                          const struct fm_elf *debug)
{
    struct fm_cfi *cfi = fm_mem_zalloc(&ctx->mem, sizeof *cfi);
    if (cfi == NULL)
        return NULL;
    cfi->ctx = ctx;
    fm_arena_init(&cfi->arena, &ctx->mem);
    fm_map_init(&cfi->row, &ctx->mem);
    const struct fm_elf *any = runtime != NULL ? runtime : debug;
    if (any != NULL) {
        bool big = any->header.e_ident[EI_DATA] == ELFDATA2MSB;
        cfi->word = any->header.e_ident[EI_CLASS] == ELFCLASS32 ? 4 : 8;
        cfi->swap = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    }
    if (runtime != NULL && !fm_elf_is_relocatable(runtime)) {
        take_section(cfi, runtime, ".eh_frame", true, &cfi->eh);
        take_header(cfi, runtime);
        take_debug(cfi, runtime, &cfi->debug[0]);
    }
    if (debug != NULL && debug != runtime && !fm_elf_is_relocatable(debug) &&
        debug->header.e_ident[EI_CLASS] == any->header.e_ident[EI_CLASS] &&
        debug->header.e_ident[EI_DATA] == any->header.e_ident[EI_DATA])
        take_debug(cfi, debug, &cfi->debug[1]);
    if (cfi->oom) {
        fm_cfi_free(cfi);
        return NULL;
    }
    return cfi;
}

static void release_section(struct fm_cfi *cfi, struct section *section)
{
    if (section->unpacked != NULL)
        fm_mem_free(&cfi->ctx->mem, section->unpacked, section->n);
    fm_mem_free(&cfi->ctx->mem, section->index, section->cap * sizeof *section->index);
}

void fm_cfi_free(struct fm_cfi *cfi)
{
    if (cfi == NULL)
        return;
    struct fm_mem *mem = &cfi->ctx->mem;
    release_section(cfi, &cfi->eh);
    release_section(cfi, &cfi->debug[0]);
    release_section(cfi, &cfi->debug[1]);
    fm_map_release(&cfi->row);
    fm_mem_free(mem, cfi->rows, cfi->row_cap * sizeof *cfi->rows);
    fm_arena_release(&cfi->arena);
    fm_mem_free(mem, cfi, sizeof *cfi);
}

bool fm_cfi_oom(const struct fm_cfi *cfi)
{
    return cfi->oom;
}

/* -------------------------------------------------------------------- entries */

/* The body of the entry at *at, with its id, and *at moved behind it. False: no more. */
static bool next_entry(const struct fm_cfi *cfi, const struct section *s, size_t *at,
                       struct fm_cursor *body, uint64_t *id, uint64_t *id_place)
{
    struct fm_cursor c;
    if (*at >= s->n)
        return false;
    fm_cursor_init(&c, s->data + *at, s->n - *at, s->address + *at, cfi->swap);
    uint64_t length = fm_cursor_u32(&c);
    bool wide = length == UINT32_MAX;
    if (wide)
        length = fm_cursor_u64(&c);
    if (!fm_cursor_ok(&c) || length == 0 || length > fm_cursor_left(&c))
        return false;
    *body = fm_cursor_sub(&c, length);
    *id_place = fm_cursor_offset(body) - s->address;
    *id = wide && !s->eh ? fm_cursor_u64(body) : fm_cursor_u32(body);
    if (!s->eh && !wide && *id == UINT32_MAX)
        *id = UINT64_MAX;
    *at = (size_t)(c.p - s->data);
    return fm_cursor_ok(body);
}

static bool is_cie(const struct section *s, uint64_t id)
{
    return id == (s->eh ? 0 : UINT64_MAX);
}

/* What 'z' announces. */
static bool read_augmentation(const struct fm_cfi *cfi, struct fm_cursor *c, const char *text,
                              size_t n, struct cie *cie)
{
    uint64_t size = fm_cursor_uleb(c), skipped;
    struct fm_cursor data = fm_cursor_sub(c, size);
    for (size_t i = 1; i < n && fm_cursor_ok(&data); i++) {
        uint8_t encoding;
        switch (text[i]) {
        case 'R': cie->encoding = fm_cursor_u8(&data); break;
        case 'L': fm_cursor_u8(&data); break;
        case 'P':
            encoding = fm_cursor_u8(&data);
            if (encoding != ENC_OMIT && !read_pointer(cfi, &data, encoding & 15, 0, &skipped))
                return false;
            break;
        case 'S': cie->signal = true; break;
        case 'B':                /* AArch64: which key signs; and memory tags */
        case 'G': break;
        default: return true;    /* the size tells where the program begins all the same */
        }
    }
    return fm_cursor_ok(c) && fm_cursor_ok(&data);
}

static bool read_cie(struct fm_cfi *cfi, const struct section *s, size_t offset)
{
    struct cie cie = {.offset = offset};
    struct fm_cursor c;
    size_t at = offset, text_n;
    uint64_t id, place;
    if (cfi->cie_of == s && cfi->cie.offset == offset)
        return true;
    if (!next_entry(cfi, s, &at, &c, &id, &place) || !is_cie(s, id))
        return false;
    uint8_t version = fm_cursor_u8(&c);
    const char *text = fm_cursor_text(&c, fm_cursor_left(&c), false, &text_n);
    if (!fm_cursor_ok(&c) || (version != 1 && version != 3 && version != 4))
        return false;
    if (version == 4)
        fm_cursor_skip(&c, 2);
    if (text_n >= 2 && memcmp(text, "eh", 2) == 0)
        fm_cursor_skip(&c, cfi->word);
    cie.code_align = fm_cursor_uleb(&c);
    cie.data_align = fm_cursor_sleb(&c);
    cie.return_reg = version == 1 ? fm_cursor_u8(&c) : fm_cursor_uleb(&c);
    cie.augmented = text_n > 0 && text[0] == 'z';
    if (cie.augmented && !read_augmentation(cfi, &c, text, text_n, &cie))
        return false;
    if (!fm_cursor_ok(&c) || cie.return_reg >= FM_CFI_REGS)
        return false;
    cie.program = c.p;
    cie.program_n = fm_cursor_left(&c);
    cfi->cie = cie;
    cfi->cie_of = s;
    return true;
}

/* The FDE at an offset: its CIE becomes the current one, c is at its program. */
static bool read_fde(struct fm_cfi *cfi, const struct section *s, size_t offset,
                     struct fm_cursor *c, uint64_t *begin, uint64_t *end)
{
    size_t at = offset;
    uint64_t id, place, count;
    if (!next_entry(cfi, s, &at, c, &id, &place) || is_cie(s, id))
        return false;
    if (s->eh ? id > place : id >= s->n)
        return false;
    if (!read_cie(cfi, s, (size_t)(s->eh ? place - id : id)))
        return false;
    uint8_t encoding = s->eh ? cfi->cie.encoding : ENC_ABS;
    if (!read_pointer(cfi, c, encoding, 0, begin) ||
        !read_pointer(cfi, c, encoding & 15, 0, &count) || !fm_add_u64(*begin, count, end))
        return false;
    if (cfi->cie.augmented)
        fm_cursor_skip(c, fm_cursor_uleb(c));
    return fm_cursor_ok(c);
}

static int by_begin(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->fde < y->fde ? -1 : x->fde > y->fde;
}

static void make_index(struct fm_cfi *cfi, struct section *s)
{
    struct fm_cursor c;
    uint64_t id, place;
    size_t at = 0, from = 0;
    s->indexed = true;
    while (next_entry(cfi, s, &at, &c, &id, &place)) {
        struct entry e = {.fde = from};
        from = at;
        if (is_cie(s, id) || !read_fde(cfi, s, e.fde, &c, &e.begin, &e.end) || e.begin == e.end)
            continue;
        if (!fm_grow(&cfi->ctx->mem, (void **)&s->index, &s->cap, s->entries + 1,
                     sizeof *s->index)) {
            cfi->oom = true;
            return;
        }
        s->index[s->entries++] = e;
    }
    if (s->entries > 1)
        qsort(s->index, s->entries, sizeof *s->index, by_begin);
}

/* Offset of the FDE that should hold pc, by the sorted list; SIZE_MAX none. */
static size_t by_index(struct fm_cfi *cfi, struct section *s, uint64_t pc)
{
    if (!s->indexed)
        make_index(cfi, s);
    size_t low = 0, high = s->entries;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->index[mid].begin <= pc)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 ? s->index[low - 1].fde : SIZE_MAX;
}

static uint64_t table_value(const struct fm_cfi *cfi, size_t i, unsigned at)
{
    uint32_t v = fm_load_u32(cfi->table + 8 * i + at);
    if (cfi->swap)
        v = __builtin_bswap32(v);
    uint64_t value = cfi->table_address + (uint64_t)(int64_t)(int32_t)v;
    return cfi->word == 4 ? value & UINT32_MAX : value;
}

static size_t by_table(const struct fm_cfi *cfi, uint64_t pc)
{
    size_t low = 0, high = cfi->table_n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (table_value(cfi, mid, 0) <= pc)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0)
        return SIZE_MAX;
    uint64_t fde = table_value(cfi, low - 1, 4) - cfi->eh.address;
    return fde < cfi->eh.n ? (size_t)fde : SIZE_MAX;
}

/* ------------------------------------------------------------------- programs */

struct rules {
    struct fm_cfi_rule cfa, reg[FM_CFI_REGS];
};

struct program {
    struct fm_cfi *cfi;
    const struct section *section;
    struct rules now, initial, kept[REMEMBER];
    unsigned kept_n;
    uint64_t pc, target;
    unsigned steps;
};

static void set_rule(struct program *p, uint64_t reg, uint8_t kind, int64_t offset)
{
    if (reg < FM_CFI_REGS)
        p->now.reg[reg] = (struct fm_cfi_rule){.kind = kind, .u.offset = offset};
}

static int64_t factored(const struct program *p, int64_t n)
{
    int64_t v;
    return __builtin_mul_overflow(n, p->cfi->cie.data_align, &v) ? 0 : v;
}

static void set_cfa(struct program *p, uint64_t reg, int64_t offset)
{
    p->now.cfa = (struct fm_cfi_rule){.kind = reg < FM_CFI_REGS ? FM_CFI_OFFSET : FM_CFI_UNDEFINED,
                                      .from = (uint8_t)reg, .u.offset = offset};
}

static struct fm_cfi_rule take_expression(struct fm_cursor *c, uint8_t kind)
{
    uint64_t n = fm_cursor_uleb(c);
    struct fm_cfi_rule rule = {.kind = kind, .u.expr = c->p, .expr_n = (uint32_t)n};
    if (n > UINT32_MAX)
        c->bad = true;
    fm_cursor_skip(c, n);
    return rule;
}

static void put_expression(struct program *p, struct fm_cursor *c, uint8_t kind)
{
    uint64_t reg = fm_cursor_uleb(c);
    struct fm_cfi_rule rule = take_expression(c, kind);
    if (reg < FM_CFI_REGS)
        p->now.reg[reg] = rule;
}

/* Moves on; false: the row in force at the target is complete. */
static bool advance(struct program *p, uint64_t by)
{
    uint64_t next;
    if (!fm_add_u64(p->pc, fm_mul_sat_u64(by, p->cfi->cie.code_align), &next) || next > p->target)
        return false;
    p->pc = next;
    return true;
}

/* Operations whose operands set the CFA. */
static bool cfa_op(struct program *p, uint8_t op, struct fm_cursor *c)
{
    uint64_t reg;
    switch (op) {
    case 0x0c:               /* def_cfa */
        reg = fm_cursor_uleb(c);
        set_cfa(p, reg, (int64_t)fm_cursor_uleb(c));
        return true;
    case 0x12:               /* def_cfa_sf */
        reg = fm_cursor_uleb(c);
        set_cfa(p, reg, factored(p, fm_cursor_sleb(c)));
        return true;
    case 0x0d:               /* def_cfa_register */
        reg = fm_cursor_uleb(c);
        set_cfa(p, reg, p->now.cfa.kind == FM_CFI_OFFSET ? p->now.cfa.u.offset : 0);
        return true;
    case 0x0e:               /* def_cfa_offset */
        set_cfa(p, p->now.cfa.from, (int64_t)fm_cursor_uleb(c));
        return true;
    case 0x13:               /* def_cfa_offset_sf */
        set_cfa(p, p->now.cfa.from, factored(p, fm_cursor_sleb(c)));
        return true;
    case 0x0f:               /* def_cfa_expression */
        p->now.cfa = take_expression(c, FM_CFI_VAL_EXPR);
        return true;
    default:
        return false;
    }
}

/* Operations on the rule of a register. */
static bool register_op(struct program *p, uint8_t op, struct fm_cursor *c)
{
    uint64_t reg;
    switch (op) {
    case 0x05:               /* offset_extended */
        reg = fm_cursor_uleb(c);
        set_rule(p, reg, FM_CFI_OFFSET, factored(p, (int64_t)fm_cursor_uleb(c)));
        return true;
    case 0x11:               /* offset_extended_sf */
        reg = fm_cursor_uleb(c);
        set_rule(p, reg, FM_CFI_OFFSET, factored(p, fm_cursor_sleb(c)));
        return true;
    case 0x2f:               /* GNU_negative_offset_extended */
        reg = fm_cursor_uleb(c);
        set_rule(p, reg, FM_CFI_OFFSET, factored(p, (int64_t)(0 - fm_cursor_uleb(c))));
        return true;
    case 0x06:               /* restore_extended */
        reg = fm_cursor_uleb(c);
        if (reg < FM_CFI_REGS)
            p->now.reg[reg] = p->initial.reg[reg];
        return true;
    case 0x07: set_rule(p, fm_cursor_uleb(c), FM_CFI_UNDEFINED, 0); return true;
    case 0x08: set_rule(p, fm_cursor_uleb(c), FM_CFI_SAME, 0); return true;
    case 0x09:               /* register */
        reg = fm_cursor_uleb(c);
        set_rule(p, reg, FM_CFI_REGISTER, 0);
        if (reg < FM_CFI_REGS)
            p->now.reg[reg].from = (uint8_t)FM_MIN(fm_cursor_uleb(c), 255u);
        else
            (void)fm_cursor_uleb(c);
        return true;
    case 0x10: put_expression(p, c, FM_CFI_EXPR); return true;
    case 0x16: put_expression(p, c, FM_CFI_VAL_EXPR); return true;
    case 0x14:               /* val_offset */
        reg = fm_cursor_uleb(c);
        set_rule(p, reg, FM_CFI_VAL_OFFSET, factored(p, (int64_t)fm_cursor_uleb(c)));
        return true;
    case 0x15:               /* val_offset_sf */
        reg = fm_cursor_uleb(c);
        set_rule(p, reg, FM_CFI_VAL_OFFSET, factored(p, fm_cursor_sleb(c)));
        return true;
    default:
        return false;
    }
}

/* One operation of the rest; false ends the program, with c bad when it is broken. */
static bool other_op(struct program *p, uint8_t op, struct fm_cursor *c)
{
    uint64_t value;
    switch (op) {
    case 0x00: return true;
    case 0x01:               /* set_loc */
        if (!read_pointer(p->cfi, c, p->section->eh ? p->cfi->cie.encoding : ENC_ABS, 0, &value))
            c->bad = true;
        if (c->bad || value > p->target)
            return false;
        p->pc = value;
        return true;
    case 0x02: return advance(p, fm_cursor_u8(c));
    case 0x03: return advance(p, fm_cursor_u16(c));
    case 0x04: return advance(p, fm_cursor_u32(c));
    case 0x1d: return advance(p, fm_cursor_u64(c));
    case 0x0a:               /* remember_state */
        if (p->kept_n == REMEMBER)
            c->bad = true;
        else
            p->kept[p->kept_n++] = p->now;
        return !c->bad;
    case 0x0b:               /* restore_state */
        if (p->kept_n == 0)
            c->bad = true;
        else
            p->now = p->kept[--p->kept_n];
        return !c->bad;
    case 0x2d: return true;  /* AArch64: the return address is signed from here on, or no more */
    case 0x2e:               /* GNU_args_size */
        (void)fm_cursor_uleb(c);
        return true;
    default:
        c->bad = true;
        return false;
    }
}

static bool run(struct program *p, struct fm_cursor *c)
{
    while (fm_cursor_left(c) > 0) {
        uint8_t op = fm_cursor_u8(c), low = op & 0x3f;
        bool going = true;
        if (++p->steps > PROGRAM_MAX)
            return false;
        switch (op >> 6) {
        case 1: going = advance(p, low); break;
        case 2: set_rule(p, low, FM_CFI_OFFSET, factored(p, (int64_t)fm_cursor_uleb(c))); break;
        case 3:
            if (low < FM_CFI_REGS)
                p->now.reg[low] = p->initial.reg[low];
            break;
        default:
            if (!cfa_op(p, op, c) && !register_op(p, op, c))
                going = other_op(p, op, c);
        }
        if (!fm_cursor_ok(c))
            return false;
        if (!going)
            break;
    }
    return true;
}

/* The rules that are told, packed. */
static const struct fm_cfi_row *make_row(struct fm_cfi *cfi, const struct rules *rules)
{
    size_t told = 0;
    for (size_t i = 0; i < FM_CFI_REGS; i++)
        told += rules->reg[i].kind != FM_CFI_UNSET;
    struct fm_cfi_row *row =
        fm_arena_alloc(&cfi->arena, sizeof *row + told * sizeof row->rule[0]);
    if (row == NULL) {
        cfi->oom = true;
        return NULL;
    }
    row->cfa = rules->cfa;
    row->return_reg = (uint8_t)cfi->cie.return_reg;
    row->signal = cfi->cie.signal;
    row->root = rules->reg[row->return_reg].kind == FM_CFI_UNDEFINED;
    for (size_t i = 0; i < FM_CFI_REGS; i++) {
        if (rules->reg[i].kind == FM_CFI_UNSET)
            continue;
        row->rule[row->rules] = rules->reg[i];
        row->rule[row->rules++].reg = (uint8_t)i;
    }
    return row;
}

static const struct fm_cfi_row *row_of(struct fm_cfi *cfi, const struct section *s, size_t offset,
                                       uint64_t pc)
{
    struct program p = {.cfi = cfi, .section = s, .target = pc};
    struct fm_cursor c, first;
    uint64_t begin, end;
    if (offset == SIZE_MAX || !read_fde(cfi, s, offset, &c, &begin, &end) || pc < begin ||
        pc >= end)
        return NULL;
    p.pc = begin;
    fm_cursor_init(&first, cfi->cie.program, cfi->cie.program_n,
                   s->address + (uint64_t)(cfi->cie.program - s->data), cfi->swap);
    if (!run(&p, &first))
        return NULL;
    p.initial = p.now;
    p.pc = begin;
    if (!run(&p, &c) || p.now.cfa.kind == FM_CFI_UNSET)
        return NULL;
    return make_row(cfi, &p.now);
}

static const struct fm_cfi_row *look_up(struct fm_cfi *cfi, uint64_t pc)
{
    const struct fm_cfi_row *row = NULL;
    if (cfi->eh.data != NULL)
        row = row_of(cfi, &cfi->eh, cfi->table != NULL ? by_table(cfi, pc)
                                                       : by_index(cfi, &cfi->eh, pc), pc);
    for (size_t i = 0; i < FM_COUNT(cfi->debug) && row == NULL; i++)
        if (cfi->debug[i].data != NULL)
            row = row_of(cfi, &cfi->debug[i], by_index(cfi, &cfi->debug[i], pc), pc);
    return row;
}

const struct fm_cfi_row *fm_cfi_find(struct fm_cfi *cfi, uint64_t pc)
{
    bool fresh;
    uint64_t *number = fm_map_put(&cfi->row, pc, &fresh);
    if (number == NULL) {
        cfi->oom = true;
        return NULL;
    }
    if (!fresh)
        return *number != 0 ? cfi->rows[*number - 1] : NULL;
    const struct fm_cfi_row *row = look_up(cfi, pc);
    if (row == NULL)
        return NULL;
    if (!fm_grow(&cfi->ctx->mem, (void **)&cfi->rows, &cfi->row_cap, cfi->row_n + 1,
                 sizeof *cfi->rows)) {
        cfi->oom = true;
        return NULL;
    }
    cfi->rows[cfi->row_n++] = row;
    *number = cfi->row_n;
    return row;
}
