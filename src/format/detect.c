/*
 * detect.c - reads `detect:` of a generic container: evidence that an input is of this format.
 *
 *     - {line: 1, regex: '^ip: 0x[0-9a-f]{8} ', bits: 30}     a line, or lines 1..40
 *     - {header: [Kernel, "IP[Address]"], bits: 24}            cells of the header line
 *     - {bytes: "bc ba ed fe", at: 0, bits: 32}                bytes at an offset
 *     - {records: 16, bits: 20}                                records that fit a layout
 *
 * The bits of all entries that hold are summed; what is said about text never comes to 32.
 */
#include "format/rules.h"

#include "util/text.h"

#define LINES 100000u

static bool wrong(struct fm_rules_parser *p, const struct fm_yaml_node *node, const char *text)
{
    fm_yaml_error(fm_yaml_as(p->log, FM_YAML_TYPE), node, "%s", text);
    return false;
}

/* "3" or "1..40". */
static bool parse_lines(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                        struct fm_detect *d)
{
    const char *text = fm_rules_text(p, node, "line");
    if (!text)
        return false;
    const char *dots = strstr(text, "..");
    size_t first = dots ? (size_t)(dots - text) : node->n;
    uint64_t from, to;
    if (!fm_text_u64(text, first, &from))
        return wrong(p, node, "'line' is a number or a range: 1..40");
    to = from;
    if (dots && !fm_text_u64(dots + 2, node->n - first - 2, &to))
        return wrong(p, node, "'line' is a number or a range: 1..40");
    if (from == 0 || to < from || to > LINES)
        return wrong(p, node, "lines are counted from 1");
    d->line_from = (uint32_t)from;
    d->line_to = (uint32_t)to;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_bytes(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                        struct fm_detect *d)
{
    const char *s = fm_rules_text(p, node, "bytes");
    unsigned char *bytes = s ? fm_rules_array(p, node->n / 2 + 1, 1) : NULL;
    if (!bytes)
        return false;
    for (size_t i = 0; i < node->n;) {
        if (s[i] == ' ') {
            i++;
            continue;
        }
        int hi = hex_digit(s[i]), lo = hi < 0 ? -1 : hex_digit(s[i + 1]);
        if (lo < 0)
            return wrong(p, node, "'bytes' are pairs of hex digits: \"46 4c 52 00\"");
        bytes[d->bytes_n++] = (unsigned char)(hi << 4 | lo);
        i += 2;
    }
    d->bytes = bytes;
    return d->bytes_n > 0 || wrong(p, node, "'bytes' is empty");
}

static bool parse_cells(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                        struct fm_detect *d)
{
    if (node->type != FM_YAML_LIST || node->n == 0)
        return wrong(p, node, "'header' must be a list of cells");
    const char **list = fm_rules_array(p, node->n, sizeof *list);
    if (!list)
        return false;
    for (size_t i = 0; i < node->n; i++)
        if (!(list[i] = fm_rules_text(p, node->item[i], "header")))
            return false;
    d->header = list;
    d->headers = node->n;
    return true;
}

static bool parse_entry(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                        struct fm_container *c, struct fm_detect *d)
{
    static const char *const keys[] = {"line", "regex", "header", "bytes", "at", "records",
                                       "bits", "required"};
    if (node->type != FM_YAML_MAP)
        return wrong(p, node, "evidence is a map: {line: 1, regex: …, bits: N}");
    if (!fm_yaml_known(p->log, node, keys, FM_COUNT(keys), "key of 'detect'"))
        return false;
    const struct fm_yaml_node *line = fm_yaml_get(node, "line"),
                              *regex = fm_yaml_get(node, "regex"),
                              *header = fm_yaml_get(node, "header"),
                              *bytes = fm_yaml_get(node, "bytes");
    bool text = regex || header;
    uint32_t at = 0, bits = 0;
    if (!!regex + !!header + !!bytes + !!fm_yaml_get(node, "records") != 1)
        return wrong(p, node, "evidence is one of 'regex', 'header', 'bytes', 'records'");
    if (fm_yaml_get(node, "records") && c->kind != FM_CONTAINER_RECORDS)
        return wrong(p, node, "'records' is evidence of container 'records' only");
    d->line_from = text ? 1 : 0;
    d->line_to = d->line_from;
    if (line && (!text || !parse_lines(p, line, d)))
        return text ? false : wrong(p, line, "'line' goes with 'regex' or 'header'");
    if (regex && !(d->regex = fm_rules_pattern(p, regex, true)))
        return false;
    if ((header && !parse_cells(p, header, d)) || (bytes && !parse_bytes(p, bytes, d)))
        return false;
    if (!fm_rules_u32(p, node, "at", 0, 65535, &at) ||
        !fm_rules_u32(p, node, "records", 1, 1024, &d->records) ||
        !fm_rules_bool(p, node, "required", &d->required) ||
        !fm_rules_u32(p, node, "bits", 1, bytes ? 512 : 31, &bits))
        return false;
    if (bits == 0)
        return wrong(p, node, "evidence needs 'bits'");
    if (bytes && bits > 8 * d->bytes_n)
        return wrong(p, node, "more bits than the bytes have");
    d->at = at;
    d->bits = bits;
    return true;
}

bool fm_detect_parse(struct fm_rules_parser *p, const struct fm_yaml_node *list,
                     struct fm_container *c)
{
    if (list->type != FM_YAML_LIST)
        return wrong(p, list, "'detect' must be a list");
    c->detect = fm_rules_array(p, list->n, sizeof *c->detect);
    bool ok = c->detect != NULL;
    for (size_t i = 0; c->detect && i < list->n; i++)
        ok &= parse_entry(p, list->item[i], c, &c->detect[i]);
    c->detects = list->n;
    return ok;
}
