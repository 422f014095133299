/*
 * test_inflate.c - gzip by zlib and by ISA-L: whole, in any pieces, many members, cut, broken. What
 * one gives the other gives.
 */
#include "config.h"

#include "input_help.h"

#include "input/inflate.h"

#include <stdlib.h>
#define ZLIB_CONST
#include <zlib.h>

static const struct fm_codec *const codecs[] = {
    &fm_codec_gzip,
#ifdef FM_WITH_ISAL
    &fm_codec_gzip_isal,
#endif
};

struct result {
    enum fm_status status;
    bool whole;                    /* ended between members */
    size_t n, used;
    unsigned char *data;
    char message[256];
};

/* Feeds `in` bytes and takes `out` bytes a call. */
static struct result run(const struct fm_codec *codec, const unsigned char *z, size_t zn, size_t in,
                         size_t out)
{
    struct fm_inflate *inflate;
    struct fm_error err = { 0 };
    struct result r = { FM_OK, false, 0, 0, malloc(3 * SAMPLE), "" };
    const unsigned char *p = z;
    ck_assert_int_eq(fm_inflate_open(ctx, codec, &inflate, &err), FM_OK);
    for (;;) {
        size_t left = FM_MIN(in, zn - (size_t)(p - z)), got;
        const unsigned char *was = p;
        ck_assert_uint_le(r.n + out, 3 * SAMPLE);
        r.status = fm_inflate_step(inflate, &p, &left, r.data + r.n, out, &got, &err);
        r.n += got;
        if (r.status != FM_OK || (got == 0 && p == was && left == 0 && p == z + zn))
            break;
        ck_assert(got > 0 || p > was || inflate->between);
    }
    r.whole = inflate->between;
    r.used = (size_t)(p - z);
    memcpy(r.message, err.message, sizeof r.message - 1);
    fm_inflate_free(inflate);
    return r;
}

static const size_t pieces[][2] = { { 1 << 20, SAMPLE }, { 1, 4096 }, { 4096, 7 }, { 13, 100 },
                                    { 65536, 65536 } };

/* One member, then three, the second of them empty. */
START_TEST(test_whole)
{
    const struct fm_codec *codec = codecs[_i];
    size_t n, none;
    unsigned char *z = test_pack("gzip", sample, SAMPLE, &n), *e = test_pack("gzip", "", 0, &none);
    unsigned char *two = join(z, n, e, none), *three = join(two, n + none, z, n);
    for (size_t i = 0; i < FM_COUNT(pieces); i++) {
        struct result r = run(codec, z, n, pieces[i][0], FM_MIN(pieces[i][1], SAMPLE));
        ck_assert_int_eq(r.status, FM_OK);
        ck_assert(r.whole && r.n == SAMPLE && r.used == n);
        ck_assert_int_eq(memcmp(r.data, sample, SAMPLE), 0);
        free(r.data);
        r = run(codec, three, 2 * n + none, pieces[i][0], FM_MIN(pieces[i][1], SAMPLE));
        ck_assert_int_eq(r.status, FM_OK);
        ck_assert(r.whole && r.n == 2 * SAMPLE && r.used == 2 * n + none);
        ck_assert_int_eq(memcmp(r.data + SAMPLE, sample, SAMPLE), 0);
        free(r.data);
    }
    free(z);
    free(e);
    free(two);
    free(three);
}
END_TEST

