/*
 * container.c - reads the keys of generic containers: fields, line rules, columns, layouts.
 *
 *     container: text      lines fields class blank order unmatched detect
 *     container: csv       container_csv.c
 *     container: json      rows framing strings members fields class detect
 *     container: jsonl     members fields class detect
 *     container: records   size head endian fields layouts class detect
 */
#include "format/container_parse.h"

#include "util/text.h"

static const char *const text_keys[] = {"detect", "class", "fields", "lines", "blank", "order",
                                        "unmatched"};
static const char *const csv_keys[] = {"detect", "class", "columns", "separator", "quote",
                                       "comment", "header", "groups", "tables", "from",
                                       "others", "lines", "missing", "unmatched"};
static const char *const json_keys[] = {"detect", "class", "fields", "members", "rows", "framing",
                                        "strings"};
static const char *const jsonl_keys[] = {"detect", "class", "fields", "members"};
static const char *const record_keys[] = {"detect", "class", "fields", "size", "head", "endian",
                                          "layouts"};

static const struct {
    const char *name;
    const char *const *key;
    size_t keys;
} containers[] = {
    [FM_CONTAINER_TEXT] = {"text", text_keys, FM_COUNT(text_keys)},
    [FM_CONTAINER_CSV] = {"csv", csv_keys, FM_COUNT(csv_keys)},
    [FM_CONTAINER_JSON] = {"json", json_keys, FM_COUNT(json_keys)},
    [FM_CONTAINER_JSONL] = {"jsonl", jsonl_keys, FM_COUNT(jsonl_keys)},
    [FM_CONTAINER_RECORDS] = {"records", record_keys, FM_COUNT(record_keys)},
};

static enum fm_container_kind find_container(const char *name)
{
    for (size_t i = FM_CONTAINER_TEXT; i < FM_COUNT(containers); i++)
        if (strcmp(containers[i].name, name) == 0)
            return (enum fm_container_kind)i;
    return FM_CONTAINER_NONE;
}

const char *const *fm_container_keys(const char *container, size_t *n)
{
    enum fm_container_kind kind = find_container(container);
    *n = kind == FM_CONTAINER_NONE ? 0 : containers[kind].keys;
    return kind == FM_CONTAINER_NONE ? NULL : containers[kind].key;
}

bool fm_cwrong(struct fm_rules_parser *p, const struct fm_yaml_node *node, const char *text)
{
    fm_yaml_error(fm_yaml_as(p->log, FM_YAML_TYPE), node, "%s", text);
    return false;
}

bool fm_cmissing(struct fm_rules_parser *p, const char *text)
{
    fm_yaml_error(fm_yaml_as(p->log, FM_YAML_MISSING), p->m->root, "%s", text);
    return false;
}

/* ------------------------------------------------------------------ fields */

uint32_t fm_container_find(const struct fm_container *c, const char *name)
{
    for (size_t i = 0; i < c->fields; i++)
        if (strcmp(c->field[i].name, name) == 0)
            return (uint32_t)i;
    return UINT32_MAX;
}

/* The field of that name, made as a text when it is new; there is room for it. */
uint32_t fm_container_add(struct fm_container *c, const char *name)
{
    uint32_t i = fm_container_find(c, name);
    if (i != UINT32_MAX)
        return i;
    c->field[c->fields] = (struct fm_cfield){
        .name = name, .type = FM_TYPE_STRING, .scale = 1, .factor = 1, .trim = true};
    return (uint32_t)c->fields++;
}

bool fm_container_type(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                       enum fm_type *type)
{
    static const char *const words[] = {"bool", "i64", "u64", "f64", "string", "time", "dur",
                                        "bytes", "address"};
    int k = fm_rules_word(p, node, "type", words, FM_COUNT(words));
    return k >= 0 && fm_type_find(words[k], type);
}

static bool parse_unit(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                       struct fm_cfield *f)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    static const int64_t scales[] = {1, 1000, 1000000, 1000000000};
    const char *text = fm_rules_text(p, node, "unit");
    if (!text)
        return false;
    f->unit = text;
    if (f->type != FM_TYPE_TIME && f->type != FM_TYPE_DUR)
        return true;
    if (strcmp(text, "clock") == 0 && f->type == FM_TYPE_TIME) {
        f->of_day = true;
        f->unit = "ns";
        f->wrap = UINT64_C(86400000000000);
        return true;
    }
    int k = fm_rules_word(p, node, "unit of time", units, FM_COUNT(units));
    if (k < 0)
        return false;
    f->scale = scales[k];
    f->unit = "ns";
    return true;
}

