/*
 * expr.h - the expression language of queries and mappings: parse, type, evaluate.
 *
 *   literals   12  0x1f  1.5  10ms  4KiB  5%  'text'  "text"  true  false  null
 *   names      weight  leaf.function  label.class  $param  `any text`
 *   operators  + - * / %   == != < <= > >=   and or not   (three-valued: null is unknown)
 *   postfix    x if cond (null otherwise)
 *   functions  if(c, a, b) abs(x) min(a, b…) max(a, b…) coalesce(a, b…) bucket(x, w) len(s)
 *              and whatever the caller's resolver accepts: has(f), lookup(d, f), sum(x), p99(x) …
 *   methods    stack.has(function: malloc*)  - a call with named text arguments, for the resolver
 *
 * Binding, loosest first: postfix if, or, and, not, comparison (one only: a < b < c is an error),
 * + -, * / %, unary -. "5%" is 0.05 when nothing that could be divided by follows ("7 % 2").
 *
 * Values are scalars (struct fm_value). Integers stay integers: + - * of 64-bit numbers widen to
 * f64 only when neither i64 nor u64 holds the result; / gives f64; % has the sign of the dividend.
 * Units ride along for checking ("ns" + "bytes" is an error at parse time); a number without unit
 * fits every unit. Null operands give null, except: and, or (three-valued), if, coalesce, and min,
 * max, which skip nulls. x/0, x%0 and operands of a wrong type give null.
 *
 * This file knows no columns and no fields: the caller resolves names and foreign calls to a
 * number (`ref`), and supplies their values when it evaluates.
 */
#ifndef FM_UTIL_EXPR_H
#define FM_UTIL_EXPR_H

#include "util/yaml.h"

enum fm_value_type { FM_NULL, FM_BOOL, FM_I64, FM_U64, FM_F64, FM_TEXT };

struct fm_value {
    enum fm_value_type type;
    union {
        bool b;
        int64_t i;
        uint64_t u;
        double f;
        struct {
            const char *s;
            size_t n;
        } text;
    };
};

static inline struct fm_value fm_value_null(void)
{
    return (struct fm_value){.type = FM_NULL};
}

static inline struct fm_value fm_value_i64(int64_t i)
{
    return (struct fm_value){.type = FM_I64, .i = i};
}

static inline struct fm_value fm_value_u64(uint64_t u)
{
    return (struct fm_value){.type = FM_U64, .u = u};
}

static inline struct fm_value fm_value_f64(double f)
{
    return (struct fm_value){.type = FM_F64, .f = f};
}

static inline struct fm_value fm_value_bool(bool b)
{
    return (struct fm_value){.type = FM_BOOL, .b = b};
}

static inline struct fm_value fm_value_text(const char *s, size_t n)
{
    return (struct fm_value){.type = FM_TEXT, .text = {s, n}};
}

/* Total order of sorts: booleans, numbers by value across types (exactly; NaN behind the others),
 * text bytewise, null last. -1, 0, 1. */
int fm_value_compare(const struct fm_value *a, const struct fm_value *b);
bool fm_value_true(const struct fm_value *v);         /* null, text, 0 are false */
double fm_value_as_f64(const struct fm_value *v);     /* null, text, bool: NaN */
bool fm_value_is_number(const struct fm_value *v);

struct fm_expr;          /* a node; lives in the arena given to fm_expr_parse() */

enum fm_expr_op {
    FM_EXPR_CONST, FM_EXPR_REF,                       /* REF: .ref, resolved by the caller */
    FM_EXPR_NEG, FM_EXPR_NOT, FM_EXPR_ADD, FM_EXPR_SUB, FM_EXPR_MUL, FM_EXPR_DIV, FM_EXPR_MOD,
    FM_EXPR_EQ, FM_EXPR_NE, FM_EXPR_LT, FM_EXPR_LE, FM_EXPR_GT, FM_EXPR_GE, FM_EXPR_AND,
    FM_EXPR_OR, FM_EXPR_WHEN,                         /* WHEN: arg[0] if arg[1] else null */
    FM_EXPR_IF, FM_EXPR_ABS, FM_EXPR_MIN, FM_EXPR_MAX, FM_EXPR_COALESCE, FM_EXPR_BUCKET,
    FM_EXPR_LEN,
    FM_EXPR_CALL                                      /* a foreign call: .ref by the caller */
};

struct fm_expr {
    enum fm_expr_op op;
    uint32_t at, len;               /* place in the source text, for messages */
    uint32_t depth;                 /* 1 for a leaf; at most FM_EXPR_DEPTH */
    struct fm_value value;          /* CONST */
    const char *unit;               /* "" none; "ns", "bytes" …; filled bottom-up */
    const char *name;               /* REF: the name; CALL: the function's name */
    uint32_t ref;                   /* REF, CALL: the caller's number */
    struct fm_expr **arg;
    const char **arg_name;          /* CALL: names of named arguments, NULL entries otherwise */
    size_t args;
};

#define FM_EXPR_DEPTH 200

struct fm_expr_names {
    void *user;
    /* Resolves a name ("leaf.function", "$n"). Fills node->ref and node->unit, or replaces the
     * node by a constant (op = CONST, value). false: unknown (message made from `list`, unless the
     * resolver logged one itself). */
    bool (*name)(void *user, struct fm_expr *node);
    /* Resolves a call to a function that is not built in. Its arguments have been resolved by
     * name() before, except named ones (`function: malloc*`), which are CONST text as written. May
     * fill node->ref and node->unit, or replace the node. false: unknown function (message as
     * above). May be NULL: no foreign functions. */
    bool (*call)(void *user, struct fm_expr *node);
    const char *const *list;        /* known names, for "did you mean" */
    size_t lists;
};

/* Parses `text` of n bytes, which points into the text of the scalar `at` (text == NULL: all of
 * it), or is what that became by substitution, or, with at == NULL, stands in no file. Errors go to
 * log with the place inside the scalar. NULL on any error, and when memory runs out (log->first has
 * FM_NOMEM then). */
struct fm_expr *fm_expr_parse(struct fm_arena *arena, const struct fm_yaml_node *at,
                              const char *text, size_t n, const struct fm_expr_names *names,
                              struct fm_yaml_log *log);

/* Value of a REF or CALL node. */
typedef struct fm_value fm_expr_get(void *user, const struct fm_expr *node);
/* Evaluates; never fails: x/0, a wrong type or a missing value give null. */
struct fm_value fm_expr_eval(const struct fm_expr *expr, fm_expr_get *get, void *user);

/* Calls fn for each REF and CALL node, arguments before their call. */
void fm_expr_walk(const struct fm_expr *expr, void (*fn)(void *user, const struct fm_expr *node),
                  void *user);

#endif
