/*
 * jitname.c - names of code made at run time: see jitname.h. Each habit is a function that writes
 * the readable name, or tells that the text is not of its kind.
 */
#include "symbol/jitname.h"

#include "symbol/demangle.h"
#include "util/text.h"

static bool begins(const char *s, size_t n, const char *with)
{
    const size_t k = strlen(with);
    return n >= k && memcmp(s, with, k) == 0;
}

static const char *find(const char *s, size_t n, const char *what)
{
    return memmem(s, n, what, strlen(what));
}

static const char *find_last(const char *s, size_t n, char c)
{
    return memrchr(s, c, n);
}

/* -------------------------------------------------------------------- Java */

/* "pkg.Cls" -> "pkg/Cls" */
static void put_class(struct fm_out *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fm_out_char(out, s[i] == '.' ? '/' : s[i]);
}

/* One "Lpkg/Cls;::method" or "Lpkg/Cls;method(I)J". */
static bool java_piece(struct fm_out *out, const char *s, size_t n, bool full)
{
    const char *end = n > 0 && s[0] == 'L' ? memchr(s, ';', n) : NULL, *method, *stop;

    if (end == NULL || end == s + 1)
        return false;
    method = end + 1;
    if (begins(method, (size_t)(s + n - method), "::"))
        method += 2;
    stop = memchr(method, '(', (size_t)(s + n - method));
    if (stop == NULL) {
        if (method == end + 1)
            return false;
        stop = s + n;
    }
    if (stop == method || memchr(s, ' ', (size_t)(stop - s)) != NULL)
        return false;
    put_class(out, s + 1, (size_t)(end - s - 1));
    fm_out_char(out, '.');
    fm_out_bytes(out, method, (size_t)((full ? s + n : stop) - method));
    return true;
}

/* "->" stands between a method and those that were inlined into it. */
static bool java_agent(struct fm_out *out, const char *s, size_t n, bool full)
{
    const size_t before = out->n;

    for (;;) {
        const char *arrow = find(s, n, "->");
        const size_t piece = arrow != NULL ? (size_t)(arrow - s) : n;
        if (!java_piece(out, s, piece, full)) {
            out->n = before;
            return false;
        }
        if (arrow == NULL)
            return true;
        fm_out_text(out, "->");
        s += piece + 2;
        n -= piece + 2;
    }
}

/* "java.lang.Object pkg.Cls.method(int, long)": one word, a name with dots, and parameters. */
static bool java_external(struct fm_out *out, const char *s, size_t n, bool full)
{
    const char *open = memchr(s, '(', n), *name = memchr(s, ' ', n), *dot;

    if (open == NULL || name == NULL || name == s || name > open || s[n - 1] != ')')
        return false;
    name++;
    dot = find_last(name, (size_t)(open - name), '.');
    if (dot == NULL || dot == name || dot + 1 == open ||
        find(s, (size_t)(open - s), "::") != NULL || s[0] == '[' ||
        memchr(name, ' ', (size_t)(open - name)) != NULL)
        return false;
    if (full) {
        fm_out_bytes(out, s, n);
        return true;
    }
    put_class(out, name, (size_t)(dot - name));
    fm_out_bytes(out, dot, (size_t)(open - dot));
    return true;
}

/* -------------------------------------------------------------------- .NET */

/* "instance void [Asm] Ns.Cls`1[T]::Method(class [Other]X)[OptimizedTier1]" */
static bool dotnet(struct fm_out *out, const char *s, size_t n, bool full)
{
    const char *colons = find(s, n, "::"), *name = NULL, *open, *stop = s + n;

    if (colons == NULL)
        return false;
    for (const char *p = s; (p = find(p, (size_t)(colons - p), "] ")) != NULL; p += 2)
        name = p + 2;           /* behind the last assembly before the name */
    open = memchr(colons, '(', (size_t)(s + n - colons));
    if (name == NULL || open == NULL || memchr(s, '[', (size_t)(name - s)) == NULL)
        return false;
    if (s[n - 1] == ']' && find_last(s, n, '[') > open)
        stop = find_last(s, n, '[');
    fm_out_bytes(out, name, (size_t)((full ? stop : open) - name));
    return true;
}

