/*
 * iaprof_number.h - numbers in lines that end in LF.
 *
 * LF is no digit: digits are read without a look at the end of the buffer. Whoever calls has seen
 * an LF at or behind *s. On false *s may stand anywhere in the line, or behind its LF.
 */
#ifndef FM_IMPORT_GPU_IAPROF_NUMBER_H
#define FM_IMPORT_GPU_IAPROF_NUMBER_H

#include "import/gpu/iaprof.h"

#include "util/text.h"

/* Digits at *s; *s moves behind them. */
static inline bool fm_iaprof_decimal(const char **s, uint64_t *out)
{
    const char *p = *s;
    uint64_t v = 0;
    unsigned d;
    while ((d = (unsigned)(unsigned char)*p - '0') <= 9) {
        v = v * 10 + d;
        p++;
    }
    if (FM_UNLIKELY(p - *s > 19) && !fm_text_u64(*s, (size_t)(p - *s), &v))
        return false;
    if (p == *s)
        return false;
    *out = v;
    *s = p;
    return true;
}

static inline bool fm_iaprof_hexadecimal(const char **s, uint64_t *out)
{
    const char *p = *s;
    uint64_t v = 0;
    for (;; p++) {
        unsigned c = (unsigned char)*p, d = c - '0';
        if (d > 9) {
            d = (c | 0x20u) - 'a';
            if (d > 5)
                break;
            d += 10;
        }
        v = v << 4 | d;
    }
    if (p == *s || (FM_UNLIKELY(p - *s > 16) && !fm_text_hex(*s, (size_t)(p - *s), &v)))
        return false;
    *out = v;
    *s = p;
    return true;
}

static inline bool fm_iaprof_prefixed(const char **s, uint64_t *out)
{
    if ((*s)[0] != '0' || (*s)[1] != 'x')
        return false;
    *s += 2;
    return fm_iaprof_hexadecimal(s, out);
}

static inline bool fm_iaprof_tab(const char **s)
{
    return *(*s)++ == '\t';
}

#endif
