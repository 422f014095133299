/*
 * binding.h - rules compiled against declared classes. Inner header of format/: bind.c makes what
 * event.c runs.
 *
 *     class "cycles" ── rule 3 (when …) ── plain   {field, column}…     copied as they are
 *                    └─ rule 7             checked {field, column}…     i64, not negative
 *                                          slow    {expression, column} evaluated, converted
 *                                          thread, stack, links, each: only where written
 */
#ifndef FM_FORMAT_BINDING_H
#define FM_FORMAT_BINDING_H

#include "format/rules.h"

#define FM_NO_FIELD UINT16_MAX

struct fm_slow {
    const struct fm_expr *expr;
    fm_column column;
    enum fm_type type;             /* of the column */
    int64_t scale;                 /* ns per unit; 1 elsewhere */
};

/* A rule for one class. */
/* The plain moves of the fields that were there in the last event: events of a class are alike. */
struct fm_ready {
    uint64_t fields;
    size_t n;
    bool weightless;               /* the field of the weight is not there */
    struct fm_move *move;
};

struct fm_bound_rule {
    const struct fm_rule *rule;
    const struct fm_expr *when;    /* NULL: always (or decided at the declaration) */
    uint32_t event;                /* FM_NONE: its name is computed for each row, or … */
    bool late;                     /* … made with the first row: `when` may never hold */
    const char *metric;            /* NULL: the name */
    fm_str unit;                   /* of computed events */
    bool unit_computed;
    struct fm_map events;          /* computed ones: name << 32 | unit -> event + 1 */
    struct fm_move *plain, *checked;
    size_t plains, checkeds;
    uint64_t need;                 /* fields of `plain`, when the class has at most 63; else 0 */
    struct fm_ready *ready;
    struct fm_slow *slow;
    size_t slows;
    bool one;                      /* weight 1 without any expression */
    bool weight_is_count;          /* weight = count */
    bool weight_is_dur;
    bool value_is_f64;
    bool more;                     /* has thread parts, stack parts, links or each */
    uint64_t period;
};

struct fm_bound {
    const char *name;
    fm_str name_str;
    struct fm_field *field;
    size_t fields;
    uint16_t *index;               /* number of a name in the mapping -> field, or FM_NO_FIELD */
    struct fm_bound_rule *rule;
    size_t rules;
    uint64_t *wanted;
    bool asked;                    /* a rule's event is wanted */
    char **missing;                /* names that rules use and the class lacks */
    size_t missings;
};

struct fm_label_column {
    const char *name;
    enum fm_type type;
    fm_column column;
};

struct fm_binding {
    const struct fm_mapping *m;
    struct fm_builder *builder;
    struct fm_mem *mem;
    struct fm_arena arena;
    const char *keep;
    const char *only;              /* events that are wanted, as --event says; NULL: all */
    struct fm_bound *class;
    size_t classes, class_cap;
    struct fm_label_column *label;
    size_t labels, label_cap;
    uint64_t offset;               /* of the event that is added, for findings */
    bool accounts;                 /* counts samples in by itself */
    fm_binding_named_fn *named;    /* names of addresses, or NULL */
    const void *named_user;
    /* caches of event.c */
    int64_t last_pid, last_tid;
    fm_thread last_thread;
    fm_str last_thread_name;
    struct fm_map splits;          /* rule << 32 | text -> stack */
    char *scratch;
    size_t scratch_cap;
};

/* bind.c: event of that name by a bound rule, with view and rank; FM_NONE = no memory. */
uint32_t fm_binding_event(struct fm_binding *b, const struct fm_bound_rule *r, const char *name,
                          size_t n, const char *unit, size_t unit_n);

/* asked.c: whether an event of that name and metric is among those wanted. */
bool fm_rule_asked(const struct fm_binding *b, const char *name, const char *metric);

/* eval.c: expressions over the fields of one event. */
struct fm_eval {
    struct fm_binding *b;
    const struct fm_bound *class;
    const uint64_t *value, *present;
    uint16_t each;                 /* field of $key and $value */
    unsigned hexes;
    char hex[4][24];               /* texts made by hex() */
};
struct fm_value fm_eval_get(void *user, const struct fm_expr *node);
struct fm_value fm_eval_run(struct fm_eval *e, const struct fm_expr *expr);
/* The value as a lane of a column; false: null (then *null = true), or it does not fit. */
bool fm_eval_lane(struct fm_eval *e, const struct fm_value *v, enum fm_type type, int64_t scale,
                  uint64_t *lane, bool *null);
/* The value as an interned string; 0 for null. */
fm_str fm_eval_str(struct fm_eval *e, const struct fm_value *v);
/* A template's text, in b->scratch; false = no memory. */
bool fm_eval_template(struct fm_eval *e, const struct fm_template *t, size_t *n);

#endif
