/*
 * rules.h - a mapping file, parsed: what mapping.c makes and bind.c compiles. Inner header of
 * format/.
 *
 * Expressions name fields that no class has declared yet. Each distinct name gets a number in
 * fm_mapping.name[]; a class turns these numbers into its own field indexes when it is bound.
 */
#ifndef FM_FORMAT_RULES_H
#define FM_FORMAT_RULES_H

#include "format/container.h"

/* Columns that a rule sets by one expression. */
enum fm_slot {
    FM_SLOT_TIME, FM_SLOT_DUR, FM_SLOT_WEIGHT, FM_SLOT_COUNT, FM_SLOT_VALUE, FM_SLOT_CPU,
    FM_SLOT_NAME, FM_SLOT_CATEGORY, FM_SLOT_COMM, FM_SLOT_PERIOD, FM_SLOTS
};

/* expr.ref of names that are no fields, and of calls. */
#define FM_REF_CLASS 0xffff0000u   /* $class: the class's name */
#define FM_REF_KEY 0xffff0001u     /* $key: `each`: the field's name */
#define FM_REF_EACH 0xffff0002u    /* $value: `each`: the field's value */
enum { FM_CALL_HAS, FM_CALL_GIVEN, FM_CALL_HEX, FM_CALL_BEFORE, FM_CALL_AFTER,
       FM_CALL_MAPPED, FM_CALL_MAPPED_OFFSET,
       FM_CALL_LOOKUP /* + number of the dictionary */ };

/* A text with ${expression} in it. */
struct fm_template {
    struct fm_expr **part;         /* text constants and expressions, in order */
    size_t parts;
};

struct fm_rule_label {
    const char *name;
    struct fm_expr *expr;
    bool typed;                    /* type is given; else that of the field */
    enum fm_type type;
    bool asked;
    bool hidden;                   /* `labels: {x: null}`: written down as not wanted */
    size_t prefix;                 /* `labels: {args.*: …}`: length of "args."; every such field of
                                    * a class is a label by the rest of its name; 0: one label */
};

struct fm_rule_link {
    enum fm_link_kind kind;
    enum fm_link_side side;
    struct fm_expr **key;
    size_t keys;
};

struct fm_rule_frame {
    struct fm_expr *function, *file, *module, *line, *address;  /* NULL: none */
    enum fm_frame_kind kind;
};

struct fm_rule_stack {
    struct fm_expr *field;         /* of type stack; with frames: they stand below it */
    struct fm_expr *split;         /* a text of names */
    const char *sep;
    bool leaf_first;
    enum fm_frame_kind kind;       /* of the names */
    struct fm_rule_frame *frame;   /* below them, root first */
    size_t frames;
};

struct fm_rule_thread {
    struct fm_expr *field, *pid, *tid, *name, *process;
};

struct fm_rule {
    const struct fm_yaml_node *node;
    struct fm_pattern **match;
    size_t matches;
    struct fm_expr *when;          /* NULL: always */
    bool skip;                     /* known and left out: counted as not mapped */
    struct fm_template event, metric, unit; /* parts == 0: not given */
    enum fm_kind kind;
    struct fm_expr *slot[FM_SLOTS];
    struct fm_rule_stack stack;
    struct fm_rule_thread thread;
    struct fm_rule_label *label;
    size_t labels;
    struct fm_rule_link *link;
    size_t links;
    uint32_t *each;                /* numbers of names: one row for each that has a value */
    size_t eachs;
    bool each_zero;                /* zeros too */
    const char *prepend, *append;  /* comma-joined, NULL: the mapping's */
    const char *base_of;           /* the event that this one is the base of, or NULL */
};

struct fm_dict_entry {
    const char *key;
    size_t key_n;
    bool is_int;                   /* key is a number: compared by value */
    int64_t number;
    const char *text;
    size_t n;
};

struct fm_dict {
    const char *name;
    struct fm_dict_entry *entry;   /* numbers first, ascending; then texts bytewise */
    size_t entries, ints;
};

struct fm_constant {
    const char *name;
    struct fm_value value;
    const char *unit;
};

/* `aliases: {cpu: [cputime, execution]}` */
struct fm_rule_alias {
    const char *name;
    const char **entry;            /* names or metrics */
    size_t entries;
    const char *list;              /* the same, comma-joined */
};
#define FM_ALIAS_ENTRIES 62u

