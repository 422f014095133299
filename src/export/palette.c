/*
 * palette.c - colours of flame graph frames.
 *
 * A name gives up to three numbers v1, v2, v3 in [0, 1]; a palette maps them to a colour. Mixed
 * palettes (java, js, perl, chain, gpu) choose one of the plain ones by the name first, so that
 * kernel, JIT and native frames can be told apart.
 *
 *   hash off   v1 = v2 = v3 = first number of drand48 seeded with the sum of the code points
 *   hash on    v1 = weighted first three characters, v2 = v3 = the same of the reversed name
 *
 * The rules and figures are those of FlameGraph's flamegraph.pl (and of Intel's fork for the
 * palettes gpu, violet and pink), so that pictures of both can lie side by side.
 */
#include "export/palette.h"

#include "util/text.h"

enum palette {
    HOT, MEM, IO, RED, GREEN, BLUE, YELLOW, PURPLE, AQUA, ORANGE, VIOLET, PINK, /* plain */
    JAVA, PERL, JS, WAKEUP, CHAIN, GPU
};

static const struct {
    const char *name, *background;
} palettes[] = {
    [HOT] = {"hot", "yellow"},   [MEM] = {"mem", "green"},     [IO] = {"io", "blue"},
    [RED] = {"red", "grey"},     [GREEN] = {"green", "grey"},  [BLUE] = {"blue", "grey"},
    [YELLOW] = {"yellow", "grey"}, [PURPLE] = {"purple", "grey"}, [AQUA] = {"aqua", "grey"},
    [ORANGE] = {"orange", "grey"}, [VIOLET] = {"violet", "grey"}, [PINK] = {"pink", "grey"},
    [JAVA] = {"java", "yellow"}, [PERL] = {"perl", "yellow"},  [JS] = {"js", "yellow"},
    [WAKEUP] = {"wakeup", "blue"}, [CHAIN] = {"chain", "blue"}, [GPU] = {"gpu", "yellow"},
};

