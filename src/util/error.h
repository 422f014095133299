/*
 * error.h - filling a struct fm_error. First failure wins; nothing here allocates.
 *
 * Messages: lower case, what failed first, subject in 'quotes', numbers as "needed N bytes, M
 * left", no full stop. Each function returns `status`, so that a caller can write
 * `return fm_error_set(err, FM_FORMAT, ...)`. A NULL err is allowed everywhere.
 */
#ifndef FM_UTIL_ERROR_H
#define FM_UTIL_ERROR_H

#include "util/base.h"

enum fm_status fm_error_set(struct fm_error *err, enum fm_status status, const char *fmt, ...)
    FM_PRINTF(3, 4);
/* With a source name and a byte offset in it (FM_NO_OFFSET for none). */
enum fm_status fm_error_at(struct fm_error *err, enum fm_status status, const char *source,
                           uint64_t offset, const char *fmt, ...) FM_PRINTF(5, 6);
/* With a source name, line and column (1-based) of a text. */
enum fm_status fm_error_line(struct fm_error *err, enum fm_status status, const char *source,
                             uint32_t line, uint32_t column, const char *fmt, ...)
    FM_PRINTF(6, 7);
/* An operating system failure on `what` (a path): FM_NOMEM for ENOMEM, else FM_IO. */
enum fm_status fm_error_sys(struct fm_error *err, int sys_errno, const char *what,
                            const char *doing);
enum fm_status fm_error_nomem(struct fm_error *err);

#endif
