/*
 * json.c - containers `json` and `jsonl`: records are objects.
 *
 *     json    {"a": {"rows": [ {…}, {…} ]}}     path of the array: a.rows
 *     jsonl   {…}\n{…}\n                        an object a line
 *
 * Fields are found by their path, keys joined by '.', hashed; an object or array that no path leads
 * into is passed over without looking at its tokens.
 */
#include "import/text/generic.h"

#include "util/error.h"
#include "util/json.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define MAX_PATH 4096u
#define INTO (UINT64_C(1) << 32)       /* a path goes on below this one */

struct json {
    struct fm_generic *g;
    struct fm_json scan;
    struct fm_map paths;               /* hash of a path -> field + 1 | INTO */
    char path[MAX_PATH];
    size_t path_n;
    struct fm_error *err;
    enum fm_status read;               /* of the source */
    uint64_t since;                    /* records since the last look at the status */
};

static uint64_t hash(const char *s, size_t n)
{
    return XXH3_64bits(s, n);
}

static bool add_path(struct json *j, const char *path, uint32_t field)
{
    size_t n = strlen(path);
    uint64_t *slot = fm_map_put(&j->paths, hash(path, n), NULL);
    if (!slot)
        return false;
    *slot = (*slot & INTO) | ((uint64_t)field + 1);
    for (size_t i = 0; i < n; i++) {
        if (path[i] != '.')
            continue;
        slot = fm_map_put(&j->paths, hash(path, i), NULL);
        if (!slot)
            return false;
        *slot |= INTO;
    }
    return true;
}

static bool add_paths(struct json *j)
{
    for (uint32_t i = 0; i < j->g->fields; i++)
        if (j->g->field[i].sources && !add_path(j, j->g->field[i].source[0], i))
            return false;
    return true;
}

/* Appends a key to the path; false when it grows too long (no field has such a path). */
static bool push(struct json *j, const char *s, size_t n)
{
    if (j->path_n + n + 1 > MAX_PATH)
        return false;
    if (j->path_n)
        j->path[j->path_n++] = '.';
    memcpy(j->path + j->path_n, s, n);
    j->path_n += n;
    return true;
}

/* The text of a string token, escapes decoded. */
static const char *decoded(struct json *j, size_t *n)
{
    struct fm_generic *g = j->g;
    *n = j->scan.n;
    if (!j->scan.escaped)
        return j->scan.text;
    if (!fm_grow(g->mem, (void **)&g->scratch, &g->scratch_cap, *n + 1, 1)) {
        g->oom = true;
        *n = 0;
        return "";
    }
    *n = fm_json_unescape(j->scan.text, *n, g->scratch);
    return g->scratch;
}

static void take_value(struct json *j, uint32_t field, enum fm_json_token t)
{
    size_t n;
    const char *s;
    switch (t) {
    case FM_JSON_STRING:
        s = decoded(j, &n);
        fm_generic_text(j->g, field, s, n, j->scan.at);
        break;
    case FM_JSON_NUMBER: fm_generic_text(j->g, field, j->scan.text, j->scan.n, j->scan.at); break;
    case FM_JSON_TRUE: fm_generic_text(j->g, field, "true", 4, j->scan.at); break;
    case FM_JSON_FALSE: fm_generic_text(j->g, field, "false", 5, j->scan.at); break;
    default: break;
    }
}

/* The members of an object whose '{' was read, nested ones too: depth as wide as the paths go. */
static bool read_object(struct json *j)
{
    size_t start[FM_JSON_DEPTH + 1];   /* path length outside of each level */
    size_t level = 0;
    start[0] = 0;
    j->path_n = 0;
    for (;;) {
        enum fm_json_token t = fm_json_next(&j->scan);
        if (t == FM_JSON_OBJECT_END) {
            if (level == 0)
                return true;
            j->path_n = start[level--];
            continue;
        }
        if (t != FM_JSON_KEY)
            return false;
        size_t outside = j->path_n, n;
        const char *key = decoded(j, &n);
        const uint64_t *slot =
            push(j, key, n) ? fm_map_find(&j->paths, hash(j->path, j->path_n)) : NULL;
        if (!slot) {
            j->path_n = outside;
            if (!fm_json_skip(&j->scan, FM_JSON_KEY))
                return false;
            continue;
        }
        t = fm_json_next(&j->scan);
        if (t == FM_JSON_OBJECT && *slot & INTO) {
            start[++level] = outside;
            continue;
        }
        if (t == FM_JSON_OBJECT || t == FM_JSON_ARRAY) {
            if (!fm_json_skip(&j->scan, t))
                return false;
        } else if (t <= FM_JSON_END) {
            return false;
        } else if ((uint32_t)*slot != 0) {
            take_value(j, (uint32_t)*slot - 1, t);
        }
        j->path_n = outside;
    }
}

