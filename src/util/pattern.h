/*
 * pattern.h - text predicates as users write them: exact, glob, /regex/.
 *
 *   malloc        exact
 *   mem*  a?c     glob: * any run, ? one character; only when * or ? occurs
 *   /^m.*c$/i     regular expression (PCRE2, UTF, JIT, match and depth limits); flags i, s, x
 *
 * A text is a regular expression when it begins with '/' and ends with '/', or with '/' and flags
 * and no other unescaped '/' in between: so "/usr/bin/x" is a path.
 *
 * A pattern is tried once per distinct string; callers keep the verdicts in a bitmap. Matching
 * allocates nothing, but uses buffers of the pattern: one thread at a time.
 */
#ifndef FM_UTIL_PATTERN_H
#define FM_UTIL_PATTERN_H

#include "util/mem.h"

enum fm_pattern_form { FM_PATTERN_EXACT, FM_PATTERN_GLOB, FM_PATTERN_REGEX };

struct fm_pattern;

/* Compiles text; `exact` forces an exact match. FM_CONFIG: err->column is the 1-based place within
 * the text. Freed by fm_pattern_free(). */
enum fm_status fm_pattern_new(struct fm_mem *mem, const char *text, size_t n, bool exact,
                              struct fm_pattern **pattern, struct fm_error *err);
/* The text is a regular expression as it stands, without slashes; flags (may be NULL) as above. */
enum fm_status fm_pattern_new_regex(struct fm_mem *mem, const char *text, size_t n,
                                    const char *flags, struct fm_pattern **pattern,
                                    struct fm_error *err);
void fm_pattern_free(struct fm_pattern *pattern);
enum fm_pattern_form fm_pattern_form(const struct fm_pattern *pattern);
/* A regex that meets its match limit does not match. */
bool fm_pattern_match(const struct fm_pattern *pattern, const char *s, size_t n);

/* Regex only: captures. Group i at s[at[2i]] .. s[at[2i+1]]; SIZE_MAX where a group is unset. At
 * most `max` groups are filled, starting the search at byte `from`.
 * Returns the number of groups (1 + captures), 0 = no match. */
size_t fm_pattern_captures(const struct fm_pattern *pattern, const char *s, size_t n, size_t from,
                           size_t *at, size_t max);
/* Groups of a regex: 1 + captures. */
size_t fm_pattern_groups(const struct fm_pattern *pattern);
/* Index of the named group, or 0. */
size_t fm_pattern_group(const struct fm_pattern *pattern, const char *name);
/* The k-th named group: its name, *group = its index; NULL past the end. */
const char *fm_pattern_group_name(const struct fm_pattern *pattern, size_t k, size_t *group);

#endif
