/*
 * cfimake.h - call frame information made by hand, entry by entry, little-endian.
 */
#ifndef FM_TEST_CFIMAKE_H
#define FM_TEST_CFIMAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfimake {
    unsigned char byte[2048];
    size_t n, cie;
    bool debug, wide;            /* .debug_frame; 64 bit */
};

/* The CIE of those that follow: return address column, alignment of code, the program. */
void cfimake_cie(struct cfimake *f, bool signal, unsigned code, unsigned ra, const char *program,
                 size_t n);
void cfimake_fde(struct cfimake *f, uint64_t begin, uint64_t size, const char *program, size_t n);

#endif
