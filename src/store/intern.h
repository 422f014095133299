/*
 * intern.h - chunks of memory that only grow, and the string table on top of them.
 *
 * Chunks never move, so pointers into them stay valid until the owner is released. The first is
 * small, each further one twice as large up to 4 MiB; from 2 MiB on they are mapped with huge
 * pages.
 */
#ifndef FM_STORE_INTERN_H
#define FM_STORE_INTERN_H

#include "store/index.h"

struct fm_chunk {
    unsigned char *p;
    size_t size;
};

struct fm_chunks {
    struct fm_mem *mem;
    struct fm_chunk *chunk;
    size_t n, cap;
    unsigned char *next;        /* free space of the last chunk */
    size_t left;
    size_t bytes;               /* of all chunks */
};

void fm_chunks_init(struct fm_chunks *chunks, struct fm_mem *mem);
void fm_chunks_release(struct fm_chunks *chunks);
/* A place with room for at least n bytes, 8-byte aligned; take part of it by fm_chunks_take(). NULL
 * = no memory. */
void *fm_chunks_room(struct fm_chunks *chunks, size_t n) FM_MUST_USE;
void fm_chunks_take(struct fm_chunks *chunks, size_t n);
/* Moves all chunks of `from` to `to`, which goes on filling its own last one. */
bool fm_chunks_absorb(struct fm_chunks *to, struct fm_chunks *from) FM_MUST_USE;

/* Strings: id 0 is "". Texts are NUL-terminated and may hold any byte. */
struct fm_string {
    const char *p;
    uint32_t n;
    uint32_t hash;
};

struct fm_strings {
    struct fm_mem *mem;
    struct fm_string *item;
    size_t n, cap;
    struct fm_index index;
    struct fm_chunks text;
};

bool fm_strings_init(struct fm_strings *strings, struct fm_mem *mem) FM_MUST_USE;
void fm_strings_release(struct fm_strings *strings);
/* The id, made when new. FM_NONE: no memory, or longer than 4 GiB. */
fm_str fm_strings_add(struct fm_strings *strings, const char *s, size_t n);
/* FM_NONE when absent. */
fm_str fm_strings_find(const struct fm_strings *strings, const char *s, size_t n);
/* A copy with the same ids that borrows the texts of `from`, which must outlive it. */
bool fm_strings_copy(struct fm_strings *to, const struct fm_strings *from) FM_MUST_USE;
size_t fm_strings_memory(const struct fm_strings *strings);

#endif