/* `derived: {leak: {event: …, unless_later: …, key: …}}` */
struct fm_rule_derived {
    const char *name, *event, *unless, *key;
};

#define FM_MAPPING_NAMES 8192u     /* distinct field names of one file */

struct fm_mapping {
    struct fm_mem *mem;
    struct fm_arena arena;
    struct fm_yaml_file *file;
    const struct fm_yaml_node *root;
    const char *name, *about, *container;
    enum fm_clock clock;
    bool clock_file;               /* the file itself tells */
    int64_t clock_scale;           /* ns per unit of times without unit; 0: ticks */
    struct fm_expr *clock_field;   /* `time` of rules that have none */
    struct fm_rule *rule;
    size_t rules;
    const char **field_name;       /* names that expressions use */
    size_t names, names_cap;
    struct fm_map name_at;         /* hash of a name -> its number + 1 */
    struct fm_dict *dict;
    size_t dicts;
    struct fm_constant *constant;
    size_t constants;
    struct fm_rule_alias *alias;
    size_t aliases;
    struct fm_rule_derived *derived;
    size_t deriveds;
    struct fm_pattern **default_event;
    const char **default_text;     /* as they are written: may be metrics or aliases */
    size_t default_events;
    struct fm_pattern **pattern;   /* all patterns, to be freed */
    size_t patterns, patterns_cap;
    const char *prepend, *append;  /* "" none */
    struct fm_container spec;      /* kind NONE: an importer of its own */
    struct fm_out *report;         /* where bindings say at their end what they bound, or NULL */
};

/* What parsing needs beside the mapping. */
struct fm_rules_parser {
    struct fm_mapping *m;
    struct fm_yaml_log *log;
    struct fm_expr_names names;
    bool each;                     /* $key and $value mean something here */
    bool nomem;
};

/* rule.c: one entry of `classes`. */
bool fm_rule_parse(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                   struct fm_rule *rule);

/* mapping.c: shared pieces. Errors are logged; NULL or false then. */
struct fm_expr *fm_rules_expr(struct fm_rules_parser *p, const struct fm_yaml_node *node);
bool fm_rules_template(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                       struct fm_template *t);
bool fm_rules_view(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                   const char **prepend, const char **append);
struct fm_pattern *fm_rules_pattern(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                                    bool regex);
/* Number of a name in field_name[]; UINT32_MAX on too many or no memory. */
uint32_t fm_rules_name(struct fm_rules_parser *p, const char *name);
/* The same of a name that is there; UINT32_MAX: it is not. */
uint32_t fm_mapping_name_find(const struct fm_mapping *m, const char *name);
/* A scalar's text; logs an error for lists and maps (NULL then). */
const char *fm_rules_text(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                          const char *what);
/* Index of the scalar's text in list[n], or -1 with an error. */
int fm_rules_word(struct fm_rules_parser *p, const struct fm_yaml_node *node, const char *what,
                  const char *const *list, size_t n);
/* n zeroed elements of `size` bytes; NULL = no memory (and p->nomem). */
void *fm_rules_array(struct fm_rules_parser *p, size_t n, size_t size);

/* container.c: keys of the generic containers into m->spec; false when something was wrong. */
bool fm_container_parse(struct fm_rules_parser *p, const struct fm_yaml_node *root);
/* choices.c: `aliases`, `default_event` and `derived`; `derived` after the rules. */
void fm_choices_parse(struct fm_rules_parser *p);
void fm_derived_parse(struct fm_rules_parser *p);
/* The place of an event in default_event, and the metric or alias that stands there (NULL: its
 * name); -1: it is not in the list. */
int32_t fm_default_rank(const struct fm_mapping *m, const char *name, const char *metric,
                        const char **as);

/* detect.c */
bool fm_detect_parse(struct fm_rules_parser *p, const struct fm_yaml_node *list,
                     struct fm_container *c);
/* Small typed values of maps; absent keys leave *out. false with a message when wrong. */
bool fm_rules_bool(struct fm_rules_parser *p, const struct fm_yaml_node *map, const char *key,
                   bool *out);
bool fm_rules_u32(struct fm_rules_parser *p, const struct fm_yaml_node *map, const char *key,
                  uint32_t min, uint32_t max, uint32_t *out);

#endif
