/*
 * rule.c - reads one entry of `classes:`.
 *
 *     - match: jdk.ObjectAllocationSample        which classes
 *       event: alloc                             the row's metric, kind, unit
 *       weight: weight                           columns by expression: weight count time dur …
 *       stack: stackTrace                        stack, thread, labels, links
 *
 * The whole language stands in man/foldmill-formats.5.
 */
#include "format/rules.h"

#include "util/text.h"

static const char *const keys[] = {
    "match", "when", "skip", "event", "metric", "kind", "unit", "weight", "count", "period",
    "time", "dur", "stack", "thread", "cpu", "name", "category", "comm", "value", "labels",
    "links", "keep",
    "each", "view", "base_of"};

static const char *const slot_keys[FM_SLOTS] = {
    [FM_SLOT_TIME] = "time",     [FM_SLOT_DUR] = "dur",       [FM_SLOT_WEIGHT] = "weight",
    [FM_SLOT_COUNT] = "count",   [FM_SLOT_VALUE] = "value",   [FM_SLOT_CPU] = "cpu",
    [FM_SLOT_NAME] = "name",     [FM_SLOT_CATEGORY] = "category",
    [FM_SLOT_COMM] = "comm",     [FM_SLOT_PERIOD] = "period"};

static bool wrong_type(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                       const char *text)
{
    fm_yaml_error(fm_yaml_as(p->log, FM_YAML_TYPE), node, "%s", text);
    return false;
}

/* An expression, or NULL for null and an absent key; false on an error. */
static bool optional_expr(struct fm_rules_parser *p, const struct fm_yaml_node *map,
                          const char *key, struct fm_expr **e)
{
    const struct fm_yaml_node *node = fm_yaml_get(map, key);
    *e = NULL;
    if (!node || fm_yaml_is_null(node))
        return true;
    *e = fm_rules_expr(p, node);
    return *e != NULL;
}

/* ------------------------------------------------------------------ match and when */

static bool parse_names(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                        struct fm_rule *rule)
{
    size_t n = node->type == FM_YAML_LIST ? node->n : 1;
    if (n == 0)
        return wrong_type(p, node, "'match' is an empty list");
    rule->match = fm_rules_array(p, n, sizeof(*rule->match));
    if (!rule->match)
        return false;
    for (size_t i = 0; i < n; i++) {
        rule->match[i] =
            fm_rules_pattern(p, node->type == FM_YAML_LIST ? node->item[i] : node, false);
        if (!rule->match[i])
            return false;
    }
    rule->matches = n;
    return true;
}

static bool parse_match(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                        struct fm_rule *rule)
{
    static const char *const match_keys[] = {"name", "when"};
    const struct fm_yaml_node *match = fm_yaml_get(node, "match");
    const struct fm_yaml_node *when = fm_yaml_get(node, "when");
    if (match && match->type == FM_YAML_MAP) {
        if (!fm_yaml_known(p->log, match, match_keys, FM_COUNT(match_keys), "key of 'match'"))
            return false;
        const struct fm_yaml_node *inner = fm_yaml_get(match, "when");
        if (inner && when)
            return wrong_type(p, when, "'when' stands here and in 'match'");
        when = inner ? inner : when;
        match = fm_yaml_get(match, "name");
    }
    if (!match) {
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_MISSING), node,
                      "a rule needs 'match': a class name or a glob");
        return false;
    }
    if (when && !fm_yaml_is_null(when) && !(rule->when = fm_rules_expr(p, when)))
        return false;
    return parse_names(p, match, rule);
}

/* ------------------------------------------------------------------ stack and thread */