/* `wraps: BITS`: a counter of so many bits. */
static bool parse_wraps(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                        struct fm_cfield *f)
{
    uint32_t bits = 0;
    if (!fm_yaml_get(node, "wraps"))
        return true;
    if (!fm_rules_u32(p, node, "wraps", 8, 62, &bits))
        return false;
    bool number = f->type == FM_TYPE_U64 || f->type == FM_TYPE_I64 || f->type == FM_TYPE_TIME;
    if (!number || f->of_day || f->factor != 1)
        return fm_cwrong(p, node, "'wraps' belongs to times and integers without 'scale'");
    f->wrap = UINT64_C(1) << bits;
    if (f->type == FM_TYPE_TIME && !fm_mul_u64(f->wrap, (uint64_t)f->scale, &f->wrap))
        return fm_cwrong(p, node, "'wraps' comes to more nanoseconds than 64 bits hold");
    return true;
}

static bool parse_factor(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                         struct fm_cfield *f)
{
    if (node->type != FM_YAML_SCALAR || !fm_text_f64(node->text, node->n, &f->factor) ||
        !(f->factor != 0))
        return fm_cwrong(p, node, "'scale' must be a number other than 0");
    if (f->type == FM_TYPE_STRING || f->type == FM_TYPE_BOOL)
        return fm_cwrong(p, node, "'scale' needs a field that is a number");
    return true;
}

/* Text or a list of texts. */
bool fm_container_texts(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                        const char *what, const char *const **texts, size_t *count)
{
    size_t n = node->type == FM_YAML_LIST ? node->n : 1;
    const char **list = fm_rules_array(p, n, sizeof *list);
    if (!list)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!(list[i] = fm_rules_text(p, node->type == FM_YAML_LIST ? node->item[i] : node, what)))
            return false;
    *texts = list;
    *count = n;
    return true;
}

static bool parse_sources(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                          const char *what, struct fm_cfield *f)
{
    return fm_container_texts(p, node, what, &f->source, &f->sources);
}

/* What is in a field of an object: the value at a path, a key, or a sum. */
static bool parse_path(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                       struct fm_cfield *f)
{
    const struct fm_yaml_node *path = fm_yaml_get(node, "path"), *key = fm_yaml_get(node, "key"),
                              *sum = fm_yaml_get(node, "sum");
    if (!!path + !!key + !!sum > 1)
        return fm_cwrong(p, node, "a field has one of 'path', 'key' and 'sum'");
    if (sum)
        return (f->sum = fm_rules_text(p, sum, "sum")) != NULL;
    f->key = key != NULL;
    if (key)
        path = key;
    if (path && (!parse_sources(p, path, "path", f) || f->sources != 1))
        return f->sources > 1 ? fm_cwrong(p, path, "a path must be a text") : false;
    if (key && (f->source[0][0] == '\0' || f->source[0][strlen(f->source[0]) - 1] != '*'))
        return fm_cwrong(p, key, "the path of a 'key' ends with '*'");
    return true;
}

