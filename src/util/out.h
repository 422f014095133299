/*
 * out.h - buffered writer with a sticky error: write freely, ask once at the end.
 *
 * After the first failure every call does nothing; fm_out_finish() flushes and reports it. Numbers
 * are written without locale. Escaping: JSON strings, XML text and attributes, CSV fields. Bytes
 * that are not UTF-8 become U+FFFD in JSON and XML; control bytes that XML 1.0 forbids as well.
 */
#ifndef FM_UTIL_OUT_H
#define FM_UTIL_OUT_H

#include "util/mem.h"

struct fm_out {
    struct fm_mem *mem;
    const struct fm_sink *sink;  /* NULL: a memory writer, everything stays in buf */
    char *buf;
    size_t n, cap;
    uint64_t written;            /* bytes given to the sink so far */
    enum fm_status status;
    int sys_errno;
};

/* A writer to a sink, or with sink == NULL to memory. The buffer is 64 KiB for sinks. */
enum fm_status fm_out_init(struct fm_out *out, struct fm_mem *mem, const struct fm_sink *sink);
void fm_out_release(struct fm_out *out);
/* Flushes; the first failure of all calls so far. */
enum fm_status fm_out_finish(struct fm_out *out, struct fm_error *err);

void fm_out_bytes(struct fm_out *out, const void *data, size_t n);
void fm_out_text(struct fm_out *out, const char *s);
void fm_out_char(struct fm_out *out, char c);
void fm_out_pad(struct fm_out *out, char c, size_t n);
void fm_out_printf(struct fm_out *out, const char *fmt, ...) FM_PRINTF(2, 3);
void fm_out_u64(struct fm_out *out, uint64_t v);
void fm_out_i64(struct fm_out *out, int64_t v);
void fm_out_u128(struct fm_out *out, fm_u128 v);
void fm_out_hex(struct fm_out *out, uint64_t v);              /* lower case, no 0x */
/* Shortest decimal that reads back as v ("1", "0.5", "1e+30"); nan and infinities as "null". */
void fm_out_f64(struct fm_out *out, double v);
void fm_out_fixed(struct fm_out *out, double v, unsigned digits);

void fm_out_json(struct fm_out *out, const char *s, size_t n); /* with the quotes */
void fm_out_xml(struct fm_out *out, const char *s, size_t n);  /* safe in text and attributes */
void fm_out_csv(struct fm_out *out, const char *s, size_t n);  /* quoted when it must be */
/* Tab, line feed, carriage return and backslash as \t \n \r \\. */
void fm_out_tsv(struct fm_out *out, const char *s, size_t n);

#endif
