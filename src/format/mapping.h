/*
 * mapping.h - formats/NAME.yaml: what the events of a format mean.
 *
 * A mapping file is parsed once into rules (struct fm_mapping). An importer then DECLARES the event
 * classes it meets, with typed fields (fm_class_declare); each class is matched against the rules
 * and compiled into moves field -> column. The importer learns which fields are WANTED and decodes
 * no others. For each event it hands over the field values (fm_event), and the moves run.
 *
 *     formats/perf.yaml --parse--> rules --bind(class "cycles", fields)--> moves --fm_event--> row
 *
 * The language is described in man/foldmill-formats.5.
 */
#ifndef FM_FORMAT_MAPPING_H
#define FM_FORMAT_MAPPING_H

#include "store/build.h"
#include "util/expr.h"
#include "util/out.h"
#include "util/pattern.h"
#include "util/yaml.h"

struct fm_mapping;

/* Finds formats/NAME.yaml along the data path and parses it. FM_UNKNOWN: no such file; FM_CONFIG:
 * it is wrong, err has line and column. Allocated from ctx; freed by fm_mapping_free(). */
enum fm_status fm_mapping_load(struct fm_ctx *ctx, const char *name, struct fm_mapping **mapping,
                               struct fm_error *err);
/* One file by path; every message goes to log (fm_check prints it). */
enum fm_status fm_mapping_load_file(struct fm_ctx *ctx, const char *path,
                                    struct fm_mapping **mapping, struct fm_yaml_log *log,
                                    struct fm_error *err);
/* The same from a text, which must outlive the mapping. */
enum fm_status fm_mapping_load_text(struct fm_ctx *ctx, const char *name, const char *text,
                                    size_t n, struct fm_mapping **mapping,
                                    struct fm_yaml_log *log, struct fm_error *err);
void fm_mapping_free(struct fm_mapping *mapping);

const char *fm_mapping_name(const struct fm_mapping *mapping);
const char *fm_mapping_about(const struct fm_mapping *mapping);
const char *fm_mapping_container(const struct fm_mapping *mapping);
/* The whole document. What a generic container (text, csv, json, jsonl, records) says about its
 * bytes is parsed into struct fm_container: see format/container.h. */
const struct fm_yaml_node *fm_mapping_root(const struct fm_mapping *mapping);

/* The i-th name of a field that the rules use, NULL past the end. */
const char *fm_mapping_field(const struct fm_mapping *mapping, size_t i);

/* Validates one file for `foldmill check`: prints all errors with excerpts, or a summary of what it
 * maps. FM_CONFIG when it is wrong. */
enum fm_status fm_mapping_check(struct fm_ctx *ctx, const char *path, struct fm_out *out,
                                struct fm_error *err);

/* ------------------------------------------------------- classes and fields */

struct fm_field {
    const char *name;
    enum fm_type type;
    const char *unit;      /* "ns", "bytes", "" … or NULL */
};

struct fm_binding;         /* a mapping bound to one builder */

/* `keep` is the user's "a,b" or "all" list (NULL = none): labels marked asked that something
 * names. One binding per builder (sub-builders: one each, bound again). */
enum fm_status fm_binding_new(const struct fm_mapping *mapping, struct fm_builder *builder,
                              const char *keep, struct fm_binding **binding,
                              struct fm_error *err);
void fm_binding_free(struct fm_binding *binding);

/* With `on`, fm_event() itself counts samples in (fm_account_in): for importers that cannot know
 * how many samples an event stands for before the rules have been run. Off at first. */
void fm_binding_account(struct fm_binding *binding, bool on);
/* Byte offset of the event that is added next, for findings; optional. */
void fm_binding_at(struct fm_binding *binding, uint64_t offset);

/* What mapped() and mapped_offset() of expressions look addresses up in; `user` lives as long as
 * the binding. Without it no address has a name. */
typedef bool fm_binding_named_fn(const void *user, uint64_t address, const char **name, size_t *n,
                                 uint64_t *start);
void fm_binding_named(struct fm_binding *binding, fm_binding_named_fn *find, const void *user);

#define FM_CLASS_FIELDS 1024
#define FM_CLASS_UNMAPPED (-1)
#define FM_CLASS_NOT_ASKED (-3)

/* What --event names (NULL: everything): classes of other events are declared in vain, see below.
 * Only for importers that know FM_CLASS_NOT_ASKED. Borrowed. */
void fm_binding_only(struct fm_binding *binding, const char *events);

/*
 * Declares a class. Returns its number (>= 0) or FM_CLASS_UNMAPPED when no rule takes it (its
 * events are then counted by fm_event_unmapped()); FM_CLASS_NOT_ASKED when fm_binding_only() leaves
 * it out (its events are known, their rows are not wanted); -2 on no memory or too many fields. The
 * class takes every rule that matches its name, in order, up to the first without `when`.
 * wanted (fields bits, (n + 63) / 64 words, may be NULL) tells which fields the moves read; others
 * need not be decoded and may be left absent.
 * `period` is the event's sampling period setting (0 unknown). Names and units are copied.
 */
int fm_class_declare(struct fm_binding *binding, const char *name, const struct fm_field *field,
                     size_t n, uint64_t period, uint64_t *wanted);

/*
 * Adds one event: value[i] and present bit i for field i of the declaration. Values are 64-bit
 * lanes as in store/build.h (strings interned, stacks as append nodes, threads as rows).
 *
 * Returns the row (the last one of several, by `each`), or UINT64_MAX when every rule's `when` said
 * no (counted as not mapped), `each` found no value, or the builder has failed. Every row of kind
 * sample counts as one kept sample per COUNT; the importer has counted it in with fm_account_in(),
 * unless fm_binding_account() was asked for. A value that a column cannot hold is left out and
 * counted (FM_DIAG_VALUE_RANGE), a weight or value that is null too (FM_DIAG_ROW_RULE).
 */
uint64_t fm_event(struct fm_binding *binding, int class_id, const uint64_t *value,
                  const uint64_t *present);
void fm_event_unmapped(struct fm_binding *binding, const char *class_name, uint64_t offset);

/*
 * What fm_event() does for an event of a class with `fields` (a bit each) and no others, where that
 * is copying fields into columns: the importer may then make such rows many at once
 * (fm_rows_column()), EVENT among the columns. false: it is more, or the class is large. Links
 * are left to fm_event_links(), a call for each row.
 */
#define FM_COPY_MOVES 24
struct fm_class_copy {
    uint32_t event;
    bool links;
    uint64_t all;                  /* fields that would be copied if they were there */
    size_t moves;
    struct fm_move move[FM_COPY_MOVES];
};
bool fm_class_copy(const struct fm_binding *binding, int class_id, uint64_t fields,
                   struct fm_class_copy *copy);
void fm_event_links(struct fm_binding *binding, int class_id, const uint64_t *value,
                    const uint64_t *present, uint64_t row);

/* Event index of the store that class_id's rule writes to (constant event names only), else
 * FM_NONE. */
uint32_t fm_class_event(const struct fm_binding *binding, int class_id);

/* Makes every binding of this mapping print its report to `out` when it is freed. */
void fm_mapping_set_report(struct fm_mapping *mapping, struct fm_out *out);
/* Prints, for each declared class, which field reaches which column (`check --against`). */
void fm_binding_report(const struct fm_binding *binding, struct fm_out *out);

#endif
