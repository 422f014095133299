/*
 * event.c - runs the moves of a class for one event.
 *
 * The common case is two flat loops over {field, column}. Expressions, threads and stacks made from
 * values, links and `each` are only looked at by rules that have them (`more`, `slows`).
 */
#include "format/binding.h"

#include "util/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define MAX_FRAMES 65536u

static bool is_present(const uint64_t *present, uint32_t field)
{
    return (present[field >> 6] >> (field & 63)) & 1;
}

static void find(struct fm_binding *b, enum fm_diag key)
{
    fm_builder_diag(b->builder, key, b->offset, 1);
}

/* ------------------------------------------------------------------ threads */

/* A number, or a text of digits. */
static bool as_id(const struct fm_value *v, int64_t *id)
{
    if (v->type == FM_I64) {
        *id = v->i;
        return true;
    }
    if (v->type == FM_U64) {
        *id = (int64_t)v->u;
        return true;
    }
    if (v->type == FM_F64 && v->f == (double)(int64_t)v->f) {
        *id = (int64_t)v->f;
        return true;
    }
    return v->type == FM_TEXT && fm_text_i64(v->text.s, v->text.n, id);
}

/* Ids that are texts: "pid/tid" is the thread's id. */
static fm_thread text_thread(struct fm_eval *e, const struct fm_value *pid,
                             const struct fm_value *tid)
{
    struct fm_builder *builder = e->b->builder;
    fm_str p = fm_eval_str(e, pid), t = fm_eval_str(e, tid);
    if (pid->type == FM_NULL || p == t)
        return fm_builder_thread_text(builder, t);
    if (tid->type == FM_NULL)
        return fm_builder_thread_text(builder, p);
    size_t pn, tn;
    const char *ps = fm_builder_str_text(builder, p, &pn);
    const char *ts = fm_builder_str_text(builder, t, &tn);
    char *joined = fm_mem_alloc(e->b->mem, pn + tn + 1);
    if (!joined)
        return FM_NONE;
    memcpy(joined, ps, pn);
    joined[pn] = '/';
    memcpy(joined + pn + 1, ts, tn);
    fm_str id = fm_builder_str(builder, joined, pn + tn + 1);
    fm_mem_free(e->b->mem, joined, pn + tn + 1);
    return fm_builder_thread_text(builder, id);
}

static fm_thread find_thread(struct fm_eval *e, const struct fm_rule_thread *t)
{
    struct fm_binding *b = e->b;
    struct fm_value pid = t->pid ? fm_eval_run(e, t->pid) : fm_value_null();
    struct fm_value tid = t->tid ? fm_eval_run(e, t->tid) : fm_value_null();
    int64_t p = -1, q = -1;
    bool text = (pid.type != FM_NULL && !as_id(&pid, &p)) ||
                (tid.type != FM_NULL && !as_id(&tid, &q));
    if (text) {
        b->last_thread = FM_NONE;
        return text_thread(e, &pid, &tid);
    }
    if (pid.type == FM_NULL && tid.type == FM_NULL)
        return FM_NONE;
    if (tid.type == FM_NULL)
        q = p;                     /* the main thread */
    if (b->last_thread != FM_NONE && b->last_pid == p && b->last_tid == q)
        return b->last_thread;
    b->last_pid = p;
    b->last_tid = q;
    b->last_thread_name = FM_NONE;
    return b->last_thread = fm_builder_thread(b->builder, p, q, 0);
}

static void set_thread(struct fm_eval *e, const struct fm_rule_thread *t)
{
    struct fm_binding *b = e->b;
    fm_thread thread = find_thread(e, t);
    if (thread == FM_NONE && t->name) {
        struct fm_value name = fm_eval_run(e, t->name);
        if (name.type != FM_NULL)
            thread = fm_builder_thread_text(b->builder, fm_eval_str(e, &name));
    }
    if (thread == FM_NONE)
        return;
    fm_row_set(b->builder, FM_COL_THREAD, thread);
    if (t->name) {
        struct fm_value name = fm_eval_run(e, t->name);
        fm_str s = fm_eval_str(e, &name);
        if (name.type != FM_NULL && (s != b->last_thread_name || thread != b->last_thread)) {
            fm_builder_thread_name(b->builder, thread, INT64_MIN, s);
            b->last_thread_name = s;
        }
    }
    if (t->process) {
        struct fm_value name = fm_eval_run(e, t->process);
        struct fm_thread_row *row = fm_builder_thread_row(b->builder, thread);
        if (name.type != FM_NULL && row)
            row->process = fm_eval_str(e, &name);
    }
}

