/*
 * container_csv.c - reads what a format file says about separated values.
 *
 *     container: csv       columns separator quote comment header groups tables from others lines
 *                        missing unmatched class detect
 */
#include "format/container_parse.h"

#include "util/text.h"

static bool parse_char(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                       const char *what, char *c)
{
    const char *text = fm_rules_text(p, node, what);
    if (!text)
        return false;
    if (strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0)
        *c = '\t';
    else if (node->n == 1 && text[0] != '\n' && text[0] != '\r')
        *c = text[0];
    else if (strcmp(text, "none") == 0 && strcmp(what, "quote") == 0)
        *c = '\0';
    else if (strcmp(text, "blanks") == 0 && strcmp(what, "separator") == 0)
        *c = FM_BLANKS;
    else
        return fm_cwrong(p, node, "one character, or 'tab', should stand here");
    return true;
}

/* One separator, or several of which the header line has one. */
static bool parse_separators(struct fm_rules_parser *p, struct fm_container *c,
                             const struct fm_yaml_node *node)
{
    size_t n = node->type == FM_YAML_LIST ? node->n : 1;
    if (n == 0 || n > FM_COUNT(c->separator))
        return fm_cwrong(p, node, "'separator' is one, or a list of up to four");
    for (size_t i = 0; i < n; i++)
        if (!parse_char(p, node->type == FM_YAML_LIST ? node->item[i] : node, "separator",
                        &c->separator[i]))
            return false;
    c->separators = n;
    return true;
}

static bool parse_header(struct fm_rules_parser *p, struct fm_container *c,
                         const struct fm_yaml_node *node)
{
    static const char *const words[] = {"row", "none", "search"};
    static const char *const keys[] = {"at"};
    c->header_line = 1;
    if (!node)
        return true;
    if (node->type == FM_YAML_MAP)
        return fm_yaml_known(p->log, node, keys, FM_COUNT(keys), "key of 'header'") &&
               fm_rules_u32(p, node, "at", 1, 1000000, &c->header_line);
    int k = fm_rules_word(p, node, "header", words, FM_COUNT(words));
    c->header_line = k == 0 ? 1 : k == 1 ? 0 : UINT32_MAX;
    return k >= 0;
}

static bool parse_columns(struct fm_rules_parser *p, struct fm_container *c,
                          const struct fm_yaml_node *list)
{
    bool ok = true;
    for (size_t i = 0; i < list->n; i++) {
        const struct fm_yaml_node *node = list->item[i];
        const struct fm_yaml_node *name_node =
            node->type == FM_YAML_MAP ? fm_yaml_get(node, "name") : node;
        const char *name = name_node ? fm_rules_text(p, name_node, "name") : NULL;
        if (!name) {
            ok = name_node ? false : fm_cwrong(p, node, "a column needs 'name'");
            continue;
        }
        if (fm_container_find(c, name) != UINT32_MAX) {
            ok = fm_cwrong(p, name_node, "a column of that name stands above");
            continue;
        }
        struct fm_cfield *f = &c->field[fm_container_add(c, name)];
        if (node->type == FM_YAML_MAP)
            ok &= fm_container_field(p, c->kind, node, f);
        if (!f->source) {          /* its own name is its header */
            const char **own = fm_rules_array(p, 1, sizeof *own);
            if (!own)
                return false;
            own[0] = name;
            f->source = own;
            f->sources = 1;
        }
    }
    return ok;
}

/* Lines that are no records: fields for the records after them, and what is passed over. */
static bool parse_beside(struct fm_rules_parser *p, struct fm_container *c,
                         const struct fm_yaml_node *lines)
{
    if (lines->type != FM_YAML_LIST || lines->n == 0)
        return fm_cwrong(p, lines, "'lines' must be a list of rules");
    c->line = fm_rules_array(p, lines->n, sizeof *c->line);
    if (!c->line)
        return false;
    bool ok = true;
    for (size_t i = 0; i < lines->n; i++) {
        bool read = fm_container_line(p, c, lines->item[i], &c->line[i]);
        if (read && c->line[i].what != FM_LINE_SET && c->line[i].what != FM_LINE_SKIP)
            read = fm_cwrong(p, lines->item[i],
                                      "lines between records can 'set' or 'skip'");
        ok &= read;
    }
    c->lines = lines->n;
    return ok;
}

