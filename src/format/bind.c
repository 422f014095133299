/*
 * bind.c - rules x declared classes -> moves.
 *
 * A class takes every rule that matches its name, in order, up to the first one without `when`; an
 * event goes to the first of them whose `when` holds. What can be decided when the class is
 * declared is decided then: has(field), constant event names, and which fields are plain copies.
 */
#include "format/binding.h"

#include "util/error.h"
#include "util/out.h"
#include "util/text.h"

struct binder {
    struct fm_binding *b;
    struct fm_bound *class;
    struct fm_eval eval;           /* of an event without any field, for constant folding */
    uint64_t *none;                /* `present` of that event */
    size_t words;
    uint64_t period;
    bool oom;
};

/* ------------------------------------------------------------------ life */

enum fm_status fm_binding_new(const struct fm_mapping *mapping, struct fm_builder *builder,
                              const char *keep, struct fm_binding **binding, struct fm_error *err)
{
    struct fm_mem *mem = &fm_builder_ctx(builder)->mem;
    struct fm_binding *b = fm_mem_zalloc(mem, sizeof *b);
    *binding = NULL;
    if (!b)
        return fm_error_nomem(err);
    b->m = mapping;
    b->builder = builder;
    b->mem = mem;
    b->offset = FM_NO_OFFSET;
    b->last_thread = FM_NONE;
    fm_arena_init(&b->arena, mem);
    fm_map_init(&b->splits, mem);
    for (size_t i = 0; i < mapping->aliases; i++)
        fm_builder_alias(builder, mapping->alias[i].name, mapping->alias[i].list);
    for (size_t i = 0; i < mapping->deriveds; i++) {
        const struct fm_rule_derived *d = &mapping->derived[i];
        fm_builder_derived_event(builder, d->name, d->event, d->unless, d->key);
    }
    if (keep && !(b->keep = fm_arena_str(&b->arena, keep))) {
        fm_binding_free(b);
        return fm_error_nomem(err);
    }
    struct fm_source *source = fm_builder_source_row(builder);
    if (source && source->clock == FM_CLOCK_UNKNOWN && !mapping->clock_file)
        source->clock = mapping->clock;
    *binding = b;
    return FM_OK;
}

void fm_binding_free(struct fm_binding *b)
{
    if (!b)
        return;
    if (b->m->report)
        fm_binding_report(b, b->m->report);
    fm_map_release(&b->splits);
    for (size_t i = 0; i < b->classes; i++)
        for (size_t k = 0; k < b->class[i].rules; k++)
            fm_map_release(&b->class[i].rule[k].events);
    if (b->class)
        fm_mem_free(b->mem, b->class, b->class_cap * sizeof *b->class);
    if (b->label)
        fm_mem_free(b->mem, b->label, b->label_cap * sizeof *b->label);
    if (b->scratch)
        fm_mem_free(b->mem, b->scratch, b->scratch_cap);
    fm_arena_release(&b->arena);
    fm_mem_free(b->mem, b, sizeof *b);
}

void fm_binding_named(struct fm_binding *b, fm_binding_named_fn *find, const void *user)
{
    b->named = find;
    b->named_user = user;
}

void fm_binding_account(struct fm_binding *binding, bool on)
{
    binding->accounts = on;
}

void fm_binding_at(struct fm_binding *binding, uint64_t offset)
{
    binding->offset = offset;
}

/* ------------------------------------------------------------------ events and labels */

