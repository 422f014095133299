/*
 * diff.c - `diff:`, this table against another one: what is new less what was there.
 *
 *     diff: {against: before, key: [function, module], normalize: total, force: false}
 *
 *     key …  status  base.x  new.x  delta.x  ratio.x …  share_delta  significance
 *
 * A full outer join by the texts of the key. delta.x = new.x - base.x; ratio.x = new.x / base.x,
 * null by 0. A row that one table has not counts 0 there, and is "added" or "removed". Only the
 * base is scaled (scale.c), in columns that grow with a recording; ratio.x is of the exact values.
 * Shares are of each side's own selection and never scaled: share_delta is the difference of a
 * measure's share of the selected weight, in percentage points.
 *
 * significance is by sample counts, whatever is scaled: with r = all samples of new / of base,
 *
 *     z = (n_new - r n_base) / sqrt(n_new + r r n_base)
 *
 * how many standard deviations the counts are apart from what one rate for both would give.
 */
#include "query/group.h"
#include "query/plan.h"

#include "util/error.h"

#include <math.h>
#include <stdio.h>

#define NO SIZE_MAX

/* A column of both tables, or of one, and where it goes. */
struct pair {
    size_t base, new;                /* in the two tables; NO */
    size_t at_base, at_new, at_delta, at_ratio, at_share;
};

struct diff {
    const struct fm_yaml_node *at;
    struct fm_pipe *against;
    size_t *base_key, *new_key;
    size_t keys;
    struct pair *pair;
    size_t pairs;
    size_t status, significance;     /* columns of the result; the latter may be NO */
    size_t base_samples, new_samples;
    bool force;
    struct fm_normalize *normalize;
};

/* ----------------------------------------------------------------- compile */

static bool compile_keys(struct fm_pipe *pipe, const struct fm_yaml_node *node, struct diff *diff)
{
    size_t n = node->type == FM_YAML_LIST ? node->n : 1;
    bool ok = true;

    diff->base_key = fm_arena_alloc(pipe->c.arena, (n + 1) * sizeof *diff->base_key);
    diff->new_key = fm_arena_alloc(pipe->c.arena, (n + 1) * sizeof *diff->new_key);
    if (diff->base_key == NULL || diff->new_key == NULL)
        return false;
    for (size_t i = 0; i < n; i++, diff->keys++)
        ok = fm_pipe_both(pipe, diff->against, node->type == FM_YAML_LIST ? node->item[i] : node,
                          "'key'", &diff->new_key[i], &diff->base_key[i]) && ok;
    if (n == 0)
        fm_yaml_error(fm_yaml_as(pipe->c.log, FM_YAML_MISSING), node, "'key' names no column");
    return ok && n > 0;
}

static bool compile_force(struct fm_compile *c, const struct fm_yaml_node *node, struct diff *diff)
{
    struct fm_scalar s = { .at = node };

    if (node == NULL)
        return true;
    if (node->type == FM_YAML_SCALAR) {
        if (!fm_scalar_get(c->q, c->arena, c->log, node, &s))
            return false;
        diff->force = s.n == 4 && memcmp(s.text, "true", 4) == 0;
        if (s.unknown || diff->force || (s.n == 5 && memcmp(s.text, "false", 5) == 0))
            return true;
    }
    fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node, "'force' is true or false");
    return false;
}

static bool is_key(const size_t *key, size_t keys, size_t col)
{
    for (size_t k = 0; k < keys; k++) {
        if (key[k] == col)
            return true;
    }
    return false;
}

static bool is_number(const struct fm_schema_column *col)
{
    return col != NULL
           && (col->untyped || col->type == FM_CELL_INT || col->type == FM_CELL_F64);
}

static bool is_alike(const struct fm_schema_column *a, const struct fm_schema_column *b)
{
    return a->untyped || b->untyped || fm_cells_match(a->type, b->type);
}

/* The pairs of columns: those of new in their order, then what only base has. */
static bool make_pairs(struct fm_arena *arena, const struct fm_schema *base,
                       const struct fm_schema *new, struct diff *diff)
{
    diff->pair = fm_arena_alloc(arena, (base->n + new->n + 1) * sizeof *diff->pair);
    if (diff->pair == NULL)
        return false;
    for (size_t c = 0; c < new->n; c++) {
        const char *name = new->column[c].name;
        uint32_t k = fm_schema_find(base, name, strlen(name));
        if (is_key(diff->new_key, diff->keys, c))
            continue;
        if (k != FM_NONE && (is_key(diff->base_key, diff->keys, k)
                             || !is_alike(&base->column[k], &new->column[c])))
            k = FM_NONE;
        diff->pair[diff->pairs++] = (struct pair){ .base = k == FM_NONE ? NO : k, .new = c };
    }
    for (size_t c = 0; c < base->n; c++) {
        bool met = is_key(diff->base_key, diff->keys, c);
        for (size_t i = 0; i < diff->pairs && !met; i++)
            met = diff->pair[i].base == c;
        if (!met)
            diff->pair[diff->pairs++] = (struct pair){ .base = c, .new = NO };
    }
    return true;
}

