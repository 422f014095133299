/*
 * v0_meta.c - the metadata event of version 0.9, and values by it; see v0.h.
 *
 * What a hostile file could make endless is measured once for each struct: how many fields a value
 * has with those of the structs inside it (at most STEPS_MAX), how deep these lie (DEPTH_MAX), and
 * how many bytes the shortest value takes. Elements of arrays take at least a byte each.
 */
#include "import/jfr/v0.h"

#define STEPS_MAX 4096u
#define DEPTH_MAX 16u

/* Bytes that one of these takes at least. */
#define PRODUCER_LEAST 26u
#define FIELD_LEAST 20u
#define TYPE_LEAST 22u
#define POOL_LEAST 13u

struct parse {
    struct fm_jfr_v0 *v0;
    struct fm_cursor c;
    const char *why;
};

static bool wrong(struct parse *p, const char *why)
{
    if (p->why == NULL)
        p->why = why;
    return false;
}

static bool no_memory(struct parse *p)
{
    p->v0->arena->oom = true;
    return wrong(p, "no memory");
}

static bool utf(struct parse *p, const char **s, size_t *n)
{
    *n = fm_cursor_u16(&p->c);
    *s = (const char *)fm_cursor_bytes(&p->c, *n);
    return *s != NULL || wrong(p, "a text is cut");
}

static bool skip_utf(struct parse *p)
{
    const char *s;
    size_t n;
    return utf(p, &s, &n);
}

/* A count of things of at least `least` bytes. */
static bool count(struct parse *p, size_t least, uint32_t *n)
{
    int32_t v = fm_cursor_i32(&p->c);
    if (!fm_cursor_ok(&p->c) || v < 0 || (uint32_t)v > fm_cursor_left(&p->c) / least)
        return wrong(p, "a count is impossible");
    *n = (uint32_t)v;
    return true;
}

/* --------------------------------------------------------------------- types */

static bool read_field(struct parse *p, struct fm_jfr_v0_field *f, size_t base)
{
    const char *s;
    size_t n;
    int32_t sub;
    if (!utf(p, &s, &n) || !skip_utf(p) || !skip_utf(p))
        return false;
    f->name = fm_arena_strn(p->v0->arena, s, n);
    (void)fm_cursor_u8(&p->c);
    f->base = fm_cursor_u8(&p->c);
    f->content = fm_cursor_i32(&p->c);
    sub = fm_cursor_i32(&p->c);
    fm_cursor_skip(&p->c, 4);
    if (f->name == NULL)
        return no_memory(p);
    if (!fm_cursor_ok(&p->c) || f->base >= FM_JFR_V0_BASES)
        return wrong(p, "a field's type is unknown");
    f->sub = FM_JFR_V0_NONE;
    if (f->base == FM_JFR_V0_ARRAY)
        f->sub = sub >= 0 && sub < FM_JFR_V0_ARRAY ? (uint32_t)sub : FM_JFR_V0_NONE;
    else if (f->base >= FM_JFR_V0_STRUCT && sub >= 0)
        f->sub = (uint32_t)FM_MIN(base + (size_t)sub, (size_t)FM_JFR_V0_NONE);
    return true;
}

static bool read_structs(struct parse *p, size_t base)
{
    struct fm_jfr_v0 *v0 = p->v0;
    uint32_t n;
    if (!count(p, 4, &n))
        return false;
    if (!fm_grow(v0->mem, (void **)&v0->structure, &v0->structure_cap, base + n,
                 sizeof *v0->structure))
        return no_memory(p);
    for (uint32_t i = 0; i < n; i++) {
        struct fm_jfr_v0_struct *s = &v0->structure[base + i];
        uint32_t fields;
        if (!count(p, FIELD_LEAST, &fields))
            return false;
        memset(s, 0, sizeof *s);
        s->fields = fields;
        s->field = fm_arena_alloc(v0->arena, fields * sizeof *s->field);
        if (s->field == NULL)
            return no_memory(p);
        for (uint32_t k = 0; k < fields; k++)
            if (!read_field(p, &s->field[k], base))
                return false;
        v0->structures++;
    }
    return true;
}

