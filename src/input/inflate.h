/*
 * inflate.h - inside the input floor: what a decompressor is.
 *
 * A compressed file is a run of members (gzip members, zstd and lz4 frames, xz and bzip2 streams).
 * A codec decodes one member at a time; inflate.c starts the next one, layer.c decides whether what
 * follows a member is another one, padding or garbage.
 *
 * Codecs whose library drops what it has decoded in the very call that fails (zstd, lz4) are fed
 * one block a call, so that all before a fault comes out.
 */
#ifndef FM_INPUT_INFLATE_H
#define FM_INPUT_INFLATE_H

#include "input/input.h"
#include "util/error.h"

#define FM_INFLATE_MAGIC 10 /* bytes that decide whether a member begins */

enum fm_codec_result {
    FM_CODEC_MORE,        /* wants more input or more room */
    FM_CODEC_END,         /* the member is complete */
    FM_CODEC_BAD,         /* broken data: *why */
    FM_CODEC_UNSUPPORTED, /* well formed, *why says what is needed */
    FM_CODEC_NOMEM
};

struct fm_codec {
    const char *name;
    /* Does a member begin at p[0..n)? `whole`: these are all the bytes there are, so a cut magic
     * counts when enough of it is there. */
    bool (*match)(const unsigned char *p, size_t n, bool whole);
    /* A decoder, ready for a first member; NULL = no memory. NULL function: built without. */
    void *(*open)(struct fm_mem *mem);
    void (*close)(void *state);
    /* Makes ready for another member. false = no memory. */
    bool (*restart)(void *state);
    /* Decodes: moves *in, *in_left; *produced bytes into out[0..cap), cap > 0. */
    enum fm_codec_result (*run)(void *state, const unsigned char **in, size_t *in_left,
                                unsigned char *out, size_t cap, size_t *produced,
                                const char **why);
    /* Bytes between members that are padding: a multiple of this many zeros (1: any; 0: none). */
    unsigned padding;
};

extern const struct fm_codec fm_codec_gzip, fm_codec_zstd, fm_codec_xz, fm_codec_lz4,
    fm_codec_bzip2, fm_codec_utf16;
/* The other way to read gzip, in builds with ISA-L: the one that is sought by content then. */
extern const struct fm_codec fm_codec_gzip_isal;
bool fm_gzip_match(const unsigned char *p, size_t n, bool whole);
/* A bare deflate stream (zip members): not sought by content. */
extern const struct fm_codec fm_codec_deflate;

/* The codec whose member begins at p, or NULL. */
const struct fm_codec *fm_codec_detect(const unsigned char *p, size_t n, bool whole);
const struct fm_codec *fm_codec_find(const char *name);

struct fm_inflate {
    struct fm_ctx *ctx;
    const struct fm_codec *codec;
    void *state;
    bool between;         /* no member is open */
    bool dead;            /* failed: stays so */
    bool fed;             /* the open member has taken input */
};

enum fm_status fm_inflate_open(struct fm_ctx *ctx, const struct fm_codec *codec,
                               struct fm_inflate **inflate, struct fm_error *err);
/* One step of fm_inflate_run(): stops at the end of a member (then ->between). */
enum fm_status fm_inflate_step(struct fm_inflate *inflate, const unsigned char **in,
                               size_t *in_left, unsigned char *out, size_t cap, size_t *produced,
                               struct fm_error *err);

/* Unpacked bytes against their limit (UINT64_MAX: none). */
struct fm_unpacked {
    uint64_t n, limit;
};
/* How much of a buffer to fill: one byte more than allowed tells whether there is more. */
static inline size_t fm_unpacked_room(const struct fm_unpacked *u, size_t cap)
{
    return u->limit - u->n < cap ? (size_t)(u->limit - u->n + 1) : cap;
}
/* Counts *n new bytes; false: they pass the limit, *n is what is still allowed. */
static inline bool fm_unpacked_add(struct fm_unpacked *u, size_t *n)
{
    bool fits = *n <= u->limit - u->n;
    if (!fits)
        *n = (size_t)(u->limit - u->n);
    u->n += *n;
    return fits;
}
/* Counts the finding; returns FM_LIMIT. */
struct fm_layer_env;
enum fm_status fm_unpacked_fail(const struct fm_unpacked *u, const struct fm_layer_env *env,
                                const char *kind, uint64_t offset, struct fm_error *err);

/* For the libraries' allocation hooks, which free without a size: blocks carry it in front. NULL on
 * overflow or no memory. */
void *fm_inflate_alloc(struct fm_mem *mem, size_t n, size_t size);
void fm_inflate_dealloc(struct fm_mem *mem, void *p);

#endif
