/*
 * text.h - numbers, sizes, times and UTF-8 in text, without locale.
 *
 * Parsers take (s, n) and return true only when ALL n bytes are the number; on false *out is not
 * changed.
 */
#ifndef FM_UTIL_TEXT_H
#define FM_UTIL_TEXT_H

#include "util/base.h"

bool fm_text_u64(const char *s, size_t n, uint64_t *out);       /* decimal digits only */
bool fm_text_i64(const char *s, size_t n, int64_t *out);        /* optional sign */
bool fm_text_hex(const char *s, size_t n, uint64_t *out);       /* optional 0x */
bool fm_text_f64(const char *s, size_t n, double *out);         /* 1, .5, 1e3, -2.5 */

/* "10ms", "1.5s", "200us", "3m", "1h", "5ns" or a bare number of seconds -> ns; sign allowed. */
bool fm_text_time(const char *s, size_t n, int64_t *ns);
/* "4096", "4k", "64KiB", "2MB", "1G" -> bytes: k/K/M/G/T and KiB are powers of 1024, kB, MB of
 * 1000. */
bool fm_text_size(const char *s, size_t n, uint64_t *bytes);
/* A number with any unit known: "10ms" = 1e7 unit "ns"; "4KiB" = 4096 unit "bytes"; "5%" = 0.05
 * unit ""; "7" unit "". *unit is static text. */
bool fm_text_quantity(const char *s, size_t n, double *value, const char **unit);

/* Length in bytes (1-4) of the well-formed UTF-8 sequence at s, 0 when ill-formed; *cp = its code
 * point. */
unsigned fm_utf8_next(const char *s, size_t n, uint32_t *cp);
/* Writes a code point, 1 to 4 bytes; returns how many. */
size_t fm_utf8_put(char *to, uint32_t cp);
bool fm_utf8_valid(const char *s, size_t n);
/* Code points; ill-formed bytes count one each. */
size_t fm_utf8_count(const char *s, size_t n);
/* Columns on a terminal: wide characters 2, combining 0. */
size_t fm_utf8_width(const char *s, size_t n);

/* Edit distance (insert, delete, replace, swap), at most `limit` + 1. */
unsigned fm_text_distance(const char *a, const char *b, unsigned limit);
/* The nearest of `name[n]` within distance 2, or NULL. */
const char *fm_text_nearest(const char *word, const char *const *name, size_t n);

/* Human forms, written to buf (at least 32 bytes) and returned: "1.2 ms", "3.4 GiB", "1.2 M". */
const char *fm_text_ns(int64_t ns, char buf[32]);
const char *fm_text_bytes(uint64_t bytes, char buf[32]);
const char *fm_text_count(double v, char buf[32]);
/* Thousands separated by commas. */
const char *fm_text_commas(uint64_t v, char buf[32]);

#endif
