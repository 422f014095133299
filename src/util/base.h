/*
 * base.h - what every file of the library may rely on: attributes, checked arithmetic, assertions.
 *
 * Sums and products of numbers that come from an input go through fm_add_* / fm_mul_* only.
 */
#ifndef FM_UTIL_BASE_H
#define FM_UTIL_BASE_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "foldmill.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#define FM_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FM_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define FM_MUST_USE __attribute__((warn_unused_result))
#define FM_UNUSED __attribute__((unused))
#define FM_LIKELY(x) __builtin_expect(!!(x), 1)
#define FM_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define FM_MIN(a, b) ((a) < (b) ? (a) : (b))
#define FM_MAX(a, b) ((a) > (b) ? (a) : (b))

/* For our own invariants, never for a property of the input. */
#define fm_assert(cond) assert(cond)

typedef unsigned __int128 fm_u128;

/* *out = a op b; false (and *out unspecified) on overflow. */
static inline FM_MUST_USE bool fm_add_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static inline FM_MUST_USE bool fm_mul_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline FM_MUST_USE bool fm_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static inline FM_MUST_USE bool fm_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline FM_MUST_USE bool fm_add_i64(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/* a * b with saturation: for counters, where a wrong figure is worse than a full one. */
static inline uint64_t fm_mul_sat_u64(uint64_t a, uint64_t b)
{
    uint64_t r;
    return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

static inline uint64_t fm_add_sat_u64(uint64_t a, uint64_t b)
{
    uint64_t r;
    return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}

/* Mixes one word into a hash; xxh3-quality is not needed for our tables, speed is. */
static inline uint64_t fm_mix(uint64_t h, uint64_t v)
{
    h ^= v;
    h *= 0x9e3779b97f4a7c15u;
    return h ^ (h >> 32);
}

static inline uint64_t fm_f64_bits(double d)
{
    uint64_t u;
    memcpy(&u, &d, sizeof u);
    return u;
}

static inline double fm_bits_f64(uint64_t u)
{
    double d;
    memcpy(&d, &u, sizeof d);
    return d;
}

#endif
