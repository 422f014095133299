/*
 * zip.c - one member of a zip archive as a stage over the window below it.
 *
 *     PK34 need(2) flags(2) method(2) time(2) date(2) CRC(4) packed(4) size(4) name length(2)
 *          extra length(2) name extra data [descriptor]
 *     descriptor: [PK78] CRC(4) packed(4|8) size(4|8)
 *
 * Which member: of an archive that can be sought the largest file that its directory has, the first
 * of equal ones. A pipe, and an archive whose directory is lost, is walked header by header: the
 * first file that has bytes. What else holds bytes is a finding.
 *
 *     START -> HEADER -> DATA -> CLOSE -+-> DONE            sought: one round
 *                ^  |             |     |
 *                +--+-> SKIP -----+-----+                   walked: until the end record
 *
 * Members are stored or deflated, and checked by CRC and sizes. As for gzip, what is broken or cut
 * fails behind all that could be unpacked, with the offset of the packed byte.
 */
#include "input/inflate.h"
#include "input/zip.h"

#include <inttypes.h>
#include <stdio.h>
#define ZLIB_CONST
#include <zlib.h>

#define HEADER_SIZE 30u
#define STORED 0u
#define DEFLATED 8u

enum state { START, HEADER, DATA, SKIP, CLOSE, DONE };

struct zip {
    struct fm_stage stage;
    struct fm_layer_env env;
    struct fm_window below;
    struct fm_inflate *z;
    struct fm_unpacked out;      /* bytes given, and those of members that were passed over */
    enum state state;
    bool sought;                 /* the directory is known; else headers are walked */
    bool lost;                   /* it should be known, but is broken or missing */
    bool taken;                  /* a member has given bytes */
    uint64_t skip;
    /* the open member: */
    struct fm_zip_member m;
    bool sized;                  /* its sizes and CRC are known */
    bool wanted;
    uint64_t in, got;            /* packed bytes taken, bytes unpacked */
    uLong crc;
};

static enum fm_status damage_at(struct zip *z, uint64_t offset, enum fm_status status,
                                const char *why, struct fm_error *err)
{
    fm_diag_add(z->env.diags, FM_DIAG_INFLATE, offset, 1);
    if (z->state != DATA && z->state != CLOSE)
        return fm_error_at(err, status, z->env.name, offset, "%s", why);
    return fm_error_at(err, status, z->env.name, offset,
                       "%s (the zip member '%.100s' that begins at byte %" PRIu64 "; %" PRIu64
                       " bytes were unpacked)",
                       why, z->m.name, z->m.at, z->got);
}

static enum fm_status damage(struct zip *z, enum fm_status status, const char *why,
                             struct fm_error *err)
{
    return damage_at(z, z->below.offset, status, why, err);
}

/* The bytes below end too early, or cannot be read. */
static enum fm_status cut(struct zip *z, enum fm_status below, struct fm_error *err)
{
    if (below == FM_OK)
        return damage_at(z, z->below.offset + fm_window_have(&z->below), FM_TRUNCATED,
                         "the zip archive is cut", err);
    if (z->below.error.status == FM_OK)
        return fm_error_nomem(err);
    if (err != NULL)
        *err = z->below.error; /* has been counted below */
    return below;
}

static enum fm_status unsupported(struct zip *z, const char *why, struct fm_error *err)
{
    return fm_error_at(err, FM_UNSUPPORTED, z->env.name, z->m.at, "the zip member '%.100s' %s",
                       z->m.name, why);
}

static enum fm_status finish(struct zip *z, struct fm_error *err)
{
    z->state = DONE;
    if (!z->taken)
        return damage(z, FM_FORMAT, "no file in the zip archive holds any bytes", err);
    if (z->lost)
        return damage(z, FM_FORMAT, "the directory of the zip archive is broken", err);
    return FM_OK;
}

/* ------------------------------------------------------------- to a member */

