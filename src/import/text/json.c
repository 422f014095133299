/*
 * json.c - containers `json` and `jsonl`: records are objects.
 *
 *     json    {"a": {"rows": [ {…}, {…} ]}}     path of the array: a.rows
 *             {…},{…}                           framing: objects (objects.c)
 *     jsonl   {…}\n{…}\n                        an object a line
 *
 * Fields are found by their path, keys joined by '.', hashed; an object or array that no path leads
 * into is passed over without looking at its tokens. A key without a path of its own may be that of
 * a path's '*'; what is below it is forgotten behind it:
 *
 *     engines.*        {"engines": {"Render": {"busy": 1}, "Video": {"busy": 2}}}
 *                                   └ a record ────────┘   └ another ────────┘
 */
#include "import/text/generic.h"

#include "util/error.h"
#include "util/json.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define MAX_PATH 4096u
#define WORDS (FM_CLASS_FIELDS / 64)

/* What stands at a path: fields as number + 1, 0 = none. */
struct place {
    const char *path;
    size_t path_n;
    uint32_t value, key;               /* takes the value; takes what '*' stands for */
    bool into;                         /* a path goes on below this one */
    bool record;                       /* is one of the members */
    bool star;                         /* the path ends with '*' … */
    size_t head;                       /* … behind this much of the key */
    uint64_t parent;                   /* hash of the path without the key */
    uint64_t below[WORDS];             /* star: the fields at and below it */
};

struct sum {
    uint32_t field, of;
    int64_t total;
};

