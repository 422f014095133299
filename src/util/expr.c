/*
 * expr.c - parser of the expression language: precedence climbing over one text.
 *
 *     text --lex()--> token --climb(level)--> nodes in the arena, constants folded, units checked
 *
 * The grammar stands in expr.h. Nesting of the parser and depth of the tree are both limited to
 * FM_EXPR_DEPTH, so that neither hostile parentheses nor a chain of 100,000 "+" reaches the end of
 * the C stack, here or in fm_expr_eval().
 */
#include "util/expr.h"

#include "util/error.h"
#include "util/text.h"

#include <math.h>

#define MAX_ARGS 64

enum token {
    T_END, T_NUMBER, T_TEXT, T_NAME, T_OP, T_OPEN, T_CLOSE, T_COMMA, T_BAD
};

struct parser {
    struct fm_arena *arena;
    const struct fm_yaml_node *at;
    bool written;                  /* s points into the text of at */
    const char *s;
    size_t n;
    const struct fm_expr_names *names;
    struct fm_yaml_log *log;
    unsigned nesting;
    bool failed;
    /* the current token */
    enum token token;
    size_t from, to;               /* its bytes */
    enum fm_expr_op op;            /* T_OP */
    struct fm_value value;         /* T_NUMBER, T_TEXT */
    const char *unit;              /* T_NUMBER */
    const char *name;              /* T_NAME */
    bool bare;                     /* T_NAME: not in `…`: may be a keyword */
};

static struct fm_expr *parse_expr(struct parser *p);

/* ------------------------------------------------------------------ messages */

static void fail_at(struct parser *p, enum fm_yaml_class class, size_t from, size_t to,
                    const char *text)
{
    if (p->failed)
        return;
    p->failed = true;
    struct fm_yaml_log *log = fm_yaml_as(p->log, class);
    size_t len = to > from ? to - from : 1;
    if (p->written)
        fm_yaml_error_at(log, p->at, (size_t)(p->s - p->at->text) + from, len, "%s", text);
    else
        fm_yaml_error_text(log, p->at, p->s, p->n, from, len, "%s", text);
}

static void fail(struct parser *p, const char *text)
{
    fail_at(p, FM_YAML_EXPR, p->from, p->to, text);
}

static void *no_memory(struct parser *p)
{
    p->failed = true;
    fm_error_nomem(&p->log->first);
    return NULL;
}

