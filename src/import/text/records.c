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

static bool record_fits(const struct fm_container *c, const struct fm_layout *l, bool forced,
                        const unsigned char *p)
{
    bool fits = true;
    for (size_t k = 0; !forced && fits && k < l->zeros; k++)
        fits = is_zero(c, p, l->zero[k].at_bit, l->zero[k].bits);
    for (size_t k = 0; fits && k < l->somes; k++)
        fits = !is_zero(c, p, l->some[k].at_bit, l->some[k].bits);
    if (fits && l->when) {
        struct bits b = {c, l, p};
        struct fm_value v = fm_expr_eval(l->when, get, &b);
        fits = fm_value_true(&v);
    }
    return fits;
}

const struct fm_layout *fm_record_layout(const struct fm_container *c, const unsigned char *p)
{
    for (size_t i = 0; i < c->layouts; i++)
        if (record_fits(c, &c->layout[i], false, p))
            return &c->layout[i];
    return NULL;
}

/* ---------------------------------------------------------------- plans */

/* A layout, made ready: what its tests and fields look at are words of the record at fixed places.
 * Where they cannot be (big endian, a field over nine bytes) bits are read one field at a time. */
struct word {
    uint32_t at;                   /* byte of the record */
    uint16_t shift, field;         /* of fields only: right, before the mask */
    uint64_t mask;
};

struct plan {
    const struct fm_layout *layout;
    bool forced;
    bool fast, small;              /* small: so are the sums that no input overflows them */
    struct word *zero, *some, *lost, *key, *field;
    size_t zeros, somes, losts, keys;
    struct word *sum;              /* the fields that are added up */
    size_t sums;
};

static uint64_t low_bits(uint32_t n)
{
    return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

/* Adds the words that bits [at, at + n) lie in; there is room for them. */
static void add_words(const struct fm_container *c, uint32_t at, uint32_t n, struct word *word,
                      size_t *words)
{
    while (n > 0) {
        uint32_t byte = FM_MIN(at >> 6 << 3, c->size - 8), from = at - byte * 8;
        uint32_t take = FM_MIN(n, 64 - from);
        word[(*words)++] = (struct word){byte, 0, 0, low_bits(take) << from};
        at += take;
        n -= take;
    }
}

static size_t words_of(const struct fm_cfield *range, size_t n)
{
    size_t words = 0;
    for (size_t i = 0; i < n; i++)
        words += range[i].bits / 64 + 2;
    return words;
}

/* Words that are looked at together: those of one place become one. */
static size_t join_words(struct word *word, size_t n)
{
    size_t out = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < out && word[k].at != word[i].at)
            k++;
        if (k == out)
            word[out++] = word[i];
        else
            word[k].mask |= word[i].mask;
    }
    return out;
}

static bool plan_field(const struct fm_container *c, const struct fm_layout *l, size_t i,
                       struct word *word)
{
    const struct fm_cfield *f = &l->field[i];
    uint32_t byte = FM_MIN(f->at_bit >> 3, c->size - 8), shift = f->at_bit - byte * 8;
    *word = (struct word){byte, (uint16_t)shift, (uint16_t)i, low_bits(f->bits)};
    return shift + f->bits <= 64;
}

