/*
 * v0.c - events of version 0.9 to rows; see v0.h.
 *
 * An event is offered to the mapping under the name that later versions have for its type, with
 *
 *     startTime    ns: the start, of events without one the end
 *     duration     ns, of events with a start
 *     eventThread, stackTrace       of types that have them
 *
 * and its own fields, those of structs inside it by dotted names. The account tells of types by
 * their own names, and these choose events as well.
 */
#include "import/jfr/v0.h"

#include "util/error.h"

/* --------------------------------------------------------------------------- plans */

enum op { OP_SKIP, OP_NUMBER, OP_NS, OP_FLOAT, OP_DOUBLE, OP_TEXT, OP_KEY };

struct step {
    const struct fm_jfr_v0_field *field;
    uint8_t op, as;
    uint32_t pool;              /* KEY */
    size_t slot;
};

struct plan {
    struct fm_jfr_event event;
    struct step *step;
    size_t steps;
    size_t start, duration, thread, stack; /* slots, or SIZE_MAX */
    uint32_t threads, stacks;              /* pools */
};

struct maker {
    struct fm_jfr_v0_reading *rd;
    const struct fm_jfr_v0_type *type;
    struct fm_field *field;
    struct step *step;
    size_t fields, steps, cap;
};

static size_t add_field(struct maker *m, const char *name, enum fm_type type, const char *unit)
{
    for (size_t i = 0; i < m->fields; i++)
        if (strcmp(m->field[i].name, name) == 0)
            return SIZE_MAX;    /* the parts of the event come first */
    if (m->fields == FM_CLASS_FIELDS - 16)
        return SIZE_MAX;
    m->field[m->fields] = (struct fm_field){name, type, unit};
    return m->fields++;
}

static enum fm_jfr_as as_of(int32_t content)
{
    switch (content) {
    case FM_JFR_V0_BYTES:
        return FM_JFR_BYTES;
    case FM_JFR_V0_EPOCH_MS:
        return FM_JFR_TIME_MS;
    case FM_JFR_V0_MS:
        return FM_JFR_SPAN_MS;
    case FM_JFR_V0_NS:
        return FM_JFR_SPAN_NS;
    case FM_JFR_V0_TICKS:
        return FM_JFR_SPAN_TICKS;
    case FM_JFR_V0_ADDRESS:
        return FM_JFR_ADDRESS;
    case FM_JFR_V0_SHARE:
        return FM_JFR_SHARE;
    default:
        return FM_JFR_PLAIN;
    }
}

static enum fm_type key_type(const struct fm_jfr_v0_pool *pool)
{
    switch ((enum fm_jfr_v0_role)pool->role) {
    case FM_JFR_V0_THREAD:
    case FM_JFR_V0_OF_THREAD:
        return FM_TYPE_THREAD;
    case FM_JFR_V0_STACK:
        return FM_TYPE_STACK;
    default:
        return FM_TYPE_STRING;
    }
}

/* What a field that is no struct is, and how it is read. */
static void describe(const struct fm_jfr_v0 *v0, const struct fm_jfr_v0_field *f,
                     struct step *step, enum fm_type *type, const char **unit)
{
    enum fm_jfr_as as = as_of(f->content);
    bool is_unsigned = f->base == FM_JFR_V0_U1 || f->base == FM_JFR_V0_U2 ||
                       f->base == FM_JFR_V0_U4 || f->base == FM_JFR_V0_U8;
    *unit = NULL;
    *step = (struct step){.field = f, .as = (uint8_t)as, .slot = SIZE_MAX,
                          .pool = fm_jfr_v0_pool_find(v0, f->content)};
    if (f->base == FM_JFR_V0_BOOLEAN) {
        step->op = OP_NUMBER;
        *type = FM_TYPE_BOOL;
    } else if (fm_jfr_v0_is_number((enum fm_jfr_v0_base)f->base) && f->content != 0 &&
               step->pool != FM_JFR_V0_NONE) {
        step->op = OP_KEY;
        *type = key_type(&v0->pool[step->pool]);
    } else if (fm_jfr_v0_is_number((enum fm_jfr_v0_base)f->base)) {
        *type = fm_jfr_number_type(as, is_unsigned, unit);
        step->op = *type == FM_TYPE_TIME || *type == FM_TYPE_DUR ? OP_NS : OP_NUMBER;
    } else if (f->base == FM_JFR_V0_FLOAT || f->base == FM_JFR_V0_DOUBLE) {
        step->op = f->base == FM_JFR_V0_FLOAT ? OP_FLOAT : OP_DOUBLE;
        *type = FM_TYPE_F64;
        if (as == FM_JFR_SHARE)
            *unit = "share";
    } else if (fm_jfr_v0_is_text((enum fm_jfr_v0_base)f->base)) {
        step->op = OP_TEXT;
        *type = FM_TYPE_STRING;
    } else {
        step->op = OP_SKIP;
    }
}

