/*
 * demangle.h - names as people wrote them: C++ (Itanium), Rust (legacy and v0), D, OCaml.
 */
#ifndef FM_SYMBOL_DEMANGLE_H
#define FM_SYMBOL_DEMANGLE_H

#include "symbol/symbol.h"
#include "util/out.h"

/* Appends the readable form of a mangled name to `out` (a memory writer). False, and nothing is
 * appended, when the name is not mangled, does not demangle within the limits, or style is RAW. A
 * suffix from '@' on (`@plt`, `@@GLIBC_2.34`) is kept as it is. `name` is not terminated. */
bool fm_demangle(struct fm_out *out, const char *name, size_t n, enum fm_demangle style);

#endif
