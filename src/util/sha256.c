/*
 * sha256.c - SHA-256 as FIPS 180-4 defines it: 64-byte blocks, each 64 rounds over eight words of
 * state.
 *
 *     message | 80 | 00 ... | length in bits, big endian, 8 bytes      a whole number of blocks
 *
 * The constants are the first 32 bits of the fraction of the cube roots of the first 64 primes; the
 * first state those of the square roots of the first eight.
 */
#include "util/sha256.h"

#define BLOCK 64

static const uint32_t constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t v, unsigned by)
{
    return v >> by | v << (32 - by);
}

static void add_block(uint32_t state[8], const uint8_t *p)
{
    uint32_t w[64], s[8];
    unsigned i;
    for (i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
               (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] +
               (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    memcpy(s, state, sizeof s);
    for (i = 0; i < 64; i++) {
        uint32_t one = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) +
                       ((s[4] & s[5]) ^ (~s[4] & s[6])) + constant[i] + w[i];
        uint32_t two = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) +
                       ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (i = 0; i < 8; i++)
        state[i] += s[i];
}

void fm_sha256(const void *data, size_t n, uint8_t hash[FM_SHA256_BYTES])
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const uint8_t *p = data;
    uint8_t last[2 * BLOCK] = {0};
    size_t left = n, i, blocks;
    for (; left >= BLOCK; left -= BLOCK, p += BLOCK)
        add_block(state, p);
    if (left > 0)
        memcpy(last, p, left);
    last[left] = 0x80;
    blocks = left + 9 > BLOCK ? 2 : 1;
    for (i = 0; i < 8; i++)
        last[blocks * BLOCK - 1 - i] = (uint8_t)((uint64_t)n << 3 >> (8 * i));
    for (i = 0; i < blocks; i++)
        add_block(state, last + i * BLOCK);
    for (i = 0; i < FM_SHA256_BYTES; i++)
        hash[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

void fm_base64(const void *data, size_t n, char *text)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *p = data;
    size_t i;
    for (i = 0; i < n; i += 3) {
        size_t have = FM_MIN(n - i, (size_t)3);
        uint32_t v = (uint32_t)p[i] << 16;
        v |= have > 1 ? (uint32_t)p[i + 1] << 8 : 0;
        v |= have > 2 ? p[i + 2] : 0u;
        *text++ = digit[v >> 18];
        *text++ = digit[v >> 12 & 63];
        *text++ = have > 1 ? digit[v >> 6 & 63] : '=';
        *text++ = have > 2 ? digit[v & 63] : '=';
    }
    *text = '\0';
}