uint32_t fm_binding_event(struct fm_binding *b, const struct fm_bound_rule *r, const char *name,
                          size_t n, const char *unit, size_t unit_n)
{
    const struct fm_mapping *m = b->m;
    const struct fm_rule *rule = r->rule;
    /* The builder takes terminated texts. */
    char *text = fm_arena_strn(&b->arena, name, n);
    char *unit_text = fm_arena_strn(&b->arena, unit, unit_n);
    if (!text || !unit_text)
        return FM_NONE;
    const char *metric = r->metric ? r->metric : text, *as;
    uint32_t event = fm_builder_event_metric(b->builder, text, metric, unit_text, rule->kind);
    struct fm_event *row = event == FM_NONE ? NULL : fm_builder_event_row(b->builder, event);
    if (!row)
        return FM_NONE;
    const char *prepend = rule->prepend ? rule->prepend : m->prepend;
    const char *append = rule->append ? rule->append : m->append;
    row->prepend = fm_builder_str(b->builder, prepend, strlen(prepend));
    row->append = fm_builder_str(b->builder, append, strlen(append));
    row->default_rank = fm_default_rank(m, text, metric, &as);
    row->default_as = as ? fm_builder_str(b->builder, as, strlen(as)) : 0;
    if (rule->base_of)
        row->base_of = fm_builder_str(b->builder, rule->base_of, strlen(rule->base_of));
    row->value_is_f64 |= r->value_is_f64;
    if (row->period == 0)
        row->period = r->period;
    return event;
}

/* The user's list: "a,b" or "all". */
static bool kept(const struct fm_binding *b, const char *name)
{
    const char *s = b->keep;
    size_t n = strlen(name);
    while (s && *s) {
        const char *end = strchr(s, ',');
        size_t len = end ? (size_t)(end - s) : strlen(s);
        if ((len == 3 && memcmp(s, "all", 3) == 0) || (len == n && memcmp(s, name, n) == 0))
            return true;
        s = end ? end + 1 : NULL;
    }
    return false;
}

/* The column of a label; *type becomes that of the column, which the first user decides. */
static fm_column label_column(struct binder *w, const char *name, enum fm_type *type, bool asked)
{
    struct fm_binding *b = w->b;
    for (size_t i = 0; i < b->labels; i++) {
        if (strcmp(b->label[i].name, name) == 0) {
            *type = b->label[i].type;
            return b->label[i].column;
        }
    }
    fm_column column = fm_builder_label(b->builder, name, *type, asked);
    for (int t = 0; column == FM_NONE && t <= FM_TYPE_THREAD; t++) {
        column = fm_builder_label(b->builder, name, (enum fm_type)t, asked);
        if (column != FM_NONE)
            *type = (enum fm_type)t;
    }
    if (column == FM_NONE ||
        !fm_grow(b->mem, (void **)&b->label, &b->label_cap, b->labels + 1, sizeof *b->label)) {
        w->oom = true;
        return FM_NONE;
    }
    b->label[b->labels++] = (struct fm_label_column){name, *type, column};
    return column;
}

/* ------------------------------------------------------------------ fields that a rule reads */

static void want_field(struct binder *w, uint32_t name)
{
    struct fm_bound *c = w->class;
    uint16_t f = c->index[name];
    if (f != FM_NO_FIELD) {
        c->wanted[f >> 6] |= UINT64_C(1) << (f & 63);
        return;
    }
    const char *text = w->b->m->field_name[name];
    for (size_t i = 0; i < c->missings; i++)
        if (strcmp(c->missing[i], text) == 0)
            return;
    char **more = fm_arena_alloc(&w->b->arena, (c->missings + 1) * sizeof *more);
    char *copy = fm_arena_str(&w->b->arena, text);
    if (!more || !copy) {
        w->oom = true;
        return;
    }
    if (c->missings)
        memcpy(more, c->missing, c->missings * sizeof *more);
    more[c->missings++] = copy;
    c->missing = more;
}

static void want_node(void *user, const struct fm_expr *node)
{
    if (node->op == FM_EXPR_REF && node->ref < FM_MAPPING_NAMES)
        want_field(user, node->ref);
}

/* has(f) reads no field: it is walked by hand so that its argument does not count. */
static void want(struct binder *w, const struct fm_expr *e)
{
    if (!e || (e->op == FM_EXPR_CALL && e->ref == FM_CALL_HAS))
        return;
    for (size_t i = 0; i < e->args; i++)
        want(w, e->arg[i]);
    want_node(w, e);
}

