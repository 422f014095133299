/*
 * yaml.h - a YAML file as a tree of nodes with line:column marks, over libyaml.
 *
 * All values are text; schemas above type them. Rejected, with a mark: tags, merge keys, duplicate
 * keys, keys that are not text, more than 64 aliases (or aliases that repeat more than 10,000
 * nodes), more than 64 levels, more than 1 MiB of text, bytes that are not UTF-8, and anything that
 * libyaml refuses. Marks are 1-based, in characters, and kept for every key and value.
 *
 * Errors and warnings are collected (up to 20 each) in a struct fm_yaml_log and printed like
 * compilers do:
 *
 *     FILE:12:5: error: unknown step 'agregate' (did you mean 'group'?) [FM102]
 *        12 |   - agregate: {by: [function]}
 *           |     ^~~~~~~~
 */
#ifndef FM_UTIL_YAML_H
#define FM_UTIL_YAML_H

#include "util/mem.h"

enum fm_yaml_type { FM_YAML_SCALAR, FM_YAML_LIST, FM_YAML_MAP };

enum fm_yaml_style {
    FM_YAML_PLAIN, FM_YAML_SINGLE, FM_YAML_DOUBLE, FM_YAML_LITERAL, FM_YAML_FOLDED, /* scalars */
    FM_YAML_BLOCK, FM_YAML_FLOW                                                    /* others */
};

struct fm_yaml_node;

struct fm_yaml_pair {
    const char *key;               /* NUL-terminated */
    uint32_t key_line, key_column;
    struct fm_yaml_node *value;
};

struct fm_yaml_node {
    enum fm_yaml_type type;
    enum fm_yaml_style style;
    uint32_t line, column;         /* start, 1-based */
    bool quoted;                   /* scalar in '…' or "…" or a block */
    const char *text;              /* scalar: NUL-terminated, may hold NULs: see n */
    size_t n;                      /* scalar: bytes; list, map: entries */
    size_t weight;                 /* nodes in it, itself included, repeats by aliases counted */
    struct fm_yaml_node **item;    /* list */
    struct fm_yaml_pair *pair;     /* map, in file order */
};

struct fm_yaml_file {
    const char *name;              /* for messages */
    const char *text;              /* the whole file, for excerpts */
    size_t size;
    struct fm_yaml_node **document;
    size_t documents;
};

#define FM_YAML_ERRORS 20
#define FM_YAML_MAX_SIZE ((size_t)1 << 20)
#define FM_YAML_MAX_DEPTH 64
#define FM_YAML_MAX_ALIASES 64

/* Classes of error: the number in [FM102]. */
enum fm_yaml_class {
    FM_YAML_OTHER = 100,
    FM_YAML_SYNTAX,                /* not YAML, or YAML that is refused (tags, merge keys …) */
    FM_YAML_UNKNOWN,               /* unknown key, step, column, function … */
    FM_YAML_DUPLICATE,             /* the same key twice */
    FM_YAML_TYPE,                  /* a value of the wrong type or out of range */
    FM_YAML_MISSING,               /* a key or parameter is missing */
    FM_YAML_REGEX,
    FM_YAML_EXPR,                  /* an expression does not parse */
    FM_YAML_UNIT,                  /* units do not fit */
    FM_YAML_PLACE,                 /* a step that is not applicable where it stands */
    FM_YAML_CYCLE,
    FM_YAML_EVENT,                 /* an event that no input has */
    FM_YAML_EMPTY                  /* nothing left after a step */
};

struct fm_yaml_log {
    struct fm_arena *arena;
    const struct fm_yaml_file *file;
    struct fm_error first;          /* status FM_CONFIG when anything was logged */
    const char *text;               /* all messages, printed; never NULL */
    char *buf;                      /* where text stands once there is some */
    size_t text_n, text_cap;
    enum fm_yaml_class class;       /* of the next message: see fm_yaml_as() */
    unsigned errors, warnings;
    bool silent;                    /* the last message was one too many */
    const char *line_text;          /* what the last message showed: not shown again at once */
    size_t line_at;
};