/* {type, unit, scale, hex, trim} and what a container adds to it. */
bool fm_container_field(struct fm_rules_parser *p, enum fm_container_kind kind,
                        const struct fm_yaml_node *node, struct fm_cfield *f)
{
    static const char *const keys[] = {"type", "unit", "scale", "hex", "trim", "wraps", "name",
                                       "header", "path", "key", "sum", "at_bit", "bits",
                                       "signed"};
    /* A column has a name and headers, a JSON field a path, a binary one bits. */
    static const uint8_t from[] = {[FM_CONTAINER_TEXT] = 0, [FM_CONTAINER_CSV] = 6,
                                   [FM_CONTAINER_JSON] = 8, [FM_CONTAINER_JSONL] = 8,
                                   [FM_CONTAINER_RECORDS] = 11};
    static const uint8_t more[] = {[FM_CONTAINER_TEXT] = 0, [FM_CONTAINER_CSV] = 2,
                                   [FM_CONTAINER_JSON] = 3, [FM_CONTAINER_JSONL] = 3,
                                   [FM_CONTAINER_RECORDS] = 3};
    const char *known[9];
    size_t n = 6;
    memcpy(known, keys, 6 * sizeof *keys);
    for (size_t i = 0; i < more[kind]; i++)
        known[n++] = keys[from[kind] + i];
    if (node->type != FM_YAML_MAP)
        return fm_cwrong(p, node, "a field must be a map: {type: …}");
    if (!fm_yaml_known(p->log, node, known, n, "key of a field"))
        return false;
    const struct fm_yaml_node *type = fm_yaml_get(node, "type"), *unit = fm_yaml_get(node, "unit"),
                              *scale = fm_yaml_get(node, "scale");
    if ((type && !fm_container_type(p, type, &f->type)) || (unit && !parse_unit(p, unit, f)) ||
        (scale && !parse_factor(p, scale, f)) || !fm_rules_bool(p, node, "hex", &f->hex) ||
        !fm_rules_bool(p, node, "trim", &f->trim) || !parse_wraps(p, node, f))
        return false;
    const struct fm_yaml_node *header = fm_yaml_get(node, "header");
    if (header && !parse_sources(p, header, "header", f))
        return false;
    if (kind == FM_CONTAINER_JSON || kind == FM_CONTAINER_JSONL)
        return parse_path(p, node, f);
    if (kind != FM_CONTAINER_RECORDS)
        return true;
    f->at_bit = UINT32_MAX;
    if (!fm_rules_u32(p, node, "at_bit", 0, 1u << 20, &f->at_bit) ||
        !fm_rules_u32(p, node, "bits", 1, 64, &f->bits) ||
        !fm_rules_bool(p, node, "signed", &f->is_signed))
        return false;
    if (f->at_bit == UINT32_MAX || f->bits == 0)
        return fm_cwrong(p, node, "a field of a record needs 'at_bit' and 'bits'");
    return true;
}

/* A `fields:` map; makes entries for all its names. */
static bool parse_fields(struct fm_rules_parser *p, struct fm_container *c,
                         const struct fm_yaml_node *map)
{
    if (map->type != FM_YAML_MAP)
        return fm_cwrong(p, map, "'fields' must be a map of names to {type: …}");
    bool ok = true;
    for (size_t i = 0; i < map->n; i++) {
        const struct fm_yaml_pair *pair = &map->pair[i];
        struct fm_cfield *f = &c->field[fm_container_add(c, pair->key)];
        if (c->kind == FM_CONTAINER_RECORDS)
            f->type = FM_TYPE_U64;
        if (c->kind == FM_CONTAINER_RECORDS || !fm_yaml_is_null(pair->value))
            ok &= fm_container_field(p, c->kind, pair->value, f);
    }
    return ok;
}

/* `class: NAME` or `class: {field: NAME}`. */
static bool parse_class(struct fm_rules_parser *p, struct fm_container *c)
{
    static const char *const keys[] = {"field"};
    const struct fm_yaml_node *node = fm_yaml_get(p->m->root, "class");
    c->class = "record";
    c->class_field = UINT32_MAX;
    if (!node)
        return true;
    if (node->type != FM_YAML_MAP)
        return (c->class = fm_rules_text(p, node, "class")) != NULL;
    const struct fm_yaml_node *field = fm_yaml_get(node, "field");
    if (!fm_yaml_known(p->log, node, keys, FM_COUNT(keys), "key of 'class'") || !field)
        return field ? false : fm_cwrong(p, node, "'class' is a name or {field: NAME}");
    const char *name = fm_rules_text(p, field, "field");
    if (name)
        c->class_field = fm_container_add(c, name);
    return name != NULL;
}

/* ------------------------------------------------------------------ text */

