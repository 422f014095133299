/*
 * plan.c - makes and runs the plans of event types; see plan.h.
 *
 * One walk over the fields serves twice: first it offers names and types (mode `offer`), then,
 * when the mapping has said what it wants, it makes steps. Both count fields in the same order.
 */
#include "import/jfr/plan.h"

#define MAX_OFFERED ((size_t)FM_CLASS_FIELDS - 16)
#define MAX_DEPTH 3u
#define MAX_STEPS 4096u
#define MAX_LOOKS (1u << 16)        /* fields of a type, with those of its structs */
#define MAX_ALL_LOOKS (1u << 22)    /* those of all types of a chunk */

struct maker {
    struct fm_jfr_reading *reading;
    struct fm_jfr_meta *meta;
    struct fm_arena *arena;
    const struct fm_jfr_event *event;  /* NULL while fields are offered */
    struct fm_field *field;
    size_t fields, field_cap;
    uint32_t looks;             /* against structs in structs in structs */
    uint64_t offset;            /* of the first event of the type */
    bool many;                  /* events of the type */
    bool failed;
};

/* Steps under construction. */
struct steps {
    struct fm_jfr_step *step;
    size_t n, cap;
};

static uint16_t offer(struct maker *m, const char *prefix, const char *name, enum fm_type type,
                      const char *unit)
{
    struct fm_field *f;
    size_t at = m->fields;
    if (at >= MAX_OFFERED)
        return FM_JFR_NO_SLOT;
    m->fields++;
    if (m->event != NULL)
        return fm_jfr_event_wants(m->event, at) ? (uint16_t)at : FM_JFR_NO_SLOT;
    if (!fm_grow(m->meta->mem, (void **)&m->field, &m->field_cap, at + 1, sizeof *f)) {
        m->failed = true;
        return FM_JFR_NO_SLOT;
    }
    f = &m->field[at];
    f->name = prefix != NULL ? fm_arena_printf(m->arena, "%s.%s", prefix, name) : name;
    f->type = type;
    f->unit = unit;
    if (f->name == NULL)
        f->name = "";
    return FM_JFR_NO_SLOT;
}

static struct fm_jfr_step *add(struct maker *m, struct steps *s, enum fm_jfr_op op)
{
    static struct fm_jfr_step *const none = NULL;
    if (s->n >= MAX_STEPS ||
        !fm_grow(m->meta->mem, (void **)&s->step, &s->cap, s->n + 1, sizeof *s->step)) {
        m->failed = true;
        return none;
    }
    memset(&s->step[s->n], 0, sizeof *s->step);
    s->step[s->n].op = (uint8_t)op;
    s->step[s->n].slot = FM_JFR_NO_SLOT;
    return &s->step[s->n++];
}

/* A step over a field; false: it cannot be stepped over, and nothing behind it be read. */
static bool add_skip(struct maker *m, struct steps *s, const struct fm_jfr_field *f)
{
    struct fm_jfr_meta *meta = m->meta;
    struct fm_jfr_step *step;
    size_t first = meta->skips;
    const struct fm_jfr_skip *skip;
    if (m->event == NULL)
        return true;
    if (!fm_jfr_field_steps(meta, f)) {
        if (!meta->oom)
            fm_jfr_damage(m->reading->feed, FM_DIAG_JFR_METADATA, FM_FORMAT, m->offset,
                          "event '%s': field '%s' and what is behind it cannot be read",
                          m->event->name, f->name);
        return false;
    }
    skip = &meta->skip[first];
    if (meta->skips - first == 1 && skip->op == FM_JFR_SKIP_VARINTS) {
        uint32_t n = skip->n;
        meta->skips = first;
        if (s->n > 0 && s->step[s->n - 1].op == FM_JFR_OP_SKIP_VARINTS) {
            s->step[s->n - 1].n += n;
            return true;
        }
        step = add(m, s, FM_JFR_OP_SKIP_VARINTS);
        if (step != NULL)
            step->n = n;
        return step != NULL;
    }
    step = add(m, s, FM_JFR_OP_SKIP);
    if (step != NULL) {
        step->first = (uint32_t)first;
        step->n = (uint32_t)(meta->skips - first);
    }
    return step != NULL;
}

