/*
 * reader.h - how the files of the plan read YAML: values with the report's parameters put in.
 *
 *     reader.c      scalars, lists and maps of a report; $n and ${n}
 *     ask.c         what is asked: a query or an exporter, with its options
 *     plan.c        the keys of a report, what it asks of each file, tables, the page
 *     plan_over.c   groups of files, and what is asked over them: compare, gates, trends
 *     schema.c      the same keys as a JSON Schema
 *
 * Messages go to reader->log, each with its place; what is returned then is of no use, and the
 * number of errors tells at the end. Everything lies in the plan's arena.
 */
#ifndef FM_REPORT_READER_H
#define FM_REPORT_READER_H

#include "report/inner.h"

struct fm_report_reader {
    struct fm_report_plan *plan;
    struct fm_arena *arena;
    struct fm_yaml_log *log;
    const struct fm_yaml_node *root;
    struct fm_report_pair *param;
    size_t params;
};

/* The parts of a report file that are maps, and the keys of each (schema.c). */
enum fm_report_part {
    FM_REPORT_TOP, FM_REPORT_EACH, FM_REPORT_ROWS, FM_REPORT_COMPARE, FM_REPORT_GATE,
    FM_REPORT_TREND, FM_REPORT_TREND_GATE, FM_REPORT_INDEX, FM_REPORT_PARTS
};
/* Logs the keys of a map that are none of that part. */
bool fm_report_known(const struct fm_yaml_node *map, enum fm_report_part part,
                     struct fm_yaml_log *log);

/* Whether a node is a map with keys of that part only; else logged. */
bool fm_read_part(struct fm_report_reader *r, const struct fm_yaml_node *node,
                  enum fm_report_part part, const char *what);
/* The entries of a list under a key of the report, *n = 0 when there are none. */
struct fm_yaml_node *const *fm_read_entries(struct fm_report_reader *r, const char *key, size_t *n);

/* A scalar with parameters put in. NULL: it is none (logged), or no memory. */
const char *fm_read_text(struct fm_report_reader *r, const struct fm_yaml_node *node);
/* The same for a key of a map: `otherwise` when it has none. */
const char *fm_read_key(struct fm_report_reader *r, const struct fm_yaml_node *map,
                        const char *key, const char *otherwise);
/* One text, or a list of texts. */
const char *const *fm_read_list(struct fm_report_reader *r, const struct fm_yaml_node *node,
                                size_t *n);
/* {NAME: text, ...} */
const struct fm_report_pair *fm_read_pairs(struct fm_report_reader *r,
                                           const struct fm_yaml_node *node, size_t *n);
bool fm_read_bool(struct fm_report_reader *r, const struct fm_yaml_node *map, const char *key,
                  bool otherwise);
/* A number, "5%" is 0.05. */
double fm_read_number(struct fm_report_reader *r, const struct fm_yaml_node *map, const char *key,
                      double otherwise);

/* ask.c: {query, with, export, event ...}; of `compare` with groups as inputs. */
bool fm_read_ask(struct fm_report_reader *r, const struct fm_yaml_node *map, bool groups,
                 struct fm_report_ask *ask);
/* plan.c: the form that `to` is written in: of a table by its ending, or that of ask->export, which
 * is set by the ending when nothing says it. false: logged. */
bool fm_read_target(struct fm_report_reader *r, const struct fm_yaml_node *map,
                    struct fm_report_ask *ask, const char **to, const char **form);
/* plan.c: the form of a table by the ending of its name; NULL: logged. */
const char *fm_read_form(struct fm_report_reader *r, const struct fm_yaml_node *at,
                         const char *to);
/* plan.c: a path below the report's folder; logged when it is none. */
bool fm_read_place(struct fm_report_reader *r, const struct fm_yaml_node *at, const char *to);
/* plan.c: place of a table by its name; plan->tables: logged. */
size_t fm_read_table(struct fm_report_reader *r, const struct fm_yaml_node *map);

/* plan_over.c */
void fm_read_groups(struct fm_report_reader *r);
void fm_read_compares(struct fm_report_reader *r);
void fm_read_gates(struct fm_report_reader *r);
void fm_read_trends(struct fm_report_reader *r);

#endif
