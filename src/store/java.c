/*
 * java.c - the ways to write the names of Java's classes and methods: see java.h.
 *
 *     [package / ] class . method [ (parameters ]
 *     ^ SIMPLE     ^ NORM cuts in here
 *
 * A class is handled as a piece [s, s + n) of the name; NORM and SIMPLE make it shorter at its end
 * and its beginning; the "[]" of arrays are put back behind it.
 */
#include "store/java.h"

struct piece {
    const char *s;
    size_t n;
    size_t gap, gap_n;      /* bytes in the middle that are left out */
};

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool hex(char c)
{
    return digit(c) || (c >= 'a' && c <= 'f');
}

/* Where `what` begins in the piece; SIZE_MAX: nowhere. */
static size_t find(const struct piece *p, const char *what)
{
    size_t n = strlen(what);
    for (size_t i = 0; i + n <= p->n; i++) {
        if (memcmp(p->s + i, what, n) == 0)
            return i;
    }
    return SIZE_MAX;
}

static bool ends(const struct piece *p, size_t n, const char *what)
{
    size_t len = strlen(what);
    return n >= len && memcmp(p->s + n - len, what, len) == 0;
}

/* The last place of a separator of packages: SIZE_MAX none. Digits after one belong to the class
 * (hidden classes). */
static size_t last_separator(const struct piece *p, bool dots)
{
    for (size_t i = p->n; i-- > 0;) {
        bool separator = p->s[i] == '/' || (dots && p->s[i] == '.');
        if (separator && i + 1 < p->n && !digit(p->s[i + 1]))
            return i;
    }
    return SIZE_MAX;
}

/* --------------------------------------------------------------------- norm */

/* Takes "/123", ".0x12ab", "/0x12ab" or "+0x12ab" from the end: true when there was one. */
static bool cut_number(struct piece *p)
{
    size_t i = p->n, start;
    while (i > 0 && hex(p->s[i - 1]))
        i--;
    start = i;
    if (i >= 2 && p->s[i - 1] == 'x' && p->s[i - 2] == '0')
        start = i - 2;
    if (i == p->n || start < 2)
        return false;
    char before = p->s[start - 1];
    if (start == i) { /* no 0x: decimal digits only */
        for (size_t k = i; k < p->n; k++) {
            if (!digit(p->s[k]))
                return false;
        }
        if (before != '/' && before != '.')
            return false;
    } else if (before != '/' && before != '.' && before != '+') {
        return false;
    }
    p->n = start - 1;
    return true;
}

/* Takes the digits from the end of a class that begins with `head` in its last component. */
static void cut_digits(struct piece *p, const char *head)
{
    size_t at = last_separator(p, true), start = at == SIZE_MAX ? 0 : at + 1, i = p->n;
    size_t len = strlen(head);
    if (p->n - start < len || memcmp(p->s + start, head, len) != 0)
        return;
    while (i > start + len && digit(p->s[i - 1]))
        i--;
    p->n = i;
}

/* "jdk/proxy2/$Proxy": the number, of a package that was made for proxies. */
static void cut_package_number(struct piece *p)
{
    size_t end, i;
    if (!ends(p, p->n, "/$Proxy") && !ends(p, p->n, ".$Proxy"))
        return;
    end = i = p->n - strlen("/$Proxy");
    while (i > 0 && digit(p->s[i - 1]))
        i--;
    p->gap = i;
    p->gap_n = end - i;
}

/* "X$$EnhancerByY$$1a2b": the number and all behind it. */
static void cut_enhancer(struct piece *p)
{
    static const char *const mark[] = {"$$EnhancerBy", "$$FastClassBy", "$$KeyFactoryBy"};
    for (size_t m = 0; m < FM_COUNT(mark); m++) {
        size_t at = find(p, mark[m]);
        if (at == SIZE_MAX)
            continue;
        at += strlen(mark[m]);
        struct piece rest = {p->s + at, p->n - at, 0, 0};
        size_t number = find(&rest, "$$");
        if (number != SIZE_MAX && number + 2 < rest.n && hex(rest.s[number + 2]))
            p->n = at + number;
    }
}