/* Of a layout that the user named only `some` and `when` are tested. */
static bool make_plan(struct fm_generic *g, const struct fm_layout *l, struct plan *p)
{
    const struct fm_container *c = g->c;
    size_t zeros = g->import->layout ? 0 : l->zeros;
    size_t n = words_of(l->zero, l->zeros) + words_of(l->some, l->somes) +
               words_of(l->lost, l->losts) + words_of(l->field, l->fields) + l->fields + 1;
    struct word *word = fm_arena_alloc(&g->arena, n * sizeof *word);
    *p = (struct plan){.layout = l, .forced = g->import->layout != NULL};
    p->fast = !c->big_endian && c->size >= 8 && l->somes <= 1;
    p->sum = fm_arena_alloc(&g->arena, (l->fields + 1) * sizeof *p->sum);
    if (!word || !p->sum)
        return false;
    p->field = word;
    for (size_t i = 0; i < l->fields && p->fast; i++)
        p->fast = plan_field(c, l, i, &word[i]);
    p->small = p->fast;
    for (size_t i = 0; i < l->fields; i++) {
        if (!l->sums || !l->sum[i])
            continue;
        p->small &= l->field[i].bits <= 16;
        p->sum[p->sums++] = p->fast ? word[i] : (struct word){.field = (uint16_t)i};
    }
    p->keys = l->fields - p->sums;
    if (!p->fast)
        return true;
    p->zero = p->field + l->fields;
    for (size_t i = 0; i < zeros; i++)
        add_words(c, l->zero[i].at_bit, l->zero[i].bits, p->zero, &p->zeros);
    p->zeros = join_words(p->zero, p->zeros);
    p->some = p->zero + p->zeros;
    for (size_t i = 0; i < l->somes; i++)
        add_words(c, l->some[i].at_bit, l->some[i].bits, p->some, &p->somes);
    p->lost = p->some + p->somes;
    for (size_t i = 0; i < l->losts; i++)
        add_words(c, l->lost[i].at_bit, l->lost[i].bits, p->lost, &p->losts);
    p->key = p->lost + p->losts;
    for (size_t i = p->keys = 0; i < l->fields; i++)
        if (!l->sums || !l->sum[i])
            add_words(c, l->field[i].at_bit, l->field[i].bits, p->key, &p->keys);
    p->keys = join_words(p->key, p->keys);
    return true;
}

/* The bits of words, together. */
static uint64_t any(const struct word *w, size_t n, const unsigned char *p)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < n; i++)
        bits |= fm_load_u64(p + w[i].at) & w[i].mask;
    return bits;
}

static uint64_t field_bits(const struct fm_container *c, const struct plan *plan, size_t i,
                           const unsigned char *p)
{
    const struct word *w = &plan->field[i];
    const struct fm_cfield *f = &plan->layout->field[i];
    if (!plan->fast)
        return read_bits(c, p, f->at_bit, f->bits);
    return fm_load_u64(p + w->at) >> w->shift & w->mask;
}

static bool fits(const struct fm_container *c, const struct plan *plan, const unsigned char *p)
{
    if (!plan->fast || plan->layout->when)
        return record_fits(c, plan->layout, plan->forced, p);
    if (plan->somes > 0 && !(fm_load_u64(p + plan->some->at) & plan->some->mask) &&
        !any(plan->some + 1, plan->somes - 1, p))
        return false;
    return !any(plan->zero, plan->zeros, p);
}

static bool is_lost(const struct fm_container *c, const struct plan *plan, const unsigned char *p)
{
    const struct fm_layout *l = plan->layout;
    if (plan->fast)
        return any(plan->lost, plan->losts, p) != 0;
    bool lost = false;
    for (size_t k = 0; k < l->losts; k++)
        lost |= !is_zero(c, p, l->lost[k].at_bit, l->lost[k].bits);
    return lost;
}

/* ---------------------------------------------------------------- merging */

#define MERGED ((size_t)1 << 18)
#define RECENT_BITS 15

#define BATCH 32u

/* Records of layouts with sums: row r is value[r * width]: the number of its layout, its records,
 * the offset of the first, the key, and its fields as bits. Records are taken in batches: tests and
 * keys of all, then the rows of all are asked for, then they are added up, so that a row that is
 * not in the cache is waited for once and not for each record. */
enum { ROW_LAYOUT, ROW_RECORDS, ROW_OFFSET, ROW_KEY };
struct merge {
    struct fm_generic *g;
    struct plan *plan;
    size_t plans;
    uint64_t *value;
    size_t width, rows, cap;
    size_t keys;                   /* words of a key at most: fields begin behind them */
    uint64_t *key;                 /* of a batch */
    struct fm_map map;             /* hash of the key -> row + 1 */
    uint32_t *recent;              /* part of a hash -> row + 1, or 0 */
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
    const struct fm_layout *l = m->plan[row[ROW_LAYOUT]].layout;
    emit(m->g, l, row + ROW_KEY + m->keys, row[ROW_OFFSET]);
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
    memset(m->recent, 0, ((size_t)1 << RECENT_BITS) * sizeof *m->recent);
    fm_map_clear(&m->map);
}

