/*
 * yaml.c - libyaml's events -> a tree of nodes, with limits.
 *
 *     text --libyaml--> SCALAR, MAP-START, … --take()--> stack of open lists and maps --> documents
 *
 * Nodes, keys and arrays live in the caller's arena (arrays double, the old half is left behind).
 * An alias is the very node it names, so memory stays bounded; what a walk over the tree costs is
 * bounded by the weights (weight = nodes in a subtree, repeats counted). libyaml itself uses malloc
 * for its buffers, which the 1 MiB cap on the text bounds.
 *
 * Messages (the log) are in yaml_log.c.
 */
#include "util/yaml.h"

#include "util/error.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <yaml.h>

#define ALIAS_NODES 10000u
#define ARRAY_MIN 4u

struct open_node {
    struct fm_yaml_node *node;
    size_t cap;                    /* of item or pair */
    bool has_key;                  /* map: a key waits for its value */
};

struct anchor {
    const char *name;
    struct fm_yaml_node *node;     /* NULL weight while it is open */
    bool open;
    struct anchor *next;
};

struct reader {
    struct fm_arena *arena;
    struct fm_yaml_log *log;
    struct fm_yaml_file *file;
    size_t document_cap;
    struct fm_yaml_node *root;     /* of the document that is read */
    struct open_node stack[FM_YAML_MAX_DEPTH];
    size_t depth;
    struct anchor *anchor;
    unsigned aliases;
    size_t repeated;               /* nodes that aliases repeat */
    bool stop;                     /* an error after which reading on makes no sense */
};

/* A place in the file as a node, for messages. */
static struct fm_yaml_node mark_node(const yaml_mark_t *mark)
{
    return (struct fm_yaml_node){.type = FM_YAML_MAP,
                                 .style = FM_YAML_BLOCK,
                                 .line = (uint32_t)mark->line + 1,
                                 .column = (uint32_t)mark->column + 1};
}

static void refuse(struct reader *r, const yaml_mark_t *mark, const char *why)
{
    struct fm_yaml_node at = mark_node(mark);
    fm_yaml_error(fm_yaml_as(r->log, FM_YAML_SYNTAX), &at, "%s", why);
}

/* Doubles an array that lives in an arena. */
static bool grow(struct reader *r, void **p, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return true;
    size_t want = *cap ? *cap * 2 : ARRAY_MIN, bytes;
    if (!fm_mul_size(want, size, &bytes))
        return false;
    void *q = fm_arena_alloc(r->arena, bytes);
    if (!q)
        return false;
    if (n)
        memcpy(q, *p, n * size);
    *p = q;
    *cap = want;
    return true;
}

static struct fm_yaml_node *new_node(struct reader *r, enum fm_yaml_type type,
                                     const yaml_mark_t *mark)
{
    struct fm_yaml_node *node = fm_arena_alloc(r->arena, sizeof *node);
    if (!node)
        return NULL;
    node->type = type;
    node->line = (uint32_t)mark->line + 1;
    node->column = (uint32_t)mark->column + 1;
    node->weight = 1;
    return node;
}

static void check_tag(struct reader *r, const yaml_char_t *tag, const yaml_mark_t *mark)
{
    if (tag)
        refuse(r, mark, "tags (!name) are not allowed: quote a value that begins with '!'");
}

/* ------------------------------------------------------------------ anchors */

static bool add_anchor(struct reader *r, const yaml_char_t *name, struct fm_yaml_node *node,
                       bool is_open)
{
    if (!name)
        return true;
    struct anchor *a = fm_arena_alloc(r->arena, sizeof *a);
    if (!a || !(a->name = fm_arena_str(r->arena, (const char *)name)))
        return false;
    a->node = node;
    a->open = is_open;
    a->next = r->anchor;
    r->anchor = a;
    return true;
}

static void close_anchor(struct reader *r, const struct fm_yaml_node *node)
{
    for (struct anchor *a = r->anchor; a; a = a->next)
        if (a->node == node)
            a->open = false;
}

static struct fm_yaml_node *find_alias(struct reader *r, const char *name,
                                       const yaml_mark_t *mark)
{
    struct fm_yaml_node at = mark_node(mark);
    struct anchor *a = r->anchor;
    while (a && strcmp(a->name, name) != 0)
        a = a->next;
    if (!a) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_SYNTAX), &at,
                      "no anchor '&%s' stands before this alias: quote a value that begins with "
                      "'*'", name);
        return NULL;
    }
    if (a->open) {
        refuse(r, mark, "an alias within the node that it names");
        return NULL;
    }
    if (++r->aliases > FM_YAML_MAX_ALIASES) {
        refuse(r, mark, "more than 64 aliases");
        r->stop = true;
        return NULL;
    }
    if (a->node->weight > ALIAS_NODES - r->repeated) {
        refuse(r, mark, "aliases that repeat more than 10,000 nodes");
        r->stop = true;
        return NULL;
    }
    r->repeated += a->node->weight;
    return a->node;
}

