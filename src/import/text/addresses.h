/*
 * addresses.h - names of address ranges, from a file that the user has: `ADDRESS SIZE NAME` lines,
 * for recordings that tell addresses alone.
 */
#ifndef FM_IMPORT_TEXT_ADDRESSES_H
#define FM_IMPORT_TEXT_ADDRESSES_H

#include "input/input.h"

struct fm_addresses;

/* FM_CONFIG: a line is wrong, and err says which. */
enum fm_status fm_addresses_load(struct fm_ctx *ctx, const char *path,
                                 struct fm_addresses **addresses, struct fm_error *err);
void fm_addresses_free(struct fm_addresses *addresses);
/* The range that holds the address: its name (as long as `addresses`) and start. As
 * fm_binding_named_fn. */
bool fm_addresses_find(const void *addresses, uint64_t address, const char **name, size_t *n,
                       uint64_t *start);

#endif