static bool frame_kind(struct fm_rules_parser *p, const struct fm_yaml_node *map,
                       enum fm_frame_kind *kind)
{
    const struct fm_yaml_node *node = fm_yaml_get(map, "kind");
    const char *list[FM_FRAME_C1 + 1];
    *kind = FM_FRAME_UNKNOWN;
    if (!node)
        return true;
    for (size_t i = 0; i < FM_COUNT(list); i++)
        list[i] = fm_frame_kind_text((enum fm_frame_kind)i);
    int k = fm_rules_word(p, node, "frame kind", list, FM_COUNT(list));
    if (k >= 0)
        *kind = (enum fm_frame_kind)k;
    return k >= 0;
}

static bool parse_frame(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                        struct fm_rule_frame *f)
{
    static const char *const frame_keys[] = {"function", "file", "module", "line", "address",
                                             "kind"};
    if (node->type == FM_YAML_SCALAR)
        return (f->function = fm_rules_expr(p, node)) != NULL;
    if (node->type != FM_YAML_MAP)
        return wrong_type(p, node, "a frame is an expression or {function: …, file: …}");
    if (!fm_yaml_known(p->log, node, frame_keys, FM_COUNT(frame_keys), "key of a frame"))
        return false;
    return optional_expr(p, node, "function", &f->function) &&
           optional_expr(p, node, "file", &f->file) &&
           optional_expr(p, node, "module", &f->module) &&
           optional_expr(p, node, "line", &f->line) &&
           optional_expr(p, node, "address", &f->address) && frame_kind(p, node, &f->kind);
}

static bool parse_frames(struct fm_rules_parser *p, const struct fm_yaml_node *list,
                         struct fm_rule_stack *stack)
{
    if (list->type != FM_YAML_LIST)
        return wrong_type(p, list, "'frames' must be a list, root first");
    stack->frame = fm_rules_array(p, list->n, sizeof *stack->frame);
    if (!stack->frame)
        return false;
    for (size_t i = 0; i < list->n; i++)
        if (!parse_frame(p, list->item[i], &stack->frame[i]))
            return false;
    stack->frames = list->n;
    return true;
}

static bool parse_stack(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                        struct fm_rule_stack *stack)
{
    static const char *const stack_keys[] = {"from", "split", "sep", "order", "kind",
                                             "frames"};
    static const char *const orders[] = {"root-first", "leaf-first"};
    if (node->type == FM_YAML_SCALAR) {
        stack->field = fm_rules_expr(p, node);
        return stack->field != NULL;
    }
    if (node->type != FM_YAML_MAP)
        return wrong_type(p, node, "'stack' is a field, or {split: …, sep: …}, or {frames: […]}");
    if (!fm_yaml_known(p->log, node, stack_keys, FM_COUNT(stack_keys), "key of 'stack'"))
        return false;
    const struct fm_yaml_node *sep = fm_yaml_get(node, "sep");
    const struct fm_yaml_node *order = fm_yaml_get(node, "order");
    const struct fm_yaml_node *frames = fm_yaml_get(node, "frames");
    stack->sep = ";";
    if (sep && (!(stack->sep = fm_rules_text(p, sep, "sep")) || !stack->sep[0]))
        return stack->sep ? wrong_type(p, sep, "'sep' is empty") : false;
    int k = order ? fm_rules_word(p, order, "order", orders, FM_COUNT(orders)) : 0;
    stack->leaf_first = k == 1;
    if (k < 0 || !optional_expr(p, node, "from", &stack->field) ||
        !optional_expr(p, node, "split", &stack->split) ||
        !frame_kind(p, node, &stack->kind) || (frames && !parse_frames(p, frames, stack)))
        return false;
    if (!stack->field + !stack->split == 0)
        return wrong_type(p, node, "'from' and 'split' exclude each other");
    if (!stack->field && !stack->split && !stack->frames)
        return wrong_type(p, node, "'stack' needs 'from', 'split' or 'frames'");
    return true;
}