/* ------------------------------------------------------------------ building */

static bool take_key(struct reader *r, struct open_node *open, const struct fm_yaml_node *node,
                     const yaml_mark_t *mark)
{
    struct fm_yaml_node *map = open->node;
    if (!grow(r, (void **)&map->pair, &open->cap, map->n, sizeof *map->pair))
        return false;
    struct fm_yaml_pair *pair = &map->pair[map->n];
    pair->key = "";
    pair->key_line = (uint32_t)mark->line + 1;
    pair->key_column = (uint32_t)mark->column + 1;
    pair->value = NULL;
    if (node->type != FM_YAML_SCALAR)
        refuse(r, mark, "a key must be text: quote it when it begins with one of [ { ?");
    else if (memchr(node->text, '\0', node->n))
        refuse(r, mark, "a key with a NUL byte");
    else if (!node->quoted && strcmp(node->text, "<<") == 0)
        refuse(r, mark, "merge keys (<<) are not allowed");
    else
        pair->key = node->text;
    open->has_key = true;
    return true;
}

/* Hangs a node into the innermost open list or map, or makes it the document's root. */
static bool place(struct reader *r, struct fm_yaml_node *node, const yaml_mark_t *mark)
{
    if (r->depth == 0) {
        r->root = node;
        return true;
    }
    struct open_node *open = &r->stack[r->depth - 1];
    struct fm_yaml_node *parent = open->node;
    if (parent->type == FM_YAML_LIST) {
        if (!grow(r, (void **)&parent->item, &open->cap, parent->n, sizeof *parent->item))
            return false;
        parent->item[parent->n++] = node;
        return true;
    }
    if (!open->has_key)
        return take_key(r, open, node, mark);
    parent->pair[parent->n++].value = node;
    open->has_key = false;
    return true;
}

static bool push(struct reader *r, struct fm_yaml_node *node, const yaml_mark_t *mark)
{
    if (r->depth == FM_YAML_MAX_DEPTH) {
        refuse(r, mark, "more than 64 levels");
        r->stop = true;
        return true;
    }
    r->stack[r->depth++] = (struct open_node){.node = node};
    return true;
}

static int by_key(const void *a, const void *b)
{
    const struct fm_yaml_pair *const *x = a, *const *y = b;
    int c = strcmp((*x)->key, (*y)->key);
    return c ? c : (*x > *y) - (*x < *y);
}

/* Libyaml does not report duplicate keys. Sorting keeps hostile maps from being quadratic. */
static bool check_duplicates(struct reader *r, const struct fm_yaml_node *map)
{
    if (map->n < 2)
        return true;
    size_t bytes;
    const struct fm_yaml_pair **sorted = NULL;
    if (fm_mul_size(map->n, sizeof(*sorted), &bytes))
        sorted = fm_arena_alloc(r->arena, bytes);
    if (!sorted)
        return false;
    for (size_t i = 0; i < map->n; i++)
        sorted[i] = &map->pair[i];
    qsort(sorted, map->n, sizeof *sorted, by_key);
    for (size_t i = 1; i < map->n; i++) {
        const struct fm_yaml_pair *a = sorted[i - 1], *b = sorted[i];
        if (a->key[0] && strcmp(a->key, b->key) == 0)
            fm_yaml_error_key(fm_yaml_as(r->log, FM_YAML_DUPLICATE), b,
                              "duplicate key '%s' (first at %u:%u)", b->key, a->key_line,
                              a->key_column);
    }
    return true;
}

static bool pop(struct reader *r)
{
    fm_assert(r->depth > 0);
    struct fm_yaml_node *node = r->stack[--r->depth].node;
    for (size_t i = 0; i < node->n; i++) {
        const struct fm_yaml_node *child =
            node->type == FM_YAML_LIST ? node->item[i] : node->pair[i].value;
        if (!fm_add_size(node->weight, child->weight, &node->weight))
            node->weight = SIZE_MAX;
    }
    close_anchor(r, node);
    return node->type == FM_YAML_LIST || check_duplicates(r, node);
}

