/*
 * records.c - container `records`: binary records of one size.
 *
 *     | head | record | record | …      bit N of a record = bit N mod 8 of byte N div 8
 *
 * With `endian: big` the record's bytes are read in reverse order, so that a field of a big-endian
 * number has its bits together; bit 0 is then the last bit of the record.
 */
#include "import/text/generic.h"

#include "util/error.h"
#include "util/map.h"

struct bits {
    const struct fm_container *c;
    const struct fm_layout *layout;
    const unsigned char *p;
};

static unsigned byte_at(const struct fm_container *c, const unsigned char *p, size_t i)
{
    return p[c->big_endian ? c->size - 1 - i : i];
}

/* bits [at, at + n) as a number, n <= 64; the record was checked to hold them. */
static uint64_t read_bits(const struct fm_container *c, const unsigned char *p, uint32_t at,
                          uint32_t n)
{
    uint64_t v = 0;
    size_t byte = at >> 3;
    if (FM_LIKELY(!c->big_endian && byte + 8 <= c->size && (at & 7) + n <= 64)) {
        v = fm_load_u64(p + byte) >> (at & 7);
        return n < 64 ? v & ((UINT64_C(1) << n) - 1) : v;
    }
    for (uint32_t done = 0; done < n;) {
        uint32_t bit = at + done, shift = bit & 7, take = FM_MIN(8 - shift, n - done);
        uint64_t part = (byte_at(c, p, bit >> 3) >> shift) & ((1u << take) - 1);
        v |= part << done;
        done += take;
    }
    return v;
}

static bool is_zero(const struct fm_container *c, const unsigned char *p, uint32_t at, uint32_t n)
{
    while (n > 0) {
        uint32_t take = FM_MIN(n, 64 - (at & 7));
        if (read_bits(c, p, at, take) != 0)
            return false;
        at += take;
        n -= take;
    }
    return true;
}

/* Fields in a layout's `when` are raw bits. */
static struct fm_value get(void *user, const struct fm_expr *node)
{
    const struct bits *b = user;
    if (node->op != FM_EXPR_REF || node->ref >= UINT16_MAX)
        return fm_value_null();
    for (size_t i = 0; i < b->layout->fields; i++) {
        const struct fm_cfield *f = &b->layout->field[i];
        if (strcmp(f->name, node->name) == 0) {
            uint64_t v = read_bits(b->c, b->p, f->at_bit, f->bits);
            return v <= INT64_MAX ? fm_value_i64((int64_t)v) : fm_value_u64(v);
        }
    }
    return fm_value_null();
}

const struct fm_layout *fm_record_layout(const struct fm_container *c, const unsigned char *p)
{
    for (size_t i = 0; i < c->layouts; i++) {
        const struct fm_layout *l = &c->layout[i];
        bool fits = true;
        for (size_t k = 0; fits && k < l->zeros; k++)
            fits = is_zero(c, p, l->zero[k].at_bit, l->zero[k].bits);
        for (size_t k = 0; fits && k < l->somes; k++)
            fits = !is_zero(c, p, l->some[k].at_bit, l->some[k].bits);
        if (fits && l->when) {
            struct bits b = {c, l, p};
            struct fm_value v = fm_expr_eval(l->when, get, &b);
            fits = fm_value_true(&v);
        }
        if (fits)
            return l;
    }
    return NULL;
}

/* ---------------------------------------------------------------- merging */

#define MERGED ((size_t)1 << 18)

/* Records of layouts with sums: row r is value[r * width], its fields as bits, behind the number of
 * its layout, its records and the offset of the first. */
enum { ROW_LAYOUT, ROW_RECORDS, ROW_OFFSET, ROW_FIELDS };
struct merge {
    struct fm_generic *g;
    uint64_t *value;
    size_t width, rows, cap;
    struct fm_map map;             /* hash of the key -> row + 1 */
};

static void emit(struct fm_generic *g, const struct fm_layout *l, const uint64_t *bits,
                 uint64_t offset)
{
    fm_generic_clear(g);
    for (size_t i = 0; i < l->fields; i++)
        fm_generic_bits(g, &l->field[i], l->target[i], bits[i], offset);
    fm_generic_emit(g, l->name, offset);
}

static void emit_row(struct merge *m, const uint64_t *row)
{
    const struct fm_layout *l = &m->g->c->layout[row[ROW_LAYOUT]];
    emit(m->g, l, row + ROW_FIELDS, row[ROW_OFFSET]);
    if (row[ROW_RECORDS] > 1)
        fm_account_record(m->g->builder, FM_ACCOUNT_RECORDS,
                          fm_builder_str(m->g->builder, l->name, strlen(l->name)), FM_NO_OFFSET,
                          row[ROW_RECORDS] - 1);
}