static bool parse_thread(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                         struct fm_rule_thread *t)
{
    static const char *const thread_keys[] = {"pid", "tid", "name", "process"};
    if (node->type == FM_YAML_SCALAR)
        return (t->field = fm_rules_expr(p, node)) != NULL;
    if (node->type != FM_YAML_MAP)
        return wrong_type(p, node, "'thread' is a field, or {pid: …, tid: …, name: …}");
    if (!fm_yaml_known(p->log, node, thread_keys, FM_COUNT(thread_keys), "key of 'thread'"))
        return false;
    return optional_expr(p, node, "pid", &t->pid) && optional_expr(p, node, "tid", &t->tid) &&
           optional_expr(p, node, "name", &t->name) &&
           optional_expr(p, node, "process", &t->process);
}

/* ------------------------------------------------------------------ labels and links */

static bool keep_word(struct fm_rules_parser *p, const struct fm_yaml_node *map, bool *asked)
{
    static const char *const words[] = {"always", "asked"};
    const struct fm_yaml_node *node = fm_yaml_get(map, "keep");
    int k = node ? fm_rules_word(p, node, "'keep'", words, FM_COUNT(words)) : -2;
    if (k >= 0)
        *asked = k == 1;
    return k != -1;
}

/* True when the type of an expression is plain to see. */
static bool own_type(const struct fm_expr *e, enum fm_type *type)
{
    switch (e->op) {
    case FM_EXPR_NOT:
    case FM_EXPR_EQ:
    case FM_EXPR_NE:
    case FM_EXPR_LT:
    case FM_EXPR_LE:
    case FM_EXPR_GT:
    case FM_EXPR_GE:
    case FM_EXPR_AND:
    case FM_EXPR_OR: *type = FM_TYPE_BOOL; return true;
    case FM_EXPR_CALL:
        *type = e->ref == FM_CALL_HAS || e->ref == FM_CALL_GIVEN ? FM_TYPE_BOOL : FM_TYPE_STRING;
        return true;
    case FM_EXPR_LEN: *type = FM_TYPE_I64; return true;
    case FM_EXPR_DIV: *type = FM_TYPE_F64; return true;
    case FM_EXPR_CONST:
        *type = e->value.type == FM_TEXT   ? FM_TYPE_STRING
                : e->value.type == FM_BOOL ? FM_TYPE_BOOL
                : e->value.type == FM_F64  ? FM_TYPE_F64
                                           : FM_TYPE_I64;
        return true;
    case FM_EXPR_WHEN: return own_type(e->arg[0], type);
    case FM_EXPR_IF: return own_type(e->arg[1], type) || own_type(e->arg[2], type);
    case FM_EXPR_COALESCE:
        for (size_t i = 0; i < e->args; i++)
            if (own_type(e->arg[i], type))
                return true;
        return false;
    case FM_EXPR_REF:
        *type = FM_TYPE_STRING;
        return e->ref == FM_REF_CLASS || e->ref == FM_REF_KEY;
    default: return false;
    }
}

static bool label_type(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                       struct fm_rule_label *label)
{
    const char *list[FM_TYPE_THREAD + 1];
    const struct fm_yaml_node *type =
        node->type == FM_YAML_MAP ? fm_yaml_get(node, "type") : NULL;
    if (!type) {
        label->typed = own_type(label->expr, &label->type);
        if (label->typed || label->expr->op == FM_EXPR_REF)
            return true;
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_MISSING), node,
                      "the type of label '%s' cannot be told from its expression: write "
                      "{from: …, type: …}", label->name);
        return false;
    }
    for (size_t i = 0; i < FM_COUNT(list); i++)
        list[i] = fm_type_text((enum fm_type)i);
    int k = fm_rules_word(p, type, "type", list, FM_COUNT(list));
    label->typed = k >= 0;
    label->type = k >= 0 ? (enum fm_type)k : FM_TYPE_I64;
    return k >= 0;
}