static enum fm_status start(struct zip *z, struct fm_error *err)
{
    struct fm_zip_directory dir;
    struct fm_error why = { 0 };
    const unsigned char *p;
    size_t n;
    z->state = HEADER;
    if (!fm_zip_can_seek(&z->below))
        return FM_OK;
    enum fm_status status = fm_zip_directory(&z->below, &dir, &why);
    if (status != FM_OK && status != FM_FORMAT) {
        if (err != NULL)
            *err = why;
        return status;
    }
    z->lost = status != FM_OK;
    fm_window_seek(&z->below, 0);
    if (z->lost)
        return FM_OK;
    if (dir.files == 0)
        return finish(z, err);
    if (dir.files > 1)
        fm_diag_add(z->env.diags, FM_DIAG_ZIP_MEMBERS, dir.at, dir.files - 1);
    fm_window_seek(&z->below, dir.end);
    if (fm_window_peek(&z->below, 1, &p, &n, NULL) == FM_OK && n > 0)
        fm_diag_add(z->env.diags, FM_DIAG_TRAILING, dir.end, 1);
    z->sought = true;
    z->m = dir.largest;
    fm_window_seek(&z->below, z->m.at);
    return FM_OK;
}

/* Opens the wanted member. */
static enum fm_status open_wanted(struct zip *z, struct fm_error *err)
{
    if (z->m.flags & FM_ZIP_ENCRYPTED)
        return unsupported(z, "is encrypted", err);
    if (z->m.method != STORED && z->m.method != DEFLATED) {
        char why[64];
        snprintf(why, sizeof why, "is packed by method %u: only 0 and 8 are known", z->m.method);
        return unsupported(z, why, err);
    }
    if (z->m.method == STORED && !z->sized)
        return unsupported(z, "is stored without its size: read the archive as a file", err);
    memcpy(z->env.member, z->m.name, sizeof z->m.name);
    z->wanted = true;
    z->state = DATA;
    return FM_OK;
}

/* Goes over a member that is not wanted: a folder, an empty file, or one behind the wanted. */
static enum fm_status pass_over(struct zip *z, struct fm_error *err)
{
    z->wanted = false;
    if (z->sized) {
        if (z->taken && !z->m.folder && z->m.size > 0)
            fm_diag_add(z->env.diags, FM_DIAG_ZIP_MEMBERS, z->m.at, 1);
        z->skip = z->m.packed;
        z->state = SKIP;
    } else if (z->m.method == DEFLATED && !(z->m.flags & FM_ZIP_ENCRYPTED)) {
        z->state = DATA;
    } else if (z->m.folder && z->m.method == STORED) {
        z->state = CLOSE;
    } else {
        /* Nobody can tell where it ends; only what is behind a member comes here. */
        fm_diag_add(z->env.diags, FM_DIAG_ZIP_MEMBERS, z->m.at, 1);
        return finish(z, err);
    }
    return FM_OK;
}

/* A local header stands at the window's front. */
static enum fm_status member_begin(struct zip *z, struct fm_error *err)
{
    const unsigned char *p;
    size_t n, name, extra;
    struct fm_cursor c;
    struct fm_zip_member m;
    enum fm_status below = fm_window_peek(&z->below, HEADER_SIZE, &p, &n, NULL);
    if (n < HEADER_SIZE)
        return cut(z, below, err);
    memset(&m, 0, sizeof m);
    m.at = z->below.offset;
    fm_zip_cursor(&c, p, HEADER_SIZE, m.at);
    fm_cursor_skip(&c, 6);
    m.flags = fm_cursor_u16(&c);
    m.method = fm_cursor_u16(&c);
    fm_cursor_skip(&c, 4);
    m.crc = fm_cursor_u32(&c);
    m.packed = fm_cursor_u32(&c);
    m.size = fm_cursor_u32(&c);
    name = fm_cursor_u16(&c);
    extra = fm_cursor_u16(&c);
    below = fm_window_peek(&z->below, HEADER_SIZE + name + extra, &p, &n, NULL);
    if (n < HEADER_SIZE + name + extra)
        return cut(z, below, err);
    fm_zip_cursor(&c, p, n, m.at);
    fm_cursor_skip(&c, HEADER_SIZE);
    fm_zip_names(&c, &m, name, extra, false);
    fm_window_consume(&z->below, HEADER_SIZE + name + extra);
    if (!z->sought)
        z->m = m;
    z->sized = z->sought || !(m.flags & FM_ZIP_DESCRIBED);
    z->in = z->got = 0;
    z->crc = crc32(0, NULL, 0);
    fm_inflate_free(z->z);
    z->z = NULL;
    if (z->m.method == DEFLATED) {
        enum fm_status status = fm_inflate_open(z->env.ctx, &fm_codec_deflate, &z->z, err);
        if (status != FM_OK)
            return status;
    }
    if (z->taken || z->m.folder || (z->sized && z->m.size == 0))
        return pass_over(z, err);
    return open_wanted(z, err);
}

