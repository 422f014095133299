/*
 * trace.c - fields of tracepoints: from the kernel's format text to places in a payload.
 *
 *     name: sched_switch
 *     ID: 372
 *     format:
 *             field:unsigned short common_type;  offset:0;  size:2;  signed:0;
 *             ...
 *             field:char prev_comm[16];          offset:8;  size:16; signed:0;
 *             field:__data_loc char[] name;      offset:16; size:4;  signed:0;
 *
 *     print fmt: "prev_comm=%s ...", REC->prev_comm, ... { 0x00000001, "S" }, ...
 *
 * libtraceevent reads the fields; it is handed the text without what its own printing needs,
 * because a file's text is anybody's and an expression can nest without end. The letters of
 * sched_switch's states are read here out of the table that the text holds: they differ by kernel.
 */
#include "import/trace.h"

#include "util/base.h"
#include "util/cursor.h"
#include "util/text.h"

#include <traceevent/event-parse.h>

#define FORMAT_MAX ((size_t)64 << 10)
#define TEXT_MAX 4096u
#define PREFIX "args."

/* ------------------------------------------------------------------ the format */

/* False: an array of numbers, or of a width that no number has. */
static bool form_of(const struct tep_format_field *f, struct fm_trace_field *field)
{
    bool text = (f->flags & TEP_FIELD_IS_STRING) != 0;
    if (f->offset < 0 || f->size < 0)
        return false;
    if ((f->flags & TEP_FIELD_IS_DYNAMIC) != 0) {
        field->form = (f->flags & TEP_FIELD_IS_RELATIVE) != 0 ? FM_TRACE_RELATIVE
                                                              : FM_TRACE_DYNAMIC;
        field->type = FM_TYPE_STRING;
        return text && f->size == 4;
    }
    if ((f->flags & TEP_FIELD_IS_ARRAY) != 0) {
        field->form = FM_TRACE_CHARS;
        field->type = FM_TYPE_STRING;
        return text;               /* of size 0: char buf[] at the end */
    }
    bool is_signed = (f->flags & TEP_FIELD_IS_SIGNED) != 0;
    bool pointer = (f->flags & TEP_FIELD_IS_POINTER) != 0;
    field->form = is_signed && !pointer ? FM_TRACE_SIGNED : FM_TRACE_NUMBER;
    field->type = pointer     ? FM_TYPE_ADDRESS
                  : is_signed ? FM_TYPE_I64
                              : FM_TYPE_U64;
    return f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8;
}

static bool take_fields(struct fm_arena *arena, const struct tep_event *event,
                        struct fm_trace *trace)
{
    struct fm_trace_field *field =
        fm_arena_alloc(arena, FM_TRACE_FIELDS * sizeof *field);
    if (field == NULL)
        return false;
    trace->field = field;
    for (const struct tep_format_field *f = event->format.fields;
         f != NULL && trace->fields < FM_TRACE_FIELDS; f = f->next) {
        struct fm_trace_field *to = &field[trace->fields];
        if (f->name == NULL || !form_of(f, to))
            continue;
        to->name = fm_arena_printf(arena, PREFIX "%s", f->name);
        to->offset = (uint32_t)f->offset;
        to->size = (uint32_t)f->size;
        if (to->name == NULL)
            return false;
        trace->fields++;
    }
    return true;
}

static size_t number_end(const char *s, size_t n, size_t at, uint64_t *bit)
{
    size_t from = at;
    bool hex = n - at > 2 && s[at] == '0' && (s[at + 1] == 'x' || s[at + 1] == 'X');
    if (hex)
        from = at += 2;
    while (at < n && ((s[at] >= '0' && s[at] <= '9') ||
                      (hex && ((s[at] >= 'a' && s[at] <= 'f') || (s[at] >= 'A' && s[at] <= 'F')))))
        at++;
    bool good = hex ? fm_text_hex(s + from, at - from, bit) : fm_text_u64(s + from, at - from, bit);
    return good ? at : 0;
}

static size_t skip(const char *s, size_t n, size_t at, const char *what)
{
    while (at < n && strchr(what, s[at]) != NULL && s[at] != '\0')
        at++;
    return at;
}

/* Pairs { 0x1, "S" } behind prev_state. */
static bool take_flags(struct fm_arena *arena, const char *s, size_t n,
                       struct fm_trace *trace)
{
    const char *state = memmem(s, n, "REC->prev_state", 15);
    struct fm_trace_flag *flag;
    if (state == NULL)
        return true;
    flag = fm_arena_alloc(arena, FM_TRACE_FLAGS * sizeof *flag);
    if (flag == NULL)
        return false;
    trace->flag = flag;
    for (size_t at = (size_t)(state - s); at < n && trace->flags < FM_TRACE_FLAGS;) {
        const char *open = memchr(s + at, '{', n - at);
        uint64_t bit;
        if (open == NULL)
            break;
        at = skip(s, n, (size_t)(open - s) + 1, " ");
        size_t end = number_end(s, n, at, &bit);
        if (end == 0)
            continue;
        at = skip(s, n, end, " ,");
        const char *close = at < n && s[at] == '"' ? memchr(s + at + 1, '"', n - at - 1) : NULL;
        size_t length = close != NULL ? (size_t)(close - (s + at + 1)) : 0;
        if (length == 0 || length >= sizeof flag->letter)
            continue;
        struct fm_trace_flag *to = &flag[trace->flags++];
        to->bit = bit;
        memset(to->letter, 0, sizeof to->letter);
        memcpy(to->letter, s + at + 1, length);
    }
    return true;
}

