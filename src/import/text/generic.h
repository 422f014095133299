/*
 * generic.h - formats that need no importer of their own: containers text, csv, json, jsonl and
 * records, cut as their formats/NAME.yaml says (format/container.h).
 *
 *     text.c csv.c json.c records.c ──► struct fm_record ──► class ──► fm_event()
 *
 * A record is a set of field values; generic.c turns texts and bits into lanes by the field's type,
 * declares classes when they first occur, and hands the events to the mapping.
 */
#ifndef FM_IMPORT_TEXT_GENERIC_H
#define FM_IMPORT_TEXT_GENERIC_H

#include "format/container.h"
#include "import/import.h"

/* Reads an input as the mapping's container says. As fm_importer.import. */
enum fm_status fm_generic_import(struct fm_import *import, struct fm_error *err);

/* Verified bits that the head of an input is of this format; 0 = no. */
unsigned fm_generic_probe(const struct fm_container *c,
                          const unsigned char *data, size_t n, bool whole);

/* ------------------------------------------------- for the containers' files */

#define FM_GENERIC_LINE ((size_t)16 << 20)   /* longest line */

struct fm_class_entry {
    fm_str name;
    int id;
};

/* A field whose values begin anew: the last one, and what all that follow get added. */
struct fm_wrap {
    uint64_t last, base;
    bool any;
};

struct fm_addresses;

struct fm_generic {
    struct fm_import *import;
    const struct fm_container *c;
    struct fm_builder *builder;
    struct fm_binding *binding;
    struct fm_mem *mem;
    struct fm_arena arena;
    struct fm_reader *reader;
    struct fm_cfield *field;           /* of the container, and columns found in the input */
    size_t fields;
    uint64_t *value, *present;         /* the record that is being read */
    struct fm_wrap *wrap;              /* of fields whose values begin anew; NULL: there are none */
    struct fm_class_entry *class;
    size_t classes, class_cap;
    size_t last_class;
    char *scratch;
    size_t scratch_cap;
    uint64_t records;
    struct fm_addresses *addresses;    /* names of them that the user has, or NULL */
    bool oom;
};

/* Adds a field that the container does not have (a csv column); before the first record. */
uint32_t fm_generic_add_field(struct fm_generic *g, const struct fm_cfield *field);
void fm_generic_clear(struct fm_generic *g);
/* Sets a field from text: blanks trimmed, empty = no value; a text that is not of its type is
 * counted (FM_DIAG_VALUE_RANGE) and left out. */
void fm_generic_text(struct fm_generic *g, uint32_t field, const char *s, size_t n,
                     uint64_t offset);
/* Sets a field from bits, which `f` describes. */
void fm_generic_bits(struct fm_generic *g, const struct fm_cfield *f, uint32_t field,
                     uint64_t bits, uint64_t offset);
void fm_generic_lane(struct fm_generic *g, uint32_t field, uint64_t lane);
/* The record is whole: an event of the class (NULL: as the container says). */
void fm_generic_emit(struct fm_generic *g, const char *class, uint64_t offset);
/* FM_OK, or why reading must stop: memory, cancellation. Call now and then. */
enum fm_status fm_generic_status(struct fm_generic *g, uint64_t done, struct fm_error *err);

/* Hands every line to `take`: a byte order mark at the start is left out, a line over
 * FM_GENERIC_LINE is counted as a bad one. `number` is 1 for the first line. */
typedef void fm_generic_line_fn(void *user, const char *s, size_t n, uint64_t number,
                                uint64_t offset);
enum fm_status fm_generic_each_line(struct fm_generic *g, fm_generic_line_fn *take, void *user,
                                    struct fm_error *err);

enum fm_status fm_generic_lines(struct fm_generic *g, struct fm_error *err);
enum fm_status fm_generic_csv(struct fm_generic *g, struct fm_error *err);
enum fm_status fm_generic_json(struct fm_generic *g, struct fm_error *err);
enum fm_status fm_generic_jsonl(struct fm_generic *g, struct fm_error *err);
enum fm_status fm_generic_records(struct fm_generic *g, struct fm_error *err);
/* Objects that follow one another (objects.c). fm_objects_next() hands out text[n], JSON from '{'
 * to '}' that stood at `offset`; *end: there are no more. FM_TRUNCATED: the input ends inside
 * one. */
struct fm_objects {
    struct fm_generic *g;
    bool raw;                          /* strings are not escaped */
    uint64_t objects;                  /* counted by the caller */
    char *text;
    size_t n, cap;
    uint64_t offset;
};
enum fm_status fm_objects_next(struct fm_objects *o, bool *end, struct fm_error *err);
void fm_objects_release(struct fm_objects *o);
/* Ranges that lines begin and end (range.c), in the arena of g. Both take the record that is being
 * read; `class` lives as long as the mapping. */
struct fm_ranges *fm_ranges_new(struct fm_generic *g);
void fm_range_open(struct fm_ranges *ranges, const char *class, enum fm_frame_kind kind,
                   uint64_t offset);
void fm_range_close(struct fm_ranges *ranges, uint64_t offset);
/* What is still open has no end: counted. */
void fm_ranges_end(struct fm_ranges *ranges);
/* Layout of the record at p (c->size bytes), or NULL. */
const struct fm_layout *fm_record_layout(const struct fm_container *c, const unsigned char *p);

#endif