struct constness {
    const struct fm_bound *class;
    bool constant;
};

static void check_constant(struct constness *k, const struct fm_expr *e)
{
    bool has = e->op == FM_EXPR_CALL && e->ref == FM_CALL_HAS;
    if (e->op == FM_EXPR_REF && e->ref < FM_MAPPING_NAMES &&
        k->class->index[e->ref] != FM_NO_FIELD)
        k->constant = false;
    if (e->op == FM_EXPR_REF && (e->ref == FM_REF_EACH || e->ref == FM_REF_KEY))
        k->constant = false;
    for (size_t i = 0; i < e->args && !has; i++)
        check_constant(k, e->arg[i]);
}

/* True when no field of this class can change the value: *v is it then. */
static bool constant_value(struct binder *w, const struct fm_expr *e, struct fm_value *v)
{
    struct constness k = {w->class, true};
    check_constant(&k, e);
    if (k.constant)
        *v = fm_eval_run(&w->eval, e);
    return k.constant;
}

/* ------------------------------------------------------------------ moves */

static const struct fm_field *plain_field(const struct binder *w, const struct fm_expr *e,
                                          uint16_t *index)
{
    if (e->op != FM_EXPR_REF || e->ref >= FM_MAPPING_NAMES)
        return NULL;
    *index = w->class->index[e->ref];
    return *index == FM_NO_FIELD ? NULL : &w->class->field[*index];
}

static bool is_count(enum fm_type t)
{
    return t == FM_TYPE_U64 || t == FM_TYPE_BYTES || t == FM_TYPE_ADDRESS || t == FM_TYPE_BOOL;
}

static bool is_signed(enum fm_type t)
{
    return t == FM_TYPE_I64 || t == FM_TYPE_TIME || t == FM_TYPE_DUR;
}

/* How a field reaches a column: as it is, as it is unless negative, or by conversion. */
enum route { ROUTE_PLAIN, ROUTE_CHECKED, ROUTE_SLOW };

static enum route route(enum fm_type from, enum fm_type to, int64_t scale)
{
    if (scale != 1)
        return ROUTE_SLOW;
    if (from == to || (is_count(from) && is_count(to) && to != FM_TYPE_BOOL) ||
        (is_signed(from) && is_signed(to)))
        return ROUTE_PLAIN;
    if (is_signed(from) && is_count(to) && to != FM_TYPE_BOOL)
        return ROUTE_CHECKED;
    if (is_count(from) && is_signed(to))
        return ROUTE_CHECKED;      /* above INT64_MAX it would be negative */
    return ROUTE_SLOW;
}

static int64_t unit_scale(const char *unit)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"ns", 1},           {"us", 1000},      {"ms", 1000000},
                 {"s", 1000000000},   {"\xc2\xb5s", 1000}, {"min", 60000000000}};
    for (size_t i = 0; i < FM_COUNT(units); i++)
        if (strcmp(units[i].name, unit) == 0)
            return units[i].ns;
    return 0;
}

/* ns per unit of a value that goes to a time column. */
static int64_t time_scale(const struct binder *w, const struct fm_expr *e, enum fm_type to)
{
    uint16_t i;
    const struct fm_field *f = plain_field(w, e, &i);
    if (to != FM_TYPE_TIME && to != FM_TYPE_DUR)
        return 1;
    int64_t own = f && f->unit && f->unit[0] ? unit_scale(f->unit) : 0;
    if (own)
        return own;
    if (f && (f->type == FM_TYPE_TIME || f->type == FM_TYPE_DUR))
        return 1;
    return w->b->m->clock_scale ? w->b->m->clock_scale : 1;
}