/* Steps over the fields of a struct, in place. false: no memory. */
static bool make_steps(struct maker *m, uint32_t structure, const char *prefix)
{
    const struct fm_jfr_v0 *v0 = m->rd->v0;
    const struct fm_jfr_v0_struct *s = &v0->structure[structure];
    struct fm_arena *arena = v0->arena;
    for (uint32_t i = 0; i < s->fields; i++) {
        const struct fm_jfr_v0_field *f = &s->field[i];
        const char *name = f->name, *unit;
        struct step *step = &m->step[m->steps];
        enum fm_type type = FM_TYPE_STRING;
        if (prefix != NULL)
            name = fm_arena_printf(arena, "%s.%s", prefix, f->name);
        if (name == NULL)
            return false;
        if (f->base == FM_JFR_V0_STRUCT) {
            if (!make_steps(m, f->sub, name))
                return false;
            continue;
        }
        fm_assert(m->steps < m->cap);
        describe(v0, f, step, &type, &unit);
        m->steps++;
        if (step->op != OP_SKIP)
            step->slot = add_field(m, fm_jfr_v0_modern_field(m->type->name, name), type, unit);
    }
    return true;
}

/* The steps up to the last field that is wanted. */
static void trim(struct plan *plan)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->steps; i++) {
        struct step *step = &plan->step[i];
        if (step->slot == SIZE_MAX || !fm_jfr_event_wants(&plan->event, step->slot))
            step->op = OP_SKIP;
        else
            n = i + 1;
    }
    plan->steps = n;
}

/* Whether a type is asked for by its own name, which no rule knows. */
static bool asked(const struct fm_jfr_feed *feed, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = feed->events; s != NULL && *s != '\0'; s += *s == ',') {
        size_t word = strcspn(s, ",");
        if (word == n && memcmp(s, name, n) == 0)
            return true;
        s += word;
    }
    return false;
}

static bool make_plan(struct fm_jfr_v0_reading *rd, const struct fm_jfr_v0_type *type,
                      struct plan *plan)
{
    const struct fm_jfr_v0 *v0 = rd->v0;
    struct fm_arena *arena = v0->arena;
    struct maker m = {.rd = rd, .type = type};
    struct fm_jfr_extra extra;
    const char *modern = fm_jfr_v0_modern(type->name);
    bool own;
    m.cap = v0->structure[type->structure].steps;
    m.field = fm_arena_alloc(arena, (m.cap + 4) * sizeof *m.field);
    m.step = fm_arena_alloc(arena, (m.cap + 1) * sizeof *m.step);
    if (m.field == NULL || m.step == NULL)
        return false;
    plan->threads = fm_jfr_v0_pool_find(v0, FM_JFR_V0_THREADS);
    plan->stacks = fm_jfr_v0_pool_find(v0, FM_JFR_V0_STACKS);
    plan->start = add_field(&m, "startTime", FM_TYPE_TIME, "ns");
    plan->duration = type->start ? add_field(&m, "duration", FM_TYPE_DUR, "ns") : SIZE_MAX;
    plan->thread = type->thread ? add_field(&m, "eventThread", FM_TYPE_THREAD, NULL) : SIZE_MAX;
    plan->stack = type->stack ? add_field(&m, "stackTrace", FM_TYPE_STACK, NULL) : SIZE_MAX;
    if (!make_steps(&m, type->structure, NULL))
        return false;
    fm_jfr_extra_for(rd->chunk, modern, &extra);
    plan->step = m.step;
    plan->steps = m.steps;
    own = asked(rd->feed, type->name);
    if (own)
        fm_binding_only(rd->feed->binding, NULL);
    if (!fm_jfr_event_declare(rd->feed, arena, modern, m.field, m.fields, &extra, &plan->event))
        return false;
    if (own)
        fm_binding_only(rd->feed->binding, rd->feed->events);
    if (plan->event.id >= 0 && strcmp(modern, type->name) != 0)
        fm_builder_alias(rd->feed->builder, type->name, modern);
    trim(plan);
    if (strcmp(modern, "jdk.ExecutionSample") == 0 && extra.period == 0)
        fm_jfr_note(rd->feed, FM_DIAG_PERIOD_FREQ, type->first, type->count);
    return true;
}

/* --------------------------------------------------------------------------- events */

