/*
 * json.c - the JSON scanner: the window and the tokens.
 *
 *     data          p        end
 *      | done ....   | unread |          refill: what stands before the token's start is dropped,
 *                ^ start of the token    its line ends counted
 *
 * Levels are bits of `kind` (object or array), so closing brackets are checked without a stack of
 * anything larger. json_item.c reads arrays of objects, json_skip.c searches, json_number.c reads
 * values.
 */
#include "util/json_inner.h"

static bool no_more(void *user FM_UNUSED, size_t used FM_UNUSED, size_t need FM_UNUSED,
                    const unsigned char **data FM_UNUSED, size_t *n FM_UNUSED)
{
    return false;
}

void fm_json_init(struct fm_json *j, fm_json_more *more, void *user)
{
    static const unsigned char nothing[1];
    memset(j, 0, offsetof(struct fm_json, marks));
    j->more = more;
    j->user = user;
    j->data = j->p = j->end = nothing;
    j->vector = fm_json_vector_best();
    j->limit = FM_JSON_TOKEN;
    fm_json_shapes_init(&j->shapes);
}

void fm_json_init_memory(struct fm_json *j, const void *data, size_t n)
{
    fm_json_init(j, no_more, NULL);
    if (n)
        j->data = j->p = data;
    j->end = j->data + n;
    j->last = true;
}

static enum fm_json_token fail(struct fm_json *j, enum fm_json_error error)
{
    if (j->error == FM_JSON_OK)
        j->error = error;
    if (j->error == FM_JSON_CUT)
        j->state = FM_JSON_TRUNCATED;
    return FM_JSON_ERROR;
}

bool fm_json_refill(struct fm_json *j, const unsigned char **start)
{
    size_t used = (size_t)(*start - j->data), kept = (size_t)(j->end - *start);
    size_t seen = (size_t)(j->p - *start), n;
    if (j->last || j->error)
        return false;
    if (kept > j->limit) {
        fail(j, FM_JSON_LONG);
        return false;
    }
    j->lines += j->vector->lines(j->data, *start);
    j->offset += used;
    const unsigned char *data;
    if (!j->more(j->user, used, kept + FM_MAX(kept, 1), &data, &n)) {
        static const unsigned char nothing[1];
        fail(j, FM_JSON_SOURCE);
        data = nothing; /* the old window is gone */
        n = seen = kept = 0;
    }
    if (n <= kept)
        j->last = true;
    j->marked = NULL;
    j->data = *start = data;
    j->p = data + seen;
    j->end = data + n;
    return n > kept;
}

uint64_t fm_json_line(const struct fm_json *j, uint64_t offset)
{
    if (offset <= j->offset)
        return j->lines + 1;
    uint64_t n = FM_MIN(offset - j->offset, (uint64_t)(j->end - j->data));
    return j->lines + j->vector->lines(j->data, j->data + n) + 1;
}

/* ------------------------------------------------------------------ pieces of tokens */

/* The current byte is the opening quote. */
static bool scan_string(struct fm_json *j)
{
    const unsigned char *start = j->p++;
    j->escaped = false;
    for (;;) {
        j->p = fm_json_quote(j->p, j->end, j->vector);
        /* A backslash needs the byte behind it. */
        if (j->p == j->end || (*j->p == '\\' && j->end - j->p < 2)) {
            if (!fm_json_refill(j, &start)) {
                fail(j, FM_JSON_CUT);
                return false;
            }
            continue;
        }
        if (*j->p == '"')
            break;
        j->escaped = true;
        j->p += 2;
    }
    j->text = (const char *)start + 1;
    j->n = (size_t)(j->p - start) - 1;
    j->at = j->offset + (uint64_t)(start - j->data);
    j->p++;
    return true;
}

/* A number or a bare word. */
static void scan_word(struct fm_json *j)
{
    const unsigned char *start = j->p;
    do
        j->p = fm_json_word_end(j->p, j->end);
    while (j->p == j->end && fm_json_refill(j, &start));
    j->text = (const char *)start;
    j->n = (size_t)(j->p - start);
    j->at = fm_json_offset(j, start);
}

bool fm_json_blanks(struct fm_json *j)
{
    for (;;) {
        while (j->p < j->end && (*j->p <= ' ' || *j->p == ',')) {
            j->commas += *j->p == ',';
            j->p++;
        }
        if (j->p < j->end)
            return true;
        const unsigned char *start = j->p;
        if (!fm_json_refill(j, &start))
            return false;
    }
}

/* ------------------------------------------------------------------ tokens */

static bool in_object(const struct fm_json *j)
{
    uint32_t d = j->depth - 1;
    return j->depth > 0 && ((j->kind[d >> 6] >> (d & 63)) & 1);
}