/* ------------------------------------------------------------------ stacks */

static fm_node add_name(struct fm_eval *e, fm_node node, const char *s, size_t n,
                        enum fm_frame_kind kind)
{
    struct fm_builder *builder = e->b->builder;
    struct fm_frame_row f = {.module = FM_NONE, .address = UINT64_MAX, .kind = (uint8_t)kind};
    f.function = fm_builder_str(builder, s, n);
    return fm_builder_node(builder, node, fm_builder_frame(builder, &f));
}

/* Pieces of s between separators, empty ones left out; *from .. *to is the next one. */
static bool next_piece(const char *s, size_t n, const char *sep, size_t sep_n, size_t *from,
                       size_t *to)
{
    size_t i = *to;
    for (;;) {
        if (i >= n)
            return false;
        const char *at = memmem(s + i, n - i, sep, sep_n);
        size_t end = at ? (size_t)(at - s) : n;
        if (end > i) {
            *from = i;
            *to = end;
            return true;
        }
        i = end + sep_n;
    }
}

static bool last_piece(const char *s, const char *sep, size_t sep_n, size_t *from, size_t *to)
{
    size_t end = *from;
    while (end >= sep_n && memcmp(s + end - sep_n, sep, sep_n) == 0)
        end -= sep_n;
    size_t i = end;
    while (i > 0 && !(i >= sep_n && memcmp(s + i - sep_n, sep, sep_n) == 0))
        i--;
    *from = i;
    *to = end;
    return end > i;
}

static fm_node split_text(struct fm_eval *e, const struct fm_rule_stack *st, const char *s,
                          size_t n)
{
    fm_node node = FM_NODE_ROOT;
    size_t sep_n = strlen(st->sep), from = st->leaf_first ? n : 0, to = 0;
    unsigned frames = 0;
    while (st->leaf_first ? last_piece(s, st->sep, sep_n, &from, &to)
                          : next_piece(s, n, st->sep, sep_n, &from, &to)) {
        if (++frames > MAX_FRAMES) {
            find(e->b, FM_DIAG_STACK_DEPTH);
            break;
        }
        node = add_name(e, node, s + from, to - from, st->kind);
    }
    return node;
}

static fm_node split_stack(struct fm_eval *e, const struct fm_rule *rule)
{
    struct fm_binding *b = e->b;
    const struct fm_rule_stack *st = &rule->stack;
    struct fm_value v = fm_eval_run(e, st->split);
    if (v.type == FM_NULL)
        return FM_NODE_ROOT;
    fm_str text = fm_eval_str(e, &v);
    if (text == FM_NONE)
        return FM_NODE_ROOT;
    /* Texts repeat: one interned text of one rule is one stack. */
    bool fresh;
    uint64_t *slot = fm_map_put(&b->splits, (uint64_t)(rule - b->m->rule) << 32 | text, &fresh);
    if (!slot)
        return FM_NODE_ROOT;
    if (!fresh)
        return (fm_node)*slot;
    size_t n;
    const char *s = fm_builder_str_text(b->builder, text, &n);
    /* Interning the pieces may move the text: keep a copy. */
    char *copy = fm_mem_alloc(b->mem, n);
    if (!copy)
        return FM_NODE_ROOT;
    memcpy(copy, s, n);
    fm_node node = split_text(e, st, copy, n);
    fm_mem_free(b->mem, copy, n);
    *slot = node;
    return node;
}

static fm_str optional_str(struct fm_eval *e, const struct fm_expr *expr)
{
    if (!expr)
        return 0;
    struct fm_value v = fm_eval_run(e, expr);
    return fm_eval_str(e, &v);
}

static bool optional_u64(struct fm_eval *e, const struct fm_expr *expr, uint64_t *out)
{
    if (!expr)
        return false;
    struct fm_value v = fm_eval_run(e, expr);
    bool null;
    return fm_eval_lane(e, &v, FM_TYPE_U64, 1, out, &null);
}