static void run_step(struct fm_jfr_v0_reading *rd, const struct step *step, int64_t time,
                     struct fm_cursor *c, struct fm_jfr_event *event)
{
    enum fm_jfr_v0_base base = (enum fm_jfr_v0_base)step->field->base;
    const char *s;
    size_t n;
    int64_t v;
    uint64_t lane;
    switch ((enum op)step->op) {
    case OP_SKIP:
        fm_jfr_v0_skip(rd->v0, step->field, c);
        break;
    case OP_NUMBER:
        v = fm_jfr_v0_number(c, base);
        if (step->as != FM_JFR_BYTES || v >= 0 || base == FM_JFR_V0_U8) /* -1: end of a stream */
            fm_jfr_event_set(event, step->slot, base == FM_JFR_V0_BOOLEAN ? v != 0 : (uint64_t)v);
        break;
    case OP_NS:
        v = fm_jfr_v0_number(c, base);
        if (fm_jfr_number_ns(&rd->chunk->clock, (enum fm_jfr_as)step->as, v, &v))
            fm_jfr_event_set(event, step->slot, (uint64_t)v);
        break;
    case OP_FLOAT: {
        uint32_t bits = fm_cursor_u32(c);
        float f;
        memcpy(&f, &bits, sizeof f);
        fm_jfr_event_set(event, step->slot, fm_f64_bits((double)f));
        break;
    }
    case OP_DOUBLE:
        fm_jfr_event_set(event, step->slot, fm_cursor_u64(c));
        break;
    case OP_TEXT:
        if (fm_jfr_v0_read_text(c, base, &rd->buf, &s, &n))
            fm_jfr_event_set(event, step->slot, fm_builder_str(rd->feed->builder, s, n));
        break;
    case OP_KEY:
        v = fm_jfr_v0_number(c, base);
        if (fm_cursor_ok(c) && fm_jfr_v0_lane(rd, step->pool, (uint64_t)v, time, &lane))
            fm_jfr_event_set(event, step->slot, lane);
        break;
    }
}

/* The event's own parts: times, thread, stack. *end = its end in ticks. */
static void run_parts(struct fm_jfr_v0_reading *rd, struct plan *plan,
                      const struct fm_jfr_v0_type *type, struct fm_cursor *c, int64_t *end)
{
    struct fm_jfr_event *event = &plan->event;
    int64_t start, ns;
    uint64_t lane, key;
    *end = fm_cursor_i64(c);
    start = type->start ? fm_cursor_i64(c) : *end;
    if (fm_jfr_clock_time(&rd->chunk->clock, start, &ns))
        fm_jfr_event_set(event, plan->start, (uint64_t)ns);
    if (type->start) {
        int64_t last;
        if (fm_jfr_clock_time(&rd->chunk->clock, *end, &last) &&
            !__builtin_sub_overflow(last, ns, &last))
            fm_jfr_event_set(event, plan->duration, (uint64_t)last);
    }
    if (type->thread) {
        key = fm_cursor_u32(c);
        if (plan->threads != FM_JFR_V0_NONE && fm_jfr_event_wants(event, plan->thread) &&
            fm_jfr_v0_lane(rd, plan->threads, key, *end, &lane))
            fm_jfr_event_set(event, plan->thread, lane);
    }
    if (type->stack) {
        key = fm_cursor_u64(c);
        if (!fm_jfr_event_wants(event, plan->stack))
            return;
        lane = fm_jfr_no_stack(rd->feed, key == 0 ? FM_JFR_NO_STACK : FM_JFR_UNKNOWN_STACK);
        if (plan->stacks != FM_JFR_V0_NONE)
            (void)fm_jfr_v0_lane(rd, plan->stacks, key, *end, &lane);
        fm_jfr_event_set(event, plan->stack, lane);
    }
}

static void drop_event(struct fm_jfr_v0_reading *rd, const struct plan *plan,
                       const struct fm_jfr_v0_type *type, const struct fm_jfr_v0_head *head)
{
    uint32_t event = fm_class_event(rd->feed->binding, plan->event.id);
    bool sample = event == FM_NONE ||
                  fm_builder_event_row(rd->feed->builder, event)->kind == FM_KIND_SAMPLE;
    fm_jfr_damage(rd->feed, sample ? FM_DIAGS : FM_DIAG_JFR_EVENT_BODY, FM_FORMAT, head->offset,
                  "event '%s' of %u bytes is shorter than its fields", type->name, head->size);
    if (!sample)
        return;
    fm_account_in(rd->feed->builder, 1);
    fm_account_drop(rd->feed->builder, FM_DIAG_JFR_EVENT_BODY, head->offset, 1);
}

