/*
 * class.c - classes of the mapping, and the arguments of events.
 *
 * A class is what an event is (its group: "X", "async", "i" …) with its category: "X/cpu_op", so
 * that rules tell producers' categories apart without looking at each event. Categories are a
 * list or text of the writer's choice: past MAX_CLASSES of them the group's own class takes all.
 *
 * Arguments are fields `args.a.b` (texts) and `num.a.b` (whole numbers): those that the mapping
 * names, and only for classes whose rules read them. Their values wait as
 * chains in c->arg, newest first, until the row is made:
 *
 *     chain -> {next, number of the name, lane} -> {next, …} -> 0
 *
 * Arguments that only the user names (--keep args.X, all) are labels of their own name; the first
 * value decides the type.
 */
#include "import/chrome/chrome.h"

#include "util/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define MAX_CLASSES 2000u
#define MAX_PATH 256u
#define MAX_DEPTH 4u                       /* of names inside args */
#define MAX_TEXT 4096u                     /* of an object that is kept as it stands */
#define INTO (UINT64_C(1) << 32)           /* a name goes on below this path */
#define OWN_SHIFT 16                       /* of a path: its number + 1, that of the label + 1 */
#define NUM_SHIFT 33                       /* its number + 1 as a whole number */
#define PREFIX "args."
#define NUM_PREFIX "num."

static bool bit(const uint64_t *bits, size_t i)
{
    return (bits[i >> 6] >> (i & 63)) & 1;
}

static uint64_t hash(const char *s, size_t n)
{
    return XXH3_64bits(s, n);
}

/* ------------------------------------------------------------------ names of arguments */

/* The objects that lead to a path. */
static bool add_way(struct fm_chrome *c, const char *path)
{
    for (size_t i = 0; path[i]; i++) {
        if (path[i] != '.')
            continue;
        uint64_t *slot = fm_map_put(&c->arg_map, hash(path, i), NULL);
        if (!slot)
            return false;
        *slot |= INTO;
    }
    return true;
}

static bool add_name(struct fm_chrome *c, const char *name, bool number)
{
    size_t n = strlen(name);
    uint64_t *slot = fm_map_put(&c->arg_map, hash(name, n), NULL);
    if (!slot)
        return false;
    *slot |= (uint64_t)(c->arg_names + 1) << (number ? NUM_SHIFT : 0);
    c->arg_numeric[c->arg_names >> 6] |= (uint64_t)number << (c->arg_names & 63);
    c->arg_name[c->arg_names++] = name;
    return add_way(c, name);
}

/* A label by the path of an argument; its column is made with the first value. */
static bool add_own(struct fm_chrome *c, const char *path, size_t n)
{
    uint64_t *slot = fm_map_put(&c->arg_map, hash(path, n), NULL);
    char *copy = fm_arena_strn(&c->arena, path, n);
    if (!slot || !copy)
        return false;
    if (*slot >> OWN_SHIFT & 0xffff)
        return true;
    c->own[c->owns++] = (struct fm_chrome_own){copy, FM_TYPE_STRING, FM_NONE};
    *slot |= (uint64_t)c->owns << OWN_SHIFT;
    c->any_args = true;
    return add_way(c, copy);
}

/* Items "args.X" and "arg.X" of the user's list; "all". */
static bool add_owns(struct fm_chrome *c, const char *keep)
{
    while (keep && *keep) {
        size_t n = strcspn(keep, ","), skip = 0;
        if (n == 3 && memcmp(keep, "all", 3) == 0)
            c->all_args = c->any_args = true;
        if (n > 5 && memcmp(keep, "args.", 5) == 0)
            skip = 5;
        else if (n > 4 && memcmp(keep, "arg.", 4) == 0)
            skip = 4;
        if (skip && c->owns < FM_CHROME_OWNS && !add_own(c, keep + skip, n - skip))
            return false;
        keep += n + (keep[n] == ',');
    }
    return true;
}

bool fm_chrome_classes_init(struct fm_chrome *c)
{
    const size_t prefix = strlen(PREFIX), num_prefix = strlen(NUM_PREFIX);
    const char *name;
    fm_map_init(&c->class_map, c->mem);
    fm_map_init(&c->arg_map, c->mem);
    c->arg_name = fm_arena_alloc(&c->arena, FM_CHROME_ARGS_MAX * sizeof *c->arg_name);
    if (!c->arg_name || !fm_grow(c->mem, (void **)&c->arg, &c->arg_cap, 1, sizeof *c->arg))
        return false;
    c->args = 1;
    for (size_t i = 0; (name = fm_mapping_field(c->import->mapping, i)) != NULL; i++) {
        bool number = strncmp(name, NUM_PREFIX, num_prefix) == 0;
        if ((number || strncmp(name, PREFIX, prefix) == 0) &&
            c->arg_names < FM_CHROME_ARGS_MAX &&
            !add_name(c, name + (number ? num_prefix : prefix), number))
            return false;
    }
    c->own = fm_arena_alloc(&c->arena, FM_CHROME_OWNS * sizeof *c->own);
    return c->own && add_owns(c, c->import->options->keep);
}