/* ------------------------------------------------------------------ tokens */

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
           (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_char(char c)
{
    return is_name_start(c) || is_digit(c);
}

static char look(const struct parser *p, size_t i)
{
    return i < p->n ? p->s[i] : '\0';
}

static void lex_op(struct parser *p)
{
    static const struct {
        const char text[3];
        enum fm_expr_op op;
    } ops[] = {
        {"==", FM_EXPR_EQ}, {"!=", FM_EXPR_NE}, {"<=", FM_EXPR_LE}, {">=", FM_EXPR_GE},
        {"<", FM_EXPR_LT},  {">", FM_EXPR_GT},  {"+", FM_EXPR_ADD}, {"-", FM_EXPR_SUB},
        {"*", FM_EXPR_MUL}, {"/", FM_EXPR_DIV}, {"%", FM_EXPR_MOD},
    };
    for (size_t i = 0; i < FM_COUNT(ops); i++) {
        size_t len = strlen(ops[i].text);
        if (p->n - p->from >= len && memcmp(p->s + p->from, ops[i].text, len) == 0) {
            p->token = T_OP;
            p->op = ops[i].op;
            p->to = p->from + len;
            return;
        }
    }
    p->token = T_BAD;
    p->to = p->from + 1;
    if (look(p, p->from) == '=')
        fail(p, "'=' is no operator: equality is '=='");
    else
        fail(p, "unexpected character");
}

/* A whole number without unit keeps all 64 bits. */
static bool exact_number(const char *s, size_t n, struct fm_value *value)
{
    uint64_t u;
    bool hex = n > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    if (!(hex ? fm_text_hex(s, n, &u) : fm_text_u64(s, n, &u)))
        return false;
    *value = u <= INT64_MAX ? fm_value_i64((int64_t)u) : fm_value_u64(u);
    return true;
}

static void lex_number(struct parser *p)
{
    size_t i = p->from;
    if (look(p, i) == '0' && (look(p, i + 1) | 0x20) == 'x') {
        i += 2;
        while (is_name_char(look(p, i)))
            i++;
    } else {
        while (is_digit(look(p, i)))
            i++;
        if (look(p, i) == '.' && is_digit(look(p, i + 1)))
            for (i++; is_digit(look(p, i));)
                i++;
        while (is_name_char(look(p, i)) && look(p, i) != '$') {
            bool sign = (look(p, i) | 0x20) == 'e' &&
                        (look(p, i + 1) == '-' || look(p, i + 1) == '+') &&
                        is_digit(look(p, i + 2));
            i += sign ? 2 : 1;
        }
        char next = look(p, i + 1);
        if (look(p, i) == '%' && !is_name_char(next) && next != '(' && next != '\'' &&
            next != '"' && next != '`')
            i++;
    }
    p->to = i;
    p->token = T_NUMBER;
    p->unit = "";
    const char *s = p->s + p->from;
    size_t n = p->to - p->from;
    double v;
    if (exact_number(s, n, &p->value))
        return;
    if (!fm_text_quantity(s, n, &v, &p->unit)) {
        p->token = T_BAD;
        fail(p, "not a number, or a unit that is not known: units are ns us ms s m h, B KiB MiB "
                "GiB, %");
        return;
    }
    bool whole = v == floor(v) && fabs(v) < 9007199254740992.0 && !memchr(s, '%', n);
    p->value = whole ? fm_value_i64((int64_t)v) : fm_value_f64(v);
}

/* 'text', "text", `name`: the quote doubled stands for itself. */
static void lex_quoted(struct parser *p, char quote)
{
    size_t i = p->from + 1, n = 0;
    char *text = fm_arena_alloc(p->arena, p->n - p->from + 1);
    if (!text) {
        p->token = T_BAD;
        no_memory(p);
        return;
    }
    for (;; i++) {
        if (i >= p->n) {
            p->token = T_BAD;
            p->to = p->n;
            fail(p, "a quote that does not end");
            return;
        }
        if (p->s[i] == quote && look(p, i + 1) != quote)
            break;
        i += p->s[i] == quote;
        text[n++] = p->s[i];
    }
    p->to = i + 1;
    p->token = quote == '`' ? T_NAME : T_TEXT;
    p->bare = false;
    p->name = text;
    p->value = fm_value_text(text, n);
}

/* The end of a fraction that belongs to the name of a function: p99.9(x), not 99.9. */
static size_t fraction_end(const struct parser *p, size_t dot)
{
    size_t i = dot + 1;
    while (is_digit(look(p, i)))
        i++;
    return i > dot + 1 && look(p, i) == '(' ? i : dot;
}

static void lex_name(struct parser *p)
{
    size_t i = p->from + 1;
    while (is_name_char(look(p, i)) || (look(p, i) == '.' && is_name_start(look(p, i + 1))))
        i++;
    if (look(p, i) == '.')
        i = fraction_end(p, i);
    p->to = i;
    p->token = T_NAME;
    p->bare = true;
    p->name = fm_arena_strn(p->arena, p->s + p->from, i - p->from);
    if (!p->name) {
        p->token = T_BAD;
        no_memory(p);
        return;
    }
    static const struct {
        const char *word;
        enum fm_expr_op op;
    } words[] = {
        {"and", FM_EXPR_AND}, {"or", FM_EXPR_OR}, {"not", FM_EXPR_NOT}, {"if", FM_EXPR_WHEN}};
    for (size_t k = 0; k < FM_COUNT(words); k++) {
        if (strcmp(p->name, words[k].word) == 0) {
            p->token = T_OP;
            p->op = words[k].op;
        }
    }
}

/* Moves to the next token. */
static void lex(struct parser *p)
{
    size_t i = p->to;
    while (i < p->n && (p->s[i] == ' ' || p->s[i] == '\t' || p->s[i] == '\n' || p->s[i] == '\r'))
        i++;
    p->from = p->to = i;
    if (i >= p->n) {
        p->token = T_END;
        return;
    }
    char c = p->s[i];
    p->to = i + 1;
    if (c == '(')
        p->token = T_OPEN;
    else if (c == ')')
        p->token = T_CLOSE;
    else if (c == ',')
        p->token = T_COMMA;
    else if (is_digit(c) || (c == '.' && is_digit(look(p, i + 1))))
        lex_number(p);
    else if (c == '\'' || c == '"' || c == '`')
        lex_quoted(p, c);
    else if (is_name_start(c))
        lex_name(p);
    else
        lex_op(p);
}

/* ------------------------------------------------------------------ units */

static bool has_unit(const struct fm_expr *e)
{
    return e->unit && e->unit[0];
}

/* Two operands of a sum or comparison: the common unit, or an error. */
static const char *same_unit(struct parser *p, const struct fm_expr *a, const struct fm_expr *b)
{
    if (!has_unit(a))
        return b->unit;
    if (has_unit(b) && strcmp(a->unit, b->unit) != 0) {
        struct fm_error why = {0};
        fm_error_set(&why, FM_CONFIG, "units do not fit: '%s' and '%s'", a->unit, b->unit);
        fail_at(p, FM_YAML_UNIT, b->at, b->at + b->len, why.message);
    }
    return a->unit;
}

static const char *unit_of(struct parser *p, const struct fm_expr *e)
{
    struct fm_expr *const *arg = e->arg;
    const char *unit = "";
    switch (e->op) {
    case FM_EXPR_NEG:
    case FM_EXPR_ABS:
    case FM_EXPR_WHEN: return arg[0]->unit;
    case FM_EXPR_ADD:
    case FM_EXPR_SUB:
    case FM_EXPR_MOD:
    case FM_EXPR_BUCKET: return same_unit(p, arg[0], arg[1]);
    case FM_EXPR_EQ:
    case FM_EXPR_NE:
    case FM_EXPR_LT:
    case FM_EXPR_LE:
    case FM_EXPR_GT:
    case FM_EXPR_GE: same_unit(p, arg[0], arg[1]); return "";
    case FM_EXPR_MUL:
        if (has_unit(arg[0]) && has_unit(arg[1]))
            return "";
        return has_unit(arg[0]) ? arg[0]->unit : arg[1]->unit;
    case FM_EXPR_DIV: return has_unit(arg[1]) ? "" : arg[0]->unit;
    case FM_EXPR_IF: return same_unit(p, arg[1], arg[2]);
    case FM_EXPR_MIN:
    case FM_EXPR_MAX:
    case FM_EXPR_COALESCE:
        for (size_t i = 1; i < e->args; i++)
            unit = same_unit(p, arg[i - 1], arg[i]);
        return e->args == 1 ? arg[0]->unit : unit;
    default: return "";
    }
}

/* ------------------------------------------------------------------ nodes */

static struct fm_expr *new_node(struct parser *p, enum fm_expr_op op, size_t from, size_t to,
                                struct fm_expr *const *arg, size_t args)
{
    struct fm_expr *e = fm_arena_alloc(p->arena, sizeof *e);
    if (!e || (args && !(e->arg = fm_arena_alloc(p->arena, args * sizeof *e->arg))))
        return no_memory(p);
    e->op = op;
    e->at = (uint32_t)from;
    e->len = (uint32_t)(to - from);
    e->unit = "";
    e->args = args;
    e->depth = 1;
    for (size_t i = 0; i < args; i++) {
        e->arg[i] = arg[i];
        e->depth = FM_MAX(e->depth, arg[i]->depth + 1);
    }
    if (e->depth > FM_EXPR_DEPTH) {
        fail_at(p, FM_YAML_EXPR, from, from + 1, "an expression that is nested too deeply");
        return NULL;
    }
    return e;
}

static struct fm_value no_value(void *user FM_UNUSED, const struct fm_expr *node FM_UNUSED)
{
    return fm_value_null();
}

/* An operator or built-in function over its arguments: unit, and the value when all are known. */
static struct fm_expr *finish(struct parser *p, enum fm_expr_op op, size_t from, size_t to,
                              struct fm_expr *const *arg, size_t args)
{
    struct fm_expr *e = new_node(p, op, from, to, arg, args);
    if (!e)
        return NULL;
    e->unit = unit_of(p, e);
    if (p->failed)
        return NULL;
    for (size_t i = 0; i < args; i++)
        if (arg[i]->op != FM_EXPR_CONST)
            return e;
    struct fm_value v = fm_expr_eval(e, no_value, NULL);
    e->op = FM_EXPR_CONST;
    e->value = v;
    e->args = 0;
    e->depth = 1;
    return e;
}

static struct fm_expr *constant(struct parser *p, struct fm_value value, const char *unit)
{
    struct fm_expr *e = new_node(p, FM_EXPR_CONST, p->from, p->to, NULL, 0);
    if (!e)
        return NULL;
    e->value = value;
    e->unit = unit;
    lex(p);
    return e;
}

static void fail_unknown(struct parser *p, const struct fm_expr *e, const char *what,
                         unsigned errors)
{
    if (p->log->errors > errors || p->log->first.status == FM_NOMEM) {
        p->failed = true;          /* the resolver said why */
        return;
    }
    struct fm_error text = {0};
    const char *near = p->names && e->op == FM_EXPR_REF
                           ? fm_text_nearest(e->name, p->names->list, p->names->lists)
                           : NULL;
    if (near)
        fm_error_set(&text, FM_CONFIG, "unknown %s '%s' (did you mean '%s'?)", what, e->name, near);
    else
        fm_error_set(&text, FM_CONFIG, "unknown %s '%s'", what, e->name);
    fail_at(p, FM_YAML_UNKNOWN, e->at, e->at + strlen(e->name), text.message);
}

/* ------------------------------------------------------------------ calls */

/* The bytes of a named argument's text: up to ',' or ')' outside of brackets, quotes, /regexes/. */
static size_t raw_end(const struct parser *p, size_t i)
{
    unsigned nest = 0;
    char quote = look(p, i);
    if (quote == '/' || quote == '\'' || quote == '"') {
        for (i++; i < p->n && p->s[i] != quote; i++)
            i += p->s[i] == '\\' && quote == '/';
        i += i < p->n;
    }
    for (; i < p->n; i++) {
        char c = p->s[i];
        if (nest == 0 && (c == ',' || c == ')'))
            break;
        nest += c == '(' || c == '[' || c == '{';
        nest -= nest > 0 && (c == ')' || c == ']' || c == '}');
    }
    return i < p->n ? i : p->n;
}

/* name: text  - the current token is the name; SIZE_MAX when no ':' follows. */
static size_t named_colon(const struct parser *p)
{
    size_t i = p->to;
    while (look(p, i) == ' ')
        i++;
    return p->token == T_NAME && look(p, i) == ':' ? i : SIZE_MAX;
}

static struct fm_expr *named_arg(struct parser *p, size_t colon)
{
    size_t from = colon + 1, to;
    while (look(p, from) == ' ')
        from++;
    to = raw_end(p, from);
    p->from = from;
    p->to = to;
    while (to > from && p->s[to - 1] == ' ')
        to--;
    char quote = look(p, from);
    bool quoted = to - from >= 2 && (quote == '\'' || quote == '"') && p->s[to - 1] == quote;
    const char *text = fm_arena_strn(p->arena, p->s + from + quoted, to - from - 2 * quoted);
    return text ? constant(p, fm_value_text(text, to - from - 2 * quoted), "") : no_memory(p);
}

/* Arguments up to the ')'; the current token is the one behind '('. */
static bool call_args(struct parser *p, struct fm_expr **arg, const char **arg_name, size_t *args)
{
    *args = 0;
    while (p->token != T_CLOSE) {
        if (*args == MAX_ARGS) {
            fail(p, "more than 64 arguments");
            return false;
        }
        size_t colon = named_colon(p);
        arg_name[*args] = colon != SIZE_MAX ? p->name : NULL;
        struct fm_expr *e = colon != SIZE_MAX ? named_arg(p, colon) : parse_expr(p);
        if (!e)
            return false;
        arg[(*args)++] = e;
        if (p->token == T_COMMA) {
            lex(p);
        } else if (p->token != T_CLOSE) {
            fail(p, "',' or ')' is missing here");
            return false;
        }
    }
    return true;
}

static bool built_in(const char *name, enum fm_expr_op *op, size_t *min, size_t *max)
{
    static const struct {
        const char *name;
        enum fm_expr_op op;
        size_t min, max;
    } functions[] = {
        {"if", FM_EXPR_IF, 3, 3},          {"abs", FM_EXPR_ABS, 1, 1},
        {"min", FM_EXPR_MIN, 2, MAX_ARGS}, {"max", FM_EXPR_MAX, 2, MAX_ARGS},
        {"bucket", FM_EXPR_BUCKET, 2, 2},  {"coalesce", FM_EXPR_COALESCE, 1, MAX_ARGS},
        {"len", FM_EXPR_LEN, 1, 1},
    };
    for (size_t i = 0; i < FM_COUNT(functions); i++) {
        if (strcmp(functions[i].name, name) == 0) {
            *op = functions[i].op;
            *min = functions[i].min;
            *max = functions[i].max;
            return true;
        }
    }
    return false;
}

static struct fm_expr *foreign_call(struct parser *p, const char *name, size_t from,
                                    struct fm_expr *const *arg, const char *const *arg_name,
                                    size_t args)
{
    struct fm_expr *e = new_node(p, FM_EXPR_CALL, from, p->to, arg, args);
    if (!e)
        return NULL;
    e->name = name;
    e->arg_name = fm_arena_alloc(p->arena, (args + 1) * sizeof *e->arg_name);
    if (!e->arg_name)
        return no_memory(p);
    memcpy(e->arg_name, arg_name, args * sizeof *arg_name);
    unsigned errors = p->log->errors;
    if (!p->names || !p->names->call || !p->names->call(p->names->user, e)) {
        fail_unknown(p, e, "function", errors);
        return NULL;
    }
    lex(p);
    return e;
}

/* name(…); the current token is '('. min and max of one argument are the caller's (aggregates). */
static struct fm_expr *parse_call(struct parser *p, const char *name, size_t from)
{
    struct fm_expr *arg[MAX_ARGS];
    const char *arg_name[MAX_ARGS];
    size_t args, min, max;
    enum fm_expr_op op;
    lex(p);
    if (p->failed || !call_args(p, arg, arg_name, &args))
        return NULL;
    bool extreme = args == 1 && (strcmp(name, "min") == 0 || strcmp(name, "max") == 0);
    if (extreme || !built_in(name, &op, &min, &max))
        return foreign_call(p, name, from, arg, arg_name, args);
    if (args < min || args > max) {
        fail_at(p, FM_YAML_EXPR, from, p->to, "wrong number of arguments");
        return NULL;
    }
    struct fm_expr *e = finish(p, op, from, p->to, arg, args);
    if (e)
        lex(p);
    return e;
}

/* ------------------------------------------------------------------ the grammar */

static struct fm_expr *parse_name(struct parser *p)
{
    const char *name = p->name;
    size_t from = p->from, to = p->to;
    if (p->bare && strcmp(name, "true") == 0)
        return constant(p, fm_value_bool(true), "");
    if (p->bare && strcmp(name, "false") == 0)
        return constant(p, fm_value_bool(false), "");
    if (p->bare && strcmp(name, "null") == 0)
        return constant(p, fm_value_null(), "");
    lex(p);
    if (p->failed)
        return NULL;
    if (p->token == T_OPEN)
        return parse_call(p, name, from);
    struct fm_expr *e = new_node(p, FM_EXPR_REF, from, to, NULL, 0);
    if (!e)
        return NULL;
    e->name = name;
    unsigned errors = p->log->errors;
    if (!p->names || !p->names->name(p->names->user, e)) {
        fail_unknown(p, e, "name", errors);
        return NULL;
    }
    if (!e->unit)
        e->unit = "";
    return e;
}

static struct fm_expr *parse_primary(struct parser *p)
{
    if (p->failed)
        return NULL;
    /* "if(" at the place of an operand is the function. */
    if (p->token == T_OP && p->op == FM_EXPR_WHEN && look(p, p->to) == '(')
        return parse_name(p);
    switch (p->token) {
    case T_NUMBER: return constant(p, p->value, p->unit);
    case T_TEXT: return constant(p, p->value, "");
    case T_NAME: return parse_name(p);
    case T_OPEN: {
        lex(p);
        struct fm_expr *e = parse_expr(p);
        if (e && p->token != T_CLOSE) {
            fail(p, "')' is missing here");
            return NULL;
        }
        if (e)
            lex(p);
        return e;
    }
    case T_END: fail(p, "the expression ends where a value should stand"); return NULL;
    default: fail(p, "a value should stand here"); return NULL;
    }
}

static unsigned precedence(enum fm_expr_op op)
{
    switch (op) {
    case FM_EXPR_OR: return 1;
    case FM_EXPR_AND: return 2;
    case FM_EXPR_EQ:
    case FM_EXPR_NE:
    case FM_EXPR_LT:
    case FM_EXPR_LE:
    case FM_EXPR_GT:
    case FM_EXPR_GE: return 4;
    case FM_EXPR_ADD:
    case FM_EXPR_SUB: return 5;
    case FM_EXPR_MUL:
    case FM_EXPR_DIV:
    case FM_EXPR_MOD: return 6;
    default: return 0;
    }
}

static struct fm_expr *climb(struct parser *p, unsigned level);

/* not x (level 3: looser than comparisons), -x (tighter than all). */
static struct fm_expr *parse_prefix(struct parser *p)
{
    size_t from = p->from;
    bool negate = p->token == T_OP && p->op == FM_EXPR_SUB;
    bool invert = p->token == T_OP && p->op == FM_EXPR_NOT;
    if (!negate && !invert)
        return parse_primary(p);
    if (++p->nesting > FM_EXPR_DEPTH) {
        fail(p, "an expression that is nested too deeply");
        return NULL;
    }
    lex(p);
    struct fm_expr *arg = negate ? parse_prefix(p) : climb(p, 4);
    p->nesting--;
    return arg ? finish(p, negate ? FM_EXPR_NEG : FM_EXPR_NOT, from, arg->at + arg->len, &arg, 1)
               : NULL;
}

static struct fm_expr *climb(struct parser *p, unsigned level)
{
    struct fm_expr *left = parse_prefix(p);
    while (left && !p->failed && p->token == T_OP) {
        enum fm_expr_op op = p->op;
        unsigned mine = precedence(op);
        if (mine == 0 || mine < level)
            break;
        lex(p);
        struct fm_expr *right = climb(p, mine + 1);
        if (!right)
            return NULL;
        struct fm_expr *both[] = {left, right};
        left = finish(p, op, left->at, right->at + right->len, both, 2);
        if (left && mine == 4 && p->token == T_OP && precedence(p->op) == 4) {
            fail(p, "comparisons do not chain: join two with 'and'");
            return NULL;
        }
    }
    return p->failed ? NULL : left;
}

static struct fm_expr *parse_expr(struct parser *p)
{
    if (++p->nesting > FM_EXPR_DEPTH) {
        fail(p, "an expression that is nested too deeply");
        return NULL;
    }
    struct fm_expr *e = climb(p, 1);
    while (e && p->token == T_OP && p->op == FM_EXPR_WHEN) {
        lex(p);
        struct fm_expr *cond = climb(p, 1);
        if (!cond)
            return NULL;
        struct fm_expr *both[] = {e, cond};
        e = finish(p, FM_EXPR_WHEN, e->at, cond->at + cond->len, both, 2);
    }
    p->nesting--;
    return e;
}

/* The text stands in the file as it is: it points into the scalar. */
static bool is_part(const struct fm_yaml_node *at, const char *s, size_t n)
{
    uintptr_t whole = (uintptr_t)at->text, part = (uintptr_t)s;
    return part >= whole && part - whole <= at->n && n <= at->n - (part - whole);
}

struct fm_expr *fm_expr_parse(struct fm_arena *arena, const struct fm_yaml_node *at,
                              const char *text, size_t n, const struct fm_expr_names *names,
                              struct fm_yaml_log *log)
{
    struct parser p = {.arena = arena, .at = at, .s = text, .n = n, .names = names, .log = log};
    if (!text) {
        fm_assert(at);
        if (at->type != FM_YAML_SCALAR) {
            fm_yaml_error(fm_yaml_as(log, FM_YAML_TYPE), at, "an expression should stand here");
            return NULL;
        }
        p.s = at->text;
        p.n = at->n;
    }
    p.written = at && is_part(at, p.s, p.n);
    lex(&p);
    struct fm_expr *e = parse_expr(&p);
    if (e && !p.failed && p.token != T_END)
        fail(&p, "an operator should stand here");
    return p.failed ? NULL : e;
}

void fm_expr_walk(const struct fm_expr *expr, void (*fn)(void *user, const struct fm_expr *node),
                  void *user)
{
    for (size_t i = 0; i < expr->args; i++)
        fm_expr_walk(expr->arg[i], fn, user);
    if (expr->op == FM_EXPR_REF || expr->op == FM_EXPR_CALL)
        fn(user, expr);
}
