/*
 * class.c - classes of the mapping, and the arguments of events.
 *
 * A class is what an event is (its group: "X", "async", "i" …) with its category: "X/cpu_op", so
 * that rules tell producers' categories apart without looking at each event. Categories are a
 * list or text of the writer's choice: past MAX_CLASSES of them the group's own class takes all.
 *
 * Arguments are fields `args.a.b`: those that the mapping names, and only for classes whose rules
 * read them. Their values wait as chains in c->arg, newest first, until the row is made:
 *
 *     chain -> {next, number of the name, lane} -> {next, …} -> 0
 */
#include "import/chrome/chrome.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define MAX_CLASSES 2000u
#define MAX_PATH 256u
#define MAX_DEPTH 4u                       /* of names inside args */
#define MAX_TEXT 4096u                     /* of an object that is kept as it stands */
#define INTO (UINT64_C(1) << 32)           /* a name goes on below this path */
#define PREFIX "args."

static uint64_t hash(const char *s, size_t n)
{
    return XXH3_64bits(s, n);
}

/* ------------------------------------------------------------------ names of arguments */

static bool add_name(struct fm_chrome *c, const char *name)
{
    size_t n = strlen(name);
    uint64_t *slot = fm_map_put(&c->arg_map, hash(name, n), NULL);
    if (!slot)
        return false;
    *slot = (*slot & INTO) | (c->arg_names + 1);
    for (size_t i = 0; i < n; i++) {
        if (name[i] != '.')
            continue;
        slot = fm_map_put(&c->arg_map, hash(name, i), NULL);
        if (!slot)
            return false;
        *slot |= INTO;
    }
    c->arg_name[c->arg_names++] = name;
    return true;
}

bool fm_chrome_classes_init(struct fm_chrome *c)
{
    const size_t prefix = strlen(PREFIX);
    const char *name;
    fm_map_init(&c->class_map, c->mem);
    fm_map_init(&c->arg_map, c->mem);
    c->arg_name = fm_arena_alloc(&c->arena, FM_CHROME_ARGS_MAX * sizeof *c->arg_name);
    if (!c->arg_name || !fm_grow(c->mem, (void **)&c->arg, &c->arg_cap, 1, sizeof *c->arg))
        return false;
    c->args = 1;
    for (size_t i = 0; (name = fm_mapping_field(c->import->mapping, i)) != NULL; i++) {
        if (strncmp(name, PREFIX, prefix) == 0 && c->arg_names < FM_CHROME_ARGS_MAX &&
            !add_name(c, name + prefix))
            return false;
    }
    return true;
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
        char *full = fm_arena_printf(&c->arena, PREFIX "%s", c->arg_name[i]);
        if (!full)
            return false;
        field[n++] = (struct fm_field){full, FM_TYPE_STRING, NULL};
    }
    class->name = fm_builder_str(c->builder, name, strlen(name));
    class->id = fm_class_declare(c->binding, name, field, n, 0, wanted);
    for (size_t i = group->fields; i < n; i++)
        class->args |= (wanted[i >> 6] >> (i & 63)) & 1;
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
    slot = fm_map_put(&c->class_map, key, NULL);
    if (!slot || !declare(c, &class) ||
        !fm_grow(c->mem, (void **)&c->class, &c->class_cap, c->classes + 1, sizeof *c->class)) {
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

/* As deep as the mapping's names go. */
static uint32_t read_args(struct fm_chrome *c, const struct fm_json_field *args, char *path,
                          size_t path_n, unsigned depth, uint32_t chain)
{
    struct fm_json_object o;
    fm_str str;
    if (!fm_json_object_read(&o, args->text, args->n))
        return chain;
    do {
        for (uint32_t i = 0; i < o.fields; i++) {
            const struct fm_json_field *f = &o.field[i];
            size_t n = path_n;
            if (n + f->key_n + 1 > MAX_PATH)
                continue;
            if (n)
                path[n++] = '.';
            memcpy(path + n, f->key, f->key_n);
            n += f->key_n;
            const uint64_t *slot = fm_map_find(&c->arg_map, hash(path, n));
            if (!slot)
                continue;
            if (*slot & INTO && f->kind == FM_JSON_OBJECT && depth < MAX_DEPTH)
                chain = read_args(c, f, path, n, depth + 1, chain);
            if ((uint32_t)*slot && value_str(c, f, &str))
                chain = fm_chrome_hang(c, chain, (uint32_t)*slot - 1, str);
        }
    } while (fm_json_object_more(&o));
    return chain;
}

uint32_t fm_chrome_args(struct fm_chrome *c, const struct fm_json_field *args, uint32_t chain)
{
    char path[MAX_PATH];
    if (!args || args->kind != FM_JSON_OBJECT || c->arg_names == 0)
        return chain;
    return read_args(c, args, path, 0, 1, chain);
}

/* ------------------------------------------------------------------ rows */

uint64_t fm_chrome_row(struct fm_chrome *c, uint32_t class_index, uint64_t *value,
                       uint64_t *present, uint32_t chain, uint64_t offset)
{
    const struct fm_chrome_class *class = &c->class[class_index];
    size_t fields = class->group->fields;
    if (class->id < 0) {
        fm_account_record(c->builder, FM_ACCOUNT_NOT_MAPPED, class->name, offset, 1);
        return UINT64_MAX;
    }
    if (class->args) {
        for (size_t i = (fields + 63) / 64; i < (fields + c->arg_names + 63) / 64; i++)
            present[i] = 0;
        for (; chain; chain = c->arg[chain].next) {
            size_t f = fields + c->arg[chain].number;
            if (c->arg[chain].number >= c->arg_names || (present[f >> 6] >> (f & 63)) & 1)
                continue;              /* the newest counts */
            value[f] = c->arg[chain].lane;
            present[f >> 6] |= UINT64_C(1) << (f & 63);
        }
    } else if (c->arg_names) {
        for (size_t i = (fields + 63) / 64; i < (fields + c->arg_names + 63) / 64; i++)
            present[i] = 0;
    }
    fm_binding_at(c->binding, offset);
    return fm_event(c->binding, class->id, value, present);
}
