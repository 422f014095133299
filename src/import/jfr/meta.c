/*
 * meta.c - reads the metadata event into classes; see meta.h. Stepping over values is in skip.c.
 */
#include "import/jfr/meta.h"

#include "util/text.h"

#define MAX_DEPTH 32u

struct parser {
    struct fm_jfr_meta *meta;
    struct fm_cursor *c;
    struct fm_jfr_buf buf;
    const char **string;        /* NULL: null */
    uint8_t *attr;              /* by string: the attribute of that name, or ATTRS */
    size_t strings;
    const char *why;
};

enum { ATTR_ID, ATTR_NAME, ATTR_SUPER, ATTR_SIMPLE, ATTR_CLASS, ATTR_POOL, ATTR_DIMENSION,
       ATTR_VALUE, ATTRS };
static const char *const attr_name[ATTRS] = {
    "id", "name", "superType", "simpleType", "class", "constantPool", "dimension", "value"};

struct element {
    const char *name;
    const char *attr[ATTRS];    /* NULL: absent */
    uint64_t children;
};

void fm_jfr_meta_init(struct fm_jfr_meta *meta, struct fm_mem *mem)
{
    memset(meta, 0, sizeof *meta);
    meta->mem = mem;
    fm_arena_init(&meta->arena, mem);
    fm_map_init(&meta->by_id, mem);
    for (size_t i = 0; i < FM_COUNT(meta->known); i++)
        meta->known[i] = FM_JFR_NO_CLASS;
    meta->string = FM_JFR_NO_CLASS;
}

void fm_jfr_meta_release(struct fm_jfr_meta *meta)
{
    struct fm_mem *mem = meta->mem;
    fm_arena_release(&meta->arena);
    fm_map_release(&meta->by_id);
    fm_mem_free(mem, meta->class, meta->class_cap * sizeof *meta->class);
    fm_mem_free(mem, meta->field, meta->field_cap * sizeof *meta->field);
    fm_mem_free(mem, meta->skip, meta->skip_cap * sizeof *meta->skip);
    fm_jfr_meta_init(meta, mem);
}

static bool fail(struct parser *p, const char *why)
{
    if (p->why == NULL)
        p->why = why;
    return false;
}

static bool nomem(struct parser *p)
{
    p->meta->oom = true;
    return fail(p, "no memory");
}

/* ----------------------------------------------------------------- strings and elements */

static uint8_t attribute(const char *s)
{
    for (size_t k = 0; k < ATTRS; k++)
        if (s[0] == attr_name[k][0] && strcmp(s, attr_name[k]) == 0)
            return (uint8_t)k;
    return ATTRS;
}

static bool read_strings(struct parser *p)
{
    uint64_t n = fm_jfr_int(p->c, 4);
    if (!fm_cursor_ok(p->c) || n > fm_cursor_left(p->c))
        return fail(p, "more strings than bytes");
    p->string = fm_arena_alloc(&p->meta->arena, (size_t)n * sizeof *p->string);
    p->attr = fm_arena_alloc(&p->meta->arena, (size_t)n);
    if (p->string == NULL || p->attr == NULL)
        return nomem(p);
    p->strings = (size_t)n;
    for (size_t i = 0; i < p->strings; i++) {
        struct fm_jfr_text t;
        fm_jfr_text_read(p->c, &p->buf, &t);
        p->attr[i] = ATTRS;
        if (t.kind == FM_JFR_TEXT_HERE) {
            p->string[i] = fm_arena_strn(&p->meta->arena, t.s, t.n);
            if (p->string[i] == NULL)
                return nomem(p);
            p->attr[i] = attribute(p->string[i]);
        } else if (t.kind != FM_JFR_TEXT_NULL) {
            if (t.encoding > 5)
                p->meta->encoding = t.encoding;
            return fail(p, t.kind == FM_JFR_TEXT_KEY ? "string that refers to a pool"
                           : t.encoding > 5 ? "string of unknown encoding"
                                            : "string that is cut");
        }
    }
    return true;
}

static const char *string_at(struct parser *p, uint64_t i)
{
    if (i < p->strings)
        return p->string[i] != NULL ? p->string[i] : "";
    fail(p, "number of a string that is not there");
    return "";
}

