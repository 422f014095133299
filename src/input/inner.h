/*
 * inner.h - inside the input floor: struct fm_input.
 *
 * An input is one of
 *
 *     DIR      no bytes, only members
 *     MEMORY   data[0..size), the caller's or a spool's
 *     FILE     fd from `base` on: a plain file, or a spool's temporary file
 *     STREAM   front: a window over the top stage; read once, front to back, or spooled
 *
 * Spooling turns a STREAM into MEMORY or FILE; if its end is damage, that failure stands behind its
 * last byte (`damage`) and readers meet it there.
 */
#ifndef FM_INPUT_INNER_H
#define FM_INPUT_INNER_H

#include "input/window.h"

#define FM_INPUT_HEAD ((size_t)64 << 10)
#define FM_INPUT_LAYERS 8
#define FM_INPUT_FILTERS 64
#define FM_SPOOL_MEMORY ((size_t)32 << 20)

enum fm_input_kind { FM_INPUT_DIR, FM_INPUT_MEMORY, FM_INPUT_FILE, FM_INPUT_STREAM };

struct fm_input {
    struct fm_ctx *ctx;
    enum fm_input_kind kind;
    char *name;
    bool has_path;          /* name is a path */
    int fd;                 /* -1 = none */
    bool borrowed_fd;       /* standard input */
    uint64_t base;
    const unsigned char *data;
    unsigned char *owned;   /* data of a spool */
    size_t owned_cap;
    uint64_t size;          /* MEMORY, FILE */
    uint64_t raw_size;
    struct fm_window front; /* STREAM: what a reader takes; FILE: the head */
    bool taken;             /* STREAM: a reader has it, or had and moved on */
    struct fm_error damage;
    struct fm_diags diags;
    char filters[FM_INPUT_FILTERS];
    char member[FM_INPUT_MEMBER];   /* name of the zip member that is read, "" none (yet) */
    atomic_ullong hash;     /* of the whole, when `hashed` */
    atomic_bool hashed;
    uint64_t head_hash;
    bool head_hashed;
    atomic_uint readers;
    struct fm_tar *tar;     /* of a member opened by its path: the archive, freed with it */
    struct fm_input *whole;
};

/* XXH3 over pieces. */
struct fm_hash;
struct fm_hash *fm_hash_new(struct fm_mem *mem);
void fm_hash_free(struct fm_hash *hash, struct fm_mem *mem);
void fm_hash_add(struct fm_hash *hash, const void *data, size_t n);
uint64_t fm_hash_get(const struct fm_hash *hash);
uint64_t fm_hash_of(const void *data, size_t n);
bool fm_hash_have_avx2(void);
void fm_hash_add_avx2(void *state, const void *data, size_t n);   /* an XXH3_state_t */

/* tracefs.c: "tracefs:NAME", the running kernel's trace buffers as a trace.dat: *data of *cap
 * bytes, *n of them used, is the caller's. */
#define FM_TRACEFS_SCHEME "tracefs:"
enum fm_status fm_tracefs_read(struct fm_ctx *ctx, const char *name, unsigned char **data,
                               size_t *n, size_t *cap, struct fm_error *err);

/* Turns a STREAM that nobody has read into MEMORY or FILE. */
enum fm_status fm_spool(struct fm_input *input, struct fm_error *err);

#endif
