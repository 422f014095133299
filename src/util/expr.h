/*
 * expr.h - the expression language of queries and mappings: parse, type, evaluate.
 *
 *   literals   12  1.5  10ms  4KiB  5%  'text'  "text"  true  false  null
 *   names      weight  leaf.function  label.class  $param
 *   operators  + - * / %   == != < <= > >=   and or not   (three-valued: null is unknown)
 *   postfix    x if cond (null otherwise)
 *   functions  if(c, a, b) abs(x) min(a, b…) max(a, b…) coalesce(a, b…) bucket(x, w) len(s)
 *              and whatever the caller's resolver accepts: has(f), lookup(d, f), sum(x), p99(x) …
 *   methods    stack.has(function: malloc*)  - a call with named text arguments
 *
 * Values are scalars (struct fm_value). Integers stay integers: + - * of i64 widen to f64 only on
 * overflow; / gives f64; units ride along for checking ("ns" + "bytes" is an error at parse time).
 *
 * This file knows no columns and no fields: the caller resolves names and foreign calls to an
 * `fm_expr_ref`, and supplies their values when it evaluates.
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

/* Total order used by comparisons and sorts: null last, numbers by value across types, text
 * bytewise. */
int fm_value_compare(const struct fm_value *a, const struct fm_value *b);
bool fm_value_true(const struct fm_value *v);         /* null is false */
double fm_value_as_f64(const struct fm_value *v);     /* null and text: NaN */

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
    struct fm_value value;          /* CONST */
    const char *unit;               /* "" none; "ns", "bytes" …; filled bottom-up */
    const char *name;               /* REF: the name; CALL: the function's name */
    uint32_t ref;                   /* REF, CALL: the caller's number */
    struct fm_expr **arg;
    const char **arg_name;          /* CALL: names of named arguments, NULL entries otherwise */
    size_t args;
};

struct fm_expr_names {
    void *user;
    /* Resolves a name ("leaf.function", "$n"). Fills node->ref and node->unit, or replaces the
     * node by a constant (op = CONST, value). false: unknown (message made from `list`). */
    bool (*name)(void *user, struct fm_expr *node);
    /* Resolves a call to a function that is not built in; its arguments are parsed and resolved
     * when `args_as_columns(name)`… they are always resolved by name() before, except named ones,
     * which stay CONST text. false: unknown function. */
    bool (*call)(void *user, struct fm_expr *node);
    const char *const *list;        /* known names, for "did you mean" */
    size_t lists;
};

/* Parses the scalar `at` (or, with at == NULL, `text`, of n bytes). Errors go to log with the place
 * inside the scalar. NULL on any error. */
struct fm_expr *fm_expr_parse(struct fm_arena *arena, const struct fm_yaml_node *at,
                              const char *text, size_t n, const struct fm_expr_names *names,
                              struct fm_yaml_log *log);

/* Value of a REF or CALL node. */
typedef struct fm_value fm_expr_get(void *user, const struct fm_expr *node);
/* Evaluates; never fails: x/0, a wrong type or a missing value give null. */
struct fm_value fm_expr_eval(const struct fm_expr *expr, fm_expr_get *get, void *user);

/* Calls fn for each REF and CALL node. */
void fm_expr_walk(const struct fm_expr *expr, void (*fn)(void *user, const struct fm_expr *node),
                  void *user);

#endif