/* ----------------------------------------------------------------- schema */

struct describer {
    struct fm_compile *c;
    struct fm_schema *schema;
    bool ok;
};

static size_t add_column(struct describer *d, const char *prefix, const char *name,
                         const struct fm_schema_column *like)
{
    struct fm_schema_column *col = &d->schema->column[d->schema->n];

    *col = *like;
    col->name = col->full = prefix == NULL ? name
                                           : fm_arena_printf(d->c->arena, "%s.%s", prefix, name);
    col->key = col->additive = col->depth = col->indented = false;
    if (col->share && prefix != NULL)
        col->of = fm_arena_printf(d->c->arena, "%s.%s", prefix, like->of);
    d->ok = d->ok && col->name != NULL && (!col->share || col->of != NULL);
    return d->schema->n++;
}

static size_t add_f64(struct describer *d, const char *prefix, const char *name, const char *unit,
                      bool hidden)
{
    struct fm_schema_column like = { .unit = unit, .type = FM_CELL_F64, .hidden = hidden };

    return add_column(d, prefix, name, &like);
}

static bool is_samples(const struct fm_schema_column *col)
{
    return strcmp(col->name, "samples") == 0 && col->type == FM_CELL_INT && col->unit[0] == '\0';
}

/* The columns of a pair; shares and counts of samples are for programs. */
static void describe_pair(struct describer *d, struct pair *p, const struct fm_schema *base,
                          const struct fm_schema *new, bool *first)
{
    const struct fm_schema_column *a = p->base == NO ? NULL : &base->column[p->base];
    const struct fm_schema_column *b = p->new == NO ? NULL : &new->column[p->new];
    struct fm_schema_column like = b != NULL ? *b : *a;
    bool numbers = is_number(a) && is_number(b);

    if (a != NULL && a->type == FM_CELL_F64)
        like.type = FM_CELL_F64;
    like.hidden |= like.share || is_samples(&like);
    p->at_base = p->at_new = p->at_delta = p->at_ratio = p->at_share = NO;
    if (a != NULL)
        p->at_base = add_column(d, "base", like.name, &like);
    if (b != NULL)
        p->at_new = add_column(d, "new", like.name, &like);
    if (!numbers)
        return;
    p->at_delta = add_column(d, "delta", like.name, &like);
    if (like.share)
        d->schema->column[p->at_delta].of = "either side";
    p->at_ratio = add_f64(d, "ratio", like.name, "", true);
    if (!like.amount || like.share || strcmp(like.unit, d->c->unit) != 0 || is_samples(&like))
        return;
    p->at_share = add_f64(d, "share_delta", like.name, "pp", !*first);
    if (*first)
        d->schema->column[p->at_share].name = "share_delta";
    *first = false;
}

static bool describe(struct fm_compile *c, struct diff *diff, struct fm_schema *schema)
{
    static const struct fm_schema_column status = { .unit = "", .type = FM_CELL_TEXT };
    const struct fm_schema *base = diff->against->schema, new = *schema;
    struct describer d = { .c = c, .schema = schema, .ok = true };
    bool first = true;

    schema->cap = diff->keys + 5 * (base->n + new.n) + 2;
    schema->column = fm_arena_alloc(c->arena, schema->cap * sizeof *schema->column);
    if (schema->column == NULL || !make_pairs(c->arena, base, &new, diff))
        return false;
    schema->n = 0;
    for (size_t k = 0; k < diff->keys; k++) {
        schema->column[schema->n] = new.column[diff->new_key[k]];
        schema->column[schema->n].hidden = false;
        schema->column[schema->n++].key = true;
    }
    diff->status = add_column(&d, NULL, "status", &status);
    diff->base_samples = diff->new_samples = diff->significance = NO;
    for (size_t i = 0; i < diff->pairs; i++) {
        struct pair *p = &diff->pair[i];
        describe_pair(&d, p, base, &new, &first);
        if (p->base == NO || p->new == NO || !is_samples(&new.column[p->new])
            || !is_samples(&base->column[p->base]))
            continue;
        diff->base_samples = p->base;
        diff->new_samples = p->new;
    }
    if (diff->base_samples != NO)
        diff->significance = add_f64(&d, NULL, "significance", "", false);
    return d.ok;
}

