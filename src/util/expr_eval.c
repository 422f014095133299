/*
 * expr_eval.c - values and evaluation of expressions.
 *
 * Integers are computed in 128 bits and come back as i64, else u64, else f64. Comparisons of an
 * integer with a double are exact: the integer is not rounded first.
 */
#include "util/expr.h"

#include "util/text.h"

#include <math.h>

typedef __int128 wide;

/* ------------------------------------------------------------------ values */

bool fm_value_is_number(const struct fm_value *v)
{
    return v->type == FM_I64 || v->type == FM_U64 || v->type == FM_F64;
}

static bool is_integer(const struct fm_value *v)
{
    return v->type == FM_I64 || v->type == FM_U64;
}

static wide widen(const struct fm_value *v)
{
    return v->type == FM_I64 ? (wide)v->i : (wide)v->u;
}

bool fm_value_true(const struct fm_value *v)
{
    switch (v->type) {
    case FM_BOOL: return v->b;
    case FM_I64: return v->i != 0;
    case FM_U64: return v->u != 0;
    case FM_F64: return v->f != 0 && !isnan(v->f);
    case FM_NULL:
    case FM_TEXT: break;
    }
    return false;
}

double fm_value_as_f64(const struct fm_value *v)
{
    switch (v->type) {
    case FM_I64: return (double)v->i;
    case FM_U64: return (double)v->u;
    case FM_F64: return v->f;
    default: return NAN;
    }
}

static int rank(const struct fm_value *v)
{
    switch (v->type) {
    case FM_BOOL: return 0;
    case FM_I64:
    case FM_U64: return 1;
    case FM_F64: return isnan(v->f) ? 2 : 1;
    case FM_TEXT: return 3;
    case FM_NULL: break;
    }
    return 4;
}

static int compare_wide_f64(wide i, double f)
{
    if (f >= 18446744073709551616.0)
        return -1;
    if (f < -9223372036854775808.0)
        return 1;
    double whole = trunc(f);
    wide w = (wide)whole;
    if (i != w)
        return i < w ? -1 : 1;
    return (f < whole) - (f > whole);
}

static int compare_numbers(const struct fm_value *a, const struct fm_value *b)
{
    if (is_integer(a) && is_integer(b)) {
        wide x = widen(a), y = widen(b);
        return (x > y) - (x < y);
    }
    if (is_integer(a))
        return compare_wide_f64(widen(a), b->f);
    if (is_integer(b))
        return -compare_wide_f64(widen(b), a->f);
    return (a->f > b->f) - (a->f < b->f);
}

static int compare_text(const struct fm_value *a, const struct fm_value *b)
{
    size_t n = FM_MIN(a->text.n, b->text.n);
    int c = n ? memcmp(a->text.s, b->text.s, n) : 0;
    if (c == 0)
        return (a->text.n > b->text.n) - (a->text.n < b->text.n);
    return c < 0 ? -1 : 1;
}

int fm_value_compare(const struct fm_value *a, const struct fm_value *b)
{
    int x = rank(a), y = rank(b);
    if (x != y)
        return x < y ? -1 : 1;
    switch (x) {
    case 0: return (int)a->b - (int)b->b;
    case 1: return compare_numbers(a, b);
    case 3: return compare_text(a, b);
    default: return 0;
    }
}

/* ------------------------------------------------------------------ arithmetic */

static struct fm_value narrow(wide w)
{
    if (w >= INT64_MIN && w <= INT64_MAX)
        return fm_value_i64((int64_t)w);
    if (w >= 0 && w <= (wide)UINT64_MAX)
        return fm_value_u64((uint64_t)w);
    return fm_value_f64((double)w);
}

