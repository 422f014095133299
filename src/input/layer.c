/*
 * layer.c - a decompressor as a stage over the window below it.
 *
 *     member [padding] member ... [garbage]
 *
 * What follows a complete member: another one is decoded on; padding is skipped; anything else is
 * garbage, which gzip(1) ignores with a warning and we count as the finding TRAILING: it ends the
 * data but does not fail it. A member that is broken or cut is a failure behind everything that
 * could be decoded, with the offset of the compressed byte where it happened.
 */
#include "input/inflate.h"
#include "input/zip.h"

#include <inttypes.h>
#include <stdio.h>

struct layer {
    struct fm_stage stage;
    struct fm_layer_env env;
    struct fm_inflate *z;
    struct fm_window below;
    struct fm_unpacked out; /* bytes given */
    uint64_t member;     /* where the open member begins */
    uint64_t members;    /* complete ones */
    bool done;
};

static enum fm_status layer_fail(struct layer *l, enum fm_status status, uint64_t out,
                                 const char *why, struct fm_error *err)
{
    l->done = true;
    fm_diag_add(l->env.diags, FM_DIAG_INFLATE, l->below.offset, 1);
    return fm_error_at(err, status, l->env.name, l->below.offset,
                       "%s (the %s data that begins at byte %" PRIu64 "; %" PRIu64
                       " bytes were unpacked)",
                       why, l->z->codec->name, l->member, out);
}

/* The bytes below ended, or cannot be read, within a member. */
static enum fm_status layer_cut(struct layer *l, enum fm_status below, struct fm_error *err)
{
    char why[64];
    if (below != FM_OK) {
        /* The layer below has said what happened and counted it. */
        l->done = true;
        if (l->below.error.status == FM_OK)
            return fm_error_nomem(err);
        if (err != NULL)
            *err = l->below.error;
        return below;
    }
    snprintf(why, sizeof why, "%s data is cut", l->z->codec->name);
    return layer_fail(l, FM_TRUNCATED, l->out.n, why, err);
}

/* Between members: true when another one begins; false = the end, or a failure in *status. */
static bool next_member(struct layer *l, enum fm_status *status, struct fm_error *err)
{
    const unsigned char *p;
    size_t n;
    unsigned padding = l->z->codec->padding;
    uint64_t zeros = 0;
    for (;;) {
        *status = fm_window_peek(&l->below, FM_INFLATE_MAGIC, &p, &n, err);
        if (n == 0)
            return false;
        size_t i = 0;
        while (padding > 0 && i < n && p[i] == 0)
            i++;
        zeros += i;
        fm_window_consume(&l->below, i);
        if (i < n && i > 0)
            continue; /* see the whole of what follows */
        if (i == n)
            continue;
        const struct fm_codec *codec = fm_codec_detect(p, n, n < FM_INFLATE_MAGIC);
        if (codec == l->z->codec && (padding == 0 || zeros % padding == 0)) {
            *status = FM_OK;
            if (err != NULL)
                fm_error_clear(err);
            l->member = l->below.offset;
            return true;
        }
        if (*status == FM_OK)
            fm_diag_add(l->env.diags, FM_DIAG_TRAILING, l->below.offset, 1);
        return false;
    }
}

/* One step of decoding; false when there is nothing more to come. */
static bool layer_step(struct layer *l, unsigned char *buf, size_t cap, size_t *got,
                       enum fm_status *status, struct fm_error *err)
{
    const unsigned char *p;
    size_t n;
    struct fm_error broken = { 0 };
    if (l->z->between && !next_member(l, status, err)) {
        l->done = true;
        return false;
    }
    enum fm_status below = fm_window_peek(&l->below, 1, &p, &n, NULL);
    size_t left = n;
    *status = fm_inflate_step(l->z, &p, &left, buf, cap, got, &broken);
    if (*status == FM_NOMEM) {
        l->done = true;
        fm_error_nomem(err);
        return false;
    }
    fm_window_consume(&l->below, n - left);
    if (*status != FM_OK) {
        *status = layer_fail(l, *status, l->out.n + *got, broken.message, err);
        return false;
    }
    if (n == 0 && *got == 0 && !l->z->between) {
        *status = layer_cut(l, below, err);
        return false;
    }
    return true;
}