/* A frame by its parts; a frame without function and address is left out. */
static fm_node add_frame(struct fm_eval *e, fm_node node, const struct fm_rule_frame *rf)
{
    struct fm_builder *builder = e->b->builder;
    struct fm_frame_row f = {.module = FM_NONE, .address = UINT64_MAX, .kind = (uint8_t)rf->kind};
    uint64_t line;
    f.function = optional_str(e, rf->function);
    bool address = optional_u64(e, rf->address, &f.address);
    if (f.function == 0 && !address)
        return node;
    f.file = optional_str(e, rf->file);
    if (optional_u64(e, rf->line, &line))
        f.line = line <= UINT32_MAX ? (uint32_t)line : 0;
    fm_str module = optional_str(e, rf->module);
    if (module != 0) {
        struct fm_module_row m = {.path = module, .kind = FM_MODULE_NAMED, .pid = -1};
        f.module = fm_builder_module(builder, &m);
    }
    return fm_builder_node(builder, node, fm_builder_frame(builder, &f));
}

static void set_stack(struct fm_eval *e, const struct fm_rule *rule)
{
    const struct fm_rule_stack *st = &rule->stack;
    fm_node node = st->split ? split_stack(e, rule) : FM_NODE_ROOT;
    uint64_t lane;
    if (st->field && optional_u64(e, st->field, &lane) && lane < FM_NONE)
        node = (fm_node)lane;
    for (size_t i = 0; i < st->frames; i++)
        node = add_frame(e, node, &st->frame[i]);
    fm_row_set(e->b->builder, FM_COL_STACK, node);
}

/* ------------------------------------------------------------------ links */

static uint64_t value_hash(uint64_t h, const struct fm_value *v)
{
    switch (v->type) {
    case FM_TEXT: return fm_mix(h, XXH3_64bits(v->text.s, v->text.n));
    case FM_I64: return fm_mix(h, (uint64_t)v->i);
    case FM_U64: return fm_mix(h, v->u);
    case FM_F64: return fm_mix(h, fm_f64_bits(v->f));
    case FM_BOOL: return fm_mix(h, v->b);
    case FM_NULL: break;
    }
    return fm_mix(h, 0x6e756c6c);
}

/* One number is the key itself; texts and lists are hashed to 64 bits. */
static void add_links(struct fm_eval *e, const struct fm_rule *rule, uint64_t row)
{
    for (size_t i = 0; i < rule->links; i++) {
        const struct fm_rule_link *link = &rule->link[i];
        struct fm_value v = fm_eval_run(e, link->key[0]);
        if (v.type == FM_NULL)
            continue;              /* this row has no such link */
        uint64_t key = v.type == FM_I64 ? (uint64_t)v.i : v.u;
        if (link->keys > 1 || (v.type != FM_I64 && v.type != FM_U64)) {
            key = 0x9ae16a3b2f90404fu;
            for (size_t k = 0; k < link->keys; k++) {
                v = fm_eval_run(e, link->key[k]);
                key = value_hash(key, &v);
            }
        }
        fm_builder_link_key(e->b->builder, link->kind, link->side, key, row);
    }
}

/* ------------------------------------------------------------------ rows */

static uint32_t computed_event(struct fm_eval *e, struct fm_bound_rule *r)
{
    struct fm_binding *b = e->b;
    size_t n, unit_n;
    fm_str unit = r->unit;
    if (r->unit_computed) {
        if (!fm_eval_template(e, &r->rule->unit, &n))
            return FM_NONE;
        unit = fm_builder_str(b->builder, b->scratch, n);
    }
    if (!fm_eval_template(e, &r->rule->event, &n))
        return FM_NONE;
    fm_str name = fm_builder_str(b->builder, b->scratch, n);
    uint64_t *slot = fm_map_put(&r->events, (uint64_t)name << 32 | unit, NULL);
    if (!slot)
        return FM_NONE;
    if (*slot == 0) {
        const char *unit_text = fm_builder_str_text(b->builder, unit, &unit_n);
        uint32_t event = fm_binding_event(b, r, b->scratch, n, unit_text, unit_n);
        *slot = event == FM_NONE ? 0 : (uint64_t)event + 1;
    }
    return (uint32_t)(*slot - 1);  /* FM_NONE when it is still 0 */
}

/* Evaluated columns. A value that is null leaves its column empty; a weight or value must be. */
static void run_slow(struct fm_eval *e, const struct fm_bound_rule *r)
{
    struct fm_binding *b = e->b;
    for (size_t i = 0; i < r->slows; i++) {
        const struct fm_slow *s = &r->slow[i];
        struct fm_value v = fm_eval_run(e, s->expr);
        uint64_t lane;
        bool null;
        if (fm_eval_lane(e, &v, s->type, s->scale, &lane, &null))
            fm_row_set(b->builder, s->column, lane);
        else if (!null)
            find(b, FM_DIAG_VALUE_RANGE);
        else if (s->column == FM_COL_WEIGHT || s->column == FM_COL_VALUE)
            find(b, FM_DIAG_ROW_RULE);
    }
}