static bool bind_captures(struct fm_rules_parser *p, struct fm_container *c,
                          struct fm_line_rule *r)
{
    static const char *const parts[] = {"function", "module", "file", "line", "address"};
    uint32_t *const place[] = {&r->function, &r->module, &r->file, &r->line, &r->address};
    size_t group;
    const char *name;
    r->capture = fm_rules_array(p, fm_pattern_groups(r->match), sizeof *r->capture);
    if (!r->capture)
        return false;
    for (size_t k = 0; (name = fm_pattern_group_name(r->match, k, &group)) != NULL; k++) {
        size_t i = 0;
        while (r->what == FM_LINE_FRAME && i < FM_COUNT(parts) && strcmp(parts[i], name) != 0)
            i++;
        if (r->what == FM_LINE_FRAME && i < FM_COUNT(parts)) {
            *place[i] = (uint32_t)group;
            continue;
        }
        char *copy = fm_arena_str(&p->m->arena, name);
        if (!copy)
            return false;
        r->capture[r->captures++] = (struct fm_capture){(uint32_t)group, fm_container_add(c, copy)};
    }
    return true;
}

bool fm_container_line(struct fm_rules_parser *p, struct fm_container *c,
                       const struct fm_yaml_node *node, struct fm_line_rule *r)
{
    static const char *const keys[] = {"match", "do", "class", "kind"};
    static const char *const words[] = {"record", "start", "frame", "field", "end",
                                        "drop", "open", "close", "set", "skip"};
    if (node->type != FM_YAML_MAP)
        return fm_cwrong(p, node, "a line rule is {match: REGEX, do: …}");
    if (!fm_yaml_known(p->log, node, keys, FM_COUNT(keys), "key of a line rule"))
        return false;
    const struct fm_yaml_node *match = fm_yaml_get(node, "match"), *what = fm_yaml_get(node, "do"),
                              *class = fm_yaml_get(node, "class");
    if (!match || !what)
        return fm_cwrong(p, node, "a line rule needs 'match' and 'do'");
    int k = fm_rules_word(p, what, "do", words, FM_COUNT(words));
    r->match = fm_rules_pattern(p, match, true);
    if (k < 0 || !r->match)
        return false;
    r->what = (enum fm_line_do)k;
    if (class && r->what != FM_LINE_RECORD && r->what != FM_LINE_START &&
        r->what != FM_LINE_OPEN)
        return fm_cwrong(p, class, "'class' belongs to 'do: record', 'do: start' and 'do: open'");
    if (class && !(r->class = fm_rules_text(p, class, "class")))
        return false;
    const struct fm_yaml_node *kind = fm_yaml_get(node, "kind");
    const char *list[FM_FRAME_C1 + 1];
    for (size_t i = 0; i < FM_COUNT(list); i++)
        list[i] = fm_frame_kind_text((enum fm_frame_kind)i);
    k = kind ? fm_rules_word(p, kind, "frame kind", list, FM_COUNT(list)) : FM_FRAME_UNKNOWN;
    if (k < 0)
        return false;
    r->kind = (enum fm_frame_kind)k;
    return bind_captures(p, c, r);
}

/* Groups of all regexes, so that there is room for their fields: counted before they compile. */
static size_t count_groups(const struct fm_yaml_node *lines)
{
    size_t n = 0;
    for (size_t i = 0; i < lines->n; i++) {
        const struct fm_yaml_node *match =
            lines->type == FM_YAML_LIST ? fm_yaml_get(lines->item[i], "match") : NULL;
        for (size_t k = 0; match && match->type == FM_YAML_SCALAR && k < match->n; k++)
            n += match->text[k] == '(';
    }
    return n;
}

/* Lines that begin and end ranges make a stack and a self time of these. */
static bool bind_ranges(struct fm_rules_parser *p, struct fm_container *c,
                        const struct fm_yaml_node *lines)
{
    struct fm_range_fields *r = &c->range;
    r->name = fm_container_add(c, "range");
    r->lane = fm_container_find(c, "lane");
    r->at = fm_container_find(c, "at");
    for (size_t i = 0; i < 2 && r->at != UINT32_MAX; i++) {
        static const char *const names[] = {"start", "end"};
        struct fm_cfield *f = &c->field[fm_container_add(c, names[i])];
        *f = c->field[r->at];
        f->name = names[i];
    }
    r->start = fm_container_find(c, "start");
    r->end = fm_container_find(c, "end");
    if (c->field[r->name].type != FM_TYPE_STRING || r->start == UINT32_MAX ||
        r->end == UINT32_MAX || c->field[r->start].type != FM_TYPE_TIME ||
        c->field[r->end].type != FM_TYPE_TIME)
        return fm_cwrong(p, lines, "'do: open' and 'do: close' need the groups 'range', a text, "
                                   "and 'start' and 'end', or 'at', fields of type time");
    r->stack = fm_container_add(c, "stack");
    c->field[r->stack].type = FM_TYPE_STACK;
    r->self = fm_container_add(c, "self");
    c->field[r->self].type = FM_TYPE_DUR;
    c->field[r->self].unit = "ns";
    return true;
}