static void read_event(struct fm_jfr_v0_reading *rd, struct plan *plan,
                       const struct fm_jfr_v0_type *type, const struct fm_jfr_v0_head *head)
{
    struct fm_cursor c = fm_jfr_cursor(head->p, head->have, head->offset);
    int64_t end;
    rd->offset = head->offset;
    fm_cursor_skip(&c, 8);
    fm_jfr_event_begin(&plan->event);
    run_parts(rd, plan, type, &c, &end);
    for (size_t i = 0; i < plan->steps && fm_cursor_ok(&c); i++)
        run_step(rd, &plan->step[i], end, &c, &plan->event);
    if (fm_cursor_ok(&c))
        fm_jfr_event_end(rd->feed, &plan->event, head->offset);
    else
        drop_event(rd, plan, type, head);
}

/* ------------------------------------------------------------------------ decoding */

static void count_named(struct fm_jfr_feed *feed, const char *name, uint64_t offset, uint64_t n)
{
    if (n > 0)
        fm_account_record(feed->builder, FM_ACCOUNT_RECORDS,
                          fm_builder_str(feed->builder, name, strlen(name)), offset, n);
}

static void account(const struct fm_jfr_chunk *chunk, struct fm_jfr_feed *feed)
{
    const struct fm_jfr_v0 *v0 = chunk->v0;
    uint64_t first = chunk->offset + FM_JFR_V0_HEADER;
    count_named(feed, "jdk.Metadata", v0->metadata, chunk->metadatas);
    count_named(feed, "jdk.CheckPoint", first, chunk->checkpoint_events);
    for (size_t i = 0; i < v0->types; i++)
        count_named(feed, v0->type[i].name, v0->type[i].first, v0->type[i].count);
    count_named(feed, "unknown event type", chunk->unknown_first, chunk->unknown);
}

/* Plans by type; NULL: no memory. */
static struct plan *make_plans(struct fm_jfr_v0_reading *rd)
{
    const struct fm_jfr_v0 *v0 = rd->v0;
    struct plan *plan = fm_arena_alloc(v0->arena, (v0->types + 1) * sizeof *plan);
    if (plan == NULL)
        return NULL;
    for (size_t i = 0; i < v0->types; i++) {
        const struct fm_jfr_v0_type *type = &v0->type[i];
        plan[i].event.id = FM_CLASS_UNMAPPED;
        if (type->count == 0)
            continue;
        if (type->structure == FM_JFR_V0_NONE || v0->structure[type->structure].steps == 0) {
            fm_jfr_damage(rd->feed, FM_DIAG_JFR_METADATA, FM_FORMAT, v0->metadata,
                          "event type '%s' has no fields that can be read", type->name);
            continue;
        }
        if (!make_plan(rd, type, &plan[i]))
            return NULL;
        if (plan[i].event.id == FM_CLASS_UNMAPPED)
            fm_account_record(rd->feed->builder, FM_ACCOUNT_NOT_MAPPED,
                              fm_builder_str(rd->feed->builder, type->name, strlen(type->name)),
                              type->first, type->count);
    }
    return plan;
}

enum fm_status fm_jfr_v0_decode(struct fm_jfr_chunk *chunk, struct fm_jfr_feed *feed,
                                struct fm_input *input, struct fm_error *err)
{
    struct fm_jfr_v0_reading rd = {.feed = feed, .chunk = chunk, .v0 = chunk->v0};
    struct fm_reader *reader = NULL;
    struct plan *plan;
    struct fm_jfr_v0_head head;
    struct fm_jfr_v0_walk w;
    enum fm_status status;
    if (!chunk->usable)
        return FM_OK;
    rd.buf.mem = chunk->mem;
    account(chunk, feed);
    plan = make_plans(&rd);
    if (plan == NULL)
        return fm_error_nomem(err);
    status = fm_reader_open(input, &reader, err);
    if (status == FM_OK)
        status = fm_jfr_v0_walk_init(&w, reader, chunk, err);
    if (status == FM_OK) {
        w.end = chunk->walked;
        while (fm_jfr_v0_next(&w, &head, FM_JFR_V0_EVENT)) {
            const struct fm_jfr_v0_type *type =
                head.type > FM_JFR_V0_CHECKPOINT ? fm_jfr_v0_type_find(rd.v0, head.type) : NULL;
            struct plan *p = type != NULL ? &plan[type - rd.v0->type] : NULL;
            if (p != NULL && p->event.id >= 0)
                read_event(&rd, p, type, &head);
        }
        status = w.status;
    }
    if (status == FM_OK && (feed->oom || rd.buf.oom || chunk->arena.oom))
        status = fm_error_nomem(err);
    fm_reader_close(reader);
    fm_jfr_buf_release(&rd.buf);
    return status;
}