static uint32_t struct_of(const struct fm_jfr_v0 *v0, size_t base, int32_t local)
{
    return local >= 0 && base + (size_t)local < v0->structures ? (uint32_t)(base + (size_t)local)
                                                               : FM_JFR_V0_NONE;
}

static bool read_types(struct parse *p, size_t base, const char *uri, size_t uri_n)
{
    struct fm_jfr_v0 *v0 = p->v0;
    uint32_t n;
    if (!count(p, TYPE_LEAST, &n))
        return false;
    if (!fm_grow(v0->mem, (void **)&v0->type, &v0->type_cap, v0->types + n, sizeof *v0->type))
        return no_memory(p);
    for (; n > 0; n--) {
        struct fm_jfr_v0_type *t = &v0->type[v0->types];
        const char *path;
        size_t path_n;
        uint64_t *place;
        bool fresh;
        memset(t, 0, sizeof *t);
        t->id = fm_cursor_i32(&p->c);
        if (!skip_utf(p) || !skip_utf(p) || !utf(p, &path, &path_n))
            return false;
        t->start = fm_cursor_u8(&p->c) != 0;
        t->thread = fm_cursor_u8(&p->c) != 0;
        t->stack = fm_cursor_u8(&p->c) != 0;
        (void)fm_cursor_u8(&p->c);
        t->structure = struct_of(v0, base, fm_cursor_i32(&p->c));
        fm_cursor_skip(&p->c, 4);
        t->name = fm_jfr_v0_type_name(v0->arena, uri, uri_n, path, path_n);
        place = fm_map_put(&v0->type_ix, (uint32_t)t->id, &fresh);
        if (t->name == NULL || place == NULL)
            return no_memory(p);
        if (fresh)
            *place = v0->types++;
    }
    return fm_cursor_ok(&p->c) || wrong(p, "the event types are cut");
}

static uint8_t role_of(int32_t id, const char *name, size_t n)
{
    static const struct {
        const char *name;
        uint8_t role;
    } roles[] = {{"Thread", FM_JFR_V0_THREAD}, {"JavaThread", FM_JFR_V0_OF_THREAD},
                 {"VMThread", FM_JFR_V0_OF_THREAD}, {"StackTrace", FM_JFR_V0_STACK},
                 {"Class", FM_JFR_V0_CLASS}, {"Method", FM_JFR_V0_METHOD}};
    if (id == FM_JFR_V0_THREADS)
        return FM_JFR_V0_THREAD;
    if (id == FM_JFR_V0_STACKS)
        return FM_JFR_V0_STACK;
    for (size_t i = 0; i < FM_COUNT(roles); i++)
        if (strlen(roles[i].name) == n && memcmp(roles[i].name, name, n) == 0)
            return roles[i].role;
    return FM_JFR_V0_TEXT;
}

static bool read_pools(struct parse *p, size_t base)
{
    struct fm_jfr_v0 *v0 = p->v0;
    uint32_t n;
    if (!count(p, POOL_LEAST, &n))
        return false;
    if (!fm_grow(v0->mem, (void **)&v0->pool, &v0->pool_cap, v0->pools + n, sizeof *v0->pool))
        return no_memory(p);
    for (; n > 0; n--) {
        struct fm_jfr_v0_pool *pool = &v0->pool[v0->pools];
        const char *name;
        size_t name_n;
        uint64_t *place;
        bool fresh;
        pool->id = fm_cursor_i32(&p->c);
        if (!utf(p, &name, &name_n) || !skip_utf(p))
            return false;
        pool->role = role_of(pool->id, name, name_n);
        pool->key = fm_cursor_u8(&p->c);
        pool->structure = struct_of(v0, base, fm_cursor_i32(&p->c));
        if (!fm_cursor_ok(&p->c) || !fm_jfr_v0_is_number((enum fm_jfr_v0_base)pool->key))
            return wrong(p, "a pool's keys are no numbers");
        place = fm_map_put(&v0->pool_ix, (uint32_t)pool->id, &fresh);
        if (place == NULL)
            return no_memory(p);
        if (fresh)
            *place = v0->pools++;
    }
    return true;
}

