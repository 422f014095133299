/*
 * cfimake.c - see cfimake.h; the bytes are those of src/symbol/cfi.c.
 */
#include "cfimake.h"

#include <string.h>

static void put(struct cfimake *f, uint64_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        f->byte[f->n++] = (unsigned char)(v >> 8 * i);
}

static void text(struct cfimake *f, const char *s, size_t n)
{
    memcpy(f->byte + f->n, s, n);
    f->n += n;
}

/* Writes the length of the entry that began at `from`. */
static void end(struct cfimake *f, size_t from)
{
    while (f->n % 4 != 0)
        put(f, 0, 1);
    uint32_t n = (uint32_t)(f->n - from - 4);
    memcpy(f->byte + from, &n, 4);
}

void cfimake_cie(struct cfimake *f, bool signal, unsigned code, unsigned ra, const char *program,
                 size_t n)
{
    f->cie = f->n;
    put(f, 0, 4);
    put(f, f->debug ? UINT32_MAX : 0, 4);
    put(f, 1, 1);
    text(f, f->debug ? "" : signal ? "zRS" : "zR", f->debug ? 1 : signal ? 4 : 3);
    put(f, code, 1);
    put(f, f->wide ? 0x78 : 0x7c, 1);       /* -8, -4 */
    put(f, ra, 1);
    if (!f->debug) {
        put(f, 1, 1);
        put(f, 0, 1);                       /* addresses as they are */
    }
    text(f, program, n);
    end(f, f->cie);
}

void cfimake_fde(struct cfimake *f, uint64_t begin, uint64_t size, const char *program, size_t n)
{
    size_t from = f->n;
    put(f, 0, 4);
    put(f, f->debug ? f->cie : f->n - f->cie, 4);
    put(f, begin, f->wide ? 8 : 4);
    put(f, size, f->wide ? 8 : 4);
    if (!f->debug)
        put(f, 0, 1);
    text(f, program, n);
    end(f, from);
}