/* What must be equal in records that are one, as words; returns their hash. */
static uint64_t make_key(const struct fm_container *c, const struct plan *plan,
                         const unsigned char *p, uint64_t *key)
{
    uint64_t hash = plan->layout->fields;
    size_t n = 0;
    for (size_t i = 0; i < plan->keys && plan->fast; i++)
        key[n++] = fm_load_u64(p + plan->key[i].at) & plan->key[i].mask;
    for (size_t i = 0; i < plan->layout->fields && !plan->fast; i++)
        if (!plan->layout->sum[i])
            key[n++] = field_bits(c, plan, i, p);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ key[i] ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

static bool same_key(const uint64_t *row, uint64_t number, const struct plan *plan,
                     const uint64_t *key)
{
    uint64_t differ = row[ROW_LAYOUT] ^ number;
    for (size_t i = 0; i < plan->keys; i++)
        differ |= row[ROW_KEY + i] ^ key[i];
    return differ == 0;
}

static void add_up(const struct fm_container *c, const struct plan *plan, const unsigned char *p,
                   uint64_t *to)
{
    const struct word *w = plan->sum, *end = w + plan->sums;
    for (; w < end && plan->small; w++)
        to[w->field] += fm_load_u64(p + w->at) >> w->shift & w->mask;
    for (; w < end; w++)
        to[w->field] = fm_add_sat_u64(to[w->field], field_bits(c, plan, w->field, p));
}

/* A row for a key that has none; a row whose hash is the same makes room for it. */
static void new_row(struct merge *m, const struct plan *plan, const unsigned char *p,
                    const uint64_t *key, uint64_t hash, uint64_t offset)
{
    const struct fm_layout *l = plan->layout;
    if (m->rows == MERGED)
        flush(m);
    uint64_t *row, *at = fm_map_put(&m->map, hash, NULL);
    if (at == NULL || (*at == 0 && !fm_grow(m->g->mem, (void **)&m->value, &m->cap, m->rows + 1,
                                            m->width * sizeof *m->value))) {
        m->g->oom = true;
        return;
    }
    if (*at != 0)
        emit_row(m, m->value + (*at - 1) * m->width);
    else
        *at = ++m->rows;
    row = m->value + (*at - 1) * m->width;
    row[ROW_LAYOUT] = (uint64_t)(plan - m->plan);
    row[ROW_RECORDS] = 1;
    row[ROW_OFFSET] = offset;
    memcpy(row + ROW_KEY, key, plan->keys * sizeof *key);
    for (size_t i = 0; i < l->fields; i++)
        row[ROW_KEY + m->keys + i] = field_bits(m->g->c, plan, i, p);
    m->recent[hash >> (64 - RECENT_BITS)] = (uint32_t)*at;
}

static void add(struct merge *m, const struct plan *plan, const unsigned char *p,
                const uint64_t *key, uint64_t hash, uint64_t offset)
{
    uint64_t number = (uint64_t)(plan - m->plan);
    uint32_t *recent = &m->recent[hash >> (64 - RECENT_BITS)];
    if (*recent == 0 || !same_key(m->value + (*recent - 1) * m->width, number, plan, key)) {
        const uint64_t *at = fm_map_find(&m->map, hash);
        if (!at || *at == 0 || !same_key(m->value + (*at - 1) * m->width, number, plan, key)) {
            new_row(m, plan, p, key, hash, offset);
            return;
        }
        *recent = (uint32_t)*at;
    }
    uint64_t *row = m->value + (*recent - 1) * m->width;
    row[ROW_RECORDS]++;
    add_up(m->g->c, plan, p, row + ROW_KEY + m->keys);
}

/* The plan of the record at p, or NULL, which is counted. */
static const struct plan *find_plan(struct merge *m, const unsigned char *p, uint64_t offset)
{
    struct fm_generic *g = m->g;
    for (const struct plan *plan = m->plan, *end = plan + m->plans; plan < end; plan++) {
        if (!fits(g->c, plan, p))
            continue;
        if (plan->layout->losts && is_lost(g->c, plan, p))
            fm_builder_diag(g->builder, FM_DIAG_LOST_RECORDS, offset, 1);
        return plan;
    }
    fm_builder_diag(g->builder, FM_DIAG_RECORD_BODY, offset, 1);
    return NULL;
}

/* A record that is no other's part. */
static void take_alone(struct merge *m, const struct plan *plan, const unsigned char *p,
                       uint64_t offset)
{
    uint64_t bits[FM_CLASS_FIELDS];
    for (size_t i = 0; i < plan->layout->fields; i++)
        bits[i] = field_bits(m->g->c, plan, i, p);
    emit(m->g, plan->layout, bits, offset);
}

static void take_batch(struct merge *m, const unsigned char *p, size_t n, uint64_t offset)
{
    const struct plan *plan[BATCH];
    uint64_t hash[BATCH];
    size_t size = m->g->c->size;
    for (size_t i = 0; i < n; i++) {
        plan[i] = find_plan(m, p + i * size, offset + i * size);
        if (!plan[i] || !plan[i]->layout->sums)
            continue;
        hash[i] = make_key(m->g->c, plan[i], p + i * size, m->key + i * m->keys);
        __builtin_prefetch(&m->recent[hash[i] >> (64 - RECENT_BITS)]);
    }
    for (size_t i = 0; i < n; i++) {
        if (!plan[i] || !plan[i]->layout->sums)
            continue;
        uint32_t row = m->recent[hash[i] >> (64 - RECENT_BITS)];
        for (size_t k = 0; row && k < m->width; k += 8)
            __builtin_prefetch(m->value + (row - 1) * m->width + k);
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t at = offset + i * size;
        if (plan[i] && plan[i]->layout->sums)
            add(m, plan[i], p + i * size, m->key + i * m->keys, hash[i], at);
        else if (plan[i])
            take_alone(m, plan[i], p + i * size, at);
    }
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
        for (size_t i = 0; i < records; i += BATCH)
            take_batch(m, data + i * c->size, FM_MIN(records - i, BATCH), offset + i * c->size);
        fm_reader_consume(g->reader, records * c->size);
        status = fm_generic_status(g, offset, err);
    }
    return status;
}

