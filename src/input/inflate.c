/*
 * inflate.c - the table of decompressors, and fm_inflate: one decompressor fed in pieces.
 *
 * fm_inflate_run() goes on over the ends of members; bytes that begin no member are FM_FORMAT here
 * (a caller that expects garbage behind the last member looks before it calls, as layer.c does).
 */
#include "input/inflate.h"

#ifdef FM_WITH_ISAL
#define GZIP fm_codec_gzip_isal
#else
#define GZIP fm_codec_gzip
#endif

static const struct fm_codec *const codec_table[] = {
    &GZIP, &fm_codec_zstd, &fm_codec_xz, &fm_codec_lz4, &fm_codec_bzip2,
    &fm_codec_utf16,
};

const struct fm_codec *fm_codec_detect(const unsigned char *p, size_t n, bool whole)
{
    for (size_t i = 0; i < FM_COUNT(codec_table); i++) {
        if (codec_table[i]->match(p, n, whole))
            return codec_table[i];
    }
    return NULL;
}

const struct fm_codec *fm_codec_find(const char *name)
{
    for (size_t i = 0; i < FM_COUNT(codec_table); i++) {
        if (strcmp(codec_table[i]->name, name) == 0)
            return codec_table[i];
    }
    return NULL;
}

/* Blocks: 16 bytes with the size of the whole, then what the library asked for. */
#define BLOCK_HEAD 16

void *fm_inflate_alloc(struct fm_mem *mem, size_t n, size_t size)
{
    size_t total;
    if (!fm_mul_size(n, size, &total) || !fm_add_size(total, BLOCK_HEAD, &total))
        return NULL;
    unsigned char *p = fm_mem_alloc(mem, total);
    if (p == NULL)
        return NULL;
    memcpy(p, &total, sizeof total);
    return p + BLOCK_HEAD;
}

void fm_inflate_dealloc(struct fm_mem *mem, void *p)
{
    if (p == NULL)
        return;
    unsigned char *block = (unsigned char *)p - BLOCK_HEAD;
    size_t total;
    memcpy(&total, block, sizeof total);
    fm_mem_free(mem, block, total);
}

enum fm_status fm_inflate_open(struct fm_ctx *ctx, const struct fm_codec *codec,
                               struct fm_inflate **inflate, struct fm_error *err)
{
    *inflate = NULL;
    if (codec->open == NULL)
        return fm_error_set(err, FM_UNSUPPORTED, "%s data: this foldmill was built without %s",
                            codec->name, codec->name);
    struct fm_inflate *z = fm_mem_zalloc(&ctx->mem, sizeof *z);
    if (z == NULL)
        return fm_error_nomem(err);
    z->state = codec->open(&ctx->mem);
    if (z->state == NULL) {
        fm_mem_free(&ctx->mem, z, sizeof *z);
        return fm_error_nomem(err);
    }
    z->ctx = ctx;
    z->codec = codec;
    z->between = false;
    *inflate = z;
    return FM_OK;
}

enum fm_status fm_inflate_new(struct fm_ctx *ctx, const char *kind, struct fm_inflate **inflate,
                              struct fm_error *err)
{
    const struct fm_codec *codec =
        strcmp(kind, "deflate") == 0 ? &fm_codec_deflate : fm_codec_find(kind);
    *inflate = NULL;
    if (codec == NULL)
        return fm_error_set(err, FM_UNSUPPORTED, "compression '%s' is not known", kind);
    return fm_inflate_open(ctx, codec, inflate, err);
}

void fm_inflate_free(struct fm_inflate *inflate)
{
    if (inflate == NULL)
        return;
    inflate->codec->close(inflate->state);
    fm_mem_free(&inflate->ctx->mem, inflate, sizeof *inflate);
}

enum fm_status fm_inflate_step(struct fm_inflate *inflate, const unsigned char **in,
                               size_t *in_left, unsigned char *out, size_t cap, size_t *produced,
                               struct fm_error *err)
{
    const char *name = inflate->codec->name, *why = "broken data";
    const unsigned char *start = *in;
    *produced = 0;
    fm_assert(cap > 0);
    if (inflate->dead)
        return fm_error_set(err, FM_FORMAT, "%s: broken before", name);
    if (inflate->between) {
        if (*in_left == 0)
            return FM_OK;
        if (!inflate->codec->restart(inflate->state)) {
            inflate->dead = true;
            return fm_error_nomem(err);
        }
        inflate->between = false;
        inflate->fed = false;
    }
    enum fm_codec_result r =
        inflate->codec->run(inflate->state, in, in_left, out, cap, produced, &why);
    fm_assert(*produced <= cap && *in >= start);
    inflate->fed |= *in != start;
    switch (r) {
    case FM_CODEC_MORE:
        if (*produced > 0 || *in != start || *in_left == 0)
            return FM_OK;
        why = "the decoder makes no progress";
        break;
    case FM_CODEC_END:
        inflate->between = true;
        return FM_OK;
    case FM_CODEC_NOMEM:
        inflate->dead = true;
        return fm_error_nomem(err);
    case FM_CODEC_UNSUPPORTED:
        inflate->dead = true;
        return fm_error_set(err, FM_UNSUPPORTED, "%s: %s", name, why);
    case FM_CODEC_BAD:
        break;
    }
    inflate->dead = true;
    return fm_error_set(err, FM_FORMAT, "broken %s data: %s", name, why);
}

enum fm_status fm_inflate_run(struct fm_inflate *inflate, const unsigned char **in,
                              size_t *in_left, unsigned char *out, size_t cap, size_t *produced,
                              struct fm_error *err)
{
    *produced = 0;
    while (*produced < cap) {
        size_t got, before = *in_left;
        enum fm_status status =
            fm_inflate_step(inflate, in, in_left, out + *produced, cap - *produced, &got, err);
        *produced += got;
        if (status != FM_OK)
            return status;
        if (got == 0 && *in_left == before)
            break;
    }
    return FM_OK;
}
