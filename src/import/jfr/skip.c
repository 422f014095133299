/*
 * skip.c - stepping over values of any type, and picking a few fields out of them; see meta.h.
 *
 * A type becomes a flat list of steps: inline structs are part of their owner, so StackTrace (a
 * boolean, an array of four varints each) is two steps. Lists that would grow without end (a type
 * that holds itself) are refused by a limit on their length and depth.
 */
#include "import/jfr/meta.h"

#define MAX_STEPS 4096u             /* of one type */
#define MAX_ALL_STEPS ((size_t)1 << 20)
#define MAX_VISITS (1u << 22)       /* fields looked at, for all types of a chunk */
#define MAX_DEPTH 16u

struct maker {
    struct fm_jfr_meta *meta;
    size_t first;               /* step of this type */
    size_t border;              /* steps before it are not added to */
};

static bool push(struct maker *m, enum fm_jfr_skip_op op, uint32_t n)
{
    struct fm_jfr_meta *meta = m->meta;
    if (meta->skips > m->border) {
        struct fm_jfr_skip *last = &meta->skip[meta->skips - 1];
        if (last->op == op && op <= FM_JFR_SKIP_BYTES && n <= UINT32_MAX - last->n) {
            last->n += n;
            return true;
        }
    }
    if (meta->skips - m->first >= MAX_STEPS || meta->skips >= MAX_ALL_STEPS)
        return false;
    if (!fm_grow(meta->mem, (void **)&meta->skip, &meta->skip_cap, meta->skips + 1,
                 sizeof *meta->skip)) {
        meta->oom = true;
        return false;
    }
    meta->skip[meta->skips++] = (struct fm_jfr_skip){op, n};
    return true;
}

/* An integer as it is stored. */
static bool push_int(struct maker *m, uint32_t width)
{
    return m->meta->wide ? push(m, FM_JFR_SKIP_BYTES, width) : push(m, FM_JFR_SKIP_VARINTS, 1);
}

static bool push_base(struct maker *m, enum fm_jfr_base base)
{
    switch (base) {
    case FM_JFR_BOOLEAN:
    case FM_JFR_BYTE:
        return push(m, FM_JFR_SKIP_BYTES, 1);
    case FM_JFR_CHAR:
    case FM_JFR_SHORT:
        return push_int(m, 2);
    case FM_JFR_INT:
        return push_int(m, 4);
    case FM_JFR_LONG:
        return push_int(m, 8);
    case FM_JFR_FLOAT:
        return push(m, FM_JFR_SKIP_BYTES, 4);
    case FM_JFR_DOUBLE:
        return push(m, FM_JFR_SKIP_BYTES, 8);
    case FM_JFR_STRING:
        return push(m, FM_JFR_SKIP_STRING, 1);
    case FM_JFR_STRUCT:
    case FM_JFR_UNKNOWN:
        break;
    }
    return false;
}

static bool push_class(struct maker *m, uint32_t class, unsigned depth);

/* One element of a field, without regard to its dimension. */
static bool push_one(struct maker *m, const struct fm_jfr_field *f, unsigned depth)
{
    if (++m->meta->visits > MAX_VISITS)
        return false;
    if (f->pool)
        return push_int(m, 8);
    return f->class != FM_JFR_NO_CLASS && push_class(m, f->class, depth + 1);
}

static bool push_field(struct maker *m, const struct fm_jfr_field *f, unsigned depth)
{
    struct fm_jfr_meta *meta = m->meta;
    size_t at = meta->skips;
    struct fm_jfr_skip *array;
    uint32_t n;
    if (!f->array)
        return push_one(m, f, depth);
    m->border = at;
    if (!push(m, FM_JFR_SKIP_ARRAY, 0))
        return false;
    m->border = at + 1;
    if (!push_one(m, f, depth))
        return false;
    n = (uint32_t)(meta->skips - at - 1);
    if (n == 0)
        return false;               /* elements of no bytes: any count would fit */
    array = &meta->skip[at];
    array->n = n;
    if (n == 1 && array[1].op <= FM_JFR_SKIP_BYTES) {
        array->op = array[1].op == FM_JFR_SKIP_VARINTS ? FM_JFR_SKIP_ARRAY_VARINTS
                                                       : FM_JFR_SKIP_ARRAY_BYTES;
        array->n = array[1].n;
        meta->skips = at + 1;
    }
    m->border = meta->skips;
    return true;
}

