/*
 * compute.c - `compute:`, columns made of others, and `check:`, gates on a result.
 *
 *     compute: {growth: self / total}
 *     check:
 *       - fail_if: growth > $max
 *         message: "${function} grew to ${growth:%}, ${self:auto}"
 *         min_rows: 1
 *
 * In messages ${…} is an expression over the row and the parameters, or the name of one; ":%"
 * prints it as a percentage, ":auto" scales it by its unit. A gate fails when any row does, or when
 * there are fewer rows than min_rows.
 */
#include "query/table.h"

#include "util/error.h"
#include "util/text.h"

struct fm_computed {
    size_t col;
    struct fm_expr *expr;
    struct fm_computed *next;
};

struct piece {
    const char *text;            /* literal, or NULL: the expression */
    size_t n;
    struct fm_expr *expr;
    char form;                   /* 0, '%' or 'a' */
    struct piece *next;
};

struct fm_check {
    const struct fm_yaml_node *at;
    struct fm_expr *expr;
    bool fail;                   /* fail_if; else warn_if */
    struct piece *message;       /* NULL: a message of ours */
    uint64_t min_rows;
    struct fm_check *next;
};

struct at {
    const struct fm_compile *c;
    const struct fm_table *t;
    uint32_t row;
};

static struct fm_value get(void *user, const struct fm_expr *node)
{
    const struct at *at = user;

    return fm_table_value(at->t, at->row, at->c->operand[node->ref]->id);
}

/* ----------------------------------------------------------------- compute */

static bool add_column(struct fm_compile *c, struct fm_schema *schema, const char *name,
                       const struct fm_expr *expr)
{
    struct fm_schema_column *list = schema->column;

    if (schema->n == schema->cap) {
        schema->cap = schema->cap * 2 + 4;
        list = fm_arena_alloc(c->arena, schema->cap * sizeof *list);
        if (list == NULL)
            return false;
        memcpy(list, schema->column, schema->n * sizeof *list);
        schema->column = list;
    }
    list[schema->n] = (struct fm_schema_column){ .name = name, .full = name, .unit = expr->unit,
                                                 .type = fm_expr_cell(c, NULL, expr),
                                                 .untyped = c->store == NULL };
    schema->n++;
    return true;
}

struct fm_computed *fm_compute_compile(struct fm_compile *c, const struct fm_yaml_node *node,
                                       struct fm_schema *schema)
{
    struct fm_computed *first = NULL, **link = &first;

    if (node->type != FM_YAML_MAP || node->n == 0) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node, "'compute' takes {NAME: EXPRESSION}");
        return NULL;
    }
    for (size_t i = 0; i < node->n; i++) {
        const struct fm_yaml_pair *pair = &node->pair[i];
        struct fm_computed *one = fm_arena_alloc(c->arena, sizeof *one);
        struct fm_scalar s;
        if (one == NULL)
            return NULL;
        if (pair->value->type != FM_YAML_SCALAR) {
            fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), pair->value,
                          "a computed column is an expression");
            return NULL;
        }
        if (fm_schema_find(schema, pair->key, strlen(pair->key)) != FM_NONE) {
            fm_yaml_error_key(fm_yaml_as(c->log, FM_YAML_DUPLICATE), pair,
                              "column '%s' is there already", pair->key);
            return NULL;
        }
        if (!fm_scalar_get(c->q, c->arena, c->log, pair->value, &s))
            return NULL;
        one->expr = fm_compile_expr(c, FM_SCOPE_TABLE, &s);
        one->col = schema->n;
        if (one->expr == NULL || !add_column(c, schema, pair->key, one->expr))
            return NULL;
        *link = one;
        link = &one->next;
    }
    return first;
}