bool fm_container_unmatched(struct fm_rules_parser *p, struct fm_container *c,
                            const struct fm_yaml_node *root)
{
    static const char *const words[] = {"bad", "skip"};
    const struct fm_yaml_node *unmatched = fm_yaml_get(root, "unmatched");
    int k = unmatched ? fm_rules_word(p, unmatched, "unmatched", words, FM_COUNT(words)) : 0;
    c->unmatched = k == 1 ? FM_UNMATCHED_SKIP : FM_UNMATCHED_BAD;
    return k >= 0;
}

static bool parse_text(struct fm_rules_parser *p, struct fm_container *c,
                       const struct fm_yaml_node *root)
{
    static const char *const orders[] = {"root-first", "leaf-first"};
    const struct fm_yaml_node *lines = fm_yaml_get(root, "lines"), *order;
    if (!lines || lines->type != FM_YAML_LIST || lines->n == 0)
        return lines ? fm_cwrong(p, lines, "'lines' must be a list of rules") :
                       fm_cmissing(p, "container 'text' needs 'lines'");
    c->line = fm_rules_array(p, lines->n, sizeof *c->line);
    if (!c->line)
        return false;
    bool ok = true, frames = false;
    for (size_t i = 0; i < lines->n; i++) {
        ok &= fm_container_line(p, c, lines->item[i], &c->line[i]);
        frames |= c->line[i].what == FM_LINE_FRAME && ok;
        c->ranges |= c->line[i].what == FM_LINE_OPEN || c->line[i].what == FM_LINE_CLOSE;
    }
    c->lines = lines->n;
    c->stack_field = UINT32_MAX;
    if (frames && ok) {
        c->stack_field = fm_container_add(c, "stack");
        c->field[c->stack_field].type = FM_TYPE_STACK;
    }
    if (c->ranges && ok)
        ok = bind_ranges(p, c, lines);
    c->blank_ends = true;
    c->leaf_first = true;
    ok &= fm_rules_bool(p, root, "blank", &c->blank_ends);
    if ((order = fm_yaml_get(root, "order")) != NULL) {
        int k = fm_rules_word(p, order, "order", orders, FM_COUNT(orders));
        c->leaf_first = k != 0;
        ok &= k >= 0;
    }
    return fm_container_unmatched(p, c, root) && ok;
}

/* ------------------------------------------------------------------ json */

static bool parse_members(struct fm_rules_parser *p, struct fm_container *c,
                          const struct fm_yaml_node *list)
{
    static const char *const keys[] = {"path", "class"};
    if (list->type != FM_YAML_LIST)
        return fm_cwrong(p, list, "'members' must be a list of {path: …, class: …}");
    c->member = fm_rules_array(p, list->n, sizeof *c->member);
    if (!c->member)
        return false;
    for (size_t i = 0; i < list->n; i++) {
        const struct fm_yaml_node *node = list->item[i];
        if (node->type != FM_YAML_MAP)
            return fm_cwrong(p, node, "a member is {path: …, class: …}");
        const struct fm_yaml_node *path = fm_yaml_get(node, "path"),
                                  *class = fm_yaml_get(node, "class");
        if (!fm_yaml_known(p->log, node, keys, FM_COUNT(keys), "key of a member"))
            return false;
        if (!path || !class)
            return fm_cwrong(p, node, "a member needs 'path' and 'class'");
        struct fm_member *m = &c->member[c->members++];
        m->path = fm_rules_text(p, path, "path");
        m->class = fm_rules_text(p, class, "class");
        if (!m->path || !m->class)
            return false;
    }
    return true;
}