static bool push_class(struct maker *m, uint32_t class, unsigned depth)
{
    const struct fm_jfr_class *c = &m->meta->class[class];
    if (depth > MAX_DEPTH)
        return false;
    if (c->base != FM_JFR_STRUCT)
        return push_base(m, (enum fm_jfr_base)c->base);
    for (uint32_t i = 0; i < c->fields; i++)
        if (!push_field(m, fm_jfr_field_at(m->meta, c, i), depth))
            return false;
    return true;
}

bool fm_jfr_class_skippable(struct fm_jfr_meta *meta, uint32_t class)
{
    struct fm_jfr_class *c = &meta->class[class];
    struct maker m = {meta, meta->skips, meta->skips};
    if (c->skippable != 0)
        return c->skippable == 1;
    c->skippable = 2;
    if (!push_class(&m, class, 0) || meta->skips == m.first) {
        meta->skips = m.first;
        return false;
    }
    c->skip.first = (uint32_t)m.first;
    c->skip.n = (uint32_t)(meta->skips - m.first);
    c->skippable = 1;
    return true;
}

bool fm_jfr_field_steps(struct fm_jfr_meta *meta, const struct fm_jfr_field *field)
{
    struct maker m = {meta, meta->skips, meta->skips};
    if (push_field(&m, field, 0))
        return true;
    meta->skips = m.first;
    return false;
}

/* Elements one by one. Each takes at least a byte, so a count beyond the bytes left ends soon. */
static void skip_array(const struct fm_jfr_skip *body, uint32_t n, struct fm_cursor *c)
{
    uint64_t count = fm_jfr_int(c, 4);
    if (count > fm_cursor_left(c)) {
        fm_cursor_skip(c, count);
        return;
    }
    for (; count > 0 && fm_cursor_ok(c); count--)
        fm_jfr_skip_run(body, n, c);
}

void fm_jfr_skip_run(const struct fm_jfr_skip *step, uint32_t n, struct fm_cursor *c)
{
    uint64_t count;
    for (uint32_t i = 0; i < n && fm_cursor_ok(c); i++) {
        switch ((enum fm_jfr_skip_op)step[i].op) {
        case FM_JFR_SKIP_VARINTS:
            fm_jfr_skip_varints(c, step[i].n);
            break;
        case FM_JFR_SKIP_BYTES:
            fm_cursor_skip(c, step[i].n);
            break;
        case FM_JFR_SKIP_STRING:
            (void)fm_jfr_text_skip(c);
            break;
        case FM_JFR_SKIP_ARRAY_VARINTS:
            count = fm_jfr_int(c, 4);
            fm_jfr_skip_varints(c, fm_mul_sat_u64(count, step[i].n));
            break;
        case FM_JFR_SKIP_ARRAY_BYTES:
            count = fm_jfr_int(c, 4);
            fm_cursor_skip(c, fm_mul_sat_u64(count, step[i].n));
            break;
        case FM_JFR_SKIP_ARRAY:
            skip_array(step + i + 1, step[i].n, c);
            i += step[i].n;
            break;
        }
    }
}

/* ------------------------------------------------------------------------ picks */

