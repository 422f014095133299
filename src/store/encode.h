/*
 * encode.h - one block of one column, narrow: up to 2,048 values of 64 bits with validity.
 *
 * An encoded block is position-independent bytes (no pointers), a multiple of 8 long, and the same
 * for the same values on every machine: what memory holds is what a file may hold.
 */
#ifndef FM_STORE_ENCODE_H
#define FM_STORE_ENCODE_H

#include "store/store.h"

#define FM_BLOCK_WORDS (FM_BLOCK_ROWS / 64)

enum fm_encoding {
    FM_ENCODE_CONST, FM_ENCODE_FOR, FM_ENCODE_RUNS, FM_ENCODE_DICT, FM_ENCODE_DELTA, FM_ENCODE_RAW
};

/* No encoded block is longer: header, bitmap, raw values. */
#define FM_ENCODED_MAX (16u + FM_BLOCK_ROWS / 8 + 8u * FM_BLOCK_ROWS + 64u)

/* Working memory of one encoder: reused, one a builder. */
struct fm_encoder {
    uint64_t dense[FM_BLOCK_ROWS];
    uint64_t work[FM_BLOCK_ROWS];
    uint64_t dict[256];
    uint16_t slot[1024];        /* dictionary hash: index + 1 */
    uint16_t end[FM_BLOCK_ROWS];
    uint32_t runs;              /* in work[] and end[]; 0: too many to collect */
};

struct fm_encoded {
    size_t size;                /* bytes; a multiple of 8 */
    uint32_t valid;             /* values */
    uint64_t min, max;          /* in the order of the type; f64: NaNs left out unless all are */
};

/* Encodes value[0 .. rows) where the valid bit is set into out (FM_ENCODED_MAX bytes, 8-byte
 * aligned). At least one value must be valid. Bits at and above `rows` must be 0. */
struct fm_encoded fm_encode(struct fm_encoder *enc, const uint64_t *value, const uint64_t *valid,
                            uint32_t rows, enum fm_type type, unsigned char *out);

/* The same with values that differ stored as they are (RAW): for benchmarks and tests. */
struct fm_encoded fm_encode_plain(struct fm_encoder *enc, const uint64_t *value,
                                  const uint64_t *valid, uint32_t rows, enum fm_type type,
                                  unsigned char *out);

/* Decodes: lanes without a value are 0. Returns rows. *all = every row has a value. */
uint32_t fm_decode(const unsigned char *data, uint64_t out[FM_BLOCK_ROWS],
                   uint64_t valid[FM_BLOCK_WORDS], bool *all);

enum fm_encoding fm_encoded_as(const unsigned char *data);
size_t fm_encoded_size(const unsigned char *data);
/* The values of a full RAW block in place; NULL: it is none, or of another byte order. */
const uint64_t *fm_encoded_raw(const unsigned char *data);
bool fm_encoded_full(const unsigned char *data);   /* every row has a value */

/* A key whose unsigned order is the order of the type. */
static inline uint64_t fm_order_key(enum fm_type type, uint64_t v)
{
    switch (type) {
    case FM_TYPE_I64:
    case FM_TYPE_TIME:
    case FM_TYPE_DUR:
        return v ^ (1ull << 63);
    case FM_TYPE_F64:
        return v >> 63 != 0 ? ~v : v | 1ull << 63;
    default:
        return v;
    }
}

static inline bool fm_order_less(enum fm_type type, uint64_t a, uint64_t b)
{
    return fm_order_key(type, a) < fm_order_key(type, b);
}

/* True when f64 bits are a NaN. */
static inline bool fm_bits_nan(uint64_t v)
{
    return (v & ~(1ull << 63)) > 0x7ff0000000000000u;
}

/* Widens [*min, *max] by [lo, hi]; `first`: it was empty. NaNs only count among themselves. */
static inline void fm_range_add(enum fm_type type, bool first, uint64_t *min, uint64_t *max,
                                uint64_t lo, uint64_t hi)
{
    if (first || (type == FM_TYPE_F64 && fm_bits_nan(*min))) {
        *min = lo;
        *max = hi;
        return;
    }
    if (type == FM_TYPE_F64 && fm_bits_nan(lo))
        return;
    if (fm_order_less(type, lo, *min))
        *min = lo;
    if (fm_order_less(type, *max, hi))
        *max = hi;
}

#endif