int fm_palette_find(const char *name)
{
    size_t i;
    for (i = 0; i < FM_COUNT(palettes); i++) {
        if (strcmp(palettes[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

const char *fm_palette_name(size_t i)
{
    return i < FM_COUNT(palettes) ? palettes[i].name : NULL;
}

const char *fm_palette_background(int palette)
{
    fm_assert(palette >= 0 && (size_t)palette < FM_COUNT(palettes));
    return palettes[palette].background;
}

/* ----------------------------------------------------------------- names */

/* The next character; an ill-formed byte is one of its own value. */
static uint32_t next_char(const char *s, size_t n, size_t *i)
{
    uint32_t cp;
    unsigned len = fm_utf8_next(s + *i, n - *i, &cp);
    if (len == 0) {
        cp = (unsigned char)s[*i];
        len = 1;
    }
    *i += len;
    return cp;
}

static double seeded(const char *s, size_t n)
{
    uint64_t seed = 0, x;
    size_t i = 0;
    while (i < n)
        seed += next_char(s, n, &i);
    x = ((seed & UINT32_MAX) << 16) + 0x330e;
    x = (x * 0x5deece66du + 0xb) & (((uint64_t)1 << 48) - 1);
    return (double)x / (double)((uint64_t)1 << 48);
}

/* From the first three characters; `c` holds `n` of them. */
static double weighted(const uint32_t *c, size_t n)
{
    double vector = 0, weight = 1, max = 1;
    size_t k;
    for (k = 0; k < n; k++) {
        vector += (double)(c[k] % (10 + k)) / (double)(9 + k) * weight;
        max += weight;
        weight *= 0.70;
    }
    return 1 - vector / max;
}

/* Everything up to the first backtick is a module, unless the backtick comes first. */
static size_t module_end(const char *s, size_t n)
{
    const char *tick = n > 1 ? memchr(s + 1, '`', n - 1) : NULL;
    return tick != NULL ? (size_t)(tick - s) + 1 : 0;
}

static double hash_forward(const char *s, size_t n)
{
    uint32_t c[3];
    size_t k = 0, i = module_end(s, n);
    while (i < n && k < 3)
        c[k++] = next_char(s, n, &i);
    return weighted(c, k);
}

/* Of the reversed name: what follows its first backtick (the last one of the name), unless that
 * stands at the end. */
static double hash_reversed(const char *s, size_t n)
{
    uint32_t last[3], c[3];
    size_t i = 0, k, have = 0, end = n;
    for (k = n; k-- > 0;) {
        size_t after = k + 1;
        if (s[k] == '`' && after < n) {
            end = k;
            break;
        }
    }
    while (i < end) {
        last[have++ % 3] = next_char(s, n, &i);
    }
    for (k = 0; k < 3 && k < have; k++)
        c[k] = last[(have - 1 - k) % 3];
    return weighted(c, k);
}

static bool ends(const char *s, size_t n, const char *tail)
{
    size_t len = strlen(tail);
    return n >= len && memcmp(s + n - len, tail, len) == 0;
}

static bool begins(const char *s, size_t n, const char *head)
{
    size_t len = strlen(head);
    return n >= len && memcmp(s, head, len) == 0;
}

static bool contains(const char *s, size_t n, const char *part)
{
    return memmem(s, n, part, strlen(part)) != NULL;
}

static bool java_package(const char *s, size_t n)
{
    static const char *const top[] = {"java/", "javax/", "jdk/", "net/", "org/",
                                      "com/", "io/", "sun/"};
    size_t i;
    for (i = 0; i < FM_COUNT(top); i++) {
        if (begins(s, n, top[i]) || (n > 0 && s[0] == 'L' && begins(s + 1, n - 1, top[i])))
            return true;
    }
    return false;
}

static enum palette choose_java(const char *s, size_t n)
{
    if (ends(s, n, "_[j]"))
        return GREEN;
    if (ends(s, n, "_[i]"))
        return AQUA;
    if (java_package(s, n) || contains(s, n, ":::"))
        return GREEN;
    if (contains(s, n, "::"))
        return YELLOW;
    return ends(s, n, "_[k]") ? ORANGE : RED;
}

static enum palette choose_js(const char *s, size_t n)
{
    const char *slash = memchr(s, '/', n);
    if (ends(s, n, "_[j]"))
        return slash != NULL ? GREEN : AQUA;
    if (contains(s, n, "::"))
        return YELLOW;
    if (slash != NULL && contains(slash, n - (size_t)(slash - s), ".js"))
        return GREEN;
    if (memchr(s, ':', n) != NULL)
        return AQUA;
    if (n == 1 && s[0] == ' ')
        return GREEN;
    return contains(s, n, "_[k]") ? ORANGE : RED;
}

static enum palette choose_gpu(const char *s, size_t n)
{
    if (ends(s, n, "_[g]"))
        return GREEN;
    if (ends(s, n, "_[G]") || (begins(s, n, "NEO") && n > 3 && s[3] >= '0' && s[3] <= '9'))
        return AQUA;
    if (ends(s, n, "_[k]"))
        return ORANGE;
    if (begins(s, n, "py::"))
        return PINK;
    return contains(s, n, "::") ? YELLOW : RED;
}

static enum palette choose(enum palette palette, const char *s, size_t n)
{
    switch (palette) {
    case JAVA:
        return choose_java(s, n);
    case JS:
        return choose_js(s, n);
    case PERL:
        if (contains(s, n, "::"))
            return YELLOW;
        if (contains(s, n, "Perl") || contains(s, n, ".pl"))
            return GREEN;
        return ends(s, n, "_[k]") ? ORANGE : RED;
    case WAKEUP:
        return AQUA;
    case CHAIN:
        return contains(s, n, "_[w]") ? AQUA : BLUE;
    case GPU:
        return choose_gpu(s, n);
    default:
        return palette;
    }
}

/* --------------------------------------------------------------- colours */

static void set(unsigned rgb[3], int r, int g, int b)
{
    rgb[0] = (unsigned)r;
    rgb[1] = (unsigned)g;
    rgb[2] = (unsigned)b;
}

static void plain(enum palette palette, double v1, double v2, double v3, unsigned rgb[3])
{
    switch (palette) {
    case MEM:
        set(rgb, 0, 190 + (int)(50 * v2), (int)(210 * v1));
        break;
    case IO:
        set(rgb, 80 + (int)(60 * v1), 80 + (int)(60 * v1), 190 + (int)(55 * v2));
        break;
    case RED:
        set(rgb, 200 + (int)(55 * v1), 50 + (int)(80 * v1), 50 + (int)(80 * v1));
        break;
    case GREEN:
        set(rgb, 50 + (int)(60 * v1), 200 + (int)(55 * v1), 50 + (int)(60 * v1));
        break;
    case BLUE:
        set(rgb, 80 + (int)(60 * v1), 80 + (int)(60 * v1), 205 + (int)(50 * v1));
        break;
    case YELLOW:
        set(rgb, 175 + (int)(55 * v1), 175 + (int)(55 * v1), 50 + (int)(20 * v1));
        break;
    case PURPLE:
        set(rgb, 190 + (int)(65 * v1), 80 + (int)(60 * v1), 190 + (int)(65 * v1));
        break;
    case AQUA:
        set(rgb, 50 + (int)(60 * v1), 165 + (int)(55 * v1), 165 + (int)(55 * v1));
        break;
    case ORANGE:
        set(rgb, 190 + (int)(65 * v1), 90 + (int)(65 * v1), 0);
        break;
    case VIOLET:
        set(rgb, 190 + (int)(55 * v1), 140 + (int)(50 * v1), 190 + (int)(55 * v1));
        break;
    case PINK:
        set(rgb, 245 + (int)(10 * v1), 138 + (int)(40 * v1), 148 + (int)(40 * v1));
        break;
    default:
        set(rgb, 205 + (int)(50 * v3), (int)(230 * v1), (int)(55 * v2));
        break;
    }
}

bool fm_palette_separator(const char *name, size_t n, unsigned rgb[3])
{
    if (n == 2 && memcmp(name, "--", 2) == 0)
        set(rgb, 160, 160, 160);
    else if (n == 1 && name[0] == '-')
        set(rgb, 200, 200, 200);
    else
        return false;
    return true;
}

void fm_palette_shade(int palette, const double v[3], const char *name, size_t n, unsigned rgb[3])
{
    if (!fm_palette_separator(name, n, rgb))
        plain(choose((enum palette)palette, name, n), v[0], v[1], v[2], rgb);
}

void fm_palette_color(int palette, bool hash, const char *name, size_t n, unsigned rgb[3])
{
    double v[3];
    if (hash) {
        v[0] = hash_forward(name, n);
        v[1] = v[2] = hash_reversed(name, n);
    } else {
        v[0] = v[1] = v[2] = seeded(name, n);
    }
    fm_palette_shade(palette, v, name, n, rgb);
}