void fm_chrome_classes_release(struct fm_chrome *c)
{
    fm_map_release(&c->class_map);
    fm_map_release(&c->arg_map);
    fm_mem_free(c->mem, c->class, c->class_cap * sizeof *c->class);
    fm_mem_free(c->mem, c->arg, c->arg_cap * sizeof *c->arg);
}

/* ------------------------------------------------------------------ classes */

static const char *class_name(struct fm_chrome *c, const struct fm_chrome_group *group, fm_str cat)
{
    size_t n, g = strlen(group->name);
    const char *s = fm_builder_str_text(c->builder, cat, &n);
    if (cat == 0)
        return group->name;
    char *name = fm_arena_alloc(&c->arena, g + n + 2);
    if (name) {
        memcpy(name, group->name, g);
        name[g] = '/';
        memcpy(name + g + 1, s, n);
    }
    return name;
}

static bool declare(struct fm_chrome *c, struct fm_chrome_class *class)
{
    const struct fm_chrome_group *group = class->group;
    struct fm_field field[FM_CHROME_FIELDS];
    uint64_t wanted[FM_CHROME_FIELDS / 64] = {0};
    size_t n = group->fields;
    const char *name = class_name(c, group, class->cat);
    fm_assert(n + FM_CHROME_ARGS_MAX <= FM_CHROME_FIELDS);
    if (!name)
        return false;
    memcpy(field, group->field, n * sizeof *field);
    for (size_t i = 0; group->args && i < c->arg_names; i++) {
        bool number = bit(c->arg_numeric, i);
        char *full = fm_arena_printf(&c->arena, "%s%s", number ? NUM_PREFIX : PREFIX,
                                     c->arg_name[i]);
        if (!full)
            return false;
        field[n++] = (struct fm_field){full, number ? FM_TYPE_I64 : FM_TYPE_STRING, NULL};
    }
    class->name = fm_builder_str(c->builder, name, strlen(name));
    class->id = fm_class_declare(c->binding, name, field, n, 0, wanted);
    for (size_t i = group->fields; i < n; i++) {
        size_t arg = i - group->fields;
        class->args |= bit(wanted, i);
        c->arg_wanted[arg >> 6] |= (uint64_t)bit(wanted, i) << (arg & 63);
    }
    class->args |= group->args && (c->owns > 0 || c->all_args);
    class->wanted = wanted[0];
    c->any_args |= class->args;
    return class->id != -2;
}

uint32_t fm_chrome_class(struct fm_chrome *c, const struct fm_chrome_group *group, fm_str cat)
{
    uint64_t key = fm_mix((uintptr_t)group, cat);
    uint64_t *slot = fm_map_find(&c->class_map, key);
    if (slot && c->class[*slot].group == group &&
        (c->class[*slot].cat == cat || c->classes > MAX_CLASSES))
        return (uint32_t)*slot;
    if (c->classes > MAX_CLASSES && cat != 0)
        return fm_chrome_class(c, group, 0);
    struct fm_chrome_class class = {.group = group, .cat = cat};
    if (!fm_grow(c->mem, (void **)&c->class, &c->class_cap, c->classes + 1, sizeof *c->class) ||
        !declare(c, &class) || !(slot = fm_map_put(&c->class_map, key, NULL))) {
        c->oom = true;
        return UINT32_MAX;
    }
    *slot = c->classes;
    c->class[c->classes] = class;
    return (uint32_t)c->classes++;
}

/* ------------------------------------------------------------------ values of arguments */

uint32_t fm_chrome_hang(struct fm_chrome *c, uint32_t chain, uint32_t number, uint64_t lane)
{
    if (c->args >= UINT32_MAX ||
        !fm_grow(c->mem, (void **)&c->arg, &c->arg_cap, c->args + 1, sizeof *c->arg)) {
        c->oom = true;
        return chain;
    }
    c->arg[c->args] = (struct fm_chrome_arg){chain, number, lane};
    return (uint32_t)c->args++;
}

uint32_t fm_chrome_join(struct fm_chrome *c, uint32_t older, uint32_t newer)
{
    uint32_t last = newer;
    while (c->arg[last].next)
        last = c->arg[last].next;
    c->arg[last].next = older;
    return newer;
}