void fm_yaml_log_init(struct fm_yaml_log *log, struct fm_arena *arena);

/* Parses text[0..size); nodes live in the arena. On failure FM_CONFIG (FM_NOMEM) and a message in
 * log. The text must outlive the file. *file is set, and log->file too, even on failure (for
 * excerpts), unless memory ran out. */
enum fm_status fm_yaml_parse(struct fm_arena *arena, const char *name, const char *text,
                             size_t size, struct fm_yaml_file **file, struct fm_yaml_log *log);
/* Reads a whole file (at most 1 MiB) and parses it. FM_IO when it cannot be read. err (may be
 * NULL) gets the first failure. */
enum fm_status fm_yaml_load(struct fm_arena *arena, const char *path, struct fm_yaml_file **file,
                            struct fm_yaml_log *log, struct fm_error *err);

/* The value of `key`, or NULL (also when `map` is NULL or no map). The pair itself by
 * fm_yaml_find(). */
struct fm_yaml_node *fm_yaml_get(const struct fm_yaml_node *map, const char *key);
struct fm_yaml_pair *fm_yaml_find(const struct fm_yaml_node *map, const char *key);

/* True for a scalar whose text is exactly s. */
bool fm_yaml_is(const struct fm_yaml_node *node, const char *s);
/* True for an unquoted empty scalar, ~ or null: "key:" without a value. */
bool fm_yaml_is_null(const struct fm_yaml_node *node);

/*
 * Messages. fm_yaml_as() gives the next message its class; without it [FM100]:
 *
 *     fm_yaml_error(fm_yaml_as(log, FM_YAML_UNIT), node, "ns and bytes cannot be added");
 */
struct fm_yaml_log *fm_yaml_as(struct fm_yaml_log *log, enum fm_yaml_class class);

/* Logs an error at a node, a key, or an offset within a scalar. `len` = length of the ~~~ mark, in
 * bytes of the scalar's text. With at == NULL the message has no place. */
void fm_yaml_error(struct fm_yaml_log *log, const struct fm_yaml_node *at, const char *fmt, ...)
    FM_PRINTF(3, 4);
void fm_yaml_error_key(struct fm_yaml_log *log, const struct fm_yaml_pair *at, const char *fmt,
                       ...) FM_PRINTF(3, 4);
void fm_yaml_error_at(struct fm_yaml_log *log, const struct fm_yaml_node *at, size_t offset,
                      size_t len, const char *fmt, ...) FM_PRINTF(5, 6);
/* An error in a text that does not stand in the file like this (an option; what a scalar became by
 * substitution): the excerpt is the text itself, the place is that of `at`, which may be NULL. */
void fm_yaml_error_text(struct fm_yaml_log *log, const struct fm_yaml_node *at, const char *text,
                        size_t n, size_t offset, size_t len, const char *fmt, ...)
    FM_PRINTF(7, 8);
void fm_yaml_warn(struct fm_yaml_log *log, const struct fm_yaml_node *at, const char *fmt, ...)
    FM_PRINTF(3, 4);
/* "note: …" line under the last message. */
void fm_yaml_note(struct fm_yaml_log *log, const char *fmt, ...) FM_PRINTF(2, 3);

/* Adds all messages of another log, which counts as its errors and warnings do. */
void fm_yaml_log_add(struct fm_yaml_log *log, const struct fm_yaml_log *from);

/* Logs an error for every key of `map` that is not in `known`, with the nearest name; true when
 * all are known. A map in {…} whose unknown key has no value gets a hint at quoting. */
bool fm_yaml_known(struct fm_yaml_log *log, const struct fm_yaml_node *map,
                   const char *const *known, size_t n, const char *what);
/* The message for one unknown name, with the nearest of `known`, at a scalar (offset, len as in
 * fm_yaml_error_at). */
void fm_yaml_unknown(struct fm_yaml_log *log, const struct fm_yaml_node *at, const char *what,
                     const char *name, const char *const *known, size_t n);

#endif
