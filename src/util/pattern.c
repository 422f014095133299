/*
 * pattern.c - exact, glob and PCRE2 patterns behind one interface.
 *
 * Regular expressions are compiled with UTF and "invalid UTF matches nothing" (names in profiles
 * are bytes), JIT-compiled where the machine has it, and bounded by match, depth and heap limits:
 * a hostile expression costs milliseconds, then counts as no match. Match data and the JIT stack
 * are made once, with the pattern. PCRE2 allocates through fm_mem: a header before each block keeps
 * its size, which fm_mem_free() needs.
 */
#include "util/pattern.h"

#include "util/error.h"
#include "util/text.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define MATCH_LIMIT 1000000u
#define DEPTH_LIMIT 10000u
#define HEAP_LIMIT_KIB 4096u
#define JIT_STACK_MIN ((size_t)32 << 10)
#define JIT_STACK_MAX ((size_t)512 << 10)
#define MAX_TEXT 65536u

struct fm_pattern {
    struct fm_mem *mem;
    enum fm_pattern_form form;
    char *text;                       /* exact and glob */
    size_t n;
    pcre2_general_context *general;   /* regex: all below */
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
    pcre2_jit_stack *jit_stack;
};

/* ------------------------------------------------------------------ memory of PCRE2 */

union block {
    size_t n;
    max_align_t align;
};

static void *take(size_t n, void *user)
{
    size_t bytes;
    union block *b = NULL;
    if (fm_add_size(n, sizeof *b, &bytes))
        b = fm_mem_alloc(user, bytes);
    if (!b)
        return NULL;
    b->n = bytes;
    return b + 1;
}

static void give(void *p, void *user)
{
    if (p) {
        union block *b = (union block *)p - 1;
        fm_mem_free(user, b, b->n);
    }
}

/* ------------------------------------------------------------------ compiling */

static struct fm_pattern *new_pattern(struct fm_mem *mem, enum fm_pattern_form form)
{
    struct fm_pattern *p = fm_mem_zalloc(mem, sizeof *p);
    if (p) {
        p->mem = mem;
        p->form = form;
    }
    return p;
}

static bool flag_bits(const char *flags, size_t n, uint32_t *bits)
{
    *bits = 0;
    for (size_t i = 0; i < n; i++) {
        switch (flags[i]) {
        case 'i': *bits |= PCRE2_CASELESS; break;
        case 's': *bits |= PCRE2_DOTALL; break;
        case 'x': *bits |= PCRE2_EXTENDED; break;
        default: return false;
        }
    }
    return true;
}

static int run(const struct fm_pattern *p, const char *s, size_t n, size_t from)
{
    return pcre2_match(p->code, (PCRE2_SPTR)s, n, from, 0, p->match, p->limits);
}

/* Buffers and limits of a compiled regex. */
static bool prepare(struct fm_pattern *p)
{
    p->match = pcre2_match_data_create_from_pattern(p->code, p->general);
    p->limits = pcre2_match_context_create(p->general);
    if (!p->match || !p->limits)
        return false;
    pcre2_set_match_limit(p->limits, MATCH_LIMIT);
    pcre2_set_depth_limit(p->limits, DEPTH_LIMIT);
    pcre2_set_heap_limit(p->limits, HEAP_LIMIT_KIB);
    /* No JIT on this machine, or none for this expression, is no error: pcre2_match interprets. */
    if (pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE) != 0) {
        /* The first match allocates the interpreter's frames, which are kept: do that now. */
        return run(p, "", 0, 0) != PCRE2_ERROR_NOMEMORY;
    }
    p->jit_stack = pcre2_jit_stack_create(JIT_STACK_MIN, JIT_STACK_MAX, p->general);
    if (p->jit_stack)
        pcre2_jit_stack_assign(p->limits, NULL, p->jit_stack);
    return true;
}

static enum fm_status compile(struct fm_pattern *p, const char *s, size_t n, size_t shift,
                              uint32_t bits, struct fm_error *err)
{
    int code;
    PCRE2_SIZE at;
    p->general = pcre2_general_context_create(take, give, p->mem);
    pcre2_compile_context *context =
        p->general ? pcre2_compile_context_create(p->general) : NULL;
    if (!context)
        return fm_error_nomem(err);
    pcre2_set_parens_nest_limit(context, 100);
    p->code = pcre2_compile((PCRE2_SPTR)s, n,
                            bits | PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C,
                            &code, &at, context);
    pcre2_compile_context_free(context);
    if (p->code)
        return prepare(p) ? FM_OK : fm_error_nomem(err);
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return fm_error_nomem(err);
    char why[160];
    if (pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why) < 0)
        why[0] = '\0';
    return fm_error_line(err, FM_CONFIG, "", 0, (uint32_t)(at + shift + 1),
                         "bad regular expression: %s", why);
}

static enum fm_status new_regex(struct fm_mem *mem, const char *s, size_t n, size_t shift,
                                uint32_t bits, struct fm_pattern **pattern, struct fm_error *err)
{
    *pattern = NULL;
    if (n > MAX_TEXT)
        return fm_error_set(err, FM_CONFIG, "regular expression of %zu bytes, at most %u", n,
                            MAX_TEXT);
    struct fm_pattern *p = new_pattern(mem, FM_PATTERN_REGEX);
    if (!p)
        return fm_error_nomem(err);
    enum fm_status status = compile(p, s, n, shift, bits, err);
    if (status != FM_OK)
        fm_pattern_free(p);
    else
        *pattern = p;
    return status;
}