/* Plans of the layouts: of all, or of the one that the user named. */
static enum fm_status make_plans(struct merge *m, struct fm_error *err)
{
    struct fm_generic *g = m->g;
    m->plan = fm_arena_alloc(&g->arena, (g->c->layouts + 1) * sizeof *m->plan);
    m->recent = fm_arena_alloc(&g->arena, ((size_t)1 << RECENT_BITS) * sizeof *m->recent);
    if (!m->plan || !m->recent)
        return fm_error_nomem(err);
    memset(m->recent, 0, ((size_t)1 << RECENT_BITS) * sizeof *m->recent);
    for (size_t i = 0; i < g->c->layouts; i++) {
        const struct fm_layout *l = &g->c->layout[i];
        if (g->import->layout && strcmp(l->name, g->import->layout) != 0)
            continue;
        struct plan *plan = &m->plan[m->plans++];
        if (!make_plan(g, l, plan))
            return fm_error_nomem(err);
        m->keys = FM_MAX(m->keys, plan->keys);
        m->width = FM_MAX(m->width, l->fields);
    }
    m->width += ROW_KEY + m->keys;
    m->key = fm_arena_alloc(&g->arena, (BATCH * m->keys + 1) * sizeof *m->key);
    return m->key ? FM_OK : fm_error_nomem(err);
}

enum fm_status fm_generic_records(struct fm_generic *g, struct fm_error *err)
{
    struct merge m = {.g = g};
    enum fm_status status = make_plans(&m, err);
    if (status != FM_OK)
        return status;
    fm_map_init(&m.map, g->mem);
    status = read_records(&m, err);
    flush(&m);
    fm_map_release(&m.map);
    fm_mem_free(g->mem, m.value, m.cap * m.width * sizeof *m.value);
    return status;
}