/* ----------------------------------------------------------- between members */

/* How long a record of the archive's end is, besides PK56: 0 = the bytes are none. */
static uint64_t tail_record(const unsigned char *p, size_t n)
{
    struct fm_cursor c;
    uint64_t size = 0;
    fm_zip_cursor(&c, p, n, 0);
    switch (fm_cursor_u32(&c)) {
    case FM_ZIP_ENTRY:
        fm_cursor_skip(&c, 24);
        size = 46 + (uint64_t)fm_cursor_u16(&c);
        size += fm_cursor_u16(&c);
        size += fm_cursor_u16(&c);
        break;
    case FM_ZIP_END64:
        size = fm_cursor_u64(&c);
        if (!fm_add_u64(size, 12, &size))
            size = 0;
        break;
    case FM_ZIP_LOCATOR64:
        size = 20;
        break;
    case FM_ZIP_SIGNATURE:
        size = 6 + (uint64_t)fm_cursor_u16(&c);
        break;
    case FM_ZIP_EXTRA:
        size = 8 + (uint64_t)fm_cursor_u32(&c);
        break;
    default:
        break;
    }
    return fm_cursor_ok(&c) ? size : 0;
}

/* The end record: what follows its comment is no longer the archive. */
static enum fm_status archive_end(struct zip *z, struct fm_error *err)
{
    const unsigned char *p;
    size_t n, comment;
    struct fm_cursor c;
    enum fm_status below = fm_window_peek(&z->below, 22, &p, &n, NULL);
    if (n < 22)
        return cut(z, below, err);
    fm_zip_cursor(&c, p + 20, 2, 0);
    comment = fm_cursor_u16(&c);
    below = fm_window_peek(&z->below, 22 + comment + 1, &p, &n, NULL);
    if (n < 22 + comment)
        return cut(z, below, err);
    fm_window_consume(&z->below, 22 + comment);
    if (n > 22 + comment)
        fm_diag_add(z->env.diags, FM_DIAG_TRAILING, z->below.offset, 1);
    return finish(z, err);
}

static enum fm_status header(struct zip *z, struct fm_error *err)
{
    const unsigned char *p;
    size_t n;
    struct fm_cursor c;
    enum fm_status below = fm_window_peek(&z->below, 34, &p, &n, NULL);
    if (n < 4)
        return cut(z, below, err);
    fm_zip_cursor(&c, p, 4, 0);
    uint32_t mark = fm_cursor_u32(&c);
    if (mark == FM_ZIP_LOCAL)
        return member_begin(z, err);
    if (z->sought) { /* the directory was wrong */
        z->sought = false;
        z->lost = true;
        fm_window_seek(&z->below, 0);
        return FM_OK;
    }
    if (mark == FM_ZIP_END)
        return archive_end(z, err);
    z->skip = tail_record(p, n);
    if (z->skip == 0)
        return n < 34 ? cut(z, below, err)
                      : damage(z, FM_FORMAT, "no member of the zip archive begins here", err);
    z->state = SKIP;
    return FM_OK;
}