static enum fm_json_token open_level(struct fm_json *j, bool object)
{
    uint32_t d = j->depth;
    if (d == FM_JSON_DEPTH)
        return fail(j, FM_JSON_DEEP);
    j->kind[d >> 6] &= ~(UINT64_C(1) << (d & 63));
    j->kind[d >> 6] |= (uint64_t)object << (d & 63);
    j->depth++;
    j->p++;
    j->value = j->lost = j->resumed = false;
    j->guesses = 0;
    return object ? FM_JSON_OBJECT : FM_JSON_ARRAY;
}

static enum fm_json_token close_level(struct fm_json *j, bool object)
{
    if (j->depth == 0 || in_object(j) != object || j->value)
        return fail(j, FM_JSON_SYNTAX);
    j->depth--;
    j->p++;
    return object ? FM_JSON_OBJECT_END : FM_JSON_ARRAY_END;
}

/* A key: the string, blanks, ':'. The blanks belong to the token, so that its text stays. */
static enum fm_json_token read_key(struct fm_json *j)
{
    if (*j->p != '"')
        return fail(j, FM_JSON_SYNTAX);
    const unsigned char *start = j->p;
    if (!scan_string(j))
        return FM_JSON_ERROR;
    start = (const unsigned char *)j->text - 1;
    size_t n = j->n;
    for (;;) {
        while (j->p < j->end && *j->p <= ' ')
            j->p++;
        if (j->p < j->end)
            break;
        if (!fm_json_refill(j, &start))
            return fail(j, FM_JSON_CUT);
    }
    if (*j->p != ':')
        return fail(j, FM_JSON_SYNTAX);
    j->p++;
    j->text = (const char *)start + 1;
    j->n = n;
    j->value = true;
    return FM_JSON_KEY;
}

enum fm_json_token fm_json_word(const unsigned char *s, size_t n)
{
    if (n == 0)
        return FM_JSON_ERROR;
    if (s[0] >= '0' && s[0] <= '9')
        return FM_JSON_NUMBER;
    if (n == 4 && memcmp(s, "true", 4) == 0)
        return FM_JSON_TRUE;
    if (n == 5 && memcmp(s, "false", 5) == 0)
        return FM_JSON_FALSE;
    for (size_t i = 0; i < n; i++)
        if (!fm_json_is_word(s[i]))
            return FM_JSON_ERROR;
    bool number = s[0] == '.' || ((s[0] == '-' || s[0] == '+') && n > 1 &&
                                  (s[1] == '.' || (s[1] >= '0' && s[1] <= '9')));
    return number ? FM_JSON_NUMBER : FM_JSON_NULL; /* "-Infinity" too */
}

static enum fm_json_token read_word(struct fm_json *j)
{
    scan_word(j);
    if (j->error)
        return FM_JSON_ERROR;
    enum fm_json_token t = fm_json_word((const unsigned char *)j->text, j->n);
    return t == FM_JSON_ERROR ? fail(j, FM_JSON_SYNTAX) : t;
}

enum fm_json_token fm_json_next(struct fm_json *j)
{
    if (j->error)
        return FM_JSON_ERROR;
    j->commas = 0;
    if (!fm_json_blanks(j)) {
        j->at = fm_json_offset(j, j->p);
        if (j->error || j->depth > 0 || j->value) {
            fail(j, FM_JSON_CUT);
            j->state = j->value ? FM_JSON_TRUNCATED : FM_JSON_UNTERMINATED;
            return FM_JSON_ERROR;
        }
        return FM_JSON_END;
    }
    j->at = j->offset + (uint64_t)(j->p - j->data);
    unsigned char c = *j->p;
    if (c == '}' || c == ']')
        return close_level(j, c == '}');
    if (in_object(j) && !j->value)
        return read_key(j);
    if (c == '{' || c == '[')
        return open_level(j, c == '{');
    j->value = false;
    if (c == '"')
        return scan_string(j) ? FM_JSON_STRING : FM_JSON_ERROR;
    return read_word(j);
}

/* Brackets are counted, not matched: what is passed over need not be right. */
static bool skip_levels(struct fm_json *j)
{
    struct fm_json_skip s = {0, 0, 1};
    while (!j->vector->skip(&s, &j->p, j->end)) {
        const unsigned char *start = j->p;
        if (!fm_json_refill(j, &start)) {
            j->at = fm_json_offset(j, j->p);
            fail(j, FM_JSON_CUT);
            return false;
        }
    }
    return true;
}

bool fm_json_skip(struct fm_json *j, enum fm_json_token token)
{
    if (token == FM_JSON_KEY) {
        j->commas = 0;
        if (!fm_json_blanks(j)) {
            fail(j, FM_JSON_CUT);
            return false;
        }
        if (*j->p != '{' && *j->p != '[')
            return fm_json_next(j) > FM_JSON_END;
        j->p++;
        j->value = false;
        return skip_levels(j);
    }
    if (token == FM_JSON_OBJECT || token == FM_JSON_ARRAY) {
        fm_assert(j->depth > 0);
        j->depth--;
        return skip_levels(j);
    }
    return token > FM_JSON_END;
}