/* Before the columns of both tables are known: those of the key. */
static bool describe_open(struct fm_compile *c, struct fm_schema *schema)
{
    (void)c;
    schema->n = 0;
    schema->open = true;
    return true;
}

void *fm_diff_compile(struct fm_pipe *pipe, struct fm_step *step, struct fm_schema *schema)
{
    static const char *const known[] = { "against", "key", "normalize", "force" };
    const struct fm_yaml_node *node = step->at->value, *against, *key;
    struct fm_compile *c = &pipe->c;
    struct diff *diff = fm_arena_alloc(c->arena, sizeof *diff);

    if (diff == NULL)
        return NULL;
    if (node->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), node,
                      "'diff' takes {against: LET, key: [COLUMN …]}");
        return NULL;
    }
    if (!fm_yaml_known(c->log, node, known, FM_COUNT(known), "key"))
        return NULL;
    against = fm_yaml_get(node, "against");
    key = fm_yaml_get(node, "key");
    if (against == NULL || key == NULL) {
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_MISSING), node, "'diff' has no '%s'",
                      against == NULL ? "against" : "key");
        return NULL;
    }
    diff->at = against;
    diff->against = fm_pipe_need(pipe, step, against, FM_SHAPE_TABLE, "'against'");
    if (diff->against == NULL || !compile_keys(pipe, key, diff)
        || !compile_force(c, fm_yaml_get(node, "force"), diff))
        return NULL;
    diff->normalize = fm_normalize_compile(pipe, diff->against, fm_yaml_get(node, "normalize"));
    if (diff->normalize == NULL)
        return NULL;
    if (schema->open || diff->against->schema->open)
        return describe_open(c, schema) ? diff : NULL;
    return describe(c, diff, schema) ? diff : NULL;
}

/* --------------------------------------------------------------------- run */

struct differ {
    struct fm_flow *flow;
    const struct diff *diff;
    const struct fm_table *base, *new;
    struct fm_table *to;
    struct fm_scale scale;
    fm_str status[3];                /* removed, added, both */
};

static const char *new_name(const struct fm_pipe *pipe)
{
    if (pipe->let != NULL)
        return pipe->let->key;
    return pipe->source != NULL ? pipe->source->let->key : pipe->q->name;
}

static enum fm_status unlike(struct differ *x, const char *what, const char *base, const char *new,
                             struct fm_error *err)
{
    struct fm_yaml_log *log = x->flow->c->log;

    fm_yaml_error(fm_yaml_as(log, FM_YAML_UNIT), x->diff->at,
                  "the two tables are of different %s: '%s' in base, '%s' in new", what, base,
                  new);
    fm_yaml_note(log, "force: true compares them all the same");
    return fm_error_set(err, FM_CONFIG, "%s", log->first.message);
}

/* Figures of different things are not compared unknowingly. */
static enum fm_status check_alike(struct differ *x, struct fm_error *err)
{
    const struct fm_table *a = x->base, *b = x->new;
    char base[24], new[24];

    if (x->diff->force)
        return FM_OK;
    if (strcmp(a->event, b->event) != 0)
        return unlike(x, "events", a->event, b->event, err);
    if (strcmp(a->weigh, b->weigh) != 0)
        return unlike(x, "weights", a->weigh, b->weigh, err);
    if (strcmp(a->unit, b->unit) != 0)
        return unlike(x, "units", a->unit, b->unit, err);
    if (a->period == b->period || a->period == 0 || b->period == 0)
        return FM_OK;
    snprintf(base, sizeof base, "%llu", (unsigned long long)a->period);
    snprintf(new, sizeof new, "%llu", (unsigned long long)b->period);
    return unlike(x, "sampling periods", base, new, err);
}

/* Two rows of a table that the key does not tell apart. */
static enum fm_status check_once(struct differ *x, const struct fm_lookup *rows, const char *side,
                                 struct fm_error *err)
{
    struct fm_compile *c = x->flow->c;