static bool read_producer(struct parse *p)
{
    const char *uri;
    size_t uri_n, base = p->v0->structures;
    uint32_t n;
    fm_cursor_skip(&p->c, 4);
    if (!skip_utf(p) || !skip_utf(p) || !utf(p, &uri, &uri_n) || !count(p, 2, &n))
        return false;
    for (; n > 0; n--)
        if (!skip_utf(p))
            return false;
    return read_structs(p, base) && read_types(p, base, uri, uri_n) && read_pools(p, base);
}

/* ------------------------------------------------------------------ measuring */

static bool measure(struct fm_jfr_v0 *v0, uint32_t structure, unsigned above);

/* Adds a field to its struct's measure; false: it cannot be read. */
static bool measure_field(struct fm_jfr_v0 *v0, const struct fm_jfr_v0_field *f, unsigned above,
                          struct fm_jfr_v0_struct *sum)
{
    static const uint8_t width[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 2, 4, 4};
    const struct fm_jfr_v0_struct *inner;
    sum->steps++;
    if (f->base < FM_JFR_V0_STRUCT) {
        sum->least += width[f->base];
        return f->base != FM_JFR_V0_ARRAY || f->sub != FM_JFR_V0_NONE;
    }
    if (!measure(v0, f->sub, above + 1))
        return false;
    inner = &v0->structure[f->sub];
    sum->depth = FM_MAX(sum->depth, (uint8_t)(inner->depth + 1));
    if (f->base == FM_JFR_V0_STRUCTS) {
        sum->least += 4;
        return inner->least > 0 && sum->depth <= DEPTH_MAX;
    }
    sum->least += inner->least;
    sum->steps += inner->steps;
    return sum->depth <= DEPTH_MAX;
}

/* false: it is unreadable, or holds itself (`asked` and still without steps). */
static bool measure(struct fm_jfr_v0 *v0, uint32_t structure, unsigned above)
{
    struct fm_jfr_v0_struct *s, sum = {.steps = 1};
    if (structure >= v0->structures || above > DEPTH_MAX)
        return false;
    s = &v0->structure[structure];
    if (s->asked)
        return s->steps > 0;
    s->asked = true;
    for (uint32_t i = 0; i < s->fields; i++)
        if (!measure_field(v0, &s->field[i], above, &sum) || sum.steps > STEPS_MAX)
            return false;
    s->steps = sum.steps;
    s->least = sum.least;
    s->depth = sum.depth;
    return true;
}

/* ------------------------------------------------------------------- the whole */

const char *fm_jfr_v0_metadata(struct fm_jfr_v0 *v0, struct fm_jfr_header *h,
                               const unsigned char *data, size_t n, uint64_t *where)
{
    struct parse p = {.v0 = v0, .c = fm_jfr_cursor(data, n, 0)};
    uint32_t producers;
    int64_t start_ms, end_ms;
    fm_map_init(&v0->type_ix, v0->mem);
    fm_map_init(&v0->pool_ix, v0->mem);
    fm_cursor_skip(&p.c, 4);
    if (fm_cursor_i32(&p.c) != 0)
        (void)wrong(&p, "it is none");
    else if (count(&p, PRODUCER_LEAST, &producers))
        while (producers-- > 0 && read_producer(&p))
            ;
    start_ms = fm_cursor_i64(&p.c);
    end_ms = fm_cursor_i64(&p.c);
    h->start_ticks = fm_cursor_i64(&p.c);
    h->per_second = fm_cursor_i64(&p.c);
    h->checkpoint = fm_cursor_u64(&p.c);
    if (p.why == NULL && !fm_cursor_ok(&p.c))
        (void)wrong(&p, "it is cut");
    if (p.why == NULL &&
        (h->per_second <= 0 || __builtin_mul_overflow(start_ms, 1000000, &h->start_ns)))
        (void)wrong(&p, "impossible times");
    if (__builtin_sub_overflow(end_ms, start_ms, &h->duration_ns) ||
        __builtin_mul_overflow(h->duration_ns, 1000000, &h->duration_ns))
        h->duration_ns = 0;
    for (size_t i = 0; i < v0->structures && p.why == NULL; i++)
        (void)measure(v0, (uint32_t)i, 0);
    *where = fm_cursor_offset(&p.c);
    return p.why;
}