static bool read_element(struct parser *p, struct element *e)
{
    uint64_t n;
    memset(e, 0, sizeof *e);
    e->name = string_at(p, fm_jfr_int(p->c, 4));
    n = fm_jfr_int(p->c, 4);
    if (n > fm_cursor_left(p->c))
        return fail(p, "more attributes than bytes");
    for (uint64_t i = 0; i < n && fm_cursor_ok(p->c); i++) {
        uint64_t key = fm_jfr_int(p->c, 4);
        const char *value = string_at(p, fm_jfr_int(p->c, 4));
        (void)string_at(p, key);
        if (key < p->strings && p->attr[key] < ATTRS)
            e->attr[p->attr[key]] = value;
    }
    e->children = fm_jfr_int(p->c, 4);
    if (!fm_cursor_ok(p->c))
        return fail(p, "cut");
    if (e->children > fm_cursor_left(p->c))
        return fail(p, "more elements than bytes");
    return p->why == NULL;
}

/* Over the children of an element that means nothing here. */
static bool skip_children(struct parser *p, const struct element *e, unsigned depth)
{
    struct element child;
    if (depth > MAX_DEPTH)
        return e->children == 0 || fail(p, "elements nested too deep");
    for (uint64_t i = 0; i < e->children; i++)
        if (!read_element(p, &child) || !skip_children(p, &child, depth + 1))
            return false;
    return true;
}

static bool number(const char *s, uint64_t *out)
{
    int64_t i;
    if (s == NULL)
        return false;
    if (fm_text_i64(s, strlen(s), &i)) {
        *out = (uint64_t)i;
        return true;
    }
    return fm_text_u64(s, strlen(s), out);
}

static bool is_true(const char *s)
{
    return s != NULL && strcmp(s, "true") == 0;
}

/* ---------------------------------------------------------------------------- classes */

/* The name that later versions use. */
static const char *modern(struct parser *p, const char *name)
{
    static const char *const prefix[][2] = {
        {"com.oracle.jfr.types.", "jdk.types."}, {"com.oracle.jdk.", "jdk."},
        {"com.oracle.jfr.", "jdk.jfr."}};
    static const char *const changed[][2] = {
        {"jdk.AllocationRequiringGc", "jdk.AllocationRequiringGC"},
        {"jdk.GCG1MMU", "jdk.G1MMU"}};
    const char *out = name;
    for (size_t i = 0; i < FM_COUNT(prefix) && out == name; i++) {
        size_t n = strlen(prefix[i][0]);
        if (strncmp(name, prefix[i][0], n) == 0)
            out = fm_arena_printf(&p->meta->arena, "%s%s", prefix[i][1], name + n);
    }
    for (size_t i = 0; out != NULL && i < FM_COUNT(changed); i++)
        if (strcmp(out, changed[i][0]) == 0)
            out = changed[i][1];
    return out != NULL ? out : "";
}

static uint8_t base_of(const char *name)
{
    static const char *const text[] = {"", "boolean", "byte", "char", "short", "int", "long",
                                       "float", "double", "java.lang.String"};
    for (size_t i = 1; i < FM_COUNT(text); i++)
        if (strcmp(name, text[i]) == 0)
            return (uint8_t)i;
    return FM_JFR_STRUCT;
}

static uint8_t known_of(const char *name)
{
    static const char *const text[FM_JFR_KNOWN_TYPES] = {
        "", "java.lang.Thread", "java.lang.Class", "jdk.types.Method", "jdk.types.Symbol",
        "jdk.types.StackTrace", "jdk.types.StackFrame", "jdk.types.FrameType"};
    for (size_t i = 1; i < FM_COUNT(text); i++)
        if (strcmp(name, text[i]) == 0)
            return (uint8_t)i;
    return FM_JFR_PLAIN_TYPE;
}

/* Annotations of a field come as (type id, value) and are understood when all classes are known. */
struct note {
    uint64_t type;
    const char *value;          /* "" when there is none */
    size_t field;
};

struct classes {
    struct parser *p;
    struct note *note;
    size_t notes, note_cap;
};

