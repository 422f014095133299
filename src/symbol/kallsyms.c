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

/* Value + 1 of a hexadecimal digit, 0 for anything else: a table, because the digits of addresses
 * are most of what there is to do in a list of 120,000 lines. */
static const unsigned char hex_digit[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* One line of text [p, end) without its line feed. Most lines end with the name, those of modules
 * with ']'. */
static bool parse_line(const char *p, const char *end, struct line *line)
{
    const char *start = p, *q;
    uint64_t address = 0;

    for (unsigned v; p < end && (v = hex_digit[(unsigned char)*p]) != 0; p++)
        address = address << 4 | (v - 1);
    if (p == start || p - start > 16 || end - p < 4 || p[0] != ' ' || p[2] != ' ')
        return false;
    line->address = address;
    line->type = p[1];
    line->name = p + 3;
    line->module = NULL;
    line->module_n = 0;
    q = end;
    if (end[-1] == ']' && (q = memchr(line->name, '[', (size_t)(end - line->name))) != NULL) {
        line->module = q + 1;
        line->module_n = (size_t)(end - q) - 2;
        while (q > line->name && (q[-1] == '\t' || q[-1] == ' '))
            q--;
    }
    if (q == NULL)
        return false;
    line->name_n = (size_t)(q - line->name);
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

/* The list has '_' where a module's file name has '-'. */
static bool same_module(const char *listed, size_t n, const char *name)
{
    if (strlen(name) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (listed[i] != (name[i] == '-' ? '_' : name[i]))
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

/* The address of a symbol of the kernel, 0 when it is not there. The text is searched for the name
 * first: only lines that have it are parsed. */
static uint64_t address_of(const struct fm_kallsyms *kallsyms, const char *name)
{
    const char *p = kallsyms->text, *end = p + kallsyms->n, *found;
    const size_t n = strlen(name);
    struct line line;

    while ((found = memmem(p, (size_t)(end - p), name, n)) != NULL) {
        const char *start = found, *stop = memchr(found, '\n', (size_t)(end - found));
        if (stop == NULL)
            stop = end;
        while (start > kallsyms->text && start[-1] != '\n')
            start--;
        if (parse_line(start, stop, &line) && line.module_n == 0 &&
            is_word(line.name, line.name_n, name))
            return line.address;
        p = stop;
    }
    return 0;
}

/* What to add to all addresses, so that the reference symbol lies where the recording has it. */
static uint64_t find_shift(const struct fm_kallsyms *kallsyms)
{
    static const char *const usual[] = { "_text", "_stext" };
    const uint64_t reference = kallsyms->reference;
    uint64_t address;

    if (reference == 0 || kallsyms->module != NULL)
        return 0;
    if (kallsyms->reference_name != NULL) {
        address = address_of(kallsyms, kallsyms->reference_name);
        if (address != 0)
            return reference - address;
    }
    for (size_t i = 0; i < FM_COUNT(usual); i++) {
        if (address_of(kallsyms, usual[i]) == reference)
            return 0;
    }
    for (size_t i = 0; i < FM_COUNT(usual); i++) {
        address = address_of(kallsyms, usual[i]);
        if (address != 0)
            return reference - address;
    }
    return 0;
}

/* The last symbol ends with its page. */
static void end_last(struct fm_match *match, uint64_t start)
{
    const uint64_t limit = ((start + 4095) & ~(uint64_t)4095) + 4096;

    for (size_t i = 0; i < match->points; i++) {
        if (match->near[i].name != NULL && match->near[i].start == start)
            match->near[i].limit = limit;
    }
}

/* Narrows the text to the lines from a module's first to its last one: a list has the symbols of
 * a module together, and most of its bytes are the kernel's. */
static void narrow(const struct fm_kallsyms *kallsyms, const char **p, const char **end)
{
    const char *from = NULL, *to = *p, *found;
    char mark[128];
    size_t n = strlen(kallsyms->module);

    if (n + 2 > sizeof mark)
        return;
    mark[0] = '[';
    for (size_t i = 0; i < n; i++)
        mark[i + 1] = kallsyms->module[i] == '-' ? '_' : kallsyms->module[i];
    mark[n + 1] = ']';
    while ((found = memmem(to, (size_t)(*end - to), mark, n + 2)) != NULL) {
        if (from == NULL)
            from = found;
        to = found + n + 2;
    }
    if (from == NULL) {
        *end = *p;
        return;
    }
    while (from > *p && from[-1] != '\n')
        from--;
    found = memchr(to, '\n', (size_t)(*end - to));
    *end = found != NULL ? found : *end;
    *p = from;
}

void fm_kallsyms_symbols(struct fm_kallsyms *kallsyms, struct fm_match *match)
{
    const char *p = kallsyms->text, *end = p + kallsyms->n;
    bool some = false, any = false;
    uint64_t last = 0;
    struct line line;

    if (kallsyms->module != NULL)
        narrow(kallsyms, &p, &end);
    kallsyms->shift = find_shift(kallsyms);
    kallsyms->symbols = 0;
    while (next_line(&p, end, &line) && !match->oom) {
        struct fm_symbol out = { .limit = UINT64_MAX };
        some = true;
        any = any || line.address != 0;
        if (!is_ours(kallsyms, &line))
            continue;
        last = FM_MAX(last, line.address);
        out.start = line.address + kallsyms->shift;
        out.name = line.name;
        out.length = (uint32_t)line.name_n;
        out.binding = line.type == 'w' || line.type == 'W' ? FM_BIND_WEAK
                      : line.type >= 'a'                   ? FM_BIND_LOCAL
                                                           : FM_BIND_GLOBAL;
        kallsyms->symbols++;
        fm_match_offer(match, &out);
    }
    kallsyms->restricted = some && !any;
    if (kallsyms->restricted) {
        kallsyms->symbols = 0;
        fm_match_clear(match);
    }
    end_last(match, last + kallsyms->shift);
}