    for (size_t i = 0; i < rows->t->n; i++) {
        uint32_t row = rows->t->order[i];
        const char *text;
        if (fm_lookup_next(rows, row) == FM_NONE)
            continue;
        text = fm_cell_text(c->arena, rows->t, row, rows->col[0]);
        fm_yaml_error(fm_yaml_as(c->log, FM_YAML_TYPE), x->diff->at,
                      "several rows of %s have the key '%s': it needs more columns", side,
                      text == NULL ? "" : text);
        return fm_error_set(err, FM_CONFIG, "%s", c->log->first.message);
    }
    return FM_OK;
}

/* A number of a table; 0 when the row is missing there. */
static struct fm_number number(const struct fm_table *t, uint32_t row, size_t col)
{
    if (row == FM_NONE)
        return (struct fm_number){ .there = true };
    return fm_table_number(t, row, col);
}

static void put(struct fm_table *to, uint32_t row, size_t col, const struct fm_number *n)
{
    if (col == NO || !n->there)
        return;
    if (to->schema->column[col].type == FM_CELL_F64)
        fm_table_f64(to, row, col, n->f);
    else
        fm_table_int(to, row, col, n->i);
}

/* 100 (b / to - a / from), of whole numbers where they fit. */
static void put_share(struct differ *x, uint32_t row, const struct pair *p,
                      const struct fm_number *a, const struct fm_number *b)
{
    fm_i128 from = x->base->selected, to = x->new->selected, up, down, by;
    bool whole = x->to->schema->column[p->at_delta].type == FM_CELL_INT;

    if (from == 0 || to == 0)
        return;
    whole = !__builtin_mul_overflow(b->i, from, &up) && !__builtin_mul_overflow(a->i, to, &down)
            && !__builtin_mul_overflow(from, to, &by)
            && !__builtin_mul_overflow(up - down, (fm_i128)100, &up) && whole;
    fm_table_f64(x->to, row, p->at_share,
                 whole ? (double)up / (double)by
                       : 100 * (b->f / (double)to - a->f / (double)from));
}

static void put_pair(struct differ *x, const struct pair *p, uint32_t row, uint32_t base,
                     uint32_t new)
{
    struct fm_number a = number(x->base, base, p->base), b = number(x->new, new, p->new);
    struct fm_number delta = { .there = a.there && b.there };

    if (p->at_share != NO && delta.there)
        put_share(x, row, p, &a, &b);
    if (x->new->schema->column[p->new].amount) {
        a.i = fm_scale_int(&x->scale, a.i);
        a.f *= x->scale.by;
    }
    if (delta.there && a.f != 0)
        fm_table_f64(x->to, row, p->at_ratio, b.f / a.f);
    delta.i = b.i - a.i;
    delta.f = b.f - a.f;
    put(x->to, row, p->at_base, &a);
    put(x->to, row, p->at_new, &b);
    put(x->to, row, p->at_delta, &delta);
}

static void put_significance(struct differ *x, uint32_t row, uint32_t base, uint32_t new)
{
    const struct diff *diff = x->diff;
    struct fm_number a = number(x->base, base, diff->base_samples);
    struct fm_number b = number(x->new, new, diff->new_samples);
    double r, deviation;

    if (!a.there || !b.there || x->base->samples == 0)
        return;
    r = (double)x->new->samples / (double)x->base->samples;
    deviation = sqrt(b.f + r * r * a.f);
    if (deviation > 0)
        fm_table_f64(x->to, row, diff->significance, (b.f - r * a.f) / deviation);
}

/* A row of the result; either may be FM_NONE. */
static bool add_row(struct differ *x, uint32_t base, uint32_t new)
{
    const struct diff *diff = x->diff;
    uint32_t row = fm_table_add(x->to);
    bool ok = row != FM_NONE;

    for (size_t k = 0; ok && k < diff->keys; k++)
        ok = new != FM_NONE ? fm_cell_copy(x->to, row, k, x->new, new, diff->new_key[k])
                            : fm_cell_copy(x->to, row, k, x->base, base, diff->base_key[k]);
    if (!ok)
        return false;
    fm_table_id(x->to, row, diff->status,
                x->status[base == FM_NONE ? 1 : new == FM_NONE ? 0 : 2]);
    for (size_t i = 0; ok && i < diff->pairs; i++) {
        const struct pair *p = &diff->pair[i];
        if (p->at_delta != NO) {
            put_pair(x, p, row, base, new);
            continue;
        }
        if (p->at_base != NO && base != FM_NONE)
            ok = fm_cell_copy(x->to, row, p->at_base, x->base, base, p->base);
        if (ok && p->at_new != NO && new != FM_NONE)
            ok = fm_cell_copy(x->to, row, p->at_new, x->new, new, p->new);
    }
    if (ok && diff->significance != NO)
        put_significance(x, row, base, new);
    return ok;
}