/* Room for every move that a rule can have. */
static bool make_room(struct binder *w, struct fm_bound_rule *r)
{
    size_t n = FM_SLOTS + 2 + r->rule->labels + w->class->fields;
    r->plain = fm_arena_alloc(&w->b->arena, n * sizeof *r->plain);
    r->checked = fm_arena_alloc(&w->b->arena, n * sizeof *r->checked);
    r->slow = fm_arena_alloc(&w->b->arena, n * sizeof *r->slow);
    r->ready = fm_arena_alloc(&w->b->arena, sizeof *r->ready);
    if (r->ready)
        *r->ready = (struct fm_ready){.fields = UINT64_MAX,     /* of no event */
                                      .move = fm_arena_alloc(&w->b->arena, n * sizeof *r->plain)};
    return r->plain && r->checked && r->slow && r->ready && r->ready->move;
}

static void add_move(struct binder *w, struct fm_bound_rule *r, const struct fm_expr *e,
                     fm_column column, enum fm_type type)
{
    uint16_t field;
    const struct fm_field *f = plain_field(w, e, &field);
    bool absent = e->op == FM_EXPR_REF && e->ref < FM_MAPPING_NAMES && !f;
    want(w, e);
    if (absent && column != FM_COL_WEIGHT && column != FM_COL_VALUE)
        return;                    /* the class has no such field: the column stays empty */
    int64_t scale = time_scale(w, e, type);
    enum route way = f ? route(f->type, type, scale) : ROUTE_SLOW;
    struct fm_move move = {column, field};
    if (way == ROUTE_PLAIN)
        r->plain[r->plains++] = move;
    else if (way == ROUTE_CHECKED)
        r->checked[r->checkeds++] = move;
    else
        r->slow[r->slows++] = (struct fm_slow){e, column, type, scale};
}

static void bind_slots(struct binder *w, struct fm_bound_rule *r)
{
    static const struct {
        fm_column column;
        enum fm_type type;
    } target[FM_SLOTS] = {
        [FM_SLOT_TIME] = {FM_COL_TS, FM_TYPE_TIME},
        [FM_SLOT_DUR] = {FM_COL_DUR, FM_TYPE_DUR},
        [FM_SLOT_WEIGHT] = {FM_COL_WEIGHT, FM_TYPE_U64},
        [FM_SLOT_COUNT] = {FM_COL_COUNT, FM_TYPE_U64},
        [FM_SLOT_VALUE] = {FM_COL_VALUE, FM_TYPE_I64},
        [FM_SLOT_CPU] = {FM_COL_CPU, FM_TYPE_I64},
        [FM_SLOT_NAME] = {FM_COL_NAME, FM_TYPE_STRING},
        [FM_SLOT_CATEGORY] = {FM_COL_CATEGORY, FM_TYPE_STRING},
        [FM_SLOT_COMM] = {FM_COL_COMM, FM_TYPE_STRING},
    };
    const struct fm_rule *rule = r->rule;
    for (size_t i = 0; i < FM_SLOT_PERIOD; i++) {
        if (!rule->slot[i])
            continue;
        enum fm_type type = target[i].type;
        if (i == FM_SLOT_VALUE && r->value_is_f64)
            type = FM_TYPE_F64;
        add_move(w, r, rule->slot[i], target[i].column, type);
    }
    struct fm_value one;
    const struct fm_expr *weight = rule->slot[FM_SLOT_WEIGHT];
    if (weight && constant_value(w, weight, &one) && one.type == FM_I64 && one.i == 1) {
        r->one = true;
        r->slows -= r->slows && r->slow[r->slows - 1].column == FM_COL_WEIGHT;
    } else if (!weight) {
        r->weight_is_dur = (rule->kind == FM_KIND_ASYNC || rule->kind == FM_KIND_STATE) &&
                           rule->slot[FM_SLOT_DUR];
        r->weight_is_count = rule->kind == FM_KIND_SAMPLE && rule->slot[FM_SLOT_COUNT];
        r->one = rule->kind == FM_KIND_SAMPLE && !r->weight_is_count;
    }
}