/* Takes "/body/flags" apart; false when the text is not of that form. */
static bool slashed(const char *s, size_t n, size_t *body, uint32_t *bits)
{
    if (n < 2 || s[0] != '/')
        return false;
    size_t last = n - 1, first = 1;
    while (s[last] != '/')
        last--;
    if (last == 0 || !flag_bits(s + last + 1, n - last - 1, bits))
        return false;
    while (first < last && s[first] != '/')
        first += s[first] == '\\' ? 2 : 1;
    *body = last - 1;
    /* "/usr/bin/x": flags after a path with further slashes are a file name. */
    return first == last || (first < last && last == n - 1);
}

enum fm_status fm_pattern_new(struct fm_mem *mem, const char *text, size_t n, bool exact,
                              struct fm_pattern **pattern, struct fm_error *err)
{
    size_t body;
    uint32_t bits;
    if (!exact && slashed(text, n, &body, &bits))
        return new_regex(mem, text + 1, body, 1, bits, pattern, err);

    bool glob = !exact && (memchr(text, '*', n) || memchr(text, '?', n));
    struct fm_pattern *p = new_pattern(mem, glob ? FM_PATTERN_GLOB : FM_PATTERN_EXACT);
    *pattern = NULL;
    if (p)
        p->text = fm_mem_alloc(mem, n);
    if (!p || !p->text) {
        fm_pattern_free(p);
        return fm_error_nomem(err);
    }
    memcpy(p->text, text, n);
    p->n = n;
    *pattern = p;
    return FM_OK;
}

enum fm_status fm_pattern_new_regex(struct fm_mem *mem, const char *text, size_t n,
                                    const char *flags, struct fm_pattern **pattern,
                                    struct fm_error *err)
{
    uint32_t bits = 0;
    *pattern = NULL;
    if (flags && !flag_bits(flags, strlen(flags), &bits))
        return fm_error_set(err, FM_CONFIG, "unknown flag in '%s': flags are i, s, x", flags);
    return new_regex(mem, text, n, 0, bits, pattern, err);
}

void fm_pattern_free(struct fm_pattern *p)
{
    if (!p)
        return;
    if (p->text)
        fm_mem_free(p->mem, p->text, p->n);
    pcre2_jit_stack_free(p->jit_stack);
    pcre2_match_context_free(p->limits);
    pcre2_match_data_free(p->match);
    pcre2_code_free(p->code);
    pcre2_general_context_free(p->general);
    fm_mem_free(p->mem, p, sizeof *p);
}

enum fm_pattern_form fm_pattern_form(const struct fm_pattern *pattern)
{
    return pattern->form;
}

/* ------------------------------------------------------------------ matching */

static size_t char_size(const char *s, size_t n)
{
    uint32_t cp;
    unsigned len = fm_utf8_next(s, n, &cp);
    return len ? len : 1;
}

/* Going back to the last '*' only is enough: O(pattern x text), no recursion. */
static bool glob_match(const char *g, size_t gn, const char *s, size_t n)
{
    size_t i = 0, k = 0, star = SIZE_MAX, mark = 0;
    while (i < n) {
        if (k < gn && g[k] == '*') {
            star = k++;
            mark = i;
        } else if (k < gn && g[k] == '?') {
            k++;
            i += char_size(s + i, n - i);
        } else if (k < gn && g[k] == s[i]) {
            k++;
            i++;
        } else if (star != SIZE_MAX) {
            k = star + 1;
            i = ++mark;
        } else {
            return false;
        }
    }
    while (k < gn && g[k] == '*')
        k++;
    return k == gn;
}

bool fm_pattern_match(const struct fm_pattern *p, const char *s, size_t n)
{
    switch (p->form) {
    case FM_PATTERN_EXACT: return n == p->n && memcmp(s, p->text, n) == 0;
    case FM_PATTERN_GLOB: return glob_match(p->text, p->n, s, n);
    case FM_PATTERN_REGEX: break;
    }
    return run(p, s, n, 0) >= 0;
}

size_t fm_pattern_captures(const struct fm_pattern *p, const char *s, size_t n, size_t from,
                           size_t *at, size_t max)
{
    fm_assert(p->form == FM_PATTERN_REGEX);
    if (from > n || run(p, s, n, from) < 0)
        return 0;
    const PCRE2_SIZE *ovector = pcre2_get_ovector_pointer(p->match);
    size_t groups = pcre2_get_ovector_count(p->match);
    for (size_t i = 0; i < groups && i < max; i++) {
        bool set = ovector[2 * i] != PCRE2_UNSET && ovector[2 * i] <= ovector[2 * i + 1];
        at[2 * i] = set ? ovector[2 * i] : SIZE_MAX;
        at[2 * i + 1] = set ? ovector[2 * i + 1] : SIZE_MAX;
    }
    return groups;
}

size_t fm_pattern_groups(const struct fm_pattern *p)
{
    return p->form == FM_PATTERN_REGEX ? pcre2_get_ovector_count(p->match) : 0;
}

const char *fm_pattern_group_name(const struct fm_pattern *p, size_t k, size_t *group)
{
    uint32_t names = 0, size = 0;
    PCRE2_SPTR table = NULL;
    if (p->form != FM_PATTERN_REGEX || pcre2_pattern_info(p->code, PCRE2_INFO_NAMECOUNT, &names) ||
        pcre2_pattern_info(p->code, PCRE2_INFO_NAMEENTRYSIZE, &size) ||
        pcre2_pattern_info(p->code, PCRE2_INFO_NAMETABLE, &table) || k >= names)
        return NULL;
    PCRE2_SPTR entry = table + k * size;
    *group = (size_t)entry[0] << 8 | entry[1];
    return (const char *)entry + 2;
}

size_t fm_pattern_group(const struct fm_pattern *p, const char *name)
{
    size_t group;
    const char *s;
    for (size_t k = 0; (s = fm_pattern_group_name(p, k, &group)) != NULL; k++)
        if (strcmp(s, name) == 0)
            return group;
    return 0;
}