/* "args.*": every field that begins so. */
static bool parse_many(struct fm_rules_parser *p, const struct fm_yaml_pair *pair,
                       struct fm_rule_label *label)
{
    static const char *const many_keys[] = {"keep"};
    label->prefix = strlen(pair->key) - 1;
    if (label->prefix == 0) {
        fm_yaml_error_key(p->log, pair, "a label for every field needs the head of their names: "
                                        "args.*");
        return false;
    }
    if (pair->value->type != FM_YAML_MAP)
        return wrong_type(p, pair->value, "labels for every field take {keep: …}");
    return fm_yaml_known(p->log, pair->value, many_keys, FM_COUNT(many_keys),
                         "key of such labels") &&
           keep_word(p, pair->value, &label->asked);
}

static bool parse_label(struct fm_rules_parser *p, const struct fm_yaml_pair *pair, bool asked,
                        struct fm_rule_label *label)
{
    static const char *const label_keys[] = {"from", "type", "keep"};
    const struct fm_yaml_node *node = pair->value;
    label->name = pair->key;
    label->asked = asked;
    if (fm_yaml_is_null(node)) {
        label->hidden = true;
        return true;
    }
    if (pair->key[0] != '\0' && pair->key[strlen(pair->key) - 1] == '*')
        return parse_many(p, pair, label);
    if (node->type == FM_YAML_MAP) {
        if (!fm_yaml_known(p->log, node, label_keys, FM_COUNT(label_keys), "key of a label") ||
            !keep_word(p, node, &label->asked))
            return false;
        const struct fm_yaml_node *from = fm_yaml_get(node, "from");
        if (!from) {
            fm_yaml_error_key(fm_yaml_as(p->log, FM_YAML_MISSING), pair,
                              "label '%s' needs 'from'", pair->key);
            return false;
        }
        label->expr = fm_rules_expr(p, from);
    } else {
        label->expr = fm_rules_expr(p, node);
    }
    return label->expr && label_type(p, node, label);
}

static bool parse_labels(struct fm_rules_parser *p, const struct fm_yaml_node *node, bool asked,
                         struct fm_rule *rule)
{
    if (node->type != FM_YAML_MAP)
        return wrong_type(p, node, "'labels' must be a map of names to fields or expressions");
    rule->label = fm_rules_array(p, node->n, sizeof *rule->label);
    if (!rule->label)
        return false;
    bool ok = true;
    for (size_t i = 0; i < node->n; i++)
        ok &= parse_label(p, &node->pair[i], asked, &rule->label[i]);
    rule->labels = node->n;
    return ok;
}

static bool parse_link(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                       struct fm_rule_link *link)
{
    static const char *const link_keys[] = {"kind", "key", "side"};
    static const char *const sides[] = {"from", "to"};
    static const enum fm_link_kind kinds[] = {FM_LINK_LAUNCH, FM_LINK_WAKER, FM_LINK_FLOW,
                                              FM_LINK_PARENT};
    const char *list[FM_COUNT(kinds)];
    if (node->type != FM_YAML_MAP)
        return wrong_type(p, node, "a link is {kind: …, key: …, side: from|to}");
    if (!fm_yaml_known(p->log, node, link_keys, FM_COUNT(link_keys), "key of a link"))
        return false;
    const struct fm_yaml_node *kind = fm_yaml_get(node, "kind"), *key = fm_yaml_get(node, "key"),
                              *side = fm_yaml_get(node, "side");
    if (!kind || !key || !side) {
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_MISSING), node, "a link needs '%s'",
                      !kind ? "kind" : !key ? "key" : "side");
        return false;
    }
    for (size_t i = 0; i < FM_COUNT(kinds); i++)
        list[i] = fm_link_kind_text(kinds[i]);
    int k = fm_rules_word(p, kind, "link kind", list, FM_COUNT(list));
    int s = fm_rules_word(p, side, "side", sides, FM_COUNT(sides));
    if (k < 0 || s < 0)
        return false;
    link->kind = kinds[k];
    link->side = s == 0 ? FM_SIDE_FROM : FM_SIDE_TO;
    size_t n = key->type == FM_YAML_LIST ? key->n : 1;
    if (n == 0)
        return wrong_type(p, key, "'key' is an empty list");
    link->key = fm_rules_array(p, n, sizeof(*link->key));
    for (size_t i = 0; link->key && i < n; i++) {
        link->key[i] = fm_rules_expr(p, key->type == FM_YAML_LIST ? key->item[i] : key);
        if (!link->key[i])
            return false;
    }
    link->keys = n;
    return link->key != NULL;
}