static enum fm_status skip(struct zip *z, struct fm_error *err)
{
    const unsigned char *p;
    size_t n;
    while (z->skip > 0) {
        enum fm_status below = fm_window_peek(&z->below, 1, &p, &n, NULL);
        if (n == 0)
            return cut(z, below, err);
        n = (size_t)FM_MIN((uint64_t)n, z->skip);
        fm_window_consume(&z->below, n);
        z->skip -= n;
    }
    z->state = HEADER;
    return FM_OK;
}

/* ------------------------------------------------------------------ its data */

/* Unpacks some of the open member: *n bytes. */
static enum fm_status unpack(struct zip *z, unsigned char *buf, size_t cap, size_t *n,
                             struct fm_error *err)
{
    const unsigned char *p;
    size_t have, left;
    struct fm_error why = { 0 };
    enum fm_status status = FM_OK, below = fm_window_peek(&z->below, 1, &p, &have, NULL);
    size_t take = z->sized ? (size_t)FM_MIN((uint64_t)have, z->m.packed - z->in) : have;
    bool whole = z->sized && take == z->m.packed - z->in; /* no more will come */
    left = take;
    if (z->m.method == STORED) {
        *n = FM_MIN(take, cap);
        memcpy(buf, p, *n);
        left -= *n;
    } else {
        status = fm_inflate_step(z->z, &p, &left, buf, cap, n, &why);
    }
    fm_window_consume(&z->below, take - left);
    z->in += take - left;
    z->got += *n;
    z->crc = crc32_z(z->crc, buf, *n);
    if (status == FM_NOMEM)
        return fm_error_nomem(err);
    if (status != FM_OK)
        return damage(z, status, why.message, err);
    if (z->m.method == STORED ? z->in == z->m.packed : z->z->between)
        z->state = CLOSE;
    else if (*n == 0 && take == 0)
        return whole ? damage(z, FM_FORMAT, "the deflate data do not end in their size", err)
                     : cut(z, below, err);
    return FM_OK;
}

static enum fm_status data(struct zip *z, unsigned char *buf, size_t cap, size_t *n,
                           struct fm_error *err)
{
    enum fm_status status = unpack(z, buf, fm_unpacked_room(&z->out, cap), n, err);
    if (!fm_unpacked_add(&z->out, n)) {
        if (err != NULL)
            fm_error_clear(err);
        status = fm_unpacked_fail(&z->out, &z->env, "zip", z->below.offset, err);
    }
    if (z->wanted)
        z->taken |= *n > 0;
    else
        *n = 0;
    return status;
}

/* Does a descriptor with numbers of `wide` bytes stand at the cursor, and an archive behind it? */
static bool descriptor(const struct zip *z, struct fm_cursor c, bool marked, bool wide)
{
    uint64_t packed, size;
    if (marked && fm_cursor_u32(&c) != FM_ZIP_DESCRIPTOR)
        return false;
    if (fm_cursor_u32(&c) != (uint32_t)z->crc)
        return false;
    packed = wide ? fm_cursor_u64(&c) : fm_cursor_u32(&c);
    size = wide ? fm_cursor_u64(&c) : fm_cursor_u32(&c);
    if (!fm_cursor_ok(&c) || packed != (wide ? z->in : (uint32_t)z->in) ||
        size != (wide ? z->got : (uint32_t)z->got))
        return false;
    return fm_cursor_left(&c) < 2 || memcmp(c.p, "PK", 2) == 0;
}