static bool make_fields(struct maker *m, uint32_t class, const char *prefix, unsigned depth,
                        struct steps *s);

static struct fm_jfr_plan *settle(struct maker *m, struct steps *s)
{
    struct fm_jfr_plan *plan = fm_arena_alloc(m->arena, sizeof *plan);
    size_t n = s->n;
    while (n > 0 && s->step[n - 1].op <= FM_JFR_OP_SKIP)
        n--;                        /* nothing is wanted behind */
    if (plan != NULL && n > 0) {
        plan->step = fm_arena_alloc(m->arena, n * sizeof *plan->step);
        if (plan->step != NULL)
            memcpy(plan->step, s->step, n * sizeof *plan->step);
        plan->n = plan->step != NULL ? n : 0;
    }
    fm_mem_free(m->meta->mem, s->step, s->cap * sizeof *s->step);
    memset(s, 0, sizeof *s);
    if (plan == NULL)
        m->failed = true;
    return plan;
}

/* The plan for the fields of a pool's values; NULL when none is wanted. */
static struct fm_jfr_plan *make_sub(struct maker *m, uint32_t class, const char *prefix,
                                    const char *name, unsigned depth)
{
    struct steps s = {.n = 0};
    struct fm_jfr_plan *plan;
    const char *path = name;
    if (depth >= MAX_DEPTH || m->failed)
        return NULL;
    if (prefix != NULL && m->event == NULL)
        path = fm_arena_printf(m->arena, "%s.%s", prefix, name);
    (void)make_fields(m, class, path != NULL ? path : "", depth + 1, &s);
    plan = settle(m, &s);
    return plan != NULL && plan->n > 0 ? plan : NULL;
}

static enum fm_type base_type(const struct fm_jfr_field *f, enum fm_jfr_base base,
                              const char **unit)
{
    *unit = NULL;
    switch (base) {
    case FM_JFR_BOOLEAN:
        return FM_TYPE_BOOL;
    case FM_JFR_FLOAT:
    case FM_JFR_DOUBLE:
        (void)fm_jfr_number_type((enum fm_jfr_as)f->as, false, unit);
        return FM_TYPE_F64;
    case FM_JFR_STRING:
        return FM_TYPE_STRING;
    default:
        return fm_jfr_number_type((enum fm_jfr_as)f->as,
                                  f->is_unsigned || base == FM_JFR_CHAR, unit);
    }
}

static bool is_ns(const struct fm_jfr_field *f)
{
    return f->as >= FM_JFR_TIME_TICKS && f->as <= FM_JFR_SPAN_S;
}

/* A number or string stored in place. */
static bool make_base(struct maker *m, const struct fm_jfr_field *f, enum fm_jfr_base base,
                      const char *prefix, struct steps *s)
{
    static const uint8_t op[] = {
        FM_JFR_OP_SKIP, FM_JFR_OP_BOOLEAN, FM_JFR_OP_BYTE, FM_JFR_OP_INTEGER, FM_JFR_OP_INTEGER,
        FM_JFR_OP_INTEGER, FM_JFR_OP_INTEGER, FM_JFR_OP_FLOAT, FM_JFR_OP_DOUBLE,
        FM_JFR_OP_STRING};
    const char *unit;
    enum fm_type type = base_type(f, base, &unit);
    uint16_t slot = offer(m, prefix, f->name, type, unit);
    struct fm_jfr_step *step;
    if (slot == FM_JFR_NO_SLOT)
        return add_skip(m, s, f);
    step = add(m, s, (enum fm_jfr_op)op[base]);
    if (step == NULL)
        return false;
    step->slot = slot;
    step->as = f->as;
    step->base = (uint8_t)base;
    step->width = base == FM_JFR_LONG ? 8 : base == FM_JFR_INT ? 4 : 2;
    step->is_unsigned = f->is_unsigned;
    if (is_ns(f) && step->op == FM_JFR_OP_INTEGER)
        step->op = FM_JFR_OP_NS;
    return true;
}