static void flush(struct merge *m)
{
    for (size_t i = 0; i < m->rows; i++)
        emit_row(m, m->value + i * m->width);
    m->rows = 0;
    fm_map_clear(&m->map);
}

static bool same_key(const struct fm_layout *l, const uint64_t *row, uint64_t layout,
                     const uint64_t *bits)
{
    if (row[ROW_LAYOUT] != layout)
        return false;
    for (size_t i = 0; i < l->fields; i++)
        if (!l->sum[i] && row[ROW_FIELDS + i] != bits[i])
            return false;
    return true;
}

/* Adds a record to the row of its key; a row whose hash is the same makes room for it. */
static void add(struct merge *m, const struct fm_layout *l, const uint64_t *bits, uint64_t offset)
{
    uint64_t layout = (uint64_t)(l - m->g->c->layout), hash = layout, *at, *row;
    for (size_t i = 0; i < l->fields; i++)
        if (!l->sum[i])
            hash = (hash ^ bits[i]) * UINT64_C(0x9e3779b97f4a7c15);
    if (m->rows == MERGED)
        flush(m);
    at = fm_map_put(&m->map, hash, NULL);
    if (at == NULL || (*at == 0 && !fm_grow(m->g->mem, (void **)&m->value, &m->cap, m->rows + 1,
                                            m->width * sizeof *m->value))) {
        m->g->oom = true;
        return;
    }
    if (*at != 0) {
        row = m->value + (*at - 1) * m->width;
        if (same_key(l, row, layout, bits)) {
            row[ROW_RECORDS]++;
            for (size_t i = 0; i < l->fields; i++)
                if (l->sum[i])
                    row[ROW_FIELDS + i] = fm_add_sat_u64(row[ROW_FIELDS + i], bits[i]);
            return;
        }
        emit_row(m, row);
    } else {
        *at = ++m->rows;
        row = m->value + (m->rows - 1) * m->width;
    }
    row[ROW_LAYOUT] = layout;
    row[ROW_RECORDS] = 1;
    row[ROW_OFFSET] = offset;
    memcpy(row + ROW_FIELDS, bits, l->fields * sizeof *bits);
}

static void take_record(struct merge *m, const unsigned char *p, uint64_t offset)
{
    struct fm_generic *g = m->g;
    const struct fm_container *c = g->c;
    const struct fm_layout *l = fm_record_layout(c, p);
    uint64_t bits[FM_CLASS_FIELDS];
    if (!l) {
        fm_builder_diag(g->builder, FM_DIAG_RECORD_BODY, offset, 1);
        return;
    }
    for (size_t k = 0; k < l->losts; k++)
        if (!is_zero(c, p, l->lost[k].at_bit, l->lost[k].bits))
            fm_builder_diag(g->builder, FM_DIAG_LOST_RECORDS, offset, 1);
    for (size_t i = 0; i < l->fields; i++)
        bits[i] = read_bits(c, p, l->field[i].at_bit, l->field[i].bits);
    if (l->sums)
        add(m, l, bits, offset);
    else
        emit(g, l, bits, offset);
}

static enum fm_status read_records(struct merge *m, struct fm_error *err)
{
    struct fm_generic *g = m->g;
    const struct fm_container *c = g->c;
    uint64_t skipped;
    enum fm_status status = fm_reader_skip(g->reader, c->head, &skipped, err);
    if (status == FM_OK && skipped < c->head)
        return fm_error_at(err, FM_TRUNCATED, fm_input_name(g->import->input), skipped,
                           "needed %u bytes before the first record, %llu there", c->head,
                           (unsigned long long)skipped);
    while (status == FM_OK) {
        const unsigned char *data;
        size_t n;
        uint64_t offset = fm_reader_offset(g->reader);
        status = fm_reader_peek(g->reader, c->size, &data, &n, err);
        if (status != FM_OK || n == 0)
            break;
        if (n < c->size)
            return fm_error_at(err, FM_TRUNCATED, fm_input_name(g->import->input), offset,
                               "a record is cut: needed %u bytes, %zu left", c->size, n);
        size_t records = n / c->size;
        for (size_t i = 0; i < records; i++)
            take_record(m, data + i * c->size, offset + i * c->size);
        fm_reader_consume(g->reader, records * c->size);
        status = fm_generic_status(g, offset, err);
    }
    return status;
}

enum fm_status fm_generic_records(struct fm_generic *g, struct fm_error *err)
{
    struct merge m = {.g = g, .width = ROW_FIELDS};
    enum fm_status status;
    for (size_t i = 0; i < g->c->layouts; i++)
        m.width = FM_MAX(m.width, ROW_FIELDS + g->c->layout[i].fields);
    fm_map_init(&m.map, g->mem);
    status = read_records(&m, err);
    flush(&m);
    fm_map_release(&m.map);
    fm_mem_free(g->mem, m.value, m.cap * m.width * sizeof *m.value);
    return status;
}
