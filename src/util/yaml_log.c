/*
 * yaml_log.c - messages about YAML files, as compilers print them.
 *
 *     queries/top-self.yaml:12:5: error: unknown step 'agregate' (did you mean 'group'?) [FM102]
 *        12 |   - agregate: {by: [function]}
 *           |     ^~~~~~~~
 *     note: steps are: where time within weigh stack group …
 *
 * A place is (line, column) in characters as libyaml counts them. A place inside a scalar is found
 * by walking the source beside the text: quotes, escapes, folded lines and the indentation of
 * blocks stand in the source and not in the text.
 *
 * Long lines are shown by a window of 100 columns around the mark. Control bytes are shown as '?'.
 */
#include "util/yaml.h"

#include "util/error.h"
#include "util/text.h"

#include <stdio.h>

#define MESSAGE 480                /* fits struct fm_error */
#define WINDOW 100
#define LIST_TEXT 400

struct place {
    const char *line_text;         /* start of the line; NULL: no excerpt */
    size_t line_n;                 /* its bytes, without the line end */
    size_t at;                     /* bytes before the mark */
    uint32_t line, column;         /* 1-based; 0: none */
    size_t mark;                   /* columns of the mark, at least 1 */
};

void fm_yaml_log_init(struct fm_yaml_log *log, struct fm_arena *arena)
{
    memset(log, 0, sizeof *log);
    log->arena = arena;
    log->first.offset = FM_NO_OFFSET;
    log->text = "";
    log->class = FM_YAML_OTHER;
}

struct fm_yaml_log *fm_yaml_as(struct fm_yaml_log *log, enum fm_yaml_class class)
{
    log->class = class;
    return log;
}

/* ------------------------------------------------------------------ text of the log */

static void put(struct fm_yaml_log *log, const char *s, size_t n)
{
    size_t need;
    if (!fm_add_size(log->text_n, n, &need) || !fm_add_size(need, 1, &need))
        return;
    if (need > log->text_cap) {
        size_t cap = FM_MAX(need, FM_MAX(log->text_cap * 2, 1024));
        char *p = fm_arena_alloc(log->arena, cap);
        if (!p)
            return;
        if (log->text_n)
            memcpy(p, log->buf, log->text_n);
        log->text = log->buf = p;
        log->text_cap = cap;
    }
    memcpy(log->buf + log->text_n, s, n);
    log->text_n += n;
    log->buf[log->text_n] = '\0';
}

static void put_text(struct fm_yaml_log *log, const char *s)
{
    put(log, s, strlen(s));
}

/* ------------------------------------------------------------------ lines of the source */

/* Length of the line end at s, 0 when there is none; libyaml's set, so that its marks hold. */
static size_t line_end(const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    if (n >= 2 && u[0] == '\r' && u[1] == '\n')
        return 2;
    if (n >= 1 && (u[0] == '\n' || u[0] == '\r'))
        return 1;
    if (n >= 2 && u[0] == 0xc2 && u[1] == 0x85)
        return 2;
    if (n >= 3 && u[0] == 0xe2 && u[1] == 0x80 && (u[2] == 0xa8 || u[2] == 0xa9))
        return 3;
    return 0;
}

/* One character; bytes that are not UTF-8 count one each. */
static size_t char_size(const char *s, size_t n)
{
    uint32_t cp;
    unsigned len = fm_utf8_next(s, n, &cp);
    return len ? len : 1;
}

static size_t chars(const char *s, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i += char_size(s + i, n - i))
        count++;
    return count;
}

/* The line that holds byte `offset` of text. */
static void place_offset(const char *text, size_t size, size_t offset, struct place *place)
{
    size_t start = 0, i = 0;
    place->line = 1;
    while (i < offset) {
        size_t end = line_end(text + i, size - i);
        if (end && i + end <= offset) {
            i += end;
            start = i;
            place->line++;
        } else {
            i++;
        }
    }
    size_t stop = start;
    while (stop < size && !line_end(text + stop, size - stop))
        stop++;
    place->line_text = text + start;
    place->line_n = stop - start;
    place->at = FM_MIN(offset - start, place->line_n);
    place->column = (uint32_t)chars(text + start, place->at) + 1;
}

