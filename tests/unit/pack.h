/*
 * pack.h - compressing, for tests: the other direction of src/input/inflate_*.c.
 */
#ifndef TESTS_PACK_H
#define TESTS_PACK_H

#include <stdbool.h>
#include <stddef.h>

#define PACK_KINDS 5
extern const char *const test_pack_kind[PACK_KINDS]; /* "gzip", "zstd", "xz", "lz4", "bzip2" */

/* One member of that kind, with checksums, in blocks as small as the kind allows; malloc'ed. NULL
 * when built without. Aborts when the library fails. */
unsigned char *test_pack(const char *kind, const void *data, size_t n, size_t *out);

/* A text of n bytes in lines, the same every time, neither all alike nor noise; malloc'ed. */
unsigned char *test_sample(size_t n);

#endif