static bool value_str(struct fm_chrome *c, const struct fm_json_field *f, fm_str *str)
{
    switch (f->kind) {
    case FM_JSON_STRING:
    case FM_JSON_NUMBER: *str = fm_chrome_str(c, f); return true;
    case FM_JSON_TRUE: *str = fm_builder_str(c->builder, "true", 4); return true;
    case FM_JSON_FALSE: *str = fm_builder_str(c->builder, "false", 5); return true;
    case FM_JSON_OBJECT:
    case FM_JSON_ARRAY:
        *str = fm_builder_str(c->builder, f->text, FM_MIN(f->n, MAX_TEXT));
        return true;
    default: return false;
    }
}

static enum fm_type natural_type(const struct fm_json_field *f)
{
    int64_t i;
    if (f->kind == FM_JSON_NUMBER)
        return fm_text_i64(f->text, f->n, &i) ? FM_TYPE_I64 : FM_TYPE_F64;
    return f->kind == FM_JSON_TRUE || f->kind == FM_JSON_FALSE ? FM_TYPE_BOOL : FM_TYPE_STRING;
}

static void own_column(struct fm_chrome *c, struct fm_chrome_own *own,
                       const struct fm_json_field *f)
{
    own->type = natural_type(f);
    own->column = fm_builder_label(c->builder, own->path, own->type, false);
    /* A rule's label may have that name already. */
    for (int t = 0; own->column == FM_NONE && t <= FM_TYPE_ADDRESS; t++) {
        own->type = (enum fm_type)t;
        own->column = fm_builder_label(c->builder, own->path, own->type, false);
    }
}

static bool own_value(struct fm_chrome *c, const struct fm_chrome_own *own,
                      const struct fm_json_field *f, uint64_t *lane)
{
    double d;
    int64_t i;
    fm_str str;
    switch (own->type) {
    case FM_TYPE_STRING:
        if (!value_str(c, f, &str))
            return false;
        *lane = str;
        return true;
    case FM_TYPE_BOOL:
        *lane = f->kind == FM_JSON_TRUE;
        return f->kind == FM_JSON_TRUE || f->kind == FM_JSON_FALSE;
    case FM_TYPE_F64:
        if (f->kind != FM_JSON_NUMBER || !fm_text_f64(f->text, f->n, &d))
            return false;
        *lane = fm_f64_bits(d);
        return true;
    case FM_TYPE_I64:
    case FM_TYPE_TIME:
    case FM_TYPE_DUR:
        if (!fm_chrome_i64(f, &i))
            return false;
        *lane = (uint64_t)i;
        return true;
    default: return fm_text_u64(f->text, f->n, lane);
    }
}

static uint32_t hang_own(struct fm_chrome *c, uint32_t number, const struct fm_json_field *f,
                         uint32_t chain)
{
    struct fm_chrome_own *own = &c->own[number];
    uint64_t lane;
    if (f->kind == FM_JSON_NULL)
        return chain;
    if (own->column == FM_NONE)
        own_column(c, own, f);
    if (own->column != FM_NONE && own_value(c, own, f, &lane))
        return fm_chrome_hang(c, chain, FM_CHROME_HANG_OWN + number, lane);
    fm_chrome_diag(c, FM_DIAG_CHROME_ARG, FM_NO_OFFSET);
    return chain;
}

static uint32_t read_args(struct fm_chrome *c, const struct fm_json_field *args, char *path,
                          size_t path_n, unsigned depth, uint32_t chain);

/* A member whose path and way are known. */
static uint32_t take_arg(struct fm_chrome *c, const struct fm_json_field *f, uint64_t way,
                         uint32_t chain)
{
    const uint32_t text = way & 0xffff, number = way >> NUM_SHIFT & 0xffff;
    int64_t whole;
    fm_str str;
    if (text && bit(c->arg_wanted, text - 1) && value_str(c, f, &str))
        chain = fm_chrome_hang(c, chain, text - 1, str);
    if (number && bit(c->arg_wanted, number - 1) && fm_chrome_i64(f, &whole))
        chain = fm_chrome_hang(c, chain, number - 1, (uint64_t)whole);
    if (way >> OWN_SHIFT & 0xffff)
        chain = hang_own(c, (uint32_t)(way >> OWN_SHIFT & 0xffff) - 1, f, chain);
    return chain;
}

static uint32_t read_arg(struct fm_chrome *c, const struct fm_json_field *f, char *path,
                         size_t n, unsigned depth, uint32_t chain)
{
    if (n + f->key_n + 1 > MAX_PATH)
        return chain;
    if (n)
        path[n++] = '.';
    memcpy(path + n, f->key, f->key_n);
    n += f->key_n;
    const uint64_t *slot = fm_map_find(&c->arg_map, hash(path, n));
    uint64_t way = slot ? *slot : 0;
    bool into = f->kind == FM_JSON_OBJECT && depth < MAX_DEPTH;
    if (c->all_args && !into && !(way >> OWN_SHIFT & 0xffff) && c->owns < FM_CHROME_OWNS &&
        add_own(c, path, n))
        way = *fm_map_find(&c->arg_map, hash(path, n));
    if (into && (way & INTO || c->all_args))
        chain = read_args(c, f, path, n, depth + 1, chain);
    return take_arg(c, f, way, chain);
}