static bool take_scalar(struct reader *r, const yaml_event_t *e)
{
    struct fm_yaml_node *node = new_node(r, FM_YAML_SCALAR, &e->start_mark);
    if (!node)
        return false;
    switch (e->data.scalar.style) {
    case YAML_SINGLE_QUOTED_SCALAR_STYLE: node->style = FM_YAML_SINGLE; break;
    case YAML_DOUBLE_QUOTED_SCALAR_STYLE: node->style = FM_YAML_DOUBLE; break;
    case YAML_LITERAL_SCALAR_STYLE: node->style = FM_YAML_LITERAL; break;
    case YAML_FOLDED_SCALAR_STYLE: node->style = FM_YAML_FOLDED; break;
    default: node->style = FM_YAML_PLAIN; break;
    }
    node->quoted = node->style != FM_YAML_PLAIN;
    node->n = e->data.scalar.length;
    node->text = fm_arena_strn(r->arena, (const char *)e->data.scalar.value, node->n);
    check_tag(r, e->data.scalar.tag, &e->start_mark);
    return node->text && add_anchor(r, e->data.scalar.anchor, node, false) &&
           place(r, node, &e->start_mark);
}

static bool take_open(struct reader *r, const yaml_event_t *e)
{
    bool map = e->type == YAML_MAPPING_START_EVENT;
    struct fm_yaml_node *node =
        new_node(r, map ? FM_YAML_MAP : FM_YAML_LIST, &e->start_mark);
    if (!node)
        return false;
    const yaml_char_t *tag = map ? e->data.mapping_start.tag : e->data.sequence_start.tag;
    const yaml_char_t *name = map ? e->data.mapping_start.anchor : e->data.sequence_start.anchor;
    bool flow = map ? e->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
                    : e->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
    node->style = flow ? FM_YAML_FLOW : FM_YAML_BLOCK;
    check_tag(r, tag, &e->start_mark);
    return add_anchor(r, name, node, true) && place(r, node, &e->start_mark) &&
           push(r, node, &e->start_mark);
}

static bool take_alias(struct reader *r, const yaml_event_t *e)
{
    struct fm_yaml_node *node =
        find_alias(r, (const char *)e->data.alias.anchor, &e->start_mark);
    if (!node) {                   /* an error was logged: something must stand there */
        node = new_node(r, FM_YAML_SCALAR, &e->start_mark);
        if (!node)
            return false;
        node->text = "";
    }
    return place(r, node, &e->start_mark);
}

static bool end_document(struct reader *r)
{
    struct fm_yaml_file *file = r->file;
    fm_assert(r->depth == 0);
    if (!grow(r, (void **)&file->document, &r->document_cap, file->documents,
              sizeof(*file->document)))
        return false;
    file->document[file->documents++] = r->root;
    r->root = NULL;
    r->anchor = NULL;
    return true;
}

/* One event into the tree; false = no memory. */
static bool take(struct reader *r, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (e->data.document_start.tag_directives.start !=
            e->data.document_start.tag_directives.end)
            refuse(r, &e->start_mark, "%TAG directives are not allowed");
        return true;
    case YAML_DOCUMENT_END_EVENT: return end_document(r);
    case YAML_ALIAS_EVENT: return take_alias(r, e);
    case YAML_SCALAR_EVENT: return take_scalar(r, e);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT: return take_open(r, e);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: return pop(r);
    default: return true;
    }
}

/* ------------------------------------------------------------------ errors of libyaml */

static yaml_mark_t mark_at(const char *text, size_t offset)
{
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < offset; i++) {
        mark.column += (text[i] & 0xc0) != 0x80;
        if (text[i] == '\n') {
            mark.line++;
            mark.column = 0;
        }
    }
    return mark;
}

static void syntax_error(struct reader *r, const yaml_parser_t *p)
{
    const char *problem = p->problem ? p->problem : "cannot be read";
    if (p->error == YAML_READER_ERROR) {           /* has a byte offset and no mark */
        yaml_mark_t mark = mark_at(r->file->text, FM_MIN(p->problem_offset, r->file->size));
        refuse(r, &mark, problem);
        return;
    }
    struct fm_yaml_node at = mark_node(&p->problem_mark);
    struct fm_yaml_log *log = fm_yaml_as(r->log, FM_YAML_SYNTAX);
    if (p->context && p->context_mark.line != p->problem_mark.line)
        fm_yaml_error(log, &at, "%s (%s that begins at %zu:%zu)", problem, p->context,
                      p->context_mark.line + 1, p->context_mark.column + 1);
    else if (p->context)
        fm_yaml_error(log, &at, "%s (%s)", problem, p->context);
    else
        fm_yaml_error(log, &at, "%s", problem);
    fm_yaml_note(log, "a value that begins with one of [ ] { } * & ! | > %% @ ` or holds ': ' or "
                      "' #' must be quoted");
}

static enum fm_status run(struct reader *r, yaml_parser_t *p)
{
    for (bool done = false; !done && !r->stop;) {
        yaml_event_t event;
        if (!yaml_parser_parse(p, &event)) {
            if (p->error == YAML_MEMORY_ERROR)
                return FM_NOMEM;
            syntax_error(r, p);
            return FM_CONFIG;
        }
        done = event.type == YAML_STREAM_END_EVENT;
        bool ok = take(r, &event);
        yaml_event_delete(&event);
        if (!ok)
            return FM_NOMEM;
    }
    return r->log->errors ? FM_CONFIG : FM_OK;
}

