/*
 * meta.h - the metadata event of a chunk: its types, and how to step over a value of each.
 *
 *     metadata := size, 0, startTime, duration, metadataId varints,
 *                 stringCount varint, strings, one element
 *     element  := name, attrCount, attrCount x (key, value), childCount, elements    (all varints,
 *                 name, key and value are numbers of strings)
 *
 *     root / metadata / class (id, name, superType, simpleType)
 *                         field (name, class, constantPool, dimension) / annotation (class, value)
 *            region (locale, gmtOffset)
 *
 * Names of version 1.0 (com.oracle.jdk.X, com.oracle.jfr.types.X) are given as those of later
 * versions (jdk.X, jdk.types.X). Nothing here outlives the struct; texts lie in its arena.
 */
#ifndef FM_IMPORT_JFR_META_H
#define FM_IMPORT_JFR_META_H

#include "import/jfr/jfr.h"
#include "import/jfr/value.h"
#include "util/map.h"

#define FM_JFR_NO_CLASS UINT32_MAX
#define FM_JFR_SMALL_IDS 8192u

enum fm_jfr_base {
    FM_JFR_STRUCT, FM_JFR_BOOLEAN, FM_JFR_BYTE, FM_JFR_CHAR, FM_JFR_SHORT, FM_JFR_INT, FM_JFR_LONG,
    FM_JFR_FLOAT, FM_JFR_DOUBLE, FM_JFR_STRING, FM_JFR_UNKNOWN
};

/* Types that the reader knows itself. */
enum fm_jfr_known {
    FM_JFR_PLAIN_TYPE, FM_JFR_THREAD, FM_JFR_CLASS, FM_JFR_METHOD, FM_JFR_SYMBOL, FM_JFR_STACK,
    FM_JFR_STACK_FRAME, FM_JFR_FRAME_TYPE, FM_JFR_KNOWN_TYPES
};

struct fm_jfr_field {
    const char *name;
    uint64_t type;              /* id */
    uint32_t class;             /* index, or FM_JFR_NO_CLASS: the type is not in the metadata */
    bool pool, array;
    bool is_unsigned;
    uint8_t as;                 /* enum fm_jfr_as */
};

/* One step over stored bytes. */
enum fm_jfr_skip_op {
    FM_JFR_SKIP_VARINTS,        /* n of them */
    FM_JFR_SKIP_BYTES,          /* n of them */
    FM_JFR_SKIP_STRING,
    FM_JFR_SKIP_ARRAY_VARINTS,  /* a count, then n varints for each element */
    FM_JFR_SKIP_ARRAY_BYTES,
    FM_JFR_SKIP_ARRAY           /* a count; the next n steps are one element */
};
struct fm_jfr_skip {
    uint32_t op, n;
};

/* A range of meta->skip. */
struct fm_jfr_steps {
    uint32_t first, n;
};

struct fm_jfr_class {
    uint64_t id;
    const char *name;
    uint8_t base, known;
    bool event, simple;
    uint8_t skippable;          /* 0 not known yet, 1 yes, 2 no */
    uint32_t field, fields;     /* range of meta->field */
    struct fm_jfr_steps skip;
};

struct fm_jfr_meta {
    struct fm_mem *mem;
    struct fm_arena arena;
    struct fm_jfr_class *class;
    size_t classes, class_cap;
    struct fm_jfr_field *field;
    size_t fields, field_cap;
    struct fm_jfr_skip *skip;
    size_t skips, skip_cap;
    struct fm_map by_id;        /* type id -> class + 1 */
    uint32_t *by_small_id;      /* the same for ids below FM_JFR_SMALL_IDS */
    uint32_t known[FM_JFR_KNOWN_TYPES]; /* class, or FM_JFR_NO_CLASS */
    uint32_t string;            /* class java.lang.String */
    uint64_t id;                /* metadataId */
    bool wide;                  /* integers of the chunk are not compressed */
    unsigned encoding;          /* of a string, when that is unknown: why nothing was read */
    uint32_t visits;            /* of skip.c, against types that hold each other */
    uint32_t looks;             /* of plan.c, the same */
    bool oom;
};