/* Fields without a path have their name for one; a sum is one of durations. */
static bool finish_paths(struct fm_rules_parser *p, struct fm_container *c,
                         const struct fm_yaml_node *fields)
{
    for (size_t i = 0; i < c->fields; i++) {
        struct fm_cfield *f = &c->field[i];
        if (f->sum) {
            uint32_t of = fm_container_find(c, f->sum);
            if (of == UINT32_MAX || c->field[of].type != FM_TYPE_DUR || c->field[of].sum ||
                (f->type != FM_TYPE_TIME && f->type != FM_TYPE_DUR))
                return fm_cwrong(p, fields, "'sum' names a field of type dur, and makes one of "
                                            "type time or dur");
        } else if (!f->source) {
            const char **own = fm_rules_array(p, 1, sizeof *own);
            if (!own)
                return false;
            own[0] = f->name;
            f->source = own;
            f->sources = 1;
        }
    }
    return true;
}

static bool parse_json(struct fm_rules_parser *p, struct fm_container *c,
                       const struct fm_yaml_node *root)
{
    static const char *const framings[] = {"document", "objects"};
    static const char *const strings[] = {"escaped", "raw"};
    const struct fm_yaml_node *fields = fm_yaml_get(root, "fields"),
                              *rows = fm_yaml_get(root, "rows"),
                              *framing = fm_yaml_get(root, "framing"),
                              *how = fm_yaml_get(root, "strings"),
                              *members = fm_yaml_get(root, "members");
    c->rows = "";
    if (rows && !(c->rows = fm_rules_text(p, rows, "rows")))
        return false;
    if (!fields)
        return fm_cmissing(p, "'fields' is missing: the paths of an object that are fields");
    int k = framing ? fm_rules_word(p, framing, "framing", framings, FM_COUNT(framings)) : 0;
    int raw = how ? fm_rules_word(p, how, "strings", strings, FM_COUNT(strings)) : 0;
    if (k < 0 || raw < 0)
        return false;
    c->objects = k == 1;
    c->raw = raw == 1;
    if (c->objects && rows)
        return fm_cwrong(p, rows, "'rows' is the path of an array: not with 'framing: objects'");
    if (c->raw && !c->objects)
        return fm_cwrong(p, how, "'strings: raw' needs 'framing: objects'");
    return (!members || parse_members(p, c, members)) && finish_paths(p, c, fields);
}

/* ------------------------------------------------------------------ records */

static bool fits(struct fm_rules_parser *p, const struct fm_container *c,
                 const struct fm_yaml_node *at, uint32_t at_bit, uint32_t bits)
{
    if (c->size && (uint64_t)at_bit + bits > (uint64_t)c->size * 8) {
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_TYPE), at,
                      "bits %u..%llu reach beyond a record of %u bytes", at_bit,
                      (unsigned long long)at_bit + bits - 1, c->size);
        return false;
    }
    return true;
}

/* A list of bit ranges. */
static bool parse_ranges(struct fm_rules_parser *p, struct fm_container *c,
                         const struct fm_yaml_node *list, struct fm_cfield **range, size_t *n)
{
    static const char *const keys[] = {"at_bit", "bits"};
    if (list->type != FM_YAML_LIST)
        return fm_cwrong(p, list, "bit ranges must be a list of {at_bit: N, bits: N}");
    *range = fm_rules_array(p, list->n, sizeof **range);
    if (!*range)
        return false;
    for (size_t i = 0; i < list->n; i++) {
        struct fm_cfield *z = &(*range)[i];
        const struct fm_yaml_node *node = list->item[i];
        if (node->type != FM_YAML_MAP)
            return fm_cwrong(p, node, "a range is {at_bit: N, bits: N}");
        z->at_bit = UINT32_MAX;
        if (!fm_yaml_known(p->log, node, keys, FM_COUNT(keys), "key of a range") ||
            !fm_rules_u32(p, node, "at_bit", 0, 1u << 20, &z->at_bit) ||
            !fm_rules_u32(p, node, "bits", 1, 1u << 20, &z->bits))
            return false;
        if (z->at_bit == UINT32_MAX || z->bits == 0)
            return fm_cwrong(p, node, "a range needs 'at_bit' and 'bits'");
        if (!fits(p, c, node, z->at_bit, z->bits))
            return false;
    }
    *n = list->n;
    return true;
}