/* The user's word for a field "args.X": itself, arg.X, label.X or X. */
static bool kept_many(const struct binder *w, const char *field, const char *name)
{
    static const char *const scope[] = {"arg.", "label."};
    bool found = kept(w->b, field) || kept(w->b, name);
    for (size_t i = 0; i < FM_COUNT(scope) && !found && w->b->keep; i++) {
        char *word = fm_arena_printf(&w->b->arena, "%s%s", scope[i], name);
        found = word && kept(w->b, word);
    }
    return found;
}

/* A label for every field that begins as the rule says. */
static void bind_many(struct binder *w, struct fm_bound_rule *r, const struct fm_rule_label *label)
{
    struct fm_bound *c = w->class;
    for (size_t f = 0; f < c->fields; f++) {
        const char *name = c->field[f].name + label->prefix;
        if (strncmp(c->field[f].name, label->name, label->prefix) != 0 || *name == '\0')
            continue;
        bool wanted = !label->asked || kept_many(w, c->field[f].name, name);
        enum fm_type type = c->field[f].type;
        fm_column column = label_column(w, name, &type, !wanted);
        enum route way = route(c->field[f].type, type, 1);
        if (!wanted || column == FM_NONE || way == ROUTE_SLOW)
            continue;              /* the column has another type by another class */
        struct fm_move move = {column, (uint32_t)f};
        if (way == ROUTE_PLAIN)
            r->plain[r->plains++] = move;
        else
            r->checked[r->checkeds++] = move;
        c->wanted[f >> 6] |= UINT64_C(1) << (f & 63);
    }
}

static void bind_labels(struct binder *w, struct fm_bound_rule *r)
{
    for (size_t i = 0; i < r->rule->labels; i++) {
        const struct fm_rule_label *label = &r->rule->label[i];
        uint16_t field;
        if (label->prefix > 0) {
            bind_many(w, r, label);
            continue;
        }
        if (label->hidden)
            continue;
        const struct fm_field *f = plain_field(w, label->expr, &field);
        enum fm_type type = label->typed ? label->type : f ? f->type : FM_TYPE_STRING;
        if (!label->typed && !f)
            continue;              /* a field that the class lacks */
        bool wanted = !label->asked || kept(w->b, label->name);
        /* A column that is not imported is known all the same: asking for it names the option. */
        fm_column column = label_column(w, label->name, &type, !wanted);
        if (wanted && column != FM_NONE)
            add_move(w, r, label->expr, column, type);
    }
}

static bool value_is_f64(const struct binder *w, const struct fm_rule *rule)
{
    const struct fm_expr *e = rule->slot[FM_SLOT_VALUE];
    uint16_t field;
    if (!e)
        return false;
    if (e->op == FM_EXPR_REF && e->ref == FM_REF_EACH) {
        for (size_t i = 0; i < rule->eachs; i++) {
            field = w->class->index[rule->each[i]];
            if (field != FM_NO_FIELD && w->class->field[field].type == FM_TYPE_F64)
                return true;
        }
        return false;
    }
    const struct fm_field *f = plain_field(w, e, &field);
    if (!f)
        return e->op != FM_EXPR_CONST || e->value.type == FM_F64;
    return f->type == FM_TYPE_F64 || f->type == FM_TYPE_STRING;
}

/* A template without fields: its text in b->scratch. */
static bool constant_template(struct binder *w, const struct fm_template *t, size_t *n)
{
    struct fm_value v;
    for (size_t i = 0; i < t->parts; i++)
        if (!constant_value(w, t->part[i], &v))
            return false;
    if (!fm_eval_template(&w->eval, t, n))
        w->oom = true;
    return !w->oom;
}

/* The unit when the rule gives none: that of the weight's (or value's) field. */
static const char *natural_unit(const struct binder *w, const struct fm_bound_rule *r)
{
    const struct fm_rule *rule = r->rule;
    const struct fm_expr *e =
        rule->slot[rule->kind == FM_KIND_COUNTER ? FM_SLOT_VALUE : FM_SLOT_WEIGHT];
    uint16_t field;
    const struct fm_field *f = e ? plain_field(w, e, &field) : NULL;
    if (e && !f && e->unit && e->unit[0])
        return e->unit;
    if (f && f->unit && f->unit[0])
        return f->unit;
    if (f && f->type == FM_TYPE_BYTES)
        return "bytes";
    if ((f && f->type == FM_TYPE_DUR) || r->weight_is_dur || rule->kind == FM_KIND_SPAN)
        return "ns";
    return rule->kind == FM_KIND_COUNTER ? "" : "count";
}