static bool parse_links(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                        struct fm_rule *rule)
{
    if (node->type != FM_YAML_LIST)
        return wrong_type(p, node, "'links' must be a list of {kind: …, key: …, side: from|to}");
    rule->link = fm_rules_array(p, node->n, sizeof *rule->link);
    if (!rule->link)
        return false;
    for (size_t i = 0; i < node->n; i++)
        if (!parse_link(p, node->item[i], &rule->link[i]))
            return false;
    rule->links = node->n;
    return true;
}

/* ------------------------------------------------------------------ each */

static bool parse_each(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                       struct fm_rule *rule)
{
    static const char *const each_keys[] = {"fields", "zeros"};
    static const char *const words[] = {"skip", "keep"};
    const struct fm_yaml_node *fields = node, *zeros = NULL;
    if (node->type == FM_YAML_MAP) {
        if (!fm_yaml_known(p->log, node, each_keys, FM_COUNT(each_keys), "key of 'each'"))
            return false;
        fields = fm_yaml_get(node, "fields");
        zeros = fm_yaml_get(node, "zeros");
    }
    if (!fields || fields->type != FM_YAML_LIST || fields->n == 0)
        return wrong_type(p, node, "'each' is a list of fields, or {fields: […], zeros: keep}");
    int k = zeros ? fm_rules_word(p, zeros, "'zeros'", words, FM_COUNT(words)) : 0;
    if (k < 0)
        return false;
    rule->each_zero = k == 1;
    rule->each = fm_rules_array(p, fields->n, sizeof *rule->each);
    for (size_t i = 0; rule->each && i < fields->n; i++) {
        const char *name = fm_rules_text(p, fields->item[i], "field");
        if (!name)
            return false;
        rule->each[i] = fm_rules_name(p, name);
        if (rule->each[i] == UINT32_MAX)
            return wrong_type(p, fields->item[i], "too many field names");
    }
    rule->eachs = fields->n;
    p->each = true;
    return rule->each != NULL;
}

/* ------------------------------------------------------------------ the rule */

static bool reads_event(const struct fm_expr *e)
{
    if (e->op == FM_EXPR_REF && e->ref != FM_REF_CLASS)
        return true;
    for (size_t i = 0; i < e->args; i++)
        if (reads_event(e->arg[i]))
            return true;
    return false;
}

/* The metric is the same for all events of a class. */
static bool parse_metric(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                         struct fm_rule *rule)
{
    const struct fm_yaml_node *metric = fm_yaml_get(node, "metric");
    if (!metric || fm_yaml_is_null(metric))
        return true;
    if (!fm_rules_template(p, metric, &rule->metric))
        return false;
    for (size_t i = 0; i < rule->metric.parts; i++)
        if (reads_event(rule->metric.part[i]))
            return wrong_type(p, metric, "'metric' holds for all events of a class: no fields");
    return true;
}

static bool parse_event(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                        struct fm_rule *rule)
{
    static const char *const kinds[] = {"sample", "span", "async", "counter",
                                        "instant", "state", "part"};
    const struct fm_yaml_node *event = fm_yaml_get(node, "event");
    const struct fm_yaml_node *kind = fm_yaml_get(node, "kind");
    const struct fm_yaml_node *unit = fm_yaml_get(node, "unit");
    const struct fm_yaml_node *base = fm_yaml_get(node, "base_of");
    bool ok = true;
    if (!event || fm_yaml_is_null(event)) {
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_MISSING), node,
                      "a rule needs 'event': the metric that its rows belong to");
        ok = false;
    } else {
        ok = fm_rules_template(p, event, &rule->event);
    }
    int k = kind ? fm_rules_word(p, kind, "kind", kinds, FM_COUNT(kinds)) : FM_KIND_SAMPLE;
    if (k >= 0)
        rule->kind = (enum fm_kind)k;
    if (unit && !fm_yaml_is_null(unit))
        ok &= fm_rules_template(p, unit, &rule->unit);
    if (base) {
        rule->base_of = fm_rules_text(p, base, "base_of");
        ok &= rule->base_of != NULL;
    }
    return ok && k >= 0;
}