/* Names of fields that are added up. */
static bool parse_sum(struct fm_rules_parser *p, const struct fm_yaml_node *list,
                      struct fm_layout *l)
{
    if (list->type != FM_YAML_LIST)
        return fm_cwrong(p, list, "'sum' must be a list of fields");
    l->sum = fm_rules_array(p, l->fields, sizeof *l->sum);
    if (!l->sum)
        return false;
    for (size_t i = 0; i < list->n; i++) {
        const char *name = fm_rules_text(p, list->item[i], "sum");
        size_t k = 0;
        while (name && k < l->fields && strcmp(l->field[k].name, name) != 0)
            k++;
        if (!name || k == l->fields || l->field[k].is_signed)
            return name ? fm_cwrong(p, list->item[i], "no unsigned field of the layout") : false;
        l->sum[k] = l->sums = true;
    }
    return true;
}

static bool parse_layout(struct fm_rules_parser *p, struct fm_container *c,
                         const struct fm_yaml_node *node, struct fm_layout *l)
{
    static const char *const keys[] = {"name", "when", "zero", "some", "lost", "sum",
                                       "fields"};
    if (node->type != FM_YAML_MAP)
        return fm_cwrong(p, node, "a layout is {name: …, when: …, fields: {…}}");
    if (!fm_yaml_known(p->log, node, keys, FM_COUNT(keys), "key of a layout"))
        return false;
    const struct fm_yaml_node *name = fm_yaml_get(node, "name"), *when = fm_yaml_get(node, "when"),
                              *zero = fm_yaml_get(node, "zero"),
                              *some = fm_yaml_get(node, "some"),
                              *lost = fm_yaml_get(node, "lost"),
                              *sum = fm_yaml_get(node, "sum"),
                              *fields = fm_yaml_get(node, "fields");
    if (!name || !fields)
        return fm_cwrong(p, node, "a layout needs 'name' and 'fields'");
    if (!(l->name = fm_rules_text(p, name, "name")))
        return false;
    if (fields->type != FM_YAML_MAP)
        return fm_cwrong(p, fields, "'fields' must be a map of names to {at_bit: N, bits: N}");
    l->field = fm_rules_array(p, fields->n, sizeof *l->field);
    l->target = fm_rules_array(p, fields->n, sizeof *l->target);
    if (!l->field || !l->target)
        return false;
    bool ok = true;
    for (size_t i = 0; i < fields->n; i++) {
        const struct fm_yaml_pair *pair = &fields->pair[i];
        struct fm_cfield *f = &l->field[l->fields++];
        *f = (struct fm_cfield){.name = pair->key, .type = FM_TYPE_U64, .scale = 1, .factor = 1};
        ok &= fm_container_field(p, c->kind, pair->value, f) &&
              fits(p, c, pair->value, f->at_bit, f->bits);
        bool fresh = fm_container_find(c, pair->key) == UINT32_MAX;
        l->target[i] = fm_container_add(c, pair->key);
        if (fresh)
            c->field[l->target[i]] = *f;
        else if (c->field[l->target[i]].type != f->type)
            ok = fm_cwrong(p, pair->value, "this field has another type in a layout above");
    }
    if (zero)
        ok &= parse_ranges(p, c, zero, &l->zero, &l->zeros);
    if (some)
        ok &= parse_ranges(p, c, some, &l->some, &l->somes);
    if (lost)
        ok &= parse_ranges(p, c, lost, &l->lost, &l->losts);
    if (sum)
        ok &= parse_sum(p, sum, l);
    if (when)
        ok &= (l->when = fm_rules_expr(p, when)) != NULL;
    return ok;
}