/* Takes the descriptor behind the data, in the one form that is true. */
static enum fm_status take_descriptor(struct zip *z, struct fm_error *err)
{
    const unsigned char *p;
    size_t n;
    struct fm_cursor c;
    enum fm_status below = fm_window_peek(&z->below, 26, &p, &n, NULL);
    fm_zip_cursor(&c, p, FM_MIN(n, (size_t)26), 0);
    for (unsigned form = 0; form < 4; form++) {
        bool marked = form < 2, wide = form % 2;
        if (!descriptor(z, c, marked, wide))
            continue;
        fm_window_consume(&z->below, (marked ? 4u : 0u) + 4u + (wide ? 16u : 8u));
        return FM_OK;
    }
    if (z->m.folder && z->got == 0 && n >= 2 && memcmp(p, "PK", 2) == 0)
        return FM_OK; /* a folder need not have one */
    if (n < 16)
        return cut(z, below, err);
    return damage(z, FM_FORMAT, "checksum or sizes of the data are wrong", err);
}

static enum fm_status member_end(struct zip *z, struct fm_error *err)
{
    if (!z->sized) {
        enum fm_status status = take_descriptor(z, err);
        if (status != FM_OK)
            return status;
        if (!z->wanted && z->taken && !z->m.folder && z->got > 0)
            fm_diag_add(z->env.diags, FM_DIAG_ZIP_MEMBERS, z->m.at, 1);
    } else if (z->in != z->m.packed || z->got != z->m.size) {
        char why[128];
        snprintf(why, sizeof why,
                 "%" PRIu64 " bytes unpack to %" PRIu64 ", not %" PRIu64 " to %" PRIu64, z->in,
                 z->got, z->m.packed, z->m.size);
        return damage(z, FM_FORMAT, why, err);
    } else if ((uint32_t)z->crc != z->m.crc) {
        return damage(z, FM_FORMAT, "the checksum of the data is wrong", err);
    }
    if (z->sought)
        return finish(z, err);
    z->state = HEADER;
    return FM_OK;
}

/* ----------------------------------------------------------------- the stage */

static enum fm_status step(struct zip *z, unsigned char *buf, size_t cap, size_t *n,
                           struct fm_error *err)
{
    *n = 0;
    switch (z->state) {
    case START:
        return start(z, err);
    case HEADER:
        return header(z, err);
    case DATA:
        return data(z, buf, cap, n, err);
    case SKIP:
        return skip(z, err);
    case CLOSE:
        return member_end(z, err);
    case DONE:
        break;
    }
    return FM_OK;
}

static enum fm_status zip_read(struct fm_stage *stage, unsigned char *buf, size_t cap, size_t *got,
                               struct fm_error *err)
{
    struct zip *z = (struct zip *)stage;
    *got = 0;
    while (*got < cap && z->state != DONE) {
        size_t n;
        enum fm_status status = step(z, buf + *got, cap - *got, &n, err);
        *got += n;
        if (status != FM_OK) {
            z->state = DONE;
            return status;
        }
    }
    return FM_OK;
}

static uint64_t zip_left(struct fm_stage *stage)
{
    return ((struct zip *)stage)->state == DONE ? 0 : UINT64_MAX;
}

static uint64_t zip_raw(struct fm_stage *stage)
{
    return fm_window_raw(&((struct zip *)stage)->below);
}

static void zip_free(struct fm_stage *stage)
{
    struct zip *z = (struct zip *)stage;
    fm_inflate_free(z->z);
    fm_window_release(&z->below);
    fm_mem_free(&z->env.ctx->mem, z, sizeof *z);
}

enum fm_status fm_zip_open(const struct fm_layer_env *env, struct fm_window *below,
                           struct fm_stage **stage, struct fm_error *err)
{
    struct zip *z = fm_mem_zalloc(&env->ctx->mem, sizeof *z);
    uint64_t cap = env->ctx->cap[FM_CAP_INFLATED];
    if (z == NULL)
        return fm_error_nomem(err);
    z->stage.read = zip_read;
    z->stage.left = zip_left;
    z->stage.raw = zip_raw;
    z->stage.free = zip_free;
    z->env = *env;
    z->out.limit = cap != 0 ? cap : UINT64_MAX;
    z->below = *below;
    memset(below, 0, sizeof *below);
    *stage = &z->stage;
    return FM_OK;
}
