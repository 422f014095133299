/*
 * diag.h - findings that do not stop an import: one table of (key, severity, text), and a counter
 * with the first byte offset for each.
 *
 * Add a row to util/diag.def, then fm_diag_add(diags, FM_DIAG_KEY, offset, 1) where it happens.
 * NOTE: worth knowing. LOSS: the producer lost it, or we do not decode it. DAMAGE: the bytes are
 * not what the format demands (exit status 3).
 */
#ifndef FM_UTIL_DIAG_H
#define FM_UTIL_DIAG_H

#include "util/base.h"

enum fm_diag {
#define FM_DIAG(key, name, severity, text) FM_DIAG_##key,
#include "util/diag.def"
#undef FM_DIAG
    FM_DIAGS
};

struct fm_diag_count {
    uint64_t count;
    uint64_t first_offset; /* FM_NO_OFFSET when unknown */
};

struct fm_diags {
    struct fm_diag_count row[FM_DIAGS];
};

void fm_diags_init(struct fm_diags *diags);
void fm_diag_add(struct fm_diags *diags, enum fm_diag key, uint64_t offset, uint64_t n);
/* Adds the counts of `from`; keeps the smaller first offset. */
void fm_diags_merge(struct fm_diags *diags, const struct fm_diags *from);
const char *fm_diag_name(enum fm_diag key);      /* "record-truncated" */
enum fm_severity fm_diag_severity(enum fm_diag key);
const char *fm_diag_text(enum fm_diag key);      /* one line for people */
/* The worst severity that has a count, or -1 when all are zero. */
int fm_diags_worst(const struct fm_diags *diags);

#endif
