/*
 * detect.c - evidence that an input is of a generic format: the entries of its `detect`.
 *
 * Bits of the entries that hold are summed; those of texts stay below 32 together. Nothing counts
 * when a required entry fails.
 */
#include "import/text/generic.h"

#define TEXT_BITS 31u

/* The next line of data from *at on; the last one may be cut by the window. */
static bool next_line(const char *data, size_t n, size_t *at, const char **line, size_t *len)
{
    if (*at >= n)
        return false;
    const char *end = memchr(data + *at, '\n', n - *at);
    *line = data + *at;
    *len = end ? (size_t)(end - *line) : n - *at;
    *at += *len + 1;
    if (*len && (*line)[*len - 1] == '\r')
        --*len;
    return true;
}

/* True when some cell of the line is s. */
static bool has_cell(const struct fm_container *c, const char *line, size_t n, const char *s)
{
    char separator = c->kind == FM_CONTAINER_CSV ? c->separator[0] : ',';
    size_t want = strlen(s);
    for (size_t i = 0; i <= n;) {
        const char *end = memchr(line + i, separator, n - i);
        size_t from = i, to = end ? (size_t)(end - line) : n;
        i = to + 1;
        while (from < to && (line[from] == ' ' || line[from] == '\t' || line[from] == '"'))
            from++;
        while (from < to && (line[to - 1] == ' ' || line[to - 1] == '\t' || line[to - 1] == '"'))
            to--;
        if (to - from == want && memcmp(line + from, s, want) == 0)
            return true;
    }
    return false;
}

static bool line_holds(const struct fm_container *c, const struct fm_detect *d, const char *line,
                       size_t n)
{
    if (d->regex)
        return fm_pattern_match(d->regex, line, n);
    for (size_t i = 0; i < d->headers; i++)
        if (!has_cell(c, line, n, d->header[i]))
            return false;
    return true;
}

static bool lines_hold(const struct fm_container *c, const struct fm_detect *d, const char *data,
                       size_t n)
{
    const char *line;
    size_t at = n >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, len;
    for (uint32_t number = 1; number <= d->line_to && next_line(data, n, &at, &line, &len);
         number++)
        if (number >= d->line_from && line_holds(c, d, line, len))
            return true;
    return false;
}

static bool records_hold(const struct fm_container *c, const struct fm_detect *d,
                         const unsigned char *data, size_t n, bool whole)
{
    if (n < c->head)
        return false;
    size_t have = (n - c->head) / c->size;
    /* one that is cut at its end must show more of itself */
    if (have == 0 || (whole && (n - c->head) % c->size != 0 && have < 2))
        return false;
    for (size_t i = 0; i < have && i < d->records; i++)
        if (!fm_record_layout(c, data + c->head + i * c->size))
            return false;
    return true;
}

unsigned fm_generic_probe(const struct fm_container *c, const unsigned char *data, size_t n,
                          bool whole)
{
    unsigned text = 0, bytes = 0;
    for (size_t i = 0; i < c->detects; i++) {
        const struct fm_detect *d = &c->detect[i];
        bool holds;
        if (d->bytes)
            holds = d->at <= n && n - d->at >= d->bytes_n &&
                    memcmp(data + d->at, d->bytes, d->bytes_n) == 0;
        else if (d->records)
            holds = records_hold(c, d, data, n, whole);
        else
            holds = lines_hold(c, d, (const char *)data, n);
        if (holds && d->bytes)
            bytes += d->bits;
        else if (holds)
            text += d->bits;
        else if (d->required)
            return 0;
    }
    return bytes + FM_MIN(text, TEXT_BITS);
}
