/*
 * inflate_isal.c - gzip members (RFC 1952) by ISA-L, where a build has it: more than twice as fast
 * as zlib. Checks CRC and length, too.
 *
 * The header is read here, since ISA-L's reader loses its place when a name comes in two pieces:
 *
 *     10 bytes | extra: length u16, bytes | name \0 | comment \0 | crc u16     by flags, byte 3
 *
 * The state (87 KB) holds the window and up to 8 bytes of input; it gives back what it took too
 * much of once a member is complete. A broken member gives the bytes before the fault, and may
 * give a few wrong ones more than zlib does: code tables with holes are found only when a hole is
 * hit.
 */
#include "input/inflate.h"

#ifdef FM_WITH_ISAL

#include <isa-l/igzip_lib.h>
#include <limits.h>
#define ZLIB_CONST
#include <zlib.h>

enum { HEAD = 10, F_CRC = 2, F_EXTRA = 4, F_NAME = 8, F_COMMENT = 16 };
enum part { FIXED, LENGTH, EXTRA, NAME, COMMENT, CRC, BODY };

struct isal_state {
    struct fm_mem *mem;
    enum part part;
    unsigned char flags;
    uint32_t got;                  /* bytes of the part */
    uint32_t length;               /* of the extra field; the crc as it stands there */
    uint32_t crc;                  /* of the header so far */
    struct inflate_state z;
};

static bool isal_restart(void *state)
{
    struct isal_state *s = state;
    s->part = FIXED;
    s->got = s->length = 0;
    s->crc = 0;
    /* all of it: a broken code may lead to table entries that nothing has written */
    memset(&s->z, 0, sizeof s->z);
    isal_inflate_init(&s->z);
    s->z.crc_flag = ISAL_GZIP_NO_HDR_VER;
    return true;
}

static void *isal_open(struct fm_mem *mem)
{
    struct isal_state *s = fm_mem_alloc(mem, sizeof *s);
    if (s == NULL)
        return NULL;
    s->mem = mem;
    (void)isal_restart(s);
    return s;
}

static void isal_close(void *state)
{
    struct isal_state *s = state;
    fm_mem_free(s->mem, s, sizeof *s);
}

/* In zlib's words. */
static const char *reason(int code)
{
    switch (code) {
    case ISAL_INVALID_BLOCK: return "invalid block";
    case ISAL_INVALID_SYMBOL: return "invalid literal/length code";
    case ISAL_INVALID_LOOKBACK: return "invalid distance too far back";
    case ISAL_INCORRECT_CHECKSUM: return "incorrect data check";
    default: return "impossible code";
    }
}

/* The part that comes after `part`. */
static void next_part(struct isal_state *s)
{
    static const unsigned char needs[] = {[LENGTH] = F_EXTRA, [EXTRA] = F_EXTRA, [NAME] = F_NAME,
                                          [COMMENT] = F_COMMENT, [CRC] = F_CRC};
    s->got = 0;
    do {
        s->part++;
    } while (s->part < BODY && !(s->flags & needs[s->part]));
    if (s->part == EXTRA && s->length == 0)
        next_part(s);
    if (s->part == CRC)
        s->length = 0;
}

/* NULL, or what is wrong with byte number s->got of the first ten. */
static const char *fixed_byte(struct isal_state *s, unsigned char c)
{
    static const unsigned char magic[] = {0x1f, 0x8b};
    if (s->got < 2 && c != magic[s->got])
        return "incorrect header check";
    if (s->got == 2 && c != 8)
        return "unknown compression method";
    if (s->got == 3 && c & 0xe0)
        return "unknown header flags set";
    if (s->got == 3)
        s->flags = c;
    return NULL;
}

/* One byte of the header. NULL, or what is wrong with it. */
static const char *header_byte(struct isal_state *s, unsigned char c)
{
    const char *wrong = s->part == FIXED ? fixed_byte(s, c) : NULL;
    enum part part = s->part;
    if (part != CRC)
        s->crc = (uint32_t)crc32(s->crc, &c, 1);
    if (part == LENGTH || part == CRC)
        s->length |= (uint32_t)c << 8 * s->got;
    s->got++;
    if (part == CRC && s->got == 2 && s->length != (s->crc & 0xffff))
        return "header crc mismatch";
    if ((part == FIXED && s->got == HEAD) || ((part == LENGTH || part == CRC) && s->got == 2) ||
        (part == EXTRA && s->got == s->length) || ((part == NAME || part == COMMENT) && c == 0))
        next_part(s);
    return wrong;
}

static enum fm_codec_result isal_run(void *state, const unsigned char **in, size_t *in_left,
                                     unsigned char *out, size_t cap, size_t *produced,
                                     const char **why)
{
    struct isal_state *s = state;
    while (s->part < BODY && *in_left > 0) {
        const char *wrong = header_byte(s, **in);
        ++*in;
        --*in_left;
        if (wrong) {
            *why = wrong;
            return FM_CODEC_BAD;
        }
    }
    *produced = 0;
    if (s->part < BODY)
        return FM_CODEC_MORE;
    uint32_t take = (uint32_t)FM_MIN(*in_left, (size_t)INT_MAX);
    uint32_t room = (uint32_t)FM_MIN(cap, (size_t)INT_MAX);
    memcpy(&s->z.next_in, in, sizeof s->z.next_in);        /* it is not const there */
    s->z.avail_in = take;
    s->z.next_out = out;
    s->z.avail_out = room;
    int r = isal_inflate(&s->z);
    fm_assert(s->z.avail_out <= room);
    *produced = room - s->z.avail_out;
    /* A broken member ends here: the library may then stand outside of its input. */
    if (r < 0 || r == ISAL_NEED_DICT || s->z.avail_in > take) {
        *why = reason(r);
        return FM_CODEC_BAD;
    }
    *in += take - s->z.avail_in;
    *in_left -= take - s->z.avail_in;
    return s->z.block_state == ISAL_BLOCK_FINISH ? FM_CODEC_END : FM_CODEC_MORE;
}

const struct fm_codec fm_codec_gzip_isal = {
    .name = "gzip",
    .match = fm_gzip_match,
    .open = isal_open,
    .close = isal_close,
    .restart = isal_restart,
    .run = isal_run,
    .padding = 1,
};

#endif