/* A key of a pool. */
static bool make_key(struct maker *m, const struct fm_jfr_field *f, const char *prefix,
                     unsigned depth, struct steps *s)
{
    const struct fm_jfr_class *c = &m->meta->class[f->class];
    enum fm_jfr_op op = FM_JFR_OP_STRUCT;
    uint16_t slot = FM_JFR_NO_SLOT;
    struct fm_jfr_plan *sub = NULL;
    struct fm_jfr_step *step;
    bool inside = true;
    if (c->known == FM_JFR_STACK) {
        op = FM_JFR_OP_STACK;
        slot = offer(m, prefix, f->name, FM_TYPE_STACK, NULL);
        inside = false;
    } else if (c->known == FM_JFR_THREAD) {
        op = FM_JFR_OP_THREAD;
        slot = offer(m, prefix, f->name, FM_TYPE_THREAD, NULL);
    } else if (c->known == FM_JFR_CLASS) {
        op = FM_JFR_OP_CLASS;
        slot = offer(m, prefix, f->name, FM_TYPE_STRING, NULL);
        inside = false;
    } else if (c->known == FM_JFR_METHOD) {
        op = FM_JFR_OP_METHOD;
        slot = offer(m, prefix, f->name, FM_TYPE_STRING, NULL);
    } else if (fm_jfr_class_is_text(m->meta, f->class)) {
        op = FM_JFR_OP_TEXT;
        slot = offer(m, prefix, f->name, FM_TYPE_STRING, NULL);
        inside = false;
    } else if (c->base != FM_JFR_STRUCT) {
        return add_skip(m, s, f);
    }
    if (inside)
        sub = make_sub(m, f->class, prefix, f->name, depth);
    if (slot == FM_JFR_NO_SLOT && sub == NULL)
        return add_skip(m, s, f);
    step = add(m, s, op);
    if (step == NULL)
        return false;
    step->slot = slot;
    step->class = f->class;
    step->width = 8;
    step->sub = sub;
    step->mask = (m->many ? FM_JFR_SEEN_MANY : FM_JFR_SEEN_FEW) - 1;
    step->seen = fm_arena_alloc(m->arena, (step->mask + 1) * sizeof *step->seen);
    return step->seen != NULL;
}

static bool make_field(struct maker *m, const struct fm_jfr_field *f, const char *prefix,
                       unsigned depth, struct steps *s)
{
    const struct fm_jfr_class *c;
    if (f->array || f->class == FM_JFR_NO_CLASS)
        return add_skip(m, s, f);
    if (f->pool)
        return make_key(m, f, prefix, depth, s);
    c = &m->meta->class[f->class];
    if (c->base == FM_JFR_UNKNOWN)
        return add_skip(m, s, f);
    if (c->base != FM_JFR_STRUCT)
        return make_base(m, f, (enum fm_jfr_base)c->base, prefix, s);
    if (c->simple && c->fields == 1 && depth < MAX_DEPTH) {
        struct fm_jfr_field only = *fm_jfr_field_at(m->meta, c, 0);
        only.name = f->name;
        return make_field(m, &only, prefix, depth + 1, s);
    }
    if (depth >= MAX_DEPTH || c->known == FM_JFR_STACK)
        return add_skip(m, s, f);
    const char *path = f->name;
    if (prefix != NULL && m->event == NULL)
        path = fm_arena_printf(m->arena, "%s.%s", prefix, f->name);
    return make_fields(m, f->class, path != NULL ? path : "", depth + 1, s);
}

static bool make_fields(struct maker *m, uint32_t class, const char *prefix, unsigned depth,
                        struct steps *s)
{
    const struct fm_jfr_class *c = &m->meta->class[class];
    for (uint32_t i = 0; i < c->fields && !m->failed; i++) {
        const struct fm_jfr_field f = *fm_jfr_field_at(m->meta, c, i);
        if (m->looks >= MAX_LOOKS || m->meta->looks >= MAX_ALL_LOOKS)
            return false;           /* nothing behind it is read */
        m->looks++;
        m->meta->looks++;
        if (!make_field(m, &f, prefix, depth, s))
            return false;
    }
    return !m->failed;
}