/* Bytes before the first one that is not UTF-8. */
static size_t utf8_prefix(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n) {
        uint32_t cp;
        unsigned len = fm_utf8_next(text + i, n - i, &cp);
        if (len == 0)
            break;
        i += len;
    }
    return i;
}

static bool check_bytes(struct reader *r)
{
    if (r->file->size > FM_YAML_MAX_SIZE) {
        fm_yaml_error(fm_yaml_as(r->log, FM_YAML_SYNTAX), NULL,
                      "%zu bytes, a YAML file may have 1 MiB", r->file->size);
        return false;
    }
    size_t good = utf8_prefix(r->file->text, r->file->size);
    if (good == r->file->size)
        return true;
    yaml_mark_t mark = mark_at(r->file->text, good);
    refuse(r, &mark, "not UTF-8");
    return false;
}

enum fm_status fm_yaml_parse(struct fm_arena *arena, const char *name, const char *text,
                             size_t size, struct fm_yaml_file **file, struct fm_yaml_log *log)
{
    *file = NULL;
    struct reader *r = fm_arena_alloc(arena, sizeof *r);
    struct fm_yaml_file *f = fm_arena_alloc(arena, sizeof *f);
    if (!r || !f || !(f->name = fm_arena_str(arena, name))) {
        fm_error_nomem(&log->first);
        return FM_NOMEM;
    }
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* the byte order mark of editors */
        text += 3;
        size -= 3;
    }
    f->text = text;
    f->size = size;
    *file = f;
    log->file = f;
    r->arena = arena;
    r->log = log;
    r->file = f;
    if (!check_bytes(r))
        return FM_CONFIG;

    yaml_parser_t parser;
    enum fm_status status = FM_NOMEM;
    if (yaml_parser_initialize(&parser)) {
        yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
        status = run(r, &parser);
        yaml_parser_delete(&parser);
    }
    if (status == FM_NOMEM)
        fm_error_nomem(&log->first);
    return status;
}

/* Reads at most FM_YAML_MAX_SIZE + 1 bytes, so that an oversized file is told by its length. */
static enum fm_status slurp(struct fm_arena *arena, const char *path, char **text, size_t *size,
                            struct fm_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fm_error_sys(err, errno, path, "open");
    enum fm_status status = FM_OK;
    size_t cap = 0, n = 0;
    char *buf = NULL;
    for (;;) {
        if (n == cap) {
            size_t want = FM_MIN(cap ? cap * 4 : 16384, FM_YAML_MAX_SIZE + 1);
            char *p = n > FM_YAML_MAX_SIZE ? NULL : fm_arena_alloc(arena, want);
            if (!p) {
                status = n > FM_YAML_MAX_SIZE ? FM_OK : fm_error_nomem(err);
                break;
            }
            if (n)
                memcpy(p, buf, n);
            buf = p;
            cap = want;
        }
        ssize_t got = read(fd, buf + n, cap - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            status = fm_error_sys(err, errno, path, "read");
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    close(fd);
    *text = buf;
    *size = n;
    return status;
}

enum fm_status fm_yaml_load(struct fm_arena *arena, const char *path, struct fm_yaml_file **file,
                            struct fm_yaml_log *log, struct fm_error *err)
{
    char *text = NULL;
    size_t size = 0;
    *file = NULL;
    enum fm_status status = slurp(arena, path, &text, &size, err);
    if (status == FM_OK) {
        status = fm_yaml_parse(arena, path, text, size, file, log);
        if (status != FM_OK && err && err->status == FM_OK)
            *err = log->first;
    }
    return status;
}

/* ------------------------------------------------------------------ reading the tree */

struct fm_yaml_pair *fm_yaml_find(const struct fm_yaml_node *map, const char *key)
{
    if (!map || map->type != FM_YAML_MAP)
        return NULL;
    for (size_t i = 0; i < map->n; i++)
        if (strcmp(map->pair[i].key, key) == 0)
            return &map->pair[i];
    return NULL;
}

struct fm_yaml_node *fm_yaml_get(const struct fm_yaml_node *map, const char *key)
{
    struct fm_yaml_pair *pair = fm_yaml_find(map, key);
    return pair ? pair->value : NULL;
}

bool fm_yaml_is(const struct fm_yaml_node *node, const char *s)
{
    return node && node->type == FM_YAML_SCALAR && node->n == strlen(s) &&
           memcmp(node->text, s, node->n) == 0;
}

bool fm_yaml_is_null(const struct fm_yaml_node *node)
{
    return node && !node->quoted &&
           (fm_yaml_is(node, "") || fm_yaml_is(node, "~") || fm_yaml_is(node, "null"));
}