/* Headers by which the tables of one input are told apart. */
static bool parse_tables(struct fm_rules_parser *p, struct fm_container *c,
                         const struct fm_yaml_node *list)
{
    static const char *const keys[] = {"class", "header"};
    if (list->type != FM_YAML_LIST || list->n == 0)
        return fm_cwrong(p, list, "'tables' must be a list of {class: …, header: […]}");
    c->table = fm_rules_array(p, list->n, sizeof *c->table);
    if (!c->table)
        return false;
    for (size_t i = 0; i < list->n; i++) {
        struct fm_table *t = &c->table[c->tables++];
        const struct fm_yaml_node *node = list->item[i];
        if (node->type != FM_YAML_MAP)
            return fm_cwrong(p, node, "a table is {class: …, header: […]}");
        const struct fm_yaml_node *class = fm_yaml_get(node, "class"),
                                  *header = fm_yaml_get(node, "header");
        if (!fm_yaml_known(p->log, node, keys, FM_COUNT(keys), "key of a table"))
            return false;
        if (!class || !header)
            return fm_cwrong(p, node, "a table needs 'class' and 'header'");
        if (!(t->class = fm_rules_text(p, class, "class")) ||
            !fm_container_texts(p, header, "header", &t->header, &t->headers))
            return false;
    }
    c->header_line = UINT32_MAX;
    return true;
}

/* `others: f64` or `others: {class: NAME}`: fields, or records of their own. */
static bool parse_others(struct fm_rules_parser *p, struct fm_container *c,
                         const struct fm_yaml_node *node)
{
    static const char *const keys[] = {"class"};
    if (node->type != FM_YAML_MAP) {
        c->others = true;
        return fm_container_type(p, node, &c->others_type);
    }
    const struct fm_yaml_node *class = fm_yaml_get(node, "class");
    if (!fm_yaml_known(p->log, node, keys, FM_COUNT(keys), "key of 'others'") || !class)
        return class ? false : fm_cwrong(p, node, "'others' is a type or {class: NAME}");
    c->others_class = fm_rules_text(p, class, "class");
    c->other_column = fm_container_add(c, "column");
    c->other_unit = fm_container_add(c, "unit");
    c->other_value = fm_container_add(c, "value");
    c->field[c->other_value].type = FM_TYPE_F64;
    return c->others_class != NULL;
}

static bool parse_rest(struct fm_rules_parser *p, struct fm_container *c,
                       const struct fm_yaml_node *root)
{
    static const char *const sides[] = {"left", "right"};
    const struct fm_yaml_node *from = fm_yaml_get(root, "from"),
                              *others = fm_yaml_get(root, "others"),
                              *lines = fm_yaml_get(root, "lines"),
                              *tables = fm_yaml_get(root, "tables"),
                              *groups = fm_yaml_get(root, "groups"),
                              *missing = fm_yaml_get(root, "missing");
    int k = from ? fm_rules_word(p, from, "from", sides, FM_COUNT(sides)) : 0;
    c->from_right = k == 1;
    bool ok = k >= 0 && parse_header(p, c, fm_yaml_get(root, "header"));
    ok &= !others || parse_others(p, c, others);
    ok &= !lines || parse_beside(p, c, lines);
    ok &= !tables || parse_tables(p, c, tables);
    ok &= !groups || (c->groups = fm_rules_pattern(p, groups, true)) != NULL;
    ok &= !missing || fm_container_texts(p, missing, "missing", &c->missing, &c->missings);
    return ok;
}

bool fm_container_csv(struct fm_rules_parser *p, struct fm_container *c,
                      const struct fm_yaml_node *root)
{
    const struct fm_yaml_node *columns = fm_yaml_get(root, "columns"),
                              *separator = fm_yaml_get(root, "separator"),
                              *quote = fm_yaml_get(root, "quote"),
                              *comment = fm_yaml_get(root, "comment");
    if (!columns || columns->type != FM_YAML_LIST)
        return columns ? fm_cwrong(p, columns, "'columns' must be a list") :
                         fm_cmissing(p, "container 'csv' needs 'columns'");
    c->separator[0] = ',';
    c->separators = 1;
    c->quote = '"';
    bool ok = parse_columns(p, c, columns);
    c->columns = c->fields;
    ok &= !separator || parse_separators(p, c, separator);
    ok &= !quote || parse_char(p, quote, "quote", &c->quote);
    ok &= !comment || (c->comment = fm_rules_text(p, comment, "comment"));
    ok &= fm_container_unmatched(p, c, root);
    return parse_rest(p, c, root) && ok;
}
