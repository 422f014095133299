/*
 * eval.c - values of fields in expressions, and values as lanes of columns.
 *
 *     lane of a field --fm_eval_get()--> struct fm_value --expressions--> fm_eval_lane() --> column
 */
#include "format/binding.h"

#include "util/text.h"

#include <math.h>
#include <stdio.h>

/* ------------------------------------------------------------------ fields to values */

static struct fm_value field_value(const struct fm_eval *e, uint16_t field)
{
    if (field == FM_NO_FIELD || !((e->present[field >> 6] >> (field & 63)) & 1))
        return fm_value_null();
    uint64_t lane = e->value[field];
    switch (e->class->field[field].type) {
    case FM_TYPE_BOOL: return fm_value_bool(lane != 0);
    case FM_TYPE_I64:
    case FM_TYPE_TIME:
    case FM_TYPE_DUR: return fm_value_i64((int64_t)lane);
    case FM_TYPE_F64: return fm_value_f64(fm_bits_f64(lane));
    case FM_TYPE_STRING: {
        size_t n;
        const char *s = fm_builder_str_text(e->b->builder, (fm_str)lane, &n);
        return fm_value_text(s, n);
    }
    case FM_TYPE_U64:
    case FM_TYPE_BYTES:
    case FM_TYPE_ADDRESS:
    case FM_TYPE_STACK:
    case FM_TYPE_THREAD: break;
    }
    return lane <= INT64_MAX ? fm_value_i64((int64_t)lane) : fm_value_u64(lane);
}

static struct fm_value text_of_dict(const struct fm_dict_entry *entry)
{
    return fm_value_text(entry->text, entry->n);
}

static struct fm_value lookup_number(const struct fm_dict *d, int64_t key)
{
    size_t lo = 0, hi = d->ints;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (d->entry[mid].number == key)
            return text_of_dict(&d->entry[mid]);
        if (d->entry[mid].number < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return fm_value_null();
}

static struct fm_value lookup_text(const struct fm_dict *d, const char *s, size_t n)
{
    size_t lo = d->ints, hi = d->entries;
    int64_t number;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct fm_dict_entry *entry = &d->entry[mid];
        size_t common = FM_MIN(entry->key_n, n);
        int c = common ? memcmp(entry->key, s, common) : 0;
        if (c == 0 && entry->key_n == n)
            return text_of_dict(entry);
        if (c < 0 || (c == 0 && entry->key_n < n))
            lo = mid + 1;
        else
            hi = mid;
    }
    return fm_text_i64(s, n, &number) ? lookup_number(d, number) : fm_value_null();
}

static struct fm_value lookup(const struct fm_dict *d, const struct fm_value *v)
{
    switch (v->type) {
    case FM_TEXT: return lookup_text(d, v->text.s, v->text.n);
    case FM_I64: return lookup_number(d, v->i);
    case FM_U64: return lookup_number(d, (int64_t)v->u);
    case FM_BOOL: return v->b ? lookup_text(d, "true", 4) : lookup_text(d, "false", 5);
    default: return fm_value_null();
    }
}

static struct fm_value hex_text(struct fm_eval *e, const struct fm_value *v)
{
    if (v->type != FM_I64 && v->type != FM_U64)
        return fm_value_null();
    char *buf = e->hex[e->hexes++ % FM_COUNT(e->hex)];
    uint64_t u = v->type == FM_I64 ? (uint64_t)v->i : v->u;
    int n = snprintf(buf, sizeof e->hex[0], "0x%llx", (unsigned long long)u);
    return fm_value_text(buf, (size_t)n);
}

/* before(x, t): x up to the first t, all of it without one; after(x, t): what is behind it, or
 * null. */