static bool read_field(struct classes *k, const struct element *e)
{
    struct parser *p = k->p;
    struct fm_jfr_meta *meta = p->meta;
    struct fm_jfr_field *f;
    uint64_t dimension = 0;
    size_t at = meta->fields;
    if (!fm_grow(meta->mem, (void **)&meta->field, &meta->field_cap, at + 1, sizeof *f))
        return nomem(p);
    f = &meta->field[at];
    memset(f, 0, sizeof *f);
    f->name = e->attr[ATTR_NAME] != NULL ? e->attr[ATTR_NAME] : "";
    if (!number(e->attr[ATTR_CLASS], &f->type))
        return fail(p, "field without a type");
    f->pool = is_true(e->attr[ATTR_POOL]);
    f->array = number(e->attr[ATTR_DIMENSION], &dimension) && dimension != 0;
    f->class = FM_JFR_NO_CLASS;
    meta->fields++;
    for (uint64_t i = 0; i < e->children; i++) {
        struct element child;
        struct note note = {.field = at};
        if (!read_element(p, &child))
            return false;
        if (number(child.attr[ATTR_CLASS], &note.type)) {
            note.value = child.attr[ATTR_VALUE] != NULL ? child.attr[ATTR_VALUE] : "";
            if (!fm_grow(meta->mem, (void **)&k->note, &k->note_cap, k->notes + 1, sizeof note))
                return nomem(p);
            k->note[k->notes++] = note;
        }
        if (!skip_children(p, &child, 4))
            return false;
    }
    return true;
}

static bool read_class(struct classes *k, const struct element *e)
{
    struct parser *p = k->p;
    struct fm_jfr_meta *meta = p->meta;
    size_t at = meta->classes;
    const char *super = e->attr[ATTR_SUPER];
    struct fm_jfr_class *c;
    uint64_t *place;
    bool fresh;
    if (!fm_grow(meta->mem, (void **)&meta->class, &meta->class_cap, at + 1, sizeof *c))
        return nomem(p);
    c = &meta->class[at];
    memset(c, 0, sizeof *c);
    if (!number(e->attr[ATTR_ID], &c->id) || e->attr[ATTR_NAME] == NULL)
        return fail(p, "class without id and name");
    c->name = modern(p, e->attr[ATTR_NAME]);
    c->simple = is_true(e->attr[ATTR_SIMPLE]);
    c->event = super != NULL && strcmp(modern(p, super), "jdk.jfr.Event") == 0;
    c->field = (uint32_t)meta->fields;
    meta->classes++;
    for (uint64_t i = 0; i < e->children; i++) {
        struct element child;
        if (!read_element(p, &child))
            return false;
        if (strcmp(child.name, "field") == 0 ? !read_field(k, &child)
                                             : !skip_children(p, &child, 3))
            return false;
    }
    c->fields = (uint32_t)meta->fields - c->field;
    if (c->fields == 0 && super == NULL) {
        c->base = base_of(c->name);
        if (c->base == FM_JFR_STRUCT)
            c->base = FM_JFR_UNKNOWN;
    }
    c->known = known_of(c->name);
    place = fm_map_put(&meta->by_id, c->id, &fresh);
    if (place == NULL)
        return nomem(p);
    if (!fresh)
        return true;
    *place = at + 1;
    if (c->id < FM_JFR_SMALL_IDS)
        meta->by_small_id[c->id] = (uint32_t)at + 1;
    if (c->base == FM_JFR_STRING)
        meta->string = (uint32_t)at;
    if (c->known != FM_JFR_PLAIN_TYPE)
        meta->known[c->known] = (uint32_t)at;
    return true;
}

static bool read_tree(struct classes *k)
{
    struct parser *p = k->p;
    struct element root, part, class;
    if (!read_element(p, &root))
        return false;
    for (uint64_t i = 0; i < root.children; i++) {
        if (!read_element(p, &part))
            return false;
        if (strcmp(part.name, "metadata") != 0) {
            if (!skip_children(p, &part, 2))
                return false;
            continue;
        }
        for (uint64_t j = 0; j < part.children; j++) {
            if (!read_element(p, &class))
                return false;
            if (strcmp(class.name, "class") == 0 ? !read_class(k, &class)
                                                 : !skip_children(p, &class, 3))
                return false;
        }
    }
    return true;
}

/* --------------------------------------------------------------------------- meaning */

static uint8_t timestamp(const char *unit)
{
    static const char *const text[] = {"TICKS", "MILLISECONDS_SINCE_EPOCH",
                                       "NANOSECONDS_SINCE_EPOCH", "SECONDS_SINCE_EPOCH"};
    static const uint8_t as[] = {FM_JFR_TIME_TICKS, FM_JFR_TIME_MS, FM_JFR_TIME_NS,
                                 FM_JFR_TIME_S};
    for (size_t i = 0; i < FM_COUNT(text); i++)
        if (strcmp(unit, text[i]) == 0)
            return as[i];
    return FM_JFR_TIME_MS;      /* the annotation's own default */
}