static enum fm_status add_rows(struct differ *x, const struct fm_lookup *base,
                               const struct fm_lookup *new, struct fm_error *err)
{
    bool ok = true;

    for (size_t i = 0; ok && i < x->new->n; i++)
        ok = add_row(x, fm_lookup_find(base, x->new, x->diff->new_key, x->new->order[i]),
                     x->new->order[i]);
    for (size_t i = 0; ok && i < x->base->n; i++) {
        uint32_t row = x->base->order[i];
        if (fm_lookup_find(new, x->base, x->diff->base_key, row) == FM_NONE)
            ok = add_row(x, row, FM_NONE);
    }
    return ok ? FM_OK : fm_error_nomem(err);
}

/* "after (new.data)" where the tables are of different inputs. */
static const char *side_text(struct differ *x, const char *name, const struct fm_table *t)
{
    struct fm_store *store = t->store;

    if (x->base->store == x->new->store || fm_store_sources(store) == 0)
        return name;
    return fm_arena_printf(x->flow->c->arena, "%s (%s)", name,
                           fm_store_str(store, fm_store_source_row(store, 0)->name, NULL));
}

static bool make_head(struct differ *x)
{
    const char *base = side_text(x, x->diff->against->let->key, x->base);
    const char *new = side_text(x, new_name(x->flow->pipe), x->new);
    const char *scaled = fm_normalize_text(x->diff->normalize, &x->scale, x->flow->c->arena);
    struct fm_arena *arena = x->flow->c->arena;
    struct fm_out out;

    if (base == NULL || new == NULL || scaled == NULL
        || fm_out_init(&out, x->to->mem, NULL) != FM_OK)
        return false;
    fm_out_printf(&out, "diff: new - base; new is %s, base is %s\nbase: ", new, base);
    fm_out_u64(&out, x->base->samples);
    fm_out_text(&out, " samples, selected ");
    fm_figure_write(x->base->selected, x->base->unit, &out);
    fm_out_text(&out, ", new: ");
    fm_out_u64(&out, x->new->samples);
    fm_out_text(&out, " samples, selected ");
    fm_figure_write(x->new->selected, x->new->unit, &out);
    fm_out_printf(&out, "; base is %s", scaled);
    x->to->note = out.status == FM_OK ? fm_arena_strn(arena, out.buf, out.n) : NULL;
    fm_out_release(&out);
    x->to->base = NULL;
    x->to->bases = 0;
    return x->to->note != NULL && fm_table_bases(x->to, x->base, "base", arena)
           && fm_table_bases(x->to, x->new, "new", arena);
}

static bool make_texts(struct differ *x)
{
    static const char *const text[] = { "removed", "added", "both" };
    bool ok = true;

    for (size_t i = 0; i < FM_COUNT(text); i++) {
        x->status[i] = fm_store_str_add(x->to->store, text[i], strlen(text[i]));
        ok = ok && x->status[i] != FM_NONE;
    }
    return ok;
}

enum fm_status fm_diff_run(struct fm_flow *flow, const struct fm_step *step, struct fm_error *err)
{
    const struct diff *diff = step->object;
    struct differ x = { .flow = flow, .diff = diff, .new = &flow->table,
                        .base = &diff->against->flow->table };
    struct fm_lookup base = { .t = NULL }, new = { .t = NULL };
    struct fm_table to;
    enum fm_status status = check_alike(&x, err);

    if (status != FM_OK)
        return status;
    fm_flow_like(flow, step, &to);
    x.to = &to;
    x.scale = fm_normalize_run(diff->normalize, flow->c, x.base, x.new);
    if (!fm_lookup_init(&base, x.base, diff->base_key, diff->keys)
        || !fm_lookup_init(&new, x.new, diff->new_key, diff->keys) || !make_texts(&x)
        || !make_head(&x))
        status = fm_error_nomem(err);
    if (status == FM_OK)
        status = check_once(&x, &base, "base", err);
    if (status == FM_OK)
        status = check_once(&x, &new, "new", err);
    if (status == FM_OK)
        status = add_rows(&x, &base, &new, err);
    fm_lookup_release(&base);
    fm_lookup_release(&new);
    if (status == FM_OK)
        fm_flow_replace(flow, &to);
    else
        fm_table_release(&to);
    return status;
}