static struct fm_value part(struct fm_eval *e, const struct fm_expr *node)
{
    struct fm_value x = fm_expr_eval(node->arg[0], fm_eval_get, e);
    struct fm_value t = fm_expr_eval(node->arg[1], fm_eval_get, e);
    if (x.type != FM_TEXT || t.type != FM_TEXT)
        return fm_value_null();
    const char *at = memmem(x.text.s, x.text.n, t.text.s, t.text.n);
    if (node->ref == FM_CALL_BEFORE)
        return at ? fm_value_text(x.text.s, (size_t)(at - x.text.s)) : x;
    if (!at)
        return fm_value_null();
    at += t.text.n;
    return fm_value_text(at, x.text.n - (size_t)(at - x.text.s));
}

/* mapped(x): the name of the range that address x lies in, or null; mapped_offset(x): how far
 * behind its start, or behind 0. */
static struct fm_value mapped(struct fm_eval *e, const struct fm_expr *node)
{
    struct fm_value x = fm_expr_eval(node->arg[0], fm_eval_get, e);
    if (x.type != FM_I64 && x.type != FM_U64)
        return fm_value_null();
    uint64_t address = x.type == FM_I64 ? (uint64_t)x.i : x.u, start;
    const char *name;
    size_t n;
    bool found = e->b->named && e->b->named(e->b->named_user, address, &name, &n, &start);
    if (node->ref == FM_CALL_MAPPED)
        return found ? fm_value_text(name, n) : fm_value_null();
    address -= found ? start : 0;
    return address <= INT64_MAX ? fm_value_i64((int64_t)address) : fm_value_u64(address);
}

static struct fm_value call(struct fm_eval *e, const struct fm_expr *node)
{
    struct fm_value v;
    switch (node->ref) {
    case FM_CALL_HAS:
        return fm_value_bool(e->class->index[node->arg[0]->ref] != FM_NO_FIELD);
    case FM_CALL_GIVEN:
        v = fm_eval_get(e, node->arg[0]);
        return fm_value_bool(v.type != FM_NULL);
    case FM_CALL_HEX:
        v = fm_expr_eval(node->arg[0], fm_eval_get, e);
        return hex_text(e, &v);
    case FM_CALL_MAPPED:
    case FM_CALL_MAPPED_OFFSET: return mapped(e, node);
    case FM_CALL_BEFORE:
    case FM_CALL_AFTER: return part(e, node);
    default:
        v = fm_expr_eval(node->arg[1], fm_eval_get, e);
        return lookup(&e->b->m->dict[node->ref - FM_CALL_LOOKUP], &v);
    }
}

struct fm_value fm_eval_get(void *user, const struct fm_expr *node)
{
    struct fm_eval *e = user;
    if (node->op == FM_EXPR_CALL)
        return call(e, node);
    switch (node->ref) {
    case FM_REF_CLASS: return fm_value_text(e->class->name, strlen(e->class->name));
    case FM_REF_EACH: return field_value(e, e->each);
    case FM_REF_KEY: {
        const char *key = e->each == FM_NO_FIELD ? "" : e->class->field[e->each].name;
        return fm_value_text(key, strlen(key));
    }
    default: return field_value(e, e->class->index[node->ref]);
    }
}

struct fm_value fm_eval_run(struct fm_eval *e, const struct fm_expr *expr)
{
    if (expr->op == FM_EXPR_REF)
        return fm_eval_get(e, expr);
    return fm_expr_eval(expr, fm_eval_get, e);
}

/* ------------------------------------------------------------------ values to columns */

fm_str fm_eval_str(struct fm_eval *e, const struct fm_value *v)
{
    char buf[48];
    int n = 0;
    switch (v->type) {
    case FM_TEXT: return fm_builder_str(e->b->builder, v->text.s, v->text.n);
    case FM_BOOL: return fm_builder_str(e->b->builder, v->b ? "true" : "false", v->b ? 4 : 5);
    case FM_I64: n = snprintf(buf, sizeof buf, "%lld", (long long)v->i); break;
    case FM_U64: n = snprintf(buf, sizeof buf, "%llu", (unsigned long long)v->u); break;
    case FM_F64: n = snprintf(buf, sizeof buf, "%.17g", v->f); break;
    case FM_NULL: return 0;
    }
    return fm_builder_str(e->b->builder, buf, (size_t)n);
}