/* ---------------------------------------------------------------------- V8 */

/* ":12" or ":12:5" at the end is taken away. */
static size_t take_place(const char *s, size_t n, struct fm_jit_name *name)
{
    uint64_t number[2] = {0, 0};
    size_t end = n, found = 0;

    while (found < 2) {
        const char *colon = find_last(s, end, ':');
        const size_t at = colon != NULL ? (size_t)(colon - s) : 0;
        uint64_t value;
        if (colon == NULL || !fm_text_u64(colon + 1, end - at - 1, &value) || value > UINT32_MAX)
            break;
        number[found++] = value;
        end = at;
    }
    name->line = (uint32_t)(found == 2 ? number[1] : number[0]);
    name->column = (uint32_t)(found == 2 ? number[0] : 0);
    return found > 0 ? end : 0;
}

/* Where the script begins: paths and URLs may hold blanks, as names of accessors do. */
static const char *script(const char *s, size_t n)
{
    static const char *const begin[] = {" /", " file:", " node:", " http:", " https:", " webpack",
                                        " evalmachine."};
    const char *at = NULL;

    for (size_t i = 0; i < FM_COUNT(begin); i++) {
        const char *p = find(s, n, begin[i]);
        if (p != NULL && (at == NULL || p < at))
            at = p;
    }
    return at != NULL ? at : find_last(s, n, ' ');
}

static bool v8(struct fm_out *out, const char *s, size_t n, struct fm_jit_name *name)
{
    static const char *const tag[] = {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};
    size_t i = 0, whole;
    const char *blank;

    while (i < FM_COUNT(tag) && !begins(s, n, tag[i]))
        i++;
    if (i == FM_COUNT(tag))
        return false;
    s += strlen(tag[i]);
    n -= strlen(tag[i]);
    if (n > 0 && memchr("~^+*-", s[0], 5) != NULL) {
        if (s[0] == '~')
            name->kind = FM_FRAME_INTERPRETED;
        s++;
        n--;
    }
    whole = take_place(s, n, name);
    blank = script(s, whole);
    if (blank == NULL) {        /* no script: all of it is the name */
        name->line = name->column = 0;
        blank = s + n;
    } else {
        name->file = blank + 1;
        name->file_n = (size_t)(s + whole - blank - 1);
    }
    if (blank == s)
        fm_out_text(out, "(anonymous)");
    fm_out_bytes(out, s, (size_t)(blank - s));
    return true;
}

/* ------------------------------------------------------------------ Python */

static bool python(struct fm_out *out, const char *s, size_t n, struct fm_jit_name *name)
{
    const char *file;

    if (!begins(s, n, "py::") || n == 4)
        return false;
    s += 4;
    n -= 4;
    file = find(s, n, ":/");
    if (file == NULL)
        file = find(s, n, ":<");
    if (file == NULL)
        file = find_last(s, n, ':');
    if (file == s)
        return false;
    name->kind = FM_FRAME_PYTHON;
    if (file != NULL && file + 1 < s + n) {
        name->file = file + 1;
        name->file_n = (size_t)(s + n - file - 1);
    }
    fm_out_bytes(out, s, file != NULL ? (size_t)(file - s) : n);
    return true;
}

void fm_jit_name(struct fm_out *out, const char *s, size_t n, enum fm_demangle style,
                 struct fm_jit_name *name)
{
    const bool full = style == FM_DEMANGLE_FULL;
    const size_t before = out->n;
    bool known;

    *name = (struct fm_jit_name){.kind = FM_FRAME_JIT};
    if (n == 11 && memcmp(s, "Interpreter", 11) == 0)
        name->kind = FM_FRAME_INTERPRETED;
    known = n > 0 && (python(out, s, n, name) || v8(out, s, n, name) ||
                      java_agent(out, s, n, full) || dotnet(out, s, n, full) ||
                      java_external(out, s, n, full) || fm_demangle(out, s, n, style));
    if (!known || style == FM_DEMANGLE_RAW) {
        out->n = before;
        fm_out_bytes(out, s, n);
    }
}