bool fm_jfr_plan_make(struct fm_jfr_reading *reading, uint32_t class, struct fm_jfr_event *event,
                      struct fm_jfr_plan **plan)
{
    struct fm_jfr_chunk *chunk = reading->chunk;
    struct maker m = {.reading = reading, .meta = &chunk->meta, .arena = &chunk->arena,
                      .offset = chunk->first[class], .many = chunk->count[class] > 1000};
    struct steps s = {.n = 0};
    struct fm_jfr_extra extra;
    const char *name = chunk->meta.class[class].name;
    bool ok;
    *plan = NULL;
    (void)make_fields(&m, class, NULL, 0, &s);
    (void)settle(&m, &s);
    fm_jfr_extra_for(chunk, name, &extra);
    ok = !m.failed && fm_jfr_event_declare(reading->feed, &chunk->arena, name, m.field, m.fields,
                                           &extra, event);
    fm_mem_free(chunk->mem, m.field, m.field_cap * sizeof *m.field);
    if (!ok || event->id < 0)
        return ok;
    m.event = event;
    m.field = NULL;
    m.fields = m.field_cap = 0;
    m.looks = 0;
    (void)make_fields(&m, class, NULL, 0, &s);
    *plan = settle(&m, &s);
    return *plan != NULL && !chunk->meta.oom && !chunk->arena.oom;
}

/* --------------------------------------------------------------------------- running */

static void run_string(struct fm_jfr_reading *rd, const struct fm_jfr_step *step,
                       struct fm_cursor *c, struct fm_jfr_event *event)
{
    struct fm_jfr_buf *buf = &rd->resolver->buf[7];
    struct fm_jfr_text text;
    fm_jfr_text_read(c, buf, &text);
    fm_jfr_pool_follow(&rd->chunk->pools, buf, &text);
    if (text.kind == FM_JFR_TEXT_HERE)
        fm_jfr_event_set(event, step->slot, fm_builder_str(rd->feed->builder, text.s, text.n));
    else if (text.kind == FM_JFR_TEXT_BAD && buf->oom)
        rd->feed->oom = true;
}

static void run_struct(struct fm_jfr_reading *rd, const struct fm_jfr_step *step, uint64_t key,
                       struct fm_jfr_event *event)
{
    struct fm_jfr_entry *entry = fm_jfr_pool_find(&rd->chunk->pools, step->class, key);
    struct fm_cursor c;
    if (entry == NULL) {
        if (key != 0 && step->slot == FM_JFR_NO_SLOT)
            fm_jfr_note(rd->feed, FM_DIAG_JFR_KEY, rd->resolver->offset, 1);
        return;
    }
    c = fm_jfr_cursor_of(entry->p, entry->n, 0, rd->chunk->meta.wide);
    fm_jfr_plan_run(rd, step->sub, &c, event);
}

/* Keys that are missing are not remembered, so that each such event is counted. */
static void run_key(struct fm_jfr_reading *rd, struct fm_jfr_step *step, uint64_t key,
                    struct fm_jfr_event *event)
{
    struct fm_jfr_resolver *r = rd->resolver;
    struct fm_jfr_seen *seen = &step->seen[key & step->mask];
    uint64_t lane = 0;
    bool has = true;
    switch ((enum fm_jfr_op)step->op) {
    case FM_JFR_OP_TEXT:
        has = fm_jfr_text_lane(r, step->class, key, &lane);
        break;
    case FM_JFR_OP_CLASS:
        has = fm_jfr_class_lane(r, key, &lane);
        break;
    case FM_JFR_OP_METHOD:
        has = fm_jfr_method_lane(r, key, &lane);
        break;
    case FM_JFR_OP_THREAD:
        has = fm_jfr_thread_lane(r, key, &lane);
        break;
    default:
        lane = fm_jfr_stack_lane(r, key);
        fm_jfr_event_set(event, step->slot, lane);
        /* unknown stacks are counted one by one */
        has = lane != r->feed->place[FM_JFR_UNKNOWN_STACK];
        break;
    }
    if (has) {
        fm_jfr_event_set(event, step->slot, lane);
        *seen = (struct fm_jfr_seen){key, (uint32_t)lane, true};
    }
}

static void set_number(struct fm_jfr_event *event, const struct fm_jfr_step *step, int64_t v)
{
    if (step->as == FM_JFR_BYTES && v < 0 && !step->is_unsigned)
        return;                     /* -1 at the end of a stream */
    fm_jfr_event_set(event, step->slot, (uint64_t)v);
}