/* The words print and fmt with any space between them, as the library reads them; or NULL. */
static const char *find_print(const char *text, size_t n)
{
    static const char space[] = " \t\n\v\f\r";
    const char *end = text + n;
    for (const char *s = text; (s = memmem(s, (size_t)(end - s), "print", 5)) != NULL; s++) {
        size_t after = (size_t)(s - text) + 5, at = skip(text, n, after, space);
        if (at > after && n - at >= 3 && memcmp(text + at, "fmt", 3) == 0)
            return s;
    }
    return NULL;
}

/* The rest of the line that begins with `key` in a format text. */
static const char *line_value(const char *s, size_t n, const char *key, size_t *length)
{
    size_t k = strlen(key);
    for (size_t at = 0; at + k <= n;) {
        const char *end = memchr(s + at, '\n', n - at);
        size_t line = end != NULL ? (size_t)(end - (s + at)) : n - at;
        if (line > k && memcmp(s + at, key, k) == 0) {
            *length = line - k;
            return s + at + k;
        }
        at += line + 1;
    }
    return NULL;
}

const char *fm_trace_name(const char *text, size_t n, size_t *name_n, uint64_t *id)
{
    size_t id_n;
    const char *name = line_value(text, n, "name: ", name_n);
    const char *number = line_value(text, n, "ID: ", &id_n);
    return number != NULL && fm_text_u64(number, id_n, id) ? name : NULL;
}

bool fm_trace_parse(struct fm_arena *arena, const char *system, const char *text, size_t n,
                    unsigned long_size, bool big, const struct fm_trace **result)
{
    static const char no_print[] = "print fmt: \"\"\n";
    const char *print = find_print(text, n);
    size_t head = print != NULL ? (size_t)(print - text) : n;
    struct fm_trace *trace = fm_arena_alloc(arena, sizeof *trace);
    *result = NULL;
    if (trace == NULL)
        return false;
    if (head == 0 || head > FORMAT_MAX || memchr(text, '\0', head) != NULL)
        return true;
    char *copy = fm_arena_alloc(arena, head + sizeof no_print);
    struct tep_handle *tep = tep_alloc();
    bool good = copy != NULL && tep != NULL;
    if (good) {
        memcpy(copy, text, head);
        memcpy(copy + head, no_print, sizeof no_print);
        tep_set_loglevel(TEP_LOG_NONE);
        tep_set_long_size(tep, (int)long_size);
        tep_set_file_bigendian(tep, big ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
        trace->sched = strcmp(system, "sched") == 0;
        (void)tep_parse_event(tep, copy, head + sizeof no_print - 1, system);
        const struct tep_event *event = tep_get_first_event(tep);
        if (event != NULL) {
            good = take_fields(arena, event, trace);
            *result = trace;
        }
        if (good && trace->sched && print != NULL)
            good = take_flags(arena, print, FM_MIN(n - head, FORMAT_MAX), trace);
    }
    tep_free(tep);
    return good;
}

/* ------------------------------------------------------------------ a payload */

const struct fm_trace_field *fm_trace_find(const struct fm_trace *trace,
                                           const char *name)
{
    for (size_t i = 0; trace != NULL && i < trace->fields; i++)
        if (strcmp(trace->field[i].name + strlen(PREFIX), name) == 0)
            return &trace->field[i];
    return NULL;
}

static uint64_t widen(uint64_t v, unsigned bits)
{
    uint64_t sign = UINT64_C(1) << (bits - 1);
    return bits == 64 ? v : (v ^ sign) - sign;
}

static uint64_t read_number(struct fm_cursor *c, uint32_t size)
{
    switch (size) {
    case 1:
        return fm_cursor_u8(c);
    case 2:
        return fm_cursor_u16(c);
    case 4:
        return fm_cursor_u32(c);
    default:
        return fm_cursor_u64(c);
    }
}

static bool text_value(struct fm_builder *builder, struct fm_cursor *c, size_t size,
                       uint64_t *value)
{
    const unsigned char *s = fm_cursor_bytes(c, size);
    if (s == NULL)
        return false;
    *value = fm_builder_str(builder, (const char *)s,
                            strnlen((const char *)s, FM_MIN(size, (size_t)TEXT_MAX)));
    return true;
}

bool fm_trace_value(struct fm_builder *builder, const struct fm_trace_field *field,
                    const unsigned char *raw, size_t n, bool swap, uint64_t *value)
{
    struct fm_cursor c;
    fm_cursor_init(&c, raw, n, 0, swap);
    fm_cursor_skip(&c, field->offset);
    if (field->form == FM_TRACE_CHARS)
        return text_value(builder, &c, field->size > 0 ? field->size : fm_cursor_left(&c), value);
    if (field->form == FM_TRACE_DYNAMIC || field->form == FM_TRACE_RELATIVE) {
        uint32_t place = fm_cursor_u32(&c);
        if (!fm_cursor_ok(&c))
            return false;
        size_t from = place & 0xffff, size = place >> 16;
        if (field->form == FM_TRACE_RELATIVE)
            from += (size_t)field->offset + 4;
        fm_cursor_init(&c, raw, n, 0, swap);
        fm_cursor_skip(&c, from);
        return text_value(builder, &c, size, value);
    }
    *value = read_number(&c, field->size);
    if (field->form == FM_TRACE_SIGNED)
        *value = widen(*value, 8 * field->size);
    return fm_cursor_ok(&c);
}
