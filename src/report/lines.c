/*
 * lines.c - lines of fields with a tab between two; \t \n \r \\ stand for themselves, \N for null.
 */
#include "report/lines.h"

static const char null_field[] = "\\N";

void fm_line_put(struct fm_out *out, bool first, const char *text)
{
    if (!first)
        fm_out_char(out, '\t');
    if (text == NULL)
        fm_out_text(out, null_field);
    else
        fm_out_tsv(out, text, strlen(text));
}

const char *fm_line_null(const char *field)
{
    return field == NULL || strcmp(field, null_field) == 0 ? NULL : field;
}

size_t fm_line_fields(const char *at)
{
    size_t n = *at != '\0';

    for (; *at != '\0' && *at != '\n'; at++)
        n += *at == '\t';
    return n;
}

/* Undoes the escapes of a field that ends with a NUL; \N alone stays. */
static void undo(char *field)
{
    char *to = field;

    if (strcmp(field, null_field) == 0)
        return;
    for (const char *s = field; *s != '\0'; s++) {
        if (*s == '\\' && s[1] != '\0') {
            s++;
            *to++ = *s == 't' ? '\t' : *s == 'n' ? '\n' : *s == 'r' ? '\r' : *s;
        } else {
            *to++ = *s;
        }
    }
    *to = '\0';
}

size_t fm_line_next(char **at, const char **field, size_t max)
{
    char *s = *at;
    size_t n = 0;
    bool more = *s != '\0';

    while (more) {
        char *from = s;

        s += strcspn(s, "\t\n");
        more = *s == '\t';
        if (*s != '\0')
            *s++ = '\0';
        undo(from);
        if (n < max)
            field[n++] = from;
    }
    *at = s;
    return n;
}
