/*
 * json.c - the JSON scanner.
 *
 *     data          p        end
 *      | done ....   | unread |          refill(): what stands before the token's start is dropped
 *                ^ start of the token
 *
 * Levels are bits of `kind` (object or array), so a closing bracket is checked without a stack of
 * anything larger. Strings are searched for quote and backslash 16 bytes at a time where SSE2 is.
 */
#include "util/json.h"

#include "util/text.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static bool no_more(void *user FM_UNUSED, size_t used FM_UNUSED, size_t need FM_UNUSED,
                    const unsigned char **data FM_UNUSED, size_t *n FM_UNUSED)
{
    return false;
}

void fm_json_init(struct fm_json *j, fm_json_more *more, void *user)
{
    static const unsigned char nothing[1];
    memset(j, 0, sizeof *j);
    j->more = more;
    j->user = user;
    j->data = j->p = j->end = nothing;
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
    return FM_JSON_ERROR;
}

/* More bytes behind those from `start` on, which move to the front. false: none, or an error. */
static bool refill(struct fm_json *j, const unsigned char **start)
{
    size_t used = (size_t)(*start - j->data), kept = (size_t)(j->end - *start);
    size_t seen = (size_t)(j->p - *start), n;
    if (j->last || j->error)
        return false;
    if (kept > FM_JSON_TOKEN) {
        fail(j, FM_JSON_LONG);
        return false;
    }
    const unsigned char *data;
    if (!j->more(j->user, used, kept + FM_MAX(kept, 1), &data, &n)) {
        fail(j, FM_JSON_SOURCE);
        return false;
    }
    if (n <= kept)
        j->last = true;
    j->offset += used;
    j->data = *start = data;
    j->p = data + seen;
    j->end = data + n;
    return n > kept;
}

/* ------------------------------------------------------------------ pieces of tokens */

/* First quote or backslash in [p, end), or end. */
static const unsigned char *find_special(const unsigned char *p, const unsigned char *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        int mask = _mm_movemask_epi8(
            _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)));
        if (mask)
            return p + __builtin_ctz((unsigned)mask);
        p += 16;
    }