struct json {
    struct fm_generic *g;
    struct fm_json scan;
    struct fm_map paths;               /* hash of a path -> place + 1 */
    struct place *place;
    size_t places, place_cap;
    struct sum *sum;
    size_t sums;
    const uint64_t *fixed;             /* the offset of what is read, when scan is in memory */
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

/* The place at path[n], made when it is new; NULL: no memory. */
static struct place *add_place(struct json *j, const char *path, size_t n)
{
    uint64_t *slot = fm_map_put(&j->paths, hash(path, n), NULL);
    if (!slot)
        return NULL;
    if (*slot)
        return &j->place[*slot - 1];
    if (!fm_grow(j->g->mem, (void **)&j->place, &j->place_cap, j->places + 1, sizeof *j->place))
        return NULL;
    struct place *at = &j->place[j->places++];
    *slot = j->places;
    size_t key = n;
    while (key > 0 && path[key - 1] != '.')
        key--;
    bool star = n > key && path[n - 1] == '*';
    *at = (struct place){.path = path,
                         .path_n = n,
                         .star = star,
                         .head = star ? n - 1 - key : 0,
                         .parent = hash(path, key ? key - 1 : 0)};
    return at;
}

/* The same with all places that lead to it. */
static struct place *add_path(struct json *j, const char *path)
{
    size_t n = strlen(path);
    for (size_t i = 0; i < n; i++) {
        struct place *outer = path[i] == '.' ? add_place(j, path, i) : NULL;
        if (outer)
            outer->into = true;
        else if (path[i] == '.')
            return NULL;
    }
    return add_place(j, path, n);
}

static bool is_below(const struct place *place, const char *path)
{
    return strncmp(path, place->path, place->path_n) == 0 &&
           (path[place->path_n] == '\0' || path[place->path_n] == '.');
}

static void find_below(struct json *j, struct place *place)
{
    const struct fm_generic *g = j->g;
    for (uint32_t i = 0; place->star && i < g->fields; i++)
        if (g->field[i].sources && is_below(place, g->field[i].source[0]))
            place->below[i >> 6] |= UINT64_C(1) << (i & 63);
}

static bool add_sums(struct json *j)
{
    const struct fm_generic *g = j->g;
    j->sum = fm_arena_alloc(&j->g->arena, (g->fields + 1) * sizeof *j->sum);
    for (uint32_t i = 0; j->sum && i < g->fields; i++)
        for (uint32_t k = 0; g->field[i].sum && k < g->fields; k++)
            if (strcmp(g->field[k].name, g->field[i].sum) == 0)
                j->sum[j->sums++] = (struct sum){i, k, 0};
    return j->sum != NULL;
}

static bool add_paths(struct json *j)
{
    const struct fm_generic *g = j->g;
    for (uint32_t i = 0; i < g->fields; i++) {
        struct place *place = g->field[i].sources ? add_path(j, g->field[i].source[0]) : NULL;
        if (!place && g->field[i].sources)
            return false;
        if (place && g->field[i].key)
            place->key = i + 1;
        else if (place)
            place->value = i + 1;
    }
    for (size_t i = 0; i < g->c->members; i++) {
        struct place *place = add_path(j, g->c->member[i].path);
        if (!place)
            return false;
        place->record = place->into = true;
    }
    for (size_t i = 0; i < j->places; i++)
        find_below(j, &j->place[i]);
    return add_sums(j);
}

static void release(struct json *j)
{
    fm_map_release(&j->paths);
    if (j->place)
        fm_mem_free(j->g->mem, j->place, j->place_cap * sizeof *j->place);
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

static uint64_t offset(const struct json *j)
{
    return j->fixed ? *j->fixed : j->scan.at;
}

static void take_value(struct json *j, uint32_t field, enum fm_json_token t)
{
    size_t n = j->scan.n;
    const char *s = j->scan.text;
    switch (t) {
    case FM_JSON_STRING: s = decoded(j, &n); break;
    case FM_JSON_NUMBER: break;
    case FM_JSON_TRUE: s = "true"; n = 4; break;
    case FM_JSON_FALSE: s = "false"; n = 5; break;
    default: return;
    }
    fm_generic_text(j->g, field, s, n, offset(j));
}

/* The place of the path with this key, which the path takes on; NULL: none. */
static const struct place *find_place(struct json *j, const char *key, size_t n)
{
    size_t outside = j->path_n;
    if (push(j, key, n)) {
        const uint64_t *slot = fm_map_find(&j->paths, hash(j->path, j->path_n));
        if (slot && !j->place[*slot - 1].star)
            return &j->place[*slot - 1];
    }
    j->path_n = outside;
    uint64_t parent = hash(j->path, outside);
    for (size_t i = 0; i < j->places; i++) {
        const struct place *place = &j->place[i];
        size_t own = place->head + 1;
        const char *head = place->path + place->path_n - own;
        if (!place->star || place->parent != parent || n < place->head ||
            memcmp(head, key, place->head) != 0)
            continue;
        if (place->key)
            fm_generic_text(j->g, place->key - 1, key + place->head, n - place->head, offset(j));
        return push(j, head, own) ? place : NULL;
    }
    return NULL;
}

/* Behind the value at a place: it may be a record, and what '*' stood for is over. */
static void leave_place(struct json *j, const struct place *place)
{
    struct fm_generic *g = j->g;
    for (size_t i = 0; place->record && i < g->c->members; i++)
        if (strlen(g->c->member[i].path) == place->path_n &&
            memcmp(g->c->member[i].path, place->path, place->path_n) == 0)
            fm_generic_emit(g, g->c->member[i].class, offset(j));
    for (size_t i = 0; place->star && i < (g->fields + 63) / 64; i++)
        g->present[i] &= ~place->below[i];
}

/* The members of an object whose '{' was read, nested ones too: depth as wide as the paths go. */
static bool read_object(struct json *j)
{
    struct {
        size_t start;                  /* path length outside of each level */
        const struct place *place;
    } at[FM_JSON_DEPTH + 1];
    size_t level = 0;
    j->path_n = 0;
    for (;;) {
        enum fm_json_token t = fm_json_next(&j->scan);
        if (t == FM_JSON_OBJECT_END) {
            if (level == 0)
                return true;
            leave_place(j, at[level].place);
            j->path_n = at[level--].start;
            continue;
        }
        if (t != FM_JSON_KEY)
            return false;
        size_t outside = j->path_n, n;
        const char *key = decoded(j, &n);
        const struct place *place = find_place(j, key, n);
        if (!place) {
            j->path_n = outside;
            if (!fm_json_skip(&j->scan, FM_JSON_KEY))
                return false;
            continue;
        }
        t = fm_json_next(&j->scan);
        if (t == FM_JSON_OBJECT && place->into) {
            at[++level].start = outside;
            at[level].place = place;
            continue;
        }
        if (t == FM_JSON_OBJECT || t == FM_JSON_ARRAY) {
            if (!fm_json_skip(&j->scan, t))
                return false;
        } else if (t <= FM_JSON_END) {
            return false;
        } else if (place->value) {
            take_value(j, place->value - 1, t);
        }
        leave_place(j, place);
        j->path_n = outside;
    }
}

/* Adds up what the record had; one that is negative, or too much, counts as damage. */
static void add_up(struct json *j, uint64_t at)
{
    const struct fm_generic *g = j->g;
    for (size_t i = 0; i < j->sums; i++) {
        struct sum *sum = &j->sum[i];
        if (!((g->present[sum->of >> 6] >> (sum->of & 63)) & 1))
            continue;
        int64_t more = (int64_t)g->value[sum->of], total;
        if (more >= 0 && !__builtin_add_overflow(sum->total, more, &total))
            sum->total = total;
        else
            fm_builder_diag(g->builder, FM_DIAG_VALUE_RANGE, at, 1);
    }
}

static bool read_record(struct json *j, uint64_t at)
{
    fm_generic_clear(j->g);
    for (size_t i = 0; i < j->sums; i++)
        fm_generic_lane(j->g, j->sum[i].field, (uint64_t)j->sum[i].total);
    if (!read_object(j))
        return false;
    fm_generic_emit(j->g, NULL, at);
    add_up(j, at);
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

/* ------------------------------------------------------------------ objects */

/* Whether text[n] is one object and nothing else: then no part of a broken one becomes rows. */
static bool is_object(struct json *j, const char *text, size_t n)
{
    enum fm_json_token t;
    fm_json_init_memory(&j->scan, text, n);
    do
        t = fm_json_next(&j->scan);
    while (t > FM_JSON_END);
    return t == FM_JSON_END;
}

static enum fm_status objects(struct json *j)
{
    struct fm_objects o = {.g = j->g, .raw = j->g->c->raw};
    enum fm_status status = FM_OK;
    j->fixed = &o.offset;
    for (bool end = false;;) {
        status = fm_objects_next(&o, &end, j->err);
        if (status != FM_OK || end)
            break;
        bool good = is_object(j, o.text, o.n);
        fm_json_init_memory(&j->scan, o.text, o.n);
        if (!good || fm_json_next(&j->scan) != FM_JSON_OBJECT || !read_record(j, o.offset))
            fm_builder_diag(j->g->builder, FM_DIAG_RECORD_BODY, o.offset, 1);
        if (++o.objects % 256 == 0 || j->g->oom)
            status = fm_generic_status(j->g, o.offset, j->err);
        if (status != FM_OK)
            break;
    }
    fm_objects_release(&o);
    j->fixed = NULL;
    return status;
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
    if (!add_paths(j) || g->c->objects) {
        enum fm_status status = j->sum ? objects(j) : fm_error_nomem(err);
        release(j);
        return status;
    }
    enum fm_status status = document(j);
    release(j);
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

static void take_line(void *user, const char *s, size_t n, uint64_t number, uint64_t at)
{
    struct json *j = user;
    (void)number;
    fm_json_init_memory(&j->scan, s, n);
    enum fm_json_token t = fm_json_next(&j->scan);
    if (t == FM_JSON_END)
        return;
    bool good = t == FM_JSON_OBJECT && is_object(j, s, n);
    fm_json_init_memory(&j->scan, s, n);
    j->fixed = &at;
    if (!good || fm_json_next(&j->scan) != FM_JSON_OBJECT || !read_record(j, at))
        fm_builder_diag(j->g->builder, FM_DIAG_BAD_LINE, at, 1);
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
    release(j);
    return status;
}