enum fm_status fm_unpacked_fail(const struct fm_unpacked *u, const struct fm_layer_env *env,
                                const char *kind, uint64_t offset, struct fm_error *err)
{
    fm_diag_add(env->diags, FM_DIAG_INFLATE_LIMIT, offset, 1);
    return fm_error_at(err, FM_LIMIT, env->name, offset,
                       "%s data unpacks to more than the limit of %" PRIu64 " bytes", kind,
                       u->limit);
}

static enum fm_status layer_read(struct fm_stage *stage, unsigned char *buf, size_t cap,
                                 size_t *got, struct fm_error *err)
{
    struct layer *l = (struct layer *)stage;
    enum fm_status status = FM_OK;
    *got = 0;
    while (*got < cap && !l->done) {
        size_t room = fm_unpacked_room(&l->out, cap - *got), n = 0;
        bool more = layer_step(l, buf + *got, room, &n, &status, err);
        bool fits = fm_unpacked_add(&l->out, &n);
        *got += n;
        if (!fits) {
            l->done = true;
            if (err != NULL)
                fm_error_clear(err);
            return fm_unpacked_fail(&l->out, &l->env, l->z->codec->name, l->below.offset, err);
        }
        if (!more)
            break;
    }
    return status;
}

static uint64_t layer_left(struct fm_stage *stage)
{
    struct layer *l = (struct layer *)stage;
    return l->done ? 0 : UINT64_MAX;
}

static uint64_t layer_raw(struct fm_stage *stage)
{
    return fm_window_raw(&((struct layer *)stage)->below);
}

static void layer_free(struct fm_stage *stage)
{
    struct layer *l = (struct layer *)stage;
    fm_inflate_free(l->z);
    fm_window_release(&l->below);
    fm_mem_free(&l->env.ctx->mem, l, sizeof *l);
}

/* What the window starts with; failures of the bytes themselves wait for the reader. A skippable
 * frame is looked past, as far as the window goes. */
static enum fm_status detect(struct fm_window *below, const struct fm_codec **codec, bool *zip,
                             struct fm_error *err)
{
    const unsigned char *p;
    size_t n, need = FM_INFLATE_MAGIC;
    *codec = NULL;
    *zip = false;
    if (fm_window_peek(below, need, &p, &n, NULL) == FM_NOMEM)
        return fm_error_nomem(err);
    if (n >= 4 && memcmp(p, "PK\3\4", 4) == 0) {
        *zip = true;
        return FM_OK;
    }
    if (n >= 8 && (p[0] & 0xf0) == 0x50 && p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18) {
        need = FM_MIN((size_t)p[4] + ((size_t)p[5] << 8) + ((size_t)p[6] << 16) + 12,
                      FM_WINDOW_FIRST);
        if (fm_window_peek(below, need, &p, &n, NULL) == FM_NOMEM)
            return fm_error_nomem(err);
    }
    *codec = fm_codec_detect(p, n, n < need);
    return FM_OK;
}

enum fm_status fm_layer_open(const struct fm_layer_env *env, struct fm_window *below,
                             struct fm_stage **stage, const char **kind, struct fm_error *err)
{
    struct fm_mem *mem = &env->ctx->mem;
    *stage = NULL;
    const struct fm_codec *codec;
    bool zip;
    enum fm_status status = detect(below, &codec, &zip, err);
    if (status == FM_OK && zip) {
        *kind = "zip";
        return fm_zip_open(env, below, stage, err);
    }
    if (status != FM_OK || codec == NULL)
        return status;
    struct layer *l = fm_mem_zalloc(mem, sizeof *l);
    if (l == NULL)
        return fm_error_nomem(err);
    struct fm_error why = { 0 };
    status = fm_inflate_open(env->ctx, codec, &l->z, &why);
    if (status != FM_OK) {
        fm_mem_free(mem, l, sizeof *l);
        return fm_error_at(err, status, env->name, FM_NO_OFFSET, "%s", why.message);
    }
    uint64_t cap = env->ctx->cap[FM_CAP_INFLATED];
    l->stage.read = layer_read;
    l->stage.left = layer_left;
    l->stage.raw = layer_raw;
    l->stage.free = layer_free;
    l->env = *env;
    l->out.limit = cap != 0 ? cap : UINT64_MAX;
    l->below = *below;
    memset(below, 0, sizeof *below);
    *stage = &l->stage;
    *kind = codec->name;
    return FM_OK;
}
