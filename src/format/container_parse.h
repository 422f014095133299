/*
 * container_parse.h - what the files share that read the keys of containers. Inner header of
 * format/.
 */
#ifndef FM_FORMAT_CONTAINER_PARSE_H
#define FM_FORMAT_CONTAINER_PARSE_H

#include "format/rules.h"

/* Both log an error and are false. */
bool fm_cwrong(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                        const char *text);
bool fm_cmissing(struct fm_rules_parser *p, const char *text);

/* Number of the field of that name, UINT32_MAX: there is none. */
uint32_t fm_container_find(const struct fm_container *c, const char *name);
/* The same, made as a text when it is new; there is room for it. */
uint32_t fm_container_add(struct fm_container *c, const char *name);

bool fm_container_type(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                       enum fm_type *type);
/* Text or a list of texts. */
bool fm_container_texts(struct fm_rules_parser *p, const struct fm_yaml_node *node,
                        const char *what, const char *const **texts, size_t *count);
/* {type, unit, scale, hex, trim, wraps} and what a container adds to it. */
bool fm_container_field(struct fm_rules_parser *p, enum fm_container_kind kind,
                        const struct fm_yaml_node *node, struct fm_cfield *f);
/* {match, do, class, kind} */
bool fm_container_line(struct fm_rules_parser *p, struct fm_container *c,
                       const struct fm_yaml_node *node, struct fm_line_rule *r);
/* `unmatched: bad|skip` */
bool fm_container_unmatched(struct fm_rules_parser *p, struct fm_container *c,
                            const struct fm_yaml_node *root);

/* container_csv.c */
bool fm_container_csv(struct fm_rules_parser *p, struct fm_container *c,
                      const struct fm_yaml_node *root);

#endif