void fm_jfr_v0_release(struct fm_jfr_v0 *v0)
{
    fm_map_release(&v0->type_ix);
    fm_map_release(&v0->pool_ix);
    fm_mem_free(v0->mem, v0->structure, v0->structure_cap * sizeof *v0->structure);
    fm_mem_free(v0->mem, v0->type, v0->type_cap * sizeof *v0->type);
    fm_mem_free(v0->mem, v0->pool, v0->pool_cap * sizeof *v0->pool);
    fm_mem_free(v0->mem, v0->entry, v0->entry_cap * sizeof *v0->entry);
}

struct fm_jfr_v0_type *fm_jfr_v0_type_find(const struct fm_jfr_v0 *v0, int32_t id)
{
    const uint64_t *at = fm_map_find(&v0->type_ix, (uint32_t)id);
    return at != NULL ? &v0->type[*at] : NULL;
}

uint32_t fm_jfr_v0_pool_find(const struct fm_jfr_v0 *v0, int32_t id)
{
    const uint64_t *at = fm_map_find(&v0->pool_ix, (uint32_t)id);
    return at != NULL ? (uint32_t)*at : FM_JFR_V0_NONE;
}

/* ---------------------------------------------------------------------- values */

int64_t fm_jfr_v0_number(struct fm_cursor *c, enum fm_jfr_v0_base base)
{
    switch (base) {
    case FM_JFR_V0_BYTE:
        return (int8_t)fm_cursor_u8(c);
    case FM_JFR_V0_BOOLEAN:
    case FM_JFR_V0_U1:
        return fm_cursor_u8(c);
    case FM_JFR_V0_SHORT:
        return (int16_t)fm_cursor_u16(c);
    case FM_JFR_V0_U2:
        return fm_cursor_u16(c);
    case FM_JFR_V0_INT:
        return fm_cursor_i32(c);
    case FM_JFR_V0_U4:
        return fm_cursor_u32(c);
    default:
        return fm_cursor_i64(c);
    }
}

static void skip_base(struct fm_cursor *c, enum fm_jfr_v0_base base)
{
    int32_t n;
    switch (base) {
    case FM_JFR_V0_FLOAT:
        fm_cursor_skip(c, 4);
        break;
    case FM_JFR_V0_DOUBLE:
        fm_cursor_skip(c, 8);
        break;
    case FM_JFR_V0_UTF8:
        fm_cursor_skip(c, fm_cursor_u16(c));
        break;
    case FM_JFR_V0_STRING:
        n = fm_cursor_i32(c);
        if (n > 0)
            fm_cursor_skip(c, 2 * (uint64_t)n);
        break;
    default:
        (void)fm_jfr_v0_number(c, base);
        break;
    }
}

void fm_jfr_v0_skip_struct(const struct fm_jfr_v0 *v0, uint32_t structure, struct fm_cursor *c)
{
    const struct fm_jfr_v0_struct *s;
    if (structure >= v0->structures || v0->structure[structure].steps == 0) {
        c->bad = true;
        return;
    }
    s = &v0->structure[structure];
    for (uint32_t i = 0; i < s->fields && fm_cursor_ok(c); i++)
        fm_jfr_v0_skip(v0, &s->field[i], c);
}

