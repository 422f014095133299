/*
 * utf16.c - text in UTF-16 with a byte order mark, made UTF-8: what a Windows shell writes when a
 * command's output goes to a file. A layer like a decompressor, so no importer knows of it.
 *
 *     ff fe   23 00 20 00 …       low byte first
 *     fe ff   00 23 00 20 …       high byte first
 *
 * The mark goes. Surrogates are joined, single ones and half a unit at the end become U+FFFD. Two
 * bytes of chance are not enough: ASCII text must follow the mark.
 */
#include "input/inflate.h"
#include "util/text.h"

struct utf16 {
    struct fm_mem *mem;
    bool marked, high_first;
    unsigned char held[4], held_n;    /* a unit, or a first half, that is not complete */
    unsigned char out[4], out_i, out_n;
};

static bool utf16_match(const unsigned char *p, size_t n, bool whole)
{
    const bool low = n >= 2 && p[0] == 0xff && p[1] == 0xfe;
    const bool high = n >= 2 && p[0] == 0xfe && p[1] == 0xff;
    size_t units = 0;
    if (!low && !high)
        return false;
    for (size_t i = 2; i + 2 <= FM_MIN(n, (size_t)FM_INFLATE_MAGIC); i += 2, units++) {
        const unsigned char zero = p[i + low], c = p[i + high];
        if (zero != 0 || c > 0x7e || (c < ' ' && c != '\t' && c != '\n' && c != '\r'))
            return false;
    }
    return units >= 4 || (whole && units > 0);
}

static bool utf16_restart(void *state)
{
    struct utf16 *s = state;
    struct fm_mem *mem = s->mem;
    memset(s, 0, sizeof *s);
    s->mem = mem;
    return true;
}

static void *utf16_open(struct fm_mem *mem)
{
    struct utf16 *s = fm_mem_zalloc(mem, sizeof *s);
    if (s != NULL)
        s->mem = mem;
    return s;
}

static void utf16_close(void *state)
{
    struct utf16 *s = state;
    fm_mem_free(s->mem, s, sizeof *s);
}

static uint32_t unit(const struct utf16 *s, const unsigned char *p)
{
    return s->high_first ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static void put(struct utf16 *s, uint32_t cp)
{
    s->out_i = 0;
    s->out_n = (unsigned char)fm_utf8_put((char *)s->out, cp);
}

/* What is held, as far as it can be told: puts a character, or keeps it held. */
static void take_held(struct utf16 *s)
{
    if (s->held_n < 2)
        return;
    const uint32_t cp = unit(s, s->held);
    if (!s->marked) {
        s->marked = true;
        s->high_first = s->held[0] == 0xfe;
    } else if (cp < 0xd800 || cp >= 0xe000) {
        put(s, cp);
    } else if (cp >= 0xdc00) {
        put(s, 0xfffd);
    } else if (s->held_n < 4) {
        return;
    } else {
        const uint32_t low = unit(s, s->held + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            put(s, 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00));
            s->held_n = 0;
            return;
        }
        put(s, 0xfffd);
        memmove(s->held, s->held + 2, 2);
        s->held_n = 2;
        return;
    }
    s->held_n = 0;
}

static enum fm_codec_result utf16_run(void *state, const unsigned char **in, size_t *in_left,
                                      unsigned char *out, size_t cap, size_t *produced,
                                      const char **why)
{
    struct utf16 *s = state;
    const unsigned char *p = *in, *end = p + *in_left;
    const bool ended = *in_left == 0;
    size_t n = 0;
    (void)why;
    while (n < cap) {
        if (s->out_i < s->out_n) {
            out[n++] = s->out[s->out_i++];
            continue;
        }
        if (s->held_n == 0 && s->marked) {
            const unsigned high = !s->high_first; /* its place in a unit */
            while (end - p >= 2 && n < cap && p[high] == 0 && p[!high] < 0x80) {
                out[n++] = p[!high];
                p += 2;
            }
            if (n == cap)
                break;
        }
        take_held(s);
        if (s->out_i < s->out_n)
            continue;
        if (p < end) {
            s->held[s->held_n++] = *p++;
        } else if (ended && s->held_n > 0) {
            s->held_n = 0;
            put(s, 0xfffd);
        } else {
            break;
        }
    }
    *in = p;
    *in_left = (size_t)(end - p);
    *produced = n;
    return ended && n == 0 ? FM_CODEC_END : FM_CODEC_MORE;
}

const struct fm_codec fm_codec_utf16 = {
    .name = "utf-16",
    .match = utf16_match,
    .open = utf16_open,
    .close = utf16_close,
    .restart = utf16_restart,
    .run = utf16_run,
};