static void run_float(struct fm_cursor *c, const struct fm_jfr_step *step,
                      struct fm_jfr_event *event)
{
    double d;
    if (step->op == FM_JFR_OP_FLOAT) {
        uint32_t bits = fm_cursor_u32(c);
        float f;
        memcpy(&f, &bits, sizeof f);
        d = (double)f;
    } else {
        d = fm_bits_f64(fm_cursor_u64(c));
    }
    fm_jfr_event_set(event, step->slot, fm_f64_bits(d));
}

/* The next integer of c, whose place is kept in a register: p. */
static inline uint64_t next_int(struct fm_cursor *c, const unsigned char **p, unsigned width)
{
    uint64_t v;
    if (FM_LIKELY(c->end - *p >= FM_JFR_VARINT_MAX && !c->wide))
        return fm_jfr_varint_at(p);
    c->p = *p;
    v = c->wide ? fm_jfr_wide(c, width) : fm_jfr_varint_slow(c);
    *p = c->p;
    return v;
}

static inline int64_t narrow(uint64_t v, enum fm_jfr_base base, bool is_unsigned)
{
    switch (base) {
    case FM_JFR_CHAR:
        return (int64_t)(uint16_t)v;
    case FM_JFR_SHORT:
        return is_unsigned ? (int64_t)(uint16_t)v : (int64_t)(int16_t)v;
    case FM_JFR_INT:
        return is_unsigned ? (int64_t)(uint32_t)v : (int64_t)(int32_t)v;
    default:
        return (int64_t)v;
    }
}

/* Steps that are rare or long. */
static void run_other(struct fm_jfr_reading *rd, const struct fm_jfr_step *step,
                      struct fm_cursor *c, struct fm_jfr_event *event)
{
    uint8_t byte;
    switch ((enum fm_jfr_op)step->op) {
    case FM_JFR_OP_SKIP_VARINTS:
        fm_jfr_skip_varints(c, step->n);
        break;
    case FM_JFR_OP_SKIP:
        fm_jfr_skip_run(rd->chunk->meta.skip + step->first, step->n, c);
        break;
    case FM_JFR_OP_BOOLEAN:
        fm_jfr_event_set(event, step->slot, fm_cursor_u8(c) != 0);
        break;
    case FM_JFR_OP_BYTE:
        byte = fm_cursor_u8(c);
        set_number(event, step, step->is_unsigned ? (int64_t)byte : (int64_t)(int8_t)byte);
        break;
    case FM_JFR_OP_STRING:
        run_string(rd, step, c, event);
        break;
    default:
        run_float(c, step, event);
        break;
    }
}

void fm_jfr_plan_run(struct fm_jfr_reading *rd, struct fm_jfr_plan *plan, struct fm_cursor *c,
                     struct fm_jfr_event *event)
{
    struct fm_jfr_step *step = plan->step, *end = step + plan->n;
    const unsigned char *p = c->p;
    uint64_t v;
    int64_t ns;
    for (; step < end; step++) {
        if (step->op <= FM_JFR_OP_OTHER) {
            if (step->op == FM_JFR_OP_SKIP_VARINTS && step->n == 1) {
                (void)next_int(c, &p, 8);
                continue;
            }
            c->p = p;
            run_other(rd, step, c, event);
            p = c->p;
            continue;
        }
        v = next_int(c, &p, step->width);
        if (step->op == FM_JFR_OP_NS) {
            ns = narrow(v, (enum fm_jfr_base)step->base, step->is_unsigned);
            if (fm_jfr_number_ns(&rd->chunk->clock, (enum fm_jfr_as)step->as, ns, &ns))
                fm_jfr_event_set(event, step->slot, (uint64_t)ns);
        } else if (step->op == FM_JFR_OP_INTEGER) {
            set_number(event, step, narrow(v, (enum fm_jfr_base)step->base, step->is_unsigned));
        } else {
            const struct fm_jfr_seen *seen = &step->seen[v & step->mask];
            if (FM_LIKELY(seen->has && seen->key == v))
                fm_jfr_event_set(event, step->slot, seen->lane);
            else if (step->slot != FM_JFR_NO_SLOT)
                run_key(rd, step, v, event);
            if (step->sub != NULL)
                run_struct(rd, step, v, event);
        }
    }
    c->p = p;
}
