/*
 * source.c - the bytes of a document, behind a byte order mark of UTF-8 (UTF-16 is a layer of the
 * input).
 *
 * What stands before damage of a compressed stream is shown; the damage is told at the end.
 */
#include "import/chrome/chrome.h"

static bool peek(struct fm_chrome *c, size_t need, const unsigned char **data, size_t *n)
{
    enum fm_status status = fm_reader_peek(c->reader, need, data, n, c->err);
    if (status != FM_OK)
        c->read = status;
    return status == FM_OK || status == FM_TRUNCATED || status == FM_FORMAT || status == FM_LIMIT;
}

bool fm_chrome_more(void *user, size_t used, size_t need, const unsigned char **data, size_t *n)
{
    struct fm_chrome *c = user;
    fm_reader_consume(c->reader, used);
    return peek(c, need, data, n);
}

bool fm_chrome_source_start(struct fm_chrome *c)
{
    const unsigned char *data;
    size_t n;
    if (!peek(c, 4, &data, &n))
        return false;
    if (n >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
        c->skipped = 3;
    fm_reader_consume(c->reader, (size_t)c->skipped);
    return true;
}
