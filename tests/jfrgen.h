/*
 * jfrgen.h - writes JFR chunks from a small description, for tests: knows the format from its own
 * side and shares nothing with the importer.
 *
 *     struct jfr g = {0};
 *     jfr_schema(&g, jfr_types);                        what types there are
 *     jfr_chunk(&g, 2, 1, start_ns, start_ticks, ticks_per_second);
 *     jfr_meta(&g);                                     the metadata event
 *     jfr_event(&g, "jdk.ThreadPark 100 5 1 7 ...");    a type and its fields' values
 *     jfr_pools(&g, 0, "jdk.types.Symbol 2 10 3:run 11 3:main ...");
 *     jfr_end(&g);                                      the header is filled in
 *     ... another chunk ...
 *     g.data[0 .. g.n)
 *
 * Schema, one type a line ('#' in column 0: a comment):
 *
 *     ID NAME[!] [:SUPER] FIELD ...        '!' = simpleType
 *     FIELD := NAME=TYPE['#']['[]'][@ANNOTATION[=VALUE]]
 *
 * '#' = constantPool, '[]' = dimension 1, TYPE a name of the schema. Types without fields and super
 * are the primitives, by name.
 *
 * Values are words in the order of the fields, as deep as the types go: numbers in decimal or 0x
 * (constant-pool keys too), floats as their bits, an array as its count and then its elements, a
 * string as ENCODING:TEXT, where %XX is a byte and %uXXXX a UTF-16 unit (encoding 4): 0: is null,
 * 1: empty, 2:KEY, 3:UTF-8, 4:UTF-16, 5:Latin-1; any other digit is written as it is. A text of
 * pools is TYPE COUNT (KEY VALUE)*COUNT, again and again.
 *
 * A mistake in a description aborts: it is a bug of the test.
 */
#ifndef TESTS_JFRGEN_H
#define TESTS_JFRGEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JFR_TYPES_MAX 288
#define JFR_FIELDS_MAX 40

struct jfr_field {
    char name[32], type[64], note[64];   /* note: "Timespan=TICKS", "" none */
    bool key, array;
};

struct jfr_type {
    uint64_t id;
    char name[64], super[64];
    bool simple;
    struct jfr_field field[JFR_FIELDS_MAX];
    unsigned fields;
};

struct jfr {
    unsigned char *data;
    size_t n, cap;
    struct jfr_type *type;
    unsigned types;
    /* settings, any time: */
    bool fixed;              /* integers of fixed width: before jfr_chunk() */
    unsigned pad;            /* varints are at least so many bytes (1 to 9) */
    unsigned size_pad;       /* the sizes of events (4: as the JDK, 5: as async-profiler) */
    bool meta_first;         /* the header's metadata offset stays with the first one */
    bool old_names;          /* names of 1.0: com.oracle.jdk and com.oracle.jfr.types */
    /* of the current chunk: */
    size_t chunk, meta, checkpoint, checkpoints;
    size_t event;            /* where the last event began */
};

/* All types that the fixtures use, with the fields of JDK 17, JDK 25 and async-profiler. */
extern const char jfr_types[];

void jfr_free(struct jfr *g);
/* Replaces the schema. */
void jfr_schema(struct jfr *g, const char *text);
/* Adds types, or replaces those of the same name. */
void jfr_schema_add(struct jfr *g, const char *text);

void jfr_chunk(struct jfr *g, unsigned major, unsigned minor, uint64_t start_ns,
               uint64_t start_ticks, uint64_t ticks_per_second);
void jfr_meta(struct jfr *g);
/* An event; returns its offset in data. */
size_t jfr_event(struct jfr *g, const char *text);
/* The same with bytes that no field covers behind the last one. */
size_t jfr_event_more(struct jfr *g, const char *text, const void *more, size_t n);
/* A checkpoint event, linked to the one before it. */
size_t jfr_pools(struct jfr *g, unsigned mask, const char *text);
/* Fills the header in; duration in ns. */
void jfr_end(struct jfr *g, uint64_t duration);

/* Pieces, for what the above cannot say. */
void jfr_raw(struct jfr *g, const void *data, size_t n);
void jfr_be(struct jfr *g, uint64_t v, unsigned bytes);
void jfr_set_be(struct jfr *g, size_t at, uint64_t v, unsigned bytes);
void jfr_long(struct jfr *g, uint64_t v);
size_t jfr_event_begin(struct jfr *g, uint64_t type);
void jfr_event_end(struct jfr *g);
uint64_t jfr_type_id(const struct jfr *g, const char *name);
/* Offset of the last occurrence of bytes; aborts when there is none. */
size_t jfr_find(const struct jfr *g, const void *bytes, size_t n);

#endif