#endif
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* The current byte is the opening quote. */
static bool scan_string(struct fm_json *j)
{
    const unsigned char *start = j->p++;
    j->escaped = false;
    for (;;) {
        j->p = find_special(j->p, j->end);
        /* A backslash needs the byte behind it. */
        if (j->p == j->end || (*j->p == '\\' && j->end - j->p < 2)) {
            if (!refill(j, &start)) {
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

static bool is_number_byte(unsigned char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

static bool is_word_byte(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '.' || c == '-' || c == '+';
}

static void scan_run(struct fm_json *j, bool (*in)(unsigned char))
{
    const unsigned char *start = j->p;
    do {
        while (j->p < j->end && in(*j->p))
            j->p++;
    } while (j->p == j->end && refill(j, &start));
    j->text = (const char *)start;
    j->n = (size_t)(j->p - start);
    j->at = j->offset + (uint64_t)(start - j->data);
}

/* Blanks and commas; false at the end of the input. */
static bool skip_blanks(struct fm_json *j)
{
    for (;;) {
        while (j->p < j->end && (*j->p <= ' ' || *j->p == ',')) {
            j->commas += *j->p == ',';
            j->p++;
        }
        if (j->p < j->end)
            return true;
        const unsigned char *start = j->p;
        if (!refill(j, &start))
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
    j->value = false;
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
        if (!refill(j, &start))
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

static enum fm_json_token read_word(struct fm_json *j)
{
    scan_run(j, is_word_byte);
    if (j->error)
        return FM_JSON_ERROR;
    if (j->n == 0)
        return fail(j, FM_JSON_SYNTAX);
    if (j->n == 4 && memcmp(j->text, "true", 4) == 0)
        return FM_JSON_TRUE;
    if (j->n == 5 && memcmp(j->text, "false", 5) == 0)
        return FM_JSON_FALSE;
    return FM_JSON_NULL;
}

static enum fm_json_token read_number(struct fm_json *j)
{
    scan_run(j, is_number_byte);
    if (j->error)
        return FM_JSON_ERROR;
    /* "-Infinity" */
    if (j->n == 1 && !(j->text[0] >= '0' && j->text[0] <= '9')) {
        scan_run(j, is_word_byte);
        return j->error ? FM_JSON_ERROR : FM_JSON_NULL;
    }
    return FM_JSON_NUMBER;
}

enum fm_json_token fm_json_next(struct fm_json *j)
{
    if (j->error)
        return FM_JSON_ERROR;
    j->commas = 0;
    if (!skip_blanks(j)) {
        if (j->error || j->depth > 0 || j->value)
            return fail(j, FM_JSON_CUT);
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
    if ((c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.')
        return read_number(j);
    return read_word(j);
}

/* Brackets are counted, not matched: what is passed over need not be right. */
static bool skip_levels(struct fm_json *j)
{
    uint64_t open = 1;
    while (open > 0) {
        if (j->p == j->end) {
            const unsigned char *start = j->p;
            if (!refill(j, &start)) {
                fail(j, FM_JSON_CUT);
                return false;
            }
            continue;
        }
        unsigned char c = *j->p;
        if (c == '"') {
            if (!scan_string(j))
                return false;
            continue;
        }
        open += c == '{' || c == '[';
        open -= c == '}' || c == ']';
        j->p++;
    }
    return true;
}

bool fm_json_skip(struct fm_json *j, enum fm_json_token token)
{
    if (token == FM_JSON_KEY) {
        j->commas = 0;
        if (!skip_blanks(j)) {
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

/* ------------------------------------------------------------------ values */

static size_t put_utf8(char *to, uint32_t cp)
{
    if (cp < 0x80) {
        to[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        to[0] = (char)(0xc0 | cp >> 6);
        to[1] = (char)(0x80 | (cp & 0x3f));
        return 2;
    }
    if (cp < 0x10000) {
        to[0] = (char)(0xe0 | cp >> 12);
        to[1] = (char)(0x80 | (cp >> 6 & 0x3f));
        to[2] = (char)(0x80 | (cp & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | cp >> 18);
    to[1] = (char)(0x80 | (cp >> 12 & 0x3f));
    to[2] = (char)(0x80 | (cp >> 6 & 0x3f));
    to[3] = (char)(0x80 | (cp & 0x3f));
    return 4;
}

static bool hex4(const char *s, size_t n, uint32_t *out)
{
    uint64_t v;
    if (n < 6 || s[0] != '\\' || s[1] != 'u' || s[3] == 'x' || s[3] == 'X' ||
        !fm_text_hex(s + 2, 4, &v))
        return false;
    *out = (uint32_t)v;
    return true;
}

/* \uXXXX at s, with the second half of a pair; *used = source bytes. */
static size_t unicode(const char *s, size_t n, char *to, size_t *used)
{
    uint32_t cp, low;
    if (!hex4(s, n, &cp)) {
        *used = 2;
        to[0] = s[0];
        to[1] = s[1];
        return 2;
    }
    *used = 6;
    if (cp >= 0xd800 && cp < 0xdc00 && hex4(s + 6, n - 6, &low) && low >= 0xdc00 && low < 0xe000) {
        *used = 12;
        cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
    } else if (cp >= 0xd800 && cp < 0xe000) {
        cp = 0xfffd;
    }
    return put_utf8(to, cp);
}

size_t fm_json_unescape(const char *s, size_t n, char *to)
{
    static const char from[] = "\"\\/bfnrt", made[] = "\"\\/\b\f\n\r\t";
    size_t out = 0;
    for (size_t i = 0; i < n;) {
        if (s[i] != '\\' || i + 1 == n) {
            to[out++] = s[i++];
            continue;
        }
        if (s[i + 1] == 'u') {
            size_t used;
            out += unicode(s + i, n - i, to + out, &used);
            i += used;
            continue;
        }
        const char *known = s[i + 1] ? strchr(from, s[i + 1]) : NULL;
        if (known) {
            to[out++] = made[known - from];
        } else {
            to[out++] = s[i];
            to[out++] = s[i + 1];
        }
        i += 2;
    }
    return out;
}

/* ------------------------------------------------------------------ decimals */

struct digits {
    bool minus;
    unsigned __int128 whole;       /* the first 36 significant digits */
    int64_t exponent;              /* of ten */
};

static bool read_digits(const char *s, size_t n, struct digits *d)
{
    size_t i = 0, seen = 0, kept = 0;
    bool point = false;
    memset(d, 0, sizeof *d);
    if (n && (s[0] == '-' || s[0] == '+'))
        d->minus = s[i++] == '-';
    for (; i < n; i++) {
        if (s[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (s[i] < '0' || s[i] > '9')
            break;
        seen++;
        if (kept < 36) {
            d->whole = d->whole * 10 + (unsigned)(s[i] - '0');
            kept += d->whole != 0;
            d->exponent -= point;
        } else {
            d->exponent += !point; /* too small to change the rounding */
        }
    }
    if (seen == 0)
        return false;
    if (i < n && (s[i] | 0x20) == 'e') {
        int64_t e;
        if (!fm_text_i64(s + i + 1, n - i - 1, &e) || e > 100000 || e < -100000)
            return false;
        d->exponent += e;
        i = n;
    }
    return i == n;
}

bool fm_json_scaled(const char *s, size_t n, int64_t scale, int64_t *out)
{
    struct digits d;
    if (!read_digits(s, n, &d))
        return false;
    for (; scale > 1; scale /= 10)
        d.exponent++;
    const unsigned __int128 limit = (unsigned __int128)INT64_MAX + d.minus;
    if (d.whole == 0)
        d.exponent = 0;
    for (; d.exponent > 0; d.exponent--) {
        if (d.whole > limit)
            return false;
        d.whole *= 10;
    }
    /* The last digit dropped decides: a half or more rounds up, away from zero. */
    unsigned last = 0;
    for (; d.exponent < 0 && d.whole > 0; d.exponent++) {
        last = (unsigned)(d.whole % 10);
        d.whole /= 10;
    }
    if (d.exponent < 0)
        last = 0;
    d.whole += last >= 5;
    if (d.whole > limit)
        return false;
    uint64_t v = (uint64_t)d.whole;
    *out = (int64_t)(d.minus ? ~v + 1 : v);
    return true;
}
