/*
 * yaml.h - a YAML file as a tree of nodes with line:column marks, over libyaml.
 *
 * All values are text; schemas above type them. Rejected, with a mark: tags, merge keys, duplicate
 * keys, more than 64 aliases, more than 64 levels, more than 1 MiB of text, anything libyaml
 * refuses. Marks are 1-based and kept for every key and value.
 *
 * Errors are collected (up to 20) in a struct fm_yaml_log and printed like compilers do:
 *
 *     FILE:12:5: error: unknown step 'agregate' (did you mean 'group'?) [FM102]
 *        12 |   - agregate: {by: [function]}
 *           |     ^~~~~~~~
 */
#ifndef FM_UTIL_YAML_H
#define FM_UTIL_YAML_H

#include "util/mem.h"

enum fm_yaml_type { FM_YAML_SCALAR, FM_YAML_LIST, FM_YAML_MAP };

struct fm_yaml_node;

struct fm_yaml_pair {
    const char *key;               /* NUL-terminated */
    uint32_t key_line, key_column;
    struct fm_yaml_node *value;
};

struct fm_yaml_node {
    enum fm_yaml_type type;
    uint32_t line, column;         /* start, 1-based */
    bool quoted;                   /* scalar in '…' or "…" or a block */
    const char *text;              /* scalar: NUL-terminated, may hold NULs: see n */
    size_t n;                      /* scalar: bytes; list, map: entries */
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

struct fm_yaml_log {
    struct fm_arena *arena;
    const struct fm_yaml_file *file;
    struct fm_error first;          /* status FM_CONFIG when anything was logged */
    char *text;                     /* all messages, printed */
    unsigned errors, warnings;
};

void fm_yaml_log_init(struct fm_yaml_log *log, struct fm_arena *arena);

/* Parses text[0..size); nodes live in the arena. On failure FM_CONFIG and a message in log. The
 * text must outlive the file. */
enum fm_status fm_yaml_parse(struct fm_arena *arena, const char *name, const char *text,
                             size_t size, struct fm_yaml_file **file, struct fm_yaml_log *log);
/* Reads a whole file (at most 1 MiB) and parses it. FM_IO when it cannot be read. */
enum fm_status fm_yaml_load(struct fm_arena *arena, const char *path, struct fm_yaml_file **file,
                            struct fm_yaml_log *log, struct fm_error *err);

/* The value of `key`, or NULL. The pair itself by fm_yaml_pair(). */
struct fm_yaml_node *fm_yaml_get(const struct fm_yaml_node *map, const char *key);
struct fm_yaml_pair *fm_yaml_find(const struct fm_yaml_node *map, const char *key);

/* Logs an error at a node, a key, or an offset within a scalar. `len` = length of the ~~~ mark. */
void fm_yaml_error(struct fm_yaml_log *log, const struct fm_yaml_node *at, const char *fmt, ...)
    FM_PRINTF(3, 4);
void fm_yaml_error_key(struct fm_yaml_log *log, const struct fm_yaml_pair *at, const char *fmt,
                       ...) FM_PRINTF(3, 4);
void fm_yaml_error_at(struct fm_yaml_log *log, const struct fm_yaml_node *at, size_t offset,
                      size_t len, const char *fmt, ...) FM_PRINTF(5, 6);
void fm_yaml_warn(struct fm_yaml_log *log, const struct fm_yaml_node *at, const char *fmt, ...)
    FM_PRINTF(3, 4);
/* "note: …" line under the last message. */
void fm_yaml_note(struct fm_yaml_log *log, const char *fmt, ...) FM_PRINTF(2, 3);

/* Logs an error for every key of `map` that is not in `known`, with the nearest name; true when
 * all are known. */
bool fm_yaml_known(struct fm_yaml_log *log, const struct fm_yaml_node *map,
                   const char *const *known, size_t n, const char *what);

#endif
