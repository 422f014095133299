/*
 * Block encodings: what goes in comes out, the smallest form is taken, ranges are true in the order
 * of the type.
 */
#include "store/encode.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

static struct fm_encoder enc;
static uint64_t value[FM_BLOCK_ROWS], valid[FM_BLOCK_WORDS];
static uint64_t data[FM_ENCODED_MAX / 8 + 1];

static void all_rows(uint32_t rows)
{
    memset(valid, 0, sizeof valid);
    for (uint32_t i = 0; i < rows; i++)
        valid[i / 64] |= 1ull << i % 64;
}

static bool bit(const uint64_t *bits, uint32_t i)
{
    return (bits[i / 64] >> i % 64) & 1;
}

/* Encodes `rows` rows, decodes them, compares; returns how they were encoded. */
static struct fm_encoded round_trip(uint32_t rows, enum fm_type type)
{
    unsigned char *bytes = (unsigned char *)data;
    uint64_t out[FM_BLOCK_ROWS], bits[FM_BLOCK_WORDS];
    struct fm_encoded e;
    uint32_t n = 0, wrong = 0;
    bool all;

    memset(data, 0xa5, sizeof data);
    e = fm_encode(&enc, value, valid, rows, type, bytes);
    ck_assert_uint_le(e.size, FM_ENCODED_MAX);
    ck_assert_uint_eq(e.size % 8, 0);
    ck_assert_uint_eq(fm_encoded_size(bytes), e.size);
    memset(out, 0xcc, sizeof out);
    ck_assert_uint_eq(fm_decode(bytes, out, bits, &all), rows);
    for (uint32_t i = 0; i < rows; i++) {
        wrong += bit(bits, i) != bit(valid, i) || out[i] != (bit(valid, i) ? value[i] : 0);
        n += bit(valid, i);
    }
    for (uint32_t i = rows; i < FM_BLOCK_ROWS; i++)
        wrong += bit(bits, i);
    ck_assert_uint_eq(wrong, 0);
    ck_assert_uint_eq(e.valid, n);
    ck_assert_int_eq(all, n == rows);
    return e;
}

static enum fm_encoding form(void)
{
    return fm_encoded_as((const unsigned char *)data);
}

static uint64_t seed = 88172645463325252u;