static bool slot_lane(struct fm_eval *e, const struct fm_expr *expr, enum fm_type type,
                      int64_t scale, uint64_t *lane)
{
    struct fm_value v = fm_eval_run(e, expr);
    bool null;
    return fm_eval_lane(e, &v, type, scale, lane, &null);
}

/* Weights that the rule leaves to us: the count, or the duration. */
static void set_weight(struct fm_eval *e, const struct fm_bound_rule *r)
{
    const struct fm_rule *rule = r->rule;
    uint64_t lane = 1;
    if (r->weight_is_dur) {
        int64_t scale = 1;
        for (size_t i = 0; i < r->slows; i++)
            if (r->slow[i].column == FM_COL_DUR)
                scale = r->slow[i].scale;
        if (!slot_lane(e, rule->slot[FM_SLOT_DUR], FM_TYPE_U64, scale, &lane))
            return;                /* an open span has no duration, and so no weight */
    } else if (!slot_lane(e, rule->slot[FM_SLOT_COUNT], FM_TYPE_U64, 1, &lane)) {
        lane = 1;
    }
    fm_row_set(e->b->builder, FM_COL_WEIGHT, lane);
}

static void run_more(struct fm_eval *e, const struct fm_bound_rule *r)
{
    const struct fm_rule *rule = r->rule;
    const struct fm_rule_thread *t = &rule->thread;
    if (t->pid || t->tid || t->name)
        set_thread(e, t);
    if (rule->stack.split || rule->stack.frames)
        set_stack(e, rule);
}

static void count_in(struct fm_eval *e, const struct fm_rule *rule)
{
    uint64_t n = 1;
    if (rule->kind != FM_KIND_SAMPLE)
        return;
    if (rule->slot[FM_SLOT_COUNT] &&
        !slot_lane(e, rule->slot[FM_SLOT_COUNT], FM_TYPE_U64, 1, &n))
        n = 1;
    fm_account_in(e->b->builder, n);
}

/* The plain moves of an event with these fields. */
static void make_ready(const struct fm_bound_rule *r, uint64_t fields)
{
    struct fm_ready *ready = r->ready;
    ready->fields = fields;
    ready->n = 0;
    ready->weightless = false;
    for (size_t i = 0; i < r->plains; i++) {
        if (is_present(&fields, r->plain[i].field))
            ready->move[ready->n++] = r->plain[i];
        else if (r->plain[i].column == FM_COL_WEIGHT)
            ready->weightless = true;
    }
}

/* Fields that are copied as they are. */
static inline void run_plain(const struct fm_eval *e, const struct fm_bound_rule *r)
{
    struct fm_builder *builder = e->b->builder;
    const uint64_t *value = e->value, *present = e->present;
    const struct fm_move *move = r->plain, *end = move + r->plains;
    if (FM_LIKELY(r->need != 0)) {
        const struct fm_ready *ready = r->ready;
        if (FM_UNLIKELY((present[0] & r->need) != ready->fields))
            make_ready(r, present[0] & r->need);
        fm_row_copy(builder, ready->move, ready->n, value);
        if (FM_UNLIKELY(ready->weightless))
            find(e->b, FM_DIAG_ROW_RULE);
        return;
    }
    for (; move < end; move++) {
        if (is_present(present, move->field))
            fm_row_set(builder, move->column, value[move->field]);
        else if (move->column == FM_COL_WEIGHT)
            find(e->b, FM_DIAG_ROW_RULE);
    }
}

static uint64_t add_row(struct fm_eval *e, struct fm_bound_rule *r)
{
    struct fm_binding *b = e->b;
    struct fm_builder *builder = b->builder;
    const uint64_t *value = e->value, *present = e->present;
    uint32_t event = r->event;
    if (FM_UNLIKELY(event == FM_NONE)) {
        event = computed_event(e, r);
        if (event == FM_NONE)
            return UINT64_MAX;
        if (r->late)
            r->event = event;
    }
    if (b->accounts)
        count_in(e, r->rule);
    fm_row_begin(builder, event);
    run_plain(e, r);
    for (size_t i = 0; i < r->checkeds; i++) {
        uint32_t f = r->checked[i].field;
        if (!is_present(present, f)) {
            if (r->checked[i].column == FM_COL_WEIGHT)
                find(b, FM_DIAG_ROW_RULE);
        } else if ((int64_t)value[f] < 0) {
            find(b, FM_DIAG_VALUE_RANGE);
        } else {
            fm_row_set(builder, r->checked[i].column, value[f]);
        }
    }
    if (r->one)
        fm_row_set(builder, FM_COL_WEIGHT, 1);
    if (r->slows)
        run_slow(e, r);
    if (r->weight_is_count || r->weight_is_dur)
        set_weight(e, r);
    if (r->more)
        run_more(e, r);
    uint64_t row = fm_row_end(builder);
    if (r->rule->links)
        add_links(e, r->rule, row);
    return row;
}