static bool parse_slots(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                        struct fm_rule *rule)
{
    bool ok = true;
    for (size_t i = 0; i < FM_SLOTS; i++)
        ok &= optional_expr(p, node, slot_keys[i], &rule->slot[i]);
    if (!fm_yaml_find(node, "time"))
        rule->slot[FM_SLOT_TIME] = p->m->clock_field;
    if (rule->slot[FM_SLOT_VALUE] && rule->kind != FM_KIND_COUNTER)
        ok = wrong_type(p, fm_yaml_get(node, "value"), "only counters have 'value'");
    if (rule->kind == FM_KIND_COUNTER && !rule->slot[FM_SLOT_VALUE]) {
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_MISSING), node, "a counter needs 'value'");
        ok = false;
    }
    if ((rule->kind == FM_KIND_SPAN || rule->kind == FM_KIND_STATE) &&
        !rule->slot[FM_SLOT_TIME]) {
        fm_yaml_error(fm_yaml_as(p->log, FM_YAML_MISSING), node, "a span needs 'time'");
        ok = false;
    }
    return ok;
}

static bool parse_rest(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                       struct fm_rule *rule)
{
    const struct fm_yaml_node *stack = fm_yaml_get(node, "stack");
    const struct fm_yaml_node *thread = fm_yaml_get(node, "thread");
    const struct fm_yaml_node *labels = fm_yaml_get(node, "labels");
    const struct fm_yaml_node *links = fm_yaml_get(node, "links");
    const struct fm_yaml_node *view = fm_yaml_get(node, "view");
    bool asked = false;
    bool ok = keep_word(p, node, &asked);
    if (stack && !fm_yaml_is_null(stack))
        ok &= parse_stack(p, stack, &rule->stack);
    if (thread && !fm_yaml_is_null(thread))
        ok &= parse_thread(p, thread, &rule->thread);
    if (labels && !fm_yaml_is_null(labels))
        ok &= parse_labels(p, labels, asked, rule);
    if (links && !fm_yaml_is_null(links))
        ok &= parse_links(p, links, rule);
    if (view && !fm_yaml_is_null(view))
        ok &= fm_rules_view(p, view, &rule->prepend, &rule->append);
    return ok;
}

static bool parse_skip(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                       struct fm_rule *rule)
{
    const struct fm_yaml_node *skip = fm_yaml_get(node, "skip");
    static const char *const words[] = {"false", "true"};
    int k = skip ? fm_rules_word(p, skip, "'skip'", words, FM_COUNT(words)) : 0;
    rule->skip = k == 1;
    return k >= 0;
}

bool fm_rule_parse(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                   struct fm_rule *rule)
{
    rule->node = node;
    if (node->type != FM_YAML_MAP)
        return wrong_type(p, node, "a rule must be a map: {match: …, event: …}");
    bool ok = fm_yaml_known(p->log, node, keys, FM_COUNT(keys), "key");
    ok &= parse_match(p, node, rule) && parse_skip(p, node, rule);
    if (rule->skip)
        return ok;
    const struct fm_yaml_node *each = fm_yaml_get(node, "each");
    if (each && !fm_yaml_is_null(each))
        ok &= parse_each(p, each, rule);
    ok &= parse_event(p, node, rule) && parse_metric(p, node, rule);
    ok &= parse_slots(p, node, rule);
    ok &= parse_rest(p, node, rule);
    p->each = false;
    return ok;
}