static void bind_event(struct binder *w, struct fm_bound_rule *r)
{
    struct fm_binding *b = w->b;
    const struct fm_rule *rule = r->rule;
    struct fm_value period;
    size_t n;
    r->event = FM_NONE;
    r->period = w->period;
    if (rule->metric.parts && constant_template(w, &rule->metric, &n)) {
        r->metric = fm_arena_strn(&b->arena, b->scratch, n);
        w->oom |= !r->metric;
    }
    if (rule->slot[FM_SLOT_PERIOD]) {
        want(w, rule->slot[FM_SLOT_PERIOD]);
        uint64_t lane;
        bool null;
        if (constant_value(w, rule->slot[FM_SLOT_PERIOD], &period) &&
            fm_eval_lane(&w->eval, &period, FM_TYPE_U64, 1, &lane, &null))
            r->period = lane;
    }
    const char *unit = natural_unit(w, r);
    if (rule->unit.parts) {
        if (constant_template(w, &rule->unit, &n)) {
            unit = fm_arena_strn(&b->arena, b->scratch, n);
            w->oom |= !unit;
        } else {
            r->unit_computed = true;
        }
    }
    for (size_t i = 0; i < rule->unit.parts; i++)
        want(w, rule->unit.part[i]);
    for (size_t i = 0; i < rule->event.parts; i++)
        want(w, rule->event.part[i]);
    if (w->oom)
        return;
    r->unit = fm_builder_str(b->builder, unit, strlen(unit));
    if (r->unit_computed || !constant_template(w, &rule->event, &n))
        return;
    r->late = r->when != NULL || w->class->rules > 0;
    if (r->late)
        return;
    r->event = fm_binding_event(b, r, b->scratch, n, unit, strlen(unit));
    w->oom |= r->event == FM_NONE;
}

static void bind_more(struct binder *w, struct fm_bound_rule *r)
{
    const struct fm_rule *rule = r->rule;
    const struct fm_rule_stack *s = &rule->stack;
    const struct fm_rule_thread *t = &rule->thread;
    want(w, s->field);
    if (s->field && !s->frames)
        add_move(w, r, s->field, FM_COL_STACK, FM_TYPE_STACK);
    if (t->field)
        add_move(w, r, t->field, FM_COL_THREAD, FM_TYPE_THREAD);
    want(w, s->split);
    for (size_t i = 0; i < s->frames; i++) {
        want(w, s->frame[i].function);
        want(w, s->frame[i].file);
        want(w, s->frame[i].module);
        want(w, s->frame[i].line);
        want(w, s->frame[i].address);
    }
    want(w, t->pid);
    want(w, t->tid);
    want(w, t->name);
    want(w, t->process);
    for (size_t i = 0; i < rule->links; i++)
        for (size_t k = 0; k < rule->link[i].keys; k++)
            want(w, rule->link[i].key[k]);
    for (size_t i = 0; i < rule->eachs; i++)
        want_field(w, rule->each[i]);
    r->more = s->split || s->frames || t->pid || t->tid || t->name || t->process ||
              rule->links || rule->eachs;
}

/* Whether the rule's event may be wanted; computed names may be any. */
static void ask(struct binder *w, const struct fm_bound_rule *r)
{
    struct fm_binding *b = w->b;
    const char *name;
    size_t n;
    if (w->class->asked || b->only == NULL || (r->rule->metric.parts > 0) != (r->metric != NULL) ||
        !constant_template(w, &r->rule->event, &n)) {
        w->class->asked = true;
        return;
    }
    name = fm_arena_strn(&b->arena, b->scratch, n);
    if (name == NULL)
        w->oom = true;
    else
        w->class->asked = fm_rule_asked(b, name, r->metric != NULL ? r->metric : name) ||
                          (r->rule->base_of && fm_rule_asked(b, r->rule->base_of,
                                                             r->rule->base_of));
}