static void norm(struct piece *p)
{
    size_t at = find(p, "$$Lambda");
    if (at != SIZE_MAX) {
        p->n = at + strlen("$$Lambda");
        return;
    }
    while (cut_number(p))
        ;
    cut_enhancer(p);
    cut_digits(p, "GeneratedMethodAccessor");
    cut_digits(p, "GeneratedConstructorAccessor");
    cut_digits(p, "GeneratedSerializationConstructorAccessor");
    cut_digits(p, "LambdaForm$");
    cut_digits(p, "$Proxy");
    cut_package_number(p);
}

/* async-profiler's converter: the last separator and all behind it, when a digit follows; of
 * HotSpot's recorder "+0x" and 16 digits before it as well. */
static void norm_jfrconv(struct piece *p)
{
    for (size_t i = p->n; i-- > 0;) {
        if (p->s[i] != '/' && p->s[i] != '.')
            continue;
        if (i + 1 == p->n || !digit(p->s[i + 1]))
            return;
        p->n = i;
        if (i > 19 && memcmp(p->s + i - 19, "+0", 2) == 0)
            p->n = i - 19;
        return;
    }
}

/* -------------------------------------------------------------------- pieces */

/* The package of a class: how many bytes of it SIMPLE takes away. */
static size_t package(const struct piece *p, bool dots, unsigned style)
{
    size_t at;
    if (find(p, "$$Lambda") != SIZE_MAX) /* Java's, whatever the frame's kind */
        dots = (style & FM_JAVA_JFRCONV) == 0;
    at = last_separator(p, dots);
    return at == SIZE_MAX ? 0 : at + 1;
}

/* `dots`: dots separate packages. */
static void put_class(struct fm_out *out, struct piece p, bool dots, unsigned style)
{
    size_t brackets = 0, skip;
    while (ends(&p, p.n, "[]")) {
        p.n -= 2;
        brackets++;
    }
    if (style & FM_JAVA_NORM) {
        if (style & FM_JAVA_JFRCONV)
            norm_jfrconv(&p);
        else
            norm(&p);
    }
    skip = style & FM_JAVA_SIMPLE ? package(&p, dots, style) : 0;
    for (size_t i = skip; i < p.n; i++) {
        if (i >= p.gap && i - p.gap < p.gap_n)
            continue;
        fm_out_char(out, style & FM_JAVA_DOT && p.s[i] == '/' ? '.' : p.s[i]);
    }
    while (brackets-- > 0)
        fm_out_text(out, "[]");
}

void fm_java_class(struct fm_out *out, const char *s, size_t n, unsigned style)
{
    put_class(out, (struct piece){s, n, 0, 0}, true, style & ~(unsigned)FM_JAVA_DOT);
}

void fm_java_method(struct fm_out *out, const char *s, size_t n, bool java, unsigned style)
{
    const char *paren = memchr(s, '(', n);
    size_t end = paren != NULL ? (size_t)(paren - s) : n, dot = end;
    /* A path, a module, C++ or prose is no Java name. */
    bool other = n == 0 || s[0] == '/' || s[0] == '[' || memchr(s, ':', n) != NULL ||
                 memchr(s, ' ', end) != NULL;
    if (other) {
        fm_out_bytes(out, s, n);
        return;
    }
    while (dot > 0 && s[dot - 1] != '.')
        dot--;
    if (dot > 0) {
        bool dots = java && memchr(s, '/', dot) == NULL;
        put_class(out, (struct piece){s, dot - 1, 0, 0}, dots, style);
    }
    for (size_t i = dot > 0 ? dot - 1 : 0; i < n; i++)
        fm_out_char(out, style & FM_JAVA_DOT && i < end && s[i] == '/' ? '.' : s[i]);
}
