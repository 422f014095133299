/*
 * kallsyms.c - the kernel's own list of symbols.
 *
 *     ffffffff81000000 T _text
 *     ffffffffc0123000 t ext4_read <tab> [ext4]
 *     address          type  name  [module]
 *
 * Types t T w W are code, d D b B data. There are no sizes: a symbol reaches to the next one of
 * the kernel or of the same module, the last one to the end of its page. Of several with one
 * address the last in the file counts (perf's rule). All addresses 0: the reader of the file was
 * not allowed to see them.
 *
 * A list of another boot of the same kernel is shifted as a whole (KASLR): the recording keeps the
 * address of a reference symbol, the difference to the one in the list is added to all.
 */
#include "symbol/maps.h"

struct line {
    uint64_t address;
    char type;
    const char *name, *module;
    size_t name_n, module_n;
};

static bool is_word(const char *s, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(s, word, n) == 0;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One line of text [p, end) without its line feed. */
static bool parse_line(const char *p, const char *end, struct line *line)
{
    unsigned digits = 0;
    const char *q;

    line->address = 0;
    for (int v; p < end && (v = hex_value(*p)) >= 0; p++, digits++)
        line->address = line->address << 4 | (unsigned)v;
    if (digits == 0 || digits > 16 || end - p < 4 || p[0] != ' ' || p[2] != ' ')
        return false;
    line->type = p[1];
    p += 3;
    for (q = p; q < end && *q != '\t' && *q != ' '; q++)
        ;
    line->name = p;
    line->name_n = (size_t)(q - p);
    while (q < end && (*q == '\t' || *q == ' '))
        q++;
    line->module = q;
    line->module_n = 0;
    if (q < end && *q == '[' && end[-1] == ']') {
        line->module = q + 1;
        line->module_n = (size_t)(end - q) - 2;
    }
    return line->name_n > 0 && line->name_n < UINT32_MAX;
}

/* The next line that parses; *p moves behind it. */
static bool next_line(const char **p, const char *end, struct line *line)
{
    while (*p < end) {
        const char *start = *p, *stop = memchr(start, '\n', (size_t)(end - start));
        if (stop == NULL)
            stop = end;
        *p = stop < end ? stop + 1 : end;
        if (stop > start && stop[-1] == '\r')
            stop--;
        if (parse_line(start, stop, line))
            return true;
    }
    return false;
}

static bool is_code_or_data(char type)
{
    switch (type) {
    case 't': case 'T': case 'w': case 'W': case 'd': case 'D': case 'b': case 'B':
        return true;
    default:
        return false;
    }
}

/* '-' and '_' are the same in module names. */
static bool same_module(const char *a, size_t n, const char *b)
{
    if (strlen(b) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        char x = a[i] == '-' ? '_' : a[i], y = b[i] == '-' ? '_' : b[i];
        if (x != y)
            return false;
    }
    return true;
}

static bool is_ours(const struct fm_kallsyms *kallsyms, const struct line *line)
{
    if (!is_code_or_data(line->type) || line->name[0] == '$')
        return false;
    if (kallsyms->module == NULL)
        return line->module_n == 0;
    return same_module(line->module, line->module_n, kallsyms->module) &&
           (kallsyms->start == 0 || line->address >= kallsyms->start) &&
           (kallsyms->end == 0 || line->address < kallsyms->end);
}

/* Shift, last symbol, and whether there are addresses at all. */
static void survey(struct fm_kallsyms *kallsyms, uint64_t *last)
{
    const char *p = kallsyms->text, *end = p + kallsyms->n;
    uint64_t text = 0, stext = 0, named = 0;
    bool any = false, some = false;
    struct line line;

    *last = 0;
    while (next_line(&p, end, &line)) {
        some = true;
        any = any || line.address != 0;
        if (is_ours(kallsyms, &line) && line.address > *last)
            *last = line.address;
        if (line.module_n != 0 || line.name[0] != '_')
            continue;
        if (kallsyms->reference_name != NULL && named == 0 &&
            is_word(line.name, line.name_n, kallsyms->reference_name))
            named = line.address;
        else if (text == 0 && is_word(line.name, line.name_n, "_text"))
            text = line.address;
        else if (stext == 0 && is_word(line.name, line.name_n, "_stext"))
            stext = line.address;
    }
    kallsyms->restricted = some && !any;
    kallsyms->shift = 0;
    if (kallsyms->reference == 0 || kallsyms->module != NULL)
        return;
    if (named == 0 && (kallsyms->reference == text || kallsyms->reference == stext))
        return;
    if (named == 0)
        named = text != 0 ? text : stext;
    if (named != 0)
        kallsyms->shift = kallsyms->reference - named;
}

void fm_kallsyms_symbols(struct fm_kallsyms *kallsyms, struct fm_match *match)
{
    const char *p = kallsyms->text, *end = p + kallsyms->n;
    struct line line;
    uint64_t last;

    survey(kallsyms, &last);
    kallsyms->symbols = 0;
    if (kallsyms->restricted)
        return;
    while (next_line(&p, end, &line) && !match->oom) {
        struct fm_symbol out = { .limit = UINT64_MAX };
        if (!is_ours(kallsyms, &line))
            continue;
        if (line.address == last)
            out.limit = ((line.address + kallsyms->shift + 4095) & ~(uint64_t)4095) + 4096;
        out.start = line.address + kallsyms->shift;
        out.name = line.name;
        out.length = (uint32_t)line.name_n;
        out.binding = line.type == 'w' || line.type == 'W' ? FM_BIND_WEAK
                      : line.type >= 'a'                   ? FM_BIND_LOCAL
                                                           : FM_BIND_GLOBAL;
        kallsyms->symbols++;
        fm_match_offer(match, &out);
    }
}