static bool is_zero(const struct fm_eval *e, uint16_t field)
{
    uint64_t lane = e->value[field];
    if (e->class->field[field].type == FM_TYPE_F64)
        return fm_bits_f64(lane) == 0;
    return lane == 0;
}

static uint64_t add_each(struct fm_eval *e, struct fm_bound_rule *r)
{
    uint64_t row = UINT64_MAX;
    for (size_t i = 0; i < r->rule->eachs; i++) {
        uint16_t f = e->class->index[r->rule->each[i]];
        if (f == FM_NO_FIELD || !is_present(e->present, f) ||
            (is_zero(e, f) && !r->rule->each_zero))
            continue;
        e->each = f;
        row = add_row(e, r);
    }
    return row;
}

uint64_t fm_event(struct fm_binding *b, int class_id, const uint64_t *value,
                  const uint64_t *present)
{
    fm_assert(class_id >= 0 && (size_t)class_id < b->classes);
    const struct fm_bound *c = &b->class[class_id];
    struct fm_eval e;
    e.b = b;
    e.class = c;
    e.value = value;
    e.present = present;
    e.each = FM_NO_FIELD;
    e.hexes = 0;
    for (size_t i = 0; i < c->rules; i++) {
        struct fm_bound_rule *r = &c->rule[i];
        if (r->when) {
            struct fm_value v = fm_eval_run(&e, r->when);
            if (!fm_value_true(&v))
                continue;
        }
        if (r->rule->skip)
            break;
        return r->rule->eachs ? add_each(&e, r) : add_row(&e, r);
    }
    fm_account_record(b->builder, FM_ACCOUNT_NOT_MAPPED, c->name_str, b->offset, 1);
    return UINT64_MAX;
}

static bool copies_only(const struct fm_binding *b, const struct fm_bound_rule *r)
{
    const struct fm_rule *rule = r->rule;
    const struct fm_rule_thread *t = &rule->thread;
    return r->event != FM_NONE && !r->when && !rule->skip && !rule->eachs &&
           (rule->kind != FM_KIND_SAMPLE || !b->accounts) && r->need != 0 && !r->checkeds &&
           !r->slows && !r->one && !r->weight_is_count && !r->weight_is_dur && !t->pid &&
           !t->tid && !t->name &&
           !rule->stack.split && !rule->stack.frames;
}

bool fm_class_copy(const struct fm_binding *b, int class_id, uint64_t fields,
                   struct fm_class_copy *copy)
{
    if (class_id < 0 || b->class[class_id].rules == 0)
        return false;
    const struct fm_bound_rule *r = &b->class[class_id].rule[0];
    if (!copies_only(b, r) || r->plains > FM_COPY_MOVES)
        return false;
    memset(copy, 0, sizeof *copy);
    copy->event = r->event;
    copy->links = r->rule->links > 0;
    copy->all = r->need;
    for (size_t i = 0; i < r->plains; i++) {
        if (is_present(&fields, r->plain[i].field))
            copy->move[copy->moves++] = r->plain[i];
        else if (r->plain[i].column == FM_COL_WEIGHT)
            return false;
    }
    return true;
}

void fm_event_links(struct fm_binding *b, int class_id, const uint64_t *value,
                    const uint64_t *present, uint64_t row)
{
    const struct fm_bound *c = &b->class[class_id];
    struct fm_eval e = {.b = b, .class = c, .value = value, .present = present,
                        .each = FM_NO_FIELD};
    fm_assert(c->rules > 0);
    add_links(&e, c->rule[0].rule, row);
}

void fm_event_unmapped(struct fm_binding *b, const char *class_name, uint64_t offset)
{
    fm_str name = fm_builder_str(b->builder, class_name, strlen(class_name));
    fm_account_record(b->builder, FM_ACCOUNT_NOT_MAPPED, name, offset, 1);
}