/* Headers with optional fields: extra, name, comment, CRC of the header; in pieces of any size. */
START_TEST(test_header)
{
    static const unsigned char head[] = "\x1f\x8b\x08\x1e\0\0\0\0\0\3\4\0abcdname\0comment";
    static const unsigned char short_head[] = "\x1f\x8b\x08\x04\0\0\0\0\0\3\0";
    size_t n, at = sizeof head;
    unsigned char *z = test_pack("gzip", sample, SAMPLE, &n), full[sizeof head + 2];
    unsigned crc = (unsigned)crc32(0, head, (unsigned)at);
    memcpy(full, head, at);
    full[at] = (unsigned char)crc;
    full[at + 1] = (unsigned char)(crc >> 8);
    unsigned char *all = join(full, sizeof full, z + 10, n - 10);
    for (size_t piece = 1; piece < 45; piece++) {
        struct result r = run(codecs[_i], all, sizeof full + n - 10, piece, 100000);
        ck_assert_msg(r.status == FM_OK, "%s, after %zu bytes", r.message, r.n);
        ck_assert(r.whole && r.n == SAMPLE);
        ck_assert_int_eq(memcmp(r.data, sample, SAMPLE), 0);
        free(r.data);
    }
    all[at] ^= 1;
    struct result r = run(codecs[_i], all, sizeof full + n - 10, 100, 100000);
    ck_assert_int_eq(r.status, FM_FORMAT);
    ck_assert_ptr_nonnull(strstr(r.message, "header crc mismatch"));
    free(r.data);
    free(all);
    all = join(short_head, sizeof short_head, z + 10, n - 10);   /* an extra field of no bytes */
    r = run(codecs[_i], all, sizeof short_head + n - 10, 3, 100000);
    ck_assert(r.status == FM_OK && r.whole && r.n == SAMPLE);
    free(r.data);
    free(all);
    free(z);
}
END_TEST

/* All but a symbol or two that are not whole. */
START_TEST(test_cut)
{
    size_t n;
    unsigned char *z = test_pack("gzip", sample, SAMPLE, &n);
    for (size_t cut = 0; cut < n; cut += cut < 40 || cut + 40 > n ? 1 : n / 50) {
        struct result a = run(codecs[0], z, cut, 1000, 5000);
        struct result r = run(codecs[_i], z, cut, 333, 4000);
        ck_assert_int_eq(r.status, FM_OK);
        ck_assert(!r.whole && r.used == cut);
        ck_assert(r.n <= a.n && a.n - r.n <= 2 * 258);
        ck_assert_int_eq(memcmp(r.data, sample, r.n), 0);
        free(a.data);
        free(r.data);
    }
    free(z);
}
END_TEST

/* Checksum and length at the end: all bytes come, then the failure. */
START_TEST(test_trailer)
{
    size_t n;
    unsigned char *z = test_pack("gzip", sample, SAMPLE, &n);
    for (size_t at = n - 8; at < n; at++) {
        z[at] ^= 0x40;
        struct result r = run(codecs[_i], z, n, 4096, 4096);
        ck_assert_int_eq(r.status, FM_FORMAT);
        ck_assert_uint_eq(r.n, SAMPLE);
        ck_assert_ptr_nonnull(strstr(r.message, "check"));
        free(r.data);
        z[at] ^= 0x40;
    }
    free(z);
}
END_TEST

/* Single bits anywhere: both fail, and one's bytes begin the other's. */
START_TEST(test_broken)
{
    size_t n;
    unsigned char *z = test_pack("gzip", sample, SAMPLE, &n);
    for (size_t at = 10; at + 8 < n; at += n / 400 + 1) {
        z[at] ^= (unsigned char)(1u << at % 8);
        struct result a = run(codecs[0], z, n, 1000, 5000), r = run(codecs[_i], z, n, 777, 3000);
        ck_assert_int_eq(a.status == FM_OK && a.whole, r.status == FM_OK && r.whole);
        ck_assert_int_eq(memcmp(a.data, r.data, FM_MIN(a.n, r.n)), 0);
        free(a.data);
        free(r.data);
        z[at] ^= (unsigned char)(1u << at % 8);
    }
    free(z);
}
END_TEST

int main(void)
{
    const int n = (int)FM_COUNT(codecs);
    Suite *s = suite_create("inflate");
    TCase *t = tcase_create("gzip");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_whole, 0, n);
    tcase_add_loop_test(t, test_header, 0, n);
    tcase_add_loop_test(t, test_cut, 0, n);
    tcase_add_loop_test(t, test_trailer, 0, n);
    tcase_add_loop_test(t, test_broken, 0, n);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