/* A number as i64 after scaling; doubles are rounded, halves away from zero. */
static bool to_i64(const struct fm_value *v, int64_t scale, int64_t *out)
{
    if (v->type == FM_I64)
        return !__builtin_mul_overflow(v->i, scale, out);
    if (v->type == FM_U64)
        return !__builtin_mul_overflow(v->u, scale, out);
    if (v->type == FM_F64) {
        double d = round(v->f * (double)scale);
        if (!(d >= -9223372036854775808.0 && d < 9223372036854775808.0))
            return false;
        *out = (int64_t)d;
        return true;
    }
    return v->type == FM_TEXT && scale == 1 && fm_text_i64(v->text.s, v->text.n, out);
}

static bool to_u64(const struct fm_value *v, int64_t scale, uint64_t *out)
{
    if (v->type == FM_BOOL) {
        *out = v->b;
        return true;
    }
    if (v->type == FM_I64)
        return v->i >= 0 && !__builtin_mul_overflow(v->i, scale, out);
    if (v->type == FM_U64)
        return !__builtin_mul_overflow(v->u, scale, out);
    if (v->type == FM_F64) {
        double d = round(v->f * (double)scale);
        if (!(d >= 0 && d < 18446744073709551616.0))
            return false;
        *out = (uint64_t)d;
        return true;
    }
    return v->type == FM_TEXT && scale == 1 && fm_text_u64(v->text.s, v->text.n, out);
}

static bool to_f64(const struct fm_value *v, uint64_t *out)
{
    double d;
    if (fm_value_is_number(v))
        d = fm_value_as_f64(v);
    else if (v->type != FM_TEXT || !fm_text_f64(v->text.s, v->text.n, &d))
        return false;
    *out = fm_f64_bits(d);
    return true;
}

bool fm_eval_lane(struct fm_eval *e, const struct fm_value *v, enum fm_type type, int64_t scale,
                  uint64_t *lane, bool *null)
{
    int64_t i;
    *null = v->type == FM_NULL;
    if (*null)
        return false;
    switch (type) {
    case FM_TYPE_BOOL:
        *lane = fm_value_true(v);
        return v->type != FM_TEXT;
    case FM_TYPE_I64:
    case FM_TYPE_TIME:
    case FM_TYPE_DUR:
        if (!to_i64(v, scale, &i))
            return false;
        *lane = (uint64_t)i;
        return true;
    case FM_TYPE_U64:
    case FM_TYPE_BYTES:
    case FM_TYPE_ADDRESS: return to_u64(v, scale, lane);
    case FM_TYPE_F64: return to_f64(v, lane);
    case FM_TYPE_STRING:
        *lane = fm_eval_str(e, v);
        return *lane != FM_NONE;
    case FM_TYPE_STACK:
    case FM_TYPE_THREAD: return fm_value_is_number(v) && to_u64(v, 1, lane) && *lane < FM_NONE;
    }
    return false;
}

bool fm_eval_template(struct fm_eval *e, const struct fm_template *t, size_t *n)
{
    struct fm_binding *b = e->b;
    *n = 0;
    for (size_t i = 0; i < t->parts; i++) {
        struct fm_value v = fm_eval_run(e, t->part[i]);
        const char *s = v.type == FM_TEXT ? v.text.s : NULL;
        size_t len = v.type == FM_TEXT ? v.text.n : 0;
        if (v.type != FM_TEXT && v.type != FM_NULL)
            s = fm_builder_str_text(b->builder, fm_eval_str(e, &v), &len);
        if (!fm_grow(b->mem, (void **)&b->scratch, &b->scratch_cap, *n + len + 1, 1))
            return false;
        if (len)
            memcpy(b->scratch + *n, s, len);
        *n += len;
    }
    return true;
}