static struct fm_value integer_op(enum fm_expr_op op, wide x, wide y)
{
    wide r;
    switch (op) {
    case FM_EXPR_ADD: return narrow(x + y);
    case FM_EXPR_SUB: return narrow(x - y);
    case FM_EXPR_MUL:
        return __builtin_mul_overflow(x, y, &r) ? fm_value_f64((double)x * (double)y) : narrow(r);
    case FM_EXPR_MOD: return y == 0 ? fm_value_null() : narrow(x % y);
    default: break;
    }
    fm_assert(!"an integer operator");
    return fm_value_null();
}

static struct fm_value arithmetic(enum fm_expr_op op, const struct fm_value *a,
                                  const struct fm_value *b)
{
    if (!fm_value_is_number(a) || !fm_value_is_number(b))
        return fm_value_null();
    if (op != FM_EXPR_DIV && is_integer(a) && is_integer(b))
        return integer_op(op, widen(a), widen(b));
    double x = fm_value_as_f64(a), y = fm_value_as_f64(b);
    switch (op) {
    case FM_EXPR_ADD: return fm_value_f64(x + y);
    case FM_EXPR_SUB: return fm_value_f64(x - y);
    case FM_EXPR_MUL: return fm_value_f64(x * y);
    case FM_EXPR_DIV: return y == 0 ? fm_value_null() : fm_value_f64(x / y);
    case FM_EXPR_MOD: return y == 0 ? fm_value_null() : fm_value_f64(fmod(x, y));
    default: break;
    }
    fm_assert(!"an arithmetic operator");
    return fm_value_null();
}

static struct fm_value negate(const struct fm_value *v)
{
    if (is_integer(v))
        return narrow(-widen(v));
    return v->type == FM_F64 ? fm_value_f64(-v->f) : fm_value_null();
}

static struct fm_value absolute(const struct fm_value *v)
{
    if (is_integer(v))
        return narrow(widen(v) < 0 ? -widen(v) : widen(v));
    return v->type == FM_F64 ? fm_value_f64(fabs(v->f)) : fm_value_null();
}

/* Largest multiple of w that is not above x. */
static struct fm_value bucket(const struct fm_value *x, const struct fm_value *w)
{
    if (!fm_value_is_number(x) || !fm_value_is_number(w) || !(fm_value_as_f64(w) > 0))
        return fm_value_null();
    if (is_integer(x) && is_integer(w)) {
        wide n = widen(x), size = widen(w), rest = n % size;
        return narrow(n - (rest < 0 ? rest + size : rest));
    }
    double size = fm_value_as_f64(w);
    return fm_value_f64(floor(fm_value_as_f64(x) / size) * size);
}

/* ------------------------------------------------------------------ logic */

/* 0 false, 1 true, -1 unknown. */
static int truth(const struct fm_value *v)
{
    if (v->type == FM_NULL || v->type == FM_TEXT)
        return -1;
    return fm_value_true(v);
}

static struct fm_value from_truth(int t)
{
    return t < 0 ? fm_value_null() : fm_value_bool(t);
}

static struct fm_value comparison(enum fm_expr_op op, const struct fm_value *a,
                                  const struct fm_value *b)
{
    if (a->type == FM_NULL || b->type == FM_NULL || rank(a) != rank(b) || rank(a) == 2)
        return fm_value_null();
    int c = fm_value_compare(a, b);
    switch (op) {
    case FM_EXPR_EQ: return fm_value_bool(c == 0);
    case FM_EXPR_NE: return fm_value_bool(c != 0);
    case FM_EXPR_LT: return fm_value_bool(c < 0);
    case FM_EXPR_LE: return fm_value_bool(c <= 0);
    case FM_EXPR_GT: return fm_value_bool(c > 0);
    case FM_EXPR_GE: return fm_value_bool(c >= 0);
    default: break;
    }
    fm_assert(!"a comparison");
    return fm_value_null();
}

/* ------------------------------------------------------------------ evaluation */

