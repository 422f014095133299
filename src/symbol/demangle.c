/*
 * demangle.c - readable names through libiberty (C++, Rust, D) and by hand (OCaml).
 *
 *     _ZN4demoplERKNS_3VecES2_    short: demo::operator+
 *                                 full:  demo::operator+(demo::Vec const&, demo::Vec const&)
 *     _ZN2rs4main17h0123…E        rs::main (hash dropped in both)
 *     _D3std5stdio8toStringFZAya  std.stdio.toString, full: std.stdio.toString()
 *     camlModule__name_123        Module.name_123
 *
 * Short is what perf 6.1 prints: no parameters, `.cold`, `.part.0` … dropped. Full is perf 6.12's:
 * parameters, `[clone .cold]`.
 *
 * Names come from files that nobody vouches for. libiberty's limit of recursion stays on, or is
 * replaced by one of our own (may_be_unlimited). A small mangled name can still stand for gigabytes
 * of text, so the callback forms are used and left with longjmp() once TEXT_MAX is reached: they
 * hold no memory then (the demanglers build on the stack). Two corners of libiberty do allocate,
 * with xmalloc(): D, and punycode in Rust v0. There names with many back references are left raw.
 */
#include "symbol/demangle.h"

#include "util/text.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>

#define NAME_MAX_BYTES (16u << 10)  /* a mangled name; longer ones stay raw */
#define LIMITED_BYTES 1024          /* libiberty's own limit needs names up to this */
#define PARSED_MAX 8192             /* bytes outside identifiers of a longer one */
#define TEXT_MAX (256u << 10)       /* the readable form */
#define D_REFERENCES 32             /* each pair may double the text */
#define PUNYCODE_REFERENCES 16

struct sink {
    struct fm_out *out;
    size_t n;
    jmp_buf *full;
};

bool fm_demangle_find(const char *s, enum fm_demangle *style)
{
    static const char *const name[] = { "short", "full", "raw" };
    static const enum fm_demangle value[] = { FM_DEMANGLE_SHORT, FM_DEMANGLE_FULL,
                                              FM_DEMANGLE_RAW };

    for (size_t i = 0; i < FM_COUNT(name); i++) {
        if (strcmp(s, name[i]) == 0) {
            *style = value[i];
            return true;
        }
    }
    return false;
}

static void take(const char *text, size_t n, void *user)
{
    struct sink *sink = user;

    sink->n += n;
    if (sink->n > TEXT_MAX)
        longjmp(*sink->full, 1);
    fm_out_bytes(sink->out, text, n);
}

static size_t count_char(const char *s, size_t n, char c)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        k += s[i] == c;
    return k;
}

/* `u` and a digit: an identifier in punycode, or something that looks like it. */
static bool has_punycode(const char *s, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++) {
        if (s[i] == 'u' && s[i + 1] >= '0' && s[i + 1] <= '9')
            return true;
    }
    return false;
}

static bool is_rust(const char *s, size_t n)
{
    if (n > 2 && s[0] == '_' && s[1] == 'R')
        return !has_punycode(s, n) || count_char(s, n, 'B') <= PUNYCODE_REFERENCES;
    return n > 3 && memcmp(s, "_ZN", 3) == 0;
}

/*
 * With its recursion limit on, libiberty refuses C++ names over 1,024 bytes. Longer ones are real
 * (templates of templates), and are safe without the limit when little of them is structure: each
 * level of the parser eats at least one byte that is no identifier, at about 200 bytes of stack,
 * and the tables take 72 bytes a byte of the name: below 3 MiB in all. Printing keeps its own limit
 * of 1,024 levels.
 */
static bool may_be_unlimited(const char *s, size_t n)
{
    size_t structure = 0;

    for (size_t i = 0; i < n;) {
        size_t length = 0;
        if (s[i] < '1' || s[i] > '9') {
            structure++;
            i++;
            continue;
        }
        while (i < n && s[i] >= '0' && s[i] <= '9' && length < n)
            length = length * 10 + (size_t)(s[i++] - '0');
        i += FM_MIN(length, n - i);
    }
    return structure <= PARSED_MAX;
}