static bool read_record(struct json *j, uint64_t offset)
{
    fm_generic_clear(j->g);
    if (!read_object(j))
        return false;
    fm_generic_emit(j->g, NULL, offset);
    return true;
}

/* ------------------------------------------------------------------ one document */

static bool more(void *user, size_t used, size_t need, const unsigned char **data, size_t *n)
{
    struct json *j = user;
    fm_reader_consume(j->g->reader, used);
    j->read = fm_reader_peek(j->g->reader, need, data, n, j->err);
    return j->read == FM_OK;
}

/* Goes to the array of rows: along the keys of c->rows. */
static bool enter_rows(struct json *j)
{
    const char *path = j->g->c->rows;
    while (*path) {
        size_t n = strcspn(path, ".");
        if (fm_json_next(&j->scan) != FM_JSON_OBJECT)
            return false;
        for (;;) {
            size_t len;
            if (fm_json_next(&j->scan) != FM_JSON_KEY)
                return false;
            const char *key = decoded(j, &len);
            if (len == n && memcmp(key, path, n) == 0)
                break;
            if (!fm_json_skip(&j->scan, FM_JSON_KEY))
                return false;
        }
        path += n + (path[n] == '.');
    }
    return fm_json_next(&j->scan) == FM_JSON_ARRAY;
}

static enum fm_status document(struct json *j)
{
    if (!enter_rows(j))
        return FM_FORMAT;
    for (;;) {
        enum fm_json_token t = fm_json_next(&j->scan);
        uint64_t at = j->scan.at;
        if (t == FM_JSON_ARRAY_END)
            return FM_OK;
        if (t == FM_JSON_OBJECT) {
            if (!read_record(j, at))
                return FM_FORMAT;
        } else if (t <= FM_JSON_END || !fm_json_skip(&j->scan, t)) {
            return FM_FORMAT;
        } else {
            fm_builder_diag(j->g->builder, FM_DIAG_RECORD_BODY, at, 1);
        }
        if ((++j->since % 4096 == 0 || j->g->oom) &&
            fm_generic_status(j->g, at, j->err) != FM_OK)
            return FM_CANCELLED;       /* the error is set */
    }
}

enum fm_status fm_generic_json(struct fm_generic *g, struct fm_error *err)
{
    struct json *j = fm_arena_alloc(&g->arena, sizeof *j);
    if (!j)
        return fm_error_nomem(err);
    j->g = g;
    j->err = err;
    fm_map_init(&j->paths, g->mem);
    fm_json_init(&j->scan, more, j);
    enum fm_status status = add_paths(j) ? document(j) : fm_error_nomem(err);
    fm_map_release(&j->paths);
    if (j->read != FM_OK)
        return j->read;
    if (status == FM_CANCELLED)
        return fm_generic_status(g, 0, NULL) == FM_OK ? FM_CANCELLED
                                                      : fm_generic_status(g, 0, NULL);
    if (status != FM_FORMAT)
        return status;
    const char *name = fm_input_name(g->import->input);
    uint64_t at = j->scan.offset + (uint64_t)(j->scan.p - j->scan.data);
    if (j->scan.error == FM_JSON_CUT)
        return fm_error_at(err, FM_TRUNCATED, name, at,
                           "the document ends inside something, after %llu records",
                           (unsigned long long)g->records);
    if (j->scan.error == FM_JSON_OK)
        return fm_error_at(err, FM_FORMAT, name, at, "no array of rows at '%s'", g->c->rows);
    return fm_error_at(err, FM_FORMAT, name, at, "no JSON here, after %llu records",
                       (unsigned long long)g->records);
}

/* ------------------------------------------------------------------ lines */

static void take_line(void *user, const char *s, size_t n, uint64_t number, uint64_t offset)
{
    struct json *j = user;
    (void)number;
    fm_json_init_memory(&j->scan, s, n);
    enum fm_json_token t = fm_json_next(&j->scan);
    if (t == FM_JSON_END)
        return;
    fm_generic_clear(j->g);
    if (t != FM_JSON_OBJECT || !read_object(j) || fm_json_next(&j->scan) != FM_JSON_END)
        fm_builder_diag(j->g->builder, FM_DIAG_BAD_LINE, offset, 1);
    else
        fm_generic_emit(j->g, NULL, offset);
}

enum fm_status fm_generic_jsonl(struct fm_generic *g, struct fm_error *err)
{
    struct json *j = fm_arena_alloc(&g->arena, sizeof *j);
    if (!j)
        return fm_error_nomem(err);
    j->g = g;
    fm_map_init(&j->paths, g->mem);
    enum fm_status status = add_paths(j) ? FM_OK : fm_error_nomem(err);
    if (status == FM_OK)
        status = fm_generic_each_line(g, take_line, j, err);
    fm_map_release(&j->paths);
    return status;
}