/* and, or: the second operand is not looked at when the first decides. */
static struct fm_value logic(const struct fm_expr *e, fm_expr_get *get, void *user)
{
    int decides = e->op == FM_EXPR_OR;
    struct fm_value a = fm_expr_eval(e->arg[0], get, user);
    int x = truth(&a);
    if (x == decides)
        return fm_value_bool(decides);
    struct fm_value b = fm_expr_eval(e->arg[1], get, user);
    int y = truth(&b);
    if (y == decides)
        return fm_value_bool(decides);
    return from_truth(x < 0 || y < 0 ? -1 : !decides);
}

static struct fm_value choose(const struct fm_expr *e, fm_expr_get *get, void *user)
{
    if (e->op == FM_EXPR_WHEN) {
        struct fm_value c = fm_expr_eval(e->arg[1], get, user);
        return fm_value_true(&c) ? fm_expr_eval(e->arg[0], get, user) : fm_value_null();
    }
    if (e->op == FM_EXPR_IF) {
        struct fm_value c = fm_expr_eval(e->arg[0], get, user);
        return fm_expr_eval(e->arg[fm_value_true(&c) ? 1 : 2], get, user);
    }
    for (size_t i = 0; i < e->args; i++) {         /* COALESCE */
        struct fm_value v = fm_expr_eval(e->arg[i], get, user);
        if (v.type != FM_NULL)
            return v;
    }
    return fm_value_null();
}

static struct fm_value extreme(const struct fm_expr *e, fm_expr_get *get, void *user)
{
    struct fm_value best = fm_value_null();
    for (size_t i = 0; i < e->args; i++) {
        struct fm_value v = fm_expr_eval(e->arg[i], get, user);
        if (v.type == FM_NULL)
            continue;
        int c = best.type == FM_NULL ? 0 : fm_value_compare(&v, &best);
        if (best.type == FM_NULL || (e->op == FM_EXPR_MIN ? c < 0 : c > 0))
            best = v;
    }
    return best;
}

static struct fm_value length(const struct fm_value *v)
{
    if (v->type != FM_TEXT)
        return fm_value_null();
    return fm_value_i64((int64_t)fm_utf8_count(v->text.s, v->text.n));
}

static struct fm_value unary(enum fm_expr_op op, const struct fm_value *v)
{
    switch (op) {
    case FM_EXPR_NEG: return negate(v);
    case FM_EXPR_ABS: return absolute(v);
    case FM_EXPR_LEN: return length(v);
    default: break;
    }
    int t = truth(v);
    return from_truth(t < 0 ? t : !t);             /* NOT */
}

static struct fm_value binary(const struct fm_expr *e, fm_expr_get *get, void *user)
{
    struct fm_value a = fm_expr_eval(e->arg[0], get, user);
    struct fm_value b = fm_expr_eval(e->arg[1], get, user);
    if (e->op == FM_EXPR_BUCKET)
        return bucket(&a, &b);
    if (e->op >= FM_EXPR_EQ && e->op <= FM_EXPR_GE)
        return comparison(e->op, &a, &b);
    return arithmetic(e->op, &a, &b);
}

struct fm_value fm_expr_eval(const struct fm_expr *e, fm_expr_get *get, void *user)
{
    struct fm_value v;
    switch (e->op) {
    case FM_EXPR_CONST: return e->value;
    case FM_EXPR_REF:
    case FM_EXPR_CALL: return get(user, e);
    case FM_EXPR_AND:
    case FM_EXPR_OR: return logic(e, get, user);
    case FM_EXPR_WHEN:
    case FM_EXPR_IF:
    case FM_EXPR_COALESCE: return choose(e, get, user);
    case FM_EXPR_MIN:
    case FM_EXPR_MAX: return extreme(e, get, user);
    case FM_EXPR_NEG:
    case FM_EXPR_NOT:
    case FM_EXPR_ABS:
    case FM_EXPR_LEN:
        v = fm_expr_eval(e->arg[0], get, user);
        return unary(e->op, &v);
    default: return binary(e, get, user);
    }
}
