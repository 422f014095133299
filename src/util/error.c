/*
 * error.c - struct fm_error: filling it and printing it.
 *
 * The first failure wins: a set error is never overwritten. A long source name keeps its tail,
 * which is the part that tells files apart.
 */
#include "util/error.h"

#include <errno.h>
#include <stdio.h>

void fm_error_clear(struct fm_error *err)
{
    if (err == NULL)
        return;
    memset(err, 0, sizeof *err);
    err->offset = FM_NO_OFFSET;
}

static void set_source(struct fm_error *err, const char *source)
{
    size_t n;

    err->source[0] = '\0';
    if (source == NULL)
        return;
    n = strlen(source);
    if (n < sizeof err->source) {
        memcpy(err->source, source, n + 1);
        return;
    }
    memcpy(err->source, "...", 3);
    memcpy(err->source + 3, source + n - (sizeof err->source - 4), sizeof err->source - 3);
}

/* Cuts a message that was too long at a whole UTF-8 character. */
static void end_message(struct fm_error *err, int length)
{
    size_t n = sizeof err->message - 1;

    if (length < 0) {
        err->message[0] = '\0';
        return;
    }
    if ((size_t)length <= n)
        return;
    while (n > 0 && ((unsigned char)err->message[n - 1] & 0xc0) == 0x80)
        n--;
    if (n > 0 && (unsigned char)err->message[n - 1] >= 0xc0)
        n--;
    err->message[n] = '\0';
}

static void set_message(struct fm_error *err, const char *fmt, va_list ap) FM_PRINTF(2, 0);

static void set_message(struct fm_error *err, const char *fmt, va_list ap)
{
    end_message(err, vsnprintf(err->message, sizeof err->message, fmt, ap));
}

/* True when err takes a new failure; its place fields are reset then. */
static bool take(struct fm_error *err, enum fm_status status)
{
    if (err == NULL || err->status != FM_OK)
        return false;
    fm_error_clear(err);
    err->status = status;
    return true;
}

enum fm_status fm_error_set(struct fm_error *err, enum fm_status status, const char *fmt, ...)
{
    va_list ap;

    if (take(err, status)) {
        va_start(ap, fmt);
        set_message(err, fmt, ap);
        va_end(ap);
    }
    return status;
}

enum fm_status fm_error_at(struct fm_error *err, enum fm_status status, const char *source,
                           uint64_t offset, const char *fmt, ...)
{
    va_list ap;

    if (take(err, status)) {
        set_source(err, source);
        err->offset = offset;
        va_start(ap, fmt);
        set_message(err, fmt, ap);
        va_end(ap);
    }
    return status;
}

enum fm_status fm_error_line(struct fm_error *err, enum fm_status status, const char *source,
                             uint32_t line, uint32_t column, const char *fmt, ...)
{
    va_list ap;

    if (take(err, status)) {
        set_source(err, source);
        err->line = line;
        err->column = column;
        va_start(ap, fmt);
        set_message(err, fmt, ap);
        va_end(ap);
    }
    return status;
}

enum fm_status fm_error_sys(struct fm_error *err, int sys_errno, const char *what,
                            const char *doing)
{
    enum fm_status status = sys_errno == ENOMEM ? FM_NOMEM : FM_IO;
    char text[128];

    if (take(err, status)) {
        set_source(err, what);
        err->sys_errno = sys_errno;
        /* the GNU form: returns the text, which may or may not be in `text` */
        snprintf(err->message, sizeof err->message, "%s: %s", doing,
                 strerror_r(sys_errno, text, sizeof text));
    }
    return status;
}

enum fm_status fm_error_nomem(struct fm_error *err)
{
    return fm_error_set(err, FM_NOMEM, "out of memory");
}

const char *fm_status_text(enum fm_status status)
{
    switch (status) {
    case FM_OK:
        return "done";
    case FM_NOMEM:
        return "out of memory";
    case FM_IO:
        return "input or output failed";
    case FM_FORMAT:
        return "not what the format demands";
    case FM_TRUNCATED:
        return "truncated input";
    case FM_UNSUPPORTED:
        return "of a kind that is not decoded";
    case FM_UNKNOWN:
        return "not recognised";
    case FM_CONFIG:
        return "wrong option or YAML file";
    case FM_LIMIT:
        return "a limit was met";
    case FM_CANCELLED:
        return "cancelled";
    case FM_GATE:
        return "a check failed";
    }
    return "unknown status";
}

size_t fm_error_text(const struct fm_error *err, char *buf, size_t n)
{
    char place[64] = "";
    int length;

    if (err == NULL || err->status == FM_OK)
        length = snprintf(buf, n, "no error");
    else {
        if (err->line != 0)
            snprintf(place, sizeof place, ":%u:%u", err->line, err->column);
        else if (err->offset != FM_NO_OFFSET)
            snprintf(place, sizeof place, ": offset %llu", (unsigned long long)err->offset);
        length = snprintf(buf, n, "%s%s%serror: %s", err->source, place,
                          err->source[0] != '\0' || place[0] != '\0' ? ": " : "", err->message);
    }
    return length < 0 ? 0 : (size_t)length;
}