/* Byte offset of (line, column), at most size. */
static size_t offset_of(const char *text, size_t size, uint32_t line, uint32_t column)
{
    size_t i = 0;
    for (uint32_t l = 1; l < line && i < size;) {
        size_t end = line_end(text + i, size - i);
        l += end != 0;
        i += end ? end : 1;
    }
    for (uint32_t c = 1; c < column && i < size && !line_end(text + i, size - i); c++)
        i += char_size(text + i, size - i);
    return i;
}

/* ------------------------------------------------------------------ places inside scalars */

/* Source bytes of the escape at s (a backslash) and, in *made, the bytes of text it stands for. */
static size_t escape_size(const char *s, size_t n, size_t *made)
{
    static const char hex_escapes[] = "xuU";
    static const uint8_t digits[] = {2, 4, 8};
    *made = 1;
    if (n < 2)
        return n;
    const char *kind = s[1] ? strchr(hex_escapes, s[1]) : NULL;
    if (!kind)
        return 2;
    size_t len = 2 + (size_t)digits[kind - hex_escapes];
    uint64_t cp;
    if (len > n || !fm_text_hex(s + 2, len - 2, &cp))
        return FM_MIN(len, n);
    *made = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    return len;
}

static size_t skip_blanks(const char *text, size_t size, size_t i)
{
    while (i < size && (text[i] == ' ' || text[i] == '\t'))
        i++;
    return i;
}

/* A fold in a flow scalar: blanks, a line end, blanks. One line end stands for a space, n + 1 for n
 * line feeds. */
static size_t fold_size(const char *text, size_t size, size_t from, size_t *made)
{
    size_t i = from, ends = 0;
    for (;;) {
        size_t j = skip_blanks(text, size, i);
        size_t end = j < size ? line_end(text + j, size - j) : 0;
        if (!end)
            break;
        ends++;
        i = j + end;
    }
    if (!ends)
        return 0;
    *made = ends == 1 ? 1 : ends - 1;
    return skip_blanks(text, size, i) - from;
}

static size_t in_flow(const struct fm_yaml_file *file, const struct fm_yaml_node *node, size_t i,
                      size_t offset)
{
    const char *text = file->text;
    size_t size = file->size;
    i += node->style != FM_YAML_PLAIN;             /* the quote */
    for (size_t done = 0; done < offset && i < size;) {
        size_t made = 1, len = fold_size(text, size, i, &made);
        if (len == 0 && node->style == FM_YAML_DOUBLE && text[i] == '\\')
            len = escape_size(text + i, size - i, &made);
        else if (len == 0 && node->style == FM_YAML_SINGLE && text[i] == '\'')
            len = 2;
        else if (len == 0)
            len = 1;
        i += FM_MIN(len, size - i);
        done += made;
    }
    return i;
}

static size_t in_block(const struct fm_yaml_file *file, size_t i, size_t offset)
{
    const char *text = file->text;
    size_t size = file->size, indent = SIZE_MAX;
    while (i < size && !line_end(text + i, size - i))
        i++;                                       /* the '|' or '>' line */
    for (size_t done = 0; i < size;) {
        size_t end = line_end(text + i, size - i);
        if (!end) {
            if (done == offset)
                return i;
            i++;
            done++;
            continue;
        }
        if (indent != SIZE_MAX) {
            if (done == offset)
                return i;
            done++;
        }
        i += end;
        size_t j = i;
        while (j < size && text[j] == ' ' && j - i < indent)
            j++;
        if (indent == SIZE_MAX && !line_end(text + j, size - j))
            indent = j - i;
        i = j;
    }
    return i;
}

/* Place of byte `offset` of a scalar's text. */
static size_t inside(const struct fm_yaml_file *file, const struct fm_yaml_node *node,
                     size_t offset)
{
    size_t i = offset_of(file->text, file->size, node->line, node->column);
    if (node->style == FM_YAML_LITERAL || node->style == FM_YAML_FOLDED)
        return in_block(file, i, offset);
    return in_flow(file, node, i, offset);
}

/* ------------------------------------------------------------------ a message */

/* Spaces (tabs where the line has them) as wide as s[0..n). */
static void put_gap(struct fm_yaml_log *log, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t len = char_size(s + i, n - i);
        if (s[i] == '\t')
            put(log, "\t", 1);
        else
            for (size_t w = fm_utf8_width(s + i, len); w > 0; w--)
                put(log, " ", 1);
        i += len;
    }
}

static void put_line(struct fm_yaml_log *log, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t len = char_size(s + i, n - i);
        bool control = len == 1 && ((unsigned char)s[i] < 0x20 || (unsigned char)s[i] >= 0x7f);
        if (control && s[i] != '\t')
            put(log, "?", 1);
        else
            put(log, s + i, len);
        i += len;
    }
}

