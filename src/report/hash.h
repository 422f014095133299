/*
 * hash.h - XXH3 (128 bits) of a sequence of texts: what a kept result depends on.
 *
 * Each part ends with its length, so that no two sequences read alike. The state is heap memory of
 * the caller's struct fm_mem.
 */
#ifndef FM_REPORT_HASH_H
#define FM_REPORT_HASH_H

#include "util/mem.h"

#define FM_REPORT_KEY 33             /* 32 hex digits and a NUL */

struct fm_report_hash;

struct fm_report_hash *fm_report_hash_new(struct fm_mem *mem);
void fm_report_hash_free(struct fm_report_hash *hash, struct fm_mem *mem);
void fm_report_hash_bytes(struct fm_report_hash *hash, const void *data, size_t n);
/* A part: its bytes and their number; NULL is a part of its own kind. */
void fm_report_hash_text(struct fm_report_hash *hash, const char *s);
void fm_report_hash_u64(struct fm_report_hash *hash, uint64_t v);
/* The bytes of a file; *size = how many. false: errno says why. */
bool fm_report_hash_file(struct fm_report_hash *hash, const char *path, uint64_t *size);
void fm_report_hash_get(const struct fm_report_hash *hash, uint64_t digest[2]);
/* As 32 hex digits. */
void fm_report_hash_hex(const uint64_t digest[2], char key[FM_REPORT_KEY]);

/* YAML files of a folder of the data path ("formats", "queries/categories"): names and bytes, in
 * order of the names, the first of each name. false: no memory. */
struct fm_ctx;
bool fm_report_hash_folder(struct fm_report_hash *hash, struct fm_ctx *ctx, const char *kind);

#endif