/* Through one of libiberty's callback forms; `text` is terminated. */
static bool run(struct fm_out *out, const char *text, int options, bool rust)
{
    const size_t mark = out->n;
    jmp_buf full;
    struct sink sink = { out, 0, &full };
    int done;

    if (setjmp(full) != 0) {
        out->n = mark;
        return false;
    }
    done = rust ? rust_demangle_callback(text, options, take, &sink)
                : cplus_demangle_v3_callback(text, options, take, &sink);
    if (!done || sink.n == 0) {
        out->n = mark;
        return false;
    }
    return true;
}

/* "a.b(int) const" -> "a.b": drops the last parameter list, but no template list "!(…)". */
static size_t d_short(const char *s, size_t n)
{
    size_t end = n, depth = 0;

    while (end > 0 && s[end - 1] != ')') {
        if ((s[end - 1] < 'a' || s[end - 1] > 'z') && s[end - 1] != ' ')
            return n;
        end--;
    }
    for (size_t i = end; i > 0; i--) {
        if (s[i - 1] == ')')
            depth++;
        else if (s[i - 1] == '(' && --depth == 0)
            return i > 1 && s[i - 2] == '!' ? n : i - 1;
    }
    return n;
}

static bool run_d(struct fm_out *out, const char *text, size_t n, enum fm_demangle style)
{
    char *got;
    size_t length;

    if (count_char(text, n, 'Q') > D_REFERENCES)
        return false;
    got = dlang_demangle(text, DMGL_DLANG);
    if (got == NULL)
        return false;
    length = strlen(got);
    if (length > TEXT_MAX)
        length = 0;
    fm_out_bytes(out, got, style == FM_DEMANGLE_SHORT ? d_short(got, length) : length);
    free(got);
    return length > 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* caml + module + "__" + name; "$xx" is a byte in hex. */
static bool run_ocaml(struct fm_out *out, const char *s, size_t n)
{
    for (size_t i = 4; i < n; i++) {
        if (s[i] == '_' && i + 1 < n && s[i + 1] == '_') {
            fm_out_char(out, '.');
            i++;
        } else if (s[i] == '$' && i + 2 < n && hex_digit(s[i + 1]) >= 0 &&
                   hex_digit(s[i + 2]) >= 0) {
            fm_out_char(out, (char)(hex_digit(s[i + 1]) * 16 + hex_digit(s[i + 2])));
            i += 2;
        } else {
            fm_out_char(out, s[i]);
        }
    }
    return true;
}

static bool by_language(struct fm_out *out, const char *text, size_t n, enum fm_demangle style)
{
    const int options = style == FM_DEMANGLE_FULL ? DMGL_PARAMS | DMGL_ANSI : DMGL_NO_OPTS;

    if (n > 5 && memcmp(text, "caml", 4) == 0 && text[4] >= 'A' && text[4] <= 'Z')
        return run_ocaml(out, text, n);
    if (text[0] != '_' || n < 3)
        return false;
    if (text[1] == 'D')
        return run_d(out, text, n, style);
    if (is_rust(text, n) && run(out, text, DMGL_RUST, true))
        return true;
    if (text[1] != 'Z')
        return false;
    if (n > LIMITED_BYTES)
        return may_be_unlimited(text, n) && run(out, text, options | DMGL_NO_RECURSE_LIMIT, false);
    return run(out, text, options, false);
}

static bool could_be_mangled(const char *name, size_t n)
{
    if (n < 3 || n > NAME_MAX_BYTES)
        return false;
    if (name[0] == '_')
        return name[1] == 'Z' || name[1] == 'R' || name[1] == 'D';
    return n > 5 && memcmp(name, "caml", 4) == 0;
}

bool fm_demangle(struct fm_out *out, const char *name, size_t n, enum fm_demangle style)
{
    const char *at;
    char *text, small[512];
    size_t head;
    bool done;

    if (style == FM_DEMANGLE_RAW || !could_be_mangled(name, n))
        return false;
    at = memchr(name, '@', n);
    head = at != NULL ? (size_t)(at - name) : n;
    if (memchr(name, '\0', head) != NULL)
        return false;
    text = head < sizeof small ? small : fm_mem_alloc(out->mem, head + 1);
    if (text == NULL) {
        out->status = FM_NOMEM;
        return false;
    }
    memcpy(text, name, head);
    text[head] = '\0';
    done = by_language(out, text, head, style);
    if (done)
        fm_out_bytes(out, name + head, n - head);
    if (text != small)
        fm_mem_free(out->mem, text, head + 1);
    return done;
}