static uint8_t timespan(const char *unit)
{
    static const char *const text[] = {"TICKS", "NANOSECONDS", "MICROSECONDS", "MILLISECONDS",
                                       "SECONDS"};
    static const uint8_t as[] = {FM_JFR_SPAN_TICKS, FM_JFR_SPAN_NS, FM_JFR_SPAN_US,
                                 FM_JFR_SPAN_MS, FM_JFR_SPAN_S};
    for (size_t i = 0; i < FM_COUNT(text); i++)
        if (strcmp(unit, text[i]) == 0)
            return as[i];
    return FM_JFR_SPAN_NS;
}

static void take_note(struct fm_jfr_meta *meta, const struct note *note)
{
    struct fm_jfr_field *f = &meta->field[note->field];
    uint32_t class = fm_jfr_meta_find(meta, note->type);
    const char *name = class != FM_JFR_NO_CLASS ? strrchr(meta->class[class].name, '.') : NULL;
    if (name == NULL)
        return;
    name++;
    if (strcmp(name, "Timestamp") == 0)
        f->as = timestamp(note->value);
    else if (strcmp(name, "Timespan") == 0)
        f->as = timespan(note->value);
    else if (strcmp(name, "DataAmount") == 0 || strcmp(name, "MemoryAmount") == 0)
        f->as = strcmp(note->value, "BITS") == 0 ? FM_JFR_BITS : FM_JFR_BYTES;
    else if (strcmp(name, "MemoryAddress") == 0)
        f->as = FM_JFR_ADDRESS;
    else if (strcmp(name, "Frequency") == 0 && f->as == FM_JFR_PLAIN)
        f->as = FM_JFR_HERTZ;
    else if (strcmp(name, "Percentage") == 0)
        f->as = FM_JFR_SHARE;
    else if (strcmp(name, "Unsigned") == 0)
        f->is_unsigned = true;
}

static void settle(struct classes *k)
{
    struct fm_jfr_meta *meta = k->p->meta;
    for (size_t i = 0; i < meta->fields; i++)
        meta->field[i].class = fm_jfr_meta_find(meta, meta->field[i].type);
    for (size_t i = 0; i < k->notes; i++)
        take_note(meta, &k->note[i]);
    for (size_t i = 0; i < meta->classes; i++) {
        const struct fm_jfr_class *c = &meta->class[i];
        for (uint32_t f = 0; c->event && f < c->fields; f++) {
            struct fm_jfr_field *field = &meta->field[c->field + f];
            if (field->as != FM_JFR_PLAIN)
                continue;
            if (strcmp(field->name, "startTime") == 0)
                field->as = FM_JFR_TIME_TICKS;
            else if (strcmp(field->name, "duration") == 0)
                field->as = FM_JFR_SPAN_TICKS;
        }
    }
}

bool fm_jfr_meta_read(struct fm_jfr_meta *meta, struct fm_cursor *c, const char **why)
{
    struct parser p = {.meta = meta, .c = c, .buf = {.mem = meta->mem}};
    struct classes k = {.p = &p};
    bool ok;
    (void)fm_jfr_int(c, 8);
    (void)fm_jfr_int(c, 8);
    meta->wide = c->wide;
    meta->id = fm_jfr_int(c, 8);
    meta->by_small_id = fm_arena_alloc(&meta->arena,
                                       FM_JFR_SMALL_IDS * sizeof *meta->by_small_id);
    ok = meta->by_small_id != NULL;
    ok = ok && read_strings(&p) && read_tree(&k);
    if (ok)
        settle(&k);
    fm_jfr_buf_release(&p.buf);
    fm_mem_free(meta->mem, k.note, k.note_cap * sizeof *k.note);
    meta->oom |= meta->arena.oom;
    *why = p.why;
    return ok && !meta->oom;
}

uint32_t fm_jfr_meta_named(const struct fm_jfr_meta *meta, const char *name)
{
    for (size_t i = 0; i < meta->classes; i++)
        if (strcmp(meta->class[i].name, name) == 0)
            return (uint32_t)i;
    return FM_JFR_NO_CLASS;
}
