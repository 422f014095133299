/*
 * sha256.h - the hash SHA-256 (FIPS 180-4), and bytes as base64 (RFC 4648): what a content-security
 * policy names a script by.
 */
#ifndef FM_UTIL_SHA256_H
#define FM_UTIL_SHA256_H

#include "util/base.h"

#define FM_SHA256_BYTES 32
#define FM_SHA256_BASE64 45 /* the hash as base64, with the NUL */

void fm_sha256(const void *data, size_t n, uint8_t hash[FM_SHA256_BYTES]);
/* Writes 4 * ((n + 2) / 3) characters and a NUL. */
void fm_base64(const void *data, size_t n, char *text);

#endif