void fm_jfr_meta_init(struct fm_jfr_meta *meta, struct fm_mem *mem);
void fm_jfr_meta_release(struct fm_jfr_meta *meta);

/* Reads the event's payload (the cursor stands behind its type id). false: it is no metadata, and
 * *why says in which way; what was read before is of no use. */
bool fm_jfr_meta_read(struct fm_jfr_meta *meta, struct fm_cursor *c, const char **why);

/* Class of a type id, or FM_JFR_NO_CLASS. */
static inline uint32_t fm_jfr_meta_find(const struct fm_jfr_meta *meta, uint64_t id)
{
    const uint64_t *place;
    if (FM_LIKELY(id < FM_JFR_SMALL_IDS && meta->by_small_id != NULL))
        return meta->by_small_id[id] - 1;       /* 0 - 1 is FM_JFR_NO_CLASS */
    place = fm_map_find(&meta->by_id, id);
    return place != NULL ? (uint32_t)(*place - 1) : FM_JFR_NO_CLASS;
}
uint32_t fm_jfr_meta_named(const struct fm_jfr_meta *meta, const char *name);

static inline const struct fm_jfr_field *fm_jfr_field_at(const struct fm_jfr_meta *meta,
                                                         const struct fm_jfr_class *class,
                                                         uint32_t i)
{
    return &meta->field[class->field + i];
}

/* Makes sure that values of the class can be stepped over; false: they cannot (a type that is not
 * described, or nested without end). */
bool fm_jfr_class_skippable(struct fm_jfr_meta *meta, uint32_t class);
/* Appends the steps over one field to meta->skip; false as above (nothing is appended then). */
bool fm_jfr_field_steps(struct fm_jfr_meta *meta, const struct fm_jfr_field *field);
/* Runs steps; the cursor is bad when they went past its end. */
void fm_jfr_skip_run(const struct fm_jfr_skip *step, uint32_t n, struct fm_cursor *c);

static inline void fm_jfr_skip_value(const struct fm_jfr_meta *meta,
                                     const struct fm_jfr_class *class, struct fm_cursor *c)
{
    fm_assert(class->skippable == 1);
    fm_jfr_skip_run(meta->skip + class->skip.first, class->skip.n, c);
}

/*
 * Chosen fields of a class by name, read into raw values: for the few classes that the reader
 * itself must understand (frames, methods, threads, settings).
 */
#define FM_JFR_PICKS 8
struct fm_jfr_raw {
    bool has;
    uint64_t u;                 /* numbers, keys; floats as bits */
    struct fm_jfr_text text;    /* strings; arrays: s = where their count stands */
};
struct fm_jfr_pick {
    const struct fm_jfr_meta *meta;
    uint32_t class;
    uint32_t last;              /* fields behind it are not looked at */
    struct fm_arena *arena;
    int8_t *slot;               /* by field: number of the name, or -1 */
    struct fm_jfr_steps *skip;  /* by field, for those without slot */
    uint32_t field[FM_JFR_PICKS]; /* by slot: field, or UINT32_MAX */
};
/* names: up to FM_JFR_PICKS. false: no such class, or its fields cannot be stepped over. A name
 * that the class lacks is no failure. */
bool fm_jfr_pick_init(struct fm_jfr_pick *pick, struct fm_jfr_meta *meta, uint32_t class,
                      const char *const *name, size_t n);
/* Reads one value; texts are valid until the next call with these buffers (one for each slot). */
bool fm_jfr_pick_read(const struct fm_jfr_pick *pick, struct fm_cursor *c,
                      struct fm_jfr_buf *buf, struct fm_jfr_raw *out);

#endif
