/*
 * reader.c - values of a report file: scalars, lists and maps, with the report's parameters put in.
 *
 *     $n      the whole scalar is the parameter's value
 *     ${n}    inside longer text;  $${ is a literal ${
 *
 * as in query files. A value stands where it stands: messages show the line of the file.
 */
#include "report/reader.h"

#include "util/text.h"

bool fm_read_part(struct fm_report_reader *r, const struct fm_yaml_node *node,
                  enum fm_report_part part, const char *what)
{
    if (node == NULL || node->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), node, "%s is a map", what);
        return false;
    }
    return fm_report_known(node, part, r->log);
}

struct fm_yaml_node *const *fm_read_entries(struct fm_report_reader *r, const char *key, size_t *n)
{
    const struct fm_yaml_node *list = fm_yaml_get(r->root, key);

    *n = 0;
    if (list == NULL)
        return NULL;
    if (list->type != FM_YAML_LIST) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), list, "'%s' is a list", key);
        return NULL;
    }
    *n = list->n;
    return list->item;
}

/* -------------------------------------------------------------- parameters */

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
           || c == '-';
}

static const char *param(struct fm_report_reader *r, const struct fm_yaml_node *at, size_t offset,
                         const char *name, size_t n)
{
    const char **known;

    for (size_t i = 0; i < r->params; i++)
        if (strlen(r->param[i].name) == n && memcmp(r->param[i].name, name, n) == 0)
            return r->param[i].value;
    known = fm_arena_alloc(r->arena, (r->params + 1) * sizeof *known);
    name = fm_arena_strn(r->arena, name, n);
    if (known == NULL || name == NULL)
        return NULL;
    for (size_t i = 0; i < r->params; i++)
        known[i] = r->param[i].name;
    if (at->quoted)                 /* an offset into it would not be one into the file */
        fm_yaml_unknown(r->log, at, "parameter", name, known, r->params);
    else
        fm_yaml_error_at(fm_yaml_as(r->log, FM_YAML_UNKNOWN), at, offset, n,
                         "unknown parameter '%s'", name);
    return NULL;
}

/* The name of a scalar that is exactly $name. */
static size_t whole_name(const struct fm_yaml_node *node)
{
    size_t n = 1;

    if (node->n < 2 || node->text[0] != '$')
        return 0;
    while (n < node->n && name_char(node->text[n]))
        n++;
    return n == node->n ? n - 1 : 0;
}

static const char *fill(struct fm_report_reader *r, const struct fm_yaml_node *node)
{
    const char *s = node->text, *end, *value, *text = NULL;
    struct fm_out out;

    if (fm_out_init(&out, r->arena->mem, NULL) != FM_OK)
        return NULL;
    while (*s != '\0') {
        if (strncmp(s, "$${", 3) == 0) {
            fm_out_text(&out, "${");
            s += 3;
        } else if (strncmp(s, "${", 2) == 0 && (end = strchr(s, '}')) != NULL) {
            value = param(r, node, (size_t)(s - node->text) + 2, s + 2, (size_t)(end - s - 2));
            if (value == NULL)
                break;
            fm_out_text(&out, value);
            s = end + 1;
        } else {
            fm_out_char(&out, *s++);
        }
    }
    if (*s == '\0' && out.status == FM_OK)
        text = fm_arena_strn(r->arena, out.buf, out.n);
    fm_out_release(&out);
    return text;
}

const char *fm_read_text(struct fm_report_reader *r, const struct fm_yaml_node *node)
{
    size_t n;

    if (node == NULL || node->type != FM_YAML_SCALAR) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), node, "one value is wanted here");
        return NULL;
    }
    if (strlen(node->text) != node->n) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), node, "a NUL byte in a value");
        return NULL;
    }
    n = whole_name(node);
    if (n > 0)
        return param(r, node, 1, node->text + 1, n);
    return strstr(node->text, "${") == NULL ? node->text : fill(r, node);
}

const char *fm_read_key(struct fm_report_reader *r, const struct fm_yaml_node *map,
                        const char *key, const char *otherwise)
{
    const struct fm_yaml_node *node = fm_yaml_get(map, key);
    const char *text = node == NULL ? otherwise : fm_read_text(r, node);

    return text == NULL ? otherwise : text;
}

/* ---------------------------------------------------------- lists and maps */

const char *const *fm_read_list(struct fm_report_reader *r, const struct fm_yaml_node *node,
                                size_t *n)
{
    bool one = node != NULL && node->type == FM_YAML_SCALAR;
    const char **list;

    *n = 0;
    if (node == NULL)
        return NULL;
    if (!one && node->type != FM_YAML_LIST) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), node, "one value or a list of them");
        return NULL;
    }
    list = fm_arena_alloc(r->arena, (node->n + 1) * sizeof *list);
    for (size_t i = 0; list != NULL && i < (one ? 1 : node->n); i++) {
        list[*n] = fm_read_text(r, one ? node : node->item[i]);
        *n += list[*n] != NULL;
    }
    return list;
}

const struct fm_report_pair *fm_read_pairs(struct fm_report_reader *r,
                                           const struct fm_yaml_node *node, size_t *n)
{
    struct fm_report_pair *pair;

    *n = 0;
    if (node == NULL)
        return NULL;
    if (node->type != FM_YAML_MAP) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), node, "a map {NAME: value} is wanted here");
        return NULL;
    }
    pair = fm_arena_alloc(r->arena, (node->n + 1) * sizeof *pair);
    for (size_t i = 0; pair != NULL && i < node->n; i++) {
        pair[*n].name = node->pair[i].key;
        pair[*n].value = fm_read_text(r, node->pair[i].value);
        *n += pair[*n].value != NULL;
    }
    return pair;
}

bool fm_read_bool(struct fm_report_reader *r, const struct fm_yaml_node *map, const char *key,
                  bool otherwise)
{
    const struct fm_yaml_node *node = fm_yaml_get(map, key);
    const char *text = node == NULL ? NULL : fm_read_text(r, node);

    if (text == NULL)
        return otherwise;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return text[0] == 't';
    fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), node, "'%s' is true or false", key);
    return otherwise;
}

double fm_read_number(struct fm_report_reader *r, const struct fm_yaml_node *map, const char *key,
                      double otherwise)
{
    const struct fm_yaml_node *node = fm_yaml_get(map, key);
    const char *text = node == NULL ? NULL : fm_read_text(r, node), *unit;
    double value;

    if (text == NULL)
        return otherwise;
    if (fm_text_quantity(text, strlen(text), &value, &unit) && unit[0] == '\0' && value >= 0)
        return value;
    fm_yaml_error(fm_yaml_as(r->log, FM_YAML_TYPE), node, "'%s' is a number or per cent", key);
    return otherwise;
}