static void put_excerpt(struct fm_yaml_log *log, const struct place *place)
{
    size_t from = 0, to = place->line_n;
    const char *s = place->line_text;
    if (place->at > WINDOW - 20)
        from = place->at - (WINDOW - 20);
    while (from > 0 && from < place->line_n && ((unsigned char)s[from] & 0xc0) == 0x80)
        from++;
    if (to - from > WINDOW)
        to = from + WINDOW;
    while (to < place->line_n && ((unsigned char)s[to] & 0xc0) == 0x80)
        to++;
    char number[32];
    if (place->line)
        snprintf(number, sizeof number, "%5u | ", place->line);
    put_text(log, place->line ? number : "      | ");
    put_line(log, s + from, to - from);
    put_text(log, "\n      | ");
    put_gap(log, s + from, place->at - from);
    put_text(log, "^");
    size_t room = place->at < to ? fm_utf8_width(s + place->at, to - place->at) : 1;
    for (size_t i = 1; i < place->mark && i < room; i++)
        put_text(log, "~");
    put_text(log, "\n");
}

static void message(struct fm_yaml_log *log, bool error, const struct place *place,
                    const char *fmt, va_list ap) __attribute__((format(printf, 4, 0)));

static void message(struct fm_yaml_log *log, bool error, const struct place *place,
                    const char *fmt, va_list ap)
{
    char text[MESSAGE], head[64];
    enum fm_yaml_class class = log->class;
    log->class = FM_YAML_OTHER;
    vsnprintf(text, sizeof text, fmt, ap);
    const char *name = log->file ? log->file->name : "";
    if (error && log->errors++ == 0)
        fm_error_line(&log->first, FM_CONFIG, name, place->line, place->column, "%s", text);
    log->warnings += !error;
    unsigned met = error ? log->errors : log->warnings;
    log->silent = met > FM_YAML_ERRORS;
    if (log->silent) {
        if (met == FM_YAML_ERRORS + 1)
            put_text(log, error ? "note: more errors follow\n" : "note: more warnings follow\n");
        return;
    }
    bool again = place->line_text == log->line_text && place->at == log->line_at;
    log->line_text = place->line_text;
    log->line_at = place->at;
    put_text(log, name);
    if (place->line)
        snprintf(head, sizeof head, ":%u:%u: ", place->line, place->column);
    else
        snprintf(head, sizeof head, "%s", name[0] ? ": " : "");
    put_text(log, head);
    put_text(log, error ? "error: " : "warning: ");
    put_text(log, text);
    snprintf(head, sizeof head, " [FM%u]\n", (unsigned)class);
    put_text(log, head);
    if (place->line_text && !again)
        put_excerpt(log, place);
}

/* The place of a whole node. */
static struct place node_place(const struct fm_yaml_log *log, const struct fm_yaml_node *at)
{
    struct place place = {.mark = 1};
    if (!at || !log->file || at->line == 0)
        return place;
    const struct fm_yaml_file *file = log->file;
    place_offset(file->text, file->size,
                 offset_of(file->text, file->size, at->line, at->column), &place);
    place.line = at->line;
    place.column = at->column;
    if (at->type == FM_YAML_SCALAR && at->style <= FM_YAML_DOUBLE)
        place.mark = fm_utf8_width(at->text, at->n) + (at->style == FM_YAML_PLAIN ? 0 : 2);
    return place;
}

void fm_yaml_error(struct fm_yaml_log *log, const struct fm_yaml_node *at, const char *fmt, ...)
{
    struct place place = node_place(log, at);
    va_list ap;
    va_start(ap, fmt);
    message(log, true, &place, fmt, ap);
    va_end(ap);
}

void fm_yaml_warn(struct fm_yaml_log *log, const struct fm_yaml_node *at, const char *fmt, ...)
{
    struct place place = node_place(log, at);
    va_list ap;
    va_start(ap, fmt);
    message(log, false, &place, fmt, ap);
    va_end(ap);
}

void fm_yaml_error_key(struct fm_yaml_log *log, const struct fm_yaml_pair *at, const char *fmt,
                       ...)
{
    struct fm_yaml_node node = {.type = FM_YAML_SCALAR,
                                .line = at->key_line,
                                .column = at->key_column,
                                .text = at->key,
                                .n = strlen(at->key)};
    struct place place = node_place(log, &node);
    va_list ap;
    va_start(ap, fmt);
    message(log, true, &place, fmt, ap);
    va_end(ap);
}

