/*
 * lang.h - a query file in memory: the chosen document, its parameters and their values.
 *
 *     queries/NAME.yaml --util/yaml--> nodes with marks --parse.c--> struct fm_query
 *                        -p k=v        --params.c--> values
 *                        scalars       --params.c--> struct fm_scalar (after substitution)
 *
 * Substitution happens on parsed scalars, never on file text. A scalar that is exactly $p or ${p}
 * stands for the typed value; inside longer text only ${p} is replaced, and $${ is a literal ${.
 * Every node keeps its place, so messages about a substituted value still point into the file.
 */
#ifndef FM_QUERY_LANG_H
#define FM_QUERY_LANG_H

#include "util/ctx.h"
#include "util/expr.h"
#include "util/yaml.h"

enum fm_param_type {
    FM_PARAM_INT, FM_PARAM_NUMBER, FM_PARAM_PERCENT, FM_PARAM_TIME, FM_PARAM_RANGE, FM_PARAM_SIZE,
    FM_PARAM_STRING, FM_PARAM_GLOB, FM_PARAM_PRED, FM_PARAM_EVENT, FM_PARAM_COLUMN, FM_PARAM_BOOL
};
#define FM_PARAM_TYPES 12
const char *fm_param_type_text(enum fm_param_type type);

struct fm_param {
    const char *name;
    enum fm_param_type type;
    bool required;
    struct fm_value min, max;            /* null = no bound */
    const struct fm_yaml_node *choices;  /* list, or NULL */
    /* the value: the default until fm_query_set() */
    bool known;                          /* false: required and not given yet */
    const char *text;                    /* as written */
    size_t n;
    struct fm_value value;               /* numbers, booleans and text; null for `all` */
    const char *unit;                    /* of value: "ns", "bytes" or "" */
    const struct fm_yaml_node *node;     /* pred: a map or a list */
};

/* A query that another one uses: `from: {use: NAME}`, one for each place that does. */
struct fm_used {
    const struct fm_yaml_node *at;       /* the place: the node of `use` */
    const char *name;                    /* what stands there, after substitution */
    struct fm_query *query;
    struct fm_used *next;
};

struct fm_query {
    struct fm_ctx *ctx;
    struct fm_arena arena;               /* file, parameters, texts of fm_query_set() */
    struct fm_arena run_arena;           /* plan and messages of the last run */
    struct fm_yaml_file *file;
    struct fm_yaml_log log;
    const struct fm_yaml_node *root;     /* the chosen document */
    const char *name, *about;
    struct fm_param *param;
    size_t params;
    const struct fm_yaml_node *inputs;   /* list, or NULL */
    const struct fm_yaml_node *steps;    /* list, or NULL */
    const struct fm_yaml_node *from;     /* or NULL */
    const struct fm_yaml_node *lets;     /* map of pipes, or NULL */
    const struct fm_yaml_node *show;     /* list of their names, or NULL */
    const struct fm_yaml_node *columns;  /* output: columns, or NULL */
    const char *separator;               /* output: path: separator */
    bool leaf_first;                     /* output: path: order */
    struct fm_used *used;
    const struct fm_query *user;         /* of a used one: who uses it */
    bool keep_rows;                      /* it may end as rows */
    bool ran;                            /* the log is of a run, and in run_arena */
};

/* parse.c: checks one document and fills q; messages go to q->log. */
void fm_query_document(struct fm_query *q, const struct fm_yaml_node *root);

/* The query that a scalar names, for a `use` in q: loaded once for each place, freed with q. A name
 * is a document of the same file, else as for fm_query_load(); paths go from the file's folder.
 * NULL: logged in log, or no memory. */
struct fm_query *fm_query_use(struct fm_query *q, struct fm_arena *arena, struct fm_yaml_log *log,
                              const struct fm_yaml_node *at);
/* Sets the parameters of a used query by the values of `with`, which may use parameters of q.
 * false: logged. */
bool fm_query_with(struct fm_query *used, const struct fm_query *q, struct fm_arena *arena,
                   struct fm_yaml_log *log, const struct fm_yaml_node *with);
/* Finds and parses a file, and checks the form of one document; messages go to q->log. */
enum fm_status fm_query_open(struct fm_query *q, const char *name, struct fm_error *err);
struct fm_query *fm_query_new(struct fm_ctx *ctx);   /* NULL: no memory */

/* The keys of a part of a query file, as they are checked. */
enum fm_query_part { FM_PART_TOP, FM_PART_LET, FM_PART_OUTPUT, FM_PART_PATH, FM_PART_PARAM };
const char *const *fm_query_keys(enum fm_query_part part, size_t *n);

/* params.c */
void fm_params_parse(struct fm_query *q, const struct fm_yaml_node *node);
const struct fm_param *fm_param_find(const struct fm_query *q, const char *name, size_t n);
/* Parses `text` as a value of p's type. false: `why` (at least 160 bytes) says what is wrong. */
bool fm_param_value(struct fm_arena *arena, struct fm_param *p, const char *text, size_t n,
                    char why[160]);
/* Makes a map or a list (of a file of q, whose parameters are substituted) the value of p, a pred
 * of another query. false: logged, or no memory. */
bool fm_param_tree(const struct fm_query *q, struct fm_arena *arena, struct fm_yaml_log *log,
                   struct fm_param *p, const struct fm_yaml_node *from);

/* A scalar after substitution. */
struct fm_scalar {
    const struct fm_yaml_node *at;   /* where it stands, for messages */
    const char *text;
    size_t n;
    const struct fm_param *param;    /* the scalar is exactly $p */
    bool unknown;                    /* it needs a parameter that has no value yet */
};

/* Substitutes. false: logged (an unknown parameter) or no memory. */
bool fm_scalar_get(const struct fm_query *q, struct fm_arena *arena, struct fm_yaml_log *log,
                   const struct fm_yaml_node *node, struct fm_scalar *out);
/* A number with an optional unit, or $p; null value and true for a parameter without a value. */
bool fm_scalar_number(const struct fm_query *q, const char *text, size_t n,
                      struct fm_value *value, const char **unit);
/* The nearest parameter's name for a message: " (did you mean 'x'?)" or "". */
const char *fm_param_hint(const struct fm_query *q, struct fm_arena *arena, const char *name,
                          size_t n);

#endif
