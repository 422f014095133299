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
        uint32_t take = FM_MIN(n, 64u);
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

static void take_record(struct fm_generic *g, const unsigned char *p, uint64_t offset)
{
    const struct fm_container *c = g->c;
    const struct fm_layout *l = fm_record_layout(c, p);
    if (!l) {
        fm_builder_diag(g->builder, FM_DIAG_RECORD_BODY, offset, 1);
        return;
    }
    fm_generic_clear(g);
    for (size_t i = 0; i < l->fields; i++) {
        const struct fm_cfield *f = &l->field[i];
        fm_generic_bits(g, f, l->target[i], read_bits(c, p, f->at_bit, f->bits), offset);
    }
    fm_generic_emit(g, l->name, offset);
}

enum fm_status fm_generic_records(struct fm_generic *g, struct fm_error *err)
{
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
            take_record(g, data + i * c->size, offset + i * c->size);
        fm_reader_consume(g->reader, records * c->size);
        status = fm_generic_status(g, offset, err);
    }
    return status;
}