static void bind_rule(struct binder *w, struct fm_bound_rule *r)
{
    if (!make_room(w, r)) {
        w->oom = true;
        return;
    }
    r->value_is_f64 = value_is_f64(w, r->rule);
    want(w, r->when);
    bind_slots(w, r);
    bind_more(w, r);
    bind_labels(w, r);
    bind_event(w, r);
    ask(w, r);
    for (size_t i = 0; i < r->plains; i++)
        r->need |= UINT64_C(1) << (r->plain[i].field & 63);
    if (w->class->fields > 63)
        r->need = 0;
}

/* ------------------------------------------------------------------ declaring a class */

static bool matches(const struct fm_rule *rule, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < rule->matches; i++)
        if (fm_pattern_match(rule->match[i], name, n))
            return true;
    return false;
}

static bool copy_class(struct binder *w, const char *name, const struct fm_field *field, size_t n)
{
    struct fm_binding *b = w->b;
    struct fm_bound *c = w->class;
    const struct fm_mapping *m = b->m;
    w->words = (n + 63) / 64;
    c->name = fm_arena_str(&b->arena, name);
    c->field = fm_arena_alloc(&b->arena, n * sizeof *c->field);
    c->index = fm_arena_alloc(&b->arena, m->names * sizeof *c->index);
    c->wanted = fm_arena_alloc(&b->arena, w->words * sizeof *c->wanted);
    c->rule = fm_arena_alloc(&b->arena, m->rules * sizeof *c->rule);
    w->none = fm_arena_alloc(&b->arena, w->words * sizeof *w->none);
    if (!c->name || !c->field || !c->index || !c->wanted || !c->rule || !w->none)
        return false;
    for (size_t i = 0; i < n; i++) {
        c->field[i] = field[i];
        c->field[i].name = fm_arena_str(&b->arena, field[i].name);
        if (field[i].unit && !(c->field[i].unit = fm_arena_str(&b->arena, field[i].unit)))
            return false;
        if (!c->field[i].name)
            return false;
    }
    c->fields = n;
    for (size_t i = 0; i < m->names; i++)
        c->index[i] = FM_NO_FIELD;
    for (size_t k = 0; k < n; k++) {
        uint32_t i = fm_mapping_name_find(m, field[k].name);
        if (i != UINT32_MAX && c->index[i] == FM_NO_FIELD)
            c->index[i] = (uint16_t)k;
    }
    c->name_str = fm_builder_str(b->builder, name, strlen(name));
    return true;
}

/* Picks the rules of the class; a `when` that no field can change is decided here. */
static void pick_rules(struct binder *w)
{
    const struct fm_mapping *m = w->b->m;
    struct fm_bound *c = w->class;
    for (size_t i = 0; i < m->rules; i++) {
        const struct fm_rule *rule = &m->rule[i];
        struct fm_value v;
        if (!matches(rule, c->name))
            continue;
        struct fm_bound_rule *r = &c->rule[c->rules];
        memset(r, 0, sizeof *r);
        fm_map_init(&r->events, w->b->mem);
        r->rule = rule;
        r->when = rule->when;
        if (r->when && constant_value(w, r->when, &v)) {
            if (!fm_value_true(&v))
                continue;
            r->when = NULL;
        }
        if (!rule->skip)
            bind_rule(w, r);
        else
            want(w, r->when);
        c->rules++;
        if (!r->when)
            break;
    }
}