void fm_jfr_v0_skip(const struct fm_jfr_v0 *v0, const struct fm_jfr_v0_field *f,
                    struct fm_cursor *c)
{
    int32_t n;
    if (f->base < FM_JFR_V0_ARRAY) {
        skip_base(c, (enum fm_jfr_v0_base)f->base);
        return;
    }
    if (f->base == FM_JFR_V0_STRUCT) {
        fm_jfr_v0_skip_struct(v0, f->sub, c);
        return;
    }
    for (n = fm_cursor_i32(c); n > 0 && fm_cursor_ok(c); n--) {
        if (f->base == FM_JFR_V0_STRUCTS)
            fm_jfr_v0_skip_struct(v0, f->sub, c);
        else
            skip_base(c, (enum fm_jfr_v0_base)f->sub);
    }
}

static void put_unit(struct fm_jfr_buf *buf, uint32_t u)
{
    char s[4];
    size_t n = 0;
    if (u < 0x80) {
        s[n++] = (char)u;
    } else if (u < 0x800) {
        s[n++] = (char)(0xc0 | u >> 6);
        s[n++] = (char)(0x80 | (u & 0x3f));
    } else if (u < 0x10000) {
        s[n++] = (char)(0xe0 | u >> 12);
        s[n++] = (char)(0x80 | (u >> 6 & 0x3f));
        s[n++] = (char)(0x80 | (u & 0x3f));
    } else {
        s[n++] = (char)(0xf0 | u >> 18);
        s[n++] = (char)(0x80 | (u >> 12 & 0x3f));
        s[n++] = (char)(0x80 | (u >> 6 & 0x3f));
        s[n++] = (char)(0x80 | (u & 0x3f));
    }
    (void)fm_jfr_buf_add(buf, s, n);
}

/* UTF-16, surrogates joined. */
static bool read_units(struct fm_cursor *c, struct fm_jfr_buf *buf)
{
    int32_t n = fm_cursor_i32(c);
    buf->n = 0;
    if (n > 0 && (uint64_t)n * 2 > fm_cursor_left(c))
        c->bad = true;
    while (n-- > 0 && fm_cursor_ok(c) && !buf->oom) {
        uint32_t u = fm_cursor_u16(c);
        if (u >= 0xd800 && u < 0xdc00 && n > 0) {
            struct fm_cursor next = *c;
            uint32_t low = fm_cursor_u16(&next);
            if (low >= 0xdc00 && low < 0xe000) {
                u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
                *c = next;
                n--;
            }
        }
        put_unit(buf, u);
    }
    return fm_cursor_ok(c) && !buf->oom;
}

bool fm_jfr_v0_read_text(struct fm_cursor *c, enum fm_jfr_v0_base base, struct fm_jfr_buf *buf,
                         const char **s, size_t *n)
{
    if (base == FM_JFR_V0_STRING) {
        if (!read_units(c, buf))
            return false;
        *s = buf->n > 0 ? buf->p : "";
        *n = buf->n;
        return true;
    }
    *n = fm_cursor_u16(c);
    *s = (const char *)fm_cursor_bytes(c, *n);
    return *s != NULL && fm_jfr_utf8(buf, s, n);
}

const struct fm_jfr_v0_field *fm_jfr_v0_field_at(const struct fm_jfr_v0 *v0, uint32_t structure,
                                                 struct fm_cursor value, const char *name,
                                                 struct fm_cursor *at)
{
    const struct fm_jfr_v0_struct *s;
    if (structure >= v0->structures || v0->structure[structure].steps == 0)
        return NULL;
    s = &v0->structure[structure];
    for (uint32_t i = 0; i < s->fields && fm_cursor_ok(&value); i++) {
        if (strcmp(s->field[i].name, name) == 0) {
            *at = value;
            return &s->field[i];
        }
        fm_jfr_v0_skip(v0, &s->field[i], &value);
    }
    return NULL;
}