static uint64_t rnd(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

START_TEST(one_value_is_constant)
{
    const uint64_t v[] = {0, 1, UINT64_MAX, (uint64_t)INT64_MIN, (uint64_t)INT64_MAX};

    for (size_t k = 0; k < FM_COUNT(v); k++) {
        for (uint32_t rows = 1; rows <= FM_BLOCK_ROWS; rows = rows * 2 + 1) {
            struct fm_encoded e;
            for (uint32_t i = 0; i < rows; i++)
                value[i] = v[k];
            all_rows(rows);
            e = round_trip(rows, FM_TYPE_I64);
            ck_assert_int_eq(form(), FM_ENCODE_CONST);
            ck_assert_uint_eq(e.size, 24);
            ck_assert_uint_eq(e.min, v[k]);
            ck_assert_uint_eq(e.max, v[k]);
        }
    }
}
END_TEST

START_TEST(every_width)
{
    for (unsigned width = 1; width <= 64; width++) {
        uint64_t mask = width < 64 ? (1ull << width) - 1 : UINT64_MAX;
        struct fm_encoded e;
        for (uint32_t rows = 2; rows <= FM_BLOCK_ROWS; rows += 409) {
            uint64_t base = rnd() & ~mask;
            for (uint32_t i = 0; i < rows; i++)
                value[i] = base + (rnd() & mask);
            all_rows(rows);
            round_trip(rows, FM_TYPE_U64);
            for (uint32_t i = 0; i < rows; i++)     /* signed, around 0 */
                value[i] = (rnd() & mask) - (mask >> 1);
            round_trip(rows, FM_TYPE_I64);
        }
        for (uint32_t i = 0; i < FM_BLOCK_ROWS; i++)
            value[i] = rnd() & mask;
        value[0] = mask;
        value[1] = 0;
        all_rows(FM_BLOCK_ROWS);
        e = round_trip(FM_BLOCK_ROWS, FM_TYPE_U64);
        ck_assert_uint_eq(e.min, 0);
        ck_assert_uint_eq(e.max, mask);
        if (width <= 57)
            ck_assert_uint_le(e.size, 16 + 8 + FM_BLOCK_ROWS * width / 8 + 16);
        if (width > 10 && width <= 57)
            ck_assert_int_eq(form(), FM_ENCODE_FOR);
        if (width > 57)
            ck_assert_int_eq(form(), FM_ENCODE_RAW);
    }
}
END_TEST

START_TEST(times_are_deltas)
{
    uint64_t ts = (uint64_t)-1000000;
    struct fm_encoded e;

    all_rows(FM_BLOCK_ROWS);
    for (uint32_t i = 0; i < FM_BLOCK_ROWS; i++)
        value[i] = ts += 41000 + rnd() % 64;
    e = round_trip(FM_BLOCK_ROWS, FM_TYPE_TIME);
    ck_assert_int_eq(form(), FM_ENCODE_DELTA);
    ck_assert_uint_lt(e.size, FM_BLOCK_ROWS);
    ck_assert_int_eq((int64_t)e.min, (int64_t)value[0]);
    ck_assert_int_eq((int64_t)e.max, (int64_t)value[FM_BLOCK_ROWS - 1]);
    ck_assert_int_lt((int64_t)e.min, 0);
    for (uint32_t i = 0; i < FM_BLOCK_ROWS; i++)    /* a ladder needs no bits at all */
        value[i] = 7 + 3 * (uint64_t)i;
    e = round_trip(FM_BLOCK_ROWS, FM_TYPE_TIME);
    ck_assert_uint_eq(e.size, 32);
    value[1000] = 5;                                /* and one step back */
    round_trip(FM_BLOCK_ROWS, FM_TYPE_TIME);
}
END_TEST

START_TEST(runs_and_dictionaries)
{
    struct fm_encoded e;

    all_rows(FM_BLOCK_ROWS);
    for (uint32_t i = 0; i < FM_BLOCK_ROWS; i++)
        value[i] = (i / 300) * 1234567u;
    e = round_trip(FM_BLOCK_ROWS, FM_TYPE_U64);
    ck_assert_int_eq(form(), FM_ENCODE_RUNS);
    ck_assert_uint_lt(e.size, 128);
    for (uint32_t n = 2; n <= 256; n *= 2) {
        uint64_t dict[256];
        for (uint32_t i = 0; i < n; i++)
            dict[i] = rnd();
        for (uint32_t i = 0; i < FM_BLOCK_ROWS; i++)
            value[i] = dict[rnd() % n];
        e = round_trip(FM_BLOCK_ROWS, FM_TYPE_ADDRESS);
        ck_assert_int_eq(form(), FM_ENCODE_DICT);
        ck_assert_uint_le(e.size, 16 + 8 * n + FM_BLOCK_ROWS + 16);
    }
    for (uint32_t i = 0; i < FM_BLOCK_ROWS; i++)    /* 257 values: no dictionary */
        value[i] = (i % 257) * 0x9e3779b97f4a7c15u;
    round_trip(FM_BLOCK_ROWS, FM_TYPE_ADDRESS);
    ck_assert_int_ne(form(), FM_ENCODE_DICT);
}
END_TEST

START_TEST(extremes)
{
    struct fm_encoded e;

    all_rows(4);
    value[0] = 0;
    value[1] = (uint64_t)INT64_MIN;
    value[2] = (uint64_t)INT64_MAX;
    value[3] = UINT64_MAX;
    e = round_trip(4, FM_TYPE_I64);
    ck_assert_int_eq((int64_t)e.min, INT64_MIN);
    ck_assert_int_eq((int64_t)e.max, INT64_MAX);
    e = round_trip(4, FM_TYPE_U64);
    ck_assert_uint_eq(e.min, 0);
    ck_assert_uint_eq(e.max, UINT64_MAX);
}
END_TEST

START_TEST(doubles_are_ordered_as_doubles)
{
    const double v[] = {1.5, -2.5, 0.0, -0.0, 1e300, -1e300, 3.0, 5e-324};
    struct fm_encoded e;

    for (uint32_t i = 0; i < FM_COUNT(v); i++)
        value[i] = fm_f64_bits(v[i]);
    value[FM_COUNT(v)] = fm_f64_bits(NAN);
    value[FM_COUNT(v) + 1] = fm_f64_bits(-NAN);
    all_rows(FM_COUNT(v) + 2);
    e = round_trip(FM_COUNT(v) + 2, FM_TYPE_F64);
    ck_assert_double_eq(fm_bits_f64(e.min), -1e300);
    ck_assert_double_eq(fm_bits_f64(e.max), 1e300);
    value[0] = fm_f64_bits(-INFINITY);
    value[1] = fm_f64_bits(INFINITY);
    e = round_trip(FM_COUNT(v) + 2, FM_TYPE_F64);
    ck_assert(isinf(fm_bits_f64(e.min)) && fm_bits_f64(e.min) < 0);
    ck_assert(isinf(fm_bits_f64(e.max)) && fm_bits_f64(e.max) > 0);
    value[0] = value[1] = fm_f64_bits(NAN);         /* nothing but NaN */
    all_rows(2);
    e = round_trip(2, FM_TYPE_F64);
    ck_assert(fm_bits_nan(e.min) && fm_bits_nan(e.max));
}
END_TEST

START_TEST(ranges_widen)
{
    uint64_t lo = 0, hi = 0, nan = fm_f64_bits(NAN), one = fm_f64_bits(1), two = fm_f64_bits(-2);

    fm_range_add(FM_TYPE_F64, true, &lo, &hi, nan, nan);
    fm_range_add(FM_TYPE_F64, false, &lo, &hi, one, one);   /* NaN gives way */
    fm_range_add(FM_TYPE_F64, false, &lo, &hi, nan, nan);   /* and does not come back */
    fm_range_add(FM_TYPE_F64, false, &lo, &hi, two, two);
    ck_assert_double_eq(fm_bits_f64(lo), -2);
    ck_assert_double_eq(fm_bits_f64(hi), 1);
}
END_TEST

START_TEST(holes)
{
    for (uint32_t rows = 1; rows <= FM_BLOCK_ROWS; rows = rows * 3 / 2 + 1) {
        for (unsigned one_in = 1; one_in < 400; one_in = one_in * 2 + 1) {
            memset(valid, 0, sizeof valid);
            for (uint32_t i = 0; i < rows; i++) {
                value[i] = rnd() >> (rnd() & 31);
                if (rnd() % one_in == 0)
                    valid[i / 64] |= 1ull << i % 64;
            }
            valid[(rows - 1) / 64] |= 1ull << (rows - 1) % 64;
            round_trip(rows, FM_TYPE_U64);
        }
    }
}
END_TEST

START_TEST(sparse_is_small)
{
    struct fm_encoded e;

    memset(valid, 0, sizeof valid);
    valid[31] = 1ull << 63;     /* one row of 2,048, the last */
    value[FM_BLOCK_ROWS - 1] = 42;
    e = round_trip(FM_BLOCK_ROWS, FM_TYPE_U64);
    ck_assert_uint_eq(e.size, 16 + 8 + 8);
}
END_TEST

START_TEST(same_values_same_bytes)
{
    static uint64_t other[FM_ENCODED_MAX / 8 + 1];
    size_t size;

    all_rows(FM_BLOCK_ROWS);
    for (uint32_t i = 0; i < FM_BLOCK_ROWS; i++)
        value[i] = rnd() % 100000;
    size = round_trip(FM_BLOCK_ROWS, FM_TYPE_U64).size;
    memcpy(other, data, size);
    memset(&enc, 0x5a, sizeof enc);     /* what an encoder did before leaves no trace */
    ck_assert_uint_eq(round_trip(FM_BLOCK_ROWS, FM_TYPE_U64).size, size);
    ck_assert_mem_eq(other, data, size);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("store_encode");
    TCase *t = tcase_create("encode");

    tcase_add_test(t, one_value_is_constant);
    tcase_add_test(t, every_width);
    tcase_add_test(t, times_are_deltas);
    tcase_add_test(t, runs_and_dictionaries);
    tcase_add_test(t, extremes);
    tcase_add_test(t, doubles_are_ordered_as_doubles);
    tcase_add_test(t, ranges_widen);
    tcase_add_test(t, holes);
    tcase_add_test(t, sparse_is_small);
    tcase_add_test(t, same_values_same_bytes);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *r = srunner_create(suite());
    int failed;

    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