int fm_class_declare(struct fm_binding *b, const char *name, const struct fm_field *field,
                     size_t n, uint64_t period, uint64_t *wanted)
{
    if (n > FM_CLASS_FIELDS || b->classes == INT32_MAX ||
        !fm_grow(b->mem, (void **)&b->class, &b->class_cap, b->classes + 1, sizeof *b->class))
        return -2;
    struct binder w = {.b = b, .class = &b->class[b->classes], .period = period};
    memset(w.class, 0, sizeof *w.class);
    if (!copy_class(&w, name, field, n))
        return -2;
    w.eval = (struct fm_eval){.b = b, .class = w.class, .present = w.none, .each = FM_NO_FIELD};
    pick_rules(&w);
    if (w.oom || b->arena.oom)
        return -2;
    if (wanted)
        memcpy(wanted, w.class->wanted, w.words * sizeof *wanted);
    if (w.class->rules == 0 || (w.class->rules == 1 && w.class->rule[0].rule->skip))
        return FM_CLASS_UNMAPPED;
    if (!w.class->asked) {
        fm_builder_leave_out(b->builder);
        return FM_CLASS_NOT_ASKED;
    }
    return (int)b->classes++;
}

uint32_t fm_class_event(const struct fm_binding *b, int class_id)
{
    fm_assert(class_id >= 0 && (size_t)class_id < b->classes);
    const struct fm_bound *c = &b->class[class_id];
    return c->rules == 1 && !c->rule[0].rule->skip ? c->rule[0].event : FM_NONE;
}

/* ------------------------------------------------------------------ report */

static const char *column_name(const struct fm_binding *b, fm_column column)
{
    static const char *const built_in[FM_COL_LABELS] = {
        "ts", "dur", "event", "weight", "count", "value", "stack", "thread", "cpu", "name",
        "category", "comm"};
    if (column < FM_COL_LABELS)
        return built_in[column];
    for (size_t i = 0; i < b->labels; i++)
        if (b->label[i].column == column)
            return b->label[i].name;
    return "?";
}

static void report_rule(const struct fm_binding *b, const struct fm_bound *c,
                        const struct fm_bound_rule *r, struct fm_out *out)
{
    size_t n;
    fm_out_printf(out, "  rule at line %u", r->rule->node->line);
    if (r->rule->skip) {
        fm_out_text(out, ": left out\n");
        return;
    }
    if (r->event != FM_NONE)
        fm_out_printf(out, ": event %s",
                      fm_builder_str_text(b->builder,
                                          fm_builder_event_row(b->builder, r->event)->name, &n));
    fm_out_printf(out, ", %s%s\n", fm_kind_text(r->rule->kind), r->when ? ", when …" : "");
    for (size_t i = 0; i < r->plains; i++)
        fm_out_printf(out, "    %-20s -> %s\n", c->field[r->plain[i].field].name,
                      column_name(b, r->plain[i].column));
    for (size_t i = 0; i < r->checkeds; i++)
        fm_out_printf(out, "    %-20s -> %s (checked)\n", c->field[r->checked[i].field].name,
                      column_name(b, r->checked[i].column));
    for (size_t i = 0; i < r->slows; i++)
        fm_out_printf(out, "    %-20s -> %s\n",
                      r->slow[i].expr->op == FM_EXPR_REF && r->slow[i].expr->name
                          ? r->slow[i].expr->name
                          : "(expression)",
                      column_name(b, r->slow[i].column));
}

void fm_binding_report(const struct fm_binding *b, struct fm_out *out)
{
    for (size_t k = 0; k < b->classes; k++) {
        const struct fm_bound *c = &b->class[k];
        fm_out_printf(out, "class %s: %zu fields\n", c->name, c->fields);
        for (size_t i = 0; i < c->rules; i++)
            report_rule(b, c, &c->rule[i], out);
        for (size_t i = 0; i < c->fields; i++)
            if (!((c->wanted[i >> 6] >> (i & 63)) & 1))
                fm_out_printf(out, "    %-20s not read\n", c->field[i].name);
        for (size_t i = 0; i < c->missings; i++)
            fm_out_printf(out, "    %-20s not in this class\n", c->missing[i]);
    }
}
