/*
 * container.h - what a format file says about the bytes of a generic container, parsed: for
 * import/text/. Formats with an importer of their own have none of it.
 *
 *   text      ordered line rules; a record is what stands between `start` and `end` or a blank line
 *   csv       separator, header, typed columns by name or place
 *   json      an array of objects somewhere in one document, or objects that follow one another;
 *             jsonl: an object a line
 *   records   binary records of one size, fields by bit
 *
 * All pointers live as long as the mapping.
 */
#ifndef FM_FORMAT_CONTAINER_H
#define FM_FORMAT_CONTAINER_H

#include "format/mapping.h"

enum fm_container_kind {
    FM_CONTAINER_NONE, FM_CONTAINER_TEXT, FM_CONTAINER_CSV, FM_CONTAINER_JSON, FM_CONTAINER_JSONL,
    FM_CONTAINER_RECORDS
};

/* A field and how its text or bits become a value. */
struct fm_cfield {
    const char *name;
    const char *const *source;     /* csv: headers that name it; json: [0] is its path */
    size_t sources;
    bool key;                      /* json: the value is what the path's last '*' stands for */
    const char *sum;               /* json: the field whose values are added up; NULL: none */
    enum fm_type type;
    const char *unit;              /* as declared to the mapping, or NULL */
    int64_t scale;                 /* time, dur: ns per unit, decimals read exactly */
    double factor;                 /* numbers: multiplied; 1 = as they are */
    bool hex, trim;
    bool of_day;                   /* time: the text is H:M:S */
    uint64_t wrap;                 /* values begin anew when they come to this; 0: never */
    /* records */
    uint32_t at_bit, bits;
    bool is_signed;
};

/* Evidence for probing. */
struct fm_detect {
    uint32_t line_from, line_to;   /* 1-based; 0: not about lines */
    struct fm_pattern *regex;      /* the line matches */
    const char *const *header;     /* or holds these names as cells */
    size_t headers;
    const unsigned char *bytes;    /* or these bytes stand at `at` */
    size_t bytes_n;
    uint64_t at;
    uint32_t records;              /* or the first N records fit a layout */
    unsigned bits;
    bool required;                 /* no evidence at all without it */
};

enum fm_line_do {
    FM_LINE_RECORD,                /* the line is a whole record */
    FM_LINE_START,                 /* begins a record and ends one that is open */
    FM_LINE_FRAME,                 /* adds a frame to the open record's stack */
    FM_LINE_FIELD,                 /* adds fields to the open record */
    FM_LINE_END,                   /* ends the open record */
    FM_LINE_DROP,                  /* forgets it */
    FM_LINE_OPEN,                  /* begins a range */
    FM_LINE_CLOSE,                 /* ends one: a record */
    FM_LINE_SET,                   /* fields of all records that follow */
    FM_LINE_SKIP
};

struct fm_capture {
    uint32_t group;                /* of the regex */
    uint32_t field;                /* index of fm_container.field */
};

struct fm_line_rule {
    struct fm_pattern *match;
    enum fm_line_do what;
    const char *class;             /* record, start: NULL = the container's */
    struct fm_capture *capture;
    size_t captures;
    /* frame: groups by name, 0 = none */
    uint32_t function, module, file, line, address;
    enum fm_frame_kind kind;
};

/* Fields of ranges; lane is UINT32_MAX when there is one lane, `at` when starts and ends are fields
 * of their own. */
struct fm_range_fields {
    uint32_t name, lane, start, end, at, stack, self;
};

/* Members of objects that are records of their own. */
struct fm_member {
    const char *path, *class;
};

struct fm_layout {
    const char *name;              /* the class */
    struct fm_expr *when;          /* over the layout's fields, by REF's name; NULL: always */
    struct fm_cfield *field;       /* where the bits are */
    uint32_t *target;              /* the fields of fm_container that take the values */
    size_t fields;
    struct fm_cfield *zero;        /* bit ranges that must be 0: at_bit, bits */
    size_t zeros;
    struct fm_cfield *some;        /* bit ranges that must not be 0 */
    size_t somes;
    struct fm_cfield *lost;        /* bit ranges that are not 0 when records before were lost */
    size_t losts;
    bool *sum;                     /* by field: added up over records that are equal elsewhere */
    bool sums;
};

/* A table of a csv, by cells of its header. */
struct fm_table {
    const char *class;
    const char *const *header;
    size_t headers;
};

#define FM_BLANKS '\v'             /* a separator: one blank or more */

struct fm_container {
    enum fm_container_kind kind;
    const char *class;             /* class of records */
    uint32_t class_field;          /* or the field that names it; UINT32_MAX: none */
    struct fm_cfield *field;
    size_t fields;
    struct fm_detect *detect;
    size_t detects;
    /* text; csv: lines that are no records, with FM_LINE_SET and FM_LINE_SKIP */
    struct fm_line_rule *line;
    size_t lines;
    bool blank_ends;               /* a blank line ends a record */
    bool leaf_first;               /* frames: first line is the leaf */
    uint32_t stack_field;          /* the field made of frames; UINT32_MAX: none */
    bool ranges;                   /* lines begin and end ranges */
    struct fm_range_fields range;
    enum { FM_UNMATCHED_BAD, FM_UNMATCHED_SKIP } unmatched;
    /* csv */
    char separator[4];             /* the first that the header line has */
    size_t separators;
    char quote;                    /* 0: none */
    const char *comment;           /* lines that begin so are skipped; NULL: none */
    uint32_t header_line;          /* 1-based; 0: no header; UINT32_MAX: first that names columns */
    size_t columns;                /* the first of the fields */
    const char *const *missing;    /* cells that are no value */
    size_t missings;
    bool from_right;
    bool others;                   /* columns without an entry become fields of type others_type */
    enum fm_type others_type;
    const char *others_class;      /* or their cells records of this class; NULL: no */
    uint32_t other_column, other_unit, other_value;
    struct fm_pattern *groups;     /* a line of names above those of the header; NULL: none */
    struct fm_table *table;        /* headers that begin a table */
    size_t tables;
    /* json */
    const char *rows;              /* path of the array; "" = the document itself */
    bool objects;                  /* no document but objects, one behind the other */
    bool raw;                      /* strings are not escaped */
    struct fm_member *member;
    size_t members;
    /* records */
    uint32_t size, head;           /* bytes of a record, of what stands before the first */
    bool big_endian;
    struct fm_layout *layout;
    size_t layouts;
};

/* NULL when the format has an importer of its own. */
const struct fm_container *fm_mapping_spec(const struct fm_mapping *mapping);

/* The keys that a generic container has beside the common ones, for the schema; NULL for every
 * other name. */
const char *const *fm_container_keys(const char *container, size_t *n);

#endif