bool fm_compute_run(struct fm_compile *c, const struct fm_computed *computed, struct fm_table *t)
{
    for (; computed != NULL; computed = computed->next) {
        for (size_t i = 0; i < t->n; i++) {
            struct at at = { c, t, t->order[i] };
            struct fm_value value = fm_expr_eval(computed->expr, get, &at);
            if (!fm_table_put(t, t->order[i], computed->col, &value))
                return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------- check */

static struct piece *add_piece(struct fm_compile *c, struct piece ***link, const char *text,
                               size_t n)
{
    struct piece *piece = fm_arena_alloc(c->arena, sizeof *piece);

    if (piece == NULL)
        return NULL;
    piece->text = text;
    piece->n = n;
    **link = piece;
    *link = &piece->next;
    return piece;
}

/* EXPR, EXPR:% or EXPR:auto between the braces of a message. */
static bool add_expression(struct fm_compile *c, struct piece ***link,
                           const struct fm_yaml_node *at, const char *text, size_t n)
{
    struct piece *piece = add_piece(c, link, NULL, 0);
    struct fm_scalar s = { .at = at, .text = text, .n = n };

    if (piece == NULL)
        return false;
    if (n > 2 && memcmp(text + n - 2, ":%", 2) == 0) {
        piece->form = '%';
        s.n -= 2;
    } else if (n > 5 && memcmp(text + n - 5, ":auto", 5) == 0) {
        piece->form = 'a';
        s.n -= 5;
    }
    /* ${max} of a parameter, as elsewhere; in expressions it is $max */
    if (c->q != NULL && fm_schema_find(c->schema, s.text, s.n) == FM_NONE
        && fm_param_find(c->q, s.text, s.n) != NULL) {
        s.text = fm_arena_printf(c->arena, "$%.*s", (int)s.n, s.text);
        s.n = s.text == NULL ? 0 : s.n + 1;
    }
    piece->expr = s.text == NULL ? NULL : fm_compile_expr(c, FM_SCOPE_TABLE, &s);
    return piece->expr != NULL;
}

static bool compile_message(struct fm_compile *c, struct fm_check *check,
                            const struct fm_yaml_node *node)
{
    struct piece **link = &check->message;
    size_t from = 0, n = node->n;
    const char *s = node->text;

    if (node->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node, "'message' must be text");
        return false;
    }
    for (size_t i = 0; i + 1 < n; i++) {
        const char *end;
        if (s[i] != '$' || s[i + 1] != '{')
            continue;
        if (i > from && s[i - 1] == '$') { /* $${ is a literal ${ */
            if (i - 1 > from && add_piece(c, &link, s + from, i - 1 - from) == NULL)
                return false;
            from = i;
            continue;
        }
        end = memchr(s + i, '}', n - i);
        if (end == NULL)
            break;
        if (i > from && add_piece(c, &link, s + from, i - from) == NULL)
            return false;
        if (!add_expression(c, &link, node, s + i + 2, (size_t)(end - s) - i - 2))
            return false;
        i = (size_t)(end - s);
        from = i + 1;
    }
    return from >= n || add_piece(c, &link, s + from, n - from) != NULL;
}

static bool compile_min(struct fm_compile *c, const struct fm_yaml_node *node,
                        struct fm_check *check)
{
    struct fm_scalar s = { .at = node };

    if (node->type == FM_YAML_SCALAR) {
        if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
            return false;
        if (s.unknown || fm_text_u64(s.text, s.n, &check->min_rows))
            return true;
    }
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node, "'min_rows' is a number of rows");
    return false;
}

static struct fm_check *compile_one(struct fm_compile *c, const struct fm_yaml_node *node)
{
    static const char *const known[] = { "fail_if", "warn_if", "message", "min_rows" };
    struct fm_check *check = fm_arena_alloc(c->arena, sizeof *check);
    const struct fm_yaml_node *fail, *warn, *message, *min;
    struct fm_scalar s;

    if (check == NULL)
        return NULL;
    fail = fm_yaml_get(node, "fail_if");
    warn = fm_yaml_get(node, "warn_if");
    message = fm_yaml_get(node, "message");
    min = fm_yaml_get(node, "min_rows");
    check->at = fail != NULL ? fail : warn;
    check->fail = fail != NULL;
    if (node->type != FM_YAML_MAP || (fail == NULL) == (warn == NULL)
        || check->at->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node,
                      "a check takes {fail_if: EXPRESSION} or {warn_if: EXPRESSION}");
        return NULL;
    }
    if (!fm_yaml_known(c->log, node, known, FM_COUNT(known), "key"))
        return NULL;
    if (min != NULL && !compile_min(c, min, check))
        return NULL;
    if (!fm_scalar_get(c->q, c->arena, c->log, check->at, &s))
        return NULL;
    check->expr = fm_compile_expr(c, FM_SCOPE_TABLE, &s);
    if (check->expr == NULL || (message != NULL && !compile_message(c, check, message)))
        return NULL;
    return check;
}

struct fm_check *fm_check_compile(struct fm_compile *c, const struct fm_yaml_node *node)
{
    struct fm_check *first = NULL, **link = &first;
    size_t n = node->type == FM_YAML_LIST ? node->n : 1;
    bool ok = true;

    for (size_t i = 0; i < n; i++) {
        *link = compile_one(c, node->type == FM_YAML_LIST ? node->item[i] : node);
        ok = *link != NULL && ok;
        if (*link != NULL)
            link = &(*link)->next;
    }
    if (n == 0)
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_MISSING), node, "'check' has no gates");
    return ok ? first : NULL;
}