static bool parse_records(struct fm_rules_parser *p, struct fm_container *c,
                          const struct fm_yaml_node *root)
{
    static const char *const ends[] = {"little", "big"};
    const struct fm_yaml_node *endian = fm_yaml_get(root, "endian"),
                              *layouts = fm_yaml_get(root, "layouts"),
                              *fields = fm_yaml_get(root, "fields");
    if (!fm_rules_u32(p, root, "head", 0, 1u << 30, &c->head))
        return false;
    int k = endian ? fm_rules_word(p, endian, "endian", ends, FM_COUNT(ends)) : 0;
    c->big_endian = k == 1;
    if (k < 0)
        return false;
    size_t own = c->fields;
    bool ok = true;
    for (size_t i = 0; fields && i < fields->n; i++) {
        const struct fm_cfield *f = &c->field[fm_container_find(c, fields->pair[i].key)];
        ok &= fits(p, c, fields->pair[i].value, f->at_bit, f->bits);
    }
    if (!layouts) {
        if (!own)
            return fm_cmissing(p, "container 'records' needs 'fields' or 'layouts'");
        c->layout = fm_rules_array(p, 1, sizeof *c->layout);
        if (!c->layout || !(c->layout->target = fm_rules_array(p, own, sizeof(uint32_t))))
            return false;
        c->layout->field = c->field;
        c->layout->name = c->class;
        for (size_t i = 0; i < own; i++)
            c->layout->target[c->layout->fields++] = (uint32_t)i;
        c->layouts = 1;
        return ok;
    }
    if (layouts->type != FM_YAML_LIST || layouts->n == 0)
        return fm_cwrong(p, layouts, "'layouts' must be a list");
    if (own)
        return fm_cwrong(p, fields, "'fields' stands in each layout when there are 'layouts'");
    c->layout = fm_rules_array(p, layouts->n, sizeof *c->layout);
    for (size_t i = 0; c->layout && i < layouts->n; i++)
        ok &= parse_layout(p, c, layouts->item[i], &c->layout[i]);
    c->layouts = layouts->n;
    return ok && c->layout;
}

/* ------------------------------------------------------------------ all */

/* Room for every field that the file can name. */
static bool make_room(struct fm_rules_parser *p, struct fm_container *c,
                      const struct fm_yaml_node *root)
{
    const struct fm_yaml_node *fields = fm_yaml_get(root, "fields"),
                              *columns = fm_yaml_get(root, "columns"),
                              *layouts = fm_yaml_get(root, "layouts"),
                              *lines = fm_yaml_get(root, "lines");
    size_t n = 8 + (fields ? fields->n : 0) + (columns ? columns->n : 0);
    n += lines ? count_groups(lines) : 0;
    for (size_t i = 0; layouts && layouts->type == FM_YAML_LIST && i < layouts->n; i++) {
        const struct fm_yaml_node *f = fm_yaml_get(layouts->item[i], "fields");
        n += f ? f->n : 0;
    }
    if (n > FM_CLASS_FIELDS)
        return fm_cwrong(p, root, "more than 1024 fields");
    c->field = fm_rules_array(p, n, sizeof *c->field);
    return c->field != NULL;
}

bool fm_container_parse(struct fm_rules_parser *p, const struct fm_yaml_node *root)
{
    struct fm_container *c = &p->m->spec;
    c->kind = find_container(p->m->container);
    if (c->kind == FM_CONTAINER_NONE)
        return true;
    const struct fm_yaml_node *fields = fm_yaml_get(root, "fields");
    c->stack_field = UINT32_MAX;
    if (c->kind == FM_CONTAINER_RECORDS) {
        if (!fm_yaml_find(root, "size"))
            return fm_cmissing(p, "container 'records' needs 'size', the bytes of a record");
        if (!fm_rules_u32(p, root, "size", 1, 1u << 20, &c->size))
            return false;
    }
    if (!make_room(p, c, root))
        return false;
    bool ok = !fields || parse_fields(p, c, fields);
    if (c->kind != FM_CONTAINER_CSV)
        ok &= parse_class(p, c);
    switch (c->kind) {
    case FM_CONTAINER_TEXT: ok &= parse_text(p, c, root); break;
    case FM_CONTAINER_CSV: ok &= fm_container_csv(p, c, root) && parse_class(p, c); break;
    case FM_CONTAINER_JSON:
    case FM_CONTAINER_JSONL: ok &= parse_json(p, c, root); break;
    case FM_CONTAINER_RECORDS: ok &= parse_records(p, c, root); break;
    case FM_CONTAINER_NONE: break;
    }
    const struct fm_yaml_node *detect = fm_yaml_get(root, "detect");
    if (detect)
        ok &= fm_detect_parse(p, detect, c);
    return ok;
}