bool fm_jfr_pick_init(struct fm_jfr_pick *pick, struct fm_jfr_meta *meta, uint32_t class,
                      const char *const *name, size_t n)
{
    const struct fm_jfr_class *c;
    bool found = false;
    fm_assert(n <= FM_JFR_PICKS);
    memset(pick, 0, sizeof *pick);
    pick->meta = meta;
    pick->class = class;
    for (size_t k = 0; k < FM_JFR_PICKS; k++)
        pick->field[k] = UINT32_MAX;
    if (class == FM_JFR_NO_CLASS)
        return false;
    c = &meta->class[class];
    pick->slot = fm_arena_alloc(&meta->arena, (size_t)c->fields * sizeof *pick->slot);
    pick->skip = fm_arena_alloc(&meta->arena, (size_t)c->fields * sizeof *pick->skip);
    if (pick->slot == NULL || pick->skip == NULL) {
        meta->oom = true;
        return false;
    }
    for (uint32_t i = 0; i < c->fields; i++) {
        pick->slot[i] = -1;
        for (size_t k = 0; k < n; k++) {
            if (strcmp(fm_jfr_field_at(meta, c, i)->name, name[k]) != 0)
                continue;
            pick->slot[i] = (int8_t)k;
            pick->field[k] = i;
            pick->last = i;
            found = true;
        }
    }
    for (uint32_t i = 0; found && i <= pick->last; i++) {
        size_t first = meta->skips;
        if (!fm_jfr_field_steps(meta, fm_jfr_field_at(meta, c, i)))
            return false;
        pick->skip[i] = (struct fm_jfr_steps){(uint32_t)first, (uint32_t)(meta->skips - first)};
    }
    return found;
}

static bool read_raw(const struct fm_jfr_pick *pick, uint32_t i, struct fm_cursor *c,
                     struct fm_jfr_buf *buf, struct fm_jfr_raw *out)
{
    const struct fm_jfr_meta *meta = pick->meta;
    const struct fm_jfr_field *f = fm_jfr_field_at(meta, &meta->class[pick->class], i);
    const struct fm_jfr_steps *s = &pick->skip[i];
    uint8_t base = f->class != FM_JFR_NO_CLASS ? meta->class[f->class].base : FM_JFR_UNKNOWN;
    out->has = true;
    if (f->array) {
        out->text.s = (const char *)c->p;
        out->text.n = fm_cursor_left(c);
        return true;
    }
    if (f->pool) {
        out->u = fm_jfr_int(c, 8);
        return true;
    }
    switch ((enum fm_jfr_base)base) {
    case FM_JFR_BOOLEAN:
    case FM_JFR_BYTE:
        out->u = fm_cursor_u8(c);
        break;
    case FM_JFR_INT:
        out->u = (uint64_t)(int64_t)(int32_t)fm_jfr_int(c, 4);
        break;
    case FM_JFR_CHAR:
    case FM_JFR_SHORT:
        out->u = fm_jfr_int(c, 2);
        break;
    case FM_JFR_LONG:
        out->u = fm_jfr_int(c, 8);
        break;
    case FM_JFR_STRING:
        fm_jfr_text_read(c, buf, &out->text);
        break;
    default:
        out->has = false;
        fm_jfr_skip_run(meta->skip + s->first, s->n, c);
        break;
    }
    return true;
}

bool fm_jfr_pick_read(const struct fm_jfr_pick *pick, struct fm_cursor *c,
                      struct fm_jfr_buf *buf, struct fm_jfr_raw *out)
{
    const struct fm_jfr_meta *meta = pick->meta;
    for (size_t k = 0; k < FM_JFR_PICKS; k++)
        out[k].has = false;
    for (uint32_t i = 0; i <= pick->last && fm_cursor_ok(c); i++) {
        int slot = pick->slot[i];
        const struct fm_jfr_steps *s = &pick->skip[i];
        bool here = slot >= 0;
        if (here)
            (void)read_raw(pick, i, c, &buf[slot], &out[slot]);
        if (!here || (i < pick->last && fm_jfr_field_at(meta, &meta->class[pick->class], i)->array))
            fm_jfr_skip_run(meta->skip + s->first, s->n, c);
    }
    return fm_cursor_ok(c);
}