/* 3.42, 0.5: what people read in a sentence; tiny ones in full. */
static void write_number(double f, struct fm_out *out)
{
    size_t from = out->n;

    if (f != 0 && f > -0.001 && f < 0.001) {
        fm_out_f64(out, f);
        return;
    }
    fm_out_fixed(out, f, 3);
    while (out->n > from && out->buf[out->n - 1] == '0')
        out->n--;
    if (out->n > from && out->buf[out->n - 1] == '.')
        out->n--;
}

static void write_value(const struct piece *piece, const struct fm_value *value,
                        struct fm_out *out)
{
    const char *unit = piece->form == 'a' ? piece->expr->unit : "";

    if (piece->form == '%' && fm_value_is_number(value)) {
        fm_out_fixed(out, fm_value_as_f64(value) * 100, 2);
        fm_out_char(out, '%');
        return;
    }
    switch (value->type) {
    case FM_NULL:
        fm_out_char(out, '-');
        break;
    case FM_BOOL:
        fm_out_text(out, value->b ? "true" : "false");
        break;
    case FM_TEXT:
        fm_out_bytes(out, value->text.s, value->text.n);
        break;
    case FM_F64:
        if (unit != NULL && *unit != '\0')
            fm_quantity_write(value->f, unit, out);
        else
            write_number(value->f, out);
        break;
    default:
        fm_figure_write(value->type == FM_I64 ? (fm_i128)value->i : (fm_i128)value->u,
                        unit == NULL ? "" : unit, out);
        break;
    }
}

/* Paths are no values of expressions: they are written as they are printed. */
static bool write_path(const struct fm_compile *c, const struct piece *piece, const struct at *at,
                       struct fm_out *out)
{
    const struct fm_operand *o = piece->expr->op == FM_EXPR_REF ? c->operand[piece->expr->ref]
                                                                : NULL;
    const char *text;

    if (o == NULL || o->place != FM_AT_TABLE
        || at->t->schema->column[o->id].type != FM_CELL_PATH
        || fm_table_is_null(at->t, at->row, o->id))
        return false;
    text = fm_cell_text(c->arena, at->t, at->row, o->id);
    fm_out_text(out, text == NULL ? "" : text);
    return true;
}

/* "function malloc, module libc.so": the row by its keys. */
static void write_keys(const struct fm_compile *c, const struct at *at, struct fm_out *out)
{
    const struct fm_schema *schema = at->t->schema;
    const char *text, *comma = "";

    for (size_t k = 0; k < schema->n; k++) {
        if (!schema->column[k].key)
            continue;
        text = fm_cell_text(c->arena, at->t, at->row, k);
        fm_out_printf(out, "%s%s %s", comma, schema->column[k].name,
                      text == NULL || *text == '\0' ? "-" : text);
        comma = ", ";
    }
}

static void tell(struct fm_compile *c, const struct fm_check *check, struct at *at,
                 struct fm_out *out)
{
    out->n = 0;
    for (const struct piece *p = check->message; p != NULL; p = p->next) {
        struct fm_value value;
        if (p->text != NULL) {
            fm_out_bytes(out, p->text, p->n);
            continue;
        }
        if (write_path(c, p, at, out))
            continue;
        value = fm_expr_eval(p->expr, get, at);
        write_value(p, &value, out);
    }
    if (check->message == NULL) {
        fm_out_printf(out, "'%s' holds for ", check->at->text);
        write_keys(c, at, out);
    }
    if (check->fail)
        fm_yaml_error(c->log, check->at, "check failed: %.*s", (int)FM_MIN(out->n, (size_t)400),
                      out->buf);
    else
        fm_yaml_warn(c->log, check->at, "%.*s", (int)FM_MIN(out->n, (size_t)400), out->buf);
}

enum fm_status fm_check_run(struct fm_compile *c, const struct fm_check *check,
                            const struct fm_table *t, struct fm_error *err)
{
    bool failed = false;
    struct fm_out out;

    if (fm_out_init(&out, t->mem, NULL) != FM_OK)
        return fm_error_nomem(err);
    for (; check != NULL; check = check->next) {
        if (t->n < check->min_rows) {
            fm_yaml_error(c->log, check->at, "check failed: %zu rows, at least %llu are needed",
                          t->n, (unsigned long long)check->min_rows);
            failed = true;
        }
        for (size_t i = 0; i < t->n; i++) {
            struct at at = { c, t, t->order[i] };
            struct fm_value value = fm_expr_eval(check->expr, get, &at);
            if (!fm_value_true(&value))
                continue;
            tell(c, check, &at, &out);
            failed |= check->fail;
        }
    }
    fm_out_release(&out);
    if (c->arena->oom)
        return fm_error_nomem(err);
    if (!failed)
        return FM_OK;
    return fm_error_set(err, FM_GATE, "%s", c->log->first.message);
}