/* As deep as the mapping's names go. */
static uint32_t read_args(struct fm_chrome *c, const struct fm_json_field *args, char *path,
                          size_t path_n, unsigned depth, uint32_t chain)
{
    struct fm_json_object o;
    if (!fm_json_object_read(&o, args->text, args->n))
        return chain;
    do
        for (uint32_t i = 0; i < o.fields; i++)
            chain = read_arg(c, &o.field[i], path, path_n, depth, chain);
    while (fm_json_object_more(&o));
    return chain;
}

/* A member of an event that the scanner has split: its key is that of a shape, so where it lies
 * tells what it is. */
static uint32_t read_split(struct fm_chrome *c, const struct fm_json_field *f, uint32_t generation,
                           uint32_t chain)
{
    const size_t place = (uint64_t)(uintptr_t)f->key * UINT64_C(0x9e3779b97f4a7c15) >> 58;
    char path[MAX_PATH];
    if (c->all_args || f->kind == FM_JSON_OBJECT || f->key_n > MAX_PATH)
        return read_arg(c, f, path, 0, 1, chain);
    if (FM_UNLIKELY(c->arg_way[place].key != f->key ||
                    c->arg_way[place].generation != generation)) {
        const uint64_t *slot = fm_map_find(&c->arg_map, hash(f->key, f->key_n));
        c->arg_way[place].key = f->key;
        c->arg_way[place].generation = generation;
        c->arg_way[place].way = slot ? *slot : 0;
    }
    return take_arg(c, f, c->arg_way[place].way, chain);
}

uint32_t fm_chrome_args(struct fm_chrome *c, const struct fm_json_field *args, uint32_t chain)
{
    const struct fm_json_object *o = c->event.object;
    char path[MAX_PATH];
    if (!args || args->kind != FM_JSON_OBJECT || !c->any_args)
        return chain;
    if (!args->split)
        return read_args(c, args, path, 0, 1, chain);
    for (uint32_t i = 0; i < args->inner_n; i++)
        chain = read_split(c, &o->inner[args->inner + i], fm_json_generation(o), chain);
    return chain;
}

/* ------------------------------------------------------------------ rows */

static void put_args(const struct fm_chrome *c, size_t fields, uint64_t *value, uint64_t *present,
                     uint32_t chain)
{
    for (size_t i = (fields + 63) / 64; i < (fields + c->arg_names + 63) / 64; i++)
        present[i] = 0;
    for (; chain; chain = c->arg[chain].next) {
        size_t f = fields + c->arg[chain].number;
        if (c->arg[chain].number >= c->arg_names || (present[f >> 6] >> (f & 63)) & 1)
            continue;                  /* the newest counts */
        value[f] = c->arg[chain].lane;
        present[f >> 6] |= UINT64_C(1) << (f & 63);
    }
}

static void put_owns(struct fm_chrome *c, uint64_t row, uint32_t chain)
{
    uint64_t seen[FM_CHROME_OWNS / 64] = {0};
    for (; chain; chain = c->arg[chain].next) {
        uint32_t number = c->arg[chain].number - FM_CHROME_HANG_OWN;
        if (c->arg[chain].number < FM_CHROME_HANG_OWN || (seen[number >> 6] >> (number & 63)) & 1)
            continue;
        seen[number >> 6] |= UINT64_C(1) << (number & 63);
        fm_row_patch(c->builder, row, c->own[number].column, c->arg[chain].lane);
    }
}

uint64_t fm_chrome_row(struct fm_chrome *c, uint32_t class_index, uint64_t *value,
                       uint64_t *present, uint32_t chain, uint64_t offset)
{
    const struct fm_chrome_class *class = &c->class[class_index];
    if (class->id == FM_CLASS_NOT_ASKED)
        return UINT64_MAX;
    if (class->id < 0) {
        fm_account_record(c->builder, FM_ACCOUNT_NOT_MAPPED, class->name, offset, 1);
        return UINT64_MAX;
    }
    if (c->arg_names)
        put_args(c, class->group->fields, value, present, class->args ? chain : 0);
    fm_binding_at(c->binding, offset);
    uint64_t row = fm_event(c->binding, class->id, value, present);
    if (c->owns && chain && row != UINT64_MAX)
        put_owns(c, row, chain);
    return row;
}

void fm_chrome_links(struct fm_chrome *c, uint32_t class_index, uint64_t *value,
                     uint64_t *present, uint32_t chain, uint64_t row)
{
    const struct fm_chrome_class *class = &c->class[class_index];
    if (c->arg_names)
        put_args(c, class->group->fields, value, present, class->args ? chain : 0);
    fm_event_links(c->binding, class->id, value, present, row);
}