void fm_yaml_error_at(struct fm_yaml_log *log, const struct fm_yaml_node *at, size_t offset,
                      size_t len, const char *fmt, ...)
{
    struct place place = node_place(log, at);
    if (place.line_text && at->type == FM_YAML_SCALAR) {
        offset = FM_MIN(offset, at->n);
        len = FM_MIN(len, at->n - offset);
        place_offset(log->file->text, log->file->size, inside(log->file, at, offset), &place);
        place.mark = fm_utf8_width(at->text + offset, len);
    }
    va_list ap;
    va_start(ap, fmt);
    message(log, true, &place, fmt, ap);
    va_end(ap);
}

void fm_yaml_error_text(struct fm_yaml_log *log, const struct fm_yaml_node *at, const char *text,
                        size_t n, size_t offset, size_t len, const char *fmt, ...)
{
    struct place place = node_place(log, at);
    place.line_text = text;
    place.line_n = n;
    place.at = FM_MIN(offset, n);
    place.mark = fm_utf8_width(text + place.at, FM_MIN(len, n - place.at));
    bool first = log->errors == 0;
    va_list ap;
    va_start(ap, fmt);
    message(log, true, &place, fmt, ap);
    va_end(ap);
    if (first && !at)
        log->first.column = (uint32_t)chars(text, place.at) + 1;
}

void fm_yaml_note(struct fm_yaml_log *log, const char *fmt, ...)
{
    if (log->silent)
        return;
    char text[MESSAGE + 64];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    put_text(log, "note: ");
    put_text(log, text);
    put_text(log, "\n");
}

void fm_yaml_log_add(struct fm_yaml_log *log, const struct fm_yaml_log *from)
{
    if (log->errors == 0)
        log->first = from->first;
    if (log->errors <= FM_YAML_ERRORS)
        put_text(log, from->text);
    log->errors += from->errors;
    log->warnings += from->warnings;
}

/* ------------------------------------------------------------------ unknown names */

static void note_list(struct fm_yaml_log *log, const char *what, const char *const *known,
                      size_t n)
{
    char list[LIST_TEXT];
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(known[i]);
        if (used + len + 6 > sizeof list) {
            memcpy(list + used, " …", sizeof " …" - 1);
            used += sizeof " …" - 1;
            break;
        }
        list[used++] = ' ';
        memcpy(list + used, known[i], len);
        used += len;
    }
    list[used] = '\0';
    if (n)
        fm_yaml_note(log, "%ss are:%s", what, list);
}

static void did_you_mean(char buf[128], const char *name, const char *const *known, size_t n)
{
    const char *nearest = fm_text_nearest(name, known, n);
    buf[0] = '\0';
    if (nearest)
        snprintf(buf, 128, " (did you mean '%s'?)", nearest);
}

bool fm_yaml_known(struct fm_yaml_log *log, const struct fm_yaml_node *map,
                   const char *const *known, size_t n, const char *what)
{
    bool all = true;
    if (map->type != FM_YAML_MAP)
        return true;
    for (size_t i = 0; i < map->n; i++) {
        const struct fm_yaml_pair *pair = &map->pair[i];
        size_t k = 0;
        while (k < n && strcmp(known[k], pair->key) != 0)
            k++;
        if (k < n)
            continue;
        char hint[128];
        did_you_mean(hint, pair->key, known, n);
        fm_yaml_error_key(fm_yaml_as(log, FM_YAML_UNKNOWN), pair, "unknown %s '%s'%s", what,
                          pair->key, hint);
        if (map->style == FM_YAML_FLOW && fm_yaml_is_null(pair->value))
            fm_yaml_note(log, "a value that holds ',' or ': ' must be quoted inside {…}");
        else if (all)
            note_list(log, what, known, n);
        all = false;
    }
    return all;
}

void fm_yaml_unknown(struct fm_yaml_log *log, const struct fm_yaml_node *at, const char *what,
                     const char *name, const char *const *known, size_t n)
{
    char hint[128];
    did_you_mean(hint, name, known, n);
    fm_yaml_error(fm_yaml_as(log, FM_YAML_UNKNOWN), at, "unknown %s '%s'%s", what, name, hint);
    note_list(log, what, known, n);
}
